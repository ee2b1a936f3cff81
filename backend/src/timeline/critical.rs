//! The chain of items that the makespan hangs on.

use std::collections::BTreeMap;

use partita_isa::Engine;

use super::{After, ItemId, Timeline};
use crate::program::Slot;

/// The chain from the start of the program to the end of its last item, in the order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CriticalPath {
    pub steps: Vec<Step>,
}

/// An item of the chain. The steps follow one another without a gap: before `from_ps` the step before ends, or a
/// signal is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub item: ItemId,
    /// The part of the item that counts: from its start, or from when it moves bytes if the transfer before it in its
    /// queue was in the way.
    pub from_ps: u64,
    pub to_ps: u64,
    /// Why it did not start earlier; [`After::Order`] of a descriptor that waited for the transfer before it.
    pub after: After,
    /// Time between the end of the step before and this one: a signal on its way.
    pub gap_ps: u64,
}

/// What a part of the chain is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Share {
    Engine(Engine),
    DmaLatency,
    DmaTransfer,
    Signal,
}

impl Timeline {
    /// The chain back from the last end: each step is what kept the next from starting earlier.
    pub fn critical_path(&self) -> CriticalPath {
        let mut steps: Vec<Step> = Vec::new();
        let last = self
            .completed
            .iter()
            .rev()
            .find(|&&id| self.item(id).is_some_and(|item| item.end_ps == self.makespan_ps));
        let mut next = last.copied();
        // Every step goes back in the order of completion or of starts: more steps than items would be a circle.
        while let Some(id) = next.filter(|_| steps.len() <= self.items.len()) {
            let Some(item) = self.item(id) else { break };
            let held = item.index > 0
                && id.checked_sub(1).and_then(|before| self.item(before)).is_some_and(|before| {
                    matches!(item.slot, Slot::Dma(_)) && before.end_ps == item.moving_ps
                });
            let (from_ps, after) = match held {
                true => (item.moving_ps, After::Order(id - 1)),
                false => (item.start_ps, self.cause(id)),
            };
            next = after.item();
            let before = next.and_then(|id| self.item(id)).map_or(0, |before| before.end_ps);
            let gap_ps = from_ps.saturating_sub(before);
            steps.push(Step { item: id, from_ps, to_ps: item.end_ps, after, gap_ps });
        }
        steps.reverse();
        CriticalPath { steps }
    }

    /// What the start of an item hangs on by way of an end: a descriptor that was issued right after another started
    /// for that one's reason, and so did a word that an event passed on by a start let go.
    fn cause(&self, id: ItemId) -> After {
        let mut at = id;
        for _ in 0..=self.items.len() {
            let Some(item) = self.item(at) else { break };
            let ended = |before: ItemId| {
                self.item(before).is_some_and(|before| before.end_ps <= item.start_ps)
            };
            match item.after.item() {
                Some(before) if !ended(before) && before != at => at = before,
                _ => return item.after,
            }
        }
        After::Start
    }

    /// How the makespan divides among what the critical path is spent on.
    pub fn shares(&self, path: &CriticalPath) -> BTreeMap<Share, u64> {
        let mut shares: BTreeMap<Share, u64> = BTreeMap::new();
        let mut add = |share: Share, ps: u64| {
            if ps > 0 {
                *shares.entry(share).or_default() += ps;
            }
        };
        for step in &path.steps {
            let Some(item) = self.item(step.item) else { continue };
            add(Share::Signal, step.gap_ps);
            let length = step.to_ps.saturating_sub(step.from_ps);
            match item.slot {
                Slot::Word(engine) => add(Share::Engine(engine), length),
                Slot::Dma(_) => {
                    let moving = step.to_ps.saturating_sub(item.moving_ps.max(step.from_ps));
                    add(Share::DmaLatency, length.saturating_sub(moving));
                    add(Share::DmaTransfer, moving);
                }
            }
        }
        shares
    }
}
