//! Rules DMA-1 to DMA-8.

use super::record::offset;
use super::rules::{DMA_1, DMA_2, DMA_3, DMA_4, DMA_5, DMA_6, DMA_7, DMA_8};
use super::{Descriptor, DmaAddr, DmaDim, DmaKind, DmaSpace, QUEUES};
use crate::dtype::Dtype;
use crate::rule::Rule;
use crate::target::{PARTITIONS, Target};
use crate::violation::{Severity, Violation};

/// Judges a descriptor for a target whose HBM arena has `hbm_bytes` bytes. Reports every broken
/// rule, DMA-8 as a warning; an empty answer allocates nothing.
pub fn check(descriptor: &Descriptor, target: &Target, hbm_bytes: u64) -> Vec<Violation> {
    let mut checker = Checker { descriptor, target, violations: Vec::new() };
    checker.run(hbm_bytes);
    checker.violations
}

/// One end of the transfer.
struct Side {
    field: &'static str,
    offset: usize,
    at: DmaAddr,
    stride: fn(&DmaDim) -> i64,
    stride_offset: usize,
}

struct Checker<'a> {
    descriptor: &'a Descriptor,
    target: &'a Target,
    violations: Vec<Violation>,
}

impl Checker<'_> {
    fn run(&mut self, hbm_bytes: u64) {
        let d = self.descriptor;
        if d.queue >= QUEUES {
            self.fail(&DMA_1, "queue", offset::QUEUE, d.queue.to_string(), "0 to 15");
        }
        let elem_ok = d.elem.is_output_64() && (d.kind == DmaKind::Copy || accumulates(d.elem));
        if !elem_ok {
            let allowed = if d.kind == DmaKind::Copy {
                "a type of 1, 2, 4 or 8 bytes"
            } else {
                "FP32, BFLOAT16, FP16, INT32, UINT32"
            };
            self.fail(&DMA_2, "elem", offset::ELEM, d.elem.to_string(), allowed);
        }
        for (i, dim) in d.dims.iter().enumerate() {
            if dim.count == 0 {
                let at = offset::DIMS + i * offset::DIM_SIZE;
                self.fail(&DMA_3, "dims", at, format!("count 0 in dimension {i}"), "1 or more");
            }
        }
        if d.elements() > u32::MAX.into() {
            let found = format!("{} elements", d.elements());
            self.fail(&DMA_3, "dims", offset::DIMS, found, "at most 4294967295 elements");
        }
        let src = Side {
            field: "src",
            offset: offset::SRC,
            at: d.src,
            stride: |dim| dim.src_stride,
            stride_offset: 8,
        };
        let dst = Side {
            field: "dst",
            offset: offset::DST,
            at: d.dst,
            stride: |dim| dim.dst_stride,
            stride_offset: 16,
        };
        if d.elements() != 0 {
            self.place(&src, hbm_bytes);
            self.place(&dst, hbm_bytes);
        }
        self.alignment(&src);
        self.alignment(&dst);
        self.writes_once(&dst);
    }

    /// DMA-4 and DMA-5.
    fn place(&mut self, side: &Side, hbm_bytes: u64) {
        let d = self.descriptor;
        let size = d.elem.size() as i128;
        match side.at.space {
            DmaSpace::Hbm => {
                let (low, high) = extent(d.dims.iter().map(|dim| (dim.count, (side.stride)(dim))));
                let (low, high) = (low + i128::from(side.at.addr), high + i128::from(side.at.addr));
                if low < 0 || high + size > i128::from(hbm_bytes) {
                    let found = format!("bytes {low} to {}", high + size - 1);
                    self.fail(
                        &DMA_4,
                        side.field,
                        side.offset,
                        found,
                        &format!("below {hbm_bytes}"),
                    );
                }
            }
            DmaSpace::Sbuf => {
                if !self.stays_in_partitions(side) {
                    let generation = self.target.generation;
                    let stride = generation.sbuf_stride();
                    let (partition, byte) = (side.at.addr / stride, side.at.addr % stride);
                    let found = format!("a walk from partition {partition}, byte {byte:#x}");
                    let allowed = format!(
                        "partitions 0 to 127, bytes 0 to {:#x} of each",
                        generation.sbuf_active() - 1
                    );
                    self.fail(&DMA_5, side.field, side.offset, found, &allowed);
                }
            }
        }
    }

    /// A stride is so many partitions and so many bytes. Modulo the partition stride there are two
    /// ways to split it that can stay inside a partition; the walk is legal if some choice does.
    fn stays_in_partitions(&self, side: &Side) -> bool {
        let generation = self.target.generation;
        let stride = generation.sbuf_stride() as i64;
        let dims = &self.descriptor.dims;
        let first =
            (i128::from(side.at.addr / stride as u64), i128::from(side.at.addr % stride as u64));
        let last_byte = generation.sbuf_active() as i128 - self.descriptor.elem.size() as i128;
        (0..1_u32 << dims.len()).any(|choice| {
            let split = |i: usize, dim: &DmaDim| {
                let step = (side.stride)(dim);
                let round_up = i64::from(choice >> i & 1);
                let partitions = step.div_euclid(stride).saturating_add(round_up);
                (partitions, step.rem_euclid(stride) - round_up * stride)
            };
            let parts = || dims.iter().enumerate().map(|(i, dim)| (dim.count, split(i, dim)));
            let partitions = extent(parts().map(|(count, part)| (count, part.0)));
            let bytes = extent(parts().map(|(count, part)| (count, part.1)));
            first.0 + partitions.0 >= 0
                && first.0 + partitions.1 < i128::from(PARTITIONS)
                && first.1 + bytes.0 >= 0
                && first.1 + bytes.1 <= last_byte
        })
    }

    /// DMA-6.
    fn alignment(&mut self, side: &Side) {
        let size = self.descriptor.elem.size() as u64;
        let allowed = format!("a multiple of {size}");
        if !side.at.addr.is_multiple_of(size) {
            let found = format!("{:#x}", side.at.addr);
            self.fail(&DMA_6, side.field, side.offset, found, &allowed);
        }
        let dims = self.descriptor.dims;
        for (i, dim) in dims.iter().enumerate().filter(|(_, dim)| dim.count > 1) {
            let step = (side.stride)(dim);
            if !step.unsigned_abs().is_multiple_of(size) {
                let at = offset::DIMS + i * offset::DIM_SIZE + side.stride_offset;
                let found = format!("{} stride {step} in dimension {i}", side.field);
                self.fail(&DMA_6, "dims", at, found, &allowed);
            }
        }
    }

    /// DMA-7, and DMA-8 as a warning: with the dimensions ordered by stride, each stride clears what
    /// the smaller ones reach.
    fn writes_once(&mut self, dst: &Side) {
        let dims = self.descriptor.dims;
        let mut reached = Vec::new();
        for (i, dim) in dims.iter().enumerate().filter(|(_, dim)| dim.count > 1) {
            if dim.dst_stride == 0 {
                let at = offset::DIMS + i * offset::DIM_SIZE + dst.stride_offset;
                let found = format!("dst stride 0 in dimension {i}");
                self.fail(&DMA_7, "dims", at, found, "a stride other than 0");
                return;
            }
            reached.push((dim.dst_stride.unsigned_abs(), dim.count));
        }
        reached.sort_unstable();
        let mut span = self.descriptor.elem.size() as u128;
        for (stride, count) in reached {
            if u128::from(stride) < span {
                let found = format!("stride {stride} across {span} bytes");
                let allowed = format!("at least {span}");
                self.fail(&DMA_8, "dims", offset::DIMS, found, &allowed);
                if let Some(last) = self.violations.last_mut() {
                    last.severity = Severity::Warning;
                }
                return;
            }
            span += u128::from(stride) * u128::from(count - 1);
        }
    }

    #[cold]
    fn fail(
        &mut self,
        rule: &'static Rule,
        field: &'static str,
        offset: usize,
        found: String,
        allowed: &str,
    ) {
        self.violations.push(Violation {
            rule,
            severity: Severity::Error,
            field,
            offset,
            found,
            allowed: allowed.to_owned(),
            inside: None,
        });
    }
}

/// Lowest and highest offset that the steps reach from 0.
fn extent(dims: impl Iterator<Item = (u32, i64)>) -> (i128, i128) {
    dims.fold((0, 0), |(low, high), (count, step)| {
        let reach = i128::from(step) * i128::from(count.saturating_sub(1));
        (low + reach.min(0), high + reach.max(0))
    })
}

fn accumulates(elem: Dtype) -> bool {
    matches!(elem, Dtype::Fp32 | Dtype::Bfloat16 | Dtype::Fp16 | Dtype::Int32 | Dtype::Uint32)
}
