//! What words do: a machine that executes instruction words and DMA descriptors bit for bit as the ISA reference
//! says, with a structure that is fast.
//!
//! * [`machine`], [`memory`]: the state.
//! * `plan`: a word decoded once, its patterns normalised to few loops, its loops chosen per operation and domain.
//! * [`conventions`], `literal`: the choices that are open, and what words do under others than the assumed ones.
//! * `rows`: what a channel does to its row, block by block.
//! * `numeric`: formats, conversions and operations.
//! * `walk`: access patterns.

pub mod conform;
pub mod conventions;
pub mod dma;
pub mod error;
pub mod events;
pub mod exec;
mod literal;
pub mod machine;
pub mod memory;
mod numeric;
mod pages;
mod plan;
mod rows;
mod run;
pub mod sweep;
mod walk;

pub use conventions::{Alternative, Convention, Conventions, Setting};
pub use error::Fault;
pub use machine::{Limits, Machine, MemoryError};
pub use memory::{Place, Space};
pub use numeric::simd::Simd;
