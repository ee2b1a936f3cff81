//! The queues of a program and what each item waits for and signals.

use std::collections::BTreeMap;

use partita_isa::{Events, Instruction, UpdateMode, WaitMode};

use super::finding::ItemRef;
use crate::program::{Program, Slot};

pub use crate::counters::SEMAPHORES;

/// A semaphore, or from [`SEMAPHORES`] on an event.
pub type Signal = usize;

/// What a wait asks of its signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    Eq(u32),
    Lt(u32),
    Le(u32),
    Gt(u32),
    Ge(u32),
    Set,
    Clear,
}

/// What an update does to its signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Adds, modulo 2³² (negative: subtracts).
    Add(i64),
    Write(u32),
    Set,
    Clear,
}

/// When an effect takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// With the start: what a satisfied event wait does.
    Start,
    /// When the sources have been read.
    Read,
    /// When the item is complete.
    Done,
}

/// One word or descriptor, as far as other queues are concerned.
#[derive(Clone, Debug, Default)]
pub struct Item {
    /// All must hold.
    pub waits: Vec<(Signal, Condition)>,
    /// In the order in which they happen.
    pub effects: Vec<(Stage, Signal, Effect)>,
    /// Index among the engine's words or in [`Program::dma`].
    pub place: usize,
}

pub struct Queue {
    pub slot: Slot,
    pub items: Vec<Item>,
}

/// An item: its queue among [`Queues::queues`], and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    pub queue: usize,
    pub index: usize,
}

pub struct Queues<'a> {
    pub program: &'a Program,
    pub queues: Vec<Queue>,
}

impl<'a> Queues<'a> {
    /// The queues of a program whose words and descriptors are legal.
    pub fn new(program: &'a Program) -> Self {
        let mut queues: Vec<Queue> = program
            .words
            .iter()
            .map(|(&engine, words)| {
                let item = |(place, word)| word_item(&Instruction::decode(word).events, place);
                let items = words.iter().enumerate().map(item).collect();
                Queue { slot: Slot::Word(engine), items }
            })
            .collect();
        let mut transfers: BTreeMap<u8, Vec<Item>> = BTreeMap::new();
        for (place, desc) in program.dma.iter().enumerate() {
            let wait = |wait: &partita_isa::dma::DmaWait| {
                (wait.semaphore.into(), Condition::Ge(wait.value))
            };
            let update = desc.update.map(|signal| (Stage::Done, signal.into(), Effect::Add(1)));
            transfers.entry(desc.queue).or_default().push(Item {
                waits: desc.waits.iter().map(wait).collect(),
                effects: update.into_iter().collect(),
                place,
            });
        }
        let transfers = transfers.into_iter();
        queues.extend(transfers.map(|(queue, items)| Queue { slot: Slot::Dma(queue), items }));
        queues.retain(|queue| !queue.items.is_empty());
        Self { program, queues }
    }

    /// Each queue's number.
    pub fn numbers(&self) -> BTreeMap<Slot, usize> {
        self.queues.iter().enumerate().map(|(number, queue)| (queue.slot, number)).collect()
    }

    /// The items as the program lists them.
    pub fn program_order(&self) -> Vec<Id> {
        let numbers = self.numbers();
        let mut done = vec![0; self.queues.len()];
        let next = |slot| {
            let &queue = numbers.get(slot)?;
            done[queue] += 1;
            Some(Id { queue, index: done[queue] - 1 })
        };
        self.program.order.iter().filter_map(next).collect()
    }

    pub fn item(&self, id: Id) -> Option<&Item> {
        self.queues.get(id.queue)?.items.get(id.index)
    }

    pub fn refer(&self, id: Id) -> ItemRef {
        let slot = self.queues[id.queue].slot;
        let place = self.item(id).map_or(usize::MAX, |item| item.place);
        ItemRef::new(self.program, slot, id.index, place)
    }

    /// `dve[3]`.
    pub fn name(&self, id: Id) -> String {
        format!("{}[{}]", self.queues[id.queue].slot, id.index)
    }
}

fn word_item(events: &Events, place: usize) -> Item {
    let mut item = Item { place, ..Item::default() };
    let value = events.semaphore_value;
    let semaphore = usize::from(events.wait_idx);
    let event = SEMAPHORES + semaphore;
    // Register forms are illegal (EV-3).
    match WaitMode::from_code(events.wait_mode) {
        Some(WaitMode::SemEqImm) => item.waits.push((semaphore, Condition::Eq(value))),
        Some(WaitMode::SemLtImm) => item.waits.push((semaphore, Condition::Lt(value))),
        Some(WaitMode::SemLeImm) => item.waits.push((semaphore, Condition::Le(value))),
        Some(WaitMode::SemGtImm) => item.waits.push((semaphore, Condition::Gt(value))),
        Some(WaitMode::SemGeImm) => item.waits.push((semaphore, Condition::Ge(value))),
        Some(WaitMode::EvtSet) => item.waits.push((event, Condition::Set)),
        Some(WaitMode::EvtClear) => item.waits.push((event, Condition::Clear)),
        Some(WaitMode::EvtSetThenClear) => {
            item.waits.push((event, Condition::Set));
            item.effects.push((Stage::Start, event, Effect::Clear));
        }
        Some(WaitMode::EvtClearThenSet) => {
            item.waits.push((event, Condition::Clear));
            item.effects.push((Stage::Start, event, Effect::Set));
        }
        _ => {}
    }
    use UpdateMode::*;
    let semaphore = usize::from(events.update_idx);
    let event = SEMAPHORES + semaphore;
    let Some(mode) = UpdateMode::from_code(events.update_mode) else { return item };
    let (signal, effect) = match mode {
        EvtSet | EvtSetDone => (event, Effect::Set),
        EvtClr | EvtClrDone => (event, Effect::Clear),
        SemInc | SemIncDone => (semaphore, Effect::Add(1)),
        SemDec | SemDecDone => (semaphore, Effect::Add(-1)),
        SemAddImm | SemAddImmDone => (semaphore, Effect::Add(value.into())),
        SemSubImm | SemSubImmDone => (semaphore, Effect::Add(-i64::from(value))),
        SemWrImm | SemWrImmDone => (semaphore, Effect::Write(value)),
        _ => return item,
    };
    let stage = if mode.is_done() { Stage::Done } else { Stage::Read };
    item.effects.push((stage, signal, effect));
    item
}

/// `semaphore 3 >= 4`, `event 7 set`.
pub fn condition_text(signal: Signal, condition: Condition) -> String {
    let name = signal_text(signal);
    match condition {
        Condition::Eq(value) => format!("{name} = {value}"),
        Condition::Lt(value) => format!("{name} < {value}"),
        Condition::Le(value) => format!("{name} <= {value}"),
        Condition::Gt(value) => format!("{name} > {value}"),
        Condition::Ge(value) => format!("{name} >= {value}"),
        Condition::Set => format!("{name} set"),
        Condition::Clear => format!("{name} clear"),
    }
}

pub fn signal_text(signal: Signal) -> String {
    match signal.checked_sub(SEMAPHORES) {
        None => format!("semaphore {signal}"),
        Some(event) => format!("event {event}"),
    }
}
