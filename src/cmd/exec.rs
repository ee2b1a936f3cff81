//! `partita exec`: execute a program image or an assembler file.

use std::path::PathBuf;

use clap::Args;
use partita::backend::program::Program;
use partita::interp::exec;
use partita::ir::{TensorData, TensorType};

use super::run::{self, describe};
use crate::cli::{Common, WordInput};
use crate::failure::{Failure, Outcome};
use crate::input::{self, Input, Reading};
use crate::tensors::{TensorFlags, Wanted, fp8};

#[derive(Args)]
pub struct Options {
    /// The image or assembler text; `-` is standard input.
    pub file: PathBuf,
    #[command(flatten)]
    pub tensors: TensorFlags,
    #[command(flatten)]
    pub words: WordInput,
    #[command(flatten)]
    pub common: Common,
}

pub fn run(options: &Options) -> Outcome {
    let reading = Reading {
        format: options.words.input_format,
        target: options.common.target,
        engine: options.words.engine,
    };
    let program = match input::read(&options.file, reading)? {
        Input::Program(program) => program,
        Input::Ir(..) => {
            return Err(Failure::about(
                &options.file,
                "is program text, not compiled; `partita run` compiles and executes it",
            ));
        }
        Input::Words(..) => {
            return Err(Failure::about(
                &options.file,
                "is words alone, without inputs and outputs to execute them on: `partita dis` prints them; \
                 add `.io` and `.dma` lines to that text to execute it",
            ));
        }
    };
    if let Some(target) = options.common.target.filter(|&target| target != program.target) {
        let what = format!("is a program for {}, not for {target}", program.target);
        return Err(Failure::about(&options.file, what));
    }
    let quiet = options.common.quiet;
    let wanted: Vec<Wanted> = program
        .io
        .inputs
        .iter()
        .map(|tensor| Wanted {
            name: tensor.name.clone(),
            ty: TensorType::new(tensor.shape.iter().copied(), tensor.dtype),
            range: tensor.random,
        })
        .collect();
    let inputs = options.tensors.load(&wanted, fp8(program.target), quiet)?;
    let results = execute(&program, &inputs)?;
    let mut text = describe(&program);
    let agree = options.tensors.finish(&results, fp8(program.target), &mut text)?;
    run::finish(&options.common, &options.tensors, &text, agree)
}

/// The results of a program by name.
pub fn execute(program: &Program, inputs: &[TensorData]) -> Outcome<Vec<(String, TensorData)>> {
    let results =
        exec::run(program, inputs, &exec::Options::default()).map_err(Failure::message)?;
    let names = program.io.outputs.iter().map(|tensor| tensor.name.clone());
    Ok(names.zip(results).collect())
}
