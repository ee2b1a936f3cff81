//! DMA descriptors: one record per strided copy between HBM and SBUF.
//!
//! The machine's own descriptors lie outside the specified subset; this form is ours. `docs/dma.md`
//! describes what a descriptor does. Here are the record, its rules ([`check()`]) and its text
//! ([`format()`], [`parse()`]).

mod check;
mod list;
mod record;
pub mod rules;
mod text;

use std::fmt;

use crate::dtype::Dtype;
use crate::enums::EnumTable;

pub use check::check;
pub use list::List;
pub use record::{RECORD_BYTES, RecordError};
pub use text::{format, format_plain, parse, parse_plain};

/// Queues that descriptors may be in: numbers 0 to 15.
pub const QUEUES: u8 = 16;
/// Dimensions of a walk.
pub const MAX_DIMS: usize = 6;
/// Semaphores that a descriptor may wait for.
pub const MAX_WAITS: usize = 4;

/// What happens to each destination element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DmaKind {
    /// Bytes are copied.
    Copy = 0,
    /// destination := destination + source
    Add = 1,
    /// destination := the larger, NaN suppressed
    Max = 2,
    /// destination := the smaller, NaN suppressed
    Min = 3,
}

impl DmaKind {
    pub const ALL: [Self; 4] = [Self::Copy, Self::Add, Self::Max, Self::Min];
    pub const TABLE: EnumTable =
        EnumTable { name: "DMA_KIND", members: &[(0, "COPY"), (1, "ADD"), (2, "MAX"), (3, "MIN")] };

    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Copy),
            1 => Some(Self::Add),
            2 => Some(Self::Max),
            3 => Some(Self::Min),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        Self::TABLE.name_of(self as u8).unwrap_or_default()
    }

    /// Reads the destination, too.
    pub const fn accumulates(self) -> bool {
        !matches!(self, Self::Copy)
    }
}

/// A memory that a descriptor reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DmaSpace {
    Hbm = 0,
    Sbuf = 1,
}

/// A byte of a memory: in HBM counted from the start of the program's arena, in SBUF partition times
/// the target's stride plus the byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DmaAddr {
    pub space: DmaSpace,
    pub addr: u64,
}

impl DmaAddr {
    pub const fn hbm(addr: u64) -> Self {
        Self { space: DmaSpace::Hbm, addr }
    }

    pub const fn sbuf(addr: u64) -> Self {
        Self { space: DmaSpace::Sbuf, addr }
    }
}

/// One dimension of the walk; both sides take `count` steps together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DmaDim {
    pub count: u32,
    /// Bytes from one element of this dimension to the next.
    pub src_stride: i64,
    pub dst_stride: i64,
}

/// The descriptor starts once `semaphore >= value`, unsigned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DmaWait {
    pub semaphore: u8,
    pub value: u32,
}

/// One descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Descriptor {
    /// 0 to 15. A queue starts and completes its descriptors in order.
    pub queue: u8,
    pub kind: DmaKind,
    /// The element: only its size matters to a copy.
    pub elem: Dtype,
    pub src: DmaAddr,
    pub dst: DmaAddr,
    /// Innermost first.
    pub dims: List<DmaDim, MAX_DIMS>,
    /// All must hold.
    pub waits: List<DmaWait, MAX_WAITS>,
    /// Semaphore incremented by 1 once the last byte is written.
    pub update: Option<u8>,
}

impl Descriptor {
    /// A copy of one element from `src` to `dst` on queue 0, without events.
    pub fn copy(elem: Dtype, src: DmaAddr, dst: DmaAddr) -> Self {
        Self {
            queue: 0,
            kind: DmaKind::Copy,
            elem,
            src,
            dst,
            dims: List::new(),
            waits: List::new(),
            update: None,
        }
    }

    /// Number of elements that the walk visits, saturating.
    pub fn elements(&self) -> u64 {
        self.dims.iter().fold(1, |product, dim| product.saturating_mul(dim.count.into()))
    }

    /// Bytes moved, saturating.
    pub fn bytes(&self) -> u64 {
        self.elements().saturating_mul(self.elem.size() as u64)
    }
}

impl fmt::Display for DmaSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hbm => "hbm",
            Self::Sbuf => "sbuf",
        })
    }
}
