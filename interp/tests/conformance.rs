//! The execution vectors that are kept beside the repository, where they are present.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use partita_interp::conform::run_file;

#[test]
fn execution_vectors_pass() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/conformance/exec.jsonl");
    let Ok(file) = File::open(&path) else {
        println!("skipped: {} is absent", path.display());
        return;
    };
    let summary = run_file(BufReader::new(file)).unwrap();
    let failures: Vec<String> = summary
        .failures
        .iter()
        .map(|failure| format!("line {} {}: {}", failure.line, failure.id, failure.reason))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(summary.passed > 0);
}
