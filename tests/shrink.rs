//! `bisect`, `reduce` and `completions` as a user calls them. What they find where something is wrong is tested with
//! a planted fault in `passes/tests/bisect.rs`: the command has none.

#[path = "support/command.rs"]
mod command;

use std::fs;

use command::{Dir, arg, call, fails, succeeds, text};

const PROGRAM: &str = "\
func @main(%x: tensor<40x30xf32>, %n: tensor<40x30xi64>) -> (tensor<30xf32>, tensor<40x30xi64>) {
  %a = tensor.elementwise mult(%x, 2.0) : tensor<40x30xf32>
  %t = tensor.transpose %a perm [1, 0] : tensor<30x40xf32>
  %s = tensor.reduce add(%t) dims [1] : tensor<30xf32>
  %m = tensor.elementwise add(%n, %n) : tensor<40x30xi64>
  %k = tensor.elementwise mult(%m, %n) : tensor<40x30xi64>
  return %s, %k : tensor<30xf32>, tensor<40x30xi64>
}
";

#[test]
fn right_passes_are_cleared_on_every_stage() {
    let dir = Dir::new("bisect");
    let file = dir.file("x.pta", PROGRAM);
    assert_eq!(succeeds(&["bisect", arg(&file)]), "no pass changes the results\n");
    let some = succeeds(&["bisect", arg(&file), "--passes", "canonicalize,fuse", "--random", "9"]);
    assert_eq!(some, "no pass changes the results\n");
    fails(
        &["bisect", arg(&file), "--passes", "legalize,tile"],
        1,
        "the passes end before there are words",
    );
    // 64-bit integers are refused on this target, and that is no miscompilation.
    fails(&["bisect", arg(&file), "--target", "sunda"], 1, "on sunda");
}

#[test]
fn an_error_is_shown_by_less() {
    let dir = Dir::new("reduce-error");
    let file = dir.file("x.pta", PROGRAM);
    let output = call(&["reduce", arg(&file), "--target", "sunda", "--error", "E0501"]);
    let small = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    // One operation on one 64-bit element.
    assert_eq!(small.lines().count(), 4, "{small}");
    assert!(small.contains("tensor<1x1xi64>") && !small.contains("transpose"), "{small}");
    assert!(text(&output.stderr).lines().count() >= 2, "progress is shown");
    let again = dir.file("small.pta", small);
    fails(&["compile", arg(&again), "--target", "sunda", "--emit", "asm"], 1, "E0501");
}

#[test]
fn a_script_decides() {
    let dir = Dir::new("reduce-script");
    let file = dir.file("x.pta", PROGRAM);
    let script = dir.file("has-transpose", "#!/bin/sh\ngrep -q transpose \"$1\"\n");
    make_executable(&script);
    let out = dir.path("small.pta");
    succeeds(&["reduce", arg(&file), "--script", arg(&script), "-o", arg(&out), "-q"]);
    let small = fs::read_to_string(&out).unwrap();
    assert_eq!(small.matches("tensor.").count(), 1, "{small}");
    assert!(small.contains("tensor.transpose %"), "{small}");
    fails(&["reduce", arg(&file), "--script", arg(&dir.path("absent"))], 1, "absent");
}

#[cfg(unix)]
fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_does_not_show_it_is_refused() {
    let dir = Dir::new("reduce-no");
    let file = dir.file("x.pta", PROGRAM);
    for what in [&["--mismatch"][..], &["--panics"], &["--error", "E0501"]] {
        fails(&[&["reduce", arg(&file)][..], what].concat(), 1, "does not show what is to be kept");
    }
    fails(&["reduce", arg(&file)], 2, "required");
    fails(&["reduce", arg(&file), "--error", "E9999"], 2, "no error has this code");
}

#[test]
fn shells_and_the_manual_know_every_command() {
    let names = ["run", "compile", "opt", "test", "bisect", "reduce", "isa"];
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = succeeds(&["completions", shell]);
        assert!(names.iter().all(|name| script.contains(name)), "{shell}");
    }
    let manual = succeeds(&["completions", "man"]);
    assert!(manual.starts_with(".ie") || manual.starts_with(".TH"), "{}", &manual[..80]);
    assert!(names.iter().all(|name| manual.contains(&format!(".SH {}", name.to_uppercase()))));
    assert!(manual.contains("dump\\-dir"), "flags are there");
}
