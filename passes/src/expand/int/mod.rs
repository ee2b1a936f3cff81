//! Expansions of operations on integers and truth values, and of the shapes of reductions and
//! scans.
//!
//! Integers of at most 16 bits are exact on the vector engine's fp32 path as long as the result is;
//! 32-bit ones wrap natively on POOL; 64-bit ones do so from CAYMAN on, and what no word does with
//! them works on their 32-bit halves. Every row keeps the exact result modulo 2ⁿ.

mod arg;
mod arith;
mod bits;
mod compare;
mod convert;
mod divide;
pub mod leading;
mod long;
mod normal;
mod partition;
mod power;
mod reduce;
mod scan;
mod steps;
mod words;

use partita_ir::FuncBuilder;

use super::{Built, Expansion, OpCx, When};
use crate::rewrite::RewriteClass;

/// The tables in the order in which they are tried.
pub const TABLES: &[&[Expansion]] = &[
    normal::EXPANSIONS,
    leading::EXPANSIONS,
    long::EXPANSIONS,
    convert::EXPANSIONS,
    compare::EXPANSIONS,
    arith::EXPANSIONS,
    divide::EXPANSIONS,
    power::EXPANSIONS,
    bits::EXPANSIONS,
    arg::EXPANSIONS,
    reduce::EXPANSIONS,
    partition::EXPANSIONS,
    scan::EXPANSIONS,
];

/// A row that keeps every bit and is tried only where the target has no word.
const fn exact(
    name: &'static str,
    why: &'static str,
    applies: fn(&OpCx<'_>) -> bool,
    build: fn(&mut FuncBuilder, &OpCx<'_>) -> Built,
) -> Expansion {
    Expansion { name, class: RewriteClass::Exact, why, when: When::NotCore, applies, build }
}
