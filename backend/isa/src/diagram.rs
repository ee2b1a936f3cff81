//! A word drawn as four rows of sixteen bytes, with a letter for each field.

use std::fmt::{self, Write};

use crate::field::{Field, FieldKind};
use crate::layout::{Events, Header, Layout};
use crate::word::WORD_BYTES;

/// Header, events and a struct, in the order of their bytes, each with its letter; reserved bytes are
/// dots.
pub(crate) fn lettered(layout: &Layout) -> Vec<(char, &'static Field)> {
    let mut letters = ('A'..='Z').chain('a'..='z');
    let parts = [Header::LAYOUT.fields, Events::LAYOUT.fields, layout.fields];
    let letter = |field: &'static Field| match field.kind {
        FieldKind::Reserved => ('.', field),
        _ => (letters.next().unwrap_or('?'), field),
    };
    parts.into_iter().flatten().copied().map(letter).collect()
}

/// The drawing, each line after `indent`.
pub(crate) fn draw(f: &mut fmt::Formatter<'_>, layout: &Layout, indent: &str) -> fmt::Result {
    let mut bytes = [' '; WORD_BYTES];
    for (letter, field) in lettered(layout) {
        for byte in bytes.iter_mut().skip(field.offset).take(field.size) {
            *byte = letter;
        }
    }
    write!(f, "{indent}     ")?;
    (0..16).try_for_each(|column| write!(f, " {column:x}"))?;
    for (row, bytes) in bytes.chunks(16).enumerate() {
        write!(f, "\n{indent}0x{row}0 ")?;
        for letter in bytes {
            f.write_char(' ')?;
            f.write_char(*letter)?;
        }
    }
    writeln!(f)
}
