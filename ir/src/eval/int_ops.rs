//! What each operation does to integers (ISA 6.1, 10.4).
//!
//! Numbers are `i128`, which holds every 64-bit value, sum and difference.

use super::float_ops::Binary;
use crate::ops::ElementwiseOp;
use crate::types::ElemType;

/// True of the operations that are exact and then reduced modulo 2ⁿ at the width
/// of the result, whatever the operands' width: sums, differences, products.
pub fn is_modular(op: ElementwiseOp) -> bool {
    use ElementwiseOp::*;
    matches!(op, Add | Subtract | Mult | AddInt | SubtractInt | MultInt | MultUint)
}

/// True of the modular operations that multiply.
pub fn is_product(op: ElementwiseOp) -> bool {
    use ElementwiseOp::*;
    matches!(op, Mult | MultInt | MultUint)
}

/// An integer type's reading of 128 bits.
#[derive(Clone, Copy)]
pub struct Width {
    bits: u32,
    signed: bool,
}

impl Width {
    pub fn of(dtype: ElemType) -> Self {
        Self { bits: dtype.width(), signed: dtype.is_signed() }
    }

    /// The value modulo 2ⁿ, in the range of the type.
    pub fn wrap(self, value: i128) -> i128 {
        let up = 128 - self.bits;
        if self.signed { (value << up) >> up } else { ((value as u128) << up >> up) as i128 }
    }

    /// The bits of the value as an unsigned number.
    pub fn bits_of(self, value: i128) -> i128 {
        self.unsigned().wrap(value)
    }

    fn signed(self) -> Self {
        Self { signed: true, ..self }
    }

    fn unsigned(self) -> Self {
        Self { signed: false, ..self }
    }
}

/// Hands over the meaning of an operation at an operand type. The modular ones
/// are left unreduced; the others give a value of the type, compares 0 or 1. A
/// shift count is already an unsigned number. `None` when the operation has no
/// meaning on integers.
pub fn with_op<V: Binary<i128>>(
    op: ElementwiseOp,
    dtype: ElemType,
    visitor: V,
) -> Option<V::Output> {
    use ElementwiseOp::*;
    let w = Width::of(dtype);
    let (s, u) = (w.signed(), w.unsigned());
    let abs = move |a: i128| w.wrap(a.wrapping_abs());
    Some(match op {
        Bypass | Copy => visitor.run(|a, _| a),
        BitwiseNot => visitor.run(move |a, _| w.wrap(!a)),
        ArithShiftLeft | LogicalShiftLeft => visitor.run(move |a, n| w.wrap(shift_left(a, n))),
        ArithShiftRight => visitor.run(move |a, n| w.wrap(shift_right(s.wrap(a), n))),
        LogicalShiftRight => visitor.run(move |a, n| w.wrap(shift_right(u.wrap(a), n))),
        Add | AddInt => visitor.run(|a: i128, b| a.wrapping_add(b)),
        Subtract | SubtractInt => visitor.run(|a: i128, b| a.wrapping_sub(b)),
        Mult | MultInt => visitor.run(|a: i128, b| a.wrapping_mul(b)),
        MultUint => visitor.run(move |a, b| u.wrap(a).wrapping_mul(u.wrap(b))),
        Divide | DivideInt => visitor.run(move |a, b| w.wrap(quotient(a, b))),
        DivideUint => visitor.run(move |a, b| w.wrap(quotient(u.wrap(a), u.wrap(b)))),
        Remainder | Mod | ModInt => visitor.run(move |a, b| w.wrap(remainder(a, b))),
        ModUint => visitor.run(move |a, b| w.wrap(remainder(u.wrap(a), u.wrap(b)))),
        Pow => visitor.run(move |a, b| power(a, b, w)),
        Max | Maximum => visitor.run(|a, b| a.max(b)),
        Min | Minimum => visitor.run(|a, b| a.min(b)),
        MaxInt => visitor.run(move |a, b| w.wrap(s.wrap(a).max(s.wrap(b)))),
        MinInt => visitor.run(move |a, b| w.wrap(s.wrap(a).min(s.wrap(b)))),
        MaxUint => visitor.run(move |a, b| w.wrap(u.wrap(a).max(u.wrap(b)))),
        MinUint => visitor.run(move |a, b| w.wrap(u.wrap(a).min(u.wrap(b)))),
        BitwiseAnd => visitor.run(|a, b| a & b),
        BitwiseOr => visitor.run(|a, b| a | b),
        BitwiseXor => visitor.run(|a, b| a ^ b),
        LogicalAnd => visitor.run(|a, b| i128::from(a != 0 && b != 0)),
        LogicalOr => visitor.run(|a, b| i128::from(a != 0 || b != 0)),
        LogicalXor => visitor.run(|a, b| i128::from((a != 0) != (b != 0))),
        IsEq | IsEqualInt => visitor.run(|a, b| i128::from(a == b)),
        IsNe | IsNeInt => visitor.run(|a, b| i128::from(a != b)),
        IsGt => visitor.run(|a, b| i128::from(a > b)),
        IsGe => visitor.run(|a, b| i128::from(a >= b)),
        IsLe => visitor.run(|a, b| i128::from(a <= b)),
        IsLt => visitor.run(|a, b| i128::from(a < b)),
        IsGtInt => visitor.run(move |a, b| i128::from(s.wrap(a) > s.wrap(b))),
        IsGeInt => visitor.run(move |a, b| i128::from(s.wrap(a) >= s.wrap(b))),
        IsLeInt => visitor.run(move |a, b| i128::from(s.wrap(a) <= s.wrap(b))),
        IsLtInt => visitor.run(move |a, b| i128::from(s.wrap(a) < s.wrap(b))),
        IsGtUint => visitor.run(move |a, b| i128::from(u.wrap(a) > u.wrap(b))),
        IsGeUint => visitor.run(move |a, b| i128::from(u.wrap(a) >= u.wrap(b))),
        IsLeUint => visitor.run(move |a, b| i128::from(u.wrap(a) <= u.wrap(b))),
        IsLtUint => visitor.run(move |a, b| i128::from(u.wrap(a) < u.wrap(b))),
        AbsoluteDiff | AbsDiffInt => {
            visitor.run(move |a: i128, b| w.wrap(a.wrapping_sub(b).wrapping_abs()))
        }
        AbsoluteValue => visitor.run(move |a, _| abs(a)),
        AbsMax | AbsMaxInt => visitor.run(move |a, b| abs(a).max(abs(b))),
        AbsMin | AbsMinInt => visitor.run(move |a, b| abs(a).min(abs(b))),
        ReLu => visitor.run(|a, _| a.max(0)),
        Square => visitor.run(move |a: i128, _| w.wrap(a.wrapping_mul(a))),
        SymmetricClamp => {
            visitor.run(move |a: i128, b| w.wrap(a.signum().wrapping_mul(abs(a).max(abs(b)))))
        }
        Sign => visitor.run(|a: i128, _| a.signum()),
        Popcount => visitor.run(move |a, _| w.wrap(i128::from(u.wrap(a).count_ones()))),
        Clz => visitor.run(move |a, _| {
            w.wrap(i128::from(u.wrap(a).leading_zeros()) - i128::from(128 - w.bits))
        }),
        Rsqrt | Exp | ExpM1 | Log | Log1p | Sqrt | Reciprocal | Tanh | Sigmoid | Erf | Sin
        | Cos | Floor | Ceil | RoundEven | RoundAway | Trunc | IsFinite | Select => return None,
    })
}

/// What a scan or an empty reduction of the operation starts from.
pub fn identity(op: ElementwiseOp, dtype: ElemType) -> Option<i128> {
    use ElementwiseOp::*;
    let w = Width::of(dtype);
    let range = |width: Width| {
        let low = if width.signed { -1i128 << (w.bits - 1) } else { 0 };
        (low, low + (1i128 << w.bits) - 1)
    };
    Some(match op {
        Add | Subtract | AddInt | SubtractInt | BitwiseOr | BitwiseXor | LogicalOr | LogicalXor => {
            0
        }
        Mult | MultInt | MultUint | LogicalAnd => 1,
        BitwiseAnd => w.wrap(-1),
        Max | Maximum => range(w).0,
        Min | Minimum => range(w).1,
        MaxInt => w.wrap(range(w.signed()).0),
        MinInt => w.wrap(range(w.signed()).1),
        MaxUint => 0,
        MinUint => w.wrap(-1),
        _ => return None,
    })
}

/// Counts of the width or more push every bit out; 128 bits hold any smaller one.
fn shift_left(a: i128, count: i128) -> i128 {
    if (0..64).contains(&count) { a << count } else { 0 }
}

fn shift_right(a: i128, count: i128) -> i128 {
    a >> count.clamp(0, 127)
}

/// Toward zero; by zero all ones (ISA 10.4). INT_MIN / −1 wraps when reduced.
fn quotient(a: i128, b: i128) -> i128 {
    if b == 0 { -1 } else { a.wrapping_div(b) }
}

/// Sign of the dividend; by zero the dividend (ISA 10.4).
fn remainder(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { a.wrapping_rem(b) }
}

/// Integer power modulo 2ⁿ; a negative exponent gives the quotient 1 / a^|b|.
fn power(a: i128, b: i128, w: Width) -> i128 {
    if b < 0 {
        let odd = b % 2 != 0;
        return w.wrap(match a {
            0 => quotient(1, 0),
            1 => 1,
            -1 => {
                if odd {
                    -1
                } else {
                    1
                }
            }
            _ => 0,
        });
    }
    let (mut base, mut exponent, mut result) = (a, b, 1i128);
    while exponent != 0 {
        if exponent & 1 != 0 {
            result = w.wrap(result.wrapping_mul(base));
        }
        base = w.wrap(base.wrapping_mul(base));
        exponent >>= 1;
    }
    w.wrap(result)
}
