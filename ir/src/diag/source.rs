//! A named text and places in it.

use std::ops::Range;

use serde::Serialize;

/// A range of bytes in a [`Source`]. The default is nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Default for Span {
    fn default() -> Self {
        Span::NONE
    }
}

impl Span {
    /// The span of what was not read from a text.
    pub const NONE: Span = Span { start: u32::MAX, end: u32::MAX };

    /// Offsets past 4 GiB saturate; such a text is refused before it is read.
    pub fn new(start: usize, end: usize) -> Self {
        let clip = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX - 1);
        Self { start: clip(start), end: clip(end) }
    }

    pub fn is_none(self) -> bool {
        self == Span::NONE
    }

    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A text and the name it is reported under.
#[derive(Clone, Debug)]
pub struct Source {
    pub name: String,
    pub text: String,
}

impl Source {
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// Line and column of a byte offset, both from 1; the column counts
    /// characters.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let before = floor_boundary(&self.text, offset);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = 1 + before.bytes().filter(|&byte| byte == b'\n').count();
        (line, 1 + before[line_start..].chars().count())
    }
}

/// The text before an offset, cut at a character.
fn floor_boundary(text: &str, offset: usize) -> &str {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
