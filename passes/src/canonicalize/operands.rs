//! Identities that let operations read what they need: scalars in place, and
//! broadcasts as the reading side of an elementwise operation.

use partita_ir::ops::{Class, TensorOpName};
use partita_ir::types::Shape;
use partita_ir::{ElementwiseOp, Literal, Operand, TensorOp, TensorType};

use super::identities::{Context, Identity, Step};

pub(super) const IDENTITIES: &[Identity] = &[
    Identity {
        name: "scalar-operand",
        doc: "an operand whose elements are all the same known number is written in place",
        root: TensorOpName::Elementwise,
        apply: scalar_operand,
    },
    Identity {
        name: "scalar-padding",
        doc: "a known value to pad with is written in place",
        root: TensorOpName::Pad,
        apply: scalar_tail,
    },
    Identity {
        name: "scalar-of-scan",
        doc: "a scan's scalar and seed are written in place when they are the same for every row",
        root: TensorOpName::ScanCache,
        apply: scalar_tail,
    },
    Identity {
        name: "broadcast-operand",
        doc: "an elementwise operation broadcasts its operands itself",
        root: TensorOpName::Elementwise,
        apply: broadcast_operand,
    },
];

/// The result's shape that the operands other than `index` give by themselves.
fn others_give_shape(cx: &Context<'_>, index: usize) -> bool {
    let Some(ty) = cx.ty() else { return false };
    let others = cx.op().operands.iter().enumerate().filter(|&(other, _)| other != index);
    let types = others.filter_map(|(_, operand)| cx.value_ty(operand.value()?));
    partita_ir::infer::broadcast_shapes(types).is_ok_and(|shape| shape == ty.shape)
}

fn scalar_operand(cx: &mut Context<'_>) -> Option<Step> {
    let TensorOp::Elementwise(op) = *cx.kind()? else { return None };
    let dtype_givers = if op == ElementwiseOp::Select { 1 } else { 0 };
    for index in dtype_givers..cx.op().operands.len() {
        let Some(value) = cx.value(index) else { continue };
        let Some(bits) = cx.splat(value) else { continue };
        let dtype = cx.value_ty(value)?.dtype;
        // A literal takes the type of the first value among the operands that
        // must agree; a shift's count gives none.
        let gives_type =
            |other: usize| other != index && !(op.class() == Class::Shift && index == 0);
        let giver = (dtype_givers..cx.op().operands.len())
            .filter(|&other| gives_type(other))
            .find_map(|other| cx.value(other));
        let Some(giver) = giver else { continue };
        if cx.value_ty(giver)?.dtype != dtype || !others_give_shape(cx, index) {
            continue;
        }
        let mut operands = cx.op().operands.clone();
        operands[index] = Operand::Literal(Literal::from_bits(bits, dtype));
        return Some(Step::Op(TensorOp::Elementwise(op), operands));
    }
    None
}

/// Operands after the first that take its type as literals.
fn scalar_tail(cx: &mut Context<'_>) -> Option<Step> {
    let dtype = cx.value_ty(cx.value(0)?)?.dtype;
    let mut operands = cx.op().operands.clone();
    let mut found = false;
    for (index, operand) in operands.iter_mut().enumerate().skip(1) {
        let Some(value) = cx.value(index) else { continue };
        let Some(bits) = cx.splat(value) else { continue };
        if cx.value_ty(value)?.dtype == dtype {
            *operand = Operand::Literal(Literal::from_bits(bits, dtype));
            found = true;
        }
    }
    let kind = cx.kind()?.clone();
    found.then_some(Step::Op(kind, operands))
}

fn broadcast_operand(cx: &mut Context<'_>) -> Option<Step> {
    let kind = cx.kind()?.clone();
    for index in 0..cx.op().operands.len() {
        let Some((TensorOp::Broadcast { dims }, inner)) = cx.operand_def(index) else { continue };
        let (dims, source) = (dims.clone(), inner.first()?.value()?);
        if !dims.is_sorted() || !others_give_shape(cx, index) {
            continue;
        }
        let rank = cx.value_ty(cx.value(index)?)?.rank();
        let source_ty = cx.value_ty(source)?.clone();
        // Sizes of 1 in place of the new dimensions; leading ones need not be written.
        let first = dims.first().copied().unwrap_or(rank);
        let mut shape: Shape = (first..rank).map(|_| 1).collect();
        for (&dim, &size) in dims.iter().zip(&source_ty.shape) {
            *shape.get_mut(dim - first)? = size;
        }
        let operand = if shape == source_ty.shape {
            source
        } else {
            cx.emit(TensorOp::Reshape, source, TensorType { shape, dtype: source_ty.dtype })?
        };
        let mut operands = cx.op().operands.clone();
        operands[index] = Operand::Value(operand);
        return Some(Step::Op(kind, operands));
    }
    None
}
