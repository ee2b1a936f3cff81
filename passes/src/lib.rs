//! What happens to programs: from the tensor dialect to placed, scheduled words.

pub mod bisect;
pub mod blocks;
pub mod canonicalize;
mod compile;
pub mod expand;
pub mod fuse;
mod intervals;
pub mod pass;
pub mod place;
pub mod reduce;
pub mod remark;
pub mod repro;
pub mod rewrite;
pub mod schedule;
mod scratch;
pub mod select;
pub mod sync;
pub mod tile;
pub mod words;

pub use compile::{Compiled, Options, compile, compile_watched};
pub use pass::{Context, Observer, PASSES, PassInfo, PassRun, Pipeline, Settings, Step};
