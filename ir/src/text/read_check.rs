//! The reader of checks: `check.expect_close %a, %b ulps 0:3 : tensor<4xf32>`.

use smallvec::SmallVec;

use super::grammar::Rule;
use super::read_fields::{P, Read, literal, number, span};
use super::read_func::{FuncReader, Operands, loc};
use super::read_type::unknown;
use crate::diag::{Code, Diagnostic, Span};
use crate::module::{Op, OpSpans};
use crate::ops::{CheckOp, OpKind};
use crate::types::ElemType;

/// The checks by their names.
const NAMES: [&str; 3] = ["expect_eq", "expect_almost_eq", "expect_close"];

impl FuncReader<'_> {
    pub(super) fn check_op(&mut self, pair: P<'_>, base: usize, diagnostics: &mut Vec<Diagnostic>) {
        let mut spans = OpSpans { whole: span(&pair, base), ..OpSpans::default() };
        let mut operands = Operands { list: Some(SmallVec::new()), spans: SmallVec::new() };
        let (mut written, mut location, mut parts) = (None, None, Parts::default());
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::value => self.operand(&part, base, &mut operands, diagnostics),
                Rule::type_ => {
                    spans.ty = span(&part, base);
                    written = self.ty(&part, base, diagnostics);
                }
                Rule::loc => location = Some(loc(&part)),
                _ => {
                    if let Err(error) = parts.take(&part, base, &mut spans) {
                        diagnostics.push(*error);
                    }
                }
            }
        }
        spans.operands = operands.spans;
        let kind = match parts.kind(spans.name) {
            Ok(kind) => kind,
            Err(error) => return diagnostics.push(*error),
        };
        let (Some(operands), Some(written)) = (operands.list, written) else { return };
        if let Some(value) = operands.iter().filter_map(|operand| operand.value()).next()
            && *self.func.ty(value) != written
        {
            let message =
                format!("the values have type `{}`, not `{written}`", self.func.ty(value));
            diagnostics.push(Diagnostic::error(Code::ResultShape, message, spans.ty));
        }
        let results = SmallVec::new();
        let op =
            self.func.ops.push(Op { kind: OpKind::Check(kind), operands, results, loc: location });
        self.func.body.push(op);
        self.func.spans.set_op(op, spans);
    }
}

/// What a check says besides its operands.
#[derive(Default)]
struct Parts<'a> {
    name: &'a str,
    tolerance: Option<f64>,
    ulps: Option<(u64, u64)>,
}

impl<'a> Parts<'a> {
    fn take(&mut self, part: &P<'a>, base: usize, spans: &mut OpSpans) -> Read<()> {
        match part.as_rule() {
            Rule::name => {
                self.name = part.as_str();
                spans.name = span(part, base);
            }
            Rule::tolerance => {
                for inner in part.clone().into_inner() {
                    let bits = literal(&inner, base)?.to_bits(ElemType::F32);
                    let at = span(&inner, base);
                    let wrong = |text: String| Diagnostic::error(Code::LiteralValue, text, at);
                    bits.map_err(|error| Box::new(wrong(error.to_string())))?;
                    self.tolerance = inner.as_str().parse().ok();
                }
            }
            Rule::ulps => {
                let mut bounds = part.clone().into_inner().map(|item| number(&item, base));
                let mut next = || bounds.next().unwrap_or(Ok(0));
                self.ulps = Some((next()?, next()?));
            }
            _ => {}
        }
        Ok(())
    }

    fn kind(&self, at: Span) -> Read<CheckOp> {
        let wrong = |text: &str| Err(Box::new(Diagnostic::error(Code::Attribute, text, at)));
        match (self.name, self.tolerance, self.ulps) {
            ("expect_eq", None, None) => Ok(CheckOp::Eq),
            ("expect_almost_eq", Some(tolerance), None) if tolerance >= 0.0 => {
                Ok(CheckOp::AlmostEq { tolerance })
            }
            ("expect_close", None, Some((min_ulps, max_ulps))) => {
                Ok(CheckOp::Close { min_ulps, max_ulps })
            }
            ("expect_eq", ..) => wrong("`check.expect_eq` takes no tolerance"),
            ("expect_almost_eq", ..) => wrong("write `tolerance` and a number of 0 or more"),
            ("expect_close", ..) => wrong("write `ulps` and two numbers, as in `ulps 0:3`"),
            _ => Err(Box::new(unknown("check", self.name, at, NAMES.into_iter()))),
        }
    }
}
