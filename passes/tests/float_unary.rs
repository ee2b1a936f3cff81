//! Proofs of the expansions of float operations with one operand.

mod float_support;

use float_support::{Column, TARGETS, allowed, edges, func_of, promised, sweep, worst};
use partita_ir::ElemType;
use partita_ir::ops::{ElementwiseOp, TensorOp};

use ElementwiseOp::*;
use partita_passes::rewrite::Fuel;

/// Every operation of one float operand.
const OPS: [ElementwiseOp; 22] = [
    Exp,
    ExpM1,
    Sigmoid,
    Tanh,
    Erf,
    Log,
    Log1p,
    Sqrt,
    Sin,
    Cos,
    Floor,
    Ceil,
    Trunc,
    RoundEven,
    RoundAway,
    Sign,
    IsFinite,
    ReLu,
    Square,
    AbsoluteValue,
    Reciprocal,
    Rsqrt,
];

fn of(op: ElementwiseOp, dtype: ElemType, bits: Vec<u64>, out: ElemType, target: &str) -> u64 {
    let bits = bits.into_iter().filter(|&bits| promised(op, bits, dtype)).collect();
    let (func, inputs) = func_of(TensorOp::Elementwise(op), &[Column::Bits(dtype, bits)], out);
    worst(&func, &inputs, target)
}

#[test]
fn every_16_bit_number() {
    for op in OPS {
        for dtype in [ElemType::Bf16, ElemType::F16] {
            for target in ["sunda", "mariana_plus"] {
                let found = of(op, dtype, (0..1 << 16).collect(), op.natural_dtype(dtype), target);
                // One rounding of a close fp32 result may fall on the other side.
                assert!(found <= allowed(op).min(1), "{op} {dtype} {target}: {found}");
            }
        }
    }
}

#[test]
fn every_8_bit_number() {
    let targets = ["sunda", "cayman", "mariana_plus+fp8_ocp", "maverick+fp8_ocp+fp8_saturate"];
    for op in OPS {
        for dtype in [ElemType::F8E3M4, ElemType::F8E4M3, ElemType::F8E5M2] {
            for target in targets {
                let found = of(op, dtype, (0..256).collect(), op.natural_dtype(dtype), target);
                assert_eq!(found, 0, "{op} {dtype} {target}");
                let found = of(op, dtype, (0..256).collect(), ElemType::F32, target);
                assert!(found <= allowed(op), "{op} {dtype} {target}: {found}");
            }
        }
    }
}

#[test]
fn fp32_within_the_stated_units() {
    for op in OPS {
        for target in TARGETS {
            let found =
                of(op, ElemType::F32, sweep(40_009), op.natural_dtype(ElemType::F32), target);
            assert!(found <= allowed(op), "{op} {target}: {found}");
        }
    }
}

#[test]
fn the_sweep_meets_the_largest_errors() {
    // Figures that the table of accuracies was made from: a sweep that found less would prove
    // less than it says.
    for (op, largest) in [(Exp, 1), (ExpM1, 2), (Sigmoid, 2), (Log, 1), (Sin, 1)] {
        let found = of(op, ElemType::F32, sweep(40_009), ElemType::F32, "cayman");
        assert!(found >= largest, "{op}: {found}");
    }
}

#[test]
fn arguments_near_the_ends_of_the_exponential() {
    // Where e^x overflows, where it becomes subnormal, and where it vanishes.
    for end in [88.72f32, -87.33, -103.9] {
        let first = u64::from(end.to_bits());
        let bits: Vec<u64> = (first..first + 20_000).collect();
        for op in [Exp, ExpM1, Sigmoid, Tanh] {
            let found = of(op, ElemType::F32, bits.clone(), ElemType::F32, "cayman");
            assert!(found <= allowed(op), "{op} at {end}: {found}");
        }
    }
}

#[test]
fn numbers_near_multiples_of_half_pi() {
    let multiples = (1..32_768u32).step_by(7).flat_map(|k| {
        let nearest = u64::from(((f64::from(k) * std::f64::consts::FRAC_PI_2) as f32).to_bits());
        nearest - 2..=nearest + 2
    });
    let bits: Vec<u64> = multiples.collect();
    for op in [Sin, Cos] {
        let found = of(op, ElemType::F32, bits.clone(), ElemType::F32, "cayman");
        assert!(found <= allowed(op), "{op}: {found}");
    }
}

#[test]
fn far_out_sines_stay_bounded() {
    for op in [Sin, Cos] {
        let (func, inputs) = func_of(
            TensorOp::Elementwise(op),
            &[Column::Bits(ElemType::F32, sweep(1_000_003))],
            ElemType::F32,
        );
        let (after, _) = partita_passes::expand::legalize(
            &func,
            &float_support::target("cayman"),
            &mut Fuel::default(),
        )
        .expect("core");
        let got = partita_ir::eval::eval_func(&after, &inputs, &Default::default()).expect("runs");
        for (x, y) in inputs[0].to_f32().into_iter().zip(got[0].to_f32()) {
            assert_eq!(x.is_finite(), y.is_finite(), "{op} {x:e}: {y:e}");
            assert!(y.abs() <= 1.0 || y.is_nan(), "{op} {x:e}: {y:e}");
        }
    }
}

#[test]
fn results_of_other_types() {
    use ElemType::*;
    let exact = [Floor, Ceil, Trunc, RoundEven, RoundAway, Sign, IsFinite, ReLu, Square];
    for op in exact {
        for out in [I1, I8, Ui8, I16, Ui16, I32, Ui32, F16, Bf16, F8E4M3, F32r] {
            for target in ["sunda", "mariana_plus"] {
                assert_eq!(of(op, F32, edges(), out, target), 0, "{op} {out} {target}");
                assert_eq!(
                    of(op, Bf16, (0..1 << 16).step_by(7).collect(), out, target),
                    0,
                    "{op} {out} {target}"
                );
            }
        }
        for out in [I64, Ui64] {
            assert_eq!(of(op, F32, edges(), out, "cayman"), 0, "{op} {out}");
        }
    }
    for op in [Exp, Log, Tanh, Sqrt, Sigmoid] {
        for out in [F16, Bf16, F8E3M4, F8E5M2] {
            let found = of(op, F32, edges(), out, "cayman");
            assert!(found <= 1, "{op} {out}: {found}");
        }
    }
}
