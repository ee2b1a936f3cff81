//! Programs as JAX prints them, compiled and run, against the outputs of the array library.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Targets without and with the exponential word.
const TARGETS: [&str; 2] = ["cayman", "mariana"];

/// Looser than the type's own: a rounding tie may fall either way; long sums.
const TOLERANCES: [(&str, [&str; 2]); 2] =
    [("quantize_i8", ["--atol", "1"]), ("sum_all_f32", ["--rtol", "1e-4"])];

/// Runs every program of a folder that has inputs and outputs beside it.
fn run_folder(folder: &Path) -> usize {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "mlir"))
        .collect();
    files.sort();
    let mut failed = Vec::new();
    for file in &files {
        for target in TARGETS {
            let name = file.file_stem().unwrap().to_string_lossy();
            let mut command = Command::new(env!("CARGO_BIN_EXE_partita"));
            command.arg("run").arg(file).args(["--target", target, "--verify", "--quiet"]);
            command.arg("--inputs").arg(file.with_extension("in.npz"));
            command.arg("--expect").arg(file.with_extension("out.npz"));
            for (_, flags) in TOLERANCES.iter().filter(|(other, _)| *other == name) {
                command.args(flags);
            }
            let output = command.output().unwrap();
            if !output.status.success() {
                let text = [output.stdout, output.stderr].concat();
                failed.push(format!("{name} on {target}:\n{}", String::from_utf8_lossy(&text)));
            }
        }
    }
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
    files.len()
}

#[test]
fn shared_programs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/stablehlo");
    if !folder.is_dir() {
        println!("skipped: there is no folder {}", folder.display());
        return;
    }
    assert!(run_folder(&folder) > 0);
}
