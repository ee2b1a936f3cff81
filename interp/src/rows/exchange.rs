//! Elements that change channels: the 32 × 32 transpose, the shuffle's staging, and the cross-lane fold.

use rayon::prelude::*;

use crate::numeric::convert::Store;
use crate::numeric::kernels::{Feed, Running, Scalar, TOGETHER};
use crate::numeric::lane::Lane;
use crate::numeric::simd::{Level, Simd, at_level};
use crate::numeric::streaming;
use crate::numeric::table::Fold;
use crate::numeric::transpose::{LINE, block};
use crate::plan::Staging;
use crate::walk::{Cursor, Walk};

use super::reduce::{Reduce, write_lanes};
use super::stream::{Destination, Reader, Source, gather};
use super::{BLOCK, Scratch, with_scratch};

/// Channels of a block, and elements of a tile.
pub const TILE: usize = 32;

/// Bytes from one channel's run in a staging buffer to the next: an odd number of cache lines, so that the runs do
/// not compete for the same places in the caches.
pub fn staged_stride(walk: &Walk, width: usize) -> usize {
    ((walk.len() * width).div_ceil(64) | 1) * 64
}

/// Fills `staged` with one run of elements per channel, in walk order; with `transposed`, the low five bits of
/// channel and element number change places (ISA 8.3). `rows` are whole blocks of 32 rows then, and the walk's
/// length is a multiple of 32.
pub fn stage(
    simd: Simd,
    staged: &mut Vec<u8>,
    rows: &[u8],
    row: usize,
    staging: &Staging,
    parallel: bool,
) {
    let Staging { walk, width, transposed } = staging;
    let run = staged_stride(walk, *width);
    let unit = if *transposed { TILE } else { 1 };
    staged.resize(rows.len() / row * run, 0);
    let each = |(out, rows): (&mut [u8], &[u8])| {
        if *transposed {
            transpose_block(simd, staging, rows, row, out, run);
        } else {
            gather(&mut Cursor::new(*walk), *width, rows, &mut out[..walk.len() * width]);
        }
    };
    if parallel {
        staged.par_chunks_mut(run * unit).zip(rows.par_chunks(row * unit)).for_each(each);
    } else {
        staged.chunks_mut(run * unit).zip(rows.chunks(row * unit)).for_each(each);
    }
}

/// Bytes of a row that are transposed at once: whole tiles of every width.
const STRIP: usize = 256;

/// Rows of a strip on their way: the lines are a little longer, so that columns are spread over the cache.
struct Strip([[u8; STRIP + 64]; TILE]);

impl Strip {
    fn new() -> Self {
        Self([[0; STRIP + 64]; TILE])
    }

    /// Takes the tiles of 32 rows of at most [`STRIP`] bytes in and transposes each.
    fn transpose(&mut self, simd: Simd, width: usize, rows: &[&[u8]; TILE]) {
        at_level!(simd, L => L::run(#[inline(always)] || match width {
            1 => self.transpose_as::<1, 16>(rows),
            2 => self.transpose_as::<2, 8>(rows),
            4 => self.transpose_as::<4, 4>(rows),
            _ => self.transpose_as::<8, 2>(rows),
        }));
    }

    #[inline(always)]
    fn transpose_as<const W: usize, const N: usize>(&mut self, rows: &[&[u8]; TILE]) {
        let tile = TILE * W;
        for (group, rows) in rows.chunks_exact(N).enumerate() {
            let mut lines = [&[][..]; N];
            for (line, row) in lines.iter_mut().zip(rows) {
                *line = row.as_chunks::<LINE>().0;
            }
            let count = lines.iter().map(|line| line.len()).min().unwrap_or(0);
            for line in &mut lines {
                *line = &line[..count];
            }
            for at in 0..count {
                let mut corner = [[0; LINE]; N];
                for (corner, line) in corner.iter_mut().zip(&lines) {
                    *corner = line[at];
                }
                let block = block::<W, N>(corner);
                // The lines of a tile go on for as many pieces as there are blocks side by side.
                let (number, piece) = (at * LINE / tile, at % (tile / LINE));
                let to = number * tile + group * LINE;
                for (out, line) in self.0[piece * N..(piece + 1) * N].iter_mut().zip(block) {
                    out[to..to + LINE].copy_from_slice(&line);
                }
            }
        }
    }
}

/// Transposes the tiles of 32 rows along a walk into runs that are `run` bytes apart.
fn transpose_block(
    simd: Simd,
    staging: &Staging,
    rows: &[u8],
    row: usize,
    out: &mut [u8],
    run: usize,
) {
    let Staging { walk, width, .. } = *staging;
    let mut strip = Strip::new();
    let mut gathered = Strip::new();
    let mut cursor = Cursor::new(walk);
    let bytes = walk.len() * width;
    for first in (0..bytes).step_by(STRIP) {
        let count = STRIP.min(bytes - first);
        let start = cursor;
        for (line, row) in gathered.0.iter_mut().zip(rows.chunks_exact(row)) {
            cursor = start;
            gather(&mut cursor, width, row, &mut line[..count]);
        }
        strip.transpose(simd, width, &gathered.0.each_ref().map(|line| &line[..count]));
        for (out, line) in out.chunks_exact_mut(run).zip(&strip.0) {
            out[first..first + count].copy_from_slice(&line[..count]);
        }
    }
}

/// A transpose from runs to runs, without a copy of the source aside: bytes `from..from + len` of the source rows go
/// to bytes `to..to + len` of the destination rows. Where both are in the same rows the two are apart or the same.
#[derive(Clone, Copy, Debug)]
pub struct Transpose {
    pub simd: Simd,
    pub width: usize,
    pub from: usize,
    pub to: usize,
    pub len: usize,
    /// Whether results go past the caches.
    pub streams: bool,
}

impl Transpose {
    /// The transpose of `rows` rows between two walks, if they are runs as described; `own` tells that they are in the
    /// same rows.
    pub fn find(
        simd: Simd,
        rows: usize,
        src: &Walk,
        dst: &Walk,
        width: usize,
        own: bool,
    ) -> Option<Self> {
        let (from, to) = (src.as_run()?, dst.as_run()?);
        let len = src.len();
        let apart = from == to || from + len <= to || to + len <= from;
        (dst.len() == len && (!own || apart)).then_some(Self {
            simd,
            width,
            from: from * width,
            to: to * width,
            len: len * width,
            streams: rows.saturating_mul(2 * len * width) >= streaming::LARGE_TRANSPOSE,
        })
    }

    /// Transposes a block of 32 rows that are `row` bytes apart; `source` are the rows that are read, if others.
    pub fn run(&self, rows: &mut [u8], row: usize, source: Option<(&[u8], usize)>) {
        let mut strip = Strip::new();
        for first in (0..self.len).step_by(STRIP) {
            let count = STRIP.min(self.len - first);
            let from = self.from + first;
            let (bytes, stride) = source.unwrap_or((rows, row));
            let lines = std::array::from_fn(|i| &bytes[i * stride + from..][..count]);
            strip.transpose(self.simd, self.width, &lines);
            for (row, line) in rows.chunks_exact_mut(row).zip(&strip.0) {
                let (to, line) = (&mut row[self.to + first..][..count], &line[..count]);
                if self.streams {
                    streaming::copy(to, line);
                } else {
                    to.copy_from_slice(line);
                }
            }
        }
        if self.streams {
            streaming::settle();
        }
    }
}

/// CrossLaneReduce, without its place in memory (ISA 9.13).
#[derive(Clone, Copy, Debug)]
pub struct CrossLane {
    pub source: Source,
    /// A multiplication before the sum (AVERAGE), and its factor.
    pub scale: Option<(Scalar, u64)>,
    pub fold: Fold,
    /// The fold that takes elements as they stand in memory.
    pub fused: Option<Fold>,
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
        let Self { source, scale, fold, fused, .. } = self;
        let fold = RowFold { source, scale: *scale, fold: *fold, fused: *fused, rows, row };
        let each = |(block, acc): (usize, &mut [u8])| {
            with_scratch(|scratch| fold.run(scratch, acc, block * BLOCK, true));
        };
        if parallel {
            lanes.par_chunks_mut(BLOCK * lane).enumerate().for_each(each);
        } else {
            lanes.chunks_mut(BLOCK * lane).enumerate().for_each(each);
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

/// A fold of rows, one after the other, element by element.
struct RowFold<'a> {
    source: &'a Source,
    /// A multiplication before the fold, and its factor.
    scale: Option<(Scalar, u64)>,
    fold: Fold,
    /// The fold that takes elements as they stand in memory.
    fused: Option<Fold>,
    /// The rows, `row` bytes apart.
    rows: &'a [u8],
    row: usize,
}

impl RowFold<'_> {
    /// Folds the elements from number `first` on into `acc`, as many as there are lanes in it; a `fresh` fold begins
    /// with the first row itself.
    fn run(&self, scratch: &mut Scratch, acc: &mut [u8], first: usize, fresh: bool) {
        let start = self.source.walk.as_run().filter(|_| self.scale.is_none());
        match (start, self.fused, self.source.load) {
            (Some(start), Some(fold), _) => self.direct(fold, acc, start + first, fresh),
            (Some(start), None, None) => self.direct(self.fold, acc, start + first, fresh),
            _ => self.gathered(scratch, acc, first, fresh),
        }
    }

    /// From the rows themselves.
    fn direct(&self, fold: Fold, acc: &mut [u8], at: usize, fresh: bool) {
        let Source { width, lane, load, .. } = *self.source;
        let bytes = acc.len() / lane * width;
        let mut rows = self.rows.chunks_exact(self.row).map(|row| &row[at * width..][..bytes]);
        if fresh && let Some(row) = rows.next() {
            match load {
                Some(convert) => convert(acc, row),
                None => acc.copy_from_slice(row),
            }
        }
        let mut together = [&[][..]; TOGETHER];
        let mut held = 0;
        for row in rows {
            together[held] = row;
            held += 1;
            if held == TOGETHER {
                (fold.several)(acc, together);
                held = 0;
            }
        }
        for row in &together[..held] {
            (fold.one)(acc, row);
        }
    }

    /// By way of the buffers.
    fn gathered(&self, scratch: &mut Scratch, acc: &mut [u8], first: usize, fresh: bool) {
        let Scratch { raw: [raw, _], lanes: [lanes, _], middle, .. } = scratch;
        let count = acc.len() / self.source.lane;
        for (number, row) in self.rows.chunks_exact(self.row).enumerate() {
            let mut reader = Reader::new(*self.source, Some(row), 0);
            reader.seek(first);
            let mut block = reader.next(count, &[], raw, lanes);
            if let Some((multiply, factor)) = self.scale {
                let middle = &mut middle[..block.len()];
                multiply(middle, block, factor);
                block = middle;
            }
            if fresh && number == 0 {
                acc.copy_from_slice(block);
            } else {
                (self.fold.one)(acc, block);
            }
        }
    }
}

/// A reduction along transposed rows whose groups are whole tiles: element by element of a group it goes down the 32
/// rows of a tile, so whole rows are folded and nothing is transposed (0x83, 0x84).
pub struct Columns<'a> {
    pub reduce: &'a Reduce,
    pub fold: Fold,
    pub staging: Staging,
}

impl Columns<'_> {
    /// Bytes of a channel's results.
    pub fn bytes(&self) -> usize {
        self.staging.walk.len() / self.reduce.group * self.reduce.lane
    }

    /// Folds a block of 32 rows; `results` receives the lanes of each channel, one channel after the other.
    pub fn run(&self, scratch: &mut Scratch, rows: &[u8], row: usize, results: &mut [u8]) {
        let reduce = self.reduce;
        let source = Source { walk: self.staging.walk, width: self.staging.width, ..reduce.source };
        let lane = source.lane;
        let group = reduce.group;
        // Groups of one tile lie side by side; longer ones go on from tile to tile.
        let step = if group == TILE { BLOCK } else { TILE };
        let mut acc = std::mem::take(&mut scratch.out);
        let len = source.walk.len();
        for first in (0..len).step_by(step) {
            let count = step.min(len - first);
            let acc = &mut acc[..count * lane];
            let fold = self.fold;
            let rows = RowFold { source: &source, scale: None, fold, fused: None, rows, row };
            rows.run(scratch, acc, first, first % group == 0);
            if (first + count) % group == 0 {
                self.put(acc, first / group, results);
            }
        }
        scratch.out = acc;
    }

    /// Files the lanes of a row of finished tiles: lane `x` belongs to channel `x % 32`.
    fn put(&self, acc: &[u8], first: usize, results: &mut [u8]) {
        match self.reduce.lane {
            1 => self.put_as::<u8>(acc, first, results),
            2 => self.put_as::<u16>(acc, first, results),
            4 => self.put_as::<u32>(acc, first, results),
            _ => self.put_as::<u64>(acc, first, results),
        }
    }

    fn put_as<T: Lane>(&self, acc: &[u8], first: usize, results: &mut [u8]) {
        let acc = T::cells(acc);
        for (channel, results) in results.chunks_exact_mut(self.bytes()).enumerate() {
            let results = &mut T::cells_mut(results)[first..];
            let lanes = acc[channel..].iter().step_by(TILE);
            for (result, &lane) in results.iter_mut().zip(lanes) {
                let running = Running { acc: T::load(lane).to_bits(), ..Running::default() };
                *result = T::from_bits(self.reduce.outcome.of(&running)).store();
            }
        }
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
        let staging = |walk, transposed| Staging { walk, width: 2, transposed };
        stage(Simd::detect(), &mut straight, &rows, row, &staging(walk, false), false);
        stage(Simd::detect(), &mut once, &rows, row, &staging(walk, true), true);
        stage(Simd::PORTABLE, &mut twice, &once, run, &staging(Walk::run(0, len), true), false);
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
