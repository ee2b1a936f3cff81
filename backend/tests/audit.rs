//! The auditor against programs written by hand: each fault is planted, and its absence is tested as well.

use partita_backend::asm_file;
use partita_backend::audit::{Finding, Space, audit};
use partita_ir::Source;
use partita_ir::diag::Code;
use partita_isa::Target;

/// Tables of a program with one input and one output of 128 rows of 8 floats.
const HEADER: &str = "\
.target cayman
.io hbm 0x2000
.io input x f32[128,8] at 0x0
.io output out0 f32[128,8] at 0x1000
";

const LOAD: &str = ".dma queue=0 elem=FP32 src=hbm[0x0] dst=sbuf[p0, 0x0] dims=[8:4:4, 128:32:262144] update=sem[0]";
const STORE: &str =
    ".dma queue=1 elem=FP32 src=sbuf[p0, 0x20] dst=hbm[0x1000] dims=[8:4:4, 128:262144:32]";
const COPY: &str = "copy src_mem_pattern=sbuf[p0, 0x0][1:8] dst_mem_pattern=sbuf[p0, 0x20][1:8]";

fn audited(header: &str, lines: &[&str]) -> Vec<Finding> {
    let text = format!("{header}{}\n", lines.join("\n"));
    match asm_file::read(&Source::new("test", text.clone()), Target::default(), None) {
        Ok(file) => audit(&file.program),
        Err(found) => panic!("{found:?}\n{text}"),
    }
}

fn found(lines: &[&str]) -> Vec<Finding> {
    audited(HEADER, lines)
}

/// The only finding, which has this code and names these items.
#[track_caller]
fn only(found: &[Finding], code: Code, items: &[&str]) -> Finding {
    let texts: String = found.iter().map(Finding::text).collect();
    assert_eq!(found.len(), 1, "{texts}");
    assert_eq!(found[0].code, code, "{texts}");
    let names: Vec<String> = found[0].items.iter().map(|item| item.name()).collect();
    assert_eq!(names, items, "{texts}");
    found[0].clone()
}

#[track_caller]
fn clean(found: &[Finding]) {
    let texts: String = found.iter().map(Finding::text).collect();
    assert!(found.is_empty(), "{texts}");
}

fn with(line: &str, events: &str) -> String {
    format!("{line} {events}")
}

/// Load, copy, store, with the events of the copy and of the store.
fn chain(copy: &str, store: &str) -> Vec<Finding> {
    found(&[LOAD, ".engine dve", &with(COPY, copy), &with(STORE, store)])
}

#[test]
fn a_chain_is_clean_and_each_missing_edge_is_named() {
    clean(&chain("wait sem0 >= 1 inc.done sem1", "wait=sem[1]>=1"));
    let race =
        only(&chain("inc.done sem1", "wait=sem[1]>=1"), Code::Race, &["dma queue 0[0]", "dve[0]"]);
    let bytes = race.bytes.expect("bytes");
    assert_eq!((bytes.space, bytes.partitions), (Space::Sbuf, Some((0, 127))));
    assert_eq!((bytes.first, bytes.last), (0, 31));
    assert!(race.help.contains("semaphore 0 >= 1"), "{}", race.help);
    assert!(race.items[1].text.starts_with("copy "), "{race:?}");
    let race = only(&chain("wait sem0 >= 1", ""), Code::Race, &["dve[0]", "dma queue 1[0]"]);
    assert!(race.help.contains("give dve[0] `inc.done`"), "{}", race.help);
}

/// The update of a read form comes before the word's own writes (ISA 2.4), but after its reads.
#[test]
fn an_update_after_the_reads_does_not_order_the_write() {
    let race = only(
        &chain("wait sem0 >= 1 inc sem1", "wait=sem[1]>=1"),
        Code::Race,
        &["dve[0]", "dma queue 1[0]"],
    );
    assert!(race.notes.iter().any(|note| note.contains(".done")), "{race:?}");
    // The second load overwrites what the copy has read: that much the read form orders.
    let again = LOAD.replace("update=sem[0]", "wait=sem[1]>=1");
    clean(&found(&[
        LOAD,
        ".engine dve",
        &with(COPY, "wait sem0 >= 1 inc sem1"),
        &again,
        "copy src_mem_pattern=sbuf[p0, 0x20][1:8] dst_mem_pattern=sbuf[p0, 0x40][1:8] inc.done sem2",
        &with(STORE, "wait=sem[2]>=1"),
    ]));
}

#[test]
fn bytes_that_nobody_wrote() {
    // Half the columns are loaded.
    let half = LOAD.replace("[8:4:4", "[4:4:4");
    let copy = with(COPY, "wait sem0 >= 1 inc.done sem1");
    let store = with(STORE, "wait=sem[1]>=1");
    let missing =
        only(&found(&[&half, ".engine dve", &copy, &store]), Code::NeverWritten, &["dve[0]"]);
    let bytes = missing.bytes.expect("bytes");
    assert_eq!((bytes.first, bytes.last, bytes.partitions), (16, 31, Some((0, 127))));
    // All columns of 100 rows.
    let rows = LOAD.replace("128:32", "100:32");
    let missing =
        only(&found(&[&rows, ".engine dve", &copy, &store]), Code::NeverWritten, &["dve[0]"]);
    assert_eq!(missing.bytes.expect("bytes").partitions, Some((100, 127)));
    // Every second element, and then the others.
    let even = LOAD.replace("[8:4:4", "[4:8:8");
    let odd = even.replace("hbm[0x0]", "hbm[0x4]").replace("0x0] dims", "0x4] dims");
    let later = copy.replace(">= 1", ">= 2");
    clean(&found(&[&even, &odd, ".engine dve", &later, &store]));
    let missing =
        only(&found(&[&even, ".engine dve", &copy, &store]), Code::NeverWritten, &["dve[0]"]);
    let bytes = missing.bytes.expect("bytes");
    assert_eq!((bytes.first, bytes.last), (4, 7));
    // A pointer reads, too.
    let pointer = "tensor_scalar_arith op0=ADD imm0_src=POINTER imm0=sbuf[p0, 0x80] \
                   src_mem_pattern=sbuf[p0, 0x0][1:8] dst_mem_pattern=sbuf[p0, 0x20][1:8] \
                   wait sem0 >= 1 inc.done sem1";
    let missing =
        only(&found(&[LOAD, ".engine dve", pointer, &store]), Code::NeverWritten, &["dve[0]"]);
    assert_eq!(missing.bytes.expect("bytes").first, 0x80);
}

#[test]
fn outputs_name_their_first_missing_element() {
    let copy = with(COPY, "wait sem0 >= 1 inc.done sem1");
    let none = only(&found(&[LOAD, ".engine dve", &copy]), Code::OutputMissing, &[]);
    assert!(none.message.contains("element 0 [0, 0]"), "{}", none.message);
    let part = with(&STORE.replace("128:262144:32", "77:262144:32"), "wait=sem[1]>=1");
    let some = only(&found(&[LOAD, ".engine dve", &copy, &part]), Code::OutputMissing, &[]);
    assert!(some.message.contains("element 616 [77, 0]"), "{}", some.message);
    let even = with(&STORE.replace("[8:4:4", "[4:8:8"), "wait=sem[1]>=1");
    let some = only(&found(&[LOAD, ".engine dve", &copy, &even]), Code::OutputMissing, &[]);
    assert!(some.message.contains("element 1 [0, 1]"), "{}", some.message);
}

/// Two engines fill one row in turns of elements; nothing orders them, and nothing needs to.
#[test]
fn interleaved_strides_do_not_meet() {
    let load = |at: &str| LOAD.replace("0x0] dims", &format!("{at}] dims"));
    let ready = load("0x0");
    let write = |first: u32, step: u32| {
        format!(
            "tensor_tensor_arith op=ADD src0_mem_pattern=sbuf[p0, 0x0][1:4] \
             src1_mem_pattern=sbuf[p0, 0x0][1:4] dst_mem_pattern=sbuf[p0, {:#x}][{step}:4] \
             wait sem0 >= 1 inc.done sem1",
            0x20 + 4 * first
        )
    };
    let store = with(STORE, "wait=sem[1]>=2");
    let both =
        |dve: &str, pool: &str| found(&[&ready, ".engine dve", dve, ".engine pool", pool, &store]);
    clean(&both(&write(0, 2), &write(1, 2)));
    // Elements 2 to 6 of both, and the odd ones of nobody.
    let both = both(&write(0, 2), &write(2, 2));
    let codes: Vec<Code> = both.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [Code::Race, Code::NeverWritten], "{both:?}");
    assert_eq!(both[0].bytes.expect("bytes").first, 0x20 + 8);
    assert_eq!(both[1].bytes.expect("bytes").first, 0x20 + 4);
}

/// Different partitions are different bytes.
#[test]
fn partitions_are_kept_apart() {
    let copy = |first: u32| {
        format!(
            "tensor_tensor_arith op=ADD num_active_channels=64 src0_mem_pattern=sbuf[p{first}, 0x0][1:8] \
             src1_mem_pattern=sbuf[p{first}, 0x0][1:8] dst_mem_pattern=sbuf[p{first}, 0x20][1:8] \
             wait sem0 >= 1 inc.done sem1"
        )
    };
    let store = with(STORE, "wait=sem[1]>=2");
    clean(&found(&[LOAD, ".engine dve", &copy(0), ".engine pool", &copy(64), &store]));
    let twice = found(&[LOAD, ".engine dve", &copy(0), ".engine pool", &copy(0), &store]);
    let race = twice.iter().find(|finding| finding.code == Code::Race).expect("a race");
    assert_eq!(race.bytes.expect("bytes").partitions, Some((0, 63)));
}

/// Two queues add to one semaphore: a wait for one addition knows neither, a wait for both knows both.
#[test]
fn a_semaphore_of_two_queues() {
    let first = LOAD.replace("[8:4:4", "[4:4:4");
    let second = first
        .replace("queue=0", "queue=2")
        .replace("hbm[0x0]", "hbm[0x10]")
        .replace("0x0] dims", "0x10] dims");
    let store = with(STORE, "wait=sem[1]>=1");
    let copy = |count: u32| with(COPY, &format!("wait sem0 >= {count} inc.done sem1"));
    clean(&found(&[&first, &second, ".engine dve", &copy(2), &store]));
    let races = found(&[&first, &second, ".engine dve", &copy(1), &store]);
    assert_eq!(races.len(), 2, "{races:?}");
    assert!(races.iter().all(|finding| finding.code == Code::Race), "{races:?}");
}

/// A barrier that is used twice: nobody passes the second before everybody has come to it.
#[test]
fn a_barrier_used_twice() {
    let word = |from: u32, to: u32, events: &str| {
        format!(
            "tensor_tensor_arith op=ADD src0_mem_pattern=sbuf[p0, {from:#x}][1:4] \
             src1_mem_pattern=sbuf[p0, {from:#x}][1:4] dst_mem_pattern=sbuf[p0, {to:#x}][1:4] {events}"
        )
    };
    let program = |second: u32| {
        found(&[
            LOAD,
            ".engine dve",
            &word(0x0, 0x40, "wait sem0 >= 1 inc.done sem5"),
            ".engine pool",
            &word(0x10, 0x50, "wait sem0 >= 1 inc.done sem5"),
            ".engine dve",
            &word(0x50, 0x60, "wait sem5 >= 2 inc.done sem5"),
            ".engine pool",
            &word(0x40, 0x70, "wait sem5 >= 2 inc.done sem5"),
            ".engine dve",
            &word(0x70, 0x20, &format!("wait sem5 >= {second}")),
            &word(0x60, 0x30, "inc.done sem6"),
            &with(STORE, "wait=sem[6]>=1"),
        ])
    };
    clean(&program(4));
    // With 3 the vector engine's own second addition may be one of them.
    only(&program(3), Code::Race, &["pool[1]", "dve[2]"]);
}

#[test]
fn queues_that_wait_for_each_other() {
    let dve = with(COPY, "wait sem2 >= 1 inc.done sem1");
    let pool = "copy src_mem_pattern=sbuf[p0, 0x0][1:8] dst_mem_pattern=sbuf[p0, 0x40][1:8] \
                wait sem1 >= 1 inc.done sem2";
    let store = with(STORE, "wait=sem[1]>=1");
    let cycle = only(
        &found(&[LOAD, ".engine dve", &dve, ".engine pool", pool, &store]),
        Code::Deadlock,
        &["pool[0]", "dve[0]"],
    );
    let link = "dve[0] waits for semaphore 2 >= 1, it comes to 0; the next to signal it is pool[0]";
    assert!(cycle.notes.iter().any(|note| note == link), "{cycle:?}");
    assert!(cycle.notes.iter().any(|note| note.contains("dma queue 1[0]")), "{cycle:?}");
    let alone = only(
        &found(&[LOAD, ".engine dve", &with(COPY, "wait sem0 >= 2 inc.done sem1"), &store]),
        Code::Deadlock,
        &["dve[0]"],
    );
    assert!(alone.notes[0].contains("it comes to 1; nothing that is left"), "{alone:?}");
    let itself = only(
        &found(&[
            LOAD,
            ".engine dve",
            &with(COPY, "wait sem1 >= 1"),
            &with(COPY, "inc.done sem1"),
            &store,
        ]),
        Code::Deadlock,
        &["dve[0]"],
    );
    assert!(itself.message.contains("comes after it"), "{itself:?}");
}

#[test]
fn an_order_that_contradicts_its_waits() {
    let fault = only(
        &found(&[
            ".engine dve",
            &with(COPY, "wait sem0 >= 1 inc.done sem1"),
            LOAD,
            &with(STORE, "wait=sem[1]>=1"),
        ]),
        Code::OrderContradicts,
        &["dve[0]"],
    );
    assert!(fault.notes[0].contains("semaphore 0 is 0"), "{fault:?}");
}

/// A handshake: the producer waits for the event to be clear and sets it, the consumer waits for it and clears it.
#[test]
fn events_hand_over_and_back() {
    let produce = |source: u32, events: &str| {
        format!(
            "copy src_mem_pattern=sbuf[p0, {source:#x}][1:4] dst_mem_pattern=sbuf[p0, 0x40][1:4] {events}"
        )
    };
    let consume = |to: u32, events: &str| {
        format!(
            "copy src_mem_pattern=sbuf[p0, 0x40][1:4] dst_mem_pattern=sbuf[p0, {to:#x}][1:4] {events}"
        )
    };
    let program = |back: &str| {
        found(&[
            LOAD,
            ".engine dve",
            &produce(0x0, "wait sem0 >= 1 set.done evt3"),
            ".engine pool",
            &consume(0x20, "wait evt3 then clear set.done evt4"),
            ".engine dve",
            &produce(0x10, back),
            ".engine pool",
            &consume(0x30, "wait evt3 then clear inc.done sem6"),
            &with(STORE, "wait=sem[6]>=1"),
        ])
    };
    clean(&program("wait evt4 then clear set.done evt3"));
    // Without the answer the producer overwrites what is being read.
    let races = program("set.done evt3");
    assert!(races.iter().any(|finding| finding.code == Code::Race), "{races:?}");
}

/// One queue alone changes the semaphore, so each wait stands for its first value.
#[test]
fn a_semaphore_that_is_written() {
    let copy = |value: u32| with(COPY, &format!("wait sem0 >= 1 write.done sem1 {value}"));
    let one = copy(1);
    clean(&found(&[LOAD, ".engine dve", &one, &with(STORE, "wait=sem[1]>=1")]));
    // A second queue writes it as well: what a wait has seen is not known.
    let other = "copy src_mem_pattern=sbuf[p0, 0x0][1:4] dst_mem_pattern=sbuf[p0, 0x80][1:4] \
                 wait sem0 >= 1 write.done sem1 1";
    let races =
        found(&[LOAD, ".engine dve", &one, ".engine pool", other, &with(STORE, "wait=sem[1]>=1")]);
    let race = races.iter().find(|finding| finding.code == Code::Race).expect("a race");
    assert!(race.notes.iter().any(|note| note.contains("semaphore 1")), "{race:?}");
    assert!(races.iter().any(|finding| finding.code == Code::Unprovable), "{races:?}");
}

/// A semaphore that is taken back after each wait never says more than it holds.
#[test]
fn a_semaphore_that_is_given_and_taken() {
    let give = |at: u32, events: &str| {
        format!(
            "copy src_mem_pattern=sbuf[p0, {at:#x}][1:4] dst_mem_pattern=sbuf[p0, {:#x}][1:4] {events}",
            at + 0x40
        )
    };
    let take = |at: u32, events: &str| {
        format!(
            "copy src_mem_pattern=sbuf[p0, {at:#x}][1:4] dst_mem_pattern=sbuf[p0, {:#x}][1:4] {events}",
            at - 0x20
        )
    };
    let program = |first: &str| {
        found(&[
            LOAD,
            ".engine dve",
            &give(0x0, "wait sem0 >= 1 inc.done sem3"),
            &give(0x10, "inc.done sem3"),
            ".engine pool",
            &take(0x40, first),
            &take(0x50, "wait sem3 >= 1 inc.done sem4"),
            &with(STORE, "wait=sem[4]>=1"),
        ])
    };
    clean(&program("wait sem3 >= 1 dec sem3"));
    // Not taken, one suffices for both waits.
    only(&program("wait sem3 >= 1"), Code::Race, &["dve[1]", "pool[1]"]);
}

#[test]
fn hidden_state_before_it_is_set() {
    let sum = |command: &str| {
        format!(
            "tensor_scalar_cache_cumulative accumulator_cmd={command} op0=BYPASS op1=ADD \
             src_mem_pattern=sbuf[p0, 0x0][1:8] dst_mem_pattern=sbuf[p0, 0x20][1:8] \
             wait sem0 >= 1 inc.done sem1"
        )
    };
    let program = |command: &str| {
        found(&[LOAD, ".engine dve", &sum(command), &with(STORE, "wait=sem[1]>=1")])
    };
    clean(&program("ZERO_ACCUMULATE"));
    let state = only(&program("ACCUMULATE"), Code::ResetState, &["dve[0]"]);
    assert!(!state.is_error());
    let shuffle = "stream_shuffle src_mem_pattern=sbuf[p0, 0x0][1:8] \
                   dst_mem_pattern=sbuf[p0, 0x20][1:8] wait sem0 >= 1 inc.done sem1";
    let shuffled = |table: &[&str]| {
        let store = with(STORE, "wait=sem[1]>=1");
        let lines = [&[LOAD, ".engine dve"], table, &[shuffle, &store]].concat();
        found(&lines)
    };
    only(&shuffled(&[]), Code::ResetState, &["dve[0]"]);
    clean(&shuffled(&["load_mask_select"]));
    // Lane 0 takes nothing and is not written; the store then reads what nobody wrote.
    let table = format!("load_mask_select immediate=0xff{}", "00".repeat(31));
    let missing = only(&shuffled(&[&table]), Code::NeverWritten, &["dma queue 1[0]"]);
    assert_eq!(missing.bytes.expect("bytes").partitions, Some((0, 96)));
}

/// TensorScalarCacheReduce writes the last element of its destination alone.
#[test]
fn a_cache_reduction_writes_one_element() {
    let word = "tensor_scalar_cache_reduce accumulator_cmd=ZERO_ACCUMULATE op0=BYPASS op1=ADD \
                src_mem_pattern=sbuf[p0, 0x0][1:8] dst_mem_pattern=sbuf[p0, 0x20][1:8] \
                wait sem0 >= 1 inc.done sem1";
    let missing = only(
        &found(&[LOAD, ".engine dve", word, &with(STORE, "wait=sem[1]>=1")]),
        Code::NeverWritten,
        &["dma queue 1[0]"],
    );
    let bytes = missing.bytes.expect("bytes");
    assert_eq!((bytes.first, bytes.last), (0x20, 0x20 + 27));
}

#[test]
fn registers_are_not_guessed() {
    let word = "copy src_mem_pattern=r5[1:8] dst_mem_pattern=sbuf[p0, 0x20][1:8] inc.done sem1";
    let unknown = only(
        &found(&[".engine dve", word, &with(STORE, "wait=sem[1]>=1")]),
        Code::Unprovable,
        &["dve[0]"],
    );
    assert!(!unknown.is_error());
}

#[test]
fn tables_that_overlap_and_words_that_are_illegal() {
    let header = HEADER.replace("at 0x1000", "at 0x800");
    let copy = with(COPY, "wait sem0 >= 1 inc.done sem1");
    let store = with(STORE, "wait=sem[1]>=1").replace("0x1000", "0x800");
    let lines = [LOAD, ".engine dve", &copy, &store];
    let shared = audited(&header, &lines);
    // The store overwrites the argument; the load is complete by then.
    let overlap = only(&shared, Code::IoOverlap, &[]);
    assert!(!overlap.is_error());
    let twice = HEADER.replace(".io output", ".io input y f32[1] at 0xffc\n.io output");
    let both = audited(&twice, &[LOAD, ".engine dve", &copy, &with(STORE, "wait=sem[1]>=1")]);
    assert!(only(&both, Code::IoOverlap, &[]).is_error());
    let illegal = copy.replace("copy ", "copy num_active_channels=129 ");
    let broken = found(&[LOAD, ".engine dve", &illegal]);
    let finding = only(&broken, Code::IllegalItem, &["dve[0]"]);
    assert!(finding.notes.iter().any(|note| note.starts_with("CC-6")), "{finding:?}");
}

/// Descriptors of one queue are ordered; those of two queues are not.
#[test]
fn transfers_of_one_queue_are_in_order() {
    let through = |queue: u32| {
        found(&[
            LOAD,
            &format!(
                ".dma queue={queue} elem=FP32 src=sbuf[p0, 0x0] dst=hbm[0x1000] \
                 dims=[8:4:4, 128:262144:32]"
            ),
        ])
    };
    clean(&through(0));
    only(&through(1), Code::Race, &["dma queue 0[0]", "dma queue 1[0]"]);
}
