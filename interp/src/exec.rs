//! Running a whole program.
//!
//! All orders give the same result for a correct program. In *program order* every wait must hold when its item is
//! reached: otherwise the program's own order contradicts its semaphores. In *queue order* each engine and each DMA
//! queue runs by itself, in order, and a seeded generator picks which ready one goes next; many seeds together show
//! that no semaphore is missing. In a *given order*, such as that of a simulated timeline, the waits are not looked at:
//! whoever gives it has seen to them.

use std::collections::BTreeMap;
use std::fmt;

use partita_backend::program::{IoTensor, Program, ProgramError, Slot};
use partita_ir::{TensorData, TensorType};
use partita_isa::{Engine, Instruction, Target, asm, dma};

use crate::conventions::Conventions;
use crate::error::Fault;
use crate::machine::{Limits, Machine, MemoryError, REGISTERS};

/// How to run a program.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub order: Order,
    pub limits: Limits,
    /// What the host presets the registers to (OQ-10).
    pub registers: [u32; REGISTERS],
    /// The answers to what ISA 13 leaves open.
    pub conventions: Conventions,
}

impl Default for Options {
    /// Program order, all registers zero, the assumed conventions.
    fn default() -> Self {
        Self {
            order: Order::Program,
            limits: Limits::default(),
            registers: [0; REGISTERS],
            conventions: Conventions::default(),
        }
    }
}

/// Which item runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As the program lists them.
    Program,
    /// Any ready queue, chosen by a generator of this seed.
    Queues { seed: u64 },
}

/// An item of a queue, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub queue: Slot,
    /// Index within its queue.
    pub index: usize,
    /// Its assembler text.
    pub text: String,
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.queue {
            Slot::Word(_) => "word",
            Slot::Dma(_) => "descriptor",
        };
        write!(f, "{kind} {} of {} `{}`", self.index, self.queue, self.text)
    }
}

/// An item at the head of its queue whose wait does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub item: Item,
    /// What it waits for, and how things are.
    pub reason: String,
}

/// Why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error("the program takes {want} inputs, {got} are given")]
    InputCount { want: usize, got: usize },
    #[error("input `{name}` is {want}, {got} is given")]
    InputType { name: String, want: Box<TensorType>, got: Box<TensorType> },
    #[error("{item}: {fault}")]
    Item { item: Item, fault: Fault },
    #[error("deadlock: {}", waiting_text(.0))]
    Deadlock(Vec<Waiting>),
    #[error("output `{name}`: {reason}")]
    Output { name: String, reason: String },
}

fn waiting_text(waiting: &[Waiting]) -> String {
    let lines: Vec<String> =
        waiting.iter().map(|head| format!("\n  {} waits for {}", head.item, head.reason)).collect();
    lines.concat()
}

/// Runs a program on fresh memories. Inputs and outputs are in the order of the program's tables.
///
/// # Errors
/// A program that does not hang together, inputs that do not fit it, an item that is illegal or fails at run time,
/// or items that wait for ever.
pub fn run(
    program: &Program,
    inputs: &[TensorData],
    options: &Options,
) -> Result<Vec<TensorData>, ExecError> {
    execute(program, inputs, options, |queues, machine| match options.order {
        Order::Program => {
            program.order.iter().try_for_each(|&slot| queues.run_next(machine, slot, Waits::Hold))
        }
        Order::Queues { seed } => queues.run_all(machine, seed),
    })
}

/// Runs a program in an order of its queues' items whose waits have been seen to, such as
/// [`partita_backend::timeline::Timeline::order`]: each item has its whole effect when its turn comes. The order of the
/// options is not used.
///
/// # Errors
/// As [`run`], without the waits.
pub fn run_in_order(
    program: &Program,
    inputs: &[TensorData],
    options: &Options,
    order: &[Slot],
) -> Result<Vec<TensorData>, ExecError> {
    execute(program, inputs, options, |queues, machine| {
        order.iter().try_for_each(|&slot| queues.run_next(machine, slot, Waits::SeenTo))
    })
}

fn execute<'a>(
    program: &'a Program,
    inputs: &[TensorData],
    options: &Options,
    work: impl FnOnce(&mut Queues<'a>, &mut Machine) -> Result<(), ExecError>,
) -> Result<Vec<TensorData>, ExecError> {
    program.check_structure()?;
    let machine = Machine::new(program.target, program.io.hbm_bytes, options.limits)?;
    let mut machine = machine.under(options.conventions);
    machine.registers = options.registers;
    for block in &program.data {
        let len = block.bytes.len() as u64;
        machine.hbm_mut(block.address, len)?.copy_from_slice(&block.bytes);
    }
    load_inputs(&mut machine, program, inputs)?;
    let mut queues = Queues::new(program);
    queues.check(&machine)?;
    work(&mut queues, &mut machine)?;
    program.io.outputs.iter().map(|tensor| read_output(&machine, tensor)).collect()
}

fn tensor_type(tensor: &IoTensor) -> TensorType {
    TensorType::new(tensor.shape.iter().copied(), tensor.dtype)
}

fn load_inputs(
    machine: &mut Machine,
    program: &Program,
    inputs: &[TensorData],
) -> Result<(), ExecError> {
    let tensors = &program.io.inputs;
    if tensors.len() != inputs.len() {
        return Err(ExecError::InputCount { want: tensors.len(), got: inputs.len() });
    }
    for (tensor, input) in tensors.iter().zip(inputs) {
        let want = tensor_type(tensor);
        if *input.ty() != want {
            let (want, got) = (Box::new(want), Box::new(input.ty().clone()));
            return Err(ExecError::InputType { name: tensor.name.clone(), want, got });
        }
        let bytes = input.bytes();
        machine.hbm_mut(tensor.address, bytes.len() as u64)?.copy_from_slice(bytes);
    }
    Ok(())
}

fn read_output(machine: &Machine, tensor: &IoTensor) -> Result<TensorData, ExecError> {
    let ty = tensor_type(tensor);
    let bytes = machine.hbm(tensor.address, tensor.byte_len().unwrap_or(u64::MAX))?;
    TensorData::new(ty, bytes.to_vec())
        .map_err(|e| ExecError::Output { name: tensor.name.clone(), reason: e.to_string() })
}

/// A program's queues and how far each has come.
struct Queues<'a> {
    program: &'a Program,
    /// Indices into [`Program::dma`] of each queue's descriptors.
    descriptors: BTreeMap<u8, Vec<usize>>,
    /// Items done, in the order of the queues.
    done: BTreeMap<Slot, usize>,
}

/// What becomes of waits and updates.
#[derive(Clone, Copy)]
enum Waits {
    /// Waits must hold, and updates are made.
    Hold,
    /// The order accounts for both.
    SeenTo,
}

/// What stands at the head of a queue.
enum Head<'a> {
    Word(Engine, Instruction),
    Dma(&'a dma::Descriptor),
}

impl Head<'_> {
    fn may_start(&self, machine: &Machine) -> bool {
        match self {
            Self::Word(_, word) => machine.may_start(&word.events),
            Self::Dma(descriptor) => machine.dma_may_start(descriptor),
        }
    }

    fn run(&self, machine: &mut Machine, waits: Waits) -> Result<(), Fault> {
        match (self, waits) {
            (Self::Word(engine, word), Waits::Hold) => machine.step_legal(*engine, word),
            (Self::Word(engine, word), Waits::SeenTo) => machine.take_effect(*engine, word),
            (Self::Dma(descriptor), Waits::Hold) => machine.step_legal_dma(descriptor),
            (Self::Dma(descriptor), Waits::SeenTo) => machine.transfer(descriptor),
        }
    }

    fn text(&self, target: &Target) -> String {
        match self {
            Self::Word(_, word) => asm::format_plain(word, target),
            Self::Dma(descriptor) => dma::format_plain(descriptor, target),
        }
    }

    fn waits_for(&self, machine: &Machine) -> String {
        match self {
            Self::Word(_, word) => {
                let (condition, state) = machine.waits_for(&word.events);
                format!("{condition}, but {state}")
            }
            Self::Dma(descriptor) => match machine.unsatisfied_dma(descriptor) {
                Some((condition, state)) => format!("{condition}, but {state}"),
                None => "nothing".to_owned(),
            },
        }
    }
}

impl<'a> Queues<'a> {
    fn new(program: &'a Program) -> Self {
        let mut descriptors: BTreeMap<u8, Vec<usize>> = BTreeMap::new();
        for (index, descriptor) in program.dma.iter().enumerate() {
            descriptors.entry(descriptor.queue).or_default().push(index);
        }
        let engines = program.words.keys().map(|&engine| Slot::Word(engine));
        let queues = descriptors.keys().map(|&queue| Slot::Dma(queue));
        let done = engines.chain(queues).map(|slot| (slot, 0)).collect();
        Self { program, descriptors, done }
    }

    /// Judges every item before anything runs.
    fn check(&self, machine: &Machine) -> Result<(), ExecError> {
        for (&engine, words) in &self.program.words {
            for (index, word) in words.iter().enumerate() {
                machine
                    .check(engine, word)
                    .map_err(|fault| self.failed(Slot::Word(engine), index, fault))?;
            }
        }
        for (&queue, places) in &self.descriptors {
            for (index, &place) in places.iter().enumerate() {
                let Some(descriptor) = self.program.dma.get(place) else { continue };
                machine
                    .check_dma(descriptor)
                    .map_err(|fault| self.failed(Slot::Dma(queue), index, fault))?;
            }
        }
        Ok(())
    }

    /// The next item of a queue; `None` at its end.
    fn head(&self, slot: Slot) -> Option<Head<'a>> {
        self.get(slot, *self.done.get(&slot)?)
    }

    /// Item `index` of a queue.
    fn get(&self, slot: Slot, index: usize) -> Option<Head<'a>> {
        match slot {
            Slot::Word(engine) => {
                let word = self.program.words.get(&engine)?.get(index)?;
                Some(Head::Word(engine, Instruction::decode(word)))
            }
            Slot::Dma(queue) => {
                let place = *self.descriptors.get(&queue)?.get(index)?;
                Some(Head::Dma(self.program.dma.get(place)?))
            }
        }
    }

    fn item(&self, queue: Slot, index: usize) -> Item {
        let text = self.get(queue, index).map(|head| head.text(&self.program.target));
        Item { queue, index, text: text.unwrap_or_default() }
    }

    fn failed(&self, queue: Slot, index: usize, fault: Fault) -> ExecError {
        ExecError::Item { item: self.item(queue, index), fault }
    }

    /// Runs the next item of a queue.
    fn run_next(
        &mut self,
        machine: &mut Machine,
        slot: Slot,
        waits: Waits,
    ) -> Result<(), ExecError> {
        let index = self.done.get(&slot).copied().unwrap_or_default();
        let Some(head) = self.get(slot, index) else { return Ok(()) };
        head.run(machine, waits).map_err(|fault| self.failed(slot, index, fault))?;
        self.done.insert(slot, index + 1);
        Ok(())
    }

    /// Runs every queue to its end.
    fn run_all(&mut self, machine: &mut Machine, seed: u64) -> Result<(), ExecError> {
        let mut random = SplitMix(seed);
        let mut ready = Vec::new();
        loop {
            let mut unfinished = false;
            ready.clear();
            for &slot in self.done.keys() {
                if let Some(head) = self.head(slot) {
                    unfinished = true;
                    if head.may_start(machine) {
                        ready.push(slot);
                    }
                }
            }
            if !unfinished {
                return Ok(());
            }
            if ready.is_empty() {
                return Err(ExecError::Deadlock(self.waiting(machine)));
            }
            let slot = ready[random.below(ready.len())];
            self.run_next(machine, slot, Waits::Hold)?;
        }
    }

    fn waiting(&self, machine: &Machine) -> Vec<Waiting> {
        let heads =
            self.done.iter().filter_map(|(&slot, &index)| Some((slot, index, self.head(slot)?)));
        heads
            .map(|(slot, index, head)| Waiting {
                item: self.item(slot, index),
                reason: head.waits_for(machine),
            })
            .collect()
    }
}

/// SplitMix64: a full-period generator of 64-bit numbers.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// A number below `limit`, which is not 0.
    fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }
}
