//! Cuts a module's text into pieces before the grammar sees it.
//!
//! A piece is a function's header, one statement, a closing brace, or a line of
//! module syntax. The cuts depend on a few words only: `%name =`, `return`, `check.…`,
//! `func` and the like begin a piece wherever they stand, since none of them can
//! occur within another. A wrong statement thus costs itself and nothing else.
//! Brackets are counted on the way, because the grammar recurses on the stack.

use super::BYTE_ORDER_MARK;

/// What a piece is, judged by its first word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// `target cayman`
    Target,
    /// `module {`
    ModuleOpen,
    /// `func @name(…) -> … {`
    Header,
    /// `%y = …`, `return …`, or something unknown.
    Statement,
    /// An instruction or transfer: one line, read by the machine's own syntax.
    Machine,
    /// `}`
    Close,
}

/// A piece of text, `start..end` in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub kind: PieceKind,
    pub start: usize,
    pub end: usize,
    /// Where brackets pass [`MAX_NESTING`].
    pub too_deep: Option<usize>,
    /// Bytes within `dense<…>`, which the grammar skips in one step.
    pub payload: usize,
}

/// The deepest brackets allowed outside `dense<…>`.
pub const MAX_NESTING: u32 = 32;

/// Yields the pieces of a text in order; together they hold everything but
/// white space and comments between pieces.
pub struct Scanner<'a> {
    bytes: &'a [u8],
    pos: usize,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a str) -> Self {
        let pos = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        Self { bytes: text.as_bytes(), pos }
    }

    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// The end of the run of name characters from `at`.
    fn word_end(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or(&[]);
        at + rest.iter().position(|&b| !is_word(b)).unwrap_or(rest.len())
    }

    fn line_end(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or(&[]);
        at + rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len())
    }

    fn skip_space(&self, mut at: usize) -> usize {
        while matches!(self.byte(at), b' ' | b'\t' | b'\r' | b'\n') {
            at += 1;
        }
        at
    }

    fn skip_trivia(&self, mut at: usize) -> usize {
        loop {
            at = self.skip_space(at);
            if self.byte(at) != b'/' || self.byte(at + 1) != b'/' {
                return at;
            }
            at = self.line_end(at);
        }
    }

    /// The end of a string that starts at `at`; one that is never closed ends
    /// with its line.
    fn string_end(&self, mut at: usize) -> usize {
        at += 1;
        while at < self.bytes.len() {
            match self.byte(at) {
                b'"' => return at + 1,
                b'\n' => return at,
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        self.bytes.len()
    }

    /// The kind of the piece that begins with this word.
    fn head_kind(word: &[u8]) -> Option<PieceKind> {
        match word {
            b"func" | b"func.func" => Some(PieceKind::Header),
            b"module" => Some(PieceKind::ModuleOpen),
            b"target" => Some(PieceKind::Target),
            b"return" => Some(PieceKind::Statement),
            _ if word.starts_with(b"check.") => Some(PieceKind::Statement),
            _ if word.starts_with(b"tile.") || word.starts_with(b"tpb.") => {
                Some(PieceKind::Machine)
            }
            _ => None,
        }
    }

    fn piece(&mut self, kind: PieceKind, start: usize) -> Piece {
        let mut piece = Piece { kind, start, end: start, too_deep: None, payload: 0 };
        match kind {
            PieceKind::Target | PieceKind::Machine => piece.end = self.code_line_end(start),
            _ => self.scan_piece(&mut piece),
        }
        self.pos = piece.end.max(start + 1);
        while piece.end > start && self.byte(piece.end - 1).is_ascii_whitespace() {
            piece.end -= 1;
        }
        piece
    }

    /// The end of a line, a comment at its end left out.
    fn code_line_end(&self, start: usize) -> usize {
        let end = self.line_end(start);
        let mut at = start;
        while at < end {
            match self.byte(at) {
                b'"' => at = self.string_end(at),
                b'/' if self.byte(at + 1) == b'/' => return at,
                _ => at += 1,
            }
        }
        end
    }

    /// Walks words and brackets up to the head of the next piece.
    fn scan_piece(&self, piece: &mut Piece) {
        let opens_body = matches!(piece.kind, PieceKind::Header | PieceKind::ModuleOpen);
        let mut depth = 0u32;
        let mut at = piece.start;
        let mut after_equals = false;
        while at < self.bytes.len() {
            let byte = self.byte(at);
            let was_after_equals = std::mem::take(&mut after_equals);
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => {
                    after_equals = was_after_equals;
                    at += 1;
                }
                b'%' => {
                    let end = self.word_end(at + 1);
                    if at > piece.start && !opens_body && self.byte(self.skip_space(end)) == b'=' {
                        break;
                    }
                    at = end;
                }
                b'@' => at = self.word_end(at + 1),
                b'=' => {
                    after_equals = true;
                    at += 1;
                }
                b'(' | b'[' | b'{' => {
                    if byte == b'{' && depth == 0 && opens_body {
                        at += 1;
                        break;
                    }
                    depth += 1;
                    if depth > MAX_NESTING && piece.too_deep.is_none() {
                        piece.too_deep = Some(at);
                    }
                    at += 1;
                }
                b'}' if at > piece.start && (depth == 0 || !opens_body) => break,
                b')' | b']' | b'}' => {
                    depth = depth.saturating_sub(1);
                    at += 1;
                }
                b'"' => at = self.string_end(at),
                b'/' if self.byte(at + 1) == b'/' => {
                    after_equals = was_after_equals;
                    at = self.line_end(at);
                }
                _ if is_word(byte) => {
                    let end = self.word_end(at);
                    let word = &self.bytes[at..end];
                    if at > piece.start && !was_after_equals && Self::head_kind(word).is_some() {
                        break;
                    }
                    at = end;
                    if word == b"dense" && self.byte(at) == b'<' {
                        let rest = &self.bytes[at..];
                        let length = rest.iter().position(|&b| b == b'>').unwrap_or(rest.len());
                        piece.payload += length;
                        at += length;
                    }
                }
                _ => at += 1,
            }
        }
        piece.end = at.min(self.bytes.len());
    }
}

impl Iterator for Scanner<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let start = self.skip_trivia(self.pos);
        if start >= self.bytes.len() {
            return None;
        }
        let kind = match self.byte(start) {
            b'}' => PieceKind::Close,
            byte if is_word(byte) => Self::head_kind(&self.bytes[start..self.word_end(start)])
                .unwrap_or(PieceKind::Statement),
            _ => PieceKind::Statement,
        };
        Some(self.piece(kind, start))
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<(PieceKind, &str)> {
        Scanner::new(text).map(|piece| (piece.kind, &text[piece.start..piece.end])).collect()
    }

    #[test]
    fn cuts_at_heads_wherever_they_stand() {
        use PieceKind::*;
        let text = "// head\ntarget cayman // chip\nmodule {\nfunc @f(%a: tensor<f32> {random = int(0, 1)}) -> tensor<f32> {\n  %b = x(%a %c = y\n : T return %b : T }\n} // end\n";
        assert_eq!(
            pieces(text),
            [
                (Target, "target cayman"),
                (ModuleOpen, "module {"),
                (Header, "func @f(%a: tensor<f32> {random = int(0, 1)}) -> tensor<f32> {"),
                (Statement, "%b = x(%a"),
                (Statement, "%c = y\n : T"),
                (Statement, "return %b : T"),
                (Close, "}"),
                (Close, "} // end"),
            ]
        );
    }

    #[test]
    fn heads_inside_strings_comments_and_constants_do_not_cut() {
        let text = "%a = tensor.constant dense<[1, // return\n 2]> : T loc(\"return %x = \") // %q = 1\n%b = 2";
        let cut = pieces(text);
        assert_eq!(cut.len(), 2, "{cut:?}");
        assert!(cut[0].1.ends_with("%q = 1"));
    }

    #[test]
    fn instructions_are_lines_and_allocations_are_statements() {
        use PieceKind::*;
        let text =
            "%t = tile.alloc : tile<sbuf, 4x4xf32>\ntile.inst dve add %t, (x // c\nreturn %t : T";
        assert_eq!(
            pieces(text),
            [
                (Statement, "%t = tile.alloc : tile<sbuf, 4x4xf32>"),
                (Machine, "tile.inst dve add %t, (x"),
                (Statement, "return %t : T"),
            ]
        );
    }

    #[test]
    fn nesting_is_noticed_without_recursion() {
        let text = format!("%a = {}", "(".repeat(10_000));
        let piece = Scanner::new(&text).next().unwrap();
        assert_eq!(piece.too_deep, Some(5 + MAX_NESTING as usize));
    }
}
