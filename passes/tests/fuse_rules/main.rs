//! The proof of every fusion rule: both sides are evaluated and must agree to the
//! bit (any NaN for any NaN), over all pairs of 8-bit elements, over specials by
//! specials, and over dyadic numbers at sizes around the machine's limits.

mod reductions;
mod transposes;
mod words;

use std::collections::BTreeSet;

use partita_ir::eval::random::{Rng, dyadic_tensor};
use partita_ir::eval::{EvalOptions, Fp8Options, eval_func};
use partita_ir::ops::{CrossLaneAxis, CrossLaneOp, ReduceOp};
use partita_ir::types::Dims;
use partita_ir::{
    ElemType, ElementwiseOp, Func, FuncBuilder, Literal, TensorData, TensorOp, TensorType,
};
use partita_isa::{Generation, Target};
use partita_passes::fuse::rules::{self, Refusal, Rule};

const DTYPES: &[ElemType] = &[
    ElemType::I1,
    ElemType::I8,
    ElemType::Ui8,
    ElemType::F8E3M4,
    ElemType::F8E4M3,
    ElemType::F8E5M2,
    ElemType::I16,
    ElemType::Ui16,
    ElemType::F16,
    ElemType::Bf16,
    ElemType::I32,
    ElemType::Ui32,
    ElemType::F32,
];

fn rule(name: &str) -> &'static Rule {
    rules::all().find(|rule| rule.name == name).expect("the rule exists")
}

/// Bit patterns worth trying: ends of ranges, zeros, infinities, NaNs, neighbours.
fn specials(dtype: ElemType) -> Vec<u64> {
    if dtype == ElemType::I1 {
        return vec![0, 1];
    }
    if dtype.width() == 8 {
        return (0..256).collect();
    }
    let width = dtype.width();
    let (mask, sign) = (u64::MAX >> (64 - width), 1u64 << (width - 1));
    let mut bits = vec![0, 1, 2, 3, sign, sign | 1, mask, mask - 1, sign - 1, sign - 2, 0x64, 0x7f];
    if dtype.is_float() {
        let mantissa = match dtype {
            ElemType::F32 => 23,
            ElemType::F16 => 10,
            _ => 7,
        };
        let infinity = (sign - 1) >> mantissa << mantissa;
        let quiet = infinity | 1 << (mantissa - 1);
        let one = (infinity >> 1) & (infinity >> mantissa << mantissa);
        let least = 1 << mantissa;
        for magnitude in [
            infinity,
            infinity - 1,
            quiet,
            infinity | 1,
            one,
            one + 1,
            least,
            least - 1,
            one | 1 << (mantissa - 1),
        ] {
            bits.extend([magnitude, magnitude | sign]);
        }
    }
    bits
}

/// `[2, n]`: every pair of specials as a column; of 8-bit types every pair there is.
fn pairs(dtype: ElemType) -> TensorData {
    columns_of(dtype, &specials(dtype))
}

/// As [`pairs`], but of 8-bit types only the ends of each binade or range.
fn edges(dtype: ElemType) -> TensorData {
    let mut bits = specials(dtype);
    bits.retain(|bits| {
        dtype.width() != 8 || matches!(bits & 7, 0 | 7) && bits & 8 == 0 || bits & 0x70 == 0x70
    });
    columns_of(dtype, &bits)
}

/// Everything there is for some result types, and less for the others.
fn inputs_for(dtype: ElemType, to: ElemType, negate: bool) -> TensorData {
    if to == dtype && !negate { pairs(dtype) } else { edges(dtype) }
}

fn columns_of(dtype: ElemType, bits: &[u64]) -> TensorData {
    let first = bits.iter().flat_map(|&a| std::iter::repeat_n(a, bits.len()));
    let second = bits.iter().flat_map(|_| bits.iter().copied());
    let all: Vec<u64> = first.chain(second).collect();
    let columns = (bits.len() * bits.len()) as u64;
    TensorData::from_bits(TensorType::new([2, columns], dtype), &all).expect("as many as there are")
}

/// Settings of 8-bit floats, where they matter.
fn settings(dtypes: &[ElemType]) -> Vec<Fp8Options> {
    let fp8 = dtypes.iter().any(|dtype| dtype.is_float() && dtype.width() == 8);
    let mut all = vec![Fp8Options::default()];
    if fp8 {
        all.push(Fp8Options { ocp: true, saturate: false });
        all.push(Fp8Options { ocp: false, saturate: true });
    }
    all
}

fn is_nan(bits: u64, dtype: ElemType, fp8: Fp8Options) -> bool {
    dtype.is_float() && partita_ir::eval::convert::decode_f32(bits, dtype, fp8).is_nan()
}

/// Evaluates both sides of a rule on the inputs.
fn prove(rule: &Rule, func: &Func, inputs: &[TensorData]) -> Result<(), Refusal> {
    let target = Target::new(Generation::Mariana);
    let other = match rule.other_side(func, &target) {
        Err(Refusal::Fault(text)) => panic!("{}: {text}\n{func}", rule.name),
        other => other?,
    };
    let dtypes: Vec<ElemType> = func.values.iter().map(|(_, value)| value.ty.dtype()).collect();
    for fp8 in settings(&dtypes) {
        let options = EvalOptions { fp8, ..EvalOptions::default() };
        let want = eval_func(func, inputs, &options).expect("the left side evaluates");
        let got = eval_func(&other, inputs, &options)
            .unwrap_or_else(|error| panic!("{}: {error}\n{other}", rule.name));
        let (want, got) = (&want[0], &got[0]);
        assert_eq!(want.ty(), got.ty());
        let dtype = want.dtype();
        for (at, (want, got)) in want.iter_bits().zip(got.iter_bits()).enumerate() {
            let equal = want == got || is_nan(want, dtype, fp8) && is_nan(got, dtype, fp8);
            assert!(
                equal,
                "{} {fp8:?} at {at}: {got:#x}, not {want:#x}\n{func}\n{other}",
                rule.name
            );
        }
    }
    Ok(())
}

fn reduce(
    op: ReduceOp,
    ty: &TensorType,
    dims: &[usize],
    keep: bool,
    negate: bool,
    to: ElemType,
) -> Option<Func> {
    let mut b = FuncBuilder::new("reduce");
    let x = b.arg("x", ty.clone());
    let reduce = TensorOp::Reduce { op, dims: Dims::from_slice(dims), keep, negate };
    let y = b.op(reduce, &[x.into()], &TensorType::scalar(to)).ok()?;
    Some(b.finish(&[y]))
}

fn results_of(dtype: ElemType) -> BTreeSet<ElemType> {
    [dtype, ElemType::F32, ElemType::Bf16, ElemType::I32, ElemType::F8E4M3].into_iter().collect()
}

/// Numbers whose fold is exact in any order: dyadic ones, for products powers of two.
fn exact_data(op: ReduceOp, ty: &TensorType, rng: &mut Rng) -> TensorData {
    if op != ReduceOp::Mult || ty.dtype.is_int() {
        return dyadic_tensor(ty, rng).expect("it is small");
    }
    let count = ty.elements().expect("it is small");
    let factors: Vec<f32> =
        (0..count).map(|_| [1.0, -1.0, 2.0, 0.5][(rng.next_u64() >> 62) as usize]).collect();
    TensorData::from_f32(ty.clone(), &factors).expect("as many as there are")
}

/// Sums of such numbers of rows, and columns, stand around every limit.
const SHAPES: &[[u64; 2]] =
    &[[2, 33], [31, 32], [33, 31], [64, 2], [128, 65], [129, 40], [300, 64]];

#[test]
fn reductions_over_leading_dimensions() {
    let names = [
        "transpose-reduce-sum",
        "transpose-reduce",
        "transpose-reduce-bits",
        "cross-lane-sum",
        "cross-lane",
        "cross-lane-bits",
        "cross-lane-minimum",
    ];
    for name in names {
        let rule = rule(name);
        let (mut exhaustive, mut sized) = (0, 0);
        let mut rng = Rng::new(7);
        for &dtype in DTYPES {
            for to in results_of(dtype) {
                for negate in [false, true] {
                    let pairs = inputs_for(dtype, to, negate);
                    for &op in ReduceOp::ALL {
                        let Some(func) = reduce(op, pairs.ty(), &[0], false, negate, to) else {
                            continue;
                        };
                        if prove(rule, &func, std::slice::from_ref(&pairs)).is_err() {
                            continue;
                        }
                        exhaustive += 1;
                        for shape in SHAPES {
                            let ty = TensorType::new(*shape, dtype);
                            let Some(func) = reduce(op, &ty, &[0], true, negate, to) else {
                                continue;
                            };
                            let data = exact_data(op, &ty, &mut rng);
                            sized += usize::from(prove(rule, &func, &[data]).is_ok());
                        }
                    }
                }
            }
        }
        assert!(exhaustive > 0 && sized > 0, "{name} was never proved");
    }
}

#[test]
fn several_leading_dimensions_are_one() {
    let mut rng = Rng::new(3);
    for shape in [[2, 3, 40], [5, 40, 33]] {
        let ty = TensorType::new(shape, ElemType::F32);
        for dims in [vec![0], vec![0, 1], vec![1, 0]] {
            let func = reduce(ReduceOp::Add, &ty, &dims, false, false, ElemType::F32)
                .expect("it is well formed");
            let data = dyadic_tensor(&ty, &mut rng).expect("it is small");
            for name in ["transpose-reduce-sum", "cross-lane-sum"] {
                assert_eq!(prove(rule(name), &func, std::slice::from_ref(&data)), Ok(()), "{name}");
            }
        }
    }
}

#[test]
fn what_the_machine_does_not_do_exactly_is_refused() {
    let refusal = |name: &str, op, dtype, to| {
        let func = reduce(op, &TensorType::new([64, 64], dtype), &[0], false, false, to)
            .expect("it is well formed");
        match rule(name).other_side(&func, &Target::default()) {
            Err(Refusal::Forbidden { reason, .. }) => reason,
            other => panic!("{other:?}"),
        }
    };
    // 9.6: through fp32.
    assert!(
        refusal("transpose-reduce", ReduceOp::Add, ElemType::I32, ElemType::I32).contains("fp32")
    );
    // The dialect wraps, the machine saturates.
    assert!(
        refusal("transpose-reduce", ReduceOp::Add, ElemType::I8, ElemType::I8).contains("range")
    );
    // CR-8.
    assert!(
        refusal("cross-lane", ReduceOp::Min, ElemType::F32, ElemType::F32)
            .contains("no cross-lane `min`")
    );
}

#[test]
fn partition_reductions_are_reductions() {
    for name in ["partition-sum-as-reduce", "partition-reduce-as-reduce"] {
        let mut proved = 0;
        for &dtype in DTYPES {
            for to in results_of(dtype) {
                let pairs = inputs_for(dtype, to, false);
                for &op in CrossLaneOp::ALL {
                    let mut b = FuncBuilder::new("partitions");
                    let x = b.arg("x", pairs.ty().clone());
                    let scale = (op == CrossLaneOp::Average).then_some(0.5);
                    let reduce =
                        TensorOp::PartitionReduce { op, axis: CrossLaneAxis::Partitions, scale };
                    let Ok(y) = b.op(reduce, &[x.into()], &TensorType::scalar(to)) else {
                        continue;
                    };
                    let func = b.finish(&[y]);
                    proved +=
                        usize::from(prove(rule(name), &func, std::slice::from_ref(&pairs)).is_ok());
                }
            }
        }
        assert!(proved > 0, "{name}");
    }
}

#[test]
fn reductions_of_transposes() {
    for name in ["sum-of-transpose", "reduce-of-transpose"] {
        let mut proved = 0;
        for &dtype in DTYPES {
            for keep in [false, true] {
                let pairs = inputs_for(dtype, dtype, keep);
                for &op in ReduceOp::ALL {
                    let mut b = FuncBuilder::new("transposed");
                    let x = b.arg("x", pairs.ty().clone());
                    let t = b.transpose(x, [1, 0]).expect("two dimensions");
                    let Ok(y) = b.reduce(op, t, [1], keep) else { continue };
                    let func = b.finish(&[y]);
                    proved +=
                        usize::from(prove(rule(name), &func, std::slice::from_ref(&pairs)).is_ok());
                }
            }
        }
        let mut rng = Rng::new(5);
        let ty = TensorType::new([3, 4, 5], ElemType::F32);
        for perm in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            for dims in
                [vec![0], vec![1], vec![2], vec![0, 1], vec![0, 2], vec![2, 1], vec![0, 1, 2]]
            {
                for op in [ReduceOp::Add, ReduceOp::Max] {
                    for keep in [false, true] {
                        let mut b = FuncBuilder::new("transposed");
                        let x = b.arg("x", ty.clone());
                        let t = b.transpose(x, perm).expect("three dimensions");
                        let y = b.reduce(op, t, dims.clone(), keep).expect("they exist");
                        let func = b.finish(&[y]);
                        let data = dyadic_tensor(&ty, &mut rng).expect("it is small");
                        proved += usize::from(prove(rule(name), &func, &[data]).is_ok());
                    }
                }
            }
        }
        assert!(proved > 40, "{name}: {proved}");
    }
}

#[test]
fn transposes_merge_and_vanish() {
    let mut rng = Rng::new(11);
    let perms = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let mut proved = [0, 0];
    for shape in [[2, 3, 4], [1, 3, 4], [2, 1, 1], [0, 3, 1]] {
        let ty = TensorType::new(shape, ElemType::Ui16);
        let data = dyadic_tensor(&ty, &mut rng).expect("it is small");
        for first in perms {
            let mut b = FuncBuilder::new("once");
            let x = b.arg("x", ty.clone());
            let t = b.transpose(x, first).expect("three dimensions");
            let func = b.finish(&[t]);
            proved[0] += usize::from(
                prove(rule("transpose-of-units"), &func, std::slice::from_ref(&data)).is_ok(),
            );
            for second in perms {
                let mut b = FuncBuilder::new("twice");
                let x = b.arg("x", ty.clone());
                let t = b
                    .transpose(x, first)
                    .and_then(|t| b.transpose(t, second))
                    .expect("three dimensions");
                let func = b.finish(&[t]);
                let result =
                    prove(rule("transpose-of-transpose"), &func, std::slice::from_ref(&data));
                assert_eq!(result, Ok(()));
                proved[1] += 1;
            }
        }
    }
    assert!(proved[0] > 6 && proved[1] == 144, "{proved:?}");
}

#[test]
fn operations_go_before_broadcasts() {
    let mut proved = [0, 0];
    for &dtype in DTYPES {
        let bits: Vec<u64> = specials(dtype).into_iter().take(64).collect();
        let ty = TensorType::new([bits.len() as u64], dtype);
        let data = TensorData::from_bits(ty.clone(), &bits).expect("a row");
        let shape = [3, bits.len() as u64, 2];
        for &to in &results_of(dtype) {
            let mut b = FuncBuilder::new("broadcast");
            let x = b.arg("x", ty.clone());
            let wide = b.broadcast(x, [1], shape).expect("a new dimension");
            let y = b.cast(wide, to).expect("any type");
            let func = b.finish(&[y]);
            let data = std::slice::from_ref(&data);
            proved[0] += usize::from(prove(rule("cast-before-broadcast"), &func, data).is_ok());
            for &op in ElementwiseOp::ALL {
                for swap in [false, true] {
                    let mut b = FuncBuilder::new("broadcast");
                    let x = b.arg("x", ty.clone());
                    let wide = b.broadcast(x, [1], shape).expect("a new dimension");
                    let mut operands = vec![wide.into()];
                    operands.extend(
                        (1..op.arity()).map(|_| partita_ir::Operand::from(Literal::Int(1))),
                    );
                    if swap {
                        operands.reverse();
                    }
                    let Ok(y) = b.elementwise_to(op, &operands, to) else { continue };
                    let func = b.finish(&[y]);
                    proved[1] +=
                        usize::from(prove(rule("operation-before-broadcast"), &func, data).is_ok());
                }
            }
        }
    }
    assert!(proved[0] > 20 && proved[1] > 500, "{proved:?}");
}

#[test]
fn casts_go_into_what_computes_in_fp32() {
    let floats = DTYPES.iter().copied().filter(|dtype| dtype.is_float());
    let mut proved = 0;
    for dtype in floats {
        let pairs = edges(dtype);
        let columns = pairs.shape()[1];
        let row = TensorType::new([columns], dtype);
        let half = pairs.bytes().len() / 2;
        let all: Vec<u64> = if dtype.width() == 8 { (0..256).collect() } else { specials(dtype) };
        let every =
            TensorData::from_bits(TensorType::new([all.len() as u64], dtype), &all).expect("a row");
        let operands = [&pairs.bytes()[..half], &pairs.bytes()[half..]]
            .map(|bytes| TensorData::new(row.clone(), bytes.to_vec()).expect("a row"));
        for &op in ElementwiseOp::ALL {
            for &to in DTYPES {
                let mut b = FuncBuilder::new("cast");
                let row = if op.arity() == 1 { every.ty() } else { &row };
                let args: Vec<_> =
                    (0..op.arity().min(2)).map(|_| b.arg("x", row.clone()).into()).collect();
                let Ok(y) = b.elementwise_to(op, &args, ElemType::F32) else { continue };
                let y = b.cast(y, to).expect("any type");
                let func = b.finish(&[y]);
                let inputs = if op.arity() == 1 {
                    std::slice::from_ref(&every)
                } else {
                    &operands[..args.len()]
                };
                proved += usize::from(prove(rule("cast-into-elementwise"), &func, inputs).is_ok());
            }
        }
        for &op in ReduceOp::ALL {
            for &to in DTYPES {
                let mut b = FuncBuilder::new("cast");
                let x = b.arg("x", pairs.ty().clone());
                let reduce = TensorOp::Reduce {
                    op,
                    dims: Dims::from_slice(&[0]),
                    keep: false,
                    negate: false,
                };
                let Ok(y) = b.op(reduce, &[x.into()], &TensorType::scalar(ElemType::F32)) else {
                    continue;
                };
                let y = b.cast(y, to).expect("any type");
                let func = b.finish(&[y]);
                proved += usize::from(
                    prove(rule("cast-into-reduce"), &func, std::slice::from_ref(&pairs)).is_ok(),
                );
            }
        }
    }
    assert!(proved > 1000, "{proved}");
}

#[test]
fn negations_go_into_reductions() {
    let mut proved = 0;
    for &dtype in DTYPES {
        for to in results_of(dtype) {
            let pairs = inputs_for(dtype, to, false);
            for &op in ReduceOp::ALL {
                let mut b = FuncBuilder::new("negated");
                let x = b.arg("x", pairs.ty().clone());
                let reduce = TensorOp::Reduce {
                    op,
                    dims: Dims::from_slice(&[0]),
                    keep: true,
                    negate: false,
                };
                let Ok(y) = b.op(reduce, &[x.into()], &TensorType::scalar(ElemType::F32)) else {
                    continue;
                };
                let minus_one = Literal::Float(-1.0).into();
                let Ok(y) = b.elementwise_to(ElementwiseOp::Mult, &[y.into(), minus_one], to)
                else {
                    continue;
                };
                let func = b.finish(&[y]);
                proved += usize::from(
                    prove(rule("negation-into-reduce"), &func, std::slice::from_ref(&pairs))
                        .is_ok(),
                );
            }
        }
    }
    assert!(proved > 20, "{proved}");
}

/// Every rule is proved by a test here.
#[test]
fn every_rule_is_named_here() {
    let here = [
        include_str!("main.rs"),
        include_str!("words.rs"),
        include_str!("transposes.rs"),
        include_str!("reductions.rs"),
    ]
    .concat();
    for rule in rules::all() {
        assert!(here.contains(&format!("\"{}\"", rule.name)), "`{}` is not proved", rule.name);
    }
}
