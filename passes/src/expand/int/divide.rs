//! Quotients and remainders of integers: toward zero, by zero all ones and the dividend (ISA 10.4).

use partita_ir::ops::ElementwiseOp as Op;
use partita_ir::{ElemType, FuncBuilder};

use super::super::emit::Emitted;
use super::super::{Built, Emitter, Expansion, OpCx, Val};
use super::exact;
use super::words::{int_type, is_small, is_word};
use ElemType::{F32, I32};

pub const EXPANSIONS: &[Expansion] = &[
    exact(
        "divide-in-words",
        "32 bits hold the operands and the quotient, which is then taken modulo 2^n",
        |cx| divides(cx) && is_small(cx.dtype()),
        |b, cx| {
            let mut e = Emitter::new(b, cx);
            let word = int_type(4, cx.dtype().is_signed());
            let (x, y) = (e.arg(cx, 0)?, e.arg(cx, 1)?);
            let args = [e.wrap(x, word)?, e.wrap(y, word)?];
            let op = if cx.is_any(&[Op::Divide]) { Op::Divide } else { Op::Remainder };
            let value = e.op(op, &args, word)?;
            let value = e.wrap(value, cx.to())?;
            e.id(value)
        },
    ),
    exact(
        "divide-band",
        "POOL divides 32- and 64-bit integers; it has the 32-bit remainder on every generation",
        |cx| {
            divides(cx) && (cx.has_int_band() || is_word(cx.dtype()) && cx.is_any(&[Op::Remainder]))
        },
        |b, cx| {
            let op = if cx.is_any(&[Op::Divide]) { Op::DivideInt } else { Op::Mod };
            Ok(b.elementwise_to(op, &cx.operands, cx.to())?)
        },
    ),
    exact(
        "divide-by-estimate",
        "what the remainder leaves is a multiple of the divisor: an fp32 quotient is off by little, and a second one of what is missing is exact",
        |cx| is_word(cx.dtype()) && divides(cx),
        divide_by_estimate,
    ),
];

/// A division whose result has the operands' type.
fn divides(cx: &OpCx<'_>) -> bool {
    cx.dtype().is_int() && cx.dtype() == cx.to() && cx.is_any(&[Op::Divide, Op::Remainder])
}

/// n / b for n = q·b. With r the reciprocal of fp32(b), fp32(n)·r is off by a relative error below
/// 2^-21, hence q by at most 2^11 and what is missing, q'·b, by at most 2^11·|b| <= 2^-20·|n|: small
/// enough to be exact in fp32, and its quotient rounds to the integer it is.
fn divide_by_estimate(b: &mut FuncBuilder, cx: &OpCx<'_>) -> Built {
    let mut e = Emitter::new(b, cx);
    let dtype = cx.dtype();
    let (x, y) = (e.arg(cx, 0)?, e.arg(cx, 1)?);
    let left = e.op(Op::Mod, &[x, y], dtype)?;
    let whole = e.op(Op::Subtract, &[x, left], dtype)?;
    let divisor = e.cast(y, F32)?;
    let inverse = if divisor.operand.literal().is_some() {
        let one = e.lit_f32(1.0);
        e.op(Op::Divide, &[one, divisor], F32)?
    } else {
        e.op(Op::Reciprocal, &[divisor], F32)?
    };
    let quotient = |e: &mut Emitter<'_>, number: Val, to: ElemType| -> Emitted {
        let number = e.cast(number, F32)?;
        e.op(Op::Mult, &[number, inverse], to)
    };
    let first = quotient(&mut e, whole, dtype)?;
    let covered = e.op(Op::Mult, &[first, y], dtype)?;
    let missing = e.op(Op::Subtract, &[whole, covered], dtype)?;
    let missing = e.bitcast(missing, I32)?;
    let second = quotient(&mut e, missing, I32)?;
    let second = e.bitcast(second, dtype)?;
    let value = e.op(Op::Add, &[first, second], dtype)?;
    let (zero, ones) = (e.lit(0, dtype), e.lit_bits(u64::from(u32::MAX), dtype));
    let by_zero = e.op(Op::IsEq, &[y, zero], ElemType::Ui8)?;
    let value = e.op(Op::Select, &[by_zero, ones, value], dtype)?;
    e.id(value)
}
