//! The 256-byte record. Every descriptor has one record, and a record that no descriptor encodes to
//! is refused, so `encode(decode(r)) == r` for every record that decodes.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 1 | queue |
//! | 1 | 1 | kind: 0 COPY, 1 ADD, 2 MAX, 3 MIN |
//! | 2 | 1 | elem: a DTYPE code |
//! | 3 | 1 | number of dims, 0 to 6 |
//! | 4 | 1 | number of waits, 0 to 4 |
//! | 5 | 1 | 1 when there is an update |
//! | 6 | 1 | update semaphore |
//! | 7 | 1 | source space: 0 HBM, 1 SBUF |
//! | 8 | 1 | destination space |
//! | 9 | 7 | zero |
//! | 16 | 8 | source address |
//! | 24 | 8 | destination address |
//! | 32 | 4 × 8 | waits: u32 semaphore, u32 value |
//! | 64 | 6 × 24 | dims: u32 count, u32 zero, i64 source stride, i64 destination stride |
//! | 208 | 48 | zero |
//!
//! All numbers are little-endian; unused waits and dims are zero.

use std::fmt;

use super::{Descriptor, DmaAddr, DmaDim, DmaKind, DmaSpace, DmaWait, List, MAX_DIMS, MAX_WAITS};
use crate::dtype::Dtype;

/// Bytes of one record.
pub const RECORD_BYTES: usize = 256;

pub(super) mod offset {
    pub const QUEUE: usize = 0;
    pub const KIND: usize = 1;
    pub const ELEM: usize = 2;
    pub const DIM_COUNT: usize = 3;
    pub const WAIT_COUNT: usize = 4;
    pub const HAS_UPDATE: usize = 5;
    pub const UPDATE: usize = 6;
    pub const SRC_SPACE: usize = 7;
    pub const DST_SPACE: usize = 8;
    pub const SRC: usize = 16;
    pub const DST: usize = 24;
    pub const WAITS: usize = 32;
    pub const WAIT_SIZE: usize = 8;
    pub const DIMS: usize = 64;
    pub const DIM_SIZE: usize = 24;
}

/// Bytes that are not a descriptor's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordError {
    /// Offset of the first byte that is wrong.
    pub offset: usize,
    pub found: u8,
    pub allowed: &'static str,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "DMA record: byte {} is {:#04x}, allowed: {}",
            self.offset, self.found, self.allowed
        )
    }
}

impl std::error::Error for RecordError {}

impl Descriptor {
    pub fn encode(&self) -> [u8; RECORD_BYTES] {
        let mut record = [0; RECORD_BYTES];
        record[offset::QUEUE] = self.queue;
        record[offset::KIND] = self.kind as u8;
        record[offset::ELEM] = self.elem.code();
        record[offset::DIM_COUNT] = self.dims.len() as u8;
        record[offset::WAIT_COUNT] = self.waits.len() as u8;
        record[offset::HAS_UPDATE] = self.update.is_some().into();
        record[offset::UPDATE] = self.update.unwrap_or(0);
        record[offset::SRC_SPACE] = self.src.space as u8;
        record[offset::DST_SPACE] = self.dst.space as u8;
        put(&mut record, offset::SRC, self.src.addr.to_le_bytes());
        put(&mut record, offset::DST, self.dst.addr.to_le_bytes());
        for (i, wait) in self.waits.iter().enumerate() {
            let at = offset::WAITS + i * offset::WAIT_SIZE;
            put(&mut record, at, u32::from(wait.semaphore).to_le_bytes());
            put(&mut record, at + 4, wait.value.to_le_bytes());
        }
        for (i, dim) in self.dims.iter().enumerate() {
            let at = offset::DIMS + i * offset::DIM_SIZE;
            put(&mut record, at, dim.count.to_le_bytes());
            put(&mut record, at + 8, dim.src_stride.to_le_bytes());
            put(&mut record, at + 16, dim.dst_stride.to_le_bytes());
        }
        record
    }

    /// Reads a record.
    ///
    /// # Errors
    ///
    /// When a code is undefined, a count exceeds its limit, or a byte that must be zero is not.
    pub fn decode(record: &[u8; RECORD_BYTES]) -> Result<Self, RecordError> {
        let wrong = |offset, allowed| RecordError { offset, found: record[offset], allowed };
        let space = |offset| match record[offset] {
            0 => Ok(DmaSpace::Hbm),
            1 => Ok(DmaSpace::Sbuf),
            _ => Err(wrong(offset, "0 HBM, 1 SBUF")),
        };
        let count = |offset, limit, allowed| match usize::from(record[offset]) {
            count if count <= limit => Ok(count),
            _ => Err(wrong(offset, allowed)),
        };
        let dims = count(offset::DIM_COUNT, MAX_DIMS, "0 to 6")?;
        let waits = count(offset::WAIT_COUNT, MAX_WAITS, "0 to 4")?;
        let mut descriptor = Self {
            queue: record[offset::QUEUE],
            kind: DmaKind::from_code(record[offset::KIND])
                .ok_or_else(|| wrong(offset::KIND, "0 COPY, 1 ADD, 2 MAX, 3 MIN"))?,
            elem: Dtype::from_code(record[offset::ELEM])
                .ok_or_else(|| wrong(offset::ELEM, "a DTYPE code"))?,
            src: DmaAddr {
                space: space(offset::SRC_SPACE)?,
                addr: u64::from_le_bytes(get(record, offset::SRC)),
            },
            dst: DmaAddr {
                space: space(offset::DST_SPACE)?,
                addr: u64::from_le_bytes(get(record, offset::DST)),
            },
            dims: List::new(),
            waits: List::new(),
            update: (record[offset::HAS_UPDATE] == 1).then_some(record[offset::UPDATE]),
        };
        for i in 0..waits {
            let at = offset::WAITS + i * offset::WAIT_SIZE;
            let value = u32::from_le_bytes(get(record, at + 4));
            // The count was checked against the capacity above.
            let _ = descriptor.waits.push(DmaWait { semaphore: record[at], value });
        }
        for i in 0..dims {
            let at = offset::DIMS + i * offset::DIM_SIZE;
            let _ = descriptor.dims.push(DmaDim {
                count: u32::from_le_bytes(get(record, at)),
                src_stride: i64::from_le_bytes(get(record, at + 8)),
                dst_stride: i64::from_le_bytes(get(record, at + 16)),
            });
        }
        // Whatever the descriptor does not say is zero.
        match descriptor.encode().iter().zip(record).position(|(want, found)| want != found) {
            Some(offset::HAS_UPDATE) => Err(wrong(offset::HAS_UPDATE, "0 or 1")),
            Some(offset) => Err(wrong(offset, "0")),
            None => Ok(descriptor),
        }
    }
}

/// Offsets are the constants above, inside the record.
fn put<const N: usize>(record: &mut [u8; RECORD_BYTES], offset: usize, bytes: [u8; N]) {
    record[offset..offset + N].copy_from_slice(&bytes);
}

fn get<const N: usize>(record: &[u8; RECORD_BYTES], offset: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&record[offset..offset + N]);
    bytes
}
