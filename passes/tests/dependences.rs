//! What each word and transfer of a placed function must follow: by hand.

use partita_ir::{Source, text};
use partita_isa::{Generation, Target};
use partita_passes::sync::{Region, accesses, data_dependences};

const PROGRAM: &str = "\
target cayman

func @f(%x: tile<hbm, 4x8xf32>) -> tile<hbm, 4x8xf32> {
  %a = tpb.alloc at 0x0 : tile<sbuf, 4x8xf32>
  %b = tpb.alloc at 0x40 : tile<sbuf, 4x8xf32>
  %y = tpb.alloc at 0x80 : tile<hbm, 4x8xf32>
  tpb.dma queue=0 kind=COPY elem=UINT32 src=hbm[0x0] dst=sbuf[p0, 0x0] dims=[8:4:4, 4:32:262144]
  tpb.inst dve copy src_mem_pattern=sbuf[p0, 0x0][1:8] in_dtype=FP32 out_dtype=FP32 num_active_channels=4 dst_mem_pattern=sbuf[p0, 0x40][1:8]
  tpb.dma queue=1 kind=COPY elem=UINT32 src=sbuf[p0, 0x40] dst=hbm[0x80] dims=[8:4:4, 4:262144:32]
  tpb.dma queue=0 kind=COPY elem=UINT32 src=hbm[0x0] dst=sbuf[p0, 0x0] dims=[8:4:4, 4:32:262144]
  tpb.inst dve copy src_mem_pattern=sbuf[p0, 0x0][1:8] in_dtype=FP32 out_dtype=FP32 num_active_channels=4 dst_mem_pattern=sbuf[p0, 0x0][1:8]
  tpb.inst pool copy src_mem_pattern=sbuf[p0, 0x0][1:1] in_dtype=FP32 out_dtype=FP32 num_active_channels=4 dst_mem_pattern=sbuf[p0, 0x5c][1:1]
  return %y : tile<hbm, 4x8xf32>
}
";

#[test]
fn items_follow_whoever_touched_their_bytes() {
    let module = text::load(&Source::new("dependences", PROGRAM)).expect("a verified program");
    let target = Target::new(Generation::Cayman);
    let needs = data_dependences(&module.funcs[0], &target).expect("every word has an engine");
    let wanted: &[&[usize]] = &[
        &[],     // the load: nobody was before
        &[0],    // reads what the load wrote
        &[1],    // stores what the copy wrote
        &[0, 1], // loads over what was loaded and has been read
        &[3],    // reads and overwrites the second load
        // Reads what item 4 wrote, overwrites what item 1 wrote and item 2 reads: of one queue the last is named.
        &[2, 4],
    ];
    assert_eq!(needs, wanted);
}

#[test]
fn accesses_are_ranges_of_a_partition() {
    let module = text::load(&Source::new("accesses", PROGRAM)).expect("a verified program");
    let target = Target::new(Generation::Cayman);
    let found: Vec<(Region, u64, u64, bool)> = module.funcs[0]
        .body_ops()
        .flat_map(|(_, op)| accesses(&op.kind, &target))
        .map(|access| (access.region, access.start, access.end, access.write))
        .take(4)
        .collect();
    let wanted = [
        (Region::Hbm, 0, 128, false),
        (Region::Sbuf, 0, 32, true),
        (Region::Sbuf, 0, 32, false),
        (Region::Sbuf, 0x40, 0x60, true),
    ];
    assert_eq!(found, wanted);
}
