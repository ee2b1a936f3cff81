//! The examples, end to end: on every target, with their own inputs and random ones.

mod support;

use std::path::PathBuf;

use partita::backend::{asm_file, image};
use partita::ir::eval::random::random_inputs;
use partita::ir::{Func, Source, text};
use partita::isa::{Opcode, check};
use partita::passes::{Compiled, Options, compile};

use support::{TARGETS, examples, target};

fn example(name: &str) -> Func {
    examples().into_iter().find(|(known, _)| known == name).expect("an example").1
}

fn mnemonics(compiled: &Compiled) -> Vec<&'static str> {
    let words = compiled.program.words.values().flatten();
    words.filter_map(|word| Opcode::from_number(word.opcode_byte())).map(Opcode::mnemonic).collect()
}

#[test]
fn every_example_agrees_with_the_reference_on_every_target() {
    let examples = examples();
    assert!(examples.len() >= 12, "{} examples", examples.len());
    for (name, func) in &examples {
        assert!(
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{name}.npz")).exists()
        );
        for machine in TARGETS {
            let compiled = support::compile(func, &target(machine))
                .unwrap_or_else(|e| panic!("{name}, {machine}: {e}"));
            let inputs = random_inputs(func, 1).expect("inputs");
            support::check(func, &inputs, &compiled, 2)
                .unwrap_or_else(|e| panic!("{name}, {machine}: {e}"));
        }
    }
}

#[test]
fn every_word_of_the_examples_is_legal_on_its_engine() {
    for (name, func) in examples() {
        for machine in TARGETS.map(target) {
            let compiled = support::compile(&func, &machine).expect("compiles");
            for (&engine, words) in &compiled.program.words {
                for word in words {
                    let broken: Vec<_> = check(word, &machine, Some(engine))
                        .into_iter()
                        .filter(|found| found.is_error())
                        .collect();
                    assert!(broken.is_empty(), "{name}, {machine}, {engine}: {broken:?}");
                }
            }
        }
    }
}

/// `transpose_sum` becomes 0x83 and `transpose_xor` 0x84, with a remark that weighs the cross-lane
/// reduction against it.
#[test]
fn transposed_reductions_are_one_instruction() {
    let cases = [
        ("transpose_sum", Opcode::TransposeTensorReduceArithOp, "0x7c"),
        ("transpose_xor", Opcode::TransposeTensorReduceBitvecOp, "0x7d"),
    ];
    for (name, opcode, alternative) in cases {
        for machine in TARGETS {
            let compiled = support::compile(&example(name), &target(machine)).expect("compiles");
            assert!(mnemonics(&compiled).contains(&opcode.mnemonic()), "{name} on {machine}");
            let text = asm_file::print(&compiled.program);
            assert!(
                text.lines().any(|line| line.trim_start().starts_with(opcode.mnemonic())),
                "{text}"
            );
            let weighed = compiled.remarks.iter().any(|remark| {
                remark.message.contains(alternative)
                    && remark.cost_before.is_some()
                    && remark.cost_after.is_some()
            });
            let remarks: Vec<String> = compiled.remarks.iter().map(ToString::to_string).collect();
            assert!(weighed, "{name} on {machine}: {remarks:#?}");
        }
    }
}

/// What each stage prints is an input: it reads back and compiles to the same program.
#[test]
fn dumps_and_assembler_text_give_the_same_program() {
    for (name, func) in examples() {
        for machine in TARGETS.map(target) {
            let compiled = support::compile(&func, &machine).expect("compiles");
            for module in [&compiled.tile_module, &compiled.tpb_module] {
                let printed = module.to_string();
                let again = text::load(&Source::new("dump", printed.clone()))
                    .unwrap_or_else(|found| panic!("{name}: {found:?}\n{printed}"));
                assert_eq!(again.to_string(), printed, "{name}");
            }
            let tile =
                text::load(&Source::new("dump", compiled.tile_module.to_string())).expect("reads");
            let rest =
                Options { pipeline: "place,sync".parse().expect("passes"), ..Options::default() };
            let continued = compile(&tile, &func.name, &machine, &rest).expect("compiles on");
            assert_eq!(continued.program.words, compiled.program.words, "{name}");
            assert_eq!(continued.program.dma, compiled.program.dma, "{name}");
            let bytes = image::write(&compiled.program).expect("an image");
            assert_eq!(image::read(&bytes).expect("reads"), compiled.program, "{name}");
        }
    }
}

/// The small examples' words, read and compared with the reference by hand.
#[test]
fn words_of_small_examples() {
    for name in ["cumsum_rows", "bit_mix", "transpose_sum"] {
        let compiled = support::compile(&example(name), &target("cayman")).expect("compiles");
        insta::assert_snapshot!(name, asm_file::print(&compiled.program));
    }
    let compiled =
        support::compile(&example("quantize_int8"), &target("cayman")).expect("compiles");
    insta::assert_snapshot!("quantize_int8_tile", compiled.tile_module.to_string());
}
