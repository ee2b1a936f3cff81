//! Conversions and signs that the operation before takes along.

use partita_ir::ops::TensorOpName;
use partita_ir::{ElemType, ElementwiseOp, FuncBuilder, TensorOp, TensorType, ValueId};

use super::{Makes, Read, Refusal, Rule, Site};
use crate::rewrite::RewriteClass;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "cast-into-elementwise",
        class: RewriteClass::Exact,
        doc: "a cast of an f32 result of float operands is the operation's own output conversion",
        makes: Makes::Form("the operation with another result type"),
        chain: &[TensorOpName::Cast, TensorOpName::Elementwise],
        only_exact_words: false,
        build: cast_into_producer,
    },
    Rule {
        name: "cast-into-reduce",
        class: RewriteClass::Exact,
        doc: "a cast of the f32 result of a reduction of floats is its own output conversion",
        makes: Makes::Form("the reduction with another result type"),
        chain: &[TensorOpName::Cast, TensorOpName::Reduce],
        only_exact_words: false,
        build: cast_into_producer,
    },
    Rule {
        name: "cast-out-of-pair",
        class: RewriteClass::Exact,
        doc: "a cast of the f32 result of two operations in one is their output conversion",
        makes: Makes::Form("the word with another result type"),
        chain: &[TensorOpName::Cast, TensorOpName::Pair],
        only_exact_words: true,
        build: cast_into_producer,
    },
    Rule {
        name: "truth-as-number",
        class: RewriteClass::Exact,
        doc: "a test of floats whose truth value is cast gives 0 or 1 of that type itself",
        makes: Makes::Form("the test with another result type"),
        chain: &[TensorOpName::Cast, TensorOpName::Elementwise],
        only_exact_words: true,
        build: truth_as_number,
    },
    Rule {
        name: "negation-into-reduce",
        class: RewriteClass::Exact,
        doc: "a reduction to f32 times -1 is the negated reduction",
        makes: Makes::Form("the reduction with `negate`"),
        chain: &[TensorOpName::Elementwise, TensorOpName::Reduce],
        only_exact_words: false,
        build: negation_into_reduce,
    },
];

/// The operation computes in fp32 and rounds its result once (ISA 10.1).
fn computes_in_fp32(b: &FuncBuilder, site: &Site<'_>, op: &TensorOp) -> bool {
    let floats = site.inputs.iter().all(|&input| b.ty(input).is_some_and(|ty| ty.dtype.is_float()));
    match op {
        TensorOp::Elementwise(op) => {
            !site.inputs.is_empty()
                && floats
                && !matches!(op, ElementwiseOp::Copy | ElementwiseOp::Bypass)
        }
        TensorOp::Reduce { op, .. } => floats && !op.is_arg(),
        TensorOp::Pair { op0, .. } => !op0.is_bits(),
        _ => false,
    }
}

fn cast_into_producer(b: &mut FuncBuilder, site: &Site<'_>) -> Result<ValueId, Refusal> {
    let (TensorOp::Cast, producer) = (site.op(0)?, site.op(1)?) else {
        return Err(Refusal::NoMatch);
    };
    if site.ty(1)?.dtype != ElemType::F32 || !computes_in_fp32(b, site, producer) {
        return Err(Refusal::NoMatch);
    }
    Ok(b.op(producer.clone(), &site.operands(1)?, site.ty(0)?)?)
}

fn truth_as_number(b: &mut FuncBuilder, site: &Site<'_>) -> Result<ValueId, Refusal> {
    let test = site.elementwise(1)?;
    let floats = site.inputs.iter().all(|&input| b.ty(input).is_some_and(|ty| ty.dtype.is_float()));
    let truth = test.alu().is_some_and(partita_isa::AluOp::is_truth);
    if !floats || !truth || site.ty(1)?.dtype != ElemType::I1 || site.ty(0)?.dtype == ElemType::I1 {
        return Err(Refusal::NoMatch);
    }
    Ok(b.op(TensorOp::Elementwise(test), &site.operands(1)?, site.ty(0)?)?)
}

fn negation_into_reduce(b: &mut FuncBuilder, site: &Site<'_>) -> Result<ValueId, Refusal> {
    let TensorOp::Elementwise(ElementwiseOp::Mult) = site.op(0)? else {
        return Err(Refusal::NoMatch);
    };
    let TensorOp::Reduce { op, dims, keep, negate } = site.op(1)? else {
        return Err(Refusal::NoMatch);
    };
    let minus_one = site.reads(0)?.iter().any(|read| match read {
        Read::Literal(literal) => {
            literal.to_bits(ElemType::F32) == Ok(u64::from((-1f32).to_bits()))
        }
        _ => false,
    });
    let floats = b.ty(site.input()?).is_some_and(|ty| ty.dtype.is_float());
    if !minus_one || !floats || op.is_arg() || op.is_bitwise() || site.ty(1)?.dtype != ElemType::F32
    {
        return Err(Refusal::NoMatch);
    }
    let op = TensorOp::Reduce { op: *op, dims: dims.clone(), keep: *keep, negate: !negate };
    let want: &TensorType = site.ty(0)?;
    Ok(b.op(op, &[site.input()?.into()], want)?)
}
