//! Arguments from files or a seed, results to files and against expectations.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use partita::ir::eval::random::{Rng, random_tensor};
use partita::ir::eval::{Fp8Options, Tolerance, compare_tol};
use partita::ir::{RandomRange, TensorData, TensorType};
use partita::isa::Target;
use partita::passes::expand::eval_options;

use crate::arrays;
use crate::failure::{Failure, Outcome, say};
use crate::files::{self, MAX_BINARY};
use crate::npy::{Array, Npz, npz_bytes, read_npy};

/// Where arguments come from.
#[derive(Args, Clone, Debug)]
pub struct InputFlags {
    /// Arguments by name (or arg0, arg1, …).
    #[arg(long, value_name = "IN.npz")]
    pub inputs: Option<PathBuf>,
    /// One argument from a file of its own.
    #[arg(long, value_name = "NAME=F.npy", value_parser = named_file)]
    pub input: Vec<(String, PathBuf)>,
    /// Arguments made up from a seed, where no file gives them.
    #[arg(long, value_name = "SEED")]
    pub random: Option<u64>,
    /// Cast arguments of another type, 64-bit floats too.
    #[arg(long)]
    pub cast_inputs: bool,
}

/// Flags of `run` and `exec`.
#[derive(Args, Clone, Debug)]
pub struct TensorFlags {
    #[command(flatten)]
    pub inputs: InputFlags,
    /// Where the results go.
    #[arg(long, value_name = "OUT.npz")]
    pub outputs: Option<PathBuf>,
    /// Results to compare with, by name or as out0, out1, …
    #[arg(long, value_name = "EXP.npz")]
    pub expect: Option<PathBuf>,
    /// Relative tolerance of --expect, instead of the type's own.
    #[arg(long, value_name = "R", requires = "expect")]
    pub rtol: Option<f64>,
    /// Absolute tolerance of --expect, for every type.
    #[arg(long, value_name = "A", requires = "expect")]
    pub atol: Option<f64>,
}

fn named_file(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok((name.to_owned(), file.into()))
        }
        _ => Err("write NAME=FILE".to_owned()),
    }
}

/// An argument that a program asks for.
pub struct Wanted {
    pub name: String,
    pub ty: TensorType,
    pub range: Option<RandomRange>,
}

/// How the 8-bit floats of a target are read.
pub fn fp8(target: Target) -> Fp8Options {
    eval_options(&target).fp8
}

impl InputFlags {
    /// A value for every argument, in order.
    pub fn load(
        &self,
        wanted: &[Wanted],
        fp8: Fp8Options,
        quiet: bool,
    ) -> Outcome<Vec<TensorData>> {
        let mut archive = self.inputs.as_deref().map(open).transpose()?;
        self.check_names(wanted, archive.as_ref(), quiet)?;
        // Each argument has its own stream, so that one given by a file leaves the others alone.
        let mut streams = self.random.map(Rng::new);
        let mut values = Vec::new();
        for (index, want) in wanted.iter().enumerate() {
            let seed = streams.as_mut().map(Rng::next_u64);
            let names = [want.name.clone(), format!("arg{index}")];
            let accept = |head: &_| arrays::check(head, &want.ty, self.cast_inputs);
            let array = if let Some((_, path)) =
                self.input.iter().find(|(name, _)| names.contains(name))
            {
                let bytes = files::read(path, MAX_BINARY)?;
                Some(read_npy(&bytes[..], accept).map_err(|error| Failure::about(path, error))?)
            } else {
                find(archive.as_mut(), &names, accept)?
            };
            values.push(match (array, seed) {
                (Some(array), _) => arrays::to_tensor(array, &want.ty, self.cast_inputs, fp8)
                    .map_err(|error| {
                        Failure::Message(format!("argument `{}`: {error}", want.name))
                    })?,
                (None, Some(seed)) => random_tensor(&want.ty, want.range, &mut Rng::new(seed))
                    .map_err(Failure::message)?,
                (None, None) => return Err(self.no_value(want)),
            });
        }
        Ok(values)
    }

    /// An archive that lacks an argument is a wrong input; no archive and no seed, wrong usage.
    fn no_value(&self, want: &Wanted) -> Failure {
        let Wanted { name, ty, .. } = want;
        match &self.inputs {
            Some(path) => Failure::about(
                path,
                format!(
                    "holds no array `{name}` for the argument of {ty}; add it, or give --input {name}=F.npy"
                ),
            ),
            None => Failure::Usage(format!(
                "argument `{name}` ({ty}) has no value: give --inputs IN.npz, --input {name}=F.npy or --random SEED"
            )),
        }
    }

    /// Names that no argument answers to: wrong on the command line, a note in an archive.
    fn check_names(&self, wanted: &[Wanted], archive: Option<&Archive>, quiet: bool) -> Outcome {
        let known = |name: &str| {
            wanted
                .iter()
                .enumerate()
                .any(|(index, want)| name == want.name || name == format!("arg{index}"))
        };
        if let Some((name, _)) = self.input.iter().find(|(name, _)| !known(name)) {
            return Err(Failure::Usage(format!("the program has no argument `{name}`")));
        }
        for name in archive.map(|archive| archive.npz.names()).unwrap_or_default() {
            if !known(&name) && !quiet {
                say(&format!("note: array `{name}` is no argument of the program\n"));
            }
        }
        Ok(())
    }
}

impl TensorFlags {
    /// Writes and compares results; the text says how the comparison went. False when one differs.
    pub fn finish(
        &self,
        results: &[(String, TensorData)],
        fp8: Fp8Options,
        text: &mut String,
    ) -> Outcome<bool> {
        if let Some(path) = &self.outputs {
            let arrays: Result<Vec<(&str, Array)>, String> = results
                .iter()
                .map(|(name, data)| Ok((name.as_str(), arrays::from_tensor(data)?)))
                .collect();
            let arrays = arrays.map_err(Failure::Message)?;
            let bytes = npz_bytes(arrays.iter().map(|(name, array)| (*name, array)))
                .map_err(|error| Failure::about(path, error))?;
            files::write(Some(path), &bytes)?;
        }
        let Some(path) = &self.expect else { return Ok(true) };
        let mut archive = open(path)?;
        let mut all_agree = true;
        for (index, (name, got)) in results.iter().enumerate() {
            let names = [name.clone(), format!("out{index}")];
            let want =
                find(Some(&mut archive), &names, |head| arrays::check(head, got.ty(), true))?
                    .ok_or_else(|| Failure::about(path, format!("holds no array `{name}`")))?;
            let want = arrays::to_tensor(want, got.ty(), true, fp8)
                .map_err(|error| Failure::about(path, error))?;
            let tolerance = Tolerance::with(got.dtype(), self.rtol, self.atol);
            let found = compare_tol(got, &want, tolerance, fp8).map_err(Failure::message)?;
            all_agree &= found.is_match();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "expect {name}: {found}");
        }
        Ok(all_agree)
    }
}

struct Archive {
    path: PathBuf,
    npz: Npz,
}

fn open(path: &Path) -> Outcome<Archive> {
    let bytes = files::read(path, MAX_BINARY)?;
    let npz = Npz::open(bytes).map_err(|error| Failure::about(path, error))?;
    Ok(Archive { path: path.to_owned(), npz })
}

/// The array of the first name that the archive has.
fn find(
    archive: Option<&mut Archive>,
    names: &[String],
    accept: impl Fn(&crate::npy::Head) -> Result<(), String>,
) -> Outcome<Option<Array>> {
    let Some(archive) = archive else { return Ok(None) };
    for name in names {
        let array = archive
            .npz
            .array(name, &accept)
            .map_err(|error| Failure::about(&archive.path, error))?;
        if array.is_some() {
            return Ok(array);
        }
    }
    Ok(None)
}
