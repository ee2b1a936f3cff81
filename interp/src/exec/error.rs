//! Why a program does not run.

use std::fmt;

use partita_backend::program::{ProgramError, Slot};
use partita_ir::TensorType;

use crate::error::Fault;
use crate::machine::MemoryError;

/// An item of a queue, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub queue: Slot,
    /// Index within its queue.
    pub index: usize,
    /// Its assembler text.
    pub text: String,
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.queue {
            Slot::Word(_) => "word",
            Slot::Dma(_) => "descriptor",
        };
        write!(f, "{kind} {} of {} `{}`", self.index, self.queue, self.text)
    }
}

/// An item at the head of its queue whose wait does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub item: Item,
    /// What it waits for, and how things are.
    pub reason: String,
}

/// Why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error("the program takes {want} inputs, {got} are given")]
    InputCount { want: usize, got: usize },
    #[error("input `{name}` is {want}, {got} is given")]
    InputType { name: String, want: Box<TensorType>, got: Box<TensorType> },
    #[error("{item}: {fault}")]
    Item { item: Item, fault: Fault },
    #[error("deadlock: {}", waiting_text(.0))]
    Deadlock(Vec<Waiting>),
    #[error("output `{name}`: {reason}")]
    Output { name: String, reason: String },
}

fn waiting_text(waiting: &[Waiting]) -> String {
    let lines: Vec<String> =
        waiting.iter().map(|head| format!("\n  {} waits for {}", head.item, head.reason)).collect();
    lines.concat()
}
