//! Reductions of reductions.

use partita_ir::ops::{ReduceOp, TensorOpName};
use partita_ir::types::Dims;
use partita_ir::{ElemType, FuncBuilder, TensorOp, TensorType, ValueId};

use super::layout::hangs_on_order;
use super::partitions::in_shape;
use super::{Makes, Refusal, Rule, Site};
use crate::rewrite::RewriteClass;

const TWO: &[TensorOpName] = &[TensorOpName::Reduce, TensorOpName::Reduce];

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "sum-of-sums",
        class: RewriteClass::Reassociates,
        doc: "a float sum or product of sums or products is one over all dimensions",
        makes: Makes::Form("one reduction"),
        chain: TWO,
        only_exact_words: false,
        build: |b, site| reduce_of_reduce(b, site, true),
    },
    Rule {
        name: "reduce-of-reduce",
        class: RewriteClass::Exact,
        doc: "a reduction of reductions that does not hang on the order is one over all dimensions",
        makes: Makes::Form("one reduction"),
        chain: TWO,
        only_exact_words: false,
        build: |b, site| reduce_of_reduce(b, site, false),
    },
];

fn reduce_of_reduce(
    b: &mut FuncBuilder,
    site: &Site<'_>,
    ordered: bool,
) -> Result<ValueId, Refusal> {
    let TensorOp::Reduce { op, dims: outer, negate, .. } = site.op(0)? else {
        return Err(Refusal::NoMatch);
    };
    let TensorOp::Reduce { op: inner_op, dims: inner, keep, negate: false } = site.op(1)? else {
        return Err(Refusal::NoMatch);
    };
    let (x, between, result) = (site.input()?, site.ty(1)?.dtype, site.ty(0)?);
    let ty = b.ty(x).cloned().ok_or(Refusal::NoMatch)?;
    let whole = match op {
        // What is between is rounded no more than fp32 is, or counts modulo what the result does.
        ReduceOp::Add | ReduceOp::Mult if ty.dtype.is_float() => between == ElemType::F32,
        ReduceOp::Add | ReduceOp::Mult => between.is_int() && between == result.dtype,
        ReduceOp::Max | ReduceOp::Min | ReduceOp::Maximum | ReduceOp::Minimum => {
            between == ty.dtype || between == ElemType::F32 && ty.dtype.is_float()
        }
        ReduceOp::BitwiseAnd | ReduceOp::BitwiseOr | ReduceOp::BitwiseXor => between == ty.dtype,
        _ => false,
    };
    if op != inner_op || !whole || hangs_on_order(*op, &ty, result) != ordered {
        return Err(Refusal::NoMatch);
    }
    // Where the dimensions of what is between lie in the operand.
    let kept: Dims = (0..ty.rank()).filter(|dim| *keep || !inner.contains(dim)).collect();
    let moved = outer.iter().map(|&dim| kept.get(dim).copied());
    let mut dims: Dims = moved
        .collect::<Option<Dims>>()
        .ok_or(Refusal::NoMatch)?
        .into_iter()
        .chain(inner.iter().copied())
        .collect();
    dims.sort_unstable();
    dims.dedup();
    let reduce = TensorOp::Reduce { op: *op, dims, keep: false, negate: *negate };
    let reduced = b.op(reduce, &[x.into()], &TensorType::scalar(result.dtype))?;
    in_shape(b, reduced, result)
}
