//! The type that each tensor operation gives: the one home of the rules for
//! shapes and element types, asked by the verifier, the reader and the builder.
//!
//! Most operations leave something open: the element type of an elementwise
//! result (an output cast), the shape of a reshape. [`result_type`] therefore
//! takes the type that is wanted, and answers with the type that the operation
//! then gives; where the two differ the program is wrong.

mod checks;
mod shapes;

use crate::diag::Code;
use crate::literal::Literal;
use crate::module::{Func, Op, Operand};
use crate::ops::{Class, ElementwiseOp, OpKind, TensorOp};
use crate::types::{ElemType, MAX_RANK, TensorType, Type, byte_count};

pub use shapes::broadcast_shapes;

/// An operand as the rules see it.
#[derive(Clone, Copy, Debug)]
pub enum OperandType<'a> {
    Tensor(&'a TensorType),
    Literal(Literal),
}

impl<'a> OperandType<'a> {
    fn tensor(self) -> Option<&'a TensorType> {
        match self {
            OperandType::Tensor(ty) => Some(ty),
            OperandType::Literal(_) => None,
        }
    }
}

/// Which part of an operation an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    Op,
    Operand(usize),
    Result,
}

/// Why an operation has no type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InferError {
    pub code: Code,
    pub at: At,
    pub message: String,
    /// More specific than the code's general help.
    pub help: Option<String>,
}

impl InferError {
    fn new(code: Code, at: At, message: impl Into<String>) -> Self {
        Self { code, at, message: message.into(), help: None }
    }

    pub(crate) fn not_a_tensor() -> Self {
        Self::new(Code::ValueKind, At::Op, "tensor operations take tensors, not tiles")
    }

    fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }
}

/// The type that `op` gives when `want` is asked for.
///
/// # Errors
/// The operands or attributes fit no result.
pub fn result_type(
    op: &TensorOp,
    operands: &[OperandType<'_>],
    want: &TensorType,
) -> Result<TensorType, InferError> {
    checks::operand_count(op, operands.len())?;
    match op {
        TensorOp::Elementwise(op) => elementwise(*op, operands, want),
        TensorOp::ScanCache { .. } => shapes::scan(op, operands, want),
        TensorOp::Pair { op0, op1, .. } => pair([*op0, *op1], operands, want),
        TensorOp::TransposePair { op0, op1, .. } => transpose_pair([*op0, *op1], operands, want),
        TensorOp::Pad { amounts } => shapes::pad(amounts, operands),
        TensorOp::Concat { dim } => shapes::concat(*dim, operands),
        TensorOp::Iota { dim } => shapes::iota(*dim, want),
        TensorOp::Constant(data) => Ok(data.ty().clone()),
        _ => {
            let operand = checks::tensor_operand(operands, 0)?;
            one_operand(op, operand, want)
        }
    }
}

fn one_operand(
    op: &TensorOp,
    operand: &TensorType,
    want: &TensorType,
) -> Result<TensorType, InferError> {
    match op {
        TensorOp::Cast => Ok(operand.with_dtype(want.dtype)),
        TensorOp::Wrap => {
            checks::int_to_int(operand, want)?;
            Ok(operand.with_dtype(want.dtype))
        }
        TensorOp::ToInt => {
            checks::float_to_int(operand, want)?;
            Ok(operand.with_dtype(want.dtype))
        }
        TensorOp::Bitcast => shapes::bitcast(operand, want),
        TensorOp::Reduce { op, dims, keep, negate } => {
            checks::reduction(*op, *negate, operand, want)?;
            shapes::reduce(*op, dims, *keep, operand, want)
        }
        TensorOp::PartitionReduce { op, axis, scale } => {
            checks::cross_lane(*op, *scale, operand)?;
            shapes::cross_lane(*axis, operand, want)
        }
        TensorOp::TransposeReduce { op, negate } => {
            checks::reduction(*op, *negate, operand, want)?;
            shapes::transpose_reduce(*op, operand, want)
        }
        TensorOp::Transpose { perm } => shapes::transpose(perm, operand),
        TensorOp::Broadcast { dims } => shapes::broadcast(dims, operand, want),
        TensorOp::Reshape => shapes::reshape(operand, want),
        TensorOp::Slice { ranges } => shapes::slice(ranges, operand),
        TensorOp::Reverse { dims } => shapes::reverse(dims, operand),
        TensorOp::Elementwise(_)
        | TensorOp::ScanCache { .. }
        | TensorOp::Pair { .. }
        | TensorOp::TransposePair { .. }
        | TensorOp::Pad { .. }
        | TensorOp::Concat { .. }
        | TensorOp::Iota { .. }
        | TensorOp::Constant(_) => Ok(want.clone()),
    }
}

fn elementwise(
    op: ElementwiseOp,
    operands: &[OperandType<'_>],
    want: &TensorType,
) -> Result<TensorType, InferError> {
    let dtype = checks::elementwise_dtypes(op, operands, want)?;
    checks::literals(operands, |index| elementwise_literal_dtype(op, operands, index, want.dtype))?;
    checks::domain(op, dtype, operands)?;
    Ok(TensorType { shape: broadcast_operands(operands)?, dtype: want.dtype })
}

fn pair(
    ops: [ElementwiseOp; 2],
    operands: &[OperandType<'_>],
    want: &TensorType,
) -> Result<TensorType, InferError> {
    let dtype = checks::pair_dtype(ops, operands, want)?;
    checks::literals(operands, |_| Some(dtype))?;
    Ok(TensorType { shape: broadcast_operands(operands)?, dtype: want.dtype })
}

/// A pair of an operand with its last dimensions in the other order, and of literals.
fn transpose_pair(
    ops: [ElementwiseOp; 2],
    operands: &[OperandType<'_>],
    want: &TensorType,
) -> Result<TensorType, InferError> {
    let mut tensors = operands.iter().enumerate().filter(|(_, operand)| operand.tensor().is_some());
    let (Some((at, operand)), None) = (tensors.next(), tensors.next()) else {
        let message = "one operand of `tensor.transpose_pair` is a value, the others are literals";
        return Err(InferError::new(Code::LiteralDtype, At::Op, message));
    };
    let ty = checks::tensor_operand(std::slice::from_ref(operand), 0)?;
    let [batch @ .., rows, columns] = ty.shape.as_slice() else {
        let message = format!("a transpose has two dimensions to exchange, not those of `{ty}`");
        return Err(InferError::new(Code::Shapes, At::Operand(at), message));
    };
    if *rows < 32 || *columns < 32 {
        let message =
            format!("`tensor.transpose_pair` takes [..., P, F], both at least 32, not `{ty}`");
        return Err(InferError::new(Code::Shapes, At::Operand(at), message));
    }
    let dtype = if ops == [ElementwiseOp::Copy; 2] && want.dtype == ty.dtype {
        ty.dtype
    } else {
        pair(ops, operands, want)?.dtype
    };
    Ok(TensorType::new(batch.iter().chain([columns, rows]).copied(), dtype))
}

fn broadcast_operands(operands: &[OperandType<'_>]) -> Result<crate::types::Shape, InferError> {
    broadcast_shapes(operands.iter().filter_map(|operand| operand.tensor())).map_err(|mut error| {
        // The shapes were counted without the literals.
        if let At::Operand(nth) = error.at {
            let place = operands
                .iter()
                .enumerate()
                .filter(|(_, operand)| operand.tensor().is_some())
                .nth(nth);
            error.at = place.map_or(At::Op, |(index, _)| At::Operand(index));
        }
        error
    })
}

/// The element type that a literal operand of an elementwise operation takes:
/// that of the first value among the operands it must agree with, and failing
/// that (both branches of a select are literals) the result's.
fn elementwise_literal_dtype(
    op: ElementwiseOp,
    operands: &[OperandType<'_>],
    index: usize,
    result: ElemType,
) -> Option<ElemType> {
    let first_value =
        |range: &[OperandType<'_>]| range.iter().find_map(|o| o.tensor()).map(|ty| ty.dtype);
    match op {
        ElementwiseOp::Select if index == 0 => Some(ElemType::I1),
        ElementwiseOp::Select => first_value(operands.get(1..)?).or(Some(result)),
        // A count has the type of what is shifted, and never gives it one.
        _ if op.class() == Class::Shift && index == 0 => first_value(operands),
        _ => first_value(operands),
    }
}

/// The element type that the literal at `index` takes in an operation of a
/// function; `None` when nothing gives it one.
pub fn literal_dtype(func: &Func, op: &Op, index: usize) -> Option<ElemType> {
    let result = || op.result().and_then(|value| func.tensor_ty(value)).map(|ty| ty.dtype);
    let OpKind::Tensor(kind) = &op.kind else { return None };
    match kind {
        TensorOp::Elementwise(elementwise) => {
            let operands = operand_types(func, &op.operands)?;
            elementwise_literal_dtype(*elementwise, &operands, index, result()?)
        }
        TensorOp::Pair { op0, .. } | TensorOp::TransposePair { op0, .. } if !op0.is_bits() => {
            Some(ElemType::F32)
        }
        // The scalar and the seed of a scan, the filling of a pad.
        _ => op.value_operands().next().and_then(|value| func.tensor_ty(value)).map(|ty| ty.dtype),
    }
}

/// The operands of an operation as the rules see them; `None` when one is a tile.
pub fn operand_types<'a>(
    func: &'a Func,
    operands: &[Operand],
) -> Option<smallvec::SmallVec<[OperandType<'a>; 3]>> {
    operands
        .iter()
        .map(|operand| match operand {
            Operand::Literal(literal) => Some(OperandType::Literal(*literal)),
            Operand::Value(value) => match &func.values.get(*value)?.ty {
                Type::Tensor(ty) => Some(OperandType::Tensor(ty)),
                Type::Tile(_) => None,
            },
        })
        .collect()
}

/// The limits that every type obeys: rank at most 8, fewer than 2⁶³ elements and
/// bytes.
///
/// # Errors
/// A limit is passed.
pub fn check_type(ty: &TensorType) -> Result<(), InferError> {
    check_limits(&ty.shape, ty.dtype)
}

/// [`check_type`] for the parts of any type.
///
/// # Errors
/// A limit is passed.
pub fn check_limits(shape: &[u64], dtype: ElemType) -> Result<(), InferError> {
    if shape.len() > MAX_RANK {
        return Err(InferError::new(
            Code::Rank,
            At::Result,
            format!("the type has {} dimensions, but at most {MAX_RANK} are allowed", shape.len()),
        ));
    }
    if byte_count(shape, dtype).is_none() {
        return Err(InferError::new(
            Code::ElementCount,
            At::Result,
            "the type has 2^63 or more elements or bytes",
        ));
    }
    Ok(())
}
