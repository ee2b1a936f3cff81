//! Reductions of leading dimensions: rows lie on partitions, so they are folded across them.

use partita_ir::ops::{PadAmounts, ReduceOp, TensorOp};
use partita_ir::eval::eval_op;
use partita_ir::eval::EvalOptions;
use partita_ir::types::{Dims, ElemType, MAX_PARTITIONS, TensorType};
use partita_ir::{FuncBuilder, Literal, Operand, TensorData, ValueId};

use super::super::{Built, Refusal};

/// Rows and columns of the blocks that the machine transposes (ISA 8.3).
const BLOCK: u64 = 32;

/// The element from which a fold of nothing starts, as a literal of the type.
///
/// # Errors
/// The operation has none.
pub fn identity(op: ReduceOp, dtype: ElemType) -> Result<Literal, Refusal> {
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
    let amounts = [rows, columns].map(|size| PadAmounts { low: 0, high: missing(size), interior: 0 });
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
        b.slice(line, [partita_ir::ops::SliceRange { start: 0, limit: columns, stride: 1 }])?
    };
    Ok(b.reshape(cropped, rest.iter().copied())?)
}
