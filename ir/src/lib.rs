//! What programs are: types, operations, modules, and their text.
//!
//! One IR with three dialects, each printable, parsable and verifiable:
//!
//! * `tensor`: values of a shape and an element type; pure, no machine in sight.
//! * `tile`: buffers in a memory space, written by instructions and DMA transfers.
//! * `tpb`: the same, with addresses, engines and semaphore events.
//!
//! A [`Module`] holds functions; a [`Func`] is one straight line of operations
//! that ends in a `return`. Values are in SSA form: each is defined once, by an
//! argument or an operation, before its first use. Spans into the source text
//! live beside the arenas, so they never take part in comparisons.
//!
//! [`infer`] states what type each tensor operation gives; the verifier and the
//! builder both ask it, so the rule for a shape stands once.

pub mod builder;
pub mod checks;
pub mod data;
pub mod diag;
pub mod entity;
pub mod eval;
pub mod float;
pub mod infer;
pub mod literal;
pub mod module;
pub mod ops;
pub mod stablehlo;
pub mod text;
pub mod types;
pub mod verify;

pub use builder::FuncBuilder;
pub use data::TensorData;
pub use diag::{Diagnostic, Source, Span};
pub use entity::{Arena, OpId, ValueId};
pub use infer::InferError;
pub use literal::Literal;
pub use module::{
    ArgAttrs, DEFAULT_TARGET, Func, Module, Op, Operand, RandomRange, Value, ValueDef,
};
pub use ops::{CheckOp, DmaOp, ElementwiseOp, InstOp, MachineOp, OpKind, TensorOp};
pub use types::{ElemType, Space, TensorType, TileType, Type};
