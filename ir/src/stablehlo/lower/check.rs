//! Custom calls, and the checks of self-checking programs.

use smallvec::{SmallVec, smallvec};

use super::shape::scalar;
use super::{Attr, Call, HloOp, Lower, Made, calls, constant, table, wrong};
use crate::entity::ValueId;
use crate::infer::InferError;
use crate::module::Operand;
use crate::ops::{CheckOp, ElementwiseOp, ReduceOp};
use crate::types::ElemType;

/// Tolerance of `check.expect_almost_eq` as an operation, and as a custom call.
const TOLERANCE: f64 = 1e-4;
const CALL_TOLERANCE: f64 = 1e-3;

/// Representable numbers apart that `check.expect_close` allows.
const MAX_ULPS: u64 = 3;

/// Custom calls that say how arrays are spread over devices: here there is one.
const PLACEMENTS: &[&str] =
    &["Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement"];

/// What a custom call names.
pub(super) fn target<'s>(op: &HloOp<'s>) -> Option<&'s str> {
    if !matches!(op.name, "stablehlo.custom_call" | "mhlo.custom_call") {
        return None;
    }
    op.attrs.iter().find_map(|attr| match attr.value {
        Attr::Symbol(name) if attr.name.is_empty() => Some(name),
        Attr::Str(name) if attr.name == "call_target_name" => Some(name),
        _ => None,
    })
}

/// `custom_call @name(%a, %b)`
pub(super) fn custom_call<'f, 's>(lower: &mut Lower<'f, 's>, call: &Call<'f, 's>) -> Made {
    let name = target(call.op).ok_or_else(|| call.malformed("names no target"))?;
    match name {
        "check.eq" | "check.expect_eq" => expect_eq(lower, call),
        "check.almost_eq" | "check.expect_almost_eq" => almost_eq(lower, call, CALL_TOLERANCE),
        "check.expect_close" => expect_close(lower, call),
        _ if PLACEMENTS.contains(&name) => calls::pass(call),
        _ => {
            // `mhlo.erf` and its like are the compositions under another name.
            let row = name.strip_prefix("mhlo.").and_then(table::composition);
            match row {
                Some(row) => lower.apply(row, call),
                None => {
                    let fault = call.refused(format_args!("there is nothing to call as `@{name}`"));
                    let help = "what stands behind a custom call is known to its author alone; \
                                expand it to operations, or keep it outside";
                    Err(Box::new((*fault).help(help)))
                }
            }
        }
    }
}

/// `check.expect_eq %a, %b` and `check.expect_eq_const %a, dense<…>`
pub(super) fn expect_eq<'f, 's>(lower: &mut Lower<'f, 's>, call: &Call<'f, 's>) -> Made {
    check(lower, call, CheckOp::Eq)
}

pub(super) fn expect_almost_eq<'f, 's>(lower: &mut Lower<'f, 's>, call: &Call<'f, 's>) -> Made {
    almost_eq(lower, call, TOLERANCE)
}

fn almost_eq<'f, 's>(lower: &mut Lower<'f, 's>, call: &Call<'f, 's>, default: f64) -> Made {
    let tolerance = match call.attr(&["tolerance"]) {
        Some(Attr::Number(number)) => {
            let parsed = number.parse().ok().filter(|value: &f64| *value >= 0.0);
            parsed.ok_or_else(|| call.malformed("`tolerance` is no number"))?
        }
        Some(_) => return Err(call.malformed("`tolerance` is no number")),
        None => default,
    };
    check(lower, call, CheckOp::AlmostEq { tolerance })
}

pub(super) fn expect_close<'f, 's>(lower: &mut Lower<'f, 's>, call: &Call<'f, 's>) -> Made {
    let ulps = |names: &[&str], default: u64| match call.attr(names) {
        None => Ok(default),
        Some(attr) => attr
            .int()
            .and_then(|ulps| u64::try_from(ulps).ok())
            .ok_or_else(|| call.malformed(format_args!("`{}` is no number", names[0]))),
    };
    let max_ulps = ulps(&["max_ulp_difference"], MAX_ULPS)?;
    let min_ulps = ulps(&["min_ulp_difference"], 0)?;
    check(lower, call, CheckOp::Close { min_ulps, max_ulps })
}

/// Adds a check of the first operand against the second, or against the elements in the text.
fn check<'f, 's>(lower: &mut Lower<'f, 's>, call: &Call<'f, 's>, op: CheckOp) -> Made {
    let got = call.arg(0)?;
    let written = call.op.attrs.iter().find(|attr| matches!(attr.value, Attr::Dense { .. }));
    let want = match (call.args.get(1), written) {
        (Some(&want), _) => want,
        (None, Some(attr)) => {
            let ty = lower.ty(got);
            let listed = call.op.sig.operands.last().copied();
            constant::elements(lower, call, &attr.value, listed, &ty)?
        }
        (None, None) => return Err(call.malformed("needs a value that is expected")),
    };
    if lower.ty(got) != lower.ty(want) {
        return Err(call.malformed(format_args!(
            "compares a `{}` with a `{}`",
            lower.ty(got),
            lower.ty(want)
        )));
    }
    let operands = [Operand::Value(got), Operand::Value(want)];
    lower.b.func_mut().push_op(op, operands, []);
    // An older form gives a truth value as well.
    match call.results.as_slice() {
        [] => Ok(SmallVec::new()),
        [ty] if ty.dtype == ElemType::I1 && ty.rank() == 0 => {
            let held = match op {
                CheckOp::Eq => all_equal(lower, got, want),
                _ => scalar(lower, 1, ElemType::I1),
            };
            Ok(smallvec![held.map_err(wrong(call))?])
        }
        _ => Err(call.malformed("gives nothing, or an `i1`")),
    }
}

/// Whether all elements are equal, NaN among them.
fn all_equal(
    lower: &mut Lower<'_, '_>,
    got: ValueId,
    want: ValueId,
) -> Result<ValueId, InferError> {
    let ty = lower.ty(got);
    let mut equal = if ty.dtype == ElemType::I1 {
        let differ = lower.two(ElementwiseOp::BitwiseXor, got, want)?;
        lower.one(ElementwiseOp::BitwiseNot, differ)?
    } else {
        lower.two(ElementwiseOp::IsEq, got, want)?
    };
    if ty.dtype.is_float() {
        let nan = lower.two(ElementwiseOp::IsNe, got, got)?;
        let also = lower.two(ElementwiseOp::IsNe, want, want)?;
        let both = lower.two(ElementwiseOp::LogicalAnd, nan, also)?;
        equal = lower.two(ElementwiseOp::LogicalOr, equal, both)?;
    }
    lower.b.reduce(ReduceOp::BitwiseAnd, equal, 0..ty.rank(), false)
}
