//! Fusion by equality saturation: a window of the function at a time becomes an
//! e-graph, the [`rules`] add equal forms, and the form of least modelled cost is
//! chosen (see [`extract`] and [`cost`]).
//!
//! Every operation belongs to a window, so that a large program is fused as a small
//! one is; the last operations that a window made begin the next one, so that no
//! pattern is cut in two. Limits are on nodes and iterations; the
//! result does not depend on the machine it was made on.
//!
//! The form is never dearer, under the same prices, than what [`peephole`] finds without an e-graph, unless rewrites are
//! counted.
//!
//! Function, arguments, results and the names of surviving values stay as they are.

pub mod cost;
pub mod extract;
pub mod graph;
pub mod language;
mod peephole;
mod report;
pub mod rules;
pub mod view;
mod window;

use partita_ir::Func;
use partita_isa::Target;

use crate::canonicalize::remove_dead;
use crate::remark::Remark;
use crate::rewrite::{Fuel, RewriteClass};

/// How forms are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Not at all.
    None,
    /// The first legal form that is cheaper, operation by operation in program order.
    Greedy,
    /// All forms in an e-graph, and of them the cheapest.
    #[default]
    Egg,
}

impl Mode {
    pub const ALL: [Self; 3] = [Self::None, Self::Greedy, Self::Egg];
    /// Names beside [`Mode::ALL`].
    pub const NAMES: &'static [&'static str] = &["none", "greedy", "egg"];

    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// Bounds and permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FuseOptions {
    pub mode: Mode,
    /// E-nodes of a window (egg counts every node ever made).
    pub node_limit: usize,
    /// Iterations of saturation of a window.
    pub iter_limit: usize,
    /// Rewrites to make in all, for finding a wrong one; no limit when absent.
    pub rewrite_limit: Option<u64>,
    /// Permits rules that change roundings.
    pub allow_excess_precision: bool,
    /// Permits only forms of which every operation is one that words do exactly.
    pub words_only: bool,
}

impl Default for FuseOptions {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            node_limit: 10_000,
            iter_limit: 8,
            rewrite_limit: None,
            allow_excess_precision: false,
            words_only: false,
        }
    }
}

impl FuseOptions {
    /// The name of the pass with these options.
    pub(crate) const fn pass(&self) -> &'static str {
        if self.words_only { "fuse-words" } else { "fuse" }
    }
}

/// What was done, by count; costs are picoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct FuseStats {
    pub windows: u64,
    /// Rewrites made in the e-graphs, chosen or not.
    pub rewrites: u64,
    /// Of these, those whose form was chosen.
    pub fused: u64,
    /// The largest e-graph.
    pub nodes: u64,
    /// Windows that stopped at a limit before nothing was left to do.
    pub limited: u64,
    pub cost_before: u64,
    pub cost_after: u64,
}

/// A fused function and what is to be said about it.
#[derive(Clone, Debug, Default)]
pub struct FuseResult {
    pub func: Func,
    pub remarks: Vec<Remark>,
    pub stats: FuseStats,
}

/// A rule or this pass is wrong; never the program's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FuseError {
    #[error("fusion is unsound: {0}")]
    Unsound(String),
    #[error("fusion ran into the time limit, which no program should reach")]
    TimeLimit,
    #[error("fusion found no form of a value of @{0}")]
    NoForm(String),
}

/// Fuses a verified function of the tensor dialect for a target, with no more rewrites than there is fuel for.
///
/// # Errors
/// An internal error; the function can be compiled without this pass.
pub fn fuse(
    func: &Func,
    target: &Target,
    options: &FuseOptions,
    fuel: &mut Fuel,
) -> Result<FuseResult, FuseError> {
    let own = allowance(options, fuel);
    let limited = own.left.is_some();
    let (mut found, spent) = match options.mode {
        Mode::None => return Ok(FuseResult { func: func.clone(), ..FuseResult::default() }),
        Mode::Greedy => peephole::run(func, target, options, own),
        Mode::Egg => saturate(func, target, options, own)?,
    };
    fuel.absorb(spent);
    // Where rewrites are counted, each more must only add to those before.
    if options.mode == Mode::Egg && !limited && found.stats.rewrites > 0 {
        let (other, _) = peephole::run(func, target, options, Fuel::default());
        let prices = cost::Prices::of(target);
        if other.stats.cost_after < peephole::price_of_func(&prices, &found.func) {
            found = FuseResult { func: other.func, remarks: other.remarks, stats: found.stats };
            found.stats.cost_after = other.stats.cost_after;
        }
    }
    let passed = |remark: &&Remark| remark.kind == crate::remark::RemarkKind::Passed;
    found.stats.fused = found.remarks.iter().filter(passed).count() as u64;
    Ok(found)
}

/// Fusion by e-graphs, window by window; gives also what was spent.
fn saturate(
    func: &Func,
    target: &Target,
    options: &FuseOptions,
    fuel: Fuel,
) -> Result<(FuseResult, Fuel), FuseError> {
    let rewrites = permitted(options);
    let mut work = window::Work::new(func, target, options, fuel);
    while work.fuse_window(&rewrites)? {}
    let (mut func, remarks, stats, spent) = work.finish();
    remove_dead(&mut func);
    Ok((FuseResult { func: func.compact(), remarks, stats }, spent))
}

/// The rules that the options permit.
fn permitted(options: &FuseOptions) -> Vec<egg::Rewrite<language::Node, graph::Facts>> {
    let permitted = |rule: &&rules::Rule| {
        options.allow_excess_precision || rule.class != RewriteClass::ChangesRounding
    };
    graph::rewrites(rules::all().enumerate().filter(|(_, rule)| permitted(rule)))
}

/// The rewrites that may be made: the pass's own limit or that of the whole pipeline, whichever is lower.
fn allowance(options: &FuseOptions, fuel: &Fuel) -> Fuel {
    let limit = [options.rewrite_limit, fuel.left].into_iter().flatten().min();
    Fuel { left: limit, ..Fuel::default() }
}
