//! Loops that take narrow elements from memory and put narrow elements back, with the conversions in registers.
//!
//! They cover the operations that programs spend their time on; everything else goes through blocks of lanes and gives
//! the same bits.

use partita_isa::{AluOp, Dtype};

use super::format::{Bf16, F16, Format};
use super::kernels::*;
use super::lane::Lane;
use super::ops::*;
use super::simd::{Level, Simd, at_level};
use super::table::Fold;

/// Elementwise loops over elements of one dtype.
#[derive(Clone, Copy, Debug)]
pub struct Fused {
    pub binary: Binary,
    pub scalar: Scalar,
    pub scalar_reversed: Scalar,
}

impl Fused {
    const fn of<L: Level, F: Format, O: Op<F::Lane>>() -> Self {
        Self {
            binary: binary::<L, F, O>,
            scalar: scalar::<L, F, O>,
            scalar_reversed: scalar::<L, F, Reversed<O>>,
        }
    }
}

/// The fp32 domain over operands and a result that all are BFLOAT16 or all FP16.
pub fn halves(simd: Simd, op: AluOp, dtype: Dtype) -> Option<&'static Fused> {
    fn of<L: Level, F: Format<Lane = f32>>(op: AluOp) -> Option<&'static Fused> {
        Some(match op {
            AluOp::Add => const { &Fused::of::<L, F, Add>() },
            AluOp::Subtract => const { &Fused::of::<L, F, Subtract>() },
            AluOp::Mult => const { &Fused::of::<L, F, Mult>() },
            AluOp::Max => const { &Fused::of::<L, F, Max>() },
            AluOp::Min => const { &Fused::of::<L, F, Min>() },
            _ => return None,
        })
    }
    at_level!(simd, L => match dtype {
        Dtype::Bfloat16 => of::<L, Bf16>(op),
        Dtype::Fp16 => of::<L, F16>(op),
        _ => None,
    })
}

/// The fp32 domain over operands and a result that all are the same small integer dtype.
pub fn small_integers(simd: Simd, op: AluOp, dtype: Dtype) -> Option<Binary> {
    fn of<L: Level, T: Lane>(op: AluOp) -> Option<Binary>
    where
        Add: Op<T>,
        Subtract: Op<T>,
        Max: Op<T>,
        Min: Op<T>,
    {
        Some(match op {
            AluOp::Add => binary::<L, T, Add>,
            AluOp::Subtract => binary::<L, T, Subtract>,
            AluOp::Max => binary::<L, T, Max>,
            AluOp::Min => binary::<L, T, Min>,
            _ => return None,
        })
    }
    at_level!(simd, L => match dtype {
        Dtype::Int8 => of::<L, i8>(op),
        Dtype::Uint8 => of::<L, u8>(op),
        Dtype::Int16 => of::<L, i16>(op),
        Dtype::Uint16 => of::<L, u16>(op),
        _ => None,
    })
}

/// Two stages with scalars in one pass: each is an operation, and whether its operands are swapped.
pub fn pair(simd: Simd, stages: [(AluOp, bool); 2], dtype: Dtype) -> Option<Pair> {
    macro_rules! stage {
        ($stage:expr, $op:ident => $value:expr) => {
            match $stage {
                (AluOp::Add, _) => {
                    type $op = Add;
                    Some($value)
                }
                (AluOp::Subtract, false) => {
                    type $op = Subtract;
                    Some($value)
                }
                (AluOp::Subtract, true) => {
                    type $op = Reversed<Subtract>;
                    Some($value)
                }
                (AluOp::Mult, _) => {
                    type $op = Mult;
                    Some($value)
                }
                (AluOp::Max, _) => {
                    type $op = Max;
                    Some($value)
                }
                (AluOp::Min, _) => {
                    type $op = Min;
                    Some($value)
                }
                _ => None,
            }
        };
    }
    fn of<L: Level, F: Format<Lane = f32>>([first, second]: [(AluOp, bool); 2]) -> Option<Pair> {
        fn then<L: Level, F: Format<Lane = f32>, A: Op<f32>>(
            second: (AluOp, bool),
        ) -> Option<Pair> {
            stage!(second, B => super::kernels::pair::<L, F, A, B> as Pair)
        }
        stage!(first, A => then::<L, F, A>(second))?
    }
    at_level!(simd, L => match dtype {
        Dtype::Fp32 => of::<L, f32>(stages),
        Dtype::Bfloat16 => of::<L, Bf16>(stages),
        _ => None,
    })
}

/// The running fold of a row of narrow floats, in fp32 lanes, where the order is free.
pub fn feed(simd: Simd, op: AluOp, dtype: Dtype) -> Option<Feed> {
    fn of<L: Level, F: Format<Lane = f32>>(op: AluOp) -> Option<Feed> {
        Some(match op {
            AluOp::Max => super::kernels::feed::<L, F, Max>,
            AluOp::Min => super::kernels::feed::<L, F, Min>,
            _ => return None,
        })
    }
    at_level!(simd, L => match dtype {
        Dtype::Bfloat16 => of::<L, Bf16>(op),
        Dtype::Fp16 => of::<L, F16>(op),
        _ => None,
    })
}

/// An integer in memory, an fp32 lane.
struct Widened<T>(std::marker::PhantomData<T>);

macro_rules! widened {
    ($($lane:ident)*) => {$(
        impl Format for Widened<$lane> {
            type Lane = f32;
            type Cell = <$lane as Lane>::Bytes;

            #[inline(always)]
            fn elements(bytes: &[u8]) -> &[Self::Cell] {
                <$lane as Lane>::cells(bytes)
            }
            #[inline(always)]
            fn elements_mut(bytes: &mut [u8]) -> &mut [Self::Cell] {
                <$lane as Lane>::cells_mut(bytes)
            }
            #[inline(always)]
            fn decode(cell: Self::Cell) -> f32 {
                f32::from($lane::load(cell))
            }
            #[inline(always)]
            fn encode(lane: f32) -> Self::Cell {
                (lane.round_ties_even() as $lane).store()
            }
        }
    )*};
}

widened! { i8 u8 i16 u16 }

/// Rows of narrow elements folded into fp32 lanes.
pub fn fold(simd: Simd, op: AluOp, dtype: Dtype) -> Option<Fold> {
    fn of<L: Level, F: Format<Lane = f32>>(op: AluOp) -> Option<Fold> {
        Some(match op {
            AluOp::Add => Fold::of::<L, F, Add>(),
            AluOp::Max => Fold::of::<L, F, Max>(),
            _ => return None,
        })
    }
    at_level!(simd, L => match dtype {
        Dtype::Bfloat16 => of::<L, Bf16>(op),
        Dtype::Fp16 => of::<L, F16>(op),
        Dtype::Int8 => of::<L, Widened<i8>>(op),
        Dtype::Uint8 => of::<L, Widened<u8>>(op),
        Dtype::Int16 => of::<L, Widened<i16>>(op),
        Dtype::Uint16 => of::<L, Widened<u16>>(op),
        _ => None,
    })
}
