//! How large tiles are: rows, free extents, and windows of one axis.

use partita_ir::entity::ValueId;
use partita_ir::{Func, Operand};
use partita_isa::Target;

use super::axes::{Axis, DimAxes};
use super::group::Group;
use super::phases::Phases;
use super::plan::{PARTITIONS, Region};

/// How much of each free axis a tile holds, and how many rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileSize {
    pub rows: u64,
    pub free: Vec<u64>,
    /// The free axis whose windows are walked within each block, by one loop after the other where something is
    /// folded along it. Other axes that are cut are walked around.
    pub cut: Option<usize>,
    /// Tiles that are the same in every block are kept for each window of the cut axis.
    pub hold: bool,
}

impl TileSize {
    /// What a block holds of a free axis before the cut axis is divided.
    pub fn outer(&self, region: &Region, index: usize) -> u64 {
        let extent = region.free.get(index).map_or(1, |looped| looped.extent);
        match self.cut {
            Some(cut) if cut == index => extent,
            _ => self.free.get(index).map_or(extent, |&held| held.min(extent)),
        }
    }

    /// Start and extent of each window of the cut axis; none when no axis is cut.
    pub fn windows(&self, region: &Region) -> Vec<(u64, u64)> {
        let Some((extent, width)) = self.cut_extent(region) else { return Vec::new() };
        (0..extent.div_ceil(width))
            .map(|index| (index * width, width.min(extent - index * width)))
            .collect()
    }

    fn cut_extent(&self, region: &Region) -> Option<(u64, u64)> {
        let cut = self.cut?;
        Some((region.free.get(cut)?.extent, (*self.free.get(cut)?).max(1)))
    }

    /// How many windows the cut axis has; 1 when none is cut.
    pub fn window_count(&self, region: &Region) -> u64 {
        self.cut_extent(region).map_or(1, |(extent, width)| extent.div_ceil(width))
    }

    /// The steps of the loops over windows; `None` when no axis is cut, or it cannot be.
    pub fn phases(
        &self,
        func: &Func,
        target: &Target,
        group: &Group,
        region: &Region,
    ) -> Option<Phases> {
        let (extent, width) = self.cut_extent(region)?;
        let count = extent.div_ceil(width);
        let rest = extent - (count - 1) * width;
        let axis = region.free.get(self.cut?)?.axis;
        Phases::new(func, target, group, axis, (count, width, rest))
    }

    /// Blocks of rows and of the axes cut around the windows.
    pub fn blocks(&self, region: &Region) -> u64 {
        let outer = (0..region.free.len())
            .map(|index| region.free[index].extent.div_ceil(self.outer(region, index).max(1)));
        outer.fold(region.row_count().div_ceil(self.rows.max(1)), u64::saturating_mul)
    }
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

/// A whole block: all rows that fit the partitions evenly, and all of every free axis.
pub fn whole(region: &Region) -> TileSize {
    let count = region.row_count();
    let blocks = count.div_ceil(PARTITIONS).max(1);
    TileSize {
        rows: count.div_ceil(blocks).max(1),
        free: region.free.iter().map(|looped| looped.extent).collect(),
        cut: None,
        hold: false,
    }
}

/// The largest tile of a region without windows whose live values fit `budget` bytes a partition; `None` when
/// even the smallest does not.
pub fn uncut(func: &Func, group: &Group, region: &Region, budget: u64) -> Option<TileSize> {
    let mut size = whole(region);
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
pub fn steps_fit(region: &Region, size: &TileSize) -> bool {
    (0..size.free.len())
        .filter(|&i| region.free[i].serial)
        .all(|i| size.free[i + 1..].iter().product::<u64>() <= MAX_STEP)
}

/// A tile as the estimates see it: its bytes, whether it has the cut axis, and the operations between which it
/// lives, as positions in the group.
#[derive(Clone, Debug)]
pub struct Held {
    pub value: ValueId,
    /// Loaded from main memory.
    pub loaded: bool,
    pub axes: Vec<Axis>,
    pub bytes: u64,
    pub first: usize,
    pub last: usize,
}

/// The tiles of one block. Operands from main memory are there from their first use to their last.
pub fn tiles(func: &Func, group: &Group, region: &Region, size: &TileSize) -> Vec<Held> {
    let mut out: Vec<Held> = Vec::new();
    let mut touch = |value: ValueId, dims: &DimAxes, loaded: bool, at: usize| {
        let axes: Vec<Axis> = dims.iter().flatten().map(|&axis| group.axes.root(axis)).collect();
        let known = out.iter_mut().find(|held| {
            held.value == value && held.loaded == loaded && (!loaded || held.axes == axes)
        });
        match known {
            Some(held) => held.last = at,
            None => {
                let element = func.ty(value).dtype().size_bytes();
                let bytes = bytes_per_partition(region, &axes, size, element);
                out.push(Held { value, loaded, axes, bytes, first: at, last: at });
            }
        }
    };
    for (at, member) in group.ops.iter().enumerate() {
        let op = &func.ops[member.op];
        for ((operand, dims), source) in
            op.operands.iter().zip(&member.operands).zip(&member.sources)
        {
            match (operand, source) {
                (_, Some(source)) => touch(*source, &group.values[source], false, at),
                (Operand::Value(value), None) => touch(*value, dims, true, at),
                (Operand::Literal(_), None) => {}
            }
        }
        if let Some(result) = op.result() {
            touch(result, &group.values[&result], false, at);
        }
    }
    out
}

/// The most bytes of a partition that are in use at once when the operations run in order.
pub fn peak_bytes(func: &Func, group: &Group, region: &Region, size: &TileSize) -> u64 {
    let tiles = tiles(func, group, region, size);
    // What leaves the group is stored when it is made; DMA reads it a little longer.
    (0..group.ops.len())
        .map(|at| {
            let live = tiles.iter().filter(|held| held.first <= at && at <= held.last + 1);
            live.map(|held| held.bytes).sum()
        })
        .max()
        .unwrap_or(0)
}
