//! Running a command of a case, and comparing what it does with what is expected.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command as Process, Stdio};

use partita::ir::diag::Style;
use serde::Deserialize;

use super::case::{Case, Command, ExpectedError, Metric, Pin, TestFile};
use crate::diff;

/// How a command of a case ended.
pub enum Verdict {
    Passed,
    Failed(String),
    /// The output differs from what the file holds: this is the output.
    Differs {
        output: String,
        why: String,
    },
}

/// What a command printed.
struct Outcome {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

/// An error as `--error-format json` prints it.
#[derive(Deserialize)]
struct Reported {
    severity: String,
    code: Option<String>,
    message: String,
    line: Option<usize>,
}

impl Reported {
    fn fits(&self, expected: &ExpectedError) -> bool {
        let same_line = self.line.is_none() || self.line == Some(expected.line);
        let code = expected.code.as_ref().is_none_or(|code| self.code.as_ref() == Some(code));
        let message =
            expected.message.as_ref().is_none_or(|text| self.message.contains(text.as_str()));
        same_line && code && message
    }

    fn show(&self) -> String {
        let code = self.code.as_deref().unwrap_or("no code");
        match self.line {
            Some(line) => format!("line {line}: {code} \"{}\"", self.message),
            None => format!("{code} \"{}\"", self.message),
        }
    }
}

/// Runs a command with a case's program on its standard input, in the directory of the file.
fn call(file: &TestFile, case: &Case, args: &[String]) -> Result<Outcome, String> {
    let own = std::env::current_exe().map_err(|error| format!("cannot find itself: {error}"))?;
    let dir = Path::new(&file.name).parent().filter(|dir| !dir.as_os_str().is_empty());
    let (name, rest) = args.split_first().ok_or("there is no command")?;
    // What `import` reads is never in question.
    let format: &[&str] =
        if name == "import" { &[] } else { &["--input-format", file.kind.format] };
    let mut child = Process::new(own)
        .arg(name)
        .arg("-")
        .args(rest)
        .args(format)
        .args(["--color", "never", "--error-format", "json"])
        .current_dir(dir.unwrap_or(Path::new(".")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot run: {error}"))?;
    let mut input = child.stdin.take();
    let program = case.program.as_bytes();
    let output = std::thread::scope(|scope| {
        // Written beside the reading of the output, lest both wait.
        scope.spawn(move || input.as_mut().map(|input| input.write_all(program)));
        child.wait_with_output()
    });
    let output = output.map_err(|error| format!("cannot run: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Outcome {
        status: output.status.code(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    })
}

/// Runs one command of a case.
pub fn judge(file: &TestFile, case: &Case, command: &Command) -> Verdict {
    let outcome = match call(file, case, &command.args) {
        Ok(outcome) => outcome,
        Err(why) => return Verdict::Failed(why),
    };
    let reported = reported(&outcome.stderr);
    if !case.errors.is_empty() {
        return errors(&case.errors, &outcome, &reported);
    }
    if outcome.status != Some(0) {
        let shown: Vec<String> = reported.iter().map(Reported::show).collect();
        let what =
            if shown.is_empty() { outcome.stderr + &outcome.stdout } else { shown.join("\n") };
        return Verdict::Failed(format!("ends with {}:\n{what}", status(outcome.status)));
    }
    let output = match outcome.stderr.is_empty() {
        true => outcome.stdout,
        false => format!("{}-- standard error\n{}", outcome.stdout, outcome.stderr),
    };
    if !command.checks.is_empty() {
        return checks(command, &output);
    }
    if !command.has_golden() {
        return Verdict::Passed;
    }
    compare(case, command, normalized(&output))
}

/// Output as an expectation holds it: without blanks at line ends, empty lines, and the `.meta` lines of assembler
/// text, which say how a program was made and not what it is.
fn normalized(output: &str) -> String {
    let lines = output.lines().map(str::trim_end);
    let kept = lines.filter(|line| !line.is_empty() && !line.starts_with(".meta "));
    kept.map(|line| format!("{line}\n")).collect()
}

fn compare(case: &Case, command: &Command, output: String) -> Verdict {
    match case.expectation(command) {
        Some(expected) if expected == output => Verdict::Passed,
        Some(expected) => {
            let why = diff::unified(expected, &output, ("expected", "printed"), Style::Plain);
            Verdict::Differs { output, why }
        }
        None => {
            let why = "has no expectation yet; --bless writes it".to_owned();
            Verdict::Differs { output, why }
        }
    }
}

fn status(code: Option<i32>) -> String {
    code.map_or("a signal".to_owned(), |code| format!("status {code}"))
}

fn reported(stderr: &str) -> Vec<Reported> {
    let records = stderr.lines().filter_map(|line| serde_json::from_str(line).ok());
    records.filter(|record: &Reported| record.severity == "error").collect()
}

/// Every error is expected, and every expected one is there.
fn errors(expected: &[ExpectedError], outcome: &Outcome, reported: &[Reported]) -> Verdict {
    if outcome.status != Some(1) {
        return Verdict::Failed(format!(
            "ends with {}, and an error was expected",
            status(outcome.status)
        ));
    }
    let mut why = String::new();
    for one in expected.iter().filter(|one| !reported.iter().any(|report| report.fits(one))) {
        let code = one.code.as_deref().unwrap_or_default();
        let message = one.message.as_deref().unwrap_or_default();
        why += &format!("not reported: line {}: {code} \"{message}\"\n", one.line);
    }
    for report in reported.iter().filter(|report| !expected.iter().any(|one| report.fits(one))) {
        why += &format!("not expected: {}\n", report.show());
    }
    if why.is_empty() { Verdict::Passed } else { Verdict::Failed(why) }
}

/// Checks hold in their order: each wanted line comes after the one before, and what is not wanted does not stand
/// between them.
fn checks(command: &Command, output: &str) -> Verdict {
    let lines: Vec<&str> = output.lines().collect();
    let mut from = 0;
    let mut unwanted: Vec<&super::case::Check> = Vec::new();
    for check in &command.checks {
        if !check.wanted {
            unwanted.push(check);
            continue;
        }
        let found = lines[from..].iter().position(|line| check.pattern.is_match(line));
        let Some(offset) = found else {
            let text = format!(
                "line {}: nothing after line {from} of the output fits `{}`:\n{output}",
                check.line, check.pattern
            );
            return Verdict::Failed(text);
        };
        if let Some(why) = stands(&unwanted, &lines[from..from + offset]) {
            return Verdict::Failed(why);
        }
        unwanted.clear();
        from += offset + 1;
    }
    match stands(&unwanted, &lines[from..]) {
        Some(why) => Verdict::Failed(why),
        None => Verdict::Passed,
    }
}

/// What is not wanted and stands in some lines.
fn stands(unwanted: &[&super::case::Check], lines: &[&str]) -> Option<String> {
    unwanted.iter().find_map(|check| {
        let line = lines.iter().find(|line| check.pattern.is_match(line))?;
        Some(format!("line {}: `{}` is not wanted and fits:\n{line}", check.line, check.pattern))
    })
}

/// Judges the pins of a case for one target.
pub fn pins(file: &TestFile, case: &Case, target: Option<&str>, pins: &[&Pin]) -> Verdict {
    let mut args = vec!["cost".to_owned(), "--format".to_owned(), "json".to_owned()];
    if let Some(target) = target {
        args.extend(["--target".to_owned(), target.to_owned()]);
    }
    let outcome = match call(file, case, &args) {
        Ok(outcome) if outcome.status == Some(0) => outcome,
        Ok(outcome) => return Verdict::Failed(outcome.stderr),
        Err(why) => return Verdict::Failed(why),
    };
    let Ok(cost) = serde_json::from_str::<serde_json::Value>(&outcome.stdout) else {
        return Verdict::Failed("the cost cannot be read".to_owned());
    };
    let mut why = String::new();
    for pin in pins {
        let is = measure(&cost, pin.metric);
        if is.is_none_or(|is| is > pin.most) {
            let is = is.map_or("unknown".to_owned(), |is| is.to_string());
            why += &format!(
                "line {}: {:?} is {is}, at most {} was expected\n",
                pin.line, pin.metric, pin.most
            );
        }
    }
    if why.is_empty() { Verdict::Passed } else { Verdict::Failed(why) }
}

fn measure(cost: &serde_json::Value, metric: Metric) -> Option<u64> {
    let over_engines = |field: &str| {
        let engines = cost["engines"].as_array()?;
        engines.iter().map(|engine| engine[field].as_u64()).sum::<Option<u64>>()
    };
    match metric {
        Metric::Cost => over_engines("cycles"),
        Metric::Words => over_engines("words"),
        Metric::Descriptors => cost["dma"]["descriptors"].as_u64(),
        Metric::Bytes => cost["dma"]["bytes"].as_u64(),
    }
}
