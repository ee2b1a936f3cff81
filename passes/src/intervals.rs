//! Who last touched which bytes.

use std::collections::BTreeMap;

/// A memory whose bytes are tracked. On the chip a byte stands for that byte of every partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Region {
    Sbuf,
    Psum,
    Hbm,
}

/// A range of bytes read or written.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub region: Region,
    pub start: u64,
    pub end: u64,
    pub write: bool,
}

/// Who touches bytes.
pub trait Toucher: Copy + Eq {
    /// True when whoever follows this one follows the other as well, so that the other need not be remembered.
    fn stands_for(self, other: Self) -> bool;
}

/// A position in a queue stands for the earlier ones of its queue.
impl Toucher for (usize, u32) {
    fn stands_for(self, other: Self) -> bool {
        self.0 == other.0
    }
}

/// The last write and the reads after it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Touched<W> {
    write: Option<W>,
    reads: Vec<W>,
}

/// Disjoint ranges by start: their end, and who touched them.
type Ranges<W> = BTreeMap<u64, (u64, Touched<W>)>;

/// Every byte's recent past, region by region.
#[derive(Debug)]
pub struct History<W> {
    regions: Vec<Ranges<W>>,
}

impl<W> Default for History<W> {
    fn default() -> Self {
        Self { regions: Vec::new() }
    }
}

impl<W: Toucher> History<W> {
    /// Records an access of bytes `start..end` of a region, and names whom it must follow: the last write for a
    /// read, every read and the write for a write.
    pub fn touch(
        &mut self,
        region: usize,
        (start, end): (u64, u64),
        write: bool,
        who: W,
        mut follow: impl FnMut(W),
    ) {
        if start >= end {
            return;
        }
        if self.regions.len() <= region {
            self.regions.resize_with(region + 1, BTreeMap::new);
        }
        let ranges = &mut self.regions[region];
        split(ranges, start);
        split(ranges, end);
        let mut at = start;
        let mut gaps = Vec::new();
        for (&first, (last, touched)) in ranges.range_mut(start..end) {
            if first > at {
                gaps.push((at, first));
            }
            at = *last;
            touched.require(write, &mut follow);
            touched.record(write, who);
        }
        if at < end {
            gaps.push((at, end));
        }
        for (first, last) in gaps {
            let mut touched = Touched { write: None, reads: Vec::new() };
            touched.record(write, who);
            ranges.insert(first, (last, touched));
        }
        join(ranges, start, end);
    }

    /// Names whom a read of bytes `start..end` must follow, without recording it.
    pub fn peek(&self, region: usize, (start, end): (u64, u64), mut follow: impl FnMut(W)) {
        let Some(ranges) = self.regions.get(region).filter(|_| start < end) else { return };
        let before = ranges.range(..start).next_back().filter(|(_, range)| range.0 > start);
        for (_, (_, touched)) in before.into_iter().chain(ranges.range(start..end)) {
            touched.require(false, &mut follow);
        }
    }
}

impl<W: Toucher> Touched<W> {
    fn require(&self, write: bool, follow: &mut impl FnMut(W)) {
        let reads = self.reads.iter().filter(|_| write);
        self.write.iter().chain(reads).for_each(|&who| follow(who));
    }

    fn record(&mut self, write: bool, who: W) {
        if write {
            *self = Self { write: Some(who), reads: Vec::new() };
            return;
        }
        match self.reads.iter_mut().find(|read| who.stands_for(**read)) {
            Some(read) => *read = who,
            None => self.reads.push(who),
        }
    }
}

/// Makes `at` a boundary.
fn split<W: Toucher>(ranges: &mut Ranges<W>, at: u64) {
    let Some((&start, (end, _))) = ranges.range(..at).next_back() else { return };
    if *end > at {
        let (end, touched) = (*end, ranges[&start].1.clone());
        if let Some(range) = ranges.get_mut(&start) {
            range.0 = at;
        }
        ranges.insert(at, (end, touched));
    }
}

/// Joins equal neighbours within the range, so that the map stays small.
fn join<W: Toucher>(ranges: &mut Ranges<W>, start: u64, end: u64) {
    let keys: Vec<u64> = ranges.range(start..end).map(|(&key, _)| key).collect();
    for pair in keys.windows(2).rev() {
        let (Some(first), Some(second)) = (ranges.get(&pair[0]), ranges.get(&pair[1])) else {
            continue;
        };
        if first.0 == pair[1] && first.1 == second.1 {
            let end = second.0;
            ranges.remove(&pair[1]);
            if let Some(first) = ranges.get_mut(&pair[0]) {
                first.0 = end;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sbuf(start: u64, end: u64, write: bool) -> Access {
        Access { region: Region::Sbuf, start, end, write }
    }

    fn need(
        history: &mut History<(usize, u32)>,
        access: Access,
        queue: usize,
        position: u32,
    ) -> Vec<u32> {
        let mut need = vec![0; 3];
        let bytes = (access.start, access.end);
        history.touch(access.region as usize, bytes, access.write, (queue, position), |who| {
            need[who.0] = need[who.0].max(who.1);
        });
        need
    }

    #[test]
    fn reads_follow_writes_and_writes_follow_both() {
        let mut history = History::default();
        assert_eq!(need(&mut history, sbuf(0, 100, true), 0, 1), [0, 0, 0]);
        assert_eq!(need(&mut history, sbuf(50, 60, false), 1, 4), [1, 0, 0]);
        assert_eq!(need(&mut history, sbuf(0, 40, true), 2, 2), [1, 0, 0]);
        assert_eq!(need(&mut history, sbuf(30, 55, true), 0, 2), [1, 4, 2]);
        assert_eq!(need(&mut history, sbuf(55, 56, false), 2, 3), [1, 0, 0]);
        assert_eq!(need(&mut history, sbuf(200, 300, true), 2, 4), [0, 0, 0]);
    }

    #[test]
    fn memories_are_apart() {
        let mut history = History::default();
        need(&mut history, sbuf(0, 8, true), 0, 1);
        let hbm = Access { region: Region::Hbm, start: 0, end: 8, write: true };
        assert_eq!(need(&mut history, hbm, 1, 1), [0, 0, 0]);
    }
}
