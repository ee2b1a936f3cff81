//! Code by hand: what good sequences of the same words cost on CAYMAN, worked out on paper, and what stands between
//! them and the compiler's.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use partita::backend::cost::Profile;
use partita::isa::{Engine, Generation};
use serde::Deserialize;

/// One kernel's.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByHand {
    /// Cycles of each engine, by name.
    #[serde(default)]
    pub cycles: BTreeMap<String, u64>,
    /// Nanoseconds of all transfers at the whole bandwidth, short rows at their factor.
    pub dma_ns: f64,
    /// The sequence.
    pub words: String,
    /// What stands in the way of the compiler.
    #[serde(default)]
    pub gap: String,
}

/// Reads the file.
///
/// # Errors
/// A file that cannot be read, or holds something else.
pub fn read(path: &Path) -> Result<BTreeMap<String, ByHand>, Box<dyn Error>> {
    Ok(serde_json::from_str(&std::fs::read_to_string(path)?)?)
}

impl ByHand {
    /// The bound of the cost model for these words: the busiest engine with a load and a store around it, or all
    /// transfers with one latency.
    ///
    /// # Errors
    /// An engine that is none.
    pub fn bound_ns(&self) -> Result<f64, Box<dyn Error>> {
        let profile = Profile::of(Generation::Cayman);
        let mut bound = self.dma_ns + profile.dma.latency_ns.value;
        for (engine, cycles) in &self.cycles {
            let engine: Engine = engine.parse().map_err(|_| format!("no engine {engine}"))?;
            let figures = profile.engines.get(&engine).ok_or("an engine without figures")?;
            let busy = *cycles as f64 / figures.clock_ghz.value;
            bound = bound.max(busy + 2.0 * profile.dma.latency_ns.value);
        }
        Ok(bound)
    }
}
