//! Semaphores and events as tallies that only grow.
//!
//! What must come before what is asked of a system in which items add to tallies and wait until tallies have grown to a
//! threshold: there it has one answer, whatever the timing. Semaphores and events are translated into it so that every
//! wait that can be satisfied in some execution is satisfied in the tallies' system at that point, too. The system may
//! let more through than the machine does, so an order found in it is an order of the machine.
//!
//! | signal | translation |
//! |---|---|
//! | semaphore that is only added to | the sum of each queue's additions; exact |
//! | added to, and subtracted from by one queue that is known not to pass 0 | the largest sum each queue may have reached, and the smallest |
//! | changed by one queue alone, in any way | the number of changes; a wait asks for the first value that satisfies it |
//! | event | the number of times that others set it (or cleared it): each wait that follows a clear of the same queue needs one more |
//! | anything else | no order is drawn from it, and the auditor says so |

use std::collections::{BTreeMap, BTreeSet};

use super::queues::{Condition, Effect, Id, Queues, SEMAPHORES, Signal, Stage, signal_text};

/// A threshold that no tally reaches.
const NEVER: i64 = i64::MAX;

/// An item starts when every tally named has grown to the threshold.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    pub tally: usize,
    pub at_least: i64,
    /// The signal that stands behind the tally.
    pub signal: Signal,
    pub condition: Condition,
}

/// What an item adds; `by` is at least 1.
#[derive(Clone, Copy, Debug)]
pub struct Gain {
    pub tally: usize,
    pub by: i64,
    /// [`Stage::Start`] counts as [`Stage::Read`].
    pub stage: Stage,
}

#[derive(Clone, Debug, Default)]
pub struct Step {
    pub needs: Vec<Need>,
    pub gains: Vec<Gain>,
}

/// The translated queues.
pub struct System {
    pub steps: Vec<Vec<Step>>,
    pub tallies: usize,
    /// Signals that no order is drawn from, and why.
    pub unprovable: BTreeMap<Signal, &'static str>,
    /// The waits mean the same in the tallies as on the machine: no execution gets stuck unless all do.
    pub exact: bool,
}

/// A change of one signal by one queue, or a wait for it.
enum Use {
    Wait(Id, Condition),
    Change(Id, Stage, Effect),
}

/// Every use of a signal, by queue, in the queue's order.
type Uses = BTreeMap<usize, Vec<Use>>;

impl System {
    pub fn new(queues: &Queues<'_>) -> Self {
        let mut uses: BTreeMap<Signal, Uses> = BTreeMap::new();
        for (queue, body) in queues.queues.iter().enumerate() {
            for (index, item) in body.items.iter().enumerate() {
                let id = Id { queue, index };
                let mut note = |signal: Signal, of: Use| {
                    uses.entry(signal).or_default().entry(queue).or_default().push(of);
                };
                for &(signal, condition) in &item.waits {
                    note(signal, Use::Wait(id, condition));
                }
                for &(stage, signal, effect) in &item.effects {
                    note(signal, Use::Change(id, stage, effect));
                }
            }
        }
        let steps =
            queues.queues.iter().map(|queue| vec![Step::default(); queue.items.len()]).collect();
        let mut system = Self { steps, tallies: 0, unprovable: BTreeMap::new(), exact: true };
        for (signal, uses) in &uses {
            if *signal >= SEMAPHORES {
                system.exact = false;
                system.event(*signal, uses);
            } else {
                system.semaphore(*signal, uses);
            }
        }
        system
    }

    fn tally(&mut self) -> usize {
        self.tallies += 1;
        self.tallies - 1
    }

    fn need(&mut self, id: Id, tally: usize, at_least: i64, wait: (Signal, Condition)) {
        if at_least > 0 {
            let need = Need { tally, at_least, signal: wait.0, condition: wait.1 };
            self.steps[id.queue][id.index].needs.push(need);
        }
    }

    fn gain(&mut self, id: Id, tally: usize, by: i64, stage: Stage) {
        if by > 0 {
            let stage = stage.max(Stage::Read);
            self.steps[id.queue][id.index].gains.push(Gain { tally, by, stage });
        }
    }

    fn semaphore(&mut self, signal: Signal, uses: &Uses) {
        let changing: BTreeSet<usize> = uses
            .iter()
            .filter(|(_, uses)| uses.iter().any(|one| matches!(one, Use::Change(..))))
            .map(|(&queue, _)| queue)
            .collect();
        match counts(uses) {
            Ok(()) => self.counter(signal, uses),
            Err(_) if changing.len() == 1 => {
                self.exact = false;
                self.sequence(signal, uses);
            }
            Err(reason) => {
                self.exact = false;
                self.unprovable.insert(signal, reason);
            }
        }
    }

    /// A semaphore that is added to, and never passes 0 or 2³².
    fn counter(&mut self, signal: Signal, uses: &Uses) {
        let (high, low) = (self.tally(), self.tally());
        for uses in uses.values() {
            // The queue's own sum, the largest and the smallest that it had.
            let (mut sum, mut most, mut least) = (0i64, 0i64, 0i64);
            for one in uses {
                match *one {
                    Use::Change(id, stage, Effect::Add(by)) => {
                        sum += by;
                        self.gain(id, high, sum - most, stage);
                        self.gain(id, low, least - sum, stage);
                        (most, least) = (most.max(sum), least.min(sum));
                        self.exact &= by >= 0;
                    }
                    Use::Wait(id, condition) => {
                        // The own part of the tallies is known: replace its extremes by the sum.
                        let reach = |value: i64| value - sum + most;
                        let fall = |value: i64| sum - least - value;
                        let wait = (signal, condition);
                        let (above, below) = match condition {
                            Condition::Ge(value) => (Some(i64::from(value)), None),
                            Condition::Gt(value) => (Some(i64::from(value) + 1), None),
                            Condition::Le(value) => (None, Some(i64::from(value))),
                            Condition::Lt(value) => (None, Some(i64::from(value) - 1)),
                            Condition::Eq(value) => (Some(i64::from(value)), Some(value.into())),
                            Condition::Set | Condition::Clear => (None, None),
                        };
                        if let Some(value) = above {
                            self.need(id, high, reach(value), wait);
                        }
                        if let Some(value) = below {
                            self.need(id, low, fall(value), wait);
                            self.exact = false;
                        }
                    }
                    Use::Change(..) => {}
                }
            }
        }
    }

    /// A semaphore that one queue alone changes.
    fn sequence(&mut self, signal: Signal, uses: &Uses) {
        let tally = self.tally();
        let mut values = Values::default();
        for one in uses.values().flatten() {
            if let &Use::Change(id, stage, effect) = one {
                values.change(effect);
                self.gain(id, tally, 1, stage);
            }
        }
        for uses in uses.values() {
            let changes = uses.iter().any(|one| matches!(one, Use::Change(..)));
            let mut now = 0;
            for one in uses {
                match *one {
                    Use::Change(_, _, effect) => now = apply(now, effect),
                    Use::Wait(id, condition) => {
                        let first = match changes {
                            true if holds(condition, now) => 0,
                            true => NEVER,
                            false => values.first(condition),
                        };
                        self.need(id, tally, first, (signal, condition));
                    }
                }
            }
        }
    }

    /// One bit that any queue may set and clear.
    fn event(&mut self, signal: Signal, uses: &Uses) {
        let (sets, clears) = (self.tally(), self.tally());
        for uses in uses.values() {
            // How often this queue has set and cleared it, and how often another must have.
            let (mut own_sets, mut own_clears) = (0, 0);
            let (mut asked_sets, mut asked_clears) = (0, 0);
            // What this queue last did or saw; it starts clear.
            let mut last_set = false;
            for one in uses {
                match *one {
                    Use::Change(id, stage, Effect::Set) => {
                        own_sets += 1;
                        self.gain(id, sets, 1, stage);
                        last_set = true;
                    }
                    Use::Change(id, stage, _) => {
                        own_clears += 1;
                        self.gain(id, clears, 1, stage);
                        last_set = false;
                    }
                    Use::Wait(id, condition) => {
                        let want = condition == Condition::Set;
                        let (tally, own, asked) = if want {
                            (sets, own_sets, &mut asked_sets)
                        } else {
                            (clears, own_clears, &mut asked_clears)
                        };
                        *asked += i64::from(want != last_set);
                        let at_least = if *asked > 0 { own + *asked } else { 0 };
                        self.need(id, tally, at_least, (signal, condition));
                        last_set = want;
                    }
                }
            }
        }
    }

    /// What is to be said about a signal that no order is drawn from.
    pub fn note(&self, signal: Signal) -> Option<String> {
        let reason = self.unprovable.get(&signal)?;
        Some(format!("no order is drawn from {}: {reason}", signal_text(signal)))
    }
}

/// Whether a semaphore is a plain sum: nothing writes it, it cannot pass 2³², and one queue at most subtracts, after
/// waits that show it large enough.
fn counts(uses: &Uses) -> Result<(), &'static str> {
    let mut total = 0i64;
    let mut subtracting = 0;
    for uses in uses.values() {
        let mut known = 0i64;
        let mut subtracts = false;
        for one in uses {
            match *one {
                Use::Change(_, _, Effect::Add(by)) => {
                    total = total.saturating_add(by.max(0));
                    known += by;
                    subtracts |= by < 0;
                    if by < 0 && known < 0 {
                        return Err("it may be decremented below 0");
                    }
                }
                Use::Change(..) => return Err("more than one queue changes it, and one writes it"),
                Use::Wait(_, Condition::Ge(value) | Condition::Eq(value)) => {
                    known = known.max(value.into());
                }
                Use::Wait(_, Condition::Gt(value)) => known = known.max(i64::from(value) + 1),
                Use::Wait(..) => {}
            }
        }
        subtracting += usize::from(subtracts);
    }
    if total > u32::MAX.into() {
        return Err("it may pass 2^32");
    }
    // What a queue knows from its waits is of use only while nobody else takes from it.
    if subtracting > 1 {
        return Err("more than one queue decrements it");
    }
    Ok(())
}

/// A signal's value after a change.
pub fn apply(value: u32, effect: Effect) -> u32 {
    match effect {
        Effect::Add(by) => (i64::from(value) + by).rem_euclid(1 << 32) as u32,
        Effect::Write(value) => value,
        Effect::Set => 1,
        Effect::Clear => 0,
    }
}

/// Whether a value satisfies a wait; a set event is 1.
pub fn holds(condition: Condition, value: u32) -> bool {
    match condition {
        Condition::Eq(want) => value == want,
        Condition::Lt(want) => value < want,
        Condition::Le(want) => value <= want,
        Condition::Gt(want) => value > want,
        Condition::Ge(want) => value >= want,
        Condition::Set => value != 0,
        Condition::Clear => value == 0,
    }
}

/// The values of a semaphore after each change.
struct Values {
    first: BTreeMap<u32, i64>,
    most: Vec<u32>,
    least: Vec<u32>,
    now: u32,
}

impl Default for Values {
    fn default() -> Self {
        Self { first: BTreeMap::from([(0, 0)]), most: vec![0], least: vec![0], now: 0 }
    }
}

impl Values {
    fn change(&mut self, effect: Effect) {
        self.now = apply(self.now, effect);
        self.first.entry(self.now).or_insert(self.most.len() as i64);
        self.most.push(self.now.max(self.most.last().copied().unwrap_or(0)));
        self.least.push(self.now.min(self.least.last().copied().unwrap_or(0)));
    }

    /// Changes before the first value that satisfies a wait.
    fn first(&self, condition: Condition) -> i64 {
        let among = |values: &[u32], short: &dyn Fn(u32) -> bool| {
            let at = values.partition_point(|&value| short(value));
            if at < values.len() { at as i64 } else { NEVER }
        };
        match condition {
            Condition::Eq(want) => self.first.get(&want).copied().unwrap_or(NEVER),
            Condition::Ge(_) | Condition::Gt(_) => {
                among(&self.most, &|value| !holds(condition, value))
            }
            _ => among(&self.least, &|value| !holds(condition, value)),
        }
    }
}
