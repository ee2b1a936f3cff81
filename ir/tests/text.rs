//! The language in and out.

use partita_ir::diag::{Source, Style, render_all};
use partita_ir::text;

fn round_trip(input: &str) -> String {
    let source = Source::new("test.pta", input);
    let module = text::load(&source)
        .unwrap_or_else(|e| panic!("{}", render_all(&e, Some(&source), Style::Plain)));
    let printed = module.to_string();
    let again = Source::new("printed.pta", printed.as_str());
    let reread = text::load(&again)
        .unwrap_or_else(|e| panic!("{}", render_all(&e, Some(&again), Style::Plain)));
    assert_eq!(module, reread, "{printed}");
    assert_eq!(printed, reread.to_string());
    printed
}

fn errors(input: &str) -> String {
    let source = Source::new("test.pta", input);
    match text::load(&source) {
        Ok(module) => panic!("accepted:\n{module}"),
        Err(errors) => render_all(&errors, Some(&source), Style::Plain),
    }
}

#[test]
fn rmsnorm() {
    insta::assert_snapshot!(round_trip(
        "func @rmsnorm(%x: tensor<250x512xf32>, %g: tensor<512xf32>) -> tensor<250x512xf32> {
  %sq  = tensor.elementwise mult(%x, %x) : tensor<250x512xf32>
  %sum = tensor.reduce add(%sq) dims [1] keep : tensor<250x1xf32>
  %ms  = tensor.elementwise mult(%sum, 0.001953125) : tensor<250x1xf32>
  %eps = tensor.elementwise add(%ms, 1.0e-6) : tensor<250x1xf32>
  %r   = tensor.elementwise rsqrt(%eps) : tensor<250x1xf32>
  %n   = tensor.elementwise mult(%x, %r) : tensor<250x512xf32>
  %y   = tensor.elementwise mult(%n, %g) : tensor<250x512xf32>
  return %y : tensor<250x512xf32>
}"
    ));
}

#[test]
fn every_operation() {
    insta::assert_snapshot!(round_trip(include_str!("data/every_op.pta")));
}

#[test]
fn modules_locations_and_results() {
    insta::assert_snapshot!(round_trip(
        "// comment\nmodule {\n\
         func private @two(%a: tensor<4xf32> {random = uniform(-1, 2.5)} loc(\"a\"), %b: tensor<4xi32> {random = int(-3, 9)})\n\
           -> (tensor<4xf32>, tensor<4xi32>) { // body\n\
           %c = tensor.elementwise add(%a, // first\n  1) : tensor<4xf32> loc(\"f.py\":3:4)\n\
           return (%c, %b) : (tensor<4xf32>, tensor<4xi32>) loc(fused[\"x\", callsite(\"y)\" at unknown)])\n\
         } loc(unknown)\n\
         func @none() { return }\n\
         func @one(%0: tensor<f32>) -> (tensor<f32>) { return %0 : tensor<f32> } }"
    ));
}

#[test]
fn errors_of_syntax() {
    insta::assert_snapshot!(errors(include_str!("data/bad_syntax.pta")));
}

#[test]
fn errors_of_types() {
    insta::assert_snapshot!(errors(include_str!("data/bad_types.pta")));
}

#[test]
fn errors_of_names() {
    insta::assert_snapshot!(errors(include_str!("data/bad_names.pta")));
}

#[test]
fn tiles_and_instructions() {
    insta::assert_snapshot!(round_trip(include_str!("data/tile.pta")));
}

#[test]
fn errors_of_tiles() {
    insta::assert_snapshot!(errors(include_str!("data/bad_tile.pta")));
}

/// The printed grammar accepts what the reader accepts.
#[test]
fn the_published_grammar_is_whole() {
    for text in [
        include_str!("data/every_op.pta"),
        include_str!("data/tile.pta"),
        "",
        "module { func @f() { return } }",
    ] {
        assert!(partita_ir::text::matches_grammar(text), "{text}");
    }
    assert!(!partita_ir::text::matches_grammar("func @f() { return "));
}

/// The programs of the manual are programs.
#[test]
fn examples_of_the_manual() {
    let manual = include_str!("../../docs/language.md");
    let programs: Vec<&str> =
        manual.split("```mlir\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(programs.len(), 3);
    for program in programs {
        round_trip(program);
    }
    for code in partita_ir::ElementwiseOp::ALL {
        assert!(manual.contains(code.name()), "`{code}` is not described");
    }
}
