//! `partita conform`: conformance vectors.

use std::fmt::Write as _;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use clap::Args;
use partita::interp::conform::run_file;
use serde::Serialize;

use super::check::json;
use crate::cli::{Common, Format};
use crate::failure::{Failure, Outcome};
use crate::files;

#[derive(Args)]
pub struct Options {
    /// Files of JSON Lines.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// How failures are printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Serialize)]
struct Report {
    passed: usize,
    failed: usize,
    failures: Vec<Failed>,
}

#[derive(Serialize)]
struct Failed {
    file: String,
    line: usize,
    id: String,
    reason: String,
}

pub fn run(options: &Options) -> Outcome {
    let mut report = Report { passed: 0, failed: 0, failures: Vec::new() };
    for path in &options.files {
        let summary = if files::is_dash(path) {
            run_file(std::io::stdin().lock())
        } else {
            File::open(path).and_then(|file| run_file(BufReader::new(file)))
        };
        let summary = summary.map_err(|error| Failure::about(path, error))?;
        report.passed += summary.passed;
        report.failed += summary.failed;
        report.failures.extend(summary.failures.into_iter().map(|failure| Failed {
            file: path.display().to_string(),
            line: failure.line,
            id: failure.id,
            reason: failure.reason,
        }));
    }
    let text = match options.format {
        Format::Json => json(&report)?,
        Format::Text => report.to_text(),
    };
    files::write(options.common.output.as_deref(), text.as_bytes())?;
    if report.failed == 0 { Ok(()) } else { Err(Failure::CheckFailed) }
}

impl Report {
    /// Writing to a string cannot fail.
    fn to_text(&self) -> String {
        let mut out = String::new();
        for failed in &self.failures {
            let _ =
                writeln!(out, "{}:{}: {}: {}", failed.file, failed.line, failed.id, failed.reason);
        }
        let _ = writeln!(out, "{} passed, {} failed", self.passed, self.failed);
        out
    }
}
