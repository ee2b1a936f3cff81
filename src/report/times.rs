//! When each item runs, from the simulation of all queues.

use std::collections::BTreeMap;

use partita::backend::program::{Program, Slot};
use partita::backend::timeline::Timeline;
use serde::Serialize;

/// Times in picoseconds; row `n` is step `n` of the program order.
#[derive(Serialize)]
pub struct Times {
    makespan: u64,
    /// When an item came to the head of its queue, when it started, when its first byte moved, when it ended.
    ready: Vec<u64>,
    start: Vec<u64>,
    moving: Vec<u64>,
    end: Vec<u64>,
    /// Why it did not start earlier.
    reason: Vec<String>,
    /// Who satisfied the wait of whom: semaphore or event, from, to, and when.
    signals: Vec<(String, usize, usize, u64)>,
    /// What the longest chain of items is spent on, in nanoseconds.
    shares: Vec<(String, f64)>,
    /// The items of that chain.
    critical: Vec<usize>,
    /// How each engine spends the time, in its cycles: busy, waiting, waiting for memory, idle at the end.
    engines: Vec<(String, [u64; 4])>,
}

impl Times {
    /// The times of a program in its order.
    pub fn of(program: &Program, timeline: &Timeline) -> Self {
        let mut taken: BTreeMap<Slot, u32> = BTreeMap::new();
        let mut steps: BTreeMap<(Slot, u32), usize> = BTreeMap::new();
        for (step, &slot) in program.order.iter().enumerate() {
            let index = taken.entry(slot).or_default();
            steps.insert((slot, *index), step);
            *index += 1;
        }
        let count = program.order.len();
        let summary = timeline.summary();
        let mut times = Self {
            makespan: timeline.makespan_ps,
            ready: vec![0; count],
            start: vec![0; count],
            moving: vec![0; count],
            end: vec![0; count],
            reason: vec![String::new(); count],
            signals: Vec::new(),
            shares: summary.shares.into_iter().map(|share| (share.of, share.ns)).collect(),
            critical: Vec::new(),
            engines: Vec::new(),
        };
        for engine in summary.engines {
            let spent = [
                engine.busy_cycles,
                engine.wait_cycles,
                engine.memory_wait_cycles,
                engine.idle_cycles,
            ];
            times.engines.push((engine.engine, spent));
        }
        for item in &timeline.items {
            let Some(&step) = steps.get(&(item.slot, item.index)) else { continue };
            times.ready[step] = item.ready_ps;
            times.start[step] = item.start_ps;
            times.moving[step] = item.moving_ps;
            times.end[step] = item.end_ps;
            times.reason[step] = timeline.reason(item.after);
        }
        let step_of = |id| {
            let item = timeline.item(id)?;
            steps.get(&(item.slot, item.index)).copied()
        };
        for signal in &timeline.signals {
            if let (Some(from), Some(to)) = (step_of(signal.from), step_of(signal.to)) {
                times.signals.push((signal.cell.to_string(), from, to, signal.at_ps));
            }
        }
        times.critical =
            timeline.critical_path().steps.iter().filter_map(|step| step_of(step.item)).collect();
        times
    }
}
