//! Words on the command line: every file has an answer, and the documentation of the text is true.

#[path = "support/command.rs"]
mod command;

use std::fs;
use std::path::Path;

use command::{Dir, call, command, outcome, text};

/// Standard output and standard error of a call with this status.
fn status(expected: i32, args: &[&str]) -> (String, String) {
    let (status, out, err) = outcome(args);
    assert_eq!(status, expected, "{args:?}: {out}{err}");
    (out, err)
}

/// Bytes without a pattern, the same in every run (xorshift).
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(next).flatten().take(len).collect()
}

#[test]
fn empty_files_are_refused() {
    let dir = Dir::new("empty");
    let empty = dir.arg("empty", "");
    for command in ["dis", "check", "as", "exec"] {
        let (out, err) = status(1, &[command, &empty]);
        assert_eq!(out, "", "{command}");
        assert!(err.contains("is empty"), "{command}: {err}");
    }
}

#[test]
fn cut_blocks_name_rule_and_place() {
    let dir = Dir::new("cut");
    let cut = dir.arg("cut.bin", noise(64 * 3 + 5));
    for command in ["dis", "check"] {
        let (out, err) = status(1, &[command, &cut, "--input-format", "raw"]);
        assert_eq!(out, "");
        assert!(err.contains("5 bytes at offset 0xc0") && err.contains("BLK-1"), "{err}");
    }
    let bytes = fs::read(&cut).unwrap();
    let mut piped = command(&["check", "-", "--input-format", "raw"]);
    let output = piped.stdin(fs::File::open(&cut).unwrap()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("offset 0xc0"), "{}", bytes.len());
}

#[test]
fn random_bytes_disassemble_and_fail_the_check() {
    let dir = Dir::new("random");
    // More than one piece of the reader.
    let bytes = noise(64 * 5000);
    let raw = dir.arg("random.bin", &bytes);
    let (text, _) = status(0, &["dis", &raw]);
    assert_eq!(text.lines().count(), 5000);
    let listing = dir.arg("random.asm", &text);
    let back = dir.arg("back.bin", "");
    status(0, &["as", &listing, "-o", &back]);
    assert!(fs::read(&back).unwrap() == bytes);

    let (report, _) = status(1, &["check", &raw, "--engine", "dve"]);
    assert!(report.contains("word[4999]") || report.contains("dve[4999]"), "indices go on");
    assert!(report.ends_with(" illegal\n") || report.ends_with(" warnings\n"));
    let (json, _) = status(1, &["check", &raw, "--format", "json", "-q"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["words"], 5000);
    assert!(json["findings"].as_array().unwrap().len() >= 4000);
}

#[test]
fn corrupt_images_are_refused() {
    let dir = Dir::new("image");
    let source = dir.arg("program.asm", examples("asm").pop().unwrap());
    let image = dir.arg("program.img", "");
    status(0, &["as", &source, "-o", &image]);
    status(0, &["dis", &image]);
    let good = fs::read(&image).unwrap();
    // e_shoff: the table of sections lies where the file has ended, or anywhere.
    for offset in [good.len() as u64, u64::MAX, 1, good.len() as u64 - 8] {
        let mut bad = good.clone();
        bad[40..48].copy_from_slice(&offset.to_le_bytes());
        let bad = dir.arg("bad.img", bad);
        for command in ["dis", "check", "exec"] {
            let (_, err) = status(1, &[command, &bad]);
            assert!(err.starts_with("error: ") && !err.contains("panicked"), "{err}");
        }
    }
    let cut = dir.arg("cut.img", &good[..good.len() / 2]);
    status(1, &["dis", &cut]);
}

#[test]
fn findings_and_bytes_stand_beside_the_words() {
    let dir = Dir::new("inline");
    let listing = dir.arg(
        "words.asm",
        "copy num_active_channels=129\ncopy dst_mem_pattern=sbuf[p0, 0x40][1:1] wait_idx=3\n",
    );
    let raw = dir.arg("words.bin", "");
    status(0, &["as", &listing, "-o", &raw]);
    let flags = ["--hex", "--check", "--engine", "dve", "--input-format", "raw"];
    let (text, _) = status(0, &[&["dis", &raw][..], &flags].concat());
    assert!(text.contains(" ; 4610"), "{text}");
    assert!(text.contains("\n  ; error[CC-6, H]: num_active_channels"), "{text}");
    assert!(text.contains("\n  ; warning[EV-5"), "{text}");
    let again = dir.arg("again.asm", &text);
    let back = dir.arg("back.bin", "");
    status(0, &["as", &again, "-o", &back]);
    assert!(fs::read(&back).unwrap() == fs::read(&raw).unwrap());
    let (report, _) = status(1, &["check", &raw, "--engine", "dve", "--input-format", "raw"]);
    assert!(report.contains("2 words for cayman, 1 illegal, 1 warnings"), "{report}");
}

/// The blocks of a kind in the documentation of the text.
fn examples(kind: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/asm.md");
    let page = fs::read_to_string(path).unwrap();
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while lines.by_ref().any(|line| line == format!("```{kind}")) {
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        blocks.push(block.join("\n") + "\n");
    }
    blocks
}

#[test]
fn documented_examples_assemble_to_what_they_disassemble_to() {
    let dir = Dir::new("documented");
    let blocks = examples("asm");
    assert!(blocks.len() >= 6);
    for (number, block) in blocks.iter().enumerate() {
        let source = dir.arg(&format!("{number}.asm"), block);
        let first = dir.arg("first", "");
        status(0, &["as", &source, "-o", &first]);
        let bytes = fs::read(&first).unwrap();
        let format: &[&str] =
            if bytes.starts_with(b"\x7fELF") { &[] } else { &["--input-format", "raw"] };
        let (text, _) = status(0, &[&["dis", &first][..], format].concat());
        let text = dir.arg("text", text);
        let second = dir.arg("second", "");
        status(0, &["as", &text, "-o", &second]);
        assert!(bytes == fs::read(&second).unwrap(), "{block}");
    }
    // Words and programs, not fragments: these two are legal as a whole.
    for block in [&blocks[0], &blocks[blocks.len() - 1]] {
        let source = dir.arg("legal.asm", block);
        status(0, &["check", &source]);
    }
}

#[test]
fn documented_errors_have_their_place_and_help() {
    let dir = Dir::new("errors");
    let lines = examples("asm-error").concat();
    assert!(lines.lines().count() >= 8);
    for line in lines.lines() {
        let (text, help) = line.rsplit_once(" => ").unwrap();
        let source = dir.arg("bad.asm", format!("copy\n{text}\n"));
        let (_, err) = status(1, &["as", &source]);
        assert!(err.contains(help), "{text}: {err}");
        assert!(err.contains("bad.asm:2:") && err.contains('^'), "{text}: {err}");
    }
}

/// Every command answers bad input with an error that names what is wrong, and leaves no output behind.
#[test]
fn bad_input_has_a_clear_error_and_no_output() {
    let dir = Dir::new("bad");
    let digits = "41".repeat(64);
    let cases: [(&str, Vec<u8>, &str, &str); 8] = [
        ("short.hex", digits[..126].into(), "hex", "line 1: a word has 128 hex digits, found 126"),
        (
            "letter.hex",
            format!("{digits}\n{}\n", digits.replace("41", "4x")).into(),
            "hex",
            "line 2: not a hex digit",
        ),
        ("latin.asm", b"copy\ncopy ; caf\xe9\n".to_vec(), "asm", "not UTF-8"),
        (
            "long.asm",
            format!("copy ; {}\n", "x".repeat(20_000)).into(),
            "asm",
            "a line of more than 16384 bytes",
        ),
        ("noise.asm", noise(4096), "asm", "not UTF-8"),
        ("cut.bin", noise(100), "raw", "BLK-1"),
        ("noise.img", noise(4096), "image", "error: "),
        ("zero.img", vec![0; 4096], "image", "error: "),
    ];
    for (name, bytes, format, message) in &cases {
        let file = dir.arg(name, bytes);
        let output = dir.0.join("output");
        for command in ["as", "dis", "check"] {
            let out = output.to_str().unwrap();
            let (_, err) = status(1, &[command, &file, "--input-format", format, "-o", out]);
            assert!(err.contains(message), "{command} {name}: {err}");
            assert!(!err.contains("panicked"), "{command} {name}: {err}");
            assert!(!output.exists(), "{command} {name} left an output");
        }
    }
    let left = fs::read_dir(&dir.0).unwrap().count();
    assert_eq!(left, cases.len(), "temporary files are removed");
}

#[test]
fn conform_and_isa_say_what_they_do_not_understand() {
    let dir = Dir::new("conform");
    let empty = dir.arg("empty.jsonl", "");
    let broken = dir.arg("broken.jsonl", "{\"id\": 1\n");
    let noise = dir.arg("noise.jsonl", noise(500));
    for file in [&broken, &noise] {
        let (out, err) = status(1, &["conform", file]);
        assert!(!(out.clone() + &err).contains("panicked") && !(out + &err).is_empty());
    }
    call(&["conform", &empty]);
    let (_, err) = status(1, &["conform", "no-such-file.jsonl"]);
    assert!(err.contains("no-such-file.jsonl"), "{err}");
    let (_, err) = status(1, &["isa", "0x1ff"]);
    assert!(err.contains("`0x1ff` is no opcode"), "{err}");
}

/// A text that is too long to be held is assembled all the same, as long as it is words of one engine.
#[test]
fn long_texts_are_blocks_of_words() {
    let dir = Dir::new("long");
    let line = "copy src_mem_pattern=sbuf[p0, 0x0][1:8] dst_mem_pattern=sbuf[p0, 0x40][1:8] wait sem7 >= 3\n";
    let short = dir.arg("short.asm", line);
    let one = dir.arg("one.bin", "");
    status(0, &["as", &short, "-o", &one]);
    let word = fs::read(&one).unwrap();
    let count = (5 << 20) / line.len();
    let head = ".target cayman\n.engine dve ; all of it\n\n";
    let text = head.to_owned() + &line.repeat(count);
    let long = dir.arg("long.asm", &text);
    let all = dir.arg("all.bin", "");
    status(0, &["as", &long, "-o", &all]);
    assert!(fs::read(&all).unwrap() == word.repeat(count));
    // Without a final line break, and with carriage returns.
    let long = dir.arg("long.asm", text.trim_end().replace('\n', "\r\n"));
    status(0, &["as", &long, "-o", &all]);
    assert!(fs::read(&all).unwrap() == word.repeat(count));

    let lines = 3 + count;
    for (late, message) in [
        (".engine pool\n", "only words of one engine"),
        (".dma queue=0\n", "only words of one engine"),
        ("label:\n", "only words of one engine"),
        ("copy opp=ADD\n", "did you mean `op`?"),
        ("copy ; \u{1f600}\n", ""),
    ] {
        let long = dir.arg("long.asm", text.clone() + late);
        let never = dir.0.join("never.bin");
        let expected = i32::from(!message.is_empty());
        let (_, err) = status(expected, &["as", &long, "-o", never.to_str().unwrap()]);
        assert_eq!(never.exists(), message.is_empty());
        let place = format!("long.asm:{}", lines + 1);
        assert!(message.is_empty() || err.contains(message) && err.contains(&place), "{err}");
    }
    // What a program has shows at the beginning, and the text is then read as a whole.
    let program =
        dir.arg("program.asm", ".io hbm 0x0\n".to_owned() + &text[15..] + ".engine pool\n" + line);
    status(0, &["as", &program, "-o", &all]);
    assert!(fs::read(&all).unwrap().starts_with(b"\x7fELF"));
}
