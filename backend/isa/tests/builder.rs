//! Built words are legal without further care.

use partita_isa::builder::*;
use partita_isa::{
    AluOp, Dtype, Engine, Generation, Instruction, Opcode, Pattern, ReduceAxis, ReduceOp,
    ReverseOps, SubDim, Target, check,
};

fn at<const D: usize>(address: u32, count: u16, dtype: Dtype) -> Tensor<D> {
    Tensor { pattern: Pattern::contiguous(address, count), dtype }
}

fn assert_legal(instruction: Instruction, opcode: Opcode, engine: Engine) {
    assert_eq!(instruction.opcode(), Some(opcode));
    let found = check(&instruction.encode(), &Target::new(Generation::Mariana), Some(engine));
    assert_eq!(found, [], "{opcode}");
}

#[test]
fn two_sources() {
    use Dtype::{Bfloat16, Fp32, Int32};
    use Engine::{Dve, Pool};
    let (a, b) = (at(0, 64, Fp32), at(0x1000, 64, Fp32));
    let c = at(0x2000, 64, Bfloat16);
    let built = [
        (tensor_tensor(AluOp::Add, a, b, c, 128), Opcode::TensorTensorArithOp, Dve),
        (
            tensor_tensor(
                AluOp::BitwiseXor,
                at(0, 64, Int32),
                at(0x1000, 64, Int32),
                at(0x2000, 64, Int32),
                128,
            ),
            Opcode::TensorTensorBitvecOp,
            Pool,
        ),
        (copy_where(at(0, 64, Int32), b, at(0x2000, 64, Fp32), 128), Opcode::CopyPredicated, Dve),
        (copy_where(at(0, 64, Int32), b, c, 128), Opcode::CastPredicated, Dve),
    ];
    for (instruction, opcode, engine) in built {
        assert_legal(instruction, opcode, engine);
    }
}

#[test]
fn one_source() {
    use Dtype::{Bfloat16, Fp32, Uint16};
    use Engine::{Act, Dve, Pool};
    let form = ReduceForm::default();
    let across = ReduceForm { transposed: true, negated: true };
    let (a, b) = (at(0, 64, Fp32), at(0x1000, 64, Fp32));
    let one = at(0x1000, 1, Fp32);
    let two = at(0x1000, 2, Fp32);
    let tiles = Tensor {
        pattern: Pattern { start_addr: 0, step_elem: [1, 32, 1, 1], num_elem: [32, 2, 1, 1] },
        dtype: Fp32,
    };
    let words = |dtype| (at(0, 64, dtype), at(0x1000, 64, dtype));
    let (from, to) = words(Uint16);
    let built = [
        (reduce(AluOp::Max, SubDim::X, form, a, one, 128), Opcode::TensorReduceArithOp, Dve),
        (
            reduce(AluOp::BitwiseOr, SubDim::X, form, from, at(0x1000, 1, Uint16), 128),
            Opcode::TensorReduceBitvecOp,
            Dve,
        ),
        (
            reduce(AluOp::Add, SubDim::X, across, tiles, two, 128),
            Opcode::TransposeTensorReduceArithOp,
            Dve,
        ),
        (scan(AluOp::Add, SubDim::X, a, b, 128), Opcode::TensorCumulativeArithOp, Dve),
        (scan(AluOp::BitwiseOr, SubDim::X, from, to, 128), Opcode::TensorCumulativeBitvecOp, Dve),
        (copy(a, b, 128), Opcode::Copy, Act),
        (copy(a, at(0x1000, 64, Bfloat16), 128), Opcode::Cast, Pool),
        (reciprocal(a, b, 128), Opcode::Reciprocal, Dve),
        (shuffle(a, b, 64), Opcode::StreamShuffle, Dve),
        (transpose(a, b, 96), Opcode::StreamTranspose, Dve),
        (load_lanes([255; 32]), Opcode::LoadMaskSelect, Dve),
        (
            cross_lane(ReduceOp::Average, ReduceAxis::Partitions, 0.25, a, b, 4),
            Opcode::CrossLaneReduceArith,
            Pool,
        ),
        (
            cross_lane(ReduceOp::BitwiseAnd, ReduceAxis::Partitions, 1.0, from, to, 128),
            Opcode::CrossLaneReduceBitvec,
            Pool,
        ),
    ];
    for (instruction, opcode, engine) in built {
        assert_legal(instruction.waits_for(3, 7).increments(4), opcode, engine);
    }
}

#[test]
fn scalars() {
    use Dtype::{Fp32, Uint16};
    use Engine::Dve;
    let (a, b) = (at(0, 64, Fp32), at(0x1000, 64, Fp32));
    let scaled = [(AluOp::Mult, Imm::Float(0.5)), (AluOp::Add, Imm::Register(3))];
    let shifted = [(AluOp::LogicalShiftLeft, Imm::Bits(4)), (AluOp::Bypass, Imm::None)];
    let narrow = [at(0, 64, Uint16), at(0x1000, 64, Uint16)];
    let seeds = [Seed::Continue, Seed::Identity, Seed::Load(Imm::Pointer(0x3000))];
    let mut built = vec![
        (tensor_scalar(scaled, ReverseOps::First, a, b, 128), Opcode::TensorScalarArithOp),
        (
            tensor_scalar(shifted, ReverseOps::None, narrow[0], narrow[1], 128),
            Opcode::TensorScalarBitvecOp,
        ),
        (exponential(Imm::Pointer(0x3000), None, a, b, 128), Opcode::Exponential),
        (
            select(Imm::Pointer(0x3000), Imm::Float(1.0), a, b.pattern, 128),
            Opcode::TensorScalarSelect,
        ),
    ];
    for seed in seeds {
        let stages = [AluOp::Mult, AluOp::Add];
        let sum = cache(stages, Imm::Float(2.0), seed, false, [a, b], 128);
        let sums = cache(stages, Imm::Float(2.0), seed, true, [a, b], 128);
        built.push((sum, Opcode::TensorScalarCacheReduce));
        built.push((sums, Opcode::TensorScalarCacheCumulative));
        built.push((exponential(Imm::None, Some(seed), a, b, 128), Opcode::Exponential));
    }
    for (instruction, opcode) in built {
        assert_legal(instruction, opcode, Dve);
    }
}

#[test]
fn two_sources_and_a_scalar() {
    use Dtype::{Bfloat16, Fp32, Uint16};
    use Engine::Dve;
    let fused = scalar_tensor_tensor(
        [AluOp::Mult, AluOp::Add],
        Imm::Float(3.0),
        ReverseOps::None,
        [at(0, 64, Fp32), at(0x1000, 64, Fp32)],
        at(0x2000, 64, Bfloat16),
        128,
    );
    assert_legal(fused, Opcode::ScalarTensorTensorArith, Dve);
    let masked = scalar_tensor_tensor(
        [AluOp::BitwiseAnd, AluOp::BitwiseOr],
        Imm::Bits(0xff),
        ReverseOps::None,
        [at(0, 64, Uint16), at(0x1000, 64, Uint16)],
        at(0x2000, 64, Uint16),
        128,
    );
    assert_legal(masked, Opcode::ScalarTensorTensorBitvec, Dve);
}
