//! The opcodes of ISA 9 and 11.1, as their rows in [`crate::instruction_set`] state them.

use std::fmt;

use crate::check::Checker;
use crate::instruction::BodyKind;
pub use crate::instruction_set::Opcode;
use crate::layout::Layout;
use crate::numerics::Numerics;
use crate::rule::Rule;
use crate::table::by_name;
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
#[derive(Clone, Copy, Debug)]
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
    /// The opcode's own rule for the generations, if it has one.
    pub(crate) generation_rule: &'static [&'static Rule],
    pub numerics: Numerics,
    pub cost: CostClass,
    /// Tests the opcode's own rules and the engine.
    pub(crate) judge: fn(&mut Checker),
    /// Ids of the opcode's own rules, as ISA 11.1 lists them.
    pub rules: &'static str,
    /// One line of meaning.
    pub summary: &'static str,
}

impl OpcodeInfo {
    pub fn layout(&self) -> &'static Layout {
        self.body.layout()
    }
}

macro_rules! opcodes {
    ($($number:literal $variant:ident $body:ident [$($engine:ident)*] $generations:ident $((by $own:ident))?
       $numerics:ident $cost:ident $judge:path, $rules:literal $summary:literal;)*) => {
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
            pub const fn info(self) -> &'static $crate::opcode::OpcodeInfo {
                &ROWS[self as usize]
            }

            const fn row(self) -> $crate::opcode::OpcodeInfo {
                match self {
                    $(Self::$variant => {
                        $crate::opcode::OpcodeInfo {
                            number: $number,
                            name: stringify!($variant),
                            mnemonic: $crate::names::snake_name!(stringify!($variant)),
                            body: $crate::instruction::BodyKind::$body,
                            engines: $crate::target::Engines::NONE$(.or($crate::target::Engines::$engine))*,
                            generations: $crate::target::Generations::$generations,
                            generation_rule: const { &[$(&$crate::rule::$own)?] },
                            numerics: $crate::numerics::Numerics::$numerics,
                            cost: $crate::opcode::CostClass::$cost,
                            judge: $judge,
                            rules: $rules,
                            summary: $summary,
                        }
                    })*
                }
            }
        }

        $crate::table::by_code!(Opcode, $crate::opcode::OpcodeInfo);
    };
}

pub(crate) use opcodes;

by_name!(Opcode, mnemonic);

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
        matches!(self.info().numerics, Numerics::Bits)
    }

    /// Its immediates are pointers whatever their source fields say (ISA 9.15).
    #[inline]
    pub const fn takes_pointers(self) -> bool {
        matches!(self, Self::TensorScalarPtrArithOp | Self::TensorScalarPtrBitvecOp)
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
