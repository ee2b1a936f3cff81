//! `reduce` and `map`.

use smallvec::{SmallVec, smallvec};

use super::body::{self, Combine, Values};
use super::convert::to_type;
use super::shape::{known_bits, spread};
use super::{Attr, Call, Fault, Lower, Made, Region, wrong};
use crate::entity::ValueId;
use crate::ops::{OpKind, ReduceOp, SliceRange, TensorOp};
use crate::types::ElemType;

/// `map(%a, %b)` with a body of scalars.
pub(super) fn map<'f, 's>(lower: &mut Lower<'f, 's>, call: &Call<'f, 's>) -> Made {
    let region = region(call)?;
    let shape = call.result()?.shape.clone();
    lower.lifted(call, region, &call.args, &shape)
}

/// The one region of an operation.
pub(super) fn region<'f, 's>(call: &Call<'f, 's>) -> Result<&'f Region<'s>, Fault> {
    match call.op.regions.as_slice() {
        [region] => Ok(region),
        regions => Err(call.malformed(format_args!("has {} bodies, not one", regions.len()))),
    }
}

/// Operands, starting values, and what folds them.
pub(super) struct Parts<'f, 's> {
    pub values: Values,
    pub inits: Values,
    region: Option<&'f Region<'s>>,
    /// The operation that the short form names.
    applies: Option<&'s str>,
}

pub(super) fn parts<'f, 's>(
    lower: &mut Lower<'f, 's>,
    call: &Call<'f, 's>,
) -> Result<Parts<'f, 's>, Fault> {
    let count = call.args.len() / 2;
    if !call.args.len().is_multiple_of(2) || count == 0 {
        return Err(call.malformed("takes operands and as many starting values"));
    }
    let applies = match call.attr(&["applies"]) {
        Some(Attr::Word(name)) => Some(*name),
        _ => None,
    };
    let region = if applies.is_some() { None } else { Some(region(call)?) };
    let (values, inits) = call.args.split_at(count);
    for &init in inits {
        if lower.ty(init).rank() > 0 {
            return Err(call.malformed("a starting value is a scalar"));
        }
    }
    let mut parts = Parts { values: values.into(), inits: inits.into(), region, applies };
    // A body may fold in a wider type than the operand's.
    if let Some(region) = region {
        for nth in 0..count {
            let Some(arg) = region.args.get(nth) else { break };
            let dtype = lower.tensor_type(arg.ty, arg.span)?.dtype;
            parts.values[nth] = to_type(lower, parts.values[nth], dtype).map_err(wrong(call))?;
            parts.inits[nth] = to_type(lower, parts.inits[nth], dtype).map_err(wrong(call))?;
        }
    }
    Ok(parts)
}

impl<'f, 's> Parts<'f, 's> {
    /// The fold of operand number `nth`, where it depends on nothing else.
    pub(super) fn fold(&self, lower: &Lower<'f, 's>, nth: usize) -> Option<ReduceOp> {
        let name = match (self.applies, self.region) {
            (Some(name), _) if self.values.len() == 1 => name,
            (None, Some(region)) => body::single_op(region, nth, self.values.len())?,
            _ => return None,
        };
        body::fold_of(name, lower.dtype(self.values[nth]))
    }

    pub(super) fn body(&self, call: &Call<'f, 's>) -> Result<&'f Region<'s>, Fault> {
        self.region.ok_or_else(|| {
            let name = self.applies.unwrap_or("");
            call.refused(format_args!("a fold with `{name}` of this type is not compiled"))
        })
    }
}

/// `reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]`, or with a body.
pub(super) fn reduce<'f, 's>(lower: &mut Lower<'f, 's>, call: &Call<'f, 's>) -> Made {
    let dims = call.dims(&["dimensions"])?;
    let parts = parts(lower, call)?;
    let shape = lower.ty(parts.values[0]).shape;
    if parts.values.iter().any(|&value| lower.ty(value).shape != shape) {
        return Err(call.malformed("the operands differ in shape"));
    }
    let distinct = dims.iter().enumerate().all(|(at, dim)| !dims[..at].contains(dim));
    if !distinct || dims.iter().any(|&dim| dim >= shape.len()) {
        return Err(call.malformed("`dimensions` are out of range or repeated"));
    }
    let folds: Option<Vec<ReduceOp>> =
        (0..parts.values.len()).map(|nth| parts.fold(lower, nth)).collect();
    if let Some(folds) = folds {
        return folds
            .into_iter()
            .enumerate()
            .map(|(nth, op)| fold(lower, call, op, parts.values[nth], parts.inits[nth], &dims))
            .collect();
    }
    let region = parts.body(call)?;
    if let Some(made) = first_extreme(lower, call, &parts, region, &dims)? {
        return Ok(made);
    }
    tree(lower, call, &parts, region, &dims)
}

/// One fold, its starting value left out where it changes nothing.
fn fold<'s>(
    lower: &mut Lower<'_, 's>,
    call: &Call<'_, 's>,
    op: ReduceOp,
    x: ValueId,
    init: ValueId,
    dims: &[usize],
) -> Result<ValueId, Fault> {
    super::shape::name(lower, call);
    let folded = lower.b.reduce(op, x, dims.iter().copied(), false).map_err(wrong(call))?;
    started(lower, call, op, folded, init)
}

/// A folded value with its starting value folded in.
pub(super) fn started<'s>(
    lower: &mut Lower<'_, 's>,
    call: &Call<'_, 's>,
    op: ReduceOp,
    folded: ValueId,
    init: ValueId,
) -> Result<ValueId, Fault> {
    let dtype = lower.dtype(folded);
    if known_bits(lower, init).is_some_and(|bits| body::is_identity(op, dtype, bits)) {
        return Ok(folded);
    }
    match op.combine() {
        Some(op) => lower.two(op, folded, init).map_err(wrong(call)),
        None => Ok(folded),
    }
}

/// The largest or smallest element with the place of its first occurrence, as `argmax` and `argmin` of JAX are.
fn first_extreme<'f, 's>(
    lower: &mut Lower<'f, 's>,
    call: &Call<'f, 's>,
    parts: &Parts<'f, 's>,
    region: &'f Region<'s>,
    dims: &[usize],
) -> Result<Option<Values>, Fault> {
    let (&[value, index], &[dim]) = (parts.values.as_slice(), dims) else { return Ok(None) };
    let Some(op) = lower.extreme(region) else { return Ok(None) };
    let fold = if op == ReduceOp::Argmax { ReduceOp::Maximum } else { ReduceOp::Minimum };
    let dtype = lower.dtype(value);
    let starts_at = |nth: usize| known_bits(lower, parts.inits[nth]);
    let plain = starts_at(0).is_some_and(|bits| body::is_identity(fold, dtype, bits))
        && starts_at(1) == Some(0)
        && counts_along(lower, index, dim)
        && lower.ty(value).shape[dim] > 0;
    if !plain {
        return Ok(None);
    }
    let wide = if dtype == ElemType::I1 { to_type(lower, value, ElemType::Ui8) } else { Ok(value) };
    let wide = wide.map_err(wrong(call))?;
    let extreme = lower.b.reduce(fold, wide, [dim], false).map_err(wrong(call))?;
    let extreme = to_type(lower, extreme, dtype).map_err(wrong(call))?;
    let place = lower.b.reduce(op, wide, [dim], false).map_err(wrong(call))?;
    let place = to_type(lower, place, lower.dtype(index)).map_err(wrong(call))?;
    Ok(Some(smallvec![extreme, place]))
}

/// Each element is its index along a dimension.
fn counts_along(lower: &Lower<'_, '_>, mut value: ValueId, mut dim: usize) -> bool {
    for _ in 0..16 {
        let func = lower.b.func();
        let Some(op) = func.def_op(value).map(|op| &func.ops[op]) else { return false };
        match &op.kind {
            OpKind::Tensor(TensorOp::Iota { dim: along }) => return *along == dim,
            OpKind::Tensor(TensorOp::Broadcast { dims }) => {
                let Some(inner) = dims.iter().position(|&to| to == dim) else { return false };
                let Some(operand) = op.value_operands().next() else { return false };
                // A dimension of size 1 that is repeated counts nothing.
                if func.ty(operand).shape()[inner] != func.ty(value).shape()[dim] {
                    return false;
                }
                (value, dim) = (operand, inner);
            }
            _ => return false,
        }
    }
    false
}

/// Any body: neighbours are combined, level by level, in the order of the elements.
fn tree<'f, 's>(
    lower: &mut Lower<'f, 's>,
    call: &Call<'f, 's>,
    parts: &Parts<'f, 's>,
    region: &'f Region<'s>,
    dims: &[usize],
) -> Made {
    let shape = lower.ty(parts.values[0]).shape;
    let kept: Vec<usize> = (0..shape.len()).filter(|dim| !dims.contains(dim)).collect();
    let kept_shape: Vec<u64> = kept.iter().map(|&dim| shape[dim]).collect();
    let mut sorted = dims.to_vec();
    sorted.sort_unstable();
    let mut length: u64 = sorted.iter().map(|&dim| shape[dim]).product();
    let mut current = Values::new();
    for &value in &parts.values {
        let front = lower.b.transpose(value, sorted.iter().chain(&kept).copied());
        let flat = front.and_then(|value| {
            lower.b.reshape(value, [length].into_iter().chain(kept_shape.iter().copied()))
        });
        current.push(flat.map_err(wrong(call))?);
    }
    let how = Combine::Body(region);
    while length > 1 {
        let half = length / 2;
        let rows = |start: u64, limit: u64, stride: u64| {
            let first = SliceRange { start, limit, stride };
            let rest = kept_shape.iter().map(|&limit| SliceRange { start: 0, limit, stride: 1 });
            [first].into_iter().chain(rest).collect::<SmallVec<[SliceRange; 4]>>()
        };
        let mut pick = |start: u64, limit: u64, stride: u64| -> Result<Values, Fault> {
            current
                .iter()
                .map(|&value| lower.b.slice(value, rows(start, limit, stride)).map_err(wrong(call)))
                .collect()
        };
        let (a, b) = (pick(0, 2 * half, 2)?, pick(1, 2 * half, 2)?);
        let odd = if length % 2 == 1 { Some(pick(length - 1, length, 1)?) } else { None };
        let mut next = lower.combine(call, how, &a, &b)?;
        if let Some(odd) = odd {
            for (value, last) in next.iter_mut().zip(odd) {
                *value = lower.b.concat(&[*value, last], 0).map_err(wrong(call))?;
            }
        }
        current = next;
        length = half + length % 2;
    }
    let starts: Result<Values, Fault> = parts
        .inits
        .iter()
        .map(|&init| spread(lower, init, &kept_shape).map_err(wrong(call)))
        .collect();
    if length == 0 {
        return starts;
    }
    for value in &mut current {
        *value = lower.b.reshape(*value, kept_shape.iter().copied()).map_err(wrong(call))?;
    }
    lower.combine(call, how, &starts?, &current)
}
