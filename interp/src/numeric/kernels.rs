//! Loops over blocks of lanes, compiled once per operation and domain.

use partita_isa::{AluOp, Dtype};

use super::lane::Lane;
use super::ops::*;

/// Rows that a fold in strict order works on at once, so that it need not wait for each operation to finish.
pub const ROWS: usize = 8;

/// `out[i] = op(a[i], b[i])`.
pub type Binary = fn(out: &mut [u8], a: &[u8], b: &[u8]);
/// `out[i] = op(a[i], s)`, `s` as lane bits.
pub type Scalar = fn(out: &mut [u8], a: &[u8], s: u64);
/// `acc[i] = op(acc[i], x[i])`.
pub type Accumulate = fn(acc: &mut [u8], x: &[u8]);
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

/// The loops of one operation in one domain.
#[derive(Clone, Copy, Debug)]
pub struct Kernels {
    pub binary: Binary,
    pub binary_reversed: Binary,
    pub scalar: Scalar,
    pub scalar_reversed: Scalar,
    pub accumulate: Accumulate,
    pub feed: Feed,
    pub scan: Scan,
    /// `None` where one row alone is folded as fast.
    pub feed_rows: Option<FeedRows>,
    pub scan_rows: ScanRows,
}

impl Kernels {
    const fn of<T: Lane, O: Op<T>>() -> Self {
        Self {
            binary: binary::<T, O>,
            binary_reversed: binary::<T, Reversed<O>>,
            scalar: scalar::<T, O>,
            scalar_reversed: scalar::<T, Reversed<O>>,
            accumulate: accumulate::<T, O>,
            feed: feed::<T, O>,
            scan: scan::<T, O>,
            feed_rows: if O::FREE_ORDER { None } else { Some(feed_rows::<T, O>) },
            scan_rows: scan_rows::<T, O>,
        }
    }
}

fn binary<T: Lane, O: Op<T>>(out: &mut [u8], a: &[u8], b: &[u8]) {
    let operands = T::cells(a).iter().zip(T::cells(b));
    for (out, (&a, &b)) in T::cells_mut(out).iter_mut().zip(operands) {
        *out = O::apply(T::load(a), T::load(b)).store();
    }
}

fn scalar<T: Lane, O: Op<T>>(out: &mut [u8], a: &[u8], s: u64) {
    let s = T::from_bits(s);
    for (out, &a) in T::cells_mut(out).iter_mut().zip(T::cells(a)) {
        *out = O::apply(T::load(a), s).store();
    }
}

fn accumulate<T: Lane, O: Op<T>>(acc: &mut [u8], x: &[u8]) {
    for (acc, &x) in T::cells_mut(acc).iter_mut().zip(T::cells(x)) {
        *acc = O::apply(T::load(*acc), T::load(x)).store();
    }
}

/// Lanes folded side by side where the order is free.
const SIDE_BY_SIDE: usize = 32;

fn feed<T: Lane, O: Op<T>>(state: &mut Running, block: &[u8]) {
    let cells = T::cells(block);
    let (mut acc, mut rest) = match (state.seen, cells) {
        (_, []) => return,
        (0, [first, rest @ ..]) => (T::load(*first), rest),
        _ => (T::from_bits(state.acc), cells),
    };
    state.seen += cells.len() as u64;
    if let Some(folded) = O::fold(rest) {
        acc = O::apply(acc, folded);
        rest = &[];
    } else if O::FREE_ORDER
        && let (chunks, tail) = rest.as_chunks::<SIDE_BY_SIDE>()
        && let [first, chunks @ ..] = chunks
    {
        let mut lanes = first.map(T::load);
        for chunk in chunks {
            for (lane, &x) in lanes.iter_mut().zip(chunk) {
                *lane = O::apply(*lane, T::load(x));
            }
        }
        acc = lanes.into_iter().fold(acc, O::apply);
        rest = tail;
    }
    state.acc = rest.iter().fold(acc, |acc, &x| O::apply(acc, T::load(x))).to_bits();
}

fn scan<T: Lane, O: Op<T>>(state: &mut Running, out: &mut [u8], block: &[u8]) {
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
}

fn feed_rows<T: Lane, O: Op<T>>(states: &mut [Running; ROWS], blocks: [&[u8]; ROWS]) {
    fold_rows::<T, O>(states, blocks, |_, _| ());
}

fn scan_rows<T: Lane, O: Op<T>>(
    states: &mut [Running; ROWS],
    out: [&mut [u8]; ROWS],
    blocks: [&[u8]; ROWS],
) {
    let mut out = out.map(T::cells_mut);
    fold_rows::<T, O>(states, blocks, |at, acc: &[T; ROWS]| {
        for (out, acc) in out.iter_mut().zip(acc) {
            if let Some(out) = out.get_mut(at) {
                *out = acc.store();
            }
        }
    });
}

/// Folds each row in its own order and shows the accumulators after each column.
#[inline(always)]
fn fold_rows<T: Lane, O: Op<T>>(
    states: &mut [Running; ROWS],
    blocks: [&[u8]; ROWS],
    mut show: impl FnMut(usize, &[T; ROWS]),
) {
    let len = blocks.iter().map(|block| T::cells(block).len()).min().unwrap_or(0);
    let cells = blocks.map(|block| &T::cells(block)[..len]);
    let mut acc = states.map(|state| T::from_bits(state.acc));
    let mut first = 0;
    if states[0].seen == 0 && len > 0 {
        acc = cells.map(|cells| T::load(cells[0]));
        show(0, &acc);
        first = 1;
    }
    for at in first..len {
        for (acc, cells) in acc.iter_mut().zip(&cells) {
            *acc = O::apply(*acc, T::load(cells[at]));
        }
        show(at, &acc);
    }
    for (state, acc) in states.iter_mut().zip(acc) {
        state.acc = acc.to_bits();
        state.seen += len as u64;
    }
}

macro_rules! kernels {
    ($lane:ty, $op:expr; $($($alu:ident)|+ => $type:ident,)*) => {
        match $op {
            $($(AluOp::$alu)|+ => Some(const { &Kernels::of::<$lane, $type>() }),)*
            _ => None,
        }
    };
}

/// The fp32 domain (rules N-3, N-6, N-7); `None` for an operation that has no meaning there.
pub fn float(op: AluOp) -> Option<&'static Kernels> {
    kernels! { f32, op;
        Bypass => Bypass, Add => Add, Subtract => Subtract, Mult => Mult, Max => Max, Min => Min,
        LogicalAnd => LogicalAnd, LogicalOr => LogicalOr, LogicalXor => LogicalXor,
        IsEq => IsEq, IsNe => IsNe, IsGt => IsGt, IsGe => IsGe, IsLe => IsLe, IsLt => IsLt,
        AbsoluteDiff => AbsoluteDiff, AbsoluteValue => AbsoluteValue, Pow => Pow, Rsqrt => Rsqrt,
        AbsMax => AbsMax, AbsMin => AbsMin, ReLu => ReLu, Square => Square,
        SymmetricClamp => SymmetricClamp,
    }
}

macro_rules! bit_kernels {
    ($lane:ty, $op:expr) => {
        kernels! { $lane, $op;
            Bypass => Bypass, BitwiseNot => Not, BitwiseAnd => And, BitwiseOr => Or, BitwiseXor => Xor,
            ArithShiftLeft | LogicalShiftLeft => ShiftLeft, LogicalShiftRight => ShiftRightLogical,
            ArithShiftRight => ShiftRightArith,
        }
    };
}

/// Raw bits at operand width (rule N-1). CRC32 is not among them: see [`crc32`].
pub fn bits(op: AluOp, width: usize) -> Option<&'static Kernels> {
    match width {
        1 => bit_kernels!(u8, op),
        2 => bit_kernels!(u16, op),
        4 => bit_kernels!(u32, op),
        _ => bit_kernels!(u64, op),
    }
}

macro_rules! signed_kernels {
    ($lane:ty, $op:expr) => {
        kernels! { $lane, $op;
            Bypass => Bypass,
            Add | AddInt => Add, Subtract | SubtractInt => Subtract, Mult | MultInt => Mult,
            Max | MaxInt => Max, MinInt => Min,
            DivideInt => Divide, Mod | ModInt => Remainder, IsEqualInt => IsEq, IsNeInt => IsNe,
            IsGtInt => IsGt, IsGeInt => IsGe, IsLeInt => IsLe, IsLtInt => IsLt,
            AbsMaxInt => AbsMax, AbsMinInt => AbsMin, AbsDiffInt => AbsoluteDiff,
            AbsValueInt => AbsoluteValue,
        }
    };
}

macro_rules! unsigned_kernels {
    ($lane:ty, $op:expr) => {
        kernels! { $lane, $op;
            Bypass => Bypass,
            Add | AddInt => Add, Subtract | SubtractInt => Subtract, Mult | MultInt | MultUint => Mult,
            Max | MaxUint => Max, MinUint => Min,
            DivideInt | DivideUint => Divide, Mod | ModInt | ModUint => Remainder,
            IsEqualInt => IsEq, IsNeInt => IsNe,
            IsGtUint => IsGt, IsGeUint => IsGe, IsLeUint => IsLe, IsLtUint => IsLt,
        }
    };
}

/// Native integers, wrapping (rules N-4, N-5, N-8). Operations of both lists follow the signedness of the
/// operands; the bare MAX is the exact one of the cross-lane reduction.
pub fn integer(op: AluOp, signed: bool, width: usize) -> Option<&'static Kernels> {
    match (signed, width) {
        (true, 8) => signed_kernels!(i64, op),
        (false, 8) => unsigned_kernels!(u64, op),
        (true, _) => signed_kernels!(i32, op),
        (false, _) => unsigned_kernels!(u32, op),
    }
}

/// A fold that remembers where its extreme value stands: the first one wins.
fn feed_arg<T: Lane + PartialOrd, const MAXIMUM: bool>(state: &mut Running, block: &[u8]) {
    for &x in T::cells(block) {
        let (x, best) = (T::load(x), T::from_bits(state.acc));
        let better = if MAXIMUM { x > best } else { x < best };
        if state.seen == 0 || better {
            state.acc = x.to_bits();
            state.index = state.seen;
        }
        state.seen += 1;
    }
}

/// The arg operations: the result is [`Running::index`].
pub fn arg(op: AluOp, width: usize) -> Option<Feed> {
    Some(match (op, width) {
        (AluOp::AmaxInt, 8) => feed_arg::<i64, true>,
        (AluOp::AmaxInt, _) => feed_arg::<i32, true>,
        (AluOp::AminInt, 8) => feed_arg::<i64, false>,
        (AluOp::AminInt, _) => feed_arg::<i32, false>,
        (AluOp::AmaxUint, 8) => feed_arg::<u64, true>,
        (AluOp::AmaxUint, _) => feed_arg::<u32, true>,
        (AluOp::AminUint, 8) => feed_arg::<u64, false>,
        (AluOp::AminUint, _) => feed_arg::<u32, false>,
        _ => return None,
    })
}

/// The reflected CRC-32 of polynomial 0xEDB88320, one byte at a time (OQ-22).
const CRC_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// Absorbs the bytes of the elements, least significant first; the state before the first element is all ones.
fn crc_step(state: &mut Running, bytes: &[u8]) {
    let start = if state.seen == 0 { u32::MAX } else { state.acc as u32 };
    let crc = bytes.iter().fold(start, |crc, &byte| {
        (crc >> 8) ^ CRC_TABLE[((crc ^ u32::from(byte)) & 0xFF) as usize]
    });
    state.acc = u64::from(crc);
    state.seen += 1;
}

fn crc_scan<T: Lane>(state: &mut Running, out: &mut [u8], block: &[u8]) {
    let width = size_of::<T>();
    for (out, element) in T::cells_mut(out).iter_mut().zip(block.chunks_exact(width)) {
        crc_step(state, element);
        *out = T::from_bits(!state.acc).store();
    }
}

/// CRC32 over a group (0x52): the written value is the complement of the accumulator's low bits.
pub fn crc32() -> Feed {
    |state, block| {
        if !block.is_empty() {
            crc_step(state, block);
        }
    }
}

/// CRC32 with the complemented value after each element (0x5E).
pub fn crc32_scan(width: usize) -> Scan {
    match width {
        2 => crc_scan::<u16>,
        _ => crc_scan::<u32>,
    }
}

/// Shift counts of UINT32 for 64-bit operands (rule TT-8).
pub fn widen_count(out: &mut [u8], from: &[u8]) {
    for (out, &x) in u64::cells_mut(out).iter_mut().zip(u32::cells(from)) {
        *out = u64::from(u32::load(x)).store();
    }
}

/// `mask[i] = 1` where the predicate element is not 0.
pub fn truth_mask(dtype: Dtype) -> Convert {
    fn mask<T: Lane>(out: &mut [u8], from: &[u8]) {
        for (out, &x) in out.iter_mut().zip(T::cells(from)) {
            *out = u8::from(T::load(x).to_bits() != 0);
        }
    }
    match dtype.size() {
        1 => mask::<u8>,
        2 => mask::<u16>,
        4 => mask::<u32>,
        _ => mask::<u64>,
    }
}

/// `out[i] = 1 / a[i]`, exactly rounded (0x48).
pub fn reciprocal(out: &mut [u8], a: &[u8]) {
    for (out, &a) in f32::cells_mut(out).iter_mut().zip(f32::cells(a)) {
        *out = (1.0 / f32::load(a)).store();
    }
}

/// `out[i] = exp(a[i] − s)` (0x30): the difference is rounded to fp32 first.
pub fn exponential(out: &mut [u8], a: &[u8], s: u64) {
    let s = f32::from_bits(s as u32);
    for (out, &a) in f32::cells_mut(out).iter_mut().zip(f32::cells(a)) {
        *out = super::special::exp(f32::load(a) - s).store();
    }
}

#[cfg(test)]
mod tests {
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
        for op in [AluOp::Max, AluOp::Min, AluOp::AbsMax, AluOp::AbsMin] {
            let kernels = float(op).unwrap();
            for len in 1..values.len() {
                let mut state = Running::default();
                let data = bytes(&values[..len]);
                let (first, second) = data.split_at(len / 3 * 4);
                (kernels.feed)(&mut state, first);
                (kernels.feed)(&mut state, second);
                let mut out = vec![0; len * 4];
                let mut by_scan = Running::default();
                (kernels.scan)(&mut by_scan, &mut out, &data);
                assert_eq!(state, by_scan, "{op} over {len}");
            }
        }
    }

    #[test]
    fn crc32_of_the_check_string() {
        // The published check value of this CRC over "123456789" plus one more byte pair is taken apart by
        // feeding eight bytes as two 32-bit elements: CRC-32("12345678") = 0x9AE0DAAF.
        let mut state = Running::default();
        for element in b"12345678".chunks(4) {
            crc_step(&mut state, element);
        }
        assert_eq!(!state.acc as u32, 0x9AE0_DAAF);
        let mut whole = Running::default();
        (crc32())(&mut whole, b"12345678");
        assert_eq!(whole.acc, state.acc);
    }

    #[test]
    fn arg_finds_the_first_extreme() {
        let data: Vec<u8> = [3i32, -9, 7, 7, -9].iter().flat_map(|v| v.to_le_bytes()).collect();
        let run = |op| {
            let mut state = Running::default();
            let feed = arg(op, 4).unwrap();
            feed(&mut state, &data[..12]);
            feed(&mut state, &data[12..]);
            state.index
        };
        assert_eq!(run(AluOp::AmaxInt), 2);
        assert_eq!(run(AluOp::AminInt), 1);
        assert_eq!(run(AluOp::AmaxUint), 1);
        assert_eq!(run(AluOp::AminUint), 0);
    }
}
