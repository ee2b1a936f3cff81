//! Finding the first pass, and in it the first rewrite, after which a program means something else.

use partita_ir::{Diagnostic, Module};

use crate::pass::{Context, PassRun, Pipeline};
use crate::rewrite::{Fuel, Rewritten};

/// What is known of a module that passes made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    Same,
    /// Where and how its results differ from those of the program as it was written.
    Differs(String),
    /// It cannot be run, and why.
    Unknown(String),
}

/// A pass that changes what the program means.
#[derive(Clone, Debug)]
pub struct Culprit {
    /// Its place in the pipeline, from 0.
    pub index: usize,
    pub run: PassRun,
    /// The module without the fault and with it: around one rewrite where there is one to blame, else around the
    /// pass.
    pub before: Module,
    pub after: Module,
    pub difference: String,
    /// The rewrite and its number in the pass, from 1; none when the pass is wrong without any.
    pub rewrite: Option<(u64, Rewritten)>,
}

/// How a search ended.
#[derive(Clone, Debug)]
pub enum Found {
    /// No pass changes the results.
    Nothing,
    Culprit(Box<Culprit>),
    /// A pass refused the program.
    Refused(PassRun, Vec<Diagnostic>),
    /// What a pass gives cannot be run.
    Unknown(PassRun, String),
}

/// Runs the passes one by one; `judge` is given each module with the passes that are left. In the first pass whose
/// result differs, rewrites are limited to find the first that makes it differ.
pub fn bisect(
    pipeline: &Pipeline,
    module: &Module,
    cx: &Context,
    judge: &mut dyn FnMut(&Module, &Pipeline) -> Judgement,
) -> Found {
    let mut before = module.clone();
    for (index, run) in pipeline.passes.iter().enumerate() {
        let rest = Pipeline { passes: pipeline.passes[index + 1..].to_vec() };
        let (after, fuel) = match limited(run, &before, cx, None) {
            Ok(done) => done,
            Err(found) => return Found::Refused(run.clone(), found),
        };
        match judge(&after, &rest) {
            Judgement::Same => before = after,
            Judgement::Unknown(why) => return Found::Unknown(run.clone(), why),
            Judgement::Differs(difference) => {
                let culprit =
                    Culprit { index, run: run.clone(), before, after, difference, rewrite: None };
                let differs =
                    |module: &Module| matches!(judge(module, &rest), Judgement::Differs(_));
                return Found::Culprit(Box::new(culprit.narrowed(cx, fuel.made, differs)));
            }
        }
    }
    Found::Nothing
}

/// A pass with at most so many rewrites.
fn limited(
    run: &PassRun,
    module: &Module,
    cx: &Context,
    limit: Option<u64>,
) -> Result<(Module, Fuel), Vec<Diagnostic>> {
    let fuel = Fuel { left: limit, ..Fuel::default() };
    let mut own = Context { settings: cx.settings, fuel, ..Context::new(cx.target) };
    let module = run.run(module, &mut own)?;
    Ok((module, own.fuel))
}

impl Culprit {
    /// Narrowed down to one of the rewrites that the pass makes.
    fn narrowed(
        mut self,
        cx: &Context,
        made: u64,
        mut differs: impl FnMut(&Module) -> bool,
    ) -> Self {
        let input = self.before.clone();
        let run = |limit| limited(&self.run, &input, cx, Some(limit)).ok();
        // With `right` rewrites the results are right, with `wrong` they are not.
        let (mut right, mut wrong) = (0, made);
        let Some((mut last_right, _)) = run(0).filter(|(module, _)| !differs(module)) else {
            return self;
        };
        if made == 0 {
            return self;
        }
        let Some((mut last_wrong, mut fuel)) = run(made) else { return self };
        while wrong - right > 1 {
            let middle = right + (wrong - right) / 2;
            let Some((module, spent)) = run(middle) else { return self };
            if differs(&module) {
                (wrong, last_wrong, fuel) = (middle, module, spent);
            } else {
                (right, last_right) = (middle, module);
            }
        }
        if let Some(last) = fuel.last {
            self.before = last_right;
            self.after = last_wrong;
            self.rewrite = Some((wrong, last));
        }
        self
    }
}
