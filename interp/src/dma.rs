//! What a DMA descriptor does: a strided copy, or an accumulation, between HBM and SBUF.

mod rows;

use partita_backend::counters::{Update, Wait};
use partita_isa::dma::{self, Descriptor, DmaAddr, DmaDim, DmaKind, DmaSpace, MAX_DIMS};
use partita_isa::{AluOp, Dtype, Generation, Target};

use crate::error::Fault;
use crate::machine::Machine;
use crate::memory::Space;
use crate::numeric::convert::{from_float, to_float};
use crate::numeric::kernels::{Binary, Convert};
use crate::numeric::simd::Simd;
use crate::numeric::table;

pub(crate) use rows::ByRows;

impl Machine {
    /// Whether every wait of the descriptor is satisfied.
    pub fn dma_may_start(&self, descriptor: &Descriptor) -> bool {
        Wait::of_descriptor(descriptor).all(|wait| wait.holds(&self.counters))
    }

    /// Executes one descriptor: its waits, which must be satisfied, its transfer, and its update.
    ///
    /// # Errors
    /// An illegal descriptor, an unsatisfied wait, or more elements than the limits allow.
    pub fn step_dma(&mut self, descriptor: &Descriptor) -> Result<(), Fault> {
        self.check_dma(descriptor)?;
        self.step_legal_dma(descriptor)
    }

    /// The rules that the descriptor breaks.
    pub(crate) fn check_dma(&self, descriptor: &Descriptor) -> Result<(), Fault> {
        Fault::of(&dma::check(descriptor, &self.target, self.hbm.len() as u64))
    }

    /// As [`Machine::step_dma`] for a descriptor that was checked.
    pub(crate) fn step_legal_dma(&mut self, descriptor: &Descriptor) -> Result<(), Fault> {
        self.between_waits(descriptor, |machine| machine.transfer(descriptor))
    }

    /// A descriptor's waits, which must be satisfied, its effect, and its update.
    pub(crate) fn between_waits(
        &mut self,
        descriptor: &Descriptor,
        effect: impl FnOnce(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if let Some((condition, state)) = self.unsatisfied_dma(descriptor) {
            return Err(Fault::Wait { condition, state });
        }
        effect(self)?;
        if let Some(update) = Update::of_descriptor(descriptor) {
            update.apply(&mut self.counters);
        }
        Ok(())
    }

    /// The first wait that does not hold, and the state of its semaphore.
    pub(crate) fn unsatisfied_dma(&self, descriptor: &Descriptor) -> Option<(String, String)> {
        let wait = Wait::of_descriptor(descriptor).find(|wait| !wait.holds(&self.counters))?;
        Some((wait.to_string(), wait.cell().state(&self.counters)))
    }

    /// Moves the elements of a legal descriptor, in walk order. Within one memory every source element is read before
    /// anything is written.
    pub(crate) fn transfer(&mut self, descriptor: &Descriptor) -> Result<(), Fault> {
        let transfer = self.plan_transfer(descriptor)?;
        self.run_transfer(&transfer);
        Ok(())
    }

    /// A legal descriptor ready to run on this machine.
    pub(crate) fn plan_transfer(&self, descriptor: &Descriptor) -> Result<Transfer, Fault> {
        let limit = self.limits.elements.saturating_mul(128);
        if descriptor.elements() > limit as u64 {
            return Err(Fault::TooManyElements { limit });
        }
        let row = self.memory.stride(Space::Sbuf);
        Ok(Transfer {
            walk: Walk::new(descriptor, self.target.generation, row),
            combine: Combine::new(descriptor, self.target, self.limits.simd),
            src: descriptor.src.space,
            dst: descriptor.dst.space,
        })
    }

    /// Makes a transfer that was planned for this machine.
    pub(crate) fn run_transfer(&mut self, transfer: &Transfer) {
        let Transfer { walk, combine, src, dst } = transfer;
        let (hbm, sbuf) = (&mut self.hbm[..], self.memory.sbuf_mut());
        match (src, dst) {
            (DmaSpace::Hbm, DmaSpace::Sbuf) => walk.transfer(hbm, sbuf, combine),
            (DmaSpace::Sbuf, DmaSpace::Hbm) => walk.transfer(sbuf, hbm, combine),
            (DmaSpace::Hbm, DmaSpace::Hbm) => walk.transfer_within(hbm, combine, &mut self.staged),
            (DmaSpace::Sbuf, DmaSpace::Sbuf) => {
                walk.transfer_within(sbuf, combine, &mut self.staged);
            }
        }
    }
}

/// A descriptor ready to run.
#[derive(Clone, Copy)]
pub(crate) struct Transfer {
    walk: Walk,
    combine: Combine,
    src: DmaSpace,
    dst: DmaSpace,
}

impl Transfer {
    /// Elements that are moved, at most the limit of the machine.
    pub fn elements(&self) -> usize {
        self.walk.counts.iter().product::<u64>() as usize
    }
}

/// From addresses to positions in a memory's bytes: the rows of SBUF are not kept a partition's stride apart.
#[derive(Clone, Copy)]
struct Map {
    /// Low bits of an address that are the byte within the partition.
    bits: u32,
    /// Bytes from one partition's row to the next as they are kept.
    row: u64,
}

impl Map {
    fn new(space: DmaSpace, generation: Generation, row: usize) -> Self {
        match space {
            DmaSpace::Hbm => Self { bits: u64::BITS - 1, row: 0 },
            DmaSpace::Sbuf => {
                Self { bits: generation.sbuf_stride().trailing_zeros(), row: row as u64 }
            }
        }
    }

    fn byte(self, address: u64) -> u64 {
        address & ((1 << self.bits) - 1)
    }

    #[inline]
    fn position(self, address: u64) -> usize {
        ((address >> self.bits) * self.row + self.byte(address)) as usize
    }

    /// Bytes from an address to the end of its partition.
    fn room(self, address: u64) -> usize {
        usize::try_from((1 << self.bits) - self.byte(address)).unwrap_or(usize::MAX)
    }
}

/// One side of a walk.
#[derive(Clone, Copy)]
struct Side {
    map: Map,
    start: u64,
    steps: [i64; MAX_DIMS],
}

impl Side {
    fn new(at: DmaAddr, generation: Generation, row: usize) -> Self {
        Self { map: Map::new(at.space, generation, row), start: at.addr, steps: [0; MAX_DIMS] }
    }
}

/// The walk of a descriptor, neighbouring dimensions merged.
#[derive(Clone, Copy)]
struct Walk {
    width: usize,
    counts: [u64; MAX_DIMS],
    dims: usize,
    src: Side,
    dst: Side,
}

impl Walk {
    fn new(descriptor: &Descriptor, generation: Generation, row: usize) -> Self {
        let mut walk = Self {
            width: descriptor.elem.size(),
            counts: [1; MAX_DIMS],
            dims: 0,
            src: Side::new(descriptor.src, generation, row),
            dst: Side::new(descriptor.dst, generation, row),
        };
        for dim in descriptor.dims.iter().filter(|dim| dim.count != 1) {
            walk.push(dim);
        }
        if walk.dims == 0 {
            let step = walk.width as i64;
            walk.push(&DmaDim { count: 1, src_stride: step, dst_stride: step });
        }
        walk
    }

    fn push(&mut self, dim: &DmaDim) {
        let continues = |side: &Side, step: i64, last: usize| {
            i128::from(step) == i128::from(side.steps[last]) * i128::from(self.counts[last])
        };
        if let Some(last) = self.dims.checked_sub(1)
            && continues(&self.src, dim.src_stride, last)
            && continues(&self.dst, dim.dst_stride, last)
        {
            self.counts[last] *= u64::from(dim.count);
            return;
        }
        self.counts[self.dims] = dim.count.into();
        self.src.steps[self.dims] = dim.src_stride;
        self.dst.steps[self.dims] = dim.dst_stride;
        self.dims += 1;
    }

    /// Whether an inner loop of this side is one run of bytes.
    fn is_run(&self, side: &Side) -> bool {
        side.steps[0] == self.width as i64
    }

    /// Calls `each` with the two addresses where each inner loop begins.
    fn for_each_line(&self, mut each: impl FnMut(u64, u64)) {
        let mut index = [0; MAX_DIMS];
        let (mut src, mut dst) = (self.src.start, self.dst.start);
        loop {
            each(src, dst);
            let mut d = 1;
            loop {
                if d >= self.dims {
                    return;
                }
                index[d] += 1;
                src = src.wrapping_add_signed(self.src.steps[d]);
                dst = dst.wrapping_add_signed(self.dst.steps[d]);
                if index[d] < self.counts[d] {
                    break;
                }
                let back = self.counts[d] as i64;
                src = src.wrapping_add_signed(self.src.steps[d].wrapping_mul(back).wrapping_neg());
                dst = dst.wrapping_add_signed(self.dst.steps[d].wrapping_mul(back).wrapping_neg());
                index[d] = 0;
                d += 1;
            }
        }
    }

    /// Calls `each` with the two positions of each element of an inner loop.
    fn for_each_element(&self, src: u64, dst: u64, mut each: impl FnMut(usize, usize)) {
        let (mut src, mut dst) = (src, dst);
        for _ in 0..self.counts[0] {
            each(self.src.map.position(src), self.dst.map.position(dst));
            src = src.wrapping_add_signed(self.src.steps[0]);
            dst = dst.wrapping_add_signed(self.dst.steps[0]);
        }
    }

    /// Between two memories.
    fn transfer(&self, from: &[u8], to: &mut [u8], combine: &Combine) {
        let runs = self.is_run(&self.src) && self.is_run(&self.dst);
        let line = self.counts[0] as usize * self.width;
        self.for_each_line(|src, dst| {
            if runs {
                let (mut src, mut dst, mut left) = (src, dst, line);
                while left > 0 {
                    let len = left.min(self.src.map.room(src)).min(self.dst.map.room(dst));
                    let (at, to_at) = (self.src.map.position(src), self.dst.map.position(dst));
                    combine.apply(&mut to[to_at..to_at + len], &from[at..at + len]);
                    (src, dst, left) = (src + len as u64, dst + len as u64, left - len);
                }
            } else if let Combine::Copy = combine {
                match self.width {
                    1 => self.copy_line::<1>(src, dst, from, to),
                    2 => self.copy_line::<2>(src, dst, from, to),
                    4 => self.copy_line::<4>(src, dst, from, to),
                    _ => self.copy_line::<8>(src, dst, from, to),
                }
            } else {
                self.for_each_element(src, dst, |at, to_at| {
                    let element = &from[at..at + self.width];
                    combine.apply(&mut to[to_at..to_at + self.width], element);
                });
            }
        });
    }

    fn copy_line<const W: usize>(&self, src: u64, dst: u64, from: &[u8], to: &mut [u8]) {
        self.for_each_element(src, dst, |at, to_at| {
            to[to_at..to_at + W].copy_from_slice(&from[at..at + W]);
        });
    }

    /// Within one memory: the source elements are copied aside first.
    fn transfer_within(&self, bytes: &mut [u8], combine: &Combine, staged: &mut Vec<u8>) {
        staged.clear();
        let line = self.counts[0] as usize * self.width;
        self.for_each_line(|src, dst| {
            if self.is_run(&self.src) {
                let (mut src, mut left) = (src, line);
                while left > 0 {
                    let len = left.min(self.src.map.room(src));
                    let at = self.src.map.position(src);
                    staged.extend_from_slice(&bytes[at..at + len]);
                    (src, left) = (src + len as u64, left - len);
                }
            } else {
                self.for_each_element(src, dst, |at, _| {
                    staged.extend_from_slice(&bytes[at..at + self.width]);
                });
            }
        });
        let mut lines = staged.chunks_exact(line);
        self.for_each_line(|src, dst| {
            let Some(line) = lines.next() else { return };
            if self.is_run(&self.dst) {
                let (mut dst, mut line) = (dst, line);
                while !line.is_empty() {
                    let len = line.len().min(self.dst.map.room(dst));
                    let (now, later) = line.split_at(len);
                    let at = self.dst.map.position(dst);
                    combine.apply(&mut bytes[at..at + len], now);
                    (dst, line) = (dst + len as u64, later);
                }
            } else {
                let mut elements = line.chunks_exact(self.width);
                self.for_each_element(src, dst, |_, at| {
                    if let Some(element) = elements.next() {
                        combine.apply(&mut bytes[at..at + self.width], element);
                    }
                });
            }
        });
    }
}

/// What happens to destination elements.
#[derive(Clone, Copy)]
enum Combine {
    Copy,
    /// An operation on lanes, with the conversions of types narrower than fp32.
    Fold {
        op: Binary,
        convert: Option<(Convert, Convert)>,
        width: usize,
    },
}

impl Combine {
    fn new(descriptor: &Descriptor, target: Target, simd: Simd) -> Self {
        let elem = descriptor.elem;
        let float = matches!(elem, Dtype::Fp32 | Dtype::Bfloat16 | Dtype::Fp16);
        let signed = elem.is_signed_int();
        let op = match (descriptor.kind, float, signed) {
            (DmaKind::Copy, ..) => return Self::Copy,
            (DmaKind::Add, ..) => AluOp::Add,
            (DmaKind::Max, ..) => AluOp::Max,
            (DmaKind::Min, true, _) => AluOp::Min,
            (DmaKind::Min, false, true) => AluOp::MinInt,
            (DmaKind::Min, false, false) => AluOp::MinUint,
        };
        let kernels = if float {
            table::float(simd, op)
        } else {
            table::integer(simd, op, signed, elem.size())
        };
        let convert = match elem {
            Dtype::Bfloat16 | Dtype::Fp16 => {
                to_float(simd, elem, target).zip(from_float(simd, elem, target))
            }
            _ => None,
        };
        match kernels {
            Some(kernels) => Self::Fold { op: kernels.binary, convert, width: elem.size() },
            // Every operation above has kernels in its domain.
            None => Self::Copy,
        }
    }

    /// Combines a run of elements with what stands in the destination.
    fn apply(&self, to: &mut [u8], from: &[u8]) {
        /// Elements at a time.
        const BLOCK: usize = 256;
        let Self::Fold { op, convert, width } = self else {
            return to.copy_from_slice(from);
        };
        let mut lanes = [[0; BLOCK * 4]; 3];
        let [old, new, out] = &mut lanes;
        for (to, from) in to.chunks_mut(BLOCK * width).zip(from.chunks(BLOCK * width)) {
            let bytes = from.len() / width * 4;
            let (old, new, out) = (&mut old[..bytes], &mut new[..bytes], &mut out[..bytes]);
            match convert {
                Some((load, store)) => {
                    load(old, to);
                    load(new, from);
                    op(out, old, new);
                    store(to, out);
                }
                None => {
                    op(out, to, from);
                    to.copy_from_slice(out);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Limits;
    use crate::memory::Place;

    fn machine() -> Machine {
        let mut machine = Machine::new(Target::default(), 4096, Limits::default()).unwrap();
        for (i, byte) in machine.hbm.iter_mut().enumerate() {
            *byte = (i % 251) as u8;
        }
        machine
    }

    fn descriptor(src: DmaAddr, dst: DmaAddr, dims: &[(u32, i64, i64)]) -> Descriptor {
        let dims: Vec<DmaDim> = dims
            .iter()
            .map(|&(count, src_stride, dst_stride)| DmaDim { count, src_stride, dst_stride })
            .collect();
        Descriptor {
            dims: dims[..].try_into().unwrap(),
            ..Descriptor::copy(Dtype::Uint16, src, dst)
        }
    }

    fn sbuf(partition: usize) -> Place {
        Place { space: Space::Sbuf, partition }
    }

    #[test]
    fn rows_go_to_partitions_and_come_back() {
        let mut machine = machine();
        let stride = 0x4_0000;
        let (hbm, chip) = (DmaAddr::hbm(16), DmaAddr::sbuf(2 * stride as u64 + 8));
        let load = descriptor(hbm, chip, &[(4, 2, 2), (3, 10, stride)]);
        machine.step_dma(&load).unwrap();
        for p in 0..3 {
            let want: Vec<u8> = (0..8).map(|i| (16 + 10 * p + i) as u8).collect();
            assert_eq!(machine.row(sbuf(2 + p), 8, 8).unwrap(), want);
        }
        let store = descriptor(chip, DmaAddr::hbm(4000), &[(3, stride, 8), (4, 2, 2)]);
        machine.step_dma(&store).unwrap();
        assert_eq!(machine.hbm(4000, 4).unwrap(), [16, 17, 18, 19]);
        assert_eq!(machine.hbm(4016, 4).unwrap(), [36, 37, 38, 39]);
    }

    /// On MARIANA the active bytes fill the partition, so rows that fill theirs are one run in HBM and on the chip.
    #[test]
    fn a_run_may_go_on_into_the_next_partition() {
        let stride = 0x4_0000;
        let mut machine =
            Machine::new(Generation::Mariana.into(), 4 * stride, Limits::default()).unwrap();
        for (i, byte) in machine.hbm.iter_mut().enumerate() {
            *byte = (i % 251) as u8;
        }
        let step = stride as i64;
        let dims = [(0x2_0000, 2, 2), (2, step, step)];
        let expect = machine.hbm(0, 2 * stride).unwrap().to_vec();
        let chip = DmaAddr::sbuf(stride);
        machine.step_dma(&descriptor(DmaAddr::hbm(0), chip, &dims)).unwrap();
        let moved = descriptor(chip, DmaAddr::sbuf(2 * stride), &dims);
        machine.step_dma(&moved).unwrap();
        for (p, row) in expect.chunks(stride as usize).enumerate() {
            assert!(machine.row(sbuf(2 + p), 0, row.len()).unwrap() == row, "row {p}");
        }
        let back = descriptor(DmaAddr::sbuf(2 * stride), DmaAddr::hbm(2 * stride), &dims);
        machine.step_dma(&back).unwrap();
        assert!(machine.hbm(2 * stride, 2 * stride).unwrap() == expect);
    }

    #[test]
    fn overlapping_copies_read_first() {
        let mut machine = machine();
        let before = machine.hbm(100, 64).unwrap().to_vec();
        let shift = descriptor(DmaAddr::hbm(100), DmaAddr::hbm(104), &[(4, 8, 8), (2, 2, 2)]);
        machine.step_dma(&shift).unwrap();
        let after = machine.hbm(100, 64).unwrap();
        for block in 0..4 {
            assert_eq!(after[4 + 8 * block..8 + 8 * block], before[8 * block..4 + 8 * block]);
        }
    }

    #[test]
    fn accumulation_rounds_once() {
        let mut machine = machine();
        let put = |machine: &mut Machine, at: u64, bits: [u16; 2]| {
            let bytes: Vec<u8> = bits.iter().flat_map(|b| b.to_le_bytes()).collect();
            machine.hbm_mut(at, 4).unwrap().copy_from_slice(&bytes);
        };
        // 256 + 1 is a tie between 256 and 258 in bf16, 1 + 1 is exact.
        put(&mut machine, 0, [0x4380, 0x3F80]);
        put(&mut machine, 8, [0x3F80, 0x3F80]);
        let mut add = descriptor(DmaAddr::hbm(8), DmaAddr::hbm(0), &[(2, 2, 2)]);
        add.elem = Dtype::Bfloat16;
        add.kind = DmaKind::Add;
        machine.step_dma(&add).unwrap();
        assert_eq!(machine.hbm(0, 4).unwrap(), [0x80, 0x43, 0x00, 0x40]);
        let min = Descriptor { elem: Dtype::Uint32, kind: DmaKind::Min, ..add };
        machine.hbm_mut(0, 8).unwrap().copy_from_slice(&[5, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF]);
        machine.hbm_mut(8, 8).unwrap().copy_from_slice(&[6, 0, 0, 0, 1, 0, 0, 0x80]);
        let dims = [DmaDim { count: 2, src_stride: 4, dst_stride: 4 }];
        machine.step_dma(&Descriptor { dims: dims[..].try_into().unwrap(), ..min }).unwrap();
        assert_eq!(machine.hbm(0, 8).unwrap(), [5, 0, 0, 0, 1, 0, 0, 0x80]);
    }
}
