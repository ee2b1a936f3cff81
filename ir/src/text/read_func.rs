//! The reader within a function: pairs of the grammar to operations.

use pest::iterators::Pairs;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::grammar::{Rule, parse_piece};
use super::read::read_type_or_report;
use super::read_fields::{Fields, P, Read, arg_attr, literal, span};
use super::suggest::nearest;
use crate::diag::{Code, Diagnostic, Label, Span};
use crate::entity::ValueId;
use crate::module::{ArgAttrs, Func, Op, OpSpans, Operand, ValueDef};
use crate::ops::OpKind;
use crate::types::Type;

/// What a name stands for while reading.
#[derive(Clone, Copy)]
pub(super) enum Name {
    Value(ValueId),
    /// Defined by a statement that could not be read.
    Lost,
    /// Used but not defined so far; reported as this diagnostic.
    Undefined(usize),
}

/// A function being read.
pub struct FuncReader<'s> {
    pub(super) text: &'s str,
    pub(super) func: Func,
    pub(super) names: FxHashMap<&'s str, Name>,
    /// The header could not be read; the body is read for its errors only.
    pub(super) lost: bool,
    /// The type read last: neighbours often have the same.
    last_type: Option<(&'s str, Type)>,
}

/// An operation's operands as read: `None` when one of them is unusable.
pub(super) struct Operands {
    pub(super) list: Option<SmallVec<[Operand; 3]>>,
    pub(super) spans: SmallVec<[Span; 3]>,
}

impl<'s> FuncReader<'s> {
    /// Stands in for a function whose header could not be read.
    pub fn lost(text: &'s str) -> Self {
        Self {
            text,
            func: Func::default(),
            names: FxHashMap::default(),
            lost: true,
            last_type: None,
        }
    }

    pub fn is_lost(&self) -> bool {
        self.lost
    }

    pub fn name(&self) -> &str {
        &self.func.name
    }

    pub fn name_span(&self) -> Span {
        self.func.spans.name
    }

    pub fn set_loc(&mut self, loc: Option<Box<str>>) {
        self.func.loc = loc;
    }

    /// The function, unless its header was lost.
    pub fn finish(self) -> Option<Func> {
        (!self.lost).then_some(self.func)
    }

    /// Begins a function from its header.
    pub fn open(
        text: &'s str,
        pairs: Pairs<'_, Rule>,
        base: usize,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        let mut reader = Self::lost(text);
        reader.lost = false;
        for pair in pairs.flat_map(|header| header.into_inner()) {
            let span = span(&pair, base);
            match pair.as_rule() {
                Rule::visibility => reader.func.private = pair.as_str() == "private",
                Rule::symbol => {
                    reader.func.name = pair.as_str()[1..].to_owned();
                    reader.func.spans.name = span;
                }
                Rule::arg => reader.arg(pair, base, diagnostics),
                Rule::results => {
                    reader.func.spans.results = span;
                    for ty in pair.into_inner() {
                        match reader.ty(&ty, base, diagnostics) {
                            Some(ty) => reader.func.result_types.push(ty),
                            None => reader.lost = true,
                        }
                    }
                }
                _ => {}
            }
        }
        reader
    }

    fn arg(&mut self, pair: P<'_>, base: usize, diagnostics: &mut Vec<Diagnostic>) {
        let mut name = None;
        let mut ty = None;
        let mut attrs = ArgAttrs::default();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::value => name = Some(span(&part, base)),
                Rule::type_ => ty = self.ty(&part, base, diagnostics),
                Rule::arg_attrs => {
                    for attr in part.into_inner() {
                        match arg_attr(attr, base) {
                            Ok(random) => attrs.random = Some(random),
                            Err(error) => diagnostics.push(*error),
                        }
                    }
                }
                _ => {}
            }
        }
        let Some(name) = name else { return };
        let text = self.slice(name);
        match ty {
            Some(ty) => {
                let value = self.func.add_arg(&text[1..], ty, attrs);
                self.func.spans.set_value(value, name);
                self.define(text, name, Name::Value(value), diagnostics);
            }
            None => {
                // Errors about the other arguments are still worth having.
                self.lost = true;
                self.define(text, name, Name::Lost, diagnostics);
            }
        }
    }

    /// The source text of a span.
    fn slice(&self, span: Span) -> &'s str {
        self.text.get(span.range()).unwrap_or("")
    }

    pub(super) fn ty(
        &mut self,
        pair: &P<'_>,
        base: usize,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Type> {
        let text = pair.as_str();
        if let Some((last, ty)) = &self.last_type
            && *last == text
        {
            return Some(ty.clone());
        }
        let span = span(pair, base);
        let ty = read_type_or_report(text, span.start as usize, diagnostics)?;
        self.last_type = Some((self.slice(span), ty.clone()));
        Some(ty)
    }

    fn define(&mut self, name: &'s str, at: Span, what: Name, diagnostics: &mut Vec<Diagnostic>) {
        match self.names.insert(name, what) {
            None => {}
            Some(Name::Undefined(index)) => {
                // It is defined after all, only too late.
                if let Some(earlier) = diagnostics.get_mut(index) {
                    earlier.code = Code::UseBeforeDef;
                    earlier.message = format!("`{name}` is used before its definition");
                    earlier.help = Some(Code::UseBeforeDef.help().to_owned());
                    earlier.secondary.push(Label { span: at, text: "defined here".to_owned() });
                }
            }
            Some(earlier) => {
                let first = match earlier {
                    Name::Value(value) => self.func.spans.value(value),
                    _ => Span::NONE,
                };
                // The first definition stays in force.
                self.names.insert(name, earlier);
                diagnostics.push(
                    Diagnostic::error(
                        Code::DuplicateValue,
                        format!("`{name}` is defined twice"),
                        at,
                    )
                    .label("again here")
                    .also(first, "first here"),
                );
            }
        }
    }

    /// Remembers the name that an unreadable statement would have defined.
    pub fn lose(&mut self, text: &'s str, _start: usize) {
        if let Some((name, _)) = text.split_once('=') {
            let name = name.trim();
            let plain = name
                .strip_prefix('%')
                .is_some_and(|rest| rest.chars().all(crate::module::is_name_char));
            if plain {
                self.names.entry(name).or_insert(Name::Lost);
            }
        }
    }

    /// Reads one statement of the body.
    pub fn statement(&mut self, text: &'s str, base: usize, diagnostics: &mut Vec<Diagnostic>) {
        let pairs = match parse_piece(Rule::statement_piece, text, base) {
            Ok(pairs) => pairs,
            Err(error) => {
                diagnostics.push(*error);
                return self.lose(text, base);
            }
        };
        for pair in pairs {
            match pair.as_rule() {
                Rule::assign => self.assign(pair, base, diagnostics),
                Rule::return_op => self.return_op(pair, base, diagnostics),
                Rule::check_op => self.check_op(pair, base, diagnostics),
                _ => {}
            }
        }
    }

    /// The operation's types may only be known after its constant was read.
    fn assign(&mut self, pair: P<'_>, base: usize, diagnostics: &mut Vec<Diagnostic>) {
        let mut spans = OpSpans { whole: span(&pair, base), ..OpSpans::default() };
        let mut parts = pair.into_inner();
        let (Some(name), Some(op), Some(ty_pair)) = (parts.next(), parts.next(), parts.next())
        else {
            return;
        };
        let loc = parts.next().map(|pair| loc(&pair));
        let name_span = span(&name, base);
        spans.ty = span(&ty_pair, base);
        let ty = self.ty(&ty_pair, base, diagnostics);
        let errors = diagnostics.len();
        let read = self.op(op, base, ty.as_ref(), &mut spans, diagnostics);
        let name = self.slice(name_span);
        let Some(ty) = ty else {
            return self.define(name, name_span, Name::Lost, diagnostics);
        };
        let value = match read {
            Ok(Some((kind, operands))) if diagnostics.len() == errors => {
                let op = self.func.ops.push(Op { kind, operands, results: SmallVec::new(), loc });
                self.func.body.push(op);
                let value = self.func.add_value(&name[1..], ty, ValueDef::Op(op));
                self.func.ops[op].results.push(value);
                self.func.spans.set_op(op, spans);
                value
            }
            Ok(_) => self.func.add_value(&name[1..], ty, ValueDef::Detached),
            Err(error) => {
                diagnostics.push(*error);
                self.func.add_value(&name[1..], ty, ValueDef::Detached)
            }
        };
        self.func.spans.set_value(value, name_span);
        self.define(name, name_span, Name::Value(value), diagnostics);
    }

    fn return_op(&mut self, pair: P<'_>, base: usize, diagnostics: &mut Vec<Diagnostic>) {
        let mut spans = OpSpans { whole: span(&pair, base), ..OpSpans::default() };
        spans.name =
            Span::new(spans.whole.start as usize, spans.whole.start as usize + "return".len());
        let mut operands = Operands { list: Some(SmallVec::new()), spans: SmallVec::new() };
        let mut types: Vec<(Type, Span)> = Vec::new();
        let mut readable = true;
        let mut location = None;
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::value => self.operand(&part, base, &mut operands, diagnostics),
                Rule::type_ => match self.ty(&part, base, diagnostics) {
                    Some(ty) => types.push((ty, span(&part, base))),
                    None => readable = false,
                },
                Rule::loc => location = Some(loc(&part)),
                _ => {}
            }
        }
        spans.operands = operands.spans;
        let Some(op_operands) = operands.list else { return };
        if readable && types.len() != spans.operands.len() {
            diagnostics.push(
                Diagnostic::error(
                    Code::ReturnCount,
                    format!(
                        "{} values are returned with {} types",
                        spans.operands.len(),
                        types.len()
                    ),
                    spans.whole,
                )
                .help("write one type for each value"),
            );
        } else {
            self.check_return_types(&op_operands, &types, &spans, diagnostics);
        }
        if let Some((_, ty)) = types.first() {
            spans.ty = *ty;
        }
        let op = self.func.ops.push(Op {
            kind: OpKind::Return,
            operands: op_operands,
            results: SmallVec::new(),
            loc: location,
        });
        self.func.body.push(op);
        self.func.spans.set_op(op, spans);
    }

    /// The types written at a `return` are those of its values.
    fn check_return_types(
        &self,
        operands: &[Operand],
        types: &[(Type, Span)],
        spans: &OpSpans,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        for ((operand, (written, at)), value_span) in
            operands.iter().zip(types).zip(&spans.operands)
        {
            let Some(value) = operand.value() else { continue };
            let actual = self.func.ty(value);
            if actual != written {
                let name = &self.func.values[value].name;
                diagnostics.push(
                    Diagnostic::error(
                        Code::ReturnType,
                        format!("`%{name}` has type `{actual}`, not `{written}`"),
                        *at,
                    )
                    .label(format!("should be `{actual}`"))
                    .also(*value_span, "this value"),
                );
            }
        }
    }

    /// Resolves one operand. What cannot be used empties the list.
    pub(super) fn operand(
        &mut self,
        pair: &P<'_>,
        base: usize,
        out: &mut Operands,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let at = span(pair, base);
        out.spans.push(at);
        let operand = if pair.as_rule() == Rule::literal {
            match literal(pair, base) {
                Ok(literal) => Some(Operand::Literal(literal)),
                Err(error) => {
                    diagnostics.push(*error);
                    None
                }
            }
        } else {
            let name = self.slice(at);
            self.resolve(name, at, diagnostics).map(Operand::Value)
        };
        match (operand, &mut out.list) {
            (Some(operand), Some(list)) => list.push(operand),
            _ => out.list = None,
        }
    }

    /// The value of a name, reporting one that is not defined.
    pub(super) fn resolve(
        &mut self,
        name: &'s str,
        at: Span,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<ValueId> {
        match self.names.get(name) {
            Some(Name::Value(value)) => Some(*value),
            Some(Name::Lost | Name::Undefined(_)) => None,
            // Without a header nothing is known of the arguments.
            None if self.lost => None,
            None => {
                self.names.insert(name, Name::Undefined(diagnostics.len()));
                diagnostics.push(self.undefined(name, at));
                None
            }
        }
    }

    fn undefined(&self, name: &str, at: Span) -> Diagnostic {
        let error = Diagnostic::error(Code::UndefinedValue, format!("`{name}` is not defined"), at)
            .label("not defined");
        let defined = self
            .names
            .iter()
            .filter(|(_, what)| matches!(what, Name::Value(_)))
            .map(|(name, _)| *name);
        // In the order of the text, so that ties are settled the same way each time.
        let mut defined: Vec<&str> = defined.collect();
        defined.sort_unstable();
        match nearest(name, defined) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error,
        }
    }

    /// Reads an operation; `Ok(None)` when its operands are unusable, which has
    /// been reported.
    fn op(
        &mut self,
        pair: P<'_>,
        base: usize,
        ty: Option<&Type>,
        spans: &mut OpSpans,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Read<Option<(OpKind, SmallVec<[Operand; 3]>)>> {
        let rule = pair.as_rule();
        let whole = span(&pair, base);
        let keyword = pair
            .as_str()
            .find(|c: char| !crate::module::is_name_char(c))
            .unwrap_or(pair.as_str().len());
        spans.name = Span::new(whole.start as usize, whole.start as usize + keyword);
        let mut operands = Operands { list: Some(SmallVec::new()), spans: SmallVec::new() };
        let mut fields = Fields::default();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::value | Rule::literal => {
                    self.operand(&part, base, &mut operands, diagnostics)
                }
                Rule::seed => {
                    fields.seed_loaded = false;
                    for inner in part.into_inner() {
                        fields.seed_loaded = true;
                        self.operand(&inner, base, &mut operands, diagnostics);
                    }
                }
                _ => fields.take(part, base)?,
            }
        }
        spans.operands = operands.spans;
        let op = fields.op(rule, ty, whole)?;
        Ok(op.zip(operands.list))
    }
}

/// The text between the parentheses of `loc(…)`.
pub fn loc(pair: &P<'_>) -> Box<str> {
    let text = pair.as_str().strip_prefix("loc").unwrap_or("").trim();
    let body = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
    body.trim().into()
}
