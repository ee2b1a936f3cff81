//! `partita exec`: execute a program image or an assembler file.

use std::path::PathBuf;

use clap::Args;
use partita::ir::TensorType;

use super::cost::Costed;
use super::run::{self, describe};
use crate::cli::{Common, CostInput, WordInput};
use crate::conventions::{ConventionFlags, Execution};
use crate::failure::{Failure, Outcome};
use crate::input::{self, Input, Reading};
use crate::tensors::{TensorFlags, Wanted, fp8};

#[derive(Args)]
pub struct Options {
    /// The image or assembler text; `-` is standard input.
    pub file: PathBuf,
    #[command(flatten)]
    pub tensors: TensorFlags,
    /// Run by engines: in the order of a simulation of all queues, and print its timeline.
    #[arg(long)]
    pub engines: bool,
    #[command(flatten)]
    pub conventions: ConventionFlags,
    #[command(flatten)]
    pub cost: CostInput,
    #[command(flatten)]
    pub words: WordInput,
    #[command(flatten)]
    pub common: Common,
}

pub fn run(options: &Options) -> Outcome {
    let reading = Reading::of_words(&options.words, &options.common);
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
    let inputs = options.tensors.inputs.load(&wanted, fp8(program.target), quiet)?;
    let costed = Costed::new(&program, &options.cost)?;
    let flags = &options.conventions;
    let execution = Execution::new(&program, &inputs, &costed, options.engines, flags)?;
    let results = execution.results()?;
    let mut text = describe(&program, &costed, options.engines);
    let agree = options.tensors.finish(&results, fp8(program.target), &mut text)?;
    execution.sweep(&results, &options.common, &mut text)?;
    let silent = options.conventions.silent(&options.common);
    run::finish(&options.common, &options.tensors, &text, agree, silent)
}
