//! One tensor operation against the type that is written for it.

use super::FuncVerifier;
use crate::diag::{Code, Diagnostic, Span};
use crate::entity::OpId;
use crate::infer::{self, At, InferError};
use crate::module::{Op, OpSpans};
use crate::ops::TensorOp;
use crate::types::{TensorType, Type};

impl FuncVerifier<'_> {
    pub(super) fn tensor_op(&mut self, id: OpId, op: &Op, kind: &TensorOp) {
        let none = OpSpans::default();
        let spans = self.func.spans.op(id).unwrap_or(&none);
        let Some(result) = op.result().and_then(|result| self.func.values.get(result)) else {
            let error = Diagnostic::error(
                Code::OperandCount,
                "a tensor operation has exactly one result",
                spans.whole,
            );
            return self.report(error, Some(id));
        };
        self.limits(&result.ty, spans.ty, Some(id));
        let Type::Tensor(written) = &result.ty else {
            let message =
                format!("`{}` gives a tensor, not a `{}`", kind.kind_name().full(), result.ty);
            return self.report(Diagnostic::error(Code::ValueKind, message, spans.ty), Some(id));
        };
        for (index, operand) in op.operands.iter().enumerate() {
            if let Some(value) = operand.value().and_then(|value| self.func.values.get(value))
                && value.ty.as_tile().is_some()
            {
                let message =
                    format!("`%{}` is a tile; tensor operations take tensors", value.name);
                let span = self.operand_span(id, index);
                self.report(Diagnostic::error(Code::ValueKind, message, span), Some(id));
            }
        }
        let Some(operands) = infer::operand_types(self.func, &op.operands) else { return };
        match infer::result_type(kind, &operands, written) {
            Ok(given) => {
                let error = mismatch(&given, written, spans.ty);
                drop(operands);
                if let Some(error) = error {
                    self.report(error, Some(id));
                }
            }
            Err(error) => {
                let span = place(&error, spans);
                drop(operands);
                self.report(diagnostic(error, span), Some(id));
            }
        }
    }
}

/// Where an inference error belongs.
fn place(error: &InferError, spans: &OpSpans) -> Span {
    let span = match error.at {
        At::Op => spans.name,
        At::Operand(index) => spans.operands.get(index).copied().unwrap_or(spans.whole),
        At::Result => spans.ty,
    };
    if span.is_none() { spans.whole } else { span }
}

fn diagnostic(error: InferError, span: Span) -> Diagnostic {
    let diagnostic = Diagnostic::error(error.code, error.message, span);
    match error.help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}

/// The difference between the type an operation gives and the one written.
fn mismatch(given: &TensorType, written: &TensorType, span: Span) -> Option<Diagnostic> {
    let (code, what) = if given.shape != written.shape {
        (Code::ResultShape, "shape")
    } else if given.dtype != written.dtype {
        (Code::ResultDtype, "element type")
    } else {
        return None;
    };
    let error = Diagnostic::error(code, format!("the result is `{given}`, not `{written}`"), span)
        .label(format!("wrong {what}"));
    // A limit that the type passes is reported by itself; nothing fits then.
    Some(match infer::check_type(given) {
        Ok(()) => error.help(format!("write `{given}`")),
        Err(limit) => error.help(limit.message),
    })
}
