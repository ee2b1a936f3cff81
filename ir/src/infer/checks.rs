//! Rules about operand counts, element types and attributes.

use std::ops::RangeInclusive;

use super::{At, InferError, OperandType};
use crate::diag::Code;
use crate::ops::{Class, CrossLaneOp, Domain, ElementwiseOp, ReduceOp, Seed, TensorOp};
use crate::types::{ElemType, TensorType};

/// How many operands an operation takes.
fn arity(op: &TensorOp) -> RangeInclusive<usize> {
    let exactly = |count| count..=count;
    match op {
        TensorOp::Elementwise(op) => exactly(op.arity()),
        TensorOp::ScanCache { seed: Seed::Zero, .. } => exactly(2),
        TensorOp::ScanCache { seed: Seed::Load, .. } => exactly(3),
        TensorOp::Pair { op0, op1, .. } | TensorOp::TransposePair { op0, op1, .. } => {
            exactly((op0.arity() + op1.arity()).saturating_sub(1))
        }
        TensorOp::Pad { .. } => exactly(2),
        TensorOp::Concat { .. } => 1..=usize::MAX,
        TensorOp::Iota { .. } | TensorOp::Constant(_) => exactly(0),
        _ => exactly(1),
    }
}

pub fn operand_count(op: &TensorOp, found: usize) -> Result<(), InferError> {
    let expected = arity(op);
    if expected.contains(&found) {
        return Ok(());
    }
    let name = match op {
        TensorOp::Elementwise(op) => op.name(),
        _ => op.kind_name().full(),
    };
    let plural = |n: usize| if n == 1 { "operand" } else { "operands" };
    let wanted = if *expected.end() == usize::MAX {
        format!("at least {} {}", expected.start(), plural(*expected.start()))
    } else {
        format!("{} {}", expected.start(), plural(*expected.start()))
    };
    let error = InferError::new(
        Code::OperandCount,
        At::Op,
        format!(
            "`{name}` takes {wanted}, but {found} {} given",
            if found == 1 { "is" } else { "are" }
        ),
    );
    Err(if matches!(op, TensorOp::Elementwise(ElementwiseOp::Bypass)) {
        error.help("`copy` is the operation that moves one operand")
    } else {
        error
    })
}

/// The operand at `index`, which must be a tensor that may be computed with.
pub fn tensor_operand<'a>(
    operands: &[OperandType<'a>],
    index: usize,
) -> Result<&'a TensorType, InferError> {
    match operands.get(index) {
        Some(OperandType::Tensor(ty)) => {
            readable(ty, index)?;
            Ok(ty)
        }
        Some(OperandType::Literal(literal)) => Err(InferError::new(
            Code::LiteralPlace,
            At::Operand(index),
            format!("a value belongs here, not the literal `{literal}`"),
        )),
        None => {
            Err(InferError::new(Code::OperandCount, At::Op, format!("operand {index} is missing")))
        }
    }
}

/// `f32r` exists on the way out only (ISA 5.1, 5.3).
pub fn readable(ty: &TensorType, index: usize) -> Result<(), InferError> {
    if ty.dtype == ElemType::F32r {
        return Err(InferError::new(
            Code::RoundedOperand,
            At::Operand(index),
            "an `f32r` value cannot be computed with",
        ));
    }
    Ok(())
}

/// The type in which an elementwise operation reads its (value) operands, after
/// checking that they agree.
pub fn elementwise_dtypes(
    op: ElementwiseOp,
    operands: &[OperandType<'_>],
    want: &TensorType,
) -> Result<ElemType, InferError> {
    let tensors = || {
        operands.iter().enumerate().filter_map(|(index, operand)| Some((index, operand.tensor()?)))
    };
    for (index, ty) in tensors() {
        readable(ty, index)?;
    }
    if tensors().next().is_none() {
        return Err(InferError::new(
            Code::LiteralDtype,
            At::Op,
            format!("every operand of `{op}` is a literal, so none has a type"),
        ));
    }
    let mut agreeing: Option<(usize, ElemType)> = None;
    for (index, ty) in tensors() {
        if op == ElementwiseOp::Select && index == 0 {
            if ty.dtype.is_float() {
                return Err(InferError::new(
                    Code::OperandType,
                    At::Operand(0),
                    format!("the condition of `select` is `i1` or an integer, not `{}`", ty.dtype),
                )
                .help("compare with 0: `tensor.elementwise is_ne(%c, 0.0)`"));
            }
            continue;
        }
        let Some((first, dtype)) = agreeing else {
            agreeing = Some((index, ty.dtype));
            continue;
        };
        let is_count = op.class() == Class::Shift && index == 1;
        if ty.dtype != dtype && !(is_count && ty.dtype == ElemType::Ui32) {
            return Err(InferError::new(
                Code::OperandDtypes,
                At::Operand(index),
                format!(
                    "operand {} of `{op}` has element type `{}`, but operand {} has `{dtype}`",
                    index + 1,
                    ty.dtype,
                    first + 1
                ),
            ));
        }
    }
    Ok(agreeing.map_or(want.dtype, |(_, dtype)| dtype))
}

/// The operation computes on this type.
pub fn domain(
    op: ElementwiseOp,
    dtype: ElemType,
    operands: &[OperandType<'_>],
) -> Result<(), InferError> {
    if op.domain().contains(dtype) {
        return Ok(());
    }
    let index = operands.iter().position(|operand| operand.tensor().is_some()).unwrap_or(0);
    let takes = if op.domain() == Domain::Int { "integers" } else { "floats" };
    Err(InferError::new(
        Code::OperandType,
        At::Operand(index),
        format!("`{op}` takes {takes}, not `{dtype}`"),
    ))
}

/// Every literal has a value in the type it takes.
pub fn literals(
    operands: &[OperandType<'_>],
    dtype: impl Fn(usize) -> Option<ElemType>,
) -> Result<(), InferError> {
    for (index, operand) in operands.iter().enumerate() {
        let OperandType::Literal(literal) = operand else { continue };
        let Some(dtype) = dtype(index) else {
            return Err(InferError::new(
                Code::LiteralDtype,
                At::Operand(index),
                format!("no operand gives `{literal}` a type"),
            ));
        };
        if let Err(error) = literal.to_bits(dtype) {
            return Err(InferError::new(Code::LiteralValue, At::Operand(index), error.to_string()));
        }
    }
    Ok(())
}

pub fn int_to_int(operand: &TensorType, want: &TensorType) -> Result<(), InferError> {
    if operand.dtype.is_float() {
        return Err(InferError::new(
            Code::OperandType,
            At::Operand(0),
            format!("`tensor.wrap` takes integers, not `{}`", operand.dtype),
        )
        .help("`tensor.to_int` truncates floats, `tensor.cast` rounds them"));
    }
    if want.dtype.is_float() {
        return Err(InferError::new(
            Code::ResultDtype,
            At::Result,
            format!("`tensor.wrap` gives integers, not `{}`", want.dtype),
        )
        .help("`tensor.cast` converts an integer to a float"));
    }
    Ok(())
}

pub fn float_to_int(operand: &TensorType, want: &TensorType) -> Result<(), InferError> {
    if operand.dtype.is_int() {
        return Err(InferError::new(
            Code::OperandType,
            At::Operand(0),
            format!("`tensor.to_int` takes floats, not `{}`", operand.dtype),
        )
        .help("`tensor.cast` saturates an integer, `tensor.wrap` reduces it modulo 2^n"));
    }
    if want.dtype.is_float() {
        return Err(InferError::new(
            Code::ResultDtype,
            At::Result,
            format!("`tensor.to_int` gives integers, not `{}`", want.dtype),
        )
        .help("`tensor.elementwise trunc` rounds toward zero within a float type"));
    }
    Ok(())
}

/// Operand type and `negate` of a reduction (rule TR-6 for the bitwise ones).
pub fn reduction(
    op: ReduceOp,
    negate: bool,
    operand: &TensorType,
    _want: &TensorType,
) -> Result<(), InferError> {
    if op.is_bitwise() && operand.dtype.is_float() {
        return Err(InferError::new(
            Code::OperandType,
            At::Operand(0),
            format!("`{op}` takes integers, not `{}`", operand.dtype),
        ));
    }
    if negate && (op.is_bitwise() || op.is_arg()) {
        return Err(InferError::new(
            Code::Attribute,
            At::Op,
            format!("`negate` does not apply to `{op}`"),
        ));
    }
    Ok(())
}

/// Operand type and `scale` of a cross-lane reduction (rules CR-9, CR-10).
pub fn cross_lane(
    op: CrossLaneOp,
    scale: Option<f32>,
    operand: &TensorType,
) -> Result<(), InferError> {
    if op.is_bitwise() && operand.dtype.is_float() {
        return Err(InferError::new(
            Code::OperandType,
            At::Operand(0),
            format!("`{op}` takes integers, not `{}`", operand.dtype),
        ));
    }
    match (op, scale) {
        (CrossLaneOp::Average, None) => {
            Err(InferError::new(Code::Attribute, At::Op, "`average` needs a `scale`").help(
                "write `scale` and one over the number of elements, such as `scale 0.0078125`",
            ))
        }
        (CrossLaneOp::Average, Some(_)) | (_, None) => Ok(()),
        (_, Some(_)) => Err(InferError::new(
            Code::Attribute,
            At::Op,
            format!("`scale` does not apply to `{op}`"),
        )),
    }
}

/// The element type that a pair computes in, after checking operations and operands.
pub fn pair_dtype(
    ops: [ElementwiseOp; 2],
    operands: &[OperandType<'_>],
    want: &TensorType,
) -> Result<ElemType, InferError> {
    if let Some(op) = ops.into_iter().find(|op| !op.is_pair_op()) {
        let message = format!("`{op}` cannot be a step of a pair");
        return Err(InferError::new(Code::Attribute, At::Op, message));
    }
    if ops[0].is_bits() != ops[1].is_bits() {
        let message = "a pair is of arithmetic or of operations on bits, not of both";
        return Err(InferError::new(Code::Attribute, At::Op, message));
    }
    let first = operands.get(..ops[0].arity()).unwrap_or(operands);
    let Some(dtype) = first.iter().find_map(|operand| operand.tensor()).map(|ty| ty.dtype) else {
        let message = "an operand of the first step of a pair is a value";
        return Err(InferError::new(Code::LiteralDtype, At::Op, message));
    };
    for (index, operand) in operands.iter().enumerate() {
        let Some(ty) = operand.tensor() else { continue };
        readable(ty, index)?;
        let fits = if ops[0].is_bits() {
            ty.dtype.is_int() && ty.dtype == dtype
        } else {
            ty.dtype.is_float() || ty.dtype.width() <= 16
        };
        if !fits {
            let wanted = if ops[0].is_bits() {
                "one integer type throughout"
            } else {
                "floats and integers of at most 16 bits"
            };
            let message = format!("such a pair takes {wanted}, not `{}`", ty.dtype);
            return Err(InferError::new(Code::OperandType, At::Operand(index), message));
        }
    }
    if ops[0].is_bits() && want.dtype != dtype {
        let message = format!("such a pair gives `{dtype}`, not `{}`", want.dtype);
        return Err(InferError::new(Code::ResultDtype, At::Result, message));
    }
    Ok(if ops[0].is_bits() { dtype } else { ElemType::F32 })
}
