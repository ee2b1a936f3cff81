//! Legalization: every tensor operation as operations that a word or two of the target do
//! exactly.
//!
//! Each way of expressing an operation by others is a row of data, an [`Expansion`]: a name, the
//! class of the rewrite, when it applies, and how it is built. [`legalize`] rebuilds a function:
//! an operation that [`crate::select::core_reason`] accepts stays; for any other the first row that
//! applies is built, and what it emits is treated in the same way. What nothing expresses is a
//! diagnostic with the reason.
//!
//! Rows are proved by [`prove`], which evaluates both sides with the reference evaluator.

mod cx;
mod driver;
mod emit;
pub mod float;
pub mod int;
mod pair;
pub mod prove;

use partita_ir::FuncBuilder;

pub use cx::{Built, OpCx, Refusal, eval_options};
pub use driver::{Applied, legalize};
pub use emit::{Emitted, Emitter, Val};
pub use int::leading::transpose_reduce_route;

use crate::rewrite::RewriteClass;

/// When an expansion is considered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Only if the target has no exact word for the operation.
    NotCore,
    /// Before the target is asked: the operation is legal, but slow or too large. Where
    /// what it builds cannot be legalized the operation stays as it is.
    Always,
}

/// One way of expressing an operation by others.
#[derive(Debug)]
pub struct Expansion {
    /// Lower case with hyphens; shown in remarks.
    pub name: &'static str,
    pub class: RewriteClass,
    /// Why it is needed and why it is right, in one sentence.
    pub why: &'static str,
    pub when: When,
    pub applies: fn(&OpCx<'_>) -> bool,
    /// Builds in a function whose arguments are the operands of the context. A refusal
    /// passes the operation on to the next row.
    pub build: fn(&mut FuncBuilder, &OpCx<'_>) -> Built,
}

/// Every expansion in the order in which they are tried.
pub fn tables() -> impl Iterator<Item = &'static Expansion> {
    let ints = int::TABLES.iter().copied().flatten();
    pair::EXPANSIONS.iter().chain(ints).chain(float::EXPANSIONS)
}
