//! Printing.

use std::fmt::{self, Write};

use crate::address::{ADDR_REG, ADDRESS_MASK, INDIRECT, Location, SHAPE_REG};
use crate::alu::AluOp;
use crate::dtype::Dtype;
use crate::enums::ImmSrc;
use crate::field::{Field, FieldKind, Raw};
use crate::instruction::Instruction;
use crate::layout::{events, header};
use crate::opcode::Opcode;
use crate::target::Target;
use crate::word::Word;

/// Prints one instruction. `bases` is asked, by field name, for the symbol that an address is
/// relative to; `None` prints the place on the chip.
pub fn format(
    instruction: &Instruction,
    target: &Target,
    bases: &dyn Fn(&'static str) -> Option<String>,
) -> String {
    let word = instruction.encode();
    let mut out = String::with_capacity(192);
    // Writing to a String cannot fail.
    let _ = match instruction.opcode() {
        Some(opcode) => Printer { word: &word, opcode, target, bases }.line(&mut out),
        None => write!(
            out,
            ".word {word} ; no instruction of this subset has opcode {:#04x}",
            word.opcode_byte()
        ),
    };
    out
}

/// [`format()`] with every address as a place on the chip.
pub fn format_plain(instruction: &Instruction, target: &Target) -> String {
    format(instruction, target, &|_| None)
}

/// The value of one field of a word, as the line would show it.
pub(crate) fn field_text(word: &Word, opcode: Opcode, field: &Field, target: &Target) -> String {
    let mut out = String::new();
    let _ = Printer { word, opcode, target, bases: &|_| None }.value(&mut out, field);
    out
}

struct Printer<'a> {
    word: &'a Word,
    opcode: Opcode,
    target: &'a Target,
    bases: &'a dyn Fn(&'static str) -> Option<String>,
}

impl Printer<'_> {
    fn line(&self, out: &mut String) -> fmt::Result {
        out.write_str(self.opcode.mnemonic())?;
        let blank = Instruction::blank(self.opcode).encode();
        let body = self.opcode.info().layout().fields;
        for field in
            [body, events::LAYOUT.fields, &header::LAYOUT.fields[1..]].into_iter().flatten()
        {
            let bytes = field.offset..field.offset + field.size;
            // A symbol is what makes a distance of 0 say something.
            if field.kind.is_always_shown()
                || self.word.0[bytes.clone()] != blank.0[bytes]
                || (self.bases)(field.name).is_some()
            {
                write!(out, " {}=", field.name)?;
                self.value(out, field)?;
            }
        }
        Ok(())
    }

    fn number(&self, field: &Field) -> u32 {
        let word = &self.word.0;
        match field.size {
            1 => u8::get(word, field.offset).into(),
            2 => u16::get(word, field.offset).into(),
            _ => u32::get(word, field.offset),
        }
    }

    fn value(&self, out: &mut String, field: &Field) -> fmt::Result {
        let byte = u8::get(&self.word.0, field.offset);
        match field.kind {
            FieldKind::Number | FieldKind::Channels => write!(out, "{}", self.number(field)),
            FieldKind::Opcode | FieldKind::Bits => write!(out, "{:#04x}", self.number(field)),
            FieldKind::Dtype => named(out, Dtype::from_code(byte).map(Dtype::name), byte),
            FieldKind::DtypePair => {
                let name = |nibble| Dtype::from_code(nibble).map(Dtype::name);
                named(out, name(byte & 0xf), byte & 0xf)?;
                out.write_char('/')?;
                named(out, name(byte >> 4), byte >> 4)
            }
            FieldKind::AluOp => named(out, AluOp::from_code(byte).map(AluOp::name), byte),
            FieldKind::Enum(table) => named(out, table.name_of(byte), byte),
            FieldKind::Reserved | FieldKind::Bytes => {
                out.write_str("0x")?;
                let bytes = &self.word.0[field.offset..field.offset + field.size];
                bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
            }
            FieldKind::Pattern(dims) => self.pattern(out, field, dims),
            FieldKind::Immediate { source } => self.immediate(out, field, source),
            FieldKind::Fp32 => fp32(out, self.number(field)),
        }
    }

    fn pattern(&self, out: &mut String, field: &Field, dims: usize) -> fmt::Result {
        let word = &self.word.0;
        let start = u32::get(word, field.offset);
        let data = u32::get(word, field.offset + 4);
        let rest = &word[field.offset + 10..field.offset + field.size];
        if start & (INDIRECT | SHAPE_REG) == INDIRECT && rest.iter().all(|&byte| byte == 0) {
            out.write_str("gather(")?;
            self.address(out, start & !INDIRECT, None)?;
            out.write_str(", ")?;
            self.address(out, data, None)?;
            return write!(out, ", {})", u16::get(word, field.offset + 8));
        }
        self.address(out, start, Some(field))?;
        let step = |d: usize| i16::get(word, field.offset + 4 + 2 * d);
        let count = |d: usize| u16::get(word, field.offset + 4 + 2 * dims + 2 * d);
        let shown = (1..dims).rev().find(|&d| (step(d), count(d)) != (1, 1)).unwrap_or(0);
        for d in 0..=shown {
            write!(out, "{}{}:{}", if d == 0 { "[" } else { ", " }, step(d), count(d))?;
        }
        out.write_char(']')
    }

    /// An address; `field` names it for the symbol hook.
    fn address(&self, out: &mut String, bits: u32, field: Option<&Field>) -> fmt::Result {
        let generation = self.target.generation;
        let (from_register, shape) = (bits & ADDR_REG != 0, bits & SHAPE_REG != 0);
        let rest = bits & !(ADDR_REG | SHAPE_REG);
        if rest > ADDRESS_MASK || from_register && rest > 0xff {
            return write!(out, "raw[{bits:#x}]");
        }
        if shape {
            out.write_str("shape:")?;
        }
        if from_register {
            return write!(out, "r{rest}");
        }
        if let Some(base) = field.and_then(|field| (self.bases)(field.name)) {
            let stride = generation.sbuf_stride() as u32;
            return write!(out, "{base}[p{}, {:#x}]", rest / stride, rest % stride);
        }
        match Location::of(rest, generation) {
            Some(Location { memory, partition, byte }) => {
                write!(out, "{}[p{partition}, {byte:#x}]", memory.name())
            }
            None => write!(out, "addr[{rest:#x}]"),
        }
    }

    fn immediate(&self, out: &mut String, field: &Field, source: &str) -> fmt::Result {
        let bits = self.number(field);
        match immediate_form(self.word, self.opcode, source) {
            ImmediateForm::Pointer => self.address(out, bits, Some(field)),
            ImmediateForm::Register if bits <= 0xff => write!(out, "r{bits}"),
            ImmediateForm::Float => fp32(out, bits),
            ImmediateForm::Register | ImmediateForm::Integer => write!(out, "{bits:#x}"),
        }
    }
}

/// How an immediate reads, given its source, the opcode and the operations.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ImmediateForm {
    Float,
    Integer,
    Pointer,
    Register,
}

pub(super) fn immediate_form(word: &Word, opcode: Opcode, source: &str) -> ImmediateForm {
    let layout = opcode.info().layout();
    if matches!(opcode, Opcode::TensorScalarPtrArithOp | Opcode::TensorScalarPtrBitvecOp) {
        return ImmediateForm::Pointer;
    }
    let source = layout.field(source).map(|source| u8::get(&word.0, source.offset));
    match source.and_then(ImmSrc::from_code) {
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

fn named(out: &mut String, name: Option<&'static str>, code: u8) -> fmt::Result {
    match name {
        Some(name) => out.write_str(name),
        None => write!(out, "{code:#04x}"),
    }
}

/// The shortest decimal text of an fp32 value; the bits of a NaN.
fn fp32(out: &mut String, bits: u32) -> fmt::Result {
    let value = f32::from_bits(bits);
    if value.is_nan() { write!(out, "{bits:#010x}") } else { write!(out, "{value:?}") }
}
