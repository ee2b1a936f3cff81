//! What a field of a word is, and how its bytes become a Rust value.

use crate::enums::EnumTable;
use crate::word::WORD_BYTES;

/// One field of a struct: the row of ISA 7, as data.
#[derive(Debug)]
pub struct Field {
    /// The name of ISA 7, such as `src0_mem_pattern`.
    pub name: &'static str,
    /// What stands before the value in text: ` name=`.
    pub(crate) label: &'static str,
    /// Byte offset in the word.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
    pub kind: FieldKind,
}

impl Field {
    /// The bytes that it takes, one bit a byte of the word.
    #[inline]
    pub(crate) const fn mask(&self) -> u64 {
        ((1 << self.size) - 1) << self.offset
    }
}

/// How a field's bytes are to be read, written as text and explained.
#[derive(Clone, Copy, Debug)]
pub enum FieldKind {
    /// header.opcode.
    Opcode,
    /// An unsigned number, printed in decimal.
    Number,
    /// num_active_channels.
    Channels,
    /// A number whose bits matter, printed in hex.
    Bits,
    /// One DTYPE byte.
    Dtype,
    /// DTYPE_PAIR: low nibble src0, high nibble src1.
    DtypePair,
    /// One ALU_OP byte.
    AluOp,
    /// A one-byte enumeration.
    Enum(&'static EnumTable),
    /// Bytes that must be zero (rule RES).
    Reserved,
    /// An access pattern of that many dimensions.
    Pattern(usize),
    /// The 4-byte IMM union; its source stands in the named field.
    Immediate { source: &'static Field },
    /// An fp32 value.
    Fp32,
    /// Bytes printed in hex.
    Bytes,
}

impl FieldKind {
    /// Text shows these even when they have their blank value: a line reads badly without them.
    pub(crate) const fn is_always_shown(self) -> bool {
        matches!(self, Self::Pattern(_) | Self::Dtype | Self::DtypePair | Self::Channels)
    }
}

/// A value that has a fixed little-endian form in a word.
pub(crate) trait Raw: Sized {
    const SIZE: usize;
    fn get(word: &[u8; WORD_BYTES], offset: usize) -> Self;
    fn put(self, word: &mut [u8; WORD_BYTES], offset: usize);
}

macro_rules! raw_integer {
    ($($int:ty),*) => {$(
        impl Raw for $int {
            const SIZE: usize = size_of::<$int>();

            #[inline]
            fn get(word: &[u8; WORD_BYTES], offset: usize) -> Self {
                Self::from_le_bytes(Raw::get(word, offset))
            }

            #[inline]
            fn put(self, word: &mut [u8; WORD_BYTES], offset: usize) {
                self.to_le_bytes().put(word, offset);
            }
        }
    )*};
}

raw_integer!(u8, u16, i16, u32);

impl<const N: usize> Raw for [u8; N] {
    const SIZE: usize = N;

    /// Offsets come from the tables, whose extent is checked when the crate is built.
    #[inline]
    fn get(word: &[u8; WORD_BYTES], offset: usize) -> Self {
        let mut out = [0; N];
        out.copy_from_slice(&word[offset..offset + N]);
        out
    }

    #[inline]
    fn put(self, word: &mut [u8; WORD_BYTES], offset: usize) {
        word[offset..offset + N].copy_from_slice(&self);
    }
}

/// An access pattern (ISA 4.1): where element 0 lies and how the others follow. Dimension 0 is the
/// innermost. Also holds any other bit pattern of the field, an indirect one included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pattern<const D: usize> {
    /// The ADDR4 union of ISA 3.2.
    pub start_addr: u32,
    /// Signed steps, in elements of the operand's dtype.
    pub step_elem: [i16; D],
    pub num_elem: [u16; D],
}

impl<const D: usize> Pattern<D> {
    /// `n` adjacent elements from `start_addr`; the other dimensions are step 1, count 1.
    pub fn contiguous(start_addr: u32, n: u16) -> Self {
        let mut num_elem = [1; D];
        if let Some(first) = num_elem.first_mut() {
            *first = n;
        }
        Self { start_addr, step_elem: [1; D], num_elem }
    }

    /// Number of elements per channel.
    #[inline]
    pub fn count(&self) -> u64 {
        self.num_elem.iter().map(|&n| u64::from(n)).product()
    }
}

impl<const D: usize> Default for Pattern<D> {
    /// One element at address 0.
    fn default() -> Self {
        Self::contiguous(0, 1)
    }
}

impl<const D: usize> Raw for Pattern<D> {
    const SIZE: usize = 4 + 4 * D;

    #[inline]
    fn get(word: &[u8; WORD_BYTES], offset: usize) -> Self {
        Self {
            start_addr: u32::get(word, offset),
            step_elem: std::array::from_fn(|d| i16::get(word, offset + 4 + 2 * d)),
            num_elem: std::array::from_fn(|d| u16::get(word, offset + 4 + 2 * D + 2 * d)),
        }
    }

    #[inline]
    fn put(self, word: &mut [u8; WORD_BYTES], offset: usize) {
        self.start_addr.put(word, offset);
        for d in 0..D {
            self.step_elem[d].put(word, offset + 4 + 2 * d);
            self.num_elem[d].put(word, offset + 4 + 2 * D + 2 * d);
        }
    }
}
