//! Compiling, running and judging a program, for the end-to-end tests. Each uses a part of it.

#![allow(dead_code)]

pub mod command;

use partita::interp::Limits;
use partita::interp::exec::{Options, Order, run};
use partita::ir::eval::{BoundOptions, EvalOptions, compare, eval_bounded};
use partita::ir::{Func, Module, Source, TensorData, text};
use partita::isa::Target;
use partita::passes::{self, Compiled};

/// The targets whose rules differ.
pub const TARGETS: [&str; 4] = ["sunda", "cayman", "mariana", "maverick"];

pub const ALL_TARGETS: [&str; 5] = ["sunda", "cayman", "mariana", "mariana_plus", "maverick"];

/// Every example's name and function.
pub fn examples() -> Vec<(String, Func)> {
    programs_of("examples")
}

/// Every kernel's name and function.
pub fn kernels() -> Vec<(String, Func)> {
    programs_of("examples/kernels")
}

/// The names and first functions of a folder's programs, in the order of their names.
fn programs_of(folder: &str) -> Vec<(String, Func)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let read = |path: std::path::PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, func(&std::fs::read_to_string(&path).expect("text")))
    };
    command::files(folder, "pta").into_iter().map(read).collect()
}

/// The first function of a text.
pub fn func(source: &str) -> Func {
    let module = text::load(&Source::new("test", source)).expect("a valid module");
    module.funcs.into_iter().next().expect("a function")
}

pub fn target(name: &str) -> Target {
    name.parse().expect("a target's name")
}

/// Compiles a function on its own.
pub fn compile(func: &Func, target: &Target) -> Result<Compiled, String> {
    let module = Module { target: None, funcs: vec![func.clone()] };
    passes::compile(&module, &func.name, target, &passes::Options::default()).map_err(|found| {
        let lines: Vec<String> =
            found.iter().map(|d| format!("{}: {}", d.code.id(), d.message)).collect();
        lines.join("\n")
    })
}

/// Runs in program order, by plans and element by element, and in a few orders that only the semaphores allow, and
/// compares each with the reference within its bound (exactly, where every step is exact).
pub fn check(
    func: &Func,
    inputs: &[TensorData],
    compiled: &Compiled,
    seeds: u64,
) -> Result<(), String> {
    let want = eval_bounded(func, inputs, &EvalOptions::default(), &BoundOptions::default())
        .map_err(|error| format!("the reference: {error}"))?;
    let program = [false, true].map(|literal| (Order::Program, literal)).into_iter();
    let queues = (0..seeds).map(|seed| (Order::Queues { seed }, false));
    for (order, literal) in program.chain(queues) {
        // Small programs by bands as well, as large ones run.
        let limits = Limits { literal, banded_elements: 0, ..Limits::default() };
        let way = format!("{order:?}, literal: {literal}");
        let got = run(&compiled.program, inputs, &Options { order, limits, ..Options::default() })
            .map_err(|error| format!("{way}: {error}"))?;
        for (index, (got, want)) in got.iter().zip(&want).enumerate() {
            compare(got, want).map_err(|error| format!("{way}, out{index}: {error}"))?;
        }
    }
    Ok(())
}

/// True when a refusal says why: an error code of what the machine cannot do, not of a broken promise.
pub fn is_refusal(message: &str) -> bool {
    message.lines().all(|line| line.starts_with("E0501"))
}
