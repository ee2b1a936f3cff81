use super::*;
use crate::builder::FuncBuilder;
use crate::entity::ValueId;
use crate::eval::accuracy::accuracy;
use crate::eval::random::{Rng, dyadic_tensor, random_tensor};
use crate::eval::{Bound, BoundOptions, Bounded, compare, eval_bounded};
use crate::infer::InferError;
use crate::ops::ReduceOp;
use ElementwiseOp as E;
use smallvec::smallvec;

type Built = Result<ValueId, InferError>;

fn bounded(x: &TensorData, build: impl Fn(&mut FuncBuilder, ValueId) -> Built) -> Bounded {
    let mut b = FuncBuilder::new("f");
    let arg = b.arg("x", x.ty().clone());
    let y = build(&mut b, arg).unwrap();
    let func = b.finish(&[y]);
    let inputs = std::slice::from_ref(x);
    let mut out =
        eval_bounded(&func, inputs, &EvalOptions::default(), &BoundOptions::default()).unwrap();
    out.remove(0)
}

fn sum(b: &mut FuncBuilder, x: ValueId) -> Built {
    let op = TensorOp::Reduce { op: ReduceOp::Add, dims: smallvec![0], keep: false, negate: false };
    b.op(op, &[x.into()], &TensorType::scalar(ElemType::F32))
}

#[test]
fn exact_operations_stay_exact() {
    let x = f32s(&[1.0, 0.1, -3.0]);
    let y = bounded(&x, |b, x| {
        let y = b.elementwise(E::Mult, &[x.into(), 1.5f32.into()])?;
        b.elementwise_to(E::IsGt, &[y.into(), 0.0f32.into()], ElemType::I1)
    });
    assert_eq!(y.bound, Bound::Exact);
    assert_ints(&y.value, &[1, 1, 0]);
    let i = row(ElemType::I32, &[7, 9]);
    let y = bounded(&i, |b, x| b.elementwise(E::Divide, &[x.into(), 2i64.into()]));
    assert_eq!(y.bound, Bound::Exact);
}

#[test]
fn approximations_allow_their_units() {
    let y = bounded(&f32s(&[0.0, 1.0]), |b, x| b.elementwise(E::Exp, &[x.into()]));
    // exp 0 = 1 has a unit of 2^-23, exp 1 one of 2^-22; one more is lost to rounding outward at most.
    let ulps = accuracy(E::Exp).map_or(0.0, |row| row.ulps);
    assert!((0..2).all(|i| y.bound.at(i) >= ulps * 2f64.powi(-23 + i as i32)));
    assert!((0..2).all(|i| y.bound.at(i) <= (ulps + 2.0) * 2f64.powi(-23 + i as i32)));
    let near = f32s(&[1.0 + ulps as f32 * f32::EPSILON, std::f32::consts::E]);
    assert!(compare(&near, &y).is_ok());
    assert!(compare(&f32s(&[1.0 + 20.0 * f32::EPSILON, std::f32::consts::E]), &y).is_err());
    // In bf16 that is either nothing or one unit.
    let y =
        bounded(&f32s(&[0.0, 1.0]), |b, x| b.elementwise_to(E::Exp, &[x.into()], ElemType::Bf16));
    assert_eq!(y.bound.at(1), 0.0);
}

#[test]
fn far_out_a_sine_is_not_promised() {
    let y = bounded(&f32s(&[3.0, 1e6, f32::INFINITY]), |b, x| b.elementwise(E::Sin, &[x.into()]));
    assert!(y.bound.at(0) < 1e-6);
    assert_eq!(y.bound.at(1), f64::INFINITY);
    assert_eq!(y.bound.at(2), 0.0);
}

#[test]
fn jumps_within_the_error_are_allowed() {
    // exp(0) may lie on either side of 1.
    let x = f32s(&[0.0, 2.0]);
    let exp = |b: &mut FuncBuilder, x: ValueId| b.elementwise(E::Exp, &[x.into()]);
    let y = bounded(&x, |b, x| {
        let y = exp(b, x)?;
        b.elementwise(E::Floor, &[y.into()])
    });
    assert_eq!((y.bound.at(0), y.bound.at(1)), (1.0, 0.0));
    let y = bounded(&x, |b, x| {
        let y = exp(b, x)?;
        b.elementwise(E::IsEq, &[y.into(), (1.0 + f32::EPSILON).into()])
    });
    assert_eq!((y.bound.at(0), y.bound.at(1)), (1.0, 0.0));
    let y = bounded(&x, |b, x| {
        let y = exp(b, x)?;
        let zero = b.elementwise(E::Subtract, &[y.into(), 1.0f32.into()])?;
        b.elementwise(E::Reciprocal, &[zero.into()])
    });
    assert_eq!(y.bound.at(0), f64::INFINITY);
    assert!(y.bound.at(1) > 0.0 && y.bound.at(1) < 1e-5);
}

#[test]
fn sums_in_any_order() {
    let mut rng = Rng::new(3);
    for n in [2u64, 17, 1000, 65536] {
        let x = random_tensor(&ty(&[n], ElemType::F32), None, &mut rng).unwrap();
        let y = bounded(&x, sum);
        let values = x.to_f32();
        let backward = values.iter().rev().fold(0.0, |acc, &x| acc + x);
        let exact = values.iter().map(|&x| f64::from(x)).sum::<f64>() as f32;
        let scalar = |x: f32| TensorData::scalar(ElemType::F32, x.to_bits().into());
        assert!(
            compare(&scalar(backward), &y).is_ok() && compare(&scalar(exact), &y).is_ok(),
            "{n}"
        );
        // Losing an element of usual size, or of a large sum a little, is noticed.
        let lost = exact - values.iter().map(|x| x.abs()).sum::<f32>().max(1e4) * 1e-4;
        assert!(compare(&scalar(lost), &y).is_err(), "{n}: {:?}", y.bound);
        let dyadic = dyadic_tensor(&ty(&[n], ElemType::F32), &mut rng).unwrap();
        assert_eq!(bounded(&dyadic, sum).bound, Bound::Exact, "{n}");
    }
    // Data that rounds the same way every time: the reference itself drifts.
    let x = f32s(&vec![0.1; 100_000]);
    let y = bounded(&x, sum);
    let halves = |n: usize| (0..n).fold(0f32, |acc, _| acc + 0.1);
    let other = halves(50_000) + halves(50_000);
    assert!(compare(&TensorData::scalar(ElemType::F32, other.to_bits().into()), &y).is_ok());
}

#[test]
fn products_in_any_order() {
    let x = f32s(&[1.1, 0.3, 7.7, 2.3, 0.9]);
    let y = bounded(&x, |b, x| {
        let op =
            TensorOp::Reduce { op: ReduceOp::Mult, dims: smallvec![0], keep: false, negate: true };
        b.op(op, &[x.into()], &TensorType::scalar(ElemType::F32))
    });
    let backward = -x.to_f32().iter().rev().product::<f32>();
    assert!(compare(&TensorData::scalar(ElemType::F32, backward.to_bits().into()), &y).is_ok());
    assert!(y.bound.at(0) > 0.0 && y.bound.at(0) < 3e-6);
}

#[test]
fn choices_in_doubt_allow_both() {
    // tanh(1) is about 0.76; the comparison with exactly that is in doubt.
    let x = f32s(&[1.0, 3.0]);
    let y = bounded(&x, |b, x| {
        let t = b.elementwise(E::Tanh, &[x.into()])?;
        let p = b.elementwise(E::IsGe, &[t.into(), 0.761_594_2f32.into()])?;
        b.elementwise(E::Select, &[p.into(), x.into(), 10.0f32.into()])
    });
    assert_floats(&y.value, &[1.0, 3.0]);
    assert_eq!((y.bound.at(0), y.bound.at(1)), (9.0, 0.0));
}

#[test]
fn a_cast_near_a_tie_allows_both() {
    // sqrt(2.25) = 1.5 may round either way, sqrt(4) may not.
    let x = f32s(&[2.25, 4.0]);
    let y = bounded(&x, |b, x| {
        let root = b.elementwise(E::Sqrt, &[x.into()])?;
        b.cast(root, ElemType::I8)
    });
    assert_ints(&y.value, &[2, 2]);
    assert_eq!((y.bound.at(0), y.bound.at(1)), (1.0, 0.0));
}

#[test]
fn errors_move_with_their_elements() {
    let x = f32s(&[0.0, 5.0, 1.0]);
    let y = bounded(&x, |b, x| {
        let y = b.elementwise(E::Exp, &[x.into()])?;
        b.op(TensorOp::Reverse { dims: smallvec![0] }, &[y.into()], &ty(&[3], ElemType::F32))
    });
    assert!(y.bound.at(1) > y.bound.at(0) && y.bound.at(0) > y.bound.at(2));
}

#[test]
fn an_index_between_near_equals_is_open() {
    let arg = |x: &TensorData| {
        bounded(x, |b, x| {
            let y = b.elementwise(E::Exp, &[x.into()])?;
            let op = TensorOp::Reduce {
                op: ReduceOp::Argmax,
                dims: smallvec![0],
                keep: false,
                negate: false,
            };
            b.op(op, &[y.into()], &TensorType::scalar(ElemType::Ui32))
        })
    };
    assert_eq!(arg(&f32s(&[1.0, 3.0, 2.0])).bound, Bound::Exact);
    assert_eq!(arg(&f32s(&[1.0, 3.0, 3.0])).bound.at(0), f64::INFINITY);
}

#[test]
fn scans_pass_errors_on() {
    let x = floats(&[1, 4], ElemType::F32, &[0.5, 1.0, 1.5, 2.0]);
    let scan = |exact: bool| {
        bounded(&x, |b, x| {
            let y = if exact { x } else { b.elementwise(E::Exp, &[x.into()])? };
            let op = TensorOp::ScanCache {
                op0: E::Bypass,
                op1: E::Add,
                seed: crate::ops::Seed::Zero,
                emit: crate::ops::Emit::All,
            };
            b.op(op, &[y.into(), 0.0f32.into()], &ty(&[1, 4], ElemType::F32))
        })
    };
    assert_eq!(scan(true).bound, Bound::Exact);
    let y = scan(false);
    assert!((1..4).all(|i| y.bound.at(i) > y.bound.at(i - 1)));
    assert!(y.bound.at(3) < 1e-4);
}

/// Every operation at every operand within its interval stays within the bound.
#[test]
fn bounds_hold_inside_the_interval() {
    let mut rng = Rng::new(11);
    let ops = [
        E::Add,
        E::Subtract,
        E::Mult,
        E::Divide,
        E::Max,
        E::Min,
        E::AbsoluteDiff,
        E::AbsMax,
        E::AbsMin,
        E::IsEq,
        E::IsLt,
        E::IsNe,
        E::LogicalAnd,
        E::LogicalXor,
        E::Remainder,
        E::SymmetricClamp,
        E::Square,
        E::AbsoluteValue,
        E::ReLu,
        E::Floor,
        E::RoundEven,
        E::Sin,
        E::Cos,
        E::Sign,
        E::Tanh,
        E::Pow,
        E::Rsqrt,
    ];
    for op in ops {
        let x = random_tensor(&ty(&[64], ElemType::F32), None, &mut rng).unwrap();
        // Rounding to bf16 with excess precision allowed makes operands inexact.
        let mut b = FuncBuilder::new("f");
        let arg = b.arg("x", x.ty().clone());
        let rough =
            b.elementwise_to(E::Mult, &[arg.into(), 3.0f32.into()], ElemType::Bf16).unwrap();
        let other =
            b.elementwise_to(E::Add, &[arg.into(), 0.25f32.into()], ElemType::Bf16).unwrap();
        let operands = [rough.into(), other.into()];
        let y = b.elementwise_to(op, &operands[..op.arity()], ElemType::F32).unwrap();
        let func = b.finish(&[y, rough, other]);
        let excess = BoundOptions { excess_precision: true };
        let out = eval_bounded(&func, &[x], &EvalOptions::default(), &excess).unwrap();
        let at = |k: usize, i: usize, t: f32| {
            let bound = out[k].bound.at(i) as f32;
            out[k].value.f32(i).unwrap() + t * bound
        };
        for i in 0..64 {
            for (s, t) in [(0.0, 0.0), (0.9, 0.3), (-0.7, 0.9), (0.4, -0.9), (-0.9, -0.2)] {
                let (p, q) = (f32s(&[at(1, i, s)]), f32s(&[at(2, i, t)]));
                let got = apply(op, &[&p, &q][..op.arity()], ElemType::F32).f32(0).unwrap();
                let want = out[0].value.f32(i).unwrap();
                let error = if key(got) == key(want) { 0.0 } else { f64::from((got - want).abs()) };
                assert!(
                    error <= out[0].bound.at(i) || out[0].bound.at(i).is_infinite(),
                    "{op} {i}: {got} {want}"
                );
            }
        }
    }
}
