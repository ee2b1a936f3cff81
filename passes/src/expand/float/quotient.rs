//! `sqrt divide remainder`.

use partita_ir::ElemType;
use partita_ir::ops::ElementwiseOp;

use super::fp32::{EXPONENT, Emit, MANTISSA};
use crate::expand::emit::{Emitted, Val};

/// The root by POW(x, ½) (POOL). POW gives +∞ at −∞ and +0 at −0: a number below −1
/// (and NaN) becomes −1, whose root is NaN, and the sign is put back.
pub fn sqrt(emit: &mut Emit<'_, '_>, x: Val) -> Emitted {
    let clamped = emit.max(x, -1.0)?;
    let root = emit.pow(clamped, 0.5)?;
    emit.with_sign(root, x)
}

/// a / b as (a·t)·(1 / (b·t)), t a power of two with ½ ≤ |b·t| < 1 (less where b is
/// subnormal): the reciprocal is normal, a·t is infinite only where the quotient is, and
/// loses a bit only where the quotient is subnormal. What depends on b alone keeps b's
/// shape.
///
/// A quotient within 2 units of the largest finite number may come out as infinity.
pub fn divide(emit: &mut Emit<'_, '_>, a: Val, b: Val) -> Emitted {
    if let Some(y) = divide_exactly(emit, a, b)? {
        return Ok(y);
    }
    // 255 − the exponent field; 0 where b is infinite, ∞ where it is subnormal.
    let bits = emit.bits(b)?;
    let field = emit.mask(bits, EXPONENT)?;
    let inverse = emit.word(ElementwiseOp::BitwiseXor, field, EXPONENT)?;
    let factor = emit.number(inverse)?;
    let factor = emit.max(factor, f32::MIN_POSITIVE)?;
    let factor = emit.min(factor, 2f32.powi(127))?;
    let factor = emit.mult(factor, 0.25)?;
    let divisor = emit.mult(b, factor)?;
    let inverse = emit.reciprocal(divisor)?;
    let scaled = emit.mult(a, factor)?;
    emit.mult(scaled, inverse)
}

/// 1 / b, and division by a power of two or by what has no digits (0, ∞, NaN).
fn divide_exactly(
    emit: &mut Emit<'_, '_>,
    a: Val,
    b: Val,
) -> Result<Option<Val>, crate::expand::Refusal> {
    if literal(a) == Some(1.0) {
        return emit.reciprocal(b).map(Some);
    }
    let Some(divisor) = literal(b) else { return Ok(None) };
    let inverse = 1.0 / divisor;
    let power_of_two = divisor.to_bits() & MANTISSA == 0;
    let keeps_bits = inverse.is_normal() || divisor == 0.0 || !divisor.is_finite();
    if (power_of_two || !divisor.is_finite()) && keeps_bits {
        return emit.mult(a, inverse).map(Some);
    }
    Ok(None)
}

/// The number that an fp32 literal stands for.
pub fn literal(x: Val) -> Option<f32> {
    let bits = x.operand.literal()?.to_bits(ElemType::F32).ok()?;
    (x.dtype == ElemType::F32).then(|| f32::from_bits(bits as u32))
}

/// Bits by which one step of [`remainder`] moves on: a 24-bit number shifted so far
/// still has 32 bits.
const STEP: u32 = 8;
/// The largest difference between the exponent fields of finite numbers.
const EXPONENTS: u32 = 253;

/// A finite number as integer·2^(exponent − 150).
struct Parts {
    /// `ui32`.
    mantissa: Val,
    /// The exponent field, 1 of a subnormal number, as fp32.
    exponent: Val,
}

fn parts(emit: &mut Emit<'_, '_>, x: Val) -> Result<Parts, crate::expand::Refusal> {
    let bits = emit.bits(x)?;
    let field = emit.mask(bits, EXPONENT)?;
    let field = emit.shift_right(field, 23)?;
    let field = emit.cast(field, ElemType::F32)?;
    let exponent = emit.max(field, 1.0)?;
    let normal = emit.flag(ElementwiseOp::IsGt, field, 0.0)?;
    let leading = emit.to(ElementwiseOp::Mult, &[normal, 8_388_608.0.into()], ElemType::Ui32)?;
    let mantissa = emit.mask(bits, MANTISSA)?;
    let mantissa = emit.word(ElementwiseOp::BitwiseOr, mantissa, leading)?;
    Ok(Parts { mantissa, exponent })
}

/// C `fmod`, exact for all operands: long division of the mantissas as integers on
/// POOL, [`STEP`] bits of the quotient at a time.
pub fn remainder(emit: &mut Emit<'_, '_>, a: Val, b: Val) -> Emitted {
    let (dividend, divisor) = (parts(emit, a)?, parts(emit, b)?);
    let distance = emit.sub(dividend.exponent, divisor.exponent)?;
    let steps = emit.max(distance, 0.0)?;
    let rest = emit.word(ElementwiseOp::Mod, dividend.mantissa, divisor.mantissa)?;
    let odd = emit.cast(steps, ElemType::Ui32)?;
    let odd = emit.mask(odd, STEP - 1)?;
    let mut rest = advance(emit, rest, odd, divisor.mantissa)?;
    for step in (STEP..=EXPONENTS).step_by(STEP as usize) {
        let taken = emit.flag(ElementwiseOp::IsGe, steps, step as f32)?;
        let count = emit.to(ElementwiseOp::Mult, &[taken, (STEP as f32).into()], ElemType::Ui32)?;
        rest = advance(emit, rest, count, divisor.mantissa)?;
    }
    // rest·2^(exponent − 150), in two exact factors.
    let unit = emit.bits(b)?;
    let unit = emit.mask(unit, EXPONENT)?;
    let unit = emit.number(unit)?;
    let unit = emit.max(unit, f32::MIN_POSITIVE)?;
    let rest = emit.cast(rest, ElemType::F32)?;
    let rest = emit.mult(rest, 2f32.powi(-23))?;
    let rest = emit.mult(rest, unit)?;

    let dividend = emit.abs(a)?;
    let smaller = emit.test(ElementwiseOp::IsLt, distance, 0.0)?;
    let y = emit.select(smaller, dividend, rest)?;
    let y = emit.with_sign(y, a)?;
    let finite = emit.flag(ElementwiseOp::IsLt, dividend, f32::INFINITY)?;
    let divisor = emit.abs(b)?;
    let some = emit.flag(ElementwiseOp::IsGt, divisor, 0.0)?;
    let defined = emit.test(ElementwiseOp::LogicalAnd, finite, some)?;
    emit.select(defined, y, f32::NAN)
}

/// (rest·2^count) mod divisor.
fn advance(emit: &mut Emit<'_, '_>, rest: Val, count: Val, divisor: Val) -> Emitted {
    let shifted = emit.word(ElementwiseOp::LogicalShiftLeft, rest, count)?;
    emit.word(ElementwiseOp::Mod, shifted, divisor)
}
