//! Rules TR, TTR, RB and TC (ISA 9.5 to 9.8): reductions and scans.

use super::address::{Count, Operand};
use super::checker::{Checker, Under};
use super::tensor_tensor::is_packed;
use crate::alu::AluOp;
use crate::dtype::Dtype;
use crate::enums::SubDim;
use crate::layout::{TensorReduce, tensor_reduce as f};
use crate::opcode::Opcode;
use crate::rule::{self, Rule};
use crate::target::Engine;

/// The two operands of S4D4_TR.
pub(super) struct Two<'a> {
    pub src: Operand<'a>,
    pub dst: Operand<'a>,
}

impl Checker<'_> {
    pub fn tensor_reduce(&mut self, b: &TensorReduce) {
        use Opcode::*;
        let g = self.generation;
        let t = Two {
            src: Operand::new(&b.src_mem_pattern, &f::src_mem_pattern, b.in_dtype, false, g),
            dst: Operand::new(&b.dst_mem_pattern, &f::dst_mem_pattern, b.out_dtype, true, g),
        };
        let own_engine = match self.opcode {
            Some(TensorReduceArithOp) => self.reduce(b, &t, None, false),
            Some(TensorReduceBitvecOp) => self.reduce(b, &t, None, true),
            Some(TransposeTensorReduceArithOp) => self.transpose_reduce(b, &t, false),
            Some(TransposeTensorReduceBitvecOp) => self.transpose_reduce(b, &t, true),
            Some(TensorReduceAddBf16) => self.packed_reduce(b, &t, AluOp::Add),
            Some(TensorReduceMaxBf16) => self.packed_reduce(b, &t, AluOp::Max),
            Some(TensorCumulativeArithOp) => self.scan(b, &t, false),
            Some(TensorCumulativeBitvecOp) => self.scan(b, &t, true),
            Some(StreamShuffle) => self.shuffle(b, &t),
            Some(StreamTranspose) => self.transpose(b, &t),
            _ => self.copy(b, &t),
        };
        self.reserved(&b.reserved1, &f::reserved1, None);
        let dtypes = [(b.in_dtype, &f::in_dtype), (b.out_dtype, &f::out_dtype)];
        self.engines(&[&t.src, &t.dst], &dtypes, own_engine);
        self.overlap(&t.src, &t.dst, b.num_active_channels.into());
    }

    /// 0x42, 0x52: TR-1 to TR-13, then the engine.
    fn reduce(
        &mut self,
        b: &TensorReduce,
        t: &Two,
        outer: Option<&'static Rule>,
        bitvec: bool,
    ) -> Option<Under> {
        let op = self.reduce_rules(b, t, outer, bitvec);
        self.kept_count(b, t, Under::inside(outer, &rule::TR_10));
        self.reduce_types(b, op, outer, bitvec);
        self.indirect_reduce(b, t);
        self.reduce_engine(b, op, outer, bitvec)
    }

    /// TR-1 to TR-9; the operation, where it exists.
    fn reduce_rules(
        &mut self,
        b: &TensorReduce,
        t: &Two,
        outer: Option<&'static Rule>,
        bitvec: bool,
    ) -> Option<AluOp> {
        let g = self.generation;
        let under = |own| Under::inside(outer, own);
        self.dtype(b.in_dtype, under(&rule::TR_1), &f::in_dtype, Dtype::is_input_64);
        self.dtype(b.out_dtype, under(&rule::TR_1), &f::out_dtype, Dtype::is_output_64);
        let op = self.defined_op(b.op, under(&rule::TR_2), &f::op);
        if bitvec {
            self.op(op, under(&rule::TR_4), &f::op, AluOp::is_bitvec);
        } else {
            self.op(op, under(&rule::TR_3), &f::op, |op| {
                op.is_general_arith(g) || op.is_tensor_reduce_int()
            });
        }
        self.flags_and_placement(b, t, outer, bitvec);
        op
    }

    /// TR-5 to TR-9.
    fn flags_and_placement(
        &mut self,
        b: &TensorReduce,
        t: &Two,
        outer: Option<&'static Rule>,
        bitvec: bool,
    ) {
        let under = |own| Under::inside(outer, own);
        self.reduced_dims(b, under(&rule::TR_5));
        let (negated_ok, allowed) =
            if bitvec { (b.negated == 0, "0") } else { (b.negated <= 1, "0 or 1") };
        self.require(negated_ok, under(&rule::TR_6), &f::negated, allowed);
        self.require(b.mask_enable == 0, under(&rule::TR_7), &f::mask_enable, "0");
        let tr8 = under(&rule::TR_8);
        let channels =
            self.channels(b.num_active_channels, &f::num_active_channels, tr8, &rule::CH_2);
        self.two_placed(t, channels, tr8, under(&rule::TR_9));
    }

    /// CH-3 and TV for source and destination.
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
    fn reduced_dims(&mut self, b: &TensorReduce, under: Under) {
        let ok = SubDim::from_code(b.op_dim).is_some_and(|dim| dim != SubDim::Unused);
        self.require(ok, under, &f::op_dim, "X, XY, XYZ, XYZW");
    }

    /// TR-10. Not tested when op_dim is invalid or a count is not known.
    fn kept_count(&mut self, b: &TensorReduce, t: &Two, under: Under) {
        let Some(dims) = SubDim::from_code(b.op_dim).map(SubDim::dims).filter(|&dims| dims > 0)
        else {
            return;
        };
        let (Count::Elements(_), Count::Elements(found)) = (t.src.count, t.dst.count) else {
            return;
        };
        // An indirect source has one dimension, and op_dim X reduces it (IND-4).
        let kept = if t.src.is_indirect() { 1 } else { t.src.kept(dims) };
        if found != kept {
            self.fail(under, t.dst.field, || format!("{kept} elements, not {found}"));
        }
    }

    /// TR-11, TR-12.
    fn reduce_types(
        &mut self,
        b: &TensorReduce,
        op: Option<AluOp>,
        outer: Option<&'static Rule>,
        bitvec: bool,
    ) {
        let (Some(input), Some(output)) =
            (Dtype::from_code(b.in_dtype), Dtype::from_code(b.out_dtype))
        else {
            return;
        };
        if bitvec {
            self.bitvec_types(input, output, op, Under::inside(outer, &rule::TR_11));
        } else if let Some(op) = op.filter(|op| op.is_tensor_reduce_int()) {
            let signedness_ok = match op {
                AluOp::AddInt | AluOp::MultInt => true,
                AluOp::MaxUint
                | AluOp::MinUint
                | AluOp::MultUint
                | AluOp::AmaxUint
                | AluOp::AminUint => input.is_unsigned_int(),
                _ => input.is_signed_int(),
            };
            let input_ok = (input.is_int32() || input.is_64_bit()) && signedness_ok;
            let expected = if op.is_arg() { Dtype::Uint32 } else { input };
            let under = Under::inside(outer, &rule::TR_12);
            let allowed = "a 32- or 64-bit integer of the operation's signedness";
            self.require(input_ok, under, &f::in_dtype, allowed);
            self.require(output == expected, under, &f::out_dtype, expected.name());
        }
    }

    /// TR-11, TC-10: what a bitvec reduction or scan works on.
    fn bitvec_types(&mut self, input: Dtype, output: Dtype, op: Option<AluOp>, under: Under) {
        let set = |d| matches!(d, Dtype::Uint8 | Dtype::Uint16 | Dtype::Uint32 | Dtype::Int32);
        let ok = match op {
            Some(AluOp::LogicalShiftRight) => input == Dtype::Int32,
            Some(AluOp::Crc32) => set(input) && input.size() >= 2,
            _ => set(input),
        };
        let allowed = match op {
            Some(AluOp::LogicalShiftRight) => "INT32",
            Some(AluOp::Crc32) => "UINT16, UINT32, INT32",
            _ => "UINT8, UINT16, UINT32, INT32",
        };
        self.require(ok, under, &f::in_dtype, allowed);
        self.require(input == output, under, &f::out_dtype, input.name());
    }

    /// TR-13: IND-4 (IND-1 is tested with the operand).
    fn indirect_reduce(&mut self, b: &TensorReduce, t: &Two) {
        if t.src.is_indirect() && b.op_dim != SubDim::X.code() {
            let allowed = || "X".into();
            self.fail_inside(Under::new(&rule::TR_13), &[&rule::IND_4], &f::op_dim, allowed);
        }
    }

    /// TR-E1, TR-E2; the rule that names SBUF.
    fn reduce_engine(
        &mut self,
        b: &TensorReduce,
        op: Option<AluOp>,
        outer: Option<&'static Rule>,
        bitvec: bool,
    ) -> Option<Under> {
        let dtypes = [(b.in_dtype, &f::in_dtype), (b.out_dtype, &f::out_dtype)];
        if self.is_on(Engine::Dve) {
            let under = Under::inside(outer, &rule::TR_E1);
            self.op(op, under, &f::op, |op| !op.is_tensor_reduce_int());
            for (code, field) in dtypes {
                let narrow = !Dtype::from_code(code).is_some_and(Dtype::is_64_bit);
                self.require(narrow, under, field, "at most 32 bits");
            }
        }
        if bitvec {
            return None;
        }
        let under = Under::inside(outer, &rule::TR_E2);
        if self.is_on(Engine::Pool) {
            self.op(op, under, &f::op, AluOp::is_tensor_reduce_int);
            let input = Dtype::from_code(b.in_dtype).filter(|d| d.is_output_64());
            let ok = input.is_none_or(|d| d.is_int32() || d.is_64_bit());
            self.require(ok, under, &f::in_dtype, "a 32- or 64-bit integer");
        }
        Some(under)
    }

    /// 0x83, 0x84.
    fn transpose_reduce(&mut self, b: &TensorReduce, t: &Two, bitvec: bool) -> Option<Under> {
        let ttr1 = Some(&rule::TTR_1);
        let op = self.reduce_rules(b, t, ttr1, bitvec);
        self.reduce_types(b, op, ttr1, bitvec);
        let under = Under::new(&rule::TTR_2);
        self.whole_blocks(b.num_active_channels, &f::num_active_channels, under);
        self.whole_tiles(&t.src, Under::new(&rule::TTR_3));
        self.kept_count(b, t, Under::inside(Some(&rule::TTR_4), &rule::TR_10));
        for (code, field) in [(b.in_dtype, &f::in_dtype), (b.out_dtype, &f::out_dtype)] {
            let narrow = !Dtype::from_code(code).is_some_and(Dtype::is_64_bit);
            self.require(narrow, Under::new(&rule::TTR_5), field, "at most 32 bits");
        }
        self.not_indirect(&t.src, Under::new(&rule::TTR_1));
        self.reduce_engine(b, op, Some(&rule::TTR_E1), bitvec)
    }

    /// CNT-3.
    pub(super) fn whole_tiles(&mut self, src: &Operand, under: Under) {
        if let Count::Elements(count) = src.count
            && count % 32 != 0
        {
            self.fail_inside(under, &[&rule::CNT_3], src.field, || {
                format!("a multiple of 32 elements, not {count}")
            });
        }
    }

    /// 0x8c, 0x8d.
    fn packed_reduce(&mut self, b: &TensorReduce, t: &Two, op: AluOp) -> Option<Under> {
        let rb2 = Under::new(&rule::RB_2);
        self.dtype(b.in_dtype, rb2, &f::in_dtype, |d| d == Dtype::Bfloat16);
        self.dtype(b.out_dtype, rb2, &f::out_dtype, Dtype::is_output);
        let packed = t.src.is_aligned(4) && is_packed(&t.src);
        let allowed = "an address that is a multiple of 4, an even innermost count of step 1";
        self.require(packed, Under::new(&rule::RB_3), t.src.field, allowed);
        let rb4 = Some(&rule::RB_4);
        self.flags_and_placement(b, t, rb4, false);
        self.kept_count(b, t, Under::inside(rb4, &rule::TR_10));
        self.require(b.op == op.code(), Under::new(&rule::RB_4), &f::op, op.name());
        None
    }

    /// 0x4E, 0x5E.
    fn scan(&mut self, b: &TensorReduce, t: &Two, bitvec: bool) -> Option<Under> {
        let g = self.generation;
        let tc1 = Under::new(&rule::TC_1);
        let input = self.dtype(b.in_dtype, tc1, &f::in_dtype, Dtype::is_input);
        let output = self.dtype(b.out_dtype, tc1, &f::out_dtype, Dtype::is_output);
        let op = self.defined_op(b.op, Under::new(&rule::TC_2), &f::op);
        self.op(op, Under::new(&rule::TC_3), &f::op, is_single_pass);
        if bitvec {
            self.op(op, Under::new(&rule::TC_5), &f::op, AluOp::is_bitvec);
        } else {
            self.op(op, Under::new(&rule::TC_4), &f::op, |op| op.is_arith(g));
        }
        self.reduced_dims(b, Under::new(&rule::TC_6));
        let tc7 = Under::new(&rule::TC_7);
        let channels =
            self.channels(b.num_active_channels, &f::num_active_channels, tc7, &rule::CH_2);
        let tc8 = Under::new(&rule::TC_8);
        self.two_placed(t, channels, tc7, tc8);
        self.same_count(&t.src, &t.dst, tc8);
        let tc9 = Under::new(&rule::TC_9);
        self.require(b.negated == 0, tc9, &f::negated, "0");
        self.require(b.mask_enable == 0, tc9, &f::mask_enable, "0");
        if let (Some(input), Some(output)) = (input, output) {
            if bitvec {
                self.bitvec_types(input, output, op, Under::new(&rule::TC_10));
            } else if op.is_some_and(AluOp::is_integer_band) {
                let under = Under::new(&rule::TC_11);
                let allowed = "two integers of one signedness";
                self.require(input.same_signedness(output), under, &f::in_dtype, allowed);
            }
        }
        if self.engine.is_some_and(|engine| engine != Engine::Dve) {
            self.fail(Under::new(&rule::TC_E1), &crate::layout::header::opcode, || "dve".into());
        }
        None
    }
}

/// TC-3, TS-3: DIVIDE, POW and MOD are refused.
pub(super) fn is_single_pass(op: AluOp) -> bool {
    !matches!(op, AluOp::Divide | AluOp::Pow | AluOp::Mod)
}
