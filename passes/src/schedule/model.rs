//! What each word and transfer takes, by the cost profile: the figures that schedules are made by.
//!
//! Times are picoseconds. Of the simulation's rules (docs/cost.md) this keeps the prices, the latency of
//! transfers and of signals; what patterns make of it (reads of what was just written) is left out.

use partita_backend::cost::{Profile, dma_cost, word_cost};
use partita_ir::Func;
use partita_ir::ops::{MachineOp, OpKind};
use partita_isa::{AluOp, Body, Dtype, Engine, Instruction, Opcode, Target, check};

use super::graph::Graph;

/// A queue: engines by their numbers, then DMA queues.
pub type Queue = usize;

const ENGINES: usize = Engine::ALL.len();

/// Every queue there may be.
pub const QUEUES: usize = ENGINES + partita_isa::dma::QUEUES as usize;

/// What a node takes.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub queue: Queue,
    /// For a word its cycles' time, for a transfer that of its bytes alone.
    pub work: u64,
    /// Another engine that does the same, and its time.
    pub other: Option<(Queue, u64)>,
}

/// The loads of a graph and the figures of the target.
#[derive(Clone, Debug)]
pub struct Model {
    pub loads: Vec<Load>,
    /// From the start of a transfer to its first byte.
    pub latency: u64,
    /// From an update to the start of a word that waits for it, by engine.
    signals: [u64; ENGINES],
}

fn picoseconds(ns: f64) -> u64 {
    (ns * 1e3).round() as u64
}

/// An engine beside the vector engine on which a word gives the same bits: POOL, for sums, differences and products
/// of fp32 (ISA 9.1, TT-E2; N-6), where the two work side by side.
fn elsewhere(inst: &Instruction, engine: Engine, target: &Target) -> Option<Engine> {
    let Body::TensorTensor(body) = &inst.body else { return None };
    let fp32 = Dtype::Fp32.code();
    let plain = inst.opcode() == Some(Opcode::TensorTensorArithOp)
        && body.in0_in1_dtype == fp32 & 0xf | fp32 << 4
        && body.out_dtype == fp32
        && matches!(AluOp::from_code(body.op), Some(AluOp::Add | AluOp::Subtract | AluOp::Mult));
    let side_by_side = Profile::of(target.generation).exclusive_sbuf.is_none();
    let legal = || {
        let found = check(&inst.encode(), target, Some(Engine::Pool));
        !found.iter().any(partita_isa::Violation::is_error)
    };
    (engine == Engine::Dve && plain && side_by_side && legal()).then_some(Engine::Pool)
}

impl Model {
    /// `None` when an instruction has no engine yet.
    pub fn new(func: &Func, graph: &Graph, target: &Target) -> Option<Self> {
        let profile = Profile::of(target.generation);
        let clock = |engine: Engine| {
            profile.engines.get(&engine).map_or(1.0, |figures| figures.clock_ghz.value)
        };
        let load = |node: &super::graph::Node| match &func.ops[node.op].kind {
            OpKind::Machine(MachineOp::Inst(inst)) => {
                let engine = inst.engine?;
                let cost = word_cost(&inst.inst, engine, profile, target.generation);
                let cycles = cost.map_or(0, |cost| cost.cycles);
                let work = picoseconds(cycles as f64 / clock(engine));
                let other = elsewhere(&inst.inst, engine, target).map(|other| {
                    let cost = word_cost(&inst.inst, other, profile, target.generation);
                    let cycles = cost.map_or(u64::MAX >> 16, |cost| cost.cycles);
                    (other as usize, picoseconds(cycles as f64 / clock(other)))
                });
                Some(Load { queue: engine as usize, work, other })
            }
            OpKind::Machine(MachineOp::Dma(dma)) => {
                let work = picoseconds(dma_cost(&dma.desc, profile).transfer_ns);
                let queue = ENGINES + usize::from(dma.desc.queue);
                (queue < QUEUES).then_some(Load { queue, work, other: None })
            }
            _ => None,
        };
        let loads = graph.node_weights().map(load).collect::<Option<Vec<Load>>>()?;
        let signals =
            Engine::ALL.map(|engine| picoseconds(profile.semaphore_cycles.value / clock(engine)));
        Some(Self { loads, latency: picoseconds(profile.dma.latency_ns.value), signals })
    }

    pub fn is_dma(queue: Queue) -> bool {
        queue >= ENGINES
    }

    /// From the end of what a node waits for to its start.
    pub fn signal(&self, from: Queue, to: Queue) -> u64 {
        match self.signals.get(to) {
            Some(&signal) if from != to => signal,
            _ => 0,
        }
    }
}

/// When queues are free: engines run one word at a time; transfers are issued one after another, wait out their
/// latency together, and share one bandwidth.
#[derive(Clone, Debug)]
pub struct Clocks {
    free: [u64; QUEUES],
    bandwidth: u64,
}

impl Default for Clocks {
    fn default() -> Self {
        Self { free: [0; QUEUES], bandwidth: 0 }
    }
}

impl Clocks {
    /// When a queue takes its next item.
    pub fn free(&self, queue: Queue) -> u64 {
        self.free[queue]
    }

    /// Runs an item that may start at `ready`; gives its start and its end.
    pub fn run(&mut self, model: &Model, load: Load, ready: u64) -> (u64, u64) {
        let start = ready.max(self.free[load.queue]);
        if !Model::is_dma(load.queue) {
            let end = start.saturating_add(load.work);
            self.free[load.queue] = end;
            return (start, end);
        }
        self.free[load.queue] = start;
        let first = start.saturating_add(model.latency).max(self.bandwidth);
        let end = first.saturating_add(load.work);
        self.bandwidth = end;
        (start, end)
    }
}
