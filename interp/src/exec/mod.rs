//! Running a whole program.
//!
//! All orders give the same result for a correct program. In *program order* every wait must hold when its item is
//! reached: otherwise the program's own order contradicts its semaphores. In *queue order* each engine and each DMA
//! queue runs by itself, in order, and a seeded generator picks which ready one goes next; many seeds together show
//! that no semaphore is missing. In a *given order*, such as that of a simulated timeline, the waits are not looked at:
//! whoever gives it has seen to them.
//!
//! [`run`] is for one run; an [`Executable`] is checked and planned once and runs as often as wanted.

mod bands;
mod contained;
mod error;
mod executable;
mod items;

pub use error::{ExecError, Item, Waiting};
pub use executable::Executable;

use partita_backend::program::{Program, Slot};
use partita_ir::TensorData;

use crate::conventions::Conventions;
use crate::machine::{Limits, REGISTERS};

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
    let mut executable = Executable::new(program, options)?;
    executable.load(inputs)?;
    executable.run()?;
    executable.outputs()
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
    let mut executable = Executable::new(program, options)?;
    executable.load(inputs)?;
    executable.run_in_order(order)?;
    executable.outputs()
}
