//! The worked encodings of ISA 12, both ways: from fields to bytes and from bytes to fields, text and
//! verdict.

use partita_isa::asm::{format_plain, parse_plain};
use partita_isa::{
    AccumCmd, AluOp, CrossLaneReduce, Dtype, Engine, Events, ImmSrc, Instruction, Opcode, Pattern,
    ReduceAxis, ReduceOp, ReverseOps, SubDim, Target, TensorReduce, TensorScalar, TensorTensor,
    UpdateMode, WaitMode, Word, check,
};

fn pattern4(start_addr: u32, step_elem: [i16; 4], num_elem: [u16; 4]) -> Pattern<4> {
    Pattern { start_addr, step_elem, num_elem }
}

fn g1() -> Instruction {
    let fp32 = Dtype::Fp32.code();
    Instruction::new(
        Opcode::TensorTensorArithOp,
        TensorTensor {
            in0_in1_dtype: fp32 | fp32 << 4,
            out_dtype: fp32,
            op: AluOp::Add.code(),
            num_active_channels: 128,
            src0_mem_pattern: Pattern::contiguous(0, 512),
            src1_mem_pattern: Pattern::contiguous(0x800, 512),
            dst_mem_pattern: Pattern::contiguous(0x1000, 512),
        },
    )
}

fn g2() -> Instruction {
    let partition_64 = 64 * 0x4_0000;
    let mut instruction = Instruction::new(
        Opcode::TensorReduceArithOp,
        TensorReduce {
            src_mem_pattern: pattern4(partition_64 + 0x100, [1, 8, 32, 1], [8, 4, 16, 1]),
            in_dtype: Dtype::Bfloat16.code(),
            out_dtype: Dtype::Fp32.code(),
            num_active_channels: 64,
            op: AluOp::Max.code(),
            op_dim: SubDim::Xy.code(),
            dst_mem_pattern: Pattern::contiguous(partition_64 + 0x2000, 16),
            ..TensorReduce::default()
        },
    );
    instruction.events = Events {
        wait_mode: WaitMode::SemGeImm.code(),
        wait_idx: 7,
        update_mode: UpdateMode::SemIncDone.code(),
        update_idx: 9,
        semaphore_value: 3,
    };
    instruction
}

fn g3() -> Instruction {
    Instruction::new(
        Opcode::TensorScalarArithOp,
        TensorScalar {
            accumulator_cmd: AccumCmd::Idle.code(),
            src_mem_pattern: Pattern::contiguous(0x200_0000, 256),
            in_dtype: Dtype::Fp32.code(),
            out_dtype: Dtype::Bfloat16.code(),
            num_active_channels: 128,
            imm0_src: ImmSrc::Instruction.code(),
            op0: AluOp::Mult.code(),
            op1: AluOp::Add.code(),
            reverse_operands: ReverseOps::None.code(),
            imm1_src: ImmSrc::Pointer.code(),
            imm0: 2.5_f32.to_bits(),
            imm1: 0x100,
            dst_mem_pattern: Pattern::contiguous(0x400, 256),
            ..TensorScalar::default()
        },
    )
}

fn g4() -> Instruction {
    Instruction::new(
        Opcode::CrossLaneReduceArith,
        CrossLaneReduce {
            src_mem_pattern: Pattern::contiguous(0, 128),
            in_dtype: Dtype::Fp32.code(),
            out_dtype: Dtype::Fp32.code(),
            num_active_channels: 128,
            reduce_op: ReduceOp::Add.code(),
            reduce_axis: ReduceAxis::Partitions.code(),
            scale: 1.0_f32.to_bits(),
            dst_mem_pattern: Pattern::contiguous(0x800, 128),
            ..CrossLaneReduce::default()
        },
    )
}

fn g5() -> Instruction {
    let bf16 = Dtype::Bfloat16.code();
    Instruction::new(
        Opcode::StreamTranspose,
        TensorReduce {
            src_mem_pattern: Pattern::contiguous(0, 64),
            in_dtype: bf16,
            out_dtype: bf16,
            num_active_channels: 64,
            dst_mem_pattern: Pattern::contiguous(0x200, 64),
            ..TensorReduce::default()
        },
    )
}

/// Name, fields, bytes, engine and text.
fn worked() -> [(&'static str, Instruction, &'static str, Engine, &'static str); 5] {
    [
        (
            "G1",
            g1(),
            "411000000000000000000000aa0a0480\
             00000000010001000100000201000100\
             00080000010001000100000201000100\
             00100000010001000100000201000100",
            Engine::Dve,
            "tensor_tensor_arith in0_in1_dtype=FP32/FP32 out_dtype=FP32 op=ADD \
             num_active_channels=128 src0_mem_pattern=sbuf[p0, 0x0][1:512] \
             src1_mem_pattern=sbuf[p0, 0x800][1:512] dst_mem_pattern=sbuf[p0, 0x1000][1:512]",
        ),
        (
            "G2",
            g2(),
            "42100000050713090300000000010001\
             01000800200001000800040010000100\
             060a4000080300000000000000200001\
             01000100010001001000010001000100",
            Engine::Dve,
            "tensor_reduce_arith src_mem_pattern=sbuf[p64, 0x100][1:8, 8:4, 32:16] \
             in_dtype=BFLOAT16 out_dtype=FP32 num_active_channels=64 op=MAX op_dim=XY \
             dst_mem_pattern=sbuf[p64, 0x2000][1:16] wait sem7 >= 3 inc.done sem9",
        ),
        (
            "G3",
            g3(),
            "43100000000000000000000000000000\
             00000002010001000100000101000100\
             0a068000060400010000204000010000\
             00040000010001000100000101000100",
            Engine::Dve,
            "tensor_scalar_arith src_mem_pattern=psum[p0, 0x0][1:256] in_dtype=FP32 \
             out_dtype=BFLOAT16 num_active_channels=128 op0=MULT op1=ADD imm1_src=POINTER \
             imm0=2.5 imm1=sbuf[p0, 0x100] dst_mem_pattern=sbuf[p0, 0x400][1:256]",
        ),
        (
            "G4",
            g4(),
            "7c100000000000000000000000000000\
             01000100010001008000010001000100\
             0a0a8000010000000000803f00080000\
             01000100010001008000010001000100",
            Engine::Pool,
            "cross_lane_reduce_arith src_mem_pattern=sbuf[p0, 0x0][1:128] in_dtype=FP32 \
             out_dtype=FP32 num_active_channels=128 dst_mem_pattern=sbuf[p0, 0x800][1:128]",
        ),
        (
            "G5",
            g5(),
            "6b100000000000000000000000000000\
             01000100010001004000010001000100\
             06064000000000000000000000020000\
             01000100010001004000010001000100",
            Engine::Dve,
            "stream_transpose src_mem_pattern=sbuf[p0, 0x0][1:64] in_dtype=BFLOAT16 \
             out_dtype=BFLOAT16 num_active_channels=64 dst_mem_pattern=sbuf[p0, 0x200][1:64]",
        ),
    ]
}

#[test]
fn fields_bytes_text_and_verdict_agree() {
    let target = Target::default();
    for (name, instruction, hex, engine, text) in worked() {
        let word: Word = hex.parse().expect(name);
        assert_eq!(instruction.encode(), word, "{name}: encode");
        assert_eq!(Instruction::decode(&word), instruction, "{name}: decode");
        assert_eq!(format_plain(&instruction, &target), text, "{name}: format");
        assert_eq!(parse_plain(text, &target), Ok(instruction), "{name}: parse");
        assert_eq!(check(&word, &target, Some(engine)), [], "{name}: check");
    }
}

/// Messages point at the text and say what to write.
#[test]
fn refused_lines_say_where_and_why() {
    let refused = |line: &str| {
        let error = parse_plain(line, &Target::default()).expect_err(line);
        (line[error.span].to_owned(), error.message, error.help)
    };
    let case = |at: &str, message: &str, help: &str| (at.into(), message.into(), help.into());
    assert_eq!(
        refused("tensor_tensor_arit op=ADD"),
        case(
            "tensor_tensor_arit",
            "unknown instruction `tensor_tensor_arit`",
            "did you mean `tensor_tensor_arith`?"
        )
    );
    assert_eq!(
        refused("copy num_active_chanels=3"),
        case(
            "num_active_chanels",
            "copy has no field `num_active_chanels`",
            "did you mean `num_active_channels`?"
        )
    );
    assert_eq!(
        refused("tensor_tensor_arith op=ADDD"),
        case("ADDD", "unknown name `ADDD`", "did you mean `ADD`?")
    );
    assert_eq!(
        refused("copy num_active_channels=256"),
        case("256", "256 is out of range", "the field holds 0 to 255")
    );
    assert_eq!(
        refused("copy src_mem_pattern=sbuf[p128, 0x0][1:4]"),
        case(
            "sbuf[p128, 0x0]",
            "sbuf of cayman has no such address",
            "partitions are p0 to p127; addr[…] takes any 29-bit address"
        )
    );
    assert_eq!(
        refused("tensor_scalar_bitvec op0=BITWISE_AND imm0=2.5"),
        case("2.5", "expected a number, found `2.5`", "write a decimal or 0x… integer")
    );
    assert_eq!(refused("copy op=BYPASS op=BYPASS").1, "`op` is given twice");
    assert_eq!(refused(".word 00").1, "a word has 128 hex digits, found 2");
}

/// A decimal immediate is a value of the opcode's domain, hex is bits; order does not matter.
#[test]
fn immediates_are_read_by_their_source() {
    let imm = |line: &str| match parse_plain(line, &Target::default()).map(|parsed| parsed.body) {
        Ok(partita_isa::Body::TensorScalar(body)) => body.imm0,
        other => panic!("{line}: {other:?}"),
    };
    assert_eq!(imm("tensor_scalar_arith op0=MULT imm0=2"), 2.0_f32.to_bits());
    assert_eq!(imm("tensor_scalar_arith op0=MULT imm0=-inf"), f32::NEG_INFINITY.to_bits());
    assert_eq!(imm("tensor_scalar_arith op0=MULT imm0=0x2"), 2);
    assert_eq!(imm("tensor_scalar_bitvec op0=BITWISE_AND imm0=2"), 2);
    assert_eq!(imm("tensor_scalar_arith imm0=-2 op0=ADD_INT"), (-2_i32) as u32);
    assert_eq!(imm("tensor_scalar_arith imm0=r5 imm0_src=REG_POINTER"), 5);
    assert_eq!(imm("tensor_scalar_arith imm0=sbuf[p1, 4] imm0_src=POINTER"), 0x4_0004);
    assert_eq!(imm("tensor_scalar_ptr_arith imm0=psum[p0, 8]"), 0x200_0008);
}
