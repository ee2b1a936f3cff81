//! Instruction selection: which word, on which engine, does a tensor operation exactly.
//!
//! Legality is asked of the machine's own rules: a form is accepted only when [`partita_isa::check`]
//! accepts its word. What the rules do not say, whether the word also gives the result that the
//! tensor dialect defines, is decided here: fp32 holds integers of at most 24 bits exactly, and the
//! machine saturates where the dialect wraps.

mod elementwise;
mod fold;
mod pair;
mod turn;

use partita_ir::data::TensorData;
use partita_ir::infer::literal_dtype;
use partita_ir::ops::{OpKind, TensorOp};
use partita_ir::{ElemType, Func, Op, Operand};
use partita_isa::{Dtype, Engine, Instruction, Pattern, Target};

use crate::words::{CrossLane, One, RowSelect, Scalar, Stt, Two};

pub use elementwise::{elementwise, predicated};
pub use fold::{cross_lane, reduce, scan, transpose_reduce};
pub use pair::{From, Stage, Stages, one_word, pair};
pub use turn::{Turn, turn};

/// An operand as selection sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    pub dtype: ElemType,
    pub kind: InputKind,
}

/// Where an operand's elements come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// A tile, read through an access pattern.
    Tensor,
    /// A tile with one element for each partition.
    Row,
    /// Bits known now.
    Literal(u64),
}

/// How an operation becomes words.
#[derive(Clone, Debug)]
pub enum Form {
    /// A copy, cast or reciprocal.
    Move { word: One, tensor: usize },
    /// Both operands read through patterns; a literal needs a tile that holds it.
    Two { word: Two, engine: Engine, tensors: [usize; 2] },
    /// One operand read through a pattern, the others (if any) immediates.
    Scalar { word: Scalar, engine: Engine, tensor: usize, immediates: [Option<usize>; 2] },
    /// Two operands read through patterns, a third (if any) an immediate.
    Stt { word: Stt, tensors: [usize; 2], immediate: Option<usize> },
    /// Two words, where one cannot do both operations of a pair.
    Stages(Box<Stages>),
    /// The second branch copied, then the first where the mask is set.
    Select { mask: Dtype, data: Dtype },
    /// A tensor, or one value for each row, by a value of each row; `other` is that branch.
    RowSelect { word: RowSelect, tensor: usize, other: usize },
    /// A reduction of free dimensions; `op_dim` is set when the pattern is known.
    Reduce { word: One, engine: Engine },
    /// A reduction of partitions.
    CrossLane(CrossLane),
    /// 0xe6 or 0x9a with the scalar and the seed as immediates.
    CacheScan(Scalar),
    /// 0x4e or 0x5e.
    Scan(One),
    /// 0x83 or 0x84 with X of 32 elements.
    TransposeReduce(One),
    /// 0x6b or 0x93.
    Turn(Turn),
}

impl Form {
    /// The form with operand `i` at `places[i]`.
    fn renumbered(mut self, places: &[usize]) -> Self {
        let at = |index: &mut usize| *index = places.get(*index).copied().unwrap_or(*index);
        match &mut self {
            Form::Move { tensor, .. } => at(tensor),
            Form::Two { tensors, .. } => tensors.iter_mut().for_each(at),
            Form::Scalar { tensor, immediates, .. } => {
                std::iter::once(tensor).chain(immediates.iter_mut().flatten()).for_each(at);
            }
            Form::Stt { tensors, immediate, .. } => {
                tensors.iter_mut().chain(immediate).for_each(at);
            }
            _ => {}
        }
        self
    }
}

/// Why no word does an operation as it stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct NotCore {
    pub reason: String,
    /// The rule that refused the last candidate, when a rule did.
    pub rule: Option<&'static str>,
}

impl NotCore {
    fn because(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), rule: None }
    }
}

/// Whether one or two words do the operation exactly as the dialect defines it. Moving data is done
/// by DMA and always core.
///
/// # Errors
/// The reason, with the rule where a rule stands in the way.
pub fn core_reason(func: &Func, op: &Op, target: &Target) -> Result<(), NotCore> {
    if op.as_tensor().is_none() || is_movement(func, op) {
        return Ok(());
    }
    form(func, op, target, |_| false).map(|_| ())
}

/// True of operations that only choose, repeat or reorder bytes.
pub fn is_movement(func: &Func, op: &Op) -> bool {
    let OpKind::Tensor(kind) = &op.kind else { return false };
    match kind {
        TensorOp::Transpose { .. }
        | TensorOp::Broadcast { .. }
        | TensorOp::Reshape
        | TensorOp::Slice { .. }
        | TensorOp::Concat { .. }
        | TensorOp::Pad { .. }
        | TensorOp::Reverse { .. }
        | TensorOp::Iota { .. }
        | TensorOp::Constant(_) => true,
        // A truth value is a byte of 0 or 1; any other bits must be made so.
        TensorOp::Bitcast => {
            let from = op.value_operands().next().map(|value| func.ty(value).dtype());
            let to = op.result().map(|value| func.ty(value).dtype());
            (from == Some(ElemType::I1)) == (to == Some(ElemType::I1))
        }
        _ => false,
    }
}

/// The form of an operation that computes; `is_row` says which operands have one element for each
/// partition in the layout at hand.
///
/// # Errors
/// As [`core_reason`].
pub fn form(
    func: &Func,
    op: &Op,
    target: &Target,
    is_row: impl Fn(usize) -> bool,
) -> Result<Form, NotCore> {
    let (OpKind::Tensor(kind), Some(result)) = (&op.kind, op.result()) else {
        return Err(NotCore::because("not an operation on tensors"));
    };
    let out = func.ty(result).dtype();
    let inputs = inputs(func, op, is_row)?;
    let shape = op.value_operands().next().map(|value| func.ty(value).shape()).unwrap_or_default();
    match kind {
        TensorOp::Elementwise(op) => elementwise(*op, &inputs, out, target),
        TensorOp::Pair { op0, op1, reverse } => pair([*op0, *op1], *reverse, &inputs, out, target),
        TensorOp::Cast => elementwise::cast(first(&inputs)?, out, target),
        TensorOp::Reduce { op, dims, negate, .. } => {
            let depth = dims.iter().filter_map(|&dim| shape.get(dim)).product();
            reduce(*op, first(&inputs)?, out, depth, *negate, target)
        }
        TensorOp::PartitionReduce { op, scale, .. } => {
            cross_lane(*op, first(&inputs)?, out, shape, *scale, target)
        }
        TensorOp::ScanCache { op0, op1, seed, emit } => {
            scan(*op0, *op1, *seed, *emit, &inputs, out, target)
        }
        TensorOp::TransposePair { op0, op1, reverse } => {
            turn([*op0, *op1], *reverse, &inputs, out, target)
        }
        TensorOp::TransposeReduce { op, negate } => {
            transpose_reduce(*op, first(&inputs)?, out, *negate, target)
        }
        other => Err(NotCore::because(format!("no word does `{}`", other.kind_name().full()))),
    }
}

/// The operands of an operation as selection sees them.
///
/// # Errors
/// The type of one is not known.
pub fn inputs(func: &Func, op: &Op, is_row: impl Fn(usize) -> bool) -> Result<Vec<Input>, NotCore> {
    (0..op.operands.len()).map(|index| input(func, op, index, is_row(index))).collect()
}

fn first(inputs: &[Input]) -> Result<Input, NotCore> {
    inputs.first().copied().ok_or_else(|| NotCore::because("the operand is missing"))
}

fn input(func: &Func, op: &Op, index: usize, row: bool) -> Result<Input, NotCore> {
    let missing = || NotCore::because("the operand's type is unknown");
    match op.operands.get(index).ok_or_else(missing)? {
        Operand::Value(value) => {
            let kind = if row { InputKind::Row } else { InputKind::Tensor };
            Ok(Input { dtype: func.ty(*value).dtype(), kind })
        }
        Operand::Literal(literal) => {
            let dtype = literal_dtype(func, op, index).ok_or_else(missing)?;
            let bits =
                literal.to_bits(dtype).map_err(|error| NotCore::because(error.to_string()))?;
            Ok(Input { dtype, kind: InputKind::Literal(bits) })
        }
    }
}

/// The immediate slot of a literal beside arithmetic: its value as fp32.
pub fn fp32_slot(bits: u64, dtype: ElemType) -> Option<u32> {
    literal_f32(bits, dtype).map(f32::to_bits)
}

/// The value of an element as fp32, exact for what the vector engine reads exactly.
fn literal_f32(bits: u64, dtype: ElemType) -> Option<f32> {
    let ty = partita_ir::TensorType::scalar(dtype);
    TensorData::splat(ty, bits).ok()?.f32(0)
}

/// Accepts a word that breaks no rule on the engine.
fn legal(word: &Instruction, target: &Target, engine: Engine) -> Result<(), NotCore> {
    let found = partita_isa::check(&word.encode(), target, Some(engine));
    match found.into_iter().find(|violation| violation.is_error()) {
        None => Ok(()),
        Some(violation) => {
            Err(NotCore { rule: Some(violation.rule.id), reason: violation.to_string() })
        }
    }
}

/// Stand-ins for operands at different places of SBUF, for asking the rules.
fn sample<const D: usize>(slot: u32, count: u16) -> Pattern<D> {
    Pattern::contiguous(slot * 0x1000, count)
}

/// Channels of a sample word: what every opcode accepts.
const SAMPLE_CHANNELS: u8 = 32;

/// The largest magnitude up to which fp32 holds every integer.
const FP32_EXACT: i128 = 1 << 24;

/// True when the vector engine reads and computes with the type exactly in fp32.
fn is_small_int(dtype: ElemType) -> bool {
    dtype.is_int() && dtype.width() <= 16
}

/// True when every value of the range is written to `out` unchanged: the range is exact in fp32, and
/// a float (one rounding, as the dialect asks) or within the integer's range.
fn holds((low, high): (i128, i128), out: ElemType) -> bool {
    let exact = low >= -FP32_EXACT && high <= FP32_EXACT;
    exact && out.int_range().is_none_or(|(least, most)| least <= low && high <= most)
}
