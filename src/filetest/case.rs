//! A test file's text: cases, the commands of each, and what is expected of them.

use std::ops::Range;
use std::path::Path;

use partita::isa::Target;
use regex::Regex;

/// A file with its cases.
pub struct TestFile {
    pub name: String,
    pub text: String,
    pub kind: Kind,
    pub cases: Vec<Case>,
}

/// What a test file holds beside comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    pub extension: &'static str,
    /// What begins a comment.
    pub comment: &'static str,
    /// The value of `--input-format`.
    pub format: &'static str,
}

/// The files that can be tests.
pub const KINDS: [Kind; 4] = [
    Kind { extension: "pta", comment: "//", format: "pta" },
    Kind { extension: "mlir", comment: "//", format: "stablehlo" },
    Kind { extension: "asm", comment: ";", format: "asm" },
    Kind { extension: "hex", comment: "#", format: "hex" },
];

impl Kind {
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        KINDS.into_iter().find(|kind| kind.extension == extension)
    }
}

/// One program of a file.
pub struct Case {
    /// Empty for a file that is one case.
    pub name: String,
    /// The program with its comments; lines before it are empty, so that lines count as in the file.
    pub program: String,
    /// The file that holds the program instead, as an `input:` line names it.
    pub input: Option<String>,
    /// Lines of the whole case, and of its expectations, from 0.
    pub lines: Range<usize>,
    pub sections_from: usize,
    pub commands: Vec<Command>,
    pub sections: Vec<Section>,
    pub errors: Vec<ExpectedError>,
    pub pins: Vec<Pin>,
}

/// One `test` line, for one target.
#[derive(Clone)]
pub struct Command {
    /// As it is written, with the target that a `targets:` line adds.
    pub text: String,
    pub args: Vec<String>,
    pub checks: Vec<Check>,
}

impl Command {
    pub fn subcommand(&self) -> &str {
        self.args.first().map_or("", String::as_str)
    }

    /// The target that the command names.
    pub fn target(&self) -> Option<&str> {
        let at = self.args.iter().position(|arg| arg == "--target")?;
        self.args.get(at + 1).map(String::as_str)
    }

    /// True when the text that the command prints is pinned down as a whole.
    pub fn has_golden(&self) -> bool {
        self.checks.is_empty() && self.subcommand() != "run" && self.subcommand() != "exec"
    }
}

/// A line that must be there, or must not.
#[derive(Clone)]
pub struct Check {
    pub pattern: Regex,
    pub wanted: bool,
    /// Of the target of this name only.
    pub target: Option<String>,
    pub line: usize,
}

/// A whole output.
pub struct Section {
    pub title: String,
    pub body: String,
}

/// `expect-error@+1: E0301 "part of the message"`
pub struct ExpectedError {
    /// From 1.
    pub line: usize,
    pub code: Option<String>,
    pub message: Option<String>,
}

/// `cost(mariana) <= 1400`
pub struct Pin {
    pub metric: Metric,
    pub target: Option<String>,
    pub most: u64,
    /// From 1.
    pub line: usize,
}

/// What a pin bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Busy cycles of all engines.
    Cost,
    Words,
    Descriptors,
    /// That descriptors move.
    Bytes,
}

const METRICS: [(&str, Metric); 4] = [
    ("cost", Metric::Cost),
    ("words", Metric::Words),
    ("descriptors", Metric::Descriptors),
    ("bytes", Metric::Bytes),
];

/// The commands that a test may run.
const COMMANDS: [&str; 8] = ["opt", "compile", "run", "exec", "cost", "check", "dis", "import"];

/// Flags that would write files or change how results are read.
const FORBIDDEN: [&str; 9] = [
    "-o",
    "--output",
    "--outputs",
    "--dump-dir",
    "--emit-repro",
    "--remarks-output",
    "--color",
    "--error-format",
    "--input-format",
];

impl TestFile {
    /// Reads a file's cases.
    ///
    /// # Errors
    /// The line, from 1, and what is wrong with it.
    pub fn parse(name: String, text: String, kind: Kind) -> Result<Self, (usize, String)> {
        let lines: Vec<&str> = text.lines().collect();
        let mut starts: Vec<(usize, String)> = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            if let Some(name) = comment(line, kind).and_then(|text| text.strip_prefix("====")) {
                starts.push((at, name.trim().to_owned()));
            }
        }
        let first = starts.first().map_or(lines.len(), |(at, _)| *at);
        let only_comments = |lines: &[&str]| {
            lines.iter().all(|line| line.trim().is_empty() || comment(line, kind).is_some())
        };
        let mut shared = Vec::new();
        if starts.is_empty() || !only_comments(&lines[..first]) {
            starts.insert(0, (0, String::new()));
        } else {
            shared = Reader { kind, lines: &lines }.header(0..first)?;
        }
        let ends = starts.iter().skip(1).map(|(at, _)| *at).chain([lines.len()]);
        let mut cases = Vec::new();
        for ((start, name), end) in starts.iter().zip(ends) {
            cases.push(Reader { kind, lines: &lines }.case(name, *start..end, &shared)?);
        }
        Ok(Self { name, text, kind, cases })
    }
}

/// The text of a comment that is a line of its own.
fn comment(line: &str, kind: Kind) -> Option<&str> {
    line.trim_start().strip_prefix(kind.comment).map(str::trim)
}

struct Reader<'a> {
    kind: Kind,
    lines: &'a [&'a str],
}

impl Reader<'_> {
    fn case(
        &self,
        name: &str,
        lines: Range<usize>,
        shared: &[Command],
    ) -> Result<Case, (usize, String)> {
        let title =
            |at: usize| comment(self.lines[at], self.kind)?.strip_prefix("----").map(str::trim);
        let sections_from = lines.clone().find(|&at| title(at).is_some()).unwrap_or(lines.end);
        let mut sections: Vec<Section> = Vec::new();
        for at in sections_from..lines.end {
            let line = self.lines[at];
            match (title(at), sections.last_mut()) {
                (Some(title), _) => {
                    sections.push(Section { title: title.to_owned(), body: String::new() });
                }
                (None, _) if line.trim().is_empty() => {}
                (None, Some(section)) => {
                    let marker = line.strip_prefix(self.kind.comment);
                    let body = marker.ok_or_else(|| {
                        (at + 1, "only comments may follow an expectation within a case".to_owned())
                    })?;
                    section.body.push_str(body.strip_prefix(' ').unwrap_or(body));
                    section.body.push('\n');
                }
                (None, None) => {}
            }
        }
        let own = self.header(lines.start..sections_from)?;
        let commands = if own.is_empty() { shared.to_vec() } else { own };
        let mut program = "\n".repeat(lines.start);
        for line in &self.lines[lines.start..sections_from] {
            program.push_str(line);
            program.push('\n');
        }
        let named = |at: usize| comment(self.lines[at], self.kind)?.strip_prefix("input:");
        let input = (lines.start..sections_from).find_map(named).map(|name| name.trim().to_owned());
        let mut errors = Vec::new();
        for at in lines.start..sections_from {
            errors.extend(self.expected_error(at)?);
        }
        let pins = (lines.start..sections_from).filter_map(|at| self.pin(at)).collect();
        Ok(Case {
            name: name.to_owned(),
            program,
            input,
            lines,
            sections_from,
            commands,
            sections,
            errors,
            pins,
        })
    }

    /// The commands of the comments of a range, each with the checks that follow it.
    fn header(&self, lines: Range<usize>) -> Result<Vec<Command>, (usize, String)> {
        let mut targets: Vec<String> = Vec::new();
        let mut commands: Vec<Command> = Vec::new();
        for at in lines {
            let Some(text) = comment(self.lines[at], self.kind) else { continue };
            let wrong = |what: String| (at + 1, what);
            if let Some(list) = text.strip_prefix("targets:") {
                targets = list
                    .split([',', ' '])
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned)
                    .collect();
            } else if let Some(command) = text.strip_prefix("test ") {
                commands.push(parse_command(command.trim()).map_err(wrong)?);
            } else if let Some((pattern, wanted, target)) = check_line(text) {
                let pattern = Regex::new(pattern).map_err(|error| wrong(error.to_string()))?;
                let check = Check { pattern, wanted, target, line: at + 1 };
                let last = commands.last_mut();
                last.ok_or_else(|| wrong("a check stands below its `test` line".to_owned()))?
                    .checks
                    .push(check);
            }
        }
        Ok(for_targets(commands, &targets))
    }

    /// `expect-error@±N: CODE "text"`, alone or at the end of a line.
    fn expected_error(&self, at: usize) -> Result<Option<ExpectedError>, (usize, String)> {
        let wrong = || {
            (
                at + 1,
                "an expected error is `expect-error@+1: CODE \"text\"`, or a part of that"
                    .to_owned(),
            )
        };
        let Some((_, rest)) =
            self.lines[at].split_once(&format!("{} expect-error", self.kind.comment))
        else {
            return Ok(None);
        };
        let (place, what) = rest.split_once(':').ok_or_else(wrong)?;
        let offset: i64 = match place.trim().strip_prefix('@') {
            Some(number) => number.parse().map_err(|_| wrong())?,
            None => 0,
        };
        let line = i64::try_from(at + 1).ok().and_then(|line| line.checked_add(offset));
        let line = line.and_then(|line| usize::try_from(line).ok()).ok_or_else(wrong)?;
        let what = what.trim();
        let (code, message) = match what.split_once('"') {
            Some((code, text)) => {
                (code.trim(), Some(text.strip_suffix('"').ok_or_else(wrong)?.to_owned()))
            }
            None => (what, None),
        };
        let code = Some(code.to_owned()).filter(|code| !code.is_empty());
        if code.is_none() && message.is_none() {
            return Err(wrong());
        }
        Ok(Some(ExpectedError { line, code, message }))
    }

    fn pin(&self, at: usize) -> Option<Pin> {
        let (left, most) = comment(self.lines[at], self.kind)?.split_once("<=")?;
        let (name, target) = match left.trim().split_once('(') {
            Some((name, target)) => {
                (name.trim(), Some(target.strip_suffix(')')?.trim().to_owned()))
            }
            None => (left.trim(), None),
        };
        let (_, metric) = METRICS.into_iter().find(|(known, _)| *known == name)?;
        Some(Pin { metric, target, most: most.trim().parse().ok()?, line: at + 1 })
    }
}

/// `check: …`, `check-not(mariana): …`
fn check_line(text: &str) -> Option<(&str, bool, Option<String>)> {
    let (left, pattern) = text.split_once(':')?;
    let (name, target) = match left.split_once('(') {
        Some((name, target)) => (name, Some(target.strip_suffix(')')?.to_owned())),
        None => (left, None),
    };
    let wanted = match name {
        "check" => true,
        "check-not" => false,
        _ => return None,
    };
    Some((pattern.trim(), wanted, target))
}

fn parse_command(text: &str) -> Result<Command, String> {
    let args = shlex::split(text).ok_or_else(|| "a quote is not closed".to_owned())?;
    let name = args.first().map_or("", String::as_str);
    if !COMMANDS.contains(&name) {
        return Err(format!("a test runs one of {}", COMMANDS.join(", ")));
    }
    let flag = |arg: &String| arg.split('=').next().unwrap_or_default().to_owned();
    if let Some(arg) = args.iter().map(flag).find(|arg| FORBIDDEN.contains(&arg.as_str())) {
        return Err(format!("`{arg}` has no place in a test"));
    }
    Ok(Command { text: text.to_owned(), args, checks: Vec::new() })
}

/// Each command for each target, but those that name their own; checks of other targets go.
fn for_targets(commands: Vec<Command>, targets: &[String]) -> Vec<Command> {
    let mut out: Vec<Command> = Vec::new();
    for command in commands {
        if targets.is_empty() || command.target().is_some() {
            out.push(command);
            continue;
        }
        for target in targets {
            let mut one = command.clone();
            one.text = format!("{} --target {target}", command.text);
            one.args.extend(["--target".to_owned(), target.clone()]);
            out.push(one);
        }
    }
    for command in &mut out {
        let own = command.target().map_or_else(|| Target::default().to_string(), str::to_owned);
        command.checks.retain(|check| check.target.as_ref().is_none_or(|target| *target == own));
    }
    out
}

impl Case {
    /// The title of a command's expectation: the subcommand where that is enough.
    pub fn title<'a>(&self, command: &'a Command) -> &'a str {
        let same = self.commands.iter().filter(|one| one.subcommand() == command.subcommand());
        if same.count() > 1 { &command.text } else { command.subcommand() }
    }

    pub fn expectation(&self, command: &Command) -> Option<&str> {
        let title = self.title(command);
        self.sections
            .iter()
            .find(|section| section.title == title)
            .map(|section| section.body.as_str())
    }
}
