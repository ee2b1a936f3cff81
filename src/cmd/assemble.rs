//! `partita as`: assembler text to raw words or an image.

use std::path::PathBuf;

use clap::Args;
use partita::backend::image;

use crate::cli::{Common, InputFormat, WordInput};
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::input::{self, Input, Reading};

/// A text of words for one engine becomes raw words; one with inputs, transfers, constants or labels an image.
#[derive(Args)]
pub struct Options {
    /// The text; `-` is standard input.
    pub file: PathBuf,
    #[command(flatten)]
    pub words: WordInput,
    #[command(flatten)]
    pub common: Common,
}

pub fn run(options: &Options) -> Outcome {
    let reading = Reading {
        format: options.words.input_format.or(Some(InputFormat::Asm)),
        target: options.common.target,
        engine: options.words.engine,
    };
    let bytes = match input::read(&options.file, reading)? {
        Input::Words(_, _, words) => words.iter().flat_map(|word| word.0).collect(),
        Input::Program(program) => image::write(&program).map_err(Failure::Message)?,
        Input::Ir(..) => return Err(Failure::Usage("`as` reads assembler text".to_owned())),
    };
    files::write(options.common.output.as_deref(), &bytes)
}
