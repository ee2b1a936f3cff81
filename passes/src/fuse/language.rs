//! Operations as nodes of an e-graph.
//!
//! A node is a head (the operation's kind), the number of an [`Entry`] that says
//! everything else about it, and its operands that are values. Numbers follow the
//! order of first use, so that comparing nodes never depends on the machine.

use std::hash::{Hash, Hasher};

use egg::{Id, Language};
use partita_ir::ops::TensorOpName;
use partita_ir::{Literal, Operand, TensorOp, TensorType, ValueId};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use crate::canonicalize::key;

/// What kind of node it is; egg finds nodes by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Head {
    /// A value from outside the window.
    Leaf,
    Op(TensorOpName),
}

/// A node of the e-graph.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    pub head: Head,
    /// Number in the [`Table`].
    pub entry: u32,
    pub children: SmallVec<[Id; 2]>,
}

impl Language for Node {
    type Discriminant = Head;

    fn discriminant(&self) -> Head {
        self.head
    }

    fn matches(&self, other: &Self) -> bool {
        self.entry == other.entry && self.children.len() == other.children.len()
    }

    fn children(&self) -> &[Id] {
        &self.children
    }

    fn children_mut(&mut self) -> &mut [Id] {
        &mut self.children
    }
}

/// An operand's place: the next child, or a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    Child,
    Literal(Literal),
}

/// An operation apart from the values it reads.
#[derive(Clone, Debug)]
pub struct Entry {
    pub kind: EntryKind,
    pub ty: TensorType,
}

/// What an [`Entry`] stands for.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "most entries are operations")]
pub enum EntryKind {
    Leaf(ValueId),
    Op { op: TensorOp, slots: SmallVec<[Slot; 3]> },
}

impl Entry {
    /// The operation, unless the entry is a leaf.
    pub fn op(&self) -> Option<&TensorOp> {
        match &self.kind {
            EntryKind::Leaf(_) => None,
            EntryKind::Op { op, .. } => Some(op),
        }
    }

    /// How many values it reads.
    pub fn children(&self) -> usize {
        match &self.kind {
            EntryKind::Leaf(_) => 0,
            EntryKind::Op { slots, .. } => {
                slots.iter().filter(|slot| **slot == Slot::Child).count()
            }
        }
    }

    fn head(&self) -> Head {
        self.op().map_or(Head::Leaf, |op| Head::Op(op.kind_name()))
    }

    fn same(&self, other: &Self) -> bool {
        let kinds = match (&self.kind, &other.kind) {
            (EntryKind::Leaf(a), EntryKind::Leaf(b)) => a == b,
            (EntryKind::Op { op: a, slots: x }, EntryKind::Op { op: b, slots: y }) => {
                x == y && key::same_op(a, b)
            }
            _ => false,
        };
        kinds && self.ty == other.ty
    }

    fn hash(&self) -> u64 {
        let mut state = FxHasher::default();
        match &self.kind {
            EntryKind::Leaf(value) => value.hash(&mut state),
            EntryKind::Op { op, slots } => {
                key::hash_op(op, &mut state);
                for slot in slots {
                    match slot {
                        Slot::Child => 0u8.hash(&mut state),
                        Slot::Literal(literal) => key::hash_literal(literal, &mut state),
                    }
                }
            }
        }
        self.ty.hash(&mut state);
        state.finish()
    }
}

/// Entries by number, each once.
#[derive(Clone, Debug, Default)]
pub struct Table {
    entries: Vec<Entry>,
    numbers: FxHashMap<u64, SmallVec<[u32; 1]>>,
}

impl Table {
    /// The entry of a node.
    pub fn entry(&self, node: &Node) -> Option<&Entry> {
        self.entries.get(node.entry as usize)
    }

    /// A node for a value from outside.
    pub fn leaf(&mut self, value: ValueId, ty: TensorType) -> Node {
        self.node(Entry { kind: EntryKind::Leaf(value), ty }, SmallVec::new())
    }

    /// A node for an operation; `class_of` says where its operands are.
    pub fn op(
        &mut self,
        op: TensorOp,
        operands: &[Operand],
        ty: TensorType,
        class_of: impl Fn(ValueId) -> Option<Id>,
    ) -> Option<Node> {
        let mut slots = SmallVec::new();
        let mut children = SmallVec::new();
        for operand in operands {
            match operand {
                Operand::Literal(literal) => slots.push(Slot::Literal(*literal)),
                Operand::Value(value) => {
                    slots.push(Slot::Child);
                    children.push(class_of(*value)?);
                }
            }
        }
        Some(self.node(Entry { kind: EntryKind::Op { op, slots }, ty }, children))
    }

    fn node(&mut self, entry: Entry, children: SmallVec<[Id; 2]>) -> Node {
        let head = entry.head();
        let candidates = self.numbers.entry(entry.hash()).or_default();
        let entries = &self.entries;
        let known = candidates
            .iter()
            .copied()
            .find(|&number| entries.get(number as usize).is_some_and(|other| other.same(&entry)));
        let number = known.unwrap_or_else(|| {
            let number = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
            candidates.push(number);
            self.entries.push(entry);
            number
        });
        Node { head, entry: number, children }
    }
}
