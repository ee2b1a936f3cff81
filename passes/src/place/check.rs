//! An independent check of a placement, by what it does: whoever reads a tile must find it undisturbed.
//!
//! The function is walked in order. For each small piece of a partition it is noted which tile wrote there last. A
//! tile takes its bytes when it is first named; from then on to its last use they must still be its own. Addresses
//! are read off the placed words, each of which must lie as far into its tile as before. Nothing is shared with the
//! placement. The cost is bytes times operations, so it is for tests and debug builds.

use std::fmt;

use partita_backend::cost::View;
use partita_ir::entity::ValueId;
use partita_ir::ops::{MachineOp, OpKind};
use partita_ir::{Func, Space};
use partita_isa::Target;

/// How a placement is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Not the same operations.
    Operations,
    /// A tile or buffer without an address, or not aligned.
    Address { value: String },
    /// A tile that reaches past the usable bytes of a partition.
    Outside { value: String },
    /// A tile in use of which another one took bytes.
    Overwritten { op: usize, value: String, by: String },
    /// Two buffers in main memory share bytes.
    Buffers { value: String, with: String },
    /// An operation does not address the tiles that it names.
    Addressed { op: usize },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Operations => {
                f.write_str("the placed function does not have the same operations")
            }
            Fault::Address { value } => write!(f, "`%{value}` has no address, or a crooked one"),
            Fault::Outside { value } => write!(f, "`%{value}` reaches past the usable bytes"),
            Fault::Overwritten { op, value, by } => {
                write!(f, "at operation {op} bytes of `%{value}` are `%{by}`'s")
            }
            Fault::Buffers { value, with } => write!(f, "`%{value}` and `%{with}` share bytes"),
            Fault::Addressed { op } => write!(f, "operation {op} addresses something else"),
        }
    }
}

/// Tiles start at multiples of so many bytes, so that none of these pieces has two owners.
const PIECE: u64 = 64;

/// Checks the placement of a function of the tile dialect.
///
/// # Errors
/// The first fault that is found.
pub fn check(func: &Func, placed: &Func, target: &Target) -> Result<(), Fault> {
    if func.body != placed.body {
        return Err(Fault::Operations);
    }
    let usable = target.generation.sbuf_usable();
    let addresses = addresses(func, placed)?;
    buffers(func, &addresses)?;
    let name = |value: ValueId| func.values[value].name.to_string();
    let mut owners: Vec<Option<ValueId>> = vec![None; usable.div_ceil(PIECE) as usize];
    let mut begun = vec![false; func.values.len()];
    for (at, (id, op)) in func.body_ops().enumerate() {
        let OpKind::Machine(machine @ (MachineOp::Inst(_) | MachineOp::Dma(_))) = &op.kind else {
            continue;
        };
        let tiles = || op.value_operands().filter(|&value| on_chip(func, value));
        let pieces = |value: ValueId| {
            let bytes = func.ty(value).as_tile().and_then(|tile| tile.bytes_per_partition());
            let start = addresses[value.index()];
            let end = start.saturating_add(bytes.unwrap_or(u64::MAX));
            let inside = end <= usable;
            inside.then(|| (start / PIECE) as usize..end.div_ceil(PIECE) as usize)
        };
        for value in tiles() {
            let pieces = pieces(value).ok_or_else(|| Fault::Outside { value: name(value) })?;
            if !std::mem::replace(&mut begun[value.index()], true) {
                owners[pieces].fill(Some(value));
            }
        }
        // What begins here may not lie on what is used here.
        for value in tiles() {
            let taken = pieces(value).and_then(|pieces| {
                owners[pieces].iter().find(|&&owner| owner != Some(value)).copied().flatten()
            });
            if let Some(by) = taken {
                return Err(Fault::Overwritten { op: at, value: name(value), by: name(by) });
            }
        }
        let bases: Vec<u64> = op.value_operands().map(|value| addresses[value.index()]).collect();
        if !moved_by(machine, &placed.ops[id].kind, bases) {
            return Err(Fault::Addressed { op: at });
        }
    }
    Ok(())
}

fn on_chip(func: &Func, value: ValueId) -> bool {
    func.ty(value).as_tile().is_some_and(|tile| tile.space != Space::Hbm)
}

/// The address of each value: of arguments one after another, of others as the placed function says.
fn addresses(func: &Func, placed: &Func) -> Result<Vec<u64>, Fault> {
    let mut out = vec![0u64; func.values.len()];
    let mut next = 0u64;
    for &arg in &func.args {
        out[arg.index()] = next;
        let bytes = func.ty(arg).as_tile().and_then(|tile| tile.bytes_per_partition()).unwrap_or(0);
        next = (next + bytes).next_multiple_of(PIECE);
    }
    let named: std::collections::BTreeSet<ValueId> =
        func.body_ops().flat_map(|(_, op)| op.value_operands()).collect();
    for (id, op) in func.body_ops() {
        let OpKind::Machine(MachineOp::Alloc { address } | MachineOp::Constant { address, .. }) =
            &placed.ops[id].kind
        else {
            continue;
        };
        for &value in op.results.iter().filter(|value| named.contains(value)) {
            let fault = || Fault::Address { value: func.values[value].name.to_string() };
            let address = address.ok_or_else(fault)?;
            if !address.is_multiple_of(PIECE) {
                return Err(fault());
            }
            out[value.index()] = address;
        }
    }
    Ok(out)
}

/// No two buffers in main memory share bytes.
fn buffers(func: &Func, addresses: &[u64]) -> Result<(), Fault> {
    let results = func.body_ops().flat_map(|(_, op)| op.results.iter().copied());
    let mut spans: Vec<(u64, u64, ValueId)> = func
        .args
        .iter()
        .copied()
        .chain(results)
        .filter_map(|value| {
            let tile = func.ty(value).as_tile().filter(|tile| tile.space == Space::Hbm)?;
            let start = addresses[value.index()];
            Some((start, start.saturating_add(tile.bytes_per_partition()?), value))
        })
        .filter(|(start, end, _)| start < end)
        .collect();
    spans.sort_unstable();
    let name = |value: ValueId| func.values[value].name.to_string();
    match spans.windows(2).find(|pair| pair[0].1 > pair[1].0) {
        Some(pair) => Err(Fault::Buffers { value: name(pair[0].2), with: name(pair[1].2) }),
        None => Ok(()),
    }
}

/// The addresses of an operation have moved by the addresses of its tiles.
fn moved_by(before: &MachineOp, after: &OpKind, mut bases: Vec<u64>) -> bool {
    let starts = |machine: &MachineOp| -> Vec<u64> {
        match machine {
            MachineOp::Inst(inst) => {
                let view = View::of(&inst.inst);
                let operands = view.sources.iter().chain(&view.destination).chain(&view.pointers);
                operands.map(|operand| operand.start.into()).collect()
            }
            MachineOp::Dma(dma) => vec![dma.desc.src.addr, dma.desc.dst.addr],
            _ => Vec::new(),
        }
    };
    let OpKind::Machine(after) = after else { return false };
    let mut moved: Vec<u64> = starts(before)
        .iter()
        .zip(starts(after))
        .map(|(before, after)| after.wrapping_sub(*before))
        .collect();
    moved.sort_unstable();
    bases.sort_unstable();
    // An operand that is no tile does not move.
    let fixed = moved.len().saturating_sub(bases.len());
    bases.splice(0..0, std::iter::repeat_n(0, fixed));
    bases.sort_unstable();
    moved == bases
}
