//! Instructions and transfers, one a line, in the machine's own syntax.

use partita_isa::{AsmError, Engine, Target, asm, dma};
use smallvec::SmallVec;

use super::grammar::{Rule, parse_piece};
use super::read_func::{FuncReader, loc};
use crate::diag::{Code, Diagnostic, Span};
use crate::entity::ValueId;
use crate::module::{Op, OpSpans, Operand};
use crate::ops::{DmaOp, InstOp, MachineOp, OpKind};

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
        let read = match name {
            "tile.inst" | "tpb.inst" => {
                self.inst(&code[keyword..], base + keyword, target, &mut spans, diagnostics)
            }
            "tile.dma" | "tpb.dma" => {
                self.dma(&code[keyword..], base + keyword, target, &mut spans, diagnostics)
            }
            _ => {
                let message = format!("there is no operation `{name}`");
                diagnostics
                    .push(Diagnostic::error(Code::UnknownOp, message, spans.name).help(STATEMENTS));
                None
            }
        };
        let Some((kind, operands)) = read else { return };
        let op = self.func.ops.push(Op {
            kind: OpKind::Machine(kind),
            operands: operands.into_iter().map(Operand::Value).collect(),
            results: SmallVec::new(),
            loc,
        });
        self.func.body.push(op);
        self.func.spans.set_op(op, spans);
    }

    fn inst(
        &mut self,
        text: &'s str,
        base: usize,
        target: &Target,
        spans: &mut OpSpans,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<(MachineOp, SmallVec<[ValueId; 3]>)> {
        let (engine, rest) = engine(text);
        let base = base + text.len() - rest.len();
        let parse = |bases: Bases<'_>| asm::parse(rest, target, bases);
        let (inst, operands) = self.with_tiles(rest, base, parse, spans, diagnostics)?;
        let (operands, fields) = operands.into_iter().unzip();
        Some((MachineOp::Inst(Box::new(InstOp { engine, inst, fields })), operands))
    }

    fn dma(
        &mut self,
        text: &'s str,
        base: usize,
        target: &Target,
        spans: &mut OpSpans,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<(MachineOp, SmallVec<[ValueId; 3]>)> {
        const WORD: &str = "dma";
        let line = format!("{WORD}{text}");
        let parse = |bases: Bases<'_>| {
            dma::parse(&line, target, bases).map_err(|mut error| {
                let within = |at: usize| at.saturating_sub(WORD.len());
                error.span = within(error.span.start)..within(error.span.end);
                error
            })
        };
        let (desc, operands) = self.with_tiles(text, base, parse, spans, diagnostics)?;
        let (operands, fields) = operands.into_iter().unzip();
        Some((MachineOp::Dma(Box::new(DmaOp { desc, fields })), operands))
    }

    /// Parses by the machine's syntax, and resolves the tiles that the text names;
    /// `None` after a report.
    fn with_tiles<T>(
        &mut self,
        text: &'s str,
        base: usize,
        parse: impl FnOnce(Bases<'_>) -> Result<T, AsmError>,
        spans: &mut OpSpans,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<(T, Tiles)> {
        let mut symbols: SmallVec<[(&'static str, String); 3]> = SmallVec::new();
        let parsed = parse(&mut |field, symbol| {
            symbols.push((field, symbol.to_owned()));
            true
        });
        let mut operands = Some(Tiles::new());
        // Symbols of one field come in the order of the text; fields need not.
        let (mut searched, mut last) = (0, "");
        for (field, symbol) in symbols {
            if field != last {
                searched = text.find(&format!(" {field}=")).unwrap_or(searched);
                last = field;
            }
            let found = text
                .get(searched..)
                .and_then(|rest| rest.find(&symbol))
                .map_or(searched, |at| searched + at);
            searched = (found + symbol.len()).min(text.len());
            let name = text.get(found..searched).unwrap_or("");
            let at = Span::new(base + found, base + searched);
            spans.operands.push(at);
            match (self.resolve(name, at, diagnostics), &mut operands) {
                (Some(value), Some(list)) => list.push((value, field)),
                _ => operands = None,
            }
        }
        match parsed {
            Ok(item) => operands.map(|operands| (item, operands)),
            Err(error) => {
                let span = Span::new(base + error.span.start, base + error.span.end);
                let diagnostic =
                    Diagnostic::error(Code::Instruction, error.message, span).label("here");
                diagnostics.push(if error.help.is_empty() {
                    diagnostic
                } else {
                    diagnostic.help(error.help)
                });
                None
            }
        }
    }
}

/// The tiles that a line names, each with the field that refers to it.
type Tiles = SmallVec<[(ValueId, &'static str); 3]>;

/// Told of each symbol with its field, and answers whether it is known.
type Bases<'a> = &'a mut dyn FnMut(&'static str, &str) -> bool;

const STATEMENTS: &str =
    "the machine's operations are `alloc`, `inst` and `dma`, after `tile.` or `tpb.`";

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
