//! Plans from decoded words: the tensor-tensor family, moves and cross-lane folds.

use partita_isa::{
    AluOp, Body as Fields, CrossLaneReduce, Domain, Dtype, Engine, ExtendedTensorTensor,
    Instruction, Opcode, ReduceAxis, ReduceOp, TensorReduce, TensorTensor,
};

use crate::error::Fault;
use crate::machine::Machine;
use crate::numeric::convert::{Store, from_float, from_integer, to_float, to_integer};
use crate::numeric::kernels;
use crate::numeric::simd::{Simd, at_level};
use crate::numeric::table::{self, Kernels};
use crate::numeric::{fused, selected};
use crate::rows::elementwise::{Body, Elementwise};
use crate::rows::exchange::CrossLane;
use crate::rows::predicated::Predicated;
use crate::rows::stream::{Destination, Source};
use crate::walk::Walk;

use super::{Immediate, Lanes, Operand, Plan, Resolver, RowPlan, Staging, Work};

/// A legal instruction on its way to a plan.
pub(super) struct Builder<'a> {
    pub opcode: Opcode,
    pub engine: Engine,
    pub target: partita_isa::Target,
    pub simd: Simd,
    pub resolver: Resolver<'a>,
}

impl Plan {
    /// Resolves a legal instruction against the machine's registers.
    ///
    /// # Errors
    /// What the validator leaves to run time: addresses from registers (ISA 3.3), and what is validated but not
    /// executed.
    pub fn new(machine: &Machine, engine: Engine, word: &Instruction) -> Result<Self, Fault> {
        let opcode = word.opcode().ok_or(Fault::Unsupported("opcode"))?;
        use Opcode::*;
        let builder = Builder {
            opcode,
            engine,
            target: machine.target,
            simd: machine.limits.simd,
            resolver: Resolver::of_word(machine, engine, opcode),
        };
        let body = &word.body;
        // No arm takes the rest: an opcode of a new row does not compile until it is placed.
        match opcode {
            TensorTensorArithOp
            | TensorTensorBitvecOp
            | TensorTensorAddBf16
            | TensorTensorMultBf16
            | TensorTensorSubtractBf16 => builder.tensor_tensor(fields(body)?),
            CopyPredicated | CastPredicated => builder.predicated(fields(body)?),
            BatchNormBackProp => Err(Fault::NotExecuted(opcode)),
            ExtendedTensorTensorArith => builder.extended(fields(body)?),
            Copy | Cast | Reciprocal => builder.copy(fields(body)?),
            StreamShuffle | StreamTranspose => builder.stream(fields(body)?),
            TensorCumulativeArithOp | TensorCumulativeBitvecOp => builder.scan(fields(body)?),
            TensorReduceArithOp
            | TensorReduceBitvecOp
            | TransposeTensorReduceArithOp
            | TransposeTensorReduceBitvecOp
            | TensorReduceAddBf16
            | TensorReduceMaxBf16 => builder.reduce(fields(body)?),
            CrossLaneReduceArith | CrossLaneReduceBitvec => builder.cross_lane(fields(body)?),
            Exponential => builder.exponential(fields(body)?),
            TensorScalarCacheReduce | TensorScalarCacheCumulative => builder.cache(fields(body)?),
            TensorScalarArithOp
            | TensorScalarBitvecOp
            | TensorScalarPtrArithOp
            | TensorScalarPtrBitvecOp
            | TransposeTensorScalarArithOp => builder.tensor_scalar(fields(body)?),
            ScalarTensorTensorArith | ScalarTensorTensorBitvec => {
                builder.scalar_tensor_tensor(fields(body)?)
            }
            TensorScalarSelect => builder.select(fields(body)?),
            LoadMaskSelect => fields(body)
                .map(|body: &partita_isa::LoadMaskSelect| Plan::LoadTable(body.immediate)),
        }
    }
}

/// The body as the struct that the opcode is bound to.
pub(crate) fn fields<'a, T>(body: &'a Fields) -> Result<&'a T, Fault>
where
    &'a T: TryFrom<&'a Fields>,
{
    body.try_into().map_err(|_| Fault::Unsupported("struct"))
}

/// The two data types of a DTYPE_PAIR: the low nibble is source 0.
#[inline]
pub(crate) fn dtype_pair(pair: u8) -> Result<[Dtype; 2], Fault> {
    Ok([dtype(pair & 15)?, dtype(pair >> 4)?])
}

#[inline]
pub(crate) fn dtype(code: u8) -> Result<Dtype, Fault> {
    Dtype::from_code(code).ok_or(Fault::Unsupported("data type"))
}

#[inline]
pub(crate) fn alu(code: u8) -> Result<AluOp, Fault> {
    AluOp::from_code(code).ok_or(Fault::Unsupported("operation"))
}

/// The operation that a cross-lane reduce folds with.
pub(crate) fn fold_op(reduce: ReduceOp) -> AluOp {
    match reduce {
        ReduceOp::Add | ReduceOp::Average => AluOp::Add,
        ReduceOp::Max => AluOp::Max,
        ReduceOp::BitwiseOr => AluOp::BitwiseOr,
        ReduceOp::BitwiseAnd => AluOp::BitwiseAnd,
        ReduceOp::BitwiseXor => AluOp::BitwiseXor,
    }
}

/// Bytes of a lane.
#[inline]
pub(crate) fn lane(domain: Domain, dtype: Dtype) -> usize {
    match domain {
        Domain::Moved | Domain::Bits => dtype.size(),
        Domain::Fp32 => 4,
        Domain::Integer { bits, .. } => usize::from(bits) / 8,
    }
}

impl Builder<'_> {
    #[inline]
    pub fn domain(&self, ops: &[AluOp], inputs: &[Dtype], output: Dtype) -> Domain {
        Domain::of(self.opcode, self.engine, ops, inputs, output)
    }

    /// An operand as a stream of lanes.
    #[inline]
    pub fn stream_of(&self, domain: Domain, operand: &Operand, dtype: Dtype) -> Source {
        let load = match domain {
            Domain::Moved | Domain::Bits => None,
            Domain::Fp32 => to_float(self.simd, dtype, self.target),
            Domain::Integer { .. } => to_integer(self.simd, dtype),
        };
        Source { walk: operand.walk, width: operand.width, load, lane: lane(domain, dtype) }
    }

    /// How lanes become elements of the output.
    #[inline]
    pub fn store_to(&self, domain: Domain, dtype: Dtype) -> Store {
        match domain {
            Domain::Moved | Domain::Bits | Domain::Integer { bits: 64, .. } => Store::Same,
            Domain::Fp32 => from_float(self.simd, dtype, self.target).into(),
            Domain::Integer { signed, .. } => from_integer(self.simd, signed, dtype, self.target),
        }
    }

    /// The loops of an operation.
    #[inline]
    pub fn kernels(
        &self,
        domain: Domain,
        op: AluOp,
        dtype: Dtype,
    ) -> Result<&'static Kernels, Fault> {
        table::of(self.simd, domain, op, dtype).ok_or(Fault::Unsupported("operation"))
    }

    fn tensor_tensor(&self, body: &TensorTensor) -> Result<Plan, Fault> {
        let channels = usize::from(body.num_active_channels);
        let dtypes @ [dtype0, dtype1] = dtype_pair(body.in0_in1_dtype)?;
        let out = dtype(body.out_dtype)?;
        let operands = [
            self.resolver.source(&body.src0_mem_pattern, dtype0, channels)?,
            self.resolver.source(&body.src1_mem_pattern, dtype1, channels)?,
            self.resolver.destination(&body.dst_mem_pattern, out, channels)?,
        ];
        self.binary(alu(body.op)?, dtypes, out, operands, channels)
    }

    /// 0xf0 with sub-opcode 2.
    fn extended(&self, body: &ExtendedTensorTensor) -> Result<Plan, Fault> {
        let channels = body.channels() as usize;
        let dtypes @ [dtype0, dtype1] = dtype_pair(body.in0_in1_dtype)?;
        let out = dtype(body.out_dtype)?;
        let operands = [
            self.resolver.source(&body.src0_mem_pattern, dtype0, channels)?,
            self.resolver.source(&body.src1_mem_pattern, dtype1, channels)?,
            self.resolver.destination(&body.dst_mem_pattern, out, channels)?,
        ];
        self.binary(alu(body.op)?, dtypes, out, operands, channels)
    }

    fn binary(
        &self,
        op: AluOp,
        dtypes: [Dtype; 2],
        out: Dtype,
        [src0, src1, dst]: [Operand; 3],
        channels: usize,
    ) -> Result<Plan, Fault> {
        let domain = self.domain(&[op], &dtypes, out);
        if let Some(loops) = self.fused_binary(domain, op, dtypes, out) {
            let work = Elementwise {
                sources: [
                    self.stream_of(Domain::Moved, &src0, dtypes[0]),
                    self.stream_of(Domain::Moved, &src1, dtypes[1]),
                ],
                dst: dst.destination(),
                store: Store::Same,
                body: Body::Binary(loops),
            };
            return Ok(self.rows(Work::Elementwise(work), [Some(src0), Some(src1)], dst, channels));
        }
        let kernels = self.kernels(domain, op, dtypes[0])?;
        let mut second = self.stream_of(domain, &src1, dtypes[1]);
        if domain == Domain::Bits && dtypes[1].size() < dtypes[0].size() {
            // A 64-bit shift by UINT32 counts (TT-8).
            second.load = Some(selected::widen_count);
            second.lane = 8;
        }
        let work = Elementwise {
            sources: [self.stream_of(domain, &src0, dtypes[0]), second],
            dst: dst.destination(),
            store: self.store_to(domain, out),
            body: Body::Binary(kernels.binary),
        };
        Ok(self.rows(Work::Elementwise(work), [Some(src0), Some(src1)], dst, channels))
    }

    /// The loop that converts in registers, for three operands of one narrow dtype.
    #[inline]
    fn fused_binary(
        &self,
        domain: Domain,
        op: AluOp,
        dtypes: [Dtype; 2],
        out: Dtype,
    ) -> Option<kernels::Binary> {
        if domain != Domain::Fp32 || dtypes != [out; 2] {
            return None;
        }
        let halves = fused::halves(self.simd, op, out).map(|loops| loops.binary);
        halves.or_else(|| fused::small_integers(self.simd, op, out))
    }

    /// A row plan without immediates.
    #[inline]
    pub fn rows(
        &self,
        work: Work,
        sources: [Option<Operand>; 2],
        dst: Operand,
        channels: usize,
    ) -> Plan {
        Plan::Rows(self.row_plan(work, sources, dst, channels))
    }

    /// See [`Builder::rows`].
    #[inline]
    pub fn row_plan(
        &self,
        work: Work,
        sources: [Option<Operand>; 2],
        dst: Operand,
        channels: usize,
    ) -> RowPlan {
        RowPlan {
            work,
            channels,
            dst: dst.place,
            sources: sources.map(|source| source.map(|operand| operand.place)),
            immediates: [Immediate::Value(0); 2],
            staging: None,
            lanes: Lanes::All,
            accumulator: None,
        }
    }

    fn predicated(&self, body: &TensorTensor) -> Result<Plan, Fault> {
        let channels = usize::from(body.num_active_channels);
        let [predicate, data] = dtype_pair(body.in0_in1_dtype)?;
        let out = dtype(body.out_dtype)?;
        let src0 = self.resolver.source(&body.src0_mem_pattern, predicate, channels)?;
        let src1 = self.resolver.source(&body.src1_mem_pattern, data, channels)?;
        let dst = self.resolver.destination(&body.dst_mem_pattern, out, channels)?;
        let domain = self.domain(&[AluOp::Bypass], &[data], out);
        let work = Predicated {
            sources: [
                self.stream_of(Domain::Moved, &src0, predicate),
                self.stream_of(domain, &src1, data),
            ],
            mask: selected::truth_mask(predicate),
            dst: dst.destination(),
            store: self.store_to(domain, out),
        };
        Ok(self.rows(Work::Predicated(work), [Some(src0), Some(src1)], dst, channels))
    }

    fn copy(&self, body: &TensorReduce) -> Result<Plan, Fault> {
        let channels = usize::from(body.num_active_channels);
        let (from, to) = (dtype(body.in_dtype)?, dtype(body.out_dtype)?);
        let src = self.resolver.source(&body.src_mem_pattern, from, channels)?;
        let dst = self.resolver.destination(&body.dst_mem_pattern, to, channels)?;
        let domain = self.domain(&[AluOp::Bypass], &[from], to);
        let mut source = self.stream_of(domain, &src, from);
        let store = self.store_to(domain, to);
        let body = match (self.opcode, source.load, store) {
            (Opcode::Reciprocal, ..) => {
                Body::Map(at_level!(self.simd, L => kernels::reciprocal::<L>))
            }
            // One conversion from row to row.
            (_, Some(load), Store::Same) => {
                source = self.stream_of(Domain::Moved, &src, from);
                Body::Map(load)
            }
            _ => Body::Move,
        };
        let work = Elementwise { sources: [source; 2], dst: dst.destination(), store, body };
        Ok(self.rows(Work::Elementwise(work), [Some(src), None], dst, channels))
    }

    /// 0x6a and 0x6b: elements change channels, so all are copied aside first.
    fn stream(&self, body: &TensorReduce) -> Result<Plan, Fault> {
        let channels = usize::from(body.num_active_channels);
        let kind = dtype(body.in_dtype)?;
        let src = self.resolver.source(&body.src_mem_pattern, kind, channels)?;
        let dst = self.resolver.destination(&body.dst_mem_pattern, kind, channels)?;
        let transposed = self.opcode == Opcode::StreamTranspose;
        let source = Source {
            walk: Walk::run(0, src.walk.len()),
            width: src.width,
            load: None,
            lane: src.width,
        };
        let work = Elementwise {
            sources: [source; 2],
            dst: dst.destination(),
            store: Store::Same,
            body: Body::Move,
        };
        Ok(Plan::Rows(RowPlan {
            staging: Some(Staging { walk: src.walk, width: src.width, transposed }),
            lanes: match (transposed, body.mask_enable) {
                (false, _) => Lanes::Shuffled,
                (true, 0) => Lanes::All,
                (true, _) => Lanes::Masked,
            },
            ..self.row_plan(Work::Elementwise(work), [Some(src), None], dst, channels)
        }))
    }

    fn cross_lane(&self, body: &CrossLaneReduce) -> Result<Plan, Fault> {
        let channels = usize::from(body.num_active_channels);
        let (from, to) = (dtype(body.in_dtype)?, dtype(body.out_dtype)?);
        let src = self.resolver.source(&body.src_mem_pattern, from, channels)?;
        let dst = self.resolver.destination(&body.dst_mem_pattern, to, 1)?;
        let reduce = ReduceOp::from_code(body.reduce_op).ok_or(Fault::Unsupported("operation"))?;
        let op = fold_op(reduce);
        let domain = Domain::of_cross_lane(self.opcode, reduce, from);
        let kernels = self.kernels(domain, op, from)?;
        let scale = match reduce {
            ReduceOp::Average => {
                let multiply = self.kernels(domain, AluOp::Mult, from)?.scalar;
                Some((multiply, u64::from(body.scale)))
            }
            _ => None,
        };
        let all = ReduceAxis::from_code(body.reduce_axis) == Some(ReduceAxis::All);
        let work = CrossLane {
            source: self.stream_of(domain, &src, from),
            scale,
            fold: kernels.accumulate,
            fused: match (domain, scale) {
                (Domain::Fp32, None) => fused::fold(self.simd, op, from),
                (Domain::Integer { bits: 32, .. }, None) if op == AluOp::Add => {
                    fused::integer_sum(self.simd, from)
                }
                _ => None,
            },
            all: all.then_some(kernels.feed),
            dst: dst.destination(),
            store: self.store_to(domain, to),
        };
        Ok(Plan::CrossLane { work, source: src.place, dst: dst.place, channels })
    }
}

impl Operand {
    #[inline]
    pub fn destination(&self) -> Destination {
        Destination { walk: self.walk, width: self.width }
    }
}
