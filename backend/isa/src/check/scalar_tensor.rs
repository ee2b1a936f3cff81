//! Rules STT (ISA 9.19): two tensors with a scalar stage between them.

use super::address::{Operand, legal_channels};
use super::checker::{Checker, Under};
use super::engines::EngineRules;
use super::immediate::{Immediate, Scalar};
use super::three::{Placing, Three, pair};
use crate::alu::AluOp;
use crate::dtype::Dtype;
use crate::enums::{AccumCmd, ReverseOps};
use crate::layout::{ScalarTensorTensor, scalar_tensor_tensor as f};
use crate::rule::rule_table;

rule_table! {
    STT_1 H "both ops are general arithmetic", "use general arithmetic operations, or the bitvec opcode";
    STT_2 H "both ops are general bitvec operations", "use bitvec operations, or the arithmetic opcode";
    STT_3 H "both sources and imm0_dtype are input data types, out_dtype an output data type", "use a legal data type";
    STT_4 H "imm0_dtype is FP32", "write imm0_dtype=FP32";
    STT_5 M "src0, src1, out and imm0 have the same integer data type of at most 32 bits", "use one integer data type";
    STT_6 H "IMM-1 to IMM-5 for imm0", "see the inner rule";
    STT_7 H "reverse_operands is 0 to 3", "use NONE, FIRST, SECOND or BOTH";
    STT_8 H "CH-1, and CH-3 for the three operands", "see the inner rule";
    STT_9 H "TV-1 and TV-2 for the three patterns", "see the inner rule";
    STT_10 H "CNT-1 for (src0, src1) and (src0, dst)", "see the inner rule";
    STT_11 H "ADR-6 for src0 and src1", "see the inner rule";
    STT_12 L "accumulator_cmd is IDLE", "write accumulator_cmd=IDLE";
    STT_13 M "SHF-1 and SHF-2", "see the inner rule";
}

static STT: Placing = Placing {
    channels: &rules::STT_8,
    starts: &rules::STT_8,
    tensors: &rules::STT_9,
    counts: Some([&rules::STT_10, &rules::STT_10]),
    together: Some(&rules::STT_11),
    source_align: None,
};

/// 0x9d.
pub(crate) fn arith(c: &mut Checker) {
    c.scalar_tensor_tensor(false);
}

/// 0x9e.
pub(crate) fn bitvec(c: &mut Checker) {
    c.scalar_tensor_tensor(true);
}

impl Checker<'_> {
    #[inline(always)]
    fn scalar_tensor_tensor(&mut self, bitvec: bool) {
        let b = &ScalarTensorTensor::decode(&self.word.0);
        let g = self.generation;
        let [d0, d1] = pair(b.in0_in1_dtype);
        let t = Three {
            src0: Operand::new(&b.src0_mem_pattern, &f::src0_mem_pattern, d0, false, g),
            src1: Operand::new(&b.src1_mem_pattern, &f::src1_mem_pattern, d1, false, g),
            dst: Operand::new(&b.dst_mem_pattern, &f::dst_mem_pattern, b.out_dtype, true, g),
        };
        let (under, set): (_, &dyn Fn(AluOp) -> bool) = if bitvec {
            (Under::new(&rules::STT_2), &AluOp::is_general_bitvec)
        } else {
            (Under::new(&rules::STT_1), &|op: AluOp| op.is_general_arith(g))
        };
        let op0 = self.defined_op(b.op0, under, &f::op0);
        let op1 = self.defined_op(b.op1, under, &f::op1);
        self.op(op0, under, &f::op0, set);
        self.op(op1, under, &f::op1, set);
        let under = Under::new(&rules::STT_3);
        let src0 = self.dtype(d0, under, &f::in0_in1_dtype, Dtype::is_input);
        let src1 = self.dtype(d1, under, &f::in0_in1_dtype, Dtype::is_input);
        let imm_dtype = self.dtype(b.imm0_dtype, under, &f::imm0_dtype, Dtype::is_input);
        let out = self.dtype(b.out_dtype, under, &f::out_dtype, Dtype::is_output);
        if bitvec {
            if let (Some(src0), Some(src1), Some(imm), Some(out)) = (src0, src1, imm_dtype, out) {
                let same = src0 == src1 && src1 == imm && imm == out && out.is_int_datapath();
                let allowed = "one integer type of at most 32 bits for all four";
                self.require(same, Under::new(&rules::STT_5), &f::in0_in1_dtype, allowed);
            }
        } else if let Some(imm) = imm_dtype {
            let fp32 = imm == Dtype::Fp32;
            self.require(fp32, Under::new(&rules::STT_4), &f::imm0_dtype, "FP32");
        }
        let imm = Immediate {
            bits: b.imm0,
            field: &f::imm0,
            source: b.imm0_src,
            source_field: &f::imm0_src,
        };
        let scalar = if bitvec { Scalar::Of(imm_dtype) } else { Scalar::Fp32 };
        let n = b.num_active_channels;
        self.immediate(imm, scalar, legal_channels(n), Under::new(&rules::STT_6));
        let reverse_ok = ReverseOps::from_code(b.reverse_operands).is_some();
        let under = Under::new(&rules::STT_7);
        self.require(reverse_ok, under, &f::reverse_operands, "NONE, FIRST, SECOND, BOTH");
        self.three(&t, n, &f::num_active_channels, &STT);
        let idle = b.accumulator_cmd == AccumCmd::Idle.code();
        self.require(idle, Under::new(&rules::STT_12), &f::accumulator_cmd, "IDLE");
        if bitvec {
            self.shifts([op0, op1], [&f::op0, &f::op1], src0, Under::new(&rules::STT_13));
        }
        self.reserved(&b.reserved, &f::reserved, None);
        let pair_field = &f::in0_in1_dtype;
        let dtypes = [
            (d0, pair_field),
            (d1, pair_field),
            (b.out_dtype, &f::out_dtype),
            (b.imm0_dtype, &f::imm0_dtype),
        ];
        self.engines([&t.src0, &t.src1, &t.dst], dtypes, EngineRules::SHARED);
        // BYPASS takes its left operand, which is the scalar when the first stage is reversed.
        if b.reverse_operands & 1 == 0 {
            self.unused_immediate(op0, imm);
        }
        self.three_overlap(&t, n.into());
    }
}
