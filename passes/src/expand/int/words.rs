//! 64-bit integers as pairs of 32-bit words, and other small steps that many expansions share.

use partita_ir::ElemType;
use partita_ir::ops::{ElementwiseOp as Op, SliceRange};
use partita_ir::types::MAX_RANK;

use super::super::emit::Emitted;
use super::super::{Emitter, Refusal, Val};
use ElemType::{I32, I64, Ui8, Ui16, Ui32, Ui64};

/// The integer type of the width and signedness, at least 8 bits wide.
pub fn int_type(bytes: u64, signed: bool) -> ElemType {
    match (bytes, signed) {
        (1, true) => ElemType::I8,
        (1, false) => Ui8,
        (2, true) => ElemType::I16,
        (2, false) => Ui16,
        (4, true) => I32,
        (4, false) => Ui32,
        (_, true) => I64,
        (_, false) => Ui64,
    }
}

/// The type with the same width and the signedness asked for; `i1` stays.
pub fn with_sign(dtype: ElemType, signed: bool) -> ElemType {
    if dtype == ElemType::I1 { dtype } else { int_type(dtype.size_bytes(), signed) }
}

/// True of integers that the vector engine reads exactly: `i1` and up to 16 bits.
pub fn is_small(dtype: ElemType) -> bool {
    dtype.is_int() && dtype.width() <= 16
}

pub fn is_word(dtype: ElemType) -> bool {
    dtype.is_int() && dtype.width() == 32
}

pub fn is_wide(dtype: ElemType) -> bool {
    dtype.is_int() && dtype.width() == 64
}

/// The low and high words of a 64-bit integer, as `ui32`.
///
/// # Errors
/// The value is not of 64 bits.
pub fn halves(e: &mut Emitter<'_>, val: Val) -> Result<(Val, Val), Refusal> {
    let val = e.materialize(val)?;
    let shape = e.shape(val);
    // The words make one dimension more.
    let flat =
        if shape.len() < MAX_RANK { val } else { e.reshape(val, &[shape.iter().product()])? };
    let words = e.bitcast(flat, Ui32)?;
    let mut half = |index: u64| {
        let word_shape = e.shape(words);
        let last = word_shape.len().saturating_sub(1);
        let ranges = word_shape.iter().enumerate().map(|(dim, &size)| {
            let (start, limit) = if dim == last { (index, index + 1) } else { (0, size) };
            SliceRange { start, limit, stride: 1 }
        });
        let ranges: Vec<_> = ranges.collect();
        let id = e.id(words)?;
        let sliced = e.b.slice(id, ranges)?;
        let sliced = e.val(sliced);
        e.reshape(sliced, &shape)
    };
    Ok((half(0)?, half(1)?))
}

/// The 64-bit integer of two words of one shape (a literal takes the other's).
///
/// # Errors
/// The shapes differ.
pub fn join(e: &mut Emitter<'_>, low: Val, high: Val, dtype: ElemType) -> Emitted {
    let shape = if low.operand.value().is_some() { e.shape(low) } else { e.shape(high) };
    let (low, high) = (e.broadcast(low, &shape)?, e.broadcast(high, &shape)?);
    let mut column = if shape.len() < MAX_RANK {
        shape.clone()
    } else {
        [shape.iter().product::<u64>()].into_iter().collect()
    };
    column.push(1);
    let last = column.len() - 1;
    let words = [e.bitcast(low, Ui32)?, e.bitcast(high, Ui32)?];
    let words = [e.reshape(words[0], &column)?, e.reshape(words[1], &column)?];
    let pairs = e.concat(&words, last)?;
    let wide = e.bitcast(pairs, dtype)?;
    e.reshape(wide, &shape)
}

/// A 32-bit word, as `ui32`, that is not zero exactly where the 64-bit integer is not.
///
/// # Errors
/// As [`halves`].
pub fn any_bit(e: &mut Emitter<'_>, val: Val) -> Emitted {
    let (low, high) = halves(e, val)?;
    e.op(Op::BitwiseOr, &[low, high], Ui32)
}

/// All ones where the 32-bit integer, read as signed, is negative, else zero.
///
/// # Errors
/// The builder refuses it.
pub fn sign_word(e: &mut Emitter<'_>, val: Val) -> Emitted {
    let val = e.bitcast(val, I32)?;
    let count = e.lit(31, I32);
    e.op(Op::ArithShiftRight, &[val, count], I32)
}

/// 0 or 1 held in a 32-bit integer, as a result of any type.
///
/// # Errors
/// The builder refuses it.
pub fn truth(e: &mut Emitter<'_>, val: Val, to: ElemType) -> Emitted {
    if is_word(to) { e.bitcast(val, to) } else { e.cast(val, to) }
}

/// The negative modulo 2ⁿ.
///
/// # Errors
/// The builder refuses it.
pub fn negative(e: &mut Emitter<'_>, val: Val, to: ElemType) -> Emitted {
    let zero = e.lit(0, val.dtype);
    e.op(Op::Subtract, &[zero, val], to)
}
