//! What a file is, from its content, and reading it as that.

use std::path::Path;

use partita::backend::asm_file::{self, AsmFile};
use partita::backend::image;
use partita::backend::program::Program;
use partita::ir::Source;
use partita::isa::word::WORD_BYTES;
use partita::isa::{Engine, Target, Word};

use crate::cli::InputFormat;
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

/// Reads a file as what it is, or as what it is said to be.
pub fn read(path: &Path, reading: Reading) -> Outcome<Input> {
    let bytes = files::read(path, MAX_BINARY)?;
    let format = reading.format.unwrap_or_else(|| detect(&bytes));
    match format {
        InputFormat::Image => match image::read(&bytes) {
            Ok(program) => Ok(Input::Program(Box::new(program))),
            Err(error) => Err(Failure::about(path, error)),
        },
        InputFormat::Raw => {
            let (words, rest) = Word::split(&bytes);
            if rest.is_empty() {
                return Ok(Input::Words(
                    reading.target.unwrap_or_default(),
                    reading.engine,
                    words.collect(),
                ));
            }
            let whole =
                format!("{} bytes are not whole words of {WORD_BYTES} bytes (BLK-1)", bytes.len());
            Err(Failure::about(path, whole))
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
        return Err(Failure::about(path, format!("is larger than {} MiB of text", MAX_TEXT >> 20)));
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
    let start = &bytes[..bytes.len().min(4096)];
    let is_text = start.iter().all(|&byte| byte >= b' ' || byte.is_ascii_whitespace());
    if !is_text {
        return InputFormat::Raw;
    }
    let line = start
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .find(|line| !line.is_empty() && !matches!(line, [b'#' | b';', ..] | [b'/', b'/', ..]));
    let line = line.unwrap_or_default();
    let begins = |words: &[&str]| words.iter().any(|word| line.starts_with(word.as_bytes()));
    let has_loc_lines = start.starts_with(b"#loc");
    if has_loc_lines || begins(&["module", "func.func", "\"builtin.module\"", "stablehlo."]) {
        InputFormat::Stablehlo
    } else if begins(&["func", "private", "target"]) {
        InputFormat::Pta
    } else if is_hex_word(line) {
        InputFormat::Hex
    } else if looks_like_asm(line) {
        InputFormat::Asm
    } else {
        InputFormat::Pta
    }
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
    parts.retain(|part| !part.trim().is_empty());
    Ok(parts.into_iter().map(|text| Source::new(source.name.clone(), text)).collect())
}
