//! Partita: an open compiler, assembler, validator and emulator for the 64-byte instruction words of the NeuronCore
//! vector (DVE) and GPSIMD (POOL) engines.
//!
//! The work is done by the crates re-exported here, which import one another in this order only:
//! [`isa`] ← [`ir`] ← [`backend`] ← [`passes`] and [`interp`]. The command `partita` is a thin layer on top.

pub use partita_backend as backend;
pub use partita_interp as interp;
pub use partita_ir as ir;
pub use partita_isa as isa;
pub use partita_passes as passes;
