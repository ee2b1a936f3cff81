//! Instruction sets and threads change no bit of a result.

mod common;

use common::{Sbuf, add_words};
use partita_interp::{Limits, Machine, Place, Simd, Space};
use partita_isa::{
    AccumCmd, AluOp, CrossLaneReduce, Dtype, Engine, Generation, Instruction, Opcode, Pattern,
    SubDim, TensorReduce, TensorScalar, TensorTensor, Word,
};

/// Columns: no multiple of a vector, so that every loop has a tail; tiles need the second number.
const COLUMNS: u16 = 1003;
const TILED: u16 = 992;
const SECOND: u32 = 0x4000;
const RESULT: u32 = 0x8000;
/// Bytes from the second source on that a word may change.
const REACH: usize = 0x8000;

fn elementwise(op: AluOp, dtypes: [Dtype; 3]) -> Word {
    let [a, b, out] = dtypes.map(Dtype::code);
    let body = TensorTensor {
        in0_in1_dtype: b << 4 | a,
        out_dtype: out,
        op: op.code(),
        src0_mem_pattern: Pattern::contiguous(0, COLUMNS),
        src1_mem_pattern: Pattern::contiguous(SECOND, COLUMNS),
        dst_mem_pattern: Pattern::contiguous(RESULT, COLUMNS),
        ..TensorTensor::default()
    };
    Instruction::new(Opcode::TensorTensorArithOp, body).encode()
}

fn scalars(opcode: Opcode, ops: [AluOp; 2], dtype: Dtype) -> Word {
    let exponential = opcode == Opcode::Exponential;
    let body = TensorScalar {
        op0: ops[0].code(),
        op1: ops[1].code(),
        in_dtype: dtype.code(),
        out_dtype: dtype.code(),
        accumulator_cmd: if exponential { AccumCmd::ZeroAccumulate.code() } else { 0 },
        imm0: 1.5f32.to_bits(),
        imm1: if exponential || ops[1] == AluOp::Bypass { 0 } else { 0.3f32.to_bits() },
        src_mem_pattern: Pattern::contiguous(0, COLUMNS),
        dst_mem_pattern: Pattern::contiguous(RESULT, COLUMNS),
        ..TensorScalar::default()
    };
    Instruction::new(opcode, body).encode()
}

fn reduce(opcode: Opcode, op: AluOp, dtypes: [Dtype; 2], group: u16, groups: u16) -> Word {
    let moved = op == AluOp::Bypass;
    let kept = moved || opcode == Opcode::TensorCumulativeArithOp;
    let body = TensorReduce {
        op: op.code(),
        op_dim: if moved { SubDim::Unused } else { SubDim::X }.code(),
        in_dtype: dtypes[0].code(),
        out_dtype: dtypes[1].code(),
        src_mem_pattern: Pattern {
            start_addr: 0,
            step_elem: [1, group as i16, 1, 1],
            num_elem: [group, groups, 1, 1],
        },
        dst_mem_pattern: Pattern::contiguous(RESULT, if kept { group * groups } else { groups }),
        ..TensorReduce::default()
    };
    Instruction::new(opcode, body).encode()
}

fn cross(dtype: Dtype) -> Word {
    let body = CrossLaneReduce {
        in_dtype: dtype.code(),
        out_dtype: dtype.code(),
        src_mem_pattern: Pattern::contiguous(0, COLUMNS),
        dst_mem_pattern: Pattern::contiguous(RESULT, COLUMNS),
        ..CrossLaneReduce::default()
    };
    Instruction::new(Opcode::CrossLaneReduceArith, body).encode()
}

fn words() -> Vec<(Engine, Word)> {
    use AluOp::{AbsoluteDiff, Add, Bypass, Max, Min, Mult, Pow, Subtract};
    use Dtype::{Bfloat16, Fp8Exp3, Fp8Exp4, Fp8Exp5, Fp16, Fp32, Int8, Int16, Int32, Uint8};
    let kinds = [Fp32, Bfloat16, Fp16, Int8, Uint8, Int16, Int32, Fp8Exp3, Fp8Exp4, Fp8Exp5];
    let mut words = Vec::new();
    for kind in kinds {
        for op in [Add, Subtract, Mult, Max, Min, AbsoluteDiff] {
            words.push(elementwise(op, [kind; 3]));
        }
        words.push(elementwise(Add, [kind, Fp32, Bfloat16]));
        let arith = Opcode::TensorScalarArithOp;
        words
            .extend([[Mult, Add], [Subtract, Max], [Min, Bypass]].map(|o| scalars(arith, o, kind)));
        words.extend([Fp32, kind].map(|to| reduce(Opcode::Cast, Bypass, [kind, to], COLUMNS, 1)));
        words.push(reduce(Opcode::Cast, Bypass, [Fp32, kind], COLUMNS, 1));
        for op in [Add, Max] {
            words.push(reduce(Opcode::TensorReduceArithOp, op, [kind; 2], COLUMNS, 1));
        }
        words.push(reduce(Opcode::StreamTranspose, Bypass, [kind; 2], TILED, 1));
    }
    let transposed = Opcode::TransposeTensorReduceArithOp;
    words.push(reduce(transposed, Add, [Fp32; 2], 32, TILED / 32));
    words.push(reduce(transposed, Max, [Bfloat16; 2], 32, TILED / 32));
    words.push(reduce(transposed, Add, [Fp32; 2], TILED, 1));
    words.push(reduce(transposed, Add, [Fp32; 2], 16, TILED / 16));
    words.push(reduce(Opcode::TensorCumulativeArithOp, Add, [Fp32; 2], COLUMNS, 1));
    words.push(scalars(Opcode::Exponential, [Bypass; 2], Fp32));
    let mut words: Vec<(Engine, Word)> = words.into_iter().map(|w| (Engine::Dve, w)).collect();
    words.push((Engine::Pool, elementwise(Pow, [Fp32; 3])));
    words.extend([Fp32, Bfloat16, Int8].map(|kind| (Engine::Pool, cross(kind))));
    // These write over the second source.
    words.extend(add_words().into_iter().map(|word| (Engine::Dve, word)));
    words
}

/// A machine with finite values of every size in the sources, whatever they are read as.
fn machine(limits: Limits) -> Machine {
    let mut machine = Machine::new(Generation::Mariana.into(), 0, limits).unwrap();
    for partition in 0..128 {
        let mut row = Vec::new();
        for i in 0..RESULT / 4 {
            let mixed = (i * 128 + partition as u32).wrapping_mul(0x9E37_79B9);
            // No byte has an exponent of ones in any format.
            row.extend((mixed & 0xBF6F_BF6F).to_le_bytes());
        }
        machine.put(partition, 0, &row);
    }
    machine
}

#[test]
fn results_do_not_depend_on_the_instruction_set_or_threads() {
    let plain = Limits { simd: Simd::PORTABLE, parallel: false, ..Limits::default() };
    let mut reference = machine(plain);
    let mut others: Vec<Machine> = Simd::available()
        .flat_map(|simd| [(simd, false), (simd, true)])
        .map(|(simd, parallel)| machine(Limits { simd, parallel, parallel_elements: 0, ..plain }))
        .collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for (index, (engine, word)) in words().iter().enumerate() {
        reference.step(*engine, word).unwrap();
        for other in &mut others {
            pool.install(|| other.step(*engine, word)).unwrap();
            let text = Instruction::decode(word);
            for partition in 0..128 {
                let place = Place { space: Space::Sbuf, partition };
                let [want, got] =
                    [&reference, &*other].map(|machine| machine.row(place, SECOND as usize, REACH));
                assert!(
                    got == want,
                    "word {index}, partition {partition}, {:?}: {text:?}",
                    other.limits
                );
            }
            assert_eq!(other.accumulators, reference.accumulators);
        }
    }
}
