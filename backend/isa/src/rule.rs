//! The rules of the ISA reference as data: one row per rule, with its condition, what to do about a
//! break, and how sure the condition is. Those that opcodes share stand here, those of one opcode
//! beside the function that tests them, in `check`. The numeric rules (N) and the block rules (BLK)
//! are listed for explanation; the rest are tested by [`crate::check()`].
//!
//! Four warnings have ids of our own because the reference describes them without one: `DBG-1`,
//! `DEP-1`, `OVL-1`, `SUM-1`. The `DMA` rules belong to [`crate::dma`].

use std::fmt;

use crate::check;

/// How sure a statement of the reference is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// Taken from the architecture's own definition.
    H,
    /// Inferred: several indirect facts agree.
    M,
    /// Not known; one deterministic choice was made.
    L,
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::H => "H",
            Self::M => "M",
            Self::L => "L",
        })
    }
}

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// Such as `TR-7`.
    pub id: &'static str,
    pub confidence: Confidence,
    /// The condition that must hold.
    pub text: &'static str,
    /// What to change when it does not.
    pub fix: &'static str,
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || self.id == other.id
    }
}

impl Eq for Rule {}

/// The rule of this id, in upper or lower case.
pub fn find(id: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.id.eq_ignore_ascii_case(id))
}

/// A table of rules: `NAME confidence "condition", "what to do";`.
macro_rules! rule_table {
    ($($name:ident $confidence:ident $text:literal, $fix:literal;)*) => {
        /// The rules as data.
        pub mod rules {
            use $crate::names::rule_id;
            use $crate::rule::{Confidence, Rule};

            $(#[doc = concat!("`", $text, "`")] pub static $name: Rule = Rule {
                id: rule_id!(stringify!($name)),
                confidence: Confidence::$confidence,
                text: $text,
                fix: $fix,
            };)*
        }

        /// Every row.
        pub(crate) static RULES: &[&$crate::rule::Rule] = &[$(&rules::$name),*];
    };
}

pub(crate) use rule_table;

/// Every table by name, and all rules in the order of the tables.
macro_rules! tables {
    ($($module:ident)*) => {
        $(pub use check::$module::rules::*;)*
        pub use self::rules::*;

        /// Every rule.
        pub fn all() -> impl Iterator<Item = &'static Rule> {
            let tables = [RULES, $(check::$module::RULES),*];
            tables.into_iter().flatten().copied()
        }
    };
}

tables! {
    tensor_tensor extended tensor_reduce scan stream lanes cross_lane tensor_scalar accumulate
    scalar_tensor select
}

rule_table! {
    BLK_1 H "a program block is a whole number of 64-byte words", "pad or cut the block at a word boundary";
    BLK_2 H "each block belongs to one engine; the engine is not in the word", "name the engine of the block";
    BLK_3 M "words of a block issue in order; blocks of different engines are ordered only by semaphores and events", "add a wait and an update";
    BLK_4 H "each opcode is checked against the engine that owns the block", "move the word to another engine's block";

    GEN_1 H "the opcode, every enum value and the struct binding exist on the target generation", "choose another target, or an opcode that this one has";
    HDR_1 H "the opcode is defined on the target generation and is not 0xff", "use an opcode of this generation";
    HDR_2 H "inst_word_len is 16", "write inst_word_len=16";
    DBG_1 L "debug_cmd is a defined value", "write debug_cmd=NONE";
    EV_1 H "wait_mode is a defined value and not INVALID", "use a defined wait mode";
    EV_2 H "update_mode is a defined value and not INVALID", "use a defined update mode";
    EV_3 L "neither the wait nor the update uses a register", "use the immediate form";
    EV_4 L "a wait and an update that both use an immediate use the same semaphore_value", "give both the same value, or use SEM_INC or SEM_DEC";
    EV_5 L "event fields that nothing uses are 0", "write 0";

    ADR_1 H "a register address has marker 0x80 or 0xc0, a register number below 64, and zeros between", "use r0 to r63";
    ADR_2 H "the address is a multiple of the element size", "align the address";
    ADR_3 H "the address lies in SBUF or PSUM, below the active bytes of its partition", "move the tensor into the memory";
    ADR_4 H "the operand lies in a memory that the opcode allows", "copy the operand to the other memory first";
    ADR_5 H "a destination in PSUM has a 4-byte data type", "write to SBUF, or write FP32, INT32 or UINT32";
    ADR_6 H "two sources are in different memories, or both in SBUF starting in the same quadrant, or one address comes from a register", "move one source to the quadrant of the other, or to the other memory";
    ADR_7 H "both addresses start in partition 0, or both in 32, in 64 or in 96", "move one source to the quadrant of the other";
    ADR_8 L "every element lies inside the active bytes of its partition", "shorten the walk or move its start";
    ADR_9 M "bits 29 to 31 of an address are clear unless it comes from a register, has its shape in registers, or is indirect on a generation that allows it", "clear the marker bits";

    CH_1 H "num_active_channels is 1 to 128", "use 1 to 128 channels";
    CH_2 H "num_active_channels is 1 to 128", "use 1 to 128 channels";
    CH_3 H "up to 32 channels start in partition 0, 32, 64 or 96; up to 64 in 0 or 64; more in 0", "start in a partition that fits the channel count";
    CH_4 H "num_active_channels is 32, 64, 96 or 128", "pad to a multiple of 32 channels";

    TV_1 H "every num_elem is at least 1, unless the shape comes from registers", "write 1 for a dimension that is not used";
    TV_2 H "the start address obeys ADR-1 to ADR-5 for the operand's data type, direction and memories", "see the inner rule";
    CNT_1 H "both operands have the same number of elements per channel", "make the products of num_elem equal";
    CNT_2 H "the destination has no more elements than the source", "shorten the destination";
    CNT_3 H "the source has a multiple of 32 elements per channel", "pad the source to a multiple of 32 elements";

    IND_1 H "the index and the data of an indirect operand are in the same SBUF quadrant", "move the index array to the quadrant of the data";
    IND_2 M "the destination lies in the quadrant of an indirect source", "move the destination to the quadrant of the source";
    IND_3 L "a destination is not indirect", "use a direct destination";
    IND_4 M "a reduction of an indirect source has op_dim X", "use op_dim=X";
    IND_5 M "the opcode takes no indirect operand", "gather with a copy first";

    RES H "reserved bytes are zero", "write 0";

    IMM_1 H "the immediate source is INSTRUCTION, POINTER or REG_POINTER", "use 0, 1 or 2";
    IMM_2 H "an immediate in the word of an arithmetic opcode is an fp32 value", "write an fp32 value";
    IMM_3 H "an immediate in the word of a bitvec opcode fits the data type; higher bits are zero", "clear the bits above the data type";
    IMM_4 H "a pointer is an aligned immediate address in SBUF or PSUM whose partition fits the channel count", "point to an aligned scalar in the start partition of the channels";
    IMM_5 H "a register pointer has a register number below 64 and zeros above", "use r0 to r63";

    SHF_1 H "a left shift followed by a right shift needs a 4-byte data type", "widen to INT32 or UINT32, or use BITWISE_AND with a mask";
    SHF_2 H "ARITH_SHIFT_RIGHT needs a 4-byte data type", "widen to INT32 or UINT32";

    ENG_1 H "the opcode is legal on the engine that owns the block", "move the word to an engine that has the opcode";
    ENG_2 H "on POOL all tensors are in SBUF", "copy the operand from PSUM to SBUF with DVE or ACT first";
    ENG_3 H "a 64-bit data type is legal only on POOL", "move the word to POOL";

    OVL_1 L "source and destination do not overlap unless they are the same pattern of one element size", "write elsewhere, or in place";

    N_1 H "bitvec opcodes compute on raw bits at operand width", "";
    N_2 H "Copy, StreamShuffle, StreamTranspose, CopyPredicated and Select move bits unchanged", "";
    N_3 H "a base-band operation on DVE computes in fp32, integers included", "";
    N_4 M "on POOL, ADD, SUBTRACT, MULT of three 32- or 64-bit integers and every integer-band operation wrap in native integers", "";
    N_5 M "a cross-lane ADD or MAX of integers uses a 32-bit wrapping accumulator", "";
    N_6 M "everything else on POOL computes in fp32", "";
    N_7 H "Cast, CastPredicated, Reciprocal, Exponential and the cache opcodes compute in fp32", "";
    N_8 L "integer-band operations on DVE wrap in 32-bit integers of the signedness of in_dtype", "";
    N_9 L "the order of a float reduction is not promised; the reference order is left to right", "";
}
