//! Printing.

use super::events;
use super::write::{decimal, fp32, hex, hex_bytes, named, signed};
use crate::address::{ADDR_REG, ADDRESS_MASK, INDIRECT, Location, SHAPE_REG};
use crate::alu::AluOp;
use crate::dtype::Dtype;
use crate::enums::ImmSrc;
use crate::field::{Field, FieldKind, Raw};
use crate::instruction::Instruction;
use crate::layout::header;
use crate::opcode::Opcode;
use crate::target::Target;
use crate::word::Word;

/// Asked, by field name, for the symbol that an address is relative to; `None` prints the place on the
/// chip.
pub type Names<'a> = &'a dyn Fn(&'static str) -> Option<String>;

/// Prints one instruction.
pub fn format(instruction: &Instruction, target: &Target, names: Names<'_>) -> String {
    let mut out = Vec::with_capacity(LINE);
    format_into(&mut out, &instruction.encode(), target, names);
    // Tables and numbers are ASCII, and names come as strings.
    String::from_utf8_lossy(&out).into_owned()
}

/// [`format()`] with every address as a place on the chip.
pub fn format_plain(instruction: &Instruction, target: &Target) -> String {
    format(instruction, target, &|_| None)
}

/// Appends the line of one word, without a line break: [`format()`] for those who print many.
pub fn format_into(out: &mut Vec<u8>, word: &Word, target: &Target, names: Names<'_>) {
    out.reserve(LINE);
    match Opcode::from_number(word.opcode_byte()) {
        Some(opcode) => Printer { word, opcode, target, names }.line(out),
        None => {
            out.extend_from_slice(b".word ");
            hex_bytes(out, &word.0);
            out.extend_from_slice(b" ; no instruction of this subset has opcode ");
            hex(out, word.opcode_byte().into(), 2);
        }
    }
}

/// Bytes that a line usually fits into.
const LINE: usize = 384;

/// The value of one field of a word, as the line would show it.
pub fn field_text(word: &Word, opcode: Opcode, field: &Field, target: &Target) -> String {
    let mut out = Vec::new();
    Printer { word, opcode, target, names: &|_| None }.value(&mut out, field);
    String::from_utf8_lossy(&out).into_owned()
}

struct Printer<'a> {
    word: &'a Word,
    opcode: Opcode,
    target: &'a Target,
    names: Names<'a>,
}

impl Printer<'_> {
    fn line(&self, out: &mut Vec<u8>) {
        let info = self.opcode.info();
        out.extend_from_slice(info.mnemonic.as_bytes());
        let changed = self.word.differences(info.body.blank_word());
        for &field in info.layout().fields {
            if field.kind.is_always_shown() || self.says_something(field, changed) {
                self.field(out, field);
            }
        }
        // Header and events are nearly always blank.
        if changed & EVENTS_AND_HEADER == 0 {
            return;
        }
        let event_fields = events::format(out, self.word, changed);
        for &field in event_fields.into_iter().flatten().chain(&header::LAYOUT.fields[1..]) {
            if changed & field.mask() != 0 {
                self.field(out, field);
            }
        }
    }

    /// A field that differs from its blank; a symbol makes a distance of 0 say something, too.
    fn says_something(&self, field: &Field, changed: u64) -> bool {
        changed & field.mask() != 0
            || matches!(field.kind, FieldKind::Immediate { .. })
                && (self.names)(field.name).is_some()
    }

    fn field(&self, out: &mut Vec<u8>, field: &Field) {
        out.extend_from_slice(field.label.as_bytes());
        self.value(out, field);
    }

    fn number(&self, field: &Field) -> u32 {
        let word = &self.word.0;
        match field.size {
            1 => u8::get(word, field.offset).into(),
            2 => u16::get(word, field.offset).into(),
            _ => u32::get(word, field.offset),
        }
    }

    fn value(&self, out: &mut Vec<u8>, field: &Field) {
        let byte = u8::get(&self.word.0, field.offset);
        match field.kind {
            FieldKind::Number | FieldKind::Channels => decimal(out, self.number(field)),
            FieldKind::Opcode | FieldKind::Bits => hex(out, self.number(field), 2),
            FieldKind::Dtype => named(out, Dtype::from_code(byte).map(Dtype::name), byte),
            FieldKind::DtypePair => {
                let name = |nibble| Dtype::from_code(nibble).map(Dtype::name);
                named(out, name(byte & 0xf), byte & 0xf);
                out.push(b'/');
                named(out, name(byte >> 4), byte >> 4);
            }
            FieldKind::AluOp => named(out, AluOp::from_code(byte).map(AluOp::name), byte),
            FieldKind::Enum(table) => named(out, table.name_of(byte), byte),
            FieldKind::Reserved | FieldKind::Bytes => {
                out.extend_from_slice(b"0x");
                hex_bytes(out, &self.word.0[field.offset..field.offset + field.size]);
            }
            FieldKind::Pattern(dims) => self.pattern(out, field, dims),
            FieldKind::Immediate { source } => self.immediate(out, field, source),
            FieldKind::Fp32 => fp32(out, self.number(field)),
        }
    }

    fn pattern(&self, out: &mut Vec<u8>, field: &Field, dims: usize) {
        let word = &self.word.0;
        let start = u32::get(word, field.offset);
        if start & (INDIRECT | SHAPE_REG) == INDIRECT {
            let rest = &word[field.offset + 10..field.offset + field.size];
            if rest.iter().all(|&byte| byte == 0) {
                out.extend_from_slice(b"gather(");
                self.address(out, start & !INDIRECT, None);
                out.extend_from_slice(b", ");
                self.address(out, u32::get(word, field.offset + 4), None);
                out.extend_from_slice(b", ");
                decimal(out, u16::get(word, field.offset + 8).into());
                out.push(b')');
                return;
            }
        }
        self.address(out, start, Some(field));
        let step = |d: usize| i16::get(word, field.offset + 4 + 2 * d);
        let count = |d: usize| u16::get(word, field.offset + 4 + 2 * dims + 2 * d);
        let shown = (1..dims).rev().find(|&d| (step(d), count(d)) != (1, 1)).unwrap_or(0);
        for d in 0..=shown {
            out.extend_from_slice(if d == 0 { b"[" } else { b", " });
            signed(out, step(d).into());
            out.push(b':');
            decimal(out, count(d).into());
        }
        out.push(b']');
    }

    /// An address; `field` names it for the symbol hook.
    fn address(&self, out: &mut Vec<u8>, bits: u32, field: Option<&Field>) {
        let generation = self.target.generation;
        let (from_register, shape) = (bits & ADDR_REG != 0, bits & SHAPE_REG != 0);
        let rest = bits & !(ADDR_REG | SHAPE_REG);
        if rest > ADDRESS_MASK || from_register && rest > 0xff {
            out.extend_from_slice(b"raw[");
            hex(out, bits, 1);
            out.push(b']');
            return;
        }
        if shape {
            out.extend_from_slice(b"shape:");
        }
        if from_register {
            out.push(b'r');
            decimal(out, rest);
            return;
        }
        let (partition, byte) = if let Some(base) = field.and_then(|f| (self.names)(f.name)) {
            out.extend_from_slice(base.as_bytes());
            let stride = generation.sbuf_stride() as u32;
            (rest / stride, rest % stride)
        } else if let Some(at) = Location::of(rest, generation) {
            out.extend_from_slice(at.memory.name().as_bytes());
            (at.partition, at.byte)
        } else {
            out.extend_from_slice(b"addr[");
            hex(out, rest, 1);
            out.push(b']');
            return;
        };
        out.extend_from_slice(b"[p");
        decimal(out, partition);
        out.extend_from_slice(b", ");
        hex(out, byte, 1);
        out.push(b']');
    }

    fn immediate(&self, out: &mut Vec<u8>, field: &Field, source: &Field) {
        let bits = self.number(field);
        match immediate_form(self.word, self.opcode, source) {
            ImmediateForm::Pointer => self.address(out, bits, Some(field)),
            ImmediateForm::Register if bits <= 0xff => {
                out.push(b'r');
                decimal(out, bits);
            }
            ImmediateForm::Float => fp32(out, bits),
            ImmediateForm::Register | ImmediateForm::Integer => hex(out, bits, 1),
        }
    }
}

/// Bytes 1 to 11 of a word.
const EVENTS_AND_HEADER: u64 = 0xffe;

/// How an immediate reads, given its source, the opcode and the operations.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ImmediateForm {
    Float,
    Integer,
    Pointer,
    Register,
}

pub(super) fn immediate_form(word: &Word, opcode: Opcode, source: &Field) -> ImmediateForm {
    if opcode.takes_pointers() {
        return ImmediateForm::Pointer;
    }
    match ImmSrc::from_code(u8::get(&word.0, source.offset)) {
        Some(ImmSrc::Pointer) => ImmediateForm::Pointer,
        Some(ImmSrc::RegPointer) => ImmediateForm::Register,
        Some(ImmSrc::Instruction) if is_float_word(word, opcode) => ImmediateForm::Float,
        _ => ImmediateForm::Integer,
    }
}

/// Whether immediates in the word are fp32 values: not for bitvec opcodes, not for Select, and not
/// under integer-band operations (ISA 9.14).
fn is_float_word(word: &Word, opcode: Opcode) -> bool {
    let integer_band = opcode.info().layout().fields.iter().any(|field| {
        matches!(field.kind, FieldKind::AluOp)
            && AluOp::from_code(u8::get(&word.0, field.offset)).is_some_and(AluOp::is_integer_band)
    });
    !opcode.is_bitvec() && opcode != Opcode::TensorScalarSelect && !integer_band
}
