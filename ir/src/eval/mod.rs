//! The reference evaluator: what a program of the tensor dialect means, straight
//! from tensors. Constant folding asks it too, so that tensor semantics exist once.
//!
//! * [`eval_func`] runs a function, [`eval_op`] one operation, [`fold_op`] an
//!   operation of a function whose operands are known.
//! * [`bounds`] runs a function and says how far a machine's results may lie from
//!   the reference; [`compare()`] compares.
//! * [`random`] makes inputs.
//!
//! Semantics are those of the contract for the tensor dialect and of ISA 10; what
//! neither says is decided in the module that does it ([`elementwise`], [`reduce`],
//! [`scan`]).

pub mod accuracy;
pub mod bounds;
pub mod compare;
pub mod convert;
pub mod elementwise;
mod float_ops;
mod func;
mod int_ops;
mod lanes;
mod movement;
mod pair;
pub mod random;
pub mod reduce;
pub mod scan;
#[cfg(test)]
mod tests;
mod walk;

pub use bounds::{Bound, BoundOptions, Bounded, eval_bounded};
pub use compare::{CompareError, CompareOk, Comparison, Tolerance, compare, compare_tol};
pub use convert::Fp8Options;
pub use func::{eval_func, fold_op, operand_data};

use crate::data::{DataError, TensorData};
use crate::infer::InferError;
use crate::ops::{ElementwiseOp, ReduceOp, TensorOp};
use crate::types::{ElemType, TensorType};
use elementwise::Conversion;
use lanes::Narrow;

/// How to evaluate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvalOptions {
    /// What 8-bit floats mean on the target.
    pub fp8: Fp8Options,
    /// The most bytes that tensors made by the evaluation may take at a time; no
    /// limit when absent. 8 GiB by default.
    pub memory_limit: Option<u64>,
}

impl Default for EvalOptions {
    fn default() -> Self {
        Self { fp8: Fp8Options::default(), memory_limit: Some(8 << 30) }
    }
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    #[error("`{op}`: {what}")]
    Malformed { op: String, what: String },
    #[error("`{op}` has no meaning on `{dtype}`")]
    Unsupported { op: &'static str, dtype: ElemType },
    #[error("@{func} takes {want} inputs, not {got}")]
    InputCount { func: String, want: usize, got: usize },
    #[error("argument `{name}` is {}, not {}", types[0], types[1])]
    InputType {
        name: String,
        /// Wanted and given.
        types: Box<[TensorType; 2]>,
    },
    #[error("the values need {need} bytes, the limit is {limit}")]
    Memory { need: u64, limit: u64 },
    #[error("@{func} is not a function of the tensor dialect")]
    NotTensor { func: String },
    #[error("`%{name}` is used before it is defined")]
    Undefined { name: String },
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Type(#[from] InferError),
}

impl EvalError {
    pub(crate) fn malformed(op: &str, what: &str) -> Self {
        Self::Malformed { op: op.to_owned(), what: what.to_owned() }
    }

    pub(crate) fn unsupported(op: ElementwiseOp, operands: &[&TensorData]) -> Self {
        let dtype = operands.last().map_or(ElemType::F32, |data| data.dtype());
        Self::Unsupported { op: op.name(), dtype }
    }
}

/// Evaluates one operation. A literal operand is a tensor of rank 0.
///
/// # Errors
/// Operands, attributes and result do not fit; the memory limit is passed.
pub fn eval_op(
    op: &TensorOp,
    operands: &[&TensorData],
    result: &TensorType,
    options: &EvalOptions,
) -> Result<TensorData, EvalError> {
    check_memory(result, 0, options)?;
    let fp8 = options.fp8;
    let first = || {
        operands
            .first()
            .copied()
            .ok_or_else(|| EvalError::malformed(op.kind_name().full(), "an operand is missing"))
    };
    let convert = |how| elementwise::convert(how, first()?, result, fp8);
    match op {
        TensorOp::Elementwise(op) => elementwise::elementwise(*op, operands, result, fp8),
        TensorOp::Cast => convert(Conversion::Cast),
        TensorOp::Wrap => convert(Conversion::Wrap),
        TensorOp::ToInt => convert(Conversion::ToInt),
        TensorOp::Reduce { op, dims, negate, .. } => {
            reduce::reduce(*op, dims, *negate, first()?, result, fp8)
        }
        TensorOp::PartitionReduce { .. } | TensorOp::TransposeReduce { .. } => {
            let operand = first()?;
            let (folding, plans) = fold_plans(op, operand.shape()).ok_or_else(|| {
                EvalError::malformed(op.kind_name().full(), "the attributes do not fit the shape")
            })?;
            reduce::fold(folding, operand, &plans, result, fp8)
        }
        TensorOp::ScanCache { op0, op1, seed, emit } => {
            let scan = scan::Scan { op0: *op0, op1: *op1, seed: *seed, emit: *emit };
            scan::scan(scan, operands, result, fp8)
        }
        TensorOp::Pair { op0, op1, reverse } => {
            let pair = pair::Pair { op0: *op0, op1: *op1, reverse: *reverse };
            pair.first(operands, fp8).and_then(|t| pair.second(&t, operands, result, fp8))
        }
        TensorOp::TransposePair { op0, op1, reverse } => {
            let pair = pair::Pair { op0: *op0, op1: *op1, reverse: *reverse };
            let moved = transposed(pair, operands)?;
            if pair.moves(&moved, result.dtype) {
                return Ok(moved);
            }
            let operands = pair.around(operands, &moved);
            pair.first(&operands, fp8).and_then(|t| pair.second(&t, &operands, result, fp8))
        }
        TensorOp::Iota { dim } => iota(*dim, result, fp8),
        TensorOp::Constant(data) if data.ty() == result => Ok(data.clone()),
        TensorOp::Constant(_) => {
            Err(EvalError::malformed("tensor.constant", "the result has another type"))
        }
        TensorOp::Transpose { .. }
        | TensorOp::Broadcast { .. }
        | TensorOp::Reshape
        | TensorOp::Bitcast
        | TensorOp::Slice { .. }
        | TensorOp::Concat { .. }
        | TensorOp::Pad { .. }
        | TensorOp::Reverse { .. } => move_elements(op, operands, result),
    }
}

/// How the folding operations fold; `None` for others, for the arg operations, and
/// when the attributes do not fit the shape.
pub(crate) fn fold_plans(
    op: &TensorOp,
    shape: &[u64],
) -> Option<(reduce::Folding, Vec<reduce::Plan>)> {
    let folding =
        |op: ReduceOp, negate| Some(reduce::Folding { op: op.combine()?, scale: None, negate });
    match op {
        TensorOp::Reduce { op, dims, negate, .. } => {
            Some((folding(*op, *negate)?, vec![reduce::Plan::new(shape, dims)?]))
        }
        TensorOp::PartitionReduce { op, axis, scale } => {
            reduce::cross_lane(*op, *axis, *scale, shape)
        }
        TensorOp::TransposeReduce { op, negate } => {
            Some((folding(*op, *negate)?, vec![reduce::Plan::transposed(shape)?]))
        }
        _ => None,
    }
}

/// The operand of a transposing pair with its last two dimensions in the other order.
fn transposed(pair: pair::Pair, operands: &[&TensorData]) -> Result<TensorData, EvalError> {
    let missing = || EvalError::malformed("tensor.transpose_pair", "an operand is missing");
    let data = operands.get(pair.tensor(operands)).ok_or_else(missing)?;
    let mut ty = data.ty().clone();
    let transpose = TensorOp::transpose_of_last(ty.rank());
    if let [.., a, b] = ty.shape.as_mut_slice() {
        std::mem::swap(a, b);
    }
    move_elements(&transpose, &[data], &ty)
}

fn move_elements(
    op: &TensorOp,
    operands: &[&TensorData],
    result: &TensorType,
) -> Result<TensorData, EvalError> {
    let mut out = TensorData::zeros(result.clone())?;
    let (size, name) = (out.element_size(), op.kind_name().full());
    let bitcast = matches!(op, TensorOp::Bitcast);
    if !bitcast && operands.iter().any(|operand| operand.dtype() != result.dtype) {
        return Err(EvalError::malformed(name, "the element types differ"));
    }
    let arrays: Vec<_> = operands
        .iter()
        .map(|data| movement::Array { shape: data.shape(), bytes: data.bytes() })
        .collect();
    movement::apply(op, &arrays, &result.shape, size, out.bytes_mut())
        .unwrap_or_else(|| Err(EvalError::malformed(name, "it moves no elements")))?;
    Ok(out)
}

/// Integers count modulo 2ⁿ, floats round each index once.
fn iota(dim: usize, result: &TensorType, fp8: Fp8Options) -> Result<TensorData, EvalError> {
    let mut out = TensorData::zeros(result.clone())?;
    let bad = || EvalError::malformed("tensor.iota", "there is no such dimension");
    let shape = &result.shape;
    let size = *shape.get(dim).ok_or_else(bad)?;
    let inner = walk::count(shape.get(dim + 1..).unwrap_or(&[])).ok_or_else(bad)?;
    if out.is_empty() {
        return Ok(out);
    }
    let row = inner * out.element_size();
    let mut index = 0;
    for slot in out.bytes_mut().chunks_exact_mut(row) {
        let element = row / inner;
        let (first, rest) = slot.split_at_mut(element);
        <i128 as lanes::Lane>::store(&[i128::from(index)], result.dtype, fp8, Narrow::Wrap, first);
        rest.chunks_exact_mut(element).for_each(|other| other.copy_from_slice(first));
        index = (index + 1) % size;
    }
    Ok(out)
}

/// Refuses a result that, beside `live` bytes, would pass the limit.
pub(crate) fn check_memory(
    result: &TensorType,
    live: u64,
    options: &EvalOptions,
) -> Result<(), EvalError> {
    let need = result.bytes().unwrap_or(u64::MAX).saturating_add(live);
    match options.memory_limit {
        Some(limit) if need > limit => Err(EvalError::Memory { need, limit }),
        _ => Ok(()),
    }
}
