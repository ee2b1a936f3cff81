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

/// The last write and the reads after it, as positions in queues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Touched {
    write: Option<(usize, u32)>,
    /// The last read of each queue.
    reads: Vec<(usize, u32)>,
}

/// Disjoint ranges by start: their end, and who touched them.
type Ranges = BTreeMap<u64, (u64, Touched)>;

/// Every byte's recent past.
#[derive(Debug, Default)]
pub struct History {
    regions: BTreeMap<Region, Ranges>,
}

impl History {
    /// Records an access by the operation at `position` of `queue`, and raises `need` to the positions
    /// that must be complete before it: the last write for a read, every read and the write for a write.
    pub fn touch(&mut self, access: &Access, queue: usize, position: u32, need: &mut [u32]) {
        if access.start >= access.end {
            return;
        }
        let ranges = self.regions.entry(access.region).or_default();
        split(ranges, access.start);
        split(ranges, access.end);
        let mut at = access.start;
        let mut gaps = Vec::new();
        for (&start, (end, touched)) in ranges.range_mut(access.start..access.end) {
            if start > at {
                gaps.push((at, start));
            }
            at = *end;
            touched.require(access.write, need);
            touched.record(access.write, queue, position);
        }
        if at < access.end {
            gaps.push((at, access.end));
        }
        for (start, end) in gaps {
            let mut touched = Touched::default();
            touched.record(access.write, queue, position);
            ranges.insert(start, (end, touched));
        }
        join(ranges, access.start, access.end);
    }
}

impl Touched {
    fn require(&self, write: bool, need: &mut [u32]) {
        let reads = self.reads.iter().filter(|_| write);
        for &(queue, position) in self.write.iter().chain(reads) {
            need[queue] = need[queue].max(position);
        }
    }

    fn record(&mut self, write: bool, queue: usize, position: u32) {
        if write {
            *self = Self { write: Some((queue, position)), reads: Vec::new() };
            return;
        }
        match self.reads.iter_mut().find(|read| read.0 == queue) {
            Some(read) => read.1 = position,
            None => self.reads.push((queue, position)),
        }
    }
}

/// Makes `at` a boundary.
fn split(ranges: &mut Ranges, at: u64) {
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
fn join(ranges: &mut Ranges, start: u64, end: u64) {
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

    fn need(history: &mut History, access: Access, queue: usize, position: u32) -> Vec<u32> {
        let mut need = vec![0; 3];
        history.touch(&access, queue, position, &mut need);
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
