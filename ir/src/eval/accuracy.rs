//! How far the machine's form of an operation may lie from the reference.
//!
//! The figures are those of the compiler's sequences against the f64 result rounded
//! once: the largest error found in sweeps of 10⁷ to 10⁸ fp32 numbers, given behind each
//! row, and a reserve for what the machine's own POW, RSQRT and EXP may add (one unit
//! each, ISA 10.4) and for the numbers not swept.

use crate::ops::ElementwiseOp;

/// The error of an operation on floats before its result is rounded to the result
/// type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    pub op: ElementwiseOp,
    /// In units in the last place of the fp32 result.
    pub ulps: f64,
    /// The largest magnitude of the (first) argument for which that holds; beyond it
    /// nothing is promised.
    pub within: f32,
}

const fn ulps(op: ElementwiseOp, ulps: f64) -> Accuracy {
    Accuracy { op, ulps, within: f32::INFINITY }
}

/// Up to here, 2¹⁵·π/2, the multiples of π/2 are taken off exactly.
const CIRCULAR_LIMIT: f32 = 51_471.0;

/// Found: 3.
const fn circular(op: ElementwiseOp) -> Accuracy {
    Accuracy { op, ulps: 4.0, within: CIRCULAR_LIMIT }
}

/// Every operation that the machine has no exact form for. One that is absent is
/// exact on floats; on integers all are.
pub const ACCURACY: &[Accuracy] = &[
    ulps(ElementwiseOp::Divide, 2.0),  // 2
    ulps(ElementwiseOp::Pow, 1.0),     // 0
    ulps(ElementwiseOp::Rsqrt, 1.0),   // 0
    ulps(ElementwiseOp::Sqrt, 1.0),    // 0
    ulps(ElementwiseOp::Exp, 2.0),     // 1
    ulps(ElementwiseOp::ExpM1, 4.0),   // 2
    ulps(ElementwiseOp::Log, 2.0),     // 1
    ulps(ElementwiseOp::Log1p, 2.0),   // 1
    ulps(ElementwiseOp::Tanh, 3.0),    // 1
    ulps(ElementwiseOp::Sigmoid, 4.0), // 3
    ulps(ElementwiseOp::Erf, 2.0),     // 1
    circular(ElementwiseOp::Sin),
    circular(ElementwiseOp::Cos),
];

/// The row of an operation; `None` when the machine is exact.
pub fn accuracy(op: ElementwiseOp) -> Option<Accuracy> {
    ACCURACY.iter().copied().find(|row| row.op == op)
}
