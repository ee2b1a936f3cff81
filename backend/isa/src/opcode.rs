//! The opcodes of ISA 9 and 11.1: one row each.

use std::fmt;

use crate::instruction::BodyKind;
use crate::layout::Layout;
use crate::names::snake_name;
use crate::table::{by_code, by_name};
use crate::target::{Engines, Generation, Generations};

/// How a cost profile prices a word: the rows of the cycle tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CostClass {
    /// One source, element by element: copies, casts, tensor-scalar.
    Elementwise,
    /// Two sources, element by element.
    TensorTensor,
    /// Two sources with a scalar stage.
    ScalarTensorTensor,
    Reduce,
    TransposeReduce,
    TransposeScalar,
    /// Shuffle and transpose of the stream.
    Stream,
    /// A fixed cost whatever the size.
    Fixed,
    Scan,
    CacheScan,
    CacheReduce,
    Exponential,
    Reciprocal,
    Predicated,
    Select,
    CrossLane,
    ExtendedTensorTensor,
    /// Validated but not executed.
    Unpriced,
}

/// One row of the opcode table.
#[derive(Debug)]
pub struct OpcodeInfo {
    pub number: u8,
    /// The name of ISA 11.1, such as `TensorTensorArithOp`.
    pub name: &'static str,
    /// The name in assembler text: the words of `name` in lower case, joined by underscores, a final
    /// `Op` dropped.
    pub mnemonic: &'static str,
    pub body: BodyKind,
    /// Engines that accept the opcode in at least one form.
    pub engines: Engines,
    pub generations: Generations,
    /// Ids of the opcode's own rules, as ISA 11.1 lists them.
    pub rules: &'static str,
    pub cost: CostClass,
    /// One line of meaning.
    pub summary: &'static str,
}

impl OpcodeInfo {
    pub fn layout(&self) -> &'static Layout {
        self.body.layout()
    }
}

macro_rules! opcodes {
    ($($number:literal $variant:ident $body:ident [$($engine:ident)*] $generations:ident $rules:literal $cost:ident $summary:literal;)*) => {
        /// An instruction's operation; the discriminant is the number of header.opcode. 0xf0 stands
        /// for its sub-opcode 2.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Opcode {
            $(#[doc = $summary] $variant = $number,)*
        }

        impl Opcode {
            /// Every opcode in the order of its number.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            #[inline]
            pub const fn from_number(number: u8) -> Option<Self> {
                BY_CODE[number as usize]
            }

            #[inline]
            pub const fn info(self) -> &'static OpcodeInfo {
                ROWS[self as usize]
            }

            const fn row(self) -> &'static OpcodeInfo {
                match self {
                    $(Self::$variant => {
                        const INFO: OpcodeInfo = OpcodeInfo {
                            number: $number,
                            name: stringify!($variant),
                            mnemonic: snake_name!(stringify!($variant)),
                            body: BodyKind::$body,
                            engines: Engines::NONE$(.or(Engines::$engine))*,
                            generations: Generations::$generations,
                            rules: $rules,
                            cost: CostClass::$cost,
                            summary: $summary,
                        };
                        &INFO
                    })*
                }
            }
        }
    };
}

by_code!(Opcode, OpcodeInfo);
by_name!(Opcode, mnemonic);

opcodes! {
    0x30 Exponential TensorScalar [DVE] FROM_MARIANA "EX-1..8" Exponential
        "exp(src - imm0), optionally summed into the DVE accumulator";
    0x41 TensorTensorArithOp TensorTensor [DVE POOL] ALL "TT-1..15, TT-E1, TT-E2, TT-E4" TensorTensor
        "src0 op src1, element by element";
    0x42 TensorReduceArithOp TensorReduce [DVE POOL] ALL "TR-1..13, TR-E1, TR-E2" Reduce
        "reduction of the innermost dimensions of each channel";
    0x43 TensorScalarArithOp TensorScalar [DVE POOL] ALL "TS-1..15, TS-E1" Elementwise
        "(src op0 imm0) op1 imm1; on POOL only the RSQRT form";
    0x44 TensorScalarPtrArithOp TensorScalar [DVE] ALL "TP-1..3" Elementwise
        "TensorScalarArithOp with two pointer immediates (deprecated)";
    0x46 Copy TensorReduce [DVE ACT POOL] ALL "CC-1..7, CC-E1" Elementwise
        "bits moved unchanged";
    0x47 Cast TensorReduce [DVE ACT POOL] ALL "CC-1..7, CC-E1" Elementwise
        "conversion between data types through fp32";
    0x48 Reciprocal TensorReduce [DVE ACT] ALL "CC-1..7" Reciprocal
        "1 / src, exactly rounded in fp32";
    0x4e TensorCumulativeArithOp TensorReduce [DVE] ALL "TC-1..11, TC-E1" Scan
        "inclusive scan along the innermost dimensions";
    0x51 TensorTensorBitvecOp TensorTensor [DVE POOL] ALL "TT-1..14, TT-E3, TT-E4" TensorTensor
        "src0 op src1 on raw bits";
    0x52 TensorReduceBitvecOp TensorReduce [DVE] ALL "TR-1..11, TR-E1" Reduce
        "reduction of raw bits over the innermost dimensions of each channel";
    0x53 TensorScalarBitvecOp TensorScalar [DVE] ALL "TS-1..15, TS-E1" Elementwise
        "(src op0 imm0) op1 imm1 on raw bits";
    0x54 TensorScalarPtrBitvecOp TensorScalar [DVE] ALL "TP-1..3" Elementwise
        "TensorScalarBitvecOp with two pointer immediates (deprecated)";
    0x5e TensorCumulativeBitvecOp TensorReduce [DVE] ALL "TC-1..10, TC-E1" Scan
        "inclusive scan of raw bits along the innermost dimensions";
    0x65 BatchNormBackProp TensorTensor [DVE] ALL "BB-1..3" Unpriced
        "validated but not executed";
    0x69 LoadMaskSelect LoadMaskSelect [DVE] ALL "MSK-1..2" Fixed
        "loads the 32-entry lane table of StreamShuffle and StreamTranspose";
    0x6a StreamShuffle TensorReduce [DVE] ALL "SS-1..4" Stream
        "lanes of each block of 32 channels moved by the lane table";
    0x6b StreamTranspose TensorReduce [DVE] ALL "ST-1..8" Stream
        "transpose of each tile of 32 channels by 32 elements";
    0x72 CopyPredicated TensorTensor [DVE] ALL "CP-1..8" Predicated
        "src1 copied where src0 is not zero";
    0x7c CrossLaneReduceArith CrossLaneReduce [POOL] ALL "CR-1..11" CrossLane
        "sum, average or maximum over channels";
    0x7d CrossLaneReduceBitvec CrossLaneReduce [POOL] ALL "CR-1..11" CrossLane
        "or, and, xor over channels";
    0x83 TransposeTensorReduceArithOp TensorReduce [DVE POOL] ALL "TTR-1..5, TTR-E1" TransposeReduce
        "TensorReduceArithOp of the source transposed in 32 by 32 tiles";
    0x84 TransposeTensorReduceBitvecOp TensorReduce [DVE] ALL "TTR-1..5, TTR-E1" TransposeReduce
        "TensorReduceBitvecOp of the source transposed in 32 by 32 tiles";
    0x8a TensorTensorAddBf16 TensorTensor [POOL] SUNDA "TB-1..9" TensorTensor
        "src0 + src1 of packed BF16";
    0x8b TensorTensorMultBf16 TensorTensor [POOL] SUNDA "TB-1..9" TensorTensor
        "src0 * src1 of packed BF16";
    0x8c TensorReduceAddBf16 TensorReduce [POOL] SUNDA "RB-1..4" Reduce
        "sum of packed BF16 over the innermost dimensions";
    0x8d TensorReduceMaxBf16 TensorReduce [POOL] SUNDA "RB-1..4" Reduce
        "maximum of packed BF16 over the innermost dimensions";
    0x8f TensorTensorSubtractBf16 TensorTensor [POOL] SUNDA "TB-1..9" TensorTensor
        "src0 - src1 of packed BF16";
    0x93 TransposeTensorScalarArithOp TensorScalar [DVE] ALL "TTS-1..3" TransposeScalar
        "TensorScalarArithOp of the source transposed in 32 by 32 tiles";
    0x98 TensorScalarSelect TensorScalarSelect [DVE] ALL "SEL-1..8" Select
        "src0 or an immediate, chosen by one scalar per channel";
    0x99 CastPredicated TensorTensor [DVE] ALL "CP-1..8" Predicated
        "src1 converted where src0 is not zero";
    0x9a TensorScalarCacheReduce TensorScalar [DVE] ALL "CA-1..11" CacheReduce
        "running acc = acc op1 (src op0 imm0); the last value is written";
    0x9d ScalarTensorTensorArith ScalarTensorTensor [DVE] ALL "STT-1..12" ScalarTensorTensor
        "(src0 op0 imm0) op1 src1";
    0x9e ScalarTensorTensorBitvec ScalarTensorTensor [DVE] ALL "STT-1..13" ScalarTensorTensor
        "(src0 op0 imm0) op1 src1 on raw bits";
    0xe6 TensorScalarCacheCumulative TensorScalar [DVE] ALL "CA-1..11" CacheScan
        "running acc = acc op1 (src op0 imm0); every value is written";
    0xf0 ExtendedTensorTensorArith ExtendedTensorTensor [POOL] ALL "XA-1..6" ExtendedTensorTensor
        "src0 + src1 or src0 * src1 over multiples of 16 channels";
}

impl Opcode {
    #[inline]
    pub const fn number(self) -> u8 {
        self as u8
    }

    #[inline]
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    #[inline]
    pub const fn mnemonic(self) -> &'static str {
        self.info().mnemonic
    }

    /// The opcode of this mnemonic.
    pub fn from_mnemonic(mnemonic: &str) -> Option<Self> {
        BY_NAME.find(mnemonic, Self::ALL, |opcode: Self| opcode.mnemonic() == mnemonic)
    }

    #[inline]
    pub const fn exists_on(self, generation: Generation) -> bool {
        self.info().generations.contains(generation)
    }

    /// Computes on raw bits (N-1), so that immediates have the width of the data.
    #[inline]
    pub const fn is_bitvec(self) -> bool {
        use Opcode::*;
        matches!(
            self,
            TensorTensorBitvecOp
                | TensorReduceBitvecOp
                | TensorScalarBitvecOp
                | TensorScalarPtrBitvecOp
                | TensorCumulativeBitvecOp
                | TransposeTensorReduceBitvecOp
                | ScalarTensorTensorBitvec
                | CrossLaneReduceBitvec
        )
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Opcode numbers that exist on SUNDA (ISA 1), whether or not this subset specifies them: inclusive
/// ranges.
const DEFINED: &[(u8, u8)] = &[
    (0x01, 0x05),
    (0x21, 0x24),
    (0x30, 0x30),
    (0x41, 0x4f),
    (0x51, 0x54),
    (0x58, 0x58),
    (0x5e, 0x74),
    (0x76, 0x7f),
    (0x82, 0x88),
    (0x8a, 0x8f),
    (0x92, 0x96),
    (0x98, 0xab),
    (0xb0, 0xb3),
    (0xb5, 0xb5),
    (0xb8, 0xb8),
    (0xbb, 0xbb),
    (0xc1, 0xd6),
    (0xd8, 0xdf),
    (0xe5, 0xe8),
    (0xea, 0xea),
    (0xf0, 0xf0),
];

/// [`DEFINED`] by number.
const DEFINED_ON_SUNDA: [bool; 256] = {
    let mut defined = [false; 256];
    let mut i = 0;
    while i < DEFINED.len() {
        let mut number = DEFINED[i].0;
        while number <= DEFINED[i].1 {
            defined[number as usize] = true;
            number += 1;
        }
        i += 1;
    }
    defined
};

/// Whether header.opcode may hold this number on the generation (HDR-1). 0xff, INVALID, never may.
#[inline]
pub const fn is_defined(number: u8, generation: Generation) -> bool {
    match number {
        0x8a..=0x8d | 0x8f => matches!(generation, Generation::Sunda),
        0xf3 | 0xf4 => matches!(generation, Generation::Maverick),
        _ => DEFINED_ON_SUNDA[number as usize],
    }
}
