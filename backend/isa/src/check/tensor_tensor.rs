//! Rules TT, XA, CP, BB, TB and STT (ISA 9.1 to 9.4, 9.19): two sources and a destination.

use super::address::Operand;
use super::checker::{Checker, Under};
use super::immediate::{Immediate, Scalar};
use crate::alu::AluOp;
use crate::dtype::Dtype;
use crate::enums::{AccumCmd, ReverseOps};
use crate::field::Field;
use crate::layout::{
    ExtendedTensorTensor, ScalarTensorTensor, TensorTensor, extended_tensor_tensor,
    scalar_tensor_tensor, tensor_tensor,
};
use crate::opcode::Opcode;
use crate::rule::{self, Rule};
use crate::target::{Engine, Generation};

/// The operands of an instruction with two sources.
struct Three<'a> {
    src0: Operand<'a>,
    src1: Operand<'a>,
    dst: Operand<'a>,
}

/// Which of an opcode's rules name the shared ones.
struct Rules {
    /// CH-1
    channels: &'static Rule,
    /// CH-3
    starts: &'static Rule,
    /// TV-1, TV-2
    tensors: &'static Rule,
    /// CNT-1 of (src0, src1) and of (src0, dst)
    counts: Option<[&'static Rule; 2]>,
    /// ADR-6
    together: Option<&'static Rule>,
    /// What ADR-2 asks of the sources, unless it is the size of the dtype.
    source_align: Option<u32>,
}

static TT: Rules = Rules {
    channels: &rule::TT_9,
    starts: &rule::TT_10,
    tensors: &rule::TT_11,
    counts: Some([&rule::TT_12, &rule::TT_13]),
    together: Some(&rule::TT_14),
    source_align: None,
};
static CP: Rules = Rules {
    channels: &rule::CP_5,
    starts: &rule::CP_5,
    tensors: &rule::CP_6,
    counts: Some([&rule::CP_7, &rule::CP_7]),
    together: Some(&rule::CP_8),
    source_align: None,
};
// Counts and quadrants of 0x65 are not tested (OQ-52).
static BB: Rules = Rules {
    channels: &rule::BB_3,
    starts: &rule::BB_3,
    tensors: &rule::BB_3,
    counts: None,
    together: None,
    source_align: None,
};
static TB: Rules = Rules {
    channels: &rule::TB_6,
    starts: &rule::TB_6,
    tensors: &rule::TB_7,
    counts: Some([&rule::TB_8, &rule::TB_8]),
    together: Some(&rule::TB_9),
    source_align: Some(4),
};
static STT: Rules = Rules {
    channels: &rule::STT_8,
    starts: &rule::STT_8,
    tensors: &rule::STT_9,
    counts: Some([&rule::STT_10, &rule::STT_10]),
    together: Some(&rule::STT_11),
    source_align: None,
};

/// The codes of DTYPE_PAIR: src0, src1.
const fn pair(code: u8) -> [u8; 2] {
    [code & 0xf, code >> 4]
}

impl Checker<'_> {
    pub fn tensor_tensor(&mut self, b: &TensorTensor) {
        use tensor_tensor as f;
        let g = self.generation;
        let [d0, d1] = pair(b.in0_in1_dtype);
        let t = Three {
            src0: Operand::new(&b.src0_mem_pattern, &f::src0_mem_pattern, d0, false, g),
            src1: Operand::new(&b.src1_mem_pattern, &f::src1_mem_pattern, d1, false, g),
            dst: Operand::new(&b.dst_mem_pattern, &f::dst_mem_pattern, b.out_dtype, true, g),
        };
        let own_engine = match self.opcode {
            Some(Opcode::TensorTensorArithOp) => self.arith(b, &t),
            Some(Opcode::TensorTensorBitvecOp) => self.bitvec(b, &t),
            Some(Opcode::CopyPredicated | Opcode::CastPredicated) => self.predicated(b, &t),
            Some(Opcode::BatchNormBackProp) => self.batch_norm(b, &t),
            _ => self.packed(b, &t),
        };
        let pair_field = &f::in0_in1_dtype;
        let dtypes = [(d0, pair_field), (d1, pair_field), (b.out_dtype, &f::out_dtype)];
        self.engines(&[&t.src0, &t.src1, &t.dst], &dtypes, own_engine);
        self.three_overlap(&t, b.num_active_channels.into());
    }

    /// CH-1, CH-3, TV and counts of three operands under the rules that name them.
    fn three(&mut self, t: &Three, n: u8, field: &'static Field, rules: &Rules) {
        let channels = self.channels(n, field, Under::new(rules.channels), &rule::CH_1);
        self.three_placed(t, channels, rules.starts, rules.tensors, rules.source_align);
        if let Some([sources, destination]) = rules.counts {
            self.same_count(&t.src0, &t.src1, Under::new(sources));
            self.same_count(&t.src0, &t.dst, Under::new(destination));
        }
        if let Some(together) = rules.together {
            self.sources_together(&t.src0, &t.src1, Under::new(together));
        }
    }

    fn three_placed(
        &mut self,
        t: &Three,
        channels: Option<u32>,
        starts: &'static Rule,
        tensors: &'static Rule,
        source_align: Option<u32>,
    ) {
        for operand in [&t.src0, &t.src1, &t.dst] {
            self.start_partition(operand, channels, Under::new(starts));
        }
        self.tensor(&t.src0, Under::new(tensors), source_align);
        self.tensor(&t.src1, Under::new(tensors), source_align);
        self.tensor(&t.dst, Under::new(tensors), None);
        self.gathers_into_its_quadrant(&t.src0, &t.dst);
        self.gathers_into_its_quadrant(&t.src1, &t.dst);
    }

    fn three_overlap(&mut self, t: &Three, n: u32) {
        self.overlap(&t.src0, &t.dst, n);
        self.overlap(&t.src1, &t.dst, n);
    }

    /// TT-1 to TT-3: the dtypes, where all are legal, and the operation.
    fn tensor_tensor_types(&mut self, b: &TensorTensor) -> (Option<[Dtype; 3]>, Option<AluOp>) {
        use tensor_tensor as f;
        let [d0, d1] = pair(b.in0_in1_dtype);
        let under = Under::new(&rule::TT_1);
        let out = self.dtype(b.out_dtype, under, &f::out_dtype, Dtype::is_output_64);
        let under = Under::new(&rule::TT_2);
        let src0 = self.dtype(d0, under, &f::in0_in1_dtype, Dtype::is_input_64);
        let src1 = self.dtype(d1, under, &f::in0_in1_dtype, Dtype::is_input_64);
        let op = self.defined_op(b.op, Under::new(&rule::TT_3), &f::op);
        let dtypes = match (src0, src1, out) {
            (Some(src0), Some(src1), Some(out)) => Some([src0, src1, out]),
            _ => None,
        };
        (dtypes, op)
    }

    /// 0x41; the engine rule that names SBUF.
    fn arith(&mut self, b: &TensorTensor, t: &Three) -> Option<Under> {
        use tensor_tensor as f;
        let g = self.generation;
        let (dtypes, op) = self.tensor_tensor_types(b);
        self.op(op, Under::new(&rule::TT_4), &f::op, |op| {
            op.is_general_arith(g) || op == AluOp::Pow || op.is_int()
        });
        if let (Some(op), Some(dtypes)) = (op.filter(|op| op.is_int()), dtypes) {
            let fits = op.is_signed() && dtypes.into_iter().all(Dtype::is_signed_int)
                || op.is_unsigned() && dtypes.into_iter().all(Dtype::is_unsigned_int);
            self.require(fits, Under::new(&rule::TT_6), &f::in0_in1_dtype, op_signedness(op));
        }
        self.three(t, b.num_active_channels, &f::num_active_channels, &TT);
        let Some(dtypes) = dtypes else { return Some(Under::new(&rule::TT_E2)) };
        let wide = dtypes.into_iter().any(Dtype::is_64_bit);
        if wide {
            let same = dtypes.into_iter().all(|d| d.is_64_bit() && d.same_signedness(dtypes[0]));
            let allowed = "three 64-bit integers of one signedness";
            self.require(same, Under::new(&rule::TT_15), &f::in0_in1_dtype, allowed);
        }
        if self.is_on(Engine::Dve) {
            let under = Under::new(&rule::TT_E1);
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
            self.require(allowed, Under::new(&rule::TT_E2), &f::op, text);
        }
        self.wide_needs_cayman(wide);
        Some(Under::new(&rule::TT_E2))
    }

    /// 0x51.
    fn bitvec(&mut self, b: &TensorTensor, t: &Three) -> Option<Under> {
        use tensor_tensor as f;
        let (dtypes, op) = self.tensor_tensor_types(b);
        self.op(op, Under::new(&rule::TT_5), &f::op, AluOp::is_general_bitvec);
        if let Some([src0, src1, out]) = dtypes {
            self.require(out.is_int(), Under::new(&rule::TT_7), &f::out_dtype, "an integer type");
            let shifts_wide = op.is_some_and(AluOp::is_shift)
                && src0.is_64_bit()
                && src1 == Dtype::Uint32
                && out == src0;
            let same = src0 == src1 && src1 == out;
            let allowed = "one type for all three, or a 64-bit integer shifted by UINT32";
            self.require(same || shifts_wide, Under::new(&rule::TT_8), &f::in0_in1_dtype, allowed);
        }
        self.three(t, b.num_active_channels, &f::num_active_channels, &TT);
        let own = Some(Under::new(&rule::TT_E3));
        let Some(dtypes) = dtypes else { return own };
        let wide = dtypes.into_iter().any(Dtype::is_64_bit);
        let under = Under::new(&rule::TT_E3);
        if self.is_on(Engine::Dve) {
            self.require(!wide, under, &f::in0_in1_dtype, "at most 32 bits");
        }
        if self.is_on(Engine::Pool) {
            let fits = dtypes.into_iter().all(|d| d.is_int32() || d.is_64_bit());
            self.require(fits, under, &f::in0_in1_dtype, "32- and 64-bit integers");
        }
        self.wide_needs_cayman(wide);
        own
    }

    /// TT-E4.
    fn wide_needs_cayman(&mut self, wide: bool) {
        let ok = !wide || self.generation > Generation::Sunda;
        let under = Under::new(&rule::TT_E4);
        self.require(ok, under, &tensor_tensor::in0_in1_dtype, "at most 32 bits on sunda");
    }

    /// 0x72, 0x99.
    fn predicated(&mut self, b: &TensorTensor, t: &Three) -> Option<Under> {
        use tensor_tensor as f;
        let [d0, d1] = pair(b.in0_in1_dtype);
        self.bypass(b.op, Under::new(&rule::CP_1), &f::op);
        let under = Under::new(&rule::CP_2);
        self.dtype(d0, under, &f::in0_in1_dtype, Dtype::is_int_datapath);
        let under = Under::new(&rule::CP_3);
        let data = self.dtype(d1, under, &f::in0_in1_dtype, Dtype::is_input);
        let out = self.dtype(b.out_dtype, under, &f::out_dtype, Dtype::is_input);
        if self.opcode == Some(Opcode::CopyPredicated)
            && let (Some(data), Some(out)) = (data, out)
        {
            self.require(data == out, Under::new(&rule::CP_4), &f::out_dtype, data.name());
        }
        self.three(t, b.num_active_channels, &f::num_active_channels, &CP);
        None
    }

    /// 0x65.
    fn batch_norm(&mut self, b: &TensorTensor, t: &Three) -> Option<Under> {
        use tensor_tensor as f;
        let [d0, d1] = pair(b.in0_in1_dtype);
        self.bypass(b.op, Under::new(&rule::BB_1), &f::op);
        let under = Under::new(&rule::BB_2);
        self.dtype(d0, under, &f::in0_in1_dtype, Dtype::is_input);
        self.dtype(d1, under, &f::in0_in1_dtype, Dtype::is_input);
        self.dtype(b.out_dtype, under, &f::out_dtype, Dtype::is_output);
        self.three(t, b.num_active_channels, &f::num_active_channels, &BB);
        None
    }

    /// 0x8a, 0x8b, 0x8f.
    fn packed(&mut self, b: &TensorTensor, t: &Three) -> Option<Under> {
        use tensor_tensor as f;
        let [d0, d1] = pair(b.in0_in1_dtype);
        let is_bf16 = |d| d == Dtype::Bfloat16;
        self.dtype(d0, Under::new(&rule::TB_2), &f::in0_in1_dtype, is_bf16);
        self.dtype(d1, Under::new(&rule::TB_2), &f::in0_in1_dtype, is_bf16);
        let op = match self.opcode {
            Some(Opcode::TensorTensorAddBf16) => AluOp::Add,
            Some(Opcode::TensorTensorMultBf16) => AluOp::Mult,
            _ => AluOp::Subtract,
        };
        self.require(b.op == op.code(), Under::new(&rule::TB_3), &f::op, op.name());
        let under = Under::new(&rule::TB_4);
        self.dtype(b.out_dtype, under, &f::out_dtype, Dtype::is_output);
        for source in [&t.src0, &t.src1] {
            let even =
                |d: usize| source.dimension(d).is_none_or(|(step, n)| n == 1 || step % 2 == 0);
            let ok = is_packed(source) && even(1) && even(2);
            let allowed = "an even innermost count of step 1, further steps even";
            self.require(ok, Under::new(&rule::TB_5), source.field, allowed);
        }
        self.three(t, b.num_active_channels, &f::num_active_channels, &TB);
        None
    }

    /// op = BYPASS.
    pub fn bypass(&mut self, op: u8, under: Under, field: &'static Field) {
        self.require(op == AluOp::Bypass.code(), under, field, "BYPASS");
    }

    /// 0xf0/2.
    pub fn extended_tensor_tensor(&mut self, b: &ExtendedTensorTensor) {
        use extended_tensor_tensor as f;
        let g = self.generation;
        let [d0, d1] = pair(b.in0_in1_dtype);
        let t = Three {
            src0: Operand::new(&b.src0_mem_pattern, &f::src0_mem_pattern, d0, false, g),
            src1: Operand::new(&b.src1_mem_pattern, &f::src1_mem_pattern, d1, false, g),
            dst: Operand::new(&b.dst_mem_pattern, &f::dst_mem_pattern, b.out_dtype, true, g),
        };
        let under = Under::new(&rule::XA_1);
        self.require(b.extended_opcode == 2, under, &f::extended_opcode, "2");
        let info_ok = b.completion_info & 0b1100_0111 == 0b101;
        let allowed = "bits 0 and 2 set, bits 1, 6 and 7 clear";
        self.require(info_ok, Under::new(&rule::XA_2), &f::completion_info, allowed);
        let op_ok = b.op == AluOp::Add.code() || b.op == AluOp::Mult.code();
        self.require(op_ok, Under::new(&rule::XA_3), &f::op, "ADD, MULT");
        let under = Under::new(&rule::XA_4);
        self.dtype(b.out_dtype, under, &f::out_dtype, Dtype::is_output);
        self.dtype(d0, under, &f::in0_in1_dtype, Dtype::is_input);
        self.dtype(d1, under, &f::in0_in1_dtype, Dtype::is_input);
        for operand in [&t.src0, &t.src1, &t.dst] {
            if operand.is_in_psum() {
                let allowed = || "an address in SBUF".into();
                self.fail_inside(Under::new(&rule::XA_5), &[&rule::ADR_4], operand.field, allowed);
            }
        }
        let channels = Some(b.channels());
        self.three_placed(&t, channels, &rule::XA_6, &rule::XA_6, None);
        let under = Under::new(&rule::XA_6);
        self.same_count(&t.src0, &t.src1, under);
        self.same_count(&t.src0, &t.dst, under);
        self.sources_together(&t.src0, &t.src1, under);
        self.reserved(&b.reserved0, &f::reserved0, None);
        self.reserved(&b.reserved1, &f::reserved1, None);
        let pair_field = &f::in0_in1_dtype;
        let dtypes = [(d0, pair_field), (d1, pair_field), (b.out_dtype, &f::out_dtype)];
        self.engines(&[&t.src0, &t.src1, &t.dst], &dtypes, None);
        self.three_overlap(&t, b.channels());
    }

    /// 0x9d, 0x9e.
    pub fn scalar_tensor_tensor(&mut self, b: &ScalarTensorTensor) {
        use scalar_tensor_tensor as f;
        let g = self.generation;
        let [d0, d1] = pair(b.in0_in1_dtype);
        let t = Three {
            src0: Operand::new(&b.src0_mem_pattern, &f::src0_mem_pattern, d0, false, g),
            src1: Operand::new(&b.src1_mem_pattern, &f::src1_mem_pattern, d1, false, g),
            dst: Operand::new(&b.dst_mem_pattern, &f::dst_mem_pattern, b.out_dtype, true, g),
        };
        let bitvec = self.opcode == Some(Opcode::ScalarTensorTensorBitvec);
        let (under, set): (_, &dyn Fn(AluOp) -> bool) = if bitvec {
            (Under::new(&rule::STT_2), &AluOp::is_general_bitvec)
        } else {
            (Under::new(&rule::STT_1), &|op: AluOp| op.is_general_arith(g))
        };
        let op0 = self.defined_op(b.op0, under, &f::op0);
        let op1 = self.defined_op(b.op1, under, &f::op1);
        self.op(op0, under, &f::op0, set);
        self.op(op1, under, &f::op1, set);
        let under = Under::new(&rule::STT_3);
        let src0 = self.dtype(d0, under, &f::in0_in1_dtype, Dtype::is_input);
        let src1 = self.dtype(d1, under, &f::in0_in1_dtype, Dtype::is_input);
        let imm_dtype = self.dtype(b.imm0_dtype, under, &f::imm0_dtype, Dtype::is_input);
        let out = self.dtype(b.out_dtype, under, &f::out_dtype, Dtype::is_output);
        if bitvec {
            if let (Some(src0), Some(src1), Some(imm), Some(out)) = (src0, src1, imm_dtype, out) {
                let same = src0 == src1 && src1 == imm && imm == out && out.is_int_datapath();
                let allowed = "one integer type of at most 32 bits for all four";
                self.require(same, Under::new(&rule::STT_5), &f::in0_in1_dtype, allowed);
            }
        } else if let Some(imm) = imm_dtype {
            let fp32 = imm == Dtype::Fp32;
            self.require(fp32, Under::new(&rule::STT_4), &f::imm0_dtype, "FP32");
        }
        let imm = Immediate {
            bits: b.imm0,
            field: &f::imm0,
            source: b.imm0_src,
            source_field: &f::imm0_src,
        };
        let scalar = if bitvec { Scalar::Of(imm_dtype) } else { Scalar::Fp32 };
        let n = b.num_active_channels;
        let channels = (1..=128).contains(&n).then(|| n.into());
        self.immediate(imm, scalar, channels, Under::new(&rule::STT_6));
        let reverse_ok = ReverseOps::from_code(b.reverse_operands).is_some();
        let under = Under::new(&rule::STT_7);
        self.require(reverse_ok, under, &f::reverse_operands, "NONE, FIRST, SECOND, BOTH");
        self.three(&t, n, &f::num_active_channels, &STT);
        let idle = b.accumulator_cmd == AccumCmd::Idle.code();
        self.require(idle, Under::new(&rule::STT_12), &f::accumulator_cmd, "IDLE");
        if bitvec {
            self.shifts([op0, op1], [&f::op0, &f::op1], src0, Under::new(&rule::STT_13));
        }
        self.reserved(&b.reserved, &f::reserved, None);
        let pair_field = &f::in0_in1_dtype;
        let dtypes = [
            (d0, pair_field),
            (d1, pair_field),
            (b.out_dtype, &f::out_dtype),
            (b.imm0_dtype, &f::imm0_dtype),
        ];
        self.engines(&[&t.src0, &t.src1, &t.dst], &dtypes, None);
        // BYPASS takes its left operand, which is the scalar when the first stage is reversed.
        if b.reverse_operands & 1 == 0 {
            self.unused_immediate(op0, imm);
        }
        self.three_overlap(&t, n.into());
    }
}

/// Pairs of elements in 32-bit words: an even innermost count of step 1. True when shape or index
/// are known only at run time.
pub(super) fn is_packed(source: &Operand) -> bool {
    source.dimension(0).is_none_or(|(step, n)| step == 1 && n % 2 == 0)
}

fn op_signedness(op: AluOp) -> &'static str {
    match (op.is_signed(), op.is_unsigned()) {
        (true, true) => "three integers of one signedness",
        (true, false) => "three signed integers",
        _ => "three unsigned integers",
    }
}
