//! Operations of the `tile` and `tpb` dialects.

use partita_isa::FieldKind;

use super::FuncVerifier;
use crate::diag::{Code, Diagnostic, Span};
use crate::entity::OpId;
use crate::module::{Op, OpSpans};
use crate::ops::{InstOp, MachineOp};
use crate::types::{Space, TileType, Type};

impl FuncVerifier<'_> {
    pub(super) fn machine_op(&mut self, id: OpId, op: &Op, kind: &MachineOp) {
        let none = OpSpans::default();
        let spans = self.func.spans.op(id).unwrap_or(&none);
        match kind {
            MachineOp::Alloc { .. } => self.alloc(id, op, spans.ty),
            MachineOp::Constant { data, .. } => {
                self.alloc(id, op, spans.ty);
                let expected =
                    TileType::new(Space::Hbm, data.shape().iter().copied(), data.dtype());
                let ty = op
                    .result()
                    .and_then(|result| self.func.values.get(result))
                    .map(|value| &value.ty);
                if let Some(Type::Tile(tile)) = ty
                    && *tile != expected
                {
                    let message = format!("the result is `{expected}`, not `{tile}`");
                    self.report(Diagnostic::error(Code::ResultShape, message, spans.ty), Some(id));
                }
            }
            MachineOp::Inst(inst) => {
                if let Err(message) = fields(inst, op) {
                    self.report(Diagnostic::error(Code::TileRef, message, spans.whole), Some(id));
                }
                if inst.engine.is_none() && inst.fields.is_empty() {
                    let message = "an instruction at absolute addresses names its engine";
                    self.report(
                        Diagnostic::error(Code::Instruction, message, spans.name),
                        Some(id),
                    );
                }
                self.tiles(id, op);
            }
            MachineOp::Dma(dma) => {
                if dma.fields.len() != op.operands.len()
                    || !op.results.is_empty()
                    || !matches!(
                        dma.fields.as_slice(),
                        [] | ["src" | "dst"] | ["src", "dst"] | ["dst", "src"]
                    )
                {
                    let message =
                        "a transfer has no results, and at most one tile for `src` and `dst` each";
                    self.report(Diagnostic::error(Code::TileRef, message, spans.whole), Some(id));
                }
                self.tiles(id, op);
            }
        }
    }

    fn alloc(&mut self, id: OpId, op: &Op, span: Span) {
        let Some(result) = op.result().and_then(|result| self.func.values.get(result)) else {
            let error =
                Diagnostic::error(Code::OperandCount, "an allocation has exactly one result", span);
            return self.report(error, Some(id));
        };
        match &result.ty {
            Type::Tile(_) => self.limits(&result.ty, span, Some(id)),
            Type::Tensor(_) => {
                let message = format!("an allocation makes a tile, not a `{}`", result.ty);
                self.report(Diagnostic::error(Code::ValueKind, message, span), Some(id));
            }
        }
    }

    /// Every operand names a tile.
    fn tiles(&mut self, id: OpId, op: &Op) {
        for (index, operand) in op.operands.iter().enumerate() {
            let ty = operand
                .value()
                .and_then(|value| self.func.values.get(value))
                .map(|value| &value.ty);
            if !matches!(ty, Some(Type::Tile(_))) {
                let span = self.operand_span(id, index);
                let error =
                    Diagnostic::error(Code::ValueKind, "an instruction works on tiles", span);
                self.report(error, Some(id));
            }
        }
    }
}

/// Each tile is the base of one address field of the instruction.
fn fields(inst: &InstOp, op: &Op) -> Result<(), String> {
    if inst.fields.len() != op.operands.len() || !op.results.is_empty() {
        return Err("an instruction has no results, and one field for each tile".to_owned());
    }
    for (index, name) in inst.fields.iter().enumerate() {
        let field = inst.inst.opcode().and_then(|opcode| opcode.info().layout().field(name));
        let holds_address = field.is_some_and(|field| {
            matches!(field.kind, FieldKind::Pattern(_) | FieldKind::Immediate { .. })
        });
        if !holds_address {
            return Err(format!("the instruction has no address field `{name}`"));
        }
        if inst.fields[..index].contains(name) {
            return Err(format!("`{name}` is relative to two tiles"));
        }
    }
    Ok(())
}
