//! Tensors in main memory seen through data movement: slices, transposes, broadcasts, pads and
//! concatenations cost nothing until a tile is loaded, because each is a set of strided boxes.

use partita_ir::ops::{PadAmounts, SliceRange};
use partita_ir::types::Shape;
use smallvec::{SmallVec, smallvec};

/// One signed step per dimension, in bytes.
pub type Strides = SmallVec<[i64; 4]>;

/// Identifies a buffer in main memory; the planner numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub u32);

/// A box of a tensor and where its elements lie: element `lo + i` is at byte
/// `offset + Σ i·stride` of the buffer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    pub lo: Shape,
    pub size: Shape,
    pub buffer: BufferId,
    pub offset: i64,
    pub strides: Strides,
}

/// A tensor as disjoint pieces that cover it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct View {
    pub shape: Shape,
    pub element_bytes: u64,
    pub pieces: Vec<Piece>,
}

/// Strides of a dense row-major array, in units of `unit`.
pub fn row_major(shape: &[u64], unit: u64) -> Strides {
    let mut strides: Strides = smallvec![0; shape.len()];
    let mut step = unit as i64;
    for (stride, &size) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.saturating_mul(size.max(1) as i64);
    }
    strides
}

impl Piece {
    fn is_empty(&self) -> bool {
        self.size.contains(&0)
    }

    /// The part of the piece inside the box, if any.
    pub fn intersect(&self, lo: &[u64], size: &[u64]) -> Option<Piece> {
        let mut part = self.clone();
        for dim in 0..self.lo.len() {
            let start = self.lo[dim].max(lo[dim]);
            let end = (self.lo[dim] + self.size[dim]).min(lo[dim] + size[dim]);
            if start >= end {
                return None;
            }
            part.offset += (start - self.lo[dim]) as i64 * self.strides[dim];
            part.lo[dim] = start;
            part.size[dim] = end - start;
        }
        Some(part)
    }
}

impl View {
    /// A dense row-major buffer seen as it is.
    pub fn dense(buffer: BufferId, shape: &[u64], element_bytes: u64) -> Self {
        let piece = Piece {
            lo: smallvec![0; shape.len()],
            size: shape.into(),
            buffer,
            offset: 0,
            strides: row_major(shape, element_bytes),
        };
        Self { shape: shape.into(), element_bytes, pieces: vec![piece] }
    }

    /// One stored element everywhere.
    pub fn splat(buffer: BufferId, shape: &[u64], element_bytes: u64) -> Self {
        let mut view = Self::dense(buffer, shape, element_bytes);
        for piece in &mut view.pieces {
            piece.strides.fill(0);
        }
        view
    }

    /// A stored vector along one dimension, repeated along the others.
    pub fn along(buffer: BufferId, shape: &[u64], dim: usize, element_bytes: u64) -> Self {
        let mut view = Self::splat(buffer, shape, element_bytes);
        for piece in &mut view.pieces {
            piece.strides[dim] = element_bytes as i64;
        }
        view
    }

    fn map(&self, shape: Shape, f: impl FnMut(&Piece) -> Option<Piece>) -> Self {
        let pieces = self.pieces.iter().filter_map(f).filter(|piece| !piece.is_empty()).collect();
        Self { shape, element_bytes: self.element_bytes, pieces }
    }

    /// `result.dim[i] = self.dim[perm[i]]`.
    pub fn transpose(&self, perm: &[usize]) -> Self {
        let shape = perm.iter().map(|&dim| self.shape[dim]).collect();
        self.map(shape, |piece| {
            Some(Piece {
                lo: perm.iter().map(|&dim| piece.lo[dim]).collect(),
                size: perm.iter().map(|&dim| piece.size[dim]).collect(),
                strides: perm.iter().map(|&dim| piece.strides[dim]).collect(),
                ..*piece
            })
        })
    }

    /// Dimension `i` becomes dimension `dims[i]` of `shape`; the rest, and sizes of 1 that grow,
    /// repeat.
    pub fn broadcast(&self, dims: &[usize], shape: &[u64]) -> Self {
        self.map(shape.into(), |piece| {
            let mut out = Piece {
                lo: smallvec![0; shape.len()],
                size: shape.into(),
                strides: smallvec![0; shape.len()],
                ..*piece
            };
            for (from, &to) in dims.iter().enumerate() {
                if self.shape[from] == shape[to] {
                    out.lo[to] = piece.lo[from];
                    out.size[to] = piece.size[from];
                    out.strides[to] = piece.strides[from];
                }
            }
            Some(out)
        })
    }

    pub fn slice(&self, ranges: &[SliceRange]) -> Self {
        let count = |r: &SliceRange| r.limit.saturating_sub(r.start).div_ceil(r.stride.max(1));
        self.map(ranges.iter().map(count).collect(), |piece| {
            let mut out = piece.clone();
            for (dim, range) in ranges.iter().enumerate() {
                let step = range.stride.max(1);
                // Result indices k with lo <= start + k·step < lo + size.
                let first = piece.lo[dim].saturating_sub(range.start).div_ceil(step);
                let past =
                    (piece.lo[dim] + piece.size[dim]).saturating_sub(range.start).div_ceil(step);
                let past = past.min(count(range));
                if first >= past {
                    return None;
                }
                let at = range.start + first * step;
                out.offset += (at - piece.lo[dim]) as i64 * piece.strides[dim];
                out.lo[dim] = first;
                out.size[dim] = past - first;
                out.strides[dim] *= step as i64;
            }
            Some(out)
        })
    }

    pub fn reverse(&self, dims: &[usize]) -> Self {
        self.map(self.shape.clone(), |piece| {
            let mut out = piece.clone();
            for &dim in dims {
                out.offset += (piece.size[dim] as i64 - 1) * piece.strides[dim];
                out.strides[dim] = -piece.strides[dim];
                out.lo[dim] = self.shape[dim] - piece.lo[dim] - piece.size[dim];
            }
            Some(out)
        })
    }

    pub fn concat(parts: &[View], dim: usize) -> Option<Self> {
        let mut out = View { pieces: Vec::new(), ..parts.first()?.clone() };
        out.shape[dim] = 0;
        for part in parts {
            for piece in part.pieces.iter().filter(|piece| !piece.is_empty()) {
                let mut piece = piece.clone();
                piece.lo[dim] += out.shape[dim];
                out.pieces.push(piece);
            }
            out.shape[dim] += part.shape[dim];
        }
        Some(out)
    }

    /// Pads without interior elements; `filling` holds one element. `None` when an amount asks for
    /// interior padding, which is no set of few boxes.
    pub fn pad(&self, amounts: &[PadAmounts], filling: BufferId) -> Option<Self> {
        if amounts.iter().any(|amount| amount.interior > 0) {
            return None;
        }
        let mut cropped = self.clone();
        let mut low: Shape = smallvec![0; amounts.len()];
        let mut shape = self.shape.clone();
        let mut ranges: SmallVec<[SliceRange; 4]> = SmallVec::new();
        for (dim, amount) in amounts.iter().enumerate() {
            let size = self.shape[dim] as i64;
            let start = (-amount.low).clamp(0, size);
            let limit = (size + amount.high.min(0)).clamp(start, size);
            ranges.push(SliceRange { start: start as u64, limit: limit as u64, stride: 1 });
            low[dim] = amount.low.max(0) as u64;
            shape[dim] = size.checked_add(amount.low)?.checked_add(amount.high)?.max(0) as u64;
        }
        if ranges.iter().zip(&self.shape).any(|(r, &size)| r.start > 0 || r.limit < size) {
            cropped = self.slice(&ranges);
        }
        // The data's box, clipped to the result (a crop on one side may reach past the other).
        let data: Shape = (0..shape.len())
            .map(|d| cropped.shape[d].min(shape[d].saturating_sub(low[d])))
            .collect();
        let mut out =
            View { shape: shape.clone(), element_bytes: self.element_bytes, pieces: Vec::new() };
        for piece in &cropped.pieces {
            let zero: Shape = smallvec![0; shape.len()];
            if let Some(mut piece) = piece.intersect(&zero, &data) {
                piece.lo.iter_mut().zip(&low).for_each(|(lo, by)| *lo += by);
                out.pieces.push(piece);
            }
        }
        // Slabs before and after the data in each dimension; earlier dimensions keep to the data.
        let has_data = !data.contains(&0);
        let mut lo: Shape = smallvec![0; shape.len()];
        let mut size = shape.clone();
        for dim in 0..shape.len() {
            let after = low[dim] + data[dim];
            let slabs = if has_data {
                [(0, low[dim]), (after, shape[dim] - after)]
            } else {
                [(0, shape[dim]), (0, 0)]
            };
            for (start, len) in slabs {
                let mut slab = Piece {
                    lo: lo.clone(),
                    size: size.clone(),
                    buffer: filling,
                    offset: 0,
                    strides: smallvec![0; shape.len()],
                };
                slab.lo[dim] = start;
                slab.size[dim] = len;
                if !slab.is_empty() {
                    out.pieces.push(slab);
                }
            }
            if !has_data {
                break;
            }
            lo[dim] = low[dim];
            size[dim] = data[dim];
        }
        Some(out)
    }

    /// The same elements in row-major order under another shape, when strides can say it.
    pub fn reshape(&self, shape: &[u64]) -> Option<Self> {
        if self.shape.as_slice() == shape {
            return Some(self.clone());
        }
        if self.shape.contains(&0) {
            return Some(View {
                shape: shape.into(),
                element_bytes: self.element_bytes,
                pieces: Vec::new(),
            });
        }
        if let [piece] = self.pieces.as_slice() {
            let strides = restride(&self.shape, &piece.strides, shape)?;
            let piece =
                Piece { lo: smallvec![0; shape.len()], size: shape.into(), strides, ..*piece };
            return Some(View {
                shape: shape.into(),
                element_bytes: self.element_bytes,
                pieces: vec![piece],
            });
        }
        self.reshape_units(shape)
    }

    /// A reshape that only adds or removes sizes of 1 keeps several pieces.
    fn reshape_units(&self, shape: &[u64]) -> Option<Self> {
        let kept: Vec<usize> = (0..self.shape.len()).filter(|&dim| self.shape[dim] != 1).collect();
        let target: Vec<usize> = (0..shape.len()).filter(|&dim| shape[dim] != 1).collect();
        let same = kept.len() == target.len()
            && kept.iter().zip(&target).all(|(&from, &to)| self.shape[from] == shape[to]);
        same.then(|| {
            self.map(shape.into(), |piece| {
                let mut out = Piece {
                    lo: smallvec![0; shape.len()],
                    size: smallvec![1; shape.len()],
                    strides: smallvec![0; shape.len()],
                    ..*piece
                };
                for (&from, &to) in kept.iter().zip(&target) {
                    out.lo[to] = piece.lo[from];
                    out.size[to] = piece.size[from];
                    out.strides[to] = piece.strides[from];
                }
                Some(out)
            })
        })
    }

    /// The same bytes as elements of another width, as `tensor.bitcast` shapes them: a wider element
    /// splits into a new last dimension, narrower ones join along theirs. `None` when the joined
    /// ones do not lie side by side.
    pub fn bitcast(&self, element_bytes: u64, shape: &[u64]) -> Option<Self> {
        let mut out = self.clone();
        out.shape = shape.into();
        out.element_bytes = element_bytes;
        if element_bytes < self.element_bytes {
            let parts = self.element_bytes / element_bytes;
            for piece in &mut out.pieces {
                piece.lo.push(0);
                piece.size.push(parts);
                piece.strides.push(element_bytes as i64);
            }
        } else if element_bytes > self.element_bytes {
            let parts = element_bytes / self.element_bytes;
            for piece in &mut out.pieces {
                let (lo, size, stride) = (piece.lo.pop()?, piece.size.pop()?, piece.strides.pop()?);
                if lo != 0 || size != parts || stride != self.element_bytes as i64 {
                    return None;
                }
            }
        }
        Some(out)
    }

    /// True when the view is one dense row-major buffer from its first byte.
    pub fn is_dense(&self) -> bool {
        match self.pieces.as_slice() {
            [piece] => {
                let dense = row_major(&self.shape, self.element_bytes);
                piece.offset == 0
                    && (0..self.shape.len())
                        .all(|dim| self.shape[dim] == 1 || piece.strides[dim] == dense[dim])
            }
            pieces => pieces.is_empty(),
        }
    }
}

/// Strides of the same elements under another shape of the same count; `None` when a new dimension
/// would cross a break between old ones.
fn restride(from: &[u64], strides: &[i64], to: &[u64]) -> Option<Strides> {
    let old: Vec<(u64, i64)> =
        from.iter().copied().zip(strides.iter().copied()).filter(|&(size, _)| size != 1).collect();
    let mut out: Strides = smallvec![0; to.len()];
    let (mut i, mut j) = (0, 0);
    while i < old.len() {
        // A group of old dimensions and a group of new ones with the same product.
        let (first_old, first_new) = (i, j);
        let mut old_product = old[i].0;
        let mut new_product = *to.get(j)?;
        while old_product != new_product {
            if new_product < old_product {
                j += 1;
                new_product = new_product.checked_mul(*to.get(j)?)?;
            } else {
                i += 1;
                old_product = old_product.checked_mul(old.get(i)?.0)?;
            }
        }
        for k in first_old..i {
            if old[k].1 != old[k + 1].1.checked_mul(old[k + 1].0 as i64)? {
                return None;
            }
        }
        let mut step = old[i].1;
        for k in (first_new..=j).rev() {
            out[k] = step;
            step = step.checked_mul(to[k] as i64)?;
        }
        i += 1;
        j += 1;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every element's byte offset, by walking the pieces; panics on a gap or an overlap.
    fn offsets(view: &View) -> Vec<(u32, i64)> {
        let total: u64 = view.shape.iter().product();
        let dense = row_major(&view.shape, 1);
        let mut out = vec![None; total as usize];
        for piece in &view.pieces {
            let count: u64 = piece.size.iter().product();
            for mut e in 0..count {
                let (mut at, mut offset) = (0, piece.offset);
                for dim in (0..view.shape.len()).rev() {
                    let i = e % piece.size[dim];
                    e /= piece.size[dim];
                    at += (piece.lo[dim] + i) as i64 * dense[dim];
                    offset += i as i64 * piece.strides[dim];
                }
                assert_eq!(out[at as usize], None, "element {at} twice");
                out[at as usize] = Some((piece.buffer.0, offset));
            }
        }
        out.into_iter().map(|slot| slot.expect("a gap")).collect()
    }

    fn base() -> View {
        View::dense(BufferId(0), &[3, 4], 2)
    }

    #[test]
    fn transpose_slice_and_reverse_move_offsets() {
        let t = base().transpose(&[1, 0]);
        assert_eq!(offsets(&t)[..4], [(0, 0), (0, 8), (0, 16), (0, 2)]);
        let s = t.slice(&[
            SliceRange { start: 1, limit: 4, stride: 2 },
            SliceRange { start: 1, limit: 3, stride: 1 },
        ]);
        assert_eq!(offsets(&s), [(0, 10), (0, 18), (0, 14), (0, 22)]);
        assert_eq!(offsets(&s.reverse(&[1])), [(0, 18), (0, 10), (0, 22), (0, 14)]);
    }

    #[test]
    fn pad_fills_around_and_crops() {
        let amounts = [
            PadAmounts { low: 1, high: 0, interior: 0 },
            PadAmounts { low: -1, high: 1, interior: 0 },
        ];
        let padded = base().pad(&amounts, BufferId(9)).expect("no interior");
        let fill = (9, 0);
        let want = [
            fill,
            fill,
            fill,
            fill,
            (0, 2),
            (0, 4),
            (0, 6),
            fill,
            (0, 10),
            (0, 12),
            (0, 14),
            fill,
            (0, 18),
            (0, 20),
            (0, 22),
            fill,
        ];
        assert_eq!(offsets(&padded), want);
    }

    #[test]
    fn concat_and_strided_slice_across_pieces() {
        let joined = View::concat(&[base(), View::splat(BufferId(1), &[3, 1], 2), base()], 1)
            .expect("parts");
        let odd = joined.slice(&[
            SliceRange { start: 2, limit: 3, stride: 1 },
            SliceRange { start: 1, limit: 9, stride: 3 },
        ]);
        assert_eq!(offsets(&odd), [(0, 18), (1, 0), (0, 20)]);
    }

    #[test]
    fn reshape_follows_strides_or_refuses() {
        let merged = base().reshape(&[12]).expect("dense");
        assert_eq!(offsets(&merged)[5], (0, 10));
        assert_eq!(base().transpose(&[1, 0]).reshape(&[12]), None);
        let split = base().transpose(&[1, 0]).reshape(&[2, 2, 1, 3]).expect("splits one dimension");
        assert_eq!(offsets(&split), offsets(&base().transpose(&[1, 0])));
        let split_joined =
            View::concat(&[base(), base()], 0).expect("parts").reshape(&[6, 1, 4]).expect("unit");
        assert_eq!(offsets(&split_joined)[23], (0, 22));
    }

    #[test]
    fn bitcast_changes_the_last_dimension() {
        let bytes = base().bitcast(1, &[3, 4, 2]).expect("narrower");
        assert_eq!(offsets(&bytes)[3], (0, 3));
        assert_eq!(bytes.bitcast(2, &[3, 4]), Some(base()));
        assert_eq!(bytes.reverse(&[2]).bitcast(2, &[3, 4]), None);
    }
}
