//! Self-checking functions: their checks taken out, so that what is compiled is computation alone.

use crate::data::{DataError, TensorData};
use crate::diag::Span;
use crate::entity::ValueId;
use crate::eval::compare::ulps_apart;
use crate::eval::convert::{self, Fp8Options};
use crate::module::{Func, Operand};
use crate::ops::{CheckOp, OpKind, TensorOp};
use crate::types::ElemType;

/// One comparison of a self-checking function.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    pub op: CheckOp,
    pub got: Side,
    pub want: Side,
    /// Where it stands.
    pub span: Span,
}

/// What is compared.
#[derive(Clone, Debug, PartialEq)]
pub enum Side {
    /// A result of the function, by number.
    Result(usize),
    Constant(TensorData),
}

/// A function without its checks. What they compare and the function does not return becomes a further result, unless
/// it is a constant.
///
/// # Errors
/// A constant is too large for memory.
pub fn split(func: &Func) -> Result<(Func, Vec<Check>), DataError> {
    if !func.body_ops().any(|(_, op)| matches!(op.kind, OpKind::Check(_))) {
        return Ok((func.clone(), Vec::new()));
    }
    let mut rest = func.clone();
    let mut returned: Vec<ValueId> = func.returned().collect();
    let mut checks = Vec::new();
    for (id, op) in func.body_ops() {
        let OpKind::Check(kind) = &op.kind else { continue };
        let mut sides = Vec::new();
        for value in op.operands.iter().filter_map(Operand::value) {
            sides.push(match constant(func, value)? {
                Some(data) => Side::Constant(data),
                None => {
                    let place = returned.iter().position(|&other| other == value);
                    Side::Result(place.unwrap_or_else(|| {
                        returned.push(value);
                        returned.len() - 1
                    }))
                }
            });
        }
        if let Ok([got, want]) = <[Side; 2]>::try_from(sides) {
            let span = func.spans.op(id).map_or(Span::NONE, |spans| spans.whole);
            checks.push(Check { op: *kind, got, want, span });
        }
    }
    rest.body.retain(|&op| !matches!(rest.ops[op].kind, OpKind::Check(_) | OpKind::Return));
    rest.push_return(&returned);
    Ok((rest, checks))
}

/// The elements of a constant, seen through repetition of one.
fn constant(func: &Func, value: ValueId) -> Result<Option<TensorData>, DataError> {
    let Some(ty) = func.tensor_ty(value) else { return Ok(None) };
    let mut inner = value;
    for _ in 0..16 {
        let Some(op) = func.def_op(inner).map(|op| &func.ops[op]) else { return Ok(None) };
        match (&op.kind, op.operands.first()) {
            (OpKind::Tensor(TensorOp::Constant(data)), _) if inner == value => {
                return Ok(Some(data.clone()));
            }
            (OpKind::Tensor(TensorOp::Constant(data)), _) => {
                return data
                    .splat_bits()
                    .map(|bits| TensorData::splat(ty.clone(), bits))
                    .transpose();
            }
            (
                OpKind::Tensor(TensorOp::Broadcast { .. } | TensorOp::Reshape),
                Some(&Operand::Value(operand)),
            ) => inner = operand,
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// How a check went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Elements that do not agree, of how many.
    pub mismatches: usize,
    pub elements: usize,
    /// The first of them: its place, what there is, what is expected.
    pub first: (usize, String, String),
}

impl Check {
    /// Compares, given the results of the function; `None` when all agrees.
    ///
    /// # Errors
    /// A result is missing, or has another type.
    pub fn run(&self, results: &[TensorData], fp8: Fp8Options) -> Result<Option<Failure>, String> {
        let side = |side: &Side| match side {
            Side::Constant(data) => Ok(data.clone()),
            Side::Result(index) => {
                results.get(*index).cloned().ok_or_else(|| format!("there is no result {index}"))
            }
        };
        let (got, want) = (side(&self.got)?, side(&self.want)?);
        if got.ty() != want.ty() {
            return Err(format!("a `{}` is compared with a `{}`", got.ty(), want.ty()));
        }
        let dtype = got.dtype();
        let mut failure: Option<Failure> = None;
        for (index, (a, b)) in got.iter_bits().zip(want.iter_bits()).enumerate() {
            if agrees(self.op, dtype, a, b, fp8) {
                continue;
            }
            let shown = |bits| crate::literal::Literal::from_bits(bits, dtype).to_string();
            let failure = failure.get_or_insert_with(|| Failure {
                mismatches: 0,
                elements: got.len(),
                first: (index, shown(a), shown(b)),
            });
            failure.mismatches += 1;
        }
        Ok(failure)
    }
}

/// One element with what is expected of it.
fn agrees(op: CheckOp, dtype: ElemType, got: u64, want: u64, fp8: Fp8Options) -> bool {
    let number = |bits| f64::from(convert::decode_f32(bits, dtype, fp8));
    if dtype.is_float() {
        let (a, b) = (number(got), number(want));
        if a.is_nan() || b.is_nan() {
            return a.is_nan() && b.is_nan();
        }
    }
    match op {
        // Zeros of either sign are one number.
        CheckOp::Eq => got == want || dtype.is_float() && number(got) == number(want),
        CheckOp::AlmostEq { tolerance } if dtype.is_float() => {
            let (a, b) = (number(got), number(want));
            a == b || (a - b).abs() <= tolerance
        }
        CheckOp::AlmostEq { tolerance } => {
            let int = |bits| convert::decode_int(bits, dtype, fp8);
            int(got).abs_diff(int(want)) as f64 <= tolerance
        }
        CheckOp::Close { min_ulps, max_ulps } => {
            let apart = ulps_apart(got, want, dtype);
            (min_ulps..=max_ulps).contains(&apart)
        }
    }
}
