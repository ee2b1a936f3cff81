//! Instructions from typed values: fields that an opcode does not use, reserved bytes and codes
//! cannot be wrong. Whether the word is legal is still for [`crate::check()`] to say.
//!
//! ```
//! use partita_isa::builder::{Imm, Tensor, tensor_scalar};
//! use partita_isa::{AluOp, Dtype, Pattern, ReverseOps, Target, check};
//!
//! let input = Tensor { pattern: Pattern::contiguous(0, 512), dtype: Dtype::Fp32 };
//! let output = Tensor { pattern: Pattern::contiguous(0x1000, 512), dtype: Dtype::Bfloat16 };
//! let stages = [(AluOp::Mult, Imm::Float(2.5)), (AluOp::Add, Imm::Pointer(0x800))];
//! let word = tensor_scalar(stages, ReverseOps::None, input, output, 128).encode();
//! assert_eq!(check(&word, &Target::default(), None), []);
//! ```

use crate::alu::AluOp;
use crate::dtype::Dtype;
use crate::enums::{
    AccumCmd, ImmSrc, ReduceAxis, ReduceOp, ReverseOps, SubDim, UpdateMode, WaitMode,
};
use crate::field::Pattern;
use crate::instruction::{Body, Instruction};
use crate::layout::{
    CrossLaneReduce, LoadMaskSelect, ScalarTensorTensor, TensorReduce, TensorScalar,
    TensorScalarSelect, TensorTensor,
};
use crate::opcode::Opcode;

/// A memory operand of `D` dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensor<const D: usize> {
    pub pattern: Pattern<D>,
    pub dtype: Dtype,
}

/// A scalar operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Imm {
    /// Not used by its operation: 0 in the word.
    None,
    /// An fp32 value in the word.
    Float(f32),
    /// Bits in the word, for bitvec opcodes and Select.
    Bits(u32),
    /// The address of one scalar per channel.
    Pointer(u32),
    /// The register that holds such an address.
    Register(u8),
}

impl Imm {
    /// The source code and the four bytes.
    fn parts(self) -> (u8, u32) {
        let (source, bits) = match self {
            Self::None => (ImmSrc::Instruction, 0),
            Self::Float(value) => (ImmSrc::Instruction, value.to_bits()),
            Self::Bits(bits) => (ImmSrc::Instruction, bits),
            Self::Pointer(address) => (ImmSrc::Pointer, address),
            Self::Register(number) => (ImmSrc::RegPointer, number.into()),
        };
        (source.code(), bits)
    }
}

const fn pair(src0: Dtype, src1: Dtype) -> u8 {
    src0.code() & 0xf | src1.code() << 4
}

/// Whether an operation belongs to the bitvec form of an opcode. BYPASS is in both; it moves bits
/// only there, so integers take the bitvec form and floats the other.
const fn bitvec_form(op: AluOp, dtype: Dtype) -> bool {
    op.is_bitvec() && (!matches!(op, AluOp::Bypass) || dtype.is_int())
}

fn two_sources(
    opcode: Opcode,
    op: AluOp,
    src0: Tensor<3>,
    src1: Tensor<3>,
    dst: Tensor<3>,
    channels: u8,
) -> Instruction {
    let body = TensorTensor {
        in0_in1_dtype: pair(src0.dtype, src1.dtype),
        out_dtype: dst.dtype.code(),
        op: op.code(),
        num_active_channels: channels,
        src0_mem_pattern: src0.pattern,
        src1_mem_pattern: src1.pattern,
        dst_mem_pattern: dst.pattern,
    };
    Instruction::new(opcode, body)
}

/// 0x41, or 0x51 for a bitvec operation: dst = src0 op src1.
pub fn tensor_tensor(
    op: AluOp,
    src0: Tensor<3>,
    src1: Tensor<3>,
    dst: Tensor<3>,
    channels: u8,
) -> Instruction {
    let opcode = if bitvec_form(op, src0.dtype) {
        Opcode::TensorTensorBitvecOp
    } else {
        Opcode::TensorTensorArithOp
    };
    two_sources(opcode, op, src0, src1, dst, channels)
}

/// 0x72, or 0x99 when the dtypes differ: dst = data where the predicate is not 0.
pub fn copy_where(
    predicate: Tensor<3>,
    data: Tensor<3>,
    dst: Tensor<3>,
    channels: u8,
) -> Instruction {
    let opcode =
        if data.dtype == dst.dtype { Opcode::CopyPredicated } else { Opcode::CastPredicated };
    two_sources(opcode, AluOp::Bypass, predicate, data, dst, channels)
}

fn one_source(
    opcode: Opcode,
    op: AluOp,
    dims: SubDim,
    src: Tensor<4>,
    dst: Tensor<4>,
    channels: u8,
) -> Instruction {
    let body = TensorReduce {
        src_mem_pattern: src.pattern,
        in_dtype: src.dtype.code(),
        out_dtype: dst.dtype.code(),
        num_active_channels: channels,
        op: op.code(),
        op_dim: dims.code(),
        dst_mem_pattern: dst.pattern,
        ..TensorReduce::default()
    };
    Instruction::new(opcode, body)
}

/// How a reduction treats its stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReduceForm {
    /// The source goes through the 32 × 32 transpose first (0x83, 0x84).
    pub transposed: bool,
    /// The result is negated; arithmetic operations only.
    pub negated: bool,
}

/// 0x42, 0x52, 0x83 or 0x84: the innermost dimensions reduced.
pub fn reduce(
    op: AluOp,
    dims: SubDim,
    form: ReduceForm,
    src: Tensor<4>,
    dst: Tensor<4>,
    channels: u8,
) -> Instruction {
    let opcode = match (bitvec_form(op, src.dtype), form.transposed) {
        (false, false) => Opcode::TensorReduceArithOp,
        (true, false) => Opcode::TensorReduceBitvecOp,
        (false, true) => Opcode::TransposeTensorReduceArithOp,
        (true, true) => Opcode::TransposeTensorReduceBitvecOp,
    };
    let mut instruction = one_source(opcode, op, dims, src, dst, channels);
    if let Body::TensorReduce(body) = &mut instruction.body {
        body.negated = form.negated.into();
    }
    instruction
}

/// 0x4E or 0x5E: an inclusive scan along the innermost dimensions.
pub fn scan(op: AluOp, dims: SubDim, src: Tensor<4>, dst: Tensor<4>, channels: u8) -> Instruction {
    let opcode = if bitvec_form(op, src.dtype) {
        Opcode::TensorCumulativeBitvecOp
    } else {
        Opcode::TensorCumulativeArithOp
    };
    one_source(opcode, op, dims, src, dst, channels)
}

/// 0x46, or 0x47 when the dtypes differ.
pub fn copy(src: Tensor<4>, dst: Tensor<4>, channels: u8) -> Instruction {
    let opcode = if src.dtype == dst.dtype { Opcode::Copy } else { Opcode::Cast };
    one_source(opcode, AluOp::Bypass, SubDim::Unused, src, dst, channels)
}

/// 0x48.
pub fn reciprocal(src: Tensor<4>, dst: Tensor<4>, channels: u8) -> Instruction {
    one_source(Opcode::Reciprocal, AluOp::Bypass, SubDim::Unused, src, dst, channels)
}

/// 0x6a: lanes moved by the table of [`load_lanes`].
pub fn shuffle(src: Tensor<4>, dst: Tensor<4>, channels: u8) -> Instruction {
    one_source(Opcode::StreamShuffle, AluOp::Bypass, SubDim::Unused, src, dst, channels)
}

/// 0x6b: tiles of 32 channels by 32 elements transposed.
pub fn transpose(src: Tensor<4>, dst: Tensor<4>, channels: u8) -> Instruction {
    one_source(Opcode::StreamTranspose, AluOp::Bypass, SubDim::Unused, src, dst, channels)
}

/// 0x69: the lane table; 255 means no source.
pub fn load_lanes(lanes: [u8; 32]) -> Instruction {
    let body = LoadMaskSelect { immediate: lanes, ..LoadMaskSelect::default() };
    Instruction::new(Opcode::LoadMaskSelect, body)
}

/// 0x7c or 0x7d: channels folded. `scale` matters to AVERAGE only.
pub fn cross_lane(
    op: ReduceOp,
    axis: ReduceAxis,
    scale: f32,
    src: Tensor<4>,
    dst: Tensor<4>,
    channels: u8,
) -> Instruction {
    let opcode = match op {
        ReduceOp::Add | ReduceOp::Average | ReduceOp::Max => Opcode::CrossLaneReduceArith,
        _ => Opcode::CrossLaneReduceBitvec,
    };
    let body = CrossLaneReduce {
        src_mem_pattern: src.pattern,
        in_dtype: src.dtype.code(),
        out_dtype: dst.dtype.code(),
        num_active_channels: channels,
        reduce_op: op.code(),
        reduce_axis: axis.code(),
        scale: scale.to_bits(),
        dst_mem_pattern: dst.pattern,
        ..CrossLaneReduce::default()
    };
    Instruction::new(opcode, body)
}

fn with_scalars(
    stages: [(AluOp, Imm); 2],
    src: Tensor<3>,
    dst: Tensor<3>,
    channels: u8,
) -> TensorScalar {
    let [(op0, imm0), (op1, imm1)] = stages;
    let ((imm0_src, imm0), (imm1_src, imm1)) = (imm0.parts(), imm1.parts());
    TensorScalar {
        src_mem_pattern: src.pattern,
        in_dtype: src.dtype.code(),
        out_dtype: dst.dtype.code(),
        num_active_channels: channels,
        imm0_src,
        op0: op0.code(),
        op1: op1.code(),
        imm1_src,
        imm0,
        imm1,
        dst_mem_pattern: dst.pattern,
        ..TensorScalar::default()
    }
}

/// 0x43, or 0x53 for bitvec operations: two stages with a scalar each.
pub fn tensor_scalar(
    stages: [(AluOp, Imm); 2],
    reverse: ReverseOps,
    src: Tensor<3>,
    dst: Tensor<3>,
    channels: u8,
) -> Instruction {
    let opcode = if bitvec_form(stages[0].0, src.dtype) {
        Opcode::TensorScalarBitvecOp
    } else {
        Opcode::TensorScalarArithOp
    };
    let mut body = with_scalars(stages, src, dst, channels);
    body.reverse_operands = reverse.code();
    Instruction::new(opcode, body)
}

/// Where the running value of an accumulating opcode starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seed {
    /// What the previous instruction left.
    Continue,
    /// The identity of the operation.
    Identity,
    /// One value, or one per channel.
    Load(Imm),
}

impl Seed {
    fn parts(self) -> (AccumCmd, Imm) {
        match self {
            Self::Continue => (AccumCmd::Accumulate, Imm::None),
            Self::Identity => (AccumCmd::ZeroAccumulate, Imm::None),
            Self::Load(imm) => (AccumCmd::LoadAccumulate, imm),
        }
    }
}

/// 0xe6, or 0x9a when only the final value is to be written: acc = acc op1 (src op0 imm).
pub fn cache(
    stages: [AluOp; 2],
    imm: Imm,
    seed: Seed,
    emit_all: bool,
    tensors: [Tensor<3>; 2],
    channels: u8,
) -> Instruction {
    let opcode = if emit_all {
        Opcode::TensorScalarCacheCumulative
    } else {
        Opcode::TensorScalarCacheReduce
    };
    let (command, start) = seed.parts();
    let stages = [(stages[0], imm), (stages[1], start)];
    let mut body = with_scalars(stages, tensors[0], tensors[1], channels);
    body.accumulator_cmd = command.code();
    Instruction::new(opcode, body)
}

/// 0x30: exp(src − imm), summed into the accumulator when a seed is given.
pub fn exponential(
    imm: Imm,
    sum: Option<Seed>,
    src: Tensor<3>,
    dst: Tensor<3>,
    channels: u8,
) -> Instruction {
    let (command, start) = sum.map_or((AccumCmd::Idle, Imm::None), Seed::parts);
    let stages = [(AluOp::Bypass, imm), (AluOp::Bypass, start)];
    let mut body = with_scalars(stages, src, dst, channels);
    body.accumulator_cmd = command.code();
    Instruction::new(Opcode::Exponential, body)
}

/// 0x9d, or 0x9e for bitvec operations: (src0 op0 imm) op1 src1.
pub fn scalar_tensor_tensor(
    stages: [AluOp; 2],
    imm: Imm,
    reverse: ReverseOps,
    sources: [Tensor<2>; 2],
    dst: Tensor<2>,
    channels: u8,
) -> Instruction {
    let [src0, src1] = sources;
    let bitvec = stages.iter().any(|&op| bitvec_form(op, src0.dtype));
    let (imm0_src, imm0) = imm.parts();
    let body = ScalarTensorTensor {
        src0_mem_pattern: src0.pattern,
        src1_mem_pattern: src1.pattern,
        op0: stages[0].code(),
        op1: stages[1].code(),
        reverse_operands: reverse.code(),
        imm0_src,
        in0_in1_dtype: pair(src0.dtype, src1.dtype),
        out_dtype: dst.dtype.code(),
        num_active_channels: channels,
        imm0_dtype: if bitvec { src0.dtype } else { Dtype::Fp32 }.code(),
        dst_mem_pattern: dst.pattern,
        imm0,
        ..ScalarTensorTensor::default()
    };
    let opcode =
        if bitvec { Opcode::ScalarTensorTensorBitvec } else { Opcode::ScalarTensorTensorArith };
    Instruction::new(opcode, body)
}

/// 0x98: src where the channel's predicate is not 0, else the scalar. The predicate's dtype is the
/// unsigned integer of the data's width.
pub fn select(
    predicate: Imm,
    otherwise: Imm,
    src: Tensor<3>,
    dst: Pattern<3>,
    channels: u8,
) -> Instruction {
    let (pred_imm_src, pred_imm) = predicate.parts();
    let (src1_imm_src, src1_imm) = otherwise.parts();
    let pred_dtype = match src.dtype.size() {
        1 => Dtype::Uint8,
        2 => Dtype::Uint16,
        _ => Dtype::Uint32,
    };
    let body = TensorScalarSelect {
        src0_mem_pattern: src.pattern,
        num_active_channels: channels,
        dtype: src.dtype.code(),
        pred_imm_dtype: pred_dtype.code(),
        src1_imm_src,
        pred_imm_src,
        src1_imm,
        pred_imm,
        dst_mem_pattern: dst,
        ..TensorScalarSelect::default()
    };
    Instruction::new(Opcode::TensorScalarSelect, body)
}

impl Instruction {
    /// Starts once `semaphore >= value`. The value is shared with an update that has an immediate
    /// (EV-4), which [`Self::increments`] has not.
    pub fn waits_for(mut self, semaphore: u8, value: u32) -> Self {
        self.events.wait_mode = WaitMode::SemGeImm.code();
        self.events.wait_idx = semaphore;
        self.events.semaphore_value = value;
        self
    }

    /// Adds 1 to a semaphore on completion.
    pub fn increments(mut self, semaphore: u8) -> Self {
        self.events.update_mode = UpdateMode::SemIncDone.code();
        self.events.update_idx = semaphore;
        self
    }
}
