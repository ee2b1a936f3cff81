//! Rules CR (ISA 9.13): reduction over channels.

use super::address::Operand;
use super::checker::{Checker, Under};
use super::engines::EngineRules;
use crate::dtype::Dtype;
use crate::enums::{ReduceAxis, ReduceOp};
use crate::layout::{CrossLaneReduce, cross_lane_reduce as f};
use crate::rule::{self, rule_table};

rule_table! {
    CR_1 H "in_dtype is an input and out_dtype an output data type", "use a legal data type";
    CR_2 H "CH-1, and CH-3 for src", "see the inner rule";
    CR_3 H "CH-3 for dst with one channel", "see the inner rule";
    CR_4 H "TV-1 and TV-2 for src and dst, both in SBUF", "see the inner rule";
    CR_5 H "reduce_axis is ALL or PARTITIONS", "use 0 or 1";
    CR_6 H "axis ALL writes one element", "write num_elem 1 in every dimension of dst";
    CR_7 H "axis PARTITIONS: CNT-1 for dst and src", "see the inner rule";
    CR_8 H "reduce_op is ADD, AVERAGE or MAX for 0x7c, BITWISE_OR, BITWISE_AND or BITWISE_XOR for 0x7d", "use the other opcode";
    CR_9 M "0x7d: in_dtype and out_dtype are the same integer of 1, 2 or 4 bytes", "use one integer data type";
    CR_10 H "reserved0 is 0", "write 0";
    CR_11 M "IND-5: no operand is indirect", "see the inner rule";

    SUM_1 L "an 8- or 16-bit integer sum over lanes stays within the next wider integer (OQ-57)", "use fewer channels or a wider input data type";
}

/// 0x7c.
pub(crate) fn arith(c: &mut Checker) {
    c.cross_lane_reduce(false);
}

/// 0x7d.
pub(crate) fn bitvec(c: &mut Checker) {
    c.cross_lane_reduce(true);
}

impl Checker<'_> {
    #[inline(always)]
    fn cross_lane_reduce(&mut self, bitvec: bool) {
        let b = &CrossLaneReduce::decode(&self.word.0);
        let g = self.generation;
        let src = Operand::new(&b.src_mem_pattern, &f::src_mem_pattern, b.in_dtype, false, g);
        let dst = Operand::new(&b.dst_mem_pattern, &f::dst_mem_pattern, b.out_dtype, true, g);
        let cr1 = Under::new(&rules::CR_1);
        let input = self.dtype(b.in_dtype, cr1, &f::in_dtype, Dtype::is_input);
        let output = self.dtype(b.out_dtype, cr1, &f::out_dtype, Dtype::is_output);
        let cr2 = Under::new(&rules::CR_2);
        let channels =
            self.channels(b.num_active_channels, &f::num_active_channels, cr2, &rule::CH_1);
        self.start_partition(&src, channels, cr2);
        self.start_partition(&dst, Some(1), Under::new(&rules::CR_3));
        let cr4 = Under::new(&rules::CR_4);
        for operand in [&src, &dst] {
            self.tensor(operand, cr4, None);
            self.sbuf_only(operand, cr4);
        }
        let axis = ReduceAxis::from_code(b.reduce_axis);
        self.require(axis.is_some(), Under::new(&rules::CR_5), &f::reduce_axis, "ALL, PARTITIONS");
        match axis {
            Some(ReduceAxis::All) if dst.count().is_none_or(|n| n == 1) => {}
            Some(ReduceAxis::All) => {
                self.fail(Under::new(&rules::CR_6), dst.field, move || "one element".into());
            }
            Some(ReduceAxis::Partitions) => {
                self.same_count(&src, &dst, Under::new(&rules::CR_7));
            }
            None => {}
        }
        let op = ReduceOp::from_code(b.reduce_op);
        let is_bitvec_op = op.map(|op| op.code() >= ReduceOp::BitwiseOr.code());
        let allowed =
            if bitvec { "BITWISE_OR, BITWISE_AND, BITWISE_XOR" } else { "ADD, AVERAGE, MAX" };
        let op_ok = is_bitvec_op == Some(bitvec);
        self.require(op_ok, Under::new(&rules::CR_8), &f::reduce_op, allowed);
        if bitvec && let (Some(input), Some(output)) = (input, output) {
            let ok = input == output && input.is_int_datapath();
            let allowed = "one integer type of 1, 2 or 4 bytes for both";
            self.require(ok, Under::new(&rules::CR_9), &f::in_dtype, allowed);
        }
        self.reserved(&b.reserved0, &f::reserved0, Some(&rules::CR_10));
        let cr11 = Under::new(&rules::CR_11);
        self.not_indirect(&src, cr11);
        self.not_indirect(&dst, cr11);
        let dtypes = [(b.in_dtype, &f::in_dtype), (b.out_dtype, &f::out_dtype)];
        self.engines([&src, &dst], dtypes, EngineRules::SHARED);
        if !bitvec && op == Some(ReduceOp::Add) {
            self.wide_sum(b, input, &src, axis);
        }
        self.overlap(&src, &dst, b.num_active_channels.into());
    }

    /// OQ-57: a warning when the sum could exceed the next wider integer, which some descriptions
    /// give as the accumulator.
    #[inline(always)]
    fn wide_sum(
        &mut self,
        b: &CrossLaneReduce,
        input: Option<Dtype>,
        src: &Operand,
        axis: Option<ReduceAxis>,
    ) {
        let Some(input) = input.filter(|d| d.is_int() && d.size() < 4) else { return };
        let bits = 8 * input.size() as u32;
        let terms = match (axis, src.count()) {
            (Some(ReduceAxis::All), Some(n)) => n.saturating_mul(b.num_active_channels.into()),
            _ => b.num_active_channels.into(),
        };
        // n terms of `bits` bits need at most 2·bits bits as long as n is at most 2^bits.
        if terms > 1 << bits {
            self.warn(&rules::SUM_1, &f::num_active_channels, || {
                format!("at most {} terms for a {bits}-bit input", 1_u64 << bits)
            });
        }
    }
}
