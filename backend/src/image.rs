//! The program image: an ELF64 file with one section per queue (design, section 4).
//!
//! | section | contents |
//! |---|---|
//! | `.tpb.<engine>` | the engine's words, 64 bytes each |
//! | `.tpb.dma` | the descriptors, one after another |
//! | `.tpb.data` | the constants, one after another; `.tpb.io` says where each belongs |
//! | `.tpb.order` | the program order: runs of [`RUN_BYTES`] bytes (kind, queue, two zeros, count) |
//! | `.tpb.io` | JSON: size of HBM, inputs, outputs, constants |
//! | `.tpb.meta` | JSON: format, target, version, passes |
//!
//! Each source op is a local symbol whose value and size count bytes of the section that it is in.

mod json;
mod read;
mod write;

pub use read::{ImageError, is_image, read};
pub use write::write;

use crate::program::Slot;

/// Number of this layout, in `.tpb.meta`.
const FORMAT: u32 = 1;

/// Bytes of one run in `.tpb.order`.
const RUN_BYTES: usize = 8;

const DMA: &str = ".tpb.dma";
const DATA: &str = ".tpb.data";
const ORDER: &str = ".tpb.order";
const IO: &str = ".tpb.io";
const META: &str = ".tpb.meta";

/// What precedes an engine's name in the name of its section.
const PREFIX: &str = ".tpb.";

/// A run of equal steps as it stands in `.tpb.order`.
fn encode_run(slot: Slot, count: u32) -> [u8; RUN_BYTES] {
    let (kind, queue) = match slot {
        Slot::Word(engine) => (0, engine as u8),
        Slot::Dma(queue) => (1, queue),
    };
    let [a, b, c, d] = count.to_le_bytes();
    [kind, queue, 0, 0, a, b, c, d]
}
