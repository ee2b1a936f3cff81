//! Transposes that cancel, merge, or need not move anything.

use partita_ir::ops::{ReduceOp, TensorOpName};
use partita_ir::types::Dims;
use partita_ir::{FuncBuilder, Operand, TensorOp, TensorType, ValueId};

use super::{Makes, Read, Refusal, Rule, Site};
use crate::canonicalize::layout::{compose, keeps_order};
use crate::rewrite::RewriteClass;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "transpose-of-transpose",
        class: RewriteClass::Exact,
        doc: "two transposes are one",
        makes: Makes::Form("one tensor.transpose"),
        chain: &[TensorOpName::Transpose, TensorOpName::Transpose],
        only_exact_words: false,
        build: transpose_of_transpose,
    },
    Rule {
        name: "transpose-of-units",
        class: RewriteClass::Exact,
        doc: "a transpose that moves only dimensions of size 1 is a reshape",
        makes: Makes::Form("tensor.reshape"),
        chain: &[TensorOpName::Transpose],
        only_exact_words: false,
        build: transpose_of_units,
    },
    Rule {
        name: "sum-of-transpose",
        class: RewriteClass::Reassociates,
        doc: "a float sum or product of a transpose reduces the dimensions where they were",
        makes: Makes::Form("a reduction without the transpose"),
        chain: &[TensorOpName::Reduce, TensorOpName::Transpose],
        only_exact_words: false,
        build: |b, site| reduce_of_transpose(b, site, true),
    },
    Rule {
        name: "reduce-of-transpose",
        class: RewriteClass::Exact,
        doc: "a reduction that does not hang on the order reduces the dimensions where they were",
        makes: Makes::Form("a reduction without the transpose"),
        chain: &[TensorOpName::Reduce, TensorOpName::Transpose],
        only_exact_words: false,
        build: |b, site| reduce_of_transpose(b, site, false),
    },
    Rule {
        name: "operation-before-broadcast",
        class: RewriteClass::Exact,
        doc: "an operation on a broadcast and literals is done before the broadcast, on fewer elements",
        makes: Makes::Form("the operation on fewer elements"),
        chain: &[TensorOpName::Elementwise, TensorOpName::Broadcast],
        only_exact_words: false,
        build: before_broadcast,
    },
    Rule {
        name: "cast-before-broadcast",
        class: RewriteClass::Exact,
        doc: "a cast of a broadcast is done before the broadcast, on fewer elements",
        makes: Makes::Form("the cast of fewer elements"),
        chain: &[TensorOpName::Cast, TensorOpName::Broadcast],
        only_exact_words: false,
        build: before_broadcast,
    },
];

fn before_broadcast(b: &mut FuncBuilder, site: &Site<'_>) -> Result<ValueId, Refusal> {
    let (op, TensorOp::Broadcast { dims }) = (site.op(0)?, site.op(1)?) else {
        return Err(Refusal::NoMatch);
    };
    let x = site.input()?;
    let fewer = b.ty(x).and_then(TensorType::elements) < site.ty(1)?.elements();
    if site.inputs.len() != 1 || !fewer {
        return Err(Refusal::NoMatch);
    }
    // The broadcast once; twice it would be an input as well.
    let operand = |read| match read {
        Read::Chain => Operand::Value(x),
        Read::Value(value) => Operand::Value(value),
        Read::Literal(literal) => Operand::Literal(literal),
    };
    let operands: Vec<Operand> = site.reads(0)?.into_iter().map(operand).collect();
    let result = site.ty(0)?;
    let made = b.op(op.clone(), &operands, &TensorType::scalar(result.dtype))?;
    Ok(b.broadcast(made, dims.iter().copied(), result.shape.iter().copied())?)
}

fn transpose_of_transpose(b: &mut FuncBuilder, site: &Site<'_>) -> Result<ValueId, Refusal> {
    let (TensorOp::Transpose { perm: outer }, TensorOp::Transpose { perm: inner }) =
        (site.op(0)?, site.op(1)?)
    else {
        return Err(Refusal::NoMatch);
    };
    let perm = compose(outer, inner).ok_or(Refusal::NoMatch)?;
    let x = site.input()?;
    if perm.iter().enumerate().all(|(to, &from)| to == from) {
        return Ok(x);
    }
    Ok(b.transpose(x, perm)?)
}

fn transpose_of_units(b: &mut FuncBuilder, site: &Site<'_>) -> Result<ValueId, Refusal> {
    let TensorOp::Transpose { perm } = site.op(0)? else { return Err(Refusal::NoMatch) };
    let x = site.input()?;
    let shape = b.ty(x).map(|ty| ty.shape.clone()).ok_or(Refusal::NoMatch)?;
    if !keeps_order(perm, &shape) {
        return Err(Refusal::NoMatch);
    }
    Ok(b.reshape(x, site.ty(0)?.shape.iter().copied())?)
}

/// True of a reduction whose result hangs on the order of its elements.
pub(super) fn hangs_on_order(op: ReduceOp, ty: &TensorType, result: &TensorType) -> bool {
    let rounds = ty.dtype.is_float() || (result.dtype.is_float() && op == ReduceOp::Mult);
    matches!(op, ReduceOp::Add | ReduceOp::Mult) && rounds
}

fn reduce_of_transpose(
    b: &mut FuncBuilder,
    site: &Site<'_>,
    ordered: bool,
) -> Result<ValueId, Refusal> {
    let (TensorOp::Reduce { op, dims, keep, negate }, TensorOp::Transpose { perm }) =
        (site.op(0)?, site.op(1)?)
    else {
        return Err(Refusal::NoMatch);
    };
    let x = site.input()?;
    let (ty, result) = (b.ty(x).cloned().ok_or(Refusal::NoMatch)?, site.ty(0)?);
    if op.is_arg() || hangs_on_order(*op, &ty, result) != ordered {
        return Err(Refusal::NoMatch);
    }
    let mut moved = compose(dims, perm).ok_or(Refusal::NoMatch)?;
    moved.sort_unstable();
    let reduce = TensorOp::Reduce { op: *op, dims: moved.clone(), keep: false, negate: *negate };
    let reduced = b.op(reduce, &[x.into()], &TensorType::scalar(result.dtype))?;
    // The kept dimensions as they lie now, in the order in which they are wanted.
    let kept: Dims = (0..ty.rank()).filter(|dim| !moved.contains(dim)).collect();
    let wanted = perm.iter().filter(|dim| !moved.contains(dim));
    let order: Option<Dims> = wanted.map(|dim| kept.iter().position(|kept| kept == dim)).collect();
    let order = order.ok_or(Refusal::NoMatch)?;
    let in_order = if order.is_sorted() { reduced } else { b.transpose(reduced, order)? };
    if *keep { Ok(b.reshape(in_order, result.shape.iter().copied())?) } else { Ok(in_order) }
}
