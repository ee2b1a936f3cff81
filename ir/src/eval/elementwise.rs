//! Elementwise operations and conversions.
//!
//! Decisions where the contract is silent:
//!
//! * Integer sums, differences and products (`add subtract mult` and their `_int`
//!   and `mult_uint` forms) are exact, then taken modulo 2ⁿ at an integer result's
//!   width, or rounded once to a float result. Every other operation computes at
//!   the operands' type and is then cast, so `square` of `i8` into `i32` wraps at
//!   8 bits first.
//! * `_int` compares and extremes read the operands' bits as signed, `_uint` ones
//!   as unsigned; `divide_int`, `mod_int`, `mod`, `is_equal_int` follow the type.
//! * `remainder` and `mod` have the sign of the dividend; of floats it is `fmod`.
//! * `pow` of integers is exact modulo 2ⁿ; a negative exponent gives 1 / a^|b|
//!   toward zero.
//! * `sign` gives ±0 of ±0 and NaN of NaN; `symmetric_clamp` multiplies by it.
//! * `bypass`, `copy` and `select` with a result of the operand's type move bits.
//! * A bit operation on `i1` sees one bit: `bitwise_not` is the logical one.

use super::EvalError;
use super::convert::{self, Fp8Options};
use super::float_ops::{self, Binary};
use super::int_ops::{self, Width};
use super::lanes::{BLOCK, Lane, Narrow, Reader};
use super::walk::{self, View};
use crate::data::TensorData;
use crate::ops::{Class, ElementwiseOp};
use crate::types::{ElemType, TensorType};

/// Maps two blocks to a third.
struct Map<'a, T> {
    a: &'a [T],
    b: &'a [T],
    out: &'a mut [T],
}

impl<T: Copy> Binary<T> for Map<'_, T> {
    type Output = ();
    fn run(self, f: impl Fn(T, T) -> T + Copy) {
        for ((out, &a), &b) in self.out.iter_mut().zip(self.a).zip(self.b) {
            *out = f(a, b);
        }
    }
}

/// Applies an operation to blocks of fp32 numbers; for one operand `b` is ignored
/// but present. `None` when the operation is not one of floats.
pub fn apply_f32(op: ElementwiseOp, a: &[f32], b: &[f32], out: &mut [f32]) -> Option<()> {
    float_ops::with_op(op, Map { a, b, out })?;
    if op.class() != Class::Move {
        float_ops::canonical_nans(out);
    }
    Some(())
}

/// As [`apply_f32`] for integers of a type.
pub fn apply_int(
    op: ElementwiseOp,
    dtype: ElemType,
    a: &[i128],
    b: &[i128],
    out: &mut [i128],
) -> Option<()> {
    int_ops::with_op(op, dtype, Map { a, b, out })
}

/// How an integer result of the operation meets its result type.
pub fn narrowing(op: ElementwiseOp) -> Narrow {
    if int_ops::is_modular(op) { Narrow::Wrap } else { Narrow::Saturate }
}

/// Evaluates one elementwise operation. Operands broadcast; one of rank 0 stands
/// for a literal.
pub fn elementwise(
    op: ElementwiseOp,
    operands: &[&TensorData],
    result: &TensorType,
    fp8: Fp8Options,
) -> Result<TensorData, EvalError> {
    if operands.len() != op.arity() {
        return Err(EvalError::malformed(op.name(), "wrong number of operands"));
    }
    let views = operands
        .iter()
        .map(|operand| View::broadcast(operand.shape(), &result.shape))
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| {
            EvalError::malformed(op.name(), "the operands do not broadcast to the result")
        })?;
    let mut out = TensorData::zeros(result.clone())?;
    let dtype = operands
        .get(usize::from(op == ElementwiseOp::Select))
        .map_or(result.dtype, |data| data.dtype());
    match (operands, views.as_slice()) {
        ([pred, yes, no], [pred_view, yes_view, no_view]) => {
            select([pred, yes, no], [pred_view, yes_view, no_view], &mut out, fp8)?;
        }
        ([a, ..], [a_view, ..]) if op.class() == Class::Move && dtype == result.dtype => {
            let to = View::dense(out.len());
            walk::copy(a.bytes(), a_view, out.bytes_mut(), &to, dtype.size_bytes() as usize);
        }
        _ if dtype.is_float() => blocks_f32(op, operands, &views, &mut out, fp8)?,
        _ => blocks_int(op, dtype, operands, &views, &mut out, fp8)?,
    }
    Ok(out)
}

/// A reader for each operand.
fn readers<'a>(operands: &[&'a TensorData], views: &'a [View], fp8: Fp8Options) -> Vec<Reader<'a>> {
    let reader = |(data, view): (&&'a TensorData, &'a View)| {
        Reader::new(data.bytes(), data.dtype(), fp8, view)
    };
    operands.iter().zip(views).map(reader).collect()
}

fn blocks_f32(
    op: ElementwiseOp,
    operands: &[&TensorData],
    views: &[View],
    out: &mut TensorData,
    fp8: Fp8Options,
) -> Result<(), EvalError> {
    let mut readers = readers(operands, views, fp8);
    let (mut a, mut b, mut y) = ([0f32; BLOCK], [0f32; BLOCK], [0f32; BLOCK]);
    let dtype = out.dtype();
    let size = out.element_size();
    for slot in out.bytes_mut().chunks_mut(BLOCK * size) {
        let n = slot.len() / size;
        for (reader, block) in readers.iter_mut().zip([&mut a, &mut b]) {
            reader.fill(&mut block[..n]);
        }
        apply_f32(op, &a[..n], &b[..n], &mut y[..n])
            .ok_or_else(|| EvalError::unsupported(op, operands))?;
        f32::store(&y[..n], dtype, fp8, Narrow::Saturate, slot);
    }
    Ok(())
}

fn blocks_int(
    op: ElementwiseOp,
    dtype: ElemType,
    operands: &[&TensorData],
    views: &[View],
    out: &mut TensorData,
    fp8: Fp8Options,
) -> Result<(), EvalError> {
    let mut readers = readers(operands, views, fp8);
    let (mut a, mut b, mut y) = ([0i128; BLOCK], [0i128; BLOCK], [0i128; BLOCK]);
    let result = out.dtype();
    let size = out.element_size();
    let count = operands.get(1).map_or(dtype, |count| count.dtype());
    for slot in out.bytes_mut().chunks_mut(BLOCK * size) {
        let n = slot.len() / size;
        for (reader, block) in readers.iter_mut().zip([&mut a, &mut b]) {
            reader.fill(&mut block[..n]);
        }
        if op.class() == Class::Shift {
            unsigned_counts(count, &mut b[..n]);
        }
        apply_int(op, dtype, &a[..n], &b[..n], &mut y[..n])
            .ok_or_else(|| EvalError::unsupported(op, operands))?;
        if result.is_float()
            && int_ops::is_product(op)
            && (dtype == ElemType::Ui64 || op == ElementwiseOp::MultUint)
        {
            store_u128(&y[..n], result, fp8, slot);
        } else {
            i128::store(&y[..n], result, fp8, narrowing(op), slot);
        }
    }
    Ok(())
}

/// Shift counts are unsigned numbers of their type (ISA 10.4).
pub fn unsigned_counts(dtype: ElemType, counts: &mut [i128]) {
    let width = Width::of(dtype);
    counts.iter_mut().for_each(|count| *count = width.bits_of(*count));
}

/// A product of two unsigned 64-bit numbers has 128 bits and no sign.
fn store_u128(lanes: &[i128], dtype: ElemType, fp8: Fp8Options, out: &mut [u8]) {
    let mut rounded = [0f32; BLOCK];
    for (to, &from) in rounded.iter_mut().zip(lanes) {
        *to = from as u128 as f32;
    }
    f32::store(&rounded[..lanes.len().min(BLOCK)], dtype, fp8, Narrow::Saturate, out);
}

/// Bits of the chosen operand, cast when the result has another type.
fn select(
    operands: [&TensorData; 3],
    views: [&View; 3],
    out: &mut TensorData,
    fp8: Fp8Options,
) -> Result<(), EvalError> {
    let [pred, yes, no] = operands;
    if yes.dtype() != no.dtype() || !pred.dtype().is_int() {
        return Err(EvalError::unsupported(ElementwiseOp::Select, &operands));
    }
    let mut truth = Reader::new(pred.bytes(), pred.dtype(), fp8, views[0]);
    // Same-width unsigned integers carry the bits of any type.
    let carrier = match yes.element_size() {
        1 => ElemType::Ui8,
        2 => ElemType::Ui16,
        4 => ElemType::Ui32,
        _ => ElemType::Ui64,
    };
    let mut yes_bits = Reader::new(yes.bytes(), carrier, fp8, views[1]);
    let mut no_bits = Reader::new(no.bytes(), carrier, fp8, views[2]);
    let (from, to) = (yes.dtype(), out.dtype());
    let (mut p, mut a, mut b) = ([0i128; BLOCK], [0i128; BLOCK], [0i128; BLOCK]);
    let size = out.element_size();
    for slot in out.bytes_mut().chunks_mut(BLOCK * size) {
        let n = slot.len() / size;
        truth.fill(&mut p[..n]);
        yes_bits.fill(&mut a[..n]);
        no_bits.fill(&mut b[..n]);
        for ((&p, a), &b) in p.iter().zip(&mut a).zip(&b).take(n) {
            *a = if p != 0 { *a } else { b };
        }
        if from == to {
            i128::store(&a[..n], carrier, fp8, Narrow::Wrap, slot);
        } else {
            for (element, &bits) in slot.chunks_exact_mut(size).zip(&a) {
                put(element, convert::cast_bits(bits as u64, from, to, fp8));
            }
        }
    }
    Ok(())
}

/// The conversions: `cast wrap to_int bitcast`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// Nearest even, saturating; the same type keeps its bits.
    Cast,
    /// Integers modulo 2ⁿ.
    Wrap,
    /// Floats toward zero, saturating, NaN to 0.
    ToInt,
}

/// Converts every element.
pub fn convert(
    how: Conversion,
    operand: &TensorData,
    result: &TensorType,
    fp8: Fp8Options,
) -> Result<TensorData, EvalError> {
    let mut out = TensorData::zeros(result.clone())?;
    if out.len() != operand.len() {
        return Err(EvalError::malformed("cast", "the result has another shape"));
    }
    let (from, to) = (operand.dtype(), result.dtype);
    let size = out.element_size();
    let view = View::dense(operand.len());
    let mut reader = Reader::new(operand.bytes(), from, fp8, &view);
    let (mut floats, mut ints) = ([0f32; BLOCK], [0i128; BLOCK]);
    if from == to {
        out.bytes_mut().copy_from_slice(operand.bytes());
        return Ok(out);
    }
    for slot in out.bytes_mut().chunks_mut(BLOCK * size) {
        let n = slot.len() / size;
        if from.is_float() {
            reader.fill(&mut floats[..n]);
            if how == Conversion::ToInt {
                // NaN must not reach a truth value as something other than 0.
                floats[..n].iter_mut().for_each(|x| *x = if x.is_nan() { 0.0 } else { x.trunc() });
            }
            f32::store(&floats[..n], to, fp8, Narrow::Saturate, slot);
        } else {
            reader.fill(&mut ints[..n]);
            let narrow = if how == Conversion::Wrap { Narrow::Wrap } else { Narrow::Saturate };
            i128::store(&ints[..n], to, fp8, narrow, slot);
        }
    }
    Ok(out)
}

/// Writes the low bytes of an element's bits.
fn put(element: &mut [u8], bits: u64) {
    element.iter_mut().zip(bits.to_le_bytes()).for_each(|(to, from)| *to = from);
}
