//! Conversion of fp32 to 64-bit integers, which no word of the vector engine writes
//! (TT-E1): two 32-bit halves, side by side in memory.

use partita_ir::ops::{ElementwiseOp, TensorOp};
use partita_ir::{ElemType, TensorType};

use super::fp32::Emit;
use crate::expand::Refusal;
use crate::expand::emit::{Emitted, Val};

const HALF: f32 = 4_294_967_296.0;

/// An integral (or infinite, or NaN) number as `i64` or `ui64`, saturating, NaN to 0.
pub fn to_wide(emit: &mut Emit<'_, '_>, x: Val, dtype: ElemType) -> Emitted {
    let signed = dtype == ElemType::I64;
    let magnitude = emit.abs(x)?;
    // Both halves are exact: the high one drops whole bits, the low one is what it drops.
    let scaled = emit.mult(magnitude, 1.0 / HALF)?;
    let high = emit.one(ElementwiseOp::Trunc, scaled)?;
    let whole = emit.mult(high, HALF)?;
    let low = emit.sub(magnitude, whole)?;
    // ∞ − ∞ and NaN give 0, which the saturation overrides.
    let even = emit.test(ElementwiseOp::IsEq, low, 0.0)?;
    let mut low = emit.cast(low, ElemType::Ui32)?;
    let mut high = emit.cast(high, ElemType::Ui32)?;
    let negative = emit.test(ElementwiseOp::IsLt, x, 0.0)?;
    if signed {
        // Complement and add 1 where negative; the carry reaches the high half when the
        // low one is 0.
        let flip = emit.select(negative, u32::MAX, 0u32)?;
        low = emit.word(ElementwiseOp::BitwiseXor, low, flip)?;
        high = emit.word(ElementwiseOp::BitwiseXor, high, flip)?;
        low = emit.word(ElementwiseOp::Subtract, low, flip)?;
        let carry = emit.select(even, flip, 0u32)?;
        high = emit.word(ElementwiseOp::Subtract, high, carry)?;
        let least = emit.test(ElementwiseOp::IsLe, x, i64::MIN as f32)?;
        high = emit.select(least, 1u32 << 31, high)?;
        low = emit.select(least, 0u32, low)?;
    } else {
        high = emit.select(negative, 0u32, high)?;
        low = emit.select(negative, 0u32, low)?;
    }
    let (limit, greatest) =
        if signed { (i64::MAX as f32, i32::MAX as u32) } else { (u64::MAX as f32, u32::MAX) };
    let most = emit.test(ElementwiseOp::IsGe, x, limit)?;
    high = emit.select(most, greatest, high)?;
    low = emit.select(most, u32::MAX, low)?;

    let ty = emit.0.ty(low);
    let elements = ty.elements().ok_or_else(|| Refusal::because("too many elements"))?;
    let halves = [emit.0.reshape(low, &[elements, 1])?, emit.0.reshape(high, &[elements, 1])?];
    let joined = emit.0.concat(&halves, 1)?;
    let joined = emit.0.tensor(TensorOp::Bitcast, &[joined], &TensorType::scalar(dtype))?;
    emit.0.reshape(joined, &ty.shape)
}
