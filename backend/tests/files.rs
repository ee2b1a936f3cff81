//! Programs written to files and read back, and files that lie.

use std::collections::BTreeMap;

use partita_backend::asm_file;
use partita_backend::cost::{DmaCost, Profile, ProgramCost, dma_cost};
use partita_backend::image;
use partita_backend::program::{DataBlock, Io, IoTensor, Meta, Place, Program, Slot, Symbol};
use partita_ir::{ElemType, RandomRange, Source};
use partita_isa::dma::{Descriptor, DmaAddr, DmaDim, DmaKind, List};
use partita_isa::{Dtype, Engine, Generation, Instruction, Opcode, Target, Word};

fn descriptor(queue: u8, elem: Dtype, dims: &[(u32, i64, i64)]) -> Descriptor {
    let dims: Vec<DmaDim> = dims
        .iter()
        .map(|&(count, src_stride, dst_stride)| DmaDim { count, src_stride, dst_stride })
        .collect();
    Descriptor {
        queue,
        dims: List::try_from(&dims[..]).unwrap(),
        ..Descriptor::copy(elem, DmaAddr::hbm(0), DmaAddr::sbuf(0))
    }
}

fn tensor(name: &str, shape: &[u64], address: u64) -> IoTensor {
    IoTensor {
        name: name.to_owned(),
        shape: shape.to_vec(),
        dtype: ElemType::F32,
        address,
        random: None,
    }
}

/// Two engines, two queues, constants and names of every kind.
fn sample() -> Program {
    let copy = Instruction::blank(Opcode::Copy).encode();
    let cast = Instruction::blank(Opcode::Cast).encode();
    let illegal = Word([0xee; 64]);
    let load = descriptor(3, Dtype::Fp32, &[(512, 4, 4), (128, 2048, 0x4_0000)]);
    let store = Descriptor { queue: 0, ..load };
    let symbol =
        |name: &str, place, first, count| Symbol { name: name.to_owned(), place, first, count };
    Program {
        target: Target::new(Generation::Mariana),
        words: BTreeMap::from([
            (Engine::Pool, vec![cast]),
            (Engine::Dve, vec![copy, illegal, copy]),
        ]),
        dma: vec![load, store, load],
        order: vec![
            Slot::Dma(3),
            Slot::Word(Engine::Dve),
            Slot::Word(Engine::Dve),
            Slot::Dma(0),
            Slot::Word(Engine::Pool),
            Slot::Word(Engine::Dve),
            Slot::Dma(3),
        ],
        data: vec![
            DataBlock { address: 0, bytes: (0..=255).collect() },
            DataBlock { address: 256, bytes: vec![7] },
            DataBlock { address: 300, bytes: Vec::new() },
        ],
        io: Io {
            hbm_bytes: 1 << 20,
            inputs: vec![
                IoTensor {
                    random: Some(RandomRange::Uniform(-0.1, 1e-300)),
                    ..tensor("x", &[128, 512], 0x1000)
                },
                IoTensor {
                    random: Some(RandomRange::Int(-3, i64::MAX)),
                    ..tensor("a b; \"c\"", &[], 4)
                },
            ],
            outputs: vec![tensor("out0", &[0, 3], 0x8000)],
        },
        meta: Meta {
            version: "0.1.0".to_owned(),
            pipeline: vec!["fuse".to_owned(), "tile{budget=3}".to_owned()],
        },
        symbols: vec![
            symbol("%load", Place::Dma, 0, 1),
            symbol("y", Place::Words(Engine::Dve), 0, 2),
            symbol("y.inner", Place::Words(Engine::Dve), 1, 1),
            symbol("odd: name", Place::Words(Engine::Pool), 0, 1),
        ],
    }
}

fn assemble(text: &str) -> asm_file::AsmFile {
    let source = Source::new("test.asm", text);
    asm_file::read(&source, Target::default(), None)
        .unwrap_or_else(|faults| panic!("{faults:#?}\n{text}"))
}

#[test]
fn an_image_reads_back_as_the_same_program() {
    let program = sample();
    let file = image::write(&program).unwrap();
    assert!(image::is_image(&file));
    assert_eq!(image::read(&file).unwrap(), program);
}

#[test]
fn assembler_text_reads_back_as_the_same_image() {
    let program = sample();
    let text = asm_file::print(&program);
    let back = assemble(&text);
    assert_eq!(back.program, program, "{text}");
    assert_eq!(back.raw, None);
    assert_eq!(image::write(&back.program), image::write(&program));
}

#[test]
fn words_alone_are_raw() {
    let word = Instruction::blank(Opcode::Copy).encode();
    let hex = format!("; a block\n\n.word {word}\n");
    assert_eq!(assemble(&hex).raw, Some(None));
    assert_eq!(assemble(&hex).words().collect::<Vec<_>>(), [word]);
    assert_eq!(assemble(&format!(".engine pool\n{hex}")).raw, Some(Some(Engine::Pool)));
    assert_eq!(assemble(&format!("{hex}.engine pool\n{hex}")).raw, None, "words of two engines");
    assert_eq!(assemble(&format!("a:\n{hex}")).raw, None, "a label is kept only in an image");
}

#[test]
fn every_fault_of_a_text_is_reported_at_its_place() {
    let text =
        ".target venus\n.io hbm zzz\n  .data + 00\n.word 12\nnonsense\n.dma elem=FP32\n.bogus\n";
    let source = Source::new("bad.asm", text);
    let faults = asm_file::read(&source, Target::default(), None).unwrap_err();
    let lines: Vec<usize> = faults
        .iter()
        .map(|fault| source.line_column(fault.primary.span.start as usize).0)
        .collect();
    assert_eq!(lines, [1, 2, 3, 4, 5, 6, 7], "{faults:#?}");
}

#[test]
fn a_text_must_hang_together() {
    let fails = |text: &str, part: &str| {
        let source = Source::new("bad.asm", text);
        let faults = asm_file::read(&source, Target::default(), None).unwrap_err();
        assert!(faults[0].message.contains(part), "{faults:#?}");
    };
    fails("a:\n", "no item");
    fails(".io hbm 16\n.io input x f32[5] at 0\n", "outside");
    fails(".io hbm 16\n.io input x f32[1] at 0\n.io input x f32[1] at 4\n", "two inputs");
    fails(&format!("a: 2\n.word {}\n", Word([0; 64])), "past the end");
}

/// No corruption may do worse than an error: each byte is changed in turn, and the file is cut at each length.
#[test]
fn damaged_images_are_errors_or_programs_but_never_panics() {
    let file = image::write(&sample()).unwrap();
    for length in 0..file.len() {
        let _ = image::read(&file[..length]);
    }
    for at in 0..file.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut damaged = file.clone();
            damaged[at] ^= change;
            if let Ok(program) = image::read(&damaged) {
                program.check_structure().unwrap();
            }
        }
    }
}

fn cayman_dma(descriptor: &Descriptor) -> DmaCost {
    dma_cost(descriptor, Profile::of(Generation::Cayman))
}

#[test]
fn transfers_pay_for_short_rows() {
    // 256 KiB in 2 KiB rows at 368 bytes a nanosecond.
    let rows = descriptor(0, Dtype::Fp32, &[(512, 4, 4), (128, 2048, 0x4_0000)]);
    let cost = cayman_dma(&rows);
    assert_eq!((cost.bytes, cost.row), (262_144, 2048));
    assert!((cost.total_ns - (1300.0 + 262_144.0 / 368.0)).abs() < 1e-9);
    // Rows of 64 bytes run at an eighth of the rate.
    let short = descriptor(0, Dtype::Fp32, &[(16, 4, 4), (128, 64, 0x4_0000)]);
    assert!((cayman_dma(&short).transfer_ns - 8192.0 * 8.0 / 368.0).abs() < 1e-9);
    let adding = Descriptor { kind: DmaKind::Add, ..rows };
    assert!((cayman_dma(&adding).transfer_ns - 2.0 * 262_144.0 / 368.0).abs() < 1e-9);
    // One row for all partitions: what is written counts.
    let broadcast = descriptor(0, Dtype::Fp32, &[(512, 4, 4), (128, 0, 0x4_0000)]);
    assert_eq!(cayman_dma(&broadcast), cayman_dma(&rows));
    // A transpose of 2-byte elements is the engines' own mode.
    let transpose = descriptor(0, Dtype::Bfloat16, &[(512, 256, 2), (128, 2, 0x4_0000)]);
    assert!((cayman_dma(&transpose).transfer_ns - 131_072.0 / (368.0 * 0.9)).abs() < 1e-9);
}

#[test]
fn the_bound_is_the_busiest_engine_or_the_transfers() {
    let cost = ProgramCost::new(&sample(), Profile::of(Generation::Mariana));
    // Two copies of one element at the floor; the illegal word is not priced.
    assert_eq!((cost.cycles(Engine::Dve), cost.engines[1].unpriced), (128, 1));
    assert_eq!(cost.cycles(Engine::Pool), 151);
    let transfers = 3.0 * 262_144.0 / 528.0;
    assert!((cost.dma.busy_ns - transfers).abs() < 1e-9);
    assert!((cost.bound_ns - (transfers + 1300.0).max(151.0 / 1.2 + 2600.0)).abs() < 1e-9);
}
