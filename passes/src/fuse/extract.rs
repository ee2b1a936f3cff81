//! Choosing one node for each class so that the whole graph costs least, a shared
//! value being paid once.
//!
//! 1. [`greedy`]: for every class, repeatedly, the node whose closure (all classes
//!    below it, each once) is cheapest. Nodes of the input win ties.
//! 2. [`improve`]: choices are tried out against the exact cost of everything that
//!    the results need, since what is cheapest alone need not be cheapest where a
//!    part is shared.
//!
//! The result is checked: acyclic, and each choice a node of its class. The cost is
//! never above that of the input form, which is the other starting point.

/// A class as extraction sees it: its nodes in a fixed order.
#[derive(Clone, Debug, Default)]
pub struct Class {
    pub nodes: Vec<Candidate>,
}

/// A node of a class.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Classes, by position.
    pub children: Vec<usize>,
    pub cost: u64,
    /// Where it stands in the input program, leaves being at 0.
    pub input: Option<u32>,
}

/// Nothing can be chosen: a class has no node that rests on leaves alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfounded;

/// Rounds over all classes before the greedy choice is taken as it is.
const MAX_ROUNDS: usize = 32;

/// Rounds of improvement.
const MAX_IMPROVEMENTS: usize = 4;

/// A set of classes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set(Vec<u64>);

impl Set {
    fn empty(classes: usize) -> Self {
        Self(vec![0; classes.div_ceil(64)])
    }

    fn insert(&mut self, class: usize) {
        if let Some(word) = self.0.get_mut(class / 64) {
            *word |= 1 << (class % 64);
        }
    }

    pub fn contains(&self, class: usize) -> bool {
        self.0.get(class / 64).is_some_and(|word| word >> (class % 64) & 1 != 0)
    }

    pub fn unite(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// What both have.
    pub fn intersect(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
    }

    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, &word)| {
            std::iter::successors((word != 0).then_some(word), |word| {
                let rest = word & (word - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |word| at * 64 + word.trailing_zeros() as usize)
        })
    }
}

/// The number of the node chosen for each class; `None` where none can be.
pub type Choice = Vec<Option<usize>>;

/// The cost of everything that the roots need; `None` when a choice is missing or
/// the choices run in a circle.
pub fn total(classes: &[Class], choice: &Choice, roots: &[usize]) -> Option<u64> {
    let order = order(classes, choice, roots)?;
    let cost = |&class: &usize| Some(classes.get(class)?.nodes.get((*choice.get(class)?)?)?.cost);
    order.iter().map(cost).try_fold(0u64, |sum, cost| Some(sum.saturating_add(cost?)))
}

/// The classes that the roots need, each after those it reads.
pub fn order(classes: &[Class], choice: &Choice, roots: &[usize]) -> Option<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; classes.len()];
    let mut order = Vec::new();
    let mut stack: Vec<(usize, usize)> = Vec::new();
    for &root in roots {
        if *marks.get(root)? == Mark::New {
            marks[root] = Mark::Open;
            stack.push((root, 0));
        }
        while let Some((class, next)) = stack.last_mut() {
            let node = classes.get(*class)?.nodes.get((*choice.get(*class)?)?)?;
            match node.children.get(*next) {
                Some(&child) => {
                    *next += 1;
                    match marks.get(child)? {
                        Mark::Done => {}
                        Mark::Open => return None,
                        Mark::New => {
                            marks[child] = Mark::Open;
                            stack.push((child, 0));
                        }
                    }
                }
                None => {
                    marks[*class] = Mark::Done;
                    order.push(*class);
                    stack.pop();
                }
            }
        }
    }
    Some(order)
}

/// A greedy choice with the closure of each class.
#[derive(Clone, Debug)]
pub struct Greedy {
    pub choice: Choice,
    /// For each class, itself and everything below it.
    pub below: Vec<Set>,
    /// The cost of the chosen node alone.
    pub own: Vec<u64>,
}

impl Greedy {
    /// The classes below a node and the cost of the node with them; `None` when one
    /// has no choice, or the node is below itself.
    pub fn closure(&self, class: usize, node: &Candidate) -> Option<(Set, u64)> {
        let mut set = Set::empty(self.own.len());
        for &child in &node.children {
            self.choice.get(child).copied().flatten()?;
            set.unite(self.below.get(child)?);
        }
        if set.contains(class) {
            return None;
        }
        let cost = set.iter().fold(node.cost, |sum, class| sum.saturating_add(self.own[class]));
        Some((set, cost))
    }
}

/// Picks for each class the node of the cheapest closure.
pub fn greedy(classes: &[Class]) -> Greedy {
    let count = classes.len();
    let mut state = Greedy {
        choice: vec![None; count],
        below: vec![Set::empty(count); count],
        own: vec![0; count],
    };
    let mut totals = vec![u64::MAX; count];
    for _ in 0..MAX_ROUNDS {
        let mut changed = false;
        for (class, nodes) in classes.iter().enumerate() {
            let mut best: Option<((u64, bool), usize, Set)> = None;
            for (number, node) in nodes.nodes.iter().enumerate() {
                let Some((set, cost)) = state.closure(class, node) else { continue };
                let rank = (cost, node.input.is_none());
                if best.as_ref().is_none_or(|(least, ..)| rank < *least) {
                    best = Some((rank, number, set));
                }
            }
            let Some(((cost, _), number, mut set)) = best else { continue };
            set.insert(class);
            if state.choice[class] != Some(number)
                || totals[class] != cost
                || state.below[class] != set
            {
                state.choice[class] = Some(number);
                state.own[class] = nodes.nodes[number].cost;
                state.below[class] = set;
                totals[class] = cost;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    state
}

/// The choice of the input program: of each class the node that stands first, which
/// reads only what stands before it.
fn input_form(classes: &[Class], greedy: &Choice) -> Choice {
    let first = |class: &Class| {
        let placed =
            class.nodes.iter().enumerate().filter_map(|(number, node)| Some((node.input?, number)));
        placed.min().map(|(_, number)| number)
    };
    classes.iter().zip(greedy).map(|(class, fallback)| first(class).or(*fallback)).collect()
}

/// A choice with what the roots need of it, kept up to date as single choices change.
struct Needed<'a> {
    classes: &'a [Class],
    choice: Choice,
    /// How many chosen nodes that are needed read each class; a root counts as one.
    users: Vec<u32>,
    /// Places in an order in which each needed class stands after those it reads; of others, none that counts.
    places: Vec<usize>,
    cost: u64,
    /// Classes seen by the search that has this number.
    seen: Vec<u32>,
    search: u32,
}

impl<'a> Needed<'a> {
    /// None when a choice is missing or the choices run in a circle.
    fn new(classes: &'a [Class], choice: Choice, roots: &[usize]) -> Option<Self> {
        let count = classes.len();
        let mut needed = Self {
            classes,
            users: vec![0; count],
            places: vec![0; count],
            cost: 0,
            seen: vec![0; count],
            search: 0,
            choice,
        };
        for class in needed.arrange(roots)? {
            let node = needed.node(class)?;
            needed.cost = needed.cost.saturating_add(node.cost);
            node.children.iter().for_each(|&child| needed.users[child] += 1);
        }
        roots.iter().for_each(|&root| needed.users[root] += 1);
        Some(needed)
    }

    fn arrange(&mut self, roots: &[usize]) -> Option<Vec<usize>> {
        let order = order(self.classes, &self.choice, roots)?;
        order.iter().enumerate().for_each(|(place, &class)| self.places[class] = place);
        Some(order)
    }

    fn node(&self, class: usize) -> Option<&'a Candidate> {
        self.classes.get(class)?.nodes.get((*self.choice.get(class)?)?)
    }

    /// Whether a class is the one sought or rests on it, by the choices made.
    fn rests_on(&mut self, start: &[usize], sought: usize) -> bool {
        self.search += 1;
        let mut waiting: Vec<usize> = start.to_vec();
        while let Some(class) = waiting.pop() {
            if class == sought {
                return true;
            }
            // What stands before it cannot rest on it.
            let before = self.users[class] > 0 && self.places[class] < self.places[sought];
            if before || std::mem::replace(&mut self.seen[class], self.search) == self.search {
                continue;
            }
            match self.node(class) {
                Some(node) => waiting.extend(&node.children),
                // Without a choice there is nothing to take.
                None => return true,
            }
        }
        false
    }

    /// Takes another node for a class that is needed; the places are those of before.
    fn switch(&mut self, class: usize, number: usize) {
        let (old, new) = (self.node(class), self.classes[class].nodes.get(number));
        let (Some(old), Some(new)) = (old, new) else { return };
        self.choice[class] = Some(number);
        self.cost = self.cost.saturating_add(new.cost);
        new.children.iter().for_each(|&child| self.take(child));
        self.cost = self.cost.saturating_sub(old.cost);
        old.children.iter().for_each(|&child| self.leave(child));
    }

    fn take(&mut self, class: usize) {
        let mut waiting = vec![class];
        while let Some(class) = waiting.pop() {
            self.users[class] += 1;
            if self.users[class] == 1
                && let Some(node) = self.node(class)
            {
                self.cost = self.cost.saturating_add(node.cost);
                waiting.extend(&node.children);
            }
        }
    }

    fn leave(&mut self, class: usize) {
        let mut waiting = vec![class];
        while let Some(class) = waiting.pop() {
            self.users[class] = self.users[class].saturating_sub(1);
            if self.users[class] == 0
                && let Some(node) = self.node(class)
            {
                self.cost = self.cost.saturating_sub(node.cost);
                waiting.extend(&node.children);
            }
        }
    }
}

/// Tries other nodes where there are any, as long as the whole gets cheaper.
pub fn improve(classes: &[Class], choice: &mut Choice, roots: &[usize]) -> Option<u64> {
    let mut needed = Needed::new(classes, std::mem::take(choice), roots)?;
    for _ in 0..MAX_IMPROVEMENTS {
        let mut improved = false;
        for class in needed.arrange(roots)? {
            for (number, node) in classes[class].nodes.iter().enumerate() {
                let kept = needed.choice[class];
                if kept == Some(number) || needed.users[class] == 0 {
                    continue;
                }
                if needed.rests_on(&node.children, class) {
                    continue;
                }
                let before = needed.cost;
                needed.switch(class, number);
                if needed.cost < before {
                    improved = true;
                    needed.arrange(roots)?;
                } else if let Some(kept) = kept {
                    needed.switch(class, kept);
                }
            }
        }
        if !improved {
            break;
        }
    }
    *choice = needed.choice;
    Some(needed.cost)
}

/// The extraction of a window.
#[derive(Clone, Debug)]
pub struct Extraction {
    pub choice: Choice,
    /// What the roots need, each class after those it reads.
    pub order: Vec<usize>,
    pub cost: u64,
    /// The cost of the input form.
    pub input_cost: u64,
    pub greedy: Greedy,
}

/// Chooses nodes for everything that the roots need.
///
/// # Errors
/// The input form itself is circular, which that of a program never is.
pub fn extract(classes: &[Class], roots: &[usize]) -> Result<Extraction, Unfounded> {
    let greedy = greedy(classes);
    let input = input_form(classes, &greedy.choice);
    let input_cost = total(classes, &input, roots).ok_or(Unfounded)?;
    let mut choice = input.clone();
    let mut cost = input_cost;
    // Where every class has one node there is nothing to choose.
    if classes.iter().any(|class| class.nodes.len() > 1) {
        for start in [greedy.choice.clone(), input] {
            let mut found = start;
            if let Some(better) = improve(classes, &mut found, roots) {
                if better < cost {
                    (choice, cost) = (found, better);
                }
                break;
            }
        }
    }
    let order = order(classes, &choice, roots).ok_or(Unfounded)?;
    Ok(Extraction { choice, order, cost, input_cost, greedy })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The best of every choice there is.
    fn exhaustive(classes: &[Class], roots: &[usize]) -> Option<u64> {
        let mut best = None;
        let mut choice: Choice = vec![Some(0); classes.len()];
        loop {
            best = total(classes, &choice, roots).into_iter().chain(best).min();
            let mut at = 0;
            loop {
                let Some(slot) = choice.get_mut(at) else { return best };
                let next = slot.map_or(0, |number| number + 1);
                if next < classes[at].nodes.len() {
                    *slot = Some(next);
                    break;
                }
                *slot = Some(0);
                at += 1;
            }
        }
    }

    fn node(cost: u64, children: &[usize], input: Option<u32>) -> Candidate {
        Candidate { children: children.to_vec(), cost, input }
    }

    fn class(nodes: &[Candidate]) -> Class {
        Class { nodes: nodes.to_vec() }
    }

    #[test]
    fn a_shared_part_is_paid_once() {
        // 3 = f(1, 2) where 1 and 2 both rest on 0; the other form of 3 costs 25.
        let classes = [
            class(&[node(20, &[], Some(1))]),
            class(&[node(1, &[0], Some(2))]),
            class(&[node(1, &[0], Some(3))]),
            class(&[node(1, &[1, 2], Some(4)), node(25, &[], None)]),
        ];
        let found = extract(&classes, &[3]).expect("there is a form");
        assert_eq!(found.cost, 23);
    }

    #[test]
    fn greed_is_mended_where_parts_are_shared() {
        // Alone, 2 is cheapest without 0; but 3 needs 0 anyway.
        let classes = [
            class(&[node(10, &[], Some(1))]),
            class(&[node(0, &[], Some(0))]),
            class(&[node(2, &[0], Some(2)), node(7, &[1], None)]),
            class(&[node(1, &[0], Some(3))]),
        ];
        let found = extract(&classes, &[2, 3]).expect("there is a form");
        assert_eq!(found.cost, 13);
        assert_eq!(found.choice[2], Some(0));
    }

    #[test]
    fn circles_are_never_chosen() {
        let classes = [
            class(&[node(1, &[1], None), node(9, &[], Some(1))]),
            class(&[node(1, &[0], None), node(9, &[0], Some(2))]),
        ];
        let found = extract(&classes, &[1]).expect("there is a form");
        assert_eq!(found.cost, 10);
        assert!(order(&classes, &found.choice, &[1]).is_some());
    }

    #[test]
    fn the_input_form_wins_ties() {
        let classes = [class(&[node(5, &[], None), node(5, &[], Some(1))])];
        assert_eq!(extract(&classes, &[0]).expect("there is a form").choice[0], Some(1));
    }

    /// Random small graphs: never worse than the input, never circular, and close to
    /// the best there is.
    #[test]
    fn random_graphs_come_close_to_the_best() {
        let mut rng = partita_ir::eval::random::Rng::new(17);
        let mut below = |limit: u64| rng.next_u64() % limit;
        let (mut found_sum, mut best_sum) = (0u64, 0u64);
        for _ in 0..300 {
            let count = 3 + below(5) as usize;
            let mut classes: Vec<Class> = Vec::new();
            for at in 0..count {
                let mut nodes = Vec::new();
                for number in 0..1 + below(3) {
                    // The first node is the program's; others may read anything.
                    let reach = if number == 0 { at } else { count };
                    let wanted = if reach == 0 { 0 } else { below(3) };
                    let children: Vec<usize> =
                        (0..wanted).map(|_| below(reach as u64) as usize).collect();
                    nodes.push(node(1 + below(20), &children, (number == 0).then_some(at as u32)));
                }
                classes.push(class(&nodes));
            }
            let roots = [count - 1, count - 2];
            let found = extract(&classes, &roots).expect("the program is a form");
            let best = exhaustive(&classes, &roots).expect("the program is a form");
            assert!(found.cost <= found.input_cost && found.cost >= best);
            // Acyclic, each choice a node of its class, and the cost that of what is needed.
            assert_eq!(total(&classes, &found.choice, &roots), Some(found.cost));
            for &class in &found.order {
                let chosen = found.choice[class].expect("a choice");
                assert!(chosen < classes[class].nodes.len());
            }
            found_sum += found.cost;
            best_sum += best;
        }
        // Measured: 1.5 per cent above the best there is.
        assert!(found_sum * 1000 <= best_sum * 1015, "{found_sum} over {best_sum}");
    }
}
