//! The formats narrower than fp32, one value at a time (ISA 5.1, 5.2, 10.2, 10.3).
//!
//! Every function is free of branches on the value, so that loops over it turn into vector code, and uses
//! only IEEE additions, multiplications and integer operations, so that the bits are the same on every machine.

/// The canonical NaN of fp32 and of the FP32R container.
pub const F32_NAN: u32 = 0x7FC0_0000;

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7F80_0000;

/// The layout of an IEEE-like format: `E` exponent bits, `M` mantissa bits, bias 2^(E-1) − 1.
struct Layout<const E: u32, const M: u32>;

impl<const E: u32, const M: u32> Layout<E, M> {
    const BIAS: u32 = (1 << (E - 1)) - 1;
    /// The pattern of +Inf: the exponent all ones.
    const INF: u32 = ((1 << E) - 1) << M;
    /// Mantissa bits that fp32 has and this format lacks.
    const DROP: u32 = 23 - M;
    const SIGN_BIT: u32 = E + M;
    /// fp32 pattern of the smallest normal value.
    const MIN_NORMAL: u32 = (127 + 1 - Self::BIAS) << 23;
    /// A power of two whose unit in the last place is this format's smallest subnormal.
    const ROUNDER: u32 = (127 + 1 - Self::BIAS + Self::DROP) << 23;
}

/// What a conversion writes for values beyond the largest finite one, and for NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Specials {
    /// The pattern that overflow gives: all larger values are taken for the value that the pattern would have if its
    /// exponent were an ordinary one, and round to it by themselves.
    overflow: u32,
    nan: u32,
}

/// Decodes the low bits of `raw` exactly; an all-ones exponent is Inf or NaN.
#[inline(always)]
fn decode<const E: u32, const M: u32>(raw: u32) -> f32 {
    let layout_sign = (raw >> (E + M)) << 31;
    let magnitude = raw & ((1 << (E + M)) - 1);
    let widened = magnitude << Layout::<E, M>::DROP;
    // Moving the fields up leaves the exponent too small by a constant; the multiplication repairs it and
    // normalises subnormals, both exactly.
    let scale = f32::from_bits((254 - Layout::<E, M>::BIAS) << 23);
    let finite = (f32::from_bits(widened) * scale).to_bits();
    let special = INFINITY | widened;
    let value = if magnitude >= Layout::<E, M>::INF { special } else { finite };
    f32::from_bits(layout_sign | value)
}

/// Encodes to nearest even with subnormals; the specials say what happens at the upper end.
#[inline(always)]
fn encode<const E: u32, const M: u32>(value: f32, specials: Specials) -> u32 {
    let bits = value.to_bits();
    let sign = (bits & SIGN) >> (31 - Layout::<E, M>::SIGN_BIT);
    let magnitude = bits & !SIGN;
    let ceiling =
        (specials.overflow << Layout::<E, M>::DROP) + ((127 - Layout::<E, M>::BIAS) << 23);
    let within = magnitude.min(ceiling);
    let half = (1 << (Layout::<E, M>::DROP - 1)) - 1;
    let odd = (within >> Layout::<E, M>::DROP) & 1;
    // One addition rounds and takes the difference of the biases off.
    let offset = u32::wrapping_sub(half, (127 - Layout::<E, M>::BIAS) << 23);
    let normal = within.wrapping_add(odd).wrapping_add(offset) >> Layout::<E, M>::DROP;
    // The addition itself rounds to the subnormal grid.
    let rounder = f32::from_bits(Layout::<E, M>::ROUNDER);
    let subnormal =
        (f32::from_bits(within) + rounder).to_bits().wrapping_sub(Layout::<E, M>::ROUNDER);
    let finite = if within < Layout::<E, M>::MIN_NORMAL { subnormal } else { normal };
    if magnitude > INFINITY { specials.nan } else { sign | finite }
}

/// The specials of a format that follows the IEEE pattern.
const fn ieee(inf: u32, mantissa_bits: u32, saturate: bool) -> Specials {
    Specials {
        overflow: if saturate { inf - 1 } else { inf },
        nan: inf | (1 << (mantissa_bits - 1)),
    }
}

/// FP16 to fp32, exact.
#[inline(always)]
pub fn f16_to_f32(raw: u16) -> f32 {
    decode::<5, 10>(u32::from(raw))
}

/// fp32 to FP16, nearest even; overflow gives infinity, NaN gives 0x7E00.
#[inline(always)]
pub fn f32_to_f16(value: f32) -> u16 {
    encode::<5, 10>(value, const { ieee(0x7C00, 10, false) }) as u16
}

/// BFLOAT16 to fp32, exact.
#[inline(always)]
pub fn bf16_to_f32(raw: u16) -> f32 {
    f32::from_bits(u32::from(raw) << 16)
}

/// fp32 to BFLOAT16, nearest even; overflow gives infinity, NaN gives 0x7FC0.
#[inline(always)]
pub fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7FFF + ((bits >> 16) & 1)) >> 16;
    if bits & !SIGN > INFINITY { 0x7FC0 } else { rounded as u16 }
}

/// fp32 to the FP32R container: 13 mantissa bits, the low ten bits zero, NaN gives 0x7FC00000 (OQ-12).
#[inline(always)]
pub fn f32_to_f32r(value: f32) -> u32 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x1FF + ((bits >> 10) & 1)) & !0x3FF;
    if bits & !SIGN > INFINITY { F32_NAN } else { rounded }
}

/// Decodes eight bits exactly; patterns whose magnitude has all bits of `SPECIAL` are Inf or NaN.
#[inline(always)]
fn decode8<const E: u32, const M: u32, const SPECIAL: u32>(raw: u8) -> f32 {
    // The sign goes to the top by itself, with copies of it that the mask takes off.
    let spread = (i32::from(raw as i8) << Layout::<E, M>::DROP) as u32;
    let widened = spread & (SIGN | 0x7F << Layout::<E, M>::DROP);
    let scale = f32::from_bits((254 - Layout::<E, M>::BIAS) << 23);
    let finite = (f32::from_bits(widened) * scale).to_bits();
    let mask = SPECIAL << Layout::<E, M>::DROP;
    f32::from_bits(if widened & mask == mask { INFINITY | widened } else { finite })
}

/// FP8_EXP3 to fp32, exact.
#[inline(always)]
pub fn e3m4_to_f32(raw: u8) -> f32 {
    decode8::<3, 4, 0x70>(raw)
}

/// FP8_EXP3 as a format without Inf to fp32, exact: only 0x7F and 0xFF are not finite (OQ-13).
#[inline(always)]
pub fn e3m4fn_to_f32(raw: u8) -> f32 {
    decode8::<3, 4, 0x7F>(raw)
}

/// FP8_EXP4 in the IEEE pattern to fp32, exact.
#[inline(always)]
pub fn e4m3_to_f32(raw: u8) -> f32 {
    decode8::<4, 3, 0x78>(raw)
}

/// FP8_EXP5 to fp32, exact.
#[inline(always)]
pub fn e5m2_to_f32(raw: u8) -> f32 {
    decode8::<5, 2, 0x7C>(raw)
}

/// FP8_EXP4 under `fp8_ocp` (E4M3FN) to fp32, exact: only 0x7F and 0xFF are not finite.
#[inline(always)]
pub fn e4m3fn_to_f32(raw: u8) -> f32 {
    decode8::<4, 3, 0x7F>(raw)
}

/// fp32 to FP8_EXP3, nearest even; `SATURATE` is the option `fp8_saturate`.
#[inline(always)]
pub fn f32_to_e3m4<const SATURATE: bool>(value: f32) -> u8 {
    encode::<3, 4>(value, const { ieee(0x70, 4, SATURATE) }) as u8
}

/// fp32 to FP8_EXP3 as a format without Inf: the largest finite value is 30, overflow and Inf give NaN of the same
/// sign, or ±30 with `SATURATE`.
#[inline(always)]
pub fn f32_to_e3m4fn<const SATURATE: bool>(value: f32) -> u8 {
    let specials = const { Specials { overflow: if SATURATE { 0x7E } else { 0x7F }, nan: 0x7F } };
    encode::<3, 4>(value, specials) as u8
}

/// fp32 to FP8_EXP4 in the IEEE pattern, nearest even.
#[inline(always)]
pub fn f32_to_e4m3<const SATURATE: bool>(value: f32) -> u8 {
    encode::<4, 3>(value, const { ieee(0x78, 3, SATURATE) }) as u8
}

/// fp32 to FP8_EXP5, nearest even.
#[inline(always)]
pub fn f32_to_e5m2<const SATURATE: bool>(value: f32) -> u8 {
    encode::<5, 2>(value, const { ieee(0x7C, 2, SATURATE) }) as u8
}

/// fp32 to FP8_EXP4 under `fp8_ocp`: the largest finite value is 448, overflow and Inf give NaN of the same
/// sign, or ±448 with `SATURATE`.
#[inline(always)]
pub fn f32_to_e4m3fn<const SATURATE: bool>(value: f32) -> u8 {
    let specials = const { Specials { overflow: if SATURATE { 0x7E } else { 0x7F }, nan: 0x7F } };
    encode::<4, 3>(value, specials) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An independent reading of a format: value = mantissa × 2^exponent in f64.
    fn value_of(raw: u32, exponent_bits: i32, mantissa_bits: i32) -> f64 {
        let bias = (1 << (exponent_bits - 1)) - 1;
        let sign = if raw >> (exponent_bits + mantissa_bits) & 1 == 1 { -1.0 } else { 1.0 };
        let exponent = (raw >> mantissa_bits & ((1 << exponent_bits) - 1)) as i32;
        let mantissa = f64::from(raw & ((1 << mantissa_bits) - 1));
        let one = f64::from(1 << mantissa_bits);
        if exponent == 0 {
            sign * mantissa / one * 2f64.powi(1 - bias)
        } else {
            sign * (1.0 + mantissa / one) * 2f64.powi(exponent - bias)
        }
    }

    /// Nearest even by search over all finite values of a format: ties go to the even pattern.
    fn nearest(value: f64, largest: u32, exponent_bits: i32, mantissa_bits: i32) -> Option<u32> {
        // Far above every format the distances would lose their last bits.
        let magnitude = value.abs().min(1e6);
        let mut best = (f64::INFINITY, 0);
        for raw in 0..=largest + 1 {
            let distance = (value_of(raw, exponent_bits, mantissa_bits) - magnitude).abs();
            if distance < best.0 || (distance == best.0 && raw % 2 == 0) {
                best = (distance, raw);
            }
        }
        (best.1 <= largest).then_some(best.1)
    }

    #[test]
    fn f16_agrees_with_half_on_every_pattern() {
        for raw in 0..=u16::MAX {
            let (ours, theirs) = (f16_to_f32(raw), half::f16::from_bits(raw).to_f32());
            if theirs.is_nan() {
                assert!(ours.is_nan(), "{raw:#x}");
                assert_eq!(f32_to_f16(ours), 0x7E00);
            } else {
                assert_eq!(ours.to_bits(), theirs.to_bits(), "{raw:#x}");
                assert_eq!(f32_to_f16(ours), raw);
            }
        }
    }

    #[test]
    fn narrowing_agrees_with_half_around_every_tie() {
        // Every upper half-word with lower half-words at and beside each rounding point of both formats.
        for high in 0..=u16::MAX {
            for low in [
                0u16, 1, 0x0FFF, 0x1000, 0x1001, 0x2FFF, 0x3000, 0x3001, 0x7FFF, 0x8000, 0x8001,
                0xFFFF,
            ] {
                let value = f32::from_bits(u32::from(high) << 16 | u32::from(low));
                if value.is_nan() {
                    assert_eq!(f32_to_f16(value), 0x7E00);
                    assert_eq!(f32_to_bf16(value), 0x7FC0);
                } else {
                    let (h, b) = (
                        half::f16::from_f32(value).to_bits(),
                        half::bf16::from_f32(value).to_bits(),
                    );
                    assert_eq!(f32_to_f16(value), h, "{value:e}");
                    assert_eq!(f32_to_bf16(value), b, "{value:e}");
                }
            }
        }
    }

    #[test]
    fn bf16_decodes_exactly() {
        for raw in 0..=u16::MAX {
            let theirs = half::bf16::from_bits(raw).to_f32();
            assert!(bf16_to_f32(raw).to_bits() == theirs.to_bits() || theirs.is_nan());
        }
    }

    #[test]
    fn fp8_decodes_every_pattern() {
        for raw in 0..=255u8 {
            let wide = u32::from(raw);
            for (ours, e, m) in
                [(e3m4_to_f32(raw), 3, 4), (e4m3_to_f32(raw), 4, 3), (e5m2_to_f32(raw), 5, 2)]
            {
                let inf = ((1u32 << e) - 1) << m;
                if wide & 0x7F > inf {
                    assert!(ours.is_nan());
                } else if wide & 0x7F == inf {
                    assert_eq!(ours.abs(), f32::INFINITY);
                    assert_eq!(ours.is_sign_negative(), raw > 127);
                } else {
                    assert_eq!(
                        f64::from(ours).to_bits(),
                        value_of(wide, e, m).to_bits(),
                        "{raw:#x}"
                    );
                }
            }
            if raw & 0x7F == 0x7F {
                assert!(e4m3fn_to_f32(raw).is_nan());
            } else {
                assert_eq!(f64::from(e4m3fn_to_f32(raw)).to_bits(), value_of(wide, 4, 3).to_bits());
            }
        }
    }

    #[test]
    fn fp8_encodes_to_nearest_even() {
        // The upper 16 bits of fp32 hold every value and tie of the three formats; the lowest bit set moves
        // a tie to either side.
        for high in 0..=u16::MAX {
            for low in [0u32, 1, 0xFFFF] {
                let value = f32::from_bits(u32::from(high) << 16 | low);
                let sign = if value.is_sign_negative() { 0x80 } else { 0 };
                let expect = |largest, overflow: u32, nan: u32, e, m| {
                    if value.is_nan() {
                        nan
                    } else {
                        sign | nearest(f64::from(value), largest, e, m).unwrap_or(overflow)
                    }
                };
                let got = [
                    u32::from(f32_to_e3m4::<false>(value)),
                    u32::from(f32_to_e4m3::<false>(value)),
                    u32::from(f32_to_e5m2::<false>(value)),
                    u32::from(f32_to_e3m4::<true>(value)),
                    u32::from(f32_to_e4m3::<true>(value)),
                    u32::from(f32_to_e5m2::<true>(value)),
                    u32::from(f32_to_e4m3fn::<false>(value)),
                    u32::from(f32_to_e4m3fn::<true>(value)),
                ];
                let want = [
                    expect(0x6F, 0x70, 0x78, 3, 4),
                    expect(0x77, 0x78, 0x7C, 4, 3),
                    expect(0x7B, 0x7C, 0x7E, 5, 2),
                    expect(0x6F, 0x6F, 0x78, 3, 4),
                    expect(0x77, 0x77, 0x7C, 4, 3),
                    expect(0x7B, 0x7B, 0x7E, 5, 2),
                    expect(0x7E, 0x7F, 0x7F, 4, 3),
                    expect(0x7E, 0x7E, 0x7F, 4, 3),
                ];
                assert_eq!(got, want, "{value:e}");
            }
        }
    }

    #[test]
    fn fp8_tables_of_the_reference() {
        assert_eq!(e3m4_to_f32(0x6F), 15.5);
        assert_eq!(e4m3_to_f32(0x77), 240.0);
        assert_eq!(e5m2_to_f32(0x7B), 57344.0);
        assert_eq!(e3m4_to_f32(0x01), 2f32.powi(-6));
        assert_eq!(e4m3_to_f32(0x01), 2f32.powi(-9));
        assert_eq!(e5m2_to_f32(0x01), 2f32.powi(-16));
        assert_eq!(e4m3fn_to_f32(0x7E), 448.0);
        assert_eq!(f32_to_e4m3fn::<false>(464.0), 0x7E);
        assert_eq!(f32_to_e4m3fn::<false>(-465.0), 0xFF);
        assert_eq!(f32_to_e4m3fn::<true>(f32::NEG_INFINITY), 0xFE);
    }

    #[test]
    fn f32r_rounds_at_thirteen_bits() {
        assert_eq!(f32_to_f32r(f32::from_bits(0x3F80_0200)), 0x3F80_0000);
        assert_eq!(f32_to_f32r(f32::from_bits(0x3F80_0201)), 0x3F80_0400);
        assert_eq!(f32_to_f32r(f32::from_bits(0x3F80_0600)), 0x3F80_0800);
        assert_eq!(f32_to_f32r(f32::from_bits(0x7F7F_FFFF)), 0x7F80_0000);
        assert_eq!(f32_to_f32r(f32::from_bits(0xFF80_0001)), F32_NAN);
        assert_eq!(f32_to_f32r(f32::NEG_INFINITY), 0xFF80_0000);
    }
}
