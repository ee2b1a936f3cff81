//! Lanes: the elements that kernels compute on, as little-endian bytes of a row or of a scratch block.
//!
//! Kernels take byte slices, so that a row of memory and a block of scratch are the same thing to them and a
//! run of native elements needs no copy. `from_le_bytes` on a fixed array compiles to a plain load.

/// A type that kernels compute on.
pub trait Lane: Copy + Send + Sync + 'static {
    /// The element's bytes in memory.
    type Bytes: Copy;

    /// The slice as whole elements; a remainder shorter than an element is left off.
    fn cells(bytes: &[u8]) -> &[Self::Bytes];
    /// See [`Lane::cells`].
    fn cells_mut(bytes: &mut [u8]) -> &mut [Self::Bytes];
    fn load(bytes: Self::Bytes) -> Self;
    fn store(self) -> Self::Bytes;
    /// The element from the low bits of a 64-bit container.
    fn from_bits(bits: u64) -> Self;
    /// The element's bits, zero extended.
    fn to_bits(self) -> u64;
}

macro_rules! lanes {
    ($($lane:ty, $width:literal, |$bits:ident| $from:expr, |$value:ident| $to:expr;)*) => {$(
        impl Lane for $lane {
            type Bytes = [u8; $width];

            #[inline(always)]
            fn cells(bytes: &[u8]) -> &[[u8; $width]] {
                bytes.as_chunks().0
            }
            #[inline(always)]
            fn cells_mut(bytes: &mut [u8]) -> &mut [[u8; $width]] {
                bytes.as_chunks_mut().0
            }
            #[inline(always)]
            fn load(bytes: [u8; $width]) -> Self {
                <$lane>::from_le_bytes(bytes)
            }
            #[inline(always)]
            fn store(self) -> [u8; $width] {
                self.to_le_bytes()
            }
            #[inline(always)]
            fn from_bits($bits: u64) -> Self {
                $from
            }
            #[inline(always)]
            fn to_bits(self) -> u64 {
                let $value = self;
                $to
            }
        }
    )*};
}

lanes! {
    u8, 1, |bits| bits as u8, |value| u64::from(value);
    i8, 1, |bits| bits as i8, |value| u64::from(value as u8);
    u16, 2, |bits| bits as u16, |value| u64::from(value);
    i16, 2, |bits| bits as i16, |value| u64::from(value as u16);
    u32, 4, |bits| bits as u32, |value| u64::from(value);
    i32, 4, |bits| bits as i32, |value| u64::from(value as u32);
    u64, 8, |bits| bits, |value| value;
    i64, 8, |bits| bits as i64, |value| value as u64;
    f32, 4, |bits| f32::from_bits(bits as u32), |value| u64::from(value.to_bits());
}
