//! Figures of one's own: a JSON file that changes some figures of a profile.
//!
//! The file has the form of a profile with everything left out that stays as it is. A figure is `{"value": 1, "tag":
//! "D"}`, or the number alone; without a tag it is assumed. A list takes the place of the list that was there.

use std::fmt;

use serde_json::{Map, Value};

use super::Profile;

/// Why a file is no profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ProfileError {
    /// Where, such as `engines.dve.clock_ghz`; empty for the whole file.
    pub path: String,
    pub reason: String,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.is_empty() {
            true => f.write_str(&self.reason),
            false => write!(f, "`{}` {}", self.path, self.reason),
        }
    }
}

/// Keys under which an object with a tag holds its number.
pub(super) const NUMBERS: [&str; 3] = ["value", "elements", "cycles"];

/// Keys that an object may have although the profile it changes has them not.
const OPTIONAL: [&str; 4] = ["long_step", "exclusive_sbuf", "modes", "extra"];

/// Objects whose keys are names: others may be added.
const MAPS: [&str; 3] = ["dtype_sets", "engines", "classes"];

/// What a figure of this name may be; any other is a number of cycles, bytes or nanoseconds, or a factor.
const BOUNDS: [(&str, f64, f64); 6] = [
    ("clock_ghz", 1e-3, 1e3),
    ("gigabytes_per_second", 1e-3, 1e6),
    ("transpose_rate", 1e-3, 1.0),
    ("transpose_on_chip_rate", 1e-3, 1.0),
    ("in_flight", 1.0, 4096.0),
    ("shared_bus", 1.0, 1e3),
];
const OTHER_BOUNDS: (f64, f64) = (0.0, 1e9);

/// Figures that count something.
const WHOLE: [&str; 4] = ["in_flight", "below_elements", "above_bytes", "sbuf_usable_bytes"];

pub(super) fn is_whole(name: &str) -> bool {
    WHOLE.contains(&name)
}

impl Profile {
    /// This profile with the figures of a JSON text.
    ///
    /// # Errors
    /// No JSON, a field that profiles do not have, a value of another type, or one out of its range.
    pub fn with_changes(&self, text: &str) -> Result<Profile, ProfileError> {
        let fault = |reason: String| ProfileError { path: String::new(), reason };
        let changes: Value =
            serde_json::from_str(text).map_err(|error| fault(format!("is no JSON: {error}")))?;
        if !changes.is_object() {
            return Err(fault(format!("is {}, an object is wanted", kind(&changes))));
        }
        if changes.get("targets").is_some() {
            let reason = "cannot be changed: the file applies to the target in use".to_owned();
            return Err(ProfileError { path: "targets".to_owned(), reason });
        }
        let mut source = self.source.clone();
        merge(&mut source, changes, &mut Vec::new())?;
        Self::from_source(source)
    }

    /// Reads a whole profile.
    ///
    /// # Errors
    /// As [`Self::with_changes`].
    pub(super) fn from_source(source: Value) -> Result<Profile, ProfileError> {
        check_bounds(&source, &mut Vec::new())?;
        let mut profile: Profile = serde_json::from_value(source.clone())
            .map_err(|error| ProfileError { path: String::new(), reason: error.to_string() })?;
        profile.check_names()?;
        profile.source = source;
        Ok(profile)
    }

    /// Conditions name sets of data types that exist.
    fn check_names(&self) -> Result<(), ProfileError> {
        for (engine, figures) in &self.engines {
            for class in figures.classes.values() {
                let conditions =
                    class.modes.iter().map(|m| &m.when).chain(class.extra.iter().map(|e| &e.when));
                for set in conditions.flat_map(|when| when.dtypes.iter().chain(&when.source_dtypes))
                {
                    if !self.dtype_sets.contains_key(set) {
                        return Err(ProfileError {
                            path: format!("engines.{engine}"),
                            reason: format!("names a set `{set}` that dtype_sets does not have"),
                        });
                    }
                }
            }
        }
        Ok(())
    }
}

fn at(path: &[String], reason: String) -> ProfileError {
    ProfileError { path: path.join("."), reason }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The number of an object that is a figure.
pub(super) fn number_key(object: &Map<String, Value>) -> Option<&'static str> {
    object.get("tag")?;
    NUMBERS.into_iter().find(|key| object.contains_key(*key))
}

/// Puts what `changes` says into `base`, which is as deep as profiles are.
fn merge(base: &mut Value, changes: Value, path: &mut Vec<String>) -> Result<(), ProfileError> {
    match (base, changes) {
        (Value::Object(base), Value::Object(changes)) => merge_objects(base, changes, path),
        (Value::Object(figure), Value::Number(number)) if number_key(figure).is_some() => {
            let key = number_key(figure).unwrap_or_default();
            figure.insert(key.to_owned(), Value::Number(number));
            figure.insert("tag".to_owned(), "A".into());
            Ok(())
        }
        // What is optional can be taken away.
        (base, Value::Null) if path.last().is_some_and(|key| OPTIONAL.contains(&key.as_str())) => {
            *base = Value::Null;
            Ok(())
        }
        (base, changes) if kind(base) == kind(&changes) => {
            *base = changes;
            Ok(())
        }
        (base, changes) => {
            Err(at(path, format!("is {}, {} is wanted", kind(&changes), kind(base))))
        }
    }
}

fn merge_objects(
    base: &mut Map<String, Value>,
    changes: Map<String, Value>,
    path: &mut Vec<String>,
) -> Result<(), ProfileError> {
    let takes_names = path.last().is_some_and(|key| MAPS.contains(&key.as_str()));
    let says_tag = changes.contains_key("tag");
    let mut is_changed = false;
    for (key, value) in changes {
        path.push(key);
        let key = path.last().map_or("", String::as_str);
        match base.get_mut(key) {
            Some(below) => {
                is_changed |= NUMBERS.contains(&key) && *below != value;
                merge(below, value, path)?;
            }
            None if takes_names || OPTIONAL.contains(&key) => {
                base.insert(key.to_owned(), value);
            }
            None => {
                let known: Vec<&str> = base.keys().map(String::as_str).collect();
                return Err(at(path, format!("is unknown; known here: {}", known.join(", "))));
            }
        }
        path.pop();
    }
    if is_changed && !says_tag && base.contains_key("tag") {
        base.insert("tag".to_owned(), "A".into());
    }
    Ok(())
}

/// Every number with a tag lies in its range.
fn check_bounds(value: &Value, path: &mut Vec<String>) -> Result<(), ProfileError> {
    match value {
        Value::Object(object) => {
            if let Some(key) = number_key(object) {
                let name = path.last().map_or("", String::as_str);
                check_number(if key == "value" { name } else { key }, &object[key])
                    .map_err(|reason| at(path, reason))?;
            }
            for (key, below) in object {
                path.push(key.clone());
                check_bounds(below, path)?;
                path.pop();
            }
            Ok(())
        }
        Value::Array(items) => items.iter().enumerate().try_for_each(|(index, below)| {
            path.push(index.to_string());
            check_bounds(below, path)?;
            path.pop();
            Ok(())
        }),
        _ => Ok(()),
    }
}

fn check_number(name: &str, value: &Value) -> Result<(), String> {
    let Some(number) = value.as_f64() else {
        return Err(format!("is {}, a number is wanted", kind(value)));
    };
    let row = BOUNDS.iter().find(|row| row.0 == name);
    let (low, high) = row.map_or(OTHER_BOUNDS, |&(_, low, high)| (low, high));
    if !(low..=high).contains(&number) {
        return Err(format!("is {value}; allowed: {low} to {high}"));
    }
    if is_whole(name) && !value.is_u64() {
        return Err(format!("is {value}; a whole number is wanted"));
    }
    Ok(())
}
