//! Results that are moved data: where they are made of computed values, those are stored
//! where the result wants them, so that transposes, concatenations and pads are writes
//! in place.

use indexmap::IndexMap;
use partita_ir::Func;
use partita_ir::entity::ValueId;
use partita_ir::ops::{PadAmounts, SliceRange, TensorOp};
use partita_ir::types::Shape;
use smallvec::SmallVec;

use super::view::View;
use crate::select::is_movement;

/// What a moved result consists of.
#[derive(Debug, Default)]
pub struct Homes {
    /// Where computed values are stored, in the result's buffer.
    pub values: IndexMap<ValueId, View>,
    /// What is copied at the end.
    pub copies: Vec<Leftover>,
}

/// A part of a result that is copied from elsewhere.
#[derive(Clone, Debug)]
pub struct Leftover {
    pub value: ValueId,
    /// Its place in the result's buffer.
    pub to: View,
    /// A box of it that is filled otherwise: where it starts, and its size.
    pub but: Option<(Shape, Shape)>,
}

impl Homes {
    /// Finds homes in the buffer that `layout` is the whole of, for a result that a movement
    /// makes. Values in `fixed` have homes of their own.
    pub fn add(&mut self, func: &Func, result: ValueId, layout: View, fixed: &[ValueId]) {
        let mut waiting = vec![(result, layout)];
        while let Some((value, to)) = waiting.pop() {
            if self.place(func, value, &to, fixed, &mut waiting).is_none() {
                self.copies.push(Leftover { value, to, but: None });
            }
        }
    }

    /// Puts one value, or what it is made of, in its place; `None` when it must be copied.
    fn place(
        &mut self,
        func: &Func,
        value: ValueId,
        to: &View,
        fixed: &[ValueId],
        waiting: &mut Vec<(ValueId, View)>,
    ) -> Option<()> {
        let op = func.ops.get(func.def_op(value)?)?;
        if !is_movement(func, op) {
            if fixed.contains(&value) || self.values.contains_key(&value) {
                return None;
            }
            self.values.insert(value, to.clone());
            return Some(());
        }
        let source = op.value_operands().next()?;
        let shape = func.ty(source).shape();
        match op.as_tensor()? {
            TensorOp::Transpose { perm } => {
                let mut inverse: SmallVec<[usize; 4]> = SmallVec::from_elem(0, perm.len());
                for (to, &from) in perm.iter().enumerate() {
                    *inverse.get_mut(from)? = to;
                }
                waiting.push((source, to.transpose(&inverse)));
            }
            TensorOp::Reshape => waiting.push((source, to.reshape(shape)?)),
            TensorOp::Bitcast
                if func.ty(source).dtype().size_bytes() == func.ty(value).dtype().size_bytes() =>
            {
                waiting.push((source, to.clone()));
            }
            TensorOp::Concat { dim } => {
                let mut start = 0;
                for part in op.value_operands() {
                    let shape = func.ty(part).shape();
                    let end = start + shape.get(*dim)?;
                    let mut ranges = whole(shape);
                    *ranges.get_mut(*dim)? = SliceRange { start, limit: end, stride: 1 };
                    start = end;
                    if !shape.contains(&0) {
                        waiting.push((part, to.slice(&ranges)));
                    }
                }
            }
            TensorOp::Pad { amounts } => {
                let (low, ranges) = data_box(shape, amounts)?;
                waiting.push((source, to.slice(&ranges)));
                let but = Some((low, shape.into()));
                self.copies.push(Leftover { value, to: to.clone(), but });
            }
            _ => return None,
        }
        Some(())
    }
}

fn whole(shape: &[u64]) -> SmallVec<[SliceRange; 4]> {
    shape.iter().map(|&limit| SliceRange { start: 0, limit, stride: 1 }).collect()
}

/// Where the data of a pad lies in its result; `None` where it is cropped or spread.
fn data_box(shape: &[u64], amounts: &[PadAmounts]) -> Option<(Shape, SmallVec<[SliceRange; 4]>)> {
    let mut low = Shape::new();
    let mut ranges = SmallVec::new();
    for (&size, amount) in shape.iter().zip(amounts) {
        let start = u64::try_from(amount.low).ok().filter(|_| amount.high >= 0)?;
        if amount.interior > 0 || size == 0 {
            return None;
        }
        low.push(start);
        ranges.push(SliceRange { start, limit: start + size, stride: 1 });
    }
    Some((low, ranges))
}

impl Leftover {
    /// True of a piece of the value that is filled otherwise.
    pub fn skips(&self, lo: &[u64], size: &[u64]) -> bool {
        self.but.as_ref().is_some_and(|(start, extent)| {
            (0..lo.len())
                .all(|dim| lo[dim] >= start[dim] && lo[dim] + size[dim] <= start[dim] + extent[dim])
        })
    }
}
