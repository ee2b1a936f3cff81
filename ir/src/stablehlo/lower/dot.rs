//! Products of matrices, as products of elements and sums.

use smallvec::smallvec;

use super::convert::to_type;
use super::{Attr, Call, Fault, Lower, Made, wrong};
use crate::diag::Severity;
use crate::entity::ValueId;
use crate::infer::InferError;
use crate::ops::{ElementwiseOp, ReduceOp, TensorOp};
use crate::types::{ElemType, TensorType};

/// Dimensions of both operands, in the order of the text.
struct Dims {
    batch: [Vec<usize>; 2],
    contract: [Vec<usize>; 2],
}

/// `dot %a, %b`: the last dimension of the first with the first of the second.
pub(super) fn dot<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(2)?;
    let rank = lower.ty(call.arg(0)?).rank();
    let last = rank.checked_sub(1).ok_or_else(|| call.malformed("takes vectors and matrices"))?;
    let dims = Dims { batch: [vec![], vec![]], contract: [vec![last], vec![0]] };
    product(lower, call, &dims)
}

/// `dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1]`
pub(super) fn dot_general<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(2)?;
    let bad = || call.malformed("its dimension numbers are no lists of dimensions");
    let dims = match call.attr(&["dot_dimension_numbers"]) {
        Some(Attr::Raw(text)) => {
            let list = |key: &str| dims_of(text, key).ok_or_else(bad);
            Dims {
                batch: [list("lhs_batching_dimensions")?, list("rhs_batching_dimensions")?],
                contract: [
                    list("lhs_contracting_dimensions")?,
                    list("rhs_contracting_dimensions")?,
                ],
            }
        }
        _ => {
            let pair = |name: &str| match call.attr(&[name]) {
                None => Ok([vec![], vec![]]),
                Some(Attr::Pair(pair)) => {
                    let list = |attr: &Attr<'_>| {
                        let ints = attr.ints()?.into_iter().map(usize::try_from);
                        ints.collect::<Result<Vec<usize>, _>>().ok()
                    };
                    Ok([list(&pair[0]).ok_or_else(bad)?, list(&pair[1]).ok_or_else(bad)?])
                }
                Some(_) => Err(bad()),
            };
            Dims { batch: pair("batching_dims")?, contract: pair("contracting_dims")? }
        }
    };
    product(lower, call, &dims)
}

/// The list after `key =` in `#stablehlo.dot<…>`; empty where it is left out.
fn dims_of(text: &str, key: &str) -> Option<Vec<usize>> {
    let Some((_, after)) = text.split_once(key) else { return Some(Vec::new()) };
    let (_, list) = after.split_once('[')?;
    let (list, _) = list.split_once(']')?;
    let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(|word| word.parse().ok()).collect()
}

/// Both operands as `[batch, rows, 1, contracted]` and `[batch, 1, columns, contracted]`; their product summed over the
/// last dimension.
fn product<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>, dims: &Dims) -> Made {
    let result = call.result()?.clone();
    let operands = [call.arg(0)?, call.arg(1)?];
    let sizes = |side: usize, list: &[usize]| -> Result<Vec<u64>, Fault> {
        let shape = lower.ty(operands[side]).shape;
        let size = |&dim: &usize| shape.get(dim).copied();
        let sizes: Option<Vec<u64>> = list.iter().map(size).collect();
        sizes.ok_or_else(|| call.malformed("a dimension is out of range"))
    };
    let batch = sizes(0, &dims.batch[0])?;
    let contract = sizes(0, &dims.contract[0])?;
    if sizes(1, &dims.batch[1])? != batch || sizes(1, &dims.contract[1])? != contract {
        return Err(call.malformed("the dimensions of the operands differ in size"));
    }
    if lower.dtype(operands[0]) == ElemType::I1 || result.dtype == ElemType::I1 {
        return Err(call.refused("products of truth values are not compiled"));
    }
    let free: Vec<Vec<usize>> = (0..2)
        .map(|side| {
            let taken =
                |dim: &usize| !dims.batch[side].contains(dim) && !dims.contract[side].contains(dim);
            (0..lower.ty(operands[side]).rank()).filter(taken).collect()
        })
        .collect();
    let count = |sizes: &[u64]| sizes.iter().try_fold(1u64, |all, &size| all.checked_mul(size));
    let too_large = || call.malformed("has too many products");
    let (b, k) = (count(&batch).ok_or_else(too_large)?, count(&contract).ok_or_else(too_large)?);
    let rows = count(&sizes(0, &free[0])?).ok_or_else(too_large)?;
    let columns = count(&sizes(1, &free[1])?).ok_or_else(too_large)?;
    let make = |lower: &mut Lower<'_, 's>| -> Result<ValueId, InferError> {
        let mut sides = Vec::new();
        for (side, shape) in [[b, rows, 1, k], [b, 1, columns, k]].into_iter().enumerate() {
            let perm: Vec<usize> = dims.batch[side]
                .iter()
                .chain(&free[side])
                .chain(&dims.contract[side])
                .copied()
                .collect();
            let mut value = operands[side];
            if perm.iter().enumerate().any(|(at, &dim)| at != dim) {
                value = lower.b.transpose(value, perm)?;
            }
            sides.push(lower.b.reshape(value, shape)?);
        }
        let same = lower.dtype(sides[0]) == lower.dtype(sides[1]);
        let float = result.dtype.is_float();
        let wide = if float { ElemType::F32 } else { result.dtype };
        if !same || lower.dtype(sides[0]).is_float() != float {
            for side in &mut sides {
                *side = to_type(lower, *side, wide)?;
            }
        }
        let pair = [sides[0].into(), sides[1].into()];
        let products = lower.b.elementwise_to(ElementwiseOp::Mult, &pair, wide)?;
        let dims = smallvec![3];
        let sum = TensorOp::Reduce { op: ReduceOp::Add, dims, keep: false, negate: false };
        let sums = lower.b.op(sum, &[products.into()], &TensorType::scalar(result.dtype))?;
        lower.b.reshape(sums, result.shape.iter().copied())
    };
    let value = make(lower).map_err(wrong(call))?;
    let message = "a product of matrices is computed by multiplying and summing elements: the matrix engine is outside \
                   the instruction set at hand";
    lower.note(Severity::Note, message, call.op.name_span);
    Ok(smallvec![value])
}
