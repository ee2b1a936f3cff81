//! `partita report`: how a program was compiled, as one page.

use std::path::PathBuf;

use clap::Args;
use partita::passes::{self, Pipeline};

use super::compile;
use super::cost::Costed;
use crate::cli::{Common, CostInput, InputFormat};
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::input::{self, Input, Reading};
use crate::program::{Choice, load};
use crate::report::{Data, Stages, page};

#[derive(Args)]
pub struct Options {
    /// The program, in any dialect, or an image or assembler text, of which there is less to tell; `-` is standard input.
    pub file: PathBuf,
    #[command(flatten)]
    pub choice: Choice,
    /// Passes instead of the default pipeline, separated by commas, each with its settings in braces.
    #[arg(long, value_name = "PASSES", value_parser = super::opt::pipeline)]
    pub passes: Option<Pipeline>,
    /// What the input is, instead of finding it out from the content.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub input_format: Option<InputFormat>,
    #[command(flatten)]
    pub cost: CostInput,
    #[command(flatten)]
    pub common: Common,
}

pub fn run(options: &Options) -> Outcome {
    let reading = Reading::of_program(options.input_format, &options.common);
    let data = match input::read(&options.file, reading)? {
        Input::Ir(source, language) => {
            let loaded = load(source, language, &options.choice, &options.common)?;
            let entry = loaded.only()?;
            let target = options.common.target_or(entry.target);
            let pipeline = options.choice.fusion.pipeline(options.passes.as_ref());
            let settings = passes::Options { pipeline, ..passes::Options::default() };
            let mut stages = Stages::new(&loaded.source, target);
            let made = compile::compile_entry(&entry, &options.common, &settings, &mut stages)?;
            let costed = Costed::new(&made.compiled.program, &options.cost)?;
            Data::compiled(&loaded.source, &made.entry, stages, made.compiled, costed)?
        }
        Input::Program(mut program) => {
            program.target = options.common.target_or(Some(program.target));
            let costed = Costed::new(&program, &options.cost)?;
            Data::of_program(&options.file.display().to_string(), &program, costed, &|_| None)
        }
        Input::Words(..) => {
            return Err(Failure::about(
                &options.file,
                "holds words without a program; `partita dis` prints them",
            ));
        }
    };
    files::write(options.common.output.as_deref(), page(&data)?.as_bytes())
}
