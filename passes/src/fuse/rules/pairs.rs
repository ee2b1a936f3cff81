//! Two elementwise operations in one word (ISA 9.14, 9.18, 9.19), and operations that
//! read another type than they compute in.
//!
//! Words compute in fp32 between their operations, as `tensor.pair` does. Where the
//! program rounds to a narrower float in between, a fusion drops that rounding and is
//! of the class `changes-rounding`.

use partita_ir::eval::{Fp8Options, convert};
use partita_ir::ops::{Class, TensorOpName};
use partita_ir::{ElemType, ElementwiseOp, FuncBuilder, Literal, Operand, TensorOp, ValueId};
use partita_isa::{AluOp, Opcode};

use super::{Makes, Read, Refusal, Rule, Site};
use crate::fuse::cost::is_row;
use crate::rewrite::RewriteClass;
use crate::select::{self, Form, Input, InputKind};

const TWO: &[TensorOpName] = &[TensorOpName::Elementwise, TensorOpName::Elementwise];

macro_rules! two_operations {
    ($name:literal, $class:ident, $opcode:ident, $between:ident, $doc:literal) => {
        Rule {
            name: $name,
            class: RewriteClass::$class,
            doc: $doc,
            makes: Makes::Word(Opcode::$opcode),
            chain: TWO,
            only_exact_words: true,
            build: |b, site| two_operations(b, site, Opcode::$opcode, Between::$between),
        }
    };
}

pub(super) const RULES: &[Rule] = &[
    two_operations!(
        "two-scalar-operations",
        Exact,
        TensorScalarArithOp,
        Kept,
        "two operations of a tensor and scalars, fp32 between them"
    ),
    two_operations!(
        "scalar-tensor-operations",
        Exact,
        ScalarTensorTensorArith,
        Kept,
        "an operation with a scalar, then one with a tensor, fp32 between them"
    ),
    two_operations!(
        "two-bit-operations",
        Exact,
        TensorScalarBitvecOp,
        Kept,
        "two operations on the bits of a tensor, with scalars"
    ),
    two_operations!(
        "scalar-tensor-bit-operations",
        Exact,
        ScalarTensorTensorBitvec,
        Kept,
        "an operation on bits with a scalar, then one with a tensor"
    ),
    two_operations!(
        "exponential-of-difference",
        Exact,
        Exponential,
        Kept,
        "the exponential of a tensor less a scalar"
    ),
    two_operations!(
        "two-scalar-operations-unrounded",
        ChangesRounding,
        TensorScalarArithOp,
        Dropped,
        "two operations of a tensor and scalars, without the rounding between them"
    ),
    two_operations!(
        "scalar-tensor-operations-unrounded",
        ChangesRounding,
        ScalarTensorTensorArith,
        Dropped,
        "an operation with a scalar, then one with a tensor, without the rounding between them"
    ),
    Rule {
        name: "cast-into-operand",
        class: RewriteClass::Exact,
        doc: "an f32 operation reads a narrower type itself",
        makes: Makes::Form("a word that reads the narrower type"),
        chain: &[TensorOpName::Elementwise, TensorOpName::Cast],
        only_exact_words: true,
        build: cast_into_operand,
    },
    Rule {
        name: "cast-into-pair",
        class: RewriteClass::Exact,
        doc: "two operations in one read a narrower type themselves",
        makes: Makes::Form("a word that reads the narrower type"),
        chain: &[TensorOpName::Pair, TensorOpName::Cast],
        only_exact_words: true,
        build: cast_into_pair,
    },
    Rule {
        name: "product-with-itself",
        class: RewriteClass::Exact,
        doc: "x * x is SQUARE, which reads x once",
        makes: Makes::Form("SQUARE"),
        chain: &[TensorOpName::Elementwise],
        only_exact_words: true,
        build: product_with_itself,
    },
    Rule {
        name: "maximum-with-zero",
        class: RewriteClass::Exact,
        doc: "maximum(x, 0), which keeps NaN, is RE_LU",
        makes: Makes::Form("RE_LU"),
        chain: &[TensorOpName::Elementwise],
        only_exact_words: true,
        build: maximum_with_zero,
    },
];

/// What becomes of the value between two operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Between {
    Kept,
    Dropped,
}

/// True of a step of a pair that words have, on bits or in arithmetic.
pub(super) fn fits_a_pair(op: ElementwiseOp, bits: bool) -> bool {
    op.is_pair_op() && op.is_alu() && op.is_bits() == bits && op.class() != Class::Move
}

/// How the program holds the value between two operations; `None` where a word would
/// hold it otherwise.
fn between(inner: ElementwiseOp, outer: ElementwiseOp, dtype: ElemType) -> Option<Between> {
    let truth = inner.alu().is_some_and(AluOp::is_truth) && outer.class() == Class::Logical;
    match dtype {
        ElemType::F32 => Some(Between::Kept),
        ElemType::I1 if truth => Some(Between::Kept),
        ElemType::Bf16 | ElemType::F16 => Some(Between::Dropped),
        _ => None,
    }
}

/// A literal of an element type as an fp32 one, where its value is known without the
/// settings of a target.
pub(super) fn as_fp32(literal: Literal, dtype: ElemType) -> Option<Literal> {
    let known = matches!(dtype, ElemType::F32 | ElemType::Bf16 | ElemType::F16 | ElemType::I1);
    let bits = literal.to_bits(dtype).ok().filter(|_| known)?;
    let value = convert::decode_f32(bits, dtype, Fp8Options::default());
    Some(Literal::from_bits(u64::from(value.to_bits()), ElemType::F32))
}

/// Operands of a pair, each literal of a type made one of the type that the pair takes.
fn operands(
    reads: impl Iterator<Item = Read>,
    dtype: ElemType,
    bits: bool,
) -> Option<Vec<Operand>> {
    let operand = |read| match read {
        Read::Literal(literal) if !bits => as_fp32(literal, dtype).map(Operand::Literal),
        read => read.operand(),
    };
    reads.map(operand).collect()
}

fn two_operations(
    b: &mut FuncBuilder,
    site: &Site<'_>,
    opcode: Opcode,
    wanted: Between,
) -> Result<ValueId, Refusal> {
    let (outer, inner) = (site.elementwise(0)?, site.elementwise(1)?);
    let bits = opcode.is_bitvec();
    let exponential = opcode == Opcode::Exponential;
    let last = if exponential { outer == ElementwiseOp::Exp } else { fits_a_pair(outer, bits) };
    if !fits_a_pair(inner, bits) || !last {
        return Err(Refusal::NoMatch);
    }
    let middle = site.ty(1)?.dtype;
    let (first, second) = (site.reads(1)?, site.reads(0)?);
    let value_dtype = |reads: &[Read]| {
        reads.iter().find_map(|read| match read {
            Read::Value(value) => b.ty(*value).map(|ty| ty.dtype),
            _ => None,
        })
    };
    let from = value_dtype(&first).ok_or(Refusal::NoMatch)?;
    let other = value_dtype(&second).unwrap_or(middle);
    let typed = if bits {
        from == middle && other == middle && from.is_int()
    } else {
        let floats = from.is_float() && (other.is_float() || other == middle);
        floats && between(inner, outer, middle) == Some(wanted)
    };
    if !typed {
        return Err(Refusal::NoMatch);
    }
    let reverse = second.len() == 2 && second[1] == Read::Chain;
    let rest = second.into_iter().filter(|read| *read != Read::Chain);
    let mut all = operands(first.into_iter(), from, bits).ok_or(Refusal::NoMatch)?;
    let split = all.len();
    all.extend(operands(rest, middle, bits).ok_or(Refusal::NoMatch)?);
    let result = site.ty(0)?;
    let dtype = if bits { from } else { ElemType::F32 };
    let inputs = inputs(b, site, &all, dtype)?;
    // Which word it would be hangs on what is streamed.
    let streams =
        |inputs: &[Input]| inputs.iter().filter(|input| input.kind == InputKind::Tensor).count();
    let expected = match (streams(&inputs[..split]), streams(&inputs[split..])) {
        (2.., _) => return Err(Refusal::NoMatch),
        (_, 0) if exponential => Opcode::Exponential,
        (_, 0) if bits => Opcode::TensorScalarBitvecOp,
        (_, 0) => Opcode::TensorScalarArithOp,
        (_, _) if bits => Opcode::ScalarTensorTensorBitvec,
        (_, _) => Opcode::ScalarTensorTensorArith,
    };
    if expected != opcode {
        return Err(Refusal::NoMatch);
    }
    let ops = [inner, outer];
    let form = select::one_word(ops, reverse, &inputs, result.dtype, site.target)
        .map_err(|not| Refusal::Forbidden { rule: not.rule, reason: not.reason })?;
    let made = match form {
        Form::Scalar { word, .. } => word.opcode,
        Form::Stt { word, .. } => word.opcode,
        _ => return Err(Refusal::NoMatch),
    };
    if made != opcode {
        return Err(Refusal::NoMatch);
    }
    Ok(b.pair(ops, &all, reverse, result.dtype)?)
}

/// The operands of a pair as selection will probably see them.
fn inputs(
    b: &FuncBuilder,
    site: &Site<'_>,
    operands: &[Operand],
    dtype: ElemType,
) -> Result<Vec<Input>, Refusal> {
    let inputs = operands.iter().map(|operand| input(b, site, *operand, dtype));
    inputs.collect::<Option<_>>().ok_or(Refusal::NoMatch)
}

/// An operand as selection will probably see it: what has one element for each row is
/// a scalar of each partition.
fn input(b: &FuncBuilder, site: &Site<'_>, operand: Operand, dtype: ElemType) -> Option<Input> {
    match operand {
        Operand::Literal(literal) => {
            Some(Input { dtype, kind: InputKind::Literal(literal.to_bits(dtype).ok()?) })
        }
        Operand::Value(value) => {
            let ty = b.ty(value)?;
            let row = is_row(ty, site.ty(0).ok()?);
            let kind = if row { InputKind::Row } else { InputKind::Tensor };
            Some(Input { dtype: ty.dtype, kind })
        }
    }
}

/// What a cast to f32 reads, when words read that exactly.
fn read_by_cast(b: &FuncBuilder, site: &Site<'_>) -> Result<ValueId, Refusal> {
    let (TensorOp::Cast, ElemType::F32) = (site.op(1)?, site.ty(1)?.dtype) else {
        return Err(Refusal::NoMatch);
    };
    let Some(&Read::Value(x)) = site.reads(1)?.first() else { return Err(Refusal::NoMatch) };
    let dtype = b.ty(x).map(|ty| ty.dtype).ok_or(Refusal::NoMatch)?;
    if dtype == ElemType::F32 || dtype.is_int() && dtype.width() > 16 {
        return Err(Refusal::NoMatch);
    }
    Ok(x)
}

fn cast_into_operand(b: &mut FuncBuilder, site: &Site<'_>) -> Result<ValueId, Refusal> {
    let op = site.elementwise(0)?;
    let x = read_by_cast(b, site)?;
    if !fits_a_pair(op, false) {
        return Err(Refusal::NoMatch);
    }
    let reads = site.reads(0)?;
    let reverse = reads.len() == 2 && reads[1] == Read::Chain;
    let rest = reads.into_iter().filter(|read| *read != Read::Chain);
    let mut all = vec![Operand::Value(x)];
    all.extend(operands(rest, ElemType::F32, false).ok_or(Refusal::NoMatch)?);
    one_word_pair(b, site, [ElementwiseOp::Copy, op], &all, reverse)
}

fn cast_into_pair(b: &mut FuncBuilder, site: &Site<'_>) -> Result<ValueId, Refusal> {
    let TensorOp::Pair { op0, op1, reverse } = *site.op(0)? else { return Err(Refusal::NoMatch) };
    let x = read_by_cast(b, site)?;
    if op0.is_bits() {
        return Err(Refusal::NoMatch);
    }
    let operand = |read: Read| match read {
        Read::Chain => Some(Operand::Value(x)),
        read => read.operand(),
    };
    let all = site.reads(0)?.into_iter().map(operand).collect::<Option<Vec<_>>>();
    one_word_pair(b, site, [op0, op1], &all.ok_or(Refusal::NoMatch)?, reverse)
}

/// A pair, if it is one word.
fn one_word_pair(
    b: &mut FuncBuilder,
    site: &Site<'_>,
    ops: [ElementwiseOp; 2],
    operands: &[Operand],
    reverse: bool,
) -> Result<ValueId, Refusal> {
    let dtype = site.ty(0)?.dtype;
    let inputs = inputs(b, site, operands, ElemType::F32)?;
    select::one_word(ops, reverse, &inputs, dtype, site.target)
        .map_err(|not| Refusal::Forbidden { rule: not.rule, reason: not.reason })?;
    Ok(b.pair(ops, operands, reverse, dtype)?)
}

fn product_with_itself(b: &mut FuncBuilder, site: &Site<'_>) -> Result<ValueId, Refusal> {
    let (ElementwiseOp::Mult, &[Read::Value(x), Read::Value(y)]) =
        (site.elementwise(0)?, site.reads(0)?.as_slice())
    else {
        return Err(Refusal::NoMatch);
    };
    if x != y || !b.ty(x).is_some_and(|ty| ty.dtype.is_float()) || !has(site, AluOp::Square) {
        return Err(Refusal::NoMatch);
    }
    Ok(b.op(TensorOp::Elementwise(ElementwiseOp::Square), &[x.into()], site.ty(0)?)?)
}

fn maximum_with_zero(b: &mut FuncBuilder, site: &Site<'_>) -> Result<ValueId, Refusal> {
    let (ElementwiseOp::Maximum, reads) = (site.elementwise(0)?, site.reads(0)?) else {
        return Err(Refusal::NoMatch);
    };
    let (Read::Value(x), Read::Literal(zero)) = (match reads.as_slice() {
        [x @ Read::Value(_), zero] | [zero, x @ Read::Value(_)] => (*x, *zero),
        _ => return Err(Refusal::NoMatch),
    }) else {
        return Err(Refusal::NoMatch);
    };
    let dtype = b.ty(x).map(|ty| ty.dtype).ok_or(Refusal::NoMatch)?;
    if !dtype.is_float() || zero.to_bits(dtype) != Ok(0) || !has(site, AluOp::ReLu) {
        return Err(Refusal::NoMatch);
    }
    Ok(b.op(TensorOp::Elementwise(ElementwiseOp::ReLu), &[x.into()], site.ty(0)?)?)
}

/// The target has the operation.
fn has(site: &Site<'_>, op: AluOp) -> bool {
    op.info().generations.contains(site.target.generation)
}
