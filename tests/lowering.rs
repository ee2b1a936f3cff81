//! Shapes, element types and sizes at the edges of what tiles hold; and that a missing semaphore shows.

mod support;

use partita::interp::exec::{Options, Order, run};
use partita::ir::eval::random::{dyadic_inputs, random_inputs};
use partita::ir::ops::ReduceOp;
use partita::ir::{ElemType, ElementwiseOp, Func, FuncBuilder, Operand, TensorType};
use partita::isa::UpdateMode;

use support::{TARGETS, check, compile, is_refusal, target};

fn binary(shape: &[u64], dtype: ElemType, op: ElementwiseOp) -> Func {
    let mut b = FuncBuilder::new("main");
    let ty = TensorType::new(shape.iter().copied(), dtype);
    let (x, y) = (b.arg("x", ty.clone()), b.arg("y", ty));
    let z = b.elementwise(op, &[x.into(), y.into()]).expect("types");
    b.finish(&[z])
}

fn row_reduce(shape: &[u64], dtype: ElemType, op: ReduceOp, dims: &[usize]) -> Func {
    let mut b = FuncBuilder::new("main");
    let x = b.arg("x", TensorType::new(shape.iter().copied(), dtype));
    let y = b.reduce(op, x, dims.iter().copied(), false).expect("types");
    b.finish(&[y])
}

/// Runs, or is refused with a reason.
fn agrees(func: &Func, machine: &str) {
    match compile(func, &target(machine)) {
        Ok(compiled) => {
            let inputs = dyadic_inputs(func, 3).expect("inputs");
            check(func, &inputs, &compiled, 1)
                .unwrap_or_else(|error| panic!("{machine}: {error}\n{func}"));
        }
        Err(message) => assert!(is_refusal(&message), "{machine}: {message}\n{func}"),
    }
}

#[test]
fn every_element_type_and_edge_of_rows_and_columns() {
    for &dtype in ElemType::ALL.iter().filter(|&&dtype| dtype != ElemType::F32r) {
        for rows in [1, 127, 128, 129, 1000] {
            for columns in [1, 31, 33] {
                let op = if dtype == ElemType::I1 {
                    ElementwiseOp::LogicalXor
                } else {
                    ElementwiseOp::Subtract
                };
                agrees(&binary(&[rows, columns], dtype, op), "cayman");
                agrees(&row_reduce(&[rows, columns], dtype, ReduceOp::Max, &[1]), "mariana");
                agrees(&row_reduce(&[rows, columns], dtype, ReduceOp::Max, &[0]), "sunda");
            }
        }
    }
}

#[test]
fn long_rows() {
    for machine in TARGETS {
        agrees(&binary(&[1, 100_000], ElemType::F32, ElementwiseOp::Add), machine);
        agrees(&binary(&[100_003], ElemType::Bf16, ElementwiseOp::Mult), machine);
        agrees(&row_reduce(&[3, 100_000], ElemType::F32, ReduceOp::Add, &[1]), machine);
        agrees(&row_reduce(&[130, 20_000], ElemType::I32, ReduceOp::Add, &[1]), machine);
        agrees(&row_reduce(&[100_000, 3], ElemType::F32, ReduceOp::Max, &[0]), machine);
    }
}

#[test]
fn every_rank() {
    for shape in [
        &[][..],
        &[7],
        &[5, 6],
        &[3, 130, 4],
        &[2, 3, 4, 5],
        &[2, 3, 2, 5, 4],
        &[2, 1, 3, 2, 1, 2, 3, 2],
    ] {
        agrees(&binary(shape, ElemType::F32, ElementwiseOp::Max), "cayman");
        for dim in 0..shape.len() {
            agrees(&row_reduce(shape, ElemType::F32, ReduceOp::Add, &[dim]), "cayman");
        }
        let all: Vec<usize> = (0..shape.len()).collect();
        agrees(&row_reduce(shape, ElemType::I16, ReduceOp::Min, &all), "sunda");
    }
}

/// 32 MiB a tensor, more than the 24 MiB of SBUF on the smallest machine.
#[test]
fn a_tensor_larger_than_sbuf() {
    let func = {
        let mut b = FuncBuilder::new("main");
        let x = b.arg("x", TensorType::new([4096, 2048], ElemType::F32));
        let two: Operand = 2.0f32.into();
        let y = b.elementwise(ElementwiseOp::Mult, &[x.into(), two]).expect("types");
        let z = b.reduce(ReduceOp::Max, y, [1], true).expect("types");
        let w = b.elementwise(ElementwiseOp::Subtract, &[y.into(), z.into()]).expect("types");
        b.finish(&[w])
    };
    agrees(&func, "sunda");
}

/// Without its updates, a word that waits never starts; without its waits, some order of the queues
/// gives another result. So the orders tried elsewhere do test the semaphores.
#[test]
fn a_missing_semaphore_shows() {
    let func = row_reduce(&[300, 64], ElemType::F32, ReduceOp::Add, &[1]);
    let compiled = compile(&func, &target("cayman")).expect("compiles");
    let inputs = random_inputs(&func, 5).expect("inputs");
    let order = |seed| Options { order: Order::Queues { seed }, ..Options::default() };
    let right = run(&compiled.program, &inputs, &order(0)).expect("runs");

    let mut silent = compiled.program.clone();
    for word in silent.words.values_mut().flatten() {
        word.0[6] = UpdateMode::None.code();
        word.0[7] = 0;
    }
    silent.dma.iter_mut().for_each(|desc| desc.update = None);
    let stuck = run(&silent, &inputs, &order(0)).expect_err("nothing wakes the waiting");
    assert!(stuck.to_string().contains("deadlock"), "{stuck}");

    let mut eager = compiled.program.clone();
    for word in eager.words.values_mut().flatten() {
        word.0[4..6].fill(0);
        word.0[8..12].fill(0);
    }
    eager.dma.iter_mut().for_each(|desc| desc.waits = Default::default());
    let wrong = (0..20).any(|seed| run(&eager, &inputs, &order(seed)).expect("runs") != right);
    assert!(wrong, "no order of 20 shows that the waits are gone");
}
