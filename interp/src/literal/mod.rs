//! Words element by element, as the ISA reference puts them, under any conventions (ISA 13).
//!
//! The plans and their loops know the assumed conventions alone and are fast. What a word does under others is said
//! here once, one element at a time; a word that no chosen alternative reaches keeps to its plan. Under the assumed
//! conventions both give the same bits, which `tests/conformance.rs` and `tests/addresses.rs` hold
//! against each other.

mod alu;
mod folds;
mod numbers;
mod operand;
mod reach;
mod words;

use partita_isa::{AluOp, Domain, Dtype, Engine, Instruction, Opcode, Pattern};

use crate::conventions::{Alternative, Conventions};
use crate::error::Fault;
use crate::machine::Machine;
use crate::plan::{Immediate, Resolver, fields};

use alu::Alu;
use numbers::Numbers;
use operand::{Sink, Source, Stream, scalar};

impl Machine {
    /// What [`Machine::take_effect`] does, element by element and under this machine's conventions; false, and nothing
    /// done, for an opcode that is not said here. That one keeps to its plan.
    ///
    /// # Errors
    /// As a plan, and for patterns that visit too much to do so one by one.
    pub(crate) fn take_effect_literally(
        &mut self,
        engine: Engine,
        word: &Instruction,
    ) -> Result<bool, Fault> {
        use Opcode::*;
        let opcode = word.opcode().ok_or(Fault::Unsupported("opcode"))?;
        let conventions = self.conventions;
        let numbers = Numbers::new(self.target, engine, conventions);
        let mut literal = Literal { machine: self, engine, opcode, conventions, numbers };
        let body = &word.body;
        match opcode {
            TensorTensorArithOp
            | TensorTensorBitvecOp
            | TensorTensorAddBf16
            | TensorTensorMultBf16
            | TensorTensorSubtractBf16 => literal.tensor_tensor(fields(body)?),
            CopyPredicated | CastPredicated => literal.predicated(fields(body)?),
            ExtendedTensorTensorArith => literal.extended(fields(body)?),
            Copy | Cast | Reciprocal => literal.copy(fields(body)?),
            StreamShuffle => literal.shuffle(fields(body)?),
            StreamTranspose => literal.transpose(fields(body)?),
            TensorCumulativeArithOp | TensorCumulativeBitvecOp => literal.scan(fields(body)?),
            TensorReduceArithOp
            | TensorReduceBitvecOp
            | TransposeTensorReduceArithOp
            | TransposeTensorReduceBitvecOp
            | TensorReduceAddBf16
            | TensorReduceMaxBf16 => literal.reduce(fields(body)?),
            CrossLaneReduceArith | CrossLaneReduceBitvec => literal.cross_lane(fields(body)?),
            Exponential => literal.exponential(fields(body)?),
            TensorScalarCacheReduce | TensorScalarCacheCumulative => literal.cache(fields(body)?),
            TensorScalarArithOp
            | TensorScalarBitvecOp
            | TensorScalarPtrArithOp
            | TensorScalarPtrBitvecOp
            | TransposeTensorScalarArithOp => literal.tensor_scalar(fields(body)?),
            ScalarTensorTensorArith | ScalarTensorTensorBitvec => {
                literal.scalar_tensor_tensor(fields(body)?)
            }
            TensorScalarSelect => literal.select(fields(body)?),
            LoadMaskSelect => {
                let body: &partita_isa::LoadMaskSelect = fields(body)?;
                literal.machine.lane_table = body.immediate;
                Ok(())
            }
            _ => return Ok(false),
        }
        .map(|()| true)
    }
}

/// A word on its way.
struct Literal<'a> {
    machine: &'a mut Machine,
    engine: Engine,
    opcode: Opcode,
    conventions: Conventions,
    numbers: Numbers,
}

/// The channel and the element that the 32 × 32 map of ISA 8.3 takes an element from, or to: it is its own inverse.
fn transposed(channel: usize, element: usize) -> (usize, usize) {
    (channel & !31 | element & 31, element & !31 | channel & 31)
}

impl Literal<'_> {
    fn has(&self, alternative: Alternative) -> bool {
        self.conventions.has(alternative)
    }

    fn resolver(&self) -> Resolver<'_> {
        Resolver::of_word(self.machine, self.engine, self.opcode)
    }

    fn source<const D: usize>(
        &self,
        pattern: &Pattern<D>,
        dtype: Dtype,
        channels: usize,
    ) -> Result<Stream, Fault> {
        let resolver = self.resolver();
        match resolver.gather(pattern, dtype, channels)? {
            Some(gather) => Stream::gathered(self.machine, &gather, channels),
            None => Stream::new(&resolver.source(pattern, dtype, channels)?),
        }
    }

    fn destination<const D: usize>(
        &self,
        pattern: &Pattern<D>,
        dtype: Dtype,
        channels: usize,
    ) -> Result<Stream, Fault> {
        Stream::new(&self.resolver().destination(pattern, dtype, channels)?)
    }

    /// The source's elements after the map of ISA 8.3.
    fn transposed(&self, stream: &Stream, channels: usize) -> Result<Vec<Vec<u64>>, Fault> {
        let rows = stream.hold(self.machine, channels)?;
        let at = |channel, element| {
            let (channel, element) = transposed(channel, element);
            rows.get(channel).and_then(|row| row.get(element)).copied().unwrap_or_default()
        };
        let row = |channel| (0..stream.len()).map(|element| at(channel, element)).collect();
        Ok((0..channels).map(row).collect())
    }

    /// The scalars of every channel.
    fn scalars(&self, immediate: &Immediate, channels: usize) -> Vec<u64> {
        (0..channels).map(|channel| scalar(self.machine, immediate, channel)).collect()
    }

    /// The domain under these conventions.
    fn domain(&self, ops: &[AluOp], inputs: &[Dtype], output: Dtype) -> Domain {
        use Alternative::*;
        let domain = Domain::of(self.opcode, self.engine, ops, inputs, output);
        let floats = match domain {
            Domain::Integer { .. } => {
                self.engine == Engine::Dve && self.has(DveFloat)
                    || self.opcode == Opcode::ExtendedTensorTensorArith && self.has(ExtendedFloat)
            }
            Domain::Moved => {
                matches!(self.opcode, Opcode::Cast | Opcode::CastPredicated)
                    && self.has(CastConverts)
            }
            _ => false,
        };
        if floats { Domain::Fp32 } else { domain }
    }

    fn alu(&self, op: AluOp, domain: Domain, dtype: Dtype) -> Result<Alu, Fault> {
        Alu::new(op, domain, dtype, self.engine, self.conventions)
    }

    /// Lets `result` make one destination element of each group of source elements, given the channel and the
    /// group's number; `None` writes nothing. The second source is empty where there is none.
    fn run(
        &mut self,
        channels: usize,
        sources: [Option<&Source>; 2],
        group: usize,
        dst: &Stream,
        mut result: impl FnMut(usize, usize, [&[u64]; 2]) -> Option<u64>,
    ) {
        let group = group.max(1);
        let groups = sources[0].map_or(0, Source::len) / group;
        // Read all, then write all; or one after the other.
        let step = if self.has(Alternative::Streaming) { 1 } else { groups.max(1) };
        let mut blocks = sources.map(|source| vec![0; source.map_or(0, |_| step * group)]);
        let mut results = Vec::with_capacity(step);
        for channel in 0..channels {
            let mut sink = Sink::new(self.machine, dst, channel);
            for first in (0..groups).step_by(step) {
                for (source, block) in sources.iter().zip(&mut blocks) {
                    if let Some(source) = source {
                        source.read(self.machine, channel, first * group, block);
                    }
                }
                let part = |number: usize| {
                    let range = number * group..(number + 1) * group;
                    blocks.each_ref().map(|block| block.get(range.clone()).unwrap_or_default())
                };
                results.clear();
                results.extend((0..step).map(|n| result(channel, first + n, part(n))));
                for (number, bits) in (first..).zip(&results) {
                    if let Some(bits) = bits {
                        sink.write(self.machine, number, *bits);
                    }
                }
            }
        }
    }
}
