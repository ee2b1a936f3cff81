//! A timeline in figures.

use std::fmt::Write as _;

use serde::Serialize;

use super::deadlock::name;
use super::{After, Item, Share, Step, Timeline, Track};
use crate::program::Slot;

/// What a timeline comes to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub makespan_ns: f64,
    pub engines: Vec<EngineTime>,
    /// Time in which at least one descriptor was under way, and in which at least one moved bytes.
    pub dma_under_way_ns: f64,
    pub dma_moving_ns: f64,
    /// What the critical path is spent on, in nanoseconds.
    pub shares: Vec<PathShare>,
    pub critical_path: Vec<PathStep>,
}

/// How an engine spends the makespan, in its own cycles.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EngineTime {
    pub engine: String,
    pub busy_cycles: u64,
    /// Waiting for semaphores and events, and for memory that another engine had.
    pub wait_cycles: u64,
    pub memory_wait_cycles: u64,
    /// After its last word.
    pub idle_cycles: u64,
}

/// A part of the critical path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathShare {
    pub of: String,
    pub ns: f64,
}

/// A step of the critical path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathStep {
    /// Such as `dve[3]`.
    pub item: String,
    pub from_ns: f64,
    pub to_ns: f64,
    /// Why it did not start earlier.
    pub after: String,
}

fn ns(ps: u64) -> f64 {
    ps as f64 / 1e3
}

/// The name of an item, such as `dve[3]`.
pub fn item_name(item: &Item) -> String {
    name(item.slot, item.index)
}

impl Timeline {
    /// The timeline in figures.
    pub fn summary(&self) -> Summary {
        let path = self.critical_path();
        let shares = self.shares(&path).into_iter();
        let shares = shares.map(|(share, ps)| PathShare { of: share.to_string(), ns: ns(ps) });
        Summary {
            makespan_ns: ns(self.makespan_ps),
            engines: self.tracks.iter().filter_map(|track| self.engine_time(track)).collect(),
            dma_under_way_ns: ns(self.dma_under_way_ps),
            dma_moving_ns: ns(self.dma_moving_ps),
            shares: shares.collect(),
            critical_path: path.steps.iter().filter_map(|step| self.path_step(step)).collect(),
        }
    }

    /// How an engine spends the makespan; `None` for a DMA queue.
    pub fn engine_time(&self, track: &Track) -> Option<EngineTime> {
        let Slot::Word(engine) = track.slot else { return None };
        let items = self.items_of(track);
        let cycles = |ps: u64| {
            let ghz = track.clock_ghz.unwrap_or(0.0);
            (ps as f64 * ghz / 1e3).round() as u64
        };
        let sum = |part: fn(&Item) -> u64| {
            items.iter().fold(0u64, |sum, item| sum.saturating_add(part(item)))
        };
        let end = items.last().map_or(0, |item| item.end_ps);
        Some(EngineTime {
            engine: engine.to_string(),
            busy_cycles: sum(|item| item.cycles),
            wait_cycles: cycles(sum(|item| item.granted_ps.saturating_sub(item.ready_ps))),
            memory_wait_cycles: cycles(sum(|item| item.start_ps.saturating_sub(item.granted_ps))),
            idle_cycles: cycles(self.makespan_ps.saturating_sub(end)),
        })
    }

    fn path_step(&self, step: &Step) -> Option<PathStep> {
        let item = self.item(step.item)?;
        Some(PathStep {
            item: item_name(item),
            from_ns: ns(step.from_ps),
            to_ns: ns(step.to_ps),
            after: self.reason(step.after),
        })
    }

    /// Why an item did not start earlier, as text.
    pub fn reason(&self, after: After) -> String {
        let of = after.item().and_then(|id| self.item(id)).map(item_name).unwrap_or_default();
        match after {
            After::Start => "start of the program".to_owned(),
            After::Order(_) => format!("order, after {of}"),
            After::Signal(_) => format!("signal of {of}"),
            After::Exclusive(_) => format!("SBUF taken by {of}"),
            After::Room(_) => format!("descriptors under way, until {of}"),
        }
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Share::Engine(engine) => engine.fmt(f),
            Share::DmaLatency => f.write_str("dma latency"),
            Share::DmaTransfer => f.write_str("dma transfer"),
            Share::Signal => f.write_str("signals"),
        }
    }
}

/// Steps of a long critical path that a text shows at each end.
const SHOWN: usize = 8;

impl Summary {
    /// The figures as lines, the critical path cut in its middle. Writing to a string cannot fail.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "makespan {:.1} ns", self.makespan_ns);
        for engine in &self.engines {
            let EngineTime { engine, busy_cycles, wait_cycles, memory_wait_cycles, idle_cycles } =
                engine;
            let memory = match memory_wait_cycles {
                0 => String::new(),
                cycles => format!(" and for SBUF {cycles}"),
            };
            let _ = writeln!(
                out,
                "  {engine:<5} busy {busy_cycles} cycles, waits {wait_cycles}{memory}, idle at the end {idle_cycles}"
            );
        }
        if self.dma_under_way_ns > 0.0 {
            let (under_way, moving) = (self.dma_under_way_ns, self.dma_moving_ns);
            let _ =
                writeln!(out, "  dma   under way {under_way:.1} ns, moving bytes {moving:.1} ns");
        }
        let shares: Vec<String> =
            self.shares.iter().map(|share| format!("{} {:.1} ns", share.of, share.ns)).collect();
        let steps = &self.critical_path;
        let _ = writeln!(out, "critical path {} items: {}", steps.len(), shares.join(", "));
        let hidden = steps.len().saturating_sub(2 * SHOWN);
        for (at, step) in steps.iter().enumerate() {
            if hidden > 1 && at == SHOWN {
                let _ = writeln!(out, "  … {hidden} more …");
            }
            if hidden > 1 && (SHOWN..SHOWN + hidden).contains(&at) {
                continue;
            }
            let PathStep { item, from_ns, to_ns, after } = step;
            let _ = writeln!(out, "  {from_ns:>12.1} to {to_ns:>12.1} ns  {item:<16} {after}");
        }
        out
    }
}
