//! The operations, as closed enums whose small vocabularies are tables.

mod check;
mod elementwise;
mod machine;
mod tensor;

pub use check::CheckOp;
pub use elementwise::{Class, Domain, ElementwiseOp};
pub use machine::{DmaOp, InstOp, MachineOp};
pub use tensor::{
    CrossLaneAxis, CrossLaneOp, Emit, PadAmounts, ReduceOp, Seed, SliceRange, TensorOp,
    TensorOpName,
};

/// What an operation does.
#[derive(Clone, Debug, PartialEq)]
pub enum OpKind {
    /// A pure operation on tensors; one result.
    Tensor(TensorOp),
    /// A buffer, an instruction or a transfer.
    Machine(MachineOp),
    /// A comparison of two tensors, for self-checking programs; no result.
    Check(CheckOp),
    /// The last operation of a function; its operands are the results.
    Return,
}

impl OpKind {
    /// The kind of operation, with its dialect, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            OpKind::Tensor(op) => op.kind_name().full(),
            OpKind::Machine(op) => op.kind_name(),
            OpKind::Check(op) => op.name(),
            OpKind::Return => "return",
        }
    }

    pub fn as_tensor(&self) -> Option<&TensorOp> {
        match self {
            OpKind::Tensor(op) => Some(op),
            _ => None,
        }
    }

    pub fn as_machine(&self) -> Option<&MachineOp> {
        match self {
            OpKind::Machine(op) => Some(op),
            _ => None,
        }
    }
}

impl From<MachineOp> for OpKind {
    fn from(op: MachineOp) -> Self {
        OpKind::Machine(op)
    }
}

impl From<CheckOp> for OpKind {
    fn from(op: CheckOp) -> Self {
        OpKind::Check(op)
    }
}

impl From<TensorOp> for OpKind {
    fn from(op: TensorOp) -> Self {
        OpKind::Tensor(op)
    }
}
