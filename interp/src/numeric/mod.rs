//! Numbers: formats, conversions and operations, with no knowledge of memory or words.

pub mod convert;
pub mod float;
pub mod kernels;
pub mod lane;
pub mod minifloat;
pub mod ops;
pub mod special;
