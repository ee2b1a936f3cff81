//! Tiles copied to other lanes by words instead of transfers: a copy where blocks of 32 partitions go as they are, a
//! shuffle (ISA 9.10, 9.11) where lanes change places within them.

use std::collections::BTreeMap;

use partita_ir::entity::ValueId;
use partita_isa::{Dtype, Engine, Instruction, LoadMaskSelect, Opcode, Pattern};
use smallvec::SmallVec;

use super::compute::field;
use super::emit::Move;
use super::lower::Lowering;
use crate::blocks::BLOCK;
use crate::fuse::cost::Prices;
use crate::words::One;

/// Lanes of a block.
const LANES: usize = BLOCK as usize;

/// No source (ISA 9.10).
const NOTHING: u8 = 255;

/// The most elements of a pattern's loop, and its longest step.
const MAX_COUNT: u64 = u16::MAX as u64;
const MAX_STEP: i64 = i16::MAX as i64;

/// The most lanes that are looked at one by one.
const MAX_LANES: u64 = 512;

/// One word: from a block of partitions to another.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Chunk {
    /// Source and destination: first partition, and byte within each.
    partition: [u64; 2],
    byte: [i64; 2],
    /// For each lane of the destination, that of the source; more than a block's are as they are.
    table: [u8; LANES],
    channels: u64,
}

impl Chunk {
    /// Lanes that stay in their places, from the first on.
    fn in_place(&self) -> Option<u64> {
        let count = self.table.iter().take_while(|&&lane| lane != NOTHING).count();
        let (first, rest) = self.table.split_at(count);
        let same = first.iter().enumerate().all(|(at, &lane)| usize::from(lane) == at);
        (same && rest.iter().all(|&lane| lane == NOTHING)).then_some(count as u64)
    }
}

/// The loops within a partition, as patterns of source and destination have them.
struct Walk {
    counts: [u16; 4],
    steps: [[i16; 4]; 2],
}

impl Lowering<'_> {
    /// Emits words that copy elements from tile to tile as the moves say (their steps are bytes, partitions counted by
    /// their stride), when that is sooner done than a transfer; false when nothing was emitted.
    pub fn copy_by_words(
        &mut self,
        element: u64,
        [from, to]: [(ValueId, i64); 2],
        moves: &[Move],
    ) -> bool {
        if self.apart {
            return false;
        }
        let stride = self.out.partition_stride();
        let Some(dtype) = carrier(element) else { return false };
        let (lanes, within): (Vec<Move>, Vec<Move>) = moves
            .iter()
            .filter(|step| step.count != 1)
            .partition(|step| [step.from, step.to].iter().any(|&by| partitions(by, stride).0 != 0));
        let Some(walk) = walk(&within, element as i64) else { return false };
        let Some(chunks) = chunks([from.1, to.1], &lanes, stride) else { return false };
        let elements: u64 = walk.counts.iter().map(|&count| u64::from(count)).product();
        let rows: u64 = lanes.iter().map(|step| step.count).product();
        let bytes = rows.saturating_mul(elements).saturating_mul(element);
        let [src, dst] = walk.steps;
        let run = if src[0] == 1 && dst[0] == 1 { u64::from(walk.counts[0]) } else { 1 };
        if !self.is_sooner(&chunks, elements, bytes, run.saturating_mul(element)) {
            return false;
        }
        let mut loaded = None;
        for chunk in chunks {
            let [src, dst] = [0, 1].map(|side| {
                let start = chunk.partition[side] as i64 * stride + chunk.byte[side];
                Pattern::<4> {
                    start_addr: start as u32,
                    step_elem: walk.steps[side],
                    num_elem: walk.counts,
                }
            });
            let word = |opcode| One::moving(opcode, dtype, dtype);
            let bases = [(field::SRC, from.0), (field::DST, to.0)];
            match chunk.in_place() {
                Some(channels) => {
                    let whole = channels == BLOCK;
                    let channels = if whole { chunk.channels } else { channels } as u8;
                    let copy = word(Opcode::Copy).word(channels, src, dst);
                    self.out.inst(Engine::Dve, copy, &bases);
                }
                None => {
                    if loaded != Some(chunk.table) {
                        loaded = Some(chunk.table);
                        let immediate = chunk.table;
                        let body = LoadMaskSelect { immediate, ..LoadMaskSelect::default() };
                        let table = Instruction::new(Opcode::LoadMaskSelect, body);
                        self.out.inst(Engine::Dve, table, &[]);
                    }
                    let shuffle = word(Opcode::StreamShuffle).word(chunk.channels as u8, src, dst);
                    self.out.inst(Engine::Dve, shuffle, &bases);
                }
            }
        }
        true
    }

    /// Compares words with the transfer in their place, latency included.
    fn is_sooner(&self, chunks: &[Chunk], elements: u64, bytes: u64, row: u64) -> bool {
        let prices = Prices::of(self.target);
        let mut loaded = None;
        let word = |chunk: &Chunk| {
            let again = chunk.in_place().is_some() || loaded == Some(chunk.table);
            let table = if again { 0 } else { prices.lane_table() };
            loaded = chunk.in_place().map_or(Some(chunk.table), |_| loaded);
            prices.lanes(elements).saturating_add(table)
        };
        let words = chunks.iter().map(word).fold(0u64, u64::saturating_add);
        // They keep an engine busy, which a transfer does not.
        words.saturating_mul(2) < prices.transfer(bytes, row)
    }
}

/// A byte step as partitions and the bytes within one.
fn partitions(step: i64, stride: i64) -> (i64, i64) {
    let whole = (step + stride / 2).div_euclid(stride);
    (whole, step - whole * stride)
}

/// A type of the element's size that copies move as bits; 64 bits are for POOL (ENG-3).
fn carrier(element: u64) -> Option<Dtype> {
    match element {
        1 => Some(Dtype::Uint8),
        2 => Some(Dtype::Uint16),
        4 => Some(Dtype::Uint32),
        _ => None,
    }
}

/// The loops of a partition in elements; none where a pattern does not hold them.
fn walk(moves: &[Move], element: i64) -> Option<Walk> {
    let mut joined: SmallVec<[Move; 8]> = SmallVec::new();
    for step in moves {
        match joined.last_mut() {
            Some(inner)
                if inner.from * inner.count as i64 == step.from
                    && inner.to * inner.count as i64 == step.to
                    && inner.count * step.count <= MAX_COUNT =>
            {
                inner.count *= step.count;
            }
            _ => joined.push(*step),
        }
    }
    let mut walk = Walk { counts: [1; 4], steps: [[1; 4]; 2] };
    if joined.len() > walk.counts.len() {
        return None;
    }
    for (at, step) in joined.iter().enumerate() {
        walk.counts[at] = u16::try_from(step.count).ok()?;
        for (side, bytes) in [step.from, step.to].into_iter().enumerate() {
            if bytes % element != 0 || (bytes / element).abs() > MAX_STEP {
                return None;
            }
            walk.steps[side][at] = i16::try_from(bytes / element).ok()?;
        }
    }
    Some(walk)
}

/// The words for lanes that move so; none where lanes of one block come from several, or there are too many.
fn chunks(offsets: [i64; 2], lanes: &[Move], stride: i64) -> Option<Vec<Chunk>> {
    let count = lanes.iter().try_fold(1u64, |all, step| all.checked_mul(step.count))?;
    if count > MAX_LANES {
        return None;
    }
    // By bytes and blocks, source before destination.
    let mut found: BTreeMap<([i64; 2], [i64; 2]), [u8; LANES]> = BTreeMap::new();
    for index in 0..count {
        let mut rest = index;
        let mut at = offsets;
        for step in lanes {
            let times = (rest % step.count) as i64;
            rest /= step.count;
            at[0] += times * step.from;
            at[1] += times * step.to;
        }
        let [src, dst] = at.map(|address| (address.div_euclid(stride), address.rem_euclid(stride)));
        let block = BLOCK as i64;
        let key = ([dst.1, src.1], [dst.0 / block, src.0 / block]);
        let table = found.entry(key).or_insert([NOTHING; LANES]);
        let slot = table.get_mut((dst.0 % block) as usize)?;
        if *slot != NOTHING {
            return None;
        }
        *slot = u8::try_from(src.0 % block).ok()?;
    }
    let mut chunks: Vec<Chunk> = Vec::new();
    for (([dst_byte, src_byte], [dst, src]), table) in found {
        let block = |number: i64| u64::try_from(number).ok().map(|number| number * BLOCK);
        let chunk = Chunk {
            partition: [block(src)?, block(dst)?],
            byte: [src_byte, dst_byte],
            table,
            channels: BLOCK,
        };
        let goes_on = chunk.in_place().is_none_or(|count| count == BLOCK);
        match chunks.last_mut() {
            // Whole blocks one after the other are one word, which then starts at partition 0 (CH-3).
            Some(last)
                if goes_on
                    && last.table == chunk.table
                    && last.byte == chunk.byte
                    && last.partition == [0, 0]
                    && chunk.partition == [last.channels; 2] =>
            {
                last.channels += BLOCK;
            }
            _ => chunks.push(chunk),
        }
    }
    Some(chunks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRIDE: i64 = 1 << 18;

    fn lanes(moves: &[(u64, i64, i64)]) -> Vec<Move> {
        let step = |&(count, from, to): &(u64, i64, i64)| Move {
            count,
            from: from * STRIDE,
            to: to * STRIDE,
        };
        moves.iter().map(step).collect()
    }

    #[test]
    fn reversed_lanes_are_a_table() {
        let found = chunks([31 * STRIDE, 0], &lanes(&[(32, -1, 1)]), STRIDE).expect("one block");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].in_place(), None);
        assert_eq!(found[0].table[..3], [31, 30, 29]);
    }

    #[test]
    fn whole_blocks_are_one_copy() {
        let found = chunks([0, 0], &lanes(&[(128, 1, 1)]), STRIDE).expect("four blocks");
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].in_place(), found[0].channels), (Some(32), 128));
    }

    /// The partial results of four blocks side by side on the partitions of the first.
    #[test]
    fn blocks_come_side_by_side() {
        let side = Move { count: 4, from: 32 * STRIDE, to: 64 };
        let found = chunks([0, 0], &[lanes(&[(32, 1, 1)])[0], side], STRIDE).expect("four words");
        let places: Vec<_> = found.iter().map(|chunk| (chunk.partition, chunk.byte)).collect();
        assert_eq!(
            places,
            [([0, 0], [0, 0]), ([32, 0], [0, 64]), ([64, 0], [0, 128]), ([96, 0], [0, 192])]
        );
    }

    #[test]
    fn lanes_of_two_blocks_are_two_tables() {
        let found = chunks([STRIDE, 0], &lanes(&[(32, 1, 1)]), STRIDE).expect("two words");
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].table[30..], [31, NOTHING]);
        assert_eq!(found[1].table[30..], [NOTHING, 0]);
    }
}
