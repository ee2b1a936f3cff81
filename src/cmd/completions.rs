//! `partita completions`: what a shell needs to complete commands, and the manual pages.

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::{Shell, generate};

use crate::cli::{Cli, Common};
use crate::failure::Outcome;
use crate::files;

/// Shells, and the reader of manual pages.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum For {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
    /// The manual page, for `man -l -`.
    Man,
}

#[derive(Args)]
pub struct Options {
    /// The shell, or man for the manual page.
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: For,
    #[command(flatten)]
    pub common: Common,
}

pub fn run(options: &Options) -> Outcome {
    let mut text = Vec::new();
    let shell = match options.shell {
        For::Bash => Shell::Bash,
        For::Elvish => Shell::Elvish,
        For::Fish => Shell::Fish,
        For::Powershell => Shell::PowerShell,
        For::Zsh => Shell::Zsh,
        For::Man => {
            manual(&mut text)?;
            return files::write(options.common.output.as_deref(), &text);
        }
    };
    generate(shell, &mut Cli::command(), "partita", &mut text);
    files::write(options.common.output.as_deref(), &text)
}

/// One page with every subcommand and its flags.
fn manual(out: &mut Vec<u8>) -> Outcome {
    let mut command = Cli::command();
    // Names and flags of subcommands are complete only in a built command.
    command.build();
    clap_mangen::Man::new(command.clone()).render(out)?;
    for subcommand in
        command.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name() != "help")
    {
        let page = clap_mangen::Man::new(subcommand.clone());
        out.extend(format!(".SH {}\n", subcommand.get_name().to_uppercase()).bytes());
        page.render_synopsis_section(out)?;
        page.render_description_section(out)?;
        page.render_options_section(out)?;
    }
    Ok(())
}
