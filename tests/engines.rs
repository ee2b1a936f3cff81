//! Programs by engines: the simulated timeline of every example, and what runs in its order; traces of it; what goes
//! wrong.

mod support;

use std::fs;

use partita::backend::cost::{Profile, ProgramCost};
use partita::backend::timeline::simulate;
use partita::interp::exec::{Options, run, run_in_order};
use partita::ir::eval::random::random_inputs;
use serde_json::Value;

use support::command::{Dir, call, fails, succeeds};
use support::{ALL_TARGETS, compile, examples, target};

#[test]
fn examples_run_by_engines_to_the_same_results() {
    for (name, func) in examples() {
        let inputs = random_inputs(&func, 1).expect("inputs");
        for machine in ALL_TARGETS {
            let program = compile(&func, &target(machine)).expect("compiles").program;
            let profile = Profile::of(program.target.generation);
            let timeline = simulate(&program, profile).expect("no deadlock");
            let options = Options::default();
            let want = run(&program, &inputs, &options).expect("runs");
            let got = run_in_order(&program, &inputs, &options, &timeline.order()).expect("runs");
            assert_eq!(got, want, "{name}, {machine}");

            let cost = ProgramCost::new(&program, profile);
            let makespan = timeline.makespan_ps as f64 / 1e3;
            // A picosecond for each rounding.
            let slack = timeline.items.len() as f64 / 1e3;
            assert!(makespan + slack >= cost.bound_ns, "{name}, {machine}: {makespan} {cost:?}");
            let path = timeline.critical_path();
            let shares: u64 = timeline.shares(&path).values().sum();
            assert_eq!(shares, timeline.makespan_ps, "{name}, {machine}");
            for item in &timeline.items {
                assert!(item.ready_ps <= item.granted_ps && item.granted_ps <= item.start_ps);
                assert!(item.start_ps <= item.moving_ps && item.moving_ps <= item.end_ps);
            }
        }
    }
}

fn example(name: &str) -> String {
    format!("{}/examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Slices of a track follow one another; arrows come in pairs, forward in time.
#[test]
fn traces_are_in_order() {
    for target in ALL_TARGETS {
        let trace = succeeds(&["trace", &example("softmax.pta"), "--target", target]);
        let trace: Value = serde_json::from_str(&trace).expect("JSON");
        let events = trace["traceEvents"].as_array().expect("events");
        let of = |phase: &'static str| events.iter().filter(move |event| event["ph"] == phase);
        let tracks = of("M").filter(|event| event["name"] == "thread_name").count();
        assert!(tracks >= 3, "{target}");
        let mut slices = 0;
        for track in 1..=tracks {
            let mut end = 0.0;
            for slice in of("X").filter(|slice| slice["tid"] == track) {
                let start = slice["ts"].as_f64().unwrap();
                // Times are decimals of six places; a sum of two is only as exact as a double.
                assert!(start >= end - 1e-7, "{slice}");
                end = start + slice["dur"].as_f64().unwrap();
                assert!(slice["args"]["text"].as_str().is_some_and(|text| !text.is_empty()));
                slices += 1;
            }
        }
        assert_eq!(slices, of("X").count());
        assert!(of("X").any(|slice| slice["args"]["line"].is_u64()), "{target}");
        assert!(of("s").count() > 0 && of("s").count() == of("f").count());
        for arrow in of("s") {
            let end = of("f").find(|end| end["id"] == arrow["id"]).expect("an end");
            assert!(arrow["ts"].as_f64() <= end["ts"].as_f64(), "{arrow} {end}");
        }
        assert_eq!(
            of("C").next_back().map(|event| event["args"]["descriptors"].clone()),
            Some(0.into())
        );
    }
}

#[test]
fn figures_of_ones_own_change_every_price() {
    let dir = Dir::new("profile");
    let (file, inputs) = (example("rmsnorm.pta"), example("rmsnorm.npz"));
    let slow = dir.arg("slow.json", r#"{"engines": {"dve": {"clock_ghz": 0.096}}}"#);
    let json = |more: &[&str]| -> Value {
        let args = [&["cost", &file, "--format", "json"], more].concat();
        serde_json::from_str(&succeeds(&args)).expect("JSON")
    };
    let (plain, slowed) = (json(&[]), json(&["--cost-profile", &slow]));
    let busy = |cost: &Value| {
        let engines = cost["engines"].as_array().unwrap();
        engines
            .iter()
            .find(|engine| engine["engine"] == "dve")
            .and_then(|dve| dve["busy_ns"].as_f64())
    };
    assert!((busy(&slowed).unwrap() / busy(&plain).unwrap() - 10.0).abs() < 1e-9);
    let makespan = |cost: &Value| cost["timeline"]["makespan_ns"].as_f64().unwrap();
    assert!(makespan(&slowed) > 4.0 * makespan(&plain));
    // What a file assumes is assumed.
    let names = |cost: &Value| -> Vec<String> {
        let figures = cost["assumed"].as_array().unwrap();
        figures.iter().map(|figure| figure["figure"].as_str().unwrap().to_owned()).collect()
    };
    assert!(names(&slowed).contains(&"engines.dve.clock_ghz".to_owned()));
    assert!(!names(&plain).contains(&"engines.dve.clock_ghz".to_owned()));
    let run = |more: &[&str]| succeeds(&[&["run", &file, "--inputs", &inputs], more].concat());
    assert_ne!(run(&[]), run(&["--cost-profile", &slow]));
    assert_ne!(run(&["--engines"]), run(&["--engines", "--cost-profile", &slow]));

    let bad = dir.arg("bad.json", r#"{"engines": {"dve": {"clock_ghz": 0}}}"#);
    for command in ["cost", "trace"] {
        fails(&[command, &file, "--cost-profile", &bad], 1, "E0801");
        fails(&[command, &file, "--cost-profile", "/nonexistent"], 1, "/nonexistent");
    }
    fails(&["run", &file, "--random", "1", "--cost-profile", &bad], 1, "engines.dve.clock_ghz");
    let binary = dir.arg("binary.json", [0xff, 0xfe]);
    fails(&["cost", &file, "--cost-profile", &binary], 1, "is not text");
}

/// Two words that wait for each other run neither by engines nor in program order, and have no makespan.
#[test]
fn a_deadlock_is_a_diagnostic_with_its_chain() {
    let dir = Dir::new("deadlock");
    let copy = "copy in_dtype=FP32 out_dtype=FP32 src_mem_pattern=sbuf[p0, 0x0][1:8] dst_mem_pattern=sbuf[p0, 0x100][1:8]";
    let text = format!(
        ".target cayman\n.io hbm 0x1000\n.engine dve\n{copy} wait sem1 >= 1 inc.done sem2\n.engine pool\n{copy} wait sem2 >= 1 inc.done sem1\n"
    );
    let file = dir.arg("dead.asm", text);
    fails(&["exec", &file, "--engines"], 1, "E0604");
    fails(&["exec", &file, "--engines"], 1, "pool[0] for dve[0] for pool[0]");
    fails(&["trace", &file], 1, "E0604");
    let cost = succeeds(&["cost", &file]);
    assert!(cost.contains("no makespan: 2 items wait for ever"), "{cost}");
}

#[test]
fn images_cut_short_are_refused_or_priced() {
    let dir = Dir::new("cut");
    let image = dir.arg("program.img", "");
    succeeds(&["compile", &example("cumsum_rows.pta"), "-o", &image]);
    succeeds(&["trace", &image]);
    succeeds(&["cost", &image, "--items"]);
    let bytes = fs::read(&image).unwrap();
    for part in 1..16 {
        let cut = dir.arg("cut.img", &bytes[..bytes.len() * part / 16]);
        call(&["cost", &cut]);
        call(&["trace", &cut]);
        call(&["exec", &cut, "--random", "1", "--engines"]);
    }
}
