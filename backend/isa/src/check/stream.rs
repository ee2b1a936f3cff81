//! Rules CC, SS and ST (ISA 9.9, 9.11, 9.12): copies, shuffles and transposes.

use super::address::Count;
use super::checker::{Checker, Under};
use super::tensor_reduce::Two;
use crate::dtype::Dtype;
use crate::enums::SubDim;
use crate::layout::{TensorReduce, tensor_reduce as f};
use crate::opcode::Opcode;
use crate::rule::{self, Rule};

impl Checker<'_> {
    /// 0x46, 0x47, 0x48; the rule that names SBUF.
    pub(super) fn copy(&mut self, b: &TensorReduce, t: &Two) -> Option<Under> {
        self.bypass(b.op, Under::new(&rule::CC_1), &f::op);
        self.unused_dims(b, Under::new(&rule::CC_2));
        let cc3 = Under::new(&rule::CC_3);
        self.require(b.negated == 0, cc3, &f::negated, "0");
        self.require(b.mask_enable == 0, cc3, &f::mask_enable, "0");
        let cc4 = Under::new(&rule::CC_4);
        let input = self.dtype(b.in_dtype, cc4, &f::in_dtype, Dtype::is_input);
        self.dtype(b.out_dtype, cc4, &f::out_dtype, Dtype::is_output);
        if self.opcode == Some(Opcode::Copy)
            && let Some(input) = input
        {
            let same = b.in_dtype == b.out_dtype;
            self.require(same, Under::new(&rule::CC_5), &f::out_dtype, input.name());
        }
        let cc6 = Under::new(&rule::CC_6);
        let channels =
            self.channels(b.num_active_channels, &f::num_active_channels, cc6, &rule::CH_2);
        let cc7 = Under::new(&rule::CC_7);
        self.two_placed(t, channels, cc6, cc7);
        self.same_count(&t.src, &t.dst, cc7);
        (self.opcode != Some(Opcode::Reciprocal)).then(|| Under::new(&rule::CC_E1))
    }

    /// 0x6a.
    pub(super) fn shuffle(&mut self, b: &TensorReduce, t: &Two) -> Option<Under> {
        let ss1 = Under::new(&rule::SS_1);
        self.bypass(b.op, ss1, &f::op);
        self.unused_dims(b, ss1);
        self.require(b.negated == 0, ss1, &f::negated, "0");
        self.require(b.mask_enable == 0, ss1, &f::mask_enable, "0");
        self.one_dtype(b, &rule::SS_2);
        let ss4 = Under::new(&rule::SS_4);
        self.blocks_placed(b, t, &rule::SS_3, ss4);
        self.same_count(&t.src, &t.dst, ss4);
        None
    }

    /// 0x6b.
    pub(super) fn transpose(&mut self, b: &TensorReduce, t: &Two) -> Option<Under> {
        let st1 = Under::new(&rule::ST_1);
        self.bypass(b.op, st1, &f::op);
        self.require(b.negated == 0, st1, &f::negated, "0");
        self.unused_dims(b, st1);
        self.require(b.mask_enable <= 1, Under::new(&rule::ST_2), &f::mask_enable, "0 or 1");
        self.one_dtype(b, &rule::ST_3);
        self.blocks_placed(b, t, &rule::ST_4, Under::new(&rule::ST_5));
        self.whole_tiles(&t.src, Under::new(&rule::ST_6));
        if let (Count::Elements(from), Count::Elements(to)) = (t.src.count, t.dst.count)
            && to > from
        {
            self.fail_inside(Under::new(&rule::ST_7), &[&rule::CNT_2], t.dst.field, || {
                format!("at most {from} elements, not {to}")
            });
        }
        self.not_indirect(&t.src, Under::new(&rule::ST_8));
        None
    }

    /// op_dim is UNUSED or X.
    fn unused_dims(&mut self, b: &TensorReduce, under: Under) {
        let ok = matches!(SubDim::from_code(b.op_dim), Some(SubDim::Unused | SubDim::X));
        self.require(ok, under, &f::op_dim, "UNUSED, X");
    }

    /// D(in), and the output of the same type.
    fn one_dtype(&mut self, b: &TensorReduce, own: &'static Rule) {
        let input = self.dtype(b.in_dtype, Under::new(own), &f::in_dtype, Dtype::is_input);
        if let Some(input) = input {
            let same = b.in_dtype == b.out_dtype;
            self.require(same, Under::new(own), &f::out_dtype, input.name());
        }
    }

    /// CH-4, CH-3 and TV. A count outside 1..128 breaks CH-4 and leaves CH-3 untested.
    fn blocks_placed(&mut self, b: &TensorReduce, t: &Two, starts: &'static Rule, tensors: Under) {
        let starts = Under::new(starts);
        let n = b.num_active_channels;
        self.whole_blocks(n, &f::num_active_channels, starts);
        let channels = (1..=128).contains(&n).then(|| n.into());
        self.two_placed(t, channels, starts, tensors);
    }
}
