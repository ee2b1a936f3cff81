//! Expansions of float operations.

use super::Expansion;

/// The expansions in the order in which they are tried.
pub const EXPANSIONS: &[Expansion] = &[];
