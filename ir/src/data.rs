//! The elements of a tensor, as bytes.

use crate::eval::convert::{self, Fp8Options};
use crate::types::{ElemType, TensorType};

/// A tensor's type and its elements: row-major, little-endian, `i1` one byte 0
/// or 1. The number of bytes always fits the type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorData {
    ty: TensorType,
    bytes: Vec<u8>,
}

/// Why bytes and a type make no tensor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    #[error("{ty} has {want} bytes, not {got}")]
    WrongSize { ty: TensorType, want: u64, got: u64 },
    #[error("{ty} has {want} elements, not {got}")]
    WrongCount { ty: TensorType, want: u64, got: u64 },
    #[error("{0} is too large for this machine's memory")]
    TooLarge(TensorType),
}

/// Bytes of a tensor as a `usize`.
fn byte_len(ty: &TensorType) -> Result<usize, DataError> {
    let bytes = ty.bytes().ok_or_else(|| DataError::TooLarge(ty.clone()))?;
    usize::try_from(bytes).map_err(|_| DataError::TooLarge(ty.clone()))
}

impl TensorData {
    /// Takes the bytes as they are, except that any `i1` byte other than 0
    /// becomes 1.
    ///
    /// # Errors
    /// The number of bytes does not fit the type.
    pub fn new(ty: TensorType, mut bytes: Vec<u8>) -> Result<Self, DataError> {
        let want = byte_len(&ty)?;
        if bytes.len() != want {
            return Err(DataError::WrongSize { ty, want: want as u64, got: bytes.len() as u64 });
        }
        if ty.dtype == ElemType::I1 {
            bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
        Ok(Self { ty, bytes })
    }

    /// All bits zero.
    ///
    /// # Errors
    /// The memory is not there.
    pub fn zeros(ty: TensorType) -> Result<Self, DataError> {
        let len = byte_len(&ty)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| DataError::TooLarge(ty.clone()))?;
        bytes.resize(len, 0);
        Ok(Self { ty, bytes })
    }

    /// Every element has these bits.
    ///
    /// # Errors
    /// The memory is not there.
    pub fn splat(ty: TensorType, bits: u64) -> Result<Self, DataError> {
        let mut data = Self::zeros(ty)?;
        let element = bits.to_le_bytes();
        let size = data.element_size();
        if element.iter().take(size).any(|&byte| byte != 0) {
            for slot in data.bytes.chunks_exact_mut(size) {
                slot.iter_mut().zip(element).for_each(|(to, from)| *to = from);
            }
            data.normalise_truth();
        }
        Ok(data)
    }

    /// One element of rank 0.
    pub fn scalar(dtype: ElemType, bits: u64) -> Self {
        let mut data = Self {
            ty: TensorType::scalar(dtype),
            bytes: bits.to_le_bytes().into_iter().take(dtype.size_bytes() as usize).collect(),
        };
        data.normalise_truth();
        data
    }

    /// Elements from raw bits.
    ///
    /// # Errors
    /// As many as the type has are needed.
    pub fn from_bits(ty: TensorType, elements: &[u64]) -> Result<Self, DataError> {
        Self::from_elements(ty, elements, |&bits| bits)
    }

    /// Elements from fp32 values, converted as [`convert::encode_f32`] does.
    ///
    /// # Errors
    /// As many as the type has are needed.
    pub fn from_f32(ty: TensorType, elements: &[f32]) -> Result<Self, DataError> {
        let dtype = ty.dtype;
        Self::from_elements(ty, elements, |&x| convert::encode_f32(x, dtype, Fp8Options::default()))
    }

    /// Elements from integers, saturated as [`convert::encode_int`] does.
    ///
    /// # Errors
    /// As many as the type has are needed.
    pub fn from_ints(ty: TensorType, elements: &[i128]) -> Result<Self, DataError> {
        let dtype = ty.dtype;
        Self::from_elements(ty, elements, |&x| convert::encode_int(x, dtype, Fp8Options::default()))
    }

    fn from_elements<T>(
        ty: TensorType,
        elements: &[T],
        bits: impl Fn(&T) -> u64,
    ) -> Result<Self, DataError> {
        let mut data = Self::zeros(ty)?;
        let (want, got) = (data.len() as u64, elements.len() as u64);
        if want != got {
            return Err(DataError::WrongCount { ty: data.ty, want, got });
        }
        let size = data.element_size();
        for (slot, element) in data.bytes.chunks_exact_mut(size).zip(elements) {
            slot.iter_mut().zip(bits(element).to_le_bytes()).for_each(|(to, from)| *to = from);
        }
        data.normalise_truth();
        Ok(data)
    }

    fn normalise_truth(&mut self) {
        if self.ty.dtype == ElemType::I1 {
            self.bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
    }

    pub fn ty(&self) -> &TensorType {
        &self.ty
    }

    pub fn dtype(&self) -> ElemType {
        self.ty.dtype
    }

    pub fn shape(&self) -> &[u64] {
        &self.ty.shape
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// For the evaluator, which writes whole elements (`i1` as 0 or 1).
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Bytes of one element.
    pub fn element_size(&self) -> usize {
        self.ty.dtype.size_bytes() as usize
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.element_size()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The same elements under another shape; `None` when the counts differ.
    pub fn reshaped(mut self, shape: &[u64]) -> Option<Self> {
        if crate::types::element_count(shape)? != self.len() as u64 {
            return None;
        }
        self.ty.shape = shape.into();
        Some(self)
    }

    /// The raw bits of an element, counted row-major.
    pub fn bits(&self, index: usize) -> Option<u64> {
        let size = self.element_size();
        let start = index.checked_mul(size)?;
        let bytes = self.bytes.get(start..start.checked_add(size)?)?;
        Some(bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte)))
    }

    /// Writes the raw bits of an element; does nothing beyond the end.
    pub fn set_bits(&mut self, index: usize, bits: u64) {
        let size = self.element_size();
        let bits = if self.ty.dtype == ElemType::I1 { u64::from(bits != 0) } else { bits };
        let slot = self.bytes.iter_mut().skip(index.saturating_mul(size)).take(size);
        slot.zip(bits.to_le_bytes()).for_each(|(to, from)| *to = from);
    }

    /// An element as fp32; integers round to nearest even.
    pub fn f32(&self, index: usize) -> Option<f32> {
        Some(convert::decode_f32(self.bits(index)?, self.ty.dtype, Fp8Options::default()))
    }

    /// Rounds a value into an element.
    pub fn set_f32(&mut self, index: usize, value: f32) {
        self.set_bits(index, convert::encode_f32(value, self.ty.dtype, Fp8Options::default()));
    }

    /// An element as an integer; floats round to nearest even.
    pub fn int(&self, index: usize) -> Option<i128> {
        Some(convert::decode_int(self.bits(index)?, self.ty.dtype, Fp8Options::default()))
    }

    /// Saturates a value into an element.
    pub fn set_int(&mut self, index: usize, value: i128) {
        self.set_bits(index, convert::encode_int(value, self.ty.dtype, Fp8Options::default()));
    }

    /// The raw bits of every element.
    pub fn iter_bits(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.bytes
            .chunks_exact(self.element_size())
            .map(|bytes| bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte)))
    }

    /// Every element as fp32.
    pub fn to_f32(&self) -> Vec<f32> {
        let dtype = self.ty.dtype;
        self.iter_bits()
            .map(|bits| convert::decode_f32(bits, dtype, Fp8Options::default()))
            .collect()
    }

    /// Every element as an integer.
    pub fn to_ints(&self) -> Vec<i128> {
        let dtype = self.ty.dtype;
        self.iter_bits()
            .map(|bits| convert::decode_int(bits, dtype, Fp8Options::default()))
            .collect()
    }

    /// The bits that all elements share; `None` when they differ or there are none.
    pub fn splat_bits(&self) -> Option<u64> {
        let size = self.element_size();
        let first = self.bytes.get(..size)?;
        self.bytes.chunks_exact(size).all(|element| element == first).then(|| self.bits(0))?
    }

    /// Another element type, as `tensor.cast` converts.
    ///
    /// # Errors
    /// The memory is not there.
    pub fn cast(&self, dtype: ElemType, fp8: Fp8Options) -> Result<Self, DataError> {
        let mut cast = Self::zeros(self.ty.with_dtype(dtype))?;
        let size = cast.element_size();
        for (slot, bits) in cast.bytes.chunks_exact_mut(size).zip(self.iter_bits()) {
            let bits = convert::cast_bits(bits, self.ty.dtype, dtype, fp8);
            slot.iter_mut().zip(bits.to_le_bytes()).for_each(|(to, from)| *to = from);
        }
        Ok(cast)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_checked() {
        let ty = TensorType::new([2, 3], ElemType::F16);
        assert!(TensorData::new(ty.clone(), vec![0; 12]).is_ok());
        assert!(matches!(
            TensorData::new(ty.clone(), vec![0; 6]),
            Err(DataError::WrongSize { want: 12, got: 6, .. })
        ));
        assert!(matches!(
            TensorData::from_f32(ty, &[1.0]),
            Err(DataError::WrongCount { want: 6, got: 1, .. })
        ));
        let huge = TensorType::new([1 << 40, 1 << 40], ElemType::F32);
        assert!(matches!(TensorData::zeros(huge), Err(DataError::TooLarge(_))));
        let empty = TensorData::zeros(TensorType::new([0, 1 << 50], ElemType::I64));
        assert_eq!(empty.map(|data| data.len()), Ok(0));
    }

    #[test]
    fn elements_are_little_endian() {
        let ty = TensorType::new([2], ElemType::I16);
        let mut data = TensorData::from_ints(ty, &[1, -2]).unwrap();
        assert_eq!(data.bytes(), [1, 0, 0xFE, 0xFF]);
        assert_eq!((data.bits(1), data.int(1), data.f32(1)), (Some(0xFFFE), Some(-2), Some(-2.0)));
        data.set_int(0, 1 << 20);
        data.set_bits(7, 1);
        assert_eq!(data.to_ints(), [32767, -2]);
        assert_eq!(data.bits(2), None);
    }

    #[test]
    fn truth_values_are_0_or_1() {
        let ty = TensorType::new([3], ElemType::I1);
        assert_eq!(TensorData::new(ty.clone(), vec![0, 7, 1]).unwrap().bytes(), [0, 1, 1]);
        assert_eq!(TensorData::from_bits(ty.clone(), &[2, 0, 1]).unwrap().bytes(), [1, 0, 1]);
        let splat = TensorData::splat(ty, 9).unwrap();
        assert_eq!((splat.bytes(), splat.splat_bits()), (&[1, 1, 1][..], Some(1)));
    }

    #[test]
    fn splats_are_recognised() {
        let ty = TensorType::new([2, 2], ElemType::F32);
        let splat = TensorData::splat(ty.clone(), 0x3FC0_0000).unwrap();
        assert_eq!(splat.to_f32(), [1.5; 4]);
        assert_eq!(splat.splat_bits(), Some(0x3FC0_0000));
        assert_eq!(TensorData::from_f32(ty, &[0.0, 0.0, 0.0, -0.0]).unwrap().splat_bits(), None);
        assert_eq!(splat.reshaped(&[5]), None);
    }
}
