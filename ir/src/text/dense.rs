//! What stands in `dense<…>`: read element by element, since constants are large.

use std::num::IntErrorKind;

use crate::data::TensorData;
use crate::literal::Literal;
use crate::types::{ElemType, MAX_RANK, TensorType};

/// What is wrong in a constant, and at which byte of the payload.
#[derive(Debug, PartialEq, Eq)]
pub struct DenseError {
    pub at: usize,
    pub message: String,
}

type Result<T> = std::result::Result<T, DenseError>;

fn error<T>(at: usize, message: impl Into<String>) -> Result<T> {
    Err(DenseError { at, message: message.into() })
}

/// The most bytes that one literal for all elements may stand for.
const MAX_SPLAT_BYTES: u64 = 1 << 30;

/// Reads a payload, the text between the angle brackets.
///
/// # Errors
/// The payload is malformed, does not match the shape, or holds a literal that
/// the element type has no value for.
pub fn read(payload: &str, ty: &TensorType) -> Result<TensorData> {
    read_as(payload, ty, element_bits)
}

/// Reads the payload of a constant of doubles, each rounded once to `f32`, the element type of `ty`.
///
/// # Errors
/// As [`read`].
pub fn read_f64(payload: &str, ty: &TensorType) -> Result<TensorData> {
    read_as(payload, ty, |literal, _| {
        let value = match literal {
            Literal::Bits(bits) => f64::from_bits(bits),
            Literal::Float(value) => value,
            Literal::Int(value) => value as f64,
            Literal::Bool(_) => return Err("a truth value is no number".to_owned()),
        };
        Ok(u64::from((value as f32).to_bits()))
    })
}

/// The bits of an element that a word spells.
///
/// # Errors
/// The word is no literal, or the type has no value for it.
pub fn element(word: &str, dtype: ElemType) -> std::result::Result<u64, String> {
    element_bits(literal(word)?, dtype)
}

fn element_bits(literal: Literal, dtype: ElemType) -> std::result::Result<u64, String> {
    literal.to_bits(dtype).map_err(|error| error.to_string())
}

/// Gives a literal its bits in an element type.
type ToBits = fn(Literal, ElemType) -> std::result::Result<u64, String>;

fn read_as(payload: &str, ty: &TensorType, to_bits: ToBits) -> Result<TensorData> {
    if ty.bytes().is_none_or(|bytes| bytes > MAX_SPLAT_BYTES) {
        return error(0, format!("a constant of type `{ty}` is too large to be held"));
    }
    let mut reader = Reader { text: payload, pos: 0, to_bits };
    reader.space();
    let data = match reader.peek() {
        Some(b'"') => reader.hex_string(ty)?,
        Some(b'[') => reader.lists(ty)?,
        _ => {
            let at = reader.pos;
            let bits = reader.element(ty)?;
            TensorData::splat(ty.clone(), bits).or_else(|e| error(at, e.to_string()))?
        }
    };
    reader.space();
    if reader.pos < payload.len() {
        return error(reader.pos, "the constant should end here");
    }
    Ok(data)
}

struct Reader<'a> {
    text: &'a str,
    pos: usize,
    to_bits: ToBits,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    /// Skips white space and comments.
    fn space(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => self.pos += 1,
                b'/' if self.text[self.pos..].starts_with("//") => {
                    self.pos = self.text[self.pos..]
                        .find('\n')
                        .map_or(self.text.len(), |end| self.pos + end);
                }
                _ => return,
            }
        }
    }

    /// Nested lists, walked without recursion: `open` counts the brackets open,
    /// `filled[d]` the entries seen in the list at depth `d`.
    fn lists(&mut self, ty: &TensorType) -> Result<TensorData> {
        let rank = ty.rank();
        let size = ty.dtype.size_bytes() as usize;
        // The text must spell every element, so it bounds what is worth reserving.
        let mut bytes: Vec<u8> =
            Vec::with_capacity(self.text.len().min(ty.bytes().unwrap_or(0) as usize));
        let mut filled = [0u64; MAX_RANK];
        let mut open = 0;
        let mut wants_entry = true;
        let mut just_opened = false;
        loop {
            self.space();
            let at = self.pos;
            match self.peek() {
                Some(b'[') if wants_entry && open < rank => {
                    filled[open] = 0;
                    open += 1;
                    just_opened = true;
                    self.pos += 1;
                }
                Some(b'[') if wants_entry => {
                    return error(at, format!("lists are nested deeper than the rank, {rank}"));
                }
                Some(b']') if open > 0 && (just_opened || !wants_entry) => {
                    open -= 1;
                    let (expected, found) = (ty.shape[open], filled[open]);
                    if found != expected {
                        return error(
                            at,
                            format!(
                                "{found} entries in dimension {open}, whose size is {expected}"
                            ),
                        );
                    }
                    self.pos += 1;
                    if open == 0 {
                        return TensorData::new(ty.clone(), bytes)
                            .or_else(|e| error(at, e.to_string()));
                    }
                    filled[open - 1] += 1;
                    (wants_entry, just_opened) = (false, false);
                }
                Some(b',') if !wants_entry => {
                    self.pos += 1;
                    (wants_entry, just_opened) = (true, false);
                }
                Some(_) if wants_entry && open == rank => {
                    let bits = self.element(ty)?;
                    bytes.extend_from_slice(&bits.to_le_bytes()[..size]);
                    filled[open - 1] += 1;
                    (wants_entry, just_opened) = (false, false);
                }
                Some(_) if wants_entry => {
                    return error(at, format!("a list belongs here: the rank is {rank}"));
                }
                Some(_) => return error(at, "expected `,` or `]`"),
                None => return error(at, "a `]` is missing"),
            }
        }
    }

    /// One element's bits.
    fn element(&mut self, ty: &TensorType) -> Result<u64> {
        let at = self.pos;
        let rest = &self.text[at..];
        let end = rest
            .bytes()
            .position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'.' | b'+' | b'-')))
            .unwrap_or(rest.len());
        let word = &rest[..end];
        if word.is_empty() {
            return error(at, "a number belongs here");
        }
        let literal = literal(word).or_else(|message| error(at, message))?;
        self.pos += end;
        (self.to_bits)(literal, ty.dtype).or_else(|message| error(at, message))
    }

    /// `"0x0102…"`: the bytes as they lie in memory.
    fn hex_string(&mut self, ty: &TensorType) -> Result<TensorData> {
        let at = self.pos;
        let body = &self.text[at + 1..];
        let Some(length) = body.find('"') else { return error(at, "the string is not closed") };
        let Some(digits) = body[..length].strip_prefix("0x") else {
            return error(at, "bytes are written as `\"0x…\"`");
        };
        let digit = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
        let mut bytes = Vec::with_capacity(digits.len() / 2);
        for pair in digits.as_bytes().chunks(2) {
            match *pair {
                [high, low] => match (digit(high), digit(low)) {
                    (Some(high), Some(low)) => bytes.push(high << 4 | low),
                    _ => return error(at + 3 + 2 * bytes.len(), "not a hexadecimal digit"),
                },
                _ => return error(at + length, "an odd number of hexadecimal digits"),
            }
        }
        self.pos = at + length + 2;
        TensorData::new(ty.clone(), bytes).or_else(|e| error(at, e.to_string()))
    }
}

/// Reads a literal as the grammar spells it.
///
/// # Errors
/// The word is no literal, or is beyond what any element type holds.
pub fn literal(word: &str) -> std::result::Result<Literal, String> {
    if let Some(hex) = word.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).map(Literal::Bits).map_err(|error| {
            match error.kind() {
                IntErrorKind::PosOverflow => format!("`{word}` has more than 64 bits"),
                _ => format!("`{word}` is not a number"),
            }
        });
    }
    match word {
        "true" => return Ok(Literal::Bool(true)),
        "false" => return Ok(Literal::Bool(false)),
        "inf" => return Ok(Literal::Float(f64::INFINITY)),
        "-inf" => return Ok(Literal::Float(f64::NEG_INFINITY)),
        "nan" | "-nan" => return Ok(Literal::Float(f64::NAN)),
        _ => {}
    }
    let digits = word.strip_prefix('-').unwrap_or(word);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(format!("`{word}` is not a number"));
    }
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        return match word.parse() {
            Ok(value) => Ok(Literal::Int(value)),
            // Beyond 128 bits only a float type can hold it.
            Err(_) => finite(word),
        };
    }
    finite(word)
}

fn finite(word: &str) -> std::result::Result<Literal, String> {
    match word.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Literal::Float(value)),
        Ok(_) => Err(format!("`{word}` is beyond every float type; write `inf`")),
        Err(_) => Err(format!("`{word}` is not a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(text: &str, shape: &[u64]) -> std::result::Result<Vec<i128>, String> {
        let ty = TensorType::new(shape.iter().copied(), ElemType::I16);
        read(text, &ty).map(|data| data.to_ints()).map_err(|e| format!("{}: {}", e.at, e.message))
    }

    #[test]
    fn lists_match_the_shape() {
        assert_eq!(
            ints("[[1, -2], [0x7FFF, 0xFFFF] // two\n]", &[2, 2]),
            Ok(vec![1, -2, 32767, -1])
        );
        assert_eq!(ints("7", &[3]), Ok(vec![7, 7, 7]));
        assert_eq!(ints("\"0x0100feff\"", &[2]), Ok(vec![1, -2]));
        assert_eq!(ints("[]", &[0]), Ok(vec![]));
        assert_eq!(ints("[[], []]", &[2, 0]), Ok(vec![]));
        assert_eq!(ints("5", &[]), Ok(vec![5]));
    }

    #[test]
    fn mismatches_are_placed() {
        let wrong = |text: &str, shape: &[u64]| ints(text, shape).unwrap_err();
        assert_eq!(wrong("[1, 2, 3]", &[2]), "8: 3 entries in dimension 0, whose size is 2");
        assert_eq!(wrong("[[1], [2, 3]]", &[2, 2]), "3: 1 entries in dimension 1, whose size is 2");
        assert_eq!(wrong("[1, 2]", &[1, 2]), "1: a list belongs here: the rank is 2");
        assert_eq!(wrong("[[1]]", &[1]), "1: lists are nested deeper than the rank, 1");
        assert_eq!(
            wrong("[1, 40000]", &[2]),
            "4: `40000` does not fit `i16`, whose values are -32768 to 32767"
        );
        assert_eq!(wrong("[1,]", &[1]), "3: a number belongs here");
        assert_eq!(wrong("[1 2]", &[2]), "3: expected `,` or `]`");
        assert_eq!(wrong("[1", &[1]), "2: a `]` is missing");
        assert_eq!(wrong("[1] 2", &[1]), "4: the constant should end here");
        assert_eq!(wrong("\"0x01\"", &[1]).split(':').next(), Some("0"));
        let deep = "[".repeat(10_000);
        assert_eq!(wrong(&deep, &[1, 1]), "2: lists are nested deeper than the rank, 2");
    }

    #[test]
    fn splats_cannot_ask_for_all_memory() {
        assert!(wrong_size().contains("too large"));
    }

    fn wrong_size() -> String {
        ints("1", &[1 << 40]).unwrap_err()
    }
}
