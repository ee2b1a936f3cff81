//! Pipelines: passes in the order in which they run, as text and at work.

use std::fmt;
use std::str::FromStr;

use partita_ir::{Diagnostic, Module, Span};

use crate::fuse::Mode;

use super::{Context, DEFAULT, PASSES, PassInfo, Setting, Settings};

/// A pass of a pipeline, with the settings that its text gives.
#[derive(Clone, Debug)]
pub struct PassRun {
    pub pass: &'static PassInfo,
    pub settings: Vec<(&'static Setting, u64)>,
}

impl PassRun {
    /// Runs the pass with its settings in force; those of the context stand again afterwards.
    ///
    /// # Errors
    /// What the pass refuses.
    pub fn run(&self, module: &Module, cx: &mut Context) -> Result<Module, Vec<Diagnostic>> {
        let before = cx.settings;
        cx.settings = self.settings_in(before);
        let result = self.pass.run(module, cx);
        cx.settings = before;
        result
    }

    /// The settings in force while the pass runs: those around it, changed as its text says.
    pub fn settings_in(&self, around: Settings) -> Settings {
        let mut settings = around;
        for (setting, value) in &self.settings {
            (setting.set)(&mut settings, *value);
        }
        settings
    }
}

impl From<&'static PassInfo> for PassRun {
    fn from(pass: &'static PassInfo) -> Self {
        Self { pass, settings: Vec::new() }
    }
}

/// `fuse{node-limit=5000,allow-excess-precision=true}`
impl fmt::Display for PassRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.pass.name)?;
        for (index, (setting, value)) in self.settings.iter().enumerate() {
            let open = if index == 0 { '{' } else { ',' };
            write!(f, "{open}{}={}", setting.name, setting.kind.print(*value))?;
        }
        if self.settings.is_empty() { Ok(()) } else { f.write_str("}") }
    }
}

/// Passes in the order in which they run.
#[derive(Clone, Debug)]
pub struct Pipeline {
    pub passes: Vec<PassRun>,
}

impl Default for Pipeline {
    fn default() -> Self {
        let passes = DEFAULT.iter().filter_map(|name| PassInfo::find(name));
        Self { passes: passes.map(PassRun::from).collect() }
    }
}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, pass) in self.passes.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            write!(f, "{pass}")?;
        }
        Ok(())
    }
}

/// Where a pipeline's text is wrong, and how.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
pub struct PipelineError {
    pub message: String,
    /// Where in the text.
    pub span: Span,
    /// What there is that is spelled nearly so.
    pub near: Option<&'static str>,
}

impl FromStr for Pipeline {
    type Err = PipelineError;

    /// Passes separated by commas, each with its settings in braces; empty text is the empty pipeline.
    fn from_str(text: &str) -> Result<Self, PipelineError> {
        let mut passes = Vec::new();
        if !text.trim().is_empty() {
            for (start, part) in pieces(text) {
                passes.push(pass_run(start, part)?);
            }
        }
        Ok(Self { passes })
    }
}

/// The pieces between commas that stand outside braces, with where they begin.
fn pieces(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut start, mut depth) = (Vec::new(), 0, 0usize);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                found.push((start, &text[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push((start, &text[start..]));
    found
}

/// A piece without the blanks around it.
fn trimmed(start: usize, text: &str) -> (usize, &str) {
    (start + text.len() - text.trim_start().len(), text.trim())
}

fn error(message: String, start: usize, text: &str, near: Option<&'static str>) -> PipelineError {
    PipelineError { message, span: Span::new(start, start + text.len()), near }
}

fn pass_run(start: usize, part: &str) -> Result<PassRun, PipelineError> {
    let (start, part) = trimmed(start, part);
    let (name, braced) = match part.split_once('{') {
        Some((name, rest)) => (name.trim_end(), Some((start + part.len() - rest.len(), rest))),
        None => (part, None),
    };
    let pass = PassInfo::find(name).ok_or_else(|| {
        let near = partita_ir::text::nearest(name, PASSES.iter().map(|pass| pass.name));
        error(format!("there is no pass `{name}`"), start, name, near)
    })?;
    let mut run = PassRun::from(pass);
    if let Some((at, rest)) = braced {
        let inner = rest.strip_suffix('}').filter(|inner| !inner.contains(['{', '}']));
        let inner = inner.ok_or_else(|| {
            error("settings stand in one pair of braces".to_owned(), start, part, None)
        })?;
        for (at, piece) in pieces(inner).into_iter().map(|(offset, piece)| (at + offset, piece)) {
            run.settings.push(setting(pass, at, piece)?);
        }
    }
    Ok(run)
}

fn setting(
    pass: &'static PassInfo,
    start: usize,
    piece: &str,
) -> Result<(&'static Setting, u64), PipelineError> {
    let (start, piece) = trimmed(start, piece);
    let (name, value) = match piece.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim())),
        None => (piece, None),
    };
    let found = pass.settings.iter().find(|setting| setting.name == name).ok_or_else(|| {
        let near = partita_ir::text::nearest(name, pass.settings.iter().map(|one| one.name));
        let what = match pass.settings.is_empty() {
            true => format!("`{}` has no settings", pass.name),
            false => format!("`{}` has no setting `{name}`", pass.name),
        };
        error(what, start, piece, near)
    })?;
    let value = found
        .kind
        .parse(value)
        .map_err(|allowed| error(format!("`{name}` is {allowed}"), start, piece, None))?;
    Ok((found, value))
}

/// One pass that has run.
#[derive(Debug)]
pub struct Step<'a> {
    pub run: &'a PassRun,
    pub before: &'a Module,
    pub after: &'a Module,
}

/// Somebody who looks on while a pipeline runs.
pub trait Observer {
    /// A pass is about to run.
    fn before(&mut self, _run: &PassRun, _module: &Module, _cx: &Context) {}

    /// A pass has run; its result has not been verified yet.
    fn after(&mut self, _step: &Step<'_>) {}
}

/// Nobody.
impl Observer for () {}

/// Why a pipeline stopped.
#[derive(Debug)]
pub struct Stopped {
    /// The pass at which it stopped.
    pub run: PassRun,
    pub found: Vec<Diagnostic>,
    /// True when the verifier refused what the pass made: the pass is wrong, not the program.
    pub broken: bool,
}

impl From<Stopped> for Vec<Diagnostic> {
    fn from(stopped: Stopped) -> Self {
        stopped.found
    }
}

impl Pipeline {
    /// Runs the passes one after the other; `verify` checks the module after each.
    ///
    /// # Errors
    /// What a pass refuses, or what the verifier finds after one (an internal error).
    pub fn run(
        &self,
        module: &Module,
        cx: &mut Context,
        verify: bool,
        observer: &mut dyn Observer,
    ) -> Result<Module, Stopped> {
        let mut module = module.clone();
        for run in &self.passes {
            observer.before(run, &module, cx);
            let stopped = |found, broken| Stopped { run: run.clone(), found, broken };
            let after = run.run(&module, cx).map_err(|found| stopped(found, false))?;
            observer.after(&Step { run, before: &module, after: &after });
            if verify {
                partita_ir::verify::verify(&after)
                    .map_err(|found| stopped(noted(run.pass, found), true))?;
            }
            module = after;
        }
        Ok(module)
    }

    /// The same passes with every fusion by this way of finding forms, or without any.
    #[must_use]
    pub fn fusing(mut self, mode: Mode) -> Self {
        let value = Mode::ALL.iter().position(|other| *other == mode).unwrap_or_default() as u64;
        let wanted = [("mode", value), ("join", u64::from(mode != Mode::None))];
        for run in &mut self.passes {
            for (name, value) in wanted {
                let own = run.pass.settings.iter().find(|setting| setting.name == name);
                // What the text says goes first.
                if let Some(own) = own
                    && !run.settings.iter().any(|(setting, _)| setting.name == name)
                {
                    run.settings.push((own, value));
                }
            }
        }
        self
    }

    /// The part from the first pass of one name to the last of another.
    ///
    /// # Errors
    /// The name of the bound that the pipeline does not have, or has only before the other.
    pub fn part<'a>(mut self, from: Option<&'a str>, to: Option<&'a str>) -> Result<Self, &'a str> {
        if let Some(from) = from {
            let start = self.passes.iter().position(|run| run.pass.name == from).ok_or(from)?;
            self.passes.drain(..start);
        }
        if let Some(to) = to {
            let end = self.passes.iter().rposition(|run| run.pass.name == to).ok_or(to)?;
            self.passes.truncate(end + 1);
        }
        Ok(self)
    }
}

fn noted(pass: &PassInfo, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let note = format!("found by the verifier after `{}`", pass.name);
    found.into_iter().map(|diagnostic| diagnostic.note(note.clone())).collect()
}
