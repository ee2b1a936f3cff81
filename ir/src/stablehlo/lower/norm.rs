//! Normalisation over batches, which PyTorch/XLA prints for layer norms as well.

use smallvec::{SmallVec, smallvec};

use super::convert::to_type;
use super::{Attr, Call, Fault, Lower, Made, wrong};
use crate::entity::ValueId;
use crate::infer::InferError;
use crate::ops::ElementwiseOp::*;
use crate::ops::ReduceOp;
use crate::types::ElemType;

/// What the forms have in common. All is computed in `f32`.
struct Norm {
    x: ValueId,
    /// The dimension that the statistics keep.
    feature: usize,
    epsilon: f32,
    shape: Vec<u64>,
    dtype: ElemType,
}

fn norm<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Result<Norm, Fault> {
    let x = call.arg(0)?;
    let ty = lower.ty(x);
    let feature = usize::try_from(call.int(&["feature_index"])?).unwrap_or(usize::MAX);
    let epsilon = match call.attr(&["epsilon"]) {
        Some(Attr::Number(number)) => {
            number.parse().map_err(|_| call.malformed("`epsilon` is no number"))?
        }
        _ => return Err(call.malformed("needs a number `epsilon`")),
    };
    let Some(&features) = ty.shape.get(feature) else {
        return Err(call.malformed("`feature_index` is out of range"));
    };
    if !ty.dtype.is_float() {
        return Err(call.malformed(format_args!("takes floats, not `{}`", ty.dtype)));
    }
    for &other in call.args.iter().skip(1) {
        let other = lower.ty(other);
        if other.shape.as_slice() != [features] || other.dtype != ty.dtype {
            return Err(
                call.malformed(format_args!("takes one number for each feature, not `{other}`"))
            );
        }
    }
    let x = to_type(lower, x, ElemType::F32).map_err(wrong(call))?;
    Ok(Norm { x, feature, epsilon, shape: ty.shape.to_vec(), dtype: ty.dtype })
}

impl Norm {
    /// One number for each feature, repeated over the rest.
    fn spread(&self, lower: &mut Lower<'_, '_>, value: ValueId) -> Result<ValueId, InferError> {
        let wide = to_type(lower, value, ElemType::F32)?;
        lower.b.broadcast(wide, [self.feature], self.shape.iter().copied())
    }

    /// The mean of each feature.
    fn mean(&self, lower: &mut Lower<'_, '_>, value: ValueId) -> Result<ValueId, InferError> {
        let dims = (0..self.shape.len()).filter(|&dim| dim != self.feature);
        let sum = lower.b.reduce(ReduceOp::Add, value, dims, false)?;
        let others = self.shape.iter().enumerate().filter(|&(dim, _)| dim != self.feature);
        let count: f64 = others.map(|(_, &size)| size as f64).product();
        lower.two(Divide, sum, count as f32)
    }

    /// `(x − mean) / √(variance + ε) · scale + offset`
    fn apply(
        &self,
        lower: &mut Lower<'_, '_>,
        [scale, offset, mean, variance]: [ValueId; 4],
    ) -> Result<ValueId, InferError> {
        let mean = self.spread(lower, mean)?;
        let centred = lower.two(Subtract, self.x, mean)?;
        let variance = to_type(lower, variance, ElemType::F32)?;
        let safe = lower.two(Add, variance, self.epsilon)?;
        let deviation = lower.one(Sqrt, safe)?;
        let deviation = self.spread(lower, deviation)?;
        let unit = lower.two(Divide, centred, deviation)?;
        let (scale, offset) = (self.spread(lower, scale)?, self.spread(lower, offset)?);
        let scaled = lower.two(Mult, unit, scale)?;
        let sum = lower.two(Add, scaled, offset)?;
        to_type(lower, sum, self.dtype)
    }
}

/// With statistics that are given.
pub(super) fn inference<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(5)?;
    let norm = norm(lower, call)?;
    let statistics = [call.arg(1)?, call.arg(2)?, call.arg(3)?, call.arg(4)?];
    Ok(smallvec![norm.apply(lower, statistics).map_err(wrong(call))?])
}

/// With the statistics of the batch, which are results as well.
pub(super) fn training<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(3)?;
    let norm = norm(lower, call)?;
    let (scale, offset) = (call.arg(1)?, call.arg(2)?);
    let make = |lower: &mut Lower<'_, 's>| -> Result<SmallVec<[ValueId; 1]>, InferError> {
        let mean = norm.mean(lower, norm.x)?;
        let spread = norm.spread(lower, mean)?;
        let centred = lower.two(Subtract, norm.x, spread)?;
        let squares = lower.two(Mult, centred, centred)?;
        let variance = norm.mean(lower, squares)?;
        let result = norm.apply(lower, [scale, offset, mean, variance])?;
        let (mean, variance) =
            (to_type(lower, mean, norm.dtype)?, to_type(lower, variance, norm.dtype)?);
        Ok(smallvec![result, mean, variance])
    };
    make(lower).map_err(wrong(call))
}
