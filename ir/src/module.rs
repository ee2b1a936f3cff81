//! Modules, functions, operations and values.

use std::fmt;
use std::str::FromStr;

use partita_isa::{Generation, Target};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::diag::Span;
use crate::entity::{Arena, EntityId, OpId, ValueId};
use crate::literal::Literal;
use crate::ops::{MachineOp, OpKind, TensorOp};
use crate::types::{ElemType, TensorType, Type};

/// A program: functions with distinct names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// The machine that the `tile` and `tpb` dialects are written for, as
    /// `target cayman` on the first line; without one it is the default of
    /// [`Module::target`]. The `tensor` dialect does not ask.
    pub target: Option<Target>,
    pub funcs: Vec<Func>,
}

/// The machine of text that names none.
pub const DEFAULT_TARGET: Target = Target::new(Generation::Cayman);

impl Module {
    /// The machine that addresses are read and printed for.
    pub fn target(&self) -> Target {
        self.target.unwrap_or(DEFAULT_TARGET)
    }

    pub fn func(&self, name: &str) -> Option<&Func> {
        self.funcs.iter().find(|func| func.name == name)
    }
}

/// A straight line of operations from arguments to a `return`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Func {
    /// Without the `@`.
    pub name: String,
    /// Not to be chosen as an entry point.
    pub private: bool,
    pub args: Vec<ValueId>,
    /// Beside `args`.
    pub arg_attrs: Vec<ArgAttrs>,
    pub result_types: Vec<Type>,
    pub values: Arena<ValueId, Value>,
    pub ops: Arena<OpId, Op>,
    /// The live operations in order; the last is the `return`.
    pub body: Vec<OpId>,
    /// What stood in `loc(…)`.
    pub loc: Option<Box<str>>,
    pub spans: FuncSpans,
    names: NameSet,
}

/// Attributes of an argument.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArgAttrs {
    /// How `--random` fills it.
    pub random: Option<RandomRange>,
}

/// A distribution for random inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RandomRange {
    /// `uniform(a, b)`: reals, `a` included, `b` excluded.
    Uniform(f64, f64),
    /// `int(a, b)`: integers, both ends included.
    Int(i64, i64),
}

impl fmt::Display for RandomRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform(low, high) => write!(f, "uniform({low:?}, {high:?})"),
            Self::Int(low, high) => write!(f, "int({low}, {high})"),
        }
    }
}

impl FromStr for RandomRange {
    type Err = String;

    /// Reads what [`fmt::Display`] writes; whether it fits a type is not asked.
    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (kind, rest) = text.trim().split_once('(')?;
            let (low, high) = rest.strip_suffix(')')?.split_once(',')?;
            let (low, high) = (low.trim(), high.trim());
            match kind.trim() {
                "uniform" => Some(Self::Uniform(low.parse().ok()?, high.parse().ok()?)),
                "int" => Some(Self::Int(low.parse().ok()?, high.parse().ok()?)),
                _ => None,
            }
        };
        parse().ok_or_else(|| format!("`{text}` is no distribution: uniform(a, b) or int(a, b)"))
    }
}

/// A value: its name without the `%`, its type, and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    pub name: Box<str>,
    pub ty: Type,
    pub def: ValueDef,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueDef {
    /// Argument number.
    Arg(u32),
    /// Result of an operation.
    Op(OpId),
    /// Nowhere yet: a value made before its operation, or one whose operation
    /// could not be read. The verifier refuses it in a finished module.
    Detached,
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    pub kind: OpKind,
    pub operands: SmallVec<[Operand; 3]>,
    pub results: SmallVec<[ValueId; 1]>,
    /// What stood in `loc(…)`.
    pub loc: Option<Box<str>>,
}

impl Op {
    /// The value operands, in order.
    pub fn value_operands(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.operands.iter().filter_map(Operand::value)
    }

    /// The result of an operation that has exactly one.
    pub fn result(&self) -> Option<ValueId> {
        match self.results.as_slice() {
            [result] => Some(*result),
            _ => None,
        }
    }

    pub fn as_tensor(&self) -> Option<&TensorOp> {
        self.kind.as_tensor()
    }

    pub fn as_machine(&self) -> Option<&MachineOp> {
        self.kind.as_machine()
    }

    /// The tiles that a machine operation's addresses are relative to, each with
    /// the field that refers to it.
    pub fn tiles(&self) -> impl Iterator<Item = (&'static str, ValueId)> + '_ {
        let fields = self.as_machine().map_or(&[] as &[&'static str], MachineOp::fields);
        fields
            .iter()
            .copied()
            .zip(&self.operands)
            .filter_map(|(field, operand)| Some((field, operand.value()?)))
    }
}

/// An operand: a value, or a scalar written in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    Value(ValueId),
    Literal(Literal),
}

impl Operand {
    pub fn value(&self) -> Option<ValueId> {
        match self {
            Operand::Value(value) => Some(*value),
            Operand::Literal(_) => None,
        }
    }

    pub fn literal(&self) -> Option<Literal> {
        match self {
            Operand::Literal(literal) => Some(*literal),
            Operand::Value(_) => None,
        }
    }
}

impl From<ValueId> for Operand {
    fn from(value: ValueId) -> Self {
        Operand::Value(value)
    }
}

impl From<Literal> for Operand {
    fn from(literal: Literal) -> Self {
        Operand::Literal(literal)
    }
}

impl From<f32> for Operand {
    fn from(value: f32) -> Self {
        Operand::Literal(Literal::from_f32(value))
    }
}

impl From<i64> for Operand {
    fn from(value: i64) -> Self {
        Operand::Literal(Literal::Int(i128::from(value)))
    }
}

/// Places in the source text, beside the arenas; empty for what a pass made.
/// Spans say nothing about a program, so all compare equal.
#[derive(Clone, Debug, Default)]
pub struct FuncSpans {
    /// The function's name.
    pub name: Span,
    /// The result types in the signature.
    pub results: Span,
    pub(crate) ops: Vec<OpSpans>,
    pub(crate) values: Vec<Span>,
}

/// Places of one operation.
#[derive(Clone, Debug, Default)]
pub struct OpSpans {
    pub whole: Span,
    /// The operation's name.
    pub name: Span,
    pub operands: SmallVec<[Span; 3]>,
    /// The type after the colon.
    pub ty: Span,
}

impl PartialEq for FuncSpans {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl FuncSpans {
    /// The places of an operation, if it was read from text.
    pub fn op(&self, op: OpId) -> Option<&OpSpans> {
        self.ops.get(op.index())
    }

    /// Where a value is defined.
    pub fn value(&self, value: ValueId) -> Span {
        self.values.get(value.index()).copied().unwrap_or_default()
    }

    /// Records the places of an operation.
    pub fn set_op(&mut self, op: OpId, spans: OpSpans) {
        if self.ops.len() <= op.index() {
            self.ops.resize(op.index() + 1, OpSpans::default());
        }
        self.ops[op.index()] = spans;
    }

    /// Records where a value is defined.
    pub fn set_value(&mut self, value: ValueId, span: Span) {
        if self.values.len() <= value.index() {
            self.values.resize(value.index() + 1, Span::default());
        }
        self.values[value.index()] = span;
    }
}

/// The names in use in a function, gathered when a fresh one is first asked for.
/// They follow from the values, so all compare equal.
#[derive(Clone, Debug, Default)]
struct NameSet(Option<Names>);

#[derive(Clone, Debug, Default)]
struct Names {
    used: FxHashSet<Box<str>>,
    /// The least number not yet tried after a stem.
    next: FxHashMap<Box<str>, u32>,
}

impl PartialEq for NameSet {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Func {
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds an argument under exactly this name.
    pub fn add_arg(&mut self, name: &str, ty: impl Into<Type>, attrs: ArgAttrs) -> ValueId {
        let value = self.add_value(name, ty, ValueDef::Arg(self.args.len() as u32));
        self.args.push(value);
        self.arg_attrs.push(attrs);
        value
    }

    /// Adds a value under exactly this name.
    pub fn add_value(&mut self, name: &str, ty: impl Into<Type>, def: ValueDef) -> ValueId {
        if let Some(names) = &mut self.names.0 {
            names.used.insert(name.into());
        }
        self.values.push(Value { name: name.into(), ty: ty.into(), def })
    }

    /// A name that no value has: the hint itself, or the hint with the least
    /// number that is free. Characters that text does not allow become `_`.
    pub fn fresh_name(&mut self, hint: &str) -> String {
        let values = &self.values;
        let names = self.names.0.get_or_insert_with(|| Names {
            used: values.iter().map(|(_, value)| value.name.clone()).collect(),
            next: FxHashMap::default(),
        });
        let mut name: String =
            hint.chars().map(|c| if is_name_char(c) { c } else { '_' }).collect();
        if name.is_empty() {
            name.push('v');
        }
        if !names.used.contains(name.as_str()) {
            return name;
        }
        // `x9` and `x` with a 9 after it must not be confused by a reader.
        if name.ends_with(|c: char| c.is_ascii_digit()) {
            name.push('_');
        }
        let next = names.next.entry(name.as_str().into()).or_default();
        loop {
            let candidate = format!("{name}{next}");
            *next = next.wrapping_add(1);
            if !names.used.contains(candidate.as_str()) {
                return candidate;
            }
        }
    }

    /// Renames a value to the hint, or the hint with the least number that is free.
    pub fn rename(&mut self, value: ValueId, hint: &str) {
        let name = self.fresh_name(hint);
        if let Some(names) = &mut self.names.0 {
            names.used.insert(name.as_str().into());
        }
        self.values[value].name = name.into();
    }

    /// Adds an operation to the arena, with one result per name hint and type,
    /// but not to the body.
    pub fn make_op(
        &mut self,
        kind: impl Into<OpKind>,
        operands: impl IntoIterator<Item = Operand>,
        results: impl IntoIterator<Item = (String, Type)>,
    ) -> OpId {
        let op = self.ops.push(Op {
            kind: kind.into(),
            operands: operands.into_iter().collect(),
            results: SmallVec::new(),
            loc: None,
        });
        for (hint, ty) in results {
            let name = self.fresh_name(&hint);
            let value = self.add_value(&name, ty, ValueDef::Op(op));
            self.ops[op].results.push(value);
        }
        op
    }

    /// [`Func::make_op`], placed at the end of the body.
    pub fn push_op(
        &mut self,
        kind: impl Into<OpKind>,
        operands: impl IntoIterator<Item = Operand>,
        results: impl IntoIterator<Item = (String, Type)>,
    ) -> OpId {
        let op = self.make_op(kind, operands, results);
        self.body.push(op);
        op
    }

    /// Ends the body and states the result types.
    pub fn push_return(&mut self, values: &[ValueId]) -> OpId {
        self.result_types = values.iter().map(|&value| self.values[value].ty.clone()).collect();
        self.push_op(OpKind::Return, values.iter().copied().map(Operand::Value), [])
    }

    /// The `return` at the end of the body.
    pub fn return_op(&self) -> Option<&Op> {
        self.body.last().map(|&op| &self.ops[op]).filter(|op| op.kind == OpKind::Return)
    }

    /// The values returned.
    pub fn returned(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.return_op().into_iter().flat_map(Op::value_operands)
    }

    /// The live operations in order.
    pub fn body_ops(&self) -> impl DoubleEndedIterator<Item = (OpId, &Op)> + '_ {
        self.body.iter().map(|&id| (id, &self.ops[id]))
    }

    pub fn ty(&self, value: ValueId) -> &Type {
        &self.values[value].ty
    }

    pub fn tensor_ty(&self, value: ValueId) -> Option<&TensorType> {
        self.values[value].ty.as_tensor()
    }

    /// The operation that defines a value; none for an argument.
    pub fn def_op(&self, value: ValueId) -> Option<OpId> {
        match self.values[value].def {
            ValueDef::Op(op) => Some(op),
            ValueDef::Arg(_) | ValueDef::Detached => None,
        }
    }

    /// Makes every live operation that reads `from` read `to`.
    pub fn replace_uses(&mut self, from: ValueId, to: ValueId) {
        for &op in &self.body {
            for operand in &mut self.ops[op].operands {
                if *operand == Operand::Value(from) {
                    *operand = Operand::Value(to);
                }
            }
        }
    }

    /// How many operands of live operations name each value, indexed by
    /// [`ValueId::index`].
    pub fn use_counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.values.len()];
        for (_, op) in self.body_ops() {
            for value in op.value_operands() {
                counts[value.index()] += 1;
            }
        }
        counts
    }

    /// The element type of an operand: a value's own, or the one that a literal
    /// takes (see [`crate::infer::literal_dtype`]).
    pub fn operand_dtype(&self, op: OpId, index: usize) -> Option<ElemType> {
        let op = &self.ops[op];
        match op.operands.get(index)? {
            Operand::Value(value) => Some(self.values[*value].ty.dtype()),
            Operand::Literal(_) => crate::infer::literal_dtype(self, op, index),
        }
    }

    /// A copy with dead operations and values left out and ids renumbered in the
    /// order of the text.
    pub fn compact(&self) -> Func {
        let mut out = Func {
            name: self.name.clone(),
            private: self.private,
            result_types: self.result_types.clone(),
            loc: self.loc.clone(),
            ..Func::default()
        };
        out.spans.name = self.spans.name;
        out.spans.results = self.spans.results;
        let mut moved: Vec<Option<ValueId>> = vec![None; self.values.len()];
        for (&arg, attrs) in self.args.iter().zip(&self.arg_attrs) {
            let value = &self.values[arg];
            let id = out.add_arg(&value.name, value.ty.clone(), attrs.clone());
            out.spans.set_value(id, self.spans.value(arg));
            moved[arg.index()] = Some(id);
        }
        for (old, op) in self.body_ops() {
            let operands = op.operands.iter().map(|operand| match operand {
                Operand::Value(value) => Operand::Value(moved[value.index()].unwrap_or(*value)),
                literal => *literal,
            });
            let id = out.push_op(op.kind.clone(), operands, []);
            out.ops[id].loc = op.loc.clone();
            if let Some(spans) = self.spans.op(old) {
                out.spans.set_op(id, spans.clone());
            }
            for &result in &op.results {
                let value = &self.values[result];
                let new = out.add_value(&value.name, value.ty.clone(), ValueDef::Op(id));
                out.spans.set_value(new, self.spans.value(result));
                out.ops[id].results.push(new);
                moved[result.index()] = Some(new);
            }
        }
        out
    }
}

/// True of the characters that a name after `%` or `@` may have.
pub fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.')
}

/// So that generic code over ids may number values.
impl Func {
    /// The value at a position of the arena, when there is one.
    pub fn value_at(&self, index: usize) -> Option<ValueId> {
        (index < self.values.len()).then(|| ValueId::from_index(index))
    }
}
