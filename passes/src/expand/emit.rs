//! A builder of typed values for expansions: literals know their element type, and an
//! operation on literals alone is computed at once.

use partita_ir::eval::{EvalOptions, convert, eval_op};
use partita_ir::ops::{ElementwiseOp, ReduceOp, SliceRange, TensorOp};
use partita_ir::types::Shape;
use partita_ir::{ElemType, FuncBuilder, Literal, Operand, TensorData, TensorType, ValueId};

use super::{OpCx, Refusal, eval_options};

/// An operand with its element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Val {
    pub operand: Operand,
    pub dtype: ElemType,
}

/// What emitting gives.
pub type Emitted = Result<Val, Refusal>;

/// Emits operations into the function of an expansion.
pub struct Emitter<'a> {
    pub b: &'a mut FuncBuilder,
    options: EvalOptions,
    int_band: bool,
}

impl<'a> Emitter<'a> {
    pub fn new(b: &'a mut FuncBuilder, cx: &OpCx<'_>) -> Self {
        Self { b, options: eval_options(cx.target), int_band: cx.has_int_band() }
    }

    /// As [`OpCx::has_int_band`].
    pub fn has_int_band(&self) -> bool {
        self.int_band
    }

    /// An operand of the operation that is expanded.
    ///
    /// # Errors
    /// There is none.
    pub fn arg(&self, cx: &OpCx<'_>, index: usize) -> Emitted {
        let dtype = cx.types.get(index).map_or(cx.dtype(), |ty| ty.dtype);
        Ok(Val { operand: cx.operand(index)?, dtype })
    }

    /// An integer (or, of a float type, a number) as a literal.
    pub fn lit(&self, value: i128, dtype: ElemType) -> Val {
        self.lit_bits(convert::encode_int(value, dtype, self.options.fp8), dtype)
    }

    pub fn lit_bits(&self, bits: u64, dtype: ElemType) -> Val {
        Val { operand: Operand::Literal(Literal::from_bits(bits, dtype)), dtype }
    }

    pub fn lit_f32(&self, value: f32) -> Val {
        self.lit_bits(u64::from(value.to_bits()), ElemType::F32)
    }

    /// A value of the function.
    pub fn val(&self, value: ValueId) -> Val {
        Val { operand: Operand::Value(value), dtype: self.b.func().ty(value).dtype() }
    }

    /// The value itself; a literal becomes a constant of rank 0.
    ///
    /// # Errors
    /// The literal does not fit its type.
    pub fn id(&mut self, val: Val) -> Result<ValueId, Refusal> {
        match val.operand {
            Operand::Value(value) => Ok(value),
            Operand::Literal(_) => Ok(self.b.constant(self.scalar(val)?)?),
        }
    }

    /// As [`Emitter::id`], for an operand that must be a value.
    ///
    /// # Errors
    /// As [`Emitter::id`].
    pub fn materialize(&mut self, val: Val) -> Emitted {
        Ok(Val { operand: Operand::Value(self.id(val)?), ..val })
    }

    fn scalar(&self, val: Val) -> Result<TensorData, Refusal> {
        let literal = val.operand.literal().ok_or_else(|| Refusal::because("not a literal"))?;
        let bits =
            literal.to_bits(val.dtype).map_err(|error| Refusal::because(error.to_string()))?;
        Ok(TensorData::scalar(val.dtype, bits))
    }

    /// The type of a value; a literal has rank 0.
    pub fn ty(&self, val: Val) -> TensorType {
        let ty = val.operand.value().and_then(|value| self.b.ty(value));
        ty.cloned().unwrap_or_else(|| TensorType::scalar(val.dtype))
    }

    pub fn shape(&self, val: Val) -> Shape {
        self.ty(val).shape
    }

    /// Any operation with values or literals as operands, asking for a type.
    ///
    /// # Errors
    /// The operands do not fit the operation.
    pub fn tensor(&mut self, op: TensorOp, operands: &[Val], want: &TensorType) -> Emitted {
        if !operands.is_empty() && operands.iter().all(|val| val.operand.literal().is_some()) {
            let data: Vec<TensorData> =
                operands.iter().map(|&val| self.scalar(val)).collect::<Result<_, _>>()?;
            let data: Vec<&TensorData> = data.iter().collect();
            let folded = eval_op(&op, &data, &TensorType::scalar(want.dtype), &self.options)?;
            return Ok(self.lit_bits(folded.bits(0).unwrap_or(0), want.dtype));
        }
        let operands: Vec<Operand> = operands.iter().map(|val| val.operand).collect();
        let value = self.b.op(op, &operands, want)?;
        Ok(self.val(value))
    }

    /// An elementwise operation.
    ///
    /// # Errors
    /// As [`Emitter::tensor`].
    pub fn op(&mut self, op: ElementwiseOp, operands: &[Val], to: ElemType) -> Emitted {
        self.tensor(TensorOp::Elementwise(op), operands, &TensorType::scalar(to))
    }

    /// `tensor.cast`; nothing when the type is already right.
    ///
    /// # Errors
    /// As [`Emitter::tensor`].
    pub fn cast(&mut self, val: Val, to: ElemType) -> Emitted {
        self.convert(TensorOp::Cast, val, to)
    }

    /// `tensor.wrap`; nothing when the type is already right.
    ///
    /// # Errors
    /// As [`Emitter::tensor`].
    pub fn wrap(&mut self, val: Val, to: ElemType) -> Emitted {
        self.convert(TensorOp::Wrap, val, to)
    }

    /// `tensor.bitcast` to a type of the same width.
    ///
    /// # Errors
    /// As [`Emitter::tensor`].
    pub fn bitcast(&mut self, val: Val, to: ElemType) -> Emitted {
        match val.operand.literal() {
            Some(_) if val.dtype != to => {
                let bits = self.scalar(val)?.bits(0).unwrap_or(0);
                Ok(self.lit_bits(bits, to))
            }
            _ => self.convert(TensorOp::Bitcast, val, to),
        }
    }

    fn convert(&mut self, op: TensorOp, val: Val, to: ElemType) -> Emitted {
        if val.dtype == to {
            return Ok(val);
        }
        self.tensor(op, &[val], &TensorType::scalar(to))
    }

    /// The same elements under another shape; nothing when it is the same.
    ///
    /// # Errors
    /// The element counts differ.
    pub fn reshape(&mut self, val: Val, shape: &[u64]) -> Emitted {
        if *self.shape(val) == *shape {
            return Ok(val);
        }
        let value = self.id(val)?;
        let value = self.b.reshape(value, shape.iter().copied())?;
        Ok(self.val(value))
    }

    /// Repeats a value to a shape that it broadcasts to as in NumPy.
    ///
    /// # Errors
    /// It does not.
    pub fn broadcast(&mut self, val: Val, shape: &[u64]) -> Emitted {
        let own = self.shape(val);
        if *own == *shape && val.operand.value().is_some() {
            return Ok(val);
        }
        let value = self.id(val)?;
        let first = shape.len().saturating_sub(own.len());
        let value = self.b.broadcast(value, first..shape.len(), shape.iter().copied())?;
        Ok(self.val(value))
    }

    /// Elements `start..limit` of one dimension.
    ///
    /// # Errors
    /// The range does not fit.
    pub fn slice(&mut self, val: Val, dim: usize, start: u64, limit: u64) -> Emitted {
        let shape = self.shape(val);
        if start == 0 && shape.get(dim) == Some(&limit) {
            return Ok(val);
        }
        let ranges = shape.iter().enumerate().map(|(d, &size)| {
            let (start, limit) = if d == dim { (start, limit) } else { (0, size) };
            SliceRange { start, limit, stride: 1 }
        });
        let value = self.id(val)?;
        let value = self.b.slice(value, ranges.collect::<Vec<_>>())?;
        Ok(self.val(value))
    }

    /// Values side by side.
    ///
    /// # Errors
    /// The shapes do not fit.
    pub fn concat(&mut self, vals: &[Val], dim: usize) -> Emitted {
        if let [val] = vals {
            return Ok(*val);
        }
        let values = vals.iter().map(|&val| self.id(val)).collect::<Result<Vec<_>, _>>()?;
        let value = self.b.concat(&values, dim)?;
        Ok(self.val(value))
    }

    /// A reduction with a result type.
    ///
    /// # Errors
    /// The dimensions do not fit.
    pub fn reduce(
        &mut self,
        op: ReduceOp,
        val: Val,
        dims: &[usize],
        keep: bool,
        to: ElemType,
    ) -> Emitted {
        let dims = dims.iter().copied().collect();
        let op = TensorOp::Reduce { op, dims, keep, negate: false };
        self.tensor(op, &[val], &TensorType::scalar(to))
    }

    /// A constant tensor.
    ///
    /// # Errors
    /// The builder refuses it.
    pub fn constant(&mut self, data: TensorData) -> Emitted {
        let value = self.b.constant(data)?;
        Ok(self.val(value))
    }
}
