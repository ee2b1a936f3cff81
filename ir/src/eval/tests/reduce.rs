use super::*;
use crate::ops::{CrossLaneAxis, CrossLaneOp, ReduceOp};
use smallvec::smallvec;

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

fn reduce(op: ReduceOp, dims: &[usize], x: &TensorData, result: TensorType) -> TensorData {
    run(TensorOp::Reduce { op, dims: dims.into(), keep: false, negate: false }, &[x], result)
}

#[test]
fn any_dimensions() {
    let x = ints(&[2, 3, 2], ElemType::I32, &(0..12).collect::<Vec<_>>());
    assert_ints(&reduce(ReduceOp::Add, &[1], &x, ty(&[2, 2], ElemType::I32)), &[6, 9, 24, 27]);
    assert_ints(&reduce(ReduceOp::Add, &[2, 0], &x, ty(&[3], ElemType::I32)), &[14, 22, 30]);
    assert_ints(&reduce(ReduceOp::Max, &[0, 1, 2], &x, ty(&[], ElemType::I32)), &[11]);
    assert_ints(&reduce(ReduceOp::Add, &[], &x, x.ty().clone()), &x.to_ints());
}

/// 1 + 2^-24 stays 1 step by step, left to right; the other way it does not.
#[test]
fn floats_fold_left_to_right_in_fp32() {
    let tiny = 2f32.powi(-24);
    let x = f32s(&[1.0, tiny, tiny]);
    assert_floats(&reduce(ReduceOp::Add, &[0], &x, ty(&[], ElemType::F32)), &[1.0]);
    let x = f32s(&[tiny, tiny, 1.0]);
    assert_floats(&reduce(ReduceOp::Add, &[0], &x, ty(&[], ElemType::F32)), &[1.0 + 2.0 * tiny]);
    // A column sum goes down the rows, and a bf16 result is rounded once.
    let x = floats(&[3, 2], ElemType::Bf16, &[256.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    assert_floats(&reduce(ReduceOp::Add, &[0], &x, ty(&[2], ElemType::Bf16)), &[258.0, 3.0]);
    assert_floats(&reduce(ReduceOp::Add, &[0], &f32s(&[-0.0]), ty(&[], ElemType::F32)), &[-0.0]);
}

#[test]
fn specials() {
    let x = floats(&[3, 2], ElemType::F32, &[NAN, 1.0, NAN, NAN, -0.0, 0.0]);
    assert_floats(&reduce(ReduceOp::Max, &[1], &x, ty(&[3], ElemType::F32)), &[1.0, NAN, 0.0]);
    assert_floats(&reduce(ReduceOp::Min, &[1], &x, ty(&[3], ElemType::F32)), &[1.0, NAN, -0.0]);
    assert_floats(&reduce(ReduceOp::Maximum, &[1], &x, ty(&[3], ElemType::F32)), &[NAN, NAN, 0.0]);
    assert_floats(&reduce(ReduceOp::Mult, &[1], &x, ty(&[3], ElemType::F32)), &[NAN, NAN, -0.0]);
    let p = row(ElemType::I1, &[1, 1, 0]);
    assert_ints(&reduce(ReduceOp::Add, &[0], &p, ty(&[], ElemType::I32)), &[2]);
    assert_ints(&reduce(ReduceOp::LogicalAnd, &[0], &p, ty(&[], ElemType::I1)), &[0]);
    assert_ints(
        &reduce(ReduceOp::LogicalOr, &[0], &f32s(&[0.0, NAN]), ty(&[], ElemType::Ui8)),
        &[1],
    );
}

#[test]
fn empty_gives_the_identity() {
    let x = floats(&[2, 0], ElemType::F32, &[]);
    let i = ints(&[0], ElemType::I8, &[]);
    for (op, float, int) in [
        (ReduceOp::Add, 0.0, 0),
        (ReduceOp::Mult, 1.0, 1),
        (ReduceOp::Max, -INF, -128),
        (ReduceOp::Min, INF, 127),
        (ReduceOp::Maximum, -INF, -128),
        (ReduceOp::Minimum, INF, 127),
        (ReduceOp::LogicalAnd, 1.0, 1),
        (ReduceOp::LogicalOr, 0.0, 0),
    ] {
        assert_floats(&reduce(op, &[1], &x, ty(&[2], ElemType::F32)), &[float, float]);
        assert_ints(&reduce(op, &[0], &i, ty(&[], ElemType::I8)), &[int]);
    }
    assert_ints(&reduce(ReduceOp::BitwiseAnd, &[0], &i, ty(&[], ElemType::I8)), &[-1]);
    assert_ints(&reduce(ReduceOp::Argmax, &[1], &x, ty(&[2], ElemType::Ui32)), &[0, 0]);
    // What is empty costs nothing, however long its other dimensions are.
    let long = floats(&[0, 3, 1 << 50], ElemType::F32, &[]);
    assert!(reduce(ReduceOp::Argmax, &[1], &long, ty(&[0, 1 << 50], ElemType::Ui32)).is_empty());
    let op =
        TensorOp::PartitionReduce { op: CrossLaneOp::Max, axis: CrossLaneAxis::All, scale: None };
    assert_floats(&run(op, &[&long], ty(&[], ElemType::F32)), &[-INF]);
}

#[test]
fn integers_are_exact_modulo() {
    let x = row(ElemType::I8, &[100, 100, 100]);
    assert_ints(&reduce(ReduceOp::Add, &[0], &x, ty(&[], ElemType::I8)), &[44]);
    assert_ints(&reduce(ReduceOp::Add, &[0], &x, ty(&[], ElemType::I32)), &[300]);
    assert_ints(&reduce(ReduceOp::Mult, &[0], &x, ty(&[], ElemType::I32)), &[1_000_000]);
    assert_floats(&reduce(ReduceOp::Add, &[0], &x, ty(&[], ElemType::F32)), &[300.0]);
    let x = row(ElemType::I64, &[3; 80]);
    let want = (0..80).fold(1i64, |acc, _| acc.wrapping_mul(3));
    assert_ints(&reduce(ReduceOp::Mult, &[0], &x, ty(&[], ElemType::I64)), &[want.into()]);
    // Exact until rounded: 2^24 + 1 + 1 is not what fp32 steps give.
    let x = row(ElemType::I32, &[1 << 24, 1, 1]);
    assert_floats(&reduce(ReduceOp::Add, &[0], &x, ty(&[], ElemType::F32)), &[16_777_218.0]);
    let x = row(ElemType::Ui16, &[0x0F0F, 0x00FF, 0x1111]);
    assert_ints(
        &reduce(ReduceOp::BitwiseXor, &[0], &x, ty(&[], ElemType::Ui16)),
        &[0x0F0F ^ 0x00FF ^ 0x1111],
    );
}

#[test]
fn negation_comes_last() {
    let op = |op| TensorOp::Reduce { op, dims: smallvec![0], keep: true, negate: true };
    assert_floats(&run(op(ReduceOp::Max), &[&f32s(&[1.0, 3.0])], ty(&[1], ElemType::F32)), &[-3.0]);
    let x = row(ElemType::I8, &[-128, -128]);
    assert_ints(&run(op(ReduceOp::Max), &[&x], ty(&[1], ElemType::I8)), &[-128]);
    assert_ints(&run(op(ReduceOp::Add), &[&x], ty(&[1], ElemType::I16)), &[256]);
}

#[test]
fn arg_extremes() {
    let x = floats(
        &[3, 4],
        ElemType::F32,
        &[1.0, 3.0, 3.0, 2.0, 5.0, NAN, 9.0, NAN, -0.0, 0.0, -1.0, -1.0],
    );
    let result = || ty(&[3], ElemType::Ui32);
    assert_ints(&reduce(ReduceOp::Argmax, &[1], &x, result()), &[1, 1, 0]);
    assert_ints(&reduce(ReduceOp::Argmin, &[1], &x, result()), &[0, 1, 2]);
    assert_ints(&reduce(ReduceOp::Argmax, &[0], &x, ty(&[4], ElemType::Ui32)), &[1, 1, 1, 1]);
    let i = row(ElemType::I64, &[i64::MAX as i128 - 1, i64::MAX.into()]);
    assert_ints(&reduce(ReduceOp::Argmax, &[0], &i, ty(&[], ElemType::Ui32)), &[1]);
    // Longer than a block both ways.
    let mut long = vec![0.0; 5000];
    long[4321] = 1.0;
    assert_ints(&reduce(ReduceOp::Argmax, &[0], &f32s(&long), ty(&[], ElemType::Ui32)), &[4321]);
    let wide = floats(&[2, 2500], ElemType::F32, &long);
    let got = reduce(ReduceOp::Argmax, &[0], &wide, ty(&[2500], ElemType::Ui32)).to_ints();
    assert!(got.iter().enumerate().all(|(i, &k)| k == i128::from(i == 4321 - 2500)));
}

#[test]
fn across_partitions() {
    let x = floats(&[2, 3], ElemType::F32, &[1.0, 2.0, 3.0, 10.0, 20.0, NAN]);
    let op = |op, axis, scale| TensorOp::PartitionReduce { op, axis, scale };
    let (rows, all) = (CrossLaneAxis::Partitions, CrossLaneAxis::All);
    assert_floats(
        &run(op(CrossLaneOp::Max, rows, None), &[&x], ty(&[1, 3], ElemType::F32)),
        &[10.0, 20.0, 3.0],
    );
    assert_floats(&run(op(CrossLaneOp::Max, all, None), &[&x], ty(&[], ElemType::F32)), &[20.0]);
    let average = op(CrossLaneOp::Average, rows, Some(0.5));
    assert_floats(&run(average, &[&x], ty(&[1, 3], ElemType::F32)), &[5.5, 11.0, NAN]);
    let i = ints(&[2, 2], ElemType::I32, &[3, 5, 6, 9]);
    assert_ints(
        &run(op(CrossLaneOp::Average, all, Some(0.25)), &[&i], ty(&[], ElemType::I32)),
        &[6],
    );
    assert_ints(&run(op(CrossLaneOp::Add, all, None), &[&i], ty(&[], ElemType::I8)), &[23]);
    assert_ints(
        &run(op(CrossLaneOp::BitwiseAnd, rows, None), &[&i], ty(&[1, 2], ElemType::I32)),
        &[2, 1],
    );
    assert_ints(
        &run(op(CrossLaneOp::BitwiseOr, rows, None), &[&i], ty(&[1, 2], ElemType::I32)),
        &[7, 13],
    );
    // Partitions fold first (ISA 9.13): (1 + t) + (t + t), not left to right.
    let t = 2f32.powi(-24);
    let x = floats(&[2, 2], ElemType::F32, &[1.0, t, t, t]);
    assert_floats(
        &run(op(CrossLaneOp::Add, all, None), &[&x], ty(&[], ElemType::F32)),
        &[1.0 + 2.0 * t],
    );
}

/// The formula of ISA 9.6.
#[test]
fn fused_transpose() {
    let (p, f) = (64usize, 96usize);
    let values: Vec<i128> = (0..p * f).map(|i| (i * 7919 % 1000) as i128).collect();
    let x = ints(&[p as u64, f as u64], ElemType::I32, &values);
    let op = TensorOp::TransposeReduce { op: ReduceOp::Add, negate: false };
    let y = run(op, &[&x], ty(&[2, 32, 3], ElemType::I32)).to_ints();
    for b in 0..2 {
        for j in 0..32 {
            for k in 0..3 {
                let want: i128 = (0..32).map(|i| values[(32 * b + i) * f + 32 * k + j]).sum();
                assert_eq!(y[(b * 32 + j) * 3 + k], want);
            }
        }
    }
}
