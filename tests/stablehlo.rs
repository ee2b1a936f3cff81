//! Programs as JAX prints them, compiled and run, against the outputs of the array library; and the command on texts of
//! StableHLO.

#[path = "support/command.rs"]
mod command;

use std::path::Path;

use command::{Dir, arg, call, command, fails, files, succeeds, text};

/// Targets without and with the exponential word.
const TARGETS: [&str; 2] = ["cayman", "mariana"];

/// Looser than the type's own: a rounding tie may fall either way; long sums.
const TOLERANCES: [(&str, [&str; 2]); 2] =
    [("quantize_i8", ["--atol", "1"]), ("sum_all_f32", ["--rtol", "1e-4"])];

/// Words in the program's order and against the reference; words when their engines come to them.
const MODES: [&str; 2] = ["--verify", "--engines"];

/// Runs every program of a folder that has inputs and outputs beside it. What is compiled is audited, and a finding
/// is an error.
fn run_folder(folder: &Path) -> usize {
    let files = files(folder, "mlir");
    let mut failed = Vec::new();
    for file in &files {
        for (target, mode) in
            TARGETS.into_iter().flat_map(|target| MODES.map(|mode| (target, mode)))
        {
            let name = file.file_stem().unwrap().to_string_lossy();
            let mut command = command(&["run", arg(file), "--target", target, mode, "--quiet"]);
            command.arg("--inputs").arg(file.with_extension("in.npz"));
            command.arg("--expect").arg(file.with_extension("out.npz"));
            for (_, flags) in TOLERANCES.iter().filter(|(other, _)| *other == name) {
                command.args(flags);
            }
            let output = command.output().unwrap();
            if !output.status.success() {
                let said = text(&[output.stdout, output.stderr].concat());
                failed.push(format!("{name} on {target} {mode}:\n{said}"));
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

#[test]
fn programs_of_the_tree() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jax");
    assert!(run_folder(&folder) >= 50);
}

/// Importing gives text that reads back as the same text.
#[test]
fn imported_text_reads_back() {
    let dir = Dir::new("import");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jax");
    for file in files(folder, "mlir") {
        let (once, again) = (dir.path("once.pta"), dir.path("again.pta"));
        succeeds(&["import", arg(&file), "-q", "-o", arg(&once)]);
        // No pass at all: read, verify, print.
        succeeds(&["opt", arg(&once), "--passes", "", "-o", arg(&again)]);
        let read = |path| std::fs::read_to_string(path).unwrap();
        assert_eq!(read(&once), read(&again), "{}", file.display());
    }
}

const CHECKS: &str = "func.func @adds() {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = stablehlo.add %0, %0 : tensor<2xi32>
  check.expect_eq_const %1, dense<[2, 4]> : tensor<2xi32>
  func.return
}
";

/// The run ends with status 1 and says which check does not hold.
fn differs(args: &[&str]) {
    let output = call(args);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("element 1 is 4, not 5"), "{said}");
}

#[test]
fn programs_check_themselves() {
    let dir = Dir::new("checks");
    let holds = dir.file("holds.mlir", CHECKS);
    succeeds(&["run", arg(&holds)]);
    let wrong = dir.file("wrong.mlir", CHECKS.replace("[2, 4]", "[2, 5]"));
    differs(&["run", arg(&wrong)]);
    // Every function that checks itself runs, in each part of the file.
    let other = CHECKS.replace("@adds", "@other");
    let both = dir.file("both.mlir", format!("{CHECKS}{other}// -----\n{CHECKS}"));
    succeeds(&["run", arg(&both), "--split-input-file"]);
    // Such lines part StableHLO in any case, and one part that is refused does not keep the others from running.
    let refused = CHECKS.replace("stablehlo.add %0, %0", "stablehlo.frobnicate %0");
    let parts =
        format!("// comment\n// -----\n{refused}// -----\n{}", CHECKS.replace("[2, 4]", "[2, 5]"));
    differs(&["run", arg(&dir.file("parts.mlir", parts))]);
    let one_wrong = other.replace("[2, 4]", "[2, 5]");
    let one_wrong = dir.file("one.mlir", format!("{CHECKS}{one_wrong}"));
    differs(&["run", arg(&one_wrong)]);
    succeeds(&["run", arg(&one_wrong), "--entry", "adds"]);
    // Checks of what the words compute, not of constants alone.
    let computed = dir.file(
        "computed.mlir",
        "func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.exponential %a : tensor<2x3xf32>
  %1 = stablehlo.log %0 : tensor<2x3xf32>
  check.expect_almost_eq %1, %a : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
",
    );
    succeeds(&["run", arg(&computed), "--random", "3", "--verify"]);
    let imported = dir.path("computed.pta");
    succeeds(&["import", arg(&computed), "-o", arg(&imported)]);
    succeeds(&["run", arg(&imported), "--random", "3", "--verify"]);
}

#[test]
fn the_command_says_what_it_does_not_compile() {
    let dir = Dir::new("refused");
    let text = "func.func @main(%a: tensor<4xf64>) -> tensor<4xf64> {
  %0 = stablehlo.add %a, %a : tensor<4xf64>
  return %0 : tensor<4xf64>
}
";
    let file = dir.file("doubles.mlir", text);
    fails(&["run", arg(&file), "--random", "1"], 1, "--f64-as-f32");
    succeeds(&["run", arg(&file), "--random", "1", "--f64-as-f32", "--verify"]);
    let two = text.replace("f64", "f32") + &text.replace("f64", "f32").replace("@main", "@other");
    let two = dir.file("two.mlir", two);
    succeeds(&["run", arg(&two), "--random", "1"]);
    fails(&["run", arg(&two), "--random", "1", "--entry", "none"], 1, "@none");
}
