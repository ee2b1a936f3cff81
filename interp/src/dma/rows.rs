//! Transfers between main memory and SBUF that go row by row: what stands in a partition has one place of its own in
//! main memory. Such a transfer can be made for some partitions at a time.

use std::ops::Range;

use super::{Combine, Side, Transfer, Walk};
use crate::memory::Space;
use crate::plan::Bytes;
use partita_isa::dma::DmaSpace;

/// Where a transfer by rows is.
#[derive(Clone, Debug)]
pub(crate) struct ByRows {
    /// The first partition.
    first: usize,
    /// Partitions.
    count: usize,
    /// The bytes of each partition that are touched.
    chip: Range<usize>,
    hbm: Region,
}

/// What a transfer touches of main memory: `len` bytes for each partition, `step` bytes apart.
#[derive(Clone, Copy, Debug)]
struct Region {
    /// Where the bytes of the first partition begin.
    start: i128,
    len: i128,
    step: i128,
    written: bool,
}

impl ByRows {
    fn bytes(&self) -> Bytes {
        Bytes { place: Some(Space::Sbuf), range: self.chip.clone() }
    }

    pub fn partitions(&self) -> Range<usize> {
        self.first..self.first + self.count
    }

    /// Whether bytes that the two touch in main memory for different partitions are different ones, or read by both:
    /// then it does not matter which partition is served first.
    pub fn is_apart(&self, other: &Self) -> bool {
        let (a, b) = (&self.hbm, &other.hbm);
        let is_one = self.count == 1 && other.count == 1 && self.first == other.first;
        if is_one || !a.written && !b.written {
            return true;
        }
        let ([a_low, a_high], [b_low, b_high]) = (self.extent(), other.extent());
        if a_high <= b_low || b_high <= a_low {
            return true;
        }
        // Where partition 0 is, or would be.
        let origin = |rows: &Self| rows.hbm.start - rows.hbm.step * rows.first as i128;
        let (a_start, b_start) = (origin(self), origin(other));
        let reach = (a_start + a.len).max(b_start + b.len) - a_start.min(b_start);
        self.count > 1 && other.count > 1 && a.step == b.step && reach <= a.step
    }

    fn extent(&self) -> [i128; 2] {
        let Region { start, len, step, .. } = self.hbm;
        let last = start + step * (self.count as i128 - 1);
        [start.min(last), start.max(last) + len]
    }
}

impl Transfer {
    /// The rows of the transfer, if it goes by rows.
    pub fn by_rows(&self) -> Option<ByRows> {
        let (chip, hbm, written) = match (self.src, self.dst) {
            (DmaSpace::Hbm, DmaSpace::Sbuf) => (&self.walk.dst, &self.walk.src, false),
            (DmaSpace::Sbuf, DmaSpace::Hbm) => (&self.walk.src, &self.walk.dst, true),
            _ => return None,
        };
        let partition = 1i128 << chip.map.bits;
        let byte = i128::from(chip.map.byte(chip.start));
        let is_within = |[low, high]: [i128; 2]| byte + low >= 0 && byte + high <= partition;
        let inner = if is_within(self.walk.reach(chip, self.walk.dims)) {
            // All of it is in one partition.
            self.walk.dims
        } else {
            self.walk.dims - 1
        };
        let count = self.walk.counts[inner..self.walk.dims].first().copied().unwrap_or(1);
        let [low, high] = self.walk.reach(hbm, inner);
        let steps_by_row = inner == self.walk.dims || i128::from(chip.steps[inner]) == partition;
        let touched = self.walk.reach(chip, inner);
        (steps_by_row && is_within(touched)).then(|| ByRows {
            first: (chip.start >> chip.map.bits) as usize,
            count: count as usize,
            chip: (byte + touched[0]) as usize..(byte + touched[1]) as usize,
            hbm: Region {
                start: i128::from(hbm.start) + low,
                len: high - low,
                step: if inner == self.walk.dims { 0 } else { hbm.steps[inner].into() },
                written,
            },
        })
    }

    /// The bytes of each partition that a result may depend on.
    pub fn reads(&self, rows: &ByRows) -> Vec<Bytes> {
        let is_read = self.src == DmaSpace::Sbuf || !matches!(self.combine, Combine::Copy);
        is_read.then(|| rows.bytes()).into_iter().collect()
    }

    /// Bytes of each partition that are sure to be written.
    pub fn writes(&self, rows: &ByRows) -> Vec<Bytes> {
        let elements = if rows.count > 1 { self.walk.dims - 1 } else { self.walk.dims };
        let is_run = elements == 0 || elements == 1 && self.walk.is_run(&self.walk.dst);
        (self.dst == DmaSpace::Sbuf && is_run).then(|| rows.bytes()).into_iter().collect()
    }

    /// The part of a transfer by rows that serves these partitions, on rows that are `down` partitions below; `None`
    /// when there is none.
    pub fn within(&self, rows: &ByRows, band: &Range<usize>, down: usize) -> Option<Self> {
        let all = rows.partitions();
        let (start, end) = (all.start.max(band.start), all.end.min(band.end));
        if start >= end {
            return None;
        }
        let mut part = *self;
        if rows.count > 1 {
            let (outer, skipped) = (self.walk.dims - 1, (start - all.start) as i64);
            part.walk.counts[outer] = (end - start) as u64;
            for side in [&mut part.walk.src, &mut part.walk.dst] {
                side.start = side.start.wrapping_add_signed(side.steps[outer] * skipped);
            }
        }
        let chip = if self.src == DmaSpace::Sbuf { &mut part.walk.src } else { &mut part.walk.dst };
        chip.start -= (down as u64) << chip.map.bits;
        Some(part)
    }
}

impl Walk {
    /// The bytes that the inner `dims` dimensions reach on one side, counted from where they begin.
    fn reach(&self, side: &Side, dims: usize) -> [i128; 2] {
        let steps = side.steps[..dims].iter().zip(&self.counts);
        steps.fold([0, self.width as i128], |[low, high], (&step, &count)| {
            let far = i128::from(step) * (i128::from(count) - 1);
            [low + far.min(0), high + far.max(0)]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Limits, Machine};
    use partita_isa::dma::{Descriptor, DmaAddr, DmaDim};
    use partita_isa::{Dtype, Target};

    const PARTITION: i64 = 0x4_0000;

    fn transfer(src: DmaAddr, dst: DmaAddr, dims: &[(u32, i64, i64)]) -> Transfer {
        let machine = Machine::new(Target::default(), 0, Limits::default()).unwrap();
        let dims: Vec<DmaDim> = dims
            .iter()
            .map(|&(count, src_stride, dst_stride)| DmaDim { count, src_stride, dst_stride })
            .collect();
        let dims = dims[..].try_into().unwrap();
        let descriptor = Descriptor { dims, ..Descriptor::copy(Dtype::Fp32, src, dst) };
        machine.plan_transfer(&descriptor).unwrap()
    }

    fn load(address: u64, row: i64, columns: u32) -> Transfer {
        let dims = [(columns, 4, 4), (64, row, PARTITION)];
        transfer(DmaAddr::hbm(address), DmaAddr::sbuf(32 * PARTITION as u64 + 8), &dims)
    }

    fn store(address: u64, row: i64, columns: u32) -> Transfer {
        let dims = [(columns, 4, 4), (64, PARTITION, row)];
        transfer(DmaAddr::sbuf(32 * PARTITION as u64), DmaAddr::hbm(address), &dims)
    }

    #[test]
    fn rows_are_found_and_cut() {
        let whole = load(4096, 400, 100);
        let rows = whole.by_rows().unwrap();
        assert_eq!(rows.partitions(), 32..96);
        assert!(
            whole.within(&rows, &(0..32), 0).is_none()
                && whole.within(&rows, &(96..99), 0).is_none()
        );
        let part = whole.within(&rows, &(48..64), 0).unwrap();
        assert_eq!(part.by_rows().unwrap().partitions(), 48..64);
        assert_eq!((part.walk.src.start, part.walk.counts[1]), (4096 + 16 * 400, 16));
        let below = whole.within(&rows, &(48..64), 48).unwrap();
        assert_eq!(below.by_rows().unwrap().partitions(), 0..16);
        assert_eq!(below.walk.src.start, part.walk.src.start);
        let one = transfer(DmaAddr::hbm(0), DmaAddr::sbuf(5 * PARTITION as u64), &[(9, 4, 4)]);
        let rows = one.by_rows().unwrap();
        assert_eq!(rows.partitions(), 5..6);
        assert!(
            one.within(&rows, &(0..5), 0).is_none() && one.within(&rows, &(0..16), 0).is_some()
        );
    }

    #[test]
    fn transfers_of_other_shapes_do_not_go_by_rows() {
        let chip = DmaAddr::sbuf(0);
        let columns_first = [(64, 400, PARTITION), (100, 4, 4)];
        assert!(transfer(DmaAddr::hbm(0), chip, &columns_first).by_rows().is_none());
        assert!(transfer(DmaAddr::hbm(0), chip, &[(8, 4, 2 * PARTITION)]).by_rows().is_none());
        assert!(transfer(DmaAddr::hbm(0), DmaAddr::hbm(64), &[(8, 4, 4)]).by_rows().is_none());
        // A run over the end of a partition.
        let end = DmaAddr::sbuf(PARTITION as u64 - 8);
        assert!(transfer(DmaAddr::hbm(0), end, &[(3, 4, 4)]).by_rows().is_none());
    }

    #[test]
    fn rows_in_main_memory_that_overlap_are_told() {
        let rows = |transfer: Transfer| transfer.by_rows().unwrap();
        let out = rows(store(0, 400, 100));
        assert!(out.is_apart(&out) && out.is_apart(&rows(load(0, 400, 100))));
        assert!(
            out.is_apart(&rows(load(40, 400, 90))) && out.is_apart(&rows(store(64 * 400, 8, 2)))
        );
        // The next partition's bytes, another distance, and all in one place.
        assert!(!out.is_apart(&rows(load(40, 400, 100))));
        assert!(!out.is_apart(&rows(load(0, 404, 100))));
        let same = rows(store(0, 0, 100));
        assert!(!same.is_apart(&same) && !out.is_apart(&rows(load(0, 0, 100))));
        assert!(rows(load(0, 0, 100)).is_apart(&rows(load(0, 400, 100))));
    }
}
