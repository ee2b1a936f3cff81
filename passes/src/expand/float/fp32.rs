//! A short hand for writing fp32 sequences: each method adds one operation.

use partita_ir::ElemType;
use partita_ir::literal::Literal;
use partita_ir::ops::ElementwiseOp;

use crate::expand::emit::{Emitted, Emitter, Val};

/// The sign of an fp32 number.
pub const SIGN: u32 = 0x8000_0000;
/// The exponent field of an fp32 number; as a number, infinity.
pub const EXPONENT: u32 = 0x7F80_0000;
/// The stored mantissa of an fp32 number.
pub const MANTISSA: u32 = 0x007F_FFFF;

/// An fp32 literal.
impl From<f32> for Val {
    fn from(value: f32) -> Self {
        Val { operand: value.into(), dtype: ElemType::F32 }
    }
}

/// A `ui32` literal.
impl From<u32> for Val {
    fn from(value: u32) -> Self {
        Val { operand: Literal::Int(i128::from(value)).into(), dtype: ElemType::Ui32 }
    }
}

/// Adds operations on fp32 numbers, their bits (`ui32`) and truth values (`i1`).
pub struct Emit<'e, 'a>(pub &'e mut Emitter<'a>);

impl Emit<'_, '_> {
    /// An operation whose result is written as `dtype`.
    pub fn to(&mut self, op: ElementwiseOp, operands: &[Val], dtype: ElemType) -> Emitted {
        self.0.op(op, operands, dtype)
    }

    /// One operand in, fp32 out.
    pub fn one(&mut self, op: ElementwiseOp, x: Val) -> Emitted {
        self.to(op, &[x], ElemType::F32)
    }

    fn two(&mut self, op: ElementwiseOp, a: impl Into<Val>, b: impl Into<Val>) -> Emitted {
        self.to(op, &[a.into(), b.into()], ElemType::F32)
    }

    pub fn add(&mut self, a: impl Into<Val>, b: impl Into<Val>) -> Emitted {
        self.two(ElementwiseOp::Add, a, b)
    }

    pub fn sub(&mut self, a: impl Into<Val>, b: impl Into<Val>) -> Emitted {
        self.two(ElementwiseOp::Subtract, a, b)
    }

    pub fn mult(&mut self, a: impl Into<Val>, b: impl Into<Val>) -> Emitted {
        self.two(ElementwiseOp::Mult, a, b)
    }

    /// Larger, a single NaN suppressed (ISA 10.4).
    pub fn max(&mut self, a: impl Into<Val>, b: impl Into<Val>) -> Emitted {
        self.two(ElementwiseOp::Max, a, b)
    }

    /// Smaller, a single NaN suppressed (ISA 10.4).
    pub fn min(&mut self, a: impl Into<Val>, b: impl Into<Val>) -> Emitted {
        self.two(ElementwiseOp::Min, a, b)
    }

    pub fn pow(&mut self, a: impl Into<Val>, b: impl Into<Val>) -> Emitted {
        self.two(ElementwiseOp::Pow, a, b)
    }

    pub fn abs(&mut self, x: Val) -> Emitted {
        self.one(ElementwiseOp::AbsoluteValue, x)
    }

    pub fn reciprocal(&mut self, x: Val) -> Emitted {
        self.one(ElementwiseOp::Reciprocal, x)
    }

    /// A comparison as a truth value, for a select.
    pub fn test(&mut self, op: ElementwiseOp, a: impl Into<Val>, b: impl Into<Val>) -> Emitted {
        self.to(op, &[a.into(), b.into()], ElemType::I1)
    }

    /// A comparison as the number 0 or 1, for arithmetic.
    pub fn flag(&mut self, op: ElementwiseOp, a: impl Into<Val>, b: impl Into<Val>) -> Emitted {
        self.two(op, a, b)
    }

    /// The first where the mask is set, else the second; bits move unchanged. A known
    /// mask chooses now.
    pub fn select(&mut self, mask: Val, yes: impl Into<Val>, no: impl Into<Val>) -> Emitted {
        let (yes, no) = (yes.into(), no.into());
        if let Some(mask) = mask.operand.literal() {
            let set = mask.to_bits(ElemType::I1).is_ok_and(|bits| bits != 0);
            return Ok(if set { yes } else { no });
        }
        self.to(ElementwiseOp::Select, &[mask, yes, no], yes.dtype)
    }

    /// The bits of a number.
    pub fn bits(&mut self, x: Val) -> Emitted {
        self.0.bitcast(x, ElemType::Ui32)
    }

    /// The number of bits.
    pub fn number(&mut self, bits: Val) -> Emitted {
        self.0.bitcast(bits, ElemType::F32)
    }

    /// An operation on `ui32`.
    pub fn word(&mut self, op: ElementwiseOp, a: Val, b: impl Into<Val>) -> Emitted {
        self.to(op, &[a, b.into()], ElemType::Ui32)
    }

    /// The bits with a literal mask applied.
    pub fn mask(&mut self, bits: Val, mask: u32) -> Emitted {
        self.word(ElementwiseOp::BitwiseAnd, bits, mask)
    }

    pub fn shift_right(&mut self, bits: Val, count: u32) -> Emitted {
        self.word(ElementwiseOp::LogicalShiftRight, bits, count)
    }

    pub fn shift_left(&mut self, bits: Val, count: u32) -> Emitted {
        self.word(ElementwiseOp::LogicalShiftLeft, bits, count)
    }

    pub fn cast(&mut self, x: Val, dtype: ElemType) -> Emitted {
        self.0.cast(x, dtype)
    }

    /// Sets the sign of a number whose sign is clear, or already that of `sign`.
    pub fn with_sign(&mut self, magnitude: Val, sign: Val) -> Emitted {
        let sign = self.bits(sign)?;
        let sign = self.mask(sign, SIGN)?;
        let bits = self.bits(magnitude)?;
        let bits = self.word(ElementwiseOp::BitwiseOr, bits, sign)?;
        self.number(bits)
    }

    /// A polynomial, lowest coefficient first, by Horner's rule.
    pub fn polynomial(&mut self, x: Val, coefficients: &[f32]) -> Emitted {
        let mut highest_first = coefficients.iter().rev().copied();
        let mut sum: Val = highest_first.next().unwrap_or(0.0).into();
        for coefficient in highest_first {
            let product = self.mult(x, sum)?;
            sum = self.add(product, coefficient)?;
        }
        Ok(sum)
    }
}
