//! Functions and their operations.

use std::borrow::Cow;

use super::{EvalError, EvalOptions, check_memory, eval_op};
use crate::data::TensorData;
use crate::entity::{OpId, ValueId};
use crate::infer;
use crate::module::{Func, Op, Operand};
use crate::ops::OpKind;
use crate::types::TensorType;

/// Runs a function on its inputs, in the order of its arguments, and gives its
/// results in order. Values are dropped after their last use.
///
/// # Errors
/// Inputs of the wrong number or type; an ill-typed function; the memory limit.
pub fn eval_func(
    func: &Func,
    inputs: &[TensorData],
    options: &EvalOptions,
) -> Result<Vec<TensorData>, EvalError> {
    check_inputs(func, inputs)?;
    let mut run = Run::new(func);
    for (&arg, input) in func.args.iter().zip(inputs) {
        run.define(arg, Cow::Borrowed(input));
    }
    for (id, op) in func.body_ops() {
        let OpKind::Tensor(kind) = &op.kind else { continue };
        let (result, ty) = typed_result(func, op)?;
        check_memory(ty, run.live, options)?;
        let literals = literals(func, id)?;
        let operands = run.operands(func, op, &literals)?;
        let value = eval_op(kind, &operands, ty, options)?;
        run.release(op);
        run.define(result, Cow::Owned(value));
    }
    let results = func.returned().collect::<Vec<_>>();
    results.into_iter().map(|value| run.take(func, value)).collect()
}

/// Evaluates an operation of a function from the values of its operands; `None`
/// when one of them is not known. The operation must have passed the verifier.
///
/// # Errors
/// As [`eval_op`].
pub fn fold_op<'a>(
    func: &Func,
    id: OpId,
    known: impl Fn(ValueId) -> Option<&'a TensorData>,
    options: &EvalOptions,
) -> Result<Option<TensorData>, EvalError> {
    let Some(op) = func.ops.get(id) else { return Ok(None) };
    let OpKind::Tensor(kind) = &op.kind else { return Ok(None) };
    if !op.value_operands().all(|value| known(value).is_some()) {
        return Ok(None);
    }
    let (_, ty) = typed_result(func, op)?;
    let literals = literals(func, id)?;
    let operands: Option<Vec<&TensorData>> = op
        .operands
        .iter()
        .zip(&literals)
        .map(|(operand, literal)| match operand {
            Operand::Value(value) => known(*value),
            Operand::Literal(_) => literal.as_ref(),
        })
        .collect();
    operands.map(|operands| eval_op(kind, &operands, ty, options)).transpose()
}

/// A literal operand as a tensor of rank 0, in the element type that it takes.
///
/// # Errors
/// The operand is a value, or nothing gives the literal a type it fits.
pub fn operand_data(func: &Func, id: OpId, index: usize) -> Result<TensorData, EvalError> {
    let bad =
        |what: &str| EvalError::malformed(func.ops.get(id).map_or("?", |op| op.kind.name()), what);
    let literal = func
        .ops
        .get(id)
        .and_then(|op| op.operands.get(index))
        .and_then(Operand::literal)
        .ok_or_else(|| bad("the operand is not a literal"))?;
    let dtype =
        func.operand_dtype(id, index).ok_or_else(|| bad("no operand gives the literal a type"))?;
    let bits = literal.to_bits(dtype).map_err(|error| bad(&error.to_string()))?;
    Ok(TensorData::scalar(dtype, bits))
}

/// The literal operands, beside the operands.
pub(super) fn literals(func: &Func, id: OpId) -> Result<Vec<Option<TensorData>>, EvalError> {
    let operands = func.ops.get(id).map_or(&[][..], |op| &op.operands);
    let one = |(index, operand): (usize, &Operand)| match operand {
        Operand::Literal(_) => operand_data(func, id, index).map(Some),
        Operand::Value(_) => Ok(None),
    };
    operands.iter().enumerate().map(one).collect()
}

/// The result of an operation and its type, after checking that the operation is
/// well typed.
pub(super) fn typed_result<'a>(
    func: &'a Func,
    op: &Op,
) -> Result<(ValueId, &'a TensorType), EvalError> {
    let not_tensor = || EvalError::NotTensor { func: func.name.clone() };
    let kind = op.kind.as_tensor().ok_or_else(not_tensor)?;
    let result = op.result().ok_or_else(not_tensor)?;
    let ty =
        func.values.get(result).and_then(|value| value.ty.as_tensor()).ok_or_else(not_tensor)?;
    let operands = infer::operand_types(func, &op.operands).ok_or_else(not_tensor)?;
    let gives = infer::result_type(kind, &operands, ty)?;
    if gives != *ty {
        return Err(EvalError::malformed(
            kind.kind_name().full(),
            &format!("it gives {gives}, not {ty}"),
        ));
    }
    Ok((result, ty))
}

/// Inputs fit the arguments.
pub(super) fn check_inputs(func: &Func, inputs: &[TensorData]) -> Result<(), EvalError> {
    if inputs.len() != func.args.len() {
        return Err(EvalError::InputCount {
            func: func.name.clone(),
            want: func.args.len(),
            got: inputs.len(),
        });
    }
    for (&arg, input) in func.args.iter().zip(inputs) {
        let value =
            func.values.get(arg).ok_or_else(|| EvalError::NotTensor { func: func.name.clone() })?;
        let want =
            value.ty.as_tensor().ok_or_else(|| EvalError::NotTensor { func: func.name.clone() })?;
        if want != input.ty() {
            return Err(EvalError::InputType {
                name: value.name.to_string(),
                types: Box::new([want.clone(), input.ty().clone()]),
            });
        }
    }
    Ok(())
}

/// Something kept per value: a tensor, or a tensor with its bounds.
pub(super) trait Held: Clone {
    fn data(&self) -> &TensorData;
    /// Bytes it adds to the evaluation's own memory.
    fn owned_bytes(&self) -> u64;
}

impl Held for Cow<'_, TensorData> {
    fn data(&self) -> &TensorData {
        self
    }

    fn owned_bytes(&self) -> u64 {
        match self {
            Cow::Borrowed(_) => 0,
            Cow::Owned(data) => data.bytes().len() as u64,
        }
    }
}

/// The values of a run in progress.
pub(super) struct Run<T> {
    values: Vec<Option<T>>,
    uses: Vec<u32>,
    pub live: u64,
}

impl<T: Held> Run<T> {
    pub fn new(func: &Func) -> Self {
        let mut values = Vec::new();
        values.resize_with(func.values.len(), || None);
        Self { values, uses: func.use_counts(), live: 0 }
    }

    /// Keeps a value when something uses it.
    pub fn define(&mut self, id: ValueId, value: T) {
        if self.uses.get(id.index()).is_some_and(|&uses| uses > 0) {
            self.live += value.owned_bytes();
            if let Some(slot) = self.values.get_mut(id.index()) {
                *slot = Some(value);
            }
        }
    }

    pub fn get(&self, func: &Func, id: ValueId) -> Result<&T, EvalError> {
        let value = self.values.get(id.index()).and_then(Option::as_ref);
        value.ok_or_else(|| EvalError::Undefined {
            name: func.values.get(id).map_or_else(String::new, |value| value.name.to_string()),
        })
    }

    /// The tensors of an operation's operands.
    pub fn operands<'a>(
        &'a self,
        func: &Func,
        op: &Op,
        literals: &'a [Option<TensorData>],
    ) -> Result<Vec<&'a TensorData>, EvalError> {
        let missing = || EvalError::malformed(op.kind.name(), "a literal has no value");
        let pairs = op.operands.iter().zip(literals);
        pairs
            .map(|(operand, literal)| match operand {
                Operand::Value(value) => Ok(self.get(func, *value)?.data()),
                Operand::Literal(_) => literal.as_ref().ok_or_else(missing),
            })
            .collect()
    }

    /// Counts an operation's uses as done, and drops what has none left.
    pub fn release(&mut self, op: &Op) {
        for value in op.value_operands() {
            let Some(uses) = self.uses.get_mut(value.index()) else { continue };
            *uses = uses.saturating_sub(1);
            if *uses == 0 {
                self.drop_value(value);
            }
        }
    }

    fn drop_value(&mut self, value: ValueId) -> Option<T> {
        let held = self.values.get_mut(value.index())?.take()?;
        self.live = self.live.saturating_sub(held.owned_bytes());
        Some(held)
    }
}

impl Run<Cow<'_, TensorData>> {
    /// A result: the value itself when this is its last use.
    fn take(&mut self, func: &Func, id: ValueId) -> Result<TensorData, EvalError> {
        if let Some(uses) = self.uses.get_mut(id.index()) {
            *uses = uses.saturating_sub(1);
            if *uses == 0 {
                self.get(func, id)?;
                if let Some(value) = self.drop_value(id) {
                    return Ok(value.into_owned());
                }
            }
        }
        Ok(self.get(func, id)?.clone().into_owned())
    }
}
