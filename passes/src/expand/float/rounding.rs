//! Rounding to integral values: `floor ceil trunc round_even round_away`, and the
//! conversion toward zero. All exact for all operands.

use partita_ir::ElemType;
use partita_ir::ops::ElementwiseOp;

use super::fp32::Emit;
use super::wide;
use crate::expand::Refusal;
use crate::expand::emit::{Emitted, Val};

/// From here on every fp32 number is integral; added to a smaller one and taken away
/// again, it rounds to nearest even.
const INTEGRAL: f32 = 8_388_608.0;

/// |x| and, where it is below [`INTEGRAL`], |x| rounded to nearest even.
fn nearest(emit: &mut Emit<'_, '_>, x: Val) -> Result<(Val, Val), Refusal> {
    let magnitude = emit.abs(x)?;
    let sum = emit.add(magnitude, INTEGRAL)?;
    Ok((magnitude, emit.sub(sum, INTEGRAL)?))
}

/// `rounded` with the sign of x, or x itself where it is integral, infinite or NaN.
fn finish(emit: &mut Emit<'_, '_>, x: Val, magnitude: Val, rounded: Val) -> Emitted {
    let rounded = emit.with_sign(rounded, x)?;
    let small = emit.test(ElementwiseOp::IsLt, magnitude, INTEGRAL)?;
    emit.select(small, rounded, x)
}

pub fn round_even(emit: &mut Emit<'_, '_>, x: Val) -> Emitted {
    let (magnitude, nearest) = nearest(emit, x)?;
    finish(emit, x, magnitude, nearest)
}

/// Nearest even rounds a half down, away from zero, exactly where |x| − r is ½.
pub fn round_away(emit: &mut Emit<'_, '_>, x: Val) -> Emitted {
    let (magnitude, nearest) = nearest(emit, x)?;
    let rest = emit.sub(magnitude, nearest)?;
    let up = emit.flag(ElementwiseOp::IsGe, rest, 0.5)?;
    let rounded = emit.add(nearest, up)?;
    finish(emit, x, magnitude, rounded)
}

pub fn trunc(emit: &mut Emit<'_, '_>, x: Val) -> Emitted {
    let (magnitude, nearest) = nearest(emit, x)?;
    let down = emit.flag(ElementwiseOp::IsGt, nearest, magnitude)?;
    let rounded = emit.sub(nearest, down)?;
    finish(emit, x, magnitude, rounded)
}

/// The result never has the other sign than x.
pub fn floor(emit: &mut Emit<'_, '_>, x: Val) -> Emitted {
    let (magnitude, nearest) = nearest(emit, x)?;
    let nearest = emit.with_sign(nearest, x)?;
    let down = emit.flag(ElementwiseOp::IsGt, nearest, x)?;
    let rounded = emit.sub(nearest, down)?;
    finish(emit, x, magnitude, rounded)
}

pub fn ceil(emit: &mut Emit<'_, '_>, x: Val) -> Emitted {
    let (magnitude, nearest) = nearest(emit, x)?;
    let nearest = emit.with_sign(nearest, x)?;
    let up = emit.flag(ElementwiseOp::IsLt, nearest, x)?;
    let rounded = emit.add(nearest, up)?;
    finish(emit, x, magnitude, rounded)
}

/// Toward zero, saturating, NaN to 0.
pub fn to_int(emit: &mut Emit<'_, '_>, x: Val, dtype: ElemType) -> Emitted {
    if dtype == ElemType::I1 {
        let magnitude = emit.abs(x)?;
        return emit.test(ElementwiseOp::IsGe, magnitude, 1.0);
    }
    let whole = trunc(emit, x)?;
    if dtype.width() > 32 { wide::to_wide(emit, whole, dtype) } else { emit.cast(whole, dtype) }
}

/// To nearest even, saturating, NaN to 0, where that is not one word: truth values and
/// 64-bit integers.
pub fn cast(emit: &mut Emit<'_, '_>, x: Val, dtype: ElemType) -> Emitted {
    if dtype == ElemType::I1 {
        return emit.test(ElementwiseOp::IsNe, x, 0.0);
    }
    let whole = round_even(emit, x)?;
    wide::to_wide(emit, whole, dtype)
}
