//! Loops over blocks of elements, compiled once per level, format and operation.

use super::float::SIDE_BY_SIDE;
use super::format::Format;
use super::lane::Lane;
use super::ops::*;
use super::simd::Level;

/// Rows that a fold in strict order works on at once, so that it need not wait for each operation to finish.
pub const ROWS: usize = 16;

/// Rows that [`AccumulateRows`] takes at once.
pub const TOGETHER: usize = 8;

/// `out[i] = op(a[i], b[i])`.
pub type Binary = fn(out: &mut [u8], a: &[u8], b: &[u8]);
/// `out[i] = op(a[i], s)`, `s` as lane bits.
pub type Scalar = fn(out: &mut [u8], a: &[u8], s: u64);
/// `out[i] = op1(op0(a[i], s0), s1)`.
pub type Pair = fn(out: &mut [u8], a: &[u8], scalars: [u64; 2]);
/// `acc[i] = op(acc[i], x[i])`; `acc` holds lanes.
pub type Accumulate = fn(acc: &mut [u8], x: &[u8]);
/// As [`Accumulate`] for several rows, one after the other.
pub type AccumulateRows = fn(acc: &mut [u8], rows: [&[u8]; TOGETHER]);
/// Feeds a block to a running fold.
pub type Feed = fn(state: &mut Running, block: &[u8]);
/// Feeds a block to a running fold and writes the value after each element.
pub type Scan = fn(state: &mut Running, out: &mut [u8], block: &[u8]);
/// As [`Feed`] for several rows side by side, each with its own fold in its own order. All blocks have one length,
/// and the states have seen equally many elements.
pub type FeedRows = fn(states: &mut [Running; ROWS], blocks: [&[u8]; ROWS]);
/// As [`Scan`] for several rows side by side.
pub type ScanRows = fn(states: &mut [Running; ROWS], out: [&mut [u8]; ROWS], blocks: [&[u8]; ROWS]);
/// Element for element from one format to another.
pub type Convert = fn(out: &mut [u8], from: &[u8]);

/// The state of a fold along a group of elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Running {
    /// Lane bits of the accumulator.
    pub acc: u64,
    /// Elements absorbed so far; with 0 the first element becomes the accumulator.
    pub seen: u64,
    /// Index of the extreme element, for the arg operations.
    pub index: u64,
}

impl Running {
    /// A fold that begins at a value instead of its first element.
    pub fn seeded(acc: u64) -> Self {
        Self { acc, seen: 1, index: 0 }
    }
}

pub fn one<T: Lane, O: Op<T>>(a: u64, b: u64) -> u64 {
    O::apply(T::from_bits(a), T::from_bits(b)).to_bits()
}

#[inline(always)]
pub fn binary<L: Level, F: Format, O: Op<F::Lane>>(out: &mut [u8], a: &[u8], b: &[u8]) {
    L::run(
        #[inline(always)]
        || {
            let operands = F::elements(a).iter().zip(F::elements(b));
            for (out, (&a, &b)) in F::elements_mut(out).iter_mut().zip(operands) {
                *out = F::encode(O::apply(F::decode(a), F::decode(b)));
            }
        },
    );
}

#[inline(always)]
pub fn scalar<L: Level, F: Format, O: Op<F::Lane>>(out: &mut [u8], a: &[u8], s: u64) {
    L::run(
        #[inline(always)]
        || {
            let s = F::Lane::from_bits(s);
            for (out, &a) in F::elements_mut(out).iter_mut().zip(F::elements(a)) {
                *out = F::encode(O::apply(F::decode(a), s));
            }
        },
    );
}

pub fn pair<L: Level, F: Format, A: Op<F::Lane>, B: Op<F::Lane>>(
    out: &mut [u8],
    a: &[u8],
    scalars: [u64; 2],
) {
    L::run(
        #[inline(always)]
        || {
            let [s0, s1] = scalars.map(F::Lane::from_bits);
            for (out, &a) in F::elements_mut(out).iter_mut().zip(F::elements(a)) {
                *out = F::encode(B::apply(A::apply(F::decode(a), s0), s1));
            }
        },
    );
}

pub fn accumulate<L: Level, F: Format, O: Op<F::Lane>>(acc: &mut [u8], x: &[u8]) {
    L::run(
        #[inline(always)]
        || {
            for (acc, &x) in F::Lane::cells_mut(acc).iter_mut().zip(F::elements(x)) {
                *acc = O::apply(F::Lane::load(*acc), F::decode(x)).store();
            }
        },
    );
}

pub fn accumulate_rows<L: Level, F: Format, O: Op<F::Lane>>(
    acc: &mut [u8],
    rows: [&[u8]; TOGETHER],
) {
    L::run(
        #[inline(always)]
        || {
            let acc = F::Lane::cells_mut(acc);
            let count = rows.iter().fold(acc.len(), |n, row| n.min(F::elements(row).len()));
            let mut cells = [&[][..]; TOGETHER];
            for (cells, row) in cells.iter_mut().zip(rows) {
                *cells = &F::elements(row)[..count];
            }
            for (i, acc) in acc[..count].iter_mut().enumerate() {
                let first = F::Lane::load(*acc);
                *acc =
                    cells.iter().fold(first, |acc, row| O::apply(acc, F::decode(row[i]))).store();
            }
        },
    );
}

pub fn feed<L: Level, F: Format, O: Op<F::Lane>>(state: &mut Running, block: &[u8]) {
    L::run(
        #[inline(always)]
        || {
            let cells = F::elements(block);
            if let Some(folded) = O::fold(cells, F::decode) {
                let acc = F::Lane::from_bits(state.acc);
                let acc = if state.seen == 0 { folded } else { O::apply(acc, folded) };
                state.acc = acc.to_bits();
                state.seen += cells.len() as u64;
                return;
            }
            let (mut acc, mut rest) = match (state.seen, cells) {
                (_, []) => return,
                (0, [first, rest @ ..]) => (F::decode(*first), rest),
                _ => (F::Lane::from_bits(state.acc), cells),
            };
            state.seen += cells.len() as u64;
            if O::FREE_ORDER
                && let (chunks, tail) = rest.as_chunks::<SIDE_BY_SIDE>()
                && let [first, chunks @ ..] = chunks
            {
                let mut lanes = first.map(F::decode);
                for chunk in chunks {
                    for (lane, &x) in lanes.iter_mut().zip(chunk) {
                        *lane = O::apply(*lane, F::decode(x));
                    }
                }
                acc = lanes.into_iter().fold(acc, O::apply);
                rest = tail;
            }
            state.acc = rest.iter().fold(acc, |acc, &x| O::apply(acc, F::decode(x))).to_bits();
        },
    );
}

pub fn scan<L: Level, T: Lane, O: Op<T>>(state: &mut Running, out: &mut [u8], block: &[u8]) {
    L::run(
        #[inline(always)]
        || {
            let mut acc = T::from_bits(state.acc);
            let mut fresh = state.seen == 0;
            for (out, &x) in T::cells_mut(out).iter_mut().zip(T::cells(block)) {
                let x = T::load(x);
                acc = if fresh { x } else { O::apply(acc, x) };
                fresh = false;
                *out = acc.store();
            }
            state.acc = acc.to_bits();
            state.seen += T::cells(block).len() as u64;
        },
    );
}

/// `out[i] = 1 / a[i]`, exactly rounded (0x48).
pub fn reciprocal<L: Level>(out: &mut [u8], a: &[u8]) {
    L::run(
        #[inline(always)]
        || {
            for (out, &a) in f32::cells_mut(out).iter_mut().zip(f32::cells(a)) {
                *out = (1.0 / f32::load(a)).store();
            }
        },
    );
}

/// `out[i] = exp(a[i] − s)` (0x30): the difference is rounded to fp32 first.
pub fn exponential<L: Level>(out: &mut [u8], a: &[u8], s: u64) {
    L::run(
        #[inline(always)]
        || {
            let s = f32::from_bits(s as u32);
            super::special::exp_cells::<L>(f32::cells_mut(out), f32::cells(a), s);
        },
    );
}

/// `out[i] = a[i] ^ b[i]` in the sense of POW.
pub fn power<L: Level>(out: &mut [u8], a: &[u8], b: &[u8]) {
    L::run(
        #[inline(always)]
        || super::special::pow_cells(f32::cells_mut(out), f32::cells(a), f32::cells(b)),
    );
}

/// `out[i] = a[i] ^ s`, or `s ^ a[i]` with `REVERSED`.
pub fn power_scalar<L: Level, const REVERSED: bool>(out: &mut [u8], a: &[u8], s: u64) {
    L::run(
        #[inline(always)]
        || {
            let (out, a) = (f32::cells_mut(out), f32::cells(a));
            super::special::pow_scalar_cells::<REVERSED>(out, a, f32::from_bits(s as u32));
        },
    );
}

#[cfg(test)]
mod tests {
    use partita_isa::AluOp;

    use super::super::simd::Simd;
    use super::super::table::float;
    use super::*;

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    #[test]
    fn folds_in_lanes_equal_folds_in_order() {
        let values: Vec<f32> = (0..301u32)
            .map(|i| match i % 7 {
                0 => f32::NAN,
                1 => -0.0,
                2 => 0.0,
                _ => ((i * 37) % 101) as f32 - 50.0,
            })
            .collect();
        for simd in Simd::available() {
            for op in [AluOp::Max, AluOp::Min, AluOp::AbsMax, AluOp::AbsMin] {
                let kernels = float(simd, op).unwrap();
                // Miri is slow.
                let step = if cfg!(miri) { 37 } else { 1 };
                for len in (1..values.len()).step_by(step) {
                    let mut state = Running::default();
                    let data = bytes(&values[..len]);
                    let (first, second) = data.split_at(len / 3 * 4);
                    (kernels.feed)(&mut state, first);
                    (kernels.feed)(&mut state, second);
                    let mut out = vec![0; len * 4];
                    let mut by_scan = Running::default();
                    (kernels.scan)(&mut by_scan, &mut out, &data);
                    assert_eq!(state, by_scan, "{op} over {len} on {simd}");
                }
            }
        }
    }
}
