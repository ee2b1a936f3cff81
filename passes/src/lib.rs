//! What happens to programs: from the tensor dialect to placed, scheduled words.

mod dtypes;
pub mod remark;
pub mod fuse;
pub mod canonicalize;
pub mod expand;
pub mod rewrite;
pub mod select;
pub mod tile;
pub mod words;
