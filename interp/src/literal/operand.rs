//! Operands as lists of places, one element after the other (ISA 4.2, 4.4).

use std::collections::BTreeSet;

use crate::conventions::Alternative;
use crate::error::Fault;
use crate::machine::Machine;
use crate::memory::Place;
use crate::plan::{Gather, INDEX_BYTES, Immediate, Operand};
use crate::walk::Cursor;

/// Elements per channel that are computed one by one: beyond it, patterns of step 0 would ask for too much.
const ELEMENTS: usize = 1 << 22;
/// The same over all channels, where all are held at once.
const HELD: usize = 1 << 25;

/// An operand without its place: how wide its elements are, and where they lie in each channel's row.
#[derive(Clone, Debug)]
pub struct Stream {
    pub place: Place,
    pub width: usize,
    offsets: Offsets,
}

/// Byte offsets of the elements within a row.
#[derive(Clone, Debug)]
enum Offsets {
    /// The same in every row.
    Same(Vec<usize>),
    /// Of each channel's own, as its indices say.
    Each(Vec<Vec<usize>>),
}

impl Stream {
    /// # Errors
    /// The pattern visits too many elements to do so one by one.
    pub fn new(operand: &Operand) -> Result<Self, Fault> {
        let len = operand.walk.len();
        if len > ELEMENTS {
            return Err(Fault::TooManyElements { limit: ELEMENTS });
        }
        let mut cursor = Cursor::new(operand.walk);
        let offsets = (0..len)
            .map(|_| {
                let at = cursor.position() * operand.width;
                cursor.advance(1);
                at
            })
            .collect();
        let offsets = Offsets::Same(offsets);
        Ok(Self { place: operand.place, width: operand.width, offsets })
    }

    /// The elements that an index array names in every channel (ISA 4.4).
    ///
    /// # Errors
    /// An index leads out of its row.
    pub fn gathered(machine: &Machine, gather: &Gather, channels: usize) -> Result<Self, Fault> {
        let row = |place: Place, channel| {
            let place = Place { partition: place.partition + channel, ..place };
            machine.memory.row(place).unwrap_or_default()
        };
        let channel = |channel| {
            let (indices, data) = (row(gather.index, channel), row(gather.data, channel));
            let offset = |number| {
                let at = gather.index_offset + number * INDEX_BYTES;
                let index = element(indices, at, INDEX_BYTES) as usize;
                let offset = gather.data_offset + index * gather.width;
                let inside = offset + gather.width <= data.len();
                inside.then_some(offset).ok_or_else(|| gather.outside())
            };
            (0..gather.count).map(offset).collect::<Result<Vec<usize>, Fault>>()
        };
        let each = (0..channels).map(channel).collect::<Result<_, Fault>>()?;
        Ok(Self { place: gather.data, width: gather.width, offsets: Offsets::Each(each) })
    }

    /// Where the elements of a channel lie.
    fn of(&self, channel: usize) -> &[usize] {
        match &self.offsets {
            Offsets::Same(offsets) => offsets,
            Offsets::Each(channels) => channels.get(channel).map_or(&[], Vec::as_slice),
        }
    }

    /// Elements of a channel.
    pub fn len(&self) -> usize {
        self.of(0).len()
    }

    /// Elements from number `first` on of a channel, as they stand in memory.
    pub fn read(&self, machine: &Machine, channel: usize, first: usize, out: &mut [u64]) {
        let place = Place { partition: self.place.partition + channel, ..self.place };
        let row = machine.memory.row(place).unwrap_or_default();
        let offsets = self.of(channel).get(first..).unwrap_or_default();
        for (out, &at) in out.iter_mut().zip(offsets) {
            *out = element(row, at, self.width);
        }
    }

    /// Every element of every channel, as they stand in memory.
    ///
    /// # Errors
    /// They are too many to be held at once.
    pub fn hold(&self, machine: &Machine, channels: usize) -> Result<Vec<Vec<u64>>, Fault> {
        if self.len().saturating_mul(channels) > HELD {
            return Err(Fault::TooManyElements { limit: HELD / channels.max(1) });
        }
        let row = |channel| {
            let mut row = vec![0; self.len()];
            self.read(machine, channel, 0, &mut row);
            row
        };
        Ok((0..channels).map(row).collect())
    }
}

/// The little-endian element at a byte of a row.
fn element(row: &[u8], at: usize, width: usize) -> u64 {
    let bytes = row.get(at..at + width).unwrap_or_default();
    bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

/// The scalar of a channel, read before anything is written (ISA 8.1).
pub fn scalar(machine: &Machine, immediate: &Immediate, channel: usize) -> u64 {
    let row = immediate.place().and_then(|place| {
        machine.memory.row(Place { partition: place.partition + channel, ..place })
    });
    immediate.read(row.unwrap_or_default())
}

/// What writes the results of one channel.
#[derive(Debug)]
pub struct Sink<'a> {
    width: usize,
    place: Place,
    /// Where the elements lie.
    offsets: &'a [usize],
    /// Where something was written, if the first write to a place stays.
    written: Option<BTreeSet<usize>>,
}

impl<'a> Sink<'a> {
    pub fn new(machine: &Machine, dst: &'a Stream, channel: usize) -> Self {
        let place = Place { partition: dst.place.partition + channel, ..dst.place };
        let first = machine.conventions.has(Alternative::FirstWrite);
        let offsets = dst.of(channel);
        Self { width: dst.width, place, offsets, written: first.then(BTreeSet::new) }
    }

    /// Writes element `number` of the destination.
    pub fn write(&mut self, machine: &mut Machine, number: usize, bits: u64) {
        let Some(&at) = self.offsets.get(number) else { return };
        if let Some(written) = &mut self.written
            && !written.insert(at)
        {
            return;
        }
        let row = machine.memory.row_mut(self.place).unwrap_or_default();
        if let Some(bytes) = row.get_mut(at..at + self.width) {
            bytes.copy_from_slice(&bits.to_le_bytes()[..self.width]);
        }
    }
}

/// Where a source's elements are read.
#[derive(Clone, Debug)]
pub enum Source {
    /// In memory.
    Rows(Stream),
    /// Held aside before anything is written, channel by channel.
    Held(Vec<Vec<u64>>),
}

impl Source {
    pub fn len(&self) -> usize {
        match self {
            Self::Rows(stream) => stream.len(),
            Self::Held(rows) => rows.first().map_or(0, Vec::len),
        }
    }

    pub fn read(&self, machine: &Machine, channel: usize, first: usize, out: &mut [u64]) {
        match self {
            Self::Rows(stream) => stream.read(machine, channel, first, out),
            Self::Held(rows) => {
                let row = rows.get(channel).and_then(|row| row.get(first..)).unwrap_or_default();
                for (out, &bits) in out.iter_mut().zip(row) {
                    *out = bits;
                }
            }
        }
    }
}
