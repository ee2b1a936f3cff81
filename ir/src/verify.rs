//! The verifier: every rule a module must obey, and every place where it does not.
//!
//! Checked of each function:
//! * names of values and functions are distinct and can be written in text;
//! * each value is defined once, before its uses, by what it says defines it;
//! * the body ends in its only `return`, whose operands have the result types;
//! * types keep to the limits of rank, element count and, on the chip, partitions;
//! * each tensor operation has the type that [`crate::infer`] gives;
//! * argument attributes fit their arguments.
//!
//! Not checked here: what a machine accepts (the rules of the ISA).

mod attrs;
#[doc(inline)]
pub use attrs::check_random;
mod check;
mod machine;
mod tensor;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diag::{Code, Diagnostic, Span};
use crate::entity::{OpId, ValueId};
use crate::infer;
use crate::module::{Func, Module, Op, ValueDef};
use crate::ops::OpKind;
use crate::types::{MAX_PARTITIONS, Type};

/// Verifies a module.
///
/// # Errors
/// Every rule broken, function by function in the order of the text.
pub fn verify(module: &Module) -> Result<(), Vec<Diagnostic>> {
    let diagnostics = verify_read(module, false);
    if diagnostics.is_empty() { Ok(()) } else { Err(diagnostics) }
}

/// Verifies what a reader made of a text. When it could not read everything
/// (`incomplete`), missing parts are not reported again.
pub(crate) fn verify_read(module: &Module, incomplete: bool) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let mut names: FxHashMap<&str, Span> = FxHashMap::default();
    for func in &module.funcs {
        let span = func.spans.name;
        if let Some(&first) = names.get(func.name.as_str()) {
            // The reader has said so already.
            if !incomplete {
                diagnostics.push(
                    Diagnostic::error(
                        Code::DuplicateFunc,
                        format!("`@{}` is defined twice", func.name),
                        span,
                    )
                    .label("again here")
                    .also(first, "first here"),
                );
            }
        } else {
            names.insert(&func.name, span);
        }
        FuncVerifier { func, incomplete, diagnostics: &mut diagnostics }.run();
    }
    diagnostics
}

struct FuncVerifier<'a> {
    func: &'a Func,
    incomplete: bool,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl FuncVerifier<'_> {
    fn run(&mut self) {
        self.names();
        self.args();
        self.body();
        self.result_types();
    }

    /// Adds an error, with the operation's text where there is no source to show.
    fn report(&mut self, mut diagnostic: Diagnostic, op: Option<OpId>) {
        if diagnostic.primary.span.is_none() {
            diagnostic.notes.push(match op {
                Some(op) => format!("in `@{}`: {}", self.func.name, clipped(self.func.op_text(op))),
                None => format!("in `@{}`", self.func.name),
            });
        }
        self.diagnostics.push(diagnostic);
    }

    fn names(&mut self) {
        let mut seen: FxHashMap<&str, ValueId> = FxHashMap::default();
        seen.reserve(self.func.values.len());
        let results = self.func.body_ops().flat_map(|(_, op)| op.results.iter().copied());
        for id in self.func.args.iter().copied().chain(results) {
            let Some(value) = self.func.values.get(id) else { continue };
            if value.name.is_empty() || !value.name.chars().all(crate::module::is_name_char) {
                let message = format!("`%{}` is not a name", value.name);
                self.report(
                    Diagnostic::error(Code::Syntax, message, self.func.spans.value(id)),
                    None,
                );
            }
            if let Some(first) = seen.insert(&value.name, id).filter(|_| !self.incomplete) {
                let error = Diagnostic::error(
                    Code::DuplicateValue,
                    format!("`%{}` is defined twice", value.name),
                    self.func.spans.value(id),
                )
                .label("again here")
                .also(self.func.spans.value(first), "first here");
                self.report(error, None);
            }
        }
    }

    fn args(&mut self) {
        for (index, &arg) in self.func.args.iter().enumerate() {
            let ty = self.func.ty(arg);
            let span = self.func.spans.value(arg);
            if ty.dtype() == crate::types::ElemType::F32r {
                let error =
                    Diagnostic::error(Code::RoundedOperand, "an argument cannot be `f32r`", span);
                self.report(error, None);
            }
            self.limits(ty, span, None);
            if let Some(random) = self.func.arg_attrs.get(index).and_then(|attrs| attrs.random)
                && let Err(message) = attrs::check_random(random, ty.dtype())
            {
                self.report(Diagnostic::error(Code::ArgAttribute, message, span), None);
            }
        }
    }

    /// What every type obeys, wherever it stands.
    fn limits(&mut self, ty: &Type, span: Span, op: Option<OpId>) {
        if let Err(error) = infer::check_limits(ty.shape(), ty.dtype()) {
            self.report(Diagnostic::error(error.code, error.message, span), op);
        }
        if let Type::Tile(tile) = ty
            && tile.partitions() > MAX_PARTITIONS
        {
            let message = format!("`{tile}` has {} partitions", tile.partitions());
            self.report(Diagnostic::error(Code::Partitions, message, span), op);
        }
    }

    fn body(&mut self) {
        let mut defined: FxHashSet<ValueId> = self.func.args.iter().copied().collect();
        let last = self.func.body.len().wrapping_sub(1);
        for (position, (id, op)) in self.func.body_ops().enumerate() {
            self.uses(id, op, &defined);
            for &result in &op.results {
                if !defined.insert(result) || self.func.values[result].def != ValueDef::Op(id) {
                    let name = &self.func.values[result].name;
                    let error = Diagnostic::error(
                        Code::DuplicateValue,
                        format!("`%{name}` is the result of more than one operation"),
                        self.func.spans.value(result),
                    );
                    self.report(error, Some(id));
                }
            }
            match &op.kind {
                OpKind::Tensor(kind) => self.tensor_op(id, op, kind),
                OpKind::Machine(kind) => self.machine_op(id, op, kind),
                OpKind::Check(kind) => self.check_op(id, op, *kind),
                OpKind::Return if position != last => {
                    let span = self.func.spans.op(id).map_or(Span::NONE, |spans| spans.whole);
                    let error = Diagnostic::error(
                        Code::AfterReturn,
                        "`return` is not the last operation",
                        span,
                    );
                    self.report(error, Some(id));
                }
                OpKind::Return => self.returned(id, op),
            }
        }
        if self.func.return_op().is_none() && !self.incomplete {
            let message = format!("`@{}` does not end in `return`", self.func.name);
            self.report(
                Diagnostic::error(Code::MissingReturn, message, self.func.spans.name),
                None,
            );
        }
    }

    /// Operands exist and are defined above.
    fn uses(&mut self, id: OpId, op: &Op, defined: &FxHashSet<ValueId>) {
        for (index, operand) in op.operands.iter().enumerate() {
            let Some(value) = operand.value() else { continue };
            if defined.contains(&value) {
                continue;
            }
            let span = self.operand_span(id, index);
            let error = match self.func.values.get(value) {
                // The reader has reported what this value lacks.
                Some(value) if self.incomplete && value.def == ValueDef::Detached => continue,
                Some(value) => Diagnostic::error(
                    Code::UseBeforeDef,
                    format!("`%{}` is used before its definition", value.name),
                    span,
                ),
                None => Diagnostic::error(
                    Code::UndefinedValue,
                    format!("there is no value {value:?}"),
                    span,
                ),
            };
            self.report(error, Some(id));
        }
    }

    fn operand_span(&self, op: OpId, index: usize) -> Span {
        let spans = self.func.spans.op(op);
        spans.and_then(|spans| spans.operands.get(index)).copied().unwrap_or_default()
    }

    fn returned(&mut self, id: OpId, op: &Op) {
        let expected = &self.func.result_types;
        if op.operands.len() != expected.len() {
            let span = self.func.spans.op(id).map_or(Span::NONE, |spans| spans.whole);
            let error = Diagnostic::error(
                Code::ReturnCount,
                format!(
                    "values returned: {}, results of the function: {}",
                    op.operands.len(),
                    expected.len()
                ),
                span,
            )
            .also(self.func.spans.results, "the results");
            return self.report(error, Some(id));
        }
        for (index, (operand, ty)) in op.operands.iter().zip(expected).enumerate() {
            let span = self.operand_span(id, index);
            let Some(value) = operand.value() else {
                let error =
                    Diagnostic::error(Code::LiteralPlace, "a literal cannot be returned", span);
                self.report(error, Some(id));
                continue;
            };
            let Some(actual) = self.func.values.get(value).map(|value| &value.ty) else { continue };
            if actual != ty {
                let error = Diagnostic::error(
                    Code::ReturnType,
                    format!("result {index} has type `{actual}`, but the function says `{ty}`"),
                    span,
                )
                .label(format!("this is `{actual}`"))
                .also(self.func.spans.results, "the results");
                self.report(error, Some(id));
            }
        }
    }

    fn result_types(&mut self) {
        for ty in &self.func.result_types {
            self.limits(ty, self.func.spans.results, None);
        }
    }
}

/// An operation's text for a note, without the bulk of a constant.
fn clipped(text: String) -> String {
    const LONGEST: usize = 200;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text,
    }
}
