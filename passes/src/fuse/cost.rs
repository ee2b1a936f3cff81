//! Modelled cost of an operation of the tensor dialect, before tiling.
//!
//! The unit is the picosecond: the busy time of the engines plus that of the DMA
//! queues, under the cost profile of the target. Latencies are left out, since
//! queues hide them. Layouts are chosen later: operands are taken to lie as the fast
//! modes want them, and one element per row as a scalar of its partition. Operations
//! that only rename elements are read through access patterns and cost [`PATTERN`], so
//! that of two equal forms the shorter wins.

use partita_backend::cost::Profile;
use partita_ir::ops::{Emit, ReduceOp};
use partita_ir::types::{MAX_PARTITIONS, element_count};
use partita_ir::{ElemType, ElementwiseOp, TensorOp, TensorType};
use partita_isa::{CostClass, Engine, Generation, Opcode, Target};

use crate::blocks::{self, Deal, Field, MAX_BLOCKS};

mod elementwise;

pub use elementwise::is_row;
use elementwise::{Stream, is_unconditional};

/// What an operation costs that is read through an access pattern.
pub const PATTERN: u64 = 1;

/// Words that an operation takes which the machine has no single word for; a round
/// figure, since no rule chooses between such operations.
const MANY_WORDS: u64 = 16;

/// Prices under one profile.
#[derive(Clone, Copy, Debug)]
pub struct Prices {
    profile: &'static Profile,
    generation: Generation,
}

/// A price as a whole number; times are far below 2⁵³ picoseconds.
fn whole(picoseconds: f64) -> u64 {
    picoseconds.round() as u64
}

impl Prices {
    pub fn of(target: &Target) -> Self {
        Self { profile: Profile::of(target.generation), generation: target.generation }
    }

    /// A word of a class that streams so many elements per partition.
    pub fn word(&self, class: CostClass, engine: Engine, elements: u64) -> u64 {
        self.stream(&Stream { class, engine, elements, ..Stream::default() })
    }

    /// A word with its fast mode, if its types and operations have one; operands are
    /// taken to lie in SBUF, innermost elements side by side.
    fn stream(&self, stream: &Stream) -> u64 {
        let Some(figures) = self.profile.engines.get(&stream.engine) else { return 0 };
        let class = figures.classes.get(&stream.class);
        let mode = class.and_then(|class| {
            class.modes.iter().find(|mode| stream.has_mode(&mode.when, self.profile))
        });
        let factor = mode.map(|mode| mode.elements).or(class.map(|class| class.elements));
        let extra = class.map_or(0.0, |class| {
            let always = class.extra.iter().filter(|extra| is_unconditional(&extra.when));
            always.map(|extra| extra.cycles).sum()
        });
        let elements = factor.unwrap_or(1.0) * stream.elements as f64;
        let cycles = figures.fixed.value + elements.max(figures.floor.value) + extra;
        whole(cycles * 1000.0 / figures.clock_ghz.value)
    }

    /// A word that copies or shuffles so many elements per partition.
    pub fn lanes(&self, elements: u64) -> u64 {
        self.word(CostClass::Stream, Engine::Dve, elements)
    }

    /// The word that loads a lane table.
    pub fn lane_table(&self) -> u64 {
        self.word(CostClass::Fixed, Engine::Dve, 0)
    }

    /// A transfer and its latency, in rows of so many contiguous bytes.
    pub fn transfer(&self, bytes: u64, row: u64) -> u64 {
        self.dma(bytes, row).saturating_add(whole(self.profile.dma.latency_ns.value * 1000.0))
    }

    /// A transfer in rows of so many contiguous bytes.
    fn dma(&self, bytes: u64, row: u64) -> u64 {
        let dma = &self.profile.dma;
        let short_rows = (dma.efficient_row_bytes.value / row.max(1) as f64).max(1.0);
        whole(bytes as f64 * 1000.0 / dma.gigabytes_per_second.value * short_rows)
    }

    /// The operation, from the types of its operands (none for a literal) and of its
    /// result.
    pub fn op(&self, op: &TensorOp, operands: &[Option<&TensorType>], result: &TensorType) -> u64 {
        let first = operands.iter().copied().flatten().next().unwrap_or(result);
        let bytes = |ty: &TensorType| ty.bytes().unwrap_or(u64::MAX >> 8);
        let price = match op {
            TensorOp::Elementwise(op) => self.elementwise(*op, operands, result),
            TensorOp::Pair { op0, op1, reverse } => {
                self.pair([*op0, *op1], *reverse, operands, result)
            }
            TensorOp::Cast | TensorOp::ToInt => self.stream(&Stream {
                elements: columns(first),
                dtypes: [first, result].iter().map(|ty| ty.dtype).collect(),
                ..Stream::default()
            }),
            TensorOp::Wrap => {
                self.word(CostClass::Elementwise, Engine::Dve, columns(first)).saturating_mul(2)
            }
            TensorOp::Reduce { op, dims, .. } => self.reduce(*op, dims, first),
            TensorOp::PartitionReduce { .. } => {
                let (rows, inner) = split(&first.shape, 1);
                let tiles = rows.div_ceil(MAX_PARTITIONS);
                self.word(CostClass::CrossLane, Engine::Pool, tiles.saturating_mul(inner))
            }
            TensorOp::TransposeReduce { .. } => {
                let (_, inner) = split(&first.shape, 1);
                self.word(CostClass::TransposeReduce, Engine::Dve, inner)
            }
            TensorOp::TransposePair { op0, op1, .. } => self.turn([*op0, *op1], first, result),
            TensorOp::Transpose { perm } => self.transpose(perm, first),
            TensorOp::ScanCache { emit, .. } => {
                let class = match emit {
                    Emit::All => CostClass::CacheScan,
                    Emit::Final => CostClass::CacheReduce,
                };
                self.word(class, Engine::Dve, columns(first))
            }
            TensorOp::Concat { .. } => self.dma(bytes(result), row_bytes(result, 1)),
            // The filling; the rest arrives where it would anyway.
            TensorOp::Pad { .. } => {
                self.dma(bytes(result).saturating_sub(bytes(first)), row_bytes(result, 1))
            }
            TensorOp::Reverse { .. } => self.dma(bytes(result), result.dtype.size_bytes()),
            TensorOp::Bitcast
            | TensorOp::Broadcast { .. }
            | TensorOp::Reshape
            | TensorOp::Slice { .. }
            | TensorOp::Iota { .. }
            | TensorOp::Constant(_) => 0,
        };
        price.saturating_add(PATTERN)
    }

    /// The cheapest of the layouts that put some of the kept dimensions on
    /// partitions and read the others along each partition.
    fn reduce(&self, op: ReduceOp, dims: &[usize], ty: &TensorType) -> u64 {
        let kept: Vec<usize> = (0..ty.rank()).filter(|dim| !dims.contains(dim)).collect();
        let wide = ty.dtype.is_int() && ty.dtype.width() >= 32 && !op.is_bitwise();
        let engine = if wide { Engine::Pool } else { Engine::Dve };
        let size = |dim: &usize| ty.shape.get(*dim).copied().unwrap_or(1);
        let elements = ty.elements().unwrap_or(u64::MAX >> 8);
        let layout = |on_partitions: usize| {
            let (outer, _) = kept.split_at(on_partitions.min(kept.len()));
            let rows = outer.iter().map(size).fold(1u64, u64::saturating_mul).max(1);
            let along = elements / rows;
            let word = self.word(
                CostClass::Reduce,
                engine,
                rows.div_ceil(MAX_PARTITIONS).saturating_mul(along),
            );
            word.saturating_add(self.gather(ty, dims, outer, rows))
        };
        (0..=kept.len()).map(layout).min().unwrap_or(0)
    }

    /// The transfer that brings each row to its partition, where it is not there:
    /// a row-major operand has its leading dimensions on partitions.
    fn gather(&self, ty: &TensorType, dims: &[usize], outer: &[usize], rows: u64) -> u64 {
        let Some(&last) = outer.last() else { return 0 };
        let moved = dims.iter().any(|&dim| dim < last && ty.shape.get(dim) != Some(&1));
        if !moved || rows.is_multiple_of(MAX_PARTITIONS) && outer.len() == 1 && last + 1 < ty.rank()
        {
            return 0;
        }
        let bytes = ty.bytes().unwrap_or(u64::MAX >> 8);
        self.dma(bytes, row_bytes(ty, ty.rank() - last - 1))
    }

    /// A transpose by DMA alone.
    fn transpose(&self, perm: &[usize], ty: &TensorType) -> u64 {
        let units = |dim: &&usize| ty.shape.get(**dim).is_some_and(|&size| size != 1);
        let moving: Vec<usize> = perm.iter().filter(units).copied().collect();
        if moving.is_sorted() {
            return 0;
        }
        let bytes = ty.bytes().unwrap_or(u64::MAX >> 8);
        let trailing = perm.iter().enumerate().rev().take_while(|&(to, &from)| to == from).count();
        self.dma(bytes, row_bytes(ty, trailing))
    }

    /// A transpose by blocks: each tile is loaded, turned and stored. What follows waits for a transfer more.
    fn turn(&self, ops: [ElementwiseOp; 2], ty: &TensorType, result: &TensorType) -> u64 {
        let [batch @ .., rows, columns] = ty.shape.as_slice() else { return 0 };
        let moves = ops == [ElementwiseOp::Copy; 2] && ty.dtype == result.dtype;
        let opcode =
            if moves { Opcode::StreamTranspose } else { Opcode::TransposeTensorScalarArithOp };
        let dtypes = [ty.dtype, result.dtype];
        let tiles = |field: &Field| {
            let price = self.tile(field.deal, dtypes, opcode);
            price.saturating_mul(field.count[0].saturating_mul(field.count[1]))
        };
        let fields = self.fields([*rows, *columns], dtypes, opcode, MAX_BLOCKS);
        let once = fields.iter().map(tiles).fold(0u64, u64::saturating_add);
        let batch = batch.iter().copied().fold(1u64, u64::saturating_mul);
        let latency = whole(self.profile.dma.latency_ns.value * 1000.0);
        once.saturating_mul(batch).saturating_add(latency)
    }

    /// How a matrix of these types before and after is best dealt to tiles that a word turns, with at most so many
    /// blocks in a partition.
    pub fn fields(
        &self,
        shape: [u64; 2],
        dtypes: [ElemType; 2],
        opcode: Opcode,
        most: u64,
    ) -> Vec<Field> {
        let efficient = self.profile.dma.efficient_row_bytes.value as u64;
        let long = dtypes.map(|dtype| efficient.div_ceil(dtype.size_bytes()));
        blocks::fields(shape, long, most, |deal| self.tile(deal, dtypes, opcode))
    }

    fn tile(&self, deal: Deal, dtypes: [ElemType; 2], opcode: Opcode) -> u64 {
        let elements = deal.channels().saturating_mul(deal.elements());
        let transfer = |side: usize| {
            let size = dtypes[side].size_bytes();
            self.dma(elements.saturating_mul(size), deal.runs()[side].saturating_mul(size))
        };
        let word = self.word(opcode.info().cost, Engine::Dve, deal.elements());
        word.saturating_add(transfer(0)).saturating_add(transfer(1))
    }
}

/// Elements of the first `leading` dimensions, and of the others.
fn split(shape: &[u64], leading: usize) -> (u64, u64) {
    let (outer, inner) = shape.split_at(leading.min(shape.len()));
    let count = |dims: &[u64]| element_count(dims).unwrap_or(u64::MAX >> 8);
    (count(outer), count(inner))
}

/// Elements per partition when the rows are dealt to partitions.
fn columns(ty: &TensorType) -> u64 {
    let (rows, inner) = split(&ty.shape, ty.rank().saturating_sub(1));
    match ty.rank() {
        0 => 1,
        1 => inner.div_ceil(MAX_PARTITIONS),
        _ => rows.div_ceil(MAX_PARTITIONS).saturating_mul(inner),
    }
}

/// Contiguous bytes of the last `dims` dimensions.
fn row_bytes(ty: &TensorType, dims: usize) -> u64 {
    let (_, inner) = split(&ty.shape, ty.rank().saturating_sub(dims));
    inner.max(1).saturating_mul(ty.dtype.size_bytes())
}
