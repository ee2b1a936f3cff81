//! The generated parser, and its refusals in words a user can act on.

use std::sync::{Mutex, PoisonError};

use pest::Parser as _;
use pest::error::{ErrorVariant, InputLocation};
use pest::iterators::Pairs;
use pest_derive::Parser;

use super::suggest::nearest;
use crate::diag::{Code, Diagnostic, Span};
use crate::ops::TensorOpName;

#[derive(Parser)]
#[grammar = "text/partita.pest"]
pub struct Grammar;

/// Parses one piece that starts at byte `base` of the source.
pub fn parse_piece(
    rule: Rule,
    piece: &str,
    base: usize,
) -> Result<Pairs<'_, Rule>, Box<Diagnostic>> {
    Grammar::parse(rule, piece).map_err(|_| Box::new(explain(rule, piece, base)))
}

/// True when the rule for a whole file matches.
pub fn matches_file(text: &str) -> bool {
    let shallow = super::scan::Scanner::new(text).all(|piece| piece.too_deep.is_none());
    shallow && Grammar::parse(Rule::file, text).is_ok()
}

/// Parses the piece again with attempts recorded, and says what was expected.
#[cold]
fn explain(rule: Rule, piece: &str, base: usize) -> Diagnostic {
    let outcome = {
        // The switch is the whole process's; it only adds detail to errors.
        static DETAIL: Mutex<()> = Mutex::new(());
        let _held = DETAIL.lock().unwrap_or_else(PoisonError::into_inner);
        pest::set_error_detail(true);
        let outcome = Grammar::parse(rule, piece);
        pest::set_error_detail(false);
        outcome
    };
    let Err(error) = outcome else {
        return Diagnostic::error(
            Code::Syntax,
            "the text cannot be read",
            Span::new(base, base + piece.len()),
        );
    };
    let mut at = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    };
    let mut expected: Vec<String> = Vec::new();
    let attempts = error.parse_attempts();
    let tokens_at = attempts.as_ref().map_or(0, |attempts| attempts.max_position);
    if tokens_at <= at
        && let ErrorVariant::ParsingError { positives, .. } = &error.variant
    {
        expected.extend(positives.iter().filter_map(|&rule| describe(rule)).map(str::to_owned));
    }
    if let Some(attempts) = attempts.filter(|_| tokens_at >= at) {
        at = tokens_at;
        let tokens = attempts.expected_tokens();
        expected.extend(tokens.iter().map(ToString::to_string).filter_map(|token| keyword(&token)));
    }
    expected.sort();
    expected.dedup();
    // White space before the place belongs to what came before it.
    at += piece.get(at..).map_or(0, |rest| rest.len() - skip_trivia(rest).len());
    refusal(piece, base, at, &expected)
}

/// The error at `at`, naming what stands there and what should.
fn refusal(piece: &str, base: usize, at: usize, expected: &[String]) -> Diagnostic {
    if let Some(diagnostic) = unknown_op(piece, base) {
        return diagnostic;
    }
    let rest = piece.get(at..).unwrap_or("");
    let found = found_word(rest);
    let span = Span::new(base + at, base + at + found.len().max(usize::from(!rest.is_empty())));
    let found =
        if found.is_empty() { "the end of the statement".to_owned() } else { format!("`{found}`") };
    let message = match expected {
        [] => format!("{found} cannot stand here"),
        [only] => format!("expected {only}, found {found}"),
        [first @ .., last] => format!("expected {} or {last}, found {found}", first.join(", ")),
    };
    let error = Diagnostic::error(Code::Syntax, message, span).label("here");
    if rest.starts_with('?') { error.help("shapes are static: write the size") } else { error }
}

/// `%y = tensor.something …` with an operation that does not exist.
fn unknown_op(piece: &str, base: usize) -> Option<Diagnostic> {
    let (head, tail) = piece.split_once('=')?;
    if !head.trim().starts_with('%') || head.contains(['(', '{']) {
        return None;
    }
    let tail_at = piece.len() - tail.trim_start().len();
    let word = found_word(tail.trim_start());
    let name = word.strip_prefix("tensor.").unwrap_or(word);
    if name.is_empty()
        || matches!(word, "tile.alloc" | "tpb.alloc" | "tile.constant" | "tpb.constant")
        || name.starts_with(|c: char| c.is_ascii_digit())
        || TensorOpName::ALL.iter().any(|op| op.name() == name)
    {
        return None;
    }
    let span = Span::new(base + tail_at, base + tail_at + word.len());
    let mut diagnostic =
        Diagnostic::error(Code::UnknownOp, format!("there is no operation `{word}`"), span)
            .label("unknown");
    if crate::ops::ElementwiseOp::from_name(name).is_some() {
        diagnostic = diagnostic.help(format!("write `tensor.elementwise {name}(…)`"));
    } else if let Some(near) = nearest(name, TensorOpName::ALL.iter().map(|op| op.name())) {
        diagnostic = diagnostic.help(format!("did you mean `tensor.{near}`?"));
    }
    Some(diagnostic)
}

/// The word or the character at the start of a text, to be shown.
fn found_word(rest: &str) -> &str {
    const LONGEST: usize = 40;
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    let mut chars = rest.char_indices();
    let Some((_, first)) = chars.next() else { return "" };
    let end = if word(first) || matches!(first, '%' | '@') {
        chars.find(|&(at, c)| !word(c) || at > LONGEST).map_or(rest.len(), |(at, _)| at)
    } else {
        first.len_utf8()
    };
    &rest[..end]
}

fn skip_trivia(mut rest: &str) -> &str {
    loop {
        rest = rest.trim_start();
        if !rest.starts_with("//") {
            return rest;
        }
        rest = rest.find('\n').map_or("", |newline| &rest[newline..]);
    }
}

/// An expected token as a message quotes it; letters and digits that are parts
/// of words are left out.
fn keyword(token: &str) -> Option<String> {
    let token = token.trim_matches('`').trim_matches('"');
    let useful = match token {
        "%" | "@" | "\"" | "/" | "//" | "-" | "_" | "$" | "." | "e" | "E" | "0x" | "inf"
        | "nan" | "tensor<" | "tile<" | "tensor." | "true" | "false" | "" => false,
        _ => !token.contains("..") && !token.contains("ASCII") && !token.trim().is_empty(),
    };
    useful.then(|| format!("`{token}`"))
}

/// What a rule stands for, in a message; `None` where its parts say more.
fn describe(rule: Rule) -> Option<&'static str> {
    Some(match rule {
        Rule::value => "a value such as `%x`",
        Rule::literal => "a literal",
        Rule::symbol => "a name such as `@main`",
        Rule::name => "a name",
        Rule::index => "a number",
        Rule::integer => "an integer",
        Rule::type_ => "a type such as `tensor<4x8xf32>`",
        Rule::indices => "a list of dimensions such as `[0, 1]`",
        Rule::amounts => "a list of amounts such as `[0, 1]`",
        Rule::range => "a range such as `0:8:2`",
        Rule::dense => "`<`",
        Rule::target_name => "the name of a target",
        Rule::results => "`->`",
        Rule::EOI => "the end of the statement",
        Rule::elementwise => "an operation",
        _ => return None,
    })
}
