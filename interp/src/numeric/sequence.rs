//! Folds in strict order, several rows side by side: each row keeps its own order, and no row waits for another.
//!
//! Blocks of 4 rows × 4 columns are transposed, so that a column is a vector and one operation advances all its rows;
//! scans, whose results are transposed back, take them by tiles of 16 × 16.

use super::kernels::{ROWS, Running};
use super::lane::Lane;
use super::ops::Op;
use super::simd::Level;
use super::transpose::{LINE, block};

/// Columns of a tile.
const COLUMNS: usize = 16;

/// Bytes of a tile's element.
const WIDTH: usize = 4;

/// Lines of a block of [`block`], and elements of a line.
const EDGE: usize = LINE / WIDTH;

/// One line per row (or per column, once transposed).
type Tile = [[u8; WIDTH * COLUMNS]; ROWS];

const EMPTY: Tile = [[0; WIDTH * COLUMNS]; ROWS];

pub fn feed_rows<L: Level, T: Lane, O: Op<T>>(states: &mut [Running; ROWS], blocks: [&[u8]; ROWS]) {
    L::run(
        #[inline(always)]
        || {
            let len = shortest::<T>(&blocks);
            let cells = blocks.map(|block| &T::cells(block)[..len]);
            let (mut acc, first) = begin::<T>(states, cells, |_| ());
            let step = |acc: &mut [T; ROWS], at: usize| {
                for (acc, cells) in acc.iter_mut().zip(&cells) {
                    *acc = O::apply(*acc, T::load(cells[at]));
                }
            };
            // Whole lines of memory, for lanes of which a line holds as many as a block has lines.
            let lines = blocks.map(|block| block.as_chunks::<LINE>().0);
            let end = if size_of::<T>() == WIDTH { len / EDGE } else { 0 };
            let begin = first.next_multiple_of(EDGE).min(len);
            (first..begin).for_each(|at| step(&mut acc, at));
            for at in begin / EDGE..end {
                let rows = lines.as_chunks::<EDGE>().0;
                for (acc, rows) in acc.as_chunks_mut::<EDGE>().0.iter_mut().zip(rows) {
                    for column in block::<WIDTH, EDGE>(rows.map(|row| row[at])) {
                        for (acc, &x) in acc.iter_mut().zip(column.as_chunks().0) {
                            *acc = O::apply(*acc, T::from_bits(u32::from_le_bytes(x).into()));
                        }
                    }
                }
            }
            (begin.max(end * EDGE)..len).for_each(|at| step(&mut acc, at));
            finish(states, acc, len);
        },
    );
}

pub fn scan_rows<L: Level, T: Lane, O: Op<T>>(
    states: &mut [Running; ROWS],
    mut out: [&mut [u8]; ROWS],
    blocks: [&[u8]; ROWS],
) {
    L::run(
        #[inline(always)]
        || {
            let written = out.iter().map(|out| T::cells(out).len()).min().unwrap_or(0);
            let len = shortest::<T>(&blocks).min(written);
            let cells = blocks.map(|block| &T::cells(block)[..len]);
            let (mut acc, first) = begin::<T>(states, cells, |acc| {
                for (out, acc) in out.iter_mut().zip(acc) {
                    T::cells_mut(out)[0] = acc.store();
                }
            });
            let tiled = tiles::<T>(first, len);
            let (mut tile, mut columns) = (EMPTY, EMPTY);
            for at in (first..first + tiled).step_by(COLUMNS) {
                load_tile(&blocks, at, &mut tile);
                transpose(&tile, &mut columns);
                for column in &mut columns {
                    advance::<T, O>(&mut acc, column);
                    for (cell, acc) in column.as_chunks_mut::<WIDTH>().0.iter_mut().zip(&acc) {
                        *cell = (acc.to_bits() as u32).to_le_bytes();
                    }
                }
                transpose(&columns, &mut tile);
                for (out, line) in out.iter_mut().zip(&tile) {
                    out[at * WIDTH..][..WIDTH * COLUMNS].copy_from_slice(line);
                }
            }
            for at in first + tiled..len {
                for ((acc, cells), out) in acc.iter_mut().zip(&cells).zip(&mut out) {
                    *acc = O::apply(*acc, T::load(cells[at]));
                    T::cells_mut(out)[at] = acc.store();
                }
            }
            finish(states, acc, len);
        },
    );
}

#[inline(always)]
fn shortest<T: Lane>(blocks: &[&[u8]; ROWS]) -> usize {
    blocks.iter().map(|block| T::cells(block).len()).min().unwrap_or(0)
}

/// The accumulators, and the first column that is folded into them: a fresh fold begins with column 0 itself, which
/// is shown.
#[inline(always)]
fn begin<T: Lane>(
    states: &[Running; ROWS],
    cells: [&[T::Bytes]; ROWS],
    show: impl FnOnce(&[T; ROWS]),
) -> ([T; ROWS], usize) {
    if states[0].seen > 0 || cells[0].is_empty() {
        return (states.map(|state| T::from_bits(state.acc)), 0);
    }
    let acc = cells.map(|cells| T::load(cells[0]));
    show(&acc);
    (acc, 1)
}

#[inline(always)]
fn finish<T: Lane>(states: &mut [Running; ROWS], acc: [T; ROWS], len: usize) {
    for (state, acc) in states.iter_mut().zip(acc) {
        state.acc = acc.to_bits();
        state.seen += len as u64;
    }
}

/// How many columns from `first` on go by tiles: none for lanes that are not as wide as a tile's elements.
#[inline(always)]
fn tiles<T: Lane>(first: usize, len: usize) -> usize {
    if size_of::<T>() == WIDTH { (len - first) / COLUMNS * COLUMNS } else { 0 }
}

#[inline(always)]
fn load_tile(blocks: &[&[u8]; ROWS], column: usize, tile: &mut Tile) {
    for (line, block) in tile.iter_mut().zip(blocks) {
        line.copy_from_slice(&block[column * WIDTH..][..WIDTH * COLUMNS]);
    }
}

/// The tile with rows and columns exchanged, by blocks of 4 × 4.
#[inline(always)]
fn transpose(tile: &Tile, out: &mut Tile) {
    for top in 0..ROWS / EDGE {
        for left in 0..COLUMNS / EDGE {
            let mut lines = [[0; LINE]; EDGE];
            for (i, line) in lines.iter_mut().enumerate() {
                line.copy_from_slice(&tile[top * EDGE + i][left * LINE..][..LINE]);
            }
            for (i, line) in block::<WIDTH, EDGE>(lines).iter().enumerate() {
                out[left * EDGE + i][top * LINE..][..LINE].copy_from_slice(line);
            }
        }
    }
}

#[inline(always)]
fn advance<T: Lane, O: Op<T>>(acc: &mut [T; ROWS], column: &[u8; WIDTH * COLUMNS]) {
    for (acc, &x) in acc.iter_mut().zip(column.as_chunks().0) {
        *acc = O::apply(*acc, T::from_bits(u32::from_le_bytes(x).into()));
    }
}

const _: () = assert!(ROWS == COLUMNS);
