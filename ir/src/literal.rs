//! Scalar literals: an operand written in place, without a type of its own.

use std::fmt;

use crate::float;
use crate::types::ElemType;

/// A scalar written as an operand. It takes the element type of the other
/// operand; [`Literal::to_bits`] gives its bits there.
#[derive(Clone, Copy, Debug)]
pub enum Literal {
    /// `1`, `-7`
    Int(i128),
    /// `-2.5e3`, `inf`, `-inf`, `nan`
    Float(f64),
    /// `0x7FC00000`: the bits of the element, whatever its type.
    Bits(u64),
    /// `true`, `false`
    Bool(bool),
}

/// Equal when they print alike: floats are compared by their bits.
impl PartialEq for Literal {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Literal::Int(a), Literal::Int(b)) => a == b,
            (Literal::Float(a), Literal::Float(b)) => {
                a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
            }
            (Literal::Bits(a), Literal::Bits(b)) => a == b,
            (Literal::Bool(a), Literal::Bool(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Literal {}

/// Why a literal has no value in an element type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LiteralError {
    #[error("`{literal}` does not fit `{dtype}`, whose values are {low} to {high}")]
    OutOfRange { literal: Literal, dtype: ElemType, low: i128, high: i128 },
    #[error("`{literal}` is not an integer, but the element type is `{dtype}`")]
    NotAnInteger { literal: Literal, dtype: ElemType },
    #[error("`{literal}` is beyond the largest finite `{dtype}`")]
    Overflow { literal: Literal, dtype: ElemType },
    #[error("`{literal}` has more bits than `{dtype}`")]
    TooManyBits { literal: Literal, dtype: ElemType },
    #[error("`{literal}` is a truth value, but the element type is `{dtype}`")]
    NotATruthValue { literal: Literal, dtype: ElemType },
}

impl Literal {
    /// A float literal that gives exactly `value` in `f32`, written as briefly
    /// as possible; a NaN with a payload becomes [`Literal::Bits`].
    pub fn from_f32(value: f32) -> Self {
        if value.is_nan() {
            return if value.to_bits() == 0x7FC0_0000 {
                Literal::Float(f64::NAN)
            } else {
                Literal::Bits(u64::from(value.to_bits()))
            };
        }
        let short: f64 = value.to_string().parse().unwrap_or(f64::from(value));
        Literal::Float(if short as f32 == value { short } else { f64::from(value) })
    }

    /// The literal that gives these bits in the type: a number where the number
    /// determines the bits, else [`Literal::Bits`].
    pub fn from_bits(bits: u64, dtype: ElemType) -> Self {
        if dtype.is_int() {
            return Literal::Int(int_from_bits(bits, dtype));
        }
        let literal = match dtype {
            ElemType::F32 => Literal::from_f32(f32::from_bits(bits as u32)),
            _ => Literal::Float(float::decode(bits, dtype)),
        };
        if literal.to_bits(dtype) == Ok(bits) { literal } else { Literal::Bits(bits) }
    }

    /// The bits in an element type.
    ///
    /// An integer type takes integral values within its range (`1.0` is fine)
    /// and truth values; a float type rounds to nearest even and refuses a finite
    /// value that would become infinite.
    ///
    /// # Errors
    /// The literal has no value in the type.
    pub fn to_bits(&self, dtype: ElemType) -> Result<u64, LiteralError> {
        let literal = *self;
        let mask = u64::MAX >> (64 - dtype.width());
        match (literal, dtype.int_range()) {
            (Literal::Bits(bits), _) => {
                if bits & !mask == 0 {
                    Ok(bits)
                } else {
                    Err(LiteralError::TooManyBits { literal, dtype })
                }
            }
            (Literal::Bool(value), Some(_)) => Ok(u64::from(value)),
            (Literal::Bool(_), None) => Err(LiteralError::NotATruthValue { literal, dtype }),
            (Literal::Int(value), Some(range)) => in_range(literal, value, dtype, range),
            (Literal::Float(value), Some(range)) => {
                if value.fract() != 0.0 || !value.is_finite() {
                    return Err(LiteralError::NotAnInteger { literal, dtype });
                }
                in_range(literal, value as i128, dtype, range)
            }
            (Literal::Int(value), None) => finite(literal, value as f64, dtype),
            (Literal::Float(value), None) => finite(literal, value, dtype),
        }
    }
}

fn in_range(
    literal: Literal,
    value: i128,
    dtype: ElemType,
    (low, high): (i128, i128),
) -> Result<u64, LiteralError> {
    if (low..=high).contains(&value) {
        Ok(value as u64 & (u64::MAX >> (64 - dtype.width())))
    } else {
        Err(LiteralError::OutOfRange { literal, dtype, low, high })
    }
}

fn finite(literal: Literal, value: f64, dtype: ElemType) -> Result<u64, LiteralError> {
    let bits = float::encode(value, dtype);
    if value.is_finite() && !float::decode(bits, dtype).is_finite() {
        Err(LiteralError::Overflow { literal, dtype })
    } else {
        Ok(bits)
    }
}

/// The value of an integer type's bits.
pub fn int_from_bits(bits: u64, dtype: ElemType) -> i128 {
    let shift = 64 - dtype.width();
    if dtype.is_signed() {
        i128::from((bits << shift) as i64 >> shift)
    } else {
        i128::from(bits << shift >> shift)
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Literal::Int(value) => write!(f, "{value}"),
            Literal::Bits(bits) => write!(f, "0x{bits:X}"),
            Literal::Bool(value) => write!(f, "{value}"),
            Literal::Float(value) if value.is_nan() => f.write_str("nan"),
            Literal::Float(value) if value.is_infinite() => {
                f.write_str(if value > 0.0 { "inf" } else { "-inf" })
            }
            // Always with a point, so that it reads as a float again.
            Literal::Float(value) => {
                let text = format!("{value:?}");
                match text.split_once('e') {
                    Some((digits, exponent)) if !digits.contains('.') => {
                        write!(f, "{digits}.0e{exponent}")
                    }
                    _ => f.write_str(&text),
                }
            }
        }
    }
}
