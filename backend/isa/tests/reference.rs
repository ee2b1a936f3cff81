//! The pages of the documentation are those that the tables give.

use std::path::Path;

use partita_isa::reference::pages;

#[test]
fn pages_are_up_to_date() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/isa");
    let pages = pages();
    for page in &pages {
        let found = std::fs::read_to_string(directory.join(page.name)).unwrap_or_default();
        let hint = "is stale: run `cargo run -- isa --docs docs/isa`";
        assert!(found == page.text, "docs/isa/{} {hint}", page.name);
    }
    let files = std::fs::read_dir(&directory).expect("docs/isa").count();
    assert_eq!(files, pages.len(), "docs/isa holds other files");
}
