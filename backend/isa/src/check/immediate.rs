//! Immediates (ISA 8.1) and shifts (ISA 8.2).

use super::address::{start_fits, starts_allowed};
use super::checker::{Checker, Under};
use crate::address::{ADDRESS_MASK, Location, REGISTERS};
use crate::alu::AluOp;
use crate::dtype::Dtype;
use crate::enums::ImmSrc;
use crate::field::Field;
use crate::rule;

/// How an immediate in the word is read.
#[derive(Clone, Copy)]
pub(super) enum Scalar {
    /// fp32: any bits; pointers are 4-byte aligned.
    Fp32,
    /// Of this dtype; `None` when the dtype is not a legal one, and width is then not tested.
    Of(Option<Dtype>),
    /// 0 or 1 (SEL-4), with pointers to this dtype.
    Truth(Option<Dtype>),
}

impl Scalar {
    /// Alignment of a pointer to it.
    fn align(self) -> u32 {
        match self {
            Self::Fp32 => 4,
            Self::Of(dtype) | Self::Truth(dtype) => dtype.map_or(1, |dtype| dtype.size() as u32),
        }
    }
}

/// An immediate with its source field.
#[derive(Clone, Copy)]
pub(super) struct Immediate {
    pub bits: u32,
    pub field: &'static Field,
    pub source: u8,
    pub source_field: &'static Field,
}

impl Immediate {
    /// 0 in the word: what an unused immediate is.
    pub const fn is_zero(&self) -> bool {
        self.bits == 0 && self.source == ImmSrc::Instruction as u8
    }
}

impl Checker<'_> {
    /// IMM-1 to IMM-5.
    pub(super) fn immediate(
        &mut self,
        imm: Immediate,
        scalar: Scalar,
        channels: Option<u32>,
        under: Under,
    ) {
        match ImmSrc::from_code(imm.source) {
            None => self.fail_inside(under, &[&rule::IMM_1], imm.source_field, move || {
                ImmSrc::TABLE.listing()
            }),
            Some(ImmSrc::Instruction) => match scalar {
                Scalar::Of(Some(dtype))
                    if dtype.size() < 4 && imm.bits >> (8 * dtype.size()) != 0 =>
                {
                    self.fail_inside(under, &[&rule::IMM_3], imm.field, move || {
                        format!("{} bytes", dtype.size())
                    });
                }
                Scalar::Truth(_) if imm.bits > 1 => {
                    self.fail(under, imm.field, move || "0 or 1".into())
                }
                _ => {}
            },
            Some(ImmSrc::Pointer) => self.pointer(imm, scalar, channels, under),
            Some(ImmSrc::RegPointer) => {
                if imm.bits >= REGISTERS {
                    self.fail_inside(under, &[&rule::IMM_5], imm.field, move || "r0 to r63".into());
                }
            }
        }
    }

    /// IMM-4.
    pub(super) fn pointer(
        &mut self,
        imm: Immediate,
        scalar: Scalar,
        channels: Option<u32>,
        under: Under,
    ) {
        let location = (imm.bits <= ADDRESS_MASK)
            .then(|| Location::of(imm.bits, self.generation))
            .flatten()
            .filter(|at| u64::from(at.byte) < at.memory.active(self.generation));
        let Some(location) = location else {
            self.fail_inside(under, &[&rule::IMM_4], imm.field, move || {
                "an immediate address in SBUF or PSUM".into()
            });
            return;
        };
        if imm.bits & (scalar.align() - 1) != 0 {
            self.fail_inside(under, &[&rule::IMM_4], imm.field, move || {
                format!("a multiple of {}", scalar.align())
            });
        }
        if let Some(channels) = channels
            && !start_fits(location.partition, channels)
        {
            self.fail_inside(under, &[&rule::IMM_4, &rule::CH_3], imm.field, move || {
                format!("{} for {channels} channels", starts_allowed(channels))
            });
        }
    }

    /// TS-15: a warning for an immediate that its operation ignores.
    pub(super) fn unused_immediate(&mut self, op: Option<AluOp>, imm: Immediate) {
        let ignored = op.is_some_and(|op| op == AluOp::Bypass || op.arity() == 1);
        if ignored && !imm.is_zero() {
            self.warn(&rule::TS_15, imm.field, || "0: the operation ignores it".into());
        }
    }

    /// SHF-1, SHF-2.
    pub(super) fn shifts(
        &mut self,
        ops: [Option<AluOp>; 2],
        fields: [&'static Field; 2],
        dtype: Option<Dtype>,
        under: Under,
    ) {
        if dtype.is_none_or(|dtype| dtype.size() == 4) {
            return;
        }
        if let [Some(first), Some(second)] = ops
            && first.is_left_shift()
            && second.is_right_shift()
        {
            self.fail_inside(under, &[&rule::SHF_1], fields[1], move || {
                "a 4-byte data type".into()
            });
        }
        for (op, field) in ops.into_iter().zip(fields) {
            if op == Some(AluOp::ArithShiftRight) {
                self.fail_inside(under, &[&rule::SHF_2], field, move || {
                    "a 4-byte data type".into()
                });
            }
        }
    }
}
