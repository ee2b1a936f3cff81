//! Which bytes of a row a walk touches: runs of equal length at the sums of a few strides.

/// A set of bytes: `run` bytes from `start` plus every sum of multiples of the outer strides.
///
/// Runs may touch or overlap where the strides say so; the set is what counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    pub start: u64,
    /// Bytes of a run; at least 1.
    pub run: u64,
    /// Stride in bytes and count of each further dimension, by ascending stride. Every stride is greater than the run.
    outer: Vec<(u64, u64)>,
}

/// Runs looked at; a walk that would look at more gives up.
#[derive(Debug)]
pub struct Budget(pub u64);

/// Nothing is left of a [`Budget`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent;

impl Budget {
    pub fn spend(&mut self, amount: u64) -> Result<(), Spent> {
        self.0 = self.0.checked_sub(amount).ok_or(Spent)?;
        Ok(())
    }
}

impl Pattern {
    /// The bytes of elements of `size` bytes at `base` plus the sums of strides; `None` when one lies below 0 or the
    /// walk has no element.
    pub fn new(base: u64, size: u64, dims: impl Iterator<Item = (i64, u64)>) -> Option<Self> {
        let mut start = i128::from(base);
        let mut outer = Vec::new();
        for (stride, count) in dims {
            if count == 0 {
                return None;
            }
            if stride < 0 {
                start += i128::from(stride) * i128::from(count - 1);
            }
            if stride != 0 && count > 1 {
                outer.push((stride.unsigned_abs(), count));
            }
        }
        outer.sort_unstable();
        let mut run = size.max(1);
        // A stride that the run reaches makes a longer run.
        let merged = outer.iter().take_while(|&&(stride, count)| {
            let joins = stride <= run;
            if joins {
                run = run.saturating_add(stride.saturating_mul(count - 1));
            }
            joins
        });
        let merged = merged.count();
        outer.drain(..merged);
        Some(Self { start: u64::try_from(start).ok()?, run, outer })
    }

    /// Every byte between the lowest and the highest is touched.
    pub fn is_dense(&self) -> bool {
        self.outer.is_empty()
    }

    /// Number of runs, saturating.
    pub fn runs(&self) -> u64 {
        self.outer.iter().fold(1, |product, &(_, count)| product.saturating_mul(count))
    }

    /// Lowest byte, and one past the highest.
    pub fn hull(&self) -> (u64, u64) {
        (self.start, self.start.saturating_add(Self::reach(self.run, &self.outer)))
    }

    /// Bytes from the first to one past the last.
    fn reach(run: u64, outer: &[(u64, u64)]) -> u64 {
        outer.iter().fold(run, |reach, &(stride, count)| {
            reach.saturating_add(stride.saturating_mul(count - 1))
        })
    }

    /// Calls `visit` with each run, until it answers false.
    pub fn each_run(&self, visit: &mut impl FnMut(u64, u64) -> bool) -> bool {
        fn walk(
            start: u64,
            run: u64,
            outer: &[(u64, u64)],
            visit: &mut impl FnMut(u64, u64) -> bool,
        ) -> bool {
            match outer.split_last() {
                None => visit(start, start.saturating_add(run)),
                Some((&(stride, count), rest)) => {
                    (0..count).all(|i| walk(start.saturating_add(i * stride), run, rest, visit))
                }
            }
        }
        walk(self.start, self.run, &self.outer, visit)
    }

    /// The first bytes within `low..high` that are touched.
    pub fn within(
        &self,
        (low, high): (u64, u64),
        budget: &mut Budget,
    ) -> Result<Option<(u64, u64)>, Spent> {
        within(self.start, self.run, &self.outer, (low, high), budget)
    }

    /// Some bytes that both touch.
    pub fn meets(&self, other: &Self, budget: &mut Budget) -> Result<Option<(u64, u64)>, Spent> {
        let (low, high) = intersect(self.hull(), other.hull());
        if low >= high {
            return Ok(None);
        }
        if self.is_dense() {
            return other.within((low, high), budget);
        }
        if other.is_dense() {
            return self.within((low, high), budget);
        }
        let (few, many) = if self.runs() <= other.runs() { (self, other) } else { (other, self) };
        let mut outcome = Ok(None);
        few.each_run(&mut |start, end| {
            outcome = budget.spend(1).and_then(|()| many.within((start, end), budget));
            matches!(outcome, Ok(None))
        });
        outcome
    }
}

fn intersect(one: (u64, u64), two: (u64, u64)) -> (u64, u64) {
    (one.0.max(two.0), one.1.min(two.1))
}

fn within(
    start: u64,
    run: u64,
    outer: &[(u64, u64)],
    (low, high): (u64, u64),
    budget: &mut Budget,
) -> Result<Option<(u64, u64)>, Spent> {
    budget.spend(1)?;
    let reach = Pattern::reach(run, outer);
    let (from, to) = intersect((start, start.saturating_add(reach)), (low, high));
    if from >= to {
        return Ok(None);
    }
    let Some((&(stride, count), rest)) = outer.split_last() else {
        return Ok(Some((from, to)));
    };
    let inner = Pattern::reach(run, rest);
    // Steps whose part can meet low..high: start + i * stride < high, start + i * stride + inner > low.
    let last = ((high - 1 - start) / stride).min(count - 1);
    let first = low.saturating_sub(start.saturating_add(inner).saturating_sub(1)).div_ceil(stride);
    for i in first..=last {
        if let Some(found) = within(start + i * stride, run, rest, (low, high), budget)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn bytes(pattern: &Pattern) -> BTreeSet<u64> {
        let mut all = BTreeSet::new();
        pattern.each_run(&mut |low, high| {
            all.extend(low..high);
            true
        });
        all
    }

    fn literal(base: u64, size: u64, dims: &[(i64, u64)]) -> BTreeSet<u64> {
        let mut starts = vec![base as i64];
        for &(stride, count) in dims {
            starts = starts
                .iter()
                .flat_map(|&at| (0..count as i64).map(move |i| at + i * stride))
                .collect();
        }
        starts.iter().flat_map(|&at| at as u64..at as u64 + size).collect()
    }

    /// Every pair of some walks, against sets of bytes.
    #[test]
    fn sets_of_bytes() {
        let dims: [&[(i64, u64)]; 9] = [
            &[],
            &[(4, 5)],
            &[(8, 5)],
            &[(-8, 5)],
            &[(8, 3), (40, 3)],
            &[(12, 4), (16, 3)],
            &[(0, 7), (24, 4)],
            &[(4, 3), (20, 3), (72, 2)],
            &[(6, 5), (7, 4)],
        ];
        let mut walks = Vec::new();
        for base in [100, 104, 102, 131, 50] {
            for size in [1, 4] {
                for dims in dims {
                    let pattern = Pattern::new(base, size, dims.iter().copied()).unwrap();
                    assert_eq!(
                        bytes(&pattern),
                        literal(base, size, dims),
                        "{base} {size} {dims:?}"
                    );
                    let all = bytes(&pattern);
                    let hull = (*all.first().unwrap(), all.last().unwrap() + 1);
                    assert_eq!(pattern.hull(), hull);
                    walks.push(pattern);
                }
            }
        }
        for one in &walks {
            for two in &walks {
                let both: BTreeSet<u64> = bytes(one).intersection(&bytes(two)).copied().collect();
                let found = one.meets(two, &mut Budget(1 << 20)).unwrap();
                assert_eq!(found.is_none(), both.is_empty(), "{one:?} {two:?}");
                if let Some((low, high)) = found {
                    assert!((low..high).all(|byte| both.contains(&byte)), "{one:?} {two:?}");
                }
            }
        }
    }

    #[test]
    fn a_budget_ends() {
        let even = Pattern::new(0, 4, [(8, 1 << 30)].into_iter()).unwrap();
        let odd = Pattern::new(4, 4, [(8, 1 << 30)].into_iter()).unwrap();
        assert_eq!(even.meets(&odd, &mut Budget(1000)), Err(Spent));
        assert!(Pattern::new(3, 4, [(-8, 2)].into_iter()).is_none());
    }
}
