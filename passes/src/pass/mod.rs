//! The passes: what there is to run, in which order, and what each can be told.

mod pipeline;
mod setting;
mod weigh;

use partita_backend::cost::{Profile, dma_cost};
use partita_ir::diag::Code;
use partita_ir::ops::{MachineOp, OpKind};
use partita_ir::{Diagnostic, Func, Module};
use partita_isa::Target;

use crate::canonicalize::canonicalize;
use crate::expand::legalize;
use crate::fuse::{FuseOptions, Mode, fuse};
use crate::place::{can_place, place};
use crate::remark::{Remark, RemarkKind};
use crate::rewrite::Fuel;
use crate::schedule::schedule;
use crate::sync::sync;
use crate::tile::{TileOptions, tile};

pub use pipeline::{Observer, PassRun, Pipeline, PipelineError, Step, Stopped};
pub use setting::{Kind, Setting, Settings};

/// What passes are told and what they report.
#[derive(Debug)]
pub struct Context {
    pub target: Target,
    pub settings: Settings,
    /// Rewrites that the passes may still make, all together.
    pub fuel: Fuel,
    pub remarks: Vec<Remark>,
    /// Deterministic counters: pass, name, count.
    pub stats: Vec<(&'static str, &'static str, u64)>,
}

impl Context {
    pub fn new(target: Target) -> Self {
        Self {
            target,
            settings: Settings::default(),
            fuel: Fuel::default(),
            remarks: Vec::new(),
            stats: Vec::new(),
        }
    }
}

/// Which operations a function consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Tensor,
    Tile,
    Tpb,
}

impl Dialect {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tensor => "tensor",
            Self::Tile => "tile",
            Self::Tpb => "tpb",
        }
    }

    /// The dialect of a function. One without machine operations is of the tensor dialect when its
    /// arguments are tensors.
    pub fn of(func: &Func) -> Self {
        let machine = func.body_ops().find_map(|(_, op)| match &op.kind {
            OpKind::Machine(MachineOp::Alloc { address } | MachineOp::Constant { address, .. }) => {
                Some(address.is_some())
            }
            OpKind::Machine(op) => Some(op.fields().is_empty()),
            _ => None,
        });
        match machine {
            Some(true) => Self::Tpb,
            Some(false) => Self::Tile,
            None if func.args.iter().any(|&arg| func.ty(arg).as_tile().is_some()) => Self::Tile,
            None => Self::Tensor,
        }
    }
}

/// One pass: a function of one dialect to a function of the same or the next one.
#[derive(Debug)]
pub struct PassInfo {
    pub name: &'static str,
    pub summary: &'static str,
    pub requires: Dialect,
    pub gives: Dialect,
    /// What the pass can be told in a pipeline's text.
    pub settings: &'static [Setting],
    pub run: fn(&Func, &mut Context) -> Result<Func, Vec<Diagnostic>>,
}

/// What the passes of fusion can be told.
const FUSE_SETTINGS: &[Setting] = &[
    Setting {
        name: "mode",
        summary: "no forms, the first cheaper one of each operation, or the cheapest of all in an e-graph",
        kind: Kind::Choice(Mode::NAMES),
        set: |settings, value| {
            settings.fuse.mode = Mode::ALL.get(value as usize).copied().unwrap_or_default();
        },
    },
    Setting {
        name: "node-limit",
        summary: "e-nodes of a window",
        kind: Kind::Count { least: 1, most: 10_000_000 },
        set: |settings, value| settings.fuse.node_limit = value as usize,
    },
    Setting {
        name: "iter-limit",
        summary: "iterations of saturation of a window",
        kind: Kind::Count { least: 0, most: 1000 },
        set: |settings, value| settings.fuse.iter_limit = value as usize,
    },
    Setting {
        name: "rewrite-limit",
        summary: "rewrites to make in all, for finding a wrong one",
        kind: Kind::Count { least: 0, most: u64::MAX },
        set: |settings, value| settings.fuse.rewrite_limit = Some(value),
    },
    Setting {
        name: "allow-excess-precision",
        summary: "permit rules that drop or add a rounding",
        kind: Kind::Switch,
        set: |settings, value| settings.fuse.allow_excess_precision = value != 0,
    },
];

/// Every pass, in the order of the default pipeline.
pub const PASSES: &[PassInfo] = &[
    PassInfo {
        name: "canonicalize",
        summary: "fold constants, apply identities, merge equal operations, drop dead ones",
        requires: Dialect::Tensor,
        gives: Dialect::Tensor,
        settings: &[],
        run: run_canonicalize,
    },
    PassInfo {
        name: "fuse",
        summary: "choose cheaper forms of whole expressions in an e-graph",
        requires: Dialect::Tensor,
        gives: Dialect::Tensor,
        settings: FUSE_SETTINGS,
        run: |func, cx| run_fuse(func, cx, false),
    },
    PassInfo {
        name: "legalize",
        summary: "rewrite what no word does exactly into operations that one or two words do",
        requires: Dialect::Tensor,
        gives: Dialect::Tensor,
        settings: &[],
        run: run_legalize,
    },
    PassInfo {
        name: "fuse-words",
        summary: "fuse what legalization made, each operation still one that words do",
        requires: Dialect::Tensor,
        gives: Dialect::Tensor,
        settings: FUSE_SETTINGS,
        run: |func, cx| run_fuse(func, cx, true),
    },
    PassInfo {
        name: "tile",
        summary: "group operations into loops over tiles of at most 128 partitions and choose words",
        requires: Dialect::Tensor,
        gives: Dialect::Tile,
        settings: &[
            Setting {
                name: "share",
                summary: "per cent of SBUF that the live tiles of a loop may take, instead of trying several",
                kind: Kind::Count { least: 1, most: 100 },
                set: |settings, value| settings.tile.share = Some(value as u32),
            },
            Setting {
                name: "join",
                summary: "one word for two operations of a loop where it has both results",
                kind: Kind::Switch,
                set: |settings, value| settings.tile.apart = value == 0,
            },
        ],
        run: run_tile,
    },
    PassInfo {
        name: "schedule",
        summary: "order words and transfers so that engines and transfers overlap",
        requires: Dialect::Tile,
        gives: Dialect::Tile,
        settings: &[],
        run: run_schedule,
    },
    PassInfo {
        name: "place",
        summary: "give every tile an address",
        requires: Dialect::Tile,
        gives: Dialect::Tpb,
        settings: &[],
        run: run_place,
    },
    PassInfo {
        name: "sync",
        summary: "order the queues by semaphores",
        requires: Dialect::Tpb,
        gives: Dialect::Tpb,
        settings: &[],
        run: run_sync,
    },
];

/// Names of the default pipeline. What legalization emits is simplified again.
const DEFAULT: &[&str] = &[
    "canonicalize",
    "fuse",
    "legalize",
    "canonicalize",
    "fuse-words",
    "tile",
    "schedule",
    "place",
    "sync",
];

fn run_canonicalize(func: &Func, cx: &mut Context) -> Result<Func, Vec<Diagnostic>> {
    let (func, stats) = canonicalize(func, &mut cx.fuel);
    cx.stats.extend(stats.rows().map(|(name, count)| ("canonicalize", name, count)));
    Ok(func)
}

fn run_fuse(func: &Func, cx: &mut Context, words_only: bool) -> Result<Func, Vec<Diagnostic>> {
    let options = FuseOptions { words_only, ..cx.settings.fuse };
    let fused = fuse(func, &cx.target, &options, &mut cx.fuel).map_err(|error| {
        vec![Diagnostic::error(Code::Internal, error.to_string(), func.spans.name)]
    })?;
    let fused = weigh::best(func, fused, &options, cx);
    let stats = &fused.stats;
    let rows = [
        ("windows", stats.windows),
        ("rewrites", stats.rewrites),
        ("fused", stats.fused),
        ("e-nodes", stats.nodes),
        ("limits hit", stats.limited),
    ];
    let pass = options.pass();
    cx.stats.extend(rows.map(|(name, count)| (pass, name, count)));
    cx.remarks.extend(fused.remarks);
    Ok(fused.func)
}

fn run_legalize(func: &Func, cx: &mut Context) -> Result<Func, Vec<Diagnostic>> {
    let (func, applied) = legalize(func, &cx.target, &mut cx.fuel)?;
    cx.stats.push(("legalize", "expansions", applied.len() as u64));
    cx.remarks.extend(applied.iter().map(|applied| Remark {
        class: Some(applied.class),
        span: Some(applied.span),
        value: applied.value.clone(),
        op: applied.op.clone(),
        message: applied.why.to_owned(),
        ..Remark::new(RemarkKind::Passed, "legalize", applied.expansion)
    }));
    Ok(func)
}

fn run_tile(func: &Func, cx: &mut Context) -> Result<Func, Vec<Diagnostic>> {
    let shares = match &cx.settings.tile.share {
        Some(share) => std::slice::from_ref(share),
        None => TileOptions::SHARES,
    };
    let mut failed = Vec::new();
    for &share in shares {
        // A tiling counts only if it can be placed.
        let tiled = tile(func, &cx.target, share, cx.settings.tile.apart);
        let placed = tiled.and_then(|tiled| can_place(&tiled.func, &cx.target).map(|()| tiled));
        match placed {
            Ok(tiled) => {
                cx.stats.push(("tile", "operations", tiled.func.body.len() as u64));
                cx.remarks.extend(tiled.remarks);
                return Ok(tiled.func);
            }
            Err(found) => {
                let of_size = |d: &Diagnostic| matches!(d.code, Code::Capacity | Code::RowTooLarge);
                if !found.iter().all(of_size) {
                    return Err(found);
                }
                failed = found;
            }
        }
    }
    Err(failed)
}

fn run_schedule(func: &Func, cx: &mut Context) -> Result<Func, Vec<Diagnostic>> {
    let scheduled = schedule(func, &cx.target);
    cx.stats.push(("schedule", "moved", scheduled.moved));
    cx.stats.push(("schedule", "other engine", scheduled.taken_over));
    let better = scheduled.moved > 0;
    let kind = if better { RemarkKind::Passed } else { RemarkKind::Analysis };
    let message =
        if better { "words and transfers in another order" } else { "program order stays" };
    cx.remarks.push(Remark {
        span: Some(func.spans.name),
        message: message.to_owned(),
        cost_before: Some(scheduled.before),
        cost_after: Some(scheduled.after),
        ..Remark::new(kind, "schedule", "makespan")
    });
    Ok(scheduled.func)
}

fn run_place(func: &Func, cx: &mut Context) -> Result<Func, Vec<Diagnostic>> {
    place(func, &cx.target)
}

fn run_sync(func: &Func, cx: &mut Context) -> Result<Func, Vec<Diagnostic>> {
    let func = sync(func, &cx.target)?;
    let profile = Profile::of(cx.target.generation);
    let (mut words, mut descriptors, mut bytes) = (0, 0, 0u64);
    for (_, op) in func.body_ops() {
        match &op.kind {
            OpKind::Machine(MachineOp::Inst(_)) => words += 1,
            OpKind::Machine(MachineOp::Dma(dma)) => {
                descriptors += 1;
                bytes = bytes.saturating_add(dma_cost(&dma.desc, profile).bytes);
            }
            _ => {}
        }
    }
    let counts = [("words", words), ("descriptors", descriptors), ("bytes moved", bytes)];
    cx.stats.extend(counts.map(|(name, count)| ("sync", name, count)));
    Ok(func)
}

impl PassInfo {
    pub fn find(name: &str) -> Option<&'static Self> {
        PASSES.iter().find(|pass| pass.name == name)
    }

    /// Runs the pass on every function of the dialect that it requires.
    ///
    /// # Errors
    /// What the pass refuses.
    pub fn run(&self, module: &Module, cx: &mut Context) -> Result<Module, Vec<Diagnostic>> {
        let mut out = Module { funcs: Vec::new(), ..module.clone() };
        for func in &module.funcs {
            let fits = Dialect::of(func) == self.requires;
            out.funcs.push(if fits { (self.run)(func, cx)? } else { func.clone() });
        }
        if self.gives != Dialect::Tensor {
            out.target = Some(cx.target);
        }
        Ok(out)
    }
}
