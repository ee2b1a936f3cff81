//! Prices worked out by hand from the tables of the cost model.

use partita_backend::cost::{Profile, Tag, WordCost, queue_costs, word_cost};
use partita_isa::{
    AccumCmd, AluOp, Body, CrossLaneReduce, Dtype, Engine, Generation, Instruction, LoadMaskSelect,
    Opcode, Pattern, ScalarTensorTensor, TensorReduce, TensorScalar, TensorTensor, Word,
};

const PSUM: u32 = 0x200_0000;

fn pair(first: Dtype, second: Dtype) -> u8 {
    first.code() | second.code() << 4
}

fn copy(from: (u32, Dtype), to: (u32, Dtype), n: u16) -> Instruction {
    let opcode = if from.1 == to.1 { Opcode::Copy } else { Opcode::Cast };
    let body = TensorReduce {
        src_mem_pattern: Pattern::contiguous(from.0, n),
        dst_mem_pattern: Pattern::contiguous(to.0, n),
        in_dtype: from.1.code(),
        out_dtype: to.1.code(),
        ..TensorReduce::default()
    };
    Instruction::new(opcode, body)
}

fn two(opcode: Opcode, op: AluOp, dtype: Dtype, addresses: [u32; 3], n: u16) -> Instruction {
    let body = TensorTensor {
        in0_in1_dtype: pair(dtype, dtype),
        out_dtype: dtype.code(),
        op: op.code(),
        src0_mem_pattern: Pattern::contiguous(addresses[0], n),
        src1_mem_pattern: Pattern::contiguous(addresses[1], n),
        dst_mem_pattern: Pattern::contiguous(addresses[2], n),
        ..TensorTensor::default()
    };
    Instruction::new(opcode, body)
}

fn scalar(
    opcode: Opcode,
    dtype: Dtype,
    n: u16,
    change: impl FnOnce(&mut TensorScalar),
) -> Instruction {
    let mut body = TensorScalar {
        in_dtype: dtype.code(),
        out_dtype: dtype.code(),
        src_mem_pattern: Pattern::contiguous(0, n),
        dst_mem_pattern: Pattern::contiguous(0x8000, n),
        ..TensorScalar::default()
    };
    change(&mut body);
    Instruction::new(opcode, body)
}

fn price(instruction: &Instruction, engine: Engine, generation: Generation) -> WordCost {
    word_cost(instruction, engine, Profile::of(generation), generation).expect("priced")
}

fn cycles(instruction: &Instruction, engine: Engine, generation: Generation) -> u64 {
    price(instruction, engine, generation).cycles
}

/// Cycles of the words of one queue.
fn queue_cycles(words: &[Word], engine: Engine, generation: Generation) -> Vec<u64> {
    let costs = queue_costs(words, engine, Profile::of(generation), generation);
    costs.into_iter().map(|cost| cost.expect("priced").cycles).collect()
}

use Dtype::{Bfloat16, Fp8Exp4, Fp32, Int32, Int64};
use Engine::{Act, Dve, Pool};
use Generation::{Cayman, Mariana, Sunda};

#[test]
fn every_generation_has_a_profile_that_agrees_with_the_memory_table() {
    for generation in Generation::ALL {
        let profile = Profile::of(generation);
        assert_eq!(profile.sbuf_usable_bytes.value, generation.sbuf_usable(), "{generation}");
    }
    assert_eq!(Profile::of(Cayman).engines[&Dve].clock_ghz.value, 0.96);
    assert_eq!(Profile::of(Generation::Maverick).engines[&Dve].clock_ghz.tag, Tag::A);
    assert_eq!(Profile::of(Sunda).dma.gigabytes_per_second.value, 272.0);
}

#[test]
fn copies_pay_per_element_from_a_floor_with_fast_modes() {
    assert_eq!(cycles(&copy((0, Fp32), (0x8000, Fp32), 512), Dve, Cayman), 512);
    assert_eq!(cycles(&copy((0, Fp32), (0x8000, Fp32), 10), Dve, Cayman), 64);
    let halves = copy((0, Bfloat16), (0x8000, Bfloat16), 1000);
    assert_eq!(cycles(&halves, Dve, Cayman), 250);
    assert_eq!(cycles(&halves, Dve, Sunda), 1000, "no fast modes before CAYMAN");
    assert_eq!(cycles(&halves, Act, Cayman), 1000);
    assert_eq!(cycles(&halves, Act, Mariana), 500);
    assert_eq!(cycles(&halves, Pool, Cayman), 1150);
    let mut strided = halves;
    if let Body::TensorReduce(body) = &mut strided.body {
        body.src_mem_pattern.step_elem[0] = 2;
    }
    assert_eq!(cycles(&strided, Dve, Cayman), 500);
    let bytes = copy((0, Fp8Exp4), (0x8000, Bfloat16), 1000);
    assert_eq!((cycles(&bytes, Dve, Cayman), cycles(&bytes, Dve, Mariana)), (1000, 250));
    let from_psum = copy((PSUM, Bfloat16), (0x8000, Bfloat16), 1000);
    assert_eq!(cycles(&from_psum, Dve, Cayman), 500);
    // The floor holds in the fast modes too.
    assert_eq!(cycles(&copy((0, Bfloat16), (0x8000, Bfloat16), 128), Dve, Cayman), 64);
}

#[test]
fn a_long_innermost_step_doubles_the_element_term_on_sunda() {
    let mut word = copy((0, Fp32), (0x8000, Fp32), 500);
    let set = |word: &mut Instruction, step| {
        if let Body::TensorReduce(body) = &mut word.body {
            body.src_mem_pattern.step_elem[0] = step;
        }
    };
    set(&mut word, 4);
    assert_eq!(cycles(&word, Dve, Sunda), 500, "16 bytes are not more than 16");
    set(&mut word, -5);
    assert_eq!((cycles(&word, Dve, Sunda), cycles(&word, Dve, Cayman)), (1000, 500));
}

#[test]
fn two_sources_cost_twice_unless_they_come_from_two_memories() {
    let add =
        |dtype, addresses| two(Opcode::TensorTensorArithOp, AluOp::Add, dtype, addresses, 512);
    assert_eq!(cycles(&add(Fp32, [0, 0x8000, 0x9000]), Dve, Cayman), 1024);
    assert_eq!(cycles(&add(Fp32, [PSUM, 0x8000, 0x9000]), Dve, Cayman), 512);
    assert_eq!(cycles(&add(Bfloat16, [0, 0x8000, 0x9000]), Dve, Cayman), 512);
    assert_eq!(cycles(&add(Bfloat16, [0, 0x8000, 0x9000]), Dve, Sunda), 1024);
    assert_eq!(cycles(&add(Int32, [0, 0x8000, 0x9000]), Pool, Cayman), 150 + 1024);
    assert_eq!(cycles(&add(Int64, [0, 0x8000, 0x9000]), Pool, Cayman), 150 + 2048);
    let slow = |op| two(Opcode::TensorTensorArithOp, op, Int32, [0, 0x8000, 0x9000], 100);
    assert_eq!(cycles(&slow(AluOp::Pow), Pool, Cayman), 150 + 800);
    assert_eq!(cycles(&slow(AluOp::ModUint), Pool, Cayman), 150 + 800);
    let predicated =
        |at| two(Opcode::CopyPredicated, AluOp::Bypass, Int32, [at, 0x8000, 0x9000], 512);
    assert_eq!(
        (cycles(&predicated(0), Dve, Cayman), cycles(&predicated(PSUM), Dve, Cayman)),
        (1024, 512)
    );
}

#[test]
fn scalar_words_have_slow_forms_and_extras() {
    let plain = |opcode, n| scalar(opcode, Fp32, n, |_| {});
    assert_eq!(cycles(&plain(Opcode::TensorScalarArithOp, 512), Dve, Cayman), 512);
    let rsqrt =
        scalar(Opcode::TensorScalarArithOp, Fp32, 100, |body| body.op0 = AluOp::Rsqrt.code());
    assert_eq!((cycles(&rsqrt, Dve, Cayman), cycles(&rsqrt, Pool, Cayman)), (800, 550));
    assert_eq!(cycles(&plain(Opcode::TensorScalarCacheReduce, 512), Dve, Cayman), 576);
    assert_eq!(cycles(&plain(Opcode::TensorScalarCacheCumulative, 512), Dve, Cayman), 512);
    let last = scalar(Opcode::TensorScalarCacheCumulative, Fp32, 512, |body| {
        body.dst_mem_pattern.step_elem[0] = 0
    });
    assert_eq!(
        cycles(&last, Dve, Cayman),
        576,
        "a destination of step 0 stands in for the reduce form"
    );
    let exp = |cmd: AccumCmd| {
        scalar(Opcode::Exponential, Fp32, 512, |body| body.accumulator_cmd = cmd.code())
    };
    assert_eq!(cycles(&exp(AccumCmd::Idle), Dve, Mariana), 512);
    assert_eq!(cycles(&exp(AccumCmd::ZeroAccumulate), Dve, Mariana), 576);
}

#[test]
fn the_fused_word_is_fast_for_one_pair_of_operations() {
    let word = |dtype, op0: AluOp, n| {
        let body = ScalarTensorTensor {
            in0_in1_dtype: pair(dtype, dtype),
            op0: op0.code(),
            op1: AluOp::Mult.code(),
            src0_mem_pattern: Pattern::contiguous(0, n),
            src1_mem_pattern: Pattern::contiguous(0x4000, n),
            dst_mem_pattern: Pattern::contiguous(0x8000, n),
            ..ScalarTensorTensor::default()
        };
        cycles(&Instruction::new(Opcode::ScalarTensorTensorArith, body), Dve, Cayman)
    };
    assert_eq!(word(Bfloat16, AluOp::Subtract, 512), 512);
    assert_eq!(word(Bfloat16, AluOp::Subtract, 513), 1026);
    assert_eq!(word(Bfloat16, AluOp::Add, 512), 1024);
    assert_eq!(word(Fp32, AluOp::Subtract, 512), 1024);
}

#[test]
fn folding_over_channels_costs_four_cycles_an_element() {
    let word = |axis| {
        let body = CrossLaneReduce {
            reduce_axis: axis,
            src_mem_pattern: Pattern::contiguous(0, 512),
            dst_mem_pattern: Pattern::contiguous(0x8000, 512),
            ..CrossLaneReduce::default()
        };
        price(&Instruction::new(Opcode::CrossLaneReduceArith, body), Pool, Cayman)
    };
    assert_eq!((word(1).cycles, word(0).cycles), (150 + 2048, 150 + 2048 + 64));
    assert_eq!(word(1).tag, Tag::A);
}

#[test]
fn a_short_word_waits_for_the_word_before_it() {
    let first = copy((0, Fp32), (0x8000, Fp32), 512);
    let costs = |second: Instruction| {
        let words = [first.encode(), second.encode()];
        queue_cycles(&words, Dve, Cayman)[1]
    };
    assert_eq!(costs(copy((0x8000, Fp32), (0, Fp32), 100)), 136);
    assert_eq!(
        costs(copy((0x8000, Fp32), (0, Fp32), 128)),
        128,
        "128 elements are enough to hide it"
    );
    assert_eq!(
        costs(copy((0x8800, Fp32), (0, Fp32), 100)),
        100,
        "the first byte past what was written"
    );
    assert_eq!(costs(copy((0x87fc, Fp32), (0, Fp32), 100)), 136, "the last element written");
    // 128 channels from partition 0 were written, and partition 32 lies among them.
    let mut lower = copy((32 * 0x4_0000 + 0x8000, Fp32), (0, Fp32), 100);
    if let Body::TensorReduce(body) = &mut lower.body {
        body.num_active_channels = 32;
    }
    assert_eq!(costs(lower), 136);
}

#[test]
fn hidden_state_is_waited_for_as_well() {
    let table = Instruction::new(Opcode::LoadMaskSelect, LoadMaskSelect::default()).encode();
    let mut shuffle = copy((0, Fp32), (0x8000, Fp32), 64);
    shuffle.header.opcode = Opcode::StreamShuffle.number();
    assert_eq!(queue_cycles(&[table, shuffle.encode()], Dve, Cayman), [64, 100]);
    let cache = |cmd: AccumCmd, from| {
        scalar(Opcode::TensorScalarCacheReduce, Fp32, 64, |body| {
            body.accumulator_cmd = cmd.code();
            body.src_mem_pattern.start_addr = from;
        })
        .encode()
    };
    let words = [
        cache(AccumCmd::ZeroAccumulate, 0),
        cache(AccumCmd::Accumulate, 0x1000),
        cache(AccumCmd::ZeroAccumulate, 0),
    ];
    assert_eq!(queue_cycles(&words, Dve, Cayman), [128, 164, 128]);
}

/// A word that streams `n` floats per partition from SBUF to SBUF.
fn streamed(opcode: Opcode, n: u16) -> Instruction {
    let mut word = Instruction::blank(opcode);
    match &mut word.body {
        Body::TensorTensor(b) => {
            b.src0_mem_pattern = Pattern::contiguous(0, n);
            b.src1_mem_pattern = Pattern::contiguous(0x4000, n);
            b.dst_mem_pattern = Pattern::contiguous(0x8000, n);
        }
        Body::ExtendedTensorTensor(b) => {
            b.src0_mem_pattern = Pattern::contiguous(0, n);
            b.src1_mem_pattern = Pattern::contiguous(0x4000, n);
            b.dst_mem_pattern = Pattern::contiguous(0x8000, n);
        }
        Body::TensorReduce(b) => {
            b.src_mem_pattern = Pattern::contiguous(0, n);
            b.dst_mem_pattern = Pattern::contiguous(0x8000, n);
        }
        Body::CrossLaneReduce(b) => {
            b.src_mem_pattern = Pattern::contiguous(0, n);
            b.dst_mem_pattern = Pattern::contiguous(0x8000, n);
        }
        Body::TensorScalar(b) => {
            b.src_mem_pattern = Pattern::contiguous(0, n);
            b.dst_mem_pattern = Pattern::contiguous(0x8000, n);
        }
        Body::ScalarTensorTensor(b) => {
            b.src0_mem_pattern = Pattern::contiguous(0, n);
            b.src1_mem_pattern = Pattern::contiguous(0x4000, n);
            b.dst_mem_pattern = Pattern::contiguous(0x8000, n);
        }
        Body::TensorScalarSelect(b) => {
            b.src0_mem_pattern = Pattern::contiguous(0, n);
            b.dst_mem_pattern = Pattern::contiguous(0x8000, n);
        }
        Body::LoadMaskSelect(_) | Body::Unknown(_) => {}
    }
    word
}

/// The rows of the table for 512 floats in SBUF, where no fast mode holds: the same on every generation.
#[test]
fn every_row_of_the_table() {
    const N: u64 = 512;
    use Opcode::*;
    let rows: [(&[Opcode], Engine, u64, Tag); 23] = [
        (&[Copy, Cast], Dve, N, Tag::D),
        (&[TensorScalarArithOp, TensorScalarBitvecOp], Dve, N, Tag::D),
        (&[TensorScalarPtrArithOp, TensorScalarPtrBitvecOp], Dve, N, Tag::D),
        (&[TensorTensorArithOp, TensorTensorBitvecOp], Dve, 2 * N, Tag::D),
        (&[ScalarTensorTensorArith, ScalarTensorTensorBitvec], Dve, 2 * N, Tag::D),
        (&[TensorReduceArithOp, TensorReduceBitvecOp], Dve, N, Tag::D),
        (&[TransposeTensorReduceArithOp, TransposeTensorReduceBitvecOp], Dve, N, Tag::A),
        (&[TransposeTensorScalarArithOp], Dve, N, Tag::A),
        (&[StreamTranspose, StreamShuffle], Dve, N, Tag::D),
        (&[LoadMaskSelect], Dve, 64, Tag::A),
        (&[TensorCumulativeArithOp, TensorCumulativeBitvecOp], Dve, N, Tag::A),
        (&[TensorScalarCacheCumulative], Dve, N, Tag::A),
        (&[TensorScalarCacheReduce], Dve, N + 64, Tag::D),
        (&[Exponential], Dve, N, Tag::A),
        (&[Reciprocal], Dve, 8 * N, Tag::D),
        (&[CopyPredicated, CastPredicated], Dve, 2 * N, Tag::D),
        (&[TensorScalarSelect], Dve, N, Tag::A),
        (&[Copy, Cast, TensorReduceArithOp, TransposeTensorReduceArithOp], Pool, 150 + N, Tag::A),
        (&[TensorTensorArithOp], Pool, 150 + 2 * N, Tag::A),
        (&[CrossLaneReduceArith, CrossLaneReduceBitvec], Pool, 150 + 4 * N, Tag::A),
        (&[ExtendedTensorTensorArith], Pool, 150 + 2 * N, Tag::A),
        (&[Copy, Cast], Act, N, Tag::D),
        (&[Reciprocal], Act, N, Tag::A),
    ];
    for generation in Generation::ALL {
        for (opcodes, engine, cycles, tag) in rows {
            for &opcode in opcodes {
                let cost = price(&streamed(opcode, 512), engine, generation);
                assert_eq!(
                    (cost.cycles, cost.tag),
                    (cycles, tag),
                    "{opcode} {engine} {generation}"
                );
                let short = price(&streamed(opcode, 1), engine, generation).cycles;
                let floor = if engine == Pool { 150 } else { 64 };
                assert!((floor..=floor + 64).contains(&short), "{opcode} {engine}: {short}");
            }
        }
    }
    // The packed opcodes of SUNDA.
    for (opcode, cycles) in [
        (TensorTensorAddBf16, 150 + 2 * N),
        (TensorTensorMultBf16, 150 + 2 * N),
        (TensorTensorSubtractBf16, 150 + 2 * N),
        (TensorReduceAddBf16, 150 + N),
        (TensorReduceMaxBf16, 150 + N),
    ] {
        assert_eq!(cycles_of(opcode), cycles, "{opcode}");
    }
    fn cycles_of(opcode: Opcode) -> u64 {
        cycles(&streamed(opcode, 512), Pool, Sunda)
    }
}

/// Half the cycles for sums and maxima of BF16 in SBUF, on every generation; no other 2-byte type, no other operation.
#[test]
fn reductions_of_bf16_are_fast() {
    let word = |dtype: Dtype, op: AluOp, from: u32| {
        let mut word = streamed(Opcode::TensorReduceArithOp, 512);
        if let Body::TensorReduce(body) = &mut word.body {
            (body.in_dtype, body.out_dtype, body.op) = (dtype.code(), dtype.code(), op.code());
            body.src_mem_pattern.start_addr = from;
        }
        word
    };
    for generation in [Sunda, Cayman, Mariana] {
        let of = |dtype, op, from| cycles(&word(dtype, op, from), Dve, generation);
        assert_eq!(of(Bfloat16, AluOp::Add, 0), 256, "{generation}");
        assert_eq!(of(Bfloat16, AluOp::Max, 0), 256, "{generation}");
        assert_eq!(of(Bfloat16, AluOp::Min, 0), 512, "{generation}");
        assert_eq!(of(Dtype::Fp16, AluOp::Add, 0), 512, "{generation}");
        assert_eq!(of(Bfloat16, AluOp::Add, PSUM), 512, "{generation}");
        assert_eq!(of(Fp32, AluOp::Add, 0), 512, "{generation}");
    }
}

/// 8-bit floats count as 2-byte floats from MARIANA on, for two sources too.
#[test]
fn small_floats_are_fast_from_mariana_on() {
    let add = two(Opcode::TensorTensorArithOp, AluOp::Add, Fp8Exp4, [0, 0x4000, 0x8000], 512);
    assert_eq!([Sunda, Cayman, Mariana].map(|g| cycles(&add, Dve, g)), [1024, 1024, 512]);
    let both_psum = two(Opcode::TensorTensorArithOp, AluOp::Add, Bfloat16, [0, 0x4000, PSUM], 512);
    assert_eq!(cycles(&both_psum, Dve, Cayman), 512, "the destination may be in PSUM");
}
