//! Instructions, one a line, in the assembler's syntax.

use partita_isa::{Engine, Target, asm};
use smallvec::SmallVec;

use super::grammar::{Rule, parse_piece};
use super::read_func::{FuncReader, loc};
use crate::diag::{Code, Diagnostic, Span};
use crate::module::{Op, OpSpans, Operand};
use crate::ops::{InstOp, MachineOp, OpKind};

impl<'s> FuncReader<'s> {
    /// Reads `tile.inst dve tensor_tensor … loc(…)`, which starts at byte `base`.
    pub fn machine(
        &mut self,
        line: &'s str,
        base: usize,
        target: &Target,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let (code, loc) = split_loc(line, base, diagnostics);
        let keyword = code.find(char::is_whitespace).unwrap_or(code.len());
        let name = &code[..keyword];
        let mut spans = OpSpans {
            whole: Span::new(base, base + code.len()),
            name: Span::new(base, base + keyword),
            ..OpSpans::default()
        };
        if !matches!(name, "tile.inst" | "tpb.inst") {
            diagnostics.push(
                Diagnostic::error(
                    Code::UnknownOp,
                    format!("there is no operation `{name}`"),
                    spans.name,
                )
                .help(
                    "a statement of these dialects is `%t = tile.alloc`, `tile.inst` or `tpb.inst`",
                ),
            );
            return;
        }
        let (engine, rest) = engine(&code[keyword..]);
        let rest_at = base + code.len() - rest.len();
        let Some((inst, operands)) =
            self.instruction(rest, rest_at, target, &mut spans, diagnostics)
        else {
            return;
        };
        let (values, fields): (SmallVec<[Operand; 3]>, SmallVec<[&'static str; 3]>) =
            operands.into_iter().unzip();
        let inst = InstOp { engine, inst, fields };
        let op = self.func.ops.push(Op {
            kind: OpKind::Machine(MachineOp::Inst(Box::new(inst))),
            operands: values,
            results: SmallVec::new(),
            loc,
        });
        self.func.body.push(op);
        self.func.spans.set_op(op, spans);
    }

    /// The word and the tiles that its fields are relative to; `None` after a
    /// report.
    #[allow(clippy::type_complexity)]
    fn instruction(
        &mut self,
        text: &'s str,
        base: usize,
        target: &Target,
        spans: &mut OpSpans,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<(partita_isa::Instruction, SmallVec<[(Operand, &'static str); 3]>)> {
        let mut operands: SmallVec<[(Operand, &'static str); 3]> = SmallVec::new();
        let mut complete = true;
        let mut symbols: SmallVec<[(&'static str, String); 3]> = SmallVec::new();
        let parsed = asm::parse(text, target, &mut |field, symbol| {
            symbols.push((field, symbol.to_owned()));
            true
        });
        // Names are looked for in the order of the text.
        let mut searched = 0;
        for (field, symbol) in symbols {
            let found = text
                .get(searched..)
                .and_then(|rest| rest.find(&symbol))
                .map_or(searched, |at| searched + at);
            searched = (found + symbol.len()).min(text.len());
            let name = text.get(found..searched).unwrap_or("");
            let at = Span::new(base + found, base + searched);
            spans.operands.push(at);
            match self.resolve(name, at, diagnostics) {
                Some(value) => operands.push((Operand::Value(value), field)),
                None => complete = false,
            }
        }
        match parsed {
            Ok(inst) => complete.then_some((inst, operands)),
            Err(error) => {
                let span =
                    Span::new(base + error.span.start, base + error.span.end.max(error.span.start));
                let mut diagnostic =
                    Diagnostic::error(Code::Instruction, error.message, span).label("here");
                if !error.help.is_empty() {
                    diagnostic = diagnostic.help(error.help);
                }
                diagnostics.push(diagnostic);
                None
            }
        }
    }
}

/// An engine's name before the instruction, where there is one.
fn engine(text: &str) -> (Option<Engine>, &str) {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    match text[..end].parse() {
        Ok(engine) => (Some(engine), text[end..].trim_start()),
        Err(_) => (None, text),
    }
}

/// The line without its location and without the assembler's own comment.
fn split_loc<'s>(
    line: &'s str,
    base: usize,
    diagnostics: &mut Vec<Diagnostic>,
) -> (&'s str, Option<Box<str>>) {
    let code = line.split(';').next().unwrap_or(line);
    let Some(at) = code.find(" loc(") else { return (code.trim_end(), None) };
    // A string of the location may hold a semicolon.
    let text = line[at..].trim();
    let start = base + line.len() - line[at..].trim_start().len();
    match parse_piece(Rule::loc_piece, text, start) {
        Ok(mut pairs) => (code[..at].trim_end(), pairs.next().map(|pair| loc(&pair))),
        Err(error) => {
            diagnostics.push(*error);
            (code[..at].trim_end(), None)
        }
    }
}
