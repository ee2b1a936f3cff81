//! Reductions of integers that no single word does exactly.

use partita_ir::ops::{ElementwiseOp as Op, ReduceOp, TensorOp};
use partita_ir::types::Dims;
use partita_ir::{ElemType, FuncBuilder, TensorType};

use super::super::emit::Emitted;
use super::super::{Built, Emitter, Expansion, OpCx, Refusal, Val};
use super::words::{halves, int_type, is_small, is_wide, is_word, join, negative, with_sign};
use super::{exact, leading};
use ElemType::{F32, I1, I32, I64, Ui8};

pub const EXPANSIONS: &[Expansion] = &[
    exact(
        "reduce-integer-extreme",
        "integers have no NaN, so maximum is max",
        |cx| of(cx).is_some_and(|r| matches!(r.op, ReduceOp::Maximum | ReduceOp::Minimum)),
        |b, cx| {
            with(b, cx, |e, r, x| {
                let op = if r.op == ReduceOp::Maximum { ReduceOp::Max } else { ReduceOp::Min };
                r.emit(e, op, x, r.negate, r.to)
            })
        },
    ),
    exact(
        "reduce-then-negate",
        "an integer is negated modulo 2^n after it is reduced",
        |cx| of(cx).is_some_and(|r| r.negate),
        |b, cx| with(b, cx, reduce_then_negate),
    ),
    exact(
        "reduce-then-cast",
        "an extreme, or a union of bits, is converted in a second word",
        |cx| {
            straight(cx).is_some_and(|r| {
                r.dtype != r.to && !r.op.is_arg() && !is_sum(r.op) && !is_logical(r.op)
            })
        },
        |b, cx| {
            with(b, cx, |e, r, x| {
                let value = r.emit(e, r.op, x, false, r.dtype)?;
                e.cast(value, r.to)
            })
        },
    ),
    exact(
        "reduce-truth",
        "only whether an element is zero matters, and one element must give 0 or 1 too",
        |cx| straight(cx).is_some_and(|r| is_logical(r.op)),
        |b, cx| {
            with(b, cx, |e, r, x| {
                let zero = e.lit(0, r.dtype);
                let truth = e.op(Op::IsNe, &[x, zero], Ui8)?;
                let value = if r.depth < 2 {
                    e.reshape(truth, r.shape)?
                } else {
                    r.emit(e, r.op, truth, false, Ui8)?
                };
                e.cast(value, r.to)
            })
        },
    ),
    exact(
        "reduce-bits-unsigned",
        "the bit reductions take unsigned types of 8 and 16 bits (TR-11)",
        |cx| {
            straight(cx).is_some_and(|r| {
                r.op.is_bitwise() && is_small(r.dtype) && r.dtype != I1 && r.dtype == r.to
            })
        },
        |b, cx| {
            with(b, cx, |e, r, x| {
                let unsigned = with_sign(r.dtype, false);
                let x = e.bitcast(x, unsigned)?;
                let value = r.emit(e, r.op, x, false, unsigned)?;
                e.bitcast(value, r.to)
            })
        },
    ),
    exact(
        "reduce-bits-wide",
        "the bits of 64-bit integers are reduced by words",
        |cx| straight(cx).is_some_and(|r| r.op.is_bitwise() && is_wide(r.dtype) && r.dtype == r.to),
        |b, cx| {
            with(b, cx, |e, r, x| {
                let (low, high) = halves(e, x)?;
                let low = r.emit(e, r.op, low, false, low.dtype)?;
                let high = r.emit(e, r.op, high, false, high.dtype)?;
                join(e, low, high, r.to)
            })
        },
    ),
    exact(
        "product-in-fp32",
        "a product of integers into a float is one of floats",
        |cx| straight(cx).is_some_and(|r| r.op == ReduceOp::Mult && r.to.is_float()),
        |b, cx| {
            with(b, cx, |e, r, x| {
                let x = e.cast(x, F32)?;
                r.emit(e, r.op, x, r.negate, r.to)
            })
        },
    ),
    exact(
        "sum-into-float",
        "the exact sum is formed as an integer and rounded once",
        |cx| straight(cx).is_some_and(|r| r.op == ReduceOp::Add && r.to.is_float()),
        |b, cx| {
            with(b, cx, |e, r, x| {
                let inner = if r.sum_within(1 << 31) {
                    I32
                } else if e.has_int_band() && r.sum_within(1 << 63) {
                    I64
                } else {
                    return Err(Refusal::by(
                        "N-4",
                        format!(
                            "the exact sum of {} `{}` may not fit the machine's integers",
                            r.depth, r.dtype
                        ),
                    ));
                };
                let value = r.emit(e, r.op, x, false, inner)?;
                e.cast(value, r.to)
            })
        },
    ),
    exact(
        "sum-modulo",
        "sums and products modulo 2^n are formed in fp32 where exact, else in 32 or 64 bits, then wrapped",
        |cx| {
            straight(cx).is_some_and(|r| {
                is_sum(r.op) && r.to.is_int() && (r.dtype != r.to || is_small(r.to))
            })
        },
        |b, cx| with(b, cx, sum_modulo),
    ),
    exact(
        "extreme-by-halving",
        "the extreme of each element and its counterpart in the other half, until one is left",
        |cx| {
            straight(cx).is_some_and(|r| {
                matches!(r.op, ReduceOp::Max | ReduceOp::Min) && is_word(r.dtype) && r.dtype == r.to
            })
        },
        |b, cx| with(b, cx, extreme_by_halving),
    ),
    exact(
        "transpose-reduce-as-reduce",
        "where 0x83 and 0x84 do not keep the result exact the blocks are laid out and folded",
        |cx| matches!(cx.op, TensorOp::TransposeReduce { .. }),
        transpose_reduce_as_reduce,
    ),
];

/// A reduction of integers.
pub struct Reduction<'a> {
    pub op: ReduceOp,
    pub dims: &'a Dims,
    pub keep: bool,
    pub negate: bool,
    pub dtype: ElemType,
    pub to: ElemType,
    /// The result's shape.
    pub shape: &'a [u64],
    /// Elements folded into each result.
    pub depth: u64,
}

impl<'a> Reduction<'a> {
    /// The reduction, of any element type.
    pub fn any(cx: &'a OpCx<'_>) -> Option<Self> {
        let TensorOp::Reduce { op, dims, keep, negate } = cx.op else { return None };
        let ty = cx.types.first()?;
        let depth = dims.iter().filter_map(|&dim| ty.shape.get(dim)).product();
        Some(Self {
            op: *op,
            dims,
            keep: *keep,
            negate: *negate,
            dtype: ty.dtype,
            to: cx.to(),
            shape: &cx.result.shape,
            depth,
        })
    }

    /// The same dimensions folded with an operation, of another operand.
    ///
    /// # Errors
    /// The builder refuses it.
    pub fn emit(
        &self,
        e: &mut Emitter<'_>,
        op: ReduceOp,
        x: Val,
        negate: bool,
        to: ElemType,
    ) -> Emitted {
        let op = TensorOp::Reduce { op, dims: self.dims.clone(), keep: self.keep, negate };
        e.tensor(op, &[x], &TensorType::scalar(to))
    }

    /// True when the magnitude of every sum stays below the limit.
    pub fn sum_within(&self, limit: i128) -> bool {
        let (low, high) = self.dtype.int_range().unwrap_or((i128::MIN, i128::MAX));
        let largest = low.unsigned_abs().max(high.unsigned_abs());
        largest.checked_mul(u128::from(self.depth)).is_some_and(|sum| sum < limit.unsigned_abs())
    }
}

fn of<'a>(cx: &'a OpCx<'_>) -> Option<Reduction<'a>> {
    Reduction::any(cx).filter(|r| r.dtype.is_int())
}

/// A reduction of integers that is not negated.
fn straight<'a>(cx: &'a OpCx<'_>) -> Option<Reduction<'a>> {
    of(cx).filter(|r| !r.negate)
}

fn with(
    b: &mut FuncBuilder,
    cx: &OpCx<'_>,
    build: impl FnOnce(&mut Emitter<'_>, &Reduction<'_>, Val) -> Emitted,
) -> Built {
    let reduction = Reduction::any(cx).ok_or_else(|| Refusal::because("not a reduction"))?;
    let mut e = Emitter::new(b, cx);
    let x = e.arg(cx, 0)?;
    let value = build(&mut e, &reduction, x)?;
    e.id(value)
}

pub fn is_sum(op: ReduceOp) -> bool {
    matches!(op, ReduceOp::Add | ReduceOp::Mult)
}

pub fn is_logical(op: ReduceOp) -> bool {
    matches!(op, ReduceOp::LogicalAnd | ReduceOp::LogicalOr)
}

fn reduce_then_negate(e: &mut Emitter<'_>, r: &Reduction<'_>, x: Val) -> Emitted {
    if !is_sum(r.op) {
        let value = r.emit(e, r.op, x, false, r.dtype)?;
        let value = negative(e, value, r.dtype)?;
        return e.cast(value, r.to);
    }
    let value = r.emit(e, r.op, x, false, r.to)?;
    if r.to.is_float() && r.op == ReduceOp::Mult {
        // A product of zero is negated to -0, an exact sum of zero is not.
        let minus = e.lit(-1, r.to);
        return e.op(Op::Mult, &[value, minus], r.to);
    }
    negative(e, value, r.to)
}

fn sum_modulo(e: &mut Emitter<'_>, r: &Reduction<'_>, x: Val) -> Emitted {
    let sum = r.op == ReduceOp::Add;
    if sum && is_small(r.dtype) && r.to != I32 && r.sum_within(1 << 24) {
        let value = r.emit(e, r.op, x, false, I32)?;
        return e.wrap(value, r.to);
    }
    let inner = if is_wide(r.to) && !(sum && r.sum_within(1 << 31)) {
        r.to
    } else if is_word(r.dtype) {
        r.dtype
    } else if is_wide(r.to) {
        I32
    } else {
        int_type(4, r.to.is_signed())
    };
    if is_wide(inner) && !e.has_int_band() {
        return Err(Refusal::by("TT-E4", "64-bit integers need CAYMAN or later"));
    }
    let x = e.wrap(x, inner)?;
    let value = r.emit(e, r.op, x, false, inner)?;
    e.wrap(value, r.to)
}

fn extreme_by_halving(e: &mut Emitter<'_>, r: &Reduction<'_>, x: Val) -> Emitted {
    let op = if r.op == ReduceOp::Max { Op::Max } else { Op::Min };
    let mut value = x;
    for &dim in r.dims {
        let mut odd = Vec::new();
        loop {
            let size = e.shape(value).get(dim).copied().unwrap_or(1);
            if size < 2 {
                break;
            }
            let half = size / 2;
            let first = e.slice(value, dim, 0, half)?;
            let second = e.slice(value, dim, half, 2 * half)?;
            if size % 2 != 0 {
                odd.push(e.slice(value, dim, size - 1, size)?);
            }
            value = e.op(op, &[first, second], r.dtype)?;
        }
        for rest in odd {
            value = e.op(op, &[value, rest], r.dtype)?;
        }
    }
    e.reshape(value, r.shape)
}

/// `y[b, j, k] = op over i of a[32·b + i, 32·k + j]`: the dimensions of `a` split into (b, i) and (k, j).
fn transpose_reduce_as_reduce(b: &mut FuncBuilder, cx: &OpCx<'_>) -> Built {
    let TensorOp::TransposeReduce { op, negate } = cx.op else {
        return Err(Refusal::because("not a transpose-reduce"));
    };
    let [blocks, columns, groups] = *cx.result.shape else {
        return Err(Refusal::because("not a transpose-reduce"));
    };
    let mut e = Emitter::new(b, cx);
    let x = e.arg(cx, 0)?;
    let x = e.reshape(x, &[blocks, leading::BLOCK, groups, columns])?;
    let fold =
        TensorOp::Reduce { op: *op, dims: Dims::from_slice(&[1]), keep: false, negate: *negate };
    let value = e.tensor(fold, &[x], &TensorType::scalar(cx.to()))?;
    let value = e.id(value)?;
    Ok(e.b.transpose(value, [0, 2, 1])?)
}
