//! `partita trace`: the simulated timeline as a file for trace viewers (the Chrome trace format, which Perfetto reads).
//!
//! A track per queue. A word's slice is its time on the engine; a descriptor's is the time in which its bytes move,
//! since descriptors of one queue are issued while others of it are under way; when it was issued is among its
//! arguments. Arrows lead from what updated a semaphore or an event to what waited for it; a counter shows how many
//! descriptors are under way.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use partita::backend::program::{Program, Slot};
use partita::backend::timeline::{Item, Timeline, item_name};
use partita::ir::{Func, Source};
use serde_json::{Value, json};

use super::compile::{self, Compilation};
use super::cost::{self, Costed};
use crate::cli::{Common, CostInput, WordInput};
use crate::failure::Outcome;
use crate::files::Output;
use crate::input::{self, Input, Reading};
use crate::program::Choice;
use crate::sources::Sources;

#[derive(Args)]
pub struct Options {
    /// An image, assembler text, words (with --engine), or a program, which is compiled first.
    pub file: PathBuf,
    #[command(flatten)]
    pub choice: Choice,
    #[command(flatten)]
    pub words: WordInput,
    #[command(flatten)]
    pub cost: CostInput,
    #[command(flatten)]
    pub common: Common,
}

pub fn run(options: &Options) -> Outcome {
    let reading = Reading::of_words(&options.words, &options.common);
    let (program, lines) = match input::read(&options.file, reading)? {
        Input::Ir(source, language) => {
            let compilation =
                compile::compile(source.clone(), language, &options.choice, &options.common)?;
            let lines = lines(compilation.entry()?, &source);
            let Compilation { compiled, .. } = compilation;
            (compiled.program, lines)
        }
        input => (cost::program_of(input, &options.common)?, BTreeMap::new()),
    };
    let costed = Costed::new(&program, &options.cost)?;
    let trace = Trace { program: &program, timeline: costed.timeline()?, lines };
    let mut out = Output::create(options.common.output.as_deref())?;
    trace
        .events(&mut |event| out.write_all(event.as_bytes()).map_err(|error| out.failure(error)))?;
    out.finish()
}

/// The line of each value's operation in the source, by the value's name.
fn lines(func: &Func, source: &Source) -> BTreeMap<String, usize> {
    func.body_ops()
        .filter_map(|(id, op)| {
            let name = func.values[op.result()?].name.to_string();
            let span = func.spans.op(id)?.whole;
            (!span.is_none()).then(|| (name, source.line_column(span.start as usize).0))
        })
        .collect()
}

struct Trace<'a> {
    program: &'a Program,
    timeline: &'a Timeline,
    lines: BTreeMap<String, usize>,
}

/// Microseconds, the unit of the format, without loss.
fn us(ps: u64) -> String {
    format!("{}.{:06}", ps / 1_000_000, ps % 1_000_000)
}

fn ns(ps: u64) -> Value {
    json!(ps as f64 / 1e3)
}

impl Trace<'_> {
    /// Writes the whole file, piece by piece.
    fn events(&self, put: &mut dyn FnMut(&str) -> Outcome) -> Outcome {
        put("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
        let process = format!("partita, {}", self.program.target);
        put(&meta("process_name", 0, &json!({ "name": process })))?;
        for (at, track) in self.timeline.tracks.iter().enumerate() {
            let tid = at + 1;
            put(",\n")?;
            put(&meta("thread_name", tid, &json!({ "name": track.slot.to_string() })))?;
            put(",\n")?;
            put(&meta("thread_sort_index", tid, &json!({ "sort_index": tid })))?;
        }
        let sources = Sources::new(self.program);
        for (at, track) in self.timeline.tracks.iter().enumerate() {
            for item in self.timeline.items_of(track) {
                put(",\n")?;
                put(&self.slice(at + 1, item, &sources))?;
            }
        }
        for (id, signal) in self.timeline.signals.iter().enumerate() {
            let ends = self.timeline.item(signal.from).zip(self.timeline.item(signal.to));
            let Some((from, to)) = ends else { continue };
            let name = Value::from(signal.cell.to_string());
            // A viewer ties an arrow to the slice that is open at its time.
            let leaves = signal.at_ps.saturating_sub(1).max(from.moving_ps);
            let head = format!("\"cat\":\"wait\",\"name\":{name},\"id\":{id},\"pid\":1");
            let (start, end) = (us(leaves), us(to.moving_ps));
            let (from, to) = (self.tid(from.slot), self.tid(to.slot));
            put(&format!(",\n{{\"ph\":\"s\",{head},\"tid\":{from},\"ts\":{start}}}"))?;
            put(&format!(",\n{{\"ph\":\"f\",\"bp\":\"e\",{head},\"tid\":{to},\"ts\":{end}}}"))?;
        }
        self.counter(put)?;
        put("\n]}\n")
    }

    fn tid(&self, slot: Slot) -> usize {
        self.timeline.tracks.iter().position(|track| track.slot == slot).map_or(0, |at| at + 1)
    }

    fn slice(&self, tid: usize, item: &Item, sources: &Sources) -> String {
        let text = self.program.item_text(item.slot, item.place as usize).unwrap_or_default();
        let mut args = json!({
            "item": item_name(item),
            "text": text,
            "after": self.timeline.reason(item.after),
        });
        let mut say = |key: &str, value: Value| {
            args[key] = value;
        };
        let name = match item.slot {
            Slot::Word(_) => {
                say("cycles", item.cycles.into());
                say("waited_ns", ns(item.start_ps.saturating_sub(item.ready_ps)));
                text.split(' ').next().unwrap_or_default().to_owned()
            }
            Slot::Dma(_) => {
                say("bytes", item.bytes.into());
                say("issued_ns", ns(item.start_ps));
                say("waited_ns", ns(item.start_ps.saturating_sub(item.ready_ps)));
                let descriptor = self.program.dma.get(item.place as usize);
                descriptor.map_or_else(String::new, |descriptor| {
                    let (from, to) = (descriptor.src.space, descriptor.dst.space);
                    format!("{} {from} to {to}", descriptor.kind.name())
                })
            }
        };
        if let Some(source) = sources.of(item.slot.place(), item.place as usize) {
            say("source", source.into());
            if let Some(&line) = self.lines.get(source) {
                say("line", line.into());
            }
        }
        let (start, length) = (us(item.moving_ps), us(item.end_ps.saturating_sub(item.moving_ps)));
        let name = Value::from(name);
        format!(
            "{{\"ph\":\"X\",\"pid\":1,\"tid\":{tid},\"ts\":{start},\"dur\":{length},\"name\":{name},\"args\":{args}}}"
        )
    }

    /// How many descriptors are under way.
    fn counter(&self, put: &mut dyn FnMut(&str) -> Outcome) -> Outcome {
        let mut changes: BTreeMap<u64, i64> = BTreeMap::new();
        for item in self.timeline.items.iter().filter(|item| matches!(item.slot, Slot::Dma(_))) {
            *changes.entry(item.start_ps).or_default() += 1;
            *changes.entry(item.end_ps).or_default() -= 1;
        }
        let mut count = 0;
        let mut out = String::new();
        for (at, change) in changes {
            count += change;
            out.clear();
            // Writing to a string cannot fail.
            let _ = write!(
                out,
                ",\n{{\"ph\":\"C\",\"pid\":1,\"name\":\"descriptors under way\",\"ts\":{},\"args\":{{\"descriptors\":{count}}}}}",
                us(at)
            );
            put(&out)?;
        }
        Ok(())
    }
}

fn meta(name: &str, tid: usize, args: &Value) -> String {
    format!("{{\"ph\":\"M\",\"pid\":1,\"tid\":{tid},\"name\":\"{name}\",\"args\":{args}}}")
}
