//! What `docs/lowering-quality.md` says of CAYMAN stays true: fusion pays, schedules come near their bounds, and where
//! they do not, somebody has written down why.

#[allow(dead_code)]
#[path = "../examples/lowering_quality/by_hand.rs"]
mod by_hand;
#[allow(dead_code)]
#[path = "../examples/lowering_quality/measure.rs"]
mod measure;

use std::path::{Path, PathBuf};

use measure::{Measured, TARGETS, geometric_mean};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/kernels")
}

#[test]
fn kernels_on_cayman() {
    let by_hand = by_hand::read(&folder().join("by_hand.json")).expect("what was written by hand");
    let kernels = measure::kernels(&folder()).expect("kernels");
    let rows: Vec<Measured> = kernels
        .iter()
        .map(|kernel| Measured::new(kernel, TARGETS[0]).unwrap_or_else(|error| panic!("{error}")))
        .collect();
    let near = rows.iter().filter(|row| row.egg.above_bound() <= 1.3).count();
    assert!(near >= 30, "{near} kernels are within 1.3 of their bounds");
    let work = geometric_mean(rows.iter().map(|row| row.egg.work_ns / row.none.work_ns));
    assert!(work <= 0.85, "{work:.3} of the work without fusion");
    for row in &rows {
        let time =
            [&row.egg, &row.greedy, &row.none].map(|figures| figures.work_ns + figures.makespan_ns);
        assert!(time.is_sorted_by(|less, more| *less <= more + 0.5), "{}: {time:?}", row.kernel);
        let hand =
            by_hand.get(&row.kernel).unwrap_or_else(|| panic!("{}: not by hand", row.kernel));
        assert!(hand.bound_ns().expect("engines") > 0.0);
        let explained = row.egg.above_bound() <= 1.5 || !hand.gap.is_empty();
        assert!(
            explained,
            "{}: {:.2} of its bound, without a reason",
            row.kernel,
            row.egg.above_bound()
        );
    }
    for name in by_hand.keys() {
        assert!(rows.iter().any(|row| row.kernel == *name), "{name} is no kernel");
    }
}
