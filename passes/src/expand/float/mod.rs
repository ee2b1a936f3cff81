//! Expansions of float operations.
//!
//! Everything computes in fp32 and is rounded once, by a cast at the end. The sequences
//! themselves stand in the modules; here are the rows that say when they apply. How far
//! each lies from the reference is recorded in [`partita_ir::eval::accuracy`].

mod circular;
mod exponential;
mod extremes;
mod fold;
mod fp32;
mod logarithm;
mod quotient;
mod rounding;
mod wide;

use partita_ir::ops::{Class, ElementwiseOp, ReduceOp, TensorOp};
use partita_ir::{ElemType, FuncBuilder, TensorType};

use self::circular::Circular;
use self::fp32::Emit;
use super::emit::{Emitted, Emitter, Val};
use super::{Built, Expansion, OpCx, Refusal, When};
use crate::rewrite::RewriteClass;

/// A row for one elementwise operation on floats. The sequence gets fp32 operands and
/// the result type, and gives a value of any type, which is then cast.
macro_rules! elementwise {
    ($op:ident, $name:literal, $class:ident, $why:literal, $sequence:expr) => {
        Expansion {
            name: $name,
            class: RewriteClass::$class,
            why: $why,
            when: When::NotCore,
            applies: |cx| cx.is_any(&[ElementwiseOp::$op]) && cx.dtype().is_float(),
            build: |builder, cx| in_fp32(builder, cx, $sequence),
        }
    };
}

/// A row for any other operation on floats, whose sequence sees the context.
macro_rules! other {
    ($name:literal, $class:ident, $why:literal, $applies:expr, $sequence:expr) => {
        Expansion {
            name: $name,
            class: RewriteClass::$class,
            why: $why,
            when: When::NotCore,
            applies: |cx| cx.dtype().is_float() && $applies(cx),
            build: |builder, cx| {
                let mut emitter = Emitter::new(builder, cx);
                let y = $sequence(&mut Emit(&mut emitter), cx)?;
                finish(&mut emitter, cx, y)
            },
        }
    };
}

/// The expansions in the order in which they are tried.
pub const EXPANSIONS: &[Expansion] = &[
    elementwise!(
        Exp,
        "exp-by-pow",
        ChangesRounding,
        "before MARIANA+ only POW raises numbers, and its fp32 base is not e: a factor linear in the exponent makes up for it",
        |emit, [x], _| exponential::exp(emit, x)
    ),
    elementwise!(
        ExpM1,
        "exp-m1-near-0",
        ChangesRounding,
        "exp(x) - 1 loses the digits of a small x, where a polynomial takes its place",
        |emit, [x], _| exponential::exp_m1(emit, x)
    ),
    elementwise!(
        Sigmoid,
        "sigmoid-by-exp",
        ChangesRounding,
        "n / (1 + exp(-|x|)) with n = 1 or exp(-|x|) never overflows",
        |emit, [x], _| exponential::sigmoid(emit, x)
    ),
    elementwise!(
        Tanh,
        "tanh-by-exp",
        ChangesRounding,
        "1 - 2 / (exp(2|x|) + 1) with the sign of x, and an odd polynomial near 0",
        |emit, [x], _| exponential::tanh(emit, x)
    ),
    elementwise!(
        Erf,
        "erf-by-exp",
        ChangesRounding,
        "1 - exp(-q(|x|)) with the sign of x, and an odd polynomial near 0",
        |emit, [x], _| exponential::erf(emit, x)
    ),
    elementwise!(
        Log,
        "log-by-exponent",
        ChangesRounding,
        "the exponent field times ln 2, and a polynomial for the mantissa around 1",
        |emit, [x], _| logarithm::log(emit, x)
    ),
    elementwise!(
        Log1p,
        "log1p-by-exponent",
        ChangesRounding,
        "log(u) of the rounded sum u = 1 + x, and what the rounding lost over u",
        |emit, [x], _| logarithm::log1p(emit, x)
    ),
    elementwise!(
        Sqrt,
        "sqrt-by-pow",
        ChangesRounding,
        "POW(x, 1/2) rounds the root once; minus infinity and minus zero are set right",
        |emit, [x], _| quotient::sqrt(emit, x)
    ),
    elementwise!(
        Divide,
        "divide-by-reciprocal",
        ChangesRounding,
        "no opcode takes DIVIDE (ISA 6.3): the divisor is scaled near 1, inverted, and multiplied",
        |emit, [a, b], _| quotient::divide(emit, a, b)
    ),
    elementwise!(
        Remainder,
        "remainder-by-mantissas",
        Exact,
        "long division of the mantissas as integers on POOL, eight bits at a time",
        |emit, [a, b], _| quotient::remainder(emit, a, b)
    ),
    elementwise!(
        Sin,
        "sin-by-quadrant",
        ChangesRounding,
        "x less the nearest multiple of pi/2, then a polynomial; accurate up to 51471",
        |emit, [x], _| circular::circular(emit, x, Circular::Sin)
    ),
    elementwise!(
        Cos,
        "cos-by-quadrant",
        ChangesRounding,
        "x less the nearest multiple of pi/2, then a polynomial; accurate up to 51471",
        |emit, [x], _| circular::circular(emit, x, Circular::Cos)
    ),
    elementwise!(
        Sign,
        "sign-by-bits",
        Exact,
        "the sign bit on 1.0 where the magnitude is above 0, else the zero or NaN itself",
        |emit, [x], _| extremes::sign(emit, x)
    ),
    elementwise!(
        Floor,
        "floor-by-nearest",
        Exact,
        "adding and taking away 2^23 rounds to nearest; 1 less where that is above x",
        |emit, [x], _| rounding::floor(emit, x)
    ),
    elementwise!(
        Ceil,
        "ceil-by-nearest",
        Exact,
        "adding and taking away 2^23 rounds to nearest; 1 more where that is below x",
        |emit, [x], _| rounding::ceil(emit, x)
    ),
    elementwise!(
        Trunc,
        "trunc-by-nearest",
        Exact,
        "adding and taking away 2^23 rounds |x| to nearest; 1 less where that is above |x|",
        |emit, [x], _| rounding::trunc(emit, x)
    ),
    elementwise!(
        RoundEven,
        "round-even-by-sum",
        Exact,
        "adding and taking away 2^23 rounds |x| to nearest even",
        |emit, [x], _| rounding::round_even(emit, x)
    ),
    elementwise!(
        RoundAway,
        "round-away-by-nearest",
        Exact,
        "adding and taking away 2^23 rounds |x| to nearest even; 1 more where a half was dropped",
        |emit, [x], _| rounding::round_away(emit, x)
    ),
    elementwise!(
        IsFinite,
        "is-finite-by-magnitude",
        Exact,
        "|x| < infinity is false for infinities and NaN",
        |emit, [x], dtype| extremes::is_finite(emit, x, dtype)
    ),
    elementwise!(
        Maximum,
        "maximum-by-max",
        Exact,
        "MAX drops a NaN (ISA 10.4), a predicated copy puts it back",
        |emit, [a, b], _| extremes::keeping_nan(emit, ElementwiseOp::Max, a, b)
    ),
    elementwise!(
        Minimum,
        "minimum-by-min",
        Exact,
        "MIN drops a NaN (ISA 10.4), a predicated copy puts it back",
        |emit, [a, b], _| extremes::keeping_nan(emit, ElementwiseOp::Min, a, b)
    ),
    elementwise!(
        AbsMax,
        "abs-max-by-max",
        Exact,
        "the larger of the magnitudes, before MARIANA+ has it in one",
        |emit, [a, b], _| extremes::of_magnitudes(emit, ElementwiseOp::Max, a, b)
    ),
    elementwise!(
        AbsMin,
        "abs-min-by-min",
        Exact,
        "the smaller of the magnitudes, before MARIANA+ has it in one",
        |emit, [a, b], _| extremes::of_magnitudes(emit, ElementwiseOp::Min, a, b)
    ),
    elementwise!(
        ReLu,
        "relu-by-max",
        Exact,
        "MAX(x, 0) but for NaN, which RE_LU keeps (ISA 10.4)",
        |emit, [x], _| extremes::re_lu(emit, x)
    ),
    elementwise!(
        Square,
        "square-by-mult",
        Exact,
        "x times x, before MARIANA+ has it in one",
        |emit, [x], _| emit.mult(x, x)
    ),
    elementwise!(
        SymmetricClamp,
        "symmetric-clamp-by-sign",
        Exact,
        "the sign of a times the larger magnitude, before MAVERICK has it in one",
        |emit, [a, b], _| extremes::symmetric_clamp(emit, a, b)
    ),
    other!(
        "to-int-by-trunc",
        Exact,
        "casts round to nearest (ISA 10.3); an integral number has nothing to round",
        |cx: &OpCx<'_>| matches!(cx.op, TensorOp::ToInt),
        |emit: &mut Emit<'_, '_>, cx: &OpCx<'_>| {
            let x = fp32_operand(emit, cx, 0)?;
            rounding::to_int(emit, x, cx.to())
        }
    ),
    other!(
        "cast-by-parts",
        Exact,
        "a truth value is a test for 0; a 64-bit integer is two halves, which no DVE word writes (TT-E1)",
        |cx: &OpCx<'_>| matches!(cx.op, TensorOp::Cast) && has_no_word(cx.to()),
        |emit: &mut Emit<'_, '_>, cx: &OpCx<'_>| {
            let x = fp32_operand(emit, cx, 0)?;
            rounding::cast(emit, x, cx.to())
        }
    ),
    other!(
        "maximum-reduce-by-max",
        Exact,
        "MAX drops NaNs (ISA 10.4); a second reduction finds whether there was one",
        |cx: &OpCx<'_>| is_reduce(cx, ReduceOp::Maximum),
        |emit: &mut Emit<'_, '_>, cx: &OpCx<'_>| fold::keeping_nan(emit, cx, ReduceOp::Max)
    ),
    other!(
        "minimum-reduce-by-min",
        Exact,
        "MIN drops NaNs (ISA 10.4); a second reduction finds whether there was one",
        |cx: &OpCx<'_>| is_reduce(cx, ReduceOp::Minimum),
        |emit: &mut Emit<'_, '_>, cx: &OpCx<'_>| fold::keeping_nan(emit, cx, ReduceOp::Min)
    ),
    other!(
        "logical-or-reduce-by-max",
        Exact,
        "the largest truth value, which is 0 or 1 for one element too",
        |cx: &OpCx<'_>| is_reduce(cx, ReduceOp::LogicalOr),
        |emit: &mut Emit<'_, '_>, cx: &OpCx<'_>| fold::logical(emit, cx, ReduceOp::Max)
    ),
    other!(
        "logical-and-reduce-by-min",
        Exact,
        "the smallest truth value, which is 0 or 1 for one element too",
        |cx: &OpCx<'_>| is_reduce(cx, ReduceOp::LogicalAnd),
        |emit: &mut Emit<'_, '_>, cx: &OpCx<'_>| fold::logical(emit, cx, ReduceOp::Min)
    ),
    other!(
        "scan-of-extreme",
        Exact,
        "0xe6 combines with MAX and MIN only: of magnitudes, of truth values, or with NaNs tracked beside",
        fold::has_extreme,
        fold::extreme_scan
    ),
    other!(
        "scan-first-step-apart",
        Exact,
        "0xe6 lacks the first step, or reads its scalars as fp32 only: the step as an operation of its own",
        fold::has_first_step,
        fold::first_step_apart
    ),
    other!(
        "result-by-cast",
        Exact,
        "no word writes the result type: an fp32 result, or moved bits, and a cast",
        |cx: &OpCx<'_>| computes(cx) && cx.to() != before_cast(cx),
        |emit: &mut Emit<'_, '_>, cx: &OpCx<'_>| {
            let operands = operands(emit, cx)?;
            let want = TensorType { dtype: before_cast(cx), ..cx.result.clone() };
            emit.0.tensor(cx.op.clone(), &operands, &want)
        }
    ),
    other!(
        "operands-in-fp32",
        Exact,
        "no word reads the operand type: reading it as fp32 is exact",
        |cx: &OpCx<'_>| cx.elementwise().is_some_and(|op| op.class() != Class::Move)
            && cx.dtype() != ElemType::F32,
        |emit: &mut Emit<'_, '_>, cx: &OpCx<'_>| {
            let operands = (0..cx.operands.len())
                .map(|index| fp32_operand(emit, cx, index))
                .collect::<Result<Vec<_>, _>>()?;
            emit.0.tensor(cx.op.clone(), &operands, cx.result)
        }
    ),
];

/// Types that no word of the vector engine writes numbers to.
fn has_no_word(dtype: ElemType) -> bool {
    dtype == ElemType::I1 || dtype.width() > 32
}

fn is_reduce(cx: &OpCx<'_>, wanted: ReduceOp) -> bool {
    matches!(cx.op, TensorOp::Reduce { op, .. } if *op == wanted)
}

/// True of operations whose result is a number rounded to the result type, or moved bits.
fn computes(cx: &OpCx<'_>) -> bool {
    match cx.op {
        TensorOp::Elementwise(_)
        | TensorOp::ScanCache { .. }
        | TensorOp::PartitionReduce { .. } => true,
        TensorOp::Reduce { op, .. } | TensorOp::TransposeReduce { op, .. } => !op.is_arg(),
        _ => false,
    }
}

/// The type in which a result that is to be cast is written first.
fn before_cast(cx: &OpCx<'_>) -> ElemType {
    match cx.elementwise() {
        Some(op) if op.class() == Class::Move => cx.dtype(),
        _ => ElemType::F32,
    }
}

fn operands(emit: &Emit<'_, '_>, cx: &OpCx<'_>) -> Result<Vec<Val>, Refusal> {
    (0..cx.operands.len()).map(|index| emit.0.arg(cx, index)).collect()
}

fn fp32_operand(emit: &mut Emit<'_, '_>, cx: &OpCx<'_>, index: usize) -> Emitted {
    let x = emit.0.arg(cx, index)?;
    emit.cast(x, ElemType::F32)
}

/// Reads the operands as fp32, runs the sequence, and rounds once.
fn in_fp32<const N: usize>(
    builder: &mut FuncBuilder,
    cx: &OpCx<'_>,
    sequence: impl Fn(&mut Emit<'_, '_>, [Val; N], ElemType) -> Emitted,
) -> Built {
    let mut emitter = Emitter::new(builder, cx);
    let mut emit = Emit(&mut emitter);
    let mut operands = [Val::from(0.0); N];
    for (index, slot) in operands.iter_mut().enumerate() {
        *slot = fp32_operand(&mut emit, cx, index)?;
    }
    let y = sequence(&mut emit, operands, cx.to())?;
    finish(&mut emitter, cx, y)
}

/// The value at the shape and type of the result.
fn finish(emitter: &mut Emitter<'_>, cx: &OpCx<'_>, y: Val) -> Built {
    let y = emitter.cast(y, cx.to())?;
    let y = emitter.broadcast(y, &cx.result.shape)?;
    emitter.id(y)
}
