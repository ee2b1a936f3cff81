//! Formats: elements as they stand in memory, and the lanes that kernels compute on.
//!
//! A kernel over a format narrower than its lanes converts in registers, on the way in and on the way out.

use super::lane::Lane;
use super::minifloat::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};

/// How the elements of a kernel stand in memory.
pub trait Format: 'static {
    type Lane: Lane;
    /// An element's bytes.
    type Cell: Copy;

    /// The slice as whole elements; a remainder shorter than an element is left off.
    fn elements(bytes: &[u8]) -> &[Self::Cell];
    /// See [`Format::elements`].
    fn elements_mut(bytes: &mut [u8]) -> &mut [Self::Cell];
    fn decode(cell: Self::Cell) -> Self::Lane;
    fn encode(lane: Self::Lane) -> Self::Cell;
}

/// Lanes are their own format.
impl<T: Lane> Format for T {
    type Lane = T;
    type Cell = T::Bytes;

    #[inline(always)]
    fn elements(bytes: &[u8]) -> &[T::Bytes] {
        <T as Lane>::cells(bytes)
    }
    #[inline(always)]
    fn elements_mut(bytes: &mut [u8]) -> &mut [T::Bytes] {
        <T as Lane>::cells_mut(bytes)
    }
    #[inline(always)]
    fn decode(cell: T::Bytes) -> T {
        T::load(cell)
    }
    #[inline(always)]
    fn encode(lane: T) -> T::Bytes {
        lane.store()
    }
}

/// BFLOAT16 in memory, fp32 lanes.
pub struct Bf16;
/// FP16 in memory, fp32 lanes.
pub struct F16;

macro_rules! half_formats {
    ($($name:ident $decode:ident $encode:ident;)*) => {$(
        impl Format for $name {
            type Lane = f32;
            type Cell = [u8; 2];

            #[inline(always)]
            fn elements(bytes: &[u8]) -> &[[u8; 2]] {
                bytes.as_chunks().0
            }
            #[inline(always)]
            fn elements_mut(bytes: &mut [u8]) -> &mut [[u8; 2]] {
                bytes.as_chunks_mut().0
            }
            #[inline(always)]
            fn decode(cell: [u8; 2]) -> f32 {
                $decode(u16::from_le_bytes(cell))
            }
            #[inline(always)]
            fn encode(lane: f32) -> [u8; 2] {
                $encode(lane).to_le_bytes()
            }
        }
    )*};
}

half_formats! {
    Bf16 bf16_to_f32 f32_to_bf16;
    F16 f16_to_f32 f32_to_f16;
}
