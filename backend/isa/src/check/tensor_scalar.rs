//! Rules TS, TP, TTS, CA and EX (ISA 9.14 to 9.18): a tensor with two immediates.

use super::address::Operand;
use super::checker::{Checker, Under};
use super::immediate::{Immediate, Scalar};
use super::tensor_reduce::{Two, is_single_pass};
use crate::alu::AluOp;
use crate::dtype::Dtype;
use crate::enums::{AccumCmd, ReverseOps};
use crate::layout::{TensorScalar, tensor_scalar as f};
use crate::opcode::Opcode;
use crate::rule::{self, Rule};
use crate::target::{Engine, Generation};

/// A tensor-scalar word with what its rules keep asking for.
struct Parts<'a> {
    two: Two<'a>,
    /// Where they exist on the target.
    ops: [Option<AluOp>; 2],
    imms: [Immediate; 2],
    /// For pointers: the channel count if it is legal.
    channels: Option<u32>,
}

impl Checker<'_> {
    pub fn tensor_scalar(&mut self, b: &TensorScalar) {
        use Opcode::*;
        let g = self.generation;
        let n = b.num_active_channels;
        let p = Parts {
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
            channels: (1..=128).contains(&n).then(|| n.into()),
        };
        let mut own_engine = None;
        let mut reserved_rule = None;
        match self.opcode {
            Some(TensorScalarArithOp | TensorScalarBitvecOp) => {
                self.scalar_rules(b, &p, None);
                own_engine = self.scalar_engine(&p);
            }
            _ if self.is_pointer_form() => {
                self.pointer_form(b, &p);
                self.scalar_rules(b, &p, Some(&rule::TP_3));
                self.warn_deprecated();
            }
            Some(TransposeTensorScalarArithOp) => {
                self.scalar_rules(b, &p, Some(&rule::TTS_1));
                self.whole_blocks(n, &f::num_active_channels, Under::new(&rule::TTS_2));
                self.whole_tiles(&p.two.src, Under::new(&rule::TTS_3));
                self.not_indirect(&p.two.src, Under::new(&rule::TTS_1));
            }
            Some(Exponential) => {
                self.exponential(b, &p);
                reserved_rule = Some(&rule::EX_1);
            }
            _ => {
                self.cache(b, &p);
                reserved_rule = Some(&rule::CA_11);
            }
        }
        self.reserved(&b.reserved0, &f::reserved0, reserved_rule);
        let dtypes = [(b.in_dtype, &f::in_dtype), (b.out_dtype, &f::out_dtype)];
        self.engines(&[&p.two.src, &p.two.dst], &dtypes, own_engine);
        self.overlap(&p.two.src, &p.two.dst, n.into());
    }

    /// TS-1 to TS-14, for 0x43 and 0x53 and, inside TP-3 and TTS-1, for their relatives.
    fn scalar_rules(&mut self, b: &TensorScalar, p: &Parts, outer: Option<&'static Rule>) {
        let under = |own| Under::inside(outer, own);
        let bitvec = matches!(
            self.opcode,
            Some(Opcode::TensorScalarBitvecOp | Opcode::TensorScalarPtrBitvecOp)
        );
        let input = self.dtype(b.in_dtype, under(&rule::TS_1), &f::in_dtype, Dtype::is_input);
        let output = self.dtype(b.out_dtype, under(&rule::TS_1), &f::out_dtype, Dtype::is_output);
        self.defined_op(b.op0, under(&rule::TS_2), &f::op0);
        self.defined_op(b.op1, under(&rule::TS_2), &f::op1);
        let fields = [&f::op0, &f::op1];
        for (op, field) in p.ops.into_iter().zip(fields) {
            self.op(op, under(&rule::TS_3), field, is_single_pass);
        }
        let bypass = AluOp::Bypass.code();
        let order_ok = b.op0 != bypass || b.op1 == bypass;
        self.require(order_ok, under(&rule::TS_4), &f::op0, "an operation, since op1 has one");
        if bitvec {
            for (op, field) in p.ops.into_iter().zip(fields) {
                self.op(op, under(&rule::TS_5), field, AluOp::is_general_bitvec);
            }
            if let (Some(input), Some(output)) = (input, output) {
                let same = input == output && input.is_int_datapath();
                let allowed = "one integer type of at most 32 bits for both";
                self.require(same, under(&rule::TS_7), &f::in_dtype, allowed);
            }
        } else if let [Some(op0), Some(op1)] = p.ops {
            self.arithmetic_form(op0, op1, p, input.zip(output), outer);
        }
        if !self.is_pointer_form() {
            let scalar = if bitvec { Scalar::Of(input) } else { Scalar::Fp32 };
            for imm in p.imms {
                self.immediate(imm, scalar, p.channels, under(&rule::TS_8));
            }
            for (op, imm) in p.ops.into_iter().zip(p.imms) {
                self.unused_immediate(op, imm);
            }
        }
        if bitvec {
            self.shifts(p.ops, fields, input, under(&rule::TS_9));
        }
        let reverse_ok = ReverseOps::from_code(b.reverse_operands).is_some();
        let allowed = "NONE, FIRST, SECOND, BOTH";
        self.require(reverse_ok, under(&rule::TS_10), &f::reverse_operands, allowed);
        let idle = b.accumulator_cmd == AccumCmd::Idle.code();
        self.require(idle, under(&rule::TS_11), &f::accumulator_cmd, "IDLE");
        self.scalar_placed(b, p, under(&rule::TS_12), under(&rule::TS_13));
    }

    /// CH-2, CH-3, TV and CNT-1 of source and destination. TS-14 is IND-3, tested with the operand.
    fn scalar_placed(&mut self, b: &TensorScalar, p: &Parts, starts: Under, tensors: Under) {
        let n = b.num_active_channels;
        let channels = self.channels(n, &f::num_active_channels, starts, &rule::CH_2);
        self.two_placed(&p.two, channels, starts, tensors);
        self.same_count(&p.two.src, &p.two.dst, tensors);
    }

    /// TS-6: one of its three forms, and the id that it says to report when none holds.
    fn arithmetic_form(
        &mut self,
        op0: AluOp,
        op1: AluOp,
        p: &Parts,
        dtypes: Option<(Dtype, Dtype)>,
        outer: Option<&'static Rule>,
    ) {
        let g = self.generation;
        let general = |op: AluOp| op.is_general_arith(g);
        let pointers = self.is_pointer_form();
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
            self.fail(under(&rule::TS_6B), &f::op0, || {
                "RSQRT alone: op1 BYPASS, both immediates 0 in the word".into()
            });
        } else if integers && (op0.is_integer_band() || op1.is_integer_band()) {
            let both = op0.is_int_dve() && op1.is_int_dve();
            let field = if both { &f::in_dtype } else { &f::op0 };
            self.fail(under(&rule::TS_6C), field, || {
                "integer operations of the DVE on integers of one signedness".into()
            });
        } else {
            for (op, field) in [(op0, &f::op0), (op1, &f::op1)] {
                self.op(Some(op), under(&rule::TS_6A), field, general);
            }
        }
    }

    /// TS-E1 for 0x43 and 0x53.
    fn scalar_engine(&mut self, p: &Parts) -> Option<Under> {
        let arith = self.opcode == Some(Opcode::TensorScalarArithOp);
        let under = Under::new(&rule::TS_E1);
        let ok = match self.engine {
            None | Some(Engine::Dve) => true,
            Some(Engine::Pool) => arith && is_rsqrt_form(p),
            Some(_) => false,
        };
        self.require(ok, under, &f::op0, "any form on dve; the RSQRT form of 0x43 on pool");
        arith.then_some(under)
    }

    /// 0x44 and 0x54, whose immediates are always pointers.
    fn is_pointer_form(&self) -> bool {
        matches!(
            self.opcode,
            Some(Opcode::TensorScalarPtrArithOp | Opcode::TensorScalarPtrBitvecOp)
        )
    }

    /// TP-1, TP-2.
    fn pointer_form(&mut self, b: &TensorScalar, p: &Parts) {
        for imm in p.imms {
            let under = Under::new(&rule::TP_1);
            self.require(imm.source == 0, under, imm.source_field, "INSTRUCTION");
        }
        let bitvec = self.opcode == Some(Opcode::TensorScalarPtrBitvecOp);
        let input = Dtype::from_code(b.in_dtype).filter(|d| d.is_output_64());
        let scalar = if bitvec { Scalar::Of(input) } else { Scalar::Fp32 };
        for imm in p.imms {
            self.pointer(imm, scalar, p.channels, Under::new(&rule::TP_2));
        }
    }

    fn warn_deprecated(&mut self) {
        let field = &crate::layout::header::opcode;
        self.warn(&rule::DEP_1, field, || "0x43 or 0x53 with POINTER immediates".into());
    }

    /// 0x9a, 0xe6.
    fn cache(&mut self, b: &TensorScalar, p: &Parts) {
        let g = self.generation;
        let ca1 = Under::new(&rule::CA_1);
        let op0 = self.defined_op(b.op0, ca1, &f::op0);
        self.op(op0, ca1, &f::op0, |op| op.is_general_arith(g));
        let ca2 = Under::new(&rule::CA_2);
        let op1 = self.defined_op(b.op1, ca2, &f::op1);
        self.op(op1, ca2, &f::op1, AluOp::is_cache_reduce);
        self.dtype(b.in_dtype, Under::new(&rule::CA_3), &f::in_dtype, |d| {
            d.is_float_datapath() || d.is_int() && d.size() <= 2
        });
        self.dtype(b.out_dtype, Under::new(&rule::CA_4), &f::out_dtype, Dtype::is_output);
        let command = AccumCmd::from_code(b.accumulator_cmd);
        let command_ok = matches!(
            command,
            Some(AccumCmd::Accumulate | AccumCmd::ZeroAccumulate | AccumCmd::LoadAccumulate)
        );
        let allowed = "ACCUMULATE, ZERO_ACCUMULATE, LOAD_ACCUMULATE";
        self.require(command_ok, Under::new(&rule::CA_5), &f::accumulator_cmd, allowed);
        let ca6 = Under::new(&rule::CA_6);
        self.require(b.reverse_operands == 0, ca6, &f::reverse_operands, "NONE");
        let [imm0, imm1] = p.imms;
        self.immediate(imm0, Scalar::Fp32, p.channels, Under::new(&rule::CA_7));
        self.seed(command, imm1, p.channels, Under::new(&rule::CA_8));
        self.scalar_placed(b, p, Under::new(&rule::CA_9), Under::new(&rule::CA_10));
        self.unused_immediate(op0, imm0);
    }

    /// imm1 of the accumulating opcodes: the seed under LOAD_ACCUMULATE, else 0 in the word.
    fn seed(
        &mut self,
        command: Option<AccumCmd>,
        imm: Immediate,
        channels: Option<u32>,
        under: Under,
    ) {
        if command == Some(AccumCmd::LoadAccumulate) {
            self.immediate(imm, Scalar::Fp32, channels, under);
        } else {
            let field = if imm.source == 0 { imm.field } else { imm.source_field };
            self.require(imm.is_zero(), under, field, "0 without LOAD_ACCUMULATE");
        }
    }

    /// 0x30.
    fn exponential(&mut self, b: &TensorScalar, p: &Parts) {
        let ex1 = Under::new(&rule::EX_1);
        self.bypass(b.op0, ex1, &f::op0);
        self.bypass(b.op1, ex1, &f::op1);
        self.require(b.reverse_operands == 0, ex1, &f::reverse_operands, "NONE");
        let ex2 = Under::new(&rule::EX_2);
        let input = self.dtype(b.in_dtype, ex2, &f::in_dtype, Dtype::is_input);
        self.dtype(b.out_dtype, ex2, &f::out_dtype, Dtype::is_output);
        let [imm0, imm1] = p.imms;
        self.immediate(imm0, Scalar::Fp32, p.channels, Under::new(&rule::EX_3));
        let ex4 = Under::new(&rule::EX_4);
        match AccumCmd::from_code(b.accumulator_cmd) {
            None | Some(AccumCmd::Zero) => {
                self.fail(ex4, &f::accumulator_cmd, || {
                    "IDLE, ACCUMULATE, ZERO_ACCUMULATE, LOAD_ACCUMULATE".into()
                });
            }
            command => self.seed(command, imm1, p.channels, ex4),
        }
        self.scalar_placed(b, p, Under::new(&rule::EX_5), Under::new(&rule::EX_6));
        if b.accumulator_cmd != AccumCmd::Idle.code() {
            let src = &p.two.src;
            let even_or_spread = src.dimension(0).is_none_or(|(step, n)| step != 1 || n % 2 == 0);
            let ok = input.is_none_or(|d| d.size() == 4) || even_or_spread;
            let allowed = "an even innermost count";
            self.require(ok, Under::new(&rule::EX_7), src.field, allowed);
            let one_or_even = |d: usize| src.dimension(d).is_none_or(|(_, n)| n == 1 || n % 2 == 0);
            let ok = one_or_even(1) && one_or_even(2);
            let allowed = "upper counts of 1 or even";
            self.require(ok, Under::new(&rule::EX_8), src.field, allowed);
        }
    }
}

/// TS-6b.
fn is_rsqrt_form(p: &Parts) -> bool {
    p.ops == [Some(AluOp::Rsqrt), Some(AluOp::Bypass)] && p.imms.iter().all(Immediate::is_zero)
}
