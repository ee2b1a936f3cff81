//! The program between passes: its texts with their differences, and pictures of it.

use std::collections::BTreeMap;

use partita::ir::{Func, Module, Source};
use partita::isa::Target;
use partita::passes::pass::Dialect;
use partita::passes::{Context, Observer, PassRun, Step};
use serde::Serialize;

use super::clipped_lines;
use super::picture::Picture;
use crate::diff::{self, Hunk};
use crate::graph;

/// A pass that has run.
#[derive(Serialize)]
pub struct Pass {
    name: String,
    summary: &'static str,
    /// Numbers of the texts before and after.
    before: usize,
    after: usize,
    added: usize,
    removed: usize,
    /// For each stretch of lines: 1 if it is the same in both, first line and number of lines before, then after.
    hunks: Vec<[usize; 5]>,
}

/// Looks on while a program is compiled.
pub struct Stages<'a> {
    source: &'a Source,
    target: Target,
    texts: Vec<String>,
    passes: Vec<Pass>,
    pictures: Vec<Picture>,
    lines: Lines,
}

/// Lines of the source by names of values.
#[derive(Default)]
pub struct Lines(BTreeMap<String, usize>);

impl Lines {
    /// The line of the value itself, or of the one that it was made for: `%exp.2` is a part of `%exp`.
    pub fn of(&self, name: &str) -> Option<usize> {
        let mut name = name;
        loop {
            if let Some(&line) = self.0.get(name) {
                return Some(line);
            }
            name = name.rsplit_once('.')?.0;
        }
    }

    fn add(&mut self, func: &Func, source: &Source) {
        for (id, op) in func.body_ops() {
            let Some(span) = func.spans.op(id).map(|spans| spans.whole) else { continue };
            if let Some(value) = op.result().filter(|_| !span.is_none()) {
                let name = func.values[value].name.to_string();
                let line = source.line_column(span.start as usize).0;
                self.0.entry(name).or_insert(line);
            }
        }
    }
}

impl<'a> Stages<'a> {
    pub fn new(source: &'a Source, target: Target) -> Self {
        Self {
            source,
            target,
            texts: Vec::new(),
            passes: Vec::new(),
            pictures: Vec::new(),
            lines: Lines::default(),
        }
    }

    /// Lines of the source by names of values.
    pub fn lines(&self) -> &Lines {
        &self.lines
    }

    /// Texts, passes and pictures.
    pub fn finish(self) -> (Vec<String>, Vec<Pass>, Vec<Picture>) {
        (self.texts, self.passes, self.pictures)
    }

    fn look(&mut self, title: &str, module: &Module) {
        for func in &module.funcs {
            self.lines.add(func, self.source);
            if Dialect::of(func) == Dialect::Tensor
                && let Ok(graph) = graph::of_func(func, &self.target, Some(self.source))
            {
                self.pictures.push(Picture::of(title, &graph));
            }
        }
    }
}

impl Observer for Stages<'_> {
    fn before(&mut self, _: &PassRun, module: &Module, _: &Context) {
        if self.texts.is_empty() {
            self.texts.push(clipped_lines(&module.to_string()));
            self.look("as written", module);
        }
    }

    fn after(&mut self, step: &Step<'_>) {
        let before = self.texts.len().saturating_sub(1);
        let text = clipped_lines(&step.after.to_string());
        let old = self.texts.last().map(String::as_str).unwrap_or_default();
        let changed = old != text;
        let hunks = if changed { diff::hunks(old, &text) } else { Vec::new() };
        let count = |size: fn(&Hunk) -> usize| {
            hunks.iter().filter(|hunk| !hunk.equal).map(size).sum::<usize>()
        };
        self.passes.push(Pass {
            name: step.run.to_string(),
            summary: step.run.pass.summary,
            before,
            after: if changed { before + 1 } else { before },
            added: count(|hunk| hunk.after.1),
            removed: count(|hunk| hunk.before.1),
            hunks: hunks
                .iter()
                .map(|h| [h.equal.into(), h.before.0, h.before.1, h.after.0, h.after.1])
                .collect(),
        });
        if changed {
            self.texts.push(text);
            self.look(&format!("after {}", step.run.pass.name), step.after);
        }
    }
}
