//! Rules XA (ISA 9.2): the extended tensor-tensor of POOL.

use super::address::Operand;
use super::checker::{Checker, Under};
use super::engines::EngineRules;
use super::three::{Three, pair};
use crate::alu::AluOp;
use crate::dtype::Dtype;
use crate::layout::{ExtendedTensorTensor, extended_tensor_tensor as f};
use crate::rule::{self, rule_table};

rule_table! {
    XA_1 H "extended_opcode is 2", "write extended_opcode=2";
    XA_2 M "completion_info has has_read and has_write set and its reserved bits clear", "set bits 0 and 2, clear bits 1, 6 and 7";
    XA_3 H "op is ADD or MULT", "use ADD or MULT, or TensorTensorArithOp";
    XA_4 M "the output is an output data type and both sources input data types; 64-bit is not serviced", "use a data type of at most 32 bits";
    XA_5 M "all operands are in SBUF", "copy the operand to SBUF first";
    XA_6 L "TV-1, TV-2 and CH-3 for the three patterns, CNT-1 for (src0, src1) and (src0, dst), ADR-6", "see the inner rule";
}

/// 0xf0, sub-opcode 2.
pub(crate) fn extended_tensor_tensor(c: &mut Checker) {
    let b = ExtendedTensorTensor::decode(&c.word.0);
    let g = c.generation;
    let [d0, d1] = pair(b.in0_in1_dtype);
    let t = Three {
        src0: Operand::new(&b.src0_mem_pattern, &f::src0_mem_pattern, d0, false, g),
        src1: Operand::new(&b.src1_mem_pattern, &f::src1_mem_pattern, d1, false, g),
        dst: Operand::new(&b.dst_mem_pattern, &f::dst_mem_pattern, b.out_dtype, true, g),
    };
    let under = Under::new(&rules::XA_1);
    c.require(b.extended_opcode == 2, under, &f::extended_opcode, "2");
    let info_ok = b.completion_info & 0b1100_0111 == 0b101;
    let allowed = "bits 0 and 2 set, bits 1, 6 and 7 clear";
    c.require(info_ok, Under::new(&rules::XA_2), &f::completion_info, allowed);
    let op_ok = b.op == AluOp::Add.code() || b.op == AluOp::Mult.code();
    c.require(op_ok, Under::new(&rules::XA_3), &f::op, "ADD, MULT");
    let under = Under::new(&rules::XA_4);
    c.dtype(b.out_dtype, under, &f::out_dtype, Dtype::is_output);
    c.dtype(d0, under, &f::in0_in1_dtype, Dtype::is_input);
    c.dtype(d1, under, &f::in0_in1_dtype, Dtype::is_input);
    for operand in [&t.src0, &t.src1, &t.dst] {
        if operand.is_in_psum() {
            let allowed = || "an address in SBUF".into();
            c.fail_inside(Under::new(&rules::XA_5), &[&rule::ADR_4], operand.field, allowed);
        }
    }
    let channels = Some(b.channels());
    c.three_placed(&t, channels, &rules::XA_6, &rules::XA_6, None);
    let under = Under::new(&rules::XA_6);
    c.same_count(&t.src0, &t.src1, under);
    c.same_count(&t.src0, &t.dst, under);
    c.sources_together(&t.src0, &t.src1, under);
    c.reserved(&b.reserved0, &f::reserved0, None);
    c.reserved(&b.reserved1, &f::reserved1, None);
    let pair_field = &f::in0_in1_dtype;
    let dtypes = [(d0, pair_field), (d1, pair_field), (b.out_dtype, &f::out_dtype)];
    c.engines([&t.src0, &t.src1, &t.dst], dtypes, EngineRules::SHARED);
    c.three_overlap(&t, b.channels());
}
