//! Figures of a whole program.

use std::collections::BTreeMap;

use partita_isa::{Engine, Instruction, Opcode};
use serde::Serialize;

use crate::program::Program;

use super::dma::dma_cost;
use super::profile::{Profile, Tag};
use super::word::queue_costs;

/// What a program costs, without a schedule: how long each engine and the DMA queues work, and the bound that follows.
///
/// The makespan, the end of the last item in a simulation of all queues, is [`crate::timeline`]'s.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramCost {
    pub target: String,
    pub profile: String,
    pub engines: Vec<EngineCost>,
    pub dma: DmaTotals,
    /// The larger of: the busiest engine with the first load and the last store around it, and the transfers with one
    /// latency. No schedule of a program whose busiest engine works on what is loaded is shorter.
    pub bound_ns: f64,
}

/// One engine's share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EngineCost {
    pub engine: String,
    pub words: usize,
    pub cycles: u64,
    pub busy_ns: f64,
    /// Words that the profile does not price; they count as nothing.
    pub unpriced: usize,
    pub opcodes: Vec<OpcodeCost>,
}

/// One opcode's share of an engine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpcodeCost {
    pub opcode: String,
    pub words: usize,
    pub cycles: u64,
    /// Words of which some figure is assumed.
    pub assumed: usize,
}

/// All descriptors together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DmaTotals {
    pub descriptors: usize,
    /// Bytes written.
    pub bytes: u64,
    /// Transfers one after the other at the whole bandwidth, without latency.
    pub busy_ns: f64,
}

impl ProgramCost {
    /// Prices a program under a profile.
    pub fn new(program: &Program, profile: &Profile) -> Self {
        let engines: Vec<EngineCost> =
            program.words.keys().map(|&engine| EngineCost::of(program, engine, profile)).collect();
        let mut dma = DmaTotals { descriptors: program.dma.len(), bytes: 0, busy_ns: 0.0 };
        for descriptor in &program.dma {
            let cost = dma_cost(descriptor, profile);
            dma.bytes = dma.bytes.saturating_add(cost.bytes);
            dma.busy_ns += cost.transfer_ns;
        }
        let latency = profile.dma.latency_ns.value;
        let busiest =
            engines.iter().map(|engine| engine.busy_ns + 2.0 * latency).fold(0.0, f64::max);
        let bound_ns = match dma.descriptors {
            0 => busiest,
            _ => busiest.max(dma.busy_ns + latency),
        };
        Self {
            target: program.target.to_string(),
            profile: profile.name.clone(),
            engines,
            dma,
            bound_ns,
        }
    }

    /// The time of all engines and of the transfers, added, in nanoseconds.
    pub fn work_ns(&self) -> f64 {
        self.engines.iter().map(|engine| engine.busy_ns).sum::<f64>() + self.dma.busy_ns
    }

    /// The priced cycles of an engine; 0 for one without words.
    pub fn cycles(&self, engine: Engine) -> u64 {
        self.engines.iter().find(|cost| cost.engine == engine.name()).map_or(0, |cost| cost.cycles)
    }
}

impl EngineCost {
    fn of(program: &Program, engine: Engine, profile: &Profile) -> Self {
        let words = program.words.get(&engine).map_or(&[][..], Vec::as_slice);
        let costs = queue_costs(words, engine, profile, program.target.generation);
        let mut by_opcode: BTreeMap<Option<Opcode>, OpcodeCost> = BTreeMap::new();
        for (word, cost) in words.iter().zip(&costs) {
            let opcode = Instruction::decode(word).opcode();
            let row = by_opcode.entry(opcode).or_insert_with(|| OpcodeCost {
                opcode: opcode.map_or("unknown", Opcode::name).to_owned(),
                words: 0,
                cycles: 0,
                assumed: 0,
            });
            row.words += 1;
            row.assumed += usize::from(cost.is_some_and(|cost| cost.tag == Tag::A));
            row.cycles = row.cycles.saturating_add(cost.map_or(0, |cost| cost.cycles));
        }
        let cycles = by_opcode.values().fold(0u64, |sum, row| sum.saturating_add(row.cycles));
        let clock = profile.engines.get(&engine).map(|figures| figures.clock_ghz.value);
        Self {
            engine: engine.to_string(),
            words: words.len(),
            cycles,
            busy_ns: clock.map_or(0.0, |ghz| cycles as f64 / ghz),
            unpriced: costs.iter().filter(|cost| cost.is_none()).count(),
            opcodes: by_opcode.into_values().collect(),
        }
    }
}
