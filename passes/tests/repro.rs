//! A pass that goes wrong leaves a text that shows it again.

use partita_ir::{Module, Source, text};
use partita_isa::Target;
use partita_passes::pass::Dialect;
use partita_passes::repro::{Configuration, Failure, run_guarded};
use partita_passes::{Context, PassInfo, PassRun, Pipeline};

static PANICS: PassInfo = PassInfo {
    name: "panics",
    summary: "panics",
    requires: Dialect::Tensor,
    gives: Dialect::Tensor,
    settings: &[],
    run: |_, _| panic!("planted"),
};

static BREAKS: PassInfo = PassInfo {
    name: "breaks",
    summary: "returns what is not there",
    requires: Dialect::Tensor,
    gives: Dialect::Tensor,
    settings: &[],
    run: |func, _| {
        let mut func = func.clone();
        func.body.remove(0);
        Ok(func)
    },
};

const PROGRAM: &str = "\
func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = tensor.elementwise add(%x, 1.0) : tensor<4xf32>
  %b = tensor.elementwise mult(%a, 1.0) : tensor<4xf32>
  return %b : tensor<4xf32>
}
";

fn module() -> Module {
    text::load(&Source::new("f.pta", PROGRAM)).expect("the program is right")
}

/// The default pipeline's first pass, then the planted one.
fn crash(planted: &'static PassInfo) -> Box<partita_passes::repro::Crash> {
    let first = PassInfo::find("canonicalize").expect("there is one");
    let pipeline = Pipeline { passes: vec![PassRun::from(first), PassRun::from(planted)] };
    let mut cx = Context::new(Target::default());
    match run_guarded(&pipeline, &module(), &mut cx, true, &mut ()) {
        Err(Failure::Crash(crash)) => crash,
        other => panic!("no crash: {other:?}"),
    }
}

#[test]
fn a_panic_names_the_pass_and_keeps_what_it_was_given() {
    let crash = crash(&PANICS);
    assert_eq!(crash.run.to_string(), "panics");
    assert_eq!(crash.why, "panicked: planted");
    // The first pass has dropped the multiplication by one.
    let text = crash.module.to_string();
    assert!(text.contains("add(%x, 1.0)") && !text.contains("mult"), "{text}");
}

#[test]
fn what_the_verifier_refuses_is_a_crash_too() {
    let crash = crash(&BREAKS);
    assert_eq!(crash.run.to_string(), "breaks");
    assert!(!crash.why.is_empty());
}

#[test]
fn a_reproducer_reads_back() {
    let crash = crash(&PANICS);
    let text = crash.configuration.text(&crash.module, "two\nlines");
    assert_eq!(Configuration::read(&text), Ok(crash.configuration.clone()));
    let again = text::load(&Source::new("repro.pta", text)).expect("comments do not disturb");
    assert_eq!(again.to_string(), crash.module.to_string());
}

#[test]
fn a_text_without_a_configuration_is_refused() {
    assert!(Configuration::read(PROGRAM).is_err());
    assert!(Configuration::read("// configuration: {}\n").is_err());
    assert!(Configuration::read("// configuration: {\"passes\": 3").is_err());
}
