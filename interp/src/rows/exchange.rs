//! Elements that change channels: the 32 × 32 transpose, the shuffle's staging, and the cross-lane fold.

use rayon::prelude::*;

use crate::numeric::convert::Store;
use crate::numeric::kernels::{Accumulate, Feed, Running, Scalar};
use crate::numeric::lane::Lane;
use crate::walk::{Cursor, Walk};

use super::reduce::write_lanes;
use super::stream::{Destination, Reader, Source, gather};
use super::{BLOCK, Scratch, with_scratch};

/// Channels of a block, and elements of a tile.
pub const TILE: usize = 32;

/// Bytes from one channel's run in a staging buffer to the next: an odd number of cache lines, so that the runs do
/// not compete for the same places in the caches.
pub fn staged_stride(walk: &Walk, width: usize) -> usize {
    ((walk.len() * width).div_ceil(64) | 1) * 64
}

/// Copies the elements of some rows: the walk, its element's width, the rows, their distance, and the runs to fill.
type StageRows = fn(&Walk, usize, &[u8], usize, &mut [u8]);

/// Fills `staged` with one run of elements per channel, in walk order; with `transposed`, the low five bits of
/// channel and element number change places (ISA 8.3). `rows` are whole blocks of 32 rows then, and the walk's
/// length is a multiple of 32.
pub fn stage(
    staged: &mut Vec<u8>,
    rows: &[u8],
    row: usize,
    walk: &Walk,
    width: usize,
    transposed: bool,
    parallel: bool,
) {
    let run = staged_stride(walk, width);
    let (unit, work): (usize, StageRows) = match (transposed, width) {
        (false, _) => (1, copy_row),
        (true, 1) => (TILE, transpose_block::<u8>),
        (true, 2) => (TILE, transpose_block::<u16>),
        (true, 4) => (TILE, transpose_block::<u32>),
        (true, _) => (TILE, transpose_block::<u64>),
    };
    staged.resize(rows.len() / row * run, 0);
    let each = |(out, rows): (&mut [u8], &[u8])| work(walk, width, rows, row, out);
    if parallel {
        staged.par_chunks_mut(run * unit).zip(rows.par_chunks(row * unit)).for_each(each);
    } else {
        staged.chunks_mut(run * unit).zip(rows.chunks(row * unit)).for_each(each);
    }
}

fn copy_row(walk: &Walk, width: usize, row: &[u8], _: usize, out: &mut [u8]) {
    gather(&mut Cursor::new(*walk), width, row, &mut out[..walk.len() * width]);
}

/// Elements of a row that are taken at once: whole tiles, so that memory is touched in long pieces.
const STRIP: usize = 4 * TILE;

fn transpose_block<T: Lane>(walk: &Walk, width: usize, rows: &[u8], row: usize, out: &mut [u8]) {
    // The lines are a little longer than a strip: columns are then spread over the cache.
    let mut strip = [[T::from_bits(0).store(); STRIP + TILE / 2]; TILE];
    let out = T::cells_mut(out);
    let (len, stride) = (walk.len(), staged_stride(walk, width) / width);
    let mut cursor = Cursor::new(*walk);
    for first in (0..len).step_by(STRIP) {
        let count = STRIP.min(len - first);
        let start = cursor;
        for (line, row) in strip.iter_mut().zip(rows.chunks_exact(row)) {
            cursor = start;
            cursor.gather(T::cells(row), &mut line[..count]);
        }
        for (element, out) in out.chunks_exact_mut(stride).enumerate() {
            for (tile, out) in
                out[first..first + count].as_chunks_mut::<TILE>().0.iter_mut().enumerate()
            {
                for (out, line) in out.iter_mut().zip(&strip) {
                    *out = line[tile * TILE + element];
                }
            }
        }
    }
}

/// CrossLaneReduce, without its place in memory (ISA 9.13).
#[derive(Clone, Copy, Debug)]
pub struct CrossLane {
    pub source: Source,
    /// A multiplication before the sum (AVERAGE), and its factor.
    pub scale: Option<(Scalar, u64)>,
    pub accumulate: Accumulate,
    /// The fold of the per-element results, for the axis ALL.
    pub all: Option<Feed>,
    pub dst: Destination,
    pub store: Store,
}

impl CrossLane {
    /// Folds the channels in ascending order for each element. `lanes` receives one lane per element.
    pub fn fold(&self, lanes: &mut Vec<u8>, rows: &[u8], row: usize, parallel: bool) {
        let lane = self.source.lane;
        lanes.clear();
        lanes.resize(self.source.walk.len() * lane, 0);
        let each = |(block, acc): (usize, &mut [u8])| {
            with_scratch(|scratch| self.block(scratch, block * BLOCK, acc, rows, row));
        };
        if parallel {
            lanes.par_chunks_mut(BLOCK * lane).enumerate().for_each(each);
        } else {
            lanes.chunks_mut(BLOCK * lane).enumerate().for_each(each);
        }
    }

    fn block(&self, scratch: &mut Scratch, first: usize, acc: &mut [u8], rows: &[u8], row: usize) {
        let count = acc.len() / self.source.lane;
        let Scratch { raw: [raw, _], lanes: [lanes, _], middle, .. } = scratch;
        for (channel, row) in rows.chunks_exact(row).enumerate() {
            let mut reader = Reader::new(self.source, Some(row), 0);
            reader.seek(first);
            let mut block = reader.next(count, &[], raw, lanes);
            if let Some((multiply, factor)) = self.scale {
                let middle = &mut middle[..block.len()];
                multiply(middle, block, factor);
                block = middle;
            }
            if channel == 0 {
                acc.copy_from_slice(block);
            } else {
                (self.accumulate)(acc, block);
            }
        }
    }

    /// Writes the folded lanes, or their fold for the axis ALL, to the destination's row.
    pub fn write(&self, lanes: &mut Vec<u8>, row: &mut [u8]) {
        let lane = self.source.lane;
        if let Some(feed) = self.all {
            let mut running = Running::default();
            feed(&mut running, lanes);
            lanes.clear();
            lanes.extend_from_slice(&running.acc.to_le_bytes()[..lane]);
        }
        with_scratch(|scratch| {
            let Scratch { packed, middle, .. } = scratch;
            write_lanes(self.store, &self.dst, lane, row, lanes, packed, middle);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposing_twice_is_the_identity_and_once_is_the_formula() {
        let (row, len) = (512, 96);
        let rows: Vec<u8> = (0..64 * row).map(|i| (i * 7 % 251) as u8).collect();
        let walk = Walk::new(3, [(8, 2), (12, 20)]).unwrap();
        let run = staged_stride(&walk, 2);
        let (mut straight, mut once, mut twice) = (Vec::new(), Vec::new(), Vec::new());
        stage(&mut straight, &rows, row, &walk, 2, false, false);
        stage(&mut once, &rows, row, &walk, 2, true, true);
        stage(&mut twice, &once, run, &Walk::run(0, len), 2, true, false);
        let element = |staged: &[u8], c: usize, e: usize| u16::cells(staged)[c * run / 2 + e];
        for c in 0..64 {
            for e in 0..len {
                let (to_c, to_e) = ((c & !31) | (e & 31), (e & !31) | (c & 31));
                assert_eq!(element(&once, to_c, to_e), element(&straight, c, e));
                assert_eq!(element(&twice, c, e), element(&straight, c, e));
            }
        }
    }
}
