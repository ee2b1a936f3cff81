//! Windows: a stretch of a function into an e-graph and back.

use std::collections::hash_map::Entry;
use std::time::Duration;

use egg::{Id, Language as _, Rewrite, Runner, SimpleScheduler, StopReason};
use partita_ir::{Func, OpId, OpKind, Operand, TensorOp, TensorType, ValueId};
use partita_isa::Target;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::cost::Prices;
use super::extract::{self, Candidate, Class, Extraction};
use super::graph::{Facts, Graph};
use super::language::{EntryKind, Head, Node, Slot};
use super::report;
use super::{FuseError, FuseOptions, FuseStats};
use crate::canonicalize::constant;
use crate::remark::Remark;
use crate::rewrite::Fuel;

/// Operations of a window.
const WINDOW: usize = 256;

/// Operations at the end of what a window made that go into the next one as well, so that
/// no chain is cut in two.
const MAX_WAITING: usize = 32;

/// Never reached: limits are on nodes and iterations.
const TIME_LIMIT: Duration = Duration::from_secs(3600);

/// A function on its way through the windows.
pub(super) struct Work {
    pub func: Func,
    prices: Prices,
    target: Target,
    options: FuseOptions,
    /// What is left to do, and what waits from the window before.
    rest: std::vec::IntoIter<OpId>,
    waiting: Vec<OpId>,
    /// Uses of each value by operations that are not yet in the body.
    uses: Vec<u32>,
    replaced: Vec<Option<ValueId>>,
    body: Vec<OpId>,
    remarks: Vec<Remark>,
    stats: FuseStats,
    fuel: Fuel,
    /// The e-graphs, if somebody wants to see them.
    pub views: Option<Vec<super::view::EGraphView>>,
}

/// An operation of the window in the graph.
pub(super) struct Placed {
    pub op: OpId,
    pub result: ValueId,
    pub node: Node,
    pub class: Id,
}

/// A saturated window with the choice made.
pub(super) struct Window {
    pub prices: Prices,
    pub graph: Graph,
    /// Its operations in order.
    pub placed: Vec<Placed>,
    /// Positions of classes in extraction.
    pub positions: FxHashMap<Id, usize>,
    pub classes: Vec<Class>,
    /// The nodes of each class, beside `classes`.
    pub nodes: Vec<Vec<Node>>,
    pub extraction: Extraction,
}

impl Window {
    /// The node chosen for a class, by position.
    pub fn chosen(&self, class: usize) -> Option<&Node> {
        self.nodes.get(class)?.get((*self.extraction.choice.get(class)?)?)
    }

    /// What a node costs by itself.
    pub fn price(&self, node: &Node) -> u64 {
        price(&self.prices, &self.graph, node)
    }

    /// The position of a class.
    pub fn position(&self, class: Id) -> Option<usize> {
        self.positions.get(&self.graph.find(class)).copied()
    }
}

/// The cost of a node under its operands' types.
fn price(prices: &Prices, graph: &Graph, node: &Node) -> u64 {
    let Some(entry) = graph.analysis.table.entry(node) else { return 0 };
    let Some(op) = entry.op() else { return 0 };
    let EntryKind::Op { slots, .. } = &entry.kind else { return 0 };
    let mut children = node.children.iter();
    let ty = |slot: &Slot| match slot {
        Slot::Literal(_) => None,
        Slot::Child => graph[*children.next()?].data.as_ref().map(|fact| &fact.ty),
    };
    let types: SmallVec<[Option<&TensorType>; 3]> = slots.iter().map(ty).collect();
    prices.op(op, &types, &entry.ty)
}

impl Work {
    pub fn new(func: &Func, target: &Target, options: &FuseOptions, fuel: Fuel) -> Self {
        Self {
            prices: Prices::of(target),
            target: *target,
            options: *options,
            rest: func.body.clone().into_iter(),
            waiting: Vec::new(),
            uses: func.use_counts(),
            replaced: vec![None; func.values.len()],
            body: Vec::with_capacity(func.body.len()),
            remarks: Vec::new(),
            stats: FuseStats::default(),
            fuel,
            views: None,
            func: func.clone(),
        }
    }

    pub fn finish(mut self) -> (Func, Vec<Remark>, FuseStats, Fuel) {
        self.func.body = self.body;
        self.stats.rewrites = self.fuel.made;
        (self.func, self.remarks, self.stats, self.fuel)
    }

    /// Takes the next window; false when nothing is left.
    pub fn fuse_window(&mut self, rewrites: &[Rewrite<Node, Facts>]) -> Result<bool, FuseError> {
        let mut ops = std::mem::take(&mut self.waiting);
        while ops.len() < WINDOW {
            let Some(id) = self.rest.next() else { break };
            match self.func.ops.get(id).map(|op| &op.kind) {
                Some(OpKind::Tensor(_)) => ops.push(id),
                _ => {
                    // What is no operation on tensors ends the window.
                    self.fuse_ops(&ops, rewrites)?;
                    ops.clear();
                    self.redirect(id);
                    self.body.push(id);
                }
            }
        }
        if ops.is_empty() {
            return Ok(false);
        }
        let start = self.body.len();
        self.fuse_ops(&ops, rewrites)?;
        if self.rest.len() > 0 {
            self.hold_back(start);
        }
        Ok(true)
    }

    /// Takes the last operations that the window made out of the body again, so that they
    /// meet what comes next.
    fn hold_back(&mut self, start: usize) {
        let made = self.body.len().saturating_sub(start);
        self.waiting = self.body.split_off(self.body.len() - made.min(MAX_WAITING));
        self.uses.resize(self.func.values.len(), 0);
        for &id in &self.waiting {
            for value in self.func.ops[id].value_operands() {
                if let Some(uses) = self.uses.get_mut(value.index()) {
                    *uses += 1;
                }
            }
        }
    }

    /// Makes an operation read what now stands for its operands.
    fn redirect(&mut self, id: OpId) {
        let replaced = &self.replaced;
        for operand in &mut self.func.ops[id].operands {
            if let Operand::Value(value) = operand
                && let Some(new) = replaced.get(value.index()).copied().flatten()
            {
                *operand = Operand::Value(new);
            }
        }
    }

    fn fuse_ops(
        &mut self,
        ops: &[OpId],
        rewrites: &[Rewrite<Node, Facts>],
    ) -> Result<(), FuseError> {
        if ops.is_empty() {
            return Ok(());
        }
        self.replaced.resize(self.func.values.len(), None);
        for &id in ops {
            self.redirect(id);
        }
        let mut placed = Vec::with_capacity(ops.len());
        let graph = self.graph(ops, &mut placed)?;
        let mut runner = Runner::<Node, Facts, ()>::new(Facts::default())
            .with_egraph(graph)
            .with_scheduler(SimpleScheduler)
            .with_iter_limit(self.options.iter_limit)
            .with_node_limit(self.options.node_limit)
            .with_time_limit(TIME_LIMIT)
            .run(rewrites);
        match runner.stop_reason {
            Some(StopReason::TimeLimit(_)) => return Err(FuseError::TimeLimit),
            Some(StopReason::Saturated) => {}
            _ => self.stats.limited += 1,
        }
        if let Some(fault) = runner.egraph.analysis.fault.take() {
            return Err(FuseError::Unsound(fault));
        }
        let roots = self.roots(&runner.egraph, &placed);
        let window = self.choose(runner.egraph, placed, &roots)?;
        self.remarks.extend(report::remarks(&self.func, self.options.pass(), &window));
        if let Some(views) = &mut self.views {
            views.push(super::view::EGraphView::of(&self.func, &window));
        }
        self.stats.windows += 1;
        self.stats.nodes = self.stats.nodes.max(window.graph.total_size() as u64);
        self.stats.cost_before =
            self.stats.cost_before.saturating_add(window.extraction.input_cost);
        self.stats.cost_after = self.stats.cost_after.saturating_add(window.extraction.cost);
        self.fuel = window.graph.analysis.fuel.clone();
        self.rebuild(&window).ok_or_else(|| FuseError::NoForm(self.func.name.clone()))
    }

    /// The operations of a window as an e-graph.
    fn graph(&self, ops: &[OpId], placed: &mut Vec<Placed>) -> Result<Graph, FuseError> {
        let no_form = || FuseError::NoForm(self.func.name.clone());
        let tensor_ty = |value| self.func.tensor_ty(value).cloned().ok_or_else(no_form);
        let mut graph =
            Graph::new(Facts::new(&self.target, self.fuel.clone(), self.options.words_only));
        let mut class_of: FxHashMap<ValueId, Id> = FxHashMap::default();
        for &op_id in ops {
            let op = &self.func.ops[op_id];
            let (Some(kind), Some(result)) = (op.as_tensor(), op.result()) else {
                return Err(no_form());
            };
            for value in op.value_operands() {
                if let Entry::Vacant(slot) = class_of.entry(value) {
                    slot.insert(self.add_leaf(&mut graph, value, tensor_ty(value)?).1);
                }
            }
            let ty = tensor_ty(result)?;
            let (node, class) = match kind {
                // Large data stays where it is.
                TensorOp::Constant(_) => self.add_leaf(&mut graph, result, ty),
                _ => {
                    let class = |value: ValueId| class_of.get(&value).copied();
                    let node = graph.analysis.table.op(kind.clone(), &op.operands, ty, class);
                    let node = node.ok_or_else(no_form)?;
                    (node.clone(), graph.add(node))
                }
            };
            class_of.insert(result, class);
            let name = &self.func.values[result].name;
            graph.analysis.names.entry(class).or_insert_with(|| name.to_string());
            placed.push(Placed { op: op_id, result, node, class });
        }
        Ok(graph)
    }

    fn add_leaf(&self, graph: &mut Graph, value: ValueId, ty: TensorType) -> (Node, Id) {
        if let Some(bits) = constant(&self.func, value).and_then(|data| data.splat_bits()) {
            graph.analysis.splats.insert(value, bits);
        }
        let leaf = graph.analysis.table.leaf(value, ty);
        (leaf.clone(), graph.add(leaf))
    }

    /// Classes of values that are needed outside the window, in program order.
    fn roots(&mut self, graph: &Graph, placed: &[Placed]) -> Vec<Id> {
        for placed in placed {
            for value in self.func.ops[placed.op].value_operands() {
                if let Some(uses) = self.uses.get_mut(value.index()) {
                    *uses = uses.saturating_sub(1);
                }
            }
        }
        let outside =
            |placed: &&Placed| self.uses.get(placed.result.index()).is_some_and(|&uses| uses > 0);
        placed.iter().filter(outside).map(|placed| graph.find(placed.class)).collect()
    }

    fn choose(&self, graph: Graph, placed: Vec<Placed>, roots: &[Id]) -> Result<Window, FuseError> {
        let mut ids: Vec<Id> = graph.classes().map(|class| class.id).collect();
        ids.sort_unstable();
        let positions: FxHashMap<Id, usize> =
            ids.iter().enumerate().map(|(at, &id)| (id, at)).collect();
        let canonical = |node: &Node| node.clone().map_children(|child| graph.find(child));
        let mut inputs: FxHashMap<Node, u32> = FxHashMap::default();
        for (place, placed) in (1..).zip(&placed) {
            inputs.entry(canonical(&placed.node)).or_insert(place);
        }
        let candidate = |node: &Node| Candidate {
            children: node
                .children
                .iter()
                .filter_map(|child| positions.get(child).copied())
                .collect(),
            cost: price(&self.prices, &graph, node),
            input: if node.head == Head::Leaf { Some(0) } else { inputs.get(node).copied() },
        };
        let mut classes = Vec::with_capacity(ids.len());
        let mut nodes = Vec::with_capacity(ids.len());
        for &id in &ids {
            let mut members: Vec<Node> = Vec::with_capacity(graph[id].nodes.len());
            for node in &graph[id].nodes {
                let node = canonical(node);
                if !members.contains(&node) {
                    members.push(node);
                }
            }
            classes.push(Class { nodes: members.iter().map(candidate).collect() });
            nodes.push(members);
        }
        let roots: Vec<usize> =
            roots.iter().filter_map(|root| positions.get(root).copied()).collect();
        let extraction = extract::extract(&classes, &roots)
            .map_err(|_| FuseError::NoForm(self.func.name.clone()))?;
        Ok(Window { prices: self.prices, graph, placed, positions, classes, nodes, extraction })
    }

    /// Puts the chosen form into the body. An operation of the program stays in its
    /// place with its name, whatever it becomes; others are made before their first
    /// user. `None` when the choice has a gap.
    fn rebuild(&mut self, window: &Window) -> Option<()> {
        let mut needed = vec![false; window.classes.len()];
        for &class in &window.extraction.order {
            needed[class] = true;
        }
        let mut owners: Vec<SmallVec<[&Placed; 1]>> = vec![SmallVec::new(); window.classes.len()];
        let mut wanted = Vec::new();
        for placed in &window.placed {
            let class = window.position(placed.class)?;
            owners[class].push(placed);
            if needed[class] {
                wanted.push(class);
            }
        }
        let mut values: Vec<Option<ValueId>> = vec![None; window.classes.len()];
        for class in extract::order(&window.classes, &window.extraction.choice, &wanted)? {
            let owner = owners[class].first().copied();
            let node = window.chosen(class)?;
            let entry = window.graph.analysis.table.entry(node)?;
            let value = match &entry.kind {
                EntryKind::Leaf(value) => {
                    // A constant of the window is a leaf that has to be placed.
                    if let Some(own) = owners[class].iter().find(|placed| placed.result == *value) {
                        self.body.push(own.op);
                    }
                    *value
                }
                EntryKind::Op { op, slots } => {
                    let mut children = node.children.iter();
                    let operand = |slot: &Slot| match slot {
                        Slot::Literal(literal) => Some(Operand::Literal(*literal)),
                        Slot::Child => values
                            .get(window.position(*children.next()?)?)
                            .copied()?
                            .map(Operand::Value),
                    };
                    let operands =
                        slots.iter().map(operand).collect::<Option<SmallVec<[Operand; 3]>>>()?;
                    match owner {
                        Some(owner) => {
                            let slot = &mut self.func.ops[owner.op];
                            slot.kind = OpKind::Tensor(op.clone());
                            slot.operands = operands;
                            self.body.push(owner.op);
                            owner.result
                        }
                        None => {
                            let hint = op.kind_name().name().to_owned();
                            let made = self.func.make_op(
                                op.clone(),
                                operands,
                                [(hint, entry.ty.clone().into())],
                            );
                            self.body.push(made);
                            self.func.ops[made].result()?
                        }
                    }
                }
            };
            values[class] = Some(value);
            for other in &owners[class] {
                if other.result != value {
                    *self.replaced.get_mut(other.result.index())? = Some(value);
                }
            }
        }
        Some(())
    }
}
