//! When everything happens: a discrete-event simulation of a program under a cost profile, from its words and
//! descriptors alone.
//!
//! Each engine and each DMA queue takes its items in order. A word starts when the word before it has ended, its wait
//! has been satisfied, and what it shares with other engines is free. A descriptor is issued when the one before it in
//! its queue was issued, its waits hold, and fewer than the profile's number are under way; its first byte moves a
//! latency later, when the transfer before it in its queue has ended; transfers of different queues share the bandwidth
//! evenly. docs/cost.md tells the model, and what of it is assumed.
//!
//! Times are whole picoseconds and do not drift: words that run back to back are timed from the first of them.

mod critical;
mod deadlock;
mod history;
mod items;
mod sensitivity;
mod sharing;
mod simulation;
mod summary;

use partita_isa::Target;

use crate::cost::Profile;
use crate::counters::Cell;
use crate::program::{Program, Slot};

pub use critical::{CriticalPath, Share, Step};
pub use deadlock::{Deadlock, Stuck, Wanted};
pub use sensitivity::{Sensitivity, sensitivity};
pub use summary::{EngineTime, PathShare, PathStep, Summary, item_name};

/// Number of an item in [`Timeline::items`].
pub type ItemId = u32;

/// What happens when.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    pub target: Target,
    /// Engines in the order of their numbers, then DMA queues.
    pub tracks: Vec<Track>,
    /// Track by track, each in the order of its queue.
    pub items: Vec<Item>,
    /// What waits were satisfied by, in the order of the items that waited; each item's are neighbours.
    pub signals: Vec<Signal>,
    /// Items in the order in which they completed.
    pub completed: Vec<ItemId>,
    /// End of the last item.
    pub makespan_ps: u64,
    /// Time in which at least one descriptor was under way, and in which at least one was moving bytes.
    pub dma_under_way_ps: u64,
    pub dma_moving_ps: u64,
}

/// One queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Track {
    pub slot: Slot,
    /// Its items are `first..first + count`.
    pub first: ItemId,
    pub count: u32,
    /// Clock of an engine; `None` for a DMA queue, and for an engine that the profile does not know.
    pub clock_ghz: Option<f64>,
}

/// A word or a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    pub slot: Slot,
    /// Position in its queue.
    pub index: u32,
    /// Position in the program's list: of the engine's words, or of all descriptors.
    pub place: u32,
    /// Cycles of the engine that a word is priced at; 0 for a descriptor, and for a word without a price.
    pub cycles: u64,
    /// Bytes that a descriptor writes; 0 for a word.
    pub bytes: u64,
    /// When it came to the head of its queue.
    pub ready_ps: u64,
    /// When its waits let it start.
    pub granted_ps: u64,
    /// When it started: later than granted when something shared was taken.
    pub start_ps: u64,
    /// When its first byte moved; the start of a word.
    pub moving_ps: u64,
    pub end_ps: u64,
    /// What it started after.
    pub after: After,
}

/// Why an item did not start earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// Nothing held it: it started with the program.
    Start,
    /// The item before it in its queue: the end of a word, the start of a descriptor.
    Order(ItemId),
    /// The item whose update satisfied its wait, and the time that takes.
    Signal(ItemId),
    /// The word of the engine that it never runs beside.
    Exclusive(ItemId),
    /// The descriptor whose end made room among those under way.
    Room(ItemId),
}

impl After {
    /// The item that was in the way.
    pub fn item(self) -> Option<ItemId> {
        match self {
            After::Start => None,
            After::Order(item)
            | After::Signal(item)
            | After::Exclusive(item)
            | After::Room(item) => Some(item),
        }
    }
}

/// A wait that was satisfied by another item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    pub cell: Cell,
    /// Whose update made the condition true, and when.
    pub from: ItemId,
    pub at_ps: u64,
    pub to: ItemId,
}

impl Timeline {
    /// The item of this number.
    pub fn item(&self, id: ItemId) -> Option<&Item> {
        self.items.get(id as usize)
    }

    /// The items of a track.
    pub fn items_of(&self, track: &Track) -> &[Item] {
        self.items
            .get(track.first as usize..)
            .and_then(|items| items.get(..track.count as usize))
            .unwrap_or(&[])
    }

    /// The order in which items completed, as steps of their queues: a sequential order in which every effect finds
    /// what a machine that completes items at these times would find.
    pub fn order(&self) -> Vec<Slot> {
        self.completed.iter().filter_map(|&id| Some(self.item(id)?.slot)).collect()
    }
}

/// Simulates a program under a profile.
///
/// # Errors
/// Items that wait for ever, with what each waits for and who would signal it.
pub fn simulate(program: &Program, profile: &Profile) -> Result<Timeline, Box<Deadlock>> {
    let loads = items::Loads::new(program, profile);
    simulation::Simulation::new(program, profile, &loads).run()
}

/// Picoseconds of so many cycles, rounded once; saturates.
pub(crate) fn cycles_ps(cycles: u64, clock_ghz: f64) -> u64 {
    // Clocks are kept to the kilohertz, so that the division is one of whole numbers.
    let khz = ((clock_ghz * 1e6).round() as u128).max(1);
    let ps = (u128::from(cycles) * 1_000_000_000 + khz / 2) / khz;
    u64::try_from(ps).unwrap_or(u64::MAX)
}
