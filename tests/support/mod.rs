//! Compiling, running and judging a program, for the end-to-end tests. Each uses a part of it.

#![allow(dead_code)]

use partita::interp::exec::{Options, Order, run};
use partita::ir::eval::{BoundOptions, EvalOptions, compare, eval_bounded};
use partita::ir::{Func, Module, TensorData};
use partita::isa::Target;
use partita::passes::{self, Compiled};

/// The targets whose rules differ.
pub const TARGETS: [&str; 4] = ["sunda", "cayman", "mariana", "maverick"];

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

/// Runs in program order and in a few orders that only the semaphores allow, and compares each with
/// the reference within its bound (exactly, where every step is exact).
pub fn check(
    func: &Func,
    inputs: &[TensorData],
    compiled: &Compiled,
    seeds: u64,
) -> Result<(), String> {
    let want = eval_bounded(func, inputs, &EvalOptions::default(), &BoundOptions::default())
        .map_err(|error| format!("the reference: {error}"))?;
    let orders =
        std::iter::once(Order::Program).chain((0..seeds).map(|seed| Order::Queues { seed }));
    for order in orders {
        let got = run(&compiled.program, inputs, &Options { order, ..Options::default() })
            .map_err(|error| format!("{order:?}: {error}"))?;
        for (index, (got, want)) in got.iter().zip(&want).enumerate() {
            compare(got, want).map_err(|error| format!("{order:?}, out{index}: {error}"))?;
        }
    }
    Ok(())
}

/// True when a refusal says why: an error code of what the machine cannot do, not of a broken promise.
pub fn is_refusal(message: &str) -> bool {
    message.lines().all(|line| line.starts_with("E0501"))
}
