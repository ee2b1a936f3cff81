//! The choice of a tile size: candidates are enumerated and priced, and the cheapest that fits is taken.
//!
//! A candidate is a block (rows, free extents) and a division of one free axis into windows. More windows let
//! loads, words and stores overlap and rows of any length fit; they cost more words and more waits. The price
//! is the time of the region by itself under the cost profile: each loop over windows is a pipeline of loads,
//! words and stores, blocks after the first follow at the pace of the busiest of them.

use partita_backend::cost::Profile;
use partita_ir::Func;
use partita_ir::entity::{OpId, ValueId};
use partita_ir::ops::{ReduceOp, TensorOp};
use partita_isa::Target;

use super::axes::Axis;
use super::group::Group;
use super::phases::{Along, Phases};
use super::plan::Region;
use super::price::{Work, drain_work, form_work, sums_beside};
use super::readers::Readers;
use super::size::{Held, TileSize, peak_bytes, steps_fit, tiles, uncut, whole};
use crate::select;

/// What tile sizes are chosen by.
pub struct Chooser<'a> {
    pub func: &'a Func,
    pub target: &'a Target,
    /// Bytes of a partition that the live tiles of a block may take.
    pub budget: u64,
    /// Bytes of a partition that there are.
    pub usable: u64,
    /// For each value the operations that compute with it, through movement, and whether it is returned.
    pub readers: &'a Readers,
}

/// A candidate, what it takes and what it costs.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub size: TileSize,
    pub bytes: u64,
    pub fits: bool,
    /// Nanoseconds that engines work.
    pub work: f64,
    /// Nanoseconds; infinite when the group cannot be cut like this.
    pub ns: f64,
}

/// Windows that are tried.
const WINDOWS: [u64; 6] = [2, 4, 8, 16, 32, 64];

/// The shortest rows that windows may leave.
const LEAST_ROW_BYTES: u64 = 1024;

/// Rows that transfers are documented to work well with. Windows of shorter ones must be worth more.
const GOOD_ROW_BYTES: u64 = 2048;

/// Windows may make engines work this much longer than one tile would: what one program waits less, another
/// beside it would lose.
const MORE_WORK: f64 = 1.03;

/// A candidate with more words must be this much faster; one with short rows as well, this much.
const WORTH: f64 = 0.98;
const SHORT_WORTH: f64 = 0.86;

/// The time that one more window takes around its words, in nanoseconds: waits seldom fall in with the end of
/// the word before.
const WINDOW_NS: f64 = 20.0;

/// Windows are multiples of so many elements where the axis is long.
const ROUND: u64 = 16;

impl Chooser<'_> {
    /// The candidates, and which of them is taken; none when nothing fits.
    pub fn choose(&self, group: &Group, region: &Region) -> (Vec<Candidate>, Option<usize>) {
        let mut candidates: Vec<Candidate> = Vec::new();
        if let Some(size) = uncut(self.func, group, region, self.budget) {
            let bytes = peak_bytes(self.func, group, region, &size);
            let (ns, work) = self.price(group, region, &size, None, bytes);
            candidates.push(Candidate { size, bytes, fits: true, work, ns });
        }
        for size in self.cut_sizes(group, region, !candidates.is_empty()) {
            let Some(phases) = size.phases(self.func, self.target, group, region) else { continue };
            let (bytes, fits) = self.windowed_bytes(group, region, &size, &phases);
            let (ns, work) = self.price(group, region, &size, Some(&phases), bytes);
            candidates.push(Candidate { size, bytes, fits, work, ns });
        }
        let least = candidates.iter().filter(|c| c.fits).map(|c| c.work).fold(f64::MAX, f64::min);
        let mut best: Option<usize> = None;
        let good = |c: &Candidate| c.fits && c.work <= least * MORE_WORK;
        for (index, candidate) in candidates.iter().enumerate().filter(|(_, c)| good(c)) {
            let row = self.row_bytes(group, region, &candidate.size);
            let worth = if row < GOOD_ROW_BYTES { SHORT_WORTH } else { WORTH };
            if best.is_none_or(|best| candidate.ns < candidates[best].ns * worth) {
                best = Some(index);
            }
        }
        (candidates, best)
    }

    /// Values that are left on the chip by one loop for a later one, which works with whole values only: their axes.
    fn handed_over(&self, tiles: &[Held], group: &Group, region: &Region) -> Vec<Axis> {
        let small = self.budget / super::resident::SHARE;
        if region.row_count() > super::plan::PARTITIONS {
            return Vec::new();
        }
        let stays = |held: &&Held| match held.loaded {
            true => held.bytes <= small && self.readers.computed(held.value),
            false => {
                held.bytes <= small
                    && self.leaves(group, held.value)
                    && !self.readers.returned(held.value)
            }
        };
        tiles.iter().filter(stays).flat_map(|held| held.axes.iter().copied()).collect()
    }

    /// True of a value that something outside the group reads.
    fn leaves(&self, group: &Group, value: ValueId) -> bool {
        let outside = |op: &OpId| !group.ops.iter().any(|member| member.op == *op);
        self.readers.returned(value) || self.readers.of(value).iter().any(outside)
    }

    /// Every division of a free axis into windows that leaves long rows, and whole what may stay on the chip.
    fn cut_sizes(&self, group: &Group, region: &Region, may_stay: bool) -> Vec<TileSize> {
        let mut out: Vec<TileSize> = Vec::new();
        let tiles = tiles(self.func, group, region, &whole(region));
        let kept_whole = match may_stay {
            true => self.handed_over(&tiles, group, region),
            false => Vec::new(),
        };
        for cut in 0..region.free.len() {
            if kept_whole.contains(&region.free[cut].axis) {
                continue;
            }
            let extent = region.free[cut].extent;
            // Something that all blocks read has the axis.
            let shared = tiles.iter().any(|held| {
                held.loaded
                    && held.axes.contains(&region.free[cut].axis)
                    && !region.rows.iter().any(|row| held.axes.contains(&row.axis))
            });
            for count in WINDOWS {
                let mut width = extent.div_ceil(count);
                if width > 4 * ROUND {
                    width = width.next_multiple_of(ROUND);
                }
                let mut size = TileSize { cut: Some(cut), ..whole(region) };
                size.free[cut] = width;
                if width >= extent || self.row_bytes(group, region, &size) < LEAST_ROW_BYTES {
                    break;
                }
                if out.last() == Some(&size) || !steps_fit(region, &size) {
                    continue;
                }
                if shared && size.blocks(region) > 1 {
                    out.push(TileSize { hold: true, ..size.clone() });
                }
                out.push(size);
            }
        }
        out
    }

    /// Bytes of a row of a window in main memory, of the widest type, where rows lie as the axes do.
    fn row_bytes(&self, group: &Group, region: &Region, size: &TileSize) -> u64 {
        let Some(cut) = size.cut else { return u64::MAX };
        let elements = group.values.keys().map(|&value| self.func.ty(value).dtype().size_bytes());
        let within = region.free.iter().skip(cut + 1).map(|looped| looped.extent);
        let width = size.free.get(cut).copied().unwrap_or(1);
        within.fold(width, u64::saturating_mul).saturating_mul(elements.max().unwrap_or(1))
    }

    /// Bytes that tiles of windows take, and whether they fit: what is held, what one loop leaves for another,
    /// and twice what a window works on.
    fn windowed_bytes(
        &self,
        group: &Group,
        region: &Region,
        size: &TileSize,
        phases: &Phases,
    ) -> (u64, bool) {
        let windows = size.window_count(region);
        let step_of = step_numbers(phases, group.ops.len());
        let tiles = tiles(self.func, group, region, size);
        let cut_axis = size.cut.and_then(|cut| region.free.get(cut)).map(|looped| looped.axis);
        let has_cut = |held: &Held| cut_axis.is_some_and(|axis| held.axes.contains(&axis));
        let has_rows = |held: &Held| region.rows.iter().any(|row| held.axes.contains(&row.axis));
        let (mut constant, mut spans, mut working) = (0u64, Vec::new(), Vec::new());
        for held in &tiles {
            let steps = (step_of[held.first], step_of[held.last]);
            let kept = held.loaded && !has_rows(held) && (size.hold || !has_cut(held));
            match (kept, has_cut(held)) {
                (true, cut) => constant += held.bytes * if cut { windows } else { 1 },
                (false, true) if steps.0 != steps.1 => spans.push((steps, held.bytes)),
                _ => working.push((held, steps)),
            }
        }
        let mut most = 0;
        for step in 0..phases.steps.len() {
            // At the first window and at the last of the step.
            let resident = |begin: bool| -> u64 {
                let of = |&((first, last), bytes): &((usize, usize), u64)| match (first, last) {
                    _ if step < first || step > last => 0,
                    _ if first < step && step < last => bytes * windows,
                    (first, _) if first == step => bytes * if begin { 1 } else { windows },
                    _ => bytes * if begin { windows } else { 1 },
                };
                spans.iter().map(of).sum()
            };
            let members = &phases.steps[step].members;
            let busiest = members.iter().map(|&at| {
                let live = working.iter().filter(|(held, steps)| {
                    let here = steps.0 == step && held.first <= at || steps.0 < step;
                    let still = steps.1 == step && at <= held.last + 1 || steps.1 > step;
                    here && still
                });
                live.map(|(held, _)| held.bytes).sum::<u64>()
            });
            let busiest = busiest.max().unwrap_or(0);
            most = most.max(resident(true).max(resident(false)) + 2 * busiest);
        }
        let parts: u64 = phases
            .along
            .iter()
            .filter(|along| matches!(along, Along::Parts { .. }))
            .map(|_| (windows * 4).next_multiple_of(super::size::ALIGN))
            .sum();
        let bytes = constant + most + parts;
        (bytes, bytes <= (2 * self.budget).min(self.usable))
    }

    /// Nanoseconds of the region by itself, and those that engines work.
    fn price(
        &self,
        group: &Group,
        region: &Region,
        size: &TileSize,
        phases: Option<&Phases>,
        bytes: u64,
    ) -> (f64, f64) {
        let windows = size.window_count(region);
        let blocks = size.blocks(region) as f64;
        let all: Vec<usize> = (0..group.ops.len()).collect();
        let steps: Vec<(bool, &[usize])> = match phases {
            Some(phases) => {
                phases.steps.iter().map(|step| (step.looped, step.members.as_slice())).collect()
            }
            None => vec![(false, all.as_slice())],
        };
        let profile = Profile::of(self.target.generation);
        let dma = &profile.dma;
        let tiles = tiles(self.func, group, region, size);
        let rows = size.rows as f64;
        let moved = |held: &Held| {
            let cut = size.cut.and_then(|cut| region.free.get(cut));
            let times = match cut.is_some_and(|looped| held.axes.contains(&looped.axis)) {
                true => windows as f64,
                false => 1.0,
            };
            let short = (dma.efficient_row_bytes.value / held.bytes.max(1) as f64).max(1.0);
            held.bytes as f64 * rows * times * short / dma.gigabytes_per_second.value
        };
        let has_rows = |held: &Held| region.rows.iter().any(|row| held.axes.contains(&row.axis));
        let kept_all =
            |held: &Held| held.loaded && !has_rows(held) && (size.cut.is_none() || size.hold);
        let (mut total, mut one_block) = ((0.0, 0.0, Work::default()), 0.0);
        let mut once = 0.0;
        for &(looped, members) in &steps {
            let times = if looped { windows } else { 1 } as f64;
            let (mut load, mut store, mut work) = (0.0, 0.0, Work::default());
            for &at in members {
                let elements = elements(group, region, size, at, looped);
                if let Ok(form) = self.form(group, region, size, at) {
                    let sums = self.summed_by(group, at).is_some_and(|exponential| {
                        self.form(group, region, size, exponential)
                            .is_ok_and(|form| sums_beside(&form))
                    });
                    let alone = form_work(&form, elements, self.target);
                    let beside = drain_work(self.target);
                    let cheaper = sums && beside.dve < alone.dve;
                    work.add(if cheaper { beside } else { alone }, times);
                }
                if let Some(Along::Parts { last, .. }) = phases.and_then(|p| p.along.get(at)) {
                    let parts = self.kept_elements(group, region, size, at) * windows;
                    work.add(form_work(last, parts, self.target), 1.0);
                }
                for held in tiles.iter().filter(|held| held.first == at) {
                    if !held.loaded {
                        store += if self.leaves(group, held.value) { moved(held) } else { 0.0 };
                    } else if kept_all(held) {
                        once += moved(held);
                    } else {
                        load += moved(held);
                    }
                }
            }
            let sum = load + store + work.sum();
            let most = (load + store).max(work.most());
            one_block += (most * (times - 1.0) + sum) / times + WINDOW_NS * times;
            total.0 += load;
            total.1 += store;
            total.2.add(work, 1.0);
        }
        let (load, store, work) = total;
        let pace = (load + store).max(work.most());
        // Where there is no room beside a block, the next one has to wait for its end.
        let beside = self.usable.saturating_sub(bytes) as f64 / bytes.max(1) as f64;
        let next = one_block + (pace - one_block) * beside.min(1.0);
        let ns = 2.0 * dma.latency_ns.value + once + one_block + (blocks - 1.0) * next;
        (ns, work.sum() * blocks)
    }

    /// Elements of a partition of an operation's result.
    fn kept_elements(&self, group: &Group, region: &Region, size: &TileSize, at: usize) -> u64 {
        let axes = group.values.get_index(at).map(|(_, dims)| dims);
        let has = |axis: Axis| {
            axes.is_some_and(|dims| dims.iter().flatten().any(|&dim| group.axes.root(dim) == axis))
        };
        let free = region.free.iter().enumerate().filter(|(_, looped)| has(looped.axis));
        free.map(|(index, _)| size.outer(region, index)).fold(1, u64::saturating_mul)
    }

    /// The exponential whose rows an operation sums.
    fn summed_by(&self, group: &Group, at: usize) -> Option<usize> {
        let member = &group.ops[at];
        let adds = matches!(
            self.func.ops[member.op].as_tensor(),
            Some(TensorOp::Reduce { op: ReduceOp::Add, negate: false, .. })
        );
        let source = member.sources.first().copied().flatten().filter(|_| adds)?;
        group.values.get_index_of(&source)
    }

    fn form(
        &self,
        group: &Group,
        region: &Region,
        size: &TileSize,
        at: usize,
    ) -> Result<select::Form, select::NotCore> {
        let member = &group.ops[at];
        let is_row = |index: usize| {
            let dims = member.operands.get(index);
            dims.is_some_and(|dims| {
                let mut axes = dims.iter().flatten().map(|&axis| group.axes.root(axis));
                axes.all(|axis| {
                    let free = region.free.iter().position(|looped| looped.axis == axis);
                    free.is_none_or(|index| size.free[index] == 1)
                })
            })
        };
        select::form(self.func, &self.func.ops[member.op], self.target, is_row)
    }
}

/// The step of each operation.
fn step_numbers(phases: &Phases, count: usize) -> Vec<usize> {
    let mut out = vec![0; count];
    for (number, step) in phases.steps.iter().enumerate() {
        step.members.iter().for_each(|&at| out[at] = number);
    }
    out
}

/// Elements of a partition that an operation streams at a time.
fn elements(group: &Group, region: &Region, size: &TileSize, at: usize, looped: bool) -> u64 {
    let member = &group.ops[at];
    let result = group.values.get_index(at).map(|(_, dims)| dims);
    let mut axes: Vec<Axis> = member
        .operands
        .iter()
        .chain(result)
        .flat_map(|dims| dims.iter().flatten().map(|&axis| group.axes.root(axis)))
        .collect();
    axes.sort_unstable();
    axes.dedup();
    let free = region.free.iter().enumerate();
    free.filter(|(_, looped)| axes.contains(&looped.axis))
        .map(|(index, _)| match looped {
            true => size.free[index],
            false => size.outer(region, index),
        })
        .fold(1, u64::saturating_mul)
}
