//! Elementwise operations.

use smallvec::{SmallVec, smallvec};

use super::{Call, Code, Lower, Made, wrong};
use crate::entity::ValueId;
use crate::infer::InferError;
use crate::literal::Literal;
use crate::module::Operand;
use crate::ops::ElementwiseOp::{self, *};
use crate::types::ElemType;

pub(super) type Inferred = Result<ValueId, InferError>;

/// Shorthand for operations on values and literals.
impl Lower<'_, '_> {
    pub(super) fn each(&mut self, op: ElementwiseOp, operands: &[Operand]) -> Inferred {
        self.b.elementwise(op, operands)
    }

    pub(super) fn one(&mut self, op: ElementwiseOp, a: ValueId) -> Inferred {
        self.each(op, &[a.into()])
    }

    pub(super) fn two(
        &mut self,
        op: ElementwiseOp,
        a: impl Into<Operand>,
        b: impl Into<Operand>,
    ) -> Inferred {
        self.each(op, &[a.into(), b.into()])
    }

    pub(super) fn choose(
        &mut self,
        condition: ValueId,
        yes: impl Into<Operand>,
        no: impl Into<Operand>,
    ) -> Inferred {
        self.each(Select, &[condition.into(), yes.into(), no.into()])
    }
}

/// The class of a type: floats, integers, truth values.
fn class(dtype: ElemType) -> usize {
    match dtype {
        ElemType::I1 => 2,
        _ if dtype.is_int() => 1,
        _ => 0,
    }
}

/// One operation, chosen by the class of the operands' type.
pub(super) fn map<'s>(
    lower: &mut Lower<'_, 's>,
    call: &Call<'_, 's>,
    ops: [Option<ElementwiseOp>; 3],
) -> Made {
    let dtype = lower.dtype(call.arg(0)?);
    let Some(op) = ops[class(dtype)] else {
        let message = format!("`{}` has no meaning on `{dtype}`", call.op.name);
        return Err(call.error(Code::OperandType, message));
    };
    call.arity(op.arity())?;
    let operands: SmallVec<[Operand; 3]> = call.args.iter().map(|&arg| arg.into()).collect();
    if let Some(result) = call.op.results.first() {
        lower.b.named(result.name);
    }
    Ok(smallvec![lower.each(op, &operands).map_err(wrong(call))?])
}

/// `−x`; integers wrap. A float keeps its zero's sign, so it is a product.
pub(super) fn negate<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    let x = call.arg(0)?;
    let made = match class(lower.dtype(x)) {
        0 => lower.two(Mult, x, -1.0f32),
        1 => lower.two(Subtract, 0i64, x),
        _ => return Err(call.error(Code::OperandType, "`stablehlo.negate` takes no `i1`")),
    };
    Ok(smallvec![made.map_err(wrong(call))?])
}

pub(super) fn is_finite<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    Ok(smallvec![lower.one(IsFinite, call.arg(0)?).map_err(wrong(call))?])
}

/// The condition may be one scalar for all elements.
pub(super) fn select<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(3)?;
    let made = lower.choose(call.arg(0)?, call.arg(1)?, call.arg(2)?);
    Ok(smallvec![made.map_err(wrong(call))?])
}

/// `min(max(low, x), high)`; a NaN stays one. The bounds may be scalars.
pub(super) fn clamp<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(3)?;
    let (low, x, high) = (call.arg(0)?, call.arg(1)?, call.arg(2)?);
    let truth = lower.dtype(x) == ElemType::I1;
    let (max, min) = if truth { (BitwiseOr, BitwiseAnd) } else { (Maximum, Minimum) };
    let made = lower.two(max, x, low).and_then(|raised| lower.two(min, raised, high));
    Ok(smallvec![made.map_err(wrong(call))?])
}

/// `sin x / cos x`
pub(super) fn tan<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    let x = call.arg(0)?;
    in_f32(lower, call, x, |lower, x| {
        let (sine, cosine) = (lower.one(Sin, x)?, lower.one(Cos, x)?);
        lower.two(Divide, sine, cosine)
    })
}

/// The third root of the magnitude by `pow`, bettered by a step of Newton's; zeros, infinities and NaN are their own.
pub(super) fn cbrt<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    let x = call.arg(0)?;
    in_f32(lower, call, x, |lower, x| {
        let size = lower.one(AbsoluteValue, x)?;
        let root = lower.two(Pow, size, 1.0f32 / 3.0)?;
        let square = lower.two(Mult, root, root)?;
        let quotient = lower.two(Divide, size, square)?;
        let excess = lower.two(Subtract, root, quotient)?;
        let step = lower.two(Mult, excess, 1.0f32 / 3.0)?;
        let better = lower.two(Subtract, root, step)?;
        let sign = lower.one(Sign, x)?;
        let signed = lower.two(Mult, better, sign)?;
        let finite = lower.one(IsFinite, x)?;
        let nonzero = lower.two(IsNe, x, 0.0f32)?;
        let plain = lower.two(LogicalAnd, finite, nonzero)?;
        lower.choose(plain, signed, x)
    })
}

/// Computes in `f32` and rounds the result once to the operand's type.
pub(super) fn in_f32<'f, 's>(
    lower: &mut Lower<'f, 's>,
    call: &Call<'_, 's>,
    x: ValueId,
    compute: impl FnOnce(&mut Lower<'f, 's>, ValueId) -> Inferred,
) -> Made {
    let dtype = lower.dtype(x);
    if !dtype.is_float() {
        let message = format!("`{}` takes floats, not `{dtype}`", call.op.name);
        return Err(call.error(Code::OperandType, message));
    }
    let wide = if dtype == ElemType::F32 { Ok(x) } else { lower.b.cast(x, ElemType::F32) };
    let made = wide.and_then(|x| compute(lower, x)).and_then(|y| match dtype {
        ElemType::F32 => Ok(y),
        _ => lower.b.cast(y, dtype),
    });
    Ok(smallvec![made.map_err(wrong(call))?])
}

/// A comparison by its direction.
fn direction(word: &str) -> Option<ElementwiseOp> {
    Some(match word {
        "EQ" => IsEq,
        "NE" => IsNe,
        "GE" => IsGe,
        "GT" => IsGt,
        "LE" => IsLe,
        "LT" => IsLt,
        _ => return None,
    })
}

/// `compare GT, %a, %b, FLOAT`
pub(super) fn compare<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(2)?;
    let keyword = |name: &str| call.attr(&[name]).and_then(|attr| attr.keyword());
    let op = keyword("comparison_direction")
        .or_else(|| call.words().find(|word| direction(word).is_some()))
        .and_then(direction)
        .ok_or_else(|| call.malformed("needs a direction: EQ, NE, GE, GT, LE or LT"))?;
    let kind = keyword("compare_type")
        .or_else(|| call.words().find(|word| direction(word).is_none()))
        .unwrap_or("NOTYPE");
    let (a, b) = (call.arg(0)?, call.arg(1)?);
    let dtype = lower.dtype(a);
    let fits = match kind {
        "NOTYPE" => true,
        "FLOAT" | "TOTALORDER" | "WEAKORDER" => dtype.is_float(),
        "SIGNED" => dtype.is_signed(),
        "UNSIGNED" => dtype.is_int() && !dtype.is_signed(),
        _ => return Err(call.refused(format_args!("comparisons of type {kind} are not compiled"))),
    };
    if !fits {
        return Err(call.malformed(format_args!("a {kind} comparison of `{dtype}`")));
    }
    let made = match kind {
        "WEAKORDER" => weak_order(lower, a).and_then(|a| Ok((a, weak_order(lower, b)?))),
        "TOTALORDER" => total_order(lower, a).and_then(|a| Ok((a, total_order(lower, b)?))),
        _ if dtype == ElemType::I1 => widened(lower, a).and_then(|a| Ok((a, widened(lower, b)?))),
        _ => Ok((a, b)),
    };
    let made = made.and_then(|(a, b)| lower.two(op, a, b));
    Ok(smallvec![made.map_err(wrong(call))?])
}

/// Truth values as numbers, which compare.
fn widened(lower: &mut Lower<'_, '_>, x: ValueId) -> Inferred {
    lower.b.cast(x, ElemType::Ui8)
}

/// Integers in the order of the floats' bits: −NaN, −∞, …, −0, +0, …, +∞, NaN.
fn total_order(lower: &mut Lower<'_, '_>, x: ValueId) -> Inferred {
    let width = lower.dtype(x).width();
    let int = match width {
        8 => ElemType::I8,
        16 => ElemType::I16,
        _ => ElemType::I32,
    };
    let bits = lower.b.bitcast(x, int)?;
    let sign = lower.two(ArithShiftRight, bits, i64::from(width) - 1)?;
    let magnitude = Operand::Literal(Literal::Int((1i128 << (width - 1)) - 1));
    let flips = lower.two(BitwiseAnd, sign, magnitude)?;
    lower.two(BitwiseXor, bits, flips)
}

/// As [`total_order`], but the zeros are equal, and all NaN are equal and above +∞.
fn weak_order(lower: &mut Lower<'_, '_>, x: ValueId) -> Inferred {
    let zero = lower.two(IsEq, x, 0.0f32)?;
    let one_zero = lower.choose(zero, 0.0f32, x)?;
    let ordered = total_order(lower, one_zero)?;
    let nan = lower.two(IsNe, x, x)?;
    let top = (1i64 << (lower.dtype(ordered).width() - 1)) - 1;
    lower.choose(nan, top, ordered)
}
