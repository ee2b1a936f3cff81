//! Why a program stands still: what each queue waits for, and who would signal it.

use std::collections::BTreeMap;
use std::fmt;

use super::items::Loads;
use crate::counters::{Cell, Counters};
use crate::program::{Program, Slot};

/// A program that waits for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// The head of each queue that is not finished.
    pub stuck: Vec<Stuck>,
    /// A chain of [`Self::stuck`], each waiting for what the next one holds back. It ends where it began, or at one
    /// that nothing signals.
    pub chain: Vec<usize>,
}

/// An item that waits for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    pub slot: Slot,
    /// Position in its queue.
    pub index: u32,
    /// Its assembler text.
    pub text: String,
    /// The conditions that do not hold.
    pub wants: Vec<Wanted>,
}

/// A condition that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Such as `semaphore 3 >= 1`.
    pub condition: String,
    /// Such as `semaphore 3 is 0`.
    pub state: String,
    /// The next item that would update it, if any is left: its queue and its position there.
    pub by: Option<(Slot, u32)>,
}

impl Deadlock {
    /// From what is left of each queue: `next` is the position of its head, `blocked` are those with an item left.
    pub(super) fn new(
        program: &Program,
        loads: &Loads,
        counters: &Counters,
        next: impl Fn(usize) -> u32,
        blocked: &[usize],
    ) -> Self {
        let mut blocked = blocked.to_vec();
        blocked.sort_unstable();
        let signallers = signallers(loads, &next, &blocked);
        let stuck: Vec<Stuck> = blocked
            .iter()
            .filter_map(|&queue| {
                let own = loads.queues.get(queue)?;
                let index = next(queue);
                let load = loads.items.get((own.first + index) as usize)?;
                let wants = load.waits().filter(|wait| !wait.holds(counters)).map(|wait| {
                    // Nothing behind the head of its own queue can help it.
                    let all = signallers.get(&wait.cell()).map_or(&[][..], Vec::as_slice);
                    let by = all.iter().find(|by| by.0 != own.slot).or(all.first());
                    Wanted {
                        condition: wait.to_string(),
                        state: wait.cell().state(counters),
                        by: by.copied(),
                    }
                });
                let (slot, wants) = (own.slot, wants.collect());
                let text = program.item_text(slot, load.place as usize).unwrap_or_default();
                Some(Stuck { slot, index, text, wants })
            })
            .collect();
        let chain = chain(&stuck);
        Self { stuck, chain }
    }

    /// True when the chain comes back to an item of its own.
    pub fn is_cycle(&self) -> bool {
        self.chain.len() > 1 && self.chain.first() == self.chain.last()
    }
}

/// For each cell, the next item of each queue that updates it, nearest to its head first.
fn signallers(
    loads: &Loads,
    next: impl Fn(usize) -> u32,
    blocked: &[usize],
) -> BTreeMap<Cell, Vec<(Slot, u32)>> {
    let mut found: BTreeMap<Cell, Vec<(u32, Slot, u32)>> = BTreeMap::new();
    for &queue in blocked {
        let Some(own) = loads.queues.get(queue) else { continue };
        let head = next(queue);
        for index in head..own.count {
            let load = loads.items.get((own.first + index) as usize);
            if let Some(update) = load.and_then(|load| load.update) {
                let entries = found.entry(update.cell()).or_default();
                if entries.last().is_none_or(|entry| entry.1 != own.slot) {
                    entries.push((index - head, own.slot, index));
                }
            }
        }
    }
    let nearest = |mut entries: Vec<(u32, Slot, u32)>| {
        entries.sort_unstable();
        entries.into_iter().map(|(_, slot, index)| (slot, index)).collect()
    };
    found.into_iter().map(|(cell, entries)| (cell, nearest(entries))).collect()
}

/// A cycle if there is one, else the chain from the first item to one that nothing signals.
fn chain(stuck: &[Stuck]) -> Vec<usize> {
    let follow = |start: usize| {
        let mut chain = vec![start];
        loop {
            let last = chain.last().and_then(|&at| stuck.get(at));
            let by = last.and_then(|item| item.wants.first()).and_then(|wanted| wanted.by);
            let Some(after) = by.and_then(|by| stuck.iter().position(|item| item.slot == by.0))
            else {
                return (chain, false);
            };
            if let Some(start) = chain.iter().position(|&at| at == after) {
                chain.drain(..start);
                chain.push(after);
                return (chain, true);
            }
            chain.push(after);
        }
    };
    let chains: Vec<_> = (0..stuck.len()).map(follow).collect();
    let best = chains.iter().find(|chain| chain.1).or(chains.first());
    best.map_or_else(Vec::new, |chain| chain.0.clone())
}

/// An item by its queue and position, such as `dve[3]` or `dma queue 1[0]`.
pub(super) fn name(slot: Slot, index: u32) -> String {
    format!("{slot}[{index}]")
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", name(self.slot, self.index), self.text)?;
        for (number, wanted) in self.wants.iter().enumerate() {
            let join = if number == 0 { " waits for" } else { ", and for" };
            write!(f, "{join} {}, but {}", wanted.condition, wanted.state)?;
            match wanted.by {
                Some((slot, index)) if (slot, index) == (self.slot, self.index) => {
                    write!(f, "; only its own update would change that")?;
                }
                Some((slot, index)) if slot == self.slot => {
                    write!(f, "; {} would change that, and comes after it", name(slot, index))?;
                }
                Some((slot, index)) => write!(f, "; {} would change that", name(slot, index))?,
                None => write!(f, "; nothing that is left changes it")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self
            .chain
            .iter()
            .filter_map(|&at| self.stuck.get(at))
            .map(|item| name(item.slot, item.index))
            .collect();
        let end = if self.is_cycle() { "" } else { ", which nothing signals" };
        write!(f, "{} items wait for ever: {}{end}", self.stuck.len(), names.join(" for "))
    }
}

impl std::error::Error for Deadlock {}
