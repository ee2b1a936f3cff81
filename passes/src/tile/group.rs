//! Which operations share a loop over tiles.
//!
//! A group is a run of operations whose values can all be laid out over one set of axes, so that a
//! block of rows passes through all of them without leaving the chip. Data movement belongs to no
//! group: a consumer reads through it, as an access pattern when the source is in the same group and
//! the movement only permutes, repeats or renames dimensions, else as a view of main memory.

use indexmap::IndexMap;
use partita_ir::entity::{OpId, ValueId};
use partita_ir::ops::TensorOp;
use partita_ir::types::MAX_PARTITIONS;
use partita_ir::{Func, Op, Operand};
use smallvec::SmallVec;

use super::axes::{Axes, Axis, DimAxes};
use crate::select::is_movement;

/// More operations than this do not share a loop: their tiles would not fit anyway.
const MAX_OPS: usize = 48;

/// An operation joins a loop when that leaves at least one row in this many of those that either could
/// have by itself: a load saved is worth some idle partitions.
const ROWS_WORTH: u64 = 4;

/// How many of the latest groups are tried for an operation.
const LOOK_BACK: usize = 12;

/// What kind of loop a group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupKind {
    /// Rows on partitions, everything within a row on the free side.
    Rows,
    /// One fold over the partitions of dimension 0, or one transpose-reduce: dimension 0 is on the
    /// partitions whole.
    Partitions,
}

/// Operations that share a loop.
#[derive(Clone, Debug)]
pub struct Group {
    pub kind: GroupKind,
    pub axes: Axes,
    pub ops: Vec<Member>,
    /// The axes of the values that the group computes.
    pub values: IndexMap<ValueId, DimAxes>,
    /// The axes of the values that it loads, as first used.
    loaded: IndexMap<ValueId, DimAxes>,
}

/// An operation of a group.
#[derive(Clone, Debug)]
pub struct Member {
    pub op: OpId,
    /// For each operand, the axes of its dimensions; empty for a literal.
    pub operands: SmallVec<[DimAxes; 3]>,
    /// For each operand, the value of the group that it is, read through movement; none when it is
    /// read from main memory.
    pub sources: SmallVec<[Option<ValueId>; 3]>,
}

/// Follows movement that an access pattern can express: the value underneath, and for each dimension
/// the one it comes from.
pub fn see_through(func: &Func, value: ValueId) -> (ValueId, SmallVec<[Option<usize>; 4]>) {
    let rank = func.ty(value).shape().len();
    let mut map: SmallVec<[Option<usize>; 4]> = (0..rank).map(Some).collect();
    let mut at = value;
    while let Some((source, step)) = one_step(func, at) {
        for dim in &mut map {
            *dim = dim.and_then(|dim| step.get(dim).copied().flatten());
        }
        at = source;
    }
    (at, map)
}

fn one_step(func: &Func, value: ValueId) -> Option<(ValueId, SmallVec<[Option<usize>; 4]>)> {
    let op = &func.ops[func.def_op(value)?];
    let source = op.value_operands().next()?;
    let (from, to) = (func.ty(source).shape(), func.ty(value).shape());
    let map = match op.as_tensor()? {
        TensorOp::Transpose { perm } => perm.iter().map(|&dim| Some(dim)).collect(),
        TensorOp::Broadcast { dims } => (0..to.len())
            .map(|dim| dims.iter().position(|&d| d == dim).filter(|&i| from[i] == to[dim]))
            .collect(),
        TensorOp::Reshape => {
            let kept: SmallVec<[usize; 4]> =
                (0..from.len()).filter(|&dim| from[dim] != 1).collect();
            let sizes =
                |shape: &[u64]| shape.iter().copied().filter(|&size| size != 1).collect::<Vec<_>>();
            if sizes(from) != sizes(to) {
                return None;
            }
            let mut next = kept.into_iter();
            to.iter().map(|&size| if size == 1 { None } else { next.next() }).collect()
        }
        TensorOp::Bitcast
            if is_movement(func, op)
                && func.ty(source).dtype().size_bytes() == func.ty(value).dtype().size_bytes() =>
        {
            (0..to.len()).map(Some).collect()
        }
        _ => return None,
    };
    Some((source, map))
}

/// Divides the operations that compute into groups, in an order in which each group needs only
/// earlier ones.
pub fn form_groups(func: &Func) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    // The group that computes a value, and for a moved value the last group it needs.
    let mut home: Vec<Option<usize>> = vec![None; func.values.len()];
    for (id, op) in func.body_ops() {
        let Some(result) = op.result() else { continue };
        if is_movement(func, op) {
            home[result.index()] =
                op.value_operands().filter_map(|value| home[value.index()]).max();
            continue;
        }
        let earliest = earliest_group(func, op, &home);
        let first = earliest.max(groups.len().saturating_sub(LOOK_BACK));
        let joined = (first..groups.len()).find(|&index| groups[index].join(func, id, op));
        let index = joined.unwrap_or_else(|| {
            groups.push(Group::start(func, id, op));
            groups.len() - 1
        });
        home[result.index()] = Some(index);
    }
    groups
}

/// The first group that may hold an operation: that of its latest source where a pattern reaches it,
/// else the one after.
fn earliest_group(func: &Func, op: &Op, home: &[Option<usize>]) -> usize {
    let needs = op.value_operands().filter_map(|value| {
        let group = home[value.index()]?;
        let (source, _) = see_through(func, value);
        let computed = func.def_op(source).is_some_and(|op| !is_movement(func, &func.ops[op]));
        Some(if computed { group } else { group + 1 })
    });
    needs.max().unwrap_or(0)
}

impl Group {
    fn start(func: &Func, id: OpId, op: &Op) -> Self {
        let kind = match op.as_tensor() {
            Some(op) if folds_partitions(op) => GroupKind::Partitions,
            _ => GroupKind::Rows,
        };
        let mut group = Self {
            kind,
            axes: Axes::default(),
            ops: Vec::new(),
            values: IndexMap::new(),
            loaded: IndexMap::new(),
        };
        group.add(func, id, op, false);
        group
    }

    /// Groups of these operations in their order, as few as the axes allow.
    pub fn regroup(func: &Func, ops: &[OpId]) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for &id in ops {
            let op = &func.ops[id];
            let joined =
                groups.last_mut().is_some_and(|group| group.add_if(func, id, op, |_| true));
            if !joined {
                groups.push(Self::start(func, id, op));
            }
        }
        groups
    }

    /// Adds the operation if the axes allow it and no parallelism is lost; else changes nothing.
    fn join(&mut self, func: &Func, id: OpId, op: &Op) -> bool {
        let apart = op.as_tensor().is_some_and(folds_partitions);
        if self.kind == GroupKind::Partitions || apart || self.ops.len() >= MAX_OPS {
            return false;
        }
        let alone = Self::start(func, id, op);
        let rows = self.parallel_rows().max(alone.parallel_rows());
        let domain = self.domain().max(alone.domain());
        self.add_if(func, id, op, |trial| {
            trial.parallel_rows() * ROWS_WORTH >= rows && trial.domain() <= domain
        })
    }

    /// Adds the operation when the outcome is acceptable, with values that are loaded already read along
    /// the same axes unless that is impossible.
    fn add_if(&mut self, func: &Func, id: OpId, op: &Op, accept: impl Fn(&Self) -> bool) -> bool {
        for share in [true, false] {
            let mut trial = self.clone();
            if trial.add(func, id, op, share) {
                let accepted = accept(&trial);
                if accepted {
                    *self = trial;
                }
                return accepted;
            }
        }
        false
    }

    fn roots(&self) -> Vec<Axis> {
        let mut roots: Vec<Axis> = self.all_axes().map(|axis| self.axes.root(axis)).collect();
        roots.sort_unstable();
        roots.dedup();
        roots
    }

    fn product(&self, axes: impl Iterator<Item = Axis>) -> u64 {
        axes.fold(1, |product, axis| product.saturating_mul(self.axes.size(axis)))
    }

    /// Rows that could lie on partitions, at most 128.
    fn parallel_rows(&self) -> u64 {
        self.product(self.roots().into_iter().filter(|&axis| !self.axes.is_serial(axis)))
            .min(MAX_PARTITIONS)
    }

    /// Iterations of the loop. Operations that have no axes in common would multiply theirs.
    fn domain(&self) -> u64 {
        self.product(self.roots().into_iter())
    }

    /// Every axis that a value or an operand has, not united.
    pub fn all_axes(&self) -> impl Iterator<Item = Axis> + '_ {
        let operands = self.ops.iter().flat_map(|member| member.operands.iter());
        self.values.values().chain(operands).flat_map(|dims| dims.iter().flatten().copied())
    }

    /// Adds an operation; false when its dimensions do not fit the axes (the group is then spoilt).
    fn add(&mut self, func: &Func, id: OpId, op: &Op, share: bool) -> bool {
        let (Some(result), Some(kind)) = (op.result(), op.as_tensor()) else { return false };
        let out_shape = func.ty(result).shape();
        let mut member = Member { op: id, operands: SmallVec::new(), sources: SmallVec::new() };
        for operand in &op.operands {
            let (dims, source) = match operand {
                Operand::Literal(_) => (DimAxes::new(), None),
                Operand::Value(value) => self.operand(func, *value, share),
            };
            member.operands.push(dims);
            member.sources.push(source);
        }
        let out = match kind {
            TensorOp::Reduce { dims, keep, .. } => {
                let operand = member.operands[0].clone();
                let mut out = DimAxes::new();
                for (dim, &axis) in operand.iter().enumerate() {
                    if dims.contains(&dim) {
                        axis.into_iter().for_each(|axis| self.axes.set_serial(axis));
                        out.extend(keep.then_some(None));
                    } else {
                        out.push(axis);
                    }
                }
                Some(out)
            }
            TensorOp::ScanCache { emit, .. } => {
                let mut out = member.operands[0].clone();
                let last = out.last().copied().flatten();
                last.into_iter().for_each(|axis| self.axes.set_serial(axis));
                if *emit == partita_ir::ops::Emit::Final
                    && let Some(last) = out.last_mut()
                {
                    *last = None;
                }
                let rows: DimAxes = out.iter().take(out.len().saturating_sub(1)).copied().collect();
                let fits = (1..member.operands.len())
                    .all(|i| self.pair(&member.operands[i].clone(), &rows));
                fits.then_some(out)
            }
            TensorOp::PartitionReduce { .. } => {
                let mut out = member.operands[0].clone();
                if out_shape.is_empty() {
                    out.clear();
                } else if let Some(first) = out.first_mut() {
                    *first = None;
                }
                Some(out)
            }
            TensorOp::TransposeReduce { .. } | TensorOp::TransposePair { .. } => {
                Some(self.axes.fresh_dims(out_shape))
            }
            _ => {
                let out = self.axes.fresh_dims(out_shape);
                let fits = member.operands.iter().all(|dims| {
                    let skip = out.len().saturating_sub(dims.len());
                    let aligned: DimAxes = out.iter().skip(skip).copied().collect();
                    let mut axes = self.axes.clone();
                    let fits = pair(&mut axes, dims, &aligned);
                    self.axes = axes;
                    fits
                });
                fits.then_some(out)
            }
        };
        let Some(out) = out else { return false };
        self.values.insert(result, out);
        self.ops.push(member);
        let operands = self.ops.iter().flat_map(|member| member.operands.iter());
        self.values.values().chain(operands).all(|dims| self.axes.distinct(dims))
    }

    /// The axes of an operand: those along which it is loaded already when `share` asks for that, else
    /// fresh ones, united with those of the group's value underneath.
    fn operand(&mut self, func: &Func, value: ValueId, share: bool) -> (DimAxes, Option<ValueId>) {
        let (source, map) = see_through(func, value);
        let under = self.values.get(&source).cloned();
        if let (None, true, Some(dims)) = (&under, share, self.loaded.get(&value)) {
            return (dims.clone(), None);
        }
        let dims = self.axes.fresh_dims(func.ty(value).shape());
        let Some(under) = under else {
            self.loaded.entry(value).or_insert_with(|| dims.clone());
            return (dims, None);
        };
        for (&axis, from) in dims.iter().zip(&map) {
            if let (Some(axis), Some(under)) = (axis, from.and_then(|dim| under[dim])) {
                self.axes.unite(under, axis);
            }
        }
        (dims, Some(source))
    }

    fn pair(&mut self, a: &[Option<Axis>], b: &[Option<Axis>]) -> bool {
        pair(&mut self.axes, a, b)
    }
}

/// True of what needs a loop of its own, since elements go from partition to partition.
fn folds_partitions(op: &TensorOp) -> bool {
    matches!(
        op,
        TensorOp::PartitionReduce { .. }
            | TensorOp::TransposeReduce { .. }
            | TensorOp::TransposePair { .. }
    )
}

/// Unites dimension by dimension where both have an axis.
fn pair(axes: &mut Axes, a: &[Option<Axis>], b: &[Option<Axis>]) -> bool {
    a.iter().zip(b).all(|(&a, &b)| match (a, b) {
        (Some(a), Some(b)) => axes.unite(a, b),
        _ => true,
    })
}
