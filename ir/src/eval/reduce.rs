//! Reductions: `reduce`, `partition_reduce`, `transpose_reduce`.
//!
//! Decisions where the contract is silent:
//!
//! * Elements are folded in row-major order, floats in fp32 with every step
//!   rounded, and the result is rounded to its type once (N-9's reference order).
//!   `partition_reduce axis all` folds the partitions of each element first and
//!   then those results (ISA 9.13).
//! * Integer sums and products are exact modulo 2ⁿ at an integer result's width; a
//!   sum into a float is exact and rounded once; a product into a float is folded
//!   in fp32. Extremes are exact, then cast.
//! * A fold starts from its first element, so all-NaN `max` is NaN; an empty one
//!   gives the identity (0, 1, ∓∞ or the end of the range, all ones, true), and
//!   an empty `argmax` 0.
//! * `logical_and` and `logical_or` give 0 or 1, of one element too.
//! * `argmax` compares numbers, so that −0 and +0 tie; the first NaN wins.
//! * `negate` changes the sign of the accumulator; an integer one wraps.

use super::EvalError;
use super::convert::Fp8Options;
use super::float_ops::{self, Binary};
use super::int_ops::{self, Width};
use super::lanes::{BLOCK, Lane, Narrow, Reader};
use super::walk::{View, count, strides};
use crate::data::TensorData;
use crate::ops::{CrossLaneAxis, CrossLaneOp, ElementwiseOp, ReduceOp};
use crate::types::{ElemType, TensorType};

/// How the elements of an operand map to accumulators.
pub struct Plan {
    /// For every element in row-major order, its accumulator.
    pub slots: View,
    pub accumulators: usize,
    /// Elements folded into each accumulator.
    pub depth: usize,
}

impl Plan {
    /// Folds the dimensions listed; accumulators lie row-major over the others.
    pub fn new(shape: &[u64], dims: &[usize]) -> Option<Self> {
        if dims.iter().any(|&d| d >= shape.len()) {
            return None;
        }
        let kept: Vec<u64> = shape
            .iter()
            .enumerate()
            .map(|(d, &size)| if dims.contains(&d) { 1 } else { size })
            .collect();
        let steps = strides(&kept);
        let walk = shape
            .iter()
            .zip(steps)
            .enumerate()
            .map(|(d, (&size, step))| (size, if dims.contains(&d) { 0 } else { step }));
        let depth: Vec<u64> = shape
            .iter()
            .enumerate()
            .filter(|(d, _)| dims.contains(d))
            .map(|(_, &size)| size)
            .collect();
        let accumulators = count(&kept)?;
        Some(Self { slots: View::new(0, walk, accumulators)?, accumulators, depth: count(&depth)? })
    }

    /// The fused transpose and reduction of ISA 9.6: `[P, F]` to `[P/32, 32, F/32]`.
    pub fn transposed(shape: &[u64]) -> Option<Self> {
        let &[p, f] = shape else { return None };
        if !p.is_multiple_of(32) || !f.is_multiple_of(32) {
            return None;
        }
        let (blocks, groups) = (p / 32, f / 32);
        let accumulators = count(&[blocks, 32, groups])?;
        let group = isize::try_from(groups).ok()?;
        let walk = [(blocks, group.checked_mul(32)?), (32, 0), (groups, 1), (32, group)];
        Some(Self { slots: View::new(0, walk, accumulators)?, accumulators, depth: 32 })
    }
}

/// A fold of an operand into accumulators.
struct Fold<'a, T> {
    bytes: &'a [u8],
    dtype: ElemType,
    fp8: Fp8Options,
    plan: &'a Plan,
    acc: &'a mut [T],
    /// Multiplies every element first.
    scale: Option<T>,
}

impl<T: Lane + std::ops::Mul<Output = T>> Binary<T> for Fold<'_, T> {
    type Output = ();
    fn run(self, f: impl Fn(T, T) -> T + Copy) {
        let dense = View::dense(self.plan.slots.count());
        let mut reader = Reader::new(self.bytes, self.dtype, self.fp8, &dense);
        let mut runs = self.plan.slots.runs();
        let mut block = [T::default(); BLOCK];
        let mut ready: &[T] = &[];
        let mut left = dense.count();
        while left > 0 {
            if ready.is_empty() {
                let n = left.min(BLOCK);
                reader.fill(&mut block[..n]);
                if let Some(scale) = self.scale {
                    block[..n].iter_mut().for_each(|x| *x = *x * scale);
                }
                ready = &block[..n];
            }
            let Some(run) = runs.next(ready.len()) else { return };
            let (now, later) = ready.split_at(run.len);
            match run.stride {
                0 => {
                    let slot = &mut self.acc[run.at(0)];
                    *slot = now.iter().fold(*slot, |acc, &x| f(acc, x));
                }
                1 => {
                    let slots = &mut self.acc[run.at(0)..run.at(0) + run.len];
                    slots.iter_mut().zip(now).for_each(|(acc, &x)| *acc = f(*acc, x));
                }
                _ => {
                    for (i, &x) in now.iter().enumerate() {
                        let slot = &mut self.acc[run.at(i)];
                        *slot = f(*slot, x);
                    }
                }
            }
            ready = later;
            left -= run.len;
        }
    }
}

/// The start of a float fold that leaves its first element as it is.
fn float_start(op: ElementwiseOp) -> f32 {
    match op {
        // −0 + x is x, +0 + −0 is not.
        ElementwiseOp::Add => -0.0,
        // A lone NaN is suppressed.
        ElementwiseOp::Max | ElementwiseOp::Min => f32::NAN,
        _ => float_ops::identity(op).unwrap_or(0.0),
    }
}

/// What to fold.
#[derive(Clone, Copy)]
pub struct Folding {
    pub op: ElementwiseOp,
    /// Multiplies every element in fp32 first.
    pub scale: Option<f32>,
    pub negate: bool,
}

/// Folds an operand by one or more plans, the later ones folding the accumulators
/// of the one before.
pub fn fold(
    folding: Folding,
    operand: &TensorData,
    plans: &[Plan],
    result: &TensorType,
    fp8: Fp8Options,
) -> Result<TensorData, EvalError> {
    let Folding { op, negate, .. } = folding;
    let name = op.name();
    let bad = || EvalError::malformed(name, "the reduction does not fit the shapes");
    let unsupported = || EvalError::unsupported(op, &[operand]);
    let (Some(first), Some(last)) = (plans.first(), plans.last()) else { return Err(bad()) };
    let mut out = TensorData::zeros(result.clone())?;
    if out.len() != last.accumulators || operand.len() != first.slots.count() {
        return Err(bad());
    }
    let dtype = operand.dtype();
    if in_fp32(folding, dtype, result.dtype) {
        let mut acc = fold_f32(folding, operand, plans, fp8).ok_or_else(unsupported)?;
        if negate {
            acc.iter_mut().for_each(|x| *x = -*x);
            float_ops::canonical_nans(&mut acc);
        }
        f32::store(&acc, result.dtype, fp8, Narrow::Saturate, out.bytes_mut());
    } else {
        let identity = int_ops::identity(op, dtype).ok_or_else(unsupported)?;
        let mut acc = vec![identity; first.accumulators];
        let source =
            Fold { bytes: operand.bytes(), dtype, fp8, plan: first, acc: &mut acc, scale: None };
        int_ops::with_op(op, dtype, source).ok_or_else(unsupported)?;
        for plan in plans.iter().skip(1) {
            let mut next = vec![identity; plan.accumulators];
            int_ops::with_op(op, dtype, Refold { from: &acc, plan, acc: &mut next })
                .ok_or_else(unsupported)?;
            acc = next;
        }
        let modular = int_ops::is_modular(op);
        if negate {
            let width = Width::of(dtype);
            acc.iter_mut()
                .for_each(|x| *x = if modular { x.wrapping_neg() } else { width.wrap(-*x) });
        }
        let narrow = if modular { Narrow::Wrap } else { Narrow::Saturate };
        i128::store(&acc, result.dtype, fp8, narrow, out.bytes_mut());
    }
    Ok(out)
}

/// True when the fold runs in fp32.
pub fn in_fp32(folding: Folding, operand: ElemType, result: ElemType) -> bool {
    operand.is_float()
        || folding.scale.is_some()
        || (result.is_float() && int_ops::is_product(folding.op))
}

/// The fp32 accumulators of a fold, before negation and rounding.
pub fn fold_f32(
    folding: Folding,
    operand: &TensorData,
    plans: &[Plan],
    fp8: Fp8Options,
) -> Option<Vec<f32>> {
    let Folding { op, scale, .. } = folding;
    let identity = float_ops::identity(op)?;
    let start = |plan: &Plan| if plan.depth == 0 { identity } else { float_start(op) };
    let (first, rest) = plans.split_first()?;
    let mut acc = vec![start(first); first.accumulators];
    let (bytes, dtype) = (operand.bytes(), operand.dtype());
    float_ops::with_op(op, Fold { bytes, dtype, fp8, plan: first, acc: &mut acc, scale })?;
    for plan in rest {
        let mut next = vec![start(plan); plan.accumulators];
        float_ops::with_op(op, Refold { from: &acc, plan, acc: &mut next })?;
        acc = next;
    }
    float_ops::canonical_nans(&mut acc);
    Some(acc)
}

/// A fold of accumulators already read.
struct Refold<'a, T> {
    from: &'a [T],
    plan: &'a Plan,
    acc: &'a mut [T],
}

impl<T: Copy> Binary<T> for Refold<'_, T> {
    type Output = ();
    fn run(self, f: impl Fn(T, T) -> T + Copy) {
        let mut runs = self.plan.slots.runs();
        let mut rest = self.from;
        while let Some(run) = runs.next(rest.len()) {
            let (now, later) = rest.split_at(run.len);
            for (i, &x) in now.iter().enumerate() {
                let slot = &mut self.acc[run.at(i)];
                *slot = f(*slot, x);
            }
            rest = later;
        }
    }
}

/// `tensor.reduce`.
pub fn reduce(
    op: ReduceOp,
    dims: &[usize],
    negate: bool,
    operand: &TensorData,
    result: &TensorType,
    fp8: Fp8Options,
) -> Result<TensorData, EvalError> {
    let bad = || EvalError::malformed("tensor.reduce", "the dimensions do not fit the shape");
    match op.combine() {
        Some(combine) => {
            let plan = Plan::new(operand.shape(), dims).ok_or_else(bad)?;
            fold(Folding { op: combine, scale: None, negate }, operand, &[plan], result, fp8)
        }
        None => {
            let &[dim] = dims else { return Err(bad()) };
            arg_extreme(op == ReduceOp::Argmax, dim, operand, result, fp8)
        }
    }
}

/// The operation and the plans of a `tensor.partition_reduce`.
pub fn cross_lane(
    op: CrossLaneOp,
    axis: CrossLaneAxis,
    scale: Option<f32>,
    shape: &[u64],
) -> Option<(Folding, Vec<Plan>)> {
    let combine = match op {
        CrossLaneOp::Add | CrossLaneOp::Average => ElementwiseOp::Add,
        CrossLaneOp::Max => ElementwiseOp::Max,
        CrossLaneOp::BitwiseOr => ElementwiseOp::BitwiseOr,
        CrossLaneOp::BitwiseAnd => ElementwiseOp::BitwiseAnd,
        CrossLaneOp::BitwiseXor => ElementwiseOp::BitwiseXor,
    };
    let scale = (op == CrossLaneOp::Average).then(|| scale.unwrap_or(1.0));
    if shape.contains(&0) && axis == CrossLaneAxis::All {
        // No accumulators for what is not there.
        let every: Vec<usize> = (0..shape.len()).collect();
        return Some((
            Folding { op: combine, scale, negate: false },
            vec![Plan::new(shape, &every)?],
        ));
    }
    let partitions = Plan::new(shape, if shape.is_empty() { &[] } else { &[0] })?;
    let mut plans = vec![partitions];
    if axis == CrossLaneAxis::All {
        let rest = shape.get(1..).unwrap_or(&[]);
        let every: Vec<usize> = (0..rest.len()).collect();
        plans.push(Plan::new(rest, &every)?);
    }
    Some((Folding { op: combine, scale, negate: false }, plans))
}

/// `argmax` and `argmin`.
fn arg_extreme(
    largest: bool,
    dim: usize,
    operand: &TensorData,
    result: &TensorType,
    fp8: Fp8Options,
) -> Result<TensorData, EvalError> {
    let mut out = TensorData::zeros(result.clone())?;
    let indices = if operand.dtype().is_float() {
        arg_fold(dim, operand, fp8, |x: f32, best: f32| {
            !best.is_nan() && (x.is_nan() || if largest { x > best } else { x < best })
        })
    } else {
        arg_fold(dim, operand, fp8, |x: i128, best: i128| if largest { x > best } else { x < best })
    };
    let indices = indices.filter(|indices| indices.len() == out.len()).ok_or_else(|| {
        EvalError::malformed("tensor.reduce", "the result does not fit the dimension")
    })?;
    i128::store(&indices, result.dtype, fp8, Narrow::Saturate, out.bytes_mut());
    Ok(out)
}

/// For every position outside `dim`, the index of the first element that no later
/// one beats.
fn arg_fold<T: Lane>(
    dim: usize,
    operand: &TensorData,
    fp8: Fp8Options,
    beats: impl Fn(T, T) -> bool,
) -> Option<Vec<i128>> {
    let shape = operand.shape();
    let size = usize::try_from(*shape.get(dim)?).ok()?;
    let outer = count(shape.get(..dim)?)?;
    let inner = count(shape.get(dim + 1..)?)?;
    let mut indices = vec![0i128; outer.checked_mul(inner)?];
    if operand.is_empty() {
        return Some(indices);
    }
    let mut best = vec![T::default(); inner];
    let dense = View::dense(operand.len());
    let mut reader = Reader::new(operand.bytes(), operand.dtype(), fp8, &dense);
    let mut block = [T::default(); BLOCK];
    if inner == 1 {
        for winner in &mut indices {
            let mut best = T::default();
            for start in (0..size).step_by(BLOCK) {
                let block = &mut block[..(size - start).min(BLOCK)];
                reader.fill(block);
                for (k, &x) in (start..).zip(&*block) {
                    if k == 0 || beats(x, best) {
                        (*winner, best) = (k as i128, x);
                    }
                }
            }
        }
        return Some(indices);
    }
    for winners in indices.chunks_exact_mut(inner.max(1)) {
        for k in 0..size {
            for (winners, best) in winners.chunks_mut(BLOCK).zip(best.chunks_mut(BLOCK)) {
                let block = &mut block[..best.len()];
                reader.fill(block);
                for ((winner, best), &x) in winners.iter_mut().zip(best).zip(&*block) {
                    if k == 0 || beats(x, *best) {
                        (*winner, *best) = (k as i128, x);
                    }
                }
            }
        }
    }
    Some(indices)
}
