//! Sources read by index (ISA 4.4), with results worked out by hand.

mod common;

use common::{Sbuf, bits16, f32s, floats, u32s};
use partita_interp::{Alternative, Conventions, Fault, Limits, Machine};
use partita_isa::address::{ADDR_REG, INDIRECT};
use partita_isa::{
    AluOp, Body, Dtype, Engine, Generation, Instruction, Opcode, Pattern, ScalarTensorTensor,
    SubDim, TensorReduce, TensorTensor,
};

fn machine() -> Machine {
    Machine::new(Generation::Mariana.into(), 0, Limits::default()).unwrap()
}

fn step(machine: &mut Machine, opcode: Opcode, body: impl Into<Body>) -> Result<(), Fault> {
    machine.step(Engine::Dve, &Instruction::new(opcode, body).encode())
}

/// The indirect form: the data address stands in bytes 4 to 7 of the field, the number of indices in 8 and 9.
fn gather<const D: usize>(index: u32, data: u32, count: u16) -> Pattern<D> {
    let halves = [data as u16, (data >> 16) as u16, count];
    let half = |at: usize| halves.get(at).copied().unwrap_or(0);
    Pattern {
        start_addr: index | INDIRECT,
        step_elem: std::array::from_fn(|d| half(d) as i16),
        num_elem: std::array::from_fn(|d| half(D + d)),
    }
}

fn moved(dtype: Dtype, src: Pattern<4>, count: u16) -> TensorReduce {
    TensorReduce {
        in_dtype: dtype.code(),
        out_dtype: dtype.code(),
        num_active_channels: 1,
        src_mem_pattern: src,
        dst_mem_pattern: Pattern::contiguous(64, count),
        ..TensorReduce::default()
    }
}

/// Every channel has its own indices and its own data.
#[test]
fn a_copy_takes_elements_in_the_order_of_the_indices() {
    let mut machine = machine();
    for (p, indices) in [[3, 0, 3, 1], [2, 2, 0, 1]].iter().enumerate() {
        let ten = 100 * p as u32;
        machine.put(p, 0, &bits16(indices));
        machine.put(p, 256, &u32s(&[ten + 10, ten + 20, ten + 30, ten + 40]));
    }
    let body =
        TensorReduce { num_active_channels: 2, ..moved(Dtype::Uint32, gather(0, 256, 4), 4) };
    step(&mut machine, Opcode::Copy, body).unwrap();
    assert_eq!(machine.get(0, 64, 16), u32s(&[40, 10, 40, 20]));
    assert_eq!(machine.get(1, 64, 16), u32s(&[130, 130, 110, 120]));
}

/// Both addresses may come from registers, and each source may be indirect.
#[test]
fn sources_of_two_and_addresses_from_registers() {
    let mut machine = machine();
    machine.put(0, 0, &bits16(&[1, 0, 2]));
    machine.put(0, 16, &bits16(&[0, 0, 1]));
    machine.put(0, 256, &f32s(&[1.0, 2.0, 3.0]));
    machine.put(0, 512, &f32s(&[10.0, 20.0]));
    (machine.registers[7], machine.registers[8]) = (16, 512);
    let pair = |dtype: Dtype| dtype.code() | dtype.code() << 4;
    let body = TensorTensor {
        op: AluOp::Subtract.code(),
        in0_in1_dtype: pair(Dtype::Fp32),
        num_active_channels: 1,
        src0_mem_pattern: gather(0, 256, 3),
        src1_mem_pattern: gather(7 | ADDR_REG, 8 | ADDR_REG, 3),
        dst_mem_pattern: Pattern::contiguous(64, 3),
        ..TensorTensor::default()
    };
    step(&mut machine, Opcode::TensorTensorArithOp, body).unwrap();
    // 2 − 10, 1 − 10, 3 − 20.
    assert_eq!(floats(&machine.get(0, 64, 12)), [-8.0, -9.0, -17.0]);
    // The 12-byte field has the number of indices where its first count is.
    let body = ScalarTensorTensor {
        op0: AluOp::Mult.code(),
        op1: AluOp::Add.code(),
        imm0: 2f32.to_bits(),
        num_active_channels: 1,
        src0_mem_pattern: gather(0, 256, 3),
        src1_mem_pattern: Pattern::contiguous(256, 3),
        dst_mem_pattern: Pattern::contiguous(64, 3),
        ..ScalarTensorTensor::default()
    };
    step(&mut machine, Opcode::ScalarTensorTensorArith, body).unwrap();
    // 2·2 + 1, 2·1 + 2, 2·3 + 3.
    assert_eq!(floats(&machine.get(0, 64, 12)), [5.0, 4.0, 9.0]);
}

/// IND-4: all indices are one group; in a scan as well.
#[test]
fn folds_take_all_indices() {
    let mut machine = machine();
    machine.put(0, 0, &bits16(&[2, 2, 0]));
    machine.put(0, 256, &f32s(&[1.0, 50.0, 4.0]));
    let fold = |count| TensorReduce {
        op: AluOp::Add.code(),
        op_dim: SubDim::X.code(),
        ..moved(Dtype::Fp32, gather(0, 256, 3), count)
    };
    step(&mut machine, Opcode::TensorReduceArithOp, fold(1)).unwrap();
    assert_eq!(floats(&machine.get(0, 64, 4)), [9.0]);
    step(&mut machine, Opcode::TensorCumulativeArithOp, fold(3)).unwrap();
    assert_eq!(floats(&machine.get(0, 64, 12)), [4.0, 8.0, 9.0]);
}

/// ISA 4.5: everything is read before anything is written; OQ-9 asks about data, not about indices.
#[test]
fn indices_and_data_are_read_first() {
    let onto_itself = |conventions: Conventions| {
        let mut machine = machine().under(conventions);
        machine.put(0, 0, &bits16(&[1, 2, 0]));
        machine.put(0, 64, &bits16(&[7, 8, 9]));
        step(&mut machine, Opcode::Copy, moved(Dtype::Uint16, gather(0, 64, 3), 3)).unwrap();
        machine.get(0, 64, 6)
    };
    let streaming = Conventions::default().with(Alternative::Streaming.into());
    assert_eq!(onto_itself(Conventions::default()), bits16(&[8, 9, 7]));
    assert_eq!(onto_itself(streaming), bits16(&[8, 9, 8]));
    for conventions in [Conventions::default(), streaming] {
        let mut machine = machine().under(conventions);
        machine.put(0, 64, &bits16(&[1, 0]));
        machine.put(0, 256, &bits16(&[5, 6]));
        step(&mut machine, Opcode::Copy, moved(Dtype::Uint16, gather(64, 256, 2), 2)).unwrap();
        assert_eq!(machine.get(0, 64, 4), bits16(&[6, 5]));
    }
}

#[test]
fn what_leads_out_of_the_row_is_refused() {
    let mut machine = machine();
    let active = Generation::Mariana.sbuf_active() as u32;
    machine.put(0, 0, &bits16(&[0, 1]));
    let last = TensorReduce { ..moved(Dtype::Uint32, gather(0, active - 4, 1), 1) };
    step(&mut machine, Opcode::Copy, last).unwrap();
    let beyond = moved(Dtype::Uint32, gather(0, active - 4, 2), 2);
    let fault = step(&mut machine, Opcode::Copy, beyond).unwrap_err().to_string();
    assert!(fault.starts_with("ADR-8") && fault.contains("indexed beyond"), "{fault}");
    let array = moved(Dtype::Uint32, gather(active - 2, 256, 2), 2);
    let fault = step(&mut machine, Opcode::Copy, array).unwrap_err().to_string();
    assert!(fault.starts_with("ADR-8"), "{fault}");
    let odd = moved(Dtype::Uint32, gather(1, 256, 2), 2);
    let fault = step(&mut machine, Opcode::Copy, odd).unwrap_err().to_string();
    assert!(fault.starts_with("ADR-2") && fault.contains("index"), "{fault}");
    let destination = TensorReduce {
        dst_mem_pattern: gather(0, 256, 2),
        ..moved(Dtype::Uint32, Pattern::contiguous(512, 2), 2)
    };
    let fault = step(&mut machine, Opcode::Copy, destination).unwrap_err().to_string();
    assert!(fault.contains("IND-3"), "{fault}");
}
