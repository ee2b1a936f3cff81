//! Diagnostics as text for people, and as records for programs.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use serde::Serialize;

use super::{Code, Diagnostic, Label, Severity, Source};

/// How to render.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    #[default]
    Plain,
    /// With ANSI colours.
    Color,
}

/// Lines longer than this are shown around the labels only, in bytes.
const LONG_LINE: usize = 2000;

/// What is kept of a long line on each side of a label, in bytes.
const CONTEXT: usize = 60;

/// The most bytes that a label underlines.
const LONGEST_LABEL: usize = 80;

/// Labels further apart than this are shown as separate excerpts, in bytes.
const APART: usize = 2000;

impl Diagnostic {
    /// The diagnostic as text, with an excerpt of the source when there is one.
    pub fn render(&self, source: Option<&Source>, style: Style) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let mut group = level
            .primary_title(self.message.as_str())
            .id(self.code.id())
            .elements(std::iter::empty::<Snippet<'_, annotate_snippets::Annotation<'_>>>());
        if let Some(source) = source.filter(|_| !self.primary.span.is_none()) {
            group = self.excerpts(group, source);
        }
        let notes = self.notes.iter().map(|note| Level::NOTE.message(note.as_str()));
        let help = self.help.iter().map(|help| Level::HELP.message(help.as_str()));
        let group = group.elements(notes).elements(help);
        let renderer = match style {
            Style::Plain => Renderer::plain(),
            Style::Color => Renderer::styled(),
        };
        let mut text = renderer.render(&[group]);
        text.push('\n');
        text
    }

    /// Adds an excerpt for each cluster of labels.
    fn excerpts<'a>(&'a self, mut group: Group<'a>, source: &'a Source) -> Group<'a> {
        let mut labels: Vec<(&Label, bool)> = vec![(&self.primary, true)];
        labels.extend(self.secondary.iter().map(|label| (label, false)));
        let mut clusters: Vec<Vec<(&Label, bool)>> = Vec::new();
        for label in labels {
            let near = clusters.iter_mut().find(|cluster| {
                cluster.iter().any(|(other, _)| {
                    other.span.start.abs_diff(label.0.span.start) as usize <= APART
                })
            });
            match near {
                Some(cluster) => cluster.push(label),
                None => clusters.push(vec![label]),
            }
        }
        for cluster in clusters {
            let excerpt = Excerpt::new(source, &cluster);
            let (line, column) = source.line_column(cluster[0].0.span.start as usize);
            let annotations = cluster.iter().zip(excerpt.spans).map(|((label, primary), span)| {
                let kind = if *primary { AnnotationKind::Primary } else { AnnotationKind::Context };
                let annotation = kind.span(span);
                if label.text.is_empty() {
                    annotation
                } else {
                    annotation.label(label.text.as_str())
                }
            });
            let snippet = Snippet::source(excerpt.text)
                .line_start(excerpt.first_line)
                .annotations(annotations);
            // Of a whole line the renderer finds the column by itself.
            group = if excerpt.cut {
                let origin = Origin::path(source.name.as_str()).line(line).char_column(column);
                group.element(origin).element(snippet)
            } else {
                group.element(snippet.path(source.name.as_str()))
            };
        }
        group
    }

    /// The diagnostic with lines and columns, to be serialized.
    pub fn located<'a>(&'a self, source: Option<&Source>) -> Located<'a> {
        let source = source.filter(|_| !self.primary.span.is_none());
        Located {
            severity: self.severity,
            code: self.code,
            title: self.code.title(),
            message: &self.message,
            primary: Place::new(&self.primary, source),
            secondary: self.secondary.iter().map(|label| Place::new(label, source)).collect(),
            help: self.help.as_deref(),
            notes: &self.notes,
        }
    }
}

/// Diagnostics one after the other, an empty line between them.
pub fn render_all(diagnostics: &[Diagnostic], source: Option<&Source>, style: Style) -> String {
    let texts: Vec<String> =
        diagnostics.iter().map(|diagnostic| diagnostic.render(source, style)).collect();
    texts.join("\n")
}

/// A diagnostic as a record.
#[derive(Debug, Serialize)]
pub struct Located<'a> {
    pub severity: Severity,
    pub code: Code,
    pub title: &'static str,
    pub message: &'a str,
    pub primary: Place,
    pub secondary: Vec<Place>,
    pub help: Option<&'a str>,
    pub notes: &'a [String],
}

/// A label with its place; empty where the program was not read from text.
#[derive(Debug, Serialize)]
pub struct Place {
    pub file: Option<String>,
    /// Line and column, both from 1.
    pub line: Option<usize>,
    pub column: Option<usize>,
    /// Byte offsets, end excluded.
    pub bytes: Option<(usize, usize)>,
    pub label: String,
}

impl Place {
    fn new(label: &Label, source: Option<&Source>) -> Self {
        let at = source.map(|source| source.line_column(label.span.start as usize));
        Self {
            file: source.map(|source| source.name.clone()),
            line: at.map(|(line, _)| line),
            column: at.map(|(_, column)| column),
            bytes: source.map(|_| (label.span.start as usize, label.span.end as usize)),
            label: label.text.clone(),
        }
    }
}

/// The lines around some labels, long ones cut, and the labels' spans in them.
struct Excerpt {
    text: String,
    first_line: usize,
    spans: Vec<Range<usize>>,
    /// Some line is not shown whole.
    cut: bool,
}

impl Excerpt {
    fn new(source: &Source, labels: &[(&Label, bool)]) -> Self {
        let ranges: Vec<Range<usize>> =
            labels.iter().map(|(label, _)| clip(&source.text, label.span.range())).collect();
        let start = ranges.iter().map(|range| range.start).min().unwrap_or(0);
        let end = ranges.iter().map(|range| range.end).max().unwrap_or(0);
        let mut line_start = source.line_start(start);
        let mut excerpt = Self {
            text: String::new(),
            first_line: source.line_column(start).0,
            spans: vec![0..0; ranges.len()],
            cut: false,
        };
        loop {
            let line = source.line_at(line_start);
            excerpt.line(line, line_start, &ranges);
            line_start += line.len() + 1;
            if line_start > end || line_start > source.text.len() {
                break;
            }
            excerpt.text.push('\n');
        }
        excerpt
    }

    /// Appends a line, or of a long one what lies around its labels.
    fn line(&mut self, line: &str, line_start: usize, ranges: &[Range<usize>]) {
        let line_end = line_start + line.len();
        let here = |range: &Range<usize>| (line_start..=line_end).contains(&range.start);
        self.cut |= line.len() > LONG_LINE;
        let kept: Vec<Range<usize>> = if line.len() <= LONG_LINE {
            std::iter::once(0..line.len()).collect()
        } else {
            windows(
                line,
                ranges
                    .iter()
                    .filter(|range| here(range))
                    .map(|range| range.start - line_start..range.end - line_start),
            )
        };
        for window in kept {
            if window.start > 0 {
                self.text.push('…');
            }
            let at = self.text.len();
            for (span, range) in self.spans.iter_mut().zip(ranges).filter(|(_, range)| here(range))
            {
                let (from, to) = (range.start - line_start, range.end - line_start);
                if (window.start..=window.end).contains(&from) {
                    *span = at + from - window.start..at + to.min(window.end) - window.start;
                }
            }
            self.text.push_str(&line[window.clone()]);
            if window.end == line.len() {
                return;
            }
        }
        self.text.push('…');
    }
}

/// The parts of a long line to keep: around each label, overlaps merged.
fn windows(line: &str, labels: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut kept: Vec<Range<usize>> = labels
        .map(|label| {
            boundary(line, label.start.saturating_sub(CONTEXT))..boundary(line, label.end + CONTEXT)
        })
        .collect();
    kept.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in kept {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    if merged.is_empty() {
        merged.push(0..boundary(line, CONTEXT));
    }
    merged
}

/// A range within the text and its first line, not too long, at characters.
fn clip(text: &str, range: Range<usize>) -> Range<usize> {
    let start = boundary(text, range.start);
    let end = boundary(text, range.end.min(start + LONGEST_LABEL)).max(start);
    let line = text[start..end].find('\n').map_or(end, |newline| start + newline);
    start..line
}

/// The nearest character boundary at or before an offset.
fn boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}
