//! The checkers of schedules and placements: what passes and what planted faults they find.

use partita_ir::entity::OpId;
use partita_ir::ops::{MachineOp, OpKind};
use partita_ir::{Func, Source, text};
use partita_isa::{Generation, Target};
use partita_passes::place::{self, place};
use partita_passes::schedule::{self, schedule};

/// Two blocks: load, two words, store; the second word adds up what the first one made.
const TILES: &str = "\
target cayman

func @f(%x: tile<hbm, 8x8xf32>) -> tile<hbm, 8x8xf32> {
  %y = tile.alloc : tile<hbm, 8x8xf32>
  %a = tile.alloc : tile<sbuf, 4x8xf32>
  %b = tile.alloc : tile<sbuf, 4x8xf32>
  tile.dma queue=0 kind=COPY elem=UINT32 src=%x[0x0] dst=%a[p0, 0x0] dims=[8:4:4, 4:32:262144]
  tile.inst dve copy src_mem_pattern=%a[p0, 0x0][1:8] in_dtype=FP32 out_dtype=FP32 num_active_channels=4 dst_mem_pattern=%b[p0, 0x0][1:8]
  tile.dma queue=1 kind=COPY elem=UINT32 src=%b[p0, 0x0] dst=%y[0x0] dims=[8:4:4, 4:262144:32]
  %c = tile.alloc : tile<sbuf, 4x8xf32>
  %d = tile.alloc : tile<sbuf, 4x8xf32>
  tile.dma queue=0 kind=COPY elem=UINT32 src=%x[0x80] dst=%c[p0, 0x0] dims=[8:4:4, 4:32:262144]
  tile.inst dve copy src_mem_pattern=%c[p0, 0x0][1:8] in_dtype=FP32 out_dtype=FP32 num_active_channels=4 dst_mem_pattern=%d[p0, 0x0][1:8]
  tile.dma queue=1 kind=COPY elem=UINT32 src=%d[p0, 0x0] dst=%y[0x80] dims=[8:4:4, 4:262144:32]
  return %y : tile<hbm, 8x8xf32>
}
";

fn tiles() -> Func {
    let module = text::load(&Source::new("schedule", TILES)).expect("a verified program");
    module.funcs.into_iter().next().expect("one function")
}

fn target() -> Target {
    Target::new(Generation::Cayman)
}

/// Words and transfers, by position in the body.
fn items(func: &Func) -> Vec<OpId> {
    let is_item =
        |kind: &OpKind| matches!(kind, OpKind::Machine(MachineOp::Inst(_) | MachineOp::Dma(_)));
    func.body_ops().filter(|(_, op)| is_item(&op.kind)).map(|(id, _)| id).collect()
}

/// The function with two of its items in each other's place.
fn swapped(func: &Func, first: usize, second: usize) -> Func {
    let items = items(func);
    let place = |item: usize| {
        func.body.iter().position(|&op| op == items[item]).expect("an item of the body")
    };
    let mut out = func.clone();
    out.body.swap(place(first), place(second));
    out
}

#[test]
fn a_schedule_is_right_and_no_longer() {
    let func = tiles();
    let scheduled = schedule(&func, &target());
    assert!(scheduled.after <= scheduled.before);
    assert_eq!(schedule::check(&func, &scheduled.func), Ok(()));
    assert_eq!(schedule(&func, &target()).func.body, scheduled.func.body);
}

#[test]
fn only_what_is_independent_may_change_places() {
    let func = tiles();
    // 0 load, 1 word, 2 store; 3 to 5 alike, on other tiles and other rows of the buffer.
    for (first, second) in [(0, 1), (1, 2), (3, 4), (4, 5)] {
        let wrong = swapped(&func, first, second);
        assert!(schedule::check(&func, &wrong).is_err(), "{first} and {second}");
    }
    // Neighbours of different blocks, once the tiles of the second are allocated before.
    let mut early = func.clone();
    let second = early.body.split_off(6);
    let (allocs, rest) = second.split_at(2);
    early.body.splice(3..3, allocs.iter().copied());
    early.body.extend(rest);
    assert_eq!(schedule::check(&func, &early), Ok(()));
    assert_eq!(schedule::check(&func, &swapped(&early, 2, 3)), Ok(()));
    // A word before the allocation of its tile.
    let late = swapped(&func, 0, 3);
    assert!(matches!(schedule::check(&func, &late), Err(schedule::Fault::Unallocated { .. })));
    let mut short = func.clone();
    short.body.remove(5);
    assert_eq!(schedule::check(&func, &short), Err(schedule::Fault::Operations));
}

/// Gives an alloc another address.
fn moved(placed: &Func, name: &str, address: u64) -> Func {
    let mut out = placed.clone();
    let id = placed
        .body_ops()
        .find(|(_, op)| {
            op.result().is_some_and(|value| placed.values[value].name.to_string() == name)
        })
        .map(|(id, _)| id)
        .expect("a tile of that name");
    if let OpKind::Machine(MachineOp::Alloc { address: old }) = &mut out.ops[id].kind {
        *old = Some(address);
    }
    out
}

#[test]
fn a_placement_is_right_until_something_moves() {
    let func = tiles();
    let placed = place(&func, &target()).expect("room");
    assert_eq!(place::check(&func, &placed, &target()), Ok(()));
    let fault = |placed: &Func| place::check(&func, placed, &target()).expect_err("a fault");
    // The words still address the old place.
    assert!(matches!(fault(&moved(&placed, "b", 0x1000)), place::Fault::Addressed { .. }));
    // The tile before it is still in use there.
    assert!(matches!(fault(&moved(&placed, "b", 0)), place::Fault::Overwritten { .. }));
    assert!(matches!(fault(&moved(&placed, "b", 0x20)), place::Fault::Address { .. }));
    assert!(matches!(fault(&moved(&placed, "b", 1 << 20)), place::Fault::Outside { .. }));
    assert!(matches!(fault(&moved(&placed, "y", 0)), place::Fault::Buffers { .. }));
}
