use super::*;
use crate::eval::compare::ulps_apart;
use crate::eval::random::{Rng, dyadic_tensor, random_tensor};
use crate::eval::{CompareError, Comparison, Fp8Options, Tolerance};
use crate::module::RandomRange;

/// With 8-bit floats in their own coding.
fn compare_tol(
    got: &TensorData,
    want: &TensorData,
    tolerance: Tolerance,
) -> Result<Comparison, CompareError> {
    crate::eval::compare_tol(got, want, tolerance, Fp8Options::default())
}

#[test]
fn defaults_and_overrides() {
    assert_eq!(Tolerance::of(ElemType::Bf16), Tolerance::Close { rtol: 1.6e-2, atol: 1e-2 });
    assert_eq!(
        Tolerance::with(ElemType::F32, None, Some(1.0)),
        Tolerance::Close { rtol: 2e-5, atol: 1.0 }
    );
    assert_eq!(Tolerance::with(ElemType::I8, Some(0.5), None), Tolerance::Exact);
    assert_eq!(
        Tolerance::with(ElemType::I8, None, Some(1.0)),
        Tolerance::Close { rtol: 0.0, atol: 1.0 }
    );
}

#[test]
fn the_worst_element_is_named() {
    let want = floats(&[2, 2], ElemType::F32, &[1.0, 100.0, f32::NAN, f32::INFINITY]);
    let got = floats(&[2, 2], ElemType::F32, &[1.00001, 100.5, f32::NAN, f32::INFINITY]);
    let found = compare_tol(&got, &want, Tolerance::of(ElemType::F32)).unwrap();
    assert_eq!(found.mismatches, 1);
    let worst = found.worst.as_ref().unwrap();
    assert_eq!(
        (worst.index.as_slice(), worst.got.as_str(), worst.want.as_str()),
        (&[0, 1][..], "100.5", "100.0")
    );
    assert_eq!(worst.error, 0.5);
    assert!(found.to_string().contains("1 of 4 elements differ"), "{found}");
    for (got, want) in [
        (f32::INFINITY, f32::NEG_INFINITY),
        (f32::NAN, 1.0),
        (1.0, f32::NAN),
        (f32::MAX, f32::INFINITY),
    ] {
        let found =
            compare_tol(&f32s(&[got]), &f32s(&[want]), Tolerance::Close { rtol: 1.0, atol: 1e38 })
                .unwrap();
        assert_eq!(found.mismatches, 1, "{got} {want}");
    }
    assert!(compare_tol(&f32s(&[0.0]), &f32s(&[-0.0]), Tolerance::Exact).unwrap().is_match());
    assert!(compare_tol(&f32s(&[0.0]), &f32s(&[0.0, 1.0]), Tolerance::Exact).is_err());
}

#[test]
fn units_in_the_last_place() {
    let tol = Tolerance::of(ElemType::F8E4M3);
    let at = |bits| TensorData::from_bits(ty(&[1], ElemType::F8E4M3), &[bits]).unwrap();
    assert!(compare_tol(&at(0x31), &at(0x30), tol).unwrap().is_match());
    assert!(!compare_tol(&at(0x32), &at(0x30), tol).unwrap().is_match());
    assert!(compare_tol(&at(0x81), &at(0x00), tol).unwrap().is_match());
    assert!(!compare_tol(&at(0x78), &at(0x77), tol).unwrap().is_match());
    assert_eq!(ulps_apart(0x8001, 0x0001, ElemType::F16), 2);
}

#[test]
fn the_highest_codes_of_ocp_floats_are_numbers() {
    // OCP E4M3: 0x78 is 256, 0x79 is 288, 0x7e is 448, 0x7f is NaN; without OCP 0x78 is infinity and the
    // codes above it are NaN.
    let at = |bits| TensorData::from_bits(ty(&[1], ElemType::F8E4M3), &[bits]).unwrap();
    let ocp = Fp8Options { ocp: true, ..Fp8Options::default() };
    let tol = Tolerance::of(ElemType::F8E4M3);
    let found = |got, want, fp8| crate::eval::compare_tol(&at(got), &at(want), tol, fp8).unwrap();
    assert!(found(0x79, 0x78, ocp).is_match());
    assert_eq!(found(0x79, 0x78, ocp).max_error, 32.0);
    assert!(found(0x78, 0x77, ocp).is_match());
    let far = found(0x7e, 0x79, ocp);
    assert!(!far.is_match());
    assert!(far.to_string().contains("got 448.0, want 288.0"), "{far}");
    assert!(!found(0x7f, 0x7e, ocp).is_match());
    assert!(!found(0x79, 0x78, Fp8Options::default()).is_match());
}

#[test]
fn integers_within_atol() {
    let (a, b) = (row(ElemType::I8, &[1, 5]), row(ElemType::I8, &[2, 5]));
    assert!(!compare_tol(&a, &b, Tolerance::Exact).unwrap().is_match());
    assert!(
        compare_tol(&a, &b, Tolerance::with(ElemType::I8, None, Some(1.0))).unwrap().is_match()
    );
}

/// The first outputs of xoshiro256++ from the state 1, 2, 3, 4, as published, and
/// of splitmix64 from 0 by way of the state.
#[test]
fn the_generator_is_the_published_one() {
    let mut rng = Rng::from_state([1, 2, 3, 4]);
    let first: Vec<u64> = (0..4).map(|_| rng.next_u64()).collect();
    assert_eq!(first, [41943041, 58720359, 3588806011781223, 3591011842654386]);
}

#[test]
fn distributions() {
    let mut rng = Rng::new(1);
    let x = random_tensor(&ty(&[20000], ElemType::F32), None, &mut rng).unwrap().to_f32();
    let mean: f64 = x.iter().map(|&x| f64::from(x)).sum::<f64>() / 20000.0;
    let square: f64 = x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / 20000.0;
    assert!(mean.abs() < 0.03 && (square - 1.0).abs() < 0.05, "{mean} {square}");
    let x = random_tensor(&ty(&[1000], ElemType::I8), Some(RandomRange::Int(-3, 3)), &mut rng)
        .unwrap()
        .to_ints();
    assert_eq!((x.iter().min(), x.iter().max()), (Some(&-3), Some(&3)));
    let x =
        random_tensor(&ty(&[1000], ElemType::F32), Some(RandomRange::Uniform(2.0, 3.0)), &mut rng)
            .unwrap();
    assert!(x.to_f32().iter().all(|x| (2.0..=3.0).contains(x)));
    let x = random_tensor(&ty(&[4000], ElemType::I64), None, &mut rng).unwrap().to_ints();
    assert!(x.iter().any(|&x| x > 1 << 62) && x.iter().any(|&x| x < -(1 << 62)));
    for &dtype in ElemType::ALL {
        let x = dyadic_tensor(&ty(&[500], dtype), &mut rng).unwrap().to_f32();
        assert!(x.iter().all(|x| (x * 8.0).fract() == 0.0 && x.abs() <= 8.0), "{dtype}");
    }
    let again = |seed| random_tensor(&ty(&[8], ElemType::Bf16), None, &mut Rng::new(seed)).unwrap();
    assert_eq!(again(7), again(7));
    assert_ne!(again(7), again(8));
}
