//! Reading tokens and values of a line, with positions for messages.

use std::ops::Range;

use super::AsmError;
use crate::address::{ADDR_REG, ADDRESS_MASK, INDIRECT, Location, Memory, SHAPE_REG};
use crate::target::Target;

/// Told of each symbol that an address is relative to, with the field's name; answers whether the
/// symbol is known.
pub(super) type Bases<'a> = &'a mut dyn FnMut(&'static str, &str) -> bool;

/// A position in a line.
pub(crate) struct Cursor<'a> {
    pub line: &'a str,
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub fn rest(&self) -> &'a str {
        &self.line[self.at..]
    }

    pub fn skip_space(&mut self) {
        self.at = self.line.len() - self.rest().trim_start().len();
    }

    pub fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    pub fn expect(&mut self, token: &str) -> Result<(), AsmError> {
        if self.eat(token) {
            Ok(())
        } else {
            Err(self.error_here(format!("expected `{token}`"), ""))
        }
    }

    /// The longest run of characters that `accept` takes; may be empty.
    pub fn take(&mut self, accept: impl Fn(char) -> bool) -> (&'a str, Range<usize>) {
        let rest = self.rest();
        let len = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        let start = self.at;
        self.at += len;
        (&rest[..len], start..self.at)
    }

    /// A name, number or other word: letters, digits, `_`, `.`, `+`, `-`.
    pub fn atom(&mut self) -> (&'a str, Range<usize>) {
        self.skip_space();
        self.take(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-'))
    }

    /// `%name`, as far as it goes.
    pub fn symbol(&mut self) -> (&'a str, Range<usize>) {
        self.take(|c| c.is_ascii_alphanumeric() || matches!(c, '%' | '_' | '.' | '$' | '#' | '-'))
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
        if self.eat("raw[") {
            let bits = self.integer(0, u32::MAX.into())?;
            self.expect("]")?;
            return Ok(bits as u32);
        }
        let shape = if self.eat("shape:") { SHAPE_REG } else { 0 };
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
            self.expect("[")?;
            let address = self.integer(0, ADDRESS_MASK.into())?;
            self.expect("]")?;
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
        self.expect("[")?;
        self.expect("p")?;
        let partition = self.integer(0, u32::MAX.into())?;
        self.expect(",")?;
        let byte = self.integer(0, u32::MAX.into())?;
        self.expect("]")?;
        Ok((partition as u64, byte as u64))
    }

    /// Writes a pattern of `dims` dimensions into the bytes of its field.
    pub fn pattern(
        &mut self,
        field: &'static str,
        dims: usize,
        target: &Target,
        bases: Bases<'_>,
        out: &mut [u8],
    ) -> Result<(), AsmError> {
        if self.eat("gather(") {
            let index = self.address(field, target, bases)?;
            self.expect(",")?;
            let data = self.address(field, target, bases)?;
            self.expect(",")?;
            let count = self.integer(0, u16::MAX.into())? as u16;
            self.expect(")")?;
            out.fill(0);
            put(out, 0, &(index | INDIRECT).to_le_bytes());
            put(out, 4, &data.to_le_bytes());
            put(out, 8, &count.to_le_bytes());
            return Ok(());
        }
        let start = self.address(field, target, bases)?;
        put(out, 0, &start.to_le_bytes());
        self.expect("[")?;
        let mut listed = true;
        for d in 0..dims {
            let (mut step, mut count) = (1_i16, 1_u16);
            listed = listed && (d == 0 || self.eat(","));
            if listed {
                step = self.integer(i16::MIN.into(), i16::MAX.into())? as i16;
                self.expect(":")?;
                count = self.integer(0, u16::MAX.into())? as u16;
            }
            put(out, 4 + 2 * d, &step.to_le_bytes());
            put(out, 4 + 2 * dims + 2 * d, &count.to_le_bytes());
        }
        if !self.eat("]") {
            return Err(self.error_here("expected `]`", format!("{field} has {dims} dimensions")));
        }
        Ok(())
    }
}

/// Overwrites the bytes from `offset` on; bytes that do not fit are dropped.
pub(super) fn put(out: &mut [u8], offset: usize, bytes: &[u8]) {
    for (place, byte) in out.iter_mut().skip(offset).zip(bytes) {
        *place = *byte;
    }
}

/// `r5` → 5.
pub(super) fn register(text: &str) -> Option<u8> {
    text.strip_prefix('r')?.parse().ok()
}

/// An integer between `min` and `max`, decimal or `0x` hex.
pub(super) fn integer(text: &str, span: Range<usize>, min: i64, max: i64) -> Result<i64, AsmError> {
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
