//! The event loop.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::deadlock::Deadlock;
use super::history::{Change, History};
use super::items::Loads;
use super::sharing::Sharing;
use super::{After, Item, ItemId, Signal, Timeline, Track, cycles_ps};
use crate::cost::{Profile, SHARED_BUS};
use crate::counters::{Cell, Counters};
use crate::program::{Program, Slot};

/// Something that happens at a time. Of two at one time the smaller comes first: ends before starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The word that a queue runs is over, unless its end has been moved since.
    WordEnd { queue: usize, version: u32 },
    /// A transfer is over, unless the sharing has changed since.
    TransferEnd { version: u64 },
    /// A descriptor's latency is over.
    Latency { queue: usize, item: ItemId },
    /// A wait that was satisfied has been noticed.
    Granted { queue: usize },
}

/// Something that follows at once.
enum Task {
    /// The next item of a queue has come to its head.
    Reach(usize),
    /// The head's waits are over: it takes what it shares.
    Admit(usize),
    /// The head has all it needs.
    Begin(usize),
    /// A cell has changed.
    Changed(Cell),
}

/// A queue on its way.
#[derive(Clone, Copy, Default)]
struct Queue {
    /// The item at the head, counted within the queue.
    next: u32,
    /// Of a DMA queue: the descriptor to move bytes next, or now.
    moving: u32,
    is_moving: bool,
    /// Words that run back to back are timed from here.
    anchor_ps: u64,
    anchor_cycles: u64,
    free_ps: u64,
    running: bool,
    version: u32,
}

/// A word in a fast mode, where the bus that it shares has a price.
struct Slowed {
    queue: usize,
    /// Picoseconds at full speed that are left, and since when that has been so.
    left_ps: f64,
    since_ps: u64,
}

pub(super) struct Simulation<'a> {
    program: &'a Program,
    profile: &'a Profile,
    loads: &'a Loads,
    queues: Vec<Queue>,
    items: Vec<Item>,
    signals: Vec<Signal>,
    counters: Counters,
    history: History,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    tasks: VecDeque<Task>,
    /// Queues whose head waits, in the order in which they came to wait.
    blocked: Vec<usize>,
    exclusive: Vec<usize>,
    /// The queue that holds the memory that engines take turns at, who held it last, and who wants it.
    holder: Option<usize>,
    last_held: Option<ItemId>,
    wanting: VecDeque<usize>,
    /// Descriptors under way, the last that ended, and the queues that wait for room.
    under_way: u32,
    last_ended: Option<ItemId>,
    crowded: VecDeque<usize>,
    sharing: Sharing,
    sharing_version: u64,
    /// The queues of the shared bus, where both are in use and the profile gives it a price.
    bus: Option<(usize, usize)>,
    slowed: Option<Slowed>,
    completed: Vec<ItemId>,
    /// Since when descriptors have been under way, and for how long before that; the same of moving bytes.
    busy: [(u64, u64); 2],
    moving: u32,
}

impl<'a> Simulation<'a> {
    pub fn new(program: &'a Program, profile: &'a Profile, loads: &'a Loads) -> Self {
        let mut items = Vec::with_capacity(loads.items.len());
        for queue in &loads.queues {
            let range = queue.first as usize..(queue.first + queue.count) as usize;
            for (index, load) in loads.items.get(range).unwrap_or(&[]).iter().enumerate() {
                items.push(Item {
                    slot: queue.slot,
                    index: index as u32,
                    place: load.place,
                    cycles: load.cycles,
                    bytes: load.bytes,
                    ready_ps: 0,
                    granted_ps: 0,
                    start_ps: 0,
                    moving_ps: 0,
                    end_ps: 0,
                    after: After::Start,
                });
            }
        }
        let exclusive = profile.exclusive_sbuf.iter().flat_map(|exclusive| &exclusive.engines);
        Self {
            program,
            profile,
            loads,
            queues: vec![Queue::default(); loads.queues.len()],
            signals: Vec::new(),
            items,
            counters: Counters::default(),
            history: History::default(),
            events: BinaryHeap::new(),
            tasks: (0..loads.queues.len()).map(Task::Reach).collect(),
            blocked: Vec::new(),
            exclusive: exclusive.filter_map(|&engine| loads.engine(engine)).collect(),
            holder: None,
            last_held: None,
            wanting: VecDeque::new(),
            under_way: 0,
            last_ended: None,
            crowded: VecDeque::new(),
            sharing: Sharing::default(),
            sharing_version: 0,
            bus: loads
                .engine(SHARED_BUS.0)
                .zip(loads.engine(SHARED_BUS.1))
                .filter(|_| profile.shared_bus.value > 1.0),
            slowed: None,
            completed: Vec::new(),
            busy: [(0, 0); 2],
            moving: 0,
        }
    }

    pub fn run(mut self) -> Result<Timeline, Box<Deadlock>> {
        let mut now = 0;
        loop {
            while let Some(task) = self.tasks.pop_front() {
                match task {
                    Task::Reach(queue) => self.reach(queue, now),
                    Task::Admit(queue) => self.admit(queue, now),
                    Task::Begin(queue) => self.begin(queue, now),
                    Task::Changed(cell) => self.changed(cell, now),
                }
            }
            let Some(Reverse((at, event))) = self.events.pop() else { break };
            now = at;
            match event {
                Event::WordEnd { queue, version } => self.end_word(queue, version, now),
                Event::TransferEnd { version } => self.end_transfer(version, now),
                Event::Latency { queue, item } => self.latency_over(queue, item, now),
                Event::Granted { queue } => self.tasks.push_back(Task::Admit(queue)),
            }
        }
        if self.blocked.is_empty() {
            return Ok(self.finish());
        }
        let next = |queue: usize| self.queues[queue].next;
        Err(Box::new(Deadlock::new(self.program, self.loads, &self.counters, next, &self.blocked)))
    }

    fn head(&self, queue: usize) -> ItemId {
        self.loads.queues[queue].first + self.queues[queue].next
    }

    fn is_dma(&self, queue: usize) -> bool {
        matches!(self.loads.queues[queue].slot, Slot::Dma(_))
    }

    fn reach(&mut self, queue: usize, now: u64) {
        if self.queues[queue].next >= self.loads.queues[queue].count {
            return;
        }
        let id = self.head(queue);
        let item = &mut self.items[id as usize];
        item.ready_ps = now;
        if item.index > 0 {
            item.after = After::Order(id - 1);
        }
        if self.waits_hold(id) {
            self.grant(queue, now);
        } else {
            self.blocked.push(queue);
        }
    }

    fn waits_hold(&self, id: ItemId) -> bool {
        self.loads.items[id as usize].waits().all(|wait| wait.holds(&self.counters))
    }

    /// The head's waits hold. A word notices what another queue did some cycles later.
    fn grant(&mut self, queue: usize, now: u64) {
        let id = self.head(queue);
        let load = &self.loads.items[id as usize];
        let clock = self.loads.queues[queue].clock_ghz;
        let delay = match (self.is_dma(queue), clock) {
            (false, Some(ghz)) => (self.profile.semaphore_cycles.value * 1e3 / ghz).round() as u64,
            _ => 0,
        };
        let mut granted = now;
        for wait in load.waits() {
            if let Some(change) = self.history.enabled(wait) {
                let (from, at_ps) = (change.by, change.at_ps);
                self.signals.push(Signal { cell: wait.cell(), from, at_ps, to: id });
                let foreign = self.loads.queue_of(from) != queue;
                let seen = if foreign { at_ps.saturating_add(delay) } else { at_ps };
                let item = &mut self.items[id as usize];
                // What is seen only when the queue is free anyway holds nothing up.
                if seen > item.ready_ps && seen >= granted {
                    granted = seen;
                    item.after = After::Signal(from);
                }
            }
            if wait.start(&mut self.counters) {
                let change = Change { at_ps: now, by: id };
                self.history.push(wait.cell(), &self.counters, change);
                self.tasks.push_back(Task::Changed(wait.cell()));
            }
        }
        self.items[id as usize].granted_ps = granted;
        if granted > now {
            self.events.push(Reverse((granted, Event::Granted { queue })));
        } else {
            self.tasks.push_back(Task::Admit(queue));
        }
    }

    /// Heads that waited for this, the longest waiting first; one may take the event away from the next.
    fn changed(&mut self, cell: Cell, now: u64) {
        let mut at = 0;
        while let Some(&queue) = self.blocked.get(at) {
            let id = self.head(queue);
            let looks = self.loads.items[id as usize].waits().any(|wait| wait.cell() == cell);
            if looks && self.waits_hold(id) {
                self.blocked.remove(at);
                self.grant(queue, now);
            } else {
                at += 1;
            }
        }
    }

    fn admit(&mut self, queue: usize, now: u64) {
        let id = self.head(queue);
        if self.is_dma(queue) {
            if self.under_way >= self.profile.dma.in_flight.value {
                self.crowded.push_back(queue);
                return;
            }
            self.under_way += 1;
        } else if self.loads.items[id as usize].on_sbuf && self.exclusive.contains(&queue) {
            if self.holder.is_some() {
                self.wanting.push_back(queue);
                return;
            }
            self.holder = Some(queue);
        }
        self.begin(queue, now);
    }

    /// Starts the head, which holds what it shares.
    fn begin(&mut self, queue: usize, now: u64) {
        let id = self.head(queue);
        let dma = self.is_dma(queue);
        let item = &mut self.items[id as usize];
        item.start_ps = now;
        item.moving_ps = now;
        if now > item.granted_ps {
            let (last, after): (_, fn(ItemId) -> After) = match dma {
                true => (self.last_ended, After::Room),
                false => (self.last_held, After::Exclusive),
            };
            item.after = last.map_or(item.after, after);
        }
        if dma {
            self.begin_descriptor(queue, id, now);
        } else {
            self.begin_word(queue, id, now);
        }
    }

    fn begin_word(&mut self, queue: usize, id: ItemId, now: u64) {
        let load = &self.loads.items[id as usize];
        let clock = self.loads.queues[queue].clock_ghz;
        let is_other = self.bus.is_some_and(|bus| bus.1 == queue);
        if is_other {
            self.wear_slowed(now);
        }
        let state = &mut self.queues[queue];
        if state.free_ps != now {
            (state.anchor_ps, state.anchor_cycles) = (now, 0);
        }
        state.anchor_cycles = state.anchor_cycles.saturating_add(load.cycles);
        let passed = clock.map_or(0, |ghz| cycles_ps(state.anchor_cycles, ghz));
        let end = state.anchor_ps.saturating_add(passed);
        state.running = true;
        let version = state.version;
        if load.fast && self.bus.is_some_and(|bus| bus.0 == queue) {
            let left_ps = end.saturating_sub(now) as f64;
            self.slowed = Some(Slowed { queue, left_ps, since_ps: now });
            self.time_slowed(now);
        } else {
            self.events.push(Reverse((end, Event::WordEnd { queue, version })));
        }
        if is_other {
            self.time_slowed(now);
        }
    }

    /// How much longer a word that shares the bus takes now.
    fn bus_factor(&self) -> f64 {
        match self.bus {
            Some((_, other)) if self.queues[other].running => self.profile.shared_bus.value,
            _ => 1.0,
        }
    }

    /// Moves the end of the word that shares the bus: it goes by at full speed or slowed from now on.
    fn time_slowed(&mut self, now: u64) {
        let factor = self.bus_factor();
        let Some(slowed) = &mut self.slowed else { return };
        slowed.since_ps = now;
        let state = &mut self.queues[slowed.queue];
        state.version = state.version.wrapping_add(1);
        let (queue, version) = (slowed.queue, state.version);
        let end = now.saturating_add((slowed.left_ps * factor).round() as u64);
        self.events.push(Reverse((end, Event::WordEnd { queue, version })));
    }

    /// Takes off what the word that shares the bus has done, before the other engine's state changes.
    fn wear_slowed(&mut self, now: u64) {
        let factor = self.bus_factor();
        if let Some(slowed) = &mut self.slowed {
            let passed = now.saturating_sub(slowed.since_ps) as f64 / factor;
            slowed.left_ps = (slowed.left_ps - passed).max(0.0);
            slowed.since_ps = now;
        }
    }

    fn end_word(&mut self, queue: usize, version: u32, now: u64) {
        if !self.queues[queue].running || self.queues[queue].version != version {
            return;
        }
        let id = self.head(queue);
        let is_other = self.bus.is_some_and(|bus| bus.1 == queue);
        if is_other {
            self.wear_slowed(now);
        }
        let state = &mut self.queues[queue];
        if self.slowed.as_ref().is_some_and(|slowed| slowed.queue == queue) {
            self.slowed = None;
            (state.anchor_ps, state.anchor_cycles) = (now, 0);
        }
        state.running = false;
        state.free_ps = now;
        state.next += 1;
        if is_other {
            self.time_slowed(now);
        }
        self.complete(id, now);
        if self.holder == Some(queue) {
            self.last_held = Some(id);
            self.holder = self.wanting.pop_front();
            self.tasks.extend(self.holder.map(Task::Begin));
        }
        self.tasks.push_back(Task::Reach(queue));
    }

    /// From the start of a descriptor to its first byte.
    fn latency_ps(&self) -> u64 {
        (self.profile.dma.latency_ns.value * 1e3).round() as u64
    }

    fn begin_descriptor(&mut self, queue: usize, id: ItemId, now: u64) {
        if self.under_way == 1 {
            self.busy[0].0 = now;
        }
        let first_byte = now.saturating_add(self.latency_ps());
        self.events.push(Reverse((first_byte, Event::Latency { queue, item: id })));
        self.queues[queue].next += 1;
        self.tasks.push_back(Task::Reach(queue));
    }

    fn latency_over(&mut self, queue: usize, item: ItemId, now: u64) {
        let state = self.queues[queue];
        if !state.is_moving && self.loads.queues[queue].first + state.moving == item {
            self.begin_transfer(queue, item, now);
        }
    }

    fn begin_transfer(&mut self, queue: usize, item: ItemId, now: u64) {
        if self.moving == 0 {
            self.busy[1].0 = now;
        }
        self.moving += 1;
        self.items[item as usize].moving_ps = now;
        self.queues[queue].is_moving = true;
        self.sharing.add(queue, self.loads.items[item as usize].work, now);
        self.time_transfers();
    }

    fn time_transfers(&mut self) {
        self.sharing_version += 1;
        if let Some(end) = self.sharing.next_end() {
            self.events.push(Reverse((end, Event::TransferEnd { version: self.sharing_version })));
        }
    }

    fn end_transfer(&mut self, version: u64, now: u64) {
        if version != self.sharing_version {
            return;
        }
        let Some(queue) = self.sharing.take_ended(now) else { return };
        let first = self.loads.queues[queue].first;
        let state = &mut self.queues[queue];
        let id = first + state.moving;
        state.moving += 1;
        state.is_moving = false;
        let (following, issued) = (first + state.moving, first + state.next);
        self.moving -= 1;
        if self.moving == 0 {
            self.busy[1].1 += now - self.busy[1].0;
        }
        self.under_way -= 1;
        if self.under_way == 0 {
            self.busy[0].1 += now - self.busy[0].0;
        }
        self.last_ended = Some(id);
        self.complete(id, now);
        let latency = self.latency_ps();
        let is_due = following < issued
            && self.items[following as usize].start_ps.saturating_add(latency) <= now;
        if is_due {
            self.begin_transfer(queue, following, now);
        } else {
            self.time_transfers();
        }
        if let Some(queue) = self.crowded.pop_front() {
            self.under_way += 1;
            self.tasks.push_back(Task::Begin(queue));
        }
    }

    /// The item's effect is there: it updates what it updates.
    fn complete(&mut self, id: ItemId, now: u64) {
        self.items[id as usize].end_ps = now;
        self.completed.push(id);
        if let Some(update) = self.loads.items[id as usize].update {
            update.apply(&mut self.counters);
            let cell = update.cell();
            self.history.push(cell, &self.counters, Change { at_ps: now, by: id });
            self.tasks.push_back(Task::Changed(cell));
        }
    }

    fn finish(self) -> Timeline {
        let Self { items, mut signals, .. } = self;
        signals.sort_by_key(|signal| signal.to);
        let tracks = self.loads.queues.iter().map(|queue| Track {
            slot: queue.slot,
            first: queue.first,
            count: queue.count,
            clock_ghz: queue.clock_ghz,
        });
        Timeline {
            target: self.program.target,
            tracks: tracks.collect(),
            makespan_ps: items.iter().map(|item| item.end_ps).max().unwrap_or(0),
            items,
            signals,
            completed: self.completed,
            dma_under_way_ps: self.busy[0].1,
            dma_moving_ps: self.busy[1].1,
        }
    }
}
