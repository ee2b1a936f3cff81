//! An exponential and the sum of its rows in one word, which adds up what it writes
//! (ISA 9.18), and one that reads the sum from the accumulator (ISA 8.4).
//!
//! A word with two results is no operation of the tensor dialect, so this is found here:
//! next to the exponential stands the reduction of its rows.

use partita_backend::cost::{Profile, word_cost};
use partita_ir::ops::{ReduceOp, TensorOp};
use partita_ir::{ElemType, ElementwiseOp};
use partita_isa::{AccumCmd, AluOp, Engine, Opcode, Pattern};
use smallvec::{SmallVec, smallvec};

use super::compute::{field, missing};
use super::elementwise::Immediate;
use super::lower::{Block, Lowering, Tile};
use super::notes::Joined;
use super::patterns::divide;
use crate::rewrite::RewriteClass;
use crate::select::{Form, NotCore};
use crate::words::{Imm, Scalar};

/// The word that writes the accumulator: its element is made 0 whatever it is, even NaN,
/// and added.
pub(super) const DRAIN: Scalar = Scalar {
    opcode: Opcode::TensorScalarCacheCumulative,
    ops: [AluOp::LogicalAnd, AluOp::Add],
    reverse: partita_isa::ReverseOps::None,
    accumulator: AccumCmd::Accumulate,
    input: partita_isa::Dtype::Fp32,
    out: partita_isa::Dtype::Fp32,
};

impl Lowering<'_> {
    /// The later operation of the block that sums the rows which the exponential at `at`
    /// writes, with the price of one word for both.
    pub fn sum_beside(
        &self,
        block: &Block<'_>,
        at: usize,
        operands: &[Option<Tile>],
    ) -> Option<(usize, Joined)> {
        let member = block.group.ops.get(at).filter(|_| !self.apart)?;
        let op = &self.func.ops[member.op];
        let result = op.result()?;
        if !matches!(
            op.as_tensor()?,
            TensorOp::Elementwise(ElementwiseOp::Exp)
                | TensorOp::Pair { op1: ElementwiseOp::Exp, .. }
        ) {
            return None;
        }
        let Ok(Form::Scalar { word, tensor, .. }) = self.form(member, operands) else {
            return None;
        };
        // EX-7 asks nothing of 4-byte types; what is summed is not rounded.
        let fp32 = [word.input, word.out].iter().all(|&dtype| dtype == DRAIN.input);
        operands.get(tensor)?.as_ref()?;
        if word.opcode != Opcode::Exponential || !fp32 {
            return None;
        }
        let beside = (at + 1..block.group.ops.len()).find(|&other| {
            let sum = &block.group.ops[other];
            let op = &self.func.ops[sum.op];
            let adds = matches!(
                op.as_tensor(),
                Some(TensorOp::Reduce { op: ReduceOp::Add, negate: false, .. })
            );
            adds && sum.sources.first() == Some(&Some(result))
        })?;
        let sum = self.func.ops[block.group.ops[beside].op].result()?;
        if self.func.ty(sum).dtype() != ElemType::F32 {
            return None;
        }
        // One row in each partition, summed whole.
        let (of, to) = (block.axes_of(result), block.axes_of(sum));
        let free = &block.region.free;
        let mut along = (0..free.len())
            .filter(|&index| block.windows[index].1 != 1 && of.contains(&free[index].axis));
        let index = along.next().filter(|_| along.next().is_none())?;
        let whole = block.size.cut == Some(index) || block.windows[index].1 == free[index].extent;
        let summed = !to.contains(&free[index].axis) && whole;
        let rows =
            block.region.rows.iter().all(|row| !of.contains(&row.axis) || to.contains(&row.axis));
        let elements = u16::try_from(block.windows[index].1).ok()?;
        (summed && rows).then(|| (beside, self.joined(&word, elements)))
    }

    /// Accumulating and reading the accumulator, beside a reduction.
    fn joined(&self, exponential: &Scalar, elements: u16) -> Joined {
        let generation = self.target.generation;
        let profile = Profile::of(generation);
        let none = [Imm::NONE, Imm::NONE];
        let price = |word: &Scalar, elements: u16| {
            let src = Pattern::contiguous(0, elements);
            let dst = Pattern::contiguous(0x1000, elements);
            let word = word.word(32, none, src, dst);
            word_cost(&word, Engine::Dve, profile, generation).map_or(u64::MAX, |cost| cost.cycles)
        };
        let accumulating = Scalar { accumulator: AccumCmd::ZeroAccumulate, ..*exponential };
        let waits = profile.dependent_read.cycles.value as u64;
        // A reduction streams its elements as the exponential does.
        let apart = price(exponential, elements).saturating_mul(2);
        let together = price(&accumulating, elements).saturating_add(price(&DRAIN, 1));
        let clock = profile.engines.get(&Engine::Dve).map_or(1.0, |dve| dve.clock_ghz.value);
        let picoseconds = |cycles: u64| (cycles as f64 * 1000.0 / clock).round() as u64;
        Joined {
            rule: "exponential-with-sum",
            class: RewriteClass::Reassociates,
            makes: "0x30 Exponential that adds up what it writes",
            instead: "the exponential and a reduction",
            apart: picoseconds(apart),
            together: picoseconds(together.saturating_add(waits)),
        }
    }

    /// Emits both words and gives the tiles of the exponential and of the sum, which is `part` where that is given.
    ///
    /// # Errors
    /// The operands have no such form.
    pub fn compute_with_sum(
        &mut self,
        block: &Block<'_>,
        at: usize,
        beside: usize,
        operands: &[Option<Tile>],
        part: Option<Tile>,
    ) -> Result<[Tile; 2], NotCore> {
        let (member, sum) = (&block.group.ops[at], &block.group.ops[beside]);
        let Form::Scalar { word, tensor, immediates, .. } = self.form(member, operands)? else {
            return Err(missing("not an exponential"));
        };
        let value = |op| self.func.ops[op].result().ok_or_else(|| missing("a result is missing"));
        let (result, total) = (value(member.op)?, value(sum.op)?);
        let source = operands.get(tensor).cloned().flatten();
        let source = source.ok_or_else(|| missing("the operand is missing"))?;
        let less = match immediates[0] {
            Some(index) => self.immediate(member, operands, index, word.opcode)?,
            None => Immediate::Value(0),
        };
        let name = self.func.values[result].name.clone();
        let axes = block.axes_of(result);
        let out = self.new_tile(block, &axes, ElemType::F32, &name);
        let name = self.func.values[total].name.clone();
        let sums = match part {
            Some(part) => part,
            None => self.new_tile(block, &block.axes_of(total), ElemType::F32, &name),
        };
        let channels = block.channels() as u8;
        let loops = self.loops(block, &axes, &[&source, &out]);
        let nests = divide(&[], &loops, 3, 2).ok_or_else(|| missing("the row is too long"))?;
        for (number, nest) in nests.iter().enumerate() {
            let accumulator =
                if number == 0 { AccumCmd::ZeroAccumulate } else { AccumCmd::Accumulate };
            let src = nest.pattern(0, super::compute::byte(nest.offsets[0], 4));
            let dst = nest.pattern(1, super::compute::byte(nest.offsets[1], 4));
            let mut bases: SmallVec<[_; 4]> =
                smallvec![(field::SRC, source.value), (field::DST, out.value)];
            let slot = less.slot(field::IMM0, 0, &mut bases);
            let word = Scalar { accumulator, ..word };
            let inst = word.word(channels, [slot, Imm::NONE], src, dst);
            self.out.inst(Engine::Dve, inst, &bases);
        }
        self.out.set_source(&self.func.values[total].name.clone());
        let one = Pattern::contiguous(0, 1);
        let bases = [(field::SRC, out.value), (field::DST, sums.value)];
        let to = Pattern::contiguous(super::compute::byte(sums.start, 4), 1);
        let drain = DRAIN.word(channels, [Imm::NONE, Imm::NONE], one, to);
        self.out.inst(Engine::Dve, drain, &bases);
        Ok([out, sums])
    }
}
