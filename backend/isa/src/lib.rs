//! The 64-byte instruction words of the NeuronCore vector (DVE) and GPSIMD (POOL) engines: structs,
//! enumerations and rules as tables; decoding, encoding, checking and text.
//!
//! Nothing here knows of a compiler: a disassembler or validator needs this crate alone.

pub mod address;
pub mod alu;
pub mod asm;
pub mod builder;
pub mod check;
mod diagram;
pub mod dma;
pub mod dtype;
pub mod enums;
pub mod explain;
pub mod field;
pub mod instruction;
mod instruction_set;
pub mod layout;
mod names;
pub mod numerics;
pub mod opcode;
pub mod reference;
pub mod rule;
mod table;
pub mod target;
pub mod violation;
pub mod word;

pub use address::{Location, Memory};
pub use alu::AluOp;
pub use asm::AsmError;
pub use check::{check, is_legal};
pub use dtype::Dtype;
pub use enums::{
    AccumCmd, DebugCmd, ImmSrc, ReduceAxis, ReduceOp, ReverseOps, SubDim, UpdateMode, WaitMode,
};
pub use field::{Field, FieldKind, Pattern};
pub use instruction::{Body, BodyKind, Instruction};
pub use layout::{
    CrossLaneReduce, Events, ExtendedTensorTensor, Header, Layout, LoadMaskSelect,
    ScalarTensorTensor, TensorReduce, TensorScalar, TensorScalarSelect, TensorTensor,
};
pub use numerics::Domain;
pub use opcode::{CostClass, Opcode, OpcodeInfo};
pub use rule::{Confidence, Rule};
pub use target::{Engine, Engines, Generation, Generations, Target};
pub use violation::{Severity, Violation};
pub use word::Word;
