//! Canonicalization: every identity fires somewhere and keeps every bit.

use partita_ir::eval::random::{Rng, random_tensor};
use partita_ir::eval::{EvalOptions, Fp8Options, convert, eval_func};
use partita_ir::{
    ElemType, ElementwiseOp, Func, FuncBuilder, Literal, Source, TensorData, TensorType,
};
use partita_passes::canonicalize::{FOLD_LIMIT, Stats, canonicalize, identities};
use partita_passes::rewrite::Fuel;

fn read(text: &str) -> Func {
    let module = partita_ir::text::load(&Source::new("test.pta", text))
        .unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    module.funcs.into_iter().next().expect("it has a function")
}

/// Every bit of the results, any NaN for any NaN, on these inputs.
fn same(before: &Func, after: &Func, inputs: &[TensorData]) {
    for fp8 in [
        Fp8Options::default(),
        Fp8Options { ocp: true, saturate: false },
        Fp8Options { ocp: false, saturate: true },
    ] {
        let options = EvalOptions { fp8, ..EvalOptions::default() };
        let want = eval_func(before, inputs, &options).expect("the input evaluates");
        let got = eval_func(after, inputs, &options).expect("the output evaluates");
        for (want, got) in want.iter().zip(&got) {
            assert_eq!(want.ty(), got.ty());
            let dtype = want.dtype();
            let nan = |bits| dtype.is_float() && convert::decode_f32(bits, dtype, fp8).is_nan();
            for (at, (w, g)) in want.iter_bits().zip(got.iter_bits()).enumerate() {
                assert!(
                    w == g || nan(w) && nan(g),
                    "{fp8:?} at {at}: {g:#x}, not {w:#x}\n{before}\n{after}"
                );
            }
        }
    }
}

fn checked(func: &Func) -> (Func, Stats) {
    let (after, stats) = canonicalize(func, &mut Fuel::default());
    partita_ir::verify::verify(&partita_ir::Module { target: None, funcs: vec![after.clone()] })
        .unwrap_or_else(|errors| panic!("{errors:?}\n{after}"));
    assert_eq!(func.result_types, after.result_types);
    let names = |func: &Func| {
        func.args.iter().map(|&arg| func.values[arg].name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(func), names(&after));
    (after, stats)
}

/// What each identity is for: the program before and the body after.
const SAMPLES: &[(&str, &str, &str)] = &[
    (
        "copy",
        "(%x: tensor<4xf32>) -> tensor<4xf32> { %y = tensor.elementwise copy(%x) : tensor<4xf32> return %y : tensor<4xf32> }",
        "return %x",
    ),
    (
        "neutral-operand",
        "(%x: tensor<4xf32>) -> tensor<4xf32> { %y = tensor.elementwise mult(%x, 1.0) : tensor<4xf32> return %y : tensor<4xf32> }",
        "return %x",
    ),
    (
        "same-operands",
        "(%x: tensor<4xf32>) -> tensor<4xf32> { %y = tensor.elementwise max(%x, %x) : tensor<4xf32> return %y : tensor<4xf32> }",
        "return %x",
    ),
    (
        "double-not",
        "(%x: tensor<4xi32>) -> tensor<4xi32> { %n = tensor.elementwise bitwise_not(%x) : tensor<4xi32> %y = tensor.elementwise bitwise_not(%n) : tensor<4xi32> return %y : tensor<4xi32> }",
        "return %x",
    ),
    (
        "known-select",
        "(%x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> { %y = tensor.elementwise select(false, %x, %z) : tensor<4xf32> return %y : tensor<4xf32> }",
        "return %z",
    ),
    (
        "cast-to-own-type",
        "(%x: tensor<4xf16>) -> tensor<4xf16> { %y = tensor.cast %x : tensor<4xf16> return %y : tensor<4xf16> }",
        "return %x",
    ),
    (
        "wrap-to-own-type",
        "(%x: tensor<4xi16>) -> tensor<4xi16> { %y = tensor.wrap %x : tensor<4xi16> return %y : tensor<4xi16> }",
        "return %x",
    ),
    (
        "bitcast-to-own-type",
        "(%x: tensor<4xi16>) -> tensor<4xi16> { %y = tensor.bitcast %x : tensor<4xi16> return %y : tensor<4xi16> }",
        "return %x",
    ),
    (
        "cast-of-widening",
        "(%x: tensor<64xf16>) -> tensor<64xbf16> { %w = tensor.cast %x : tensor<64xf32> %y = tensor.cast %w : tensor<64xbf16> return %y : tensor<64xbf16> }",
        "tensor.cast %x : tensor<64xbf16>",
    ),
    (
        "reduce-nothing",
        "(%x: tensor<4x1xf32>) -> tensor<4xf32> { %y = tensor.reduce max(%x) dims [1] : tensor<4xf32> return %y : tensor<4xf32> }",
        "tensor.reshape %x",
    ),
    (
        "scalar-operand",
        "(%x: tensor<4xf32>) -> tensor<4xf32> { %c = tensor.constant dense<2.5> : tensor<4xf32> %y = tensor.elementwise subtract(%c, %x) : tensor<4xf32> return %y : tensor<4xf32> }",
        "subtract(2.5, %x)",
    ),
    (
        "scalar-padding",
        "(%x: tensor<4xf32>) -> tensor<6xf32> { %c = tensor.constant dense<-1.0> : tensor<f32> %y = tensor.pad %x, %c low [1] high [1] interior [0] : tensor<6xf32> return %y : tensor<6xf32> }",
        "tensor.pad %x, -1.0",
    ),
    (
        "scalar-of-scan",
        "(%x: tensor<2x4xf32>) -> tensor<2x4xf32> { %c = tensor.constant dense<3.0> : tensor<2x1xf32> %y = tensor.scan_cache mult, add (%x, %c) seed zero emit all : tensor<2x4xf32> return %y : tensor<2x4xf32> }",
        "(%x, 3.0)",
    ),
    (
        "broadcast-operand",
        "(%x: tensor<4x3xf32>, %b: tensor<4xf32>) -> tensor<4x3xf32> { %w = tensor.broadcast %b dims [0] : tensor<4x3xf32> %y = tensor.elementwise add(%x, %w) : tensor<4x3xf32> return %y : tensor<4x3xf32> }",
        "tensor.reshape %b : tensor<4x1xf32>",
    ),
    (
        "transpose-of-transpose",
        "(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> { %t = tensor.transpose %x perm [1, 2, 0] : tensor<3x4x2xf32> %y = tensor.transpose %t perm [1, 2, 0] : tensor<4x2x3xf32> return %y : tensor<4x2x3xf32> }",
        "tensor.transpose %x perm [2, 0, 1]",
    ),
    (
        "transpose-of-units",
        "(%x: tensor<1x3xf32>) -> tensor<3x1xf32> { %y = tensor.transpose %x perm [1, 0] : tensor<3x1xf32> return %y : tensor<3x1xf32> }",
        "tensor.reshape %x",
    ),
    (
        "reshape-of-reshape",
        "(%x: tensor<12xf32>) -> tensor<4x3xf32> { %r = tensor.reshape %x : tensor<2x6xf32> %y = tensor.reshape %r : tensor<4x3xf32> return %y : tensor<4x3xf32> }",
        "tensor.reshape %x : tensor<4x3xf32>",
    ),
    (
        "broadcast-of-broadcast",
        "(%x: tensor<3xf32>) -> tensor<2x4x3xf32> { %b = tensor.broadcast %x dims [1] : tensor<4x3xf32> %y = tensor.broadcast %b dims [1, 2] : tensor<2x4x3xf32> return %y : tensor<2x4x3xf32> }",
        "tensor.broadcast %x dims [2]",
    ),
    (
        "broadcast-of-units",
        "(%x: tensor<3xf32>) -> tensor<1x3xf32> { %y = tensor.broadcast %x dims [1] : tensor<1x3xf32> return %y : tensor<1x3xf32> }",
        "tensor.reshape %x",
    ),
    (
        "slice-of-whole",
        "(%x: tensor<3xf32>) -> tensor<3xf32> { %y = tensor.slice %x [0:3] : tensor<3xf32> return %y : tensor<3xf32> }",
        "return %x",
    ),
    (
        "slice-of-slice",
        "(%x: tensor<20xf32>) -> tensor<3xf32> { %s = tensor.slice %x [3:19:2] : tensor<8xf32> %y = tensor.slice %s [1:7:2] : tensor<3xf32> return %y : tensor<3xf32> }",
        "[5:14:4]",
    ),
    (
        "reverse-of-units",
        "(%x: tensor<1x3xf32>) -> tensor<1x3xf32> { %y = tensor.reverse %x dims [0] : tensor<1x3xf32> return %y : tensor<1x3xf32> }",
        "return %x",
    ),
    (
        "reverse-of-reverse",
        "(%x: tensor<2x3xf32>) -> tensor<2x3xf32> { %r = tensor.reverse %x dims [0, 1] : tensor<2x3xf32> %y = tensor.reverse %r dims [1] : tensor<2x3xf32> return %y : tensor<2x3xf32> }",
        "tensor.reverse %x dims [0]",
    ),
    (
        "concat-of-one",
        "(%x: tensor<3xf32>) -> tensor<3xf32> { %y = tensor.concat %x dim 0 : tensor<3xf32> return %y : tensor<3xf32> }",
        "return %x",
    ),
    (
        "pad-of-nothing",
        "(%x: tensor<3xf32>) -> tensor<3xf32> { %y = tensor.pad %x, 0.0 low [0] high [0] interior [0] : tensor<3xf32> return %y : tensor<3xf32> }",
        "return %x",
    ),
];

fn sample(body: &str) -> Func {
    read(&format!(
        "func @f{}",
        body.replace(" { ", " {\n")
            .replace(" %", "\n%")
            .replace("\n%x:", " %x:")
            .replace(" return", "\nreturn")
            .replace(" }", "\n}")
    ))
}

#[test]
fn every_identity_has_a_sample() {
    for identity in identities::all() {
        assert!(
            SAMPLES.iter().any(|(name, ..)| *name == identity.name),
            "`{}` has no sample",
            identity.name
        );
    }
}

#[test]
fn samples_become_what_they_should() {
    let mut rng = Rng::new(1);
    for (name, body, wanted) in SAMPLES {
        let func = sample(body);
        let (after, stats) = checked(&func);
        assert!(stats.rows().any(|(row, _)| row == *name), "{name} did not fire: {after}");
        assert!(after.to_string().contains(wanted), "{name}: {after}");
        let inputs: Vec<TensorData> = func
            .args
            .iter()
            .map(|&arg| {
                random_tensor(func.tensor_ty(arg).expect("tensors"), None, &mut rng).expect("small")
            })
            .collect();
        same(&func, &after, &inputs);
        // A second run finds nothing.
        let (again, stats) = checked(&after);
        assert_eq!(again.to_string(), after.to_string());
        assert!(stats.is_unchanged(), "{name}: {:?}", stats.rows().collect::<Vec<_>>());
    }
}

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
    ElemType::I64,
    ElemType::Ui64,
    ElemType::F32,
];

/// All 8- and 16-bit patterns; of wider types the ends of the range, of the binades
/// and some at random.
fn patterns(dtype: ElemType) -> Vec<u64> {
    let width = dtype.width();
    if width <= 16 {
        return (0..1 << width).collect();
    }
    let mask = u64::MAX >> (64 - width);
    let mut bits: Vec<u64> = (0..width).flat_map(|bit| [1 << bit, (1 << bit) - 1]).collect();
    bits.extend([
        mask,
        mask - 1,
        0x7F80_0000,
        0xFF80_0000,
        0x7FC0_0000,
        0x7F80_0001,
        0x8000_0000,
        0x3F80_0000,
    ]);
    let mut rng = Rng::new(9);
    bits.extend((0..1000).map(|_| rng.next_u64()));
    bits.iter().map(|bits| bits & mask).collect()
}

/// Every operation with every telling literal on either side, on everything: where
/// an identity fires, the result keeps its bits, and where it must, it fires.
#[test]
fn neutral_operands_are_neutral() {
    let mut fired = 0;
    for &dtype in DTYPES {
        let bits = patterns(dtype);
        let data = TensorData::from_bits(TensorType::new([bits.len() as u64], dtype), &bits)
            .expect("a row");
        let mask = u64::MAX >> (64 - dtype.width());
        let top = 1u64 << (dtype.width() - 1);
        let mut literals = vec![0, 1, top, mask, top - 1];
        if dtype.is_float() {
            let one = convert::encode_f32(1.0, dtype, Fp8Options::default());
            let inf = convert::encode_f32(f32::INFINITY, dtype, Fp8Options::default());
            literals.extend([one, one | top, inf, inf | top]);
        }
        for &op in ElementwiseOp::ALL.iter().filter(|op| op.arity() == 2) {
            for &literal in &literals {
                for literal_first in [false, true] {
                    let mut b = FuncBuilder::new("neutral");
                    let x = b.arg("x", data.ty().clone());
                    let literal = Literal::from_bits(literal & mask, dtype);
                    let operands = if literal_first {
                        [literal.into(), x.into()]
                    } else {
                        [x.into(), literal.into()]
                    };
                    let Ok(y) = b.elementwise_to(op, &operands, dtype) else { continue };
                    let func = b.finish(&[y]);
                    let (after, _) = checked(&func);
                    if after.body.len() < func.body.len() {
                        fired += 1;
                        same(&func, &after, std::slice::from_ref(&data));
                    }
                }
            }
        }
    }
    assert!(fired > 150, "{fired}");
}

#[test]
fn plus_zero_is_not_neutral() {
    let func = sample(
        "(%x: tensor<4xf32>) -> tensor<4xf32> { %y = tensor.elementwise add(%x, 0.0) : tensor<4xf32> return %y : tensor<4xf32> }",
    );
    assert!(checked(&func).1.is_unchanged());
}

#[test]
fn operations_on_one_value_keep_their_bits() {
    let mut fired = 0;
    for &dtype in DTYPES {
        let bits = patterns(dtype);
        let data = TensorData::from_bits(TensorType::new([bits.len() as u64], dtype), &bits)
            .expect("a row");
        for &op in ElementwiseOp::ALL {
            let mut b = FuncBuilder::new("same");
            let x = b.arg("x", data.ty().clone());
            let Ok(y) = b.elementwise_to(op, &vec![x.into(); op.arity()], dtype) else { continue };
            let Ok(y) =
                (if op.arity() == 1 { b.elementwise_to(op, &[y.into()], dtype) } else { Ok(y) })
            else {
                continue;
            };
            let func = b.finish(&[y]);
            let (after, stats) = checked(&func);
            if !stats.is_unchanged() {
                fired += 1;
                same(&func, &after, std::slice::from_ref(&data));
            }
        }
    }
    assert!(fired > 50, "{fired}");
}

#[test]
fn casts_through_wider_types_lose_nothing() {
    let mut fired = 0;
    for &from in DTYPES {
        let bits = patterns(from);
        let data = TensorData::from_bits(TensorType::new([bits.len() as u64], from), &bits)
            .expect("a row");
        for &middle in DTYPES {
            for &to in DTYPES {
                let mut b = FuncBuilder::new("casts");
                let x = b.arg("x", data.ty().clone());
                let func = b
                    .cast(x, middle)
                    .and_then(|m| b.cast(m, to))
                    .map(|y| b.finish(&[y]))
                    .expect("any types");
                let (after, stats) = checked(&func);
                if !stats.is_unchanged() {
                    fired += 1;
                    same(&func, &after, std::slice::from_ref(&data));
                }
            }
        }
    }
    assert!(fired > 300, "{fired}");
}

#[test]
fn constants_fold_but_do_not_grow() {
    let text = "func @f() -> (tensor<3xf32>, tensor<2048xi32>, tensor<4096x4096xf32>) {
        %a = tensor.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
        %b = tensor.elementwise mult(%a, %a) : tensor<3xf32>
        %i = tensor.iota dim 0 : tensor<2048xi32>
        %j = tensor.elementwise add(%i, 1) : tensor<2048xi32>
        %s = tensor.constant dense<2.0> : tensor<f32>
        %w = tensor.broadcast %s dims [] : tensor<4096x4096xf32>
        return %b, %j, %w : tensor<3xf32>, tensor<2048xi32>, tensor<4096x4096xf32>
    }";
    let func = read(text);
    let (after, stats) = checked(&func);
    let text = after.to_string();
    assert!(text.contains("%b = tensor.constant dense<[1.0, 4.0, 9.0]>"), "{text}");
    assert!(text.contains("tensor.iota") && text.contains("tensor.broadcast"), "{text}");
    assert_eq!(stats.rows().find(|(name, _)| *name == "fold"), Some(("fold", 1)));
    let bytes = |func: &Func| {
        func.values
            .iter()
            .filter_map(|(id, _)| match func.ops[func.def_op(id)?].as_tensor()? {
                partita_ir::TensorOp::Constant(data) => Some(data.bytes().len() as u64),
                _ => None,
            })
            .max()
    };
    assert!(bytes(&after) <= Some(FOLD_LIMIT));
}

#[test]
fn equal_operations_merge_and_dead_ones_go() {
    let func = read(
        "func @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
        %a = tensor.elementwise exp(%x) : tensor<4xf32>
        %b = tensor.elementwise exp(%x) : tensor<4xf32>
        %dead = tensor.elementwise log(%x) : tensor<4xf32>
        %c = tensor.elementwise add(%a, %b) : tensor<4xf32>
        %d = tensor.elementwise add(%b, %a) : tensor<4xf32>
        return %c, %d : tensor<4xf32>, tensor<4xf32>
    }",
    );
    let (after, stats) = checked(&func);
    insta::assert_snapshot!(format!("{after}\n{:?}", stats.rows().collect::<Vec<_>>()));
}
