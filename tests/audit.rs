//! The auditor on compiled programs: nothing to find in them, and every fault planted in them is found.

mod support;

use partita::backend::audit::{Finding, audit};
use partita::backend::program::{Program, Slot};
use partita::ir::diag::Code;
use partita::isa::dma::{DmaSpace, DmaWait};
use partita::isa::word::WORD_BYTES;
use partita::isa::{Engine, Events, Instruction, Target, UpdateMode, WaitMode};

use support::{ALL_TARGETS, compile, examples};

/// Every example on every target, with a name for messages.
fn programs() -> Vec<(String, Program)> {
    let mut programs = Vec::new();
    for (name, func) in examples() {
        for target in ALL_TARGETS {
            let machine: Target = target.parse().expect("a target");
            let compiled = compile(&func, &machine).unwrap_or_else(|e| panic!("{name}: {e}"));
            programs.push((format!("{name} on {target}"), compiled.program));
        }
    }
    programs
}

fn errors(program: &Program) -> Vec<Finding> {
    audit(program).into_iter().filter(Finding::is_error).collect()
}

fn codes(found: &[Finding]) -> Vec<Code> {
    found.iter().map(|finding| finding.code).collect()
}

fn texts(found: &[Finding]) -> String {
    found.iter().map(Finding::text).collect()
}

#[test]
fn compiled_examples_are_clean() {
    for (name, program) in programs() {
        let found = audit(&program);
        assert!(found.is_empty(), "{name}:\n{}", texts(&found));
    }
}

/// The word at an index of an engine, or a descriptor.
#[derive(Clone, Copy)]
enum At {
    Word(Engine, usize),
    Dma(usize),
}

fn items(program: &Program) -> Vec<At> {
    let words = program
        .words
        .iter()
        .flat_map(|(&engine, words)| (0..words.len()).map(move |index| At::Word(engine, index)));
    words.chain((0..program.dma.len()).map(At::Dma)).collect()
}

/// Changes the events of a word.
fn with_events(
    program: &Program,
    (engine, index): (Engine, usize),
    change: impl FnOnce(&mut Events),
) -> Program {
    let mut out = program.clone();
    let word = &mut out.words.get_mut(&engine).expect("an engine")[index];
    let mut instruction = Instruction::decode(word);
    change(&mut instruction.events);
    *word = instruction.encode();
    out
}

fn events(program: &Program, engine: Engine, index: usize) -> Events {
    Instruction::decode(&program.words[&engine][index]).events
}

/// The program without one of an item's waits; `None` when it has no such wait.
fn without_wait(program: &Program, at: At, wait: usize) -> Option<Program> {
    match at {
        At::Word(engine, index) => {
            let none = WaitMode::None.code();
            let has = events(program, engine, index).wait_mode != none;
            (has && wait == 0).then(|| {
                with_events(program, (engine, index), |events| {
                    (events.wait_mode, events.wait_idx, events.semaphore_value) = (none, 0, 0);
                })
            })
        }
        At::Dma(index) => {
            let mut out = program.clone();
            let mut waits: Vec<DmaWait> = program.dma[index].waits.to_vec();
            (wait < waits.len()).then(|| waits.remove(wait))?;
            out.dma[index].waits = waits[..].try_into().expect("fewer waits");
            Some(out)
        }
    }
}

fn without_update(program: &Program, at: At) -> Option<Program> {
    match at {
        At::Word(engine, index) => {
            let none = UpdateMode::None.code();
            (events(program, engine, index).update_mode != none).then(|| {
                with_events(program, (engine, index), |events| {
                    (events.update_mode, events.update_idx) = (none, 0);
                })
            })
        }
        At::Dma(index) => {
            let mut out = program.clone();
            out.dma[index].update.take()?;
            Some(out)
        }
    }
}

/// The compiler writes no wait that another implies, so each one that is taken away leaves two accesses without an order.
#[test]
fn each_wait_of_the_examples_is_needed() {
    let (mut removed, mut silent) = (0, Vec::new());
    for (name, program) in programs() {
        for at in items(&program) {
            for wait in 0..4 {
                let Some(broken) = without_wait(&program, at, wait) else { break };
                removed += 1;
                let found = errors(&broken);
                if found.is_empty() {
                    silent.push(name.clone());
                }
                let expected = |code: &Code| matches!(code, Code::Race | Code::OrderContradicts);
                assert!(codes(&found).iter().all(expected), "{name}: {}", texts(&found));
                assert!(found.iter().all(|one| one.code != Code::Race || one.items.len() == 2));
            }
        }
    }
    println!("{removed} waits taken away, {} not missed", silent.len());
    assert!(removed > 400, "{removed}");
    assert!(silent.is_empty(), "{} of {removed}: {silent:?}", silent.len());
}

/// Every signal is counted on: without it somebody waits for ever.
#[test]
fn each_update_of_the_examples_is_needed() {
    let mut removed = 0;
    for (name, program) in programs() {
        for at in items(&program) {
            let Some(broken) = without_update(&program, at) else { continue };
            removed += 1;
            let found = errors(&broken);
            assert!(codes(&found).contains(&Code::Deadlock), "{name}: {}", texts(&found));
        }
    }
    assert!(removed > 400, "{removed}");
}

/// Takes a descriptor away with its place in the order, and signals where it would have signalled.
fn without_transfer(program: &Program, index: usize) -> Program {
    let mut out = program.clone();
    // A one-byte copy onto itself in HBM does nothing and keeps the counts.
    let desc = &mut out.dma[index];
    let keep = partita::isa::dma::DmaAddr::hbm(0);
    let elem = partita::isa::Dtype::Uint8;
    let idle = partita::isa::dma::Descriptor::copy(elem, keep, keep);
    *desc = partita::isa::dma::Descriptor { src: keep, dst: keep, elem, dims: idle.dims, ..*desc };
    out
}

/// A load that moves nothing leaves bytes that nobody wrote, a store an output that is not whole.
#[test]
fn each_transfer_of_the_examples_is_needed() {
    let (mut loads, mut stores) = (0, 0);
    for (name, program) in programs() {
        for index in 0..program.dma.len() {
            let desc = program.dma[index];
            let found = codes(&errors(&without_transfer(&program, index)));
            match (desc.src.space, desc.dst.space) {
                // Later blocks find what an earlier one left in the same tile.
                (DmaSpace::Hbm, DmaSpace::Sbuf) => {
                    loads += usize::from(found.contains(&Code::NeverWritten));
                }
                _ => {
                    let wanted =
                        |code: &Code| matches!(code, Code::OutputMissing | Code::NeverWritten);
                    assert!(found.iter().any(wanted), "{name}, descriptor {index}: {found:?}");
                    stores += 1;
                }
            }
        }
    }
    println!("{loads} loads and {stores} stores missed");
    assert!(loads > 100 && stores > 100, "{loads} loads, {stores} stores");
}

/// A load moved onto a tile that is in use.
#[test]
fn a_tile_on_top_of_another() {
    let (name, program) =
        programs().into_iter().find(|(name, _)| name == "rmsnorm on cayman").expect("an example");
    let mut found = Vec::new();
    let loads: Vec<usize> = (0..program.dma.len())
        .filter(|&index| program.dma[index].dst.space == DmaSpace::Sbuf)
        .collect();
    for &from in &loads {
        for &to in &loads {
            if program.dma[from].dst.addr != program.dma[to].dst.addr {
                let mut broken = program.clone();
                broken.dma[from].dst.addr = program.dma[to].dst.addr;
                found.push(codes(&errors(&broken)));
            }
        }
    }
    assert!(!found.is_empty(), "{name}");
    let noticed = |codes: &Vec<Code>| {
        codes.iter().any(|code| matches!(code, Code::Race | Code::NeverWritten))
    };
    assert!(found.iter().all(noticed), "{found:?}");
}

/// Two waits on each other: the word of one queue that was to be waited for waits for its own successor.
#[test]
fn a_cycle_names_its_words() {
    for (name, mut program) in programs() {
        // The first load waits for the first word to signal, which waits for that load.
        let signal = program.words.values().find_map(|words| {
            let mut events = words.iter().map(|word| Instruction::decode(word).events);
            events.find(|events| events.update_mode != UpdateMode::None.code())
        });
        let semaphore = signal.unwrap_or_else(|| panic!("{name}: no word signals")).update_idx;
        let wait = DmaWait { semaphore, value: 1 };
        program.dma[0].waits.push(wait).expect("room for a wait");
        let found = errors(&program);
        let deadlock = found.iter().find(|one| one.code == Code::Deadlock);
        let deadlock = deadlock.unwrap_or_else(|| panic!("{name}: {}", texts(&found)));
        let queue = Slot::Dma(program.dma[0].queue).to_string();
        assert!(deadlock.items.len() > 1, "{name}: {}", deadlock.text());
        assert!(deadlock.items.iter().any(|item| item.queue == queue), "{}", deadlock.text());
    }
}

/// Nothing that the bytes of an image can say makes the auditor panic or hang.
#[test]
fn damaged_programs_are_judged() {
    let program =
        programs().into_iter().find(|(name, _)| name == "softmax on cayman").expect("an example").1;
    let mut state = 1u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    let mut judged = 0;
    for _ in 0..2000 {
        let mut broken = program.clone();
        for _ in 0..1 + random(3) {
            match random(4) {
                0 => {
                    let index = random(broken.dma.len());
                    let desc = &mut broken.dma[index];
                    match random(5) {
                        0 => desc.queue = random(18) as u8,
                        1 => desc.src.addr = random(1 << 20) as u64,
                        2 => desc.dst.addr = random(1 << 26) as u64,
                        3 => desc.update = Some(random(256) as u8),
                        _ => {
                            if let Some(dim) = desc.dims.last_mut() {
                                dim.count = random(200) as u32;
                                dim.dst_stride = random(1 << 20) as i64 - (1 << 19);
                            }
                        }
                    }
                }
                kind => {
                    let words = broken.words.values_mut().nth(random(2)).expect("two engines");
                    let index = random(words.len());
                    let at = if kind == 1 { 4 + random(8) } else { random(WORD_BYTES) };
                    words[index].0[at] = random(256) as u8;
                }
            }
        }
        let found = audit(&broken);
        judged += usize::from(!codes(&found).contains(&Code::IllegalItem));
    }
    assert!(judged > 200, "{judged} of 2000 were legal item by item");
}
