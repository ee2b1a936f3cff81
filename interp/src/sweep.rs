//! Which of the open questions a program's results hang on: it is run under the assumed answers, and once under each
//! other answer that one of its words can notice.

use partita_backend::program::Program;
use partita_ir::TensorData;
use partita_ir::eval::Fp8Options;
use partita_ir::eval::convert::decode_f32;
use partita_isa::{Engine, Instruction};

use crate::conventions::Alternative;
use crate::exec::{ExecError, Options};
use crate::machine::{Limits, Machine};

/// What came of every alternative that was tried, in the order of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    pub findings: Vec<Finding>,
}

/// What came of one alternative.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub alternative: Alternative,
    /// Words that it can change.
    pub words: usize,
    pub effect: Effect,
}

/// What an alternative does to a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Every output is the same.
    None,
    Changes(Vec<Change>),
    /// The program does not run to its end.
    Fails(String),
}

/// An output that is not the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The number of the output, and its name.
    pub output: usize,
    pub name: String,
    /// Elements that differ, of how many.
    pub differ: usize,
    pub elements: usize,
    /// The first of them, and its bits under the assumed answers and under this one.
    pub first: usize,
    pub bits: [u64; 2],
}

/// The alternatives that words of a program can notice, each with the number of those words, in the order of the
/// table.
pub fn reached(program: &Program, options: &Options) -> Vec<(Alternative, usize)> {
    // Memories of no size: only registers are looked at.
    let Ok(mut machine) = Machine::new(program.target, 0, Limits::default()) else {
        return Vec::new();
    };
    machine.registers = options.registers;
    let mut counts = vec![0; Alternative::ALL.len()];
    for (&engine, words) in &program.words {
        for word in words {
            count(&machine, engine, &Instruction::decode(word), options, &mut counts);
        }
    }
    let all = Alternative::ALL.iter().copied().zip(counts);
    all.filter(|&(_, words)| words > 0).collect()
}

fn count(
    machine: &Machine,
    engine: Engine,
    word: &Instruction,
    options: &Options,
    counts: &mut [usize],
) {
    // What was chosen already is no alternative any more.
    let asked = Alternative::ALL.iter().copied().filter(|&a| !options.conventions.has(a));
    for alternative in machine.reached(engine, word, asked) {
        if let Some(count) = counts.get_mut(alternative as usize) {
            *count += 1;
        }
    }
}

/// Tries every alternative that words of the program can notice against what `assumed` holds. `run` executes the
/// program under the options that it is given, in whatever order.
pub fn sweep(
    program: &Program,
    options: &Options,
    assumed: &[TensorData],
    mut run: impl FnMut(&Options) -> Result<Vec<TensorData>, ExecError>,
) -> Sweep {
    let fp8 = Fp8Options { ocp: program.target.fp8_ocp, saturate: program.target.fp8_saturate };
    let findings = reached(program, options)
        .into_iter()
        .map(|(alternative, words)| {
            let conventions = options.conventions.with(alternative.into());
            let effect = match run(&Options { conventions, ..*options }) {
                Ok(results) => {
                    let pairs = assumed.iter().zip(&results).enumerate();
                    let changes: Vec<Change> = pairs
                        .filter_map(|(output, (old, new))| {
                            let name = program.io.outputs.get(output)?.name.clone();
                            change(output, name, [old, new], fp8)
                        })
                        .collect();
                    if changes.is_empty() { Effect::None } else { Effect::Changes(changes) }
                }
                Err(error) => Effect::Fails(error.to_string()),
            };
            Finding { alternative, words, effect }
        })
        .collect();
    Sweep { findings }
}

/// How two results differ; any NaN equals any NaN (OQ-62).
fn change(
    output: usize,
    name: String,
    [old, new]: [&TensorData; 2],
    fp8: Fp8Options,
) -> Option<Change> {
    if old.bytes() == new.bytes() {
        return None;
    }
    let dtype = old.dtype();
    let is_nan = |bits| dtype.is_float() && decode_f32(bits, dtype, fp8).is_nan();
    let mut change: Option<Change> = None;
    for (at, bits) in old.iter_bits().zip(new.iter_bits()).enumerate() {
        if bits.0 == bits.1 || is_nan(bits.0) && is_nan(bits.1) {
            continue;
        }
        let found = change.get_or_insert_with(|| Change {
            output,
            name: name.clone(),
            differ: 0,
            elements: old.len(),
            first: at,
            bits: [bits.0, bits.1],
        });
        found.differ += 1;
    }
    change
}
