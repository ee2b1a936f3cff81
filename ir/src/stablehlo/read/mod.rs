//! Reading: text to [`syntax`], with every place known and no meaning yet.
//!
//! A recursive descent over the tokens of [`lex`]. One reader takes every operation, whatever its own form: after the
//! name come operands, words, named values, lists and regions in some order, then the types. What of them an
//! operation needs is the business of its lowering, so that operations never heard of are read as well, and can be
//! reported by name.

mod attr;
pub(super) mod lex;
mod op;
pub mod syntax;
mod top;
pub mod types;

use rustc_hash::FxHashMap;

use crate::diag::{Code, Diagnostic, Span};
use lex::{Token, Tokens};
use syntax::{Attr, Func};
use types::{TypeId, TypeOptions, Types};

/// The deepest nesting of brackets, regions and attributes.
const MAX_DEPTH: u32 = 100;

pub(super) type Read<T> = Result<T, Box<Diagnostic>>;

/// A text as read.
#[derive(Debug)]
pub struct File<'s> {
    pub funcs: Vec<Func<'s>>,
    /// Places in `funcs`.
    names: FxHashMap<&'s str, usize>,
    pub types: Types<'s>,
    /// What stands in the `loc(…)` of each alias.
    pub locs: FxHashMap<&'s str, &'s str>,
    /// Attributes with a name of their own, `#map = …`.
    pub aliases: FxHashMap<&'s str, Attr<'s>>,
}

impl<'s> File<'s> {
    pub fn func(&self, name: &str) -> Option<&Func<'s>> {
        self.names.get(name).and_then(|&place| self.funcs.get(place))
    }
}

/// Reads a text.
///
/// # Errors
/// The first place where the text is not in the language.
pub fn read(text: &str, options: TypeOptions) -> Result<File<'_>, Box<Diagnostic>> {
    let mut parser = Parser {
        text,
        tokens: Tokens::new(text),
        depth: 0,
        file: File {
            funcs: Vec::new(),
            names: FxHashMap::default(),
            types: Types::new(options),
            locs: FxHashMap::default(),
            aliases: FxHashMap::default(),
        },
    };
    parser.file()?;
    Ok(parser.file)
}

struct Parser<'s> {
    text: &'s str,
    tokens: Tokens<'s>,
    depth: u32,
    file: File<'s>,
}

impl<'s> Parser<'s> {
    /// The next token; `None` at the end.
    fn peek(&self) -> Option<Token> {
        self.tokens.peeked.and_then(Result::ok)
    }

    fn at(&self, token: Token) -> bool {
        self.peek() == Some(token)
    }

    fn slice(&self) -> &'s str {
        self.tokens.slice()
    }

    fn at_word(&self, word: &str) -> bool {
        self.at(Token::Word) && self.slice() == word
    }

    fn span(&self) -> Span {
        self.tokens.span
    }

    fn start(&self) -> usize {
        self.tokens.span.start as usize
    }

    /// From a byte to the end of the token before.
    fn since(&self, start: usize) -> Span {
        Span::new(start, self.tokens.last_end.max(start))
    }

    fn next(&mut self) -> &'s str {
        let slice = self.tokens.slice();
        self.tokens.advance();
        slice
    }

    fn accept(&mut self, token: Token) -> bool {
        let found = self.at(token);
        if found {
            self.tokens.advance();
        }
        found
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.tokens.advance();
        }
        found
    }

    /// Takes a token and gives its text.
    fn expect(&mut self, token: Token) -> Read<&'s str> {
        if self.at(token) { Ok(self.next()) } else { Err(self.expected(token.describe())) }
    }

    /// The error that something else should stand here.
    #[cold]
    fn expected(&self, what: &str) -> Box<Diagnostic> {
        let span = self.span();
        let error = |message: String, span| {
            let help = "see docs/stablehlo.md for what is read";
            Box::new(Diagnostic::error(Code::Syntax, message, span).help(help).label("here"))
        };
        match self.tokens.peeked {
            Some(Ok(_)) => {
                let found: String = self.slice().chars().take(40).collect();
                error(format!("expected {what}, found `{found}`"), span)
            }
            // An open string or bracket is marked where it opens.
            Some(Err(lex)) => error(lex.message().to_owned(), span),
            None => {
                let end = self.text.len();
                error(format!("expected {what}, found the end of the text"), Span::new(end, end))
            }
        }
    }

    /// Runs a reader one level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= MAX_DEPTH {
            let message = format!("brackets are nested more than {MAX_DEPTH} deep");
            return Err(Box::new(Diagnostic::error(Code::TooDeep, message, self.span())));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// A type.
    fn ty(&mut self) -> Read<TypeId> {
        match self.peek() {
            Some(Token::Type | Token::Word) => {
                let text = self.next();
                Ok(self.file.types.add(text))
            }
            Some(Token::BangType) => {
                let start = self.start();
                self.next();
                if self.at(Token::OpenAngle) {
                    self.angle()?;
                }
                let text = self.text.get(self.since(start).range()).unwrap_or("");
                Ok(self.file.types.add(text))
            }
            _ => Err(self.expected("a type such as `tensor<4x8xf32>`")),
        }
    }

    /// `<…>` with whatever it holds, from an open `<`.
    fn angle(&mut self) -> Read<&'s str> {
        let start = self.start();
        match lex::angle_length(self.tokens.remainder().as_bytes()) {
            Ok(length) => {
                self.tokens.extend(length);
                self.tokens.advance();
                Ok(self.text.get(self.since(start).range()).unwrap_or(""))
            }
            Err(error) => Err(Box::new(
                Diagnostic::error(Code::Syntax, error.message(), self.span())
                    .help("close the bracket"),
            )),
        }
    }

    /// `loc(…)` after anything; gives what stands in it.
    fn loc(&mut self) -> Read<Option<&'s str>> {
        if !self.at_word("loc") {
            return Ok(None);
        }
        self.next();
        let start = self.start() + 1;
        self.nested(Self::parens)?;
        let end = self.tokens.last_end.saturating_sub(1);
        Ok(self.text.get(start..end.max(start)).map(str::trim))
    }

    /// Passes a parenthesis and all in it.
    fn parens(&mut self) -> Read<()> {
        self.expect(Token::OpenParen)?;
        let mut open = 1u32;
        while open > 0 {
            match self.peek() {
                Some(Token::OpenParen) => open += 1,
                Some(Token::CloseParen) => open -= 1,
                None => return Err(self.expected("`)`")),
                _ => {}
            }
            self.next();
        }
        Ok(())
    }
}
