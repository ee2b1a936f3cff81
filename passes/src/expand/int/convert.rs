//! `tensor.cast`, `tensor.wrap`, `tensor.to_int`, `copy` and `bypass` where no single word converts.

use partita_ir::ops::{ElementwiseOp as Op, TensorOp};
use partita_ir::{ElemType, FuncBuilder};

use super::super::emit::Emitted;
use super::super::{Built, Emitter, Expansion, OpCx, Refusal, Val};
use super::exact;
use super::words::{any_bit, halves, int_type, is_wide, is_word, join, sign_word, with_sign};
use ElemType::{F32, I1, I32, I64, Ui32, Ui64};

pub const EXPANSIONS: &[Expansion] = &[
    exact(
        "copy-as-cast",
        "a copy into another type is a cast; of 64 bits it moves bytes",
        |cx| cx.is_any(&[Op::Copy, Op::Bypass]),
        |b, cx| {
            let mut e = Emitter::new(b, cx);
            let value = e.arg(cx, 0)?;
            let value = e.broadcast(value, &cx.result.shape)?;
            let value = e.cast(value, cx.to())?;
            e.id(value)
        },
    ),
    exact(
        "convert-nothing",
        "a conversion to the same type keeps the bits",
        |cx| (is_cast(cx) || is_wrap(cx)) && cx.dtype() == cx.to(),
        |_, cx| cx.input(),
    ),
    exact(
        "cast-to-truth",
        "a number is true when it is not zero",
        |cx| is_cast(cx) && cx.dtype().is_int() && cx.to() == I1,
        |b, cx| {
            with(b, cx, |e, x| {
                let x = if is_wide(x.dtype) { any_bit(e, x)? } else { x };
                let zero = e.lit(0, x.dtype);
                e.op(Op::IsNe, &[x, zero], I1)
            })
        },
    ),
    exact(
        "cast-word-sign",
        "32-bit integers saturate at the other signedness by their sign bit",
        |cx| is_cast(cx) && is_word(cx.dtype()) && is_word(cx.to()) && cx.dtype() != cx.to(),
        |b, cx| {
            with(b, cx, |e, x| {
                let signs = sign_word(e, x)?;
                let bits = e.bitcast(x, I32)?;
                if x.dtype == I32 {
                    let keep = e.op(Op::BitwiseNot, &[signs], I32)?;
                    let kept = e.op(Op::BitwiseAnd, &[bits, keep], I32)?;
                    return e.bitcast(kept, Ui32);
                }
                let full = e.op(Op::BitwiseOr, &[bits, signs], I32)?;
                let most = e.lit(i128::from(i32::MAX), I32);
                e.op(Op::BitwiseAnd, &[full, most], I32)
            })
        },
    ),
    exact(
        "cast-wide-narrow",
        "a 64-bit integer fits where its high word repeats the sign of the low one",
        |cx| {
            is_cast(cx)
                && is_wide(cx.dtype())
                && cx.to().is_int()
                && !is_wide(cx.to())
                && cx.to() != I1
        },
        |b, cx| {
            with(b, cx, |e, x| {
                let word = narrow(e, x, cx.to().is_signed())?;
                e.cast(word, cx.to())
            })
        },
    ),
    exact(
        "cast-to-wide",
        "an integer of 32 bits gets its sign as a second word",
        |cx| is_cast(cx) && cx.dtype().is_int() && !is_wide(cx.dtype()) && is_wide(cx.to()),
        |b, cx| {
            with(b, cx, |e, x| {
                let x = if x.dtype.is_signed() && cx.to() == Ui64 {
                    e.cast(x, int_type(x.dtype.size_bytes(), false))?
                } else {
                    x
                };
                e.wrap(x, cx.to())
            })
        },
    ),
    exact(
        "cast-wide-sign",
        "64-bit integers saturate at the other signedness by the sign of the high word",
        |cx| is_cast(cx) && is_wide(cx.dtype()) && is_wide(cx.to()) && cx.dtype() != cx.to(),
        |b, cx| {
            with(b, cx, |e, x| {
                let (low, high) = halves(e, x)?;
                let signs = sign_word(e, high)?;
                let signs = e.bitcast(signs, Ui32)?;
                let op = if x.dtype == I64 { Op::BitwiseAnd } else { Op::BitwiseOr };
                let mask =
                    if x.dtype == I64 { e.op(Op::BitwiseNot, &[signs], Ui32)? } else { signs };
                let low = e.op(op, &[low, mask], Ui32)?;
                let mut high = e.op(op, &[high, mask], Ui32)?;
                if x.dtype == Ui64 {
                    let most = e.lit(i128::from(i32::MAX), Ui32);
                    high = e.op(Op::BitwiseAnd, &[high, most], Ui32)?;
                }
                join(e, low, high, cx.to())
            })
        },
    ),
    exact(
        "cast-wide-float",
        "two 24-bit parts of a 64-bit magnitude, low bits gathered into one, add with one rounding",
        |cx| is_cast(cx) && is_wide(cx.dtype()) && cx.to().is_float(),
        |b, cx| with(b, cx, |e, x| wide_to_float(e, x, cx.to())),
    ),
    exact(
        "wrap-same-width",
        "modulo 2^n at the same width keeps the bits",
        |cx| is_wrap(cx) && cx.dtype().width() == cx.to().width(),
        |b, cx| with(b, cx, |e, x| e.bitcast(x, cx.to())),
    ),
    exact(
        "wrap-to-truth",
        "modulo 2 is the lowest bit",
        |cx| is_wrap(cx) && cx.to() == I1,
        |b, cx| {
            with(b, cx, |e, x| {
                let x = if is_wide(x.dtype) { halves(e, x)?.0 } else { x };
                let one = e.lit(1, x.dtype);
                let bit = e.op(Op::BitwiseAnd, &[x, one], x.dtype)?;
                e.cast(bit, I1)
            })
        },
    ),
    exact(
        "wrap-wide",
        "modulo 2^n of a 64-bit integer is that of its low word",
        |cx| is_wrap(cx) && is_wide(cx.dtype()) && !is_wide(cx.to()),
        |b, cx| {
            with(b, cx, |e, x| {
                let (low, _) = halves(e, x)?;
                e.wrap(low, cx.to())
            })
        },
    ),
    exact(
        "wrap-narrow",
        "the bits kept are masked, so that the saturating conversion leaves them",
        |cx| is_wrap(cx) && cx.to().width() < cx.dtype().width(),
        |b, cx| {
            with(b, cx, |e, x| {
                let mask = e.lit((1 << cx.to().width()) - 1, x.dtype);
                let kept = e.op(Op::BitwiseAnd, &[x, mask], x.dtype)?;
                let unsigned = e.cast(kept, with_sign(cx.to(), false))?;
                e.bitcast(unsigned, cx.to())
            })
        },
    ),
    exact(
        "wrap-to-wide",
        "a second word repeats the sign, or is zero",
        |cx| is_wrap(cx) && !is_wide(cx.dtype()) && is_wide(cx.to()),
        |b, cx| {
            with(b, cx, |e, x| {
                let word = e.wrap(x, if x.dtype.is_signed() { I32 } else { Ui32 })?;
                let high = if x.dtype.is_signed() { sign_word(e, word)? } else { e.lit(0, Ui32) };
                join(e, word, high, cx.to())
            })
        },
    ),
    exact(
        "wrap-widen",
        "a wider integer holds the value; its bits are then read with the other sign",
        |cx| is_wrap(cx) && cx.dtype().width() < cx.to().width(),
        |b, cx| {
            with(b, cx, |e, x| {
                let signed = x.dtype.is_signed() || cx.to().is_signed();
                let wide = e.cast(x, with_sign(cx.to(), signed))?;
                e.bitcast(wide, cx.to())
            })
        },
    ),
];

fn is_cast(cx: &OpCx<'_>) -> bool {
    matches!(cx.op, TensorOp::Cast)
}

fn is_wrap(cx: &OpCx<'_>) -> bool {
    matches!(cx.op, TensorOp::Wrap)
}

/// Builds from the only operand.
fn with(
    b: &mut FuncBuilder,
    cx: &OpCx<'_>,
    build: impl FnOnce(&mut Emitter<'_>, Val) -> Emitted,
) -> Built {
    let mut e = Emitter::new(b, cx);
    let x = e.arg(cx, 0)?;
    let value = build(&mut e, x)?;
    e.id(value)
}

/// A 64-bit integer saturated to 32 bits of the signedness asked for.
fn narrow(e: &mut Emitter<'_>, x: Val, signed: bool) -> Emitted {
    let (low, high) = halves(e, x)?;
    let signs = if x.dtype == I64 { sign_word(e, high)? } else { e.lit(0, I32) };
    if signed {
        // What the high word must be for the low one to be the value, and what it is.
        let low = e.bitcast(low, I32)?;
        let high = e.bitcast(high, I32)?;
        let repeated = sign_word(e, low)?;
        let differs = if x.dtype == I64 { Op::BitwiseXor } else { Op::BitwiseOr };
        let beyond = e.op(differs, &[high, repeated], I32)?;
        let most = e.lit(i128::from(i32::MAX), I32);
        let edge = e.op(Op::BitwiseXor, &[signs, most], I32)?;
        return e.op(Op::Select, &[beyond, edge, low], I32);
    }
    let ones = e.lit(i128::from(u32::MAX), Ui32);
    let clipped = e.op(Op::Select, &[high, ones, low], Ui32)?;
    if x.dtype == Ui64 {
        return Ok(clipped);
    }
    let zero = e.lit(0, Ui32);
    e.op(Op::Select, &[signs, zero, clipped], Ui32)
}

/// The words of the negative of a 64-bit integer given by words.
fn negate_words(e: &mut Emitter<'_>, low: Val, high: Val) -> Result<(Val, Val), Refusal> {
    let low_not = e.op(Op::BitwiseNot, &[low], Ui32)?;
    let high_not = e.op(Op::BitwiseNot, &[high], Ui32)?;
    let (zero, one) = (e.lit(0, Ui32), e.lit(1, Ui32));
    let carry = e.op(Op::IsEq, &[low, zero], Ui32)?;
    Ok((e.op(Op::Add, &[low_not, one], Ui32)?, e.op(Op::Add, &[high_not, carry], Ui32)?))
}

/// Nearest even. A magnitude of 2^48 or more is first shifted right by 16 with the lost bits
/// gathered into the lowest, which lies below the rounding position; a magnitude below 2^48 is the sum
/// of two 24-bit integers, each exact in fp32.
fn wide_to_float(e: &mut Emitter<'_>, x: Val, to: ElemType) -> Emitted {
    let (mut low, mut high) = halves(e, x)?;
    let shift = |e: &mut Emitter<'_>, op: Op, word: Val, count: i128| {
        let count = e.lit(count, Ui32);
        e.op(op, &[word, count], Ui32)
    };
    let negative = if x.dtype == I64 { Some(sign_word(e, high)?) } else { None };
    if let Some(negative) = negative {
        let (low_neg, high_neg) = negate_words(e, low, high)?;
        low = e.op(Op::Select, &[negative, low_neg, low], Ui32)?;
        high = e.op(Op::Select, &[negative, high_neg, high], Ui32)?;
    }
    let big = shift(e, Op::LogicalShiftRight, high, 16)?;
    let lost_mask = e.lit(0xFFFF, Ui32);
    let lost = e.op(Op::BitwiseAnd, &[low, lost_mask], Ui32)?;
    let zero = e.lit(0, Ui32);
    let sticky = e.op(Op::IsNe, &[lost, zero], Ui32)?;
    let above = shift(e, Op::LogicalShiftLeft, high, 16)?;
    let below = shift(e, Op::LogicalShiftRight, low, 16)?;
    let shifted = e.op(Op::BitwiseOr, &[above, below], Ui32)?;
    let shifted = e.op(Op::BitwiseOr, &[shifted, sticky], Ui32)?;
    let high = e.op(Op::Select, &[big, big, high], Ui32)?;
    let low = e.op(Op::Select, &[big, shifted, low], Ui32)?;
    let top = shift(e, Op::LogicalShiftLeft, high, 8)?;
    let next = shift(e, Op::LogicalShiftRight, low, 24)?;
    let top = e.op(Op::BitwiseOr, &[top, next], Ui32)?;
    let rest_mask = e.lit(0xFF_FFFF, Ui32);
    let rest = e.op(Op::BitwiseAnd, &[low, rest_mask], Ui32)?;
    let (top, rest) = (e.cast(top, F32)?, e.cast(rest, F32)?);
    let unit = e.lit_f32(16_777_216.0);
    let top = e.op(Op::Mult, &[top, unit], F32)?;
    let mut value = e.op(Op::Add, &[top, rest], F32)?;
    let (scale, one) = (e.lit_f32(65536.0), e.lit_f32(1.0));
    let scale = e.op(Op::Select, &[big, scale, one], F32)?;
    if let Some(negative) = negative {
        let minus = e.lit_f32(-1.0);
        let sign = e.op(Op::Select, &[negative, minus, one], F32)?;
        value = e.op(Op::Mult, &[value, sign], F32)?;
    }
    e.op(Op::Mult, &[value, scale], to)
}
