use half::{bf16, f16};

use super::*;
use crate::eval::convert::*;

const OFF: Fp8Options = Fp8Options { ocp: false, saturate: false };

#[test]
fn every_half_decodes() {
    for bits in 0..=u16::MAX {
        let wide = u64::from(bits);
        assert_eq!(
            key(decode_f32(wide, ElemType::F16, OFF)),
            key(f16::from_bits(bits).to_f32()),
            "{bits:#x}"
        );
        assert_eq!(
            key(decode_f32(wide, ElemType::Bf16, OFF)),
            key(bf16::from_bits(bits).to_f32()),
            "{bits:#x}"
        );
    }
}

/// Every half, the points half-way between neighbours, and what lies just beside
/// those: all that rounding can get wrong.
#[test]
fn halves_encode_around_every_value_and_tie() {
    let check = |x: f32| {
        for x in [x, x.next_up(), x.next_down()] {
            let want = |nan: bool, bits: u16, canonical: u16| {
                u64::from(if nan { canonical } else { bits })
            };
            let (h, b) = (f16::from_f32(x), bf16::from_f32(x));
            assert_eq!(
                encode_f32(x, ElemType::F16, OFF),
                want(h.is_nan(), h.to_bits(), 0x7E00),
                "{x:e}"
            );
            assert_eq!(
                encode_f32(x, ElemType::Bf16, OFF),
                want(b.is_nan(), b.to_bits(), 0x7FC0),
                "{x:e}"
            );
        }
    };
    for bits in 0..u16::MAX {
        for [value, next] in [
            [f16::from_bits(bits).to_f32(), f16::from_bits(bits + 1).to_f32()],
            [bf16::from_bits(bits).to_f32(), bf16::from_bits(bits + 1).to_f32()],
        ] {
            check(value);
            check(((f64::from(value) + f64::from(next)) / 2.0) as f32);
        }
    }
}

#[test]
fn eight_bit_floats_go_round_under_every_option() {
    for dtype in [ElemType::F8E3M4, ElemType::F8E4M3, ElemType::F8E5M2] {
        for ocp in [false, true] {
            for saturate in [false, true] {
                let fp8 = Fp8Options { ocp, saturate };
                for bits in 0..256 {
                    let x = decode_f32(bits, dtype, fp8);
                    if x.is_finite() {
                        assert_eq!(encode_f32(x, dtype, fp8), bits, "{dtype} {bits:#x} {fp8:?}");
                    }
                }
            }
        }
    }
}

/// ISA 5.2.
#[test]
fn eight_bit_overflow() {
    let ieee = |x, dtype| encode_f32(x, dtype, OFF);
    assert_eq!(ieee(247.9, ElemType::F8E4M3), 0x77);
    // 248 is half-way to 256 and 0x77 is odd.
    assert_eq!(ieee(248.0, ElemType::F8E4M3), 0x78);
    assert_eq!(ieee(-1e9, ElemType::F8E5M2), 0xFC);
    assert_eq!(ieee(15.75, ElemType::F8E3M4), 0x70);
    assert_eq!(ieee(f32::NAN, ElemType::F8E3M4), 0x78);

    let saturate = Fp8Options { ocp: false, saturate: true };
    assert_eq!(encode_f32(f32::INFINITY, ElemType::F8E4M3, saturate), 0x77);
    assert_eq!(encode_f32(-1e9, ElemType::F8E3M4, saturate), 0xEF);
    assert_eq!(encode_f32(f32::NAN, ElemType::F8E5M2, saturate), 0x7E);

    let ocp = Fp8Options { ocp: true, saturate: false };
    assert_eq!(decode_f32(0x7E, ElemType::F8E4M3, ocp), 448.0);
    assert_eq!(decode_f32(0x78, ElemType::F8E4M3, ocp), 256.0);
    assert!(decode_f32(0xFF, ElemType::F8E4M3, ocp).is_nan());
    assert_eq!(encode_f32(248.0, ElemType::F8E4M3, ocp), 0x78);
    assert_eq!(encode_f32(247.9, ElemType::F8E4M3, ocp), 0x77);
    // 464 is half-way between 448 and the next step; 0x7E is even.
    assert_eq!(encode_f32(464.0, ElemType::F8E4M3, ocp), 0x7E);
    assert_eq!(encode_f32(464.1, ElemType::F8E4M3, ocp), 0x7F);
    assert_eq!(encode_f32(f32::NEG_INFINITY, ElemType::F8E4M3, ocp), 0xFF);
    let both = Fp8Options { ocp: true, saturate: true };
    assert_eq!(encode_f32(f32::NEG_INFINITY, ElemType::F8E4M3, both), 0xFE);
    assert_eq!(encode_f32(f32::NAN, ElemType::F8E4M3, both), 0x7F);
    // The other formats do not change.
    assert_eq!(encode_f32(f32::INFINITY, ElemType::F8E5M2, ocp), 0x7C);
}

#[test]
fn floats_to_integers_round_to_even_and_saturate() {
    let to = |x, dtype| crate::literal::int_from_bits(encode_f32(x, dtype, OFF), dtype);
    for (x, want) in [
        (0.5, 0),
        (1.5, 2),
        (2.5, 2),
        (-0.5, 0),
        (-1.5, -2),
        (127.5, 127),
        (1e9, 127),
        (-1e9, -128),
    ] {
        assert_eq!(to(x, ElemType::I8), want, "{x}");
    }
    assert_eq!(to(f32::NAN, ElemType::I32), 0);
    assert_eq!(to(f32::INFINITY, ElemType::I64), i128::from(i64::MAX));
    assert_eq!(to(f32::NEG_INFINITY, ElemType::Ui16), 0);
    assert_eq!(to(3e9, ElemType::I32), i128::from(i32::MAX));
    assert_eq!(to(2f32.powi(64), ElemType::Ui64), i128::from(u64::MAX));
    for (x, want) in [(0.0, 0), (-0.0, 0), (0.25, 1), (-3.0, 1), (f32::NAN, 1)] {
        assert_eq!(to(x, ElemType::I1), want, "{x}");
    }
}

#[test]
fn integers_to_others() {
    let cast = |x: i128, from, to| cast_bits(wrap_int(x, from), from, to, OFF);
    assert_eq!(cast(-1, ElemType::I32, ElemType::Ui32), 0);
    assert_eq!(cast(300, ElemType::I32, ElemType::I8), 127);
    assert_eq!(cast(16_777_217, ElemType::I32, ElemType::F32), u64::from(16_777_216f32.to_bits()));
    assert_eq!(cast(16_777_219, ElemType::I32, ElemType::F32), u64::from(16_777_220f32.to_bits()));
    // By way of fp32: 257 · 2^16 + 1 rounds to a tie first.
    assert_eq!(
        cast((257 << 16) + 1, ElemType::I32, ElemType::Bf16),
        u64::from(bf16::from_f32(16_777_216.0).to_bits())
    );
    assert_eq!(
        cast(i128::from(u64::MAX), ElemType::Ui64, ElemType::F32),
        u64::from(2f32.powi(64).to_bits())
    );
    // A type's own bits stay, NaN payloads too.
    assert_eq!(cast_bits(0x7F81, ElemType::Bf16, ElemType::Bf16, OFF), 0x7F81);
}

#[test]
fn toward_zero_and_modulo() {
    let x = f32s(&[1.9, -1.9, 300.0, f32::NAN, -0.5]);
    assert_ints(&run(TensorOp::ToInt, &[&x], ty(&[5], ElemType::I8)), &[1, -1, 127, 0, 0]);
    let x = row(ElemType::I32, &[300, -1, 256, -129]);
    assert_ints(&run(TensorOp::Wrap, &[&x], ty(&[4], ElemType::I8)), &[44, -1, 0, 127]);
    assert_ints(
        &run(TensorOp::Wrap, &[&x], ty(&[4], ElemType::Ui64)),
        &[300, (1 << 64) - 1, 256, (1 << 64) - 129],
    );
    assert_ints(&run(TensorOp::Wrap, &[&x], ty(&[4], ElemType::I1)), &[0, 1, 0, 1]);
    assert_ints(&run(TensorOp::Cast, &[&x], ty(&[4], ElemType::I1)), &[1, 1, 1, 1]);
}

/// The block forms agree with the element forms for every pair of types.
#[test]
fn blocks_agree_with_elements() {
    for &from in ElemType::ALL {
        let patterns: Vec<u64> = (0..300u64)
            .map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) & (u64::MAX >> (64 - from.width())))
            .collect();
        let data = TensorData::from_bits(ty(&[300], from), &patterns).unwrap();
        for &to in ElemType::ALL {
            let got = run(TensorOp::Cast, &[&data], ty(&[300], to));
            let want: Vec<u64> =
                patterns.iter().map(|&bits| cast_bits(bits, from, to, OFF)).collect();
            assert_eq!(got.iter_bits().collect::<Vec<_>>(), want, "{from} to {to}");
        }
    }
}
