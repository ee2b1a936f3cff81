//! Matrices turned block by block (ISA 8.3, 9.12, 9.16): loaded as the blocks want them, turned by one word a tile,
//! stored in rows as long as the tile allows (see [`crate::blocks`]).

use partita_ir::Space;
use partita_isa::{Engine, Pattern};
use smallvec::{SmallVec, smallvec};

use super::compute::{field, missing};
use super::elementwise::Immediate;
use super::emit::Move;
use super::group::Member;
use super::lower::Lowering;
use super::resident::Transfer;
use crate::blocks::{BLOCK, Deal, MAX_BLOCKS};
use crate::fuse::cost::Prices;
use crate::select::{Form, NotCore, Turn};

/// A matrix in main memory: the byte of its first element, and the steps in bytes of its rows and columns.
#[derive(Clone, Copy)]
struct Place {
    start: i64,
    steps: [i64; 2],
}

impl Lowering<'_> {
    /// A transposing pair: `[…, P, F]` to `[…, F, P]`.
    ///
    /// # Errors
    /// No word does it.
    pub fn transpose_pair(&mut self, member: &Member, budget: u64) -> Result<(), NotCore> {
        let op = &self.func.ops[member.op];
        let (Some(value), Some(result)) = (op.value_operands().next(), op.result()) else {
            return Err(missing("the operand is missing"));
        };
        let Form::Turn(turn) = self.form(member, &[])? else {
            return Err(missing("not a transpose"));
        };
        let name = self.func.values[result].name.clone();
        self.out.set_source(&name);
        let shape = self.func.ty(value).shape().to_vec();
        let [batch @ .., rows, columns] = shape.as_slice() else {
            return Err(missing("the operand is no matrix"));
        };
        let (from, to) = (self.func.ty(value).dtype(), self.func.ty(result).dtype());
        let view = self.sources.view(value).cloned();
        let view = view.ok_or_else(|| missing("the operand has no place"))?;
        let [piece] = view.pieces.as_slice() else {
            return Err(missing("the operand is in several places"));
        };
        let home = self.sources.view(result).and_then(|view| view.pieces.first()).cloned();
        let home = home.ok_or_else(|| missing("the result has no place"))?;
        let prices = Prices::of(self.target);
        let per_block = BLOCK * (from.size_bytes() + to.size_bytes());
        let most = (budget / per_block).clamp(1, MAX_BLOCKS);
        let fields = prices.fields([*rows, *columns], [from, to], turn.opcode(), most);
        if fields.is_empty() {
            return Err(missing("the matrix has no block of 32 by 32"));
        }
        let immediates = self.turn_immediates(member, &turn)?;
        let rank = batch.len();
        for index in 0..batch.iter().product::<u64>() {
            let place = |offset: i64, strides: &[i64]| {
                let mut rest = index;
                let mut start = offset;
                for (&size, &stride) in batch.iter().zip(strides).rev() {
                    start += (rest % size) as i64 * stride;
                    rest /= size;
                }
                Place { start, steps: [strides[rank], strides[rank + 1]] }
            };
            let source = place(piece.offset, &piece.strides);
            let target = place(home.offset, &home.strides);
            for tiles in &fields {
                let extent = tiles.deal.extent();
                for at in 0..tiles.count[0] * tiles.count[1] {
                    if self.out.is_full() {
                        return Ok(());
                    }
                    let row = tiles.start[0] + at / tiles.count[1] * extent[0];
                    let column = tiles.start[1] + at % tiles.count[1] * extent[1];
                    let (row, column) = (row as i64, column as i64);
                    let load = Transfer {
                        buffer: piece.buffer,
                        buffer_offset: source.start
                            + row * source.steps[0]
                            + column * source.steps[1],
                        tile_offset: 0,
                        moves: self.dealt(tiles.deal, source.steps, from.size_bytes(), false),
                    };
                    let store = Transfer {
                        buffer: home.buffer,
                        buffer_offset: target.start
                            + column * target.steps[0]
                            + row * target.steps[1],
                        tile_offset: 0,
                        moves: self.dealt(
                            tiles.deal,
                            [target.steps[1], target.steps[0]],
                            to.size_bytes(),
                            true,
                        ),
                    };
                    let shape = [tiles.deal.channels(), tiles.deal.elements()];
                    let loads = [load];
                    let tile = self.residents.same(&loads).unwrap_or_else(|| {
                        let tile = self.out.alloc(Space::Sbuf, &shape, from, &name);
                        self.run_loads(from.size_bytes(), &loads, tile);
                        tile
                    });
                    let out = self.out.alloc(Space::Sbuf, &shape, to, &name);
                    self.turn(&turn, immediates, tiles.deal, [tile, out]);
                    self.run_store(to.size_bytes(), store, result, out);
                }
            }
        }
        Ok(())
    }

    /// The scalars of the word.
    fn turn_immediates(&self, member: &Member, turn: &Turn) -> Result<[Immediate; 2], NotCore> {
        let Turn::Scalar { word, immediates } = turn else { return Ok([Immediate::Value(0); 2]) };
        let slot = |index: Option<usize>| match index {
            Some(index) => self.immediate(member, &[], index, word.opcode),
            None => Ok(Immediate::Value(0)),
        };
        Ok([slot(immediates[0])?, slot(immediates[1])?])
    }

    /// The moves between a tile and main memory, whose steps are those of the matrix's rows and columns; innermost
    /// first. A tile that is turned has the lanes of a block along the columns.
    fn dealt(
        &self,
        deal: Deal,
        steps: [i64; 2],
        element: u64,
        turned: bool,
    ) -> SmallVec<[Move; 8]> {
        let element = element as i64;
        let partition = self.out.partition_stride();
        let block = BLOCK as i64;
        // The dimension that runs along a partition, and the other one.
        let (along, across) = if turned { (0, 1) } else { (1, 0) };
        let [inner, outer] = [along, across].map(|dim| deal.blocks[dim]);
        let run = BLOCK * inner;
        let quadrant = |dim: usize| {
            let before = if dim == 0 { deal.quadrants[1] as i64 } else { 1 };
            Move {
                count: deal.quadrants[dim],
                from: block * deal.blocks[dim] as i64 * steps[dim],
                to: block * before * partition,
            }
        };
        smallvec![
            Move { count: run, from: steps[along], to: element },
            Move { count: outer, from: block * steps[across], to: run as i64 * element },
            Move { count: BLOCK, from: steps[across], to: partition },
            quadrant(1),
            quadrant(0),
        ]
    }

    /// The word that turns a tile.
    fn turn(
        &mut self,
        turn: &Turn,
        immediates: [Immediate; 2],
        deal: Deal,
        [source, out]: [partita_ir::ValueId; 2],
    ) {
        let channels = deal.channels() as u8;
        let [rows, columns] = deal.blocks.map(|count| count as u16);
        let count = deal.elements() as u16;
        let lanes = BLOCK as u16;
        // Blocks are read row by row of blocks, and written column by column.
        let step = |step: u64| step as i16;
        let steps = [1, step(BLOCK * deal.blocks[0]), step(BLOCK), 1];
        let counts = [lanes, columns, rows, 1];
        match turn {
            Turn::Move(word) => {
                let src = Pattern::<4>::contiguous(0, count);
                let dst = Pattern::<4> { start_addr: 0, step_elem: steps, num_elem: counts };
                let bases = [(field::SRC, source), (field::DST, out)];
                self.out.inst(Engine::Dve, word.word(channels, src, dst), &bases);
            }
            Turn::Scalar { word, .. } => {
                let src = Pattern::<3>::contiguous(0, count);
                let [s0, s1, s2, _] = steps;
                let [n0, n1, n2, _] = counts;
                let dst =
                    Pattern::<3> { start_addr: 0, step_elem: [s0, s1, s2], num_elem: [n0, n1, n2] };
                let mut bases: SmallVec<[_; 4]> =
                    smallvec![(field::SRC, source), (field::DST, out)];
                let slots = [
                    immediates[0].slot(field::IMM0, 0, &mut bases),
                    immediates[1].slot(field::IMM1, 0, &mut bases),
                ];
                self.out.inst(Engine::Dve, word.word(channels, slots, src, dst), &bases);
            }
        }
    }
}
