//! Reductions of leading dimensions: rows lie on partitions, so they are folded across them.

use partita_ir::eval::{EvalOptions, eval_op};
use partita_ir::ops::{
    CrossLaneAxis, CrossLaneOp, ElementwiseOp as Op, PadAmounts, ReduceOp, SliceRange, TensorOp,
};
use partita_ir::types::{Dims, ElemType, MAX_PARTITIONS, TensorType};
use partita_ir::{FuncBuilder, Literal, Operand, TensorData, ValueId};

use super::super::emit::Emitted;
use super::super::{Built, Emitter, Expansion, OpCx, Refusal, Val, When};
use super::reduce::{Reduction, is_logical};
use super::words::{is_small, is_word};
use crate::rewrite::RewriteClass;
use ElemType::{F32, I32, Ui8};

/// Fewer rows than this are left to the layout of the columns over partitions.
const FEWEST_ROWS: u64 = 32;

/// A division of the rows among at least so many partitions needs no remainder.
const FEWEST_PARTITIONS: u64 = 64;

pub const EXPANSIONS: &[Expansion] = &[
    Expansion {
        name: "fold-free-dimensions-first",
        class: RewriteClass::Reassociates,
        why: "what lies within a row is folded before the rows are folded across partitions",
        when: When::Always,
        applies: |cx| Reduction::any(cx).is_some_and(|r| is_mixed(cx, &r)),
        build: fold_free_first,
    },
    Expansion {
        name: "fold-rows-across-partitions",
        class: RewriteClass::Reassociates,
        why: "rows lie on partitions: each partition folds its share, then one word folds the partitions",
        when: When::Always,
        applies: |cx| Reduction::any(cx).is_some_and(|r| takes(cx, &r)),
        build: fold_rows,
    },
];

pub use crate::blocks::BLOCK;

/// A NaN of every 8-bit float format, the OCP one included (ISA 5.2).
const FP8_NAN: u64 = 0x7F;

/// The element that changes no fold of at least one other, as a literal of the type.
///
/// # Errors
/// The operation has none.
pub fn identity(op: ReduceOp, dtype: ElemType) -> Result<Literal, Refusal> {
    if dtype.is_float() {
        match op {
            // +0 would turn a sum of -0 into +0.
            ReduceOp::Add => return Ok(Literal::Float(-0.0)),
            // An infinity would replace a lone NaN; a NaN is suppressed.
            ReduceOp::Max | ReduceOp::Min if dtype.width() == 8 => {
                return Ok(Literal::Bits(FP8_NAN));
            }
            ReduceOp::Max | ReduceOp::Min => return Ok(Literal::Float(f64::NAN)),
            _ => {}
        }
    }
    let empty = TensorData::zeros(TensorType::new([0], dtype))?;
    let fold = TensorOp::Reduce { op, dims: Dims::from_slice(&[0]), keep: false, negate: false };
    let data = eval_op(&fold, &[&empty], &TensorType::scalar(dtype), &EvalOptions::default())?;
    Ok(Literal::from_bits(data.bits(0).unwrap_or(0), dtype))
}

/// Folds dimension 0 of `x`, `[R, F…]` with R at most 128, by the transpose-reduce of ISA 9.6: pad to
/// whole blocks with the identity, transpose and fold each block of 32 rows, fold the blocks, and
/// bring the columns back in order. Gives `[F…]` of type `to`; floats are folded in fp32 and rounded
/// once.
///
/// # Errors
/// The operation has no identity, or there are more than 128 rows.
pub fn transpose_reduce_route(
    b: &mut FuncBuilder,
    x: ValueId,
    op: ReduceOp,
    negate: bool,
    to: ElemType,
) -> Built {
    let ty = b.ty(x).cloned().ok_or_else(|| Refusal::because("the operand is not a tensor"))?;
    let (Some((&rows, rest)), Some(elements)) = (ty.shape.split_first(), ty.elements()) else {
        return Err(Refusal::because("there is no dimension to fold"));
    };
    if rows == 0 || rows > MAX_PARTITIONS || elements == 0 {
        return Err(Refusal::because("a transpose-reduce folds 1 to 128 rows (CH-4)"));
    }
    let columns = elements / rows;
    let flat = if ty.rank() == 2 { x } else { b.reshape(x, [rows, columns])? };
    let missing = |size: u64| (size.next_multiple_of(BLOCK) - size) as i64;
    let amounts =
        [rows, columns].map(|size| PadAmounts { low: 0, high: missing(size), interior: 0 });
    let padded = if amounts.iter().all(|amount| amount.high == 0) {
        flat
    } else {
        b.pad(flat, Operand::Literal(identity(op, ty.dtype)?), amounts)?
    };
    // Between the two folds a float stays in fp32.
    let inner = if ty.dtype.is_float() { ElemType::F32 } else { ty.dtype };
    let blocks = rows.div_ceil(BLOCK);
    let (first, last) = if blocks == 1 { (to, negate) } else { (inner, false) };
    let folded = b.op(
        TensorOp::TransposeReduce { op, negate: last },
        &[padded.into()],
        &TensorType::scalar(first),
    )?;
    let merged = if blocks == 1 {
        b.reshape(folded, [BLOCK, columns.div_ceil(BLOCK)])?
    } else {
        let merge = TensorOp::Reduce { op, dims: Dims::from_slice(&[0]), keep: false, negate };
        b.op(merge, &[folded.into()], &TensorType::scalar(to))?
    };
    let ordered = b.transpose(merged, [1, 0])?;
    let line = b.reshape(ordered, [columns.next_multiple_of(BLOCK)])?;
    let cropped = if columns % BLOCK == 0 {
        line
    } else {
        b.slice(line, [SliceRange { start: 0, limit: columns, stride: 1 }])?
    };
    if rest.len() == 1 { Ok(cropped) } else { Ok(b.reshape(cropped, rest.iter().copied())?) }
}

/// How many of the first dimensions are folded without a gap.
fn leading(r: &Reduction<'_>) -> usize {
    (0..r.dims.len()).take_while(|dim| r.dims.contains(dim)).count()
}

/// True of a fold of many rows and of dimensions behind a kept one.
fn is_mixed(cx: &OpCx<'_>, r: &Reduction<'_>) -> bool {
    let Some(ty) = cx.types.first() else { return false };
    let leading = leading(r);
    let rows: u64 = ty.shape.iter().take(leading).product();
    let partial = r.dtype.is_float() || r.dtype == r.to && !r.negate;
    leading < r.dims.len() && rows >= FEWEST_ROWS && partial && !r.op.is_arg()
}

fn fold_free_first(b: &mut FuncBuilder, cx: &OpCx<'_>) -> Built {
    let Some(r) = Reduction::any(cx) else { return Err(Refusal::because("not a reduction")) };
    let leading = leading(&r);
    let free: Vec<usize> = r.dims.iter().copied().filter(|&dim| dim >= leading).collect();
    let mut e = Emitter::new(b, cx);
    let x = e.arg(cx, 0)?;
    let inner = partial_type(&r);
    let rows = e.reduce(r.op, x, &free, true, inner)?;
    let first: Vec<usize> = (0..leading).collect();
    let op = TensorOp::Reduce {
        op: r.op,
        dims: first.into_iter().collect(),
        keep: true,
        negate: r.negate,
    };
    let value = e.tensor(op, &[rows], &TensorType::scalar(r.to))?;
    let value = e.reshape(value, r.shape)?;
    e.id(value)
}

/// The type of a partial result that is folded once more: fp32 for what floats round, else the
/// operand's.
pub fn partial_type(r: &Reduction<'_>) -> ElemType {
    let extreme =
        matches!(r.op, ReduceOp::Max | ReduceOp::Min | ReduceOp::Maximum | ReduceOp::Minimum);
    if r.dtype.is_float() && !extreme { F32 } else { r.dtype }
}

/// True of a fold of the leading dimensions, of enough rows, that the cross-lane words do.
fn takes(cx: &OpCx<'_>, r: &Reduction<'_>) -> bool {
    let Some(ty) = cx.types.first() else { return false };
    let leading = leading(r) == r.dims.len();
    let known = !r.op.is_arg() && !matches!(r.op, ReduceOp::Maximum | ReduceOp::Minimum);
    if !leading || !known || r.depth < FEWEST_ROWS || ty.elements().is_none_or(|n| n == 0) {
        return false;
    }
    if r.dtype.is_float() {
        return r.to.is_float() || r.to.width() <= 32 && r.to != ElemType::I1;
    }
    let same = r.dtype == r.to && !r.negate;
    match r.op {
        ReduceOp::Add if is_small(r.dtype) => {
            !r.negate && r.sum_within(1 << 24) && r.to != ElemType::I1 && r.to.width() <= 32
        }
        ReduceOp::Add => same && is_word(r.dtype),
        ReduceOp::Max => same && r.dtype.width() <= 32,
        ReduceOp::Min => same && r.dtype.width() <= 32 && r.dtype != ElemType::I1,
        ReduceOp::BitwiseAnd | ReduceOp::BitwiseOr | ReduceOp::BitwiseXor => {
            same && matches!(r.dtype, Ui8 | ElemType::Ui16 | I32 | ElemType::Ui32)
        }
        ReduceOp::LogicalAnd | ReduceOp::LogicalOr => {
            !r.negate && is_small(r.dtype) && r.to.width() <= 32 && r.to != ElemType::I1
        }
        _ => false,
    }
}

fn fold_rows(b: &mut FuncBuilder, cx: &OpCx<'_>) -> Built {
    let (Some(r), Some(ty)) = (Reduction::any(cx), cx.types.first()) else {
        return Err(Refusal::because("not a reduction"));
    };
    let elements = ty.elements().unwrap_or(0);
    let (rows, columns) = (r.depth, elements.checked_div(r.depth).unwrap_or(0));
    let mut e = Emitter::new(b, cx);
    let mut x = e.arg(cx, 0)?;
    if r.negate {
        let inner = partial_type(&r);
        let value = r.emit(&mut e, r.op, x, false, inner)?;
        let minus = e.lit(-1, inner);
        let value = e.op(Op::Mult, &[value, minus], r.to)?;
        return e.id(value);
    }
    if r.op == ReduceOp::Add && is_small(r.dtype) {
        // Exact in fp32, and then in any type.
        x = e.cast(x, F32)?;
        let value = r.emit(&mut e, r.op, x, false, F32)?;
        let value = if r.to.is_int() {
            let word = e.cast(value, I32)?;
            e.wrap(word, r.to)?
        } else {
            e.cast(value, r.to)?
        };
        return e.id(value);
    }
    x = e.reshape(x, &[rows, columns])?;
    let value = fold_flat(&mut e, &r, x, rows, columns)?;
    let value = e.reshape(value, r.shape)?;
    e.id(value)
}

/// The number of partitions that share the rows evenly; all 128 with some rows left over where no
/// good divisor exists.
fn share(rows: u64) -> u64 {
    if rows <= MAX_PARTITIONS {
        return rows;
    }
    (FEWEST_PARTITIONS..=MAX_PARTITIONS)
        .rev()
        .find(|&p| rows.is_multiple_of(p))
        .unwrap_or(MAX_PARTITIONS)
}

/// `[rows, columns]` to `[1, columns]` of the result's type.
fn fold_flat(e: &mut Emitter<'_>, r: &Reduction<'_>, x: Val, rows: u64, columns: u64) -> Emitted {
    let partitions = share(rows);
    let each = rows / partitions;
    let main = e.slice(x, 0, 0, partitions * each)?;
    let inner = inner_type(r);
    let folded = fold_within(e, r, main, [partitions, each, columns], inner)?;
    let left = rows - partitions * each;
    if left == 0 {
        return fold_across(e, r, folded, r.to);
    }
    let rest = e.slice(x, 0, partitions * each, rows)?;
    let rest = fold_within(e, r, rest, [left, 1, columns], inner)?;
    let (a, b) = (fold_across(e, r, folded, inner)?, fold_across(e, r, rest, inner)?);
    let combine = r.op.combine().ok_or_else(|| Refusal::because("it does not combine"))?;
    e.op(combine, &[a, b], r.to)
}

/// The type between the folds: fp32 for sums and products of floats, a byte for truth values.
fn inner_type(r: &Reduction<'_>) -> ElemType {
    match r.op {
        op if is_logical(op) => Ui8,
        ReduceOp::Add | ReduceOp::Mult if r.dtype.is_float() => F32,
        _ => r.dtype,
    }
}

/// The rows of each partition folded into one: `[P·n, F]` to `[P, F]`.
fn fold_within(
    e: &mut Emitter<'_>,
    r: &Reduction<'_>,
    x: Val,
    [partitions, each, columns]: [u64; 3],
    inner: ElemType,
) -> Emitted {
    if each > 1 {
        let x = e.reshape(x, &[partitions, each, columns])?;
        return e.reduce(r.op, x, &[1], false, inner);
    }
    if is_logical(r.op) {
        let zero = e.lit(0, x.dtype);
        return e.op(Op::IsNe, &[x, zero], inner);
    }
    Ok(x)
}

/// Partitions folded into one: `[P, F]` to `[1, F]`.
fn fold_across(e: &mut Emitter<'_>, r: &Reduction<'_>, x: Val, to: ElemType) -> Emitted {
    let cross = |e: &mut Emitter<'_>, op: CrossLaneOp, x: Val, to: ElemType| {
        let op = TensorOp::PartitionReduce { op, axis: CrossLaneAxis::Partitions, scale: None };
        e.tensor(op, &[x], &TensorType::scalar(to))
    };
    match r.op {
        ReduceOp::Add => cross(e, CrossLaneOp::Add, x, to),
        ReduceOp::Max => cross(e, CrossLaneOp::Max, x, to),
        ReduceOp::BitwiseAnd => cross(e, CrossLaneOp::BitwiseAnd, x, to),
        ReduceOp::BitwiseOr => cross(e, CrossLaneOp::BitwiseOr, x, to),
        ReduceOp::BitwiseXor => cross(e, CrossLaneOp::BitwiseXor, x, to),
        ReduceOp::Min if r.dtype.is_float() => {
            let minus = e.lit(-1, x.dtype);
            let turned = e.op(Op::Mult, &[x, minus], x.dtype)?;
            let value = cross(e, CrossLaneOp::Max, turned, x.dtype)?;
            e.op(Op::Mult, &[value, minus], to)
        }
        ReduceOp::Min => {
            // Complements reverse the order of integers, the least one too.
            let turned = e.op(Op::BitwiseNot, &[x], x.dtype)?;
            let value = cross(e, CrossLaneOp::Max, turned, x.dtype)?;
            e.op(Op::BitwiseNot, &[value], to)
        }
        ReduceOp::LogicalOr => {
            let value = cross(e, CrossLaneOp::Max, x, Ui8)?;
            e.cast(value, to)
        }
        ReduceOp::LogicalAnd => {
            let zero = e.lit(0, Ui8);
            let missing = e.op(Op::IsEq, &[x, zero], Ui8)?;
            let value = cross(e, CrossLaneOp::Max, missing, Ui8)?;
            e.op(Op::IsEq, &[value, zero], to)
        }
        _ => {
            let columns = e.shape(x).get(1).copied().unwrap_or(1);
            let id = e.id(x)?;
            let value = transpose_reduce_route(e.b, id, r.op, false, to)?;
            let value = e.val(value);
            e.reshape(value, &[1, columns])
        }
    }
}
