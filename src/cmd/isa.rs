//! `partita isa`: the tables that the validator uses, explained.

use std::path::PathBuf;

use clap::Args;
use partita::interp::Convention;
use partita::isa::explain::{self, Topic};
use partita::isa::{AluOp, Dtype, Opcode, reference};
use serde::Serialize;

use super::check::json;
use crate::cli::{Common, Format};
use crate::conventions;
use crate::failure::{Failure, Outcome};
use crate::files;

#[derive(Args)]
pub struct Options {
    /// An opcode by name, mnemonic or number (0x43), an ALU operation, a data type, a rule (TR-4), a field, or an open
    /// question (OQ-9, overlap; `conventions` for all); without it, a list.
    pub name: Option<String>,
    /// Write the tables as pages of Markdown into this directory instead.
    #[arg(long, value_name = "DIR", hide = true, conflicts_with = "name")]
    pub docs: Option<PathBuf>,
    /// How it is printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    #[command(flatten)]
    pub common: Common,
}

/// One thing of the instruction set, in short.
#[derive(Serialize)]
struct Entry {
    kind: &'static str,
    name: &'static str,
    /// Opcode number, operation or type code.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u8>,
    /// H, M or L of a rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<String>,
    summary: String,
    /// What `partita isa NAME` prints.
    explanation: String,
}

pub fn run(options: &Options) -> Outcome {
    if let Some(directory) = &options.docs {
        std::fs::create_dir_all(directory).map_err(|error| Failure::about(directory, error))?;
        let pages = reference::pages().into_iter();
        return pages
            .map(|page| (directory.join(page.name), page.text))
            .try_for_each(|(path, text)| files::write(Some(&path), text.as_bytes()));
    }
    let topics = match &options.name {
        None => every(),
        Some(name) => explain::find(name),
    };
    let questions = options.name.as_deref().map(conventions::find).unwrap_or_default();
    if let (Some(name), [], []) = (&options.name, &topics[..], &questions[..]) {
        return Err(Failure::Message(format!(
            "`{name}` is no opcode, ALU operation, data type, rule, field or convention; `partita isa` and \
             `partita isa conventions` list them"
        )));
    }
    let questions = questions.into_iter().map(Entry::of_question);
    let entries: Vec<Entry> = topics.iter().map(Entry::of).chain(questions).collect();
    let text = match options.format {
        Format::Json => json(&entries)?,
        Format::Text if options.name.is_none() => entries.iter().map(Entry::line).collect(),
        Format::Text => {
            let texts: Vec<String> = entries.into_iter().map(|entry| entry.explanation).collect();
            texts.join("\n\n") + "\n"
        }
    };
    files::write(options.common.output.as_deref(), text.as_bytes())
}

fn every() -> Vec<Topic> {
    let opcodes = Opcode::ALL.iter().map(|&opcode| Topic::Opcode(opcode));
    let ops = AluOp::ALL.iter().map(|&op| Topic::AluOp(op));
    let dtypes = Dtype::ALL.iter().map(|&dtype| Topic::Dtype(dtype));
    opcodes.chain(ops).chain(dtypes).chain(explain::rules().map(Topic::Rule)).collect()
}

impl Entry {
    fn of(topic: &Topic) -> Self {
        let explanation = topic.to_string();
        let entry = |kind, name, code, summary: &str| Entry {
            kind,
            name,
            code,
            confidence: None,
            summary: summary.to_owned(),
            explanation,
        };
        match topic {
            Topic::Opcode(opcode) => {
                let info = opcode.info();
                entry("opcode", info.name, Some(info.number), info.summary)
            }
            Topic::AluOp(op) => entry("alu_op", op.name(), Some(op.code()), op.info().semantics),
            Topic::Dtype(dtype) => {
                entry("dtype", dtype.name(), Some(dtype.code()), dtype.info().format)
            }
            Topic::Rule(rule) => {
                let confidence = Some(rule.confidence.to_string());
                Entry { confidence, ..entry("rule", rule.id, None, rule.text) }
            }
            Topic::Field(layout, field) => entry("field", field.name, None, layout.name),
        }
    }

    fn of_question(convention: Convention) -> Self {
        let info = convention.info();
        Entry {
            kind: "convention",
            name: info.name,
            code: None,
            confidence: None,
            summary: info.question.to_owned(),
            explanation: conventions::explanation(convention),
        }
    }

    fn line(&self) -> String {
        let mark = match (self.code, &self.confidence) {
            (Some(code), _) => format!("{code:#04x}"),
            (None, Some(confidence)) => format!("[{confidence}]"),
            (None, None) => String::new(),
        };
        format!("{mark:<5} {:<32} {}\n", self.name, self.summary)
    }
}
