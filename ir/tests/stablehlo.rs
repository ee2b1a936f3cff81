//! The reader of StableHLO: forms, errors and their places, and that what it makes is text that reads back.

use partita_ir::diag::Severity;
use partita_ir::eval::{EvalOptions, eval_func};
use partita_ir::stablehlo::{self, Lowered, Options, Text};
use partita_ir::{Diagnostic, Source, TensorData, TensorType, text};

fn load(program: &str) -> Result<Lowered, Vec<Diagnostic>> {
    stablehlo::load(&Source::new("m.mlir", program), Options::default())
}

/// The module as text of the tensor dialect, after reading that text again.
fn imported(program: &str) -> String {
    let lowered =
        load(program).unwrap_or_else(|found| panic!("{program}\n{}", shown(program, &found)));
    let printed = lowered.module.to_string();
    let again = text::load(&Source::new("m.pta", printed.as_str()));
    let again = again.unwrap_or_else(|found| panic!("{printed}\n{found:?}"));
    assert_eq!(again.to_string(), printed);
    printed
}

fn shown(program: &str, found: &[Diagnostic]) -> String {
    let source = Source::new("m.mlir", program);
    let line = |found: &Diagnostic| {
        let (line, column) = source.line_column(found.primary.span.start as usize);
        format!("{line}:{column} {} {}", found.code.id(), found.message)
    };
    found.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What is wrong with a program: places, codes and messages.
fn wrong(program: &str) -> String {
    match load(program) {
        Ok(lowered) => panic!("accepted:\n{}", lowered.module),
        Err(found) => shown(program, &found),
    }
}

/// A function of one argument of 2×3 floats with these operations; the result is `%r`.
fn main_of(ops: &str) -> String {
    format!(
        "func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {{\n{ops}\n  return %r : tensor<2x3xf32>\n}}\n"
    )
}

/// The lines of the body.
fn body(ops: &str) -> Vec<String> {
    let printed = imported(&main_of(ops));
    printed.lines().skip(1).map(|line| line.trim().to_owned()).filter(|line| line != "}").collect()
}

/// What a function without arguments gives.
fn value(ty: &str, ops: &str) -> TensorData {
    let program =
        format!("func.func @main() -> tensor<{ty}> {{\n{ops}\n  return %r : tensor<{ty}>\n}}\n");
    imported(&program);
    let lowered = load(&program).unwrap();
    eval_func(&lowered.module.funcs[0], &[], &EvalOptions::default()).unwrap().remove(0)
}

#[test]
fn both_forms_give_the_same() {
    let pairs = [
        (
            "%r = stablehlo.add %x, %x : tensor<2x3xf32>",
            "%r = \"stablehlo.add\"(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>",
        ),
        (
            "%c = stablehlo.constant dense<2.0> : tensor<f32>\n%r = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<2x3xf32>",
            "%c = \"stablehlo.constant\"() <{value = dense<2.0> : tensor<f32>}> : () -> tensor<f32>\n%r = \"stablehlo.broadcast_in_dim\"(%c) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<2x3xf32>",
        ),
        (
            "%t = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n%r = stablehlo.reshape %t : (tensor<3x2xf32>) -> tensor<2x3xf32>",
            "%t = \"stablehlo.transpose\"(%x) {permutation = dense<[1, 0]> : tensor<2xi64>} : (tensor<2x3xf32>) -> tensor<3x2xf32>\n%r = \"stablehlo.reshape\"(%t) : (tensor<3x2xf32>) -> tensor<2x3xf32>",
        ),
        (
            "%s = stablehlo.slice %x [0:2, 1:3:2] : (tensor<2x3xf32>) -> tensor<2x1xf32>\n%r = stablehlo.concatenate %s, %s, %s, dim = 1 : (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>",
            "%s = \"stablehlo.slice\"(%x) <{start_indices = array<i64: 0, 1>, limit_indices = array<i64: 2, 3>, strides = array<i64: 1, 2>}> : (tensor<2x3xf32>) -> tensor<2x1xf32>\n%r = \"stablehlo.concatenate\"(%s, %s, %s) <{dimension = 1 : i64}> : (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>",
        ),
        (
            "%p = stablehlo.compare GT, %x, %x, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>\n%r = stablehlo.select %p, %x, %x : tensor<2x3xi1>, tensor<2x3xf32>",
            "%p = \"stablehlo.compare\"(%x, %x) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>\n%r = \"stablehlo.select\"(%p, %x, %x) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>",
        ),
        (
            "%z = stablehlo.constant dense<0.0> : tensor<f32>\n%s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>\n%r = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>",
            "%z = stablehlo.constant dense<0.0> : tensor<f32>\n%s = \"stablehlo.reduce\"(%x, %z) <{dimensions = array<i64: 1>}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%q = stablehlo.add %a, %b : tensor<f32>\nstablehlo.return %q : tensor<f32>\n}) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>\n%r = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>",
        ),
    ];
    for (pretty, generic) in pairs {
        assert_eq!(body(pretty), body(generic), "{pretty}");
    }
}

#[test]
fn names_are_kept() {
    let lines =
        body("%0 = stablehlo.negate %x : tensor<2x3xf32>\n%r = stablehlo.abs %0 : tensor<2x3xf32>");
    assert_eq!(lines[0], "%0 = tensor.elementwise mult(%x, -1.0) : tensor<2x3xf32>");
    assert_eq!(lines[1], "%r = tensor.elementwise absolute_value(%0) : tensor<2x3xf32>");
}

#[test]
fn modules_functions_attributes_and_locations() {
    let program = "#map = affine_map<(d0) -> (d0)>\n#loc1 = loc(\"x\")\n\
        module @jit_f attributes {mhlo.num_partitions = 1 : i32, jax.uses = [\"a\", {b = #map}]} {\n\
        func.func public @main(%arg0: tensor<4xf32> {mhlo.sharding = \"{replicated}\", tf.aliasing_output = 0 : i32} loc(\"x\"), %arg1: tensor<4xi1> loc(#loc1)) -> (tensor<4xf32> {jax.result_info = \"result\"}, tensor<f32>) attributes {a} {\n\
        %0:2 = call @f(%arg0) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) loc(#loc2)\n\
        return %0#0, %0#1 : tensor<4xf32>, tensor<f32> loc(#loc1)\n  } loc(#loc1)\n\
        func.func private @f(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {\n\
        %0 = stablehlo.exponential %arg0 {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4xf32> loc(callsite(\"a\"(\"b.py\":1:2) at \"c\"))\n\
        %cst = stablehlo.constant dense<0.0> : tensor<f32> loc(#loc)\n\
        func.return %0, %cst : tensor<4xf32>, tensor<f32>\n  }\n} loc(#loc)\n\
        #loc = loc(unknown)\n#loc2 = loc(\"jit(f)/exp\"(#loc1))\n{-# dialect_resources: { } #-}\n";
    let printed = imported(program);
    assert!(printed.starts_with(
        "func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xi1>) -> (tensor<4xf32>, tensor<f32>) {"
    ));
    assert!(printed.contains("loc(callsite(\"a\"(\"b.py\":1:2) at \"c\"))"), "{printed}");
    let generic = "\"builtin.module\"() <{sym_name = \"m\"}> ({\n  \"func.func\"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = \"main\", sym_visibility = \"public\"}> ({\n  ^bb0(%arg0: tensor<4xf32>):\n    \"func.return\"(%arg0) : (tensor<4xf32>) -> ()\n  }) : () -> ()\n}) {mhlo.num_replicas = 1 : i32} : () -> ()\n";
    assert!(imported(generic).contains("return %arg0 : tensor<4xf32>"));
}

#[test]
fn numbered_arguments_are_named_by_their_place() {
    let program = "func.func @main(%arg1: tensor<f32>, %arg2: tensor<f32>, %x: tensor<f32>) -> tensor<f32> {\n  %0 = stablehlo.subtract %arg1, %arg2 : tensor<f32>\n  return %0 : tensor<f32>\n}\n";
    let printed = imported(program);
    assert!(printed.starts_with("func @main(%arg0: tensor<f32>, %arg1: tensor<f32>, %x: "));
    assert!(printed.contains("subtract(%arg0, %arg1)"));
}

#[test]
fn constants_in_every_spelling() {
    let ints = |text: &str, ty: &str| {
        value(ty, &format!("%r = stablehlo.constant dense<{text}> : tensor<{ty}>")).to_ints()
    };
    assert_eq!(ints("[[1, -2], [3, 4]]", "2x2xi32"), [1, -2, 3, 4]);
    assert_eq!(ints("7", "3xi8"), [7, 7, 7]);
    assert_eq!(ints("\"0x0100FEFF\"", "2xi16"), [1, -2]);
    assert_eq!(ints("\"0xFFFF\"", "3xi16"), [-1, -1, -1]);
    assert_eq!(ints("[true, false]", "2xi1"), [1, 0]);
    assert_eq!(ints("\"0x0501\"", "9xi1"), [1, 0, 1, 0, 0, 0, 0, 0, 1]);
    assert_eq!(ints("\"0xFF\"", "20xi1"), [1; 20]);
    assert!(ints("", "0xi32").is_empty());
    let floats = |text: &str, ty: &str| {
        value(ty, &format!("%r = stablehlo.constant dense<{text}> : tensor<{ty}>")).to_f32()
    };
    assert_eq!(floats("[0x7F800000, 1.5e+00, -0.000000e+00]", "3xf32"), [f32::INFINITY, 1.5, 0.0]);
    assert_eq!(floats("0xFF80", "bf16"), [f32::NEG_INFINITY]);
    assert!(floats("0x7FC00000", "f32")[0].is_nan());
    let alias = "#c = dense<[1, 2]> : tensor<2xi32>\nfunc.func @main() -> tensor<2xi32> {\n%r = \"stablehlo.constant\"() {value = #c} : () -> tensor<2xi32>\nreturn %r : tensor<2xi32>\n}\n";
    assert!(imported(alias).contains("dense<[1, 2]>"));
}

#[test]
fn doubles_are_refused_or_rounded() {
    let program = "func.func @main() -> tensor<3xf64> {\n  %0 = stablehlo.constant dense<[1.5, 0x7FF0000000000000, 0.1]> : tensor<3xf64>\n  return %0 : tensor<3xf64>\n}\n";
    assert!(wrong(program).contains("E0702"));
    let options = Options { f64_as_f32: true, ..Options::default() };
    let lowered = stablehlo::load(&Source::new("m", program), options).unwrap();
    assert_eq!(lowered.notes.len(), 1);
    assert_eq!(lowered.notes[0].severity, Severity::Warning);
    let got = eval_func(&lowered.module.funcs[0], &[], &EvalOptions::default()).unwrap();
    assert_eq!(got[0].to_f32(), [1.5, f32::INFINITY, 0.1]);
}

#[test]
fn formats_of_the_target() {
    let program = "func.func @main(%a: tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN> {\n  return %a : tensor<4xf8E4M3FN>\n}\n";
    assert!(wrong(program).contains("fp8_ocp"));
    let options = Options { fp8_ocp: true, ..Options::default() };
    let lowered = stablehlo::load(&Source::new("m", program), options).unwrap();
    assert!(lowered.module.to_string().contains("tensor<4xf8E4M3>"));
}

/// StableHLO's meaning where it differs from that of the tensor operations, by hand.
#[test]
fn meaning() {
    let ints = |ty: &str, ops: &str| value(ty, ops).to_ints();
    let constant = |name: &str, text: &str, ty: &str| {
        format!("%{name} = stablehlo.constant dense<{text}> : tensor<{ty}>\n")
    };
    let convert = |text: &str, from: &str, to: &str| {
        let ops = format!(
            "{}%r = stablehlo.convert %a : (tensor<{from}>) -> tensor<{to}>",
            constant("a", text, from)
        );
        ints(to, &ops)
    };
    // Toward zero; narrower integers wrap; truth of whatever is not zero.
    assert_eq!(convert("[1.9, -1.9, 2.5]", "3xf32", "3xi32"), [1, -1, 2]);
    assert_eq!(convert("[300, -1]", "2xi32", "2xui8"), [44, 255]);
    assert_eq!(convert("[0.5, 0.0, 0x7FC00000]", "3xf32", "3xi1"), [1, 0, 1]);
    assert_eq!(convert("[2, 0]", "2xi32", "2xi1"), [1, 0]);
    // Truth values add as `or`.
    let ops = constant("a", "[true, true, false]", "3xi1")
        + &constant("b", "[true, false, false]", "3xi1")
        + "%r = stablehlo.add %a, %b : tensor<3xi1>";
    assert_eq!(ints("3xi1", &ops), [1, 1, 0]);
    // Shifts by the width or more.
    for (op, want) in [
        ("shift_left", [0, -128]),
        ("shift_right_arithmetic", [-1, -1]),
        ("shift_right_logical", [0, 1]),
    ] {
        let ops = constant("a", "[-128, -127]", "2xi8")
            + &constant("b", "[8, 7]", "2xi8")
            + &format!("%r = stablehlo.{op} %a, %b : tensor<2xi8>");
        assert_eq!(ints("2xi8", &ops), want, "{op}");
    }
    // −NaN < −∞ < −0 < +0 < NaN in total order; weak order joins zeros and NaN.
    for (kind, want) in [("TOTALORDER", [1, 1, 1, 1]), ("WEAKORDER", [0, 1, 0, 1])] {
        let ops = constant("a", "[0xFFC00000, 0xFF800000, 0x80000000, 1.0]", "4xf32")
            + &constant("b", "[0xFF800000, 0.0, 0.0, 0x7FC00000]", "4xf32")
            + &format!(
                "%r = stablehlo.compare LT, %a, %b, {kind} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>"
            );
        assert_eq!(ints("4xi1", &ops), want, "{kind}");
    }
    // Starts of dynamic slices are clamped.
    let ops = constant("a", "[1, 2, 3, 4]", "4xi32")
        + &constant("i", "1", "i32")
        + "%j = stablehlo.add %i, %i : tensor<i32>\n%k = stablehlo.add %j, %i : tensor<i32>\n%r = stablehlo.dynamic_slice %a, %k, sizes = [2] : (tensor<4xi32>, tensor<i32>) -> tensor<2xi32>";
    assert_eq!(ints("2xi32", &ops), [3, 4]);
}

#[test]
fn every_operation_that_is_not_compiled_is_listed() {
    let program = main_of(
        "%0 = \"stablehlo.sort\"(%x) <{dimension = 1 : i64}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n  %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n  stablehlo.return %c : tensor<i1>\n}) : (tensor<2x3xf32>) -> tensor<2x3xf32>\n\
         %1 = stablehlo.add %0, %x : tensor<2x3xf32>\n\
         %2:2 = stablehlo.while(%i = %1, %j = %x) : tensor<2x3xf32>, tensor<2x3xf32> cond {\n  %t = stablehlo.constant dense<true> : tensor<i1>\n  stablehlo.return %t : tensor<i1>\n} do {\n  stablehlo.return %i, %j : tensor<2x3xf32>, tensor<2x3xf32>\n}\n\
         %3 = stablehlo.fft %x, type = FFT, length = [3] : (tensor<2x3xf32>) -> tensor<2x3xf32>\n\
         %4 = stablehlo.convolution(%x, %x) dim_numbers = [b, f]x[o, i]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>\n\
         %5 = stablehlo.frobnicate %x : tensor<2x3xf32>\n\
         %6 = stablehlo.custom_call @foo(%x) {backend_config = \"\"} : (tensor<2x3xf32>) -> tensor<2x3xf32>\n\
         %7 = stablehlo.convert %x : (tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>\n\
         %8 = \"stablehlo.if\"(%7) ({\n  stablehlo.return %x : tensor<2x3xf32>\n}, {\n  stablehlo.return %x : tensor<2x3xf32>\n}) : (tensor<i1>) -> tensor<2x3xf32>\n\
         %r = stablehlo.abs %8 : tensor<2x3xf32>",
    );
    let found = wrong(&program);
    let lines: Vec<&str> = found.lines().collect();
    let places: Vec<&str> = lines.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(places, ["2:6", "8:8", "14:6", "15:6", "16:6", "17:6", "18:29", "19:6"], "{found}");
    assert!(lines.iter().all(|line| line.contains("E0701") || line.contains("E0702")), "{found}");
}

#[test]
fn wrong_texts_are_shown_where_they_are_wrong() {
    let cases = [
        ("func.func @main(", "1:17 E0101"),
        ("func.func @main() {\n  %0 = stablehlo.constant dense<\"abc", "2:27 E0101"),
        ("func.func @main(%a: tensor<4xf32) {}", "1:21 E0101"),
        ("module {\n", "2:1 E0101"),
        ("}", "1:1 E0101"),
        ("func.func @f() { return }\nfunc.func @f() { return }", "2:11 E0203"),
        ("func.func @f(%a: tensor<4xf31>) { return }", "1:14 E0103"),
        ("func.func @f(%a: tensor<99999999999x99999999999xf32>) { return }", "1:14 E0103"),
        ("func.func @f(%a: tensor<?xf32>) { return }", "1:14 E0702"),
        ("func.func @f() { call @f() : () -> ()\n return }", "1:18 E0704"),
        ("func.func @f() { call @g() : () -> ()\n return }", "1:18 E0704"),
        ("func.func @f() -> tensor<f32> { return }", "1:11 E0207"),
        ("func.func @f() { }", "1:16 E0205"),
    ];
    let mut missed = String::new();
    for (program, want) in cases {
        let found = wrong(program);
        if !found.starts_with(want) {
            missed += &format!("{program}\n{want}\n{found}\n\n");
        }
    }
    let in_main = [
        ("%r = stablehlo.add %x, %y : tensor<2x3xf32>", "2:24 E0201"),
        ("%r = stablehlo.add %x : tensor<2x3xf32>", "2:6 E0703"),
        ("%r = stablehlo.add %x, %x : tensor<2x4xf32>", "2:20 E0306"),
        ("%r = stablehlo.abs %x#1 : tensor<2x3xf32>", "2:20 E0201"),
        ("%r = stablehlo.and %x, %x : tensor<2x3xf32>", "2:6 E0306"),
        ("%r = stablehlo.constant dense<[1.0]> : tensor<2x3xf32>", "2:32 E0108"),
        ("%r = stablehlo.constant dense<\"0x00\"> : tensor<2x3xf32>", "2:31 E0108"),
        ("%r = stablehlo.constant dense_resource<r> : tensor<2x3xf32>", "2:6 E0701"),
        (
            "%r = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>",
            "2:46 E0301",
        ),
        (
            "%r = stablehlo.transpose %x, dims = [1, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>",
            "2:6 E0309",
        ),
        ("%r = stablehlo.slice %x [0:9, 0:3] : (tensor<2x3xf32>) -> tensor<2x3xf32>", "2:6 E0314"),
        ("%r = stablehlo.iota dim = 7 : tensor<2x3xf32>", "2:6 E0309"),
        (
            "%r = stablehlo.compare XX, %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>",
            "2:6 E0703",
        ),
        ("%r = stablehlo.addd %x, %x : tensor<2x3xf32>", "2:6 E0701"),
    ];
    for (ops, want) in in_main {
        let found = wrong(&main_of(ops));
        if !found.starts_with(want) {
            missed += &format!("{ops}\n{want}\n{found}\n\n");
        }
    }
    assert!(missed.is_empty(), "{missed}");
}

#[test]
fn hostile_texts_end_soon() {
    for open in ["(", "[", "{", "<", "loc(", "{a = ", "[[", "({"] {
        let deep = open.repeat(100_000);
        wrong(&format!("func.func @main() {deep}"));
        wrong(&main_of(&format!("%r = stablehlo.add %x, {deep}")));
        wrong(&main_of(&format!("%r = \"stablehlo.add\"(%x) <{{a = {deep}")));
        wrong(&format!("module attributes {{a = {deep}"));
    }
    wrong(&main_of(&format!("%r = stablehlo.constant dense<{}", "[".repeat(100_000))));
    wrong(&main_of(&format!(
        "%r = stablehlo.constant dense<{}> : tensor<2x3xf32>",
        "[".repeat(100_000)
    )));
    // Calls that double at each level would make 2⁴⁰ operations.
    let mut program = String::from(
        "func.func private @f0(%a: tensor<f32>) -> tensor<f32> {\n  return %a : tensor<f32>\n}\n",
    );
    for level in 1..40 {
        let below = level - 1;
        program += &format!(
            "func.func private @f{level}(%a: tensor<f32>) -> tensor<f32> {{\n  %0 = call @f{below}(%a) : (tensor<f32>) -> tensor<f32>\n  %1 = call @f{below}(%0) : (tensor<f32>) -> tensor<f32>\n  return %1 : tensor<f32>\n}}\n"
        );
    }
    program += "func.func @main(%a: tensor<f32>) -> tensor<f32> {\n  %0 = call @f39(%a) : (tensor<f32>) -> tensor<f32>\n  return %0 : tensor<f32>\n}\n";
    assert!(wrong(&program).contains("E0704"));
    // One number for all elements takes no memory.
    let splat = "func.func @main(%x: tensor<1048576x1048576xf32>) -> tensor<1048576x1048576xf32> {\n  %0 = stablehlo.constant dense<1.0> : tensor<1048576x1048576xf32>\n  return %0 : tensor<1048576x1048576xf32>\n}\n";
    assert!(load(splat).is_ok());
}

#[test]
fn any_prefix_and_any_wrong_byte_is_refused_or_read() {
    let program = "module @m attributes {a = 1 : i32} {\n  func.func public @main(%arg0: tensor<4x3xf32> {a = \"b\"}) -> (tensor<4xf32> {c = \"\"}) {\n    %c = stablehlo.constant dense<[1.0, 0x7FC00000, -2.5e+00]> : tensor<3xf32>\n    %0 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>\n    %z = stablehlo.constant dense<0.0> : tensor<f32>\n    %1:2 = stablehlo.reduce(%0 init: %z), (%arg0 init: %z) across dimensions = [1] : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)\n     reducer(%a: tensor<f32>, %b: tensor<f32>) (%d: tensor<f32>, %e: tensor<f32>) {\n      %2 = stablehlo.add %a, %e : tensor<f32>\n      %3 = stablehlo.maximum %b, %d : tensor<f32>\n      stablehlo.return %2, %3 : tensor<f32>, tensor<f32>\n    }\n    return %1#1 : tensor<4xf32>\n  }\n}\n";
    imported(program);
    for end in 0..program.len() {
        let _ = load(&program[..end]);
    }
    for at in 0..program.len() {
        for byte in ["<", ">", "%", "\"", "{", "0", "é", ""] {
            let text = format!("{}{byte}{}", &program[..at], &program[at + 1..]);
            let _ = load(&text);
        }
    }
}

#[test]
fn checks_are_operations() {
    let program = "func.func @main() {\n  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>\n  check.expect_eq_const %0, dense<[1.0, 2.0]> : tensor<2xf32>\n  check.expect_almost_eq %0, %0, tolerance = 0.5 : tensor<2xf32>\n  check.expect_almost_eq_const %0, dense<1.0> : tensor<2xf32> {tolerance = 0.1 : f64}\n  check.expect_close %0, %0, max_ulp_difference = 5, min_ulp_difference = 1 : tensor<2xf32>, tensor<2xf32>\n  stablehlo.custom_call @check.expect_almost_eq(%0, %0) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()\n  stablehlo.custom_call @check.expect_close(%0, %0) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()\n  func.return\n}\n";
    let printed = imported(program);
    let checks: Vec<&str> =
        printed.lines().map(str::trim).filter(|line| line.starts_with("check.")).collect();
    assert_eq!(checks.len(), 6, "{printed}");
    assert_eq!(checks[1], "check.expect_almost_eq %0, %0 tolerance 0.5 : tensor<2xf32>");
    assert!(checks[2].ends_with("tolerance 0.1 : tensor<2xf32>"));
    assert_eq!(checks[3], "check.expect_close %0, %0 ulps 1:5 : tensor<2xf32>");
    assert!(checks[4].ends_with("tolerance 0.001 : tensor<2xf32>"));
    assert!(checks[5].ends_with("ulps 0:3 : tensor<2xf32>"));
    let source = Source::new("m.mlir", program);
    let read = Text::read(&source, Options::default()).unwrap();
    assert!(read.functions().all(|func| func.has_checks && func.args == 0));
}

#[test]
fn bodies_of_any_kind_fold_in_order() {
    // Not commutative: the last element is kept.
    let program = "func.func @main(%x: tensor<5xi32>) -> tensor<i32> {\n  %c = stablehlo.constant dense<0> : tensor<i32>\n  %0 = \"stablehlo.reduce\"(%x, %c) <{dimensions = array<i64: 0>}> ({\n  ^bb0(%a: tensor<i32>, %b: tensor<i32>):\n    %t = stablehlo.constant dense<false> : tensor<i1>\n    %1 = stablehlo.select %t, %a, %b : tensor<i1>, tensor<i32>\n    stablehlo.return %1 : tensor<i32>\n  }) : (tensor<5xi32>, tensor<i32>) -> tensor<i32>\n  return %0 : tensor<i32>\n}\n";
    imported(program);
    let lowered = load(program).unwrap();
    let ty = TensorType::new([5], partita_ir::ElemType::I32);
    let input = TensorData::from_ints(ty, &[1, 2, 3, 4, 5]).unwrap();
    let got = eval_func(&lowered.module.funcs[0], &[input], &EvalOptions::default()).unwrap();
    assert_eq!(got[0].to_ints(), [5]);
}

#[test]
fn the_table_is_known_to_the_document() {
    let document = include_str!("../../docs/stablehlo.md");
    for (name, _) in stablehlo::operations() {
        let plain = name.trim_start_matches("chlo.broadcast_");
        assert!(
            document.contains(&format!("`{name}`")) || document.contains(&format!("`{plain}`")),
            "`{name}` is missing"
        );
    }
}
