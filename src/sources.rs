//! Which value each word and descriptor of a program was emitted for, by its symbols.

use std::collections::BTreeMap;

use partita::backend::program::{Place, Program};

/// The value that each word and descriptor was emitted for.
pub struct Sources<'a>(BTreeMap<Place, Vec<(usize, usize, &'a str)>>);

impl<'a> Sources<'a> {
    pub fn new(program: &'a Program) -> Self {
        let mut runs: BTreeMap<Place, Vec<_>> = BTreeMap::new();
        for symbol in &program.symbols {
            let run = (symbol.first as usize, symbol.count as usize, symbol.name.as_str());
            runs.entry(symbol.place).or_default().push(run);
        }
        runs.values_mut().for_each(|runs| runs.sort_unstable());
        Self(runs)
    }

    /// The value of the item at a place of a list.
    pub fn of(&self, list: Place, place: usize) -> Option<&'a str> {
        let runs = self.0.get(&list)?;
        let after = runs.partition_point(|run| run.0 <= place);
        let &(first, count, name) = runs.get(after.checked_sub(1)?)?;
        (place - first < count).then_some(name)
    }
}
