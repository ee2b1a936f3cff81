//! How programs become words: emission, program images, assembler files, cost, and the auditor that judges them.
//!
//! A [`Program`](program::Program) is the meeting point: `emit` makes it from the `tpb` dialect, [`image`] and
//! [`asm_file`] store it, [`cost`] prices it, [`timeline`] says what happens when, and the interpreter executes it.

pub mod asm_file;
pub mod audit;
pub mod cost;
pub mod counters;
pub mod emit;
pub mod image;
pub mod program;
pub mod timeline;

pub use partita_isa as isa;
pub use partita_isa::dma;
