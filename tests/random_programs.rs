//! Random programs: what the words compute is what the reference says, on every target and in every
//! order that the semaphores allow, and the auditor finds nothing. Inputs are small dyadic numbers, so
//! that sums are exact.
//!
//! `PARTITA_SEED=n` chooses other programs, `PARTITA_CASES=n` how many for each target (`scripts/random-programs` runs
//! twenty thousand); a failure prints the seed and the smallest program found.

#[path = "support/programs.rs"]
mod programs;
mod support;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use partita::backend::audit::{Finding, audit};
use partita::ir::eval::random::dyadic_inputs;
use partita::ir::ops::TensorOp;
use partita::ir::{ElementwiseOp, Func};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use programs::{Recipe, build};
use support::{TARGETS, check, compile, is_refusal, target};

/// Programs for each target.
const CASES: u32 = 500;

/// What the programs that ran consist of.
#[derive(Default)]
struct Seen {
    operations: BTreeSet<&'static str>,
    dtypes: BTreeSet<String>,
    ranks: BTreeSet<usize>,
}

impl Seen {
    fn add(&mut self, func: &Func) {
        for (_, value) in func.values.iter() {
            self.dtypes.insert(value.ty.dtype().to_string());
            self.ranks.insert(value.ty.shape().len());
        }
        for (_, op) in func.body_ops() {
            match op.as_tensor() {
                Some(TensorOp::Elementwise(op)) => self.operations.insert(op.name()),
                Some(op) => self.operations.insert(op.kind_name().name()),
                None => false,
            };
        }
    }

    /// Elementwise operations that no program has.
    fn missing(&self) -> Vec<&'static str> {
        let names = ElementwiseOp::ALL.iter().map(|op| op.name());
        names.filter(|name| !self.operations.contains(name)).collect()
    }
}

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
    let (ran, refused, seen) = (Cell::new(0), Cell::new(0), RefCell::new(Seen::default()));
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
                seen.borrow_mut().add(&func);
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
    let seen = seen.into_inner();
    let missing = seen.missing();
    println!("{name}: {} operations; not {missing:?}", seen.operations.len());
    assert!(missing.len() <= 3, "{name}: no program has {missing:?}");
    assert!(programs::DTYPES.iter().all(|dtype| seen.dtypes.contains(&dtype.to_string())));
    assert!((0..=4).all(|rank| seen.ranks.contains(&rank)), "{name}: ranks {:?}", seen.ranks);
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
