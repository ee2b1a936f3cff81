//! Prices of elementwise operations: by how many operands are streamed, since a scalar
//! of each partition costs nothing.

use partita_backend::cost::{Condition, Memory, Profile};
use partita_ir::ops::Class;
use partita_ir::{ElemType, ElementwiseOp, TensorType};
use partita_isa::{AluOp, CostClass, Engine, Opcode};
use smallvec::SmallVec;

use super::{MANY_WORDS, Prices, columns, whole};
use crate::fuse::rules::selects::is_of_rows;

/// What the price of a word hangs on.
#[derive(Clone, Debug)]
pub struct Stream {
    pub class: CostClass,
    pub engine: Engine,
    pub elements: u64,
    /// Types of what is streamed, the result last; empty when no fast mode is wanted.
    pub dtypes: SmallVec<[ElemType; 3]>,
    pub ops: [Option<AluOp>; 2],
}

impl Default for Stream {
    fn default() -> Self {
        Self {
            class: CostClass::Elementwise,
            engine: Engine::Dve,
            elements: 0,
            dtypes: SmallVec::new(),
            ops: [None, None],
        }
    }
}

impl Stream {
    /// True when the word runs in a mode, its operands in SBUF and side by side.
    pub fn has_mode(&self, when: &Condition, profile: &Profile) -> bool {
        let (sources, all) = match self.dtypes.split_last() {
            Some((_, sources)) => (sources, self.dtypes.as_slice()),
            None => return false,
        };
        let within = |set: &Option<String>, dtypes: &[ElemType]| {
            let Some(name) = set else { return true };
            let members = profile.dtype_sets.get(name).map_or(&[][..], Vec::as_slice);
            dtypes.iter().all(|dtype| members.contains(&dtype.machine()))
        };
        let one_of = |ops: &Option<Vec<AluOp>>, op: Option<AluOp>| {
            ops.as_ref().is_none_or(|ops| op.is_some_and(|op| ops.contains(&op)))
        };
        within(&when.dtypes, all)
            && within(&when.source_dtypes, sources)
            && one_of(&when.op0, self.ops[0])
            && one_of(&when.op1, self.ops[1])
            && matches!(when.memory, None | Some(Memory::Sbuf | Memory::SourcesSbuf))
            && (!when.even || self.elements.is_multiple_of(2))
            && !(when.accumulates || when.revisits || when.all_axes)
    }
}

/// True of what is paid whatever the operands are.
pub fn is_unconditional(when: &Condition) -> bool {
    let Condition { dtypes, source_dtypes, memory, op0, op1, .. } = when;
    dtypes.is_none()
        && source_dtypes.is_none()
        && memory.is_none()
        && op0.is_none()
        && op1.is_none()
        && !(when.accumulates || when.revisits || when.all_axes)
}

/// True of an operand with one element for each row of the result, which most layouts
/// put into one element of each partition.
pub fn is_row(ty: &TensorType, result: &TensorType) -> bool {
    let last = ty.shape.last().copied();
    ty.dtype == ElemType::F32 && result.rank() > 0 && last.is_none_or(|size| size == 1)
}

/// True of a select by one value of each row as wide as the data, one branch of which is a scalar (ISA 9.20).
fn is_row_select(operands: &[Option<&TensorType>], result: &TensorType) -> bool {
    let &[Some(mask), on, off] = operands else { return false };
    let scalar = |branch: Option<&TensorType>| branch.is_none_or(|ty| is_of_rows(ty, result));
    is_of_rows(mask, result)
        && mask.dtype.size_bytes() == result.dtype.size_bytes()
        && scalar(on) != scalar(off)
}

impl Prices {
    /// An elementwise operation. Literals and scalars of rows are not streamed.
    pub(super) fn elementwise(
        &self,
        op: ElementwiseOp,
        operands: &[Option<&TensorType>],
        result: &TensorType,
    ) -> u64 {
        let elements = columns(result);
        let values = || operands.iter().copied().flatten();
        let wide = values().any(|ty| ty.dtype.is_int() && ty.dtype.width() >= 32);
        let bits = matches!(op.class(), Class::Bit | Class::Shift);
        let tensors = streamed(operands, result);
        let engine = if wide && !bits { Engine::Pool } else { Engine::Dve };
        let single = tensors.len() < 2 && engine == Engine::Dve;
        let class = if single { CostClass::Elementwise } else { CostClass::TensorTensor };
        let word = |class| {
            let dtypes = types(&tensors, result);
            self.stream(&Stream { class, engine, elements, dtypes, ops: [op.alu(), None] })
        };
        match op {
            ElementwiseOp::Select if is_row_select(operands, result) => {
                self.word(CostClass::Select, Engine::Dve, elements)
            }
            ElementwiseOp::Select => self
                .word(CostClass::Predicated, Engine::Dve, elements)
                .saturating_add(self.word(CostClass::Elementwise, Engine::Dve, elements)),
            ElementwiseOp::Reciprocal => {
                let word = |engine| self.word(CostClass::Reciprocal, engine, elements);
                let handover = self.profile.handover_ns([Engine::Dve, Engine::Act]);
                word(Engine::Dve).min(word(Engine::Act).saturating_add(whole(handover * 1000.0)))
            }
            ElementwiseOp::Exp if self.has_exponential() => word(CostClass::Exponential),
            _ if op.is_alu() || op == ElementwiseOp::Copy => word(class),
            _ => word(class).saturating_mul(MANY_WORDS),
        }
    }

    fn has_exponential(&self) -> bool {
        Opcode::Exponential.info().generations.contains(self.generation)
    }

    /// Two operations in one word, or in two where both operands of the first are streamed.
    pub(super) fn pair(
        &self,
        ops: [ElementwiseOp; 2],
        reverse: bool,
        operands: &[Option<&TensorType>],
        result: &TensorType,
    ) -> u64 {
        let [op0, op1] = ops;
        let (first, rest) = operands.split_at(op0.arity().min(operands.len()));
        if op0 == ElementwiseOp::Copy {
            let mut all: SmallVec<[Option<&TensorType>; 3]> = operands.into();
            if reverse {
                all.reverse();
            }
            return self.elementwise(op1, &all, result);
        }
        if op1 == ElementwiseOp::Copy {
            return self.elementwise(op0, first, result);
        }
        let (before, after) = (streamed(first, result), streamed(rest, result));
        if before.len() > 1 {
            let between = result.with_dtype(ElemType::F32);
            let after: SmallVec<[Option<&TensorType>; 3]> =
                [Some(&between)].into_iter().chain(rest.iter().copied()).collect();
            let first = self.elementwise(op0, first, &between);
            return first.saturating_add(self.elementwise(op1, &after, result));
        }
        let class = match op1 {
            ElementwiseOp::Exp => CostClass::Exponential,
            _ if after.is_empty() => CostClass::Elementwise,
            _ => CostClass::ScalarTensorTensor,
        };
        let tensors: SmallVec<[&TensorType; 3]> = before.into_iter().chain(after).collect();
        self.stream(&Stream {
            class,
            elements: columns(result),
            dtypes: types(&tensors, result),
            ops: [op0.alu(), op1.alu()],
            ..Stream::default()
        })
    }
}

/// The operands that a word reads through patterns: of several values, those that are
/// not scalars of rows, and one at least.
fn streamed<'a>(
    operands: &[Option<&'a TensorType>],
    result: &TensorType,
) -> SmallVec<[&'a TensorType; 3]> {
    let values: SmallVec<[&TensorType; 3]> = operands.iter().copied().flatten().collect();
    values.into_iter().filter(|ty| !is_row(ty, result)).collect()
}

fn types(tensors: &[&TensorType], result: &TensorType) -> SmallVec<[ElemType; 3]> {
    tensors.iter().map(|ty| ty.dtype).chain([result.dtype]).collect()
}
