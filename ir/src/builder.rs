//! Building tensor functions from Rust: each method adds one operation, finds
//! its type by [`crate::infer`], and names its value.

use smallvec::SmallVec;

use crate::data::TensorData;
use crate::entity::ValueId;
use crate::infer::{self, InferError};
use crate::module::{ArgAttrs, Func, Operand, ValueDef};
use crate::ops::{
    CrossLaneAxis, CrossLaneOp, ElementwiseOp, Emit, PadAmounts, ReduceOp, Seed, SliceRange,
    TensorOp,
};
use crate::types::{Dims, ElemType, TensorType};

/// Adds operations to a function, one after the other.
///
/// ```
/// use partita_ir::{ElementwiseOp, ElemType, FuncBuilder, TensorType};
/// let mut b = FuncBuilder::new("double");
/// let x = b.arg("x", TensorType::new([4, 8], ElemType::F32));
/// let y = b.elementwise(ElementwiseOp::Mult, &[x.into(), 2.0f32.into()])?;
/// let func = b.finish(&[y]);
/// assert_eq!(func.result_types[0].to_string(), "tensor<4x8xf32>");
/// # Ok::<(), partita_ir::InferError>(())
/// ```
#[derive(Debug)]
pub struct FuncBuilder {
    func: Func,
    hint: Option<String>,
}

impl FuncBuilder {
    pub fn new(name: impl Into<String>) -> Self {
        Self { func: Func::new(name), hint: None }
    }

    /// Continues a function whose body has no `return` yet.
    pub fn resume(func: Func) -> Self {
        Self { func, hint: None }
    }

    pub fn func(&self) -> &Func {
        &self.func
    }

    /// For what the methods below do not cover, such as locations.
    pub fn func_mut(&mut self) -> &mut Func {
        &mut self.func
    }

    /// Adds an argument; the name is made unique.
    pub fn arg(&mut self, name: &str, ty: TensorType) -> ValueId {
        let name = self.func.fresh_name(name);
        self.func.add_arg(&name, ty, ArgAttrs::default())
    }

    /// Names the next value after `hint`; without one it is named after its
    /// operation.
    pub fn named(&mut self, hint: impl Into<String>) -> &mut Self {
        self.hint = Some(hint.into());
        self
    }

    /// The type of a tensor value.
    pub fn ty(&self, value: ValueId) -> Option<&TensorType> {
        self.func.tensor_ty(value)
    }

    /// Adds any tensor operation, asking for the type `want`; the value has the
    /// type that [`infer::result_type`] answers with.
    ///
    /// # Errors
    /// The operands or attributes do not fit the operation.
    pub fn op(
        &mut self,
        op: TensorOp,
        operands: &[Operand],
        want: &TensorType,
    ) -> Result<ValueId, InferError> {
        let hint = self.hint.take();
        let types =
            infer::operand_types(&self.func, operands).ok_or_else(InferError::not_a_tensor)?;
        let ty = infer::result_type(&op, &types, want)?;
        drop(types);
        infer::check_type(&ty)?;
        let hint = hint.unwrap_or_else(|| match &op {
            TensorOp::Elementwise(op) => op.name().to_owned(),
            op => op.kind_name().name().to_owned(),
        });
        let op = self.func.push_op(op, operands.iter().copied(), []);
        let name = self.func.fresh_name(&hint);
        let value = self.func.add_value(&name, ty, ValueDef::Op(op));
        self.func.ops[op].results.push(value);
        Ok(value)
    }

    /// An elementwise operation with its natural result type.
    ///
    /// # Errors
    /// As [`FuncBuilder::op`]; so for every method below.
    pub fn elementwise(
        &mut self,
        op: ElementwiseOp,
        operands: &[Operand],
    ) -> Result<ValueId, InferError> {
        let skip = usize::from(op == ElementwiseOp::Select);
        let dtype = self
            .first_dtype(operands.get(skip..).unwrap_or(&[]))
            .or_else(|| self.first_dtype(operands));
        let dtype = op.natural_dtype(dtype.unwrap_or(ElemType::F32));
        self.elementwise_to(op, operands, dtype)
    }

    /// An elementwise operation with an output cast.
    pub fn elementwise_to(
        &mut self,
        op: ElementwiseOp,
        operands: &[Operand],
        dtype: ElemType,
    ) -> Result<ValueId, InferError> {
        self.op(TensorOp::Elementwise(op), operands, &TensorType::scalar(dtype))
    }

    pub fn cast(&mut self, value: ValueId, dtype: ElemType) -> Result<ValueId, InferError> {
        self.op(TensorOp::Cast, &[value.into()], &TensorType::scalar(dtype))
    }

    pub fn wrap(&mut self, value: ValueId, dtype: ElemType) -> Result<ValueId, InferError> {
        self.op(TensorOp::Wrap, &[value.into()], &TensorType::scalar(dtype))
    }

    pub fn to_int(&mut self, value: ValueId, dtype: ElemType) -> Result<ValueId, InferError> {
        self.op(TensorOp::ToInt, &[value.into()], &TensorType::scalar(dtype))
    }

    pub fn bitcast(&mut self, value: ValueId, dtype: ElemType) -> Result<ValueId, InferError> {
        self.op(TensorOp::Bitcast, &[value.into()], &TensorType::scalar(dtype))
    }

    /// A reduction to the operand's element type (`ui32` for the arg operations).
    pub fn reduce(
        &mut self,
        op: ReduceOp,
        value: ValueId,
        dims: impl IntoIterator<Item = usize>,
        keep: bool,
    ) -> Result<ValueId, InferError> {
        let dims = dims.into_iter().collect();
        let want = self.scalar_like(value);
        self.op(TensorOp::Reduce { op, dims, keep, negate: false }, &[value.into()], &want)
    }

    pub fn partition_reduce(
        &mut self,
        op: CrossLaneOp,
        value: ValueId,
        axis: CrossLaneAxis,
        scale: Option<f32>,
    ) -> Result<ValueId, InferError> {
        let want = self.scalar_like(value);
        self.op(TensorOp::PartitionReduce { op, axis, scale }, &[value.into()], &want)
    }

    pub fn transpose(
        &mut self,
        value: ValueId,
        perm: impl IntoIterator<Item = usize>,
    ) -> Result<ValueId, InferError> {
        let perm = perm.into_iter().collect();
        let want = self.scalar_like(value);
        self.op(TensorOp::Transpose { perm }, &[value.into()], &want)
    }

    /// Two elementwise operations in one.
    pub fn pair(
        &mut self,
        ops: [ElementwiseOp; 2],
        operands: &[Operand],
        reverse: bool,
        dtype: ElemType,
    ) -> Result<ValueId, InferError> {
        let [op0, op1] = ops;
        self.op(TensorOp::Pair { op0, op1, reverse }, operands, &TensorType::scalar(dtype))
    }

    /// A scan along the last dimension; `seed` is loaded when given.
    pub fn scan_cache(
        &mut self,
        op0: ElementwiseOp,
        op1: ElementwiseOp,
        value: ValueId,
        scalar: impl Into<Operand>,
        seed: Option<Operand>,
        emit: Emit,
    ) -> Result<ValueId, InferError> {
        let want = self.scalar_like(value);
        let mut operands: SmallVec<[Operand; 3]> =
            SmallVec::from_slice(&[value.into(), scalar.into()]);
        operands.extend(seed);
        let seed = if seed.is_some() { Seed::Load } else { Seed::Zero };
        self.op(TensorOp::ScanCache { op0, op1, seed, emit }, &operands, &want)
    }

    /// Operand dimension `i` becomes dimension `dims[i]` of `shape`.
    pub fn broadcast(
        &mut self,
        value: ValueId,
        dims: impl IntoIterator<Item = usize>,
        shape: impl IntoIterator<Item = u64>,
    ) -> Result<ValueId, InferError> {
        let dims: Dims = dims.into_iter().collect();
        let want = self.scalar_like(value).with_shape(shape);
        self.op(TensorOp::Broadcast { dims }, &[value.into()], &want)
    }

    pub fn reshape(
        &mut self,
        value: ValueId,
        shape: impl IntoIterator<Item = u64>,
    ) -> Result<ValueId, InferError> {
        let want = self.scalar_like(value).with_shape(shape);
        self.op(TensorOp::Reshape, &[value.into()], &want)
    }

    pub fn slice(
        &mut self,
        value: ValueId,
        ranges: impl IntoIterator<Item = SliceRange>,
    ) -> Result<ValueId, InferError> {
        let ranges = ranges.into_iter().collect();
        let want = self.scalar_like(value);
        self.op(TensorOp::Slice { ranges }, &[value.into()], &want)
    }

    pub fn concat(&mut self, values: &[ValueId], dim: usize) -> Result<ValueId, InferError> {
        let operands: SmallVec<[Operand; 3]> = values.iter().copied().map(Operand::Value).collect();
        self.op(TensorOp::Concat { dim }, &operands, &TensorType::scalar(ElemType::F32))
    }

    pub fn pad(
        &mut self,
        value: ValueId,
        filling: impl Into<Operand>,
        amounts: impl IntoIterator<Item = PadAmounts>,
    ) -> Result<ValueId, InferError> {
        let amounts = amounts.into_iter().collect();
        let want = self.scalar_like(value);
        self.op(TensorOp::Pad { amounts }, &[value.into(), filling.into()], &want)
    }

    pub fn reverse(
        &mut self,
        value: ValueId,
        dims: impl IntoIterator<Item = usize>,
    ) -> Result<ValueId, InferError> {
        let dims = dims.into_iter().collect();
        let want = self.scalar_like(value);
        self.op(TensorOp::Reverse { dims }, &[value.into()], &want)
    }

    pub fn iota(&mut self, dim: usize, ty: &TensorType) -> Result<ValueId, InferError> {
        self.op(TensorOp::Iota { dim }, &[], ty)
    }

    pub fn constant(&mut self, data: TensorData) -> Result<ValueId, InferError> {
        let ty = data.ty().clone();
        self.op(TensorOp::Constant(data), &[], &ty)
    }

    /// Returns the values and gives the function away.
    pub fn finish(mut self, values: &[ValueId]) -> Func {
        self.func.push_return(values);
        self.func
    }

    fn scalar_like(&self, value: ValueId) -> TensorType {
        TensorType::scalar(self.func.ty(value).dtype())
    }

    fn first_dtype(&self, operands: &[Operand]) -> Option<ElemType> {
        operands.iter().find_map(Operand::value).map(|value| self.func.ty(value).dtype())
    }
}
