//! Synchronization: which operation waits for which, as semaphores.
//!
//! Each queue that others wait for has one semaphore, which its operations increment when complete
//! and nothing resets. A consumer waits for the count that its last producer leaves. An operation
//! touches memory as byte ranges of a partition (every tile starts at partition 0) and of main memory;
//! one that must follow several queues waits for those that the others' clocks do not imply. A word
//! holds one wait: further ones move to words shortly before it that have none, and where there is no such word
//! ride on a one-byte copy in the engine's scratch slot.
//! The accumulators and the lane table belong to the vector engine alone and follow its own order.

use std::collections::BTreeMap;

use partita_backend::cost::View;
use partita_ir::diag::Code;
use partita_ir::entity::OpId;
use partita_ir::ops::{DmaOp, InstOp, MachineOp, OpKind};
use partita_ir::{Diagnostic, Func};
use partita_isa::address::Memory;
use partita_isa::dma::{Descriptor, DmaAddr, DmaSpace, DmaWait, MAX_WAITS};
use partita_isa::{Dtype, Engine, Instruction, Opcode, Pattern, Target, UpdateMode, WaitMode};

use crate::intervals::History;
pub use crate::intervals::{Access, Region};
use crate::schedule::has_events;
use crate::scratch;
use crate::tile::LOAD_QUEUE;
use crate::words::One;

/// Engines, then DMA queues: a dense index.
type Queue = usize;

const ENGINES: usize = Engine::ALL.len();

/// Every queue there may be.
const QUEUES: usize = ENGINES + partita_isa::dma::QUEUES as usize;

/// For each queue, how many of its operations are known to be complete.
type Clock = [u32; QUEUES];

/// An operation with a place in a queue.
struct Item {
    op: OpId,
    queue: Queue,
    /// Position in its queue, from 1.
    position: u32,
}

/// Adds semaphores to a placed function. One that has waits or updates already is left as it is: its
/// author, or an earlier run, has ordered it.
///
/// # Errors
/// An operation has no engine, or more queues to wait for than a descriptor can name.
pub fn sync(func: &Func, target: &Target) -> Result<Func, Vec<Diagnostic>> {
    let mut func = func.clone();
    if func.body_ops().any(|(_, op)| has_events(&op.kind)) {
        return Ok(func);
    }
    let mut waits = dependences(&func, target)?;
    spread(&mut waits);
    let crowded: Vec<Engine> = Engine::ALL
        .into_iter()
        .filter(|&engine| {
            waits.iter().any(|(item, needs)| item.queue == engine as usize && needs.len() > 1)
        })
        .collect();
    if !crowded.is_empty() {
        prepare_scratch(&mut func, target, &crowded);
        waits = dependences(&func, target)?;
        spread(&mut waits);
    }
    write_events(&mut func, target, &waits)?;
    Ok(func)
}

/// Records an access, and raises `need` to the positions that must be complete before it.
fn follow(
    history: &mut History<(Queue, u32)>,
    access: &Access,
    who: (Queue, u32),
    need: &mut Clock,
) {
    let bytes = (access.start, access.end);
    history.touch(access.region as usize, bytes, access.write, who, |(queue, position)| {
        need[queue] = need[queue].max(position);
    });
}

/// For each item in program order, the operations of other queues it must wait for.
type Waits = Vec<(Item, Vec<(Queue, u32)>)>;

fn dependences(func: &Func, target: &Target) -> Result<Waits, Vec<Diagnostic>> {
    let mut history = History::default();
    let mut known: Vec<Clock> = vec![[0; QUEUES]; QUEUES];
    let mut clocks: Vec<Vec<Clock>> = vec![Vec::new(); QUEUES];
    let mut out = Waits::new();
    for (op, body) in func.body_ops() {
        let Some(queue) = queue_of(func, op, &body.kind)? else { continue };
        let accesses = accesses(&body.kind, target);
        let position = clocks[queue].len() as u32 + 1;
        let mut need: Clock = [0; QUEUES];
        for access in &accesses {
            follow(&mut history, access, (queue, position), &mut need);
        }
        let mut wanted: Vec<(Queue, u32)> = (0..QUEUES)
            .filter(|&other| other != queue && need[other] > known[queue][other])
            .map(|other| (other, need[other]))
            .collect();
        let clock_of = |(other, count): (Queue, u32)| clocks[other][count as usize - 1];
        let implied = |&(other, count): &(Queue, u32)| {
            wanted.iter().any(|&by| by.0 != other && clock_of(by)[other] >= count)
        };
        let redundant: Vec<(Queue, u32)> =
            wanted.iter().copied().filter(|wait| implied(wait)).collect();
        for &wait in &wanted {
            let clock = clock_of(wait);
            for (mine, theirs) in known[queue].iter_mut().zip(clock) {
                *mine = (*mine).max(theirs);
            }
        }
        wanted.retain(|wait| !redundant.contains(wait));
        known[queue][queue] = position;
        clocks[queue].push(known[queue]);
        out.push((Item { op, queue, position }, wanted));
    }
    Ok(out)
}

/// How many words back a wait may move.
const REACH: usize = 8;

/// A word holds one wait. Further ones move to words shortly before it that have none or that wait for the same
/// queue: words of its own engine, or of another engine up to the one that it waits for there. As long as what is
/// waited for comes before that word in program order, every wait still goes forwards in that order, so that nothing
/// can wait for itself.
fn spread(waits: &mut Waits) {
    let mut items: Vec<Vec<usize>> = vec![Vec::new(); QUEUES];
    for at in 0..waits.len() {
        let queue = waits[at].0.queue;
        if queue < ENGINES && waits[at].1.len() > 1 {
            let place = |&(other, position): &(Queue, u32)| items[other][position as usize - 1];
            // The latest stays; the earliest moves most easily.
            let mut needs = std::mem::take(&mut waits[at].1);
            needs.sort_by_key(|need| std::cmp::Reverse(place(need)));
            let before = |&(other, position): &(Queue, u32)| {
                let words = if other < ENGINES { &items[other][..position as usize] } else { &[] };
                words.iter().rev().take(REACH).copied()
            };
            let mut kept: Vec<(Queue, u32)> = Vec::new();
            for (index, need) in needs.iter().enumerate() {
                let from = place(need);
                let own = items[queue].iter().rev().take(REACH).copied();
                let others = needs[..index].iter().flat_map(before);
                let host = own
                    .chain(others)
                    .filter(|_| index > 0)
                    .find(|&word| from < word && waits[word].1.iter().all(|held| held.0 == need.0));
                match host.map(|word| &mut waits[word].1) {
                    Some(held) => match held.first_mut() {
                        Some(held) => held.1 = held.1.max(need.1),
                        None => held.push(*need),
                    },
                    None => kept.push(*need),
                }
            }
            waits[at].1 = kept;
        }
        items[queue].push(at);
    }
}

/// What each instruction and transfer of a placed function must follow: for each in program order, the numbers of
/// earlier ones, the last of every queue that touched the same bytes, its own queue's included.
///
/// # Errors
/// An operation has no engine.
pub fn data_dependences(func: &Func, target: &Target) -> Result<Vec<Vec<usize>>, Vec<Diagnostic>> {
    let mut history = History::default();
    let mut queues: Vec<Vec<usize>> = vec![Vec::new(); QUEUES];
    let mut out = Vec::new();
    for (op, body) in func.body_ops() {
        let Some(queue) = queue_of(func, op, &body.kind)? else { continue };
        let mut need: Clock = [0; QUEUES];
        let position = queues[queue].len() as u32 + 1;
        for access in &accesses(&body.kind, target) {
            let own = need[queue];
            follow(&mut history, access, (queue, position), &mut need);
            if need[queue] == position {
                need[queue] = own;
            }
        }
        queues[queue].push(out.len());
        let last = need.iter().zip(&queues).filter(|(count, _)| **count > 0);
        let mut needs: Vec<usize> =
            last.filter_map(|(&count, items)| items.get(count as usize - 1).copied()).collect();
        needs.sort_unstable();
        out.push(needs);
    }
    Ok(out)
}

/// The queue of an instruction or transfer; none for what is neither.
fn queue_of(func: &Func, op: OpId, kind: &OpKind) -> Result<Option<Queue>, Vec<Diagnostic>> {
    let queue = match kind {
        OpKind::Machine(MachineOp::Inst(inst)) => {
            inst.engine.ok_or_else(|| vec![no_engine(func, op)])? as usize
        }
        OpKind::Machine(MachineOp::Dma(dma)) => ENGINES + usize::from(dma.desc.queue),
        _ => return Ok(None),
    };
    if queue < QUEUES { Ok(Some(queue)) } else { Err(vec![no_engine(func, op)]) }
}

/// The byte ranges that an instruction or transfer of a placed function reads and writes.
pub fn accesses(kind: &OpKind, target: &Target) -> Vec<Access> {
    match kind {
        OpKind::Machine(MachineOp::Inst(inst)) => word_accesses(&inst.inst, target),
        OpKind::Machine(MachineOp::Dma(dma)) => descriptor_accesses(&dma.desc, target),
        _ => Vec::new(),
    }
}

/// An access of the bytes `low..high` around a base. What lies outside any memory is refused when the
/// word or descriptor is emitted.
fn access(region: Region, base: i64, (low, high): (i64, i64), write: bool) -> Access {
    let byte = |distance: i64| base.saturating_add(distance).max(0) as u64;
    Access { region, start: byte(low), end: byte(high), write }
}

fn word_accesses(inst: &Instruction, target: &Target) -> Vec<Access> {
    let view = View::of(inst);
    let touch = |operand: &partita_backend::cost::Operand, write: bool| {
        let at = operand.location(target.generation)?;
        let region = if at.memory == Memory::Psum { Region::Psum } else { Region::Sbuf };
        Some(access(region, i64::from(at.byte), operand.extent(), write))
    };
    let reads = view.reads().filter_map(|operand| touch(operand, false));
    let writes = view.destination.iter().filter_map(|operand| touch(operand, true));
    // A predicated copy keeps what it does not write, and so reads it; a write orders as much.
    reads.chain(writes).collect()
}

fn descriptor_accesses(desc: &Descriptor, target: &Target) -> Vec<Access> {
    let side = |end: DmaAddr, stride: fn(&partita_isa::dma::DmaDim) -> i64, write: bool| {
        let partition = target.generation.sbuf_stride() as i64;
        let chip = end.space == DmaSpace::Sbuf;
        let (mut low, mut high) = (0i64, desc.elem.size() as i64);
        for dim in desc.dims.iter() {
            let mut step = stride(dim);
            if chip {
                // Whole partitions move the row, which is not tracked.
                step = step.wrapping_add(partition / 2).rem_euclid(partition) - partition / 2;
            }
            let reach = step.saturating_mul(i64::from(dim.count) - 1);
            low = low.saturating_add(reach.min(0));
            high = high.saturating_add(reach.max(0));
        }
        let base = if chip { end.addr as i64 % partition } else { end.addr as i64 };
        let region = if chip { Region::Sbuf } else { Region::Hbm };
        access(region, base, (low, high), write)
    };
    vec![side(desc.src, |dim| dim.src_stride, false), side(desc.dst, |dim| dim.dst_stride, true)]
}

/// Fills the engines' scratch slots and makes each wait for that, before anything else.
fn prepare_scratch(func: &mut Func, target: &Target, engines: &[Engine]) {
    // Any bytes will do; the first transfer reads some that are there from the start.
    let first = func.body_ops().find_map(|(_, op)| match &op.kind {
        OpKind::Machine(MachineOp::Dma(dma)) if dma.desc.src.space == DmaSpace::Hbm => {
            Some(dma.desc.src)
        }
        _ => None,
    });
    let Some(source) = first else { return };
    let mut prologue = Vec::new();
    for &engine in engines {
        let slot = scratch::slot(engine, target.generation);
        let mut desc = Descriptor::copy(Dtype::Uint8, source, DmaAddr::sbuf(u64::from(slot)));
        desc.queue = LOAD_QUEUE;
        let dma = MachineOp::Dma(Box::new(DmaOp { desc, fields: Default::default() }));
        prologue.push(func.make_op(dma, [], []));
    }
    for &engine in engines {
        prologue.push(carrier(func, target, engine));
    }
    let allocs = func.body.iter().take_while(|&&op| {
        matches!(
            func.ops[op].kind,
            OpKind::Machine(MachineOp::Alloc { .. } | MachineOp::Constant { .. })
        )
    });
    let at = allocs.count();
    func.body.splice(at..at, prologue);
}

/// A one-byte copy of an engine's slot onto itself.
fn carrier(func: &mut Func, target: &Target, engine: Engine) -> OpId {
    let slot = scratch::slot(engine, target.generation);
    let word = One::moving(Opcode::Copy, Dtype::Uint8, Dtype::Uint8);
    let inst = word.word(1, Pattern::contiguous(slot, 1), Pattern::contiguous(slot, 1));
    let op = MachineOp::Inst(Box::new(InstOp {
        engine: Some(engine),
        inst,
        fields: Default::default(),
    }));
    func.make_op(op, [], [])
}

/// Writes waits and updates, and puts carriers in front of words that wait for more than one queue.
fn write_events(func: &mut Func, target: &Target, waits: &Waits) -> Result<(), Vec<Diagnostic>> {
    let mut signals: Vec<Vec<u32>> = vec![Vec::new(); QUEUES];
    for (queue, position) in waits.iter().flat_map(|(_, needs)| needs.iter().copied()) {
        signals[queue].push(position);
    }
    for positions in &mut signals {
        positions.sort_unstable();
        positions.dedup();
    }
    // Nothing is signalled for nobody, so a count is a position among the signals.
    let count = |(queue, position): (Queue, u32)| DmaWait {
        semaphore: queue as u8,
        value: signals[queue].partition_point(|&p| p <= position) as u32,
    };
    let mut carriers: BTreeMap<OpId, Vec<OpId>> = BTreeMap::new();
    for (item, needs) in waits {
        let signal = signals[item.queue].binary_search(&item.position).is_ok();
        let needs: Vec<DmaWait> = needs.iter().copied().map(count).collect();
        let update = signal.then_some(item.queue as u8);
        let engine = Engine::ALL.get(item.queue).copied();
        let mut carried = Vec::new();
        if let (Some(engine), Some((_, before))) = (engine, needs.split_last()) {
            for wait in before {
                let op = carrier(func, target, engine);
                set_events(func, op, Some(*wait), None);
                carried.push(op);
            }
        }
        match &mut func.ops[item.op].kind {
            OpKind::Machine(MachineOp::Dma(dma)) => {
                dma.desc.update = update;
                if needs.len() > MAX_WAITS
                    || needs.iter().any(|wait| dma.desc.waits.push(*wait).is_err())
                {
                    return Err(vec![too_many(func, item.op)]);
                }
            }
            _ => set_events(func, item.op, needs.last().copied(), update),
        }
        if !carried.is_empty() {
            carriers.insert(item.op, carried);
        }
    }
    let body = std::mem::take(&mut func.body);
    for op in body {
        func.body.extend(carriers.remove(&op).into_iter().flatten());
        func.body.push(op);
    }
    Ok(())
}

fn set_events(func: &mut Func, op: OpId, wait: Option<DmaWait>, update: Option<u8>) {
    let OpKind::Machine(MachineOp::Inst(inst)) = &mut func.ops[op].kind else { return };
    let events = &mut inst.inst.events;
    if let Some(wait) = wait {
        events.wait_mode = WaitMode::SemGeImm.code();
        events.wait_idx = wait.semaphore;
        events.semaphore_value = wait.value;
    }
    if let Some(semaphore) = update {
        events.update_mode = UpdateMode::SemIncDone.code();
        events.update_idx = semaphore;
    }
}

fn no_engine(func: &Func, op: OpId) -> Diagnostic {
    let span = func.spans.op(op).map(|spans| spans.whole).unwrap_or_default();
    Diagnostic::error(Code::Internal, "an operation has no queue to run on", span)
}

fn too_many(func: &Func, op: OpId) -> Diagnostic {
    let span = func.spans.op(op).map(|spans| spans.whole).unwrap_or_default();
    Diagnostic::error(Code::Internal, "a transfer waits for more queues than it can name", span)
}
