//! Rules SEL (ISA 9.20): a tensor or a scalar.

use super::address::{Operand, legal_channels};
use super::checker::{Checker, Under};
use super::engines::EngineRules;
use super::immediate::{Immediate, Scalar};
use super::two::Two;
use crate::dtype::Dtype;
use crate::layout::{TensorScalarSelect, tensor_scalar_select as f};
use crate::rule::{self, rule_table};

rule_table! {
    SEL_1 H "dtype is an input data type", "use a legal data type";
    SEL_2 H "pred_imm_dtype is an integer of at most 32 bits, as wide as dtype", "use the integer of the width of dtype";
    SEL_3 H "reversed_pred is 0 or 1", "write 0 or 1";
    SEL_4 H "a predicate in the word is 0 or 1; otherwise IMM-4 or IMM-5", "write 0 or 1, or point to the predicate";
    SEL_5 H "src1_imm obeys IMM-1 and IMM-3, or IMM-4 or IMM-5 aligned to dtype", "see the inner rule";
    SEL_6 H "CH-2, and CH-3 for src0 and dst", "see the inner rule";
    SEL_7 H "TV-1 and TV-2 for src0 and dst, CNT-1", "see the inner rule";
    SEL_8 H "reserved0 and reserved1 are 0", "write 0";
}

/// 0x98.
pub(crate) fn tensor_scalar_select(c: &mut Checker) {
    let b = TensorScalarSelect::decode(&c.word.0);
    let g = c.generation;
    let t = Two {
        src: Operand::new(&b.src0_mem_pattern, &f::src0_mem_pattern, b.dtype, false, g),
        dst: Operand::new(&b.dst_mem_pattern, &f::dst_mem_pattern, b.dtype, true, g),
    };
    let dtype = c.dtype(b.dtype, Under::new(&rules::SEL_1), &f::dtype, Dtype::is_input);
    let predicate =
        c.dtype(b.pred_imm_dtype, Under::new(&rules::SEL_2), &f::pred_imm_dtype, |predicate| {
            predicate.is_int_datapath()
                && dtype.is_none_or(|dtype| dtype.size() == predicate.size())
        });
    c.require(b.reversed_pred <= 1, Under::new(&rules::SEL_3), &f::reversed_pred, "0 or 1");
    let legal_channels = legal_channels(b.num_active_channels);
    let imm = Immediate {
        bits: b.pred_imm,
        field: &f::pred_imm,
        source: b.pred_imm_src,
        source_field: &f::pred_imm_src,
    };
    c.immediate(imm, Scalar::Truth(predicate), legal_channels, Under::new(&rules::SEL_4));
    let imm = Immediate {
        bits: b.src1_imm,
        field: &f::src1_imm,
        source: b.src1_imm_src,
        source_field: &f::src1_imm_src,
    };
    c.immediate(imm, Scalar::Of(dtype), legal_channels, Under::new(&rules::SEL_5));
    let under = Under::new(&rules::SEL_6);
    let channels = c.channels(b.num_active_channels, &f::num_active_channels, under, &rule::CH_2);
    let sel7 = Under::new(&rules::SEL_7);
    c.two_placed(&t, channels, under, sel7);
    c.same_count(&t.src, &t.dst, sel7);
    c.reserved(&b.reserved0, &f::reserved0, Some(&rules::SEL_8));
    c.reserved(&b.reserved1, &f::reserved1, Some(&rules::SEL_8));
    let dtypes = [(b.dtype, &f::dtype), (b.pred_imm_dtype, &f::pred_imm_dtype)];
    c.engines([&t.src, &t.dst], dtypes, EngineRules::SHARED);
    c.overlap(&t.src, &t.dst, b.num_active_channels.into());
}
