//! `partita test`: file tests.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use crate::cli::{Common, Format};
use crate::failure::{Failure, Outcome, say, style};
use crate::files;
use crate::filetest::{self, Plan, Status, TestResult};

#[derive(Args)]
pub struct Options {
    /// Test files, and directories whose test files are run.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Take what commands print as what is expected of them from now on, and show the difference.
    #[arg(long)]
    pub bless: bool,
    /// Run only what has this in its name, which is file, case and command.
    #[arg(long, value_name = "S")]
    pub filter: Option<String>,
    /// Name what passes too.
    #[arg(short, long)]
    pub verbose: bool,
    /// Write the results in the XML of JUnit as well.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// With json, one record of all results.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    #[command(flatten)]
    pub common: Common,
}

pub fn run(options: &Options) -> Outcome {
    let plan = Plan {
        paths: &options.paths,
        filter: options.filter.as_deref(),
        bless: options.bless,
        style: style(options.common.color),
    };
    let (results, blessed) = filetest::run(&plan)?;
    let failed = results.iter().filter(|result| matches!(result.status, Status::Failed(_))).count();
    let passed = results.len() - failed;
    if let Some(path) = &options.junit {
        files::write(Some(path), filetest::junit(&results)?.as_bytes())?;
    }
    say(&blessed);
    let text = match options.format {
        Format::Json => filetest::json(&results, passed, failed)?,
        Format::Text => {
            lines(&results, options.verbose) + &format!("{passed} passed, {failed} failed\n")
        }
    };
    files::write(options.common.output.as_deref(), text.as_bytes())?;
    if failed == 0 { Ok(()) } else { Err(Failure::CheckFailed) }
}

/// What is to be said of each result. Writing to a string cannot fail.
fn lines(results: &[TestResult], verbose: bool) -> String {
    let mut out = String::new();
    for result in results {
        let _ = match &result.status {
            Status::Passed if !verbose => Ok(()),
            Status::Passed => writeln!(out, "passed  {}", result.name()),
            Status::Blessed => writeln!(out, "blessed {}", result.name()),
            Status::Failed(why) => {
                let why: String = why.lines().map(|line| format!("    {line}\n")).collect();
                writeln!(out, "FAILED  {}\n{}", result.name(), why.trim_end_matches('\n'))
            }
        };
    }
    out
}
