//! Selects by a scalar of each row (ISA 9.20), whose predicate is as wide as the data (SEL-2).

use partita_ir::ops::TensorOpName;
use partita_ir::{ElemType, ElementwiseOp, FuncBuilder, Operand, TensorOp, TensorType, ValueId};
use partita_isa::Opcode;

use super::{Makes, Read, Refusal, Rule, Site};
use crate::rewrite::RewriteClass;

pub(super) const RULES: &[Rule] = &[Rule {
    name: "select-by-row",
    class: RewriteClass::Exact,
    doc: "a select by one truth value of each row, one branch a scalar, reads the value as wide as the data",
    makes: Makes::Word(Opcode::TensorScalarSelect),
    chain: &[TensorOpName::Elementwise],
    only_exact_words: true,
    build: by_row,
}];

/// One element for each row.
pub(in crate::fuse) fn is_of_rows(ty: &TensorType, result: &TensorType) -> bool {
    ty.rank() == result.rank() && result.rank() > 0 && ty.shape.last() == Some(&1)
}

fn by_row(b: &mut FuncBuilder, site: &Site<'_>) -> Result<ValueId, Refusal> {
    let (ElementwiseOp::Select, &[Read::Value(mask), on, off]) =
        (site.elementwise(0)?, site.reads(0)?.as_slice())
    else {
        return Err(Refusal::NoMatch);
    };
    let result = site.ty(0)?;
    let ty = b.ty(mask).cloned().ok_or(Refusal::NoMatch)?;
    // Signed, so that no value of a narrow mask becomes 0.
    let wide = match result.dtype.size_bytes() {
        2 => ElemType::I16,
        4 => ElemType::I32,
        _ => return Err(Refusal::NoMatch),
    };
    let scalar = |read: Read| match read {
        Read::Literal(_) => true,
        Read::Value(value) => b.ty(value).is_some_and(|ty| is_of_rows(ty, result)),
        Read::Chain => false,
    };
    let narrow = ty.dtype.size_bytes() == 1;
    if !narrow || !is_of_rows(&ty, result) || scalar(on) == scalar(off) {
        return Err(Refusal::NoMatch);
    }
    let predicate = b.cast(mask, wide)?;
    let branches = [on, off].map(Read::operand);
    let operands: Option<Vec<Operand>> =
        [Some(Operand::Value(predicate))].into_iter().chain(branches).collect();
    let select = TensorOp::Elementwise(ElementwiseOp::Select);
    Ok(b.op(select, &operands.ok_or(Refusal::NoMatch)?, result)?)
}
