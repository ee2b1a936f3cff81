//! Identities of what is computed for each element by itself.

use partita_ir::ops::TensorOpName;
use partita_ir::types::element_count;
use partita_ir::{ElemType, ElementwiseOp, Operand, TensorOp};

use super::identities::{Context, Identity, Step, unary};
use super::is_fp8;

pub(super) const IDENTITIES: &[Identity] = &[
    Identity {
        name: "neutral-operand",
        doc: "an operand that leaves the other as it is: x + -0.0, x * 1, x & -1, …",
        root: TensorOpName::Elementwise,
        apply: neutral_operand,
    },
    Identity {
        name: "copy",
        doc: "a copy into the same type is the value itself; bypass gives its first operand",
        root: TensorOpName::Elementwise,
        apply: copy,
    },
    Identity {
        name: "same-operands",
        doc: "x op x = x for max, min, maximum, minimum, and, or",
        root: TensorOpName::Elementwise,
        apply: same_operands,
    },
    Identity {
        name: "double-not",
        doc: "not not x = x",
        root: TensorOpName::Elementwise,
        apply: double_not,
    },
    Identity {
        name: "known-select",
        doc: "a select whose condition is known, or whose branches are equal",
        root: TensorOpName::Elementwise,
        apply: known_select,
    },
    Identity {
        name: "cast-to-own-type",
        doc: "a conversion to the operand's own type is the operand",
        root: TensorOpName::Cast,
        apply: to_own_type,
    },
    Identity {
        name: "wrap-to-own-type",
        doc: "a conversion to the operand's own type is the operand",
        root: TensorOpName::Wrap,
        apply: to_own_type,
    },
    Identity {
        name: "bitcast-to-own-type",
        doc: "a conversion to the operand's own type is the operand",
        root: TensorOpName::Bitcast,
        apply: to_own_type,
    },
    Identity {
        name: "cast-of-widening",
        doc: "a cast that loses nothing, before another cast, may be left out",
        root: TensorOpName::Cast,
        apply: cast_of_widening,
    },
    Identity {
        name: "reduce-nothing",
        doc: "a reduction over no dimension, or over dimensions of size 1, is a reshape",
        root: TensorOpName::Reduce,
        apply: reduce_nothing,
    },
];

/// A value that an operation's other operand survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Neutral {
    Zero,
    /// −0 of floats: −0 + −0 = −0, while −0 + 0 = +0.
    NegativeZero,
    One,
    AllOnes,
    Lowest,
    Highest,
}

impl Neutral {
    /// Its bits in a type.
    fn bits(self, dtype: ElemType) -> Option<u64> {
        let mask = u64::MAX >> 64u32.saturating_sub(dtype.width());
        let sign = 1 << (dtype.width() - 1);
        let float = dtype.is_float();
        let (one, infinity) = match dtype {
            ElemType::F32 => (0x3F80_0000, 0x7F80_0000),
            ElemType::F16 => (0x3C00, 0x7C00),
            ElemType::Bf16 => (0x3F80, 0x7F80),
            _ if float => return None,
            _ => (1, 0),
        };
        Some(match self {
            Self::Zero => 0,
            Self::NegativeZero => {
                if float {
                    sign
                } else {
                    0
                }
            }
            Self::One => one,
            Self::AllOnes if float => return None,
            Self::AllOnes => mask,
            Self::Lowest if float => sign | infinity,
            Self::Highest if float => infinity,
            Self::Lowest => {
                if dtype.is_signed() {
                    sign
                } else {
                    0
                }
            }
            Self::Highest => {
                if dtype.is_signed() {
                    mask & !sign
                } else {
                    mask
                }
            }
        })
    }
}

/// Which operand may be the neutral one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Right,
    Either,
}

/// Neutral operands, in the floats f32 f16 bf16 and in integers. In 8-bit floats
/// nothing is neutral: writing an infinity may saturate it (ISA 5.2).
const NEUTRAL: &[(ElementwiseOp, Side, Neutral)] = &[
    (ElementwiseOp::Add, Side::Either, Neutral::NegativeZero),
    (ElementwiseOp::Subtract, Side::Right, Neutral::Zero),
    (ElementwiseOp::Mult, Side::Either, Neutral::One),
    (ElementwiseOp::Divide, Side::Right, Neutral::One),
    (ElementwiseOp::Maximum, Side::Either, Neutral::Lowest),
    (ElementwiseOp::Minimum, Side::Either, Neutral::Highest),
    (ElementwiseOp::BitwiseAnd, Side::Either, Neutral::AllOnes),
    (ElementwiseOp::BitwiseOr, Side::Either, Neutral::Zero),
    (ElementwiseOp::BitwiseXor, Side::Either, Neutral::Zero),
    (ElementwiseOp::ArithShiftLeft, Side::Right, Neutral::Zero),
    (ElementwiseOp::ArithShiftRight, Side::Right, Neutral::Zero),
    (ElementwiseOp::LogicalShiftLeft, Side::Right, Neutral::Zero),
    (ElementwiseOp::LogicalShiftRight, Side::Right, Neutral::Zero),
    (ElementwiseOp::AddInt, Side::Either, Neutral::Zero),
    (ElementwiseOp::SubtractInt, Side::Right, Neutral::Zero),
    (ElementwiseOp::MultInt, Side::Either, Neutral::One),
    (ElementwiseOp::MultUint, Side::Either, Neutral::One),
    (ElementwiseOp::DivideUint, Side::Right, Neutral::One),
];

fn elementwise(cx: &Context<'_>) -> Option<ElementwiseOp> {
    match cx.kind()? {
        TensorOp::Elementwise(op) => Some(*op),
        _ => None,
    }
}

/// The bits that every element of an operand has.
fn known_bits(cx: &Context<'_>, index: usize) -> Option<u64> {
    match cx.operand(index)? {
        Operand::Literal(literal) => literal.to_bits(cx.func.operand_dtype(cx.id, index)?).ok(),
        Operand::Value(value) => cx.splat(value),
    }
}

fn neutral_operand(cx: &mut Context<'_>) -> Option<Step> {
    let op = elementwise(cx)?;
    let &(_, side, neutral) = NEUTRAL.iter().find(|row| row.0 == op)?;
    let others: &[(usize, usize)] = match side {
        Side::Right => &[(1, 0)],
        Side::Either => &[(1, 0), (0, 1)],
    };
    others.iter().find_map(|&(index, other)| {
        let kept = cx.same_type(other)?;
        let dtype = cx.func.operand_dtype(cx.id, index)?;
        (Some(known_bits(cx, index)?) == neutral.bits(dtype)).then_some(Step::Value(kept))
    })
}

fn copy(cx: &mut Context<'_>) -> Option<Step> {
    match elementwise(cx)? {
        ElementwiseOp::Copy | ElementwiseOp::Bypass => cx.same_type(0).map(Step::Value),
        _ => None,
    }
}

fn same_operands(cx: &mut Context<'_>) -> Option<Step> {
    use ElementwiseOp::{BitwiseAnd, BitwiseOr, Max, Maximum, Min, Minimum};
    let idempotent =
        matches!(elementwise(cx)?, Max | Min | Maximum | Minimum | BitwiseAnd | BitwiseOr);
    let kept = cx.same_type(0)?;
    let equal = idempotent && cx.value(1) == Some(kept) && !is_fp8(cx.ty()?.dtype);
    equal.then_some(Step::Value(kept))
}

fn double_not(cx: &mut Context<'_>) -> Option<Step> {
    let not = |op: &TensorOp| matches!(op, TensorOp::Elementwise(ElementwiseOp::BitwiseNot));
    if !not(cx.kind()?) {
        return None;
    }
    let inner = cx.same_type(0)?;
    let (op, operands) = cx.def(inner)?;
    let value = operands.first()?.value()?;
    (not(op) && cx.value_ty(value)? == cx.ty()?).then_some(Step::Value(value))
}

fn known_select(cx: &mut Context<'_>) -> Option<Step> {
    if elementwise(cx)? != ElementwiseOp::Select {
        return None;
    }
    if cx.value(1).is_some() && cx.value(1) == cx.value(2) {
        return cx.same_type(1).map(Step::Value);
    }
    let chosen = if known_bits(cx, 0)? != 0 { 1 } else { 2 };
    cx.same_type(chosen).map(Step::Value)
}

fn to_own_type(cx: &mut Context<'_>) -> Option<Step> {
    cx.same_type(0).map(Step::Value)
}

/// True when every value of a type is one of another, NaN and the sign of zero
/// included, whatever 8-bit floats mean.
fn holds_every(wide: ElemType, narrow: ElemType) -> bool {
    match (narrow.int_range(), wide.int_range()) {
        (Some((low, high)), Some((wide_low, wide_high))) => {
            wide != ElemType::I1 && wide_low <= low && high <= wide_high
        }
        // Every integer of up to 16 bits is an fp32 number.
        (Some(_), None) => wide == ElemType::F32 && narrow.width() <= 16,
        (None, Some(_)) => false,
        (None, None) => wide == ElemType::F32 && narrow.width() <= 16,
    }
}

fn cast_of_widening(cx: &mut Context<'_>) -> Option<Step> {
    let middle = cx.value(0)?;
    let (TensorOp::Cast, operands) = cx.def(middle)? else { return None };
    let source = operands.first()?.value()?;
    let (middle, source_dtype) = (cx.value_ty(middle)?.dtype, cx.value_ty(source)?.dtype);
    // A cast of an 8-bit float to itself moves bits, one through fp32 may saturate.
    let round_trip = is_fp8(source_dtype) && cx.ty()?.dtype == source_dtype;
    (holds_every(middle, source_dtype) && !round_trip).then(|| unary(TensorOp::Cast, source))?
}

fn reduce_nothing(cx: &mut Context<'_>) -> Option<Step> {
    let TensorOp::Reduce { op, dims, negate: false, .. } = cx.kind()? else { return None };
    // Logical reductions give 0 or 1 of a single element too, arg ones its index.
    let moves = !op.is_arg() && !matches!(op.name(), "logical_and" | "logical_or");
    let operand = cx.value(0)?;
    let ty = cx.value_ty(operand)?;
    let folded: Option<Vec<u64>> = dims.iter().map(|&dim| ty.shape.get(dim).copied()).collect();
    let single = element_count(&folded?) == Some(1);
    let same = ty.dtype == cx.ty()?.dtype && !is_fp8(ty.dtype);
    (moves && single && same).then(|| unary(TensorOp::Reshape, operand))?
}
