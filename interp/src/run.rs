//! Running a plan on the machine.

use partita_isa::check::check;
use partita_isa::{Engine, Events, Instruction, Word};
use rayon::prelude::*;

use crate::error::Fault;
use crate::machine::Machine;
use crate::memory::{PARTITIONS, Place, Rows, Split};
use crate::numeric::kernels::{ROWS, Running};
use crate::numeric::streaming;
use crate::plan::{Lanes, Plan, RowPlan, Seed, Staging, Work};
use crate::rows::elementwise::{Body, Elementwise, Straight};
use crate::rows::exchange::{Columns, TILE, Transpose, stage, staged_stride};
use crate::rows::stream::Layout;
use crate::rows::{Channel, Scratch, with_scratch};

/// Rows do not fit the memories although every operand was checked: the plan and the machine disagree.
const MISPLACED: Fault = Fault::Unsupported("operands that share some of their partitions");

impl Machine {
    /// Executes one word: its wait, which must be satisfied, its effect, and its update (ISA 2.5).
    ///
    /// # Errors
    /// An illegal word, an unsatisfied wait, or what is known at run time only ([`Plan::new`]).
    pub fn step(&mut self, engine: Engine, word: &Word) -> Result<(), Fault> {
        self.check(engine, word)?;
        self.step_legal(engine, &Instruction::decode(word))
    }

    /// The rules that the word breaks.
    pub(crate) fn check(&self, engine: Engine, word: &Word) -> Result<(), Fault> {
        Fault::of(&check(word, &self.target, Some(engine)))
    }

    /// As [`Machine::step`] for a word that was checked.
    fn step_legal(&mut self, engine: Engine, word: &Instruction) -> Result<(), Fault> {
        self.between_events(&word.events, |machine| machine.take_effect(engine, word))
    }

    /// A word's wait, which must be satisfied, its effect, and its update.
    pub(crate) fn between_events(
        &mut self,
        events: &Events,
        effect: impl FnOnce(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if !self.may_start(events) {
            return Err(self.unsatisfied(events));
        }
        self.start(events);
        effect(self)?;
        self.complete(events);
        Ok(())
    }

    /// What the word does to memory and hidden state, without its wait and its update.
    pub(crate) fn take_effect(&mut self, engine: Engine, word: &Instruction) -> Result<(), Fault> {
        if self.is_literal(engine, word) && self.take_effect_literally(engine, word)? {
            return Ok(());
        }
        match Plan::new(self, engine, word) {
            // No plan reads by index.
            Err(Fault::Indirect) if self.take_effect_literally(engine, word)? => Ok(()),
            plan => self.run(&plan?),
        }
    }

    /// Whether a word is executed element by element whatever plan there is.
    pub(crate) fn is_literal(&self, engine: Engine, word: &Instruction) -> bool {
        self.limits.literal || !self.conventions.are_assumed() && self.departs(engine, word)
    }

    /// Whether work of this many elements is spread over threads.
    pub(crate) fn is_parallel(&self, elements: usize) -> bool {
        self.limits.parallel
            && elements >= self.limits.parallel_elements
            && rayon::current_num_threads() > 1
    }

    /// Runs a plan that was made for this machine.
    ///
    /// # Errors
    /// When operands share some but not all of their partitions, which CH-3 excludes.
    pub(crate) fn run(&mut self, plan: &Plan) -> Result<(), Fault> {
        let parallel = self.is_parallel(plan.volume());
        match plan {
            Plan::LoadTable(table) => self.lane_table = *table,
            Plan::CrossLane { work, source, dst, channels } => {
                let mut lanes = std::mem::take(&mut self.staged);
                let row = self.memory.stride(source.space);
                let rows = self.memory.rows(*source, *channels).ok_or(MISPLACED)?;
                work.fold(&mut lanes, rows, row, parallel);
                work.write(&mut lanes, self.memory.row_mut(*dst).ok_or(MISPLACED)?);
                self.staged = lanes;
            }
            Plan::Rows(plan) => self.run_row_plan(plan, parallel)?,
        }
        Ok(())
    }

    /// See [`Machine::run`].
    pub(crate) fn run_row_plan(&mut self, plan: &RowPlan, parallel: bool) -> Result<(), Fault> {
        let mut staged = std::mem::take(&mut self.staged);
        let result = self.run_rows(plan, &mut staged, parallel);
        self.staged = staged;
        result
    }

    fn run_rows(
        &mut self,
        plan: &RowPlan,
        staged: &mut Vec<u8>,
        parallel: bool,
    ) -> Result<(), Fault> {
        if let (Some(staging), Some(source), Lanes::All) =
            (plan.staging.filter(|staging| staging.transposed), plan.sources[0], plan.lanes)
        {
            match &plan.work {
                Work::Reduce(reduce) if reduce.group.is_multiple_of(TILE) => {
                    if let Some(fold) = reduce.columns {
                        let columns = Columns { reduce, fold, staging };
                        return self.run_columns(&columns, source, plan, staged, parallel);
                    }
                }
                Work::Elementwise(work)
                    if work.is_copy()
                        && self.transpose(work, &staging, source, plan, parallel)? =>
                {
                    return Ok(());
                }
                _ => {}
            }
        }
        let [source0, source1] = plan.sources;
        let [scalar0, scalar1] = plan.immediates.map(|immediate| immediate.place());
        if let (Some(staging), Some(place)) = (plan.staging, source0) {
            let row = self.memory.stride(place.space);
            let rows = self.memory.rows(place, plan.channels).ok_or(MISPLACED)?;
            stage(self.limits.simd, staged, rows, row, &staging, parallel);
        }
        let places = [source0, source1, scalar0, scalar1];
        let mut split = self.memory.split(plan.channels, plan.dst, places).ok_or(MISPLACED)?;
        if let Some(staging) = plan.staging {
            split.sources[0] =
                Rows::Other { bytes: staged, row: staged_stride(&staging.walk, staging.width) };
        }
        let accumulators = &mut self.accumulators[plan.dst.partition..];
        let accumulators = &mut accumulators[..plan.channels];
        let own = [0, 1].map(|i| matches!(split.sources[i], Rows::Own));
        let layout = plan.work.elementwise().map_or(Layout::Held, |work| work.layout(own));
        let straight = match &plan.work {
            Work::Elementwise(work) if plan.lanes == Lanes::All => {
                let bytes = plan.channels.saturating_mul(work.row_bytes());
                work.straight(layout, bytes >= streaming::LARGE)
            }
            _ => None,
        };
        let straight = straight.as_ref();
        split.for_each_group(accumulators, parallel, |first, rows, accumulators, sources| {
            let table = &self.lane_table;
            let group = Group { plan, sources, layout, straight, table, first };
            with_scratch(|scratch| group.run(scratch, rows, accumulators));
        });
        Ok(())
    }

    /// A reduction along transposed rows, without transposing them.
    fn run_columns(
        &mut self,
        columns: &Columns,
        source: Place,
        plan: &RowPlan,
        staged: &mut Vec<u8>,
        parallel: bool,
    ) -> Result<(), Fault> {
        let row = self.memory.stride(source.space);
        let rows = self.memory.rows(source, plan.channels).ok_or(MISPLACED)?;
        staged.resize(plan.channels * columns.bytes(), 0);
        let each = |(results, rows): (&mut [u8], &[u8])| {
            with_scratch(|scratch| columns.run(scratch, rows, row, results));
        };
        let unit = TILE * columns.bytes();
        if parallel {
            staged.par_chunks_mut(unit).zip(rows.par_chunks(row * TILE)).for_each(each);
        } else {
            staged.chunks_mut(unit).zip(rows.chunks(row * TILE)).for_each(each);
        }
        let split = self.memory.split(plan.channels, plan.dst, []).ok_or(MISPLACED)?;
        let rows = split.dst.chunks_exact_mut(split.row);
        with_scratch(|scratch| {
            for (row, results) in rows.zip(staged.chunks_exact(columns.bytes())) {
                columns.reduce.write(scratch, row, results);
            }
        });
        Ok(())
    }

    /// A transpose from runs to runs; false when the operands are not of that kind.
    fn transpose(
        &mut self,
        work: &Elementwise,
        staging: &Staging,
        source: Place,
        plan: &RowPlan,
        parallel: bool,
    ) -> Result<bool, Fault> {
        let simd = self.limits.simd;
        let split = self.memory.split(plan.channels, plan.dst, [Some(source)]);
        let Split { dst, row, sources: [source] } = split.ok_or(MISPLACED)?;
        let own = matches!(source, Rows::Own);
        let (walk, width) = (&staging.walk, staging.width);
        let found = Transpose::find(simd, plan.channels, walk, &work.dst.walk, width, own);
        let Some(transpose) = found else { return Ok(false) };
        let each = |(block, rows): (usize, &mut [u8])| match source {
            Rows::Own => transpose.run(rows, row, None),
            Rows::Other { bytes, row: stride } => {
                transpose.run(rows, row, Some((&bytes[block * TILE * stride..], stride)));
            }
        };
        if parallel {
            dst.par_chunks_mut(row * TILE).enumerate().for_each(each);
        } else {
            dst.chunks_mut(row * TILE).enumerate().for_each(each);
        }
        Ok(true)
    }
}

impl Split<'_, 4> {
    /// Calls `work` with up to [`ROWS`] destination rows at a time, on several threads if wanted.
    fn for_each_group(
        self,
        accumulators: &mut [f32],
        parallel: bool,
        work: impl Fn(usize, GroupRows, &mut [f32], [Rows; 4]) + Sync,
    ) {
        let Split { dst, row, sources } = self;
        let each = |(group, (bytes, accumulators)): (usize, (&mut [u8], &mut [f32]))| {
            work(group * ROWS, GroupRows { bytes, row }, accumulators, sources);
        };
        if parallel {
            dst.par_chunks_mut(row * ROWS)
                .zip(accumulators.par_chunks_mut(ROWS))
                .enumerate()
                .for_each(each);
        } else {
            dst.chunks_mut(row * ROWS)
                .zip(accumulators.chunks_mut(ROWS))
                .enumerate()
                .for_each(each);
        }
    }
}

/// Neighbouring destination rows.
struct GroupRows<'a> {
    bytes: &'a mut [u8],
    row: usize,
}

/// Some neighbouring channels of an instruction.
struct Group<'a> {
    plan: &'a RowPlan,
    sources: [Rows<'a>; 4],
    /// How an elementwise row is taken apart.
    layout: Layout<2>,
    /// The plan as one loop over each row, where it is as simple as that.
    straight: Option<&'a Straight>,
    table: &'a [u8; TILE],
    /// The first channel.
    first: usize,
}

impl Group<'_> {
    fn run(&self, scratch: &mut Scratch, rows: GroupRows, accumulators: &mut [f32]) {
        let GroupRows { bytes, row } = rows;
        if let (Ok(accumulators), Lanes::All) =
            (<&mut [f32; ROWS]>::try_from(&mut *accumulators), self.plan.lanes)
            && self.run_side_by_side(scratch, bytes, row, accumulators)
        {
            return;
        }
        let rows = (self.first..).zip(bytes.chunks_exact_mut(row).zip(accumulators));
        let Some(straight) = self.straight else {
            for (channel, (row, accumulator)) in rows {
                scratch.ready();
                self.run_channel(scratch, channel, row, accumulator);
            }
            return;
        };
        for (channel, (row, accumulator)) in rows {
            let others = [0, 1].map(|i| self.sources[i].channel(channel));
            let mut state = self.channel(channel, row, *accumulator);
            straight.run(row, others, &mut state);
            self.keep(accumulator, &state);
        }
        straight.settle();
    }

    /// Scans and ordered folds of several rows at once; false when the work is not of that kind.
    fn run_side_by_side(
        &self,
        scratch: &mut Scratch,
        rows: &mut [u8],
        row: usize,
        accumulators: &mut [f32; ROWS],
    ) -> bool {
        let others = || std::array::from_fn(|i| self.sources[0].channel(self.first + i));
        let start = |rows: &[u8], accumulators: &[f32; ROWS]| {
            std::array::from_fn(|i| {
                self.channel(self.first + i, &rows[i * row..(i + 1) * row], accumulators[i])
            })
        };
        let mut channels: [Channel; ROWS];
        match &self.plan.work {
            Work::Elementwise(work) => {
                let Some(how) = work.side_by_side(self.layout) else { return false };
                channels = start(rows, accumulators);
                work.run_rows(how, scratch, rows, others(), &mut channels);
            }
            Work::Reduce(work) => {
                let Some(feed) = work.side_by_side() else { return false };
                channels = start(rows, accumulators);
                work.run_rows(feed, scratch, rows, others(), &mut channels);
            }
            Work::Predicated(_) | Work::Select { .. } => return false,
        }
        for (accumulator, channel) in accumulators.iter_mut().zip(&channels) {
            self.keep(accumulator, channel);
        }
        true
    }

    fn run_channel(
        &self,
        scratch: &mut Scratch,
        channel: usize,
        row: &mut [u8],
        accumulator: &mut f32,
    ) {
        let entry = usize::from(self.table[channel % TILE]);
        let source_channel = match self.plan.lanes {
            Lanes::All => channel,
            Lanes::Masked | Lanes::Shuffled if entry >= TILE => return,
            Lanes::Masked => channel,
            Lanes::Shuffled => channel / TILE * TILE + entry,
        };
        let others =
            [self.sources[0].channel(source_channel), self.sources[1].channel(source_channel)];
        let mut state = self.channel(channel, row, *accumulator);
        match &self.plan.work {
            Work::Elementwise(work) => work.run(self.layout, scratch, row, others, &mut state),
            Work::Reduce(work) => work.run(scratch, row, others[0], &mut state),
            Work::Predicated(work) => work.run(scratch, row, others),
            Work::Select { take, fill, reversed } => {
                let filled = Elementwise { body: Body::Scalars(*fill, None), ..*take };
                let work = if (state.scalars[1] != 0) != *reversed { take } else { &filled };
                work.run(self.layout, scratch, row, others, &mut state);
            }
        }
        self.keep(accumulator, &state);
    }

    /// What the channel brings: its scalars, read before anything is written, and its running fold.
    fn channel(&self, channel: usize, row: &[u8], accumulator: f32) -> Channel {
        let scalars = [0, 1].map(|i| {
            let row = self.sources[2 + i].channel(channel).unwrap_or(row);
            self.plan.immediates[i].read(row)
        });
        let running = match self.plan.accumulator {
            None => Running::default(),
            Some(Seed::Accumulator) => Running::seeded(accumulator.to_bits().into()),
            Some(Seed::Value(value)) => Running::seeded(value.to_bits().into()),
            Some(Seed::Immediate) => Running::seeded(scalars[1]),
        };
        Channel { scalars, running }
    }

    fn keep(&self, accumulator: &mut f32, channel: &Channel) {
        if self.plan.accumulator.is_some() {
            *accumulator = f32::from_bits(channel.running.acc as u32);
        }
    }
}

const _: () = assert!(PARTITIONS.is_multiple_of(ROWS));
