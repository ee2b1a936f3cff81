//! Both sides of a legalization on the same inputs, and how far they lie apart.
#![allow(dead_code, reason = "each test file uses a part")]

use partita_ir::eval::accuracy::accuracy;
use partita_ir::eval::compare::ulps_apart;
use partita_ir::eval::eval_func;
use partita_ir::ops::{ElementwiseOp, TensorOp};
use partita_ir::{ElemType, Func, Operand, TensorData, TensorType, float};
use partita_isa::Target;
use partita_passes::expand::prove::{Random, single, specials};
use partita_passes::expand::{eval_options, legalize};
use partita_passes::rewrite::Fuel;
use partita_passes::select::core_reason;

/// Every generation, from the one without the integer band to the one with most.
pub const TARGETS: [&str; 4] = ["sunda", "cayman", "mariana_plus", "maverick"];

pub const FLOATS: [ElemType; 6] = [
    ElemType::F32,
    ElemType::F16,
    ElemType::Bf16,
    ElemType::F8E3M4,
    ElemType::F8E4M3,
    ElemType::F8E5M2,
];

pub fn target(text: &str) -> Target {
    text.parse().expect("a target")
}

/// An operand: a column of bits, or a literal.
pub enum Column {
    Bits(ElemType, Vec<u64>),
    Literal(Operand),
}

/// An elementwise operation or conversion of columns of one length.
pub fn func_of(op: TensorOp, columns: &[Column], out: ElemType) -> (Func, Vec<TensorData>) {
    let mut inputs = Vec::new();
    let mut operands = Vec::new();
    for column in columns {
        operands.push(match column {
            Column::Bits(dtype, bits) => {
                let ty = TensorType::new([bits.len() as u64], *dtype);
                inputs.push(TensorData::from_bits(ty.clone(), bits).expect("data"));
                Ok(ty)
            }
            Column::Literal(literal) => Err(*literal),
        });
    }
    (single(op, &operands, &TensorType::scalar(out)).expect("a function"), inputs)
}

/// The largest distance, in units in the last place, between a function and what legalization
/// makes of it. NaN, infinities, the sign of a zero, and integers must agree.
pub fn worst(func: &Func, inputs: &[TensorData], target_name: &str) -> u64 {
    let target = target(target_name);
    let (after, applied) =
        legalize(func, &target, &mut Fuel::default()).unwrap_or_else(|refused| {
            panic!("{target_name}: {:?}", refused.iter().map(|d| &d.message).collect::<Vec<_>>())
        });
    for (_, op) in after.body_ops() {
        if let Err(reason) = core_reason(&after, op, &target) {
            panic!("{target_name}: `{}` is not core: {reason}", op.kind.name());
        }
    }
    let options = eval_options(&target);
    let want = eval_func(func, inputs, &options).expect("before").remove(0);
    let got = eval_func(&after, inputs, &options).expect("after").remove(0);
    assert_eq!(want.ty(), got.ty());
    let dtype = want.dtype();
    let mut worst = 0;
    for (index, (w, g)) in want.iter_bits().zip(got.iter_bits()).enumerate() {
        if w == g {
            continue;
        }
        let at = || {
            let inputs: Vec<_> = inputs.iter().filter_map(|input| input.bits(index)).collect();
            let by: Vec<_> = applied.iter().map(|applied| applied.expansion).collect();
            format!(
                "{target_name} {dtype} element {index}: want {w:#x}, got {g:#x}, inputs {inputs:#x?}, by {by:?}"
            )
        };
        assert!(dtype.is_float(), "{}", at());
        let (x, y) = (float::decode(w, dtype), float::decode(g, dtype));
        if x.is_nan() && y.is_nan() {
            continue;
        }
        assert!(x.is_finite() && y.is_finite() && x != y, "{}", at());
        worst = worst.max(ulps_apart(w, g, dtype));
    }
    worst
}

/// Units allowed in fp32, 0 when the operation is exact.
pub fn allowed(op: ElementwiseOp) -> u64 {
    accuracy(op).map_or(0, |row| row.ulps as u64)
}

/// True when the operation's accuracy is promised for the argument.
pub fn promised(op: ElementwiseOp, bits: u64, dtype: ElemType) -> bool {
    let x = float::decode(bits, dtype).abs();
    !x.is_finite() || accuracy(op).is_none_or(|row| x <= f64::from(row.within))
}

/// Numbers at which float sequences change their course, with neighbours on both sides.
pub fn edges() -> Vec<u64> {
    let thresholds = [
        1.0f32,
        2.0,
        0.5,
        0.625,
        0.921_875,
        4.0,
        88.722_84,
        87.336_54,
        103.972_08,
        44.361_42,
        std::f32::consts::FRAC_1_SQRT_2,
        std::f32::consts::SQRT_2,
        std::f32::consts::FRAC_PI_4,
        std::f32::consts::PI,
        51_400.0,
        4_194_304.0,
        8_388_608.0,
        16_777_216.0,
        2_147_483_648.0,
        4_294_967_296.0,
        9.223_372e18,
        1.844_674_4e19,
        f32::MIN_POSITIVE,
        f32::MAX,
        1e-30,
        1.5,
        2.5,
    ];
    let around = thresholds.iter().flat_map(|x| {
        let bits = u64::from(x.to_bits());
        bits.saturating_sub(40)..=(bits + 40).min(0x7F80_0001)
    });
    let small = 0..40;
    let mut edges: Vec<u64> = around.chain(small).chain(specials(ElemType::F32)).collect();
    edges.extend(edges.clone().iter().map(|bits| bits ^ 0x8000_0000));
    edges
}

/// fp32 numbers spread over all exponents, with [`edges`].
pub fn sweep(stride: usize) -> Vec<u64> {
    let mut values = edges();
    values.extend((0..1u64 << 32).step_by(stride));
    values
}

/// Pairs: edges with edges of a type, then random ones of which half have near exponents.
pub fn pairs(dtype: ElemType, random: usize) -> [Vec<u64>; 2] {
    let mut out = [Vec::new(), Vec::new()];
    let special = if dtype.width() == 8 { (0..256).collect() } else { specials(dtype) };
    for &a in &special {
        for &b in &special {
            out[0].push(a);
            out[1].push(b);
        }
    }
    let mut source = Random(3);
    let mask = u64::MAX >> (64 - dtype.width());
    let keep = mask >> 3;
    for index in 0..random {
        let (a, b) = (source.bits() & mask, source.bits() & mask);
        out[0].push(a);
        out[1].push(if index % 2 == 0 { b } else { (a & !keep) | (b & keep) });
    }
    out
}
