//! Waits and updates of semaphores and events (ISA 2.3, 2.4). Counters are unsigned and wrap (OQ-4); both forms
//! of an update happen after the writes (OQ-3).

use partita_isa::{Events, UpdateMode, WaitMode};

use crate::error::Fault;
use crate::machine::Machine;

impl Machine {
    /// Whether a word with these events may start now.
    pub fn may_start(&self, events: &Events) -> bool {
        let index = usize::from(events.wait_idx);
        let (semaphore, event) = (self.semaphores[index], self.events[index]);
        let value = events.semaphore_value;
        match WaitMode::from_code(events.wait_mode) {
            Some(WaitMode::None) => true,
            Some(WaitMode::SemEqImm) => semaphore == value,
            Some(WaitMode::SemLtImm) => semaphore < value,
            Some(WaitMode::SemLeImm) => semaphore <= value,
            Some(WaitMode::SemGtImm) => semaphore > value,
            Some(WaitMode::SemGeImm) => semaphore >= value,
            Some(WaitMode::EvtSet | WaitMode::EvtSetThenClear) => event,
            Some(WaitMode::EvtClear | WaitMode::EvtClearThenSet) => !event,
            // Register forms are illegal (EV-3): such a word never starts.
            _ => false,
        }
    }

    /// What a satisfied wait does when the word starts.
    pub fn start(&mut self, events: &Events) {
        let event = &mut self.events[usize::from(events.wait_idx)];
        match WaitMode::from_code(events.wait_mode) {
            Some(WaitMode::EvtSetThenClear) => *event = false,
            Some(WaitMode::EvtClearThenSet) => *event = true,
            _ => {}
        }
    }

    /// What the word does to its semaphore or event when it is complete.
    pub fn complete(&mut self, events: &Events) {
        use UpdateMode::*;
        let index = usize::from(events.update_idx);
        let (semaphore, event) = (&mut self.semaphores[index], &mut self.events[index]);
        let value = events.semaphore_value;
        match UpdateMode::from_code(events.update_mode) {
            Some(EvtSet | EvtSetDone) => *event = true,
            Some(EvtClr | EvtClrDone) => *event = false,
            Some(SemInc | SemIncDone) => *semaphore = semaphore.wrapping_add(1),
            Some(SemDec | SemDecDone) => *semaphore = semaphore.wrapping_sub(1),
            Some(SemAddImm | SemAddImmDone) => *semaphore = semaphore.wrapping_add(value),
            Some(SemSubImm | SemSubImmDone) => *semaphore = semaphore.wrapping_sub(value),
            Some(SemWrImm | SemWrImmDone) => *semaphore = value,
            // Register forms are illegal (EV-3).
            _ => {}
        }
    }

    /// The fault of a word whose wait is not satisfied.
    pub(crate) fn unsatisfied(&self, events: &Events) -> Fault {
        Fault::Wait { condition: condition(events), state: self.state_of(events) }
    }

    /// The semaphore or event that a wait looks at, as text.
    pub(crate) fn state_of(&self, events: &Events) -> String {
        let index = usize::from(events.wait_idx);
        match WaitMode::from_code(events.wait_mode) {
            Some(mode) if mode.uses_immediate() => {
                format!("semaphore {index} is {}", self.semaphores[index])
            }
            _ if self.events[index] => format!("event {index} is set"),
            _ => format!("event {index} is clear"),
        }
    }
}

/// The condition of a wait as text.
pub(crate) fn condition(events: &Events) -> String {
    let (index, value) = (events.wait_idx, events.semaphore_value);
    match WaitMode::from_code(events.wait_mode) {
        Some(WaitMode::SemEqImm) => format!("semaphore {index} = {value}"),
        Some(WaitMode::SemLtImm) => format!("semaphore {index} < {value}"),
        Some(WaitMode::SemLeImm) => format!("semaphore {index} <= {value}"),
        Some(WaitMode::SemGtImm) => format!("semaphore {index} > {value}"),
        Some(WaitMode::SemGeImm) => format!("semaphore {index} >= {value}"),
        Some(WaitMode::EvtSet | WaitMode::EvtSetThenClear) => format!("event {index} set"),
        Some(WaitMode::EvtClear | WaitMode::EvtClearThenSet) => format!("event {index} clear"),
        Some(mode) => mode.name().to_owned(),
        None => format!("wait mode {:#04x}", events.wait_mode),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Limits;
    use partita_isa::Target;

    fn events(wait: WaitMode, update: UpdateMode, value: u32) -> Events {
        Events {
            wait_mode: wait.code(),
            wait_idx: 7,
            update_mode: update.code(),
            update_idx: 9,
            semaphore_value: value,
        }
    }

    #[test]
    fn every_wait_and_update() {
        let mut machine = Machine::new(Target::default(), 0, Limits::default()).unwrap();
        machine.semaphores[7] = 3;
        for (mode, at) in [
            (WaitMode::None, [true, true, true]),
            (WaitMode::SemEqImm, [false, true, false]),
            (WaitMode::SemLtImm, [false, false, true]),
            (WaitMode::SemLeImm, [false, true, true]),
            (WaitMode::SemGtImm, [true, false, false]),
            (WaitMode::SemGeImm, [true, true, false]),
            (WaitMode::SemGeReg, [false, false, false]),
        ] {
            let got = [2, 3, 4].map(|v| machine.may_start(&events(mode, UpdateMode::None, v)));
            assert_eq!(got, at, "{mode}");
        }
        for (mode, value, want) in [
            (UpdateMode::SemWrImm, 5, 5),
            (UpdateMode::SemDecDone, 0, 4),
            (UpdateMode::SemSubImm, 6, u32::MAX - 1),
            (UpdateMode::SemInc, 0, u32::MAX),
            (UpdateMode::SemAddImmDone, 3, 2),
        ] {
            machine.complete(&events(WaitMode::None, mode, value));
            assert_eq!(machine.semaphores[9], want, "{mode}");
        }
    }

    #[test]
    fn event_waits_clear_and_set() {
        let mut machine = Machine::new(Target::default(), 0, Limits::default()).unwrap();
        let wait = |mode| events(mode, UpdateMode::None, 0);
        assert!(!machine.may_start(&wait(WaitMode::EvtSetThenClear)));
        assert!(machine.may_start(&wait(WaitMode::EvtClearThenSet)));
        machine.start(&wait(WaitMode::EvtClearThenSet));
        assert!(machine.events[7] && machine.may_start(&wait(WaitMode::EvtSet)));
        machine.start(&wait(WaitMode::EvtSetThenClear));
        assert!(!machine.events[7] && machine.may_start(&wait(WaitMode::EvtClear)));
    }
}
