//! `partita reduce`: shrink a program while something about it stays true.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use partita::interp::exec;
use partita::ir::diag::Code;
use partita::ir::eval::random::random_inputs;
use partita::ir::eval::{BoundOptions, compare, eval_bounded};
use partita::ir::{Diagnostic, Module};
use partita::isa::Target;
use partita::passes::expand::eval_options;
use partita::passes::reduce::{Size, reduce};
use partita::passes::{self, Compiled};

use crate::cli::{Common, InputFormat};
use crate::failure::{Failure, Outcome, say};
use crate::files;
use crate::program::{Choice, load_file};

#[derive(Args)]
pub struct Options {
    /// The program; `-` is standard input.
    pub file: PathBuf,
    #[command(flatten)]
    pub what: Interest,
    #[command(flatten)]
    pub choice: Choice,
    /// Candidates to try at most.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub limit: usize,
    /// What the input is, instead of finding it out from the content.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub input_format: Option<InputFormat>,
    #[command(flatten)]
    pub common: Common,
}

/// What has to stay true.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub struct Interest {
    /// Compiling ends with this error.
    #[arg(long, value_name = "CODE", value_parser = code)]
    pub error: Option<Code>,
    /// The words compute something else than the reference.
    #[arg(long)]
    pub mismatch: bool,
    /// Compiling or executing panics.
    #[arg(long)]
    pub panics: bool,
    /// A program that is given the candidate's file ends with status 0.
    #[arg(long, value_name = "SCRIPT")]
    pub script: Option<PathBuf>,
}

fn code(text: &str) -> Result<Code, String> {
    Code::ALL
        .iter()
        .copied()
        .find(|code| code.id() == text)
        .ok_or_else(|| "no error has this code; they are like E0201".to_owned())
}

/// Seeds whose inputs are tried for a mismatch.
const SEEDS: std::ops::Range<u64> = 1..4;

pub fn run(options: &Options) -> Outcome {
    let refusal = "is compiled already; only programs shrink";
    let (file, format) = (&options.file, options.input_format);
    let loaded = load_file(file, format, refusal, &options.choice, &options.common)?;
    let chosen = loaded.only()?;
    let (module, _) = chosen.alone()?;
    let target = options.common.target_or(chosen.target);
    let entry = &chosen.func.name;
    let compiling = options.choice.fusion.options();
    let mut trial = Trial { what: &options.what, entry, target, compiling, failed: None };
    if options.what.panics {
        // The panics of candidates are what is looked for, not news.
        std::panic::set_hook(Box::new(|_| {}));
    }
    let holds = trial.holds(&module);
    if let Some(failure) = trial.failed.take() {
        return Err(failure);
    }
    if !holds {
        return Err(Failure::about(&options.file, "does not show what is to be kept"));
    }
    let small = reduce(
        &module,
        entry,
        options.limit,
        &mut |candidate| trial.holds(candidate),
        &mut |size| {
            if !options.common.quiet {
                say(&progress(size));
            }
        },
    );
    match trial.failed {
        Some(failure) => Err(failure),
        None => files::write(options.common.output.as_deref(), small.to_string().as_bytes()),
    }
}

fn progress(size: Size) -> String {
    let Size { operations, arguments, elements, .. } = size;
    format!("{operations} operations, {arguments} arguments, {elements} elements\n")
}

struct Trial<'a> {
    what: &'a Interest,
    entry: &'a str,
    target: Target,
    compiling: passes::Options,
    /// The script cannot be run.
    failed: Option<Failure>,
}

impl Trial<'_> {
    fn holds(&mut self, module: &Module) -> bool {
        if let Some(script) = &self.what.script {
            return self.failed.is_none()
                && accepts(script, module).unwrap_or_else(|failure| {
                    self.failed = Some(failure);
                    false
                });
        }
        if let Some(code) = self.what.error {
            let found = self.compile(module).err().unwrap_or_default();
            return found.iter().any(|found| found.code == code);
        }
        match catch_unwind(AssertUnwindSafe(|| self.differs(module))) {
            Ok(differs) => self.what.mismatch && differs,
            Err(_) => self.what.panics,
        }
    }

    fn compile(&self, module: &Module) -> Result<Compiled, Vec<Diagnostic>> {
        passes::compile(module, self.entry, &self.target, &self.compiling)
    }

    /// True when the words run and give something that the reference's bound does not allow.
    fn differs(&self, module: &Module) -> bool {
        let (Ok(compiled), Some(func)) = (self.compile(module), module.func(self.entry)) else {
            return false;
        };
        let options = eval_options(&self.target);
        SEEDS.into_iter().any(|seed| {
            let Ok(inputs) = random_inputs(func, seed) else { return false };
            let want = eval_bounded(func, &inputs, &options, &BoundOptions::default());
            let got = exec::run(&compiled.program, &inputs, &exec::Options::default());
            let (Ok(want), Ok(got)) = (want, got) else { return false };
            got.iter().zip(&want).any(|(got, want)| compare(got, want).is_err())
        })
    }
}

/// Asks a script about a module, which it finds in a file.
fn accepts(script: &Path, module: &Module) -> Outcome<bool> {
    let file = std::env::temp_dir().join(format!("partita-reduce-{}.pta", std::process::id()));
    files::write(Some(&file), module.to_string().as_bytes())?;
    let status = Command::new(script)
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    // A file that cannot be removed is only left behind.
    let _ = std::fs::remove_file(&file);
    status.map(|status| status.success()).map_err(|error| Failure::about(script, error))
}
