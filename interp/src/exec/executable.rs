//! A program made ready to run, and its machine.

use partita_backend::program::{IoTensor, Program, Slot};
use partita_ir::{TensorData, TensorType};

use crate::machine::{Machine, MemoryError, REGISTERS};

use super::bands::Stretch;
use super::error::Waiting;
use super::items::{Items, Waits};
use super::{ExecError, Options, Order};

/// A program whose items are checked, decoded and planned once, on a machine of its own.
///
/// Each run starts with the counters, registers and hidden state of a fresh machine and with the program's constants
/// in place; beyond that main memory is as the host and the last run left it. What a run leaves in SBUF and PSUM is not
/// defined.
pub struct Executable<'a> {
    program: &'a Program,
    order: Order,
    registers: [u32; REGISTERS],
    machine: Machine,
    items: Items<'a>,
    /// The items in program order.
    stretches: Vec<Stretch>,
}

impl<'a> Executable<'a> {
    /// Makes a program ready on fresh memories.
    ///
    /// # Errors
    /// A program that does not hang together, needs more memory than allowed, or has an illegal item.
    pub fn new(program: &'a Program, options: &Options) -> Result<Self, ExecError> {
        program.check_structure()?;
        let machine = Machine::new(program.target, program.io.hbm_bytes, options.limits)?;
        let mut machine = machine.under(options.conventions);
        machine.registers = options.registers;
        let items = Items::new(program, &machine)?;
        let stretches = Stretch::cut(&items.in_order(&program.order), &items, &machine);
        let (order, registers) = (options.order, options.registers);
        Ok(Self { program, order, registers, machine, items, stretches })
    }

    /// Writes the inputs, in the order of the program's table, to main memory.
    ///
    /// # Errors
    /// Another number of inputs, or other types, than the program takes.
    pub fn load(&mut self, inputs: &[TensorData]) -> Result<(), ExecError> {
        let tensors = &self.program.io.inputs;
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
            self.machine.hbm_mut(tensor.address, bytes.len() as u64)?.copy_from_slice(bytes);
        }
        Ok(())
    }

    /// Runs the program in the order of its options.
    ///
    /// # Errors
    /// An item that fails at run time, is reached before its wait holds, or waits for ever.
    pub fn run(&mut self) -> Result<(), ExecError> {
        self.restart()?;
        match self.order {
            Order::Program => {
                let (items, machine) = (&self.items, &mut self.machine);
                self.stretches.iter().try_for_each(|stretch| stretch.run(items, machine))
            }
            Order::Queues { seed } => self.run_queues(seed),
        }
    }

    /// Runs the program in a given order; see [`super::run_in_order`].
    ///
    /// # Errors
    /// An item that fails at run time.
    pub fn run_in_order(&mut self, order: &[Slot]) -> Result<(), ExecError> {
        self.restart()?;
        let (items, machine) = (&self.items, &mut self.machine);
        let mut sequence = items.in_order(order).into_iter();
        sequence.try_for_each(|number| items.run(number, machine, Waits::SeenTo))
    }

    /// The results, in the order of the program's table.
    ///
    /// # Errors
    /// A result whose bytes do not fit its type.
    pub fn outputs(&self) -> Result<Vec<TensorData>, ExecError> {
        let read = |tensor: &IoTensor| {
            let bytes = self.machine.hbm(tensor.address, tensor.byte_len().unwrap_or(u64::MAX))?;
            TensorData::new(tensor_type(tensor), bytes.to_vec())
                .map_err(|e| ExecError::Output { name: tensor.name.clone(), reason: e.to_string() })
        };
        self.program.io.outputs.iter().map(read).collect()
    }

    fn restart(&mut self) -> Result<(), MemoryError> {
        self.machine.restart(self.registers);
        for block in &self.program.data {
            let len = block.bytes.len() as u64;
            self.machine.hbm_mut(block.address, len)?.copy_from_slice(&block.bytes);
        }
        Ok(())
    }

    /// Runs every queue to its end.
    fn run_queues(&mut self, seed: u64) -> Result<(), ExecError> {
        let (items, machine) = (&self.items, &mut self.machine);
        let mut random = SplitMix(seed);
        // How many items of each queue are done.
        let mut done = vec![0; items.queues().len()];
        let mut ready = Vec::new();
        loop {
            let heads = items.queues().iter().zip(&done).enumerate();
            let heads =
                heads.filter_map(|(queue, (items, &done))| Some((queue, items.next(done)?)));
            ready.clear();
            ready.extend(heads.clone().filter(|&(_, number)| items.may_start(number, machine)));
            if ready.is_empty() {
                let waiting: Vec<Waiting> = heads
                    .map(|(_, number)| Waiting {
                        item: items.item(number),
                        reason: items.waits_for(number, machine),
                    })
                    .collect();
                return if waiting.is_empty() { Ok(()) } else { Err(ExecError::Deadlock(waiting)) };
            }
            let (queue, number) = ready[random.below(ready.len())];
            items.run(number, machine, Waits::Hold)?;
            done[queue] += 1;
        }
    }
}

fn tensor_type(tensor: &IoTensor) -> TensorType {
    TensorType::new(tensor.shape.iter().copied(), tensor.dtype)
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
