//! Folds that are no ALU operation on lanes: arg operations, CRC32, and the masks of predicated writes.

use partita_isa::{AluOp, Dtype};

use super::kernels::{Convert, Feed, Running, Scan};
use super::lane::Lane;

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

#[cfg(test)]
mod tests {
    use super::*;

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
