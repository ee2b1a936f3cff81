//! Placement: every tile gets an address, every operation absolute ones.
//!
//! On the chip, tiles start at partition 0 and differ only in the byte at which they start, so
//! placement is one-dimensional: a tile takes its bytes from its first operation to its last. The
//! search goes on from where the last tile was put, so that memory just freed is the last to be used
//! again and the loads of the next block need not wait for the words of this one. In main memory
//! every buffer has its own place.

mod check;

use std::collections::BTreeMap;

use partita_backend::emit::{HBM_ALIGN, argument_addresses};
use partita_ir::diag::Code;
use partita_ir::entity::{OpId, ValueId};
use partita_ir::ops::{MachineOp, OpKind};
use partita_ir::{Diagnostic, Func, Operand, Space, ValueDef};
use partita_isa::{Instruction, Target, Word};

use crate::scratch::SCRATCH_BYTES;
use crate::tile::MAIN_MEMORY;

pub use check::{Fault, check};

/// Alignment of tiles within a partition, in bytes.
const ALIGN: u64 = crate::tile::ALIGN;

/// Places the tiles of a function; the result is in the `tpb` dialect.
///
/// # Errors
/// The live tiles do not fit SBUF ([`Code::Capacity`]), or the buffers main memory
/// ([`Code::MainMemory`]).
pub fn place(func: &Func, target: &Target) -> Result<Func, Vec<Diagnostic>> {
    let addresses = addresses(func, target)?;
    let mut placed = func.clone();
    for index in 0..placed.body.len() {
        let id = placed.body[index];
        let op = &mut placed.ops[id];
        let bases: Vec<u64> = op.value_operands().map(|value| addresses[value.index()]).collect();
        match &mut op.kind {
            OpKind::Machine(MachineOp::Alloc { address } | MachineOp::Constant { address, .. }) => {
                *address = op.results.first().map(|value| addresses[value.index()]);
            }
            OpKind::Machine(MachineOp::Inst(inst)) => {
                for (field, base) in inst.fields.iter().zip(&bases) {
                    inst.inst = rebase(&inst.inst, field, *base);
                }
                inst.fields.clear();
                op.operands.clear();
            }
            OpKind::Machine(MachineOp::Dma(dma)) => {
                for (field, base) in dma.fields.iter().zip(&bases) {
                    let end = if *field == "src" { &mut dma.desc.src } else { &mut dma.desc.dst };
                    end.addr = end.addr.wrapping_add(*base);
                }
                dma.fields.clear();
                op.operands.clear();
            }
            _ => {}
        }
    }
    debug_assert_eq!(check(func, &placed, target), Ok(()));
    Ok(placed)
}

/// Adds to an address field.
fn rebase(inst: &Instruction, field: &str, base: u64) -> Instruction {
    let Some(field) = inst.opcode().and_then(|opcode| opcode.info().layout().field(field)) else {
        return *inst;
    };
    let Word(mut bytes) = inst.encode();
    if let Some(slot) = bytes
        .get_mut(field.offset..field.offset + 4)
        .and_then(|slot| <&mut [u8; 4]>::try_from(slot).ok())
    {
        *slot = u32::from_le_bytes(*slot).wrapping_add(base as u32).to_le_bytes();
    }
    Instruction::decode(&Word(bytes))
}

/// Says whether every tile finds its place.
///
/// # Errors
/// As [`place`].
pub fn can_place(func: &Func, target: &Target) -> Result<(), Vec<Diagnostic>> {
    addresses(func, target).map(|_| ())
}

/// The address of every tile, by value.
fn addresses(func: &Func, target: &Target) -> Result<Vec<u64>, Vec<Diagnostic>> {
    let mut out = vec![0; func.values.len()];
    let (arguments, mut hbm) = argument_addresses(func).ok_or_else(|| vec![no_arguments(func)])?;
    let mut in_hbm = |value: ValueId| -> Option<u64> {
        let bytes = func.ty(value).as_tile()?.bytes_per_partition()?;
        let at = hbm;
        hbm = hbm.checked_add(bytes)?.checked_next_multiple_of(HBM_ALIGN)?;
        (hbm <= MAIN_MEMORY).then_some(at)
    };
    let lives = lifetimes(func);
    let mut chip = Arena::new(target.generation.sbuf_usable().saturating_sub(SCRATCH_BYTES));
    for (&arg, address) in func.args.iter().zip(arguments) {
        out[arg.index()] = address;
    }
    for (at, &id) in func.body.iter().enumerate() {
        let allocated = matches!(
            func.ops[id].kind,
            OpKind::Machine(MachineOp::Alloc { .. } | MachineOp::Constant { .. })
        );
        let Some(value) = func.ops[id].result().filter(|_| allocated) else { continue };
        let Some(tile) = func.ty(value).as_tile() else { continue };
        if tile.space == Space::Hbm {
            out[value.index()] = in_hbm(value).ok_or_else(|| vec![too_large(func, value)])?;
            continue;
        }
        let Some(life) = lives[value.index()] else { continue };
        let bytes = tile.bytes_per_partition().ok_or_else(|| vec![too_large(func, value)])?;
        chip.free_before(at);
        let address = chip.take(bytes.next_multiple_of(ALIGN), life.last);
        out[value.index()] = address.ok_or_else(|| vec![no_room(func, id, bytes, target)])?;
    }
    Ok(out)
}

/// First and last operation that names a tile, by position in the body.
#[derive(Clone, Copy, Debug)]
struct Life {
    last: usize,
}

fn lifetimes(func: &Func) -> Vec<Option<Life>> {
    let mut out: Vec<Option<Life>> = vec![None; func.values.len()];
    for (at, (_, op)) in func.body_ops().enumerate() {
        for operand in &op.operands {
            if let Operand::Value(value) = operand {
                out[value.index()] = Some(Life { last: at });
            }
        }
    }
    out
}

/// Free and taken bytes of a partition.
struct Arena {
    size: u64,
    /// Start and length of free ranges, not touching each other.
    free: BTreeMap<u64, u64>,
    /// Ranges to free after an operation.
    ends: BTreeMap<usize, Vec<(u64, u64)>>,
    /// Where the search begins.
    next: u64,
}

impl Arena {
    fn new(size: u64) -> Self {
        Self { size, free: BTreeMap::from([(0, size)]), ends: BTreeMap::new(), next: 0 }
    }

    /// Frees what no operation from `at` on names.
    fn free_before(&mut self, at: usize) {
        while let Some(entry) = self.ends.first_entry() {
            if *entry.key() >= at {
                break;
            }
            for (start, len) in entry.remove() {
                self.give_back(start, len);
            }
        }
    }

    fn give_back(&mut self, mut start: u64, mut len: u64) {
        if let Some((&before, &size)) = self.free.range(..start).next_back()
            && before + size == start
        {
            self.free.remove(&before);
            (start, len) = (before, size + len);
        }
        if let Some(after) = self.free.remove(&(start + len)) {
            len += after;
        }
        self.free.insert(start, len);
    }

    /// The first free range after the last one taken, else the first at all.
    fn take(&mut self, bytes: u64, last: usize) -> Option<u64> {
        if bytes > self.size {
            return None;
        }
        let from = self.next;
        let ahead =
            self.free.range(from..).find(|&(_, &len)| len >= bytes).map(|(&start, _)| start);
        // The rest of the range that the search begins within.
        let within = self
            .free
            .range(..from)
            .next_back()
            .filter(|&(&start, &len)| start + len >= from + bytes);
        let at = match (within, ahead) {
            (Some(_), _) => from,
            (None, Some(start)) => start,
            (None, None) => {
                self.free.iter().find(|&(_, &len)| len >= bytes).map(|(&start, _)| start)?
            }
        };
        let (&start, &len) = self.free.range(..=at).next_back()?;
        self.free.remove(&start);
        if at > start {
            self.free.insert(start, at - start);
        }
        let rest = start + len - (at + bytes);
        if rest > 0 {
            self.free.insert(at + bytes, rest);
        }
        self.ends.entry(last).or_default().push((at, bytes));
        self.next = at + bytes;
        Some(at)
    }
}

fn span_of_value(func: &Func, value: ValueId) -> partita_ir::Span {
    match func.values[value].def {
        ValueDef::Op(op) => span_of(func, op),
        _ => func.spans.value(value),
    }
}

fn span_of(func: &Func, op: OpId) -> partita_ir::Span {
    func.spans.op(op).map(|spans| spans.whole).unwrap_or_default()
}

fn no_arguments(func: &Func) -> Diagnostic {
    let message = "the arguments are not buffers in main memory of fewer than 2^63 bytes in all";
    Diagnostic::error(Code::MainMemory, message, func.spans.name)
}

fn too_large(func: &Func, value: ValueId) -> Diagnostic {
    let name = &func.values[value].name;
    let message = format!("with `%{name}` the buffers pass {MAIN_MEMORY} bytes of main memory");
    Diagnostic::error(Code::MainMemory, message, span_of_value(func, value))
}

fn no_room(func: &Func, op: OpId, bytes: u64, target: &Target) -> Diagnostic {
    let message = format!(
        "no room for {bytes} bytes a partition among the {} usable ones",
        target.generation.sbuf_usable()
    );
    Diagnostic::error(Code::Capacity, message, span_of(func, op))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_bytes_are_the_last_to_be_used_again() {
        let mut arena = Arena::new(300);
        assert_eq!(arena.take(100, 1), Some(0));
        arena.free_before(2);
        assert_eq!(arena.take(100, 3), Some(100));
        assert_eq!(arena.take(100, 5), Some(200));
        arena.free_before(4);
        // Bytes 0 to 200 are free and touch; the search wraps around.
        assert_eq!(arena.take(200, 9), Some(0));
        assert_eq!(arena.take(1, 9), None);
    }

    #[test]
    fn neighbours_join_when_freed() {
        let mut arena = Arena::new(128);
        for (bytes, last) in [(32, 0), (32, 1), (64, 2)] {
            arena.take(bytes, last).expect("room");
        }
        arena.free_before(3);
        assert_eq!(arena.free, BTreeMap::from([(0, 128)]));
    }
}
