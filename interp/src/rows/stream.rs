//! Sources and destinations of a channel as streams of blocks.

use crate::numeric::kernels::Convert;
use crate::numeric::lane::Lane;
use crate::walk::{Cursor, Walk};

/// A run of neighbours this long is worth a block of its own, since it needs no copy.
const LONG_RUN: usize = 64;

/// A source operand.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    pub walk: Walk,
    /// Bytes of an element in memory.
    pub width: usize,
    /// To lanes; `None` where the bytes are lanes already.
    pub load: Option<Convert>,
    /// Bytes of a lane.
    pub lane: usize,
}

/// A destination operand.
#[derive(Clone, Copy, Debug)]
pub struct Destination {
    pub walk: Walk,
    /// Bytes of an element in memory.
    pub width: usize,
}

/// Where a source's bytes are while the destination is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// In another row.
    Apart,
    /// In the destination's row, below the bytes that the destination reaches.
    Below,
    /// In the destination's row, above them.
    Above,
    /// Exactly the destination's elements, each visited once.
    InPlace,
}

/// How reads and writes of one row are kept apart (ISA 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout<const N: usize> {
    /// The destination lies within bytes `low..high` of the row, the sources elsewhere or in place.
    Apart { low: usize, high: usize, sides: [Side; N] },
    /// Everything is read before anything is written.
    Held,
}

/// Bytes `low..high` that a walk touches, widened to whole 8-byte words so that both ends suit every element.
#[inline]
fn extent(walk: &Walk, width: usize) -> (usize, usize) {
    let low = walk.lowest() as usize * width;
    let high = (walk.highest() as usize + 1) * width;
    (low & !7, high.next_multiple_of(8))
}

impl<const N: usize> Layout<N> {
    /// Finds the layout; `own` tells which sources are in the destination's row.
    pub fn find(dst: &Destination, sources: [(&Source, bool); N]) -> Self {
        let (low, high) = extent(&dst.walk, dst.width);
        let mut sides = [Side::Apart; N];
        for (side, (source, own)) in sides.iter_mut().zip(sources) {
            if !own {
                continue;
            }
            let (first, last) = extent(&source.walk, source.width);
            *side = if last <= low {
                Side::Below
            } else if first >= high {
                Side::Above
            } else if source.walk == dst.walk
                && source.width == dst.width
                && dst.walk.is_injective()
            {
                Side::InPlace
            } else {
                return Self::Held;
            };
        }
        Self::Apart { low, high, sides }
    }
}

/// A stream of blocks from a source.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    source: Source,
    cursor: Cursor,
    /// The bytes; `None` for a source that is read in place from the destination.
    bytes: Option<&'a [u8]>,
}

impl<'a> Reader<'a> {
    /// Reads along the source's walk from bytes that begin at byte `origin` (a multiple of 8) of the row.
    pub fn new(source: Source, bytes: Option<&'a [u8]>, origin: usize) -> Self {
        let cursor = Cursor::new(source.walk.rebased(origin / source.width));
        Self { source, cursor, bytes }
    }

    /// Goes on from element number `element`.
    pub fn seek(&mut self, element: usize) {
        self.cursor.seek(element);
    }

    /// How many elements a block should have, given that at most `limit` are wanted.
    #[inline]
    pub fn suggest(&self, limit: usize) -> usize {
        suggest(&self.cursor, limit)
    }

    /// How many of the next elements are lanes that stand in the row one after the other.
    #[inline]
    pub fn straight(&self) -> usize {
        match (self.bytes, self.source.load) {
            (Some(_), None) => self.cursor.neighbours(),
            _ => 0,
        }
    }

    /// The next `count` elements, of which [`Reader::straight`] are lanes in the row.
    #[inline]
    pub fn take(&mut self, count: usize) -> &'a [u8] {
        let at = self.cursor.position() * self.source.width;
        self.cursor.advance(count);
        &self.bytes.unwrap_or_default()[at..at + count * self.source.width]
    }

    /// The next `count` elements as lanes, from the row itself where they stand there as such.
    pub fn next<'b>(
        &mut self,
        count: usize,
        in_place: &[u8],
        raw: &'b mut [u8],
        lanes: &'b mut [u8],
    ) -> &'b [u8]
    where
        'a: 'b,
    {
        let width = self.source.width;
        let elements: &[u8] = match self.bytes {
            Some(bytes) if self.cursor.neighbours() >= count => {
                let at = self.cursor.position() * width;
                self.cursor.advance(count);
                &bytes[at..at + count * width]
            }
            bytes => {
                let raw = &mut raw[..count * width];
                gather(&mut self.cursor, width, bytes.unwrap_or(in_place), raw);
                raw
            }
        };
        match self.source.load {
            None => elements,
            Some(convert) => {
                let lanes = &mut lanes[..count * self.source.lane];
                convert(lanes, elements);
                lanes
            }
        }
    }
}

/// A block length that keeps runs of neighbours whole.
#[inline]
fn suggest(cursor: &Cursor, limit: usize) -> usize {
    match cursor.neighbours() {
        run if run >= LONG_RUN => run.min(limit),
        _ => limit,
    }
}

/// Copies the next elements of `width` bytes out of a row.
pub fn gather(cursor: &mut Cursor, width: usize, row: &[u8], out: &mut [u8]) {
    match width {
        1 => cursor.gather(row, out),
        2 => cursor.gather(u16::cells(row), u16::cells_mut(out)),
        4 => cursor.gather(u32::cells(row), u32::cells_mut(out)),
        _ => cursor.gather(u64::cells(row), u64::cells_mut(out)),
    }
}

/// Copies elements of `width` bytes to the next places of a row.
pub fn scatter(cursor: &mut Cursor, width: usize, row: &mut [u8], from: &[u8]) {
    match width {
        1 => cursor.scatter(row, from),
        2 => cursor.scatter(u16::cells_mut(row), u16::cells(from)),
        4 => cursor.scatter(u32::cells_mut(row), u32::cells(from)),
        _ => cursor.scatter(u64::cells_mut(row), u64::cells(from)),
    }
}

/// As [`scatter`], for the elements whose mask is not 0.
pub fn scatter_masked(cursor: &mut Cursor, width: usize, row: &mut [u8], from: &[u8], mask: &[u8]) {
    match width {
        1 => cursor.scatter_masked(row, from, mask),
        2 => cursor.scatter_masked(u16::cells_mut(row), u16::cells(from), mask),
        4 => cursor.scatter_masked(u32::cells_mut(row), u32::cells(from), mask),
        _ => cursor.scatter_masked(u64::cells_mut(row), u64::cells(from), mask),
    }
}

/// A stream of blocks to a destination.
#[derive(Debug)]
pub struct Writer<'a> {
    width: usize,
    cursor: Cursor,
    /// The bytes that the destination reaches, from byte `low` of the row on.
    bytes: &'a mut [u8],
}

impl<'a> Writer<'a> {
    /// Writes along the destination's walk to bytes that begin at byte `origin` (a multiple of 8) of the row.
    pub fn new(dst: &Destination, bytes: &'a mut [u8], origin: usize) -> Self {
        Self { width: dst.width, cursor: Cursor::new(dst.walk.rebased(origin / dst.width)), bytes }
    }

    /// See [`Reader::suggest`].
    #[inline]
    pub fn suggest(&self, limit: usize) -> usize {
        suggest(&self.cursor, limit)
    }

    /// The destination's bytes as they are now.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// Lets `fill` produce the next `count` elements, in the row itself where they are neighbours.
    pub fn next(&mut self, count: usize, packed: &mut [u8], fill: impl FnOnce(&mut [u8])) {
        if self.straight() >= count {
            fill(self.take(count));
        } else {
            let packed = &mut packed[..count * self.width];
            fill(packed);
            scatter(&mut self.cursor, self.width, self.bytes, packed);
        }
    }

    /// How many of the next places are neighbours.
    #[inline]
    pub fn straight(&self) -> usize {
        self.cursor.neighbours()
    }

    /// The next `count` places, which are neighbours.
    #[inline]
    pub fn take(&mut self, count: usize) -> &mut [u8] {
        let at = self.cursor.position() * self.width;
        self.cursor.advance(count);
        &mut self.bytes[at..at + count * self.width]
    }

    /// Writes elements that are already as they go to memory.
    pub fn rest(&mut self, values: &[u8]) {
        scatter(&mut self.cursor, self.width, self.bytes, values);
    }

    /// As [`Writer::rest`], for the elements whose mask is not 0.
    pub fn rest_masked(&mut self, values: &[u8], mask: &[u8]) {
        scatter_masked(&mut self.cursor, self.width, self.bytes, values, mask);
    }
}

/// The length of the next block of a stream of `left` elements, at most `limit`.
pub fn block_length(
    left: usize,
    limit: usize,
    readers: &[Reader],
    writer: Option<&Writer>,
) -> usize {
    let limit = left.min(limit);
    let limit = writer.map_or(limit, |writer| writer.suggest(limit));
    readers.iter().fold(limit, |limit, reader| reader.suggest(limit))
}
