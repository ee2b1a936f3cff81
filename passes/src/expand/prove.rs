//! The proof of expansions: both sides of a legalization run through the reference
//! evaluator on the same inputs, exhaustive where that is possible.

use std::fmt;

use partita_ir::eval::eval_func;
use partita_ir::float;
use partita_ir::ops::TensorOp;
use partita_ir::{Diagnostic, ElemType, Func, FuncBuilder, Operand, TensorData, TensorType};
use partita_isa::Target;

use super::{Applied, eval_options, legalize};
use crate::rewrite::Fuel;
use crate::select::core_reason;

/// How closely two sides must agree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Agreement {
    /// The same bits, but that any NaN equals any other.
    Bits,
    /// Floats within so many units in the last place of the result's type.
    Ulp(u64),
    /// Floats within this absolute distance.
    Absolute(f32),
}

/// Why an expansion is not proved.
#[derive(Clone, Debug)]
pub enum Unproved {
    /// Nothing expresses the operation on the target.
    Refused(Vec<Diagnostic>),
    /// The result is ill-formed, or not core, or one side cannot be evaluated.
    Wrong(String),
    /// The sides differ.
    Differs {
        result: usize,
        element: usize,
        /// Bits of the reference and of the expansion.
        bits: [u64; 2],
        dtype: ElemType,
        /// The inputs' bits at the same element, where they have as many.
        inputs: Vec<u64>,
        /// The expansions used.
        by: Vec<&'static str>,
    },
}

impl fmt::Display for Unproved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(diagnostics) => {
                let messages: Vec<&str> = diagnostics.iter().map(|d| d.message.as_str()).collect();
                write!(f, "refused: {}", messages.join("; "))
            }
            Self::Wrong(what) => f.write_str(what),
            Self::Differs { result, element, bits: [want, got], dtype, inputs, by } => write!(
                f,
                "result {result}, element {element}: want {want:#x}, got {got:#x} ({dtype}), inputs {inputs:#x?}, by {by:?}"
            ),
        }
    }
}

/// A function of one operation, its values being the arguments `a0`, `a1`, ….
///
/// # Errors
/// The operands do not fit the operation.
pub fn single(
    op: TensorOp,
    operands: &[Result<TensorType, Operand>],
    result: &TensorType,
) -> Result<Func, String> {
    let mut b = FuncBuilder::new("case");
    let operands: Vec<Operand> = operands
        .iter()
        .enumerate()
        .map(|(index, operand)| match operand {
            Ok(ty) => b.arg(&format!("a{index}"), ty.clone()).into(),
            Err(literal) => *literal,
        })
        .collect();
    let value = b.named("y").op(op, &operands, result).map_err(|error| error.to_string())?;
    Ok(b.finish(&[value]))
}

/// Legalizes a function and compares it with the original.
///
/// # Errors
/// Whatever keeps the two from being equal.
pub fn prove(
    func: &Func,
    inputs: &[TensorData],
    target: &Target,
    agreement: Agreement,
) -> Result<Vec<Applied>, Box<Unproved>> {
    let (after, applied) =
        legalize(func, target, &mut Fuel::default()).map_err(|d| Box::new(Unproved::Refused(d)))?;
    let wrong = |what: String| Box::new(Unproved::Wrong(what));
    for (_, op) in after.body_ops() {
        core_reason(&after, op, target)
            .map_err(|reason| wrong(format!("`{}` is not core: {reason}", op.kind.name())))?;
    }
    let options = eval_options(target);
    let want = eval_func(func, inputs, &options).map_err(|e| wrong(format!("before: {e}")))?;
    let got = eval_func(&after, inputs, &options).map_err(|e| wrong(format!("after: {e}")))?;
    for (result, (want, got)) in want.iter().zip(&got).enumerate() {
        if want.ty() != got.ty() {
            return Err(wrong(format!("{} became {}", want.ty(), got.ty())));
        }
        let dtype = want.dtype();
        let differs =
            want.iter_bits().zip(got.iter_bits()).position(|(a, b)| !agree(a, b, dtype, agreement));
        if let Some(element) = differs {
            return Err(Box::new(Unproved::Differs {
                result,
                element,
                bits: [want, got].map(|data| data.bits(element).unwrap_or(0)),
                dtype,
                inputs: inputs.iter().filter_map(|input| input.bits(element)).collect(),
                by: applied.iter().map(|applied| applied.expansion).collect(),
            }));
        }
    }
    Ok(applied)
}

fn agree(a: u64, b: u64, dtype: ElemType, agreement: Agreement) -> bool {
    if a == b {
        return true;
    }
    if !dtype.is_float() {
        return false;
    }
    let (x, y) = (float::decode(a, dtype), float::decode(b, dtype));
    if x.is_nan() || y.is_nan() {
        return x.is_nan() && y.is_nan();
    }
    match agreement {
        Agreement::Bits => false,
        Agreement::Ulp(ulps) => order(a, dtype).abs_diff(order(b, dtype)) <= ulps,
        Agreement::Absolute(distance) => (x - y).abs() <= f64::from(distance),
    }
}

/// The position of a float among the floats of its type: neighbours differ by 1.
fn order(bits: u64, dtype: ElemType) -> i64 {
    let sign = 1u64 << (dtype.width() - 1);
    let magnitude = (bits & (sign - 1)) as i64;
    if bits & sign != 0 { -magnitude } else { magnitude }
}

/// A generator of random bits (SplitMix64), the same on every run.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// Bits worth trying: all of a type of at most 8 bits, else the special values and `random`
/// more, half of them of small magnitude.
pub fn values(dtype: ElemType, random: usize, seed: u64) -> Vec<u64> {
    let width = dtype.width();
    if width <= 8 {
        return (0..1u64 << width).collect();
    }
    let mask = u64::MAX >> (64 - width);
    let mut values = specials(dtype);
    let mut source = Random(seed);
    for index in 0..random {
        let bits = source.bits();
        let number = if index % 2 == 0 {
            bits
        } else if dtype.is_int() {
            // An integer of a random width, sign-extended.
            ((bits as i64) >> (bits % 60)) as u64
        } else {
            float::encode(f64::from(bits as i32) / f64::from(1u32 << (bits >> 60)), dtype)
        };
        values.push(number & mask);
    }
    values
}

/// The values at which things go wrong.
pub fn specials(dtype: ElemType) -> Vec<u64> {
    let width = dtype.width();
    if width == 1 {
        return vec![0, 1];
    }
    let mask = u64::MAX >> (64 - width);
    let sign = 1u64 << (width - 1);
    if dtype.is_int() {
        let mut values = vec![
            0,
            1,
            2,
            3,
            7,
            mask,
            mask - 1,
            sign,
            sign + 1,
            sign - 1,
            sign - 2,
            0x5555_5555_5555_5555 & mask,
            0xAAAA_AAAA_AAAA_AAAA & mask,
            1 << (width / 2),
            (1 << (width / 2)) - 1,
            (1 << (width / 2)) + 1,
            (1u64 << (width / 2)).wrapping_neg() & mask,
            width as u64,
            width as u64 - 1,
            width as u64 + 1,
        ];
        if width > 24 {
            values.extend([
                1 << 24,
                (1 << 24) + 1,
                (1 << 24) - 1,
                (1u64 << 24).wrapping_neg() & mask,
            ]);
        }
        if width > 32 {
            values.extend([
                1 << 31,
                1 << 32,
                (1 << 32) - 1,
                (1 << 31) - 1,
                (1 << 48) - 1,
                1 << 48,
                (1u64 << 31).wrapping_neg(),
                (1u64 << 32).wrapping_neg(),
                (1 << 53) + 1,
                0x0100_0000_8000_0000,
                0x0100_0000_8000_0001,
                0x7FFF_FFC0_0000_0000,
            ]);
        }
        values.sort_unstable();
        values.dedup();
        return values;
    }
    let infinity = float::encode(f64::INFINITY, dtype);
    let one = float::encode(1.0, dtype);
    let base = [0, 1, 2, one, one + 1, one - 1, infinity, infinity - 1, infinity / 2, infinity / 3];
    let mut values: Vec<u64> = base.to_vec();
    for number in [0.5, 1.5, 2.0, 2.5, 3.0, 7.0, 10.0, 127.5, 255.0] {
        values.push(float::encode(number, dtype));
    }
    values.push(float::encode(f64::NAN, dtype));
    if width >= 16 {
        for number in [32767.5, 2147483647.0, 4294967040.0, 1e-3, 88.0, 8388608.0, 8388607.5] {
            values.push(float::encode(number, dtype));
        }
    }
    let negative: Vec<u64> = values.iter().map(|bits| bits | sign).collect();
    values.extend(negative);
    values.sort_unstable();
    values.dedup();
    values
}

/// Every pair of two lists, as two lists.
pub fn pairs(a: &[u64], b: &[u64]) -> (Vec<u64>, Vec<u64>) {
    a.iter().flat_map(|&x| b.iter().map(move |&y| (x, y))).unzip()
}
