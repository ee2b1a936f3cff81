//! The words of one operation on one tile.

use partita_ir::entity::ValueId;
use partita_ir::ops::TensorOp;
use partita_ir::{ElemType, Operand, Space};
use partita_isa::{AluOp, Engine, Opcode, SubDim};
use smallvec::{SmallVec, smallvec};

use super::axes::Axis;
use super::elementwise::{Immediate, Site, Source};
use super::emit::Move;
use super::group::Member;
use super::lower::{Block, Lowering, Tile};
use super::patterns::{Loop, Nest, divide};
use super::resident::Transfer;
use crate::blocks::BLOCK as LANES;
use crate::select::{Form, NotCore};
use crate::words::{One, Scalar};

/// Names of address fields (ISA 7).
pub(super) mod field {
    pub const SRC: &str = "src_mem_pattern";
    pub const SRC0: &str = "src0_mem_pattern";
    pub const SRC1: &str = "src1_mem_pattern";
    pub const DST: &str = "dst_mem_pattern";
    pub const IMM0: &str = "imm0";
    pub const IMM1: &str = "imm1";
    pub const SRC1_IMM: &str = "src1_imm";
    pub const PRED_IMM: &str = "pred_imm";
}

impl Lowering<'_> {
    /// Emits the words that compute `result` and gives its tile: `place`, when that is given
    /// and holds the second branch of a select.
    ///
    /// # Errors
    /// No word does the operation in this layout.
    pub fn compute(
        &mut self,
        block: &Block<'_>,
        member: &Member,
        operands: &[Option<Tile>],
        result: ValueId,
        place: Option<Tile>,
    ) -> Result<Tile, NotCore> {
        let form = self.form(member, operands)?;
        let name = self.func.values[result].name.clone();
        let dtype = self.func.ty(result).dtype();
        let axes = roots(block, &block.group.values[&result]);
        let single_partition = matches!(form, Form::CrossLane(_));
        let out = if let Some(place) = place {
            place
        } else if single_partition {
            let one = Block {
                rows: (block.rows.0, block.rows.0 + 1),
                windows: block.windows.clone(),
                ..*block
            };
            self.new_tile(&one, &axes, dtype, &name)
        } else {
            self.new_tile(block, &axes, dtype, &name)
        };
        let channels = block.channels() as u8;
        match form {
            form @ (Form::Move { .. }
            | Form::Two { .. }
            | Form::Scalar { .. }
            | Form::Stt { .. }
            | Form::Stages(_)
            | Form::RowSelect { .. }
            | Form::Select { .. }) => {
                let sources = self.sources_of(member, operands)?;
                let site = Site { block, channels, axes: &axes };
                self.elementwise(&site, form, &sources, &out)?;
            }
            Form::Reduce { word, engine } => {
                let source = self.tile(member, operands, 0)?;
                let folded = self.folded(block, member, &axes);
                let fixed = self.loops(block, &folded, &[&source, &out]);
                let kept = self.loops(block, &axes, &[&source, &out]);
                self.fold(channels, word, engine, (&fixed, &kept), [&source, &out])?;
            }
            Form::Scan(word) => {
                let source = self.tile(member, operands, 0)?;
                let along = self.scanned(block, member);
                let kept: Vec<Axis> =
                    axes.iter().copied().filter(|axis| !along.contains(axis)).collect();
                let fixed = self.loops(block, &along, &[&source, &out]);
                let kept = self.loops(block, &kept, &[&source, &out]);
                self.fold(channels, word, Engine::Dve, (&fixed, &kept), [&source, &out])?;
            }
            Form::CacheScan(word) => {
                self.cache_scan(block, channels, word, member, operands, &axes, &out)?
            }
            Form::CrossLane(word) => {
                let source = self.tile(member, operands, 0)?;
                let loops = self.loops(block, &axes, &[&source, &out]);
                let elements = word.input.size() as i64;
                for nest in fit(divide(&[], &loops, 4, 2))? {
                    let src = nest.pattern(0, byte(nest.offsets[0], elements));
                    let dst = nest.pattern(1, byte(nest.offsets[1], word.out.size() as i64));
                    let bases = [(field::SRC, source.value), (field::DST, out.value)];
                    self.out.inst(Engine::Pool, word.word(channels, src, dst), &bases);
                }
            }
            Form::TransposeReduce(_) | Form::Turn(_) => {
                return Err(NotCore {
                    reason: "a transpose is tiled on its own".into(),
                    rule: None,
                });
            }
        }
        Ok(out)
    }

    /// The tile of an operand; a literal becomes one element in every partition.
    fn tile(
        &mut self,
        member: &Member,
        operands: &[Option<Tile>],
        index: usize,
    ) -> Result<Tile, NotCore> {
        if let Some(Some(tile)) = operands.get(index) {
            return Ok(tile.clone());
        }
        let (bits, dtype) = self.literal(member, index)?;
        self.element(bits, dtype).ok_or_else(|| missing("a literal has no element"))
    }

    fn literal(&self, member: &Member, index: usize) -> Result<(u64, ElemType), NotCore> {
        let op = &self.func.ops[member.op];
        match (op.operands.get(index), partita_ir::infer::literal_dtype(self.func, op, index)) {
            (Some(Operand::Literal(literal)), Some(dtype)) => {
                let bits = literal.to_bits(dtype).map_err(|error| missing(&error.to_string()))?;
                Ok((bits, dtype))
            }
            _ => Err(missing("an operand is neither a tile nor a literal")),
        }
    }

    /// The loops over the free axes, innermost first, with each tile's steps.
    pub(super) fn loops(&self, block: &Block<'_>, axes: &[Axis], tiles: &[&Tile]) -> Vec<Loop> {
        let free = &block.region.free;
        (0..free.len())
            .rev()
            .filter(|&index| axes.contains(&free[index].axis))
            .map(|index| Loop {
                count: block.windows[index].1,
                steps: tiles
                    .iter()
                    .map(|tile| tile.steps.get(index).copied().unwrap_or(0))
                    .collect(),
            })
            .collect()
    }

    /// The operands of an operation: tiles, or literals with the types they take.
    fn sources_of(
        &self,
        member: &Member,
        operands: &[Option<Tile>],
    ) -> Result<Vec<Source>, NotCore> {
        let source = |index: usize| match operands.get(index) {
            Some(Some(tile)) => Ok(Source::Tile(tile.clone())),
            _ => self.literal(member, index).map(|(bits, dtype)| Source::Literal(bits, dtype)),
        };
        (0..operands.len()).map(source).collect()
    }

    /// The immediate of a word.
    pub(super) fn immediate(
        &self,
        member: &Member,
        operands: &[Option<Tile>],
        index: usize,
        opcode: Opcode,
    ) -> Result<Immediate, NotCore> {
        match operands.get(index) {
            Some(Some(tile)) => Ok(Immediate::Pointer(tile.value)),
            _ => self
                .literal(member, index)
                .and_then(|(bits, dtype)| Immediate::literal(bits, dtype, opcode)),
        }
    }

    /// The axes that a reduction folds.
    pub(super) fn folded(&self, block: &Block<'_>, member: &Member, kept: &[Axis]) -> Vec<Axis> {
        let operand = roots(block, &member.operands[0]);
        let TensorOp::Reduce { dims, .. } =
            self.func.ops[member.op].as_tensor().unwrap_or(&TensorOp::Cast)
        else {
            return Vec::new();
        };
        let mut folded: Vec<Axis> = dims
            .iter()
            .filter_map(|&dim| member.operands[0].get(dim).copied().flatten())
            .map(|axis| block.group.axes.root(axis))
            .collect();
        folded.retain(|axis| operand.contains(axis) && !kept.contains(axis));
        folded
    }

    /// The axis that a scan runs along; none when it has one element.
    pub(super) fn scanned(&self, block: &Block<'_>, member: &Member) -> Vec<Axis> {
        let last = member.operands[0].last().copied().flatten();
        last.map(|axis| block.group.axes.root(axis)).into_iter().collect()
    }

    /// Words that walk the `fixed` loops within the fold and the `kept` ones around it.
    pub(super) fn fold(
        &mut self,
        channels: u8,
        word: One,
        engine: Engine,
        (fixed, kept): (&[Loop], &[Loop]),
        [source, out]: [&Tile; 2],
    ) -> Result<(), NotCore> {
        let scans = matches!(word.opcode.info().cost, partita_isa::CostClass::Scan);
        // One folded element still is a dimension of the pattern.
        let single = super::patterns::merge(fixed).is_empty();
        let room = if single { 3 } else { 4 };
        for mut nest in fit(divide(fixed, kept, room, 2))? {
            if single {
                nest.loops.insert(0, Loop { count: 1, steps: smallvec![1, 1] });
            }
            let depth = super::patterns::merge(fixed).len().max(1);
            let op_dim = [SubDim::X, SubDim::Xy, SubDim::Xyz, SubDim::Xyzw][depth - 1];
            let src = nest.pattern(0, byte(nest.offsets[0], word.input.size() as i64));
            let skip = if scans { 0 } else { depth };
            let around = Nest { offsets: nest.offsets.clone(), loops: nest.loops[skip..].into() };
            let dst = around.pattern(1, byte(out.start + nest.offsets[1], word.out.size() as i64));
            let bases = [(field::SRC, source.value), (field::DST, out.value)];
            self.out.inst(engine, One { op_dim, ..word }.word(channels, src, dst), &bases);
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn cache_scan(
        &mut self,
        block: &Block<'_>,
        channels: u8,
        word: Scalar,
        member: &Member,
        operands: &[Option<Tile>],
        axes: &[Axis],
        out: &Tile,
    ) -> Result<(), NotCore> {
        let source = self.tile(member, operands, 0)?;
        let along = self.scanned(block, member);
        let kept: Vec<Axis> = roots(block, &member.operands[0])
            .into_iter()
            .chain(axes.iter().copied())
            .filter(|axis| !along.contains(axis))
            .collect();
        let seeded = operands.len() > 2;
        let ignored = word.ops[0] == AluOp::Bypass || word.ops[0].info().arity == 1;
        let imm0 = if ignored {
            Immediate::Value(0)
        } else {
            self.immediate(member, operands, 1, word.opcode)?
        };
        let imm1 = if seeded {
            self.immediate(member, operands, 2, word.opcode)?
        } else {
            Immediate::Value(0)
        };
        let nothing = Tile { value: out.value, steps: SmallVec::new(), is_row: true, start: 0 };
        let at =
            |index: usize| operands.get(index).and_then(Option::as_ref).unwrap_or(&nothing).clone();
        let (scalar, seed) = (at(1), at(2));
        let tiles = [&source, out, &scalar, &seed];
        let mut fixed = self.loops(block, &along, &tiles);
        if fixed.is_empty() {
            fixed.push(Loop { count: 1, steps: smallvec![1, 1, 0, 0] });
        }
        let kept = self.loops(block, &kept, &tiles);
        let dims = super::patterns::merge(&fixed).len();
        for nest in fit(divide(&fixed, &kept, dims, 4))? {
            let src = nest.pattern(0, byte(nest.offsets[0], word.input.size() as i64));
            let dst = nest.pattern(1, byte(nest.offsets[1], word.out.size() as i64));
            let mut bases: SmallVec<[_; 4]> =
                smallvec![(field::SRC, source.value), (field::DST, out.value)];
            let slots = [
                imm0.slot(field::IMM0, byte(nest.offsets[2], 4), &mut bases),
                imm1.slot(field::IMM1, byte(seed.start + nest.offsets[3], 4), &mut bases),
            ];
            self.out.inst(Engine::Dve, word.word(channels, slots, src, dst), &bases);
        }
        Ok(())
    }

    /// A transpose-reduce: `[P, F]` to `[P/32, 32, F/32]`, all P rows at once, F in windows.
    ///
    /// # Errors
    /// No word does it.
    pub fn transpose_reduce(&mut self, member: &Member, budget: u64) -> Result<(), NotCore> {
        let op = &self.func.ops[member.op];
        let (Some(Operand::Value(value)), Some(result)) =
            (op.operands.first().copied(), op.result())
        else {
            return Err(missing("the operand is missing"));
        };
        let Form::TransposeReduce(word) = self.form(member, &[])? else {
            return Err(missing("not a transpose-reduce"));
        };
        let name = self.func.values[result].name.clone();
        self.out.set_source(&name);
        let &[rows, width] = self.func.ty(value).shape() else {
            return Err(missing("the operand is no matrix"));
        };
        let (from, to) = (self.func.ty(value).dtype(), self.func.ty(result).dtype());
        let view =
            self.sources.view(value).cloned().ok_or_else(|| missing("the operand has no place"))?;
        let home = self.sources.view(result).and_then(|view| view.pieces.first()).cloned();
        let home = home.ok_or_else(|| missing("the result has no place"))?;
        let groups = width / LANES;
        let per_group = LANES * from.size_bytes() + to.size_bytes();
        let window = (budget / per_group).clamp(1, MAX_GROUPS);
        let stride = self.out.partition_stride();
        let mut start = 0;
        while start < groups {
            let count = window.min(groups - start);
            let element = from.size_bytes() as i64;
            let (lo, size) = ([0, start * LANES], [rows, count * LANES]);
            let loads: Vec<Transfer> = view
                .pieces
                .iter()
                .filter_map(|piece| piece.intersect(&lo, &size))
                .map(|piece| Transfer {
                    buffer: piece.buffer,
                    buffer_offset: piece.offset,
                    tile_offset: piece.lo[0] as i64 * stride
                        + (piece.lo[1] - lo[1]) as i64 * element,
                    moves: smallvec![
                        Move { count: piece.size[1], from: piece.strides[1], to: element },
                        Move { count: piece.size[0], from: piece.strides[0], to: stride },
                    ],
                })
                .collect();
            let source = self.residents.same(&loads).unwrap_or_else(|| {
                let source = self.out.alloc(Space::Sbuf, &[rows, count * LANES], from, &name);
                self.run_loads(element as u64, &loads, source);
                source
            });
            let out = self.out.alloc(Space::Sbuf, &[rows, count], to, &name);
            let mut src = partita_isa::Pattern::<4>::contiguous(0, LANES as u16);
            src.step_elem[1] = LANES as i16;
            src.num_elem[1] = count as u16;
            let dst = partita_isa::Pattern::<4>::contiguous(0, count as u16);
            let bases = [(field::SRC, source), (field::DST, out)];
            self.out.inst(Engine::Dve, word.word(rows as u8, src, dst), &bases);
            let element = to.size_bytes() as i64;
            // Partition 32 b + j holds element (b, j, k) at place k.
            let [blocks, lanes, places] = [0, 1, 2].map(|dim| home.strides[dim]);
            let stored = Transfer {
                buffer: home.buffer,
                buffer_offset: home.offset + start as i64 * places,
                tile_offset: 0,
                moves: smallvec![
                    Move { count, from: places, to: element },
                    Move { count: LANES, from: lanes, to: stride },
                    Move { count: rows / LANES, from: blocks, to: stride * LANES as i64 },
                ],
            };
            self.run_store(element as u64, stored, result, out);
            start += count;
        }
        Ok(())
    }
}

/// The most groups that one pattern counts.
const MAX_GROUPS: u64 = 1 << 15;

pub(super) fn missing(reason: &str) -> NotCore {
    NotCore { reason: reason.to_owned(), rule: None }
}

pub(super) fn fit(nests: Option<Vec<Nest>>) -> Result<Vec<Nest>, NotCore> {
    nests.ok_or_else(|| missing("the folded elements fit no access pattern"))
}

/// A byte offset from a tile's start; tiles are walked forwards.
pub(super) fn byte(offset: i64, element: i64) -> u32 {
    (offset * element) as u32
}

fn roots(block: &Block<'_>, dims: &super::axes::DimAxes) -> Vec<Axis> {
    dims.iter().flatten().map(|&axis| block.group.axes.root(axis)).collect()
}
