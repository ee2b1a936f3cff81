//! Functions that are not one IEEE operation: exp, POW, RSQRT (ISA 10.4, OQ-37).
//!
//! The reference is the f64 result rounded once to fp32; exp stays within one unit in the last place of it, the others
//! meet it but for the rare value whose f64 error crosses a rounding boundary. Everything here is built from IEEE
//! basic operations (`sqrt`, the division and the fused multiply-add are exactly rounded by the standard; `libm` is
//! software without a platform's own tables), so the bits do not depend on the machine. Rust never contracts a multiply
//! and an add by itself.

use super::float::ROUNDER;
use super::lane::Lane;
use super::simd::Level;

type Cell = [u8; 4];

/// Elements for which one decision is made whether the plain way does for all of them.
const CHUNK: usize = 128;

/// ln 2 in two parts: the first has nine bits to spare, so that its product with an exponent is exact.
const LN2_HIGH: f32 = 0.693_145_75;
const LN2_LOW: f32 = 1.428_606_8e-6;
/// (e^r − 1 − r) / r² on |r| ≤ 0.3475, fitted to 2^-28 of e^r; the lowest coefficient first.
const EXP_FIT: [f32; 5] = [0.5, 0.166_665_33, 0.041_667_245, 0.008_367_655, 0.001_386_362_5];

/// e^x as a mantissa near 1 and an integer exponent that is still shifted by [`ROUNDER`], for −160 ≤ x ≤ 129. The
/// error stays below one unit in the last place of the mantissa: half a unit from the last addition, a quarter each
/// from the reduced argument and from the sum before.
#[inline(always)]
fn exp_parts<L: Level>(x: f32) -> (f32, u32) {
    let shifted = L::fused(x, std::f32::consts::LOG2_E, ROUNDER);
    let n = shifted - ROUNDER;
    let r = L::fused(n, -LN2_LOW, L::fused(n, -LN2_HIGH, x));
    let [c2, c3, c4, c5, c6] = EXP_FIT;
    let fit = [c5, c4, c3, c2].into_iter().fold(c6, |fit, c| L::fused(fit, r, c));
    (L::fused(r * r, fit, r) + 1.0, shifted.to_bits())
}

/// 2^n for −126 ≤ n ≤ 127.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

/// e to the power `x` within one unit in the last place: exp(NaN) = NaN, exp(−Inf) = +0, overflow gives +Inf.
#[inline(always)]
pub fn exp<L: Level>(x: f32) -> f32 {
    // Outside this range the result is +Inf or +0.
    let clamped = if x > 129.0 { 129.0 } else { x };
    let clamped = if clamped < -160.0 { -160.0 } else { clamped };
    let (mantissa, shifted) = exp_parts::<L>(clamped);
    let n = (shifted as i32).wrapping_sub(ROUNDER.to_bits() as i32);
    // In two steps, of which only the last one rounds.
    let half = n >> 1;
    mantissa * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// Magnitudes up to this have a normal result.
const EXP_NORMAL: f32 = 87.0;

/// As [`exp`] for a value whose result is normal: the same bits, with the exponent added.
#[inline(always)]
fn exp_normal<L: Level>(x: f32) -> f32 {
    let (mantissa, shifted) = exp_parts::<L>(x);
    f32::from_bits(mantissa.to_bits().wrapping_add(shifted << 23))
}

/// `out[i] = exp(a[i] − s)`.
#[inline(always)]
pub fn exp_cells<L: Level>(out: &mut [Cell], a: &[Cell], s: f32) {
    let (chunks, tail) = a.as_chunks::<CHUNK>();
    let (out_chunks, out_tail) = out.as_chunks_mut::<CHUNK>();
    for (out, a) in out_chunks.iter_mut().zip(chunks) {
        let magnitude = |&a: &Cell| (f32::load(a) - s).to_bits() << 1;
        if a.iter().map(magnitude).fold(0, u32::max) <= EXP_NORMAL.to_bits() << 1 {
            for (out, &a) in out.iter_mut().zip(a) {
                *out = exp_normal::<L>(f32::load(a) - s).store();
            }
        } else {
            for (out, &a) in out.iter_mut().zip(a) {
                *out = exp::<L>(f32::load(a) - s).store();
            }
        }
    }
    for (out, &a) in out_tail.iter_mut().zip(tail) {
        *out = exp::<L>(f32::load(a) - s).store();
    }
}

/// 1.5 · 2^52, for f64 as [`ROUNDER`] for f32.
const WIDE_ROUNDER: f64 = 6_755_399_441_055_744.0;
/// Coefficients of atanh(t) / t in t²: with |t| ≤ 0.1716 the rest of the series is below 2^-50 of it.
const ATANH: [f64; 9] = [
    1.0,
    1.0 / 3.0,
    1.0 / 5.0,
    1.0 / 7.0,
    1.0 / 9.0,
    1.0 / 11.0,
    1.0 / 13.0,
    1.0 / 15.0,
    1.0 / 17.0,
];
/// Inverse factorials: on |r| ≤ ln 2 / 2 the rest of the series of e^r is below 2^-42.
const EXP_SERIES: [f64; 11] = [
    1.0,
    1.0,
    1.0 / 2.0,
    1.0 / 6.0,
    1.0 / 24.0,
    1.0 / 120.0,
    1.0 / 720.0,
    1.0 / 5_040.0,
    1.0 / 40_320.0,
    1.0 / 362_880.0,
    1.0 / 3_628_800.0,
];

#[inline(always)]
fn polynomial<const N: usize>(coefficients: [f64; N], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// The cases of POW that need no rules of their own: a positive finite base and a finite exponent.
#[inline(always)]
fn is_pow_plain(base: f32, exponent: f32) -> bool {
    (base > 0.0) & (base < f32::INFINITY) & (exponent.abs() < f32::INFINITY)
}

/// `base ^ exponent` in f64, whose error is below 2^-33, rounded once.
#[inline(always)]
fn pow_plain(base: f32, exponent: f32) -> f32 {
    // base = m · 2^e with m between √½ and √2: the top bits of √½ are taken off before the exponent is.
    const ROOT_HALF: u64 = 0x3FE6_A09E << 32;
    let bits = f64::from(base).to_bits().wrapping_sub(ROOT_HALF);
    let e = (bits as i64) >> 52;
    let m = f64::from_bits((bits & ((1 << 52) - 1)).wrapping_add(ROOT_HALF));
    let e = f64::from_bits((e as u64).wrapping_add(WIDE_ROUNDER.to_bits())) - WIDE_ROUNDER;
    let t = (m - 1.0) / (m + 1.0);
    let log2 = e + 2.0 * std::f64::consts::LOG2_E * (t * polynomial(ATANH, t * t));
    // Beyond these bounds fp32 has only Inf and 0.
    let p = log2 * f64::from(exponent);
    let p = if p > 200.0 { 200.0 } else { p };
    let p = if p < -200.0 { -200.0 } else { p };
    let shifted = p + WIDE_ROUNDER;
    let r = (p - (shifted - WIDE_ROUNDER)) * std::f64::consts::LN_2;
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    (polynomial(EXP_SERIES, r) * power) as f32
}

/// `base` to the power `exponent` with the special cases of C `pow`, computed in f64 and rounded once.
#[inline]
pub fn pow(base: f32, exponent: f32) -> f32 {
    if is_pow_plain(base, exponent) {
        pow_plain(base, exponent)
    } else {
        libm::pow(f64::from(base), f64::from(exponent)) as f32
    }
}

/// `out[i] = pow(a[i], b[i])`.
#[inline(always)]
pub fn pow_cells(out: &mut [Cell], a: &[Cell], b: &[Cell]) {
    let (bases, base_tail) = a.as_chunks::<CHUNK>();
    let (exponents, exponent_tail) = b.as_chunks::<CHUNK>();
    let (out_chunks, out_tail) = out.as_chunks_mut::<CHUNK>();
    for ((out, a), b) in out_chunks.iter_mut().zip(bases).zip(exponents) {
        pow_chunk(out, a, b);
    }
    for (out, (&a, &b)) in out_tail.iter_mut().zip(base_tail.iter().zip(exponent_tail)) {
        *out = pow(f32::load(a), f32::load(b)).store();
    }
}

#[inline(always)]
fn pow_chunk(out: &mut [Cell; CHUNK], a: &[Cell; CHUNK], b: &[Cell; CHUNK]) {
    let operands = a.iter().zip(b);
    let plain = |all, (&a, &b): (&Cell, &Cell)| all & is_pow_plain(f32::load(a), f32::load(b));
    if operands.clone().fold(true, plain) {
        for (out, (&a, &b)) in out.iter_mut().zip(operands) {
            *out = pow_plain(f32::load(a), f32::load(b)).store();
        }
    } else {
        for (out, (&a, &b)) in out.iter_mut().zip(operands) {
            *out = pow(f32::load(a), f32::load(b)).store();
        }
    }
}

/// `out[i] = pow(a[i], s)`, or `pow(s, a[i])` with `REVERSED`.
#[inline(always)]
pub fn pow_scalar_cells<const REVERSED: bool>(out: &mut [Cell], a: &[Cell], s: f32) {
    let (chunks, tail) = a.as_chunks::<CHUNK>();
    let (out_chunks, out_tail) = out.as_chunks_mut::<CHUNK>();
    let scalars = [s.store(); CHUNK];
    for (out, a) in out_chunks.iter_mut().zip(chunks) {
        if REVERSED { pow_chunk(out, &scalars, a) } else { pow_chunk(out, a, &scalars) }
    }
    for (out, &a) in out_tail.iter_mut().zip(tail) {
        let a = f32::load(a);
        *out = if REVERSED { pow(s, a) } else { pow(a, s) }.store();
    }
}

/// 1/√x, computed in f64 and rounded once: negative gives NaN, ±0 gives ±Inf, +Inf gives +0.
#[inline(always)]
pub fn rsqrt(x: f32) -> f32 {
    (1.0 / f64::from(x).sqrt()) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::simd::{Portable, Simd, at_level};

    /// Steps between neighbouring fp32 values; 0 for two NaNs.
    fn steps(a: f32, b: f32) -> u64 {
        let place = |x: f32| {
            let bits = i64::from(x.to_bits() as i32);
            if bits < 0 { i64::from(i32::MIN) - bits } else { bits }
        };
        if a.is_nan() && b.is_nan() { 0 } else { place(a).abs_diff(place(b)) }
    }

    /// Positive and negative values of every exponent, `stride` patterns apart.
    fn sweep(stride: usize) -> impl Iterator<Item = f32> {
        let magnitudes = (0..=0x7F80_0000u32).step_by(stride).map(f32::from_bits);
        magnitudes.flat_map(|x| [x, -x]).chain([f32::NAN, f32::INFINITY, f32::NEG_INFINITY])
    }

    #[test]
    fn exp_is_within_one_step_of_the_library() {
        for x in sweep(997) {
            let want = libm::exp(f64::from(x)) as f32;
            let got = exp::<Portable>(x);
            assert!(steps(got, want) <= 1, "exp({x:e}) = {got:e}, not {want:e}");
        }
    }

    #[test]
    fn rsqrt_is_the_f64_result_rounded_once() {
        for x in sweep(997) {
            let want = (1.0 / libm::sqrt(f64::from(x))) as f32;
            assert_eq!(steps(rsqrt(x), want), 0, "rsqrt({x:e})");
        }
    }

    #[test]
    fn pow_is_within_one_step_of_the_library() {
        let exponents = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            2.0,
            3.0,
            -2.5,
            0.5,
            -0.5,
            1.0 / 3.0,
            17.25,
            -90.0,
            1e-8,
            1e6,
            -1e30,
            1e-40,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
        ];
        let mut apart = 0;
        let mut check = |base: f32, exponent: f32| {
            let want = libm::pow(f64::from(base), f64::from(exponent)) as f32;
            let got = pow(base, exponent);
            let off = steps(got, want);
            assert!(off <= 1, "{base:e} ^ {exponent:e} = {got:e}, not {want:e}");
            apart += off;
        };
        for base in sweep(300_007) {
            for exponent in exponents {
                check(base, exponent);
            }
        }
        for exponent in sweep(30_011) {
            for base in [std::f32::consts::E, 2.0, 0.3, 1.000_001, 0.999_999_9, 1e-42, 1.0] {
                check(base, exponent);
            }
        }
        assert!(apart < 10, "{apart} results are one step off");
    }

    #[test]
    fn cells_give_the_bits_of_single_values() {
        // Chunks of ordinary values, then of values of every size.
        let ordinary = (0..40_000).map(|i| i as f32 * 0.004_4 - 87.9);
        let values: Vec<f32> = ordinary.chain(sweep(1_000_003)).collect();
        let cells: Vec<Cell> = values.iter().map(|x| x.store()).collect();
        let mut out = cells.clone();
        for simd in Simd::available() {
            at_level!(simd, L => L::run(|| exp_cells::<L>(&mut out, &cells, 0.0)));
            for (out, &x) in out.iter().zip(&values) {
                assert_eq!(steps(f32::load(*out), exp::<Portable>(x)), 0, "{x:e} on {simd}");
            }
        }
        let exponents: Vec<Cell> = cells.iter().rev().copied().collect();
        pow_cells(&mut out, &cells, &exponents);
        for ((out, &x), y) in out.iter().zip(&values).zip(exponents) {
            assert_eq!(steps(f32::load(*out), pow(x, f32::load(y))), 0, "{x:e}");
        }
        for scalar in [2.5, -3.0, 0.0, f32::NAN] {
            pow_scalar_cells::<false>(&mut out, &cells, scalar);
            for (out, &x) in out.iter().zip(&values) {
                assert_eq!(steps(f32::load(*out), pow(x, scalar)), 0, "{x:e} ^ {scalar:e}");
            }
            pow_scalar_cells::<true>(&mut out, &cells, scalar);
            for (out, &x) in out.iter().zip(&values) {
                assert_eq!(steps(f32::load(*out), pow(scalar, x)), 0, "{scalar:e} ^ {x:e}");
            }
        }
    }

    #[test]
    fn exp_specials() {
        assert!(exp::<Portable>(f32::NAN).is_nan());
        assert_eq!(exp::<Portable>(f32::NEG_INFINITY).to_bits(), 0);
        assert_eq!(exp::<Portable>(f32::INFINITY), f32::INFINITY);
        assert!(exp::<Portable>(88.722_83) > 3.4e38 && exp::<Portable>(88.722_83).is_finite());
        assert_eq!(exp::<Portable>(88.73), f32::INFINITY);
        assert_eq!(exp::<Portable>(-0.0), 1.0);
        // 2^-149 · 1/2 is about e^-103.97: below it nothing is left.
        assert_eq!(exp::<Portable>(-103.9).to_bits(), 1);
        assert_eq!(exp::<Portable>(-104.0).to_bits(), 0);
    }

    #[test]
    fn rsqrt_specials() {
        assert!(rsqrt(-1.0).is_nan());
        assert_eq!(rsqrt(0.0), f32::INFINITY);
        assert_eq!(rsqrt(-0.0), f32::NEG_INFINITY);
        assert_eq!(rsqrt(f32::INFINITY).to_bits(), 0);
        assert_eq!(rsqrt(16.0), 0.25);
    }

    #[test]
    fn pow_specials() {
        assert_eq!(pow(f32::NAN, 0.0), 1.0);
        assert_eq!(pow(1.0, f32::NAN), 1.0);
        assert_eq!(pow(-0.0, -3.0), f32::NEG_INFINITY);
        assert!(pow(-2.0, 0.5).is_nan());
        assert_eq!(pow(-2.0, 3.0), -8.0);
    }
}
