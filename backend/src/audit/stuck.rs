//! Queues that never end, and program orders that their waits refuse.

use std::collections::BTreeSet;

use partita_ir::diag::Code;

use super::clock::Clocks;
use super::finding::Finding;
use super::queues::{Id, Queues, SEMAPHORES, Stage, condition_text, signal_text};
use super::tally::{System, apply, holds};

/// Waits that no execution satisfies: each cycle, and each wait for a signal that nobody gives.
pub fn deadlocks(queues: &Queues<'_>, system: &System, clocks: &Clocks) -> Vec<Finding> {
    let next: Vec<Option<Link>> =
        (0..queues.queues.len()).map(|queue| Link::of(queues, system, clocks, queue)).collect();
    let mut told = BTreeSet::new();
    let mut findings = Vec::new();
    for start in 0..next.len() {
        let mut chain: Vec<usize> = Vec::new();
        let mut at = start;
        // Follow who would have signalled, to a queue seen before or to nobody.
        let end = loop {
            let Some(link) = &next[at] else { break None };
            if let Some(seen) = chain.iter().position(|&queue| queue == at) {
                break Some((chain.split_off(seen), true));
            }
            chain.push(at);
            match link.signaller {
                Some(signaller) => at = signaller.queue,
                None => break Some((vec![at], false)),
            }
        };
        let Some((links, cycle)) = end else { continue };
        if !links.iter().all(|&queue| told.insert(queue)) {
            continue;
        }
        let heads: Vec<&Link> = links.iter().filter_map(|&queue| next[queue].as_ref()).collect();
        let names: Vec<String> = heads.iter().map(|link| queues.name(link.head)).collect();
        let message = match (cycle, &names[..]) {
            (true, [only]) => {
                format!("deadlock: {only} waits for what comes after it in its queue")
            }
            (true, _) => format!("deadlock: {} wait for each other", names.join(", ")),
            (false, _) => format!("deadlock: {} waits for what nobody signals", names.join(", ")),
        };
        let mut finding = Finding::error(Code::Deadlock, message);
        finding.items = heads.iter().map(|link| queues.refer(link.head)).collect();
        finding.notes = heads.iter().map(|link| link.text(queues)).collect();
        let behind: Vec<String> = (0..next.len())
            .filter(|queue| !links.contains(queue))
            .filter_map(|queue| Some(queues.name(next[queue].as_ref()?.head)))
            .collect();
        if !behind.is_empty() {
            finding.notes.push(format!("stuck as well: {}", behind.join(", ")));
        }
        findings.push(finding);
    }
    findings
}

/// A queue's head that never starts.
struct Link {
    head: Id,
    condition: String,
    reach: String,
    /// The next item that would help, if there is one.
    signaller: Option<Id>,
}

impl Link {
    fn of(queues: &Queues<'_>, system: &System, clocks: &Clocks, queue: usize) -> Option<Self> {
        let head = Id { queue, index: clocks.reached[queue] };
        let step = system.steps[queue].get(head.index)?;
        let sum = |tally: usize| -> i64 {
            let started = clocks.order.iter().map(|id| &system.steps[id.queue][id.index]);
            let gains = started.flat_map(|step| &step.gains);
            gains.filter(|gain| gain.tally == tally).map(|gain| gain.by).sum()
        };
        let need = step.needs.iter().find(|need| sum(need.tally) < need.at_least)?;
        let helps = |id: &Id| {
            system.steps[id.queue][id.index].gains.iter().any(|gain| gain.tally == need.tally)
        };
        let left = |queue: usize| {
            (clocks.reached[queue]..system.steps[queue].len()).map(move |index| Id { queue, index })
        };
        let signaller = (0..system.steps.len()).find_map(|queue| left(queue).find(helps));
        // What the machine's own signal has come to by then.
        let effects = clocks.order.iter().filter_map(|&id| queues.item(id));
        let value = effects
            .flat_map(|item| &item.effects)
            .filter(|effect| effect.1 == need.signal)
            .fold(0, |value, effect| apply(value, effect.2));
        let reach = match need.signal < SEMAPHORES {
            true => format!("it comes to {value}"),
            false => format!("it stays {}", if value == 0 { "clear" } else { "set" }),
        };
        let condition = condition_text(need.signal, need.condition);
        Some(Self { head, condition, reach, signaller })
    }

    fn text(&self, queues: &Queues<'_>) -> String {
        let Self { condition, reach, .. } = self;
        let head = queues.name(self.head);
        let next = match self.signaller {
            Some(id) => format!("the next to signal it is {}", queues.name(id)),
            None => "nothing that is left signals it".to_owned(),
        };
        format!("{head} waits for {condition}, {reach}; {next}")
    }
}

/// Signals of the machine, and how far each queue has come.
struct Machine<'a, 'b> {
    queues: &'a Queues<'b>,
    values: Vec<u32>,
    done: Vec<usize>,
}

impl<'a, 'b> Machine<'a, 'b> {
    fn new(queues: &'a Queues<'b>) -> Self {
        let done = vec![0; queues.queues.len()];
        Self { queues, values: vec![0; 2 * SEMAPHORES], done }
    }

    /// Runs the next item of a queue, or says what it waits for.
    fn step(&mut self, queue: usize) -> Option<Result<(), String>> {
        let item = self.queues.queues[queue].items.get(self.done[queue])?;
        for &(signal, condition) in &item.waits {
            let value = self.values[signal];
            if !holds(condition, value) {
                let name = signal_text(signal);
                let wanted = condition_text(signal, condition);
                return Some(Err(format!("it waits for {wanted}, and {name} is {value} then")));
            }
        }
        // The emulator's convention: all at completion, but for what the wait itself does.
        for stage in [Stage::Start, Stage::Read, Stage::Done] {
            for &(_, signal, effect) in item.effects.iter().filter(|effect| effect.0 == stage) {
                self.values[signal] = apply(self.values[signal], effect);
            }
        }
        self.done[queue] += 1;
        Some(Ok(()))
    }
}

/// The first item of the program's own order whose wait does not hold there.
pub fn order_fault(queues: &Queues<'_>) -> Option<Finding> {
    let mut machine = Machine::new(queues);
    for id in queues.program_order() {
        if let Some(Err(reason)) = machine.step(id.queue) {
            let message = format!("the program's order reaches {} too early", queues.name(id));
            let mut finding = Finding::error(Code::OrderContradicts, message);
            finding.items.push(queues.refer(id));
            finding.notes.push(reason);
            return Some(finding);
        }
    }
    None
}

/// One execution, queue by queue, for programs whose signals do not only grow: where it gets stuck, some execution does.
pub fn stuck_run(queues: &Queues<'_>) -> Option<Finding> {
    let mut machine = Machine::new(queues);
    let mut reasons: Vec<(Id, String)> = Vec::new();
    loop {
        let mut moved = false;
        reasons.clear();
        for queue in 0..queues.queues.len() {
            loop {
                let id = Id { queue, index: machine.done[queue] };
                match machine.step(queue) {
                    Some(Ok(())) => moved = true,
                    Some(Err(reason)) => {
                        reasons.push((id, reason));
                        break;
                    }
                    None => break,
                }
            }
        }
        if reasons.is_empty() {
            return None;
        }
        if !moved {
            break;
        }
    }
    let message = "deadlock: an execution that the semaphores allow gets stuck";
    let mut finding = Finding::error(Code::Deadlock, message);
    finding.items = reasons.iter().map(|(id, _)| queues.refer(*id)).collect();
    finding.notes =
        reasons.iter().map(|(id, reason)| format!("{}: {reason}", queues.name(*id))).collect();
    finding.notes.push(
        "each engine and DMA queue in turn ran as far as it could; another timing may get through"
            .to_owned(),
    );
    Some(finding)
}
