//! `partita passes`: the passes, in the order of the default pipeline.

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
    let text: String =
        PASSES.iter().map(|pass| format!("{:<20} {}\n", pass.name, pass.summary)).collect();
    files::write(options.common.output.as_deref(), text.as_bytes())
}
