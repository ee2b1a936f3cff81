//! Fusion without an e-graph: operations in program order, each replaced by the first form that a rule makes of it
//! and the operations before it, where that costs less by itself.
//!
//! What is shared or could be had in several ways is not weighed, which is what an e-graph is for; this is what it is
//! compared with, and what is taken where it does no better.

use partita_ir::ops::TensorOpName;
use partita_ir::{Func, OpId, OpKind, Operand, TensorOp, TensorType, ValueId};
use partita_isa::Target;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::cost::Prices;
use super::language::{Entry, EntryKind, Slot};
use super::report;
use super::rules::{self, Draft, Link, Refusal, Rule};
use super::{FuseOptions, FuseResult, FuseStats};
use crate::remark::{Remark, RemarkKind};
use crate::rewrite::{Fuel, RewriteClass};

/// Operations that a rule fits, each with the place among its values of what the next one makes.
type Chain = SmallVec<[(OpId, Option<usize>); 2]>;

/// Rules about operations of the same kinds.
struct Family {
    chain: &'static [TensorOpName],
    rules: Vec<&'static Rule>,
}

/// A function on its way through the rules.
struct Peephole<'a> {
    func: Func,
    prices: Prices,
    target: &'a Target,
    options: &'a FuseOptions,
    /// By the kind of the operation that is replaced.
    rules: FxHashMap<TensorOpName, Vec<Family>>,
    /// Uses of each value by what is left of the program.
    uses: Vec<u32>,
    /// What now stands for a value that went away.
    replaced: Vec<Option<ValueId>>,
    fuel: Fuel,
    remarks: Vec<Remark>,
    /// What the rule before left.
    draft: Option<Draft>,
}

/// Fuses a verified function; gives also what was spent.
pub(super) fn run(
    func: &Func,
    target: &Target,
    options: &FuseOptions,
    fuel: Fuel,
) -> (FuseResult, Fuel) {
    let mut rules: FxHashMap<TensorOpName, Vec<Family>> = FxHashMap::default();
    for rule in rules::all() {
        if options.allow_excess_precision || rule.class != RewriteClass::ChangesRounding {
            let families = rules.entry(rule.root()).or_default();
            match families.iter_mut().find(|family| family.chain == rule.chain) {
                Some(family) => family.rules.push(rule),
                None => families.push(Family { chain: rule.chain, rules: vec![rule] }),
            }
        }
    }
    let prices = Prices::of(target);
    let cost_before = price_of_func(&prices, func);
    let mut work = Peephole {
        prices,
        target,
        options,
        rules,
        uses: func.use_counts(),
        replaced: vec![None; func.values.len()],
        fuel,
        remarks: Vec::new(),
        draft: None,
        func: func.clone(),
    };
    let mut body = Vec::with_capacity(func.body.len());
    for &id in &func.body {
        work.visit(id, &mut body);
    }
    let Peephole { mut func, fuel, remarks, .. } = work;
    func.body = body;
    crate::canonicalize::remove_dead(&mut func);
    let stats = FuseStats {
        rewrites: fuel.made,
        cost_before,
        cost_after: price_of_func(&prices, &func),
        ..FuseStats::default()
    };
    (FuseResult { func: func.compact(), remarks, stats }, fuel)
}

/// A chain in the terms of rules.
struct Site {
    /// The values that it reads, each once, and their types.
    inputs: SmallVec<[ValueId; 3]>,
    types: SmallVec<[TensorType; 3]>,
    entries: SmallVec<[Entry; 2]>,
    reads: SmallVec<[SmallVec<[Option<usize>; 3]>; 2]>,
}

impl Site {
    fn of(func: &Func, chain: &Chain) -> Option<Self> {
        let mut inputs: SmallVec<[ValueId; 3]> = SmallVec::new();
        let mut entries = SmallVec::new();
        let mut reads = SmallVec::new();
        for &(id, next) in chain {
            let op = &func.ops[id];
            let ty = func.tensor_ty(op.result()?)?.clone();
            let slot = |operand: &Operand| match operand {
                Operand::Literal(literal) => Slot::Literal(*literal),
                Operand::Value(_) => Slot::Child,
            };
            let slots = op.operands.iter().map(slot).collect();
            entries.push(Entry { kind: EntryKind::Op { op: op.as_tensor()?.clone(), slots }, ty });
            let read = |(place, value): (usize, ValueId)| {
                if Some(place) == next {
                    return None;
                }
                let known = inputs.iter().position(|input| *input == value);
                Some(known.unwrap_or_else(|| {
                    inputs.push(value);
                    inputs.len() - 1
                }))
            };
            reads.push(op.value_operands().enumerate().map(read).collect());
        }
        let ty = |&input: &ValueId| func.tensor_ty(input).cloned();
        let types = inputs.iter().map(ty).collect::<Option<_>>()?;
        Some(Self { inputs, types, entries, reads })
    }

    /// What a rule makes of the chain.
    fn route(
        &self,
        rule: &Rule,
        target: &Target,
        options: &FuseOptions,
        draft: &mut Option<Draft>,
    ) -> Result<Func, Refusal> {
        let link = |(entry, reads): (_, &SmallVec<_>)| Link { entry, reads: reads.clone() };
        let links: SmallVec<[Link<'_>; 2]> =
            self.entries.iter().zip(&self.reads).map(link).collect();
        let types: SmallVec<[&TensorType; 3]> = self.types.iter().collect();
        rule.route_in(draft, &links, &types, target, options.words_only)
    }
}

impl Peephole<'_> {
    fn visit(&mut self, id: OpId, body: &mut Vec<OpId>) {
        self.redirect(id);
        let mut waiting = vec![id];
        while let Some(id) = waiting.pop() {
            match self.fused(id) {
                Some(made) => waiting.extend(made.into_iter().rev()),
                None => body.push(id),
            }
        }
    }

    fn redirect(&mut self, id: OpId) {
        let replaced = &self.replaced;
        for operand in &mut self.func.ops[id].operands {
            if let Operand::Value(value) = operand
                && let Some(new) = replaced.get(value.index()).copied().flatten()
            {
                *value = new;
            }
        }
    }

    /// Replaces an operation by the first form that is legal and cheaper; gives the operations to put in its place.
    fn fused(&mut self, id: OpId) -> Option<Vec<OpId>> {
        let kind = self.func.ops[id].as_tensor()?.kind_name();
        let families = std::mem::take(self.rules.get_mut(&kind)?);
        let made = self.first_fit(id, &families);
        self.rules.insert(kind, families);
        made
    }

    fn first_fit(&mut self, id: OpId, families: &[Family]) -> Option<Vec<OpId>> {
        let mut chains = Vec::new();
        for family in families {
            chains.clear();
            self.chains(id, family.chain, &mut SmallVec::new(), &mut chains);
            for chain in &chains {
                let Some(site) = Site::of(&self.func, chain) else { continue };
                for &rule in &family.rules {
                    if self.fuel.is_empty() {
                        return None;
                    }
                    match site.route(rule, self.target, self.options, &mut self.draft) {
                        Ok(route) => {
                            let before = self.price_of_chain(chain);
                            let after = price_of_func(&self.prices, &route);
                            if after < before {
                                self.note(rule, id, before, after);
                                let inputs = site.inputs;
                                return Some(self.replace(chain, &inputs, &route));
                            }
                        }
                        Err(Refusal::NoMatch) => {}
                        Err(refusal) => {
                            let pass = self.options.pass();
                            self.remarks
                                .extend(report::refused(&self.func, pass, id, rule, &refusal));
                        }
                    }
                }
            }
        }
        None
    }

    fn note(&mut self, rule: &'static Rule, id: OpId, before: u64, after: u64) {
        let value =
            self.func.ops[id].result().map(|value| self.func.values[value].name.to_string());
        self.fuel.spend(rule.name, &value.unwrap_or_default());
        let mut remark =
            report::about(&self.func, self.options.pass(), id, RemarkKind::Passed, rule);
        remark.message = format!("{} in place of {}", rule.makes, remark.op);
        (remark.cost_before, remark.cost_after) = (Some(before), Some(after));
        self.remarks.push(remark);
    }

    /// Operations of the given kinds, each an operand of the one before.
    fn chains(&self, id: OpId, kinds: &[TensorOpName], path: &mut Chain, found: &mut Vec<Chain>) {
        let Some((&kind, rest)) = kinds.split_first() else { return };
        let op = &self.func.ops[id];
        if op.as_tensor().map(TensorOp::kind_name) != Some(kind) {
            return;
        }
        if rest.is_empty() {
            path.push((id, None));
            found.push(path.clone());
            path.pop();
            return;
        }
        let values: SmallVec<[ValueId; 3]> = op.value_operands().collect();
        for (place, &value) in values.iter().enumerate() {
            // The same operand twice fits once.
            if values[..place].contains(&value) {
                continue;
            }
            if let Some(def) = self.func.def_op(value) {
                path.push((id, Some(place)));
                self.chains(def, rest, path, found);
                path.pop();
            }
        }
    }

    /// What the operations of a chain cost that go with its first.
    fn price_of_chain(&self, chain: &Chain) -> u64 {
        let mut sum = 0u64;
        for (at, &(id, _)) in chain.iter().enumerate() {
            let uses = self.func.ops[id].result().and_then(|value| self.uses.get(value.index()));
            // Read twice by the operation before, it goes with that one as well.
            let reads = |user: OpId| {
                let result = self.func.ops[id].result();
                self.func.ops[user].value_operands().filter(|&value| Some(value) == result).count()
            };
            let own =
                at.checked_sub(1).and_then(|user| chain.get(user)).map(|&(user, _)| reads(user));
            if own.is_some_and(|own| uses.is_none_or(|&uses| uses as usize > own)) {
                break;
            }
            sum = sum.saturating_add(price_of_op(&self.prices, &self.func, id));
        }
        sum
    }

    /// Puts a route in the place of the chain's first operation.
    fn replace(&mut self, chain: &Chain, inputs: &[ValueId], route: &Func) -> Vec<OpId> {
        let Some(&(root, _)) = chain.first() else { return Vec::new() };
        let Some(result) = self.func.ops[root].result() else { return vec![root] };
        let mut values: FxHashMap<ValueId, ValueId> = FxHashMap::default();
        values.extend(route.args.iter().copied().zip(inputs.iter().copied()));
        let returned = route.returned().next();
        let before: SmallVec<[ValueId; 3]> = self.func.ops[root].value_operands().collect();
        let mut made = Vec::new();
        let mut kept = false;
        for (_, op) in route.body_ops() {
            let (Some(kind), Some(value)) = (op.as_tensor(), op.result()) else { continue };
            let operand = |operand: &Operand| match operand {
                Operand::Value(value) => {
                    Operand::Value(values.get(value).copied().unwrap_or(*value))
                }
                Operand::Literal(literal) => Operand::Literal(*literal),
            };
            let operands: SmallVec<[Operand; 3]> = op.operands.iter().map(operand).collect();
            for operand in operands.iter().filter_map(Operand::value) {
                self.count(operand, 1);
            }
            if Some(value) == returned {
                let slot = &mut self.func.ops[root];
                slot.kind = OpKind::Tensor(kind.clone());
                slot.operands = operands;
                values.insert(value, result);
                made.push(root);
                kept = true;
            } else if let Some(ty) = route.tensor_ty(value) {
                let results = [(kind.kind_name().name().to_owned(), ty.clone().into())];
                let id = self.func.make_op(kind.clone(), operands, results);
                self.uses.resize(self.func.values.len(), 0);
                self.replaced.resize(self.func.values.len(), None);
                if let Some(new) = self.func.ops[id].result() {
                    values.insert(value, new);
                }
                made.push(id);
            }
        }
        if !kept && let Some(same) = returned.and_then(|value| values.get(&value)).copied() {
            // The value is one of the inputs.
            let uses = self.uses.get(result.index()).copied().unwrap_or(0);
            self.count(same, i64::from(uses));
            self.replaced[result.index()] = Some(same);
        }
        before.into_iter().for_each(|value| self.drop_use(value));
        made
    }

    fn count(&mut self, value: ValueId, change: i64) {
        if let Some(uses) = self.uses.get_mut(value.index()) {
            *uses =
                uses.saturating_add_signed(change.clamp(i32::MIN.into(), i32::MAX.into()) as i32);
        }
    }

    /// A use less; what nothing uses any more uses nothing itself.
    fn drop_use(&mut self, value: ValueId) {
        let mut waiting = vec![value];
        while let Some(value) = waiting.pop() {
            self.count(value, -1);
            if self.uses.get(value.index()) == Some(&0)
                && let Some(def) = self.func.def_op(value)
            {
                waiting.extend(self.func.ops[def].value_operands());
            }
        }
    }
}

/// The cost of an operation of a function.
fn price_of_op(prices: &Prices, func: &Func, id: OpId) -> u64 {
    let op = &func.ops[id];
    let (Some(kind), Some(result)) = (op.as_tensor(), op.result()) else { return 0 };
    if matches!(kind, TensorOp::Constant(_)) {
        return 0;
    }
    let Some(ty) = func.tensor_ty(result) else { return 0 };
    let operands: SmallVec<[Option<&TensorType>; 3]> =
        op.operands.iter().map(|operand| func.tensor_ty(operand.value()?)).collect();
    prices.op(kind, &operands, ty)
}

/// The cost of all operations of a function.
pub(super) fn price_of_func(prices: &Prices, func: &Func) -> u64 {
    func.body.iter().fold(0u64, |sum, &id| sum.saturating_add(price_of_op(prices, func, id)))
}
