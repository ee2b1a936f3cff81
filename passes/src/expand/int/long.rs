//! Folds along an axis too long for one partition's share of SBUF.

use partita_ir::ops::{ElementwiseOp as Op, Emit, ReduceOp, Seed, TensorOp};
use partita_ir::types::MAX_RANK;
use partita_ir::{ElemType, FuncBuilder, TensorType};
use partita_isa::Target;

use super::super::{Built, Emitter, Expansion, OpCx, Refusal, Val, When};
use super::arith::is_modular;
use super::leading::partial_type;
use super::reduce::Reduction;
use crate::rewrite::RewriteClass;
use ElemType::{F32, Ui32};

/// A row of fp32 numbers may take this part of a partition, so that operands and results of two
/// words fit side by side.
const PARTS_OF_SBUF: u64 = 4;

/// A loop over windows folds and scans axes so many times as long where the state is a number of fp32 or stays
/// what it is; only longer ones are taken apart here.
const WINDOWS: u64 = 32;

/// The most pieces into which a scan is cut, one word after the other.
const MOST_PIECES: u64 = 4096;

pub const EXPANSIONS: &[Expansion] = &[
    Expansion {
        name: "reduce-in-pieces",
        class: RewriteClass::Reassociates,
        why: "a long axis is folded in pieces that fit a partition, then the results of the pieces",
        when: When::Always,
        applies: |cx| Reduction::any(cx).is_some_and(|r| in_pieces(cx, &r)),
        build: reduce_in_pieces,
    },
    Expansion {
        name: "arg-in-pieces",
        class: RewriteClass::Exact,
        why: "the first extreme lies in the first piece whose extreme is the extreme",
        when: When::Always,
        applies: |cx| {
            Reduction::any(cx).is_some_and(|r| {
                r.op.is_arg() && r.depth > longest(cx.target) && rank(cx) < MAX_RANK
            })
        },
        build: arg_in_pieces,
    },
    Expansion {
        name: "scan-in-pieces",
        class: RewriteClass::Exact,
        why: "each piece of a long scan starts from the last value of the one before",
        when: When::Always,
        applies: scans_in_pieces,
        build: scan_in_pieces,
    },
];

/// Elements of an axis that one partition takes.
pub fn longest(target: &Target) -> u64 {
    target.generation.sbuf_usable() / PARTS_OF_SBUF / ElemType::F32.size_bytes()
}

fn rank(cx: &OpCx<'_>) -> usize {
    cx.types.first().map_or(0, |ty| ty.rank())
}

/// A fold that is too long and whose partial results combine without changing the result.
fn in_pieces(cx: &OpCx<'_>, r: &Reduction<'_>) -> bool {
    if r.op.is_arg() || r.depth <= longest(cx.target) * WINDOWS || rank(cx) >= MAX_RANK {
        return false;
    }
    // An integer fold into another type is first brought to one that it keeps.
    r.dtype.is_float() || r.dtype == r.to && !r.negate
}

/// The length of a piece of an axis: a divisor where there is a good one.
fn piece(size: u64, longest: u64) -> u64 {
    let least = (longest / 8).max(1);
    (least..=longest).rev().find(|&piece| size.is_multiple_of(piece)).unwrap_or(longest)
}

fn reduce_in_pieces(b: &mut FuncBuilder, cx: &OpCx<'_>) -> Built {
    let (Some(r), Some(ty)) = (Reduction::any(cx), cx.types.first()) else {
        return Err(Refusal::because("not a reduction"));
    };
    let longest = longest(cx.target);
    let mut e = Emitter::new(b, cx);
    let x = e.arg(cx, 0)?;
    let inner = partial_type(&r);
    // The largest dimension first; the others are folded with its pieces.
    let Some(&dim) = r.dims.iter().max_by_key(|&&dim| ty.shape.get(dim)) else {
        return Err(Refusal::because("nothing is folded"));
    };
    let size = ty.shape.get(dim).copied().unwrap_or(1);
    let partial = if size > longest {
        let piece = piece(size, longest);
        pieces(&mut e, x, dim, piece, |e, x, dim| e.reduce(r.op, x, &[dim], false, inner))?
    } else {
        e.reduce(r.op, x, &[dim], true, inner)?
    };
    let value = r.emit(&mut e, r.op, partial, r.negate, r.to)?;
    e.id(value)
}

/// Cuts a dimension into pieces, `[…, n·p + rest, …]` to `[…, n, p, …]` and `[…, 1, rest, …]`, folds the
/// second of the two, and lays the results side by side: `[…, n + 1, …]`.
fn pieces(
    e: &mut Emitter<'_>,
    x: Val,
    dim: usize,
    piece: u64,
    mut fold: impl FnMut(&mut Emitter<'_>, Val, usize) -> Result<Val, Refusal>,
) -> Result<Val, Refusal> {
    let shape = e.shape(x);
    let size = shape.get(dim).copied().unwrap_or(1);
    let whole = size / piece * piece;
    let mut parts = Vec::new();
    for (start, end, length) in [(0, whole, piece), (whole, size, size - whole)] {
        if start == end {
            continue;
        }
        let part = e.slice(x, dim, start, end)?;
        let mut cut = shape.clone();
        cut[dim] = (end - start) / length;
        cut.insert(dim + 1, length);
        let part = e.reshape(part, &cut)?;
        parts.push(fold(e, part, dim + 1)?);
    }
    e.concat(&parts, dim)
}

fn arg_in_pieces(b: &mut FuncBuilder, cx: &OpCx<'_>) -> Built {
    let (Some(r), Some(ty)) = (Reduction::any(cx), cx.types.first()) else {
        return Err(Refusal::because("not a reduction"));
    };
    let Some((&dim, &size)) = r.dims.first().and_then(|dim| Some((dim, ty.shape.get(*dim)?)))
    else {
        return Err(Refusal::because("not a reduction"));
    };
    let piece = piece(size, longest(cx.target));
    let mut e = Emitter::new(b, cx);
    let x = e.arg(cx, 0)?;
    let extreme = if r.op == ReduceOp::Argmax { ReduceOp::Maximum } else { ReduceOp::Minimum };
    let best =
        pieces(&mut e, x, dim, piece, |e, x, dim| e.reduce(extreme, x, &[dim], false, x.dtype))?;
    let places = pieces(&mut e, x, dim, piece, |e, x, dim| e.reduce(r.op, x, &[dim], false, Ui32))?;
    let winner = e.reduce(r.op, best, &[dim], true, Ui32)?;
    // The winner's place: of all pieces only it keeps its index.
    let count = e.shape(best).get(dim).copied().unwrap_or(1);
    let shape = (0..ty.rank()).map(|d| if d == dim { count } else { 1 });
    let numbers = e.b.iota(dim, &TensorType::new(shape, Ui32))?;
    let numbers = e.val(numbers);
    let apart = e.op(Op::BitwiseXor, &[numbers, winner], Ui32)?;
    let zero = e.lit(0, Ui32);
    let place = e.op(Op::Select, &[apart, zero, places], Ui32)?;
    let place = e.reduce(ReduceOp::Add, place, &[dim], true, Ui32)?;
    let length = e.lit(i128::from(piece), Ui32);
    let start = e.op(Op::Mult, &[winner, length], Ui32)?;
    let value = e.op(Op::Add, &[start, place], Ui32)?;
    let value = e.reshape(value, r.shape)?;
    e.id(value)
}

fn scans_in_pieces(cx: &OpCx<'_>) -> bool {
    let TensorOp::ScanCache { op0, op1, seed, emit } = cx.op else { return false };
    let Some(&size) = cx.types.first().and_then(|ty| ty.shape.last()) else { return false };
    let goes_on = cx.dtype().is_float() && (*emit == Emit::Final || cx.to() == F32);
    let longest = longest(cx.target);
    let most = longest * if goes_on { WINDOWS } else { 1 };
    let cut = size > most && size.div_ceil(longest) <= MOST_PIECES;
    // Integers are cut once both steps work at one type.
    let plain = *op0 == Op::Bypass && *seed == Seed::Zero && cx.dtype() == cx.to();
    let combines = is_modular(*op1) && *op1 != Op::Subtract && *op1 != Op::SubtractInt
        || matches!(op1, Op::BitwiseAnd | Op::BitwiseOr | Op::BitwiseXor);
    cut && (cx.dtype().is_float() || plain && combines)
}

fn scan_in_pieces(b: &mut FuncBuilder, cx: &OpCx<'_>) -> Built {
    let (TensorOp::ScanCache { op0, op1, seed, emit }, Some(ty)) = (cx.op, cx.types.first()) else {
        return Err(Refusal::because("not a scan"));
    };
    let (Some(&size), last) = (ty.shape.last(), ty.rank().saturating_sub(1)) else {
        return Err(Refusal::because("not a scan"));
    };
    let longest = longest(cx.target);
    let mut e = Emitter::new(b, cx);
    let (x, scalar) = (e.arg(cx, 0)?, e.arg(cx, 1)?);
    let float = ty.dtype.is_float();
    // The accumulator is fp32, and an integer's own type.
    let inner = if float { F32 } else { ty.dtype };
    let mut carry = if *seed == Seed::Load { Some(e.arg(cx, 2)?) } else { None };
    let mut parts = Vec::new();
    let mut start = 0;
    while start < size {
        let end = (start + longest).min(size);
        let part = e.slice(x, last, start, end)?;
        let load = carry.filter(|_| float);
        let scan = TensorOp::ScanCache {
            op0: *op0,
            op1: *op1,
            seed: if load.is_some() { Seed::Load } else { Seed::Zero },
            emit: *emit,
        };
        let operands: Vec<Val> = [Some(part), Some(scalar), load].into_iter().flatten().collect();
        let mut scanned = e.tensor(scan, &operands, &TensorType::scalar(inner))?;
        if let Some(carry) = carry.filter(|_| !float) {
            scanned = e.op(*op1, &[carry, scanned], inner)?;
        }
        let length = e.shape(scanned).last().copied().unwrap_or(1);
        carry = Some(e.slice(scanned, last, length - 1, length)?);
        parts.push(e.cast(scanned, cx.to())?);
        start = end;
    }
    let value = match emit {
        Emit::All => e.concat(&parts, last)?,
        Emit::Final => parts.pop().ok_or_else(|| Refusal::because("not a scan"))?,
    };
    e.id(value)
}
