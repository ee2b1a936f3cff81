//! Why a command stops, and what the shell sees of it.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use partita::ir::diag::{Code, Located, Severity, Style, render_all};
use partita::ir::{Diagnostic, Source};

use serde::Serialize;

use crate::cli::{Color, Format};

/// Everything that ends a command early.
#[derive(Debug)]
pub enum Failure {
    /// Findings, with the text that they are about, if there is one.
    Diagnostics(Option<Box<Source>>, Vec<Diagnostic>),
    /// A wrong input or a failed check that no place in a text can be named for.
    Message(String),
    /// The arguments do not fit each other.
    Usage(String),
    /// A check failed and everything about it has been printed.
    CheckFailed,
    /// The reader of standard output has gone: nothing is left to do, and nothing is wrong.
    OutputClosed,
}

/// What commands return.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// A message with the file it is about.
    pub fn about(path: &Path, what: impl fmt::Display) -> Self {
        Failure::Message(format!("{}: {what}", path.display()))
    }

    /// A message alone.
    pub fn message(what: impl fmt::Display) -> Self {
        Failure::Message(what.to_string())
    }

    /// Exit status: 1 when the input or a check is wrong, 2 for wrong usage.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::OutputClosed => ExitCode::SUCCESS,
            Failure::Usage(_) => ExitCode::from(2),
            Failure::Diagnostics(..) | Failure::Message(_) | Failure::CheckFailed => {
                ExitCode::from(1)
            }
        }
    }

    /// Tells standard error.
    pub fn report(&self, color: Color, format: Format) {
        let text = match (self, format) {
            (Failure::CheckFailed | Failure::OutputClosed, _) => return,
            (_, Format::Json) => self.records(),
            (Failure::Diagnostics(source, found), _) => {
                render_all(found, source.as_deref(), style(color))
            }
            (Failure::Message(text) | Failure::Usage(text), _) => format!("error: {text}\n"),
        };
        say(&text);
    }

    /// One JSON record a line for each finding.
    fn records(&self) -> String {
        let record = |found: ErrorRecord<'_>| {
            serde_json::to_string(&found).map(|line| line + "\n").unwrap_or_default()
        };
        match self {
            Failure::Diagnostics(source, found) => {
                let located = found.iter().map(|one| one.located(source.as_deref()));
                located.map(|one| record(ErrorRecord::from(&one))).collect()
            }
            Failure::Message(message) | Failure::Usage(message) => {
                record(ErrorRecord { severity: Severity::Error, message, ..ErrorRecord::default() })
            }
            Failure::CheckFailed | Failure::OutputClosed => String::new(),
        }
    }
}

/// A finding as `--error-format json` prints it.
#[derive(Serialize)]
struct ErrorRecord<'a> {
    severity: Severity,
    code: Option<Code>,
    message: &'a str,
    file: Option<&'a str>,
    /// From 1, as the column.
    line: Option<usize>,
    column: Option<usize>,
    help: Option<&'a str>,
    notes: &'a [String],
}

impl Default for ErrorRecord<'_> {
    fn default() -> Self {
        Self {
            severity: Severity::Error,
            code: None,
            message: "",
            file: None,
            line: None,
            column: None,
            help: None,
            notes: &[],
        }
    }
}

impl<'a> From<&'a Located<'a>> for ErrorRecord<'a> {
    fn from(located: &'a Located<'a>) -> Self {
        Self {
            severity: located.severity,
            code: Some(located.code),
            message: located.message,
            file: located.primary.file.as_deref(),
            line: located.primary.line,
            column: located.primary.column,
            help: located.help,
            notes: located.notes,
        }
    }
}

/// Writes to standard error; when that is gone there is nobody to tell.
pub fn say(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Whether diagnostics are coloured.
pub fn style(color: Color) -> Style {
    let colored = match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
    };
    if colored { Style::Color } else { Style::Plain }
}

/// For writes to standard output, the one stream that is written without a name.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::OutputClosed,
            _ => Failure::Message(format!("cannot write the output: {error}")),
        }
    }
}
