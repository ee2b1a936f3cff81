//! Reading one line.

use std::ops::Range;

use super::AsmError;
use super::events as clauses;
use super::format::{ImmediateForm, immediate_form};
use super::parse_value::{Bases, Cursor, integer, put, register};
use crate::alu::AluOp;
use crate::dtype::Dtype;
use crate::field::{Field, FieldKind};
use crate::instruction::Instruction;
use crate::layout::{events, header};
use crate::opcode::Opcode;
use crate::target::Target;
use crate::word::{HexError, Word};

/// Reads one instruction. `bases` is told of each symbol that an address is relative to, with the
/// field's name, and answers whether it knows the symbol.
///
/// # Errors
///
/// When the line is not one instruction; the error says where and what to write.
pub fn parse(
    line: &str,
    target: &Target,
    bases: &mut dyn FnMut(&'static str, &str) -> bool,
) -> Result<Instruction, AsmError> {
    parse_word(line, target, bases).map(|word| Instruction::decode(&word))
}

/// [`parse`] to the word itself.
///
/// # Errors
///
/// As [`parse`].
pub fn parse_word(line: &str, target: &Target, bases: Bases<'_>) -> Result<Word, AsmError> {
    let mut cursor = Cursor { line: line.trim_end(), at: 0 };
    let (mnemonic, span) = cursor.atom();
    if mnemonic == ".word" {
        return word_directive(&mut cursor);
    }
    let Some(opcode) = Opcode::from_mnemonic(mnemonic) else {
        let names = Opcode::ALL.iter().map(|opcode| opcode.mnemonic());
        return Err(AsmError::new(
            span,
            format!("unknown instruction `{mnemonic}`"),
            did_you_mean(mnemonic, names),
        ));
    };
    let mut word = *opcode.info().body.blank_word();
    word.0[0] = opcode.number();
    let mut parser = Parser { cursor, target, bases, opcode };
    parser.fields(&mut word)?;
    Ok(word)
}

/// [`parse`] where no symbol is known.
///
/// # Errors
///
/// As [`parse`].
pub fn parse_plain(line: &str, target: &Target) -> Result<Instruction, AsmError> {
    parse(line, target, &mut |_, _| false)
}

fn word_directive(cursor: &mut Cursor<'_>) -> Result<Word, AsmError> {
    let (digits, span) = cursor.atom();
    let word = digits.parse().map_err(|error: HexError| {
        AsmError::new(span, error.to_string(), "write the 64 bytes of the word in order")
    })?;
    match cursor.is_at_end() {
        true => Ok(word),
        false => Err(cursor.error_here("unexpected text after the word", "")),
    }
}

/// Immediates of a struct, at most.
const MAX_IMMEDIATES: usize = 2;
/// Fields that a line may leave out before look-up starts over.
const AHEAD: usize = 8;

struct Parser<'a> {
    cursor: Cursor<'a>,
    target: &'a Target,
    bases: Bases<'a>,
    opcode: Opcode,
}

impl Parser<'_> {
    fn fields(&mut self, word: &mut Word) -> Result<(), AsmError> {
        // One bit per byte of the word that has been given.
        let mut given = 0_u64;
        // What an immediate means depends on fields that may follow it.
        let mut immediates = [None; MAX_IMMEDIATES];
        let mut expected = 0;
        loop {
            self.cursor.skip_space();
            self.cursor.eat_byte(b',');
            if self.cursor.is_at_end() {
                break;
            }
            let start = self.cursor.at;
            let field = match self.next_field(&mut expected) {
                Some(field) => field,
                None => match self.named_field(word, &mut given)? {
                    Some(field) => field,
                    None => continue,
                },
            };
            if given & field.mask() != 0 {
                let span = start..start + field.name.len();
                return Err(AsmError::new(span, format!("`{}` is given twice", field.name), ""));
            }
            given |= field.mask();
            match (field.kind, immediates.iter_mut().find(|place| place.is_none())) {
                (FieldKind::Immediate { source }, Some(place)) => {
                    *place = Some((field, source, self.cursor.at));
                    self.skip_value();
                }
                _ => self.value(field, field_bytes(word, field))?,
            }
            self.end_of_value()?;
        }
        for (field, source, at) in immediates.into_iter().flatten() {
            self.cursor.at = at;
            let form = immediate_form(word, self.opcode, source);
            let bits = self.immediate(field, form)?;
            self.end_of_value()?;
            put(field_bytes(word, field), 0, bits.to_le_bytes());
        }
        Ok(())
    }

    fn all_fields(&self) -> impl Iterator<Item = &'static Field> + Clone + use<> {
        let body = self.opcode.info().layout().fields;
        let shared = [events::LAYOUT.fields, &header::LAYOUT.fields[1..]].into_iter().flatten();
        body.iter().chain(shared).copied()
    }

    /// Passes over `name=` of a field that follows the last one in the struct: most lines list them in order.
    /// `expected` is the position after it.
    #[inline]
    fn next_field(&mut self, expected: &mut usize) -> Option<&'static Field> {
        let body = self.opcode.info().layout().fields;
        let rest = self.cursor.rest().as_bytes();
        for (at, &field) in body.iter().enumerate().skip(*expected).take(AHEAD) {
            let label = &field.label.as_bytes()[1..];
            if rest.first() == label.first() && rest.starts_with(label) {
                *expected = at + 1;
                self.cursor.at += label.len();
                return Some(field);
            }
        }
        None
    }

    /// Passes over `name=` of any field, or over a clause, for which there is no field.
    fn named_field(
        &mut self,
        word: &mut Word,
        given: &mut u64,
    ) -> Result<Option<&'static Field>, AsmError> {
        let (name, span) = self.cursor.name();
        if let Some(field) = self.all_fields().find(|field| field.name == name) {
            self.cursor.expect_byte(b'=')?;
            return Ok(Some(field));
        }
        match clauses::parse(&mut self.cursor, name, span.clone(), word, given) {
            Some(clause) => clause?,
            None => return Err(self.unknown_field(name, span)),
        }
        self.end_of_value()?;
        Ok(None)
    }

    #[cold]
    fn unknown_field(&self, name: &str, span: Range<usize>) -> AsmError {
        if name.is_empty() {
            let help = "write a field and its value, or a clause such as `wait sem7 >= 3`";
            return self.cursor.error_here("expected `field=value`", help);
        }
        let known = self.all_fields().map(|field| field.name).chain(clauses::verbs());
        let message = format!("{} has no field `{name}`", self.opcode.mnemonic());
        AsmError::new(span, message, did_you_mean(name, known))
    }

    /// A value ends at a space, a comma, a comment or the end of the line.
    #[inline]
    fn end_of_value(&self) -> Result<(), AsmError> {
        match self.cursor.rest().bytes().next() {
            None | Some(b' ' | b',' | b'\t' | b';') => Ok(()),
            Some(_) => Err(self.cursor.error_here("unexpected text after the value", "")),
        }
    }

    /// Passes over an immediate: an atom, with brackets if it is an address.
    fn skip_value(&mut self) {
        self.cursor.skip_space();
        let mut depth = 0_usize;
        let end = self.cursor.rest().bytes().position(|byte| {
            match byte {
                b'[' => depth += 1,
                b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && matches!(byte, b' ' | b'\t' | b',' | b';')
        });
        self.cursor.at += end.unwrap_or(self.cursor.rest().len());
    }

    /// Reads a value into the bytes of its field.
    fn value(&mut self, field: &'static Field, out: &mut [u8]) -> Result<(), AsmError> {
        match field.kind {
            FieldKind::Pattern(dims) => {
                return self.cursor.pattern(field.name, dims, self.target, self.bases, out);
            }
            FieldKind::DtypePair => {
                let low = self.coded(0xf, dtype_code, dtype_names)?;
                self.cursor.expect_byte(b'/')?;
                let high = self.coded(0xf, dtype_code, dtype_names)?;
                put(out, 0, [low | high << 4]);
            }
            FieldKind::Dtype => put(out, 0, [self.coded(0xff, dtype_code, dtype_names)?]),
            FieldKind::AluOp => {
                let code = |name: &str| AluOp::from_name(name).map(AluOp::code);
                let names = || AluOp::ALL.iter().map(|op| op.name()).collect();
                put(out, 0, [self.coded(0xff, code, names)?]);
            }
            FieldKind::Enum(table) => {
                let names = || table.members.iter().map(|member| member.1).collect();
                put(out, 0, [self.coded(0xff, |name| table.code_of(name), names)?]);
            }
            FieldKind::Reserved | FieldKind::Bytes => return self.bytes(field, out),
            FieldKind::Fp32 => {
                let (text, span) = self.cursor.atom();
                put(out, 0, float_bits(text, span)?.to_le_bytes());
            }
            FieldKind::Number
            | FieldKind::Channels
            | FieldKind::Bits
            | FieldKind::Opcode
            | FieldKind::Immediate { .. } => {
                let mut number = |max: u32| self.cursor.integer(0, max.into());
                match field.size {
                    1 => put(out, 0, [number(u8::MAX.into())? as u8]),
                    2 => put(out, 0, (number(u16::MAX.into())? as u16).to_le_bytes()),
                    _ => put(out, 0, (number(u32::MAX)? as u32).to_le_bytes()),
                }
            }
        }
        Ok(())
    }

    /// A name of a table, or its code as a number.
    fn coded(
        &mut self,
        max: u8,
        code: impl Fn(&str) -> Option<u8>,
        names: impl Fn() -> Vec<&'static str>,
    ) -> Result<u8, AsmError> {
        let (text, span) = self.cursor.atom();
        match code(text) {
            Some(found) if found <= max => Ok(found),
            Some(_) => Err(AsmError::new(span, format!("`{text}` does not fit a pair"), "")),
            None if text.starts_with(|c: char| c.is_ascii_digit()) => {
                integer(text, span, 0, max.into()).map(|value| value as u8)
            }
            None => Err(AsmError::new(
                span,
                format!("unknown name `{text}`"),
                did_you_mean(text, names().into_iter()),
            )),
        }
    }

    fn bytes(&mut self, field: &Field, out: &mut [u8]) -> Result<(), AsmError> {
        let (text, span) = self.cursor.atom();
        let digits = text.strip_prefix("0x").unwrap_or(text);
        if digits.len() != 2 * field.size || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(AsmError::new(
                span,
                format!("{} is {} bytes", field.name, field.size),
                format!("write 0x and {} hex digits, the first byte first", 2 * field.size),
            ));
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
        for (place, pair) in out.iter_mut().zip(digits.as_bytes().chunks(2)) {
            *place = pair.iter().fold(0, |value, &byte| value << 4 | digit(byte));
        }
        Ok(())
    }

    fn immediate(&mut self, field: &'static Field, form: ImmediateForm) -> Result<u32, AsmError> {
        self.cursor.skip_space();
        let start = self.cursor.at;
        let (text, span) = self.cursor.atom();
        if text.starts_with("0x") {
            return integer(text, span, 0, u32::MAX.into()).map(|bits| bits as u32);
        }
        match form {
            ImmediateForm::Pointer => {
                self.cursor.at = start;
                self.cursor.address(field.name, self.target, self.bases)
            }
            ImmediateForm::Register => register(text).map(u32::from).ok_or_else(|| {
                let help = "the source is REG_POINTER: write r0 to r63";
                AsmError::new(span, "expected a register", help)
            }),
            ImmediateForm::Float => float_bits(text, span),
            ImmediateForm::Integer => {
                integer(text, span, i32::MIN.into(), u32::MAX.into()).map(|value| value as u32)
            }
        }
    }
}

/// The bytes of a field in a word; offsets and sizes come from the tables.
fn field_bytes<'w>(word: &'w mut Word, field: &Field) -> &'w mut [u8] {
    &mut word.0[field.offset..field.offset + field.size]
}

fn dtype_code(name: &str) -> Option<u8> {
    Dtype::from_name(name).map(Dtype::code)
}

fn dtype_names() -> Vec<&'static str> {
    Dtype::ALL.iter().map(|dtype| dtype.name()).collect()
}

/// The bits of a decimal fp32 value, or bits in hex.
fn float_bits(text: &str, span: Range<usize>) -> Result<u32, AsmError> {
    if text.starts_with("0x") {
        return integer(text, span, 0, u32::MAX.into()).map(|bits| bits as u32);
    }
    match text.parse::<f32>() {
        Ok(value) if !value.is_nan() => Ok(value.to_bits()),
        _ => Err(AsmError::new(
            span,
            format!("expected an fp32 value, found `{text}`"),
            "write 2.5, 1e-6, inf, or the bits as 0x40200000 (a NaN has no other spelling)",
        )),
    }
}

/// A hint naming the nearest candidate, or all of them when they are few.
fn did_you_mean<'a>(name: &str, candidates: impl Iterator<Item = &'a str> + Clone) -> String {
    let lower = name.to_ascii_lowercase();
    let nearest = candidates
        .clone()
        .map(|candidate| (distance(&lower, &candidate.to_ascii_lowercase()), candidate))
        .min_by_key(|&(distance, _)| distance);
    match nearest {
        Some((distance, candidate)) if distance <= 1 + name.len() / 4 => {
            format!("did you mean `{candidate}`?")
        }
        _ if candidates.clone().count() <= 24 => {
            format!("use one of {}", candidates.collect::<Vec<_>>().join(", "))
        }
        _ => String::new(),
    }
}

/// Edit distance between two short names; long ones are cut.
fn distance(a: &str, b: &str) -> usize {
    const LONGEST: usize = 40;
    let b: Vec<u8> = b.bytes().take(LONGEST).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.bytes().take(LONGEST).enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, to) in row.iter_mut().skip(1).zip(&b) {
            let up = *cell;
            let new = (diagonal + usize::from(from != *to)).min(up + 1).min(left + 1);
            diagonal = up;
            left = new;
            *cell = new;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}
