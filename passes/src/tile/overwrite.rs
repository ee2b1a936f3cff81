//! A select writes its first branch over its second where nothing else reads that, and
//! needs no copy of it.

use partita_ir::ops::TensorOp;
use partita_ir::{ElementwiseOp, Operand, ValueId};
use partita_isa::{CostClass, Engine};

use super::group::Member;
use super::lower::{Block, Lowering, Tile};
use super::notes::Joined;
use crate::fuse::cost::Prices;
use crate::rewrite::RewriteClass;

impl Lowering<'_> {
    /// What a select saves that has no copy of its second branch to make.
    pub fn without_copy(&self, block: &Block<'_>, result: ValueId) -> Joined {
        let (shape, _) = block.layout(&block.axes_of(result));
        let elements = shape.iter().skip(1).product();
        let prices = Prices::of(self.target);
        let predicated = prices.word(CostClass::Predicated, Engine::Dve, elements);
        let copy = prices.word(CostClass::Elementwise, Engine::Dve, elements);
        Joined {
            rule: "select-over-second-branch",
            class: RewriteClass::Exact,
            makes: "a predicated copy over the second branch",
            instead: "a copy and a predicated copy",
            apart: predicated.saturating_add(copy),
            together: predicated,
        }
    }

    /// The tile of the second branch of a select when nothing else reads it: the first is
    /// written over it.
    pub fn overwritten(
        &self,
        block: &Block<'_>,
        at: usize,
        operands: &[Option<Tile>],
    ) -> Option<Tile> {
        const OFF: usize = 2;
        let member = block.group.ops.get(at)?;
        let op = &self.func.ops[member.op];
        let select = TensorOp::Elementwise(ElementwiseOp::Select);
        if op.as_tensor() != Some(&select) {
            return None;
        }
        let tile = operands.get(OFF)?.clone()?;
        let (value, source) = (op.operands.get(OFF)?.value()?, member.sources[OFF]);
        let axes = block.roots(&block.group.values[&op.result()?]);
        let (shape, steps) = block.layout(&axes);
        let whole = shape.iter().product::<u64>() > 0 && steps == tile.steps;
        let held = source.map_or(&member.operands[OFF], |source| &block.group.values[&source]);
        // Each use by the group but this one; what others load under other axes is another tile.
        let reads = |other: &Member, index: usize| match source {
            Some(source) => other.sources[index] == Some(source),
            None => {
                other.sources[index].is_none()
                    && self.func.ops[other.op].operands[index] == Operand::Value(value)
            }
        };
        let uses: usize = block.group.ops[..]
            .iter()
            .enumerate()
            .map(|(index, other)| {
                let from = if index < at && source.is_some() { other.sources.len() } else { 0 };
                (from..other.sources.len()).filter(|&operand| reads(other, operand)).count()
            })
            .sum();
        let free = uses == 1
            && !block.is_invariant(&block.roots(held))
            && !source.is_some_and(|source| self.is_stored(source))
            && !self.residents.holds(tile.value);
        (whole && free).then_some(tile)
    }
}
