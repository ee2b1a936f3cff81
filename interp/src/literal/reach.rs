//! Which words an alternative can change: judged from the fields, so a word that is named may still give the same.

use partita_isa::{
    AccumCmd, AluOp, Body, Domain, Dtype, Engine, Generation, ImmSrc, Instruction, Opcode, Pattern,
    ReduceAxis, ReduceOp,
};

use crate::conventions::Alternative;
use crate::error::Fault;
use crate::machine::Machine;
use crate::plan::{Gather, Operand, Resolver, alu, dtype, dtype_pair, fold_op, group, reversed};
use crate::rows::stream::{Layout, Source};
use crate::walk::Walk;

impl Machine {
    /// Whether one of the machine's alternatives can change what a legal word does.
    pub(crate) fn departs(&self, engine: Engine, word: &Instruction) -> bool {
        let Ok(Some(facts)) = Facts::of(self, engine, word) else { return false };
        self.conventions.alternatives().any(|alternative| facts.reached_by(alternative))
    }

    /// The alternatives, of those asked about, that can change what a legal word does. None where the word cannot be
    /// executed.
    pub fn reached(
        &self,
        engine: Engine,
        word: &Instruction,
        asked: impl IntoIterator<Item = Alternative>,
    ) -> Vec<Alternative> {
        match Facts::of(self, engine, word) {
            Ok(Some(facts)) => {
                asked.into_iter().filter(|&alternative| facts.reached_by(alternative)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// What the fields of a word say, whatever its struct.
struct Facts<'a> {
    machine: &'a Machine,
    engine: Engine,
    opcode: Opcode,
    ops: Vec<AluOp>,
    inputs: Vec<Dtype>,
    output: Dtype,
    domain: Domain,
    /// Whether the operands of each operation are swapped.
    reversed: [bool; 2],
    /// `negated` of a reduction.
    negated: bool,
    /// `mask_enable`.
    masked: bool,
    /// Source elements to a result of a fold.
    group: usize,
    pointers: bool,
    accumulates: Option<AccumCmd>,
    cross_lane: Option<CrossLane>,
    sources: Vec<Operand>,
    /// A source is read by index: where its elements lie is not known.
    indirect: bool,
    dst: Operand,
}

/// What only the cross-lane reduces have.
struct CrossLane {
    reduce: ReduceOp,
    all: bool,
    scale: u32,
    channels: usize,
}

/// How operands are found.
struct Finder<'a> {
    resolver: Resolver<'a>,
    channels: usize,
    sources: Vec<Operand>,
    indirect: bool,
}

impl Finder<'_> {
    fn source<const D: usize>(&mut self, pattern: &Pattern<D>, dtype: Dtype) -> Result<(), Fault> {
        let gather = self.resolver.gather(pattern, dtype, self.channels)?;
        self.indirect |= gather.is_some();
        self.sources.push(match gather {
            Some(Gather { data, data_offset, width, .. }) => {
                Operand { place: data, walk: Walk::run(data_offset / width, 1), width }
            }
            None => self.resolver.source(pattern, dtype, self.channels)?,
        });
        Ok(())
    }

    fn destination<const D: usize>(
        &self,
        pattern: &Pattern<D>,
        dtype: Dtype,
    ) -> Result<Operand, Fault> {
        self.resolver.destination(pattern, dtype, self.channels)
    }
}

impl<'a> Facts<'a> {
    /// `None` for a word that computes nothing.
    fn of(machine: &'a Machine, engine: Engine, word: &Instruction) -> Result<Option<Self>, Fault> {
        let opcode = word.opcode().ok_or(Fault::Unsupported("opcode"))?;
        let resolver = Resolver::of_word(machine, engine, opcode);
        let mut find = Finder { resolver, channels: 0, sources: Vec::new(), indirect: false };
        let mut swapped = [false; 2];
        let (mut negated, mut masked, mut size, mut pointers) = (false, false, 1, false);
        let (mut accumulates, mut cross_lane) = (None, None);
        let (ops, inputs, output, dst);
        match &word.body {
            Body::TensorTensor(body) => {
                find.channels = usize::from(body.num_active_channels);
                (ops, output) = (vec![alu(body.op)?], dtype(body.out_dtype)?);
                inputs = dtype_pair(body.in0_in1_dtype)?.to_vec();
                find.source(&body.src0_mem_pattern, inputs[0])?;
                find.source(&body.src1_mem_pattern, inputs[1])?;
                dst = find.destination(&body.dst_mem_pattern, output)?;
            }
            Body::ExtendedTensorTensor(body) => {
                find.channels = body.channels() as usize;
                (ops, output) = (vec![alu(body.op)?], dtype(body.out_dtype)?);
                inputs = dtype_pair(body.in0_in1_dtype)?.to_vec();
                find.source(&body.src0_mem_pattern, inputs[0])?;
                find.source(&body.src1_mem_pattern, inputs[1])?;
                dst = find.destination(&body.dst_mem_pattern, output)?;
            }
            Body::TensorReduce(body) => {
                find.channels = usize::from(body.num_active_channels);
                (ops, output) = (vec![alu(body.op)?], dtype(body.out_dtype)?);
                inputs = vec![dtype(body.in_dtype)?];
                find.source(&body.src_mem_pattern, inputs[0])?;
                dst = find.destination(&body.dst_mem_pattern, output)?;
                (negated, masked) = (body.negated != 0, body.mask_enable != 0);
                size = group(body)?;
            }
            Body::CrossLaneReduce(body) => {
                find.channels = usize::from(body.num_active_channels);
                let reduce = ReduceOp::from_code(body.reduce_op);
                let reduce = reduce.ok_or(Fault::Unsupported("operation"))?;
                (ops, output) = (vec![fold_op(reduce)], dtype(body.out_dtype)?);
                inputs = vec![dtype(body.in_dtype)?];
                find.source(&body.src_mem_pattern, inputs[0])?;
                let (all, channels) = (ReduceAxis::All.code(), find.channels);
                let all = body.reduce_axis == all;
                cross_lane = Some(CrossLane { reduce, all, scale: body.scale, channels });
                find.channels = 1;
                dst = find.destination(&body.dst_mem_pattern, output)?;
            }
            Body::TensorScalar(body) => {
                find.channels = usize::from(body.num_active_channels);
                (ops, output) = (vec![alu(body.op0)?, alu(body.op1)?], dtype(body.out_dtype)?);
                inputs = vec![dtype(body.in_dtype)?];
                find.source(&body.src_mem_pattern, inputs[0])?;
                dst = find.destination(&body.dst_mem_pattern, output)?;
                swapped = reversed(body.reverse_operands)?;
                accumulates = AccumCmd::from_code(body.accumulator_cmd);
                let instruction = ImmSrc::Instruction.code();
                pointers = body.imm0_src != instruction || body.imm1_src != instruction;
            }
            Body::ScalarTensorTensor(body) => {
                find.channels = usize::from(body.num_active_channels);
                (ops, output) = (vec![alu(body.op0)?, alu(body.op1)?], dtype(body.out_dtype)?);
                inputs = dtype_pair(body.in0_in1_dtype)?.to_vec();
                find.source(&body.src0_mem_pattern, inputs[0])?;
                find.source(&body.src1_mem_pattern, inputs[1])?;
                dst = find.destination(&body.dst_mem_pattern, output)?;
                swapped = reversed(body.reverse_operands)?;
            }
            Body::TensorScalarSelect(body) => {
                find.channels = usize::from(body.num_active_channels);
                (ops, output) = (Vec::new(), dtype(body.dtype)?);
                inputs = vec![output];
                find.source(&body.src0_mem_pattern, output)?;
                dst = find.destination(&body.dst_mem_pattern, output)?;
            }
            // A table load, and structs of which this module says nothing.
            _ => return Ok(None),
        }
        let domain = match &cross_lane {
            Some(cross_lane) => Domain::of_cross_lane(opcode, cross_lane.reduce, inputs[0]),
            None => Domain::of(opcode, engine, &ops, &inputs, output),
        };
        Ok(Some(Self {
            machine,
            engine,
            opcode,
            ops,
            inputs,
            output,
            domain,
            reversed: swapped,
            negated,
            masked,
            group: size,
            pointers,
            accumulates,
            cross_lane,
            sources: find.sources,
            indirect: find.indirect,
            dst,
        }))
    }

    fn reached_by(&self, alternative: Alternative) -> bool {
        use Alternative::*;
        let floats = self.domain == Domain::Fp32;
        let integers = matches!(self.domain, Domain::Integer { .. });
        let computes = floats || integers;
        let is_fp8 =
            |kind: &Dtype| matches!(kind, Dtype::Fp8Exp3 | Dtype::Fp8Exp4 | Dtype::Fp8Exp5);
        let target = self.machine.target;
        let pool = self.engine == Engine::Pool;
        match alternative {
            Streaming => self.overlaps(),
            FirstWrite => self.dst.walk.len() > 1 && !self.dst.walk.is_injective(),
            Fp32rTruncated | Fp32r11 | Fp32rFull => computes && self.output == Dtype::Fp32r,
            Exp4Ocp => {
                let exists = target.generation >= Generation::Mariana && !target.fp8_ocp;
                exists && computes && self.has_type(Dtype::Fp8Exp4)
            }
            Exp3Finite => computes && self.has_type(Dtype::Fp8Exp3),
            Fp8Saturates => computes && !target.fp8_saturate && is_fp8(&self.output),
            Fp8SaturatesOnPool => pool && computes && !target.fp8_saturate && is_fp8(&self.output),
            UnaryNewest => self.is_unary_with_choice(),
            NegateBefore => self.negated && self.is_reduction(),
            NegateSaturates => self.negated && self.is_reduction() && integers,
            CrcPlain | CrcZeroSeed | CrcCastagnoli => self.uses(&[AluOp::Crc32]),
            MaskZero | MaskPermute => self.opcode == Opcode::StreamTranspose && self.masked,
            LaneTableZero => {
                self.opcode == Opcode::StreamShuffle
                    || self.opcode == Opcode::StreamTranspose && self.masked
            }
            EntryZero | EntryModulo => self.opcode == Opcode::StreamShuffle,
            CrossLaneDescending | CrossLanePairwise => floats && self.sums_over_channels(),
            CrossLaneElements => {
                let all = self.cross_lane.as_ref().is_some_and(|fold| fold.all);
                floats && all && self.sums_over_channels()
            }
            ScaleApplied => self.cross_lane.as_ref().is_some_and(|fold| {
                floats && fold.reduce == ReduceOp::Add && fold.scale != 1f32.to_bits()
            }),
            SlotFirst => self.opcode == Opcode::TensorScalarCacheReduce && self.dst.walk.len() > 1,
            SlotNone => self.opcode == Opcode::TensorScalarCacheReduce,
            AccumulatorOfSource => {
                let same = self
                    .sources
                    .iter()
                    .all(|source| source.place.partition == self.dst.place.partition);
                self.accumulates() && !same
            }
            AccumulatorOfChannel => self.accumulates() && self.dst.place.partition != 0,
            AccumulatorNan => self.accumulates == Some(AccumCmd::Accumulate),
            PoolTruncates => pool && floats && self.output.is_int(),
            NanSmallest | NanLargest => floats && self.output.is_int(),
            NarrowingWraps => integers && self.output.is_int() && self.output.size() < 4,
            DivideZeroZero => {
                let divisions = [
                    AluOp::DivideInt,
                    AluOp::DivideUint,
                    AluOp::Mod,
                    AluOp::ModInt,
                    AluOp::ModUint,
                ];
                integers && self.uses(&divisions)
            }
            DivideSaturates => integers && self.uses(&[AluOp::DivideInt]),
            ShiftModulo => self.ops.iter().any(|op| op.is_shift()),
            ShiftFillZero => {
                self.uses(&[AluOp::ArithShiftRight])
                    && self.inputs.first().is_some_and(|kind| !kind.is_signed_int())
            }
            ZeroFirst | ZeroSecond => floats && self.uses(&[AluOp::Max, AluOp::Min]),
            ReluNanZero => self.uses(&[AluOp::ReLu]),
            LastBitUp | LastBitDown => {
                self.uses(&[AluOp::Pow, AluOp::Rsqrt]) || self.opcode == Opcode::Exponential
            }
            BypassScalarLeft => self.is_tensor_scalar() && self.bypasses_reversed(),
            BypassTensorValue => {
                let opcodes = [Opcode::ScalarTensorTensorArith, Opcode::ScalarTensorTensorBitvec];
                opcodes.contains(&self.opcode) && self.bypasses_reversed()
            }
            PointerBefore => self.opcode == Opcode::TransposeTensorScalarArithOp && self.pointers,
            DveSaturates => {
                let saturating =
                    [AluOp::AddInt, AluOp::SubtractInt, AluOp::MultInt, AluOp::MultUint];
                self.engine == Engine::Dve && integers && self.uses(&saturating)
            }
            DveFloat => self.engine == Engine::Dve && integers,
            CacheSubtractReversed => self.is_cache() && self.ops.get(1) == Some(&AluOp::Subtract),
            ReduceDescending | ReducePairwise => {
                let sums = [AluOp::Add, AluOp::Subtract, AluOp::Mult];
                self.is_reduction() && floats && self.group > 2 && self.uses(&sums)
            }
            CacheWide => self.is_cache() && self.inputs.iter().any(|kind| kind.is_int()),
            CrossLaneOneStep => {
                let narrow = self.inputs.iter().any(|kind| kind.is_int() && kind.size() == 1);
                self.sums_over_channels() && integers && narrow
            }
            CrossLaneEvery => {
                self.cross_lane.as_ref().is_some_and(|fold| !fold.all && fold.channels > 1)
            }
            IntegerImmediateFloat => self.is_tensor_scalar() && integers,
            NanCanonical | NanNegative => floats && self.makes_nan(),
            Fused => {
                let [first, second] = [self.ops.first(), self.ops.get(1)];
                let adds = matches!(second, Some(AluOp::Add | AluOp::Subtract));
                floats && first == Some(&AluOp::Mult) && adds
            }
            ExtendedFloat => self.opcode == Opcode::ExtendedTensorTensorArith && integers,
            CastConverts => {
                matches!(self.opcode, Opcode::Cast | Opcode::CastPredicated)
                    && self.domain == Domain::Moved
            }
        }
    }

    fn uses(&self, ops: &[AluOp]) -> bool {
        self.ops.iter().any(|op| ops.contains(op))
    }

    fn has_type(&self, kind: Dtype) -> bool {
        self.output == kind || self.inputs.contains(&kind)
    }

    fn is_cache(&self) -> bool {
        matches!(self.opcode, Opcode::TensorScalarCacheReduce | Opcode::TensorScalarCacheCumulative)
    }

    fn is_tensor_scalar(&self) -> bool {
        use Opcode::*;
        matches!(
            self.opcode,
            TensorScalarArithOp
                | TensorScalarBitvecOp
                | TensorScalarPtrArithOp
                | TensorScalarPtrBitvecOp
                | TransposeTensorScalarArithOp
        )
    }

    fn is_reduction(&self) -> bool {
        use Opcode::*;
        matches!(
            self.opcode,
            TensorReduceArithOp
                | TensorReduceBitvecOp
                | TransposeTensorReduceArithOp
                | TransposeTensorReduceBitvecOp
                | TensorReduceAddBf16
                | TensorReduceMaxBf16
        )
    }

    fn is_scan(&self) -> bool {
        matches!(self.opcode, Opcode::TensorCumulativeArithOp | Opcode::TensorCumulativeBitvecOp)
    }

    /// Whether the word uses the DVE accumulators.
    fn accumulates(&self) -> bool {
        let word = self.is_cache() || self.opcode == Opcode::Exponential;
        word && self.accumulates.is_some_and(|command| command != AccumCmd::Idle)
    }

    fn sums_over_channels(&self) -> bool {
        self.cross_lane
            .as_ref()
            .is_some_and(|fold| matches!(fold.reduce, ReduceOp::Add | ReduceOp::Average))
    }

    fn bypasses_reversed(&self) -> bool {
        self.ops.iter().zip(self.reversed).any(|(&op, reversed)| op == AluOp::Bypass && reversed)
    }

    /// A unary operation with two operands to choose from (OQ-16).
    fn is_unary_with_choice(&self) -> bool {
        let unary = |op: &AluOp| op.arity() == 1;
        if self.is_reduction() || self.is_scan() {
            return self.group > 1 && self.ops.iter().any(|op| unary(op) || *op == AluOp::Bypass);
        }
        let two_tensors =
            matches!(self.opcode, Opcode::TensorTensorArithOp | Opcode::TensorTensorBitvecOp);
        let mut ops = self.ops.iter().zip(self.reversed);
        ops.any(|(op, reversed)| unary(op) && (two_tensors || reversed))
    }

    /// A computation in fp32 whose NaN is not that of an operand alone.
    fn makes_nan(&self) -> bool {
        let computing = [
            AluOp::Add,
            AluOp::Subtract,
            AluOp::Mult,
            AluOp::AbsoluteDiff,
            AluOp::Pow,
            AluOp::Rsqrt,
            AluOp::Square,
        ];
        matches!(self.opcode, Opcode::Exponential | Opcode::Reciprocal)
            || self.cross_lane.as_ref().is_some_and(|fold| fold.reduce != ReduceOp::Max)
            || self.uses(&computing)
    }

    /// Whether the destination shares bytes with a source that is read as it is written.
    fn overlaps(&self) -> bool {
        use Opcode::*;
        // Here everything is read before anything is written, since elements change channels.
        let exchanges = matches!(
            self.opcode,
            StreamShuffle
                | StreamTranspose
                | TransposeTensorReduceArithOp
                | TransposeTensorReduceBitvecOp
                | TransposeTensorScalarArithOp
        );
        if exchanges || self.cross_lane.is_some() {
            return false;
        }
        let dst = self.dst.destination();
        self.sources.iter().any(|source| {
            let width = source.width;
            let stream = Source { walk: source.walk, width, load: None, lane: width };
            let own = source.place == self.dst.place;
            self.indirect && own || matches!(Layout::find(&dst, [(&stream, own)]), Layout::Held)
        })
    }
}
