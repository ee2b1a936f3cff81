//! Tokens of MLIR's text.
//!
//! Types, `dense<…>` and `array<…>` are one token each, up to the bracket that closes them: what stands in them is
//! read by its own reader, and the megabytes of a constant are passed in one step.

use logos::{Lexer, Logos};

use crate::diag::Span;

/// Why no token could be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LexError {
    #[default]
    Unknown,
    OpenString,
    OpenBracket,
}

impl LexError {
    pub const fn message(self) -> &'static str {
        match self {
            LexError::Unknown => "this character begins nothing",
            LexError::OpenString => "the string is not closed",
            LexError::OpenBracket => "the bracket `<` is not closed",
        }
    }
}

#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n\f]+")]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
#[logos(error = LexError)]
pub enum Token {
    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token("[")]
    OpenSquare,
    #[token("]")]
    CloseSquare,
    #[token("<")]
    OpenAngle,
    #[token(">")]
    CloseAngle,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token("=")]
    Equals,
    #[token("->")]
    Arrow,
    #[token("?")]
    #[token("*")]
    #[token("+")]
    #[token("-")]
    #[token("/")]
    #[token("|")]
    Other,
    /// `{-# … #-}`: resources of the file.
    #[token("{-#", resources)]
    Resources,
    /// `stablehlo.add`, `true`, `i32`
    #[regex(r"[A-Za-z_][A-Za-z0-9_$.]*")]
    Word,
    /// `%0`, `%arg1`
    #[regex(r"%[A-Za-z0-9_$.\-]+")]
    Value,
    /// `#1` after a value of several results.
    #[regex(r"#[0-9]+")]
    Nth,
    /// `@main`, `@"a name"`
    #[regex(r"@[A-Za-z_][A-Za-z0-9_$.\-]*")]
    #[token("@\"", string)]
    Symbol,
    /// `^bb0`
    #[regex(r"\^[A-Za-z0-9_$.\-]+")]
    Block,
    /// `#loc1`, `#stablehlo`
    #[regex(r"#[A-Za-z_][A-Za-z0-9_$.\-]*")]
    Alias,
    /// `!stablehlo.token`
    #[regex(r"![A-Za-z_][A-Za-z0-9_$.]*")]
    BangType,
    #[regex(r"-?[0-9]+")]
    #[regex(r"0x[0-9A-Fa-f]+")]
    #[regex(r"[+-]?[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?")]
    Number,
    #[token("\"", string)]
    Str,
    /// `tensor<4x8xf32>` and the other types with brackets.
    #[token("tensor<", angle)]
    #[token("complex<", angle)]
    #[token("tuple<", angle)]
    #[token("memref<", angle)]
    #[token("vector<", angle)]
    Type,
    #[token("dense<", angle)]
    Dense,
    #[token("dense_resource<", angle)]
    #[token("sparse<", angle)]
    RefusedElements,
    #[token("array<", angle)]
    Array,
}

impl Token {
    /// What it is, for messages about what was expected.
    pub const fn describe(self) -> &'static str {
        match self {
            Token::OpenParen => "`(`",
            Token::CloseParen => "`)`",
            Token::OpenBrace => "`{`",
            Token::CloseBrace => "`}`",
            Token::OpenSquare => "`[`",
            Token::CloseSquare => "`]`",
            Token::OpenAngle => "`<`",
            Token::CloseAngle => "`>`",
            Token::Comma => "`,`",
            Token::Colon => "`:`",
            Token::Equals => "`=`",
            Token::Arrow => "`->`",
            Token::Other => "a sign",
            Token::Resources => "resources",
            Token::Word => "a name",
            Token::Value => "a value such as `%0`",
            Token::Nth => "a result number",
            Token::Symbol => "a name such as `@main`",
            Token::Block => "a block such as `^bb0`",
            Token::Alias => "an alias such as `#loc1`",
            Token::BangType | Token::Type => "a type such as `tensor<4xf32>`",
            Token::Number => "a number",
            Token::Str => "a string",
            Token::Dense => "`dense<…>`",
            Token::RefusedElements => "elements",
            Token::Array => "`array<…>`",
        }
    }
}

/// Passes a string whose opening quote has been read.
fn string(lexer: &mut Lexer<'_, Token>) -> Result<(), LexError> {
    let length = string_length(lexer.remainder().as_bytes()).ok_or(LexError::OpenString)?;
    lexer.bump(length);
    Ok(())
}

/// Bytes up to and with the closing quote; strings do not cross lines.
fn string_length(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += bytes.get(at..)?.iter().position(|&b| matches!(b, b'"' | b'\\' | b'\n'))?;
        match bytes[at] {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => return None,
        }
    }
}

/// Passes everything up to the `>` that closes an open `<`; strings and arrows are no brackets.
fn angle(lexer: &mut Lexer<'_, Token>) -> Result<(), LexError> {
    let length = angle_length(lexer.remainder().as_bytes())?;
    lexer.bump(length);
    Ok(())
}

pub fn angle_length(bytes: &[u8]) -> Result<usize, LexError> {
    let (mut depth, mut at) = (1u32, 0);
    loop {
        let rest = bytes.get(at..).unwrap_or(&[]);
        let next = rest.iter().position(|&b| matches!(b, b'<' | b'>' | b'"' | b'-'));
        at += next.ok_or(LexError::OpenBracket)?;
        match bytes[at] {
            b'<' => depth += 1,
            b'>' => depth -= 1,
            b'"' => {
                let rest = bytes.get(at + 1..).unwrap_or(&[]);
                at += string_length(rest).ok_or(LexError::OpenString)?;
            }
            _ if bytes.get(at + 1) == Some(&b'>') => at += 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Ok(at);
        }
    }
}

fn resources(lexer: &mut Lexer<'_, Token>) -> Result<(), LexError> {
    let length = lexer.remainder().find("#-}").ok_or(LexError::OpenBracket)? + 3;
    lexer.bump(length);
    Ok(())
}

/// The tokens of a text, one at a time.
pub struct Tokens<'s> {
    lexer: Lexer<'s, Token>,
    /// The next token, none at the end of the text.
    pub peeked: Option<Result<Token, LexError>>,
    pub span: Span,
    /// Where the token before ends.
    pub last_end: usize,
}

impl<'s> Tokens<'s> {
    pub fn new(text: &'s str) -> Self {
        let mut lexer = Token::lexer(text);
        // A byte order mark is no part of the text.
        if text.starts_with('\u{feff}') {
            lexer.bump('\u{feff}'.len_utf8());
        }
        let mut tokens = Self { lexer, peeked: None, span: Span::new(0, 0), last_end: 0 };
        tokens.advance();
        tokens
    }

    pub fn advance(&mut self) {
        self.last_end = self.span.end as usize;
        self.peeked = self.lexer.next();
        let range = self.lexer.span();
        self.span = Span::new(range.start, range.end);
    }

    pub fn slice(&self) -> &'s str {
        self.lexer.slice()
    }

    /// What follows the next token.
    pub fn remainder(&self) -> &'s str {
        self.lexer.remainder()
    }

    /// Makes the next token longer by so many bytes.
    pub fn extend(&mut self, bytes: usize) {
        self.lexer.bump(bytes);
        self.span.end = self.span.end.saturating_add(bytes as u32);
    }
}
