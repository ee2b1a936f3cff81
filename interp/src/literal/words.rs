//! Words whose results match their source elements one to one (ISA 9.1 to 9.4, 9.9 to 9.12, 9.14 to 9.16, 9.19,
//! 9.20).

use partita_isa::{
    AluOp, Domain, Dtype, ExtendedTensorTensor, ImmSrc, Opcode, Pattern, ScalarTensorTensor,
    TensorReduce, TensorScalar, TensorScalarSelect, TensorTensor,
};

use crate::conventions::Alternative;
use crate::error::Fault;
use crate::plan::{Immediate, alu, dtype, dtype_pair, lane, reversed};

use super::alu::{Alu, computed};
use super::numbers::{bits, float, low};
use super::{Literal, Sink, Source, Stream, transposed};

/// Lanes of a block.
const LANES: usize = 32;

/// What becomes of a destination lane.
enum Lane {
    Held,
    Zero,
    /// It takes the elements of this channel.
    From(usize),
}

impl Literal<'_> {
    pub fn tensor_tensor(&mut self, body: &TensorTensor) -> Result<(), Fault> {
        let channels = usize::from(body.num_active_channels);
        let patterns = [&body.src0_mem_pattern, &body.src1_mem_pattern, &body.dst_mem_pattern];
        self.binary(alu(body.op)?, body.in0_in1_dtype, body.out_dtype, patterns, channels)
    }

    /// 0xf0 with sub-opcode 2.
    pub fn extended(&mut self, body: &ExtendedTensorTensor) -> Result<(), Fault> {
        let patterns = [&body.src0_mem_pattern, &body.src1_mem_pattern, &body.dst_mem_pattern];
        let channels = body.channels() as usize;
        self.binary(alu(body.op)?, body.in0_in1_dtype, body.out_dtype, patterns, channels)
    }

    fn binary<const D: usize>(
        &mut self,
        op: AluOp,
        pair: u8,
        out: u8,
        [src0, src1, dst]: [&Pattern<D>; 3],
        channels: usize,
    ) -> Result<(), Fault> {
        let dtypes @ [dtype0, dtype1] = dtype_pair(pair)?;
        let out = dtype(out)?;
        let src0 = Source::Rows(self.source(src0, dtype0, channels)?);
        let src1 = Source::Rows(self.source(src1, dtype1, channels)?);
        let dst = self.destination(dst, out, channels)?;
        let domain = self.domain(&[op], &dtypes, out);
        let (alu, numbers) = (self.alu(op, domain, dtype0)?, self.numbers);
        self.run(channels, [Some(&src0), Some(&src1)], 1, &dst, |_, _, [a, b]| {
            let a = numbers.decode(domain, dtype0, *a.first()?);
            let b = numbers.decode(domain, dtype1, *b.first()?);
            Some(numbers.encode(domain, out, alu.tensors(a, b)))
        });
        Ok(())
    }

    pub fn predicated(&mut self, body: &TensorTensor) -> Result<(), Fault> {
        let channels = usize::from(body.num_active_channels);
        let [predicate, data] = dtype_pair(body.in0_in1_dtype)?;
        let out = dtype(body.out_dtype)?;
        let src0 = Source::Rows(self.source(&body.src0_mem_pattern, predicate, channels)?);
        let src1 = Source::Rows(self.source(&body.src1_mem_pattern, data, channels)?);
        let dst = self.destination(&body.dst_mem_pattern, out, channels)?;
        let domain = self.domain(&[AluOp::Bypass], &[data], out);
        let numbers = self.numbers;
        self.run(channels, [Some(&src0), Some(&src1)], 1, &dst, |_, _, [p, x]| {
            let wanted = *p.first()? != 0;
            let value = numbers.decode(domain, data, *x.first()?);
            wanted.then(|| numbers.encode(domain, out, value))
        });
        Ok(())
    }

    /// Copy, Cast and Reciprocal.
    pub fn copy(&mut self, body: &TensorReduce) -> Result<(), Fault> {
        let channels = usize::from(body.num_active_channels);
        let (from, to) = (dtype(body.in_dtype)?, dtype(body.out_dtype)?);
        let src = Source::Rows(self.source(&body.src_mem_pattern, from, channels)?);
        let dst = self.destination(&body.dst_mem_pattern, to, channels)?;
        let domain = self.domain(&[AluOp::Bypass], &[from], to);
        let (numbers, conventions) = (self.numbers, self.conventions);
        let inverts = self.opcode == Opcode::Reciprocal;
        self.run(channels, [Some(&src), None], 1, &dst, |_, _, [x, _]| {
            let value = numbers.decode(domain, from, *x.first()?);
            let value = match inverts {
                true => computed(conventions, bits(1.0 / float(value))),
                false => value,
            };
            Some(numbers.encode(domain, to, value))
        });
        Ok(())
    }

    pub fn shuffle(&mut self, body: &TensorReduce) -> Result<(), Fault> {
        let channels = usize::from(body.num_active_channels);
        let kind = dtype(body.in_dtype)?;
        let stream = self.source(&body.src_mem_pattern, kind, channels)?;
        let dst = self.destination(&body.dst_mem_pattern, kind, channels)?;
        let held = stream.hold(self.machine, channels)?;
        let lanes = self.lanes(channels, |entry| match entry {
            0..32 => Lane::From(entry),
            255 => Lane::Held,
            _ if self.has(Alternative::EntryZero) => Lane::Zero,
            _ if self.has(Alternative::EntryModulo) => Lane::From(entry % LANES),
            _ => Lane::Held,
        });
        self.exchange(&held, &lanes, &dst);
        Ok(())
    }

    pub fn transpose(&mut self, body: &TensorReduce) -> Result<(), Fault> {
        let channels = usize::from(body.num_active_channels);
        let kind = dtype(body.in_dtype)?;
        let stream = self.source(&body.src_mem_pattern, kind, channels)?;
        let dst = self.destination(&body.dst_mem_pattern, kind, channels)?;
        let held = self.transposed(&stream, channels)?;
        let mut lanes: Vec<Lane> = (0..channels).map(Lane::From).collect();
        if body.mask_enable != 0 {
            lanes = self.lanes(channels, |entry| match entry {
                0..32 => Lane::From(entry),
                _ if self.has(Alternative::MaskZero) => Lane::Zero,
                _ => Lane::Held,
            });
            if !self.has(Alternative::MaskPermute) {
                // Entries say only whether a lane is written.
                for (channel, lane) in lanes.iter_mut().enumerate() {
                    if let Lane::From(from) = lane {
                        *from = channel;
                    }
                }
            }
        }
        self.exchange(&held, &lanes, &dst);
        Ok(())
    }

    /// What becomes of each destination channel, given what an entry of the lane table means within a block.
    fn lanes(&self, channels: usize, meaning: impl Fn(usize) -> Lane) -> Vec<Lane> {
        let lane = |channel: usize| {
            let entry = self.machine.lane_table.get(channel % LANES).copied().unwrap_or(u8::MAX);
            match meaning(usize::from(entry)) {
                Lane::From(from) => Lane::From(channel / LANES * LANES + from),
                other => other,
            }
        };
        (0..channels).map(lane).collect()
    }

    /// Writes rows that were held aside.
    fn exchange(&mut self, held: &[Vec<u64>], lanes: &[Lane], dst: &Stream) {
        for (channel, lane) in lanes.iter().enumerate() {
            let mut sink = Sink::new(self.machine, dst, channel);
            match lane {
                Lane::Held => {}
                Lane::Zero => {
                    (0..dst.len()).for_each(|number| sink.write(self.machine, number, 0));
                }
                Lane::From(from) => {
                    for (number, &bits) in held.get(*from).into_iter().flatten().enumerate() {
                        sink.write(self.machine, number, bits);
                    }
                }
            }
        }
    }

    pub fn tensor_scalar(&mut self, body: &TensorScalar) -> Result<(), Fault> {
        let channels = usize::from(body.num_active_channels);
        let (from, to) = (dtype(body.in_dtype)?, dtype(body.out_dtype)?);
        let stream = self.source(&body.src_mem_pattern, from, channels)?;
        let dst = self.destination(&body.dst_mem_pattern, to, channels)?;
        let ops = [alu(body.op0)?, alu(body.op1)?];
        let assumed = Domain::of(self.opcode, self.engine, &ops, &[from], to);
        let domain = self.domain(&ops, &[from], to);
        let stages = Stages {
            alus: [self.alu(ops[0], domain, from)?, self.alu(ops[1], domain, from)?],
            reversed: reversed(body.reverse_operands)?,
            // BYPASS yields the value, whatever the order (OQ-38).
            literal: self.has(Alternative::BypassScalarLeft),
            fused: self.has(Alternative::Fused) && domain == Domain::Fp32,
        };
        let pointers = self.opcode.takes_pointers();
        let width = lane(assumed, from);
        let mut scalars = [Vec::new(), Vec::new()];
        let slots = [(body.imm0_src, body.imm0), (body.imm1_src, body.imm1)];
        for (scalars, (source, slot)) in scalars.iter_mut().zip(slots) {
            let source = if pointers { ImmSrc::Pointer.code() } else { source };
            let immediate = self.resolver().immediate(source, slot, width, channels)?;
            *scalars = self.scalars(&immediate, channels);
            for scalar in scalars {
                *scalar = self.integer_scalar(*scalar, assumed, domain, from);
            }
        }
        let moves = self.opcode == Opcode::TransposeTensorScalarArithOp;
        let src = match moves {
            true => Source::Held(self.transposed(&stream, channels)?),
            false => Source::Rows(stream),
        };
        let before = moves && self.has(Alternative::PointerBefore);
        let numbers = self.numbers;
        self.run(channels, [Some(&src), None], 1, &dst, |channel, number, [x, _]| {
            let channel = if before { transposed(channel, number).0 } else { channel };
            let s = [scalars[0].get(channel).copied()?, scalars[1].get(channel).copied()?];
            let value = stages.apply(numbers.decode(domain, from, *x.first()?), s);
            Some(numbers.encode(domain, to, value))
        });
        Ok(())
    }

    /// A scalar of the integer form of 0x43 (OQ-61), as a lane of the domain that is computed in (OQ-41).
    fn integer_scalar(&self, scalar: u64, assumed: Domain, domain: Domain, from: Dtype) -> u64 {
        let Domain::Integer { signed, .. } = assumed else { return scalar };
        let kind = if signed { Dtype::Int32 } else { Dtype::Uint32 };
        let float = self.has(Alternative::IntegerImmediateFloat);
        match (domain, float) {
            (Domain::Fp32, true) => scalar,
            (Domain::Fp32, false) => self.numbers.decode(domain, kind, scalar),
            (_, true) if from.is_int() => self.numbers.encode(Domain::Fp32, kind, low(scalar, 4)),
            _ => scalar,
        }
    }

    pub fn scalar_tensor_tensor(&mut self, body: &ScalarTensorTensor) -> Result<(), Fault> {
        let channels = usize::from(body.num_active_channels);
        let [dtype0, dtype1] = dtype_pair(body.in0_in1_dtype)?;
        let out = dtype(body.out_dtype)?;
        let src0 = Source::Rows(self.source(&body.src0_mem_pattern, dtype0, channels)?);
        let src1 = Source::Rows(self.source(&body.src1_mem_pattern, dtype1, channels)?);
        let dst = self.destination(&body.dst_mem_pattern, out, channels)?;
        let ops = [alu(body.op0)?, alu(body.op1)?];
        let domain = self.domain(&ops, &[dtype0, dtype1], out);
        let stages = Stages {
            alus: [self.alu(ops[0], domain, dtype0)?, self.alu(ops[1], domain, dtype0)?],
            reversed: reversed(body.reverse_operands)?,
            literal: !self.has(Alternative::BypassTensorValue),
            fused: self.has(Alternative::Fused) && domain == Domain::Fp32,
        };
        let width = lane(domain, dtype(body.imm0_dtype)?);
        let immediate = self.resolver().immediate(body.imm0_src, body.imm0, width, channels)?;
        let scalars = self.scalars(&immediate, channels);
        let numbers = self.numbers;
        self.run(channels, [Some(&src0), Some(&src1)], 1, &dst, |channel, _, [x, y]| {
            let x = numbers.decode(domain, dtype0, *x.first()?);
            let y = numbers.decode(domain, dtype1, *y.first()?);
            let value = stages.apply(x, [scalars.get(channel).copied()?, y]);
            Some(numbers.encode(domain, out, value))
        });
        Ok(())
    }

    pub fn select(&mut self, body: &TensorScalarSelect) -> Result<(), Fault> {
        let channels = usize::from(body.num_active_channels);
        let kind = dtype(body.dtype)?;
        let src = Source::Rows(self.source(&body.src0_mem_pattern, kind, channels)?);
        let dst = self.destination(&body.dst_mem_pattern, kind, channels)?;
        let width = dtype(body.pred_imm_dtype)?.size();
        let resolve = |source, slot, width| -> Result<Immediate, Fault> {
            self.resolver().immediate(source, slot, width, channels)
        };
        let predicate = resolve(body.pred_imm_src, body.pred_imm, width)?;
        let value = resolve(body.src1_imm_src, body.src1_imm, kind.size())?;
        let predicates = self.scalars(&predicate, channels);
        let values = self.scalars(&value, channels);
        let reversed = body.reversed_pred == 1;
        self.run(channels, [Some(&src), None], 1, &dst, |channel, _, [x, _]| {
            let takes = (*predicates.get(channel)? != 0) != reversed;
            if takes { x.first().copied() } else { values.get(channel).copied() }
        });
        Ok(())
    }
}

/// Two operations, one after the other, each with a second operand (ISA 9.14, 9.19).
struct Stages {
    alus: [Alu; 2],
    reversed: [bool; 2],
    /// BYPASS yields its left operand even where that is not the value.
    literal: bool,
    /// MULT and ADD or SUBTRACT round once.
    fused: bool,
}

impl Stages {
    fn apply(&self, value: u64, others: [u64; 2]) -> u64 {
        if self.fused
            && let Some(value) = self.multiply_add(value, others)
        {
            return value;
        }
        let [first, second] = self.alus;
        let value = self.stage(&first, value, others[0], self.reversed[0]);
        self.stage(&second, value, others[1], self.reversed[1])
    }

    fn stage(&self, alu: &Alu, value: u64, other: u64, reversed: bool) -> u64 {
        if alu.op() == AluOp::Bypass {
            return if reversed && self.literal { other } else { value };
        }
        alu.scalar(value, other, reversed)
    }

    fn multiply_add(&self, value: u64, others: [u64; 2]) -> Option<u64> {
        let [x, s, y] = [value, others[0], others[1]].map(float);
        let sum = match (self.alus[0].op(), self.alus[1].op(), self.reversed[1]) {
            (AluOp::Mult, AluOp::Add, _) => x.mul_add(s, y),
            (AluOp::Mult, AluOp::Subtract, false) => x.mul_add(s, -y),
            (AluOp::Mult, AluOp::Subtract, true) => (-x).mul_add(s, y),
            _ => return None,
        };
        Some(self.alus[1].computed(bits(sum)))
    }
}
