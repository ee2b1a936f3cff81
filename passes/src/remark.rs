//! Remarks: what a pass did, what it did not do, and why.

use std::fmt;

use partita_ir::Span;
use serde::Serialize;

use crate::rewrite::RewriteClass;

/// What kind of news a remark is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RemarkKind {
    /// A rewrite was made.
    Passed,
    /// A rewrite was considered and not made.
    Missed,
    /// A finding that changed nothing.
    Analysis,
}

impl RemarkKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Missed => "missed",
            Self::Analysis => "analysis",
        }
    }
}

/// One remark. Costs are modelled times in picoseconds: the sum of the busy times
/// of engines and DMA under the target's cost profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    pub kind: RemarkKind,
    /// The pass that speaks.
    pub pass: &'static str,
    /// The rule it is about.
    pub rule: String,
    /// What the rule may change; absent where nothing is rewritten.
    pub class: Option<RewriteClass>,
    /// Where in the source text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// The value it is about, as `%name`.
    pub value: String,
    /// The operation's name in text.
    pub op: String,
    pub message: String,
    /// Picoseconds before, of this value and what only it needs.
    pub cost_before: Option<u64>,
    /// Picoseconds after.
    pub cost_after: Option<u64>,
    /// The legality rule or section of the ISA that stood in the way.
    pub forbidden_by: Option<&'static str>,
}

impl Remark {
    /// A remark without costs.
    pub fn new(kind: RemarkKind, pass: &'static str, rule: impl Into<String>) -> Self {
        Self {
            kind,
            pass,
            rule: rule.into(),
            class: None,
            span: None,
            value: String::new(),
            op: String::new(),
            message: String::new(),
            cost_before: None,
            cost_after: None,
            forbidden_by: None,
        }
    }
}

/// `passed fuse/RULE [CLASS] %value tensor.op: message (before -> after ns; forbidden by R)`
impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind.name(), self.pass, self.rule)?;
        if let Some(class) = self.class {
            write!(f, " [{class}]")?;
        }
        for part in [&self.value, &self.op] {
            if !part.is_empty() {
                write!(f, " {part}")?;
            }
        }
        write!(f, ": {}", self.message)?;
        let costs = match (self.cost_before, self.cost_after) {
            (Some(before), Some(after)) => Some(format!("{} -> {} ns", Ns(before), Ns(after))),
            (Some(cost), None) | (None, Some(cost)) => Some(format!("{} ns", Ns(cost))),
            (None, None) => None,
        };
        let forbidden = self.forbidden_by.map(|rule| format!("forbidden by {rule}"));
        let notes: Vec<String> = costs.into_iter().chain(forbidden).collect();
        if notes.is_empty() { Ok(()) } else { write!(f, " ({})", notes.join("; ")) }
    }
}

/// Picoseconds shown as nanoseconds with one decimal.
#[derive(Clone, Copy, Debug)]
pub struct Ns(pub u64);

impl fmt::Display for Ns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.0.saturating_add(50) / 100;
        write!(f, "{}.{}", tenths / 10, tenths % 10)
    }
}
