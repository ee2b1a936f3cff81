//! Conversions between element types, with the rules of the machine (ISA 10.2,
//! 10.3, 5.1, 5.2). The formats themselves stand in [`crate::float`].

use crate::float;
use crate::literal::int_from_bits;
use crate::types::ElemType;

/// Target settings that change what 8-bit floats mean (ISA 5.2). Both are off by
/// default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fp8Options {
    /// `f8E4M3` is the OCP format: largest finite 448, no infinity, NaN `0x7F`.
    pub ocp: bool,
    /// Overflow and infinities give the largest finite value.
    pub saturate: bool,
}

/// Largest finite value and NaN of the OCP form of `f8E4M3`, sign apart.
const OCP_MAX: u64 = 0x7E;
const OCP_NAN: u64 = 0x7F;

/// The value as fp32. Floats are exact; integers round to nearest even (ISA 10.2).
pub fn decode_f32(bits: u64, dtype: ElemType, fp8: Fp8Options) -> f32 {
    match dtype {
        ElemType::F32 | ElemType::F32r => f32::from_bits(bits as u32),
        ElemType::Bf16 => f32::from_bits((bits as u32) << 16),
        ElemType::F8E4M3 if fp8.ocp => decode_ocp(bits),
        _ if dtype.is_float() => float::decode(bits, dtype) as f32,
        _ => int_from_bits(bits, dtype) as f32,
    }
}

/// The all-ones exponent of the OCP format holds ordinary numbers but for its
/// last mantissa.
fn decode_ocp(bits: u64) -> f32 {
    let magnitude = bits & 0x7F;
    let value = if magnitude == OCP_NAN {
        f32::NAN
    } else if magnitude >> 3 == 0xF {
        256.0 * (1.0 + (magnitude & 7) as f32 / 8.0)
    } else {
        float::decode(magnitude, ElemType::F8E4M3) as f32
    };
    if bits & 0x80 != 0 { -value } else { value }
}

/// The bits of an fp32 value in a type (ISA 10.3): floats round to nearest even;
/// integers round to nearest even and saturate, NaN giving 0; `i1` is the truth
/// of the value (not zero, NaN included; ISA 6.1).
pub fn encode_f32(value: f32, dtype: ElemType, fp8: Fp8Options) -> u64 {
    match dtype {
        // Copying the bits keeps the payload of a NaN.
        ElemType::F32 => u64::from(value.to_bits()),
        ElemType::Bf16 => u64::from(encode_bf16(value)),
        ElemType::F8E3M4 | ElemType::F8E4M3 | ElemType::F8E5M2 => encode_fp8(value, dtype, fp8),
        ElemType::I1 => u64::from(value != 0.0),
        _ if dtype.is_float() => float::encode(f64::from(value), dtype),
        _ => saturate_int(value.round_ties_even() as i128, dtype),
    }
}

/// Adding half a unit (less one when the kept part is even) carries into the kept
/// bits exactly when nearest even asks for it, into infinity too.
fn encode_bf16(value: f32) -> u16 {
    if value.is_nan() {
        return 0x7FC0;
    }
    let bits = value.to_bits();
    ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) as u16
}

fn encode_fp8(value: f32, dtype: ElemType, fp8: Fp8Options) -> u64 {
    let ocp = fp8.ocp && dtype == ElemType::F8E4M3;
    if value.is_nan() {
        return if ocp { OCP_NAN } else { float::encode(f64::NAN, dtype) };
    }
    let sign = u64::from(value.is_sign_negative()) << 7;
    let infinity = float::encode(f64::INFINITY, dtype);
    let size = f64::from(value.abs());
    let magnitude = if ocp && size >= 240.0 {
        // Where the IEEE pattern ends the OCP one has eight more codes: 256 and
        // up, 32 apart. Up to 256 the spacing is still 16.
        let steps = if size < 256.0 {
            (size / 16.0).round_ties_even() - 16.0
        } else {
            (size / 32.0).round_ties_even() - 8.0
        };
        (0x78 + steps.min(100.0) as i64) as u64
    } else {
        float::encode(size, dtype)
    };
    let largest = if ocp { OCP_MAX } else { infinity - 1 };
    let magnitude = match (magnitude > largest, fp8.saturate) {
        (false, _) => magnitude,
        (true, true) => largest,
        (true, false) => {
            if ocp {
                OCP_NAN
            } else {
                infinity
            }
        }
    };
    sign | magnitude
}

/// The value as an integer: exact for integer types; floats round to nearest even
/// and saturate at the range of `i128`, NaN giving 0.
pub fn decode_int(bits: u64, dtype: ElemType, fp8: Fp8Options) -> i128 {
    if dtype.is_int() {
        int_from_bits(bits, dtype)
    } else {
        decode_f32(bits, dtype, fp8).round_ties_even() as i128
    }
}

/// The bits of an exact integer in a type: integer types saturate, `i1` is the
/// truth of the value, floats round to nearest even to fp32 and from there to
/// the type (ISA 10.3).
pub fn encode_int(value: i128, dtype: ElemType, fp8: Fp8Options) -> u64 {
    if dtype.is_int() { saturate_int(value, dtype) } else { encode_f32(value as f32, dtype, fp8) }
}

fn saturate_int(value: i128, dtype: ElemType) -> u64 {
    if dtype == ElemType::I1 {
        return u64::from(value != 0);
    }
    let (low, high) = dtype.int_range().unwrap_or((0, 0));
    wrap_int(value.clamp(low, high), dtype)
}

/// The low bits of an integer: the value modulo 2ⁿ, where n is the width of the
/// type (1 for `i1`).
pub fn wrap_int(value: i128, dtype: ElemType) -> u64 {
    value as u64 & (u64::MAX >> (64 - dtype.width()))
}

/// `tensor.cast` of one element: the same type keeps its bits, integers saturate,
/// floats go through fp32.
pub fn cast_bits(bits: u64, from: ElemType, to: ElemType, fp8: Fp8Options) -> u64 {
    if from == to {
        bits
    } else if from.is_int() {
        encode_int(int_from_bits(bits, from), to, fp8)
    } else {
        encode_f32(decode_f32(bits, from, fp8), to, fp8)
    }
}

/// `tensor.to_int` of one element: toward zero, saturating, NaN gives 0.
pub fn to_int_bits(bits: u64, from: ElemType, to: ElemType, fp8: Fp8Options) -> u64 {
    if from.is_int() {
        return cast_bits(bits, from, to, fp8);
    }
    encode_int(decode_f32(bits, from, fp8).trunc() as i128, to, fp8)
}
