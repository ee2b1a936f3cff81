//! Judging a word: every rule it breaks, in the order of ISA 2.6 (header, events, the opcode's own
//! rules, engine).
//!
//! A rule made of shared rules is reported with the ids of those that failed inside it: a wrong start
//! partition under 0x83 gives TTR-1, TR-8 and CH-3. A rule whose input is itself invalid (an
//! alignment under an undefined dtype, a count under an undefined op_dim) is not tested. A word whose
//! opcode does not exist on the target, or not in this subset, gets no body rules.
//!
//! Not tested, because the reference does not model it: the tile test of MAVERICK's channel range
//! (CH-2), the size limit of an indirect destination (IND-3 rejects it). Addresses, shapes and scalars
//! that come from registers are known only at run time.

mod address;
mod body;
mod checker;
mod cross_lane;
mod immediate;
mod stream;
mod tensor_reduce;
mod tensor_scalar;
mod tensor_tensor;

use crate::instruction::BodyKind;
use crate::layout::{
    CrossLaneReduce, Events, ExtendedTensorTensor, Header, LoadMaskSelect, ScalarTensorTensor,
    TensorReduce, TensorScalar, TensorScalarSelect, TensorTensor,
};
use crate::opcode::Opcode;
use crate::target::{Engine, Target};
use crate::violation::Violation;
use crate::word::Word;

use checker::Checker;

/// Judges one word. Without an engine the ENG rules and the engine rules of the opcode are skipped.
/// A legal word without warnings allocates nothing.
pub fn check(word: &Word, target: &Target, engine: Option<Engine>) -> Vec<Violation> {
    let bytes = &word.0;
    let opcode = Opcode::from_number(word.opcode_byte());
    let mut checker = Checker::new(word, target, engine, opcode);
    if let Some(opcode) = checker.header(&Header::decode(bytes), &Events::decode(bytes)) {
        // Only the struct that is judged is decoded, and not moved again.
        match opcode.info().body {
            BodyKind::TensorTensor => checker.tensor_tensor(&TensorTensor::decode(bytes)),
            BodyKind::ExtendedTensorTensor => {
                checker.extended_tensor_tensor(&ExtendedTensorTensor::decode(bytes));
            }
            BodyKind::TensorReduce => checker.tensor_reduce(&TensorReduce::decode(bytes)),
            BodyKind::CrossLaneReduce => checker.cross_lane_reduce(&CrossLaneReduce::decode(bytes)),
            BodyKind::TensorScalar => checker.tensor_scalar(&TensorScalar::decode(bytes)),
            BodyKind::ScalarTensorTensor => {
                checker.scalar_tensor_tensor(&ScalarTensorTensor::decode(bytes));
            }
            BodyKind::TensorScalarSelect => {
                checker.tensor_scalar_select(&TensorScalarSelect::decode(bytes));
            }
            BodyKind::LoadMaskSelect => checker.load_mask_select(&LoadMaskSelect::decode(bytes)),
        }
    }
    checker.violations
}

/// Whether the word breaks no rule; warnings do not count.
pub fn is_legal(word: &Word, target: &Target, engine: Option<Engine>) -> bool {
    !check(word, target, engine).iter().any(Violation::is_error)
}
