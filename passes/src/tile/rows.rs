//! Ranges of flattened rows as boxes of the axes that were flattened.

use smallvec::{SmallVec, smallvec};

/// A box of row axes, and the row of the tile at which it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowBox {
    pub first: u64,
    /// Start and extent along each axis, outermost first.
    pub ranges: SmallVec<[(u64, u64); 4]>,
}

/// The boxes that make up rows `start..end` of row-major axes, in order. Within a box, the tile's row
/// moves by the product of the later axes' whole extents along each axis.
pub fn row_boxes(extents: &[u64], start: u64, end: u64) -> Vec<RowBox> {
    let mut out = Vec::new();
    collect(extents, start, end, 0, &mut SmallVec::new(), &mut out);
    out
}

fn collect(
    extents: &[u64],
    start: u64,
    end: u64,
    first: u64,
    outer: &mut SmallVec<[(u64, u64); 4]>,
    out: &mut Vec<RowBox>,
) {
    if start >= end {
        return;
    }
    let Some((_, inner)) = extents.split_first() else {
        out.push(RowBox { first, ranges: outer.clone() });
        return;
    };
    let step: u64 = inner.iter().product();
    let (a, b) = (start / step, end / step);
    if a == b {
        within(inner, a, start % step..end % step, first, outer, out);
        return;
    }
    let mut row = first;
    let mut whole = a;
    if !start.is_multiple_of(step) {
        within(inner, a, start % step..step, row, outer, out);
        row += step - start % step;
        whole = a + 1;
    }
    if whole < b {
        let mut ranges = outer.clone();
        ranges.push((whole, b - whole));
        ranges.extend(inner.iter().map(|&extent| (0, extent)));
        out.push(RowBox { first: row, ranges });
        row += (b - whole) * step;
    }
    within(inner, b, 0..end % step, row, outer, out);
}

/// Rows within one index of an axis.
fn within(
    inner: &[u64],
    index: u64,
    rows: std::ops::Range<u64>,
    first: u64,
    outer: &mut SmallVec<[(u64, u64); 4]>,
    out: &mut Vec<RowBox>,
) {
    outer.push((index, 1));
    collect(inner, rows.start, rows.end, first, outer, out);
    outer.pop();
}

/// How far the tile's row moves along each axis.
pub fn row_steps(extents: &[u64]) -> SmallVec<[u64; 4]> {
    let mut steps: SmallVec<[u64; 4]> = smallvec![1; extents.len()];
    for i in (0..extents.len().saturating_sub(1)).rev() {
        steps[i] = steps[i + 1] * extents[i + 1];
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_cover_each_row_once_and_in_place() {
        let extents = [3, 4, 5];
        let steps = row_steps(&extents);
        assert_eq!(steps.as_slice(), [20, 5, 1]);
        for start in 0..60 {
            for end in start..=60 {
                let mut seen = vec![false; (end - start) as usize];
                for b in row_boxes(&extents, start, end) {
                    let origin: u64 =
                        b.ranges.iter().zip(&steps).map(|(&(lo, _), step)| lo * step).sum();
                    assert_eq!(origin - start, b.first);
                    let count: u64 = b.ranges.iter().map(|&(_, n)| n).product();
                    for mut e in 0..count {
                        let mut row = b.first;
                        for (&(_, n), step) in b.ranges.iter().zip(&steps).rev() {
                            row += e % n * step;
                            e /= n;
                        }
                        assert!(!std::mem::replace(&mut seen[row as usize], true));
                    }
                }
                assert!(seen.into_iter().all(|hit| hit), "rows {start}..{end}");
            }
        }
    }

    #[test]
    fn no_axes_is_one_row() {
        assert_eq!(row_boxes(&[], 0, 1), [RowBox { first: 0, ranges: SmallVec::new() }]);
    }
}
