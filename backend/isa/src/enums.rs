//! The small enumerations of one-byte fields (ISA 2.2 to 2.4, 7).

use std::fmt;

/// The names of a one-byte enumeration, for text and messages.
#[derive(Debug)]
pub struct EnumTable {
    pub name: &'static str,
    pub members: &'static [(u8, &'static str)],
}

impl EnumTable {
    pub fn name_of(&self, code: u8) -> Option<&'static str> {
        self.members.iter().find(|member| member.0 == code).map(|member| member.1)
    }

    /// Every member, for a message.
    pub fn listing(&self) -> String {
        let names: Vec<&str> = self.members.iter().map(|member| member.1).collect();
        names.join(", ")
    }

    pub fn code_of(&self, name: &str) -> Option<u8> {
        self.members.iter().find(|member| member.1.eq_ignore_ascii_case(name)).map(|m| m.0)
    }
}

macro_rules! byte_enum {
    ($(#[$doc:meta])* $enum:ident $table:literal { $($code:literal $variant:ident $name:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $enum {
            $(#[doc = $name] $variant = $code,)*
        }

        impl $enum {
            pub const ALL: &[Self] = &[$(Self::$variant),*];
            pub const TABLE: EnumTable =
                EnumTable { name: $table, members: &[$(($code, $name)),*] };

            #[inline]
            pub const fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }

            #[inline]
            pub const fn code(self) -> u8 {
                self as u8
            }

            #[inline]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl fmt::Display for $enum {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

byte_enum! {
    /// debug_cmd (ISA 2.1): has no effect on results.
    DebugCmd "DEBUG_CMD" {
        0 None "NONE";
        1 Notify "NOTIFY";
        3 Start "START";
        5 End "END";
        7 StartEnd "START_END";
        9 InsField "INS_FIELD";
    }
}

byte_enum! {
    /// When an instruction may start (ISA 2.3). 0xFF, INVALID, is not a member.
    WaitMode "WAIT_MODE" {
        0x00 None "NONE";
        0x01 SemEqImm "SEM_EQ_IMM";
        0x02 SemLtImm "SEM_LT_IMM";
        0x03 SemLeImm "SEM_LE_IMM";
        0x04 SemGtImm "SEM_GT_IMM";
        0x05 SemGeImm "SEM_GE_IMM";
        0x06 EvtSet "EVT_SET";
        0x07 EvtSetThenClear "EVT_SET_THEN_CLEAR";
        0x0e EvtClear "EVT_CLEAR";
        0x0f EvtClearThenSet "EVT_CLEAR_THEN_SET";
        0x81 SemEqReg "SEM_EQ_REG";
        0x82 SemLtReg "SEM_LT_REG";
        0x83 SemLeReg "SEM_LE_REG";
        0x84 SemGtReg "SEM_GT_REG";
        0x85 SemGeReg "SEM_GE_REG";
    }
}

impl WaitMode {
    /// Compares a semaphore with `semaphore_value`.
    #[inline]
    pub const fn uses_immediate(self) -> bool {
        matches!(self.code(), 1..=5)
    }

    /// Compares a semaphore with a register; rejected by EV-3.
    #[inline]
    pub const fn uses_register(self) -> bool {
        self.code() & 0x80 != 0
    }
}

byte_enum! {
    /// What an instruction does to a semaphore or event (ISA 2.4). The plain form fires when all
    /// sources are read, the `.DONE` form when the instruction is complete. 0xFF, INVALID, is not a
    /// member.
    UpdateMode "UPDATE_MODE" {
        0x00 None "NONE";
        0x01 EvtSet "EVT_SET";
        0x02 EvtClr "EVT_CLR";
        0x03 SemInc "SEM_INC";
        0x04 SemDec "SEM_DEC";
        0x05 SemAddImm "SEM_ADD_IMM";
        0x06 SemAddReg "SEM_ADD_REG";
        0x07 SemSubImm "SEM_SUB_IMM";
        0x08 SemSubReg "SEM_SUB_REG";
        0x09 SemWrImm "SEM_WR_IMM";
        0x0a SemWrReg "SEM_WR_REG";
        0x11 EvtSetDone "EVT_SET.DONE";
        0x12 EvtClrDone "EVT_CLR.DONE";
        0x13 SemIncDone "SEM_INC.DONE";
        0x14 SemDecDone "SEM_DEC.DONE";
        0x15 SemAddImmDone "SEM_ADD_IMM.DONE";
        0x16 SemAddRegDone "SEM_ADD_REG.DONE";
        0x17 SemSubImmDone "SEM_SUB_IMM.DONE";
        0x18 SemSubRegDone "SEM_SUB_REG.DONE";
        0x19 SemWrImmDone "SEM_WR_IMM.DONE";
        0x1a SemWrRegDone "SEM_WR_REG.DONE";
    }
}

impl UpdateMode {
    /// Happens when the word is complete, not when its sources have been read.
    #[inline]
    pub const fn is_done(self) -> bool {
        self.code() != self.action()
    }

    /// The form without the completion bit, for what it does.
    #[inline]
    pub const fn action(self) -> u8 {
        self.code() & 0x0f
    }

    /// Combines a semaphore with `semaphore_value`.
    #[inline]
    pub const fn uses_immediate(self) -> bool {
        matches!(self.action(), 5 | 7 | 9)
    }

    /// Combines a semaphore with a register; rejected by EV-3.
    #[inline]
    pub const fn uses_register(self) -> bool {
        matches!(self.action(), 6 | 8 | 10)
    }
}

byte_enum! {
    /// op_dim (ISA 7.3): which innermost dimensions are reduced or scanned.
    SubDim "TENSOR_SUBDIM" {
        0 Unused "UNUSED";
        2 X "X";
        3 Xy "XY";
        4 Xyz "XYZ";
        5 Xyzw "XYZW";
    }
}

impl SubDim {
    /// Number of innermost dimensions meant: 0 to 4.
    #[inline]
    pub const fn dims(self) -> usize {
        match self {
            Self::Unused => 0,
            _ => self as usize - 1,
        }
    }
}

byte_enum! {
    /// reduce_op of the cross-lane reduce (ISA 7.4).
    ReduceOp "REDUCE_OP" {
        0 Add "ADD";
        1 Average "AVERAGE";
        2 Max "MAX";
        3 BitwiseOr "BITWISE_OR";
        4 BitwiseAnd "BITWISE_AND";
        5 BitwiseXor "BITWISE_XOR";
    }
}

byte_enum! {
    /// reduce_axis of the cross-lane reduce (ISA 7.4).
    ReduceAxis "REDUCE_AXIS" {
        0 All "ALL";
        1 Partitions "PARTITIONS";
    }
}

byte_enum! {
    /// accumulator_cmd (ISA 7.5).
    AccumCmd "ACCUM_CMD" {
        0 Idle "IDLE";
        1 Zero "ZERO";
        2 Accumulate "ACCUMULATE";
        3 ZeroAccumulate "ZERO_ACCUMULATE";
        4 LoadAccumulate "LOAD_ACCUMULATE";
    }
}

byte_enum! {
    /// reverse_operands (ISA 7.5): which stages have their operands swapped.
    ReverseOps "TENS_SCALAR_REV_OPS" {
        0 None "NONE";
        1 First "FIRST";
        2 Second "SECOND";
        3 Both "BOTH";
    }
}

byte_enum! {
    /// Where an immediate comes from (ISA 7.5).
    ImmSrc "IMM_SRC" {
        0 Instruction "INSTRUCTION";
        1 Pointer "POINTER";
        2 RegPointer "REG_POINTER";
    }
}
