//! `partita import`: StableHLO to the tensor dialect.

use std::path::PathBuf;

use clap::Args;
use partita::ir::Module;
use partita::ir::verify::verify;

use crate::cli::{Common, InputFormat};
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::input::{self, Input, Language, Reading};
use crate::program::{HloFlags, load_all};

#[derive(Args)]
pub struct Options {
    /// The program as JAX or PyTorch/XLA print it; `-` is standard input.
    pub file: PathBuf,
    /// Import each part between `// -----` lines by itself.
    #[arg(long)]
    pub split_input_file: bool,
    #[command(flatten)]
    pub reading: HloFlags,
    #[command(flatten)]
    pub common: Common,
}

pub fn run(options: &Options) -> Outcome {
    let reading = Reading { format: Some(InputFormat::Stablehlo), ..Reading::default() };
    let Input::Ir(source, _) = input::read(&options.file, reading)? else {
        return Err(Failure::about(&options.file, "is no text of StableHLO"));
    };
    let parts = if options.split_input_file { input::split(source)? } else { vec![source] };
    let mut texts = Vec::new();
    for part in parts {
        let (source, module) =
            load_all(part, Language::StableHlo, options.reading, &options.common)?;
        let module = Module { target: options.common.target, ..module };
        if let Err(found) = verify(&module) {
            return Err(Failure::Diagnostics(Some(Box::new(source)), found));
        }
        texts.push(module.to_string());
    }
    files::write(options.common.output.as_deref(), texts.join("\n// -----\n\n").as_bytes())
}
