//! Rules CC, SS and ST (ISA 9.9, 9.11, 9.12): copies, shuffles and transposes.

use super::address::legal_channels;
use super::checker::{Checker, Under};
use super::engines::EngineRules;
use super::two::Two;
use crate::dtype::Dtype;
use crate::layout::{TensorReduce, tensor_reduce as f};
use crate::rule::{self, Rule, rule_table};

rule_table! {
    CC_1 H "op is BYPASS", "write op=BYPASS";
    CC_2 H "op_dim is UNUSED or X", "write op_dim=UNUSED";
    CC_3 H "negated and mask_enable are 0", "write 0";
    CC_4 H "in_dtype is an input and out_dtype an output data type", "use a legal data type";
    CC_5 H "a copy has in_dtype and out_dtype equal", "use Cast to convert";
    CC_6 H "CH-2, and CH-3 for src and dst", "see the inner rule";
    CC_7 H "TV-1 and TV-2 for src and dst, CNT-1", "see the inner rule";
    CC_E1 M "on POOL ENG-2 holds", "see the inner rule";

    SS_1 H "op is BYPASS, op_dim UNUSED or X, negated and mask_enable 0", "write the blank values";
    SS_2 H "in_dtype is an input data type and out_dtype equals it", "use one legal data type";
    SS_3 H "CH-4, and CH-3 for src and dst", "see the inner rule";
    SS_4 H "TV-1 and TV-2 for src and dst, CNT-1", "see the inner rule";

    ST_1 H "op is BYPASS, negated 0, op_dim UNUSED or X", "write the blank values";
    ST_2 H "mask_enable is 0 or 1", "write mask_enable=0";
    ST_3 H "in_dtype is an input data type, not 64-bit and not FP32R, and out_dtype equals it", "use one legal data type";
    ST_4 H "CH-4, and CH-3 for src and dst", "see the inner rule";
    ST_5 H "TV-1 and TV-2 for src and dst", "see the inner rule";
    ST_6 H "CNT-3 for src", "see the inner rule";
    ST_7 H "CNT-2: the destination has no more elements than the source", "see the inner rule";
    ST_8 M "IND-5: the source is not indirect", "see the inner rule";
}

/// 0x46.
pub(crate) fn copy(c: &mut Checker) {
    c.tensor_reduce(|c, b, t| c.copy(b, t, true));
}

/// 0x47.
pub(crate) fn cast(c: &mut Checker) {
    c.tensor_reduce(|c, b, t| c.copy(b, t, false));
}

/// 0x48, which POOL does not have at all.
pub(crate) fn reciprocal(c: &mut Checker) {
    c.tensor_reduce(|c, b, t| {
        c.copy(b, t, false);
        EngineRules::SHARED
    });
}

/// 0x6a.
pub(crate) fn shuffle(c: &mut Checker) {
    c.tensor_reduce(|c, b, t| c.shuffle(b, t));
}

/// 0x6b.
pub(crate) fn transpose(c: &mut Checker) {
    c.tensor_reduce(|c, b, t| c.transpose(b, t));
}

impl Checker<'_> {
    /// 0x46, 0x47, 0x48; `same_type` says that CC-5 holds.
    #[inline(always)]
    fn copy(&mut self, b: &TensorReduce, t: &Two, same_type: bool) -> EngineRules {
        self.bypass(b.op, Under::new(&rules::CC_1), &f::op);
        self.unused_dims(b, Under::new(&rules::CC_2));
        let cc3 = Under::new(&rules::CC_3);
        self.require(b.negated == 0, cc3, &f::negated, "0");
        self.require(b.mask_enable == 0, cc3, &f::mask_enable, "0");
        let cc4 = Under::new(&rules::CC_4);
        let input = self.dtype(b.in_dtype, cc4, &f::in_dtype, Dtype::is_input);
        self.dtype(b.out_dtype, cc4, &f::out_dtype, Dtype::is_output);
        if same_type && let Some(input) = input {
            let same = b.in_dtype == b.out_dtype;
            self.require(same, Under::new(&rules::CC_5), &f::out_dtype, input.name());
        }
        let cc6 = Under::new(&rules::CC_6);
        let channels =
            self.channels(b.num_active_channels, &f::num_active_channels, cc6, &rule::CH_2);
        let cc7 = Under::new(&rules::CC_7);
        self.two_placed(t, channels, cc6, cc7);
        self.same_count(&t.src, &t.dst, cc7);
        EngineRules::sbuf_under(Under::new(&rules::CC_E1))
    }

    /// 0x6a.
    #[inline(always)]
    fn shuffle(&mut self, b: &TensorReduce, t: &Two) -> EngineRules {
        let ss1 = Under::new(&rules::SS_1);
        self.bypass(b.op, ss1, &f::op);
        self.unused_dims(b, ss1);
        self.require(b.negated == 0, ss1, &f::negated, "0");
        self.require(b.mask_enable == 0, ss1, &f::mask_enable, "0");
        self.one_dtype(b, &rules::SS_2);
        let ss4 = Under::new(&rules::SS_4);
        self.blocks_placed(b, t, &rules::SS_3, ss4);
        self.same_count(&t.src, &t.dst, ss4);
        EngineRules::SHARED
    }

    /// 0x6b.
    #[inline(always)]
    fn transpose(&mut self, b: &TensorReduce, t: &Two) -> EngineRules {
        let st1 = Under::new(&rules::ST_1);
        self.bypass(b.op, st1, &f::op);
        self.require(b.negated == 0, st1, &f::negated, "0");
        self.unused_dims(b, st1);
        self.require(b.mask_enable <= 1, Under::new(&rules::ST_2), &f::mask_enable, "0 or 1");
        self.one_dtype(b, &rules::ST_3);
        self.blocks_placed(b, t, &rules::ST_4, Under::new(&rules::ST_5));
        self.whole_tiles(&t.src, Under::new(&rules::ST_6));
        if let (Some(from), Some(to)) = (t.src.count(), t.dst.count())
            && to > from
        {
            self.fail_inside(Under::new(&rules::ST_7), &[&rule::CNT_2], t.dst.field, move || {
                format!("at most {from} elements, not {to}")
            });
        }
        self.not_indirect(&t.src, Under::new(&rules::ST_8));
        EngineRules::SHARED
    }

    /// D(in), and the output of the same type.
    #[inline(always)]
    fn one_dtype(&mut self, b: &TensorReduce, own: &'static Rule) {
        let input = self.dtype(b.in_dtype, Under::new(own), &f::in_dtype, Dtype::is_input);
        if let Some(input) = input {
            let same = b.in_dtype == b.out_dtype;
            self.require(same, Under::new(own), &f::out_dtype, input.name());
        }
    }

    /// CH-4, CH-3 and TV. A count outside 1..128 breaks CH-4 and leaves CH-3 untested.
    #[inline(always)]
    fn blocks_placed(&mut self, b: &TensorReduce, t: &Two, starts: &'static Rule, tensors: Under) {
        let starts = Under::new(starts);
        let n = b.num_active_channels;
        self.whole_blocks(n, &f::num_active_channels, starts);
        self.two_placed(t, legal_channels(n), starts, tensors);
    }
}
