//! A pair that no words do as it stands, as its two operations.

use partita_ir::ops::TensorOp;
use partita_ir::{ElemType, FuncBuilder, TensorType};

use super::emit::{Emitter, Val};
use super::{Built, Expansion, OpCx, Refusal, When};
use crate::rewrite::RewriteClass;

pub const EXPANSIONS: &[Expansion] = &[Expansion {
    name: "pair-apart",
    class: RewriteClass::Exact,
    why: "one of the two operations has no word by itself",
    when: When::NotCore,
    applies: |cx| matches!(cx.op, TensorOp::Pair { .. }),
    build: apart,
}];

/// Operands as fp32 (exact), both operations, one rounding by the second.
fn apart(builder: &mut FuncBuilder, cx: &OpCx<'_>) -> Built {
    let TensorOp::Pair { op0, op1, reverse } = cx.op else {
        return Err(Refusal::because("not a pair"));
    };
    let mut emit = Emitter::new(builder, cx);
    let between = if op0.is_bits() { cx.to() } else { ElemType::F32 };
    let mut operands: Vec<Val> = Vec::new();
    for index in 0..cx.operands.len() {
        let operand = emit.arg(cx, index)?;
        operands.push(emit.cast(operand, between)?);
    }
    let (first, rest) = operands.split_at(op0.arity().min(operands.len()));
    let t = emit.tensor(TensorOp::Elementwise(*op0), first, &TensorType::scalar(between))?;
    let mut second: Vec<Val> = [t].into_iter().chain(rest.iter().copied()).collect();
    if *reverse {
        second.reverse();
    }
    let y = emit.tensor(TensorOp::Elementwise(*op1), &second, cx.result)?;
    emit.id(y)
}
