//! `partita run`: compile a program, execute it, and look at the results.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use partita::backend::program::{IoTensor, Program};
use partita::ir::eval::{BoundOptions, compare, eval_bounded};
use partita::ir::{Func, Source, TensorData};
use partita::passes::expand::eval_options;

use super::compile::{self, Compilation};
use super::cost::{self, Costed};
use crate::arrays::shape_text;
use crate::cli::{Common, CostInput, InputFormat};
use crate::conventions::{ConventionFlags, Execution};
use crate::failure::{Failure, Outcome, say};
use crate::files;
use crate::input::{self, Language, Reading};
use crate::program::Choice;
use crate::tensors::{TensorFlags, Wanted, fp8};

#[derive(Args)]
pub struct Options {
    /// The program; `-` is standard input.
    pub file: PathBuf,
    #[command(flatten)]
    pub choice: Choice,
    #[command(flatten)]
    pub tensors: TensorFlags,
    /// Run the reference as well and compare within its own bound.
    #[arg(long)]
    pub verify: bool,
    /// Run by engines: in the order of a simulation of all queues, and print its timeline.
    #[arg(long)]
    pub engines: bool,
    #[command(flatten)]
    pub conventions: ConventionFlags,
    #[command(flatten)]
    pub cost: CostInput,
    /// Run each part between `// -----` lines as a program of its own.
    #[arg(long)]
    pub split_input_file: bool,
    /// What the input is, instead of finding it out from the content.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub input_format: Option<InputFormat>,
    #[command(flatten)]
    pub common: Common,
}

pub fn run(options: &Options) -> Outcome {
    let reading = Reading::of_program(options.input_format, &options.common);
    let refusal = "is compiled already; run it with `partita exec`";
    let (source, language) = input::program_text(&options.file, reading, refusal)?;
    // A text of StableHLO with such lines is several modules, which would not be one.
    let split = options.split_input_file || language == Language::StableHlo;
    let parts = if split { input::split(source)? } else { vec![source] };
    if parts.is_empty() {
        return Err(Failure::about(&options.file, input::EMPTY));
    }
    let several = parts.len() > 1;
    let (mut text, mut agree) = (String::new(), true);
    for part in parts {
        match run_part(options, part, language, &mut text) {
            Ok(ok) => agree &= ok,
            // What is wrong with one part says nothing of the others.
            Err(failure @ (Failure::Diagnostics(..) | Failure::Message(_))) if several => {
                failure.report(options.common.color, options.common.error_format);
                agree = false;
            }
            Err(failure) => return Err(failure),
        }
    }
    let silent = options.conventions.silent(&options.common);
    finish(&options.common, &options.tensors, &text, agree, silent)
}

fn run_part(
    options: &Options,
    part: Source,
    language: Language,
    text: &mut String,
) -> Outcome<bool> {
    let compiled = compile::compile_each(part, language, &options.choice, &options.common)?;
    let mut agree = true;
    for compilation in compiled {
        agree &= run_one(options, &compilation, text)?;
    }
    Ok(agree)
}

fn run_one(options: &Options, compilation: &Compilation, all: &mut String) -> Outcome<bool> {
    let text = &mut String::new();
    let program = &compilation.compiled.program;
    let func = compilation.entry()?;
    let fp8 = fp8(program.target);
    let inputs = options.tensors.inputs.load(&wanted(func)?, fp8, options.common.quiet)?;
    let costed = Costed::new(program, &options.cost)?;
    let flags = &options.conventions;
    let execution = Execution::new(program, &inputs, &costed, options.engines, flags)?;
    let results = execution.results()?;
    text.push_str(&describe(program, &costed, options.engines));
    let mut agree = checks(compilation, &results, text)?;
    // Beyond the program's own results lie those that its checks ask for.
    let own = results.get(..compilation.results).unwrap_or(&results);
    agree &= options.tensors.finish(own, fp8, text)?;
    if options.verify {
        agree &= verify(compilation, func, &inputs, &results, text)?;
    }
    execution.sweep(&results, &options.common, text)?;
    all.push_str(text);
    Ok(agree)
}

/// What the program says of its own results. Writing to a string cannot fail.
fn checks(
    compilation: &Compilation,
    results: &[(String, TensorData)],
    text: &mut String,
) -> Outcome<bool> {
    if compilation.checks.is_empty() {
        return Ok(true);
    }
    let fp8 = fp8(compilation.compiled.program.target);
    let values: Vec<TensorData> = results.iter().map(|(_, data)| data.clone()).collect();
    let mut failed = 0;
    for check in &compilation.checks {
        if let Some(failure) = check.run(&values, fp8).map_err(Failure::Message)? {
            failed += 1;
            let (place, got, want) = &failure.first;
            let _ = writeln!(
                text,
                "check {} of @{}: {} of {} elements differ; element {place} is {got}, not {want}",
                check.op, compilation.entry, failure.mismatches, failure.elements
            );
        }
    }
    let all = compilation.checks.len();
    let _ = writeln!(text, "checks of @{}: {} of {all} hold", compilation.entry, all - failed);
    Ok(failed == 0)
}

/// The arguments of a function of the tensor dialect.
pub fn wanted(func: &Func) -> Outcome<Vec<Wanted>> {
    func.args
        .iter()
        .zip(&func.arg_attrs)
        .map(|(&arg, attrs)| {
            let ty = func.tensor_ty(arg).ok_or_else(|| {
                Failure::Message(format!(
                    "@{} takes tiles; run it from the tensor dialect, or compile it",
                    func.name
                ))
            })?;
            Ok(Wanted {
                name: func.values[arg].name.to_string(),
                ty: ty.clone(),
                range: attrs.random,
            })
        })
        .collect()
}

/// Compares with the reference evaluator, each element within the bound that it states.
fn verify(
    compilation: &Compilation,
    func: &Func,
    inputs: &[TensorData],
    results: &[(String, TensorData)],
    text: &mut String,
) -> Outcome<bool> {
    let evaluation = eval_options(&compilation.compiled.program.target);
    let reference = eval_bounded(func, inputs, &evaluation, &BoundOptions::default())
        .map_err(Failure::message)?;
    let mut agree = true;
    for ((name, got), want) in results.iter().zip(&reference) {
        // Writing to a string cannot fail.
        let _ = match compare(got, want) {
            Ok(ok) => writeln!(
                text,
                "verify {name}: agrees, max error {:.3e} ({})",
                ok.max_error, ok.tolerance
            ),
            Err(error) => {
                agree = false;
                writeln!(text, "verify {name}: {error}")
            }
        };
    }
    Ok(agree)
}

/// Shapes, sizes and cost of a program. Writing to a string cannot fail.
pub fn describe(program: &Program, costed: &Costed, engines: bool) -> String {
    let mut out = String::new();
    let mut list = |kind: &str, tensors: &[IoTensor]| {
        for tensor in tensors {
            let _ = writeln!(
                out,
                "{kind} {}: {} {}",
                tensor.name,
                shape_text(&tensor.shape),
                tensor.dtype
            );
        }
    };
    list("input", &program.io.inputs);
    list("output", &program.io.outputs);
    let cost = &costed.cost;
    let words: Vec<String> =
        cost.engines.iter().map(|engine| format!("{} {}", engine.engine, engine.words)).collect();
    let _ = writeln!(
        out,
        "{}: words {}; {} descriptors, {} bytes moved",
        program.target,
        if words.is_empty() { "none".to_owned() } else { words.join(", ") },
        cost.dma.descriptors,
        cost.dma.bytes
    );
    let _ = writeln!(out, "{}", cost::line(costed));
    if let (true, Ok(timeline)) = (engines, &costed.timeline) {
        out.push_str(&timeline.summary().text());
    }
    out
}

/// Prints the summary and turns a failed comparison into the exit status.
pub fn finish(
    common: &Common,
    tensors: &TensorFlags,
    text: &str,
    agree: bool,
    silent: bool,
) -> Outcome {
    let taken = tensors.outputs.as_deref().is_some_and(files::is_dash);
    match (agree && silent, taken) {
        (true, _) => {}
        // Standard output holds the results.
        (false, true) => say(text),
        (false, false) => files::write(common.output.as_deref(), text.as_bytes())?,
    }
    if agree { Ok(()) } else { Err(Failure::CheckFailed) }
}
