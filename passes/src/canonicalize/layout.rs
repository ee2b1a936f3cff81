//! Identities of operations that move elements.

use partita_ir::ops::{SliceRange, TensorOpName};
use partita_ir::types::Dims;
use partita_ir::{TensorOp, ValueId};
use smallvec::SmallVec;

use super::identities::{Context, Identity, Step, unary};

pub(super) const IDENTITIES: &[Identity] = &[
    Identity {
        name: "transpose-of-transpose",
        doc: "two transposes are one",
        root: TensorOpName::Transpose,
        apply: transpose_of_transpose,
    },
    Identity {
        name: "transpose-of-units",
        doc: "a transpose that moves only dimensions of size 1 is a reshape",
        root: TensorOpName::Transpose,
        apply: transpose_of_units,
    },
    Identity {
        name: "reshape-of-reshape",
        doc: "only the last of several reshapes counts; one to the same shape is nothing",
        root: TensorOpName::Reshape,
        apply: reshape_of_reshape,
    },
    Identity {
        name: "broadcast-of-broadcast",
        doc: "two broadcasts are one",
        root: TensorOpName::Broadcast,
        apply: broadcast_of_broadcast,
    },
    Identity {
        name: "broadcast-of-units",
        doc: "a broadcast that adds no elements and keeps their order is a reshape",
        root: TensorOpName::Broadcast,
        apply: broadcast_of_units,
    },
    Identity {
        name: "slice-of-whole",
        doc: "a slice that takes everything is its operand",
        root: TensorOpName::Slice,
        apply: same_type,
    },
    Identity {
        name: "slice-of-slice",
        doc: "two slices are one",
        root: TensorOpName::Slice,
        apply: slice_of_slice,
    },
    Identity {
        name: "reverse-of-units",
        doc: "reversing dimensions of size 1, or none, moves nothing",
        root: TensorOpName::Reverse,
        apply: reverse_of_units,
    },
    Identity {
        name: "reverse-of-reverse",
        doc: "reversing twice moves nothing",
        root: TensorOpName::Reverse,
        apply: reverse_of_reverse,
    },
    Identity {
        name: "concat-of-one",
        doc: "a concatenation of one operand is the operand",
        root: TensorOpName::Concat,
        apply: concat_of_one,
    },
    Identity {
        name: "pad-of-nothing",
        doc: "padding by nothing is the operand",
        root: TensorOpName::Pad,
        apply: pad_of_nothing,
    },
];

/// `outer` after `inner`, both as `result.dim[i] = operand.dim[perm[i]]`.
pub(crate) fn compose(outer: &[usize], inner: &[usize]) -> Option<Dims> {
    outer.iter().map(|&dim| inner.get(dim).copied()).collect()
}

/// True when a permutation keeps the order of all dimensions that are not 1.
pub(crate) fn keeps_order(perm: &[usize], shape: &[u64]) -> bool {
    perm.iter().filter(|&&dim| shape.get(dim).is_some_and(|&size| size != 1)).is_sorted()
}

fn same_type(cx: &mut Context<'_>) -> Option<Step> {
    cx.same_type(0).map(Step::Value)
}

/// The operand of the operation that defines operand 0, which has one.
fn inner_operand(cx: &Context<'_>) -> Option<ValueId> {
    cx.operand_def(0)?.1.first()?.value()
}

fn transpose_of_transpose(cx: &mut Context<'_>) -> Option<Step> {
    let TensorOp::Transpose { perm: outer } = cx.kind()? else { return None };
    let (TensorOp::Transpose { perm: inner }, _) = cx.operand_def(0)? else { return None };
    let perm = compose(outer, inner)?;
    unary(TensorOp::Transpose { perm }, inner_operand(cx)?)
}

fn transpose_of_units(cx: &mut Context<'_>) -> Option<Step> {
    let TensorOp::Transpose { perm } = cx.kind()? else { return None };
    let operand = cx.value(0)?;
    let in_order = keeps_order(perm, &cx.value_ty(operand)?.shape);
    in_order.then(|| unary(TensorOp::Reshape, operand))?
}

fn reshape_of_reshape(cx: &mut Context<'_>) -> Option<Step> {
    if let Some(same) = cx.same_type(0) {
        return Some(Step::Value(same));
    }
    let (TensorOp::Reshape, _) = cx.operand_def(0)? else { return None };
    unary(TensorOp::Reshape, inner_operand(cx)?)
}

fn broadcast_of_broadcast(cx: &mut Context<'_>) -> Option<Step> {
    let TensorOp::Broadcast { dims: outer } = cx.kind()? else { return None };
    let (TensorOp::Broadcast { dims: inner }, _) = cx.operand_def(0)? else { return None };
    let dims = compose(inner, outer)?;
    unary(TensorOp::Broadcast { dims }, inner_operand(cx)?)
}

fn broadcast_of_units(cx: &mut Context<'_>) -> Option<Step> {
    let TensorOp::Broadcast { dims } = cx.kind()? else { return None };
    let operand = cx.value(0)?;
    let from = cx.value_ty(operand)?;
    let moved = dims.iter().zip(&from.shape).filter(|&(_, &size)| size != 1).map(|(&dim, _)| dim);
    let in_order = moved.is_sorted() && from.elements() == cx.ty()?.elements();
    in_order.then(|| unary(TensorOp::Reshape, operand))?
}

fn slice_of_slice(cx: &mut Context<'_>) -> Option<Step> {
    let TensorOp::Slice { ranges: outer } = cx.kind()? else { return None };
    let (TensorOp::Slice { ranges: inner }, _) = cx.operand_def(0)? else { return None };
    let merged = outer.iter().zip(inner).map(|(outer, inner)| {
        let at = |index: u64| index.checked_mul(inner.stride)?.checked_add(inner.start);
        let stride = outer.stride.checked_mul(inner.stride)?;
        if outer.limit == outer.start {
            return Some(SliceRange { start: inner.start, limit: inner.start, stride: 1 });
        }
        // One past the last element taken.
        let steps = (outer.limit - outer.start - 1) / outer.stride;
        let last = at(outer.start)?.checked_add(steps.checked_mul(stride)?)?;
        Some(SliceRange { start: at(outer.start)?, limit: last.checked_add(1)?, stride })
    });
    let ranges: SmallVec<[SliceRange; 4]> = merged.collect::<Option<_>>()?;
    unary(TensorOp::Slice { ranges }, inner_operand(cx)?)
}

fn reverse_of_units(cx: &mut Context<'_>) -> Option<Step> {
    let TensorOp::Reverse { dims } = cx.kind()? else { return None };
    let operand = cx.same_type(0)?;
    let shape = &cx.value_ty(operand)?.shape;
    dims.iter().all(|&dim| shape.get(dim) == Some(&1)).then_some(Step::Value(operand))
}

fn reverse_of_reverse(cx: &mut Context<'_>) -> Option<Step> {
    let TensorOp::Reverse { dims: outer } = cx.kind()? else { return None };
    let (TensorOp::Reverse { dims: inner }, _) = cx.operand_def(0)? else { return None };
    let mut dims: Dims = outer.iter().chain(inner).copied().collect();
    dims.retain(|&mut dim| outer.contains(&dim) != inner.contains(&dim));
    dims.sort_unstable();
    unary(TensorOp::Reverse { dims }, inner_operand(cx)?)
}

fn concat_of_one(cx: &mut Context<'_>) -> Option<Step> {
    (cx.op().operands.len() == 1).then(|| cx.same_type(0).map(Step::Value))?
}

fn pad_of_nothing(cx: &mut Context<'_>) -> Option<Step> {
    let TensorOp::Pad { amounts } = cx.kind()? else { return None };
    let nothing =
        amounts.iter().all(|amount| amount.low == 0 && amount.high == 0 && amount.interior == 0);
    nothing.then(|| cx.same_type(0).map(Step::Value))?
}
