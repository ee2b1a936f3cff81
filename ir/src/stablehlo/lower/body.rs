//! Bodies of reductions, windows and maps: functions of scalars, applied to whole tensors.

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::shape::spread;
use super::{Call, Code, Diagnostic, Fault, Lower, Region, Span, wrong};
use crate::builder::FuncBuilder;
use crate::data::TensorData;
use crate::entity::ValueId;
use crate::eval::{EvalOptions, eval_func};
use crate::ops::{ElementwiseOp, ReduceOp};
use crate::stablehlo::read::syntax::{Attr, Op as HloOp};
use crate::types::{ElemType, TensorType};

pub(super) type Values = SmallVec<[ValueId; 1]>;

/// An error that has been reported already.
pub(super) fn said() -> Fault {
    Box::new(Diagnostic::error(Code::HloNote, "", Span::NONE))
}

/// What combines two elements.
#[derive(Clone, Copy)]
pub(super) enum Combine<'f, 's> {
    Op(ReduceOp),
    Body(&'f Region<'s>),
}

/// Folds by name and class of type: floats, integers, truth values.
const FOLDS: &[(&str, [Option<ReduceOp>; 3])] = &[
    ("add", [Some(ReduceOp::Add), Some(ReduceOp::Add), Some(ReduceOp::BitwiseOr)]),
    ("multiply", [Some(ReduceOp::Mult), Some(ReduceOp::Mult), Some(ReduceOp::BitwiseAnd)]),
    ("maximum", [Some(ReduceOp::Maximum), Some(ReduceOp::Maximum), Some(ReduceOp::BitwiseOr)]),
    ("minimum", [Some(ReduceOp::Minimum), Some(ReduceOp::Minimum), Some(ReduceOp::BitwiseAnd)]),
    ("and", [None, Some(ReduceOp::BitwiseAnd), Some(ReduceOp::BitwiseAnd)]),
    ("or", [None, Some(ReduceOp::BitwiseOr), Some(ReduceOp::BitwiseOr)]),
    ("xor", [None, Some(ReduceOp::BitwiseXor), Some(ReduceOp::BitwiseXor)]),
];

/// The fold of an operation of StableHLO on a type.
pub(super) fn fold_of(name: &str, dtype: ElemType) -> Option<ReduceOp> {
    let class = match dtype {
        ElemType::I1 => 2,
        _ if dtype.is_int() => 1,
        _ => 0,
    };
    let key = name.strip_prefix("stablehlo.")?;
    FOLDS.iter().find(|(fold, _)| *fold == key).and_then(|(_, ops)| ops[class])
}

/// Where the body's result number `nth` of `count` is one operation on the elements number `nth`: its name.
pub(super) fn single_op<'s>(region: &Region<'s>, nth: usize, count: usize) -> Option<&'s str> {
    let (last, ops) = region.ops.split_last()?;
    let returned = last.operands.get(nth)?;
    let op: &HloOp<'s> =
        ops.iter().find(|op| op.results.iter().any(|result| result.name == returned.name))?;
    let (a, b) = (region.args.get(nth)?.name, region.args.get(nth + count)?.name);
    match op.operands.as_slice() {
        [x, y] if (x.name, y.name) == (a, b) || (x.name, y.name) == (b, a) => Some(op.name),
        _ => None,
    }
}

/// The bits that a fold may start from without effect; of a float sum either zero.
pub(super) fn is_identity(op: ReduceOp, dtype: ElemType, bits: u64) -> bool {
    let ones = u64::MAX >> (64 - dtype.width());
    let number = |value: f64| crate::float::encode(value, dtype);
    let (low, high) = match dtype.int_range() {
        Some((low, high)) => (low as u64 & ones, high as u64 & ones),
        None => (number(f64::NEG_INFINITY), number(f64::INFINITY)),
    };
    let one = if dtype.is_int() { 1 } else { number(1.0) };
    match op {
        ReduceOp::Add if dtype.is_float() => bits == 0 || bits == number(-0.0),
        ReduceOp::Add | ReduceOp::BitwiseOr | ReduceOp::BitwiseXor | ReduceOp::LogicalOr => {
            bits == 0
        }
        ReduceOp::Mult | ReduceOp::LogicalAnd => bits == one,
        ReduceOp::BitwiseAnd => bits == ones,
        ReduceOp::Max | ReduceOp::Maximum => bits == low,
        ReduceOp::Min | ReduceOp::Minimum => bits == high,
        ReduceOp::Argmax | ReduceOp::Argmin => false,
    }
}

impl<'f, 's> Lower<'f, 's> {
    /// Applies a body to tensors of one shape; what it makes of scalars alone is repeated to that shape.
    pub(super) fn lifted(
        &mut self,
        call: &Call<'f, 's>,
        region: &'f Region<'s>,
        args: &[ValueId],
        shape: &[u64],
    ) -> Result<Values, Fault> {
        if region.args.len() != args.len() {
            return Err(call.malformed(format_args!(
                "the body takes {} arguments, not {}",
                args.len(),
                region.args.len()
            )));
        }
        if region
            .args
            .iter()
            .any(|arg| self.tensor_type(arg.ty, arg.span).is_ok_and(|ty| ty.rank() > 0))
        {
            return Err(call.malformed("the body takes scalars"));
        }
        for (arg, &value) in region.args.iter().zip(args) {
            let want = self.tensor_type(arg.ty, arg.span)?;
            if want.dtype != self.dtype(value) {
                let message = format!(
                    "`%{}` is a `{}`, the operand's elements are `{}`",
                    arg.name,
                    want.dtype,
                    self.dtype(value)
                );
                return Err(Box::new(Diagnostic::error(Code::OperandType, message, arg.span)));
            }
        }
        self.scopes.push(FxHashMap::default());
        let outer = std::mem::replace(&mut self.lifted, true);
        self.bind_args(&region.args, args);
        let returned = self.block(region);
        self.lifted = outer;
        self.scopes.pop();
        let slots = returned.ok_or_else(said)?;
        let mut values = Values::new();
        for slot in slots {
            let value = slot.ok_or_else(said)?;
            values.push(spread(self, value, shape).map_err(wrong(call))?);
        }
        Ok(values)
    }

    /// Combines elements, each group `a` before its group `b`.
    pub(super) fn combine(
        &mut self,
        call: &Call<'f, 's>,
        how: Combine<'f, 's>,
        a: &[ValueId],
        b: &[ValueId],
    ) -> Result<Values, Fault> {
        match how {
            Combine::Op(op) => {
                let op = op.combine().unwrap_or(ElementwiseOp::Bypass);
                let (Some(&a), Some(&b)) = (a.first(), b.first()) else {
                    return Err(call.malformed("has no operands"));
                };
                Ok(smallvec![self.two(op, a, b).map_err(wrong(call))?])
            }
            Combine::Body(region) => {
                let args: Vec<ValueId> = a.iter().chain(b).copied().collect();
                let shape = b.first().map(|&value| self.ty(value).shape).unwrap_or_default();
                self.lifted(call, region, &args, &shape)
            }
        }
    }

    /// Whether a body of a value and an index each keeps the extreme and its first index.
    ///
    /// Operations that only compare and choose depend on nothing but the order of their operands, so trying each
    /// order is a proof. The left index is below the right one, as elements come in order.
    pub(super) fn extreme(&mut self, region: &'f Region<'s>) -> Option<ReduceOp> {
        const ORDER_ONLY: &[&str] =
            &["compare", "select", "and", "or", "not", "xor", "maximum", "minimum", "return"];
        let in_order = |op: &HloOp<'_>| {
            let key = op.name.strip_prefix("stablehlo.");
            key.is_some_and(|key| ORDER_ONLY.contains(&key))
                && op.attrs.iter().all(|attr| !matches!(attr.value, Attr::Dense { .. }))
        };
        let types: Option<Vec<TensorType>> = region
            .args
            .iter()
            .map(|arg| self.tensor_type(arg.ty, arg.span).ok().filter(|ty| ty.rank() == 0))
            .collect();
        let [value, index, ..] = *types?.iter().map(|ty| ty.dtype).collect::<Vec<_>>() else {
            return None;
        };
        if region.args.len() != 4 || !region.ops.iter().all(in_order) || !index.is_int() {
            return None;
        }
        let nan = if value.is_float() { f32::NAN } else { 1.0 };
        let left = [0.0, 1.0, 1.0, nan, 0.0, nan, 0.0];
        let right = [1.0, 0.0, 1.0, 0.0, nan, nan, 0.0];
        let count = if value.is_float() { left.len() } else { 3 };
        let shape = [count as u64];
        let mut trial = Lower {
            file: self.file,
            options: self.options,
            b: FuncBuilder::new("body"),
            scopes: vec![FxHashMap::default()],
            calls: Vec::new(),
            lifted: true,
            ops_left: 64,
            constant_bytes: 0,
            diagnostics: Vec::new(),
            reported: Default::default(),
        };
        let args: Vec<ValueId> = [value, index, value, index]
            .into_iter()
            .map(|dtype| trial.b.arg("a", TensorType::new(shape, dtype)))
            .collect();
        trial.bind_args(&region.args, &args);
        let slots = trial.block(region)?;
        let results: Vec<ValueId> = slots.into_iter().collect::<Option<_>>()?;
        if !trial.diagnostics.is_empty() || results.len() != 2 {
            return None;
        }
        let func = trial.b.finish(&results);
        let numbers = |values: &[f32], dtype| {
            TensorData::from_f32(TensorType::new(shape, dtype), &values[..count]).ok()
        };
        let inputs = [
            numbers(&left, value)?,
            numbers(&[0.0; 7], index)?,
            numbers(&right, value)?,
            numbers(&[1.0; 7], index)?,
        ];
        let got = eval_func(&func, &inputs, &EvalOptions::default()).ok()?;
        let keeps = |op: ReduceOp| {
            (0..count).all(|at| {
                let (a, b) = (left[at], right[at]);
                let first = match op {
                    _ if a.is_nan() => true,
                    _ if b.is_nan() => false,
                    ReduceOp::Argmax => a >= b,
                    _ => a <= b,
                };
                let want = if first { a } else { b };
                let value =
                    got[0].f32(at).is_some_and(|x| x == want || x.is_nan() && want.is_nan());
                value && got[1].int(at) == Some(i128::from(!first))
            })
        };
        [ReduceOp::Argmax, ReduceOp::Argmin].into_iter().find(|&op| keeps(op))
    }
}
