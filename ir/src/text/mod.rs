//! Text in and out: the `.pta` language (docs/language.md).
//!
//! Reading goes in three steps. [`scan`](self) cuts the text into pieces and
//! counts brackets; the pest grammar parses each piece; its pairs become IR at
//! once. Names are resolved on the way; types are the verifier's business.

mod dense;
mod grammar;
mod print;
mod read;
mod read_fields;
mod read_func;
mod read_machine;
mod read_type;
mod scan;
mod suggest;

pub use print::print_func;
pub use suggest::nearest;

use crate::diag::{Diagnostic, Source};
use crate::module::Module;
use crate::verify;

/// The grammar that the reader uses, in pest's notation.
pub const GRAMMAR: &str = include_str!("partita.pest");

/// The most bytes that a text may have.
pub const MAX_TEXT: usize = 1 << 30;

/// Reads a module without verifying it: names are resolved, types are as written.
///
/// # Errors
/// Every error of syntax and naming, in the order of the text.
pub fn parse(source: &Source) -> Result<Module, Vec<Diagnostic>> {
    let (module, diagnostics) = read::read(source);
    if diagnostics.is_empty() { Ok(module) } else { Err(diagnostics) }
}

/// Reads and verifies a module.
///
/// # Errors
/// Every error that can be found: of syntax and naming, and of types in whatever
/// could be read, in the order of the text.
pub fn load(source: &Source) -> Result<Module, Vec<Diagnostic>> {
    let (module, mut diagnostics) = read::read(source);
    let incomplete = !diagnostics.is_empty();
    diagnostics.extend(verify::verify_read(&module, incomplete));
    if diagnostics.is_empty() {
        return Ok(module);
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.primary.span);
    Err(diagnostics)
}

/// True when the published grammar accepts the whole text; the reader, which
/// cuts the text first, accepts the same.
pub fn matches_grammar(text: &str) -> bool {
    grammar::matches_file(text)
}
