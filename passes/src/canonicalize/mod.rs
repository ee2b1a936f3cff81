//! Brings a function of the tensor dialect to a simpler form of the same meaning,
//! in one forward sweep and one backward sweep, linear in the program.
//!
//! * Identities ([`identities`]): rows of data, each exact (rule for rule proved in
//!   `tests/canonicalize.rs`).
//! * Folding of operations on constants by the reference evaluator, within
//!   [`FOLD_LIMIT`]; what depends on the meaning of 8-bit floats is left alone.
//! * Common subexpressions: the first of equal operations stays.
//! * Dead values: what no result needs goes.
//!
//! Arguments, result types and the names of surviving values stay as they are.

pub mod identities;
pub(crate) mod key;
pub(crate) mod layout;
mod operands;
mod scalar;

use std::hash::{Hash, Hasher};

use partita_ir::eval::{self, EvalOptions};
use partita_ir::{ElemType, Func, Op, OpId, OpKind, Operand, TensorData, TensorOp, ValueId};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use crate::rewrite::Fuel;
use identities::{Context, Step};

/// The most bytes that a folded constant may have: a splat or an index sequence
/// must not become a large array.
pub const FOLD_LIMIT: u64 = 4096;

/// The most bytes that the operands of a folded operation may have in all.
pub const FOLD_OPERAND_LIMIT: u64 = 1 << 16;

/// The most identities applied to one operation in a row.
const MAX_STEPS: usize = 16;

/// What was done, by count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Identities applied, beside [`identities::ALL`].
    pub identities: Vec<u64>,
    pub folded: u64,
    pub merged: u64,
    pub dead: u64,
}

impl Stats {
    /// Names and counts of everything that happened, in a fixed order.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let identities = identities::all().map(|identity| identity.name).zip(&self.identities);
        identities
            .map(|(name, &count)| (name, count))
            .chain([("fold", self.folded), ("merge", self.merged), ("dead", self.dead)])
            .filter(|&(_, count)| count > 0)
    }

    /// True when the function was in its simplest form already.
    pub fn is_unchanged(&self) -> bool {
        self.rows().next().is_none()
    }
}

/// Simplifies a verified function, with no more rewrites than there is fuel for. Functions of other dialects come
/// back as they are.
pub fn canonicalize(func: &Func, fuel: &mut Fuel) -> (Func, Stats) {
    let mut sweep = Sweep {
        replaced: Vec::new(),
        body: Vec::with_capacity(func.body.len()),
        seen: FxHashMap::default(),
        stats: Stats { identities: vec![0; identities::all().count()], ..Stats::default() },
        func: func.clone(),
        fuel,
    };
    for index in 0..func.body.len() {
        sweep.visit(func.body[index]);
    }
    let Sweep { mut func, body, mut stats, .. } = sweep;
    func.body = body;
    stats.dead = remove_dead(&mut func);
    (func.compact(), stats)
}

/// Leaves out operations whose results nothing needs; gives their number.
pub(crate) fn remove_dead(func: &mut Func) -> u64 {
    let mut needed = vec![false; func.values.len()];
    let mut kept: Vec<OpId> = Vec::with_capacity(func.body.len());
    for &id in func.body.iter().rev() {
        let Some(op) = func.ops.get(id) else { continue };
        let is_pure = op.kind.as_tensor().is_some();
        if is_pure && !op.results.iter().any(|result| needed[result.index()]) {
            continue;
        }
        for value in op.value_operands() {
            needed[value.index()] = true;
        }
        kept.push(id);
    }
    kept.reverse();
    let dead = func.body.len() - kept.len();
    func.body = kept;
    dead as u64
}

struct Sweep<'a> {
    func: Func,
    fuel: &'a mut Fuel,
    /// What now stands for a value that went away.
    replaced: Vec<Option<ValueId>>,
    body: Vec<OpId>,
    /// Operations in the body by their hash.
    seen: FxHashMap<u64, SmallVec<[OpId; 1]>>,
    stats: Stats,
}

impl Sweep<'_> {
    fn visit(&mut self, id: OpId) {
        if let Some(op) = self.func.ops.get(id)
            && op.operands.iter().any(|operand| self.replacement(operand).is_some())
        {
            let operands = op
                .operands
                .iter()
                .map(|operand| self.replacement(operand).unwrap_or(*operand))
                .collect();
            self.func.ops[id].operands = operands;
        }
        let Some(result) =
            self.func.ops.get(id).filter(|op| op.as_tensor().is_some()).and_then(Op::result)
        else {
            self.body.push(id);
            return;
        };
        for _ in 0..MAX_STEPS {
            match self.step(id) {
                Some(Step::Value(value)) => return self.replace(result, value),
                Some(Step::Op(op, operands)) => {
                    let slot = &mut self.func.ops[id];
                    slot.kind = OpKind::Tensor(op);
                    slot.operands = operands;
                }
                None => break,
            }
        }
        if let Some(data) = self.fold(id) {
            let slot = &mut self.func.ops[id];
            slot.kind = OpKind::Tensor(TensorOp::Constant(data));
            slot.operands.clear();
            self.stats.folded += 1;
            self.spend("fold", result);
        }
        match self.earlier(id) {
            Some(value) => {
                self.stats.merged += 1;
                self.spend("merge", result);
                self.replace(result, value);
            }
            None => self.body.push(id),
        }
    }

    fn replacement(&self, operand: &Operand) -> Option<Operand> {
        let value = operand.value()?;
        self.replaced.get(value.index()).copied().flatten().map(Operand::Value)
    }

    fn replace(&mut self, from: ValueId, to: ValueId) {
        if self.replaced.len() <= from.index() {
            self.replaced.resize(self.func.values.len().max(from.index() + 1), None);
        }
        self.replaced[from.index()] = Some(to);
    }

    /// Applies the first identity that fits.
    fn step(&mut self, id: OpId) -> Option<Step> {
        if self.fuel.is_empty() {
            return None;
        }
        let kind = self.func.ops[id].as_tensor()?.kind_name();
        for (number, identity) in identities::of(kind) {
            let emitted = self.body.len();
            let step =
                (identity.apply)(&mut Context { func: &mut self.func, body: &mut self.body, id });
            if let Some(step) = step {
                self.stats.identities[number] += 1;
                if let Some(result) = self.func.ops[id].result() {
                    self.spend(identity.name, result);
                }
                self.note_emitted(emitted);
                return Some(step);
            }
        }
        None
    }

    /// Operations that an identity put into the body can be found from now on.
    fn note_emitted(&mut self, from: usize) {
        for index in from..self.body.len() {
            let id = self.body[index];
            let hash = self.hash(id);
            self.seen.entry(hash).or_default().push(id);
        }
    }

    fn spend(&mut self, rule: &'static str, value: ValueId) {
        self.fuel.spend(rule, &self.func.values[value].name);
    }

    fn fold(&self, id: OpId) -> Option<TensorData> {
        if self.fuel.is_empty() {
            return None;
        }
        let op = &self.func.ops[id];
        let kind = op.as_tensor()?;
        if matches!(
            kind,
            TensorOp::Constant(_) | TensorOp::Iota { .. } | TensorOp::Broadcast { .. }
        ) {
            return None;
        }
        let ty = self.func.tensor_ty(op.result()?)?;
        if ty.bytes()? > FOLD_LIMIT || is_fp8(ty.dtype) {
            return None;
        }
        let mut read = 0u64;
        for value in op.value_operands() {
            let data = constant(&self.func, value)?;
            read = read.saturating_add(data.bytes().len() as u64);
            if is_fp8(data.dtype()) {
                return None;
            }
        }
        if read > FOLD_OPERAND_LIMIT {
            return None;
        }
        eval::fold_op(&self.func, id, |value| constant(&self.func, value), &EvalOptions::default())
            .ok()
            .flatten()
    }

    /// The value of an equal operation further up.
    fn earlier(&mut self, id: OpId) -> Option<ValueId> {
        let hash = self.hash(id);
        let func = &self.func;
        let op = &func.ops[id];
        let ty = func.ty(op.result()?);
        let candidates = self.seen.entry(hash).or_default();
        let same = |&&other: &&OpId| {
            let other = &func.ops[other];
            let kinds = (op.as_tensor(), other.as_tensor());
            op.operands == other.operands
                && matches!(kinds, (Some(a), Some(b)) if key::same_op(a, b))
                && other.result().is_some_and(|value| func.ty(value) == ty)
        };
        if let Some(&found) = candidates.iter().find(same)
            && !self.fuel.is_empty()
        {
            return func.ops[found].result();
        }
        candidates.push(id);
        None
    }

    fn hash(&self, id: OpId) -> u64 {
        let op = &self.func.ops[id];
        let mut hasher = FxHasher::default();
        if let Some(kind) = op.as_tensor() {
            key::hash_op(kind, &mut hasher);
        }
        for operand in &op.operands {
            key::hash_operand(operand, &mut hasher);
        }
        if let Some(result) = op.result() {
            self.func.ty(result).hash(&mut hasher);
        }
        hasher.finish()
    }
}

/// The data of a value that a constant defines.
pub(crate) fn constant(func: &Func, value: ValueId) -> Option<&TensorData> {
    match func.ops.get(func.def_op(value)?)?.as_tensor()? {
        TensorOp::Constant(data) => Some(data),
        _ => None,
    }
}

/// What such a type holds depends on settings of the target (ISA 5.2).
pub(crate) const fn is_fp8(dtype: ElemType) -> bool {
    dtype.is_float() && dtype.width() == 8
}
