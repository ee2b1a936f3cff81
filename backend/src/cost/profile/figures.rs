//! The figures of a profile that are assumed, one by one, and the profile with one of them changed.

use partita_isa::{CostClass, Engine};
use serde_json::Value;

use super::overlay::number_key;
use super::{CLASSES, Profile};

/// An assumed figure.
#[derive(Clone, Debug, PartialEq)]
pub struct AssumedFigure {
    /// Where it stands, such as `engines.pool.classes.reduce.elements`.
    pub path: String,
    pub value: f64,
    /// The engine and the class that it prices, where it is of one.
    pub engine: Option<Engine>,
    pub class: Option<CostClass>,
    /// The same place as a JSON pointer.
    pointer: String,
}

impl Profile {
    /// The assumed figures that a time may hang on, in the order of their paths.
    pub fn assumed(&self) -> Vec<AssumedFigure> {
        let mut found = Vec::new();
        collect(&self.source, &mut Vec::new(), &mut found);
        found.retain(|figure| figure.path != "sbuf_usable_bytes");
        found
    }

    /// This profile with one figure raised by a tenth; a count by one at least. `None` when its range ends there, or
    /// when it is 0.
    pub fn with_tenth_more(&self, figure: &AssumedFigure) -> Option<Profile> {
        let mut source = self.source.clone();
        let slot = source.pointer_mut(&figure.pointer)?;
        *slot = match slot.as_u64() {
            Some(count) if is_count(&figure.path) => (count + count.div_ceil(10)).into(),
            _ if figure.value == 0.0 => return None,
            _ => (figure.value * 1.1).into(),
        };
        Self::from_source(source).ok()
    }
}

fn is_count(path: &str) -> bool {
    super::overlay::is_whole(path.rsplit('.').next().unwrap_or_default())
}

fn collect(value: &Value, path: &mut Vec<String>, found: &mut Vec<AssumedFigure>) {
    match value {
        Value::Object(object) => {
            let assumed = object.get("tag").is_some_and(|tag| tag == "A");
            if let Some(key) = number_key(object).filter(|_| assumed)
                && let Some(value) = object[key].as_f64()
            {
                let mut name = path.clone();
                if key != "value" {
                    name.push(key.to_owned());
                }
                let pointer = format!("/{}/{key}", path.join("/"));
                let after = |word: &str| {
                    path.iter().position(|step| step == word).and_then(|at| path.get(at + 1))
                };
                found.push(AssumedFigure {
                    path: name.join("."),
                    value,
                    engine: after("engines").and_then(|name| name.parse().ok()),
                    class: after("classes").and_then(|name| {
                        CLASSES.iter().find(|row| row.0 == name).map(|&(_, class)| class)
                    }),
                    pointer,
                });
            }
            for (key, below) in object {
                path.push(key.clone());
                collect(below, path, found);
                path.pop();
            }
        }
        Value::Array(items) => {
            for (index, below) in items.iter().enumerate() {
                path.push(index.to_string());
                collect(below, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}
