//! What happens to programs: from the tensor dialect to placed, scheduled words.

pub mod canonicalize;
pub mod expand;
pub mod fuse;
pub mod pass;
pub mod place;
pub mod remark;
pub mod rewrite;
mod scratch;
pub mod select;
pub mod sync;
pub mod tile;
pub mod words;

pub use pass::{Compiled, Context, Options, PASSES, PassInfo, Pipeline, Step, compile};
