//! Bit operations, shifts, counts of bits, and selection of 64-bit data.

use partita_ir::ops::{Class, ElementwiseOp as Op};
use partita_ir::types::MAX_RANK;
use partita_ir::{ElemType, FuncBuilder};

use super::super::emit::Emitted;
use super::super::{Built, Emitter, Expansion, OpCx, Refusal, Val};
use super::exact;
use super::words::{any_bit, halves, is_wide, with_sign};
use ElemType::{I1, Ui32};

pub const EXPANSIONS: &[Expansion] = &[
    exact(
        "not-of-truth",
        "the complement of one bit is whether it is zero",
        |cx| keeps(cx) && cx.dtype() == I1 && cx.is_any(&[Op::BitwiseNot]),
        |b, cx| Ok(b.elementwise_to(Op::IsEq, &[cx.operand(0)?, 0i64.into()], I1)?),
    ),
    exact(
        "shift-of-truth",
        "one bit stays under a count of 0, and sign fill is the bit itself",
        |cx| keeps(cx) && cx.dtype() == I1 && is_shift(cx),
        shift_of_truth,
    ),
    exact(
        "shift-count",
        "a count beyond the narrow type's range saturates, and so still shifts every bit out",
        |cx| {
            keeps(cx) && is_shift(cx) && !is_wide(cx.dtype()) && count_type(cx) != Some(cx.dtype())
        },
        |b, cx| {
            let mut e = Emitter::new(b, cx);
            let (x, count) = (e.arg(cx, 0)?, e.arg(cx, 1)?);
            let count = e.cast(count, with_sign(cx.dtype(), false))?;
            let count = e.bitcast(count, cx.dtype())?;
            let value = e.op(operation(cx)?, &[x, count], cx.to())?;
            e.id(value)
        },
    ),
    exact(
        "wide-bits",
        "the bits of a 64-bit integer are those of its words",
        |cx| {
            keeps(cx)
                && is_wide(cx.dtype())
                && cx.elementwise().is_some_and(|op| op.class() == Class::Bit)
                && !cx.is_any(&[Op::Popcount, Op::Clz])
        },
        wide_bits,
    ),
    exact(
        "count-ones",
        "bits are counted in fields that double in width",
        |cx| keeps(cx) && cx.is_any(&[Op::Popcount]),
        |b, cx| {
            let mut e = Emitter::new(b, cx);
            let x = e.arg(cx, 0)?;
            let count = if is_wide(x.dtype) {
                let (low, high) = halves(&mut e, x)?;
                let (low, high) = (count_ones(&mut e, low)?, count_ones(&mut e, high)?);
                e.op(Op::Add, &[low, high], Ui32)?
            } else {
                let word = unsigned_word(&mut e, x)?;
                count_ones(&mut e, word)?
            };
            let value = e.wrap(count, cx.to())?;
            e.id(value)
        },
    ),
    exact(
        "count-leading-zeros",
        "the zeros above the highest bit are those that remain when it is copied downward",
        |cx| keeps(cx) && cx.is_any(&[Op::Clz]),
        count_leading_zeros,
    ),
    exact(
        "select-then-cast",
        "a selected value is converted in a second word",
        |cx| cx.is_any(&[Op::Select]) && cx.dtype() != cx.to(),
        |b, cx| {
            let mut e = Emitter::new(b, cx);
            let args = [e.arg(cx, 0)?, e.arg(cx, 1)?, e.arg(cx, 2)?];
            let value = e.op(Op::Select, &args, cx.dtype())?;
            let value = e.cast(value, cx.to())?;
            e.id(value)
        },
    ),
    exact(
        "select-by-wide",
        "a 64-bit condition holds when a bit of its words is set",
        |cx| cx.is_any(&[Op::Select]) && cx.types.first().is_some_and(|ty| is_wide(ty.dtype)),
        |b, cx| {
            let mut e = Emitter::new(b, cx);
            let condition = e.arg(cx, 0)?;
            let condition = any_bit(&mut e, condition)?;
            let args = [condition, e.arg(cx, 1)?, e.arg(cx, 2)?];
            let value = e.op(Op::Select, &args, cx.to())?;
            e.id(value)
        },
    ),
    exact(
        "select-wide",
        "64-bit data is selected by words",
        |cx| cx.is_any(&[Op::Select]) && is_wide(cx.dtype()) && cx.dtype() == cx.to(),
        select_wide,
    ),
];

fn operation(cx: &OpCx<'_>) -> Result<Op, Refusal> {
    cx.elementwise().ok_or_else(|| Refusal::because("not an elementwise operation"))
}

fn keeps(cx: &OpCx<'_>) -> bool {
    cx.dtype().is_int() && cx.dtype() == cx.to()
}

fn is_shift(cx: &OpCx<'_>) -> bool {
    cx.elementwise().is_some_and(|op| op.class() == Class::Shift)
}

fn count_type(cx: &OpCx<'_>) -> Option<ElemType> {
    cx.types.get(1).map(|ty| ty.dtype)
}

fn shift_of_truth(b: &mut FuncBuilder, cx: &OpCx<'_>) -> Built {
    let mut e = Emitter::new(b, cx);
    let (x, count) = (e.arg(cx, 0)?, e.arg(cx, 1)?);
    if cx.is_any(&[Op::ArithShiftRight]) {
        let value = e.broadcast(x, &cx.result.shape)?;
        return e.id(value);
    }
    let zero = e.lit(0, count.dtype);
    let stays = e.op(Op::IsEq, &[count, zero], I1)?;
    let value = e.op(Op::LogicalAnd, &[x, stays], I1)?;
    e.id(value)
}

/// The words of 64-bit operands as one more dimension, the last; flat where that would be too many.
fn word_view(e: &mut Emitter<'_>, val: Val, shape: &[u64]) -> Emitted {
    let val = e.materialize(val)?;
    let val = if shape.len() < MAX_RANK {
        val
    } else {
        let all = e.broadcast(val, shape)?;
        e.reshape(all, &[shape.iter().product()])?
    };
    e.bitcast(val, Ui32)
}

fn wide_bits(b: &mut FuncBuilder, cx: &OpCx<'_>) -> Built {
    let mut e = Emitter::new(b, cx);
    let mut args = Vec::new();
    for index in 0..cx.operands.len() {
        let arg = e.arg(cx, index)?;
        args.push(word_view(&mut e, arg, &cx.result.shape)?);
    }
    let value = e.op(operation(cx)?, &args, Ui32)?;
    let value = e.bitcast(value, cx.to())?;
    let value = e.reshape(value, &cx.result.shape)?;
    e.id(value)
}

fn select_wide(b: &mut FuncBuilder, cx: &OpCx<'_>) -> Built {
    let mut e = Emitter::new(b, cx);
    let shape = &cx.result.shape;
    let condition = e.arg(cx, 0)?;
    let condition = e.materialize(condition)?;
    let mut column = if shape.len() < MAX_RANK {
        e.shape(condition)
    } else {
        [shape.iter().product::<u64>()].into_iter().collect()
    };
    let condition = if shape.len() < MAX_RANK { condition } else { e.broadcast(condition, shape)? };
    column.push(1);
    let condition = e.reshape(condition, &column)?;
    let (yes, no) = (e.arg(cx, 1)?, e.arg(cx, 2)?);
    let args = [condition, word_view(&mut e, yes, shape)?, word_view(&mut e, no, shape)?];
    let value = e.op(Op::Select, &args, Ui32)?;
    let value = e.bitcast(value, cx.to())?;
    let value = e.reshape(value, shape)?;
    e.id(value)
}

/// The bits of an integer of at most 32 bits as `ui32`, zeros above.
fn unsigned_word(e: &mut Emitter<'_>, x: Val) -> Emitted {
    let unsigned = e.bitcast(x, with_sign(x.dtype, false))?;
    e.wrap(unsigned, Ui32)
}

/// Ones of a `ui32`.
fn count_ones(e: &mut Emitter<'_>, word: Val) -> Emitted {
    let mut fields = |word: Val, shift: i128, mask: i128| -> Result<Val, Refusal> {
        let (shift, mask) = (e.lit(shift, Ui32), e.lit(mask, Ui32));
        let moved = e.op(Op::LogicalShiftRight, &[word, shift], Ui32)?;
        let high = e.op(Op::BitwiseAnd, &[moved, mask], Ui32)?;
        let low = e.op(Op::BitwiseAnd, &[word, mask], Ui32)?;
        e.op(Op::Add, &[low, high], Ui32)
    };
    let twos = fields(word, 1, 0x5555_5555)?;
    let fours = fields(twos, 2, 0x3333_3333)?;
    let eights = fields(fours, 4, 0x0F0F_0F0F)?;
    let sixteens = fields(eights, 8, 0x00FF_00FF)?;
    fields(sixteens, 16, 0xFFFF)
}

/// Zeros above the highest one of a `ui32`, as `ui32`.
fn leading_zeros(e: &mut Emitter<'_>, word: Val) -> Emitted {
    let mut filled = word;
    for shift in [1, 2, 4, 8, 16] {
        let shift = e.lit(shift, Ui32);
        let moved = e.op(Op::LogicalShiftRight, &[filled, shift], Ui32)?;
        filled = e.op(Op::BitwiseOr, &[filled, moved], Ui32)?;
    }
    let zeros = e.op(Op::BitwiseNot, &[filled], Ui32)?;
    count_ones(e, zeros)
}

fn count_leading_zeros(b: &mut FuncBuilder, cx: &OpCx<'_>) -> Built {
    let mut e = Emitter::new(b, cx);
    let x = e.arg(cx, 0)?;
    let count = if is_wide(x.dtype) {
        let (low, high) = halves(&mut e, x)?;
        let in_low = leading_zeros(&mut e, low)?;
        let in_high = leading_zeros(&mut e, high)?;
        let word = e.lit(32, Ui32);
        let in_low = e.op(Op::Add, &[in_low, word], Ui32)?;
        e.op(Op::Select, &[high, in_high, in_low], Ui32)?
    } else {
        let word = unsigned_word(&mut e, x)?;
        let count = leading_zeros(&mut e, word)?;
        let above = e.lit(i128::from(32 - x.dtype.width()), Ui32);
        if x.dtype.width() == 32 { count } else { e.op(Op::Subtract, &[count, above], Ui32)? }
    };
    let value = e.wrap(count, cx.to())?;
    e.id(value)
}
