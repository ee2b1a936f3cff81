//! The rules of the ISA reference as data: one row per rule, with its condition, what to do about a
//! break, and how sure the condition is. The numeric rules (N) and the block rules (BLK) are listed
//! for explanation; the rest are tested by [`crate::check()`].
//!
//! Four warnings have ids of our own because the reference describes them without one: `DBG-1`,
//! `DEP-1`, `OVL-1`, `SUM-1`. The `DMA` rules belong to [`crate::dma`].

use std::fmt;

use crate::names::rule_id;

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
    ALL.iter().copied().find(|rule| rule.id.eq_ignore_ascii_case(id))
}

macro_rules! rules {
    ($($name:ident $confidence:ident $text:literal, $fix:literal;)*) => {
        $(#[doc = concat!("`", $text, "`")] pub static $name: Rule = Rule {
            id: rule_id!(stringify!($name)),
            confidence: Confidence::$confidence,
            text: $text,
            fix: $fix,
        };)*

        /// Every rule, in the order of the reference.
        pub static ALL: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
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

    TT_1 H "out_dtype is an output data type, 64-bit integers included", "use a legal output data type";
    TT_2 H "both sources are input data types, 64-bit integers included", "use a legal input data type";
    TT_3 H "op is defined on the target", "use an operation of this generation";
    TT_4 H "op is general arithmetic, POW or an integer operation", "use another operation, or the bitvec opcode";
    TT_5 H "op is a general bitvec operation", "use a bitvec operation, or the arithmetic opcode";
    TT_6 H "an integer operation has three integer data types of the signedness that the operation works on", "make all data types signed or all unsigned, to fit the operation";
    TT_7 H "out_dtype is an integer", "use an integer data type";
    TT_8 H "the three data types are equal, or the operation shifts a 64-bit integer by UINT32 counts", "use one data type";
    TT_9 H "CH-1", "see the inner rule";
    TT_10 H "CH-3 for src0, src1 and dst", "see the inner rule";
    TT_11 H "TV-1 and TV-2 for src0, src1 and dst", "see the inner rule";
    TT_12 H "CNT-1 for src0 and src1", "see the inner rule";
    TT_13 H "CNT-1 for src0 and dst", "see the inner rule";
    TT_14 H "ADR-6 for src0 and src1", "see the inner rule";
    TT_15 L "if one data type is 64-bit, all three are 64-bit integers of one signedness", "convert the other operands to the same 64-bit type";
    TT_E1 H "on DVE op is neither POW nor an integer operation, and no data type is 64-bit", "move the word to POOL";
    TT_E2 H "on POOL all tensors are in SBUF and op is POW, ADD, SUBTRACT, MULT, or an integer operation with three 32-bit or three 64-bit integers", "move the word to DVE";
    TT_E3 M "DVE has no 64-bit data type; POOL has 32- and 64-bit integers in SBUF", "move the word to the other engine";
    TT_E4 H "64-bit data types need CAYMAN or later", "split into 32-bit halves";

    XA_1 H "extended_opcode is 2", "write extended_opcode=2";
    XA_2 M "completion_info has has_read and has_write set and its reserved bits clear", "set bits 0 and 2, clear bits 1, 6 and 7";
    XA_3 H "op is ADD or MULT", "use ADD or MULT, or TensorTensorArithOp";
    XA_4 M "the output is an output data type and both sources input data types; 64-bit is not serviced", "use a data type of at most 32 bits";
    XA_5 M "all operands are in SBUF", "copy the operand to SBUF first";
    XA_6 L "TV-1, TV-2 and CH-3 for the three patterns, CNT-1 for (src0, src1) and (src0, dst), ADR-6", "see the inner rule";

    CP_1 H "op is BYPASS", "write op=BYPASS";
    CP_2 H "src0, the predicate, is an integer of at most 32 bits", "use an integer predicate";
    CP_3 H "src1 is an input data type and out_dtype is not FP32R", "use a legal data type";
    CP_4 H "src1 and out_dtype are equal", "use CastPredicated to convert";
    CP_5 H "CH-1, and CH-3 for the three operands", "see the inner rule";
    CP_6 H "TV-1 and TV-2 for the three patterns", "see the inner rule";
    CP_7 H "CNT-1 for (src0, src1) and (src0, dst)", "see the inner rule";
    CP_8 H "ADR-6 for src0 and src1", "see the inner rule";

    BB_1 H "op is BYPASS", "write op=BYPASS";
    BB_2 H "the sources are input data types and the output an output data type", "use FP16, BFLOAT16 or FP32";
    BB_3 H "CH-1, CH-3, TV-1 and TV-2 for the three patterns", "see the inner rule";

    TB_1 H "the target is SUNDA", "use TensorTensorArithOp";
    TB_2 H "both sources are BFLOAT16", "use TensorTensorArithOp for other data types";
    TB_3 H "op is ADD for 0x8a, MULT for 0x8b, SUBTRACT for 0x8f", "write the operation of the opcode";
    TB_4 H "out_dtype is an output data type", "use a legal output data type";
    TB_5 H "sources are packed in pairs: num_elem[0] even, step_elem[0] = 1, further steps even", "make the innermost dimension contiguous and even";
    TB_6 H "CH-1, and CH-3 for the three operands", "see the inner rule";
    TB_7 H "TV-1 and TV-2 for the three patterns; source addresses are multiples of 4", "see the inner rule";
    TB_8 H "CNT-1 for (src0, src1) and (src0, dst)", "see the inner rule";
    TB_9 H "ADR-6 for src0 and src1", "see the inner rule";

    TR_1 H "in_dtype is an input and out_dtype an output data type, 64-bit integers included", "use a legal data type";
    TR_2 H "op is defined on the target", "use an operation of this generation";
    TR_3 H "op is general arithmetic or an integer operation that can reduce", "use another operation, or the bitvec opcode";
    TR_4 H "op is a bitvec operation", "use a bitvec operation, or the arithmetic opcode";
    TR_5 H "op_dim is X, XY, XYZ or XYZW", "name the reduced dimensions";
    TR_6 H "negated is 0 or 1, and 0 in the bitvec form", "write negated=0";
    TR_7 H "mask_enable is 0", "write mask_enable=0";
    TR_8 H "CH-2, and CH-3 for src and dst", "see the inner rule";
    TR_9 H "TV-1 and TV-2 for src and dst", "see the inner rule";
    TR_10 L "the destination has as many elements as the kept dimensions of the source", "make the product of the destination's num_elem that of the kept source counts";
    TR_11 M "in_dtype and out_dtype are equal and UINT8, UINT16, UINT32 or INT32; LOGICAL_SHIFT_RIGHT needs INT32, CRC32 a 16- or 32-bit type", "view the data as one of these types";
    TR_12 M "an integer operation reduces a 32- or 64-bit integer of its signedness to the same type; an arg operation yields UINT32", "fit the data types to the operation";
    TR_13 M "an indirect source obeys IND-1 and IND-4", "see the inner rule";
    TR_E1 H "on DVE op is no integer or arg operation and no data type is 64-bit", "move the word to POOL, or use a float operation";
    TR_E2 H "on POOL in_dtype is a 32- or 64-bit integer, op an integer reduction, and both tensors are in SBUF", "move the word to DVE, or use an integer operation";

    TTR_1 H "TR-1 to TR-9, TR-11, TR-12", "see the inner rule";
    TTR_2 H "CH-4", "see the inner rule";
    TTR_3 H "CNT-3 for src", "see the inner rule";
    TTR_4 L "TR-10", "see the inner rule";
    TTR_5 L "no data type is 64-bit", "use 32-bit data types";
    TTR_E1 M "TR-E1, TR-E2", "see the inner rule";

    RB_1 H "the target is SUNDA", "use TensorReduceArithOp";
    RB_2 H "in_dtype is BFLOAT16 and out_dtype an output data type", "use TensorReduceArithOp for other data types";
    RB_3 H "the source is packed in pairs: address a multiple of 4, num_elem[0] even, step_elem[0] = 1", "make the innermost dimension contiguous and even";
    RB_4 M "TR-5 to TR-10, and op is ADD for 0x8c, MAX for 0x8d", "see the inner rule";

    TC_1 H "in_dtype is an input and out_dtype an output data type, not 64-bit", "use a legal data type";
    TC_2 H "op is defined on the target", "use an operation of this generation";
    TC_3 H "op is not DIVIDE, POW or MOD", "use another operation";
    TC_4 H "op is an arithmetic operation", "use an arithmetic operation, or the bitvec opcode";
    TC_5 H "op is a bitvec operation", "use a bitvec operation, or the arithmetic opcode";
    TC_6 H "op_dim is X, XY, XYZ or XYZW", "name the scanned dimensions";
    TC_7 H "CH-2, and CH-3 for src and dst", "see the inner rule";
    TC_8 H "TV-1 and TV-2 for src and dst, CNT-1", "see the inner rule";
    TC_9 H "negated and mask_enable are 0", "write 0";
    TC_10 H "in_dtype and out_dtype are equal and UINT8, UINT16, UINT32 or INT32; LOGICAL_SHIFT_RIGHT needs INT32, CRC32 a 16- or 32-bit type", "view the data as one of these types";
    TC_11 L "with an integer-band operation both data types are integers of one signedness", "fit the data types to the operation";
    TC_E1 H "the engine is DVE", "move the word to DVE";

    CC_1 H "op is BYPASS", "write op=BYPASS";
    CC_2 H "op_dim is UNUSED or X", "write op_dim=UNUSED";
    CC_3 H "negated and mask_enable are 0", "write 0";
    CC_4 H "in_dtype is an input and out_dtype an output data type", "use a legal data type";
    CC_5 H "a copy has in_dtype and out_dtype equal", "use Cast to convert";
    CC_6 H "CH-2, and CH-3 for src and dst", "see the inner rule";
    CC_7 H "TV-1 and TV-2 for src and dst, CNT-1", "see the inner rule";
    CC_E1 M "on POOL ENG-2 holds", "see the inner rule";

    MSK_1 H "param_ram_offset and imm_ptr_select are 0", "write 0";
    MSK_2 H "each of the 32 bytes is below 64 or 255", "use 0 to 31 for a lane, 255 for none";

    SS_1 H "op is BYPASS, op_dim UNUSED or X, negated and mask_enable 0", "write the blank values";
    SS_2 H "in_dtype is an input data type and out_dtype equals it", "use one legal data type";
    SS_3 H "CH-4, and CH-3 for src and dst", "see the inner rule";
    SS_4 H "TV-1 and TV-2 for src and dst, CNT-1", "see the inner rule";

    ST_1 H "op is BYPASS, negated 0, op_dim UNUSED or X", "write the blank values";
    ST_2 H "mask_enable is 0 or 1", "write mask_enable=0";
    ST_3 H "in_dtype is an input data type, not 64-bit and not FP32R, and out_dtype equals it", "use one legal data type";
    ST_4 H "CH-4, and CH-3 for src and dst", "see the inner rule";
    ST_5 H "TV-1 and TV-2 for src and dst", "see the inner rule";
    ST_6 H "CNT-3 for src", "see the inner rule";
    ST_7 H "CNT-2: the destination has no more elements than the source", "see the inner rule";
    ST_8 M "IND-5: the source is not indirect", "see the inner rule";

    CR_1 H "in_dtype is an input and out_dtype an output data type", "use a legal data type";
    CR_2 H "CH-1, and CH-3 for src", "see the inner rule";
    CR_3 H "CH-3 for dst with one channel", "see the inner rule";
    CR_4 H "TV-1 and TV-2 for src and dst, both in SBUF", "see the inner rule";
    CR_5 H "reduce_axis is ALL or PARTITIONS", "use 0 or 1";
    CR_6 H "axis ALL writes one element", "write num_elem 1 in every dimension of dst";
    CR_7 H "axis PARTITIONS: CNT-1 for dst and src", "see the inner rule";
    CR_8 H "reduce_op is ADD, AVERAGE or MAX for 0x7c, BITWISE_OR, BITWISE_AND or BITWISE_XOR for 0x7d", "use the other opcode";
    CR_9 M "0x7d: in_dtype and out_dtype are the same integer of 1, 2 or 4 bytes", "use one integer data type";
    CR_10 H "reserved0 is 0", "write 0";
    CR_11 M "IND-5: no operand is indirect", "see the inner rule";
    SUM_1 L "an 8- or 16-bit integer sum over lanes stays within the next wider integer (OQ-57)", "use fewer channels or a wider input data type";

    TS_1 H "in_dtype is an input and out_dtype an output data type", "use a legal data type";
    TS_2 H "op0 and op1 are defined on the target", "use operations of this generation";
    TS_3 H "neither op is DIVIDE, POW or MOD", "use other operations";
    TS_4 H "op0 is not BYPASS unless op1 is", "move the operation to op0 and write op1=BYPASS";
    TS_5 H "both ops are bitvec operations other than CRC32", "use bitvec operations, or the arithmetic opcode";
    TS_6 L "at least one of TS-6a, TS-6b, TS-6c holds", "see the inner rule";
    TS_6A H "both ops are general arithmetic", "use general arithmetic operations, or the bitvec opcode";
    TS_6B H "op0 is RSQRT, op1 BYPASS, and both immediates are 0 in the word", "write op1=BYPASS, imm0=0, imm1=0";
    TS_6C H "both ops are integer operations of the MAVERICK DVE and the data types integers of one signedness", "use two integer operations and integers of one signedness";
    TS_7 H "in_dtype and out_dtype are the same integer of at most 32 bits", "use one integer data type";
    TS_8 H "IMM-1 to IMM-5 for imm0 and imm1", "see the inner rule";
    TS_9 H "SHF-1 and SHF-2", "see the inner rule";
    TS_10 H "reverse_operands is 0 to 3", "use NONE, FIRST, SECOND or BOTH";
    TS_11 H "accumulator_cmd is IDLE", "write accumulator_cmd=IDLE";
    TS_12 H "CH-2, and CH-3 for src and dst", "see the inner rule";
    TS_13 H "TV-1 and TV-2 for src and dst, CNT-1", "see the inner rule";
    TS_14 H "IND-3: the destination is not indirect", "see the inner rule";
    TS_15 L "an immediate that no operation uses is 0 in the word", "write 0";
    TS_E1 M "DVE, or the RSQRT form on POOL with all tensors in SBUF", "move the word to DVE";

    TP_1 H "imm0_src and imm1_src are 0", "write INSTRUCTION: the opcode itself says that both are pointers";
    TP_2 H "imm0 and imm1 obey IMM-4", "see the inner rule";
    TP_3 H "TS-1 to TS-5, TS-6a, TS-7, TS-9 to TS-14", "see the inner rule";
    DEP_1 H "the opcode is not deprecated", "use 0x43 or 0x53 with POINTER immediates";

    TTS_1 H "TS-1 to TS-4, TS-6, TS-8, TS-10 to TS-14", "see the inner rule";
    TTS_2 H "CH-4", "see the inner rule";
    TTS_3 H "CNT-3 for src", "see the inner rule";

    CA_1 H "op0 is general arithmetic", "use a general arithmetic operation";
    CA_2 H "op1 is ADD, SUBTRACT, MULT, MAX or MIN", "use one of these";
    CA_3 H "in_dtype is a float other than FP32R or an 8- or 16-bit integer", "use TensorCumulativeArithOp for 32-bit integers";
    CA_4 H "out_dtype is an output data type", "use a legal output data type";
    CA_5 H "accumulator_cmd is ACCUMULATE, ZERO_ACCUMULATE or LOAD_ACCUMULATE", "say where the running value starts";
    CA_6 H "reverse_operands is NONE", "write reverse_operands=NONE";
    CA_7 H "IMM-1, IMM-2, IMM-4, IMM-5 for imm0", "see the inner rule";
    CA_8 H "imm1 as imm0 under LOAD_ACCUMULATE, else imm1_src and imm1 are 0", "write 0, or use LOAD_ACCUMULATE";
    CA_9 H "CH-2, and CH-3 for src and dst", "see the inner rule";
    CA_10 H "TV-1 and TV-2 for src and dst, CNT-1", "see the inner rule";
    CA_11 H "reserved0 is 0", "write 0";

    EX_1 H "op0 and op1 are BYPASS, reverse_operands NONE, reserved0 0", "write the blank values";
    EX_2 H "in_dtype is an input and out_dtype an output data type", "use a legal data type";
    EX_3 H "IMM-1, IMM-2, IMM-4, IMM-5 for imm0", "see the inner rule";
    EX_4 H "accumulator_cmd is IDLE, ACCUMULATE or ZERO_ACCUMULATE with imm1_src and imm1 0, or LOAD_ACCUMULATE with a legal imm1", "write 0, or use LOAD_ACCUMULATE";
    EX_5 H "CH-2, and CH-3 for src and dst", "see the inner rule";
    EX_6 H "TV-1 and TV-2 for src and dst, CNT-1", "see the inner rule";
    EX_7 H "when accumulating: a 4-byte in_dtype, or step_elem[0] other than 1, or num_elem[0] even", "make the innermost count even";
    EX_8 L "when accumulating: num_elem[1] and num_elem[2] are each 1 or even", "make the upper counts 1 or even";

    STT_1 H "both ops are general arithmetic", "use general arithmetic operations, or the bitvec opcode";
    STT_2 H "both ops are general bitvec operations", "use bitvec operations, or the arithmetic opcode";
    STT_3 H "both sources and imm0_dtype are input data types, out_dtype an output data type", "use a legal data type";
    STT_4 H "imm0_dtype is FP32", "write imm0_dtype=FP32";
    STT_5 M "src0, src1, out and imm0 have the same integer data type of at most 32 bits", "use one integer data type";
    STT_6 H "IMM-1 to IMM-5 for imm0", "see the inner rule";
    STT_7 H "reverse_operands is 0 to 3", "use NONE, FIRST, SECOND or BOTH";
    STT_8 H "CH-1, and CH-3 for the three operands", "see the inner rule";
    STT_9 H "TV-1 and TV-2 for the three patterns", "see the inner rule";
    STT_10 H "CNT-1 for (src0, src1) and (src0, dst)", "see the inner rule";
    STT_11 H "ADR-6 for src0 and src1", "see the inner rule";
    STT_12 L "accumulator_cmd is IDLE", "write accumulator_cmd=IDLE";
    STT_13 M "SHF-1 and SHF-2", "see the inner rule";

    SEL_1 H "dtype is an input data type", "use a legal data type";
    SEL_2 H "pred_imm_dtype is an integer of at most 32 bits, as wide as dtype", "use the integer of the width of dtype";
    SEL_3 H "reversed_pred is 0 or 1", "write 0 or 1";
    SEL_4 H "a predicate in the word is 0 or 1; otherwise IMM-4 or IMM-5", "write 0 or 1, or point to the predicate";
    SEL_5 H "src1_imm obeys IMM-1 and IMM-3, or IMM-4 or IMM-5 aligned to dtype", "see the inner rule";
    SEL_6 H "CH-2, and CH-3 for src0 and dst", "see the inner rule";
    SEL_7 H "TV-1 and TV-2 for src0 and dst, CNT-1", "see the inner rule";
    SEL_8 H "reserved0 and reserved1 are 0", "write 0";

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
