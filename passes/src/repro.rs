//! Reproducers: a module with the passes that go wrong on it, in one text that can be run again.
//!
//! The text is the module's own, after a head of comments; the second line of the head is the configuration.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use partita_ir::{Diagnostic, Module};
use partita_isa::Target;
use serde::{Deserialize, Serialize};

use crate::pass::{Context, Observer, PassRun, Pipeline, Step};
use crate::rewrite::Fuel;

/// What a run of passes depends on beside the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// The pipeline's text.
    pub passes: String,
    /// The target with its options.
    pub target: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewrite_limit: Option<u64>,
    pub verify: bool,
}

const HEAD: &str = "// A reproducer: run it with `partita opt --run-repro FILE`.";
const CONFIGURATION: &str = "// configuration: ";

impl Configuration {
    /// The text of a reproducer. `why` is what goes wrong, line by line.
    pub fn text(&self, module: &Module, why: &str) -> String {
        let configuration = serde_json::to_string(self).unwrap_or_default();
        let why: String = why.lines().map(|line| format!("// {line}\n")).collect();
        format!("{HEAD}\n{CONFIGURATION}{configuration}\n{why}{module}")
    }

    /// The configuration in the head of a reproducer.
    ///
    /// # Errors
    /// The text has none, or a field is wrong.
    pub fn read(text: &str) -> Result<Self, String> {
        let line = text
            .lines()
            .take_while(|line| line.starts_with("//"))
            .find_map(|line| line.strip_prefix(CONFIGURATION))
            .ok_or_else(|| format!("has no line `{CONFIGURATION}{{…}}` at its head"))?;
        serde_json::from_str(line).map_err(|error| format!("configuration: {error}"))
    }
}

/// A pass that went wrong, as opposed to a program that it refused.
#[derive(Debug)]
pub struct Crash {
    pub run: PassRun,
    /// What the verifier found or the panic said.
    pub why: String,
    /// The module before the pass.
    pub module: Module,
    pub configuration: Configuration,
}

/// Why a guarded run gave nothing.
#[derive(Debug)]
pub enum Failure {
    /// The program was refused.
    Refused(Vec<Diagnostic>),
    Crash(Box<Crash>),
}

/// Counts the passes that have begun.
struct Counter<'a> {
    begun: usize,
    inner: &'a mut dyn Observer,
}

impl Observer for Counter<'_> {
    fn before(&mut self, run: &PassRun, module: &Module, cx: &Context) {
        self.begun += 1;
        self.inner.before(run, module, cx);
    }

    fn after(&mut self, step: &Step<'_>) {
        self.inner.after(step);
    }
}

/// Runs a pipeline; what panics or breaks the module becomes a reproducer of that one pass.
///
/// # Errors
/// The program is refused, or a pass crashes.
pub fn run_guarded(
    pipeline: &Pipeline,
    module: &Module,
    cx: &mut Context,
    verify: bool,
    observer: &mut dyn Observer,
) -> Result<Module, Failure> {
    let (target, fuel, settings) = (cx.target, cx.fuel.clone(), cx.settings);
    let mut counter = Counter { begun: 0, inner: observer };
    // A context that a panic left half changed is not used again.
    let result = catch_unwind(AssertUnwindSafe(|| pipeline.run(module, cx, verify, &mut counter)));
    let why = match result {
        Ok(Ok(module)) => return Ok(module),
        Ok(Err(stopped)) if !stopped.broken => return Err(Failure::Refused(stopped.found)),
        Ok(Err(stopped)) => {
            stopped.found.iter().map(|found| format!("{}\n", found.message)).collect()
        }
        Err(panic) => format!("panicked: {}", panic_text(panic.as_ref())),
    };
    // Passes are deterministic: those before give again what the one that failed was given.
    let failed = counter.begun.saturating_sub(1);
    let Some(run) = pipeline.passes.get(failed) else { return Err(Failure::Refused(Vec::new())) };
    let before = Pipeline { passes: pipeline.passes[..failed].to_vec() };
    let mut again = Context { fuel, settings, ..Context::new(target) };
    let module = before
        .run(module, &mut again, false, &mut ())
        .map_err(|stopped| Failure::Refused(stopped.found))?;
    let configuration = configuration(run.to_string(), &target, &again.fuel, verify);
    Err(Failure::Crash(Box::new(Crash { run: run.clone(), why, module, configuration })))
}

/// The configuration of a run.
pub fn configuration(passes: String, target: &Target, fuel: &Fuel, verify: bool) -> Configuration {
    Configuration { passes, target: target.to_string(), rewrite_limit: fuel.left, verify }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}
