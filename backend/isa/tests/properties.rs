//! Properties over every opcode, generation and engine: words made to be legal are, and each rule
//! reports when it alone is broken.

use std::collections::BTreeSet;

use partita_isa::asm::{format_plain, parse_plain};
use partita_isa::explain::rules_of;
use partita_isa::{
    AluOp, Dtype, Engine, FieldKind, Generation, Instruction, Opcode, Target, Word, check, is_legal,
};

/// What varies besides operation and data types: op1, accumulator_cmd, op_dim, elements of the
/// destination, and the data type of src0 where it is a predicate.
const MODES: [(u8, u8, u8, u16, Option<Dtype>); 8] = [
    (0, 0, 0, 32, None),
    (0, 0, 2, 1, None),
    (0, 0, 3, 1, None),
    (0, 0, 2, 32, None),
    (AluOp::Add as u8, 0, 0, 32, None),
    (AluOp::Add as u8, 3, 0, 32, None),
    (0, 3, 0, 32, None),
    (0, 0, 0, 32, Some(Dtype::Uint32)),
];

/// A word filled in from the field table of its struct.
fn candidate(opcode: Opcode, op: AluOp, input: Dtype, output: Dtype, mode: usize) -> Word {
    let (op1, command, op_dim, elements, predicate) = MODES[mode];
    let mut word = Instruction::blank(opcode).encode();
    for field in opcode.info().layout().fields {
        let value = match (field.kind, field.name) {
            (FieldKind::AluOp, "op1") => op1,
            (FieldKind::AluOp, _) => op.code(),
            (FieldKind::Dtype, "out_dtype") => output.code(),
            (FieldKind::Dtype, "imm0_dtype") if !opcode.is_bitvec() => Dtype::Fp32.code(),
            (FieldKind::Dtype, "pred_imm_dtype") => match input.size() {
                1 => Dtype::Uint8.code(),
                2 => Dtype::Uint16.code(),
                _ => Dtype::Uint32.code(),
            },
            (FieldKind::Dtype, _) => input.code(),
            (FieldKind::DtypePair, _) => predicate.unwrap_or(input).code() | input.code() << 4,
            (FieldKind::Enum(_), "accumulator_cmd") => command,
            (FieldKind::Enum(_), "op_dim") => op_dim,
            (FieldKind::Enum(_), "reduce_op") => op.code() % 6,
            (FieldKind::Pattern(dims), name) => {
                let (place, count) =
                    if name == "dst_mem_pattern" { (0x1000_u32, elements) } else { (0, 32) };
                word.0[field.offset..field.offset + 4].copy_from_slice(&place.to_le_bytes());
                let counts = field.offset + 4 + 2 * dims;
                word.0[counts..counts + 2].copy_from_slice(&count.to_le_bytes());
                continue;
            }
            _ => continue,
        };
        word.0[field.offset] = value;
    }
    word
}

/// Words of an opcode with every operation, data type and mode.
fn candidates(opcode: Opcode) -> impl Iterator<Item = Word> {
    (0..MODES.len()).flat_map(move |mode| candidates_in(opcode, AluOp::ALL, mode))
}

fn candidates_in(opcode: Opcode, ops: &'static [AluOp], mode: usize) -> impl Iterator<Item = Word> {
    let dtypes = || Dtype::ALL.iter().copied().filter(|dtype| dtype.is_output_64());
    let outputs = |input| [(input, input), (input, Dtype::Fp32), (input, Dtype::Uint32)];
    dtypes().flat_map(outputs).flat_map(move |(input, output)| {
        ops.iter().map(move |&op| candidate(opcode, op, input, output, mode))
    })
}

/// What the tables promise: an opcode that a generation and an engine have, has a legal word there,
/// and nowhere else.
#[test]
fn every_opcode_has_legal_words_where_the_tables_say_so() {
    for &opcode in Opcode::ALL {
        let info = opcode.info();
        for target in Generation::ALL.map(Target::new) {
            for engine in Engine::ALL {
                let legal = |word: &Word| is_legal(word, &target, Some(engine));
                if info.generations.contains(target.generation) && info.engines.contains(engine) {
                    let found = candidates(opcode).find(legal);
                    assert!(found.is_some(), "{opcode} on {target} {engine}");
                } else {
                    let found = candidates(opcode).step_by(101).find(legal);
                    assert_eq!(found, None, "{opcode} on {target} {engine}");
                }
            }
        }
    }
}

#[test]
fn legal_words_survive_text_and_one_changed_byte() {
    for &opcode in Opcode::ALL {
        for target in Generation::ALL.map(Target::new) {
            let round_trip = |word: &Word| {
                let text = format_plain(&Instruction::decode(word), &target);
                let back = parse_plain(&text, &target).map(|parsed| parsed.encode());
                assert_eq!(back.as_ref(), Ok(word), "{text}");
            };
            let legal = candidates(opcode).step_by(17).filter(|w| is_legal(w, &target, None));
            for (number, word) in legal.enumerate() {
                round_trip(&word);
                let mut changed = word;
                changed.0[1 + number * 7 % 63] ^= (number * 31 % 255 + 1) as u8;
                round_trip(&changed);
            }
        }
    }
}

/// Rules that are never reported under their own id, and what is reported instead.
const ELSEWHERE: [(&str, &[&str]); 4] = [
    ("TB-1", &["GEN-1"]),
    ("RB-1", &["GEN-1"]),
    ("TS-6", &["TS-6a", "TS-6b", "TS-6c"]),
    ("TS-14", &["IND-3"]),
];

/// A few legal words in every mode of an opcode, with an operation of each class.
fn starts(opcode: Opcode, target: Target) -> Vec<Word> {
    use AluOp::*;
    const CLASSES: &[AluOp] =
        &[Bypass, Add, Max, BitwiseAnd, LogicalShiftRight, AddInt, AmaxInt, Rsqrt];
    let mut words = Vec::new();
    for mode in 0..MODES.len() {
        let legal: Vec<Word> = candidates_in(opcode, CLASSES, mode)
            .filter(|word| is_legal(word, &target, None))
            .collect();
        words.extend(legal.iter().step_by(legal.len() / 3 + 1));
    }
    words
}

/// From legal words, one field is changed at a time: every rule is reported under an opcode that has
/// it, and a legal word reports none.
#[test]
fn each_rule_is_reported_when_it_is_broken() {
    let mut stated: BTreeSet<&str> = BTreeSet::new();
    let mut reported: BTreeSet<&str> = BTreeSet::new();
    for &opcode in Opcode::ALL {
        let info = opcode.info();
        stated.extend(rules_of(info).iter().map(|rule| rule.id));
        for target in Generation::ALL.map(Target::new) {
            for word in starts(opcode, target) {
                for (number, changed) in broken(&word, opcode).into_iter().enumerate() {
                    let engine = [Engine::Dve, Engine::Pool, Engine::Dve, Engine::Act][number % 4];
                    let found = check(&changed, &target, Some(engine));
                    reported.extend(found.iter().map(|violation| violation.rule.id));
                }
            }
        }
    }
    let silent: Vec<&str> = stated
        .into_iter()
        .filter(|id| match ELSEWHERE.iter().find(|row| row.0 == *id) {
            Some((_, instead)) => !instead.iter().all(|id| reported.contains(id)),
            None => !reported.contains(id),
        })
        .collect();
    assert!(silent.is_empty(), "never reported: {}", silent.join(", "));
}

/// The word with one byte at a time set to something else, and with one pattern at a time moved or
/// reshaped to what some rule forbids.
fn broken(word: &Word, opcode: Opcode) -> Vec<Word> {
    let mut words = vec![*word];
    let bytes = (1..64)
        .flat_map(|at| [0, 1, 2, 3, 4, 7, 0x1c, 0x1d, 0x81, 0xc4, 0xff].map(|value| (at, value)));
    words.extend(bytes.filter(|&(at, value)| word.0[at] != value).map(|(at, value)| {
        let mut changed = *word;
        changed.0[at] = value;
        changed
    }));
    for field in opcode.info().layout().fields {
        let FieldKind::Pattern(dims) = field.kind else { continue };
        let mut change = |edits: &[(usize, &[u8])]| {
            let mut changed = *word;
            for (at, bytes) in edits {
                changed.0[field.offset + at..field.offset + at + bytes.len()]
                    .copy_from_slice(bytes);
            }
            // Both engines judge each.
            words.extend([changed, changed]);
        };
        // PSUM, an odd address, partition 32.
        for place in [0x200_0000_u32, 1, 2, 32 * 0x4_0000, 32 * 0x10_0000] {
            change(&[(0, &place.to_le_bytes())]);
        }
        // Odd counts, innermost and next.
        change(&[(4 + 2 * dims, &[31, 0])]);
        change(&[(6 + 2 * dims, &[3, 0])]);
        // A gather of 32 elements whose index lies in another quadrant, and one that is in order.
        for index in [0x2000_0400 + 32 * 0x4_0000, 0x2000_0400_u32] {
            let data = 0x1000_u32.to_le_bytes();
            let blank = [0; 10];
            let rest = &blank[..4 * dims - 6];
            change(&[(0, &index.to_le_bytes()), (4, &data), (8, &[32, 0]), (10, rest)]);
        }
    }
    words
}
