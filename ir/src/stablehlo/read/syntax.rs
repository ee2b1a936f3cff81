//! What a text of StableHLO says, before any of it has a meaning.

use smallvec::SmallVec;

use super::types::TypeId;
use crate::diag::Span;

/// An operation in any of its spellings.
#[derive(Debug)]
pub struct Op<'s> {
    /// With its dialect, such as `stablehlo.add`.
    pub name: &'s str,
    pub name_span: Span,
    pub span: Span,
    pub results: SmallVec<[ResultName<'s>; 1]>,
    pub operands: SmallVec<[Use<'s>; 3]>,
    pub attrs: Vec<NamedAttr<'s>>,
    pub regions: Vec<Region<'s>>,
    pub sig: Signature,
    pub loc: Option<&'s str>,
}

/// A name on the left, for one or several results: `%3:2`.
#[derive(Clone, Copy, Debug)]
pub struct ResultName<'s> {
    /// Without the `%`.
    pub name: &'s str,
    pub count: u32,
    pub span: Span,
}

/// An operand: `%3` or `%3#1`.
#[derive(Clone, Copy, Debug)]
pub struct Use<'s> {
    /// Without the `%`.
    pub name: &'s str,
    pub nth: u32,
    pub span: Span,
}

/// The types after the colon.
#[derive(Debug, Default)]
pub struct Signature {
    /// In the short form (`: tensor<4xf32>`) the types as listed.
    pub operands: SmallVec<[TypeId; 3]>,
    /// None in the short form.
    pub results: Option<SmallVec<[TypeId; 1]>>,
    pub span: Span,
}

#[derive(Debug)]
pub struct Region<'s> {
    pub args: Vec<BlockArg<'s>>,
    pub ops: Vec<Op<'s>>,
    pub span: Span,
    /// Blocks in it; only one has a meaning here.
    pub blocks: u32,
}

#[derive(Clone, Copy, Debug)]
pub struct BlockArg<'s> {
    /// Without the `%`.
    pub name: &'s str,
    pub ty: TypeId,
    pub span: Span,
}

#[derive(Debug)]
pub struct NamedAttr<'s> {
    pub name: &'s str,
    pub value: Attr<'s>,
    pub span: Span,
}

/// The value of an attribute.
#[derive(Debug)]
pub enum Attr<'s> {
    /// A name without a value.
    Unit,
    /// A number as written, whatever type follows.
    Number(&'s str),
    /// Without the quotes.
    Str(&'s str),
    /// `true`, `GT`, `i32`, and whatever else is a word.
    Word(&'s str),
    /// Without the `@`.
    Symbol(&'s str),
    /// The payload of `dense<…>`, where it begins, and the type after it with its number of elements.
    Dense {
        payload: &'s str,
        at: usize,
        ty: Option<TypeId>,
        count: u64,
    },
    /// What stands in `array<…>`.
    Array(&'s str),
    List(Vec<Attr<'s>>),
    /// `start:limit:stride` for each dimension.
    Ranges(Vec<[&'s str; 3]>),
    Dict,
    /// `[0] x [1]`
    Pair(Box<[Attr<'s>; 2]>),
    Type,
    /// `#stablehlo<comparison_direction GT>` and the like, as written.
    Raw(&'s str),
    /// `dense_resource<…>`
    Refused(&'s str),
}

/// The longest list that one number may stand for.
const MAX_LIST: u64 = 1024;

impl<'s> Op<'s> {
    pub fn attr(&self, name: &str) -> Option<&NamedAttr<'s>> {
        self.attrs.iter().find(|attr| attr.name == name)
    }

    /// The attribute under the first of the names that is there.
    pub fn any_attr(&self, names: &[&str]) -> Option<&NamedAttr<'s>> {
        names.iter().find_map(|name| self.attr(name))
    }
}

impl<'s> Attr<'s> {
    /// A list of integers in any spelling: `[0, 1]`, `array<i64: 0, 1>`, `dense<[0, 1]>`; a single number is a list
    /// of one, and nested lists are flattened.
    pub fn ints(&self) -> Option<Vec<i64>> {
        match self {
            Attr::Number(text) => Some(vec![text.parse().ok()?]),
            Attr::Array(text) => {
                let (_, items) = text.split_once(':').unwrap_or((text, ""));
                split_ints(items)
            }
            Attr::Dense { payload, count, .. } => {
                let ints = split_ints(payload)?;
                // One number stands for all.
                Some(match ints.as_slice() {
                    &[one] if *count > 1 && *count <= MAX_LIST => vec![one; *count as usize],
                    _ => ints,
                })
            }
            Attr::List(items) => {
                let mut all = Vec::with_capacity(items.len());
                for item in items {
                    all.extend(item.ints()?);
                }
                Some(all)
            }
            _ => None,
        }
    }

    pub fn int(&self) -> Option<i64> {
        match self.ints()?.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }

    /// The last word of an enumeration in any spelling: `GT`, `#stablehlo<comparison_direction GT>`.
    pub fn keyword(&self) -> Option<&'s str> {
        match self {
            Attr::Word(word) | Attr::Str(word) => Some(word),
            Attr::Raw(text) => {
                let inner = text.strip_suffix('>')?;
                inner.rsplit([' ', '<']).find(|word| !word.is_empty())
            }
            _ => None,
        }
    }
}

/// Whole numbers between commas, brackets apart.
fn split_ints(text: &str) -> Option<Vec<i64>> {
    let words = text.split([',', '[', ']']).map(str::trim).filter(|word| !word.is_empty());
    words.map(|word| word.parse().ok()).collect()
}

/// A function.
#[derive(Debug)]
pub struct Func<'s> {
    pub name: &'s str,
    pub name_span: Span,
    pub private: bool,
    pub args: Vec<BlockArg<'s>>,
    pub results: Vec<TypeId>,
    pub results_span: Span,
    /// None of a declaration.
    pub body: Option<Region<'s>>,
}
