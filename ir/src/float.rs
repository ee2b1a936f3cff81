//! Encoding and decoding of every float element type, through `f64`.
//!
//! Every `f32`, `f16`, `bf16` and 8-bit value is exact in `f64`, so one rounding
//! (nearest even) happens in [`encode`] and none in [`decode`]. Formats and
//! special values are those of ISA 5.1, 5.2 and 10.3.

use crate::types::ElemType;

/// Exponent and mantissa widths of an IEEE-like format in `storage` bits.
struct Format {
    exponent: u32,
    mantissa: u32,
    /// Low bits of the container that are always zero.
    padding: u32,
    /// The NaN that is written.
    nan: u64,
}

const fn format(ty: ElemType) -> Option<Format> {
    let (exponent, mantissa, padding, nan) = match ty {
        ElemType::F32 => (8, 23, 0, 0x7FC0_0000),
        ElemType::F32r => (8, 13, 10, 0x7FC0_0000),
        ElemType::F16 => (5, 10, 0, 0x7E00),
        ElemType::Bf16 => (8, 7, 0, 0x7FC0),
        ElemType::F8E3M4 => (3, 4, 0, 0x78),
        ElemType::F8E4M3 => (4, 3, 0, 0x7C),
        ElemType::F8E5M2 => (5, 2, 0, 0x7E),
        _ => return None,
    };
    Some(Format { exponent, mantissa, padding, nan })
}

/// The bits of `value` in a float type: nearest even, subnormals kept, overflow
/// to infinity, NaN to the canonical NaN. Zero for an integer type.
pub fn encode(value: f64, ty: ElemType) -> u64 {
    let Some(f) = format(ty) else { return 0 };
    if value.is_nan() {
        return f.nan;
    }
    let sign = (value.to_bits() >> 63) << (f.exponent + f.mantissa);
    let infinity = ((1u64 << f.exponent) - 1) << f.mantissa;
    let magnitude = value.abs();
    let encoded = if magnitude == 0.0 {
        0
    } else if magnitude.is_infinite() {
        infinity
    } else {
        let bias = (1i64 << (f.exponent - 1)) - 1;
        let bits = magnitude.to_bits();
        // A subnormal f64 is far below every format here and rounds to zero.
        let exponent = ((bits >> 52) as i64 - 1023).max(1 - bias);
        let unit = exponent - i64::from(f.mantissa);
        // The scaling is by a power of two within range, hence exact.
        let scaled = magnitude * pow2(-unit);
        let significand = scaled.round_ties_even() as u64;
        // A carry out of the mantissa moves into the exponent by itself.
        let encoded = (((exponent + bias - 1) as u64) << f.mantissa) + significand;
        encoded.min(infinity)
    };
    (sign | encoded) << f.padding
}

/// The value of a float type's bits; NaN for an integer type.
pub fn decode(bits: u64, ty: ElemType) -> f64 {
    if ty == ElemType::F32 {
        return f64::from(f32::from_bits(bits as u32));
    }
    let Some(f) = format(ty) else { return f64::NAN };
    let bits = bits >> f.padding;
    let mantissa = bits & ((1 << f.mantissa) - 1);
    let exponent = (bits >> f.mantissa) & ((1 << f.exponent) - 1);
    let bias = (1i64 << (f.exponent - 1)) - 1;
    let unit = 1 - bias - i64::from(f.mantissa);
    let magnitude = if exponent == (1 << f.exponent) - 1 {
        if mantissa == 0 { f64::INFINITY } else { f64::NAN }
    } else if exponent == 0 {
        mantissa as f64 * pow2(unit)
    } else {
        ((1 << f.mantissa) | mantissa) as f64 * pow2(unit + exponent as i64 - 1)
    };
    if bits >> (f.exponent + f.mantissa) & 1 == 1 { -magnitude } else { magnitude }
}

/// True when the bits are a NaN of the type.
pub fn is_nan(bits: u64, ty: ElemType) -> bool {
    ty.is_float() && decode(bits, ty).is_nan()
}

/// The NaN that the machine writes in a float type.
pub fn canonical_nan(ty: ElemType) -> Option<u64> {
    format(ty).map(|f| f.nan)
}

/// 2 to an exponent within the normal range of `f64`.
fn pow2(exponent: i64) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ISA 5.2: largest finite, smallest normal, smallest subnormal.
    #[test]
    fn eight_bit_landmarks() {
        for (ty, bits, value) in [
            (ElemType::F8E3M4, 0x6F, 15.5),
            (ElemType::F8E3M4, 0x10, 0.25),
            (ElemType::F8E3M4, 0x01, 2f64.powi(-6)),
            (ElemType::F8E4M3, 0x77, 240.0),
            (ElemType::F8E4M3, 0x08, 2f64.powi(-6)),
            (ElemType::F8E4M3, 0x01, 2f64.powi(-9)),
            (ElemType::F8E5M2, 0x7B, 57344.0),
            (ElemType::F8E5M2, 0x04, 2f64.powi(-14)),
            (ElemType::F8E5M2, 0x01, 2f64.powi(-16)),
        ] {
            assert_eq!(decode(bits, ty), value, "{ty} {bits:#x}");
            assert_eq!(encode(value, ty), bits, "{ty} {value}");
            assert_eq!(encode(-value, ty), bits | 0x80);
        }
        assert_eq!(encode(f64::INFINITY, ElemType::F8E3M4), 0x70);
        assert_eq!(encode(1e9, ElemType::F8E4M3), 0x78);
        assert_eq!(encode(f64::NAN, ElemType::F8E5M2), 0x7E);
    }

    #[test]
    fn every_small_float_survives() {
        for &ty in ElemType::ALL.iter().filter(|ty| ty.is_float() && ty.width() <= 16) {
            for bits in 0..1u64 << ty.width() {
                let value = decode(bits, ty);
                if !value.is_nan() {
                    assert_eq!(encode(value, ty), bits, "{ty} {bits:#x}");
                }
            }
        }
    }

    #[test]
    fn f32_agrees_with_the_language() {
        for bits in
            [0u32, 1, 0x7F_FFFF, 0x80_0000, 0x3F80_0001, 0x7F7F_FFFF, 0x7F80_0000, 0x8000_0001]
        {
            let value = f64::from(f32::from_bits(bits));
            assert_eq!(encode(value, ElemType::F32), u64::from(bits));
        }
        for value in [0.1, 1e-45, 3.5e38, 1e-46, 16_777_217.0, 1.0 / 3.0] {
            assert_eq!(
                encode(value, ElemType::F32),
                u64::from((value as f32).to_bits()),
                "{value}"
            );
        }
    }

    #[test]
    fn ties_go_to_even() {
        assert_eq!(encode(257.0, ElemType::Bf16), encode(256.0, ElemType::Bf16));
        assert_eq!(encode(259.0, ElemType::Bf16), encode(260.0, ElemType::Bf16));
        // 1 + 2^-14 lies half-way between two f32r values (ISA 5.1).
        assert_eq!(encode(1.0 + 2f64.powi(-14), ElemType::F32r), 0x3F80_0000);
        assert_eq!(encode(1.0 + 3.0 * 2f64.powi(-14), ElemType::F32r), 0x3F80_0800);
        assert_eq!(encode(3.4028235e38, ElemType::F32r), 0x7F80_0000);
    }
}
