//! Shapes and data movement.

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::{Attr, Call, Code, Fault, Lower, Made, wrong};
use crate::data::TensorData;
use crate::entity::ValueId;
use crate::eval::{EvalOptions, fold_op};
use crate::module::Operand;
use crate::ops::{OpKind, PadAmounts, SliceRange, TensorOp};
use crate::types::ElemType;

/// `broadcast_in_dim %x, dims = [0]`
pub(super) fn broadcast_in_dim<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    let (x, dims) = (call.arg(0)?, call.dims(&["dims", "broadcast_dimensions"])?);
    let shape = call.result()?.shape.clone();
    name(lower, call);
    Ok(smallvec![lower.b.broadcast(x, dims, shape).map_err(wrong(call))?])
}

/// `broadcast %x, sizes = [2]`: new dimensions come first.
pub(super) fn broadcast<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    let (x, sizes) = (call.arg(0)?, call.ints(&["sizes", "broadcast_sizes"])?);
    let ty = call.result()?;
    let rank = lower.ty(x).rank();
    if ty.rank() != rank + sizes.len() {
        return Err(call.malformed("the sizes and the operand do not make the result's shape"));
    }
    let dims: Vec<usize> = (sizes.len()..ty.rank()).collect();
    let shape = ty.shape.clone();
    Ok(smallvec![lower.b.broadcast(x, dims, shape).map_err(wrong(call))?])
}

pub(super) fn reshape<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    let (x, shape) = (call.arg(0)?, call.result()?.shape.clone());
    name(lower, call);
    Ok(smallvec![lower.b.reshape(x, shape).map_err(wrong(call))?])
}

pub(super) fn transpose<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    let perm = call.dims(&["dims", "permutation"])?;
    let x = call.arg(0)?;
    name(lower, call);
    Ok(smallvec![lower.b.transpose(x, perm).map_err(wrong(call))?])
}

pub(super) fn reverse<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    let dims = call.dims(&["dims", "dimensions"])?;
    let x = call.arg(0)?;
    name(lower, call);
    Ok(smallvec![lower.b.reverse(x, dims).map_err(wrong(call))?])
}

pub(super) fn concatenate<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    let dim = call.int(&["dim", "dimension"])?;
    let dim = usize::try_from(dim).map_err(|_| call.malformed("the dimension is negative"))?;
    if call.args.is_empty() {
        return Err(call.malformed("takes one operand at least"));
    }
    name(lower, call);
    Ok(smallvec![lower.b.concat(&call.args, dim).map_err(wrong(call))?])
}

/// `slice %x [0:4, 2:8:2]`, or three lists of numbers.
pub(super) fn slice<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    let number = |text: &str| text.parse::<u64>().map_err(|_| bad_range(call));
    let written = call.op.attrs.iter().find_map(|attr| match &attr.value {
        Attr::Ranges(ranges) => Some(ranges),
        _ => None,
    });
    let ranges: SmallVec<[SliceRange; 4]> = match written {
        Some(ranges) => {
            let range = |[start, limit, stride]: &[&str; 3]| {
                let (start, limit, stride) = (number(start)?, number(limit)?, number(stride)?);
                Ok(SliceRange { start, limit, stride })
            };
            ranges.iter().map(range).collect::<Result<_, Fault>>()?
        }
        // The brackets of a scalar are empty.
        None if lower.ty(call.arg(0)?).rank() == 0 => SmallVec::new(),
        None => {
            let starts = call.ints(&["start_indices"])?;
            let limits = call.ints(&["limit_indices"])?;
            let strides = call.ints(&["strides"])?;
            if starts.len() != limits.len() || starts.len() != strides.len() {
                return Err(call.malformed("starts, limits and strides differ in number"));
            }
            let whole = |number: i64| u64::try_from(number).map_err(|_| bad_range(call));
            let triples = starts.into_iter().zip(limits).zip(strides);
            let range = |((start, limit), stride)| {
                let (start, limit, stride) = (whole(start)?, whole(limit)?, whole(stride)?);
                Ok(SliceRange { start, limit, stride })
            };
            triples.map(range).collect::<Result<_, Fault>>()?
        }
    };
    let x = call.arg(0)?;
    name(lower, call);
    Ok(smallvec![lower.b.slice(x, ranges).map_err(wrong(call))?])
}

fn bad_range(call: &Call<'_, '_>) -> Fault {
    call.error(Code::Ranges, format!("`{}`: a range is no range of whole numbers", call.op.name))
}

/// `pad %x, %filling, low = […], high = […], interior = […]`
pub(super) fn pad<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(2)?;
    let low = call.ints(&["low", "edge_padding_low"])?;
    let high = call.ints(&["high", "edge_padding_high"])?;
    let interior = call.ints(&["interior", "interior_padding"])?;
    if low.len() != high.len() || low.len() != interior.len() {
        return Err(call.malformed("low, high and interior differ in number"));
    }
    let amounts: Result<SmallVec<[PadAmounts; 4]>, Fault> = low
        .into_iter()
        .zip(high)
        .zip(interior)
        .map(|((low, high), interior)| {
            let interior = u64::try_from(interior)
                .map_err(|_| call.malformed("padding between elements is negative"))?;
            Ok(PadAmounts { low, high, interior })
        })
        .collect();
    let (x, filling) = (call.arg(0)?, call.arg(1)?);
    Ok(smallvec![lower.b.pad(x, filling, amounts?).map_err(wrong(call))?])
}

/// `iota dim = 0`
pub(super) fn iota<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(0)?;
    let dim = call.int(&["dim", "iota_dimension"])?;
    let dim = usize::try_from(dim).map_err(|_| call.malformed("the dimension is negative"))?;
    let ty = call.result()?.clone();
    name(lower, call);
    Ok(smallvec![lower.b.iota(dim, &ty).map_err(wrong(call))?])
}

/// The starts of a dynamic slice where they are constants, clamped so that the slice lies within.
fn constant_starts<'s>(
    lower: &Lower<'_, 's>,
    call: &Call<'_, 's>,
    indices: &[ValueId],
    shape: &[u64],
    sizes: &[u64],
) -> Result<Vec<u64>, Fault> {
    if indices.len() != shape.len() || sizes.len() != shape.len() {
        return Err(call.malformed("needs one start and one size for each dimension"));
    }
    let mut starts = Vec::new();
    for ((&index, &size), &part) in indices.iter().zip(shape).zip(sizes) {
        let Some(room) = size.checked_sub(part) else {
            return Err(call.malformed("a part is larger than the whole"));
        };
        // Where nothing can move the start need not be known.
        let start =
            if room == 0 { 0 } else { known_int(lower, index).ok_or_else(|| unknown(call))? };
        starts.push(u64::try_from(start.clamp(0, i128::from(room))).unwrap_or(0));
    }
    Ok(starts)
}

fn unknown(call: &Call<'_, '_>) -> Fault {
    let fault = call.refused("the place depends on a value, which no address of a word can");
    Box::new((*fault).help("make the start a constant, or use a mask with `select`"))
}

/// The most operations that are evaluated to find the value of a scalar.
const MAX_STEPS: usize = 256;

/// The value of a scalar that constants alone determine.
fn known_int(lower: &Lower<'_, '_>, value: ValueId) -> Option<i128> {
    let func = lower.b.func();
    let mut known: FxHashMap<ValueId, TensorData> = FxHashMap::default();
    let mut pending = vec![value];
    for _ in 0..MAX_STEPS {
        let Some(&next) = pending.last() else { break };
        let id = func.def_op(next)?;
        let small = func.tensor_ty(next)?.elements()? <= 64;
        let wanted = |value: &ValueId| !known.contains_key(value);
        let missing: Vec<ValueId> = func.ops[id].value_operands().filter(wanted).collect();
        if !small {
            return None;
        } else if missing.is_empty() {
            let data = fold_op(func, id, |value| known.get(&value), &EvalOptions::default());
            known.insert(next, data.ok()??);
            pending.pop();
        } else {
            pending.extend(missing);
        }
    }
    let data = known.get(&value)?;
    if data.dtype().is_int() && data.len() == 1 { data.int(0) } else { None }
}

/// `dynamic_slice %x, %i, %j, sizes = [1, 4]`, where the starts are constants.
pub(super) fn dynamic_slice<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    let x = call.arg(0)?;
    let sizes: Result<Vec<u64>, _> =
        call.ints(&["sizes", "slice_sizes"])?.into_iter().map(u64::try_from).collect();
    let sizes = sizes.map_err(|_| call.malformed("a size is negative"))?;
    let shape = lower.ty(x).shape;
    let starts = constant_starts(lower, call, &call.args[1..], &shape, &sizes)?;
    let ranges = starts.iter().zip(&sizes).map(|(&start, &size)| SliceRange {
        start,
        limit: start.saturating_add(size),
        stride: 1,
    });
    let ranges: Vec<SliceRange> = ranges.collect();
    Ok(smallvec![lower.b.slice(x, ranges).map_err(wrong(call))?])
}

/// `dynamic_update_slice %x, %part, %i, %j`, where the starts are constants: what lies before, the part, and what
/// lies after, dimension by dimension.
pub(super) fn dynamic_update_slice<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    let (x, part) = (call.arg(0)?, call.arg(1)?);
    let (shape, sizes) = (lower.ty(x).shape, lower.ty(part).shape);
    if lower.dtype(x) != lower.dtype(part) {
        return Err(call.malformed("the part has another element type than the whole"));
    }
    let starts = constant_starts(lower, call, &call.args[2..], &shape, &sizes)?;
    let mut inner = part;
    // From the last dimension outwards, the part grows to rows, planes and so on of the whole.
    for dim in (0..shape.len()).rev() {
        let window = |range: SliceRange| {
            let ranges = (0..shape.len()).map(|other| match other.cmp(&dim) {
                std::cmp::Ordering::Less => SliceRange {
                    start: starts[other],
                    limit: starts[other].saturating_add(sizes[other]),
                    stride: 1,
                },
                std::cmp::Ordering::Equal => range,
                std::cmp::Ordering::Greater => {
                    SliceRange { start: 0, limit: shape[other], stride: 1 }
                }
            });
            ranges.collect::<Vec<_>>()
        };
        let end = starts[dim].saturating_add(sizes[dim]);
        let mut pieces: SmallVec<[ValueId; 3]> = SmallVec::new();
        if starts[dim] > 0 {
            let before = window(SliceRange { start: 0, limit: starts[dim], stride: 1 });
            pieces.push(lower.b.slice(x, before).map_err(wrong(call))?);
        }
        pieces.push(inner);
        if end < shape[dim] {
            let after = window(SliceRange { start: end, limit: shape[dim], stride: 1 });
            pieces.push(lower.b.slice(x, after).map_err(wrong(call))?);
        }
        if pieces.len() > 1 {
            inner = lower.b.concat(&pieces, dim).map_err(wrong(call))?;
        }
    }
    Ok(smallvec![inner])
}

/// Lets the next operation bear the name of the text's result.
pub(super) fn name(lower: &mut Lower<'_, '_>, call: &Call<'_, '_>) {
    if let Some(result) = call.op.results.first() {
        lower.b.named(result.name);
    }
}

/// A scalar repeated to a shape.
pub(super) fn spread(
    lower: &mut Lower<'_, '_>,
    x: ValueId,
    shape: &[u64],
) -> super::elementwise::Inferred {
    if lower.ty(x).shape.as_slice() == shape {
        return Ok(x);
    }
    let dims = 0..lower.ty(x).rank();
    lower.b.broadcast(x, dims, shape.iter().copied())
}

/// A scalar literal as a value.
pub(super) fn scalar(
    lower: &mut Lower<'_, '_>,
    bits: u64,
    dtype: ElemType,
) -> super::elementwise::Inferred {
    lower.b.constant(TensorData::scalar(dtype, bits))
}

/// The elements of a value that is a constant, seen through repetition.
pub(super) fn known_bits(lower: &Lower<'_, '_>, mut value: ValueId) -> Option<u64> {
    for _ in 0..16 {
        let func = lower.b.func();
        let op = &func.ops[func.def_op(value)?];
        match &op.kind {
            OpKind::Tensor(TensorOp::Constant(data)) => return data.splat_bits(),
            OpKind::Tensor(TensorOp::Reshape | TensorOp::Broadcast { .. }) => {
                value = op.operands.first().and_then(Operand::value)?;
            }
            _ => return None,
        }
    }
    None
}
