//! Why a word does not run.

use partita_isa::{Opcode, Violation};

/// What is wrong with one word, or with the moment at which it is reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The word breaks rules; each is spelled as the validator spells it.
    #[error("illegal word: {}", .0.join("; "))]
    Illegal(Vec<String>),
    /// Validated only (ISA 9.4).
    #[error("{} is validated but not executed", .0.mnemonic())]
    NotExecuted(Opcode),
    /// ISA 4.3, OQ-10.
    #[error("unsupported: shape register")]
    ShapeRegister,
    /// A destination by index, which IND-3 rejects; sources are executed element by element.
    #[error("unsupported: indirect pattern")]
    Indirect,
    /// The lane table entry, dtype or operation that a rule should have excluded.
    #[error("unsupported: {0}")]
    Unsupported(&'static str),
    /// A rule of addresses that fails at run time (ISA 3.3).
    #[error("{rule}: address {address:#x}{} {reason}", register_text(.register))]
    Address {
        rule: &'static str,
        address: u32,
        /// The register that the address came from.
        register: Option<u8>,
        reason: &'static str,
    },
    /// A pattern asks for more work than the limits allow.
    #[error("the pattern visits more than {limit} elements per channel")]
    TooManyElements { limit: usize },
    /// The word is reached before its wait is satisfied.
    #[error("waits for {condition}, but {state}")]
    Wait { condition: String, state: String },
}

fn register_text(register: &Option<u8>) -> String {
    register.map_or_else(String::new, |number| format!(" (from register {number})"))
}

impl Fault {
    /// The errors among what a check reported.
    pub(crate) fn of(violations: &[Violation]) -> Result<(), Self> {
        let mut errors = violations.iter().filter(|violation| violation.is_error()).peekable();
        match errors.peek() {
            None => Ok(()),
            Some(_) => Err(Self::Illegal(errors.map(ToString::to_string).collect())),
        }
    }
}
