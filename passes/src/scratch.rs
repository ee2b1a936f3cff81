//! The end of each partition's usable bytes, which no tile takes: one slot for each engine, for words
//! that exist only to wait.

use partita_isa::Engine;
use partita_isa::target::Generation;

/// Bytes of a partition that are kept from tiles.
pub const SCRATCH_BYTES: u64 = 64;

/// Bytes of an engine's slot.
const SLOT: u64 = 8;

/// The address of an engine's slot in partition 0.
pub fn slot(engine: Engine, generation: Generation) -> u32 {
    (generation.sbuf_usable() / 8 * 8 - SCRATCH_BYTES + SLOT * engine as u64) as u32
}
