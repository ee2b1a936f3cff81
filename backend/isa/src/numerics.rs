//! Which domain an instruction computes in (ISA 10.1, rules N-1 to N-8).

use crate::alu::AluOp;
use crate::dtype::Dtype;
use crate::enums::ReduceOp;
use crate::opcode::Opcode;
use crate::target::Engine;

/// What the elements are while they are computed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Bits moved unchanged, NaN payloads too (N-2).
    Moved,
    /// Raw bits at operand width (N-1).
    Bits,
    /// fp32: converted in, one rounding per ALU step, converted out once (N-3, N-6, N-7).
    Fp32,
    /// Wrapping integers of 32 or 64 bits (N-4, N-5, N-8).
    Integer { signed: bool, bits: u8 },
}

/// How an opcode chooses its domain: a column of the opcode table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numerics {
    /// Raw bits (N-1).
    Bits,
    /// Bits moved unchanged (N-2).
    Moved,
    /// Moved between equal types, else through fp32 (N-7).
    MovedIfSame,
    /// As the operations say: fp32, or integers with one of the integer band (N-3, N-6 to N-8).
    Alu,
    /// As `Alu`, and POOL adds, subtracts and multiplies wide integers natively (N-4).
    NativeOnPool,
    /// As [`Domain::of_cross_lane`] says (N-5).
    CrossLane,
}

impl Domain {
    /// Whether every 32-bit integer goes through without rounding (ISA 11.3).
    pub const fn is_exact_on_int32(self) -> bool {
        !matches!(self, Self::Fp32)
    }

    const fn integer_of(dtype: Dtype) -> Self {
        let bits = if dtype.is_64_bit() { 64 } else { 32 };
        Self::Integer { signed: dtype.is_signed_int(), bits }
    }

    /// The domain of a legal instruction on an engine. `ops` are its ALU operations; the cross-lane
    /// reduces, whose operation is no ALU_OP, are asked for with [`Domain::of_cross_lane`].
    pub fn of(
        opcode: Opcode,
        engine: Engine,
        ops: &[AluOp],
        inputs: &[Dtype],
        output: Dtype,
    ) -> Self {
        let first = inputs.first().copied().unwrap_or(output);
        let numerics = opcode.info().numerics;
        match numerics {
            Numerics::Bits => return Self::Bits,
            Numerics::Moved => return Self::Moved,
            Numerics::MovedIfSame if first == output => return Self::Moved,
            Numerics::MovedIfSame | Numerics::CrossLane => return Self::Fp32,
            Numerics::Alu | Numerics::NativeOnPool => {}
        }
        let native = numerics == Numerics::NativeOnPool
            && engine == Engine::Pool
            && ops.iter().all(|&op| is_native_on_pool(op))
            && inputs
                .iter()
                .chain([&output])
                .all(|dtype| dtype.is_int() && dtype.size() == first.size() && dtype.size() >= 4);
        if native || ops.iter().any(|op| op.is_int() || op.is_tensor_reduce_int()) {
            Self::integer_of(first)
        } else {
            Self::Fp32
        }
    }

    /// The domain of a cross-lane reduce.
    pub fn of_cross_lane(opcode: Opcode, op: ReduceOp, input: Dtype) -> Self {
        match op {
            _ if opcode.is_bitvec() => Self::Bits,
            ReduceOp::Add | ReduceOp::Max if input.is_int() => Self::integer_of(input),
            _ => Self::Fp32,
        }
    }
}

/// Base-band operations that POOL computes on integers when all three dtypes are integers of one of
/// the two wide widths (N-4).
const fn is_native_on_pool(op: AluOp) -> bool {
    matches!(op, AluOp::Add | AluOp::Subtract | AluOp::Mult)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pool_adds_wide_integers_natively_and_dve_through_fp32() {
        let of = |engine, dtype| {
            Domain::of(Opcode::TensorTensorArithOp, engine, &[AluOp::Add], &[dtype, dtype], dtype)
        };
        let signed = |bits| Domain::Integer { signed: true, bits };
        assert_eq!(of(Engine::Pool, Dtype::Int32), signed(32));
        assert_eq!(of(Engine::Pool, Dtype::Int64), signed(64));
        assert_eq!(of(Engine::Dve, Dtype::Int32), Domain::Fp32);
        assert_eq!(of(Engine::Pool, Dtype::Int16), Domain::Fp32);
        assert_eq!(of(Engine::Pool, Dtype::Fp32), Domain::Fp32);
    }

    #[test]
    fn integer_band_follows_the_signedness_of_the_input() {
        let scan = Domain::of(
            Opcode::TensorCumulativeArithOp,
            Engine::Dve,
            &[AluOp::AddInt],
            &[Dtype::Uint8],
            Dtype::Uint16,
        );
        assert_eq!(scan, Domain::Integer { signed: false, bits: 32 });
    }

    #[test]
    fn average_is_fp32_for_every_dtype() {
        let of = |op| Domain::of_cross_lane(Opcode::CrossLaneReduceArith, op, Dtype::Int8);
        assert_eq!(of(ReduceOp::Average), Domain::Fp32);
        assert_eq!(of(ReduceOp::Max), Domain::Integer { signed: true, bits: 32 });
    }

    #[test]
    fn a_cast_to_the_same_type_moves_bits() {
        let of = |from, to| Domain::of(Opcode::Cast, Engine::Dve, &[AluOp::Bypass], &[from], to);
        assert_eq!(of(Dtype::Int32, Dtype::Int32), Domain::Moved);
        assert_eq!(of(Dtype::Int32, Dtype::Uint32), Domain::Fp32);
    }
}
