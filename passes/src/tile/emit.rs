//! Building a function of the tile dialect: buffers, instructions and transfers.

use partita_ir::data::TensorData;
use partita_ir::entity::ValueId;
use partita_ir::ops::{DmaOp, InstOp, MachineOp};
use partita_ir::{ElemType, Func, Operand, Space, TileType};
use partita_isa::dma::{Descriptor, DmaAddr, DmaDim, DmaSpace, MAX_DIMS};
use partita_isa::{Dtype, Engine, Instruction, Target};
use smallvec::{SmallVec, smallvec};

/// The most elements of one transfer (DMA-3 allows fewer than 2³²).
const MAX_ELEMENTS: u64 = 1 << 31;

/// The most operations of a function: some hundred megabytes of them.
pub const MAX_OPERATIONS: usize = 1 << 19;

/// A function of the tile dialect in the making.
#[derive(Debug)]
pub struct TileBuilder {
    pub func: Func,
    target: Target,
    /// What the next operations are attributed to.
    source: Option<Box<str>>,
}

/// One side of a transfer: a tile, and where in it the first element lies.
#[derive(Clone, Copy, Debug)]
pub struct End {
    pub tile: ValueId,
    /// Bytes from the tile's start; on the chip, partition times stride plus byte.
    pub offset: i64,
}

/// One loop of a transfer, with its step in bytes on either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    pub count: u64,
    pub from: i64,
    pub to: i64,
}

impl TileBuilder {
    pub fn new(name: &str, target: Target) -> Self {
        Self { func: Func::new(name), target, source: None }
    }

    /// Attributes what follows to an operation of the source.
    pub fn set_source(&mut self, name: &str) {
        self.source = Some(name.into());
    }

    /// Bytes between partitions in addresses of SBUF.
    pub fn partition_stride(&self) -> i64 {
        self.target.generation.sbuf_stride() as i64
    }

    pub fn alloc(&mut self, space: Space, shape: &[u64], dtype: ElemType, hint: &str) -> ValueId {
        let ty = TileType::new(space, shape.iter().copied(), dtype);
        let op = self.func.push_op(
            MachineOp::Alloc { address: None },
            [],
            [(hint.to_owned(), ty.into())],
        );
        self.func.ops[op].loc = self.source.clone();
        self.func.ops[op].results[0]
    }

    /// A buffer in main memory that holds these elements from the start.
    pub fn constant(&mut self, data: TensorData) -> ValueId {
        let ty = TileType::new(Space::Hbm, data.shape().iter().copied(), data.dtype());
        let kind = MachineOp::Constant { address: None, data };
        let op = self.func.push_op(kind, [], [("constant".to_owned(), ty.into())]);
        self.func.ops[op].results[0]
    }

    /// Adds a word; each base names an address field and the tile that it counts from.
    pub fn inst(&mut self, engine: Engine, inst: Instruction, bases: &[(&'static str, ValueId)]) {
        let op = self.func.push_op(
            MachineOp::Inst(Box::new(InstOp {
                engine: Some(engine),
                inst,
                fields: bases.iter().map(|&(field, _)| field).collect(),
            })),
            bases.iter().map(|&(_, tile)| Operand::Value(tile)),
            [],
        );
        self.func.ops[op].loc = self.source.clone();
    }

    /// Adds as many descriptors as the loops need. Innermost first; counts of 0 move nothing.
    pub fn transfer(&mut self, queue: u8, element: u64, from: End, to: End, moves: &[Move]) {
        if moves.iter().any(|step| step.count == 0) {
            return;
        }
        let mut merged: SmallVec<[Move; 8]> = SmallVec::new();
        for next in moves.iter().filter(|step| step.count != 1) {
            match merged.last_mut() {
                Some(inner)
                    if inner.from * inner.count as i64 == next.from
                        && inner.to * inner.count as i64 == next.to =>
                {
                    inner.count *= next.count;
                }
                _ => merged.push(*next),
            }
        }
        self.descriptors(queue, element, from, to, &merged);
    }

    /// One descriptor where the loops fit its dimensions and elements, else pieces of the outermost loop.
    fn descriptors(&mut self, queue: u8, element: u64, from: End, to: End, moves: &[Move]) {
        let elements =
            moves.iter().fold(1, |product: u64, step| product.saturating_mul(step.count));
        let Some((step, inner)) =
            moves.split_last().filter(|_| moves.len() > MAX_DIMS || elements > MAX_ELEMENTS)
        else {
            self.descriptor(queue, element, from, to, moves);
            return;
        };
        let within = elements / step.count.max(1);
        let piece = if moves.len() > MAX_DIMS { 1 } else { (MAX_ELEMENTS / within.max(1)).max(1) };
        let mut start = 0;
        while start < step.count && !self.is_full() {
            let count = piece.min(step.count - start);
            let mut rest: SmallVec<[Move; 8]> = inner.into();
            if count > 1 {
                rest.push(Move { count, ..*step });
            }
            let at = |end: End, by: i64| End { offset: end.offset + by * start as i64, ..end };
            self.descriptors(queue, element, at(from, step.from), at(to, step.to), &rest);
            start += count;
        }
    }

    /// True when the function has as many operations as a program may have; what it lacks then is not
    /// emitted, and it is to be thrown away.
    pub fn is_full(&self) -> bool {
        self.func.body.len() >= MAX_OPERATIONS
    }

    fn descriptor(&mut self, queue: u8, element: u64, from: End, to: End, moves: &[Move]) {
        let side = |end: End| {
            let space = match self.func.ty(end.tile).as_tile().map(|ty| ty.space) {
                Some(Space::Sbuf | Space::Psum) => DmaSpace::Sbuf,
                _ => DmaSpace::Hbm,
            };
            DmaAddr { space, addr: end.offset as u64 }
        };
        let mut desc = Descriptor::copy(carrier(element), side(from), side(to));
        desc.queue = queue;
        for step in moves {
            let dim =
                DmaDim { count: step.count as u32, src_stride: step.from, dst_stride: step.to };
            // At most MAX_DIMS by the unrolling above.
            let _ = desc.dims.push(dim);
        }
        let op = self.func.push_op(
            MachineOp::Dma(Box::new(DmaOp { desc, fields: smallvec!["src", "dst"] })),
            [Operand::Value(from.tile), Operand::Value(to.tile)],
            [],
        );
        self.func.ops[op].loc = self.source.clone();
    }
}

/// A type of the element's size; a copy moves bytes and asks no more.
fn carrier(element: u64) -> Dtype {
    match element {
        1 => Dtype::Uint8,
        2 => Dtype::Uint16,
        4 => Dtype::Uint32,
        _ => Dtype::Uint64,
    }
}
