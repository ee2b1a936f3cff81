//! Words run without allocating, once the buffers of the first ones are there.

#![allow(unsafe_code)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::add_words;
use partita_interp::{Limits, Machine};
use partita_isa::{
    AluOp, CrossLaneReduce, Dtype, Engine, Generation, Instruction, Opcode, Pattern, SubDim,
    TensorReduce, TensorTensor, Word,
};

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every request goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller keeps the contract.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn small_words() -> Vec<(Engine, Word)> {
    let pair = Dtype::Fp32.code() << 4 | Dtype::Fp32.code();
    let add = TensorTensor {
        in0_in1_dtype: pair,
        out_dtype: Dtype::Fp32.code(),
        op: AluOp::Add.code(),
        num_active_channels: 32,
        src0_mem_pattern: Pattern::contiguous(0, 32),
        src1_mem_pattern: Pattern::contiguous(256, 32),
        dst_mem_pattern: Pattern::contiguous(512, 32),
    };
    let cast = TensorReduce {
        in_dtype: Dtype::Fp32.code(),
        out_dtype: Dtype::Bfloat16.code(),
        op_dim: SubDim::Unused.code(),
        num_active_channels: 32,
        src_mem_pattern: Pattern { start_addr: 0, step_elem: [2; 4], num_elem: [32, 1, 1, 1] },
        dst_mem_pattern: Pattern::contiguous(512, 32),
        ..TensorReduce::default()
    };
    let max = TensorReduce { op: AluOp::Max.code(), op_dim: SubDim::X.code(), ..cast };
    let max = TensorReduce { dst_mem_pattern: Pattern::contiguous(512, 1), ..max };
    let moved =
        TensorReduce { in_dtype: Dtype::Uint16.code(), out_dtype: Dtype::Uint16.code(), ..cast };
    let cross = CrossLaneReduce {
        src_mem_pattern: Pattern::contiguous(0, 32),
        dst_mem_pattern: Pattern::contiguous(512, 32),
        ..CrossLaneReduce::default()
    };
    vec![
        (Engine::Dve, Instruction::new(Opcode::TensorTensorArithOp, add).encode()),
        (Engine::Dve, Instruction::new(Opcode::Cast, cast).encode()),
        (Engine::Dve, Instruction::new(Opcode::TensorReduceArithOp, max).encode()),
        (Engine::Dve, Instruction::new(Opcode::StreamTranspose, moved).encode()),
        (Engine::Pool, Instruction::new(Opcode::CrossLaneReduceArith, cross).encode()),
    ]
}

#[test]
fn a_hundred_thousand_words_do_not_allocate() {
    let limits = Limits { parallel: false, ..Limits::default() };
    let mut machine = Machine::new(Generation::Mariana.into(), 0, limits).unwrap();
    let large = add_words().into_iter().map(|word| (Engine::Dve, word));
    for (engine, word) in small_words().into_iter().chain(large.clone()).collect::<Vec<_>>() {
        machine.step(engine, &word).unwrap();
    }
    let words = small_words();
    let large: Vec<(Engine, Word)> = large.collect();
    let before = COUNT.get();
    for _ in 0..100_000 / words.len() {
        for (engine, word) in &words {
            machine.step(*engine, word).unwrap();
        }
    }
    for (engine, word) in &large {
        machine.step(*engine, word).unwrap();
    }
    assert_eq!(COUNT.get() - before, 0);
}
