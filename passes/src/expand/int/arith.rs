//! Sums, differences, products and magnitudes of integers.

use partita_ir::ops::ElementwiseOp as Op;
use partita_ir::{ElemType, FuncBuilder};

use super::super::{Built, Emitter, Expansion, OpCx, Refusal};
use super::exact;
use super::words::{halves, int_type, is_small, is_wide, is_word, sign_word, with_sign};
use ElemType::{F32, I1, I16, I32, I64, Ui16, Ui32};

pub const EXPANSIONS: &[Expansion] = &[
    exact(
        "modular-into-float-words",
        "16-bit halves of a sum are exact in fp32, and their sum rounds once",
        |cx| {
            modular_int(cx) && cx.to().is_float() && is_word(cx.dtype()) && !cx.is_any(&[Op::Mult])
        },
        sum_to_float,
    ),
    exact(
        "product-into-float",
        "fp32 rounds the product of two 16-bit integers once",
        |cx| modular_int(cx) && cx.to().is_float() && is_small(cx.dtype()),
        |b, cx| {
            let mut e = Emitter::new(b, cx);
            let args = [e.arg(cx, 0)?, e.arg(cx, 1)?];
            let args = [e.cast(args[0], F32)?, e.cast(args[1], F32)?];
            let value = e.op(operation(cx)?, &args, F32)?;
            // Zero times a negative number would be -0.
            let zero = e.lit_f32(0.0);
            let value = e.op(Op::Add, &[value, zero], cx.to())?;
            e.id(value)
        },
    ),
    exact(
        "word-product-into-float",
        "the product of two 32-bit integers is exact in 64 bits",
        |cx| modular_int(cx) && cx.to().is_float() && is_word(cx.dtype()) && cx.has_int_band(),
        |b, cx| modular_in(b, cx, int_type(8, cx.dtype().is_signed())),
    ),
    exact(
        "modular-into-float",
        "the sum or product of wide integers needs more than 64 bits before it rounds",
        |cx| modular_int(cx) && cx.to().is_float(),
        |_, cx| {
            let reason = format!(
                "an exact `{}` of `{}` before one rounding to `{}` needs integers wider than the machine has",
                operation(cx)?,
                cx.dtype(),
                cx.to()
            );
            Err(Refusal::by("N-4", reason))
        },
    ),
    exact(
        "modular-in-fp32",
        "small integers are added, subtracted and multiplied exactly in fp32, then reduced modulo 2^n",
        |cx| modular_int(cx) && cx.to().is_int() && fp32_type(cx).is_some_and(|ty| ty != cx.to()),
        |b, cx| modular_in(b, cx, fp32_type(cx).unwrap_or(I32)),
    ),
    exact(
        "modular-in-words",
        "POOL wraps modulo 2^32 or 2^64, of which the result's modulus is a divisor",
        |cx| modular_int(cx) && cx.to().is_int() && cx.dtype() != word_type(cx),
        |b, cx| modular_in(b, cx, word_type(cx)),
    ),
    exact(
        "modular-then-wrap",
        "POOL wraps modulo 2^32 or 2^64, of which the result's modulus is a divisor",
        |cx| modular_int(cx) && cx.to().is_int() && cx.dtype() != cx.to(),
        |b, cx| modular_in(b, cx, word_type(cx)),
    ),
    exact(
        "unsigned-magnitude",
        "an unsigned integer is its own magnitude",
        |cx| keeps(cx) && !cx.dtype().is_signed() && cx.is_any(&[Op::AbsoluteValue, Op::ReLu]),
        |b, cx| Ok(b.elementwise_to(Op::Copy, &cx.operands, cx.to())?),
    ),
    exact(
        "small-magnitude",
        "the magnitude of a small integer, taken in fp32, has the bits of the wrapped one",
        |cx| keeps(cx) && is_small(cx.dtype()) && cx.is_any(&[Op::AbsoluteValue, Op::AbsoluteDiff]),
        |b, cx| {
            let mut e = Emitter::new(b, cx);
            let x = e.arg(cx, 0)?;
            let number = if cx.is_any(&[Op::AbsoluteDiff]) {
                let y = e.arg(cx, 1)?;
                if cx.dtype() == I1 {
                    let value = e.op(Op::LogicalXor, &[x, y], I1)?;
                    return e.id(value);
                }
                e.op(Op::Subtract, &[x, y], F32)?
            } else {
                e.cast(x, F32)?
            };
            let value = e.op(Op::AbsoluteValue, &[number], with_sign(cx.dtype(), false))?;
            let value = e.bitcast(value, cx.to())?;
            e.id(value)
        },
    ),
    exact(
        "magnitude-band",
        "POOL's largest magnitude of a number and itself is its magnitude, the least integer kept",
        |cx| {
            keeps(cx)
                && cx.has_int_band()
                && cx.dtype().is_signed()
                && cx.is_any(&[Op::AbsoluteValue])
        },
        |b, cx| {
            let x = cx.operand(0)?;
            Ok(b.elementwise_to(Op::AbsMaxInt, &[x, x], cx.to())?)
        },
    ),
    exact(
        "magnitude-word",
        "the bits of a negative integer are turned over and 1 is added",
        |cx| keeps(cx) && cx.dtype() == I32 && cx.is_any(&[Op::AbsoluteValue]),
        |b, cx| {
            let mut e = Emitter::new(b, cx);
            let x = e.arg(cx, 0)?;
            let signs = sign_word(&mut e, x)?;
            let turned = e.op(Op::BitwiseXor, &[x, signs], I32)?;
            let value = e.op(Op::Subtract, &[turned, signs], I32)?;
            e.id(value)
        },
    ),
    exact(
        "difference-band",
        "POOL's magnitude of a difference is that modulo 2^n",
        |cx| {
            keeps(cx)
                && cx.has_int_band()
                && cx.dtype().is_signed()
                && cx.is_any(&[Op::AbsoluteDiff])
        },
        |b, cx| Ok(b.elementwise_to(Op::AbsDiffInt, &cx.operands, cx.to())?),
    ),
    exact(
        "difference-of-extremes",
        "the larger less the smaller is the magnitude of the difference modulo 2^n",
        |cx| keeps(cx) && cx.is_any(&[Op::AbsoluteDiff]),
        |b, cx| {
            let large = b.elementwise_to(Op::Max, &cx.operands, cx.to())?;
            let small = b.elementwise_to(Op::Min, &cx.operands, cx.to())?;
            Ok(b.elementwise_to(Op::Subtract, &[large.into(), small.into()], cx.to())?)
        },
    ),
    exact(
        "extreme-of-magnitudes",
        "the extreme of magnitudes, each modulo 2^n",
        |cx| keeps(cx) && cx.is_any(&[Op::AbsMax, Op::AbsMin]),
        |b, cx| {
            let mut e = Emitter::new(b, cx);
            let (x, y) = (e.arg(cx, 0)?, e.arg(cx, 1)?);
            let largest = cx.is_any(&[Op::AbsMax]);
            let to = cx.to();
            if cx.has_int_band() && !is_small(to) && to.is_signed() {
                let op = if largest { Op::AbsMaxInt } else { Op::AbsMinInt };
                let value = e.op(op, &[x, y], to)?;
                return e.id(value);
            }
            let x = e.op(Op::AbsoluteValue, &[x], to)?;
            let y = e.op(Op::AbsoluteValue, &[y], to)?;
            let value = e.op(if largest { Op::Max } else { Op::Min }, &[x, y], to)?;
            e.id(value)
        },
    ),
    exact(
        "positive-part",
        "the positive part is the larger of the number and zero",
        |cx| keeps(cx) && cx.is_any(&[Op::ReLu]),
        |b, cx| Ok(b.elementwise_to(Op::Max, &[cx.operand(0)?, 0i64.into()], cx.to())?),
    ),
    exact(
        "square-as-product",
        "a square is a product",
        |cx| keeps(cx) && cx.is_any(&[Op::Square]),
        |b, cx| Ok(b.elementwise_to(Op::Mult, &[cx.operand(0)?, cx.operand(0)?], cx.to())?),
    ),
    exact(
        "clamp-as-product",
        "the sign times the larger magnitude, as it is defined",
        |cx| keeps(cx) && cx.is_any(&[Op::SymmetricClamp]),
        |b, cx| {
            let mut e = Emitter::new(b, cx);
            let (x, y) = (e.arg(cx, 0)?, e.arg(cx, 1)?);
            let sign = e.op(Op::Sign, &[x], cx.to())?;
            let size = e.op(Op::AbsMax, &[x, y], cx.to())?;
            let value = e.op(Op::Mult, &[sign, size], cx.to())?;
            e.id(value)
        },
    ),
    exact(
        "sign",
        "the sign is the number clamped to one, or read from its words",
        |cx| keeps(cx) && cx.is_any(&[Op::Sign]),
        sign,
    ),
];

fn operation(cx: &OpCx<'_>) -> Result<Op, Refusal> {
    cx.elementwise().ok_or_else(|| Refusal::because("not an elementwise operation"))
}

/// True of the operations that are exact and then taken modulo 2ⁿ at the width of the result.
pub fn is_modular(op: Op) -> bool {
    use Op::{Add, AddInt, Mult, MultInt, MultUint, Subtract, SubtractInt};
    matches!(op, Add | Subtract | Mult | AddInt | SubtractInt | MultInt | MultUint)
}

fn modular_int(cx: &OpCx<'_>) -> bool {
    cx.dtype().is_int() && cx.is_any(&[Op::Add, Op::Subtract, Op::Mult])
}

/// An operation of integers whose result has the operands' type.
fn keeps(cx: &OpCx<'_>) -> bool {
    cx.dtype().is_int() && cx.dtype() == cx.to()
}

/// The type that holds every exact result of a modular operation computed in fp32.
fn fp32_type(cx: &OpCx<'_>) -> Option<ElemType> {
    let product = cx.is_any(&[Op::Mult]);
    let signed = cx.dtype().is_signed() || cx.is_any(&[Op::Subtract]);
    match cx.dtype().size_bytes() {
        1 => Some(if signed { I16 } else { Ui16 }),
        2 if !product => Some(I32),
        _ => None,
    }
}

/// The POOL type in which a modular operation is computed.
fn word_type(cx: &OpCx<'_>) -> ElemType {
    let (dtype, to) = (cx.dtype(), cx.to());
    match (is_wide(to), dtype.width()) {
        (true, _) => to,
        (false, 32) => dtype,
        // Only the low words matter.
        (false, _) => int_type(4, to.is_signed()),
    }
}

fn modular_in(b: &mut FuncBuilder, cx: &OpCx<'_>, inner: ElemType) -> Built {
    let mut e = Emitter::new(b, cx);
    if is_wide(inner) && !e.has_int_band() {
        return Err(Refusal::by("TT-E4", "64-bit integers need CAYMAN or later"));
    }
    let mut args = [e.arg(cx, 0)?, e.arg(cx, 1)?];
    let in_fp32 = is_small(cx.dtype()) && fp32_type(cx) == Some(inner);
    if !in_fp32 {
        for arg in &mut args {
            *arg = e.wrap(*arg, inner)?;
        }
    }
    let value = e.op(operation(cx)?, &args, inner)?;
    let value = if cx.to().is_float() { e.cast(value, cx.to())? } else { e.wrap(value, cx.to())? };
    e.id(value)
}

/// high·2^16 + low, where both parts of the sum are exact and so is the scaling.
fn sum_to_float(b: &mut FuncBuilder, cx: &OpCx<'_>) -> Built {
    let mut e = Emitter::new(b, cx);
    let (op, dtype) = (operation(cx)?, cx.dtype());
    let right = if dtype.is_signed() { Op::ArithShiftRight } else { Op::LogicalShiftRight };
    let mut parts = [[None; 2]; 2];
    for (index, part) in parts.iter_mut().enumerate() {
        let arg = e.arg(cx, index)?;
        let (count, mask) = (e.lit(16, dtype), e.lit(0xFFFF, dtype));
        let high = e.op(right, &[arg, count], dtype)?;
        let low = e.op(Op::BitwiseAnd, &[arg, mask], dtype)?;
        *part = [Some(e.cast(high, F32)?), Some(e.cast(low, F32)?)];
    }
    let ([Some(high_x), Some(low_x)], [Some(high_y), Some(low_y)]) = (parts[0], parts[1]) else {
        return Err(Refusal::because("an operand is missing"));
    };
    let high = e.op(op, &[high_x, high_y], F32)?;
    let low = e.op(op, &[low_x, low_y], F32)?;
    let unit = e.lit_f32(65536.0);
    let high = e.op(Op::Mult, &[high, unit], F32)?;
    let value = e.op(Op::Add, &[high, low], cx.to())?;
    e.id(value)
}

fn sign(b: &mut FuncBuilder, cx: &OpCx<'_>) -> Built {
    let mut e = Emitter::new(b, cx);
    let (x, dtype) = (e.arg(cx, 0)?, cx.dtype());
    if is_wide(dtype) {
        let (low, high) = halves(&mut e, x)?;
        let any = e.op(Op::BitwiseOr, &[low, high], Ui32)?;
        let zero = e.lit(0, Ui32);
        let mut word = e.op(Op::IsNe, &[any, zero], I32)?;
        if dtype == I64 {
            let signs = sign_word(&mut e, high)?;
            word = e.op(Op::BitwiseOr, &[word, signs], I32)?;
        }
        let value = e.wrap(word, dtype)?;
        return e.id(value);
    }
    // fp32 keeps the sign of a 32-bit integer, and holds a smaller one.
    let work = if is_word(dtype) { F32 } else { dtype };
    let number = e.cast(x, work)?;
    let (most, least) = (e.lit(1, work), e.lit(-1, work));
    let below = if dtype.is_signed() { e.op(Op::Max, &[number, least], work)? } else { number };
    let value = e.op(Op::Min, &[below, most], dtype)?;
    e.id(value)
}
