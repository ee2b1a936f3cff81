//! The identities of canonicalization, as rows of data.
//!
//! Every row keeps the bits of the result for every input, NaNs apart: a NaN that
//! arithmetic gives carries no promised payload (ISA 10.3), so `x * 1` may become
//! `x` although their NaNs differ. `x + 0.0` is no identity, since −0 + 0 is +0.

use partita_ir::ops::TensorOpName;
use partita_ir::{Func, Op, OpId, Operand, TensorData, TensorOp, TensorType, ValueId};
use smallvec::SmallVec;

use super::{constant, layout, operands, scalar};
use crate::rewrite::RewriteClass;

/// Operands in order.
pub type Operands = SmallVec<[Operand; 3]>;

/// What an operation becomes.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "one is alive at a time")]
pub enum Step {
    /// A value that is there already, of the same type.
    Value(ValueId),
    /// Another operation with the same result.
    Op(TensorOp, Operands),
}

/// One identity.
#[derive(Debug)]
pub struct Identity {
    pub name: &'static str,
    /// What it says.
    pub doc: &'static str,
    /// The operations it looks at.
    pub root: TensorOpName,
    /// The simpler form, where the identity holds.
    pub apply: fn(&mut Context<'_>) -> Option<Step>,
}

impl Identity {
    /// Canonicalization changes no result.
    pub const CLASS: RewriteClass = RewriteClass::Exact;
}

/// Every identity, in the order in which they are tried.
pub fn all() -> impl Iterator<Item = &'static Identity> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// The identities of one kind of operation, with their numbers in [`all`].
pub fn of(root: TensorOpName) -> impl Iterator<Item = (usize, &'static Identity)> {
    all().enumerate().filter(move |(_, identity)| identity.root == root)
}

const TABLES: [&[Identity]; 3] = [scalar::IDENTITIES, operands::IDENTITIES, layout::IDENTITIES];

/// An operation in its function, as an identity sees it.
pub struct Context<'a> {
    pub(super) func: &'a mut Func,
    pub(super) body: &'a mut Vec<OpId>,
    pub(super) id: OpId,
}

impl Context<'_> {
    pub fn op(&self) -> &Op {
        &self.func.ops[self.id]
    }

    pub fn kind(&self) -> Option<&TensorOp> {
        self.op().as_tensor()
    }

    /// The type of the result.
    pub fn ty(&self) -> Option<&TensorType> {
        self.func.tensor_ty(self.op().result()?)
    }

    pub fn operand(&self, index: usize) -> Option<Operand> {
        self.op().operands.get(index).copied()
    }

    /// The value of an operand that is one.
    pub fn value(&self, index: usize) -> Option<ValueId> {
        self.operand(index)?.value()
    }

    pub fn value_ty(&self, value: ValueId) -> Option<&TensorType> {
        self.func.tensor_ty(value)
    }

    /// The operand, if it has the type of the result.
    pub fn same_type(&self, index: usize) -> Option<ValueId> {
        let value = self.value(index)?;
        (self.value_ty(value)? == self.ty()?).then_some(value)
    }

    /// The operation that defines a value, and its operands.
    pub fn def(&self, value: ValueId) -> Option<(&TensorOp, &Operands)> {
        let op = self.func.ops.get(self.func.def_op(value)?)?;
        Some((op.as_tensor()?, &op.operands))
    }

    /// The definition of an operand.
    pub fn operand_def(&self, index: usize) -> Option<(&TensorOp, &Operands)> {
        self.def(self.value(index)?)
    }

    /// The data of a constant.
    pub fn constant(&self, value: ValueId) -> Option<&TensorData> {
        constant(self.func, value)
    }

    /// The bits that every element of a value has, seen through broadcasts.
    pub fn splat(&self, value: ValueId) -> Option<u64> {
        let mut value = value;
        // Broadcasts of broadcasts are merged already.
        for _ in 0..3 {
            match self.def(value)? {
                (TensorOp::Constant(data), _) => return data.splat_bits(),
                (TensorOp::Broadcast { .. } | TensorOp::Reshape, operands) => {
                    value = operands.first()?.value()?;
                }
                _ => return None,
            }
        }
        None
    }

    /// Puts an operation of one operand before this one.
    pub fn emit(&mut self, op: TensorOp, operand: ValueId, ty: TensorType) -> Option<ValueId> {
        let hint = op.kind_name().name().to_owned();
        let made = self.func.make_op(op, [Operand::Value(operand)], [(hint, ty.into())]);
        self.body.push(made);
        self.func.ops[made].result()
    }
}

/// A step to an operation of one operand.
pub(super) fn unary(op: TensorOp, operand: ValueId) -> Option<Step> {
    Some(Step::Op(op, SmallVec::from_slice(&[Operand::Value(operand)])))
}
