//! Fusion of whole functions.

use partita_ir::eval::random::dyadic_inputs;
use partita_ir::eval::{EvalOptions, Fp8Options, Tolerance, compare_tol, eval_func};
use partita_ir::{Func, Source, TensorOp};
use partita_isa::{Generation, Target};
use partita_passes::fuse::{FuseOptions, FuseResult, fuse};
use partita_passes::remark::RemarkKind;
use partita_passes::rewrite::Fuel;

fn read(text: &str) -> Func {
    let module =
        partita_ir::text::load(&Source::new("test.pta", text)).expect("the text is a program");
    module.funcs.into_iter().next().expect("it has a function")
}

fn fused_on(func: &Func, generation: Generation) -> FuseResult {
    let result =
        fuse(func, &Target::new(generation), &FuseOptions::default(), &mut Fuel::default())
            .expect("fusion is sound");
    partita_ir::verify::verify(&partita_ir::Module {
        target: None,
        funcs: vec![result.func.clone()],
    })
    .expect("the fused function is well formed");
    same_results(func, &result.func);
    result
}

/// Dyadic inputs make every float sum exact, so results agree to the bit.
fn same_results(before: &Func, after: &Func) {
    for seed in 0..3 {
        let inputs = dyadic_inputs(before, seed).expect("inputs");
        let want =
            eval_func(before, &inputs, &EvalOptions::default()).expect("the input evaluates");
        let got = eval_func(after, &inputs, &EvalOptions::default()).expect("the output evaluates");
        assert_eq!(want.len(), got.len());
        for (got, want) in got.iter().zip(&want) {
            compare_tol(got, want, Tolerance::Exact, Fp8Options::default())
                .unwrap_or_else(|error| panic!("{error:?}\n{after}"));
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
        assert_eq!(
            count(&result.func, |op| matches!(op, TensorOp::TransposeReduce { .. })),
            1,
            "{generation}"
        );
        let passed = result
            .remarks
            .iter()
            .find(|remark| remark.kind == RemarkKind::Passed)
            .expect("a remark");
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
        assert_eq!(
            count(&result.func, |op| matches!(op, TensorOp::TransposeReduce { .. })),
            1,
            "{generation}"
        );
        let passed = result
            .remarks
            .iter()
            .find(|remark| remark.kind == RemarkKind::Passed)
            .expect("a remark");
        assert!(passed.message.starts_with("0x84 "), "{passed}");
        assert!(passed.message.contains("0x7d CrossLaneReduceBitvec"), "{passed}");
    }
}

fn remarks(result: &FuseResult) -> String {
    result.remarks.iter().map(|remark| format!("{remark}\n")).collect()
}

#[test]
fn the_fused_example_reads_well() {
    let func = read(include_str!("../../examples/transpose_sum.pta"));
    let result = fused_on(&func, Generation::Cayman);
    insta::assert_snapshot!(format!("{}\n{}", result.func, remarks(&result)));
}

/// A short sum over dimension 0 is cheapest where it lies, by the cross-lane reduction.
#[test]
fn a_narrow_column_sum_crosses_lanes() {
    let func = read(
        "func @f(%x: tensor<128x16xf32>) -> tensor<16xf32> {
        %y = tensor.reduce add(%x) dims [0] : tensor<16xf32>
        return %y : tensor<16xf32>
    }",
    );
    let result = fused_on(&func, Generation::Cayman);
    assert_eq!(
        count(&result.func, |op| matches!(op, TensorOp::PartitionReduce { .. })),
        1,
        "{}",
        result.func
    );
    assert!(remarks(&result).contains("passed fuse/cross-lane-sum"), "{}", remarks(&result));
}

/// A transpose that is needed anyway is paid once: the reduction reads it.
#[test]
fn a_shared_transpose_is_not_paid_twice() {
    let func = read(
        "func @f(%x: tensor<128x256xf32>) -> (tensor<256x128xf32>, tensor<256xf32>) {
        %t = tensor.transpose %x perm [1, 0] : tensor<256x128xf32>
        %y = tensor.reduce add(%t) dims [1] : tensor<256xf32>
        return %t, %y : tensor<256x128xf32>, tensor<256xf32>
    }",
    );
    let result = fused_on(&func, Generation::Cayman);
    assert_eq!(result.func.body.len(), func.body.len(), "{}", result.func);
    let missed = result
        .remarks
        .iter()
        .find(|remark| remark.rule == "transpose-reduce-sum")
        .expect("a remark");
    assert_eq!(missed.kind, RemarkKind::Missed);
}

#[test]
fn what_is_forbidden_is_said_with_the_rule() {
    let func = read(
        "func @f(%x: tensor<64x64xi32>) -> tensor<64xi32> {
        %t = tensor.transpose %x perm [1, 0] : tensor<64x64xi32>
        %y = tensor.reduce min(%t) dims [1] : tensor<64xi32>
        return %y : tensor<64xi32>
    }",
    );
    let result = fused_on(&func, Generation::Cayman);
    let all = remarks(&result);
    assert!(
        all.contains("no 0x83 TransposeTensorReduceArithOp: the transpose-reduce computes in fp32"),
        "{all}"
    );
    assert!(
        all.contains(
            "no 0x7c CrossLaneReduceArith: there is no cross-lane `min` (forbidden by CR-8)"
        ),
        "{all}"
    );
    let missed =
        result.remarks.iter().find(|remark| remark.forbidden_by == Some("CR-8")).expect("a remark");
    let json = serde_json::to_value(missed).expect("it serializes");
    assert_eq!(json["kind"], "missed");
    assert_eq!(json["class"], "exact");
    assert_eq!(json["value"], "%y");
}

/// Names and places of what survives stay, and nothing is made where nothing fits.
#[test]
fn a_function_without_fusions_stays_as_it_is() {
    let text = "func @f(%x: tensor<64x64xf32>, %g: tensor<64xf32>) -> tensor<64x64xf32> {
        %sq = tensor.elementwise mult(%x, %x) : tensor<64x64xf32>
        %k = tensor.constant dense<2.0> : tensor<f32>
        %m = tensor.elementwise maximum(%sq, %k) : tensor<64x64xf32>
        %y = tensor.elementwise mult(%m, %g) : tensor<64x64xf32>
        return %y : tensor<64x64xf32>
    }";
    let func = read(text);
    let result = fused_on(&func, Generation::Cayman);
    assert_eq!(result.func.to_string(), func.to_string());
    assert!(result.remarks.is_empty());
}

#[test]
fn casts_join_their_producers() {
    let func = read(
        "func @f(%x: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
        %a = tensor.elementwise add(%x, 1.0) : tensor<64x64xf32>
        %y = tensor.cast %a : tensor<64x64xbf16>
        return %y : tensor<64x64xbf16>
    }",
    );
    let result = fused_on(&func, Generation::Cayman);
    assert_eq!(count(&result.func, |op| matches!(op, TensorOp::Cast)), 0);
    assert!(
        result.func.to_string().contains("%y = tensor.elementwise add(%x, 1.0)"),
        "{}",
        result.func
    );
}

/// A chain of `n` pairs that fuse: windows must not cut any.
fn chain(pairs: usize) -> Func {
    let mut b = partita_ir::FuncBuilder::new("chain");
    let mut x = b.arg("x", partita_ir::TensorType::new([4, 8], partita_ir::ElemType::F32));
    for _ in 0..pairs {
        let sum = b
            .elementwise(partita_ir::ElementwiseOp::Add, &[x.into(), 1.0f32.into()])
            .expect("floats");
        let narrow = b.cast(sum, partita_ir::ElemType::Bf16).expect("a float");
        x = b
            .elementwise_to(
                partita_ir::ElementwiseOp::Maximum,
                &[narrow.into(), 0.5f32.into()],
                partita_ir::ElemType::F32,
            )
            .expect("floats");
    }
    b.finish(&[x])
}

#[test]
fn windows_cut_no_pattern() {
    for pairs in [1, 85, 86, 200, 700] {
        let func = chain(pairs);
        let result = fused_on(&func, Generation::Cayman);
        assert_eq!(count(&result.func, |op| matches!(op, TensorOp::Cast)), 0, "{pairs} pairs");
        assert_eq!(result.stats.fused, pairs as u64);
        assert!(result.stats.limited == 0);
    }
}

/// A chain of which every operation could join the one before: each joins one.
#[test]
fn windows_cut_no_long_chain() {
    for length in [2, 100, 255, 256, 257, 300, 511, 600] {
        let mut b = partita_ir::FuncBuilder::new("chain");
        let ty = partita_ir::TensorType::new([64, 80], partita_ir::ElemType::F32);
        let mut x = b.arg("x", ty);
        for at in 0..length {
            let op = [partita_ir::ElementwiseOp::Max, partita_ir::ElementwiseOp::Subtract][at % 2];
            x = b.elementwise(op, &[x.into(), 1.0f32.into()]).expect("floats");
        }
        let func = b.finish(&[x]);
        let result = fused_on(&func, Generation::Cayman);
        assert_eq!(result.func.body_ops().count() - 1, length.div_ceil(2), "{length}");
    }
}

#[test]
fn the_same_function_gives_the_same_text() {
    let func = chain(300);
    let first = fused_on(&func, Generation::Sunda);
    for _ in 0..3 {
        let again = fused_on(&func, Generation::Sunda);
        assert_eq!(again.func.to_string(), first.func.to_string());
        assert_eq!(again.remarks, first.remarks);
    }
}

/// Fuel counts rewrites over all windows, and every prefix is sound.
#[test]
fn fuel_limits_the_rewrites() {
    let func = chain(100);
    let options = |limit| FuseOptions { rewrite_limit: Some(limit), ..FuseOptions::default() };
    let mut last = 0;
    for limit in [0, 1, 2, 50, 100, 1000] {
        let result = fuse(&func, &Target::default(), &options(limit), &mut Fuel::default())
            .expect("fusion is sound");
        assert!(result.stats.rewrites <= limit && result.stats.rewrites >= last);
        assert_eq!(result.stats.fused, result.stats.rewrites);
        last = result.stats.rewrites;
        same_results(&func, &result.func);
    }
    assert_eq!(last, 100);
}

/// The limits of a window are no error: what was found by then is used.
#[test]
fn limits_stop_early_and_soundly() {
    let func = chain(100);
    let options = FuseOptions { node_limit: 10, iter_limit: 1, ..FuseOptions::default() };
    let result =
        fuse(&func, &Target::default(), &options, &mut Fuel::default()).expect("fusion is sound");
    same_results(&func, &result.func);
    assert!(result.stats.limited > 0);
}

#[test]
fn costs_never_rise() {
    for text in [
        include_str!("../../examples/transpose_sum.pta"),
        include_str!("../../examples/transpose_xor.pta"),
    ] {
        for generation in EVERY {
            let stats = fused_on(&read(text), generation).stats;
            assert!(stats.cost_after <= stats.cost_before);
        }
    }
}

/// Small programs of moves, sums and extremes over dyadic numbers: canonical and
/// fused they give the same bits on every generation.
#[test]
fn random_programs_keep_their_bits() {
    use partita_ir::ops::ReduceOp;
    use partita_ir::{ElemType, ElementwiseOp, FuncBuilder, TensorType, ValueId};
    let mut rng = partita_ir::eval::random::Rng::new(23);
    let mut below = |limit: usize| (rng.next_u64() % limit as u64) as usize;
    let mut fused = 0;
    for program in 0..150 {
        let mut b = FuncBuilder::new("random");
        let dtype =
            [ElemType::F32, ElemType::Bf16, ElemType::I32, ElemType::Ui16, ElemType::I8][below(5)];
        let sizes = [[2, 40, 3], [33, 1, 5], [130, 2, 32], [4, 8, 16]][below(4)];
        let mut values: Vec<ValueId> = vec![b.arg("x", TensorType::new(sizes, dtype))];
        for _ in 0..8 {
            let x = values[below(values.len())];
            let ty = b.ty(x).expect("a tensor").clone();
            let made = match below(6) {
                0 | 1 => {
                    let mut perm: Vec<usize> = (0..ty.rank()).collect();
                    for at in (1..perm.len()).rev() {
                        perm.swap(at, below(at + 1));
                    }
                    b.transpose(x, perm)
                }
                2 | 3 if ty.rank() > 0 => {
                    let op = [ReduceOp::Add, ReduceOp::Max, ReduceOp::Min, ReduceOp::BitwiseXor]
                        [below(4)];
                    b.reduce(op, x, [below(ty.rank())], below(2) == 0)
                }
                4 => b.elementwise(ElementwiseOp::Max, &[x.into(), 1i64.into()]),
                _ => b.cast(x, if ty.dtype.is_float() { ElemType::F32 } else { ty.dtype }),
            };
            values.extend(made);
        }
        let results: Vec<ValueId> = values.iter().rev().take(1 + below(2)).copied().collect();
        let func = b.finish(&results);
        let (canonical, _) =
            partita_passes::canonicalize::canonicalize(&func, &mut Fuel::default());
        same_results(&func, &canonical);
        fused += fused_on(&canonical, EVERY[program % EVERY.len()]).stats.fused;
    }
    assert!(fused > 30, "{fused}");
}
