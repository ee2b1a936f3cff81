//! `partita opt`: run passes over IR and print it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use partita::ir::Module;
use partita::passes::remark::{Remark, RemarkKind};
use partita::passes::{Context, PassInfo, Pipeline, Step};
use serde::Serialize;

use super::check::json;
use super::compile;
use crate::cli::{Common, Format, InputFormat};
use crate::failure::{Failure, Outcome, say};
use crate::files;
use crate::input::{self, Input, Language, Reading};

#[derive(Args)]
pub struct Options {
    /// The program, in any dialect; `-` is standard input.
    pub file: PathBuf,
    /// Passes in the order in which they run, separated by commas; without it, the whole default pipeline.
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
    /// Write the module after every pass into this directory.
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
    /// Print remarks, on standard error: passed, missed or all, of all passes or of one (`missed:fuse`).
    #[arg(long, value_name = "KIND[:PASS]", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub remarks: Option<RemarkFilter>,
    /// Run on each part between `// -----` lines by itself.
    #[arg(long)]
    pub split_input_file: bool,
    /// What the input is, instead of finding it out from the content.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub input_format: Option<InputFormat>,
    /// With json, the result is one record with the IR, the counts and the remarks.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    #[command(flatten)]
    pub common: Common,
}

fn pass_name(text: &str) -> Result<&'static str, String> {
    PassInfo::find(text)
        .map(|pass| pass.name)
        .ok_or_else(|| format!("no such pass; the passes are {}", Pipeline::default()))
}

fn pipeline(text: &str) -> Result<Pipeline, String> {
    text.parse::<Pipeline>()
        .map_err(|error| format!("{error}; the passes are {}", Pipeline::default()))
}

/// Which remarks are printed.
#[derive(Clone, Debug)]
pub struct RemarkFilter {
    kind: Option<RemarkKind>,
    pass: Option<String>,
}

impl std::str::FromStr for RemarkFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, pass) = match text.split_once(':') {
            Some((kind, pass)) => (kind, Some(pass.to_owned())),
            None => (text, None),
        };
        let kind = match kind {
            "all" => None,
            "passed" => Some(RemarkKind::Passed),
            "missed" => Some(RemarkKind::Missed),
            _ => return Err("remarks are passed, missed or all".to_owned()),
        };
        Ok(Self { kind, pass })
    }
}

impl RemarkFilter {
    fn accepts(&self, remark: &Remark) -> bool {
        self.kind.is_none_or(|kind| kind == remark.kind)
            && self.pass.as_ref().is_none_or(|pass| pass == remark.pass)
    }
}

/// What `--format json` prints of one module.
#[derive(Serialize)]
struct Record {
    ir: String,
    /// Counts by pass and name.
    stats: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    remarks: Vec<Remark>,
}

pub fn run(options: &Options) -> Outcome {
    let reading = Reading { format: options.input_format, ..Reading::default() };
    let Input::Ir(source, language) = input::read(&options.file, reading)? else {
        return Err(Failure::about(&options.file, "is compiled already; `partita dis` prints it"));
    };
    let pipeline = options.pipeline()?;
    let parts = if options.split_input_file { input::split(source)? } else { vec![source] };
    let mut records = Vec::new();
    for (index, part) in parts.into_iter().enumerate() {
        records.push(run_one(options, &pipeline, part, language, index)?);
    }
    let text = match options.format {
        Format::Json => json(&records)?,
        Format::Text => {
            records.iter().map(|record| record.ir.as_str()).collect::<Vec<_>>().join("// -----\n")
        }
    };
    files::write(options.common.output.as_deref(), text.as_bytes())
}

fn run_one(
    options: &Options,
    pipeline: &Pipeline,
    part: partita::ir::Source,
    language: Language,
    index: usize,
) -> Outcome<Record> {
    let (source, module) = compile::load(part, language)?;
    let mut context = Context::new(options.common.target_or(module.target));
    let mut watcher = Watcher { options, index, step: 0, started: Instant::now(), failed: None };
    let result = pipeline.run(&module, &mut context, !options.no_verify, |step| watcher.see(step));
    let module = result.map_err(|found| Failure::Diagnostics(Some(Box::new(source)), found))?;
    if let Some(failure) = watcher.failed {
        return Err(failure);
    }
    let mut stats: BTreeMap<_, BTreeMap<_, u64>> = BTreeMap::new();
    for (pass, name, count) in context.stats {
        *stats.entry(pass).or_default().entry(name).or_default() += count;
    }
    let remarks: Vec<Remark> = match &options.remarks {
        Some(filter) => {
            context.remarks.into_iter().filter(|remark| filter.accepts(remark)).collect()
        }
        None => Vec::new(),
    };
    if options.format == Format::Text {
        say(&notes(options, &stats, &remarks));
    }
    Ok(Record { ir: module.to_string(), stats, remarks })
}

/// Counts and remarks as text. Writing to a string cannot fail.
fn notes(
    options: &Options,
    stats: &BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    remarks: &[Remark],
) -> String {
    let mut out = String::new();
    for (pass, counts) in stats.iter().filter(|_| options.stats) {
        for (name, count) in counts {
            let _ = writeln!(out, "{count:>8} {pass}: {name}");
        }
    }
    for remark in remarks {
        let _ = writeln!(out, "{remark}");
    }
    out
}

impl Options {
    fn pipeline(&self) -> Outcome<Pipeline> {
        if let Some(pipeline) = &self.passes {
            return Ok(pipeline.clone());
        }
        let mut pipeline = Pipeline::default();
        if let Some(from) = self.from {
            let start = pipeline.passes.iter().position(|pass| pass.name == from);
            pipeline.passes.drain(..start.unwrap_or(0));
        }
        if let Some(to) = self.to {
            let end = pipeline.passes.iter().rposition(|pass| pass.name == to);
            let end =
                end.ok_or_else(|| Failure::Usage(format!("`{to}` does not come after --from")))?;
            pipeline.passes.truncate(end + 1);
        }
        Ok(pipeline)
    }
}

/// Prints and keeps what the options ask for between passes.
struct Watcher<'a> {
    options: &'a Options,
    /// Number of the part of the file.
    index: usize,
    step: usize,
    started: Instant,
    failed: Option<Failure>,
}

impl Watcher<'_> {
    fn see(&mut self, step: &Step<'_>) {
        let (options, name) = (self.options, step.pass.name);
        if options.timing {
            say(&format!("{:>10.3} ms {name}\n", self.started.elapsed().as_secs_f64() * 1e3));
        }
        if options.print_before.contains(&name) {
            print("before", name, step.before);
        }
        if options.print_after_all || options.print_after.contains(&name) {
            print("after", name, step.after);
        }
        if let Some(dir) = &options.dump_dir
            && let Err(failure) = self.dump(dir, name, step.after)
        {
            self.failed.get_or_insert(failure);
        }
        self.step += 1;
        self.started = Instant::now();
    }

    fn dump(&self, dir: &Path, pass: &str, module: &Module) -> Outcome {
        std::fs::create_dir_all(dir).map_err(|error| Failure::about(dir, error))?;
        let file = dir.join(format!("{}-{:02}-{pass}.pta", self.index, self.step));
        files::write(Some(&file), module.to_string().as_bytes())
    }
}

fn print(when: &str, pass: &str, module: &Module) {
    say(&format!("// {when} {pass}\n{module}"));
}
