//! Checks: operations that compare a result with what is expected of it.

use std::fmt;

/// How two tensors are compared. Operands: the value, and the one expected; no results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CheckOp {
    /// Equal numbers: NaN equals NaN, and zeros of either sign are one.
    Eq,
    /// No further apart than a number; NaN equals NaN, infinities their like.
    AlmostEq { tolerance: f64 },
    /// So many representable numbers apart, both ends included; NaN equals NaN.
    Close { min_ulps: u64, max_ulps: u64 },
}

impl CheckOp {
    pub const fn name(self) -> &'static str {
        match self {
            CheckOp::Eq => "check.expect_eq",
            CheckOp::AlmostEq { .. } => "check.expect_almost_eq",
            CheckOp::Close { .. } => "check.expect_close",
        }
    }
}

impl fmt::Display for CheckOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
