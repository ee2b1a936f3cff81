//! Argument attributes.

use crate::module::RandomRange;
use crate::types::ElemType;

/// The distribution can be drawn from, and fits the element type.
pub fn check_random(random: RandomRange, dtype: ElemType) -> Result<(), String> {
    match random {
        RandomRange::Uniform(low, high) if !(low.is_finite() && high.is_finite() && low < high) => {
            Err(format!("`uniform({low:?}, {high:?})` is empty or unbounded"))
        }
        RandomRange::Uniform(..) if dtype.is_int() => {
            Err(format!("`uniform` draws reals, but the argument is `{dtype}`; use `int`"))
        }
        RandomRange::Int(low, high) if low > high => Err(format!("`int({low}, {high})` is empty")),
        RandomRange::Int(low, high) => match dtype.int_range() {
            Some((least, most)) if i128::from(low) < least || i128::from(high) > most => {
                Err(format!(
                    "`int({low}, {high})` goes beyond `{dtype}`, whose values are {least} to {most}"
                ))
            }
            _ => Ok(()),
        },
        RandomRange::Uniform(..) => Ok(()),
    }
}
