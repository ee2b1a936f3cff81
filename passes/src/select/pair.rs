//! Words for `tensor.pair`: both operations in one word where its operands allow it,
//! else one word after the other with what is between them in a tile.
//!
//! Arithmetic reads any operand as fp32 and rounds once, as the pair does, so that
//! every word that the rules accept is exact.

use partita_ir::ElemType;
use partita_ir::ops::ElementwiseOp;
use partita_isa::{AluOp, Dtype, Engine, Opcode, ReverseOps, Target};

use super::elementwise::{elementwise, one_source};
use super::{Form, Input, InputKind, NotCore, SAMPLE_CHANNELS, legal, literal_f32, sample};
use crate::words::{Imm, Scalar, Stt, Two};

/// Where an operand of one of the two words comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// An operand of the pair.
    Operand(usize),
    /// What the first word made.
    Between,
}

/// One of two words, and its operands.
#[derive(Clone, Debug)]
pub struct Stage {
    pub form: Form,
    pub operands: Vec<From>,
}

/// Two words in turn.
#[derive(Clone, Debug)]
pub struct Stages {
    pub stages: [Stage; 2],
    pub between: ElemType,
}

/// The pair as selection sees it.
#[derive(Clone, Copy)]
struct Pair<'a> {
    ops: [ElementwiseOp; 2],
    reverse: bool,
    inputs: &'a [Input],
    out: ElemType,
    target: &'a Target,
}

/// Selects the form of a pair.
///
/// # Errors
/// One of its operations has no exact word even by itself.
pub fn pair(
    ops: [ElementwiseOp; 2],
    reverse: bool,
    inputs: &[Input],
    out: ElemType,
    target: &Target,
) -> Result<Form, NotCore> {
    let pair = Pair { ops, reverse, inputs, out, target };
    pair.one_word().or_else(|reason| {
        pair.stages().map(|stages| Form::Stages(Box::new(stages))).or(Err(reason))
    })
}

/// Selects the one word that does both operations of a pair.
///
/// # Errors
/// There is none; the reason of the last candidate.
pub fn one_word(
    ops: [ElementwiseOp; 2],
    reverse: bool,
    inputs: &[Input],
    out: ElemType,
    target: &Target,
) -> Result<Form, NotCore> {
    Pair { ops, reverse, inputs, out, target }.one_word()
}

impl Pair<'_> {
    fn is_bits(&self) -> bool {
        self.ops[0].is_bits()
    }

    /// The first operation's operands, and the second's other one, by their places.
    fn places(&self) -> (Vec<usize>, Option<usize>) {
        let arity = self.ops[0].arity();
        ((0..arity).collect(), (arity < self.inputs.len()).then_some(arity))
    }

    fn one_word(&self) -> Result<Form, NotCore> {
        let (first, other) = self.places();
        let [op0, op1] = self.ops;
        if op0 == ElementwiseOp::Copy {
            let mut operands: Vec<usize> = first.into_iter().chain(other).collect();
            if self.reverse {
                operands.reverse();
            }
            return self.single(op1, &operands, self.out);
        }
        if op1 == ElementwiseOp::Copy {
            return self.single(op0, &first, self.out);
        }
        if op1 == ElementwiseOp::Exp {
            return self.exponential();
        }
        if !self.is_bits() {
            self.writes(op1)?;
        }
        let alu = [alu_of(op0)?, alu_of(op1)?];
        let mut refusal = NotCore::because("both operands of the first operation are tensors");
        for (tensor, scalar) in self.splits(&first) {
            for second in self.seconds(other) {
                let reverse =
                    match (scalar.is_some_and(|s| s < tensor), self.reverse && other.is_some()) {
                        (false, false) => ReverseOps::None,
                        (true, false) => ReverseOps::First,
                        (false, true) => ReverseOps::Second,
                        (true, true) => ReverseOps::Both,
                    };
                match self.word(alu, reverse, tensor, scalar, second) {
                    Ok(form) => return Ok(form),
                    Err(reason) => refusal = reason,
                }
            }
        }
        Err(refusal)
    }

    /// The ways to read the first operation's operands: one through a pattern, the other
    /// (if any) as a scalar.
    fn splits(&self, first: &[usize]) -> Vec<(usize, Option<usize>)> {
        match *first {
            [a] => vec![(a, None)],
            [a, b] => [(a, b), (b, a)]
                .into_iter()
                .filter(|&(tensor, scalar)| self.is_tensor(tensor) && self.imm(scalar).is_some())
                .map(|(tensor, scalar)| (tensor, Some(scalar)))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The ways to read the second operation's other operand.
    fn seconds(&self, other: Option<usize>) -> Vec<Second> {
        let Some(other) = other else { return vec![Second::None] };
        let scalar = self.imm(other).is_some().then_some(Second::Scalar(other));
        scalar.into_iter().chain(self.is_tensor(other).then_some(Second::Tensor(other))).collect()
    }

    fn word(
        &self,
        alu: [AluOp; 2],
        reverse: ReverseOps,
        tensor: usize,
        scalar: Option<usize>,
        second: Second,
    ) -> Result<Form, NotCore> {
        let imm = |index: Option<usize>| index.and_then(|i| self.imm(i)).unwrap_or(Imm::NONE);
        match second {
            Second::None | Second::Scalar(_) => {
                let other = if let Second::Scalar(index) = second { Some(index) } else { None };
                let opcode = if self.is_bits() {
                    Opcode::TensorScalarBitvecOp
                } else {
                    Opcode::TensorScalarArithOp
                };
                let word = Scalar {
                    ops: alu,
                    reverse,
                    ..Scalar::of(opcode, alu[0], self.dtype(tensor), self.out.machine())
                };
                let slots = [imm(scalar), imm(other)];
                let sample_word = word.word(SAMPLE_CHANNELS, slots, sample(0, 1), sample(1, 1));
                legal(&sample_word, self.target, Engine::Dve)?;
                Ok(Form::Scalar { word, engine: Engine::Dve, tensor, immediates: [scalar, other] })
            }
            Second::Tensor(other) => {
                let opcode = if self.is_bits() {
                    Opcode::ScalarTensorTensorBitvec
                } else {
                    Opcode::ScalarTensorTensorArith
                };
                let word = Stt {
                    opcode,
                    ops: alu,
                    reverse,
                    dtypes: [self.dtype(tensor), self.dtype(other)],
                    out: self.out.machine(),
                };
                let sources = [sample(0, 1), sample(1, 1)];
                let sample_word = word.word(SAMPLE_CHANNELS, imm(scalar), sources, sample(2, 1));
                legal(&sample_word, self.target, Engine::Dve)?;
                Ok(Form::Stt { word, tensors: [tensor, other], immediate: scalar })
            }
        }
    }

    /// `exp(x - m)` with m a scalar (ISA 9.18).
    fn exponential(&self) -> Result<Form, NotCore> {
        let (first, _) = self.places();
        let (ElementwiseOp::Subtract, &[tensor, scalar]) = (self.ops[0], first.as_slice()) else {
            return Err(NotCore::because("the exponential subtracts before it, nothing else"));
        };
        self.writes(ElementwiseOp::Exp)?;
        let imm = self.imm(scalar).filter(|_| self.is_tensor(tensor));
        let imm = imm.ok_or_else(|| NotCore::because("the exponential subtracts a scalar"))?;
        let out = self.out.machine();
        let word = Scalar::of(Opcode::Exponential, AluOp::Bypass, self.dtype(tensor), out);
        let sample_word = word.word(SAMPLE_CHANNELS, [imm, Imm::NONE], sample(0, 1), sample(1, 1));
        legal(&sample_word, self.target, Engine::Dve)?;
        let immediates = [Some(scalar), None];
        Ok(Form::Scalar { word, engine: Engine::Dve, tensor, immediates })
    }

    /// One operation alone on operands at these places.
    fn single(
        &self,
        op: ElementwiseOp,
        operands: &[usize],
        out: ElemType,
    ) -> Result<Form, NotCore> {
        let inputs: Vec<Input> = operands.iter().map(|&i| self.inputs[i]).collect();
        let form = one(op, &inputs, out, self.target)?;
        Ok(form.renumbered(operands))
    }

    /// Both operations, each by itself.
    fn stages(&self) -> Result<Stages, NotCore> {
        let (first, other) = self.places();
        let [op0, op1] = self.ops;
        let between = if self.is_bits() { self.out } else { ElemType::F32 };
        let inputs: Vec<Input> = first.iter().map(|&i| self.inputs[i]).collect();
        let first = Stage {
            form: one(op0, &inputs, between, self.target)?,
            operands: first.into_iter().map(From::Operand).collect(),
        };
        let made = Input { dtype: between, kind: InputKind::Tensor };
        let mut operands = vec![(made, From::Between)];
        operands.extend(other.map(|i| (self.inputs[i], From::Operand(i))));
        if self.reverse {
            operands.reverse();
        }
        let inputs: Vec<Input> = operands.iter().map(|&(input, _)| input).collect();
        let second = Stage {
            form: one(op1, &inputs, self.out, self.target)?,
            operands: operands.into_iter().map(|(_, from)| from).collect(),
        };
        Ok(Stages { stages: [first, second], between })
    }

    fn is_tensor(&self, index: usize) -> bool {
        self.inputs.get(index).is_some_and(|input| !matches!(input.kind, InputKind::Literal(_)))
    }

    fn dtype(&self, index: usize) -> Dtype {
        self.inputs.get(index).map_or(Dtype::Fp32, |input| input.dtype.machine())
    }

    /// The slot of an operand that a word takes as a scalar.
    fn imm(&self, index: usize) -> Option<Imm> {
        self.inputs.get(index).and_then(|input| scalar_slot(input, self.is_bits()))
    }

    fn writes(&self, op: ElementwiseOp) -> Result<(), NotCore> {
        writes(op, self.out)
    }
}

#[derive(Clone, Copy)]
enum Second {
    None,
    Scalar(usize),
    Tensor(usize),
}

/// A word of the vector engine writes numbers of at most 32 bits; a truth value only
/// from an operation that gives one.
fn writes(op: ElementwiseOp, out: ElemType) -> Result<(), NotCore> {
    if out.width() > 32 {
        return Err(NotCore::because("the vector engine writes at most 32 bits (TT-E1)"));
    }
    if out == ElemType::I1 && !op.alu().is_some_and(AluOp::is_truth) {
        return Err(NotCore::because("a number is not a truth value"));
    }
    Ok(())
}

/// A scalar beside arithmetic is fp32, beside bits of the data's type (ISA 8.1).
fn scalar_slot(input: &Input, bits: bool) -> Option<Imm> {
    match input.kind {
        InputKind::Literal(value) if bits => u32::try_from(value).ok().map(Imm::Value),
        InputKind::Literal(value) => {
            literal_f32(value, input.dtype).map(|value| Imm::Value(value.to_bits()))
        }
        InputKind::Row if input.dtype == ElemType::F32 || bits && input.dtype.width() == 32 => {
            Some(Imm::Pointer(0x3000))
        }
        _ => None,
    }
}

fn alu_of(op: ElementwiseOp) -> Result<AluOp, NotCore> {
    op.alu().ok_or_else(|| NotCore::because(format!("no word has `{op}` for a step")))
}

/// One operation of a pair by itself: as the dialect has it where the types are those of
/// the dialect, else by a word that reads its operands as fp32.
fn one(
    op: ElementwiseOp,
    inputs: &[Input],
    out: ElemType,
    target: &Target,
) -> Result<Form, NotCore> {
    let plain = inputs.iter().all(|input| input.dtype == ElemType::F32);
    if op.is_bits() || plain {
        return elementwise(op, inputs, out, target);
    }
    writes(op, out)?;
    if let (ElementwiseOp::Copy, [input]) = (op, inputs) {
        let opcode = if input.dtype == out { Opcode::Copy } else { Opcode::Cast };
        return one_source(opcode, *input, out, target);
    }
    let alu = alu_of(op)?;
    let pair = Pair { ops: [op, ElementwiseOp::Copy], reverse: false, inputs, out, target };
    let places: Vec<usize> = (0..inputs.len()).collect();
    for (tensor, scalar) in pair.splits(&places) {
        let reverse =
            if scalar.is_some_and(|s| s < tensor) { ReverseOps::First } else { ReverseOps::None };
        let ops = [alu, AluOp::Bypass];
        if let Ok(form) = pair.word(ops, reverse, tensor, scalar, Second::None) {
            return Ok(form);
        }
    }
    let &[a, b] = inputs else {
        return Err(NotCore::because(format!("no word does `{op}` of `{}`", pair.dtype(0).name())));
    };
    let tensors = [a, b].iter().all(|input| !matches!(input.kind, InputKind::Literal(_)));
    if !tensors {
        return Err(NotCore::because("a word of two sources takes no literal"));
    }
    let word = Two {
        opcode: Opcode::TensorTensorArithOp,
        op: alu,
        dtypes: [a.dtype.machine(), b.dtype.machine()],
        out: out.machine(),
    };
    let sample_word = word.word(SAMPLE_CHANNELS, [sample(0, 1), sample(1, 1)], sample(2, 1));
    legal(&sample_word, target, Engine::Dve)?;
    Ok(Form::Two { word, engine: Engine::Dve, tensors: [0, 1] })
}
