//! The kernels of `examples/kernels`: programs that people run on these engines, at the shapes and types they are
//! published with. All compile for every target, the auditor finds nothing, and the words agree with the reference.

mod support;

use partita::backend::audit::{Finding, audit};
use partita::ir::Func;
use partita::ir::eval::random::random_inputs;

use support::{TARGETS, kernels, target};

/// Elements of all values; larger kernels are executed by `scripts/kernels`, in an optimized build. Here they are
/// compiled and audited.
const MAX_WORK: u64 = 1 << 21;

/// Whether `PARTITA_KERNELS=all` asks for the large ones too.
fn all() -> bool {
    std::env::var("PARTITA_KERNELS").is_ok_and(|which| which == "all")
}

/// Elements of all values: what the reference computes.
fn work(func: &Func) -> u64 {
    func.values.iter().filter_map(|(_, value)| value.ty.as_tensor()?.elements()).sum()
}

fn run_target(name: &str) {
    let machine = target(name);
    let mut ran = 0;
    for (kernel, func) in kernels() {
        let compiled =
            support::compile(&func, &machine).unwrap_or_else(|e| panic!("{kernel}, {name}: {e}"));
        let found: String = audit(&compiled.program).iter().map(Finding::text).collect();
        assert!(found.is_empty(), "{kernel}, {name}: {found}");
        if all() || work(&func) <= MAX_WORK {
            let inputs = random_inputs(&func, 1).expect("inputs");
            support::check(&func, &inputs, &compiled, 1)
                .unwrap_or_else(|e| panic!("{kernel}, {name}: {e}"));
            ran += 1;
        }
    }
    println!("{name}: {ran} kernels ran");
    assert!(ran >= 20, "{ran} kernels ran");
}

#[test]
fn there_are_many_kernels_and_each_says_what_it_is() {
    let kernels = kernels();
    assert!(kernels.len() >= 30, "{} kernels", kernels.len());
    for (name, func) in kernels {
        assert_eq!(name, func.name);
    }
}

#[test]
fn kernels_agree_with_the_reference_on_sunda() {
    run_target(TARGETS[0]);
}

#[test]
fn kernels_agree_with_the_reference_on_cayman() {
    run_target(TARGETS[1]);
}

#[test]
fn kernels_agree_with_the_reference_on_mariana() {
    run_target(TARGETS[2]);
}

#[test]
fn kernels_agree_with_the_reference_on_maverick() {
    run_target(TARGETS[3]);
}
