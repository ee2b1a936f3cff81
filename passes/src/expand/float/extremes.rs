//! Signs and extremes: `sign is_finite maximum minimum abs_max abs_min re_lu square
//! symmetric_clamp`. All exact.

use partita_ir::ElemType;
use partita_ir::ops::ElementwiseOp;

use super::fp32::{Emit, SIGN};
use crate::expand::emit::{Emitted, Val};

/// The bits of 1.0.
const ONE: u32 = 0x3F80_0000;

/// ±1 with the sign of x where |x| > 0, else x: a zero or NaN.
pub fn sign(emit: &mut Emit<'_, '_>, x: Val) -> Emitted {
    let bits = emit.bits(x)?;
    let sign = emit.mask(bits, SIGN)?;
    let unit = emit.word(ElementwiseOp::BitwiseOr, sign, ONE)?;
    let unit = emit.number(unit)?;
    let magnitude = emit.abs(x)?;
    let some = emit.test(ElementwiseOp::IsGt, magnitude, 0.0)?;
    emit.select(some, unit, x)
}

/// |x| < ∞, which is false for NaN too.
pub fn is_finite(emit: &mut Emit<'_, '_>, x: Val, dtype: ElemType) -> Emitted {
    let magnitude = emit.abs(x)?;
    emit.to(ElementwiseOp::IsLt, &[magnitude, f32::INFINITY.into()], dtype)
}

/// The extreme that suppresses NaN, then each NaN put back.
pub fn keeping_nan(emit: &mut Emit<'_, '_>, op: ElementwiseOp, a: Val, b: Val) -> Emitted {
    let mut y = emit.to(op, &[a, b], ElemType::F32)?;
    for x in [a, b] {
        let is_nan = emit.test(ElementwiseOp::IsNe, x, x)?;
        y = emit.select(is_nan, x, y)?;
    }
    Ok(y)
}

/// `abs_max` and `abs_min` as the extreme of the magnitudes.
pub fn of_magnitudes(emit: &mut Emit<'_, '_>, op: ElementwiseOp, a: Val, b: Val) -> Emitted {
    let (a, b) = (emit.abs(a)?, emit.abs(b)?);
    emit.to(op, &[a, b], ElemType::F32)
}

/// a > 0 ? a : +0, NaN kept (ISA 10.4).
pub fn re_lu(emit: &mut Emit<'_, '_>, x: Val) -> Emitted {
    keeping_nan(emit, ElementwiseOp::Max, x, 0.0.into())
}

/// sign(a)·max(|a|, |b|) (ISA 10.4).
pub fn symmetric_clamp(emit: &mut Emit<'_, '_>, a: Val, b: Val) -> Emitted {
    let sign = sign(emit, a)?;
    let magnitude = of_magnitudes(emit, ElementwiseOp::Max, a, b)?;
    emit.mult(sign, magnitude)
}
