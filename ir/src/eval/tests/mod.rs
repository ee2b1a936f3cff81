//! Tests of the evaluator; expectations are worked out by hand or by a second,
//! plainer definition beside the test.

mod bounds;
mod compare;
mod convert;
mod elementwise;
mod func;
mod movement;
mod naive;
mod reduce;
mod scan;

use super::{EvalOptions, eval_op};
use crate::data::TensorData;
use crate::ops::{ElementwiseOp, TensorOp};
use crate::types::{ElemType, TensorType};

fn ty(shape: &[u64], dtype: ElemType) -> TensorType {
    TensorType::new(shape.iter().copied(), dtype)
}

fn floats(shape: &[u64], dtype: ElemType, elements: &[f32]) -> TensorData {
    TensorData::from_f32(ty(shape, dtype), elements).unwrap()
}

fn f32s(elements: &[f32]) -> TensorData {
    floats(&[elements.len() as u64], ElemType::F32, elements)
}

fn ints(shape: &[u64], dtype: ElemType, elements: &[i128]) -> TensorData {
    TensorData::from_ints(ty(shape, dtype), elements).unwrap()
}

fn row(dtype: ElemType, elements: &[i128]) -> TensorData {
    ints(&[elements.len() as u64], dtype, elements)
}

fn run(op: TensorOp, operands: &[&TensorData], result: TensorType) -> TensorData {
    eval_op(&op, operands, &result, &EvalOptions::default()).unwrap()
}

/// An elementwise operation whose result has the first operand's shape.
fn apply(op: ElementwiseOp, operands: &[&TensorData], dtype: ElemType) -> TensorData {
    run(TensorOp::Elementwise(op), operands, ty(operands[0].shape(), dtype))
}

/// Bits, with every NaN alike, so that −0 differs from +0.
fn key(x: f32) -> u32 {
    if x.is_nan() { 0x7FC0_0000 } else { x.to_bits() }
}

#[track_caller]
fn assert_floats(got: &TensorData, want: &[f32]) {
    let got: Vec<_> = got.to_f32();
    let same = got.len() == want.len() && got.iter().zip(want).all(|(&a, &b)| key(a) == key(b));
    assert!(same, "got {got:?}, want {want:?}");
}

#[track_caller]
fn assert_ints(got: &TensorData, want: &[i128]) {
    assert_eq!(got.to_ints(), want);
}
