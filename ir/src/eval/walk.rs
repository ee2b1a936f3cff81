//! Strided walks over elements, without a division per element.

use smallvec::SmallVec;

/// Elements of an array in the row-major order of some shape: element `i` of
/// dimension `d` lies `i · stride` elements on. Neighbouring dimensions that
/// advance together are merged when the view is made.
#[derive(Clone, Debug)]
pub struct View {
    start: isize,
    /// Size and stride, outermost first; never empty, no size is 1 unless alone.
    dims: SmallVec<[(usize, isize); 6]>,
    count: usize,
}

/// A stretch of elements a constant step apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub start: isize,
    pub stride: isize,
    pub len: usize,
}

impl Run {
    /// Position of its element `i`. A view is checked against its array when it
    /// is made, so the position is never negative.
    pub fn at(&self, i: usize) -> usize {
        (self.start + i as isize * self.stride) as usize
    }
}

impl View {
    /// A view of an array of `len` elements; `None` when it would leave the array.
    pub fn new(
        start: usize,
        dims: impl IntoIterator<Item = (u64, isize)>,
        len: usize,
    ) -> Option<Self> {
        let dims: SmallVec<[(u64, isize); 8]> = dims.into_iter().collect();
        if dims.iter().any(|&(size, _)| size == 0) {
            return Some(Self { start: 0, dims: SmallVec::from_slice(&[(0, 1)]), count: 0 });
        }
        let mut merged: SmallVec<[(usize, isize); 6]> = SmallVec::new();
        let mut count = 1usize;
        let start = isize::try_from(start).ok()?;
        let (mut low, mut high) = (start, start);
        for (size, stride) in dims.into_iter().filter(|&(size, _)| size != 1) {
            let size = usize::try_from(size).ok()?;
            count = count.checked_mul(size)?;
            let reach = stride.checked_mul(isize::try_from(size - 1).ok()?)?;
            if reach < 0 {
                low = low.checked_add(reach)?
            } else {
                high = high.checked_add(reach)?
            }
            match merged.last_mut() {
                Some((outer, step)) if *step == stride.checked_mul(size as isize)? => {
                    *outer = outer.checked_mul(size)?;
                    *step = stride;
                }
                _ => merged.push((size, stride)),
            }
        }
        if low < 0 || high >= isize::try_from(len).ok()? {
            return None;
        }
        if merged.is_empty() {
            merged.push((1, 1));
        }
        Some(Self { start, dims: merged, count })
    }

    /// A whole dense array of `len` elements.
    pub fn dense(len: usize) -> Self {
        Self { start: 0, dims: SmallVec::from_slice(&[(len, 1)]), count: len }
    }

    /// An operand of `shape` read as `result`, with NumPy's broadcasting; `None`
    /// when the shapes do not fit.
    pub fn broadcast(shape: &[u64], result: &[u64]) -> Option<Self> {
        let missing = result.len().checked_sub(shape.len())?;
        let strides = strides(shape);
        let dims = result.iter().enumerate().map(|(d, &size)| match d.checked_sub(missing) {
            Some(own) if shape[own] == size => Some((size, strides[own])),
            Some(own) if shape[own] != 1 => None,
            _ => Some((size, 0)),
        });
        let dims: Vec<_> = dims.collect::<Option<_>>()?;
        Self::new(0, dims, count(shape)?)
    }

    /// Elements of the walk.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Starts the walk.
    pub fn runs(&self) -> Runs<'_> {
        let dims = if self.dims.is_empty() { 0 } else { self.dims.len() - 1 };
        Runs {
            view: self,
            outer: SmallVec::from_elem(0, dims),
            start: self.start,
            done: 0,
            left: self.count,
        }
    }
}

/// Strides, in elements, of a dense row-major array.
pub fn strides(shape: &[u64]) -> SmallVec<[isize; 6]> {
    let mut strides = SmallVec::from_elem(1isize, shape.len());
    let mut step = 1isize;
    for (slot, &size) in strides.iter_mut().zip(shape).rev() {
        *slot = step;
        step = step.saturating_mul(size.try_into().unwrap_or(isize::MAX));
    }
    strides
}

/// Elements of a shape as a `usize`.
pub fn count(shape: &[u64]) -> Option<usize> {
    crate::types::element_count(shape).and_then(|count| usize::try_from(count).ok())
}

/// A walk in progress.
pub struct Runs<'a> {
    view: &'a View,
    /// Position in every dimension but the innermost.
    outer: SmallVec<[usize; 6]>,
    /// First element of the current innermost row.
    start: isize,
    /// Elements of that row already given.
    done: usize,
    left: usize,
}

impl Runs<'_> {
    /// The next elements, at most `most` of them; `None` at the end.
    pub fn next(&mut self, most: usize) -> Option<Run> {
        let &(size, stride) = self.view.dims.last()?;
        if self.left == 0 {
            return None;
        }
        let len = (size - self.done).min(most);
        let run = Run { start: self.start + self.done as isize * stride, stride, len };
        self.done += len;
        self.left -= len;
        if self.done == size {
            self.done = 0;
            for (position, &(size, stride)) in self.outer.iter_mut().zip(&self.view.dims).rev() {
                *position += 1;
                self.start += stride;
                if *position < size {
                    break;
                }
                self.start -= stride * size as isize;
                *position = 0;
            }
        }
        Some(run)
    }
}

/// Copies the elements of `src` along one view to those of `dst` along another;
/// `size` is the bytes of an element. Both views have as many elements.
pub fn copy(src: &[u8], from: &View, dst: &mut [u8], to: &View, size: usize) {
    match size {
        1 => copy_sized::<1>(src, from, dst, to),
        2 => copy_sized::<2>(src, from, dst, to),
        4 => copy_sized::<4>(src, from, dst, to),
        _ => copy_sized::<8>(src, from, dst, to),
    }
}

fn copy_sized<const N: usize>(src: &[u8], from: &View, dst: &mut [u8], to: &View) {
    let (src, _) = src.as_chunks::<N>();
    let (dst, _) = dst.as_chunks_mut::<N>();
    let (mut reads, mut writes) = (from.runs(), to.runs());
    let (mut read, mut taken) = (None::<Run>, 0);
    while let Some(write) = writes.next(usize::MAX) {
        let mut written = 0;
        while written < write.len {
            let run = match read {
                Some(run) if taken < run.len => run,
                _ => {
                    taken = 0;
                    let Some(run) = reads.next(usize::MAX) else { return };
                    read = Some(run);
                    run
                }
            };
            let len = (run.len - taken).min(write.len - written);
            let (source, target) = (run.at(taken), write.at(written));
            if run.stride == 1 && write.stride == 1 {
                dst[target..target + len].copy_from_slice(&src[source..source + len]);
            } else if run.stride == 0 && write.stride == 1 {
                dst[target..target + len].fill(src[source]);
            } else {
                for i in 0..len {
                    dst[write.at(written + i)] = src[run.at(taken + i)];
                }
            }
            taken += len;
            written += len;
        }
    }
}
