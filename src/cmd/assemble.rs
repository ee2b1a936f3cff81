//! `partita as`: assembler text to raw words or an image.

use std::io::{BufRead, BufReader, Cursor, Read, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use partita::backend::image;
use partita::ir::diag::Code;
use partita::ir::{Diagnostic, Source, Span};
use partita::isa::{AsmError, Target, asm};

use crate::cli::{Common, InputFormat, WordInput};
use crate::failure::{Failure, Outcome};
use crate::files::{self, MAX_TEXT, Output};
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
    let output = options.common.output.as_deref();
    let mut reader = files::open(&options.file)?;
    let mut start = Vec::new();
    let read = reader.by_ref().take(MAX_TEXT + 1).read_to_end(&mut start);
    read.map_err(|error| Failure::about(&options.file, error))?;
    if start.is_empty() {
        return Err(Failure::about(&options.file, input::EMPTY));
    }
    let format = reading.format.unwrap_or(InputFormat::Asm);
    if start.len() as u64 > MAX_TEXT && format == InputFormat::Asm {
        let text = BufReader::with_capacity(1 << 20, Cursor::new(start).chain(reader));
        return stream(&options.file, text, reading, Output::create(output)?);
    }
    let bytes = match input::whole(&options.file, start, format, reading)? {
        Input::Words(_, _, words) => words.iter().flat_map(|word| word.0).collect(),
        Input::Program(program) => image::write(&program).map_err(Failure::Message)?,
        Input::Ir(..) => return Err(Failure::Usage("`as` reads assembler text".to_owned())),
    };
    files::write(output, &bytes)
}

/// The longest line of a long text, in bytes.
const MAX_LINE: u64 = 16 << 10;

/// A text too long to be held: words of one engine, a line at a time.
fn stream(path: &Path, mut text: impl BufRead, reading: Reading, mut out: Output) -> Outcome {
    let mut target = reading.target.unwrap_or_default();
    let mut line = Vec::new();
    let mut words = 0_u64;
    for number in 1_u64.. {
        line.clear();
        let read = text.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
        if read.map_err(|error| Failure::about(path, error))? == 0 {
            break;
        }
        let place = || format!("{}:{number}", path.display());
        let Ok(line) = std::str::from_utf8(&line) else {
            return Err(Failure::Message(format!("{}: is not text", place())));
        };
        let code = line.trim();
        let directive = code.split(';').next().unwrap_or_default().trim();
        if directive.is_empty() || words == 0 && directive.starts_with(".engine ") {
            continue;
        }
        if let (Some(name), 0) = (directive.strip_prefix(".target "), words) {
            target = name.trim().parse::<Target>().map_err(Failure::message)?;
            continue;
        }
        let word = asm::parse_word(code, &target, &mut |_, _| false)
            .map_err(|error| refused(place(), code, error))?;
        out.write_all(&word.0).map_err(|error| out.failure(error))?;
        words += 1;
    }
    out.finish()
}

/// The line alone, with its fault shown: the text around it is gone.
fn refused(place: String, line: &str, error: AsmError) -> Failure {
    let span = Span::new(error.span.start, error.span.end);
    let fault = Diagnostic::error(Code::Syntax, error.message, span);
    let help =
        "a text of more than 64 MiB holds words of one engine, `.target` and `.engine` first";
    let fault = fault.help(if error.help.is_empty() { help.to_owned() } else { error.help });
    Failure::Diagnostics(Some(Box::new(Source::new(place, line.to_owned()))), vec![fault])
}
