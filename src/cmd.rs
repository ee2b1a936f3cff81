//! The subcommands, one file each.

pub mod assemble;
pub mod bisect;
pub mod check;
pub mod compile;
pub mod completions;
pub mod conform;
pub mod cost;
pub mod dis;
pub mod exec;
pub mod import;
pub mod isa;
pub mod opt;
pub mod passes;
pub mod reduce;
pub mod report;
pub mod run;
pub mod test;
pub mod trace;

use crate::cli::{Command, Common};
use crate::failure::Outcome;

/// Runs a subcommand.
pub fn dispatch(command: &Command) -> Outcome {
    match command {
        Command::Run(options) => run::run(options),
        Command::Compile(options) => compile::run(options),
        Command::Exec(options) => exec::run(options),
        Command::Import(options) => import::run(options),
        Command::Opt(options) => opt::run(options),
        Command::As(options) => assemble::run(options),
        Command::Dis(options) => dis::run(options),
        Command::Check(options) => check::run(options),
        Command::Conform(options) => conform::run(options),
        Command::Cost(options) => cost::run(options),
        Command::Trace(options) => trace::run(options),
        Command::Isa(options) => isa::run(options),
        Command::Passes(options) => passes::run(options),
        Command::Report(options) => report::run(options),
        Command::Test(options) => test::run(options),
        Command::Reduce(options) => reduce::run(options),
        Command::Completions(options) => completions::run(options),
        Command::Bisect(options) => bisect::run(options),
    }
}

impl Command {
    /// The flags that every subcommand takes.
    pub fn common(&self) -> &Common {
        match self {
            Command::Run(options) => &options.common,
            Command::Compile(options) => &options.common,
            Command::Exec(options) => &options.common,
            Command::Import(options) => &options.common,
            Command::Opt(options) => &options.common,
            Command::As(options) => &options.common,
            Command::Dis(options) => &options.common,
            Command::Check(options) => &options.common,
            Command::Conform(options) => &options.common,
            Command::Cost(options) => &options.common,
            Command::Trace(options) => &options.common,
            Command::Isa(options) => &options.common,
            Command::Passes(options) => &options.common,
            Command::Report(options) => &options.common,
            Command::Test(options) => &options.common,
            Command::Reduce(options) => &options.common,
            Command::Completions(options) => &options.common,
            Command::Bisect(options) => &options.common,
        }
    }
}
