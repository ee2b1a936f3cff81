//! `tensor.scan_cache`: `acc = acc OP1 (a[i] OP0 s)` along each row of the last
//! dimension, strictly in order (ISA 9.17).
//!
//! Decisions where the contract is silent:
//!
//! * Floats: both steps round to fp32, the accumulator stays fp32, what is emitted
//!   is rounded to the result type. `seed zero` starts sums at +0 and `max` at −∞,
//!   so a row of NaNs under `max` gives −∞, as on the machine.
//! * Integers: when either step is a sum, difference or product, both work modulo
//!   2ⁿ at an integer result's width (without reduction when the result is a
//!   float, which is then rounded once); otherwise both work at the operand's type
//!   and what is emitted is cast. A chain of products into a float runs in fp32.

use super::EvalError;
use super::convert::{self, Fp8Options};
use super::elementwise::{apply_f32, apply_int, unsigned_counts};
use super::float_ops::{self, Binary};
use super::int_ops::{self, Width};
use super::lanes::{BLOCK, Lane, Narrow};
use super::walk::Run;
use crate::data::TensorData;
use crate::ops::{Class, ElementwiseOp, Emit, Seed};
use crate::types::{ElemType, TensorType};

/// The attributes of a scan.
#[derive(Clone, Copy)]
pub struct Scan {
    pub op0: ElementwiseOp,
    pub op1: ElementwiseOp,
    pub seed: Seed,
    pub emit: Emit,
}

/// The type in which an integer scan keeps its accumulator; `None` for unreduced
/// 128-bit integers.
pub fn accumulator(scan: Scan, operand: ElemType, result: ElemType) -> Option<ElemType> {
    if !int_ops::is_modular(scan.op0) && !int_ops::is_modular(scan.op1) {
        Some(operand)
    } else {
        Some(result).filter(|result| result.is_int())
    }
}

/// True when the scan runs in fp32.
pub fn in_fp32(scan: Scan, operand: ElemType, result: ElemType) -> bool {
    operand.is_float() || (result.is_float() && int_ops::is_product(scan.op1))
}

/// One step per element: the accumulator before and after.
struct Steps<'a, T> {
    acc: &'a mut T,
    block: &'a mut [T],
}

impl<T: Copy> Binary<T> for Steps<'_, T> {
    type Output = ();
    /// Replaces each element by the accumulator after it.
    fn run(self, f: impl Fn(T, T) -> T + Copy) {
        let mut acc = *self.acc;
        for x in self.block {
            acc = f(acc, *x);
            *x = acc;
        }
        *self.acc = acc;
    }
}

/// As [`Steps`], each result reduced to a type.
struct WrappedSteps<'a> {
    steps: Steps<'a, i128>,
    width: Width,
}

impl Binary<i128> for WrappedSteps<'_> {
    type Output = ();
    fn run(self, f: impl Fn(i128, i128) -> i128 + Copy) {
        let width = self.width;
        self.steps.run(move |acc, x| width.wrap(f(acc, x)));
    }
}

/// Per-row values: a literal (rank 0) or one per row.
pub struct PerRow<'a> {
    data: &'a TensorData,
    single: bool,
}

impl<'a> PerRow<'a> {
    pub fn new(data: &'a TensorData, rows: usize) -> Option<Self> {
        let single = data.len() == 1;
        (single || data.len() == rows).then_some(Self { data, single })
    }

    pub fn bits(&self, row: usize) -> u64 {
        self.data.bits(if self.single { 0 } else { row }).unwrap_or(0)
    }

    fn f32(&self, row: usize, fp8: Fp8Options) -> f32 {
        convert::decode_f32(self.bits(row), self.data.dtype(), fp8)
    }

    fn int(&self, row: usize, fp8: Fp8Options) -> i128 {
        convert::decode_int(self.bits(row), self.data.dtype(), fp8)
    }
}

/// The operands of a scan, checked against one another.
pub struct Rows<'a> {
    pub operand: &'a TensorData,
    pub scalar: PerRow<'a>,
    pub seed: Option<PerRow<'a>>,
    pub rows: usize,
    /// Elements of a row.
    pub length: usize,
}

impl<'a> Rows<'a> {
    pub fn new(scan: Scan, operands: &[&'a TensorData]) -> Option<Self> {
        let (&operand, &scalar) = (operands.first()?, operands.get(1)?);
        let length = usize::try_from(*operand.shape().last()?).ok()?;
        let rows = super::walk::count(operand.shape().split_last()?.1)?;
        let seed = match scan.seed {
            Seed::Load => Some(PerRow::new(operands.get(2)?, rows)?),
            Seed::Zero => None,
        };
        Some(Self { operand, scalar: PerRow::new(scalar, rows)?, seed, rows, length })
    }
}

/// Evaluates a scan. Operands: the tensor, the scalar, and the seed when loaded.
pub fn scan(
    scan: Scan,
    operands: &[&TensorData],
    result: &TensorType,
    fp8: Fp8Options,
) -> Result<TensorData, EvalError> {
    let bad = || EvalError::malformed("tensor.scan_cache", "the operands do not fit the result");
    let rows = Rows::new(scan, operands).ok_or_else(bad)?;
    let mut out = TensorData::zeros(result.clone())?;
    let emitted = match scan.emit {
        Emit::All => rows.length,
        Emit::Final => 1,
    };
    if rows.rows.checked_mul(emitted) != Some(out.len()) {
        return Err(bad());
    }
    let operand = rows.operand.dtype();
    let unsupported = || EvalError::unsupported(scan.op1, operands);
    if in_fp32(scan, operand, result.dtype) {
        scan_f32(scan, &rows, &mut out, fp8).ok_or_else(unsupported)?;
    } else {
        scan_int(scan, &rows, &mut out, fp8).ok_or_else(unsupported)?;
    }
    Ok(out)
}

/// The stretches of a row, at most a block each: start within the row and length.
fn stretches(length: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..length).step_by(BLOCK).map(move |start| (start, (length - start).min(BLOCK)))
}

/// Writes what a stretch emits.
fn emit<T: Lane>(
    scan: Scan,
    rows: &Rows<'_>,
    (row, start): (usize, usize),
    (block, acc): (&[T], T),
    narrow: Narrow,
    out: &mut TensorData,
    fp8: Fp8Options,
) {
    let (dtype, size) = (out.dtype(), out.element_size());
    match scan.emit {
        Emit::All => {
            let at = row * rows.length + start;
            if let Some(slot) = out.bytes_mut().get_mut(at * size..(at + block.len()) * size) {
                T::store(block, dtype, fp8, narrow, slot);
            }
        }
        Emit::Final => {
            if let Some(slot) = out.bytes_mut().get_mut(row * size..(row + 1) * size) {
                T::store(&[acc], dtype, fp8, narrow, slot);
            }
        }
    }
}

fn scan_f32(scan: Scan, rows: &Rows<'_>, out: &mut TensorData, fp8: Fp8Options) -> Option<()> {
    let (mut a, mut s, mut tmp) = ([0f32; BLOCK], [0f32; BLOCK], [0f32; BLOCK]);
    for row in 0..rows.rows {
        let mut acc = match &rows.seed {
            Some(seed) => seed.f32(row, fp8),
            None => float_ops::identity(scan.op1)?,
        };
        s[..rows.length.min(BLOCK)].fill(rows.scalar.f32(row, fp8));
        if rows.length == 0 {
            emit(scan, rows, (row, 0), (&[], acc), Narrow::Saturate, out, fp8);
        }
        for (start, n) in stretches(rows.length) {
            let run = Run { start: (row * rows.length + start) as isize, stride: 1, len: n };
            f32::load(rows.operand.bytes(), rows.operand.dtype(), fp8, run, &mut a[..n]);
            apply_f32(scan.op0, &a[..n], &s[..n], &mut tmp[..n])?;
            float_ops::with_op(scan.op1, Steps { acc: &mut acc, block: &mut tmp[..n] })?;
            float_ops::canonical_nans(&mut tmp[..n]);
            emit(scan, rows, (row, start), (&tmp[..n], tmp[n - 1]), Narrow::Saturate, out, fp8);
        }
    }
    Some(())
}

fn scan_int(scan: Scan, rows: &Rows<'_>, out: &mut TensorData, fp8: Fp8Options) -> Option<()> {
    let operand = rows.operand.dtype();
    let kept = accumulator(scan, operand, out.dtype());
    let width = kept.map(Width::of);
    // An unreduced accumulator is read at 64 bits by what is not a sum or product.
    let acc_type = kept.unwrap_or(if operand.is_signed() { ElemType::I64 } else { ElemType::Ui64 });
    let modular1 = int_ops::is_modular(scan.op1);
    let into = |value: i128, modular: bool| match width {
        None => value,
        Some(width) if modular => width.wrap(value),
        Some(width) => width.wrap(clamp(value, acc_type)),
    };
    let narrow =
        if kept.is_some_and(|kept| kept == out.dtype()) { Narrow::Wrap } else { Narrow::Saturate };
    let (mut a, mut s, mut tmp) = ([0i128; BLOCK], [0i128; BLOCK], [0i128; BLOCK]);
    for row in 0..rows.rows {
        let mut acc = match &rows.seed {
            Some(seed) => into(seed.int(row, fp8), modular1),
            None => int_ops::identity(scan.op1, acc_type)?,
        };
        let s = &mut s[..rows.length.min(BLOCK)];
        s.fill(rows.scalar.int(row, fp8));
        if scan.op0.class() == Class::Shift {
            unsigned_counts(rows.scalar.data.dtype(), s);
        }
        if rows.length == 0 {
            emit(scan, rows, (row, 0), (&[], acc), narrow, out, fp8);
        }
        for (start, n) in stretches(rows.length) {
            let run = Run { start: (row * rows.length + start) as isize, stride: 1, len: n };
            i128::load(rows.operand.bytes(), operand, fp8, run, &mut a[..n]);
            apply_int(scan.op0, operand, &a[..n], &s[..n], &mut tmp[..n])?;
            let block = &mut tmp[..n];
            let modular = modular1 || int_ops::is_modular(scan.op0);
            block.iter_mut().for_each(|x| *x = into(*x, modular));
            if scan.op1.class() == Class::Shift {
                unsigned_counts(acc_type, block);
            }
            let steps = Steps { acc: &mut acc, block };
            match width {
                Some(width) => int_ops::with_op(scan.op1, acc_type, WrappedSteps { steps, width })?,
                None => int_ops::with_op(scan.op1, acc_type, steps)?,
            }
            emit(scan, rows, (row, start), (&tmp[..n], acc), narrow, out, fp8);
        }
    }
    Some(())
}

fn clamp(value: i128, dtype: ElemType) -> i128 {
    let (low, high) = dtype.int_range().unwrap_or((i128::MIN, i128::MAX));
    value.clamp(low, high)
}
