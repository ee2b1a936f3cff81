//! Fusion of whole functions.

use partita_ir::eval::random::dyadic_inputs;
use partita_ir::eval::{EvalOptions, Tolerance, compare_tol, eval_func};
use partita_ir::{Func, Source, TensorOp};
use partita_isa::{Generation, Target};
use partita_passes::fuse::{FuseOptions, FuseResult, fuse};
use partita_passes::remark::RemarkKind;

fn read(text: &str) -> Func {
    let module = partita_ir::text::load(&Source::new("test.pta", text)).expect("the text is a program");
    module.funcs.into_iter().next().expect("it has a function")
}

fn text(func: &Func) -> String {
    partita_ir::Module { target: None, funcs: vec![func.clone()] }.to_string()
}

fn fused_on(func: &Func, generation: Generation) -> FuseResult {
    let result = fuse(func, &Target::new(generation), &FuseOptions::default()).expect("fusion is sound");
    partita_ir::verify::verify(&partita_ir::Module { target: None, funcs: vec![result.func.clone()] })
        .expect("the fused function is well formed");
    same_results(func, &result.func);
    result
}

/// Dyadic inputs make every float sum exact, so results agree to the bit.
fn same_results(before: &Func, after: &Func) {
    for seed in 0..3 {
        let inputs = dyadic_inputs(before, seed).expect("inputs");
        let want = eval_func(before, &inputs, &EvalOptions::default()).expect("the input evaluates");
        let got = eval_func(after, &inputs, &EvalOptions::default()).expect("the output evaluates");
        assert_eq!(want.len(), got.len());
        for (got, want) in got.iter().zip(&want) {
            compare_tol(got, want, Tolerance::Exact).unwrap_or_else(|error| {
                panic!("{error:?}\n{}", text(after))
            });
        }
    }
}

fn count(func: &Func, wanted: impl Fn(&TensorOp) -> bool) -> usize {
    func.body_ops().filter(|(_, op)| op.as_tensor().is_some_and(&wanted)).count()
}

const EVERY: [Generation; 5] = Generation::ALL;

#[test]
fn a_transposed_sum_becomes_a_transpose_reduce() {
    let func = read(include_str!("../../examples/transpose_sum.pta"));
    for generation in EVERY {
        let result = fused_on(&func, generation);
        for r in &result.remarks { eprintln!("{generation} {r}"); }
        eprintln!("{}", text(&result.func));
        assert_eq!(count(&result.func, |op| matches!(op, TensorOp::TransposeReduce { .. })), 1, "{generation}");
        let passed = result.remarks.iter().find(|remark| remark.kind == RemarkKind::Passed).expect("a remark");
        assert!(passed.message.starts_with("0x83 "), "{passed}");
        assert!(passed.message.contains("0x7c CrossLaneReduceArith"), "{passed}");
        assert!(passed.cost_after < passed.cost_before);
    }
}

#[test]
fn a_transposed_parity_becomes_a_transpose_reduce_of_bits() {
    let func = read(include_str!("../../examples/transpose_xor.pta"));
    for generation in EVERY {
        let result = fused_on(&func, generation);
        for r in &result.remarks { eprintln!("{generation} {r}"); }
        assert_eq!(count(&result.func, |op| matches!(op, TensorOp::TransposeReduce { .. })), 1, "{generation}");
        let passed = result.remarks.iter().find(|remark| remark.kind == RemarkKind::Passed).expect("a remark");
        assert!(passed.message.starts_with("0x84 "), "{passed}");
        assert!(passed.message.contains("0x7d CrossLaneReduceBitvec"), "{passed}");
    }
}
