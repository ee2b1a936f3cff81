use super::*;
use crate::builder::FuncBuilder;
use crate::eval::{EvalError, eval_func, fold_op};
use crate::module::Operand;
use crate::ops::ReduceOp;
use smallvec::smallvec;

/// The sum of squares of rows, scaled: exact by hand.
fn sample() -> crate::module::Func {
    let mut b = FuncBuilder::new("f");
    let x = b.arg("x", ty(&[2, 3], ElemType::F32));
    let square = b.elementwise(ElementwiseOp::Mult, &[x.into(), x.into()]).unwrap();
    let op = TensorOp::Reduce { op: ReduceOp::Add, dims: smallvec![1], keep: true, negate: false };
    let sum = b.op(op, &[square.into()], &TensorType::scalar(ElemType::F32)).unwrap();
    let half = b.elementwise(ElementwiseOp::Mult, &[sum.into(), 0.5f32.into()]).unwrap();
    b.finish(&[half, x, half])
}

#[test]
fn runs_and_gives_every_result() {
    let x = floats(&[2, 3], ElemType::F32, &[1.0, 2.0, 3.0, -1.0, 0.0, 1.0]);
    let out = eval_func(&sample(), std::slice::from_ref(&x), &EvalOptions::default()).unwrap();
    assert_floats(&out[0], &[7.0, 1.0]);
    assert_eq!((&out[1], &out[2]), (&x, &out[0]));
}

#[test]
fn refuses_wrong_inputs_and_too_much_memory() {
    let func = sample();
    let options = EvalOptions::default();
    assert!(matches!(
        eval_func(&func, &[], &options),
        Err(EvalError::InputCount { want: 1, got: 0, .. })
    ));
    let wrong = floats(&[3, 2], ElemType::F32, &[0.0; 6]);
    assert!(matches!(eval_func(&func, &[wrong], &options), Err(EvalError::InputType { .. })));
    let x = floats(&[2, 3], ElemType::F32, &[0.0; 6]);
    let tight = EvalOptions { memory_limit: Some(31), ..options };
    assert!(matches!(
        eval_func(&func, std::slice::from_ref(&x), &tight),
        Err(EvalError::Memory { need: 32, .. })
    ));
    let enough = EvalOptions { memory_limit: Some(32), ..options };
    assert!(eval_func(&func, &[x], &enough).is_ok());
}

#[test]
fn folds_what_is_known() {
    let func = sample();
    let x = floats(&[2, 3], ElemType::F32, &[1.0; 6]);
    let square = func.body[0];
    let options = EvalOptions::default();
    let folded = fold_op(&func, square, |_| Some(&x), &options).unwrap();
    assert_eq!(folded, Some(x.clone()));
    assert_eq!(fold_op(&func, square, |_| None, &options).unwrap(), None);
}

/// A long chain neither recurses nor keeps its values.
#[test]
fn long_chains() {
    let mut b = FuncBuilder::new("chain");
    let x = b.arg("x", ty(&[1], ElemType::I32));
    let mut last: Operand = x.into();
    for _ in 0..100_000 {
        last = b
            .named("v")
            .elementwise(ElementwiseOp::Add, &[last, 1i64.into()])
            .map(Operand::from)
            .unwrap();
        if b.func().values.len() > 20_000 {
            break;
        }
    }
    let steps = b.func().values.len() as i128 - 1;
    let func = b.finish(&[last.value().unwrap()]);
    let options = EvalOptions { memory_limit: Some(8), ..EvalOptions::default() };
    let out = eval_func(&func, &[row(ElemType::I32, &[5])], &options).unwrap();
    assert_ints(&out[0], &[5 + steps]);
}
