//! `tensor.scan_cache` of integers, and the scans that no word combines.
//!
//! The first step is taken apart, so that what remains is a scan at one type; then a seed is combined
//! with a scan that starts from nothing, and the scan is brought to a type that a word scans.

use partita_ir::ops::{ElementwiseOp as Op, Emit, ReduceOp, Seed, TensorOp};
use partita_ir::{ElemType, FuncBuilder, TensorType};

use super::super::emit::Emitted;
use super::super::{Built, Emitter, Expansion, OpCx, Refusal, Val};
use super::arith::is_modular;
use super::exact;
use super::normal::plain;
use super::steps::{doubling, unrolled};
use super::words::{halves, int_type, is_small, is_wide, join, with_sign};
use ElemType::{F32, I1, I32, I64, Ui8};

pub const EXPANSIONS: &[Expansion] = &[
    exact(
        "scan-first-step-of-integers",
        "the first step is an operation of its own, modulo 2^n at the result's width where either step is",
        |cx| of(cx).is_some_and(|s| s.dtype.is_int() && !s.is_plain()),
        |b, cx| with(b, cx, first_step_apart),
    ),
    exact(
        "scan-by-type",
        "a step of the integer band is the plain one on integers read with its signedness",
        |cx| plain_ints(cx).is_some_and(|s| plain_step(&s).is_some()),
        |b, cx| with(b, cx, by_type),
    ),
    exact(
        "scan-of-difference",
        "subtracting every element is subtracting their running sum",
        |cx| plain_ints(cx).is_some_and(|s| s.op1 == Op::Subtract),
        |b, cx| {
            with(b, cx, |e, s, x| {
                let sums = s.emit(e, Op::Add, x, None, s.emit)?;
                let from = s.seed.unwrap_or(e.lit(0, s.dtype));
                e.op(Op::Subtract, &[from, sums], s.dtype)
            })
        },
    ),
    exact(
        "scan-of-magnitudes",
        "an extreme of magnitudes is one of numbers that are magnitudes already",
        |cx| {
            plain_ints(cx)
                .is_some_and(|s| matches!(s.op1, Op::AbsMax | Op::AbsMin) && s.seed.is_some())
        },
        |b, cx| {
            with(b, cx, |e, s, x| {
                let x = e.op(Op::AbsoluteValue, &[x], s.dtype)?;
                let seed = s.seed.ok_or_else(|| Refusal::because("the seed is missing"))?;
                let seed = e.op(Op::AbsoluteValue, &[seed], s.dtype)?;
                s.emit(
                    e,
                    if s.op1 == Op::AbsMax { Op::Max } else { Op::Min },
                    x,
                    Some(seed),
                    s.emit,
                )
            })
        },
    ),
    exact(
        "scan-then-seed",
        "an associative step takes its seed after the elements are combined",
        |cx| plain_ints(cx).is_some_and(|s| s.seed.is_some() && is_associative(s.op1)),
        |b, cx| {
            with(b, cx, |e, s, x| {
                let scanned = s.emit(e, s.op1, x, None, s.emit)?;
                let seed = s.seed.ok_or_else(|| Refusal::because("the seed is missing"))?;
                e.op(s.op1, &[seed, scanned], s.dtype)
            })
        },
    ),
    exact(
        "scan-final-as-reduce",
        "the last accumulator of an associative step is the reduction",
        |cx| unseeded(cx).is_some_and(|s| s.emit == Emit::Final && reduction(s.op1).is_some()),
        |b, cx| {
            with(b, cx, |e, s, x| {
                let op = reduction(s.op1).ok_or_else(|| Refusal::because("not a reduction"))?;
                let last = e.shape(x).len().saturating_sub(1);
                e.reduce(op, x, &[last], true, s.dtype)
            })
        },
    ),
    exact(
        "scan-of-truth",
        "truth values are scanned as bits",
        |cx| unseeded(cx).is_some_and(|s| bits_of_truth(s.op1).is_some()),
        |b, cx| {
            with(b, cx, |e, s, x| {
                let op =
                    bits_of_truth(s.op1).ok_or_else(|| Refusal::because("not a truth step"))?;
                let zero = e.lit(0, s.dtype);
                let truth = e.op(Op::IsNe, &[x, zero], Ui8)?;
                let scanned = s.emit(e, op, truth, None, s.emit)?;
                e.cast(scanned, s.dtype)
            })
        },
    ),
    exact(
        "scan-bits-unsigned",
        "the bit scans take unsigned types of 8 and 16 bits, and 64 bits by words (TC-10)",
        |cx| unseeded(cx).is_some_and(|s| is_bits(s.op1)),
        |b, cx| with(b, cx, scan_bits),
    ),
    exact(
        "scan-in-words",
        "sums and products modulo 2^n are scanned modulo 2^32",
        |cx| unseeded(cx).is_some_and(|s| matches!(s.op1, Op::Add | Op::Mult) && is_small(s.dtype)),
        |b, cx| {
            with(b, cx, |e, s, x| {
                let x = e.wrap(x, int_type(4, s.dtype.is_signed()))?;
                let scanned = s.emit(e, s.op1, x, None, s.emit)?;
                e.wrap(scanned, s.dtype)
            })
        },
    ),
    exact(
        "scan-extreme-in-fp32",
        "fp32 holds integers of 16 bits",
        |cx| unseeded(cx).is_some_and(|s| is_extreme(s.op1) && is_small(s.dtype)),
        |b, cx| {
            with(b, cx, |e, s, x| {
                let x = e.cast(x, F32)?;
                let scanned = s.emit(e, s.op1, x, None, s.emit)?;
                e.cast(scanned, s.dtype)
            })
        },
    ),
    exact(
        "scan-by-doubling",
        "an associative step combines elements at distances that double",
        |cx| {
            unseeded(cx)
                .is_some_and(|s| is_associative(s.op1) && s.emit == Emit::All && !is_small(s.dtype))
        },
        |b, cx| with(b, cx, |e, s, x| doubling(e, s.op1, x)),
    ),
    exact(
        "scan-unrolled",
        "a step that no word combines is taken element by element",
        |cx| of(cx).is_some_and(|s| s.seed.is_some() && (s.dtype.is_float() || s.is_plain())),
        |b, cx| with(b, cx, unroll),
    ),
];

struct Scan {
    op0: Op,
    op1: Op,
    scalar: Val,
    seed: Option<Val>,
    emit: Emit,
    dtype: ElemType,
    to: ElemType,
}

impl Scan {
    /// No first step, and one type throughout.
    fn is_plain(&self) -> bool {
        self.op0 == Op::Bypass && self.dtype == self.to
    }

    /// A scan without a first step at the operand's type.
    fn emit(&self, e: &mut Emitter<'_>, op1: Op, x: Val, seed: Option<Val>, emit: Emit) -> Emitted {
        let kind = if seed.is_some() { Seed::Load } else { Seed::Zero };
        let op = TensorOp::ScanCache { op0: Op::Bypass, op1, seed: kind, emit };
        let none = e.lit(0, x.dtype);
        let operands: Vec<Val> = [Some(x), Some(none), seed].into_iter().flatten().collect();
        e.tensor(op, &operands, &TensorType::scalar(x.dtype))
    }
}

fn of(cx: &OpCx<'_>) -> Option<Scan> {
    let TensorOp::ScanCache { op0, op1, seed, emit } = cx.op else { return None };
    let val = |index: usize| {
        Some(Val { operand: *cx.operands.get(index)?, dtype: cx.types.get(index)?.dtype })
    };
    let seed = match seed {
        Seed::Load => Some(val(2)?),
        Seed::Zero => None,
    };
    Some(Scan {
        op0: *op0,
        op1: *op1,
        scalar: val(1)?,
        seed,
        emit: *emit,
        dtype: cx.dtype(),
        to: cx.to(),
    })
}

fn plain_ints(cx: &OpCx<'_>) -> Option<Scan> {
    of(cx).filter(|s| s.dtype.is_int() && s.is_plain())
}

fn unseeded(cx: &OpCx<'_>) -> Option<Scan> {
    plain_ints(cx).filter(|s| s.seed.is_none())
}

fn with(
    b: &mut FuncBuilder,
    cx: &OpCx<'_>,
    build: impl FnOnce(&mut Emitter<'_>, &Scan, Val) -> Emitted,
) -> Built {
    let scan = of(cx).ok_or_else(|| Refusal::because("not a scan"))?;
    let mut e = Emitter::new(b, cx);
    let x = e.arg(cx, 0)?;
    let value = build(&mut e, &scan, x)?;
    e.id(value)
}

fn is_bits(op: Op) -> bool {
    matches!(op, Op::BitwiseAnd | Op::BitwiseOr | Op::BitwiseXor)
}

fn is_extreme(op: Op) -> bool {
    matches!(op, Op::Max | Op::Min)
}

fn is_associative(op: Op) -> bool {
    is_bits(op) || is_extreme(op) || bits_of_truth(op).is_some() || matches!(op, Op::Add | Op::Mult)
}

fn bits_of_truth(op: Op) -> Option<Op> {
    Some(match op {
        Op::LogicalAnd => Op::BitwiseAnd,
        Op::LogicalOr => Op::BitwiseOr,
        Op::LogicalXor => Op::BitwiseXor,
        _ => return None,
    })
}

/// The reduction that combines in the same way.
fn reduction(op: Op) -> Option<ReduceOp> {
    ReduceOp::ALL.iter().copied().find(|reduce| reduce.combine() == Some(op))
}

/// The plain form of the second step, and the signedness with which it reads.
fn plain_step(s: &Scan) -> Option<(Op, ElemType)> {
    match s.op1 {
        Op::Maximum => Some((Op::Max, s.dtype)),
        Op::Minimum => Some((Op::Min, s.dtype)),
        op => plain(op, s.dtype)
            .map(|(op, sign)| (op, sign.map_or(s.dtype, |signed| with_sign(s.dtype, signed)))),
    }
}

fn by_type(e: &mut Emitter<'_>, s: &Scan, x: Val) -> Emitted {
    let (op, dtype) = plain_step(s).ok_or_else(|| Refusal::because("not of the integer band"))?;
    let x = e.bitcast(x, dtype)?;
    let seed = s.seed.map(|seed| e.bitcast(seed, dtype)).transpose()?;
    let scanned = s.emit(e, op, x, seed, s.emit)?;
    e.bitcast(scanned, s.dtype)
}

/// What the second step reads: the first step's results at the accumulator's type.
fn first_step_apart(e: &mut Emitter<'_>, s: &Scan, x: Val) -> Emitted {
    let (modular0, modular1) = (is_modular(s.op0), is_modular(s.op1));
    let step = |e: &mut Emitter<'_>, to: ElemType| -> Emitted {
        match s.op0.arity() {
            _ if s.op0 == Op::Bypass => Ok(x),
            1 => e.op(s.op0, &[x], to),
            _ => e.op(s.op0, &[x, s.scalar], to),
        }
    };
    if !modular0 && !modular1 {
        let stepped = step(e, s.dtype)?;
        let scanned = s.emit(e, s.op1, stepped, s.seed, s.emit)?;
        return e.cast(scanned, s.to);
    }
    let accumulator = if s.to.is_int() { s.to } else { exact_accumulator(e, s, x)? };
    if s.to.is_float() && matches!(s.op1, Op::Mult | Op::MultInt | Op::MultUint) {
        return product_in_fp32(e, s, step);
    }
    let stepped = if modular0 {
        step(e, accumulator)?
    } else {
        let stepped = step(e, s.dtype)?;
        e.wrap(stepped, accumulator)?
    };
    let seed = match s.seed {
        Some(seed) if modular1 => Some(e.wrap(seed, accumulator)?),
        Some(seed) => Some(e.cast(seed, accumulator)?),
        None => None,
    };
    let scanned = s.emit(e, s.op1, stepped, seed, s.emit)?;
    e.cast(scanned, s.to)
}

/// A chain of products into a float runs in fp32, from the first step's value on.
fn product_in_fp32(
    e: &mut Emitter<'_>,
    s: &Scan,
    step: impl Fn(&mut Emitter<'_>, ElemType) -> Emitted,
) -> Emitted {
    if s.op0 != Op::Bypass {
        return Err(Refusal::because(
            "a first step before products into a float would round twice",
        ));
    }
    let stepped = step(e, s.dtype)?;
    let stepped = e.cast(stepped, F32)?;
    let seed = s.seed.map(|seed| e.cast(seed, F32)).transpose()?;
    let scanned = s.emit(e, Op::Mult, stepped, seed, s.emit)?;
    e.cast(scanned, s.to)
}

/// An integer type that holds every accumulator of a sum into a float exactly.
fn exact_accumulator(e: &Emitter<'_>, s: &Scan, x: Val) -> Result<ElemType, Refusal> {
    let length = e.shape(x).last().copied().unwrap_or(1);
    let (low, high) = s.dtype.int_range().unwrap_or_default();
    let largest = low.unsigned_abs().max(high.unsigned_abs());
    let element = match s.op0 {
        Op::Mult | Op::MultInt | Op::MultUint => largest.saturating_mul(largest),
        op if is_modular(op) => largest.saturating_mul(2),
        _ => largest,
    };
    // One more for the seed.
    let total = element.saturating_mul(u128::from(length) + 1);
    let sums = is_modular(s.op1) || is_extreme(s.op1) || matches!(s.op1, Op::Maximum | Op::Minimum);
    if !sums {
        return Err(Refusal::because(format!("`{}` of unreduced integers into a float", s.op1)));
    }
    if total < 1 << 31 {
        Ok(I32)
    } else if total < 1 << 63 && e.has_int_band() {
        Ok(I64)
    } else {
        Err(Refusal::by("N-4", "the exact sums may not fit the machine's integers"))
    }
}

fn scan_bits(e: &mut Emitter<'_>, s: &Scan, x: Val) -> Emitted {
    if is_wide(s.dtype) {
        let (low, high) = halves(e, x)?;
        let low = s.emit(e, s.op1, low, None, s.emit)?;
        let high = s.emit(e, s.op1, high, None, s.emit)?;
        return join(e, low, high, s.dtype);
    }
    if s.dtype == I1 {
        let bytes = e.cast(x, Ui8)?;
        let scanned = s.emit(e, s.op1, bytes, None, s.emit)?;
        return e.cast(scanned, I1);
    }
    let unsigned = e.bitcast(x, with_sign(s.dtype, false))?;
    let scanned = s.emit(e, s.op1, unsigned, None, s.emit)?;
    e.bitcast(scanned, s.dtype)
}

fn unroll(e: &mut Emitter<'_>, s: &Scan, x: Val) -> Emitted {
    let seed = s.seed.ok_or_else(|| Refusal::because("the seed is missing"))?;
    if s.dtype.is_int() {
        let seed = broadcast_seed(e, seed, x)?;
        return unrolled(e, s.op1, x, seed, s.emit == Emit::All);
    }
    let (x, scalar) = (e.cast(x, F32)?, e.cast(s.scalar, F32)?);
    let stepped = match s.op0.arity() {
        _ if s.op0 == Op::Bypass => x,
        1 => e.op(s.op0, &[x], F32)?,
        _ => e.op(s.op0, &[x, scalar], F32)?,
    };
    let seed = e.cast(seed, F32)?;
    let seed = broadcast_seed(e, seed, x)?;
    let scanned = unrolled(e, s.op1, stepped, seed, s.emit == Emit::All)?;
    e.cast(scanned, s.to)
}

/// A seed as one value for each row.
fn broadcast_seed(e: &mut Emitter<'_>, seed: Val, x: Val) -> Emitted {
    let mut shape = e.shape(x);
    if let Some(last) = shape.last_mut() {
        *last = 1;
    }
    e.broadcast(seed, &shape)
}
