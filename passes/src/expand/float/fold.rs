//! Reductions and scans of floats whose combining step the machine lacks.

use partita_ir::ops::{ElementwiseOp, Emit as Emission, ReduceOp, Seed, TensorOp};
use partita_ir::{ElemType, TensorType};

use super::fp32::Emit;
use crate::expand::emit::{Emitted, Val};
use crate::expand::{OpCx, Refusal};

/// A reduction to fp32, or of truth values to a truth value.
fn reduce(emit: &mut Emit<'_, '_>, cx: &OpCx<'_>, op: ReduceOp, x: Val, to: ElemType) -> Emitted {
    let TensorOp::Reduce { dims, keep, negate, .. } = cx.op else {
        return Err(Refusal::because("not a reduction"));
    };
    let op =
        TensorOp::Reduce { op, dims: dims.clone(), keep: *keep, negate: *negate && to.is_float() };
    emit.0.tensor(op, &[x], &TensorType::scalar(to))
}

/// `maximum`, `minimum`: the extreme of the numbers, and NaN where any element is NaN.
pub fn keeping_nan(emit: &mut Emit<'_, '_>, cx: &OpCx<'_>, op: ReduceOp) -> Emitted {
    let x = emit.0.arg(cx, 0)?;
    let extreme = reduce(emit, cx, op, x, ElemType::F32)?;
    let is_nan = emit.test(ElementwiseOp::IsNe, x, x)?;
    let any_nan = reduce(emit, cx, ReduceOp::Max, is_nan, ElemType::I1)?;
    emit.select(any_nan, f32::NAN, extreme)
}

/// `logical_and`, `logical_or` as an extreme of truth values, right for one element too.
pub fn logical(emit: &mut Emit<'_, '_>, cx: &OpCx<'_>, op: ReduceOp) -> Emitted {
    let x = emit.0.arg(cx, 0)?;
    let zero = emit.0.lit(0, x.dtype);
    let truth = emit.test(ElementwiseOp::IsNe, x, zero)?;
    let y = reduce(emit, cx, op, truth, ElemType::I1)?;
    let negate = matches!(cx.op, TensorOp::Reduce { negate: true, .. });
    if negate {
        // A truth value has no sign: 0 becomes -0, 1 becomes -1.
        let y = emit.0.cast(y, ElemType::F32)?;
        emit.to(ElementwiseOp::Mult, &[y, emit.0.lit(-1, y.dtype)], ElemType::F32)
    } else {
        Ok(y)
    }
}

/// What a scan combines, as fp32: the first step done, and the seed.
struct Steps {
    values: Val,
    seed: Option<Val>,
}

/// Attributes of the scan at hand.
fn attributes(cx: &OpCx<'_>) -> Option<(ElementwiseOp, ElementwiseOp, Seed, Emission)> {
    match cx.op {
        TensorOp::ScanCache { op0, op1, seed, emit } => Some((*op0, *op1, *seed, *emit)),
        _ => None,
    }
}

fn steps(
    emit: &mut Emit<'_, '_>,
    cx: &OpCx<'_>,
    op0: ElementwiseOp,
    seed: Seed,
) -> Result<Steps, Refusal> {
    let x = emit.0.arg(cx, 0)?;
    let values = match op0 {
        ElementwiseOp::Bypass => emit.cast(x, ElemType::F32)?,
        _ if op0.arity() == 1 => emit.one(op0, x)?,
        _ => {
            let x = emit.cast(x, ElemType::F32)?;
            let scalar = emit.0.arg(cx, 1)?;
            let scalar = emit.cast(scalar, ElemType::F32)?;
            emit.to(op0, &[x, scalar], ElemType::F32)?
        }
    };
    let seed = match seed {
        Seed::Zero => None,
        Seed::Load => {
            let seed = emit.0.arg(cx, 2)?;
            Some(emit.cast(seed, ElemType::F32)?)
        }
    };
    Ok(Steps { values, seed })
}

/// A scan of fp32 values with the second step alone.
fn scan(
    emit: &mut Emit<'_, '_>,
    op1: ElementwiseOp,
    steps: &Steps,
    out: Emission,
    to: ElemType,
) -> Emitted {
    let seed = if steps.seed.is_some() { Seed::Load } else { Seed::Zero };
    let op = TensorOp::ScanCache { op0: ElementwiseOp::Bypass, op1, seed, emit: out };
    let mut operands = vec![steps.values, 0.0.into()];
    operands.extend(steps.seed);
    emit.0.tensor(op, &operands, &TensorType::scalar(to))
}

/// True of a scan that [`first_step_apart`] makes simpler.
pub fn has_first_step(cx: &OpCx<'_>) -> bool {
    let plain = cx.types.iter().all(|ty| ty.dtype == ElemType::F32);
    attributes(cx).is_some_and(|(op0, ..)| op0 != ElementwiseOp::Bypass || !plain)
}

/// The first step as an elementwise operation in fp32, unrounded as in the scan.
pub fn first_step_apart(emit: &mut Emit<'_, '_>, cx: &OpCx<'_>) -> Emitted {
    let (op0, op1, seed, out) = attributes(cx).ok_or_else(|| Refusal::because("not a scan"))?;
    let steps = steps(emit, cx, op0, seed)?;
    scan(emit, op1, &steps, out, cx.to())
}

/// What the second step becomes, and what is done to its operands first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Second {
    KeepNan,
    Truth,
    Magnitude,
}

fn second(op1: ElementwiseOp) -> Option<(Second, ElementwiseOp)> {
    use ElementwiseOp::*;
    Some(match op1 {
        Maximum => (Second::KeepNan, Max),
        Minimum => (Second::KeepNan, Min),
        LogicalOr => (Second::Truth, Max),
        LogicalAnd => (Second::Truth, Min),
        AbsMax => (Second::Magnitude, Max),
        AbsMin => (Second::Magnitude, Min),
        _ => return None,
    })
}

/// True of a scan of at least one element whose second step is some kind of extreme.
pub fn has_extreme(cx: &OpCx<'_>) -> bool {
    let filled = cx.types.first().is_some_and(|ty| ty.shape.last().is_some_and(|&size| size > 0));
    filled && attributes(cx).is_some_and(|(_, op1, ..)| second(op1).is_some())
}

/// Scans with `maximum minimum logical_or logical_and abs_max abs_min` by `max` and `min`.
pub fn extreme_scan(emit: &mut Emit<'_, '_>, cx: &OpCx<'_>) -> Emitted {
    let not_one = || Refusal::because("not a scan of an extreme");
    let (op0, op1, seed, out) = attributes(cx).ok_or_else(not_one)?;
    let (kind, extreme) = second(op1).ok_or_else(not_one)?;
    let mut steps = steps(emit, cx, op0, seed)?;
    match kind {
        Second::KeepNan => {
            let y = scan(emit, extreme, &steps, out, ElemType::F32)?;
            let nans = map(&steps, |x| emit.flag(ElementwiseOp::IsNe, x, x))?;
            let nans = scan(emit, ElementwiseOp::Max, &nans, out, ElemType::F32)?;
            let seen = emit.test(ElementwiseOp::IsGt, nans, 0.0)?;
            emit.select(seen, f32::NAN, y)
        }
        Second::Truth => {
            steps = map(&steps, |x| emit.flag(ElementwiseOp::IsNe, x, 0.0))?;
            scan(emit, extreme, &steps, out, cx.to())
        }
        Second::Magnitude => {
            steps = map(&steps, |x| emit.abs(x))?;
            scan(emit, extreme, &steps, out, cx.to())
        }
    }
}

fn map(steps: &Steps, mut f: impl FnMut(Val) -> Emitted) -> Result<Steps, Refusal> {
    Ok(Steps { values: f(steps.values)?, seed: steps.seed.map(f).transpose()? })
}
