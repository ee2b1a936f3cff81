//! Rules TC (ISA 9.8): scans.

use super::checker::{Checker, Under};
use super::engines::EngineRules;
use super::two::Two;
use crate::alu::AluOp;
use crate::dtype::Dtype;
use crate::layout::{TensorReduce, header, tensor_reduce as f};
use crate::rule::{self, rule_table};
use crate::target::Engine;

rule_table! {
    TC_1 H "in_dtype is an input and out_dtype an output data type, not 64-bit", "use a legal data type";
    TC_2 H "op is defined on the target", "use an operation of this generation";
    TC_3 H "op is not DIVIDE, POW or MOD", "use another operation";
    TC_4 H "op is an arithmetic operation", "use an arithmetic operation, or the bitvec opcode";
    TC_5 H "op is a bitvec operation", "use a bitvec operation, or the arithmetic opcode";
    TC_6 H "op_dim is X, XY, XYZ or XYZW", "name the scanned dimensions";
    TC_7 H "CH-2, and CH-3 for src and dst", "see the inner rule";
    TC_8 H "TV-1 and TV-2 for src and dst, CNT-1", "see the inner rule";
    TC_9 H "negated and mask_enable are 0", "write 0";
    TC_10 H "in_dtype and out_dtype are equal and UINT8, UINT16, UINT32 or INT32; LOGICAL_SHIFT_RIGHT needs INT32, CRC32 a 16- or 32-bit type", "view the data as one of these types";
    TC_11 L "with an integer-band operation both data types are integers of one signedness", "fit the data types to the operation";
    TC_E1 H "the engine is DVE", "move the word to DVE";
}

/// 0x4e.
pub(crate) fn arith(c: &mut Checker) {
    c.tensor_reduce(|c, b, t| c.scan(b, t, false));
}

/// 0x5e.
pub(crate) fn bitvec(c: &mut Checker) {
    c.tensor_reduce(|c, b, t| c.scan(b, t, true));
}

/// TC-3, TS-3: DIVIDE, POW and MOD are refused.
pub(super) fn is_single_pass(op: AluOp) -> bool {
    !matches!(op, AluOp::Divide | AluOp::Pow | AluOp::Mod)
}

impl Checker<'_> {
    #[inline(always)]
    fn scan(&mut self, b: &TensorReduce, t: &Two, bitvec: bool) -> EngineRules {
        let g = self.generation;
        let tc1 = Under::new(&rules::TC_1);
        let input = self.dtype(b.in_dtype, tc1, &f::in_dtype, Dtype::is_input);
        let output = self.dtype(b.out_dtype, tc1, &f::out_dtype, Dtype::is_output);
        let op = self.defined_op(b.op, Under::new(&rules::TC_2), &f::op);
        self.op(op, Under::new(&rules::TC_3), &f::op, is_single_pass);
        if bitvec {
            self.op(op, Under::new(&rules::TC_5), &f::op, AluOp::is_bitvec);
        } else {
            self.op(op, Under::new(&rules::TC_4), &f::op, |op| op.is_arith(g));
        }
        self.reduced_dims(b, Under::new(&rules::TC_6));
        let tc7 = Under::new(&rules::TC_7);
        let channels =
            self.channels(b.num_active_channels, &f::num_active_channels, tc7, &rule::CH_2);
        let tc8 = Under::new(&rules::TC_8);
        self.two_placed(t, channels, tc7, tc8);
        self.same_count(&t.src, &t.dst, tc8);
        let tc9 = Under::new(&rules::TC_9);
        self.require(b.negated == 0, tc9, &f::negated, "0");
        self.require(b.mask_enable == 0, tc9, &f::mask_enable, "0");
        if let (Some(input), Some(output)) = (input, output) {
            if bitvec {
                self.bitvec_types(input, output, op, Under::new(&rules::TC_10));
            } else if op.is_some_and(AluOp::is_integer_band) {
                let under = Under::new(&rules::TC_11);
                let allowed = "two integers of one signedness";
                self.require(input.same_signedness(output), under, &f::in_dtype, allowed);
            }
        }
        if self.engine.is_some_and(|engine| engine != Engine::Dve) {
            self.fail(Under::new(&rules::TC_E1), &header::opcode, move || "dve".into());
        }
        EngineRules::SHARED
    }
}
