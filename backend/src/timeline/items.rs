//! What each item asks of the machine: its price, its waits and its update.

use std::collections::BTreeMap;

use partita_isa::dma::MAX_WAITS;
use partita_isa::{Engine, Instruction};

use crate::cost::{Profile, dma_cost, queue_costs};
use crate::counters::{Update, Wait};
use crate::program::{Program, Slot};

use super::ItemId;
use super::sharing::Sharing;

/// An item as the simulation sees it.
pub(super) struct Load {
    /// Position in the program's list.
    pub place: u32,
    pub cycles: u64,
    /// Priced by a fast mode.
    pub fast: bool,
    pub on_sbuf: bool,
    pub bytes: u64,
    /// Of a descriptor: the time that it takes alone, as [`Sharing`] counts it.
    pub work: u128,
    waits: [Option<Wait>; MAX_WAITS],
    pub update: Option<Update>,
}

impl Load {
    pub fn waits(&self) -> impl Iterator<Item = &Wait> {
        self.waits.iter().flatten()
    }
}

/// A queue of the program.
pub(super) struct QueueLoad {
    pub slot: Slot,
    pub first: ItemId,
    pub count: u32,
    pub clock_ghz: Option<f64>,
}

/// All items, queue by queue.
pub(super) struct Loads {
    pub queues: Vec<QueueLoad>,
    pub items: Vec<Load>,
}

/// Items and places are numbered with 32 bits; an image of more would be 256 GiB.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

impl Loads {
    pub fn new(program: &Program, profile: &Profile) -> Self {
        let mut loads = Self { queues: Vec::new(), items: Vec::new() };
        for (&engine, words) in &program.words {
            let slot = Slot::Word(engine);
            let clock = profile.engines.get(&engine).map(|figures| figures.clock_ghz.value);
            loads.queue(slot, clock, words.len());
            let costs = queue_costs(words, engine, profile, program.target.generation);
            for (place, (word, cost)) in words.iter().zip(costs).enumerate() {
                let events = Instruction::decode(word).events;
                loads.items.push(Load {
                    place: number(place),
                    cycles: cost.map_or(0, |cost| cost.cycles),
                    fast: cost.is_some_and(|cost| cost.fast),
                    on_sbuf: cost.is_some_and(|cost| cost.on_sbuf),
                    bytes: 0,
                    work: 0,
                    waits: [Wait::of(&events), None, None, None],
                    update: Update::of(&events),
                });
            }
        }
        let mut queues: BTreeMap<u8, Vec<usize>> = BTreeMap::new();
        for (place, descriptor) in program.dma.iter().enumerate() {
            queues.entry(descriptor.queue).or_default().push(place);
        }
        for (queue, places) in queues {
            loads.queue(Slot::Dma(queue), None, places.len());
            for place in places {
                let Some(descriptor) = program.dma.get(place) else { continue };
                let cost = dma_cost(descriptor, profile);
                let mut waits = [None; MAX_WAITS];
                waits.iter_mut().zip(Wait::of_descriptor(descriptor)).for_each(|(to, wait)| {
                    *to = Some(wait);
                });
                loads.items.push(Load {
                    place: number(place),
                    cycles: 0,
                    fast: false,
                    on_sbuf: false,
                    bytes: cost.bytes,
                    work: Sharing::work(cost.transfer_ns),
                    waits,
                    update: Update::of_descriptor(descriptor),
                });
            }
        }
        loads
    }

    fn queue(&mut self, slot: Slot, clock_ghz: Option<f64>, count: usize) {
        let first = number(self.items.len());
        self.queues.push(QueueLoad { slot, first, count: number(count), clock_ghz });
    }

    /// The queue of an item, by its position in [`Self::queues`].
    pub fn queue_of(&self, item: ItemId) -> usize {
        self.queues.partition_point(|queue| queue.first <= item).saturating_sub(1)
    }

    /// The position of an engine's queue.
    pub fn engine(&self, engine: Engine) -> Option<usize> {
        self.queues.iter().position(|queue| queue.slot == Slot::Word(engine))
    }
}
