//! Conversions between element types.

use smallvec::smallvec;

use super::elementwise::Inferred;
use super::{Attr, Call, Lower, Made, wrong};
use crate::entity::ValueId;
use crate::literal::Literal;
use crate::module::Operand;
use crate::ops::ElementwiseOp::*;
use crate::ops::TensorOp;
use crate::types::ElemType;

/// Floats to integers toward zero, integers to narrower ones modulo 2ⁿ, anything to `i1` by whether it is zero.
pub(super) fn convert<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    let (x, to) = (call.arg(0)?, call.result()?.dtype);
    Ok(smallvec![to_type(lower, x, to).map_err(wrong(call))?])
}

/// A value in another element type, as `convert` does.
pub(super) fn to_type(lower: &mut Lower<'_, '_>, x: ValueId, to: ElemType) -> Inferred {
    let from = lower.dtype(x);
    match () {
        () if from == to => Ok(x),
        () if to == ElemType::I1 && from.is_float() => lower.two(IsNe, x, 0.0f32),
        () if to == ElemType::I1 => lower.two(IsNe, x, 0i64),
        () if from == ElemType::I1 || to.is_float() => lower.b.cast(x, to),
        () if from.is_float() => lower.b.to_int(x, to),
        () => lower.b.wrap(x, to),
    }
}

/// The same bits; a wider type has one dimension less, the last.
pub(super) fn bitcast<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    let (x, to) = (call.arg(0)?, call.result()?.clone());
    if lower.dtype(x) == to.dtype {
        return Ok(smallvec![x]);
    }
    Ok(smallvec![lower.b.op(TensorOp::Bitcast, &[x.into()], &to).map_err(wrong(call))?])
}

/// `reduce_precision %x, format = e5m10`
pub(super) fn reduce_precision<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    let x = call.arg(0)?;
    let format = match call.attr(&["format"]).and_then(Attr::keyword) {
        Some(word) => word.strip_prefix('e').and_then(|word| word.split_once('m')).and_then(
            |(exponent, mantissa)| Some((exponent.parse().ok()?, mantissa.parse().ok()?)),
        ),
        None => match (call.int(&["exponent_bits"]), call.int(&["mantissa_bits"])) {
            (Ok(exponent), Ok(mantissa)) => Some((exponent, mantissa)),
            _ => None,
        },
    };
    let Some((exponent, mantissa)) = format.filter(|&(e, m): &(i64, i64)| e >= 1 && m >= 0) else {
        return Err(call.malformed("needs a format such as e5m10"));
    };
    super::elementwise::in_f32(lower, call, x, |lower, x| narrow(lower, x, exponent, mantissa))
}

/// Rounds to nearest even at a mantissa of some bits; what lies beyond the exponents becomes infinite or zero.
fn narrow(lower: &mut Lower<'_, '_>, x: ValueId, exponent: i64, mantissa: i64) -> Inferred {
    let int = |value: i64| Operand::Literal(Literal::Int(i128::from(value)));
    let bits = lower.b.bitcast(x, ElemType::Ui32)?;
    let sign = lower.two(BitwiseAnd, bits, int(0x8000_0000))?;
    let mut size = lower.two(BitwiseAnd, bits, int(0x7FFF_FFFF))?;
    if mantissa == 0 {
        // Without a mantissa there is no NaN: one becomes an infinity.
        size = lower.two(Min, size, int(0x7F80_0000))?;
    }
    if mantissa < 23 {
        // Half a unit, less one when the kept part is even, carries exactly where nearest even asks for it.
        let dropped = 23 - mantissa;
        let last = lower.two(LogicalShiftRight, size, int(dropped))?;
        let odd = lower.two(BitwiseAnd, last, int(1))?;
        let half = lower.two(Add, size, int((1 << (dropped - 1)) - 1))?;
        let rounded = lower.two(Add, half, odd)?;
        size = lower.two(BitwiseAnd, rounded, int(0x7FFF_FFFF & !((1 << dropped) - 1)))?;
    }
    if exponent < 8 {
        let bias = (1i64 << (exponent - 1)) - 1;
        let largest = (127 + bias) << 23 | (0x7F_FFFF & !((1 << (23 - mantissa.min(23))) - 1));
        let too_large = lower.two(IsGt, size, int(largest))?;
        size = lower.choose(too_large, int(0x7F80_0000), size)?;
        let smallest = (127 - bias + 1) << 23;
        let too_small = lower.two(IsLt, size, int(smallest))?;
        size = lower.choose(too_small, int(0), size)?;
    }
    let joined = lower.two(BitwiseOr, size, sign)?;
    let result = lower.b.bitcast(joined, ElemType::F32)?;
    if mantissa == 0 {
        return Ok(result);
    }
    let is_nan = lower.two(IsNe, x, x)?;
    lower.choose(is_nan, x, result)
}
