//! Every elementwise operation and conversion of integers, on every type and target: the same bits
//! before and after legalization, or a refusal that the table below expects.

mod support;

use partita_ir::ops::{Class, Domain, ElementwiseOp as Op, TensorOp};
use partita_ir::{ElemType, Literal, Operand, TensorData, TensorType};
use partita_isa::{Generation, Target};
use partita_passes::expand::prove::{self, Agreement, Unproved, pairs, prove, single, values};
use partita_passes::rewrite::Fuel;
use support::{INTS, RESULTS, Report, data};

/// Refusals that are right: no exact form exists there.
fn may_be_refused(op: Op, dtype: ElemType, to: ElemType, generation: Generation) -> bool {
    let modular = matches!(
        op,
        Op::Add
            | Op::Subtract
            | Op::Mult
            | Op::AddInt
            | Op::SubtractInt
            | Op::MultInt
            | Op::MultUint
    );
    let wide = |ty: ElemType| ty.is_int() && ty.width() == 64;
    let product = matches!(op, Op::Mult | Op::MultInt | Op::MultUint);
    let sunda = generation == Generation::Sunda;
    // An exact result beyond 64 bits before the one rounding.
    modular && to.is_float() && wide(dtype)
        || modular && to.is_float() && sunda && product && dtype.width() == 32
        // SUNDA has no 64-bit integers.
        || sunda && (wide(dtype) || wide(to))
}

fn check(report: &mut Report, op: Op, dtype: ElemType, to: ElemType, target: &Target) {
    // Every pair of 8 bits where the result type matters; elsewhere a cast follows.
    let modular = matches!(op, Op::Add | Op::Subtract | Op::Mult);
    let exhaustive = to == dtype || to == op.natural_dtype(dtype) || modular;
    let list = |seed| if exhaustive { values(dtype, 40, seed) } else { prove::specials(dtype) };
    let (first, second) =
        if op.arity() == 2 { pairs(&list(1), &list(2)) } else { (list(1), vec![]) };
    let ty = TensorType::new([first.len() as u64], dtype);
    let mut operands = vec![Ok(ty.clone())];
    let mut inputs = vec![data(&ty, &first)];
    if op.arity() == 2 {
        operands.push(Ok(ty.clone()));
        inputs.push(data(&ty, &second));
    }
    let result = TensorType::scalar(to);
    let name = format!("{op} {dtype} -> {to} on {target}");
    let func = match single(TensorOp::Elementwise(op), &operands, &result) {
        Ok(func) => func,
        Err(error) => return report.fail(format!("{name}: {error}")),
    };
    report.add(
        &name,
        prove(&func, &inputs, target, Agreement::Bits),
        may_be_refused(op, dtype, to, target.generation),
    );
}

#[test]
fn elementwise_operations_of_integers_are_exact() {
    let mut report = Report::new("elementwise");
    for &op in Op::ALL {
        if op.domain() == Domain::Float || op == Op::Select {
            continue;
        }
        for dtype in INTS {
            for to in RESULTS {
                for generation in Generation::ALL {
                    check(&mut report, op, dtype, to, &Target::new(generation));
                }
            }
        }
    }
    report.finish();
}

#[test]
fn literal_operands_are_exact() {
    let mut report = Report::new("literals");
    let ops = Op::ALL.iter().filter(|op| op.arity() == 2 && op.domain() != Domain::Float);
    for &op in ops {
        for dtype in INTS {
            let (low, high) = dtype.int_range().unwrap();
            let mut literals = vec![0, 1, high, low, 3.min(high), high / 3];
            literals.dedup();
            for literal in literals {
                for side in 0..2 {
                    if op.class() == Class::Shift && side == 0 {
                        continue;
                    }
                    for generation in [Generation::Sunda, Generation::Cayman, Generation::Maverick]
                    {
                        let target = Target::new(generation);
                        let x = values(dtype, 60, 3);
                        let ty = TensorType::new([x.len() as u64], dtype);
                        let mut operands =
                            vec![Ok(ty.clone()), Err(Operand::Literal(Literal::Int(literal)))];
                        if side == 0 {
                            operands.swap(0, 1);
                        }
                        let natural = op.natural_dtype(dtype);
                        let name = format!("{op} {dtype} with {literal} at {side} on {target}");
                        match single(
                            TensorOp::Elementwise(op),
                            &operands,
                            &TensorType::scalar(natural),
                        ) {
                            Ok(func) => report.add(
                                &name,
                                prove(&func, &[data(&ty, &x)], &target, Agreement::Bits),
                                may_be_refused(op, dtype, natural, generation),
                            ),
                            Err(error) => report.fail(format!("{name}: {error}")),
                        }
                    }
                }
            }
        }
    }
    report.finish();
}

#[test]
fn shift_counts_may_be_ui32() {
    let mut report = Report::new("shift counts");
    for &op in Op::ALL.iter().filter(|op| op.class() == Class::Shift) {
        for dtype in INTS {
            for generation in Generation::ALL {
                let target = Target::new(generation);
                let counts: Vec<u64> =
                    (0..70).chain([255, 256, 65535, 65536, 1 << 31, u64::from(u32::MAX)]).collect();
                let (x, n) = pairs(&values(dtype, 20, 5), &counts);
                let ty = TensorType::new([x.len() as u64], dtype);
                let counts = ty.with_dtype(ElemType::Ui32);
                let func = single(
                    TensorOp::Elementwise(op),
                    &[Ok(ty.clone()), Ok(counts.clone())],
                    &TensorType::scalar(dtype),
                )
                .unwrap();
                let proof =
                    prove(&func, &[data(&ty, &x), data(&counts, &n)], &target, Agreement::Bits);
                report.add(
                    &format!("{op} {dtype} by ui32 on {target}"),
                    proof,
                    may_be_refused(op, dtype, dtype, generation),
                );
            }
        }
    }
    report.finish();
}

#[test]
fn select_takes_any_mask_and_data() {
    let mut report = Report::new("select");
    let types = INTS.into_iter().chain([ElemType::F32, ElemType::Bf16]);
    for dtype in types {
        for mask in INTS {
            for to in [dtype, ElemType::I64, ElemType::F32, ElemType::I8] {
                for generation in [Generation::Sunda, Generation::Cayman] {
                    let target = Target::new(generation);
                    let x = values(dtype, 60, 7);
                    let n = x.len() as u64;
                    let masks: Vec<u64> =
                        values(mask, 60, 8).into_iter().cycle().take(x.len()).collect();
                    let y: Vec<u64> = x.iter().rev().copied().collect();
                    let (ty, mask_ty) = (TensorType::new([n], dtype), TensorType::new([n], mask));
                    let func = single(
                        TensorOp::Elementwise(Op::Select),
                        &[Ok(mask_ty.clone()), Ok(ty.clone()), Ok(ty.clone())],
                        &TensorType::scalar(to),
                    )
                    .unwrap();
                    let inputs = [data(&mask_ty, &masks), data(&ty, &x), data(&ty, &y)];
                    report.add(
                        &format!("select {mask} {dtype} -> {to} on {target}"),
                        prove(&func, &inputs, &target, Agreement::Bits),
                        false,
                    );
                }
            }
        }
    }
    report.finish();
}

#[test]
fn conversions_are_exact() {
    let mut report = Report::new("conversions");
    let floats = [ElemType::F32, ElemType::F16, ElemType::Bf16];
    for from in INTS.into_iter().chain(floats) {
        for to in RESULTS {
            for (kind, fits) in [
                (TensorOp::Cast, true),
                (TensorOp::Wrap, from.is_int() && to.is_int()),
                (TensorOp::ToInt, from.is_float() && to.is_int()),
            ] {
                if !fits {
                    continue;
                }
                for generation in Generation::ALL {
                    let target = Target::new(generation);
                    let mut x = values(from, 4000, 11);
                    // Whether a NaN truncated to a truth value is 0 is not settled by the contract.
                    if matches!(kind, TensorOp::ToInt) && to == ElemType::I1 {
                        x.retain(|&bits| !partita_ir::float::decode(bits, from).is_nan());
                    }
                    let ty = TensorType::new([x.len() as u64], from);
                    let name = format!("{} {from} -> {to} on {target}", kind.kind_name().full());
                    let func =
                        single(kind.clone(), &[Ok(ty.clone())], &TensorType::scalar(to)).unwrap();
                    report.add(
                        &name,
                        prove(&func, &[data(&ty, &x)], &target, Agreement::Bits),
                        false,
                    );
                }
            }
        }
    }
    report.finish();
}

#[test]
fn operands_broadcast_and_rank_eight_works() {
    let mut report = Report::new("shapes");
    for dtype in [ElemType::I8, ElemType::I32, ElemType::I64] {
        for op in [Op::Add, Op::IsLt, Op::Divide, Op::Popcount, Op::BitwiseXor, Op::Max, Op::Pow] {
            let shapes: [[&[u64]; 2]; 3] = [
                [&[3, 1], &[5]],
                [&[1, 1, 2, 1, 1, 1, 1, 3], &[2, 1, 1, 1, 1, 1, 4, 1]],
                [&[], &[4]],
            ];
            for [left, right] in shapes {
                let target = Target::new(Generation::Cayman);
                let tys = [left, right].map(|shape| TensorType::new(shape.iter().copied(), dtype));
                let tys = &tys[..op.arity()];
                let inputs: Vec<TensorData> = tys
                    .iter()
                    .enumerate()
                    .map(|(seed, ty)| {
                        let n = ty.elements().unwrap() as usize;
                        let all = values(dtype, 50, seed as u64);
                        data(ty, &all[all.len() - n..])
                    })
                    .collect();
                let operands: Vec<_> = tys.iter().cloned().map(Ok).collect();
                let func = single(
                    TensorOp::Elementwise(op),
                    &operands,
                    &TensorType::scalar(op.natural_dtype(dtype)),
                )
                .unwrap();
                report.add(
                    &format!("{op} {dtype} {left:?} {right:?}"),
                    prove(&func, &inputs, &target, Agreement::Bits),
                    false,
                );
            }
        }
    }
    report.finish();
}

#[test]
fn a_refusal_names_the_operation_and_the_rule() {
    let ty = TensorType::new([4], ElemType::I64);
    let func =
        single(TensorOp::Elementwise(Op::Add), &[Ok(ty.clone()), Ok(ty.clone())], &ty).unwrap();
    let inputs = [data(&ty, &[1, 2, 3, 4]), data(&ty, &[1, 2, 3, 4])];
    let Err(error) = prove(&func, &inputs, &Target::new(Generation::Sunda), Agreement::Bits) else {
        panic!("SUNDA has no 64-bit integers");
    };
    let Unproved::Refused(diagnostics) = *error else { panic!("{error}") };
    assert_eq!(diagnostics.len(), 1);
    assert!(
        diagnostics[0].message.contains("tensor.elementwise add"),
        "{}",
        diagnostics[0].message
    );
    assert!(diagnostics[0].message.contains("sunda"), "{}", diagnostics[0].message);
    assert!(!diagnostics[0].notes.is_empty());
}

#[test]
fn names_are_kept_and_fresh_ones_derive_from_them() {
    let ty = TensorType::new([8], ElemType::I32);
    let func = single(
        TensorOp::Elementwise(Op::IsLt),
        &[Ok(ty.clone()), Ok(ty)],
        &TensorType::scalar(ElemType::I1),
    )
    .unwrap();
    let (after, applied) =
        partita_passes::expand::legalize(&func, &Target::default(), &mut Fuel::default()).unwrap();
    let returned = after.returned().next().unwrap();
    assert_eq!(&*after.values[returned].name, "y");
    let made: Vec<_> = after.body_ops().filter_map(|(_, op)| op.result()).collect();
    assert!(
        made.iter().all(|&value| value == returned || after.values[value].name.starts_with("y."))
    );
    assert_eq!(applied.first().map(|applied| applied.expansion), Some("compare-band"));
}
