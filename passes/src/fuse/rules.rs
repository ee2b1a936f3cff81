//! The rules of fusion, as rows of data: what fits, what it becomes, and how far
//! results are kept. `tests/fuse_rules.rs` proves every row by evaluating both sides.

mod casts;
mod layout;
mod partitions;

use partita_ir::infer::InferError;
use partita_ir::ops::TensorOpName;
use partita_ir::{FuncBuilder, TensorOp, TensorType, ValueId};
use partita_isa::Target;

use super::language::{Entry, EntryKind, Slot};
use crate::rewrite::RewriteClass;

/// One rule.
#[derive(Debug)]
pub struct Rule {
    pub name: &'static str,
    pub class: RewriteClass,
    /// What it says.
    pub doc: &'static str,
    /// What is made, as remarks name it.
    pub makes: &'static str,
    /// The kinds of operations that fit: the first is the one replaced, each later
    /// one defines the first operand of the one before.
    pub chain: &'static [TensorOpName],
    /// True when every operation made must be one that words of the target do
    /// exactly; a rule that leaves work to legalization says false.
    pub only_exact_words: bool,
    /// Builds the other form.
    pub build: fn(&mut FuncBuilder, &Site<'_>) -> Result<ValueId, Refusal>,
}

impl Rule {
    /// The kind of the operation that the rule replaces.
    pub fn root(&self) -> TensorOpName {
        self.chain.first().copied().unwrap_or(TensorOpName::Constant)
    }
}

/// Why a rule made nothing where its chain fitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Attributes or types are not those that the rule is about.
    NoMatch,
    /// It is about this, but the machine or exactness stands in the way.
    Forbidden { rule: Option<&'static str>, reason: String },
    /// The rule is wrong.
    Fault(String),
}

impl Refusal {
    pub fn forbidden(rule: &'static str, reason: impl Into<String>) -> Self {
        Self::Forbidden { rule: Some(rule), reason: reason.into() }
    }
}

impl From<InferError> for Refusal {
    fn from(error: InferError) -> Self {
        Self::Fault(error.to_string())
    }
}

/// Where a rule fits.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The operations of the chain.
    pub entries: &'a [&'a Entry],
    /// The values that the last of them reads.
    pub inputs: &'a [ValueId],
    pub target: &'a Target,
}

impl<'a> Site<'a> {
    /// An operation of the chain.
    pub fn op(&self, index: usize) -> Result<&'a TensorOp, Refusal> {
        self.entries.get(index).and_then(|entry| entry.op()).ok_or(Refusal::NoMatch)
    }

    /// The result type of an operation of the chain.
    pub fn ty(&self, index: usize) -> Result<&'a TensorType, Refusal> {
        self.entries.get(index).map(|entry| &entry.ty).ok_or(Refusal::NoMatch)
    }

    /// The operand places of an operation of the chain.
    pub fn slots(&self, index: usize) -> Result<&'a [Slot], Refusal> {
        match self.entries.get(index).map(|entry| &entry.kind) {
            Some(EntryKind::Op { slots, .. }) => Ok(slots),
            _ => Err(Refusal::NoMatch),
        }
    }

    /// The first value that the chain reads.
    pub fn input(&self) -> Result<ValueId, Refusal> {
        self.inputs.first().copied().ok_or(Refusal::NoMatch)
    }
}

/// Every rule, in the order in which they are tried.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    TABLES.iter().flat_map(|table| table.iter())
}

const TABLES: [&[Rule]; 3] = [layout::RULES, partitions::RULES, casts::RULES];
