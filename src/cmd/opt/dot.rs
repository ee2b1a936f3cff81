//! Graphs of the program in the language of Graphviz, in place of its text.

use clap::ValueEnum;
use partita::ir::{Func, Module, Source};
use partita::isa::Target;
use partita::passes::fuse::view::{EGraphView, egraphs};
use partita::passes::pass::Dialect;
use partita::passes::remark::Ns;
use partita::passes::{Context, Observer, PassRun, Step};

use crate::failure::{Failure, Outcome};
use crate::graph::{self, quoted};

/// Which graph.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dot {
    /// Operations and the values between them, after the last pass.
    Ir,
    /// Words and transfers, and what each must follow.
    Deps,
    /// The e-graphs of the fuse pass.
    Egraph,
}

/// Looks on for somebody else, and keeps the e-graphs if they are wanted.
pub struct EGraphs<'a> {
    pub inner: &'a mut dyn Observer,
    pub wanted: bool,
    pub seen: Seen,
}

/// The e-graphs of a run.
#[derive(Default)]
pub struct Seen {
    found: Vec<EGraphView>,
    /// Whether the fuse pass ran at all.
    ran: bool,
    failed: Option<Failure>,
}

impl Seen {
    /// The graphs as text.
    ///
    /// # Errors
    /// The fuse pass did not run, or could not.
    pub fn dot(self) -> Outcome<String> {
        match self.failed {
            Some(failure) => Err(failure),
            None if !self.ran => {
                Err(Failure::Usage("the pass fuse makes e-graphs, and it does not run".to_owned()))
            }
            None => Ok(egraph_dot(&self.found)),
        }
    }
}

impl Observer for EGraphs<'_> {
    fn before(&mut self, run: &PassRun, module: &Module, cx: &Context) {
        if self.wanted && run.pass.name == "fuse" {
            self.seen.ran = true;
            let settings = run.settings_in(cx.settings);
            let tensor = |func: &&Func| Dialect::of(func) == Dialect::Tensor;
            for func in module.funcs.iter().filter(tensor) {
                match egraphs(func, &cx.target, &settings.fuse, &cx.fuel) {
                    Ok(views) => self.seen.found.extend(views),
                    Err(error) => self.seen.failed = Some(Failure::message(error)),
                }
            }
        }
        self.inner.before(run, module, cx);
    }

    fn after(&mut self, step: &Step<'_>) {
        self.inner.after(step);
    }
}

/// A module as the graph that was asked for.
///
/// # Errors
/// [`Dot::Deps`] of a function without words.
pub fn module(dot: Dot, module: &Module, target: &Target, source: &Source) -> Outcome<String> {
    let graphs: Vec<graph::Graph> = module
        .funcs
        .iter()
        .map(|func| match dot {
            Dot::Deps => graph::dependences(func, target, Some(source)),
            Dot::Ir | Dot::Egraph => graph::of_func(func, target, Some(source)),
        })
        .collect::<Outcome<_>>()?;
    Ok(graph::dot(&graphs))
}

/// Classes as boxes around their forms; the chosen form is bold. An arrow leads from a form to a class that it reads.
fn egraph_dot(windows: &[EGraphView]) -> String {
    let mut out = String::from(
        "digraph {\n  compound=true;\n  node [shape=box, fontname=monospace];\n  edge [color=gray40];\n",
    );
    for (w, window) in windows.iter().enumerate() {
        for (c, class) in window.classes.iter().enumerate() {
            let name = match &class.name {
                Some(name) => format!("c{c} %{name}"),
                None => format!("c{c}"),
            };
            let label = quoted(&name);
            out += &format!("  subgraph cluster_{w}_{c} {{\n    label={label}; style=dashed;\n");
            for (f, form) in class.forms.iter().enumerate() {
                let text = graph::clipped(&form.text, 200);
                let label = quoted(&format!("{text}\n{} ns", Ns(form.cost)));
                let style = if form.chosen { ", style=bold, color=blue" } else { "" };
                out += &format!("    n{w}_{c}_{f} [label={label}{style}];\n");
            }
            out += "  }\n";
        }
        for (c, class) in window.classes.iter().enumerate() {
            for (f, form) in class.forms.iter().enumerate() {
                for operand in &form.operands {
                    out += &format!(
                        "  n{w}_{c}_{f} -> n{w}_{operand}_0 [lhead=cluster_{w}_{operand}];\n"
                    );
                }
            }
        }
    }
    out + "}\n"
}
