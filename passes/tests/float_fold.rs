//! Proofs of reductions and scans of floats.

mod float_support;

use float_support::{FLOATS, TARGETS, worst};
use partita_ir::ops::{CrossLaneAxis, CrossLaneOp, ElementwiseOp, Emit, ReduceOp, Seed, TensorOp};
use partita_ir::{ElemType, Operand, TensorData, TensorType};
use partita_passes::expand::prove::{Random, single, specials};

/// Rows of special values, some of them NaN, among small ones.
fn data(dtype: ElemType, rows: u64, length: u64) -> TensorData {
    let special = specials(dtype);
    let mut source = Random(11);
    let small = [0.0f32, 1.0, -1.0, 0.5, 2.0, -3.0];
    let bits: Vec<u64> = (0..rows * length)
        .map(|_| {
            let pick = source.bits();
            let place = (pick >> 8) as usize;
            if pick.is_multiple_of(5) {
                special[place % special.len()]
            } else {
                partita_ir::float::encode(f64::from(small[place % small.len()]), dtype)
            }
        })
        .collect();
    TensorData::from_bits(TensorType::new([rows, length], dtype), &bits).expect("data")
}

#[test]
fn extremes_keep_nan() {
    for op in [ReduceOp::Maximum, ReduceOp::Minimum, ReduceOp::Max] {
        for (dims, negate) in
            [(vec![1], false), (vec![1], true), (vec![0], false), (vec![0, 1], false)]
        {
            for dtype in FLOATS {
                for target in TARGETS {
                    let input = data(dtype, 40, 9);
                    let kind = TensorOp::Reduce {
                        op,
                        dims: dims.iter().copied().collect(),
                        keep: false,
                        negate,
                    };
                    for out in [dtype, ElemType::F32, ElemType::I16] {
                        let func = single(
                            kind.clone(),
                            &[Ok(input.ty().clone())],
                            &TensorType::scalar(out),
                        )
                        .expect("typed");
                        assert_eq!(
                            worst(&func, std::slice::from_ref(&input), target),
                            0,
                            "{op} {dtype} {out} {target}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn logical_folds_of_few_elements() {
    for op in [ReduceOp::LogicalAnd, ReduceOp::LogicalOr] {
        for length in [0, 1, 2, 7] {
            for out in [ElemType::I1, ElemType::F32, ElemType::Bf16, ElemType::I32] {
                let input = data(ElemType::F32, 50, length);
                let kind = TensorOp::Reduce {
                    op,
                    dims: [1].into_iter().collect(),
                    keep: true,
                    negate: false,
                };
                let func = single(kind, &[Ok(input.ty().clone())], &TensorType::scalar(out))
                    .expect("typed");
                assert_eq!(worst(&func, &[input], "cayman"), 0, "{op} of {length} into {out}");
            }
        }
    }
}

#[test]
fn truth_values_and_wide_integers_of_folds() {
    for out in [ElemType::I1, ElemType::I64, ElemType::Ui64] {
        let input = data(ElemType::F32, 32, 8);
        let dims = [1].into_iter().collect();
        let max = TensorOp::Reduce { op: ReduceOp::Max, dims, keep: false, negate: false };
        let cross = TensorOp::PartitionReduce {
            op: CrossLaneOp::Max,
            axis: CrossLaneAxis::Partitions,
            scale: None,
        };
        for kind in [max, cross] {
            let func =
                single(kind, &[Ok(input.ty().clone())], &TensorType::scalar(out)).expect("typed");
            assert_eq!(worst(&func, std::slice::from_ref(&input), "cayman"), 0, "{out}");
        }
    }
}

fn scan(
    op0: ElementwiseOp,
    op1: ElementwiseOp,
    seed: Option<Operand>,
    emit: Emit,
    dtype: ElemType,
    target: &str,
) {
    let input = data(dtype, 60, 7);
    let kind = TensorOp::ScanCache {
        op0,
        op1,
        seed: if seed.is_some() { Seed::Load } else { Seed::Zero },
        emit,
    };
    let mut operands = vec![Ok(input.ty().clone()), Err(Operand::from(0.5f32))];
    operands.extend(seed.map(Err));
    let func = single(kind, &operands, &TensorType::scalar(dtype)).expect("typed");
    assert_eq!(worst(&func, &[input], target), 0, "{op0}, {op1} {dtype} {target}");
}

#[test]
fn scans_of_every_step() {
    use ElementwiseOp::*;
    for target in ["sunda", "cayman", "mariana_plus"] {
        for dtype in [ElemType::F32, ElemType::Bf16, ElemType::F8E4M3] {
            for op0 in [
                Bypass,
                Add,
                Mult,
                Maximum,
                Minimum,
                ReLu,
                Square,
                AbsMax,
                SymmetricClamp,
                AbsoluteValue,
                IsGt,
            ] {
                for op1 in [Add, Max, Min, Maximum, Minimum, LogicalAnd, LogicalOr] {
                    for emit in [Emit::All, Emit::Final] {
                        scan(op0, op1, None, emit, dtype, target);
                    }
                }
            }
            for op1 in [Maximum, Minimum, LogicalAnd, LogicalOr, AbsMax, AbsMin, Subtract, Mult] {
                for seed in [1.0f32, -0.0, f32::NAN, f32::NEG_INFINITY] {
                    scan(Mult, op1, Some(seed.into()), Emit::All, dtype, target);
                }
            }
        }
    }
}

#[test]
fn scans_with_values_for_each_row() {
    let bf16 = ElemType::Bf16;
    let input = data(bf16, 50, 6);
    let per_row = data(bf16, 50, 1);
    let seed = data(bf16, 50, 1);
    for op1 in [ElementwiseOp::Add, ElementwiseOp::Maximum, ElementwiseOp::Min] {
        let kind = TensorOp::ScanCache {
            op0: ElementwiseOp::Mult,
            op1,
            seed: Seed::Load,
            emit: Emit::All,
        };
        let types: Vec<_> = [&input, &per_row, &seed].map(|data| Ok(data.ty().clone())).into();
        let func = single(kind, &types, &TensorType::scalar(bf16)).expect("typed");
        let inputs = [input.clone(), per_row.clone(), seed.clone()];
        assert_eq!(worst(&func, &inputs, "cayman"), 0, "{op1}");
    }
}
