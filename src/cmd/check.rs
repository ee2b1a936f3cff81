//! `partita check`: every broken rule of every word and descriptor.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use partita::backend::program::{Program, Slot};
use partita::isa::check::check;
use partita::isa::violation::{Severity, Violation};
use partita::isa::{Engine, Instruction, Target, Word, dma};
use serde::Serialize;

use crate::cli::{Common, Format, WordInput};
use crate::failure::{Failure, Outcome, say};
use crate::files;
use crate::input::{self, Input, Reading};

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
struct Finding {
    /// Engine or DMA queue; absent for raw words of no stated engine.
    queue: Option<String>,
    /// Index of the item in its queue.
    index: usize,
    opcode: String,
    rule: &'static str,
    /// `error` or `warning`.
    severity: &'static str,
    /// H, M or L: how sure the rule is.
    confidence: String,
    field: &'static str,
    offset: usize,
    found: String,
    allowed: String,
    /// The condition, and what to do.
    text: &'static str,
    fix: &'static str,
    /// The rule of the opcode that asks for this one.
    inside: Option<&'static str>,
}

/// What was judged.
#[derive(Serialize)]
struct Report {
    target: String,
    words: usize,
    descriptors: usize,
    /// Items that break a rule; warnings do not count.
    illegal: usize,
    findings: Vec<Finding>,
}

pub fn run(options: &Options) -> Outcome {
    let reading = Reading {
        format: options.words.input_format,
        target: options.common.target,
        engine: options.words.engine,
    };
    let report = match input::read(&options.file, reading)? {
        Input::Program(mut program) => {
            program.target = options.common.target_or(Some(program.target));
            judge_program(&program)
        }
        Input::Words(target, engine, words) => {
            if engine.is_none() && !options.common.quiet {
                say(
                    "note: no engine is stated, so the ENG rules are skipped; state it with --engine\n",
                );
            }
            let mut report = Report::new(target);
            report.words(engine, &words, target);
            report
        }
        Input::Ir(..) => {
            return Err(Failure::about(&options.file, "is program text; compile it first"));
        }
    };
    let text = match options.format {
        Format::Json => json(&report)?,
        Format::Text => report.to_text(options.common.quiet),
    };
    files::write(options.common.output.as_deref(), text.as_bytes())?;
    if report.illegal == 0 { Ok(()) } else { Err(Failure::CheckFailed) }
}

/// A value as indented JSON with a final line break.
pub fn json(value: &impl Serialize) -> Outcome<String> {
    let mut text = serde_json::to_string_pretty(value).map_err(Failure::message)?;
    text.push('\n');
    Ok(text)
}

fn judge_program(program: &Program) -> Report {
    let mut report = Report::new(program.target);
    for (&engine, words) in &program.words {
        report.words(Some(engine), words, program.target);
    }
    let mut done = std::collections::BTreeMap::new();
    for descriptor in &program.dma {
        let index = done.entry(descriptor.queue).or_insert(0usize);
        let queue = Slot::Dma(descriptor.queue).to_string();
        let broken = dma::check(descriptor, &program.target, program.io.hbm_bytes);
        report.item(Some(queue), *index, "dma", broken);
        report.descriptors += 1;
        *index += 1;
    }
    report
}

impl Report {
    fn new(target: Target) -> Self {
        Self {
            target: target.to_string(),
            words: 0,
            descriptors: 0,
            illegal: 0,
            findings: Vec::new(),
        }
    }

    fn words(&mut self, engine: Option<Engine>, words: &[Word], target: Target) {
        for (index, word) in words.iter().enumerate() {
            let broken = check(word, &target, engine);
            if !broken.is_empty() {
                let opcode = Instruction::decode(word).opcode();
                let opcode = opcode.map_or_else(
                    || format!("{:#04x}", word.opcode_byte()),
                    |o| o.mnemonic().to_owned(),
                );
                self.item(engine.map(|engine| engine.to_string()), index, &opcode, broken);
            }
        }
        self.words += words.len();
    }

    fn item(&mut self, queue: Option<String>, index: usize, opcode: &str, broken: Vec<Violation>) {
        self.illegal += usize::from(broken.iter().any(Violation::is_error));
        self.findings.extend(broken.into_iter().map(|violation| Finding {
            queue: queue.clone(),
            index,
            opcode: opcode.to_owned(),
            rule: violation.rule.id,
            severity: match violation.severity {
                Severity::Warning => "warning",
                Severity::Error => "error",
            },
            confidence: violation.rule.confidence.to_string(),
            field: violation.field,
            offset: violation.offset,
            found: violation.found,
            allowed: violation.allowed,
            text: violation.rule.text,
            fix: violation.rule.fix,
            inside: violation.inside.map(|rule| rule.id),
        }));
    }

    /// Writing to a string cannot fail.
    fn to_text(&self, quiet: bool) -> String {
        let mut out = String::new();
        let mut last = None;
        for finding in &self.findings {
            let place = (&finding.queue, finding.index);
            if last != Some(place) {
                let queue = finding.queue.as_deref().unwrap_or("word");
                let _ = writeln!(out, "{queue}[{}] {}", finding.index, finding.opcode);
                last = Some(place);
            }
            let inside = finding.inside.map(|rule| format!(", inside {rule}")).unwrap_or_default();
            let _ = writeln!(
                out,
                "  {}[{}, {}{inside}]: {} (byte {}) is {}; allowed: {}",
                finding.severity,
                finding.rule,
                finding.confidence,
                finding.field,
                finding.offset,
                finding.found,
                finding.allowed
            );
            if !quiet {
                let _ = writeln!(out, "    {}; {}", finding.text, finding.fix);
            }
        }
        let descriptors = match self.descriptors {
            0 => String::new(),
            count => format!(" and {count} descriptors"),
        };
        let _ = writeln!(
            out,
            "{} words{descriptors} for {}, {} illegal",
            self.words, self.target, self.illegal
        );
        out
    }
}
