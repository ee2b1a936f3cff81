//! What opcodes with one source and one destination share.

use super::address::Operand;
use super::checker::{Checker, Under};
use crate::alu::AluOp;
use crate::enums::SubDim;
use crate::field::Field;
use crate::layout::{TensorReduce, tensor_reduce as f};
use crate::rule;

use super::engines::EngineRules;

/// One source, one destination.
pub(super) struct Two<'a> {
    pub src: Operand<'a>,
    pub dst: Operand<'a>,
}

impl Checker<'_> {
    /// An opcode of S4D4_TR: `own` are its rules, between which and the engine the reserved bytes stand.
    #[inline(always)]
    pub(super) fn tensor_reduce(
        &mut self,
        own: impl FnOnce(&mut Self, &TensorReduce, &Two) -> EngineRules,
    ) {
        let b = TensorReduce::decode(&self.word.0);
        let g = self.generation;
        let t = Two {
            src: Operand::new(&b.src_mem_pattern, &f::src_mem_pattern, b.in_dtype, false, g),
            dst: Operand::new(&b.dst_mem_pattern, &f::dst_mem_pattern, b.out_dtype, true, g),
        };
        let engines = own(self, &b, &t);
        self.reserved(&b.reserved1, &f::reserved1, None);
        let dtypes = [(b.in_dtype, &f::in_dtype), (b.out_dtype, &f::out_dtype)];
        self.engines([&t.src, &t.dst], dtypes, engines);
        self.overlap(&t.src, &t.dst, b.num_active_channels.into());
    }

    /// CH-3 and TV for source and destination.
    #[inline(always)]
    pub(super) fn two_placed(
        &mut self,
        t: &Two,
        channels: Option<u32>,
        starts: Under,
        tensors: Under,
    ) {
        self.start_partition(&t.src, channels, starts);
        self.start_partition(&t.dst, channels, starts);
        self.tensor(&t.src, tensors, None);
        self.tensor(&t.dst, tensors, None);
        self.gathers_into_its_quadrant(&t.src, &t.dst);
    }

    /// op_dim is X to XYZW.
    pub(super) fn reduced_dims(&mut self, b: &TensorReduce, under: Under) {
        let ok = SubDim::from_code(b.op_dim).is_some_and(|dim| dim != SubDim::Unused);
        self.require(ok, under, &f::op_dim, "X, XY, XYZ, XYZW");
    }

    /// op_dim is UNUSED or X.
    pub(super) fn unused_dims(&mut self, b: &TensorReduce, under: Under) {
        let ok = matches!(SubDim::from_code(b.op_dim), Some(SubDim::Unused | SubDim::X));
        self.require(ok, under, &f::op_dim, "UNUSED, X");
    }

    /// CNT-3.
    #[inline(always)]
    pub(super) fn whole_tiles(&mut self, src: &Operand, under: Under) {
        if let Some(count) = src.count()
            && count % 32 != 0
        {
            self.fail_inside(under, &[&rule::CNT_3], src.field, move || {
                format!("a multiple of 32 elements, not {count}")
            });
        }
    }

    /// op = BYPASS.
    pub(super) fn bypass(&mut self, op: u8, under: Under, field: &'static Field) {
        self.require(op == AluOp::Bypass.code(), under, field, "BYPASS");
    }
}
