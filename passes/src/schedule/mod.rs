//! The order of words and transfers: what each queue does next, so that engines and transfers overlap.
//!
//! Works on the tile dialect, before tiles have addresses, and changes nothing but the order, and the engine of words
//! that another one does alike. A dependence graph
//! ([`graph`](mod@graph)) says what may not be swapped, the cost profile ([`model`]) how long things take, and
//! list scheduling ([`list`](mod@list)) goes through time. The result is in order of time; each queue takes its
//! own items in that order, and placement gives bytes back in that order.

mod check;
mod graph;
mod list;
mod model;

use partita_backend::cost::Profile;
use partita_backend::emit::emit;
use partita_backend::program::Meta;
use partita_backend::timeline::simulate;
use partita_ir::entity::{OpId, ValueId};
use partita_ir::ops::{MachineOp, OpKind};
use partita_ir::{Func, Space};
use partita_isa::{Engine, Target, UpdateMode, WaitMode};

pub use check::{Fault, check};
use graph::Graph;
use list::Order;
use model::Model;

use crate::place::place;
use crate::scratch::SCRATCH_BYTES;
use crate::sync::sync;

/// A scheduled function, and the end of its last item in picoseconds before and after: by the simulation, or for a
/// large function by the model.
#[derive(Debug)]
pub struct Scheduled {
    pub func: Func,
    pub before: u64,
    pub after: u64,
    /// Words and transfers that stand elsewhere than before.
    pub moved: u64,
    /// Words that run on another engine than before.
    pub taken_over: u64,
}

/// Shares of the room, in per cent, for which an order is tried until its tiles can be placed.
const ROOMS: [u64; 3] = [96, 85, 70];

/// Functions of at most so many words and transfers are simulated in each order that is tried; of larger ones the
/// model's word is taken.
const SIMULATED: usize = 1 << 12;

/// How long before its use a load starts at most, in picoseconds, in the order that saves bandwidth.
const HORIZON: u64 = 4_000_000;

/// Schedules a function of the tile dialect. One whose author has ordered it by semaphores stays as it is.
pub fn schedule(func: &Func, target: &Target) -> Scheduled {
    let unchanged =
        |before| Scheduled { func: func.clone(), before, after: before, moved: 0, taken_over: 0 };
    if func.body_ops().any(|(_, op)| has_events(&op.kind)) {
        return unchanged(0);
    }
    let graph = graph::graph(func);
    let Some(model) = Model::new(func, &graph, target) else { return unchanged(0) };
    let small = graph.node_count() <= SIMULATED;
    let in_order = list::in_order(&graph, &model).makespan;
    let of_program = || simulated(&place(func, target).ok()?, target);
    let before = if small { of_program() } else { None }.unwrap_or(in_order);
    let mut best = unchanged(before);
    let horizons: &[Option<u64>] = if small { &[None, Some(HORIZON)] } else { &[None] };
    for &horizon in horizons {
        let Some((order, [scheduled, placed])) = placeable(func, &graph, &model, target, horizon)
        else {
            continue;
        };
        let after = match small {
            true => simulated(&placed, target),
            false => Some(order.makespan),
        };
        if let Some(after) = after.filter(|&after| after < best.after) {
            let places = order.nodes.iter().enumerate();
            let moved = places.filter(|(at, node)| *at as u32 != **node).count() as u64;
            let taken_over = order.taken_over.len() as u64;
            best = Scheduled { func: scheduled, before, after, moved, taken_over };
        }
    }
    best
}

/// The order with the most room whose tiles can be placed; the function in it, without addresses and with them.
fn placeable(
    func: &Func,
    graph: &Graph,
    model: &Model,
    target: &Target,
    horizon: Option<u64>,
) -> Option<(Order, [Func; 2])> {
    let room = target.generation.sbuf_usable().saturating_sub(SCRATCH_BYTES);
    ROOMS.iter().find_map(|share| {
        let order = list::list(func, graph, model, room * share / 100, horizon);
        let scheduled = reordered(func, graph, &order);
        debug_assert_eq!(check(func, &scheduled), Ok(()));
        let placed = place(&scheduled, target).ok()?;
        Some((order, [scheduled, placed]))
    })
}

/// The makespan of the program that a placed function becomes, in picoseconds.
fn simulated(placed: &Func, target: &Target) -> Option<u64> {
    let ordered = sync(placed, target).ok()?;
    let program = emit(&ordered, *target, Meta::default()).ok()?;
    let profile = Profile::of(target.generation);
    simulate(&program, profile).ok().map(|timeline| timeline.makespan_ps)
}

/// True of an operation that waits for or signals something.
pub fn has_events(kind: &OpKind) -> bool {
    match kind {
        OpKind::Machine(MachineOp::Inst(inst)) => {
            let events = &inst.inst.events;
            events.wait_mode != WaitMode::None.code()
                || events.update_mode != UpdateMode::None.code()
        }
        OpKind::Machine(MachineOp::Dma(dma)) => {
            !dma.desc.waits.is_empty() || dma.desc.update.is_some()
        }
        _ => false,
    }
}

/// The function in another order: buffers in main memory first, each tile on the chip before its first use.
fn reordered(func: &Func, graph: &Graph, order: &Order) -> Func {
    let mut out = func.clone();
    let mut homes: Vec<Option<OpId>> = vec![None; func.values.len()];
    let (mut body, mut rest) = (Vec::with_capacity(func.body.len()), Vec::new());
    for (id, op) in func.body_ops() {
        match &op.kind {
            OpKind::Machine(MachineOp::Alloc { .. } | MachineOp::Constant { .. }) => {
                match op.result().filter(|&value| on_chip(func, value)) {
                    Some(value) => homes[value.index()] = Some(id),
                    None => body.push(id),
                }
            }
            OpKind::Machine(_) => {}
            _ => rest.push(id),
        }
    }
    for &(node, queue) in &order.taken_over {
        let node = graph.node_weight(petgraph::graph::NodeIndex::new(node as usize));
        if let (Some(node), Some(&engine)) = (node, Engine::ALL.get(queue))
            && let OpKind::Machine(MachineOp::Inst(inst)) = &mut out.ops[node.op].kind
        {
            inst.engine = Some(engine);
        }
    }
    for &node in &order.nodes {
        let Some(node) = graph.node_weight(petgraph::graph::NodeIndex::new(node as usize)) else {
            continue;
        };
        body.extend(node.tiles.iter().filter_map(|value| homes[value.index()].take()));
        body.push(node.op);
    }
    // Tiles that nothing names.
    body.extend(homes.into_iter().flatten());
    body.extend(rest);
    out.body = body;
    out
}

/// True of a tile outside main memory.
fn on_chip(func: &Func, value: ValueId) -> bool {
    func.ty(value).as_tile().is_some_and(|ty| ty.space != Space::Hbm)
}
