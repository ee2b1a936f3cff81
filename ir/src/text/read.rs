//! The reader: pieces of text to a module.

use rustc_hash::FxHashMap;

use super::grammar::{Rule, parse_piece};
use super::read_func::FuncReader;
use super::scan::{MAX_NESTING, Piece, PieceKind, Scanner};
use super::{MAX_TEXT, MAX_TEXT_HELP, read_type};
use crate::diag::{Code, Diagnostic, Source, Span};
use crate::module::Module;

/// A statement longer than this, constants apart, is not a program's.
const MAX_PIECE: usize = 1 << 20;

/// Further errors are not worth reading.
const MAX_DIAGNOSTICS: usize = 200;

/// Reads what can be read. Where diagnostics are returned, the module lacks the
/// statements they are about, and values of such statements are detached.
pub fn read(source: &Source) -> (Module, Vec<Diagnostic>) {
    let mut reader = Reader {
        text: &source.text,
        module: Module::default(),
        diagnostics: Vec::new(),
        func: None,
        func_names: FxHashMap::default(),
        in_module: false,
    };
    if source.text.len() > MAX_TEXT {
        let message = format!("the text has more than {} MiB", MAX_TEXT >> 20);
        let error = Diagnostic::error(Code::TooLarge, message, Span::new(0, 0)).help(MAX_TEXT_HELP);
        return (reader.module, vec![error]);
    }
    reader.run();
    (reader.module, reader.diagnostics)
}

struct Reader<'s> {
    text: &'s str,
    module: Module,
    diagnostics: Vec<Diagnostic>,
    func: Option<FuncReader<'s>>,
    /// Where each function name was first defined.
    func_names: FxHashMap<String, Span>,
    in_module: bool,
}

impl<'s> Reader<'s> {
    fn run(&mut self) {
        for piece in Scanner::new(self.text) {
            self.piece(piece);
            if self.diagnostics.len() >= MAX_DIAGNOSTICS {
                self.diagnostics.truncate(MAX_DIAGNOSTICS);
                if let Some(last) = self.diagnostics.last_mut() {
                    last.notes.push(format!(
                        "{MAX_DIAGNOSTICS} errors; the rest of the text was not read"
                    ));
                }
                return;
            }
        }
        let end = self.text.len();
        if self.func.is_some() {
            self.close_func(Span::new(end, end));
        } else if self.in_module && self.diagnostics.is_empty() {
            self.missing_brace("module", Span::new(end, end));
        }
    }

    fn piece(&mut self, piece: Piece) {
        let Piece { kind, start, end, .. } = piece;
        if !self.text.is_char_boundary(end) || !self.text.is_char_boundary(start) {
            // Cuts are at ASCII characters, so this would be a defect of the scanner.
            self.report(Code::Syntax, "the text cannot be cut here", Span::new(start, start));
            return;
        }
        let text = &self.text[start..end];
        if let Some(error) = limits(&piece) {
            self.diagnostics.push(error);
            self.lose(kind, text, start);
            return;
        }
        match kind {
            PieceKind::Target => self.target(text, start),
            PieceKind::ModuleOpen => self.module_open(text, start),
            PieceKind::Header => self.header(text, start),
            PieceKind::Close => self.close(text, start),
            PieceKind::Statement | PieceKind::Machine => match &mut self.func {
                Some(func) if kind == PieceKind::Machine => {
                    func.machine(text, start, &self.module.target(), &mut self.diagnostics);
                }
                Some(func) => func.statement(text, start, &mut self.diagnostics),
                None => self.stray(text, start),
            },
        }
    }

    fn report(&mut self, code: Code, message: impl Into<String>, span: Span) {
        self.diagnostics.push(Diagnostic::error(code, message, span));
    }

    /// Keeps the names of a piece that is not parsed, so that no further errors
    /// follow from it.
    fn lose(&mut self, kind: PieceKind, text: &'s str, start: usize) {
        match kind {
            PieceKind::Header => {
                self.end_unclosed(start);
                self.func = Some(FuncReader::lost(self.text));
            }
            PieceKind::Statement => {
                if let Some(func) = &mut self.func {
                    func.lose(text, start);
                }
            }
            _ => {}
        }
    }

    fn stray(&mut self, text: &str, start: usize) {
        // A function that lost its header has been reported already.
        let first = text.lines().next().unwrap_or(text);
        let span = Span::new(start, start + first.len());
        self.diagnostics.push(
            Diagnostic::error(Code::Syntax, "a statement outside of any function", span)
                .help("a function begins with `func @name(…) -> … {`"),
        );
    }

    fn target(&mut self, text: &str, start: usize) {
        match parse_piece(Rule::target_piece, text, start) {
            Ok(pairs) => {
                let Some(name) = pairs.flatten().find(|pair| pair.as_rule() == Rule::target_name)
                else {
                    return;
                };
                match name.as_str().parse() {
                    Ok(target) => self.module.target = Some(target),
                    Err(error) => {
                        let error: partita_isa::target::TargetError = error;
                        let at = start + name.as_span().start();
                        let span = Span::new(at, at + name.as_str().len());
                        let message = format!("there is no target `{}`", name.as_str());
                        self.diagnostics.push(
                            Diagnostic::error(Code::Target, message, span).help(error.help()),
                        );
                    }
                }
            }
            Err(error) => self.diagnostics.push(*error),
        }
    }

    fn module_open(&mut self, text: &str, start: usize) {
        if self.in_module || self.func.is_some() || !self.module.funcs.is_empty() {
            self.report(
                Code::Syntax,
                "a module cannot begin here",
                Span::new(start, start + text.len()),
            );
        }
        self.in_module = true;
        if let Err(error) = parse_piece(Rule::module_piece, text, start) {
            self.diagnostics.push(*error);
        }
    }

    fn header(&mut self, text: &'s str, start: usize) {
        self.end_unclosed(start);
        let func = match parse_piece(Rule::header_piece, text, start) {
            Ok(pairs) => FuncReader::open(self.text, pairs, start, &mut self.diagnostics),
            Err(error) => {
                self.diagnostics.push(*error);
                FuncReader::lost(self.text)
            }
        };
        if !func.is_lost() {
            let (name, span) = (func.name().to_owned(), func.name_span());
            match self.func_names.get(&name) {
                Some(&first) => self.diagnostics.push(
                    Diagnostic::error(
                        Code::DuplicateFunc,
                        format!("`@{name}` is defined twice"),
                        span,
                    )
                    .label("again here")
                    .also(first, "first here"),
                ),
                None => {
                    self.func_names.insert(name, span);
                }
            }
        }
        self.func = Some(func);
    }

    /// A header inside a body: the brace before it is missing.
    fn end_unclosed(&mut self, start: usize) {
        if self.func.is_some() {
            self.close_func(Span::new(start, start));
        }
    }

    fn close(&mut self, text: &'s str, start: usize) {
        let loc = match parse_piece(Rule::close_piece, text, start) {
            Ok(pairs) => pairs
                .flatten()
                .find(|pair| pair.as_rule() == Rule::loc)
                .map(|pair| super::read_func::loc(&pair)),
            Err(error) => {
                self.diagnostics.push(*error);
                None
            }
        };
        if let Some(mut func) = self.func.take() {
            func.set_loc(loc);
            self.keep(func);
        } else if self.in_module {
            self.in_module = false;
        } else {
            self.report(Code::Syntax, "this brace closes nothing", Span::new(start, start + 1));
        }
    }

    /// Ends a function that has no closing brace.
    fn close_func(&mut self, at: Span) {
        if let Some(func) = self.func.take() {
            if !func.is_lost() {
                self.missing_brace(&format!("`@{}`", func.name()), at);
            }
            self.keep(func);
        }
    }

    fn missing_brace(&mut self, what: &str, at: Span) {
        self.diagnostics.push(
            Diagnostic::error(Code::Syntax, format!("{what} is not closed"), at)
                .label("expected `}`")
                .help("add `}`"),
        );
    }

    fn keep(&mut self, func: FuncReader<'s>) {
        if let Some(func) = func.finish() {
            self.module.funcs.push(func);
        }
    }
}

/// What the grammar must not be given.
fn limits(piece: &Piece) -> Option<Diagnostic> {
    if let Some(at) = piece.too_deep {
        let message = format!("brackets are nested more than {MAX_NESTING} deep");
        return Some(
            Diagnostic::error(Code::TooDeep, message, Span::new(at, at + 1)).label("too deep"),
        );
    }
    if piece.end - piece.start - piece.payload > MAX_PIECE {
        let span = Span::new(piece.start, piece.start + 1);
        return Some(
            Diagnostic::error(Code::TooLarge, "a statement of more than 1 MiB", span)
                .label("begins here")
                .help("a statement ends where the next begins, such as `%y = …` or `return`"),
        );
    }
    None
}

/// Reads a type's text, reporting what is wrong with it.
pub fn read_type_or_report(
    text: &str,
    base: usize,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<crate::types::Type> {
    read_type::read(text, base).map_err(|error| diagnostics.push(*error)).ok()
}
