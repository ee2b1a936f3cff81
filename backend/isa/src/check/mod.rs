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

pub(crate) mod accumulate;
mod address;
mod checker;
pub(crate) mod cross_lane;
mod engines;
pub(crate) mod extended;
mod immediate;
pub(crate) mod lanes;
pub(crate) mod scalar_tensor;
pub(crate) mod scan;
pub(crate) mod select;
pub(crate) mod stream;
pub(crate) mod tensor_reduce;
pub(crate) mod tensor_scalar;
pub(crate) mod tensor_tensor;
mod three;
mod two;

use crate::target::{Engine, Target};
use crate::violation::Violation;
use crate::word::Word;

pub(crate) use checker::Checker;

/// Judges one word. Without an engine the ENG rules and the engine rules of the opcode are skipped.
/// A legal word without warnings allocates nothing.
pub fn check(word: &Word, target: &Target, engine: Option<Engine>) -> Vec<Violation> {
    let mut checker = Checker::new(word, target, engine);
    if let Some(opcode) = checker.header() {
        (opcode.info().judge)(&mut checker);
    }
    checker.violations
}

/// Whether the word breaks no rule; warnings do not count.
pub fn is_legal(word: &Word, target: &Target, engine: Option<Engine>) -> bool {
    !check(word, target, engine).iter().any(Violation::is_error)
}
