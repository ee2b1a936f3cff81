//! The tensor dialect.

use std::fmt;

use smallvec::SmallVec;

use super::ElementwiseOp;
use crate::data::TensorData;
use crate::types::Dims;

/// A vocabulary of names: the enum, `ALL`, `name`, `from_name` and `Display`.
macro_rules! names {
    ($(#[$doc:meta])* $enum:ident { $($(#[$vdoc:meta])* $name:ident $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $enum { $($(#[$vdoc])* $name,)* }

        impl $enum {
            pub const ALL: &'static [$enum] = &[$($enum::$name,)*];

            pub const fn name(self) -> &'static str {
                match self { $($enum::$name => $text,)* }
            }

            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|op| op.name() == name)
            }
        }

        impl fmt::Display for $enum {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

names! {
    /// What a reduction folds with.
    ReduceOp {
        Add "add";
        Mult "mult";
        /// Larger, NaN suppressed (ISA 10.4).
        Max "max";
        Min "min";
        /// Larger, NaN propagated.
        Maximum "maximum";
        Minimum "minimum";
        BitwiseAnd "bitwise_and";
        BitwiseOr "bitwise_or";
        BitwiseXor "bitwise_xor";
        LogicalAnd "logical_and";
        LogicalOr "logical_or";
        /// Index of the first largest element, `ui32`; a NaN wins.
        Argmax "argmax";
        Argmin "argmin";
    }
}

impl ReduceOp {
    /// True of `argmax` and `argmin`, which give an index.
    pub const fn is_arg(self) -> bool {
        matches!(self, ReduceOp::Argmax | ReduceOp::Argmin)
    }

    pub const fn is_bitwise(self) -> bool {
        matches!(self, ReduceOp::BitwiseAnd | ReduceOp::BitwiseOr | ReduceOp::BitwiseXor)
    }

    /// The operation that combines two elements; none for the arg operations.
    pub const fn combine(self) -> Option<ElementwiseOp> {
        Some(match self {
            ReduceOp::Add => ElementwiseOp::Add,
            ReduceOp::Mult => ElementwiseOp::Mult,
            ReduceOp::Max => ElementwiseOp::Max,
            ReduceOp::Min => ElementwiseOp::Min,
            ReduceOp::Maximum => ElementwiseOp::Maximum,
            ReduceOp::Minimum => ElementwiseOp::Minimum,
            ReduceOp::BitwiseAnd => ElementwiseOp::BitwiseAnd,
            ReduceOp::BitwiseOr => ElementwiseOp::BitwiseOr,
            ReduceOp::BitwiseXor => ElementwiseOp::BitwiseXor,
            ReduceOp::LogicalAnd => ElementwiseOp::LogicalAnd,
            ReduceOp::LogicalOr => ElementwiseOp::LogicalOr,
            ReduceOp::Argmax | ReduceOp::Argmin => return None,
        })
    }
}

names! {
    /// What a reduction across partitions folds with (ISA 9.13).
    CrossLaneOp {
        Add "add";
        /// Each element times `scale`, then summed; always in fp32.
        Average "average";
        Max "max";
        BitwiseOr "bitwise_or";
        BitwiseAnd "bitwise_and";
        BitwiseXor "bitwise_xor";
    }
}

impl CrossLaneOp {
    pub const fn is_bitwise(self) -> bool {
        matches!(self, CrossLaneOp::BitwiseOr | CrossLaneOp::BitwiseAnd | CrossLaneOp::BitwiseXor)
    }
}

names! {
    /// Which axis a cross-lane reduction folds.
    CrossLaneAxis {
        /// Dimension 0: `[P, F…]` gives `[1, F…]`.
        Partitions "partitions";
        /// Everything: the result has rank 0.
        All "all";
    }
}

names! {
    /// Where a scan starts.
    Seed {
        /// The identity of the second operation.
        Zero "zero";
        /// The last operand.
        Load "load";
    }
}

names! {
    /// What a scan gives.
    Emit {
        /// Every accumulator value.
        All "all";
        /// The last one only: the last dimension becomes 1.
        Final "final";
    }
}

/// `start:limit:stride` of one dimension; `limit` is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SliceRange {
    pub start: u64,
    pub limit: u64,
    pub stride: u64,
}

/// Padding of one dimension: elements before and after (negative ones crop),
/// and between neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PadAmounts {
    pub low: i64,
    pub high: i64,
    pub interior: u64,
}

/// An operation of the tensor dialect. Operands stand in `Op::operands`, in the
/// order of the text; the result's type in the value.
#[derive(Clone, Debug, PartialEq)]
pub enum TensorOp {
    /// Operands broadcast as in NumPy.
    Elementwise(ElementwiseOp),
    /// Machine conversion (ISA 10.3): nearest even, integers saturate.
    Cast,
    /// Integer to integer, modulo 2ⁿ.
    Wrap,
    /// Float to integer toward zero, saturating, NaN to 0.
    ToInt,
    /// The same bits under another type.
    Bitcast,
    /// Fold the listed dimensions; `keep` leaves them with size 1; `negate`
    /// changes the sign of the result.
    Reduce {
        op: ReduceOp,
        dims: Dims,
        keep: bool,
        negate: bool,
    },
    /// Fold across partitions; `scale` only with `average`.
    PartitionReduce {
        op: CrossLaneOp,
        axis: CrossLaneAxis,
        scale: Option<f32>,
    },
    /// `result.dim[i] = operand.dim[perm[i]]`.
    Transpose {
        perm: Dims,
    },
    /// Along the last dimension: `acc = acc OP1 (a[i] OP0 s)`. Operands: `a`, `s`,
    /// and the seed when it is loaded.
    ScanCache {
        op0: ElementwiseOp,
        op1: ElementwiseOp,
        seed: Seed,
        emit: Emit,
    },
    /// Operand dimension `i` is dimension `dims[i]` of the result.
    Broadcast {
        dims: Dims,
    },
    Reshape,
    Slice {
        ranges: SmallVec<[SliceRange; 4]>,
    },
    Concat {
        dim: usize,
    },
    /// Operands: the tensor and the scalar to pad with.
    Pad {
        amounts: SmallVec<[PadAmounts; 4]>,
    },
    Reverse {
        dims: Dims,
    },
    /// Each element is its index along `dim`. No operands.
    Iota {
        dim: usize,
    },
    /// No operands.
    Constant(TensorData),
    /// Transposes 32 × 32 blocks and reduces (ISA 9.6): `a` is `[P, F]`, both
    /// multiples of 32 and `P <= 128`; the result is `[P/32, 32, F/32]` with
    /// `y[b, j, k] = op over i in 0..32 of a[32·b + i, 32·k + j]`.
    TransposeReduce {
        op: ReduceOp,
        negate: bool,
    },
    /// Two elementwise operations in one, nothing rounded between them: with
    /// `t = a OP0 b`, the result is `t OP1 c`, or `c OP1 t` when reversed (ISA
    /// 9.14, 9.19). Operands: those of `OP0`, then the other one of `OP1`.
    ///
    /// Arithmetic reads every operand as fp32, of whatever type it is; literals
    /// are fp32. Bit operations have one type throughout.
    Pair {
        op0: ElementwiseOp,
        op1: ElementwiseOp,
        reverse: bool,
    },
    /// The last two dimensions change places, and two operations with scalars are
    /// done on the way (ISA 9.16): of `a` as [`TensorOp::Pair`] does them, the other
    /// operands being literals. `a` is `[…, P, F]`, both at least 32, the result
    /// `[…, F, P]`. Two times `copy` moves the bits as they are (ISA 9.12).
    TransposePair {
        op0: ElementwiseOp,
        op1: ElementwiseOp,
        reverse: bool,
    },
}

impl TensorOp {
    /// The transpose of the last two of several dimensions.
    pub fn transpose_of_last(rank: usize) -> Self {
        let mut perm: Dims = (0..rank).collect();
        if let [.., a, b] = perm.as_mut_slice() {
            std::mem::swap(a, b);
        }
        Self::Transpose { perm }
    }
}

macro_rules! tensor_op_names {
    ($($pattern:pat => $name:ident $text:literal;)*) => {
        /// The kinds of tensor operations, for tables and messages.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum TensorOpName { $($name,)* }

        impl TensorOpName {
            pub const ALL: &'static [TensorOpName] = &[$(TensorOpName::$name,)*];

            /// The name without the dialect.
            pub const fn name(self) -> &'static str {
                match self { $(TensorOpName::$name => $text,)* }
            }

            /// The name with the dialect.
            pub const fn full(self) -> &'static str {
                match self { $(TensorOpName::$name => concat!("tensor.", $text),)* }
            }
        }

        impl TensorOp {
            pub const fn kind_name(&self) -> TensorOpName {
                match self { $($pattern => TensorOpName::$name,)* }
            }
        }
    };
}

tensor_op_names! {
    TensorOp::Elementwise(_) => Elementwise "elementwise";
    TensorOp::Cast => Cast "cast";
    TensorOp::Wrap => Wrap "wrap";
    TensorOp::ToInt => ToInt "to_int";
    TensorOp::Bitcast => Bitcast "bitcast";
    TensorOp::Reduce { .. } => Reduce "reduce";
    TensorOp::PartitionReduce { .. } => PartitionReduce "partition_reduce";
    TensorOp::Transpose { .. } => Transpose "transpose";
    TensorOp::ScanCache { .. } => ScanCache "scan_cache";
    TensorOp::Broadcast { .. } => Broadcast "broadcast";
    TensorOp::Reshape => Reshape "reshape";
    TensorOp::Slice { .. } => Slice "slice";
    TensorOp::Concat { .. } => Concat "concat";
    TensorOp::Pad { .. } => Pad "pad";
    TensorOp::Reverse { .. } => Reverse "reverse";
    TensorOp::Iota { .. } => Iota "iota";
    TensorOp::Constant(_) => Constant "constant";
    TensorOp::TransposeReduce { .. } => TransposeReduce "transpose_reduce";
    TensorOp::Pair { .. } => Pair "pair";
    TensorOp::TransposePair { .. } => TransposePair "transpose_pair";
}
