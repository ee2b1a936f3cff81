//! Bounds of scans: the order is fixed, so that errors only pass through.

use super::elementwise::{Block, own_error};
use super::interval::{distance, outward, round_float};
use super::{Bound, Context};
use crate::eval::EvalError;
use crate::eval::accuracy::accuracy;
use crate::eval::convert;
use crate::eval::elementwise::apply_f32;
use crate::eval::float_ops::{self, Binary};
use crate::eval::lanes::{BLOCK, Lane};
use crate::eval::scan::{Rows, Scan, in_fp32};
use crate::eval::walk::Run;
use crate::ops::{ElementwiseOp, Emit};

/// Bounds of `tensor.scan_cache`. An inexact integer scan promises nothing.
pub fn bound(context: &Context<'_>, scan: Scan) -> Result<Bound, EvalError> {
    let bad = || EvalError::malformed("tensor.scan_cache", "the operands do not fit the result");
    let rows = Rows::new(scan, context.operands).ok_or_else(bad)?;
    let (operand, result) = (rows.operand.dtype(), context.result().dtype);
    let floats = in_fp32(scan, operand, result);
    let inexact = floats && (accuracy(scan.op0).is_some() || accuracy(scan.op1).is_some());
    if context.exact_operands() && !inexact {
        return Ok(Bound::Exact);
    }
    if !floats {
        return Ok(context.everywhere(f64::INFINITY));
    }
    fp32(context, scan, &rows)
        .ok_or_else(|| EvalError::unsupported(scan.op1, context.operands))
        .map(Bound::from_vec)
}

fn fp32(context: &Context<'_>, scan: Scan, rows: &Rows<'_>) -> Option<Vec<f64>> {
    let fp8 = context.options.fp8;
    let per_row = |k: usize, row: usize| match (context.operands.get(k), context.bounds.get(k)) {
        (Some(data), Some(bound)) => bound.at(if data.len() == 1 { 0 } else { row }),
        _ => 0.0,
    };
    let value = |data: Option<&&crate::data::TensorData>, row: usize| {
        let data = data?;
        let bits = data.bits(if data.len() == 1 { 0 } else { row })?;
        Some(convert::decode_f32(bits, data.dtype(), fp8))
    };
    let dtype = context.result().dtype;
    let errors = context.bounds.first()?;
    let mut bounds = Vec::with_capacity(context.value.len());
    let (mut a, mut tmp, mut ea, mut et) =
        ([0f32; BLOCK], [0f32; BLOCK], [0f64; BLOCK], [0f64; BLOCK]);
    for row in 0..rows.rows {
        let mut state = match &rows.seed {
            Some(_) => (value(context.operands.get(2), row)?, per_row(2, row)),
            None => (float_ops::identity(scan.op1)?, 0.0),
        };
        let s = [value(context.operands.get(1), row)?; BLOCK];
        let es = [per_row(1, row); BLOCK];
        for start in (0..rows.length).step_by(BLOCK) {
            let n = (rows.length - start).min(BLOCK);
            let at = row * rows.length + start;
            let run = Run { start: at as isize, stride: 1, len: n };
            f32::load(rows.operand.bytes(), rows.operand.dtype(), fp8, run, &mut a[..n]);
            ea.iter_mut().enumerate().take(n).for_each(|(i, slot)| *slot = errors.at(at + i));
            apply_f32(scan.op0, &a[..n], &s[..n], &mut tmp[..n])?;
            let block = Block { a: &a[..n], b: &s[..n], ea: &ea[..n], eb: &es[..n], y: &tmp[..n] };
            block.spread(scan.op0, accuracy(scan.op0), &mut et[..n])?;
            let steps =
                Steps { scan, state: &mut state, values: &mut tmp[..n], errors: &mut et[..n] };
            float_ops::with_op(scan.op1, steps)?;
            if scan.emit == Emit::All {
                let emitted = tmp[..n].iter().zip(&et);
                bounds.extend(emitted.map(|(&x, &error)| round_float(x, error, dtype, fp8)));
            }
        }
        if scan.emit == Emit::Final {
            bounds.push(round_float(state.0, state.1, dtype, fp8));
        }
    }
    Some(bounds)
}

/// Operations whose extremes over two intervals lie at the intervals' ends.
fn rises_evenly(op: ElementwiseOp) -> bool {
    use ElementwiseOp::*;
    matches!(op, Bypass | Add | Subtract | Mult | Max | Min | Maximum | Minimum)
}

/// Replaces each value and error by the accumulator after it and its error.
struct Steps<'a> {
    scan: Scan,
    state: &'a mut (f32, f64),
    values: &'a mut [f32],
    errors: &'a mut [f64],
}

impl Binary<f32> for Steps<'_> {
    type Output = ();
    fn run(self, f: impl Fn(f32, f32) -> f32 + Copy) {
        let own = accuracy(self.scan.op1);
        let (mut acc, mut error) = *self.state;
        for (x, slot) in self.values.iter_mut().zip(self.errors) {
            let next = f(acc, *x);
            let mut spread = own_error(own, acc, next);
            if error > 0.0 || *slot > 0.0 {
                let (low, high) = outward(acc, error);
                let (least, most) = outward(*x, *slot);
                let corners = [f(low, least), f(low, most), f(high, least), f(high, most)];
                let far = corners.iter().map(|&y| distance(f64::from(y), f64::from(next)));
                spread += far.fold(0.0, f64::max);
                if !rises_evenly(self.scan.op1) || !error.is_finite() || !slot.is_finite() {
                    spread = f64::INFINITY;
                }
            }
            (acc, error) = (next, spread);
            (*x, *slot) = (acc, error);
        }
        *self.state = (acc, error);
    }
}
