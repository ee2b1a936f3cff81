//! What a program costs under the cost profile of its target: one deterministic model, of which every figure is tagged
//! as documented or assumed.

mod dma;
mod operands;
mod profile;
mod program;
mod word;

pub use dma::{DmaCost, dma_cost};
pub use operands::{Operand, View};
pub(crate) use profile::SHARED_BUS;
pub use profile::{
    AssumedFigure, Condition, DmaFigures, EngineFigures, Figure, Memory, Profile, ProfileError, Tag,
};
pub use program::{DmaTotals, EngineCost, OpcodeCost, ProgramCost};
pub use word::{WordCost, queue_costs, word_cost};
