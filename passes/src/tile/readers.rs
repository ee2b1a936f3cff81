//! Who computes with a value, seen through movement.

use partita_ir::Func;
use partita_ir::entity::{OpId, ValueId};
use smallvec::SmallVec;

use crate::select::is_movement;

/// For each value that is computed or an argument: the operations that compute with it, and whether it, or what
/// it is moved to, is returned.
#[derive(Debug)]
pub struct Readers {
    ops: Vec<SmallVec<[OpId; 2]>>,
    returned: Vec<bool>,
    computed: Vec<bool>,
}

/// A value that is put together from more than this is taken to be read by nobody further down.
const MOST_ROOTS: usize = 16;

impl Readers {
    pub fn new(func: &Func) -> Self {
        let count = func.values.len();
        let mut out = Self {
            ops: vec![SmallVec::new(); count],
            returned: vec![false; count],
            computed: vec![false; count],
        };
        // What each moved value is made of.
        let mut roots: Vec<SmallVec<[ValueId; 2]>> = vec![SmallVec::new(); count];
        let under = |roots: &[SmallVec<[ValueId; 2]>], value: ValueId| match &roots[value.index()] {
            under if under.is_empty() => SmallVec::from_slice(&[value]),
            under => under.clone(),
        };
        for (id, op) in func.body_ops() {
            let mut read: SmallVec<[ValueId; 2]> = SmallVec::new();
            for value in op.value_operands() {
                read.extend(under(&roots, value));
            }
            read.sort_unstable();
            read.dedup();
            match op.result().filter(|_| is_movement(func, op)) {
                Some(result) => {
                    out.computed[result.index()] =
                        read.iter().any(|root| out.computed[root.index()]);
                    read.truncate(MOST_ROOTS);
                    roots[result.index()] = read;
                }
                None => {
                    op.results.iter().for_each(|value| out.computed[value.index()] = true);
                    for value in read.into_iter().filter(|_| op.result().is_some()) {
                        out.ops[value.index()].push(id);
                    }
                }
            }
        }
        for value in func.returned() {
            for value in under(&roots, value) {
                out.returned[value.index()] = true;
            }
        }
        out
    }

    pub fn of(&self, value: ValueId) -> &[OpId] {
        self.ops.get(value.index()).map_or(&[], SmallVec::as_slice)
    }

    /// True of what an operation computes, and of what that is moved to.
    pub fn computed(&self, value: ValueId) -> bool {
        self.computed.get(value.index()).copied().unwrap_or(false)
    }

    pub fn returned(&self, value: ValueId) -> bool {
        self.returned.get(value.index()).copied().unwrap_or(false)
    }
}
