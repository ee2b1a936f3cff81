//! Conventions on the command line: a sweep names exactly those that change a result.

#[path = "support/command.rs"]
mod command;

use command::{Dir, arg, fails, floats, npy, succeeds};
use serde_json::Value;

/// What a sweep of a program says, by effect; each as `NAME=ANSWER`.
fn swept(args: &[&str]) -> (Vec<Value>, Vec<String>) {
    let text = succeeds(&[args, &["--sweep-conventions", "--format", "json"]].concat());
    let Value::Array(records) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
    let name = |record: &Value| {
        let part = |key: &str| record[key].as_str().unwrap().to_owned();
        format!("{}={}", part("convention"), part("answer"))
    };
    let changing: Vec<&Value> =
        records.iter().filter(|record| record["effect"] == "changes").collect();
    let same = records.iter().filter(|record| record["effect"] == "none").map(name).collect();
    let changing = changing.into_iter().cloned().map(|mut record| {
        record["name"] = name(&record).into();
        record
    });
    (changing.collect(), same)
}

fn names(records: &[Value]) -> Vec<&str> {
    records.iter().map(|record| record["name"].as_str().unwrap()).collect()
}

/// 2^24 + 1 is a tie and goes back, 1 + 1 + 2^24 is exact. Pairs go from the left as well.
#[test]
fn a_sum_hangs_on_its_order() {
    let dir = Dir::new("sweep-sum");
    let program = dir.arg(
        "sum.pta",
        "func @main(%x: tensor<4x3xf32>) -> tensor<4xf32> {
  %s = tensor.reduce add(%x) dims [1] : tensor<4xf32>
  return %s : tensor<4xf32>
}
",
    );
    let rows = [16_777_216.0, 1.0, 1.0].into_iter().cycle().take(12);
    let x = dir.file("x.npy", npy("<f4", "(4, 3)", &floats(rows)));
    let args = ["run", &program, "--input", &format!("x={}", arg(&x))];
    let (changing, same) = swept(&args);
    assert_eq!(names(&changing), ["reduce-order=descending"]);
    let output = &changing[0]["outputs"][0];
    assert_eq!(
        (&output["differ"], &output["elements"], &output["first"]),
        (&4.into(), &4.into(), &0.into())
    );
    assert_eq!(
        (&output["assumed"], &output["other"]),
        (&"16777216.0".into(), &"16777218.0".into())
    );
    assert_eq!(same, ["reduce-order=pairwise", "nan-bits=canonical", "nan-bits=negative"]);
    // The other way round, when the order is chosen.
    let chosen = [&args[..], &["--convention", "reduce-order=descending"]].concat();
    let text = succeeds(&[&chosen[..], &["--sweep-conventions", "-q"]].concat());
    assert!(
        text.starts_with("conventions: 1 of 3 that words can notice change a result\n"),
        "{text}"
    );
    let line = "reduce-order=pairwise (OQ-43, 1 word): 4 of 4 elements of out0 differ; \
                element 0 is 16777216.0, not 16777218.0";
    assert!(text.contains(line), "{text}");
}

#[test]
fn a_cast_hangs_on_what_becomes_of_nan() {
    let dir = Dir::new("sweep-cast");
    let program = dir.arg(
        "cast.pta",
        "func @main(%x: tensor<2x3xf32>) -> tensor<2x3xi8> {
  %q = tensor.cast %x : tensor<2x3xi8>
  return %q : tensor<2x3xi8>
}
",
    );
    let x =
        dir.file("x.npy", npy("<f4", "(2, 3)", &floats([1.5, 2.5, -3.0, 0.0, f32::NAN, 300.0])));
    let (changing, same) = swept(&["run", &program, "--input", &format!("x={}", arg(&x))]);
    assert_eq!(names(&changing), ["nan-to-integer=smallest", "nan-to-integer=largest"]);
    for (record, other) in changing.iter().zip(["-128", "127"]) {
        let output = &record["outputs"][0];
        assert_eq!((&output["differ"], &output["first"]), (&1.into(), &4.into()));
        assert_eq!((&output["assumed"], &output["other"]), (&"0".into(), &other.into()));
    }
    assert!(same.is_empty(), "{same:?}");
}

#[test]
fn questions_are_listed_and_wrong_answers_refused() {
    let all = succeeds(&["isa", "conventions"]);
    assert!(all.contains("overlap (OQ-9)") && all.contains("  streaming "), "{all}");
    let both = succeeds(&["isa", "oq-9"]);
    assert!(both.contains("overlap (OQ-9)") && both.contains("repeated-writes (OQ-9)"), "{both}");
    fails(&["run", "x.pta", "--convention", "overlap=never"], 2, "use read-first, streaming");
    fails(&["exec", "x.img", "--convention", "lap=never"], 2, "partita isa conventions");
    fails(&["run", "x.pta", "--format", "json"], 2, "--sweep-conventions");
}
