//! The tables as pages of Markdown: what `docs/isa` holds.

use std::fmt::Write;

use crate::alu::AluOp;
use crate::dtype::Dtype;
use crate::explain::{self, Topic};
use crate::opcode::Opcode;

/// A page: the name of its file, and its text.
pub struct Page {
    pub name: &'static str,
    pub text: String,
}

/// Every page, the first with links to the others.
pub fn pages() -> Vec<Page> {
    let opcodes = || Opcode::ALL.iter().map(|&opcode| Topic::Opcode(opcode));
    let ops = || AluOp::ALL.iter().map(|&op| Topic::AluOp(op));
    let dtypes = || Dtype::ALL.iter().map(|&dtype| Topic::Dtype(dtype));
    vec![
        Page { name: "README.md", text: contents() },
        Page { name: "opcodes.md", text: page("Opcodes", opcodes()) },
        Page { name: "operations.md", text: page("ALU operations", ops()) },
        Page { name: "dtypes.md", text: page("Data types", dtypes()) },
        Page { name: "rules.md", text: rules() },
    ]
}

const NOTE: &str =
    "<!-- Written by `partita isa --docs docs/isa` from the tables of the validator. -->\n";

/// Writing to a string cannot fail, here and below.
fn contents() -> String {
    let mut out = format!("{NOTE}\n# The instruction set\n\n");
    out.push_str(
        "What `partita isa` explains, as pages: [opcodes](opcodes.md) with their structs,\n\
         [ALU operations](operations.md), [data types](dtypes.md) and [rules](rules.md).\n\
         How words are written as text is in [asm.md](../asm.md).\n\n",
    );
    out.push_str("| number | opcode | text | struct | engines | generations | meaning |\n");
    out.push_str("|---|---|---|---|---|---|---|\n");
    for opcode in Opcode::ALL {
        let info = opcode.info();
        let _ = writeln!(
            out,
            "| {:#04x} | {} | `{}` | {} | {} | {} | {} |",
            info.number,
            info.name,
            info.mnemonic,
            info.layout().name,
            info.engines,
            info.generations,
            info.summary
        );
    }
    out
}

/// The explanation of each topic under its own heading.
fn page(title: &str, topics: impl Iterator<Item = Topic>) -> String {
    let mut out = format!("{NOTE}\n# {title}\n");
    for topic in topics {
        let _ = write!(out, "\n## {}\n\n```text\n{topic}\n```\n", topic.name());
    }
    out
}

fn rules() -> String {
    let mut out = format!("{NOTE}\n# Rules\n\n");
    out.push_str(
        "H: taken from the architecture's own definition. M: inferred from several facts. L: not\n\
         known; one choice was made.\n\n| rule | sure | condition | what to do |\n|---|---|---|---|\n",
    );
    for rule in explain::rules() {
        let cell = |text: &str| text.replace('|', "\\|");
        let (text, fix) = (cell(rule.text), cell(rule.fix));
        let _ = writeln!(out, "| {} | {} | {text} | {fix} |", rule.id, rule.confidence);
    }
    out
}
