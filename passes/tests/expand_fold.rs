//! Reductions, cross-lane reductions and scans: the same results before and after legalization.
//! Integers agree bit for bit; floats are small dyadic numbers, so that every sum is exact in any
//! order.

mod support;

use partita_ir::ops::{
    CrossLaneAxis, CrossLaneOp, ElementwiseOp as Op, Emit, ReduceOp, Seed, TensorOp,
};
use partita_ir::types::Dims;
use partita_ir::{ElemType, Literal, Operand, TensorData, TensorType};
use partita_isa::{Generation, Target};
use partita_passes::expand::legalize;
use partita_passes::expand::prove::{Agreement, Random, prove, single, values};
use partita_passes::rewrite::Fuel;
use support::{INTS, RESULTS, Report, data};

/// Values for a tensor: the specials of an integer type and random ones; small dyadic floats.
fn fill(ty: &TensorType, seed: u64) -> TensorData {
    let n = ty.elements().unwrap() as usize;
    let mut random = Random(seed);
    if ty.dtype.is_float() {
        let numbers: Vec<f32> = (0..n).map(|_| (random.bits() % 17) as f32 / 4.0 - 2.0).collect();
        return TensorData::from_f32(ty.clone(), &numbers).unwrap();
    }
    let all = values(ty.dtype, 200, seed);
    let bits: Vec<u64> = (0..n).map(|_| all[random.bits() as usize % all.len()]).collect();
    data(ty, &bits)
}

fn shape(dims: &[u64], dtype: ElemType) -> TensorType {
    TensorType::new(dims.iter().copied(), dtype)
}

fn wide(dtype: ElemType) -> bool {
    dtype.is_int() && dtype.width() == 64
}

/// Refusals that are right: 64 bits on SUNDA, and sums that no integer of the machine holds.
fn may_be_refused(sum: bool, dtype: ElemType, to: ElemType, generation: Generation) -> bool {
    let sunda = generation == Generation::Sunda;
    sunda && (wide(dtype) || wide(to))
        || sum && to.is_float() && (wide(dtype) || sunda && dtype.width() == 32)
}

fn reduce_case(
    report: &mut Report,
    op: ReduceOp,
    (dims, keep, negate): (&[usize], bool, bool),
    operand: &TensorType,
    to: ElemType,
    generation: Generation,
) {
    let target = Target::new(generation);
    let kind = TensorOp::Reduce { op, dims: Dims::from_slice(dims), keep, negate };
    let name =
        format!("{op} of {operand} over {dims:?} keep {keep} negate {negate} -> {to} on {target}");
    match single(kind, &[Ok(operand.clone())], &TensorType::scalar(to)) {
        Ok(func) => {
            let proof = prove(&func, &[fill(operand, 3)], &target, Agreement::Bits);
            report.add(
                &name,
                proof,
                may_be_refused(op == ReduceOp::Add, operand.dtype, to, generation),
            );
        }
        Err(error) => report.fail(format!("{name}: {error}")),
    }
}

#[test]
fn integer_reductions_are_exact() {
    let mut report = Report::new("reductions");
    for &op in ReduceOp::ALL {
        for dtype in INTS {
            for to in RESULTS {
                for generation in [Generation::Sunda, Generation::Cayman, Generation::Maverick] {
                    let other = to != dtype;
                    reduce_case(
                        &mut report,
                        op,
                        (&[1], false, false),
                        &shape(&[3, 37], dtype),
                        to,
                        generation,
                    );
                    if other && generation != Generation::Cayman {
                        continue;
                    }
                    if !op.is_arg() {
                        reduce_case(
                            &mut report,
                            op,
                            (&[0, 2], true, false),
                            &shape(&[2, 3, 5], dtype),
                            to,
                            generation,
                        );
                    }
                    if !op.is_arg() && !op.is_bitwise() {
                        reduce_case(
                            &mut report,
                            op,
                            (&[1], true, true),
                            &shape(&[3, 9], dtype),
                            to,
                            generation,
                        );
                    }
                    reduce_case(
                        &mut report,
                        op,
                        (&[1], false, false),
                        &shape(&[4, 1], dtype),
                        to,
                        generation,
                    );
                    // Products of many integers overflow fp32, and then depend on the order.
                    if !(op == ReduceOp::Mult && to.is_float()) {
                        reduce_case(
                            &mut report,
                            op,
                            (&[0], false, false),
                            &shape(&[200, 5], dtype),
                            to,
                            generation,
                        );
                    }
                }
            }
        }
    }
    report.finish();
}

#[test]
fn reductions_of_nothing_give_the_identity() {
    let mut report = Report::new("empty");
    for &op in ReduceOp::ALL.iter().filter(|op| !op.is_arg()) {
        for dtype in INTS.into_iter().chain([ElemType::F32, ElemType::Bf16]) {
            if op.is_bitwise() && dtype.is_float() {
                continue;
            }
            for to in [dtype, ElemType::F32, ElemType::I8, ElemType::I64] {
                reduce_case(
                    &mut report,
                    op,
                    (&[1], false, false),
                    &shape(&[3, 0], dtype),
                    to,
                    Generation::Cayman,
                );
                reduce_case(
                    &mut report,
                    op,
                    (&[1], false, false),
                    &shape(&[0, 3], dtype),
                    to,
                    Generation::Sunda,
                );
                if !op.is_bitwise() {
                    reduce_case(
                        &mut report,
                        op,
                        (&[0], true, true),
                        &shape(&[0, 3], dtype),
                        to,
                        Generation::Cayman,
                    );
                }
            }
        }
    }
    report.finish();
}

#[test]
fn leading_dimensions_fold_across_partitions() {
    let mut report = Report::new("leading");
    let floats = [ElemType::F32, ElemType::Bf16];
    for &op in ReduceOp::ALL.iter().filter(|op| !op.is_arg()) {
        for dtype in
            [ElemType::I8, ElemType::I32, ElemType::Ui16, ElemType::Ui32].into_iter().chain(floats)
        {
            if op.is_bitwise() && dtype.is_float() {
                continue;
            }
            // Products of many numbers leave the range in which order does not matter.
            let product = op == ReduceOp::Mult && dtype.is_float();
            for (dims, folded) in [
                (&[33, 7][..], &[0][..]),
                (&[128, 40], &[0]),
                (&[250, 3], &[0]),
                (&[257, 5], &[0]),
                (&[1000], &[0]),
                (&[16, 20, 3], &[0, 1]),
                (&[64, 3, 5], &[2, 0]),
            ] {
                for negate in [false, !op.is_bitwise()] {
                    let target = Target::default();
                    let ty = shape(dims, dtype);
                    let kind = TensorOp::Reduce {
                        op,
                        dims: Dims::from_slice(folded),
                        keep: false,
                        negate,
                    };
                    let func = single(kind, &[Ok(ty.clone())], &TensorType::scalar(dtype)).unwrap();
                    let input = if product {
                        TensorData::splat(ty.clone(), partita_ir::float::encode(-1.0, dtype))
                            .unwrap()
                    } else {
                        fill(&ty, 9)
                    };
                    let name = format!("{op} of {ty} negate {negate}");
                    match prove(&func, &[input], &target, Agreement::Bits) {
                        Ok(applied) => {
                            let routed = applied
                                .iter()
                                .any(|a| a.expansion == "fold-rows-across-partitions");
                            let small_or_known = op != ReduceOp::Mult || dtype.is_float();
                            if !routed
                                && small_or_known
                                && !(op == ReduceOp::Add && dtype == ElemType::Ui16)
                            {
                                report.fail(format!("{name}: not routed, by {applied:?}"));
                            } else {
                                report.add(&name, Ok(applied), false);
                            }
                        }
                        error => report.add(&name, error, false),
                    }
                }
            }
        }
    }
    report.finish();
}

#[test]
fn arg_extremes_of_floats_take_the_first_nan() {
    let mut report = Report::new("arg");
    let nan = f32::NAN;
    let rows = [
        [1.0, 3.0, 3.0, -2.0],
        [nan, 1.0, nan, 2.0],
        [-0.0, 0.0, -0.0, 0.0],
        [f32::INFINITY, nan, 0.0, nan],
        [-1.0, -1.0, -1.0, -1.0],
        [f32::NEG_INFINITY, 5.0, 5.0, f32::INFINITY],
    ];
    for op in [ReduceOp::Argmax, ReduceOp::Argmin] {
        for dtype in [ElemType::F32, ElemType::Bf16, ElemType::F16, ElemType::F8E4M3] {
            for generation in Generation::ALL {
                let ty = shape(&[6, 4], dtype);
                let x = TensorData::from_f32(ty.clone(), &rows.concat()).unwrap();
                let kind = TensorOp::Reduce {
                    op,
                    dims: Dims::from_slice(&[1]),
                    keep: false,
                    negate: false,
                };
                let func = single(kind, &[Ok(ty)], &TensorType::scalar(ElemType::Ui32)).unwrap();
                report.add(
                    &format!("{op} {dtype} {generation}"),
                    prove(&func, &[x], &Target::new(generation), Agreement::Bits),
                    false,
                );
            }
        }
    }
    report.finish();
}

#[test]
fn cross_lane_reductions_take_any_rows_and_axis() {
    let mut report = Report::new("cross-lane");
    for &op in CrossLaneOp::ALL {
        for dtype in INTS.into_iter().chain([ElemType::F32, ElemType::Bf16]) {
            if op.is_bitwise() && dtype.is_float() {
                continue;
            }
            let scale = (op == CrossLaneOp::Average).then_some(0.25);
            for to in [dtype, ElemType::I32, ElemType::F32, ElemType::I8, ElemType::Ui64] {
                for axis in [CrossLaneAxis::Partitions, CrossLaneAxis::All] {
                    for rows in [1, 5, 128, 130, 256] {
                        // An average of full-range integers depends on the order of its roundings.
                        if op == CrossLaneOp::Average && dtype.is_int() && dtype.width() > 8 {
                            continue;
                        }
                        let generation =
                            if rows == 5 { Generation::Sunda } else { Generation::Cayman };
                        let ty = shape(&[rows, 3], dtype);
                        let kind = TensorOp::PartitionReduce { op, axis, scale };
                        let func =
                            single(kind, &[Ok(ty.clone())], &TensorType::scalar(to)).unwrap();
                        let proof = prove(
                            &func,
                            &[fill(&ty, 4)],
                            &Target::new(generation),
                            Agreement::Bits,
                        );
                        let sum = op == CrossLaneOp::Add;
                        report.add(
                            &format!("{op} {axis} of {ty} -> {to} on {generation}"),
                            proof,
                            may_be_refused(sum, dtype, to, generation),
                        );
                    }
                }
            }
        }
    }
    report.finish();
}

fn scan_case(
    report: &mut Report,
    ops: (Op, Op),
    emit: Emit,
    seeded: bool,
    dtype: ElemType,
    to: ElemType,
    generation: Generation,
) {
    let ty = shape(&[3, 11], dtype);
    let rows = shape(&[3, 1], dtype);
    let seed = if seeded { Seed::Load } else { Seed::Zero };
    let kind = TensorOp::ScanCache { op0: ops.0, op1: ops.1, seed, emit };
    let mut operands = vec![Ok(ty.clone()), Ok(rows.clone())];
    let mut inputs = vec![fill(&ty, 21), fill(&rows, 22)];
    if seeded {
        operands.push(Ok(rows.clone()));
        inputs.push(fill(&rows, 23));
    }
    let Ok(func) = single(kind, &operands, &TensorType::scalar(to)) else { return };
    let target = Target::new(generation);
    let name = format!("{}, {} of {dtype} {emit} seed {seed} -> {to} on {target}", ops.0, ops.1);
    // Unreduced integers into a float are exact only within limits.
    let refused = generation == Generation::Sunda && (wide(dtype) || wide(to))
        || dtype.is_int() && to.is_float();
    report.add(&name, prove(&func, &inputs, &target, Agreement::Bits), refused);
}

#[test]
fn integer_scans_are_exact() {
    let mut report = Report::new("scans");
    let seconds: Vec<Op> = Op::ALL.iter().copied().filter(|op| op.is_scan_op1()).collect();
    for dtype in INTS {
        for &op1 in &seconds {
            for emit in [Emit::All, Emit::Final] {
                for seeded in [false, true] {
                    for generation in [Generation::Sunda, Generation::Cayman] {
                        scan_case(
                            &mut report,
                            (Op::Bypass, op1),
                            emit,
                            seeded,
                            dtype,
                            dtype,
                            generation,
                        );
                    }
                }
            }
        }
        for &op0 in Op::ALL.iter().filter(|op| op.is_scan_op0()) {
            for op1 in [Op::Add, Op::Max, Op::BitwiseXor] {
                for to in [dtype, ElemType::I32, ElemType::I8, ElemType::I64, ElemType::F32] {
                    scan_case(
                        &mut report,
                        (op0, op1),
                        Emit::All,
                        true,
                        dtype,
                        to,
                        Generation::Cayman,
                    );
                }
            }
        }
    }
    report.finish();
}

#[test]
fn scans_of_floats_without_a_word_are_unrolled() {
    let mut report = Report::new("float scans");
    for op1 in [Op::AbsoluteDiff, Op::IsGt, Op::LogicalXor, Op::Bypass, Op::IsNe] {
        for dtype in [ElemType::F32, ElemType::Bf16] {
            for emit in [Emit::All, Emit::Final] {
                scan_case(
                    &mut report,
                    (Op::Mult, op1),
                    emit,
                    true,
                    dtype,
                    dtype,
                    Generation::Cayman,
                );
            }
        }
    }
    report.finish();
}

#[test]
fn transpose_reductions_are_exact() {
    let mut report = Report::new("transpose-reduce");
    for &op in ReduceOp::ALL.iter().filter(|op| !op.is_arg()) {
        for dtype in INTS.into_iter().chain([ElemType::F32, ElemType::Bf16]) {
            if op.is_bitwise() && dtype.is_float() || op == ReduceOp::Mult && dtype.is_float() {
                continue;
            }
            for to in [dtype, ElemType::I32, ElemType::F32] {
                if op == ReduceOp::Mult && to.is_float() {
                    continue;
                }
                let ty = shape(&[64, 96], dtype);
                let func = single(
                    TensorOp::TransposeReduce { op, negate: false },
                    &[Ok(ty.clone())],
                    &TensorType::scalar(to),
                )
                .unwrap();
                let proof = prove(&func, &[fill(&ty, 8)], &Target::default(), Agreement::Bits);
                let refused = may_be_refused(op == ReduceOp::Add, dtype, to, Generation::Cayman);
                report.add(&format!("{op} of {ty} -> {to}"), proof, refused);
            }
        }
    }
    report.finish();
}

/// Elements of an axis that one partition takes on SUNDA.
const PARTITION: u64 = 11264;

#[test]
fn long_axes_are_cut() {
    let mut report = Report::new("long");
    let target = Target::new(Generation::Sunda);
    for dtype in [ElemType::F32, ElemType::I32, ElemType::I8] {
        for op in [ReduceOp::Add, ReduceOp::Max, ReduceOp::Argmax, ReduceOp::LogicalAnd] {
            // A loop over windows folds what keeps its meaning from window to window; an argument does not.
            let (sizes, most) = match op.is_arg() {
                true => ([11265, 65536], PARTITION),
                false => ([32 * PARTITION + 1, 500_009], 32 * PARTITION),
            };
            for size in sizes {
                let ty = shape(&[2, size], dtype);
                let kind = TensorOp::Reduce {
                    op,
                    dims: Dims::from_slice(&[1]),
                    keep: false,
                    negate: false,
                };
                let func = single(kind, &[Ok(ty.clone())], &TensorType::scalar(dtype)).unwrap();
                let proof = prove(&func, &[fill(&ty, 5)], &target, Agreement::Bits);
                let (after, _) = legalize(&func, &target, &mut Fuel::default()).unwrap();
                let cut = after
                    .body_ops()
                    .filter_map(|(_, op)| op.as_tensor().map(|kind| (kind, op)))
                    .all(|(kind, op)| {
                        let TensorOp::Reduce { dims, .. } = kind else { return true };
                        let operand = after.tensor_ty(op.value_operands().next().unwrap()).unwrap();
                        dims.iter().map(|&dim| operand.shape[dim]).product::<u64>() <= most
                    });
                if !cut {
                    report.fail(format!("{op} of {ty} is not cut"));
                }
                report.add(&format!("{op} of {ty}"), proof, false);
            }
        }
        for op1 in [Op::Add, Op::Max] {
            for emit in [Emit::All, Emit::Final] {
                let ty = shape(&[2, 30011], dtype);
                let seed = if dtype == ElemType::F32 { Seed::Load } else { Seed::Zero };
                let kind = TensorOp::ScanCache { op0: Op::Bypass, op1, seed, emit };
                let mut operands = vec![Ok(ty.clone()), Err(Operand::Literal(Literal::Int(0)))];
                if seed == Seed::Load {
                    operands.push(Err(Operand::Literal(Literal::Int(1))));
                }
                let func = single(kind, &operands, &TensorType::scalar(dtype)).unwrap();
                report.add(
                    &format!("{op1} scan of {ty} {emit}"),
                    prove(&func, &[fill(&ty, 6)], &target, Agreement::Bits),
                    false,
                );
            }
        }
    }
    report.finish();
}
