//! Data types: codes, sizes and the predicate sets of ISA 5.

use std::fmt;

use crate::names::lower_name;
use crate::table::{by_code, by_name};
use crate::target::Generations;

/// What a data type's bits stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DtypeKind {
    Signed,
    Unsigned,
    Float,
    /// Block scales; never legal in this subset.
    Scale,
    /// Compressed weights; never legal in this subset.
    Compressed,
}

/// One row of the table of ISA 5.1.
#[derive(Clone, Copy, Debug)]
pub struct DtypeInfo {
    pub code: u8,
    /// The name of ISA 5.1, such as `FP8_EXP4`.
    pub name: &'static str,
    pub lower: &'static str,
    /// Width in bits; 0 where the type has no fixed width.
    pub bits: u8,
    /// Bytes of one element; 1 where the type is narrower or has no fixed width.
    pub bytes: u8,
    pub kind: DtypeKind,
    pub generations: Generations,
    /// The bit format.
    pub format: &'static str,
}

const fn bytes(bits: u8) -> u8 {
    if bits < 8 { 1 } else { bits / 8 }
}

macro_rules! dtypes {
    ($($code:literal $variant:ident $name:literal $bits:literal $kind:ident $generations:ident $format:literal;)*) => {
        /// A data type; the discriminant is the code of the DTYPE field.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Dtype {
            $(#[doc = concat!($name, ": ", $format, ".")] $variant = $code,)*
        }

        impl Dtype {
            /// Every data type in the order of its code.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            #[inline]
            pub const fn from_code(code: u8) -> Option<Self> {
                BY_CODE[code as usize]
            }

            #[inline]
            pub const fn info(self) -> &'static DtypeInfo {
                &ROWS[self as usize]
            }

            const fn row(self) -> DtypeInfo {
                match self {
                    $(Self::$variant => DtypeInfo {
                        code: $code,
                        name: $name,
                        lower: lower_name!($name),
                        bits: $bits,
                        bytes: bytes($bits),
                        kind: DtypeKind::$kind,
                        generations: Generations::$generations,
                        format: $format,
                    },)*
                }
            }
        }
    };
}

by_code!(Dtype, DtypeInfo);
by_name!(Dtype, name);

dtypes! {
    0x01 Uint64   "UINT64"   64 Unsigned ALL "unsigned";
    0x02 Int8     "INT8"      8 Signed   ALL "two's complement";
    0x03 Uint8    "UINT8"     8 Unsigned ALL "unsigned";
    0x04 Int16    "INT16"    16 Signed   ALL "two's complement";
    0x05 Uint16   "UINT16"   16 Unsigned ALL "unsigned";
    0x06 Bfloat16 "BFLOAT16" 16 Float    ALL "1-8-7, bias 127";
    0x07 Fp16     "FP16"     16 Float    ALL "1-5-10, bias 15 (IEEE binary16)";
    0x08 Int32    "INT32"    32 Signed   ALL "two's complement";
    0x09 Uint32   "UINT32"   32 Unsigned ALL "unsigned";
    0x0a Fp32     "FP32"     32 Float    ALL "1-8-23, bias 127 (IEEE binary32)";
    0x0b Fp32r    "FP32R"    32 Float    ALL "FP32 container with a 13-bit mantissa, output only";
    0x0c Int64    "INT64"    64 Signed   ALL "two's complement";
    0x0d Fp8Exp3  "FP8_EXP3"  8 Float    ALL "1-3-4, bias 3";
    0x0e Fp8Exp4  "FP8_EXP4"  8 Float    ALL "1-4-3, bias 7";
    0x0f Fp8Exp5  "FP8_EXP5"  8 Float    ALL "1-5-2, bias 15";
    0x10 Fp4Exp2  "FP4_EXP2"  4 Float    FROM_MARIANA "4-bit float, rejected in this subset";
    0x11 Fp8Exp2  "FP8_EXP2"  8 Float    MAVERICK "8-bit float, rejected in this subset";
    0x12 Int4     "INT4"      4 Signed   MAVERICK "4-bit integer, rejected in this subset";
    0x13 Sfp8E8   "SFP8_E8"   8 Scale    MAVERICK "block scale, rejected in this subset";
    0x14 Sfp8E7   "SFP8_E7"   8 Scale    MAVERICK "block scale, rejected in this subset";
    0x15 Sfp8E6   "SFP8_E6"   8 Scale    MAVERICK "block scale, rejected in this subset";
    0x16 Sfp8E5   "SFP8_E5"   8 Scale    MAVERICK "block scale, rejected in this subset";
    0x19 Cptc1    "CPTC1"     0 Compressed FROM_MARIANA "compressed, rejected in this subset";
    0x1a Cptc2    "CPTC2"     0 Compressed FROM_MARIANA "compressed, rejected in this subset";
    0x1b Cptc3    "CPTC3"     0 Compressed FROM_MARIANA "compressed, rejected in this subset";
    0x1c Cptc4    "CPTC4"     0 Compressed FROM_MARIANA "compressed, rejected in this subset";
    0x1d Cptc5    "CPTC5"     0 Compressed FROM_MARIANA "compressed, rejected in this subset";
    0x1e Cptc6    "CPTC6"     0 Compressed FROM_MARIANA "compressed, rejected in this subset";
    0x1f Cptc7    "CPTC7"     0 Compressed FROM_MARIANA "compressed, rejected in this subset";
}

impl Dtype {
    #[inline]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The name of ISA 5.1, such as `FP8_EXP4`.
    #[inline]
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// The data type of this name, in upper or lower case.
    pub fn from_name(name: &str) -> Option<Self> {
        BY_NAME.find(name, Self::ALL, |dtype: Self| dtype.name().eq_ignore_ascii_case(name))
    }

    /// Size of one element in bytes. Types narrower than a byte or without a fixed width (never
    /// legal in this subset) count as 1.
    #[inline]
    pub const fn size(self) -> usize {
        self.info().bytes as usize
    }

    /// Codes 0x1..0xF: those that the instructions of this subset can name at all.
    #[inline]
    const fn is_basic(self) -> bool {
        self.code() <= 0xf
    }

    /// The smallest and largest values, as text, for types of this subset whose bits say them. FP8_EXP4
    /// is told in its IEEE form; with fp8_ocp it reaches 448.
    pub fn limits(self) -> Option<String> {
        let info = self.info();
        match info.kind {
            _ if !self.is_basic() => None,
            DtypeKind::Signed => {
                let half = 1_i128 << (info.bits - 1);
                Some(format!("{} to {}", -half, half - 1))
            }
            DtypeKind::Unsigned => Some(format!("0 to {}", (1_i128 << info.bits) - 1)),
            _ => {
                // "1-5-10, bias 15": widths of sign, exponent and mantissa.
                let widths = info.format.split(',').next()?.strip_prefix("1-")?.split_once('-')?;
                let (exponent, mantissa) =
                    (widths.0.parse::<i32>().ok()?, widths.1.parse::<i32>().ok()?);
                let bias = (1 << (exponent - 1)) - 1;
                let power = |power: i32| 2_f64.powi(power);
                let largest = (2.0 - power(-mantissa)) * power(bias);
                let (normal, subnormal) = (power(1 - bias), power(1 - bias - mantissa));
                Some(format!(
                    "largest {largest:?}, smallest normal {normal:?}, smallest {subnormal:?}"
                ))
            }
        }
    }

    /// `is_valid_int_dtype`: the eight integers of 8 to 64 bits.
    #[inline]
    pub const fn is_int(self) -> bool {
        self.is_basic() && matches!(self.info().kind, DtypeKind::Signed | DtypeKind::Unsigned)
    }

    /// A floating-point type of this subset, FP32R included.
    #[inline]
    pub const fn is_float(self) -> bool {
        self.is_basic() && matches!(self.info().kind, DtypeKind::Float)
    }

    /// A signed integer or a float.
    #[inline]
    pub const fn is_signed(self) -> bool {
        self.is_signed_int() || self.is_float()
    }

    /// `is_signed_int_dtype`.
    #[inline]
    pub const fn is_signed_int(self) -> bool {
        self.is_basic() && matches!(self.info().kind, DtypeKind::Signed)
    }

    /// `is_unsigned_int_dtype`.
    #[inline]
    pub const fn is_unsigned_int(self) -> bool {
        self.is_basic() && matches!(self.info().kind, DtypeKind::Unsigned)
    }

    /// `is_valid_int_dtype_datapath`: integers of at most 32 bits.
    #[inline]
    pub const fn is_int_datapath(self) -> bool {
        self.is_int() && !self.is_64_bit()
    }

    /// `is_valid_fp_dtype_datapath` without FP32R.
    #[inline]
    pub const fn is_float_datapath(self) -> bool {
        self.is_float() && !matches!(self, Self::Fp32r)
    }

    /// `is_valid_32b_int_dtype`.
    #[inline]
    pub const fn is_int32(self) -> bool {
        matches!(self, Self::Int32 | Self::Uint32)
    }

    /// `is_valid_64b_int_dtype`.
    #[inline]
    pub const fn is_64_bit(self) -> bool {
        matches!(self, Self::Int64 | Self::Uint64)
    }

    /// D(in): `is_valid_dtype` without FP32R.
    #[inline]
    pub const fn is_input(self) -> bool {
        self.is_output() && !matches!(self, Self::Fp32r)
    }

    /// D(out): `is_valid_dtype` with FP32R.
    #[inline]
    pub const fn is_output(self) -> bool {
        self.is_basic() && !self.is_64_bit()
    }

    /// D64(in): D(in) and the 64-bit integers.
    #[inline]
    pub const fn is_input_64(self) -> bool {
        self.is_basic() && !matches!(self, Self::Fp32r)
    }

    /// D64(out): D(out) and the 64-bit integers.
    #[inline]
    pub const fn is_output_64(self) -> bool {
        self.is_basic()
    }

    /// Both are integers and both are signed or both unsigned.
    #[inline]
    pub const fn same_signedness(self, other: Self) -> bool {
        self.is_signed_int() && other.is_signed_int()
            || self.is_unsigned_int() && other.is_unsigned_int()
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
