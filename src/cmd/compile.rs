//! `partita compile`: a program to an image, assembler text, raw words or IR.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use partita::backend::{asm_file, image};
use partita::ir::diag::Code;
use partita::ir::{Diagnostic, Func, Module, Source, Span, text};
use partita::passes::{self, Compiled, Context, Pipeline};

use crate::cli::{Common, InputFormat};
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::input::{self, Input, Language, Reading};

/// What is written.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emit {
    /// A program image (ELF).
    Image,
    /// Assembler text of the whole program.
    Asm,
    /// Raw words, one file per engine: PROG.dve.bin, …
    Words,
    /// IR of the tile dialect.
    Tile,
    /// IR of the tpb dialect.
    Tpb,
}

#[derive(Args)]
pub struct Options {
    /// The program; `-` is standard input.
    pub file: PathBuf,
    /// The function to compile, where the module does not leave just one choice.
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// What is written: an image, unless --to ends before the words.
    #[arg(long, value_enum)]
    pub emit: Option<Emit>,
    /// Passes instead of the default pipeline, separated by commas, each with its settings in braces.
    #[arg(long, value_name = "PASSES", value_parser = super::opt::pipeline, conflicts_with_all = ["from", "to"])]
    pub passes: Option<Pipeline>,
    /// Begin the pipeline with this pass.
    #[arg(long, value_name = "PASS", value_parser = super::opt::pass_name)]
    pub from: Option<&'static str>,
    /// End with this pass and write the IR after it.
    #[arg(long, value_name = "PASS", value_parser = super::opt::pass_name, conflicts_with = "emit")]
    pub to: Option<&'static str>,
    /// What the input is, instead of finding it out from the content.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub input_format: Option<InputFormat>,
    #[command(flatten)]
    pub common: Common,
}

/// A compiled program, with what it was made from.
pub struct Compilation {
    pub module: Module,
    pub entry: String,
    pub compiled: Compiled,
}

impl Compilation {
    /// The function that was compiled, as it was written.
    pub fn entry(&self) -> Outcome<&Func> {
        let missing = || Failure::Message(format!("there is no function @{}", self.entry));
        self.module.func(&self.entry).ok_or_else(missing)
    }
}

pub fn run(options: &Options) -> Outcome {
    let output = options.common.output.as_deref();
    let emit = options.emit.unwrap_or(Emit::Image);
    if emit == Emit::Words && output.is_none_or(files::is_dash) {
        return Err(Failure::Usage(
            "raw words go to one file per engine: name them with -o PROG".to_owned(),
        ));
    }
    if emit == Emit::Image && options.to.is_none() {
        files::refuse_terminal(output, "an image")?;
    }
    let pipeline = match &options.passes {
        Some(pipeline) => pipeline.clone(),
        None => super::opt::part(options.from, options.to)?,
    };
    let reading =
        Reading { format: options.input_format, target: options.common.target, engine: None };
    let Input::Ir(source, language) = input::read(&options.file, reading)? else {
        return Err(Failure::about(&options.file, "is compiled already"));
    };
    let entry = options.entry.as_deref();
    if options.to.is_some() {
        let module = lower(source, language, entry, &options.common, &pipeline)?;
        return files::write(output, module.to_string().as_bytes());
    }
    let settings = passes::Options { pipeline, ..passes::Options::default() };
    let Compiled { program, tile_module, tpb_module, .. } =
        compile_with(source, language, entry, &options.common, &settings)?.compiled;
    match (emit, output) {
        (Emit::Image, _) => {
            files::write(output, &image::write(&program).map_err(Failure::Message)?)
        }
        (Emit::Asm, _) => files::write(output, asm_file::print(&program).as_bytes()),
        (Emit::Tile, _) => files::write(output, tile_module.to_string().as_bytes()),
        (Emit::Tpb, _) => files::write(output, tpb_module.to_string().as_bytes()),
        (Emit::Words, Some(path)) => program.words.iter().try_for_each(|(engine, words)| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.0).collect();
            files::write(Some(&with_suffix(path, &format!(".{engine}.bin"))), &bytes)
        }),
        (Emit::Words, None) => Ok(()),
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// What only StableHLO's texts hold: `module {` and `func.func` are the project's own as well.
const STABLEHLO_MARKS: [&str; 3] = ["stablehlo.", "chlo.", "\"builtin.module\""];

/// Reads a module and verifies it.
pub fn load(source: Source, language: Language) -> Outcome<(Source, Module)> {
    let marked = || STABLEHLO_MARKS.iter().any(|mark| source.text.contains(mark));
    if language == Language::StableHlo && marked() {
        return Err(Failure::Message(format!(
            "{}: StableHLO is not read by this version",
            source.name
        )));
    }
    match text::load(&source) {
        Ok(module) => Ok((source, module)),
        Err(found) => Err(Failure::Diagnostics(Some(Box::new(source)), found)),
    }
}

/// Reads, verifies and compiles one program.
pub fn compile(
    source: Source,
    language: Language,
    entry: Option<&str>,
    common: &Common,
) -> Outcome<Compilation> {
    compile_with(source, language, entry, common, &passes::Options::default())
}

fn compile_with(
    source: Source,
    language: Language,
    entry: Option<&str>,
    common: &Common,
    options: &passes::Options,
) -> Outcome<Compilation> {
    let (source, module) = load(source, language)?;
    let fail = |found| Failure::Diagnostics(Some(Box::new(source.clone())), found);
    let entry = choose_entry(&module, entry).map_err(fail)?.to_owned();
    let target = common.target_or(module.target);
    let compiled = passes::compile(&module, &entry, &target, options).map_err(fail)?;
    Ok(Compilation { module, entry, compiled })
}

/// Runs passes on one function of a program.
fn lower(
    source: Source,
    language: Language,
    entry: Option<&str>,
    common: &Common,
    pipeline: &Pipeline,
) -> Outcome<Module> {
    let (source, module) = load(source, language)?;
    let fail = |found| Failure::Diagnostics(Some(Box::new(source.clone())), found);
    let entry = choose_entry(&module, entry).map_err(fail)?;
    let funcs = module.func(entry).into_iter().cloned().collect();
    let mut context = Context::new(common.target_or(module.target));
    pipeline
        .run(&Module { funcs, ..module.clone() }, &mut context, true, &mut ())
        .map_err(|stopped| fail(stopped.found))
}

/// The function asked for, else `@main`, else the only public one.
fn choose_entry<'a>(
    module: &'a Module,
    asked: Option<&'a str>,
) -> Result<&'a str, Vec<Diagnostic>> {
    let public: Vec<&Func> = module.funcs.iter().filter(|func| !func.private).collect();
    let names =
        || public.iter().map(|func| format!("@{}", func.name)).collect::<Vec<_>>().join(", ");
    let fault = |message: String| {
        vec![Diagnostic::error(Code::UndefinedValue, message, Span::NONE).help(
            match public.is_empty() {
                true => "the module has no public function".to_owned(),
                false => format!("choose one with --entry: {}", names()),
            },
        )]
    };
    if let Some(name) = asked.map(|name| name.trim_start_matches('@')) {
        return match module.func(name) {
            Some(func) => Ok(&func.name),
            None => Err(fault(format!("there is no function @{name}"))),
        };
    }
    match (module.func("main"), &public[..]) {
        (Some(main), _) => Ok(&main.name),
        (None, [only]) => Ok(&only.name),
        (None, []) => Err(fault("there is nothing to run".to_owned())),
        (None, _) => Err(fault("more than one function could be run".to_owned())),
    }
}
