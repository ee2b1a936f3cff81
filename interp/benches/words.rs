//! Throughput of single words, decoding and dispatch included: GB/s, each input and output counted once.
//!
//! `cargo bench -p partita-interp [-- NAME…]`; with `--tsv` each line is a size, a name, GB/s and µs, and with
//! `--threads` rows are spread over the cores. `--program IMAGE` loads a whole program image instead and runs it again and again.

use std::time::Instant;

use partita_backend::image;
use partita_backend::program::IoTensor;
use partita_interp::exec::{Executable, Options};
use partita_interp::{Limits, Machine, Place, Space};
use partita_ir::{TensorData, TensorType};
use partita_isa::{
    AccumCmd, AluOp, CrossLaneReduce, Dtype, Engine, Generation, Instruction, Opcode, Pattern,
    SubDim, TensorReduce, TensorScalar, TensorTensor, Word,
};

struct Case {
    name: &'static str,
    engine: Engine,
    /// Bytes per column of 128 channels.
    bytes: usize,
    word: Word,
}

/// Byte offset of the second source and of the destination, beyond the longest row of fp32, with gaps as between the
/// tensors of a program.
const SECOND: u32 = 0x1_0440;
const RESULT: u32 = 0x2_0880;
/// Bytes of HBM: as much as a program with such tensors has, which makes the machine ask for huge pages.
const HBM: u64 = 8 << 20;

fn cases(n: u16) -> Vec<Case> {
    let case =
        |name, engine, bytes, word: Instruction| Case { name, engine, bytes, word: word.encode() };
    let pair = |d: Dtype| d.code() << 4 | d.code();
    let add = |d: Dtype| {
        let body = TensorTensor {
            in0_in1_dtype: pair(d),
            out_dtype: d.code(),
            op: AluOp::Add.code(),
            src0_mem_pattern: Pattern::contiguous(0, n),
            src1_mem_pattern: Pattern::contiguous(SECOND, n),
            dst_mem_pattern: Pattern::contiguous(RESULT, n),
            ..TensorTensor::default()
        };
        Instruction::new(Opcode::TensorTensorArithOp, body)
    };
    let scalar = |opcode, op0: AluOp, op1: AluOp, d: Dtype| {
        let cache = opcode == Opcode::TensorScalarCacheCumulative;
        let body = TensorScalar {
            op0: op0.code(),
            op1: op1.code(),
            in_dtype: d.code(),
            out_dtype: d.code(),
            accumulator_cmd: if cache { AccumCmd::ZeroAccumulate.code() } else { 0 },
            imm0: if opcode == Opcode::Exponential { 0 } else { 1.5f32.to_bits() },
            imm1: if cache || opcode == Opcode::Exponential { 0 } else { 0.25f32.to_bits() },
            src_mem_pattern: Pattern::contiguous(0, n),
            dst_mem_pattern: Pattern::contiguous(RESULT, n),
            ..TensorScalar::default()
        };
        Instruction::new(opcode, body)
    };
    let reduce = |opcode, op: AluOp, from: Dtype, to: Dtype, group, out| {
        let body = TensorReduce {
            op: op.code(),
            op_dim: if out == n { SubDim::Unused } else { SubDim::X }.code(),
            in_dtype: from.code(),
            out_dtype: to.code(),
            src_mem_pattern: Pattern {
                start_addr: 0,
                step_elem: [1, group as i16, 1, 1],
                num_elem: [group, n / group, 1, 1],
            },
            dst_mem_pattern: Pattern::contiguous(RESULT, out),
            ..TensorReduce::default()
        };
        Instruction::new(opcode, body)
    };
    let scan = {
        let mut word =
            reduce(Opcode::TensorCumulativeArithOp, AluOp::Add, Dtype::Fp32, Dtype::Fp32, n, n);
        if let partita_isa::Body::TensorReduce(body) = &mut word.body {
            body.op_dim = SubDim::X.code();
        }
        word
    };
    let cross = |d: Dtype| {
        let body = CrossLaneReduce {
            in_dtype: d.code(),
            out_dtype: d.code(),
            src_mem_pattern: Pattern::contiguous(0, n),
            dst_mem_pattern: Pattern::contiguous(RESULT, n),
            ..CrossLaneReduce::default()
        };
        Instruction::new(Opcode::CrossLaneReduceArith, body)
    };
    use AluOp::{Add, Bypass, Max, Mult};
    use Dtype::{Bfloat16, Fp8Exp4, Fp32, Int8};
    use Engine::{Dve, Pool};
    vec![
        case("add f32", Dve, 12, add(Fp32)),
        case("add bf16", Dve, 6, add(Bfloat16)),
        case("add i8", Dve, 3, add(Int8)),
        case("x*s+t f32", Dve, 8, scalar(Opcode::TensorScalarArithOp, Mult, Add, Fp32)),
        case("x*s+t bf16", Dve, 4, scalar(Opcode::TensorScalarArithOp, Mult, Add, Bfloat16)),
        case("max(x, s) f32", Dve, 8, scalar(Opcode::TensorScalarArithOp, Max, Bypass, Fp32)),
        case("row max f32", Dve, 4, reduce(Opcode::TensorReduceArithOp, Max, Fp32, Fp32, n, 1)),
        case(
            "row max bf16",
            Dve,
            2,
            reduce(Opcode::TensorReduceArithOp, Max, Bfloat16, Bfloat16, n, 1),
        ),
        case("row sum f32", Dve, 4, reduce(Opcode::TensorReduceArithOp, Add, Fp32, Fp32, n, 1)),
        case("cross sum f32", Pool, 4, cross(Fp32)),
        case("cross sum bf16", Pool, 2, cross(Bfloat16)),
        case("cross sum i8", Pool, 1, cross(Int8)),
        case("transpose f32", Dve, 8, reduce(Opcode::StreamTranspose, Bypass, Fp32, Fp32, n, n)),
        case(
            "transpose bf16",
            Dve,
            4,
            reduce(Opcode::StreamTranspose, Bypass, Bfloat16, Bfloat16, n, n),
        ),
        case("transpose i8", Dve, 2, reduce(Opcode::StreamTranspose, Bypass, Int8, Int8, n, n)),
        case(
            "transpose+sum f32",
            Dve,
            4,
            reduce(Opcode::TransposeTensorReduceArithOp, Add, Fp32, Fp32, 32, n / 32),
        ),
        case("exp f32", Dve, 8, scalar(Opcode::Exponential, Bypass, Bypass, Fp32)),
        case("cumsum f32", Dve, 8, scan),
        case(
            "cache scan f32",
            Dve,
            8,
            scalar(Opcode::TensorScalarCacheCumulative, Mult, Add, Fp32),
        ),
        case("cast f32 bf16", Dve, 6, reduce(Opcode::Cast, Bypass, Fp32, Bfloat16, n, n)),
        case("cast bf16 f32", Dve, 6, reduce(Opcode::Cast, Bypass, Bfloat16, Fp32, n, n)),
        case("cast f32 f8E4M3", Dve, 5, reduce(Opcode::Cast, Bypass, Fp32, Fp8Exp4, n, n)),
        case("cast f8E4M3 f32", Dve, 5, reduce(Opcode::Cast, Bypass, Fp8Exp4, Fp32, n, n)),
    ]
}

fn machine(parallel: bool) -> Machine {
    let limits = Limits { parallel, ..Limits::default() };
    let mut machine =
        Machine::new(Generation::Mariana.into(), HBM, limits).expect("no HBM is asked for");
    for partition in 0..128 {
        let place = Place { space: Space::Sbuf, partition };
        let row = machine.row_mut(place, 0, SECOND as usize * 2).expect("the row is long enough");
        for (i, cell) in row.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            *cell = (((i * 37 + partition) % 1000) as f32 * 0.01 - 5.0).to_le_bytes();
        }
    }
    machine
}

/// The best time of at least 40 runs, and of as many more as fit into a tenth of a second.
fn best_seconds(mut work: impl FnMut()) -> f64 {
    let (begin, mut best) = (Instant::now(), f64::INFINITY);
    for round in 0.. {
        let start = Instant::now();
        if round >= 40 && start.duration_since(begin).as_secs_f64() > 0.1 {
            break;
        }
        work();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

/// Prints GB/s and µs of a program image that is loaded once, with its inputs in main memory; inputs and outputs are
/// counted once.
fn program(path: &str, parallel: bool) {
    let file = std::fs::read(path).expect("the image can be read");
    let program = image::read(&file).expect("the file is an image");
    let tensor = |io: &IoTensor| TensorType::new(io.shape.iter().copied(), io.dtype);
    let inputs: Vec<TensorData> = program
        .io
        .inputs
        .iter()
        .map(|io| {
            let bytes = io.byte_len().expect("the tensor fits") as usize;
            let values =
                (0..bytes / 4).flat_map(|i| ((i * 37 % 1000) as f32 * 0.01 - 5.0).to_le_bytes());
            TensorData::new(tensor(io), values.collect()).expect("the bytes fit the type")
        })
        .collect();
    let options =
        Options { limits: Limits { parallel, ..Limits::default() }, ..Options::default() };
    let mut executable = Executable::new(&program, &options).expect("the program is legal");
    executable.load(&inputs).expect("the inputs fit");
    let best = best_seconds(|| executable.run().expect("the program runs"));
    let io = program.io.inputs.iter().chain(&program.io.outputs);
    let bytes: u64 = io.filter_map(IoTensor::byte_len).sum();
    println!("{path}\t{:.2}\t{:.2}", bytes as f64 / best / 1e9, best * 1e6);
}

fn main() {
    let options: Vec<String> = std::env::args().skip(1).collect();
    let has = |option: &str| options.iter().any(|arg| arg == option);
    let (tsv, threads) = (has("--tsv"), has("--threads"));
    let wanted: Vec<&String> = options.iter().filter(|arg| !arg.starts_with('-')).collect();
    if let Some(at) = options.iter().position(|arg| arg == "--program") {
        return options[at + 1..].iter().for_each(|path| program(path, threads));
    }
    let mut machine = machine(threads);
    for n in [2048, 16384] {
        if !tsv {
            println!("[128, {n}]");
        }
        for case in cases(n) {
            if !wanted.is_empty() && !wanted.iter().any(|name| case.name.contains(name.as_str())) {
                continue;
            }
            let best = best_seconds(|| {
                machine.step(case.engine, &case.word).expect("the word is legal");
            });
            let bytes = (case.bytes * 128 * usize::from(n)) as f64;
            let (rate, micros) = (bytes / best / 1e9, best * 1e6);
            if tsv {
                println!("{n}\t{}\t{rate:.2}\t{micros:.2}", case.name);
            } else {
                println!("  {:<20} {rate:7.1} GB/s {micros:9.1} µs", case.name);
            }
        }
    }
    if tsv {
        return;
    }
    let tiny = cases(32).swap_remove(0);
    let mut word = Instruction::decode(&tiny.word);
    if let partita_isa::Body::TensorTensor(body) = &mut word.body {
        body.num_active_channels = 1;
    }
    let word = word.encode();
    let best = best_seconds(|| {
        for _ in 0..1000 {
            machine.step(Engine::Dve, &word).expect("the word is legal");
        }
    });
    println!("one row of 32: {:.0} ns a word", best * 1e6);
}
