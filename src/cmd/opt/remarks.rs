//! Remarks with their places in the source, filtered and printed.

use std::fmt;

use partita::ir::Source;
use partita::passes::remark::{Remark, RemarkKind};
use serde::Serialize;

use crate::failure::{Failure, Outcome};

/// Which remarks are printed.
#[derive(Clone, Debug)]
pub struct RemarkFilter {
    kinds: Vec<RemarkKind>,
    pass: Option<String>,
}

const KINDS: [RemarkKind; 3] = [RemarkKind::Passed, RemarkKind::Missed, RemarkKind::Analysis];

/// Kinds separated by commas, and a pass after a colon: `missed`, `passed,missed:fuse`.
impl std::str::FromStr for RemarkFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (names, pass) = match text.split_once(':') {
            Some((names, pass)) => (names, Some(super::pass_name(pass)?.to_owned())),
            None => (text, None),
        };
        let mut kinds = Vec::new();
        for name in names.split(',') {
            match KINDS.into_iter().find(|kind| kind.name() == name) {
                Some(kind) => kinds.push(kind),
                None if name == "all" => kinds.extend(KINDS),
                None => return Err("remarks are passed, missed, analysis or all".to_owned()),
            }
        }
        Ok(Self { kinds, pass })
    }
}

impl RemarkFilter {
    /// Every remark.
    pub fn all() -> Self {
        Self { kinds: KINDS.to_vec(), pass: None }
    }

    pub fn accepts(&self, remark: &Remark) -> bool {
        self.kinds.contains(&remark.kind)
            && self.pass.as_ref().is_none_or(|pass| pass == remark.pass)
    }
}

/// A remark with the line of the source that it is about.
#[derive(Debug, Serialize)]
pub struct PlacedRemark {
    #[serde(flatten)]
    pub remark: Remark,
    pub file: String,
    /// From 1; absent for what has no place in the source.
    pub line: Option<usize>,
    pub column: Option<usize>,
}

impl PlacedRemark {
    pub fn new(remark: Remark, source: &Source) -> Self {
        let span = remark.span.filter(|span| !span.is_none());
        let at = span.map(|span| source.line_column(span.start as usize));
        Self {
            remark,
            file: source.name.clone(),
            line: at.map(|(line, _)| line),
            column: at.map(|(_, column)| column),
        }
    }
}

/// `file:line:column: remark`
impl fmt::Display for PlacedRemark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, "{}:{line}:{column}: ", self.file)?;
        }
        write!(f, "{}", self.remark)
    }
}

/// One JSON record a line.
pub fn json_lines<'a>(remarks: impl Iterator<Item = &'a PlacedRemark>) -> Outcome<String> {
    let lines = remarks.map(|remark| serde_json::to_string(remark).map(|line| line + "\n"));
    lines.collect::<Result<_, _>>().map_err(Failure::message)
}
