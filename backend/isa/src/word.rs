//! The 64-byte instruction word as raw bytes.

use std::fmt;
use std::str::FromStr;

/// Bytes of one instruction word.
pub const WORD_BYTES: usize = 64;

/// One instruction word, undecoded. Prints and parses as 128 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Word(pub [u8; WORD_BYTES]);

impl Word {
    /// The words of a block, and the bytes left over (BLK-1 wants none).
    pub fn split(bytes: &[u8]) -> (impl ExactSizeIterator<Item = Word> + '_, &[u8]) {
        let (words, rest) = bytes.as_chunks::<WORD_BYTES>();
        (words.iter().map(|word| Word(*word)), rest)
    }

    /// The bytes at which two words differ, one bit a byte.
    #[inline]
    pub(crate) fn differences(&self, other: &Self) -> u64 {
        let pairs = self.0.iter().zip(&other.0).enumerate();
        pairs.fold(0, |bits, (at, (a, b))| bits | u64::from(a != b) << at)
    }

    pub const fn opcode_byte(&self) -> u8 {
        self.0[0]
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Word({self})")
    }
}

/// A word's hex text was not exactly 128 hex digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HexError {
    /// Number of digits found.
    Length(usize),
    /// Byte offset of the first character that is not a hex digit.
    Digit(usize),
}

impl fmt::Display for HexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(found) => write!(f, "a word has 128 hex digits, found {found}"),
            Self::Digit(offset) => write!(f, "not a hex digit at offset {offset}"),
        }
    }
}

impl std::error::Error for HexError {}

impl FromStr for Word {
    type Err = HexError;

    fn from_str(text: &str) -> Result<Self, HexError> {
        if let Some(offset) = text.bytes().position(|byte| !byte.is_ascii_hexdigit()) {
            return Err(HexError::Digit(offset));
        }
        let mut word = [0; WORD_BYTES];
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if pairs.len() != WORD_BYTES || !rest.is_empty() {
            return Err(HexError::Length(text.len()));
        }
        let nibble = |digit: u8| (digit as char).to_digit(16).unwrap_or(0) as u8;
        for (byte, [high, low]) in word.iter_mut().zip(pairs) {
            *byte = nibble(*high) << 4 | nibble(*low);
        }
        Ok(Self(word))
    }
}
