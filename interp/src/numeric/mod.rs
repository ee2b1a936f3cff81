//! Numbers: formats, conversions and operations, with no knowledge of memory or words.

pub mod convert;
pub mod float;
pub mod format;
pub mod fused;
pub mod kernels;
pub mod lane;
pub mod minifloat;
pub mod ops;
pub mod packed;
pub mod selected;
pub mod sequence;
pub mod simd;
pub mod special;
pub mod streaming;
pub mod table;
pub mod transpose;
