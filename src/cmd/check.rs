//! `partita check`: every broken rule of every word and descriptor; of a program, the audit as well.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use partita::backend::audit::{self, audit_legal};
use partita::backend::program::{Program, Slot};
use partita::isa::check::check;
use partita::isa::violation::{Severity, Violation};
use partita::isa::{Engine, Opcode, Target, Word, dma};
use serde::Serialize;

use crate::cli::{Common, Format, WordInput};
use crate::failure::{Failure, Outcome, say};
use crate::files::Output;
use crate::input::{self, Input, Opened, Reading};

#[derive(Args)]
pub struct Options {
    /// Raw words, hex text, assembler text or an image; `-` is standard input.
    pub file: PathBuf,
    #[command(flatten)]
    pub words: WordInput,
    /// How findings are printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    #[command(flatten)]
    pub common: Common,
}

/// One broken rule, with the item that breaks it.
#[derive(Serialize)]
struct Finding<'a> {
    /// Engine or DMA queue; absent for raw words of no stated engine.
    queue: Option<&'a str>,
    /// Index of the item in its queue.
    index: u64,
    opcode: &'a str,
    rule: &'static str,
    /// `error` or `warning`.
    severity: &'static str,
    /// H, M or L: how sure the rule is.
    confidence: String,
    field: &'static str,
    offset: usize,
    found: &'a str,
    allowed: &'a str,
    /// The condition, and what to do.
    text: &'static str,
    fix: &'static str,
    /// The rule of the opcode that asks for this one.
    inside: Option<&'static str>,
}

/// Findings on their way out, and what they come to.
struct Report {
    out: Output,
    format: Format,
    quiet: bool,
    target: Target,
    words: u64,
    descriptors: u64,
    /// Items that break a rule; warnings do not count.
    illegal: u64,
    warnings: u64,
    findings: u64,
    /// What the auditor found; `None` when it did not run.
    audit: Option<Vec<audit::Finding>>,
}

pub fn run(options: &Options) -> Outcome {
    let reading = Reading::of_words(&options.words, &options.common);
    let report = match input::open(&options.file, reading)? {
        Opened::Words(mut raw) => {
            note_missing_engine(options, raw.engine);
            let mut report = Report::new(options, raw.target)?;
            loop {
                let engine = raw.engine;
                let words = raw.next()?;
                if words.len() == 0 {
                    break report;
                }
                report.words(engine, words)?;
            }
        }
        Opened::Whole(Input::Words(target, engine, words)) => {
            note_missing_engine(options, engine);
            let mut report = Report::new(options, target)?;
            report.words(engine, words.into_iter())?;
            report
        }
        Opened::Whole(Input::Program(mut program)) => {
            program.target = options.common.target_or(Some(program.target));
            let mut report = Report::new(options, program.target)?;
            report.program(&program)?;
            if report.illegal == 0 {
                report.audit = Some(audit_legal(&program));
            } else if !options.common.quiet {
                say(
                    "note: the program is audited only when all its words and descriptors are legal\n",
                );
            }
            report
        }
        Opened::Whole(Input::Ir(..)) => {
            return Err(Failure::about(&options.file, "is program text; compile it first"));
        }
    };
    report.finish()
}

/// A value as indented JSON with a final line break.
pub fn json(value: &impl Serialize) -> Outcome<String> {
    let mut text = serde_json::to_string_pretty(value).map_err(Failure::message)?;
    text.push('\n');
    Ok(text)
}

/// One finding in one line.
pub fn line(violation: &Violation) -> String {
    let inside = violation.inside.map(|rule| format!(", inside {}", rule.id)).unwrap_or_default();
    format!(
        "{}[{}, {}{inside}]: {} (byte {}) is {}; allowed: {}",
        severity(violation),
        violation.rule.id,
        violation.rule.confidence,
        violation.field,
        violation.offset,
        violation.found,
        violation.allowed
    )
}

fn severity(violation: &Violation) -> &'static str {
    match violation.severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

fn note_missing_engine(options: &Options, engine: Option<Engine>) {
    if engine.is_none() && !options.common.quiet {
        say("note: no engine is stated, so the ENG rules are skipped; state it with --engine\n");
    }
}

impl Report {
    fn new(options: &Options, target: Target) -> Outcome<Self> {
        let mut report = Self {
            out: Output::create(options.common.output.as_deref())?,
            format: options.format,
            quiet: options.common.quiet,
            target,
            words: 0,
            descriptors: 0,
            illegal: 0,
            warnings: 0,
            findings: 0,
            audit: None,
        };
        if report.format == Format::Json {
            report.put(&format!("{{\n  \"target\": \"{target}\",\n  \"findings\": ["))?;
        }
        Ok(report)
    }

    fn put(&mut self, text: &str) -> Outcome {
        self.out.write_all(text.as_bytes()).map_err(|error| self.out.failure(error))
    }

    fn program(&mut self, program: &Program) -> Outcome {
        for (&engine, words) in &program.words {
            self.words = 0;
            self.words(Some(engine), words.iter().copied())?;
        }
        self.words = program.words.values().map(|words| words.len() as u64).sum();
        let mut done = std::collections::BTreeMap::new();
        for descriptor in &program.dma {
            let index = done.entry(descriptor.queue).or_insert(0);
            let queue = Slot::Dma(descriptor.queue).to_string();
            let broken = dma::check(descriptor, &program.target, program.io.hbm_bytes);
            self.item(Some(&queue), *index, "dma", broken)?;
            self.descriptors += 1;
            *index += 1;
        }
        Ok(())
    }

    /// Judges words; the first has the index of the count so far.
    fn words(&mut self, engine: Option<Engine>, words: impl Iterator<Item = Word>) -> Outcome {
        for word in words {
            let broken = check(&word, &self.target, engine);
            if !broken.is_empty() {
                let opcode = Opcode::from_number(word.opcode_byte()).map_or_else(
                    || format!("{:#04x}", word.opcode_byte()),
                    |opcode| opcode.mnemonic().to_owned(),
                );
                self.item(engine.map(Engine::name), self.words, &opcode, broken)?;
            }
            self.words += 1;
        }
        Ok(())
    }

    /// Prints the findings about one item, warnings after errors.
    fn item(
        &mut self,
        queue: Option<&str>,
        index: u64,
        opcode: &str,
        broken: Vec<Violation>,
    ) -> Outcome {
        let (errors, warnings): (Vec<_>, Vec<_>) =
            broken.into_iter().partition(Violation::is_error);
        self.illegal += u64::from(!errors.is_empty());
        self.warnings += warnings.len() as u64;
        let mut text = String::new();
        if self.format == Format::Text && errors.len() + warnings.len() > 0 {
            let _ = writeln!(text, "{}[{index}] {opcode}", queue.unwrap_or("word"));
        }
        for violation in errors.into_iter().chain(warnings) {
            let rule = violation.rule;
            match self.format {
                Format::Json => {
                    text.push_str(if self.findings == 0 { "\n    " } else { ",\n    " });
                    let finding = Finding {
                        queue,
                        index,
                        opcode,
                        rule: rule.id,
                        severity: severity(&violation),
                        confidence: rule.confidence.to_string(),
                        field: violation.field,
                        offset: violation.offset,
                        found: &violation.found,
                        allowed: &violation.allowed,
                        text: rule.text,
                        fix: rule.fix,
                        inside: violation.inside.map(|rule| rule.id),
                    };
                    text.push_str(&serde_json::to_string(&finding).map_err(Failure::message)?);
                }
                Format::Text => {
                    let _ = writeln!(text, "  {}", line(&violation));
                    if !self.quiet {
                        let _ = writeln!(text, "    {}; {}", rule.text, rule.fix);
                    }
                }
            }
            self.findings += 1;
        }
        self.put(&text)
    }

    /// Prints the audit, and says whether it found an error.
    fn audited(&mut self) -> Outcome<bool> {
        let Some(found) = self.audit.take() else { return Ok(false) };
        let errors = found.iter().filter(|finding| finding.is_error()).count();
        let text = match self.format {
            Format::Json => {
                let findings = serde_json::to_string(&found).map_err(Failure::message)?;
                format!("\n  ],\n  \"audit\": {findings},")
            }
            Format::Text => {
                let findings: String = found.iter().map(audit::Finding::text).collect();
                let warnings = match found.len() - errors {
                    0 => String::new(),
                    count => format!(", {count} warnings"),
                };
                format!("{findings}audit: {errors} errors{warnings}\n")
            }
        };
        self.put(&text)?;
        Ok(errors > 0)
    }

    fn finish(mut self) -> Outcome {
        let closes = if self.audit.is_some() { "" } else { "\n  ]," };
        let broken = self.audited()?;
        let Self { words, descriptors, illegal, warnings, target, .. } = self;
        let text = match self.format {
            Format::Json => format!(
                "{closes}\n  \"words\": {words},\n  \"descriptors\": {descriptors},\n  \"illegal\": {illegal},\n  \"warnings\": {warnings}\n}}\n"
            ),
            Format::Text => {
                let descriptors = match descriptors {
                    0 => String::new(),
                    count => format!(" and {count} descriptors"),
                };
                let warnings = match warnings {
                    0 => String::new(),
                    count => format!(", {count} warnings"),
                };
                format!("{words} words{descriptors} for {target}, {illegal} illegal{warnings}\n")
            }
        };
        self.put(&text)?;
        self.out.finish()?;
        if illegal == 0 && !broken { Ok(()) } else { Err(Failure::CheckFailed) }
    }
}
