//! Rows that bring an operation to a plainer form of itself: nothing to compute, an output cast, a
//! name of the integer band.

use partita_ir::eval::eval_op;
use partita_ir::ops::{Class, ElementwiseOp as Op, Emit, Seed, TensorOp};
use partita_ir::types::{Dims, ElemType, TensorType};
use partita_ir::{FuncBuilder, TensorData};

use super::super::{Built, Emitter, Expansion, OpCx, Refusal, When};
use super::exact;
use super::words::with_sign;
use crate::rewrite::RewriteClass;

pub const EXPANSIONS: &[Expansion] = &[
    Expansion {
        name: "empty-result",
        class: RewriteClass::Exact,
        why: "a result without elements needs no words",
        when: When::Always,
        applies: |cx| cx.result.elements() == Some(0) && !matches!(cx.op, TensorOp::Constant(_)),
        build: |b, cx| Ok(b.constant(TensorData::zeros(cx.result.clone())?)?),
    },
    Expansion {
        name: "fold-of-nothing",
        class: RewriteClass::Exact,
        why: "a fold of no elements is the identity of its operation",
        when: When::Always,
        applies: folds_nothing,
        build: fold_nothing,
    },
    Expansion {
        name: "fold-of-one",
        class: RewriteClass::Exact,
        why: "a fold of one element is that element, converted",
        when: When::Always,
        applies: folds_one,
        build: |b, cx| {
            let mut e = Emitter::new(b, cx);
            let x = e.arg(cx, 0)?;
            let TensorOp::Reduce { op, .. } = cx.op else { return cx.input() };
            let value = if x.dtype.is_int() && cx.to().is_int() && super::reduce::is_sum(*op) {
                e.wrap(x, cx.to())?
            } else {
                e.cast(x, cx.to())?
            };
            let value = e.reshape(value, &cx.result.shape)?;
            e.id(value)
        },
    },
    exact(
        "convert-after",
        "an integer result of the operands' type is converted in a second word",
        converts_after,
        |b, cx| {
            let value = b.op(cx.op.clone(), &cx.operands, &cx.result.with_dtype(cx.dtype()))?;
            Ok(b.cast(value, cx.to())?)
        },
    ),
    exact(
        "band-by-type",
        "an operation of the integer band is the plain one on operands read with its signedness",
        |cx| {
            cx.dtype().is_int()
                && cx.elementwise().is_some_and(|op| plain(op, cx.dtype()).is_some())
        },
        band_by_type,
    ),
    exact(
        "integer-extreme",
        "integers have no NaN, so maximum is max",
        |cx| cx.dtype().is_int() && cx.is_any(&[Op::Maximum, Op::Minimum]),
        |b, cx| {
            let op = if cx.is_any(&[Op::Maximum]) { Op::Max } else { Op::Min };
            Ok(b.elementwise_to(op, &cx.operands, cx.to())?)
        },
    ),
];

fn folds_nothing(cx: &OpCx<'_>) -> bool {
    let Some(ty) = cx.types.first() else { return false };
    match cx.op {
        TensorOp::Reduce { dims, .. } => dims.iter().any(|&dim| ty.shape.get(dim) == Some(&0)),
        TensorOp::PartitionReduce { .. } => ty.elements() == Some(0),
        TensorOp::ScanCache { emit: Emit::Final, .. } => ty.shape.last() == Some(&0),
        _ => false,
    }
}

fn folds_one(cx: &OpCx<'_>) -> bool {
    let TensorOp::Reduce { op, dims, negate: false, .. } = cx.op else { return false };
    let Some(ty) = cx.types.first() else { return false };
    let one = dims.iter().all(|&dim| ty.shape.get(dim) == Some(&1));
    one && !op.is_arg() && !super::reduce::is_logical(*op)
}

fn fold_nothing(b: &mut FuncBuilder, cx: &OpCx<'_>) -> Built {
    let dtype = cx.dtype();
    let empty = TensorData::zeros(TensorType::new([0], dtype))?;
    let (op, shape): (TensorOp, &[u64]) = match cx.op {
        TensorOp::Reduce { op, negate, .. } => {
            let dims = Dims::from_slice(&[0]);
            (TensorOp::Reduce { op: *op, dims, keep: false, negate: *negate }, &[])
        }
        TensorOp::PartitionReduce { op, scale, .. } => {
            let axis = partita_ir::ops::CrossLaneAxis::All;
            (TensorOp::PartitionReduce { op: *op, axis, scale: *scale }, &[])
        }
        TensorOp::ScanCache { seed: Seed::Load, op1, .. } => {
            let mut e = Emitter::new(b, cx);
            let seed = e.arg(cx, 2)?;
            let to = cx.to();
            let modular = super::arith::is_modular(*op1) && to.is_int();
            let value = match dtype.is_float() {
                true => e.cast(seed, ElemType::F32).and_then(|seed| e.cast(seed, to))?,
                false if modular => e.wrap(seed, to)?,
                false => e.cast(seed, to)?,
            };
            let value = e.broadcast(value, &cx.result.shape)?;
            return e.id(value);
        }
        scan => (scan.clone(), &[1]),
    };
    let scalar = TensorType::new(shape.iter().copied(), cx.to());
    let zero = TensorData::splat(TensorType::scalar(dtype), 0)?;
    let operands: &[&TensorData] =
        if matches!(op, TensorOp::ScanCache { .. }) { &[&empty, &zero] } else { &[&empty] };
    let data = eval_op(&op, operands, &scalar, &cx.eval_options())?;
    let identity = data.reshaped(&[]).ok_or_else(|| Refusal::because("it has no identity"))?;
    let identity = b.constant(identity)?;
    Ok(b.broadcast(identity, [], cx.result.shape.iter().copied())?)
}

/// Elementwise operations of integers whose result has the operands' type first.
fn converts_after(cx: &OpCx<'_>) -> bool {
    let Some(op) = cx.elementwise() else { return false };
    let natural = op.natural_dtype(cx.dtype()) != ElemType::I1 || cx.dtype() == ElemType::I1;
    let truth = matches!(op.class(), Class::Compare | Class::IntCompare | Class::Logical);
    cx.dtype().is_int()
        && cx.dtype() != cx.to()
        && natural
        && !truth
        && op.class() != Class::Move
        && !super::arith::is_modular(op)
}

/// What an operation of the integer band is on a type: the plain operation, and whether it reads
/// the operands as signed, as unsigned, or as they are.
pub fn plain(op: Op, dtype: ElemType) -> Option<(Op, Option<bool>)> {
    // The one bit of an `i1` read as signed is 0 or -1: the order turns around.
    let turned = dtype == ElemType::I1;
    let signed = |straight: Op, turned_op: Op| {
        Some((if turned { turned_op } else { straight }, (!turned).then_some(true)))
    };
    match op {
        Op::AddInt => Some((Op::Add, None)),
        Op::SubtractInt => Some((Op::Subtract, None)),
        Op::MultInt => Some((Op::Mult, None)),
        Op::MultUint => Some((Op::Mult, Some(false))),
        Op::DivideInt => Some((Op::Divide, None)),
        Op::DivideUint => Some((Op::Divide, Some(false))),
        Op::Mod | Op::ModInt => Some((Op::Remainder, None)),
        Op::ModUint => Some((Op::Remainder, Some(false))),
        Op::IsEqualInt => Some((Op::IsEq, None)),
        Op::IsNeInt => Some((Op::IsNe, None)),
        Op::AbsMaxInt => Some((Op::AbsMax, None)),
        Op::AbsMinInt => Some((Op::AbsMin, None)),
        Op::AbsDiffInt => Some((Op::AbsoluteDiff, None)),
        Op::MaxInt => signed(Op::Max, Op::Min),
        Op::MinInt => signed(Op::Min, Op::Max),
        Op::IsGtInt => signed(Op::IsGt, Op::IsLt),
        Op::IsGeInt => signed(Op::IsGe, Op::IsLe),
        Op::IsLeInt => signed(Op::IsLe, Op::IsGe),
        Op::IsLtInt => signed(Op::IsLt, Op::IsGt),
        Op::MaxUint => Some((Op::Max, Some(false))),
        Op::MinUint => Some((Op::Min, Some(false))),
        Op::IsGtUint => Some((Op::IsGt, Some(false))),
        Op::IsGeUint => Some((Op::IsGe, Some(false))),
        Op::IsLeUint => Some((Op::IsLe, Some(false))),
        Op::IsLtUint => Some((Op::IsLt, Some(false))),
        _ => None,
    }
}

fn band_by_type(b: &mut FuncBuilder, cx: &OpCx<'_>) -> Built {
    let (op, sign) = cx
        .elementwise()
        .and_then(|op| plain(op, cx.dtype()))
        .ok_or_else(|| Refusal::because("not an operation of the integer band"))?;
    let mut e = Emitter::new(b, cx);
    let dtype = sign.map_or(cx.dtype(), |signed| with_sign(cx.dtype(), signed));
    let args = [e.arg(cx, 0)?, e.arg(cx, 1)?];
    let args = [e.bitcast(args[0], dtype)?, e.bitcast(args[1], dtype)?];
    // What is not a truth value or taken modulo 2ⁿ has the operands' type first.
    let direct = op.natural_dtype(dtype) == ElemType::I1 && dtype != ElemType::I1
        || op.class() == Class::Compare
        || super::arith::is_modular(op);
    let value = e.op(op, &args, if direct { cx.to() } else { dtype })?;
    let value = if direct { value } else { e.bitcast(value, cx.dtype())? };
    let value = e.cast(value, cx.to())?;
    e.id(value)
}
