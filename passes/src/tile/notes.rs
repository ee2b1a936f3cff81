//! What is said of words that do more than one operation.

use std::collections::BTreeSet;

use partita_ir::{Func, OpId};

use crate::remark::{Remark, RemarkKind};
use crate::rewrite::RewriteClass;

/// A fusion that only the words of a loop show.
#[derive(Clone, Copy, Debug)]
pub struct Joined {
    pub rule: &'static str,
    pub class: RewriteClass,
    /// What there is or could be, and in place of what.
    pub makes: &'static str,
    pub instead: &'static str,
    /// Picoseconds in one tile.
    pub apart: u64,
    pub together: u64,
}

impl Joined {
    /// True when it costs less.
    pub fn pays(&self) -> bool {
        self.together < self.apart
    }
}

/// Remarks about the operations of a function, one for each of them and each rule.
#[derive(Debug, Default)]
pub struct Notes {
    pub remarks: Vec<Remark>,
    seen: BTreeSet<(OpId, &'static str)>,
}

impl Notes {
    /// Says what became of a fusion; only of the first tile.
    pub fn add(&mut self, func: &Func, op: OpId, joined: &Joined) {
        if !self.seen.insert((op, joined.rule)) {
            return;
        }
        let of = &func.ops[op];
        let value = of.result().map(|value| format!("%{}", func.values[value].name));
        let (kind, message) = if joined.pays() {
            (RemarkKind::Passed, format!("{} in place of {}", joined.makes, joined.instead))
        } else {
            (RemarkKind::Missed, format!("{} is not cheaper here", joined.makes))
        };
        self.remarks.push(Remark {
            class: Some(joined.class),
            span: func.spans.op(op).map(|spans| spans.whole).filter(|span| !span.is_none()),
            value: value.unwrap_or_default(),
            op: of.kind.name().to_owned(),
            message,
            cost_before: Some(joined.apart),
            cost_after: Some(joined.together),
            ..Remark::new(kind, "tile", joined.rule)
        });
    }
}
