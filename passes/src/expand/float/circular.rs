//! `sin` and `cos`.
//!
//! k = x·2/π rounded; r = x − k·π/2 with π/2 in [`PARTS`], of which all but the last have
//! so few bits that their products with k, of at most 15, are exact. Accurate for |x| up
//! to 2¹⁵·π/2, the limit that [`partita_ir::eval::accuracy`] states. Beyond, the products
//! round and nothing is promised but that finite numbers give results within [−1, 1].

use partita_ir::ops::ElementwiseOp;

use super::fp32::{Emit, SIGN};
use crate::expand::Refusal;
use crate::expand::emit::{Emitted, Val};

/// (sin r − r) / r³ in r² on |r| ≤ [`LARGEST_REST`], relative error of the whole 2⁻²⁷.
const SIN: [f32; 3] = [-0.166_666_54, 0.008_332_106, -0.000_195_078_83];
/// (cos r − 1 + r²/2) / r⁴ in r² on |r| ≤ [`LARGEST_REST`], error of the whole 2⁻³³.
const COS: [f32; 3] = [0.041_666_646, -0.001_388_730_4, 0.000_024_431_201];

/// π/2 within 2⁻⁷³: five parts of 9 bits each, and a rest.
const PARTS: [f32; 6] =
    [1.570_312_5, 4.806_518_6e-4, 3.173_947_3e-6, 9.895_302e-10, 2.557_953_8e-12, 5.390_303e-15];
/// 1.5·2²³: a number added to it is rounded, and its low bits are the integer.
const ROUNDER: f32 = 12_582_912.0;
/// π/4, and what the rounding of k adds to it.
const LARGEST_REST: f32 = 0.79;

/// Which of the two functions, as a shift by quadrants.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Circular {
    Sin,
    Cos,
}

/// x = k·π/2 + r: r, and bits whose lowest two are those of k + `shift`.
fn reduce(emit: &mut Emit<'_, '_>, x: Val, shift: f32) -> Result<(Val, Val), Refusal> {
    let turns = emit.mult(x, std::f32::consts::FRAC_2_PI)?;
    let rounded = emit.add(turns, ROUNDER)?;
    let k = emit.sub(rounded, ROUNDER)?;
    let mut rest = x;
    for part in PARTS {
        let product = emit.mult(k, part)?;
        rest = emit.sub(rest, product)?;
    }
    // Far out the rest is not small.
    let rest = emit.max(rest, -LARGEST_REST)?;
    let rest = emit.min(rest, LARGEST_REST)?;
    let shifted = emit.add(k, ROUNDER + shift)?;
    Ok((rest, emit.bits(shifted)?))
}

pub fn circular(emit: &mut Emit<'_, '_>, x: Val, which: Circular) -> Emitted {
    let shift = if which == Circular::Sin { 0.0 } else { 1.0 };
    // The sine of a magnitude, so that −0 keeps its sign.
    let argument = if which == Circular::Sin { emit.abs(x)? } else { x };
    let (r, quadrant) = reduce(emit, argument, shift)?;
    let square = emit.mult(r, r)?;
    let tail = emit.polynomial(square, &SIN)?;
    let tail = emit.mult(tail, square)?;
    let tail = emit.mult(tail, r)?;
    let sin = emit.add(r, tail)?;
    let tail = emit.polynomial(square, &COS)?;
    let tail = emit.mult(tail, square)?;
    let tail = emit.sub(tail, 0.5)?;
    let tail = emit.mult(tail, square)?;
    let cos = emit.add(tail, 1.0)?;

    let odd = emit.mask(quadrant, 1)?;
    let y = emit.select(odd, cos, sin)?;
    let half = emit.mask(quadrant, 2)?;
    let flip = emit.shift_left(half, SIGN.trailing_zeros() - 1)?;
    let y = emit.bits(y)?;
    let mut y = emit.word(ElementwiseOp::BitwiseXor, y, flip)?;
    if which == Circular::Sin {
        let sign = emit.bits(x)?;
        let sign = emit.mask(sign, SIGN)?;
        y = emit.word(ElementwiseOp::BitwiseXor, y, sign)?;
    }
    let y = emit.number(y)?;
    // 0 for finite x, NaN for others, which the clamp loses.
    let zero = emit.mult(x, 0.0)?;
    emit.add(y, zero)
}
