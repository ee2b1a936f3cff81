use super::*;
use crate::ops::{Emit, Seed};
use ElementwiseOp as E;

fn scan(ops: (E, E), emit: Emit, operands: &[&TensorData], result: TensorType) -> TensorData {
    let seed = if operands.len() == 3 { Seed::Load } else { Seed::Zero };
    run(TensorOp::ScanCache { op0: ops.0, op1: ops.1, seed, emit }, operands, result)
}

fn scalar(x: f32) -> TensorData {
    TensorData::scalar(ElemType::F32, x.to_bits().into())
}

#[test]
fn cumulative_sum_of_rows() {
    let x = floats(&[2, 3], ElemType::F32, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let sum = (E::Bypass, E::Add);
    let got = scan(sum, Emit::All, &[&x, &scalar(0.0)], x.ty().clone());
    assert_floats(&got, &[1.0, 3.0, 6.0, 4.0, 9.0, 15.0]);
    let got = scan(sum, Emit::Final, &[&x, &scalar(0.0)], ty(&[2, 1], ElemType::F32));
    assert_floats(&got, &[6.0, 15.0]);
}

#[test]
fn both_steps_and_a_seed_per_row() {
    let x = floats(&[2, 2], ElemType::F32, &[1.0, 2.0, 3.0, 4.0]);
    let s = floats(&[2, 1], ElemType::F32, &[10.0, -1.0]);
    let seed = floats(&[2, 1], ElemType::F32, &[100.0, 0.5]);
    let got = scan((E::Mult, E::Add), Emit::All, &[&x, &s, &seed], x.ty().clone());
    assert_floats(&got, &[110.0, 130.0, -2.5, -6.5]);
    // The accumulator is on the left (ISA 9.17): acc − tmp.
    let got =
        scan((E::Mult, E::Subtract), Emit::Final, &[&x, &s, &seed], ty(&[2, 1], ElemType::F32));
    assert_floats(&got, &[70.0, 7.5]);
}

#[test]
fn the_accumulator_keeps_fp32() {
    // Each bf16 output is rounded; the sum is not.
    let x = floats(&[1, 3], ElemType::Bf16, &[256.0, 1.0, 1.0]);
    let got = scan((E::Bypass, E::Add), Emit::All, &[&x, &scalar(0.0)], x.ty().clone());
    assert_floats(&got, &[256.0, 256.0, 258.0]);
    // Sums start at +0, extremes at −∞ (ISA 9.17).
    let x = floats(&[1, 2], ElemType::F32, &[-0.0, f32::NAN]);
    let got = scan((E::Bypass, E::Add), Emit::All, &[&x, &scalar(0.0)], x.ty().clone());
    assert_floats(&got, &[0.0, f32::NAN]);
    let x = floats(&[1, 2], ElemType::F32, &[f32::NAN, 3.0]);
    let got = scan((E::Bypass, E::Max), Emit::All, &[&x, &scalar(0.0)], x.ty().clone());
    assert_floats(&got, &[f32::NEG_INFINITY, 3.0]);
}

#[test]
fn integers() {
    let zero = TensorData::scalar(ElemType::I8, 0);
    let x = ints(&[1, 3], ElemType::I8, &[100, 100, 100]);
    let sum = (E::Bypass, E::Add);
    assert_ints(&scan(sum, Emit::All, &[&x, &zero], x.ty().clone()), &[100, -56, 44]);
    assert_ints(&scan(sum, Emit::All, &[&x, &zero], ty(&[1, 3], ElemType::I32)), &[100, 200, 300]);
    assert_floats(
        &scan(sum, Emit::All, &[&x, &zero], ty(&[1, 3], ElemType::F32)),
        &[100.0, 200.0, 300.0],
    );
    let x = ints(&[1, 3], ElemType::I8, &[-5, 90, 7]);
    assert_ints(&scan((E::Bypass, E::Max), Emit::All, &[&x, &zero], x.ty().clone()), &[-5, 90, 90]);
    let three = TensorData::scalar(ElemType::I8, 3);
    // The product wraps at the result's width before the extreme is taken.
    assert_ints(&scan((E::Mult, E::Max), Emit::All, &[&x, &three], x.ty().clone()), &[-15, 14, 21]);
    assert_ints(
        &scan((E::Mult, E::Max), Emit::All, &[&x, &three], ty(&[1, 3], ElemType::I16)),
        &[-15, 270, 270],
    );
    let bits = ints(&[1, 3], ElemType::Ui8, &[1, 3, 128]);
    let zero = TensorData::scalar(ElemType::Ui8, 0);
    assert_ints(
        &scan((E::Bypass, E::BitwiseXor), Emit::All, &[&bits, &zero], bits.ty().clone()),
        &[1, 2, 130],
    );
}

#[test]
fn long_rows_and_empty_ones() {
    let x = floats(&[2, 2500], ElemType::F32, &vec![1.0; 5000]);
    let got = scan((E::Bypass, E::Add), Emit::All, &[&x, &scalar(0.0)], x.ty().clone()).to_f32();
    assert!((0..5000).all(|i| got[i] == (i % 2500 + 1) as f32));
    let x = floats(&[2, 0], ElemType::F32, &[]);
    let got = scan(
        (E::Bypass, E::Add),
        Emit::Final,
        &[&x, &scalar(0.0), &scalar(7.0)],
        ty(&[2, 1], ElemType::F32),
    );
    assert_floats(&got, &[7.0, 7.0]);
}
