use super::*;
use crate::ops::{PadAmounts, SliceRange};
use smallvec::smallvec;

fn count(shape: &[u64]) -> TensorData {
    let n: u64 = shape.iter().product();
    ints(shape, ElemType::I32, &(0..i128::from(n)).collect::<Vec<_>>())
}

#[test]
fn transpose_moves_every_element() {
    let x = count(&[2, 3, 4]);
    let y =
        run(TensorOp::Transpose { perm: smallvec![2, 0, 1] }, &[&x], ty(&[4, 2, 3], ElemType::I32))
            .to_ints();
    for (k, i, j) in (0..4).flat_map(|k| (0..2).flat_map(move |i| (0..3).map(move |j| (k, i, j)))) {
        assert_eq!(y[(k * 2 + i) * 3 + j], ((i * 3 + j) * 4 + k) as i128);
    }
}

#[test]
fn slices_step_and_reverses_turn() {
    let x = count(&[3, 5]);
    let range = |start, limit, stride| SliceRange { start, limit, stride };
    let op = TensorOp::Slice { ranges: smallvec![range(0, 3, 2), range(1, 5, 3)] };
    assert_ints(&run(op, &[&x], ty(&[2, 2], ElemType::I32)), &[1, 4, 11, 14]);
    let op = TensorOp::Slice { ranges: smallvec![range(1, 1, 1), range(0, 5, u64::MAX)] };
    assert!(run(op, &[&x], ty(&[0, 1], ElemType::I32)).is_empty());
    let op = TensorOp::Reverse { dims: smallvec![1] };
    assert_ints(&run(op, &[&count(&[2, 3])], ty(&[2, 3], ElemType::I32)), &[2, 1, 0, 5, 4, 3]);
    let op = TensorOp::Reverse { dims: smallvec![0, 1] };
    assert_ints(&run(op, &[&count(&[2, 3])], ty(&[2, 3], ElemType::I32)), &[5, 4, 3, 2, 1, 0]);
}

#[test]
fn pads_grow_and_crop() {
    let fill = TensorData::scalar(ElemType::I32, 9);
    let amounts = |low, high, interior| PadAmounts { low, high, interior };
    let op = TensorOp::Pad { amounts: smallvec![amounts(1, 0, 0), amounts(0, 1, 1)] };
    let want = [9, 9, 9, 9, 0, 9, 1, 9, 2, 9, 3, 9];
    assert_ints(&run(op, &[&count(&[2, 2]), &fill], ty(&[3, 4], ElemType::I32)), &want);
    // Interior padding first, then one cropped from each end: 0 9 9 1 9 9 2.
    let op = TensorOp::Pad { amounts: smallvec![amounts(-1, -2, 2)] };
    assert_ints(&run(op, &[&count(&[3]), &fill], ty(&[4], ElemType::I32)), &[9, 9, 1, 9]);
    let op = TensorOp::Pad { amounts: smallvec![amounts(5, -3, 0)] };
    assert_ints(&run(op, &[&count(&[3]), &fill], ty(&[5], ElemType::I32)), &[9; 5]);
}

#[test]
fn concatenation_broadcast_reshape_iota() {
    let (a, b) = (count(&[2, 1]), ints(&[2, 2], ElemType::I32, &[7, 8, 9, 10]));
    let op = TensorOp::Concat { dim: 1 };
    assert_ints(&run(op, &[&a, &b], ty(&[2, 3], ElemType::I32)), &[0, 7, 8, 1, 9, 10]);
    let empty = ints(&[2, 0], ElemType::I32, &[]);
    assert_ints(
        &run(TensorOp::Concat { dim: 1 }, &[&empty, &b, &empty], b.ty().clone()),
        &[7, 8, 9, 10],
    );
    let op = TensorOp::Broadcast { dims: smallvec![1] };
    assert_ints(&run(op, &[&count(&[3])], ty(&[2, 3], ElemType::I32)), &[0, 1, 2, 0, 1, 2]);
    let op = TensorOp::Broadcast { dims: smallvec![0, 1] };
    assert_ints(&run(op, &[&count(&[2, 1])], ty(&[2, 3], ElemType::I32)), &[0, 0, 0, 1, 1, 1]);
    assert_eq!(run(TensorOp::Reshape, &[&count(&[2, 3])], ty(&[6], ElemType::I32)), count(&[6]));
    assert_ints(
        &run(TensorOp::Iota { dim: 1 }, &[], ty(&[2, 3], ElemType::I8)),
        &[0, 1, 2, 0, 1, 2],
    );
    assert_floats(
        &run(TensorOp::Iota { dim: 0 }, &[], ty(&[2, 2], ElemType::Bf16)),
        &[0.0, 0.0, 1.0, 1.0],
    );
    let wrapped = run(TensorOp::Iota { dim: 0 }, &[], ty(&[257], ElemType::I8)).to_ints();
    assert_eq!((wrapped[127], wrapped[128], wrapped[256]), (127, -128, 0));
}

#[test]
fn bitcasts_keep_bytes() {
    let x = f32s(&[1.0, -2.0]);
    let y = run(TensorOp::Bitcast, &[&x], ty(&[2, 4], ElemType::Ui8));
    assert_ints(&y, &[0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0]);
    assert_eq!(run(TensorOp::Bitcast, &[&y], ty(&[2], ElemType::F32)), x);
}

#[test]
fn attributes_that_do_not_fit_are_errors() {
    let x = count(&[2, 3]);
    let options = EvalOptions::default();
    let range = |start, limit, stride| SliceRange { start, limit, stride };
    for (op, result) in [
        (TensorOp::Transpose { perm: smallvec![0, 5] }, ty(&[2, 3], ElemType::I32)),
        (
            TensorOp::Slice { ranges: smallvec![range(0, 4, 1), range(0, 3, 1)] },
            ty(&[4, 3], ElemType::I32),
        ),
        (
            TensorOp::Slice { ranges: smallvec![range(0, 2, 0), range(0, 3, 1)] },
            ty(&[2, 3], ElemType::I32),
        ),
        (TensorOp::Reshape, ty(&[7], ElemType::I32)),
        (TensorOp::Concat { dim: 9 }, ty(&[2, 3], ElemType::I32)),
        (TensorOp::Broadcast { dims: smallvec![0, 7] }, ty(&[2, 3], ElemType::I32)),
        (TensorOp::Iota { dim: 2 }, ty(&[2, 3], ElemType::I32)),
    ] {
        assert!(eval_op(&op, &[&x], &result, &options).is_err(), "{op:?}");
    }
}
