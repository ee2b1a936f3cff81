//! The rules of fusion, as rows of data: what fits, what it becomes, and how far
//! results are kept. `tests/fuse_rules.rs` proves every row by evaluating both sides.

mod casts;
mod layout;
mod partitions;

use std::fmt;

use partita_ir::infer::InferError;
use partita_ir::ops::TensorOpName;
use partita_ir::{Func, FuncBuilder, TensorOp, TensorType, ValueId};
use partita_isa::{Opcode, Target};
use smallvec::SmallVec;

use super::language::{Entry, EntryKind, Slot, Table};
use crate::rewrite::RewriteClass;
use crate::select;

/// What a rule makes.
#[derive(Clone, Copy, Debug)]
pub enum Makes {
    /// One instruction, named by its number and name.
    Word(Opcode),
    /// Anything else.
    Form(&'static str),
}

impl fmt::Display for Makes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(opcode) => write!(f, "{:#04x} {opcode}", opcode.number()),
            Self::Form(text) => f.write_str(text),
        }
    }
}

/// One rule.
#[derive(Debug)]
pub struct Rule {
    pub name: &'static str,
    pub class: RewriteClass,
    /// What it says.
    pub doc: &'static str,
    /// What is made, as remarks name it.
    pub makes: Makes,
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

impl Rule {
    /// What the rule makes of the operations of a chain, the last of which reads
    /// inputs of these types: a function of the inputs.
    ///
    /// # Errors
    /// The rule does not apply, or the target does not do what it makes.
    pub fn route(
        &self,
        entries: &[&Entry],
        inputs: &[TensorType],
        target: &Target,
    ) -> Result<Func, Refusal> {
        // Other values than the first operand belong to the last operation only.
        let inner = entries.split_last().map_or(&[][..], |(_, inner)| inner);
        if inner.iter().any(|entry| entry.children() != 1) {
            return Err(Refusal::NoMatch);
        }
        let mut builder = FuncBuilder::new("route");
        let args: SmallVec<[ValueId; 3]> =
            inputs.iter().map(|ty| builder.arg("x", ty.clone())).collect();
        let site = Site { entries, inputs: &args, target };
        let result = (self.build)(&mut builder, &site)?;
        let want = site.ty(0)?;
        if builder.ty(result) != Some(want) {
            let what = builder.ty(result).map_or_else(|| "nothing".to_owned(), ToString::to_string);
            return Err(Refusal::Fault(format!("it gives {what}, not {want}")));
        }
        let func = builder.finish(&[result]);
        if self.only_exact_words {
            for (_, op) in func.body_ops() {
                select::core_reason(&func, op, target)
                    .map_err(|not| Refusal::Forbidden { rule: not.rule, reason: not.reason })?;
            }
        }
        Ok(func)
    }

    /// The other form of a function that consists of the chain alone, its arguments
    /// being the operands of the chain's last operation in order: both sides of the
    /// rule, for proofs.
    ///
    /// # Errors
    /// As [`Rule::route`]; the function is not of this form.
    pub fn other_side(&self, func: &Func, target: &Target) -> Result<Func, Refusal> {
        let mut table = Table::default();
        let mut nodes = Vec::new();
        let mut value = func.returned().next().ok_or(Refusal::NoMatch)?;
        let mut inputs = Vec::new();
        for &kind in self.chain {
            let op = func.def_op(value).and_then(|op| func.ops.get(op)).ok_or(Refusal::NoMatch)?;
            let tensor =
                op.as_tensor().filter(|op| op.kind_name() == kind).ok_or(Refusal::NoMatch)?;
            let ty = func.tensor_ty(value).cloned().ok_or(Refusal::NoMatch)?;
            let any_class = |_| Some(egg::Id::from(0));
            nodes.push(
                table.op(tensor.clone(), &op.operands, ty, any_class).ok_or(Refusal::NoMatch)?,
            );
            inputs = op.value_operands().collect();
            value = inputs.first().copied().ok_or(Refusal::NoMatch)?;
        }
        if inputs != func.args {
            return Err(Refusal::NoMatch);
        }
        let entries: Vec<&Entry> = nodes.iter().filter_map(|node| table.entry(node)).collect();
        let types: Vec<TensorType> =
            inputs.iter().filter_map(|&input| func.tensor_ty(input).cloned()).collect();
        self.route(&entries, &types, target)
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
