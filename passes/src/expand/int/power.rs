//! Powers of integers, modulo 2ⁿ.

use partita_ir::literal::int_from_bits;
use partita_ir::ops::ElementwiseOp as Op;
use partita_ir::{ElemType, FuncBuilder};

use super::super::emit::Emitted;
use super::super::{Built, Emitter, Expansion, OpCx, Refusal, Val};
use super::exact;
use super::words::{int_type, is_wide};
use ElemType::Ui8;

pub const EXPANSIONS: &[Expansion] = &[exact(
    "power-by-squaring",
    "an integer power is a product of repeated squares, modulo 2^n; a negative one is a quotient of 1",
    |cx| cx.dtype().is_int() && cx.dtype() == cx.to() && cx.is_any(&[Op::Pow]),
    power,
)];

fn power(b: &mut FuncBuilder, cx: &OpCx<'_>) -> Built {
    let mut e = Emitter::new(b, cx);
    let dtype = cx.dtype();
    if is_wide(dtype) && !e.has_int_band() {
        return Err(Refusal::by("TT-E4", "64-bit integers need CAYMAN or later"));
    }
    // Work where POOL multiplies; the low bits are those of the narrower result.
    let work = int_type(dtype.size_bytes().max(4), dtype.is_signed());
    let (base, exponent) = (e.arg(cx, 0)?, e.arg(cx, 1)?);
    let base = e.wrap(base, work)?;
    let value = match cx.literal_bits(1) {
        Some(bits) => {
            let exponent = int_from_bits(bits, dtype);
            if exponent < 0 {
                negative_power(&mut e, base, exponent % 2 != 0)?
            } else {
                known_power(&mut e, base, exponent)?
            }
        }
        None => {
            let exponent = e.wrap(exponent, work)?;
            let bits = dtype.width() - u32::from(dtype.is_signed());
            let product = any_power(&mut e, base, exponent, bits)?;
            if dtype.is_signed() {
                choose_negative(&mut e, base, exponent, product)?
            } else {
                product
            }
        }
    };
    let value = e.wrap(value, dtype)?;
    let value = e.broadcast(value, &cx.result.shape)?;
    e.id(value)
}

fn known_power(e: &mut Emitter<'_>, base: Val, exponent: i128) -> Emitted {
    let (mut square, mut product, mut left) = (base, None, exponent);
    while left > 0 {
        if left & 1 != 0 {
            product = Some(match product {
                None => square,
                Some(product) => e.op(Op::Mult, &[product, square], base.dtype)?,
            });
        }
        left >>= 1;
        if left > 0 {
            square = e.op(Op::Mult, &[square, square], base.dtype)?;
        }
    }
    Ok(product.unwrap_or(e.lit(1, base.dtype)))
}

fn any_power(e: &mut Emitter<'_>, base: Val, exponent: Val, bits: u32) -> Emitted {
    let work = base.dtype;
    let one = e.lit(1, work);
    let (mut square, mut product) = (base, one);
    for bit in 0..bits {
        let mask = e.lit_bits(1 << bit, work);
        let chosen = e.op(Op::BitwiseAnd, &[exponent, mask], work)?;
        let factor = e.op(Op::Select, &[chosen, square, one], work)?;
        product = if bit == 0 { factor } else { e.op(Op::Mult, &[product, factor], work)? };
        if bit + 1 < bits {
            square = e.op(Op::Mult, &[square, square], work)?;
        }
    }
    Ok(product)
}

/// 1 / base^n for a positive n of the parity given, toward zero: 1 of 1, ±1 of −1, all ones of 0, and
/// 0 of every other.
fn negative_power(e: &mut Emitter<'_>, base: Val, odd: bool) -> Emitted {
    let parity = e.lit(i128::from(odd), base.dtype);
    quotient_of_one(e, base, parity)
}

fn quotient_of_one(e: &mut Emitter<'_>, base: Val, odd: Val) -> Emitted {
    let work = base.dtype;
    let (zero, one, minus) = (e.lit(0, work), e.lit(1, work), e.lit(-1, work));
    let is = |e: &mut Emitter<'_>, number: Val| e.op(Op::IsEq, &[base, number], Ui8);
    let (of_zero, of_one, of_minus) = (is(e, zero)?, is(e, one)?, is(e, minus)?);
    let unit = if odd.operand.literal().is_some() {
        if odd == one { minus } else { one }
    } else {
        e.op(Op::Select, &[odd, minus, one], work)?
    };
    let value = e.op(Op::Select, &[of_minus, unit, zero], work)?;
    let value = e.op(Op::Select, &[of_one, one, value], work)?;
    e.op(Op::Select, &[of_zero, minus, value], work)
}

fn choose_negative(e: &mut Emitter<'_>, base: Val, exponent: Val, product: Val) -> Emitted {
    let work = exponent.dtype;
    let (zero, one) = (e.lit(0, work), e.lit(1, work));
    let odd = e.op(Op::BitwiseAnd, &[exponent, one], work)?;
    let below = e.op(Op::IsLt, &[exponent, zero], Ui8)?;
    let quotient = quotient_of_one(e, base, odd)?;
    e.op(Op::Select, &[below, quotient, product], work)
}
