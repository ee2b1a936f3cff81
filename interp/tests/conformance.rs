//! The execution vectors that are kept beside the repository, where they are present: on every instruction set of this
//! processor, on one thread and on two, and element by element.

use std::fs;
use std::path::Path;

use partita_interp::conform::run_file_with;
use partita_interp::{Limits, Simd};

#[test]
fn execution_vectors_pass() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/conformance/exec.jsonl");
    let Ok(vectors) = fs::read(&path) else {
        println!("skipped: {} is absent", path.display());
        return;
    };
    passes(&vectors, Limits { literal: true, ..Limits::default() }, "element by element");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for simd in Simd::available() {
        for parallel in [false, true] {
            let limits = Limits { simd, parallel, parallel_elements: 0, ..Limits::default() };
            let way = format!("{simd}, threads: {parallel}");
            pool.install(|| passes(&vectors, limits, &way));
        }
    }
}

fn passes(vectors: &[u8], limits: Limits, way: &str) {
    let summary = run_file_with(vectors, limits).unwrap();
    let failures: Vec<String> = summary
        .failures
        .iter()
        .map(|failure| format!("line {} {}: {}", failure.line, failure.id, failure.reason))
        .collect();
    assert!(failures.is_empty(), "{way}\n{}", failures.join("\n"));
    assert!(summary.passed > 0);
}
