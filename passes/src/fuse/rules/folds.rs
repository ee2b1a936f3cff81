//! An operation with a scalar before a reduction or scan of rows, in one word (ISA 9.17).
//!
//! A reduction starts as its first element, so that the seed is loaded: −0 changes no
//! sum, 1 no product, and NaN no extreme.

use partita_ir::ops::{Emit, ReduceOp, Seed, TensorOpName};
use partita_ir::{ElemType, ElementwiseOp, FuncBuilder, Literal, Operand, TensorOp, ValueId};
use partita_isa::Opcode;

use super::layout::hangs_on_order;
use super::{Makes, Read, Refusal, Rule, Site};
use crate::rewrite::RewriteClass;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "scalar-operation-into-sum",
        class: RewriteClass::Reassociates,
        doc: "a float sum or product of rows takes along the operation with a scalar before it",
        makes: Makes::Word(Opcode::TensorScalarCacheReduce),
        chain: &[TensorOpName::Reduce, TensorOpName::Elementwise],
        only_exact_words: true,
        build: |b, site| into_reduce(b, site, true),
    },
    Rule {
        name: "scalar-operation-into-extreme",
        class: RewriteClass::Exact,
        doc: "a maximum or minimum of rows takes along the operation with a scalar before it",
        makes: Makes::Word(Opcode::TensorScalarCacheReduce),
        chain: &[TensorOpName::Reduce, TensorOpName::Elementwise],
        only_exact_words: true,
        build: |b, site| into_reduce(b, site, false),
    },
    Rule {
        name: "scalar-operation-into-scan",
        class: RewriteClass::Exact,
        doc: "a scan of rows takes along the operation with a scalar before it",
        makes: Makes::Word(Opcode::TensorScalarCacheCumulative),
        chain: &[TensorOpName::ScanCache, TensorOpName::Elementwise],
        only_exact_words: true,
        build: into_scan,
    },
];

/// The operation with a scalar, as the first step of a scan: the scanned value and the
/// scalar, which stands on the right (CA-6).
fn first_step(
    b: &FuncBuilder,
    site: &Site<'_>,
) -> Result<(ElementwiseOp, ValueId, Operand), Refusal> {
    use ElementwiseOp::{AbsMax, AbsMin, Add, Max, Min, Mult};
    let op = site.elementwise(1)?;
    if !op.is_alu() || !op.is_scan_op0() || op.is_bits() || op == ElementwiseOp::Bypass {
        return Err(Refusal::NoMatch);
    }
    let reads = site.reads(1)?;
    let swaps = matches!(op, Add | Mult | Max | Min | AbsMax | AbsMin);
    let (x, scalar) = match *reads.as_slice() {
        [Read::Value(x)] => (x, Literal::Float(0.0).into()),
        [Read::Value(x), Read::Literal(s)] => (x, s.into()),
        [Read::Literal(s), Read::Value(x)] if swaps => (x, s.into()),
        [Read::Value(x), Read::Value(s)] => {
            let per_row = |row: ValueId, of: ValueId| match (b.ty(row), b.ty(of)) {
                (Some(row), Some(of)) => of.shape.split_last().is_some_and(|(_, rows)| {
                    row.shape.iter().copied().eq(rows.iter().copied().chain([1]))
                }),
                _ => false,
            };
            if per_row(s, x) {
                (x, s.into())
            } else if swaps && per_row(x, s) {
                (s, x.into())
            } else {
                return Err(Refusal::NoMatch);
            }
        }
        _ => return Err(Refusal::NoMatch),
    };
    let ty = b.ty(x).ok_or(Refusal::NoMatch)?;
    let between = site.ty(1)?;
    if !ty.dtype.is_float() || ty.shape != between.shape || between.dtype != ElemType::F32 {
        return Err(Refusal::NoMatch);
    }
    Ok((op, x, scalar))
}

fn into_reduce(b: &mut FuncBuilder, site: &Site<'_>, ordered: bool) -> Result<ValueId, Refusal> {
    let TensorOp::Reduce { op, dims, negate: false, .. } = site.op(0)? else {
        return Err(Refusal::NoMatch);
    };
    let (op1, seed) = match op {
        ReduceOp::Add => (ElementwiseOp::Add, Literal::Float(-0.0)),
        ReduceOp::Mult => (ElementwiseOp::Mult, Literal::Float(1.0)),
        ReduceOp::Max => (ElementwiseOp::Max, Literal::Float(f64::NAN)),
        ReduceOp::Min => (ElementwiseOp::Min, Literal::Float(f64::NAN)),
        _ => return Err(Refusal::NoMatch),
    };
    let (between, result) = (site.ty(1)?, site.ty(0)?);
    let last = between.rank().checked_sub(1).ok_or(Refusal::NoMatch)?;
    if dims.as_slice() != [last]
        || between.shape.contains(&0)
        || hangs_on_order(*op, between, result) != ordered
    {
        return Err(Refusal::NoMatch);
    }
    let (op0, x, scalar) = first_step(b, site)?;
    let scan = TensorOp::ScanCache { op0, op1, seed: Seed::Load, emit: Emit::Final };
    let folded = b.op(scan, &[x.into(), scalar, seed.into()], result)?;
    if b.ty(folded) == Some(result) {
        return Ok(folded);
    }
    Ok(b.reshape(folded, result.shape.iter().copied())?)
}

fn into_scan(b: &mut FuncBuilder, site: &Site<'_>) -> Result<ValueId, Refusal> {
    let TensorOp::ScanCache { op0: ElementwiseOp::Bypass, op1, seed, emit } = *site.op(0)? else {
        return Err(Refusal::NoMatch);
    };
    let reads = site.reads(0)?;
    if reads.first() != Some(&Read::Chain) {
        return Err(Refusal::NoMatch);
    }
    let (op0, x, scalar) = first_step(b, site)?;
    // A literal seed takes the type of what is scanned.
    if seed == Seed::Load && b.ty(x).is_none_or(|ty| ty.dtype != ElemType::F32) {
        return Err(Refusal::NoMatch);
    }
    let mut operands = vec![x.into(), scalar];
    operands.extend(reads.get(2).copied().and_then(Read::operand));
    let scan = TensorOp::ScanCache { op0, op1, seed, emit };
    Ok(b.op(scan, &operands, site.ty(0)?)?)
}
