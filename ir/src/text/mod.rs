//! Text in and out: the `.pta` language (docs/language.md).
//!
//! Reading goes in three steps. [`scan`](self) cuts the text into pieces and
//! counts brackets; the pest grammar parses each piece; its pairs become IR at
//! once. Names are resolved on the way; types are the verifier's business.

mod dense;
mod grammar;
mod print;
mod read;
mod read_check;
mod read_fields;
mod read_func;
mod read_machine;
mod read_type;
mod scan;
mod suggest;

pub(crate) use dense::{
    DenseError, element as dense_element, read as read_dense, read_f64 as read_dense_f64,
};
pub use print::print_func;
pub use suggest::nearest;

use crate::diag::{Diagnostic, Source};
use crate::module::Module;
use crate::verify;

/// The grammar that the reader uses, in pest's notation.
pub const GRAMMAR: &str = include_str!("partita.pest");

/// The most bytes that a text may have.
pub const MAX_TEXT: usize = 64 << 20;

/// What to do about a text that is larger.
pub const MAX_TEXT_HELP: &str = "make large constants arguments, and give them with --inputs";

/// A mark that some editors put first; it is no part of the text.
const BYTE_ORDER_MARK: &str = "\u{feff}";

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_skipped_and_moves_no_place() {
        const NAMELESS: &str =
            "func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n  return %b : tensor<4xf32>\n}\n";
        let marked = format!("\u{feff}{}", NAMELESS.replace("%b", "%a"));
        assert!(load(&Source::new("m.pta", marked.as_str())).is_ok());
        assert!(matches_grammar(&marked));
        let first_place = |text: String| {
            let source = Source::new("m.pta", text);
            let found = load(&source).unwrap_err();
            source.line_column(found[0].primary.span.start as usize)
        };
        let on_first_line = NAMELESS.replace("func @main(%a", "func @main(%a: tensor<4xf32>, %a");
        for text in [NAMELESS, &on_first_line] {
            assert_eq!(first_place(format!("\u{feff}{text}")), first_place(text.to_owned()));
        }
        assert_eq!(first_place(on_first_line), (1, 31));
        // Elsewhere it is a character like any other, and no white space.
        assert!(load(&Source::new("m.pta", format!(" {marked}"))).is_err());
    }
}
