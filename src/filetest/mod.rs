//! File tests: programs whose comments say what to run and what comes of it. `docs/testing-lowerings.md` describes
//! the format.

mod bless;
mod case;
mod judge;
mod report;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use partita::ir::diag::Style;
use partita::ir::{Source, stablehlo, text};
use rayon::prelude::*;
use walkdir::WalkDir;

use crate::failure::{Failure, Outcome};
use crate::{diff, files};
use case::{Case, Kind, Pin, TestFile};
use judge::Verdict;
pub use report::{json, junit};

/// What to test, and how.
pub struct Plan<'a> {
    pub paths: &'a [PathBuf],
    /// Only commands whose name (`FILE CASE COMMAND`) contains this.
    pub filter: Option<&'a str>,
    pub bless: bool,
    pub style: Style,
}

/// One command of one case.
pub struct TestResult {
    pub file: String,
    pub case: String,
    pub command: String,
    pub status: Status,
}

pub enum Status {
    Passed,
    /// What was printed is now what is expected.
    Blessed,
    Failed(String),
}

impl TestResult {
    /// `FILE CASE: COMMAND`
    pub fn name(&self) -> String {
        let case = if self.case.is_empty() { String::new() } else { format!(" {}", self.case) };
        format!("{}{case}: {}", self.file, self.command)
    }
}

/// A piece of a case that runs by itself.
enum Job<'a> {
    RoundTrip,
    Command(usize),
    Pins(Option<&'a str>, Vec<&'a Pin>),
}

impl Job<'_> {
    fn name(&self, case: &Case) -> String {
        match self {
            Self::RoundTrip => "text round trip".to_owned(),
            Self::Command(number) => {
                case.commands.get(*number).map(|one| one.text.clone()).unwrap_or_default()
            }
            Self::Pins(Some(target), _) => format!("pins on {target}"),
            Self::Pins(None, _) => "pins".to_owned(),
        }
    }
}

/// Runs all tests, several at a time; results stand in the order of files, cases and commands.
///
/// # Errors
/// A path cannot be read, or a file's comments cannot be understood.
pub fn run(plan: &Plan<'_>) -> Outcome<(Vec<TestResult>, String)> {
    let mut test_files = Vec::new();
    for path in plan.paths {
        collect(path, &mut test_files)?;
    }
    let mut jobs = Vec::new();
    for (number, file) in test_files.iter().enumerate() {
        for (place, case) in file.cases.iter().enumerate() {
            for job in jobs_of(file, case) {
                let wanted =
                    plan.filter.is_none_or(|part| full_name(file, case, &job).contains(part));
                if wanted {
                    jobs.push((number, place, job));
                }
            }
        }
    }
    let verdicts: Vec<Verdict> = jobs
        .par_iter()
        .map(|(number, place, job)| {
            let file = &test_files[*number];
            do_job(file, &file.cases[*place], job)
        })
        .collect();
    let mut results = Vec::new();
    let mut outputs: BTreeMap<usize, BTreeMap<usize, BTreeMap<usize, String>>> = BTreeMap::new();
    for ((number, place, job), verdict) in jobs.iter().zip(verdicts) {
        let file = &test_files[*number];
        let case = &file.cases[*place];
        let status = match (verdict, job) {
            (Verdict::Passed, _) => Status::Passed,
            (Verdict::Differs { output, .. }, Job::Command(command)) if plan.bless => {
                outputs
                    .entry(*number)
                    .or_default()
                    .entry(*place)
                    .or_default()
                    .insert(*command, output);
                Status::Blessed
            }
            (Verdict::Failed(why) | Verdict::Differs { why, .. }, _) => Status::Failed(why),
        };
        let (file, case, command) = (file.name.clone(), case.name.clone(), job.name(case));
        results.push(TestResult { file, case, command, status });
    }
    let shown = write_blessed(plan, &test_files, &outputs)?;
    Ok((results, shown))
}

fn full_name(file: &TestFile, case: &Case, job: &Job<'_>) -> String {
    format!("{} {} {}", file.name, case.name, job.name(case))
}

/// Writes the files with new expectations; gives the differences.
fn write_blessed(
    plan: &Plan<'_>,
    test_files: &[TestFile],
    outputs: &BTreeMap<usize, BTreeMap<usize, BTreeMap<usize, String>>>,
) -> Outcome<String> {
    let mut shown = String::new();
    for (&number, cases) in outputs {
        let file = &test_files[number];
        let text = bless::blessed(file, cases);
        shown += &diff::unified(&file.text, &text, (&file.name, &file.name), plan.style);
        files::write(Some(Path::new(&file.name)), text.as_bytes())?;
    }
    Ok(shown)
}

fn jobs_of<'a>(file: &TestFile, case: &'a Case) -> Vec<Job<'a>> {
    let mut jobs: Vec<Job<'_>> = Vec::new();
    if case.errors.is_empty() && matches!(file.kind.format, "pta" | "stablehlo") {
        jobs.push(Job::RoundTrip);
    }
    jobs.extend((0..case.commands.len()).map(Job::Command));
    // A pin without a target holds for each target that the case is tested on.
    let mut named: Vec<Option<&str>> = case.commands.iter().map(|one| one.target()).collect();
    named.extend(case.pins.iter().map(|pin| pin.target.as_deref()).filter(Option::is_some));
    let mut targets: Vec<Option<&str>> = Vec::new();
    for target in named {
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    for target in targets {
        let fits = |pin: &&Pin| pin.target.is_none() || pin.target.as_deref() == target;
        let pins: Vec<&Pin> = case.pins.iter().filter(fits).collect();
        if !pins.is_empty() {
            jobs.push(Job::Pins(target, pins));
        }
    }
    jobs
}

fn do_job(file: &TestFile, case: &Case, job: &Job<'_>) -> Verdict {
    match job {
        Job::RoundTrip => round_trip(file, case),
        Job::Command(number) => match case.commands.get(*number) {
            Some(command) => judge::judge(file, case, command),
            None => Verdict::Passed,
        },
        Job::Pins(target, pins) => judge::pins(file, case, *target, pins),
    }
}

/// What is printed of a program reads back as the same.
fn round_trip(file: &TestFile, case: &Case) -> Verdict {
    let read = |text: &str| text::load(&Source::new(file.name.clone(), text));
    let first = match file.kind.format {
        "stablehlo" => {
            let source = Source::new(file.name.clone(), case.program.clone());
            stablehlo::load(&source, stablehlo::Options::default()).map(|lowered| lowered.module)
        }
        _ => read(&case.program),
    };
    let Ok(module) = first else {
        // The commands say what is wrong with it.
        return Verdict::Passed;
    };
    let printed = module.to_string();
    match read(&printed) {
        Ok(again) if again.to_string() == printed => Verdict::Passed,
        Ok(again) => Verdict::Failed(diff::unified(
            &printed,
            &again.to_string(),
            ("printed", "printed again"),
            Style::Plain,
        )),
        Err(found) => {
            let messages: Vec<String> = found.into_iter().map(|one| one.message).collect();
            Verdict::Failed(format!("the printed text is refused: {}", messages.join("; ")))
        }
    }
}

/// The tests of a file, or of all files below a directory that hold a `test` line.
fn collect(path: &Path, found: &mut Vec<TestFile>) -> Outcome {
    let wrong = |path: &Path, (line, what): (usize, String)| {
        Failure::about(&PathBuf::from(format!("{}:{line}", path.display())), what)
    };
    if !path.is_dir() {
        let kind = Kind::of(path).ok_or_else(|| {
            let known: Vec<String> =
                case::KINDS.iter().map(|kind| format!(".{}", kind.extension)).collect();
            Failure::about(path, format!("is no test: tests are {}", known.join(", ")))
        })?;
        let file = read(path, kind)?.map_err(|error| wrong(path, error))?;
        if !is_test(&file) {
            return Err(Failure::about(path, "has no `test` line in its comments"));
        }
        found.push(file);
        return Ok(());
    }
    for entry in WalkDir::new(path).sort_by_file_name() {
        let entry = entry.map_err(Failure::message)?;
        let Some(kind) = Kind::of(entry.path()).filter(|_| entry.file_type().is_file()) else {
            continue;
        };
        let file = read(entry.path(), kind)?.map_err(|error| wrong(entry.path(), error))?;
        if is_test(&file) {
            found.push(file);
        }
    }
    Ok(())
}

fn is_test(file: &TestFile) -> bool {
    file.cases.iter().any(|case| !case.commands.is_empty() || !case.pins.is_empty())
}

fn read(path: &Path, kind: Kind) -> Outcome<Result<TestFile, (usize, String)>> {
    let text = read_text(path)?;
    let mut file = match TestFile::parse(path.display().to_string(), text, kind) {
        Ok(file) => file,
        Err(wrong) => return Ok(Err(wrong)),
    };
    let dir = path.parent().unwrap_or(Path::new("."));
    for case in &mut file.cases {
        if let Some(input) = &case.input {
            case.program = read_text(&dir.join(input))?;
        }
    }
    Ok(Ok(file))
}

fn read_text(path: &Path) -> Outcome<String> {
    let bytes = files::read(path, files::MAX_TEXT)?;
    String::from_utf8(bytes).map_err(|_| Failure::about(path, "is not UTF-8 text"))
}
