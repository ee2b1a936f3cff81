//! Words for reductions and scans.

use partita_ir::ElemType;
use partita_ir::ops::{CrossLaneOp, ElementwiseOp, Emit, ReduceOp as Fold, Seed};
use partita_ir::types::MAX_PARTITIONS;
use partita_isa::{AccumCmd, AluOp, Engine, Opcode, ReduceOp, ReverseOps, SubDim, Target};

use super::{
    Form, Input, InputKind, NotCore, SAMPLE_CHANNELS, holds, is_small_int, legal, literal_f32,
    sample,
};
use crate::words::{CrossLane, Imm, One, Scalar};

/// How a reduction is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Domain {
    Fp32,
    Integer,
    Bits,
}

/// The operation and domain of a fold of `depth` elements, when the fold is exact in them.
fn fold(
    op: Fold,
    input: ElemType,
    out: ElemType,
    depth: u64,
    negate: bool,
) -> Result<(AluOp, Domain), NotCore> {
    let wide = input.is_int() && !is_small_int(input);
    let signed = input.is_signed();
    let (alu, domain) = match op {
        Fold::BitwiseAnd => (AluOp::BitwiseAnd, Domain::Bits),
        Fold::BitwiseOr => (AluOp::BitwiseOr, Domain::Bits),
        Fold::BitwiseXor => (AluOp::BitwiseXor, Domain::Bits),
        Fold::Add if wide => (AluOp::AddInt, Domain::Integer),
        Fold::Mult if wide => (AluOp::MultInt, Domain::Integer),
        Fold::Max if wide => (if signed { AluOp::MaxInt } else { AluOp::MaxUint }, Domain::Integer),
        Fold::Min if wide => (if signed { AluOp::MinInt } else { AluOp::MinUint }, Domain::Integer),
        Fold::Argmax if wide => {
            (if signed { AluOp::AmaxInt } else { AluOp::AmaxUint }, Domain::Integer)
        }
        Fold::Argmin if wide => {
            (if signed { AluOp::AminInt } else { AluOp::AminUint }, Domain::Integer)
        }
        Fold::Add => (AluOp::Add, Domain::Fp32),
        Fold::Mult => (AluOp::Mult, Domain::Fp32),
        Fold::Max => (AluOp::Max, Domain::Fp32),
        Fold::Min => (AluOp::Min, Domain::Fp32),
        Fold::LogicalAnd => (AluOp::LogicalAnd, Domain::Fp32),
        Fold::LogicalOr => (AluOp::LogicalOr, Domain::Fp32),
        Fold::Maximum | Fold::Minimum | Fold::Argmax | Fold::Argmin => {
            return Err(NotCore::because(format!("no reduction word does `{op}` of `{input}`")));
        }
    };
    match domain {
        Domain::Bits if input != out => {
            Err(NotCore::because("a bit reduction keeps its type (TR-11)"))
        }
        Domain::Bits if input == ElemType::I1 => Ok((alu, domain)),
        Domain::Integer if !alu.is_arg() && input != out => {
            Err(NotCore::because("an integer reduction keeps its type (TR-12)"))
        }
        Domain::Integer if negate => Err(NotCore::because("an integer reduction is not negated")),
        Domain::Fp32 if wide => {
            Err(NotCore::because("a 32-bit integer would pass through fp32 (N-3)"))
        }
        Domain::Fp32 => exact_in_fp32(alu, input, out, depth, negate).map(|()| (alu, domain)),
        _ => Ok((alu, domain)),
    }
}

fn exact_in_fp32(
    alu: AluOp,
    input: ElemType,
    out: ElemType,
    depth: u64,
    negate: bool,
) -> Result<(), NotCore> {
    if alu.is_truth() && depth < 2 {
        // The accumulator starts as the element itself (ISA 9.5).
        return Err(NotCore::because("a logical reduction of one element would not give 0 or 1"));
    }
    if out == ElemType::I1 && !(alu.is_truth() || input == ElemType::I1 && alu != AluOp::Add) {
        return Err(NotCore::because("a number is not a truth value"));
    }
    let Some((low, high)) = input.int_range() else { return Ok(()) };
    if negate {
        return Err(NotCore::because("an integer reduction may wrap when negated"));
    }
    let depth = i128::from(depth);
    match alu {
        AluOp::Add if holds((low * depth, high * depth), out) => Ok(()),
        AluOp::Add => Err(NotCore::because(format!(
            "a sum of {depth} `{input}` may pass 2^24 in magnitude or the range of `{out}`"
        ))),
        AluOp::Mult => Err(NotCore::because("a product of integers may pass 2^24 in magnitude")),
        _ => Ok(()),
    }
}

/// Selects a reduction of free dimensions (ISA 9.5).
///
/// # Errors
/// No word does it exactly.
pub fn reduce(
    op: Fold,
    input: Input,
    out: ElemType,
    depth: u64,
    negate: bool,
    target: &Target,
) -> Result<Form, NotCore> {
    let (alu, domain) = fold(op, input.dtype, out, depth, negate)?;
    let (opcode, engine) = match domain {
        Domain::Fp32 => (Opcode::TensorReduceArithOp, Engine::Dve),
        Domain::Integer => (Opcode::TensorReduceArithOp, Engine::Pool),
        Domain::Bits => (Opcode::TensorReduceBitvecOp, Engine::Dve),
    };
    let word = one(opcode, alu, input.dtype, out, negate);
    legal(&word.word(SAMPLE_CHANNELS, sample(0, 4), sample(1, 1)), target, engine)?;
    Ok(Form::Reduce { word, engine })
}

/// Selects a transpose-reduce of groups of 32 (ISA 9.6).
///
/// # Errors
/// No word does it exactly.
pub fn transpose_reduce(
    op: Fold,
    input: Input,
    out: ElemType,
    negate: bool,
    target: &Target,
) -> Result<Form, NotCore> {
    let (alu, domain) = fold(op, input.dtype, out, 32, negate)?;
    let opcode = match domain {
        Domain::Fp32 => Opcode::TransposeTensorReduceArithOp,
        Domain::Bits => Opcode::TransposeTensorReduceBitvecOp,
        // On POOL the validator would take it, but the transpose network is the vector engine's (OQ-59).
        Domain::Integer => {
            return Err(NotCore::because("the transpose-reduce computes in fp32 (ISA 9.6)"));
        }
    };
    let word = one(opcode, alu, input.dtype, out, negate);
    legal(&word.word(SAMPLE_CHANNELS, sample(0, 32), sample(1, 1)), target, Engine::Dve)?;
    Ok(Form::TransposeReduce(word))
}

fn one(opcode: Opcode, op: AluOp, input: ElemType, out: ElemType, negated: bool) -> One {
    One { opcode, op, input: input.machine(), out: out.machine(), op_dim: SubDim::X, negated }
}

/// Selects a reduction of at most 128 partitions (ISA 9.13).
///
/// # Errors
/// No word does it exactly.
pub fn cross_lane(
    op: CrossLaneOp,
    input: Input,
    out: ElemType,
    shape: &[u64],
    scale: Option<f32>,
    target: &Target,
) -> Result<Form, NotCore> {
    let dtype = input.dtype;
    if shape.first().is_none_or(|&rows| rows == 0 || rows > MAX_PARTITIONS) {
        return Err(NotCore::because("a cross-lane reduction folds 1 to 128 partitions (CH-1)"));
    }
    let reduce_op = match op {
        CrossLaneOp::Add => ReduceOp::Add,
        CrossLaneOp::Average => ReduceOp::Average,
        CrossLaneOp::Max => ReduceOp::Max,
        CrossLaneOp::BitwiseOr => ReduceOp::BitwiseOr,
        CrossLaneOp::BitwiseAnd => ReduceOp::BitwiseAnd,
        CrossLaneOp::BitwiseXor => ReduceOp::BitwiseXor,
    };
    if out == ElemType::I1 && !(dtype == out && (op.is_bitwise() || op == CrossLaneOp::Max)) {
        return Err(NotCore::because("a number is not a truth value"));
    }
    if dtype.is_int() {
        let fits = match op {
            CrossLaneOp::Add => out.is_int() && out.width() == 32,
            CrossLaneOp::Average => is_small_int(dtype),
            CrossLaneOp::Max => dtype == out,
            _ => true,
        };
        if !fits {
            return Err(NotCore::because(format!(
                "`{op}` of `{dtype}` into `{out}` is not exact (N-5)"
            )));
        }
    }
    let opcode =
        if op.is_bitwise() { Opcode::CrossLaneReduceBitvec } else { Opcode::CrossLaneReduceArith };
    let word = CrossLane {
        opcode,
        op: reduce_op,
        input: dtype.machine(),
        out: out.machine(),
        scale: scale.unwrap_or(1.0),
    };
    legal(&word.word(SAMPLE_CHANNELS, sample(0, 1), sample(1, 1)), target, Engine::Pool)?;
    Ok(Form::CrossLane(word))
}

/// Selects a scan (ISA 9.8, 9.17).
///
/// # Errors
/// No word does it exactly.
pub fn scan(
    op0: ElementwiseOp,
    op1: ElementwiseOp,
    seed: Seed,
    emit: Emit,
    inputs: &[Input],
    out: ElemType,
    target: &Target,
) -> Result<Form, NotCore> {
    let Some(&input) = inputs.first() else {
        return Err(NotCore::because("the operand is missing"));
    };
    let dtype = input.dtype;
    let (Some(alu0), Some(alu1)) = (op0.alu(), op1.alu()) else {
        return Err(NotCore::because(format!("the machine does not scan with `{op0}, {op1}`")));
    };
    if out == ElemType::I1 {
        return Err(NotCore::because("a number is not a truth value"));
    }
    if dtype.is_float() {
        return cache_scan([alu0, alu1], seed, emit, inputs, out, target);
    }
    if alu0 != AluOp::Bypass || seed != Seed::Zero || dtype != out || emit != Emit::All {
        return Err(NotCore::because(
            "an integer scan has no first step, no seed and one type (TC-10, TC-11)",
        ));
    }
    let (opcode, alu) = match (op1, alu1) {
        (ElementwiseOp::Add | ElementwiseOp::AddInt, _) => {
            (Opcode::TensorCumulativeArithOp, AluOp::AddInt)
        }
        (ElementwiseOp::Mult | ElementwiseOp::MultInt, _) => {
            (Opcode::TensorCumulativeArithOp, AluOp::MultInt)
        }
        (_, alu) if alu.is_bitvec() && !alu.is_shift() => (Opcode::TensorCumulativeBitvecOp, alu),
        _ => {
            return Err(NotCore::because(format!(
                "an integer scan with `{op1}` would pass through fp32"
            )));
        }
    };
    if opcode == Opcode::TensorCumulativeArithOp && dtype.width() != 32 {
        return Err(NotCore::because("an integer scan is exact at 32 bits only (N-8)"));
    }
    let word = One { op_dim: SubDim::X, ..one(opcode, alu, dtype, out, false) };
    legal(&word.word(SAMPLE_CHANNELS, sample(0, 4), sample(1, 4)), target, Engine::Dve)?;
    Ok(Form::Scan(word))
}

fn cache_scan(
    ops: [AluOp; 2],
    seed: Seed,
    emit: Emit,
    inputs: &[Input],
    out: ElemType,
    target: &Target,
) -> Result<Form, NotCore> {
    let input = inputs[0].dtype;
    let slot = |index: usize| match inputs.get(index).map(|input| (input.kind, input.dtype)) {
        Some((InputKind::Literal(bits), dtype)) => {
            literal_f32(bits, dtype).map(|value| Imm::Value(value.to_bits()))
        }
        Some((_, ElemType::F32)) => Some(Imm::Pointer(0x3000)),
        _ => None,
    };
    let unary = ops[0] == AluOp::Bypass || ops[0].info().arity == 1;
    let imm0 = if unary { Some(Imm::NONE) } else { slot(1) };
    let imm1 = if seed == Seed::Load { slot(2) } else { Some(Imm::NONE) };
    let (Some(imm0), Some(imm1)) = (imm0, imm1) else {
        return Err(NotCore::because("a scan's scalar and seed are fp32 (CA-7, IMM-4)"));
    };
    let word = Scalar {
        opcode: match emit {
            Emit::All => Opcode::TensorScalarCacheCumulative,
            Emit::Final => Opcode::TensorScalarCacheReduce,
        },
        ops,
        reverse: ReverseOps::None,
        accumulator: match seed {
            Seed::Zero => AccumCmd::ZeroAccumulate,
            Seed::Load => AccumCmd::LoadAccumulate,
        },
        input: input.machine(),
        out: out.machine(),
    };
    legal(
        &word.word(SAMPLE_CHANNELS, [imm0, imm1], sample(0, 4), sample(1, 4)),
        target,
        Engine::Dve,
    )?;
    Ok(Form::CacheScan(word))
}
