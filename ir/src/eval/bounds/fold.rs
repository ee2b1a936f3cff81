//! Bounds of reductions.

use super::interval::{element_distance, outward, round_float, round_int};
use super::{Bound, Context};
use crate::data::TensorData;
use crate::eval::lanes::{BLOCK, Lane, Reader};
use crate::eval::reduce::{self, Folding, Plan, fold_f32, in_fp32};
use crate::eval::walk::{View, count, strides};
use crate::eval::{EvalError, convert, fold_plans, int_ops};
use crate::ops::{ElementwiseOp, ReduceOp, TensorOp};
use crate::types::ElemType;

/// Half a unit in the last place of 1: the relative error of one rounding.
const UNIT: f64 = 1.0 / (1u64 << 24) as f64;

/// Bounds of `reduce partition_reduce transpose_reduce`.
pub fn bound(context: &Context<'_>, op: &TensorOp) -> Result<Bound, EvalError> {
    let ([operand], [errors]) = (context.operands, context.bounds) else {
        return Err(EvalError::malformed(op.kind_name().full(), "it takes one operand"));
    };
    let bad = || EvalError::malformed(op.kind_name().full(), "the attributes do not fit the shape");
    if let TensorOp::Reduce { op: arg @ (ReduceOp::Argmax | ReduceOp::Argmin), dims, .. } = op {
        let dim = dims.first().copied().ok_or_else(bad)?;
        return arg_bound(context, *arg == ReduceOp::Argmax, dim).ok_or_else(bad);
    }
    let (folding, plans) = fold_plans(op, operand.shape()).ok_or_else(bad)?;
    let result = context.result().dtype;
    let sums = matches!(folding.op, ElementwiseOp::Add | ElementwiseOp::Mult);
    let floats = in_fp32(folding, operand.dtype(), result);
    if errors.is_exact() && !(sums && floats) {
        return Ok(Bound::Exact);
    }
    // No order matters here, so the folds of several plans are one.
    let whole = match plans.as_slice() {
        [only] => Plan { slots: only.slots.clone(), ..*only },
        _ => Plan::new(operand.shape(), &(0..operand.shape().len()).collect::<Vec<_>>())
            .ok_or_else(bad)?,
    };
    let fold = Fold { context, folding, plans: &plans, whole: &whole, operand, errors };
    match folding.op {
        ElementwiseOp::Add | ElementwiseOp::Mult if floats => fold.rounded_sums(),
        ElementwiseOp::Add => fold.integer_sums(),
        ElementwiseOp::Max
        | ElementwiseOp::Min
        | ElementwiseOp::Maximum
        | ElementwiseOp::Minimum => fold.extremes(),
        ElementwiseOp::LogicalAnd | ElementwiseOp::LogicalOr => Ok(fold.truths()),
        _ => Ok(fold.where_inexact(f64::INFINITY)),
    }
}

struct Fold<'a> {
    context: &'a Context<'a>,
    folding: Folding,
    plans: &'a [Plan],
    whole: &'a Plan,
    operand: &'a TensorData,
    errors: &'a Bound,
}

/// What one accumulator's elements have in common.
#[derive(Clone, Copy)]
struct Group {
    /// Sum of the values in f64 and in fp32, and the furthest the two came apart on
    /// the way; nothing for a product.
    sum: f64,
    running: f32,
    drift: f64,
    /// Sum (product) of the magnitudes, errors included.
    magnitude: f64,
    /// The same without errors, and the sum of the errors alone.
    plain: f64,
    error: f64,
    /// All values are multiples of 2 to this power.
    grain: i32,
    /// Logarithms of what lies above and below 1, for a product.
    above: f64,
    below: f64,
    finite: bool,
    rounded_before: bool,
}

impl Fold<'_> {
    /// Visits every element with its accumulator.
    fn each<T: Lane>(&self, mut visit: impl FnMut(usize, usize, T)) {
        let dense = View::dense(self.operand.len());
        let mut reader = Reader::new(
            self.operand.bytes(),
            self.operand.dtype(),
            self.context.options.fp8,
            &dense,
        );
        let mut runs = self.whole.slots.runs();
        let mut block = [T::default(); BLOCK];
        let mut index = 0;
        while let Some(run) = runs.next(BLOCK) {
            reader.fill(&mut block[..run.len]);
            for (i, &x) in block[..run.len].iter().enumerate() {
                visit(run.at(i), index, x);
                index += 1;
            }
        }
    }

    fn groups(&self) -> Vec<Group> {
        let product = self.folding.op == ElementwiseOp::Mult;
        let neutral = if product { 1.0 } else { 0.0 };
        let empty = Group {
            sum: 0.0,
            running: 0.0,
            drift: 0.0,
            magnitude: neutral,
            plain: neutral,
            error: 0.0,
            grain: i32::MAX,
            above: 0.0,
            below: 0.0,
            finite: true,
            rounded_before: false,
        };
        let mut groups = vec![empty; self.whole.accumulators];
        self.each(|slot, index, x: f32| {
            let Some(group) = groups.get_mut(slot) else { return };
            let (mut x, mut error) = (x, self.errors.at(index));
            if let Some(scale) = self.folding.scale {
                let exact = f64::from(x) * f64::from(scale);
                x *= scale;
                error *= f64::from(scale).abs();
                group.rounded_before |= f64::from(x) != exact;
            }
            group.finite &= x.is_finite();
            group.error += error;
            let size = f64::from(x).abs();
            if product {
                group.magnitude *= size + error;
                group.plain *= size;
                if size > 1.0 {
                    group.above += size.log2();
                } else if size > 0.0 {
                    group.below -= size.log2();
                }
            } else {
                group.sum += f64::from(x);
                group.running += x;
                group.drift = group.drift.max((f64::from(group.running) - group.sum).abs());
                group.magnitude += size + error;
                group.grain = group.grain.min(grain(x));
            }
        });
        groups
    }

    /// Sums and products in fp32, in any order.
    fn rounded_sums(&self) -> Result<Bound, EvalError> {
        let unsupported = || EvalError::unsupported(self.folding.op, self.context.operands);
        let acc = fold_f32(self.folding, self.operand, self.plans, self.context.options.fp8)
            .ok_or_else(unsupported)?;
        let depth = self.whole.depth as f64;
        let result = self.context.result().dtype;
        let product = self.folding.op == ElementwiseOp::Mult;
        let bound = |(group, &acc): (&Group, &f32)| {
            let spread =
                if product { product_error(group, depth) } else { sum_error(group, acc, depth) };
            let signed = if self.folding.negate { -acc } else { acc };
            round_float(signed, spread, result, self.context.options.fp8)
        };
        Ok(Bound::from_vec(self.groups().iter().zip(&acc).map(bound).collect()))
    }

    /// Integer sums of inexact elements.
    fn integer_sums(&self) -> Result<Bound, EvalError> {
        let mut sums = vec![(0i128, 0f64); self.whole.accumulators];
        self.each(|slot, index, x: i128| {
            if let Some((sum, error)) = sums.get_mut(slot) {
                *sum = sum.saturating_add(x);
                *error += self.errors.at(index);
            }
        });
        let result = self.context.result().dtype;
        let modular = int_ops::is_modular(self.folding.op);
        let bound = |&(sum, error): &(i128, f64)| {
            let signed = if self.folding.negate { -sum } else { sum };
            round_int(signed, error, result, modular, self.context.options.fp8)
        };
        Ok(Bound::from_vec(sums.iter().map(bound).collect()))
    }

    /// Extremes rise and fall with their elements: fold the lower and upper ends.
    fn extremes(&self) -> Result<Bound, EvalError> {
        let (fp8, dtype) = (self.context.options.fp8, self.operand.dtype());
        let (mut low, mut high) = (self.operand.clone(), self.operand.clone());
        let wide = if dtype.is_float() {
            self.operand.ty().with_dtype(ElemType::F32)
        } else {
            self.operand.ty().clone()
        };
        if dtype.is_float() {
            low = TensorData::zeros(wide.clone())?;
            high = TensorData::zeros(wide)?;
        }
        for (i, bits) in self.operand.iter_bits().enumerate() {
            let error = self.errors.at(i);
            if dtype.is_float() {
                let (lo, hi) = outward(convert::decode_f32(bits, dtype, fp8), error);
                low.set_f32(i, lo);
                high.set_f32(i, hi);
            } else if error > 0.0 {
                let x = convert::decode_int(bits, dtype, fp8);
                let reach = error.ceil().min(2f64.powi(66)) as i128;
                low.set_int(i, x - reach);
                high.set_int(i, x + reach);
            }
        }
        let ends = [low, high]
            .map(|end| reduce::fold(self.folding, &end, self.plans, self.context.result(), fp8));
        let [low, high] = ends;
        let (low, high) = (low?, high?);
        let result = self.context.result().dtype;
        let pairs = low.iter_bits().zip(high.iter_bits()).zip(self.context.value.iter_bits());
        let bounds = pairs.map(|((low, high), value)| {
            element_distance(low, value, result, fp8)
                .max(element_distance(high, value, result, fp8))
        });
        Ok(Bound::from_vec(bounds.collect()))
    }

    /// A truth value is in doubt where an element may be 0.
    fn truths(&self) -> Bound {
        let mut bounds = vec![0f64; self.whole.accumulators];
        self.each(|slot, index, x: f32| {
            let error = self.errors.at(index);
            if let Some(bound) = bounds.get_mut(slot)
                && error > 0.0
                && f64::from(x).abs() <= error
            {
                *bound = 1.0;
            }
        });
        Bound::from_vec(bounds)
    }

    /// The bound given, where any element is inexact.
    fn where_inexact(&self, bound: f64) -> Bound {
        let mut bounds = vec![0f64; self.whole.accumulators];
        self.each(|slot, index, _: f32| {
            if let Some(slot) = bounds.get_mut(slot)
                && self.errors.at(index) > 0.0
            {
                *slot = bound;
            }
        });
        Bound::from_vec(bounds)
    }
}

/// The largest power of two that divides a number; the largest of all for 0.
fn grain(x: f32) -> i32 {
    if x == 0.0 || !x.is_finite() {
        return i32::MAX;
    }
    let exponent = ((x.to_bits() >> 23) & 0xFF) as i32;
    let mantissa = x.to_bits() & 0x7F_FFFF;
    let significand = if exponent == 0 { mantissa } else { mantissa | 0x80_0000 };
    exponent.max(1) - 150 + significand.trailing_zeros() as i32
}

/// The error of a sum in any order.
fn sum_error(group: &Group, acc: f32, depth: f64) -> f64 {
    if !group.error.is_finite() {
        return f64::INFINITY;
    }
    if !group.finite {
        // Infinities and NaNs decide the result in every order.
        return 0.0;
    }
    let every_order_exact = !group.rounded_before
        && group.error == 0.0
        && (group.grain == i32::MAX
            || group.magnitude <= 2f64.powi(group.grain.saturating_add(24)));
    if every_order_exact {
        return 0.0;
    }
    if group.magnitude >= f64::from(f32::MAX) {
        return f64::INFINITY;
    }
    let steps = (depth - 1.0).max(0.0).min(16.0 + 2.0 * depth.sqrt())
        + if group.rounded_before { 2.0 } else { 0.0 };
    let off = (f64::from(acc) - group.sum).abs();
    group.error + off + 4.0 * group.drift + steps * UNIT * group.magnitude
}

/// The error of a product in any order.
fn product_error(group: &Group, depth: f64) -> f64 {
    if !group.error.is_finite() {
        return f64::INFINITY;
    }
    if depth <= 1.0 {
        return group.error;
    }
    if !group.finite {
        return 0.0;
    }
    // Some order may leave the range on the way.
    if group.above > 126.0 || (group.below > 125.0 && group.above > 0.0) {
        return f64::INFINITY;
    }
    (group.magnitude - group.plain) + (depth - 1.0) * (UNIT * group.magnitude + 2f64.powi(-149))
}

/// An index is in doubt where another element may win; nothing is promised then.
fn arg_bound(context: &Context<'_>, largest: bool, dim: usize) -> Option<Bound> {
    let (&operand, &errors) = (context.operands.first()?, context.bounds.first()?);
    if errors.is_exact() {
        return Some(Bound::Exact);
    }
    let shape = operand.shape();
    let size = usize::try_from(*shape.get(dim)?).ok()?;
    let step = usize::try_from(*strides(shape).get(dim)?).ok()?;
    let (outer, inner) = (count(shape.get(..dim)?)?, count(shape.get(dim + 1..)?)?);
    let mut bounds = Vec::with_capacity(context.value.len());
    for position in 0..outer.checked_mul(inner)? {
        let base = position / inner * inner * size + position % inner;
        let winner = usize::try_from(context.value.int(bounds.len())?).ok()?;
        let value = |k: usize| {
            let x = convert::decode_f32(
                operand.bits(base + k * step).unwrap_or(0),
                operand.dtype(),
                context.options.fp8,
            );
            let x = if largest { f64::from(x) } else { -f64::from(x) };
            (x, errors.at(base + k * step))
        };
        let (best, slack) = value(winner);
        // Of equal exact elements the first wins on the machine too.
        let doubt = (0..size).filter(|&k| k != winner).map(value).any(|(x, error)| {
            (error > 0.0 || slack > 0.0)
                && (best.is_nan() || x.is_nan() || x + error >= best - slack)
        });
        bounds.push(if doubt { f64::INFINITY } else { 0.0 });
    }
    Some(Bound::from_vec(bounds))
}
