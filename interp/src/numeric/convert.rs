//! Blocks of elements between a dtype in memory and the lanes of a domain (ISA 10.2, 10.3).

use partita_isa::{Dtype, Target};

use super::float::ROUNDER;
use super::kernels::Convert;
use super::lane::Lane;
use super::minifloat::*;
use super::simd::{Level, Simd, at_level};

/// Element for element through a function.
#[inline(always)]
fn each<L: Level, From: Lane, To: Lane>(out: &mut [u8], from: &[u8], f: impl Fn(From) -> To) {
    L::run(
        #[inline(always)]
        || {
            for (out, &x) in To::cells_mut(out).iter_mut().zip(From::cells(from)) {
                *out = f(From::load(x)).store();
            }
        },
    );
}

macro_rules! convert {
    ($level:ty, |$x:ident: $from:ty| -> $to:ty { $value:expr }) => {{
        fn convert<L: Level>(out: &mut [u8], from: &[u8]) {
            each::<L, $from, $to>(
                out,
                from,
                #[inline(always)]
                |$x| $value,
            );
        }
        Some(convert::<$level> as Convert)
    }};
}

/// Memory to fp32 lanes (`dec`); `None` where the bytes are fp32 already.
pub fn to_float(simd: Simd, dtype: Dtype, target: Target) -> Option<Convert> {
    at_level!(simd, L => to_float_at::<L>(dtype, target))
}

fn to_float_at<L: Level>(dtype: Dtype, target: Target) -> Option<Convert> {
    match dtype {
        Dtype::Int8 => convert!(L, |x: i8| -> f32 { f32::from(x) }),
        Dtype::Uint8 => convert!(L, |x: u8| -> f32 { f32::from(x) }),
        Dtype::Int16 => convert!(L, |x: i16| -> f32 { f32::from(x) }),
        Dtype::Uint16 => convert!(L, |x: u16| -> f32 { f32::from(x) }),
        Dtype::Int32 => convert!(L, |x: i32| -> f32 { x as f32 }),
        Dtype::Uint32 => convert!(L, |x: u32| -> f32 { x as f32 }),
        Dtype::Int64 => convert!(L, |x: i64| -> f32 { x as f32 }),
        Dtype::Uint64 => convert!(L, |x: u64| -> f32 { x as f32 }),
        Dtype::Bfloat16 => convert!(L, |x: u16| -> f32 { bf16_to_f32(x) }),
        Dtype::Fp16 => convert!(L, |x: u16| -> f32 { f16_to_f32(x) }),
        Dtype::Fp8Exp3 => convert!(L, |x: u8| -> f32 { e3m4_to_f32(x) }),
        Dtype::Fp8Exp4 if target.fp8_ocp => convert!(L, |x: u8| -> f32 { e4m3fn_to_f32(x) }),
        Dtype::Fp8Exp4 => convert!(L, |x: u8| -> f32 { e4m3_to_f32(x) }),
        Dtype::Fp8Exp5 => convert!(L, |x: u8| -> f32 { e5m2_to_f32(x) }),
        _ => None,
    }
}

/// Nearest even integer of a value clamped to a range of at most 16 bits; NaN gives 0.
#[inline(always)]
fn small_integer(x: f32, low: f32, high: f32) -> i32 {
    let above = if x > low { x } else { low };
    let clamped = if above < high { above } else { high };
    let rounded = ((clamped + ROUNDER).to_bits() as i32).wrapping_sub(ROUNDER.to_bits() as i32);
    if x.is_nan() { 0 } else { rounded }
}

/// Nearest even integer as an fp32 value. From 2^23 on every value is an integer already.
#[inline(always)]
fn round_even(x: f32) -> f32 {
    let magic = 8_388_608f32.copysign(x);
    if x.abs() < 8_388_608.0 { (x + magic) - magic } else { x }
}

/// fp32 lanes to memory (`enc`); `None` where the bytes stay as they are.
pub fn from_float(simd: Simd, dtype: Dtype, target: Target) -> Option<Convert> {
    at_level!(simd, L => from_float_at::<L>(dtype, target))
}

fn from_float_at<L: Level>(dtype: Dtype, target: Target) -> Option<Convert> {
    let saturate = target.fp8_saturate;
    match dtype {
        Dtype::Int8 => convert!(L, |x: f32| -> i8 { small_integer(x, -128.0, 127.0) as i8 }),
        Dtype::Uint8 => convert!(L, |x: f32| -> u8 { small_integer(x, 0.0, 255.0) as u8 }),
        Dtype::Int16 => convert!(L, |x: f32| -> i16 { small_integer(x, -32768.0, 32767.0) as i16 }),
        Dtype::Uint16 => convert!(L, |x: f32| -> u16 { small_integer(x, 0.0, 65535.0) as u16 }),
        Dtype::Int32 => convert!(L, |x: f32| -> i32 { round_even(x) as i32 }),
        Dtype::Uint32 => convert!(L, |x: f32| -> u32 { round_even(x) as u32 }),
        Dtype::Int64 => convert!(L, |x: f32| -> i64 { round_even(x) as i64 }),
        Dtype::Uint64 => convert!(L, |x: f32| -> u64 { round_even(x) as u64 }),
        Dtype::Bfloat16 => convert!(L, |x: f32| -> u16 { f32_to_bf16(x) }),
        Dtype::Fp16 => convert!(L, |x: f32| -> u16 { f32_to_f16(x) }),
        Dtype::Fp32r => convert!(L, |x: f32| -> u32 { f32_to_f32r(x) }),
        Dtype::Fp8Exp3 if saturate => convert!(L, |x: f32| -> u8 { f32_to_e3m4::<true>(x) }),
        Dtype::Fp8Exp3 => convert!(L, |x: f32| -> u8 { f32_to_e3m4::<false>(x) }),
        Dtype::Fp8Exp4 if target.fp8_ocp && saturate => {
            convert!(L, |x: f32| -> u8 { f32_to_e4m3fn::<true>(x) })
        }
        Dtype::Fp8Exp4 if target.fp8_ocp => {
            convert!(L, |x: f32| -> u8 { f32_to_e4m3fn::<false>(x) })
        }
        Dtype::Fp8Exp4 if saturate => convert!(L, |x: f32| -> u8 { f32_to_e4m3::<true>(x) }),
        Dtype::Fp8Exp4 => convert!(L, |x: f32| -> u8 { f32_to_e4m3::<false>(x) }),
        Dtype::Fp8Exp5 if saturate => convert!(L, |x: f32| -> u8 { f32_to_e5m2::<true>(x) }),
        Dtype::Fp8Exp5 => convert!(L, |x: f32| -> u8 { f32_to_e5m2::<false>(x) }),
        _ => None,
    }
}

/// Integers of at most 32 bits to 32-bit lanes; `None` where they have the width already.
pub fn to_integer(simd: Simd, dtype: Dtype) -> Option<Convert> {
    at_level!(simd, L => to_integer_at::<L>(dtype))
}

fn to_integer_at<L: Level>(dtype: Dtype) -> Option<Convert> {
    match dtype {
        Dtype::Int8 => convert!(L, |x: i8| -> i32 { i32::from(x) }),
        Dtype::Uint8 => convert!(L, |x: u8| -> u32 { u32::from(x) }),
        Dtype::Int16 => convert!(L, |x: i16| -> i32 { i32::from(x) }),
        Dtype::Uint16 => convert!(L, |x: u16| -> u32 { u32::from(x) }),
        _ => None,
    }
}

/// How the lanes of a domain become bytes in memory.
#[derive(Clone, Copy, Debug)]
pub enum Store {
    /// The lanes' bytes are the memory's bytes.
    Same,
    /// One conversion.
    Once(Convert),
    /// An integer lane that becomes an fp32 lane first, then the dtype.
    Twice(Convert, Convert),
}

impl From<Option<Convert>> for Store {
    fn from(convert: Option<Convert>) -> Self {
        convert.map_or(Self::Same, Self::Once)
    }
}

macro_rules! saturate {
    ($level:ty, $from:ty, $to:ty) => {
        convert!($level, |x: $from| -> $to {
            x.clamp(
                <$from>::try_from(<$to>::MIN).unwrap_or(0),
                <$from>::try_from(<$to>::MAX).unwrap_or(<$from>::MAX),
            ) as $to
        })
    };
}

/// 32-bit integer lanes to memory: the same width keeps its bits, narrower integers saturate, floats go through
/// fp32 (ISA 10.3, OQ-33).
pub fn from_integer(simd: Simd, signed: bool, dtype: Dtype, target: Target) -> Store {
    at_level!(simd, L => from_integer_at::<L>(signed, dtype, target))
}

fn from_integer_at<L: Level>(signed: bool, dtype: Dtype, target: Target) -> Store {
    match (dtype, signed) {
        (Dtype::Int32 | Dtype::Uint32, _) => None,
        (Dtype::Int8, true) => saturate!(L, i32, i8),
        (Dtype::Int8, false) => saturate!(L, u32, i8),
        (Dtype::Uint8, true) => saturate!(L, i32, u8),
        (Dtype::Uint8, false) => saturate!(L, u32, u8),
        (Dtype::Int16, true) => saturate!(L, i32, i16),
        (Dtype::Int16, false) => saturate!(L, u32, i16),
        (Dtype::Uint16, true) => saturate!(L, i32, u16),
        (Dtype::Uint16, false) => saturate!(L, u32, u16),
        _ => {
            let source = if signed { Dtype::Int32 } else { Dtype::Uint32 };
            return match (to_float_at::<L>(source, target), from_float_at::<L>(dtype, target)) {
                (Some(first), Some(second)) => Store::Twice(first, second),
                (first, second) => first.or(second).into(),
            };
        }
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(convert: Option<Convert>, bytes: &[u8], width: usize) -> Vec<u8> {
        let mut out = vec![0; width];
        convert.unwrap()(&mut out, bytes);
        out
    }

    fn to_int(dtype: Dtype, x: f32) -> i64 {
        let out = one(
            from_float(Simd::detect(), dtype, Target::default()),
            &x.to_le_bytes(),
            dtype.size(),
        );
        let mut wide = [0u8; 8];
        let fill = if dtype.is_signed_int() && out[out.len() - 1] & 0x80 != 0 { 0xFF } else { 0 };
        wide.fill(fill);
        wide[..out.len()].copy_from_slice(&out);
        i64::from_le_bytes(wide)
    }

    #[test]
    fn floats_to_integers_round_to_even_and_saturate() {
        for (dtype, low, high) in [
            (Dtype::Int8, -128, 127),
            (Dtype::Uint8, 0, 255),
            (Dtype::Int16, -32768, 32767),
            (Dtype::Uint16, 0, 65535),
            (Dtype::Int32, i64::from(i32::MIN), i64::from(i32::MAX)),
            (Dtype::Uint32, 0, i64::from(u32::MAX)),
        ] {
            assert_eq!(to_int(dtype, f32::NAN), 0);
            assert_eq!(to_int(dtype, f32::INFINITY), high);
            assert_eq!(to_int(dtype, f32::NEG_INFINITY), low);
            assert_eq!(to_int(dtype, -f32::NAN), 0);
            let mut bits = 0u32;
            while bits < 0x7F80_0000 {
                for x in [f32::from_bits(bits), -f32::from_bits(bits)] {
                    let want = (f64::from(x).round_ties_even() as i128)
                        .clamp(i128::from(low), i128::from(high));
                    assert_eq!(i128::from(to_int(dtype, x)), want, "{dtype} {x:e}");
                }
                bits += 65_519;
            }
            for quarter in -1024i32..1024 {
                let x = quarter as f32 * 0.25;
                let want = (f64::from(x).round_ties_even() as i64).clamp(low, high);
                assert_eq!(to_int(dtype, x), want, "{dtype} {x}");
            }
        }
    }

    #[test]
    fn integer_lanes_saturate_when_narrowed() {
        let store = |signed, dtype, x: u32, width| match from_integer(
            Simd::detect(),
            signed,
            dtype,
            Target::default(),
        ) {
            Store::Same => x.to_le_bytes().to_vec(),
            Store::Once(convert) => one(Some(convert), &x.to_le_bytes(), width),
            Store::Twice(first, second) => {
                one(Some(second), &one(Some(first), &x.to_le_bytes(), 4), width)
            }
        };
        assert_eq!(store(true, Dtype::Int8, -300i32 as u32, 1), [0x80]);
        assert_eq!(store(true, Dtype::Uint8, -1i32 as u32, 1), [0]);
        assert_eq!(store(false, Dtype::Int8, 200, 1), [127]);
        assert_eq!(store(false, Dtype::Uint16, 70_000, 2), [0xFF, 0xFF]);
        assert_eq!(store(true, Dtype::Uint32, 0xFFFF_FFFF, 4), [0xFF; 4]);
        assert_eq!(store(true, Dtype::Fp32, -2i32 as u32, 4), (-2f32).to_le_bytes());
        assert_eq!(store(false, Dtype::Bfloat16, 3, 2), [0x40, 0x40]);
    }
}
