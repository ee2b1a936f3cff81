//! Semaphores and events, and what waits and updates do to them (ISA 2.3, 2.4; docs/dma.md). Counters are unsigned
//! and wrap (OQ-4). The interpreter and the simulation both ask it; the auditor, which judges what they
//! run, reads waits and updates by itself.

use std::fmt;

use partita_isa::dma::{Descriptor, DmaWait};
use partita_isa::{Events, UpdateMode, WaitMode};

/// Number of semaphores and of events (ISA 2.4).
pub const SEMAPHORES: usize = 256;
pub const EVENTS: usize = 256;

/// The state that all queues share; everything starts at 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    pub semaphores: [u32; SEMAPHORES],
    pub events: [bool; EVENTS],
}

impl Default for Counters {
    fn default() -> Self {
        Self { semaphores: [0; SEMAPHORES], events: [false; EVENTS] }
    }
}

/// A semaphore or an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cell {
    Semaphore(u8),
    Event(u8),
}

impl Cell {
    /// Its value in these counters; an event that is set is 1.
    pub fn value(self, counters: &Counters) -> u32 {
        match self {
            Cell::Semaphore(index) => counters.semaphores[usize::from(index)],
            Cell::Event(index) => counters.events[usize::from(index)].into(),
        }
    }

    /// How things are, as text: `semaphore 3 is 1`.
    pub fn state(self, counters: &Counters) -> String {
        match self {
            Cell::Semaphore(_) => format!("{self} is {}", self.value(counters)),
            Cell::Event(_) if self.value(counters) != 0 => format!("{self} is set"),
            Cell::Event(_) => format!("{self} is clear"),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Semaphore(index) => write!(f, "semaphore {index}"),
            Cell::Event(index) => write!(f, "event {index}"),
        }
    }
}

/// What must hold before an item starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// `None` for a code that is no mode: such a word never starts.
    pub mode: Option<WaitMode>,
    pub index: u8,
    pub value: u32,
}

impl Wait {
    /// The wait of a word, if it has one.
    pub fn of(events: &Events) -> Option<Self> {
        let mode = WaitMode::from_code(events.wait_mode);
        (mode != Some(WaitMode::None)).then_some(Self {
            mode,
            index: events.wait_idx,
            value: events.semaphore_value,
        })
    }

    /// The waits of a descriptor.
    pub fn of_descriptor(descriptor: &Descriptor) -> impl Iterator<Item = Self> + '_ {
        descriptor.waits.iter().map(|&DmaWait { semaphore, value }| Self {
            mode: Some(WaitMode::SemGeImm),
            index: semaphore,
            value,
        })
    }

    /// What it looks at.
    pub fn cell(&self) -> Cell {
        match self.mode {
            Some(mode) if !mode.uses_immediate() && !mode.uses_register() => {
                Cell::Event(self.index)
            }
            _ => Cell::Semaphore(self.index),
        }
    }

    pub fn holds(&self, counters: &Counters) -> bool {
        let index = usize::from(self.index);
        let (semaphore, event) = (counters.semaphores[index], counters.events[index]);
        match self.mode {
            Some(WaitMode::None) => true,
            Some(WaitMode::SemEqImm) => semaphore == self.value,
            Some(WaitMode::SemLtImm) => semaphore < self.value,
            Some(WaitMode::SemLeImm) => semaphore <= self.value,
            Some(WaitMode::SemGtImm) => semaphore > self.value,
            Some(WaitMode::SemGeImm) => semaphore >= self.value,
            Some(WaitMode::EvtSet | WaitMode::EvtSetThenClear) => event,
            Some(WaitMode::EvtClear | WaitMode::EvtClearThenSet) => !event,
            // Register forms are illegal (EV-3): such a word never starts.
            _ => false,
        }
    }

    /// What a satisfied wait does when the word starts; true when it changes the event.
    pub fn start(&self, counters: &mut Counters) -> bool {
        let event = &mut counters.events[usize::from(self.index)];
        match self.mode {
            Some(WaitMode::EvtSetThenClear) => *event = false,
            Some(WaitMode::EvtClearThenSet) => *event = true,
            _ => return false,
        }
        true
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, value, .. } = self;
        match self.mode {
            Some(WaitMode::SemEqImm) => write!(f, "semaphore {index} = {value}"),
            Some(WaitMode::SemLtImm) => write!(f, "semaphore {index} < {value}"),
            Some(WaitMode::SemLeImm) => write!(f, "semaphore {index} <= {value}"),
            Some(WaitMode::SemGtImm) => write!(f, "semaphore {index} > {value}"),
            Some(WaitMode::SemGeImm) => write!(f, "semaphore {index} >= {value}"),
            Some(WaitMode::EvtSet | WaitMode::EvtSetThenClear) => write!(f, "event {index} set"),
            Some(WaitMode::EvtClear | WaitMode::EvtClearThenSet) => {
                write!(f, "event {index} clear")
            }
            Some(mode) => f.write_str(mode.name()),
            None => f.write_str("an undefined wait mode"),
        }
    }
}

/// What an item does to a semaphore or an event when it is complete. Both forms of ISA 2.4 happen then (OQ-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update {
    mode: UpdateMode,
    index: u8,
    value: u32,
}

impl Update {
    /// The update of a word, if it has one. Register forms are illegal (EV-3) and do nothing.
    pub fn of(events: &Events) -> Option<Self> {
        let mode = UpdateMode::from_code(events.update_mode)?;
        (mode != UpdateMode::None && !mode.uses_register()).then_some(Self {
            mode,
            index: events.update_idx,
            value: events.semaphore_value,
        })
    }

    /// The update of a descriptor.
    pub fn of_descriptor(descriptor: &Descriptor) -> Option<Self> {
        let index = descriptor.update?;
        Some(Self { mode: UpdateMode::SemIncDone, index, value: 0 })
    }

    /// What it changes.
    pub fn cell(&self) -> Cell {
        use UpdateMode::*;
        match self.mode {
            EvtSet | EvtSetDone | EvtClr | EvtClrDone => Cell::Event(self.index),
            _ => Cell::Semaphore(self.index),
        }
    }

    pub fn apply(&self, counters: &mut Counters) {
        use UpdateMode::*;
        let index = usize::from(self.index);
        let (semaphore, event) = (&mut counters.semaphores[index], &mut counters.events[index]);
        match self.mode {
            EvtSet | EvtSetDone => *event = true,
            EvtClr | EvtClrDone => *event = false,
            SemInc | SemIncDone => *semaphore = semaphore.wrapping_add(1),
            SemDec | SemDecDone => *semaphore = semaphore.wrapping_sub(1),
            SemAddImm | SemAddImmDone => *semaphore = semaphore.wrapping_add(self.value),
            SemSubImm | SemSubImmDone => *semaphore = semaphore.wrapping_sub(self.value),
            SemWrImm | SemWrImmDone => *semaphore = self.value,
            _ => {}
        }
    }
}
