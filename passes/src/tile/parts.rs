//! Folds along an axis that is cut into windows: each window's part stands in a tile of parts, which one
//! word folds at the end; or each window goes on from the result of the one before.

use partita_ir::entity::ValueId;
use partita_ir::ops::{Seed, TensorOp};
use partita_ir::{ElemType, Space};
use smallvec::SmallVec;

use super::axes::Axis;
use super::compute::missing;
use super::lower::{Block, Lowering, Tile};
use super::patterns::Loop;
use super::phases::Along;
use super::walk::Scopes;
use crate::select::{self, Form, Input, InputKind, NotCore};

/// The parts of a value, a part for each window.
pub struct Part {
    tile: ValueId,
    /// Elements of one part.
    elements: i64,
    count: u64,
    /// Windows that have theirs.
    done: Vec<bool>,
}

impl Part {
    pub fn has(&self, window: usize) -> bool {
        self.done.get(window).copied().unwrap_or(false)
    }
}

impl Lowering<'_> {
    /// Where this window's part of the value that an operation folds goes; `None` of what is not folded in parts.
    pub fn part(
        &mut self,
        block: &Block<'_>,
        at: usize,
        along: &Along,
        count: usize,
        scopes: &mut Scopes,
    ) -> Option<Tile> {
        let Along::Parts { dtype, .. } = along else { return None };
        let value = self.func.ops[block.group.ops[at].op].result()?;
        let (shape, steps) = block.layout(&block.axes_of(value));
        if !scopes.parts.contains_key(&value) {
            let mut all: SmallVec<[u64; 4]> = shape.clone();
            all.insert(1, count as u64);
            let name = self.func.values[value].name.clone();
            let tile = self.out.alloc(Space::Sbuf, &all, *dtype, &format!("{name}_parts"));
            let elements = shape.iter().skip(1).product::<u64>() as i64;
            let part = Part { tile, elements, count: count as u64, done: vec![false; count] };
            scopes.parts.insert(value, part);
        }
        let part = scopes.parts.get_mut(&value)?;
        *part.done.get_mut(block.window)? = true;
        let start = part.elements * block.window as i64;
        Some(Tile { value: part.tile, steps, is_row: false, start })
    }

    /// Folds a window to its part.
    ///
    /// # Errors
    /// The pattern fits no word.
    pub fn compute_part(
        &mut self,
        block: &Block<'_>,
        at: usize,
        form: &Form,
        operands: &[Option<Tile>],
        into: &Tile,
    ) -> Result<(), NotCore> {
        let member = &block.group.ops[at];
        let (Form::Reduce { word, engine }, Some(Some(source))) = (form, operands.first()) else {
            return Err(missing("not a reduction of a tile"));
        };
        let result = self.func.ops[member.op].result();
        let axes = result.map(|value| block.axes_of(value)).unwrap_or_default();
        let folded = self.folded(block, member, &axes);
        let fixed = self.loops(block, &folded, &[source, into]);
        let kept = self.loops(block, &axes, &[source, into]);
        self.fold(block.channels() as u8, *word, *engine, (&fixed, &kept), [source, into])
    }

    /// After the last window: folds the parts, or keeps what the last window left.
    ///
    /// # Errors
    /// The pattern fits no word.
    pub fn finish_fold(
        &mut self,
        block: &Block<'_>,
        at: usize,
        along: &Along,
        scopes: &mut Scopes,
    ) -> Result<(), NotCore> {
        let Some(value) = self.func.ops[block.group.ops[at].op].result() else { return Ok(()) };
        if let Some(tile) = scopes.chains.swap_remove(&value) {
            if scopes.value(block, value).is_none() {
                self.keep(block, value, tile, scopes);
            }
            return Ok(());
        }
        let Along::Parts { last: Form::Reduce { word, engine }, .. } = along else {
            return Ok(());
        };
        let Some(part) = scopes.parts.swap_remove(&value) else { return Ok(()) };
        let name = self.func.values[value].name.clone();
        self.out.set_source(&name);
        let axes = block.axes_of(value);
        let out = self.new_tile(block, &axes, self.func.ty(value).dtype(), &name);
        let source = Tile { value: part.tile, steps: out.steps.clone(), is_row: false, start: 0 };
        let fixed = [Loop { count: part.count, steps: SmallVec::from_slice(&[part.elements, 0]) }];
        let kept = self.loops(block, &axes, &[&source, &out]);
        self.fold(block.channels() as u8, *word, *engine, (&fixed, &kept), [&source, &out])?;
        self.keep(block, value, out, scopes);
        Ok(())
    }

    /// A window of a scan, seeded with what the window before left. Gives the window of the result; none where
    /// the scan folds, whose result is what the last window leaves.
    ///
    /// # Errors
    /// No word goes on this way.
    pub fn compute_chained(
        &mut self,
        block: &Block<'_>,
        at: usize,
        operands: &[Option<Tile>],
        count: usize,
        scopes: &mut Scopes,
    ) -> Result<Option<Tile>, NotCore> {
        let member = &block.group.ops[at];
        let op = &self.func.ops[member.op];
        let (Some(result), Some(TensorOp::ScanCache { op0, op1, seed, emit })) =
            (op.result(), op.as_tensor())
        else {
            return Err(missing("not a scan"));
        };
        let (op0, op1, emit) = (*op0, *op1, *emit);
        let name = self.func.values[result].name.clone();
        let axes = block.axes_of(result);
        let folds = emit == partita_ir::ops::Emit::Final;
        let is_last = block.window + 1 == count;
        let dtype = match folds && !is_last {
            true => ElemType::F32,
            false => self.func.ty(result).dtype(),
        };
        let out = self.new_tile(block, &axes, dtype, &name);
        let before = scopes.chains.get(&result).cloned();
        let is_row = |index: usize| {
            operands.get(index).is_some_and(|tile| tile.as_ref().is_some_and(|tile| tile.is_row))
        };
        let mut inputs = select::inputs(self.func, op, is_row)?;
        let mut operands = operands.to_vec();
        let seed = match before {
            Some(tile) => {
                let input = Input { dtype: ElemType::F32, kind: InputKind::Row };
                inputs.truncate(2);
                inputs.push(input);
                operands.truncate(2);
                operands.push(Some(tile));
                Seed::Load
            }
            None => *seed,
        };
        let Form::CacheScan(word) =
            select::scan(op0, op1, seed, emit, &inputs, dtype, self.target)?
        else {
            return Err(missing("this scan does not go on from a seed"));
        };
        self.cache_scan(block, block.channels() as u8, word, member, &operands, &axes, &out)?;
        let next = match folds {
            true => out.clone(),
            false => self.last_of(block, member, &out),
        };
        scopes.chains.insert(result, next);
        Ok((!folds).then_some(out))
    }

    /// The last elements of a tile along the axis of a scan.
    fn last_of(&self, block: &Block<'_>, member: &super::group::Member, out: &Tile) -> Tile {
        let along: Vec<Axis> = self.scanned(block, member);
        let mut last = out.clone();
        for (index, looped) in block.region.free.iter().enumerate() {
            if along.contains(&looped.axis) {
                let step = last.steps.get(index).copied().unwrap_or(0);
                last.start += step * (block.windows[index].1 as i64 - 1);
                if let Some(step) = last.steps.get_mut(index) {
                    *step = 0;
                }
            }
        }
        last
    }
}
