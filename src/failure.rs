//! Why a command stops, and what the shell sees of it.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use partita::ir::diag::{Style, render_all};
use partita::ir::{Diagnostic, Source};

use crate::cli::Color;

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
    pub fn report(&self, color: Color) {
        let text = match self {
            Failure::Diagnostics(source, found) => {
                render_all(found, source.as_deref(), style(color))
            }
            Failure::Message(text) | Failure::Usage(text) => format!("error: {text}\n"),
            Failure::CheckFailed | Failure::OutputClosed => return,
        };
        say(&text);
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
