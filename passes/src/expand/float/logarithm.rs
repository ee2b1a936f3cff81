//! `log` and `log1p`.
//!
//! A positive number is taken apart as 2^k·m with m in [√½, √2): with f = m − 1,
//! s = f / (2 + f) and h = f²/2, ln m = f − h + s·(h + R(s²)). k·ln 2 is added in two
//! parts, the first of which is exact.

use partita_ir::ElemType;
use partita_ir::ops::ElementwiseOp;

use super::fp32::{EXPONENT, Emit};
use crate::expand::emit::{Emitted, Val};

/// (2·atanh s − 2·s) / s³ in s² for m in [√½, √2), error of the whole 2⁻²⁹.
const ATANH: [f32; 3] = [0.666_667_76, 0.399_775_03, 0.298_743_87];
/// The leading bits of ln 2: a multiple of 2⁻¹⁴, so that the product with an exponent
/// is exact, and the rest.
const LN_2_HIGH: f32 = 11_356.0 / 16_384.0;
const LN_2_LOW: f32 = 3.194_618_5e-5;
/// Below this a number is scaled up before its exponent field is read.
const SMALL: f32 = f32::from_bits(27 << 23);
/// The factor, 2 to the power of [`SCALE_BITS`].
const SCALE: f32 = (1u64 << SCALE_BITS) as f32;
const SCALE_BITS: u32 = 32;
/// Exponent bias of fp32, less one for the factor √½ that centres m around 1.
const CENTRED_BIAS: f32 = 126.0;

/// ln m + k·ln 2 + `rest` of a positive number m·2^k·2^−`scaled`; garbage of others.
fn of_positive(emit: &mut Emit<'_, '_>, x: Val, scaled: Option<Val>, rest: Option<Val>) -> Emitted {
    let centred = emit.mult(x, std::f32::consts::FRAC_1_SQRT_2)?;
    let bits = emit.bits(centred)?;
    let field = emit.mask(bits, EXPONENT)?;
    // 255 − the exponent field makes 2^(1−e), where e is the exponent.
    let inverse = emit.word(ElementwiseOp::BitwiseXor, field, EXPONENT)?;
    let inverse = emit.number(inverse)?;
    let mantissa = emit.mult(x, inverse)?;
    let mantissa = emit.mult(mantissa, 0.25)?;
    let f = emit.sub(mantissa, 1.0)?;

    let exponent = emit.shift_right(bits, 23)?;
    let exponent = emit.cast(exponent, ElemType::F32)?;
    let k = match scaled {
        None => emit.sub(exponent, CENTRED_BIAS)?,
        Some(scaled) => {
            let bias = emit.mult(scaled, SCALE_BITS as f32)?;
            let bias = emit.add(bias, CENTRED_BIAS)?;
            emit.sub(exponent, bias)?
        }
    };

    let divisor = emit.add(f, 2.0)?;
    let inverse = emit.reciprocal(divisor)?;
    let s = emit.mult(f, inverse)?;
    let square = emit.mult(s, s)?;
    let tail = emit.polynomial(square, &ATANH)?;
    let tail = emit.mult(tail, square)?;
    let half = emit.mult(f, 0.5)?;
    let half = emit.mult(half, f)?;
    let tail = emit.add(tail, half)?;
    let tail = emit.mult(tail, s)?;
    let low = emit.mult(k, LN_2_LOW)?;
    let mut sum = emit.add(low, tail)?;
    if let Some(rest) = rest {
        sum = emit.add(sum, rest)?;
    }
    let sum = emit.sub(sum, half)?;
    let sum = emit.add(sum, f)?;
    let high = emit.mult(k, LN_2_HIGH)?;
    emit.add(high, sum)
}

/// Puts the special cases in place: `y` where x lies between `pole` and ∞; x itself at
/// ∞ and NaN; −∞ at the pole; NaN below it.
fn with_pole(emit: &mut Emit<'_, '_>, x: Val, pole: f32, y: Val) -> Emitted {
    let finite = emit.test(ElementwiseOp::IsLt, x, f32::INFINITY)?;
    let y = emit.select(finite, y, x)?;
    // Off the pole 0·−∞ is NaN.
    let at_pole = emit.flag(ElementwiseOp::IsEq, x, pole)?;
    let outside = emit.mult(at_pole, f32::NEG_INFINITY)?;
    let inside = emit.test(ElementwiseOp::IsGt, x, pole)?;
    emit.select(inside, y, outside)
}

/// The natural logarithm.
pub fn log(emit: &mut Emit<'_, '_>, x: Val) -> Emitted {
    let small = emit.flag(ElementwiseOp::IsLt, x, SMALL)?;
    let factor = emit.mult(small, SCALE)?;
    let factor = emit.max(factor, 1.0)?;
    let scaled = emit.mult(x, factor)?;
    let y = of_positive(emit, scaled, Some(small), None)?;
    with_pole(emit, x, 0.0, y)
}

/// ln(1 + x): with u = 1 + x rounded and c = x − (u − 1) what the rounding lost,
/// ln u + c/u.
pub fn log1p(emit: &mut Emit<'_, '_>, x: Val) -> Emitted {
    let u = emit.add(x, 1.0)?;
    let kept = emit.sub(u, 1.0)?;
    let lost = emit.sub(x, kept)?;
    let inverse = emit.reciprocal(u)?;
    let rest = emit.mult(lost, inverse)?;
    let y = of_positive(emit, u, None, Some(rest))?;
    // The sum is +0 at −0.
    let y = emit.with_sign(y, x)?;
    with_pole(emit, x, -1.0, y)
}
