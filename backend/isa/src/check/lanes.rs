//! Rules MSK (ISA 9.10): the lane table.

use super::checker::{Checker, Under};
use crate::layout::{LoadMaskSelect, load_mask_select as f};
use crate::rule::rule_table;

rule_table! {
    MSK_1 H "param_ram_offset and imm_ptr_select are 0", "write 0";
    MSK_2 H "each of the 32 bytes is below 64 or 255", "use 0 to 31 for a lane, 255 for none";
}

/// 0x69.
pub(crate) fn load_mask_select(c: &mut Checker) {
    let b = LoadMaskSelect::decode(&c.word.0);
    let under = Under::new(&rules::MSK_1);
    c.require(b.param_ram_offset == 0, under, &f::param_ram_offset, "0");
    c.require(b.imm_ptr_select == 0, under, &f::imm_ptr_select, "0");
    let lanes_ok = b.immediate.iter().all(|&lane| lane < 64 || lane == 255);
    c.require(lanes_ok, Under::new(&rules::MSK_2), &f::immediate, "bytes below 64, or 255");
    c.reserved(&b.reserved0, &f::reserved0, None);
    c.engine_has_opcode();
}
