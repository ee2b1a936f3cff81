//! Compositions of `chlo`: functions that no single operation computes. All compute in `f32`.

use super::elementwise::{Inferred, in_f32};
use super::{Call, Lower, Made};
use crate::entity::ValueId;
use crate::literal::Literal;
use crate::module::Operand;
use crate::ops::ElementwiseOp::*;

const PI: f32 = std::f32::consts::PI;
const LN_2: f32 = std::f32::consts::LN_2;

/// Beyond this magnitude the squares of the hyperbolic inverses are lost in rounding.
const LARGE: f32 = 1.0e9;

/// Coefficients, highest power first.
fn polynomial(lower: &mut Lower<'_, '_>, x: ValueId, coefficients: &[f32]) -> Inferred {
    let Some((&first, rest)) = coefficients.split_first() else { return Ok(x) };
    let mut sum: Operand = first.into();
    for &coefficient in rest {
        let product = lower.two(Mult, sum, x)?;
        sum = lower.two(Add, product, coefficient)?.into();
    }
    match sum {
        Operand::Value(value) => Ok(value),
        Operand::Literal(_) => Ok(x),
    }
}

/// A function that is odd: computed of the magnitude, and given the sign back.
fn odd<'f, 's>(
    lower: &mut Lower<'f, 's>,
    x: ValueId,
    of_size: impl FnOnce(&mut Lower<'f, 's>, ValueId) -> Inferred,
) -> Inferred {
    let size = lower.one(AbsoluteValue, x)?;
    let result = of_size(lower, size)?;
    with_sign(lower, result, x)
}

/// A magnitude with the sign of `x`, zeros included.
fn with_sign(lower: &mut Lower<'_, '_>, size: ValueId, x: ValueId) -> Inferred {
    let bits = |value: u64| Operand::Literal(Literal::Int(i128::from(value)));
    let of_x = lower.b.bitcast(x, crate::types::ElemType::Ui32)?;
    let sign = lower.two(BitwiseAnd, of_x, bits(0x8000_0000))?;
    let of_size = lower.b.bitcast(size, crate::types::ElemType::Ui32)?;
    let joined = lower.two(BitwiseXor, of_size, sign)?;
    lower.b.bitcast(joined, crate::types::ElemType::F32)
}

/// `atan` of a magnitude: the argument is brought to at most tan(π/8) by differences of angles.
fn atan_size(lower: &mut Lower<'_, '_>, size: ValueId) -> Inferred {
    const COEFFICIENTS: [f32; 4] = [8.053_744_5e-2, -1.387_768_6e-1, 1.997_771_1e-1, -3.333_295e-1];
    const TAN_3PI_8: f32 = 2.414_213_6;
    const TAN_PI_8: f32 = 0.414_213_57;
    let steep = lower.two(IsGt, size, TAN_3PI_8)?;
    let middle = lower.two(IsGt, size, TAN_PI_8)?;
    let inverse = lower.two(Divide, -1.0f32, size)?;
    let (less, more) = (lower.two(Subtract, size, 1.0f32)?, lower.two(Add, size, 1.0f32)?);
    let turned = lower.two(Divide, less, more)?;
    let small = lower.choose(middle, turned, size)?;
    let small = lower.choose(steep, inverse, small)?;
    let zero = lower.two(Mult, small, 0.0f32)?;
    let offset = lower.choose(middle, PI / 4.0, zero)?;
    let offset = lower.choose(steep, PI / 2.0, offset)?;
    let square = lower.two(Mult, small, small)?;
    let series = polynomial(lower, square, &COEFFICIENTS)?;
    let tail = lower.two(Mult, series, square)?;
    let tail = lower.two(Mult, tail, small)?;
    let angle = lower.two(Add, tail, small)?;
    lower.two(Add, angle, offset)
}

pub(super) fn atan<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    in_f32(lower, call, call.arg(0)?, |lower, x| odd(lower, x, atan_size))
}

/// The angle of a point, in all four quarters.
fn atan2_of(lower: &mut Lower<'_, '_>, y: ValueId, x: ValueId) -> Inferred {
    let (wide, high) = (lower.one(AbsoluteValue, x)?, lower.one(AbsoluteValue, y)?);
    let steep = lower.two(IsGt, high, wide)?;
    let (large, small) = (lower.two(Maximum, high, wide)?, lower.two(Minimum, high, wide)?);
    let slope = lower.two(Divide, small, large)?;
    // Equal magnitudes, infinite ones too, make half a right angle; the origin lies on the axis.
    let equal = lower.two(IsEq, small, large)?;
    let slope = lower.choose(equal, 1.0f32, slope)?;
    let origin = lower.two(IsEq, large, 0.0f32)?;
    let slope = lower.choose(origin, 0.0f32, slope)?;
    let angle = atan_size(lower, slope)?;
    let turned = lower.two(Subtract, PI / 2.0, angle)?;
    let angle = lower.choose(steep, turned, angle)?;
    // The sign bit tells −0 from +0.
    let bits = lower.b.bitcast(x, crate::types::ElemType::I32)?;
    let left = lower.two(IsLt, bits, 0i64)?;
    let mirrored = lower.two(Subtract, PI, angle)?;
    let angle = lower.choose(left, mirrored, angle)?;
    with_sign(lower, angle, y)
}

pub(super) fn atan2<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(2)?;
    let x = call.arg(1)?;
    in_f32(lower, call, call.arg(0)?, |lower, y| {
        let x = super::convert::to_type(lower, x, crate::types::ElemType::F32)?;
        atan2_of(lower, y, x)
    })
}

/// `√(1 − x²)`, from factors that do not cancel.
fn cosine_of_asin(lower: &mut Lower<'_, '_>, x: ValueId) -> Inferred {
    let (less, more) = (lower.two(Subtract, 1.0f32, x)?, lower.two(Add, x, 1.0f32)?);
    let product = lower.two(Mult, less, more)?;
    lower.one(Sqrt, product)
}

pub(super) fn asin<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    in_f32(lower, call, call.arg(0)?, |lower, x| {
        let cosine = cosine_of_asin(lower, x)?;
        atan2_of(lower, x, cosine)
    })
}

pub(super) fn acos<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    in_f32(lower, call, call.arg(0)?, |lower, x| {
        let sine = cosine_of_asin(lower, x)?;
        atan2_of(lower, sine, x)
    })
}

/// Half of `e^x ± e^−x` where `e^x` itself would be infinite: `(e^(x/2) / 2) · e^(x/2)`.
fn half_exp_large(lower: &mut Lower<'_, '_>, size: ValueId) -> Inferred {
    let half = lower.two(Mult, size, 0.5f32)?;
    let root = lower.one(Exp, half)?;
    let halved = lower.two(Mult, root, 0.5f32)?;
    lower.two(Mult, halved, root)
}

/// Beyond this magnitude `e^−x` does not count.
const STEEP: f32 = 40.0;

pub(super) fn sinh<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    in_f32(lower, call, call.arg(0)?, |lower, x| {
        odd(lower, x, |lower, size| {
            let grown = lower.one(ExpM1, size)?;
            let more = lower.two(Add, grown, 1.0f32)?;
            let shrunk = lower.two(Divide, grown, more)?;
            let sum = lower.two(Add, grown, shrunk)?;
            let plain = lower.two(Mult, sum, 0.5f32)?;
            let steep = lower.two(IsGt, size, STEEP)?;
            let large = half_exp_large(lower, size)?;
            lower.choose(steep, large, plain)
        })
    })
}

pub(super) fn cosh<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    in_f32(lower, call, call.arg(0)?, |lower, x| {
        let size = lower.one(AbsoluteValue, x)?;
        let grown = lower.one(Exp, size)?;
        let half = lower.two(Mult, grown, 0.5f32)?;
        let shrunk = lower.two(Divide, 0.5f32, grown)?;
        let plain = lower.two(Add, half, shrunk)?;
        let steep = lower.two(IsGt, size, STEEP)?;
        let large = half_exp_large(lower, size)?;
        lower.choose(steep, large, plain)
    })
}

pub(super) fn asinh<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    in_f32(lower, call, call.arg(0)?, |lower, x| {
        odd(lower, x, |lower, size| {
            let square = lower.two(Mult, size, size)?;
            let more = lower.two(Add, square, 1.0f32)?;
            let root = lower.one(Sqrt, more)?;
            let below = lower.two(Add, root, 1.0f32)?;
            let part = lower.two(Divide, square, below)?;
            let sum = lower.two(Add, size, part)?;
            let plain = lower.one(Log1p, sum)?;
            far(lower, size, plain)
        })
    })
}

/// `log 2x` beyond [`LARGE`], else what was computed.
fn far(lower: &mut Lower<'_, '_>, size: ValueId, plain: ValueId) -> Inferred {
    let large = lower.two(IsGt, size, LARGE)?;
    let log = lower.one(Log, size)?;
    let log = lower.two(Add, log, LN_2)?;
    lower.choose(large, log, plain)
}

pub(super) fn acosh<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    in_f32(lower, call, call.arg(0)?, |lower, x| {
        let (less, more) = (lower.two(Subtract, x, 1.0f32)?, lower.two(Add, x, 1.0f32)?);
        let product = lower.two(Mult, less, more)?;
        let root = lower.one(Sqrt, product)?;
        let sum = lower.two(Add, less, root)?;
        let plain = lower.one(Log1p, sum)?;
        let plain = far(lower, x, plain)?;
        let below = lower.two(IsLt, x, 1.0f32)?;
        lower.choose(below, f32::NAN, plain)
    })
}

pub(super) fn atanh<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    in_f32(lower, call, call.arg(0)?, |lower, x| {
        odd(lower, x, |lower, size| {
            let double = lower.two(Mult, size, 2.0f32)?;
            let below = lower.two(Subtract, 1.0f32, size)?;
            let ratio = lower.two(Divide, double, below)?;
            let log = lower.one(Log1p, ratio)?;
            lower.two(Mult, log, 0.5f32)
        })
    })
}

/// `1 − erf x`: near zero so, beyond 1 by a series in `1/x²` times `e^(−x²)`, whose exponent is split so that its
/// rounding does not grow.
pub(super) fn erfc<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    const NEAR: [f32; 9] = [
        2.326_82e-2,
        -1.387_039_4e-1,
        3.687_424_6e-1,
        -5.824_733e-1,
        6.210_004_6e-1,
        -4.944_515_3e-1,
        3.404_88e-1,
        -2.741_127e-1,
        5.638_259_4e-1,
    ];
    const FAR: [f32; 8] = [
        -10.477_664,
        12.977_2,
        -7.495_518_7,
        2.921_019,
        -1.015_265_3,
        4.218_463_5e-1,
        -2.820_767_5e-1,
        5.641_895e-1,
    ];
    call.arity(1)?;
    in_f32(lower, call, call.arg(0)?, |lower, x| {
        let size = lower.one(AbsoluteValue, x)?;
        let bits = lower.b.bitcast(size, crate::types::ElemType::Ui32)?;
        let kept = Operand::Literal(Literal::Int(0x7FFF_F000));
        let high = lower.two(BitwiseAnd, bits, kept)?;
        let high = lower.b.bitcast(high, crate::types::ElemType::F32)?;
        let (low, sum) = (lower.two(Subtract, size, high)?, lower.two(Add, size, high)?);
        let square = lower.two(Mult, high, high)?;
        let main = lower.two(Mult, square, -1.0f32)?;
        let main = lower.one(Exp, main)?;
        let rest = lower.two(Mult, low, sum)?;
        let rest = lower.two(Mult, rest, -1.0f32)?;
        let rest = lower.one(Exp, rest)?;
        let power = lower.two(Mult, main, rest)?;
        let inverse = lower.two(Divide, 1.0f32, size)?;
        let argument = lower.two(Mult, inverse, inverse)?;
        let (near, far) = (polynomial(lower, argument, &NEAR)?, polynomial(lower, argument, &FAR)?);
        let is_near = lower.two(IsLt, size, 2.0f32)?;
        let series = lower.choose(is_near, near, far)?;
        let scaled = lower.two(Mult, power, inverse)?;
        let tail = lower.two(Mult, scaled, series)?;
        // Where the exponential vanishes the series may be infinite.
        let vanishes = lower.two(IsGt, size, 10.1f32)?;
        let tail = lower.choose(vanishes, 0.0f32, tail)?;
        let mirrored = lower.two(Subtract, 2.0f32, tail)?;
        let negative = lower.two(IsLt, x, 0.0f32)?;
        let tail = lower.choose(negative, mirrored, tail)?;
        let erf = lower.one(Erf, x)?;
        let plain = lower.two(Subtract, 1.0f32, erf)?;
        let outer = lower.two(IsGt, size, 1.0f32)?;
        lower.choose(outer, tail, plain)
    })
}

pub(super) fn is_inf<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    infinite(lower, call, |lower, x| {
        let size = lower.one(AbsoluteValue, x)?;
        lower.two(IsEq, size, f32::INFINITY)
    })
}

pub(super) fn is_pos_inf<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    infinite(lower, call, |lower, x| lower.two(IsEq, x, f32::INFINITY))
}

pub(super) fn is_neg_inf<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    infinite(lower, call, |lower, x| lower.two(IsEq, x, f32::NEG_INFINITY))
}

fn infinite<'f, 's>(
    lower: &mut Lower<'f, 's>,
    call: &Call<'_, 's>,
    test: impl FnOnce(&mut Lower<'f, 's>, ValueId) -> Inferred,
) -> Made {
    call.arity(1)?;
    let x = call.arg(0)?;
    Ok(smallvec::smallvec![test(lower, x).map_err(super::wrong(call))?])
}
