//! Which engine executes a word that several engines could.

use partita_backend::cost::{self, Profile};
use partita_isa::{Engine, Instruction, Target};

/// The engine that is done with a word first, by the target's cost profile. One other than `usual` has to win by
/// more than the two waits that handing the word over takes; so DVE keeps short words, and a reciprocal of a whole
/// tile, eight cycles an element there and one on ACT, moves.
pub fn fastest(inst: &Instruction, usual: Engine, target: &Target) -> Engine {
    let profile = Profile::of(target.generation);
    let Some(opcode) = inst.opcode() else { return usual };
    let time = |engine: Engine| {
        let priced = cost::word_cost(inst, engine, profile, target.generation)?;
        let clock = profile.engines.get(&engine)?.clock_ghz.value;
        let away = if engine == usual { 0.0 } else { profile.handover_ns([usual, engine]) };
        Some(priced.cycles as f64 / clock + away)
    };
    let others = opcode.info().engines.iter().filter(|&engine| engine != usual);
    let best = others
        .filter_map(|engine| Some((engine, time(engine)?)))
        .min_by(|a, b| a.1.total_cmp(&b.1));
    match (best, time(usual)) {
        (Some((engine, fast)), Some(slow)) if fast < slow => engine,
        _ => usual,
    }
}
