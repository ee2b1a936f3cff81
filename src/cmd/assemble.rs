//! `partita as`: assembler text to raw words or an image.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use partita::backend::image;
use partita::ir::diag::Code;
use partita::ir::{Diagnostic, Source, Span};
use partita::isa::{AsmError, Engine, Target, asm};

use crate::cli::{Common, InputFormat, WordInput};
use crate::failure::{Failure, Outcome};
use crate::files::{self, MAX_BINARY, MAX_TEXT, Output};
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

/// What is looked at to tell a block of words from a program, in bytes. A shorter text is read as a whole.
const BEGINNING: usize = 4 << 20;

pub fn run(options: &Options) -> Outcome {
    let format = options.words.input_format.unwrap_or(InputFormat::Asm);
    let reading =
        Reading { format: Some(format), ..Reading::of_words(&options.words, &options.common) };
    let path = &options.file;
    let output = options.common.output.as_deref();
    let mut reader = files::open(path)?;
    let mut text = vec![0; BEGINNING];
    let len = files::fill(path, &mut reader, &mut text)?;
    text.truncate(len);
    if text.is_empty() {
        return Err(Failure::about(path, input::EMPTY));
    }
    if format == InputFormat::Asm && len == BEGINNING && is_block(&text, reading.engine) {
        let block = Block {
            path,
            target: reading.target.unwrap_or_default(),
            engine: reading.engine,
            lines: 0,
            words: 0,
            out: Output::create(output)?,
        };
        return block.assemble(text, &mut reader);
    }
    let limit = if format == InputFormat::Asm { MAX_TEXT } else { MAX_BINARY };
    let rest = reader.take((limit + 1).saturating_sub(len as u64)).read_to_end(&mut text);
    rest.map_err(|error| Failure::about(path, error))?;
    let bytes = match input::whole(path, text, format, reading)? {
        Input::Words(_, _, words) => words.iter().flat_map(|word| word.0).collect(),
        Input::Program(program) => image::write(&program).map_err(Failure::Message)?,
        Input::Ir(..) => return Err(Failure::Usage("`as` reads assembler text".to_owned())),
    };
    files::write(output, &bytes)
}

/// Whether the lines hold words of one engine and nothing that only a program has. The last may be cut.
fn is_block(text: &[u8], engine: Option<Engine>) -> bool {
    let mut engine = engine.map(|engine| engine.name().as_bytes());
    let mut words = false;
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    lines.all(|line| match Item::of(line) {
        Item::Nothing | Item::Target(_) => true,
        Item::Word => {
            words = true;
            true
        }
        Item::Engine(name) if engine.is_none() && !words => {
            engine = Some(name);
            true
        }
        Item::Engine(name) => engine == Some(name),
        Item::OfProgram => false,
    })
}

/// What a line is, as far as a block of words is concerned.
enum Item<'a> {
    Nothing,
    Word,
    Target(&'a [u8]),
    Engine(&'a [u8]),
    /// A label or a directive.
    OfProgram,
}

impl<'a> Item<'a> {
    /// Of a line without space around it.
    fn of(line: &'a [u8]) -> Self {
        let argument = |directive: &[u8]| {
            let rest = line.strip_prefix(directive)?;
            let rest = rest.split(|&byte| byte == b';').next().unwrap_or_default();
            rest.first().is_some_and(u8::is_ascii_whitespace).then(|| rest.trim_ascii())
        };
        match line.first() {
            None | Some(b';') => Self::Nothing,
            Some(b'.') if line.starts_with(b".word") => Self::Word,
            Some(b'.') => match (argument(b".target"), argument(b".engine")) {
                (Some(name), _) => Self::Target(name),
                (_, Some(name)) => Self::Engine(name),
                _ => Self::OfProgram,
            },
            Some(_) => {
                let name = line.iter().position(|byte| matches!(byte, b' ' | b'\t' | b':'));
                let rest = line.get(name.unwrap_or(line.len())..).unwrap_or_default();
                let is_label = rest.trim_ascii_start().starts_with(b":") || line[0] == b'"';
                if is_label { Self::OfProgram } else { Self::Word }
            }
        }
    }
}

/// A text of any length that is words of one engine: a line at a time, so that memory does not grow.
struct Block<'a> {
    path: &'a Path,
    target: Target,
    engine: Option<Engine>,
    /// Before the line that is read.
    lines: u64,
    words: u64,
    out: Output,
}

impl Block<'_> {
    /// The longest line, in bytes.
    const MAX_LINE: usize = 16 << 10;

    /// `text` is the beginning, and then the buffer.
    fn assemble(mut self, mut text: Vec<u8>, reader: &mut dyn std::io::Read) -> Outcome {
        let mut filled = text.len();
        loop {
            let is_last = filled < text.len();
            let whole = match text[..filled].iter().rposition(|&byte| byte == b'\n') {
                _ if is_last => filled,
                Some(at) => at + 1,
                None => return Err(self.refuse("", "a line is too long", "split it")),
            };
            self.piece(&text[..whole])?;
            if is_last {
                return self.out.finish();
            }
            text.copy_within(whole..filled, 0);
            let kept = filled - whole;
            filled = kept + files::fill(self.path, reader, &mut text[kept..])?;
        }
    }

    /// Whole lines.
    fn piece(&mut self, bytes: &[u8]) -> Outcome {
        let (text, fault) = match std::str::from_utf8(bytes) {
            Ok(text) => (text, false),
            Err(error) => {
                let (text, _) = bytes.split_at(error.valid_up_to());
                (std::str::from_utf8(text).unwrap_or_default(), true)
            }
        };
        for line in text.lines() {
            self.line(line)?;
            self.lines += 1;
        }
        if fault {
            // The line with the fault has been counted unless the fault is its first byte.
            self.lines -= u64::from(!text.ends_with('\n') && !text.is_empty());
            return Err(self.refuse("", "is not text: not UTF-8", ""));
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> Outcome {
        if line.len() > Self::MAX_LINE {
            let message = format!("a line of more than {} bytes", Self::MAX_LINE);
            return Err(self.refuse("", &message, "split it"));
        }
        match Item::of(line.trim_ascii().as_bytes()) {
            Item::Nothing => {}
            Item::Word => {
                let word = asm::parse_word(line, &self.target, &mut |_, _| false)
                    .map_err(|error| self.refused(line, error))?;
                self.out.write_all(&word.0).map_err(|error| self.out.failure(error))?;
                self.words += 1;
            }
            Item::Target(name) if self.words == 0 => {
                let name = String::from_utf8_lossy(name);
                let target = name.parse::<Target>();
                self.target =
                    target.map_err(|error| self.refuse(line, &error.to_string(), error.help()))?;
            }
            Item::Engine(name) => {
                let name = String::from_utf8_lossy(name);
                let engine = name.parse::<Engine>();
                let engine = engine.map_err(|error| self.refuse(line, &error.to_string(), ""))?;
                match self.engine {
                    Some(known) if known == engine => {}
                    None if self.words == 0 => self.engine = Some(engine),
                    _ => return Err(self.not_a_block(line)),
                }
            }
            Item::Target(_) | Item::OfProgram => return Err(self.not_a_block(line)),
        }
        Ok(())
    }

    fn not_a_block(&self, line: &str) -> Failure {
        let message = format!(
            "only words of one engine can follow here: the first {} MiB of the text were a block of words",
            BEGINNING >> 20
        );
        let help = "for a program, which may have 64 MiB of text, write `.io hbm 0x0` before the first word";
        self.refuse(line, &message, help)
    }

    fn refuse(&self, line: &str, message: &str, help: &str) -> Failure {
        let span = 0..line.trim_end().len();
        self.refused(line, AsmError { span, message: message.to_owned(), help: help.to_owned() })
    }

    /// The line alone, with its fault shown: the text around it is gone.
    fn refused(&self, line: &str, error: AsmError) -> Failure {
        let place = format!("{}:{}", self.path.display(), self.lines + 1);
        let span = Span::new(error.span.start, error.span.end);
        let fault = Diagnostic::error(Code::Syntax, error.message, span);
        let fault = if error.help.is_empty() { fault } else { fault.help(error.help) };
        Failure::Diagnostics(Some(Box::new(Source::new(place, line.to_owned()))), vec![fault])
    }
}
