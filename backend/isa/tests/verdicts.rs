//! Single findings: their order, what they are inside of, where they point and what they allow.

use partita_isa::{
    AccumCmd, AluOp, Body, CrossLaneReduce, Dtype, Engine, Generation, ImmSrc, Instruction, Opcode,
    Pattern, ReduceAxis, Severity, SubDim, Target, TensorReduce, TensorScalar, TensorTensor,
    Violation, check,
};

const STRIDE: u32 = 0x4_0000;

fn judge(instruction: &Instruction, generation: Generation, engine: Engine) -> Vec<Violation> {
    check(&instruction.encode(), &Target::new(generation), Some(engine))
}

fn ids(violations: &[Violation]) -> Vec<&'static str> {
    violations.iter().map(|violation| violation.rule.id).collect()
}

/// Ids that the word gives on the DVE of CAYMAN.
fn on_dve(opcode: Opcode, body: impl Into<Body>) -> Vec<&'static str> {
    ids(&judge(&Instruction::new(opcode, body), Generation::Cayman, Engine::Dve))
}

fn add() -> TensorTensor {
    TensorTensor {
        op: AluOp::Add.code(),
        src0_mem_pattern: Pattern::contiguous(0, 64),
        src1_mem_pattern: Pattern::contiguous(0x1000, 64),
        dst_mem_pattern: Pattern::contiguous(0x2000, 64),
        ..TensorTensor::default()
    }
}

fn reduce() -> TensorReduce {
    TensorReduce {
        op: AluOp::Add.code(),
        op_dim: SubDim::X.code(),
        src_mem_pattern: Pattern::contiguous(0, 64),
        dst_mem_pattern: Pattern::contiguous(0x1000, 1),
        ..TensorReduce::default()
    }
}

fn scale() -> TensorScalar {
    TensorScalar {
        op0: AluOp::Mult.code(),
        imm0: 2.0_f32.to_bits(),
        src_mem_pattern: Pattern::contiguous(0, 64),
        dst_mem_pattern: Pattern::contiguous(0x1000, 64),
        ..TensorScalar::default()
    }
}

#[test]
fn nested_rules_are_reported_from_the_outside_in() {
    let mut body = reduce();
    body.num_active_channels = 32;
    body.src_mem_pattern.start_addr = 5 * STRIDE;
    assert_eq!(on_dve(Opcode::TensorReduceArithOp, body), ["TR-8", "CH-3"]);

    let instruction = Instruction::new(Opcode::TransposeTensorReduceArithOp, body);
    let found = judge(&instruction, Generation::Cayman, Engine::Dve);
    assert_eq!(ids(&found), ["TTR-1", "TR-8", "CH-3"]);
    let inside: Vec<_> =
        found.iter().map(|violation| violation.inside.map(|rule| rule.id)).collect();
    assert_eq!(inside, [None, Some("TTR-1"), Some("TR-8")]);
    assert!(found.iter().all(|violation| violation.field == "src_mem_pattern"));
    assert!(found.iter().all(|violation| violation.offset == 12));
    assert_eq!(found[2].found, "sbuf[p5, 0x0][1:64]");
    assert_eq!(found[2].allowed, "partition 0, 32, 64 or 96 for 32 channels");
}

#[test]
fn a_misaligned_source_names_all_its_rules() {
    let mut body = reduce();
    body.src_mem_pattern.start_addr = 2;
    assert_eq!(on_dve(Opcode::TensorReduceArithOp, body), ["TR-9", "TV-2", "ADR-2"]);
}

#[test]
fn header_comes_before_events_before_the_body() {
    let mut body = add();
    body.num_active_channels = 0;
    let mut instruction = Instruction::new(Opcode::TensorTensorArithOp, body);
    instruction.header.inst_word_len = 15;
    instruction.events.wait_mode = 0x81;
    instruction.events.update_mode = 0xff;
    let found = judge(&instruction, Generation::Cayman, Engine::Act);
    assert_eq!(ids(&found), ["HDR-2", "EV-2", "EV-3", "TT-9", "CH-1", "ENG-1"]);
}

#[test]
fn foreign_opcodes_leave_the_body_alone() {
    let mut body = scale();
    body.num_active_channels = 0;
    let exponential = Instruction::new(Opcode::Exponential, body);
    assert_eq!(ids(&judge(&exponential, Generation::Cayman, Engine::Dve)), ["GEN-1"]);
    let packed = Instruction::blank(Opcode::TensorTensorAddBf16);
    assert_eq!(ids(&judge(&packed, Generation::Cayman, Engine::Pool)), ["HDR-1", "TB-1", "GEN-1"]);
    let packed = Instruction::blank(Opcode::TensorReduceMaxBf16);
    assert_eq!(
        ids(&judge(&packed, Generation::Maverick, Engine::Pool)),
        ["HDR-1", "RB-1", "GEN-1"]
    );
    for (number, expected) in [(0xff, "HDR-1"), (0x06, "HDR-1"), (0x44 + 1, "GEN-1")] {
        let mut word = Instruction::blank(Opcode::Copy).encode();
        word.0[0] = number;
        let found = check(&word, &Target::default(), Some(Engine::Dve));
        assert_eq!(ids(&found), [expected], "{number:#x}");
    }
}

#[test]
fn two_psum_sources_and_two_quadrants_are_refused() {
    let mut body = add();
    body.src0_mem_pattern.start_addr = 0x200_0000;
    assert_eq!(on_dve(Opcode::TensorTensorArithOp, body), [""; 0]);
    body.src1_mem_pattern.start_addr = 0x200_0100;
    assert_eq!(on_dve(Opcode::TensorTensorArithOp, body), ["TT-14", "ADR-6"]);
    let mut body = add();
    body.num_active_channels = 32;
    body.src1_mem_pattern.start_addr = 32 * STRIDE;
    assert_eq!(on_dve(Opcode::TensorTensorArithOp, body), ["TT-14", "ADR-6", "ADR-7"]);
}

#[test]
fn psum_on_pool_names_the_engine_rule_and_eng_2() {
    let mut body = add();
    body.src0_mem_pattern.start_addr = 0x200_0000;
    let instruction = Instruction::new(Opcode::TensorTensorArithOp, body);
    let found = judge(&instruction, Generation::Cayman, Engine::Pool);
    assert_eq!(ids(&found), ["TT-E2", "ENG-2"]);
    // MAVERICK has no PSUM: this is partition 32 of its SBUF.
    let found = judge(&instruction, Generation::Maverick, Engine::Pool);
    assert_eq!(ids(&found), ["TT-10", "CH-3", "TT-14", "ADR-6", "ADR-7"]);
}

#[test]
fn engine_rules_are_skipped_without_an_engine() {
    let mut body = add();
    body.op = AluOp::AddInt.code();
    (body.in0_in1_dtype, body.out_dtype) = (0x88, Dtype::Int32.code());
    let word = Instruction::new(Opcode::TensorTensorArithOp, body).encode();
    let target = Target::default();
    assert_eq!(check(&word, &target, None), []);
    assert_eq!(ids(&check(&word, &target, Some(Engine::Pool))), [""; 0]);
    assert_eq!(ids(&check(&word, &target, Some(Engine::Dve))), ["TT-E1"]);
}

#[test]
fn messages_list_the_operations_that_exist_on_the_target() {
    let mut body = scale();
    body.op0 = AluOp::Square.code();
    let instruction = Instruction::new(Opcode::TensorScalarArithOp, body);
    let found = judge(&instruction, Generation::Cayman, Engine::Dve);
    assert_eq!(ids(&found), ["TS-2"]);
    assert_eq!(found[0].found, "SQUARE");
    assert!(found[0].allowed.contains("MULT") && !found[0].allowed.contains("SQUARE"));
    assert_eq!(judge(&instruction, Generation::Mariana, Engine::Dve)[0].rule.id, "TS-15");
}

#[test]
fn warnings_do_not_make_a_word_illegal() {
    let warned = |instruction: &Instruction| {
        let found = judge(instruction, Generation::Cayman, Engine::Dve);
        assert!(found.iter().all(|violation| violation.severity == Severity::Warning));
        ids(&found)
    };
    let mut word = Instruction::new(Opcode::TensorScalarArithOp, scale());
    word.events.wait_idx = 3;
    word.header.debug_cmd = 2;
    assert_eq!(warned(&word), ["DBG-1", "EV-5"]);

    let mut unused = scale();
    unused.imm1 = 1;
    assert_eq!(warned(&Instruction::new(Opcode::TensorScalarArithOp, unused)), ["TS-15"]);

    let mut pointers = scale();
    pointers.imm0 = 0x40;
    pointers.imm1 = 0x44;
    pointers.op1 = AluOp::Add.code();
    assert_eq!(warned(&Instruction::new(Opcode::TensorScalarPtrArithOp, pointers)), ["DEP-1"]);

    let lanes = CrossLaneReduce {
        in_dtype: Dtype::Int8.code(),
        out_dtype: Dtype::Int32.code(),
        reduce_axis: ReduceAxis::All.code(),
        src_mem_pattern: Pattern::contiguous(0, 3),
        dst_mem_pattern: Pattern::contiguous(0x100, 1),
        ..CrossLaneReduce::default()
    };
    let sum = Instruction::new(Opcode::CrossLaneReduceArith, lanes);
    assert_eq!(ids(&judge(&sum, Generation::Cayman, Engine::Pool)), ["SUM-1"]);
}

#[test]
fn overlap_is_a_warning_unless_in_place_or_interleaved() {
    let copy = |src: Pattern<4>, dst: Pattern<4>| {
        let body = TensorReduce {
            src_mem_pattern: src,
            dst_mem_pattern: dst,
            num_active_channels: 32,
            ..TensorReduce::default()
        };
        on_dve(Opcode::Copy, body)
    };
    let spread =
        |start_addr| Pattern { start_addr, step_elem: [2, 1, 1, 1], num_elem: [16, 1, 1, 1] };
    assert_eq!(copy(Pattern::contiguous(0, 16), Pattern::contiguous(0, 16)), [""; 0]);
    assert_eq!(copy(Pattern::contiguous(0, 16), Pattern::contiguous(32, 16)), ["OVL-1"]);
    assert_eq!(copy(Pattern::contiguous(0, 16), Pattern::contiguous(64, 16)), [""; 0]);
    assert_eq!(copy(spread(0), spread(4)), [""; 0]);
    assert_eq!(copy(spread(0), spread(8)), ["OVL-1"]);
    // The same bytes of other partitions.
    assert_eq!(
        copy(Pattern::contiguous(0, 16), Pattern::contiguous(32 * STRIDE + 32, 16)),
        [""; 0]
    );
}

#[test]
fn gathers_are_judged_from_mariana_on() {
    // 64 indices at byte 0x400, data at byte 0x1000.
    let gather = Pattern::<4> {
        start_addr: 1 << 29 | 0x400,
        step_elem: [0x1000, 0, 64, 0],
        num_elem: [0; 4],
    };
    let body = TensorReduce {
        src_mem_pattern: gather,
        dst_mem_pattern: Pattern::contiguous(0x8000, 64),
        num_active_channels: 32,
        ..TensorReduce::default()
    };
    let on_mariana = |opcode, body| {
        ids(&judge(&Instruction::new(opcode, body), Generation::Mariana, Engine::Dve))
    };
    assert_eq!(on_mariana(Opcode::Copy, body), [""; 0]);
    assert_eq!(on_dve(Opcode::Copy, body), ["CC-7", "TV-1", "ADR-9"]);
    let swapped =
        TensorReduce { src_mem_pattern: body.dst_mem_pattern, dst_mem_pattern: gather, ..body };
    assert_eq!(on_mariana(Opcode::Copy, swapped), ["IND-3"]);
    let mut apart = body;
    apart.src_mem_pattern.start_addr |= 32 * STRIDE;
    assert_eq!(on_mariana(Opcode::Copy, apart), ["IND-1"]);
    let mut elsewhere = body;
    elsewhere.dst_mem_pattern.start_addr = 32 * STRIDE;
    assert_eq!(on_mariana(Opcode::Copy, elsewhere), ["IND-2"]);
    assert_eq!(on_mariana(Opcode::StreamTranspose, body), ["ST-8", "IND-5"]);
    let mut reduced = body;
    (reduced.op, reduced.op_dim) = (AluOp::Add.code(), SubDim::Xy.code());
    reduced.dst_mem_pattern = Pattern::contiguous(0x8000, 1);
    assert_eq!(on_mariana(Opcode::TensorReduceArithOp, reduced), ["TR-13", "IND-4"]);
    reduced.op_dim = SubDim::X.code();
    assert_eq!(on_mariana(Opcode::TensorReduceArithOp, reduced), [""; 0]);
}

#[test]
fn seeds_and_pointers_of_the_cache_opcodes() {
    let mut body = scale();
    body.op1 = AluOp::Add.code();
    body.accumulator_cmd = AccumCmd::LoadAccumulate.code();
    body.imm1_src = ImmSrc::Pointer.code();
    body.imm1 = 0x42;
    assert_eq!(on_dve(Opcode::TensorScalarCacheReduce, body), ["CA-8", "IMM-4"]);
    body.imm1 = 0x44;
    assert_eq!(on_dve(Opcode::TensorScalarCacheReduce, body), [""; 0]);
    body.num_active_channels = 128;
    body.imm1 = 0x44 + 32 * STRIDE;
    assert_eq!(on_dve(Opcode::TensorScalarCacheReduce, body), ["CA-8", "IMM-4", "CH-3"]);
    body.accumulator_cmd = AccumCmd::ZeroAccumulate.code();
    assert_eq!(on_dve(Opcode::TensorScalarCacheReduce, body), ["CA-8"]);
}
