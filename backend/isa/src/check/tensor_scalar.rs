//! Rules TS, TP and TTS (ISA 9.14 to 9.16): a tensor with two immediates.

use super::address::{Operand, legal_channels};
use super::checker::{Checker, Under};
use super::engines::EngineRules;
use super::immediate::{Immediate, Scalar};
use super::scan::is_single_pass;
use super::two::Two;
use crate::alu::AluOp;
use crate::dtype::Dtype;
use crate::enums::{AccumCmd, ReverseOps};
use crate::layout::{TensorScalar, header, tensor_scalar as f};
use crate::rule::{self, Rule, rule_table};
use crate::target::{Engine, Generation};

rule_table! {
    TS_1 H "in_dtype is an input and out_dtype an output data type", "use a legal data type";
    TS_2 H "op0 and op1 are defined on the target", "use operations of this generation";
    TS_3 H "neither op is DIVIDE, POW or MOD", "use other operations";
    TS_4 H "op0 is not BYPASS unless op1 is", "move the operation to op0 and write op1=BYPASS";
    TS_5 H "both ops are bitvec operations other than CRC32", "use bitvec operations, or the arithmetic opcode";
    TS_6 L "at least one of TS-6a, TS-6b, TS-6c holds", "see the inner rule";
    TS_6A H "both ops are general arithmetic", "use general arithmetic operations, or the bitvec opcode";
    TS_6B H "op0 is RSQRT, op1 BYPASS, and both immediates are 0 in the word", "write op1=BYPASS, imm0=0, imm1=0";
    TS_6C H "both ops are integer operations of the MAVERICK DVE and the data types integers of one signedness", "use two integer operations and integers of one signedness";
    TS_7 H "in_dtype and out_dtype are the same integer of at most 32 bits", "use one integer data type";
    TS_8 H "IMM-1 to IMM-5 for imm0 and imm1", "see the inner rule";
    TS_9 H "SHF-1 and SHF-2", "see the inner rule";
    TS_10 H "reverse_operands is 0 to 3", "use NONE, FIRST, SECOND or BOTH";
    TS_11 H "accumulator_cmd is IDLE", "write accumulator_cmd=IDLE";
    TS_12 H "CH-2, and CH-3 for src and dst", "see the inner rule";
    TS_13 H "TV-1 and TV-2 for src and dst, CNT-1", "see the inner rule";
    TS_14 H "IND-3: the destination is not indirect", "see the inner rule";
    TS_15 L "an immediate that no operation uses is 0 in the word", "write 0";
    TS_E1 M "DVE, or the RSQRT form on POOL with all tensors in SBUF", "move the word to DVE";

    TP_1 H "imm0_src and imm1_src are 0", "write INSTRUCTION: the opcode itself says that both are pointers";
    TP_2 H "imm0 and imm1 obey IMM-4", "see the inner rule";
    TP_3 H "TS-1 to TS-5, TS-6a, TS-7, TS-9 to TS-14", "see the inner rule";

    DEP_1 H "the opcode is not deprecated", "use 0x43 or 0x53 with POINTER immediates";

    TTS_1 H "TS-1 to TS-4, TS-6, TS-8, TS-10 to TS-14", "see the inner rule";
    TTS_2 H "CH-4", "see the inner rule";
    TTS_3 H "CNT-3 for src", "see the inner rule";
}

/// A tensor-scalar word with what its rules keep asking for.
pub(super) struct Parts<'a> {
    pub b: &'a TensorScalar,
    pub two: Two<'a>,
    /// Where they exist on the target.
    pub ops: [Option<AluOp>; 2],
    pub imms: [Immediate; 2],
    /// For pointers: the channel count if it is legal.
    pub channels: Option<u32>,
}

/// What sets an opcode of this family apart from 0x43.
#[derive(Clone, Copy)]
struct Form {
    /// The rule that stands for the TS rules.
    outer: Option<&'static Rule>,
    bitvec: bool,
    /// Both immediates are pointers (0x44, 0x54).
    pointers: bool,
}

/// 0x43.
pub(crate) fn arith(c: &mut Checker) {
    let form = Form { outer: None, bitvec: false, pointers: false };
    c.tensor_scalar(None, |c, p| {
        c.scalar_rules(p, form);
        c.scalar_engine(is_rsqrt_form(p));
        EngineRules::sbuf_under(Under::new(&rules::TS_E1))
    });
}

/// 0x53.
pub(crate) fn bitvec(c: &mut Checker) {
    let form = Form { outer: None, bitvec: true, pointers: false };
    c.tensor_scalar(None, |c, p| {
        c.scalar_rules(p, form);
        c.scalar_engine(false);
        EngineRules::SHARED
    });
}

/// 0x44.
pub(crate) fn pointer_arith(c: &mut Checker) {
    c.pointer_form(false);
}

/// 0x54.
pub(crate) fn pointer_bitvec(c: &mut Checker) {
    c.pointer_form(true);
}

/// 0x93.
pub(crate) fn transpose(c: &mut Checker) {
    let form = Form { outer: Some(&rules::TTS_1), bitvec: false, pointers: false };
    c.tensor_scalar(None, |c, p| {
        c.scalar_rules(p, form);
        let n = p.b.num_active_channels;
        c.whole_blocks(n, &f::num_active_channels, Under::new(&rules::TTS_2));
        c.whole_tiles(&p.two.src, Under::new(&rules::TTS_3));
        c.not_indirect(&p.two.src, Under::new(&rules::TTS_1));
        EngineRules::SHARED
    });
}

impl Checker<'_> {
    /// An opcode of S3D3_TS: `own` are its rules; `reserved` is the one that names the reserved bytes.
    #[inline(always)]
    pub(super) fn tensor_scalar(
        &mut self,
        reserved: Option<&'static Rule>,
        own: impl FnOnce(&mut Self, &Parts) -> EngineRules,
    ) {
        let b = &TensorScalar::decode(&self.word.0);
        let g = self.generation;
        let p = Parts {
            b,
            two: Two {
                src: Operand::new(&b.src_mem_pattern, &f::src_mem_pattern, b.in_dtype, false, g),
                dst: Operand::new(&b.dst_mem_pattern, &f::dst_mem_pattern, b.out_dtype, true, g),
            },
            ops: [self.existing_op(b.op0), self.existing_op(b.op1)],
            imms: [
                Immediate {
                    bits: b.imm0,
                    field: &f::imm0,
                    source: b.imm0_src,
                    source_field: &f::imm0_src,
                },
                Immediate {
                    bits: b.imm1,
                    field: &f::imm1,
                    source: b.imm1_src,
                    source_field: &f::imm1_src,
                },
            ],
            channels: legal_channels(b.num_active_channels),
        };
        let engines = own(self, &p);
        self.reserved(&b.reserved0, &f::reserved0, reserved);
        let dtypes = [(b.in_dtype, &f::in_dtype), (b.out_dtype, &f::out_dtype)];
        self.engines([&p.two.src, &p.two.dst], dtypes, engines);
        self.overlap(&p.two.src, &p.two.dst, b.num_active_channels.into());
    }

    /// TS-1 to TS-14, for 0x43 and 0x53 and, inside TP-3 and TTS-1, for their relatives.
    #[inline(always)]
    fn scalar_rules(&mut self, p: &Parts, form: Form) {
        let Form { outer, bitvec, pointers } = form;
        let under = |own| Under::inside(outer, own);
        let b = p.b;
        let input = self.dtype(b.in_dtype, under(&rules::TS_1), &f::in_dtype, Dtype::is_input);
        let output = self.dtype(b.out_dtype, under(&rules::TS_1), &f::out_dtype, Dtype::is_output);
        self.defined_op(b.op0, under(&rules::TS_2), &f::op0);
        self.defined_op(b.op1, under(&rules::TS_2), &f::op1);
        let fields = [&f::op0, &f::op1];
        for (op, field) in p.ops.into_iter().zip(fields) {
            self.op(op, under(&rules::TS_3), field, is_single_pass);
        }
        let bypass = AluOp::Bypass.code();
        let order_ok = b.op0 != bypass || b.op1 == bypass;
        self.require(order_ok, under(&rules::TS_4), &f::op0, "an operation, since op1 has one");
        if bitvec {
            for (op, field) in p.ops.into_iter().zip(fields) {
                self.op(op, under(&rules::TS_5), field, AluOp::is_general_bitvec);
            }
            if let (Some(input), Some(output)) = (input, output) {
                let same = input == output && input.is_int_datapath();
                let allowed = "one integer type of at most 32 bits for both";
                self.require(same, under(&rules::TS_7), &f::in_dtype, allowed);
            }
        } else if let [Some(op0), Some(op1)] = p.ops {
            self.arithmetic_form([op0, op1], p, input.zip(output), form);
        }
        if !pointers {
            let scalar = if bitvec { Scalar::Of(input) } else { Scalar::Fp32 };
            for imm in p.imms {
                self.immediate(imm, scalar, p.channels, under(&rules::TS_8));
            }
            for (op, imm) in p.ops.into_iter().zip(p.imms) {
                self.unused_immediate(op, imm);
            }
        }
        if bitvec {
            self.shifts(p.ops, fields, input, under(&rules::TS_9));
        }
        let reverse_ok = ReverseOps::from_code(b.reverse_operands).is_some();
        let allowed = "NONE, FIRST, SECOND, BOTH";
        self.require(reverse_ok, under(&rules::TS_10), &f::reverse_operands, allowed);
        let idle = b.accumulator_cmd == AccumCmd::Idle.code();
        self.require(idle, under(&rules::TS_11), &f::accumulator_cmd, "IDLE");
        // IND-3 of the destination is TS-14 here; what follows does not report it again.
        if p.two.dst.is_indirect() {
            self.direct_destination(&p.two.dst, under(&rules::TS_14));
        }
        self.scalar_placed(p, under(&rules::TS_12), under(&rules::TS_13));
    }

    /// CH-2, CH-3, TV and CNT-1 of source and destination.
    #[inline(always)]
    pub(super) fn scalar_placed(&mut self, p: &Parts, starts: Under, tensors: Under) {
        let n = p.b.num_active_channels;
        let channels = self.channels(n, &f::num_active_channels, starts, &rule::CH_2);
        self.two_placed(&p.two, channels, starts, tensors);
        self.same_count(&p.two.src, &p.two.dst, tensors);
    }

    /// TS-6: one of its three forms, and the id that it says to report when none holds.
    #[inline(always)]
    fn arithmetic_form(
        &mut self,
        [op0, op1]: [AluOp; 2],
        p: &Parts,
        dtypes: Option<(Dtype, Dtype)>,
        form: Form,
    ) {
        let Form { outer, pointers, .. } = form;
        let g = self.generation;
        let general = |op: AluOp| op.is_general_arith(g);
        if general(op0) && general(op1) {
            return;
        }
        let integers = g == Generation::Maverick && !pointers;
        if !pointers && is_rsqrt_form(p) {
            return;
        }
        let signedness_ok = dtypes.is_none_or(|(input, output)| input.same_signedness(output));
        if integers && op0.is_int_dve() && op1.is_int_dve() && signedness_ok {
            return;
        }
        let under = |own| Under::inside(outer, own);
        if op0 == AluOp::Rsqrt && !pointers {
            self.fail(under(&rules::TS_6B), &f::op0, move || {
                "RSQRT alone: op1 BYPASS, both immediates 0 in the word".into()
            });
        } else if integers && (op0.is_integer_band() || op1.is_integer_band()) {
            let both = op0.is_int_dve() && op1.is_int_dve();
            let field = if both { &f::in_dtype } else { &f::op0 };
            self.fail(under(&rules::TS_6C), field, move || {
                "integer operations of the DVE on integers of one signedness".into()
            });
        } else {
            for (op, field) in [(op0, &f::op0), (op1, &f::op1)] {
                self.op(Some(op), under(&rules::TS_6A), field, general);
            }
        }
    }

    /// TS-E1 for 0x43 and 0x53.
    fn scalar_engine(&mut self, fits_pool: bool) {
        let ok = match self.engine {
            None | Some(Engine::Dve) => true,
            Some(Engine::Pool) => fits_pool,
            Some(_) => false,
        };
        let allowed = "any form on dve; the RSQRT form of 0x43 on pool";
        self.require(ok, Under::new(&rules::TS_E1), &f::op0, allowed);
    }

    /// 0x44, 0x54: TP-1 and TP-2, and TP-3 for the rules of 0x43 or 0x53.
    fn pointer_form(&mut self, bitvec: bool) {
        self.tensor_scalar(None, |c, p| {
            for imm in p.imms {
                let under = Under::new(&rules::TP_1);
                c.require(imm.source == 0, under, imm.source_field, "INSTRUCTION");
            }
            let input = Dtype::from_code(p.b.in_dtype).filter(|d| d.is_output_64());
            let scalar = if bitvec { Scalar::Of(input) } else { Scalar::Fp32 };
            for imm in p.imms {
                c.pointer(imm, scalar, p.channels, Under::new(&rules::TP_2));
            }
            c.scalar_rules(p, Form { outer: Some(&rules::TP_3), bitvec, pointers: true });
            let instead = || "0x43 or 0x53 with POINTER immediates".into();
            c.warn(&rules::DEP_1, &header::opcode, instead);
            EngineRules::SHARED
        });
    }
}

/// TS-6b.
fn is_rsqrt_form(p: &Parts) -> bool {
    p.ops == [Some(AluOp::Rsqrt), Some(AluOp::Bypass)] && p.imms.iter().all(Immediate::is_zero)
}
