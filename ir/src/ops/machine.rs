//! The `tile` and `tpb` dialects: buffers, and the instructions and transfers that
//! write into them.
//!
//! A value of these dialects is a buffer. Instructions have no results; they read
//! and write the tiles among their operands. In the `tile` dialect an address
//! field holds a distance from the tile that the field refers to; in `tpb` it
//! holds the whole address, and there are no operands.

use partita_isa::dma::Descriptor;
use partita_isa::{Engine, Instruction};
use smallvec::SmallVec;

use crate::data::TensorData;

/// A machine operation.
#[derive(Clone, Debug, PartialEq)]
pub enum MachineOp {
    /// Makes a buffer; one result of a tile type. `tpb` states its byte address.
    Alloc { address: Option<u64> },
    /// A buffer in `hbm` that holds these elements when the program starts; one
    /// result of the same shape and element type.
    Constant { address: Option<u64>, data: TensorData },
    /// One instruction word.
    Inst(Box<InstOp>),
    /// One DMA transfer.
    Dma(Box<DmaOp>),
}

/// One instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct InstOp {
    /// The queue it goes to, once one is chosen.
    pub engine: Option<Engine>,
    pub inst: Instruction,
    /// The address field that each operand of the operation is the base of, in
    /// the order of `Op::operands`: names of ISA 7, such as `src0_mem_pattern`.
    pub fields: SmallVec<[&'static str; 3]>,
}

/// One DMA transfer.
#[derive(Clone, Debug, PartialEq)]
pub struct DmaOp {
    pub desc: Descriptor,
    /// What each operand of the operation is the base of: `src` or `dst`.
    pub fields: SmallVec<[&'static str; 2]>,
}

impl MachineOp {
    /// What each operand of the operation is the base of, in their order; empty
    /// where addresses are absolute.
    pub fn fields(&self) -> &[&'static str] {
        match self {
            MachineOp::Alloc { .. } | MachineOp::Constant { .. } => &[],
            MachineOp::Inst(inst) => &inst.fields,
            MachineOp::Dma(dma) => &dma.fields,
        }
    }

    /// The kind of operation, as text begins it.
    pub fn kind_name(&self) -> &'static str {
        match self {
            MachineOp::Alloc { address: None } => "tile.alloc",
            MachineOp::Alloc { address: Some(_) } => "tpb.alloc",
            MachineOp::Constant { address: None, .. } => "tile.constant",
            MachineOp::Constant { address: Some(_), .. } => "tpb.constant",
            MachineOp::Inst(inst) if inst.fields.is_empty() => "tpb.inst",
            MachineOp::Inst(_) => "tile.inst",
            MachineOp::Dma(dma) if dma.fields.is_empty() => "tpb.dma",
            MachineOp::Dma(_) => "tile.dma",
        }
    }
}
