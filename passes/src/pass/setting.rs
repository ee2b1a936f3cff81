//! Settings of passes, as a pipeline's text spells them: `fuse{node-limit=5000}`.

use crate::fuse::FuseOptions;
use crate::tile::TileOptions;

/// What the passes can be told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    pub fuse: FuseOptions,
    pub tile: TileOptions,
}

/// One setting of a pass.
#[derive(Debug)]
pub struct Setting {
    pub name: &'static str,
    pub summary: &'static str,
    pub kind: Kind,
    pub(super) set: fn(&mut Settings, u64),
}

/// What a setting's value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number within bounds.
    Count { least: u64, most: u64 },
    /// `true` or `false`; the name alone says `true`.
    Switch,
    /// One of these names; its value is the place in the list.
    Choice(&'static [&'static str]),
}

impl Kind {
    /// The value that a text stands for.
    ///
    /// # Errors
    /// What is allowed instead.
    pub fn parse(self, text: Option<&str>) -> Result<u64, String> {
        match (self, text) {
            (Self::Switch, None | Some("true")) => Ok(1),
            (Self::Switch, Some("false")) => Ok(0),
            (Self::Switch, Some(_)) => Err("true or false".to_owned()),
            (Self::Choice(names), text) => names
                .iter()
                .position(|name| Some(*name) == text)
                .map(|place| place as u64)
                .ok_or_else(|| names.join(", ")),
            (Self::Count { least, most }, text) => text
                .and_then(|text| text.parse().ok())
                .filter(|value| (least..=most).contains(value))
                .ok_or_else(|| format!("a whole number from {least} to {most}")),
        }
    }

    /// What a value may be, as help shows it.
    pub fn allowed(self) -> String {
        match self {
            Self::Switch => "true|false".to_owned(),
            Self::Count { .. } => "N".to_owned(),
            Self::Choice(names) => names.join("|"),
        }
    }

    /// The text of a value.
    pub fn print(self, value: u64) -> String {
        match self {
            Self::Switch => (value != 0).to_string(),
            Self::Count { .. } => value.to_string(),
            Self::Choice(names) => {
                names.get(value as usize).copied().unwrap_or_default().to_owned()
            }
        }
    }
}
