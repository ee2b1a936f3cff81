//! A directory with the module after every pass.
//!
//! Files are numbered from the input on; a pass that changes nothing has an entry in `index.json` and no file. The
//! head of each file is the command that makes it of the one before, to be run in the directory.

use std::fs;
use std::path::{Path, PathBuf};

use partita::ir::Module;
use partita::isa::Target;
use partita::passes::Step;
use serde::Serialize;

use super::super::check::json;
use crate::diff;
use crate::failure::{Failure, Outcome};
use crate::files;

/// A pass in `index.json`.
#[derive(Serialize)]
struct Entry {
    /// The pass with its settings; absent for the input.
    pass: Option<String>,
    /// The file that holds the module after it.
    file: String,
    changed: bool,
    lines_added: usize,
    lines_removed: usize,
    /// What makes the module after the pass of the one before.
    command: Option<String>,
}

/// `index.json`.
#[derive(Serialize)]
struct Index<'a> {
    input: String,
    target: String,
    steps: &'a [Entry],
}

pub struct Dump {
    dir: PathBuf,
    target: Target,
    input: String,
    verify: bool,
    entries: Vec<Entry>,
    /// The module as it was last written.
    text: String,
    /// Rewrites that are left to the pass at hand.
    pub rewrite_limit: Option<u64>,
}

impl Dump {
    pub fn new(
        dir: PathBuf,
        target: Target,
        input: &Path,
        module: &Module,
        verify: bool,
    ) -> Outcome<Self> {
        fs::create_dir_all(&dir).map_err(|error| Failure::about(&dir, error))?;
        let input = input.display().to_string();
        let text = module.to_string();
        let entry = Entry {
            pass: None,
            file: "00-input.pta".to_owned(),
            changed: true,
            lines_added: 0,
            lines_removed: 0,
            command: None,
        };
        let head = format!("// {}, as it was read, for {target}\n", one_line(&input));
        files::write(Some(&dir.join(&entry.file)), (head + &text).as_bytes())?;
        Ok(Self { dir, target, input, verify, entries: vec![entry], text, rewrite_limit: None })
    }

    pub fn step(&mut self, step: &Step<'_>) -> Outcome {
        let text = step.after.to_string();
        let last = self.entries.last().map(|entry| entry.file.clone()).unwrap_or_default();
        let limit = self.rewrite_limit.map(|limit| format!(" --rewrite-limit {limit}"));
        let command = format!(
            "partita opt {last} --passes '{}' --target {}{}{}",
            step.run,
            self.target,
            limit.unwrap_or_default(),
            if self.verify { "" } else { " --no-verify" }
        );
        let (lines_added, lines_removed) = diff::changed_lines(&self.text, &text);
        let changed = text != self.text;
        let file = match changed {
            true => format!("{:02}-{}.pta", self.entries.len(), step.run.pass.name),
            false => last,
        };
        if changed {
            let head = format!("// {command}\n");
            files::write(Some(&self.dir.join(&file)), (head + &text).as_bytes())?;
            self.text = text;
        }
        self.entries.push(Entry {
            pass: Some(step.run.to_string()),
            file,
            changed,
            lines_added,
            lines_removed,
            command: Some(command),
        });
        Ok(())
    }

    pub fn finish(self) -> Outcome {
        let (input, target) = (self.input, self.target.to_string());
        let index = Index { input, target, steps: &self.entries };
        files::write(Some(&self.dir.join("index.json")), json(&index)?.as_bytes())
    }
}

/// A name as it can stand in a comment.
fn one_line(name: &str) -> String {
    name.replace(['\n', '\r'], " ")
}
