//! ALU operations: codes, classes and which generation has them (ISA 6.1, 6.2).

use std::fmt;

use crate::names::lower_name;
use crate::table::{by_code, by_name};
use crate::target::{Generation, Generations};

/// What an operation yields (the result column of ISA 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultKind {
    /// An fp32 value, converted to the output dtype.
    Float,
    /// Raw bits at operand width.
    Bits,
    /// An integer at operand width, wrapping.
    Integer,
    /// 0 or 1 in the numeric format of the result.
    Truth,
    /// An element index, UINT32.
    Index,
}

/// One row of the table of ISA 6.1.
#[derive(Clone, Copy, Debug)]
pub struct AluInfo {
    pub code: u8,
    /// The name of ISA 6.1, such as `ADD_INT`.
    pub name: &'static str,
    pub lower: &'static str,
    pub generations: Generations,
    /// Number of operands that matter: 1 or 2.
    pub arity: u8,
    pub semantics: &'static str,
    pub result: ResultKind,
    classes: u16,
}

/// Class letters of a row; the first six are the columns of ISA 6.1.
mod class {
    /// is_arith_op
    pub const A: u16 = 1;
    /// is_general_arith_op
    pub const G: u16 = 1 << 1;
    /// is_bitvec_op
    pub const B: u16 = 1 << 2;
    /// is_valid_int_aluop
    pub const I: u16 = 1 << 3;
    /// is_signed_alu_op
    pub const S: u16 = 1 << 4;
    /// is_unsigned_alu_op
    pub const U: u16 = 1 << 5;
    /// is_valid_cache_reduce_op
    pub const C: u16 = 1 << 6;
    /// is_valid_tensor_reduce_int_op
    pub const R: u16 = 1 << 7;
    /// is_valid_int_aluop_dve
    pub const V: u16 = 1 << 8;
    /// is_argmax_argmin_int_op
    pub const X: u16 = 1 << 9;
    /// is_shift_op
    pub const H: u16 = 1 << 10;
}

macro_rules! alu_ops {
    ($($code:literal $variant:ident $name:literal $generations:ident $arity:literal $semantics:literal $result:ident [$($class:ident)*];)*) => {
        /// An ALU operation; the discriminant is the code of the ALU_OP field. `a` is the left
        /// operand, `b` the right one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum AluOp {
            $(#[doc = concat!($name, ": ", $semantics, ".")] $variant = $code,)*
        }

        impl AluOp {
            /// Every operation in the order of its code.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            #[inline]
            pub const fn from_code(code: u8) -> Option<Self> {
                BY_CODE[code as usize]
            }

            #[inline]
            pub const fn info(self) -> &'static AluInfo {
                &ROWS[self as usize]
            }

            const fn row(self) -> AluInfo {
                match self {
                    $(Self::$variant => AluInfo {
                        code: $code,
                        name: $name,
                        lower: lower_name!($name),
                        generations: Generations::$generations,
                        arity: $arity,
                        semantics: $semantics,
                        result: ResultKind::$result,
                        classes: 0 $(| class::$class)*,
                    },)*
                }
            }
        }
    };
}

by_code!(AluOp, AluInfo);
by_name!(AluOp, name);

alu_ops! {
    0x00 Bypass            "BYPASS"              ALL 2 "a" Float [A G B V];
    0x01 BitwiseNot        "BITWISE_NOT"         ALL 1 "~a" Bits [B];
    0x02 ArithShiftLeft    "ARITH_SHIFT_LEFT"    ALL 2 "a << b" Bits [B H];
    0x03 ArithShiftRight   "ARITH_SHIFT_RIGHT"   ALL 2 "a >> b, top bit copied" Bits [B H];
    0x04 Add               "ADD"                 ALL 2 "a + b" Float [A G C];
    0x05 Subtract          "SUBTRACT"            ALL 2 "a - b" Float [A G C];
    0x06 Mult              "MULT"                ALL 2 "a * b" Float [A G C];
    0x07 Divide            "DIVIDE"              ALL 2 "a / b" Float [A];
    0x08 Max               "MAX"                 ALL 2 "the larger, NaN suppressed" Float [A G C];
    0x09 Min               "MIN"                 ALL 2 "the smaller, NaN suppressed" Float [A G C];
    0x0a BitwiseAnd        "BITWISE_AND"         ALL 2 "a & b" Bits [B];
    0x0b BitwiseOr         "BITWISE_OR"          ALL 2 "a | b" Bits [B];
    0x0c BitwiseXor        "BITWISE_XOR"         ALL 2 "a ^ b" Bits [B];
    0x0d LogicalAnd        "LOGICAL_AND"         ALL 2 "a != 0 and b != 0" Truth [A G];
    0x0e LogicalOr         "LOGICAL_OR"          ALL 2 "a != 0 or b != 0" Truth [A G];
    0x0f LogicalXor        "LOGICAL_XOR"         ALL 2 "(a != 0) != (b != 0)" Truth [A G];
    0x10 LogicalShiftLeft  "LOGICAL_SHIFT_LEFT"  ALL 2 "a << b" Bits [B H];
    0x11 LogicalShiftRight "LOGICAL_SHIFT_RIGHT" ALL 2 "a >> b, zero filled" Bits [B H];
    0x12 IsEq              "IS_EQ"               ALL 2 "a = b" Truth [A G];
    0x13 IsGt              "IS_GT"               ALL 2 "a > b" Truth [A G];
    0x14 IsGe              "IS_GE"               ALL 2 "a >= b" Truth [A G];
    0x15 IsLe              "IS_LE"               ALL 2 "a <= b" Truth [A G];
    0x16 IsLt              "IS_LT"               ALL 2 "a < b" Truth [A G];
    0x17 AbsoluteDiff      "ABSOLUTE_DIFF"       ALL 2 "|a - b|" Float [A G];
    0x18 IsNe              "IS_NE"               ALL 2 "a != b" Truth [A G];
    0x19 AbsoluteValue     "ABSOLUTE_VALUE"      ALL 1 "|a|" Float [A G];
    0x1a Pow               "POW"                 ALL 2 "a to the power b" Float [A];
    0x1b Mod               "MOD"                 ALL 2 "C remainder of integers" Integer [A I S U];
    0x1c Crc32             "CRC32"               ALL 2 "running CRC (reduce and scan forms only)" Bits [B];
    0x1d Rsqrt             "RSQRT"               ALL 1 "1 / sqrt(a)" Float [A];
    0x20 AbsMax            "ABS_MAX"             FROM_MARIANA 2 "max(|a|, |b|)" Float [A G];
    0x21 AbsMin            "ABS_MIN"             FROM_MARIANA 2 "min(|a|, |b|)" Float [A G];
    0x22 ReLu              "RE_LU"               FROM_MARIANA 1 "max(a, 0)" Float [A G];
    0x23 Square            "SQUARE"              FROM_MARIANA 1 "a * a" Float [A G];
    // In no known set; ISA 6.2 accepts it wherever general arithmetic is asked for (OQ-15, OQ-49).
    0x24 SymmetricClamp    "SYMMETRIC_CLAMP"     MAVERICK 2 "sign(a) * max(|a|, |b|)" Float [A G];
    0xc4 AddInt            "ADD_INT"             ALL 2 "a + b" Integer [A I S U R V];
    0xc5 MultInt           "MULT_INT"            ALL 2 "a * b" Integer [A I S U R V];
    0xc6 SubtractInt       "SUBTRACT_INT"        ALL 2 "a - b" Integer [A I S U V];
    0xc7 DivideInt         "DIVIDE_INT"          FROM_CAYMAN 2 "a / b truncated" Integer [A I S U];
    0xc8 ModInt            "MOD_INT"             FROM_CAYMAN 2 "C remainder" Integer [A I S U];
    0xc9 IsEqualInt        "IS_EQUAL_INT"        FROM_CAYMAN 2 "a = b" Truth [I S U V];
    0xca IsNeInt           "IS_NE_INT"           FROM_CAYMAN 2 "a != b" Truth [I S U V];
    0xcb AbsMaxInt         "ABS_MAX_INT"         FROM_CAYMAN 2 "max(|a|, |b|)" Integer [I S R V];
    0xcc AbsMinInt         "ABS_MIN_INT"         FROM_CAYMAN 2 "min(|a|, |b|)" Integer [I S R V];
    0xcd AbsDiffInt        "ABS_DIFF_INT"        FROM_CAYMAN 2 "|a - b|" Integer [I S V];
    0xce AbsValueInt       "ABS_VALUE_INT"       FROM_CAYMAN 1 "|a|" Integer [];
    0xcf MaxInt            "MAX_INT"             FROM_CAYMAN 2 "signed maximum" Integer [I S R V];
    0xd0 MinInt            "MIN_INT"             FROM_CAYMAN 2 "signed minimum" Integer [I S R V];
    0xd1 IsGtInt           "IS_GT_INT"           FROM_CAYMAN 2 "a > b signed" Truth [I S V];
    0xd2 IsGeInt           "IS_GE_INT"           FROM_CAYMAN 2 "a >= b signed" Truth [I S V];
    0xd3 IsLeInt           "IS_LE_INT"           FROM_CAYMAN 2 "a <= b signed" Truth [I S V];
    0xd4 IsLtInt           "IS_LT_INT"           FROM_CAYMAN 2 "a < b signed" Truth [I S V];
    0xd5 MaxUint           "MAX_UINT"            FROM_CAYMAN 2 "unsigned maximum" Integer [I U R];
    0xd6 MinUint           "MIN_UINT"            FROM_CAYMAN 2 "unsigned minimum" Integer [I U R];
    0xd7 IsGtUint          "IS_GT_UINT"          FROM_CAYMAN 2 "a > b unsigned" Truth [I U];
    0xd8 IsGeUint          "IS_GE_UINT"          FROM_CAYMAN 2 "a >= b unsigned" Truth [I U];
    0xd9 IsLeUint          "IS_LE_UINT"          FROM_CAYMAN 2 "a <= b unsigned" Truth [I U];
    0xda IsLtUint          "IS_LT_UINT"          FROM_CAYMAN 2 "a < b unsigned" Truth [I U];
    0xdb MultUint          "MULT_UINT"           FROM_CAYMAN 2 "a * b" Integer [I U R];
    0xdc DivideUint        "DIVIDE_UINT"         FROM_CAYMAN 2 "a / b" Integer [I U];
    0xdd ModUint           "MOD_UINT"            FROM_CAYMAN 2 "a mod b" Integer [I U];
    0xde AmaxInt           "AMAX_INT"            FROM_CAYMAN 2 "index of the first signed maximum" Index [R X];
    0xdf AminInt           "AMIN_INT"            FROM_CAYMAN 2 "index of the first signed minimum" Index [R X];
    0xe0 AmaxUint          "AMAX_UINT"           FROM_CAYMAN 2 "index of the first unsigned maximum" Index [R X];
    0xe1 AminUint          "AMIN_UINT"           FROM_CAYMAN 2 "index of the first unsigned minimum" Index [R X];
}

impl AluOp {
    #[inline]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The name of ISA 6.1, such as `ADD_INT`.
    #[inline]
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// The name in lower case, as the tensor dialect spells it.
    #[inline]
    pub const fn lower_name(self) -> &'static str {
        self.info().lower
    }

    /// The operation of this name, in upper or lower case.
    pub fn from_name(name: &str) -> Option<Self> {
        BY_NAME.find(name, Self::ALL, |op: Self| op.name().eq_ignore_ascii_case(name))
    }

    /// Number of operands that matter: a unary operation ignores `b` (OQ-16).
    #[inline]
    pub const fn arity(self) -> u8 {
        self.info().arity
    }

    #[inline]
    pub const fn generations(self) -> Generations {
        self.info().generations
    }

    #[inline]
    pub const fn exists_on(self, generation: Generation) -> bool {
        self.info().generations.contains(generation)
    }

    #[inline]
    const fn has(self, class: u16) -> bool {
        self.info().classes & class != 0
    }

    /// `is_bitvec_op`.
    #[inline]
    pub const fn is_bitvec(self) -> bool {
        self.has(class::B)
    }

    /// `is_general_bitvec_op`: without CRC32.
    #[inline]
    pub const fn is_general_bitvec(self) -> bool {
        self.is_bitvec() && !matches!(self, Self::Crc32)
    }

    /// `is_shift_op`.
    #[inline]
    pub const fn is_shift(self) -> bool {
        self.has(class::H)
    }

    #[inline]
    pub const fn is_left_shift(self) -> bool {
        matches!(self, Self::ArithShiftLeft | Self::LogicalShiftLeft)
    }

    #[inline]
    pub const fn is_right_shift(self) -> bool {
        matches!(self, Self::ArithShiftRight | Self::LogicalShiftRight)
    }

    /// `is_arith_op` of the generation, restricted to operations that exist there.
    #[inline]
    pub const fn is_arith(self, generation: Generation) -> bool {
        self.has(class::A) && self.exists_on(generation)
    }

    /// `is_general_arith_op` of the generation.
    #[inline]
    pub const fn is_general_arith(self, generation: Generation) -> bool {
        self.has(class::G) && self.exists_on(generation)
    }

    /// `is_valid_int_aluop`.
    #[inline]
    pub const fn is_int(self) -> bool {
        self.has(class::I)
    }

    /// `is_signed_alu_op`.
    #[inline]
    pub const fn is_signed(self) -> bool {
        self.has(class::S)
    }

    /// `is_unsigned_alu_op`.
    #[inline]
    pub const fn is_unsigned(self) -> bool {
        self.has(class::U)
    }

    /// `is_argmax_argmin_int_op`.
    #[inline]
    pub const fn is_arg(self) -> bool {
        self.has(class::X)
    }

    /// `is_valid_cache_reduce_op`.
    #[inline]
    pub const fn is_cache_reduce(self) -> bool {
        self.has(class::C)
    }

    /// `is_valid_tensor_reduce_int_op` (OQ-14).
    #[inline]
    pub const fn is_tensor_reduce_int(self) -> bool {
        self.has(class::R)
    }

    /// `is_valid_int_aluop_dve` (MAVERICK), BYPASS included.
    #[inline]
    pub const fn is_int_dve(self) -> bool {
        self.has(class::V)
    }

    /// Bits 7:6 are 3: the integer band.
    #[inline]
    pub const fn is_integer_band(self) -> bool {
        self.code() >> 6 == 3
    }

    /// A comparison, or a logical operation: the result is 0 or 1.
    #[inline]
    pub const fn is_truth(self) -> bool {
        matches!(self.info().result, ResultKind::Truth)
    }
}

impl fmt::Display for AluOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
