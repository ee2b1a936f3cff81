//! What one channel of an instruction does to its row: blocks of elements are read along the source walks,
//! computed as lanes, and written along the destination walk.

pub mod elementwise;
pub mod exchange;
pub mod predicated;
pub mod reduce;
pub mod stream;

use std::cell::RefCell;

use crate::numeric::convert::Store;
use crate::numeric::kernels::{ROWS, Running};

/// Elements computed at a time: a few blocks of the widest lanes stay in the first-level cache.
pub const BLOCK: usize = 1024;

/// Elements of each row that are computed at a time where [`ROWS`] rows go side by side.
pub const SIDE_BLOCK: usize = 256;

/// Folds and scans of shorter groups are not worth several rows at once.
const LONG_GROUP: usize = 64;

/// Bytes of a row's share of a buffer then.
const SHARE: usize = SIDE_BLOCK * 8;

/// Bytes of a buffer: a block of the widest lanes, or a share for each row.
const BUFFER: usize = if BLOCK * 8 > ROWS * SHARE { BLOCK * 8 } else { ROWS * SHARE };

/// Buffers of one thread, kept between words.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Elements as they stand in memory, one buffer per source.
    raw: [Vec<u8>; 2],
    /// The same as lanes.
    lanes: [Vec<u8>; 2],
    /// Lanes between the stages of an operation.
    middle: Vec<u8>,
    /// Resulting lanes.
    out: Vec<u8>,
    /// Results as they go to memory.
    packed: Vec<u8>,
    /// Results held back until everything is read.
    held: Vec<u8>,
    /// Which held results are to be written.
    mask: Vec<u8>,
}

impl Scratch {
    /// Makes the buffers large enough and empties those that grow.
    pub fn ready(&mut self) {
        let blocks = self.raw.iter_mut().chain(&mut self.lanes).chain([
            &mut self.middle,
            &mut self.out,
            &mut self.packed,
        ]);
        for buffer in blocks {
            buffer.resize(BUFFER, 0);
        }
        self.held.clear();
        self.mask.clear();
    }
}

/// Runs `work` with this thread's buffers.
pub fn with_scratch<R>(work: impl FnOnce(&mut Scratch) -> R) -> R {
    thread_local!(static SCRATCH: RefCell<Scratch> = RefCell::default());
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.ready();
        work(scratch)
    })
}

/// What a channel brings to an instruction beside its row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Channel {
    /// Lane bits of the two scalars.
    pub scalars: [u64; 2],
    /// The running fold of scans and accumulating opcodes.
    pub running: Running,
}

/// Lanes to memory; `middle` holds a block between two conversions.
fn store(how: Store, out: &mut [u8], lanes: &[u8], middle: &mut [u8]) {
    match how {
        Store::Same => out.copy_from_slice(&lanes[..out.len()]),
        Store::Once(convert) => convert(out, lanes),
        Store::Twice(first, second) => {
            let middle = &mut middle[..lanes.len()];
            first(middle, lanes);
            second(out, middle);
        }
    }
}
