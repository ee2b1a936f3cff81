//! Opcodes that fold groups of neighbouring source elements into one result each.

use crate::numeric::convert::Store;
use crate::numeric::kernels::{Feed, FeedRows, ROWS, Running, Scalar};
use crate::numeric::table::Fold;
use crate::walk::{Cursor, Walk};

use super::stream::{Destination, Reader, Source, Writer, block_length};
use super::{BLOCK, Channel, LONG_GROUP, SHARE, SIDE_BLOCK, Scratch, store};

/// What of a finished fold is the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The accumulator.
    Value,
    /// The accumulator with the sign of its fp32 lane flipped.
    NegatedFloat,
    /// The two's complement of the accumulator.
    NegatedInteger,
    /// The complement of the accumulator.
    Complement,
    /// The index of the extreme element.
    Index,
    /// Its two's complement.
    NegatedIndex,
}

impl Outcome {
    pub fn of(self, running: &Running) -> u64 {
        match self {
            Self::Value => running.acc,
            Self::NegatedFloat => running.acc ^ 0x8000_0000,
            Self::NegatedInteger => running.acc.wrapping_neg(),
            Self::Complement => !running.acc,
            Self::Index => running.index,
            Self::NegatedIndex => running.index.wrapping_neg(),
        }
    }
}

/// One instruction of this kind, without its place in memory.
#[derive(Clone, Copy, Debug)]
pub struct Reduce {
    pub source: Source,
    pub dst: Destination,
    /// A stage with the channel's scalar before the fold.
    pub first: Option<Scalar>,
    pub feed: Feed,
    /// The same for several rows, where that is faster.
    pub feed_rows: Option<FeedRows>,
    /// The fold of whole rows, one after the other; `None` for folds that are no operation on lanes.
    pub columns: Option<Fold>,
    /// Elements of a group.
    pub group: usize,
    pub outcome: Outcome,
    /// Bytes of a result lane.
    pub lane: usize,
    pub store: Store,
}

impl Reduce {
    /// The fold for [`Reduce::run_rows`], where that pays.
    pub fn side_by_side(&self) -> Option<FeedRows> {
        self.feed_rows.filter(|_| self.group >= LONG_GROUP)
    }

    /// Runs one channel; every source element is read before the first result is written. A running fold that
    /// was seeded goes on; `channel.running` holds the last fold afterwards.
    pub fn run(
        &self,
        scratch: &mut Scratch,
        row: &mut [u8],
        other: Option<&[u8]>,
        channel: &mut Channel,
    ) {
        let mut reader = Reader::new(self.source, Some(other.unwrap_or(row)), 0);
        let Scratch { raw: [raw, _], lanes: [lanes, _], middle, packed, held, .. } = scratch;
        let mut left = self.source.walk.len();
        let mut missing = self.group;
        // Nothing is copied then, so that a block may be as long as its run.
        let is_direct = self.first.is_none();
        while left > 0 {
            let straight = if is_direct { left.min(reader.straight()) } else { 0 };
            let count = if straight >= BLOCK {
                straight
            } else {
                block_length(left, BLOCK, &[reader], None)
            };
            let mut block = reader.next(count, &[], raw, lanes);
            if let Some(first) = self.first {
                let middle = &mut middle[..block.len()];
                first(middle, block, channel.scalars[0]);
                block = middle;
            }
            left -= count;
            while !block.is_empty() {
                let piece = (missing * self.source.lane).min(block.len());
                let (now, later) = block.split_at(piece);
                (self.feed)(&mut channel.running, now);
                missing -= piece / self.source.lane;
                block = later;
                if missing == 0 {
                    let result = self.outcome.of(&channel.running).to_le_bytes();
                    held.extend_from_slice(&result[..self.lane]);
                    missing = self.group;
                    if left > 0 || !block.is_empty() {
                        channel.running = Running::default();
                    }
                }
            }
        }
        write_lanes(self.store, &self.dst, self.lane, row, held, packed, middle);
    }

    /// Runs [`ROWS`] channels side by side with `feed_rows`; otherwise as [`Reduce::run`].
    pub fn run_rows(
        &self,
        feed_rows: FeedRows,
        scratch: &mut Scratch,
        rows: &mut [u8],
        others: [Option<&[u8]>; ROWS],
        channels: &mut [Channel; ROWS],
    ) {
        let row = rows.len() / ROWS;
        let mut readers = std::array::from_fn::<_, ROWS, _>(|i| {
            let own = &rows[i * row..(i + 1) * row];
            Reader::new(self.source, Some(others[i].unwrap_or(own)), 0)
        });
        let Scratch { raw: [raw, _], lanes: [lanes, _], middle, packed, held, .. } = scratch;
        let mut states = channels.map(|channel| channel.running);
        let results = self.source.walk.len() / self.group;
        held.resize(results * ROWS * self.lane, 0);
        for result in 0..results {
            let mut missing = self.group;
            while missing > 0 {
                let straight = missing.min(readers[0].straight());
                let count = if self.first.is_none() && straight >= SIDE_BLOCK {
                    straight
                } else {
                    block_length(missing, SIDE_BLOCK, &readers[..1], None)
                };
                let mut raw = raw.chunks_exact_mut(SHARE);
                let mut lanes = lanes.chunks_exact_mut(SHARE);
                let mut middle = middle.chunks_exact_mut(SHARE);
                let mut scalars = channels.iter().map(|channel| channel.scalars[0]);
                let blocks = readers.each_mut().map(|reader| {
                    let raw = raw.next().unwrap_or_default();
                    let lanes = lanes.next().unwrap_or_default();
                    let block = reader.next(count, &[], raw, lanes);
                    match (self.first, scalars.next()) {
                        (Some(first), Some(scalar)) => {
                            let middle = middle.next().unwrap_or_default();
                            let middle = &mut middle[..block.len()];
                            first(middle, block, scalar);
                            middle
                        }
                        _ => block,
                    }
                });
                feed_rows(&mut states, blocks);
                missing -= count;
            }
            for (i, state) in states.iter_mut().enumerate() {
                let at = (i * results + result) * self.lane;
                let value = self.outcome.of(state).to_le_bytes();
                held[at..at + self.lane].copy_from_slice(&value[..self.lane]);
                if result + 1 < results {
                    *state = Running::default();
                }
            }
        }
        let rows = rows.chunks_exact_mut(row);
        for (row, held) in rows.zip(held.chunks_exact(results * self.lane)) {
            write_lanes(self.store, &self.dst, self.lane, row, held, packed, middle);
        }
        for (channel, state) in channels.iter_mut().zip(states) {
            channel.running = state;
        }
    }
}

impl Reduce {
    /// Writes a channel's result lanes to its row.
    pub fn write(&self, scratch: &mut Scratch, row: &mut [u8], lanes: &[u8]) {
        let Scratch { packed, middle, .. } = scratch;
        write_lanes(self.store, &self.dst, self.lane, row, lanes, packed, middle);
    }
}

/// Writes lanes that were held back.
pub fn write_lanes(
    how: Store,
    dst: &Destination,
    lane: usize,
    row: &mut [u8],
    held: &[u8],
    packed: &mut [u8],
    middle: &mut [u8],
) {
    let mut writer = Writer::new(dst, row, 0);
    for lanes in held.chunks(BLOCK * lane) {
        let packed = &mut packed[..lanes.len() / lane * dst.width];
        store(how, packed, lanes, middle);
        writer.rest(packed);
    }
}

/// The last element of a destination alone (0x9a, OQ-27).
pub fn last_element(walk: &Walk) -> Walk {
    let mut cursor = Cursor::new(*walk);
    cursor.seek(walk.len() - 1);
    Walk::run(cursor.position(), 1)
}
