//! Every alternative of ISA 13 with a word whose result hangs on it: what it gives under the assumed answer and under
//! the other one, both worked out by hand.

mod common;

use common::{Sbuf, bits16, f32s, ints, u32s};
use partita_interp::{Alternative, Conventions, Limits, Machine};
use partita_isa::{
    AccumCmd, AluOp, Body, CrossLaneReduce, Dtype, Engine, ExtendedTensorTensor, Generation,
    ImmSrc, Instruction, LoadMaskSelect, Opcode, Pattern, ReduceAxis, ReduceOp, ReverseOps,
    ScalarTensorTensor, SubDim, TensorReduce, TensorScalar, TensorTensor,
};

/// 2^24: in fp32 the next number is 2 more.
const BIG: f32 = 16_777_216.0;

/// What is in memory, which words run, and what is read afterwards.
struct Case {
    alternative: Alternative,
    generation: Generation,
    engine: Engine,
    memory: Vec<(usize, usize, Vec<u8>)>,
    words: Vec<Instruction>,
    at: (usize, usize),
    /// Under the assumed answer, and under the alternative.
    want: [Vec<u8>; 2],
}

/// A case on DVE of CAYMAN that reads byte 64 of partition 0.
fn case(alternative: Alternative, opcode: Opcode, body: impl Into<Body>) -> Case {
    Case {
        alternative,
        generation: Generation::Cayman,
        engine: Engine::Dve,
        memory: Vec::new(),
        words: vec![Instruction::new(opcode, body)],
        at: (0, 64),
        want: [Vec::new(), Vec::new()],
    }
}

impl Case {
    fn on(mut self, generation: Generation, engine: Engine) -> Self {
        (self.generation, self.engine) = (generation, engine);
        self
    }

    /// Source elements, at byte 0 of partition 0.
    fn from(self, bytes: Vec<u8>) -> Self {
        self.with(0, 0, bytes)
    }

    fn with(mut self, partition: usize, offset: usize, bytes: Vec<u8>) -> Self {
        self.memory.push((partition, offset, bytes));
        self
    }

    fn after(mut self, opcode: Opcode, body: impl Into<Body>) -> Self {
        self.words.insert(0, Instruction::new(opcode, body));
        self
    }

    fn at(mut self, partition: usize, offset: usize) -> Self {
        self.at = (partition, offset);
        self
    }

    fn gives(mut self, assumed: Vec<u8>, other: Vec<u8>) -> Self {
        self.want = [assumed, other];
        self
    }

    /// What stands there in the end.
    fn run(&self, conventions: Conventions, literal: bool) -> Vec<u8> {
        let limits = Limits { literal, ..Limits::default() };
        let machine = Machine::new(self.generation.into(), 0, limits).unwrap();
        let mut machine = machine.under(conventions);
        for (partition, offset, bytes) in &self.memory {
            machine.put(*partition, *offset, bytes);
        }
        for word in &self.words {
            machine.step(self.engine, &word.encode()).unwrap();
        }
        machine.get(self.at.0, self.at.1, self.want[0].len())
    }

    fn check(&self) {
        let assumed = Conventions::default();
        let other = assumed.with(self.alternative.into());
        let name = self.alternative;
        assert_eq!(self.run(assumed, false), self.want[0], "assumed, not {name}");
        assert_eq!(self.run(assumed, true), self.want[0], "assumed, by the letter, not {name}");
        assert_eq!(self.run(other, false), self.want[1], "{name}");
        let machine = Machine::new(self.generation.into(), 0, Limits::default()).unwrap();
        let reached = |word| !machine.reached(self.engine, word, [name]).is_empty();
        assert!(self.words.iter().any(reached), "{name} is not seen to reach any word");
        assert_ne!(self.want[0], self.want[1]);
    }
}

fn moved(from: Dtype, to: Dtype, count: u16) -> TensorReduce {
    TensorReduce {
        in_dtype: from.code(),
        out_dtype: to.code(),
        num_active_channels: 1,
        src_mem_pattern: Pattern::contiguous(0, count),
        dst_mem_pattern: Pattern::contiguous(64, count),
        ..TensorReduce::default()
    }
}

fn reduce(op: AluOp, dtype: Dtype, count: u16) -> TensorReduce {
    TensorReduce {
        op: op.code(),
        op_dim: SubDim::X.code(),
        dst_mem_pattern: Pattern::contiguous(64, 1),
        ..moved(dtype, dtype, count)
    }
}

fn scan(op: AluOp, dtype: Dtype, count: u16) -> TensorReduce {
    TensorReduce { dst_mem_pattern: Pattern::contiguous(64, count), ..reduce(op, dtype, count) }
}

fn scalar(op0: AluOp, s0: f32, op1: AluOp, s1: f32) -> TensorScalar {
    TensorScalar {
        op0: op0.code(),
        op1: op1.code(),
        imm0: s0.to_bits(),
        imm1: s1.to_bits(),
        num_active_channels: 1,
        src_mem_pattern: Pattern::contiguous(0, 1),
        dst_mem_pattern: Pattern::contiguous(64, 1),
        ..TensorScalar::default()
    }
}

fn cache(command: AccumCmd, op1: AluOp, load: f32, count: u16) -> TensorScalar {
    TensorScalar {
        accumulator_cmd: command.code(),
        src_mem_pattern: Pattern::contiguous(0, count),
        dst_mem_pattern: Pattern::contiguous(64, count),
        ..scalar(AluOp::Bypass, 0.0, op1, load)
    }
}

/// `op(a, b)` of one element each, `b` at byte 32.
fn pair(op: AluOp, dtype: Dtype) -> TensorTensor {
    TensorTensor {
        op: op.code(),
        in0_in1_dtype: dtype.code() | dtype.code() << 4,
        out_dtype: dtype.code(),
        num_active_channels: 1,
        src0_mem_pattern: Pattern::contiguous(0, 1),
        src1_mem_pattern: Pattern::contiguous(32, 1),
        dst_mem_pattern: Pattern::contiguous(64, 1),
    }
}

fn lanes(
    op: ReduceOp,
    axis: ReduceAxis,
    dtype: Dtype,
    channels: u8,
    count: u16,
) -> CrossLaneReduce {
    let results = if axis == ReduceAxis::All { 1 } else { count };
    CrossLaneReduce {
        in_dtype: dtype.code(),
        out_dtype: dtype.code(),
        num_active_channels: channels,
        reduce_op: op.code(),
        reduce_axis: axis.code(),
        src_mem_pattern: Pattern::contiguous(0, count),
        dst_mem_pattern: Pattern::contiguous(64, results),
        ..CrossLaneReduce::default()
    }
}

/// A lane table that is the identity but for one entry.
fn table(lane: usize, entry: u8) -> LoadMaskSelect {
    let mut body = LoadMaskSelect::default();
    body.immediate[lane] = entry;
    body
}

/// 32 channels of 32 bytes: byte `e` of channel `c` is `c + 32 e` modulo 256.
fn tile(case: Case) -> Case {
    (0..32u8).fold(case, |case, c| {
        let row = (0..32u8).map(|e| c.wrapping_add(e.wrapping_mul(32))).collect();
        case.with(c.into(), 0, row).with(c.into(), 64, vec![0xEE; 32])
    })
}

fn tile_body(mask_enable: u8) -> TensorReduce {
    TensorReduce { num_active_channels: 32, mask_enable, ..moved(Dtype::Uint8, Dtype::Uint8, 32) }
}

fn overlap_and_formats() -> Vec<Case> {
    use Alternative::*;
    let overlapping = TensorReduce {
        dst_mem_pattern: Pattern::contiguous(4, 4),
        ..moved(Dtype::Uint32, Dtype::Uint32, 4)
    };
    let repeated = TensorReduce {
        dst_mem_pattern: Pattern {
            start_addr: 64,
            step_elem: [0, 1, 1, 1],
            num_elem: [3, 2, 1, 1],
        },
        ..moved(Dtype::Uint32, Dtype::Uint32, 6)
    };
    // 13 mantissa bits leave ten: half a unit above an odd number goes up to the even one.
    let rounded = |alternative, other| {
        case(alternative, Opcode::Cast, moved(Dtype::Fp32, Dtype::Fp32r, 1))
            .from(u32s(&[0x3F80_0600]))
            .gives(u32s(&[0x3F80_0800]), u32s(&[other]))
    };
    let overflow = |alternative| {
        case(alternative, Opcode::Cast, moved(Dtype::Fp32, Dtype::Fp8Exp4, 1))
            .from(f32s(&[1000.0]))
            .gives(vec![0x78], vec![0x77])
    };
    let nan = |alternative, other| {
        case(alternative, Opcode::Cast, moved(Dtype::Fp32, Dtype::Int8, 1))
            .from(f32s(&[f32::NAN]))
            .gives(vec![0], vec![other])
    };
    vec![
        case(Streaming, Opcode::Copy, overlapping)
            .from(u32s(&[1, 2, 3, 4]))
            .at(0, 0)
            .gives(u32s(&[1, 1, 2, 3, 4]), u32s(&[1, 1, 1, 1, 1])),
        case(FirstWrite, Opcode::Copy, repeated)
            .from(u32s(&[1, 2, 3, 4, 5, 6]))
            .gives(u32s(&[3, 6]), u32s(&[1, 4])),
        rounded(Fp32rTruncated, 0x3F80_0400),
        rounded(Fp32r11, 0x3F80_0000),
        rounded(Fp32rFull, 0x3F80_0600),
        // Exponent 15 − 7 = 8.
        case(Exp4Ocp, Opcode::Cast, moved(Dtype::Fp8Exp4, Dtype::Fp32, 1))
            .on(Generation::Mariana, Engine::Dve)
            .from(vec![0x78])
            .gives(f32s(&[f32::INFINITY]), f32s(&[256.0])),
        // Exponent 7 − 3 = 4; 20 is 16 · 1.25.
        case(Exp3Finite, Opcode::Cast, moved(Dtype::Fp8Exp3, Dtype::Fp32, 1))
            .from(vec![0x70])
            .gives(f32s(&[f32::INFINITY]), f32s(&[16.0])),
        case(Exp3Finite, Opcode::Cast, moved(Dtype::Fp32, Dtype::Fp8Exp3, 3))
            .from(f32s(&[20.0, -100.0, 15.0]))
            .gives(vec![0x70, 0xF0, 0x6E], vec![0x74, 0xFF, 0x6E]),
        overflow(Fp8Saturates),
        overflow(Fp8SaturatesOnPool).on(Generation::Cayman, Engine::Pool),
        case(PoolTruncates, Opcode::Cast, moved(Dtype::Fp32, Dtype::Int32, 2))
            .on(Generation::Cayman, Engine::Pool)
            .from(f32s(&[1.75, -1.75]))
            .gives(ints(&[2, -2]), ints(&[1, -1])),
        nan(NanSmallest, 0x80),
        nan(NanLargest, 0x7F),
        // The integers of CrossLaneReduce are 32 bits wide: 300 = 256 + 44.
        case(
            NarrowingWraps,
            Opcode::CrossLaneReduceArith,
            CrossLaneReduce {
                out_dtype: Dtype::Int8.code(),
                ..lanes(ReduceOp::Add, ReduceAxis::Partitions, Dtype::Int32, 2, 1)
            },
        )
        .on(Generation::Cayman, Engine::Pool)
        .from(ints(&[100]))
        .with(1, 0, ints(&[200]))
        .gives(vec![127], vec![44]),
        case(CastConverts, Opcode::Cast, moved(Dtype::Int32, Dtype::Int32, 1))
            .from(ints(&[16_777_217]))
            .gives(ints(&[16_777_217]), ints(&[16_777_216])),
    ]
}

fn operations() -> Vec<Case> {
    use Alternative::*;
    let mariana = |case: Case| case.on(Generation::Mariana, Engine::Dve);
    let pool = |case: Case| case.on(Generation::Cayman, Engine::Pool);
    let two = |alternative, op, dtype, a: Vec<u8>, b: Vec<u8>| {
        let opcode = match dtype {
            Dtype::Uint32 => Opcode::TensorTensorBitvecOp,
            _ => Opcode::TensorTensorArithOp,
        };
        case(alternative, opcode, pair(op, dtype)).from(a).with(0, 32, b)
    };
    let exponential = |alternative, other| {
        let body = scalar(AluOp::Bypass, 0.0, AluOp::Bypass, 0.0);
        mariana(case(alternative, Opcode::Exponential, body))
            .from(f32s(&[0.0]))
            .gives(f32s(&[1.0]), u32s(&[other]))
    };
    let not_a_number = |alternative, other| {
        two(alternative, AluOp::Add, Dtype::Fp32, u32s(&[0x7FC1_2345]), f32s(&[1.0]))
            .gives(u32s(&[0x7FC1_2345]), u32s(&[other]))
    };
    let reversed = |order: ReverseOps, body: TensorScalar| TensorScalar {
        reverse_operands: order.code(),
        ..body
    };
    // The product is 1 + 2^-11 + 2^-24, whose last term is half a unit.
    let near_one = 1.0 + 2f32.powi(-12);
    let extended = ExtendedTensorTensor {
        op: AluOp::Add.code(),
        in0_in1_dtype: Dtype::Int32.code() | Dtype::Int32.code() << 4,
        out_dtype: Dtype::Int32.code(),
        src0_mem_pattern: Pattern::contiguous(0, 1),
        src1_mem_pattern: Pattern::contiguous(32, 1),
        dst_mem_pattern: Pattern::contiguous(64, 1),
        ..ExtendedTensorTensor::default()
    };
    let integer_immediate = TensorScalar {
        in_dtype: Dtype::Int32.code(),
        out_dtype: Dtype::Int32.code(),
        ..scalar(AluOp::AddInt, 2.0, AluOp::Bypass, 0.0)
    };
    let both_bypassed = ScalarTensorTensor {
        reverse_operands: ReverseOps::Second.code(),
        num_active_channels: 1,
        src0_mem_pattern: Pattern::contiguous(0, 1),
        src1_mem_pattern: Pattern::contiguous(32, 1),
        dst_mem_pattern: Pattern::contiguous(64, 1),
        ..ScalarTensorTensor::default()
    };
    vec![
        // |−1| stays; the newest is |−3|.
        case(
            UnaryNewest,
            Opcode::TensorReduceArithOp,
            reduce(AluOp::AbsoluteValue, Dtype::Fp32, 3),
        )
        .from(f32s(&[-1.0, -2.0, -3.0]))
        .gives(f32s(&[1.0]), f32s(&[3.0])),
        mariana(case(
            UnaryNewest,
            Opcode::TensorScalarArithOp,
            reversed(ReverseOps::First, scalar(AluOp::Square, 5.0, AluOp::Bypass, 0.0)),
        ))
        .from(f32s(&[3.0]))
        .gives(f32s(&[25.0]), f32s(&[9.0])),
        two(UnaryNewest, AluOp::AbsoluteValue, Dtype::Fp32, f32s(&[-1.0]), f32s(&[-2.0]))
            .gives(f32s(&[1.0]), f32s(&[2.0])),
        pool(two(DivideZeroZero, AluOp::DivideInt, Dtype::Int32, ints(&[7]), ints(&[0])))
            .gives(ints(&[-1]), ints(&[0])),
        pool(two(DivideZeroZero, AluOp::Mod, Dtype::Int32, ints(&[7]), ints(&[0])))
            .gives(ints(&[7]), ints(&[0])),
        pool(two(DivideSaturates, AluOp::DivideInt, Dtype::Int32, ints(&[i32::MIN]), ints(&[-1])))
            .gives(ints(&[i32::MIN]), ints(&[i32::MAX])),
        two(ShiftModulo, AluOp::LogicalShiftLeft, Dtype::Uint32, u32s(&[1]), u32s(&[33]))
            .gives(u32s(&[0]), u32s(&[2])),
        two(ShiftFillZero, AluOp::ArithShiftRight, Dtype::Uint32, u32s(&[1 << 31]), u32s(&[4]))
            .gives(u32s(&[0xF800_0000]), u32s(&[0x0800_0000])),
        two(ZeroFirst, AluOp::Max, Dtype::Fp32, f32s(&[-0.0]), f32s(&[0.0]))
            .gives(f32s(&[0.0]), f32s(&[-0.0])),
        two(ZeroSecond, AluOp::Min, Dtype::Fp32, f32s(&[-0.0]), f32s(&[0.0]))
            .gives(f32s(&[-0.0]), f32s(&[0.0])),
        mariana(case(
            ReluNanZero,
            Opcode::TensorScalarArithOp,
            scalar(AluOp::ReLu, 0.0, AluOp::Bypass, 0.0),
        ))
        .from(u32s(&[0x7FC0_0000]))
        .gives(u32s(&[0x7FC0_0000]), u32s(&[0])),
        exponential(LastBitUp, 0x3F80_0001),
        exponential(LastBitDown, 0x3F7F_FFFF),
        case(
            BypassScalarLeft,
            Opcode::TensorScalarArithOp,
            reversed(ReverseOps::Second, scalar(AluOp::Add, 1.0, AluOp::Bypass, 9.0)),
        )
        .from(f32s(&[2.0]))
        .gives(f32s(&[3.0]), f32s(&[9.0])),
        case(BypassTensorValue, Opcode::ScalarTensorTensorArith, both_bypassed)
            .from(f32s(&[1.0]))
            .with(0, 32, f32s(&[20.0]))
            .gives(f32s(&[20.0]), f32s(&[1.0])),
        case(IntegerImmediateFloat, Opcode::TensorScalarArithOp, integer_immediate)
            .on(Generation::Maverick, Engine::Dve)
            .from(ints(&[1]))
            .gives(u32s(&[0x4000_0001]), ints(&[3])),
        not_a_number(NanCanonical, 0x7FC0_0000),
        not_a_number(NanNegative, 0xFFC0_0000),
        case(
            Fused,
            Opcode::TensorScalarArithOp,
            scalar(AluOp::Mult, near_one, AluOp::Subtract, 1.0 + 2f32.powi(-11)),
        )
        .from(f32s(&[near_one]))
        .gives(f32s(&[0.0]), f32s(&[2f32.powi(-24)])),
        pool(case(ExtendedFloat, Opcode::ExtendedTensorTensorArith, extended))
            .from(ints(&[16_777_216]))
            .with(0, 32, ints(&[1]))
            .gives(ints(&[16_777_217]), ints(&[16_777_216])),
    ]
}

fn folds() -> Vec<Case> {
    use Alternative::*;
    let pool = |case: Case| case.on(Generation::Cayman, Engine::Pool);
    let sum = |alternative, other| {
        // 2^24 + 1 is a tie and goes back; 2^24 + 3 is one as well and goes up to 2^24 + 4.
        case(alternative, Opcode::TensorReduceArithOp, reduce(AluOp::Add, Dtype::Fp32, 4))
            .from(f32s(&[BIG, 1.0, 1.0, 1.0]))
            .gives(f32s(&[BIG]), f32s(&[BIG + other]))
    };
    let over_lanes = |alternative, other| {
        let body = lanes(ReduceOp::Add, ReduceAxis::Partitions, Dtype::Fp32, 4, 1);
        pool(case(alternative, Opcode::CrossLaneReduceArith, body))
            .from(f32s(&[BIG]))
            .with(1, 0, f32s(&[1.0]))
            .with(2, 0, f32s(&[1.0]))
            .with(3, 0, f32s(&[1.0]))
            .gives(f32s(&[BIG]), f32s(&[BIG + other]))
    };
    let crc = |alternative, other| {
        let body = reduce(AluOp::Crc32, Dtype::Uint32, 2);
        case(alternative, Opcode::TensorReduceBitvecOp, body)
            .from(b"12345678".to_vec())
            .gives(u32s(&[0x9AE0_DAAF]), u32s(&[other]))
    };
    let slot = |alternative, other: &[f32]| {
        let body = cache(AccumCmd::ZeroAccumulate, AluOp::Add, 0.0, 3);
        let body = TensorScalar { imm1: 0, ..body };
        case(alternative, Opcode::TensorScalarCacheReduce, body)
            .from(f32s(&[1.0, 2.0, 3.0]))
            .with(0, 64, f32s(&[-1.0, -1.0, -1.0]))
            .gives(f32s(&[-1.0, -1.0, 6.0]), f32s(other))
    };
    let leaves = |src, dst| TensorScalar {
        src_mem_pattern: Pattern::contiguous(src, 1),
        dst_mem_pattern: Pattern::contiguous(dst, 1),
        ..cache(AccumCmd::ZeroAccumulate, AluOp::Add, 0.0, 1)
    };
    let goes_on = cache(AccumCmd::Accumulate, AluOp::Add, 0.0, 1);
    // Partition 32 of CAYMAN.
    let partition_32 = 32 << 18;
    let cumulative = Opcode::TensorScalarCacheCumulative;
    let negated = |body: TensorReduce| TensorReduce { negated: 1, ..body };
    vec![
        case(
            NegateBefore,
            Opcode::TensorReduceArithOp,
            negated(reduce(AluOp::Max, Dtype::Fp32, 3)),
        )
        .from(f32s(&[1.0, 5.0, -2.0]))
        .gives(f32s(&[-5.0]), f32s(&[2.0])),
        pool(case(
            NegateSaturates,
            Opcode::TensorReduceArithOp,
            negated(reduce(AluOp::MinInt, Dtype::Int32, 2)),
        ))
        .from(ints(&[i32::MIN, 5]))
        .gives(ints(&[i32::MIN]), ints(&[i32::MAX])),
        crc(CrcPlain, !0x9AE0_DAAF),
        crc(CrcZeroSeed, CRC_ZERO_SEED),
        crc(CrcCastagnoli, CRC_CASTAGNOLI),
        sum(ReduceDescending, 4.0),
        sum(ReducePairwise, 2.0),
        over_lanes(CrossLaneDescending, 4.0),
        over_lanes(CrossLanePairwise, 2.0),
        // Down the channels 2^24 + 1 rounds and −2^24 + 1 does not; along them both are lost.
        pool(case(
            CrossLaneElements,
            Opcode::CrossLaneReduceArith,
            lanes(ReduceOp::Add, ReduceAxis::All, Dtype::Fp32, 2, 2),
        ))
        .from(f32s(&[BIG, -BIG]))
        .with(1, 0, f32s(&[1.0, 1.0]))
        .gives(f32s(&[1.0]), f32s(&[2.0])),
        pool(case(
            ScaleApplied,
            Opcode::CrossLaneReduceArith,
            CrossLaneReduce {
                scale: 0.5f32.to_bits(),
                ..lanes(ReduceOp::Add, ReduceAxis::Partitions, Dtype::Fp32, 2, 1)
            },
        ))
        .from(f32s(&[2.0]))
        .with(1, 0, f32s(&[4.0]))
        .gives(f32s(&[6.0]), f32s(&[3.0])),
        // 300 · 127 = 38100 = 65536 − 27436.
        pool(case(
            CrossLaneOneStep,
            Opcode::CrossLaneReduceArith,
            CrossLaneReduce {
                out_dtype: Dtype::Int32.code(),
                src_mem_pattern: Pattern {
                    start_addr: 0,
                    step_elem: [0, 1, 1, 1],
                    num_elem: [300, 1, 1, 1],
                },
                ..lanes(ReduceOp::Add, ReduceAxis::All, Dtype::Int8, 1, 1)
            },
        ))
        .from(vec![127])
        .gives(ints(&[38100]), ints(&[-27436])),
        pool(case(
            CrossLaneEvery,
            Opcode::CrossLaneReduceArith,
            lanes(ReduceOp::Add, ReduceAxis::Partitions, Dtype::Fp32, 2, 1),
        ))
        .from(f32s(&[1.0]))
        .with(1, 0, f32s(&[2.0]))
        .at(1, 64)
        .gives(f32s(&[0.0]), f32s(&[3.0])),
        slot(SlotFirst, &[6.0, -1.0, -1.0]),
        slot(SlotNone, &[-1.0, -1.0, -1.0]),
        // 7 is left behind in one accumulator, and one is read by a word of partition 0.
        case(AccumulatorOfSource, cumulative, goes_on)
            .after(cumulative, leaves(partition_32, 128))
            .with(32, 0, f32s(&[7.0]))
            .gives(f32s(&[7.0]), f32s(&[0.0])),
        case(AccumulatorOfChannel, cumulative, goes_on)
            .after(cumulative, leaves(partition_32, partition_32 + 128))
            .with(32, 0, f32s(&[7.0]))
            .gives(f32s(&[0.0]), f32s(&[7.0])),
        case(AccumulatorNan, cumulative, goes_on)
            .from(f32s(&[1.0]))
            .gives(f32s(&[1.0]), f32s(&[f32::NAN])),
        case(
            CacheSubtractReversed,
            cumulative,
            cache(AccumCmd::LoadAccumulate, AluOp::Subtract, 100.0, 1),
        )
        .from(f32s(&[1.0]))
        .gives(f32s(&[99.0]), f32s(&[-99.0])),
        case(
            CacheWide,
            Opcode::TensorScalarCacheReduce,
            TensorScalar {
                in_dtype: Dtype::Int8.code(),
                dst_mem_pattern: Pattern {
                    start_addr: 64,
                    step_elem: [0, 1, 1],
                    num_elem: [2, 1, 1],
                },
                ..cache(AccumCmd::LoadAccumulate, AluOp::Add, BIG, 2)
            },
        )
        .from(vec![1, 1])
        .gives(f32s(&[BIG]), f32s(&[BIG + 2.0])),
        case(DveSaturates, Opcode::TensorCumulativeArithOp, scan(AluOp::AddInt, Dtype::Int32, 2))
            .from(ints(&[i32::MAX, 1]))
            .gives(ints(&[i32::MAX, i32::MIN]), ints(&[i32::MAX, i32::MAX])),
        case(DveFloat, Opcode::TensorCumulativeArithOp, scan(AluOp::AddInt, Dtype::Int32, 2))
            .from(ints(&[16_777_216, 1]))
            .gives(ints(&[16_777_216, 16_777_217]), ints(&[16_777_216, 16_777_216])),
        case(DveFloat, Opcode::TensorCumulativeArithOp, scan(AluOp::DivideInt, Dtype::Int16, 2))
            .from(bits16(&[7, 0]))
            .gives(bits16(&[7, 0xFFFF]), bits16(&[7, 0x7FFF])),
    ]
}

/// Of the same bytes, by the definition: shift register bit by bit.
const CRC_ZERO_SEED: u32 = 0xFFC2_05C6;
const CRC_CASTAGNOLI: u32 = 0x6087_809A;

fn exchanges() -> Vec<Case> {
    use Alternative::*;
    let shuffle = |alternative| tile(case(alternative, Opcode::StreamShuffle, tile_body(0)));
    let transpose =
        |alternative| tile(case(alternative, Opcode::StreamTranspose, tile_body(1))).at(1, 64);
    let pointers = TensorScalar {
        imm0_src: ImmSrc::Pointer.code(),
        imm0: 4096,
        num_active_channels: 32,
        src_mem_pattern: Pattern::contiguous(0, 32),
        dst_mem_pattern: Pattern::contiguous(1024, 32),
        ..scalar(AluOp::Mult, 0.0, AluOp::Bypass, 0.0)
    };
    let pointed = case(PointerBefore, Opcode::TransposeTensorScalarArithOp, pointers);
    let pointed = (0..32u8).fold(pointed, |case, c| {
        let scalar = f32s(&[f32::from(c) + 1.0]);
        case.with(c.into(), 0, f32s(&[1.0; 32])).with(c.into(), 4096, scalar)
    });
    vec![
        transpose(MaskZero)
            .after(Opcode::LoadMaskSelect, table(1, 40))
            .gives(vec![0xEE; 4], vec![0; 4]),
        // Lane 1 of the transpose is byte 1 of every channel, lane 2 is byte 2.
        transpose(MaskPermute)
            .after(Opcode::LoadMaskSelect, table(1, 2))
            .gives(vec![32, 33, 34, 35], vec![64, 65, 66, 67]),
        shuffle(LaneTableZero).at(3, 64).gives(vec![3, 35, 67], vec![0, 32, 64]),
        shuffle(EntryZero)
            .after(Opcode::LoadMaskSelect, table(3, 34))
            .at(3, 64)
            .gives(vec![0xEE; 3], vec![0; 3]),
        shuffle(EntryModulo)
            .after(Opcode::LoadMaskSelect, table(3, 34))
            .at(3, 64)
            .gives(vec![0xEE; 3], vec![2, 34, 66]),
        // Element 5 of channel 3 comes from channel 5.
        pointed.at(3, 1024 + 5 * 4).gives(f32s(&[4.0]), f32s(&[6.0])),
    ]
}

#[test]
fn every_alternative_changes_what_it_is_about() {
    let cases: Vec<Case> =
        [overlap_and_formats(), operations(), folds(), exchanges()].into_iter().flatten().collect();
    cases.iter().for_each(Case::check);
    for alternative in Alternative::ALL {
        let tested = cases.iter().any(|case| case.alternative == *alternative);
        assert!(tested, "{alternative} has no case");
    }
}
