//! Which bytes have been written.

use std::collections::BTreeMap;

use super::pattern::Pattern;

/// Runs of strided walks that are looked at one by one. Of a walk beyond that, everything between its ends counts as
/// written, and as asked for in vain by nobody.
const MAX_RUNS: u64 = 1 << 20;

/// For each byte, the partitions where it has been written: disjoint ranges by start, neighbours with one mask joined.
#[derive(Debug, Default)]
pub struct Written {
    ranges: BTreeMap<u64, (u64, u128)>,
    /// Runs looked at so far.
    runs: u64,
    /// Some walk was taken for all bytes between its ends.
    pub coarse: bool,
}

impl Written {
    pub fn add(&mut self, bytes: &Pattern, mask: u128) {
        let hull = bytes.hull();
        if self.missing(hull, mask).is_none() {
            return;
        }
        if !self.affords(bytes) {
            return self.add_range(hull, mask);
        }
        bytes.each_run(&mut |low, high| {
            self.add_range((low, high), mask);
            true
        });
    }

    /// Whether the runs of a walk can be looked at one by one.
    fn affords(&mut self, bytes: &Pattern) -> bool {
        let affords = bytes.runs() <= MAX_RUNS.saturating_sub(self.runs);
        if affords {
            self.runs += bytes.runs();
        } else {
            self.coarse = true;
        }
        affords
    }

    pub fn add_range(&mut self, (low, high): (u64, u64), mask: u128) {
        if low >= high || self.missing((low, high), mask).is_none() {
            return;
        }
        self.split(low);
        self.split(high);
        let mut at = low;
        let mut gaps = Vec::new();
        for (&start, (end, present)) in self.ranges.range_mut(low..high) {
            if start > at {
                gaps.push((at, start));
            }
            *present |= mask;
            at = *end;
        }
        if at < high {
            gaps.push((at, high));
        }
        self.ranges.extend(gaps.into_iter().map(|(start, end)| (start, (end, mask))));
        self.join(low, high);
    }

    fn split(&mut self, at: u64) {
        if let Some((_, range)) = self.ranges.range_mut(..at).next_back()
            && range.0 > at
        {
            let upper = *range;
            range.0 = at;
            self.ranges.insert(at, upper);
        }
    }

    /// Joins neighbours from the one before `low` to the one at `high`.
    fn join(&mut self, low: u64, high: u64) {
        let from = self.ranges.range(..low).next_back().map_or(low, |(&start, _)| start);
        let starts: Vec<u64> = self.ranges.range(from..=high).map(|(&start, _)| start).collect();
        let mut last: Option<(u64, (u64, u128))> = None;
        for start in starts {
            let Some(&range) = self.ranges.get(&start) else { continue };
            match &mut last {
                Some((first, kept)) if kept.0 == start && kept.1 == range.1 => {
                    kept.0 = range.0;
                    self.ranges.remove(&start);
                    self.ranges.insert(*first, *kept);
                }
                _ => last = Some((start, range)),
            }
        }
    }

    /// The first bytes of a range that some of the partitions lack, and which.
    pub fn missing(&self, (low, high): (u64, u64), mask: u128) -> Option<((u64, u64), u128)> {
        let mut at = low;
        let before = self.ranges.range(..=low).next_back();
        let before = before.filter(|(_, range)| range.0 > low);
        let after = self.ranges.range((
            std::ops::Bound::Excluded(low),
            std::ops::Bound::Excluded(high.max(low.saturating_add(1))),
        ));
        for (&start, &(end, present)) in before.into_iter().chain(after) {
            if start > at {
                return Some(((at, start.min(high)), mask));
            }
            if mask & !present != 0 {
                return Some(((at, end.min(high)), mask & !present));
            }
            at = end;
            if at >= high {
                return None;
            }
        }
        (at < high).then_some(((at, high), mask))
    }

    /// The first bytes of an access that have not been written.
    pub fn lacks(&mut self, bytes: &Pattern, mask: u128) -> Option<((u64, u64), u128)> {
        let whole = self.missing(bytes.hull(), mask)?;
        if bytes.is_dense() {
            return Some(whole);
        }
        if !self.affords(bytes) {
            return None;
        }
        let mut found = None;
        bytes.each_run(&mut |low, high| {
            found = self.missing((low, high), mask);
            found.is_none()
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against one mask per byte.
    #[test]
    fn as_a_table_of_bytes() {
        let mut written = Written::default();
        let mut table = [0u128; 64];
        let mut state = 12345u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for _ in 0..4000 {
            if random(50) == 0 {
                (written, table) = (Written::default(), [0; 64]);
            }
            let low = random(60);
            let high = low + 1 + random(64 - low);
            let mask = 1 << random(3) | 1 << random(3);
            let dense = random(2) == 0;
            let stride = if dense { 1 } else { 3 };
            let count = (high - low).div_ceil(stride);
            let pattern = Pattern::new(low, 1, [(stride as i64, count)].into_iter()).unwrap();
            let places: Vec<u64> = (0..count).map(|i| low + i * stride).collect();
            let lacking = places.iter().copied().find(|&at| mask & !table[at as usize] != 0);
            let found = written.lacks(&pattern, mask);
            assert_eq!(found.map(|((first, _), _)| first), lacking);
            if let Some(((first, _), lacks)) = found {
                assert_eq!(lacks, mask & !table[first as usize]);
            }
            if random(3) > 0 {
                written.add(&pattern, mask);
                places.iter().for_each(|&at| table[at as usize] |= mask);
            }
            let joined = written.ranges.iter().zip(written.ranges.iter().skip(1));
            for ((_, one), (start, two)) in joined {
                assert!(one.0 < *start || one.0 == *start && one.1 != two.1);
            }
        }
    }
}
