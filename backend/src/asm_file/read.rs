//! Text to program.

use std::collections::BTreeMap;

use partita_ir::diag::Code;
use partita_ir::{Diagnostic, ElemType, Source, Span};
use partita_isa::{AsmError, Engine, Target, Word, asm, dma};

use crate::program::{DataBlock, Io, IoTensor, Meta, Place, Program, Slot, Symbol, read_random};

use super::is_name_byte;

/// After so many faults the rest of the text is not read.
const MAX_FAULTS: usize = 50;

/// The longest line, in bytes; constants may have longer ones, of the second length.
const MAX_LINE: usize = 16 << 10;
const MAX_DATA_LINE: usize = 1 << 20;

/// What a text holds.
#[derive(Clone, Debug, PartialEq)]
pub struct AsmFile {
    pub program: Program,
    /// Set when the text is a block of words and nothing else: their engine, if it names one.
    pub raw: Option<Option<Engine>>,
}

impl AsmFile {
    /// The words in program order.
    pub fn words(&self) -> impl Iterator<Item = Word> + '_ {
        self.program.words.values().flatten().copied()
    }
}

/// Reads assembler text. Without `.target` the default is the one given; without `.engine`, words are DVE's.
///
/// # Errors
/// Every fault, up to a limit, in the order of the text. Words may still break rules of the ISA.
pub fn read(
    source: &Source,
    default: Target,
    engine: Option<Engine>,
) -> Result<AsmFile, Vec<Diagnostic>> {
    let mut reader = Reader::new(default, engine);
    let mut faults = Vec::new();
    let mut start = 0;
    for line in source.text.split_inclusive('\n') {
        if let Err(fault) = reader.line(line) {
            faults.push(fault.at(start));
            if faults.len() == MAX_FAULTS {
                break;
            }
        }
        start += line.len();
    }
    if faults.is_empty() {
        reader
            .finish()
            .map_err(|message| vec![Diagnostic::error(Code::Syntax, message, Span::NONE)])
    } else {
        Err(faults)
    }
}

/// A fault within a line.
struct Fault(AsmError);

impl Fault {
    fn at(self, line_start: usize) -> Diagnostic {
        let AsmError { span, message, help } = self.0;
        let span = Span::new(line_start + span.start, line_start + span.end);
        let fault = Diagnostic::error(Code::Syntax, message, span);
        if help.is_empty() { fault } else { fault.help(help) }
    }
}

/// A fault found in a part of a line that begins at `start`.
fn shifted(error: AsmError, start: usize) -> Fault {
    Fault(AsmError { span: error.span.start + start..error.span.end + start, ..error })
}

/// A piece of a line, with its place in it.
#[derive(Clone, Copy)]
struct Piece<'a> {
    text: &'a str,
    start: usize,
}

impl<'a> Piece<'a> {
    fn fault(self, message: impl Into<String>, help: &str) -> Fault {
        let span = self.start..self.start + self.text.len();
        Fault(AsmError { span, message: message.into(), help: help.to_owned() })
    }

    fn trim(self) -> Self {
        let left = self.text.trim_ascii_start();
        Self { text: left.trim_ascii_end(), start: self.start + self.text.len() - left.len() }
    }

    /// The first word and what follows it.
    fn word(self) -> (Self, Self) {
        let this = self.trim();
        let end = this.text.find(|c: char| c.is_ascii_whitespace()).unwrap_or(this.text.len());
        this.cut(end)
    }

    fn cut(self, at: usize) -> (Self, Self) {
        let (first, rest) = self.text.split_at(at);
        (Self { text: first, ..self }, Self { text: rest, start: self.start + at }.trim())
    }

    /// A name, in quotes or not, and what follows it.
    fn name(self) -> Option<(String, Self)> {
        let this = self.trim();
        if !this.text.starts_with('"') {
            let end = this.text.bytes().position(|b| !is_name_byte(b)).unwrap_or(this.text.len());
            return (end > 0).then(|| (this.text[..end].to_owned(), this.cut(end).1));
        }
        let mut values = serde_json::Deserializer::from_str(this.text).into_iter::<String>();
        let name = values.next()?.ok()?;
        Some((name, this.cut(values.byte_offset()).1))
    }

    fn number(self) -> Result<u64, Fault> {
        let digits = self.text.strip_prefix("0x");
        let value = match digits {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => self.text.parse(),
        };
        value.map_err(|_| {
            self.fault(
                "not a number of 64 bits",
                "write a decimal number, or hex digits after `0x`",
            )
        })
    }
}

struct Reader {
    program: Program,
    engine: Engine,
    /// Engine named by the text or the caller.
    named_engine: Option<Engine>,
    saw_target: bool,
    /// Something other than words, a target and an engine was read.
    whole: bool,
    /// Labels that wait for the next item.
    labels: Vec<(String, u32)>,
}

impl Reader {
    fn new(target: Target, engine: Option<Engine>) -> Self {
        Self {
            program: Program {
                target,
                words: BTreeMap::new(),
                dma: Vec::new(),
                order: Vec::new(),
                data: Vec::new(),
                io: Io::default(),
                meta: Meta::default(),
                symbols: Vec::new(),
            },
            engine: engine.unwrap_or(Engine::Dve),
            named_engine: engine,
            saw_target: false,
            whole: false,
            labels: Vec::new(),
        }
    }

    fn line(&mut self, line: &str) -> Result<(), Fault> {
        let piece = Piece { text: line, start: 0 }.trim();
        let limit = if piece.text.starts_with(".data") { MAX_DATA_LINE } else { MAX_LINE };
        if piece.text.len() > limit {
            let start = Piece { text: "", start: piece.start };
            return Err(start.fault(format!("a line of more than {limit} bytes"), "split it"));
        }
        match piece.text.as_bytes().first() {
            None | Some(b';') => return Ok(()),
            Some(b'.') if !piece.text.starts_with(".word") => {
                return self.directive(without_comment(piece));
            }
            Some(_) => {}
        }
        if let Some((name, rest)) = piece.name()
            && let Some(count) = rest.text.strip_prefix(':')
        {
            let count = Piece { text: count, start: rest.start + 1 };
            return self.label(name, without_comment(count));
        }
        let instruction = asm::parse_plain(piece.text, &self.program.target)
            .map_err(|error| shifted(error, piece.start))?;
        self.item(Slot::Word(self.engine), Place::Words(self.engine));
        self.program.words.entry(self.engine).or_default().push(instruction.encode());
        Ok(())
    }

    fn directive(&mut self, line: Piece<'_>) -> Result<(), Fault> {
        let (name, rest) = line.word();
        self.whole |= !matches!(name.text, ".target" | ".engine");
        match name.text {
            ".target" => self.target(rest),
            ".engine" => {
                let engine =
                    rest.text.parse().map_err(|error| rest.fault(format!("{error}"), ""))?;
                self.whole |= self.named_engine.is_some_and(|before| before != engine)
                    || (self.named_engine.is_none() && !self.program.words.is_empty());
                self.named_engine = Some(engine);
                self.engine = engine;
                Ok(())
            }
            ".dma" => {
                // The line without its dot is the descriptor's own text.
                let descriptor = dma::parse_plain(&line.text[1..], &self.program.target)
                    .map_err(|error| shifted(error, line.start + 1))?;
                self.item(Slot::Dma(descriptor.queue), Place::Dma);
                self.program.dma.push(descriptor);
                Ok(())
            }
            ".data" => self.data(rest),
            ".io" => self.io(rest),
            ".meta" => self.meta(rest),
            _ => Err(name.fault(
                format!("unknown directive `{}`", name.text),
                "the directives are .target .engine .dma .data .io .meta .word",
            )),
        }
    }

    fn target(&mut self, rest: Piece<'_>) -> Result<(), Fault> {
        let target = rest.text.parse().map_err(|error| rest.fault(format!("{error}"), ""))?;
        if self.saw_target || !self.program.order.is_empty() {
            return Err(rest.fault(
                "the target is already settled",
                "write `.target` once, before the first item",
            ));
        }
        self.saw_target = true;
        self.program.target = target;
        Ok(())
    }

    fn label(&mut self, name: String, count: Piece<'_>) -> Result<(), Fault> {
        let items = if count.text.is_empty() { 1 } else { count.number()? };
        let items = u32::try_from(items).ok().filter(|&items| items > 0);
        let items = items.ok_or_else(|| count.fault("a label stands for at least one item", ""))?;
        self.whole = true;
        self.labels.push((name, items));
        Ok(())
    }

    /// Notes the place of the item that is about to be added.
    fn item(&mut self, slot: Slot, place: Place) {
        let first = match place {
            Place::Words(engine) => self.program.words.get(&engine).map_or(0, Vec::len),
            Place::Dma => self.program.dma.len(),
        };
        for (name, count) in self.labels.drain(..) {
            // A text of 4 thousand million items is refused for its size long before.
            let first = u32::try_from(first).unwrap_or(u32::MAX);
            self.program.symbols.push(Symbol { name, place, first, count });
        }
        self.program.order.push(slot);
    }

    fn data(&mut self, rest: Piece<'_>) -> Result<(), Fault> {
        let (address, hex) = rest.word();
        let bytes = bytes(hex)?;
        if address.text != "+" {
            self.program.data.push(DataBlock { address: address.number()?, bytes });
            return Ok(());
        }
        let block = self.program.data.last_mut();
        block
            .ok_or_else(|| {
                address.fault("there is no constant to continue", "begin it with its address")
            })?
            .bytes
            .extend(bytes);
        Ok(())
    }

    fn io(&mut self, rest: Piece<'_>) -> Result<(), Fault> {
        let (kind, rest) = rest.word();
        match kind.text {
            "hbm" => self.program.io.hbm_bytes = rest.number()?,
            "input" => self.program.io.inputs.push(tensor(rest)?),
            "output" => self.program.io.outputs.push(tensor(rest)?),
            _ => return Err(kind.fault("unknown kind of `.io`", "write hbm, input or output")),
        }
        Ok(())
    }

    fn meta(&mut self, rest: Piece<'_>) -> Result<(), Fault> {
        let (kind, rest) = rest.word();
        let (value, _) = rest.name().ok_or_else(|| rest.fault("a name is missing", ""))?;
        match kind.text {
            "version" => self.program.meta.version = value,
            "pass" => self.program.meta.pipeline.push(value),
            _ => return Err(kind.fault("unknown kind of `.meta`", "write version or pass")),
        }
        Ok(())
    }

    fn finish(self) -> Result<AsmFile, String> {
        if let Some((name, _)) = self.labels.first() {
            return Err(format!("label `{name}` stands before no item"));
        }
        self.program.check_structure().map_err(|error| error.to_string())?;
        let raw = (!self.whole).then_some(self.named_engine);
        Ok(AsmFile { program: self.program, raw })
    }
}

/// Cuts a comment off; a `;` within quotes is part of a name.
fn without_comment(piece: Piece<'_>) -> Piece<'_> {
    let (mut quoted, mut escaped) = (false, false);
    let end = piece.text.bytes().position(|byte| {
        let comment = byte == b';' && !quoted;
        quoted ^= byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        comment
    });
    piece.cut(end.unwrap_or(piece.text.len())).0.trim()
}

fn bytes(hex: Piece<'_>) -> Result<Vec<u8>, Fault> {
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = hex.text.as_bytes().as_chunks::<2>();
    let bytes = pairs
        .iter()
        .map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?))
        .collect::<Option<_>>();
    bytes
        .filter(|_| rest.is_empty())
        .ok_or_else(|| hex.fault("not whole bytes in hex", "write two hex digits a byte"))
}

/// `NAME f32[2,3] at 0x40`, for inputs also `NAME f32[2,3] at 0x40 random uniform(0.0, 1.0)`
fn tensor(line: Piece<'_>) -> Result<IoTensor, Fault> {
    const FORM: &str =
        "write NAME TYPE[DIM,DIM] at ADDRESS, and for an input perhaps random uniform(A, B)";
    let bad = |piece: Piece<'_>, what: &str| piece.fault(what.to_owned(), FORM);
    let (name, rest) = line.name().ok_or_else(|| bad(line, "a name is missing"))?;
    let open = rest.text.find('[').ok_or_else(|| bad(rest, "a shape in brackets is missing"))?;
    let close = rest
        .text
        .find(']')
        .filter(|&close| close > open)
        .ok_or_else(|| bad(rest, "`]` is missing"))?;
    let (head, after) = rest.cut(close + 1);
    let (dtype, dims) = head.cut(open);
    let dtype: ElemType =
        dtype.text.trim_ascii().parse().map_err(|error| dtype.fault(format!("{error}"), FORM))?;
    let dims = Piece { text: &dims.text[1..dims.text.len() - 1], start: dims.start + 1 };
    let mut shape = Vec::new();
    let mut at = dims.start;
    for text in dims.text.split(',').filter(|_| !dims.text.trim_ascii().is_empty()) {
        shape.push(Piece { text, start: at }.trim().number()?);
        at += text.len() + 1;
    }
    let (word, after_at) = after.word();
    if word.text != "at" {
        return Err(bad(after, "`at` and an address are missing"));
    }
    let (address, rest) = after_at.word();
    let address = address.number()?;
    let random = match rest.word() {
        (word, _) if word.text.is_empty() => None,
        (word, range) if word.text == "random" => {
            Some(read_random(range.text, dtype).map_err(|error| range.fault(error, FORM))?)
        }
        (word, _) => return Err(bad(word, "nothing but `random` follows the address")),
    };
    Ok(IoTensor { name, shape, dtype, address, random })
}
