//! Rules TT, CP, BB and TB (ISA 9.1, 9.3, 9.4): the opcodes of S3S3D3_TT.

use super::checker::{Checker, Under};
use super::engines::{EngineRules, OnPool};
use super::three::{Placing, Three, is_packed};
use crate::alu::AluOp;
use crate::dtype::Dtype;
use crate::layout::{TensorTensor, tensor_tensor as f};
use crate::rule::rule_table;
use crate::target::Engine;

rule_table! {
    TT_1 H "out_dtype is an output data type, 64-bit integers included", "use a legal output data type";
    TT_2 H "both sources are input data types, 64-bit integers included", "use a legal input data type";
    TT_3 H "op is defined on the target", "use an operation of this generation";
    TT_4 H "op is general arithmetic, POW or an integer operation", "use another operation, or the bitvec opcode";
    TT_5 H "op is a general bitvec operation", "use a bitvec operation, or the arithmetic opcode";
    TT_6 H "an integer operation has three integer data types of the signedness that the operation works on", "make all data types signed or all unsigned, to fit the operation";
    TT_7 H "out_dtype is an integer", "use an integer data type";
    TT_8 H "the three data types are equal, or the operation shifts a 64-bit integer by UINT32 counts", "use one data type";
    TT_9 H "CH-1", "see the inner rule";
    TT_10 H "CH-3 for src0, src1 and dst", "see the inner rule";
    TT_11 H "TV-1 and TV-2 for src0, src1 and dst", "see the inner rule";
    TT_12 H "CNT-1 for src0 and src1", "see the inner rule";
    TT_13 H "CNT-1 for src0 and dst", "see the inner rule";
    TT_14 H "ADR-6 for src0 and src1", "see the inner rule";
    TT_15 L "if one data type is 64-bit, all three are 64-bit integers of one signedness", "convert the other operands to the same 64-bit type";
    TT_E1 H "on DVE op is neither POW nor an integer operation, and no data type is 64-bit", "move the word to POOL";
    TT_E2 H "on POOL all tensors are in SBUF and op is POW, ADD, SUBTRACT, MULT, or an integer operation with three 32-bit or three 64-bit integers", "move the word to DVE";
    TT_E3 M "DVE has no 64-bit data type; POOL has 32- and 64-bit integers in SBUF", "move the word to the other engine";
    TT_E4 H "64-bit data types need CAYMAN or later", "split into 32-bit halves";

    CP_1 H "op is BYPASS", "write op=BYPASS";
    CP_2 H "src0, the predicate, is an integer of at most 32 bits", "use an integer predicate";
    CP_3 H "src1 is an input data type and out_dtype is not FP32R", "use a legal data type";
    CP_4 H "src1 and out_dtype are equal", "use CastPredicated to convert";
    CP_5 H "CH-1, and CH-3 for the three operands", "see the inner rule";
    CP_6 H "TV-1 and TV-2 for the three patterns", "see the inner rule";
    CP_7 H "CNT-1 for (src0, src1) and (src0, dst)", "see the inner rule";
    CP_8 H "ADR-6 for src0 and src1", "see the inner rule";

    BB_1 H "op is BYPASS", "write op=BYPASS";
    BB_2 H "the sources are input data types and the output an output data type", "use FP16, BFLOAT16 or FP32";
    BB_3 H "CH-1, CH-3, TV-1 and TV-2 for the three patterns", "see the inner rule";

    TB_1 H "the target is SUNDA", "use TensorTensorArithOp";
    TB_2 H "both sources are BFLOAT16", "use TensorTensorArithOp for other data types";
    TB_3 H "op is ADD for 0x8a, MULT for 0x8b, SUBTRACT for 0x8f", "write the operation of the opcode";
    TB_4 H "out_dtype is an output data type", "use a legal output data type";
    TB_5 H "sources are packed in pairs: num_elem[0] even, step_elem[0] = 1, further steps even", "make the innermost dimension contiguous and even";
    TB_6 H "CH-1, and CH-3 for the three operands", "see the inner rule";
    TB_7 H "TV-1 and TV-2 for the three patterns; source addresses are multiples of 4", "see the inner rule";
    TB_8 H "CNT-1 for (src0, src1) and (src0, dst)", "see the inner rule";
    TB_9 H "ADR-6 for src0 and src1", "see the inner rule";
}

static TT: Placing = Placing {
    channels: &rules::TT_9,
    starts: &rules::TT_10,
    tensors: &rules::TT_11,
    counts: Some([&rules::TT_12, &rules::TT_13]),
    together: Some(&rules::TT_14),
    source_align: None,
};
static CP: Placing = Placing {
    channels: &rules::CP_5,
    starts: &rules::CP_5,
    tensors: &rules::CP_6,
    counts: Some([&rules::CP_7, &rules::CP_7]),
    together: Some(&rules::CP_8),
    source_align: None,
};
// Counts and quadrants of 0x65 are not tested (OQ-52).
static BB: Placing = Placing {
    channels: &rules::BB_3,
    starts: &rules::BB_3,
    tensors: &rules::BB_3,
    counts: None,
    together: None,
    source_align: None,
};
static TB: Placing = Placing {
    channels: &rules::TB_6,
    starts: &rules::TB_6,
    tensors: &rules::TB_7,
    counts: Some([&rules::TB_8, &rules::TB_8]),
    together: Some(&rules::TB_9),
    source_align: Some(4),
};

/// 0x41.
pub(crate) fn arith(c: &mut Checker) {
    let own = |c: &mut Checker, b: &TensorTensor, pair, _: &Three| {
        let (dtypes, op) = c.tensor_tensor_types(b, pair);
        let g = c.generation;
        c.op(op, Under::new(&rules::TT_4), &f::op, |op| {
            op.is_general_arith(g) || op == AluOp::Pow || op.is_int()
        });
        if let (Some(op), Some(dtypes)) = (op.filter(|op| op.is_int()), dtypes) {
            let fits = op.is_signed() && dtypes.into_iter().all(Dtype::is_signed_int)
                || op.is_unsigned() && dtypes.into_iter().all(Dtype::is_unsigned_int);
            c.require(fits, Under::new(&rules::TT_6), &f::in0_in1_dtype, op_signedness(op));
        }
        (dtypes, op)
    };
    c.tensor_tensor(&TT, own, |c, (dtypes, op)| {
        if let Some(dtypes) = dtypes {
            c.arith_engine(op, dtypes);
        }
        let pool = OnPool::SbufUnder(Under::new(&rules::TT_E2));
        EngineRules { pool, wide_on_sunda: &rules::TT_E4 }
    });
}

/// 0x51.
pub(crate) fn bitvec(c: &mut Checker) {
    let own = |c: &mut Checker, b: &TensorTensor, pair, _: &Three| {
        let (dtypes, op) = c.tensor_tensor_types(b, pair);
        c.op(op, Under::new(&rules::TT_5), &f::op, AluOp::is_general_bitvec);
        if let Some([src0, src1, out]) = dtypes {
            c.require(out.is_int(), Under::new(&rules::TT_7), &f::out_dtype, "an integer type");
            let shifts_wide = op.is_some_and(AluOp::is_shift)
                && src0.is_64_bit()
                && src1 == Dtype::Uint32
                && out == src0;
            let same = src0 == src1 && src1 == out;
            let allowed = "one type for all three, or a 64-bit integer shifted by UINT32";
            c.require(same || shifts_wide, Under::new(&rules::TT_8), &f::in0_in1_dtype, allowed);
        }
        dtypes
    };
    c.tensor_tensor(&TT, own, |c, dtypes| {
        let under = Under::new(&rules::TT_E3);
        if let Some(dtypes) = dtypes {
            if c.is_on(Engine::Dve) {
                let narrow = !dtypes.into_iter().any(Dtype::is_64_bit);
                c.require(narrow, under, &f::in0_in1_dtype, "at most 32 bits");
            }
            if c.is_on(Engine::Pool) {
                let fits = dtypes.into_iter().all(|d| d.is_int32() || d.is_64_bit());
                c.require(fits, under, &f::in0_in1_dtype, "32- and 64-bit integers");
            }
        }
        EngineRules { pool: OnPool::SbufUnder(under), wide_on_sunda: &rules::TT_E4 }
    });
}

/// 0x72.
pub(crate) fn copy_predicated(c: &mut Checker) {
    let own = |c: &mut Checker, b: &TensorTensor, pair, _: &Three| {
        if let [Some(data), Some(out)] = c.predicated(b, pair) {
            c.require(data == out, Under::new(&rules::CP_4), &f::out_dtype, data.name());
        }
    };
    c.tensor_tensor(&CP, own, |_, ()| EngineRules::SHARED);
}

/// 0x99.
pub(crate) fn cast_predicated(c: &mut Checker) {
    c.tensor_tensor(&CP, |c, b, pair, _| c.predicated(b, pair), |_, _| EngineRules::SHARED);
}

/// 0x65.
pub(crate) fn batch_norm(c: &mut Checker) {
    let own = |c: &mut Checker, b: &TensorTensor, pair: [u8; 2], _: &Three| {
        c.bypass(b.op, Under::new(&rules::BB_1), &f::op);
        let under = Under::new(&rules::BB_2);
        for code in pair {
            c.dtype(code, under, &f::in0_in1_dtype, Dtype::is_input);
        }
        c.dtype(b.out_dtype, under, &f::out_dtype, Dtype::is_output);
    };
    c.tensor_tensor(&BB, own, |_, ()| EngineRules::SHARED);
}

/// 0x8a.
pub(crate) fn packed_add(c: &mut Checker) {
    c.packed(AluOp::Add);
}

/// 0x8b.
pub(crate) fn packed_mult(c: &mut Checker) {
    c.packed(AluOp::Mult);
}

/// 0x8f.
pub(crate) fn packed_subtract(c: &mut Checker) {
    c.packed(AluOp::Subtract);
}

impl Checker<'_> {
    /// TT-1 to TT-3: the dtypes, where all are legal, and the operation.
    #[inline(always)]
    fn tensor_tensor_types(
        &mut self,
        b: &TensorTensor,
        [d0, d1]: [u8; 2],
    ) -> (Option<[Dtype; 3]>, Option<AluOp>) {
        let under = Under::new(&rules::TT_1);
        let out = self.dtype(b.out_dtype, under, &f::out_dtype, Dtype::is_output_64);
        let under = Under::new(&rules::TT_2);
        let src0 = self.dtype(d0, under, &f::in0_in1_dtype, Dtype::is_input_64);
        let src1 = self.dtype(d1, under, &f::in0_in1_dtype, Dtype::is_input_64);
        let op = self.defined_op(b.op, Under::new(&rules::TT_3), &f::op);
        let dtypes = match (src0, src1, out) {
            (Some(src0), Some(src1), Some(out)) => Some([src0, src1, out]),
            _ => None,
        };
        (dtypes, op)
    }

    /// TT-15, TT-E1, TT-E2.
    #[inline(always)]
    fn arith_engine(&mut self, op: Option<AluOp>, dtypes: [Dtype; 3]) {
        let wide = dtypes.into_iter().any(Dtype::is_64_bit);
        if wide {
            let same = dtypes.into_iter().all(|d| d.is_64_bit() && d.same_signedness(dtypes[0]));
            let allowed = "three 64-bit integers of one signedness";
            self.require(same, Under::new(&rules::TT_15), &f::in0_in1_dtype, allowed);
        }
        if self.is_on(Engine::Dve) {
            let under = Under::new(&rules::TT_E1);
            self.op(op, under, &f::op, |op| op != AluOp::Pow && !op.is_int());
            self.require(!wide, under, &f::in0_in1_dtype, "at most 32 bits");
        }
        if self.is_on(Engine::Pool)
            && let Some(op) = op
        {
            let allowed = match op {
                AluOp::Pow | AluOp::Add | AluOp::Subtract | AluOp::Mult => true,
                _ if op.is_int() => {
                    dtypes.into_iter().all(Dtype::is_int32)
                        || dtypes.into_iter().all(Dtype::is_64_bit)
                }
                _ => false,
            };
            let text = "POW, ADD, SUBTRACT, MULT, or an integer operation on three 32-bit or three 64-bit integers";
            self.require(allowed, Under::new(&rules::TT_E2), &f::op, text);
        }
    }

    /// CP-1 to CP-3: the types of data and output, where they are legal.
    #[inline(always)]
    fn predicated(&mut self, b: &TensorTensor, [d0, d1]: [u8; 2]) -> [Option<Dtype>; 2] {
        self.bypass(b.op, Under::new(&rules::CP_1), &f::op);
        let under = Under::new(&rules::CP_2);
        self.dtype(d0, under, &f::in0_in1_dtype, Dtype::is_int_datapath);
        let under = Under::new(&rules::CP_3);
        [
            self.dtype(d1, under, &f::in0_in1_dtype, Dtype::is_input),
            self.dtype(b.out_dtype, under, &f::out_dtype, Dtype::is_input),
        ]
    }

    /// 0x8a, 0x8b, 0x8f.
    fn packed(&mut self, op: AluOp) {
        let own = |c: &mut Checker, b: &TensorTensor, pair: [u8; 2], t: &Three| {
            for code in pair {
                let under = Under::new(&rules::TB_2);
                c.dtype(code, under, &f::in0_in1_dtype, |d| d == Dtype::Bfloat16);
            }
            c.require(b.op == op.code(), Under::new(&rules::TB_3), &f::op, op.name());
            let under = Under::new(&rules::TB_4);
            c.dtype(b.out_dtype, under, &f::out_dtype, Dtype::is_output);
            for source in [&t.src0, &t.src1] {
                let even =
                    |d: usize| source.dimension(d).is_none_or(|(step, n)| n == 1 || step % 2 == 0);
                let ok = is_packed(source) && even(1) && even(2);
                let allowed = "an even innermost count of step 1, further steps even";
                c.require(ok, Under::new(&rules::TB_5), source.field, allowed);
            }
        };
        self.tensor_tensor(&TB, own, |_, ()| EngineRules {
            pool: OnPool::Anywhere,
            ..EngineRules::SHARED
        });
    }
}

fn op_signedness(op: AluOp) -> &'static str {
    match (op.is_signed(), op.is_unsigned()) {
        (true, true) => "three integers of one signedness",
        (true, false) => "three signed integers",
        _ => "three unsigned integers",
    }
}
