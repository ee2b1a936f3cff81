//! Attributes.

use super::lex::Token;
use super::syntax::{Attr, NamedAttr};
use super::{Parser, Read};

impl<'s> Parser<'s> {
    /// `{name = value, name, …}`, from the open brace.
    pub(super) fn dict(&mut self) -> Read<Vec<NamedAttr<'s>>> {
        self.nested(|p| {
            p.expect(Token::OpenBrace)?;
            let mut attrs = Vec::new();
            while !p.accept(Token::CloseBrace) {
                let span = p.span();
                let name = match p.peek() {
                    Some(Token::Str) => unquoted(p.next()),
                    Some(Token::Word) => p.next(),
                    _ => return Err(p.expected("the name of an attribute")),
                };
                let value = if p.accept(Token::Equals) { p.attr_value()? } else { Attr::Unit };
                attrs.push(NamedAttr { name, value, span });
                if !p.accept(Token::Comma) && !p.at(Token::CloseBrace) {
                    return Err(p.expected("`,` or `}`"));
                }
            }
            Ok(attrs)
        })
    }

    /// The value of an attribute, and the type after it where there is one.
    pub(super) fn attr_value(&mut self) -> Read<Attr<'s>> {
        let value = self.nested(Self::bare_value)?;
        match value {
            Attr::Number(_) | Attr::Str(_) | Attr::Dense { .. } if self.accept(Token::Colon) => {
                let ty = self.ty()?;
                Ok(match value {
                    Attr::Dense { payload, at, .. } => {
                        let count = self.file.types.elements(ty);
                        Attr::Dense { payload, at, ty: Some(ty), count }
                    }
                    value => value,
                })
            }
            Attr::Refused(_) if self.accept(Token::Colon) => {
                self.ty()?;
                Ok(value)
            }
            _ => Ok(value),
        }
    }

    /// A value without a type after it.
    pub(super) fn bare_value(&mut self) -> Read<Attr<'s>> {
        let Some(token) = self.peek() else { return Err(self.expected("a value")) };
        match token {
            Token::Number => Ok(Attr::Number(self.next())),
            Token::Str => Ok(Attr::Str(unquoted(self.next()))),
            Token::Symbol => self.symbol().map(Attr::Symbol),
            Token::Dense => {
                let at = self.start() + "dense<".len();
                let text = self.next();
                let payload = text.get("dense<".len()..text.len() - 1).unwrap_or("");
                Ok(Attr::Dense { payload, at, ty: None, count: 0 })
            }
            Token::Array => {
                let text = self.next();
                Ok(Attr::Array(text.get("array<".len()..text.len() - 1).unwrap_or("")))
            }
            Token::RefusedElements => Ok(Attr::Refused(self.next())),
            Token::OpenSquare => self.list(),
            Token::OpenBrace => self.dict().map(|_| Attr::Dict),
            Token::Type | Token::BangType => self.ty().map(|_| Attr::Type),
            Token::OpenAngle => self.angle().map(Attr::Raw),
            Token::Alias | Token::Word => self.word_value(token),
            // A function type.
            Token::OpenParen => {
                let start = self.start();
                self.parens()?;
                self.expect(Token::Arrow)?;
                if self.at(Token::OpenParen) {
                    self.parens()?;
                } else {
                    self.ty()?;
                }
                Ok(Attr::Raw(self.text.get(self.since(start).range()).unwrap_or("")))
            }
            _ => Err(self.expected("the value of an attribute")),
        }
    }

    /// `true`, `GT`, `#map`, `#stablehlo<…>`, `loc(…)`, `affine_map<…>`.
    fn word_value(&mut self, token: Token) -> Read<Attr<'s>> {
        if self.at_word("loc") {
            return Ok(Attr::Raw(self.loc()?.unwrap_or("")));
        }
        let start = self.start();
        let word = self.next();
        if self.at(Token::OpenAngle) {
            self.angle()?;
            return Ok(Attr::Raw(self.text.get(self.since(start).range()).unwrap_or("")));
        }
        Ok(if token == Token::Word { Attr::Word(word) } else { Attr::Raw(word) })
    }

    /// `[…]`: values, or the ranges of a slice.
    pub(super) fn list(&mut self) -> Read<Attr<'s>> {
        self.nested(|p| {
            p.expect(Token::OpenSquare)?;
            let (mut items, mut ranges) = (Vec::new(), Vec::new());
            while !p.accept(Token::CloseSquare) {
                let item = p.bare_value()?;
                if let Attr::Number(start) = item
                    && p.accept(Token::Colon)
                {
                    if p.at(Token::Number) {
                        let limit = p.next();
                        let stride =
                            if p.accept(Token::Colon) { p.expect(Token::Number)? } else { "1" };
                        ranges.push([start, limit, stride]);
                    } else {
                        p.ty()?;
                        items.push(item);
                    }
                } else {
                    if matches!(item, Attr::Dense { .. } | Attr::Str(_)) && p.accept(Token::Colon) {
                        p.ty()?;
                    }
                    items.push(item);
                }
                if !p.accept(Token::Comma) && !p.at(Token::CloseSquare) {
                    return Err(p.expected("`,` or `]`"));
                }
            }
            Ok(if ranges.is_empty() { Attr::List(items) } else { Attr::Ranges(ranges) })
        })
    }

    /// `@name`, `@"a name"`, and the last part of `@a::@b`.
    pub(super) fn symbol(&mut self) -> Read<&'s str> {
        let mut text = self.expect(Token::Symbol)?;
        while self.at(Token::Colon) {
            let rest = self.tokens.remainder();
            if !rest.starts_with(":@") {
                break;
            }
            self.next();
            self.next();
            text = self.expect(Token::Symbol)?;
        }
        let name = text.strip_prefix('@').unwrap_or(text);
        Ok(if name.starts_with('"') { unquoted(name) } else { name })
    }
}

/// The text between the quotes, escapes left as they are.
pub(super) fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}
