//! What must be complete before an item starts.
//!
//! To learn how much of one queue each item needs, that queue is held back: all others run as far as they can, then the
//! queue takes half a step, and so on. What starts only after the half step needs it. In a system of tallies the answer
//! does not depend on timing, and a queue's whole sweep costs one run of the program.

use super::queues::{Id, Queues, Stage};
use super::tally::System;

/// Half steps of a queue: item `i` has read its sources after `2 i + 1` and is complete after `2 i + 2`.
pub type Half = u32;

/// The half steps after which an item has read its sources, and is complete.
pub fn halves(index: usize) -> (Half, Half) {
    let twice = Half::try_from(index).unwrap_or(Half::MAX / 2).saturating_mul(2);
    (twice.saturating_add(1), twice.saturating_add(2))
}

pub struct Clocks {
    queues: usize,
    /// Where each queue's items begin among all items.
    first: Vec<usize>,
    /// For each item, for each queue, the half steps that come before it.
    before: Vec<Half>,
    /// Every item that can start, in an order that respects all clocks.
    pub order: Vec<Id>,
    /// How many items of each queue can start.
    pub reached: Vec<usize>,
}

/// Queues as bits; the machine has fewer than 64.
type Set = u64;

struct Run<'a> {
    system: &'a System,
    tallies: Vec<i64>,
    /// Queues whose next item waits for a tally.
    waiting: Vec<Set>,
    /// Items complete, by queue.
    done: Vec<usize>,
    ready: Set,
}

impl<'a> Run<'a> {
    fn new(system: &'a System) -> Self {
        let queues = system.steps.len();
        Self {
            system,
            tallies: vec![0; system.tallies],
            waiting: vec![0; system.tallies],
            done: vec![0; queues],
            ready: if queues < 64 { (1 << queues) - 1 } else { Set::MAX },
        }
    }

    /// Whether the next item of a queue can start; otherwise the queue is noted with the tally it waits for.
    fn may_start(&mut self, queue: usize) -> bool {
        let Some(step) = self.system.steps[queue].get(self.done[queue]) else { return false };
        for need in &step.needs {
            if self.tallies[need.tally] < need.at_least {
                self.waiting[need.tally] |= 1 << queue;
                return false;
            }
        }
        true
    }

    fn apply(&mut self, queue: usize, stage: Stage) {
        let system = self.system;
        for gain in &system.steps[queue][self.done[queue]].gains {
            if gain.stage == stage {
                self.tallies[gain.tally] += gain.by;
                self.ready |= std::mem::take(&mut self.waiting[gain.tally]);
            }
        }
    }

    /// Runs every queue but `held` as far as it goes.
    fn settle(&mut self, held: Option<usize>, mut reach: impl FnMut(Id)) {
        if let Some(held) = held {
            self.ready &= !(1 << held);
        }
        while self.ready != 0 {
            let queue = self.ready.trailing_zeros() as usize;
            self.ready &= !(1 << queue);
            while self.may_start(queue) {
                reach(Id { queue, index: self.done[queue] });
                self.apply(queue, Stage::Read);
                self.apply(queue, Stage::Done);
                self.done[queue] += 1;
            }
            if let Some(held) = held {
                self.ready &= !(1 << held);
            }
        }
    }
}

impl Clocks {
    pub fn new(queues: &Queues<'_>, system: &System) -> Self {
        let count = queues.queues.len();
        let mut first = Vec::with_capacity(count);
        let mut total = 0;
        for queue in &queues.queues {
            first.push(total);
            total += queue.items.len();
        }
        let mut order = Vec::with_capacity(total);
        let mut free = Run::new(system);
        free.settle(None, |id| order.push(id));
        let mut clocks = Self {
            queues: count,
            first,
            before: vec![0; total * count],
            order,
            reached: free.done,
        };
        for held in 0..count {
            clocks.sweep(system, held);
        }
        clocks
    }

    fn sweep(&mut self, system: &System, held: usize) {
        let steps = &system.steps[held];
        // Without a signal nobody waits for it.
        if steps.iter().all(|step| step.gains.is_empty()) {
            return;
        }
        let (first, queues) = (&self.first, self.queues);
        let before = &mut self.before;
        let mut run = Run::new(system);
        let mut settle = |run: &mut Run<'_>, half: Half| {
            run.settle(Some(held), |id| {
                before[(first[id.queue] + id.index) * queues + held] = half
            });
        };
        for (index, step) in steps.iter().enumerate() {
            let (read, done) = halves(index);
            settle(&mut run, read - 1);
            if !run.may_start(held) {
                return;
            }
            if step.gains.iter().any(|gain| gain.stage == Stage::Read) {
                run.apply(held, Stage::Read);
                settle(&mut run, read);
            }
            run.apply(held, Stage::Done);
            run.done[held] += 1;
            settle(&mut run, done);
        }
    }

    /// Half steps of `queue` that come before an item of another queue starts.
    pub fn before(&self, id: Id, queue: usize) -> Half {
        self.before[(self.first[id.queue] + id.index) * self.queues + queue]
    }
}
