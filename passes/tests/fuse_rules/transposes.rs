//! Proofs of the rules about transposes by blocks.

use super::*;
use partita_ir::{Operand, ValueId};

/// A matrix of the specials of a type, every row different.
fn matrix(dtype: ElemType, shape: [u64; 2]) -> TensorData {
    let bits = specials(dtype);
    let at = |index: u64| bits[(index * 7 + index / bits.len() as u64) as usize % bits.len()];
    let all: Vec<u64> = (0..shape[0] * shape[1]).map(at).collect();
    TensorData::from_bits(TensorType::new(shape, dtype), &all).expect("as many as there are")
}

fn turn(b: &mut FuncBuilder, x: ValueId) -> ValueId {
    let copy = ElementwiseOp::Copy;
    let op = TensorOp::TransposePair { op0: copy, op1: copy, reverse: false };
    let dtype = b.ty(x).expect("a tensor").dtype;
    b.op(op, &[x.into()], &TensorType::scalar(dtype)).expect("a matrix")
}

fn with_literal(op: ElementwiseOp, x: ValueId, literal: Literal, swap: bool) -> Vec<Operand> {
    let mut operands: Vec<Operand> = vec![x.into()];
    operands.extend((1..op.arity()).map(|_| Operand::from(literal)));
    if swap {
        operands.reverse();
    }
    operands
}

const LITERALS: [Literal; 4] = [
    Literal::Float(1.5),
    Literal::Float(-0.0),
    Literal::Float(f64::NAN),
    Literal::Float(f64::INFINITY),
];

const TYPES: [ElemType; 4] = [ElemType::F32, ElemType::Bf16, ElemType::F16, ElemType::F8E4M3];

#[test]
fn transposes_turn_blocks() {
    let mut proved = 0;
    for &dtype in DTYPES {
        for (shape, perm) in [
            (vec![32, 40], vec![1, 0]),
            (vec![3, 33, 64], vec![0, 2, 1]),
            (vec![2, 16, 40], vec![2, 0, 1]),
            (vec![40, 2, 16], vec![1, 2, 0]),
            (vec![4, 1, 32, 33], vec![0, 3, 1, 2]),
        ] {
            let ty = TensorType::new(shape, dtype);
            let bits = specials(dtype);
            let count = ty.elements().expect("it is small") as usize;
            let all: Vec<u64> = bits.iter().copied().cycle().take(count).collect();
            let data = TensorData::from_bits(ty.clone(), &all).expect("as many");
            let mut b = FuncBuilder::new("transpose");
            let x = b.arg("x", ty);
            let t = b.transpose(x, perm).expect("a permutation");
            let func = b.finish(&[t]);
            assert_eq!(prove(rule("transpose-by-blocks"), &func, &[data]), Ok(()));
            proved += 1;
        }
    }
    assert!(proved > 50);
}

#[test]
fn small_or_other_transposes_are_left() {
    for (shape, perm) in [
        (vec![31, 40], vec![1, 0]),
        (vec![40, 3], vec![1, 0]),
        (vec![40, 33, 64], vec![1, 0, 2]),
        (vec![40, 33, 64], vec![2, 1, 0]),
        (vec![1, 64], vec![1, 0]),
    ] {
        let mut b = FuncBuilder::new("transpose");
        let x = b.arg("x", TensorType::new(shape, ElemType::F32));
        let t = b.transpose(x, perm).expect("a permutation");
        let func = b.finish(&[t]);
        let other = rule("transpose-by-blocks").other_side(&func, &Target::default());
        assert!(matches!(other, Err(Refusal::NoMatch)), "{other:?}");
    }
}

#[test]
fn leading_dimensions_are_reduced_after_a_transpose() {
    let mut proved = 0;
    for &dtype in DTYPES {
        let data = matrix(dtype, [32, 40]);
        for &op in ReduceOp::ALL {
            for to in results_of(dtype) {
                for negate in [false, true] {
                    let Some(func) = reduce(op, data.ty(), &[0], negate, negate, to) else {
                        continue;
                    };
                    let data = std::slice::from_ref(&data);
                    assert_eq!(prove(rule("reduce-after-transpose"), &func, data), Ok(()));
                    proved += 1;
                }
            }
        }
    }
    assert!(proved > 100, "{proved}");
}

/// An operation before or after the transpose, and one on the other side of it too.
#[test]
fn transposes_take_operations_along() {
    let mut proved = [0, 0];
    let mut number = 0;
    for dtype in TYPES {
        let data = matrix(dtype, [32, 33]);
        for &op in ElementwiseOp::ALL {
            for swap in [false, true] {
                number += 1;
                let literal = LITERALS[number % LITERALS.len()];
                let to = [ElemType::F32, ElemType::Bf16, ElemType::I8][number % 3];
                let data = std::slice::from_ref(&data);
                // After.
                let mut b = FuncBuilder::new("after");
                let x = b.arg("x", data[0].ty().clone());
                let t = turn(&mut b, x);
                if let Ok(y) = b.elementwise_to(op, &with_literal(op, t, literal, swap), to) {
                    let func = b.finish(&[y]);
                    let result = prove(rule("operation-after-transpose"), &func, data);
                    proved[0] += usize::from(result.is_ok());
                }
                // Before.
                let mut b = FuncBuilder::new("before");
                let x = b.arg("x", data[0].ty().clone());
                if let Ok(y) = b.elementwise_to(op, &with_literal(op, x, literal, swap), to) {
                    let t = turn(&mut b, y);
                    let func = b.finish(&[t]);
                    let result = prove(rule("operation-before-transpose"), &func, data);
                    proved[1] += usize::from(result.is_ok());
                }
            }
        }
    }
    assert!(proved.iter().all(|&proved| proved > 50), "{proved:?}");
}

/// A transpose that does one operation takes a second along.
#[test]
fn transposes_take_two_operations_along() {
    let mut proved = [0, 0];
    let data = matrix(ElemType::F32, [33, 32]);
    let ops = [
        ElementwiseOp::Mult,
        ElementwiseOp::Subtract,
        ElementwiseOp::Max,
        ElementwiseOp::AbsoluteValue,
        ElementwiseOp::IsGt,
    ];
    for first in ops {
        for second in ops {
            for (number, swap) in [false, true, false, true].into_iter().enumerate() {
                let (copy, to) = (ElementwiseOp::Copy, ElemType::F32);
                let once = TensorOp::TransposePair { op0: first, op1: copy, reverse: false };
                let literal = LITERALS[number];
                let mut b = FuncBuilder::new("after");
                let x = b.arg("x", data.ty().clone());
                let operands = with_literal(first, x, Literal::Float(2.5), number > 1);
                let t = b.op(once, &operands, &TensorType::scalar(to)).expect("a matrix");
                let operands = with_literal(second, t, literal, swap);
                let y = b.elementwise_to(second, &operands, to).expect("floats");
                let func = b.finish(&[y]);
                let inputs = std::slice::from_ref(&data);
                let result = prove(rule("operation-after-transpose"), &func, inputs);
                proved[0] += usize::from(result.is_ok());
                let once = TensorOp::TransposePair { op0: second, op1: copy, reverse: false };
                let mut b = FuncBuilder::new("before");
                let x = b.arg("x", data.ty().clone());
                let operands = with_literal(first, x, literal, swap);
                let y = b.elementwise_to(first, &operands, to).expect("floats");
                let operands = with_literal(second, y, Literal::Float(2.5), number > 1);
                let t = b.op(once, &operands, &TensorType::scalar(to)).expect("a matrix");
                let func = b.finish(&[t]);
                let result = prove(rule("operation-before-transpose"), &func, inputs);
                proved[1] += usize::from(result.is_ok());
            }
        }
    }
    assert!(proved.iter().all(|&proved| proved > 60), "{proved:?}");
}

#[test]
fn transposes_take_pairs_and_casts_along() {
    let mut proved = [0, 0, 0];
    let ops = [ElementwiseOp::Mult, ElementwiseOp::Subtract, ElementwiseOp::Min];
    for dtype in TYPES {
        let data = matrix(dtype, [32, 32]);
        let inputs = std::slice::from_ref(&data);
        for first in ops {
            for second in ops {
                for reverse in [false, true] {
                    for to in [ElemType::F32, ElemType::Bf16] {
                        let literal = |value| Operand::from(Literal::Float(value));
                        let mut b = FuncBuilder::new("after");
                        let x = b.arg("x", data.ty().clone());
                        let t = turn(&mut b, x);
                        let operands = [t.into(), literal(1.5), literal(-0.25)];
                        let y = b.pair([first, second], &operands, reverse, to).expect("a pair");
                        let func = b.finish(&[y]);
                        let result = prove(rule("pair-after-transpose"), &func, inputs);
                        proved[0] += usize::from(result.is_ok());
                        let mut b = FuncBuilder::new("before");
                        let x = b.arg("x", data.ty().clone());
                        let operands = [literal(1.5), x.into(), literal(-0.25)];
                        let y = b.pair([first, second], &operands, reverse, to).expect("a pair");
                        let t = turn(&mut b, y);
                        let func = b.finish(&[t]);
                        let result = prove(rule("pair-before-transpose"), &func, inputs);
                        proved[1] += usize::from(result.is_ok());
                    }
                }
            }
        }
        for &to in DTYPES {
            let mut b = FuncBuilder::new("cast");
            let x = b.arg("x", data.ty().clone());
            let t = turn(&mut b, x);
            let y = b.cast(t, to).expect("any type");
            let func = b.finish(&[y]);
            proved[2] += usize::from(prove(rule("cast-after-transpose"), &func, inputs).is_ok());
        }
    }
    assert!(proved[0] > 100 && proved[1] > 100 && proved[2] > 20, "{proved:?}");
}
