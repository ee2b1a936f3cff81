//! What a file is, from its content, and reading it as that.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use partita::backend::asm_file::{self, AsmFile};
use partita::backend::image;
use partita::backend::program::Program;
use partita::ir::Source;
use partita::ir::text::MAX_TEXT_HELP;
use partita::isa::word::WORD_BYTES;
use partita::isa::{Engine, Target, Word};

use crate::cli::{Common, InputFormat, WordInput};
use crate::failure::{Failure, Outcome};
use crate::files::{self, MAX_BINARY, MAX_TEXT};

/// A file that has been read.
pub enum Input {
    /// A program image, or assembler text of one.
    Program(Box<Program>),
    /// Words without a program around them, and their engine if the text names it.
    Words(Target, Option<Engine>, Vec<Word>),
    /// A text for a reader of IR.
    Ir(Source, Language),
}

/// The languages that IR comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Pta,
    StableHlo,
}

/// How words are to be read where the file does not say.
#[derive(Clone, Copy, Default)]
pub struct Reading {
    pub format: Option<InputFormat>,
    pub target: Option<Target>,
    pub engine: Option<Engine>,
}

impl Reading {
    /// As the flags of a command on words say.
    pub fn of_words(words: &WordInput, common: &Common) -> Self {
        Self { format: words.input_format, target: common.target, engine: words.engine }
    }

    /// As the flags of a command on programs say.
    pub fn of_program(format: Option<InputFormat>, common: &Common) -> Self {
        Self { format, target: common.target, engine: None }
    }
}

/// A file that has been opened: raw words come in pieces, whatever else there is has been read.
pub enum Opened {
    Words(RawWords),
    Whole(Input),
}

/// Opens a file as what it is, or as what it is said to be.
pub fn open(path: &Path, reading: Reading) -> Outcome<Opened> {
    let mut reader = files::open(path)?;
    let mut start = vec![0; BEGINNING];
    let len = files::fill(path, &mut reader, &mut start)?;
    start.truncate(len);
    if start.is_empty() {
        return Err(Failure::about(path, EMPTY));
    }
    let format = reading.format.unwrap_or_else(|| detect(&start));
    if format == InputFormat::Raw {
        return RawWords::new(path, start, reader, reading).map(Opened::Words);
    }
    let mut bytes = start;
    let rest = reader.take(MAX_BINARY).read_to_end(&mut bytes);
    rest.map_err(|error| Failure::about(path, error))?;
    whole(path, bytes, format, reading).map(Opened::Whole)
}

/// Nothing is no program, and no block of words.
pub const EMPTY: &str = "is empty";

/// Bytes that tell what a file is.
const BEGINNING: usize = 4096;

/// Raw words, a piece at a time, so that a file of any size takes the same memory.
pub struct RawWords {
    pub target: Target,
    pub engine: Option<Engine>,
    path: PathBuf,
    reader: Box<dyn Read>,
    buffer: Vec<u8>,
    /// Bytes that went before the buffer.
    offset: u64,
}

impl RawWords {
    /// Bytes of a piece: whole words.
    const PIECE: usize = WORD_BYTES << 12;

    fn new(path: &Path, start: Vec<u8>, rest: Box<dyn Read>, reading: Reading) -> Outcome<Self> {
        // A regular file is refused before anything of it has been printed.
        let size = std::fs::metadata(path).ok().filter(|meta| meta.is_file());
        if let Some(size) = size.filter(|_| !files::is_dash(path)).map(|meta| meta.len()) {
            let extra = size % WORD_BYTES as u64;
            if extra != 0 {
                return Err(broken_block(path, extra, size - extra));
            }
        }
        Ok(Self {
            target: reading.target.unwrap_or_default(),
            engine: reading.engine,
            path: path.to_owned(),
            reader: Box::new(io::Cursor::new(start).chain(rest)),
            buffer: vec![0; Self::PIECE],
            offset: 0,
        })
    }

    /// The words of the next piece; none at the end.
    ///
    /// # Errors
    /// The input cannot be read, or ends within a word (rule BLK-1).
    pub fn next(&mut self) -> Outcome<impl ExactSizeIterator<Item = Word> + '_> {
        let len = files::fill(&self.path, &mut self.reader, &mut self.buffer)?;
        let (words, extra) = Word::split(&self.buffer[..len]);
        if !extra.is_empty() {
            let whole = self.offset + (len - extra.len()) as u64;
            return Err(broken_block(&self.path, extra.len() as u64, whole));
        }
        self.offset += len as u64;
        Ok(words)
    }
}

fn broken_block(path: &Path, extra: u64, offset: u64) -> Failure {
    let what = format!(
        "is not whole words: {extra} bytes at offset {offset:#x} are no word of {WORD_BYTES} bytes (BLK-1)"
    );
    Failure::about(path, what)
}

/// Reads a file as what it is, or as what it is said to be.
pub fn read(path: &Path, reading: Reading) -> Outcome<Input> {
    let bytes = files::read(path, MAX_BINARY)?;
    if bytes.is_empty() {
        return Err(Failure::about(path, EMPTY));
    }
    let format = reading.format.unwrap_or_else(|| detect(&bytes));
    whole(path, bytes, format, reading)
}

/// Reads a text of IR. Of a file that is compiled already, `refusal` is said.
///
/// # Errors
/// The file cannot be read, or is no such text.
pub fn program_text(path: &Path, reading: Reading, refusal: &str) -> Outcome<(Source, Language)> {
    match read(path, reading)? {
        Input::Ir(source, language) => Ok((source, language)),
        Input::Program(_) | Input::Words(..) => Err(Failure::about(path, refusal)),
    }
}

/// Reads the bytes of a file.
pub fn whole(path: &Path, bytes: Vec<u8>, format: InputFormat, reading: Reading) -> Outcome<Input> {
    match format {
        InputFormat::Image => match image::read(&bytes) {
            Ok(program) => Ok(Input::Program(Box::new(program))),
            Err(error) => Err(Failure::about(path, error)),
        },
        InputFormat::Raw => {
            let (words, rest) = Word::split(&bytes);
            if rest.is_empty() {
                let target = reading.target.unwrap_or_default();
                return Ok(Input::Words(target, reading.engine, words.collect()));
            }
            Err(broken_block(path, rest.len() as u64, (bytes.len() - rest.len()) as u64))
        }
        InputFormat::Hex => {
            let words =
                hex_words(&text(path, bytes)?.text).map_err(|error| Failure::about(path, error))?;
            Ok(Input::Words(reading.target.unwrap_or_default(), reading.engine, words))
        }
        InputFormat::Asm => {
            let source = text(path, bytes)?;
            match asm_file::read(&source, reading.target.unwrap_or_default(), reading.engine) {
                Ok(file) => Ok(from_asm(file)),
                Err(found) => Err(Failure::Diagnostics(Some(Box::new(source)), found)),
            }
        }
        InputFormat::Pta => Ok(Input::Ir(text(path, bytes)?, Language::Pta)),
        InputFormat::Stablehlo => Ok(Input::Ir(text(path, bytes)?, Language::StableHlo)),
    }
}

fn from_asm(file: AsmFile) -> Input {
    match file.raw {
        Some(engine) => Input::Words(file.program.target, engine, file.words().collect()),
        None => Input::Program(Box::new(file.program)),
    }
}

/// The bytes as text of a bearable size.
pub fn text(path: &Path, bytes: Vec<u8>) -> Outcome<Source> {
    if bytes.len() as u64 > MAX_TEXT {
        return Err(Failure::about(
            path,
            format!("is larger than {} MiB of text: {MAX_TEXT_HELP}", MAX_TEXT >> 20),
        ));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Source::new(path.display().to_string(), text)),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            Err(Failure::about(path, format!("is not text: byte {at} is not UTF-8")))
        }
    }
}

fn detect(bytes: &[u8]) -> InputFormat {
    if image::is_image(bytes) {
        return InputFormat::Image;
    }
    // Instruction words hold zero bytes; no text does. A few thousand bytes tell.
    let start = &bytes[..bytes.len().min(BEGINNING)];
    let is_text = start.iter().all(|&byte| byte >= b' ' || byte.is_ascii_whitespace());
    if !is_text {
        return InputFormat::Raw;
    }
    // A byte order mark is no part of the text.
    let line = start
        .strip_prefix("\u{feff}".as_bytes())
        .unwrap_or(start)
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .find(|line| !line.is_empty() && !matches!(line, [b'#' | b';', ..] | [b'/', b'/', ..]));
    let line = line.unwrap_or_default();
    let begins = |words: &[&str]| words.iter().any(|word| line.starts_with(word.as_bytes()));
    if begins(&["module", "builtin.module", "func.func", "\"builtin.module\""])
        && is_stablehlo(bytes)
    {
        InputFormat::Stablehlo
    } else if begins(&["module", "func", "private", "target"]) {
        InputFormat::Pta
    } else if is_hex_word(line) {
        InputFormat::Hex
    } else if looks_like_asm(line) {
        InputFormat::Asm
    } else {
        InputFormat::Pta
    }
}

/// `module {` and `func.func` begin the project's own text too: words of the body tell.
fn is_stablehlo(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let holds = |marks: &[&str]| marks.iter().any(|mark| text.contains(mark));
    if holds(&["stablehlo.", "chlo.", "\"builtin.module\""]) {
        return true;
    }
    !holds(&["= tensor.", " tile.", " tpb."]) && holds(&["func.func"])
}

fn is_hex_word(line: &[u8]) -> bool {
    let digits = line.split(|&byte| byte == b'#').next().unwrap_or_default().trim_ascii();
    digits.len() == 2 * WORD_BYTES && digits.iter().all(u8::is_ascii_hexdigit)
}

/// A directive, a label, or a mnemonic with fields.
fn looks_like_asm(line: &[u8]) -> bool {
    let word_end =
        line.iter().position(|b| b.is_ascii_whitespace() || *b == b':').unwrap_or(line.len());
    let (word, rest) = line.split_at(word_end);
    word.starts_with(b".")
        || rest.starts_with(b":")
        || std::str::from_utf8(word)
            .is_ok_and(|word| partita::isa::Opcode::from_mnemonic(word).is_some())
}

/// One word of 128 hex digits per line; `#` begins a comment.
fn hex_words(text: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let digits = line.split('#').next().unwrap_or_default().trim();
        if !digits.is_empty() {
            words.push(digits.parse().map_err(|error| format!("line {}: {error}", number + 1))?);
        }
    }
    Ok(words)
}

/// The parts of a text between lines `// -----`; each begins with as many empty lines as stand before it, so that
/// lines are counted as in the whole.
///
/// # Errors
/// The parts together with their empty lines would be larger than any text that is read.
pub fn split(source: Source) -> Outcome<Vec<Source>> {
    let mut parts = vec![String::new()];
    let mut padding = 0;
    for (number, line) in source.text.split_inclusive('\n').enumerate() {
        if line.trim() == "// -----" {
            padding += number as u64 + 1;
            if padding > MAX_TEXT {
                return Err(Failure::Message(format!("{}: has too many parts", source.name)));
            }
            parts.push("\n".repeat(number + 1));
        } else if let Some(part) = parts.last_mut() {
            part.push_str(line);
        }
    }
    let says_something = |line: &str| !line.is_empty() && !line.starts_with("//");
    parts.retain(|part| part.lines().map(str::trim).any(says_something));
    Ok(parts.into_iter().map(|text| Source::new(source.name.clone(), text)).collect())
}
