//! Comparisons, extremes and truth operations of integers.

use partita_ir::ops::{Class, ElementwiseOp as Op};
use partita_ir::{ElemType, FuncBuilder};

use super::super::emit::Emitted;
use super::super::{Built, Emitter, Expansion, OpCx, Refusal, Val};
use super::exact;
use super::words::{any_bit, halves, is_wide, is_word, truth};
use ElemType::{F32, I32, Ui8, Ui32};

pub const EXPANSIONS: &[Expansion] = &[
    exact(
        "truth-into-wide",
        "a truth value is widened after it is computed",
        |cx| is_wide(cx.to()) && !is_wide(cx.dtype()) && is_truth(cx),
        |b, cx| {
            let value = b.elementwise_to(operation(cx)?, &cx.operands, Ui8)?;
            Ok(b.cast(value, cx.to())?)
        },
    ),
    exact(
        "compare-with-zero",
        "rounding to fp32 keeps the sign of an integer and whether it is zero",
        |cx| is_word(cx.dtype()) && is_compare(cx) && cx.literal_bits(1) == Some(0),
        |b, cx| {
            let mut e = Emitter::new(b, cx);
            let x = e.arg(cx, 0)?;
            let (x, zero) = (e.cast(x, F32)?, e.lit_f32(0.0));
            let value = e.op(operation(cx)?, &[x, zero], cx.to())?;
            e.id(value)
        },
    ),
    exact(
        "wide-equals-zero",
        "a 64-bit integer is zero when the union of its words is",
        |cx| {
            is_wide(cx.dtype()) && cx.is_any(&[Op::IsEq, Op::IsNe]) && cx.literal_bits(1) == Some(0)
        },
        |b, cx| {
            let mut e = Emitter::new(b, cx);
            let x = e.arg(cx, 0)?;
            let (bits, zero) = (any_bit(&mut e, x)?, e.lit(0, Ui32));
            let value = e.op(operation(cx)?, &[bits, zero], cx.to())?;
            e.id(value)
        },
    ),
    exact(
        "compare-band",
        "POOL compares 32- and 64-bit integers exactly",
        |cx| cx.has_int_band() && (is_word(cx.dtype()) || is_wide(cx.dtype())) && is_compare(cx),
        compare_band,
    ),
    exact(
        "compare-word",
        "32-bit integers are equal when no bit differs, and ordered by the sign of their difference, corrected for overflow",
        |cx| is_word(cx.dtype()) && is_compare(cx),
        compare_word,
    ),
    exact(
        "extreme-band",
        "POOL takes the extreme of 32- and 64-bit integers exactly",
        |cx| cx.has_int_band() && (is_word(cx.dtype()) || is_wide(cx.dtype())) && is_extreme(cx),
        |b, cx| {
            let largest = cx.is_any(&[Op::Max]);
            let op = match (largest, cx.dtype().is_signed()) {
                (true, true) => Op::MaxInt,
                (true, false) => Op::MaxUint,
                (false, true) => Op::MinInt,
                (false, false) => Op::MinUint,
            };
            Ok(b.elementwise_to(op, &cx.operands, cx.to())?)
        },
    ),
    exact(
        "extreme-word",
        "the extreme of 32-bit integers is selected by their exact comparison",
        |cx| is_word(cx.dtype()) && is_extreme(cx),
        |b, cx| {
            let mut e = Emitter::new(b, cx);
            let (x, y) = (e.arg(cx, 0)?, e.arg(cx, 1)?);
            let less = less_word(&mut e, x, y)?;
            let signs = e.lit(i128::from(i32::MIN), I32);
            let mask = e.op(Op::BitwiseAnd, &[less, signs], I32)?;
            let branches = if cx.is_any(&[Op::Max]) { [mask, y, x] } else { [mask, x, y] };
            let value = e.op(Op::Select, &branches, cx.to())?;
            e.id(value)
        },
    ),
    exact(
        "logical-of-words",
        "rounding to fp32 keeps whether an integer is zero",
        |cx| cx.dtype().is_int() && cx.elementwise().is_some_and(|op| op.class() == Class::Logical),
        |b, cx| {
            let mut e = Emitter::new(b, cx);
            let mut args = [e.arg(cx, 0)?, e.arg(cx, 1)?];
            for arg in &mut args {
                if is_wide(arg.dtype) && arg.operand.value().is_some() {
                    *arg = any_bit(&mut e, *arg)?;
                }
                *arg = e.cast(*arg, F32)?;
            }
            let value = e.op(operation(cx)?, &args, cx.to())?;
            e.id(value)
        },
    ),
];

fn operation(cx: &OpCx<'_>) -> Result<Op, Refusal> {
    cx.elementwise().ok_or_else(|| Refusal::because("not an elementwise operation"))
}

fn is_compare(cx: &OpCx<'_>) -> bool {
    cx.is_any(&[Op::IsEq, Op::IsNe, Op::IsGt, Op::IsGe, Op::IsLe, Op::IsLt])
}

/// An extreme whose result has the operands' type.
fn is_extreme(cx: &OpCx<'_>) -> bool {
    cx.is_any(&[Op::Max, Op::Min]) && cx.dtype() == cx.to()
}

fn is_truth(cx: &OpCx<'_>) -> bool {
    cx.elementwise()
        .is_some_and(|op| matches!(op.class(), Class::Compare | Class::IntCompare | Class::Logical))
}

/// The comparison of the integer band that reads the type's own signedness.
fn band(op: Op, signed: bool) -> Option<Op> {
    Some(match (op, signed) {
        (Op::IsEq, _) => Op::IsEqualInt,
        (Op::IsNe, _) => Op::IsNeInt,
        (Op::IsGt, true) => Op::IsGtInt,
        (Op::IsGe, true) => Op::IsGeInt,
        (Op::IsLe, true) => Op::IsLeInt,
        (Op::IsLt, true) => Op::IsLtInt,
        (Op::IsGt, false) => Op::IsGtUint,
        (Op::IsGe, false) => Op::IsGeUint,
        (Op::IsLe, false) => Op::IsLeUint,
        (Op::IsLt, false) => Op::IsLtUint,
        _ => return None,
    })
}

fn compare_band(b: &mut FuncBuilder, cx: &OpCx<'_>) -> Built {
    let dtype = cx.dtype();
    let op = band(operation(cx)?, dtype.is_signed())
        .ok_or_else(|| Refusal::because("not a comparison"))?;
    let value = b.elementwise_to(op, &cx.operands, dtype)?;
    if dtype == cx.to() {
        return Ok(value);
    }
    let mut e = Emitter::new(b, cx);
    let value = e.val(value);
    let word = if is_wide(dtype) { halves(&mut e, value)?.0 } else { value };
    let value =
        if is_wide(cx.to()) { e.wrap(word, cx.to())? } else { truth(&mut e, word, cx.to())? };
    e.id(value)
}

/// A 32-bit integer, as `i32`, that is negative exactly where x < y: the sign of x − y, or that of x
/// where the difference overflows. Unsigned operands are shifted into the signed range first.
pub fn less_word(e: &mut Emitter<'_>, x: Val, y: Val) -> Emitted {
    let signed = x.dtype.is_signed();
    let mut bits = |val: Val| {
        if signed {
            return e.bitcast(val, I32);
        }
        let top = e.lit(1 << 31, Ui32);
        let val = e.bitcast(val, Ui32)?;
        let flipped = e.op(Op::BitwiseXor, &[val, top], Ui32)?;
        e.bitcast(flipped, I32)
    };
    let (x, y) = (bits(x)?, bits(y)?);
    let difference = e.op(Op::Subtract, &[x, y], I32)?;
    let unlike = e.op(Op::BitwiseXor, &[x, y], I32)?;
    let turned = e.op(Op::BitwiseXor, &[difference, x], I32)?;
    let overflow = e.op(Op::BitwiseAnd, &[unlike, turned], I32)?;
    e.op(Op::BitwiseXor, &[difference, overflow], I32)
}

fn compare_word(b: &mut FuncBuilder, cx: &OpCx<'_>) -> Built {
    let mut e = Emitter::new(b, cx);
    let (x, y) = (e.arg(cx, 0)?, e.arg(cx, 1)?);
    let op = operation(cx)?;
    // `x > y` is `y < x`, and `x >= y` is not `x < y`.
    let (word, test) = match op {
        Op::IsLt => (less_word(&mut e, x, y)?, Op::IsLt),
        Op::IsGe => (less_word(&mut e, x, y)?, Op::IsGe),
        Op::IsGt => (less_word(&mut e, y, x)?, Op::IsLt),
        Op::IsLe => (less_word(&mut e, y, x)?, Op::IsGe),
        _ => (e.op(Op::BitwiseXor, &[x, y], cx.dtype())?, op),
    };
    let zero = e.lit(0, word.dtype);
    let value = e.op(test, &[word, zero], cx.to())?;
    e.id(value)
}
