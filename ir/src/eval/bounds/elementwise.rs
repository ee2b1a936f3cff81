//! Bounds of elementwise operations and conversions.

use super::interval::{distance, element_distance, outward, round_float, round_int, ulp32};
use super::{Bound, Context};
use crate::data::TensorData;
use crate::eval::EvalError;
use crate::eval::accuracy::{Accuracy, accuracy};
use crate::eval::convert;
use crate::eval::elementwise::{apply_f32, apply_int, unsigned_counts};
use crate::eval::float_ops::{self, Binary};
use crate::eval::int_ops;
use crate::eval::lanes::{BLOCK, Reader};
use crate::eval::walk::View;
use crate::ops::{Class, ElementwiseOp, TensorOp};
use crate::types::ElemType;

/// Bounds of an elementwise operation.
pub fn bound(context: &Context<'_>, op: ElementwiseOp) -> Result<Bound, EvalError> {
    if op == ElementwiseOp::Select {
        return select(context);
    }
    let dtype = context.operands.first().map_or(ElemType::F32, |data| data.dtype());
    let accuracy = if dtype.is_float() { accuracy(op) } else { None };
    if context.exact_operands() && accuracy.is_none() {
        return Ok(Bound::Exact);
    }
    let inputs = Inputs::new(context, op)?;
    let bounds = if dtype.is_float() {
        floats(context, op, accuracy, &inputs)?
    } else {
        ints(context, op, dtype, &inputs)?
    };
    Ok(Bound::from_vec(bounds))
}

/// Operands and their bounds, read as the result's shape asks.
struct Inputs<'a> {
    operands: Vec<&'a TensorData>,
    views: Vec<View>,
    /// `None` when exact.
    bounds: Vec<Option<&'a [f64]>>,
}

impl<'a> Inputs<'a> {
    fn new(context: &Context<'a>, op: ElementwiseOp) -> Result<Self, EvalError> {
        let views = context
            .operands
            .iter()
            .map(|data| View::broadcast(data.shape(), &context.result().shape))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| {
                EvalError::malformed(op.name(), "the operands do not broadcast to the result")
            })?;
        let bounds = context
            .bounds
            .iter()
            .map(|bound| match bound {
                Bound::Exact => None,
                Bound::Within(bounds) => Some(bounds.as_slice()),
            })
            .collect();
        Ok(Self { operands: context.operands.to_vec(), views, bounds })
    }

    /// The bound of operand `k` at each element of the result, in order.
    fn bounds_of(&self, k: usize) -> BoundWalk<'_> {
        let walk = self.bounds.get(k).copied().flatten().zip(self.views.get(k));
        BoundWalk { walk: walk.map(|(bounds, view)| (bounds, view.runs())) }
    }
}

/// Reads bounds block by block.
struct BoundWalk<'a> {
    walk: Option<(&'a [f64], crate::eval::walk::Runs<'a>)>,
}

impl BoundWalk<'_> {
    fn fill(&mut self, mut out: &mut [f64]) {
        let Some((bounds, runs)) = &mut self.walk else { return };
        while !out.is_empty() {
            let Some(run) = runs.next(out.len()) else { return };
            let (block, rest) = std::mem::take(&mut out).split_at_mut(run.len);
            for (i, slot) in block.iter_mut().enumerate() {
                *slot = bounds.get(run.at(i)).copied().unwrap_or(0.0);
            }
            out = rest;
        }
    }
}

fn floats(
    context: &Context<'_>,
    op: ElementwiseOp,
    accuracy: Option<Accuracy>,
    inputs: &Inputs<'_>,
) -> Result<Vec<f64>, EvalError> {
    let fp8 = context.options.fp8;
    let result = context.result().dtype;
    let unsupported = || EvalError::unsupported(op, context.operands);
    let mut readers: Vec<_> = inputs
        .operands
        .iter()
        .zip(&inputs.views)
        .map(|(data, view)| Reader::new(data.bytes(), data.dtype(), fp8, view))
        .collect();
    let (mut walk_a, mut walk_b) = (inputs.bounds_of(0), inputs.bounds_of(1));
    let (mut a, mut b, mut y) = ([0f32; BLOCK], [0f32; BLOCK], [0f32; BLOCK]);
    let (mut ea, mut eb) = ([0f64; BLOCK], [0f64; BLOCK]);
    let mut bounds = vec![0f64; context.value.len()];
    for out in bounds.chunks_mut(BLOCK) {
        let n = out.len();
        for (reader, block) in readers.iter_mut().zip([&mut a, &mut b]) {
            reader.fill(&mut block[..n]);
        }
        walk_a.fill(&mut ea[..n]);
        walk_b.fill(&mut eb[..n]);
        apply_f32(op, &a[..n], &b[..n], &mut y[..n]).ok_or_else(unsupported)?;
        let block = Block { a: &a[..n], b: &b[..n], ea: &ea[..n], eb: &eb[..n], y: &y[..n] };
        block.spread(op, accuracy, out).ok_or_else(unsupported)?;
        for (bound, &y) in out.iter_mut().zip(&y) {
            *bound = round_float(y, *bound, result, fp8);
        }
    }
    Ok(bounds)
}

/// Operands, their bounds, and the fp32 result.
pub struct Block<'a> {
    pub a: &'a [f32],
    pub b: &'a [f32],
    pub ea: &'a [f64],
    pub eb: &'a [f64],
    pub y: &'a [f32],
}

impl Block<'_> {
    /// The bound of each fp32 result.
    pub fn spread(
        &self,
        op: ElementwiseOp,
        accuracy: Option<Accuracy>,
        out: &mut [f64],
    ) -> Option<()> {
        float_ops::with_op(op, Spread { block: self, op, accuracy, out })
    }
}

struct Spread<'a> {
    block: &'a Block<'a>,
    op: ElementwiseOp,
    accuracy: Option<Accuracy>,
    out: &'a mut [f64],
}

impl Binary<f32> for Spread<'_> {
    type Output = ();
    fn run(self, f: impl Fn(f32, f32) -> f32 + Copy) {
        let Block { a, b, ea, eb, y } = *self.block;
        let elements = a.iter().zip(b).zip(ea.iter().zip(eb)).zip(y);
        for (out, (((&a, &b), (&ea, &eb)), &y)) in self.out.iter_mut().zip(elements) {
            *out = own_error(self.accuracy, a, y);
            if ea == 0.0 && eb == 0.0 {
                continue;
            }
            if !ea.is_finite() || !eb.is_finite() {
                *out = f64::INFINITY;
                continue;
            }
            let (xs, ys) = (Samples::new(a, ea), Samples::new(b, eb));
            for x in xs.points {
                for z in ys.points {
                    let sample = f(x, z);
                    let error = own_error(self.accuracy, x, sample);
                    *out = out.max(distance(f64::from(sample), f64::from(y)) + error);
                }
            }
            *out = out.max(extra(self.op, &xs, &ys, (ea, eb), y));
        }
    }
}

/// The error that the machine's form of the operation adds around the result y of an
/// argument x.
pub fn own_error(accuracy: Option<Accuracy>, x: f32, y: f32) -> f64 {
    match accuracy {
        // What is infinite or NaN by reference is so on the machine.
        Some(row) if y.is_finite() && x.abs() > row.within => f64::INFINITY,
        Some(row) if y.is_finite() => row.ulps * ulp32(y),
        _ => 0.0,
    }
}

/// Both ends of an operand's interval, and 0 when it lies inside, else the operand.
struct Samples {
    points: [f32; 3],
    low: f32,
    high: f32,
}

impl Samples {
    fn new(x: f32, bound: f64) -> Self {
        let (low, high) = outward(x, bound);
        let inner = if low <= 0.0 && high >= 0.0 { 0.0 } else { x };
        Self { points: [low, high, inner], low, high }
    }

    fn has_zero(&self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }

    fn overlaps(&self, other: &Samples) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    fn largest(&self) -> f64 {
        f64::from(self.low.abs().max(self.high.abs()))
    }
}

/// What the ends of the intervals do not show: equality within them, periods,
/// poles.
fn extra(op: ElementwiseOp, a: &Samples, b: &Samples, (ea, eb): (f64, f64), y: f32) -> f64 {
    use ElementwiseOp::*;
    match op {
        IsEq | IsNe if a.overlaps(b) => 1.0,
        AbsoluteDiff if a.overlaps(b) => f64::from(y).abs(),
        // Both change no faster than their argument and stay within 1.
        Sin | Cos => ea.min(2.0),
        Divide if b.has_zero() => f64::INFINITY,
        Reciprocal | Rsqrt if a.has_zero() => f64::INFINITY,
        Pow if a.low < 0.0 && (a.high > 0.0 || eb > 0.0) => f64::INFINITY,
        Remainder => {
            let quotients = |x: f32, z: f32| (f64::from(x) / f64::from(z)).trunc();
            let first = quotients(a.low, b.low);
            let same = [(a.low, b.high), (a.high, b.low), (a.high, b.high)]
                .into_iter()
                .all(|(x, z)| quotients(x, z) == first);
            if b.has_zero() {
                f64::INFINITY
            } else if same {
                0.0
            } else {
                2.0 * b.largest()
            }
        }
        _ => 0.0,
    }
}

fn ints(
    context: &Context<'_>,
    op: ElementwiseOp,
    dtype: ElemType,
    inputs: &Inputs<'_>,
) -> Result<Vec<f64>, EvalError> {
    let fp8 = context.options.fp8;
    let result = context.result().dtype;
    let unsupported = || EvalError::unsupported(op, context.operands);
    let mut readers: Vec<_> = inputs
        .operands
        .iter()
        .zip(&inputs.views)
        .map(|(data, view)| Reader::new(data.bytes(), data.dtype(), fp8, view))
        .collect();
    let (mut walk_a, mut walk_b) = (inputs.bounds_of(0), inputs.bounds_of(1));
    let (mut a, mut b) = ([0i128; BLOCK], [0i128; BLOCK]);
    let (mut ea, mut eb) = ([0f64; BLOCK], [0f64; BLOCK]);
    let mut bounds = vec![0f64; context.value.len()];
    for out in bounds.chunks_mut(BLOCK) {
        let n = out.len();
        for (reader, block) in readers.iter_mut().zip([&mut a, &mut b]) {
            reader.fill(&mut block[..n]);
        }
        walk_a.fill(&mut ea[..n]);
        walk_b.fill(&mut eb[..n]);
        if op.class() == Class::Shift {
            let count = inputs.operands.get(1).map_or(dtype, |data| data.dtype());
            unsigned_counts(count, &mut b[..n]);
        }
        for (i, bound) in out.iter_mut().enumerate() {
            if ea[i] == 0.0 && eb[i] == 0.0 {
                continue;
            }
            let (center, spread) =
                int_spread(op, dtype, (a[i], ea[i]), (b[i], eb[i])).ok_or_else(unsupported)?;
            *bound = round_int(center, spread, result, int_ops::is_modular(op), fp8);
        }
    }
    Ok(bounds)
}

/// The result and its bound at the operands' type.
fn int_spread(
    op: ElementwiseOp,
    dtype: ElemType,
    a: (i128, f64),
    b: (i128, f64),
) -> Option<(i128, f64)> {
    use ElementwiseOp::*;
    let (least, most) = dtype.int_range()?;
    let points = |(x, bound): (i128, f64)| {
        let reach = bound.ceil().min(2f64.powi(66)) as i128;
        let (low, high) = ((x - reach).max(least), (x + reach).min(most));
        [low, high, if low <= 0 && high >= 0 { 0 } else { x }]
    };
    let (xs, ys) = (points(a), points(b));
    let pairs: Vec<(i128, i128)> =
        xs.iter().flat_map(|&x| ys.iter().map(move |&y| (x, y))).collect();
    let (left, right): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    let mut out = vec![0; left.len()];
    apply_int(op, dtype, &left, &right, &mut out)?;
    let mut center = [0];
    apply_int(op, dtype, &[a.0], &[b.0], &mut center)?;
    let [center] = center;
    let spread = out.iter().map(|&y| y.abs_diff(center) as f64).fold(0.0, f64::max);
    let overlap = xs[0] <= ys[1] && ys[0] <= xs[1];
    let zero = ys[0] <= 0 && ys[1] >= 0;
    let spread = match op {
        // A power, a wrapped square or difference, and bits have no order.
        Pow | Square | AbsoluteDiff | AbsDiffInt => f64::INFINITY,
        _ if matches!(op.class(), Class::Bit | Class::Shift) => f64::INFINITY,
        // These read a type of the other sign as another number.
        _ if matches!(op.class(), Class::IntBand | Class::IntCompare)
            && !int_ops::is_modular(op) =>
        {
            f64::INFINITY
        }
        IsEq | IsNe if overlap => 1.0,
        Divide if zero => f64::INFINITY,
        Remainder => f64::INFINITY,
        _ => spread,
    };
    Some((center, spread))
}

/// The bound of the operand chosen, or of both where the choice is in doubt.
fn select(context: &Context<'_>) -> Result<Bound, EvalError> {
    if context.exact_operands() {
        return Ok(Bound::Exact);
    }
    let ([pred, yes, no], fp8) = (context.operands, context.options.fp8) else {
        return Err(EvalError::malformed("select", "wrong number of operands"));
    };
    let inputs = Inputs::new(context, ElementwiseOp::Select)?;
    let (from, to) = (yes.dtype(), context.result().dtype);
    let mut walks = [inputs.bounds_of(0), inputs.bounds_of(1), inputs.bounds_of(2)];
    let mut runs = [inputs.views[0].runs(), inputs.views[1].runs(), inputs.views[2].runs()];
    let mut bounds = Vec::with_capacity(context.value.len());
    for out in context.value.iter_bits() {
        let mut errors = [0f64; 3];
        for (walk, error) in walks.iter_mut().zip(&mut errors) {
            walk.fill(std::slice::from_mut(error));
        }
        let mut bits = [0u64; 3];
        for ((bits, runs), data) in bits.iter_mut().zip(&mut runs).zip([pred, yes, no]) {
            *bits = runs.next(1).and_then(|run| data.bits(run.at(0))).unwrap_or(0);
        }
        let condition = convert::decode_int(bits[0], pred.dtype(), fp8);
        let branch = |k: usize| {
            let moved = convert::cast_bits(bits[k], from, to, fp8);
            element_distance(moved, out, to, fp8)
                + cast_bound(bits[k], errors[k], from, to, context)
        };
        bounds.push(if errors[0] > 0.0 && condition.unsigned_abs() as f64 <= errors[0].max(1.0) {
            branch(1).max(branch(2))
        } else {
            branch(if condition != 0 { 1 } else { 2 })
        });
    }
    Ok(Bound::from_vec(bounds))
}

/// What a cast makes of an element's bound.
fn cast_bound(bits: u64, bound: f64, from: ElemType, to: ElemType, context: &Context<'_>) -> f64 {
    let fp8 = context.options.fp8;
    if from == to {
        bound
    } else if from.is_float() {
        round_float(convert::decode_f32(bits, from, fp8), bound, to, fp8)
    } else {
        round_int(convert::decode_int(bits, from, fp8), bound, to, false, fp8)
    }
}

/// Bounds of `cast wrap to_int`.
pub fn conversion(context: &Context<'_>, op: &TensorOp) -> Result<Bound, EvalError> {
    let ([operand], [bound]) = (context.operands, context.bounds) else {
        return Err(EvalError::malformed(op.kind_name().full(), "it takes one operand"));
    };
    let (from, to, fp8) = (operand.dtype(), context.result().dtype, context.options.fp8);
    if bound.is_exact() {
        return Ok(Bound::Exact);
    }
    let bounds =
        operand.iter_bits().zip(context.value.iter_bits()).enumerate().map(|(i, (bits, out))| {
            let error = bound.at(i);
            match op {
                TensorOp::ToInt => {
                    let x = convert::decode_f32(bits, from, fp8);
                    let (low, high) = outward(x, error);
                    let far = |end: f32| {
                        let end = convert::encode_f32(end.trunc(), to, fp8);
                        element_distance(end, out, to, fp8)
                    };
                    if error.is_finite() { far(low).max(far(high)) } else { error }
                }
                TensorOp::Wrap => {
                    round_int(convert::decode_int(bits, from, fp8), error, to, true, fp8)
                }
                _ => cast_bound(bits, error, from, to, context),
            }
        });
    Ok(Bound::from_vec(bounds.collect()))
}
