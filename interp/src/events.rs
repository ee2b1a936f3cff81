//! Waits and updates of words on the machine's counters; what they mean is [`partita_backend::counters`]'s.

use partita_backend::counters::{Update, Wait};
use partita_isa::Events;

use crate::error::Fault;
use crate::machine::Machine;

impl Machine {
    /// Whether a word with these events may start now.
    pub fn may_start(&self, events: &Events) -> bool {
        Wait::of(events).is_none_or(|wait| wait.holds(&self.counters))
    }

    /// What a satisfied wait does when the word starts.
    pub fn start(&mut self, events: &Events) {
        if let Some(wait) = Wait::of(events) {
            wait.start(&mut self.counters);
        }
    }

    /// What the word does to its semaphore or event when it is complete.
    pub fn complete(&mut self, events: &Events) {
        if let Some(update) = Update::of(events) {
            update.apply(&mut self.counters);
        }
    }

    /// The fault of a word whose wait is not satisfied.
    pub(crate) fn unsatisfied(&self, events: &Events) -> Fault {
        let (condition, state) = self.waits_for(events);
        Fault::Wait { condition, state }
    }

    /// The condition of a wait, and the semaphore or event that it looks at, as text.
    pub(crate) fn waits_for(&self, events: &Events) -> (String, String) {
        Wait::of(events).map_or_else(Default::default, |wait| {
            (wait.to_string(), wait.cell().state(&self.counters))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Limits;
    use partita_isa::{Target, UpdateMode, WaitMode};

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
        machine.counters.semaphores[7] = 3;
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
            assert_eq!(machine.counters.semaphores[9], want, "{mode}");
        }
    }

    #[test]
    fn event_waits_clear_and_set() {
        let mut machine = Machine::new(Target::default(), 0, Limits::default()).unwrap();
        let wait = |mode| events(mode, UpdateMode::None, 0);
        assert!(!machine.may_start(&wait(WaitMode::EvtSetThenClear)));
        assert!(machine.may_start(&wait(WaitMode::EvtClearThenSet)));
        machine.start(&wait(WaitMode::EvtClearThenSet));
        assert!(machine.counters.events[7] && machine.may_start(&wait(WaitMode::EvtSet)));
        machine.start(&wait(WaitMode::EvtSetThenClear));
        assert!(!machine.counters.events[7] && machine.may_start(&wait(WaitMode::EvtClear)));
    }
}
