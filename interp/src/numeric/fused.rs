//! Loops that take narrow elements from memory and put narrow elements back, with the conversions in registers.
//!
//! They cover the operations that programs spend their time on; everything else goes through blocks of lanes and gives
//! the same bits.

use partita_isa::{AluOp, Dtype};

use super::format::{Bf16, F16, Format};
use super::kernels::*;
use super::lane::Lane;
use super::ops::*;
use super::packed;
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

    /// BFLOAT16 by pairs.
    const fn pairs<L: Level, O: Op<f32>>() -> Self {
        Self {
            binary: packed::binary::<L, O>,
            scalar: packed::scalar::<L, O>,
            scalar_reversed: packed::scalar::<L, Reversed<O>>,
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
    fn pairs<L: Level>(op: AluOp) -> Option<&'static Fused> {
        Some(match op {
            AluOp::Add => const { &Fused::pairs::<L, Add>() },
            AluOp::Subtract => const { &Fused::pairs::<L, Subtract>() },
            AluOp::Mult => const { &Fused::pairs::<L, Mult>() },
            AluOp::Max => const { &Fused::pairs::<L, Max>() },
            AluOp::Min => const { &Fused::pairs::<L, Min>() },
            _ => return None,
        })
    }
    at_level!(simd, L => match dtype {
        Dtype::Bfloat16 => pairs::<L>(op),
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
    fn of<L: Level>([first, second]: [(AluOp, bool); 2], dtype: Dtype) -> Option<Pair> {
        fn then<L: Level, A: Op<f32>>(second: (AluOp, bool), dtype: Dtype) -> Option<Pair> {
            stage!(second, B => match dtype {
                Dtype::Fp32 => super::kernels::pair::<L, f32, A, B> as Pair,
                Dtype::Bfloat16 => packed::pair::<L, A, B>,
                _ => return None,
            })
        }
        stage!(first, A => then::<L, A>(second, dtype))?
    }
    at_level!(simd, L => of::<L>(stages, dtype))
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
    fn pairs<L: Level>(op: AluOp) -> Option<Feed> {
        Some(match op {
            AluOp::Max => packed::feed::<L, Max>,
            AluOp::Min => packed::feed::<L, Min>,
            _ => return None,
        })
    }
    at_level!(simd, L => match dtype {
        Dtype::Bfloat16 => pairs::<L>(op),
        Dtype::Fp16 => of::<L, F16>(op),
        _ => None,
    })
}

/// Elements of a row whose sums are kept while the rows are gone through.
const SUMS: usize = 64;

/// Sums of small integers in 32-bit lanes: several rows are added as narrower integers first, which hold their sum.
macro_rules! integer_sums {
    ($($lane:ident $wide:ident $one:ident $several:ident;)*) => {$(
        fn $one<L: Level>(acc: &mut [u8], x: &[u8]) {
            L::run(#[inline(always)] || {
                for (acc, &x) in i32::cells_mut(acc).iter_mut().zip($lane::cells(x)) {
                    *acc = i32::load(*acc).wrapping_add($lane::load(x).into()).store();
                }
            });
        }

        fn $several<L: Level>(acc: &mut [u8], rows: [&[u8]; TOGETHER]) {
            L::run(#[inline(always)] || {
                let (blocks, tail) = i32::cells_mut(acc).as_chunks_mut::<SUMS>();
                let rows = rows.map($lane::cells);
                for (number, block) in blocks.iter_mut().enumerate() {
                    let mut sums = [0; SUMS];
                    for row in &rows {
                        let Some((now, _)) = row[number * SUMS..].split_first_chunk::<SUMS>() else {
                            return;
                        };
                        for (sum, &x) in sums.iter_mut().zip(now) {
                            *sum += $wide::from($lane::load(x));
                        }
                    }
                    for (acc, &sum) in block.iter_mut().zip(&sums) {
                        *acc = i32::load(*acc).wrapping_add(sum.into()).store();
                    }
                }
                let done = blocks.len() * SUMS;
                for (i, acc) in tail.iter_mut().enumerate() {
                    for row in &rows {
                        let x = $lane::load(row[done + i]);
                        *acc = i32::load(*acc).wrapping_add(x.into()).store();
                    }
                }
            });
        }
    )*};
}

integer_sums! {
    i8 i16 add_i8 add_rows_i8;
    u8 i16 add_u8 add_rows_u8;
    i16 i32 add_i16 add_rows_i16;
    u16 i32 add_u16 add_rows_u16;
}

/// Rows of small integers summed into 32-bit lanes.
pub fn integer_sum(simd: Simd, dtype: Dtype) -> Option<Fold> {
    let (one, several): (Accumulate, AccumulateRows) = at_level!(simd, L => match dtype {
        Dtype::Int8 => (add_i8::<L>, add_rows_i8::<L>),
        Dtype::Uint8 => (add_u8::<L>, add_rows_u8::<L>),
        Dtype::Int16 => (add_i16::<L>, add_rows_i16::<L>),
        Dtype::Uint16 => (add_u16::<L>, add_rows_u16::<L>),
        _ => return None,
    });
    Some(Fold { one, several })
}

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
        _ => None,
    })
}
