//! Pairs of accesses that touch the same bytes, one of them a write, and that nothing orders.
//!
//! Items come in an order that respects the clocks, so an access that came before is a race exactly when its half step
//! is not among those that the clock of the new item names. Ranges of bytes keep who touched them, a range for the whole
//! extent of a strided walk: what is unordered there is compared run by run before it counts.

use std::collections::{BTreeMap, BTreeSet};

use super::access::{Access, Space};
use super::clock::{Clocks, Half, halves};
use super::finding::Bytes;
use super::pattern::{Budget, Spent};
use super::queues::Id;

/// Two accesses in the order in which they were met, and some bytes that both touch.
#[derive(Clone, Copy, Debug)]
pub struct Race {
    pub items: [Id; 2],
    pub writes: [bool; 2],
    pub bytes: Bytes,
}

/// An access that a later one may meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    half: Half,
    /// Index among all accesses.
    access: usize,
    mask: u128,
}

/// The accesses of one queue, in its order.
type Line = (usize, Vec<Entry>);

/// Who touched a range of bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Past {
    writes: Vec<Line>,
    reads: Vec<Line>,
}

/// Entries of a line before those that everyone knows are dropped; they are looked for when it doubles.
const LONG: usize = 16;

/// Ranges within one access before equal neighbours are joined.
const MANY: usize = 16;

/// Disjoint ranges by start.
type Ranges = BTreeMap<u64, (u64, Past)>;

/// The memories' past.
pub struct Races<'a> {
    clocks: &'a Clocks,
    memories: BTreeMap<Space, Ranges>,
    accesses: Vec<(Id, Access)>,
    /// The next item of each queue that will come.
    next: Vec<usize>,
    budget: Budget,
    pub found: Vec<Race>,
    pairs: BTreeSet<[Id; 2]>,
}

impl<'a> Races<'a> {
    /// `budget` bounds the ranges, entries and runs that are looked at.
    pub fn new(clocks: &'a Clocks, budget: u64) -> Self {
        Self {
            clocks,
            memories: BTreeMap::new(),
            accesses: Vec::new(),
            next: vec![0; clocks.reached.len()],
            budget: Budget(budget),
            found: Vec::new(),
            pairs: BTreeSet::new(),
        }
    }

    /// Takes the accesses of the next item.
    ///
    /// # Errors
    /// The budget is spent.
    pub fn item(&mut self, id: Id, accesses: &[Access]) -> Result<(), Spent> {
        self.next[id.queue] = id.index + 1;
        let first = self.accesses.len();
        self.accesses.extend(accesses.iter().map(|access| (id, access.clone())));
        for access in first..self.accesses.len() {
            self.access(id, access)?;
        }
        Ok(())
    }

    fn access(&mut self, id: Id, number: usize) -> Result<(), Spent> {
        let access = &self.accesses[number].1;
        let (low, high) = access.bytes.hull();
        let ranges = self.memories.entry(access.space).or_default();
        split(ranges, low);
        split(ranges, high);
        fill(ranges, low, high);
        let (read, done) = halves(id.index);
        let entry = Entry {
            half: if access.write { done } else { read },
            access: number,
            mask: access.partitions,
        };
        let write = access.write;
        let mut candidates = Vec::new();
        let mut visited = 0;
        for (_, (_, past)) in ranges.range_mut(low..high) {
            visited += 1;
            let lines = past.writes.iter().chain(past.reads.iter().filter(|_| write));
            for (queue, entries) in lines.filter(|line| line.0 != id.queue) {
                let known = self.clocks.before(id, *queue);
                let from = entries.partition_point(|entry| entry.half <= known);
                self.budget.spend(1 + (entries.len() - from) as u64)?;
                let unordered = entries[from..].iter().filter(|old| old.mask & entry.mask != 0);
                candidates.extend(unordered.map(|old| old.access));
            }
            past.record(id.queue, entry, write, &self.accesses, self.clocks, &self.next);
        }
        self.budget.spend(visited as u64)?;
        if visited > MANY {
            join(ranges, low, high);
        }
        candidates.sort_unstable();
        candidates.dedup();
        for old in candidates {
            self.meet(old, number)?;
        }
        Ok(())
    }

    /// Compares two unordered accesses whose extents meet.
    fn meet(&mut self, old: usize, new: usize) -> Result<(), Spent> {
        let ((first, one), (second, two)) = (&self.accesses[old], &self.accesses[new]);
        let pair = [*first, *second];
        if self.pairs.contains(&pair) {
            return Ok(());
        }
        if let Some(bytes) = one.bytes.meets(&two.bytes, &mut self.budget)? {
            let bytes = Bytes::new(one.space, one.partitions & two.partitions, bytes);
            self.found.push(Race { items: pair, writes: [one.write, two.write], bytes });
            self.pairs.insert(pair);
        }
        Ok(())
    }
}

impl Past {
    fn record(
        &mut self,
        queue: usize,
        entry: Entry,
        write: bool,
        accesses: &[(Id, Access)],
        clocks: &Clocks,
        next: &[usize],
    ) {
        let bytes = |access: usize| &accesses[access].1.bytes;
        let new = bytes(entry.access);
        // Whoever meets what the new access covers meets the new one, which is later in the same queue.
        let covers = |old: &Entry| {
            old.mask & !entry.mask == 0 && (new.is_dense() || new == bytes(old.access))
        };
        let lists = [Some(&mut self.reads), write.then_some(&mut self.writes)];
        for lines in lists.into_iter().flatten() {
            if let Some((_, line)) = lines.iter_mut().find(|line| line.0 == queue) {
                line.retain(|old| !covers(old));
            }
        }
        let lines = if write { &mut self.writes } else { &mut self.reads };
        let at = lines.iter().position(|line| line.0 == queue).unwrap_or_else(|| {
            lines.push((queue, Vec::new()));
            lines.len() - 1
        });
        let line = &mut lines[at].1;
        if line.len() >= LONG && line.len() == line.capacity() {
            let known = known_to_all(queue, clocks, next);
            line.retain(|old| old.half > known);
        }
        line.push(entry);
    }
}

/// Half steps of a queue that come before whatever any other queue still does.
fn known_to_all(queue: usize, clocks: &Clocks, next: &[usize]) -> Half {
    let others = (0..next.len()).filter(|&other| other != queue);
    others
        .filter(|&other| next[other] < clocks.reached[other])
        .map(|other| clocks.before(Id { queue: other, index: next[other] }, queue))
        .min()
        .unwrap_or(Half::MAX)
}

fn split(ranges: &mut Ranges, at: u64) {
    if let Some((_, range)) = ranges.range_mut(..at).next_back()
        && range.0 > at
    {
        let upper = range.clone();
        range.0 = at;
        ranges.insert(at, upper);
    }
}

/// Makes ranges of what nobody has touched between `low` and `high`.
fn fill(ranges: &mut Ranges, low: u64, high: u64) {
    let mut at = low;
    let mut gaps = Vec::new();
    for (&start, (end, _)) in ranges.range(low..high) {
        if start > at {
            gaps.push((at, start));
        }
        at = *end;
    }
    if at < high {
        gaps.push((at, high));
    }
    ranges.extend(gaps.into_iter().map(|(start, end)| (start, (end, Past::default()))));
}

/// Joins neighbours that were touched by the same accesses.
fn join(ranges: &mut Ranges, low: u64, high: u64) {
    let starts: Vec<u64> = ranges.range(low..high).map(|(&start, _)| start).collect();
    let mut first = low;
    for start in starts.into_iter().skip(1) {
        let Some(range) = ranges.get(&start) else { continue };
        let equal = ranges.get(&first).is_some_and(|kept| kept.0 == start && kept.1 == range.1);
        if equal {
            let end = range.0;
            ranges.remove(&start);
            if let Some(kept) = ranges.get_mut(&first) {
                kept.0 = end;
            }
        } else {
            first = start;
        }
    }
}
