//! Shrinking a program while something about it stays true.
//!
//! A candidate is always a valid program that is smaller by [`Size`], so that the search ends. Candidates drop
//! functions and results, cut the program off at a value, make a value an argument, let an operand stand for a result,
//! and shrink dimensions.

use std::collections::BTreeSet;

use partita_ir::module::ArgAttrs;
use partita_ir::ops::OpKind;
use partita_ir::{Func, Module, Operand, Source, Type, ValueId, text, verify};
use rustc_hash::{FxHashMap, FxHashSet};

/// How large a program is, in the order in which it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    pub functions: usize,
    /// Operations but `return`.
    pub operations: usize,
    pub arguments: usize,
    /// Elements of all values.
    pub elements: u128,
}

impl Size {
    pub fn of(module: &Module) -> Self {
        let values = module.funcs.iter().flat_map(|func| func.values.iter());
        let elements = values.filter_map(|(_, value)| value.ty.as_tensor()?.elements());
        Self {
            functions: module.funcs.len(),
            operations: module.funcs.iter().map(|func| func.body.len().saturating_sub(1)).sum(),
            arguments: module.funcs.iter().map(|func| func.args.len()).sum(),
            elements: elements.map(u128::from).sum(),
        }
    }
}

/// Shrinks a module around one of its functions. `interesting` is asked of each candidate, at most `limit` times;
/// `progress` hears of every step.
pub fn reduce(
    module: &Module,
    entry: &str,
    limit: usize,
    interesting: &mut dyn FnMut(&Module) -> bool,
    progress: &mut dyn FnMut(Size),
) -> Module {
    let mut search = Search { best: module.clone(), left: limit, interesting, progress };
    let funcs = module.func(entry).into_iter().cloned().collect();
    search.offer(Module { funcs, ..module.clone() });
    loop {
        let before = Size::of(&search.best);
        search.results(entry);
        search.cuts(entry);
        search.arguments(entry);
        search.bypasses(entry);
        search.dimensions();
        if Size::of(&search.best) == before || search.left == 0 {
            return search.best;
        }
    }
}

struct Search<'a> {
    best: Module,
    /// Candidates that may still be tried.
    left: usize,
    interesting: &'a mut dyn FnMut(&Module) -> bool,
    progress: &'a mut dyn FnMut(Size),
}

impl Search<'_> {
    /// Takes a candidate if it is valid, smaller and interesting.
    fn offer(&mut self, candidate: Module) -> bool {
        let size = Size::of(&candidate);
        if self.left == 0 || size >= Size::of(&self.best) || verify::verify(&candidate).is_err() {
            return false;
        }
        self.left -= 1;
        if !(self.interesting)(&candidate) {
            return false;
        }
        self.best = candidate;
        (self.progress)(size);
        true
    }

    fn offer_edit(&mut self, entry: &str, edit: impl FnOnce(&Func) -> Edit) -> bool {
        let Some(func) = self.best.func(entry) else { return false };
        let Some(new) = edit(func).apply(func) else { return false };
        let funcs = self
            .best
            .funcs
            .iter()
            .map(|func| if func.name == entry { new.clone() } else { func.clone() });
        let candidate = Module { funcs: funcs.collect(), ..self.best.clone() };
        self.offer(candidate)
    }

    fn func(&self, entry: &str) -> Option<&Func> {
        self.best.func(entry)
    }

    /// One result in place of several, else one less.
    fn results(&mut self, entry: &str) {
        let returned: Vec<ValueId> =
            self.func(entry).map(|func| func.returned().collect()).unwrap_or_default();
        if returned.len() < 2 {
            return;
        }
        for &value in &returned {
            if self.offer_edit(entry, |_| Edit::returning([value])) {
                return;
            }
        }
        for skipped in (0..returned.len()).rev() {
            let current: Vec<ValueId> =
                self.func(entry).map(|func| func.returned().collect()).unwrap_or_default();
            let fewer = current
                .iter()
                .enumerate()
                .filter(|(index, _)| *index != skipped)
                .map(|(_, value)| *value);
            let fewer: Vec<ValueId> = fewer.collect();
            if current.len() > 1 {
                self.offer_edit(entry, |_| Edit::returning(fewer));
            }
        }
    }

    /// Returns an earlier value, the middle of the program first.
    fn cuts(&mut self, entry: &str) {
        self.each_value(entry, |value| Edit::returning([value]));
    }

    /// Makes a value an argument, so that what computes it goes.
    fn arguments(&mut self, entry: &str) {
        self.each_value(entry, |value| Edit {
            cut: FxHashSet::from_iter([value]),
            ..Edit::default()
        });
    }

    /// Tries an edit at every value that an operation defines; after each success, again with what is left.
    fn each_value(&mut self, entry: &str, edit: impl Fn(ValueId) -> Edit) {
        loop {
            let Some(func) = self.func(entry) else { return };
            let values: Vec<ValueId> = func.body_ops().filter_map(|(_, op)| op.result()).collect();
            let mut order = Vec::new();
            middle_first(0..values.len(), &mut order);
            let taken =
                order.into_iter().any(|index| self.offer_edit(entry, |_| edit(values[index])));
            if !taken || self.left == 0 {
                return;
            }
        }
    }

    /// Lets an operand, or an earlier value of the same type, stand for a result.
    fn bypasses(&mut self, entry: &str) {
        loop {
            let Some(func) = self.func(entry) else { return };
            let mut pairs: Vec<(ValueId, ValueId)> = Vec::new();
            for (_, op) in func.body_ops() {
                let Some(result) = op.result() else { continue };
                let same = op.value_operands().filter(|&value| func.ty(value) == func.ty(result));
                pairs.extend(same.map(|value| (result, value)));
            }
            // Two arguments of one type may be one.
            for (index, &arg) in func.args.iter().enumerate() {
                let same = func.args[..index].iter().find(|&&other| func.ty(other) == func.ty(arg));
                pairs.extend(same.map(|&other| (arg, other)));
            }
            let taken = pairs.into_iter().any(|(from, to)| {
                self.offer_edit(entry, |_| Edit {
                    alias: FxHashMap::from_iter([(from, to)]),
                    ..Edit::default()
                })
            });
            if !taken || self.left == 0 {
                return;
            }
        }
    }

    /// Makes a dimension smaller wherever it stands.
    fn dimensions(&mut self) {
        loop {
            let sizes = dimensions_of(&self.best);
            let smaller = |size: u64| {
                [1, 2, size / 2, size - 1].into_iter().filter(move |&new| new < size && new > 0)
            };
            let mut tries =
                sizes.iter().rev().flat_map(|&size| smaller(size).map(move |new| (size, new)));
            let taken = tries.any(|(size, new)| match with_dimension(&self.best, size, new) {
                Some(candidate) => self.offer(candidate),
                None => false,
            });
            if !taken || self.left == 0 {
                return;
            }
        }
    }
}

/// The indices of a range, its middle first, then the middles of the halves.
fn middle_first(range: std::ops::Range<usize>, order: &mut Vec<usize>) {
    let mut queue = std::collections::VecDeque::from([range]);
    while let Some(range) = queue.pop_front() {
        if range.is_empty() {
            continue;
        }
        let middle = range.start + range.len() / 2;
        order.push(middle);
        queue.push_back(range.start..middle);
        queue.push_back(middle + 1..range.end);
    }
}

/// A change of a function, after which nothing stays that its results do not need.
#[derive(Default)]
struct Edit {
    /// What is returned, if not what was.
    returned: Option<Vec<ValueId>>,
    /// Values that become arguments.
    cut: FxHashSet<ValueId>,
    /// Values that another stands for.
    alias: FxHashMap<ValueId, ValueId>,
}

impl Edit {
    fn returning(values: impl IntoIterator<Item = ValueId>) -> Self {
        Self { returned: Some(values.into_iter().collect()), ..Self::default() }
    }

    fn resolve(&self, value: ValueId) -> ValueId {
        self.alias.get(&value).copied().unwrap_or(value)
    }

    /// `None` for a function with operations that give nothing or several values: only tensors are shrunk so.
    fn apply(&self, func: &Func) -> Option<Func> {
        let returned: Vec<ValueId> = match &self.returned {
            Some(values) => values.clone(),
            None => func.returned().map(|value| self.resolve(value)).collect(),
        };
        let mut needed: FxHashSet<ValueId> = returned.iter().copied().collect();
        for (_, op) in func.body_ops().rev() {
            if op.kind == OpKind::Return {
                continue;
            }
            op.as_tensor()?;
            let result = op.result()?;
            if needed.contains(&result) && !self.cut.contains(&result) {
                needed.extend(op.value_operands().map(|value| self.resolve(value)));
            }
        }
        let mut out = Func::new(func.name.clone());
        let mut moved: FxHashMap<ValueId, ValueId> = FxHashMap::default();
        for (&arg, attrs) in
            func.args.iter().zip(&func.arg_attrs).filter(|(arg, _)| needed.contains(arg))
        {
            let value = &func.values[arg];
            moved.insert(arg, out.add_arg(&value.name, value.ty.clone(), attrs.clone()));
        }
        for (id, _) in
            func.values.iter().filter(|(id, _)| self.cut.contains(id) && needed.contains(id))
        {
            let value = &func.values[id];
            moved.insert(id, out.add_arg(&value.name, value.ty.clone(), ArgAttrs::default()));
        }
        for (_, op) in func.body_ops() {
            let Some(result) = op.result().filter(|result| needed.contains(result)) else {
                continue;
            };
            if moved.contains_key(&result) {
                continue;
            }
            let operand = |operand: &Operand| match operand {
                Operand::Value(value) => {
                    moved.get(&self.resolve(*value)).copied().map(Operand::Value)
                }
                literal => Some(*literal),
            };
            let operands: Vec<Operand> = op.operands.iter().map(operand).collect::<Option<_>>()?;
            let value = &func.values[result];
            let new = out.push_op(
                op.kind.clone(),
                operands,
                [(value.name.to_string(), value.ty.clone())],
            );
            moved.insert(result, out.ops[new].result()?);
        }
        let returned: Vec<ValueId> =
            returned.iter().map(|value| moved.get(value).copied()).collect::<Option<_>>()?;
        out.push_return(&returned);
        Some(out)
    }
}

/// The sizes above 1 of all dimensions.
fn dimensions_of(module: &Module) -> BTreeSet<u64> {
    let values = module.funcs.iter().flat_map(|func| func.values.iter());
    let shapes = values.filter_map(|(_, value)| match &value.ty {
        Type::Tensor(ty) => Some(ty.shape.iter().copied().collect::<Vec<u64>>()),
        _ => None,
    });
    shapes.flatten().filter(|&size| size > 1).collect()
}

/// The module with one size in place of another in every tensor type; `None` where that is no program.
fn with_dimension(module: &Module, from: u64, to: u64) -> Option<Module> {
    const TYPE: &str = "tensor<";
    let printed = module.to_string();
    let mut out = String::with_capacity(printed.len());
    let mut rest = printed.as_str();
    while let Some(at) = rest.find(TYPE) {
        let (before, inside) = rest.split_at(at + TYPE.len());
        let end = inside.find('>')?;
        out.push_str(before);
        let dims: Vec<String> = inside[..end]
            .split('x')
            .map(|dim| if dim.parse() == Ok(from) { to.to_string() } else { dim.to_owned() })
            .collect();
        out.push_str(&dims.join("x"));
        rest = &inside[end..];
    }
    out.push_str(rest);
    text::load(&Source::new("candidate", out)).ok()
}
