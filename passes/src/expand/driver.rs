//! Rebuilds a function operation by operation until all of it is core.

use partita_ir::diag::Code;
use partita_ir::ops::{OpKind, TensorOp};
use partita_ir::{Diagnostic, Func, OpId, Operand, Span, TensorType, ValueDef, ValueId};
use partita_isa::Target;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Expansion, OpCx, Refusal, When, tables};
use crate::rewrite::{Fuel, RewriteClass};
use crate::select::core_reason;

/// How deep expansions may nest: what an expansion emits may need expanding itself.
const MAX_DEPTH: usize = 24;

/// One use of an expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The expansion's name.
    pub expansion: &'static str,
    pub class: RewriteClass,
    pub why: &'static str,
    /// The name of the source operation's result.
    pub value: String,
    /// The source operation, as `tensor.elementwise divide`.
    pub op: String,
    pub span: Span,
    /// 0 for the source operation itself, else within that many other expansions.
    pub depth: usize,
}

/// The name of an operation with the elementwise operation, if it is one.
pub(super) fn describe(kind: &TensorOp) -> String {
    let name = kind.kind_name().full();
    match kind {
        TensorOp::Elementwise(op) => format!("{name} {op}"),
        TensorOp::Reduce { op, .. } | TensorOp::TransposeReduce { op, .. } => {
            format!("{name} {op}")
        }
        TensorOp::PartitionReduce { op, .. } => format!("{name} {op}"),
        TensorOp::ScanCache { op0, op1, .. }
        | TensorOp::Pair { op0, op1, .. }
        | TensorOp::TransposePair { op0, op1, .. } => {
            format!("{name} {op0}, {op1}")
        }
        _ => name.to_owned(),
    }
}

/// Rewrites every operation into ones that a word or two of the target do exactly; without fuel, operations stay as
/// they are. Values of the source keep their names; what expansions add is named after them.
///
/// # Errors
/// One diagnostic for each operation that nothing expresses exactly, with the reason and,
/// where one is known, the rule.
pub fn legalize(
    func: &Func,
    target: &Target,
    fuel: &mut Fuel,
) -> Result<(Func, Vec<Applied>), Vec<Diagnostic>> {
    let mut driver = Driver::new(func, target);
    for (id, op) in func.body_ops() {
        driver.source(id, op, fuel);
    }
    if driver.diagnostics.is_empty() {
        Ok((driver.out.compact(), driver.applied))
    } else {
        Err(driver.diagnostics)
    }
}

/// The source operation at hand.
#[derive(Clone)]
struct Site {
    value: String,
    op: String,
    span: Span,
    loc: Option<Box<str>>,
    spans: Option<partita_ir::module::OpSpans>,
}

/// An operation to be placed in the output.
struct Pending {
    kind: TensorOp,
    operands: Vec<Operand>,
    ty: TensorType,
    name: String,
}

struct Driver<'a> {
    source: &'a Func,
    target: &'a Target,
    out: Func,
    /// The output value of each source value.
    map: Vec<Option<ValueId>>,
    /// Names that a new value may not take.
    taken: FxHashSet<Box<str>>,
    /// The least number not yet tried after each stem.
    next: FxHashMap<String, u32>,
    applied: Vec<Applied>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Driver<'a> {
    fn new(source: &'a Func, target: &'a Target) -> Self {
        let mut out = Func::new(source.name.clone());
        out.private = source.private;
        out.loc = source.loc.clone();
        out.spans.name = source.spans.name;
        out.spans.results = source.spans.results;
        let mut map = vec![None; source.values.len()];
        for (&arg, attrs) in source.args.iter().zip(&source.arg_attrs) {
            let value = &source.values[arg];
            let id = out.add_arg(&value.name, value.ty.clone(), attrs.clone());
            out.spans.set_value(id, source.spans.value(arg));
            map[arg.index()] = Some(id);
        }
        let taken = source.values.iter().map(|(_, value)| value.name.clone()).collect();
        let (next, applied, diagnostics) = Default::default();
        Self { source, target, out, map, taken, next, applied, diagnostics }
    }

    fn source(&mut self, id: OpId, op: &partita_ir::Op, fuel: &mut Fuel) {
        let mapped = |operand: &Operand| match operand {
            Operand::Value(value) => {
                self.map.get(value.index()).copied().flatten().map(Operand::Value)
            }
            literal => Some(*literal),
        };
        // What reads a value that could not be made is not looked at.
        let Some(operands) = op.operands.iter().map(mapped).collect::<Option<Vec<_>>>() else {
            if self.diagnostics.is_empty() {
                let message = format!("`{}` reads a value that is not defined", op.kind.name());
                let span = self.source.spans.op(id).map_or(Span::NONE, |spans| spans.whole);
                self.diagnostics.push(Diagnostic::error(Code::UseBeforeDef, message, span));
            }
            return;
        };
        if op.kind == OpKind::Return {
            return self.end(id, op, &operands);
        }
        let (Some(kind), Some(result)) = (op.as_tensor(), op.result()) else {
            let span = self.source.spans.op(id).map_or(Span::NONE, |spans| spans.whole);
            let message = format!("`{}` is not an operation on tensors", op.kind.name());
            self.diagnostics.push(Diagnostic::error(Code::ValueKind, message, span));
            return;
        };
        let spans = self.source.spans.op(id).cloned();
        let name = self.source.values[result].name.to_string();
        let site = Site {
            value: name.clone(),
            op: describe(kind),
            span: spans.as_ref().map_or(Span::NONE, |spans| spans.whole),
            loc: op.loc.clone(),
            spans,
        };
        let Some(ty) = self.source.tensor_ty(result) else { return };
        let pending = Pending { kind: kind.clone(), operands, ty: ty.clone(), name };
        let expansions = self.applied.len();
        let lowered = match fuel.is_empty() {
            false => self.lower(&pending, &site, 0),
            true => Ok(self.keep(&pending, &site)),
        };
        if let Some(applied) = self.applied.get(expansions) {
            fuel.spend(applied.expansion, &site.value);
        }
        let placed = match lowered {
            Ok(value) => value,
            Err(refusal) => {
                self.report(&site, &refusal);
                // Whatever reads it is still looked at.
                self.keep(&pending, &site)
            }
        };
        self.out.spans.set_value(placed, self.source.spans.value(result));
        self.map[result.index()] = Some(placed);
    }

    fn end(&mut self, id: OpId, op: &partita_ir::Op, operands: &[Operand]) {
        let values: Vec<ValueId> = operands.iter().filter_map(Operand::value).collect();
        let new = self.out.push_return(&values);
        self.out.ops[new].loc = op.loc.clone();
        if let Some(spans) = self.source.spans.op(id) {
            self.out.spans.set_op(new, spans.clone());
        }
        self.out.result_types = self.source.result_types.clone();
    }

    fn report(&mut self, site: &Site, refusal: &Refusal) {
        let message =
            format!("`{}` has no exact form on {}: {}", site.op, self.target, refusal.reason);
        let mut diagnostic = Diagnostic::error(Code::Unsupported, message, site.span);
        if let Some(rule) = refusal.rule {
            diagnostic = diagnostic.note(format!("rule {rule}"));
        }
        self.diagnostics.push(diagnostic);
    }

    /// Adds an operation to the arena, not to the body.
    fn make(&mut self, pending: &Pending, site: &Site) -> (OpId, ValueId) {
        let id = self.out.make_op(pending.kind.clone(), pending.operands.iter().copied(), []);
        let value = self.out.add_value(&pending.name, pending.ty.clone(), ValueDef::Op(id));
        self.out.ops[id].results.push(value);
        self.out.ops[id].loc = site.loc.clone();
        if let Some(spans) = &site.spans {
            self.out.spans.set_op(id, spans.clone());
        }
        (id, value)
    }

    /// Places an operation as it is.
    fn keep(&mut self, pending: &Pending, site: &Site) -> ValueId {
        let (id, value) = self.make(pending, site);
        self.out.body.push(id);
        value
    }

    /// Places an operation, expanded as far as it must be.
    fn lower(&mut self, pending: &Pending, site: &Site, depth: usize) -> Result<ValueId, Refusal> {
        if matches!(pending.kind, TensorOp::Constant(_)) && pending.ty.elements() != Some(0) {
            return Ok(self.keep(pending, site));
        }
        if depth > MAX_DEPTH {
            return Err(Refusal::because("its expansion nests too deeply"));
        }
        if let Some(value) = self.expand(pending, site, depth, When::Always)? {
            return Ok(value);
        }
        let (id, value) = self.make(pending, site);
        let Err(not_core) = core_reason(&self.out, &self.out.ops[id], self.target) else {
            self.out.body.push(id);
            return Ok(value);
        };
        match self.expand(pending, site, depth, When::NotCore)? {
            Some(value) => Ok(value),
            None => Err(Refusal { reason: not_core.reason, rule: not_core.rule }),
        }
    }

    /// Tries the expansions in the order of the tables. `None` when none applies; when one
    /// applies but fails, the next is tried, and the first failure stands.
    fn expand(
        &mut self,
        pending: &Pending,
        site: &Site,
        depth: usize,
        when: When,
    ) -> Result<Option<ValueId>, Refusal> {
        let (id, _) = self.make(pending, site);
        let mut first: Option<Refusal> = None;
        for expansion in tables().filter(|row| row.when == when) {
            let op = self.out.ops[id].clone();
            let built = {
                let Some(cx) = OpCx::new(&self.out, &op, self.target) else { continue };
                if !(expansion.applies)(&cx) {
                    continue;
                }
                let (mut builder, cx) = cx.template();
                (expansion.build)(&mut builder, &cx).map(|value| builder.finish(&[value]))
            };
            let mark = (self.out.body.len(), self.applied.len());
            self.applied.push(Applied {
                expansion: expansion.name,
                class: expansion.class,
                why: expansion.why,
                value: site.value.clone(),
                op: site.op.clone(),
                span: site.span,
                depth,
            });
            match built.and_then(|template| self.inline(&template, pending, site, depth, expansion))
            {
                Ok(value) => return Ok(Some(value)),
                Err(refusal) => {
                    self.out.body.truncate(mark.0);
                    self.applied.truncate(mark.1);
                    first.get_or_insert(refusal);
                }
            }
        }
        match (first, when) {
            (Some(refusal), When::NotCore) => Err(refusal),
            // What was only preferred may be left alone.
            _ => Ok(None),
        }
    }

    /// Places the operations that an expansion built.
    fn inline(
        &mut self,
        template: &Func,
        pending: &Pending,
        site: &Site,
        depth: usize,
        expansion: &Expansion,
    ) -> Result<ValueId, Refusal> {
        let Some(last) = template.returned().next() else {
            return Err(Refusal::because("the expansion gives nothing"));
        };
        if template.tensor_ty(last) != Some(&pending.ty) {
            let gives = template.ty(last);
            let reason = format!("{} gives {gives}, not {}", expansion.name, pending.ty);
            return Err(Refusal::because(reason));
        }
        let mut map: Vec<Option<ValueId>> = vec![None; template.values.len()];
        let values = pending.operands.iter().filter_map(Operand::value);
        for (&arg, value) in template.args.iter().zip(values) {
            map[arg.index()] = Some(value);
        }
        for id in live(template, last) {
            let op = &template.ops[id];
            let (OpKind::Tensor(kind), Some(result)) = (&op.kind, op.result()) else { continue };
            let mapped = |operand: &Operand| match operand {
                Operand::Value(value) => {
                    map.get(value.index()).copied().flatten().map(Operand::Value)
                }
                literal => Some(*literal),
            };
            let undefined = || Refusal::because("the expansion uses an undefined value");
            let operands =
                op.operands.iter().map(mapped).collect::<Option<_>>().ok_or_else(undefined)?;
            let ty = template.tensor_ty(result).ok_or_else(undefined)?.clone();
            let name = if result == last { pending.name.clone() } else { self.fresh(&site.value) };
            let inner = Pending { kind: kind.clone(), operands, ty, name };
            map[result.index()] = Some(self.lower(&inner, site, depth + 1)?);
        }
        map.get(last.index())
            .copied()
            .flatten()
            .ok_or_else(|| Refusal::because("the expansion gives an undefined value"))
    }

    /// A name after the source value's that no value has.
    fn fresh(&mut self, stem: &str) -> String {
        let next = self.next.entry(stem.to_owned()).or_default();
        loop {
            let name = format!("{stem}.{next}");
            *next += 1;
            if self.taken.insert(name.as_str().into()) {
                return name;
            }
        }
    }
}

/// The operations that a value needs, in order.
fn live(func: &Func, value: ValueId) -> Vec<OpId> {
    let mut needed = vec![false; func.values.len()];
    needed[value.index()] = true;
    let mut ops = Vec::new();
    for (id, op) in func.body_ops().rev() {
        if op.result().is_some_and(|result| needed[result.index()]) {
            op.value_operands().for_each(|operand| needed[operand.index()] = true);
            ops.push(id);
        }
    }
    ops.reverse();
    ops
}
