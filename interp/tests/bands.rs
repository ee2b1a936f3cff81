//! Programs that run some rows at a time give the bits of programs that run item by item, as often as they run.

mod common;

use std::collections::BTreeMap;

use common::{f32s, floats};
use partita_backend::program::{Io, IoTensor, Meta, Program, Slot};
use partita_interp::Limits;
use partita_interp::exec::{ExecError, Executable, Options, run_in_order};
use partita_ir::{ElemType, TensorData, TensorType};
use partita_isa::dma::{Descriptor, DmaAddr, DmaDim, DmaWait};
use partita_isa::{
    AccumCmd, AluOp, Dtype, Engine, Instruction, Opcode, Pattern, Target, TensorScalar,
    TensorTensor, UpdateMode, WaitMode, Word,
};

const ROWS: u64 = 128;
const COLUMNS: u16 = 48;
const ROW_BYTES: u64 = COLUMNS as u64 * 4;
const TENSOR_BYTES: u64 = ROWS * ROW_BYTES;
const PARTITION: i64 = 0x4_0000;

/// Bytes of a partition: the input, twice it, a sum of two, and running sums.
const X: u32 = 0;
const TWICE: u32 = 0x400;
const SUM: u32 = 0x800;
const RUNNING: u32 = 0xC00;

fn io(name: &str, address: u64) -> IoTensor {
    let shape = vec![ROWS, COLUMNS.into()];
    IoTensor { name: name.to_owned(), shape, dtype: ElemType::F32, address, random: None }
}

fn dims(src_row: i64, dst_row: i64) -> [DmaDim; 2] {
    [
        DmaDim { count: COLUMNS.into(), src_stride: 4, dst_stride: 4 },
        DmaDim { count: ROWS as u32, src_stride: src_row, dst_stride: dst_row },
    ]
}

fn load(from: u64, to: u32) -> Descriptor {
    let (src, dst) = (DmaAddr::hbm(from), DmaAddr::sbuf(to.into()));
    let dims = dims(ROW_BYTES as i64, PARTITION)[..].try_into().unwrap();
    Descriptor { dims, update: Some(1), ..Descriptor::copy(Dtype::Fp32, src, dst) }
}

fn store(from: u32, to: u64) -> Descriptor {
    let (src, dst) = (DmaAddr::sbuf(from.into()), DmaAddr::hbm(to));
    let dims = dims(PARTITION, ROW_BYTES as i64)[..].try_into().unwrap();
    let waits = [DmaWait { semaphore: 2, value: 1 }][..].try_into().unwrap();
    Descriptor { dims, waits, ..Descriptor::copy(Dtype::Fp32, src, dst) }
}

fn word(mut word: Instruction, wait: Option<u32>, updates: bool) -> Word {
    if let Some(value) = wait {
        word.events.wait_mode = WaitMode::SemGeImm.code();
        word.events.wait_idx = 1;
        word.events.semaphore_value = value;
    }
    if updates {
        word.events.update_mode = UpdateMode::SemIncDone.code();
        word.events.update_idx = 2;
    }
    word.encode()
}

fn twice() -> Word {
    let body = TensorScalar {
        op0: AluOp::Mult.code(),
        imm0: 2f32.to_bits(),
        src_mem_pattern: Pattern::contiguous(X, COLUMNS),
        dst_mem_pattern: Pattern::contiguous(TWICE, COLUMNS),
        ..TensorScalar::default()
    };
    word(Instruction::new(Opcode::TensorScalarArithOp, body), Some(1), false)
}

/// The sum of what stands at two places.
fn sum(a: u32, b: u32) -> Word {
    let body = TensorTensor {
        op: AluOp::Add.code(),
        in0_in1_dtype: Dtype::Fp32.code() << 4 | Dtype::Fp32.code(),
        out_dtype: Dtype::Fp32.code(),
        src0_mem_pattern: Pattern::contiguous(a, COLUMNS),
        src1_mem_pattern: Pattern::contiguous(b, COLUMNS),
        dst_mem_pattern: Pattern::contiguous(SUM, COLUMNS),
        ..TensorTensor::default()
    };
    word(Instruction::new(Opcode::TensorTensorArithOp, body), None, false)
}

/// Running sums of each row, from a command's seed on.
fn running(command: AccumCmd) -> Word {
    let body = TensorScalar {
        op0: AluOp::Mult.code(),
        op1: AluOp::Add.code(),
        imm0: 0.5f32.to_bits(),
        accumulator_cmd: command.code(),
        src_mem_pattern: Pattern::contiguous(SUM, COLUMNS),
        dst_mem_pattern: Pattern::contiguous(RUNNING, COLUMNS),
        ..TensorScalar::default()
    };
    word(Instruction::new(Opcode::TensorScalarCacheCumulative, body), None, true)
}

/// Loads, words, then stores and whatever is loaded and stored after them.
fn program(words: Vec<Word>, loads: Vec<Descriptor>, rest: Vec<Descriptor>) -> Program {
    let queue = |count| std::iter::repeat_n(Slot::Dma(0), count);
    let dve = std::iter::repeat_n(Slot::Word(Engine::Dve), words.len());
    let order = queue(loads.len()).chain(dve).chain(queue(rest.len())).collect();
    Program {
        target: Target::default(),
        words: BTreeMap::from([(Engine::Dve, words)]),
        dma: loads.into_iter().chain(rest).collect(),
        order,
        data: Vec::new(),
        io: Io {
            hbm_bytes: 4 * TENSOR_BYTES,
            inputs: vec![io("x", 0)],
            outputs: vec![io("out0", TENSOR_BYTES), io("out1", 2 * TENSOR_BYTES)],
        },
        meta: Meta::default(),
        symbols: Vec::new(),
    }
}

fn input() -> TensorData {
    let values: Vec<f32> =
        (0..ROWS * u64::from(COLUMNS)).map(|i| (i * 37 % 1009) as f32 * 0.125 - 60.0).collect();
    let ty = TensorType::new([ROWS, COLUMNS.into()], ElemType::F32);
    TensorData::new(ty, f32s(&values)).unwrap()
}

/// The results by bands, which are those of the items one by one, in a first and in a second run.
fn results(program: &Program) -> Vec<TensorData> {
    let whole = run_in_order(program, &[input()], &Options::default(), &program.order).unwrap();
    for parallel in [false, true] {
        let limits = Limits { banded_elements: 0, parallel, ..Limits::default() };
        let options = Options { limits, ..Options::default() };
        let mut executable = Executable::new(program, &options).unwrap();
        for _ in 0..2 {
            executable.load(&[input()]).unwrap();
            executable.run().unwrap();
            assert_eq!(executable.outputs().unwrap(), whole);
        }
    }
    whole
}

#[test]
fn rows_that_a_program_brings_along() {
    let words = vec![twice(), sum(X, TWICE), running(AccumCmd::ZeroAccumulate)];
    let rest = vec![store(SUM, TENSOR_BYTES), store(RUNNING, 2 * TENSOR_BYTES)];
    let out = results(&program(words, vec![load(0, X)], rest));
    let (x, sums) = (floats(input().bytes()), floats(out[0].bytes()));
    assert!(x.iter().zip(&sums).all(|(x, sum)| x * 3.0 == *sum));
    let last = usize::from(COLUMNS) - 1;
    let total: f32 = sums[..=last].iter().map(|sum| sum * 0.5).sum();
    assert_eq!(floats(out[1].bytes())[last], total);
}

#[test]
fn rows_that_were_there_before() {
    // Nothing writes TWICE, nor the accumulators: both are zero in every run's first reading.
    let words = vec![sum(X, TWICE), running(AccumCmd::Accumulate)];
    let waiting = word(Instruction::decode(&twice()), Some(1), false);
    let words = [vec![waiting], words].concat();
    let rest = vec![store(SUM, TENSOR_BYTES), store(RUNNING, 2 * TENSOR_BYTES)];
    results(&program(words, vec![load(0, X)], rest));
    let rest = vec![store(SUM, TENSOR_BYTES), store(RUNNING, 2 * TENSOR_BYTES)];
    let unread =
        program(vec![sum(X, TWICE), running(AccumCmd::ZeroAccumulate)], vec![load(0, X)], rest);
    let out = results(&unread);
    assert_eq!(out[0].bytes(), input().bytes());
}

#[test]
fn rows_of_main_memory_that_other_partitions_read() {
    let words = vec![twice(), sum(X, TWICE), running(AccumCmd::ZeroAccumulate)];
    // What is stored is loaded again, shifted by one row and by one element, and stored beside it.
    for shift in [0, 4, ROW_BYTES] {
        let rest = vec![
            store(SUM, TENSOR_BYTES),
            load(TENSOR_BYTES - shift, TWICE),
            store(TWICE, 2 * TENSOR_BYTES),
        ];
        let out = results(&program(words.clone(), vec![load(0, X)], rest));
        let (sums, moved) = (out[0].bytes(), out[1].bytes());
        let shift = shift as usize;
        assert_eq!(moved[shift..], sums[..sums.len() - shift], "shift by {shift}");
    }
}

#[test]
fn a_wait_that_does_not_hold_is_told_by_its_item() {
    let words = vec![twice(), word(Instruction::decode(&sum(X, TWICE)), Some(7), false)];
    let program = program(words, vec![load(0, X)], Vec::new());
    let limits = Limits { banded_elements: 0, ..Limits::default() };
    let mut executable =
        Executable::new(&program, &Options { limits, ..Options::default() }).unwrap();
    executable.load(&[input()]).unwrap();
    let error = executable.run().unwrap_err();
    let ExecError::Item { item, .. } = &error else { panic!("{error}") };
    assert_eq!((item.queue, item.index), (Slot::Word(Engine::Dve), 1));
    assert!(
        error.to_string().ends_with("waits for semaphore 1 >= 7, but semaphore 1 is 1"),
        "{error}"
    );
}
