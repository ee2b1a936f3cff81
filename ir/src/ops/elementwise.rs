//! The elementwise operations: one row each, everything else is derived.

use std::fmt;

use partita_isa::AluOp;

use crate::types::ElemType;

/// What family an elementwise operation belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Moves or chooses values: `bypass copy select`.
    Move,
    /// Arithmetic of both floats and integers.
    Arith,
    /// A comparison or test: the natural result is `i1`.
    Compare,
    /// Truth values in, truth value out: the natural result is `i1`.
    Logical,
    /// Raw bits at the operand's width.
    Bit,
    /// A shift; its count may be `ui32` whatever the first operand is.
    Shift,
    /// The integer band of the ALU, `ISA 6.1` 0x1B and 0xC4 to 0xDD.
    IntBand,
    /// A comparison of the integer band: the natural result is `i1`.
    IntCompare,
    /// A mathematical function or rounding.
    Math,
}

/// Which operand types an operation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    Any,
    Int,
    Float,
}

impl Domain {
    pub fn contains(self, dtype: ElemType) -> bool {
        match self {
            Domain::Any => true,
            Domain::Int => dtype.is_int(),
            Domain::Float => dtype.is_float(),
        }
    }
}

macro_rules! elementwise_ops {
    ($($name:ident $text:literal $arity:literal $origin:ident $class:ident $domain:ident;)*) => {
        /// An elementwise operation, named in text by its lower-case name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ElementwiseOp { $($name,)* }

        impl ElementwiseOp {
            /// Every elementwise operation, ALU operations first in the order of
            /// their codes.
            pub const ALL: &'static [ElementwiseOp] = &[$(ElementwiseOp::$name,)*];

            pub const fn name(self) -> &'static str {
                match self { $(ElementwiseOp::$name => $text,)* }
            }

            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($text => Some(ElementwiseOp::$name),)*
                    _ => None,
                }
            }

            /// Number of operands, 1 to 3.
            pub const fn arity(self) -> usize {
                match self { $(ElementwiseOp::$name => $arity,)* }
            }

            /// True of the operations of ISA 6.1; the others are made of several
            /// machine operations.
            pub const fn is_alu(self) -> bool {
                match self { $(ElementwiseOp::$name => matches!(Origin::$origin, Origin::Alu),)* }
            }

            pub const fn class(self) -> Class {
                match self { $(ElementwiseOp::$name => Class::$class,)* }
            }

            /// The operand types it takes (of `select`: the two values').
            pub const fn domain(self) -> Domain {
                match self { $(ElementwiseOp::$name => Domain::$domain,)* }
            }
        }
    };
}

enum Origin {
    Alu,
    Tensor,
}

elementwise_ops! {
    Bypass "bypass" 2 Alu Move Any;
    BitwiseNot "bitwise_not" 1 Alu Bit Int;
    ArithShiftLeft "arith_shift_left" 2 Alu Shift Int;
    ArithShiftRight "arith_shift_right" 2 Alu Shift Int;
    Add "add" 2 Alu Arith Any;
    Subtract "subtract" 2 Alu Arith Any;
    Mult "mult" 2 Alu Arith Any;
    Divide "divide" 2 Alu Arith Any;
    Max "max" 2 Alu Arith Any;
    Min "min" 2 Alu Arith Any;
    BitwiseAnd "bitwise_and" 2 Alu Bit Int;
    BitwiseOr "bitwise_or" 2 Alu Bit Int;
    BitwiseXor "bitwise_xor" 2 Alu Bit Int;
    LogicalAnd "logical_and" 2 Alu Logical Any;
    LogicalOr "logical_or" 2 Alu Logical Any;
    LogicalXor "logical_xor" 2 Alu Logical Any;
    LogicalShiftLeft "logical_shift_left" 2 Alu Shift Int;
    LogicalShiftRight "logical_shift_right" 2 Alu Shift Int;
    IsEq "is_eq" 2 Alu Compare Any;
    IsGt "is_gt" 2 Alu Compare Any;
    IsGe "is_ge" 2 Alu Compare Any;
    IsLe "is_le" 2 Alu Compare Any;
    IsLt "is_lt" 2 Alu Compare Any;
    AbsoluteDiff "absolute_diff" 2 Alu Arith Any;
    IsNe "is_ne" 2 Alu Compare Any;
    AbsoluteValue "absolute_value" 1 Alu Arith Any;
    Pow "pow" 2 Alu Arith Any;
    Mod "mod" 2 Alu IntBand Int;
    Rsqrt "rsqrt" 1 Alu Math Float;
    AbsMax "abs_max" 2 Alu Arith Any;
    AbsMin "abs_min" 2 Alu Arith Any;
    ReLu "re_lu" 1 Alu Arith Any;
    Square "square" 1 Alu Arith Any;
    SymmetricClamp "symmetric_clamp" 2 Alu Arith Any;
    AddInt "add_int" 2 Alu IntBand Int;
    MultInt "mult_int" 2 Alu IntBand Int;
    SubtractInt "subtract_int" 2 Alu IntBand Int;
    DivideInt "divide_int" 2 Alu IntBand Int;
    ModInt "mod_int" 2 Alu IntBand Int;
    IsEqualInt "is_equal_int" 2 Alu IntCompare Int;
    IsNeInt "is_ne_int" 2 Alu IntCompare Int;
    AbsMaxInt "abs_max_int" 2 Alu IntBand Int;
    AbsMinInt "abs_min_int" 2 Alu IntBand Int;
    AbsDiffInt "abs_diff_int" 2 Alu IntBand Int;
    MaxInt "max_int" 2 Alu IntBand Int;
    MinInt "min_int" 2 Alu IntBand Int;
    IsGtInt "is_gt_int" 2 Alu IntCompare Int;
    IsGeInt "is_ge_int" 2 Alu IntCompare Int;
    IsLeInt "is_le_int" 2 Alu IntCompare Int;
    IsLtInt "is_lt_int" 2 Alu IntCompare Int;
    MaxUint "max_uint" 2 Alu IntBand Int;
    MinUint "min_uint" 2 Alu IntBand Int;
    IsGtUint "is_gt_uint" 2 Alu IntCompare Int;
    IsGeUint "is_ge_uint" 2 Alu IntCompare Int;
    IsLeUint "is_le_uint" 2 Alu IntCompare Int;
    IsLtUint "is_lt_uint" 2 Alu IntCompare Int;
    MultUint "mult_uint" 2 Alu IntBand Int;
    DivideUint "divide_uint" 2 Alu IntBand Int;
    ModUint "mod_uint" 2 Alu IntBand Int;
    Maximum "maximum" 2 Tensor Arith Any;
    Minimum "minimum" 2 Tensor Arith Any;
    Exp "exp" 1 Tensor Math Float;
    ExpM1 "exp_m1" 1 Tensor Math Float;
    Log "log" 1 Tensor Math Float;
    Log1p "log1p" 1 Tensor Math Float;
    Sqrt "sqrt" 1 Tensor Math Float;
    Reciprocal "reciprocal" 1 Tensor Math Float;
    Remainder "remainder" 2 Tensor Arith Any;
    Tanh "tanh" 1 Tensor Math Float;
    Sigmoid "sigmoid" 1 Tensor Math Float;
    Erf "erf" 1 Tensor Math Float;
    Sin "sin" 1 Tensor Math Float;
    Cos "cos" 1 Tensor Math Float;
    Sign "sign" 1 Tensor Arith Any;
    Floor "floor" 1 Tensor Math Float;
    Ceil "ceil" 1 Tensor Math Float;
    RoundEven "round_even" 1 Tensor Math Float;
    RoundAway "round_away" 1 Tensor Math Float;
    Trunc "trunc" 1 Tensor Math Float;
    Popcount "popcount" 1 Tensor Bit Int;
    Clz "clz" 1 Tensor Bit Int;
    IsFinite "is_finite" 1 Tensor Compare Float;
    Select "select" 3 Tensor Move Any;
    Copy "copy" 1 Tensor Move Any;
}

impl ElementwiseOp {
    /// The machine's operation of the same name, where there is one.
    pub fn alu(self) -> Option<AluOp> {
        if self.is_alu() { AluOp::from_name(self.name()) } else { None }
    }

    /// The result type when nothing else is asked: `i1` for a truth value, else
    /// the operands' type.
    pub fn natural_dtype(self, operand: ElemType) -> ElemType {
        match self.class() {
            Class::Compare | Class::IntCompare | Class::Logical => ElemType::I1,
            _ => operand,
        }
    }

    /// May be the first step of a scan: an ALU operation of one or two operands,
    /// or a NaN-propagating extreme. One of one operand ignores the scalar (ISA 6.1).
    pub fn is_scan_op0(self) -> bool {
        self.is_alu() || matches!(self, Self::Maximum | Self::Minimum)
    }

    /// May be the second step of a scan: it combines the accumulator (left) with
    /// the value of the first step.
    pub fn is_scan_op1(self) -> bool {
        self.arity() == 2 && (self.is_alu() || matches!(self, Self::Maximum | Self::Minimum))
    }

    /// May be a step of `tensor.pair`, in fp32 or on raw bits.
    pub fn is_pair_op(self) -> bool {
        let bits = matches!(self.class(), Class::Bit | Class::Shift) && self.is_alu();
        let wide = matches!(self.class(), Class::IntBand | Class::IntCompare | Class::Bit);
        self.arity() <= 2 && (bits || !wide && self != Self::Bypass)
    }

    /// True of the operations on raw bits, whose operands have one type.
    pub fn is_bits(self) -> bool {
        matches!(self.class(), Class::Bit | Class::Shift)
    }

    /// True when a scan may start from the identity of the operation
    /// (`seed zero`): 0, 1, all ones, or the least or greatest value.
    pub fn has_identity(self) -> bool {
        use ElementwiseOp::*;
        matches!(
            self,
            Add | Subtract
                | Mult
                | Max
                | Min
                | Maximum
                | Minimum
                | BitwiseAnd
                | BitwiseOr
                | BitwiseXor
                | LogicalAnd
                | LogicalOr
                | LogicalXor
                | AddInt
                | SubtractInt
                | MultInt
                | MultUint
                | MaxInt
                | MinInt
                | MaxUint
                | MinUint
        )
    }
}

impl fmt::Display for ElementwiseOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contract: every ALU operation of ISA 6.1 but CRC32, the arg operations
    /// and ABS_VALUE_INT, with its arity there.
    #[test]
    fn alu_rows_are_those_of_the_machine() {
        for &op in ElementwiseOp::ALL.iter().filter(|op| op.is_alu()) {
            let alu = op.alu().unwrap_or_else(|| panic!("{op} is no ALU operation"));
            assert_eq!(usize::from(alu.arity()), op.arity(), "{op}");
        }
        let missing: Vec<&str> = AluOp::ALL
            .iter()
            .map(|alu| alu.lower_name())
            .filter(|name| ElementwiseOp::from_name(name).is_none())
            .collect();
        assert_eq!(
            missing,
            ["crc32", "abs_value_int", "amax_int", "amin_int", "amax_uint", "amin_uint"]
        );
    }
}
