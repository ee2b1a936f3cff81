//! Remarks about a window: what was fused, what was not, and why.

use std::collections::BTreeMap;

use egg::{Id, Language as _};
use partita_ir::{Func, OpId};

use super::extract::Set;
use super::language::Node;
use super::rules::{self, Refusal, Rule};
use super::window::{Placed, Window};
use crate::remark::{Ns, Remark, RemarkKind};

/// A form of a value: as written, or as a rule made it.
struct Form<'a> {
    rule: Option<&'static Rule>,
    /// Its last operation; none when the value is one of the inputs.
    last: Option<Node>,
    /// Classes that it reads, and everything below them.
    below: Set,
    /// The cost of its own operations.
    own: u64,
    window: &'a Window,
}

impl<'a> Form<'a> {
    fn new(window: &'a Window, rule: Option<&'static Rule>, inputs: &[Id], made: &[Node]) -> Self {
        let canonical = |node: &Node| node.clone().map_children(|child| window.graph.find(child));
        let mut below = Set::default();
        for set in
            inputs.iter().filter_map(|&id| window.extraction.greedy.below.get(window.position(id)?))
        {
            below.unite(set);
        }
        let own = made.iter().fold(0u64, |sum, node| sum.saturating_add(window.price(node)));
        Self { rule, last: made.last().map(canonical), below, own, window }
    }

    /// Its cost with what it needs and not all forms do.
    fn cost(&self, shared: &Set) -> u64 {
        let own = &self.window.extraction.greedy.own;
        let apart = self.below.iter().filter(|&class| !shared.contains(class));
        apart
            .filter_map(|class| own.get(class))
            .fold(self.own, |sum, &cost| sum.saturating_add(cost))
    }
}

/// Remarks about the operations of a window that the chosen form still has.
pub(super) fn remarks(func: &Func, pass: &'static str, window: &Window) -> Vec<Remark> {
    let rules: Vec<&'static Rule> = rules::all().collect();
    let mut subjects: BTreeMap<usize, &Placed> = BTreeMap::new();
    let order: std::collections::BTreeSet<usize> =
        window.extraction.order.iter().copied().collect();
    for placed in &window.placed {
        if let Some(class) = window.position(placed.class)
            && order.contains(&class)
        {
            subjects.entry(class).or_insert(placed);
        }
    }
    let mut forms: BTreeMap<usize, Vec<Form<'_>>> = BTreeMap::new();
    for application in &window.graph.analysis.applied {
        if let (Some(class), Some(&rule)) =
            (window.position(application.class), rules.get(application.rule))
        {
            let form = Form::new(window, Some(rule), &application.inputs, &application.made);
            forms.entry(class).or_default().push(form);
        }
    }
    let mut refusals: BTreeMap<usize, Vec<(&'static Rule, &Refusal)>> = BTreeMap::new();
    for refused in &window.graph.analysis.refused {
        if let (Some(class), Some(&rule)) =
            (window.position(refused.class), rules.get(refused.rule))
        {
            let list = refusals.entry(class).or_default();
            if !list
                .iter()
                .any(|(other, refusal)| other.name == rule.name && *refusal == &refused.refusal)
            {
                list.push((rule, &refused.refusal));
            }
        }
    }
    let mut out = Vec::new();
    for (class, placed) in subjects {
        if let Some(forms) = forms.remove(&class) {
            about_forms(func, pass, window, class, placed, forms, &mut out);
        }
        for (rule, refusal) in refusals.remove(&class).unwrap_or_default() {
            out.extend(refused(func, pass, placed.op, rule, refusal));
        }
    }
    out
}

/// The remark about a rule that fitted but was refused.
pub(super) fn refused(
    func: &Func,
    pass: &'static str,
    op: OpId,
    rule: &Rule,
    refusal: &Refusal,
) -> Option<Remark> {
    let mut remark = about(func, pass, op, RemarkKind::Missed, rule);
    let makes = rule.makes;
    match refusal {
        Refusal::Forbidden { rule, reason } => {
            remark.forbidden_by = *rule;
            remark.message = format!("no {makes}: {reason}");
        }
        Refusal::Fault(reason) => remark.message = format!("the rule failed: {reason}"),
        Refusal::NoMatch => return None,
    }
    Some(remark)
}

/// A remark about what a rule does or would do to an operation.
pub(super) fn about(
    func: &Func,
    pass: &'static str,
    op: OpId,
    kind: RemarkKind,
    rule: &Rule,
) -> Remark {
    let mut remark = Remark::new(kind, pass, rule.name);
    remark.class = Some(rule.class);
    let op_ref = &func.ops[op];
    remark.op = op_ref.kind.name().to_owned();
    remark.value =
        op_ref.result().map_or_else(String::new, |value| format!("%{}", func.values[value].name));
    remark.span = func.spans.op(op).map(|spans| spans.whole).filter(|span| !span.is_none());
    remark
}

/// One remark for the form that was chosen, or one for each that was not.
fn about_forms(
    func: &Func,
    pass: &'static str,
    window: &Window,
    class: usize,
    placed: &Placed,
    made: Vec<Form<'_>>,
    out: &mut Vec<Remark>,
) {
    let written =
        Form::new(window, None, &placed.node.children, std::slice::from_ref(&placed.node));
    let mut shared = written.below.clone();
    let mut forms: Vec<Form<'_>> = Vec::new();
    for form in made {
        if form.last != written.last && !forms.iter().any(|other| other.last == form.last) {
            shared.intersect(&form.below);
            forms.push(form);
        }
    }
    let before = written.cost(&shared);
    let chosen = window.chosen(class);
    // A value that equals one of its inputs has that one's form.
    let is_chosen = |form: &&Form<'_>| match &form.last {
        Some(last) => Some(last) == chosen,
        None => written.last.as_ref() != chosen,
    };
    let named = |form: &Form<'_>| {
        form.rule.map_or_else(Default::default, |rule| (rule.makes.to_string(), rule.name))
    };
    match forms.iter().find(is_chosen) {
        Some(passed) => {
            let Some(rule) = passed.rule else { return };
            let mut remark = about(func, pass, placed.op, RemarkKind::Passed, rule);
            (remark.cost_before, remark.cost_after) = (Some(before), Some(passed.cost(&shared)));
            remark.message = format!("{} in place of {}", rule.makes, remark.op);
            let others: Vec<String> = forms
                .iter()
                .filter(|form| form.last != passed.last)
                .map(|form| {
                    let (makes, name) = named(form);
                    format!("{makes} ({name}) at {} ns", Ns(form.cost(&shared)))
                })
                .collect();
            if !others.is_empty() {
                remark.message.push_str("; also possible: ");
                remark.message.push_str(&others.join(", "));
            }
            out.push(remark);
        }
        None => out.extend(forms.iter().filter_map(|form| {
            let mut remark = about(func, pass, placed.op, RemarkKind::Missed, form.rule?);
            (remark.cost_before, remark.cost_after) = (Some(before), Some(form.cost(&shared)));
            remark.message = format!("{} is not cheaper here", named(form).0);
            Some(remark)
        })),
    }
}
