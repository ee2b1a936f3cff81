//! One element at a time between memory and the lane of a domain (ISA 10.2, 10.3), under any conventions.

use partita_isa::{Domain, Dtype, Engine, Target};

use crate::conventions::{Alternative, Conventions};
use crate::numeric::convert::{Store, from_float, from_integer, to_float};
use crate::numeric::kernels::Convert;
use crate::numeric::minifloat::{F32_NAN, e3m4fn_to_f32, f32_to_e3m4fn};
use crate::numeric::simd::Simd;

/// What conversions depend on.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// The target with the settings that the conventions ask for.
    target: Target,
    engine: Engine,
    conventions: Conventions,
}

/// The low bits of a lane.
pub fn low(bits: u64, width: usize) -> u64 {
    let unused = 64 - 8 * width.clamp(1, 8) as u32;
    bits << unused >> unused
}

/// The low bits of a lane as a signed or unsigned number.
pub fn number(bits: u64, width: usize, signed: bool) -> i128 {
    let unused = 64 - 8 * width.clamp(1, 8) as u32;
    if signed {
        i128::from((bits << unused) as i64 >> unused)
    } else {
        i128::from(bits << unused >> unused)
    }
}

/// The smallest and the largest number of an integer type.
pub fn bounds(width: usize, signed: bool) -> (i128, i128) {
    let bits = 8 * width as u32;
    if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

pub fn float(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

pub fn bits(value: f32) -> u64 {
    u64::from(value.to_bits())
}

fn convert(function: Convert, lane: u64, from: usize, to: usize) -> u64 {
    let mut out = [0; 8];
    function(&mut out[..to], &lane.to_le_bytes()[..from]);
    u64::from_le_bytes(out)
}

impl Numbers {
    pub fn new(target: Target, engine: Engine, conventions: Conventions) -> Self {
        let mut target = target;
        target.fp8_ocp |= conventions.has(Alternative::Exp4Ocp);
        target.fp8_saturate |= conventions.has(Alternative::Fp8Saturates)
            || conventions.has(Alternative::Fp8SaturatesOnPool) && engine == Engine::Pool;
        Self { target, engine, conventions }
    }

    /// An element as it stands in memory, as a lane.
    pub fn decode(&self, domain: Domain, dtype: Dtype, raw: u64) -> u64 {
        match domain {
            Domain::Moved | Domain::Bits => raw,
            Domain::Integer { bits: width, .. } => {
                let value = number(raw, dtype.size(), dtype.is_signed_int());
                low(value as u64, usize::from(width) / 8)
            }
            Domain::Fp32 => match dtype {
                Dtype::Fp8Exp3 if self.conventions.has(Alternative::Exp3Finite) => {
                    bits(e3m4fn_to_f32(raw as u8))
                }
                _ => match to_float(Simd::PORTABLE, dtype, self.target) {
                    Some(function) => convert(function, raw, dtype.size(), 4),
                    None => raw,
                },
            },
        }
    }

    /// A lane as an element of memory.
    pub fn encode(&self, domain: Domain, dtype: Dtype, lane: u64) -> u64 {
        match domain {
            Domain::Moved | Domain::Bits | Domain::Integer { bits: 64, .. } => lane,
            Domain::Fp32 => self.encode_float(dtype, float(lane)),
            Domain::Integer { signed, .. } if dtype.is_int() => self.narrow(dtype, lane, signed),
            Domain::Integer { signed, .. } => {
                let kind = if signed { Dtype::Int32 } else { Dtype::Uint32 };
                self.encode_float(dtype, float(self.decode(Domain::Fp32, kind, lane)))
            }
        }
    }

    /// From an integer accumulator of 32 bits.
    fn narrow(&self, dtype: Dtype, lane: u64, signed: bool) -> u64 {
        let width = dtype.size();
        if width < 4 && self.conventions.has(Alternative::NarrowingWraps) {
            return low(lane, width);
        }
        match from_integer(Simd::PORTABLE, signed, dtype, self.target) {
            Store::Same => lane,
            Store::Once(function) => convert(function, lane, 4, width),
            Store::Twice(first, second) => convert(second, convert(first, lane, 4, 4), 4, width),
        }
    }

    fn encode_float(&self, dtype: Dtype, value: f32) -> u64 {
        use Alternative::*;
        let has = |alternative| self.conventions.has(alternative);
        let mut value = value;
        match dtype {
            _ if dtype.is_int() => {
                let (smallest, largest) = bounds(dtype.size(), dtype.is_signed_int());
                if value.is_nan() && has(NanSmallest) {
                    return low(smallest as u64, dtype.size());
                }
                if value.is_nan() && has(NanLargest) {
                    return low(largest as u64, dtype.size());
                }
                if self.engine == Engine::Pool && has(PoolTruncates) {
                    value = value.trunc();
                }
            }
            Dtype::Fp32r if has(Fp32rTruncated) => return fp32r(value, 13, false),
            Dtype::Fp32r if has(Fp32r11) => return fp32r(value, 11, true),
            Dtype::Fp32r if has(Fp32rFull) => return fp32r(value, 23, true),
            Dtype::Fp8Exp3 if has(Exp3Finite) => {
                return u64::from(match self.target.fp8_saturate {
                    true => f32_to_e3m4fn::<true>(value),
                    false => f32_to_e3m4fn::<false>(value),
                });
            }
            _ => {}
        }
        match from_float(Simd::PORTABLE, dtype, self.target) {
            Some(function) => convert(function, bits(value), 4, dtype.size()),
            None => bits(value),
        }
    }
}

/// An fp32 number with so many mantissa bits, in its container.
fn fp32r(value: f32, mantissa: u32, nearest: bool) -> u64 {
    if value.is_nan() {
        return u64::from(F32_NAN);
    }
    let bits = u64::from(value.to_bits());
    let dropped = 23 - mantissa;
    if dropped == 0 {
        return bits;
    }
    let half = (1 << (dropped - 1)) - 1 + (bits >> dropped & 1);
    let rounded = if nearest { bits + half } else { bits };
    rounded >> dropped << dropped
}
