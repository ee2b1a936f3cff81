//! Functions that are not one IEEE operation: exp, POW, RSQRT (ISA 10.4, OQ-37).
//!
//! The reference is the f64 result rounded once to fp32. Everything here is built from IEEE basic operations in
//! f64 (`sqrt` and the division are exactly rounded by the standard; `libm` is software without a platform's
//! own tables), so the bits do not depend on the machine. Rust never contracts a multiply and an add.

/// log2(e) in f64.
const LOG2_E: f64 = std::f64::consts::LOG2_E;
/// ln 2 in two parts: the first has trailing zeros, so that its product with a small integer is exact.
const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// 1.5 · 2^52: adding it rounds to the nearest integer and leaves that integer in the low bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// Inverse factorials 1/2! … 1/12!, highest first; on |r| ≤ ln 2 / 2 the rest of the series is below 2^-57.
const SERIES: [f64; 11] = [
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    1.0 / 2.0,
];

/// e to the power `x`, computed in f64 and rounded once: exp(NaN) = NaN, exp(−Inf) = +0, overflow gives +Inf.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // Outside this range the result is +Inf or +0 in fp32; inside, 2^n below is a normal f64.
    let wide = f64::from(x);
    let clamped = if wide > 128.0 { 128.0 } else { wide };
    let clamped = if clamped < -160.0 { -160.0 } else { clamped };
    let shifted = clamped * LOG2_E + ROUNDER;
    let n = shifted - ROUNDER;
    let r = (clamped - n * LN2_HIGH) - n * LN2_LOW;
    let mut sum = SERIES[0];
    for term in &SERIES[1..] {
        sum = sum * r + term;
    }
    let mantissa = (sum * r * r + r) + 1.0;
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    (mantissa * power) as f32
}

/// `base` to the power `exponent` with the special cases of C `pow`, computed in f64 and rounded once.
#[inline]
pub fn pow(base: f32, exponent: f32) -> f32 {
    libm::pow(f64::from(base), f64::from(exponent)) as f32
}

/// 1/√x, computed in f64 and rounded once: negative gives NaN, ±0 gives ±Inf, +Inf gives +0.
#[inline(always)]
pub fn rsqrt(x: f32) -> f32 {
    (1.0 / f64::from(x).sqrt()) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_equals_the_library_rounded_once() {
        let mut bits = 0u32;
        while bits < 0x7F80_0000 {
            for value in [f32::from_bits(bits), -f32::from_bits(bits)] {
                let want = libm::exp(f64::from(value)) as f32;
                assert_eq!(exp(value).to_bits(), want.to_bits(), "exp({value:e})");
            }
            bits += 997;
        }
    }

    #[test]
    fn exp_specials() {
        assert!(exp(f32::NAN).is_nan());
        assert_eq!(exp(f32::NEG_INFINITY).to_bits(), 0);
        assert_eq!(exp(f32::INFINITY), f32::INFINITY);
        assert_eq!(exp(88.722_84), f32::exp(88.722_84));
        assert_eq!(exp(88.73), f32::INFINITY);
        assert_eq!(exp(-0.0), 1.0);
        // 2^-149 · 1/2 is about e^-103.97: below it nothing is left.
        assert_eq!(exp(-103.9).to_bits(), 1);
        assert_eq!(exp(-104.0).to_bits(), 0);
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
