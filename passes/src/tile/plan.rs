//! How a group is cut into tiles: which axes lie on partitions, which are divided to fill them, and
//! how much of each free axis a tile holds.

use partita_ir::entity::ValueId;
use partita_ir::{Func, Operand, TensorOp};
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

/// How much of each free axis a tile holds, and how many rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileSize {
    pub rows: u64,
    pub free: Vec<u64>,
}

/// A value's bytes within a partition under a tile size.
pub fn bytes_per_partition(region: &Region, axes: &[Axis], size: &TileSize, element: u64) -> u64 {
    let held = region.free.iter().zip(&size.free).filter(|(looped, _)| axes.contains(&looped.axis));
    held.fold(element, |bytes, (_, &extent)| bytes.saturating_mul(extent)).next_multiple_of(ALIGN)
}

/// Tiles start at multiples of this many bytes within a partition.
pub const ALIGN: u64 = 64;

/// The largest step of a pattern, in elements.
const MAX_STEP: u64 = i16::MAX as u64;

/// The largest tile of a region whose live values fit `budget` bytes a partition; `None` when even
/// the smallest does not.
pub fn tile_size(func: &Func, group: &Group, region: &Region, budget: u64) -> Option<TileSize> {
    let count = region.row_count();
    let blocks = count.div_ceil(PARTITIONS).max(1);
    let mut size = TileSize {
        rows: count.div_ceil(blocks).max(1),
        free: region.free.iter().map(|looped| looped.extent).collect(),
    };
    loop {
        if peak_bytes(func, group, region, &size) <= budget && steps_fit(region, &size) {
            return Some(size);
        }
        // Halve the outermost axis that may be cut, so that rows in memory stay long.
        let cut = (0..size.free.len()).find(|&i| !region.free[i].serial && size.free[i] > 1)?;
        size.free[cut] = size.free[cut].div_ceil(2);
    }
}

/// A folded axis must be walked by one pattern, so what lies within it may not be too large.
fn steps_fit(region: &Region, size: &TileSize) -> bool {
    (0..size.free.len())
        .filter(|&i| region.free[i].serial)
        .all(|i| size.free[i + 1..].iter().product::<u64>() <= MAX_STEP)
}

/// The most bytes of a partition that are in use at once when the operations run in order. Operands
/// from main memory are there from their first use to their last.
fn peak_bytes(func: &Func, group: &Group, region: &Region, size: &TileSize) -> u64 {
    let mut spans: Vec<(usize, usize, u64)> = Vec::new();
    let mut keys: Vec<(ValueId, Vec<Axis>, bool)> = Vec::new();
    let mut touch = |value: ValueId, dims: &DimAxes, computed: bool, at: usize| {
        let axes: Vec<Axis> = dims.iter().flatten().map(|&axis| group.axes.root(axis)).collect();
        let element = func.ty(value).dtype().size_bytes();
        let bytes = bytes_per_partition(region, &axes, size, element);
        let key = if computed { (value, Vec::new(), true) } else { (value, axes, false) };
        match keys.iter().position(|known| *known == key) {
            Some(index) => spans[index].1 = at,
            None => {
                keys.push(key);
                spans.push((at, at, bytes));
            }
        }
    };
    for (at, member) in group.ops.iter().enumerate() {
        let op = &func.ops[member.op];
        for ((operand, dims), source) in
            op.operands.iter().zip(&member.operands).zip(&member.sources)
        {
            match (operand, source) {
                (_, Some(source)) => touch(*source, &group.values[source], true, at),
                (Operand::Value(value), None) => touch(*value, dims, false, at),
                (Operand::Literal(_), None) => {}
            }
        }
        if let Some(result) = op.result() {
            touch(result, &group.values[&result], true, at);
        }
    }
    // What leaves the group is stored when it is made; DMA reads it a little longer.
    (0..group.ops.len())
        .map(|at| {
            let live = spans.iter().filter(|(first, last, _)| *first <= at && at <= last + 1);
            live.map(|(_, _, bytes)| bytes).sum()
        })
        .max()
        .unwrap_or(0)
}
