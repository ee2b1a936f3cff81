//! `reduce_window`: running folds become scans, pooling becomes folds of overlapping slices.

use smallvec::SmallVec;

use super::body::{Combine, Values, is_identity};
use super::reduce::{parts, started};
use super::shape::{known_bits, spread};
use super::{Call, Fault, Lower, Made, wrong};
use crate::entity::ValueId;
use crate::infer::InferError;
use crate::ops::{ElementwiseOp, Emit, PadAmounts, ReduceOp, SliceRange};
use crate::types::Shape;

/// Windows of at most so many elements are folded element by element.
const SHORT: u64 = 4;

/// So are windows of at most so many elements that do not overlap.
const APART: u64 = 64;

/// One dimension of a window.
#[derive(Clone, Copy, Debug)]
struct Window {
    size: u64,
    stride: u64,
    /// Steps from one element of the window to the next.
    dilation: u64,
    /// Of the operand.
    base: u64,
    low: i64,
    high: i64,
}

/// `reduce_window` with windows of any kind.
pub(super) fn reduce_window<'f, 's>(lower: &mut Lower<'f, 's>, call: &Call<'f, 's>) -> Made {
    let parts = parts(lower, call)?;
    let shape = lower.ty(parts.values[0]).shape;
    if parts.values.iter().any(|&value| lower.ty(value).shape != shape) {
        return Err(call.malformed("the operands differ in shape"));
    }
    let windows = windows(call, shape.len())?;
    let folds: Option<Vec<ReduceOp>> =
        (0..parts.values.len()).map(|nth| parts.fold(lower, nth)).collect();
    if let Some(folds) = folds {
        let mut made = Values::new();
        for (nth, op) in folds.into_iter().enumerate() {
            let (x, init) = (parts.values[nth], parts.inits[nth]);
            let plain =
                known_bits(lower, init).is_some_and(|bits| is_identity(op, lower.dtype(x), bits));
            if plain && let Some(scanned) = running(lower, call, op, x, &shape, &windows)? {
                made.push(scanned);
                continue;
            }
            let one = fold(lower, call, Combine::Op(op), &[x], &[init], &shape, &windows)?;
            made.push(started(lower, call, op, one[0], init)?);
        }
        return Ok(made);
    }
    let how = Combine::Body(parts.body(call)?);
    let folded = fold(lower, call, how, &parts.values, &parts.inits, &shape, &windows)?;
    let shape = lower.ty(folded[0]).shape;
    let starts: Result<Values, Fault> =
        parts.inits.iter().map(|&init| spread(lower, init, &shape).map_err(wrong(call))).collect();
    lower.combine(call, how, &starts?, &folded)
}

/// The windows, one for each dimension.
fn windows(call: &Call<'_, '_>, rank: usize) -> Result<Vec<Window>, Fault> {
    let list = |name: &str, default: i64, count: usize| -> Result<Vec<i64>, Fault> {
        let list = match call.attr(&[name]) {
            None => vec![default; count],
            Some(attr) => attr
                .ints()
                .ok_or_else(|| call.malformed(format_args!("`{name}` is no list of numbers")))?,
        };
        if list.len() == count {
            Ok(list)
        } else {
            Err(call.malformed(format_args!("`{name}` has {} numbers, not {count}", list.len())))
        }
    };
    if call.attr(&["window_dimensions"]).is_none() {
        return Err(call.malformed("needs `window_dimensions`"));
    }
    let sizes = list("window_dimensions", 1, rank)?;
    let strides = list("window_strides", 1, rank)?;
    let dilations = list("window_dilations", 1, rank)?;
    let bases = list("base_dilations", 1, rank)?;
    let padding = list("padding", 0, 2 * rank)?;
    let positive = |number: i64| {
        let number = u64::try_from(number).ok().filter(|&number| number > 0);
        number.ok_or_else(|| call.malformed("sizes, strides and dilations of windows are positive"))
    };
    (0..rank)
        .map(|dim| {
            Ok(Window {
                size: positive(sizes[dim])?,
                stride: positive(strides[dim])?,
                dilation: positive(dilations[dim])?,
                base: positive(bases[dim])?,
                low: padding[2 * dim],
                high: padding[2 * dim + 1],
            })
        })
        .collect()
}

/// A fold over everything before or after each element of one dimension: a scan.
fn running<'s>(
    lower: &mut Lower<'_, 's>,
    call: &Call<'_, 's>,
    op: ReduceOp,
    x: ValueId,
    shape: &[u64],
    windows: &[Window],
) -> Result<Option<ValueId>, Fault> {
    let plain = |w: &Window| w.stride == 1 && w.dilation == 1 && w.base == 1;
    let mut wide = windows.iter().enumerate().filter(|(_, w)| w.size > 1);
    let (Some((dim, window)), None) = (wide.next(), wide.next()) else { return Ok(None) };
    let others_stay =
        windows.iter().enumerate().all(|(at, w)| at == dim || (w.low, w.high) == (0, 0));
    let (size, reach) = (shape[dim], window.size as i64 - 1);
    let forwards = (window.low, window.high) == (reach, 0);
    let backwards = (window.low, window.high) == (0, reach);
    if !windows.iter().all(plain)
        || !others_stay
        || window.size < size
        || window.size > i64::MAX as u64
        || !(forwards || backwards)
    {
        return Ok(None);
    }
    let Some(step) = op.combine().filter(|step| step.is_scan_op1() && step.has_identity()) else {
        return Ok(None);
    };
    let scan = |lower: &mut Lower<'_, 's>| -> Result<ValueId, InferError> {
        let last = shape.len() - 1;
        let mut swap: Vec<usize> = (0..shape.len()).collect();
        swap.swap(dim, last);
        let mut value = x;
        if dim != last {
            value = lower.b.transpose(value, swap.iter().copied())?;
        }
        if backwards {
            value = lower.b.reverse(value, [last])?;
        }
        let zero = crate::literal::Literal::Int(0);
        value = lower.b.scan_cache(ElementwiseOp::Bypass, step, value, zero, None, Emit::All)?;
        if backwards {
            value = lower.b.reverse(value, [last])?;
        }
        if dim != last {
            value = lower.b.transpose(value, swap)?;
        }
        Ok(value)
    };
    scan(lower).map(Some).map_err(wrong(call))
}

/// Pads, then folds dimension by dimension.
fn fold<'f, 's>(
    lower: &mut Lower<'f, 's>,
    call: &Call<'f, 's>,
    how: Combine<'f, 's>,
    values: &[ValueId],
    inits: &[ValueId],
    shape: &[u64],
    windows: &[Window],
) -> Result<Values, Fault> {
    let pads = windows.iter().any(|w| w.low != 0 || w.high != 0 || w.base != 1);
    let mut current: Values = values.into();
    if pads {
        for (value, &init) in current.iter_mut().zip(inits) {
            let amounts = windows.iter().map(|w| PadAmounts {
                low: w.low,
                high: w.high,
                interior: w.base - 1,
            });
            *value = lower.b.pad(*value, init, amounts).map_err(wrong(call))?;
        }
    }
    let mut shape: Shape = shape.into();
    if let Some(&first) = current.first() {
        shape = lower.ty(first).shape;
    }
    for (dim, window) in windows.iter().enumerate() {
        if window.size == 1 && window.stride == 1 {
            continue;
        }
        let reach =
            (window.size - 1).checked_mul(window.dilation).and_then(|reach| reach.checked_add(1));
        let room = reach.and_then(|reach| shape[dim].checked_sub(reach));
        let Some(room) = room else {
            // No window fits: nothing is left of this dimension.
            shape[dim] = 0;
            for value in &mut current {
                let ranges = whole(&lower.ty(*value).shape, dim, 0, 0, 1);
                *value = lower.b.slice(*value, ranges).map_err(wrong(call))?;
            }
            continue;
        };
        current = along(lower, call, how, current, dim, *window, room)?;
        shape[dim] = room / window.stride + 1;
    }
    Ok(current)
}

/// Every element, but for one dimension.
fn whole(
    shape: &[u64],
    dim: usize,
    start: u64,
    limit: u64,
    stride: u64,
) -> SmallVec<[SliceRange; 4]> {
    shape
        .iter()
        .enumerate()
        .map(|(at, &size)| {
            if at == dim {
                SliceRange { start, limit, stride }
            } else {
                SliceRange { start: 0, limit: size, stride: 1 }
            }
        })
        .collect()
}

/// Folds the windows along one dimension, which has `room` places for a window beside the first.
fn along<'f, 's>(
    lower: &mut Lower<'f, 's>,
    call: &Call<'f, 's>,
    how: Combine<'f, 's>,
    values: Values,
    dim: usize,
    window: Window,
    room: u64,
) -> Result<Values, Fault> {
    let Window { size, stride, dilation, .. } = window;
    // From an element on, so many steps apart.
    let pick =
        |lower: &mut Lower<'f, 's>, values: &[ValueId], start: u64, span: u64, stride: u64| {
            values
                .iter()
                .map(|&value| {
                    let ranges =
                        whole(&lower.ty(value).shape, dim, start, start + span + 1, stride);
                    lower.b.slice(value, ranges).map_err(wrong(call))
                })
                .collect::<Result<Values, Fault>>()
        };
    if size <= SHORT || stride >= size && size <= APART {
        let mut folded = pick(lower, &values, 0, room, stride)?;
        for step in 1..size {
            let next = pick(lower, &values, step * dilation, room, stride)?;
            folded = lower.combine(call, how, &folded, &next)?;
        }
        return Ok(folded);
    }
    // Windows of 1, 2, 4, … elements; those of the size's binary digits make the whole, one after the other.
    let mut power = values;
    let (mut length, mut done) = (1u64, 0u64);
    let mut folded: Option<Values> = None;
    loop {
        if size & length != 0 {
            let piece = pick(lower, &power, done * dilation, room, 1)?;
            folded = Some(match folded {
                Some(before) => lower.combine(call, how, &before, &piece)?,
                None => piece,
            });
            done += length;
        }
        if done == size {
            break;
        }
        let reach = length * dilation;
        let have = lower.ty(power[0]).shape[dim];
        let span = have.saturating_sub(reach + 1);
        let near = pick(lower, &power, 0, span, 1)?;
        let far = pick(lower, &power, reach, span, 1)?;
        power = lower.combine(call, how, &near, &far)?;
        length *= 2;
    }
    let folded = folded.unwrap_or(power);
    if stride == 1 { Ok(folded) } else { pick(lower, &folded, 0, room, stride) }
}
