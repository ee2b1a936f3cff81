//! One ALU operation on one lane each (ISA 6.1, 10.4), and folds of many lanes (ISA 9.5, N-9), under any conventions.

use partita_isa::{AluOp, Domain, Dtype, Engine};

use crate::conventions::{Alternative, Conventions};
use crate::error::Fault;
use crate::numeric::minifloat::F32_NAN;
use crate::numeric::simd::Simd;
use crate::numeric::table;

use super::numbers::{bits, bounds, float, low, number};

/// An operation in its domain.
#[derive(Clone, Copy, Debug)]
pub struct Alu {
    op: AluOp,
    domain: Domain,
    /// The type of the elements, for shifts and widths.
    dtype: Dtype,
    conventions: Conventions,
    /// What the tables say.
    one: fn(u64, u64) -> u64,
    saturates: bool,
}

/// The operation in fp32 that an operation of the integer band becomes where DVE has no integers.
fn in_float(op: AluOp) -> Option<AluOp> {
    Some(match op {
        AluOp::AddInt => AluOp::Add,
        AluOp::SubtractInt => AluOp::Subtract,
        AluOp::MultInt | AluOp::MultUint => AluOp::Mult,
        AluOp::DivideInt | AluOp::DivideUint => AluOp::Divide,
        AluOp::ModInt | AluOp::ModUint => AluOp::Mod,
        AluOp::IsEqualInt => AluOp::IsEq,
        AluOp::IsNeInt => AluOp::IsNe,
        AluOp::AbsMaxInt => AluOp::AbsMax,
        AluOp::AbsMinInt => AluOp::AbsMin,
        AluOp::AbsDiffInt => AluOp::AbsoluteDiff,
        AluOp::AbsValueInt => AluOp::AbsoluteValue,
        AluOp::MaxInt | AluOp::MaxUint => AluOp::Max,
        AluOp::MinInt | AluOp::MinUint => AluOp::Min,
        AluOp::IsGtInt | AluOp::IsGtUint => AluOp::IsGt,
        AluOp::IsGeInt | AluOp::IsGeUint => AluOp::IsGe,
        AluOp::IsLeInt | AluOp::IsLeUint => AluOp::IsLe,
        AluOp::IsLtInt | AluOp::IsLtUint => AluOp::IsLt,
        _ => return None,
    })
}

fn divide(a: u64, b: u64) -> u64 {
    bits((float(a) / float(b)).trunc())
}

fn remainder(a: u64, b: u64) -> u64 {
    bits(float(a) % float(b))
}

impl Alu {
    /// # Errors
    /// An operation without a meaning in the domain, which the rules exclude.
    pub fn new(
        op: AluOp,
        domain: Domain,
        dtype: Dtype,
        engine: Engine,
        conventions: Conventions,
    ) -> Result<Self, Fault> {
        let op = match domain {
            Domain::Fp32 => in_float(op).unwrap_or(op),
            _ => op,
        };
        let one = match (domain, op) {
            (Domain::Fp32, AluOp::Divide) => Some(divide as fn(u64, u64) -> u64),
            (Domain::Fp32, AluOp::Mod) => Some(remainder as fn(u64, u64) -> u64),
            _ => table::of(Simd::PORTABLE, domain, op, dtype).map(|kernels| kernels.one),
        };
        let one = one.ok_or(Fault::Unsupported("operation"))?;
        let saturates = engine == Engine::Dve && conventions.has(Alternative::DveSaturates);
        Ok(Self { op, domain, dtype, conventions, one, saturates })
    }

    pub fn op(&self) -> AluOp {
        self.op
    }

    /// Whether one of two operands is not looked at.
    fn is_unary(&self) -> bool {
        self.op.arity() == 1 || self.op == AluOp::Bypass
    }

    fn has(&self, alternative: Alternative) -> bool {
        self.conventions.has(alternative)
    }

    /// `op(a, b)`.
    pub fn apply(&self, a: u64, b: u64) -> u64 {
        let other = match self.domain {
            Domain::Fp32 => self.other_float(a, b),
            Domain::Moved | Domain::Bits => self.other_bits(a, b),
            Domain::Integer { signed, bits } => {
                self.other_integer(a, b, usize::from(bits) / 8, signed)
            }
        };
        other.unwrap_or_else(|| (self.one)(a, b))
    }

    /// `op(a, b)` of two tensors.
    pub fn tensors(&self, a: u64, b: u64) -> u64 {
        match self.op.arity() == 1 && self.has(Alternative::UnaryNewest) {
            true => self.apply(b, a),
            false => self.apply(a, b),
        }
    }

    /// `op(value, scalar)`, or the other way round.
    pub fn scalar(&self, value: u64, scalar: u64, reversed: bool) -> u64 {
        let reversed = reversed && !(self.op.arity() == 1 && self.has(Alternative::UnaryNewest));
        if reversed { self.apply(scalar, value) } else { self.apply(value, scalar) }
    }

    /// The next step of a fold.
    pub fn step(&self, accumulator: u64, x: u64) -> u64 {
        match self.is_unary() && self.has(Alternative::UnaryNewest) {
            true => self.apply(x, accumulator),
            false => self.apply(accumulator, x),
        }
    }

    /// The fold of a group of at least one lane.
    pub fn reduce(&self, lanes: &[u64]) -> u64 {
        let sums = self.domain == Domain::Fp32
            && matches!(self.op, AluOp::Add | AluOp::Subtract | AluOp::Mult);
        let order = [Alternative::ReduceDescending, Alternative::ReducePairwise];
        match order.map(|order| sums && self.has(order)) {
            [true, _] => self.ordered(lanes, Self::descending),
            [_, true] => self.ordered(lanes, Self::pairwise),
            _ => self.ascending(lanes),
        }
    }

    /// A fold in another order; a subtraction takes the sum of the others off the first.
    fn ordered(&self, lanes: &[u64], order: fn(&Self, &[u64]) -> u64) -> u64 {
        match (self.op, lanes) {
            (AluOp::Subtract, [first, rest @ ..]) if !rest.is_empty() => {
                let add = |a: u64, b: u64| bits(float(a) + float(b));
                let sum = Self { op: AluOp::Add, one: add, ..*self };
                self.apply(*first, order(&sum, rest))
            }
            _ => order(self, lanes),
        }
    }

    /// Left to right.
    pub fn ascending(&self, lanes: &[u64]) -> u64 {
        let fold = lanes.iter().copied().reduce(|accumulator, x| self.step(accumulator, x));
        fold.unwrap_or_default()
    }

    /// Right to left.
    pub fn descending(&self, lanes: &[u64]) -> u64 {
        let fold = lanes.iter().rev().copied().reduce(|accumulator, x| self.step(accumulator, x));
        fold.unwrap_or_default()
    }

    /// Neighbours, then pairs of neighbours, and so on; what is left over waits for the next round.
    pub fn pairwise(&self, lanes: &[u64]) -> u64 {
        let mut lanes = lanes.to_vec();
        while lanes.len() > 1 {
            lanes = lanes
                .chunks(2)
                .map(|pair| match *pair {
                    [a, b] => self.step(a, b),
                    _ => pair.first().copied().unwrap_or_default(),
                })
                .collect();
        }
        lanes.first().copied().unwrap_or_default()
    }

    fn other_float(&self, a: u64, b: u64) -> Option<u64> {
        use Alternative::*;
        let (x, y) = (float(a), float(b));
        match self.op {
            AluOp::Max | AluOp::Min if x == 0.0 && y == 0.0 => {
                return match [ZeroFirst, ZeroSecond].map(|order| self.has(order)) {
                    [true, _] => Some(a),
                    [_, true] => Some(b),
                    _ => None,
                };
            }
            AluOp::ReLu if x.is_nan() && self.has(ReluNanZero) => return Some(0),
            AluOp::Pow | AluOp::Rsqrt => {
                return Some(self.computed(self.last_bit((self.one)(a, b))));
            }
            AluOp::Add
            | AluOp::Subtract
            | AluOp::Mult
            | AluOp::Divide
            | AluOp::Mod
            | AluOp::AbsoluteDiff
            | AluOp::Square => {}
            _ => return None,
        }
        Some(self.computed((self.one)(a, b)))
    }

    /// The result of a computation in fp32, whose NaN may be another one.
    pub fn computed(&self, lane: u64) -> u64 {
        computed(self.conventions, lane)
    }

    fn last_bit(&self, lane: u64) -> u64 {
        last_bit(self.conventions, lane)
    }

    fn other_bits(&self, a: u64, b: u64) -> Option<u64> {
        if !self.op.is_shift() {
            return None;
        }
        let width = self.dtype.size();
        let bits = 8 * width as u64;
        let b = if self.has(Alternative::ShiftModulo) { b % bits } else { b };
        let unsigned = !self.dtype.is_signed_int();
        if self.op == AluOp::ArithShiftRight && unsigned && self.has(Alternative::ShiftFillZero) {
            return Some(if b < bits { low(a, width) >> b } else { 0 });
        }
        Some((self.one)(a, b))
    }

    fn other_integer(&self, a: u64, b: u64, width: usize, signed: bool) -> Option<u64> {
        use Alternative::*;
        let (x, y) = (number(a, width, signed), number(b, width, signed));
        let (smallest, largest) = bounds(width, signed);
        let saturated = |value: i128| Some(low(value.clamp(smallest, largest) as u64, width));
        match self.op {
            AluOp::DivideInt | AluOp::DivideUint | AluOp::Mod | AluOp::ModInt | AluOp::ModUint
                if y == 0 =>
            {
                self.has(DivideZeroZero).then_some(0)
            }
            AluOp::DivideInt if self.has(DivideSaturates) => saturated(x / y),
            AluOp::AddInt if self.saturates => saturated(x + y),
            AluOp::SubtractInt if self.saturates => saturated(x - y),
            AluOp::MultInt | AluOp::MultUint if self.saturates => saturated(x * y),
            _ => None,
        }
    }
}

/// The result of a computation in fp32, whose NaN may be another one (OQ-62).
pub fn computed(conventions: Conventions, lane: u64) -> u64 {
    if !float(lane).is_nan() {
        lane
    } else if conventions.has(Alternative::NanCanonical) {
        u64::from(F32_NAN)
    } else if conventions.has(Alternative::NanNegative) {
        u64::from(F32_NAN | 1 << 31)
    } else {
        lane
    }
}

/// A finite number but 0 moved by a unit in the last place where the conventions ask for it (OQ-37).
pub fn last_bit(conventions: Conventions, lane: u64) -> u64 {
    let value = float(lane);
    let moved = if !value.is_finite() || value == 0.0 {
        lane
    } else if conventions.has(Alternative::LastBitUp) {
        lane + 1
    } else if conventions.has(Alternative::LastBitDown) {
        lane - 1
    } else {
        lane
    };
    if float(moved).is_finite() { moved } else { lane }
}
