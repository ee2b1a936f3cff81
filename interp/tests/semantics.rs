//! What single words do, with results computed by hand from the ISA reference.

mod common;

use common::{Sbuf, add_words, bits16, f32s, floats, ints, u32s};
use partita_interp::{Fault, Limits, Machine};
use partita_isa::{
    AccumCmd, AluOp, CrossLaneReduce, Dtype, Engine, Generation, ImmSrc, Instruction,
    LoadMaskSelect, Opcode, Pattern, ReduceAxis, ReduceOp, ReverseOps, ScalarTensorTensor, SubDim,
    Target, TensorReduce, TensorScalar, TensorScalarSelect, TensorTensor,
};

fn machine() -> Machine {
    Machine::new(Target::default(), 0, Limits::default()).unwrap()
}

fn run(machine: &mut Machine, engine: Engine, opcode: Opcode, body: impl Into<partita_isa::Body>) {
    machine.step(engine, &Instruction::new(opcode, body).encode()).unwrap();
}

fn reduce(op: AluOp, dims: SubDim, dtype: Dtype) -> TensorReduce {
    TensorReduce {
        op: op.code(),
        op_dim: dims.code(),
        in_dtype: dtype.code(),
        out_dtype: dtype.code(),
        num_active_channels: 1,
        ..TensorReduce::default()
    }
}

/// ISA 9.5: the innermost dimensions are reduced, then the result is negated once.
#[test]
fn reduce_negates_after_the_fold() {
    let mut machine = machine();
    machine.put(0, 0, &f32s(&[1.0, 5.0, -2.0, 7.0, 0.5, -9.0]));
    let body = TensorReduce {
        src_mem_pattern: Pattern { start_addr: 0, step_elem: [1, 3, 1, 1], num_elem: [3, 2, 1, 1] },
        dst_mem_pattern: Pattern::contiguous(64, 2),
        negated: 1,
        ..reduce(AluOp::Max, SubDim::X, Dtype::Fp32)
    };
    run(&mut machine, Engine::Dve, Opcode::TensorReduceArithOp, body);
    assert_eq!(floats(&machine.get(0, 64, 8)), [-5.0, -7.0]);
}

/// ISA 9.5, N-4: integers wrap on POOL, arg operations give the first index.
#[test]
fn integer_reductions_on_pool() {
    let mut machine = machine();
    machine.put(0, 0, &ints(&[i32::MAX, 1, -7, i32::MAX]));
    for (op, want) in [
        (AluOp::AddInt, i32::MAX.wrapping_add(1).wrapping_add(-7).wrapping_add(i32::MAX)),
        (AluOp::MinInt, -7),
    ] {
        let body = TensorReduce {
            src_mem_pattern: Pattern::contiguous(0, 4),
            dst_mem_pattern: Pattern::contiguous(64, 1),
            ..reduce(op, SubDim::X, Dtype::Int32)
        };
        run(&mut machine, Engine::Pool, Opcode::TensorReduceArithOp, body);
        assert_eq!(machine.get(0, 64, 4), ints(&[want]), "{op}");
    }
    let body = TensorReduce {
        src_mem_pattern: Pattern::contiguous(0, 4),
        dst_mem_pattern: Pattern::contiguous(64, 1),
        out_dtype: Dtype::Uint32.code(),
        ..reduce(AluOp::AmaxInt, SubDim::X, Dtype::Int32)
    };
    run(&mut machine, Engine::Pool, Opcode::TensorReduceArithOp, body);
    assert_eq!(machine.get(0, 64, 4), u32s(&[0]));
}

/// ISA 9.8: the accumulator keeps fp32 precision, the rounded output is not fed back.
#[test]
fn scan_keeps_its_precision() {
    let mut machine = machine();
    machine.put(0, 0, &f32s(&[256.0, 1.0, 1.0, 1.0]));
    let body = TensorReduce {
        src_mem_pattern: Pattern::contiguous(0, 4),
        dst_mem_pattern: Pattern::contiguous(64, 4),
        out_dtype: Dtype::Bfloat16.code(),
        ..reduce(AluOp::Add, SubDim::X, Dtype::Fp32)
    };
    run(&mut machine, Engine::Dve, Opcode::TensorCumulativeArithOp, body);
    // 257 and 259 are ties of bf16 (to 256 and 260), 258 is exact.
    assert_eq!(machine.get(0, 64, 8), bits16(&[0x4380, 0x4380, 0x4381, 0x4382]));
}

/// ISA 4.5: a copy onto an overlapping place behaves as if everything were read first.
#[test]
fn overlapping_copy_reads_first() {
    let mut machine = machine();
    machine.put(0, 0, &u32s(&[1, 2, 3, 4, 5]));
    let body = TensorReduce {
        src_mem_pattern: Pattern::contiguous(0, 4),
        dst_mem_pattern: Pattern::contiguous(4, 4),
        ..reduce(AluOp::Bypass, SubDim::Unused, Dtype::Uint32)
    };
    run(&mut machine, Engine::Dve, Opcode::Copy, body);
    assert_eq!(machine.get(0, 0, 20), u32s(&[1, 1, 2, 3, 4]));
}

/// ISA 4.5: where the destination repeats an address the last write in walk order wins.
#[test]
fn last_write_wins() {
    let mut machine = machine();
    machine.put(0, 0, &u32s(&[1, 2, 3, 4, 5, 6]));
    let body = TensorReduce {
        src_mem_pattern: Pattern::contiguous(0, 6),
        dst_mem_pattern: Pattern {
            start_addr: 64,
            step_elem: [0, 1, 1, 1],
            num_elem: [3, 2, 1, 1],
        },
        ..reduce(AluOp::Bypass, SubDim::Unused, Dtype::Uint32)
    };
    run(&mut machine, Engine::Dve, Opcode::Copy, body);
    assert_eq!(machine.get(0, 64, 12), u32s(&[3, 6, 0]));
}

fn scalar(op0: AluOp, op1: AluOp, count: u16) -> TensorScalar {
    TensorScalar {
        op0: op0.code(),
        op1: op1.code(),
        num_active_channels: 1,
        src_mem_pattern: Pattern::contiguous(0, count),
        dst_mem_pattern: Pattern::contiguous(64, count),
        ..TensorScalar::default()
    }
}

/// ISA 9.14: the four orders, with both stages not commutative.
#[test]
fn tensor_scalar_reverses_each_stage() {
    let mut machine = machine();
    machine.put(0, 0, &f32s(&[10.0]));
    for (reverse, want) in [
        (ReverseOps::None, (10.0 - 3.0) - 100.0),
        (ReverseOps::First, (3.0 - 10.0) - 100.0),
        (ReverseOps::Second, 100.0 - (10.0 - 3.0)),
        (ReverseOps::Both, 100.0 - (3.0 - 10.0)),
    ] {
        let body = TensorScalar {
            reverse_operands: reverse.code(),
            imm0: 3f32.to_bits(),
            imm1: 100f32.to_bits(),
            ..scalar(AluOp::Subtract, AluOp::Subtract, 1)
        };
        run(&mut machine, Engine::Dve, Opcode::TensorScalarArithOp, body);
        assert_eq!(floats(&machine.get(0, 64, 4)), [want], "{reverse}");
    }
}

/// ISA 8.1, 3.2: a pointer immediate is one scalar per channel; REG_POINTER takes the pointer from a register.
#[test]
fn pointer_immediates_move_down_with_the_channel() {
    let mut machine = machine();
    for p in 0..3 {
        machine.put(p, 0, &f32s(&[1.0, 2.0]));
        machine.put(p, 512, &f32s(&[10.0 * (p as f32 + 1.0)]));
    }
    machine.registers[5] = 512;
    for (source, slot) in [(ImmSrc::Pointer, 512), (ImmSrc::RegPointer, 5)] {
        let body = TensorScalar {
            num_active_channels: 3,
            imm0_src: source.code(),
            imm0: slot,
            ..scalar(AluOp::Mult, AluOp::Bypass, 2)
        };
        run(&mut machine, Engine::Dve, Opcode::TensorScalarArithOp, body);
        for p in 0..3 {
            let s = 10.0 * (p as f32 + 1.0);
            assert_eq!(floats(&machine.get(p, 64, 8)), [s, 2.0 * s]);
        }
    }
}

/// ISA 9.17: 0x9a writes the last element only; the accumulator survives and 0xe6 reads it back.
#[test]
fn cache_reduce_leaves_its_accumulator() {
    let mut machine = machine();
    machine.put(0, 0, &f32s(&[1.0, 2.0, 3.0]));
    machine.put(0, 64, &f32s(&[-1.0, -1.0, -1.0]));
    let body = TensorScalar {
        accumulator_cmd: AccumCmd::LoadAccumulate.code(),
        imm0: 2f32.to_bits(),
        imm1: 100f32.to_bits(),
        ..scalar(AluOp::Mult, AluOp::Subtract, 3)
    };
    run(&mut machine, Engine::Dve, Opcode::TensorScalarCacheReduce, body);
    assert_eq!(floats(&machine.get(0, 64, 12)), [-1.0, -1.0, 100.0 - 2.0 - 4.0 - 6.0]);
    machine.put(0, 0, &f32s(&[0.0]));
    let body = TensorScalar {
        accumulator_cmd: AccumCmd::Accumulate.code(),
        ..scalar(AluOp::Bypass, AluOp::Add, 1)
    };
    run(&mut machine, Engine::Dve, Opcode::TensorScalarCacheCumulative, body);
    assert_eq!(floats(&machine.get(0, 64, 4)), [88.0]);
}

/// ISA 9.18: the sum of the exponentials goes to the accumulator, in walk order.
#[test]
fn exponential_sums() {
    let mut machine = Machine::new(Generation::Mariana.into(), 0, Limits::default()).unwrap();
    machine.put(0, 0, &f32s(&[3.0, 2.0]));
    let body = TensorScalar {
        accumulator_cmd: AccumCmd::ZeroAccumulate.code(),
        imm0: 3f32.to_bits(),
        ..scalar(AluOp::Bypass, AluOp::Bypass, 2)
    };
    run(&mut machine, Engine::Dve, Opcode::Exponential, body);
    let e = (-1f64).exp() as f32;
    assert_eq!(floats(&machine.get(0, 64, 8)), [1.0, e]);
    assert_eq!(machine.accumulators[0], 1.0 + e);
    assert_eq!(machine.accumulators[1], 0.0);
}

/// ISA 9.19: BYPASS yields its left operand literally.
#[test]
fn scalar_tensor_tensor_bypass() {
    let mut machine = machine();
    machine.put(0, 0, &f32s(&[1.0]));
    machine.put(0, 4, &f32s(&[20.0]));
    for (op0, op1, reverse, want) in [
        (AluOp::Bypass, AluOp::Subtract, ReverseOps::None, 1.0 - 20.0),
        (AluOp::Bypass, AluOp::Subtract, ReverseOps::First, 300.0 - 20.0),
        (AluOp::Bypass, AluOp::Subtract, ReverseOps::Both, 20.0 - 300.0),
        (AluOp::Add, AluOp::Bypass, ReverseOps::None, 301.0),
        (AluOp::Add, AluOp::Bypass, ReverseOps::Second, 20.0),
    ] {
        let body = ScalarTensorTensor {
            op0: op0.code(),
            op1: op1.code(),
            reverse_operands: reverse.code(),
            num_active_channels: 1,
            src1_mem_pattern: Pattern::contiguous(4, 1),
            dst_mem_pattern: Pattern::contiguous(64, 1),
            imm0: 300f32.to_bits(),
            ..ScalarTensorTensor::default()
        };
        run(&mut machine, Engine::Dve, Opcode::ScalarTensorTensorArith, body);
        assert_eq!(floats(&machine.get(0, 64, 4)), [want], "{op0} {op1} {reverse}");
    }
}

/// ISA 9.10, 9.11: entries below 32 name a source lane of the block, others leave the lane alone.
#[test]
fn shuffle_by_the_lane_table() {
    let mut machine = machine();
    let mut table = [31; 32];
    table[1] = 255;
    table[2] = 40;
    table[3] = 0;
    for p in 0..64 {
        machine.put(p, 0, &u32s(&[100 + p as u32]));
        machine.put(p, 64, &u32s(&[7]));
    }
    let load = LoadMaskSelect { immediate: table, ..LoadMaskSelect::default() };
    run(&mut machine, Engine::Dve, Opcode::LoadMaskSelect, load);
    let body = TensorReduce {
        num_active_channels: 64,
        dst_mem_pattern: Pattern::contiguous(64, 1),
        ..reduce(AluOp::Bypass, SubDim::Unused, Dtype::Uint32)
    };
    run(&mut machine, Engine::Dve, Opcode::StreamShuffle, body);
    for (p, want) in [(0, 131), (1, 7), (2, 7), (3, 100), (32, 163), (33, 7), (35, 132), (63, 163)]
    {
        assert_eq!(machine.get(p, 64, 4), u32s(&[want]), "lane {p}");
    }
}

/// ISA 9.12: elements at or beyond the destination's count are dropped.
#[test]
fn transpose_drops_what_does_not_fit() {
    let mut machine = machine();
    for p in 0..32 {
        let row: Vec<u32> = (0..32).map(|e| 1000 * p as u32 + e).collect();
        machine.put(p, 0, &u32s(&row));
    }
    let body = TensorReduce {
        num_active_channels: 32,
        src_mem_pattern: Pattern::contiguous(0, 32),
        dst_mem_pattern: Pattern::contiguous(0x400, 5),
        ..reduce(AluOp::Bypass, SubDim::Unused, Dtype::Uint32)
    };
    run(&mut machine, Engine::Dve, Opcode::StreamTranspose, body);
    for p in 0..32 {
        let want: Vec<u32> = (0..5).map(|e| 1000 * e + p as u32).chain([0]).collect();
        assert_eq!(machine.get(p, 0x400, 24), u32s(&want));
    }
}

/// ISA 9.13: AVERAGE scales every element before the sum; MAX of integers is exact.
#[test]
fn cross_lane_folds() {
    let mut machine = machine();
    for p in 0..4 {
        machine.put(p, 0, &f32s(&[p as f32, 8.0]));
        machine.put(p, 64, &ints(&[16_777_217 - p as i32]));
    }
    let body = CrossLaneReduce {
        num_active_channels: 4,
        reduce_op: ReduceOp::Average.code(),
        scale: 0.25f32.to_bits(),
        src_mem_pattern: Pattern::contiguous(0, 2),
        dst_mem_pattern: Pattern::contiguous(128, 2),
        ..CrossLaneReduce::default()
    };
    run(&mut machine, Engine::Pool, Opcode::CrossLaneReduceArith, body);
    assert_eq!(floats(&machine.get(0, 128, 8)), [1.5, 8.0]);
    let all = CrossLaneReduce {
        reduce_axis: ReduceAxis::All.code(),
        dst_mem_pattern: Pattern::contiguous(192, 1),
        ..body
    };
    run(&mut machine, Engine::Pool, Opcode::CrossLaneReduceArith, all);
    assert_eq!(floats(&machine.get(0, 192, 4)), [9.5]);
    let max = CrossLaneReduce {
        reduce_op: ReduceOp::Max.code(),
        in_dtype: Dtype::Int32.code(),
        out_dtype: Dtype::Int32.code(),
        src_mem_pattern: Pattern::contiguous(64, 1),
        dst_mem_pattern: Pattern::contiguous(128, 1),
        ..body
    };
    run(&mut machine, Engine::Pool, Opcode::CrossLaneReduceArith, max);
    assert_eq!(machine.get(0, 128, 4), ints(&[16_777_217]));
}

/// ISA 9.20: one predicate per channel; bits are moved.
#[test]
fn select_by_channel() {
    let mut machine = machine();
    for p in 0..2 {
        machine.put(p, 0, &u32s(&[0xFFC1_2345, 2]));
        machine.put(p, 32, &u32s(&[p as u32 * 0x8000]));
    }
    for (reversed, rows) in [(0, [[9, 9], [0xFFC1_2345, 2]]), (1, [[0xFFC1_2345, 2], [9, 9]])] {
        let body = TensorScalarSelect {
            num_active_channels: 2,
            reversed_pred: reversed,
            pred_imm_src: ImmSrc::Pointer.code(),
            pred_imm: 32,
            src1_imm: 9,
            src0_mem_pattern: Pattern::contiguous(0, 2),
            dst_mem_pattern: Pattern::contiguous(64, 2),
            ..TensorScalarSelect::default()
        };
        run(&mut machine, Engine::Dve, Opcode::TensorScalarSelect, body);
        for (p, row) in rows.iter().enumerate() {
            assert_eq!(machine.get(p, 64, 8), u32s(row));
        }
    }
}

/// ISA 9.3: unselected elements keep their value, even where another element writes the same place.
#[test]
fn predicated_writes() {
    let mut machine = machine();
    machine.put(0, 0, &[1, 0, 2, 0]);
    machine.put(0, 8, &[10, 20, 30, 40]);
    machine.put(0, 16, &[5; 4]);
    let body = TensorTensor {
        in0_in1_dtype: Dtype::Uint8.code() << 4 | Dtype::Int8.code(),
        out_dtype: Dtype::Uint8.code(),
        num_active_channels: 1,
        src0_mem_pattern: Pattern::contiguous(0, 4),
        src1_mem_pattern: Pattern::contiguous(8, 4),
        dst_mem_pattern: Pattern::contiguous(16, 4),
        ..TensorTensor::default()
    };
    run(&mut machine, Engine::Dve, Opcode::CopyPredicated, body);
    assert_eq!(machine.get(0, 16, 4), [10, 5, 30, 5]);
    let onto_one = Pattern { start_addr: 24, step_elem: [0, 1, 1], num_elem: [4, 1, 1] };
    let body = TensorTensor { dst_mem_pattern: onto_one, ..body };
    run(&mut machine, Engine::Dve, Opcode::CopyPredicated, body);
    assert_eq!(machine.get(0, 24, 2), [30, 0]);
}

/// Rule TT-8: 64-bit shifts take UINT32 counts, on POOL.
#[test]
fn wide_shifts() {
    let mut machine = machine();
    let values = [1u64 << 40, u64::MAX];
    machine.put(0, 0, &values.map(u64::to_le_bytes).concat());
    machine.put(0, 32, &u32s(&[8, 64]));
    let body = TensorTensor {
        in0_in1_dtype: Dtype::Uint32.code() << 4 | Dtype::Uint64.code(),
        out_dtype: Dtype::Uint64.code(),
        op: AluOp::LogicalShiftRight.code(),
        num_active_channels: 1,
        src0_mem_pattern: Pattern::contiguous(0, 2),
        src1_mem_pattern: Pattern::contiguous(32, 2),
        dst_mem_pattern: Pattern::contiguous(64, 2),
    };
    run(&mut machine, Engine::Pool, Opcode::TensorTensorBitvecOp, body);
    assert_eq!(machine.get(0, 64, 16), [1u64 << 32, 0].map(u64::to_le_bytes).concat());
}

/// ISA 3.3: addresses from registers are checked at run time.
#[test]
fn register_addresses() {
    let mut machine = machine();
    machine.put(32, 8, &u32s(&[77]));
    let body = TensorReduce {
        src_mem_pattern: Pattern::contiguous(0x8000_0003, 1),
        dst_mem_pattern: Pattern::contiguous(0, 1),
        ..reduce(AluOp::Bypass, SubDim::Unused, Dtype::Uint32)
    };
    let word = Instruction::new(Opcode::Copy, body).encode();
    machine.registers[3] = 32 * 0x4_0000 + 8;
    machine.step(Engine::Dve, &word).unwrap();
    assert_eq!(machine.get(0, 0, 4), u32s(&[77]));
    for (value, rule) in [
        (2, "ADR-2"),
        (229_376, "ADR-3"),
        (3 * 0x4_0000, "CH-3"),
        (0x2000_0000, "ADR-9"),
        (0x1FFF_FFF0, "ADR-3"),
    ] {
        machine.registers[3] = value;
        match machine.step(Engine::Dve, &word) {
            Err(Fault::Address { rule: found, register: Some(3), .. }) => assert_eq!(found, rule),
            other => panic!("{value:#x}: {other:?}"),
        }
    }
}

#[test]
fn what_is_refused() {
    let mut machine = machine();
    let blank = |opcode| Instruction::blank(opcode).encode();
    let step = |machine: &mut Machine, word| machine.step(Engine::Dve, &word).unwrap_err();
    let fault = step(&mut machine, blank(Opcode::BatchNormBackProp));
    assert_eq!(fault, Fault::NotExecuted(Opcode::BatchNormBackProp));
    let shape = TensorReduce {
        src_mem_pattern: Pattern::contiguous(0x4000_0000, 1),
        ..reduce(AluOp::Bypass, SubDim::Unused, Dtype::Uint32)
    };
    let fault = step(&mut machine, Instruction::new(Opcode::Copy, shape).encode());
    assert_eq!(fault.to_string(), "unsupported: shape register");
    let endless = Pattern { start_addr: 0, step_elem: [0; 4], num_elem: [u16::MAX; 4] };
    let endless = TensorReduce {
        src_mem_pattern: endless,
        dst_mem_pattern: endless,
        ..reduce(AluOp::Bypass, SubDim::Unused, Dtype::Uint32)
    };
    let fault = step(&mut machine, Instruction::new(Opcode::Copy, endless).encode());
    assert!(matches!(fault, Fault::TooManyElements { .. }));
    let wrong = TensorReduce { op: AluOp::Add.code(), ..endless };
    let fault = step(&mut machine, Instruction::new(Opcode::Copy, wrong).encode());
    assert!(matches!(fault, Fault::Illegal(rules) if rules[0].starts_with("CC-1")));
}

/// Options of ISA 5.2 reach the conversions.
#[test]
fn eight_bit_options() {
    for (target, want) in [
        ("mariana", [0x78, 0x78, 0x7C]),
        ("mariana+fp8_saturate", [0x77, 0x77, 0x7C]),
        ("mariana+fp8_ocp", [0x7B, 0x7F, 0x7F]),
        ("mariana+fp8_ocp+fp8_saturate", [0x7B, 0x7E, 0x7F]),
    ] {
        let target: Target = target.parse().unwrap();
        let mut machine = Machine::new(target, 0, Limits::default()).unwrap();
        machine.put(0, 0, &f32s(&[352.0, f32::INFINITY, f32::NAN]));
        let body = TensorReduce {
            src_mem_pattern: Pattern::contiguous(0, 3),
            dst_mem_pattern: Pattern::contiguous(64, 3),
            out_dtype: Dtype::Fp8Exp4.code(),
            ..reduce(AluOp::Bypass, SubDim::Unused, Dtype::Fp32)
        };
        run(&mut machine, Engine::Dve, Opcode::Cast, body);
        assert_eq!(machine.get(0, 64, 3), want, "{target}");
    }
}

/// Threads, and rows side by side, leave every bit as it is.
#[test]
fn results_do_not_depend_on_threads() {
    for word in add_words() {
        let outcomes = [true, false].map(|parallel| {
            let limits = Limits { parallel, ..Limits::default() };
            let mut machine = Machine::new(Target::default(), 0, limits).unwrap();
            for p in 0..128 {
                let row: Vec<f32> = (0..1024)
                    .map(|e| ((e * 7919 + p * 104_729) % 1000) as f32 * 0.37 - 150.0)
                    .collect();
                machine.put(p, 0, &f32s(&row));
            }
            machine.step(Engine::Dve, &word).unwrap();
            let rows: Vec<Vec<u8>> = (0..128).map(|p| machine.get(p, 0x4000, 4096)).collect();
            (rows, machine.accumulators)
        });
        assert!(outcomes[0] == outcomes[1]);
    }
}
