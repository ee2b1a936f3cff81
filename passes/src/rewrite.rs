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

/// Rewrites that may still be made, and the last one made: what a search for a wrong rewrite turns.
#[derive(Clone, Debug, Default)]
pub struct Fuel {
    /// No limit when absent.
    pub left: Option<u64>,
    /// Rewrites made.
    pub made: u64,
    pub last: Option<Rewritten>,
}

/// A rewrite that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The name of its row.
    pub rule: &'static str,
    /// The name of the value that has a new form.
    pub value: String,
}

impl Fuel {
    /// Fuel for a number of rewrites.
    pub fn limited(limit: u64) -> Self {
        Self { left: Some(limit), ..Self::default() }
    }

    /// True when nothing more may be rewritten.
    pub fn is_empty(&self) -> bool {
        self.left == Some(0)
    }

    /// Takes over what was spent on this account elsewhere.
    pub fn absorb(&mut self, spent: Self) {
        self.made += spent.made;
        self.left = self.left.map(|left| left.saturating_sub(spent.made));
        self.last = spent.last.or_else(|| self.last.take());
    }

    /// Notes one rewrite.
    pub fn spend(&mut self, rule: &'static str, value: &str) {
        self.made += 1;
        self.last = Some(Rewritten { rule, value: value.to_owned() });
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(1);
        }
    }
}
