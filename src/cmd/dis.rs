//! `partita dis`: words, hex text or an image to assembler text.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use partita::backend::asm_file;
use partita::isa::{Engine, Target, Word, asm, check};

use super::check::line as finding_line;
use crate::cli::{Common, WordInput};
use crate::failure::{Failure, Outcome};
use crate::files::{self, Output};
use crate::input::{self, Input, Opened, Reading};

#[derive(Args)]
pub struct Options {
    /// Raw words, hex text or an image; `-` is standard input.
    pub file: PathBuf,
    /// Show the bytes of each word beside it.
    #[arg(long)]
    pub hex: bool,
    /// Show what `check` finds about a word below it.
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    pub words: WordInput,
    #[command(flatten)]
    pub common: Common,
}

/// Illegal words are printed like any other: `check` judges.
pub fn run(options: &Options) -> Outcome {
    let reading = Reading::of_words(&options.words, &options.common);
    let output = options.common.output.as_deref();
    match input::open(&options.file, reading)? {
        Opened::Words(mut raw) => {
            let mut listing = Listing::new(options, raw.target, raw.engine)?;
            loop {
                let words = raw.next()?;
                if words.len() == 0 {
                    return listing.finish();
                }
                listing.words(words)?;
            }
        }
        Opened::Whole(Input::Words(target, engine, words)) => {
            let mut listing = Listing::new(options, target, engine)?;
            listing.words(words.into_iter())?;
            listing.finish()
        }
        Opened::Whole(Input::Program(program)) => {
            let text = asm_file::print_with(&program, &mut |engine, word, line| {
                comments(options, word, program.target, Some(engine), line);
            });
            files::write(output, text.as_bytes())
        }
        Opened::Whole(Input::Ir(..)) => {
            Err(Failure::about(&options.file, "is program text; compile it first"))
        }
    }
}

/// A block of words on its way out.
struct Listing<'a> {
    options: &'a Options,
    target: Target,
    engine: Option<Engine>,
    out: Output,
    /// Lines that are not written yet: many at once, so that a line is not copied once more on its way.
    lines: Vec<u8>,
}

impl<'a> Listing<'a> {
    /// A target other than the default and an engine are stated, so that the text means the same on its own.
    fn new(options: &'a Options, target: Target, engine: Option<Engine>) -> Outcome<Self> {
        let mut out = Output::create(options.common.output.as_deref())?;
        let mut head = String::new();
        if target != Target::default() {
            let _ = writeln!(head, ".target {target}");
        }
        if let Some(engine) = engine {
            let _ = writeln!(head, ".engine {engine}");
        }
        out.write_all(head.as_bytes()).map_err(|error| out.failure(error))?;
        Ok(Self { options, target, engine, out, lines: Vec::new() })
    }

    fn words(&mut self, words: impl Iterator<Item = Word>) -> Outcome {
        let commented = self.options.hex || self.options.check;
        let mut after = String::new();
        for word in words {
            asm::format_into(&mut self.lines, &word, &self.target, &|_| None);
            if commented {
                after.clear();
                comments(self.options, &word, self.target, self.engine, &mut after);
                self.lines.extend_from_slice(after.as_bytes());
            }
            self.lines.push(b'\n');
            if self.lines.len() >= Output::PIECE {
                self.write()?;
            }
        }
        Ok(())
    }

    fn write(&mut self) -> Outcome {
        self.out.write_all(&self.lines).map_err(|error| self.out.failure(error))?;
        self.lines.clear();
        Ok(())
    }

    fn finish(mut self) -> Outcome {
        self.write()?;
        self.out.finish()
    }
}

/// What the flags ask for, as comments after the text of a word.
fn comments(
    options: &Options,
    word: &Word,
    target: Target,
    engine: Option<Engine>,
    out: &mut String,
) {
    if options.hex {
        let _ = write!(out, " ; {word}");
    }
    if options.check {
        for violation in check::check(word, &target, engine) {
            let _ = write!(out, "\n  ; {}", finding_line(&violation));
        }
    }
}
