//! The index of the first extreme.

use partita_ir::ops::{ElementwiseOp as Op, ReduceOp};
use partita_ir::{ElemType, FuncBuilder, TensorData, TensorType};

use super::super::{Built, Emitter, Expansion, OpCx, Refusal};
use super::exact;
use super::reduce::Reduction;
use super::words::{int_type, is_small};
use ElemType::{F32, Ui32};

/// The longest axis whose indices fp32 holds.
const LONGEST: u64 = 1 << 24;

pub const EXPANSIONS: &[Expansion] = &[
    exact(
        "arg-in-words",
        "POOL finds the index of the extreme of 32-bit integers",
        |cx| {
            Reduction::any(cx).is_some_and(|r| r.op.is_arg())
                && cx.has_int_band()
                && is_small(cx.dtype())
        },
        |b, cx| {
            let Some(r) = Reduction::any(cx) else {
                return Err(Refusal::because("not a reduction"));
            };
            let mut e = Emitter::new(b, cx);
            let x = e.arg(cx, 0)?;
            let x = e.wrap(x, int_type(4, x.dtype.is_signed()))?;
            let value = r.emit(&mut e, r.op, x, false, Ui32)?;
            e.id(value)
        },
    ),
    exact(
        "arg-by-equality",
        "the largest of the distances from the end, counted where the extreme or a NaN stands",
        |cx| Reduction::any(cx).is_some_and(|r| r.op.is_arg()),
        arg_by_equality,
    ),
];

fn arg_by_equality(b: &mut FuncBuilder, cx: &OpCx<'_>) -> Built {
    let (Some(r), Some(ty)) = (Reduction::any(cx), cx.types.first()) else {
        return Err(Refusal::because("not a reduction"));
    };
    let Some((&dim, &size)) = r.dims.first().and_then(|dim| Some((dim, ty.shape.get(*dim)?)))
    else {
        return Err(Refusal::because("not a reduction"));
    };
    if size > LONGEST {
        return Err(Refusal::by("N-3", "the axis has more elements than fp32 counts exactly"));
    }
    let mut e = Emitter::new(b, cx);
    let x = e.arg(cx, 0)?;
    let op = if r.op == ReduceOp::Argmax { ReduceOp::Maximum } else { ReduceOp::Minimum };
    let extreme = e.reduce(op, x, &[dim], true, x.dtype)?;
    let mut hits = e.op(Op::IsEq, &[x, extreme], F32)?;
    if x.dtype.is_float() {
        // A NaN makes the extreme one, which equals nothing.
        let nan = e.op(Op::IsNe, &[x, x], F32)?;
        hits = e.op(Op::Max, &[hits, nan], F32)?;
    }
    let shape = (0..ty.rank()).map(|d| if d == dim { size } else { 1 });
    let left: Vec<f32> = (0..size).rev().map(|after| (after + 1) as f32).collect();
    let left = e.constant(TensorData::from_f32(TensorType::new(shape, F32), &left)?)?;
    let distances = e.op(Op::Mult, &[hits, left], F32)?;
    let distance = r.emit(&mut e, ReduceOp::Max, distances, false, F32)?;
    let whole = e.lit(i128::from(size), F32);
    let value = e.op(Op::Subtract, &[whole, distance], Ui32)?;
    e.id(value)
}
