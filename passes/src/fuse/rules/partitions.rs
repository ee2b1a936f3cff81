//! Reductions of leading dimensions, which lie across partitions: by the fused
//! transpose and reduction (ISA 9.6) or by the cross-lane reduction (ISA 9.13).
//!
//! The operand is seen as `[P, F]`. Rows beyond 128 are folded first, each
//! partition by itself, over `[P/128, 128, F]`; between folds floats stay in fp32
//! and the result is rounded once.

use partita_ir::ops::{CrossLaneAxis, CrossLaneOp, PadAmounts, ReduceOp, TensorOpName};
use partita_ir::types::{Dims, MAX_PARTITIONS};
use partita_ir::{
    ElemType, ElementwiseOp, FuncBuilder, Literal, Operand, TensorOp, TensorType, ValueId,
};
use partita_isa::Opcode;

use super::layout::hangs_on_order;
use super::{Makes, Read, Refusal, Rule, Site};
use crate::expand::int::leading::identity;
use crate::expand::{self, transpose_reduce_route};
use crate::rewrite::RewriteClass;

/// Integers of this magnitude and below are exact in fp32 (ISA 10.2).
const EXACT_IN_FP32: i128 = 1 << 24;

/// Rows of a tile at least.
const FEWEST_PARTITIONS: u64 = 64;

const LEADING: &[TensorOpName] = &[TensorOpName::Reduce];

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "transpose-reduce-sum",
        class: RewriteClass::Reassociates,
        doc: "a float sum or product over leading dimensions by transposing and reducing blocks of 32 rows",
        makes: Makes::Word(Opcode::TransposeTensorReduceArithOp),
        chain: LEADING,
        only_exact_words: true,
        build: |b, site| transpose_reduce(b, site, Kind::Ordered),
    },
    Rule {
        name: "transpose-reduce",
        class: RewriteClass::Exact,
        doc: "any other arithmetic reduction over leading dimensions, likewise",
        makes: Makes::Word(Opcode::TransposeTensorReduceArithOp),
        chain: LEADING,
        only_exact_words: true,
        build: |b, site| transpose_reduce(b, site, Kind::Arithmetic),
    },
    Rule {
        name: "transpose-reduce-bits",
        class: RewriteClass::Exact,
        doc: "a bitwise reduction over leading dimensions, likewise",
        makes: Makes::Word(Opcode::TransposeTensorReduceBitvecOp),
        chain: LEADING,
        only_exact_words: true,
        build: |b, site| transpose_reduce(b, site, Kind::Bits),
    },
    Rule {
        name: "cross-lane-sum",
        class: RewriteClass::Reassociates,
        doc: "a float sum over leading dimensions by folding the partitions",
        makes: Makes::Word(Opcode::CrossLaneReduceArith),
        chain: LEADING,
        only_exact_words: true,
        build: |b, site| cross_lane(b, site, Kind::Ordered),
    },
    Rule {
        name: "cross-lane",
        class: RewriteClass::Exact,
        doc: "a maximum or an integer sum over leading dimensions by folding the partitions",
        makes: Makes::Word(Opcode::CrossLaneReduceArith),
        chain: LEADING,
        only_exact_words: true,
        build: |b, site| cross_lane(b, site, Kind::Arithmetic),
    },
    Rule {
        name: "cross-lane-bits",
        class: RewriteClass::Exact,
        doc: "a bitwise reduction over leading dimensions by folding the partitions",
        makes: Makes::Word(Opcode::CrossLaneReduceBitvec),
        chain: LEADING,
        only_exact_words: true,
        build: |b, site| cross_lane(b, site, Kind::Bits),
    },
    Rule {
        name: "cross-lane-minimum",
        class: RewriteClass::Exact,
        doc: "a minimum over leading dimensions is the largest of the negated, or of the complements of integers",
        makes: Makes::Word(Opcode::CrossLaneReduceArith),
        chain: LEADING,
        only_exact_words: true,
        build: cross_lane_minimum,
    },
    Rule {
        name: "cross-lane-mean",
        class: RewriteClass::ChangesRounding,
        doc: "a float sum over partitions times a number takes that to every element before it is added",
        makes: Makes::Word(Opcode::CrossLaneReduceArith),
        chain: &[TensorOpName::Elementwise, TensorOpName::Reduce],
        only_exact_words: true,
        build: cross_lane_mean,
    },
    Rule {
        name: "partition-sum-as-reduce",
        class: RewriteClass::Reassociates,
        doc: "a float sum across partitions is a reduction of dimension 0",
        makes: Makes::Form("tensor.reduce"),
        chain: &[TensorOpName::PartitionReduce],
        only_exact_words: false,
        build: |b, site| as_reduce(b, site, true),
    },
    Rule {
        name: "partition-reduce-as-reduce",
        class: RewriteClass::Exact,
        doc: "any other reduction across partitions is a reduction of dimension 0",
        makes: Makes::Form("tensor.reduce"),
        chain: &[TensorOpName::PartitionReduce],
        only_exact_words: false,
        build: |b, site| as_reduce(b, site, false),
    },
];

/// Which reductions a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Sums and products that round, so that the order shows.
    Ordered,
    /// The other arithmetic ones.
    Arithmetic,
    Bits,
}

impl Kind {
    fn of(op: ReduceOp, ty: &TensorType, result: &TensorType) -> Self {
        if op.is_bitwise() {
            Self::Bits
        } else if hangs_on_order(op, ty, result) {
            Self::Ordered
        } else {
            Self::Arithmetic
        }
    }
}

/// A reduction of leading dimensions, its operand reshaped to `[P, F]`.
struct Leading<'a> {
    op: ReduceOp,
    negate: bool,
    x: ValueId,
    ty: TensorType,
    result: &'a TensorType,
    rows: u64,
    columns: u64,
}

impl<'a> Leading<'a> {
    fn of(b: &mut FuncBuilder, site: &Site<'a>, kind: Kind) -> Result<Self, Refusal> {
        Self::at(b, site, 0, kind)
    }

    /// The reduction of this place in the chain.
    fn at(b: &mut FuncBuilder, site: &Site<'a>, place: usize, kind: Kind) -> Result<Self, Refusal> {
        let TensorOp::Reduce { op, dims, negate, .. } = site.op(place)? else {
            return Err(Refusal::NoMatch);
        };
        let (x, result) = (site.input()?, site.ty(place)?);
        let ty = b.ty(x).cloned().ok_or(Refusal::NoMatch)?;
        let leads = (0..dims.len()).all(|dim| dims.contains(&dim));
        let rows = partita_ir::types::element_count(ty.shape.get(..dims.len()).unwrap_or(&[]));
        let columns = partita_ir::types::element_count(ty.shape.get(dims.len()..).unwrap_or(&[]));
        let (Some(rows), Some(columns)) = (rows, columns) else { return Err(Refusal::NoMatch) };
        // One column is a reduction of everything; the free dimension comes first there.
        if op.is_arg() || !leads || rows < 2 || columns < 2 || Kind::of(*op, &ty, result) != kind {
            return Err(Refusal::NoMatch);
        }
        if result.dtype == ElemType::F32r {
            return Err(Refusal::forbidden(
                "ISA 5.1",
                "an f32r value cannot be put in order afterwards",
            ));
        }
        let flat = if ty.rank() == 2 { x } else { b.reshape(x, [rows, columns])? };
        Ok(Self { op: *op, negate: *negate, x: flat, ty, result, rows, columns })
    }

    /// The element type between folds.
    fn between(&self) -> ElemType {
        let narrow_sum = self.op == ReduceOp::Add && self.ty.dtype.width() <= 16;
        if self.ty.dtype.is_float() || narrow_sum { ElemType::F32 } else { self.ty.dtype }
    }

    /// A sum of narrow integers goes through fp32 only where nothing can be lost.
    fn check_exact(&self) -> Result<(), Refusal> {
        let Some((low, high)) = self.ty.dtype.int_range() else { return Ok(()) };
        if self.between() != ElemType::F32 {
            return Ok(());
        }
        let rows = i128::from(self.rows);
        let (low, high) = (low * rows, high * rows);
        let fits =
            self.result.dtype.int_range().is_none_or(|(least, most)| least <= low && high <= most);
        if self.negate || low < -EXACT_IN_FP32 || high > EXACT_IN_FP32 || !fits {
            let (rows, ty, result) = (self.rows, self.ty.dtype, self.result.dtype);
            let reason = format!(
                "a sum of {rows} `{ty}` may pass 2^24 in magnitude or the range of `{result}`"
            );
            return Err(Refusal::forbidden("N-3", reason));
        }
        Ok(())
    }

    /// Folds rows beyond 128; what is left has at most so many.
    fn fold_tiles(&self, b: &mut FuncBuilder) -> Result<ValueId, Refusal> {
        if self.rows <= MAX_PARTITIONS {
            return Ok(self.x);
        }
        // Tiles of fewer rows that leave none over need no filling, which is a copy of all.
        let even =
            (FEWEST_PARTITIONS..=MAX_PARTITIONS).rev().find(|&rows| self.rows.is_multiple_of(rows));
        let height = even.unwrap_or(MAX_PARTITIONS);
        let tiles = self.rows.div_ceil(height);
        let missing = (tiles * height - self.rows) as i64;
        let mut x = self.x;
        if missing > 0 {
            let rows = PadAmounts { low: 0, high: missing, interior: 0 };
            let columns = PadAmounts { low: 0, high: 0, interior: 0 };
            x = b.pad(x, identity(self.op, self.ty.dtype).map_err(refused)?, [rows, columns])?;
        }
        let x = b.reshape(x, [tiles, height, self.columns])?;
        let fold = TensorOp::Reduce {
            op: self.op,
            dims: Dims::from_slice(&[0]),
            keep: false,
            negate: false,
        };
        Ok(b.op(fold, &[x.into()], &TensorType::scalar(self.between()))?)
    }
}

fn refused(refusal: expand::Refusal) -> Refusal {
    Refusal::Forbidden { rule: refusal.rule, reason: refusal.reason }
}

fn transpose_reduce(b: &mut FuncBuilder, site: &Site<'_>, kind: Kind) -> Result<ValueId, Refusal> {
    let leading = Leading::of(b, site, kind)?;
    leading.check_exact()?;
    let mut x = leading.fold_tiles(b)?;
    let dtype = b.ty(x).map_or(leading.ty.dtype, |ty| ty.dtype);
    let mut to = leading.result.dtype;
    // Words read any float as fp32, but the type between folds follows the operand.
    if dtype.is_int() && dtype != leading.between() {
        x = b.cast(x, leading.between())?;
    }
    // The bit form knows no signed type narrower than 32 bits (TR-11).
    let unsigned = match dtype {
        ElemType::I8 => Some(ElemType::Ui8),
        ElemType::I16 => Some(ElemType::Ui16),
        _ => None,
    };
    if let (Kind::Bits, Some(unsigned)) = (kind, unsigned)
        && to == dtype
    {
        x = b.bitcast(x, unsigned)?;
        to = unsigned;
    }
    let folded = transpose_reduce_route(b, x, leading.op, leading.negate, to).map_err(refused)?;
    let folded =
        if to == leading.result.dtype { folded } else { b.bitcast(folded, leading.result.dtype)? };
    in_shape(b, folded, leading.result)
}

fn cross_lane(b: &mut FuncBuilder, site: &Site<'_>, kind: Kind) -> Result<ValueId, Refusal> {
    let leading = Leading::of(b, site, kind)?;
    let op = match leading.op {
        ReduceOp::Add => CrossLaneOp::Add,
        ReduceOp::Max => CrossLaneOp::Max,
        ReduceOp::BitwiseAnd => CrossLaneOp::BitwiseAnd,
        ReduceOp::BitwiseOr => CrossLaneOp::BitwiseOr,
        ReduceOp::BitwiseXor => CrossLaneOp::BitwiseXor,
        other => {
            return Err(Refusal::forbidden("CR-8", format!("there is no cross-lane `{other}`")));
        }
    };
    if leading.negate {
        return Err(Refusal::forbidden("ISA 9.13", "a cross-lane reduction does not negate"));
    }
    // Lanes fold integers in 32 bits (N-5), tiles before them in fp32.
    if leading.rows > MAX_PARTITIONS {
        leading.check_exact()?;
    }
    let x = leading.fold_tiles(b)?;
    let reduce = TensorOp::PartitionReduce { op, axis: CrossLaneAxis::Partitions, scale: None };
    let folded = b.op(reduce, &[x.into()], &TensorType::scalar(leading.result.dtype))?;
    in_shape(b, folded, leading.result)
}

/// The largest of negated numbers, negated: zeros are ordered as by a minimum, and a NaN is left out as well. The
/// complement of an integer turns their order round, which negation does not at the least one.
fn cross_lane_minimum(b: &mut FuncBuilder, site: &Site<'_>) -> Result<ValueId, Refusal> {
    let leading = Leading::of(b, site, Kind::Arithmetic)?;
    if leading.op != ReduceOp::Min {
        return Err(Refusal::NoMatch);
    }
    let result = leading.result;
    let x = leading.fold_tiles(b)?;
    let dtype = b.ty(x).map_or(leading.ty.dtype, |ty| ty.dtype);
    let (turn, operand) = if dtype.is_float() {
        (ElementwiseOp::Mult, Some(Operand::Literal(Literal::Float(-1.0))))
    } else {
        (ElementwiseOp::BitwiseNot, None)
    };
    if !dtype.is_float() && (leading.negate || result.dtype != dtype || dtype == ElemType::I1) {
        return Err(Refusal::NoMatch);
    }
    let turned = |b: &mut FuncBuilder, value: ValueId, to: ElemType| {
        let operands: Vec<Operand> = [Operand::Value(value)].into_iter().chain(operand).collect();
        b.op(TensorOp::Elementwise(turn), &operands, &TensorType::scalar(to))
    };
    // An 8-bit float may saturate when it is written.
    let narrow = dtype.is_float() && dtype.width() == 8;
    let negated = turned(b, x, if narrow { ElemType::F32 } else { dtype })?;
    let reduce = TensorOp::PartitionReduce {
        op: CrossLaneOp::Max,
        axis: CrossLaneAxis::Partitions,
        scale: None,
    };
    // A float is rounded once, by the last operation.
    let between = match (leading.negate, dtype.is_float()) {
        (true, _) => result.dtype,
        (false, true) => ElemType::F32,
        (false, false) => dtype,
    };
    let largest = b.op(reduce, &[negated.into()], &TensorType::scalar(between))?;
    let folded = if leading.negate { largest } else { turned(b, largest, result.dtype)? };
    in_shape(b, folded, result)
}

/// A sum of at most 128 rows that is multiplied by a literal.
fn cross_lane_mean(b: &mut FuncBuilder, site: &Site<'_>) -> Result<ValueId, Refusal> {
    let (ElementwiseOp::Mult, reads) = (site.elementwise(0)?, site.reads(0)?) else {
        return Err(Refusal::NoMatch);
    };
    let ([Read::Chain, Read::Literal(factor)] | [Read::Literal(factor), Read::Chain]) = reads[..]
    else {
        return Err(Refusal::NoMatch);
    };
    let leading = Leading::at(b, site, 1, Kind::Ordered)?;
    let sum = leading.op == ReduceOp::Add && leading.result.dtype == ElemType::F32;
    if !sum || leading.negate || !leading.ty.dtype.is_float() || leading.rows > MAX_PARTITIONS {
        return Err(Refusal::NoMatch);
    }
    let bits = factor.to_bits(ElemType::F32).map_err(|_| Refusal::NoMatch)?;
    let reduce = TensorOp::PartitionReduce {
        op: CrossLaneOp::Average,
        axis: CrossLaneAxis::Partitions,
        scale: Some(f32::from_bits(bits as u32)),
    };
    let result = site.ty(0)?;
    let folded = b.op(reduce, &[leading.x.into()], &TensorType::scalar(result.dtype))?;
    in_shape(b, folded, result)
}

/// The value, reshaped where its shape is another.
pub(super) fn in_shape(
    b: &mut FuncBuilder,
    value: ValueId,
    want: &TensorType,
) -> Result<ValueId, Refusal> {
    if b.ty(value).is_some_and(|ty| ty.shape == want.shape) {
        return Ok(value);
    }
    Ok(b.reshape(value, want.shape.iter().copied())?)
}

fn as_reduce(b: &mut FuncBuilder, site: &Site<'_>, ordered: bool) -> Result<ValueId, Refusal> {
    let TensorOp::PartitionReduce { op, axis: CrossLaneAxis::Partitions, .. } = site.op(0)? else {
        return Err(Refusal::NoMatch);
    };
    let op = match op {
        CrossLaneOp::Add => ReduceOp::Add,
        CrossLaneOp::Max => ReduceOp::Max,
        CrossLaneOp::BitwiseOr => ReduceOp::BitwiseOr,
        CrossLaneOp::BitwiseAnd => ReduceOp::BitwiseAnd,
        CrossLaneOp::BitwiseXor => ReduceOp::BitwiseXor,
        // The scale is a rounding of its own.
        CrossLaneOp::Average => return Err(Refusal::NoMatch),
    };
    let (x, result) = (site.input()?, site.ty(0)?);
    let ty = b.ty(x).cloned().ok_or(Refusal::NoMatch)?;
    if hangs_on_order(op, &ty, result) != ordered {
        return Err(Refusal::NoMatch);
    }
    let reduce = TensorOp::Reduce { op, dims: Dims::from_slice(&[0]), keep: true, negate: false };
    Ok(b.op(reduce, &[x.into()], &TensorType::scalar(result.dtype))?)
}
