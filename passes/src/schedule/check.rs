//! An independent check of a schedule, by what it does: every read must find what the same write left.
//!
//! Both functions are walked in their own order. For each tile on the chip and each element of each buffer it is
//! noted which operation wrote it last; what each operation reads is then the set of writers that it sees. An
//! order is right when every operation sees the same writers as before, and the same operations wrote last in the
//! end. Elements are walked one by one; nothing is shared with the dependence graph. The cost is the number of
//! elements, so it is for tests and debug builds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use partita_ir::entity::{OpId, ValueId};
use partita_ir::ops::{MachineOp, OpKind};
use partita_ir::{Func, Op, Space};
use partita_isa::dma::{DmaAddr, DmaDim};
use partita_isa::{AccumCmd, Body};

/// How a schedule is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Not the same operations.
    Operations,
    /// A tile is named before it is allocated.
    Unallocated { op: usize },
    /// An operation sees other writers than before: its position in the old order, and the value.
    Reads { op: usize, value: String },
    /// Another operation wrote last.
    Ends { value: String },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Operations => f.write_str("the schedule does not have the same operations"),
            Fault::Unallocated { op } => write!(f, "operation {op} names a tile not yet allocated"),
            Fault::Reads { op, value } => {
                write!(f, "operation {op} would read other bytes of `%{value}` than before")
            }
            Fault::Ends { value } => write!(f, "`%{value}` would end with other bytes"),
        }
    }
}

/// What an operation sees of each thing it reads: who wrote it.
type Seen = BTreeMap<Place, BTreeSet<Option<OpId>>>;

/// A tile or buffer, or hidden state of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Value(u32),
    Accumulator,
    LaneTable,
}

/// A program that moves more elements than this through buffers that it writes is checked on the chip alone.
const MOST: u64 = 1 << 15;

/// Compares a schedule with the order it was made from.
///
/// # Errors
/// The first fault that is found.
pub fn check(before: &Func, after: &Func) -> Result<(), Fault> {
    let sorted = |func: &Func| {
        let mut ids: Vec<OpId> = func.body.clone();
        ids.sort_unstable();
        ids
    };
    if sorted(before) != sorted(after) {
        return Err(Fault::Operations);
    }
    let mut allocated = vec![false; after.values.len()];
    for (at, (_, op)) in after.body_ops().enumerate() {
        let known = |value: ValueId| allocated[value.index()] || after.args.contains(&value);
        if op.value_operands().any(|value| !known(value)) {
            return Err(Fault::Unallocated { op: at });
        }
        op.results.iter().for_each(|value| allocated[value.index()] = true);
    }
    let (old, new) = (walk(before), walk(after));
    for (at, (id, _)) in before.body_ops().enumerate() {
        let (Some(saw), Some(sees)) = (old.0.get(&id), new.0.get(&id)) else { continue };
        if let Some(place) = saw.keys().find(|place| saw.get(place) != sees.get(place)) {
            return Err(Fault::Reads { op: at, value: name(before, *place) });
        }
    }
    match old.1.keys().find(|place| old.1.get(place) != new.1.get(place)) {
        Some(place) => Err(Fault::Ends { value: name(before, place.0) }),
        None => Ok(()),
    }
}

fn name(func: &Func, place: Place) -> String {
    match place {
        Place::Value(value) => {
            let values = func.args.iter().chain(func.body_ops().flat_map(|(_, op)| &op.results));
            let found = values.into_iter().find(|found| found.index() as u32 == value);
            found.map(|&found| func.values[found].name.to_string()).unwrap_or_default()
        }
        Place::Accumulator => "accumulator".to_owned(),
        Place::LaneTable => "lane table".to_owned(),
    }
}

/// Walks a function: what each operation sees, and who wrote each grain last.
fn walk(func: &Func) -> (BTreeMap<OpId, Seen>, BTreeMap<(Place, i64), OpId>) {
    let written = written_buffers(func);
    let mut writers: BTreeMap<(Place, i64), OpId> = BTreeMap::new();
    let mut seen: BTreeMap<OpId, Seen> = BTreeMap::new();
    for (id, op) in func.body_ops() {
        let (reads, writes) = touched(func, op, &written);
        let mut saw = Seen::new();
        for grain in reads {
            saw.entry(grain.0).or_default().insert(writers.get(&grain).copied());
        }
        seen.insert(id, saw);
        for grain in writes {
            writers.insert(grain, id);
        }
    }
    (seen, writers)
}

/// Buffers in main memory whose bytes are watched: those that transfers write, unless that is too much.
fn written_buffers(func: &Func) -> BTreeSet<ValueId> {
    let transfers = || {
        func.body_ops().filter_map(|(_, op)| match &op.kind {
            OpKind::Machine(MachineOp::Dma(dma)) => Some((op, &dma.desc)),
            _ => None,
        })
    };
    let to = |op: &Op| op.value_operands().nth(1);
    let out: BTreeSet<ValueId> =
        transfers().filter_map(|(op, _)| to(op)).filter(|&value| !on_chip(func, value)).collect();
    let watched =
        transfers().filter(|(op, _)| op.value_operands().any(|value| out.contains(&value)));
    let elements = watched.map(|(_, desc)| {
        desc.dims.iter().fold(1u64, |product, dim| product.saturating_mul(dim.count.into()))
    });
    if elements.fold(0, u64::saturating_add) > MOST { BTreeSet::new() } else { out }
}

fn on_chip(func: &Func, value: ValueId) -> bool {
    func.ty(value).as_tile().is_some_and(|ty| ty.space != Space::Hbm)
}

type Grains = Vec<(Place, i64)>;

/// The grains that an operation reads and writes. A tile on the chip is one grain, and what is written there is
/// read as well, since the rest of the tile stays; a grain of a buffer is an element.
fn touched(func: &Func, op: &Op, watched: &BTreeSet<ValueId>) -> (Grains, Grains) {
    let (mut reads, mut writes) = (Grains::new(), Grains::new());
    let OpKind::Machine(machine) = &op.kind else { return (reads, writes) };
    for (field, value) in machine.fields().iter().zip(op.value_operands()) {
        let place = Place::Value(value.index() as u32);
        let write = *field == "dst" || *field == "dst_mem_pattern";
        if on_chip(func, value) {
            reads.push((place, 0));
            writes.extend(write.then_some((place, 0)));
            continue;
        }
        let MachineOp::Dma(dma) = machine else { continue };
        if !watched.contains(&value) {
            continue;
        }
        let (end, stride): (DmaAddr, fn(&DmaDim) -> i64) = match write {
            false => (dma.desc.src, |dim| dim.src_stride),
            true => (dma.desc.dst, |dim| dim.dst_stride),
        };
        let grain = func.ty(value).dtype().size_bytes().max(1) as i64;
        let mut bytes = vec![end.addr as i64];
        for dim in &dma.desc.dims {
            let step = stride(dim);
            let steps = 0..i64::from(dim.count);
            bytes = steps.flat_map(|i| bytes.iter().map(move |at| at + i * step)).collect();
        }
        let set = if write { &mut writes } else { &mut reads };
        let elements = bytes.into_iter().flat_map(|byte| {
            let last = byte + dma.desc.elem.size() as i64 - 1;
            (byte / grain..=last / grain).map(|element| (place, element))
        });
        set.extend(elements);
    }
    if let MachineOp::Inst(inst) = machine {
        if let Body::TensorScalar(body) = &inst.inst.body {
            let command = AccumCmd::from_code(body.accumulator_cmd);
            if command.is_some_and(|command| command != AccumCmd::Idle) {
                writes.push((Place::Accumulator, 0));
            }
            if command == Some(AccumCmd::Accumulate) {
                reads.push((Place::Accumulator, 0));
            }
        }
        let view = partita_backend::cost::View::of(&inst.inst);
        reads.extend(view.reads_lane_table.then_some((Place::LaneTable, 0)));
        writes.extend(view.writes_lane_table.then_some((Place::LaneTable, 0)));
    }
    (reads, writes)
}
