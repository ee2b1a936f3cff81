//! The shared dimensions of a group of operations: values of a group are laid out over a common set
//! of axes, found by uniting the dimensions that each operation pairs.

use smallvec::SmallVec;

/// An axis before uniting is complete; ask [`Axes::root`] for the one that stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Axis(u32);

/// The axis of each dimension of a value; none where the size is 1.
pub type DimAxes = SmallVec<[Option<Axis>; 4]>;

/// A union-find over axes.
#[derive(Clone, Debug, Default)]
pub struct Axes {
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    size: u64,
    /// Reduced or scanned by some operation, so that it must lie within a partition.
    serial: bool,
}

impl Axes {
    pub fn fresh(&mut self, size: u64) -> Axis {
        let id = self.nodes.len() as u32;
        self.nodes.push(Node { parent: id, size, serial: false });
        Axis(id)
    }

    /// One axis per dimension larger than 1.
    pub fn fresh_dims(&mut self, shape: &[u64]) -> DimAxes {
        shape.iter().map(|&size| (size != 1).then(|| self.fresh(size))).collect()
    }

    pub fn root(&self, axis: Axis) -> Axis {
        let mut id = axis.0;
        while self.nodes[id as usize].parent != id {
            id = self.nodes[id as usize].parent;
        }
        Axis(id)
    }

    pub fn size(&self, axis: Axis) -> u64 {
        self.nodes[self.root(axis).0 as usize].size
    }

    pub fn is_serial(&self, axis: Axis) -> bool {
        self.nodes[self.root(axis).0 as usize].serial
    }

    pub fn set_serial(&mut self, axis: Axis) {
        let root = self.root(axis);
        self.nodes[root.0 as usize].serial = true;
    }

    /// Makes two axes one; the older stands for both. False when their sizes differ.
    pub fn unite(&mut self, a: Axis, b: Axis) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        let (first, second) = if a <= b { (a, b) } else { (b, a) };
        let node = self.nodes[second.0 as usize];
        if self.nodes[first.0 as usize].size != node.size {
            return false;
        }
        self.nodes[first.0 as usize].serial |= node.serial;
        self.nodes[second.0 as usize].parent = first.0;
        true
    }

    /// No axis twice.
    pub fn distinct(&self, dims: &[Option<Axis>]) -> bool {
        let roots: SmallVec<[Axis; 8]> =
            dims.iter().flatten().map(|&axis| self.root(axis)).collect();
        (1..roots.len()).all(|i| !roots[..i].contains(&roots[i]))
    }
}
