//! Whole programs: queues, semaphores, DMA, and what goes wrong with them.

mod common;

use std::collections::BTreeMap;

use common::{f32s, floats};
use partita_backend::program::{Io, IoTensor, Meta, Program, Slot};
use partita_interp::exec::{ExecError, Options, Order, run};
use partita_ir::{ElemType, TensorData, TensorType};
use partita_isa::dma::{Descriptor, DmaAddr, DmaDim, DmaWait};
use partita_isa::{
    AluOp, Dtype, Engine, Instruction, Opcode, Pattern, Target, TensorScalar, TensorTensor,
    UpdateMode, WaitMode, Word,
};

const ROWS: u32 = 32;
const COLUMNS: u16 = 8;
const TENSOR_BYTES: u64 = ROWS as u64 * COLUMNS as u64 * 4;
/// Semaphores of the program below.
const LOADED: u8 = 3;
const SCALED: u8 = 4;
const ADDED: u8 = 5;

fn transfer(src: DmaAddr, dst: DmaAddr, load: bool) -> Descriptor {
    let (row, partition) = (i64::from(COLUMNS) * 4, 0x4_0000);
    let strides = if load { (row, partition) } else { (partition, row) };
    let dims = [
        DmaDim { count: COLUMNS.into(), src_stride: 4, dst_stride: 4 },
        DmaDim { count: ROWS, src_stride: strides.0, dst_stride: strides.1 },
    ];
    Descriptor { dims: dims[..].try_into().unwrap(), ..Descriptor::copy(Dtype::Fp32, src, dst) }
}

fn with_events(mut word: Instruction, wait: (u8, u32), update: u8) -> Word {
    word.events.wait_mode = WaitMode::SemGeImm.code();
    word.events.wait_idx = wait.0;
    word.events.semaphore_value = wait.1;
    word.events.update_mode = UpdateMode::SemIncDone.code();
    word.events.update_idx = update;
    word.encode()
}

/// `2·x + y`: two loads on two queues, a scaling on DVE, an addition on POOL, a store.
fn program() -> Program {
    let mut x = transfer(DmaAddr::hbm(0), DmaAddr::sbuf(0), true);
    x.update = Some(LOADED);
    let mut y = transfer(DmaAddr::hbm(TENSOR_BYTES), DmaAddr::sbuf(64), true);
    (y.queue, y.update) = (1, Some(LOADED));
    let mut store = transfer(DmaAddr::sbuf(192), DmaAddr::hbm(2 * TENSOR_BYTES), false);
    store.waits = [DmaWait { semaphore: ADDED, value: 1 }][..].try_into().unwrap();
    let scale = TensorScalar {
        op0: AluOp::Mult.code(),
        imm0: 2f32.to_bits(),
        num_active_channels: ROWS as u8,
        src_mem_pattern: Pattern::contiguous(0, COLUMNS),
        dst_mem_pattern: Pattern::contiguous(128, COLUMNS),
        ..TensorScalar::default()
    };
    let add = TensorTensor {
        op: AluOp::Add.code(),
        num_active_channels: ROWS as u8,
        src0_mem_pattern: Pattern::contiguous(128, COLUMNS),
        src1_mem_pattern: Pattern::contiguous(64, COLUMNS),
        dst_mem_pattern: Pattern::contiguous(192, COLUMNS),
        ..TensorTensor::default()
    };
    let scale = Instruction::new(Opcode::TensorScalarArithOp, scale);
    let add = Instruction::new(Opcode::TensorTensorArithOp, add);
    let tensor = |name: &str, address| IoTensor {
        name: name.to_owned(),
        shape: vec![ROWS.into(), COLUMNS.into()],
        dtype: ElemType::F32,
        address,
        random: None,
    };
    Program {
        target: Target::default(),
        words: BTreeMap::from([
            (Engine::Dve, vec![with_events(scale, (LOADED, 2), SCALED)]),
            (Engine::Pool, vec![with_events(add, (SCALED, 1), ADDED)]),
        ]),
        dma: vec![x, y, store],
        order: vec![
            Slot::Dma(0),
            Slot::Dma(1),
            Slot::Word(Engine::Dve),
            Slot::Word(Engine::Pool),
            Slot::Dma(0),
        ],
        data: Vec::new(),
        io: Io {
            hbm_bytes: 3 * TENSOR_BYTES,
            inputs: vec![tensor("x", 0), tensor("y", TENSOR_BYTES)],
            outputs: vec![tensor("out0", 2 * TENSOR_BYTES)],
        },
        meta: Meta::default(),
        symbols: Vec::new(),
    }
}

fn inputs() -> [TensorData; 2] {
    let ty = TensorType::new([ROWS.into(), COLUMNS.into()], ElemType::F32);
    [1.0, 1000.0].map(|scale| {
        let values: Vec<f32> = (1..=256).map(|i| i as f32 * scale).collect();
        TensorData::new(ty.clone(), f32s(&values)).unwrap()
    })
}

fn in_queue_order(seed: u64) -> Options {
    Options { order: Order::Queues { seed }, ..Options::default() }
}

fn want() -> Vec<f32> {
    (1..=256).map(|i| i as f32 * 1002.0).collect()
}

#[test]
fn both_orders_give_the_result() {
    let program = program();
    let outputs = run(&program, &inputs(), &Options::default()).unwrap();
    assert_eq!(floats(outputs[0].bytes()), want());
    for seed in 0..100 {
        assert_eq!(run(&program, &inputs(), &in_queue_order(seed)).unwrap(), outputs);
    }
}

#[test]
fn some_seed_shows_a_missing_semaphore() {
    let mut program = program();
    program.dma[2].waits = Default::default();
    let good = run(&program, &inputs(), &Options::default()).unwrap();
    let differs = |seed| run(&program, &inputs(), &in_queue_order(seed)).unwrap() != good;
    assert!((0..20).any(differs));
}

#[test]
fn program_order_must_respect_the_semaphores() {
    let mut program = program();
    program.order.swap(2, 3);
    let error = run(&program, &inputs(), &Options::default()).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("word 0 of pool `tensor_tensor_arith "), "{text}");
    assert!(text.ends_with("waits for semaphore 4 >= 1, but semaphore 4 is 0"), "{text}");
}

#[test]
fn a_deadlock_names_every_waiting_item() {
    let mut program = program();
    program.dma[1].update = None;
    let error = run(&program, &inputs(), &in_queue_order(1)).unwrap_err();
    let ExecError::Deadlock(waiting) = &error else { panic!("{error}") };
    let queues: Vec<Slot> = waiting.iter().map(|head| head.item.queue).collect();
    assert_eq!(queues, [Slot::Word(Engine::Pool), Slot::Word(Engine::Dve), Slot::Dma(0)]);
    assert_eq!(waiting[1].reason, "semaphore 3 >= 2, but semaphore 3 is 1");
}

#[test]
fn illegal_items_are_refused_before_anything_runs() {
    let mut bad_word = program();
    bad_word.words.get_mut(&Engine::Dve).unwrap()[0].0[1] = 15;
    let text = run(&bad_word, &inputs(), &Options::default()).unwrap_err().to_string();
    assert!(text.contains("word 0 of dve") && text.contains("HDR-2"), "{text}");
    let mut bad_transfer = program();
    bad_transfer.dma[2].dst = DmaAddr::hbm(3 * TENSOR_BYTES);
    let text = run(&bad_transfer, &inputs(), &Options::default()).unwrap_err().to_string();
    assert!(text.contains("descriptor 1 of dma queue 0") && text.contains("DMA-4"), "{text}");
}

#[test]
fn inputs_must_fit() {
    let inputs = inputs();
    let error = run(&program(), &inputs[..1], &Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "the program takes 2 inputs, 1 are given");
    let scalar = TensorData::scalar(ElemType::F32, 0);
    let error = run(&program(), &[inputs[0].clone(), scalar], &Options::default()).unwrap_err();
    assert!(matches!(error, ExecError::InputType { .. }), "{error}");
}

#[test]
fn too_much_memory_is_refused() {
    let mut program = program();
    program.io.hbm_bytes = 1 << 60;
    let error = run(&program, &inputs(), &Options::default()).unwrap_err();
    assert!(matches!(error, ExecError::Memory(_)), "{error}");
}
