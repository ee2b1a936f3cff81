//! Every ALU operation once per domain, as a type, so that kernels are compiled for it (ISA 6.1, 10.4).

use std::marker::PhantomData;

use super::lane::Lane;
use super::{float, special};

/// A binary operation on lanes; a unary one ignores `b` (OQ-16).
pub trait Op<T: Lane>: 'static {
    /// Grouping and order do not change the bits of a fold, so lanes may be folded side by side.
    const FREE_ORDER: bool = false;

    fn apply(a: T, b: T) -> T;

    /// The fold of many lanes by a shorter way, or `None` where only [`Op::apply`] gives the exact bits.
    #[inline(always)]
    fn fold<C: Copy>(_cells: &[C], _decode: impl Fn(C) -> T) -> Option<T> {
        None
    }
}

/// The operands in the other order.
pub struct Reversed<O>(PhantomData<O>);

impl<T: Lane, O: Op<T>> Op<T> for Reversed<O> {
    #[inline(always)]
    fn apply(a: T, b: T) -> T {
        O::apply(b, a)
    }
}

macro_rules! ops {
    ($lane:ty: $($(#[$order:ident $($fold:path)?])? $name:ident |$a:pat_param, $b:pat_param| $value:expr;)*) => {$(
        impl Op<$lane> for $name {
            $(const FREE_ORDER: bool = ops!(@$order);)?
            #[inline(always)]
            fn apply($a: $lane, $b: $lane) -> $lane {
                $value
            }
            $($(
                #[inline(always)]
                fn fold<C: Copy>(cells: &[C], decode: impl Fn(C) -> $lane) -> Option<$lane> {
                    $fold(cells, decode)
                }
            )?)?
        }
    )*};
    (@free) => { true };
}

macro_rules! names {
    ($($name:ident)*) => {$(pub struct $name;)*};
}

names! {
    Bypass Add Subtract Mult Max Min LogicalAnd LogicalOr LogicalXor
    IsEq IsNe IsGt IsGe IsLe IsLt AbsoluteDiff AbsoluteValue Pow Rsqrt
    AbsMax AbsMin ReLu Square SymmetricClamp
    Not And Or Xor ShiftLeft ShiftRightLogical ShiftRightArith
    Divide Remainder
}

ops! { f32:
    Bypass |a, _| a;
    Add |a, b| a + b;
    Subtract |a, b| a - b;
    Mult |a, b| a * b;
    #[free float::fold_max] Max |a, b| float::max(a, b);
    #[free float::fold_min] Min |a, b| float::min(a, b);
    LogicalAnd |a, b| float::logical_and(a, b);
    LogicalOr |a, b| float::logical_or(a, b);
    LogicalXor |a, b| float::logical_xor(a, b);
    IsEq |a, b| float::flag(a == b);
    IsNe |a, b| float::flag(a != b);
    IsGt |a, b| float::flag(a > b);
    IsGe |a, b| float::flag(a >= b);
    IsLe |a, b| float::flag(a <= b);
    IsLt |a, b| float::flag(a < b);
    AbsoluteDiff |a, b| (a - b).abs();
    AbsoluteValue |a, _| a.abs();
    Pow |a, b| special::pow(a, b);
    Rsqrt |a, _| special::rsqrt(a);
    #[free] AbsMax |a, b| float::max(a.abs(), b.abs());
    #[free] AbsMin |a, b| float::min(a.abs(), b.abs());
    ReLu |a, _| float::relu(a);
    Square |a, _| a * a;
    SymmetricClamp |a, b| float::symmetric_clamp(a, b);
}

macro_rules! bit_ops {
    ($($lane:ident $signed:ident;)*) => {$(
        ops! { $lane:
            Bypass |a, _| a;
            Not |a, _| !a;
            #[free] And |a, b| a & b;
            #[free] Or |a, b| a | b;
            #[free] Xor |a, b| a ^ b;
            ShiftLeft |a, b| shift(a, b, |a: $lane, n| a << n, 0);
            ShiftRightLogical |a, b| shift(a, b, |a: $lane, n| a >> n, 0);
            ShiftRightArith |a, b| {
                let sign = ((a as $signed) >> ($lane::BITS - 1)) as $lane;
                shift(a, b, |a: $lane, n| ((a as $signed) >> n) as $lane, sign)
            };
        }
    )*};
}

/// A shift whose count is unsigned and may exceed the width (OQ-35): `beyond` is the result then.
#[inline(always)]
fn shift<T: Lane>(a: T, count: T, within: impl Fn(T, u32) -> T, beyond: T) -> T {
    let width = size_of::<T>() as u32 * 8;
    let count = count.to_bits();
    let shifted = within(a, count as u32 & (width - 1));
    if count < u64::from(width) { shifted } else { beyond }
}

bit_ops! { u8 i8; u16 i16; u32 i32; u64 i64; }

macro_rules! integer_ops {
    ($($lane:ident, |$abs:ident| $magnitude:expr;)*) => {$(
        ops! { $lane:
            #[free] Add |a, b| a.wrapping_add(b);
            Subtract |a, b| a.wrapping_sub(b);
            #[free] Mult |a, b| a.wrapping_mul(b);
            #[free] Max |a, b| a.max(b);
            #[free] Min |a, b| a.min(b);
            // All ones for a division by zero, INT_MIN for INT_MIN / −1 (OQ-34).
            Divide |a, b| if b == 0 { !0 } else { a.wrapping_div(b) };
            Remainder |a, b| if b == 0 { a } else { a.wrapping_rem(b) };
            IsEq |a, b| $lane::from(a == b);
            IsNe |a, b| $lane::from(a != b);
            IsGt |a, b| $lane::from(a > b);
            IsGe |a, b| $lane::from(a >= b);
            IsLe |a, b| $lane::from(a <= b);
            IsLt |a, b| $lane::from(a < b);
            #[free] AbsMax |a, b| { let ($abs, b) = (a, b); let a = $magnitude; let $abs = b; a.max($magnitude) };
            #[free] AbsMin |a, b| { let ($abs, b) = (a, b); let a = $magnitude; let $abs = b; a.min($magnitude) };
            AbsoluteDiff |a, b| if a > b { a.wrapping_sub(b) } else { b.wrapping_sub(a) };
            AbsoluteValue |a, _| { let $abs = a; $magnitude };
        }
    )*};
}

integer_ops! {
    i32, |x| x.wrapping_abs();
    i64, |x| x.wrapping_abs();
    u32, |x| x;
    u64, |x| x;
}

/// Integers of up to 16 bits through the fp32 domain: every value and every result that does not saturate is exact in
/// fp32, so the rounding changes nothing and the conversion's saturation is all that is left (ISA 10.3).
macro_rules! small_integer_ops {
    ($($lane:ident;)*) => {$(
        ops! { $lane:
            Add |a, b| a.saturating_add(b);
            Subtract |a, b| a.saturating_sub(b);
            Max |a, b| a.max(b);
            Min |a, b| a.min(b);
        }
    )*};
}

small_integer_ops! { i8; u8; i16; u16; }

ops! { i32: Bypass |a, _| a; }
ops! { i64: Bypass |a, _| a; }

#[cfg(test)]
mod tests {
    use super::*;

    fn op<T: Lane, O: Op<T>>(a: T, b: T) -> T {
        O::apply(a, b)
    }

    #[test]
    fn shifts_by_the_width_or_more() {
        assert_eq!(op::<u8, ShiftLeft>(0x81, 1), 0x02);
        assert_eq!(op::<u8, ShiftLeft>(0x81, 8), 0);
        assert_eq!(op::<u8, ShiftRightArith>(0x81, 1), 0xC0);
        assert_eq!(op::<u8, ShiftRightArith>(0x81, 255), 0xFF);
        assert_eq!(op::<u16, ShiftRightLogical>(0x8000, 15), 1);
        assert_eq!(op::<u16, ShiftRightLogical>(0x8000, 16), 0);
        assert_eq!(op::<u32, ShiftRightArith>(0x7FFF_FFFF, 0xFFFF_FFFF), 0);
        assert_eq!(op::<u64, ShiftLeft>(1, 63), 1 << 63);
        assert_eq!(op::<u64, ShiftLeft>(1, 1 << 40), 0);
    }

    #[test]
    fn division_conventions() {
        assert_eq!(op::<i32, Divide>(-7, 2), -3);
        assert_eq!(op::<i32, Remainder>(-7, 2), -1);
        assert_eq!(op::<i32, Divide>(5, 0), -1);
        assert_eq!(op::<u64, Divide>(5, 0), u64::MAX);
        assert_eq!(op::<u32, Remainder>(5, 0), 5);
        assert_eq!(op::<i64, Divide>(i64::MIN, -1), i64::MIN);
        assert_eq!(op::<i64, Remainder>(i64::MIN, -1), 0);
    }

    #[test]
    fn integer_magnitudes_wrap() {
        assert_eq!(op::<i32, AbsoluteValue>(i32::MIN, 0), i32::MIN);
        assert_eq!(op::<i32, AbsMax>(i32::MIN, -3), 3);
        assert_eq!(op::<i32, AbsMin>(i32::MIN, -3), i32::MIN);
        assert_eq!(op::<i32, AbsoluteDiff>(i32::MIN, i32::MAX), -1);
        assert_eq!(op::<i32, AbsoluteDiff>(-3, 4), 7);
    }

    #[test]
    fn comparisons_with_nan() {
        let nan = f32::NAN;
        assert_eq!(op::<f32, IsNe>(nan, nan), 1.0);
        assert_eq!(op::<f32, IsEq>(nan, nan), 0.0);
        assert_eq!(op::<f32, IsGe>(nan, 1.0), 0.0);
        assert_eq!(op::<f32, IsLe>(1.0, nan), 0.0);
    }
}
