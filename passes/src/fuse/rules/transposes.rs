//! Transposes by words: blocks of 32 × 32 are turned on the chip (ISA 9.12), which may take operations with scalars
//! along (ISA 9.16).

use partita_ir::ops::TensorOpName;
use partita_ir::types::Dims;
use partita_ir::{ElemType, ElementwiseOp, FuncBuilder, Operand, TensorOp, TensorType, ValueId};
use partita_isa::Opcode;

use super::pairs::{as_fp32, fits_a_pair};
use super::partitions::in_shape;
use super::{Makes, Read, Refusal, Rule, Site};
use crate::blocks::BLOCK;
use crate::rewrite::RewriteClass;

const WITH_SCALARS: Makes = Makes::Word(Opcode::TransposeTensorScalarArithOp);

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "transpose-by-blocks",
        class: RewriteClass::Exact,
        doc: "a transpose of two dimensions turns blocks of 32 by 32",
        makes: Makes::Word(Opcode::StreamTranspose),
        chain: &[TensorOpName::Transpose],
        only_exact_words: true,
        build: by_blocks,
    },
    Rule {
        name: "reduce-after-transpose",
        class: RewriteClass::Exact,
        doc: "a reduction of leading dimensions is one along the rows of the transpose",
        makes: Makes::Form("a reduction of rows after a transpose by blocks"),
        chain: &[TensorOpName::Reduce],
        only_exact_words: false,
        build: reduce_after,
    },
    Rule {
        name: "operation-after-transpose",
        class: RewriteClass::Exact,
        doc: "an operation with a scalar after a transpose by blocks is done on the way",
        makes: WITH_SCALARS,
        chain: &[TensorOpName::Elementwise, TensorOpName::TransposePair],
        only_exact_words: true,
        build: operation_after,
    },
    Rule {
        name: "operation-before-transpose",
        class: RewriteClass::Exact,
        doc: "an operation with a scalar before a transpose by blocks is done on the way",
        makes: WITH_SCALARS,
        chain: &[TensorOpName::TransposePair, TensorOpName::Elementwise],
        only_exact_words: true,
        build: operation_before,
    },
    Rule {
        name: "pair-after-transpose",
        class: RewriteClass::Exact,
        doc: "two operations with scalars after a transpose by blocks are done on the way",
        makes: WITH_SCALARS,
        chain: &[TensorOpName::Pair, TensorOpName::TransposePair],
        only_exact_words: true,
        build: pair_with,
    },
    Rule {
        name: "pair-before-transpose",
        class: RewriteClass::Exact,
        doc: "two operations with scalars before a transpose by blocks are done on the way",
        makes: WITH_SCALARS,
        chain: &[TensorOpName::TransposePair, TensorOpName::Pair],
        only_exact_words: true,
        build: pair_with,
    },
    Rule {
        name: "cast-after-transpose",
        class: RewriteClass::Exact,
        doc: "a cast of floats after a transpose by blocks is its output conversion",
        makes: WITH_SCALARS,
        chain: &[TensorOpName::Cast, TensorOpName::TransposePair],
        only_exact_words: true,
        build: cast_after,
    },
];

/// The shape `[B, P, F]` (or `[P, F]` where B is 1) in which a permutation exchanges the last two dimensions.
fn as_matrices(perm: &[usize], shape: &[u64]) -> Option<Dims> {
    let size = |dim: usize| shape.get(dim).copied().unwrap_or(1);
    // Dimensions that stay side by side are one.
    let mut runs: Vec<Vec<usize>> = Vec::new();
    let before = |a: usize, b: usize| b > a && (a + 1..b).all(|dim| size(dim) == 1);
    for &dim in perm.iter().filter(|&&dim| size(dim) != 1) {
        match runs.last_mut() {
            Some(run) if run.last().is_some_and(|&last| before(last, dim)) => run.push(dim),
            _ => runs.push(vec![dim]),
        }
    }
    let sizes: Option<Vec<usize>> = runs
        .iter()
        .map(|run| {
            let product = run.iter().map(|&dim| size(dim)).try_fold(1u64, u64::checked_mul)?;
            usize::try_from(product).ok()
        })
        .collect();
    let first = |run: usize| runs.get(run).and_then(|run| run.first().copied());
    match *sizes?.as_slice() {
        [columns, rows] if first(1) < first(0) => Some(Dims::from_slice(&[rows, columns])),
        [batch, columns, rows] if first(0) < first(2) && first(2) < first(1) => {
            Some(Dims::from_slice(&[batch, rows, columns]))
        }
        _ => None,
    }
}

fn by_blocks(b: &mut FuncBuilder, site: &Site<'_>) -> Result<ValueId, Refusal> {
    let TensorOp::Transpose { perm } = site.op(0)? else { return Err(Refusal::NoMatch) };
    let (x, result) = (site.input()?, site.ty(0)?);
    let ty = b.ty(x).cloned().ok_or(Refusal::NoMatch)?;
    let matrices = as_matrices(perm, &ty.shape).ok_or(Refusal::NoMatch)?;
    let shape = matrices.iter().map(|&size| size as u64);
    let turned = turned(b, x, shape.collect())?;
    in_shape(b, turned, result)
}

/// `[…, P, F]` of these elements with the last two dimensions in the other order.
fn turned(b: &mut FuncBuilder, x: ValueId, shape: Vec<u64>) -> Result<ValueId, Refusal> {
    let [.., rows, columns] = shape.as_slice() else { return Err(Refusal::NoMatch) };
    // Smaller ones are a few bytes.
    if *rows < BLOCK || *columns < BLOCK {
        return Err(Refusal::NoMatch);
    }
    let dtype = b.ty(x).map(|ty| ty.dtype).ok_or(Refusal::NoMatch)?;
    let flat = if b.ty(x).is_some_and(|ty| ty.shape.as_slice() == shape) {
        x
    } else {
        b.reshape(x, shape)?
    };
    let copy = ElementwiseOp::Copy;
    let op = TensorOp::TransposePair { op0: copy, op1: copy, reverse: false };
    Ok(b.op(op, &[flat.into()], &TensorType::scalar(dtype))?)
}

fn reduce_after(b: &mut FuncBuilder, site: &Site<'_>) -> Result<ValueId, Refusal> {
    let TensorOp::Reduce { op, dims, negate, .. } = site.op(0)? else {
        return Err(Refusal::NoMatch);
    };
    let (x, result) = (site.input()?, site.ty(0)?);
    let ty = b.ty(x).cloned().ok_or(Refusal::NoMatch)?;
    let leads = (0..dims.len()).all(|dim| dims.contains(&dim));
    let (outer, inner) = ty.shape.split_at(dims.len().min(ty.rank()));
    let count = |sizes: &[u64]| sizes.iter().copied().try_fold(1u64, u64::checked_mul);
    let (Some(rows), Some(columns)) = (count(outer), count(inner)) else {
        return Err(Refusal::NoMatch);
    };
    // The place of an extreme among several dimensions is counted in their order.
    if !leads || dims.is_empty() || op.is_arg() && dims.len() > 1 {
        return Err(Refusal::NoMatch);
    }
    let turned = turned(b, x, vec![rows, columns])?;
    let reduce =
        TensorOp::Reduce { op: *op, dims: Dims::from_slice(&[1]), keep: false, negate: *negate };
    let reduced = b.op(reduce, &[turned.into()], &TensorType::scalar(result.dtype))?;
    in_shape(b, reduced, result)
}

/// An operation with literals, whose only value is `x` or what the chain makes: its operands, that one as `x`.
fn with_literals(
    site: &Site<'_>,
    index: usize,
    x: ValueId,
    dtype: ElemType,
) -> Result<Vec<Operand>, Refusal> {
    let operand = |read| match read {
        Read::Chain | Read::Value(_) => Some(Operand::Value(x)),
        Read::Literal(literal) => as_fp32(literal, dtype).map(Operand::Literal),
    };
    let reads = site.reads(index)?;
    let literals = reads.iter().filter(|read| matches!(read, Read::Literal(_))).count();
    if reads.len() - literals != 1 {
        return Err(Refusal::NoMatch);
    }
    reads.into_iter().map(operand).collect::<Option<_>>().ok_or(Refusal::NoMatch)
}

/// True of a value of floats that fp32 holds.
fn is_float(b: &FuncBuilder, value: ValueId) -> bool {
    b.ty(value).is_some_and(|ty| ty.dtype.is_float() && ty.dtype.width() <= 32)
}

fn turn(
    b: &mut FuncBuilder,
    [op0, op1]: [ElementwiseOp; 2],
    reverse: bool,
    operands: &[Operand],
    dtype: ElemType,
) -> Result<ValueId, Refusal> {
    let op = TensorOp::TransposePair { op0, op1, reverse };
    Ok(b.op(op, operands, &TensorType::scalar(dtype))?)
}

fn operation_after(b: &mut FuncBuilder, site: &Site<'_>) -> Result<ValueId, Refusal> {
    let op = site.elementwise(0)?;
    let TensorOp::TransposePair { op0, op1: ElementwiseOp::Copy, .. } = *site.op(1)? else {
        return Err(Refusal::NoMatch);
    };
    let x = site.input()?;
    let (between, result) = (site.ty(1)?.dtype, site.ty(0)?.dtype);
    if site.inputs.len() != 1 || !fits_a_pair(op, false) || !is_float(b, x) {
        return Err(Refusal::NoMatch);
    }
    let outer = with_literals(site, 0, x, between)?;
    if op0 == ElementwiseOp::Copy {
        // Nothing is done before; what it reads is exact in fp32.
        if b.ty(x).is_none_or(|ty| ty.dtype != between) {
            return Err(Refusal::NoMatch);
        }
        return turn(b, [op, ElementwiseOp::Copy], false, &outer, result);
    }
    if between != ElemType::F32 {
        return Err(Refusal::NoMatch);
    }
    two_on_the_way(b, [op0, op], x, [site.operands(1)?, outer], result)
}

/// One operation, then another that reads what the first gives in the place of `x`.
fn two_on_the_way(
    b: &mut FuncBuilder,
    ops: [ElementwiseOp; 2],
    x: ValueId,
    [inner, outer]: [Vec<Operand>; 2],
    dtype: ElemType,
) -> Result<ValueId, Refusal> {
    let reverse = outer.len() == 2 && outer[1] == Operand::Value(x);
    let mut operands = inner;
    operands.extend(outer.into_iter().filter(|operand| *operand != Operand::Value(x)));
    turn(b, ops, reverse, &operands, dtype)
}

fn operation_before(b: &mut FuncBuilder, site: &Site<'_>) -> Result<ValueId, Refusal> {
    let op = site.elementwise(1)?;
    let TensorOp::TransposePair { op0, op1: ElementwiseOp::Copy, .. } = *site.op(0)? else {
        return Err(Refusal::NoMatch);
    };
    let x = site.input()?;
    let (between, result) = (site.ty(1)?.dtype, site.ty(0)?.dtype);
    if site.inputs.len() != 1 || !fits_a_pair(op, false) || !is_float(b, x) {
        return Err(Refusal::NoMatch);
    }
    let dtype = b.ty(x).map(|ty| ty.dtype).ok_or(Refusal::NoMatch)?;
    let inner = with_literals(site, 1, x, dtype)?;
    if op0 == ElementwiseOp::Copy {
        // What is moved is what the operation gives.
        if between != result {
            return Err(Refusal::NoMatch);
        }
        return turn(b, [op, ElementwiseOp::Copy], false, &inner, result);
    }
    if between != ElemType::F32 {
        return Err(Refusal::NoMatch);
    }
    let outer = with_literals(site, 0, x, ElemType::F32)?;
    two_on_the_way(b, [op, op0], x, [inner, outer], result)
}

/// A pair with literals on either side of a transpose that does nothing else.
fn pair_with(b: &mut FuncBuilder, site: &Site<'_>) -> Result<ValueId, Refusal> {
    let copy = ElementwiseOp::Copy;
    let (pair, at) = match (site.op(0)?, site.op(1)?) {
        (pair @ TensorOp::Pair { .. }, TensorOp::TransposePair { op0, op1, .. })
            if [*op0, *op1] == [copy; 2] =>
        {
            (pair, 0)
        }
        (TensorOp::TransposePair { op0, op1, .. }, pair @ TensorOp::Pair { .. })
            if [*op0, *op1] == [copy; 2] =>
        {
            (pair, 1)
        }
        _ => return Err(Refusal::NoMatch),
    };
    let TensorOp::Pair { op0, op1, reverse } = *pair else { return Err(Refusal::NoMatch) };
    let x = site.input()?;
    // The transpose converts nothing.
    let moved = match at {
        0 => b.ty(x).map(|ty| ty.dtype) == Some(site.ty(1)?.dtype),
        _ => site.ty(0)?.dtype == site.ty(1)?.dtype,
    };
    if site.inputs.len() != 1 || op0.is_bits() || !moved {
        return Err(Refusal::NoMatch);
    }
    let operands = with_literals(site, at, x, ElemType::F32)?;
    turn(b, [op0, op1], reverse, &operands, site.ty(0)?.dtype)
}

fn cast_after(b: &mut FuncBuilder, site: &Site<'_>) -> Result<ValueId, Refusal> {
    let (TensorOp::Cast, TensorOp::TransposePair { op0, op1, reverse }) =
        (site.op(0)?, site.op(1)?)
    else {
        return Err(Refusal::NoMatch);
    };
    let x = site.input()?;
    let (between, result) = (site.ty(1)?.dtype, site.ty(0)?.dtype);
    let moves = [*op0, *op1] == [ElementwiseOp::Copy; 2];
    let unrounded =
        between == ElemType::F32 || moves && b.ty(x).is_some_and(|ty| ty.dtype == between);
    if !unrounded || !is_float(b, x) || result == ElemType::I1 {
        return Err(Refusal::NoMatch);
    }
    turn(b, [*op0, *op1], *reverse, &site.operands(1)?, result)
}
