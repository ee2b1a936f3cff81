//! What each operation does to fp32 numbers (ISA 6.1, 10.4).
//!
//! The mathematical functions are computed in f64 by a library in plain Rust, so
//! that every machine gives the same bits, and rounded once to fp32.

use crate::ops::ElementwiseOp;

/// Receives the meaning of an operation as a closure, so that each loop is
/// compiled for its operation.
pub trait Binary<T> {
    type Output;
    fn run(self, f: impl Fn(T, T) -> T + Copy) -> Self::Output;
}

/// Hands over the fp32 meaning of an operation; one of one operand ignores the
/// second. `None` when it has none (bits, shifts, the integer band, `select`).
pub fn with_op<V: Binary<f32>>(op: ElementwiseOp, visitor: V) -> Option<V::Output> {
    use ElementwiseOp::*;
    Some(match op {
        Bypass | Copy => visitor.run(|a, _| a),
        Add => visitor.run(|a, b| a + b),
        Subtract => visitor.run(|a, b| a - b),
        Mult => visitor.run(|a, b| a * b),
        Divide => visitor.run(|a, b| a / b),
        Max => visitor.run(max),
        Min => visitor.run(min),
        LogicalAnd => visitor.run(|a, b| truth(a != 0.0 && b != 0.0)),
        LogicalOr => visitor.run(|a, b| truth(a != 0.0 || b != 0.0)),
        LogicalXor => visitor.run(|a, b| truth((a != 0.0) != (b != 0.0))),
        IsEq => visitor.run(|a, b| truth(a == b)),
        IsNe => visitor.run(|a, b| truth(a != b)),
        IsGt => visitor.run(|a, b| truth(a > b)),
        IsGe => visitor.run(|a, b| truth(a >= b)),
        IsLe => visitor.run(|a, b| truth(a <= b)),
        IsLt => visitor.run(|a, b| truth(a < b)),
        AbsoluteDiff => visitor.run(|a, b| (a - b).abs()),
        AbsoluteValue => visitor.run(|a, _| a.abs()),
        Pow => visitor.run(|a, b| libm::pow(f64::from(a), f64::from(b)) as f32),
        Rsqrt => visitor.run(|a, _| (1.0 / f64::from(a).sqrt()) as f32),
        AbsMax => visitor.run(|a, b| max(a.abs(), b.abs())),
        AbsMin => visitor.run(|a, b| min(a.abs(), b.abs())),
        ReLu => visitor.run(|a, _| if a > 0.0 || a.is_nan() { a } else { 0.0 }),
        Square => visitor.run(|a, _| a * a),
        SymmetricClamp => visitor.run(|a, b| sign(a) * max(a.abs(), b.abs())),
        Maximum => visitor.run(maximum),
        Minimum => visitor.run(|a, b| -maximum(-a, -b)),
        Exp => visitor.run(|a, _| in_f64(a, libm::exp)),
        ExpM1 => visitor.run(|a, _| in_f64(a, libm::expm1)),
        Log => visitor.run(|a, _| in_f64(a, libm::log)),
        Log1p => visitor.run(|a, _| in_f64(a, libm::log1p)),
        Sqrt => visitor.run(|a, _| a.sqrt()),
        Reciprocal => visitor.run(|a, _| 1.0 / a),
        Remainder => visitor.run(|a, b| a % b),
        Tanh => visitor.run(|a, _| in_f64(a, libm::tanh)),
        Sigmoid => visitor.run(|a, _| in_f64(a, |x| 1.0 / (1.0 + libm::exp(-x)))),
        Erf => visitor.run(|a, _| in_f64(a, libm::erf)),
        Sin => visitor.run(|a, _| in_f64(a, libm::sin)),
        Cos => visitor.run(|a, _| in_f64(a, libm::cos)),
        Sign => visitor.run(|a, _| sign(a)),
        Floor => visitor.run(|a, _| a.floor()),
        Ceil => visitor.run(|a, _| a.ceil()),
        RoundEven => visitor.run(|a, _| a.round_ties_even()),
        RoundAway => visitor.run(|a, _| a.round()),
        Trunc => visitor.run(|a, _| a.trunc()),
        IsFinite => visitor.run(|a, _| truth(a.is_finite())),
        BitwiseNot | ArithShiftLeft | ArithShiftRight | BitwiseAnd | BitwiseOr | BitwiseXor
        | LogicalShiftLeft | LogicalShiftRight | Mod | AddInt | MultInt | SubtractInt
        | DivideInt | ModInt | IsEqualInt | IsNeInt | AbsMaxInt | AbsMinInt | AbsDiffInt
        | MaxInt | MinInt | IsGtInt | IsGeInt | IsLeInt | IsLtInt | MaxUint | MinUint
        | IsGtUint | IsGeUint | IsLeUint | IsLtUint | MultUint | DivideUint | ModUint
        | Popcount | Clz | Select => return None,
    })
}

/// What a scan of the operation starts from (ISA 9.17).
pub fn identity(op: ElementwiseOp) -> Option<f32> {
    use ElementwiseOp::*;
    Some(match op {
        Add | Subtract | LogicalOr | LogicalXor => 0.0,
        Mult | LogicalAnd => 1.0,
        Max | Maximum => f32::NEG_INFINITY,
        Min | Minimum => f32::INFINITY,
        _ => return None,
    })
}

fn truth(value: bool) -> f32 {
    f32::from(u8::from(value))
}

fn in_f64(x: f32, f: impl Fn(f64) -> f64) -> f32 {
    f(f64::from(x)) as f32
}

/// Larger, a single NaN suppressed, +0 above −0 (ISA 10.4).
fn max(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        b
    } else if a > b || b.is_nan() {
        a
    } else if a == b {
        // Equal numbers differ in the sign of a zero at most.
        f32::from_bits(a.to_bits() & b.to_bits())
    } else {
        b
    }
}

/// Smaller, as the mirror of [`max`].
fn min(a: f32, b: f32) -> f32 {
    -max(-a, -b)
}

/// Larger, a NaN propagated.
fn maximum(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() { f32::NAN } else { max(a, b) }
}

/// −1, 1, the zero itself, or NaN.
fn sign(a: f32) -> f32 {
    if a > 0.0 {
        1.0
    } else if a < 0.0 {
        -1.0
    } else {
        a
    }
}

/// A block of computed NaNs made the one NaN that the machine writes: which NaN an
/// fp32 operation gives is not promised (ISA 10.3), and host processors differ.
pub fn canonical_nans(block: &mut [f32]) {
    for x in block {
        *x = if x.is_nan() { f32::NAN } else { *x };
    }
}
