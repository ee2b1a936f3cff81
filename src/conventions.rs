//! The open questions of the instruction set on the command line: answers other than the assumed ones, and which of
//! them results hang on.

use std::fmt::Write as _;

use clap::Args;
use partita::backend::program::{Program, Slot};
use partita::interp::exec::{self, ExecError};
use partita::interp::sweep::{Change, Effect, Finding, sweep};
use partita::interp::{Convention, Conventions, Setting};
use partita::ir::{Literal, TensorData};
use serde::Serialize;

use crate::cli::{Common, Format};
use crate::cmd::check::json;
use crate::cmd::cost::Costed;
use crate::failure::{Failure, Outcome};

/// Flags of `run` and `exec`.
#[derive(Args, Clone, Debug)]
pub struct ConventionFlags {
    /// Answer a question that the ISA reference leaves open otherwise than assumed (`partita isa conventions`).
    #[arg(long, value_name = "NAME=ANSWER")]
    pub convention: Vec<Setting>,
    /// Run once more under each other answer that a word can notice, and tell which outputs change.
    #[arg(long)]
    pub sweep_conventions: bool,
    /// How the outcome of --sweep-conventions is printed; JSON stands alone.
    #[arg(long, value_enum, default_value_t = Format::Text, requires = "sweep_conventions")]
    pub format: Format,
}

impl ConventionFlags {
    /// Whether nothing is printed when all is well.
    pub fn silent(&self, common: &Common) -> bool {
        common.quiet && !self.sweep_conventions
    }
}

/// A program with everything that its execution depends on.
pub struct Execution<'a> {
    program: &'a Program,
    inputs: &'a [TensorData],
    /// The order of a simulation, instead of the program's own.
    order: Option<Vec<Slot>>,
    flags: &'a ConventionFlags,
}

impl<'a> Execution<'a> {
    /// # Errors
    /// The program is to be run by engines, and waits for ever.
    pub fn new(
        program: &'a Program,
        inputs: &'a [TensorData],
        costed: &Costed,
        engines: bool,
        flags: &'a ConventionFlags,
    ) -> Outcome<Self> {
        let order = if engines { Some(costed.timeline()?.order()) } else { None };
        Ok(Self { program, inputs, order, flags })
    }

    fn options(&self) -> exec::Options {
        let conventions: Conventions = self.flags.convention.iter().copied().collect();
        exec::Options { conventions, ..exec::Options::default() }
    }

    fn run(&self, options: &exec::Options) -> Result<Vec<TensorData>, ExecError> {
        match &self.order {
            None => exec::run(self.program, self.inputs, options),
            Some(order) => exec::run_in_order(self.program, self.inputs, options, order),
        }
    }

    /// The results by name.
    pub fn results(&self) -> Outcome<Vec<(String, TensorData)>> {
        let results = self.run(&self.options()).map_err(Failure::message)?;
        let names = self.program.io.outputs.iter().map(|tensor| tensor.name.clone());
        Ok(names.zip(results).collect())
    }

    /// Appends what the results hang on, if that is asked for; as JSON, and without a summary, it takes the place of
    /// the text.
    pub fn sweep(
        &self,
        results: &[(String, TensorData)],
        common: &Common,
        text: &mut String,
    ) -> Outcome {
        if !self.flags.sweep_conventions {
            return Ok(());
        }
        if common.quiet || self.flags.format == Format::Json {
            text.clear();
        }
        let assumed: Vec<TensorData> = results.iter().map(|(_, data)| data.clone()).collect();
        let found = sweep(self.program, &self.options(), &assumed, |options| self.run(options));
        match self.flags.format {
            Format::Text => text.push_str(&listing(&found.findings, &assumed)),
            Format::Json => {
                let records = found.findings.iter().map(|finding| Record::of(finding, &assumed));
                text.push_str(&json(&records.collect::<Vec<Record>>())?);
            }
        }
        Ok(())
    }
}

/// An element of an output as text.
fn element(change: &Change, assumed: &[TensorData], which: usize) -> String {
    let (Some(data), Some(&bits)) = (assumed.get(change.output), change.bits.get(which)) else {
        return String::new();
    };
    Literal::from_bits(bits, data.dtype()).to_string()
}

/// Writing to a string cannot fail.
fn listing(findings: &[Finding], assumed: &[TensorData]) -> String {
    let mut out = String::new();
    let all = findings.len();
    let changing = findings.iter().filter(|finding| finding.effect != Effect::None).count();
    let _ = match all {
        0 => writeln!(out, "conventions: no word can notice any"),
        _ => {
            writeln!(out, "conventions: {changing} of {all} that words can notice change a result")
        }
    };
    for Finding { alternative, words, effect } in findings {
        let id = alternative.convention().info().id;
        let plural = if *words == 1 { "" } else { "s" };
        let head = format!("  {alternative} ({id}, {words} word{plural})");
        match effect {
            Effect::None => {}
            Effect::Fails(error) => {
                let _ = writeln!(out, "{head}: does not run: {error}");
            }
            Effect::Changes(changes) => {
                for change in changes {
                    let [old, new] = [0, 1].map(|which| element(change, assumed, which));
                    let _ = writeln!(
                        out,
                        "{head}: {} of {} elements of {} differ; element {} is {new}, not {old}",
                        change.differ, change.elements, change.name, change.first
                    );
                }
            }
        }
    }
    let same = findings.iter().filter(|finding| finding.effect == Effect::None);
    let same: Vec<String> = same.map(|finding| finding.alternative.to_string()).collect();
    if !same.is_empty() {
        let _ = writeln!(out, "  no change: {}", same.join(", "));
    }
    out
}

/// What came of one answer.
#[derive(Serialize)]
struct Record {
    convention: &'static str,
    id: &'static str,
    assumed: &'static str,
    answer: &'static str,
    words: usize,
    /// `none`, `changes` or `fails`.
    effect: &'static str,
    error: Option<String>,
    outputs: Vec<Output>,
}

/// An output that changes.
#[derive(Serialize)]
struct Output {
    name: String,
    differ: usize,
    elements: usize,
    first: usize,
    assumed: String,
    other: String,
}

impl Record {
    fn of(finding: &Finding, assumed: &[TensorData]) -> Self {
        let info = finding.alternative.convention().info();
        let (effect, error, changes): (_, _, &[Change]) = match &finding.effect {
            Effect::None => ("none", None, &[]),
            Effect::Changes(changes) => ("changes", None, changes),
            Effect::Fails(error) => ("fails", Some(error.clone()), &[]),
        };
        let output = |change: &Change| Output {
            name: change.name.clone(),
            differ: change.differ,
            elements: change.elements,
            first: change.first,
            assumed: element(change, assumed, 0),
            other: element(change, assumed, 1),
        };
        Self {
            convention: info.name,
            id: info.id,
            assumed: info.assumed[0],
            answer: finding.alternative.name(),
            words: finding.words,
            effect,
            error,
            outputs: changes.iter().map(output).collect(),
        }
    }
}

/// The questions that a name stands for: a convention, an `OQ-` number, or `conventions` for all.
pub fn find(name: &str) -> Vec<Convention> {
    let all = Convention::ALL.iter().copied();
    all.filter(|convention| {
        let info = convention.info();
        name == "conventions" || name == info.name || name.eq_ignore_ascii_case(info.id)
    })
    .collect()
}

/// A question with its answers.
pub fn explanation(convention: Convention) -> String {
    let info = convention.info();
    let mut out = format!("{} ({}): {}\n", info.name, info.id, info.question);
    let assumed = (info.assumed[0], info.assumed[1], " (assumed)");
    let others = info.alternatives.iter().map(|other| (other.name(), other.what(), ""));
    for (name, what, note) in [assumed].into_iter().chain(others) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {name:<20} {what}{note}");
    }
    out.truncate(out.trim_end().len());
    out
}
