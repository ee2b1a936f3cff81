//! A planted miscompilation is found down to its rewrite and shrunk to what shows it.

use partita_ir::eval::random::random_inputs;
use partita_ir::eval::{EvalOptions, Fp8Options, Tolerance, compare_tol, eval_func};
use partita_ir::{ElementwiseOp, Func, Module, OpKind, Source, TensorOp, text};
use partita_isa::Target;
use partita_passes::bisect::{Found, Judgement, bisect};
use partita_passes::pass::Dialect;
use partita_passes::reduce::{Size, reduce};
use partita_passes::{Context, PassInfo, Pipeline};

/// Rewrites `x * 2` to `x + x`, which is right, and `x - y` to `y - x`, which is not.
static PLANTED: PassInfo = PassInfo {
    name: "planted",
    summary: "one right rule and one wrong one",
    requires: Dialect::Tensor,
    gives: Dialect::Tensor,
    settings: &[],
    run: |func, cx| {
        let mut func = func.clone();
        for id in func.body.clone() {
            if cx.fuel.is_empty() {
                break;
            }
            let name = func.ops[id].result().map(|value| func.values[value].name.to_string());
            let Some(name) = name else { continue };
            let op = &mut func.ops[id];
            match op.kind {
                OpKind::Tensor(TensorOp::Elementwise(ElementwiseOp::Subtract)) => {
                    op.operands.swap(0, 1);
                    cx.fuel.spend("swap-subtract", &name);
                }
                OpKind::Tensor(TensorOp::Elementwise(ElementwiseOp::Mult))
                    if op.operands[1].literal().is_some() =>
                {
                    op.kind = OpKind::Tensor(TensorOp::Elementwise(ElementwiseOp::Add));
                    op.operands[1] = op.operands[0];
                    cx.fuel.spend("double-by-adding", &name);
                }
                _ => {}
            }
        }
        Ok(func)
    },
};

const PROGRAM: &str = "\
func @f(%x: tensor<6x10xf32>, %y: tensor<6x10xf32>, %z: tensor<10xf32>) -> (tensor<6x10xf32>, tensor<10x6xf32>) {
  %a = tensor.elementwise mult(%x, 2.0) : tensor<6x10xf32>
  %b = tensor.elementwise max(%a, %y) : tensor<6x10xf32>
  %c = tensor.elementwise mult(%b, 2.0) : tensor<6x10xf32>
  %d = tensor.elementwise add(%c, %z) : tensor<6x10xf32>
  %e = tensor.elementwise subtract(%d, %a) : tensor<6x10xf32>
  %f = tensor.elementwise mult(%e, 2.0) : tensor<6x10xf32>
  %g = tensor.elementwise min(%f, %y) : tensor<6x10xf32>
  %h = tensor.transpose %g perm [1, 0] : tensor<10x6xf32>
  %i = tensor.elementwise add(%g, %b) : tensor<6x10xf32>
  return %i, %h : tensor<6x10xf32>, tensor<10x6xf32>
}
";

fn module() -> Module {
    text::load(&Source::new("f.pta", PROGRAM)).expect("the program is right")
}

fn pipeline() -> Pipeline {
    let mut pipeline: Pipeline = "canonicalize,canonicalize".parse().expect("passes");
    pipeline.passes[1] = (&PLANTED).into();
    pipeline
}

/// The first result that differs between a function and what passes made of it.
fn difference(before: &Func, after: &Func) -> Option<String> {
    let inputs = random_inputs(before, 5).ok()?;
    let options = EvalOptions::default();
    let (want, got) =
        (eval_func(before, &inputs, &options).ok()?, eval_func(after, &inputs, &options).ok()?);
    want.iter().zip(&got).find_map(|(want, got)| {
        let found = compare_tol(got, want, Tolerance::Exact, Fp8Options::default()).ok()?;
        (!found.is_match()).then(|| found.to_string())
    })
}

fn search(module: &Module) -> Found {
    let reference = module.funcs[0].clone();
    bisect(
        &pipeline(),
        module,
        &Context::new(Target::default()),
        &mut |module, _| match difference(&reference, &module.funcs[0]) {
            Some(text) => Judgement::Differs(text),
            None => Judgement::Same,
        },
    )
}

#[test]
fn the_pass_the_rewrite_and_its_place_are_named() {
    let Found::Culprit(culprit) = search(&module()) else { panic!("nothing found") };
    assert_eq!((culprit.index, culprit.run.pass.name), (1, "planted"));
    let (number, rewrite) = culprit.rewrite.expect("a rewrite");
    // Two right ones come before it.
    assert_eq!((number, rewrite.rule, rewrite.value.as_str()), (3, "swap-subtract", "e"));
    // Around this one rewrite nothing else changes.
    let texts = (culprit.before.to_string(), culprit.after.to_string());
    let changed: Vec<(&str, &str)> =
        texts.0.lines().zip(texts.1.lines()).filter(|(before, after)| before != after).collect();
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert!(changed[0].0.contains("subtract(%d, %a)") && changed[0].1.contains("subtract(%a, %d)"));
    assert!(!culprit.difference.is_empty());
}

#[test]
fn right_passes_are_not_blamed() {
    let module = module();
    let reference = module.funcs[0].clone();
    let only_right: Pipeline = "canonicalize,fuse,canonicalize".parse().expect("passes");
    let found = bisect(&only_right, &module, &Context::new(Target::default()), &mut |module, _| {
        match difference(&reference, &module.funcs[0]) {
            Some(text) => Judgement::Differs(text),
            None => Judgement::Same,
        }
    });
    assert!(matches!(found, Found::Nothing), "{found:?}");
}

#[test]
fn the_program_shrinks_to_what_shows_the_fault() {
    let module = module();
    let mut steps = Vec::new();
    let small = reduce(
        &module,
        "f",
        10_000,
        &mut |candidate| matches!(search(candidate), Found::Culprit(_)),
        &mut |size| steps.push(size),
    );
    assert!(steps.windows(2).all(|pair| pair[1] < pair[0]), "{steps:?}");
    let size = Size::of(&small);
    assert!(size.operations <= 5, "{small}");
    // In fact one subtraction of single elements is all that it takes.
    let text = small.to_string();
    assert_eq!((size.operations, size.elements), (1, 3), "{text}");
    assert!(text.contains("subtract"), "{text}");
    // It is a program.
    text::load(&Source::new("small.pta", text)).expect("reads back");
}

/// Whatever the predicate, the result is a valid program for which it holds.
#[test]
fn the_predicate_holds_of_the_result() {
    let has = |module: &Module, part: &str| module.to_string().contains(part);
    for part in ["transpose", "tensor.elementwise max", "%z", "10x6"] {
        let small = reduce(&module(), "f", 10_000, &mut |module| has(module, part), &mut |_| {});
        assert!(has(&small, part), "{part}: {small}");
        assert!(Size::of(&small).operations <= 1, "{part}: {small}");
        text::load(&Source::new("small.pta", small.to_string())).expect("reads back");
    }
    // A limit on tries is kept to.
    let mut asked = 0;
    reduce(
        &module(),
        "f",
        7,
        &mut |_| {
            asked += 1;
            false
        },
        &mut |_| {},
    );
    assert_eq!(asked, 7);
}
