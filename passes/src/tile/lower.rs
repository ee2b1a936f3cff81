//! Tiles of a group as operations of the tile dialect: loads, words, stores.

use indexmap::IndexMap;
use partita_ir::entity::ValueId;
use partita_ir::ops::TensorOp;
use partita_ir::{ElemType, Func, Space};
use partita_isa::Target;
use smallvec::{SmallVec, smallvec};

use super::axes::{Axis, DimAxes};
use super::emit::{End, Move, TileBuilder};
use super::group::{Group, Member};
use super::homes::Leftover;
use super::notes::Notes;
use super::plan::{Division, Region};
use super::resident::{Resident, Residents, Transfer};
use super::rows::{RowBox, row_boxes, row_steps};
use super::size::TileSize;
use super::sources::{Content, Sources};
use super::view::{BufferId, Piece, View};
use crate::select::{self, NotCore};

/// Queues of transfers: loads must not wait behind stores.
pub const LOAD_QUEUE: u8 = 0;
pub const STORE_QUEUE: u8 = 1;

/// A tile on the chip and how its elements lie within a partition.
#[derive(Clone, Debug)]
pub struct Tile {
    pub value: ValueId,
    /// Element steps along the region's free axes; 0 along those that it does not have.
    pub steps: SmallVec<[i64; 4]>,
    /// It has one element in each partition.
    pub is_row: bool,
    /// The element at which it starts: a part of the elements of a larger tile.
    pub start: i64,
}

/// The lowering of a whole function.
pub struct Lowering<'a> {
    pub func: &'a Func,
    pub target: &'a Target,
    pub sources: Sources,
    pub needed: Vec<bool>,
    pub out: TileBuilder,
    /// The tile in main memory of each buffer, once there is one.
    buffers: Vec<Option<ValueId>>,
    /// One element repeated in every partition, for words that take no immediate.
    elements: IndexMap<(u64, ElemType), ValueId>,
    /// Results of the function whose buffer is made under the result's name.
    pub result_names: IndexMap<ValueId, String>,
    /// What the latest loops left on the chip.
    pub residents: Residents,
    /// Bytes of a partition that the live tiles of a loop may take.
    budget: u64,
    /// One word does no more than one operation.
    pub apart: bool,
    pub notes: Notes,
}

/// The iteration that is being lowered.
pub struct Block<'a> {
    pub group: &'a Group,
    pub region: &'a Region,
    pub size: &'a TileSize,
    /// Rows `start..end` of the region.
    pub rows: (u64, u64),
    /// Start and extent along each free axis.
    pub windows: SmallVec<[(u64, u64); 4]>,
    /// Which window of the cut axis this is.
    pub window: usize,
}

impl Block<'_> {
    /// Partitions that words process.
    pub fn channels(&self) -> u64 {
        self.rows.1 - self.rows.0
    }

    pub fn roots(&self, dims: &DimAxes) -> Vec<Axis> {
        dims.iter().flatten().map(|&axis| self.group.axes.root(axis)).collect()
    }

    /// The axes of a value of the group.
    pub fn axes_of(&self, value: ValueId) -> Vec<Axis> {
        self.group.values.get(&value).map(|dims| self.roots(dims)).unwrap_or_default()
    }

    /// The layout of a value with these axes.
    pub fn layout(&self, axes: &[Axis]) -> (SmallVec<[u64; 4]>, SmallVec<[i64; 4]>) {
        let mut shape: SmallVec<[u64; 4]> = smallvec![self.channels()];
        let mut steps: SmallVec<[i64; 4]> = smallvec![0; self.region.free.len()];
        let mut step = 1;
        for index in (0..self.region.free.len()).rev() {
            if axes.contains(&self.region.free[index].axis) {
                let extent = self.windows[index].1;
                steps[index] = if extent == 1 { 0 } else { step };
                step *= extent as i64;
                shape.insert(1, extent);
            }
        }
        (shape, steps)
    }

    /// True when a tile with these axes is the same in every block of the region, for the window of the
    /// axis that is cut.
    pub fn is_invariant(&self, axes: &[Axis]) -> bool {
        let rows = self.region.rows.iter().all(|row| !axes.contains(&row.axis) || row.extent == 1);
        let whole = |index: usize| {
            self.size.cut == Some(index) || self.size.free[index] == self.region.free[index].extent
        };
        rows && (0..self.region.free.len())
            .all(|index| !axes.contains(&self.region.free[index].axis) || whole(index))
    }
}

impl<'a> Lowering<'a> {
    pub fn new(func: &'a Func, target: &'a Target, sources: Sources, budget: u64) -> Self {
        let buffers = vec![None; sources.buffers.len()];
        Self {
            func,
            target,
            sources,
            needed: Vec::new(),
            out: TileBuilder::new(&func.name, *target),
            buffers,
            elements: IndexMap::new(),
            result_names: IndexMap::new(),
            residents: Residents::default(),
            budget,
            apart: false,
            notes: Notes::default(),
        }
    }

    /// The tile in main memory that a buffer is.
    pub fn buffer(&mut self, id: BufferId) -> ValueId {
        let index = id.0 as usize;
        if self.buffers.len() < self.sources.buffers.len() {
            self.buffers.resize(self.sources.buffers.len(), None);
        }
        if let Some(tile) = self.buffers[index] {
            return tile;
        }
        let tile = match self.sources.buffers[index].clone() {
            Content::Arg(value) | Content::Computed(value) | Content::Result(value) => {
                let name = self.result_names.get(&value).cloned();
                let hint = name.unwrap_or_else(|| self.func.values[value].name.to_string());
                let ty = self.func.ty(value);
                self.out.alloc(Space::Hbm, ty.shape(), ty.dtype(), &hint)
            }
            Content::Constant(data) => self.out.constant(data),
            Content::Copy { view, dtype, .. } => {
                self.out.alloc(Space::Hbm, &view.shape, dtype, "copy")
            }
        };
        self.buffers[index] = Some(tile);
        tile
    }

    /// Binds an argument's buffer to the tile function's argument.
    pub fn bind(&mut self, id: BufferId, tile: ValueId) {
        self.buffers[id.0 as usize] = Some(tile);
    }

    /// Copies that become possible after a group (before all, for `None`).
    pub fn copies_after(&mut self, group: Option<usize>) {
        for index in 0..self.sources.buffers.len() {
            let Content::Copy { view, after, .. } = &self.sources.buffers[index] else { continue };
            if *after == group && self.needed.get(index).copied().unwrap_or(false) {
                let view = view.clone();
                let to = self.buffer(BufferId(index as u32));
                self.copy_dense(&view, to);
            }
        }
    }

    /// Writes a view densely into a tile in main memory.
    pub fn copy_dense(&mut self, view: &View, to: ValueId) {
        let steps = super::view::row_major(&view.shape, view.element_bytes);
        for piece in &view.pieces {
            self.copy_piece(view.element_bytes, piece, to, 0, &steps);
        }
    }

    /// Writes what a result is not made of in place.
    pub fn copy_leftover(&mut self, leftover: &Leftover) {
        let Some(view) = self.sources.view(leftover.value).cloned() else { return };
        let Some(to) = leftover.to.pieces.first() else { return };
        let tile = self.buffer(to.buffer);
        for piece in view.pieces.iter().filter(|p| !leftover.skips(&p.lo, &p.size)) {
            self.copy_piece(view.element_bytes, piece, tile, to.offset, &to.strides);
        }
    }

    /// Copies one piece of a tensor to its place under these steps.
    fn copy_piece(&mut self, element: u64, piece: &Piece, to: ValueId, start: i64, steps: &[i64]) {
        let offset: i64 = piece.lo.iter().zip(steps).map(|(&lo, step)| lo as i64 * step).sum();
        let moves: SmallVec<[Move; 8]> = (0..steps.len())
            .rev()
            .map(|dim| Move { count: piece.size[dim], from: piece.strides[dim], to: steps[dim] })
            .collect();
        let (buffer, moves) = self.sources.in_rows(piece.buffer, element, &moves);
        let from = End { tile: self.buffer(buffer), offset: piece.offset };
        let to = End { tile: to, offset: start + offset };
        self.out.transfer(STORE_QUEUE, element, from, to, &moves);
    }

    /// One element in every partition.
    pub fn element(&mut self, bits: u64, dtype: ElemType) -> Option<Tile> {
        let value = match self.elements.get(&(bits, dtype)) {
            Some(&value) => value,
            None => {
                let source = self.sources.element(bits, dtype)?;
                let from = End { tile: self.buffer(source), offset: 0 };
                let value =
                    self.out.alloc(Space::Sbuf, &[super::plan::PARTITIONS, 1], dtype, "literal");
                let stride = self.out.partition_stride();
                let moves = [Move { count: super::plan::PARTITIONS, from: 0, to: stride }];
                self.out.transfer(
                    LOAD_QUEUE,
                    dtype.size_bytes(),
                    from,
                    End { tile: value, offset: 0 },
                    &moves,
                );
                self.elements.insert((bits, dtype), value);
                value
            }
        };
        Some(Tile { value, steps: SmallVec::new(), is_row: true, start: 0 })
    }

    pub fn is_stored(&self, value: ValueId) -> bool {
        let piece = self.sources.view(value).and_then(|view| view.pieces.first());
        piece.is_some_and(|piece| self.needed[piece.buffer.0 as usize])
    }

    /// A new tile for a value with these axes.
    pub fn new_tile(
        &mut self,
        block: &Block<'_>,
        axes: &[Axis],
        dtype: ElemType,
        hint: &str,
    ) -> Tile {
        let (shape, steps) = block.layout(axes);
        let is_row = shape.iter().skip(1).all(|&extent| extent == 1);
        let value = self.out.alloc(Space::Sbuf, &shape, dtype, hint);
        Tile { value, steps, is_row, start: 0 }
    }

    /// The tile of a block of a value that is not of this group.
    pub fn load(
        &mut self,
        block: &Block<'_>,
        value: ValueId,
        dims: &DimAxes,
        axes: &[Axis],
    ) -> Option<Tile> {
        let view = self.sources.view(value)?;
        let element = view.element_bytes;
        let (view, loops) = region_view(block.group, block.region, view, dims)?;
        let (shape, steps) = block.layout(axes);
        let chip = self.chip_steps(block, &steps, element);
        let mut loads = Vec::new();
        for boxed in self.boxes(block) {
            self.box_loads(block, &view, &loops, &boxed, &chip, &mut loads);
        }
        let is_row = shape.iter().skip(1).all(|&extent| extent == 1);
        if let Some(value) = self.residents.same(&loads) {
            return Some(Tile { value, steps, is_row, start: 0 });
        }
        let name = self.func.values[value].name.clone();
        let tile = self.out.alloc(Space::Sbuf, &shape, self.func.ty(value).dtype(), &name);
        self.run_loads(element, &loads, tile);
        Some(Tile { value: tile, steps, is_row, start: 0 })
    }

    /// Fills a tile, from the chip where the elements are still there.
    pub fn run_loads(&mut self, element: u64, loads: &[Transfer], tile: ValueId) {
        for load in loads {
            let to = End { tile, offset: load.tile_offset };
            match self.residents.copy(load, element) {
                Some((from, [offset, start], moves)) => {
                    let to = End { offset: start, ..to };
                    let ends = [(from, offset), (to.tile, to.offset)];
                    if !self.copy_by_words(element, ends, &moves) {
                        let from = End { tile: from, offset };
                        self.out.transfer(LOAD_QUEUE, element, from, to, &moves);
                    }
                }
                None => {
                    let (buffer, moves) = self.sources.in_rows(load.buffer, element, &load.moves);
                    let from = End { tile: self.buffer(buffer), offset: load.buffer_offset };
                    self.out.transfer(LOAD_QUEUE, element, from, to, &moves);
                }
            }
        }
    }

    fn boxes(&self, block: &Block<'_>) -> Vec<RowBox> {
        let extents: Vec<u64> = block.region.rows.iter().map(|row| row.extent).collect();
        row_boxes(&extents, block.rows.0, block.rows.1)
    }

    /// The loads of one box: each loop of the region, with the step of the tile.
    fn box_loads(
        &self,
        block: &Block<'_>,
        view: &View,
        loops: &[Option<usize>],
        boxed: &RowBox,
        to_steps: &[i64],
        loads: &mut Vec<Transfer>,
    ) {
        let ranges = block.ranges(boxed);
        let lo: SmallVec<[u64; 4]> = loops.iter().map(|l| l.map_or(0, |l| ranges[l].0)).collect();
        let size: SmallVec<[u64; 4]> = loops.iter().map(|l| l.map_or(1, |l| ranges[l].1)).collect();
        let base = boxed.first as i64 * self.out.partition_stride();
        for piece in view.pieces.iter().filter_map(|piece| piece.intersect(&lo, &size)) {
            let mut offset = base;
            let mut moves: SmallVec<[Move; 8]> = SmallVec::new();
            for (index, &(start, count)) in ranges.iter().enumerate().rev() {
                let dim = loops.iter().position(|&l| l == Some(index));
                let to = to_steps[index];
                match dim {
                    Some(dim) => {
                        offset += (piece.lo[dim] - start) as i64 * to;
                        moves.push(Move { count: piece.size[dim], from: piece.strides[dim], to });
                    }
                    // Rows that the value does not have repeat it.
                    None if index < block.region.rows.len() => {
                        moves.push(Move { count, from: 0, to })
                    }
                    None => {}
                }
            }
            loads.push(Transfer {
                buffer: piece.buffer,
                buffer_offset: piece.offset,
                tile_offset: offset,
                moves,
            });
        }
    }

    /// Byte steps of a tile along the region's loops, rows then free axes.
    fn chip_steps(&self, block: &Block<'_>, steps: &[i64], element: u64) -> Vec<i64> {
        let extents: Vec<u64> = block.region.rows.iter().map(|row| row.extent).collect();
        let stride = self.out.partition_stride();
        let rows = row_steps(&extents).into_iter().map(|step| step as i64 * stride);
        rows.chain(steps.iter().map(|&step| step * element as i64)).collect()
    }

    /// Writes a block of a value to its place in main memory. What the value does not have is
    /// written once.
    pub fn store(&mut self, block: &Block<'_>, value: ValueId, dims: &DimAxes, tile: &Tile) {
        let ty = self.func.ty(value);
        let element = ty.dtype().size_bytes();
        let Some(home) = self.sources.view(value) else { return };
        let Some((view, loops)) = region_view(block.group, block.region, home, dims) else {
            return;
        };
        let Some(piece) = view.pieces.first().cloned() else { return };
        let from_steps = self.chip_steps(block, &tile.steps, element);
        for boxed in self.boxes(block) {
            let ranges = block.ranges(&boxed);
            let from = boxed.first as i64 * self.out.partition_stride();
            let mut to = piece.offset;
            let mut moves: SmallVec<[Move; 8]> = SmallVec::new();
            let mut first = true;
            for (index, &(start, count)) in ranges.iter().enumerate().rev() {
                match loops.iter().position(|&l| l == Some(index)) {
                    Some(dim) => {
                        to += start as i64 * piece.strides[dim];
                        moves.push(Move { count, from: piece.strides[dim], to: from_steps[index] });
                    }
                    None => first &= start == 0,
                }
            }
            if first {
                let stored =
                    Transfer { buffer: piece.buffer, buffer_offset: to, tile_offset: from, moves };
                self.run_store(element, stored, value, tile.value);
            }
        }
    }

    /// Stores a tile, and remembers it when it holds all of the value.
    pub fn run_store(&mut self, element: u64, stored: Transfer, value: ValueId, tile: ValueId) {
        let back = |step: &Move| Move { from: step.to, to: step.from, ..*step };
        let moves: SmallVec<[Move; 8]> = stored.moves.iter().map(back).collect();
        let from = End { tile, offset: stored.tile_offset };
        let to = End { tile: self.buffer(stored.buffer), offset: stored.buffer_offset };
        self.out.transfer(STORE_QUEUE, element, from, to, &moves);
        let count = stored.moves.iter().map(|step| step.count).product::<u64>();
        let whole = self.func.tensor_ty(value).and_then(|ty| ty.elements()) == Some(count);
        let ty = self.out.func.ty(tile).as_tile();
        let bytes = ty.and_then(|ty| ty.bytes_per_partition()).unwrap_or(u64::MAX);
        if whole {
            self.residents.add(Resident { tile, bytes, element, stored }, self.budget);
        }
    }

    /// The form of an operation when its operands are these tiles.
    pub fn form(
        &self,
        member: &Member,
        operands: &[Option<Tile>],
    ) -> Result<select::Form, NotCore> {
        let is_row = |index: usize| {
            operands.get(index).is_some_and(|tile| tile.as_ref().is_some_and(|t| t.is_row))
        };
        select::form(self.func, &self.func.ops[member.op], self.target, is_row)
    }
}

impl Block<'_> {
    /// Start and extent of each loop within the block: rows of the box, then windows.
    fn ranges(&self, boxed: &RowBox) -> SmallVec<[(u64, u64); 8]> {
        boxed.ranges.iter().chain(&self.windows).copied().collect()
    }
}

/// A view with a divided dimension taken apart, and for each of its dimensions the region's loop.
/// `None` when the view's strides do not allow the division.
pub fn region_view(
    group: &Group,
    region: &Region,
    view: &View,
    dims: &DimAxes,
) -> Option<(View, SmallVec<[Option<usize>; 4]>)> {
    let roots: SmallVec<[Option<Axis>; 4]> =
        dims.iter().map(|axis| axis.map(|a| group.axes.root(a))).collect();
    let mut view = view.clone();
    let mut loops: SmallVec<[Option<usize>; 4]> = SmallVec::new();
    let divided = region
        .division
        .and_then(|cut| Some((roots.iter().position(|&root| root == Some(cut.axis))?, cut)));
    if let Some((dim, cut)) = divided {
        view = divide_dim(&view, dim, cut)?;
    }
    for root in roots {
        match root {
            Some(axis) => loops.extend(region.loops_of(axis).into_iter().map(Some)),
            None => loops.push(None),
        }
    }
    (loops.len() == view.shape.len()).then_some((view, loops))
}

fn divide_dim(view: &View, dim: usize, cut: Division) -> Option<View> {
    let ranges: Vec<partita_ir::ops::SliceRange> = view
        .shape
        .iter()
        .enumerate()
        .map(|(index, &size)| {
            let (start, limit) = if index == dim {
                (cut.start, cut.start + cut.rows * cut.width)
            } else {
                (0, size)
            };
            partita_ir::ops::SliceRange { start, limit, stride: 1 }
        })
        .collect();
    let part = view.slice(&ranges);
    let mut shape = part.shape.clone();
    shape[dim] = cut.rows;
    shape.insert(dim + 1, cut.width);
    part.reshape(&shape)
}

/// True of an operation that needs a lowering of its own.
pub fn has_own_tiling(func: &Func, member: &Member) -> bool {
    let own = |op: &TensorOp| {
        matches!(op, TensorOp::TransposeReduce { .. } | TensorOp::TransposePair { .. })
    };
    func.ops[member.op].as_tensor().is_some_and(own)
}
