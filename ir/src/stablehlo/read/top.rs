//! Modules, functions and aliases.

use super::lex::Token;
use super::syntax::{Attr, Func, Op, Region};
use super::types::TypeId;
use super::{Parser, Read};
use crate::diag::{Code, Diagnostic, Span};

impl<'s> Parser<'s> {
    /// Modules, functions and aliases to the end of the text.
    pub(super) fn file(&mut self) -> Read<()> {
        loop {
            match self.peek() {
                Some(Token::Alias) => self.alias()?,
                Some(Token::Resources) => {
                    self.next();
                }
                Some(Token::CloseBrace) => {
                    return Err(self.expected("a module or a function"));
                }
                Some(_) => self.top_level()?,
                None if self.tokens.peeked.is_some() => {
                    return Err(self.expected("a module or a function"));
                }
                None => return Ok(()),
            }
        }
    }

    /// `#loc1 = loc(…)`, `#map = …`
    fn alias(&mut self) -> Read<()> {
        let name = self.next();
        if self.at_word("loc") {
            // `#loc = loc(…)` without the sign would be read as a call.
            return Err(self.expected("`=`"));
        }
        self.expect(Token::Equals)?;
        if self.at_word("loc") {
            if let Some(text) = self.loc()? {
                self.file.locs.insert(name, text);
            }
        } else {
            let value = self.attr_value()?;
            self.file.aliases.insert(name, value);
        }
        Ok(())
    }

    /// A module, a function, or something beside them.
    fn top_level(&mut self) -> Read<()> {
        if self.at_word("module") || self.at_word("builtin.module") {
            return self.nested(Self::module);
        }
        if self.at_word("func.func") || self.at_word("func") {
            return self.func();
        }
        let op = self.op()?;
        self.generic_top(op)
    }

    fn module(&mut self) -> Read<()> {
        self.next();
        if self.at(Token::Symbol) {
            self.symbol()?;
        }
        if self.accept_word("attributes") || self.at(Token::OpenBrace) && self.attributes_follow() {
            self.dict()?;
        }
        let open = self.span();
        self.expect(Token::OpenBrace)?;
        while !self.accept(Token::CloseBrace) {
            match self.peek() {
                Some(Token::Alias) => self.alias()?,
                Some(_) => self.top_level()?,
                None => {
                    let mut error = self.expected("a function or `}`");
                    *error = error.also(open, "opened here");
                    return Err(error);
                }
            }
        }
        self.loc()?;
        Ok(())
    }

    /// `module {}` has no attributes; `module {a = 1} {…}` has.
    fn attributes_follow(&self) -> bool {
        let rest = self.tokens.remainder().trim_start();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$')));
        end.is_some_and(|end| end > 0 && rest[end..].trim_start().starts_with('='))
    }

    /// `func.func public @main(…) -> (…) attributes {…} {…}`
    fn func(&mut self) -> Read<()> {
        self.next();
        let mut private = false;
        for (word, is_private) in [("private", true), ("public", false), ("nested", true)] {
            if self.accept_word(word) {
                private = is_private;
            }
        }
        let name_span = self.span();
        let name = self.symbol()?;
        let args = self.args(false)?;
        let start = self.start();
        let mut results = Vec::new();
        if self.accept(Token::Arrow) {
            results = self.func_results()?;
        }
        let results_span = self.since(start);
        if self.accept_word("attributes") {
            self.dict()?;
        }
        let body = if self.at(Token::OpenBrace) { Some(self.region()?) } else { None };
        self.loc()?;
        self.keep(Func { name, name_span, private, args, results, results_span, body })
    }

    fn keep(&mut self, func: Func<'s>) -> Read<()> {
        if let Some(first) = self.file.func(func.name) {
            let message = format!("`@{}` is defined twice", func.name);
            return Err(Box::new(
                Diagnostic::error(Code::DuplicateFunc, message, func.name_span)
                    .label("again here")
                    .also(first.name_span, "first here"),
            ));
        }
        self.file.names.insert(func.name, self.file.funcs.len());
        self.file.funcs.push(func);
        Ok(())
    }

    /// `T` or `(T {…}, T)`
    fn func_results(&mut self) -> Read<Vec<TypeId>> {
        if !self.accept(Token::OpenParen) {
            return Ok(vec![self.ty()?]);
        }
        let mut types = Vec::new();
        while !self.accept(Token::CloseParen) {
            types.push(self.ty()?);
            if self.at(Token::OpenBrace) {
                self.dict()?;
            }
            self.loc()?;
            if !self.accept(Token::Comma) && !self.at(Token::CloseParen) {
                return Err(self.expected("`,` or `)`"));
            }
        }
        Ok(types)
    }

    /// `"builtin.module"() ({…})`, `"func.func"() <{…}> ({…})`; what else stands beside functions says nothing of
    /// them.
    fn generic_top(&mut self, op: Op<'s>) -> Read<()> {
        match op.name {
            "builtin.module" => self.nested(|p| {
                for inner in op.regions.into_iter().flat_map(|region| region.ops) {
                    p.generic_top(inner)?;
                }
                Ok(())
            }),
            "func.func" => self.generic_func(op),
            _ if op.name.contains('.') => Ok(()),
            _ => {
                let message = format!("expected a module or a function, found `{}`", op.name);
                Err(Box::new(
                    Diagnostic::error(Code::Syntax, message, op.name_span)
                        .help("see docs/stablehlo.md for what is read"),
                ))
            }
        }
    }

    fn generic_func(&mut self, mut op: Op<'s>) -> Read<()> {
        let attr = |name: &str| op.attr(name).map(|attr| &attr.value);
        let Some(&Attr::Str(name)) = attr("sym_name") else {
            let message = "the function has no `sym_name`";
            return Err(Box::new(Diagnostic::error(Code::Syntax, message, op.name_span)));
        };
        let private = matches!(attr("sym_visibility"), Some(Attr::Str(visibility)) if *visibility != "public");
        let results = match attr("function_type") {
            Some(&Attr::Raw(text)) => self.result_types(text),
            _ => Vec::new(),
        };
        let name_span = op.attr("sym_name").map_or(op.name_span, |attr| attr.span);
        let mut body: Option<Region<'s>> = op.regions.pop();
        let args = body.as_mut().map(|body| std::mem::take(&mut body.args)).unwrap_or_default();
        let body = body.filter(|body| !body.ops.is_empty());
        let results_span = Span::NONE;
        self.keep(Func { name, name_span, private, args, results, results_span, body })
    }

    /// The results of a function type that has been read as text.
    fn result_types(&mut self, text: &'s str) -> Vec<TypeId> {
        let Some(at) = text.rfind("->") else { return Vec::new() };
        let results = text.get(at + 2..).unwrap_or("").trim();
        let inner = results.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
        let (mut types, mut depth, mut start) = (Vec::new(), 0i32, 0);
        let list = inner.unwrap_or(results);
        for (index, byte) in list.bytes().enumerate() {
            match byte {
                b'<' => depth += 1,
                b'>' => depth -= 1,
                b',' if depth == 0 => {
                    types.push(self.file.types.add(list.get(start..index).unwrap_or("").trim()));
                    start = index + 1;
                }
                _ => {}
            }
        }
        let last = list.get(start..).unwrap_or("").trim();
        if !last.is_empty() {
            types.push(self.file.types.add(last));
        }
        types
    }
}
