//! Timelines worked out by hand from the cost model.

use std::collections::BTreeMap;

use partita_backend::cost::Profile;
use partita_backend::counters::Cell;
use partita_backend::program::{Io, Meta, Program, Slot};
use partita_backend::timeline::{After, Item, Timeline, sensitivity, simulate};
use partita_isa::dma::{Descriptor, DmaAddr, DmaDim, DmaWait};
use partita_isa::{
    Dtype, Engine, Generation, Instruction, Opcode, Pattern, Target, TensorReduce, UpdateMode,
    WaitMode,
};

use Engine::{Dve, Pool};
use Generation::{Cayman, Sunda};

const PSUM: u32 = 0x200_0000;

/// A copy of `n` floats within SBUF: `n` cycles on DVE from 64 up, 150 + n on POOL.
fn copy(n: u16) -> Instruction {
    copy_from(0, n)
}

fn copy_from(source: u32, n: u16) -> Instruction {
    let destination = if source >= PSUM { PSUM + 0x2000 } else { 0x8000 };
    Instruction::new(
        Opcode::Copy,
        TensorReduce {
            src_mem_pattern: Pattern::contiguous(source, n),
            dst_mem_pattern: Pattern::contiguous(destination, n),
            in_dtype: Dtype::Fp32.code(),
            out_dtype: Dtype::Fp32.code(),
            ..TensorReduce::default()
        },
    )
}

fn wait(mut word: Instruction, mode: WaitMode, index: u8, value: u32) -> Instruction {
    word.events.wait_mode = mode.code();
    word.events.wait_idx = index;
    word.events.semaphore_value = value;
    word
}

fn update(mut word: Instruction, mode: UpdateMode, index: u8) -> Instruction {
    word.events.update_mode = mode.code();
    word.events.update_idx = index;
    word
}

fn incs(word: Instruction, index: u8) -> Instruction {
    update(word, UpdateMode::SemIncDone, index)
}

fn waits(word: Instruction, index: u8, value: u32) -> Instruction {
    wait(word, WaitMode::SemGeImm, index, value)
}

/// `rows` rows of 2 KiB.
fn load(queue: u8, rows: u32) -> Descriptor {
    let mut descriptor = Descriptor::copy(Dtype::Fp32, DmaAddr::hbm(0), DmaAddr::sbuf(0));
    descriptor.queue = queue;
    let dims = [
        DmaDim { count: 512, src_stride: 4, dst_stride: 4 },
        DmaDim { count: rows, src_stride: 2048, dst_stride: 0x4_0000 },
    ];
    descriptor.dims = dims[..].try_into().unwrap();
    descriptor
}

fn program(
    generation: Generation,
    words: &[(Engine, &[Instruction])],
    dma: &[Descriptor],
) -> Program {
    let words: BTreeMap<_, Vec<_>> = words
        .iter()
        .map(|(engine, words)| (*engine, words.iter().map(Instruction::encode).collect()))
        .collect();
    let order = words
        .iter()
        .flat_map(|(&engine, words)| vec![Slot::Word(engine); words.len()])
        .chain(dma.iter().map(|descriptor| Slot::Dma(descriptor.queue)))
        .collect();
    Program {
        target: Target::new(generation),
        words,
        dma: dma.to_vec(),
        order,
        data: Vec::new(),
        io: Io { hbm_bytes: 1 << 20, ..Io::default() },
        meta: Meta::default(),
        symbols: Vec::new(),
    }
}

fn timed(program: &Program) -> Timeline {
    simulate(program, Profile::of(program.target.generation)).expect("no deadlock")
}

fn of(timeline: &Timeline, slot: Slot) -> Vec<Item> {
    timeline.items.iter().filter(|item| item.slot == slot).copied().collect()
}

fn spans(timeline: &Timeline, slot: Slot) -> Vec<(u64, u64)> {
    of(timeline, slot).iter().map(|item| (item.start_ps, item.end_ps)).collect()
}

/// 0.96 GHz is 1041.67 ps a cycle: a thousand words of 64 cycles end at 66 666 666.67 ps, not at a thousand roundings.
#[test]
fn words_back_to_back_do_not_drift() {
    let words = vec![copy(64); 1000];
    let timeline = timed(&program(Cayman, &[(Dve, &words)], &[]));
    assert_eq!(timeline.makespan_ps, 66_666_667);
    assert_eq!(timeline.items[0].end_ps, 66_667);
    assert_eq!(timeline.items[2].end_ps, 200_000);
}

/// POOL's words are items 0 and 1, as POOL has the smaller number. A signal of another queue is noticed 64 cycles of the waiting engine later; one of the own queue, and one that is
/// older than that, at once.
#[test]
fn a_signal_takes_sixty_four_cycles_of_the_engine_that_waits() {
    let dve = [incs(copy(960), 1), copy(96)];
    let pool = [waits(copy(90), 1, 1), waits(copy(90), 1, 1)];
    let timeline = timed(&program(Cayman, &[(Dve, &dve), (Pool, &pool)], &[]));
    // 960 cycles at 0.96 GHz are 1000 ns; 64 at 1.2 GHz 53.333; 240 are 200.
    assert_eq!(
        spans(&timeline, Slot::Word(Pool)),
        [(1_053_333, 1_253_333), (1_253_333, 1_453_333)]
    );
    let pool = of(&timeline, Slot::Word(Pool));
    assert_eq!((pool[0].after, pool[1].after), (After::Signal(2), After::Order(0)));
    assert_eq!((pool[0].ready_ps, pool[0].granted_ps), (0, 1_053_333));
    // Both were satisfied by the same update.
    let signals: Vec<_> =
        timeline.signals.iter().map(|s| (s.cell, s.from, s.to, s.at_ps)).collect();
    assert_eq!(
        signals,
        [(Cell::Semaphore(1), 2, 0, 1_000_000), (Cell::Semaphore(1), 2, 1, 1_000_000)]
    );
    let own = [incs(copy(960), 1), waits(copy(96), 1, 1)];
    let timeline = timed(&program(Cayman, &[(Dve, &own)], &[]));
    assert_eq!(spans(&timeline, Slot::Word(Dve))[1].0, 1_000_000);
    // 30 ns after the update the queue is free: the rest of the 53.333 is still to wait.
    let dve = [incs(copy(96), 1)];
    let pool = [copy(6), waits(copy(6), 1, 1)];
    let timeline = timed(&program(Cayman, &[(Dve, &dve), (Pool, &pool)], &[]));
    assert_eq!(spans(&timeline, Slot::Word(Pool)), [(0, 130_000), (153_333, 283_333)]);
}

/// A descriptor is not told later: 1300 ns until its first byte hold that.
#[test]
fn a_transfer_takes_its_latency_and_its_bytes() {
    let mut store = load(1, 92);
    store.waits = [DmaWait { semaphore: 1, value: 1 }][..].try_into().unwrap();
    // 92 rows of 2048 bytes at 368 bytes a nanosecond are 512 ns.
    let timeline = timed(&program(Cayman, &[(Dve, &[incs(copy(960), 1)])], &[store]));
    let item = of(&timeline, Slot::Dma(1))[0];
    assert_eq!((item.start_ps, item.moving_ps, item.end_ps), (1_000_000, 2_300_000, 2_812_000));
    assert_eq!((item.bytes, timeline.makespan_ps), (92 * 2048, 2_812_000));
    assert_eq!((timeline.dma_under_way_ps, timeline.dma_moving_ps), (1_812_000, 512_000));
}

/// Within a queue transfers follow one another and latencies overlap; between queues they share the bandwidth.
#[test]
fn transfers_follow_one_another_in_a_queue_and_share_between_queues() {
    let timeline = timed(&program(Cayman, &[], &[load(0, 92), load(0, 92)]));
    let items = of(&timeline, Slot::Dma(0));
    assert_eq!((items[0].moving_ps, items[0].end_ps), (1_300_000, 1_812_000));
    assert_eq!((items[1].start_ps, items[1].moving_ps, items[1].end_ps), (0, 1_812_000, 2_324_000));
    // 46 rows need 256 ns alone, 92 rows 512: together the first takes 512, then the second has 256 left.
    let timeline = timed(&program(Cayman, &[], &[load(0, 46), load(1, 92)]));
    assert_eq!(spans(&timeline, Slot::Dma(0)), [(0, 1_812_000)]);
    assert_eq!(spans(&timeline, Slot::Dma(1)), [(0, 2_068_000)]);
}

#[test]
fn sixteen_descriptors_are_under_way_at_most() {
    let timeline = timed(&program(Cayman, &[], &vec![load(3, 92); 18]));
    let items = of(&timeline, Slot::Dma(3));
    assert!(items[..16].iter().all(|item| item.start_ps == 0));
    // The seventeenth takes the place of the first, the eighteenth that of the second.
    assert_eq!((items[16].start_ps, items[16].after), (1_812_000, After::Room(0)));
    assert_eq!((items[17].start_ps, items[17].after), (2_324_000, After::Room(1)));
    let under_way = |at: u64| items.iter().filter(|i| i.start_ps <= at && at < i.end_ps).count();
    assert!(items.iter().all(|item| under_way(item.start_ps) <= 16));
    // All bytes at the whole bandwidth, and one latency.
    assert_eq!(timeline.makespan_ps, 1_300_000 + 18 * 512_000);
}

/// On SUNDA the two vector engines take turns at SBUF; PSUM is not part of that, nor are later generations.
#[test]
fn vector_engines_take_turns_at_sbuf_on_sunda() {
    // 1120 cycles at 1.12 GHz are 1000 ns; POOL at 1.4 GHz takes 150 + 550 = 700 cycles, 500 ns.
    let words: [(Engine, &[Instruction]); 2] =
        [(Dve, &[copy(1120), copy(1120)]), (Pool, &[copy(550)])];
    let timeline = timed(&program(Sunda, &words, &[]));
    assert_eq!(spans(&timeline, Slot::Word(Pool)), [(0, 500_000)]);
    // Both want it at 0 and POOL has the smaller number; then the vector engine has it for itself.
    assert_eq!(spans(&timeline, Slot::Word(Dve)), [(500_000, 1_500_000), (1_500_000, 2_500_000)]);
    assert_eq!(of(&timeline, Slot::Word(Dve))[0].after, After::Exclusive(0));
    let time = timeline.engine_time(&timeline.tracks[1]).unwrap();
    assert_eq!((time.busy_cycles, time.wait_cycles, time.memory_wait_cycles), (2240, 0, 560));
    let beside: [(Engine, &[Instruction]); 2] =
        [(Dve, &[copy_from(PSUM, 1120)]), (Pool, &[copy(550)])];
    assert_eq!(spans(&timed(&program(Sunda, &beside, &[])), Slot::Word(Dve)), [(0, 1_000_000)]);
    let timeline = timed(&program(Cayman, &words, &[]));
    assert_eq!(spans(&timeline, Slot::Word(Dve))[0].0, 0);
}

/// The engine that waited longest has SBUF next, though the other has words left.
#[test]
fn turns_at_sbuf_go_round() {
    let words: [(Engine, &[Instruction]); 2] =
        [(Dve, &[copy(1120), copy(1120)]), (Pool, &[copy(550), copy(550)])];
    let timeline = timed(&program(Sunda, &words, &[]));
    assert_eq!(spans(&timeline, Slot::Word(Pool)), [(0, 500_000), (1_500_000, 2_000_000)]);
    assert_eq!(spans(&timeline, Slot::Word(Dve)), [(500_000, 1_500_000), (2_000_000, 3_000_000)]);
}

/// Two words wait for one event and clear it: each setting lets one go, the longest waiting first.
#[test]
fn an_event_lets_one_waiter_go() {
    let clears = |word| wait(word, WaitMode::EvtSetThenClear, 7, 0);
    let sets = |word| update(word, UpdateMode::EvtSetDone, 7);
    let program = program(
        Cayman,
        &[
            (Engine::Act, &[sets(copy(1200)), sets(copy(1200))]),
            (Pool, &[clears(copy(90))]),
            (Dve, &[clears(copy(96))]),
        ],
        &[],
    );
    let timeline = timed(&program);
    assert_eq!(spans(&timeline, Slot::Word(Pool)), [(1_053_333, 1_253_333)]);
    assert_eq!(spans(&timeline, Slot::Word(Dve))[0].0, 2_066_667);
}

/// Semaphores may go down, be written, and be compared in every way.
#[test]
fn every_comparison_is_waited_for() {
    for (mode, value) in [(WaitMode::SemEqImm, 5), (WaitMode::SemGtImm, 4), (WaitMode::SemGeImm, 5)]
    {
        let mut write = update(copy(960), UpdateMode::SemWrImmDone, 2);
        write.events.semaphore_value = 5;
        let waiter = [wait(copy(90), mode, 2, value)];
        let timeline = timed(&program(Cayman, &[(Dve, &[write]), (Pool, &waiter)], &[]));
        assert_eq!(spans(&timeline, Slot::Word(Pool))[0].0, 1_053_333, "{mode}");
    }
    for (mode, value) in [(WaitMode::SemLtImm, 1), (WaitMode::SemLeImm, 0)] {
        // 1 after the first word, 0 again after the second.
        let dve = [incs(copy(960), 2), update(copy(960), UpdateMode::SemDecDone, 2)];
        let pool = [waits(copy(90), 2, 1), wait(copy(90), mode, 2, value)];
        let timeline = timed(&program(Cayman, &[(Dve, &dve), (Pool, &pool)], &[]));
        assert_eq!(spans(&timeline, Slot::Word(Pool))[1].0, 2_053_333, "{mode}");
    }
}

#[test]
fn a_deadlock_names_the_circle() {
    let dve = [copy(64), incs(waits(copy(64), 3, 1), 4)];
    let pool = [incs(waits(copy(64), 4, 1), 3)];
    let mut store = load(1, 1);
    store.waits = [DmaWait { semaphore: 9, value: 2 }][..].try_into().unwrap();
    let program = program(Cayman, &[(Dve, &dve), (Pool, &pool)], &[store]);
    let deadlock = simulate(&program, Profile::of(Cayman)).unwrap_err();
    assert!(deadlock.is_cycle());
    let circle: Vec<_> = deadlock
        .chain
        .iter()
        .map(|&at| (deadlock.stuck[at].slot, deadlock.stuck[at].index))
        .collect();
    assert_eq!(circle, [(Slot::Word(Pool), 0), (Slot::Word(Dve), 1), (Slot::Word(Pool), 0)]);
    let lines: Vec<String> = deadlock.stuck.iter().map(ToString::to_string).collect();
    assert!(
        lines[0].ends_with(
            "waits for semaphore 4 >= 1, but semaphore 4 is 0; dve[1] would change that"
        ),
        "{lines:?}"
    );
    assert!(lines[2].ends_with("semaphore 9 is 0; nothing that is left changes it"), "{lines:?}");
    assert_eq!(deadlock.stuck[2].wants[0].by, None);
    // Its own update comes too late.
    let alone = [incs(waits(copy(64), 3, 1), 3)];
    let program = self::program(Cayman, &[(Dve, &alone)], &[]);
    let deadlock = simulate(&program, Profile::of(Cayman)).unwrap_err();
    assert!(deadlock.stuck[0].to_string().contains("only its own update"), "{}", deadlock.stuck[0]);
}

/// Load, word, store: every picosecond of the makespan is on the path.
#[test]
fn the_critical_path_covers_the_makespan() {
    let mut first = load(0, 92);
    first.update = Some(1);
    let mut last = load(1, 92);
    last.waits = [DmaWait { semaphore: 2, value: 1 }][..].try_into().unwrap();
    let program = program(Cayman, &[(Dve, &[incs(waits(copy(960), 1, 1), 2)])], &[first, last]);
    let timeline = timed(&program);
    // 1300 + 512, 64 cycles, 1000, 1300 + 512.
    assert_eq!(timeline.makespan_ps, 1_812_000 + 66_667 + 1_000_000 + 1_812_000);
    let path = timeline.critical_path();
    let items: Vec<u32> = path.steps.iter().map(|step| step.item).collect();
    assert_eq!(items, [1, 0, 2]);
    let shares = timeline.shares(&path);
    assert_eq!(shares.values().sum::<u64>(), timeline.makespan_ps);
    // Only the latency of signals and the row size are assumed here, and rows are long enough.
    let found = sensitivity(&program, Profile::of(Cayman), timeline.makespan_ps);
    let names: Vec<&str> = found.iter().map(|figure| figure.figure.as_str()).collect();
    assert_eq!(names, ["semaphore_cycles"]);
    assert!((found[0].tenth_more_ns - 6.667).abs() < 0.01, "{found:?}");
}

#[test]
fn the_shared_bus_slows_fast_words_where_it_has_a_price() {
    // bf16 in SBUF: 4000 elements at a quarter are 1000 cycles; POOL works for 150 + 450 = 600 of its own, 500 ns.
    let mut halves = copy(4000);
    if let partita_isa::Body::TensorReduce(body) = &mut halves.body {
        (body.in_dtype, body.out_dtype) = (Dtype::Bfloat16.code(), Dtype::Bfloat16.code());
    }
    let program = program(Cayman, &[(Dve, &[halves, halves]), (Pool, &[copy(450)])], &[]);
    let alone = 1_041_667;
    assert_eq!(spans(&timed(&program), Slot::Word(Dve))[0].1, alone);
    let profile = Profile::of(Cayman).with_changes(r#"{"shared_bus": 2}"#).unwrap();
    let timeline = simulate(&program, &profile).unwrap();
    // In 500 ns at half speed 250 ns are done: 250 ns more in all.
    let dve = spans(&timeline, Slot::Word(Dve));
    assert_eq!(dve[0], (0, alone + 250_000));
    assert_eq!(dve[1], (alone + 250_000, alone + 250_000 + alone));
}

#[test]
fn the_order_of_completion_respects_queues_and_signals() {
    let dve: Vec<_> = (0..50).map(|n| incs(copy(64 + n), 1)).collect();
    let pool: Vec<_> = (0..50).map(|n| waits(copy(10), 1, n + 1)).collect();
    let program = program(Cayman, &[(Dve, &dve), (Pool, &pool)], &[load(0, 3), load(1, 9)]);
    let timeline = timed(&program);
    assert_eq!(timeline.order().len(), 102);
    let at: BTreeMap<u32, usize> =
        timeline.completed.iter().enumerate().map(|(at, &id)| (id, at)).collect();
    assert!(timeline.signals.iter().all(|signal| at[&signal.from] < at[&signal.to]));
    for track in &timeline.tracks {
        let items = timeline.items_of(track);
        assert!(items.windows(2).all(|pair| pair[0].end_ps <= pair[1].end_ps));
    }
    assert_eq!(timed(&program), timeline);
}

/// Patterns may ask for more time than there is: it stands still, and nothing panics.
#[test]
fn absurd_words_saturate() {
    let mut word = copy(65535);
    if let partita_isa::Body::TensorReduce(body) = &mut word.body {
        body.src_mem_pattern.num_elem = [65535; 4];
    }
    let mut huge = load(200, 1);
    huge.dims =
        [DmaDim { count: u32::MAX, src_stride: 1, dst_stride: 1 }; 6][..].try_into().unwrap();
    let program = program(Cayman, &[(Dve, &[word; 5]), (Engine::Pe, &[word])], &[huge; 40]);
    let timeline = timed(&program);
    assert_eq!(timeline.makespan_ps, u64::MAX);
    let _ = timeline.summary().text();
}
