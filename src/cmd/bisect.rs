//! `partita bisect`: the first pass, and in it the first rewrite, that changes what a program computes.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use partita::backend::emit::emit;
use partita::backend::program::Meta;
use partita::interp::exec;
use partita::ir::eval::{BoundOptions, Bounded, EvalOptions, compare, eval_bounded, eval_func};
use partita::ir::{Diagnostic, Module, TensorData};
use partita::isa::Target;
use partita::passes::bisect::{Culprit, Found, Judgement, bisect};
use partita::passes::expand::eval_options;
use partita::passes::pass::Dialect;
use partita::passes::{Context, Pipeline};

use super::run;
use crate::cli::{Common, InputFormat};
use crate::diff;
use crate::failure::{Failure, Outcome, style};
use crate::files;
use crate::program::{Choice, load_file};
use crate::tensors::{InputFlags, fp8};

#[derive(Args)]
pub struct Options {
    /// The program; `-` is standard input.
    pub file: PathBuf,
    #[command(flatten)]
    pub choice: Choice,
    /// Passes to search instead of the default pipeline.
    #[arg(long, value_name = "PASSES", value_parser = super::opt::pipeline)]
    pub passes: Option<Pipeline>,
    #[command(flatten)]
    pub inputs: InputFlags,
    /// What the input is, instead of finding it out from the content.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub input_format: Option<InputFormat>,
    #[command(flatten)]
    pub common: Common,
}

pub fn run(options: &Options) -> Outcome {
    let refusal = "is compiled already: no pass is to blame";
    let (file, format) = (&options.file, options.input_format);
    let loaded = load_file(file, format, refusal, &options.choice, &options.common)?;
    let entry = loaded.only()?;
    let (module, _) = entry.alone()?;
    let func =
        module.func(&entry.func.name).ok_or_else(|| Failure::message("the function is gone"))?;
    let target = options.common.target_or(entry.target);
    let mut flags = options.inputs.clone();
    if flags.inputs.is_none() && flags.random.is_none() {
        flags.random = Some(1);
    }
    let inputs = flags.load(&run::wanted(func)?, fp8(target), options.common.quiet)?;
    let options_of_eval = eval_options(&target);
    let want = eval_bounded(func, &inputs, &options_of_eval, &BoundOptions::default())
        .map_err(Failure::message)?;
    let trial = Trial { entry: &func.name, target, inputs, want, options: options_of_eval };
    let pipeline = options.choice.fusion.pipeline(options.passes.as_ref());
    let found = bisect(&pipeline, &module, &Context::new(target), &mut |module, rest| {
        trial.judge(module, rest)
    });
    let (text, right) = match found {
        Found::Nothing => ("no pass changes the results\n".to_owned(), true),
        Found::Culprit(culprit) => (describe(&culprit, &pipeline, options), false),
        Found::Refused(_, found) => return Err(entry.fail(found)),
        Found::Unknown(run, why) => {
            return Err(Failure::Message(format!("what `{run}` gives cannot be run: {why}")));
        }
    };
    files::write(options.common.output.as_deref(), text.as_bytes())?;
    if right { Ok(()) } else { Err(Failure::CheckFailed) }
}

/// Writing to a string cannot fail.
fn describe(culprit: &Culprit, pipeline: &Pipeline, options: &Options) -> String {
    let mut out = String::new();
    let (place, of) = (culprit.index + 1, pipeline.passes.len());
    let _ = writeln!(out, "pass {place} of {of}, `{}`, changes the results", culprit.run);
    let _ = match &culprit.rewrite {
        Some((number, rewrite)) => {
            writeln!(
                out,
                "its rewrite {number}, `{}` of %{}, is the first that does",
                rewrite.rule, rewrite.value
            )
        }
        None => writeln!(out, "no single rewrite of it is to blame"),
    };
    let _ = writeln!(out, "{}", culprit.difference);
    let (before, after) = (culprit.before.to_string(), culprit.after.to_string());
    out + &diff::unified(&before, &after, ("right", "wrong"), style(options.common.color))
}

/// A program with inputs and what comes of them.
struct Trial<'a> {
    entry: &'a str,
    target: Target,
    inputs: Vec<TensorData>,
    want: Vec<Bounded>,
    options: EvalOptions,
}

impl Trial<'_> {
    fn judge(&self, module: &Module, rest: &Pipeline) -> Judgement {
        let got = match self.results(module, rest) {
            Ok(got) => got,
            Err(why) => return Judgement::Unknown(why),
        };
        let differs = got.iter().zip(&self.want).enumerate().find_map(|(index, (got, want))| {
            compare(got, want).err().map(|error| format!("out{index}: {error}"))
        });
        differs.map_or(Judgement::Same, Judgement::Differs)
    }

    /// By the reference as long as there are tensors, then by the words.
    fn results(&self, module: &Module, rest: &Pipeline) -> Result<Vec<TensorData>, String> {
        let func = module.func(self.entry).ok_or("the function is gone")?;
        if Dialect::of(func) == Dialect::Tensor {
            return eval_func(func, &self.inputs, &self.options).map_err(|error| error.to_string());
        }
        let texts = |found: Vec<Diagnostic>| {
            found.into_iter().map(|one| one.message).collect::<Vec<_>>().join("; ")
        };
        let mut cx = Context::new(self.target);
        let lowered =
            rest.run(module, &mut cx, false, &mut ()).map_err(|stopped| texts(stopped.found))?;
        let func = lowered.func(self.entry).ok_or("the function is gone")?;
        if Dialect::of(func) != Dialect::Tpb {
            return Err("the passes end before there are words".to_owned());
        }
        let program = emit(func, self.target, Meta::default()).map_err(texts)?;
        exec::run(&program, &self.inputs, &exec::Options::default())
            .map_err(|error| error.to_string())
    }
}
