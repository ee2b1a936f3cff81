//! E-graphs to look at: the classes of each window with their forms, prices and the choice.

use partita_ir::{Func, OpKind, Operand};
use partita_isa::Target;

use super::language::{EntryKind, Slot};
use super::window::{Window, Work};
use super::{FuseError, FuseOptions, allowance, permitted};
use crate::rewrite::Fuel;

/// The saturated e-graph of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EGraphView {
    pub classes: Vec<ClassView>,
}

/// Values that are equal, as the rules know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassView {
    /// The value's name in the program, without `%`; absent for what a rule made.
    pub name: Option<String>,
    pub forms: Vec<FormView>,
}

/// One way to compute the value of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormView {
    /// The operation as text, whose operands are classes (`%c3`); a value from outside the window as `%name: type`.
    pub text: String,
    /// The classes that it reads, as positions in [`EGraphView::classes`].
    pub operands: Vec<usize>,
    /// Picoseconds of the operation by itself.
    pub cost: u64,
    /// Whether it is the form that was chosen.
    pub chosen: bool,
}

/// The e-graphs that [`super::fuse`] makes of a function, window by window.
///
/// # Errors
/// As [`super::fuse`].
pub fn egraphs(
    func: &Func,
    target: &Target,
    options: &FuseOptions,
    fuel: &Fuel,
) -> Result<Vec<EGraphView>, FuseError> {
    let rewrites = permitted(options);
    let mut work = Work::new(func, target, options, allowance(options, fuel));
    work.views = Some(Vec::new());
    while work.fuse_window(&rewrites)? {}
    Ok(work.views.unwrap_or_default())
}

impl EGraphView {
    pub(super) fn of(func: &Func, window: &Window) -> Self {
        let mut names: Vec<Option<String>> = vec![None; window.nodes.len()];
        for placed in &window.placed {
            if let Some(name) = window.position(placed.class).and_then(|at| names.get_mut(at)) {
                name.get_or_insert_with(|| func.values[placed.result].name.to_string());
            }
        }
        let classes = window.nodes.iter().zip(names).enumerate();
        let class =
            |(at, (nodes, name)): (usize, (&Vec<super::language::Node>, Option<String>))| {
                let chosen = window.chosen(at);
                let form = |node| FormView {
                    text: text(func, window, node),
                    operands: node.children.iter().filter_map(|&id| window.position(id)).collect(),
                    cost: window.price(node),
                    chosen: chosen == Some(node),
                };
                ClassView { name, forms: nodes.iter().map(form).collect() }
            };
        Self { classes: classes.map(class).collect() }
    }
}

fn text(func: &Func, window: &Window, node: &super::language::Node) -> String {
    let Some(entry) = window.graph.analysis.table.entry(node) else { return String::new() };
    match &entry.kind {
        EntryKind::Leaf(value) => format!("%{}: {}", func.values[*value].name, entry.ty),
        EntryKind::Op { op, slots } => {
            // An operation is printed as part of a function: here one whose arguments are the classes it reads.
            let mut alone = Func::new("form");
            let mut children = node.children.iter();
            let operands: Vec<Operand> = slots
                .iter()
                .filter_map(|slot| match slot {
                    Slot::Literal(literal) => Some(Operand::Literal(*literal)),
                    Slot::Child => {
                        let id = *children.next()?;
                        let ty = window.graph[id].data.as_ref()?.ty.clone();
                        let name = format!("c{}", window.position(id)?);
                        Some(Operand::Value(alone.add_arg(&name, ty, Default::default())))
                    }
                })
                .collect();
            let result = [("r".to_owned(), entry.ty.clone().into())];
            let made = alone.make_op(OpKind::Tensor(op.clone()), operands, result);
            let text = alone.op_text(made);
            text.split_once(" = ").map_or(text.as_str(), |(_, call)| call).to_owned()
        }
    }
}
