//! The state of one NeuronCore as far as this subset sees it.

use partita_backend::counters::Counters;
use partita_isa::Target;

use crate::conventions::{Alternative, Conventions};
use crate::memory::{Memory, PARTITIONS, Place};
use crate::numeric::simd::Simd;
use crate::pages::{LARGE, Pages};

/// Number of registers (ISA 3.2).
pub const REGISTERS: usize = 64;

/// The lane table at the start: every lane is its own.
const IDENTITY: [u8; 32] = {
    let mut table = [0; 32];
    let mut lane = 0;
    while lane < table.len() {
        table[lane] = lane as u8;
        lane += 1;
    }
    table
};

/// Limits and switches of a run. None of them changes a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest HBM arena that is allocated, in bytes.
    pub hbm_bytes: u64,
    /// The most elements per channel that one word may visit; patterns with step 0 can ask for 2^64.
    pub elements: usize,
    /// Whether the channels of a large word are spread over threads.
    pub parallel: bool,
    /// The elements, over all channels, from which a word is large: below it threads cost more than they bring.
    pub parallel_elements: usize,
    /// Whether every word is executed element by element, as the reference puts it, instead of by its plan.
    pub literal: bool,
    /// The elements that a stretch of a program must visit to be run some rows at a time: fewer are in the caches anyway.
    pub banded_elements: usize,
    /// The instruction set of the kernels: the best one found, unless `PARTITA_SIMD` lowers it.
    pub simd: Simd,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            hbm_bytes: 1 << 34,
            elements: 1 << 26,
            parallel: true,
            parallel_elements: 1 << 16,
            literal: false,
            banded_elements: 1 << 17,
            simd: Simd::detect(),
        }
    }
}

/// Memories, registers and counters; everything starts at zero, the lane table as the identity.
#[derive(Clone, Debug)]
pub struct Machine {
    pub target: Target,
    pub limits: Limits,
    pub(crate) memory: Memory,
    pub(crate) hbm: Pages,
    /// The register file, preset by the host (OQ-10).
    pub registers: [u32; REGISTERS],
    /// The DVE accumulators, one per destination partition (ISA 8.4, OQ-28).
    pub accumulators: [f32; PARTITIONS],
    /// The lane table of 0x69 (ISA 9.10).
    pub lane_table: [u8; 32],
    /// Semaphores and events.
    pub counters: Counters,
    /// The answers to what ISA 13 leaves open.
    pub(crate) conventions: Conventions,
    /// Elements on their way between channels; kept between words.
    pub(crate) staged: Vec<u8>,
}

/// A memory request of the host that the machine cannot serve.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    #[error("{bytes} bytes of HBM are asked for, {limit} are allowed")]
    HbmTooLarge { bytes: u64, limit: u64 },
    #[error("HBM bytes {address}..{address}+{len} lie outside the arena of {size} bytes")]
    OutsideHbm { address: u64, len: u64, size: u64 },
    #[error("byte {offset}..{offset}+{len} of partition {partition} does not exist")]
    OutsidePartition { partition: usize, offset: usize, len: usize },
}

impl Machine {
    /// A machine with an HBM arena of the given size.
    ///
    /// # Errors
    /// When the arena is larger than the limit.
    pub fn new(target: Target, hbm_bytes: u64, limits: Limits) -> Result<Self, MemoryError> {
        let too_large = MemoryError::HbmTooLarge { bytes: hbm_bytes, limit: limits.hbm_bytes };
        let size = match usize::try_from(hbm_bytes) {
            Ok(size) if hbm_bytes <= limits.hbm_bytes => size,
            _ => return Err(too_large),
        };
        Ok(Self {
            target,
            limits,
            // Large tensors are worth huge pages, small programs are not.
            memory: Memory::new(target.generation, size >= LARGE),
            hbm: Pages::new(size, true),
            registers: [0; REGISTERS],
            accumulators: [0.0; PARTITIONS],
            lane_table: IDENTITY,
            counters: Counters::default(),
            conventions: Conventions::default(),
            staged: Vec::new(),
        })
    }

    /// The same, fresh machine under other conventions.
    #[must_use]
    pub fn under(mut self, conventions: Conventions) -> Self {
        self.conventions = conventions;
        self.restart(self.registers);
        self
    }

    /// As a new machine with these registers and the same conventions, but for the contents of the memories.
    pub(crate) fn restart(&mut self, registers: [u32; REGISTERS]) {
        let has = |alternative| self.conventions.has(alternative);
        self.lane_table = if has(Alternative::LaneTableZero) { [0; 32] } else { IDENTITY };
        let accumulator = if has(Alternative::AccumulatorNan) { f32::NAN } else { 0.0 };
        self.accumulators = [accumulator; PARTITIONS];
        self.registers = registers;
        self.counters = Counters::default();
    }

    /// Bytes of one partition.
    ///
    /// # Errors
    /// When they do not exist.
    pub fn row(&self, place: Place, offset: usize, len: usize) -> Result<&[u8], MemoryError> {
        self.memory
            .row(place)
            .and_then(|row| row.get(offset..)?.get(..len))
            .ok_or(MemoryError::OutsidePartition { partition: place.partition, offset, len })
    }

    /// The same for writing.
    ///
    /// # Errors
    /// When they do not exist.
    pub fn row_mut(
        &mut self,
        place: Place,
        offset: usize,
        len: usize,
    ) -> Result<&mut [u8], MemoryError> {
        self.memory
            .row_mut(place)
            .and_then(|row| row.get_mut(offset..)?.get_mut(..len))
            .ok_or(MemoryError::OutsidePartition { partition: place.partition, offset, len })
    }

    /// Bytes of the HBM arena.
    ///
    /// # Errors
    /// When they lie outside it.
    pub fn hbm(&self, address: u64, len: u64) -> Result<&[u8], MemoryError> {
        range(address, len).and_then(|range| self.hbm.get(range)).ok_or(self.outside(address, len))
    }

    /// The same for writing.
    ///
    /// # Errors
    /// When they lie outside the arena.
    pub fn hbm_mut(&mut self, address: u64, len: u64) -> Result<&mut [u8], MemoryError> {
        let error = self.outside(address, len);
        range(address, len).and_then(|range| self.hbm.get_mut(range)).ok_or(error)
    }

    fn outside(&self, address: u64, len: u64) -> MemoryError {
        MemoryError::OutsideHbm { address, len, size: self.hbm.len() as u64 }
    }
}

fn range(address: u64, len: u64) -> Option<std::ops::Range<usize>> {
    let start = usize::try_from(address).ok()?;
    let end = start.checked_add(usize::try_from(len).ok()?)?;
    Some(start..end)
}
