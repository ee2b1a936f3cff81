//! The figures of one kernel on one target, for each way of finding fusions.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use partita::backend::cost::{Profile, ProgramCost};
use partita::backend::timeline::simulate;
use partita::ir::{Func, Module, Source, text};
use partita::isa::Target;
use partita::passes::fuse::Mode;
use partita::passes::{Observer, Options, PassRun, Pipeline, Step, compile_watched};

/// The targets of the page; the first is the one that code by hand is written for.
pub const TARGETS: [&str; 4] = ["cayman", "sunda", "mariana", "maverick"];

/// A program of the folder.
pub struct Kernel {
    pub func: Func,
    /// The first sentence of the comment on top.
    pub what: String,
}

/// All kernels of a folder, in the order of their names.
///
/// # Errors
/// A file that cannot be read, or is no program.
pub fn kernels(folder: &Path) -> Result<Vec<Kernel>, Box<dyn Error>> {
    let mut files = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "pta"));
    files.sort();
    files.iter().map(|path| kernel(path)).collect()
}

fn kernel(path: &Path) -> Result<Kernel, Box<dyn Error>> {
    let source = std::fs::read_to_string(path)?;
    let comment: Vec<&str> =
        source.lines().map_while(|line| line.strip_prefix("//")).map(str::trim).collect();
    let comment = comment.join(" ");
    let what = comment.split_inclusive(['.', ':']).next().unwrap_or_default();
    let what = what.trim_end_matches(['.', ':']).to_owned();
    let name = path.display().to_string();
    let module = text::load(&Source::new(name.clone(), source))
        .map_err(|found| format!("{name}: {found:?}"))?;
    let func = module.funcs.into_iter().next().ok_or_else(|| format!("{name}: no function"))?;
    Ok(Kernel { func, what })
}

/// What one way of fusing gives.
#[derive(Clone, Debug)]
pub struct Figures {
    pub words: usize,
    /// Bytes that descriptors write.
    pub bytes: u64,
    /// Of all engines together.
    pub cycles: u64,
    /// The time of all engines and of the transfers, added: what fusion makes small.
    pub work_ns: f64,
    pub bound_ns: f64,
    pub makespan_ns: f64,
    /// Of the largest e-graph.
    pub nodes: u64,
    /// Windows of e-graphs that stopped at a limit.
    pub limited: u64,
    /// Time in the passes of fusion.
    pub time: Duration,
}

impl Figures {
    pub fn above_bound(&self) -> f64 {
        self.makespan_ns / self.bound_ns
    }
}

/// One kernel on one target.
#[derive(Clone, Debug)]
pub struct Measured {
    pub kernel: String,
    pub target: &'static str,
    pub none: Figures,
    pub greedy: Figures,
    pub egg: Figures,
}

impl Measured {
    /// Compiles three times.
    ///
    /// # Errors
    /// A program that is refused, or waits for ever.
    pub fn new(kernel: &Kernel, target: &'static str) -> Result<Self, Box<dyn Error>> {
        let of = |mode| {
            figures(&kernel.func, target, mode)
                .map_err(|error| format!("{} on {target}: {error}", kernel.func.name))
        };
        Ok(Self {
            kernel: kernel.func.name.clone(),
            target,
            none: of(Mode::None)?,
            greedy: of(Mode::Greedy)?,
            egg: of(Mode::Egg)?,
        })
    }

    /// Cycles with e-graphs over those without fusion; nothing where no engine works.
    pub fn ratio(&self) -> Option<f64> {
        (self.none.cycles > 0).then(|| self.egg.cycles as f64 / self.none.cycles as f64)
    }
}

/// The geometric mean; 1 of nothing.
pub fn geometric_mean(numbers: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) =
        numbers.fold((0.0, 0.0), |(sum, count), number| (sum + number.ln(), count + 1.0));
    if count > 0.0 { f64::exp(sum / count) } else { 1.0 }
}

/// Adds up the time of the passes of fusion.
#[derive(Default)]
struct Stopwatch {
    began: Option<Instant>,
    time: Duration,
}

impl Observer for Stopwatch {
    fn before(&mut self, run: &PassRun, _module: &Module, _cx: &partita::passes::Context) {
        self.began = run.pass.name.starts_with("fuse").then(Instant::now);
    }

    fn after(&mut self, _step: &Step<'_>) {
        self.time += self.began.take().map(|began| began.elapsed()).unwrap_or_default();
    }
}

fn figures(func: &Func, target: &str, mode: Mode) -> Result<Figures, Box<dyn Error>> {
    let machine: Target = target.parse().map_err(|error| format!("{error:?}"))?;
    let module = Module { target: None, funcs: vec![func.clone()] };
    let options = Options { pipeline: Pipeline::default().fusing(mode), ..Options::default() };
    let mut watch = Stopwatch::default();
    let compiled =
        compile_watched(&module, &func.name, &machine, &options, &mut watch).map_err(|found| {
            found.iter().map(|one| one.message.as_str()).collect::<Vec<_>>().join("; ")
        })?;
    let profile = Profile::of(machine.generation);
    let cost = ProgramCost::new(&compiled.program, profile);
    let timeline = simulate(&compiled.program, profile).map_err(|stuck| stuck.to_string())?;
    let counts = |wanted: &str| {
        let of_fusion = compiled.stats.iter().filter(|(pass, _, _)| pass.starts_with("fuse"));
        let named = of_fusion.filter(|(_, name, _)| *name == wanted).map(|(_, _, count)| *count);
        named.collect::<Vec<u64>>()
    };
    Ok(Figures {
        words: cost.engines.iter().map(|engine| engine.words).sum(),
        bytes: cost.dma.bytes,
        cycles: cost.engines.iter().map(|engine| engine.cycles).sum(),
        work_ns: cost.work_ns(),
        bound_ns: cost.bound_ns,
        makespan_ns: timeline.makespan_ps as f64 / 1e3,
        nodes: counts("e-nodes").into_iter().max().unwrap_or_default(),
        limited: counts("limits hit").into_iter().sum(),
        time: watch.time,
    })
}
