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

use crate::instruction::{Body, Instruction};
use crate::target::{Engine, Target};
use crate::violation::Violation;
use crate::word::Word;

use checker::Checker;

/// Judges one word. Without an engine the ENG rules and the engine rules of the opcode are skipped.
/// A legal word without warnings allocates nothing.
pub fn check(word: &Word, target: &Target, engine: Option<Engine>) -> Vec<Violation> {
    let instruction = Instruction::decode(word);
    let mut checker = Checker::new(word, target, engine, instruction.opcode());
    if checker.header(&instruction) {
        match &instruction.body {
            Body::TensorTensor(body) => checker.tensor_tensor(body),
            Body::ExtendedTensorTensor(body) => checker.extended_tensor_tensor(body),
            Body::TensorReduce(body) => checker.tensor_reduce(body),
            Body::CrossLaneReduce(body) => checker.cross_lane_reduce(body),
            Body::TensorScalar(body) => checker.tensor_scalar(body),
            Body::ScalarTensorTensor(body) => checker.scalar_tensor_tensor(body),
            Body::TensorScalarSelect(body) => checker.tensor_scalar_select(body),
            Body::LoadMaskSelect(body) => checker.load_mask_select(body),
            Body::Unknown(_) => {}
        }
    }
    checker.violations
}

/// Whether the word breaks no rule; warnings do not count.
pub fn is_legal(word: &Word, target: &Target, engine: Option<Engine>) -> bool {
    !check(word, target, engine).iter().any(Violation::is_error)
}
