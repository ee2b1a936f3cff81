//! Types of values: element types, tensors, and tiles in a memory space.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use partita_isa::Dtype;
use smallvec::SmallVec;

/// Sizes of the dimensions, outermost first.
pub type Shape = SmallVec<[u64; 4]>;

/// Indices of dimensions, in the order written.
pub type Dims = SmallVec<[usize; 4]>;

/// The most dimensions a type may have.
pub const MAX_RANK: usize = 8;

/// The machine has 128 partitions; a tile on the chip has at most that many rows.
pub const MAX_PARTITIONS: u64 = 128;

macro_rules! elem_types {
    ($($name:ident $text:literal $bits:literal $class:ident;)*) => {
        /// An element type, named as MLIR names it.
        ///
        /// `I1` is one byte holding 0 or 1. `F32r` is fp32 rounded to 13 mantissa
        /// bits in a 32-bit container, and the type of results only (ISA 5.1).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ElemType { $($name,)* }

        impl ElemType {
            /// Every element type.
            pub const ALL: &'static [ElemType] = &[$(ElemType::$name,)*];

            /// The name in text.
            pub const fn name(self) -> &'static str {
                match self { $(ElemType::$name => $text,)* }
            }

            /// Bits of the value itself: 1 for `i1`, 32 for `f32r`.
            pub const fn width(self) -> u32 {
                match self { $(ElemType::$name => $bits,)* }
            }

            const fn class(self) -> Class {
                match self { $(ElemType::$name => Class::$class,)* }
            }
        }
    };
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Signed,
    Unsigned,
    Float,
}

elem_types! {
    I1 "i1" 1 Unsigned;
    I8 "i8" 8 Signed;
    I16 "i16" 16 Signed;
    I32 "i32" 32 Signed;
    I64 "i64" 64 Signed;
    Ui8 "ui8" 8 Unsigned;
    Ui16 "ui16" 16 Unsigned;
    Ui32 "ui32" 32 Unsigned;
    Ui64 "ui64" 64 Unsigned;
    F32 "f32" 32 Float;
    F32r "f32r" 32 Float;
    F16 "f16" 16 Float;
    Bf16 "bf16" 16 Float;
    F8E3M4 "f8E3M4" 8 Float;
    F8E4M3 "f8E4M3" 8 Float;
    F8E5M2 "f8E5M2" 8 Float;
}

impl ElemType {
    /// Bytes of one element in memory; `i1` takes one byte.
    pub const fn size_bytes(self) -> u64 {
        (self.width() as u64).div_ceil(8)
    }

    pub const fn is_float(self) -> bool {
        matches!(self.class(), Class::Float)
    }

    /// True of every type that is not a float, `i1` included.
    pub const fn is_int(self) -> bool {
        !self.is_float()
    }

    /// True of `i8 i16 i32 i64`.
    pub const fn is_signed(self) -> bool {
        matches!(self.class(), Class::Signed)
    }

    /// The machine's type of the same bits; a truth value is `UINT8` there.
    pub const fn machine(self) -> Dtype {
        match self {
            ElemType::I1 | ElemType::Ui8 => Dtype::Uint8,
            ElemType::I8 => Dtype::Int8,
            ElemType::I16 => Dtype::Int16,
            ElemType::I32 => Dtype::Int32,
            ElemType::I64 => Dtype::Int64,
            ElemType::Ui16 => Dtype::Uint16,
            ElemType::Ui32 => Dtype::Uint32,
            ElemType::Ui64 => Dtype::Uint64,
            ElemType::F32 => Dtype::Fp32,
            ElemType::F32r => Dtype::Fp32r,
            ElemType::F16 => Dtype::Fp16,
            ElemType::Bf16 => Dtype::Bfloat16,
            ElemType::F8E3M4 => Dtype::Fp8Exp3,
            ElemType::F8E4M3 => Dtype::Fp8Exp4,
            ElemType::F8E5M2 => Dtype::Fp8Exp5,
        }
    }

    /// Smallest and largest value of an integer type.
    pub fn int_range(self) -> Option<(i128, i128)> {
        match self.class() {
            Class::Signed => Some((-(1 << (self.width() - 1)), (1 << (self.width() - 1)) - 1)),
            Class::Unsigned => Some((0, (1 << self.width()) - 1)),
            Class::Float => None,
        }
    }
}

impl fmt::Display for ElemType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name is not one of an element type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown element type `{0}`")]
pub struct UnknownElemType(pub String);

impl FromStr for ElemType {
    type Err = UnknownElemType;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .iter()
            .copied()
            .find(|ty| ty.name() == text)
            .ok_or_else(|| UnknownElemType(text.to_owned()))
    }
}

/// Elements in a shape; `None` when the product passes 2⁶³, counting sizes of 0
/// as 1 so that strides fit as well.
pub fn element_count(shape: &[u64]) -> Option<u64> {
    let product = shape
        .iter()
        .try_fold(1u64, |product, &dim| product.checked_mul(dim.max(1)))
        .filter(|&product| product < 1 << 63)?;
    Some(if shape.contains(&0) { 0 } else { product })
}

/// Bytes of a dense array; `None` when the number passes 2⁶³.
pub fn byte_count(shape: &[u64], dtype: ElemType) -> Option<u64> {
    element_count(shape)?.checked_mul(dtype.size_bytes()).filter(|&bytes| bytes < 1 << 63)
}

/// A static shape and an element type: `tensor<128x512xf32>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorType {
    pub shape: Shape,
    pub dtype: ElemType,
}

impl TensorType {
    pub fn new(shape: impl IntoIterator<Item = u64>, dtype: ElemType) -> Self {
        Self { shape: shape.into_iter().collect(), dtype }
    }

    pub fn scalar(dtype: ElemType) -> Self {
        Self { shape: Shape::new(), dtype }
    }

    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Elements, as [`element_count`].
    pub fn elements(&self) -> Option<u64> {
        element_count(&self.shape)
    }

    /// Bytes when dense, as [`byte_count`].
    pub fn bytes(&self) -> Option<u64> {
        byte_count(&self.shape, self.dtype)
    }

    /// The same shape with another element type.
    pub fn with_dtype(&self, dtype: ElemType) -> Self {
        Self { shape: self.shape.clone(), dtype }
    }

    /// Another shape with the same element type.
    pub fn with_shape(&self, shape: impl IntoIterator<Item = u64>) -> Self {
        Self::new(shape, self.dtype)
    }
}

fn write_shaped(f: &mut fmt::Formatter<'_>, shape: &[u64], dtype: ElemType) -> fmt::Result {
    for dim in shape {
        write!(f, "{dim}")?;
        f.write_char('x')?;
    }
    f.write_str(dtype.name())
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensor<")?;
        write_shaped(f, &self.shape, self.dtype)?;
        f.write_char('>')
    }
}

/// Where a tile lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// Device memory, outside the engine: plain row-major bytes.
    Hbm,
    /// The state buffer (ISA 3.1).
    Sbuf,
    /// The accumulation buffer (ISA 3.1).
    Psum,
}

impl Space {
    pub const ALL: &'static [Space] = &[Space::Hbm, Space::Sbuf, Space::Psum];

    pub const fn name(self) -> &'static str {
        match self {
            Space::Hbm => "hbm",
            Space::Sbuf => "sbuf",
            Space::Psum => "psum",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|space| space.name() == name)
    }

    /// True of the memories that are divided into partitions.
    pub const fn has_partitions(self) -> bool {
        !matches!(self, Space::Hbm)
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A buffer in a memory: `tile<sbuf, 128x512xf32>`.
///
/// Outside `hbm`, dimension 0 counts partitions (at most [`MAX_PARTITIONS`]) and
/// the others lie densely within each partition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TileType {
    pub space: Space,
    pub shape: Shape,
    pub dtype: ElemType,
}

impl TileType {
    pub fn new(space: Space, shape: impl IntoIterator<Item = u64>, dtype: ElemType) -> Self {
        Self { space, shape: shape.into_iter().collect(), dtype }
    }

    /// Partitions used; 1 in `hbm`, and for rank 0.
    pub fn partitions(&self) -> u64 {
        match self.shape.first() {
            Some(&rows) if self.space.has_partitions() => rows,
            _ => 1,
        }
    }

    /// Bytes within one partition (in `hbm`, of the whole buffer).
    pub fn bytes_per_partition(&self) -> Option<u64> {
        let skip = usize::from(self.space.has_partitions() && !self.shape.is_empty());
        byte_count(self.shape.get(skip..).unwrap_or(&[]), self.dtype)
    }
}

impl fmt::Display for TileType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tile<{}, ", self.space)?;
        write_shaped(f, &self.shape, self.dtype)?;
        f.write_char('>')
    }
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    Tensor(TensorType),
    Tile(TileType),
}

impl Type {
    pub fn shape(&self) -> &[u64] {
        match self {
            Type::Tensor(ty) => &ty.shape,
            Type::Tile(ty) => &ty.shape,
        }
    }

    pub fn dtype(&self) -> ElemType {
        match self {
            Type::Tensor(ty) => ty.dtype,
            Type::Tile(ty) => ty.dtype,
        }
    }

    pub fn as_tensor(&self) -> Option<&TensorType> {
        match self {
            Type::Tensor(ty) => Some(ty),
            Type::Tile(_) => None,
        }
    }

    pub fn as_tile(&self) -> Option<&TileType> {
        match self {
            Type::Tile(ty) => Some(ty),
            Type::Tensor(_) => None,
        }
    }
}

impl From<TensorType> for Type {
    fn from(ty: TensorType) -> Self {
        Type::Tensor(ty)
    }
}

impl From<TileType> for Type {
    fn from(ty: TileType) -> Self {
        Type::Tile(ty)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Tensor(ty) => ty.fmt(f),
            Type::Tile(ty) => ty.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_types_have_the_same_width() {
        for &dtype in ElemType::ALL {
            assert_eq!(u64::from(dtype.machine().info().bits), 8 * dtype.size_bytes(), "{dtype}");
            assert_eq!(dtype.name().parse(), Ok(dtype));
        }
    }

    #[test]
    fn counts_stop_at_the_limit() {
        assert_eq!(element_count(&[1 << 31, 1 << 31]), Some(1 << 62));
        assert_eq!(element_count(&[1 << 32, 1 << 31]), None);
        assert_eq!(element_count(&[0, 1 << 40, 1 << 40]), None);
        assert_eq!(element_count(&[0, 7]), Some(0));
        assert_eq!(byte_count(&[1 << 61], ElemType::F32), None);
        assert_eq!(byte_count(&[], ElemType::I64), Some(8));
    }
}
