//! The rules of fusion, as rows of data: what fits, what it becomes, and how far
//! results are kept. `tests/fuse_rules` proves every row by evaluating both sides.

mod casts;
mod folds;
mod layout;
mod pairs;
mod partitions;
mod reductions;
pub(super) mod selects;
mod transposes;

use std::fmt;

use partita_ir::infer::InferError;
use partita_ir::ops::TensorOpName;
use partita_ir::{
    ElementwiseOp, Func, FuncBuilder, Literal, Operand, TensorOp, TensorType, ValueId,
};
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
    /// one defines an operand of the one before.
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

/// An operation of a chain and what it reads.
#[derive(Clone, Debug)]
pub struct Link<'a> {
    pub entry: &'a Entry,
    /// For each operand that is a value, the number of the rule's input that it is;
    /// none for the result of the next operation of the chain.
    pub reads: SmallVec<[Option<usize>; 3]>,
}

impl Rule {
    /// What the rule makes of a chain that reads inputs of these types, each once: a
    /// function of the inputs, of words alone where that is asked for.
    ///
    /// # Errors
    /// The rule does not apply, or the target does not do what it makes.
    pub fn route(
        &self,
        links: &[Link<'_>],
        inputs: &[TensorType],
        target: &Target,
        words_only: bool,
    ) -> Result<Func, Refusal> {
        let inputs: SmallVec<[&TensorType; 3]> = inputs.iter().collect();
        self.route_in(&mut None, links, &inputs, target, words_only)
    }

    /// The same in a draft for these inputs, which is left where the rule does not fit.
    ///
    /// # Errors
    /// As [`Rule::route`].
    pub fn route_in(
        &self,
        draft: &mut Option<Draft>,
        links: &[Link<'_>],
        inputs: &[&TensorType],
        target: &Target,
        words_only: bool,
    ) -> Result<Func, Refusal> {
        let Draft { mut builder, args } =
            draft.take().filter(|draft| draft.fits(inputs)).unwrap_or_else(|| Draft::new(inputs));
        let site = Site { links, inputs: &args, target };
        let result = match (self.build)(&mut builder, &site) {
            Ok(result) => result,
            Err(refusal) => {
                if builder.func().ops.is_empty() {
                    *draft = Some(Draft { builder, args });
                }
                return Err(refusal);
            }
        };
        let want = site.ty(0)?;
        if builder.ty(result) != Some(want) {
            let what = builder.ty(result).map_or_else(|| "nothing".to_owned(), ToString::to_string);
            return Err(Refusal::Fault(format!("it gives {what}, not {want}")));
        }
        let func = builder.finish(&[result]);
        if self.only_exact_words || words_only {
            for (_, op) in func.body_ops() {
                select::core_reason(&func, op, target)
                    .map_err(|not| Refusal::Forbidden { rule: not.rule, reason: not.reason })?;
            }
        }
        Ok(func)
    }

    /// The other form of a function that consists of the chain alone, its arguments
    /// being what the chain reads in order (see [`Link`]): both sides of the rule, for
    /// proofs.
    ///
    /// # Errors
    /// As [`Rule::route`]; the function is not of this form.
    pub fn other_side(&self, func: &Func, target: &Target) -> Result<Func, Refusal> {
        let mut table = Table::default();
        let mut nodes = Vec::new();
        let mut value = func.returned().next();
        let mut inputs: Vec<ValueId> = Vec::new();
        for (at, &kind) in self.chain.iter().enumerate() {
            let id = value.and_then(|value| func.def_op(value)).ok_or(Refusal::NoMatch)?;
            let op = func.ops.get(id).ok_or(Refusal::NoMatch)?;
            let kind_of = |op: &partita_ir::Op| op.as_tensor().map(TensorOp::kind_name);
            let tensor = op.as_tensor().filter(|op| op.kind_name() == kind);
            let ty = op.result().and_then(|result| func.tensor_ty(result)).cloned();
            let any_class = |_| Some(egg::Id::from(0));
            let node = table.op(
                tensor.cloned().ok_or(Refusal::NoMatch)?,
                &op.operands,
                ty.ok_or(Refusal::NoMatch)?,
                any_class,
            );
            let continues = |value: &ValueId| {
                let def = func.def_op(*value).and_then(|id| func.ops.get(id));
                def.and_then(kind_of).is_some_and(|kind| self.chain.get(at + 1) == Some(&kind))
            };
            value = op.value_operands().find(continues);
            let mut next = value;
            let mut reads = SmallVec::new();
            for operand in op.value_operands() {
                if next == Some(operand) {
                    next = None;
                    reads.push(None);
                    continue;
                }
                let number = inputs.iter().position(|input| *input == operand);
                reads.push(Some(number.unwrap_or(inputs.len())));
                if number.is_none() {
                    inputs.push(operand);
                }
            }
            nodes.push((node.ok_or(Refusal::NoMatch)?, reads));
        }
        if inputs != func.args {
            return Err(Refusal::NoMatch);
        }
        let link = |(node, reads): &(_, SmallVec<_>)| {
            Some(Link { entry: table.entry(node)?, reads: reads.clone() })
        };
        let links: Vec<Link<'_>> = nodes.iter().filter_map(link).collect();
        let types: Vec<TensorType> =
            inputs.iter().filter_map(|&input| func.tensor_ty(input).cloned()).collect();
        self.route(&links, &types, target, false)
    }
}

/// A function with an argument for each input and nothing in it yet, for several rules to try.
#[derive(Debug)]
pub struct Draft {
    builder: FuncBuilder,
    args: SmallVec<[ValueId; 3]>,
}

impl Draft {
    fn new(inputs: &[&TensorType]) -> Self {
        let mut builder = FuncBuilder::new("route");
        let args = inputs.iter().map(|&ty| builder.arg("x", ty.clone())).collect();
        Self { builder, args }
    }

    fn fits(&self, inputs: &[&TensorType]) -> bool {
        self.args.len() == inputs.len()
            && self.args.iter().zip(inputs).all(|(&arg, &ty)| self.builder.ty(arg) == Some(ty))
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

/// An operand of an operation of a chain, in the builder's terms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Read {
    /// The result of the chain's next operation.
    Chain,
    Value(ValueId),
    Literal(Literal),
}

impl Read {
    /// The operand; none for what the chain computes.
    pub fn operand(self) -> Option<Operand> {
        match self {
            Self::Chain => None,
            Self::Value(value) => Some(value.into()),
            Self::Literal(literal) => Some(literal.into()),
        }
    }
}

/// Where a rule fits.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The operations of the chain.
    pub links: &'a [Link<'a>],
    /// The values that the chain reads, each once.
    pub inputs: &'a [ValueId],
    pub target: &'a Target,
}

impl<'a> Site<'a> {
    fn entry(&self, index: usize) -> Result<&'a Entry, Refusal> {
        self.links.get(index).map(|link| link.entry).ok_or(Refusal::NoMatch)
    }

    /// An operation of the chain.
    pub fn op(&self, index: usize) -> Result<&'a TensorOp, Refusal> {
        self.entry(index)?.op().ok_or(Refusal::NoMatch)
    }

    /// The elementwise operation of the chain at this place.
    pub fn elementwise(&self, index: usize) -> Result<ElementwiseOp, Refusal> {
        match self.op(index)? {
            TensorOp::Elementwise(op) => Ok(*op),
            _ => Err(Refusal::NoMatch),
        }
    }

    /// The result type of an operation of the chain.
    pub fn ty(&self, index: usize) -> Result<&'a TensorType, Refusal> {
        self.entry(index).map(|entry| &entry.ty)
    }

    /// The operands of an operation of the chain.
    pub fn reads(&self, index: usize) -> Result<SmallVec<[Read; 3]>, Refusal> {
        let link = self.links.get(index).ok_or(Refusal::NoMatch)?;
        let EntryKind::Op { slots, .. } = &link.entry.kind else { return Err(Refusal::NoMatch) };
        let mut values = link.reads.iter();
        let read = |slot: &Slot| match slot {
            Slot::Literal(literal) => Some(Read::Literal(*literal)),
            Slot::Child => match values.next()? {
                None => Some(Read::Chain),
                Some(input) => self.inputs.get(*input).copied().map(Read::Value),
            },
        };
        slots.iter().map(read).collect::<Option<_>>().ok_or(Refusal::NoMatch)
    }

    /// The operands of an operation that ends a chain: all are values or literals.
    pub fn operands(&self, index: usize) -> Result<Vec<Operand>, Refusal> {
        let operands = self.reads(index)?.into_iter().map(Read::operand);
        operands.collect::<Option<_>>().ok_or(Refusal::NoMatch)
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

const TABLES: [&[Rule]; 8] = [
    layout::RULES,
    partitions::RULES,
    casts::RULES,
    pairs::RULES,
    folds::RULES,
    transposes::RULES,
    reductions::RULES,
    selects::RULES,
];
