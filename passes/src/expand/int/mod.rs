//! Expansions of operations on integers and truth values, and of the shapes of reductions and
//! scans.

pub mod leading;

use super::Expansion;

/// The tables in the order in which they are tried.
pub const TABLES: &[&[Expansion]] = &[];
