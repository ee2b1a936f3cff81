//! Cycles of one word, and of a queue of words.

use partita_isa::{AccumCmd, AluOp, Engine, Generation, Instruction, Opcode, Word};

use super::operands::{Operand, View};
use super::profile::{Condition, Memory, Profile, Tag};

/// Of a larger destination only the extent is compared.
const MAX_COMPARED: u64 = 1 << 13;

/// The price of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordCost {
    /// Cycles of the executing engine.
    pub cycles: u64,
    /// Elements per channel that it streams.
    pub elements: u64,
    /// `A` when any figure that went into it is assumed.
    pub tag: Tag,
    /// Priced by a mode that is faster than its class.
    pub fast: bool,
    /// Some operand is in SBUF.
    pub on_sbuf: bool,
}

/// The price of a word by itself; `None` for an opcode that the profile does not price on this engine.
pub fn word_cost(
    instruction: &Instruction,
    engine: Engine,
    profile: &Profile,
    generation: Generation,
) -> Option<WordCost> {
    Priced::new(instruction, engine, profile, generation)?.cost
}

/// Prices of the words of one engine in their order: a word that reads what the one before it wrote pays for the wait.
pub fn queue_costs<'a>(
    words: impl IntoIterator<Item = &'a Word>,
    engine: Engine,
    profile: &Profile,
    generation: Generation,
) -> Vec<Option<WordCost>> {
    let waiting = &profile.dependent_read;
    let mut previous: Option<Priced> = None;
    words
        .into_iter()
        .map(|word| {
            let current = Priced::new(&Instruction::decode(word), engine, profile, generation);
            let mut cost = current.as_ref().and_then(|priced| priced.cost);
            if let (Some(cost), Some(before), Some(now)) = (&mut cost, &previous, &current)
                && cost.elements < waiting.below_elements.value
                && reads_what_was_written(&before.view, &now.view, generation)
            {
                cost.cycles = cost.cycles.saturating_add(whole(waiting.cycles.value));
            }
            previous = current;
            cost
        })
        .collect()
}

struct Priced {
    view: View,
    cost: Option<WordCost>,
}

impl Priced {
    fn new(
        instruction: &Instruction,
        engine: Engine,
        profile: &Profile,
        generation: Generation,
    ) -> Option<Self> {
        let opcode = instruction.opcode()?;
        let view = View::of(instruction);
        let cost = price(&view, opcode, engine, profile, generation);
        Some(Self { view, cost })
    }
}

/// A part of a cycle is a cycle.
fn whole(cycles: f64) -> u64 {
    cycles.ceil() as u64
}

fn price(
    view: &View,
    opcode: Opcode,
    engine: Engine,
    profile: &Profile,
    generation: Generation,
) -> Option<WordCost> {
    let figures = profile.engines.get(&engine)?;
    let class = figures.classes.get(&opcode.info().cost)?;
    let elements = view.elements();

    let mode = class.modes.iter().find(|mode| holds(&mode.when, view, profile, generation));
    let (factor, tag) = mode.map_or((class.elements, class.tag), |mode| (mode.elements, mode.tag));
    let mut assumed = tag == Tag::A;
    let mut stream = factor * elements as f64;
    if view.operands().any(|operand| operand.dtype.is_some_and(|dtype| dtype.is_64_bit())) {
        stream *= figures.wide_factor.value;
        assumed |= figures.wide_factor.tag == Tag::A;
    }
    if let Some(long) = &profile.long_step
        && view.operands().any(|operand| innermost_span(operand) > long.above_bytes.value)
    {
        stream *= long.factor.value;
    }
    let mut cycles = figures.fixed.value + stream.ceil().max(figures.floor.value);
    for extra in class.extra.iter().filter(|extra| holds(&extra.when, view, profile, generation)) {
        cycles += extra.cycles;
        assumed |= extra.tag == Tag::A;
    }
    let tag = if assumed { Tag::A } else { Tag::D };
    let fast = factor < class.elements;
    let on_sbuf = view.reads().chain(&view.destination).any(|operand| !operand.in_psum(generation));
    Some(WordCost { cycles: whole(cycles), elements, tag, fast, on_sbuf })
}

/// Bytes between two neighbours of the innermost dimension.
fn innermost_span(operand: &Operand) -> u64 {
    u64::from(operand.steps[0].unsigned_abs()) * operand.size()
}

fn holds(when: &Condition, view: &View, profile: &Profile, generation: Generation) -> bool {
    let all_in = |set: &Option<String>, destination: Option<&Operand>| {
        let Some(set) = set.as_ref().map(|name| profile.dtype_sets.get(name)) else { return true };
        let mut operands = view.sources.iter().chain(destination);
        set.is_some_and(|set| {
            operands.all(|operand| operand.dtype.is_some_and(|d| set.contains(&d)))
        })
    };
    let one_of = |ops: &Option<Vec<AluOp>>, op: Option<AluOp>| {
        ops.as_ref().is_none_or(|ops| op.is_some_and(|op| ops.contains(&op)))
    };
    all_in(&when.dtypes, view.destination.as_ref())
        && all_in(&when.source_dtypes, None)
        && one_of(&when.op0, view.op0)
        && one_of(&when.op1, view.op1)
        && when.memory.is_none_or(|memory| is_in(memory, view, generation))
        && (!when.unit_step || view.operands().all(|operand| operand.steps[0] == 1))
        && (!when.even || view.elements().is_multiple_of(2))
        && (!when.accumulates || view.accumulator.is_some())
        && (!when.revisits || view.destination.is_some_and(|operand| operand.revisits()))
        && (!when.all_axes || view.all_axes)
}

fn is_in(memory: Memory, view: &View, generation: Generation) -> bool {
    let sources = view.sources.iter().filter(|operand| operand.in_psum(generation)).count();
    let all = view.operands().filter(|operand| operand.in_psum(generation)).count();
    match memory {
        Memory::Sbuf => all == 0,
        Memory::OnePsum => all == 1,
        Memory::SourcesSbuf => sources == 0,
        Memory::OneSourcePsum => sources == 1,
        Memory::SourcesSplit => sources != 0 && sources != view.sources.len(),
    }
}

/// The second word reads memory or hidden state that the first wrote.
fn reads_what_was_written(first: &View, second: &View, generation: Generation) -> bool {
    let accumulator =
        first.accumulator.is_some() && second.accumulator == Some(AccumCmd::Accumulate);
    let lane_table = first.writes_lane_table && second.reads_lane_table;
    let memory = first.destination.is_some_and(|written| {
        let written = (&written, first.channels);
        second.reads().any(|read| meet(written, (read, second.channels), generation))
    });
    accumulator || lane_table || memory
}

/// Two accesses touch a byte in common. Every row of an operand has the same pattern, so rows in common and bytes in
/// common within a row decide. An address from a register is taken to meet nothing.
fn meet(written: (&Operand, u32), read: (&Operand, u32), generation: Generation) -> bool {
    let (Some(to), Some(from)) = (written.0.location(generation), read.0.location(generation))
    else {
        return false;
    };
    let rows_meet =
        to.partition < from.partition + read.1 && from.partition < to.partition + written.1;
    if to.memory != from.memory || !rows_meet {
        return false;
    }
    let (written, read) = (written.0, read.0);
    let distance = i64::from(from.byte) - i64::from(to.byte);
    let ((low, high), (read_low, read_high)) = (written.extent(), read.extent());
    if read_low + distance >= high || low >= read_high + distance {
        return false;
    }
    let (size, read_size) = (written.size() as i64, read.size() as i64);
    if written.has_no_gap() {
        let within = |start: i64| start < high && low < start + read_size;
        return read.offsets().any(|offset| within(offset + distance));
    }
    if written.elements() > MAX_COMPARED {
        return true;
    }
    let mut spots: Vec<i64> = written.offsets().collect();
    spots.sort_unstable();
    read.offsets().any(|offset| {
        let start = offset + distance;
        let next = spots.partition_point(|&spot| spot + size <= start);
        spots.get(next).is_some_and(|&spot| spot < start + read_size)
    })
}
