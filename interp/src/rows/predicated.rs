//! Opcodes that write some of their destination's elements (0x72, 0x99).

use crate::numeric::convert::Store;
use crate::numeric::kernels::Convert;

use super::stream::{Destination, Reader, Source, Writer, block_length};
use super::{BLOCK, Scratch, store};

/// One instruction of this kind, without its place in memory.
#[derive(Clone, Copy, Debug)]
pub struct Predicated {
    /// The predicate, whose lanes are its bytes in memory, and the data.
    pub sources: [Source; 2],
    /// From predicate elements to a mask of one byte each.
    pub mask: Convert,
    pub dst: Destination,
    pub store: Store,
}

impl Predicated {
    /// Runs one channel; every source element is read before the first result is written, and elements whose
    /// predicate is 0 write nothing.
    pub fn run(&self, scratch: &mut Scratch, row: &mut [u8], others: [Option<&[u8]>; 2]) {
        let Scratch { raw: [raw0, raw1], lanes: [lanes0, lanes1], middle, held, mask, .. } =
            scratch;
        let shared: &[u8] = row;
        let [mut predicate, mut data] =
            [0, 1].map(|i| Reader::new(self.sources[i], others[i].or(Some(shared)), 0));
        let len = self.dst.walk.len();
        mask.resize(len, 0);
        held.resize(len * self.dst.width, 0);
        let mut done = 0;
        while done < len {
            let count = block_length(len - done, BLOCK, &[predicate, data], None);
            let wanted = predicate.next(count, &[], raw0, lanes0);
            (self.mask)(&mut mask[done..done + count], wanted);
            let lanes = data.next(count, &[], raw1, lanes1);
            let width = self.dst.width;
            let held = &mut held[done * width..(done + count) * width];
            store(self.store, held, lanes, middle);
            done += count;
        }
        write_masked(&self.dst, row, held, mask);
    }
}

fn write_masked(dst: &Destination, row: &mut [u8], held: &[u8], mask: &[u8]) {
    let Some(start) = dst.walk.as_run() else {
        return Writer::new(dst, row, 0).rest_masked(held, mask);
    };
    let row = &mut row[start * dst.width..][..held.len()];
    match dst.width {
        1 => blend::<1>(row, held, mask),
        2 => blend::<2>(row, held, mask),
        4 => blend::<4>(row, held, mask),
        _ => blend::<8>(row, held, mask),
    }
}

fn blend<const W: usize>(row: &mut [u8], held: &[u8], mask: &[u8]) {
    let values = held.as_chunks::<W>().0.iter().zip(mask);
    for (place, (value, &wanted)) in row.as_chunks_mut::<W>().0.iter_mut().zip(values) {
        *place = if wanted != 0 { *value } else { *place };
    }
}
