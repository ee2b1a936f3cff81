//! Instruction words from typed parts: the one place where a form of [`crate::select`] becomes the
//! fields of a struct.

use partita_isa::{
    AccumCmd, AluOp, CrossLaneReduce, Dtype, ImmSrc, Instruction, Opcode, Pattern, ReduceAxis,
    ReduceOp, ReverseOps, ScalarTensorTensor, SubDim, TensorReduce, TensorScalar,
    TensorScalarSelect, TensorTensor,
};

/// A scalar operand of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imm {
    /// The 32 bits of the slot.
    Value(u32),
    /// The address of one value per channel.
    Pointer(u32),
}

impl Imm {
    /// What stands for an operand that the operation ignores (TS-15).
    pub const NONE: Self = Self::Value(0);

    fn split(self) -> (u8, u32) {
        match self {
            Self::Value(bits) => (ImmSrc::Instruction.code(), bits),
            Self::Pointer(address) => (ImmSrc::Pointer.code(), address),
        }
    }
}

/// `dst = src0 op src1` (ISA 9.1), and the predicated copies of 9.3.
#[derive(Clone, Copy, Debug)]
pub struct Two {
    pub opcode: Opcode,
    pub op: AluOp,
    pub dtypes: [Dtype; 2],
    pub out: Dtype,
}

impl Two {
    pub fn word(&self, channels: u8, src: [Pattern<3>; 2], dst: Pattern<3>) -> Instruction {
        let [in0, in1] = self.dtypes.map(Dtype::code);
        Instruction::new(
            self.opcode,
            TensorTensor {
                in0_in1_dtype: in0 & 0xf | in1 << 4,
                out_dtype: self.out.code(),
                op: self.op.code(),
                num_active_channels: channels,
                src0_mem_pattern: src[0],
                src1_mem_pattern: src[1],
                dst_mem_pattern: dst,
            },
        )
    }
}

/// One source and one destination through S4D4_TR: moves, reductions, scans (ISA 9.5 to 9.12).
#[derive(Clone, Copy, Debug)]
pub struct One {
    pub opcode: Opcode,
    pub op: AluOp,
    pub input: Dtype,
    pub out: Dtype,
    pub op_dim: SubDim,
    pub negated: bool,
}

impl One {
    /// A word that moves elements, or converts them.
    pub const fn moving(opcode: Opcode, input: Dtype, out: Dtype) -> Self {
        Self { opcode, op: AluOp::Bypass, input, out, op_dim: SubDim::Unused, negated: false }
    }

    pub fn word(&self, channels: u8, src: Pattern<4>, dst: Pattern<4>) -> Instruction {
        Instruction::new(
            self.opcode,
            TensorReduce {
                src_mem_pattern: src,
                in_dtype: self.input.code(),
                out_dtype: self.out.code(),
                num_active_channels: channels,
                negated: u8::from(self.negated),
                op: self.op.code(),
                op_dim: self.op_dim.code(),
                dst_mem_pattern: dst,
                ..TensorReduce::default()
            },
        )
    }
}

/// `dst = (src op0 imm0) op1 imm1` (ISA 9.14), the cache opcodes (9.17) and Exponential (9.18).
#[derive(Clone, Copy, Debug)]
pub struct Scalar {
    pub opcode: Opcode,
    pub ops: [AluOp; 2],
    pub reverse: ReverseOps,
    pub accumulator: AccumCmd,
    pub input: Dtype,
    pub out: Dtype,
}

impl Scalar {
    /// A word of one operation, its tensor on the left.
    pub const fn of(opcode: Opcode, op: AluOp, input: Dtype, out: Dtype) -> Self {
        let (reverse, accumulator) = (ReverseOps::None, AccumCmd::Idle);
        Self { opcode, ops: [op, AluOp::Bypass], reverse, accumulator, input, out }
    }

    pub fn word(
        &self,
        channels: u8,
        imm: [Imm; 2],
        src: Pattern<3>,
        dst: Pattern<3>,
    ) -> Instruction {
        let (imm0_src, imm0) = imm[0].split();
        let (imm1_src, imm1) = imm[1].split();
        Instruction::new(
            self.opcode,
            TensorScalar {
                accumulator_cmd: self.accumulator.code(),
                src_mem_pattern: src,
                in_dtype: self.input.code(),
                out_dtype: self.out.code(),
                num_active_channels: channels,
                imm0_src,
                op0: self.ops[0].code(),
                op1: self.ops[1].code(),
                reverse_operands: self.reverse.code(),
                imm1_src,
                imm0,
                imm1,
                dst_mem_pattern: dst,
                ..TensorScalar::default()
            },
        )
    }
}

/// `dst = (src0 op0 imm) op1 src1` (ISA 9.19).
#[derive(Clone, Copy, Debug)]
pub struct Stt {
    pub opcode: Opcode,
    pub ops: [AluOp; 2],
    pub reverse: ReverseOps,
    pub dtypes: [Dtype; 2],
    pub out: Dtype,
}

impl Stt {
    pub fn word(
        &self,
        channels: u8,
        imm: Imm,
        src: [Pattern<2>; 2],
        dst: Pattern<2>,
    ) -> Instruction {
        let (imm0_src, imm0) = imm.split();
        let [in0, in1] = self.dtypes.map(Dtype::code);
        // STT-4, STT-5.
        let imm0_dtype = if self.opcode.is_bitvec() { self.dtypes[0] } else { Dtype::Fp32 };
        Instruction::new(
            self.opcode,
            ScalarTensorTensor {
                src0_mem_pattern: src[0],
                src1_mem_pattern: src[1],
                op0: self.ops[0].code(),
                op1: self.ops[1].code(),
                reverse_operands: self.reverse.code(),
                imm0_src,
                in0_in1_dtype: in0 & 0xf | in1 << 4,
                out_dtype: self.out.code(),
                num_active_channels: channels,
                imm0_dtype: imm0_dtype.code(),
                dst_mem_pattern: dst,
                imm0,
                ..ScalarTensorTensor::default()
            },
        )
    }
}

/// `dst = pred ? src : other`, the predicate and the other branch one value for each channel (ISA 9.20).
#[derive(Clone, Copy, Debug)]
pub struct RowSelect {
    pub dtype: Dtype,
    pub predicate: Dtype,
    /// The other branch where the predicate is set.
    pub reversed: bool,
}

impl RowSelect {
    pub fn word(
        &self,
        channels: u8,
        predicate: Imm,
        other: Imm,
        src: Pattern<3>,
        dst: Pattern<3>,
    ) -> Instruction {
        let (pred_imm_src, pred_imm) = predicate.split();
        let (src1_imm_src, src1_imm) = other.split();
        Instruction::new(
            Opcode::TensorScalarSelect,
            TensorScalarSelect {
                src0_mem_pattern: src,
                reversed_pred: u8::from(self.reversed),
                num_active_channels: channels,
                dtype: self.dtype.code(),
                pred_imm_dtype: self.predicate.code(),
                src1_imm_src,
                pred_imm_src,
                src1_imm,
                pred_imm,
                dst_mem_pattern: dst,
                ..TensorScalarSelect::default()
            },
        )
    }
}

/// A fold over channels (ISA 9.13).
#[derive(Clone, Copy, Debug)]
pub struct CrossLane {
    pub opcode: Opcode,
    pub op: ReduceOp,
    pub input: Dtype,
    pub out: Dtype,
    pub scale: f32,
}

impl CrossLane {
    pub fn word(&self, channels: u8, src: Pattern<4>, dst: Pattern<4>) -> Instruction {
        Instruction::new(
            self.opcode,
            CrossLaneReduce {
                src_mem_pattern: src,
                in_dtype: self.input.code(),
                out_dtype: self.out.code(),
                num_active_channels: channels,
                reduce_op: self.op.code(),
                reduce_axis: ReduceAxis::Partitions.code(),
                scale: self.scale.to_bits(),
                dst_mem_pattern: dst,
                ..CrossLaneReduce::default()
            },
        )
    }
}
