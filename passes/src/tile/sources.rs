//! Where every tensor lies in main memory, and which of them have to be stored at all.

use indexmap::IndexMap;
use partita_ir::data::TensorData;
use partita_ir::entity::ValueId;
use partita_ir::eval::{EvalOptions, eval_op};
use partita_ir::ops::{SliceRange, TensorOp};
use partita_ir::types::Shape;
use partita_ir::{ElemType, Func, Operand, TensorType};
use partita_isa::Target;
use partita_isa::dma::MAX_DIMS;
use smallvec::{SmallVec, smallvec};

use super::emit::Move;
use super::homes::{Homes, Leftover};
use super::view::{BufferId, View};
use crate::expand::eval_options;
use crate::select::is_movement;

/// What fills a buffer.
#[derive(Clone, Debug)]
pub enum Content {
    /// An argument of the function.
    Arg(ValueId),
    /// A value that a group computes and stores.
    Computed(ValueId),
    /// A result that is moved data, filled part by part.
    Result(ValueId),
    /// Bytes known now.
    Constant(TensorData),
    /// A copy of a view whose order no strides can give; made after the group of that index, or
    /// before all groups.
    Copy { view: View, dtype: ElemType, after: Option<usize> },
}

/// Bytes of a row of equal elements: transfers in longer rows are no faster.
const ROW_BYTES: u64 = 512;

/// The buffers of a function and the view of each tensor.
#[derive(Debug, Default)]
pub struct Sources {
    pub buffers: Vec<Content>,
    views: Vec<Option<View>>,
    /// The last group that each value's view depends on.
    after: Vec<Option<usize>>,
    constants: IndexMap<TensorDataKey, BufferId>,
    /// A dense stand-in for a value whose view could not be used as asked.
    dense: IndexMap<ValueId, View>,
    /// Values stored in the buffers of results, and what is copied there at the end.
    homes: Homes,
    /// The buffers of results that are moved data.
    results: IndexMap<ValueId, BufferId>,
    /// How the target counts and rounds.
    evaluation: EvalOptions,
}

type TensorDataKey = (ElemType, Shape, Vec<u8>);

/// A movement that cannot be expressed; the function was not fit for tiling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmovable(pub ValueId);

impl Sources {
    /// Gives every value a view. `group_of` tells the group that computes a value.
    ///
    /// # Errors
    /// An operation's attributes do not fit its operands.
    pub fn new(
        func: &Func,
        target: &Target,
        group_of: impl Fn(ValueId) -> Option<usize>,
    ) -> Result<Self, Unmovable> {
        let count = func.values.len();
        let mut sources = Self {
            views: vec![None; count],
            after: vec![None; count],
            evaluation: eval_options(target),
            ..Self::default()
        };
        for &arg in &func.args {
            sources.store(func, arg, Content::Arg(arg));
        }
        sources.find_homes(func);
        for (_, op) in func.body_ops() {
            let Some(result) = op.result() else { continue };
            if !is_movement(func, op) {
                match sources.homes.values.get(&result).cloned() {
                    Some(home) => sources.views[result.index()] = Some(home),
                    None => sources.store(func, result, Content::Computed(result)),
                }
                sources.after[result.index()] = group_of(result);
                continue;
            }
            let after = op.value_operands().filter_map(|value| sources.after[value.index()]).max();
            sources.after[result.index()] = after;
            let view = sources.moved(func, op, result, after).ok_or(Unmovable(result))?;
            sources.views[result.index()] = Some(view);
        }
        Ok(sources)
    }

    /// Buffers for results that are moved data, with homes for what they are made of.
    fn find_homes(&mut self, func: &Func) {
        let returned: Vec<ValueId> = func.returned().collect();
        for &value in &returned {
            let ty = func.ty(value);
            let moved = func.def_op(value).is_some_and(|op| is_movement(func, &func.ops[op]));
            if !moved || self.results.contains_key(&value) || ty.shape().contains(&0) {
                continue;
            }
            let buffer = self.push(Content::Result(value));
            self.results.insert(value, buffer);
            let layout = View::dense(buffer, ty.shape(), ty.dtype().size_bytes());
            self.homes.add(func, value, layout, &returned);
        }
    }

    /// The buffer of a result that is moved data.
    pub fn result(&self, value: ValueId) -> Option<BufferId> {
        self.results.get(&value).copied()
    }

    /// What is to be copied into the buffers of results.
    pub fn leftovers(&self) -> &[Leftover] {
        &self.homes.copies
    }

    fn store(&mut self, func: &Func, value: ValueId, content: Content) {
        let buffer = self.push(content);
        let ty = func.ty(value);
        self.views[value.index()] = Some(View::dense(buffer, ty.shape(), ty.dtype().size_bytes()));
    }

    fn push(&mut self, content: Content) -> BufferId {
        self.buffers.push(content);
        BufferId(self.buffers.len() as u32 - 1)
    }

    /// The view of a value.
    pub fn view(&self, value: ValueId) -> Option<&View> {
        self.dense.get(&value).or(self.views.get(value.index())?.as_ref())
    }

    /// Replaces a value's view by that of a dense copy.
    pub fn make_dense(&mut self, func: &Func, value: ValueId) {
        if let Some(view) = self.view(value).cloned() {
            let copy = self.copy(view, func.ty(value).dtype(), self.after[value.index()]);
            self.dense.insert(value, copy);
        }
    }

    fn copy(&mut self, view: View, dtype: ElemType, after: Option<usize>) -> View {
        let (shape, bytes) = (view.shape.clone(), view.element_bytes);
        let buffer = self.push(Content::Copy { view, dtype, after });
        View::dense(buffer, &shape, bytes)
    }

    /// A buffer with these contents; equal contents share one.
    pub fn constant(&mut self, data: TensorData) -> BufferId {
        let ty = data.ty();
        let key = (ty.dtype, ty.shape.clone(), data.bytes().to_vec());
        if let Some(&buffer) = self.constants.get(&key) {
            return buffer;
        }
        let buffer = self.push(Content::Constant(data));
        self.constants.insert(key, buffer);
        buffer
    }

    /// One element with these bits.
    pub fn element(&mut self, bits: u64, dtype: ElemType) -> Option<BufferId> {
        Some(self.constant(TensorData::splat(TensorType::scalar(dtype), bits).ok()?))
    }

    /// A transfer's buffer and moves (innermost first), changed where it reads one element again and again and
    /// writes it side by side: a row of such elements is read instead, since transfers in short rows are slow.
    pub fn in_rows(
        &mut self,
        buffer: BufferId,
        element: u64,
        moves: &[Move],
    ) -> (BufferId, SmallVec<[Move; 8]>) {
        match self.row_of(buffer, element, moves) {
            Some(changed) => changed,
            None => (buffer, moves.into()),
        }
    }

    fn row_of(
        &mut self,
        buffer: BufferId,
        element: u64,
        moves: &[Move],
    ) -> Option<(BufferId, SmallVec<[Move; 8]>)> {
        let Content::Constant(data) = self.buffers.get(buffer.0 as usize)? else { return None };
        let (dtype, bits) = (data.ty().dtype, data.splat_bits()?);
        if data.len() != 1 || dtype.size_bytes() != element {
            return None;
        }
        let (mut run, mut inner) = (1u64, 0);
        for step in moves {
            if step.count != 1 && (step.from != 0 || step.to != run.saturating_mul(element) as i64)
            {
                break;
            }
            run = run.saturating_mul(step.count);
            inner += 1;
        }
        let most = ROW_BYTES / element;
        let row = (2..=run.min(most)).rev().find(|row| run % row == 0)?;
        let step = element as i64;
        let mut out: SmallVec<[Move; 8]> = smallvec![Move { count: row, from: step, to: step }];
        out.push(Move { count: run / row, from: 0, to: row as i64 * step });
        out.extend(moves[inner..].iter().copied());
        out.retain(|step| step.count != 1);
        if out.len() > MAX_DIMS {
            return None;
        }
        let row = TensorData::splat(TensorType::new([most], dtype), bits).ok()?;
        Some((self.constant(row), out))
    }

    fn moved(
        &mut self,
        func: &Func,
        op: &partita_ir::Op,
        result: ValueId,
        after: Option<usize>,
    ) -> Option<View> {
        let ty = func.tensor_ty(result)?;
        let bytes = ty.dtype.size_bytes();
        let kind = op.as_tensor()?;
        match kind {
            TensorOp::Constant(data) => {
                let buffer = match data.splat_bits() {
                    Some(bits) => {
                        return Some(View::splat(self.element(bits, ty.dtype)?, &ty.shape, bytes));
                    }
                    None => self.constant(data.clone()),
                };
                return Some(View::dense(buffer, &ty.shape, bytes));
            }
            TensorOp::Iota { dim } => {
                let line = TensorType::new([*ty.shape.get(*dim)?], ty.dtype);
                let count = TensorOp::Iota { dim: 0 };
                let data = eval_op(&count, &[], &line, &self.evaluation).ok()?;
                return Some(View::along(self.constant(data), &ty.shape, *dim, bytes));
            }
            _ => {}
        }
        let source = op.value_operands().next()?;
        let view = self.view(source)?.clone();
        match kind {
            TensorOp::Transpose { perm } => Some(view.transpose(perm)),
            TensorOp::Broadcast { dims } => Some(view.broadcast(dims, &ty.shape)),
            TensorOp::Slice { ranges } => Some(view.slice(ranges)),
            TensorOp::Reverse { dims } => Some(view.reverse(dims)),
            TensorOp::Concat { dim } => {
                let parts = op
                    .value_operands()
                    .map(|value| self.view(value).cloned())
                    .collect::<Option<Vec<_>>>()?;
                View::concat(&parts, *dim)
            }
            TensorOp::Reshape => match view.reshape(&ty.shape) {
                Some(view) => Some(view),
                None => self.copy(view, func.ty(source).dtype(), after).reshape(&ty.shape),
            },
            TensorOp::Bitcast => match view.bitcast(bytes, &ty.shape) {
                Some(view) => Some(view),
                None => self.copy(view, func.ty(source).dtype(), after).bitcast(bytes, &ty.shape),
            },
            TensorOp::Pad { amounts } => {
                let filling = match op.operands.get(1)? {
                    Operand::Literal(literal) => {
                        self.element(literal.to_bits(ty.dtype).ok()?, ty.dtype)?
                    }
                    Operand::Value(value) => {
                        let scalar = self.view(*value)?.clone();
                        let dense = if scalar.is_dense() {
                            scalar
                        } else {
                            self.copy(scalar, ty.dtype, after)
                        };
                        dense.pieces.first()?.buffer
                    }
                };
                self.pad(view, amounts, filling, ty, after)
            }
            _ => None,
        }
    }

    /// Interior padding spreads a dimension: each element gets a tail of filling in a new dimension,
    /// the two are joined, and the last tail is cut off.
    fn pad(
        &mut self,
        mut view: View,
        amounts: &[partita_ir::ops::PadAmounts],
        filling: BufferId,
        ty: &TensorType,
        after: Option<usize>,
    ) -> Option<View> {
        let mut edges = amounts.to_vec();
        for (dim, edge) in edges.iter_mut().enumerate() {
            let (gap, size) = (edge.interior, view.shape[dim]);
            edge.interior = 0;
            if gap == 0 || size == 0 {
                continue;
            }
            let mut shape = view.shape.clone();
            shape.insert(dim + 1, 1);
            let mut tails =
                vec![partita_ir::ops::PadAmounts { low: 0, high: 0, interior: 0 }; shape.len()];
            tails[dim + 1].high = i64::try_from(gap).ok()?;
            let spread = match view.reshape(&shape) {
                Some(spread) => spread,
                None => self.copy(view, ty.dtype, after).reshape(&shape)?,
            };
            let spread = self.copy(spread.pad(&tails, filling)?, ty.dtype, after);
            let mut joined = spread.shape.clone();
            let tail = joined.remove(dim + 1);
            joined[dim] = joined[dim].checked_mul(tail)?;
            let mut keep: Vec<SliceRange> =
                joined.iter().map(|&limit| SliceRange { start: 0, limit, stride: 1 }).collect();
            keep[dim].limit = joined[dim].checked_sub(gap)?;
            view = spread.reshape(&joined)?.slice(&keep);
        }
        view.pad(&edges, filling)
    }

    /// Which buffers must be filled so that the given views can be read.
    pub fn needed<'a>(&'a self, views: impl IntoIterator<Item = &'a View>) -> Vec<bool> {
        let mut needed = vec![false; self.buffers.len()];
        let mark = |needed: &mut Vec<bool>, view: &View| {
            for piece in &view.pieces {
                needed[piece.buffer.0 as usize] = true;
            }
        };
        views.into_iter().for_each(|view| mark(&mut needed, view));
        // A copy reads only buffers made before it.
        for index in (0..self.buffers.len()).rev() {
            if let (true, Content::Copy { view, .. }) = (needed[index], &self.buffers[index]) {
                mark(&mut needed, view);
            }
        }
        needed
    }
}
