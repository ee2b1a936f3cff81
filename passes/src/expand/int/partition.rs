//! `tensor.partition_reduce` where 0x7c and 0x7d do not do it at once.

use partita_ir::ops::{CrossLaneAxis, CrossLaneOp, ElementwiseOp as Op, ReduceOp, TensorOp};
use partita_ir::types::MAX_PARTITIONS;
use partita_ir::{ElemType, TensorType};

use super::super::emit::Emitted;
use super::super::{Built, Emitter, Expansion, OpCx, Refusal, Val, When};
use super::exact;
use super::words::is_small;
use crate::rewrite::RewriteClass;
use ElemType::{F32, I32};
use partita_ir::FuncBuilder;

pub const EXPANSIONS: &[Expansion] = &[
    Expansion {
        name: "partition-all",
        class: RewriteClass::Reassociates,
        why: "folding the free dimensions first leaves one column for the cross-lane fold",
        when: When::Always,
        applies: |cx| of(cx).is_some_and(|r| r.axis == CrossLaneAxis::All),
        build: |b, cx| with(b, cx, |e, r, x| r.as_reduce(e, x)),
    },
    Expansion {
        name: "partition-rows",
        class: RewriteClass::Reassociates,
        why: "more than 128 rows are folded within partitions before they are folded across them (CH-1)",
        when: When::Always,
        applies: |cx| of(cx).is_some_and(|r| r.rows > MAX_PARTITIONS),
        build: |b, cx| with(b, cx, |e, r, x| r.as_reduce(e, x)),
    },
    exact(
        "partition-average-of-integers",
        "the average computes in fp32",
        |cx| of(cx).is_some_and(|r| r.op == CrossLaneOp::Average && r.dtype.is_int()),
        |b, cx| {
            with(b, cx, |e, r, x| {
                let x = e.cast(x, F32)?;
                r.emit(e, x, r.to)
            })
        },
    ),
    exact(
        "partition-sum-modulo",
        "the sum wraps modulo 2^32, and then at the narrower width",
        |cx| of(cx).is_some_and(|r| r.op == CrossLaneOp::Add && r.dtype.is_int() && is_small(r.to)),
        |b, cx| {
            with(b, cx, |e, r, x| {
                let value = r.emit(e, x, I32)?;
                e.wrap(value, r.to)
            })
        },
    ),
    exact(
        "partition-then-cast",
        "the extreme or the union of bits is converted in a second word",
        |cx| {
            of(cx).is_some_and(|r| {
                r.dtype.is_int()
                    && r.dtype != r.to
                    && (r.op == CrossLaneOp::Max || r.op.is_bitwise())
            })
        },
        |b, cx| {
            with(b, cx, |e, r, x| {
                let value = r.emit(e, x, r.dtype)?;
                e.cast(value, r.to)
            })
        },
    ),
    exact(
        "partition-as-reduce",
        "what the cross-lane fold does not keep exact is folded as any other dimension",
        |cx| of(cx).is_some_and(|r| r.dtype.is_int()),
        |b, cx| with(b, cx, |e, r, x| r.as_reduce(e, x)),
    ),
];

struct Cross {
    op: CrossLaneOp,
    axis: CrossLaneAxis,
    scale: Option<f32>,
    rows: u64,
    dtype: ElemType,
    to: ElemType,
}

impl Cross {
    fn emit(&self, e: &mut Emitter<'_>, x: Val, to: ElemType) -> Emitted {
        let op = TensorOp::PartitionReduce { op: self.op, axis: self.axis, scale: self.scale };
        e.tensor(op, &[x], &TensorType::scalar(to))
    }

    /// The same fold by `tensor.reduce`.
    fn as_reduce(&self, e: &mut Emitter<'_>, mut x: Val) -> Emitted {
        let op = match self.op {
            CrossLaneOp::Add | CrossLaneOp::Average => ReduceOp::Add,
            CrossLaneOp::Max => ReduceOp::Max,
            CrossLaneOp::BitwiseOr => ReduceOp::BitwiseOr,
            CrossLaneOp::BitwiseAnd => ReduceOp::BitwiseAnd,
            CrossLaneOp::BitwiseXor => ReduceOp::BitwiseXor,
        };
        if self.op == CrossLaneOp::Average {
            // Each element is multiplied first, as 0x7c does.
            let (number, scale) = (e.cast(x, F32)?, e.lit_f32(self.scale.unwrap_or(1.0)));
            x = e.op(Op::Mult, &[number, scale], F32)?;
        }
        let all = self.axis == CrossLaneAxis::All;
        let dims: Vec<usize> = if all { (0..e.shape(x).len()).collect() } else { vec![0] };
        e.reduce(op, x, &dims, !all, self.to)
    }
}

fn of(cx: &OpCx<'_>) -> Option<Cross> {
    let TensorOp::PartitionReduce { op, axis, scale } = cx.op else { return None };
    let ty = cx.types.first()?;
    let rows = ty.shape.first().copied().unwrap_or(1);
    Some(Cross { op: *op, axis: *axis, scale: *scale, rows, dtype: ty.dtype, to: cx.to() })
}

fn with(
    b: &mut FuncBuilder,
    cx: &OpCx<'_>,
    build: impl FnOnce(&mut Emitter<'_>, &Cross, Val) -> Emitted,
) -> Built {
    let cross = of(cx).ok_or_else(|| Refusal::because("not a cross-lane reduction"))?;
    let mut e = Emitter::new(b, cx);
    let x = e.arg(cx, 0)?;
    let value = build(&mut e, &cross, x)?;
    e.id(value)
}
