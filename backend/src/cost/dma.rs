//! Time of one descriptor.

use partita_isa::dma::{Descriptor, DmaDim, DmaSpace};

use super::profile::Profile;

/// The price of a descriptor when nothing else shares the bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DmaCost {
    /// Bytes written.
    pub bytes: u64,
    /// The smaller contiguous run of the two sides, in bytes.
    pub row: u64,
    /// Nanoseconds for the bytes, without latency.
    pub transfer_ns: f64,
    /// Nanoseconds from start to last byte.
    pub total_ns: f64,
}

/// Prices a descriptor. Bytes count by what is written, so a broadcast costs its destination.
pub fn dma_cost(descriptor: &Descriptor, profile: &Profile) -> DmaCost {
    let figures = &profile.dma;
    let bytes = descriptor.bytes();
    let row = run(descriptor, |dim| dim.src_stride).min(run(descriptor, |dim| dim.dst_stride));
    let slowdown = match (transposes(descriptor), descriptor.src.space, descriptor.dst.space) {
        (true, DmaSpace::Sbuf, DmaSpace::Sbuf) => 1.0 / figures.transpose_on_chip_rate.value,
        (true, ..) => 1.0 / figures.transpose_rate.value,
        (false, ..) => (figures.efficient_row_bytes.value / row as f64).max(1.0),
    };
    let counted = if descriptor.kind.accumulates() { figures.accumulate_factor.value } else { 1.0 };
    let transfer_ns = counted * bytes as f64 / figures.gigabytes_per_second.value * slowdown;
    DmaCost { bytes, row, transfer_ns, total_ns: figures.latency_ns.value + transfer_ns }
}

/// Dimensions that take more than one step.
fn steps(descriptor: &Descriptor) -> impl Iterator<Item = &DmaDim> {
    descriptor.dims.iter().filter(|dim| dim.count > 1)
}

/// Bytes from the first element on that one side visits without a gap.
fn run(descriptor: &Descriptor, stride: impl Fn(&DmaDim) -> i64) -> u64 {
    let mut run = descriptor.elem.size() as u64;
    for dim in steps(descriptor) {
        if stride(dim) < 0 || stride(dim) as u64 != run {
            break;
        }
        run = run.saturating_mul(dim.count.into());
    }
    run
}

/// A copy of 2-byte elements whose adjacent elements lie along one dimension of the source and along another of the
/// destination: the engines' transposing mode.
fn transposes(descriptor: &Descriptor) -> bool {
    let size = descriptor.elem.size() as i64;
    let along = |stride: fn(&DmaDim) -> i64| steps(descriptor).position(|dim| stride(dim) == size);
    let (source, destination) = (along(|dim| dim.src_stride), along(|dim| dim.dst_stride));
    size == 2
        && !descriptor.kind.accumulates()
        && source.is_some()
        && destination.is_some()
        && source != destination
}
