//! The command line: names and flags are a contract.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use partita::isa::{Engine, Target};

use crate::cmd;

/// Compiler, assembler, validator and emulator for NeuronCore vector and GPSIMD instruction words.
#[derive(Parser)]
#[command(name = "partita", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Compile a program and execute it.
    Run(cmd::run::Options),
    /// Compile a program to an image, assembler text, raw words or IR.
    Compile(cmd::compile::Options),
    /// Execute a program image or an assembler file.
    Exec(cmd::exec::Options),
    /// Read StableHLO and print it in the tensor dialect.
    Import(cmd::import::Options),
    /// Run passes over IR and print it.
    Opt(cmd::opt::Options),
    /// Assemble text to raw words or an image.
    As(cmd::assemble::Options),
    /// Disassemble raw words, hex text or an image.
    Dis(cmd::dis::Options),
    /// Validate words: every broken rule with its field, value and what is allowed.
    Check(cmd::check::Options),
    /// Run conformance vectors.
    Conform(cmd::conform::Options),
    /// Price a program under the cost profile of its target.
    Cost(cmd::cost::Options),
    /// Simulate a program and write its timeline for a trace viewer.
    Trace(cmd::trace::Options),
    /// Show how a program was compiled, as one page.
    Report(cmd::report::Options),
    /// Explain an opcode, ALU operation, data type or rule.
    Isa(cmd::isa::Options),
    /// Run file tests: programs whose comments say what to run and what comes of it.
    Test(cmd::test::Options),
    /// Find the first pass, and in it the first rewrite, that changes a program's results.
    Bisect(cmd::bisect::Options),
    /// Shrink a program while something about it stays true.
    Reduce(cmd::reduce::Options),
    /// Print a script that completes commands in a shell.
    Completions(cmd::completions::Options),
    /// List the passes.
    Passes(cmd::passes::Options),
}

/// What every subcommand takes.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// Target: sunda, cayman, mariana, mariana_plus or maverick, with options after plus signs
    /// (mariana+fp8_ocp+fp8_saturate) [default: cayman, or what the input names]
    #[arg(long, value_name = "TARGET")]
    pub target: Option<Target>,
    /// Where the result goes; `-` is standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Colour in diagnostics.
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
    /// How errors are printed: as text, or one JSON record a line.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub error_format: Format,
    /// Print no remarks and no summary.
    #[arg(short, long)]
    pub quiet: bool,
}

/// When to colour.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    Auto,
    Always,
    Never,
}

/// How findings are printed.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Text,
    Json,
}

/// What an input is, where its content does not tell.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputFormat {
    /// The project's IR text, any dialect.
    Pta,
    /// StableHLO text.
    Stablehlo,
    /// Assembler text.
    Asm,
    /// A program image (ELF).
    Image,
    /// One word of 128 hex digits a line.
    Hex,
    /// 64-byte words and nothing else.
    Raw,
}

/// Words whose engine the input does not say.
#[derive(Args, Clone, Debug)]
pub struct WordInput {
    /// The engine that owns raw words; without it the ENG rules are skipped.
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<Engine>,
    /// What the input is, instead of finding it out from the content.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub input_format: Option<InputFormat>,
}

/// Figures that differ from the target's profile.
#[derive(Args, Clone, Debug)]
pub struct CostInput {
    /// JSON file of figures that take the place of those of the target's cost profile
    /// (docs/cost.md).
    #[arg(long, value_name = "FILE")]
    pub cost_profile: Option<PathBuf>,
}

impl Common {
    /// The target asked for, or the one that the input names, or the default.
    pub fn target_or(&self, named: Option<Target>) -> Target {
        self.target.or(named).unwrap_or_default()
    }
}
