//! The command `partita`.

mod arrays;
mod cli;
mod cmd;
mod conventions;
mod diff;
mod failure;
mod files;
mod filetest;
mod graph;
mod input;
mod npy;
mod program;
mod report;
mod sources;
mod tensors;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let (color, format) = (cli.command.common().color, cli.command.common().error_format);
    match cmd::dispatch(&cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report(color, format);
            failure.exit_code()
        }
    }
}
