//! Words per second of checking, printing and parsing, over legal words of several structs.
//!
//! `cargo bench -p partita-isa --bench words [-- PART-OF-A-NAME]`

use std::hint::black_box;
use std::time::Instant;

use partita_isa::asm::{format_into, format_plain, parse_word};
use partita_isa::{Engine, Instruction, Target, Word, check};

/// The worked encodings of ISA 12, each with its engine.
const WORDS: [(&str, Engine); 5] = [
    (
        "411000000000000000000000aa0a048000000000010001000100000201000100\
         0008000001000100010000020100010000100000010001000100000201000100",
        Engine::Dve,
    ),
    (
        "4210000005071309030000000001000101000800200001000800040010000100\
         060a400008030000000000000020000101000100010001001000010001000100",
        Engine::Dve,
    ),
    (
        "4310000000000000000000000000000000000002010001000100000101000100\
         0a06800006040001000020400001000000040000010001000100000101000100",
        Engine::Dve,
    ),
    (
        "7c10000000000000000000000000000001000100010001008000010001000100\
         0a0a8000010000000000803f0008000001000100010001008000010001000100",
        Engine::Pool,
    ),
    (
        "6b10000000000000000000000000000001000100010001004000010001000100\
         0606400000000000000000000002000001000100010001004000010001000100",
        Engine::Dve,
    ),
];

fn main() {
    let target = Target::default();
    let words: Vec<(Word, Engine)> = WORDS
        .iter()
        .filter_map(|(hex, engine)| Some((hex.parse().ok()?, *engine)))
        .filter(|(word, engine)| check(word, &target, Some(*engine)).is_empty())
        .collect();
    assert_eq!(words.len(), WORDS.len(), "the sample words are legal");
    let lines: Vec<String> =
        words.iter().map(|(word, _)| format_plain(&Instruction::decode(word), &target)).collect();

    measure("decode", 20_000_000, words.len(), |i| {
        black_box(Instruction::decode(black_box(&words[i].0)));
    });
    measure("decode + check", 10_000_000, words.len(), |i| {
        let (word, engine) = &words[i];
        black_box(check(black_box(word), &target, Some(*engine)));
    });
    let mut text = Vec::new();
    measure("format", 2_000_000, words.len(), |i| {
        text.clear();
        format_into(&mut text, black_box(&words[i].0), &target, &|_| None);
        black_box(&text);
    });
    measure("parse", 1_000_000, words.len(), |i| {
        let _ = black_box(parse_word(black_box(&lines[i]), &target, &mut |_, _| false));
    });
}

/// Nanoseconds of processor time of this thread where the system tells, so that a busy machine does
/// not blur the figures; else of the clock.
fn now(start: Instant) -> f64 {
    let on_cpu = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    on_cpu
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .unwrap_or_else(|| start.elapsed().as_nanos() as f64)
}

/// Runs `each` over the samples in turn and prints the rate of the best of three rounds.
fn measure(name: &str, rounds: usize, samples: usize, mut each: impl FnMut(usize)) {
    let asked_for = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    if asked_for.is_some_and(|part| !name.contains(&part)) {
        return;
    }
    let mut round = || {
        let start = Instant::now();
        let begin = now(start);
        let mut sample = 0;
        for _ in 0..rounds {
            each(sample);
            sample = if sample + 1 == samples { 0 } else { sample + 1 };
        }
        (now(start) - begin) / 1e9
    };
    let best = (0..3).map(|_| round()).fold(f64::INFINITY, f64::min);
    println!("{name:16} {:8.2} M words/s", rounds as f64 / best / 1e6);
}
