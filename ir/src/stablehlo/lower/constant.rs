//! Constants in every spelling.

use smallvec::smallvec;

use super::shape::{scalar, spread};
use super::{Attr, Call, Code, Diagnostic, Fault, HloType, Lower, Made, Span, TypeId, wrong};
use crate::data::TensorData;
use crate::entity::ValueId;
use crate::text::{DenseError, dense_element, read_dense, read_dense_f64};
use crate::types::{ElemType, TensorType};

/// The most bytes that the constants of one function may take.
const MAX_BYTES: u64 = 2 << 30;

/// `constant dense<…>`
pub(super) fn constant<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(0)?;
    let attr =
        call.op.any_attr(&["value", ""]).ok_or_else(|| call.malformed("needs `dense<…>`"))?;
    let written =
        call.op.sig.operands.first().or(call.op.sig.results.as_ref().and_then(|r| r.first()));
    let value = elements(lower, call, &attr.value, written.copied(), call.result()?)?;
    Ok(smallvec![value])
}

/// `chlo.constant_like %x {value = 1.0 : f32}`
pub(super) fn constant_like<'s>(lower: &mut Lower<'_, 's>, call: &Call<'_, 's>) -> Made {
    call.arity(1)?;
    let ty = lower.ty(call.arg(0)?);
    let number = match call.attr(&["value", ""]) {
        Some(Attr::Number(number)) => *number,
        _ => return Err(call.malformed("needs a number `value`")),
    };
    let bits = dense_element(number, ty.dtype).map_err(|message| call.malformed(message))?;
    let one = scalar(lower, bits, ty.dtype).map_err(wrong(call))?;
    Ok(smallvec![spread(lower, one, &ty.shape).map_err(wrong(call))?])
}

/// The elements that an attribute spells, as a value of a type.
pub(super) fn elements<'s>(
    lower: &mut Lower<'_, 's>,
    call: &Call<'_, 's>,
    attr: &Attr<'s>,
    written: Option<TypeId>,
    ty: &TensorType,
) -> Result<ValueId, Fault> {
    let (payload, at, own) = match attr {
        Attr::Dense { payload, at, ty, .. } => (*payload, *at, *ty),
        Attr::Raw(alias) if lower.file.aliases.contains_key(alias) => {
            match lower.file.aliases.get(alias) {
                Some(Attr::Dense { payload, at, ty, .. }) => (*payload, *at, *ty),
                _ => return Err(call.malformed("the alias is no `dense<…>`")),
            }
        }
        Attr::Refused(text) => {
            let kind = text.split('<').next().unwrap_or("");
            let fault = call.refused(format_args!("elements as `{kind}<…>` are not read"));
            let help = "print the program with its elements in the text (MLIR's flag \
                        --mlir-elide-elementsattrs-if-larger must be off), or make them an argument";
            return Err(Box::new((*fault).help(help)));
        }
        _ => return Err(call.malformed("needs `dense<…>`")),
    };
    let is_f64 =
        own.or(written).is_some_and(|id| matches!(lower.file.types.get(id), HloType::F64(_)));
    let fault = |error: DenseError| place(error, at);
    let trimmed = payload.trim();
    let splat = !trimmed.starts_with(['[', '"']);
    if splat && !trimmed.is_empty() && ty.rank() > 0 {
        // One element for all takes no memory.
        let one = TensorType::scalar(ty.dtype);
        let data = read(payload, &one, is_f64).map_err(fault)?;
        let value = lower.b.constant(data).map_err(wrong(call))?;
        return spread(lower, value, &ty.shape).map_err(wrong(call));
    }
    let bytes = ty.bytes().unwrap_or(u64::MAX);
    if lower.constant_bytes.saturating_add(bytes) > MAX_BYTES {
        let message = format!("the constants take more than {} GiB", MAX_BYTES >> 30);
        return Err(call.error(Code::TooLarge, message));
    }
    let data = if trimmed.is_empty() && ty.elements() == Some(0) {
        TensorData::zeros(ty.clone()).map_err(|error| call.malformed(error))?
    } else if let Some(digits) = trimmed.strip_prefix("\"0x") {
        let start = at + (payload.len() - payload.trim_start().len());
        raw(digits.strip_suffix('"').unwrap_or(digits), ty, is_f64, start)?
    } else {
        read(payload, ty, is_f64).map_err(fault)?
    };
    lower.constant_bytes += bytes;
    lower.b.constant(data).map_err(wrong(call))
}

fn read(payload: &str, ty: &TensorType, is_f64: bool) -> Result<TensorData, DenseError> {
    if is_f64 { read_dense_f64(payload, ty) } else { read_dense(payload, ty) }
}

fn place(error: DenseError, at: usize) -> Fault {
    let span = Span::new(at + error.at, at + error.at + 1);
    Box::new(Diagnostic::error(Code::Dense, error.message, span))
}

/// Bytes in the order of memory: of every element, or of one for all; truth values are bits, least first.
fn raw(digits: &str, ty: &TensorType, is_f64: bool, at: usize) -> Result<TensorData, Fault> {
    let error = |offset: usize, message: String| place(DenseError { at: offset, message }, at);
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    for (index, pair) in digits.as_bytes().chunks(2).enumerate() {
        match *pair {
            [high, low] => match (digit(high), digit(low)) {
                (Some(high), Some(low)) => bytes.push((high << 4 | low) as u8),
                _ => return Err(error(3 + 2 * index, "not a hexadecimal digit".to_owned())),
            },
            _ => {
                return Err(error(3 + 2 * index, "an odd number of hexadecimal digits".to_owned()));
            }
        }
    }
    let count = ty.elements().unwrap_or(u64::MAX) as usize;
    let size = if is_f64 { 8 } else { ty.dtype.size_bytes() as usize };
    let data = if ty.dtype == ElemType::I1 {
        match bytes.as_slice() {
            &[one] if count != 1 && (count > 8 || one == 0xFF) => {
                TensorData::splat(ty.clone(), u64::from(one != 0))
            }
            _ if bytes.len() == count.div_ceil(8) => {
                let bits = (0..count).map(|index| bytes[index / 8] >> (index % 8) & 1).collect();
                TensorData::new(ty.clone(), bits)
            }
            _ => TensorData::new(ty.clone(), bytes),
        }
    } else if is_f64 {
        let values: Vec<f32> = bytes
            .chunks_exact(8)
            .map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap_or_default()) as f32)
            .collect();
        match values.as_slice() {
            &[one] if bytes.len() == size && count != 1 => {
                TensorData::splat(ty.clone(), u64::from(one.to_bits()))
            }
            _ => TensorData::from_f32(ty.clone(), &values),
        }
    } else if bytes.len() == size && count != 1 {
        let bits = bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
        TensorData::splat(ty.clone(), bits)
    } else {
        TensorData::new(ty.clone(), bytes)
    };
    data.map_err(|problem| error(0, problem.to_string()))
}
