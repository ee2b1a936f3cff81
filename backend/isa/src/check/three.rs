//! What opcodes with two sources and a destination share.

use super::address::Operand;
use super::checker::{Checker, Under};
use super::engines::EngineRules;
use crate::field::Field;
use crate::layout::{TensorTensor, tensor_tensor as f};
use crate::rule::{self, Rule};

/// Two sources, one destination.
pub(super) struct Three<'a> {
    pub src0: Operand<'a>,
    pub src1: Operand<'a>,
    pub dst: Operand<'a>,
}

/// Which of an opcode's rules name the shared ones.
pub(super) struct Placing {
    /// CH-1
    pub channels: &'static Rule,
    /// CH-3
    pub starts: &'static Rule,
    /// TV-1, TV-2
    pub tensors: &'static Rule,
    /// CNT-1 of (src0, src1) and of (src0, dst)
    pub counts: Option<[&'static Rule; 2]>,
    /// ADR-6
    pub together: Option<&'static Rule>,
    /// What ADR-2 asks of the sources, unless it is the size of the dtype.
    pub source_align: Option<u32>,
}

/// The codes of DTYPE_PAIR: src0, src1.
pub(super) const fn pair(code: u8) -> [u8; 2] {
    [code & 0xf, code >> 4]
}

impl Checker<'_> {
    /// An opcode of S3S3D3_TT: `own` are its rules on types and operation, `placing` names those on the
    /// operands, and `engines` are its rules on engines, from what `own` found out.
    #[inline(always)]
    pub(super) fn tensor_tensor<T>(
        &mut self,
        placing: &Placing,
        own: impl FnOnce(&mut Self, &TensorTensor, [u8; 2], &Three) -> T,
        engines: impl FnOnce(&mut Self, T) -> EngineRules,
    ) {
        let b = TensorTensor::decode(&self.word.0);
        let g = self.generation;
        let [d0, d1] = pair(b.in0_in1_dtype);
        let t = Three {
            src0: Operand::new(&b.src0_mem_pattern, &f::src0_mem_pattern, d0, false, g),
            src1: Operand::new(&b.src1_mem_pattern, &f::src1_mem_pattern, d1, false, g),
            dst: Operand::new(&b.dst_mem_pattern, &f::dst_mem_pattern, b.out_dtype, true, g),
        };
        let found = own(self, &b, [d0, d1], &t);
        let n = b.num_active_channels;
        self.three(&t, n, &f::num_active_channels, placing);
        let engines = engines(self, found);
        let pair_field = &f::in0_in1_dtype;
        let dtypes = [(d0, pair_field), (d1, pair_field), (b.out_dtype, &f::out_dtype)];
        self.engines([&t.src0, &t.src1, &t.dst], dtypes, engines);
        self.three_overlap(&t, n.into());
    }

    /// CH-1, CH-3, TV and counts of three operands under the rules that name them.
    #[inline(always)]
    pub(super) fn three(&mut self, t: &Three, n: u8, field: &'static Field, placing: &Placing) {
        let channels = self.channels(n, field, Under::new(placing.channels), &rule::CH_1);
        self.three_placed(t, channels, placing.starts, placing.tensors, placing.source_align);
        if let Some([sources, destination]) = placing.counts {
            self.same_count(&t.src0, &t.src1, Under::new(sources));
            self.same_count(&t.src0, &t.dst, Under::new(destination));
        }
        if let Some(together) = placing.together {
            self.sources_together(&t.src0, &t.src1, Under::new(together));
        }
    }

    #[inline(always)]
    pub(super) fn three_placed(
        &mut self,
        t: &Three,
        channels: Option<u32>,
        starts: &'static Rule,
        tensors: &'static Rule,
        source_align: Option<u32>,
    ) {
        for operand in [&t.src0, &t.src1, &t.dst] {
            self.start_partition(operand, channels, Under::new(starts));
        }
        self.tensor(&t.src0, Under::new(tensors), source_align);
        self.tensor(&t.src1, Under::new(tensors), source_align);
        self.tensor(&t.dst, Under::new(tensors), None);
        self.gathers_into_its_quadrant(&t.src0, &t.dst);
        self.gathers_into_its_quadrant(&t.src1, &t.dst);
    }

    #[inline(always)]
    pub(super) fn three_overlap(&mut self, t: &Three, n: u32) {
        self.overlap(&t.src0, &t.dst, n);
        self.overlap(&t.src1, &t.dst, n);
    }
}

/// Pairs of elements in 32-bit words: an even innermost count of step 1. True when shape or index
/// are known only at run time.
pub(super) fn is_packed(source: &Operand) -> bool {
    source.dimension(0).is_none_or(|(step, n)| step == 1 && n % 2 == 0)
}
