//! Writes `docs/lowering-quality.md`: what each program of `examples/kernels` becomes on each target without fusion,
//! with greedy fusion and with e-graphs, beside the bound of its own words and beside code written by hand.
//!
//! ```text
//! cargo run --release --example lowering_quality            # writes the page
//! cargo run --release --example lowering_quality -- softmax # prints the rows of kernels with this in their names
//! ```

mod by_hand;
mod measure;
mod page;

use std::error::Error;
use std::path::Path;

use measure::{Measured, TARGETS};

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("examples/kernels");
    let part = std::env::args().nth(1);
    let mut kernels = measure::kernels(&folder)?;
    if let Some(part) = &part {
        kernels.retain(|kernel| kernel.func.name.contains(part.as_str()));
    }
    let by_hand = by_hand::read(&folder.join("by_hand.json"))?;
    let mut rows = Vec::new();
    for target in TARGETS {
        for kernel in &kernels {
            rows.push(Measured::new(kernel, target)?);
        }
    }
    let text = page::page(&kernels, &rows, &by_hand)?;
    if part.is_some() {
        print!("{text}");
        return Ok(());
    }
    // Readers never see half a page.
    let page = root.join("docs/lowering-quality.md");
    let temporary = page.with_extension("md.new");
    std::fs::write(&temporary, text)?;
    std::fs::rename(&temporary, &page)?;
    Ok(())
}
