//! More compositions of `chlo`.

use smallvec::smallvec;

use super::elementwise::in_f32;
use super::{Call, Lower, Made, wrong};
use crate::entity::ValueId;
use crate::infer::InferError;
use crate::literal::Literal;
use crate::module::Operand;
use crate::ops::ElementwiseOp::*;
use crate::types::ElemType;

/// The inverse of `erf`, by polynomials in `w = −log(1 − x²)`: one around 2.5 for small `w`, one in its root beyond 5.
pub(super) fn erf_inv<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    /// Coefficients of both, highest power first.
    const COEFFICIENTS: [[f32; 2]; 9] = [
        [2.810_226_4e-8, -2.002_142_6e-4],
        [3.432_739_4e-7, 1.009_505_6e-4],
        [-3.523_387_7e-6, 1.349_343_2e-3],
        [-4.391_506_5e-6, -3.673_428_4e-3],
        [2.185_808_7e-4, 5.739_507_7e-3],
        [-1.253_725e-3, -7.622_461_3e-3],
        [-4.177_681_6e-3, 9.438_870_5e-3],
        [0.246_640_73, 1.001_674],
        [1.501_409_4, 2.832_976_8],
    ];
    call.arity(1)?;
    in_f32(lower, call, call.arg(0)?, |lower, x| {
        let square = lower.two(Mult, x, x)?;
        let below = lower.two(Mult, square, -1.0f32)?;
        let log = lower.one(Log1p, below)?;
        let w = lower.two(Mult, log, -1.0f32)?;
        let small = lower.two(IsLt, w, 5.0f32)?;
        let near = lower.two(Subtract, w, 2.5f32)?;
        let root = lower.one(Sqrt, w)?;
        let far = lower.two(Subtract, root, 3.0f32)?;
        let polynomial = |lower: &mut Lower<'_, 's>, at: ValueId, which: usize| {
            let mut sum: Operand = COEFFICIENTS[0][which].into();
            for row in &COEFFICIENTS[1..] {
                let product = lower.two(Mult, sum, at)?;
                sum = lower.two(Add, product, row[which])?.into();
            }
            sum.value().ok_or_else(InferError::not_a_tensor)
        };
        let (near, far) = (polynomial(lower, near, 0)?, polynomial(lower, far, 1)?);
        let series = lower.choose(small, near, far)?;
        let plain = lower.two(Mult, series, x)?;
        let size = lower.one(AbsoluteValue, x)?;
        let end = lower.two(IsEq, size, 1.0f32)?;
        let infinite = lower.two(Mult, x, f32::INFINITY)?;
        lower.choose(end, infinite, plain)
    })
}

/// The next number from `x` towards `y`: one step of the bits.
pub(super) fn next_after<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(2)?;
    let (x, y) = (call.arg(0)?, call.arg(1)?);
    let dtype = lower.dtype(x);
    let int = match dtype {
        ElemType::F32 => ElemType::I32,
        ElemType::F16 | ElemType::Bf16 => ElemType::I16,
        _ => return Err(call.refused(format_args!("of `{dtype}`"))),
    };
    let literal = |value: i128| Operand::Literal(Literal::Int(value));
    let (top, least) =
        (literal((1 << (dtype.width() - 1)) - 1), literal(-(1 << (dtype.width() - 1))));
    let make = |lower: &mut Lower<'_, 's>| -> Result<ValueId, InferError> {
        let (from, to) = (lower.b.bitcast(x, int)?, lower.b.bitcast(y, int)?);
        let (from_size, to_size) =
            (lower.two(BitwiseAnd, from, top)?, lower.two(BitwiseAnd, to, top)?);
        let (from_sign, to_sign) =
            (lower.two(BitwiseAnd, from, least)?, lower.two(BitwiseAnd, to, least)?);
        // Nearer to zero where the signs differ or the aim is smaller.
        let turned = lower.two(IsNe, from_sign, to_sign)?;
        let beyond = lower.two(IsGt, from_size, to_size)?;
        let inwards = lower.two(LogicalOr, turned, beyond)?;
        let (less, more) =
            (lower.two(Subtract, from, literal(1))?, lower.two(Add, from, literal(1))?);
        let step = lower.choose(inwards, less, more)?;
        // From zero the first step has the sign of the aim.
        let first = lower.two(BitwiseOr, to_sign, literal(1))?;
        let zero = lower.two(IsEq, from_size, literal(0))?;
        let step = lower.choose(zero, first, step)?;
        let stepped = lower.b.bitcast(step, dtype)?;
        let there = lower.two(IsEq, x, y)?;
        let moved = lower.choose(there, y, stepped)?;
        let nan = lower.two(Add, x, y)?;
        let (x_nan, y_nan) = (lower.two(IsNe, x, x)?, lower.two(IsNe, y, y)?);
        let any = lower.two(LogicalOr, x_nan, y_nan)?;
        lower.choose(any, nan, moved)
    };
    Ok(smallvec![make(lower).map_err(wrong(call))?])
}
