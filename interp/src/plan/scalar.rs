//! Plans of the opcodes with scalar operands.

use partita_isa::{
    AccumCmd, AluOp, Domain, Dtype, ImmSrc, Opcode, ReverseOps, ScalarTensorTensor, TensorScalar,
    TensorScalarSelect,
};

use crate::error::Fault;
use crate::numeric::fused;
use crate::numeric::kernels::{self, Scalar};
use crate::numeric::simd::at_level;
use crate::numeric::table::{self, Kernels};
use crate::rows::elementwise::{Body, Elementwise};
use crate::rows::reduce::{Outcome, Reduce, last_element};
use crate::rows::stream::Destination;

use super::build::{Builder, alu, dtype, dtype_pair, lane};
use super::{Immediate, Plan, RowPlan, Seed, Work};

/// Which stages have their operands swapped.
pub(crate) fn reversed(code: u8) -> Result<[bool; 2], Fault> {
    Ok(match ReverseOps::from_code(code).ok_or(Fault::Unsupported("reverse_operands"))? {
        ReverseOps::None => [false, false],
        ReverseOps::First => [true, false],
        ReverseOps::Second => [false, true],
        ReverseOps::Both => [true, true],
    })
}

fn scalar(kernels: &Kernels, reversed: bool) -> Scalar {
    if reversed { kernels.scalar_reversed } else { kernels.scalar }
}

impl Builder<'_> {
    /// TensorScalar in its forms (ISA 9.14 to 9.16).
    pub fn tensor_scalar(&self, body: &TensorScalar) -> Result<Plan, Fault> {
        let channels = usize::from(body.num_active_channels);
        let (from, to) = (dtype(body.in_dtype)?, dtype(body.out_dtype)?);
        let src = self.resolver.source(&body.src_mem_pattern, from, channels)?;
        let dst = self.resolver.destination(&body.dst_mem_pattern, to, channels)?;
        let ops = [alu(body.op0)?, alu(body.op1)?];
        let domain = self.domain(&ops, &[from], to);
        // BYPASS yields the stage's input whatever the order of its operands (OQ-38).
        let reversed = reversed(body.reverse_operands)?;
        let stage = |i: usize| {
            let kernels = self.kernels(domain, ops[i], from)?;
            Ok(scalar(kernels, reversed[i] && ops[i] != AluOp::Bypass))
        };
        let steps = match ops {
            [AluOp::Bypass, AluOp::Bypass] => Body::Move,
            [_, AluOp::Bypass] => Body::Scalars(stage(0)?, None),
            _ => Body::Scalars(stage(0)?, Some(stage(1)?)),
        };
        let fused = if domain == Domain::Fp32 && from == to {
            self.fused_scalars(ops, reversed, from)
        } else {
            None
        };
        let (steps, memory) = match fused {
            Some(steps) => (steps, Domain::Moved),
            None => (steps, domain),
        };
        let mut source = self.stream_of(memory, &src, from);
        let staging = self.staging(&src, &mut source);
        let work = Elementwise {
            sources: [source; 2],
            dst: dst.destination(),
            store: self.store_to(memory, to),
            body: steps,
        };
        let pointers = self.opcode.takes_pointers();
        let width = lane(domain, from);
        let immediate = |source: u8, slot: u32| {
            let source = if pointers { ImmSrc::Pointer.code() } else { source };
            self.resolver.immediate(source, slot, width, channels)
        };
        Ok(Plan::Rows(RowPlan {
            staging,
            immediates: [
                immediate(body.imm0_src, body.imm0)?,
                immediate(body.imm1_src, body.imm1)?,
            ],
            ..self.row_plan(Work::Elementwise(work), [Some(src), None], dst, channels)
        }))
    }

    /// One pass over elements of one dtype, where there is a loop for it.
    fn fused_scalars(&self, ops: [AluOp; 2], reversed: [bool; 2], dtype: Dtype) -> Option<Body> {
        let [first, second] = ops;
        if second != AluOp::Bypass {
            let stages = [(first, reversed[0]), (second, reversed[1])];
            return fused::pair(self.simd, stages, dtype).map(Body::Pair);
        }
        let loops = fused::halves(self.simd, first, dtype)?;
        let one = if reversed[0] { loops.scalar_reversed } else { loops.scalar };
        Some(Body::Scalars(one, None))
    }

    /// ScalarTensorTensor (ISA 9.19): BYPASS yields its left operand literally.
    pub fn scalar_tensor_tensor(&self, body: &ScalarTensorTensor) -> Result<Plan, Fault> {
        let channels = usize::from(body.num_active_channels);
        let [dtype0, dtype1] = dtype_pair(body.in0_in1_dtype)?;
        let out = dtype(body.out_dtype)?;
        let src0 = self.resolver.source(&body.src0_mem_pattern, dtype0, channels)?;
        let src1 = self.resolver.source(&body.src1_mem_pattern, dtype1, channels)?;
        let dst = self.resolver.destination(&body.dst_mem_pattern, out, channels)?;
        let ops = [alu(body.op0)?, alu(body.op1)?];
        let domain = self.domain(&ops, &[dtype0, dtype1], out);
        let [first, second] =
            [self.kernels(domain, ops[0], dtype0)?, self.kernels(domain, ops[1], dtype0)?];
        let [swap0, swap1] = reversed(body.reverse_operands)?;
        let second = if swap1 { second.binary_reversed } else { second.binary };
        let work = Elementwise {
            sources: [self.stream_of(domain, &src0, dtype0), self.stream_of(domain, &src1, dtype1)],
            dst: dst.destination(),
            store: self.store_to(domain, out),
            body: Body::ScalarBinary(scalar(first, swap0), second),
        };
        let width = lane(domain, dtype(body.imm0_dtype)?);
        let immediate = self.resolver.immediate(body.imm0_src, body.imm0, width, channels)?;
        Ok(Plan::Rows(RowPlan {
            immediates: [immediate, Immediate::Value(0)],
            ..self.row_plan(Work::Elementwise(work), [Some(src0), Some(src1)], dst, channels)
        }))
    }

    /// The cache opcodes 0x9a and 0xe6 (ISA 9.17).
    pub fn cache(&self, body: &TensorScalar) -> Result<Plan, Fault> {
        let channels = usize::from(body.num_active_channels);
        let (from, to) = (dtype(body.in_dtype)?, dtype(body.out_dtype)?);
        let src = self.resolver.source(&body.src_mem_pattern, from, channels)?;
        let dst = self.resolver.destination(&body.dst_mem_pattern, to, channels)?;
        let (op0, op1) = (alu(body.op0)?, alu(body.op1)?);
        let first = self.kernels(Domain::Fp32, op0, from)?.scalar;
        let fold = self.kernels(Domain::Fp32, op1, from)?;
        let source = self.stream_of(Domain::Fp32, &src, from);
        let store = self.store_to(Domain::Fp32, to);
        let work = if self.opcode == Opcode::TensorScalarCacheReduce {
            Work::Reduce(Reduce {
                source,
                dst: Destination { walk: last_element(&dst.walk), width: dst.width },
                first: Some(first),
                feed: fold.feed,
                feed_rows: fold.feed_rows,
                columns: None,
                group: src.walk.len(),
                outcome: Outcome::Value,
                lane: 4,
                store,
            })
        } else {
            Work::Elementwise(Elementwise {
                sources: [source; 2],
                dst: dst.destination(),
                store,
                body: Body::CacheScan(first, fold.scan, fold.scan_rows),
            })
        };
        Ok(Plan::Rows(RowPlan {
            immediates: self.accumulator_immediates(body, channels)?,
            accumulator: seed(body.accumulator_cmd, identity(op1))?,
            ..self.row_plan(work, [Some(src), None], dst, channels)
        }))
    }

    /// Exponential (ISA 9.18).
    pub fn exponential(&self, body: &TensorScalar) -> Result<Plan, Fault> {
        let channels = usize::from(body.num_active_channels);
        let (from, to) = (dtype(body.in_dtype)?, dtype(body.out_dtype)?);
        let src = self.resolver.source(&body.src_mem_pattern, from, channels)?;
        let dst = self.resolver.destination(&body.dst_mem_pattern, to, channels)?;
        let accumulator = seed(body.accumulator_cmd, 0.0)?;
        let sum = match accumulator {
            Some(_) => {
                let add = self.kernels(Domain::Fp32, AluOp::Add, from)?;
                add.feed_rows.map(|rows| (add.feed, rows))
            }
            None => None,
        };
        let exponential = at_level!(self.simd, L => kernels::exponential::<L> as Scalar);
        let work = Elementwise {
            sources: [self.stream_of(Domain::Fp32, &src, from); 2],
            dst: dst.destination(),
            store: self.store_to(Domain::Fp32, to),
            body: Body::Exponential(exponential, sum),
        };
        Ok(Plan::Rows(RowPlan {
            immediates: self.accumulator_immediates(body, channels)?,
            accumulator,
            ..self.row_plan(Work::Elementwise(work), [Some(src), None], dst, channels)
        }))
    }

    /// The scalar of the first stage, and the seed of LOAD_ACCUMULATE.
    fn accumulator_immediates(
        &self,
        body: &TensorScalar,
        channels: usize,
    ) -> Result<[Immediate; 2], Fault> {
        Ok([
            self.resolver.immediate(body.imm0_src, body.imm0, 4, channels)?,
            self.resolver.immediate(body.imm1_src, body.imm1, 4, channels)?,
        ])
    }

    /// TensorScalarSelect (ISA 9.20).
    pub fn select(&self, body: &TensorScalarSelect) -> Result<Plan, Fault> {
        let channels = usize::from(body.num_active_channels);
        let kind = dtype(body.dtype)?;
        let src = self.resolver.source(&body.src0_mem_pattern, kind, channels)?;
        let dst = self.resolver.destination(&body.dst_mem_pattern, kind, channels)?;
        let source = self.stream_of(Domain::Moved, &src, kind);
        let take = Elementwise {
            sources: [source; 2],
            dst: dst.destination(),
            store: self.store_to(Domain::Moved, kind),
            body: Body::Move,
        };
        let bypass = table::bits(AluOp::Bypass, kind.size());
        let bypass = bypass.ok_or(Fault::Unsupported("operation"))?;
        // BYPASS with the scalar on the left fills with the scalar.
        let fill = bypass.scalar_reversed;
        let work = Work::Select { take, fill, reversed: body.reversed_pred == 1 };
        let width = dtype(body.pred_imm_dtype)?.size();
        let predicate =
            self.resolver.immediate(body.pred_imm_src, body.pred_imm, width, channels)?;
        let value =
            self.resolver.immediate(body.src1_imm_src, body.src1_imm, kind.size(), channels)?;
        Ok(Plan::Rows(RowPlan {
            immediates: [value, predicate],
            ..self.row_plan(work, [Some(src), None], dst, channels)
        }))
    }
}

/// Where a fold of a cache opcode starts under ZERO_ACCUMULATE (ISA 9.17).
pub(crate) fn identity(fold: AluOp) -> f32 {
    match fold {
        AluOp::Mult => 1.0,
        AluOp::Max => f32::NEG_INFINITY,
        AluOp::Min => f32::INFINITY,
        _ => 0.0,
    }
}

/// The seed that an accumulator command stands for; IDLE leaves the accumulator alone.
pub(crate) fn seed(command: u8, identity: f32) -> Result<Option<Seed>, Fault> {
    match AccumCmd::from_code(command) {
        Some(AccumCmd::Idle) => Ok(None),
        Some(AccumCmd::Accumulate) => Ok(Some(Seed::Accumulator)),
        Some(AccumCmd::ZeroAccumulate) => Ok(Some(Seed::Value(identity))),
        Some(AccumCmd::LoadAccumulate) => Ok(Some(Seed::Immediate)),
        _ => Err(Fault::Unsupported("accumulator_cmd")),
    }
}
