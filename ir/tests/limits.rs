//! Hostile text: answered at once, with a diagnostic.

use std::time::{Duration, Instant};

use partita_ir::diag::{Source, Style, render_all};
use partita_ir::text;

/// The codes of the errors; rendering must not fail either.
fn codes(input: String) -> Vec<&'static str> {
    let source = Source::new("hostile.pta", input);
    let begin = Instant::now();
    let errors = text::load(&source).expect_err("must be refused");
    let text = render_all(&errors, Some(&source), Style::Plain);
    // Generous: tests run unoptimised and beside others.
    assert!(begin.elapsed() < Duration::from_secs(20), "took {:?}", begin.elapsed());
    assert!(text.len() < 200_000, "{} bytes of diagnostics", text.len());
    errors.iter().map(|error| error.code.id()).collect()
}

fn in_func(statement: &str) -> String {
    format!(
        "func @f(%a: tensor<4xf32>) -> tensor<4xf32> {{\n  {statement}\n  return %a : tensor<4xf32>\n}}\n"
    )
}

#[test]
fn deep_brackets() {
    for open in ["(", "[", "{"] {
        assert_eq!(codes(in_func(&format!("%x = {}", open.repeat(10_000)))), ["E0106"]);
        assert_eq!(codes(format!("func @f({}", open.repeat(10_000))), ["E0106"]);
    }
    let nested = format!("%x = tensor.cast %a : tensor<4xf32> loc({}", "(".repeat(10_000));
    assert_eq!(codes(in_func(&nested)), ["E0106"]);
    let dense = format!("%x = tensor.constant dense<{}1> : tensor<1x1xf32>", "[".repeat(10_000));
    assert_eq!(codes(in_func(&dense)), ["E0108"]);
    let types = format!("%x = tensor.cast %a : {}", "tensor<".repeat(10_000));
    assert_eq!(codes(in_func(&types)), ["E0101"]);
}

#[test]
fn long_lines() {
    const MANY: usize = 20_000_000;
    assert_eq!(codes(in_func(&format!("%x = {}", "a".repeat(MANY)))), ["E0107"]);
    assert_eq!(
        codes(in_func(&format!("%x = tensor.cast %a{}: tensor<4xf32>", " ".repeat(MANY)))),
        ["E0107"]
    );
    assert_eq!(codes("x".repeat(MANY)), ["E0107"]);
    let dense = format!("%x = tensor.constant dense<[{}]> : tensor<4xf32>", "1,".repeat(MANY / 4));
    assert_eq!(codes(in_func(&dense)), ["E0108"]);
    // Many statements on one line, all wrong: the reader gives up early.
    let line = "%x = tensor.nothing ".repeat(MANY / 20);
    assert_eq!(codes(in_func(&line)).len(), 200);
}

#[test]
fn arbitrary_bytes() {
    for text in [
        "\0",
        "func",
        "func @",
        "}",
        "%",
        "%x =",
        "module",
        "target",
        "\u{fffd}…",
        "func @f() {",
        "\"",
        "//",
        "dense<",
    ] {
        for padding in ["", " ", "\n", "func @f() { "] {
            let source = Source::new("bytes", format!("{padding}{text}"));
            if let Err(errors) = text::load(&source) {
                assert!(!render_all(&errors, Some(&source), Style::Color).is_empty());
            }
        }
    }
}

#[test]
fn labels_in_long_lines_are_cut_out() {
    let names: Vec<String> = (0..2000).map(|i| format!("%value{i}: tensor<4xf32>")).collect();
    let text = format!("func @f({}, %bad: tensor<4xf31>) {{\n  return\n}}\n", names.join(", "));
    let source = Source::new("wide.pta", text);
    let errors = text::load(&source).expect_err("must be refused");
    insta::assert_snapshot!(render_all(&errors, Some(&source), Style::Plain));
}
