//! Deterministic inputs: the same seed gives the same tensors on every machine.

use super::EvalError;
use super::convert::{self, Fp8Options};
use crate::data::TensorData;
use crate::module::{Func, RandomRange};
use crate::types::{ElemType, TensorType};

/// xoshiro256++, seeded by splitmix64.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
    /// The second of a pair of normal numbers.
    spare: Option<f64>,
}

impl Rng {
    pub fn new(seed: u64) -> Self {
        let mut mixed = seed;
        let state = std::array::from_fn(|_| {
            mixed = mixed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ (z >> 31)
        });
        Self { state, spare: None }
    }

    /// A generator in a given state of the algorithm, which must not be all zero.
    #[cfg(test)]
    pub(super) fn from_state(state: [u64; 4]) -> Self {
        Self { state, spare: None }
    }

    /// 64 uniform bits.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// Uniform in [0, 1), a multiple of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Normal with mean 0 and deviation 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        // 1 − u lies in (0, 1], so the logarithm is finite.
        let radius = (-2.0 * libm::log(1.0 - self.unit())).sqrt();
        let angle = 2.0 * std::f64::consts::PI * self.unit();
        self.spare = Some(radius * libm::sin(angle));
        radius * libm::cos(angle)
    }

    /// Uniform among the integers from `low` to `high`, both included.
    pub fn integer(&mut self, low: i128, high: i128) -> i128 {
        let span = high.saturating_sub(low).saturating_add(1).clamp(1, 1 << 64) as u128;
        // The high half of a 64 × 64-bit product; the bias is below 2⁻⁶⁴ · span.
        let wide = u128::from(self.next_u64()).wrapping_mul(span) >> 64;
        low.saturating_add(wide as i128)
    }
}

/// A random tensor. Without a range: floats N(0, 1), integers over their full
/// range, `i1` uniform. `uniform(a, b)` excludes `b` but for rounding to the type.
///
/// # Errors
/// The memory is not there.
pub fn random_tensor(
    ty: &TensorType,
    range: Option<RandomRange>,
    rng: &mut Rng,
) -> Result<TensorData, EvalError> {
    let dtype = ty.dtype;
    let float = |x: f64| convert::encode_f32(x as f32, dtype, Fp8Options::default());
    let int = |x: i128| convert::encode_int(x, dtype, Fp8Options::default());
    fill(ty, |_| match (range, dtype.int_range()) {
        (Some(RandomRange::Uniform(a, b)), _) => float(a + rng.unit() * (b - a)),
        (Some(RandomRange::Int(a, b)), _) => int(rng.integer(a.into(), b.into())),
        (None, Some(_)) if dtype == ElemType::I1 => rng.next_u64() >> 63,
        // The full range is every bit pattern.
        (None, Some(_)) => rng.next_u64() >> (64 - dtype.width()),
        (None, None) => float(rng.normal()),
    })
}

/// Small dyadic values, so that sums and short products of them are exact in any
/// order: multiples of 1/8 from −4 to 4 (in an 8-bit float those it has), integers
/// from −4 to 4, unsigned ones from 0 to 8, truth values.
///
/// # Errors
/// The memory is not there.
pub fn dyadic_tensor(ty: &TensorType, rng: &mut Rng) -> Result<TensorData, EvalError> {
    let dtype = ty.dtype;
    fill(ty, |_| match dtype {
        ElemType::I1 => rng.next_u64() >> 63,
        _ if dtype.is_float() => {
            convert::encode_f32(rng.integer(-32, 32) as f32 / 8.0, dtype, Fp8Options::default())
        }
        _ if dtype.is_signed() => {
            convert::encode_int(rng.integer(-4, 4), dtype, Fp8Options::default())
        }
        _ => convert::encode_int(rng.integer(0, 8), dtype, Fp8Options::default()),
    })
}

fn fill(ty: &TensorType, mut element: impl FnMut(usize) -> u64) -> Result<TensorData, EvalError> {
    let mut data = TensorData::zeros(ty.clone())?;
    let size = data.element_size();
    for (i, slot) in data.bytes_mut().chunks_exact_mut(size).enumerate() {
        slot.iter_mut().zip(element(i).to_le_bytes()).for_each(|(to, from)| *to = from);
    }
    Ok(data)
}

/// Random inputs for a function, with its arguments' ranges. Each argument has its
/// own stream, so that changing one leaves the others alone.
///
/// # Errors
/// The function is not one of tensors; the memory is not there.
pub fn random_inputs(func: &Func, seed: u64) -> Result<Vec<TensorData>, EvalError> {
    inputs(func, seed, random_tensor)
}

/// As [`random_inputs`] with [`dyadic_tensor`]; ranges still hold where given.
///
/// # Errors
/// As [`random_inputs`].
pub fn dyadic_inputs(func: &Func, seed: u64) -> Result<Vec<TensorData>, EvalError> {
    inputs(func, seed, |ty, range, rng| match range {
        Some(_) => random_tensor(ty, range, rng),
        None => dyadic_tensor(ty, rng),
    })
}

fn inputs(
    func: &Func,
    seed: u64,
    make: impl Fn(&TensorType, Option<RandomRange>, &mut Rng) -> Result<TensorData, EvalError>,
) -> Result<Vec<TensorData>, EvalError> {
    let not_tensor = || EvalError::NotTensor { func: func.name.clone() };
    let mut streams = Rng::new(seed);
    func.args
        .iter()
        .enumerate()
        .map(|(i, &arg)| {
            let ty = func
                .values
                .get(arg)
                .and_then(|value| value.ty.as_tensor())
                .ok_or_else(not_tensor)?;
            let range = func.arg_attrs.get(i).and_then(|attrs| attrs.random);
            make(ty, range, &mut Rng::new(streams.next_u64()))
        })
        .collect()
}
