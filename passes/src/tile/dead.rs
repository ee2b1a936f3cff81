//! Removes stores to buffers that nothing reads.

use partita_ir::entity::ValueId;
use partita_ir::ops::{MachineOp, OpKind};
use partita_ir::{Func, Op, Space};

/// Drops transfers into buffers in main memory that are neither read nor results, and the
/// buffers.
pub fn remove_dead_stores(func: &mut Func) {
    let mut reads = vec![0u32; func.values.len()];
    for value in func.returned() {
        reads[value.index()] += 1;
    }
    for &arg in &func.args {
        reads[arg.index()] += 1;
    }
    for (_, op) in func.body_ops() {
        for value in read_by(op) {
            reads[value.index()] += 1;
        }
    }
    let mut keep = vec![true; func.body.len()];
    // Later transfers first: what they read may be read by nothing else.
    for (at, (_, op)) in func.body_ops().enumerate().collect::<Vec<_>>().into_iter().rev() {
        let written = match &op.kind {
            OpKind::Machine(MachineOp::Dma(_)) => op.operands.get(1).and_then(|to| to.value()),
            OpKind::Machine(MachineOp::Alloc { .. }) => op.result(),
            _ => None,
        };
        let Some(written) = written else { continue };
        let in_memory = func.ty(written).as_tile().is_some_and(|ty| ty.space == Space::Hbm);
        if in_memory && reads[written.index()] == 0 {
            keep[at] = false;
            for value in read_by(op) {
                reads[value.index()] -= 1;
            }
        }
    }
    let mut kept = keep.into_iter();
    func.body.retain(|_| kept.next().unwrap_or(true));
}

/// What an operation reads in main memory or, in part, writes there.
fn read_by(op: &Op) -> Vec<ValueId> {
    match &op.kind {
        OpKind::Machine(MachineOp::Dma(_)) => {
            op.operands.first().and_then(|from| from.value()).into_iter().collect()
        }
        OpKind::Machine(MachineOp::Alloc { .. } | MachineOp::Constant { .. }) => Vec::new(),
        _ => op.value_operands().collect(),
    }
}
