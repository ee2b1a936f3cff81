//! An address or a scalar means the same however it is given: in the word, at a pointer, or from a register.

mod common;

use common::Sbuf;
use partita_interp::{Limits, Machine};
use partita_isa::address::ADDR_REG;
use partita_isa::{
    AccumCmd, AluOp, Body, Dtype, Engine, FieldKind, Generation, ImmSrc, Instruction, Opcode,
    ReduceOp, SubDim, Target, Word, is_legal,
};

/// Where operand `n` of a word is put, and the scalar of an immediate.
const OPERANDS: [u32; 3] = [0, 0x1000, 0x2000];
const SCALAR: u32 = 0x3000;

/// Bodies of which one is legal under each opcode that is executed.
fn candidates(opcode: Opcode) -> Vec<Instruction> {
    let blank = Instruction::blank(opcode);
    let mut all = vec![blank];
    let mut with = |change: fn(&mut Body)| {
        let mut other = blank;
        change(&mut other.body);
        all.push(other);
    };
    with(|body| {
        if let Body::TensorReduce(body) = body {
            (body.op, body.op_dim) = (AluOp::Add.code(), SubDim::X.code());
        }
    });
    with(|body| {
        if let Body::TensorReduce(body) = body {
            (body.op, body.op_dim) = (AluOp::BitwiseXor.code(), SubDim::X.code());
            (body.in_dtype, body.out_dtype) = (Dtype::Uint32.code(), Dtype::Uint32.code());
        }
    });
    for op in [AluOp::Add, AluOp::Max] {
        let mut packed = blank;
        if let Body::TensorReduce(body) = &mut packed.body {
            (body.op, body.op_dim) = (op.code(), SubDim::X.code());
            (body.in_dtype, body.src_mem_pattern.num_elem[0]) = (Dtype::Bfloat16.code(), 2);
        }
        all.push(packed);
    }
    let mut with = |change: fn(&mut Body)| {
        let mut other = blank;
        change(&mut other.body);
        all.push(other);
    };
    // A whole tile of 32 elements.
    with(|body| {
        if let Body::TensorReduce(body) = body {
            body.src_mem_pattern.num_elem[0] = 32;
            body.dst_mem_pattern.num_elem[0] = 32;
        }
    });
    with(|body| {
        if let Body::TensorReduce(body) = body {
            (body.op, body.op_dim) = (AluOp::Add.code(), SubDim::X.code());
            body.src_mem_pattern.num_elem[0] = 32;
        }
    });
    with(|body| {
        if let Body::TensorReduce(body) = body {
            (body.op, body.op_dim) = (AluOp::BitwiseXor.code(), SubDim::X.code());
            (body.in_dtype, body.out_dtype) = (Dtype::Uint32.code(), Dtype::Uint32.code());
            body.src_mem_pattern.num_elem[0] = 32;
        }
    });
    with(|body| match body {
        Body::TensorTensor(body) => {
            (body.in0_in1_dtype, body.out_dtype) = (0x99, Dtype::Uint32.code());
        }
        Body::TensorScalar(body) => {
            (body.op0, body.op1) = (AluOp::BitwiseXor.code(), AluOp::BitwiseOr.code());
            (body.in_dtype, body.out_dtype) = (Dtype::Uint32.code(), Dtype::Uint32.code());
        }
        Body::ScalarTensorTensor(body) => {
            (body.op0, body.op1) = (AluOp::BitwiseXor.code(), AluOp::BitwiseOr.code());
            (body.in0_in1_dtype, body.out_dtype) = (0x99, Dtype::Uint32.code());
            body.imm0_dtype = Dtype::Uint32.code();
        }
        Body::CrossLaneReduce(body) => {
            body.reduce_op = ReduceOp::BitwiseXor.code();
            (body.in_dtype, body.out_dtype) = (Dtype::Uint32.code(), Dtype::Uint32.code());
        }
        _ => {}
    });
    with(|body| match body {
        Body::TensorTensor(body) => body.in0_in1_dtype = 0xa9,
        Body::TensorScalar(body) => {
            (body.op0, body.op1) = (AluOp::Mult.code(), AluOp::Add.code());
            body.src_mem_pattern.num_elem[0] = 32;
            body.dst_mem_pattern.num_elem[0] = 32;
        }
        _ => {}
    });
    with(|body| {
        if let Body::TensorScalar(body) = body {
            (body.op0, body.op1) = (AluOp::Mult.code(), AluOp::Add.code());
            body.accumulator_cmd = AccumCmd::LoadAccumulate.code();
        }
    });
    for op in [AluOp::Add, AluOp::Mult, AluOp::Subtract] {
        let mut packed = blank;
        if let Body::TensorTensor(body) = &mut packed.body {
            (body.op, body.in0_in1_dtype) = (op.code(), 0x66);
            for pattern in
                [&mut body.src0_mem_pattern, &mut body.src1_mem_pattern, &mut body.dst_mem_pattern]
            {
                pattern.num_elem[0] = 2;
            }
        }
        all.push(packed);
    }
    all
}

fn put(word: &mut Word, offset: usize, value: u32) {
    word.0[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
}

/// The word with its operands at places of their own.
fn placed(instruction: &Instruction, opcode: Opcode) -> Word {
    let mut word = instruction.encode();
    let patterns = fields(opcode).filter(|field| matches!(field.kind, FieldKind::Pattern(_)));
    for (field, address) in patterns.zip(OPERANDS) {
        put(&mut word, field.offset, address);
    }
    if opcode.takes_pointers() {
        for field in immediates(opcode) {
            put(&mut word, field.0, SCALAR);
        }
    }
    word
}

fn fields(opcode: Opcode) -> impl Iterator<Item = &'static partita_isa::Field> {
    opcode.info().body.layout().fields.iter().copied()
}

/// Offsets of the immediates and of what says how each is given.
fn immediates(opcode: Opcode) -> Vec<(usize, usize)> {
    let found = fields(opcode).filter_map(|field| match field.kind {
        FieldKind::Immediate { source } => Some((field.offset, source.offset)),
        _ => None,
    });
    found.collect()
}

/// A machine whose rows hold small numbers, and the scalar, in every partition.
fn machine(target: Target, literal: bool) -> Machine {
    let mut machine = Machine::new(target, 0, Limits { literal, ..Limits::default() }).unwrap();
    for p in 0..128 {
        for (n, at) in OPERANDS.into_iter().enumerate() {
            let row: Vec<u8> =
                (0..64).flat_map(|e| ((p + 7 * e + n) as f32).to_le_bytes()).collect();
            machine.put(p, at as usize, &row);
        }
        machine.put(p, SCALAR as usize, &3f32.to_bits().to_le_bytes());
    }
    for (number, address) in OPERANDS.into_iter().chain([SCALAR]).enumerate() {
        machine.registers[10 + number] = address;
    }
    machine
}

/// The destination's neighbourhood of every partition, and the accumulators, after a word.
fn effect(target: Target, engine: Engine, word: &Word, literal: bool) -> Vec<u8> {
    let mut machine = machine(target, literal);
    machine.step(engine, word).unwrap_or_else(|fault| panic!("{engine} {word:?}: {fault}"));
    let rows = (0..128).flat_map(|p| machine.get(p, 0, 0x3000));
    rows.chain(machine.accumulators.iter().flat_map(|x| x.to_le_bytes())).collect()
}

#[test]
fn every_opcode_takes_addresses_and_scalars_from_anywhere() {
    let mut ways = 0;
    for &opcode in Opcode::ALL {
        if matches!(opcode, Opcode::BatchNormBackProp | Opcode::LoadMaskSelect) {
            continue;
        }
        let info = opcode.info();
        let generation =
            Generation::ALL.into_iter().find(|&g| info.generations.contains(g)).unwrap();
        let target = Target::new(generation);
        let dve = info.engines.contains(Engine::Dve);
        let engine = if dve { Engine::Dve } else { Engine::Pool };
        let legal = |word: &Word| is_legal(word, &target, Some(engine));
        let found = candidates(opcode).iter().map(|body| placed(body, opcode)).find(legal);
        let word = found.unwrap_or_else(|| panic!("no legal word of {opcode:?} on {engine}"));
        let want = effect(target, engine, &word, false);
        assert_eq!(effect(target, engine, &word, true), want, "{opcode:?} element by element");
        // Every address in turn.
        let patterns = fields(opcode).filter(|field| matches!(field.kind, FieldKind::Pattern(_)));
        for (number, field) in (10u32..).zip(patterns) {
            let mut other = word;
            put(&mut other, field.offset, number | ADDR_REG);
            assert_eq!(effect(target, engine, &other, false), want, "{opcode:?} {}", field.name);
            ways += 1;
        }
        if opcode.takes_pointers() {
            continue;
        }
        for (slot, source) in immediates(opcode) {
            // The scalar in the word where that is legal, then the two ways to point at it.
            let mut inside = word;
            put(&mut inside, slot, 3f32.to_bits());
            if !legal(&inside) {
                put(&mut inside, slot, 1);
            }
            let Some(want) = legal(&inside).then(|| effect(target, engine, &inside, false)) else {
                continue;
            };
            let scalar = u32::from_le_bytes(inside.0[slot..slot + 4].try_into().unwrap());
            for (way, value) in [(ImmSrc::Pointer, SCALAR), (ImmSrc::RegPointer, 13)] {
                let mut other = inside;
                other.0[source] = way.code();
                put(&mut other, slot, value);
                if !legal(&other) {
                    continue;
                }
                let mut machine = machine(target, false);
                for p in 0..128 {
                    machine.put(p, SCALAR as usize, &scalar.to_le_bytes());
                }
                machine.step(engine, &other).unwrap();
                let rows = (0..128).flat_map(|p| machine.get(p, 0, 0x3000));
                let got: Vec<u8> =
                    rows.chain(machine.accumulators.iter().flat_map(|x| x.to_le_bytes())).collect();
                assert!(got == want, "{opcode:?}, {way}");
                ways += 1;
            }
        }
    }
    println!("{ways} ways");
    assert!(ways > 80, "{ways}");
}
