//! The items of a program's queues, decoded and planned.

use std::collections::BTreeMap;

use partita_backend::program::{Program, Slot};
use partita_isa::{Engine, Events, Instruction, dma};

use crate::error::Fault;
use crate::machine::Machine;
use crate::plan::Plan;

use super::ExecError;
use super::bands::Local;
use super::error::Item;

/// Words whose plans are kept. A plan is several times as large as its word, so the words of a longer program beyond
/// these are planned when they are reached.
const PLANS: usize = 1 << 16;

/// What becomes of waits and updates.
#[derive(Clone, Copy)]
pub(super) enum Waits {
    /// Waits must hold, and updates are made.
    Hold,
    /// The order accounts for both.
    SeenTo,
}

/// All items, queue after queue; an item's number is its place here.
pub(super) struct Items<'a> {
    program: &'a Program,
    queues: Vec<Queue>,
    items: Vec<Ready<'a>>,
    plans: Vec<Plan>,
}

/// One queue's share of the items.
pub(super) struct Queue {
    slot: Slot,
    first: usize,
    len: usize,
}

impl Queue {
    /// The number of the item that comes next when `done` are done; `None` at the end.
    pub fn next(&self, done: usize) -> Option<usize> {
        (done < self.len).then_some(self.first + done)
    }
}

enum Ready<'a> {
    Word {
        engine: Engine,
        /// Its place among the engine's words.
        place: usize,
        events: Events,
        /// Its place among the plans; `None` where it is planned when it is reached.
        plan: Option<usize>,
    },
    Dma {
        /// Its place among the program's descriptors.
        place: usize,
        descriptor: &'a dma::Descriptor,
    },
}

impl<'a> Items<'a> {
    /// Judges every item, so that nothing runs where one is illegal, and plans what does not fail.
    pub fn new(program: &'a Program, machine: &Machine) -> Result<Self, ExecError> {
        let mut found = Self { program, queues: Vec::new(), items: Vec::new(), plans: Vec::new() };
        for (&engine, words) in &program.words {
            found.begin(Slot::Word(engine));
            for (place, word) in words.iter().enumerate() {
                found.push(Ready::Word {
                    engine,
                    place,
                    events: Instruction::decode(word).events,
                    plan: None,
                });
                found.judge(machine.check(engine, word))?;
            }
        }
        let mut descriptors: BTreeMap<u8, Vec<usize>> = BTreeMap::new();
        for (place, descriptor) in program.dma.iter().enumerate() {
            descriptors.entry(descriptor.queue).or_default().push(place);
        }
        for (queue, places) in descriptors {
            found.begin(Slot::Dma(queue));
            for place in places {
                let descriptor = &program.dma[place];
                found.push(Ready::Dma { place, descriptor });
                found.judge(machine.check_dma(descriptor))?;
            }
        }
        found.plan(machine);
        Ok(found)
    }

    fn begin(&mut self, slot: Slot) {
        self.queues.push(Queue { slot, first: self.items.len(), len: 0 });
    }

    fn push(&mut self, item: Ready<'a>) {
        self.items.push(item);
        if let Some(queue) = self.queues.last_mut() {
            queue.len += 1;
        }
    }

    /// The verdict on the item pushed last.
    fn judge(&self, verdict: Result<(), Fault>) -> Result<(), ExecError> {
        verdict.map_err(|fault| self.failed(self.items.len() - 1, fault))
    }

    /// A word without a plan is planned once more when it is reached, and fails then.
    fn plan(&mut self, machine: &Machine) {
        for item in &mut self.items {
            let Ready::Word { engine, place, plan, .. } = item else { continue };
            if self.plans.len() == PLANS {
                return;
            }
            let word = Instruction::decode(&self.program.words[engine][*place]);
            if machine.is_literal(*engine, &word) {
                continue;
            }
            if let Ok(made) = Plan::new(machine, *engine, &word) {
                *plan = Some(self.plans.len());
                self.plans.push(made);
            }
        }
    }

    pub fn queues(&self) -> &[Queue] {
        &self.queues
    }

    /// The numbers of the items in an order of their queues; what lies past the end of a queue is left out.
    pub fn in_order(&self, order: &[Slot]) -> Vec<usize> {
        let mut done = vec![0; self.queues.len()];
        let next = |slot: &Slot| {
            let queue = self.queues.binary_search_by_key(slot, |queue| queue.slot).ok()?;
            let number = self.queues[queue].next(done[queue])?;
            done[queue] += 1;
            Some(number)
        };
        order.iter().filter_map(next).collect()
    }

    pub fn may_start(&self, number: usize, machine: &Machine) -> bool {
        match &self.items[number] {
            Ready::Word { events, .. } => machine.may_start(events),
            Ready::Dma { descriptor, .. } => machine.dma_may_start(descriptor),
        }
    }

    /// Runs one item.
    pub fn run(&self, number: usize, machine: &mut Machine, waits: Waits) -> Result<(), ExecError> {
        self.try_run(&self.items[number], machine, waits)
            .map_err(|fault| self.failed(number, fault))
    }

    fn try_run(&self, item: &Ready, machine: &mut Machine, waits: Waits) -> Result<(), Fault> {
        let (engine, place, events, plan) = match (item, waits) {
            (Ready::Dma { descriptor, .. }, Waits::Hold) => {
                return machine.step_legal_dma(descriptor);
            }
            (Ready::Dma { descriptor, .. }, Waits::SeenTo) => return machine.transfer(descriptor),
            (Ready::Word { engine, place, events, plan }, _) => (*engine, *place, events, *plan),
        };
        let run = |machine: &mut Machine| match plan {
            Some(plan) => machine.run(&self.plans[plan]),
            None => {
                let word = &self.program.words[&engine][place];
                machine.take_effect(engine, &Instruction::decode(word))
            }
        };
        match waits {
            Waits::Hold => machine.between_events(events, run),
            Waits::SeenTo => run(machine),
        }
    }

    /// An item's wait, which must hold, and its update, without its effect.
    pub fn pass_events(&self, number: usize, machine: &mut Machine) -> Result<(), ExecError> {
        match &self.items[number] {
            Ready::Word { events, .. } => machine.between_events(events, |_| Ok(())),
            Ready::Dma { descriptor, .. } => machine.between_waits(descriptor, |_| Ok(())),
        }
        .map_err(|fault| self.failed(number, fault))
    }

    /// The effect of an item as one that can be had for some partitions at a time, if it is of that kind.
    pub fn local(&self, number: usize, machine: &Machine) -> Option<Local> {
        match &self.items[number] {
            Ready::Word { plan, .. } => match &self.plans[(*plan)?] {
                Plan::Rows(plan) => plan.is_local().then(|| Local::Word(Box::new(*plan))),
                Plan::CrossLane { .. } | Plan::LoadTable(_) => None,
            },
            Ready::Dma { descriptor, .. } => {
                let transfer = machine.plan_transfer(descriptor).ok()?;
                let rows = transfer.by_rows()?;
                rows.is_apart(&rows).then(|| Local::Dma(Box::new(transfer), rows))
            }
        }
    }

    /// An item, for messages.
    pub fn item(&self, number: usize) -> Item {
        let place = match self.items[number] {
            Ready::Word { place, .. } | Ready::Dma { place, .. } => place,
        };
        // Queues are in the order of their items, and none is empty between two that have some.
        let after = self.queues.partition_point(|queue| queue.first <= number);
        let queue = &self.queues[after - 1];
        let text = self.program.item_text(queue.slot, place).unwrap_or_default();
        Item { queue: queue.slot, index: number - queue.first, text }
    }

    pub fn failed(&self, number: usize, fault: Fault) -> ExecError {
        ExecError::Item { item: self.item(number), fault }
    }

    /// What an item waits for, and how things are.
    pub fn waits_for(&self, number: usize, machine: &Machine) -> String {
        let unsatisfied = match &self.items[number] {
            Ready::Word { events, .. } => Some(machine.waits_for(events)),
            Ready::Dma { descriptor, .. } => machine.unsatisfied_dma(descriptor),
        };
        unsatisfied.map_or_else(
            || "nothing".to_owned(),
            |(condition, state)| format!("{condition}, but {state}"),
        )
    }
}
