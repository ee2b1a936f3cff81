//! From an ALU operation to its loops in each domain (ISA 6.1, 10.4).
//!
//! Every table names every operation, also those without a meaning in its domain: a new operation does not compile
//! until each table says what it is.

use partita_isa::{AluOp, Domain, Dtype};

use super::format::Format;
use super::kernels::*;
use super::lane::Lane;
use super::ops::*;
use super::sequence;
use super::simd::{Level, Portable, Simd, at_level};

/// The loops of one operation in one domain.
#[derive(Clone, Copy, Debug)]
pub struct Kernels {
    pub binary: Binary,
    pub binary_reversed: Binary,
    pub scalar: Scalar,
    pub scalar_reversed: Scalar,
    pub accumulate: Fold,
    pub feed: Feed,
    pub scan: Scan,
    /// `None` where one row alone is folded as fast.
    pub feed_rows: Option<FeedRows>,
    pub scan_rows: ScanRows,
    /// The operation on the bits of one lane each.
    pub one: fn(u64, u64) -> u64,
}

/// Rows folded into lanes, one at a time and several at a time.
#[derive(Clone, Copy, Debug)]
pub struct Fold {
    pub one: Accumulate,
    pub several: AccumulateRows,
}

impl Fold {
    pub const fn of<L: Level, F: Format, O: Op<F::Lane>>() -> Self {
        Self { one: accumulate::<L, F, O>, several: accumulate_rows::<L, F, O> }
    }
}

impl Kernels {
    const fn of<L: Level, T: Lane, O: Op<T>>() -> Self {
        Self {
            binary: binary::<L, T, O>,
            binary_reversed: binary::<L, T, Reversed<O>>,
            scalar: scalar::<L, T, O>,
            scalar_reversed: scalar::<L, T, Reversed<O>>,
            accumulate: Fold::of::<L, T, O>(),
            feed: feed::<L, T, O>,
            scan: scan::<L, T, O>,
            feed_rows: if O::FREE_ORDER { None } else { Some(sequence::feed_rows::<L, T, O>) },
            scan_rows: sequence::scan_rows::<L, T, O>,
            one: one::<T, O>,
        }
    }

    /// POW, whose elementwise loops have a vector form.
    const fn power<L: Level>() -> Self {
        Self {
            binary: power::<L>,
            scalar: power_scalar::<L, false>,
            scalar_reversed: power_scalar::<L, true>,
            ..Self::of::<L, f32, Pow>()
        }
    }
}

/// Arithmetic on fp32 lanes.
macro_rules! float_arithmetic {
    () => {
        AluOp::Add | AluOp::Subtract | AluOp::Mult | AluOp::Max | AluOp::Min
    };
}

/// What only the fp32 domain has, beside [`float_arithmetic`].
macro_rules! float_only {
    () => {
        AluOp::LogicalAnd
            | AluOp::LogicalOr
            | AluOp::LogicalXor
            | AluOp::IsEq
            | AluOp::IsNe
            | AluOp::IsGt
            | AluOp::IsGe
            | AluOp::IsLe
            | AluOp::IsLt
            | AluOp::AbsoluteDiff
            | AluOp::AbsoluteValue
            | AluOp::Pow
            | AluOp::Rsqrt
            | AluOp::AbsMax
            | AluOp::AbsMin
            | AluOp::ReLu
            | AluOp::Square
            | AluOp::SymmetricClamp
    };
}

/// Operations on raw bits.
macro_rules! bit_operations {
    () => {
        AluOp::BitwiseNot
            | AluOp::BitwiseAnd
            | AluOp::BitwiseOr
            | AluOp::BitwiseXor
            | AluOp::ArithShiftLeft
            | AluOp::ArithShiftRight
            | AluOp::LogicalShiftLeft
            | AluOp::LogicalShiftRight
    };
}

/// Integer operations of both lists.
macro_rules! shared_integer {
    () => {
        AluOp::Mod
            | AluOp::AddInt
            | AluOp::SubtractInt
            | AluOp::MultInt
            | AluOp::DivideInt
            | AluOp::ModInt
            | AluOp::IsEqualInt
            | AluOp::IsNeInt
    };
}

macro_rules! signed_integer {
    () => {
        AluOp::MaxInt
            | AluOp::MinInt
            | AluOp::IsGtInt
            | AluOp::IsGeInt
            | AluOp::IsLeInt
            | AluOp::IsLtInt
            | AluOp::AbsMaxInt
            | AluOp::AbsMinInt
            | AluOp::AbsDiffInt
            | AluOp::AbsValueInt
    };
}

macro_rules! unsigned_integer {
    () => {
        AluOp::MaxUint
            | AluOp::MinUint
            | AluOp::IsGtUint
            | AluOp::IsGeUint
            | AluOp::IsLeUint
            | AluOp::IsLtUint
            | AluOp::MultUint
            | AluOp::DivideUint
            | AluOp::ModUint
    };
}

/// Folds with loops of their own (`selected`).
macro_rules! folds_only {
    () => {
        AluOp::Crc32 | AluOp::AmaxInt | AluOp::AminInt | AluOp::AmaxUint | AluOp::AminUint
    };
}

macro_rules! kernels {
    ($level:ty, $lane:ty, $op:expr, none: ($($none:tt)*); $($($alu:ident)|+ => $type:ident,)*) => {
        match $op {
            $($(AluOp::$alu)|+ => Some(const { &Kernels::of::<$level, $lane, $type>() }),)*
            $($none)* => None,
        }
    };
}

/// An operation in a domain; `None` where it has no meaning there. Bits are as wide as the dtype.
#[inline]
pub fn of(simd: Simd, domain: Domain, op: AluOp, dtype: Dtype) -> Option<&'static Kernels> {
    match domain {
        Domain::Moved | Domain::Bits => bits(op, dtype.size()),
        Domain::Fp32 => float(simd, op),
        Domain::Integer { signed, bits } => integer(simd, op, signed, usize::from(bits) / 8),
    }
}

/// The fp32 domain (rules N-3, N-6, N-7); `None` for an operation that has no meaning there.
pub fn float(simd: Simd, op: AluOp) -> Option<&'static Kernels> {
    at_level!(simd, L => float_at::<L>(op))
}

fn float_at<L: Level>(op: AluOp) -> Option<&'static Kernels> {
    if op == AluOp::Pow {
        return Some(const { &Kernels::power::<L>() });
    }
    kernels! { L, f32, op,
        // DIVIDE is accepted by no opcode (ISA 6.2).
        none: (bit_operations!() | AluOp::Divide | shared_integer!() | signed_integer!()
            | unsigned_integer!() | folds_only!());
        Bypass => Bypass, Add => Add, Subtract => Subtract, Mult => Mult, Max => Max, Min => Min,
        LogicalAnd => LogicalAnd, LogicalOr => LogicalOr, LogicalXor => LogicalXor,
        IsEq => IsEq, IsNe => IsNe, IsGt => IsGt, IsGe => IsGe, IsLe => IsLe, IsLt => IsLt,
        AbsoluteDiff => AbsoluteDiff, AbsoluteValue => AbsoluteValue, Pow => Pow, Rsqrt => Rsqrt,
        AbsMax => AbsMax, AbsMin => AbsMin, ReLu => ReLu, Square => Square,
        SymmetricClamp => SymmetricClamp,
    }
}

/// Raw bits at operand width (rule N-1). CRC32 is not among them: see [`super::selected::crc32`].
/// One level serves all: these loops wait for memory, not for instructions.
pub fn bits(op: AluOp, width: usize) -> Option<&'static Kernels> {
    macro_rules! of {
        ($lane:ty) => {
            kernels! { Portable, $lane, op,
                none: (float_arithmetic!() | float_only!() | AluOp::Divide | shared_integer!()
                    | signed_integer!() | unsigned_integer!() | folds_only!());
                Bypass => Bypass, BitwiseNot => Not, BitwiseAnd => And, BitwiseOr => Or,
                BitwiseXor => Xor, ArithShiftLeft | LogicalShiftLeft => ShiftLeft,
                LogicalShiftRight => ShiftRightLogical, ArithShiftRight => ShiftRightArith,
            }
        };
    }
    match width {
        1 => of!(u8),
        2 => of!(u16),
        4 => of!(u32),
        _ => of!(u64),
    }
}

/// Native integers, wrapping (rules N-4, N-5, N-8). Operations of both lists follow the signedness of the
/// operands; the bare MAX is the exact one of the cross-lane reduction.
pub fn integer(simd: Simd, op: AluOp, signed: bool, width: usize) -> Option<&'static Kernels> {
    at_level!(simd, L => match (signed, width) {
        (true, 8) => signed_64::<Portable>(op),
        (false, 8) => unsigned_64::<Portable>(op),
        (true, _) => signed_32::<<L as Level>::Plain>(op),
        (false, _) => unsigned_32::<<L as Level>::Plain>(op),
    })
}

macro_rules! signed_table {
    ($($name:ident $lane:ident;)*) => {$(
        fn $name<L: Level>(op: AluOp) -> Option<&'static Kernels> {
            kernels! { L, $lane, op,
                none: (bit_operations!() | float_only!() | AluOp::Min | AluOp::Divide
                    | unsigned_integer!() | folds_only!());
                Bypass => Bypass,
                Add | AddInt => Add, Subtract | SubtractInt => Subtract, Mult | MultInt => Mult,
                Max | MaxInt => Max, MinInt => Min,
                DivideInt => Divide, Mod | ModInt => Remainder, IsEqualInt => IsEq, IsNeInt => IsNe,
                IsGtInt => IsGt, IsGeInt => IsGe, IsLeInt => IsLe, IsLtInt => IsLt,
                AbsMaxInt => AbsMax, AbsMinInt => AbsMin, AbsDiffInt => AbsoluteDiff,
                AbsValueInt => AbsoluteValue,
            }
        }
    )*};
}

signed_table! {
    signed_32 i32;
    signed_64 i64;
}

macro_rules! unsigned_table {
    ($($name:ident $lane:ident;)*) => {$(
        fn $name<L: Level>(op: AluOp) -> Option<&'static Kernels> {
            kernels! { L, $lane, op,
                none: (bit_operations!() | float_only!() | AluOp::Min | AluOp::Divide
                    | signed_integer!() | folds_only!());
                Bypass => Bypass,
                Add | AddInt => Add, Subtract | SubtractInt => Subtract,
                Mult | MultInt | MultUint => Mult, Max | MaxUint => Max, MinUint => Min,
                DivideInt | DivideUint => Divide, Mod | ModInt | ModUint => Remainder,
                IsEqualInt => IsEq, IsNeInt => IsNe,
                IsGtUint => IsGt, IsGeUint => IsGe, IsLeUint => IsLe, IsLtUint => IsLt,
            }
        }
    )*};
}

unsigned_table! {
    unsigned_32 u32;
    unsigned_64 u64;
}
