//! `partita opt` and the IR side of `compile`: every dump is an input, every step can be shown and repeated.

#[path = "support/command.rs"]
mod command;

use std::fs;

use command::{Dir, arg, call, command, fails, succeeds, text};

const PROGRAM: &str = "\
func @main(%x: tensor<64x32xf32>) -> tensor<32xf32> {
  %one = tensor.elementwise mult(%x, 1.0) : tensor<64x32xf32>
  %t = tensor.transpose %one perm [1, 0] : tensor<32x64xf32>
  %s = tensor.reduce add(%t) dims [1] : tensor<32xf32>
  return %s : tensor<32xf32>
}
";

fn errors(args: &[&str]) -> String {
    let output = call(args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stderr)
}

#[test]
fn a_wrong_pass_name_gets_a_caret_and_the_nearest_name() {
    let wanted = "canonicalize,fus{},tile\n               ^^^";
    fails(&["opt", "x.pta", "--passes", "canonicalize,fus{},tile"], 2, "there is no pass `fus`");
    let output = call(&["opt", "x.pta", "--passes", "canonicalize,fus{},tile"]);
    let shown = text(&output.stderr);
    assert!(shown.contains(wanted) && shown.contains("did you mean `fuse`?"), "{shown}");
}

#[test]
fn settings_are_typed_and_printed_back() {
    let dir = Dir::new("settings");
    let file = dir.file("x.pta", PROGRAM);
    let file = arg(&file);
    let wrong = [
        ("fuse{node-limit=many}", "`node-limit` is a whole number from 1 to"),
        ("fuse{node-limit=0}", "`node-limit` is a whole number from 1 to"),
        ("fuse{node-limits=3}", "did you mean `node-limit`?"),
        ("fuse{allow-excess-precision=3}", "is true or false"),
        ("place{share=3}", "`place` has no settings"),
        ("fuse{node-limit=3", "in one pair of braces"),
    ];
    for (passes, part) in wrong {
        fails(&["opt", file, "--passes", passes], 2, part);
    }
    let passes = "fuse{ iter-limit = 4 , allow-excess-precision },legalize";
    let shown = errors(&["opt", file, "--passes", passes, "--timing"]);
    assert!(shown.contains("fuse{iter-limit=4,allow-excess-precision=true}\n"), "{shown}");
}

#[test]
fn limits_on_rewrites_stop_them() {
    let dir = Dir::new("limits");
    let file = dir.file("x.pta", PROGRAM);
    let to_fuse = |limit| {
        succeeds(&["opt", arg(&file), "--passes", "canonicalize,fuse", "--rewrite-limit", limit])
    };
    // One rewrite drops the multiplication, a second makes the transpose and the sum one operation.
    assert!(to_fuse("0").contains("mult(%x, 1.0)"));
    assert!(!to_fuse("1").contains("mult") && to_fuse("1").contains("tensor.transpose %x"));
    let limited = succeeds(&["opt", arg(&file), "--passes", "fuse{rewrite-limit=0}"]);
    assert!(limited.contains("tensor.transpose"), "{limited}");
}

#[test]
fn diffs_show_what_a_pass_changed() {
    let dir = Dir::new("diff");
    let file = dir.file("x.pta", PROGRAM);
    let shown = errors(&["opt", arg(&file), "--to", "canonicalize", "--diff"]);
    assert!(shown.starts_with("--- before canonicalize\n+++ after canonicalize\n@@ "), "{shown}");
    assert!(shown.contains("\n-  %one = tensor.elementwise mult(%x, 1.0)"), "{shown}");
    assert!(!shown.contains('\u{1b}'));
    let colored =
        errors(&["opt", arg(&file), "--to", "canonicalize", "--diff", "--color", "always"]);
    assert!(colored.contains("\u{1b}[31m-  %one"), "{colored}");
}

#[test]
fn dumps_begin_with_the_input_and_repeat_with_their_own_commands() {
    let dir = Dir::new("dumps");
    let file = dir.file("x.pta", PROGRAM);
    let dumps = dir.path("dumps");
    let whole = succeeds(&["opt", arg(&file), "--dump-dir", arg(&dumps), "--target", "mariana"]);
    let index: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(dumps.join("index.json")).unwrap()).unwrap();
    let steps = index["steps"].as_array().unwrap();
    assert_eq!(steps[0]["file"], "00-input.pta");
    assert_eq!(steps.len(), 10, "the input and nine passes");
    let mut unchanged = 0;
    for step in &steps[1..] {
        let name = step["file"].as_str().unwrap();
        let kept = fs::read_to_string(dumps.join(name)).unwrap();
        if step["changed"] == false {
            unchanged += 1;
            assert_eq!((&step["lines_added"], &step["lines_removed"]), (&0.into(), &0.into()));
            continue;
        }
        // The head is the command; what it prints is the rest.
        let (head, body) = kept.split_once('\n').unwrap();
        let words: Vec<String> = head
            .strip_prefix("// partita ")
            .unwrap()
            .split(' ')
            .map(|word| word.trim_matches('\'').to_owned())
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = command(&words).current_dir(&dumps).output().unwrap();
        assert!(output.status.success(), "{head}: {}", text(&output.stderr));
        assert_eq!(text(&output.stdout), body, "{head}");
    }
    assert!(unchanged > 0, "the second canonicalize has nothing to do");
    // The same files, and no file for a pass that changed nothing.
    assert_eq!(fs::read_dir(&dumps).unwrap().count(), steps.len() - unchanged + 1);
    let last = steps[9]["file"].as_str().unwrap();
    assert!(fs::read_to_string(dumps.join(last)).unwrap().ends_with(&whole));
}

#[test]
fn a_dump_goes_on_where_it_was_made() {
    let dir = Dir::new("continue");
    let file = dir.file("x.pta", PROGRAM);
    let tile = dir.path("tile.pta");
    let direct = succeeds(&["compile", arg(&file), "--emit", "asm"]);
    succeeds(&["compile", arg(&file), "--to", "tile", "-o", arg(&tile)]);
    let resumed = succeeds(&["compile", arg(&tile), "--from", "place", "--emit", "asm"]);
    // The passes that ran are part of a program's description; nothing else differs.
    let words = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with(".meta")).map(str::to_owned).collect()
    };
    assert_eq!(words(&resumed), words(&direct));
    let by_opt = succeeds(&["opt", arg(&file), "--to", "tile"]);
    assert_eq!(fs::read_to_string(&tile).unwrap(), by_opt);
    fails(
        &["compile", arg(&file), "--from", "tile", "--to", "fuse"],
        2,
        "does not come after --from",
    );
}

#[test]
fn a_reproducer_runs_the_same_passes_for_the_same_target() {
    let dir = Dir::new("repro");
    let file = dir.file("x.pta", PROGRAM);
    let repro = dir.path("repro.pta");
    let passes = "canonicalize,fuse{iter-limit=3},legalize,tile";
    let flags = ["--passes", passes, "--target", "maverick", "--emit-repro", arg(&repro)];
    let first = succeeds(&[&["opt", arg(&file)][..], &flags[..]].concat());
    assert_eq!(succeeds(&["opt", arg(&repro), "--run-repro"]), first);
    fails(&["opt", arg(&file), "--run-repro"], 1, "has no line `// configuration:");
    let broken = dir.file(
        "broken.pta",
        "// configuration: {\"passes\":\"nope\",\"target\":\"cayman\",\"verify\":true}\n",
    );
    fails(&["opt", arg(&broken), "--run-repro"], 1, "there is no pass `nope`");
}

#[test]
fn remarks_have_places_and_come_as_json_lines_too() {
    let dir = Dir::new("remarks");
    let file = dir.file("x.pta", PROGRAM);
    let shown = errors(&["opt", arg(&file), "--remarks=passed:fuse"]);
    assert!(shown.contains("x.pta:3:3: passed fuse/"), "{shown}");
    let both = errors(&["opt", arg(&file), "--remarks=passed,analysis"]);
    assert!(both.contains(": passed fuse/") && both.contains("analysis tile/"), "{both}");
    assert!(!errors(&["opt", arg(&file), "--remarks=missed,analysis"]).contains(": passed "));
    let lines = dir.path("remarks.jsonl");
    let quiet = errors(&["opt", arg(&file), "--remarks-output", arg(&lines)]);
    assert!(quiet.is_empty(), "{quiet}");
    let kept = fs::read_to_string(&lines).unwrap();
    let records: Vec<serde_json::Value> =
        kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        records.iter().any(|r| r["pass"] == "fuse" && r["line"] == 3 && r["cost_after"].is_u64())
    );
    fails(&["opt", arg(&file), "--remarks=missed:nope"], 2, "no such pass");
}

#[test]
fn counters_are_the_same_for_everyone() {
    let dir = Dir::new("stats");
    let file = dir.file("x.pta", PROGRAM);
    let shown = errors(&["opt", arg(&file), "--stats"]);
    for part in
        ["fuse: e-nodes", "fuse: limits hit", "canonicalize: ", "sync: words", "sync: bytes moved"]
    {
        assert!(shown.contains(part), "no {part} in {shown}");
    }
    assert_eq!(shown, errors(&["opt", arg(&file), "--stats"]));
}
