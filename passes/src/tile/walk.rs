//! The walk over the blocks of a region: rows, windows, and within them the operations of the group.

use indexmap::IndexMap;
use partita_ir::Operand;
use partita_ir::entity::ValueId;
use smallvec::SmallVec;

use super::axes::Axis;
use super::group::{Group, Member};
use super::lower::{Block, Lowering, Tile};
use super::parts::Part;
use super::phases::{Along, Phases};
use super::plan::Region;
use super::size::TileSize;
use crate::select::NotCore;

/// Tiles of values, and of operands that were loaded.
#[derive(Default)]
pub struct Known {
    values: IndexMap<ValueId, Tile>,
    /// By value and axes.
    loads: IndexMap<(ValueId, Vec<Axis>), Tile>,
}

/// Tiles known while a region is lowered, by what they change with.
#[derive(Default)]
pub struct Scopes {
    always: Known,
    block: Known,
    /// For each window of the cut axis: the same in every block, and of this block.
    always_windows: Vec<Known>,
    windows: Vec<Known>,
    /// What is folded along the cut axis, while it is.
    pub parts: IndexMap<ValueId, Part>,
    /// The last window's tile of what goes on from window to window.
    pub chains: IndexMap<ValueId, Tile>,
}

impl Scopes {
    fn new(windows: usize) -> Self {
        let empty = || (0..windows).map(|_| Known::default()).collect();
        Self { always_windows: empty(), windows: empty(), ..Self::default() }
    }

    fn next_block(&mut self) {
        self.block = Known::default();
        self.windows.iter_mut().for_each(|window| *window = Known::default());
        self.parts.clear();
        self.chains.clear();
    }

    /// Where tiles with these axes are.
    fn of(&mut self, block: &Block<'_>, axes: &[Axis]) -> &mut Known {
        let cut = block.size.cut.and_then(|cut| block.region.free.get(cut));
        let windowed = cut.is_some_and(|looped| axes.contains(&looped.axis));
        let invariant = block.is_invariant(axes);
        let windows = match (windowed, invariant) {
            (true, true) if block.size.hold => self.always_windows.get_mut(block.window),
            (true, _) => self.windows.get_mut(block.window),
            _ => None,
        };
        match windows {
            Some(known) => known,
            None if invariant && !windowed => &mut self.always,
            None => &mut self.block,
        }
    }

    pub fn value(&mut self, block: &Block<'_>, value: ValueId) -> Option<Tile> {
        let axes = block.axes_of(value);
        self.of(block, &axes).values.get(&value).cloned()
    }
}

impl Lowering<'_> {
    /// Lowers every block of a region.
    ///
    /// # Errors
    /// An operation has no word in this layout.
    pub fn region(
        &mut self,
        group: &Group,
        region: &Region,
        size: &TileSize,
    ) -> Result<(), NotCore> {
        let windows = size.windows(region);
        let phases = match size.cut {
            Some(_) => {
                Some(size.phases(self.func, self.target, group, region).ok_or_else(|| {
                    super::compute::missing("an operation cannot be cut along the axis")
                })?)
            }
            None => None,
        };
        let mut scopes = Scopes::new(windows.len());
        let count = region.row_count();
        let mut start = 0;
        while start < count && !self.out.is_full() {
            let end = (start + size.rows).min(count);
            let mut outer: SmallVec<[(u64, u64); 4]> =
                (0..region.free.len()).map(|index| (0, size.outer(region, index))).collect();
            loop {
                scopes.next_block();
                let windows_of_block = outer.clone();
                let rows = (start, end);
                let block =
                    Block { group, region, size, rows, windows: windows_of_block, window: 0 };
                match (&phases, size.cut) {
                    (Some(phases), Some(cut)) => {
                        self.phased(&block, (cut, &windows), phases, &mut scopes)?;
                    }
                    _ => self.members(&block, 0..group.ops.len(), None, &mut scopes)?,
                }
                if self.out.is_full() || !advance(&mut outer, region, size) {
                    break;
                }
            }
            start = end;
        }
        Ok(())
    }

    /// One block, its loops over windows one after the other.
    fn phased(
        &mut self,
        block: &Block<'_>,
        (cut, windows): (usize, &[(u64, u64)]),
        phases: &Phases,
        scopes: &mut Scopes,
    ) -> Result<(), NotCore> {
        for step in &phases.steps {
            let members = || step.members.iter().copied();
            if !step.looped {
                self.members(block, members(), None, scopes)?;
                continue;
            }
            for (window, &piece) in windows.iter().enumerate() {
                let mut within = Block { windows: block.windows.clone(), window, ..*block };
                within.windows[cut] = piece;
                self.members(&within, members(), Some((phases, windows.len())), scopes)?;
                if self.out.is_full() {
                    return Ok(());
                }
            }
            for at in members() {
                self.finish_fold(block, at, &phases.along[at], scopes)?;
            }
        }
        Ok(())
    }

    /// Some operations of the group on one block or window.
    fn members(
        &mut self,
        block: &Block<'_>,
        members: impl Iterator<Item = usize>,
        phases: Option<(&Phases, usize)>,
        scopes: &mut Scopes,
    ) -> Result<(), NotCore> {
        for at in members {
            let member = &block.group.ops[at];
            let op = &self.func.ops[member.op];
            let Some(result) = op.result() else { continue };
            let in_parts = |scopes: &Scopes| {
                scopes.parts.get(&result).is_some_and(|part| part.has(block.window))
            };
            if scopes.value(block, result).is_some() || in_parts(scopes) {
                continue;
            }
            let name = self.func.values[result].name.clone();
            self.out.set_source(&name);
            let operands = (0..op.operands.len())
                .map(|index| self.operand(block, member, index, scopes))
                .collect::<Result<Vec<_>, _>>()?;
            let beside = self.sum_beside(block, at, &operands);
            if let Some((_, joined)) = &beside {
                self.notes.add(self.func, member.op, joined);
            }
            if let Some((beside, _)) = beside.filter(|(_, joined)| joined.pays()) {
                let part = phases.and_then(|(phases, count)| {
                    self.part(block, beside, &phases.along[beside], count, scopes)
                });
                let whole = part.is_none();
                let [tile, total] = self.compute_with_sum(block, at, beside, &operands, part)?;
                self.keep(block, result, tile, scopes);
                let sum = self.func.ops[block.group.ops[beside].op].result();
                if let Some(sum) = sum.filter(|_| whole) {
                    self.keep(block, sum, total, scopes);
                }
                continue;
            }
            match phases.map(|(phases, count)| (&phases.along[at], count)) {
                Some((along @ Along::Parts { part, .. }, count)) => {
                    let into = self.part(block, at, along, count, scopes);
                    let into =
                        into.ok_or_else(|| super::compute::missing("a part has no place"))?;
                    self.compute_part(block, at, part, &operands, &into)?;
                }
                Some((Along::Chain, count)) => {
                    let tile = self.compute_chained(block, at, &operands, count, scopes)?;
                    if let Some(tile) = tile {
                        self.keep(block, result, tile, scopes);
                    }
                }
                _ => {
                    let place = self.overwritten(block, at, &operands);
                    if place.is_some() {
                        let joined = self.without_copy(block, result);
                        self.notes.add(self.func, member.op, &joined);
                    }
                    let tile = self.compute(block, member, &operands, result, place)?;
                    self.keep(block, result, tile, scopes);
                }
            }
        }
        Ok(())
    }

    /// Stores a computed tile if it is needed outside, and remembers it.
    pub fn keep(&mut self, block: &Block<'_>, value: ValueId, tile: Tile, scopes: &mut Scopes) {
        let dims = &block.group.values[&value];
        if self.is_stored(value) {
            self.store(block, value, dims, &tile);
        }
        scopes.of(block, &block.roots(dims)).values.insert(value, tile);
    }

    fn operand(
        &mut self,
        block: &Block<'_>,
        member: &Member,
        index: usize,
        scopes: &mut Scopes,
    ) -> Result<Option<Tile>, NotCore> {
        let Operand::Value(value) = self.func.ops[member.op].operands[index] else {
            return Ok(None);
        };
        let missing = || super::compute::missing("an operand of the tile was not computed");
        if let Some(source) = member.sources[index] {
            return scopes.value(block, source).map(Some).ok_or_else(missing);
        }
        let axes = block.roots(&member.operands[index]);
        let known = scopes.of(block, &axes);
        let key = (value, axes.clone());
        if let Some(tile) = known.loads.get(&key) {
            return Ok(Some(tile.clone()));
        }
        let tile = self.load(block, value, &member.operands[index], &axes).ok_or_else(missing)?;
        scopes.of(block, &axes).loads.insert(key, tile.clone());
        Ok(Some(tile))
    }
}

/// The next windows of the axes that are cut around the walk; false after the last.
fn advance(windows: &mut [(u64, u64)], region: &Region, size: &TileSize) -> bool {
    for (index, window) in windows.iter_mut().enumerate().rev() {
        let extent = region.free[index].extent;
        let step = size.outer(region, index);
        let next = window.0 + window.1;
        if next < extent {
            *window = (next, step.min(extent - next));
            return true;
        }
        *window = (0, step.min(extent));
    }
    false
}
