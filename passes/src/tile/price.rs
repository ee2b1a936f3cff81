//! What the words of an operation on a tile cost, before they are made.

use partita_backend::cost::{Profile, word_cost};
use partita_isa::{AccumCmd, Engine, Instruction, Opcode, Pattern, Target};

use super::engine::fastest;
use crate::select::{Form, Turn};
use crate::words::{Imm, Scalar};

/// Nanoseconds that engines work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    pub dve: f64,
    pub pool: f64,
    pub act: f64,
}

impl Work {
    pub fn add(&mut self, other: Self, times: f64) {
        self.dve += other.dve * times;
        self.pool += other.pool * times;
        self.act += other.act * times;
    }

    /// Of the busiest engine.
    pub fn most(self) -> f64 {
        self.dve.max(self.pool).max(self.act)
    }

    /// Of all engines one after the other.
    pub fn sum(self) -> f64 {
        self.dve + self.pool + self.act
    }
}

/// The longest pattern that a price is asked for; what is longer costs in proportion.
const LONGEST: u64 = 1 << 15;

/// The words of a form that streams so many elements of each partition, its operands side by side in SBUF.
pub fn form_work(form: &Form, elements: u64, target: &Target) -> Work {
    let count = elements.clamp(1, LONGEST);
    let scale = elements.max(1) as f64 / count as f64;
    let mut work = Work::default();
    for (engine, word) in words(form, count as u16) {
        let engine = match form {
            Form::Move { .. } => fastest(&word, engine, target),
            _ => engine,
        };
        work.add(priced(engine, &word, target), scale);
    }
    work
}

/// True of a form that may add up what it writes.
pub fn sums_beside(form: &Form) -> bool {
    matches!(form, Form::Scalar { word, .. } if word.opcode == Opcode::Exponential)
}

/// What it takes to add up beside an exponential and to read the sum.
pub fn drain_work(target: &Target) -> Work {
    let none = [Imm::NONE; 2];
    let one = |accumulator| Scalar { accumulator, ..super::exponential::DRAIN };
    let word = one(AccumCmd::Accumulate).word(
        128,
        none,
        Pattern::contiguous(0, 1),
        Pattern::contiguous(1 << 17, 1),
    );
    let mut work = priced(Engine::Dve, &word, target);
    // The exponential takes about as much longer as the reading of its sum beyond a word.
    work.add(work, 1.0);
    work
}

fn priced(engine: Engine, word: &Instruction, target: &Target) -> Work {
    let profile = Profile::of(target.generation);
    let clock = profile.engines.get(&engine).map_or(1.0, |figures| figures.clock_ghz.value);
    let cycles = word_cost(word, engine, profile, target.generation).map_or(0, |cost| cost.cycles);
    let ns = cycles as f64 / clock;
    match engine {
        Engine::Pool => Work { pool: ns, ..Work::default() },
        Engine::Act => Work { act: ns, ..Work::default() },
        _ => Work { dve: ns, ..Work::default() },
    }
}

/// Stand-ins for the words: the patterns are contiguous and lie apart.
fn words(form: &Form, count: u16) -> Vec<(Engine, Instruction)> {
    const CHANNELS: u8 = 128;
    fn at<const D: usize>(place: u32, count: u16) -> Pattern<D> {
        Pattern::contiguous(place << 17, count)
    }
    let none = [Imm::NONE; 2];
    match form {
        Form::Move { word, .. } | Form::Scan(word) | Form::TransposeReduce(word) => {
            vec![(Engine::Dve, word.word(CHANNELS, at(0, count), at(1, count)))]
        }
        Form::Reduce { word, engine } => {
            vec![(*engine, word.word(CHANNELS, at(0, count), at(1, 1)))]
        }
        Form::Two { word, engine, .. } => {
            vec![(*engine, word.word(CHANNELS, [at(0, count), at(2, count)], at(1, count)))]
        }
        Form::Scalar { word, engine, .. } => {
            vec![(*engine, word.word(CHANNELS, none, at(0, count), at(1, count)))]
        }
        Form::CacheScan(word) => {
            vec![(Engine::Dve, word.word(CHANNELS, none, at(0, count), at(1, count)))]
        }
        Form::Stt { word, .. } => {
            let src = [at(0, count), at(2, count)];
            vec![(Engine::Dve, word.word(CHANNELS, Imm::NONE, src, at(1, count)))]
        }
        Form::Stages(stages) => {
            stages.stages.iter().flat_map(|stage| words(&stage.form, count)).collect()
        }
        Form::Select { mask, data } => {
            let word = crate::select::predicated(*mask, *data);
            vec![(Engine::Dve, word.word(CHANNELS, [at(0, count), at(2, count)], at(1, count)))]
        }
        Form::RowSelect { word, .. } => {
            let [mask, other] = none;
            vec![(Engine::Dve, word.word(CHANNELS, mask, other, at(0, count), at(1, count)))]
        }
        Form::Turn(Turn::Move(word)) => {
            vec![(Engine::Dve, word.word(CHANNELS, at(0, count), at(1, count)))]
        }
        Form::Turn(Turn::Scalar { word, .. }) => {
            vec![(Engine::Dve, word.word(CHANNELS, none, at(0, count), at(1, count)))]
        }
        Form::CrossLane(word) => {
            vec![(Engine::Pool, word.word(CHANNELS, at(0, count), at(1, count)))]
        }
    }
}
