//! What must come before what: the dependence graph of a function of the tile dialect.
//!
//! Nodes are words and transfers in program order, edges go from earlier to later ones: a read follows the
//! write of what it reads, a write follows reads and writes of what it overwrites. On the chip a tile is one
//! thing; in main memory ranges of bytes count. The accumulators and the lane table are hidden state: words that
//! touch them keep their order.

use partita_backend::cost::View;
use partita_ir::entity::{OpId, ValueId};
use partita_ir::ops::{MachineOp, OpKind};
use partita_ir::{Func, Space};
use partita_isa::dma::{Descriptor, DmaAddr, DmaDim};
use petgraph::graph::{DiGraph, NodeIndex};

use crate::intervals::{History, Toucher};

/// A node by itself: nobody else stands for it.
impl Toucher for u32 {
    fn stands_for(self, other: Self) -> bool {
        self == other
    }
}

/// A word or transfer.
#[derive(Clone, Debug)]
pub struct Node {
    pub op: OpId,
    /// Tiles on the chip that it names, each once.
    pub tiles: Vec<ValueId>,
}

/// The graph; the index of a node is its position among the words and transfers.
pub type Graph = DiGraph<Node, ()>;

/// Builds the graph of a function.
pub fn graph(func: &Func) -> Graph {
    let last_writes = last_writes(func);
    let mut graph = Graph::new();
    let mut history: History<u32> = History::default();
    // Hidden state comes after the values.
    let hidden = func.values.len();
    let mut before: Vec<u32> = Vec::new();
    for (op, body) in func.body_ops() {
        let fields = match &body.kind {
            OpKind::Machine(machine @ (MachineOp::Inst(_) | MachineOp::Dma(_))) => machine.fields(),
            _ => continue,
        };
        let number = graph.node_count() as u32;
        let mut tiles: Vec<ValueId> = Vec::new();
        before.clear();
        for (field, value) in fields.iter().zip(body.value_operands()) {
            let write = is_written(field);
            if super::on_chip(func, value) && !tiles.contains(&value) {
                tiles.push(value);
            }
            let Some(last) = last_writes[value.index()] else { continue };
            let (region, range) = (value.index(), bytes(func, value, &body.kind, field));
            let mut follow = |who| before.push(who);
            // A read that nothing overwrites is nobody's business.
            match write || last > number {
                true => history.touch(region, range, write, number, follow),
                false => history.peek(region, range, &mut follow),
            }
        }
        for state in hidden_state(&body.kind) {
            history.touch(hidden + state, (0, 1), true, number, |who| before.push(who));
        }
        let node = graph.add_node(Node { op, tiles });
        before.sort_unstable();
        before.dedup();
        for &earlier in before.iter().filter(|&&earlier| earlier != number) {
            graph.add_edge(NodeIndex::new(earlier as usize), node, ());
        }
    }
    graph
}

/// Words write to their destination, transfers to theirs.
pub fn is_written(field: &str) -> bool {
    field.starts_with("dst")
}

/// The last node that writes to each value.
fn last_writes(func: &Func) -> Vec<Option<u32>> {
    let mut out = vec![None; func.values.len()];
    let mut number = 0u32;
    for (_, body) in func.body_ops() {
        let OpKind::Machine(machine @ (MachineOp::Inst(_) | MachineOp::Dma(_))) = &body.kind else {
            continue;
        };
        for (field, value) in machine.fields().iter().zip(body.value_operands()) {
            if is_written(field) {
                out[value.index()] = Some(number);
            }
        }
        number += 1;
    }
    out
}

/// The bytes of a value that a field reaches: all of a tile on the chip as one.
fn bytes(func: &Func, value: ValueId, kind: &OpKind, field: &str) -> (u64, u64) {
    let in_memory = func.ty(value).as_tile().is_some_and(|ty| ty.space == Space::Hbm);
    match kind {
        OpKind::Machine(MachineOp::Dma(dma)) if in_memory => match is_written(field) {
            true => reach(&dma.desc, dma.desc.dst, |dim| dim.dst_stride),
            false => reach(&dma.desc, dma.desc.src, |dim| dim.src_stride),
        },
        _ => (0, 1),
    }
}

fn reach(desc: &Descriptor, end: DmaAddr, stride: fn(&DmaDim) -> i64) -> (u64, u64) {
    let (mut low, mut high) = (0i64, desc.elem.size() as i64);
    for dim in &desc.dims {
        let reach = stride(dim).saturating_mul(i64::from(dim.count) - 1);
        low = low.saturating_add(reach.min(0));
        high = high.saturating_add(reach.max(0));
    }
    let byte = |distance: i64| (end.addr as i64).saturating_add(distance).max(0) as u64;
    (byte(low), byte(high))
}

/// The hidden state that an operation touches.
fn hidden_state(kind: &OpKind) -> impl Iterator<Item = usize> {
    let view = match kind {
        OpKind::Machine(MachineOp::Inst(inst)) => Some(View::of(&inst.inst)),
        _ => None,
    };
    let touches = view.map_or([false; 2], |view| {
        [view.accumulator.is_some(), view.reads_lane_table || view.writes_lane_table]
    });
    touches.into_iter().enumerate().filter(|(_, touched)| *touched).map(|(state, _)| state)
}
