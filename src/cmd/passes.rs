//! `partita passes`: the passes, in the order of the default pipeline, with their settings.

use std::fmt::Write as _;

use clap::Args;
use partita::passes::PASSES;

use crate::cli::Common;
use crate::failure::Outcome;
use crate::files;

#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    pub common: Common,
}

pub fn run(options: &Options) -> Outcome {
    let mut text = String::new();
    for pass in PASSES {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:<20} {}", pass.name, pass.summary);
        for setting in pass.settings {
            let name = format!("{}{{{}={}}}", pass.name, setting.name, setting.kind.allowed());
            let _ = writeln!(text, "    {name}\n        {}", setting.summary);
        }
    }
    files::write(options.common.output.as_deref(), text.as_bytes())
}
