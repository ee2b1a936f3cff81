//! The command `partita`.

mod arrays;
mod cli;
mod cmd;
mod diff;
mod failure;
mod files;
mod input;
mod npy;
mod tensors;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let color = cli.command.common().color;
    match cmd::dispatch(&cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report(color);
            failure.exit_code()
        }
    }
}
