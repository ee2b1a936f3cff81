//! The ADDR4 union (ISA 3.2) and where an address lies (ISA 3.1).

use crate::field::Pattern;
use crate::target::{Generation, PARTITIONS};

/// Bits 0 to 28: the address.
pub const ADDRESS_MASK: u32 = 0x1fff_ffff;
/// Bit 29: the field is the index address of an indirect pattern.
pub const INDIRECT: u32 = 1 << 29;
/// Bit 30: the shape comes from registers.
pub const SHAPE_REG: u32 = 1 << 30;
/// Bit 31: the address comes from a register.
pub const ADDR_REG: u32 = 1 << 31;
/// Registers that an address or a pointer may come from.
pub const REGISTERS: u32 = 64;

/// The indirect form of a pattern, whose fields overlay steps and counts (ISA 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Indirect {
    /// The address of the index array, immediate or from a register.
    pub index: u32,
    /// The address of the data, in bytes 4 to 7 of the field.
    pub data: u32,
    /// The number of indices, in bytes 8 and 9.
    pub count: u16,
}

impl Indirect {
    /// `None` for a pattern of another form.
    pub fn of<const D: usize>(pattern: &Pattern<D>) -> Option<Self> {
        let Pattern { start_addr, step_elem, num_elem } = pattern;
        let indirect = start_addr & (INDIRECT | SHAPE_REG) == INDIRECT;
        indirect.then(|| Self::overlay(*start_addr, step_elem, num_elem))
    }

    /// What the fields of a pattern say in this form.
    pub(crate) fn overlay(start_addr: u32, step_elem: &[i16], num_elem: &[u16]) -> Self {
        let half = |i: usize| match (step_elem.get(i), i.checked_sub(step_elem.len())) {
            (Some(&step), _) => step as u16,
            (None, at) => at.and_then(|at| num_elem.get(at)).copied().unwrap_or_default(),
        };
        Self {
            index: start_addr & !INDIRECT,
            data: u32::from(half(0)) | u32::from(half(1)) << 16,
            count: half(2),
        }
    }
}

/// A partitioned on-chip memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Memory {
    Sbuf,
    Psum,
}

impl Memory {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sbuf => "sbuf",
            Self::Psum => "psum",
        }
    }

    /// Bytes of a partition that exist.
    pub const fn active(self, generation: Generation) -> u64 {
        match self {
            Self::Sbuf => generation.sbuf_active(),
            Self::Psum => generation.psum_active(),
        }
    }
}

/// A byte of a partition. The byte may lie beyond the active ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    pub memory: Memory,
    pub partition: u32,
    pub byte: u32,
}

impl Location {
    /// Where an address lies, or `None` outside the address spaces of the generation.
    #[inline]
    pub const fn of(address: u32, generation: Generation) -> Option<Self> {
        let address = address as u64;
        let (memory, offset, stride) = if address < generation.sbuf_space() {
            (Memory::Sbuf, address, generation.sbuf_stride())
        } else {
            match generation.psum_base() {
                Some(base) => (Memory::Psum, address - base, generation.psum_stride()),
                None => return None,
            }
        };
        // Strides are powers of two.
        let partition = offset >> stride.trailing_zeros();
        if partition >= PARTITIONS {
            return None;
        }
        Some(Self { memory, partition: partition as u32, byte: (offset & (stride - 1)) as u32 })
    }

    /// The address, or `None` when partition or byte exceed the address space of the memory.
    pub const fn address(self, generation: Generation) -> Option<u32> {
        let (base, stride) = match self.memory {
            Memory::Sbuf => (0, generation.sbuf_stride()),
            Memory::Psum => match generation.psum_base() {
                Some(base) => (base, generation.psum_stride()),
                None => return None,
            },
        };
        if self.partition as u64 >= PARTITIONS || self.byte as u64 >= stride {
            return None;
        }
        Some((base + self.partition as u64 * stride + self.byte as u64) as u32)
    }
}
