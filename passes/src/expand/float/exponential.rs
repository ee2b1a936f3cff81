//! Functions made of the exponential: `exp exp_m1 sigmoid tanh erf`.
//!
//! Each takes and gives fp32. The figures are the largest errors found against the
//! f64 result rounded once, see [`partita_ir::eval::accuracy`].

use partita_ir::ops::ElementwiseOp;

use super::fp32::Emit;
use crate::expand::emit::{Emitted, Val};

/// The fp32 number nearest e.
const E: f32 = std::f32::consts::E;
/// ln(e / [`E`]): what POW(E, x) lacks is a factor exp of this times x.
const E_EXCESS: f32 = 3.036_786e-8;
/// Keeps the correction finite at −∞, where POW gives 0.
const LEAST_CORRECTION: f32 = -1.0;

/// e^x by POW (POOL, SBUF): p + p·(x·ln(e/E)), p = E^x.
///
/// Overflow: p and the correction are infinite together. NaN: p is NaN.
pub fn exp(emit: &mut Emit<'_, '_>, x: Val) -> Emitted {
    let power = emit.pow(E, x)?;
    let correction = emit.mult(x, E_EXCESS)?;
    let correction = emit.max(correction, LEAST_CORRECTION)?;
    let correction = emit.mult(correction, power)?;
    emit.add(power, correction)
}

/// (e^x − 1 − x) / x² on |x| ≤ ½, relative error of the whole 2⁻²⁶.
const EXP_M1: [f32; 6] =
    [0.500_000_06, 0.166_666_69, 0.041_665_17, 0.008_333_266, 0.001_399_881_1, 0.000_199_297_72];
const EXP_M1_SMALL: f32 = 0.5;

/// e^x − 1: x + x²·p(x) near 0, else the plain form.
pub fn exp_m1(emit: &mut Emit<'_, '_>, x: Val) -> Emitted {
    let square = emit.mult(x, x)?;
    let tail = emit.polynomial(x, &EXP_M1)?;
    let tail = emit.mult(tail, square)?;
    let near = emit.add(x, tail)?;
    let power = emit.one(ElementwiseOp::Exp, x)?;
    let far = emit.sub(power, 1.0)?;
    let magnitude = emit.abs(x)?;
    let small = emit.test(ElementwiseOp::IsLt, magnitude, EXP_M1_SMALL)?;
    let y = emit.select(small, near, far)?;
    // x + x²·p is +0 at −0.
    emit.with_sign(y, x)
}

/// 1 / (1 + e^−x) as n / (1 + e), e = e^−|x|, with n = 1 or e: nothing overflows, and
/// small results keep their bits.
pub fn sigmoid(emit: &mut Emit<'_, '_>, x: Val) -> Emitted {
    let magnitude = emit.abs(x)?;
    let negative = emit.mult(magnitude, -1.0)?;
    let power = emit.one(ElementwiseOp::Exp, negative)?;
    let divisor = emit.add(power, 1.0)?;
    let quotient = emit.reciprocal(divisor)?;
    let positive = emit.flag(ElementwiseOp::IsGe, x, 0.0)?;
    // e ≤ 1, so this is 1 for x ≥ 0, else e.
    let numerator = emit.max(positive, power)?;
    emit.mult(numerator, quotient)
}

/// (tanh x − x) / x³ in x², on |x| < [`TANH_SMALL`], relative error of the whole 2⁻²⁷.
const TANH: [f32; 5] = [-0.333_332_8, 0.133_314_06, -0.053_736_515, 0.020_628_167, -0.005_692_296];
const TANH_SMALL: f32 = 0.625;

/// 1 − 2 / (e^2|x| + 1) with the sign of x; near 0 an odd polynomial.
pub fn tanh(emit: &mut Emit<'_, '_>, x: Val) -> Emitted {
    let magnitude = emit.abs(x)?;
    let square = emit.mult(magnitude, magnitude)?;
    let tail = emit.polynomial(square, &TANH)?;
    let tail = emit.mult(tail, square)?;
    let tail = emit.mult(tail, magnitude)?;
    let near = emit.add(magnitude, tail)?;
    let double = emit.mult(magnitude, 2.0)?;
    let power = emit.one(ElementwiseOp::Exp, double)?;
    let divisor = emit.add(power, 1.0)?;
    let quotient = emit.reciprocal(divisor)?;
    let quotient = emit.mult(quotient, -2.0)?;
    let far = emit.add(quotient, 1.0)?;
    let small = emit.test(ElementwiseOp::IsLt, magnitude, TANH_SMALL)?;
    let y = emit.select(small, near, far)?;
    emit.with_sign(y, x)
}

/// erf(x) / x − 1 in x², on |x| < [`ERF_LARGE`], relative error of the whole 2⁻²⁶.
const ERF: [f32; 6] =
    [0.128_379_15, -0.376_124_95, 0.112_818_05, -0.026_765_805, 0.004_991_641_3, -0.000_598_180_75];
/// −ln(1 − erf t) on [[`ERF_LARGE`], [`ERF_ONE`]], relative error of the whole 2⁻²⁹.
const ERFC_EXPONENT: [f32; 7] = [
    0.000_188_178_57,
    1.127_706_6,
    0.637_129_96,
    0.103_977_5,
    -0.022_249_043,
    0.003_048_762_2,
    -0.000_196_501_6,
];
const ERF_LARGE: f32 = 0.921_875;
/// From here on the result rounds to 1.
const ERF_ONE: f32 = 4.0;

/// erf: x·p(x²) for small |x|, else 1 − e^−q(|x|).
pub fn erf(emit: &mut Emit<'_, '_>, x: Val) -> Emitted {
    let magnitude = emit.abs(x)?;
    let square = emit.mult(magnitude, magnitude)?;
    let tail = emit.polynomial(square, &ERF)?;
    let tail = emit.mult(tail, magnitude)?;
    let near = emit.add(magnitude, tail)?;
    let clamped = emit.min(magnitude, ERF_ONE)?;
    let exponent = emit.polynomial(clamped, &ERFC_EXPONENT)?;
    let exponent = emit.mult(exponent, -1.0)?;
    let power = emit.one(ElementwiseOp::Exp, exponent)?;
    let power = emit.mult(power, -1.0)?;
    let far = emit.add(power, 1.0)?;
    // False for NaN, which the clamp loses and the near form keeps.
    let large = emit.test(ElementwiseOp::IsGe, magnitude, ERF_LARGE)?;
    let y = emit.select(large, far, near)?;
    emit.with_sign(y, x)
}
