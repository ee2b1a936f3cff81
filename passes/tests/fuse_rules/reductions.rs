//! Proofs of the rules about reductions of reductions, means over partitions, and selects by rows.

use super::*;
use partita_ir::{Operand, ValueId};

fn reduced(
    b: &mut FuncBuilder,
    x: ValueId,
    op: ReduceOp,
    dims: &[usize],
    keep: bool,
    to: ElemType,
) -> Option<ValueId> {
    let reduce = TensorOp::Reduce { op, dims: Dims::from_slice(dims), keep, negate: false };
    b.op(reduce, &[x.into()], &TensorType::scalar(to)).ok()
}

#[test]
fn reductions_of_reductions_are_one() {
    let mut rng = Rng::new(29);
    for name in ["sum-of-sums", "reduce-of-reduce"] {
        let mut proved = 0;
        for &dtype in DTYPES {
            for between in results_of(dtype) {
                for &op in ReduceOp::ALL {
                    for (inner, outer, keep) in [
                        (vec![2], vec![1], false),
                        (vec![1], vec![1], false),
                        (vec![0], vec![0, 1], false),
                        (vec![1], vec![2], true),
                        (vec![0, 2], vec![0, 1], true),
                    ] {
                        let ty = TensorType::new([2, 3, 4], dtype);
                        let mut b = FuncBuilder::new("twice");
                        let x = b.arg("x", ty.clone());
                        let Some(t) = reduced(&mut b, x, op, &inner, keep, between) else {
                            continue;
                        };
                        let Some(y) = reduced(&mut b, t, op, &outer, keep, between) else {
                            continue;
                        };
                        let func = b.finish(&[y]);
                        let data = exact_data(op, &ty, &mut rng);
                        proved += usize::from(prove(rule(name), &func, &[data]).is_ok());
                    }
                }
            }
            // Every pair of specials.
            let pairs = inputs_for(dtype, dtype, false);
            for &op in ReduceOp::ALL {
                let mut b = FuncBuilder::new("pairs");
                let x = b.arg("x", pairs.ty().clone());
                let columns = pairs.shape()[1];
                let wide = b.reshape(x, [2, columns, 1]).expect("as many");
                let func = b.finish(&[wide]);
                let wide = eval_func(&func, std::slice::from_ref(&pairs), &EvalOptions::default());
                let wide = wide.expect("it evaluates");
                let mut b = FuncBuilder::new("pairs");
                let x = b.arg("x", wide[0].ty().clone());
                let Some(t) = reduced(&mut b, x, op, &[2], false, dtype) else { continue };
                let Some(y) = reduced(&mut b, t, op, &[0], false, dtype) else { continue };
                let func = b.finish(&[y]);
                proved += usize::from(prove(rule(name), &func, &wide).is_ok());
            }
        }
        assert!(proved > 20, "{name}: {proved}");
    }
}

/// A rounding narrower than fp32 between the two stays.
#[test]
fn narrow_sums_are_not_merged() {
    let ty = TensorType::new([2, 3, 4], ElemType::Bf16);
    let mut b = FuncBuilder::new("twice");
    let x = b.arg("x", ty);
    let t = reduced(&mut b, x, ReduceOp::Add, &[2], false, ElemType::Bf16).expect("a sum");
    let y = reduced(&mut b, t, ReduceOp::Add, &[1], false, ElemType::Bf16).expect("a sum");
    let func = b.finish(&[y]);
    let other = rule("sum-of-sums").other_side(&func, &Target::default());
    assert!(matches!(other, Err(Refusal::NoMatch)), "{other:?}");
}

/// Dyadic numbers and powers of two: every product and every sum is exact.
#[test]
fn means_over_partitions_are_averages() {
    let mut rng = Rng::new(31);
    let mut proved = 0;
    for shape in SHAPES.iter().filter(|shape| shape[0] <= 128) {
        for dtype in [ElemType::F32, ElemType::Bf16, ElemType::F16] {
            for swap in [false, true] {
                let ty = TensorType::new(*shape, dtype);
                let mut b = FuncBuilder::new("mean");
                let x = b.arg("x", ty.clone());
                let s =
                    reduced(&mut b, x, ReduceOp::Add, &[0], swap, ElemType::F32).expect("a sum");
                let mut operands = [Operand::from(s), Literal::Float(0.0078125).into()];
                if swap {
                    operands.reverse();
                }
                let y = b.elementwise(ElementwiseOp::Mult, &operands).expect("floats");
                let func = b.finish(&[y]);
                let data = dyadic_tensor(&ty, &mut rng).expect("it is small");
                assert_eq!(prove(rule("cross-lane-mean"), &func, &[data]), Ok(()));
                proved += 1;
            }
        }
    }
    assert!(proved > 20);
}

#[test]
fn selects_by_rows_read_wide_predicates() {
    let mut proved = 0;
    for &dtype in DTYPES {
        for mask in [ElemType::I1, ElemType::I8, ElemType::Ui8] {
            for swap in [false, true] {
                for literal in [false, true] {
                    let bits = specials(dtype);
                    let n = bits.len() as u64;
                    let masks: Vec<u64> = match mask {
                        ElemType::I1 => (0..n).map(|at| at % 2).collect(),
                        _ => (0..n).map(|at| [0, 1, 255, 128][at as usize % 4]).collect(),
                    };
                    let mut b = FuncBuilder::new("select");
                    let m = b.arg("m", TensorType::new([n, 1], mask));
                    let x = b.arg("x", TensorType::new([n, 2], dtype));
                    let data = |shape: [u64; 2], dtype, bits: &[u64]| {
                        TensorData::from_bits(TensorType::new(shape, dtype), bits).expect("as many")
                    };
                    let twice: Vec<u64> = bits.iter().flat_map(|&bits| [bits, bits]).collect();
                    let mut inputs = vec![data([n, 1], mask, &masks), data([n, 2], dtype, &twice)];
                    let other: Operand = if literal {
                        Literal::Int(1).into()
                    } else {
                        let reversed: Vec<u64> = bits.iter().rev().copied().collect();
                        inputs.push(data([n, 1], dtype, &reversed));
                        b.arg("r", TensorType::new([n, 1], dtype)).into()
                    };
                    let mut operands = vec![m.into(), x.into(), other];
                    if swap {
                        operands.swap(1, 2);
                        if !literal {
                            // Arguments are made in the order in which they are read.
                            continue;
                        }
                    }
                    let Ok(y) = b.elementwise(ElementwiseOp::Select, &operands) else { continue };
                    let func = b.finish(&[y]);
                    proved += usize::from(prove(rule("select-by-row"), &func, &inputs).is_ok());
                }
            }
        }
    }
    assert!(proved > 20, "{proved}");
}
