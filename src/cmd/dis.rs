//! `partita dis`: words, hex text or an image to assembler text.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use partita::backend::asm_file;
use partita::isa::{Engine, Instruction, Target, Word, asm};

use crate::cli::{Common, WordInput};
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::input::{self, Input, Reading};

#[derive(Args)]
pub struct Options {
    /// Raw words, hex text or an image; `-` is standard input.
    pub file: PathBuf,
    #[command(flatten)]
    pub words: WordInput,
    #[command(flatten)]
    pub common: Common,
}

/// Illegal words are printed like any other: `check` judges.
pub fn run(options: &Options) -> Outcome {
    let reading = Reading {
        format: options.words.input_format,
        target: options.common.target,
        engine: options.words.engine,
    };
    let text = match input::read(&options.file, reading)? {
        Input::Program(program) => asm_file::print(&program),
        Input::Words(target, engine, words) => print_words(target, engine, &words),
        Input::Ir(..) => {
            return Err(Failure::about(&options.file, "is program text; compile it first"));
        }
    };
    files::write(options.common.output.as_deref(), text.as_bytes())
}

/// A target other than the default and an engine are stated, so that the text means the same on its own.
fn print_words(target: Target, engine: Option<Engine>, words: &[Word]) -> String {
    let mut out = String::new();
    if target != Target::default() {
        let _ = writeln!(out, ".target {target}");
    }
    if let Some(engine) = engine {
        let _ = writeln!(out, ".engine {engine}");
    }
    for word in words {
        out.push_str(&asm::format_plain(&Instruction::decode(word), &target));
        out.push('\n');
    }
    out
}
