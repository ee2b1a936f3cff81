//! Compiling one function to a program.

use partita_backend::program::{Meta, Program};
use partita_ir::diag::Code;
use partita_ir::{Diagnostic, Module, Span};
use partita_isa::Target;

use crate::pass::{Context, Dialect, Observer, PassRun, Pipeline, Settings, Step};
use crate::remark::Remark;

/// What a compilation gives.
#[derive(Debug)]
pub struct Compiled {
    pub program: Program,
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
    /// Audit the program that comes out.
    pub audit: bool,
    pub settings: Settings,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            pipeline: Pipeline::default(),
            verify: true,
            audit: true,
            settings: Settings::default(),
        }
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
    compile_watched(module, entry, target, options, &mut ())
}

/// The same with somebody looking on between passes.
///
/// # Errors
/// As [`compile`].
pub fn compile_watched(
    module: &Module,
    entry: &str,
    target: &Target,
    options: &Options,
    observer: &mut dyn Observer,
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
    let mut cx = Context { settings: options.settings, ..Context::new(*target) };
    let written = Dialect::of(&single.funcs[0]);
    let blamed = |found: Vec<Diagnostic>| -> Vec<Diagnostic> {
        found.into_iter().map(|fault| blame(fault, written)).collect()
    };
    let mut keeper = KeepTiles { tile_module: single.clone(), inner: observer };
    let lowered = options.pipeline.run(&single, &mut cx, options.verify, &mut keeper);
    let tile_module = keeper.tile_module;
    let tpb_module = lowered.map_err(|stopped| blamed(stopped.found))?;
    let func = tpb_module.func(entry).ok_or_else(missing)?;
    let meta = Meta {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pipeline: options.pipeline.passes.iter().map(ToString::to_string).collect(),
    };
    let program = partita_backend::emit::emit(func, *target, meta).map_err(blamed)?;
    if options.audit {
        // A pipeline that leaves synchronization out has nobody else to blame than who asked for it.
        let whole = options.pipeline.passes.iter().any(|run| run.pass.name == "sync");
        audited(&program, written == Dialect::Tensor && whole)?;
    }
    Ok(Compiled { program, tile_module, tpb_module, remarks: cx.remarks, stats: cx.stats })
}

/// Errors that the auditor finds: faults of the compiler, where the program is its own work.
fn audited(program: &Program, own: bool) -> Result<(), Vec<Diagnostic>> {
    let found = partita_backend::audit::audit_legal(program);
    let faults = found.iter().filter(|finding| finding.is_error()).map(|finding| {
        let fault = finding.diagnostic();
        if !own {
            return fault;
        }
        let message = format!("{}: {}", fault.code, fault.message);
        let internal = Diagnostic { code: Code::Internal, message, ..fault };
        internal.help(Code::Internal.help()).note("found by the audit of the compiled program")
    });
    let faults: Vec<Diagnostic> = faults.collect();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Keeps what the last pass to the tile dialect gave.
struct KeepTiles<'a> {
    tile_module: Module,
    inner: &'a mut dyn Observer,
}

impl Observer for KeepTiles<'_> {
    fn before(&mut self, run: &PassRun, module: &Module, cx: &Context) {
        self.inner.before(run, module, cx);
    }

    fn after(&mut self, step: &Step<'_>) {
        if step.run.pass.gives == Dialect::Tile {
            self.tile_module = step.after.clone();
        }
        self.inner.after(step);
    }
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
