//! Values that are still on the chip when a later loop reads them: the tile itself is
//! read where it lies as that loop wants it, else it is copied from tile to tile, without
//! the way through main memory.

use partita_ir::entity::ValueId;
use smallvec::SmallVec;

use super::emit::Move;
use super::view::BufferId;

/// A transfer between a buffer and a tile: bytes from the start of each.
#[derive(Clone, Debug)]
pub struct Transfer {
    pub buffer: BufferId,
    pub buffer_offset: i64,
    pub tile_offset: i64,
    /// `from` is the step in the buffer, `to` that in the tile; innermost first.
    pub moves: SmallVec<[Move; 8]>,
}

/// A tile that holds all of a value.
#[derive(Clone, Debug)]
pub struct Resident {
    pub tile: ValueId,
    /// Bytes that it takes in a partition.
    pub bytes: u64,
    /// Bytes of an element as it was stored; those of one lie side by side.
    pub element: u64,
    /// How it was stored.
    pub stored: Transfer,
}

/// The latest tiles that hold all of a value.
#[derive(Debug, Default)]
pub struct Residents(Vec<Resident>);

/// Tiles that are remembered; each may have this part of what a loop may take.
const MOST: usize = 4;
pub const SHARE: u64 = 16;

impl Residents {
    pub fn add(&mut self, resident: Resident, budget: u64) {
        if resident.bytes > budget / SHARE {
            return;
        }
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push(resident);
    }

    /// True of a tile that may be read again.
    pub fn holds(&self, tile: ValueId) -> bool {
        self.0.iter().any(|resident| resident.tile == tile)
    }

    fn find(&self, transfer: &Transfer) -> Option<&Resident> {
        self.0.iter().rev().find(|resident| resident.stored.buffer == transfer.buffer)
    }

    /// The tile that a load would make again.
    pub fn same(&self, loads: &[Transfer]) -> Option<ValueId> {
        let [load] = loads else { return None };
        let resident = self.find(load)?;
        let (stored, wanted) = (&resident.stored, load);
        let equal = stored.buffer_offset == wanted.buffer_offset
            && stored.tile_offset == wanted.tile_offset
            && normal(&stored.moves) == normal(&wanted.moves);
        equal.then_some(resident.tile)
    }

    /// The load of elements of some bytes as a copy from tile to tile: the tile, where it starts on both sides, and the
    /// moves. The parts of wider elements than were stored may lie apart on the chip.
    pub fn copy(
        &self,
        load: &Transfer,
        element: u64,
    ) -> Option<(ValueId, [i64; 2], SmallVec<[Move; 8]>)> {
        let load = forwards(load.clone());
        let resident = self.find(&load).filter(|resident| resident.element >= element)?;
        let (offset, moves) = compose(&resident.stored, &load)?;
        Some((resident.tile, [offset, load.tile_offset], moves))
    }
}

/// The same elements, none of them backwards through the buffer.
fn forwards(mut load: Transfer) -> Transfer {
    for step in &mut load.moves {
        if step.from < 0 {
            let last = step.count.saturating_sub(1) as i64;
            load.buffer_offset += last * step.from;
            load.tile_offset += last * step.to;
            (step.from, step.to) = (-step.from, -step.to);
        }
    }
    load
}

/// Moves as one can compare them: from small to large steps of the buffer, those that
/// continue each other joined.
fn normal(moves: &[Move]) -> Vec<Move> {
    let mut sorted: Vec<Move> = moves.iter().copied().filter(|step| step.count != 1).collect();
    sorted.sort_by_key(|step| (step.from, step.to));
    let mut out: Vec<Move> = Vec::new();
    for step in sorted {
        match out.last_mut() {
            Some(inner)
                if inner.from * inner.count as i64 == step.from
                    && inner.to * inner.count as i64 == step.to =>
            {
                inner.count *= step.count;
            }
            _ => out.push(step),
        }
    }
    out
}

/// Reads the buffer's elements from the tile that was stored there. The store's moves are
/// digits of a byte's place in the buffer; each of the load's must stay within one digit,
/// or begin at its start and fill it.
fn compose(stored: &Transfer, load: &Transfer) -> Option<(i64, SmallVec<[Move; 8]>)> {
    let digits = normal(&stored.moves);
    if digits.iter().any(|digit| digit.from <= 0) {
        return None;
    }
    // Where the load starts, digit by digit from the largest.
    let mut rest = load.buffer_offset - stored.buffer_offset;
    let mut offset = stored.tile_offset;
    let mut start: Vec<i64> = vec![0; digits.len()];
    for (at, digit) in digits.iter().enumerate().rev() {
        start[at] = rest.div_euclid(digit.from);
        rest -= start[at] * digit.from;
        if start[at] < 0 || start[at] >= digit.count as i64 {
            return None;
        }
        offset += start[at] * digit.to;
    }
    if rest != 0 {
        return None;
    }
    let mut out: SmallVec<[Move; 8]> = SmallVec::new();
    for step in &load.moves {
        divide(&digits, &mut start, *step, &mut out)?;
    }
    Some((offset, out))
}

/// One move of a load along the digits; `reach` is how far in each the moves before come.
fn divide(
    digits: &[Move],
    reach: &mut [i64],
    mut step: Move,
    out: &mut SmallVec<[Move; 8]>,
) -> Option<()> {
    if step.from == 0 || step.count == 1 {
        out.push(Move { from: 0, ..step });
        return Some(());
    }
    if step.from < 0 {
        return None;
    }
    loop {
        let at = digits.iter().rposition(|digit| digit.from <= step.from)?;
        let digit = digits[at];
        if step.from % digit.from != 0 {
            return None;
        }
        let ratio = step.from / digit.from;
        let count = step.count as i64;
        let size = digit.count as i64;
        let last = reach[at] + ratio * (count - 1);
        if last < size {
            reach[at] = last;
            out.push(Move { count: step.count, from: ratio * digit.to, to: step.to });
            return Some(());
        }
        let next = digits.get(at + 1)?;
        // The next digit must begin where this one ends.
        if reach[at] != 0 || size % ratio != 0 || next.from != digit.from * size {
            return None;
        }
        let within = size / ratio;
        if count % within != 0 {
            return None;
        }
        out.push(Move { count: within as u64, from: ratio * digit.to, to: step.to });
        reach[at] = size - ratio;
        step = Move {
            count: (count / within) as u64,
            from: next.from,
            to: step.to.checked_mul(within)?,
        };
    }
}

#[cfg(test)]
mod tests {
    use partita_ir::entity::EntityId as _;

    use super::*;

    fn transfer(buffer_offset: i64, tile_offset: i64, moves: &[(u64, i64, i64)]) -> Transfer {
        let moves = moves.iter().map(|&(count, from, to)| Move { count, from, to }).collect();
        Transfer { buffer: BufferId(0), buffer_offset, tile_offset, moves }
    }

    /// Pairs of the two sides of every element.
    fn walk(offsets: (i64, i64), moves: &[Move]) -> Vec<(i64, i64)> {
        let mut out = vec![offsets];
        for step in moves {
            out = (0..step.count as i64)
                .flat_map(|i| out.iter().map(move |&(a, b)| (a + i * step.from, b + i * step.to)))
                .collect();
        }
        out.sort_unstable();
        out
    }

    /// A copy from tile to tile moves what a store and a load would.
    fn check(stored: &Transfer, load: &Transfer) -> bool {
        let Some((offset, moves)) = compose(stored, load) else { return false };
        let memory: std::collections::BTreeMap<i64, i64> =
            walk((stored.buffer_offset, stored.tile_offset), &stored.moves).into_iter().collect();
        let mut want: Vec<(i64, i64)> = walk((load.buffer_offset, load.tile_offset), &load.moves)
            .into_iter()
            .map(|(buffer, to)| (memory[&buffer], to))
            .collect();
        want.sort_unstable();
        assert_eq!(walk((offset, load.tile_offset), &moves), want);
        true
    }

    const ROW: i64 = 1 << 18;

    #[test]
    fn a_load_becomes_a_copy_between_tiles() {
        // [128, 6] elements of 4 bytes, rows on partitions, as [4, 32, 6] in the buffer.
        let stored = transfer(0, 0, &[(6, 4, 4), (128, 24, ROW)]);
        // Rows of 4 across 32 x 6, the second half of them.
        for offset in [0, 384] {
            let load = transfer(offset, 64, &[(4, 768, 4), (96, 4, ROW)]);
            assert!(check(&stored, &load));
        }
        assert!(check(&stored, &transfer(24, 0, &[(2, 4, 4), (3, 48, 8), (5, 0, ROW)])));
        // Half a row, then the next.
        assert!(!check(&stored, &transfer(12, 0, &[(6, 4, 4)])));
        assert!(!check(&stored, &transfer(0, 0, &[(4, 8, 4)])));
    }

    /// Pairs of 4 bytes in two partitions make no element of 8.
    #[test]
    fn wider_elements_than_were_stored_come_from_main_memory() {
        let mut residents = Residents::default();
        let stored = transfer(0, 0, &[(4, 4, ROW)]);
        residents
            .add(Resident { tile: ValueId::from_index(3), bytes: 4, element: 4, stored }, 4096);
        let load = transfer(0, 0, &[(2, 8, 8)]);
        assert!(residents.copy(&load, 4).is_some());
        assert!(residents.copy(&load, 8).is_none());
    }

    #[test]
    fn the_same_layout_is_the_same_tile() {
        let mut residents = Residents::default();
        let stored = transfer(0, 0, &[(128, 4, ROW)]);
        let tile = ValueId::from_index(3);
        residents.add(Resident { tile, bytes: 64, element: 4, stored: stored.clone() }, 4096);
        assert_eq!(residents.same(std::slice::from_ref(&stored)), Some(tile));
        assert_eq!(residents.same(&[transfer(0, 0, &[(16, 4, 4), (8, 64, ROW)])]), None);
    }
}
