//! Operations that move elements without looking at them.
//!
//! They work on bytes and shapes alone, so that whatever accompanies a tensor
//! element by element (its error bounds) moves the same way.

use super::EvalError;
use super::walk::{self, View, strides};
use crate::ops::{PadAmounts, SliceRange, TensorOp};

/// An array as these operations see it.
#[derive(Clone, Copy)]
pub struct Array<'a> {
    pub shape: &'a [u64],
    pub bytes: &'a [u8],
}

impl Array<'_> {
    fn len(&self, size: usize) -> usize {
        self.bytes.len() / size
    }
}

/// Moves elements of `size` bytes (1, 2, 4 or 8) into `out`, the dense array of
/// shape `result`. `None` when the operation is not one of movement.
pub fn apply(
    op: &TensorOp,
    operands: &[Array<'_>],
    result: &[u64],
    size: usize,
    out: &mut [u8],
) -> Option<Result<(), EvalError>> {
    let name = op.kind_name().full();
    let first = || {
        operands.first().copied().ok_or_else(|| EvalError::malformed(name, "an operand is missing"))
    };
    let gather = |view: fn(&TensorOp, Array<'_>, &[u64], usize) -> Option<View>, out: &mut [u8]| {
        let array = first()?;
        let from = view(op, array, result, array.len(size))
            .filter(|from| from.count() * size == out.len())
            .ok_or_else(|| EvalError::malformed(name, "the attributes do not fit the shapes"))?;
        let to = View::dense(from.count());
        walk::copy(array.bytes, &from, out, &to, size);
        Ok(())
    };
    Some(match op {
        TensorOp::Transpose { .. } => gather(transpose_view, out),
        TensorOp::Broadcast { .. } => gather(broadcast_view, out),
        TensorOp::Slice { .. } => gather(slice_view, out),
        TensorOp::Reverse { .. } => gather(reverse_view, out),
        TensorOp::Reshape | TensorOp::Bitcast => gather(|_, _, _, len| Some(View::dense(len)), out),
        TensorOp::Concat { dim } => concat(*dim, operands, result, size, out),
        TensorOp::Pad { amounts } => pad(amounts, operands, result, size, out),
        _ => return None,
    })
}

fn transpose_view(op: &TensorOp, array: Array<'_>, result: &[u64], len: usize) -> Option<View> {
    let TensorOp::Transpose { perm } = op else { return None };
    if perm.len() != array.shape.len() || result.len() != perm.len() {
        return None;
    }
    let strides = strides(array.shape);
    let dims = perm
        .iter()
        .zip(result)
        .map(|(&d, &size)| (array.shape.get(d) == Some(&size)).then(|| (size, strides[d])));
    View::new(0, dims.collect::<Option<Vec<_>>>()?, len)
}

fn broadcast_view(op: &TensorOp, array: Array<'_>, result: &[u64], len: usize) -> Option<View> {
    let TensorOp::Broadcast { dims } = op else { return None };
    if dims.len() != array.shape.len() {
        return None;
    }
    let mut walk: Vec<_> = result.iter().map(|&size| (size, 0)).collect();
    for ((&d, &own), stride) in dims.iter().zip(array.shape).zip(strides(array.shape)) {
        let slot = walk.get_mut(d)?;
        if own == slot.0 {
            slot.1 = stride;
        } else if own != 1 {
            return None;
        }
    }
    View::new(0, walk, len)
}

fn slice_view(op: &TensorOp, array: Array<'_>, result: &[u64], len: usize) -> Option<View> {
    let TensorOp::Slice { ranges } = op else { return None };
    if ranges.len() != array.shape.len() || result.len() != ranges.len() {
        return None;
    }
    let mut start = 0isize;
    let mut dims = Vec::with_capacity(ranges.len());
    for ((&SliceRange { start: from, limit, stride: step }, &size), stride) in
        ranges.iter().zip(array.shape).zip(strides(array.shape))
    {
        if step == 0 || from > limit || limit > size {
            return None;
        }
        start = start.checked_add(isize::try_from(from).ok()?.checked_mul(stride)?)?;
        // A step beyond the dimension is never taken.
        let step = isize::try_from(step).unwrap_or(isize::MAX).saturating_mul(stride);
        dims.push(((limit - from).div_ceil(ranges[dims.len()].stride), step));
    }
    if !dims.iter().map(|dim| dim.0).eq(result.iter().copied()) {
        return None;
    }
    View::new(usize::try_from(start).ok()?, dims, len)
}

fn reverse_view(op: &TensorOp, array: Array<'_>, result: &[u64], len: usize) -> Option<View> {
    let TensorOp::Reverse { dims: reversed } = op else { return None };
    if array.shape != result {
        return None;
    }
    let mut start = 0isize;
    let mut dims = Vec::with_capacity(result.len());
    for (d, (&size, stride)) in result.iter().zip(strides(array.shape)).enumerate() {
        if reversed.contains(&d) && size > 0 {
            start = start.checked_add(isize::try_from(size - 1).ok()?.checked_mul(stride)?)?;
            dims.push((size, -stride));
        } else {
            dims.push((size, stride));
        }
    }
    View::new(usize::try_from(start).ok()?, dims, len)
}

fn concat(
    dim: usize,
    operands: &[Array<'_>],
    result: &[u64],
    size: usize,
    out: &mut [u8],
) -> Result<(), EvalError> {
    let bad = || EvalError::malformed("tensor.concat", "the operands do not add up to the result");
    let fits = |array: &Array<'_>| {
        array.shape.len() == result.len()
            && array
                .shape
                .iter()
                .zip(result)
                .enumerate()
                .all(|(d, (own, all))| d == dim || own == all)
    };
    let total =
        operands.iter().try_fold(0u64, |sum, array| sum.checked_add(*array.shape.get(dim)?));
    if !operands.iter().all(fits) || total.is_none() || total != result.get(dim).copied() {
        return Err(bad());
    }
    let row: usize = out.len()
        / walk::count(result.get(..dim).unwrap_or(&[])).filter(|&rows| rows > 0).unwrap_or(1);
    if row == 0 {
        return Ok(());
    }
    let mut at = 0;
    for array in operands {
        let rows = out.len() / row;
        let part = array.bytes.len() / rows.max(1);
        if part == 0 {
            continue;
        }
        for (slot, piece) in out.chunks_exact_mut(row).zip(array.bytes.chunks_exact(part)) {
            slot.get_mut(at..at + part).ok_or_else(bad)?.copy_from_slice(piece);
        }
        at += part;
    }
    debug_assert_eq!(at, row, "sizes in bytes of {size}-byte elements");
    Ok(())
}

fn pad(
    amounts: &[PadAmounts],
    operands: &[Array<'_>],
    result: &[u64],
    size: usize,
    out: &mut [u8],
) -> Result<(), EvalError> {
    let bad = || EvalError::malformed("tensor.pad", "the amounts do not fit the shapes");
    let [array, filling] = operands else { return Err(bad()) };
    if amounts.len() != array.shape.len() || result.len() != amounts.len() {
        return Err(bad());
    }
    let filling = filling.bytes.get(..size).ok_or_else(bad)?;
    out.chunks_exact_mut(size).for_each(|slot| slot.copy_from_slice(filling));
    let views = pad_views(amounts, array, result, size, out.len() / size).ok_or_else(bad)?;
    walk::copy(array.bytes, &views.0, out, &views.1, size);
    Ok(())
}

/// The elements that survive cropping, in the operand and in the result.
fn pad_views(
    amounts: &[PadAmounts],
    array: &Array<'_>,
    result: &[u64],
    size: usize,
    out_len: usize,
) -> Option<(View, View)> {
    let (own, all) = (strides(array.shape), strides(result));
    let (mut from_start, mut to_start) = (0isize, 0isize);
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for (d, (amount, &count)) in amounts.iter().zip(array.shape).enumerate() {
        // Element i lands at low + i · step; the first and last that land inside.
        let step = i128::from(amount.interior) + 1;
        let low = i128::from(amount.low);
        let first = if low < 0 { (-low + step - 1) / step } else { 0 };
        let room = i128::from(result[d]) - 1 - low;
        let last = if room < 0 { -1 } else { (room / step).min(i128::from(count) - 1) };
        let kept = u64::try_from((last - first + 1).max(0)).ok()?;
        from.push((kept, own[d]));
        to.push((kept, isize::try_from(step).ok()?.checked_mul(all[d])?));
        if kept > 0 {
            from_start =
                from_start.checked_add(isize::try_from(first).ok()?.checked_mul(own[d])?)?;
            to_start = to_start
                .checked_add(isize::try_from(low + first * step).ok()?.checked_mul(all[d])?)?;
        }
    }
    let from = View::new(usize::try_from(from_start).ok()?, from, array.len(size))?;
    let to = View::new(usize::try_from(to_start).ok()?, to, out_len)?;
    Some((from, to))
}
