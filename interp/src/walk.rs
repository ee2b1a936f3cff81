//! Access patterns as normalised loops, and the moves of elements along them (ISA 4.2).
//!
//! All figures are in elements of the operand's own width. A row is the active bytes of one partition; addresses
//! are aligned to the element (ADR-2), so a row is viewed as an array of elements.

/// Dimensions of the widest pattern.
pub const DIMS: usize = 4;

/// A pattern whose foldable dimensions are merged: loop 0 is the innermost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Position of element 0 in the row.
    start: i32,
    counts: [u32; DIMS],
    steps: [i32; DIMS],
    dims: u32,
    len: u32,
    lowest: i32,
    highest: i32,
}

impl Walk {
    /// Normalises a pattern of counts and steps, innermost first, that begins at element `start` of a row.
    /// `None` when a count is 0 or the product or an offset does not fit.
    #[inline]
    pub fn new(start: usize, dims: impl IntoIterator<Item = (u16, i16)>) -> Option<Self> {
        let start = i32::try_from(start).ok()?;
        let mut walk = Self {
            start,
            counts: [1; DIMS],
            steps: [1; DIMS],
            dims: 0,
            len: 1,
            lowest: start,
            highest: start,
        };
        for (count, step) in dims {
            let (count, step) = (u32::from(count), i32::from(step));
            walk.len = walk.len.checked_mul(count).filter(|&len| len > 0)?;
            // Two factors of 16 bits.
            let reach = step * (count as i32 - 1);
            walk.lowest = walk.lowest.checked_add(reach.min(0))?;
            walk.highest = walk.highest.checked_add(reach.max(0))?;
            walk.push(count, step)?;
        }
        walk.dims = walk.dims.max(1);
        Some(walk)
    }

    /// A run of `len` neighbouring elements from `start`, both within a row.
    pub fn run(start: usize, len: usize) -> Self {
        let (start, len) = (start as i32, len as u32);
        let mut counts = [1; DIMS];
        counts[0] = len;
        Self {
            start,
            counts,
            steps: [1; DIMS],
            dims: 1,
            len,
            lowest: start,
            highest: start + len as i32 - 1,
        }
    }

    #[inline]
    fn push(&mut self, count: u32, step: i32) -> Option<()> {
        if count == 1 {
            return Some(());
        }
        let dims = self.dims as usize;
        if let Some(last) = dims.checked_sub(1)
            && i64::from(step) == i64::from(self.steps[last]) * i64::from(self.counts[last])
        {
            // A factor of the length, which fits.
            self.counts[last] *= count;
            return Some(());
        }
        *self.counts.get_mut(dims)? = count;
        *self.steps.get_mut(dims)? = step;
        self.dims += 1;
        Some(())
    }

    /// Where the walk begins, if it is one run of neighbours.
    #[inline]
    pub fn as_run(&self) -> Option<usize> {
        let run = self.dims == 1 && (self.steps[0] == 1 || self.len == 1);
        run.then_some(self.start as usize)
    }

    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// The lowest element position reached.
    #[inline]
    pub fn lowest(&self) -> isize {
        self.lowest as isize
    }

    /// The highest element position reached.
    #[inline]
    pub fn highest(&self) -> isize {
        self.highest as isize
    }

    /// Whether every position is visited at most once; `false` may also mean "not known".
    #[inline]
    pub fn is_injective(&self) -> bool {
        let mut order: [usize; DIMS] = [0, 1, 2, 3];
        let order = &mut order[..self.dims as usize];
        order.sort_unstable_by_key(|&d| self.steps[d].unsigned_abs());
        let mut reach = 0;
        order.iter().all(|&d| {
            let step = u64::from(self.steps[d].unsigned_abs());
            let fits = step > reach || self.counts[d] == 1;
            reach += step * u64::from(self.counts[d] - 1);
            fits
        })
    }

    /// The same walk counted from another origin: `origin` becomes position 0.
    #[inline]
    pub fn rebased(mut self, origin: usize) -> Self {
        let origin = origin as i32;
        self.start -= origin;
        self.lowest -= origin;
        self.highest -= origin;
        self
    }
}

/// A place in a walk.
#[derive(Clone, Copy, Debug)]
pub struct Cursor {
    walk: Walk,
    index: [u32; DIMS],
    position: isize,
}

impl Cursor {
    /// At element 0.
    pub fn new(walk: Walk) -> Self {
        Self { walk, index: [0; DIMS], position: walk.start as isize }
    }

    /// Moves to element number `element`, below the length of the walk.
    pub fn seek(&mut self, element: usize) {
        let mut rest = element as u32;
        self.position = self.walk.start as isize;
        for d in 0..self.walk.dims as usize {
            self.index[d] = rest % self.walk.counts[d];
            rest /= self.walk.counts[d];
            self.position += self.walk.steps[d] as isize * self.index[d] as isize;
        }
    }

    /// How many elements from here on are neighbours in memory, up to the end of the inner loop; 0 when the
    /// inner loop does not step by one.
    #[inline]
    pub fn neighbours(&self) -> usize {
        if self.walk.steps[0] == 1 { self.run_left() } else { 0 }
    }

    /// Position of the current element.
    #[inline]
    pub fn position(&self) -> usize {
        self.position as usize
    }

    #[inline]
    fn run_left(&self) -> usize {
        (self.walk.counts[0] - self.index[0]) as usize
    }

    /// Moves on by `count` elements, at most to the end of the inner loop.
    #[inline]
    pub fn advance(&mut self, count: usize) {
        self.index[0] += count as u32;
        self.position += self.walk.steps[0] as isize * count as isize;
        let mut d = 0;
        while self.index[d] == self.walk.counts[d] {
            self.position -= self.walk.steps[d] as isize * self.walk.counts[d] as isize;
            self.index[d] = 0;
            d += 1;
            if d >= self.walk.dims as usize {
                return;
            }
            self.index[d] += 1;
            self.position += self.walk.steps[d] as isize;
        }
    }

    /// Copies the next `out.len()` elements from the row.
    pub fn gather<T: Copy>(&mut self, row: &[T], mut out: &mut [T]) {
        while !out.is_empty() {
            let run = self.run_left().min(out.len());
            let (now, later) = out.split_at_mut(run);
            let at = self.position();
            match self.walk.steps[0] {
                1 => now.copy_from_slice(&row[at..at + run]),
                0 => now.fill(row[at]),
                step if step > 0 => {
                    let cells = row[at..].iter().step_by(step.unsigned_abs() as usize);
                    now.iter_mut().zip(cells).for_each(|(to, from)| *to = *from);
                }
                step => {
                    let cells = row[..=at].iter().rev().step_by(step.unsigned_abs() as usize);
                    now.iter_mut().zip(cells).for_each(|(to, from)| *to = *from);
                }
            }
            self.advance(run);
            out = later;
        }
    }

    /// Writes `values` to the next elements of the row, in walk order, so that the last write to a place wins.
    pub fn scatter<T: Copy>(&mut self, row: &mut [T], mut values: &[T]) {
        while !values.is_empty() {
            let run = self.run_left().min(values.len());
            let (now, later) = values.split_at(run);
            let at = self.position();
            match self.walk.steps[0] {
                1 => row[at..at + run].copy_from_slice(now),
                0 => row[at] = now[run - 1],
                step if step > 0 => {
                    let cells = row[at..].iter_mut().step_by(step.unsigned_abs() as usize);
                    cells.zip(now).for_each(|(to, from)| *to = *from);
                }
                step => {
                    let cells = row[..=at].iter_mut().rev().step_by(step.unsigned_abs() as usize);
                    cells.zip(now).for_each(|(to, from)| *to = *from);
                }
            }
            self.advance(run);
            values = later;
        }
    }

    /// As [`Cursor::scatter`], but elements whose mask is 0 are not written.
    pub fn scatter_masked<T: Copy>(&mut self, row: &mut [T], values: &[T], mask: &[u8]) {
        for (value, &wanted) in values.iter().zip(mask) {
            if wanted != 0 {
                row[self.position()] = *value;
            }
            self.advance(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Positions by the formula of ISA 4.2, without normalisation.
    fn positions(start: isize, dims: &[(u16, i16)]) -> Vec<isize> {
        let total: usize = dims.iter().map(|d| usize::from(d.0)).product();
        (0..total)
            .map(|e| {
                let mut rest = e;
                dims.iter().fold(start, |at, &(count, step)| {
                    let i = rest % usize::from(count);
                    rest /= usize::from(count);
                    at + i as isize * isize::from(step)
                })
            })
            .collect()
    }

    const PATTERNS: [[(u16, i16); 4]; 7] = [
        [(4, 1), (3, 4), (2, 12), (1, 1)],
        [(4, 1), (3, 5), (2, 20), (2, 40)],
        [(5, 0), (3, 2), (1, 1), (2, 7)],
        [(3, -1), (2, 4), (2, -3), (1, 1)],
        [(1, 1), (1, 1), (1, 1), (1, 1)],
        [(1, 9), (6, 3), (1, -4), (3, 18)],
        [(2, -3), (2, -6), (3, 0), (2, 1)],
    ];

    #[test]
    fn gather_follows_the_formula_in_pieces_of_any_size() {
        let row: Vec<u16> = (0..200).collect();
        for pattern in PATTERNS {
            let want: Vec<u16> = positions(60, &pattern).iter().map(|&p| p as u16).collect();
            let walk = Walk::new(60, pattern).unwrap();
            assert_eq!(walk.len(), want.len());
            assert_eq!(walk.lowest(), *want.iter().min().unwrap() as isize);
            assert_eq!(walk.highest(), *want.iter().max().unwrap() as isize);
            for piece in 1..=want.len() {
                let mut cursor = Cursor::new(walk);
                let mut got = vec![0; want.len()];
                for part in got.chunks_mut(piece) {
                    cursor.gather(&row, part);
                }
                assert_eq!(got, want, "{pattern:?} by {piece}");
            }
        }
    }

    #[test]
    fn seek_reaches_every_element() {
        for pattern in PATTERNS {
            let walk = Walk::new(60, pattern).unwrap();
            for (e, want) in positions(60, &pattern).into_iter().enumerate() {
                let mut cursor = Cursor::new(walk);
                cursor.seek(e);
                assert_eq!(cursor.position() as isize, want);
            }
        }
    }

    #[test]
    fn scatter_lets_the_last_write_win() {
        for pattern in PATTERNS {
            let walk = Walk::new(60, pattern).unwrap();
            let values: Vec<u16> = (1..=walk.len() as u16).collect();
            let mask: Vec<u8> = values.iter().map(|v| u8::from(v % 3 != 0)).collect();
            let (mut all, mut some) = (vec![0u16; 200], vec![0u16; 200]);
            for ((at, value), &wanted) in positions(60, &pattern).iter().zip(&values).zip(&mask) {
                all[*at as usize] = *value;
                if wanted != 0 {
                    some[*at as usize] = *value;
                }
            }
            let mut row = vec![0u16; 200];
            let mut cursor = Cursor::new(walk);
            let (first, second) = values.split_at(values.len() / 2);
            cursor.scatter(&mut row, first);
            cursor.scatter(&mut row, second);
            assert_eq!(row, all, "{pattern:?}");
            let mut row = vec![0u16; 200];
            Cursor::new(walk).scatter_masked(&mut row, &values, &mask);
            assert_eq!(row, some, "{pattern:?}");
        }
    }

    #[test]
    fn injectivity_is_never_claimed_wrongly() {
        for pattern in PATTERNS {
            let mut places = positions(60, &pattern);
            let total = places.len();
            places.sort_unstable();
            places.dedup();
            let walk = Walk::new(60, pattern).unwrap();
            assert!(!walk.is_injective() || places.len() == total, "{pattern:?}");
        }
        assert!(Walk::new(0, PATTERNS[0]).unwrap().is_injective());
        assert!(
            Walk::new(20, PATTERNS[3]).unwrap().is_injective() == {
                let mut p = positions(20, &PATTERNS[3]);
                p.sort_unstable();
                p.windows(2).all(|w| w[0] != w[1])
            }
        );
    }

    #[test]
    fn a_zero_count_is_no_walk() {
        assert!(Walk::new(0, [(0, 1), (2, 1)]).is_none());
    }
}
