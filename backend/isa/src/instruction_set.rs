//! The instruction set as two tables: the structs of ISA 7 and the opcodes of ISA 9 and 11.1.
//!
//! Everything that shows, decodes, encodes or explains an instruction follows from these rows. See
//! `docs/adding-an-instruction.md`.

use crate::check::{
    accumulate, cross_lane, extended, lanes, scalar_tensor, scan, select, stream, tensor_reduce,
    tensor_scalar, tensor_tensor,
};
use crate::opcode::opcodes;

/// The structs. Apart from the opcodes, since some have a struct's name.
pub(crate) mod structs {
    use crate::enums::{AccumCmd, ImmSrc, ReduceAxis, ReduceOp, ReverseOps, SubDim};
    use crate::field::{Field, FieldKind, Pattern, Raw};
    use crate::instruction::bodies;
    use crate::layout::{IDENTITY_LANES, Layout, layouts};
    use crate::word::WORD_BYTES;

    /// Each struct is bytes 12 to 63 of a word.
    macro_rules! structs {
        ($($(#[$doc:meta])* $struct:ident $module:ident $name:literal $fields:tt)*) => {
            layouts! { $($(#[$doc])* $struct $module $name 12..64 $fields)* }
            bodies! { $($struct)* }
        };
    }

    // Name, module of its fields, name in ISA 7; then a row a field: offset, name, type, kind, blank value.
    structs! {
        /// Two 3-D sources, one 3-D destination (ISA 7.1).
        TensorTensor tensor_tensor "S3S3D3_TT" {
            12 in0_in1_dtype: u8 as FieldKind::DtypePair => 0xaa;
            13 out_dtype: u8 as FieldKind::Dtype => 0x0a;
            14 op: u8 as FieldKind::AluOp => 0;
            15 num_active_channels: u8 as FieldKind::Channels => 128;
            16 src0_mem_pattern: Pattern<3> as FieldKind::Pattern(3) => Pattern::default();
            32 src1_mem_pattern: Pattern<3> as FieldKind::Pattern(3) => Pattern::default();
            48 dst_mem_pattern: Pattern<3> as FieldKind::Pattern(3) => Pattern::default();
        }

        /// Extended tensor-tensor, 2-D (ISA 7.2).
        ExtendedTensorTensor extended_tensor_tensor "EXTENDED_TTA" {
            12 extended_opcode: u8 as FieldKind::Number => 2;
            13 completion_info: u8 as FieldKind::Bits => 0b101;
            14 in0_in1_dtype: u8 as FieldKind::DtypePair => 0xaa;
            15 out_dtype: u8 as FieldKind::Dtype => 0x0a;
            16 op: u8 as FieldKind::AluOp => 4;
            17 reserved0: [u8; 3] as FieldKind::Reserved => [0; 3];
            20 src0_mem_pattern: Pattern<2> as FieldKind::Pattern(2) => Pattern::default();
            32 src1_mem_pattern: Pattern<2> as FieldKind::Pattern(2) => Pattern::default();
            44 dst_mem_pattern: Pattern<2> as FieldKind::Pattern(2) => Pattern::default();
            56 reserved1: [u8; 8] as FieldKind::Reserved => [0; 8];
        }

        /// One 4-D source, one 4-D destination (ISA 7.3).
        TensorReduce tensor_reduce "S4D4_TR" {
            12 src_mem_pattern: Pattern<4> as FieldKind::Pattern(4) => Pattern::default();
            32 in_dtype: u8 as FieldKind::Dtype => 0x0a;
            33 out_dtype: u8 as FieldKind::Dtype => 0x0a;
            34 num_active_channels: u8 as FieldKind::Channels => 128;
            35 negated: u8 as FieldKind::Number => 0;
            36 op: u8 as FieldKind::AluOp => 0;
            37 op_dim: u8 as FieldKind::Enum(&SubDim::TABLE) => 0;
            38 mask_enable: u8 as FieldKind::Number => 0;
            39 reserved1: [u8; 5] as FieldKind::Reserved => [0; 5];
            44 dst_mem_pattern: Pattern<4> as FieldKind::Pattern(4) => Pattern::default();
        }

        /// Cross-lane reduce (ISA 7.4).
        CrossLaneReduce cross_lane_reduce "S4D4_CR" {
            12 src_mem_pattern: Pattern<4> as FieldKind::Pattern(4) => Pattern::default();
            32 in_dtype: u8 as FieldKind::Dtype => 0x0a;
            33 out_dtype: u8 as FieldKind::Dtype => 0x0a;
            34 num_active_channels: u8 as FieldKind::Channels => 128;
            35 reduce_op: u8 as FieldKind::Enum(&ReduceOp::TABLE) => 0;
            36 reduce_axis: u8 as FieldKind::Enum(&ReduceAxis::TABLE) => 1;
            37 reserved0: [u8; 3] as FieldKind::Reserved => [0; 3];
            40 scale: u32 as FieldKind::Fp32 => 0x3f80_0000;
            44 dst_mem_pattern: Pattern<4> as FieldKind::Pattern(4) => Pattern::default();
        }

        /// Tensor with two immediates (ISA 7.5).
        TensorScalar tensor_scalar "S3D3_TS" {
            12 accumulator_cmd: u8 as FieldKind::Enum(&AccumCmd::TABLE) => 0;
            13 reserved0: [u8; 3] as FieldKind::Reserved => [0; 3];
            16 src_mem_pattern: Pattern<3> as FieldKind::Pattern(3) => Pattern::default();
            32 in_dtype: u8 as FieldKind::Dtype => 0x0a;
            33 out_dtype: u8 as FieldKind::Dtype => 0x0a;
            34 num_active_channels: u8 as FieldKind::Channels => 128;
            35 imm0_src: u8 as FieldKind::Enum(&ImmSrc::TABLE) => 0;
            36 op0: u8 as FieldKind::AluOp => 0;
            37 op1: u8 as FieldKind::AluOp => 0;
            38 reverse_operands: u8 as FieldKind::Enum(&ReverseOps::TABLE) => 0;
            39 imm1_src: u8 as FieldKind::Enum(&ImmSrc::TABLE) => 0;
            40 imm0: u32 as FieldKind::Immediate { source: &imm0_src } => 0;
            44 imm1: u32 as FieldKind::Immediate { source: &imm1_src } => 0;
            48 dst_mem_pattern: Pattern<3> as FieldKind::Pattern(3) => Pattern::default();
        }

        /// Scalar, tensor, tensor (ISA 7.6).
        ScalarTensorTensor scalar_tensor_tensor "S2S2D2_STT" {
            12 src0_mem_pattern: Pattern<2> as FieldKind::Pattern(2) => Pattern::default();
            24 src1_mem_pattern: Pattern<2> as FieldKind::Pattern(2) => Pattern::default();
            36 op0: u8 as FieldKind::AluOp => 0;
            37 op1: u8 as FieldKind::AluOp => 0;
            38 reverse_operands: u8 as FieldKind::Enum(&ReverseOps::TABLE) => 0;
            39 imm0_src: u8 as FieldKind::Enum(&ImmSrc::TABLE) => 0;
            40 in0_in1_dtype: u8 as FieldKind::DtypePair => 0xaa;
            41 out_dtype: u8 as FieldKind::Dtype => 0x0a;
            42 num_active_channels: u8 as FieldKind::Channels => 128;
            43 imm0_dtype: u8 as FieldKind::Dtype => 0x0a;
            44 accumulator_cmd: u8 as FieldKind::Enum(&AccumCmd::TABLE) => 0;
            45 reserved: [u8; 3] as FieldKind::Reserved => [0; 3];
            48 dst_mem_pattern: Pattern<2> as FieldKind::Pattern(2) => Pattern::default();
            60 imm0: u32 as FieldKind::Immediate { source: &imm0_src } => 0;
        }

        /// Tensor or scalar, chosen by a scalar (ISA 7.7).
        TensorScalarSelect tensor_scalar_select "S3D3_TS_SELECT" {
            12 reserved0: [u8; 4] as FieldKind::Reserved => [0; 4];
            16 src0_mem_pattern: Pattern<3> as FieldKind::Pattern(3) => Pattern::default();
            32 reversed_pred: u8 as FieldKind::Number => 0;
            33 num_active_channels: u8 as FieldKind::Channels => 128;
            34 dtype: u8 as FieldKind::Dtype => 0x0a;
            35 pred_imm_dtype: u8 as FieldKind::Dtype => 0x09;
            36 reserved1: [u8; 2] as FieldKind::Reserved => [0; 2];
            38 src1_imm_src: u8 as FieldKind::Enum(&ImmSrc::TABLE) => 0;
            39 pred_imm_src: u8 as FieldKind::Enum(&ImmSrc::TABLE) => 0;
            40 src1_imm: u32 as FieldKind::Immediate { source: &src1_imm_src } => 0;
            44 pred_imm: u32 as FieldKind::Immediate { source: &pred_imm_src } => 0;
            48 dst_mem_pattern: Pattern<3> as FieldKind::Pattern(3) => Pattern::default();
        }

        /// CTRL_IM: the lane table of StreamShuffle (ISA 7.8).
        LoadMaskSelect load_mask_select "CTRL_IM" {
            12 param_ram_offset: u16 as FieldKind::Number => 0;
            14 imm_ptr_select: u8 as FieldKind::Number => 0;
            15 reserved0: [u8; 17] as FieldKind::Reserved => [0; 17];
            32 immediate: [u8; 32] as FieldKind::Bytes => IDENTITY_LANES;
        }
    }
}

// Number, name, struct, engines, generations (and the rule that says so), domain (ISA 10.1), class of cost; the function of its rules and
// their ids; meaning.
opcodes! {
    0x30 Exponential TensorScalar [DVE] FROM_MARIANA Alu Exponential
        accumulate::exponential, "EX-1..8"
        "exp(src - imm0), optionally summed into the DVE accumulator";
    0x41 TensorTensorArithOp TensorTensor [DVE POOL] ALL NativeOnPool TensorTensor
        tensor_tensor::arith, "TT-1..15, TT-E1, TT-E2, TT-E4"
        "src0 op src1, element by element";
    0x42 TensorReduceArithOp TensorReduce [DVE POOL] ALL Alu Reduce
        tensor_reduce::arith, "TR-1..13, TR-E1, TR-E2"
        "reduction of the innermost dimensions of each channel";
    0x43 TensorScalarArithOp TensorScalar [DVE POOL] ALL Alu Elementwise
        tensor_scalar::arith, "TS-1..15, TS-E1"
        "(src op0 imm0) op1 imm1; on POOL only the RSQRT form";
    0x44 TensorScalarPtrArithOp TensorScalar [DVE] ALL Alu Elementwise
        tensor_scalar::pointer_arith, "TP-1..3"
        "TensorScalarArithOp with two pointer immediates (deprecated)";
    0x46 Copy TensorReduce [DVE ACT POOL] ALL Moved Elementwise
        stream::copy, "CC-1..7, CC-E1"
        "bits moved unchanged";
    0x47 Cast TensorReduce [DVE ACT POOL] ALL MovedIfSame Elementwise
        stream::cast, "CC-1..7, CC-E1"
        "conversion between data types through fp32";
    0x48 Reciprocal TensorReduce [DVE ACT] ALL Alu Reciprocal
        stream::reciprocal, "CC-1..7"
        "1 / src, exactly rounded in fp32";
    0x4e TensorCumulativeArithOp TensorReduce [DVE] ALL Alu Scan
        scan::arith, "TC-1..11, TC-E1"
        "inclusive scan along the innermost dimensions";
    0x51 TensorTensorBitvecOp TensorTensor [DVE POOL] ALL Bits TensorTensor
        tensor_tensor::bitvec, "TT-1..14, TT-E3, TT-E4"
        "src0 op src1 on raw bits";
    0x52 TensorReduceBitvecOp TensorReduce [DVE] ALL Bits Reduce
        tensor_reduce::bitvec, "TR-1..11, TR-E1"
        "reduction of raw bits over the innermost dimensions of each channel";
    0x53 TensorScalarBitvecOp TensorScalar [DVE] ALL Bits Elementwise
        tensor_scalar::bitvec, "TS-1..15, TS-E1"
        "(src op0 imm0) op1 imm1 on raw bits";
    0x54 TensorScalarPtrBitvecOp TensorScalar [DVE] ALL Bits Elementwise
        tensor_scalar::pointer_bitvec, "TP-1..3"
        "TensorScalarBitvecOp with two pointer immediates (deprecated)";
    0x5e TensorCumulativeBitvecOp TensorReduce [DVE] ALL Bits Scan
        scan::bitvec, "TC-1..10, TC-E1"
        "inclusive scan of raw bits along the innermost dimensions";
    0x65 BatchNormBackProp TensorTensor [DVE] ALL Alu Unpriced
        tensor_tensor::batch_norm, "BB-1..3"
        "validated but not executed";
    0x69 LoadMaskSelect LoadMaskSelect [DVE] ALL Moved Fixed
        lanes::load_mask_select, "MSK-1..2"
        "loads the 32-entry lane table of StreamShuffle and StreamTranspose";
    0x6a StreamShuffle TensorReduce [DVE] ALL Moved Stream
        stream::shuffle, "SS-1..4"
        "lanes of each block of 32 channels moved by the lane table";
    0x6b StreamTranspose TensorReduce [DVE] ALL Moved Stream
        stream::transpose, "ST-1..8"
        "transpose of each tile of 32 channels by 32 elements";
    0x72 CopyPredicated TensorTensor [DVE] ALL Moved Predicated
        tensor_tensor::copy_predicated, "CP-1..8"
        "src1 copied where src0 is not zero";
    0x7c CrossLaneReduceArith CrossLaneReduce [POOL] ALL CrossLane CrossLane
        cross_lane::arith, "CR-1..11"
        "sum, average or maximum over channels";
    0x7d CrossLaneReduceBitvec CrossLaneReduce [POOL] ALL Bits CrossLane
        cross_lane::bitvec, "CR-1..11"
        "or, and, xor over channels";
    0x83 TransposeTensorReduceArithOp TensorReduce [DVE POOL] ALL Alu TransposeReduce
        tensor_reduce::transpose_arith, "TTR-1..5, TTR-E1"
        "TensorReduceArithOp of the source transposed in 32 by 32 tiles";
    0x84 TransposeTensorReduceBitvecOp TensorReduce [DVE] ALL Bits TransposeReduce
        tensor_reduce::transpose_bitvec, "TTR-1..5, TTR-E1"
        "TensorReduceBitvecOp of the source transposed in 32 by 32 tiles";
    0x8a TensorTensorAddBf16 TensorTensor [POOL] SUNDA (by TB_1) Alu TensorTensor
        tensor_tensor::packed_add, "TB-1..9"
        "src0 + src1 of packed BF16";
    0x8b TensorTensorMultBf16 TensorTensor [POOL] SUNDA (by TB_1) Alu TensorTensor
        tensor_tensor::packed_mult, "TB-1..9"
        "src0 * src1 of packed BF16";
    0x8c TensorReduceAddBf16 TensorReduce [POOL] SUNDA (by RB_1) Alu Reduce
        tensor_reduce::packed_add, "RB-1..4"
        "sum of packed BF16 over the innermost dimensions";
    0x8d TensorReduceMaxBf16 TensorReduce [POOL] SUNDA (by RB_1) Alu Reduce
        tensor_reduce::packed_max, "RB-1..4"
        "maximum of packed BF16 over the innermost dimensions";
    0x8f TensorTensorSubtractBf16 TensorTensor [POOL] SUNDA (by TB_1) Alu TensorTensor
        tensor_tensor::packed_subtract, "TB-1..9"
        "src0 - src1 of packed BF16";
    0x93 TransposeTensorScalarArithOp TensorScalar [DVE] ALL Alu TransposeScalar
        tensor_scalar::transpose, "TTS-1..3"
        "TensorScalarArithOp of the source transposed in 32 by 32 tiles";
    0x98 TensorScalarSelect TensorScalarSelect [DVE] ALL Moved Select
        select::tensor_scalar_select, "SEL-1..8"
        "src0 or an immediate, chosen by one scalar per channel";
    0x99 CastPredicated TensorTensor [DVE] ALL Alu Predicated
        tensor_tensor::cast_predicated, "CP-1..8"
        "src1 converted where src0 is not zero";
    0x9a TensorScalarCacheReduce TensorScalar [DVE] ALL Alu CacheReduce
        accumulate::cache, "CA-1..11"
        "running acc = acc op1 (src op0 imm0); the last value is written";
    0x9d ScalarTensorTensorArith ScalarTensorTensor [DVE] ALL Alu ScalarTensorTensor
        scalar_tensor::arith, "STT-1..12"
        "(src0 op0 imm0) op1 src1";
    0x9e ScalarTensorTensorBitvec ScalarTensorTensor [DVE] ALL Bits ScalarTensorTensor
        scalar_tensor::bitvec, "STT-1..13"
        "(src0 op0 imm0) op1 src1 on raw bits";
    0xe6 TensorScalarCacheCumulative TensorScalar [DVE] ALL Alu CacheScan
        accumulate::cache, "CA-1..11"
        "running acc = acc op1 (src op0 imm0); every value is written";
    0xf0 ExtendedTensorTensorArith ExtendedTensorTensor [POOL] ALL NativeOnPool ExtendedTensorTensor
        extended::extended_tensor_tensor, "XA-1..6"
        "src0 + src1 or src0 * src1 over multiples of 16 channels";
}
