//! Stretches of a program that run some partitions at a time.
//!
//! Most words and most transfers keep to the partition that they work on: what one of them does to a row depends on that
//! row alone. A stretch of such items can do all its work on some rows before it turns to the next, so that what one
//! item leaves the next one finds in a near cache. No bit depends on it: each row sees its items in the same order, and
//! waits and updates, which know nothing of rows, are seen to before.

use std::ops::Range;

use crate::dma::{ByRows, Transfer};
use crate::error::Fault;
use crate::machine::Machine;
use crate::memory::PARTITIONS;
use crate::numeric::kernels::ROWS;
use crate::plan::RowPlan;

use super::ExecError;
use super::contained::is_self_contained;
use super::items::{Items, Waits};

/// Items of a stretch at most, each of which is compared with all others.
const LONGEST: usize = 256;

/// What an item does, for some partitions at a time.
pub(super) enum Local {
    Word(Box<RowPlan>),
    Dma(Box<Transfer>, ByRows),
}

impl Local {
    /// Elements that it visits.
    fn volume(&self) -> usize {
        match self {
            Self::Word(plan) => plan.volume(),
            Self::Dma(transfer, _) => transfer.elements(),
        }
    }

    /// Whether the order of the two matters for no two rows; in the memories of partitions it never does.
    fn is_apart(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dma(_, rows), Self::Dma(_, others)) => rows.is_apart(others),
            _ => true,
        }
    }

    /// Does it for these partitions, on rows that are `down` partitions below.
    fn run(&self, machine: &mut Machine, band: &Range<usize>, down: usize) -> Result<(), Fault> {
        match self {
            Self::Word(plan) => match plan.within(band, down) {
                Some(part) => machine.run_row_plan(&part, machine.is_parallel(part.volume())),
                None => Ok(()),
            },
            Self::Dma(transfer, rows) => {
                if let Some(part) = transfer.within(rows, band, down) {
                    machine.run_transfer(&part);
                }
                Ok(())
            }
        }
    }
}

/// A part of the program order.
pub(super) enum Stretch {
    /// Items one after the other.
    Whole(Vec<usize>),
    /// Items that run by bands, with their numbers.
    Banded {
        items: Vec<(usize, Local)>,
        /// All bands use the same rows of the memories, those of the first one, which so stay in the caches.
        same_rows: bool,
    },
}

impl Stretch {
    /// Cuts a sequence of items into stretches.
    pub fn cut(sequence: &[usize], items: &Items, machine: &Machine) -> Vec<Self> {
        let mut stretches = Vec::new();
        let mut open: Vec<(usize, Local)> = Vec::new();
        for &number in sequence {
            let local = items.local(number, machine);
            let joins = |local: &Local| {
                open.len() < LONGEST && open.iter().all(|(_, other)| other.is_apart(local))
            };
            if !local.as_ref().is_some_and(joins) {
                Self::close(&mut stretches, &mut open, machine);
            }
            match (local, stretches.last_mut()) {
                (Some(local), _) => open.push((number, local)),
                (None, Some(Self::Whole(numbers))) => numbers.push(number),
                (None, _) => stretches.push(Self::Whole(vec![number])),
            }
        }
        Self::close(&mut stretches, &mut open, machine);
        // Nobody sees the memories of the partitions afterwards.
        let may_share = stretches.iter().all(|stretch| match stretch {
            Self::Whole(numbers) => numbers.is_empty(),
            Self::Banded { items, .. } => is_self_contained(items),
        });
        for stretch in &mut stretches {
            if let Self::Banded { same_rows, .. } = stretch {
                *same_rows = may_share;
            }
        }
        stretches
    }

    /// Ends the open stretch.
    fn close(stretches: &mut Vec<Self>, open: &mut Vec<(usize, Local)>, machine: &Machine) {
        let open = std::mem::take(open);
        let volume = open.iter().fold(0usize, |sum, (_, local)| sum.saturating_add(local.volume()));
        if open.len() > 1 && volume >= machine.limits.banded_elements {
            return stretches.push(Self::Banded { items: open, same_rows: false });
        }
        let numbers = open.iter().map(|&(number, _)| number);
        match stretches.last_mut() {
            Some(Self::Whole(before)) => before.extend(numbers),
            _ => stretches.push(Self::Whole(numbers.collect())),
        }
    }

    /// Runs the stretch; every wait must hold when its item is reached.
    pub fn run(&self, items: &Items, machine: &mut Machine) -> Result<(), ExecError> {
        let (banded, same_rows) = match self {
            Self::Whole(numbers) => {
                let mut numbers = numbers.iter();
                return numbers.try_for_each(|&number| items.run(number, machine, Waits::Hold));
            }
            Self::Banded { items, same_rows } => (items, *same_rows),
        };
        let mut verdict = Ok(());
        let mut reached = 0;
        while reached < banded.len() && verdict.is_ok() {
            verdict = items.pass_events(banded[reached].0, machine);
            reached += usize::from(verdict.is_ok());
        }
        let threads = if machine.limits.parallel { rayon::current_num_threads() } else { 1 };
        let height = (ROWS * threads).min(PARTITIONS);
        for first in (0..PARTITIONS).step_by(height) {
            let band = first..(first + height).min(PARTITIONS);
            let down = if same_rows { first } else { 0 };
            for (number, local) in &banded[..reached] {
                local.run(machine, &band, down).map_err(|fault| items.failed(*number, fault))?;
            }
        }
        verdict
    }
}
