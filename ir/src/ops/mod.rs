//! The operations, as closed enums whose small vocabularies are tables.

mod elementwise;
mod tensor;

pub use elementwise::{Class, Domain, ElementwiseOp};
pub use tensor::{
    CrossLaneAxis, CrossLaneOp, Emit, PadAmounts, ReduceOp, Seed, SliceRange, TensorOp,
    TensorOpName,
};

/// What an operation does.
#[derive(Clone, Debug, PartialEq)]
pub enum OpKind {
    /// A pure operation on tensors; one result.
    Tensor(TensorOp),
    /// The last operation of a function; its operands are the results.
    Return,
}

impl OpKind {
    /// The name in text, with the dialect.
    pub fn name(&self) -> &'static str {
        match self {
            OpKind::Tensor(op) => op.kind_name().full(),
            OpKind::Return => "return",
        }
    }

    pub fn as_tensor(&self) -> Option<&TensorOp> {
        match self {
            OpKind::Tensor(op) => Some(op),
            OpKind::Return => None,
        }
    }
}

impl From<TensorOp> for OpKind {
    fn from(op: TensorOp) -> Self {
        OpKind::Tensor(op)
    }
}
