//! The tables against counts and sets that the reference states.

use partita_isa::explain::{accepts, find, rules, rules_of};
use partita_isa::opcode::is_defined;
use partita_isa::{AluOp, Dtype, Generation, Opcode};

fn count(set: impl Fn(AluOp) -> bool) -> usize {
    AluOp::ALL.iter().filter(|&&op| set(op)).count()
}

/// ISA 6.2 gives the size of each class set. SYMMETRIC_CLAMP joins both arithmetic sets on MAVERICK.
#[test]
fn alu_class_sets_have_their_stated_sizes() {
    use Generation::{Cayman, Mariana, Maverick, Sunda};
    assert_eq!(count(AluOp::is_bitvec), 10);
    assert_eq!(count(AluOp::is_general_bitvec), 9);
    assert_eq!(count(AluOp::is_shift), 4);
    assert_eq!(count(|op| op.is_arith(Sunda)), 24);
    assert_eq!(count(|op| op.is_arith(Cayman)), 26);
    assert_eq!(count(|op| op.is_arith(Mariana)), 30);
    assert_eq!(count(|op| op.is_arith(Maverick)), 31);
    assert_eq!(count(|op| op.is_general_arith(Cayman)), 17);
    assert_eq!(count(|op| op.is_general_arith(Mariana)), 21);
    assert_eq!(count(|op| op.is_general_arith(Maverick)), 22);
    assert_eq!(count(AluOp::is_int), 26);
    assert_eq!(count(AluOp::is_signed), 17);
    assert_eq!(count(AluOp::is_unsigned), 17);
    assert_eq!(count(|op| op.is_signed() && op.is_unsigned()), 8);
    assert_eq!(count(AluOp::is_arg), 4);
    assert_eq!(count(AluOp::is_cache_reduce), 5);
    assert_eq!(count(AluOp::is_int_dve), 15);
    assert_eq!(count(AluOp::is_tensor_reduce_int), 13);
}

/// ISA 1 gives the number of members of both enumerations per generation.
#[test]
fn generations_have_their_stated_members() {
    let members = [
        (Generation::Sunda, 33, 16),
        (Generation::Cayman, 60, 16),
        (Generation::Mariana, 64, 24),
        (Generation::MarianaPlus, 64, 24),
        (Generation::Maverick, 65, 30),
    ];
    for (generation, ops, dtypes) in members {
        assert_eq!(count(|op| op.exists_on(generation)), ops, "{generation}");
        let found = Dtype::ALL.iter().filter(|d| d.info().generations.contains(generation)).count();
        // INVALID counts as a member there.
        assert_eq!(found + 1, dtypes, "{generation}");
    }
}

#[test]
fn sunda_defines_145_opcode_numbers_one_of_them_invalid() {
    let defined = (0..=u8::MAX).filter(|&number| is_defined(number, Generation::Sunda)).count();
    assert_eq!(defined + 1, 145);
    for opcode in Opcode::ALL {
        assert!(is_defined(opcode.number(), Generation::Sunda), "{opcode}");
    }
}

/// The columns of ISA 6.3, as the checker sees them on MARIANA.
#[test]
fn opcodes_accept_the_operations_of_the_summary_table() {
    let general = "BYPASS ADD SUBTRACT MULT MAX MIN LOGICAL_AND LOGICAL_OR LOGICAL_XOR IS_EQ IS_GT \
                   IS_GE IS_LE IS_LT ABSOLUTE_DIFF IS_NE ABSOLUTE_VALUE ABS_MAX ABS_MIN RE_LU SQUARE";
    let bitvec = "BYPASS BITWISE_NOT ARITH_SHIFT_LEFT ARITH_SHIFT_RIGHT BITWISE_AND BITWISE_OR \
                  BITWISE_XOR LOGICAL_SHIFT_LEFT LOGICAL_SHIFT_RIGHT";
    let tensor_tensor = "POW MOD ADD_INT MULT_INT SUBTRACT_INT DIVIDE_INT MOD_INT IS_EQUAL_INT \
                         IS_NE_INT ABS_MAX_INT ABS_MIN_INT ABS_DIFF_INT MAX_INT MIN_INT IS_GT_INT \
                         IS_GE_INT IS_LE_INT IS_LT_INT MAX_UINT MIN_UINT IS_GT_UINT IS_GE_UINT \
                         IS_LE_UINT IS_LT_UINT MULT_UINT DIVIDE_UINT MOD_UINT";
    let reduce = "ADD_INT MULT_INT ABS_MAX_INT ABS_MIN_INT MAX_INT MIN_INT MAX_UINT MIN_UINT \
                  MULT_UINT AMAX_INT AMIN_INT AMAX_UINT AMIN_UINT";
    let scan = "RSQRT ADD_INT MULT_INT SUBTRACT_INT DIVIDE_INT MOD_INT";
    let columns: [(Opcode, [&str; 2]); 16] = [
        (Opcode::TensorTensorArithOp, [general, tensor_tensor]),
        (Opcode::TensorTensorBitvecOp, [bitvec, ""]),
        (Opcode::TensorReduceArithOp, [general, reduce]),
        (Opcode::TransposeTensorReduceArithOp, [general, reduce]),
        (Opcode::TensorReduceBitvecOp, [bitvec, "CRC32"]),
        (Opcode::TransposeTensorReduceBitvecOp, [bitvec, "CRC32"]),
        (Opcode::TensorCumulativeArithOp, [general, scan]),
        (Opcode::TensorCumulativeBitvecOp, [bitvec, "CRC32"]),
        (Opcode::TensorScalarArithOp, [general, "RSQRT"]),
        (Opcode::TransposeTensorScalarArithOp, [general, "RSQRT"]),
        (Opcode::TensorScalarBitvecOp, [bitvec, ""]),
        (Opcode::TensorScalarCacheReduce, [general, ""]),
        (Opcode::TensorScalarCacheCumulative, [general, ""]),
        (Opcode::ScalarTensorTensorArith, [general, ""]),
        (Opcode::ScalarTensorTensorBitvec, [bitvec, ""]),
        (Opcode::ExtendedTensorTensorArith, ["ADD MULT", ""]),
    ];
    for (opcode, expected) in columns {
        let expected: Vec<&str> =
            expected.iter().flat_map(|part| part.split_whitespace()).collect();
        for &op in AluOp::ALL {
            let accepted = accepts(opcode, op, Generation::Mariana);
            assert_eq!(accepted, expected.contains(&op.name()), "{opcode} {op}");
        }
    }
}

#[test]
fn every_opcode_names_rules_that_exist() {
    for opcode in Opcode::ALL {
        let info = opcode.info();
        let expanded = rules_of(info);
        let stated: usize = info
            .rules
            .split(", ")
            .map(|part| match part.split_once("..") {
                Some((_, last)) => last.parse().expect("range"),
                None => 1,
            })
            .sum();
        assert_eq!(expanded.len(), stated, "{opcode}: {}", info.rules);
    }
}

#[test]
fn rule_ids_are_unique_and_rules_say_what_to_do() {
    let ids: Vec<&str> = rules().map(|rule| rule.id).collect();
    for (i, id) in ids.iter().enumerate() {
        assert!(!ids[..i].contains(id), "{id}");
    }
    for rule in rules().filter(|rule| !rule.id.starts_with("N-")) {
        assert!(!rule.fix.is_empty(), "{}", rule.id);
    }
}

#[test]
fn mnemonics_are_derived_from_names() {
    assert_eq!(Opcode::TensorTensorArithOp.mnemonic(), "tensor_tensor_arith");
    assert_eq!(Opcode::TensorReduceMaxBf16.mnemonic(), "tensor_reduce_max_bf16");
    assert_eq!(Opcode::Copy.mnemonic(), "copy");
    for &opcode in Opcode::ALL {
        assert_eq!(Opcode::from_mnemonic(opcode.mnemonic()), Some(opcode));
    }
}

#[test]
fn names_numbers_and_ids_are_explained() {
    let explained =
        |query: &str| find(query).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(explained("0x7c").starts_with("0x7c CrossLaneReduceArith"));
    assert!(explained("tensor_reduce_arith").contains("TR-10"));
    assert!(explained("ts-6a").starts_with("TS-6a (H): both ops are general arithmetic"));
    assert!(explained("bfloat16").contains("1-8-7"));
    assert!(explained("divide").contains("no opcode"));
    assert!(explained("op_dim").contains("0x3 XY"));
    assert!(explained("DMA-5").contains("SBUF"));
    assert!(find("nothing").is_empty());
}
