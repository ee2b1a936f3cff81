//! From tensors to tiles: groups of operations that share a loop, cut into blocks of at most 128
//! partitions that fit SBUF, as a function of the tile dialect with one operation for each word and
//! each transfer.

mod axes;
mod compute;
mod emit;
mod group;
mod lower;
mod patterns;
mod plan;
mod rows;
mod sources;
mod view;
