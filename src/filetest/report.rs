//! Results for other programs.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde::Serialize;

use super::{Status, TestResult};
use crate::cmd::check;
use crate::failure::{Failure, Outcome};

#[derive(Serialize)]
struct Record<'a> {
    file: &'a str,
    case: &'a str,
    command: &'a str,
    status: &'static str,
    message: Option<&'a str>,
}

#[derive(Serialize)]
struct Summary<'a> {
    results: Vec<Record<'a>>,
    passed: usize,
    failed: usize,
}

impl Status {
    fn name(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Blessed => "blessed",
            Self::Failed(_) => "failed",
        }
    }

    fn message(&self) -> Option<&str> {
        match self {
            Self::Failed(why) => Some(why),
            _ => None,
        }
    }
}

/// All results as one JSON record.
pub fn json(results: &[TestResult], passed: usize, failed: usize) -> Outcome<String> {
    let records = results.iter().map(|result| Record {
        file: &result.file,
        case: &result.case,
        command: &result.command,
        status: result.status.name(),
        message: result.status.message(),
    });
    check::json(&Summary { results: records.collect(), passed, failed })
}

/// All results in the XML of JUnit, a suite a file.
pub fn junit(results: &[TestResult]) -> Outcome<String> {
    let mut report = Report::new("partita test");
    for of_file in results.chunk_by(|a, b| a.file == b.file) {
        let Some(first) = of_file.first() else { continue };
        let mut suite = TestSuite::new(first.file.as_str());
        for result in of_file {
            let status = match &result.status {
                Status::Failed(why) => {
                    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                    status.set_description(why.as_str());
                    status
                }
                _ => TestCaseStatus::success(),
            };
            suite.add_test_case(TestCase::new(result.name(), status));
        }
        report.add_test_suite(suite);
    }
    report.to_string().map_err(Failure::message)
}
