//! What a rewrite may change.

use std::fmt;

use serde::Serialize;

/// How far a rewrite, a decomposition or a legalization keeps results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RewriteClass {
    /// The same bits.
    Exact,
    /// Float sums and products are taken in another order.
    Reassociates,
    /// Drops or adds a rounding; the error bound is documented with the rule.
    ChangesRounding,
}

impl RewriteClass {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Reassociates => "reassociates",
            Self::ChangesRounding => "changes-rounding",
        }
    }
}

impl fmt::Display for RewriteClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
