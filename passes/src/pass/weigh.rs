//! What comes of a function in the end, for choosing among forms of it.
//!
//! Fusion prices operations before their layout is known, and a form that looks cheaper may leave fewer axes for the
//! partitions or move more data. So a short function is taken through the rest of the pipeline in each of the forms
//! that are at hand, and the words and transfers themselves are priced.

use partita_backend::cost::{Profile, ProgramCost};
use partita_backend::program::Meta;
use partita_backend::timeline::simulate;
use partita_ir::{Func, Module};

use super::{Context, Pipeline};
use crate::fuse::{FuseOptions, FuseResult, Mode, fuse};
use crate::remark::{Remark, RemarkKind};
use crate::rewrite::Fuel;

/// Functions of more operations are not lowered for a comparison: it would take too long.
const MOST: usize = 160;

/// The best of what is at hand: the form that was found, those of the simpler modes, and the function as it was.
/// Ties go to the form that was found.
///
/// Where rewrites are counted nothing is compared, so that each further rewrite only adds to those before.
pub(super) fn best(
    func: &Func,
    found: FuseResult,
    options: &FuseOptions,
    cx: &Context,
) -> FuseResult {
    let counted = cx.fuel.left.is_some() || options.rewrite_limit.is_some();
    if counted || found.stats.rewrites == 0 || func.body.len() > MOST {
        return found;
    }
    let simpler = Mode::ALL.into_iter().rev().skip_while(|&mode| mode != options.mode).skip(1);
    let others = simpler.filter_map(|mode| {
        let options = FuseOptions { mode, ..*options };
        fuse(func, &cx.target, &options, &mut Fuel::default()).ok()
    });
    let mut forms = vec![found];
    for other in others {
        if forms.iter().all(|form| form.func != other.func) {
            forms.push(other);
        }
    }
    if forms.len() == 1 {
        return forms.swap_remove(0);
    }
    let times: Vec<u64> =
        forms.iter().map(|form| time(&form.func, options, cx).unwrap_or(u64::MAX)).collect();
    let best = (0..times.len()).min_by_key(|&form| times[form]).unwrap_or(0);
    let stats = forms[0].stats.clone();
    let mut chosen = forms.swap_remove(best);
    if best != 0 {
        chosen.remarks.push(Remark {
            message: "what costs least by itself takes more time once it is laid out".to_owned(),
            cost_before: Some(times[best]),
            cost_after: Some(times[0]).filter(|&time| time < u64::MAX),
            value: format!("@{}", func.name),
            span: Some(func.spans.name),
            ..Remark::new(RemarkKind::Missed, options.pass(), "whole-program")
        });
    }
    chosen.stats = crate::fuse::FuseStats { fused: chosen.stats.fused, ..stats };
    chosen
}

/// What the rest of the default pipeline makes of a form, in picoseconds: the time of all engines and of the transfers,
/// added, and the end of the simulation, since work that waits for work is not done sooner. Nothing where the form
/// cannot be lowered.
fn time(form: &Func, options: &FuseOptions, cx: &Context) -> Option<u64> {
    let mut rest = Pipeline::default().fusing(options.mode);
    let here = rest.passes.iter().position(|run| run.pass.name == options.pass())?;
    rest.passes.drain(..=here);
    let module = Module { target: None, funcs: vec![form.clone()] };
    let mut trial = Context { settings: cx.settings, ..Context::new(cx.target) };
    let lowered = rest.run(&module, &mut trial, false, &mut ()).ok()?;
    let program =
        partita_backend::emit::emit(lowered.funcs.first()?, cx.target, Meta::default()).ok()?;
    let profile = Profile::of(cx.target.generation);
    let work = ProgramCost::new(&program, profile).work_ns();
    let timeline = simulate(&program, profile).ok()?;
    Some(((work * 1e3).round() as u64).saturating_add(timeline.makespan_ps))
}
