//! Properties over arbitrary words: decoding loses nothing, text loses nothing, checking never fails
//! to answer.

use partita_isa::asm::{format, format_plain, parse, parse_plain};
use partita_isa::dma::{self, Descriptor};
use partita_isa::{Engine, Generation, Instruction, Opcode, Target, Word, check};
use proptest::prelude::*;

fn target() -> impl Strategy<Value = Target> {
    proptest::sample::select(Generation::ALL.to_vec()).prop_map(Target::new)
}

/// Any bytes under any opcode of the subset, or any opcode at all.
fn random_word() -> impl Strategy<Value = Word> {
    let opcode = prop_oneof![
        8 => proptest::sample::select(Opcode::ALL.to_vec()).prop_map(Opcode::number),
        1 => any::<u8>(),
    ];
    (opcode, any::<[u8; 32]>(), any::<[u8; 32]>()).prop_map(|(opcode, low, high)| {
        let mut word = [0; 64];
        word[..32].copy_from_slice(&low);
        word[32..].copy_from_slice(&high);
        word[0] = opcode;
        Word(word)
    })
}

/// A blank of any opcode with a few bytes changed: near the legal words, where text takes its
/// readable forms.
fn mutated_word() -> impl Strategy<Value = Word> {
    let changes = proptest::collection::vec((1_usize..64, any::<u8>()), 0..6);
    (proptest::sample::select(Opcode::ALL.to_vec()), changes).prop_map(|(opcode, changes)| {
        let mut word = Instruction::blank(opcode).encode();
        for (offset, byte) in changes {
            word.0[offset] = byte;
        }
        word
    })
}

fn any_word() -> impl Strategy<Value = Word> {
    prop_oneof![random_word(), mutated_word()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn encode_undoes_decode(word in any_word()) {
        prop_assert_eq!(Instruction::decode(&word).encode(), word);
    }

    #[test]
    fn parse_undoes_format(word in any_word(), target in target()) {
        let text = format_plain(&Instruction::decode(&word), &target);
        let parsed = parse_plain(&text, &target);
        prop_assert_eq!(parsed.map(|parsed| parsed.encode()), Ok(word), "{}", text);
    }

    #[test]
    fn parse_undoes_format_with_symbols(word in any_word(), target in target()) {
        let instruction = Instruction::decode(&word);
        let text = format(&instruction, &target, &|field| Some(format!("%{field}.0")));
        let parsed = parse(&text, &target, &mut |field, name| name == format!("%{field}.0"));
        prop_assert_eq!(parsed.map(|parsed| parsed.encode()), Ok(word), "{}", text);
    }

    #[test]
    fn check_answers(word in any_word(), target in target()) {
        for engine in [None, Some(Engine::Dve), Some(Engine::Pool), Some(Engine::Act)] {
            for violation in check(&word, &target, engine) {
                prop_assert!(violation.offset < 64);
                prop_assert!(!violation.allowed.is_empty());
            }
        }
    }

    #[test]
    fn any_line_gets_an_answer(line in "\\PC{0,60}", target in target()) {
        let refused = [parse_plain(&line, &target).err(), dma::parse_plain(&line, &target).err()];
        for error in refused.into_iter().flatten() {
            prop_assert!(line.get(error.span.clone()).is_some(), "{error:?}");
        }
    }

    /// Lines that are almost right reach further into the parser.
    #[test]
    fn damaged_lines_get_an_answer(word in mutated_word(), at in 0_usize..400, with in "\\PC?") {
        let target = Target::default();
        let mut text = format_plain(&Instruction::decode(&word), &target);
        let at = at % (text.len() + 1);
        if text.is_char_boundary(at) {
            text.replace_range(at..(at + 1).min(text.len()), &with);
        }
        if let Err(error) = parse_plain(&text, &target) {
            prop_assert!(text.get(error.span.clone()).is_some(), "{error:?} in {text}");
        }
    }

    #[test]
    fn dma_record_and_text_lose_nothing(descriptor in descriptor(), target in target()) {
        prop_assert_eq!(Descriptor::decode(&descriptor.encode()), Ok(descriptor));
        let text = dma::format_plain(&descriptor, &target);
        prop_assert_eq!(dma::parse_plain(&text, &target), Ok(descriptor), "{}", text);
        dma::check(&descriptor, &target, 1 << 30);
    }

    #[test]
    fn a_record_that_decodes_is_its_own_encoding(
        descriptor in descriptor(),
        at in 0_usize..256,
        byte in any::<u8>(),
    ) {
        let mut record = descriptor.encode();
        record[at] = byte;
        if let Ok(decoded) = Descriptor::decode(&record) {
            prop_assert_eq!(decoded.encode(), record);
        }
    }
}

fn descriptor() -> impl Strategy<Value = Descriptor> {
    use partita_isa::Dtype;
    use partita_isa::dma::{DmaAddr, DmaDim, DmaKind, DmaSpace, DmaWait, List};
    let place = || {
        (prop_oneof![Just(DmaSpace::Hbm), Just(DmaSpace::Sbuf)], any::<u64>())
            .prop_map(|(space, addr)| DmaAddr { space, addr })
    };
    let stride = || prop_oneof![any::<i64>(), -9_i64..9, Just(0x4_0000_i64)];
    let dim = (any::<u32>(), stride(), stride())
        .prop_map(|(count, src_stride, dst_stride)| DmaDim { count, src_stride, dst_stride });
    let wait =
        (any::<u8>(), any::<u32>()).prop_map(|(semaphore, value)| DmaWait { semaphore, value });
    (
        any::<u8>(),
        proptest::sample::select(DmaKind::ALL.to_vec()),
        proptest::sample::select(Dtype::ALL.to_vec()),
        place(),
        place(),
        proptest::collection::vec(dim, 0..=6),
        proptest::collection::vec(wait, 0..=4),
        any::<Option<u8>>(),
    )
        .prop_map(|(queue, kind, elem, src, dst, dims, waits, update)| Descriptor {
            queue,
            kind,
            elem,
            src,
            dst,
            dims: List::try_from(dims.as_slice()).expect("at most six"),
            waits: List::try_from(waits.as_slice()).expect("at most four"),
            update,
        })
}
