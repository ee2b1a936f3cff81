//! Rules TR, TTR and RB (ISA 9.5 to 9.7): reductions.

use super::checker::{Checker, Under};
use super::engines::{EngineRules, is_wide};
use super::three::is_packed;
use super::two::Two;
use crate::alu::AluOp;
use crate::dtype::Dtype;
use crate::enums::SubDim;
use crate::layout::{TensorReduce, tensor_reduce as f};
use crate::rule::{self, Rule, rule_table};
use crate::target::Engine;

rule_table! {
    TR_1 H "in_dtype is an input and out_dtype an output data type, 64-bit integers included", "use a legal data type";
    TR_2 H "op is defined on the target", "use an operation of this generation";
    TR_3 H "op is general arithmetic or an integer operation that can reduce", "use another operation, or the bitvec opcode";
    TR_4 H "op is a bitvec operation", "use a bitvec operation, or the arithmetic opcode";
    TR_5 H "op_dim is X, XY, XYZ or XYZW", "name the reduced dimensions";
    TR_6 H "negated is 0 or 1, and 0 in the bitvec form", "write negated=0";
    TR_7 H "mask_enable is 0", "write mask_enable=0";
    TR_8 H "CH-2, and CH-3 for src and dst", "see the inner rule";
    TR_9 H "TV-1 and TV-2 for src and dst", "see the inner rule";
    TR_10 L "the destination has as many elements as the kept dimensions of the source", "make the product of the destination's num_elem that of the kept source counts";
    TR_11 M "in_dtype and out_dtype are equal and UINT8, UINT16, UINT32 or INT32; LOGICAL_SHIFT_RIGHT needs INT32, CRC32 a 16- or 32-bit type", "view the data as one of these types";
    TR_12 M "an integer operation reduces a 32- or 64-bit integer of its signedness to the same type; an arg operation yields UINT32", "fit the data types to the operation";
    TR_13 M "an indirect source obeys IND-1 and IND-4", "see the inner rule";
    TR_E1 H "on DVE op is no integer or arg operation and no data type is 64-bit", "move the word to POOL, or use a float operation";
    TR_E2 H "on POOL in_dtype is a 32- or 64-bit integer, op an integer reduction, and both tensors are in SBUF", "move the word to DVE, or use an integer operation";

    TTR_1 H "TR-1 to TR-9, TR-11, TR-12", "see the inner rule";
    TTR_2 H "CH-4", "see the inner rule";
    TTR_3 H "CNT-3 for src", "see the inner rule";
    TTR_4 L "TR-10", "see the inner rule";
    TTR_5 L "no data type is 64-bit", "use 32-bit data types";
    TTR_E1 M "TR-E1, TR-E2", "see the inner rule";

    RB_1 H "the target is SUNDA", "use TensorReduceArithOp";
    RB_2 H "in_dtype is BFLOAT16 and out_dtype an output data type", "use TensorReduceArithOp for other data types";
    RB_3 H "the source is packed in pairs: address a multiple of 4, num_elem[0] even, step_elem[0] = 1", "make the innermost dimension contiguous and even";
    RB_4 M "TR-5 to TR-10, and op is ADD for 0x8c, MAX for 0x8d", "see the inner rule";
}

/// 0x42.
pub(crate) fn arith(c: &mut Checker) {
    c.tensor_reduce(|c, b, t| c.reduce(b, t, false));
}

/// 0x52.
pub(crate) fn bitvec(c: &mut Checker) {
    c.tensor_reduce(|c, b, t| c.reduce(b, t, true));
}

/// 0x83.
pub(crate) fn transpose_arith(c: &mut Checker) {
    c.tensor_reduce(|c, b, t| c.transpose_reduce(b, t, false));
}

/// 0x84.
pub(crate) fn transpose_bitvec(c: &mut Checker) {
    c.tensor_reduce(|c, b, t| c.transpose_reduce(b, t, true));
}

/// 0x8c.
pub(crate) fn packed_add(c: &mut Checker) {
    c.tensor_reduce(|c, b, t| c.packed_reduce(b, t, AluOp::Add));
}

/// 0x8d.
pub(crate) fn packed_max(c: &mut Checker) {
    c.tensor_reduce(|c, b, t| c.packed_reduce(b, t, AluOp::Max));
}

impl Checker<'_> {
    /// 0x42, 0x52: TR-1 to TR-13, then the engine.
    #[inline(always)]
    fn reduce(&mut self, b: &TensorReduce, t: &Two, bitvec: bool) -> EngineRules {
        let op = self.reduce_rules(b, t, None, bitvec);
        self.kept_count(b, t, Under::new(&rules::TR_10));
        self.reduce_types(b, op, None, bitvec);
        self.indirect_reduce(b, t);
        self.reduce_engine(b, op, None, bitvec)
    }

    /// TR-1 to TR-9; the operation, where it exists.
    #[inline(always)]
    fn reduce_rules(
        &mut self,
        b: &TensorReduce,
        t: &Two,
        outer: Option<&'static Rule>,
        bitvec: bool,
    ) -> Option<AluOp> {
        let g = self.generation;
        let under = |own| Under::inside(outer, own);
        self.dtype(b.in_dtype, under(&rules::TR_1), &f::in_dtype, Dtype::is_input_64);
        self.dtype(b.out_dtype, under(&rules::TR_1), &f::out_dtype, Dtype::is_output_64);
        let op = self.defined_op(b.op, under(&rules::TR_2), &f::op);
        if bitvec {
            self.op(op, under(&rules::TR_4), &f::op, AluOp::is_bitvec);
        } else {
            self.op(op, under(&rules::TR_3), &f::op, |op| {
                op.is_general_arith(g) || op.is_tensor_reduce_int()
            });
        }
        self.flags_and_placement(b, t, outer, bitvec);
        op
    }

    /// TR-5 to TR-9.
    #[inline(always)]
    fn flags_and_placement(
        &mut self,
        b: &TensorReduce,
        t: &Two,
        outer: Option<&'static Rule>,
        bitvec: bool,
    ) {
        let under = |own| Under::inside(outer, own);
        self.reduced_dims(b, under(&rules::TR_5));
        let (negated_ok, allowed) =
            if bitvec { (b.negated == 0, "0") } else { (b.negated <= 1, "0 or 1") };
        self.require(negated_ok, under(&rules::TR_6), &f::negated, allowed);
        self.require(b.mask_enable == 0, under(&rules::TR_7), &f::mask_enable, "0");
        let tr8 = under(&rules::TR_8);
        let channels =
            self.channels(b.num_active_channels, &f::num_active_channels, tr8, &rule::CH_2);
        self.two_placed(t, channels, tr8, under(&rules::TR_9));
    }

    /// TR-10. Not tested when op_dim is invalid or a count is not known.
    #[inline(always)]
    fn kept_count(&mut self, b: &TensorReduce, t: &Two, under: Under) {
        let Some(dims) = SubDim::from_code(b.op_dim).map(SubDim::dims).filter(|&dims| dims > 0)
        else {
            return;
        };
        let (Some(_), Some(found)) = (t.src.count(), t.dst.count()) else {
            return;
        };
        // An indirect source has one dimension, and op_dim X reduces it (IND-4).
        let kept = if t.src.is_indirect() { 1 } else { t.src.kept(dims) };
        if found != kept {
            self.fail(under, t.dst.field, move || format!("{kept} elements, not {found}"));
        }
    }

    /// TR-11, TR-12.
    #[inline(always)]
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
            self.bitvec_types(input, output, op, Under::inside(outer, &rules::TR_11));
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
            let under = Under::inside(outer, &rules::TR_12);
            let allowed = "a 32- or 64-bit integer of the operation's signedness";
            self.require(input_ok, under, &f::in_dtype, allowed);
            self.require(output == expected, under, &f::out_dtype, expected.name());
        }
    }

    /// TR-11, TC-10: what a bitvec reduction or scan works on.
    pub(super) fn bitvec_types(
        &mut self,
        input: Dtype,
        output: Dtype,
        op: Option<AluOp>,
        under: Under,
    ) {
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
    #[inline(always)]
    fn indirect_reduce(&mut self, b: &TensorReduce, t: &Two) {
        if t.src.is_indirect() && b.op_dim != SubDim::X.code() {
            let allowed = || "X".into();
            self.fail_inside(Under::new(&rules::TR_13), &[&rule::IND_4], &f::op_dim, allowed);
        }
    }

    /// TR-E1, TR-E2; the rule that names SBUF.
    #[inline(always)]
    fn reduce_engine(
        &mut self,
        b: &TensorReduce,
        op: Option<AluOp>,
        outer: Option<&'static Rule>,
        bitvec: bool,
    ) -> EngineRules {
        let dtypes = [(b.in_dtype, &f::in_dtype), (b.out_dtype, &f::out_dtype)];
        if self.is_on(Engine::Dve) {
            let under = Under::inside(outer, &rules::TR_E1);
            self.op(op, under, &f::op, |op| !op.is_tensor_reduce_int());
            for (code, field) in dtypes {
                self.require(!is_wide(code), under, field, "at most 32 bits");
            }
        }
        if bitvec {
            return EngineRules::SHARED;
        }
        let under = Under::inside(outer, &rules::TR_E2);
        if self.is_on(Engine::Pool) {
            self.op(op, under, &f::op, AluOp::is_tensor_reduce_int);
            let input = Dtype::from_code(b.in_dtype).filter(|d| d.is_output_64());
            let ok = input.is_none_or(|d| d.is_int32() || d.is_64_bit());
            self.require(ok, under, &f::in_dtype, "a 32- or 64-bit integer");
        }
        EngineRules::sbuf_under(under)
    }

    /// 0x83, 0x84.
    #[inline(always)]
    fn transpose_reduce(&mut self, b: &TensorReduce, t: &Two, bitvec: bool) -> EngineRules {
        let ttr1 = Some(&rules::TTR_1);
        let op = self.reduce_rules(b, t, ttr1, bitvec);
        self.reduce_types(b, op, ttr1, bitvec);
        let under = Under::new(&rules::TTR_2);
        self.whole_blocks(b.num_active_channels, &f::num_active_channels, under);
        self.whole_tiles(&t.src, Under::new(&rules::TTR_3));
        self.kept_count(b, t, Under::inside(Some(&rules::TTR_4), &rules::TR_10));
        for (code, field) in [(b.in_dtype, &f::in_dtype), (b.out_dtype, &f::out_dtype)] {
            self.require(!is_wide(code), Under::new(&rules::TTR_5), field, "at most 32 bits");
        }
        self.not_indirect(&t.src, Under::new(&rules::TTR_1));
        self.reduce_engine(b, op, Some(&rules::TTR_E1), bitvec)
    }

    /// 0x8c, 0x8d.
    fn packed_reduce(&mut self, b: &TensorReduce, t: &Two, op: AluOp) -> EngineRules {
        let rb2 = Under::new(&rules::RB_2);
        self.dtype(b.in_dtype, rb2, &f::in_dtype, |d| d == Dtype::Bfloat16);
        self.dtype(b.out_dtype, rb2, &f::out_dtype, Dtype::is_output);
        let packed = t.src.is_aligned(4) && is_packed(&t.src);
        let allowed = "an address that is a multiple of 4, an even innermost count of step 1";
        self.require(packed, Under::new(&rules::RB_3), t.src.field, allowed);
        let rb4 = Some(&rules::RB_4);
        self.flags_and_placement(b, t, rb4, false);
        self.kept_count(b, t, Under::inside(rb4, &rules::TR_10));
        self.require(b.op == op.code(), Under::new(&rules::RB_4), &f::op, op.name());
        EngineRules::SHARED
    }
}
