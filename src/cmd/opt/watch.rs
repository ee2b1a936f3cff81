//! What is printed and kept between passes.

use std::time::Instant;

use partita::ir::Module;
use partita::isa::Target;
use partita::passes::{Context, Observer, PassRun, Step};

use super::Options;
use super::dump::Dump;
use crate::diff;
use crate::failure::{Failure, Outcome, say, style};

pub struct Watcher<'a> {
    options: &'a Options,
    dump: Option<Dump>,
    started: Instant,
    failed: Option<Failure>,
}

impl<'a> Watcher<'a> {
    /// `index` is the number of the part of the file.
    pub fn new(options: &'a Options, target: Target, index: usize, input: &Module) -> Self {
        let (mut dump, mut failed) = (None, None);
        if let Some(dir) = &options.dump_dir {
            let dir = match options.split_input_file {
                true => dir.join(format!("part-{index}")),
                false => dir.clone(),
            };
            match Dump::new(dir, target, &options.file, input, !options.no_verify) {
                Ok(begun) => dump = Some(begun),
                Err(failure) => failed = Some(failure),
            }
        }
        Self { options, dump, started: Instant::now(), failed }
    }

    /// Ends the dump; the first failure to write stands.
    pub fn finish(self) -> Outcome {
        if let Some(failure) = self.failed {
            return Err(failure);
        }
        self.dump.map_or(Ok(()), Dump::finish)
    }
}

impl Observer for Watcher<'_> {
    fn before(&mut self, run: &PassRun, module: &Module, cx: &Context) {
        if self.options.print_before.contains(&run.pass.name) {
            say(&format!("// before {run}\n{module}"));
        }
        if let Some(dump) = &mut self.dump {
            dump.rewrite_limit = cx.fuel.left;
        }
        self.started = Instant::now();
    }

    fn after(&mut self, step: &Step<'_>) {
        let (options, run) = (self.options, step.run);
        if options.timing {
            say(&format!("{:>10.3} ms {run}\n", self.started.elapsed().as_secs_f64() * 1e3));
        }
        if options.print_after_all || options.print_after.contains(&run.pass.name) {
            say(&format!("// after {run}\n{}", step.after));
        }
        if options.diff {
            let texts = (step.before.to_string(), step.after.to_string());
            let names = (format!("before {run}"), format!("after {run}"));
            say(&diff::unified(
                &texts.0,
                &texts.1,
                (&names.0, &names.1),
                style(options.common.color),
            ));
        }
        if let Some(dump) = &mut self.dump
            && let Err(failure) = dump.step(step)
        {
            self.failed.get_or_insert(failure);
        }
    }
}
