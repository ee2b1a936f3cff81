//! Programs of any language as modules of IR, and which of their functions is meant.

use std::path::Path;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use partita::ir::checks::{self, Check};
use partita::ir::diag::{Code, render_all};
use partita::ir::ops::OpKind;
use partita::ir::stablehlo::{self, Lowered, Signature, Text};
use partita::ir::{Diagnostic, Func, Module, Source, Span, text};
use partita::isa::Target;
use partita::passes::fuse::Mode;
use partita::passes::{self, Pipeline};

use crate::cli::{Common, InputFormat};
use crate::failure::{Failure, Outcome, say, style};
use crate::input::{self, Language, Reading};

/// Flags of everything that takes programs.
#[derive(Args, Clone, Debug, Default)]
pub struct Choice {
    /// The function that is meant, where the module does not leave just one choice.
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    #[command(flatten)]
    pub reading: HloFlags,
    #[command(flatten)]
    pub fusion: Fusion,
}

/// Flags of everything that compiles.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Fusion {
    /// How forms of operations are found that fewer words do: not at all, the first of each operation, or the
    /// cheapest of all [default: egg]
    #[arg(long, value_name = "MODE", value_parser = mode())]
    pub fuse: Option<Mode>,
}

impl Fusion {
    /// These passes, or all, with the fusions that are wanted.
    pub fn pipeline(self, passes: Option<&Pipeline>) -> Pipeline {
        let pipeline = passes.cloned().unwrap_or_default();
        match self.fuse {
            Some(mode) => pipeline.fusing(mode),
            None => pipeline,
        }
    }

    /// How to compile with all passes.
    pub fn options(self) -> passes::Options {
        passes::Options { pipeline: self.pipeline(None), ..passes::Options::default() }
    }
}

/// The ways to find forms, by name.
fn mode() -> impl TypedValueParser<Value = Mode> {
    let named = |name: String| Mode::ALL.into_iter().find(|mode| mode.name() == name);
    PossibleValuesParser::new(Mode::NAMES).map(move |name| named(name).unwrap_or_default())
}

/// Flags of everything that reads StableHLO.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct HloFlags {
    /// Compute doubles of StableHLO as `f32`, with a warning, instead of refusing them.
    #[arg(long)]
    pub f64_as_f32: bool,
}

impl HloFlags {
    pub fn options(self, common: &Common) -> stablehlo::Options {
        let fp8_ocp = common.target_or(None).fp8_ocp;
        stablehlo::Options { f64_as_f32: self.f64_as_f32, fp8_ocp }
    }
}

/// A verified module, and the functions that are meant.
pub struct Loaded {
    pub source: Source,
    pub module: Module,
    entries: Vec<String>,
}

/// One function of a module.
pub struct Entry<'a> {
    pub func: &'a Func,
    pub target: Option<Target>,
    source: &'a Source,
}

impl Entry<'_> {
    /// A module of the function without its checks, and the checks.
    ///
    /// # Errors
    /// What a check compares with is larger than any constant.
    pub fn alone(&self) -> Outcome<(Module, Vec<Check>)> {
        let (func, checks) = checks::split(self.func).map_err(Failure::message)?;
        Ok((Module { target: self.target, funcs: vec![func] }, checks))
    }

    pub fn fail(&self, found: Vec<Diagnostic>) -> Failure {
        Failure::Diagnostics(Some(Box::new(self.source.clone())), found)
    }
}

impl Loaded {
    /// The functions that are meant, in the order of the text.
    pub fn each(&self) -> impl Iterator<Item = Entry<'_>> {
        self.entries.iter().filter_map(|name| {
            let func = self.module.func(name)?;
            Some(Entry { func, target: self.module.target, source: &self.source })
        })
    }

    /// The one function that is meant.
    ///
    /// # Errors
    /// There are several, each with checks of its own.
    pub fn only(&self) -> Outcome<Entry<'_>> {
        let mut each = self.each();
        match (each.next(), each.next()) {
            (Some(entry), None) => Ok(entry),
            _ => Err(Failure::Usage(format!(
                "choose one function with --entry: {}",
                self.entries.join(", ")
            ))),
        }
    }
}

/// Reads and verifies the functions that are meant.
pub fn load(
    source: Source,
    language: Language,
    choice: &Choice,
    common: &Common,
) -> Outcome<Loaded> {
    let asked = choice.entry.as_deref();
    match language {
        Language::Pta => {
            let (source, module) = load_all(source, language, choice.reading, common)?;
            let candidates: Vec<Signature<'_>> = module.funcs.iter().map(signature).collect();
            match entries(&candidates, asked) {
                Ok(entries) => Ok(Loaded { source, module, entries }),
                Err(found) => Err(Failure::Diagnostics(Some(Box::new(source)), found)),
            }
        }
        Language::StableHlo => {
            let read = Text::read(&source, choice.reading.options(common)).and_then(|text| {
                let candidates: Vec<Signature<'_>> = text.functions().collect();
                let entries = entries(&candidates, asked)?;
                let names: Vec<&str> = entries.iter().map(String::as_str).collect();
                let lowered = text.lower(Some(&names))?;
                // Names become those that the language allows.
                let entries = lowered.module.funcs.iter().map(|func| func.name.clone()).collect();
                Ok((lowered, entries))
            });
            match read {
                Ok((lowered, entries)) => {
                    let module = noted(lowered, &source, common);
                    Ok(Loaded { source, module, entries })
                }
                Err(found) => Err(Failure::Diagnostics(Some(Box::new(source)), found)),
            }
        }
    }
}

/// Reads a file of IR and the functions of it that are meant; `refusal` is said of what is compiled already.
pub fn load_file(
    file: &Path,
    format: Option<InputFormat>,
    refusal: &str,
    choice: &Choice,
    common: &Common,
) -> Outcome<Loaded> {
    let reading = Reading::of_program(format, common);
    let (source, language) = input::program_text(file, reading, refusal)?;
    load(source, language, choice, common)
}

/// Reads and verifies a whole module.
pub fn load_all(
    source: Source,
    language: Language,
    reading: HloFlags,
    common: &Common,
) -> Outcome<(Source, Module)> {
    let read = match language {
        Language::Pta => text::load(&source),
        Language::StableHlo => stablehlo::load(&source, reading.options(common))
            .map(|lowered| noted(lowered, &source, common)),
    };
    match read {
        Ok(module) => Ok((source, module)),
        Err(found) => Err(Failure::Diagnostics(Some(Box::new(source)), found)),
    }
}

/// Tells what there is to say of a module.
fn noted(lowered: Lowered, source: &Source, common: &Common) -> Module {
    if !common.quiet && !lowered.notes.is_empty() {
        say(&render_all(&lowered.notes, Some(source), style(common.color)));
    }
    lowered.module
}

/// A function as what might be meant.
fn signature(func: &Func) -> Signature<'_> {
    let has_checks = func.body_ops().any(|(_, op)| matches!(op.kind, OpKind::Check(_)));
    Signature { name: &func.name, private: func.private, args: func.args.len(), has_checks }
}

/// The function asked for, else `@main`, else the only public one, else every one that checks itself.
fn entries(all: &[Signature<'_>], asked: Option<&str>) -> Result<Vec<String>, Vec<Diagnostic>> {
    let public: Vec<&Signature<'_>> = all.iter().filter(|func| !func.private).collect();
    let names =
        || public.iter().map(|func| format!("@{}", func.name)).collect::<Vec<_>>().join(", ");
    let fault = |message: String| {
        let help = match public.is_empty() {
            true => "the module has no public function".to_owned(),
            false => format!("choose one with --entry: {}", names()),
        };
        vec![Diagnostic::error(Code::UndefinedValue, message, Span::NONE).help(help)]
    };
    let one = |name: &str| Ok(vec![name.to_owned()]);
    if let Some(name) = asked.map(|name| name.trim_start_matches('@')) {
        return match all.iter().any(|func| func.name == name) {
            true => one(name),
            false => Err(fault(format!("there is no function @{name}"))),
        };
    }
    if let Some(main) = all.iter().find(|func| func.name == "main") {
        return one(main.name);
    }
    if let [only] = public[..] {
        return one(only.name);
    }
    let checking: Vec<String> = all
        .iter()
        .filter(|func| func.args == 0 && func.has_checks)
        .map(|func| func.name.to_owned())
        .collect();
    match (checking.is_empty(), public.is_empty()) {
        (false, _) => Ok(checking),
        (true, true) => Err(fault("there is nothing to run".to_owned())),
        (true, false) => Err(fault("more than one function could be run".to_owned())),
    }
}
