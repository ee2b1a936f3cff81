//! Types from their text.

use super::suggest::nearest;
use crate::diag::{Code, Diagnostic, Span};
use crate::types::{ElemType, Shape, Space, TensorType, TileType, Type};

/// Reads a type that the grammar has accepted and that starts at byte `base`.
pub fn read(text: &str, base: usize) -> Result<Type, Box<Diagnostic>> {
    let body = text.strip_suffix('>').unwrap_or(text);
    if let Some(shaped) = body.strip_prefix("tensor<") {
        let (shape, dtype) = read_shaped(shaped, base + text.len() - 1 - shaped.len())?;
        return Ok(Type::Tensor(TensorType { shape, dtype }));
    }
    let (space, shaped) =
        body.strip_prefix("tile<").and_then(|rest| rest.split_once(',')).unwrap_or((body, ""));
    let shaped = shaped.trim_start();
    let Some(space) = Space::from_name(space) else {
        let at = base + "tile<".len();
        return Err(Box::new(unknown(
            "memory space",
            space,
            Span::new(at, at + space.len()),
            Space::ALL.iter().map(|space| space.name()),
        )));
    };
    let (shape, dtype) = read_shaped(shaped, base + text.len() - 1 - shaped.len())?;
    Ok(Type::Tile(TileType { space, shape, dtype }))
}

/// `4x8xf32`
fn read_shaped(text: &str, base: usize) -> Result<(Shape, ElemType), Box<Diagnostic>> {
    let mut shape = Shape::new();
    let mut rest = text;
    while rest.starts_with(|c: char| c.is_ascii_digit()) {
        let Some((size, tail)) = rest.split_once('x') else { break };
        let at = base + text.len() - rest.len();
        let Ok(size_value) = size.parse::<u64>() else {
            return Err(Box::new(Diagnostic::error(
                Code::ElementCount,
                format!("`{size}` is too large for the size of a dimension"),
                Span::new(at, at + size.len()),
            )));
        };
        shape.push(size_value);
        rest = tail;
    }
    let at = base + text.len() - rest.len();
    if rest.starts_with('?') {
        let error =
            Diagnostic::error(Code::UnknownType, "sizes are known numbers", Span::new(at, at + 1));
        return Err(Box::new(
            error.label("not a number").help("write the size; compile once for each"),
        ));
    }
    match rest.parse() {
        Ok(dtype) => Ok((shape, dtype)),
        Err(_) => Err(Box::new(unknown(
            "element type",
            rest,
            Span::new(at, at + rest.len()),
            ElemType::ALL.iter().map(|dtype| dtype.name()),
        ))),
    }
}

/// An error about a name that is not in a small vocabulary.
pub fn unknown<'a>(
    what: &str,
    name: &str,
    span: Span,
    candidates: impl Iterator<Item = &'a str> + Clone,
) -> Diagnostic {
    let code = if matches!(what, "element type" | "memory space") {
        Code::UnknownType
    } else {
        Code::UnknownName
    };
    let shown: String = name.chars().take(40).collect();
    let diagnostic =
        Diagnostic::error(code, format!("there is no {what} `{shown}`"), span).label("unknown");
    match nearest(name, candidates.clone()) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None if candidates.clone().count() <= 16 => {
            diagnostic.help(format!("one of: {}", candidates.collect::<Vec<_>>().join(", ")))
        }
        None => diagnostic,
    }
}
