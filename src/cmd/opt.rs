//! `partita opt`: run passes over IR and print it.

mod dot;
mod dump;
pub mod remarks;
mod watch;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use partita::ir::{Source, checks};
use partita::passes::repro::{
    Configuration, Crash, Failure as PassFailure, configuration, run_guarded,
};
use partita::passes::rewrite::Fuel;
use partita::passes::{Context, PassInfo, Pipeline};
use serde::Serialize;

use super::check::json;
use crate::cli::{Common, Format, InputFormat};
use crate::failure::{Failure, Outcome, say};
use crate::files;
use crate::input::{self, Language, Reading};
use crate::program::{Fusion, HloFlags, load_all};
use dot::{Dot, EGraphs};
use remarks::{PlacedRemark, RemarkFilter};
use watch::Watcher;

#[derive(Args)]
pub struct Options {
    /// The program, in any dialect; `-` is standard input.
    pub file: PathBuf,
    /// Passes in the order in which they run, separated by commas, each with its settings in braces
    /// (`fuse{node-limit=5000},legalize`); without it, the whole default pipeline.
    #[arg(long, value_name = "PASSES", value_parser = pipeline, conflicts_with_all = ["from", "to"])]
    pub passes: Option<Pipeline>,
    /// Begin the default pipeline with this pass.
    #[arg(long, value_name = "PASS", value_parser = pass_name)]
    pub from: Option<&'static str>,
    /// End the default pipeline with this pass.
    #[arg(long, value_name = "PASS", value_parser = pass_name)]
    pub to: Option<&'static str>,
    /// Print the module before a pass, on standard error.
    #[arg(long, value_name = "PASS", value_parser = pass_name)]
    pub print_before: Vec<&'static str>,
    /// Print the module after a pass, on standard error.
    #[arg(long, value_name = "PASS", value_parser = pass_name)]
    pub print_after: Vec<&'static str>,
    /// Print the module after every pass, on standard error.
    #[arg(long)]
    pub print_after_all: bool,
    /// Print what each pass changed as a unified diff, on standard error.
    #[arg(long)]
    pub diff: bool,
    /// Write the input and the module after every pass that changed it into this directory, with an index.json.
    #[arg(long, value_name = "DIR")]
    pub dump_dir: Option<PathBuf>,
    /// Do not verify after each pass.
    #[arg(long)]
    pub no_verify: bool,
    /// Print the time of each pass, on standard error.
    #[arg(long)]
    pub timing: bool,
    /// Print what passes counted, on standard error.
    #[arg(long)]
    pub stats: bool,
    /// Print remarks, on standard error: of some kinds (passed, missed, analysis, all) and of all passes or of one
    /// (`passed,missed:fuse`).
    #[arg(long, value_name = "KINDS[:PASS]", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub remarks: Option<RemarkFilter>,
    /// Write the remarks to a file instead, one JSON record a line.
    #[arg(long, value_name = "FILE")]
    pub remarks_output: Option<PathBuf>,
    /// Make at most this many rewrites in all passes together.
    #[arg(long, value_name = "N")]
    pub rewrite_limit: Option<u64>,
    /// Print a graph for Graphviz in place of the IR.
    #[arg(long, value_enum, value_name = "GRAPH")]
    pub dot: Option<Dot>,
    /// Write a reproducer: the module and this very run of passes in one text.
    #[arg(long, value_name = "FILE", conflicts_with = "split_input_file")]
    pub emit_repro: Option<PathBuf>,
    /// The input is a reproducer: run its passes for its target.
    #[arg(long, conflicts_with_all = ["passes", "from", "to", "rewrite_limit", "no_verify", "split_input_file"])]
    pub run_repro: bool,
    /// Run on each part between `// -----` lines by itself.
    #[arg(long)]
    pub split_input_file: bool,
    /// What the input is, instead of finding it out from the content.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub input_format: Option<InputFormat>,
    #[command(flatten)]
    pub reading: HloFlags,
    #[command(flatten)]
    pub fusion: Fusion,
    /// With json, the result is one record with the IR, the counts and the remarks.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    #[command(flatten)]
    pub common: Common,
}

/// The name of a pass, for flags that take one.
pub fn pass_name(text: &str) -> Result<&'static str, String> {
    PassInfo::find(text)
        .map(|pass| pass.name)
        .ok_or_else(|| format!("no such pass; the passes are {}", Pipeline::default()))
}

/// A pipeline, with a caret under what is wrong.
pub fn pipeline(text: &str) -> Result<Pipeline, String> {
    text.parse::<Pipeline>().map_err(|error| {
        let before = text.get(..error.span.start as usize).unwrap_or_default().chars().count();
        let marked = text.get(error.span.range()).unwrap_or_default().chars().count().max(1);
        format!(
            "{error}\n  {text}\n  {}{}\nthe passes are {}",
            " ".repeat(before),
            "^".repeat(marked),
            Pipeline::default()
        )
    })
}

/// What `--format json` prints of one module.
#[derive(Serialize)]
struct Record {
    ir: String,
    /// Counts by pass and name.
    stats: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    remarks: Vec<PlacedRemark>,
}

pub fn run(options: &Options) -> Outcome {
    let reading = Reading::of_program(options.input_format, &options.common);
    let refusal = "is compiled already; `partita dis` prints it";
    let (source, language) = input::program_text(&options.file, reading, refusal)?;
    let plan = Plan::new(options, &source)?;
    let parts = if options.split_input_file { input::split(source)? } else { vec![source] };
    let mut records = Vec::new();
    for (index, part) in parts.into_iter().enumerate() {
        records.push(run_one(options, &plan, part, language, index)?);
    }
    if let Some(path) = &options.remarks_output {
        let remarks = records.iter().flat_map(|record| &record.remarks);
        files::write(Some(path), remarks::json_lines(remarks)?.as_bytes())?;
    }
    let text = match options.format {
        Format::Json => json(&records)?,
        Format::Text => {
            records.iter().map(|record| record.ir.as_str()).collect::<Vec<_>>().join("// -----\n")
        }
    };
    files::write(options.common.output.as_deref(), text.as_bytes())
}

/// Which passes run, and how: as the flags say, or as a reproducer does.
struct Plan {
    pipeline: Pipeline,
    target: Option<partita::isa::Target>,
    fuel: Fuel,
    verify: bool,
}

impl Plan {
    fn new(options: &Options, source: &Source) -> Outcome<Self> {
        if options.run_repro {
            let about = |what: String| Failure::about(&options.file, what);
            let repro = Configuration::read(&source.text).map_err(about)?;
            let pipeline = repro.passes.parse().map_err(|error| about(format!("{error}")))?;
            let target = repro.target.parse().map_err(|error| about(format!("{error}")))?;
            let fuel = Fuel { left: repro.rewrite_limit, ..Fuel::default() };
            return Ok(Self { pipeline, target: Some(target), fuel, verify: repro.verify });
        }
        let pipeline = match &options.passes {
            Some(pipeline) => pipeline.clone(),
            None => part(options.from, options.to)?,
        };
        Ok(Self {
            pipeline: options.fusion.pipeline(Some(&pipeline)),
            target: options.common.target,
            fuel: Fuel { left: options.rewrite_limit, ..Fuel::default() },
            verify: !options.no_verify,
        })
    }
}

/// What passes counted, by pass and name.
pub fn counts(
    stats: Vec<(&'static str, &'static str, u64)>,
) -> BTreeMap<&'static str, BTreeMap<&'static str, u64>> {
    let mut counts: BTreeMap<_, BTreeMap<_, u64>> = BTreeMap::new();
    for (pass, name, count) in stats {
        *counts.entry(pass).or_default().entry(name).or_default() += count;
    }
    counts
}

/// The part of the default pipeline between two passes.
pub fn part(from: Option<&'static str>, to: Option<&'static str>) -> Outcome<Pipeline> {
    Pipeline::default()
        .part(from, to)
        .map_err(|name| Failure::Usage(format!("`{name}` does not come after --from")))
}

fn run_one(
    options: &Options,
    plan: &Plan,
    source: Source,
    language: Language,
    index: usize,
) -> Outcome<Record> {
    let (source, mut module) = load_all(source, language, options.reading, &options.common)?;
    for func in &mut module.funcs {
        *func = checks::split(func).map_err(Failure::message)?.0;
    }
    let target = plan.target.or(module.target).unwrap_or_default();
    let mut context = Context { fuel: plan.fuel.clone(), ..Context::new(target) };
    if let Some(path) = &options.emit_repro {
        let passes = plan.pipeline.to_string();
        let configuration = configuration(passes, &target, &plan.fuel, plan.verify);
        files::write(Some(path), configuration.text(&module, "").as_bytes())?;
    }
    let mut watcher = Watcher::new(options, target, index, &module);
    let wanted = options.dot == Some(Dot::Egraph);
    let mut egraphs = EGraphs { inner: &mut watcher, wanted, seen: Default::default() };
    let result = run_guarded(&plan.pipeline, &module, &mut context, plan.verify, &mut egraphs);
    let egraphs = egraphs.seen;
    watcher.finish()?;
    let module = result.map_err(|failure| match failure {
        PassFailure::Refused(found) => Failure::Diagnostics(Some(Box::new(source.clone())), found),
        PassFailure::Crash(crash) => crashed(&crash),
    })?;
    let stats = counts(context.stats);
    let wanted =
        options.remarks.clone().or(options.remarks_output.as_ref().map(|_| RemarkFilter::all()));
    let remarks: Vec<PlacedRemark> = match wanted {
        Some(filter) => context
            .remarks
            .into_iter()
            .filter(|remark| filter.accepts(remark))
            .map(|remark| PlacedRemark::new(remark, &source))
            .collect(),
        None => Vec::new(),
    };
    if options.format == Format::Text {
        say(&notes(options, &stats, &remarks));
    }
    let ir = match options.dot {
        None => module.to_string(),
        Some(Dot::Egraph) => egraphs.dot()?,
        Some(graph) => dot::module(graph, &module, &target, &source)?,
    };
    Ok(Record { ir, stats, remarks })
}

/// Leaves a reproducer of a crash beside the user and says how to run it.
fn crashed(crash: &Crash) -> Failure {
    let name = PathBuf::from(format!("partita-repro-{}.pta", crash.run.pass.name));
    let text = crash.configuration.text(&crash.module, &crash.why);
    let advice = match files::write(Some(&name), text.as_bytes()) {
        Ok(()) => format!(
            "`partita opt --run-repro {0}` shows it again: please report it with that file",
            name.display()
        ),
        Err(_) => format!("{} cannot be written", name.display()),
    };
    Failure::Message(format!(
        "the pass `{}` is wrong: {}\n{advice}",
        crash.run,
        crash.why.trim_end()
    ))
}

/// Counts and remarks as text. Writing to a string cannot fail.
fn notes(
    options: &Options,
    stats: &BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    remarks: &[PlacedRemark],
) -> String {
    let mut out = String::new();
    for (pass, counts) in stats.iter().filter(|_| options.stats) {
        for (name, count) in counts {
            let _ = writeln!(out, "{count:>8} {pass}: {name}");
        }
    }
    for remark in remarks.iter().filter(|_| options.remarks_output.is_none()) {
        let _ = writeln!(out, "{remark}");
    }
    out
}
