//! `partita compile`: a program to an image, assembler text, raw words or IR.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use partita::backend::{asm_file, image};
use partita::ir::checks::Check;
use partita::ir::{Func, Module, Source};
use partita::passes::{self, Compiled, Context, Pipeline};

use crate::cli::{Common, InputFormat};
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::input::Language;
use crate::program::{Choice, Entry, load, load_file};

/// What is written.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emit {
    /// A program image (ELF).
    Image,
    /// Assembler text of the whole program.
    Asm,
    /// Raw words, one file per engine: PROG.dve.bin, …
    Words,
    /// IR of the tile dialect.
    Tile,
    /// IR of the tpb dialect.
    Tpb,
}

#[derive(Args)]
pub struct Options {
    /// The program; `-` is standard input.
    pub file: PathBuf,
    #[command(flatten)]
    pub choice: Choice,
    /// What is written: an image, unless --to ends before the words.
    #[arg(long, value_enum)]
    pub emit: Option<Emit>,
    /// Passes instead of the default pipeline, separated by commas, each with its settings in braces.
    #[arg(long, value_name = "PASSES", value_parser = super::opt::pipeline, conflicts_with_all = ["from", "to"])]
    pub passes: Option<Pipeline>,
    /// Begin the pipeline with this pass.
    #[arg(long, value_name = "PASS", value_parser = super::opt::pass_name)]
    pub from: Option<&'static str>,
    /// End with this pass and write the IR after it.
    #[arg(long, value_name = "PASS", value_parser = super::opt::pass_name, conflicts_with = "emit")]
    pub to: Option<&'static str>,
    /// What the input is, instead of finding it out from the content.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub input_format: Option<InputFormat>,
    #[command(flatten)]
    pub common: Common,
}

/// A compiled program, with what it was made from.
pub struct Compilation {
    pub module: Module,
    pub entry: String,
    pub compiled: Compiled,
    /// What the program says of its own results.
    pub checks: Vec<Check>,
    /// Results of the function as written; further ones are for its checks.
    pub results: usize,
}

impl Compilation {
    /// The function that was compiled: as it was written, but for its checks.
    pub fn entry(&self) -> Outcome<&Func> {
        let missing = || Failure::Message(format!("there is no function @{}", self.entry));
        self.module.func(&self.entry).ok_or_else(missing)
    }
}

pub fn run(options: &Options) -> Outcome {
    let output = options.common.output.as_deref();
    let emit = options.emit.unwrap_or(Emit::Image);
    if emit == Emit::Words && output.is_none_or(files::is_dash) {
        return Err(Failure::Usage(
            "raw words go to one file per engine: name them with -o PROG".to_owned(),
        ));
    }
    if emit == Emit::Image && options.to.is_none() {
        files::refuse_terminal(output, "an image")?;
    }
    let pipeline = match &options.passes {
        Some(pipeline) => pipeline.clone(),
        None => super::opt::part(options.from, options.to)?,
    };
    let pipeline = options.choice.fusion.pipeline(Some(&pipeline));
    let (file, format) = (&options.file, options.input_format);
    let loaded = load_file(file, format, "is compiled already", &options.choice, &options.common)?;
    let entry = loaded.only()?;
    if options.to.is_some() {
        let (module, _) = entry.alone()?;
        let mut context = Context::new(options.common.target_or(entry.target));
        let module = pipeline
            .run(&module, &mut context, true, &mut ())
            .map_err(|stopped| entry.fail(stopped.found))?;
        return files::write(output, module.to_string().as_bytes());
    }
    let settings = passes::Options { pipeline, ..passes::Options::default() };
    let Compiled { program, tile_module, tpb_module, .. } =
        compile_entry(&entry, &options.common, &settings, &mut ())?.compiled;
    match (emit, output) {
        (Emit::Image, _) => {
            files::write(output, &image::write(&program).map_err(Failure::Message)?)
        }
        (Emit::Asm, _) => files::write(output, asm_file::print(&program).as_bytes()),
        (Emit::Tile, _) => files::write(output, tile_module.to_string().as_bytes()),
        (Emit::Tpb, _) => files::write(output, tpb_module.to_string().as_bytes()),
        (Emit::Words, Some(path)) => program.words.iter().try_for_each(|(engine, words)| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.0).collect();
            files::write(Some(&with_suffix(path, &format!(".{engine}.bin"))), &bytes)
        }),
        (Emit::Words, None) => Ok(()),
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Reads, verifies and compiles one program.
pub fn compile(
    source: Source,
    language: Language,
    choice: &Choice,
    common: &Common,
) -> Outcome<Compilation> {
    let loaded = load(source, language, choice, common)?;
    compile_entry(&loaded.only()?, common, &choice.fusion.options(), &mut ())
}

/// Compiles each function that is to be run.
pub fn compile_each(
    source: Source,
    language: Language,
    choice: &Choice,
    common: &Common,
) -> Outcome<Vec<Compilation>> {
    let loaded = load(source, language, choice, common)?;
    let options = choice.fusion.options();
    loaded.each().map(|entry| compile_entry(&entry, common, &options, &mut ())).collect()
}

/// Compiles one function with somebody looking on between passes.
pub fn compile_entry(
    entry: &Entry,
    common: &Common,
    options: &passes::Options,
    observer: &mut dyn passes::Observer,
) -> Outcome<Compilation> {
    let (module, checks) = entry.alone()?;
    let target = common.target_or(entry.target);
    let compiled = passes::compile_watched(&module, &entry.func.name, &target, options, observer)
        .map_err(|found| entry.fail(found))?;
    let results = entry.func.result_types.len();
    Ok(Compilation { module, entry: entry.func.name.clone(), compiled, checks, results })
}
