//! The structs of ISA 7: one row per field, from which the Rust struct, its decoder and encoder, the
//! field metadata and the reserved-byte check are made.
//!
//! Every struct holds raw integers, so every 64-byte value decodes without loss, legal or not.
//! `Default` is the blank of the struct: the values that text leaves out.

use crate::enums::{
    AccumCmd, DebugCmd, ImmSrc, ReduceAxis, ReduceOp, ReverseOps, SubDim, UpdateMode, WaitMode,
};
use crate::field::{Field, FieldKind, Pattern, Raw};
use crate::word::WORD_BYTES;

/// A struct of ISA 7 as data.
#[derive(Debug)]
pub struct Layout {
    /// The name of ISA 7, such as `S3S3D3_TT`.
    pub name: &'static str,
    pub fields: &'static [&'static Field],
}

impl Layout {
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().copied().find(|field| field.name == name)
    }
}

macro_rules! layouts {
    ($(
        $(#[$doc:meta])*
        $struct:ident $module:ident $name:literal $start:literal..$end:literal {
            $($offset:literal $field:ident: $raw:ty as $kind:expr => $default:expr;)*
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $struct {
            $(pub $field: $raw,)*
        }

        #[doc = concat!("The fields of ", $name, " as data.")]
        pub mod $module {
            #![allow(non_upper_case_globals)]
            use super::*;

            $(pub static $field: Field = Field {
                name: stringify!($field),
                label: concat!(" ", stringify!($field), "="),
                offset: $offset,
                size: <$raw as Raw>::SIZE,
                kind: $kind,
            };)*

            pub static LAYOUT: Layout = Layout { name: $name, fields: &[$(&$field),*] };
        }

        impl $struct {
            pub const LAYOUT: &Layout = &$module::LAYOUT;

            #[inline]
            pub(crate) fn decode(word: &[u8; WORD_BYTES]) -> Self {
                Self { $($field: Raw::get(word, $offset),)* }
            }

            pub(crate) fn encode(&self, word: &mut [u8; WORD_BYTES]) {
                $(self.$field.put(word, $offset);)*
            }
        }

        impl Default for $struct {
            #[inline]
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        // The fields tile their part of the word without gap or overlap.
        const _: () = {
            let mut next = $start;
            $(
                assert!($offset == next, "field offset");
                next += <$raw as Raw>::SIZE;
            )*
            assert!(next == $end, "struct extent");
        };
    )*};
}

layouts! {
    /// Bytes 0 to 3 of every word (ISA 2.1).
    Header header "header" 0..4 {
        0 opcode: u8 as FieldKind::Opcode => 0;
        1 inst_word_len: u8 as FieldKind::Number => 16;
        2 debug_cmd: u8 as FieldKind::Enum(&DebugCmd::TABLE) => 0;
        3 debug_hint: u8 as FieldKind::Number => 0;
    }

    /// Bytes 4 to 11 of every word (ISA 2.3, 2.4).
    Events events "events" 4..12 {
        4 wait_mode: u8 as FieldKind::Enum(&WaitMode::TABLE) => 0;
        5 wait_idx: u8 as FieldKind::Number => 0;
        6 update_mode: u8 as FieldKind::Enum(&UpdateMode::TABLE) => 0;
        7 update_idx: u8 as FieldKind::Number => 0;
        8 semaphore_value: u32 as FieldKind::Number => 0;
    }

    /// Two 3-D sources, one 3-D destination (ISA 7.1).
    TensorTensor tensor_tensor "S3S3D3_TT" 12..64 {
        12 in0_in1_dtype: u8 as FieldKind::DtypePair => 0xaa;
        13 out_dtype: u8 as FieldKind::Dtype => 0x0a;
        14 op: u8 as FieldKind::AluOp => 0;
        15 num_active_channels: u8 as FieldKind::Channels => 128;
        16 src0_mem_pattern: Pattern<3> as FieldKind::Pattern(3) => Pattern::default();
        32 src1_mem_pattern: Pattern<3> as FieldKind::Pattern(3) => Pattern::default();
        48 dst_mem_pattern: Pattern<3> as FieldKind::Pattern(3) => Pattern::default();
    }

    /// Extended tensor-tensor, 2-D (ISA 7.2).
    ExtendedTensorTensor extended_tensor_tensor "EXTENDED_TTA" 12..64 {
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
    TensorReduce tensor_reduce "S4D4_TR" 12..64 {
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
    CrossLaneReduce cross_lane_reduce "S4D4_CR" 12..64 {
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
    TensorScalar tensor_scalar "S3D3_TS" 12..64 {
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
    ScalarTensorTensor scalar_tensor_tensor "S2S2D2_STT" 12..64 {
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
    TensorScalarSelect tensor_scalar_select "S3D3_TS_SELECT" 12..64 {
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
    LoadMaskSelect load_mask_select "CTRL_IM" 12..64 {
        12 param_ram_offset: u16 as FieldKind::Number => 0;
        14 imm_ptr_select: u8 as FieldKind::Number => 0;
        15 reserved0: [u8; 17] as FieldKind::Reserved => [0; 17];
        32 immediate: [u8; 32] as FieldKind::Bytes => IDENTITY_LANES;
    }
}

impl ExtendedTensorTensor {
    /// Channels that the word processes: 16 per port, all 128 when num_active_ports (bits 3 to 5 of
    /// completion_info) is 0 (ISA 7.2).
    pub const fn channels(&self) -> u32 {
        match self.completion_info >> 3 & 7 {
            0 => 128,
            ports => 16 * ports as u32,
        }
    }
}

/// The lane table that moves nothing: 0, 1, …, 31.
pub const IDENTITY_LANES: [u8; 32] = {
    let mut lanes = [0; 32];
    let mut lane = 0;
    while lane < 32 {
        lanes[lane] = lane as u8;
        lane += 1;
    }
    lanes
};
