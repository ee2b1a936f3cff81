//! Passes and pipelines: what there is to run, in which order, and running it.

use std::fmt;
use std::str::FromStr;

use partita_ir::diag::Code;
use partita_ir::ops::{MachineOp, OpKind};
use partita_ir::{Diagnostic, Func, Module, Span};
use partita_isa::Target;

use crate::canonicalize::canonicalize;
use crate::expand::legalize;
use crate::fuse::{FuseOptions, fuse};
use crate::place::place;
use crate::remark::{Remark, RemarkKind};
use crate::sync::sync;
use crate::tile::tile;

/// What passes are told and what they report.
#[derive(Debug)]
pub struct Context {
    pub target: Target,
    pub fuse: FuseOptions,
    pub remarks: Vec<Remark>,
    /// Deterministic counters: pass, name, count.
    pub stats: Vec<(&'static str, &'static str, u64)>,
}

impl Context {
    pub fn new(target: Target) -> Self {
        Self { target, fuse: FuseOptions::default(), remarks: Vec::new(), stats: Vec::new() }
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
    run: fn(&Func, &mut Context) -> Result<Func, Vec<Diagnostic>>,
}

/// Every pass, in the order of the default pipeline.
pub const PASSES: &[PassInfo] = &[
    PassInfo {
        name: "canonicalize",
        summary: "fold constants, apply identities, merge equal operations, drop dead ones",
        requires: Dialect::Tensor,
        gives: Dialect::Tensor,
        run: run_canonicalize,
    },
    PassInfo {
        name: "fuse",
        summary: "choose cheaper forms of whole expressions in an e-graph",
        requires: Dialect::Tensor,
        gives: Dialect::Tensor,
        run: run_fuse,
    },
    PassInfo {
        name: "legalize",
        summary: "rewrite what no word does exactly into operations that one or two words do",
        requires: Dialect::Tensor,
        gives: Dialect::Tensor,
        run: run_legalize,
    },
    PassInfo {
        name: "tile",
        summary: "group operations into loops over tiles of at most 128 partitions and choose words",
        requires: Dialect::Tensor,
        gives: Dialect::Tile,
        run: run_tile,
    },
    PassInfo {
        name: "place",
        summary: "give every tile an address",
        requires: Dialect::Tile,
        gives: Dialect::Tpb,
        run: run_place,
    },
    PassInfo {
        name: "sync",
        summary: "order the queues by semaphores",
        requires: Dialect::Tpb,
        gives: Dialect::Tpb,
        run: run_sync,
    },
];

/// Names of the default pipeline. What legalization emits is simplified again.
const DEFAULT: &[&str] =
    &["canonicalize", "fuse", "legalize", "canonicalize", "tile", "place", "sync"];

fn run_canonicalize(func: &Func, cx: &mut Context) -> Result<Func, Vec<Diagnostic>> {
    let (func, stats) = canonicalize(func);
    cx.stats.extend(stats.rows().map(|(name, count)| ("canonicalize", name, count)));
    Ok(func)
}

fn run_fuse(func: &Func, cx: &mut Context) -> Result<Func, Vec<Diagnostic>> {
    let fused = fuse(func, &cx.target, &cx.fuse).map_err(|error| {
        vec![Diagnostic::error(Code::Internal, error.to_string(), func.spans.name)]
    })?;
    let stats = &fused.stats;
    let rows = [
        ("windows", stats.windows),
        ("rewrites", stats.rewrites),
        ("fused", stats.fused),
        ("e-nodes", stats.nodes),
        ("limits hit", stats.limited),
    ];
    cx.stats.extend(rows.map(|(name, count)| ("fuse", name, count)));
    cx.remarks.extend(fused.remarks);
    Ok(fused.func)
}

fn run_legalize(func: &Func, cx: &mut Context) -> Result<Func, Vec<Diagnostic>> {
    let (func, applied) = legalize(func, &cx.target)?;
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

/// Shares of SBUF that the live tiles of a loop may take, tried in turn: two blocks side by side let
/// loads run ahead; less is for loops whose tiles do not pack.
const FRACTIONS: [f64; 5] = [0.45, 0.9, 0.3, 0.15, 0.07];

fn run_tile(func: &Func, cx: &mut Context) -> Result<Func, Vec<Diagnostic>> {
    let mut failed = Vec::new();
    for fraction in FRACTIONS {
        // A tiling counts only if it can be placed.
        let tiled = tile(func, &cx.target, fraction);
        let placed = tiled.and_then(|tiled| place(&tiled.func, &cx.target).map(|_| tiled));
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

fn run_place(func: &Func, cx: &mut Context) -> Result<Func, Vec<Diagnostic>> {
    place(func, &cx.target)
}

fn run_sync(func: &Func, cx: &mut Context) -> Result<Func, Vec<Diagnostic>> {
    sync(func, &cx.target)
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

/// Passes in the order in which they run.
#[derive(Clone, Debug)]
pub struct Pipeline {
    pub passes: Vec<&'static PassInfo>,
}

impl Default for Pipeline {
    fn default() -> Self {
        Self { passes: DEFAULT.iter().filter_map(|name| PassInfo::find(name)).collect() }
    }
}

/// A pipeline's text names no pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no pass `{name}`{}", near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
pub struct UnknownPass {
    pub name: String,
    /// Where in the text.
    pub span: Span,
    /// The pass whose name is nearest.
    pub near: Option<&'static str>,
}

impl FromStr for Pipeline {
    type Err = UnknownPass;

    /// Names separated by commas; empty text is the empty pipeline.
    fn from_str(text: &str) -> Result<Self, UnknownPass> {
        let mut passes = Vec::new();
        let mut at = 0;
        for part in text.split(',') {
            let name = part.trim();
            let start = at + part.len() - part.trim_start().len();
            at += part.len() + 1;
            if name.is_empty() && text.trim().is_empty() {
                break;
            }
            passes.push(PassInfo::find(name).ok_or_else(|| UnknownPass {
                name: name.to_owned(),
                span: Span::new(start, start + name.len()),
                near: partita_ir::text::nearest(name, PASSES.iter().map(|pass| pass.name)),
            })?);
        }
        Ok(Self { passes })
    }
}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.passes.iter().map(|pass| pass.name).collect();
        f.write_str(&names.join(","))
    }
}

/// One pass that has run.
#[derive(Debug)]
pub struct Step<'a> {
    pub pass: &'static PassInfo,
    pub before: &'a Module,
    pub after: &'a Module,
}

impl Pipeline {
    /// Runs the passes one after the other; `verify` checks the module after each. `watch` sees every
    /// step.
    ///
    /// # Errors
    /// What a pass refuses, or what the verifier finds after one (an internal error).
    pub fn run(
        &self,
        module: &Module,
        cx: &mut Context,
        verify: bool,
        mut watch: impl FnMut(&Step<'_>),
    ) -> Result<Module, Vec<Diagnostic>> {
        let mut module = module.clone();
        for &pass in &self.passes {
            let after = pass.run(&module, cx)?;
            watch(&Step { pass, before: &module, after: &after });
            if verify {
                partita_ir::verify::verify(&after).map_err(|found| broken(pass, found))?;
            }
            module = after;
        }
        Ok(module)
    }
}

/// What the verifier found after a pass, as the pass's own fault.
fn broken(pass: &PassInfo, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let note = format!("found by the verifier after `{}`", pass.name);
    found.into_iter().map(|diagnostic| diagnostic.note(note.clone())).collect()
}

/// A broken promise of the compiler is the author's own mistake when the text was of a machine dialect.
fn blame(fault: Diagnostic, written: Dialect) -> Diagnostic {
    if written == Dialect::Tensor || fault.code != Code::Internal {
        return fault;
    }
    let help =
        format!("the {} text is at fault; `partita isa RULE` explains a rule", written.name());
    Diagnostic { code: Code::Instruction, ..fault }.help(help)
}

/// What a compilation gives.
#[derive(Debug)]
pub struct Compiled {
    pub program: partita_backend::program::Program,
    pub tile_module: Module,
    pub tpb_module: Module,
    pub remarks: Vec<Remark>,
    pub stats: Vec<(&'static str, &'static str, u64)>,
}

/// How to compile.
#[derive(Clone, Debug)]
pub struct Options {
    pub pipeline: Pipeline,
    /// Verify after each pass.
    pub verify: bool,
    pub fuse: FuseOptions,
}

impl Default for Options {
    fn default() -> Self {
        Self { pipeline: Pipeline::default(), verify: true, fuse: FuseOptions::default() }
    }
}

/// Compiles one function of a verified module. A function of a later dialect goes through the rest of
/// the pipeline only. Every word is checked against the target's rules when it is emitted.
///
/// # Errors
/// What a pass refuses; internal errors.
pub fn compile(
    module: &Module,
    entry: &str,
    target: &Target,
    options: &Options,
) -> Result<Compiled, Vec<Diagnostic>> {
    let missing = || {
        vec![Diagnostic::error(
            Code::UndefinedValue,
            format!("there is no function @{entry}"),
            Span::NONE,
        )]
    };
    let func = module.func(entry).ok_or_else(missing)?.clone();
    let single = Module { funcs: vec![func], ..module.clone() };
    let mut cx = Context { fuse: options.fuse, ..Context::new(*target) };
    let mut tile_module = single.clone();
    let written = Dialect::of(&single.funcs[0]);
    let lowered = options.pipeline.run(&single, &mut cx, options.verify, |step| {
        if step.pass.gives == Dialect::Tile {
            tile_module = step.after.clone();
        }
    });
    let tpb_module = lowered.map_err(|found| {
        found.into_iter().map(|fault| blame(fault, written)).collect::<Vec<_>>()
    })?;
    let func = tpb_module.func(entry).ok_or_else(missing)?;
    let meta = partita_backend::program::Meta {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pipeline: options.pipeline.passes.iter().map(|pass| pass.name.to_owned()).collect(),
    };
    let program = partita_backend::emit::emit(func, *target, meta).map_err(|found| {
        found.into_iter().map(|fault| blame(fault, written)).collect::<Vec<_>>()
    })?;
    Ok(Compiled { program, tile_module, tpb_module, remarks: cx.remarks, stats: cx.stats })
}
