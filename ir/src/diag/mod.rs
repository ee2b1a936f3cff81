//! Diagnostics: what is wrong, where, and what to do about it.

mod code;
mod render;
mod source;

pub use code::Code;
pub use render::{Located, Place, Style, render_all};
pub use source::{Source, Span};

use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Note,
    Warning,
    Error,
}

/// A place and what to say there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Label {
    pub span: Span,
    pub text: String,
}

/// One error or warning. It can be rendered against its [`Source`], or written
/// as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    pub severity: Severity,
    pub code: Code,
    pub message: String,
    /// Where; [`Span::NONE`] when the program was not read from text.
    pub primary: Label,
    pub secondary: Vec<Label>,
    /// How to mend it.
    pub help: Option<String>,
    pub notes: Vec<String>,
}

impl Diagnostic {
    /// An error with the general help of its code.
    pub fn error(code: Code, message: impl Into<String>, span: Span) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: message.into(),
            primary: Label { span, text: String::new() },
            secondary: Vec::new(),
            help: Some(code.help().to_owned()),
            notes: Vec::new(),
        }
    }

    /// What to say at the primary place.
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Another place that matters; ignored when it is nowhere.
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        if !span.is_none() {
            self.secondary.push(Label { span, text: text.into() });
        }
        self
    }

    /// Replaces the help.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Adds a note.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }
}
