//! Rules about shapes.

use smallvec::SmallVec;

use super::checks::{literals, readable, tensor_operand};
use super::{At, InferError, OperandType};
use crate::diag::Code;
use crate::ops::{
    CrossLaneAxis, ElementwiseOp, Emit, PadAmounts, ReduceOp, Seed, SliceRange, TensorOp,
};
use crate::types::{Dims, ElemType, MAX_PARTITIONS, Shape, TensorType};

/// The shape of operands that broadcast as in NumPy: aligned from the right,
/// sizes equal or 1.
///
/// # Errors
/// Two sizes differ and neither is 1. `At::Operand` counts the types given.
pub fn broadcast_shapes<'a>(
    types: impl IntoIterator<Item = &'a TensorType>,
) -> Result<Shape, InferError> {
    let mut out = Shape::new();
    for (index, ty) in types.into_iter().enumerate() {
        if ty.rank() > out.len() {
            let missing = ty.rank() - out.len();
            out.insert_many(0, std::iter::repeat_n(1, missing));
        }
        let offset = out.len() - ty.rank();
        for (dim, (have, &size)) in out[offset..].iter_mut().zip(&ty.shape).enumerate() {
            if *have == 1 {
                *have = size;
            } else if size != 1 && size != *have {
                return Err(InferError::new(
                    Code::Broadcast,
                    At::Operand(index),
                    format!("size {size} of dimension {dim} does not broadcast with {have}"),
                ));
            }
        }
    }
    Ok(out)
}

/// `dims` are within the rank and distinct.
fn check_dims(dims: &[usize], rank: usize) -> Result<(), InferError> {
    for (position, &dim) in dims.iter().enumerate() {
        if dim >= rank {
            return Err(InferError::new(
                Code::Dims,
                At::Op,
                format!("dimension {dim} does not exist: the rank is {rank}"),
            ));
        }
        if dims[..position].contains(&dim) {
            return Err(InferError::new(
                Code::Dims,
                At::Op,
                format!("dimension {dim} is listed twice"),
            ));
        }
    }
    Ok(())
}

pub fn scan(
    op: &TensorOp,
    operands: &[OperandType<'_>],
    want: &TensorType,
) -> Result<TensorType, InferError> {
    let TensorOp::ScanCache { op0, op1, seed, emit } = op else { return Ok(want.clone()) };
    let input = tensor_operand(operands, 0)?;
    scan_ops(*op0, *op1, *seed, input.dtype)?;
    let Some((last, rows)) = input.shape.split_last() else {
        return Err(InferError::new(
            Code::Shapes,
            At::Operand(0),
            "a scan runs along the last dimension, but the operand has rank 0",
        ));
    };
    let per_row = || rows.iter().copied().chain([1]);
    for (index, operand) in operands.iter().enumerate().skip(1) {
        let Some(ty) = operand.tensor() else { continue };
        readable(ty, index)?;
        if !ty.shape.iter().copied().eq(per_row()) {
            let wanted = input.with_shape(per_row()).with_dtype(ty.dtype);
            return Err(InferError::new(
                Code::Shapes,
                At::Operand(index),
                format!("a scan takes one value for each row here, `{wanted}`, not `{ty}`"),
            ));
        }
        // The machine reads such scalars as fp32 beside any float type (IMM rules).
        if ty.dtype != input.dtype && !(input.dtype.is_float() && ty.dtype == ElemType::F32) {
            return Err(InferError::new(
                Code::OperandDtypes,
                At::Operand(index),
                format!(
                    "this operand has element type `{}`, but the scanned one has `{}`",
                    ty.dtype, input.dtype
                ),
            ));
        }
    }
    literals(operands, |_| Some(input.dtype))?;
    if *emit == Emit::Final && *last == 0 && *seed == Seed::Zero && !op1.has_identity() {
        return Err(InferError::new(Code::Shapes, At::Operand(0), "the scan has no first element"));
    }
    let shape: Shape = match emit {
        Emit::All => input.shape.clone(),
        Emit::Final => per_row().collect(),
    };
    Ok(TensorType { shape, dtype: want.dtype })
}

fn scan_ops(
    op0: ElementwiseOp,
    op1: ElementwiseOp,
    seed: Seed,
    dtype: ElemType,
) -> Result<(), InferError> {
    let refuse = |text: String| Err(InferError::new(Code::Attribute, At::Op, text));
    if !op0.is_scan_op0() {
        return refuse(format!("`{op0}` cannot be the first step of a scan"));
    }
    if !op1.is_scan_op1() {
        return refuse(format!("`{op1}` cannot be the second step of a scan"));
    }
    if seed == Seed::Zero && !op1.has_identity() {
        return refuse(format!(
            "`{op1}` has no identity to start from; write `seed load` and a value"
        ));
    }
    for op in [op0, op1] {
        if !op.domain().contains(dtype) {
            return Err(InferError::new(
                Code::OperandType,
                At::Operand(0),
                format!("`{op}` does not take `{dtype}`"),
            ));
        }
    }
    Ok(())
}

pub fn reduce(
    op: ReduceOp,
    dims: &Dims,
    keep: bool,
    operand: &TensorType,
    want: &TensorType,
) -> Result<TensorType, InferError> {
    check_dims(dims, operand.rank())?;
    if op.is_arg() {
        let &[dim] = dims.as_slice() else {
            return Err(InferError::new(
                Code::Dims,
                At::Op,
                format!("`{op}` takes exactly one dimension"),
            ));
        };
        if operand.shape[dim] == 0 {
            return Err(InferError::new(
                Code::Shapes,
                At::Operand(0),
                format!("`{op}` of no elements: dimension {dim} has size 0"),
            ));
        }
    }
    let shape = operand.shape.iter().enumerate().filter_map(|(dim, &size)| {
        match (dims.contains(&dim), keep) {
            (false, _) => Some(size),
            (true, true) => Some(1),
            (true, false) => None,
        }
    });
    let dtype = if op.is_arg() { ElemType::Ui32 } else { want.dtype };
    Ok(TensorType::new(shape, dtype))
}

pub fn cross_lane(
    axis: CrossLaneAxis,
    operand: &TensorType,
    want: &TensorType,
) -> Result<TensorType, InferError> {
    match axis {
        CrossLaneAxis::All => Ok(TensorType::scalar(want.dtype)),
        CrossLaneAxis::Partitions => {
            let Some((_, rest)) = operand.shape.split_first() else {
                return Err(InferError::new(
                    Code::Shapes,
                    At::Operand(0),
                    "dimension 0 counts the partitions, but the operand has rank 0",
                ));
            };
            Ok(TensorType::new([1].into_iter().chain(rest.iter().copied()), want.dtype))
        }
    }
}

pub fn transpose_reduce(
    op: ReduceOp,
    operand: &TensorType,
    want: &TensorType,
) -> Result<TensorType, InferError> {
    if op.is_arg() {
        return Err(InferError::new(
            Code::Attribute,
            At::Op,
            format!("`{op}` cannot be fused with a transpose"),
        ));
    }
    match *operand.shape {
        [rows, columns] if rows % 32 == 0 && columns % 32 == 0 && rows <= MAX_PARTITIONS => {
            Ok(TensorType::new([rows / 32, 32, columns / 32], want.dtype))
        }
        _ => Err(InferError::new(
            Code::Shapes,
            At::Operand(0),
            format!(
                "`tensor.transpose_reduce` takes [P, F], both multiples of 32 and P at most 128, not `{operand}`"
            ),
        )),
    }
}

pub fn transpose(perm: &Dims, operand: &TensorType) -> Result<TensorType, InferError> {
    if perm.len() != operand.rank() {
        return Err(InferError::new(
            Code::Dims,
            At::Op,
            format!("`perm` lists {} dimensions, but the rank is {}", perm.len(), operand.rank()),
        ));
    }
    check_dims(perm, operand.rank())?;
    Ok(operand.with_shape(perm.iter().map(|&dim| operand.shape[dim])))
}

pub fn broadcast(
    dims: &Dims,
    operand: &TensorType,
    want: &TensorType,
) -> Result<TensorType, InferError> {
    if dims.len() != operand.rank() {
        return Err(InferError::new(
            Code::Dims,
            At::Op,
            format!(
                "`dims` lists {} dimensions, but the operand has rank {}",
                dims.len(),
                operand.rank()
            ),
        ));
    }
    check_dims(dims, want.rank())?;
    for (&dim, &size) in dims.iter().zip(&operand.shape) {
        if size != 1 && size != want.shape[dim] {
            return Err(InferError::new(
                Code::Broadcast,
                At::Result,
                format!("size {size} cannot become {} in dimension {dim}", want.shape[dim]),
            ));
        }
    }
    Ok(want.with_dtype(operand.dtype))
}

pub fn reshape(operand: &TensorType, want: &TensorType) -> Result<TensorType, InferError> {
    if operand.elements() != want.elements() {
        let count = |ty: &TensorType| {
            ty.elements().map_or_else(|| "too many".to_owned(), |n| n.to_string())
        };
        return Err(InferError::new(
            Code::Shapes,
            At::Result,
            format!("`{operand}` has {} elements, `{want}` has {}", count(operand), count(want)),
        ));
    }
    Ok(want.with_dtype(operand.dtype))
}

/// Same bytes: where the widths differ, the narrower type has one dimension
/// more, the last, which counts the pieces.
pub fn bitcast(operand: &TensorType, want: &TensorType) -> Result<TensorType, InferError> {
    if (operand.dtype == ElemType::I1) != (want.dtype == ElemType::I1) {
        return Err(InferError::new(
            Code::OperandType,
            At::Op,
            format!("`{}` has no bits in common with `{}`", operand.dtype, want.dtype),
        )
        .help("an `i1` is a truth value; convert it with `tensor.cast`"));
    }
    let (from, to) = (operand.dtype.size_bytes(), want.dtype.size_bytes());
    let mut shape = operand.shape.clone();
    if from > to {
        shape.push(from / to);
    } else if from < to && shape.pop() != Some(to / from) {
        return Err(InferError::new(
            Code::Shapes,
            At::Operand(0),
            format!(
                "the last dimension must have size {} to be read as `{}`",
                to / from,
                want.dtype
            ),
        ));
    }
    Ok(TensorType { shape, dtype: want.dtype })
}

pub fn slice(ranges: &[SliceRange], operand: &TensorType) -> Result<TensorType, InferError> {
    if ranges.len() != operand.rank() {
        return Err(InferError::new(
            Code::Ranges,
            At::Op,
            format!("{} ranges are given, but the rank is {}", ranges.len(), operand.rank()),
        ));
    }
    let mut shape = Shape::new();
    for (dim, (range, &size)) in ranges.iter().zip(&operand.shape).enumerate() {
        let SliceRange { start, limit, stride } = *range;
        if stride == 0 || start > limit || limit > size {
            return Err(InferError::new(
                Code::Ranges,
                At::Op,
                format!(
                    "`{start}:{limit}:{stride}` does not fit dimension {dim}, which has size {size}"
                ),
            ));
        }
        shape.push((limit - start).div_ceil(stride));
    }
    Ok(operand.with_shape(shape))
}

pub fn concat(dim: usize, operands: &[OperandType<'_>]) -> Result<TensorType, InferError> {
    let first = tensor_operand(operands, 0)?;
    check_dims(&[dim], first.rank())?;
    let mut out = first.clone();
    for index in 1..operands.len() {
        let ty = tensor_operand(operands, index)?;
        if ty.dtype != first.dtype {
            return Err(InferError::new(
                Code::OperandDtypes,
                At::Operand(index),
                format!(
                    "this operand has element type `{}`, but the first has `{}`",
                    ty.dtype, first.dtype
                ),
            ));
        }
        let same_elsewhere = ty.rank() == first.rank()
            && ty.shape.iter().zip(&first.shape).enumerate().all(|(i, (a, b))| i == dim || a == b);
        if !same_elsewhere {
            return Err(InferError::new(
                Code::Shapes,
                At::Operand(index),
                format!("`{ty}` and `{first}` differ elsewhere than in dimension {dim}"),
            ));
        }
        out.shape[dim] = out.shape[dim].checked_add(ty.shape[dim]).ok_or_else(|| {
            InferError::new(
                Code::ElementCount,
                At::Op,
                format!("dimension {dim} becomes too large"),
            )
        })?;
    }
    Ok(out)
}

pub fn pad(
    amounts: &SmallVec<[PadAmounts; 4]>,
    operands: &[OperandType<'_>],
) -> Result<TensorType, InferError> {
    let operand = tensor_operand(operands, 0)?;
    if let Some(filling) = operands.get(1).and_then(|filling| filling.tensor()) {
        readable(filling, 1)?;
        if filling.rank() != 0 || filling.dtype != operand.dtype {
            return Err(InferError::new(
                Code::Shapes,
                At::Operand(1),
                format!(
                    "the value to pad with is a `{}`, not `{filling}`",
                    TensorType::scalar(operand.dtype)
                ),
            ));
        }
    }
    literals(operands, |_| Some(operand.dtype))?;
    if amounts.len() != operand.rank() {
        return Err(InferError::new(
            Code::Ranges,
            At::Op,
            format!(
                "padding is given for {} dimensions, but the rank is {}",
                amounts.len(),
                operand.rank()
            ),
        ));
    }
    let mut shape = Shape::new();
    for (dim, (amount, &size)) in amounts.iter().zip(&operand.shape).enumerate() {
        let between = i128::from(amount.interior) * i128::from(size.saturating_sub(1));
        let total = i128::from(size) + between + i128::from(amount.low) + i128::from(amount.high);
        let Ok(total) = u64::try_from(total) else {
            return Err(InferError::new(
                Code::Ranges,
                At::Op,
                format!("the padding makes dimension {dim} {} elements long", total),
            ));
        };
        shape.push(total);
    }
    Ok(operand.with_shape(shape))
}

pub fn reverse(dims: &Dims, operand: &TensorType) -> Result<TensorType, InferError> {
    check_dims(dims, operand.rank())?;
    Ok(operand.clone())
}

pub fn iota(dim: usize, want: &TensorType) -> Result<TensorType, InferError> {
    check_dims(&[dim], want.rank())?;
    if want.dtype == ElemType::I1 {
        return Err(InferError::new(
            Code::ResultDtype,
            At::Result,
            "`tensor.iota` counts; `i1` cannot",
        ));
    }
    Ok(want.clone())
}
