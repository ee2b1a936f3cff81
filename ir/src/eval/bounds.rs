//! The reference with an error bound per element: how far the machine's result may
//! lie from it.
//!
//! * An operation that the machine does exactly passes on the error of its
//!   operands: it is evaluated at the ends of their intervals, and at 0 where that
//!   lies inside, and the largest deviation counts. That covers compares, rounding
//!   and casts whose operand lies within its error of a jump.
//! * An operation in the table of [`super::accuracy`] adds its own error.
//! * A float sum may be taken in any order (N-9). With u = 2⁻²⁴ it adds
//!   |s − Σx| + 4·d + k·u·Σ|x|, where s is the reference, Σx the sum in f64, and
//!   k = min(n − 1, 16 + 2·√n). The errors of n independent roundings have a
//!   deviation of at most 0.24·√n·u·Σ|x|, so this is eight deviations; where the
//!   data makes the errors alike, d shows it: the furthest that the fp32 sum and
//!   the f64 sum come apart on the way. A sum whose partial sums are exact in every
//!   order adds nothing. A float product adds (n − 1)·u relatively.
//! * Scans keep their order, so they only pass errors on.
//! * After each, the interval is rounded to the result type.
//!
//! An infinite bound means that nothing is promised of an element: a division by
//! what may be 0, the bits of an inexact number, an index between two near-equals.

mod elementwise;
mod fold;
pub(super) mod interval;
mod scan;

use std::borrow::Cow;

use super::func::{Held, Run, check_inputs, literals, typed_result};
use super::{EvalError, EvalOptions, Fp8Options, check_memory, eval_op, movement};
use crate::data::TensorData;
use crate::module::{Func, Op, Operand};
use crate::ops::{Class, OpKind, TensorOp};
use crate::types::TensorType;

/// What else the machine may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BoundOptions {
    /// The compiler may drop or add roundings (`--allow-excess-precision`): every
    /// float result may be off by one unit in its last place.
    pub excess_precision: bool,
}

/// Absolute error bounds, one per element.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// Bit for bit, but for NaN payloads.
    Exact,
    /// At most this far; infinite where nothing is promised.
    Within(Vec<f64>),
}

impl Bound {
    /// The bound of an element.
    pub fn at(&self, index: usize) -> f64 {
        match self {
            Bound::Exact => 0.0,
            Bound::Within(bounds) => bounds.get(index).copied().unwrap_or(0.0),
        }
    }

    pub fn is_exact(&self) -> bool {
        matches!(self, Bound::Exact)
    }

    /// Exact when every bound is 0.
    fn from_vec(bounds: Vec<f64>) -> Self {
        if bounds.iter().all(|&bound| bound == 0.0) { Bound::Exact } else { Bound::Within(bounds) }
    }
}

/// A reference value and its bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounded {
    pub value: TensorData,
    pub bound: Bound,
    /// How its 8-bit floats are read.
    pub fp8: Fp8Options,
}

/// A value of a run in progress.
#[derive(Clone)]
struct Kept<'a> {
    value: Cow<'a, TensorData>,
    bound: Bound,
}

impl Held for Kept<'_> {
    fn data(&self) -> &TensorData {
        &self.value
    }

    fn owned_bytes(&self) -> u64 {
        let bounds = match &self.bound {
            Bound::Exact => 0,
            Bound::Within(bounds) => size_of_val(bounds.as_slice()) as u64,
        };
        self.value.owned_bytes() + bounds
    }
}

/// Runs a function as [`super::eval_func`] does, with bounds. The inputs are exact.
///
/// # Errors
/// As [`super::eval_func`]. Bounds count against the memory limit.
pub fn eval_bounded(
    func: &Func,
    inputs: &[TensorData],
    options: &EvalOptions,
    bound_options: &BoundOptions,
) -> Result<Vec<Bounded>, EvalError> {
    check_inputs(func, inputs)?;
    let mut run = Run::new(func);
    for (&arg, input) in func.args.iter().zip(inputs) {
        run.define(arg, Kept { value: Cow::Borrowed(input), bound: Bound::Exact });
    }
    for (id, op) in func.body_ops() {
        let OpKind::Tensor(kind) = &op.kind else { continue };
        let (result, ty) = typed_result(func, op)?;
        check_memory(ty, run.live, options)?;
        let literals = literals(func, id)?;
        let operands = run.operands(func, op, &literals)?;
        let value = eval_op(kind, &operands, ty, options)?;
        let bounds = operand_bounds(&run, func, op)?;
        let context =
            Context { operands: &operands, bounds: &bounds, value: &value, options, bound_options };
        let bound = context.with_excess(kind, context.bound(kind)?);
        run.release(op);
        run.define(result, Kept { value: Cow::Owned(value), bound });
    }
    func.returned()
        .map(|value| {
            let kept = run.get(func, value)?;
            Ok(Bounded {
                value: kept.value.clone().into_owned(),
                bound: kept.bound.clone(),
                fp8: options.fp8,
            })
        })
        .collect()
}

fn operand_bounds<'a>(
    run: &'a Run<Kept<'_>>,
    func: &Func,
    op: &Op,
) -> Result<Vec<&'a Bound>, EvalError> {
    op.operands
        .iter()
        .map(|operand| match operand {
            Operand::Value(value) => Ok(&run.get(func, *value)?.bound),
            Operand::Literal(_) => Ok(&Bound::Exact),
        })
        .collect()
}

/// An operation that has been evaluated, whose bounds are wanted.
struct Context<'a> {
    operands: &'a [&'a TensorData],
    bounds: &'a [&'a Bound],
    value: &'a TensorData,
    options: &'a EvalOptions,
    bound_options: &'a BoundOptions,
}

impl Context<'_> {
    fn exact_operands(&self) -> bool {
        self.bounds.iter().all(|bound| bound.is_exact())
    }

    fn bound(&self, op: &TensorOp) -> Result<Bound, EvalError> {
        match op {
            TensorOp::Elementwise(op) => elementwise::bound(self, *op),
            TensorOp::Cast | TensorOp::Wrap | TensorOp::ToInt => elementwise::conversion(self, op),
            TensorOp::Reduce { .. }
            | TensorOp::PartitionReduce { .. }
            | TensorOp::TransposeReduce { .. } => fold::bound(self, op),
            TensorOp::ScanCache { op0, op1, seed, emit } => scan::bound(
                self,
                super::scan::Scan { op0: *op0, op1: *op1, seed: *seed, emit: *emit },
            ),
            TensorOp::Pair { op0, op1, reverse } => {
                self.pair(super::pair::Pair { op0: *op0, op1: *op1, reverse: *reverse })
            }
            TensorOp::TransposePair { op0, op1, reverse } => {
                let pair = super::pair::Pair { op0: *op0, op1: *op1, reverse: *reverse };
                self.transpose_pair(pair)
            }
            TensorOp::Iota { .. } | TensorOp::Constant(_) => Ok(Bound::Exact),
            TensorOp::Bitcast if !self.exact_operands() => Ok(self.everywhere(f64::INFINITY)),
            TensorOp::Bitcast
            | TensorOp::Transpose { .. }
            | TensorOp::Broadcast { .. }
            | TensorOp::Reshape
            | TensorOp::Slice { .. }
            | TensorOp::Concat { .. }
            | TensorOp::Pad { .. }
            | TensorOp::Reverse { .. } => self.moved(op),
        }
    }

    /// Adds the freedom of [`BoundOptions::excess_precision`].
    fn with_excess(&self, op: &TensorOp, bound: Bound) -> Bound {
        let computes = match op {
            TensorOp::Elementwise(op) => op.class() != Class::Move,
            TensorOp::Cast
            | TensorOp::Reduce { .. }
            | TensorOp::PartitionReduce { .. }
            | TensorOp::TransposeReduce { .. }
            | TensorOp::ScanCache { .. }
            | TensorOp::Pair { .. }
            | TensorOp::TransposePair { .. } => true,
            _ => false,
        };
        let (dtype, fp8) = (self.result().dtype, self.options.fp8);
        if !self.bound_options.excess_precision || !computes || dtype.is_int() {
            return bound;
        }
        let bits = self.value.iter_bits().enumerate();
        Bound::from_vec(
            bits.map(|(i, bits)| bound.at(i) + interval::spacing(bits, dtype, fp8)).collect(),
        )
    }

    /// The bounds of the first operation, then of the second on them.
    fn pair(&self, pair: super::pair::Pair) -> Result<Bound, EvalError> {
        let fp8 = self.options.fp8;
        let read = self.operands.iter().map(|data| pair.read(data, fp8));
        let read = read.collect::<Result<Vec<_>, _>>()?;
        let read: Vec<&TensorData> = read.iter().map(AsRef::as_ref).collect();
        let (first, rest) = pair.split(&read);
        let (first_bounds, rest_bounds) = pair.split(self.bounds);
        let t = pair.first(&read, fp8)?;
        let bound = elementwise::bound(
            &Context { operands: first, bounds: first_bounds, value: &t, ..*self },
            pair.op0,
        )?;
        let operands = pair.ordered(&t, rest.iter().copied());
        let bounds = pair.ordered(&bound, rest_bounds.iter().copied());
        elementwise::bound(&Context { operands: &operands, bounds: &bounds, ..*self }, pair.op1)
    }

    /// Bounds move with their elements, then both operations are done on them.
    fn transpose_pair(&self, pair: super::pair::Pair) -> Result<Bound, EvalError> {
        let moved = super::transposed(pair, self.operands)?;
        let place = pair.tensor(self.operands);
        let at = |place: usize| Some((*self.operands.get(place)?, *self.bounds.get(place)?));
        let Some((operand, bound)) = at(place) else { return Ok(Bound::Exact) };
        let transpose = TensorOp::transpose_of_last(moved.shape().len());
        let bound = Context { operands: &[operand], bounds: &[bound], value: &moved, ..*self }
            .moved(&transpose)?;
        if pair.moves(&moved, self.result().dtype) {
            return Ok(bound);
        }
        let operands = pair.around(self.operands, &moved);
        let mut bounds = self.bounds.to_vec();
        if let Some(slot) = bounds.get_mut(place) {
            *slot = &bound;
        }
        Context { operands: &operands, bounds: &bounds, ..*self }.pair(pair)
    }

    fn everywhere(&self, bound: f64) -> Bound {
        Bound::from_vec(vec![bound; self.value.len()])
    }

    /// Bounds move as their elements do.
    fn moved(&self, op: &TensorOp) -> Result<Bound, EvalError> {
        if self.exact_operands() {
            return Ok(Bound::Exact);
        }
        let bytes: Vec<Vec<u8>> = self
            .operands
            .iter()
            .zip(self.bounds)
            .map(|(data, bound)| (0..data.len()).flat_map(|i| bound.at(i).to_le_bytes()).collect())
            .collect();
        let arrays: Vec<_> = self
            .operands
            .iter()
            .zip(&bytes)
            .map(|(data, bytes)| movement::Array { shape: data.shape(), bytes })
            .collect();
        let mut out = vec![0; self.value.len() * size_of::<f64>()];
        movement::apply(op, &arrays, self.value.shape(), size_of::<f64>(), &mut out)
            .unwrap_or_else(|| {
                Err(EvalError::malformed(op.kind_name().full(), "it moves no elements"))
            })?;
        let (bounds, _) = out.as_chunks();
        Ok(Bound::from_vec(bounds.iter().copied().map(f64::from_le_bytes).collect()))
    }

    fn result(&self) -> &TensorType {
        self.value.ty()
    }
}
