//! One operation, in any form.

use smallvec::SmallVec;

use super::attr::unquoted;
use super::lex::Token;
use super::syntax::{Attr, BlockArg, NamedAttr, Op, Region, ResultName, Signature, Use};
use super::{Parser, Read};
use crate::diag::{Code, Diagnostic, Span};

/// The most results that one operation may have.
const MAX_RESULTS: u32 = 4096;

impl<'s> Parser<'s> {
    /// `%0 = stablehlo.add %a, %b : …` or `"stablehlo.add"(%a, %b) …`
    pub(super) fn op(&mut self) -> Read<Op<'s>> {
        let start = self.start();
        let mut results = SmallVec::new();
        while self.at(Token::Value) {
            results.push(self.result_name()?);
            if !self.accept(Token::Comma) {
                break;
            }
        }
        if !results.is_empty() {
            self.expect(Token::Equals)?;
        }
        let name_span = self.span();
        let mut op = Op {
            name: "",
            name_span,
            span: name_span,
            results,
            operands: SmallVec::new(),
            attrs: Vec::new(),
            regions: Vec::new(),
            sig: Signature { span: Span::NONE, ..Signature::default() },
            loc: None,
        };
        match self.peek() {
            Some(Token::Str) => {
                op.name = unquoted(self.next());
                self.generic(&mut op)?;
            }
            Some(Token::Word) => {
                op.name = self.next();
                self.items(&mut op)?;
            }
            _ => return Err(self.expected("an operation")),
        }
        op.loc = self.loc()?;
        op.span = self.since(start);
        Ok(op)
    }

    fn result_name(&mut self) -> Read<ResultName<'s>> {
        let span = self.span();
        let name = self.next().get(1..).unwrap_or("");
        let mut count = 1;
        if self.accept(Token::Colon) {
            let at = self.span();
            let number = self.expect(Token::Number)?;
            count = match number.parse() {
                Ok(count) if count <= MAX_RESULTS => count,
                _ => {
                    let message = format!("`{number}` is no number of results");
                    return Err(Box::new(Diagnostic::error(Code::Number, message, at)));
                }
            };
        }
        Ok(ResultName { name, count, span })
    }

    /// `(%a, %b) <{…}> ({…}, {…}) {…} : (…) -> …`
    fn generic(&mut self, op: &mut Op<'s>) -> Read<()> {
        self.expect(Token::OpenParen)?;
        while !self.accept(Token::CloseParen) {
            let operand = self.operand()?;
            op.operands.push(operand);
            if !self.accept(Token::Comma) && !self.at(Token::CloseParen) {
                return Err(self.expected("`,` or `)`"));
            }
        }
        if self.accept(Token::OpenSquare) {
            // Successors of a branch; a program of one block has none.
            while !self.accept(Token::CloseSquare) {
                if self.peek().is_none() {
                    return Err(self.expected("`]`"));
                }
                self.next();
            }
        }
        if self.accept(Token::OpenAngle) {
            op.attrs = self.dict()?;
            self.expect(Token::CloseAngle)?;
        }
        if self.accept(Token::OpenParen) {
            loop {
                let region = self.region()?;
                op.regions.push(region);
                if !self.accept(Token::Comma) {
                    break;
                }
            }
            self.expect(Token::CloseParen)?;
        }
        if self.at(Token::OpenBrace) {
            let attrs = self.dict()?;
            op.attrs.extend(attrs);
        }
        self.expect(Token::Colon)?;
        self.signature(op)
    }

    pub(super) fn operand(&mut self) -> Read<Use<'s>> {
        let span = self.span();
        let name = self.expect(Token::Value)?.get(1..).unwrap_or("");
        let mut nth = 0;
        if self.at(Token::Nth) {
            let at = self.span();
            let number = self.next().get(1..).unwrap_or("");
            nth = number.parse().map_err(|_| {
                let message = format!("`{number}` is no result number");
                Box::new(Diagnostic::error(Code::Number, message, at))
            })?;
        }
        Ok(Use { name, nth, span: self.since(span.start as usize) })
    }

    /// What stands between the name of an operation in its own form and the end.
    fn items(&mut self, op: &mut Op<'s>) -> Read<()> {
        // Starting values of a reduction come after the operands.
        let mut inits: SmallVec<[Use<'s>; 3]> = SmallVec::new();
        loop {
            match self.peek() {
                Some(Token::Value) if self.starts_statement() => break,
                Some(Token::Value) => {
                    let operand = self.operand()?;
                    op.operands.push(operand);
                }
                Some(Token::Comma) => {
                    self.next();
                }
                Some(Token::OpenParen) => self.group(op, &mut inits)?,
                Some(Token::OpenSquare) => {
                    let (span, value) = (self.span(), self.list()?);
                    op.attrs.push(NamedAttr { name: "", value, span });
                }
                Some(Token::OpenBrace) => self.braces(op)?,
                Some(Token::OpenAngle) => self.properties(op)?,
                Some(Token::Colon) => {
                    self.next();
                    self.signature(op)?;
                }
                Some(Token::Word) if self.at_word("loc") => break,
                Some(Token::Word) if self.ends_items(op) => break,
                Some(Token::Word) => self.word(op)?,
                // A generic operation on the next line.
                Some(Token::Str) if !op.sig.span.is_none() => break,
                Some(
                    Token::Symbol
                    | Token::Str
                    | Token::Number
                    | Token::Dense
                    | Token::RefusedElements
                    | Token::Array
                    | Token::Alias,
                ) => {
                    let span = self.span();
                    let value = self.bare_value()?;
                    op.attrs.push(NamedAttr { name: "", value, span });
                    if self.accept(Token::Equals) {
                        self.attr_value()?;
                    }
                }
                _ => break,
            }
        }
        op.operands.extend(inits);
        Ok(())
    }

    /// The next line's `%0 =`: what follows a value on the left is no operand.
    fn starts_statement(&self) -> bool {
        let rest = self.tokens.remainder().trim_start();
        rest.starts_with('=') && !rest.starts_with("==")
            || rest.starts_with(':')
                && rest[1..].trim_start().starts_with(|c: char| c.is_ascii_digit())
            || self.lists_results(rest)
    }

    /// `%0, %1 = …`
    fn lists_results(&self, mut rest: &str) -> bool {
        // Operands end with `:` before any `=` could follow, so a few names tell.
        for _ in 0..64 {
            let Some(next) = rest.strip_prefix(',').map(str::trim_start) else { return false };
            let Some(name) = next.strip_prefix('%') else { return false };
            let end = name
                .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.' | '-')))
                .unwrap_or(name.len());
            rest = name.get(end..).unwrap_or("").trim_start();
            if rest.starts_with('=') {
                return true;
            }
        }
        false
    }

    /// A word that begins the next operation rather than belonging to this one.
    fn ends_items(&self, op: &Op<'s>) -> bool {
        let word = self.slice();
        let has_types = !op.sig.span.is_none();
        match word {
            "reducer" | "cond" | "do" | "attributes" => false,
            "return" | "func.return" | "stablehlo.return" | "call" | "func.call" => true,
            _ => has_types || word.contains('.'),
        }
    }

    /// `dims = [0]`, `GT`, `applies stablehlo.add`, `reducer(…) … {…}`
    fn word(&mut self, op: &mut Op<'s>) -> Read<()> {
        let span = self.span();
        let name = self.next();
        if self.accept(Token::Equals) {
            let value = self.pretty_value()?;
            op.attrs.push(NamedAttr { name, value, span });
            return Ok(());
        }
        match name {
            "applies" => {
                let value = Attr::Word(self.expect(Token::Word)?);
                op.attrs.push(NamedAttr { name, value, span });
            }
            "reducer" => {
                let args = self.reducer_args()?;
                let mut region = self.region()?;
                region.args = args;
                op.regions.push(region);
            }
            _ => op.attrs.push(NamedAttr { name: "", value: Attr::Word(name), span }),
        }
        Ok(())
    }

    /// The value after `word =`: also `[0] x [1]` and `[b, 0]x[o, i]->[b, 0]`.
    fn pretty_value(&mut self) -> Read<Attr<'s>> {
        let value = self.attr_value_untyped()?;
        if self.at_word("x") && matches!(value, Attr::List(_)) {
            self.next();
            let second = self.list()?;
            if self.accept(Token::Arrow) {
                self.list()?;
            }
            return Ok(Attr::Pair(Box::new([value, second])));
        }
        Ok(value)
    }

    /// A value that the operation's own colon may follow.
    fn attr_value_untyped(&mut self) -> Read<Attr<'s>> {
        self.nested(Self::bare_value)
    }

    /// `(%arg1: tensor<f32>, %arg3: tensor<f32>) (%arg2: …, %arg4: …)`: one pair for each operand; the region takes
    /// all first ones, then all second ones.
    fn reducer_args(&mut self) -> Read<Vec<BlockArg<'s>>> {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        while self.at(Token::OpenParen) {
            let args = self.args(true)?;
            let [a, b] = args.as_slice() else {
                return Err(self.expected("pairs of arguments before this"));
            };
            first.push(*a);
            second.push(*b);
        }
        first.extend(second);
        Ok(first)
    }

    /// `(%a: T {…} loc(…), …)`. A declaration lists types alone: its arguments need no names.
    pub(super) fn args(&mut self, need_names: bool) -> Read<Vec<BlockArg<'s>>> {
        self.expect(Token::OpenParen)?;
        let mut args = Vec::new();
        while !self.accept(Token::CloseParen) {
            let span = self.span();
            let mut name = "";
            if need_names || self.at(Token::Value) {
                name = self.expect(Token::Value)?.get(1..).unwrap_or("");
                self.expect(Token::Colon)?;
            }
            let ty = self.ty()?;
            if self.at(Token::OpenBrace) {
                self.dict()?;
            }
            self.loc()?;
            args.push(BlockArg { name, ty, span });
            if !self.accept(Token::Comma) && !self.at(Token::CloseParen) {
                return Err(self.expected("`,` or `)`"));
            }
        }
        Ok(args)
    }

    /// `(…)` in an operation's own form: operands, `%a init: %b`, `%arg = %a` of loops, `k = 5`, regions.
    fn group(&mut self, op: &mut Op<'s>, inits: &mut SmallVec<[Use<'s>; 3]>) -> Read<()> {
        self.nested(|p| {
            p.expect(Token::OpenParen)?;
            while !p.accept(Token::CloseParen) {
                match p.peek() {
                    Some(Token::Value) => {
                        let operand = p.operand()?;
                        if p.accept(Token::Equals) {
                            let operand = p.operand()?;
                            op.operands.push(operand);
                        } else {
                            op.operands.push(operand);
                        }
                        if p.accept_word("init") {
                            p.expect(Token::Colon)?;
                            let init = p.operand()?;
                            inits.push(init);
                        }
                    }
                    Some(Token::Word) => {
                        let (span, name) = (p.span(), p.next());
                        p.expect(Token::Equals)?;
                        let value = p.attr_value_untyped()?;
                        op.attrs.push(NamedAttr { name, value, span });
                    }
                    Some(Token::OpenBrace) => {
                        let region = p.region()?;
                        op.regions.push(region);
                    }
                    _ => return Err(p.expected("an operand or `)`")),
                }
                if !p.accept(Token::Comma) && !p.at(Token::CloseParen) {
                    return Err(p.expected("`,` or `)`"));
                }
            }
            Ok(())
        })
    }

    /// `{…}` is a region where operations stand in it, else attributes.
    fn braces(&mut self, op: &mut Op<'s>) -> Read<()> {
        let rest = self.tokens.remainder();
        if opens_region(rest) {
            let region = self.region()?;
            op.regions.push(region);
        } else {
            let attrs = self.dict()?;
            op.attrs.extend(attrs);
        }
        Ok(())
    }

    /// `<{…}>` in an operation's own form.
    fn properties(&mut self, op: &mut Op<'s>) -> Read<()> {
        let span = self.span();
        if self.tokens.remainder().trim_start().starts_with('{') {
            self.next();
            let attrs = self.dict()?;
            op.attrs.extend(attrs);
            self.expect(Token::CloseAngle)?;
        } else {
            let value = Attr::Raw(self.angle()?);
            op.attrs.push(NamedAttr { name: "", value, span });
        }
        Ok(())
    }

    /// `(T, T) -> (T, T)`, or types with commas, from behind the colon.
    fn signature(&mut self, op: &mut Op<'s>) -> Read<()> {
        let start = self.start();
        if self.at(Token::OpenParen) {
            op.sig.operands = self.type_list()?;
            self.expect(Token::Arrow)?;
            op.sig.results = Some(self.types_of_results()?);
        } else {
            loop {
                let ty = self.ty()?;
                op.sig.operands.push(ty);
                if !self.at(Token::Comma) {
                    break;
                }
                self.next();
            }
            if self.accept(Token::Arrow) {
                op.sig.results = Some(self.types_of_results()?);
            }
        }
        op.sig.span = self.since(start);
        Ok(())
    }

    /// `T` or `(T, T)`
    pub(super) fn types_of_results<A>(&mut self) -> Read<SmallVec<A>>
    where
        A: smallvec::Array<Item = super::types::TypeId>,
    {
        if self.at(Token::OpenParen) {
            return self.type_list();
        }
        let mut types = SmallVec::new();
        types.push(self.ty()?);
        Ok(types)
    }

    /// `(T, T)`
    fn type_list<A>(&mut self) -> Read<SmallVec<A>>
    where
        A: smallvec::Array<Item = super::types::TypeId>,
    {
        self.expect(Token::OpenParen)?;
        let mut types = SmallVec::new();
        while !self.accept(Token::CloseParen) {
            types.push(self.ty()?);
            if !self.accept(Token::Comma) && !self.at(Token::CloseParen) {
                return Err(self.expected("`,` or `)`"));
            }
        }
        Ok(types)
    }

    /// `{ ^bb0(…): … }`
    pub(super) fn region(&mut self) -> Read<Region<'s>> {
        self.nested(|p| {
            let start = p.start();
            p.expect(Token::OpenBrace)?;
            let mut region =
                Region { args: Vec::new(), ops: Vec::new(), span: Span::NONE, blocks: 1 };
            if p.at(Token::Block) {
                p.next();
                if p.at(Token::OpenParen) {
                    region.args = p.args(true)?;
                }
                p.expect(Token::Colon)?;
            }
            while !p.accept(Token::CloseBrace) {
                if p.at(Token::Block) {
                    // Only one block has a meaning; the others are read to be reported.
                    region.blocks += 1;
                    p.next();
                    if p.at(Token::OpenParen) {
                        p.args(true)?;
                    }
                    p.expect(Token::Colon)?;
                    continue;
                }
                if p.peek().is_none() {
                    let mut error = p.expected("an operation or `}`");
                    *error = error.also(Span::new(start, start + 1), "opened here");
                    return Err(error);
                }
                let op = p.op()?;
                region.ops.push(op);
            }
            region.span = p.since(start);
            Ok(region)
        })
    }
}

/// What follows an open brace belongs to a region: an operation, a block, or nothing.
fn opens_region(rest: &str) -> bool {
    let mut rest = rest.trim_start();
    while let Some(comment) = rest.strip_prefix("//") {
        rest = comment.find('\n').map_or("", |end| &comment[end..]).trim_start();
    }
    if rest.starts_with(['%', '^']) {
        return true;
    }
    if let Some(quoted) = rest.strip_prefix('"') {
        let Some(end) = quoted.find('"') else { return false };
        return quoted[end + 1..].trim_start().starts_with('(');
    }
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$')));
    let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
    matches!(word, "return" | "func.return" | "stablehlo.return" | "call" | "func.call")
        || word.contains('.') && !after.trim_start().starts_with(['=', ',', '}'])
}
