//! Properties over every opcode, generation and engine: words made to be legal are, and each rule
//! reports when it alone is broken.

use std::collections::{BTreeMap, BTreeSet};

use partita_isa::asm::{format_plain, parse_plain};
use partita_isa::explain::{rules, rules_of};
use partita_isa::{
    AluOp, Dtype, Engine, Field, FieldKind, Generation, Instruction, Opcode, Target, Violation,
    Word, check, is_legal,
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

/// TS-6 says itself that one of its three forms is reported in its place.
const ELSEWHERE: [(&str, &[&str]); 1] = [("TS-6", &["TS-6a", "TS-6b", "TS-6c"])];

/// Rules that no word breaks without breaking others, and why.
const COMPANIONS: [(&str, &[&str]); 4] = [
    // The opcode's own rule for its engine says the same as the row of ISA 11.1.
    ("TC-E1", &["ENG-1"]),
    // The opcodes that take 64-bit types have a rule of their own against them on DVE.
    ("ENG-3", &["TT-E1", "TT-E3", "TR-E1"]),
    // Where the target is not SUNDA the number is not defined either.
    ("TB-1", &["HDR-1"]),
    ("RB-1", &["HDR-1"]),
];

/// No word breaks these: IMM-2 holds for any bits, EV-4 is about two values in text; the rest are warnings.
const UNBREAKABLE: [&str; 8] =
    ["IMM-2", "EV-4", "EV-5", "DBG-1", "DEP-1", "OVL-1", "SUM-1", "TS-15"];

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
        words.extend(legal.iter().step_by(legal.len() / 7 + 1));
    }
    words
}

/// The ids of the errors, those of one chain (a rule, the shared rule that it asks for, and so on) together.
fn chains(found: &[Violation]) -> Vec<Vec<&'static str>> {
    let mut chains: Vec<Vec<&'static str>> = Vec::new();
    for violation in found.iter().filter(|violation| violation.is_error()) {
        let outer = violation.inside.map(|rule| rule.id);
        match chains.iter_mut().find(|chain| outer.is_some_and(|outer| chain.contains(&outer))) {
            Some(chain) => chain.push(violation.rule.id),
            None => chains.push(vec![violation.rule.id]),
        }
    }
    chains
}

/// From legal words, one field is changed at a time: for every rule there is a word that breaks it and nothing else
/// than the rules it is made of or a part of, and what [`COMPANIONS`] names.
#[test]
fn each_rule_is_reported_alone_when_it_alone_is_broken() {
    let mut alone: BTreeSet<&str> = BTreeSet::new();
    let mut accompanied: BTreeSet<&str> = BTreeSet::new();
    let mut fewest: BTreeMap<&str, Vec<Vec<&str>>> = BTreeMap::new();
    let mut judged = |found: &[Violation]| {
        let chains = chains(found);
        if let [chain] = &chains[..] {
            alone.extend(chain);
        }
        for &id in chains.iter().flatten() {
            let few = fewest.entry(id).or_insert_with(|| chains.clone());
            if chains.len() < few.len() {
                few.clone_from(&chains);
            }
            let allowed = COMPANIONS.iter().find(|row| row.0 == id).map_or(&[][..], |row| row.1);
            let is_allowed = |chain: &Vec<&str>| {
                chain.contains(&id) || chain.iter().all(|id| allowed.contains(id))
            };
            if !allowed.is_empty() && chains.iter().all(is_allowed) {
                accompanied.insert(id);
            }
        }
    };
    let mut stated: BTreeSet<&str> = BTreeSet::new();
    for &opcode in Opcode::ALL {
        stated.extend(rules_of(opcode.info()).iter().map(|rule| rule.id));
        for target in Generation::ALL.map(Target::new) {
            for word in starts(opcode, target) {
                for changed in broken(&word, opcode) {
                    for engine in ENGINES {
                        judged(&check(&changed, &target, engine));
                    }
                }
                for (target, engine) in everywhere() {
                    judged(&check(&word, &target, engine));
                }
            }
        }
    }
    let tested = rules().map(|rule| rule.id).filter(|id| {
        let shown_only = ["N-", "BLK-", "DMA-"].iter().any(|group| id.starts_with(group));
        !shown_only && !UNBREAKABLE.contains(id)
    });
    stated.extend(tested);
    for id in stated.into_iter().filter(|id| !UNBREAKABLE.contains(id)) {
        if let Some((_, instead)) = ELSEWHERE.iter().find(|row| row.0 == id) {
            assert!(instead.iter().all(|id| alone.contains(id)), "{id}");
        } else if COMPANIONS.iter().any(|row| row.0 == id) {
            assert!(!alone.contains(id), "{id} needs no companion");
            assert!(accompanied.contains(id), "{id} has other companions: {:?}", fewest.get(id));
        } else {
            assert!(alone.contains(id), "{id} is not reported alone: {:?}", fewest.get(id));
        }
    }
}

const ENGINES: [Option<Engine>; 4] =
    [Some(Engine::Dve), Some(Engine::Pool), None, Some(Engine::Act)];

fn everywhere() -> impl Iterator<Item = (Target, Option<Engine>)> {
    Generation::ALL.into_iter().flat_map(|g| ENGINES.map(|engine| (Target::new(g), engine)))
}

/// The word with one byte at a time set to something else, and with one pattern at a time moved or
/// reshaped to what some rule forbids.
fn broken(word: &Word, opcode: Opcode) -> Vec<Word> {
    let mut words = vec![*word];
    let bytes = (0..64)
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
            words.push(changed);
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
    words.extend(broken_together(word, opcode));
    words
}

/// The word with fields changed together, for rules about several of them.
fn broken_together(word: &Word, opcode: Opcode) -> Vec<Word> {
    let fields = opcode.info().layout().fields;
    let set = |word: &mut Word, field: &Field, at: usize, bytes: &[u8]| {
        let start = field.offset + at;
        word.0[start..start + bytes.len()].copy_from_slice(bytes);
    };
    let mut words = Vec::new();
    let patterns = || fields.iter().filter(|field| matches!(field.kind, FieldKind::Pattern(_)));
    let dims = |field: &Field| (field.size - 4) / 4;
    // All walks get the same odd count, in one dimension.
    for (d, count) in [(0, 31_u16), (1, 3)] {
        let mut changed = *word;
        for field in patterns().filter(|field| d < dims(field)) {
            set(&mut changed, field, 4 + 2 * dims(field) + 2 * d, &count.to_le_bytes());
        }
        words.push(changed);
    }
    // All types become one.
    for dtype in [Dtype::Fp32, Dtype::Int64, Dtype::Int16] {
        let mut changed = *word;
        for field in fields {
            match field.kind {
                FieldKind::Dtype => set(&mut changed, field, 0, &[dtype.code()]),
                FieldKind::DtypePair => set(&mut changed, field, 0, &[dtype.code() * 0x11]),
                _ => {}
            }
        }
        words.push(changed);
    }
    // 32 channels, one operand of which starts 32 partitions on; then with the other ones gathered.
    let in_32 = (32 * 0x4_0000_u32).to_le_bytes();
    for moved in patterns() {
        let mut changed = *word;
        for field in fields.iter().filter(|field| matches!(field.kind, FieldKind::Channels)) {
            set(&mut changed, field, 0, &[32]);
        }
        set(&mut changed, moved, 0, &in_32);
        words.push(changed);
        for field in patterns().filter(|field| field.name != moved.name) {
            set(&mut changed, field, 0, &0x2000_0400_u32.to_le_bytes());
            set(&mut changed, field, 4, &0x1000_u32.to_le_bytes());
            set(&mut changed, field, 8, &32_u32.to_le_bytes());
        }
        words.push(changed);
    }
    // A register pointer to a register that does not exist.
    for field in fields {
        let FieldKind::Immediate { source } = field.kind else { continue };
        let mut changed = *word;
        set(&mut changed, source, 0, &[2]);
        set(&mut changed, field, 0, &[64, 0, 0, 0]);
        words.push(changed);
    }
    // A left shift, then a right shift.
    if let (Some(op0), Some(op1)) =
        (opcode.info().layout().field("op0"), opcode.info().layout().field("op1"))
    {
        let mut changed = *word;
        set(&mut changed, op0, 0, &[AluOp::LogicalShiftLeft.code()]);
        set(&mut changed, op1, 0, &[AluOp::LogicalShiftRight.code()]);
        words.push(changed);
    }
    words
}
