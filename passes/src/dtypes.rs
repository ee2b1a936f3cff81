//! The machine's name of an element type.

use partita_ir::ElemType;
use partita_isa::Dtype;

/// How an element type is held in memory: `i1` is a byte of 0 or 1.
pub const fn machine_dtype(ty: ElemType) -> Dtype {
    match ty {
        ElemType::I1 | ElemType::Ui8 => Dtype::Uint8,
        ElemType::I8 => Dtype::Int8,
        ElemType::I16 => Dtype::Int16,
        ElemType::I32 => Dtype::Int32,
        ElemType::I64 => Dtype::Int64,
        ElemType::Ui16 => Dtype::Uint16,
        ElemType::Ui32 => Dtype::Uint32,
        ElemType::Ui64 => Dtype::Uint64,
        ElemType::F32 => Dtype::Fp32,
        ElemType::F32r => Dtype::Fp32r,
        ElemType::F16 => Dtype::Fp16,
        ElemType::Bf16 => Dtype::Bfloat16,
        ElemType::F8E3M4 => Dtype::Fp8Exp3,
        ElemType::F8E4M3 => Dtype::Fp8Exp4,
        ElemType::F8E5M2 => Dtype::Fp8Exp5,
    }
}
