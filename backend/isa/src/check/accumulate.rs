//! Rules CA and EX (ISA 9.17, 9.18): the opcodes that use the accumulator of the DVE.

use super::checker::{Checker, Under};
use super::engines::EngineRules;
use super::immediate::{Immediate, Scalar};
use super::tensor_scalar::Parts;
use crate::alu::AluOp;
use crate::dtype::Dtype;
use crate::enums::AccumCmd;
use crate::layout::tensor_scalar as f;
use crate::rule::rule_table;

rule_table! {
    CA_1 H "op0 is general arithmetic", "use a general arithmetic operation";
    CA_2 H "op1 is ADD, SUBTRACT, MULT, MAX or MIN", "use one of these";
    CA_3 H "in_dtype is a float other than FP32R or an 8- or 16-bit integer", "use TensorCumulativeArithOp for 32-bit integers";
    CA_4 H "out_dtype is an output data type", "use a legal output data type";
    CA_5 H "accumulator_cmd is ACCUMULATE, ZERO_ACCUMULATE or LOAD_ACCUMULATE", "say where the running value starts";
    CA_6 H "reverse_operands is NONE", "write reverse_operands=NONE";
    CA_7 H "IMM-1, IMM-2, IMM-4, IMM-5 for imm0", "see the inner rule";
    CA_8 H "imm1 as imm0 under LOAD_ACCUMULATE, else imm1_src and imm1 are 0", "write 0, or use LOAD_ACCUMULATE";
    CA_9 H "CH-2, and CH-3 for src and dst", "see the inner rule";
    CA_10 H "TV-1 and TV-2 for src and dst, CNT-1", "see the inner rule";
    CA_11 H "reserved0 is 0", "write 0";

    EX_1 H "op0 and op1 are BYPASS, reverse_operands NONE, reserved0 0", "write the blank values";
    EX_2 H "in_dtype is an input and out_dtype an output data type", "use a legal data type";
    EX_3 H "IMM-1, IMM-2, IMM-4, IMM-5 for imm0", "see the inner rule";
    EX_4 H "accumulator_cmd is IDLE, ACCUMULATE or ZERO_ACCUMULATE with imm1_src and imm1 0, or LOAD_ACCUMULATE with a legal imm1", "write 0, or use LOAD_ACCUMULATE";
    EX_5 H "CH-2, and CH-3 for src and dst", "see the inner rule";
    EX_6 H "TV-1 and TV-2 for src and dst, CNT-1", "see the inner rule";
    EX_7 H "when accumulating: a 4-byte in_dtype, or step_elem[0] other than 1, or num_elem[0] even", "make the innermost count even";
    EX_8 L "when accumulating: num_elem[1] and num_elem[2] are each 1 or even", "make the upper counts 1 or even";
}

/// 0x9a, 0xe6.
pub(crate) fn cache(c: &mut Checker) {
    c.tensor_scalar(Some(&rules::CA_11), |c, p| {
        c.cache(p);
        EngineRules::SHARED
    });
}

/// 0x30.
pub(crate) fn exponential(c: &mut Checker) {
    c.tensor_scalar(Some(&rules::EX_1), |c, p| {
        c.exponential(p);
        EngineRules::SHARED
    });
}

impl Checker<'_> {
    /// 0x9a, 0xe6.
    #[inline(always)]
    fn cache(&mut self, p: &Parts) {
        let b = p.b;
        let g = self.generation;
        let ca1 = Under::new(&rules::CA_1);
        let op0 = self.defined_op(b.op0, ca1, &f::op0);
        self.op(op0, ca1, &f::op0, |op| op.is_general_arith(g));
        let ca2 = Under::new(&rules::CA_2);
        let op1 = self.defined_op(b.op1, ca2, &f::op1);
        self.op(op1, ca2, &f::op1, AluOp::is_cache_reduce);
        self.dtype(b.in_dtype, Under::new(&rules::CA_3), &f::in_dtype, |d| {
            d.is_float_datapath() || d.is_int() && d.size() <= 2
        });
        self.dtype(b.out_dtype, Under::new(&rules::CA_4), &f::out_dtype, Dtype::is_output);
        let command = AccumCmd::from_code(b.accumulator_cmd);
        let command_ok = matches!(
            command,
            Some(AccumCmd::Accumulate | AccumCmd::ZeroAccumulate | AccumCmd::LoadAccumulate)
        );
        let allowed = "ACCUMULATE, ZERO_ACCUMULATE, LOAD_ACCUMULATE";
        self.require(command_ok, Under::new(&rules::CA_5), &f::accumulator_cmd, allowed);
        let ca6 = Under::new(&rules::CA_6);
        self.require(b.reverse_operands == 0, ca6, &f::reverse_operands, "NONE");
        let [imm0, imm1] = p.imms;
        self.immediate(imm0, Scalar::Fp32, p.channels, Under::new(&rules::CA_7));
        self.seed(command, imm1, p.channels, Under::new(&rules::CA_8));
        self.scalar_placed(p, Under::new(&rules::CA_9), Under::new(&rules::CA_10));
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
    #[inline(always)]
    fn exponential(&mut self, p: &Parts) {
        let b = p.b;
        let ex1 = Under::new(&rules::EX_1);
        self.bypass(b.op0, ex1, &f::op0);
        self.bypass(b.op1, ex1, &f::op1);
        self.require(b.reverse_operands == 0, ex1, &f::reverse_operands, "NONE");
        let ex2 = Under::new(&rules::EX_2);
        let input = self.dtype(b.in_dtype, ex2, &f::in_dtype, Dtype::is_input);
        self.dtype(b.out_dtype, ex2, &f::out_dtype, Dtype::is_output);
        let [imm0, imm1] = p.imms;
        self.immediate(imm0, Scalar::Fp32, p.channels, Under::new(&rules::EX_3));
        let ex4 = Under::new(&rules::EX_4);
        match AccumCmd::from_code(b.accumulator_cmd) {
            None | Some(AccumCmd::Zero) => {
                self.fail(ex4, &f::accumulator_cmd, move || {
                    "IDLE, ACCUMULATE, ZERO_ACCUMULATE, LOAD_ACCUMULATE".into()
                });
            }
            command => self.seed(command, imm1, p.channels, ex4),
        }
        self.scalar_placed(p, Under::new(&rules::EX_5), Under::new(&rules::EX_6));
        if b.accumulator_cmd != AccumCmd::Idle.code() {
            let src = &p.two.src;
            let even_or_spread = src.dimension(0).is_none_or(|(step, n)| step != 1 || n % 2 == 0);
            let ok = input.is_none_or(|d| d.size() == 4) || even_or_spread;
            let allowed = "an even innermost count";
            self.require(ok, Under::new(&rules::EX_7), src.field, allowed);
            let one_or_even = |d: usize| src.dimension(d).is_none_or(|(_, n)| n == 1 || n % 2 == 0);
            let ok = one_or_even(1) && one_or_even(2);
            let allowed = "upper counts of 1 or even";
            self.require(ok, Under::new(&rules::EX_8), src.field, allowed);
        }
    }
}
