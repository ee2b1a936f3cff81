//! Two elementwise operations without a rounding between them.

use std::borrow::Cow;

use super::EvalError;
use super::convert::Fp8Options;
use super::elementwise::{Conversion, convert, elementwise};
use crate::data::TensorData;
use crate::infer::broadcast_shapes;
use crate::ops::ElementwiseOp;
use crate::types::{ElemType, TensorType};

/// `t = a OP0 b`, then `t OP1 c` or `c OP1 t`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub op0: ElementwiseOp,
    pub op1: ElementwiseOp,
    pub reverse: bool,
}

impl Pair {
    /// The operands of the first operation, and those of the second beside its result.
    pub fn split<T>(self, operands: &[T]) -> (&[T], &[T]) {
        operands.split_at(self.op0.arity().min(operands.len()))
    }

    /// The place of the operand that is no literal (those have rank 0), of a pair with one.
    pub fn tensor(self, operands: &[&TensorData]) -> usize {
        operands.iter().position(|data| !data.shape().is_empty()).unwrap_or(0)
    }

    /// The operands with another in the place of the one that is no literal.
    pub fn around<'a>(
        self,
        operands: &[&'a TensorData],
        other: &'a TensorData,
    ) -> Vec<&'a TensorData> {
        let place = self.tensor(operands);
        let operand =
            |(at, &data): (usize, &&'a TensorData)| if at == place { other } else { data };
        operands.iter().enumerate().map(operand).collect()
    }

    /// True when neither operation changes anything.
    pub fn moves(self, data: &TensorData, to: ElemType) -> bool {
        [self.op0, self.op1] == [ElementwiseOp::Copy; 2] && data.dtype() == to
    }

    /// The operands of the second operation in order.
    pub fn ordered<T>(self, t: T, other: impl Iterator<Item = T>) -> Vec<T> {
        let mut all: Vec<T> = std::iter::once(t).chain(other).collect();
        if self.reverse {
            all.reverse();
        }
        all
    }

    /// An operand as the operations read it.
    pub fn read<'a>(
        self,
        data: &'a TensorData,
        fp8: Fp8Options,
    ) -> Result<Cow<'a, TensorData>, EvalError> {
        if self.op0.is_bits() || data.dtype() == ElemType::F32 {
            return Ok(Cow::Borrowed(data));
        }
        let ty = data.ty().with_dtype(ElemType::F32);
        convert(Conversion::Cast, data, &ty, fp8).map(Cow::Owned)
    }

    /// The result of the first operation.
    pub fn first(self, operands: &[&TensorData], fp8: Fp8Options) -> Result<TensorData, EvalError> {
        let (first, _) = self.split(operands);
        let read = first.iter().map(|data| self.read(data, fp8)).collect::<Result<Vec<_>, _>>()?;
        let read: Vec<&TensorData> = read.iter().map(AsRef::as_ref).collect();
        let dtype = read.first().map_or(ElemType::F32, |data| data.dtype());
        let shape = broadcast_shapes(read.iter().map(|data| data.ty()))?;
        elementwise(self.op0, &read, &TensorType { shape, dtype }, fp8)
    }

    /// The result of the second, given that of the first.
    pub fn second(
        self,
        t: &TensorData,
        operands: &[&TensorData],
        result: &TensorType,
        fp8: Fp8Options,
    ) -> Result<TensorData, EvalError> {
        let (_, rest) = self.split(operands);
        let rest = rest.iter().map(|data| self.read(data, fp8)).collect::<Result<Vec<_>, _>>()?;
        elementwise(self.op1, &self.ordered(t, rest.iter().map(AsRef::as_ref)), result, fp8)
    }
}
