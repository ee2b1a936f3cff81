//! Proofs of the expansions of float operations with two operands.

mod float_support;

use float_support::{
    Column, FLOATS, TARGETS, allowed, edges, func_of, pairs, sweep, target, worst,
};
use partita_ir::ops::{ElementwiseOp, TensorOp};
use partita_ir::{ElemType, FuncBuilder, Operand, TensorType};
use partita_passes::expand::legalize;
use partita_passes::rewrite::Fuel;

use ElementwiseOp::*;

const OPS: [ElementwiseOp; 10] =
    [Divide, Remainder, Maximum, Minimum, Max, Min, AbsMax, AbsMin, SymmetricClamp, Pow];

#[test]
fn pairs_of_every_type() {
    for op in OPS {
        for dtype in FLOATS {
            for target in TARGETS {
                let [a, b] = pairs(dtype, if target == "cayman" { 60_000 } else { 4_000 });
                let columns = [Column::Bits(dtype, a), Column::Bits(dtype, b)];
                let (func, inputs) = func_of(TensorOp::Elementwise(op), &columns, dtype);
                let found = worst(&func, &inputs, target);
                let limit = if dtype == ElemType::F32 { allowed(op) } else { allowed(op).min(1) };
                assert!(found <= limit, "{op} {dtype} {target}: {found}");
            }
        }
    }
}

#[test]
fn literals_on_either_side() {
    let literals = [
        0.0f32,
        -0.0,
        1.0,
        -1.0,
        2.0,
        0.125,
        3.0,
        -0.1,
        1e-40,
        -3e38,
        1.7e38,
        f32::MAX,
        f32::MIN_POSITIVE,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];
    for op in OPS {
        for literal in literals {
            let literal = || Column::Literal(Operand::from(literal));
            let column = || Column::Bits(ElemType::F32, sweep(4_000_037));
            for columns in [[column(), literal()], [literal(), column()]] {
                let (func, inputs) = func_of(TensorOp::Elementwise(op), &columns, ElemType::F32);
                let found = worst(&func, &inputs, "cayman");
                assert!(found <= allowed(op), "{op}: {found}");
            }
        }
    }
}

#[test]
fn results_of_other_types() {
    use ElemType::*;
    for op in [Remainder, Maximum, Add, IsGt, AbsMin] {
        for out in [I1, I8, Ui16, I32, Ui32, F16, F8E5M2, I64, Ui64] {
            let [a, b] = pairs(F32, 1000);
            let (func, inputs) = func_of(
                TensorOp::Elementwise(op),
                &[Column::Bits(F32, a), Column::Bits(F32, b)],
                out,
            );
            assert_eq!(worst(&func, &inputs, "cayman"), 0, "{op} {out}");
        }
    }
}

#[test]
fn selects_and_moves_into_other_types() {
    use ElemType::*;
    for out in [I1, I8, I32, F16, I64] {
        let count = edges().len();
        let mask = Column::Bits(I1, (0..count as u64).map(|i| i & 1).collect());
        let columns = [
            mask,
            Column::Bits(F32, edges()),
            Column::Bits(F32, edges().into_iter().rev().collect()),
        ];
        let (func, inputs) = func_of(TensorOp::Elementwise(Select), &columns, out);
        assert_eq!(worst(&func, &inputs, "cayman"), 0, "select {out}");
        let (func, inputs) =
            func_of(TensorOp::Elementwise(Copy), &[Column::Bits(F32, edges())], out);
        assert_eq!(worst(&func, &inputs, "cayman"), 0, "copy {out}");
    }
}

#[test]
fn what_depends_on_a_row_divisor_keeps_its_shape() {
    let mut b = FuncBuilder::new("f");
    let x = b.arg("x", TensorType::new([4, 100], ElemType::F32));
    let s = b.arg("s", TensorType::new([4, 1], ElemType::F32));
    let y = b.elementwise(Divide, &[x.into(), s.into()]).expect("typed");
    let (after, applied) =
        legalize(&b.finish(&[y]), &target("cayman"), &mut Fuel::default()).expect("core");
    assert_eq!(applied.len(), 1);
    let full = after
        .body_ops()
        .filter(|(_, op)| op.result().is_some_and(|value| after.ty(value).shape() == [4, 100]));
    assert_eq!(full.count(), 2, "the scaling of the dividend and the product");
}
