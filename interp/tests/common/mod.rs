//! Rows of a machine as plain values.

#![allow(dead_code)]

use partita_interp::{Machine, Place, Space};
use partita_isa::{
    AccumCmd, AluOp, Dtype, Instruction, Opcode, Pattern, SubDim, TensorReduce, TensorScalar, Word,
};

pub trait Sbuf {
    fn put(&mut self, partition: usize, offset: usize, bytes: &[u8]);
    fn get(&self, partition: usize, offset: usize, len: usize) -> Vec<u8>;
}

impl Sbuf for Machine {
    fn put(&mut self, partition: usize, offset: usize, bytes: &[u8]) {
        let place = Place { space: Space::Sbuf, partition };
        self.row_mut(place, offset, bytes.len()).unwrap().copy_from_slice(bytes);
    }

    fn get(&self, partition: usize, offset: usize, len: usize) -> Vec<u8> {
        self.row(Place { space: Space::Sbuf, partition }, offset, len).unwrap().to_vec()
    }
}

pub fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

pub fn ints(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

pub fn u32s(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

pub fn bits16(values: &[u16]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

pub fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect()
}

/// Words over 128 channels × 1024 fp32 elements at byte 0, results at byte 0x4000: a scan, a sum, a cache scan and
/// a cache sum.
pub fn add_words() -> Vec<Word> {
    let reduce = |dst: u16, channels| TensorReduce {
        op: AluOp::Add.code(),
        op_dim: SubDim::X.code(),
        in_dtype: Dtype::Fp32.code(),
        out_dtype: Dtype::Fp32.code(),
        num_active_channels: channels,
        src_mem_pattern: Pattern::contiguous(0, 1024),
        dst_mem_pattern: Pattern::contiguous(0x4000, dst),
        ..TensorReduce::default()
    };
    let cache = TensorScalar {
        accumulator_cmd: AccumCmd::ZeroAccumulate.code(),
        op0: AluOp::Mult.code(),
        op1: AluOp::Add.code(),
        imm0: 0.3f32.to_bits(),
        src_mem_pattern: Pattern::contiguous(0, 1024),
        dst_mem_pattern: Pattern::contiguous(0x4000, 1024),
        ..TensorScalar::default()
    };
    vec![
        Instruction::new(Opcode::TensorReduceArithOp, reduce(1, 128)).encode(),
        Instruction::new(Opcode::TensorCumulativeArithOp, reduce(1024, 128)).encode(),
        Instruction::new(Opcode::TensorScalarCacheReduce, cache).encode(),
        Instruction::new(Opcode::TensorScalarCacheCumulative, cache).encode(),
    ]
}
