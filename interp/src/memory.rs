//! The two partitioned memories, and how the rows of one instruction's operands are taken apart (ISA 3.1).

use partita_isa::Generation;
pub use partita_isa::Memory as Space;

use crate::pages::Pages;

/// Partitions of each memory.
pub const PARTITIONS: usize = 128;

/// The partition where an operand's rows begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub space: Space,
    pub partition: usize,
}

/// Bytes between the rows of a bank. Partitions are powers of two in size, or nearly so; without a gap that is an
/// odd number of cache lines, the same byte of many rows would compete for few places in the caches.
const GAP: usize = 65 * 64;

/// One memory: the active bytes of its partitions, one after the other, with gaps. A fresh bank is zero and costs no
/// memory until it is touched.
#[derive(Clone, Debug)]
struct Bank {
    bytes: Pages,
    /// Active bytes of a partition.
    active: usize,
    /// Bytes from one row to the next.
    stride: usize,
}

impl Bank {
    fn new(active: u64, huge: bool) -> Self {
        let active = active as usize;
        let stride = active + GAP;
        Self { bytes: Pages::new(stride * PARTITIONS, huge), active, stride }
    }

    fn rows(&self, partition: usize, count: usize) -> Option<&[u8]> {
        self.bytes
            .get(partition.checked_mul(self.stride)?..)?
            .get(..count.checked_mul(self.stride)?)
    }
}

/// SBUF and PSUM.
#[derive(Clone, Debug)]
pub struct Memory {
    sbuf: Bank,
    psum: Bank,
}

/// Rows that an operand is read from, seen from the destination.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    /// The destination's own rows.
    Own,
    /// Other rows, `row` bytes apart.
    Other { bytes: &'a [u8], row: usize },
}

impl<'a> Rows<'a> {
    /// The row of one channel; `None` for the destination's own.
    #[inline]
    pub fn channel(self, channel: usize) -> Option<&'a [u8]> {
        match self {
            Self::Own => None,
            Self::Other { bytes, row } => bytes.get(channel * row..(channel + 1) * row),
        }
    }
}

/// The operands of an instruction as rows that can be read and written at once.
#[derive(Debug)]
pub struct Split<'a, const N: usize> {
    /// The destination's rows, `row` bytes apart.
    pub dst: &'a mut [u8],
    pub row: usize,
    pub sources: [Rows<'a>; N],
}

impl Memory {
    /// `huge` asks for huge pages.
    pub fn new(generation: Generation, huge: bool) -> Self {
        Self {
            sbuf: Bank::new(generation.sbuf_active(), huge),
            psum: Bank::new(generation.psum_active(), huge),
        }
    }

    #[inline]
    fn bank(&self, space: Space) -> &Bank {
        match space {
            Space::Sbuf => &self.sbuf,
            Space::Psum => &self.psum,
        }
    }

    /// Bytes from one row to the next.
    pub fn stride(&self, space: Space) -> usize {
        self.bank(space).stride
    }

    /// The active bytes of one row; `None` past the last partition.
    pub fn row(&self, place: Place) -> Option<&[u8]> {
        let bank = self.bank(place.space);
        bank.rows(place.partition, 1)?.get(..bank.active)
    }

    /// `count` rows from a place, each with the gap that follows it; `None` past the last partition.
    pub fn rows(&self, place: Place, count: usize) -> Option<&[u8]> {
        self.bank(place.space).rows(place.partition, count)
    }

    /// The active bytes of one row for writing; `None` past the last partition.
    pub fn row_mut(&mut self, place: Place) -> Option<&mut [u8]> {
        let bank = match place.space {
            Space::Sbuf => &mut self.sbuf,
            Space::Psum => &mut self.psum,
        };
        let start = place.partition.checked_mul(bank.stride)?;
        bank.bytes.get_mut(start..)?.get_mut(..bank.active)
    }

    /// All of SBUF: rows of [`Memory::stride`] bytes.
    pub fn sbuf_mut(&mut self) -> &mut [u8] {
        &mut self.sbuf.bytes
    }

    /// Takes the rows of `count` channels apart: the destination's for writing, the sources' for reading.
    /// `None` when rows do not exist or a source shares some but not all rows with the destination, which the
    /// placement rule CH-3 excludes.
    pub fn split<const N: usize>(
        &mut self,
        count: usize,
        dst: Place,
        sources: [Option<Place>; N],
    ) -> Option<Split<'_, N>> {
        let (own, other) = match dst.space {
            Space::Sbuf => (&mut self.sbuf, &self.psum),
            Space::Psum => (&mut self.psum, &self.sbuf),
        };
        let row = own.stride;
        let last = dst.partition.checked_add(count)?;
        let (before, rest) = own.bytes.split_at_mut_checked(dst.partition * row)?;
        let (dst_rows, after) = rest.split_at_mut_checked(count * row)?;
        let (before, after): (&[u8], &[u8]) = (before, after);
        let mut rows = [Rows::Own; N];
        for (rows, place) in rows.iter_mut().zip(sources) {
            let Some(place) = place else { continue };
            *rows = if place.space != dst.space {
                Rows::Other { bytes: other.rows(place.partition, count)?, row: other.stride }
            } else if place.partition == dst.partition {
                Rows::Own
            } else {
                let bytes = match place.partition.checked_sub(last) {
                    Some(distance) => after.get(distance * row..)?,
                    None => before.get(place.partition * row..)?,
                };
                Rows::Other { bytes: bytes.get(..count * row)?, row }
            };
        }
        Some(Split { dst: dst_rows, row, sources: rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sbuf(partition: usize) -> Place {
        Place { space: Space::Sbuf, partition }
    }

    #[test]
    fn split_finds_each_row() {
        let mut memory = Memory::new(Generation::Cayman, true);
        for p in 0..PARTITIONS {
            memory.row_mut(sbuf(p)).unwrap()[0] = p as u8;
            let psum = Place { space: Space::Psum, partition: p };
            memory.row_mut(psum).unwrap()[0] = 128 + p as u8;
        }
        let psum = Place { space: Space::Psum, partition: 0 };
        let places = [sbuf(0), sbuf(32), sbuf(64), psum].map(Some);
        let split = memory.split(32, sbuf(32), places).unwrap();
        assert_eq!(split.dst[0], 32);
        let first = split.sources.map(|rows| rows.channel(3).map(|row| row[0]));
        assert_eq!(first, [Some(3), None, Some(67), Some(131)]);
    }

    #[test]
    fn rows_shared_in_part_are_refused() {
        let mut memory = Memory::new(Generation::Cayman, true);
        assert!(memory.split(64, sbuf(64), [Some(sbuf(32))]).is_none());
        assert!(memory.split(64, sbuf(32), [Some(sbuf(64))]).is_none());
        assert!(memory.split(64, sbuf(96), [Some(sbuf(0))]).is_none());
        assert!(memory.split(64, sbuf(64), [Some(sbuf(0))]).is_some());
    }

    #[test]
    fn a_generation_without_psum_has_empty_rows() {
        let mut memory = Memory::new(Generation::Maverick, false);
        assert!(memory.row_mut(Place { space: Space::Psum, partition: 0 }).unwrap().is_empty());
        assert_eq!(memory.row_mut(sbuf(127)).unwrap().len(), 524_288);
    }
}
