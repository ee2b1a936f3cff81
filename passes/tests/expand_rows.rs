//! No row of the integer tables is dead: every one is used by some operation on some target.

mod support;

use std::collections::BTreeSet;

use partita_ir::ops::{
    CrossLaneAxis, CrossLaneOp, Domain, ElementwiseOp as Op, Emit, ReduceOp, Seed, TensorOp,
};
use partita_ir::types::Dims;
use partita_ir::{ElemType, Literal, Operand, TensorType};
use partita_isa::{Generation, Target};
use partita_passes::expand::{int, legalize, prove::single};
use partita_passes::rewrite::Fuel;
use support::{INTS, RESULTS};

struct Used(BTreeSet<&'static str>);

impl Used {
    fn run(&mut self, op: TensorOp, operands: &[Result<TensorType, Operand>], to: ElemType) {
        let Ok(func) = single(op, operands, &TensorType::scalar(to)) else { return };
        for generation in [Generation::Sunda, Generation::Cayman] {
            match legalize(&func, &Target::new(generation), &mut Fuel::default()) {
                Ok((_, applied)) => self.0.extend(applied.iter().map(|applied| applied.expansion)),
                Err(diagnostics) => assert!(!diagnostics.is_empty()),
            }
        }
    }
}

fn ty(shape: &[u64], dtype: ElemType) -> Result<TensorType, Operand> {
    Ok(TensorType::new(shape.iter().copied(), dtype))
}

#[test]
fn every_row_is_reached() {
    let mut used = Used(BTreeSet::new());
    let zero = || Err(Operand::Literal(Literal::Int(0)));
    for dtype in INTS {
        for to in RESULTS {
            for &op in Op::ALL.iter().filter(|op| op.domain() != Domain::Float && op.arity() < 3) {
                let operands = [ty(&[4], dtype), ty(&[4], dtype)];
                used.run(TensorOp::Elementwise(op), &operands[..op.arity()], to);
                if op.arity() == 2 {
                    used.run(TensorOp::Elementwise(op), &[ty(&[4], dtype), zero()], to);
                    used.run(
                        TensorOp::Elementwise(op),
                        &[ty(&[4], dtype), ty(&[4], ElemType::Ui32)],
                        to,
                    );
                }
            }
            for mask in [ElemType::I1, ElemType::I64] {
                let select = [ty(&[4], mask), ty(&[4], dtype), ty(&[4], dtype)];
                used.run(TensorOp::Elementwise(Op::Select), &select, to);
            }
            for op in [TensorOp::Cast, TensorOp::Wrap] {
                used.run(op, &[ty(&[4], dtype)], to);
            }
            for &op in ReduceOp::ALL {
                for (shape, dims) in [
                    (&[3, 5][..], &[1][..]),
                    (&[3, 1], &[1]),
                    (&[3, 0], &[1]),
                    (&[3, 600_000], &[1]),
                    (&[64, 3], &[0]),
                    (&[64, 3, 2], &[0, 2]),
                ] {
                    if shape[1] == 600_000 && to != dtype {
                        continue;
                    }
                    for negate in [false, true] {
                        let op = TensorOp::Reduce {
                            op,
                            dims: Dims::from_slice(dims),
                            keep: false,
                            negate,
                        };
                        used.run(op, &[ty(shape, dtype)], to);
                    }
                }
            }
            for &op in CrossLaneOp::ALL {
                for &axis in CrossLaneAxis::ALL {
                    for rows in [4, 200] {
                        let scale = (op == CrossLaneOp::Average).then_some(0.5);
                        used.run(
                            TensorOp::PartitionReduce { op, axis, scale },
                            &[ty(&[rows, 2], dtype)],
                            to,
                        );
                    }
                }
            }
            for &op1 in Op::ALL.iter().filter(|op| op.is_scan_op1()) {
                for &emit in Emit::ALL {
                    for seed in [Seed::Zero, Seed::Load] {
                        let scan = TensorOp::ScanCache { op0: Op::Bypass, op1, seed, emit };
                        let operands = [ty(&[2, 3], dtype), zero(), zero()];
                        used.run(scan, &operands[..if seed == Seed::Load { 3 } else { 2 }], to);
                    }
                }
            }
        }
        let scan = TensorOp::ScanCache {
            op0: Op::Bypass,
            op1: Op::Add,
            seed: Seed::Zero,
            emit: Emit::All,
        };
        used.run(scan, &[ty(&[2, 60000], dtype), zero()], dtype);
    }
    for to in INTS {
        for dtype in [ElemType::F32, ElemType::Bf16] {
            used.run(TensorOp::ToInt, &[ty(&[4], dtype)], to);
            used.run(TensorOp::Cast, &[ty(&[4], dtype)], to);
            used.run(TensorOp::Elementwise(Op::Add), &[ty(&[4], dtype), ty(&[4], dtype)], to);
            used.run(TensorOp::Elementwise(Op::IsLt), &[ty(&[4], dtype), ty(&[4], dtype)], to);
        }
    }
    let transposed = TensorOp::TransposeReduce { op: ReduceOp::Add, negate: false };
    used.run(transposed, &[ty(&[32, 32], ElemType::I32)], ElemType::I32);
    used.run(TensorOp::Elementwise(Op::Sin), &[ty(&[0, 4], ElemType::F32)], ElemType::F32);
    let dead: Vec<&str> = int::TABLES
        .iter()
        .copied()
        .flatten()
        .map(|row| row.name)
        // A refusal applies nothing.
        .filter(|name| !used.0.contains(name) && *name != "modular-into-float")
        .collect();
    assert!(dead.is_empty(), "never used: {dead:?}");
}

#[test]
fn names_are_distinct() {
    let mut seen = BTreeSet::new();
    for row in partita_passes::expand::tables() {
        assert!(seen.insert(row.name), "two rows are called {}", row.name);
        assert!(!row.why.is_empty());
    }
}
