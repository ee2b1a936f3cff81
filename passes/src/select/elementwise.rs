//! Words for elementwise operations and casts.

use partita_ir::ElemType;
use partita_ir::literal::int_from_bits;
use partita_ir::ops::ElementwiseOp;
use partita_isa::{AluOp, Dtype, Engine, Opcode, ReverseOps, Target};

use super::{
    Form, Input, InputKind, NotCore, SAMPLE_CHANNELS, holds, is_small_int, legal, literal_f32,
    sample,
};
use crate::words::{Imm, One, RowSelect, Scalar, Two};

/// Selects the form of an elementwise operation.
///
/// # Errors
/// No word does it exactly; the reason of the last candidate.
pub fn elementwise(
    op: ElementwiseOp,
    inputs: &[Input],
    out: ElemType,
    target: &Target,
) -> Result<Form, NotCore> {
    let (Some(&left), Some(&data)) = (inputs.first(), inputs.last()) else {
        return Err(NotCore::because("the operation has no operands"));
    };
    match op {
        ElementwiseOp::Copy | ElementwiseOp::Bypass => cast(left, out, target),
        ElementwiseOp::Select => {
            row_select(inputs, out, target).or_else(|_| select(left, data, out, target))
        }
        ElementwiseOp::Reciprocal => {
            needs_number(out)?;
            one_source(Opcode::Reciprocal, left, out, target)
        }
        ElementwiseOp::Exp => {
            let word = scalar_word(Opcode::Exponential, AluOp::Bypass, left.dtype, out);
            let word = needs_number(out).and(float_operand(left)).map(|()| word)?;
            scalar_form(word, Engine::Dve, 0, None, Imm::NONE, target)
        }
        ElementwiseOp::Rsqrt => {
            needs_number(out).and(float_operand(left))?;
            let word = scalar_word(Opcode::TensorScalarArithOp, AluOp::Rsqrt, left.dtype, out);
            scalar_form(word, Engine::Pool, 0, None, Imm::NONE, target)
                .or_else(|_| scalar_form(word, Engine::Dve, 0, None, Imm::NONE, target))
        }
        _ => match op.alu() {
            None => Err(NotCore::because(format!("the machine has no `{op}`"))),
            Some(alu) => alu_form(op, alu, inputs, out, target),
        },
    }
}

fn alu_form(
    op: ElementwiseOp,
    alu: AluOp,
    inputs: &[Input],
    out: ElemType,
    target: &Target,
) -> Result<Form, NotCore> {
    let dtype = data_dtype(inputs);
    if alu.is_bitvec() && op != ElementwiseOp::Bypass {
        return bits(op, alu, inputs, out, target);
    }
    if op == ElementwiseOp::Pow {
        if !dtype.is_float() || !out.is_float() {
            return Err(NotCore::because("POW computes in fp32 (ISA 6.4)"));
        }
        return two_form(Opcode::TensorTensorArithOp, alu, inputs, out, Engine::Pool, target);
    }
    if alu.is_int() || (dtype.is_int() && dtype.width() >= 32) {
        return integer(alu, inputs, out, target);
    }
    fp32(op, alu, inputs, out, target)
}

/// The dtype that the operation computes on: a value's, where there is one.
fn data_dtype(inputs: &[Input]) -> ElemType {
    let value = inputs.iter().find(|input| !matches!(input.kind, InputKind::Literal(_)));
    value.or(inputs.first()).map_or(ElemType::F32, |input| input.dtype)
}

/// Raw bits: an immediate of the vector engine where the rules allow it, else two tensors there, or
/// on POOL for 64 bits.
fn bits(
    op: ElementwiseOp,
    alu: AluOp,
    inputs: &[Input],
    out: ElemType,
    target: &Target,
) -> Result<Form, NotCore> {
    let dtype = data_dtype(inputs);
    if dtype != out {
        return Err(NotCore::because(
            "a bit operation has one type for operands and result (TT-8)",
        ));
    }
    if out == ElemType::I1
        && !matches!(
            op,
            ElementwiseOp::BitwiseAnd | ElementwiseOp::BitwiseOr | ElementwiseOp::BitwiseXor
        )
    {
        return Err(NotCore::because("a truth value is a whole byte to the machine"));
    }
    if dtype.width() > 32 {
        return two_form(Opcode::TensorTensorBitvecOp, alu, inputs, out, Engine::Pool, target);
    }
    if inputs.iter().any(|input| input.dtype != dtype) {
        return Err(NotCore::because("a shift's count has the type of what it shifts (TT-8)"));
    }
    scalar_or_two(
        [Opcode::TensorScalarBitvecOp, Opcode::TensorTensorBitvecOp],
        alu,
        inputs,
        out,
        |bits, _| u32::try_from(bits).ok(),
        target,
    )
}

/// Wrapping integers of 32 or 64 bits on POOL (N-4).
fn integer(alu: AluOp, inputs: &[Input], out: ElemType, target: &Target) -> Result<Form, NotCore> {
    let dtype = data_dtype(inputs);
    if dtype != out || inputs.iter().any(|input| input.dtype != dtype) {
        return Err(NotCore::because(
            "POOL keeps integers exact only when all three types are one (N-4)",
        ));
    }
    if !alu.is_int() && !matches!(alu, AluOp::Add | AluOp::Subtract | AluOp::Mult) {
        return Err(NotCore::because(format!(
            "`{}` of 32 bits or more would pass through fp32 (N-3)",
            alu.info().lower
        )));
    }
    two_form(Opcode::TensorTensorArithOp, alu, inputs, out, Engine::Pool, target)
}

/// The vector engine in fp32 (N-3).
fn fp32(
    op: ElementwiseOp,
    alu: AluOp,
    inputs: &[Input],
    out: ElemType,
    target: &Target,
) -> Result<Form, NotCore> {
    if out.width() > 32 {
        return Err(NotCore::because("the vector engine writes at most 32 bits (TT-E1)"));
    }
    if out == ElemType::I1 && !alu.is_truth() {
        // The machine would write any number up to 255.
        let extreme = matches!(op, ElementwiseOp::Max | ElementwiseOp::Min);
        if !extreme || data_dtype(inputs) != ElemType::I1 {
            return Err(NotCore::because("a number is not a truth value"));
        }
    }
    if data_dtype(inputs).is_int() {
        exact_in_fp32(op, alu, inputs, out)?;
    }
    scalar_or_two(
        [Opcode::TensorScalarArithOp, Opcode::TensorTensorArithOp],
        alu,
        inputs,
        out,
        |bits, dtype| literal_f32(bits, dtype).map(f32::to_bits),
        target,
    )
}

/// Refuses small integers whose result fp32 or a saturating write would change.
fn exact_in_fp32(
    op: ElementwiseOp,
    alu: AluOp,
    inputs: &[Input],
    out: ElemType,
) -> Result<(), NotCore> {
    if !inputs.iter().all(|input| is_small_int(input.dtype)) {
        return Err(NotCore::because("an integer of 32 bits would pass through fp32 (N-3)"));
    }
    if alu.is_truth() {
        return Ok(());
    }
    let dtype = data_dtype(inputs);
    let (least, most) = dtype.int_range().unwrap_or_default();
    let range = |index: usize| match inputs.get(index).map(|input| input.kind) {
        Some(InputKind::Literal(bits)) => {
            let value = int_from_bits(bits, dtype);
            (value, value)
        }
        _ => (least, most),
    };
    let (a, b) = (range(0), range(1));
    let magnitude = |(low, high): (i128, i128)| {
        let least = if low <= 0 && high >= 0 { 0 } else { low.abs().min(high.abs()) };
        (least, low.abs().max(high.abs()))
    };
    // Zero times a negative number is −0 in fp32; an integer has none.
    if op == ElementwiseOp::Mult && out.is_float() && (a.0 < 0 || b.0 < 0) {
        return Err(NotCore::because("a product of integers would be a negative zero in fp32"));
    }
    let products = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
    let bounds = |values: &[i128]| {
        let least = values.iter().copied().min().unwrap_or(0);
        (least, values.iter().copied().max().unwrap_or(0))
    };
    // The exact result, and whether the dialect takes it modulo the operands' width first.
    let (exact, wraps_at_operand) = match op {
        ElementwiseOp::Add => ((a.0 + b.0, a.1 + b.1), false),
        ElementwiseOp::Subtract => ((a.0 - b.1, a.1 - b.0), false),
        ElementwiseOp::Mult => (bounds(&products), false),
        ElementwiseOp::Max | ElementwiseOp::Min => return Ok(()),
        ElementwiseOp::ReLu => return Ok(()),
        ElementwiseOp::AbsoluteValue => (magnitude(a), true),
        ElementwiseOp::AbsoluteDiff => (magnitude((a.0 - b.1, a.1 - b.0)), true),
        ElementwiseOp::AbsMax | ElementwiseOp::AbsMin => {
            (bounds(&[magnitude(a).0, magnitude(a).1, magnitude(b).0, magnitude(b).1]), true)
        }
        ElementwiseOp::Square => (bounds(&[0, magnitude(a).1 * magnitude(a).1]), true),
        _ => return Err(NotCore::because(format!("`{op}` of integers is not one fp32 operation"))),
    };
    if wraps_at_operand && !(least <= exact.0 && exact.1 <= most) {
        return Err(NotCore::because(format!(
            "`{op}` of `{dtype}` may wrap, where the machine saturates"
        )));
    }
    if !wraps_at_operand && !holds(exact, out) {
        return Err(NotCore::because(format!(
            "`{op}` of `{dtype}` into `{out}` may wrap or round, where the machine saturates"
        )));
    }
    Ok(())
}

/// `select` by one value of each row, one branch another or a literal (SEL-1 to SEL-5).
fn row_select(inputs: &[Input], out: ElemType, target: &Target) -> Result<Form, NotCore> {
    let &[mask, on, off] = inputs else { return Err(NotCore::because("an operand is missing")) };
    let imm = |input: &Input| match input.kind {
        InputKind::Literal(bits) => u32::try_from(bits).ok().map(Imm::Value),
        InputKind::Row => Some(Imm::Pointer(0x3000)),
        InputKind::Tensor => None,
    };
    let (tensor, other, scalar) = match (on.kind, imm(&off), imm(&on)) {
        (InputKind::Tensor, Some(scalar), _) => (1, 2, scalar),
        (_, None, Some(scalar)) => (2, 1, scalar),
        _ => return Err(NotCore::because("one branch is a scalar of each row")),
    };
    if mask.kind != InputKind::Row || [on, off].iter().any(|branch| branch.dtype != out) {
        return Err(NotCore::because("a scalar of each row selects (ISA 9.20)"));
    }
    let word =
        RowSelect { dtype: out.machine(), predicate: mask.dtype.machine(), reversed: tensor == 2 };
    let predicate = Imm::Pointer(0x4000);
    let sample_word = word.word(SAMPLE_CHANNELS, predicate, scalar, sample(0, 1), sample(1, 1));
    legal(&sample_word, target, Engine::Dve)?;
    Ok(Form::RowSelect { word, tensor, other })
}

/// `select`: copy, then a predicated copy (CP-2 to CP-4).
fn select(mask: Input, data: Input, out: ElemType, target: &Target) -> Result<Form, NotCore> {
    if data.dtype != out {
        return Err(NotCore::because("a select moves bits and does not convert (CP-4)"));
    }
    let word = predicated(mask.dtype.machine(), out.machine());
    legal(
        &word.word(SAMPLE_CHANNELS, [sample(0, 1), sample(1, 1)], sample(2, 1)),
        target,
        Engine::Dve,
    )?;
    cast(Input { dtype: out, kind: InputKind::Tensor }, out, target)?;
    Ok(Form::Select { mask: word.dtypes[0], data: word.dtypes[1] })
}

/// The predicated copy of a select.
pub fn predicated(mask: Dtype, data: Dtype) -> Two {
    Two { opcode: Opcode::CopyPredicated, op: AluOp::Bypass, dtypes: [mask, data], out: data }
}

/// `tensor.cast`, `copy`: the machine's conversion where it agrees.
pub fn cast(input: Input, out: ElemType, target: &Target) -> Result<Form, NotCore> {
    let from = input.dtype;
    if from == out {
        return one_source(Opcode::Copy, input, out, target);
    }
    needs_number(out)?;
    // A wide integer rounds to fp32 on the way: right for a float, and harmless where
    // the result saturates at 16 bits or fewer.
    let rounds = from.is_int() && from.width() == 32 && out.is_int() && out.width() >= 32;
    if rounds {
        return Err(NotCore::because("a 32-bit integer would pass through fp32 (ISA 10.2)"));
    }
    one_source(Opcode::Cast, input, out, target)
}

fn needs_number(out: ElemType) -> Result<(), NotCore> {
    if out == ElemType::I1 {
        Err(NotCore::because("a number is not a truth value"))
    } else {
        Ok(())
    }
}

fn float_operand(input: Input) -> Result<(), NotCore> {
    if input.dtype.is_float() {
        Ok(())
    } else {
        Err(NotCore::because("the operation is one of floats"))
    }
}

pub(super) fn one_source(
    opcode: Opcode,
    input: Input,
    out: ElemType,
    target: &Target,
) -> Result<Form, NotCore> {
    let word = One::moving(opcode, input.dtype.machine(), out.machine());
    legal(&word.word(SAMPLE_CHANNELS, sample(0, 1), sample(1, 1)), target, Engine::Dve)?;
    Ok(Form::Move { word, tensor: 0 })
}

fn scalar_word(opcode: Opcode, op: AluOp, input: ElemType, out: ElemType) -> Scalar {
    Scalar::of(opcode, op, input.machine(), out.machine())
}

fn scalar_form(
    word: Scalar,
    engine: Engine,
    tensor: usize,
    immediate: Option<usize>,
    imm: Imm,
    target: &Target,
) -> Result<Form, NotCore> {
    legal(
        &word.word(SAMPLE_CHANNELS, [imm, Imm::NONE], sample(0, 1), sample(1, 1)),
        target,
        engine,
    )?;
    Ok(Form::Scalar { word, engine, tensor, immediates: [immediate, None] })
}

fn two_form(
    opcode: Opcode,
    op: AluOp,
    inputs: &[Input],
    out: ElemType,
    engine: Engine,
    target: &Target,
) -> Result<Form, NotCore> {
    let dtype = |index: usize| {
        inputs.get(index).or(inputs.first()).map_or(Dtype::Fp32, |i| i.dtype.machine())
    };
    let word = Two { opcode, op, dtypes: [dtype(0), dtype(1)], out: out.machine() };
    legal(&word.word(SAMPLE_CHANNELS, [sample(0, 1), sample(1, 1)], sample(2, 1)), target, engine)?;
    // A word of two sources whose operation has one operand ignores the second (ISA 6.1).
    let second = inputs.len().saturating_sub(1).min(1);
    Ok(Form::Two { word, engine, tensors: [0, second] })
}

/// One tensor and an immediate where there is a scalar, else two tensors. `immediate` gives the slot
/// of a literal.
fn scalar_or_two(
    [scalar, two]: [Opcode; 2],
    op: AluOp,
    inputs: &[Input],
    out: ElemType,
    immediate: impl Fn(u64, ElemType) -> Option<u32>,
    target: &Target,
) -> Result<Form, NotCore> {
    let dtype = data_dtype(inputs);
    if op.info().arity == 1 {
        return scalar_form(
            scalar_word(scalar, op, dtype, out),
            Engine::Dve,
            0,
            None,
            Imm::NONE,
            target,
        );
    }
    // A pointer's value is fp32 beside arithmetic, and of the data's type beside bits.
    let is_scalar = |input: &Input| match input.kind {
        InputKind::Literal(bits) => immediate(bits, input.dtype).map(Imm::Value),
        InputKind::Row if input.dtype.width() == 32 => Some(Imm::Pointer(0x3000)),
        _ => None,
    };
    let slots: Vec<Option<Imm>> = inputs.iter().map(is_scalar).collect();
    let pick = match slots.as_slice() {
        [_, Some(imm)] => Some((0, 1, ReverseOps::None, *imm)),
        [Some(imm), None] => Some((1, 0, ReverseOps::First, *imm)),
        _ => None,
    };
    if let Some((tensor, index, reverse, imm)) = pick {
        let word = Scalar { reverse, ..scalar_word(scalar, op, dtype, out) };
        if let Ok(form) = scalar_form(word, Engine::Dve, tensor, Some(index), imm, target) {
            return Ok(form);
        }
    }
    two_form(two, op, inputs, out, Engine::Dve, target)
}
