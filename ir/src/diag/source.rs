//! A named text and places in it.

use std::ops::Range;
use std::sync::OnceLock;

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
    /// Where each line starts, gathered when first asked for.
    lines: OnceLock<Vec<usize>>,
}

impl Source {
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), lines: OnceLock::new() }
    }

    fn lines(&self) -> &[usize] {
        self.lines.get_or_init(|| {
            let newlines = self.text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
            // A byte order mark is no character of the first line.
            let first = if self.text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
            [first].into_iter().chain(newlines.map(|(at, _)| at + 1)).collect()
        })
    }

    /// Number of the line, from 0, that holds a byte.
    fn line_index(&self, offset: usize) -> usize {
        self.lines().partition_point(|&start| start <= offset).saturating_sub(1)
    }

    /// Where the line that holds a byte starts.
    pub(super) fn line_start(&self, offset: usize) -> usize {
        self.lines().get(self.line_index(offset)).copied().unwrap_or(0)
    }

    /// The line that starts at a byte, without its end.
    pub(super) fn line_at(&self, start: usize) -> &str {
        let end =
            self.lines().get(self.line_index(start) + 1).map_or(self.text.len(), |&next| next - 1);
        self.text.get(start..end).unwrap_or("")
    }

    /// Line and column of a byte offset, both from 1; the column counts
    /// characters.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.line_index(offset);
        let before = self.text.get(self.line_start(offset)..offset).unwrap_or("");
        (line + 1, 1 + before.chars().count())
    }
}
