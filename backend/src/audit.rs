//! The auditor: whether a whole program can be trusted, from its words, descriptors and tables alone.
//!
//! It shares nothing with the passes that choose addresses and semaphores, and judges hand-written programs as well.
//! `docs/audit.md` says what is found, what counts as an order, and where it is conservative.

mod access;
mod clock;
mod finding;
mod pattern;
mod queues;
mod races;
mod stuck;
mod tables;
mod tally;
mod written;

use std::collections::{BTreeMap, BTreeSet};

use partita_ir::diag::Code;
use partita_isa::{Instruction, check, dma};

pub use access::Space;
pub use finding::{Bytes, Finding, ItemRef};

use crate::program::{Program, Slot};
use access::{Access, Hidden, Touched};
use clock::{Clocks, halves};
use queues::{Id, Queues, Stage};
use races::{Race, Races};
use tally::System;
use written::Written;

/// Findings of one kind that are told in full.
const TOLD: usize = 20;

/// Ranges, entries and runs that the search for races may look at.
const BUDGET: u64 = 1 << 26;

/// Judges a program: first each word and descriptor by the rules, then, if all are legal, the whole.
pub fn audit(program: &Program) -> Vec<Finding> {
    let illegal = illegal_items(program);
    if illegal.is_empty() { audit_legal(program) } else { limited(illegal) }
}

fn illegal_items(program: &Program) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut judge =
        |slot: Slot, index: usize, place: usize, broken: Vec<partita_isa::Violation>| {
            let errors: Vec<String> =
                broken.iter().filter(|one| one.is_error()).map(ToString::to_string).collect();
            if !errors.is_empty() {
                let mut finding =
                    Finding::error(Code::IllegalItem, format!("{slot}[{index}] is illegal"));
                finding.items.push(ItemRef::new(program, slot, index, place));
                finding.notes = errors;
                findings.push(finding);
            }
        };
    for (&engine, words) in &program.words {
        for (index, word) in words.iter().enumerate() {
            judge(Slot::Word(engine), index, index, check(word, &program.target, Some(engine)));
        }
    }
    let mut done: BTreeMap<u8, usize> = BTreeMap::new();
    for (place, desc) in program.dma.iter().enumerate() {
        let index = done.entry(desc.queue).or_default();
        let broken = dma::check(desc, &program.target, program.io.hbm_bytes);
        judge(Slot::Dma(desc.queue), *index, place, broken);
        *index += 1;
    }
    findings
}

/// Judges a program whose every word is legal on its engine and every descriptor is legal. Errors come before warnings.
pub fn audit_legal(program: &Program) -> Vec<Finding> {
    if let Err(error) = program.check_structure() {
        return vec![Finding::error(Code::Malformed, error.to_string())];
    }
    let queues = Queues::new(program);
    let system = System::new(&queues);
    let mut clocks = Clocks::new(&queues, &system);
    let mut findings = tables::overlaps(program);
    findings.extend(stuck::deadlocks(&queues, &system, &clocks));
    let whole = findings.iter().all(|finding| finding.code != Code::Deadlock);
    if whole {
        match stuck::order_fault(&queues) {
            Some(finding) => findings.push(finding),
            // An execution like any other, and the one that the author has in mind.
            None => clocks.order = queues.program_order(),
        }
    }
    if whole && !system.exact {
        findings.extend(stuck::stuck_run(&queues));
    }
    let mut auditor = Auditor {
        queues: &queues,
        system: &system,
        clocks: &clocks,
        written: BTreeMap::new(),
        unread: Vec::new(),
        told: BTreeMap::new(),
        findings: Vec::new(),
        opaque_writes: false,
    };
    tables::load(program, auditor.written.entry(Space::Hbm).or_default());
    auditor.memory();
    findings.append(&mut auditor.findings);
    // What nothing started has written is no finding of its own.
    if whole && let Some(written) = auditor.written.get(&Space::Hbm) {
        findings.extend(tables::missing_outputs(program, written));
    }
    if let Some(finding) = unprovable_signals(&queues, &system) {
        findings.push(finding);
    }
    findings.sort_by_key(|finding| !finding.is_error());
    limited(findings)
}

/// Leaves the first findings of each kind, and says how many more there are.
fn limited(findings: Vec<Finding>) -> Vec<Finding> {
    let mut seen: BTreeMap<Code, usize> = BTreeMap::new();
    let mut kept: Vec<Finding> = Vec::new();
    for finding in findings {
        let count = seen.entry(finding.code).or_default();
        *count += 1;
        if *count <= TOLD {
            kept.push(finding);
        }
    }
    for (code, count) in seen {
        let last = kept.iter_mut().rev().find(|finding| finding.code == code);
        if let (Some(last), true) = (last, count > TOLD) {
            last.notes.push(format!("and {} more of this kind", count - TOLD));
        }
    }
    kept
}

/// A warning that lists signals that no order is drawn from.
fn unprovable_signals(queues: &Queues<'_>, system: &System) -> Option<Finding> {
    let items = queues.queues.iter().flat_map(|queue| &queue.items);
    let waited: BTreeSet<usize> =
        items.flat_map(|item| &item.waits).map(|&(signal, _)| signal).collect();
    let notes: Vec<String> = system
        .unprovable
        .keys()
        .filter(|signal| waited.contains(signal))
        .filter_map(|&signal| system.note(signal))
        .collect();
    let message = "some waits order nothing that can be relied on";
    (!notes.is_empty()).then(|| Finding { notes, ..Finding::warning(Code::Unprovable, message) })
}

/// The walk over all items in an order that they may run in.
struct Auditor<'a> {
    queues: &'a Queues<'a>,
    system: &'a System,
    clocks: &'a Clocks,
    written: BTreeMap<Space, Written>,
    /// Reads of what nothing had written.
    unread: Vec<(Id, Bytes)>,
    /// The bytes of those reads.
    told: BTreeMap<Space, Written>,
    findings: Vec<Finding>,
    /// Some item writes where only registers say: any byte of the chip may have been written.
    opaque_writes: bool,
}

impl Auditor<'_> {
    fn memory(&mut self) {
        let program = self.queues.program;
        let generation = program.target.generation;
        let mut hidden = Hidden::default();
        let mut races = Races::new(self.clocks, BUDGET);
        let mut spent = false;
        for &id in &self.clocks.order {
            let Some(item) = self.queues.item(id) else { continue };
            let touched = match self.queues.queues[id.queue].slot {
                Slot::Word(engine) => {
                    let word = program.words.get(&engine).and_then(|words| words.get(item.place));
                    word.map(|word| {
                        access::word(&Instruction::decode(word), generation, &mut hidden)
                    })
                }
                Slot::Dma(_) => {
                    let desc = program.dma.get(item.place);
                    desc.map(|desc| access::descriptor(desc, generation))
                }
            };
            let Some(touched) = touched else { continue };
            self.remarks(id, &touched);
            self.bytes(id, &touched.accesses);
            spent = spent || races.item(id, &touched.accesses).is_err();
        }
        if spent {
            let message = "the accesses are too entangled to compare them all for races";
            self.findings.push(Finding::warning(Code::Unprovable, message));
        }
        if self.written.values().any(|written| written.coarse) {
            let message =
                "some long strided walks count as written, or as readable, between their ends";
            self.findings.push(Finding::warning(Code::Unprovable, message));
        }
        let ranks = self.ranks();
        let found = std::mem::take(&mut races.found);
        let racing: BTreeSet<Id> = found.iter().flat_map(|race| race.items).collect();
        for (told, race) in found.into_iter().enumerate() {
            // Those beyond are only counted.
            let finding = match told < TOLD {
                true => self.race(race, &ranks),
                false => Finding::error(Code::Race, ""),
            };
            self.findings.push(finding);
        }
        self.never_written(&racing);
    }

    /// Warnings about what cannot be seen in the fields.
    fn remarks(&mut self, id: Id, touched: &Touched) {
        self.opaque_writes |= touched.writes_unknown;
        let reset = touched.reset_state.map(|state| {
            let message = format!(
                "{} uses {state} that no word has set; its reset value is a convention",
                self.queues.name(id)
            );
            Finding::warning(Code::ResetState, message)
        });
        let unknown = touched.unknown.map(|reason| {
            let message =
                format!("not all that {} touches can be judged: {reason}", self.queues.name(id));
            Finding::warning(Code::Unprovable, message)
        });
        for mut finding in [reset, unknown].into_iter().flatten() {
            finding.items.push(self.queues.refer(id));
            self.findings.push(finding);
        }
    }

    /// Reads against what has been written so far, then the writes.
    fn bytes(&mut self, id: Id, accesses: &[Access]) {
        for access in accesses.iter().filter(|access| !access.write) {
            let written = self.written.entry(access.space).or_default();
            if let Some((bytes, mask)) = written.lacks(&access.bytes, access.partitions) {
                // One finding for a place is enough.
                let told = self.told.entry(access.space).or_default();
                if told.lacks(&access.bytes, access.partitions).is_some() {
                    told.add(&access.bytes, access.partitions);
                    self.unread.push((id, Bytes::new(access.space, mask, bytes)));
                }
            }
        }
        for access in accesses.iter().filter(|access| access.write) {
            self.written.entry(access.space).or_default().add(&access.bytes, access.partitions);
        }
    }

    /// Reads of bytes that nothing wrote, but for those that a race explains.
    fn never_written(&mut self, racing: &BTreeSet<Id>) {
        for (id, bytes) in std::mem::take(&mut self.unread) {
            let opaque = self.opaque_writes && bytes.space != Space::Hbm;
            if racing.contains(&id) || opaque {
                continue;
            }
            let message =
                format!("{} reads {bytes}, which nothing has written", self.queues.name(id));
            let mut finding = Finding::error(Code::NeverWritten, message);
            finding.bytes = Some(bytes);
            finding.items.push(self.queues.refer(id));
            self.findings.push(finding);
        }
    }

    /// Where each item stands in the program's own order.
    fn ranks(&self) -> Vec<Vec<usize>> {
        let mut ranks: Vec<Vec<usize>> =
            self.queues.queues.iter().map(|queue| Vec::with_capacity(queue.items.len())).collect();
        for (rank, id) in self.queues.program_order().into_iter().enumerate() {
            ranks[id.queue].push(rank);
        }
        ranks
    }

    fn race(&self, race: Race, ranks: &[Vec<usize>]) -> Finding {
        let rank = |id: Id| ranks.get(id.queue).and_then(|ranks| ranks.get(id.index));
        let mut ends = [(race.items[0], race.writes[0]), (race.items[1], race.writes[1])];
        ends.sort_by_key(|end| rank(end.0));
        let [(first, first_writes), (second, second_writes)] = ends;
        let names = [self.queues.name(first), self.queues.name(second)];
        let verb = |writes: bool| if writes { "writes" } else { "reads" };
        let message = format!(
            "{} {} and {} {} {} in no order",
            names[0],
            verb(first_writes),
            names[1],
            verb(second_writes),
            race.bytes
        );
        let mut finding = Finding::error(Code::Race, message);
        finding.bytes = Some(race.bytes);
        finding.items = vec![self.queues.refer(first), self.queues.refer(second)];
        let (read, _) = halves(first.index);
        if first_writes && self.clocks.before(second, first.queue) == read {
            finding.notes.push(format!(
                "{} signals when its sources are read, before it is complete: use the `.done` form",
                names[0]
            ));
        }
        let signals =
            [first, second].into_iter().filter_map(|id| self.queues.item(id)).flat_map(|item| {
                let waits = item.waits.iter().map(|wait| wait.0);
                waits.chain(item.effects.iter().map(|effect| effect.1))
            });
        let signals: BTreeSet<usize> = signals.collect();
        finding.notes.extend(signals.into_iter().filter_map(|signal| self.system.note(signal)));
        finding.help = self.missing_edge(first, second);
        finding
    }

    /// The wait that would order two items.
    fn missing_edge(&self, first: Id, second: Id) -> String {
        let names = [self.queues.name(first), self.queues.name(second)];
        let adds = |id: Id| {
            let effects = self.queues.item(id).into_iter().flat_map(|item| &item.effects);
            effects.filter_map(|&(stage, signal, effect)| match effect {
                queues::Effect::Add(by) => Some((stage, signal, by)),
                _ => None,
            })
        };
        let queue = &self.queues.queues[first.queue];
        let later = (first.index..queue.items.len()).map(|index| Id { index, ..first });
        let signal = later
            .flat_map(|id| adds(id).map(move |add| (id, add)))
            .find(|&(id, (stage, ..))| stage == Stage::Done || id.index > first.index);
        match signal {
            Some((id, (_, signal, _))) => {
                let sum: i64 = (0..=id.index)
                    .flat_map(|index| adds(Id { index, ..first }))
                    .filter(|add| add.1 == signal)
                    .map(|add| add.2)
                    .sum();
                let shared = self.queues.queues.iter().enumerate().any(|(other, queue)| {
                    let mut effects = queue.items.iter().flat_map(|item| &item.effects);
                    other != first.queue && effects.any(|effect| effect.1 == signal)
                });
                let more = if shared { ", and for what other queues add to it" } else { "" };
                let from = self.queues.name(id);
                format!(
                    "let {} wait until {} is complete: semaphore {signal} >= {sum} after {from}{more}",
                    names[1], names[0]
                )
            }
            None => format!(
                "let {} wait until {} is complete: give {} `inc.done` of a semaphore, and wait for it",
                names[1], names[0], names[0]
            ),
        }
    }
}
