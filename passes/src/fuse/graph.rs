//! The e-graph of a window: its analysis, and the bridge from rules to egg.

use egg::{
    Analysis, Applier, DidMerge, EGraph, Id, Language as _, PatternAst, Rewrite, SearchMatches,
    Searcher, Subst, Symbol, Var,
};
use partita_ir::ops::TensorOpName;
use partita_ir::{Func, TensorType, ValueId};
use partita_isa::Target;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::language::{Head, Node, Table};
use super::rules::{Draft, Link, Refusal, Rule};
use crate::rewrite::Fuel;

/// The e-graph of a window.
pub type Graph = EGraph<Node, Facts>;

/// What is known of every value of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    pub ty: TensorType,
    /// The bits that every element has, of a constant.
    pub splat: Option<u64>,
}

/// Nodes of a chain, and for each the place among its children of the next.
type Chain = SmallVec<[(Node, Option<usize>); 2]>;

/// What an operation of a chain reads: see [`Link`].
type Reads = SmallVec<[Option<usize>; 3]>;

/// A rule that fitted somewhere.
#[derive(Clone, Debug)]
pub struct Application {
    /// Number of the rule.
    pub rule: usize,
    /// A class at the time; find it again.
    pub class: Id,
    /// What the chain that fitted reads.
    pub inputs: SmallVec<[Id; 2]>,
    /// What the rule made, the operation of the result last.
    pub made: Vec<Node>,
}

/// A rule that fitted but was refused.
#[derive(Clone, Debug)]
pub struct Refused {
    pub rule: usize,
    pub class: Id,
    pub refusal: Refusal,
}

/// The analysis, with the record of what the rules did.
#[derive(Debug, Default)]
pub struct Facts {
    pub table: Table,
    pub target: Target,
    /// Known splats of leaves, by value.
    pub splats: rustc_hash::FxHashMap<ValueId, u64>,
    /// A name of the value of a class, as the program has it.
    pub names: rustc_hash::FxHashMap<Id, String>,
    pub applied: Vec<Application>,
    pub refused: Vec<Refused>,
    pub fuel: Fuel,
    /// Every operation made is one that words do exactly.
    pub words_only: bool,
    /// Why the graph cannot be trusted.
    pub fault: Option<String>,
    /// The rule at work.
    current: &'static str,
    /// Chains that every rule about them has seen.
    done: FxHashSet<Chain>,
    /// What the rule before left.
    draft: Option<Draft>,
}

impl Analysis<Node> for Facts {
    type Data = Option<Fact>;

    fn make(graph: &mut Graph, node: &Node, _: Id) -> Self::Data {
        let facts = &graph.analysis;
        let entry = facts.table.entry(node)?;
        let splat = match &entry.kind {
            super::language::EntryKind::Leaf(value) => facts.splats.get(value).copied(),
            super::language::EntryKind::Op { .. } => None,
        };
        Some(Fact { ty: entry.ty.clone(), splat })
    }

    /// The join of two facts. Equal values have equal types: a rule that unites
    /// others is wrong, and is named.
    fn merge(&mut self, a: &mut Self::Data, b: Self::Data) -> DidMerge {
        let (Some(left), Some(right)) = (a.as_mut(), b) else { return DidMerge(false, false) };
        if left.ty != right.ty {
            self.fail(format!("it unites {} and {}", left.ty, right.ty));
        }
        if let (Some(x), Some(y)) = (left.splat, right.splat)
            && x != y
        {
            self.fail(format!("it unites constants of the bits {x:#x} and {y:#x}"));
        }
        let (had, gets) = (left.splat.is_some(), right.splat.is_some());
        left.splat = left.splat.or(right.splat);
        DidMerge(!had && gets, had && !gets)
    }
}

impl Facts {
    pub fn new(target: &Target, fuel: Fuel, words_only: bool) -> Self {
        Self { target: *target, fuel, words_only, ..Self::default() }
    }

    fn fail(&mut self, what: String) {
        self.fault.get_or_insert_with(|| format!("rule `{}`: {what}", self.current));
    }
}

/// Rules about the same kinds of operations, as egg sees them: every class with a node of the first kind is looked at,
/// and the applier finds what fits there.
#[derive(Clone)]
struct Bridge {
    chain: &'static [TensorOpName],
    /// With their numbers.
    rules: Vec<(usize, &'static Rule)>,
}

impl Bridge {
    fn head(&self) -> Head {
        self.chain.first().map_or(Head::Leaf, |&kind| Head::Op(kind))
    }
}

/// The rules in the form that egg takes, in the order of the first of each kind.
pub fn rewrites(rules: impl Iterator<Item = (usize, &'static Rule)>) -> Vec<Rewrite<Node, Facts>> {
    let mut bridges: Vec<Bridge> = Vec::new();
    for (number, rule) in rules {
        match bridges.iter_mut().find(|bridge| bridge.chain == rule.chain) {
            Some(bridge) => bridge.rules.push((number, rule)),
            None => bridges.push(Bridge { chain: rule.chain, rules: vec![(number, rule)] }),
        }
    }
    // Neither side has variables, so nothing can be unbound.
    let rewrite = |bridge: Bridge| {
        let name = bridge.rules.first().map_or("", |(_, rule)| rule.name);
        Rewrite::new(name, bridge.clone(), bridge).ok()
    };
    bridges.into_iter().filter_map(rewrite).collect()
}

impl Searcher<Node, Facts> for Bridge {
    fn search_eclass_with_limit(
        &self,
        graph: &Graph,
        class: Id,
        _: usize,
    ) -> Option<SearchMatches<'_, Node>> {
        let head = self.head();
        let fits = graph[class].nodes.iter().any(|node| node.head == head);
        fits.then(|| SearchMatches {
            eclass: class,
            substs: vec![Subst::with_capacity(0)],
            ast: None,
        })
    }

    fn search_with_limit(&self, graph: &Graph, limit: usize) -> Vec<SearchMatches<'_, Node>> {
        let Some(classes) = graph.classes_for_op(&self.head()) else {
            return Vec::new();
        };
        let mut classes: Vec<Id> = classes.collect();
        classes.sort_unstable();
        classes
            .into_iter()
            .filter_map(|class| self.search_eclass_with_limit(graph, class, limit))
            .collect()
    }

    fn vars(&self) -> Vec<Var> {
        Vec::new()
    }
}

impl Applier<Node, Facts> for Bridge {
    fn apply_one(
        &self,
        graph: &mut Graph,
        class: Id,
        _: &Subst,
        _: Option<&PatternAst<Node>>,
        _: Symbol,
    ) -> Vec<Id> {
        let mut chains = Vec::new();
        find_chains(graph, class, self.chain, &mut SmallVec::new(), &mut chains);
        let mut changed = Vec::new();
        for chain in chains {
            if graph.analysis.fuel.is_empty() || !graph.analysis.done.insert(chain.clone()) {
                continue;
            }
            let (inputs, reads) = inputs_of(&chain);
            for &(number, rule) in &self.rules {
                if graph.analysis.fuel.is_empty() {
                    break;
                }
                let mut draft = graph.analysis.draft.take();
                let made = route(graph, rule, &chain, &inputs, &reads, &mut draft);
                graph.analysis.draft = draft;
                match made {
                    Ok(route) => {
                        let fit = Fit { number, rule, class, inputs: &inputs };
                        changed.extend(fit.unite(graph, &route));
                    }
                    Err(Refusal::NoMatch) => {}
                    Err(refusal) => {
                        graph.analysis.refused.push(Refused { rule: number, class, refusal })
                    }
                }
            }
        }
        changed
    }

    fn vars(&self) -> Vec<Var> {
        Vec::new()
    }
}

/// Paths of nodes of the given kinds, each an operand of the one before.
fn find_chains(
    graph: &Graph,
    class: Id,
    kinds: &[TensorOpName],
    path: &mut Chain,
    found: &mut Vec<Chain>,
) {
    let Some((&kind, rest)) = kinds.split_first() else { return };
    for node in &graph[graph.find(class)].nodes {
        if node.head != Head::Op(kind) {
            continue;
        }
        let node = node.clone().map_children(|child| graph.find(child));
        if rest.is_empty() {
            path.push((node, None));
            found.push(path.clone());
            path.pop();
            continue;
        }
        for place in 0..node.children.len() {
            let child = node.children[place];
            // The same operand twice fits once.
            if node.children[..place].contains(&child) {
                continue;
            }
            path.push((node.clone(), Some(place)));
            find_chains(graph, child, rest, path, found);
            path.pop();
        }
    }
}

/// The classes that a chain reads, each once, and what each of its operations reads.
fn inputs_of(chain: &Chain) -> (SmallVec<[Id; 2]>, SmallVec<[Reads; 2]>) {
    let mut inputs: SmallVec<[Id; 2]> = SmallVec::new();
    let mut reads = SmallVec::new();
    for (node, next) in chain {
        let read = |(place, child): (usize, &Id)| {
            if Some(place) == *next {
                return None;
            }
            let known = inputs.iter().position(|input| input == child);
            Some(known.unwrap_or_else(|| {
                inputs.push(*child);
                inputs.len() - 1
            }))
        };
        reads.push(node.children.iter().enumerate().map(read).collect());
    }
    (inputs, reads)
}

/// What a rule makes of a chain, as a function of the chain's inputs.
fn route(
    graph: &Graph,
    rule: &Rule,
    chain: &Chain,
    inputs: &[Id],
    reads: &[Reads],
    draft: &mut Option<Draft>,
) -> Result<Func, Refusal> {
    let facts = &graph.analysis;
    let link = |((node, _), reads): (&(Node, _), &Reads)| {
        Some(Link { entry: facts.table.entry(node)?, reads: reads.clone() })
    };
    let links = chain.iter().zip(reads).map(link).collect::<Option<SmallVec<[_; 2]>>>();
    let ty = |&class: &Id| graph[class].data.as_ref().map(|fact| &fact.ty);
    let types = inputs.iter().map(ty).collect::<Option<SmallVec<[&TensorType; 2]>>>();
    let (Some(links), Some(types)) = (links, types) else { return Err(Refusal::NoMatch) };
    rule.route_in(draft, &links, &types, &facts.target, facts.words_only)
}

/// Where a rule fitted.
struct Fit<'a> {
    number: usize,
    rule: &'static Rule,
    class: Id,
    inputs: &'a SmallVec<[Id; 2]>,
}

impl Fit<'_> {
    /// Puts what was made into the graph, in the class of what it equals.
    fn unite(&self, graph: &mut Graph, route: &Func) -> Option<Id> {
        let mut classes: Vec<Option<Id>> = vec![None; route.values.len()];
        for (&arg, &input) in route.args.iter().zip(self.inputs) {
            classes[arg.index()] = Some(input);
        }
        let mut made = Vec::new();
        for (_, op) in route.body_ops() {
            let Some(result) = op.result() else { continue };
            let (kind, ty) = (op.as_tensor()?.clone(), route.tensor_ty(result)?.clone());
            let class_of = |value: ValueId| classes.get(value.index()).copied().flatten();
            let node = graph.analysis.table.op(kind, &op.operands, ty, class_of)?;
            made.push(node.clone());
            let id = graph.add(node);
            classes[result.index()] = Some(id);
        }
        let result = route.returned().next()?;
        let id = classes.get(result.index()).copied().flatten()?;
        graph.analysis.current = self.rule.name;
        if graph[id].data.as_ref().map(|fact| &fact.ty)
            != graph[self.class].data.as_ref().map(|fact| &fact.ty)
        {
            graph.analysis.fail("it gives another type".to_owned());
            return None;
        }
        let value = graph.analysis.names.get(&self.class).cloned().unwrap_or_default();
        let inputs = self.inputs.clone();
        let application = Application { rule: self.number, class: self.class, inputs, made };
        graph.analysis.applied.push(application);
        graph.analysis.fuel.spend(self.rule.name, &value);
        graph.union(self.class, id).then_some(self.class)
    }
}
