use super::*;
use ElementwiseOp as E;

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

fn unary(op: E, x: &[f32]) -> TensorData {
    apply(op, &[&f32s(x)], ElemType::F32)
}

fn binary(op: E, a: &[f32], b: &[f32]) -> TensorData {
    apply(op, &[&f32s(a), &f32s(b)], ElemType::F32)
}

#[test]
fn float_arithmetic_rounds_once() {
    assert_floats(
        &binary(E::Add, &[1.0, INF, 1e-45], &[2f32.powi(-24), -INF, 1e-45]),
        &[1.0, NAN, 3e-45],
    );
    assert_floats(&binary(E::Subtract, &[1.0, 0.0], &[3.0, 0.0]), &[-2.0, 0.0]);
    assert_floats(&binary(E::Mult, &[3.0, 0.0, 1e30], &[-2.0, INF, 1e30]), &[-6.0, NAN, INF]);
    assert_floats(
        &binary(E::Divide, &[1.0, -1.0, 0.0, 7.0], &[3.0, 0.0, 0.0, 2.0]),
        &[1.0 / 3.0, -INF, NAN, 3.5],
    );
    assert_floats(
        &binary(E::Remainder, &[7.5, -7.5, 1.0, 5.0], &[2.0, 2.0, 0.0, INF]),
        &[1.5, -1.5, NAN, 5.0],
    );
    // bf16 operands meet in fp32: 256 + 1 is a tie that goes to even.
    let (a, b) = (floats(&[1], ElemType::Bf16, &[256.0]), floats(&[1], ElemType::Bf16, &[1.0]));
    assert_floats(&apply(E::Add, &[&a, &b], ElemType::Bf16), &[256.0]);
    assert_floats(&apply(E::Add, &[&a, &b], ElemType::F32), &[257.0]);
    assert_ints(&apply(E::Add, &[&a, &b], ElemType::Ui8), &[255]);
}

/// ISA 10.4.
#[test]
fn extremes_and_nan() {
    let (a, b) = ([NAN, 1.0, NAN, 0.0, -0.0, 2.0], [1.0, NAN, NAN, -0.0, 0.0, 3.0]);
    assert_floats(&binary(E::Max, &a, &b), &[1.0, 1.0, NAN, 0.0, 0.0, 3.0]);
    assert_floats(&binary(E::Min, &a, &b), &[1.0, 1.0, NAN, -0.0, -0.0, 2.0]);
    assert_floats(&binary(E::Maximum, &a, &b), &[NAN, NAN, NAN, 0.0, 0.0, 3.0]);
    assert_floats(&binary(E::Minimum, &a, &b), &[NAN, NAN, NAN, -0.0, -0.0, 2.0]);
    assert_floats(&binary(E::AbsMax, &[-3.0, NAN], &[2.0, -1.0]), &[3.0, 1.0]);
    assert_floats(&binary(E::AbsMin, &[-3.0, NAN], &[2.0, -1.0]), &[2.0, 1.0]);
    assert_floats(&binary(E::AbsoluteDiff, &[1.0, INF], &[3.0, INF]), &[2.0, NAN]);
    assert_floats(&unary(E::ReLu, &[-1.0, -0.0, 2.0, NAN]), &[0.0, 0.0, 2.0, NAN]);
    assert_floats(
        &binary(E::SymmetricClamp, &[-1.0, 5.0, 0.0], &[3.0, -2.0, 3.0]),
        &[-3.0, 5.0, 0.0],
    );
}

#[test]
fn truth_values() {
    let (a, b) = ([1.0, 2.0, NAN, 0.0], [1.0, 1.0, NAN, -0.0]);
    let is = |op| apply(op, &[&f32s(&a), &f32s(&b)], ElemType::I1);
    for (op, want) in [
        (E::IsEq, [1, 0, 0, 1]),
        (E::IsNe, [0, 1, 1, 0]),
        (E::IsGt, [0, 1, 0, 0]),
        (E::IsGe, [1, 1, 0, 1]),
        (E::IsLe, [1, 0, 0, 1]),
        (E::IsLt, [0, 0, 0, 0]),
        (E::LogicalAnd, [1, 1, 1, 0]),
        (E::LogicalOr, [1, 1, 1, 0]),
        (E::LogicalXor, [0, 0, 0, 0]),
    ] {
        assert_ints(&is(op), &want);
    }
    // 1 and 0 in any type.
    assert_floats(&apply(E::IsGe, &[&f32s(&a), &f32s(&b)], ElemType::Bf16), &[1.0, 1.0, 0.0, 1.0]);
    assert_ints(&apply(E::IsFinite, &[&f32s(&[1.0, INF, NAN])], ElemType::I1), &[1, 0, 0]);
    let i = row(ElemType::I32, &[5, 0, -5]);
    let z = row(ElemType::I32, &[0, 0, 3]);
    assert_ints(&apply(E::LogicalXor, &[&i, &z], ElemType::I32), &[1, 0, 0]);
}

#[test]
fn functions_at_points_known() {
    assert_floats(
        &unary(E::Exp, &[0.0, -INF, INF, NAN, 89.0, -104.0]),
        &[1.0, 0.0, INF, NAN, INF, 0.0],
    );
    assert_floats(&unary(E::ExpM1, &[0.0, -0.0, 1e-10, -INF]), &[0.0, -0.0, 1e-10, -1.0]);
    assert_floats(&unary(E::Log, &[1.0, 0.0, -1.0, INF]), &[0.0, -INF, NAN, INF]);
    assert_floats(&unary(E::Log1p, &[0.0, -1.0, 1e-10]), &[0.0, -INF, 1e-10]);
    assert_floats(
        &unary(E::Sqrt, &[4.0, -0.0, -1.0, 2.0]),
        &[2.0, -0.0, NAN, std::f32::consts::SQRT_2],
    );
    assert_floats(&unary(E::Rsqrt, &[4.0, 0.0, -0.0, -1.0, INF]), &[0.5, INF, -INF, NAN, 0.0]);
    assert_floats(&unary(E::Reciprocal, &[3.0, -0.0, INF]), &[1.0 / 3.0, -INF, 0.0]);
    assert_floats(&unary(E::Tanh, &[0.0, INF, -INF]), &[0.0, 1.0, -1.0]);
    assert_floats(&unary(E::Sigmoid, &[0.0, INF, -INF, -1000.0]), &[0.5, 1.0, 0.0, 0.0]);
    assert_floats(&unary(E::Erf, &[0.0, INF, 1.0]), &[0.0, 1.0, 0.842_700_8]);
    assert_floats(&unary(E::Sin, &[0.0, INF]), &[0.0, NAN]);
    assert_floats(&unary(E::Cos, &[0.0, std::f32::consts::PI]), &[1.0, -1.0]);
    assert_floats(
        &binary(E::Pow, &[2.0, -2.0, -2.0, 0.0, NAN], &[10.0, 3.0, 0.5, -1.0, 0.0]),
        &[1024.0, -8.0, NAN, INF, 1.0],
    );
    assert_floats(&unary(E::Sign, &[-3.0, -0.0, 0.0, NAN]), &[-1.0, -0.0, 0.0, NAN]);
    let x = [2.5, -2.5, 0.5, -0.4];
    assert_floats(&unary(E::Floor, &x), &[2.0, -3.0, 0.0, -1.0]);
    assert_floats(&unary(E::Ceil, &x), &[3.0, -2.0, 1.0, -0.0]);
    assert_floats(&unary(E::RoundEven, &x), &[2.0, -2.0, 0.0, -0.0]);
    assert_floats(&unary(E::RoundAway, &x), &[3.0, -3.0, 1.0, -0.0]);
    assert_floats(&unary(E::Trunc, &x), &[2.0, -2.0, 0.0, -0.0]);
    assert_floats(&unary(E::Square, &[-3.0]), &[9.0]);
    assert_floats(&unary(E::AbsoluteValue, &[-3.0, -0.0]), &[3.0, 0.0]);
}

#[test]
fn integers_wrap_at_the_result_width() {
    let (a, b) = (row(ElemType::I8, &[100, -128, 7]), row(ElemType::I8, &[100, -128, -9]));
    assert_ints(&apply(E::Add, &[&a, &b], ElemType::I8), &[-56, 0, -2]);
    assert_ints(&apply(E::Add, &[&a, &b], ElemType::I32), &[200, -256, -2]);
    assert_ints(&apply(E::Subtract, &[&a, &b], ElemType::Ui8), &[0, 0, 16]);
    assert_ints(&apply(E::Mult, &[&a, &b], ElemType::I16), &[10000, 16384, -63]);
    assert_floats(&apply(E::Mult, &[&a, &b], ElemType::F32), &[10000.0, 16384.0, -63.0]);
    let big = row(ElemType::Ui64, &[u64::MAX.into()]);
    assert_floats(&apply(E::Mult, &[&big, &big], ElemType::F32), &[2f32.powi(127) * 2.0]);
    assert_ints(&apply(E::Mult, &[&big, &big], ElemType::Ui64), &[1]);
    let big = row(ElemType::I64, &[i64::MIN.into()]);
    assert_ints(&apply(E::Mult, &[&big, &big], ElemType::I64), &[0]);
    // Extremes are exact and cast: they saturate.
    let (a, b) =
        (row(ElemType::I32, &[300, i32::MIN.into()]), row(ElemType::I32, &[5, i32::MIN.into()]));
    assert_ints(&apply(E::Max, &[&a, &b], ElemType::I8), &[127, -128]);
    // 2^24 + 1 is not an fp32 number.
    let (a, b) = (row(ElemType::I32, &[16_777_217]), row(ElemType::I32, &[16_777_216]));
    assert_ints(&apply(E::IsGt, &[&a, &b], ElemType::I1), &[1]);
}

/// ISA 10.4.
#[test]
fn integer_division() {
    let (a, b) =
        (row(ElemType::I32, &[-7, 7, 7, i32::MIN.into()]), row(ElemType::I32, &[2, -2, 0, -1]));
    assert_ints(&apply(E::Divide, &[&a, &b], ElemType::I32), &[-3, -3, -1, i32::MIN.into()]);
    assert_ints(&apply(E::Remainder, &[&a, &b], ElemType::I32), &[-1, 1, 7, 0]);
    let (a, b) = (row(ElemType::Ui32, &[7, 7]), row(ElemType::Ui32, &[0, 2]));
    assert_ints(&apply(E::DivideUint, &[&a, &b], ElemType::Ui32), &[u32::MAX.into(), 3]);
    assert_ints(&apply(E::ModUint, &[&a, &b], ElemType::Ui32), &[7, 1]);
    let (a, b) = (row(ElemType::I8, &[2, 3, -1, 2, 0]), row(ElemType::I8, &[6, 5, -3, -1, -1]));
    assert_ints(&apply(E::Pow, &[&a, &b], ElemType::I8), &[64, -13, -1, 0, -1]);
}

/// Every unary operation on every 8-bit integer.
#[test]
fn unary_integers_exhaustively() {
    let signed: Vec<i128> = (-128..128).collect();
    let unsigned: Vec<i128> = (0..256).collect();
    let (s, u) = (row(ElemType::I8, &signed), row(ElemType::Ui8, &unsigned));
    let check_s = |op, f: fn(i8) -> i8| {
        let want: Vec<i128> = signed.iter().map(|&x| f(x as i8).into()).collect();
        assert_ints(&apply(op, &[&s], ElemType::I8), &want);
    };
    let check_u = |op, f: fn(u8) -> u8| {
        let want: Vec<i128> = unsigned.iter().map(|&x| f(x as u8).into()).collect();
        assert_ints(&apply(op, &[&u], ElemType::Ui8), &want);
    };
    check_s(E::AbsoluteValue, i8::wrapping_abs);
    check_s(E::ReLu, |x| x.max(0));
    check_s(E::Square, |x| x.wrapping_mul(x));
    check_s(E::Sign, i8::signum);
    check_s(E::BitwiseNot, |x| !x);
    check_s(E::Copy, |x| x);
    check_s(E::Popcount, |x| x.count_ones() as i8);
    check_s(E::Clz, |x| x.leading_zeros() as i8);
    check_u(E::AbsoluteValue, |x| x);
    check_u(E::Square, |x| x.wrapping_mul(x));
    check_u(E::Sign, |x| x.min(1));
    check_u(E::BitwiseNot, |x| !x);
    check_u(E::Popcount, |x| x.count_ones() as u8);
    check_u(E::Clz, |x| x.leading_zeros() as u8);
}

/// Every pair of 8-bit integers.
#[test]
fn binary_integers_exhaustively() {
    let a: Vec<i128> = (0..65536).map(|i| i128::from((i >> 8) as u8 as i8)).collect();
    let b: Vec<i128> = (0..65536).map(|i| i128::from(i as u8 as i8)).collect();
    let (s, t) = (row(ElemType::I8, &a), row(ElemType::I8, &b));
    let check = |op, f: fn(i8, i8) -> i8| {
        let want: Vec<i128> = a.iter().zip(&b).map(|(&x, &y)| f(x as i8, y as i8).into()).collect();
        assert_ints(&apply(op, &[&s, &t], ElemType::I8), &want);
    };
    check(E::Add, i8::wrapping_add);
    check(E::SubtractInt, i8::wrapping_sub);
    check(E::MultInt, i8::wrapping_mul);
    check(E::DivideInt, |x, y| x.checked_div(y).unwrap_or(if y == 0 { -1 } else { i8::MIN }));
    check(E::Mod, |x, y| x.checked_rem(y).unwrap_or(if y == 0 { x } else { 0 }));
    check(E::MaxUint, |x, y| (x as u8).max(y as u8) as i8);
    check(E::MinInt, i8::min);
    check(E::AbsMaxInt, |x, y| x.wrapping_abs().max(y.wrapping_abs()));
    check(E::AbsDiffInt, |x, y| (i16::from(x) - i16::from(y)).abs() as i8);
    check(E::IsGtUint, |x, y| i8::from(x as u8 > y as u8));
    check(E::IsLeInt, |x, y| i8::from(x <= y));
    check(E::BitwiseXor, |x, y| x ^ y);
    check(E::ArithShiftLeft, |x, y| x.checked_shl(u32::from(y as u8)).unwrap_or(0));
    check(E::LogicalShiftRight, |x, y| {
        (x as u8).checked_shr(u32::from(y as u8)).unwrap_or(0) as i8
    });
    check(E::ArithShiftRight, |x, y| x.checked_shr(u32::from(y as u8)).unwrap_or(x >> 7));
}

#[test]
fn shifts_of_other_types() {
    // The top bit is copied for unsigned types too; the count may be ui32.
    let x = row(ElemType::Ui16, &[0x8000, 0x4000]);
    let n = row(ElemType::Ui32, &[4, 4]);
    assert_ints(&apply(E::ArithShiftRight, &[&x, &n], ElemType::Ui16), &[0xF800, 0x0400]);
    let x = row(ElemType::I64, &[-1, 1]);
    let n = row(ElemType::Ui32, &[63, u32::MAX.into()]);
    assert_ints(&apply(E::LogicalShiftRight, &[&x, &n], ElemType::I64), &[1, 0]);
    assert_ints(&apply(E::LogicalShiftLeft, &[&x, &n], ElemType::I64), &[i64::MIN.into(), 0]);
    let p = row(ElemType::I1, &[0, 1]);
    assert_ints(&apply(E::BitwiseNot, &[&p], ElemType::I1), &[1, 0]);
}

#[test]
fn selection_and_copies_keep_bits() {
    let payload =
        TensorData::from_bits(ty(&[2], ElemType::F32), &[0x7FA0_0001, 0xFFC0_1234]).unwrap();
    let other = f32s(&[1.0, 2.0]);
    let pred = row(ElemType::I32, &[7, 0]);
    let got = apply(E::Select, &[&pred, &payload, &other], ElemType::F32);
    assert_eq!(got.iter_bits().collect::<Vec<_>>(), [0x7FA0_0001, u64::from(2f32.to_bits())]);
    assert_eq!(apply(E::Copy, &[&payload], ElemType::F32), payload);
    assert_eq!(apply(E::Bypass, &[&payload, &other], ElemType::F32), payload);
    assert_ints(
        &apply(E::Select, &[&pred, &f32s(&[1.5, 9.0]), &f32s(&[0.0, 2.5])], ElemType::I8),
        &[2, 2],
    );
}

#[test]
fn operands_broadcast() {
    let a = floats(&[2, 1, 3], ElemType::F32, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let b = floats(&[2, 1], ElemType::F32, &[10.0, 20.0]);
    let got = run(TensorOp::Elementwise(E::Add), &[&a, &b], ty(&[2, 2, 3], ElemType::F32));
    assert_floats(&got, &[11.0, 12.0, 13.0, 21.0, 22.0, 23.0, 14.0, 15.0, 16.0, 24.0, 25.0, 26.0]);
    let scalar = TensorData::scalar(ElemType::F32, 1f32.to_bits().into());
    assert_floats(&apply(E::Subtract, &[&b, &scalar], ElemType::F32), &[9.0, 19.0]);
    let empty = floats(&[0, 3], ElemType::F32, &[]);
    assert!(apply(E::Add, &[&empty, &scalar], ElemType::F32).is_empty());
    // Longer than a block, with a broadcast that starts anew within blocks.
    let long: Vec<f32> = (0..3000).map(|i| i as f32).collect();
    let long = floats(&[1000, 3], ElemType::F32, &long);
    let got = apply(E::Mult, &[&long, &f32s(&[1.0, 0.0, -1.0])], ElemType::F32).to_f32();
    assert!((0..3000).all(|i| got[i] == i as f32 * [1.0, 0.0, -1.0][i % 3]));
}

#[test]
fn what_has_no_meaning_is_an_error() {
    let x = f32s(&[1.0]);
    let result = ty(&[1], ElemType::F32);
    let options = EvalOptions::default();
    assert!(eval_op(&TensorOp::Elementwise(E::BitwiseNot), &[&x], &result, &options).is_err());
    assert!(eval_op(&TensorOp::Elementwise(E::Add), &[&x], &result, &options).is_err());
    assert!(
        eval_op(&TensorOp::Elementwise(E::Add), &[&x, &x], &ty(&[2, 0], ElemType::F32), &options)
            .is_ok()
    );
    assert!(
        eval_op(
            &TensorOp::Elementwise(E::Add),
            &[&f32s(&[1.0, 2.0]), &x],
            &ty(&[3], ElemType::F32),
            &options
        )
        .is_err()
    );
    let i = row(ElemType::I32, &[1]);
    assert!(eval_op(&TensorOp::Elementwise(E::Exp), &[&i], &result, &options).is_err());
}
