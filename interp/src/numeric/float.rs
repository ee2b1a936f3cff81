//! The fp32 domain: one operation, one rounding (ISA 6.1, 10.4; rules N-3, N-6, N-7).

use super::minifloat::F32_NAN;

/// Truth of an operand: anything but ±0, NaN included.
#[inline(always)]
fn truth(a: f32) -> bool {
    a != 0.0
}

/// 1 or 0.
#[inline(always)]
pub fn flag(condition: bool) -> f32 {
    f32::from_bits(if condition { 0x3F80_0000 } else { 0 })
}

/// The larger value; NaN is suppressed, +0 is greater than −0, two NaNs give the canonical one.
#[inline(always)]
pub fn max(a: f32, b: f32) -> f32 {
    // Equal values differ in bits only when they are zeros, where the conjunction is +0.
    let equal = f32::from_bits(a.to_bits() & b.to_bits());
    let larger = if a > b {
        a
    } else if a < b {
        b
    } else {
        equal
    };
    suppress_nan(a, b, larger)
}

/// The smaller value; NaN is suppressed, −0 is less than +0, two NaNs give the canonical one.
#[inline(always)]
pub fn min(a: f32, b: f32) -> f32 {
    let equal = f32::from_bits(a.to_bits() | b.to_bits());
    let smaller = if a < b {
        a
    } else if a > b {
        b
    } else {
        equal
    };
    suppress_nan(a, b, smaller)
}

#[inline(always)]
fn suppress_nan(a: f32, b: f32, ordered: f32) -> f32 {
    let without_b = if b.is_nan() { f32::from_bits(F32_NAN) } else { b };
    let value = if b.is_nan() { a } else { ordered };
    if a.is_nan() { without_b } else { value }
}

/// 1.5 · 2^23: adding it to a value below 2^22 in magnitude rounds that value to the nearest even integer, which is left
/// in the low bits.
pub const ROUNDER: f32 = 12_582_912.0;

/// Lanes folded side by side where the order is free.
pub const SIDE_BY_SIDE: usize = 64;

/// The maximum by plain comparisons, which drop a NaN but tell neither −0 from +0 nor "all NaN" from −Inf: `None`
/// where that matters.
#[inline(always)]
pub fn fold_max<C: Copy>(cells: &[C], decode: impl Fn(C) -> f32) -> Option<f32> {
    fold(cells, decode, f32::NEG_INFINITY, |best, x| if x > best { x } else { best })
}

/// See [`fold_max`].
#[inline(always)]
pub fn fold_min<C: Copy>(cells: &[C], decode: impl Fn(C) -> f32) -> Option<f32> {
    fold(cells, decode, f32::INFINITY, |best, x| if x < best { x } else { best })
}

#[inline(always)]
fn fold<C: Copy>(
    cells: &[C],
    decode: impl Fn(C) -> f32,
    worst: f32,
    better: impl Fn(f32, f32) -> f32,
) -> Option<f32> {
    let mut lanes = [worst; SIDE_BY_SIDE];
    let mut feed = |chunk: &[C; SIDE_BY_SIDE]| {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = better(*lane, decode(x));
        }
    };
    let (chunks, tail) = cells.as_chunks::<SIDE_BY_SIDE>();
    chunks.iter().for_each(&mut feed);
    let mut best = worst;
    match cells.last_chunk::<SIDE_BY_SIDE>() {
        // An element may be seen twice.
        Some(last) if !tail.is_empty() => feed(last),
        Some(_) => {}
        None => best = tail.iter().fold(worst, |best, &x| better(best, decode(x))),
    }
    let mut width = SIDE_BY_SIDE / 2;
    while width > 0 {
        for i in 0..width {
            lanes[i] = better(lanes[i], lanes[i + width]);
        }
        width /= 2;
    }
    best = better(best, lanes[0]);
    (best != worst && best != 0.0).then_some(best)
}

/// `sign(a) · max(|a|, |b|)`, literally as defined (ISA 10.4): the sign of a zero is that zero, of a NaN that NaN.
#[inline(always)]
pub fn symmetric_clamp(a: f32, b: f32) -> f32 {
    let sign = if a == 0.0 || a.is_nan() { a } else { 1.0_f32.copysign(a) };
    sign * max(a.abs(), b.abs())
}

/// `a · b + c`, rounded once, from f64 operations. The product is exact there; the sum is rounded to odd (an inexact
/// one gets an odd last bit, on the side of zero), after which a second rounding to fp32 is as good as one.
#[inline(always)]
pub fn fused(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let added = sum - product;
    let error = (product - (sum - added)) + (c - added);
    let bits = sum.to_bits();
    // Both comparisons fail for NaN, the error of an infinite sum.
    let is_inexact = (error < 0.0) | (error > 0.0);
    let outwards = (error < 0.0) == (sum < 0.0);
    let odd = if outwards { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    f64::from_bits(if is_inexact & (bits & 1 == 0) { odd } else { bits }) as f32
}

/// `a > 0 ? a : +0`, NaN stays NaN.
#[inline(always)]
pub fn relu(a: f32) -> f32 {
    let positive = if a > 0.0 { a } else { 0.0 };
    if a.is_nan() { a } else { positive }
}

/// Logical operations on the truth of the operands.
#[inline(always)]
pub fn logical_and(a: f32, b: f32) -> f32 {
    flag(truth(a) & truth(b))
}

/// See [`logical_and`].
#[inline(always)]
pub fn logical_or(a: f32, b: f32) -> f32 {
    flag(truth(a) | truth(b))
}

/// See [`logical_and`].
#[inline(always)]
pub fn logical_xor(a: f32, b: f32) -> f32 {
    flag(truth(a) ^ truth(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fused_rounds_once() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            (state >> 32) as u32
        };
        let special = [0.0, -0.0, 1.0, -1.0, f32::MIN_POSITIVE, 1e-45, f32::MAX, f32::INFINITY];
        let check = |a: f32, b: f32, c: f32| {
            let (got, want) = (fused(a, b, c), libm::fmaf(a, b, c));
            let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
            assert!(same, "{a:e} · {b:e} + {c:e} = {got:e}, not {want:e}");
        };
        for _ in 0..200_000 {
            let [a, b, c] = [next(), next(), next()].map(f32::from_bits);
            check(a, b, c);
            // Sums of like size, near ties, and cancelled ones.
            check(a, b, -(a * b));
            let short = f32::from_bits(b.to_bits() & !0xFFF);
            check(a, short, a * short * f32::from_bits(0x3380_0000 | next() & 0x80FF_F000));
            check(a, b, special[next() as usize % special.len()]);
        }
        for a in special {
            for b in special {
                special.iter().for_each(|&c| check(a, b, c));
            }
        }
    }

    #[test]
    fn max_and_min_suppress_nan_and_order_zeros() {
        let other_nan = f32::from_bits(0xFFC1_2345);
        assert_eq!(max(f32::NAN, 1.0), 1.0);
        assert_eq!(max(1.0, other_nan), 1.0);
        assert_eq!(min(f32::NAN, -1.0), -1.0);
        assert_eq!(max(other_nan, other_nan).to_bits(), F32_NAN);
        assert_eq!(min(other_nan, f32::NAN).to_bits(), F32_NAN);
        assert_eq!(max(-0.0, 0.0).to_bits(), 0);
        assert_eq!(max(0.0, -0.0).to_bits(), 0);
        assert_eq!(min(0.0, -0.0).to_bits(), 0x8000_0000);
        assert_eq!(min(-0.0, 0.0).to_bits(), 0x8000_0000);
        assert_eq!(max(f32::NEG_INFINITY, -3.0), -3.0);
    }

    #[test]
    fn relu_and_truth() {
        assert_eq!(relu(-0.0).to_bits(), 0);
        assert!(relu(f32::NAN).is_nan());
        assert_eq!(logical_and(f32::NAN, 2.0), 1.0);
        assert_eq!(logical_or(0.0, -0.0), 0.0);
        assert_eq!(logical_xor(3.0, 5.0), 0.0);
    }
}
