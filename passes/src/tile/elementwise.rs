//! Words that go element by element: every operand is read along the result's axes.

use partita_ir::ElemType;
use partita_ir::entity::ValueId;
use partita_isa::{Engine, Opcode};
use smallvec::{SmallVec, smallvec};

use super::axes::Axis;
use super::compute::{byte, field, fit, missing};
use super::engine;
use super::lower::{Block, Lowering, Tile};
use super::patterns::divide;
use crate::select::{Form, From, NotCore, predicated};
use crate::words::{Imm, One, Scalar, Stt, Two};

/// Where words are emitted: the block, its partitions, and the axes of the result.
pub struct Site<'a> {
    pub block: &'a Block<'a>,
    pub channels: u8,
    pub axes: &'a [Axis],
}

/// An operand of an operation.
#[derive(Clone, Debug)]
pub enum Source {
    Tile(Tile),
    /// Bits and the type that they have.
    Literal(u64, ElemType),
}

/// A scalar operand before its address is known.
#[derive(Clone, Copy)]
pub enum Immediate {
    Value(u32),
    Pointer(ValueId),
}

/// Tiles that the address fields of a word count from.
type Bases = SmallVec<[(&'static str, ValueId); 4]>;

impl Immediate {
    /// The slot of a literal: its bits beside operations on bits, else its value as fp32.
    pub fn literal(bits: u64, dtype: ElemType, opcode: Opcode) -> Result<Self, NotCore> {
        let slot = if opcode.is_bitvec() {
            u32::try_from(bits).ok()
        } else {
            crate::select::fp32_slot(bits, dtype)
        };
        slot.map(Self::Value).ok_or_else(|| missing("the literal fits no immediate"))
    }

    /// The slot, counted from the tile for a pointer, which is then added to the bases.
    pub fn slot(self, field: &'static str, offset: u32, bases: &mut Bases) -> Imm {
        match self {
            Self::Value(bits) => Imm::Value(bits),
            Self::Pointer(tile) => {
                bases.push((field, tile));
                Imm::Pointer(offset)
            }
        }
    }
}

fn at(sources: &[Source], index: usize) -> Result<&Source, NotCore> {
    sources.get(index).ok_or_else(|| missing("an operand is missing"))
}

/// The immediate at a place; nothing where the word has none.
fn immediate(
    sources: &[Source],
    index: Option<usize>,
    opcode: Opcode,
) -> Result<Immediate, NotCore> {
    let Some(index) = index else { return Ok(Immediate::Value(0)) };
    match at(sources, index)? {
        Source::Tile(tile) => Ok(Immediate::Pointer(tile.value)),
        Source::Literal(bits, dtype) => Immediate::literal(*bits, *dtype, opcode),
    }
}

impl Lowering<'_> {
    /// Emits the words of an elementwise form.
    ///
    /// # Errors
    /// The operands have no such form.
    pub fn elementwise(
        &mut self,
        site: &Site<'_>,
        form: Form,
        sources: &[Source],
        out: &Tile,
    ) -> Result<(), NotCore> {
        match form {
            Form::Move { word, tensor } => {
                let source = self.source(sources, tensor)?;
                self.moves(site, word, &source, out)
            }
            Form::Two { word, engine, tensors: [first, second] } => {
                let tiles = [self.source(sources, first)?, self.source(sources, second)?];
                self.two(site, word, engine, &tiles, out)
            }
            Form::Scalar { word, engine, tensor, immediates } => {
                let source = self.source(sources, tensor)?;
                let [first, second] = immediates;
                let slots = [
                    immediate(sources, first, word.opcode)?,
                    immediate(sources, second, word.opcode)?,
                ];
                self.scalar(site, word, engine, [&source, out], slots)
            }
            Form::Stt { word, tensors: [first, second], immediate: scalar } => {
                let tiles = [self.source(sources, first)?, self.source(sources, second)?];
                let slot = immediate(sources, scalar, word.opcode)?;
                self.scalar_tensor_tensor(site, word, &tiles, out, slot)
            }
            Form::Stages(stages) => {
                let hint = "between";
                let between = self.new_tile(site.block, site.axes, stages.between, hint);
                let [first, second] = stages.stages;
                for (stage, to) in [(first, &between), (second, out)] {
                    let operands = stage.operands.iter().map(|from| match from {
                        From::Operand(index) => at(sources, *index).cloned(),
                        From::Between => Ok(Source::Tile(between.clone())),
                    });
                    let operands = operands.collect::<Result<Vec<_>, _>>()?;
                    self.elementwise(site, stage.form, &operands, to)?;
                }
                Ok(())
            }
            Form::Select { mask, data } => {
                let tiles = [self.source(sources, 0)?, self.source(sources, 1)?];
                let off = self.source(sources, 2)?;
                let copy = One::moving(Opcode::Copy, data, data);
                if off.value != out.value {
                    self.moves(site, copy, &off, out)?;
                }
                self.two(site, predicated(mask, data), Engine::Dve, &tiles, out)
            }
            Form::RowSelect { word, tensor, other } => {
                let source = self.source(sources, tensor)?;
                let mask = self.source(sources, 0)?;
                let scalar = match at(sources, other)? {
                    Source::Tile(tile) => Immediate::Pointer(tile.value),
                    Source::Literal(bits, _) => {
                        let slot = u32::try_from(*bits).ok().map(Immediate::Value);
                        slot.ok_or_else(|| missing("the literal fits no immediate"))?
                    }
                };
                let loops = self.loops(site.block, site.axes, &[&source, out]);
                let element = word.dtype.size() as i64;
                for nest in fit(divide(&[], &loops, 3, 2))? {
                    let src = nest.pattern(0, byte(nest.offsets[0], element));
                    let dst = nest.pattern(1, byte(nest.offsets[1], element));
                    let mut bases: Bases =
                        smallvec![(field::SRC0, source.value), (field::DST, out.value)];
                    let other = scalar.slot(field::SRC1_IMM, 0, &mut bases);
                    let mask = Immediate::Pointer(mask.value).slot(field::PRED_IMM, 0, &mut bases);
                    let inst = word.word(site.channels, mask, other, src, dst);
                    self.out.inst(Engine::Dve, inst, &bases);
                }
                Ok(())
            }
            _ => Err(missing("not an elementwise form")),
        }
    }

    /// The tile of an operand; a literal becomes one element in every partition.
    fn source(&mut self, sources: &[Source], index: usize) -> Result<Tile, NotCore> {
        match at(sources, index)? {
            Source::Tile(tile) => Ok(tile.clone()),
            Source::Literal(bits, dtype) => {
                self.element(*bits, *dtype).ok_or_else(|| missing("a literal has no element"))
            }
        }
    }

    fn moves(
        &mut self,
        site: &Site<'_>,
        word: One,
        source: &Tile,
        out: &Tile,
    ) -> Result<(), NotCore> {
        let loops = self.loops(site.block, site.axes, &[source, out]);
        for nest in fit(divide(&[], &loops, 4, 2))? {
            let src = nest.pattern(0, byte(nest.offsets[0], word.input.size() as i64));
            let dst = nest.pattern(1, byte(nest.offsets[1], word.out.size() as i64));
            let bases = [(field::SRC, source.value), (field::DST, out.value)];
            let word = word.word(site.channels, src, dst);
            self.out.inst(engine::fastest(&word, Engine::Dve, self.target), word, &bases);
        }
        Ok(())
    }

    fn two(
        &mut self,
        site: &Site<'_>,
        word: Two,
        engine: Engine,
        sources: &[Tile; 2],
        out: &Tile,
    ) -> Result<(), NotCore> {
        let loops = self.loops(site.block, site.axes, &[&sources[0], &sources[1], out]);
        for nest in fit(divide(&[], &loops, 3, 3))? {
            let size = |index: usize| word.dtypes[index].size() as i64;
            let src =
                [0, 1].map(|index| nest.pattern(index, byte(nest.offsets[index], size(index))));
            let dst = nest.pattern(2, byte(nest.offsets[2], word.out.size() as i64));
            let bases = [
                (field::SRC0, sources[0].value),
                (field::SRC1, sources[1].value),
                (field::DST, out.value),
            ];
            self.out.inst(engine, word.word(site.channels, src, dst), &bases);
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        site: &Site<'_>,
        word: Scalar,
        engine: Engine,
        [source, out]: [&Tile; 2],
        immediates: [Immediate; 2],
    ) -> Result<(), NotCore> {
        let loops = self.loops(site.block, site.axes, &[source, out]);
        for nest in fit(divide(&[], &loops, 3, 2))? {
            let src = nest.pattern(0, byte(nest.offsets[0], word.input.size() as i64));
            let dst = nest.pattern(1, byte(nest.offsets[1], word.out.size() as i64));
            let mut bases: Bases = smallvec![(field::SRC, source.value), (field::DST, out.value)];
            let slots = [
                immediates[0].slot(field::IMM0, 0, &mut bases),
                immediates[1].slot(field::IMM1, 0, &mut bases),
            ];
            self.out.inst(engine, word.word(site.channels, slots, src, dst), &bases);
        }
        Ok(())
    }

    fn scalar_tensor_tensor(
        &mut self,
        site: &Site<'_>,
        word: Stt,
        sources: &[Tile; 2],
        out: &Tile,
        scalar: Immediate,
    ) -> Result<(), NotCore> {
        let loops = self.loops(site.block, site.axes, &[&sources[0], &sources[1], out]);
        for nest in fit(divide(&[], &loops, 2, 3))? {
            let size = |index: usize| word.dtypes[index].size() as i64;
            let src =
                [0, 1].map(|index| nest.pattern(index, byte(nest.offsets[index], size(index))));
            let dst = nest.pattern(2, byte(nest.offsets[2], word.out.size() as i64));
            let mut bases: Bases = smallvec![
                (field::SRC0, sources[0].value),
                (field::SRC1, sources[1].value),
                (field::DST, out.value),
            ];
            let slot = scalar.slot(field::IMM0, 0, &mut bases);
            self.out.inst(Engine::Dve, word.word(site.channels, slot, src, dst), &bases);
        }
        Ok(())
    }
}
