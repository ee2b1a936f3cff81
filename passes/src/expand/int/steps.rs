//! Scans made of elementwise steps along the last dimension.

use partita_ir::ops::ElementwiseOp as Op;

use super::super::emit::Emitted;
use super::super::{Emitter, Refusal, Val};

/// The longest axis that is unrolled element by element.
pub const LONGEST_UNROLLED: u64 = 256;

/// An inclusive scan of an associative operation: every element is combined with the one at a
/// distance that doubles.
///
/// # Errors
/// The builder refuses it.
pub fn doubling(e: &mut Emitter<'_>, op: Op, x: Val) -> Emitted {
    let last = e.shape(x).len().saturating_sub(1);
    let size = e.shape(x).last().copied().unwrap_or(1);
    let mut value = x;
    let mut distance = 1;
    while distance < size {
        let first = e.slice(value, last, 0, distance)?;
        let before = e.slice(value, last, 0, size - distance)?;
        let after = e.slice(value, last, distance, size)?;
        let rest = e.op(op, &[before, after], x.dtype)?;
        value = e.concat(&[first, rest], last)?;
        distance *= 2;
    }
    Ok(value)
}

/// A scan of any operation from a seed, one element after the other; gives every accumulator, or the
/// last one only.
///
/// # Errors
/// The axis is longer than [`LONGEST_UNROLLED`].
pub fn unrolled(e: &mut Emitter<'_>, op: Op, x: Val, seed: Val, all: bool) -> Emitted {
    let shape = e.shape(x);
    let last = shape.len().saturating_sub(1);
    let size = shape.last().copied().unwrap_or(1);
    if size > LONGEST_UNROLLED {
        return Err(Refusal::by(
            "CA-2",
            format!(
                "a scan with `{op}` is unrolled, and {size} elements are more than {LONGEST_UNROLLED}"
            ),
        ));
    }
    let mut accumulator = seed;
    let mut values = Vec::new();
    for index in 0..size {
        let element = e.slice(x, last, index, index + 1)?;
        accumulator = e.op(op, &[accumulator, element], x.dtype)?;
        values.push(accumulator);
    }
    if all { e.concat(&values, last) } else { Ok(accumulator) }
}
