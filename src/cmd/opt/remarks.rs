//! Remarks with their places in the source, filtered and printed.

use std::fmt;

use partita::ir::Source;
use partita::passes::remark::{Remark, RemarkKind};
use serde::Serialize;

use crate::failure::{Failure, Outcome};

/// Which remarks are printed.
#[derive(Clone, Debug)]
pub struct RemarkFilter {
    kind: Option<RemarkKind>,
    pass: Option<String>,
}

impl std::str::FromStr for RemarkFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, pass) = match text.split_once(':') {
            Some((kind, pass)) => (kind, Some(pass.to_owned())),
            None => (text, None),
        };
        let kinds = [RemarkKind::Passed, RemarkKind::Missed, RemarkKind::Analysis];
        let kind = match kinds.into_iter().find(|one| one.name() == kind) {
            None if kind != "all" => {
                return Err("remarks are passed, missed, analysis or all".to_owned());
            }
            kind => kind,
        };
        match pass {
            Some(pass) => {
                super::pass_name(&pass).map(|pass| Self { kind, pass: Some(pass.to_owned()) })
            }
            None => Ok(Self { kind, pass: None }),
        }
    }
}

impl RemarkFilter {
    /// Every remark.
    pub const ALL: Self = Self { kind: None, pass: None };

    pub fn accepts(&self, remark: &Remark) -> bool {
        self.kind.is_none_or(|kind| kind == remark.kind)
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
