//! One check against its operands.

use super::FuncVerifier;
use crate::diag::{Code, Diagnostic, Span};
use crate::entity::OpId;
use crate::module::{Op, Operand};
use crate::ops::CheckOp;

impl FuncVerifier<'_> {
    /// A check compares two tensors of one type and gives nothing.
    pub(super) fn check_op(&mut self, id: OpId, op: &Op, kind: CheckOp) {
        let span = self.func.spans.op(id).map_or(Span::NONE, |spans| spans.name);
        let error = |code, text: String| Diagnostic::error(code, text, span);
        let types: Option<Vec<_>> = op
            .operands
            .iter()
            .filter_map(Operand::value)
            .map(|value| self.func.values.get(value).and_then(|value| value.ty.as_tensor()))
            .collect();
        let found = match types.as_deref() {
            None => Some(error(Code::ValueKind, format!("`{kind}` compares tensors, not tiles"))),
            Some(&[got, want]) if got == want && op.results.is_empty() => None,
            Some(&[got, want]) if op.results.is_empty() => {
                let text = format!("`{kind}` compares a `{got}` with a `{want}`");
                Some(error(Code::OperandDtypes, text))
            }
            Some(_) => {
                let text = format!("`{kind}` takes two values and gives none");
                Some(error(Code::OperandCount, text))
            }
        };
        if let Some(found) = found {
            self.report(found, Some(id));
        }
    }
}
