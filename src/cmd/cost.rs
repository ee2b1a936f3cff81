//! `partita cost`: what a program costs under the profile of its target.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use partita::backend::cost::ProgramCost;
use partita::backend::program::{Io, Meta, Program, Slot};
use partita::isa::{Engine, Target, Word};

use super::check::json;
use super::compile;
use crate::cli::{Common, Format, WordInput};
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::input::{self, Input, Reading};

#[derive(Args)]
pub struct Options {
    /// An image, assembler text, words (with --engine), or a program, which is compiled first.
    pub file: PathBuf,
    /// The function to compile.
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    #[command(flatten)]
    pub words: WordInput,
    /// How figures are printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
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
        Input::Program(mut program) => {
            program.target = options.common.target_or(Some(program.target));
            *program
        }
        Input::Words(target, Some(engine), words) => bare(target, engine, words),
        Input::Words(..) => {
            return Err(Failure::Usage(
                "words cost by their engine: state it with --engine".to_owned(),
            ));
        }
        Input::Ir(source, language) => {
            compile::compile(source, language, options.entry.as_deref(), &options.common)?
                .compiled
                .program
        }
    };
    let cost = ProgramCost::of(&program);
    let text = match options.format {
        Format::Json => json(&cost)?,
        Format::Text => table(&cost),
    };
    files::write(options.common.output.as_deref(), text.as_bytes())
}

/// Words of one engine as a program without inputs and outputs.
fn bare(target: Target, engine: Engine, words: Vec<Word>) -> Program {
    Program {
        target,
        order: vec![Slot::Word(engine); words.len()],
        words: BTreeMap::from([(engine, words)]),
        dma: Vec::new(),
        data: Vec::new(),
        io: Io::default(),
        meta: Meta::default(),
        symbols: Vec::new(),
    }
}

/// Writing to a string cannot fail.
fn table(cost: &ProgramCost) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "target {}, profile {}", cost.target, cost.profile);
    for engine in &cost.engines {
        let _ = writeln!(
            out,
            "{:<6} {:>8} words {:>12} cycles {:>12.1} ns",
            engine.engine, engine.words, engine.cycles, engine.busy_ns
        );
        for row in &engine.opcodes {
            let _ = writeln!(out, "  {:<30} {:>6} {:>14}", row.opcode, row.words, row.cycles);
        }
        if engine.unpriced > 0 {
            let _ = writeln!(out, "  {} words have no price and count as nothing", engine.unpriced);
        }
    }
    let dma = &cost.dma;
    let _ = writeln!(
        out,
        "{:<6} {:>8} descriptors {:>6} bytes {:>12.1} ns",
        "dma", dma.descriptors, dma.bytes, dma.busy_ns
    );
    let _ = writeln!(out, "bound {:.1} ns", cost.bound_ns);
    out
}

/// One line for summaries.
pub fn line(cost: &ProgramCost) -> String {
    let engines =
        cost.engines.iter().map(|engine| format!("{} {} cycles, ", engine.engine, engine.cycles));
    format!(
        "cost ({}): {}dma {:.1} us, bound {:.1} us",
        cost.profile,
        engines.collect::<String>(),
        cost.dma.busy_ns / 1e3,
        cost.bound_ns / 1e3
    )
}
