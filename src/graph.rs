//! Programs as graphs, for pictures: operations with the values between them, words with what each must follow.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use partita::ir::entity::{OpId, ValueId};
use partita::ir::ops::{MachineOp, OpKind};
use partita::ir::{Func, Source, TensorOp};
use partita::isa::Target;
use partita::passes::pass::Dialect;
use partita::passes::sync::data_dependences;
use serde::Serialize;

use crate::failure::{Failure, Outcome};

/// What a node stands for; pictures colour by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Argument,
    Constant,
    Elementwise,
    Fold,
    Movement,
    Word,
    Transfer,
    Result,
}

/// The kind of a tensor operation.
fn kind_of(op: &TensorOp) -> Kind {
    use TensorOp::*;
    match op {
        Constant(_) | Iota { .. } => Kind::Constant,
        Reduce { .. } | PartitionReduce { .. } | TransposeReduce { .. } | ScanCache { .. } => {
            Kind::Fold
        }
        Transpose { .. }
        | TransposePair { .. }
        | Broadcast { .. }
        | Reshape
        | Slice { .. }
        | Concat { .. }
        | Pad { .. }
        | Reverse { .. } => Kind::Movement,
        Elementwise(_) | Pair { .. } | Cast | Wrap | ToInt | Bitcast => Kind::Elementwise,
    }
}

/// A node: a short label, and the whole text of what it stands for.
#[derive(Clone, Debug)]
pub struct Node {
    pub label: String,
    /// The type of its value, or the queue that it is in.
    pub note: String,
    pub text: String,
    pub kind: Kind,
    /// Line of the source, from 1.
    pub line: Option<usize>,
    /// The queue of a word or transfer.
    pub queue: Option<String>,
}

/// An arrow between nodes, by number; its label is the value that flows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub label: String,
}

/// A graph without circles: arrows lead to later nodes.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub name: String,
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
}

/// The most characters of an operation's text that a node shows on demand.
const TEXT: usize = 400;

/// A text of at most so many characters.
pub fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Operations and the values between them. Between instructions, what flows are the bytes of tiles: an arrow leads from
/// the last that wrote a tile to each that names it, and once addresses are absolute, from the last that touched a byte.
///
/// # Errors
/// An instruction has no engine although addresses are absolute.
pub fn of_func(func: &Func, target: &Target, source: Option<&Source>) -> Outcome<Graph> {
    match Dialect::of(func) {
        Dialect::Tensor => Ok(Builder::new(func, source).tensor()),
        Dialect::Tile => Ok(Builder::new(func, source).tile()),
        Dialect::Tpb => dependences(func, target, source),
    }
}

/// Words and transfers, and for each the last of every queue that it must follow.
///
/// # Errors
/// The function is of another dialect; an instruction has no engine.
pub fn dependences(func: &Func, target: &Target, source: Option<&Source>) -> Outcome<Graph> {
    if Dialect::of(func) != Dialect::Tpb {
        return Err(Failure::Message(format!(
            "@{} has no words yet: its dependences are known after the passes place or sync",
            func.name
        )));
    }
    let needs =
        data_dependences(func, target).map_err(|found| Failure::Diagnostics(None, found))?;
    let mut builder = Builder::new(func, source);
    for (id, op) in func.body_ops() {
        if matches!(op.kind, OpKind::Machine(MachineOp::Inst(_) | MachineOp::Dma(_))) {
            builder.machine(id);
        }
    }
    for (to, needs) in needs.into_iter().enumerate() {
        builder.graph.edges.extend(needs.into_iter().map(|from| Edge {
            from,
            to,
            label: String::new(),
        }));
    }
    Ok(builder.graph)
}

struct Builder<'a> {
    func: &'a Func,
    source: Option<&'a Source>,
    graph: Graph,
}

impl<'a> Builder<'a> {
    fn new(func: &'a Func, source: Option<&'a Source>) -> Self {
        Self { func, source, graph: Graph { name: func.name.clone(), ..Graph::default() } }
    }

    fn add(&mut self, node: Node) -> usize {
        self.graph.nodes.push(node);
        self.graph.nodes.len() - 1
    }

    fn line(&self, op: OpId) -> Option<usize> {
        let span = self.func.spans.op(op)?.whole;
        let source = self.source.filter(|_| !span.is_none())?;
        Some(source.line_column(span.start as usize).0)
    }

    fn value(&self, value: ValueId) -> String {
        format!("%{}: {}", self.func.values[value].name, self.func.ty(value))
    }

    fn argument(&mut self, value: ValueId) -> usize {
        let name = format!("%{}", self.func.values[value].name);
        let note = self.func.ty(value).to_string();
        let text = self.value(value);
        self.add(Node { label: name, note, text, kind: Kind::Argument, line: None, queue: None })
    }

    fn result(&mut self, index: usize, value: ValueId) -> usize {
        let (label, note) = (format!("result {index}"), self.func.ty(value).to_string());
        let text = format!("returns {}", self.value(value));
        self.add(Node { label, note, text, kind: Kind::Result, line: None, queue: None })
    }

    fn tensor(mut self) -> Graph {
        let mut makers: BTreeMap<ValueId, usize> = BTreeMap::new();
        for &arg in &self.func.args {
            let node = self.argument(arg);
            makers.insert(arg, node);
        }
        for (id, op) in self.func.body_ops() {
            let Some(kind) = op.as_tensor() else { continue };
            let whole = clipped(&self.func.op_text(id), TEXT);
            let node = Node {
                label: call_of(&whole),
                note: op.result().map(|value| self.func.ty(value).to_string()).unwrap_or_default(),
                text: whole,
                kind: kind_of(kind),
                line: self.line(id),
                queue: None,
            };
            let to = self.add(node);
            self.arrows(op.value_operands(), &makers, to);
            makers.extend(op.results.iter().map(|&value| (value, to)));
        }
        self.results(&makers)
    }

    fn tile(mut self) -> Graph {
        let mut writers: BTreeMap<ValueId, usize> = BTreeMap::new();
        for &arg in &self.func.args {
            let node = self.argument(arg);
            writers.insert(arg, node);
        }
        for (id, op) in self.func.body_ops() {
            let OpKind::Machine(machine) = &op.kind else { continue };
            if matches!(machine, MachineOp::Alloc { .. } | MachineOp::Constant { .. }) {
                if matches!(machine, MachineOp::Constant { .. })
                    && let Some(value) = op.result()
                {
                    let node = self.argument(value);
                    self.graph.nodes[node].kind = Kind::Constant;
                    writers.insert(value, node);
                }
                continue;
            }
            let to = self.machine(id);
            self.arrows(op.value_operands(), &writers, to);
            let written = op.tiles().filter(|(field, _)| field.starts_with("dst"));
            writers.extend(written.map(|(_, value)| (value, to)));
        }
        self.results(&writers)
    }

    fn results(mut self, makers: &BTreeMap<ValueId, usize>) -> Graph {
        for (index, value) in self.func.returned().enumerate() {
            let to = self.result(index, value);
            self.arrows([value].into_iter(), makers, to);
        }
        self.graph
    }

    fn arrows(
        &mut self,
        values: impl Iterator<Item = ValueId>,
        makers: &BTreeMap<ValueId, usize>,
        to: usize,
    ) {
        for value in values {
            let Some(&from) = makers.get(&value) else { continue };
            let edge = Edge { from, to, label: format!("%{}", self.func.values[value].name) };
            if !self.graph.edges.iter().rev().take_while(|e| e.to == to).any(|e| *e == edge) {
                self.graph.edges.push(edge);
            }
        }
    }

    /// A word or a transfer.
    fn machine(&mut self, id: OpId) -> usize {
        let op = &self.func.ops[id];
        let text = clipped(&self.func.op_text(id), TEXT);
        let (label, queue, kind) = match &op.kind {
            OpKind::Machine(MachineOp::Inst(inst)) => {
                let name = inst.inst.opcode().map_or("unknown", |opcode| opcode.mnemonic());
                (name.to_owned(), inst.engine.map(|engine| engine.to_string()), Kind::Word)
            }
            OpKind::Machine(MachineOp::Dma(dma)) => {
                let (from, to) = (dma.desc.src.space, dma.desc.dst.space);
                let queue = format!("dma queue {}", dma.desc.queue);
                (format!("{from} to {to}"), Some(queue), Kind::Transfer)
            }
            _ => (op.kind.name().to_owned(), None, Kind::Word),
        };
        let from = op.loc.as_deref().map(|loc| format!("%{loc}"));
        let note = match (&queue, from) {
            (Some(queue), Some(from)) => format!("{queue}, {from}"),
            (queue, from) => queue.clone().or(from).unwrap_or_default(),
        };
        let line = self.line(id);
        self.add(Node { label, note, text, kind, line, queue })
    }
}

/// `reduce add(%x) dims [1]` of `%y = tensor.reduce add(%x) dims [1] : T`.
fn call_of(text: &str) -> String {
    let call = text.split_once(" = ").map_or(text, |(_, call)| call);
    let call = call.rsplit_once(" : ").map_or(call, |(call, _)| call);
    call.strip_prefix("tensor.").unwrap_or(call).to_owned()
}

/// The graphs in the language of Graphviz. Words are grouped by their queues.
pub fn dot(graphs: &[Graph]) -> String {
    let mut out = String::from("digraph {\n  node [shape=box, fontname=monospace];\n");
    for (number, graph) in graphs.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  subgraph cluster_{number} {{\n    label={};", quoted(&graph.name));
        let mut queues: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, node) in graph.nodes.iter().enumerate() {
            let label = quoted(&format!("{}\n{}", node.label, node.note));
            let (tip, shape) = (quoted(&node.text), shape(node.kind));
            let _ = writeln!(out, "    n{number}_{index} [label={label}, tooltip={tip}{shape}];");
            if let Some(queue) = &node.queue {
                queues.entry(queue).or_default().push(index);
            }
        }
        for edge in &graph.edges {
            let (from, to) = (edge.from, edge.to);
            let label = match edge.label.is_empty() {
                true => String::new(),
                false => format!(" [label={}]", quoted(&edge.label)),
            };
            let _ = writeln!(out, "    n{number}_{from} -> n{number}_{to}{label};");
        }
        for members in queues.values() {
            let chain: Vec<String> =
                members.iter().map(|member| format!("n{number}_{member}")).collect();
            if chain.len() > 1 {
                let _ = writeln!(out, "    {} [style=dashed, color=gray];", chain.join(" -> "));
            }
        }
        out.push_str("  }\n");
    }
    out.push_str("}\n");
    out
}

fn shape(kind: Kind) -> &'static str {
    match kind {
        Kind::Argument | Kind::Result => ", shape=ellipse",
        Kind::Constant => ", shape=note",
        Kind::Movement | Kind::Transfer => ", style=rounded",
        Kind::Elementwise | Kind::Fold | Kind::Word => "",
    }
}

/// A string of the language of Graphviz, whose escapes are the backslash and the quote.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
