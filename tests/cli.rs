//! The command as a user calls it: what goes wrong says so, quickly, and leaves nothing half done.

#[path = "support/command.rs"]
mod command;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use command::{Dir, arg, call, command, fails, floats, npy, succeeds, text};

const ADD: &str = "func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %z = tensor.elementwise add(%x, %y) : tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}
";

#[test]
fn wrong_usage_is_status_2() {
    fails(&["frobnicate"], 2, "unrecognized subcommand");
    fails(&["run"], 2, "required");
    fails(&["run", "x.pta", "--target", "venus"], 2, "unknown target");
    fails(&["dis", "x.bin", "--engine", "warp"], 2, "unknown engine");
    fails(&["run", "x.pta", "--rtol", "1"], 2, "--expect");
    fails(&["opt", "x.pta", "--passes", "canonicalise"], 2, "canonicalize");
    let dir = Dir::new("usage");
    let file = dir.file("add.pta", ADD);
    fails(&["run", arg(&file)], 2, "--random SEED");
    fails(&["compile", arg(&file), "--emit", "words"], 2, "-o PROG");
}

#[test]
fn missing_and_unreadable_files_are_named() {
    for subcommand in ["run", "compile", "exec", "opt", "as", "dis", "check", "cost", "conform"] {
        fails(&[subcommand, "/nonexistent/file"], 1, "/nonexistent/file");
        fails(&[subcommand, "/"], 1, "directory");
    }
    let dir = Dir::new("missing");
    let file = dir.file("add.pta", ADD);
    fails(&["run", arg(&file), "--inputs", "/nonexistent/in.npz"], 1, "/nonexistent/in.npz");
    fails(&["compile", arg(&file), "-o", "/nonexistent/out"], 1, "/nonexistent/out");
}

#[test]
fn wrong_programs_are_shown_where_they_are_wrong() {
    let dir = Dir::new("programs");
    let unknown = dir.file("unknown.pta", ADD.replace("tensor.elementwise", "tensor.elementwize"));
    fails(&["run", arg(&unknown), "--random", "1"], 1, "unknown.pta:2");
    let cut = dir.file("cut.pta", &ADD[..ADD.len() - 40]);
    fails(&["run", arg(&cut), "--random", "1"], 1, "cut.pta");
    let two = dir.file("two.pta", ADD.replace("@main", "@a") + &ADD.replace("@main", "@b"));
    fails(&["run", arg(&two), "--random", "1"], 1, "@a, @b");
    let binary = dir.file("binary.pta", [0xff, 0xfe, b'x', b'\n']);
    fails(&["run", arg(&binary), "--input-format", "pta"], 1, "UTF-8");
}

#[test]
fn hostile_texts_are_answered_at_once() {
    let dir = Dir::new("hostile");
    let nested = dir.file("nested.pta", format!("func @main() {{ {} }}", "(".repeat(10_000)));
    let long = dir.file("long.pta", vec![b'x'; 100 << 20]);
    let asm = dir.file("long.asm", [b".data 0 ".to_vec(), vec![b'f'; 100 << 20]].concat());
    for subcommand in ["run", "opt", "compile", "check", "as", "cost"] {
        for file in [&nested, &long, &asm] {
            let output = call(&[subcommand, arg(file)]);
            assert_eq!(output.status.code(), Some(1), "{subcommand} {}", file.display());
            assert!(
                output.stderr.len() < 100_000,
                "the answer to {} is no copy of it",
                file.display()
            );
        }
    }
}

#[test]
fn arrays_that_do_not_fit_are_refused() {
    let dir = Dir::new("arrays");
    let file = dir.file("add.pta", ADD);
    let good = npy("<f4", "(4, 8)", &floats((0..32).map(|i| i as f32)));
    let good = dir.file("good.npy", good);
    let good = format!("y={}", arg(&good));
    let refused = |name: &str, contents: &[u8], part: &str| {
        let bad = dir.file(name, contents);
        fails(
            &["run", arg(&file), "--input", &good, "--input", &format!("x={}", arg(&bad))],
            1,
            part,
        );
    };
    let zeros = floats([0.0; 32]);
    refused("short.npy", &npy("<f4", "(4, 8)", &zeros[..100]), "fewer");
    refused("long.npy", &npy("<f4", "(4, 8)", &[&zeros[..], &[0]].concat()), "more");
    refused("cut.npy", &npy("<f4", "(4, 8)", &zeros)[..30], "cut off");
    refused("shape.npy", &npy("<f4", "(8, 4)", &zeros), "shape is 8x4, expected 4x8");
    refused("dtype.npy", &npy("<i4", "(4, 8)", &zeros), "--cast-inputs");
    refused("double.npy", &npy("<f8", "(4, 8)", &[0; 256]), "64-bit floats");
    refused("huge.npy", &npy("<f4", "(4611686018427387904, 8)", &zeros), "larger");
    refused("text.npy", b"not numpy", "cut off");
    let archive = dir.file("bad.npz", b"PK\x03\x04 not really");
    fails(&["run", arg(&file), "--inputs", arg(&archive)], 1, "not an npz archive");
    fails(&["run", arg(&file), "--input", "q=x.npy"], 2, "no argument `q`");
}

#[test]
fn a_program_runs_and_its_results_are_compared() {
    let dir = Dir::new("run");
    let file = dir.file("add.pta", ADD);
    let out = dir.path("out.npz");
    let x = dir.file("x.npy", npy("<f4", "(4, 8)", &floats((0..32).map(|i| i as f32))));
    let y = dir.file("y.npy", npy("<f4", "(4, 8)", &floats([0.5; 32])));
    let inputs = [format!("x={}", arg(&x)), format!("arg1={}", arg(&y))];
    let flags = ["run", arg(&file), "--input", &inputs[0], "--input", &inputs[1]];
    let summary = succeeds(&[&flags[..], &["--outputs", arg(&out), "--verify"]].concat());
    assert!(
        summary.contains("output out0: 4x8 f32") && summary.contains("verify out0: agrees"),
        "{summary}"
    );
    // The items of the one stored member are the last that precede the directory of the archive.
    let archive = fs::read(&out).unwrap();
    let want = floats((0..32).map(|i| i as f32 + 0.5));
    assert!(
        archive.windows(want.len()).any(|window| window == want),
        "the sums are in the archive"
    );
    succeeds(&[&flags[..], &["--expect", arg(&out)]].concat());
    // The same archive is no expectation of other arguments.
    let output = call(&["run", arg(&file), "--random", "3", "--expect", arg(&out)]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("worst at"), "{}", text(&output.stdout));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let dir = Dir::new("seed");
    let file = dir.file("add.pta", ADD);
    let outputs: Vec<Vec<u8>> = ["a.npz", "b.npz", "c.npz"]
        .iter()
        .zip(["7", "7", "8"])
        .map(|(name, seed)| {
            let path = dir.path(name);
            assert_eq!(
                succeeds(&["run", arg(&file), "--random", seed, "-q", "--outputs", arg(&path)]),
                ""
            );
            fs::read(path).unwrap()
        })
        .collect();
    assert_eq!(outputs[0], outputs[1]);
    assert_ne!(outputs[0], outputs[2]);
}

#[test]
fn compiled_programs_execute_and_survive_the_assembler() {
    let dir = Dir::new("compile");
    let file = dir.file("add.pta", ADD);
    let image = dir.path("add.img");
    let assembler = dir.path("add.asm");
    let again = dir.path("again.img");
    succeeds(&["compile", arg(&file), "-o", arg(&image)]);
    succeeds(&["compile", arg(&file), "--emit", "asm", "-o", arg(&assembler)]);
    succeeds(&["as", arg(&assembler), "-o", arg(&again)]);
    assert_eq!(fs::read(&image).unwrap(), fs::read(&again).unwrap());
    assert_eq!(succeeds(&["dis", arg(&image)]), fs::read_to_string(&assembler).unwrap());
    assert!(succeeds(&["check", arg(&image)]).contains("0 illegal"));
    assert!(succeeds(&["cost", arg(&image)]).contains("bound"));
    let ran = succeeds(&["run", arg(&file), "--random", "5", "--outputs", arg(&dir.path("r.npz"))]);
    let executed =
        succeeds(&["exec", arg(&image), "--random", "5", "--outputs", arg(&dir.path("e.npz"))]);
    assert_eq!(ran, executed);
    assert_eq!(fs::read(dir.path("r.npz")).unwrap(), fs::read(dir.path("e.npz")).unwrap());
    for dialect in ["tile", "tpb"] {
        let ir = dir.path(&format!("add.{dialect}.pta"));
        succeeds(&["compile", arg(&file), "--emit", dialect, "-o", arg(&ir)]);
        let from_ir = dir.path(&format!("{dialect}.img"));
        succeeds(&["compile", arg(&ir), "-o", arg(&from_ir)]);
        assert_eq!(
            succeeds(&["dis", arg(&from_ir)]),
            fs::read_to_string(&assembler).unwrap(),
            "from {dialect}"
        );
    }
}

#[test]
fn a_seed_means_the_same_to_the_source_and_to_what_is_compiled_from_it() {
    let dir = Dir::new("ranges");
    let ranged = ADD
        .replace("%x: tensor<4x8xf32>", "%x: tensor<4x8xf32> {random = uniform(1000.0, 1000.1)}")
        .replace("%y: tensor<4x8xf32>", "%y: tensor<4x8xf32> {random = int(-5, 5)}");
    let file = dir.file("add.pta", ranged);
    let image = dir.path("add.img");
    let assembler = dir.path("add.asm");
    let tpb = dir.path("add.tpb.pta");
    let from_tpb = dir.path("tpb.img");
    succeeds(&["compile", arg(&file), "-o", arg(&image)]);
    succeeds(&["dis", arg(&image), "-o", arg(&assembler)]);
    succeeds(&["compile", arg(&file), "--emit", "tpb", "-o", arg(&tpb)]);
    succeeds(&["compile", arg(&tpb), "-o", arg(&from_tpb)]);
    let lines = fs::read_to_string(&assembler).unwrap();
    assert!(lines.contains(" random uniform(1000.0, 1000.1)\n"), "{lines}");
    assert!(lines.contains(" random int(-5, 5)\n"), "{lines}");
    let results = |subcommand: &str, program: &Path| {
        let out = dir.path("out.npz");
        succeeds(&[subcommand, arg(program), "--random", "5", "--outputs", arg(&out)]);
        fs::read(out).unwrap()
    };
    let ran = results("run", &file);
    for program in [&image, &assembler, &from_tpb] {
        assert_eq!(results("exec", program), ran, "{}", program.display());
    }
    for (wrong, part) in [
        ("uniform(2.0, 1.0)", "empty"),
        ("normal(0.0, 1.0)", "no distribution"),
        ("int(0, 5) 7", "no distribution"),
    ] {
        let bad = dir.file("bad.asm", lines.replace("uniform(1000.0, 1000.1)", wrong));
        fails(&["exec", arg(&bad), "--random", "5"], 1, part);
    }
    let bad = dir.file("bad.asm", lines.replace("random uniform", "seed uniform"));
    fails(&["exec", arg(&bad), "--random", "5"], 1, "nothing but `random`");
}

#[test]
fn what_cannot_be_executed_says_what_to_do() {
    let dir = Dir::new("exec");
    let file = dir.file("add.pta", ADD);
    fails(&["exec", arg(&file)], 1, "is program text, not compiled; `partita run`");
    let words = dir.file("words.bin", [0u8; 128]);
    fails(&["exec", arg(&words)], 1, "without inputs and outputs");
    fails(&["exec", arg(&words)], 1, "`partita dis`");
}

#[test]
fn wrong_inputs_are_status_1() {
    let dir = Dir::new("inputs");
    let file = dir.file("add.pta", ADD);
    fails(&["run", arg(&file), "--random", "1", "--entry", "foo"], 1, "there is no function @foo");
    let single = dir.file(
        "one.pta",
        "func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {\n  return %x : tensor<4x8xf32>\n}\n",
    );
    let archive = dir.path("one.npz");
    // An archive of `out0` alone, which is no argument.
    succeeds(&["run", arg(&single), "--random", "1", "--outputs", arg(&archive)]);
    fails(&["run", arg(&file), "--inputs", arg(&archive)], 1, "holds no array `x`");
    let cut = fs::read(&archive).unwrap();
    let cut = dir.file("cut.npz", &cut[..cut.len() - 10]);
    fails(&["run", arg(&file), "--inputs", arg(&cut)], 1, "cut off");
    fails(&["opt", arg(&file), "--passes", "nope"], 2, "the passes are canonicalize,");
    fails(&["opt", arg(&file), "--to", "nope"], 2, "the passes are canonicalize,");
    let marked = dir.file("bom.pta", format!("\u{feff}{ADD}"));
    succeeds(&["run", arg(&marked), "--random", "1", "--verify"]);
}

#[test]
fn a_module_around_functions_is_no_stablehlo() {
    let dir = Dir::new("module");
    let around = dir.file("around.pta", format!("module {{\n{ADD}}}\n"));
    succeeds(&["run", arg(&around), "--random", "1", "--verify"]);
    let nested = dir.file("nested.pta", format!("module {{\nmodule {{\n{ADD}}}\n}}\n"));
    fails(&["run", arg(&nested), "--random", "1"], 1, "a module cannot begin here");
    let hlo = "module @m {\n  func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n    %0 = stablehlo.add %a, %a : tensor<4xf32>\n    return %0 : tensor<4xf32>\n  }\n}\n";
    let hlo = dir.file("add.mlir", hlo);
    succeeds(&["run", arg(&hlo), "--random", "1", "--verify"]);
}

#[test]
fn raw_words_survive_the_assembler_legal_or_not() {
    let dir = Dir::new("words");
    // Every first byte, and bytes that no table knows after it.
    let words: Vec<u8> =
        (0..=255u8).flat_map(|first| (0..64u8).map(move |i| first ^ i.wrapping_mul(37))).collect();
    let raw = dir.file("words.bin", &words);
    let listing = dir.path("words.asm");
    let back = dir.path("back.bin");
    for flags in [&["--target", "cayman"][..], &["--target", "maverick", "--engine", "pool"]] {
        succeeds(&[&["dis", arg(&raw), "-o", arg(&listing)], flags].concat());
        succeeds(&["as", arg(&listing), "-o", arg(&back)]);
        assert_eq!(fs::read(&back).unwrap(), words);
    }
    let hex: String = words[..128]
        .chunks(64)
        .map(|word| word.iter().map(|b| format!("{b:02x}")).collect::<String>() + " # word\n")
        .collect();
    let hex = dir.file("words.hex", hex);
    assert_eq!(succeeds(&["dis", arg(&hex)]).lines().count(), 2);
    let cut = dir.file("cut.bin", &words[..100]);
    fails(&["dis", arg(&cut)], 1, "BLK-1");
}

#[test]
fn illegal_words_fail_the_check_with_their_rules() {
    let dir = Dir::new("check");
    let copy = "copy src_mem_pattern=sbuf[p0, 0x0][1:512] in_dtype=FP32 out_dtype=FP32 num_active_channels=129 dst_mem_pattern=sbuf[p0, 0x1000][1:512]\n";
    let listing = dir.file("bad.asm", copy);
    let output = call(&["check", arg(&listing), "--engine", "dve"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("CH-2"), "{}", text(&output.stdout));
    assert!(text(&output.stderr).is_empty());
    let output = call(&["check", arg(&listing), "--format", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["illegal"], 1);
    assert_eq!(report["findings"][0]["field"], "num_active_channels");
    assert!(text(&output.stderr).contains("ENG rules are skipped"));
    let good = dir.file("good.asm", copy.replace("129", "128"));
    assert!(
        succeeds(&["check", arg(&good), "--engine", "dve"])
            .contains("1 words for cayman, 0 illegal")
    );
}

/// `script` gives the command a terminal; where there is none of that kind, nothing is tested.
#[test]
fn an_image_is_not_written_to_a_terminal() {
    let dir = Dir::new("terminal");
    let file = dir.file("add.pta", ADD);
    let call = |flags: &str| {
        let line = format!("{} compile {} {flags}", env!("CARGO_BIN_EXE_partita"), arg(&file));
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).stdin(Stdio::null()).output()
    };
    match call("--emit asm") {
        Ok(output) if text(&output.stdout).contains(".target cayman") => {}
        _ => return println!("skipped: there is no `script` that runs a command"),
    }
    let refused = call("").unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stdout).contains("-o FILE"), "{}", text(&refused.stdout));
    assert!(!refused.stdout.windows(4).any(|bytes| bytes == b"\x7fELF"));
}

#[test]
fn a_failure_leaves_no_output_behind() {
    let dir = Dir::new("partial");
    let bad = dir.file("bad.pta", ADD.replace("add", "sum"));
    let kept = dir.file("kept.img", b"what was here before");
    call(&["compile", arg(&bad), "-o", arg(&kept)]);
    call(&["compile", arg(&bad), "-o", arg(&dir.path("new.img"))]);
    call(&["run", arg(&bad), "--random", "1", "--outputs", arg(&dir.path("out.npz"))]);
    assert_eq!(fs::read(&kept).unwrap(), b"what was here before");
    assert_eq!(dir.names(), ["bad.pta", "kept.img"]);
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let mut child = command(&["isa"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stderr), "");
    assert!(output.status.success());
}

#[test]
fn standard_input_and_output_are_dashes() {
    let mut child =
        command(&["opt", "-", "--passes", "", "-o", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(ADD.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), ADD);
}

#[test]
fn the_tables_explain_themselves() {
    assert!(succeeds(&["isa", "0x43"]).contains("TensorScalarArithOp"));
    assert!(succeeds(&["isa", "tr-4"]).contains("TR-4"));
    assert!(succeeds(&["isa", "rsqrt"]).contains("RSQRT"));
    fails(&["isa", "no-such-thing"], 1, "no-such-thing");
    assert!(succeeds(&["passes"]).lines().count() >= 4);
    let everything: serde_json::Value =
        serde_json::from_str(&succeeds(&["isa", "--format", "json"])).unwrap();
    assert!(everything.as_array().unwrap().len() > 200);
}

#[test]
fn parts_of_a_file_run_one_by_one() {
    let dir = Dir::new("split");
    let file = dir.file("two.pta", format!("{ADD}// -----\n{ADD}"));
    let summary = succeeds(&["run", arg(&file), "--split-input-file", "--random", "1", "--verify"]);
    assert_eq!(summary.matches("verify out0: agrees").count(), 2);
    let broken = dir.file("broken.pta", format!("{ADD}// -----\n{}", ADD.replace("add", "sum")));
    fails(&["opt", arg(&broken), "--split-input-file"], 1, "broken.pta:7");
}

#[test]
fn vectors_are_counted() {
    let dir = Dir::new("conform");
    let copy = "46".to_owned() + "10" + &"00".repeat(62);
    let vector = |id: &str, legal: bool| {
        format!(
            "{{\"id\":\"{id}\",\"target\":\"cayman\",\"engine\":\"dve\",\"words\":[\"{copy}\"],\"legal\":{legal}}}\n"
        )
    };
    let file = dir.file("v.jsonl", vector("a", false) + &vector("b", true));
    let output = call(&["conform", arg(&file)]);
    assert_eq!(output.status.code(), Some(1));
    let lines = text(&output.stdout);
    assert!(lines.contains("v.jsonl:2: b:") && lines.ends_with("1 passed, 1 failed\n"), "{lines}");
}
