//! The order of a loop over windows of one free axis.
//!
//! What is folded along the axis is known only when every window has been seen, so the operations of a
//! group fall into steps: those that have the axis run once for each window, those that have not run once
//! between such loops. A value that a later loop reads again stays on the chip window by window.
//!
//! A reduction along the axis folds each window to a part, and then the parts (reductions may be
//! reassociated); a scan hands its state from window to window in fp32, and so rounds nothing anew.

use indexmap::IndexMap;
use partita_ir::entity::ValueId;
use partita_ir::ops::{Emit, Seed, TensorOp};
use partita_ir::{ElemType, Func};
use partita_isa::Target;

use super::axes::Axis;
use super::group::{Group, Member};
use crate::select::{self, Form, Input, InputKind};

/// What an operation does along the axis that is cut into windows.
#[derive(Clone, Debug)]
pub enum Along {
    /// Each window by itself, or the operation does not have the axis.
    Each,
    /// Folds a window to a part of this type, and at the end the parts.
    Parts { dtype: ElemType, part: Form, last: Form },
    /// Goes on where it was at the end of the window before.
    Chain,
}

/// Operations that run together: once for every window, or once.
#[derive(Clone, Debug)]
pub struct Step {
    pub looped: bool,
    /// Positions in the group, rising.
    pub members: Vec<usize>,
}

/// The steps of a group in order, and what each operation does along the axis.
#[derive(Clone, Debug)]
pub struct Phases {
    pub steps: Vec<Step>,
    pub along: Vec<Along>,
}

impl Phases {
    /// The steps of a loop over windows of `axis`, `count` of them, the longest of `width` elements and the last
    /// of `rest`; `None` when some operation cannot be cut along the axis.
    pub fn new(
        func: &Func,
        target: &Target,
        group: &Group,
        axis: Axis,
        (count, width, rest): (u64, u64, u64),
    ) -> Option<Self> {
        let mut along = Vec::with_capacity(group.ops.len());
        let mut times: Vec<u32> = Vec::with_capacity(group.ops.len());
        let mut known: IndexMap<ValueId, u32> = IndexMap::new();
        for member in &group.ops {
            let way = along_axis(func, target, group, member, axis, (count, width, rest))?;
            let result = func.ops[member.op].result()?;
            let has = |dims: &super::axes::DimAxes| {
                dims.iter().flatten().any(|&dim| group.axes.root(dim) == axis)
            };
            let looped = member.operands.iter().any(has) || has(group.values.get(&result)?);
            let from = member.sources.iter().flatten().filter_map(|source| known.get(source));
            let earliest = from.copied().max().unwrap_or(0);
            // Loops have odd numbers.
            let time = earliest + u32::from((earliest % 2 == 1) != looped);
            let is_folded = looped && !has(group.values.get(&result)?);
            known.insert(result, time + u32::from(is_folded));
            times.push(time);
            along.push(way);
        }
        let mut order: Vec<u32> = times.clone();
        order.sort_unstable();
        order.dedup();
        let steps = order.into_iter().map(|time| Step {
            looped: time % 2 == 1,
            members: (0..times.len()).filter(|&at| times[at] == time).collect(),
        });
        Some(Self { steps: steps.collect(), along })
    }
}

/// What one operation does along the axis; `None` when it cannot be cut there.
fn along_axis(
    func: &Func,
    target: &Target,
    group: &Group,
    member: &Member,
    axis: Axis,
    (count, width, rest): (u64, u64, u64),
) -> Option<Along> {
    let op = &func.ops[member.op];
    let result = op.result()?;
    let out = func.ty(result).dtype();
    let dims = member.operands.first()?;
    let place = dims.iter().position(|dim| dim.is_some_and(|dim| group.axes.root(dim) == axis));
    match op.as_tensor()? {
        TensorOp::Reduce { op: fold, dims: folded, negate, .. } => {
            let Some(place) = place.filter(|place| folded.contains(place)) else {
                return Some(Along::Each);
            };
            let source = func.ty(op.value_operands().next()?);
            let others = folded.iter().filter(|&&dim| dim != place);
            let others: u64 = others.filter_map(|&dim| source.shape().get(dim)).product();
            let dtype = if out.is_float() { ElemType::F32 } else { out };
            let input = Input { dtype: source.dtype(), kind: InputKind::Tensor };
            let fold = |input: Input, to: ElemType, depth: u64, negate: bool| {
                select::reduce(*fold, input, to, depth, negate, target).ok()
            };
            // What the shortest window allows and what the longest does.
            fold(input, dtype, rest * others, false)?;
            let part = fold(input, dtype, width * others, false)?;
            let last = fold(Input { dtype, ..input }, out, count, *negate)?;
            Some(Along::Parts { dtype, part, last })
        }
        TensorOp::ScanCache { op0, op1, emit, .. }
            if place.is_some_and(|place| place + 1 == dims.len()) =>
        {
            let source = func.ty(op.value_operands().next()?).dtype();
            let carried = source.is_float() && (*emit == Emit::Final || out == ElemType::F32);
            let seed = Input { dtype: ElemType::F32, kind: InputKind::Row };
            let inputs = [Input { dtype: source, kind: InputKind::Tensor }, seed, seed];
            select::scan(*op0, *op1, Seed::Load, *emit, &inputs, ElemType::F32, target).ok()?;
            carried.then_some(Along::Chain)
        }
        _ => Some(Along::Each),
    }
}
