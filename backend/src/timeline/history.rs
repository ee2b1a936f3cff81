//! Who made a condition true: the past of each semaphore and event.

use std::collections::BTreeMap;

use partita_isa::WaitMode;

use super::ItemId;
use crate::counters::{Cell, Counters, Wait};

/// A change of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub at_ps: u64,
    pub by: ItemId,
}

/// The values of one cell, from 0 on.
#[derive(Default)]
struct Past {
    changes: Vec<Change>,
    value: u32,
    /// The last values lower than every later one, with how many changes came before: strictly rising.
    lows: Vec<(u32, usize)>,
    /// The last values higher than every later one: strictly falling.
    highs: Vec<(u32, usize)>,
    /// One more than the index of the last change that gave another value; 0 when none did.
    since: usize,
}

impl Past {
    fn push(&mut self, value: u32, change: Change) {
        if self.changes.is_empty() {
            self.lows.push((self.value, 0));
            self.highs.push((self.value, 0));
        }
        if value != self.value {
            self.since = self.changes.len() + 1;
        }
        self.changes.push(change);
        let count = self.changes.len();
        while self.lows.last().is_some_and(|low| low.0 >= value) {
            self.lows.pop();
        }
        self.lows.push((value, count));
        while self.highs.last().is_some_and(|high| high.0 <= value) {
            self.highs.pop();
        }
        self.highs.push((value, count));
        self.value = value;
    }

    /// The change since which the condition, which holds now, has held; `None` when it held from the start.
    fn enabled(&self, mode: WaitMode, value: u32) -> Option<Change> {
        // The last value for which the condition did not hold is a low or a high of its own.
        let before = |ends: &[(u32, usize)], fails: &dyn Fn(u32) -> bool| {
            let failing = ends.partition_point(|&(end, _)| fails(end));
            failing.checked_sub(1).and_then(|at| ends.get(at)).map(|&(_, count)| count)
        };
        let first = match mode {
            WaitMode::SemGeImm => before(&self.lows, &|low| low < value)?,
            WaitMode::SemGtImm => before(&self.lows, &|low| low <= value)?,
            WaitMode::SemLeImm => before(&self.highs, &|high| high > value)?,
            WaitMode::SemLtImm => before(&self.highs, &|high| high >= value)?,
            _ => self.since.checked_sub(1)?,
        };
        self.changes.get(first).copied()
    }
}

/// The past of all cells.
#[derive(Default)]
pub(super) struct History(BTreeMap<Cell, Past>);

impl History {
    /// Notes that an item has changed a cell.
    pub fn push(&mut self, cell: Cell, counters: &Counters, change: Change) {
        self.0.entry(cell).or_default().push(cell.value(counters), change);
    }

    /// The change that a satisfied wait owes its start to.
    pub fn enabled(&self, wait: &Wait) -> Option<Change> {
        self.0.get(&wait.cell())?.enabled(wait.mode?, wait.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a search back through all values.
    #[test]
    fn the_enabling_change_is_the_first_of_the_last_run() {
        let mut state = 7u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % n
        };
        for _ in 0..300 {
            let mut past = Past::default();
            let mut values = vec![0];
            for by in 0..random(30) as u32 {
                let value = random(6) as u32;
                values.push(value);
                past.push(value, Change { at_ps: 0, by });
            }
            for value in 0..7 {
                type Holds = fn(u32, u32) -> bool;
                let modes: [(WaitMode, Holds); 5] = [
                    (WaitMode::SemEqImm, |a, b| a == b),
                    (WaitMode::SemLtImm, |a, b| a < b),
                    (WaitMode::SemLeImm, |a, b| a <= b),
                    (WaitMode::SemGtImm, |a, b| a > b),
                    (WaitMode::SemGeImm, |a, b| a >= b),
                ];
                for (mode, holds) in modes {
                    if !values.last().is_some_and(|&now| holds(now, value)) {
                        continue;
                    }
                    let failed = values.iter().rposition(|&then| !holds(then, value));
                    // Value k+1 came by change k.
                    let want = failed.map(|at| at as u32);
                    let got = past.enabled(mode, value).map(|change| change.by);
                    assert_eq!(got, want, "{mode} {value}: {values:?}");
                }
            }
        }
    }
}
