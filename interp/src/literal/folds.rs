//! Words that fold elements within a channel or over channels (ISA 9.5 to 9.8, 9.13, 9.17, 9.18).

use partita_isa::{
    AluOp, CrossLaneReduce, Domain, Opcode, ReduceAxis, ReduceOp, TensorReduce, TensorScalar,
};

use crate::conventions::{Alternative, Conventions};
use crate::error::Fault;
use crate::memory::PARTITIONS;
use crate::numeric::simd::Portable;
use crate::numeric::special;
use crate::plan::{Seed, alu, dtype, fold_op, group, identity, lane, seed};

use super::alu::{Alu, computed, last_bit};
use super::numbers::{bits, bounds, float, low, number};
use super::{Literal, Sink, Source};

impl Literal<'_> {
    /// TensorReduce, its transposed forms, and the packed BF16 forms of SUNDA.
    pub fn reduce(&mut self, body: &TensorReduce) -> Result<(), Fault> {
        use Opcode::*;
        let channels = usize::from(body.num_active_channels);
        let (from, to) = (dtype(body.in_dtype)?, dtype(body.out_dtype)?);
        let stream = self.source(&body.src_mem_pattern, from, channels)?;
        let dst = self.destination(&body.dst_mem_pattern, to, channels)?;
        let src = match self.opcode {
            TransposeTensorReduceArithOp | TransposeTensorReduceBitvecOp => {
                Source::Held(self.transposed(&stream, channels)?)
            }
            _ => Source::Rows(stream),
        };
        let op = alu(body.op)?;
        let domain = self.domain(&[op], &[from], to);
        let width = lane(domain, from);
        let negate = Negate { domain, width, saturates: self.has(Alternative::NegateSaturates) };
        let [before, after] = match (body.negated != 0, self.has(Alternative::NegateBefore)) {
            (false, _) => [false, false],
            (true, before) => [before, !before],
        };
        let fold = match op {
            AluOp::Crc32 => Fold::Crc(Crc::new(self.conventions)),
            _ if op.is_arg() => Fold::Arg(op),
            _ => Fold::Alu(self.alu(op, domain, from)?),
        };
        let numbers = self.numbers;
        let mut lanes = Vec::new();
        let group = group(body)?;
        self.run(channels, [Some(&src), None], group, &dst, |_, _, [elements, _]| {
            lanes.clear();
            lanes.extend(elements.iter().map(|&raw| {
                let lane = numbers.decode(domain, from, raw);
                if before { negate.apply(lane) } else { lane }
            }));
            let negated = |lane| if after { negate.apply(lane) } else { lane };
            Some(match fold {
                Fold::Alu(alu) => numbers.encode(domain, to, negated(alu.reduce(&lanes))),
                Fold::Crc(crc) => crc.of(&lanes, from.size()),
                Fold::Arg(op) => {
                    let index = extreme(op, &lanes, width) as u64;
                    // The index is a UINT32, whatever the width of the input.
                    low(if after { index.wrapping_neg() } else { index }, 4)
                }
            })
        });
        Ok(())
    }

    /// TensorCumulative.
    pub fn scan(&mut self, body: &TensorReduce) -> Result<(), Fault> {
        let channels = usize::from(body.num_active_channels);
        let (from, to) = (dtype(body.in_dtype)?, dtype(body.out_dtype)?);
        let src = Source::Rows(self.source(&body.src_mem_pattern, from, channels)?);
        let dst = self.destination(&body.dst_mem_pattern, to, channels)?;
        let op = alu(body.op)?;
        let domain = self.domain(&[op], &[from], to);
        let group = group(body)?.max(1);
        let numbers = self.numbers;
        if op == AluOp::Crc32 {
            let crc = Crc::new(self.conventions);
            let mut state = crc.seed;
            self.run(channels, [Some(&src), None], 1, &dst, |_, number, [x, _]| {
                if number % group == 0 {
                    state = crc.seed;
                }
                state = crc.step(state, *x.first()?, from.size());
                Some(crc.finish(state))
            });
            return Ok(());
        }
        let alu = self.alu(op, domain, from)?;
        let mut state = 0;
        self.run(channels, [Some(&src), None], 1, &dst, |_, number, [x, _]| {
            let x = numbers.decode(domain, from, *x.first()?);
            state = if number % group == 0 { x } else { alu.step(state, x) };
            Some(numbers.encode(domain, to, state))
        });
        Ok(())
    }

    /// The accumulator of a channel (OQ-28), from the first partitions of source and destination.
    fn accumulator(&self, [src, dst]: [usize; 2], channel: usize) -> usize {
        let first = if self.has(Alternative::AccumulatorOfSource) {
            src
        } else if self.has(Alternative::AccumulatorOfChannel) {
            0
        } else {
            dst
        };
        (first + channel) % PARTITIONS
    }

    /// Where the running folds of the channels start, and the accumulators that they are left in.
    fn seeds(
        &self,
        seed: Seed,
        loads: &[u64],
        partitions: [usize; 2],
        channels: usize,
    ) -> Vec<(usize, f32)> {
        let start = |channel| {
            let index = self.accumulator(partitions, channel);
            let value = match seed {
                Seed::Accumulator => self.machine.accumulators[index],
                Seed::Value(value) => value,
                Seed::Immediate => float(loads.get(channel).copied().unwrap_or_default()),
            };
            (index, value)
        };
        (0..channels).map(start).collect()
    }

    /// The cache opcodes 0x9a and 0xe6.
    pub fn cache(&mut self, body: &TensorScalar) -> Result<(), Fault> {
        let channels = usize::from(body.num_active_channels);
        let (from, to) = (dtype(body.in_dtype)?, dtype(body.out_dtype)?);
        let stream = self.source(&body.src_mem_pattern, from, channels)?;
        let dst = self.destination(&body.dst_mem_pattern, to, channels)?;
        let partitions = [stream.place.partition, dst.place.partition];
        let src = Source::Rows(stream);
        let (op0, op1) = (alu(body.op0)?, alu(body.op1)?);
        let fold = CacheFold {
            first: self.alu(op0, Domain::Fp32, from)?,
            second: self.alu(op1, Domain::Fp32, from)?,
            reversed: self.has(Alternative::CacheSubtractReversed),
            fused: self.has(Alternative::Fused),
        };
        let wide = self.has(Alternative::CacheWide) && from.is_int();
        let [scalars, loads] = self.cache_scalars(body, channels)?;
        let seed = seed(body.accumulator_cmd, identity(op1))?.unwrap_or(Seed::Accumulator);
        let seeds = self.seeds(seed, &loads, partitions, channels);
        let mut states: Vec<f64> = seeds.iter().map(|&(_, value)| f64::from(value)).collect();
        let mut exact: Vec<u64> = seeds.iter().map(|&(_, value)| bits(value)).collect();
        let emits_each = self.opcode == Opcode::TensorScalarCacheCumulative;
        let numbers = self.numbers;
        self.run(channels, [Some(&src), None], 1, &dst, |channel, _, [x, _]| {
            let x = numbers.decode(Domain::Fp32, from, *x.first()?);
            let scalar = *scalars.get(channel)?;
            let (state, lane) = (states.get_mut(channel)?, exact.get_mut(channel)?);
            if wide {
                *state = fold.wide(*state, x, scalar);
                *lane = bits(*state as f32);
            } else {
                *lane = fold.step(*lane, x, scalar);
            }
            emits_each.then(|| numbers.encode(Domain::Fp32, to, *lane))
        });
        let slot = if self.has(Alternative::SlotFirst) { 0 } else { dst.len().saturating_sub(1) };
        let writes_one = !emits_each && !self.has(Alternative::SlotNone);
        for (channel, (&lane, &(index, _))) in exact.iter().zip(&seeds).enumerate() {
            self.machine.accumulators[index] = float(lane);
            if writes_one {
                let element = numbers.encode(Domain::Fp32, to, lane);
                Sink::new(self.machine, &dst, channel).write(self.machine, slot, element);
            }
        }
        Ok(())
    }

    /// The scalar of the first stage, and the seed of LOAD_ACCUMULATE.
    fn cache_scalars(&self, body: &TensorScalar, channels: usize) -> Result<[Vec<u64>; 2], Fault> {
        let imm0 = self.resolver().immediate(body.imm0_src, body.imm0, 4, channels)?;
        let imm1 = self.resolver().immediate(body.imm1_src, body.imm1, 4, channels)?;
        Ok([self.scalars(&imm0, channels), self.scalars(&imm1, channels)])
    }

    pub fn exponential(&mut self, body: &TensorScalar) -> Result<(), Fault> {
        let channels = usize::from(body.num_active_channels);
        let (from, to) = (dtype(body.in_dtype)?, dtype(body.out_dtype)?);
        let stream = self.source(&body.src_mem_pattern, from, channels)?;
        let dst = self.destination(&body.dst_mem_pattern, to, channels)?;
        let partitions = [stream.place.partition, dst.place.partition];
        let src = Source::Rows(stream);
        let [scalars, loads] = self.cache_scalars(body, channels)?;
        let seed = seed(body.accumulator_cmd, 0.0)?;
        let seeds = self.seeds(seed.unwrap_or(Seed::Value(0.0)), &loads, partitions, channels);
        let mut sums: Vec<u64> = seeds.iter().map(|&(_, value)| bits(value)).collect();
        let (numbers, conventions) = (self.numbers, self.conventions);
        let sum = self.alu(AluOp::Add, Domain::Fp32, from)?;
        self.run(channels, [Some(&src), None], 1, &dst, |channel, _, [x, _]| {
            let x = numbers.decode(Domain::Fp32, from, *x.first()?);
            let difference = float(x) - float(*scalars.get(channel)?);
            let y = bits(special::exp::<Portable>(difference));
            let y = computed(conventions, last_bit(conventions, y));
            let total = sums.get_mut(channel)?;
            *total = sum.step(*total, y);
            Some(numbers.encode(Domain::Fp32, to, y))
        });
        if seed.is_some() {
            for (&(index, _), &sum) in seeds.iter().zip(&sums) {
                self.machine.accumulators[index] = float(sum);
            }
        }
        Ok(())
    }

    pub fn cross_lane(&mut self, body: &CrossLaneReduce) -> Result<(), Fault> {
        use Alternative::*;
        let channels = usize::from(body.num_active_channels);
        let (from, to) = (dtype(body.in_dtype)?, dtype(body.out_dtype)?);
        let stream = self.source(&body.src_mem_pattern, from, channels)?;
        let dst = self.destination(&body.dst_mem_pattern, to, 1)?;
        let reduce = ReduceOp::from_code(body.reduce_op).ok_or(Fault::Unsupported("operation"))?;
        let domain = Domain::of_cross_lane(self.opcode, reduce, from);
        let alu = self.alu(fold_op(reduce), domain, from)?;
        let scales = reduce == ReduceOp::Average
            || reduce == ReduceOp::Add && domain == Domain::Fp32 && self.has(ScaleApplied);
        let multiply = if scales { Some(self.alu(AluOp::Mult, domain, from)?) } else { None };
        let numbers = self.numbers;
        let mut rows = stream.hold(self.machine, channels)?;
        for element in rows.iter_mut().flatten() {
            *element = numbers.decode(domain, from, *element);
            if let Some(multiply) = multiply {
                *element = multiply.apply(*element, u64::from(body.scale));
            }
        }
        let sums = domain == Domain::Fp32 && reduce != ReduceOp::Max;
        let fold = |lanes: &[u64]| match [CrossLaneDescending, CrossLanePairwise]
            .map(|order| sums && self.has(order))
        {
            [true, _] => alu.descending(lanes),
            [_, true] => alu.pairwise(lanes),
            _ => alu.ascending(lanes),
        };
        let all = ReduceAxis::from_code(body.reduce_axis) == Some(ReduceAxis::All);
        let mut results: Vec<u64> = if all && sums && self.has(CrossLaneElements) {
            vec![fold(&rows.iter().map(|row| fold(row)).collect::<Vec<u64>>())]
        } else {
            let column = |number: usize| -> Vec<u64> {
                rows.iter().filter_map(|row| row.get(number).copied()).collect()
            };
            let folded: Vec<u64> = (0..stream.len()).map(|number| fold(&column(number))).collect();
            if all { vec![fold(&folded)] } else { folded }
        };
        if self.has(CrossLaneOneStep) && reduce == ReduceOp::Add && from.is_int() {
            let width = (2 * from.size()).min(4);
            for lane in &mut results {
                *lane = low(number(*lane, width, from.is_signed_int()) as u64, 4);
            }
        }
        let every = !all && self.has(CrossLaneEvery);
        let copies = if every { channels.min(PARTITIONS - dst.place.partition) } else { 1 };
        for channel in 0..copies {
            let mut sink = Sink::new(self.machine, &dst, channel);
            for (number, &lane) in results.iter().enumerate() {
                sink.write(self.machine, number, numbers.encode(domain, to, lane));
            }
        }
        Ok(())
    }
}

/// What a reduction does with a group.
#[derive(Clone, Copy)]
enum Fold {
    Alu(Alu),
    Crc(Crc),
    Arg(AluOp),
}

/// The negation of a lane.
#[derive(Clone, Copy)]
struct Negate {
    domain: Domain,
    width: usize,
    saturates: bool,
}

impl Negate {
    fn apply(&self, lane: u64) -> u64 {
        match self.domain {
            Domain::Fp32 => lane ^ 0x8000_0000,
            Domain::Integer { signed, .. } if self.saturates => {
                let (smallest, largest) = bounds(self.width, signed);
                let negative = -number(lane, self.width, signed);
                low(negative.clamp(smallest, largest) as u64, self.width)
            }
            _ => low(lane.wrapping_neg(), self.width),
        }
    }
}

/// The index of the first extreme lane.
fn extreme(op: AluOp, lanes: &[u64], width: usize) -> usize {
    let signed = matches!(op, AluOp::AmaxInt | AluOp::AminInt);
    let largest = matches!(op, AluOp::AmaxInt | AluOp::AmaxUint);
    let value = |at: usize| number(lanes.get(at).copied().unwrap_or_default(), width, signed);
    let better = |a: usize, b: usize| match largest {
        true => value(a) > value(b),
        false => value(a) < value(b),
    };
    (1..lanes.len()).fold(0, |best, at| if better(at, best) { at } else { best })
}

/// A CRC of 32 bits, least significant bit first (OQ-22).
#[derive(Clone, Copy)]
struct Crc {
    polynomial: u32,
    seed: u32,
    complemented: bool,
}

impl Crc {
    fn new(conventions: Conventions) -> Self {
        use Alternative::*;
        let castagnoli = conventions.has(CrcCastagnoli);
        Self {
            polynomial: if castagnoli { 0x82F6_3B78 } else { 0xEDB8_8320 },
            seed: if conventions.has(CrcZeroSeed) { 0 } else { u32::MAX },
            complemented: !conventions.has(CrcPlain) && !conventions.has(CrcZeroSeed),
        }
    }

    /// Absorbs the bytes of an element, least significant first.
    fn step(&self, state: u32, element: u64, width: usize) -> u32 {
        element.to_le_bytes().iter().take(width).fold(state, |state, &byte| {
            (0..8).fold(state ^ u32::from(byte), |crc, _| {
                (crc >> 1) ^ (self.polynomial & (crc & 1).wrapping_neg())
            })
        })
    }

    fn finish(&self, state: u32) -> u64 {
        u64::from(if self.complemented { !state } else { state })
    }

    fn of(&self, elements: &[u64], width: usize) -> u64 {
        self.finish(elements.iter().fold(self.seed, |state, &x| self.step(state, x, width)))
    }
}

/// `op1(acc, op0(x, scalar))`.
#[derive(Clone, Copy)]
struct CacheFold {
    first: Alu,
    second: Alu,
    /// SUBTRACT takes the accumulator off the value.
    reversed: bool,
    /// MULT and ADD or SUBTRACT round once.
    fused: bool,
}

impl CacheFold {
    fn step(&self, accumulator: u64, x: u64, scalar: u64) -> u64 {
        let subtracts = self.second.op() == AluOp::Subtract;
        let fuses = self.fused && self.first.op() == AluOp::Mult;
        if fuses && (subtracts || self.second.op() == AluOp::Add) {
            let [x, s, a] = [x, scalar, accumulator].map(float);
            let sum = match (subtracts, self.reversed) {
                (false, _) => x.mul_add(s, a),
                (true, false) => (-x).mul_add(s, a),
                (true, true) => x.mul_add(s, -a),
            };
            return self.second.computed(bits(sum));
        }
        let value = self.first.apply(x, scalar);
        match subtracts && self.reversed {
            true => self.second.apply(value, accumulator),
            false => self.second.apply(accumulator, value),
        }
    }

    /// The same without rounding the accumulator.
    fn wide(&self, accumulator: f64, x: u64, scalar: u64) -> f64 {
        let value = f64::from(float(self.first.apply(x, scalar)));
        match self.second.op() {
            AluOp::Subtract if self.reversed => value - accumulator,
            AluOp::Subtract => accumulator - value,
            AluOp::Mult => accumulator * value,
            AluOp::Max => accumulator.max(value),
            AluOp::Min => accumulator.min(value),
            _ => accumulator + value,
        }
    }
}
