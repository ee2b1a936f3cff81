//! Words for `tensor.transpose_pair`: 0x6b moves bits, 0x93 does two operations with scalars on the way.

use partita_ir::ElemType;
use partita_ir::ops::ElementwiseOp;
use partita_isa::{AluOp, Engine, Opcode, Target};

use super::{Form, Input, InputKind, NotCore, SAMPLE_CHANNELS, legal, one_word, sample};
use crate::blocks::BLOCK;
use crate::words::{Imm, One, Scalar};

/// How a matrix is turned.
#[derive(Clone, Debug)]
pub enum Turn {
    Move(One),
    /// Immediates are literals.
    Scalar {
        word: Scalar,
        immediates: [Option<usize>; 2],
    },
}

impl Turn {
    pub fn opcode(&self) -> Opcode {
        match self {
            Self::Move(word) => word.opcode,
            Self::Scalar { word, .. } => word.opcode,
        }
    }
}

/// Elements of a sample word (CNT-3).
const SAMPLE_ELEMENTS: u16 = BLOCK as u16;

/// Selects the word of a transposing pair.
///
/// # Errors
/// No word does it exactly.
pub fn turn(
    ops: [ElementwiseOp; 2],
    reverse: bool,
    inputs: &[Input],
    out: ElemType,
    target: &Target,
) -> Result<Form, NotCore> {
    let tensor = inputs.iter().find(|input| input.kind == InputKind::Tensor);
    let input = tensor.ok_or_else(|| NotCore::because("there is nothing to transpose"))?.dtype;
    let (src, dst) = (SAMPLE_ELEMENTS, SAMPLE_ELEMENTS);
    if ops == [ElementwiseOp::Copy; 2] && input == out {
        let word = One::moving(Opcode::StreamTranspose, input.machine(), out.machine());
        let sample_word = word.word(SAMPLE_CHANNELS, sample(0, src), sample(1, dst));
        legal(&sample_word, target, Engine::Dve)?;
        return Ok(Form::Turn(Turn::Move(word)));
    }
    let (word, immediates) = match one_word(ops, reverse, inputs, out, target)? {
        Form::Scalar { word, immediates, .. } => (word, immediates),
        Form::Move { word, .. } if word.opcode == Opcode::Cast => {
            let opcode = Opcode::TensorScalarArithOp;
            (Scalar::of(opcode, AluOp::Bypass, word.input, word.out), [None; 2])
        }
        _ => return Err(NotCore::because("a transpose takes along operations with scalars only")),
    };
    if word.opcode != Opcode::TensorScalarArithOp || word.ops.contains(&AluOp::Rsqrt) {
        return Err(NotCore::because("a transpose takes along arithmetic in fp32 (ISA 9.16)"));
    }
    let word = Scalar { opcode: Opcode::TransposeTensorScalarArithOp, ..word };
    let sample_word = word.word(SAMPLE_CHANNELS, [Imm::NONE; 2], sample(0, src), sample(1, dst));
    legal(&sample_word, target, Engine::Dve)?;
    Ok(Form::Turn(Turn::Scalar { word, immediates }))
}
