//! What a check reports.

use std::fmt;

use crate::rule::Rule;

/// Whether a finding makes the word illegal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Legal, but worth a look.
    Warning,
    /// Illegal.
    Error,
}

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub rule: &'static Rule,
    pub severity: Severity,
    /// Name of the field at fault.
    pub field: &'static str,
    /// Its byte offset in the word or record.
    pub offset: usize,
    /// The value found.
    pub found: String,
    /// The values allowed.
    pub allowed: String,
    /// The rule that asks for this one, when it was tested as a part of another.
    pub inside: Option<&'static Rule>,
}

impl Violation {
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (byte {}) is {}", self.rule.id, self.field, self.offset, self.found)?;
        write!(f, "; allowed: {}", self.allowed)
    }
}
