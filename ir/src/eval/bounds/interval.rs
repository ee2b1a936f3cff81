//! Intervals of numbers and what rounding does to them.

use crate::eval::convert::{self, Fp8Options};
use crate::types::ElemType;

/// The unit in the last place of an fp32 number; infinite for one that is not
/// finite.
pub fn ulp32(x: f32) -> f64 {
    let exponent = (x.to_bits() >> 23) & 0xFF;
    match exponent {
        0xFF => f64::INFINITY,
        _ => 2f64.powi(exponent.max(1) as i32 - 150),
    }
}

/// The fp32 interval around a number, rounded outward.
pub fn outward(x: f32, bound: f64) -> (f32, f32) {
    if bound == 0.0 || x.is_nan() {
        return (x, x);
    }
    let (low, high) = (f64::from(x) - bound, f64::from(x) + bound);
    let (mut lo, mut hi) = (low as f32, high as f32);
    if f64::from(lo) > low {
        lo = lo.next_down();
    }
    if f64::from(hi) < high {
        hi = hi.next_up();
    }
    // An infinite bound around an infinity has no ends.
    (if lo.is_nan() { f32::NEG_INFINITY } else { lo }, if hi.is_nan() { f32::INFINITY } else { hi })
}

/// How far two numbers lie apart: NaNs are equal, and infinitely far from others.
pub fn distance(a: f64, b: f64) -> f64 {
    if a == b || (a.is_nan() && b.is_nan()) {
        0.0
    } else if a.is_finite() && b.is_finite() {
        (a - b).abs()
    } else {
        f64::INFINITY
    }
}

/// How far two elements of a type lie apart.
pub fn element_distance(a: u64, b: u64, dtype: ElemType, fp8: Fp8Options) -> f64 {
    if a == b {
        return 0.0;
    }
    if dtype.is_int() {
        (convert::decode_int(a, dtype, fp8) - convert::decode_int(b, dtype, fp8)).unsigned_abs()
            as f64
    } else {
        distance(
            f64::from(convert::decode_f32(a, dtype, fp8)),
            f64::from(convert::decode_f32(b, dtype, fp8)),
        )
    }
}

/// The bound of an fp32 result after rounding to a type.
pub fn round_float(x: f32, bound: f64, dtype: ElemType, fp8: Fp8Options) -> f64 {
    if bound == 0.0 || !bound.is_finite() {
        return bound;
    }
    // Nothing is rounded, and the ends stay in range.
    if dtype == ElemType::F32 && f64::from(x).abs() + bound <= f64::from(f32::MAX) {
        return bound;
    }
    let encode = |x: f32| convert::encode_f32(x, dtype, fp8);
    let (low, high) = outward(x, bound);
    let center = encode(x);
    let far = |end: f32| element_distance(encode(end), center, dtype, fp8);
    let mut worst = far(low).max(far(high));
    // A truth value changes only at zero.
    if dtype == ElemType::I1 && low <= 0.0 && high >= 0.0 {
        worst = 1.0;
    }
    worst
}

/// The bound of an integer result after conversion to a type, modulo 2ⁿ or
/// saturating.
pub fn round_int(x: i128, bound: f64, dtype: ElemType, modular: bool, fp8: Fp8Options) -> f64 {
    if bound == 0.0 || !bound.is_finite() {
        return bound;
    }
    let reach = bound.ceil() as i128;
    let (low, high) = (x.saturating_sub(reach), x.saturating_add(reach));
    if let (true, Some((least, most))) = (modular, dtype.int_range()) {
        return if low < least || high > most { f64::INFINITY } else { bound };
    }
    let encode = |x: i128| convert::encode_int(x, dtype, fp8);
    let center = encode(x);
    let far = |end: i128| element_distance(encode(end), center, dtype, fp8);
    let worst = far(low).max(far(high));
    if dtype == ElemType::I1 && low <= 0 && high >= 0 { 1.0 } else { worst }
}

/// The step from an element to its neighbour away from zero; 0 for integers and
/// what is not finite.
pub fn spacing(bits: u64, dtype: ElemType, fp8: Fp8Options) -> f64 {
    if dtype.is_int() || !convert::decode_f32(bits, dtype, fp8).is_finite() {
        return 0.0;
    }
    // The low bits of fp32 rounded to 22 bits are always zero.
    let step = if dtype == ElemType::F32r { 1 << 10 } else { 1 };
    let value = |bits| f64::from(convert::decode_f32(bits, dtype, fp8));
    let gap = (value(bits + step) - value(bits)).abs();
    if gap.is_finite() { gap } else { (value(bits) - value(bits.saturating_sub(step))).abs() }
}
