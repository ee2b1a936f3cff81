//! What the makespan hangs on: each assumed figure is raised by a tenth, and the program simulated again.

use std::collections::BTreeSet;

use partita_isa::{CostClass, Engine, Opcode};
use serde::Serialize;

use super::simulate;
use crate::cost::{AssumedFigure, Profile};
use crate::program::Program;

/// How the makespan answers to one assumed figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sensitivity {
    /// Where the figure stands in the profile.
    pub figure: String,
    pub value: f64,
    /// What the makespan grows by, in nanoseconds, when the figure is a tenth larger.
    pub tenth_more_ns: f64,
    /// The same as a part of the makespan.
    pub tenth_more: f64,
}

/// The assumed figures that the makespan answers to, the strongest first. Schedules are not remade: the words stay.
pub fn sensitivity(program: &Program, profile: &Profile, makespan_ps: u64) -> Vec<Sensitivity> {
    let classes: BTreeSet<(Engine, CostClass)> = program
        .words
        .iter()
        .flat_map(|(&engine, words)| {
            words.iter().filter_map(move |word| {
                Some((engine, Opcode::from_number(word.opcode_byte())?.info().cost))
            })
        })
        .collect();
    let used = |figure: &AssumedFigure| match (figure.engine, figure.class) {
        (None, _) => !figure.path.starts_with("dma.") || !program.dma.is_empty(),
        (Some(engine), Some(class)) => classes.contains(&(engine, class)),
        (Some(engine), None) => program.words.get(&engine).is_some_and(|words| !words.is_empty()),
    };
    let mut found: Vec<Sensitivity> = profile
        .assumed()
        .into_iter()
        .filter(used)
        .filter_map(|figure| {
            let changed = profile.with_tenth_more(&figure)?;
            let makespan = simulate(program, &changed).ok()?.makespan_ps;
            let more = makespan as f64 - makespan_ps as f64;
            (makespan != makespan_ps).then(|| Sensitivity {
                figure: figure.path,
                value: figure.value,
                tenth_more_ns: more / 1e3,
                tenth_more: more / (makespan_ps.max(1)) as f64,
            })
        })
        .collect();
    found.sort_by(|a, b| {
        b.tenth_more_ns
            .abs()
            .total_cmp(&a.tenth_more_ns.abs())
            .then_with(|| a.figure.cmp(&b.figure))
    });
    found
}
