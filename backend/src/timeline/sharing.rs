//! The DMA bandwidth, shared evenly by the transfers under way.
//!
//! Work is the time that a transfer takes alone. While `n` run, each gets a `n`-th: instead of wearing down every
//! transfer at every change, one clock of work advances at that rate, and a transfer is over when the clock has come
//! by its work. The clock counts 2⁻²⁰ picoseconds; ends are rounded up to whole picoseconds.

/// Fractions of a picosecond.
const SHIFT: u32 = 20;

#[derive(Default)]
pub(super) struct Sharing {
    /// Work done by a transfer that has been running for ever.
    clock: u128,
    /// When the clock was read.
    at_ps: u64,
    /// The clock at the end of each transfer, and its queue.
    under_way: Vec<(u128, usize)>,
}

impl Sharing {
    /// Work of so many nanoseconds alone.
    pub fn work(ns: f64) -> u128 {
        let ps = (ns * 1e3).clamp(0.0, u64::MAX as f64);
        (ps * f64::from(1u32 << SHIFT)).round() as u128
    }

    /// Adds a transfer of a queue.
    pub fn add(&mut self, queue: usize, work: u128, now: u64) {
        self.advance(now);
        self.under_way.push((self.clock.saturating_add(work), queue));
    }

    /// When the next transfer is over.
    pub fn next_end(&self) -> Option<u64> {
        let end = self.under_way.iter().map(|&(end, _)| end).min()?;
        let left = end.saturating_sub(self.clock).saturating_mul(self.under_way.len() as u128);
        let ps = left.div_ceil(1 << SHIFT);
        Some(self.at_ps.saturating_add(u64::try_from(ps).unwrap_or(u64::MAX)))
    }

    /// Takes away one transfer that is over at the time of [`Self::next_end`].
    pub fn take_ended(&mut self, now: u64) -> Option<usize> {
        self.advance(now);
        let first = self.under_way.iter().enumerate().min_by_key(|(_, transfer)| **transfer)?.0;
        let (end, queue) = self.under_way.swap_remove(first);
        // At the end of all time the clock stands still.
        self.clock = self.clock.max(end);
        Some(queue)
    }

    fn advance(&mut self, now: u64) {
        let passed = u128::from(now.saturating_sub(self.at_ps)) << SHIFT;
        if let Some(share) = passed.checked_div(self.under_way.len() as u128) {
            self.clock = self.clock.saturating_add(share);
        }
        self.at_ps = self.at_ps.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 ns and 300 ns of work, the second 50 ns later: alone until 50, then half the rate each. The first has 50
    /// left and ends at 150; the second has done 50 by then and has 250 left: 400.
    #[test]
    fn two_transfers_share_and_the_last_has_all() {
        let mut sharing = Sharing::default();
        sharing.add(0, Sharing::work(100.0), 0);
        assert_eq!(sharing.next_end(), Some(100_000));
        sharing.add(1, Sharing::work(300.0), 50_000);
        assert_eq!(sharing.next_end(), Some(150_000));
        assert_eq!(sharing.take_ended(150_000), Some(0));
        assert_eq!(sharing.next_end(), Some(400_000));
        assert_eq!(sharing.take_ended(400_000), Some(1));
        assert_eq!(sharing.next_end(), None);
    }
}
