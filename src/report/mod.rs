//! One page that shows how a program was compiled: passes, remarks, graphs, tiles, timeline, words.
//!
//! The page is a single file: markup, style and script from `assets/`, and the [`Data`] as JSON. Everything that needs
//! knowledge of the machine is worked out here; the script only draws.

mod items;
mod page;
mod picture;
mod stages;
mod tiles;
mod times;

use std::collections::BTreeMap;

use partita::backend::cost::ProgramCost;
use partita::backend::program::Program;
use partita::ir::{Module, Source};
use partita::passes::Compiled;
use serde::Serialize;

use crate::cmd::cost::Costed;
use crate::cmd::opt::counts;
use crate::cmd::opt::remarks::PlacedRemark;
use crate::failure::{Failure, Outcome};
use crate::graph::{self, clipped};

use items::Items;
use picture::Picture;
use tiles::{Memories, Tile};
use times::Times;

pub use page::page;
pub use stages::Stages;

/// Everything that the page shows.
#[derive(Serialize)]
pub struct Data {
    file: String,
    entry: String,
    target: String,
    version: &'static str,
    pipeline: String,
    source: String,
    /// Texts of the program between passes, each once.
    texts: Vec<String>,
    passes: Vec<stages::Pass>,
    remarks: Vec<PlacedRemark>,
    /// Counts by pass and name.
    stats: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    pictures: Vec<Picture>,
    memories: Memories,
    tiles: Vec<Tile>,
    items: Items,
    times: Option<Times>,
    /// Why there are no times.
    deadlock: Option<String>,
    cost: ProgramCost,
}

impl Data {
    /// What is to be said of a program that was compiled while `stages` looked on.
    ///
    /// # Errors
    /// An instruction of the compiled function has no engine.
    pub fn compiled(
        source: &Source,
        entry: &str,
        stages: Stages,
        compiled: Compiled,
        costed: Costed,
    ) -> Outcome<Self> {
        let Compiled { program, tpb_module, remarks, stats, .. } = compiled;
        let lines = stages.lines();
        let mut data = Self::of_program(&source.name, &program, costed, &|name| lines.of(name));
        data.entry = entry.to_owned();
        data.source = clipped_lines(&source.text);
        data.pipeline = program.meta.pipeline.join(",");
        data.stats = counts(stats);
        data.remarks =
            remarks.into_iter().map(|remark| PlacedRemark::new(remark, source)).collect();
        data.words_of(&tpb_module, entry, &program)?;
        let (texts, passes, pictures) = stages.finish();
        (data.texts, data.passes) = (texts, passes);
        data.pictures.splice(0..0, pictures);
        Ok(data)
    }

    /// What is to be said of a program alone.
    pub fn of_program(
        file: &str,
        program: &Program,
        costed: Costed,
        line: &dyn Fn(&str) -> Option<usize>,
    ) -> Self {
        let items = Items::new(program, &costed.profile, line);
        let (times, deadlock) = match &costed.timeline {
            Ok(timeline) => (Some(Times::of(program, timeline)), None),
            Err(deadlock) => (None, Some(deadlock.to_string())),
        };
        Self {
            file: file.to_owned(),
            entry: String::new(),
            target: program.target.to_string(),
            version: env!("CARGO_PKG_VERSION"),
            pipeline: String::new(),
            source: String::new(),
            texts: Vec::new(),
            passes: Vec::new(),
            remarks: Vec::new(),
            stats: BTreeMap::new(),
            pictures: Vec::new(),
            memories: Memories::of(program.target.generation),
            tiles: Vec::new(),
            items,
            times,
            deadlock,
            cost: costed.cost,
        }
    }

    /// Tiles and dependences, which the words alone do not tell.
    fn words_of(&mut self, module: &Module, entry: &str, program: &Program) -> Outcome {
        let func = module
            .func(entry)
            .ok_or_else(|| Failure::Message(format!("there is no function @{entry}")))?;
        self.tiles = tiles::of(func, &program.target);
        let graph = graph::dependences(func, &program.target, None)?;
        let mut needs = vec![Vec::new(); graph.nodes.len()];
        for edge in &graph.edges {
            if let Some(needs) = needs.get_mut(edge.to) {
                needs.push(edge.from as u32);
            }
        }
        self.items.needs = needs;
        let mut picture = Picture::of("words and what each must follow", &graph);
        picture.items = true;
        self.pictures.push(picture);
        Ok(())
    }
}

/// The most characters of a line that are shown: a constant may take megabytes.
const LINE: usize = 2000;

/// A text with its long lines cut.
fn clipped_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(1 << 20));
    for line in text.lines() {
        out.push_str(&clipped(line, LINE));
        out.push('\n');
    }
    out
}
