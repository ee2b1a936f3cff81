//! The rules of DMA descriptors, one by one.

use partita_isa::dma::{Descriptor, DmaAddr, DmaDim, DmaKind, List, check, parse_plain};
use partita_isa::{Dtype, Generation, Target};

const HBM: u64 = 1 << 20;
const STRIDE: i64 = 0x4_0000;

/// 64 rows of 32 floats from HBM to 64 partitions.
fn load() -> Descriptor {
    let mut descriptor = Descriptor::copy(Dtype::Fp32, DmaAddr::hbm(0x100), DmaAddr::sbuf(0x800));
    for (count, src_stride, dst_stride) in [(32, 4, 4), (64, 128, STRIDE)] {
        descriptor.dims.push(DmaDim { count, src_stride, dst_stride }).expect("two dims");
    }
    descriptor
}

fn ids(descriptor: &Descriptor, generation: Generation) -> Vec<&'static str> {
    let found = check(descriptor, &Target::new(generation), HBM);
    found.iter().map(|violation| violation.rule.id).collect()
}

fn changed(change: impl FnOnce(&mut Descriptor)) -> Vec<&'static str> {
    let mut descriptor = load();
    change(&mut descriptor);
    ids(&descriptor, Generation::Cayman)
}

#[test]
fn a_tile_load_is_legal() {
    assert_eq!(changed(|_| ()), [""; 0]);
}

#[test]
fn each_rule_refuses_its_own_break() {
    assert_eq!(changed(|d| d.queue = 16), ["DMA-1"]);
    assert_eq!(changed(|d| d.elem = Dtype::Cptc1), ["DMA-2"]);
    assert_eq!(changed(|d| d.dims[0].count = 0), ["DMA-3"]);
    assert_eq!(changed(|d| d.src.addr = HBM - 8), ["DMA-4"]);
    assert_eq!(changed(|d| d.src.addr = 0x102), ["DMA-6"]);
    assert_eq!(changed(|d| d.dims[0].src_stride = 2), ["DMA-6"]);
    assert_eq!(changed(|d| d.dims[1].dst_stride = 0), ["DMA-7"]);
    assert_eq!(changed(|d| d.dims[1].dst_stride = 64), ["DMA-8"]);
}

#[test]
fn an_accumulation_needs_arithmetic_elements() {
    assert_eq!(changed(|d| d.kind = DmaKind::Add), [""; 0]);
    let add_u8 = |d: &mut Descriptor| (d.kind, d.elem) = (DmaKind::Max, Dtype::Uint8);
    assert_eq!(changed(add_u8), ["DMA-2"]);
}

#[test]
fn sources_may_repeat_elements() {
    assert_eq!(changed(|d| d.dims[1].src_stride = 0), [""; 0]);
}

#[test]
fn sbuf_walks_stay_in_their_partitions() {
    // 65 more partitions from 64 on are one too many.
    assert_eq!(changed(|d| d.dst.addr = 64 * STRIDE as u64 + 0x800), [""; 0]);
    assert_eq!(changed(|d| d.dst.addr = 65 * STRIDE as u64 + 0x800), ["DMA-5"]);
    // The last float of the active bytes of CAYMAN ends at 229376.
    assert_eq!(changed(|d| d.dst.addr = 229_376 - 128), [""; 0]);
    assert_eq!(changed(|d| d.dst.addr = 229_376 - 124), ["DMA-5"]);
    // One partition down and 128 bytes back, eight times.
    let skewed = |d: &mut Descriptor| {
        d.dims[1] = DmaDim { count: 8, src_stride: 128, dst_stride: STRIDE - 128 };
    };
    assert_eq!(changed(skewed), [""; 0]);
    // Backwards from the last partition.
    let backwards = |d: &mut Descriptor| {
        d.dst.addr = 127 * STRIDE as u64;
        d.dims[1].dst_stride = -STRIDE;
    };
    assert_eq!(changed(backwards), [""; 0]);
    let below_zero = |d: &mut Descriptor| d.dims[1].dst_stride = -STRIDE;
    assert_eq!(changed(below_zero), ["DMA-5"]);
}

#[test]
fn a_run_does_not_cross_partitions_even_without_a_gap() {
    // MARIANA's partitions are active up to the stride.
    let mut descriptor = load();
    descriptor.dims =
        List::try_from(&[DmaDim { count: 64, src_stride: 4, dst_stride: 4 }][..]).expect("one dim");
    descriptor.dst = DmaAddr::sbuf(STRIDE as u64 - 128);
    assert_eq!(ids(&descriptor, Generation::Mariana), ["DMA-5"]);
}

#[test]
fn extreme_numbers_are_judged_without_overflow() {
    let far = DmaDim { count: u32::MAX, src_stride: i64::MIN, dst_stride: i64::MAX };
    let mut descriptor = load();
    descriptor.dims = List::try_from(&[far; 6][..]).expect("six dims");
    descriptor.src = DmaAddr::hbm(u64::MAX);
    descriptor.dst = DmaAddr::sbuf(u64::MAX);
    assert!(ids(&descriptor, Generation::Cayman).contains(&"DMA-4"));
    assert!(ids(&descriptor, Generation::Cayman).contains(&"DMA-5"));
}

#[test]
fn text_says_what_is_missing_or_wrong() {
    let target = Target::default();
    let refused = |line: &str| parse_plain(line, &target).expect_err(line).message;
    assert_eq!(refused("dma src=hbm[0] dst=hbm[4]"), "`elem` is missing");
    assert_eq!(refused("dma elem=FP32 size=4"), "dma has no field `size`");
    assert_eq!(refused("dma elem=FP32 elem=FP32"), "`elem` is given twice");
    assert_eq!(refused("dma elem=FP32 src=psum[p0, 0]"), "expected an address, found `psum`");
    assert_eq!(refused("dma elem=FP32 src=%x[0] dst=hbm[0]"), "`%x` is not known here");
    let dims = ["1:4:4"; 7].join(", ");
    assert_eq!(refused(&format!("dma dims=[{dims}]")), "too many dimensions");
}
