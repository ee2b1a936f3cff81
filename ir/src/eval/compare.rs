//! Comparing results with what was wanted.

use std::fmt;

use super::bounds::interval::{distance, element_distance, spacing};
use super::bounds::{Bound, Bounded};
use super::convert::{self, Fp8Options};
use crate::data::TensorData;
use crate::literal::Literal;
use crate::types::{ElemType, TensorType};

/// How far a result may lie from the one wanted. NaN equals NaN; infinities are
/// equal with their sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Equal numbers (−0 equals +0).
    Exact,
    /// `|got − want| ≤ atol + rtol · |want|`.
    Close { rtol: f64, atol: f64 },
    /// At most so many representable numbers away.
    Ulps(u64),
}

impl Tolerance {
    /// The default of a type.
    pub const fn of(dtype: ElemType) -> Self {
        match dtype {
            ElemType::F32 | ElemType::F32r => Self::Close { rtol: 2e-5, atol: 1e-5 },
            ElemType::F16 => Self::Close { rtol: 2e-3, atol: 1e-3 },
            ElemType::Bf16 => Self::Close { rtol: 1.6e-2, atol: 1e-2 },
            ElemType::F8E3M4 | ElemType::F8E4M3 | ElemType::F8E5M2 => Self::Ulps(1),
            _ => Self::Exact,
        }
    }

    /// The default of a type, with what was given by hand in its place. `atol`
    /// applies to every type, `rtol` to floats only.
    pub fn with(dtype: ElemType, rtol: Option<f64>, atol: Option<f64>) -> Self {
        let default = Self::of(dtype);
        let rtol = rtol.filter(|_| dtype.is_float());
        match (default, rtol, atol) {
            (_, None, None) => default,
            (Self::Close { rtol: r, atol: a }, ..) => {
                Self::Close { rtol: rtol.unwrap_or(r), atol: atol.unwrap_or(a) }
            }
            _ => Self::Close { rtol: rtol.unwrap_or(0.0), atol: atol.unwrap_or(0.0) },
        }
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("exact"),
            Self::Close { rtol, atol } => write!(f, "rtol {rtol:e}, atol {atol:e}"),
            Self::Ulps(1) => f.write_str("1 unit in the last place"),
            Self::Ulps(n) => write!(f, "{n} units in the last place"),
        }
    }
}

/// One element that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    pub index: Vec<u64>,
    /// As literals in their types.
    pub got: String,
    pub want: String,
    /// Absolute; infinite where one is not finite.
    pub error: f64,
    /// What was allowed there, absolute.
    pub allowed: f64,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "at {:?}: got {}, want {}, error {:.3e}, allowed {:.3e}",
            self.index, self.got, self.want, self.error, self.allowed
        )
    }
}

/// What a comparison found.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub elements: usize,
    /// Elements out of tolerance.
    pub mismatches: usize,
    /// The element worst in relation to what was allowed; `None` when all are equal.
    pub worst: Option<Difference>,
    /// The largest finite absolute error.
    pub max_error: f64,
    pub tolerance: Tolerance,
}

impl Comparison {
    pub fn is_match(&self) -> bool {
        self.mismatches == 0
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_match() {
            return write!(
                f,
                "{} elements agree, max error {:.3e} ({})",
                self.elements, self.max_error, self.tolerance
            );
        }
        write!(f, "{} of {} elements differ ({})", self.mismatches, self.elements, self.tolerance)?;
        self.worst.as_ref().map_or(Ok(()), |worst| write!(f, "; worst {worst}"))
    }
}

/// Why two tensors do not compare or agree.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CompareError {
    #[error("got {}, want {}", .0[0], .0[1])]
    /// Got and wanted.
    Types(Box<[TensorType; 2]>),
    #[error("{mismatches} of {elements} elements differ; worst {worst}")]
    Mismatch { mismatches: usize, elements: usize, worst: Box<Difference> },
}

/// A result within its bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareOk {
    /// The largest absolute error, where it is finite.
    pub max_error: f64,
    /// What was allowed, in words.
    pub tolerance: String,
}

/// The worst element so far.
struct Worst {
    /// Error over what was allowed, and the error itself.
    rank: (f64, f64),
    index: usize,
    error: f64,
    allowed: f64,
}

/// Tracks differences over a comparison.
#[derive(Default)]
struct Tally {
    mismatches: usize,
    max_error: f64,
    worst: Option<Worst>,
}

impl Tally {
    /// One element: its error, what was allowed, and whether it passes.
    fn add(&mut self, index: usize, error: f64, allowed: f64, passes: bool) {
        if error == 0.0 && passes {
            return;
        }
        if error.is_finite() {
            self.max_error = self.max_error.max(error);
        }
        self.mismatches += usize::from(!passes);
        let ratio = if passes && !error.is_finite() {
            0.0
        } else if allowed > 0.0 {
            error / allowed
        } else {
            f64::INFINITY
        };
        let rank = (ratio, error);
        if self.worst.as_ref().is_none_or(|worst| rank > worst.rank) {
            self.worst = Some(Worst { rank, index, error, allowed });
        }
    }

    fn worst(&self, got: &TensorData, want: &TensorData, fp8: Fp8Options) -> Option<Difference> {
        let worst = self.worst.as_ref()?;
        let text = |data: &TensorData| {
            data.bits(worst.index).map_or_else(String::new, |bits| {
                let literal = match data.dtype() {
                    // Literals of the language have the type's own coding.
                    dtype @ ElemType::F8E4M3 if fp8.ocp => Literal::Float(number(bits, dtype, fp8)),
                    dtype => Literal::from_bits(bits, dtype),
                };
                literal.to_string()
            })
        };
        Some(Difference {
            index: position(worst.index, want.shape()),
            got: text(got),
            want: text(want),
            error: worst.error,
            allowed: worst.allowed,
        })
    }
}

/// The coordinates of a row-major index.
fn position(mut index: usize, shape: &[u64]) -> Vec<u64> {
    let mut position = vec![0; shape.len()];
    for (slot, &size) in position.iter_mut().zip(shape).rev() {
        let size = usize::try_from(size).unwrap_or(usize::MAX).max(1);
        *slot = (index % size) as u64;
        index /= size;
    }
    position
}

/// Compares element by element within a tolerance. The shapes must agree; element
/// types may differ, numbers being compared, with 8-bit floats read as `fp8` says.
///
/// # Errors
/// [`CompareError::Types`] when the shapes differ.
pub fn compare_tol(
    got: &TensorData,
    want: &TensorData,
    tolerance: Tolerance,
    fp8: Fp8Options,
) -> Result<Comparison, CompareError> {
    if got.shape() != want.shape() {
        return Err(CompareError::Types(Box::new([got.ty().clone(), want.ty().clone()])));
    }
    let mut tally = Tally::default();
    for (index, (g, w)) in got.iter_bits().zip(want.iter_bits()).enumerate() {
        if g == w && got.dtype() == want.dtype() {
            continue;
        }
        let error = if got.dtype() == want.dtype() {
            element_distance(g, w, want.dtype(), fp8)
        } else {
            distance(number(g, got.dtype(), fp8), number(w, want.dtype(), fp8))
        };
        let (allowed, passes) = match tolerance {
            Tolerance::Exact => (0.0, error == 0.0),
            Tolerance::Close { rtol, atol } => {
                let allowed = atol + rtol * number(w, want.dtype(), fp8).abs();
                (allowed, error == 0.0 || (error.is_finite() && error <= allowed))
            }
            Tolerance::Ulps(n) => {
                let rounded = convert::cast_bits(g, got.dtype(), want.dtype(), fp8);
                let steps = ulps_apart(rounded, w, want.dtype());
                (
                    n as f64 * spacing(w, want.dtype(), fp8),
                    error == 0.0 || (error.is_finite() && steps <= n),
                )
            }
        };
        tally.add(index, error, allowed, passes);
    }
    Ok(Comparison {
        elements: want.len(),
        mismatches: tally.mismatches,
        worst: tally.worst(got, want, fp8),
        max_error: tally.max_error,
        tolerance,
    })
}

fn number(bits: u64, dtype: ElemType, fp8: Fp8Options) -> f64 {
    if dtype.is_float() {
        f64::from(convert::decode_f32(bits, dtype, fp8))
    } else {
        convert::decode_int(bits, dtype, fp8) as f64
    }
}

/// Representable numbers between two elements of a type; the zeros are one.
pub fn ulps_apart(a: u64, b: u64, dtype: ElemType) -> u64 {
    let line = |bits: u64| {
        if dtype.is_int() {
            return convert::decode_int(bits, dtype, Fp8Options::default());
        }
        let sign = 1u64 << (dtype.width() - 1);
        let magnitude = i128::from(bits & (sign - 1));
        if bits & sign != 0 { -magnitude } else { magnitude }
    };
    u64::try_from(line(a).abs_diff(line(b))).unwrap_or(u64::MAX)
}

/// Compares a machine's result with the bounded reference.
///
/// # Errors
/// The types differ, or an element lies outside its bound.
pub fn compare(got: &TensorData, want: &Bounded) -> Result<CompareOk, CompareError> {
    let reference = &want.value;
    if got.ty() != reference.ty() {
        return Err(CompareError::Types(Box::new([got.ty().clone(), reference.ty().clone()])));
    }
    let mut tally = Tally::default();
    for (index, (g, w)) in got.iter_bits().zip(reference.iter_bits()).enumerate() {
        if g != w {
            let error = element_distance(g, w, reference.dtype(), want.fp8);
            let allowed = want.bound.at(index);
            tally.add(index, error, allowed, error <= allowed);
        }
    }
    if tally.mismatches > 0
        && let Some(worst) = tally.worst(got, reference, want.fp8)
    {
        return Err(CompareError::Mismatch {
            mismatches: tally.mismatches,
            elements: reference.len(),
            worst: Box::new(worst),
        });
    }
    Ok(CompareOk { max_error: tally.max_error, tolerance: describe(&want.bound) })
}

/// The bounds in words.
fn describe(bound: &Bound) -> String {
    let Bound::Within(bounds) = bound else { return "exact".to_owned() };
    let largest = bounds.iter().copied().filter(|bound| bound.is_finite()).fold(0.0, f64::max);
    let exact = bounds.iter().filter(|&&bound| bound == 0.0).count();
    let open = bounds.iter().filter(|bound| !bound.is_finite()).count();
    let mut text = format!("within {largest:.3e} of the reference");
    if exact > 0 {
        text.push_str(&format!(", {exact} of {} elements exact", bounds.len()));
    }
    if open > 0 {
        text.push_str(&format!(", {open} of {} elements not determined", bounds.len()));
    }
    text
}
