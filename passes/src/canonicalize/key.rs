//! Operations as keys of a hash table: equal keys compute equal values.

use std::hash::{Hash, Hasher};

use partita_ir::{Literal, Operand, TensorOp};

/// Feeds everything that tells operations of one kind apart. Equal operations
/// (see [`same_op`]) hash alike.
pub fn hash_op(op: &TensorOp, state: &mut impl Hasher) {
    op.kind_name().hash(state);
    match op {
        TensorOp::Elementwise(op) => op.hash(state),
        TensorOp::Reduce { op, dims, keep, negate } => (op, dims, keep, negate).hash(state),
        TensorOp::PartitionReduce { op, axis, scale } => {
            (op, axis, scale.map(f32::to_bits)).hash(state);
        }
        TensorOp::TransposeReduce { op, negate } => (op, negate).hash(state),
        TensorOp::Transpose { perm: dims }
        | TensorOp::Broadcast { dims }
        | TensorOp::Reverse { dims } => dims.hash(state),
        TensorOp::ScanCache { op0, op1, seed, emit } => (op0, op1, seed, emit).hash(state),
        TensorOp::Pair { op0, op1, reverse } | TensorOp::TransposePair { op0, op1, reverse } => {
            (op0, op1, reverse).hash(state)
        }
        TensorOp::Slice { ranges } => ranges.hash(state),
        TensorOp::Concat { dim } | TensorOp::Iota { dim } => dim.hash(state),
        TensorOp::Pad { amounts } => amounts.hash(state),
        TensorOp::Constant(data) => data.hash(state),
        TensorOp::Cast
        | TensorOp::Wrap
        | TensorOp::ToInt
        | TensorOp::Bitcast
        | TensorOp::Reshape => {}
    }
}

/// True when two operations with the same operands and result type give the same
/// value: scales are told apart by their bits.
pub fn same_op(a: &TensorOp, b: &TensorOp) -> bool {
    match (a, b) {
        (
            TensorOp::PartitionReduce { op, axis, scale },
            TensorOp::PartitionReduce { op: op_b, axis: axis_b, scale: scale_b },
        ) => (op, axis) == (op_b, axis_b) && scale.map(f32::to_bits) == scale_b.map(f32::to_bits),
        _ => a == b,
    }
}

/// Feeds an operand. Literals that differ in spelling only are told apart.
pub fn hash_operand(operand: &Operand, state: &mut impl Hasher) {
    match operand {
        Operand::Value(value) => value.hash(state),
        Operand::Literal(literal) => hash_literal(literal, state),
    }
}

/// Feeds a literal; equal literals hash alike (all NaNs are equal).
pub fn hash_literal(literal: &Literal, state: &mut impl Hasher) {
    match *literal {
        Literal::Int(value) => (0u8, value).hash(state),
        Literal::Float(value) => {
            let value = if value.is_nan() { f64::NAN } else { value };
            (1u8, value.to_bits()).hash(state);
        }
        Literal::Bits(bits) => (2u8, bits).hash(state),
        Literal::Bool(value) => (3u8, value).hash(state),
    }
}
