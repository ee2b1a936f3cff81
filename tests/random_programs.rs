//! Random programs: what the words compute is what the reference says, on every target and in every
//! order that the semaphores allow, and the auditor finds nothing. Inputs are small dyadic numbers, so
//! that sums are exact.
//!
//! `PARTITA_SEED=n` chooses other programs, `PARTITA_CASES=n` how many for each target (`scripts/random-programs` runs
//! twenty thousand); a failure prints the seed and the smallest program found.

#[path = "support/programs.rs"]
mod programs;
mod support;

use std::cell::Cell;

use partita::backend::audit::{Finding, audit};
use partita::ir::eval::random::dyadic_inputs;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use programs::{Recipe, build};
use support::{TARGETS, check, compile, is_refusal, target};

/// Programs for each target.
const CASES: u32 = 500;

/// A number from the environment.
fn setting<T: std::str::FromStr>(name: &str, otherwise: T) -> T {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn recipes() -> impl Strategy<Value = Recipe> {
    let dim = prop_oneof![6 => 1u64..9, 2 => Just(33u64), 1 => Just(130u64), 1 => Just(0u64)];
    let shape = prop::collection::vec(dim, 0..5)
        .prop_filter("too large", |shape| shape.iter().product::<u64>() <= 20_000);
    let genes = prop::collection::vec(any::<[u16; 6]>(), 1..10);
    (shape, 0..programs::DTYPES.len(), genes).prop_map(|(shape, dtype, genes)| Recipe {
        shape,
        dtype,
        genes,
    })
}

fn run_target(name: &str) {
    let seed: u64 = setting("PARTITA_SEED", 1);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let config = Config {
        cases: setting("PARTITA_CASES", CASES),
        failure_persistence: None,
        max_shrink_iters: 400,
        ..Config::default()
    };
    let machine = target(name);
    let (ran, refused) = (Cell::new(0), Cell::new(0));
    let outcome = TestRunner::new_with_rng(config, rng).run(&recipes(), |recipe| {
        let func = build(&recipe);
        let text = format!("{func}");
        match compile(&func, &machine) {
            Ok(compiled) => {
                let found: String = audit(&compiled.program).iter().map(Finding::text).collect();
                prop_assert!(found.is_empty(), "{found}\n{text}");
                let inputs = dyadic_inputs(&func, 7).expect("inputs");
                check(&func, &inputs, &compiled, 2)
                    .map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
                ran.set(ran.get() + 1);
            }
            Err(message) if is_refusal(&message) => refused.set(refused.get() + 1),
            Err(message) => return Err(TestCaseError::fail(format!("{message}\n{text}"))),
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{name}, PARTITA_SEED={seed}: {error}");
    }
    let (ran, refused) = (ran.get(), refused.get());
    println!("{name}: {ran} programs ran, {refused} were refused");
    assert!(ran > refused, "{name}: {ran} programs ran, {refused} were refused");
}

#[test]
fn words_agree_with_the_reference_on_sunda() {
    run_target(TARGETS[0]);
}

#[test]
fn words_agree_with_the_reference_on_cayman() {
    run_target(TARGETS[1]);
}

#[test]
fn words_agree_with_the_reference_on_mariana() {
    run_target(TARGETS[2]);
}

#[test]
fn words_agree_with_the_reference_on_maverick() {
    run_target(TARGETS[3]);
}
