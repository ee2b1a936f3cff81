//! From the tree of a text to operations of the tensor dialect.
//!
//! [`Lower`] walks a function, puts calls in line, and asks the [`table`] what becomes of each operation. What fails
//! is reported and its results are left without a value, so that one run finds every operation that is not compiled.

mod body;
mod calls;
mod check;
mod chlo;
mod constant;
mod convert;
mod dot;
mod elementwise;
mod norm;
mod reduce;
mod shape;
mod special;
mod table;
mod window;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use super::read::File;
use super::read::syntax::{Attr, BlockArg, Func as HloFunc, Op as HloOp, Region, Use};
use super::read::types::{HloType, TypeId};
use super::{MAX_ERRORS, Options};
use crate::builder::FuncBuilder;
use crate::diag::{Code, Diagnostic, Severity, Span};
use crate::entity::{EntityId as _, OpId, ValueId};
use crate::infer::InferError;
use crate::module::{ArgAttrs, Func, OpSpans};
use crate::types::{ElemType, TensorType};

pub(super) use calls::checking;
pub(super) use table::list as operations;

/// The most operations of a text that one function may have, those of its calls included.
const MAX_OPS: u32 = 1_000_000;

pub(super) type Fault = Box<Diagnostic>;

/// The values an operation gives.
type Made = Result<SmallVec<[ValueId; 1]>, Fault>;

/// A value, or none where the operation that should give it failed.
type Slot = Option<ValueId>;

/// An operation whose operands have values.
struct Call<'o, 's> {
    op: &'o HloOp<'s>,
    args: SmallVec<[ValueId; 3]>,
    /// The types written for the results; in a lifted body only their element types hold.
    results: SmallVec<[TensorType; 1]>,
}

impl<'s> Call<'_, 's> {
    fn error(&self, code: Code, message: impl Into<String>) -> Fault {
        Box::new(Diagnostic::error(code, message, self.op.name_span))
    }

    /// The operation is one, but written wrongly.
    fn malformed(&self, message: impl std::fmt::Display) -> Fault {
        self.error(Code::HloForm, format!("`{}`: {message}", self.op.name))
    }

    /// The operation is right, and not compiled.
    fn refused(&self, message: impl std::fmt::Display) -> Fault {
        self.error(Code::HloOp, format!("`{}`: {message}", self.op.name))
    }

    fn arg(&self, index: usize) -> Result<ValueId, Fault> {
        let missing = || self.malformed(format_args!("operand {} is missing", index + 1));
        self.args.get(index).copied().ok_or_else(missing)
    }

    /// Exactly this many operands.
    fn arity(&self, count: usize) -> Result<(), Fault> {
        if self.args.len() == count {
            return Ok(());
        }
        let found = self.args.len();
        Err(self.malformed(format_args!("takes {count} operands, not {found}")))
    }

    fn result(&self) -> Result<&TensorType, Fault> {
        self.results.first().ok_or_else(|| self.malformed("the type of the result is missing"))
    }

    fn attr(&self, names: &[&str]) -> Option<&Attr<'s>> {
        self.op.any_attr(names).map(|attr| &attr.value)
    }

    /// A list of numbers under one of the names.
    fn ints(&self, names: &[&str]) -> Result<Vec<i64>, Fault> {
        let missing = || self.malformed(format_args!("needs a list `{}`", names[0]));
        self.attr(names).and_then(Attr::ints).ok_or_else(missing)
    }

    /// As [`Call::ints`], of dimensions.
    fn dims(&self, names: &[&str]) -> Result<Vec<usize>, Fault> {
        let dims = self.ints(names)?.into_iter().map(usize::try_from);
        dims.collect::<Result<_, _>>().map_err(|_| self.malformed("a dimension is negative"))
    }

    fn int(&self, names: &[&str]) -> Result<i64, Fault> {
        let missing = || self.malformed(format_args!("needs a number `{}`", names[0]));
        self.attr(names).and_then(Attr::int).ok_or_else(missing)
    }

    /// The words of the operation's own form, such as `GT`.
    fn words(&self) -> impl Iterator<Item = &'s str> + '_ {
        self.op.attrs.iter().filter_map(|attr| match attr.value {
            Attr::Word(word) if attr.name.is_empty() => Some(word),
            _ => None,
        })
    }
}

/// Lowers a function. It is absent where an error was found.
pub(super) fn lower<'f, 's>(
    file: &'f File<'s>,
    func: &'f HloFunc<'s>,
    options: Options,
) -> (Option<Func>, Vec<Diagnostic>) {
    let mut lower = Lower {
        file,
        options,
        b: FuncBuilder::new(symbol_name(func.name)),
        scopes: vec![FxHashMap::default()],
        calls: Vec::new(),
        lifted: false,
        ops_left: MAX_OPS,
        constant_bytes: 0,
        diagnostics: Vec::new(),
        reported: FxHashSet::default(),
    };
    let complete = lower.function(func);
    let Lower { b, diagnostics, .. } = lower;
    let failed = diagnostics.iter().any(|found| found.severity == Severity::Error);
    let result = complete.filter(|_| !failed).map(|results| {
        let mut lowered = b.finish(&results);
        lowered.private = func.private;
        lowered.spans.name = func.name_span;
        lowered.spans.results = func.results_span;
        lowered
    });
    (result, diagnostics)
}

/// The name of an argument. The generic form numbers arguments through all functions, so `%arg5` may be the first one:
/// a number after `arg` is made the place, by which files of inputs name it.
fn arg_name(name: &str, index: usize) -> String {
    let numbered = name.strip_prefix("arg").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    if numbered || name.is_empty() { format!("arg{index}") } else { name.to_owned() }
}

/// A name that `.pta` text allows.
fn symbol_name(name: &str) -> String {
    let clean: String =
        name.chars().map(|c| if crate::module::is_name_char(c) { c } else { '_' }).collect();
    if clean.is_empty() { "main".to_owned() } else { clean }
}

struct Lower<'f, 's> {
    file: &'f File<'s>,
    options: Options,
    b: FuncBuilder,
    /// Names of the function being read, innermost region last.
    scopes: Vec<FxHashMap<&'s str, SmallVec<[Slot; 1]>>>,
    /// The functions being put in line, outermost first.
    calls: Vec<&'s str>,
    /// In the body of a reduction or map, whose scalars stand for whole tensors.
    lifted: bool,
    ops_left: u32,
    /// Bytes of the constants so far.
    constant_bytes: u64,
    diagnostics: Vec<Diagnostic>,
    /// What has been said already; a function may be called often.
    reported: FxHashSet<(Code, Span)>,
}

impl<'f, 's> Lower<'f, 's> {
    #[expect(clippy::boxed_local, reason = "faults come boxed, so that results stay small")]
    fn report(&mut self, fault: Fault) {
        // An empty one has been reported where it arose.
        if !fault.message.is_empty() && self.reported.insert((fault.code, fault.primary.span)) {
            self.diagnostics.push(*fault);
        }
    }

    /// Says something once for each place.
    fn note(&mut self, severity: Severity, message: impl Into<String>, span: Span) {
        let mut note = Diagnostic::error(Code::HloNote, message, span);
        note.severity = severity;
        self.report(Box::new(note));
    }

    /// Arguments, body, results.
    fn function(&mut self, func: &'f HloFunc<'s>) -> Option<Vec<ValueId>> {
        for (index, arg) in func.args.iter().enumerate() {
            let slot = match self.tensor_type(arg.ty, arg.span) {
                Ok(ty) => {
                    let hint = arg_name(arg.name, index);
                    let name = self.b.func_mut().fresh_name(&hint);
                    let value = self.b.func_mut().add_arg(&name, ty, ArgAttrs::default());
                    self.b.func_mut().spans.set_value(value, arg.span);
                    Some(value)
                }
                Err(fault) => {
                    self.report(fault);
                    None
                }
            };
            self.bind(arg.name, smallvec![slot]);
        }
        let Some(body) = &func.body else {
            let message = format!("`@{}` has no body", func.name);
            self.report(Box::new(Diagnostic::error(Code::HloInline, message, func.name_span)));
            return None;
        };
        self.calls.push(func.name);
        let slots = self.block(body);
        self.calls.pop();
        let values: Vec<ValueId> = slots?.into_iter().collect::<Option<_>>()?;
        self.check_results(func, &values);
        Some(values)
    }

    /// The values returned have the types that the function states.
    fn check_results(&mut self, func: &HloFunc<'s>, values: &[ValueId]) {
        if func.results.len() != values.len() {
            let message = format!(
                "`@{}` gives {} results and returns {} values",
                func.name,
                func.results.len(),
                values.len()
            );
            self.report(Box::new(Diagnostic::error(Code::ReturnCount, message, func.name_span)));
            return;
        }
        for (&ty, &value) in func.results.iter().zip(values) {
            match self.tensor_type(ty, func.name_span) {
                Ok(ty) if self.b.ty(value) == Some(&ty) => {}
                Ok(ty) => {
                    let name = &self.b.func().values[value].name;
                    let message = format!("`@{}` returns `%{name}`, which is no `{ty}`", func.name);
                    let span = func.name_span;
                    self.report(Box::new(Diagnostic::error(Code::ReturnType, message, span)));
                }
                Err(fault) => self.report(fault),
            }
        }
    }

    /// The operations of a region up to its `return`, and what is returned.
    fn block(&mut self, region: &'f Region<'s>) -> Option<Vec<Slot>> {
        if region.blocks > 1 {
            let message = "a region of several blocks is not compiled";
            self.report(Box::new(Diagnostic::error(Code::HloOp, message, region.span)));
        }
        for op in &region.ops {
            if self.diagnostics.len() >= MAX_ERRORS {
                return None;
            }
            if matches!(op.name, "return" | "func.return" | "stablehlo.return" | "chlo.return") {
                return Some(op.operands.iter().map(|operand| self.resolve(operand)).collect());
            }
            if self.ops_left == 0 {
                let message = format!("the function would have more than {MAX_OPS} operations");
                let span = op.name_span;
                self.report(Box::new(Diagnostic::error(Code::HloInline, message, span)));
                return None;
            }
            self.ops_left -= 1;
            self.op(op);
        }
        let message = "the region does not end in `return`";
        self.report(Box::new(Diagnostic::error(Code::MissingReturn, message, region.span)));
        None
    }

    /// Lowers an operation and binds its results.
    fn op(&mut self, op: &'f HloOp<'s>) {
        let before = self.b.func().ops.len();
        let first_value = self.b.func().values.len();
        let slots = match self.make(op) {
            Ok(Some(values)) => values.into_iter().map(Some).collect(),
            Ok(None) => Vec::new(),
            Err(fault) => {
                self.report(fault);
                Vec::new()
            }
        };
        self.mark(op, before, first_value);
        let mut slots = slots.into_iter();
        for result in &op.results {
            let bound: SmallVec<[Slot; 1]> =
                (0..result.count).map(|_| slots.next().flatten()).collect();
            for (index, &value) in bound.iter().enumerate() {
                // What another operation made keeps its own name.
                let Some(value) = value.filter(|value| value.index() >= first_value) else {
                    continue;
                };
                let func = self.b.func_mut();
                if result.count > 1 {
                    func.rename(value, &format!("{}.{index}", result.name));
                } else if *func.values[value].name != *result.name {
                    func.rename(value, result.name);
                }
                func.spans.set_value(value, result.span);
            }
            self.bind(result.name, bound);
        }
    }

    /// Gives the new operations the place of the one they come from.
    fn mark(&mut self, op: &HloOp<'s>, first: usize, first_value: usize) {
        let loc = op.loc.map(|text| self.file.locs.get(text).copied().unwrap_or(text));
        let spans =
            OpSpans { whole: op.span, name: op.name_span, ty: op.sig.span, ..OpSpans::default() };
        let func = self.b.func_mut();
        for index in first..func.ops.len() {
            let id = OpId::from_index(index);
            if func.spans.op(id).is_none_or(|spans| spans.whole == Span::default()) {
                func.spans.set_op(id, spans.clone());
                func.ops[id].loc = loc.map(Into::into);
            }
        }
        for index in first_value..func.values.len() {
            let id = ValueId::from_index(index);
            if func.spans.value(id).is_none() {
                func.spans.set_value(id, op.name_span);
            }
        }
    }

    /// The values of an operation; none where an operand has none.
    fn make(&mut self, op: &'f HloOp<'s>) -> Result<Option<SmallVec<[ValueId; 1]>>, Fault> {
        let row = table::find(op)?;
        if self.lifted && !row.lifts() {
            let message = format!("`{}` in the body of a reduction or map", op.name);
            return Err(Box::new(Diagnostic::error(Code::HloOp, message, op.name_span).help(
                "bodies of elementwise operations, comparisons, `select` and `convert` are compiled",
            )));
        }
        let results = self.result_types(op)?;
        let mut args = SmallVec::new();
        let mut complete = true;
        for operand in &op.operands {
            match self.resolve(operand) {
                Some(value) => args.push(value),
                None => complete = false,
            }
        }
        if !complete {
            // An operation that is not compiled on these types is found all the same.
            return Ok(None);
        }
        self.check_operands(op, &args)?;
        let call = Call { op, args, results };
        let values = self.apply(row, &call)?;
        self.check_made(&call, &values)?;
        Ok(Some(values))
    }

    /// The values have the types that the text says.
    fn check_made(&self, call: &Call<'_, 's>, values: &[ValueId]) -> Result<(), Fault> {
        if values.len() != call.results.len() {
            return Err(call.malformed(format_args!(
                "gives {} results, the text has {}",
                values.len(),
                call.results.len()
            )));
        }
        for (&value, want) in values.iter().zip(&call.results) {
            let Some(ty) = self.b.ty(value) else { continue };
            let same = if self.lifted { ty.dtype == want.dtype } else { ty == want };
            if !same {
                let code =
                    if ty.dtype == want.dtype { Code::ResultShape } else { Code::ResultDtype };
                let message = format!("`{}` gives `{ty}`, the text says `{want}`", call.op.name);
                return Err(Box::new(Diagnostic::error(code, message, call.op.sig.span)));
            }
        }
        Ok(())
    }

    /// The operands have the types that the text says.
    fn check_operands(&mut self, op: &HloOp<'s>, args: &[ValueId]) -> Result<(), Fault> {
        let listed = &op.sig.operands;
        if op.sig.results.is_some() && listed.len() != args.len() && !listed.is_empty() {
            let short = listed.len() == 1;
            if !short {
                let message =
                    format!("`{}` has {} operands and {} types", op.name, args.len(), listed.len());
                return Err(Box::new(Diagnostic::error(Code::HloForm, message, op.sig.span)));
            }
        }
        for (index, (&arg, operand)) in args.iter().zip(&op.operands).enumerate() {
            let Some(&ty) = listed.get(index.min(listed.len().wrapping_sub(1))) else { break };
            let want = self.tensor_type(ty, op.sig.span)?;
            let Some(have) = self.b.ty(arg) else { continue };
            let same = if self.lifted { have.dtype == want.dtype } else { *have == want };
            if !same {
                let message = format!("`%{}` is a `{have}`, the text says `{want}`", operand.name);
                return Err(Box::new(Diagnostic::error(Code::OperandType, message, operand.span)));
            }
        }
        Ok(())
    }

    /// The types written for an operation's results.
    fn result_types(&mut self, op: &HloOp<'s>) -> Result<SmallVec<[TensorType; 1]>, Fault> {
        let count: usize = op.results.iter().map(|result| result.count as usize).sum();
        let types: &[TypeId] = match &op.sig.results {
            Some(results) => results,
            None => &op.sig.operands,
        };
        let types: SmallVec<[TypeId; 1]> = match types {
            types if types.len() == count => types.into(),
            // `select` lists the condition's type first.
            [.., last] if count == 1 && op.sig.results.is_none() => smallvec![*last],
            // Results that nothing names.
            _ if count == 0 => op.sig.results.clone().unwrap_or_default(),
            _ => {
                let message = format!("`{}` names {count} results", op.name);
                let span = if op.sig.span.is_none() { op.name_span } else { op.sig.span };
                return Err(Box::new(
                    Diagnostic::error(Code::HloForm, message, span)
                        .help("write one type for each result"),
                ));
            }
        };
        let span = if op.sig.span.is_none() { op.name_span } else { op.sig.span };
        // Operands of types that are not compiled are found here too.
        let refused =
            op.sig.operands.iter().map(|&ty| self.tensor_type(ty, span)).find_map(Result::err);
        if let Some(fault) = refused {
            return Err(fault);
        }
        types.iter().map(|&ty| self.tensor_type(ty, span)).collect()
    }

    /// A type of the text as one that is compiled.
    fn tensor_type(&mut self, id: TypeId, span: Span) -> Result<TensorType, Fault> {
        let text = self.file.types.text(id);
        match self.file.types.get(id) {
            HloType::Tensor(ty) => Ok(ty.clone()),
            HloType::F64(shape) if self.options.f64_as_f32 => {
                let message = "`f64` is computed as `f32`: 24 bits of every 53 are kept";
                let first = self.diagnostics.iter().all(|found| found.message != message);
                if first {
                    self.note(Severity::Warning, message, span);
                }
                Ok(TensorType { shape: shape.clone(), dtype: ElemType::F32 })
            }
            HloType::F64(_) => {
                let message = format!("`{text}`: the machine has no doubles");
                Err(Box::new(
                    Diagnostic::error(Code::HloType, message, span)
                        .help("export the program in `f32`, or give --f64-as-f32 to compute it so"),
                ))
            }
            HloType::Refused(why) => {
                let message = format!("`{text}`: {why}");
                Err(Box::new(Diagnostic::error(Code::HloType, message, span)))
            }
            HloType::Malformed(why) => {
                let message = format!("`{text}`: {why}");
                Err(Box::new(Diagnostic::error(Code::UnknownType, message, span)))
            }
        }
    }

    fn bind(&mut self, name: &'s str, slots: SmallVec<[Slot; 1]>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, slots);
        }
    }

    fn bind_args(&mut self, args: &[BlockArg<'s>], values: &[ValueId]) {
        for (arg, &value) in args.iter().zip(values) {
            self.bind(arg.name, smallvec![Some(value)]);
        }
    }

    /// The value of an operand; one that is not defined is reported.
    fn resolve(&mut self, operand: &Use<'s>) -> Slot {
        let slots = self.scopes.iter().rev().find_map(|scope| scope.get(operand.name));
        match slots {
            Some(slots) => match slots.get(operand.nth as usize) {
                Some(slot) => *slot,
                None => {
                    let message = format!("`%{}` has {} results", operand.name, slots.len());
                    let span = operand.span;
                    self.report(Box::new(Diagnostic::error(Code::UndefinedValue, message, span)));
                    None
                }
            },
            None => {
                let message = format!("`%{}` is not defined", operand.name);
                let span = operand.span;
                self.report(Box::new(Diagnostic::error(Code::UndefinedValue, message, span)));
                None
            }
        }
    }

    /// The type of a value.
    fn ty(&self, value: ValueId) -> TensorType {
        self.b.ty(value).cloned().unwrap_or_else(|| TensorType::scalar(ElemType::F32))
    }

    fn dtype(&self, value: ValueId) -> ElemType {
        self.b.func().ty(value).dtype()
    }
}

/// What the rules of the tensor dialect say against an operation, at the text's operation.
fn wrong<'a>(call: &'a Call<'_, '_>) -> impl Fn(InferError) -> Fault + 'a {
    move |error| {
        let fault = call.error(error.code, format!("`{}`: {}", call.op.name, error.message));
        match error.help {
            Some(help) => Box::new((*fault).help(help)),
            None => fault,
        }
    }
}
