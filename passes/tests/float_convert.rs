//! Proofs of conversions of floats.

mod float_support;

use float_support::{Column, TARGETS, func_of, sweep, worst};
use partita_ir::ElemType::{self, *};
use partita_ir::TensorType;
use partita_ir::ops::TensorOp;
use partita_passes::expand::legalize;
use partita_passes::expand::prove::single;
use partita_passes::rewrite::Fuel;

const NARROW: [ElemType; 7] = [I1, I8, Ui8, I16, Ui16, I32, Ui32];

fn check(op: &TensorOp, from: ElemType, bits: Vec<u64>, out: ElemType, target: &str) {
    let (func, inputs) = func_of(op.clone(), &[Column::Bits(from, bits)], out);
    assert_eq!(worst(&func, &inputs, target), 0, "{from} to {out} on {target}");
}

#[test]
fn to_integers_of_at_most_32_bits() {
    for op in [TensorOp::ToInt, TensorOp::Cast] {
        for out in NARROW {
            for target in TARGETS {
                check(&op, F32, sweep(100_003), out, target);
                check(&op, Bf16, (0..1 << 16).collect(), out, target);
                check(&op, F16, (0..1 << 16).collect(), out, target);
                check(&op, F8E4M3, (0..256).collect(), out, target);
            }
        }
    }
}

#[test]
fn to_integers_of_64_bits() {
    for op in [TensorOp::ToInt, TensorOp::Cast] {
        for out in [I64, Ui64] {
            for target in ["cayman", "mariana_plus"] {
                check(&op, F32, sweep(100_003), out, target);
                check(&op, Bf16, (0..1 << 16).collect(), out, target);
                check(&op, F8E5M2, (0..256).collect(), out, target);
            }
        }
    }
}

#[test]
fn shapes_survive_the_halves() {
    for shape in [vec![], vec![3], vec![2, 0], vec![1, 2, 1, 2, 1, 2, 1, 2]] {
        let ty = TensorType::new(shape, F32);
        let func = single(TensorOp::Cast, &[Ok(ty)], &TensorType::scalar(I64)).expect("typed");
        let (after, _) =
            legalize(&func, &float_support::target("cayman"), &mut Fuel::default()).expect("core");
        assert_eq!(after.result_types, func.result_types);
    }
}
