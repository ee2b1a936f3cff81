//! The legality vectors: words with a verdict and the rules they break.

use std::path::PathBuf;

use partita_isa::{Engine, Target, Word, check};
use serde::Deserialize;

#[derive(Deserialize)]
struct Vector {
    id: String,
    target: String,
    engine: String,
    words: Vec<String>,
    legal: bool,
    #[serde(default)]
    rules: Vec<String>,
    #[serde(default)]
    rules_not: Vec<String>,
}

/// What the checker says differently, if anything.
fn disagreement(vector: &Vector) -> Option<String> {
    let target: Target = vector.target.parse().expect("target");
    let engine: Engine = vector.engine.parse().expect("engine");
    let mut reported = Vec::new();
    for word in &vector.words {
        let word: Word = word.parse().expect("hex word");
        let broken = check(&word, &target, Some(engine));
        reported.extend(broken.into_iter().filter(|violation| violation.is_error()));
    }
    let ids: Vec<&str> = reported.iter().map(|violation| violation.rule.id).collect();
    let wrong_verdict = ids.is_empty() != vector.legal;
    let missing: Vec<_> =
        vector.rules.iter().filter(|rule| !ids.contains(&rule.as_str())).collect();
    let unwanted: Vec<_> =
        vector.rules_not.iter().filter(|rule| ids.contains(&rule.as_str())).collect();
    (wrong_verdict || !missing.is_empty() || !unwanted.is_empty()).then(|| {
        format!(
            "{}: legal {} expected {}, reported {ids:?}, missing {missing:?}, unwanted {unwanted:?}",
            vector.id,
            ids.is_empty(),
            vector.legal
        )
    })
}

/// Every vector of a file agrees. Skipped when the vectors are not beside the repository.
fn run(file: &str) {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance").join(file);
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: {} is absent", path.display());
        return;
    };
    let vectors: Vec<Vector> =
        text.lines().map(|line| serde_json::from_str(line).expect("vector")).collect();
    assert!(!vectors.is_empty());
    let failed: Vec<String> = vectors.iter().filter_map(disagreement).collect();
    assert!(
        failed.is_empty(),
        "{} of {} vectors disagree:\n{}",
        failed.len(),
        vectors.len(),
        failed.iter().take(40).map(String::as_str).collect::<Vec<_>>().join("\n")
    );
}

#[test]
fn legality_vectors() {
    run("legality.jsonl");
}

/// The vectors that are executed are judged, too.
#[test]
fn execution_vectors_have_the_stated_verdict() {
    run("exec.jsonl");
}
