//! Reading tokens and values of a line, with positions for messages.

use std::ops::Range;

use super::AsmError;
use crate::address::{ADDR_REG, ADDRESS_MASK, INDIRECT, Location, Memory, SHAPE_REG};
use crate::target::Target;

/// Told of each symbol that an address is relative to, with the field's name; answers whether the
/// symbol is known.
pub(super) type Bases<'a> = &'a mut dyn FnMut(&'static str, &str) -> bool;

/// Classes of bytes in words of the text.
const NAME: u8 = 1;
/// Also in numbers and enumeration names.
const ATOM: u8 = 2;
/// Also in names of values.
const SYMBOL: u8 = 4;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        let letter = byte as u8;
        classes[byte] = match letter {
            b'_' => NAME,
            b'.' | b'-' => ATOM | SYMBOL,
            b'+' => ATOM,
            b'%' | b'$' | b'#' => SYMBOL,
            _ if letter.is_ascii_alphanumeric() => NAME,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

/// A position in a line.
pub(crate) struct Cursor<'a> {
    pub line: &'a str,
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub fn rest(&self) -> &'a str {
        &self.line[self.at..]
    }

    /// The byte at the cursor.
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.line.as_bytes().get(self.at).copied()
    }

    /// Passes over spaces and tabs; no other character separates anything.
    #[inline]
    pub fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    #[inline]
    pub fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    #[inline]
    pub fn expect(&mut self, token: &str) -> Result<(), AsmError> {
        if self.eat(token) {
            Ok(())
        } else {
            Err(self.error_here(format!("expected `{token}`"), ""))
        }
    }

    /// [`Self::eat`] for a token of one byte.
    #[inline]
    pub fn eat_byte(&mut self, token: u8) -> bool {
        self.skip_space();
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    #[inline]
    pub fn expect_byte(&mut self, token: u8) -> Result<(), AsmError> {
        if self.eat_byte(token) {
            Ok(())
        } else {
            Err(self.error_here(format!("expected `{}`", char::from(token)), ""))
        }
    }

    /// Whether nothing but a comment follows.
    #[inline]
    pub fn is_at_end(&mut self) -> bool {
        self.skip_space();
        matches!(self.peek(), None | Some(b';'))
    }

    /// The longest run of ASCII bytes of these classes; may be empty.
    #[inline]
    fn take(&mut self, classes: u8) -> (&'a str, Range<usize>) {
        let start = self.at;
        while self.peek().is_some_and(|byte| CLASSES[usize::from(byte)] & classes != 0) {
            self.at += 1;
        }
        (&self.line[start..self.at], start..self.at)
    }

    /// A name: letters, digits, `_`; no space before it.
    #[inline]
    pub fn name(&mut self) -> (&'a str, Range<usize>) {
        self.take(NAME)
    }

    /// A name, number or other word: letters, digits, `_`, `.`, `+`, `-`.
    #[inline]
    pub fn atom(&mut self) -> (&'a str, Range<usize>) {
        self.skip_space();
        self.take(NAME | ATOM)
    }

    /// `%name`, as far as it goes.
    pub fn symbol(&mut self) -> (&'a str, Range<usize>) {
        self.take(NAME | SYMBOL)
    }

    /// Passes over a word if it is this one.
    pub fn word_is(&mut self, word: &str) -> bool {
        self.skip_space();
        let start = self.at;
        let found = self.take(NAME).0 == word;
        if !found {
            self.at = start;
        }
        found
    }

    /// An unsigned 64-bit integer, decimal or `0x` hex.
    pub fn unsigned(&mut self) -> Result<u64, AsmError> {
        let (text, span) = self.atom();
        let parsed = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        parsed.map_err(|_| {
            let message = format!("expected an unsigned number, found `{text}`");
            AsmError::new(span, message, "write a decimal or 0x… integer of at most 64 bits")
        })
    }

    /// An error about the next token.
    pub fn error_here(&self, message: impl Into<String>, help: impl Into<String>) -> AsmError {
        let rest = self.rest();
        let token = rest.trim_start();
        let start = self.at + rest.len() - token.len();
        let first = token.chars().next().map_or(0, char::len_utf8);
        let end = token.find([' ', '\t', ',', ']', ')']).unwrap_or(token.len()).max(first);
        AsmError::new(start..start + end, message, help)
    }

    /// An integer between `min` and `max`, decimal or `0x` hex.
    #[inline]
    pub fn integer(&mut self, min: i64, max: i64) -> Result<i64, AsmError> {
        let (text, span) = self.atom();
        integer(text, span, min, max)
    }

    /// An address field.
    pub fn address(
        &mut self,
        field: &'static str,
        target: &Target,
        bases: Bases<'_>,
    ) -> Result<u32, AsmError> {
        self.skip_space();
        if self.peek() == Some(b'r') && self.eat("raw[") {
            let bits = self.integer(0, u32::MAX.into())?;
            self.expect_byte(b']')?;
            return Ok(bits as u32);
        }
        let is_shape = self.peek() == Some(b's') && self.eat("shape:");
        let shape = if is_shape { SHAPE_REG } else { 0 };
        Ok(self.place(field, target, bases)? | shape)
    }

    fn place(
        &mut self,
        field: &'static str,
        target: &Target,
        bases: Bases<'_>,
    ) -> Result<u32, AsmError> {
        self.skip_space();
        let start = self.at;
        if self.rest().starts_with('%') {
            let (name, span) = self.symbol();
            let (partition, byte) = self.partition_and_byte()?;
            let stride = target.generation.sbuf_stride();
            let address = partition.saturating_mul(stride).saturating_add(byte);
            if byte >= stride || address > u64::from(ADDRESS_MASK) {
                return Err(AsmError::new(
                    start..self.at,
                    "the offset exceeds the address space",
                    format!("the byte is below {stride:#x}"),
                ));
            }
            if !bases(field, name) {
                return Err(AsmError::new(span, format!("`{name}` is not known here"), ""));
            }
            return Ok(address as u32);
        }
        let (word, span) = self.atom();
        if word == "addr" {
            self.expect_byte(b'[')?;
            let address = self.integer(0, ADDRESS_MASK.into())?;
            self.expect_byte(b']')?;
            return Ok(address as u32);
        }
        if let Some(number) = register(word) {
            return Ok(ADDR_REG | u32::from(number));
        }
        let memory = match word {
            "sbuf" => Memory::Sbuf,
            "psum" => Memory::Psum,
            _ => {
                return Err(AsmError::new(
                    span,
                    format!("expected an address, found `{word}`"),
                    "write sbuf[p0, 0x100], psum[p0, 0x100], r5, addr[0x100] or %name[p0, 0x100]",
                ));
            }
        };
        let (partition, byte) = self.partition_and_byte()?;
        let location = |partition: u64, byte: u64| {
            let (partition, byte) = (partition.try_into().ok()?, byte.try_into().ok()?);
            Location { memory, partition, byte }.address(target.generation)
        };
        location(partition, byte).ok_or_else(|| {
            AsmError::new(
                start..self.at,
                format!("{} of {} has no such address", memory.name(), target.generation),
                "partitions are p0 to p127; addr[…] takes any 29-bit address",
            )
        })
    }

    /// `[p32, 0x10]`
    fn partition_and_byte(&mut self) -> Result<(u64, u64), AsmError> {
        self.expect_byte(b'[')?;
        self.expect_byte(b'p')?;
        let partition = self.integer(0, u32::MAX.into())?;
        self.expect_byte(b',')?;
        let byte = self.integer(0, u32::MAX.into())?;
        self.expect_byte(b']')?;
        Ok((partition as u64, byte as u64))
    }

    /// Writes a pattern of `dims` dimensions into the bytes of its field.
    #[inline]
    pub fn pattern(
        &mut self,
        field: &'static str,
        dims: usize,
        target: &Target,
        bases: Bases<'_>,
        out: &mut [u8],
    ) -> Result<(), AsmError> {
        if self.peek() == Some(b'g') && self.eat("gather(") {
            let index = self.address(field, target, bases)?;
            self.expect_byte(b',')?;
            let data = self.address(field, target, bases)?;
            self.expect_byte(b',')?;
            let count = self.integer(0, u16::MAX.into())? as u16;
            self.expect_byte(b')')?;
            out.fill(0);
            put(out, 0, (index | INDIRECT).to_le_bytes());
            put(out, 4, data.to_le_bytes());
            put(out, 8, count.to_le_bytes());
            return Ok(());
        }
        let start = self.address(field, target, bases)?;
        let (steps, counts) = (4, 4 + 2 * dims);
        put(out, 0, start.to_le_bytes());
        self.expect_byte(b'[')?;
        let mut listed = true;
        for d in 0..dims {
            let (mut step, mut count) = (1_i16, 1_u16);
            listed = listed && (d == 0 || self.eat_byte(b','));
            if listed {
                step = self.integer(i16::MIN.into(), i16::MAX.into())? as i16;
                self.expect_byte(b':')?;
                count = self.integer(0, u16::MAX.into())? as u16;
            }
            put(out, steps + 2 * d, step.to_le_bytes());
            put(out, counts + 2 * d, count.to_le_bytes());
        }
        if !self.eat_byte(b']') {
            return Err(self.error_here("expected `]`", format!("{field} has {dims} dimensions")));
        }
        Ok(())
    }
}

/// Overwrites the bytes from `offset` on; those that do not fit as a whole are dropped.
#[inline]
pub(super) fn put<const N: usize>(out: &mut [u8], offset: usize, bytes: [u8; N]) {
    if let Some(place) = out.get_mut(offset..).and_then(<[u8]>::first_chunk_mut) {
        *place = bytes;
    }
}

/// `r5` → 5.
pub(super) fn register(text: &str) -> Option<u8> {
    text.strip_prefix('r')?.parse().ok()
}

/// An integer between `min` and `max`, decimal or `0x` hex.
#[inline]
pub(super) fn integer(text: &str, span: Range<usize>, min: i64, max: i64) -> Result<i64, AsmError> {
    match short_number(text.as_bytes()) {
        Some(value) if (min..=max).contains(&value) => Ok(value),
        _ => any_integer(text, span, min, max),
    }
}

/// A number of a few digits, the usual case.
#[inline]
fn short_number(text: &[u8]) -> Option<i64> {
    let (radix, digits) = match text {
        [b'0', b'x', digits @ ..] => (16, digits),
        [b'-', digits @ ..] | digits => (10, digits),
    };
    if digits.is_empty() || digits.len() > 8 {
        return None;
    }
    let mut value = 0;
    for &digit in digits {
        value = value * radix + i64::from(char::from(digit).to_digit(radix as u32)?);
    }
    Some(if text[0] == b'-' { -value } else { value })
}

fn any_integer(text: &str, span: Range<usize>, min: i64, max: i64) -> Result<i64, AsmError> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    match parsed {
        Ok(value) if (min..=max).contains(&value) => Ok(value),
        Ok(value) => Err(AsmError::new(
            span,
            format!("{value} is out of range"),
            format!("the field holds {min} to {max}"),
        )),
        Err(_) => Err(AsmError::new(
            span,
            if text.is_empty() {
                "expected a number".to_owned()
            } else {
                format!("expected a number, found `{text}`")
            },
            "write a decimal or 0x… integer",
        )),
    }
}
