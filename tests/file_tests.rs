//! `partita test`: the tree's own file tests, and what the runner promises to people who point it at theirs.

#[path = "support/command.rs"]
mod command;

use std::fs;

use command::{Dir, arg, fails, files, outcome, succeeds};

const SMALL: &str = "\
func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = tensor.elementwise mult(%x, 2.0) : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
";

/// Exit status, standard output and standard error.
fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or_default()
}

#[test]
fn the_tests_of_the_tree_pass() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/filetests");
    let (status, out, err) = outcome(&["test", dir]);
    assert_eq!(status, 0, "{out}{err}");
    assert!(last_line(&out).ends_with(" passed, 0 failed"), "{out}");
}

#[test]
fn every_example_is_pinned_on_two_generations() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for path in files(root.join("examples"), "pta") {
        let test = root.join("tests/filetests/examples").join(path.file_name().unwrap());
        let held = fs::read_to_string(&test).unwrap_or_default();
        for section in ["compile --emit asm", "cost"] {
            for target in ["cayman", "mariana"] {
                let title = format!("// ---- {section} --target {target}\n");
                assert!(held.contains(&title), "{} has no {title}", test.display());
            }
        }
    }
}

#[test]
fn an_expectation_is_written_on_request_and_then_holds() {
    let dir = Dir::new("bless");
    let file = dir.file("a.pta", format!("// test compile --emit asm\n{SMALL}"));
    let (status, out, _) = outcome(&["test", arg(&file)]);
    assert_eq!((status, last_line(&out)), (1, "1 passed, 1 failed"), "the round trip passes");
    assert!(out.contains("has no expectation yet"), "{out}");
    let (status, out, shown) = outcome(&["test", arg(&file), "--bless"]);
    assert_eq!((status, last_line(&out)), (0, "2 passed, 0 failed"));
    assert!(shown.contains("+// ---- compile\n") && shown.contains("op0=MULT imm0=2"), "{shown}");
    let held = fs::read_to_string(&file).unwrap();
    assert_eq!(last_line(&succeeds(&["test", arg(&file)])), "2 passed, 0 failed");
    // Nothing to write, nothing written.
    let (_, _, shown) = outcome(&["test", arg(&file), "--bless"]);
    assert_eq!((shown.as_str(), fs::read_to_string(&file).unwrap()), ("", held));
    assert_eq!(dir.names(), ["a.pta"]);
}

/// One tile choice changes: of three programs only the one whose loop is cut otherwise fails, with its words in the
/// difference, and it alone is written.
#[test]
fn a_changed_tile_choice_fails_exactly_the_tests_that_it_affects() {
    let dir = Dir::new("tile-choice");
    let program = |columns: u32| SMALL.replace("4x8", &format!("256x{columns}"));
    let test = |share: u32, columns: u32| {
        format!(
            "// test compile --emit asm --passes 'legalize,tile{{share={share}}},place,sync'\n{}",
            program(columns)
        )
    };
    for (name, columns) in [("a.pta", 8), ("b.pta", 24_000), ("c.pta", 64)] {
        dir.file(name, test(60, columns));
    }
    succeeds(&["test", arg(&dir.0), "--bless"]);
    assert_eq!(last_line(&succeeds(&["test", arg(&dir.0)])), "6 passed, 0 failed");
    for name in dir.names() {
        let path = dir.path(&name);
        let held = fs::read_to_string(&path).unwrap();
        fs::write(&path, held.replacen("share=60", "share=15", 1)).unwrap();
    }
    let (status, out, _) = outcome(&["test", arg(&dir.0)]);
    assert_eq!((status, last_line(&out)), (1, "5 passed, 1 failed"), "{out}");
    let failed: Vec<&str> = out.lines().filter(|line| line.starts_with("FAILED")).collect();
    assert!(failed[0].contains("b.pta: compile"), "{out}");
    assert!(
        out.contains("    -tensor_scalar_arith ") && out.contains("    +tensor_scalar_arith "),
        "{out}"
    );
    let (status, out, shown) = outcome(&["test", arg(&dir.0), "--bless"]);
    assert_eq!((status, last_line(&out)), (0, "6 passed, 0 failed"));
    assert!(shown.contains("b.pta") && !shown.contains("a.pta") && !shown.contains("c.pta"));
    assert_eq!(last_line(&succeeds(&["test", arg(&dir.0)])), "6 passed, 0 failed");
}

#[test]
fn checks_hold_in_their_order() {
    let dir = Dir::new("checks");
    let with =
        |checks: &str| dir.file("a.pta", format!("// test compile --emit asm\n{checks}{SMALL}"));
    let passes = [
        "// check: kind=COPY .*dst=sbuf\n// check: ^tensor_scalar_arith .*op0=MULT imm0=2\n// check: src=sbuf\n",
        "// check-not: tensor_tensor\n",
        "// check: tensor_scalar_arith\n// check-not: dst=sbuf\n",
        "// check(mariana): no such line\n// check(cayman): tensor_scalar_arith\n",
    ];
    for checks in passes {
        succeeds(&["test", arg(&with(checks))]);
    }
    let fails = [
        ("// check: src=sbuf.*hbm\n// check: tensor_scalar_arith\n", "line 3: nothing after line"),
        (
            "// check-not: tensor_scalar\n// check: src=sbuf.*hbm\n",
            "line 2: `tensor_scalar` is not wanted",
        ),
        ("// check: nowhere\n", "line 2: nothing after line 0 of the output fits `nowhere`"),
    ];
    for (checks, part) in fails {
        let (status, out, _) = outcome(&["test", arg(&with(checks))]);
        assert!(status == 1 && out.contains(part), "{checks}: {out}");
    }
}

#[test]
fn expected_errors_stand_at_their_lines() {
    let dir = Dir::new("errors");
    let file = |marks: [&str; 2]| {
        dir.file(
            "a.pta",
            format!(
                "// test compile --emit asm\nfunc @main(%x: tensor<4xf32>) -> tensor<4xf32> {{\n{}  %y = tensor.elementwise add(%x, %z) : tensor<4xf32>{}\n  return %y : tensor<4xf32>\n}}\n",
                marks[0], marks[1]
            ),
        )
    };
    let above = |what: &str| format!("  // expect-error@+1: {what}\n");
    for what in ["E0201", "\"%z\"", "E0201 \"%z\""] {
        succeeds(&["test", arg(&file([&above(what), ""]))]);
    }
    succeeds(&["test", arg(&file(["", " // expect-error: \"%z\""]))]);
    for (mark, part) in [
        (above("E0999"), "not reported: line 4: E0999"),
        (above("\"%q\""), "not expected: line 4: E0201"),
        ("  // expect-error@+2: E0201\n".to_owned(), "not expected: line 4"),
    ] {
        let (status, out, _) = outcome(&["test", arg(&file([&mark, ""]))]);
        assert!(status == 1 && out.contains(part), "{mark}: {out}");
    }
    let right =
        dir.file("b.pta", format!("// test compile --emit asm\n// expect-error: E0201\n{SMALL}"));
    let (status, out, _) = outcome(&["test", arg(&right)]);
    assert!(status == 1 && out.contains("an error was expected"), "{out}");
}

#[test]
fn cases_share_a_head_or_have_their_own() {
    let dir = Dir::new("cases");
    let other = SMALL.replace("mult", "add");
    let file = dir.file(
        "a.pta",
        format!(
            "// test run --random 3 --verify\n// test cost\n\n// ==== twice\n{SMALL}\n// ==== plus\n// targets: cayman mariana\n// test compile --emit asm\n{other}"
        ),
    );
    succeeds(&["test", arg(&file), "--bless"]);
    let held = fs::read_to_string(&file).unwrap();
    let twice = held.find("// ==== twice").unwrap();
    let plus = held.find("// ==== plus").unwrap();
    let cost = held.find("// ---- cost\n").unwrap();
    assert!(twice < cost && cost < plus, "{held}");
    assert!(
        held.contains("// ---- compile --emit asm --target mariana\n// .target mariana"),
        "{held}"
    );
    let verbose = succeeds(&["test", arg(&file), "-v", "--filter", "plus"]);
    assert_eq!(last_line(&verbose), "3 passed, 0 failed");
    assert!(verbose.contains("a.pta plus: compile --emit asm --target cayman"), "{verbose}");
    assert_eq!(last_line(&succeeds(&["test", arg(&file)])), "6 passed, 0 failed");
}

#[test]
fn texts_of_stablehlo_are_tests_too() {
    let dir = Dir::new("mlir-test");
    let program = "\
func.func public @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = stablehlo.add %x, %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
";
    let head = "// test run --random 2 --verify\n// test compile --emit asm\n// check: tensor_\n\
                // test import\n// check: tensor.elementwise add\n";
    let file = dir.file("a.mlir", format!("{head}{program}"));
    // What is read is printed in the project's own language, and that reads back.
    assert_eq!(last_line(&succeeds(&["test", arg(&file)])), "4 passed, 0 failed");
}

#[test]
fn pins_bound_the_cost() {
    let dir = Dir::new("pins");
    let with = |pins: &str| {
        dir.file(
            "a.pta",
            format!("// targets: cayman, mariana\n// test run --random 1\n{pins}{SMALL}"),
        )
    };
    // One word of 8 elements a partition: the floor of 64 cycles. Two transfers of 4 x 8 x 4 bytes.
    succeeds(&[
        "test",
        arg(&with("// cost <= 64\n// words <= 1\n// descriptors <= 2\n// bytes <= 256\n")),
    ]);
    for pin in ["cost <= 63", "words(mariana) <= 0", "descriptors <= 1", "bytes <= 255"] {
        let (status, out, _) = outcome(&["test", arg(&with(&format!("// {pin}\n")))]);
        assert!(status == 1 && out.contains("line 3: "), "{pin}: {out}");
    }
}

#[test]
fn results_come_as_json_and_for_junit() {
    let dir = Dir::new("reports");
    dir.file("a.pta", format!("// test run --random 1\n{SMALL}"));
    dir.file(
        "b.pta",
        format!("// test compile --emit asm\n// check: <nothing & \"never\">\n{SMALL}"),
    );
    dir.file("notes.pta", SMALL);
    let xml = dir.path("junit.xml");
    let (status, out, _) =
        outcome(&["test", arg(&dir.0), "--format", "json", "--junit", arg(&xml)]);
    assert_eq!(status, 1);
    let summary: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&summary["passed"], &summary["failed"]), (&3.into(), &1.into()));
    assert_eq!(summary["results"].as_array().unwrap().len(), 4);
    let xml = fs::read_to_string(xml).unwrap();
    assert!(xml.contains("tests=\"4\"") && xml.contains("failures=\"1\""), "{xml}");
    assert!(xml.contains("&lt;nothing &amp;"), "{xml}");
}

#[test]
fn what_is_no_test_says_so() {
    let dir = Dir::new("no-test");
    let plain = dir.file("plain.pta", SMALL);
    fails(&["test", arg(&plain)], 1, "has no `test` line");
    fails(&["test", arg(&dir.path("absent.pta"))], 1, "absent.pta");
    fails(&["test", arg(&dir.file("a.txt", "x"))], 1, "is no test: tests are .pta");
    let wrong = [
        ("// test frobnicate\n", "a.pta:1: a test runs one of opt"),
        ("// test opt -o x\n", "a.pta:1: `-o` has no place in a test"),
        ("// test opt --passes 'x\n", "a.pta:1: a quote is not closed"),
        ("// check: x\n// test opt\n", "a.pta:1: a check stands below"),
        ("// test opt\n// check: (\n", "a.pta:2: regex"),
        ("// test opt\n// expect-error: \n", "a.pta:2: an expected error is"),
        ("// test opt\n// ---- opt\nfunc\n", "a.pta:3: only comments may follow"),
    ];
    for (head, part) in wrong {
        fails(&["test", arg(&dir.file("a.pta", format!("{head}{SMALL}")))], 1, part);
    }
    // A directory without tests has none to run.
    let empty = Dir::new("empty-tests");
    assert_eq!(last_line(&succeeds(&["test", arg(&empty.0)])), "0 passed, 0 failed");
}
