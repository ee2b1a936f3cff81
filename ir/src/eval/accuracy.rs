//! How far the machine's form of an operation may lie from the reference.

use crate::ops::ElementwiseOp;

/// The error of an operation on floats before its result is rounded to the result
/// type: `ulps` units in the last place of the fp32 result plus `absolute`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    pub op: ElementwiseOp,
    pub ulps: f64,
    pub absolute: f64,
}

const fn ulps(op: ElementwiseOp, ulps: f64) -> Accuracy {
    Accuracy { op, ulps, absolute: 0.0 }
}

/// Every operation that the machine has no exact form for. One that is absent is
/// exact on floats; on integers all are.
pub const ACCURACY: &[Accuracy] = &[
    ulps(ElementwiseOp::Divide, 4.0),
    ulps(ElementwiseOp::Remainder, 4.0),
    ulps(ElementwiseOp::Pow, 4.0),
    ulps(ElementwiseOp::Rsqrt, 4.0),
    ulps(ElementwiseOp::Sqrt, 4.0),
    ulps(ElementwiseOp::Exp, 4.0),
    ulps(ElementwiseOp::ExpM1, 4.0),
    ulps(ElementwiseOp::Log, 4.0),
    ulps(ElementwiseOp::Log1p, 4.0),
    ulps(ElementwiseOp::Tanh, 4.0),
    ulps(ElementwiseOp::Sigmoid, 4.0),
    ulps(ElementwiseOp::Erf, 4.0),
    ulps(ElementwiseOp::Sin, 4.0),
    ulps(ElementwiseOp::Cos, 4.0),
];

/// The row of an operation; `None` when the machine is exact.
pub fn accuracy(op: ElementwiseOp) -> Option<Accuracy> {
    ACCURACY.iter().copied().find(|row| row.op == op)
}
