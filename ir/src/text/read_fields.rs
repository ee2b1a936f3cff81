//! What stands in an operation or attribute besides operands.

use pest::iterators::Pair;
use smallvec::SmallVec;

use super::dense;
use super::grammar::Rule;
use super::read_type::unknown;
use crate::data::TensorData;
use crate::diag::{Code, Diagnostic, Span};
use crate::literal::Literal;
use crate::module::RandomRange;
use crate::ops::{
    CrossLaneAxis, CrossLaneOp, ElementwiseOp, Emit, MachineOp, OpKind, PadAmounts, ReduceOp, Seed,
    SliceRange, TensorOp,
};
use crate::types::{Dims, TensorType, Type};

pub(super) type P<'a> = Pair<'a, Rule>;

/// Errors of one statement, which never hide those of the next.
pub(super) type Read<T> = Result<T, Box<Diagnostic>>;

/// What an operation says besides its operands.
#[derive(Default)]
pub(super) struct Fields<'a> {
    names: SmallVec<[(&'a str, Span); 3]>,
    lists: SmallVec<[SmallVec<[i64; 4]>; 3]>,
    ranges: SmallVec<[SliceRange; 4]>,
    index: Option<usize>,
    scale: Option<f32>,
    dense: Option<(&'a str, Span)>,
    keep: bool,
    negate: bool,
    reversed: bool,
    pub(super) seed_loaded: bool,
    address: Option<u64>,
}

impl<'a> Fields<'a> {
    pub(super) fn take(&mut self, part: P<'a>, base: usize) -> Read<()> {
        match part.as_rule() {
            Rule::name => self.names.push((part.as_str(), span(&part, base))),
            Rule::keep => self.keep = true,
            Rule::negate => self.negate = true,
            Rule::reversed => self.reversed = true,
            Rule::index => self.index = Some(number(&part, base)?),
            Rule::indices | Rule::amounts => {
                let list =
                    part.into_inner().map(|item| number(&item, base)).collect::<Read<_>>()?;
                self.lists.push(list);
            }
            Rule::range => {
                let mut bounds = part.into_inner().map(|item| number(&item, base));
                let mut next = |missing| bounds.next().unwrap_or(Ok(missing));
                let (start, limit, stride) = (next(0)?, next(0)?, next(1)?);
                self.ranges.push(SliceRange { start, limit, stride });
            }
            Rule::scale => {
                for inner in part.into_inner() {
                    let bits = literal(&inner, base)?
                        .to_bits(crate::types::ElemType::F32)
                        .map_err(|error| {
                            Box::new(Diagnostic::error(
                                Code::LiteralValue,
                                error.to_string(),
                                span(&inner, base),
                            ))
                        })?;
                    self.scale = Some(f32::from_bits(bits as u32));
                }
            }
            Rule::address => {
                let digits = part.as_str().trim_start_matches("0x");
                let address = u64::from_str_radix(digits, 16).map_err(|_| {
                    let message = format!("`{}` is out of range", part.as_str());
                    Box::new(Diagnostic::error(Code::Number, message, span(&part, base)))
                })?;
                self.address = Some(address);
            }
            Rule::dense => self.dense = Some((part.as_str(), span(&part, base))),
            _ => {}
        }
        Ok(())
    }

    /// Looks a name up in a vocabulary.
    fn choice<T: Copy + 'static>(
        &self,
        index: usize,
        what: &str,
        all: &'static [T],
        name: fn(T) -> &'static str,
    ) -> Read<T> {
        let (text, at) = self.names.get(index).copied().unwrap_or(("", Span::NONE));
        all.iter()
            .copied()
            .find(|&item| name(item) == text)
            .ok_or_else(|| Box::new(unknown(what, text, at, all.iter().map(|&item| name(item)))))
    }

    fn elementwise(&self, index: usize) -> Read<ElementwiseOp> {
        let (text, _) = self.names.get(index).copied().unwrap_or(("", Span::NONE));
        match ElementwiseOp::from_name(text) {
            Some(op) => Ok(op),
            None => {
                self.choice(index, "elementwise operation", ElementwiseOp::ALL, ElementwiseOp::name)
            }
        }
    }

    fn reduce(&self) -> Read<ReduceOp> {
        self.choice(0, "reduction", ReduceOp::ALL, ReduceOp::name)
    }

    fn dims(&self) -> Dims {
        self.list(0).iter().map(|&dim| usize::try_from(dim).unwrap_or(usize::MAX)).collect()
    }

    fn list(&self, index: usize) -> &[i64] {
        self.lists.get(index).map_or(&[], |list| list.as_slice())
    }

    /// The operation; `None` when its type, needed to read it, was unreadable.
    pub(super) fn op(self, rule: Rule, ty: Option<&Type>, whole: Span) -> Read<Option<OpKind>> {
        if rule == Rule::alloc {
            return Ok(Some(OpKind::Machine(MachineOp::Alloc { address: self.address })));
        }
        if rule == Rule::preset {
            let data = self.constant(ty)?;
            let preset = |data| MachineOp::Constant { address: self.address, data };
            return Ok(data.map(preset).map(OpKind::Machine));
        }
        Ok(self.tensor_op(rule, ty, whole)?.map(OpKind::Tensor))
    }

    fn tensor_op(self, rule: Rule, ty: Option<&Type>, whole: Span) -> Read<Option<TensorOp>> {
        Ok(Some(match rule {
            Rule::elementwise => TensorOp::Elementwise(self.elementwise(0)?),
            Rule::pair => TensorOp::Pair {
                op0: self.elementwise(0)?,
                op1: self.elementwise(1)?,
                reverse: self.reversed,
            },
            Rule::transpose_pair => TensorOp::TransposePair {
                op0: self.elementwise(0)?,
                op1: self.elementwise(1)?,
                reverse: self.reversed,
            },
            Rule::cast => TensorOp::Cast,
            Rule::wrap => TensorOp::Wrap,
            Rule::to_int => TensorOp::ToInt,
            Rule::bitcast => TensorOp::Bitcast,
            Rule::reduce => TensorOp::Reduce {
                op: self.reduce()?,
                dims: self.dims(),
                keep: self.keep,
                negate: self.negate,
            },
            Rule::partition_reduce => TensorOp::PartitionReduce {
                op: self.choice(0, "cross-lane reduction", CrossLaneOp::ALL, CrossLaneOp::name)?,
                axis: self.choice(1, "axis", CrossLaneAxis::ALL, CrossLaneAxis::name)?,
                scale: self.scale,
            },
            Rule::transpose_reduce => {
                TensorOp::TransposeReduce { op: self.reduce()?, negate: self.negate }
            }
            Rule::transpose => TensorOp::Transpose { perm: self.dims() },
            Rule::scan_cache => TensorOp::ScanCache {
                op0: self.elementwise(0)?,
                op1: self.elementwise(1)?,
                seed: if self.seed_loaded { Seed::Load } else { Seed::Zero },
                emit: self.choice(2, "choice of what a scan emits", Emit::ALL, Emit::name)?,
            },
            Rule::broadcast => TensorOp::Broadcast { dims: self.dims() },
            Rule::reshape => TensorOp::Reshape,
            Rule::slice => TensorOp::Slice { ranges: self.ranges },
            Rule::concat => TensorOp::Concat { dim: self.index.unwrap_or(usize::MAX) },
            Rule::pad => TensorOp::Pad { amounts: self.amounts(whole)? },
            Rule::reverse => TensorOp::Reverse { dims: self.dims() },
            Rule::iota => TensorOp::Iota { dim: self.index.unwrap_or(usize::MAX) },
            Rule::constant => return self.constant(ty).map(|data| data.map(TensorOp::Constant)),
            _ => return Ok(None),
        }))
    }

    fn amounts(&self, whole: Span) -> Read<SmallVec<[PadAmounts; 4]>> {
        let (low, high) = (self.list(0), self.list(1));
        let zeros: SmallVec<[i64; 4]> = SmallVec::from_elem(0, low.len());
        let interior = if self.lists.len() > 2 { self.list(2) } else { &zeros };
        if low.len() != high.len() || low.len() != interior.len() {
            return Err(Box::new(Diagnostic::error(
                Code::Ranges,
                "`low`, `high` and `interior` differ in length",
                whole,
            )));
        }
        let amounts = low.iter().zip(high).zip(interior).map(|((&low, &high), &interior)| {
            u64::try_from(interior).map(|interior| PadAmounts { low, high, interior })
        });
        amounts.collect::<Result<_, _>>().map_err(|_| {
            Box::new(Diagnostic::error(Code::Ranges, "interior padding cannot be negative", whole))
        })
    }

    fn constant(&self, ty: Option<&Type>) -> Read<Option<TensorData>> {
        let (Some((text, at)), Some(ty)) = (self.dense, ty) else { return Ok(None) };
        let ty = &TensorType { shape: ty.shape().into(), dtype: ty.dtype() };
        if let Err(error) = crate::infer::check_type(ty) {
            return Err(Box::new(Diagnostic::error(error.code, error.message, at)));
        }
        let payload = &text[1..text.len() - 1];
        let data = dense::read(payload, ty).map_err(|error| {
            let start = at.start as usize + 1 + error.at;
            Box::new(
                Diagnostic::error(Code::Dense, error.message, Span::new(start, start + 1))
                    .label("here"),
            )
        })?;
        Ok(Some(data))
    }
}

/// A number of the grammar, within what the position holds.
pub(super) fn number<T: std::str::FromStr>(pair: &P<'_>, base: usize) -> Read<T> {
    pair.as_str().parse().map_err(|_| {
        Box::new(Diagnostic::error(
            Code::Number,
            format!("`{}` is out of range", pair.as_str()),
            span(pair, base),
        ))
    })
}

pub(super) fn literal(pair: &P<'_>, base: usize) -> Read<Literal> {
    dense::literal(pair.as_str())
        .map_err(|message| Box::new(Diagnostic::error(Code::Number, message, span(pair, base))))
}

/// `random = uniform(a, b)` or `random = int(a, b)`
pub(super) fn arg_attr(pair: P<'_>, base: usize) -> Read<RandomRange> {
    let whole = span(&pair, base);
    let mut names: SmallVec<[(&str, Span); 2]> = SmallVec::new();
    let mut numbers: SmallVec<[(Literal, Span); 2]> = SmallVec::new();
    for part in pair.into_inner() {
        let at = span(&part, base);
        match part.as_rule() {
            Rule::name => names.push((part.as_str(), at)),
            _ => numbers.push((literal(&part, base)?, at)),
        }
    }
    let (&[(attr, attr_at), (kind, kind_at)], &[low, high]) =
        (names.as_slice(), numbers.as_slice())
    else {
        return Err(Box::new(Diagnostic::error(Code::ArgAttribute, "malformed attribute", whole)));
    };
    if attr != "random" {
        return Err(Box::new(unknown("argument attribute", attr, attr_at, ["random"].into_iter())));
    }
    match kind {
        "uniform" => {
            let real = |(literal, at): (Literal, Span)| match literal {
                Literal::Int(value) => Ok(value as f64),
                Literal::Float(value) => Ok(value),
                _ => Err(Box::new(Diagnostic::error(
                    Code::ArgAttribute,
                    "`uniform` takes two numbers",
                    at,
                ))),
            };
            Ok(RandomRange::Uniform(real(low)?, real(high)?))
        }
        "int" => {
            let integer = |(literal, at): (Literal, Span)| {
                match literal {
                    Literal::Int(value) => i64::try_from(value).ok(),
                    _ => None,
                }
                .ok_or_else(|| {
                    Box::new(Diagnostic::error(Code::ArgAttribute, "`int` takes two integers", at))
                })
            };
            Ok(RandomRange::Int(integer(low)?, integer(high)?))
        }
        _ => Err(Box::new(unknown("distribution", kind, kind_at, ["uniform", "int"].into_iter()))),
    }
}

/// The place of a pair of a piece that starts at byte `base`.
pub(super) fn span(pair: &P<'_>, base: usize) -> Span {
    let range = pair.as_span();
    Span::new(base + range.start(), base + range.end())
}
