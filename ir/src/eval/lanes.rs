//! Blocks of elements as numbers: fp32 for floats, 128-bit integers for integers
//! (so that every 64-bit value and product is exact).

use super::convert::{self, Fp8Options};
use super::walk::{Run, Runs, View};
use crate::types::ElemType;

/// Elements handled at a time: small enough for the first cache.
pub const BLOCK: usize = 1024;

/// How integers meet a narrower integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Narrow {
    /// Clamped to the range: an output cast.
    Saturate,
    /// Modulo 2ⁿ.
    Wrap,
}

/// A number that elements are read as.
pub trait Lane: Copy + Default + PartialEq {
    /// Reads the elements of a run.
    fn load(bytes: &[u8], dtype: ElemType, fp8: Fp8Options, run: Run, out: &mut [Self]);
    /// Writes elements densely.
    fn store(lanes: &[Self], dtype: ElemType, fp8: Fp8Options, narrow: Narrow, out: &mut [u8]);
}

fn map_run<const N: usize, T>(bytes: &[u8], run: Run, out: &mut [T], decode: impl Fn([u8; N]) -> T)
where
    T: Copy,
{
    let (elements, _) = bytes.as_chunks::<N>();
    match run.stride {
        _ if run.len == 0 => {}
        0 => out.fill(decode(elements[run.at(0)])),
        1 => {
            let source = &elements[run.at(0)..run.at(0) + run.len];
            out.iter_mut().zip(source).for_each(|(to, &from)| *to = decode(from));
        }
        _ => out.iter_mut().enumerate().for_each(|(i, to)| *to = decode(elements[run.at(i)])),
    }
}

fn store_as<const N: usize, T: Copy>(lanes: &[T], out: &mut [u8], encode: impl Fn(T) -> [u8; N]) {
    let (out, _) = out.as_chunks_mut::<N>();
    out.iter_mut().zip(lanes).for_each(|(to, &from)| *to = encode(from));
}

/// The low bytes of an element's bits.
fn low<const N: usize>(bits: u64) -> [u8; N] {
    let bytes = bits.to_le_bytes();
    std::array::from_fn(|i| bytes[i])
}

fn wide<const N: usize>(element: [u8; N]) -> u64 {
    element.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

impl Lane for f32 {
    fn load(bytes: &[u8], dtype: ElemType, fp8: Fp8Options, run: Run, out: &mut [f32]) {
        let decode = |bits: u64| convert::decode_f32(bits, dtype, fp8);
        match dtype {
            ElemType::F32 | ElemType::F32r => map_run(bytes, run, out, f32::from_le_bytes),
            ElemType::Bf16 => {
                map_run(bytes, run, out, |b| f32::from_bits(u32::from(u16::from_le_bytes(b)) << 16))
            }
            ElemType::I32 => map_run(bytes, run, out, |b| i32::from_le_bytes(b) as f32),
            _ => match dtype.size_bytes() {
                1 => map_run::<1, _>(bytes, run, out, |b| decode(wide(b))),
                2 => map_run::<2, _>(bytes, run, out, |b| decode(wide(b))),
                4 => map_run::<4, _>(bytes, run, out, |b| decode(wide(b))),
                _ => map_run::<8, _>(bytes, run, out, |b| decode(wide(b))),
            },
        }
    }

    fn store(lanes: &[f32], dtype: ElemType, fp8: Fp8Options, _: Narrow, out: &mut [u8]) {
        let encode = |value: f32| convert::encode_f32(value, dtype, fp8);
        match dtype {
            ElemType::F32 => store_as(lanes, out, f32::to_le_bytes),
            ElemType::I32 => store_as(lanes, out, |x| (x.round_ties_even() as i32).to_le_bytes()),
            _ => match dtype.size_bytes() {
                1 => store_as::<1, _>(lanes, out, |x| low(encode(x))),
                2 => store_as::<2, _>(lanes, out, |x| low(encode(x))),
                4 => store_as::<4, _>(lanes, out, |x| low(encode(x))),
                _ => store_as::<8, _>(lanes, out, |x| low(encode(x))),
            },
        }
    }
}

impl Lane for i128 {
    fn load(bytes: &[u8], dtype: ElemType, fp8: Fp8Options, run: Run, out: &mut [i128]) {
        match dtype {
            ElemType::I1 | ElemType::Ui8 => {
                map_run(bytes, run, out, |b| i128::from(u8::from_le_bytes(b)))
            }
            ElemType::I8 => map_run(bytes, run, out, |b| i128::from(i8::from_le_bytes(b))),
            ElemType::I16 => map_run(bytes, run, out, |b| i128::from(i16::from_le_bytes(b))),
            ElemType::Ui16 => map_run(bytes, run, out, |b| i128::from(u16::from_le_bytes(b))),
            ElemType::I32 => map_run(bytes, run, out, |b| i128::from(i32::from_le_bytes(b))),
            ElemType::Ui32 => map_run(bytes, run, out, |b| i128::from(u32::from_le_bytes(b))),
            ElemType::I64 => map_run(bytes, run, out, |b| i128::from(i64::from_le_bytes(b))),
            ElemType::Ui64 => map_run(bytes, run, out, |b| i128::from(u64::from_le_bytes(b))),
            _ => {
                let decode = |bits: u64| convert::decode_int(bits, dtype, fp8);
                match dtype.size_bytes() {
                    1 => map_run::<1, _>(bytes, run, out, |b| decode(wide(b))),
                    2 => map_run::<2, _>(bytes, run, out, |b| decode(wide(b))),
                    _ => map_run::<4, _>(bytes, run, out, |b| decode(wide(b))),
                }
            }
        }
    }

    fn store(lanes: &[i128], dtype: ElemType, fp8: Fp8Options, narrow: Narrow, out: &mut [u8]) {
        let encode = |value: i128| match narrow {
            Narrow::Wrap if dtype.is_int() => convert::wrap_int(value, dtype),
            _ => convert::encode_int(value, dtype, fp8),
        };
        match dtype.size_bytes() {
            1 => store_as::<1, _>(lanes, out, |x| low(encode(x))),
            2 => store_as::<2, _>(lanes, out, |x| low(encode(x))),
            4 => store_as::<4, _>(lanes, out, |x| low(encode(x))),
            _ => store_as::<8, _>(lanes, out, |x| low(encode(x))),
        }
    }
}

/// Reads elements along a view, block by block.
pub struct Reader<'a> {
    bytes: &'a [u8],
    dtype: ElemType,
    fp8: Fp8Options,
    runs: Runs<'a>,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], dtype: ElemType, fp8: Fp8Options, view: &'a View) -> Self {
        Self { bytes, dtype, fp8, runs: view.runs() }
    }

    /// Fills the block with the next elements of the walk.
    pub fn fill<T: Lane>(&mut self, mut out: &mut [T]) {
        while !out.is_empty() {
            let Some(run) = self.runs.next(out.len()) else { return };
            let (block, rest) = std::mem::take(&mut out).split_at_mut(run.len);
            T::load(self.bytes, self.dtype, self.fp8, run, block);
            out = rest;
        }
    }
}
