//! A word decoded once: what its rows do, and where they are.

mod build;
mod operand;
mod reduce;
mod scalar;

pub(crate) use build::{alu, dtype, dtype_pair, fields, fold_op, lane};
pub use operand::{Gather, INDEX_BYTES, Immediate, Operand, Resolver};
pub(crate) use reduce::group;
pub(crate) use scalar::{identity, reversed, seed};

use std::ops::Range;

use crate::memory::{Place, Space};
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
            Self::Rows(plan) => plan.volume(),
            Self::CrossLane { work, channels, .. } => {
                channels.saturating_mul(work.source.walk.len())
            }
            Self::LoadTable(_) => 0,
        }
    }
}

impl RowPlan {
    /// See [`Plan::volume`].
    pub fn volume(&self) -> usize {
        self.channels.saturating_mul(self.work.len())
    }

    /// The partitions of the destination.
    pub fn rows(&self) -> Range<usize> {
        self.dst.partition..self.dst.partition + self.channels
    }

    /// Whether each channel stays within the partition of its own number: then the instruction can be run for some
    /// partitions at a time.
    pub fn is_local(&self) -> bool {
        let Self { work: _, channels: _, dst, sources, immediates, staging, lanes, accumulator: _ } =
            self;
        let pointers = immediates.map(|immediate| immediate.place());
        let is_own = |place: &Place| place.partition == dst.partition;
        staging.is_none()
            && *lanes == Lanes::All
            && sources.iter().chain(&pointers).flatten().all(is_own)
    }

    /// The local instruction for these of its partitions, on rows that are `down` partitions below; `None` when there
    /// are none.
    pub fn within(&self, band: &Range<usize>, down: usize) -> Option<Self> {
        let rows = self.rows();
        let (start, end) = (rows.start.max(band.start), rows.end.min(band.end));
        let at = |place: Place| Place { partition: start - down, ..place };
        (start < end).then(|| Self {
            channels: end - start,
            dst: at(self.dst),
            sources: self.sources.map(|source| source.map(at)),
            immediates: self.immediates.map(|immediate| immediate.moved(at)),
            ..*self
        })
    }

    /// The bytes of a local instruction's partitions that a result may depend on.
    pub fn reads(&self) -> Vec<Bytes> {
        let walks = match &self.work {
            Work::Elementwise(work) => {
                [Some(&work.sources[0]), work.has_second().then_some(&work.sources[1])]
            }
            Work::Select { take, .. } => [Some(&take.sources[0]), None],
            Work::Reduce(work) => [Some(&work.source), None],
            Work::Predicated(work) => work.sources.each_ref().map(Some),
        };
        let operands = self.sources.iter().zip(walks).filter_map(|(place, source)| {
            let (place, source) = place.as_ref().zip(source)?;
            Some(Bytes::of_walk(place, &source.walk, source.width))
        });
        let pointers = self.immediates.iter().filter_map(Immediate::bytes);
        let running = (self.accumulator == Some(Seed::Accumulator)).then_some(Bytes::ACCUMULATOR);
        operands.chain(pointers).chain(running).collect()
    }

    /// Bytes of a local instruction's partitions that it is sure to write.
    pub fn writes(&self) -> Vec<Bytes> {
        let (walk, width) = match &self.work {
            Work::Elementwise(work) | Work::Select { take: work, .. } => {
                (&work.dst.walk, work.dst.width)
            }
            Work::Reduce(work) => (&work.dst.walk, work.dst.width),
            Work::Predicated(_) => return Vec::new(),
        };
        let memory = walk.as_run().map(|_| Bytes::of_walk(&self.dst, walk, width));
        let running = self.accumulator.map(|_| Bytes::ACCUMULATOR);
        memory.into_iter().chain(running).collect()
    }
}

/// Bytes of each of some partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// The memory; `None` for the DVE accumulator.
    pub place: Option<Space>,
    pub range: Range<usize>,
}

impl Bytes {
    const ACCUMULATOR: Self = Self { place: None, range: 0..1 };

    /// All between the lowest and the highest byte of a walk.
    fn of_walk(place: &Place, walk: &Walk, width: usize) -> Self {
        let range = walk.lowest() as usize * width..(walk.highest() as usize + 1) * width;
        Self { place: Some(place.space), range }
    }
}

impl Work {
    /// The elementwise work on all or some of the rows.
    pub fn elementwise(&self) -> Option<&Elementwise> {
        match self {
            Self::Elementwise(work) | Self::Select { take: work, .. } => Some(work),
            Self::Reduce(_) | Self::Predicated(_) => None,
        }
    }

    /// Source elements of a channel.
    fn len(&self) -> usize {
        match self {
            Self::Elementwise(work) | Self::Select { take: work, .. } => work.dst.walk.len(),
            Self::Reduce(work) => work.source.walk.len(),
            Self::Predicated(work) => work.dst.walk.len(),
        }
    }
}
