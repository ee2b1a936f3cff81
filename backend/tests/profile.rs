//! Figures of one's own: what a file may say, and what it may not.

use partita_backend::cost::{Profile, Tag};
use partita_isa::{CostClass, Engine, Generation};

fn base() -> &'static Profile {
    Profile::of(Generation::Cayman)
}

#[test]
fn what_a_file_says_changes_and_the_rest_stays() {
    let text = r#"{
        "name": "mine",
        "dma": {"latency_ns": 900, "gigabytes_per_second": {"value": 400, "tag": "D"}},
        "engines": {
            "dve": {"clock_ghz": {"value": 1.5}, "classes": {"reduce": 3, "scan": {"elements": 2, "extra": []}}},
            "act": {"classes": {"select": {"elements": 1, "tag": "A"}}}
        },
        "long_step": {"above_bytes": {"value": 8, "tag": "A"}, "factor": {"value": 3, "tag": "A"}}
    }"#;
    let profile = base().with_changes(text).unwrap();
    assert_eq!(profile.name, "mine");
    // Who gives no tag assumes.
    assert_eq!((profile.dma.latency_ns.value, profile.dma.latency_ns.tag), (900.0, Tag::A));
    assert_eq!(profile.dma.gigabytes_per_second.tag, Tag::D);
    let dve = &profile.engines[&Engine::Dve];
    assert_eq!((dve.clock_ghz.value, dve.clock_ghz.tag), (1.5, Tag::A));
    let reduce = &dve.classes[&CostClass::Reduce];
    assert_eq!((reduce.elements, reduce.tag, reduce.modes.len()), (3.0, Tag::A, 1));
    assert_eq!(dve.classes[&CostClass::Scan].elements, 2.0);
    assert_eq!(profile.engines[&Engine::Act].classes[&CostClass::Select].elements, 1.0);
    assert_eq!(profile.long_step.as_ref().unwrap().factor.value, 3.0);
    assert_eq!(profile.dma.in_flight.value, base().dma.in_flight.value);
    assert_eq!(profile.engines[&Engine::Pool].clock_ghz.value, 1.2);
    // What is optional can be taken away.
    let sunda = Profile::of(Generation::Sunda);
    let free = sunda.with_changes(r#"{"exclusive_sbuf": null, "long_step": null}"#).unwrap();
    assert!(sunda.exclusive_sbuf.is_some() && free.exclusive_sbuf.is_none());
    assert!(base().with_changes("{}").unwrap().assumed() == base().assumed());
}

#[test]
fn what_is_no_profile_is_refused_with_its_place() {
    for (text, part) in [
        ("", "is no JSON"),
        ("{", "is no JSON"),
        ("[]", "is a list, an object is wanted"),
        ("7", "is a number, an object is wanted"),
        (r#"{"dma": 3}"#, "`dma` is a number, an object is wanted"),
        (r#"{"speed": 3}"#, "`speed` is unknown; known here: "),
        (r#"{"dma": {"latency": 3}}"#, "`dma.latency` is unknown"),
        (r#"{"targets": ["sunda"]}"#, "`targets` cannot be changed"),
        (r#"{"dma": {"latency_ns": "fast"}}"#, "`dma.latency_ns` is a string, an object is wanted"),
        (r#"{"dma": {"latency_ns": {"value": "fast"}}}"#, "`dma.latency_ns.value` is a string"),
        (r#"{"dma": {"latency_ns": {"value": null}}}"#, "`dma.latency_ns.value` is null"),
        (r#"{"dma": {"latency_ns": -1}}"#, "`dma.latency_ns` is -1; allowed: 0 to "),
        (r#"{"dma": {"latency_ns": 1e300}}"#, "`dma.latency_ns` is 1e+300"),
        (r#"{"dma": {"latency_ns": 1e999}}"#, "is no JSON"),
        (r#"{"dma": {"latency_ns": {"value": 1, "tag": "B"}}}"#, "`B`"),
        (r#"{"dma": {"in_flight": 0}}"#, "`dma.in_flight` is 0; allowed: 1 to 4096"),
        (r#"{"dma": {"in_flight": 2.5}}"#, "a whole number is wanted"),
        (r#"{"dma": {"transpose_rate": 1.5}}"#, "allowed: 0.001 to 1"),
        (r#"{"dma": {"gigabytes_per_second": 0}}"#, "`dma.gigabytes_per_second` is 0"),
        (r#"{"shared_bus": 0.5}"#, "`shared_bus` is 0.5; allowed: 1 to 1000"),
        (r#"{"engines": {"dve": {"clock_ghz": 0}}}"#, "`engines.dve.clock_ghz` is 0"),
        (r#"{"engines": {"warp": {}}}"#, "missing field"),
        (r#"{"engines": {"dve": {"classes": {"bogus": {"elements": 1, "tag": "A"}}}}}"#, "bogus"),
        (r#"{"engines": {"dve": {"classes": {"reduce": {"elements": -1}}}}}"#, "reduce` is -1"),
        (
            r#"{"engines": {"dve": {"classes": {"reduce": {"modes": [{"when": {"dtypes": "zz"}, "elements": 1, "tag": "A"}]}}}}}"#,
            "`zz`",
        ),
        (
            r#"{"engines": {"dve": {"classes": {"reduce": {"modes": [{"when": {"moon": 1}, "elements": 1, "tag": "A"}]}}}}}"#,
            "moon",
        ),
        (r#"{"exclusive_sbuf": {"engines": ["dve", "pool"], "tag": "D", "x": 1}}"#, "`x`"),
        (r#"{"dtype_sets": {"half": ["FP99"]}}"#, "FP99"),
    ] {
        let error = base().with_changes(text).expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
    let deep = "[".repeat(100_000);
    assert!(base().with_changes(&deep).is_err());
}

#[test]
fn each_assumed_figure_can_be_raised() {
    for generation in Generation::ALL {
        let profile = Profile::of(generation);
        let assumed = profile.assumed();
        assert!(assumed.iter().any(|figure| figure.path == "semaphore_cycles"));
        assert!(assumed.iter().all(|figure| figure.path != "dma.latency_ns"), "documented");
        for figure in assumed.into_iter().filter(|figure| figure.value != 0.0) {
            let raised = profile.with_tenth_more(&figure).expect("in range");
            let now = raised.assumed().into_iter().find(|other| other.path == figure.path);
            assert!(now.is_some_and(|now| now.value > figure.value), "{}", figure.path);
        }
    }
}
