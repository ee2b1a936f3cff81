//! A word decoded once: what its rows do, and where they are.

mod build;
mod operand;
mod reduce;
mod scalar;

pub(crate) use build::{alu, dtype, dtype_pair, fields, fold_op, lane};
pub use operand::{Gather, INDEX_BYTES, Immediate, Operand, Resolver};
pub(crate) use reduce::group;
pub(crate) use scalar::{identity, reversed, seed};

use crate::memory::Place;
use crate::numeric::kernels::Scalar;
use crate::rows::elementwise::Elementwise;
use crate::rows::exchange::CrossLane;
use crate::rows::predicated::Predicated;
use crate::rows::reduce::Reduce;
use crate::walk::Walk;

/// A word ready to run.
// A plan lives on the stack for the time of one word; a box would cost an allocation each.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Copy, Debug)]
pub enum Plan {
    /// Every channel works on its own row.
    Rows(RowPlan),
    /// Channels are folded into one.
    CrossLane { work: CrossLane, source: Place, dst: Place, channels: usize },
    /// The lane table is replaced (0x69).
    LoadTable([u8; 32]),
}

/// An instruction that works row by row.
#[derive(Clone, Copy, Debug)]
pub struct RowPlan {
    pub work: Work,
    pub channels: usize,
    pub dst: Place,
    pub sources: [Option<Place>; 2],
    pub immediates: [Immediate; 2],
    pub staging: Option<Staging>,
    pub lanes: Lanes,
    /// The seed of the running fold, for the opcodes that leave it in the DVE accumulator.
    pub accumulator: Option<Seed>,
}

/// What a row does.
// As above.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Copy, Debug)]
pub enum Work {
    Elementwise(Elementwise),
    Reduce(Reduce),
    Predicated(Predicated),
    /// The source where immediate 0 is true (or not, with `reversed`), else immediate 1.
    Select {
        take: Elementwise,
        fill: Scalar,
        reversed: bool,
    },
}

/// Source 0 is copied aside before anything is written, as one run of elements per channel.
#[derive(Clone, Copy, Debug)]
pub struct Staging {
    pub walk: Walk,
    pub width: usize,
    /// Through the 32 × 32 map of ISA 8.3.
    pub transposed: bool,
}

/// Which destination lanes of each block of 32 are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    All,
    /// Those whose table entry is below 32 (0x6b with mask_enable).
    Masked,
    /// The same, and the entry names the source lane (0x6a).
    Shuffled,
}

/// Where a running fold starts (ISA 9.17).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seed {
    /// The accumulator that the previous instruction left.
    Accumulator,
    /// A constant.
    Value(f32),
    /// Immediate 1 of the channel.
    Immediate,
}

impl Plan {
    /// Elements that the word visits, over all channels; for choosing how to run it.
    pub fn volume(&self) -> usize {
        match self {
            Self::Rows(plan) => plan.channels.saturating_mul(plan.work.len()),
            Self::CrossLane { work, channels, .. } => {
                channels.saturating_mul(work.source.walk.len())
            }
            Self::LoadTable(_) => 0,
        }
    }
}

impl Work {
    /// Source elements of a channel.
    fn len(&self) -> usize {
        match self {
            Self::Elementwise(work) | Self::Select { take: work, .. } => work.dst.walk.len(),
            Self::Reduce(work) => work.source.walk.len(),
            Self::Predicated(work) => work.dst.walk.len(),
        }
    }
}
