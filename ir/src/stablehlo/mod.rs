//! StableHLO's text, as JAX and PyTorch/XLA print it, to functions of the tensor dialect (docs/stablehlo.md).
//!
//! Two steps: [`read`] makes a tree of the text, [`lower`] makes operations of the tree. Calls are put in line, so
//! that a function of the result stands alone.

mod lower;
mod read;

use crate::diag::{Code, Diagnostic, Severity, Source, Span};
use crate::module::Module;
use crate::text::{MAX_TEXT, MAX_TEXT_HELP};

/// How a text is understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `f64` is computed as `f32`, with a warning, instead of being refused.
    pub f64_as_f32: bool,
    /// The target's 8-bit float with four exponent bits is the OCP one (ISA 5.2).
    pub fp8_ocp: bool,
}

/// Further errors are not worth finding.
const MAX_ERRORS: usize = 500;

/// A text that has been read.
#[derive(Debug)]
pub struct Text<'s> {
    file: read::File<'s>,
    options: Options,
}

/// What is known of a function before it is lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature<'s> {
    pub name: &'s str,
    pub private: bool,
    /// Number of arguments.
    pub args: usize,
    /// Holds operations that check a result, itself or in what it calls.
    pub has_checks: bool,
}

/// Functions of the tensor dialect, and what there is to say of them.
#[derive(Debug)]
pub struct Lowered {
    pub module: Module,
    /// Warnings and notes.
    pub notes: Vec<Diagnostic>,
}

impl<'s> Text<'s> {
    /// Reads a text.
    ///
    /// # Errors
    /// The first place where the text is not in the language.
    pub fn read(source: &'s Source, options: Options) -> Result<Self, Vec<Diagnostic>> {
        if source.text.len() > MAX_TEXT {
            let message = format!("the text has more than {} MiB", MAX_TEXT >> 20);
            let error = Diagnostic::error(Code::TooLarge, message, Span::new(0, 0));
            return Err(vec![error.help(MAX_TEXT_HELP)]);
        }
        let types = read::types::TypeOptions { fp8_ocp: options.fp8_ocp };
        match read::read(&source.text, types) {
            Ok(file) => Ok(Self { file, options }),
            Err(error) => Err(vec![*error]),
        }
    }

    /// The functions, in the order of the text.
    pub fn functions(&self) -> impl Iterator<Item = Signature<'s>> + '_ {
        let checking = lower::checking(&self.file);
        self.file.funcs.iter().map(move |func| Signature {
            name: func.name,
            private: func.private,
            args: func.args.len(),
            has_checks: checking.contains(func.name),
        })
    }

    /// Makes functions of the tensor dialect of those named; all that are not private without names.
    ///
    /// # Errors
    /// Everything in them that cannot be compiled, in the order of the text.
    pub fn lower(&self, names: Option<&[&str]>) -> Result<Lowered, Vec<Diagnostic>> {
        let mut module = Module::default();
        let (mut errors, mut notes) = (Vec::new(), Vec::new());
        for func in &self.file.funcs {
            let wanted = match names {
                Some(names) => names.contains(&func.name),
                None => !func.private,
            };
            if wanted && errors.len() < MAX_ERRORS {
                let (lowered, found) = lower::lower(&self.file, func, self.options);
                module.funcs.extend(lowered);
                for diagnostic in found {
                    let list = match diagnostic.severity {
                        Severity::Error => &mut errors,
                        _ => &mut notes,
                    };
                    if !list.contains(&diagnostic) {
                        list.push(diagnostic);
                    }
                }
            }
        }
        errors.sort_by_key(|error| error.primary.span);
        if errors.is_empty() { Ok(Lowered { module, notes }) } else { Err(errors) }
    }
}

/// The operations that are known, without their dialect where that is `stablehlo`: with what to do instead of those
/// that are not compiled.
pub fn operations() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    lower::operations()
}

/// Reads a text and lowers every function that is not private.
///
/// # Errors
/// As [`Text::read`] and [`Text::lower`].
pub fn load(source: &Source, options: Options) -> Result<Lowered, Vec<Diagnostic>> {
    Text::read(source, options)?.lower(None)
}
