//! How a group is cut into tiles: which axes lie on partitions, which are divided to fill them, and
//! how much of each free axis a tile holds.

use partita_ir::entity::ValueId;
use partita_ir::{Func, TensorOp};
use smallvec::SmallVec;

use super::axes::{Axis, DimAxes};
use super::group::{Group, GroupKind};

pub use partita_ir::types::MAX_PARTITIONS as PARTITIONS;

/// An axis of a plan, or half of one that was divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopAxis {
    pub axis: Axis,
    pub extent: u64,
    pub serial: bool,
}

/// One axis cut in two, `rows` groups of `width`, starting at `start` of the whole axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    pub axis: Axis,
    pub start: u64,
    pub rows: u64,
    pub width: u64,
}

/// A part of a group's iteration space that one nest of tiles covers.
#[derive(Clone, Debug)]
pub struct Region {
    pub division: Option<Division>,
    /// Axes on partitions, outermost first; their extents' product is the number of rows.
    pub rows: Vec<LoopAxis>,
    /// Axes within a partition, outermost first.
    pub free: Vec<LoopAxis>,
}

impl Region {
    pub fn row_count(&self) -> u64 {
        self.rows.iter().map(|row| row.extent).product()
    }

    /// The loops that a dimension's axis became: indices into rows then free axes.
    pub fn loops_of(&self, axis: Axis) -> SmallVec<[usize; 2]> {
        self.all().enumerate().filter(|(_, looped)| looped.axis == axis).map(|(i, _)| i).collect()
    }

    /// Rows, then free axes.
    pub fn all(&self) -> impl Iterator<Item = &LoopAxis> {
        self.rows.iter().chain(&self.free)
    }
}

/// Axes of a group as the plan sees them: roots, in the order of the widest value's dimensions.
fn ordered_axes(group: &Group) -> Vec<LoopAxis> {
    let mut lists: Vec<&DimAxes> = group
        .values
        .values()
        .chain(group.ops.iter().flat_map(|member| member.operands.iter()))
        .collect();
    lists.sort_by_key(|dims| std::cmp::Reverse(dims.iter().flatten().count()));
    let mut out: Vec<LoopAxis> = Vec::new();
    for dims in lists {
        // An axis not seen yet goes before the first later dimension that is there already.
        for (index, axis) in
            dims.iter().enumerate().filter_map(|(i, axis)| axis.map(|axis| (i, axis)))
        {
            let axis = group.axes.root(axis);
            if out.iter().any(|seen| seen.axis == axis) {
                continue;
            }
            let later: Vec<Axis> =
                dims[index + 1..].iter().flatten().map(|&a| group.axes.root(a)).collect();
            let at = out.iter().position(|seen| later.contains(&seen.axis)).unwrap_or(out.len());
            let looped = LoopAxis {
                axis,
                extent: group.axes.size(axis),
                serial: group.axes.is_serial(axis),
            };
            out.insert(at, looped);
        }
    }
    out
}

/// Divides a group into regions. Rows are the leading axes that no operation folds, until they fill
/// the partitions; when they do not, the next such axis is divided.
pub fn regions(func: &Func, group: &Group) -> Vec<Region> {
    let axes = ordered_axes(group);
    if group.kind == GroupKind::Partitions {
        return vec![partition_region(func, group, &axes)];
    }
    let (mut rows, mut free) = (Vec::new(), Vec::new());
    let mut count: u64 = 1;
    // A few elements on each of 32 partitions stay there: to spread them would be to move them one by one.
    let want = if folds_partial_results(func, group) { 2 } else { PARTITIONS };
    let order: Vec<Axis> = axes.iter().map(|looped| looped.axis).collect();
    for looped in axes {
        if !looped.serial && count < want {
            count = count.saturating_mul(looped.extent);
            rows.push(looped);
        } else {
            free.push(looped);
        }
    }
    // The last row axis stays within the partition where there is nothing else there, or where it
    // alone would be many rows more than needed: a long vector is cut, not spread element by element.
    let innermost_is_row = free.is_empty() && rows.len() == 1;
    let Some(last) = rows.last().copied().filter(|_| innermost_is_row || is_wide(&rows, &free))
    else {
        return vec![Region { division: None, rows, free }];
    };
    rows.pop();
    divide(rows, free, last, &order)
}

/// True of a group that begins with the fold of what a transpose-reduce left on each lane of a block.
fn folds_partial_results(func: &Func, group: &Group) -> bool {
    let defined = |value: ValueId| func.ops.get(func.def_op(value)?)?.as_tensor();
    group.ops.first().is_some_and(|member| {
        let op = &func.ops[member.op];
        matches!(op.as_tensor(), Some(TensorOp::Reduce { .. }))
            && op
                .value_operands()
                .any(|value| matches!(defined(value), Some(TensorOp::TransposeReduce { .. })))
    })
}

/// True when the last of several row axes is far longer than the partitions that are left for it.
fn is_wide(rows: &[LoopAxis], free: &[LoopAxis]) -> bool {
    let inside: u64 = free.iter().map(|looped| looped.extent).product();
    let before: u64 = rows.iter().rev().skip(1).map(|looped| looped.extent).product();
    rows.len() > 1
        && inside < 64
        && rows.last().is_some_and(|last| last.extent > 4 * PARTITIONS.div_ceil(before))
}

/// The fewest elements worth a partition of their own.
const MIN_WIDTH: u64 = 16;

/// Cuts an axis into rows of equal width, and a remainder of one row.
fn divide(rows: Vec<LoopAxis>, free: Vec<LoopAxis>, last: LoopAxis, order: &[Axis]) -> Vec<Region> {
    let before: u64 = rows.iter().map(|row| row.extent).product();
    let want = (PARTITIONS / before.max(1)).clamp(1, last.extent.div_ceil(MIN_WIDTH));
    let width = last.extent / want;
    let count = last.extent / width.max(1);
    let region = |start: u64, row_count: u64, width: u64| {
        let division = Division { axis: last.axis, start, rows: row_count, width };
        let mut rows = rows.clone();
        rows.push(LoopAxis { extent: row_count, ..last });
        let mut inner = vec![LoopAxis { extent: width, ..last }];
        inner.extend(free.iter().copied());
        // What is left of it lies where it lay, so that rows in memory stay long.
        inner.sort_by_key(|looped| order.iter().position(|&axis| axis == looped.axis));
        Region { division: Some(division), rows, free: inner }
    };
    let rest = last.extent - count * width;
    let mut out = vec![region(0, count, width)];
    if rest > 0 {
        out.push(region(count * width, 1, rest));
    }
    out
}

/// Dimension 0 of the operand on partitions, whole.
fn partition_region(func: &Func, group: &Group, axes: &[LoopAxis]) -> Region {
    let first = group.ops.first();
    let lane = first.and_then(|member| {
        let shape =
            func.ops[member.op].value_operands().next().map(|value| func.ty(value).shape())?;
        let axis = member.operands.first()?.first().copied().flatten()?;
        (!shape.is_empty()).then(|| group.axes.root(axis))
    });
    let (rows, free) = axes.iter().copied().partition(|looped| Some(looped.axis) == lane);
    Region { division: None, rows, free }
}
