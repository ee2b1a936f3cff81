//! `partita cost`: what a program costs under the profile of its target, and when everything happens.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use partita::backend::cost::{Profile, ProgramCost};
use partita::backend::program::{Io, Meta, Program, Slot};
use partita::backend::timeline::{
    Deadlock, Sensitivity, Summary, Timeline, item_name, sensitivity, simulate,
};
use partita::ir::diag::Code;
use partita::ir::{Diagnostic, Span};
use partita::isa::{Engine, Target, Word};
use serde::Serialize;

use super::check::json;
use super::compile;
use crate::cli::{Common, CostInput, Format, WordInput};
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::input::{self, Input, Reading};
use crate::program::Choice;

#[derive(Args)]
pub struct Options {
    /// An image, assembler text, words (with --engine), or a program, which is compiled first.
    pub file: PathBuf,
    #[command(flatten)]
    pub choice: Choice,
    /// List every word and descriptor with its price and times.
    #[arg(long)]
    pub items: bool,
    #[command(flatten)]
    pub words: WordInput,
    #[command(flatten)]
    pub cost: CostInput,
    /// How figures are printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    #[command(flatten)]
    pub common: Common,
}

/// A program with its price.
pub struct Costed {
    pub profile: Profile,
    pub cost: ProgramCost,
    pub timeline: Result<Timeline, Box<Deadlock>>,
}

impl Costed {
    /// Prices and simulates a program.
    pub fn new(program: &Program, input: &CostInput) -> Outcome<Self> {
        let profile = profile(program.target, input.cost_profile.as_deref())?;
        let cost = ProgramCost::new(program, &profile);
        let timeline = simulate(program, &profile);
        Ok(Self { profile, cost, timeline })
    }

    /// The timeline of a program that must have one.
    pub fn timeline(&self) -> Outcome<&Timeline> {
        self.timeline.as_ref().map_err(|deadlock| {
            let message = format!("the program waits for ever: {deadlock}");
            let found = Diagnostic::error(Code::Deadlock, message, Span::NONE);
            let stuck = deadlock.stuck.iter().map(ToString::to_string);
            Failure::Diagnostics(None, vec![stuck.fold(found, Diagnostic::note)])
        })
    }
}

/// The profile of a target, with the figures of a file.
fn profile(target: Target, file: Option<&Path>) -> Outcome<Profile> {
    /// Profiles are a few KiB.
    const MAX_PROFILE: u64 = 1 << 20;
    let profile = Profile::of(target.generation);
    let Some(file) = file else { return Ok(profile.clone()) };
    let fault = |reason: String| {
        let message = format!("{}: {reason}", file.display());
        let found = Diagnostic::error(Code::CostProfile, message, Span::NONE);
        Failure::Diagnostics(None, vec![found])
    };
    let text = String::from_utf8(files::read(file, MAX_PROFILE)?)
        .map_err(|error| fault(format!("is not text: {error}")))?;
    profile.with_changes(&text).map_err(|error| fault(error.to_string()))
}

/// What is printed as JSON.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    cost: &'a ProgramCost,
    /// `null` for a program that waits for ever.
    timeline: Option<Summary>,
    /// Why there is no timeline.
    deadlock: Option<String>,
    /// The assumed figures that the makespan hangs on.
    assumed: Vec<Sensitivity>,
    /// Absent without a timeline.
    items: Vec<Item>,
}

/// One word or descriptor.
#[derive(Serialize)]
struct Item {
    item: String,
    text: String,
    cycles: u64,
    bytes: u64,
    start_ns: f64,
    end_ns: f64,
    after: String,
}

pub fn run(options: &Options) -> Outcome {
    let program = program(&options.file, &options.words, &options.choice, &options.common)?;
    let costed = Costed::new(&program, &options.cost)?;
    let assumed = match &costed.timeline {
        Ok(timeline) => sensitivity(&program, &costed.profile, timeline.makespan_ps),
        Err(_) => Vec::new(),
    };
    let items = match &costed.timeline {
        Ok(timeline) if options.items || options.format == Format::Json => {
            items(&program, timeline)
        }
        _ => Vec::new(),
    };
    let timeline = costed.timeline.as_ref().ok().map(Timeline::summary);
    let deadlock = costed.timeline.as_ref().err().map(ToString::to_string);
    let report = Report { cost: &costed.cost, timeline, deadlock, assumed, items };
    let text = match options.format {
        Format::Json => json(&report)?,
        Format::Text => table(&report),
    };
    files::write(options.common.output.as_deref(), text.as_bytes())
}

/// The program of a file of any kind, compiled if need be.
pub fn program(
    file: &Path,
    words: &WordInput,
    choice: &Choice,
    common: &Common,
) -> Outcome<Program> {
    match input::read(file, Reading::of_words(words, common))? {
        Input::Ir(source, language) => {
            Ok(compile::compile(source, language, choice, common)?.compiled.program)
        }
        input => program_of(input, common),
    }
}

/// The program of an input that is compiled already.
///
/// # Errors
/// Wrong usage: words of no stated engine; and program text.
pub fn program_of(input: Input, common: &Common) -> Outcome<Program> {
    match input {
        Input::Program(mut program) => {
            program.target = common.target_or(Some(program.target));
            Ok(*program)
        }
        Input::Words(target, Some(engine), words) => Ok(bare(target, engine, words)),
        Input::Words(..) => {
            Err(Failure::Usage("words cost by their engine: state it with --engine".to_owned()))
        }
        Input::Ir(source, _) => {
            Err(Failure::Message(format!("{}: is program text, not compiled", source.name)))
        }
    }
}

/// Words of one engine as a program without inputs and outputs.
fn bare(target: Target, engine: Engine, words: Vec<Word>) -> Program {
    Program {
        target,
        order: vec![Slot::Word(engine); words.len()],
        words: BTreeMap::from([(engine, words)]),
        dma: Vec::new(),
        data: Vec::new(),
        io: Io::default(),
        meta: Meta::default(),
        symbols: Vec::new(),
    }
}

fn items(program: &Program, timeline: &Timeline) -> Vec<Item> {
    timeline
        .items
        .iter()
        .map(|item| Item {
            item: item_name(item),
            text: program.item_text(item.slot, item.place as usize).unwrap_or_default(),
            cycles: item.cycles,
            bytes: item.bytes,
            start_ns: item.start_ps as f64 / 1e3,
            end_ns: item.end_ps as f64 / 1e3,
            after: timeline.reason(item.after),
        })
        .collect()
}

/// Writing to a string cannot fail.
fn table(report: &Report) -> String {
    let cost = report.cost;
    let mut out = String::new();
    let _ = writeln!(out, "target {}, profile {}", cost.target, cost.profile);
    for engine in &cost.engines {
        let _ = writeln!(
            out,
            "{:<6} {:>8} words {:>12} cycles {:>12.1} ns",
            engine.engine, engine.words, engine.cycles, engine.busy_ns
        );
        for row in &engine.opcodes {
            let assumed = if row.assumed > 0 { "  assumed" } else { "" };
            let _ =
                writeln!(out, "  {:<30} {:>6} {:>14}{assumed}", row.opcode, row.words, row.cycles);
        }
        if engine.unpriced > 0 {
            let _ = writeln!(out, "  {} words have no price and count as nothing", engine.unpriced);
        }
    }
    let dma = &cost.dma;
    let _ = writeln!(
        out,
        "{:<6} {:>8} descriptors {:>6} bytes {:>12.1} ns",
        "dma", dma.descriptors, dma.bytes, dma.busy_ns
    );
    let _ = writeln!(out, "bound {:.1} ns", cost.bound_ns);
    if let Some(timeline) = &report.timeline {
        out.push_str(&timeline.text());
    }
    if let Some(deadlock) = &report.deadlock {
        let _ = writeln!(out, "no makespan: {deadlock}");
    }
    if !report.assumed.is_empty() {
        out.push_str("assumed figures, and what a tenth more of each adds to the makespan\n");
    }
    for figure in &report.assumed {
        let Sensitivity { figure, value, tenth_more_ns, tenth_more } = figure;
        let percent = tenth_more * 100.0;
        let _ =
            writeln!(out, "  {figure:<50} {value:>7} {tenth_more_ns:>+10.1} ns {percent:>+6.2} %");
    }
    for item in &report.items {
        let Item { item, text, cycles, bytes, start_ns, end_ns, after } = item;
        let size = if *bytes > 0 { format!("{bytes} bytes") } else { format!("{cycles} cycles") };
        let _ = writeln!(
            out,
            "{item:<16} {start_ns:>12.1} to {end_ns:>12.1} ns  {size:>14}  {after}; {text}"
        );
    }
    out
}

/// One line for summaries.
pub fn line(costed: &Costed) -> String {
    let cost = &costed.cost;
    let engines =
        cost.engines.iter().map(|engine| format!("{} {} cycles, ", engine.engine, engine.cycles));
    let makespan = match &costed.timeline {
        Ok(timeline) => format!("makespan {:.1} us", timeline.makespan_ps as f64 / 1e6),
        Err(_) => "no makespan (its queues wait for ever)".to_owned(),
    };
    format!(
        "cost ({}): {}dma {:.1} us, bound {:.1} us, {makespan}",
        cost.profile,
        engines.collect::<String>(),
        cost.dma.busy_ns / 1e3,
        cost.bound_ns / 1e3
    )
}
