//! What the auditor reports.

use std::fmt::Write as _;

use partita_ir::diag::{Code, Severity};
use partita_ir::{Diagnostic, Span};
use serde::Serialize;

use super::access::Space;
use crate::program::{Program, Slot};

/// An item of a queue as a reader finds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ItemRef {
    /// An engine, or `dma queue N`.
    pub queue: String,
    /// Index within its queue.
    pub index: usize,
    /// Assembler text.
    pub text: String,
    /// The source op, where the program has symbols.
    pub source: Option<String>,
}

/// Bytes that a finding is about, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bytes {
    pub space: Space,
    /// Absent in main memory.
    pub partitions: Option<(u32, u32)>,
    pub first: u64,
    pub last: u64,
}

/// One thing that is wrong, or that cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub code: Code,
    pub severity: Severity,
    pub message: String,
    pub bytes: Option<Bytes>,
    pub items: Vec<ItemRef>,
    pub notes: Vec<String>,
    pub help: String,
}

impl Bytes {
    /// `mask` has one bit a partition; main memory has the bit 0 alone.
    pub(super) fn new(space: Space, mask: u128, (low, high): (u64, u64)) -> Self {
        let partitions =
            (space != Space::Hbm).then(|| (mask.trailing_zeros(), 127 - mask.leading_zeros()));
        Self { space, partitions, first: low, last: high.saturating_sub(1) }
    }
}

impl std::fmt::Display for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.space.name())?;
        match self.partitions {
            Some((first, last)) if first == last => write!(f, " partition {first}")?,
            Some((first, last)) => write!(f, " partitions {first} to {last}")?,
            None => {}
        }
        write!(f, " bytes {:#x} to {:#x}", self.first, self.last)
    }
}

impl ItemRef {
    /// The item at `index` of the queue `slot`; `at` is its index in [`Program::dma`] or among the engine's words.
    pub(super) fn new(program: &Program, slot: Slot, index: usize, at: usize) -> Self {
        let place = slot.place();
        let holds = |symbol: &&crate::program::Symbol| {
            let first = symbol.first as usize;
            symbol.place == place && first <= at && at - first < symbol.count as usize
        };
        let source = program.symbols.iter().find(holds).map(|symbol| symbol.name.clone());
        let text = program.item_text(slot, at).unwrap_or_default();
        Self { queue: slot.to_string(), index, text, source }
    }

    /// `dve[3]`.
    pub fn name(&self) -> String {
        format!("{}[{}]", self.queue, self.index)
    }
}

impl Finding {
    pub(super) fn new(code: Code, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            code,
            severity,
            message: message.into(),
            bytes: None,
            items: Vec::new(),
            notes: Vec::new(),
            help: code.help().to_owned(),
        }
    }

    pub(super) fn error(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Error, message)
    }

    pub(super) fn warning(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Warning, message)
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Several lines: the message, the items, notes, and what to do.
    pub fn text(&self) -> String {
        let severity = if self.is_error() { "error" } else { "warning" };
        let mut out = format!("{severity}[{}]: {}\n", self.code, self.message);
        for item in &self.items {
            let source = item.source.as_ref().map(|name| format!(" (%{name})")).unwrap_or_default();
            let _ = writeln!(out, "  {}{source}: {}", item.name(), item.text);
        }
        for note in &self.notes {
            let _ = writeln!(out, "  {note}");
        }
        let _ = writeln!(out, "  help: {}", self.help);
        out
    }

    /// The finding as a diagnostic without a place in a text.
    pub fn diagnostic(&self) -> Diagnostic {
        let mut diagnostic = Diagnostic::error(self.code, self.message.clone(), Span::NONE);
        diagnostic.severity = self.severity;
        diagnostic.help = Some(self.help.clone());
        for item in &self.items {
            let source =
                item.source.as_ref().map(|name| format!(" of %{name}")).unwrap_or_default();
            diagnostic.notes.push(format!("{}{source}: {}", item.name(), item.text));
        }
        diagnostic.notes.extend(self.notes.iter().cloned());
        diagnostic
    }
}
