//! One instruction as one line of text, and back.
//!
//! ```text
//! line      = mnemonic { field "=" value | clause } | ".word" 128 hex digits
//! clause    = "wait" ( "sem" n compare value | [ "not" ] "evt" n [ "then" ( "set" | "clear" ) ] )
//!           | verb [ ".done" ] ( "sem" | "evt" ) n [ value ]
//! compare   = "==" | "<" | "<=" | ">" | ">="
//! verb      = "inc" | "dec" | "add" | "sub" | "write" | "set" | "clear"
//! value     = number | NAME | NAME "/" NAME | pattern | immediate | "0x" hex bytes
//! pattern   = address "[" step ":" count { "," step ":" count } "]"
//!           | "gather(" address "," address "," count ")"
//! address   = [ "shape:" ] place | "raw[" 32 bits "]"
//! place     = ( "sbuf" | "psum" | "%" symbol ) "[" "p" partition "," byte "]"
//!           | "addr[" 29 bits "]" | "r" register
//! immediate = float | integer | address | "r" register
//! ```
//!
//! * A mnemonic is the opcode's name in lower case ([`crate::OpcodeInfo::mnemonic`]); fields have the
//!   names of ISA 7, in any order; anything from `;` on is a comment.
//! * A pattern lists step and count per dimension, the innermost first; dimensions that are not
//!   listed are `1:1`. `gather(index, data, n)` is the indirect form of ISA 4.4.
//! * `raw[…]` gives an address field bit by bit, for marker combinations without a meaning.
//! * Both nibbles of a dtype pair are named, `FP32/BFLOAT16` being src0 and src1.
//! * Clauses stand for the fields of waits and updates: `wait sem7 >= 3 inc.done sem9`. An update
//!   fires when all sources are read, with `.done` when the instruction is complete. A word has one
//!   value, which its wait and its update share. `not evt5` waits for the event to be clear. Modes
//!   that no clause says (undefined ones, values from registers) print as fields.
//! * An immediate is read by its source field: a decimal number is an fp32 value for an arithmetic
//!   opcode and an integer for a bitvec one, hex is bits; `POINTER` takes an address and
//!   `REG_POINTER` a register.
//! * `%name[p32, 0x10]` is an address relative to something placed later: partition times the SBUF
//!   stride plus the byte. Whoever prints supplies the name, whoever parses is told of it.
//! * A field that is left out has the value of [`crate::Instruction::blank`]. Printing gives the
//!   patterns, dtypes and channels always and every other field, reserved bytes too, when it differs
//!   from that; so `parse(format(w)) == w` for all 64-byte values. A word whose opcode has no struct
//!   prints as `.word`.
//!
//! Partition strides depend on the generation, hence the target.

mod events;
mod format;
mod parse;
mod parse_value;
mod write;

use std::fmt;
use std::ops::Range;

pub use format::{Names, field_text, format, format_into, format_plain};
pub use parse::{parse, parse_plain, parse_word};
pub(crate) use parse_value::Cursor;

/// Why a line was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsmError {
    /// Byte range of the offending text within the line.
    pub span: Range<usize>,
    pub message: String,
    /// What to write instead; may be empty.
    pub help: String,
}

impl AsmError {
    pub(crate) fn new(
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { span, message: message.into(), help: help.into() }
    }
}

impl fmt::Display for AsmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.span.start + 1, self.message)?;
        if !self.help.is_empty() {
            write!(f, " ({})", self.help)?;
        }
        Ok(())
    }
}

impl std::error::Error for AsmError {}
