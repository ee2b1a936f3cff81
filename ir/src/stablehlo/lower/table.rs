//! What becomes of each operation of StableHLO: one row each.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use super::{Call, Code, Diagnostic, Fault, HloOp, Lower, Made};
use super::{
    calls, check, chlo, constant, convert, dot, elementwise, norm, reduce, shape, special, window,
};
use crate::ops::ElementwiseOp::{self, *};
use crate::text::nearest;

/// Makes the operations that one operation becomes.
pub(super) type Make = for<'f, 's> fn(&mut Lower<'f, 's>, &Call<'f, 's>) -> Made;

/// What becomes of an operation.
#[derive(Clone, Copy)]
pub(super) enum Row {
    /// One elementwise operation of the same name, by the class of the operands' type: floats, integers, truth
    /// values; none where the operation has no meaning.
    Map([Option<ElementwiseOp>; 3]),
    /// Some elementwise operations, so that scalars may stand for tensors.
    Each(Make),
    /// Anything else.
    Make(Make),
    /// Not compiled, and what to do.
    Refused(&'static str),
}

impl Row {
    /// May stand in the body of a reduction or map.
    pub(super) fn lifts(self) -> bool {
        matches!(self, Row::Map(_) | Row::Each(_))
    }
}

const fn map(
    float: Option<ElementwiseOp>,
    int: Option<ElementwiseOp>,
    truth: Option<ElementwiseOp>,
) -> Row {
    Row::Map([float, int, truth])
}

/// An operation of floats only.
const fn float(op: ElementwiseOp) -> Row {
    map(Some(op), None, None)
}

/// An operation of integers only, the same on truth values.
const fn bits(op: ElementwiseOp) -> Row {
    map(None, Some(op), Some(op))
}

/// Truth values add as `or` and multiply as `and`.
const fn arith(op: ElementwiseOp, truth: Option<ElementwiseOp>) -> Row {
    map(Some(op), Some(op), truth)
}

const LOOPS: &str = "the machine's programs are straight lines, without loops or branches; unroll the loop, or keep \
                     it outside and compile its body";
const INDEXED: &str = "addresses that depend on values are not compiled; use slices whose places are known, a mask \
                       with `select`, or keep this part outside";
const MATRIX: &str = "write it as slices and sums, or keep this part outside";
const RANDOM: &str = "make the random numbers outside, and give them as an argument";
const SORTING: &str = "sorting is not compiled; keep this part outside";
const CORES: &str = "one program runs on one core; keep communication outside";
const COMPLEX: &str =
    "complex numbers are not compiled; compute with real and imaginary parts apart";
const DYNAMIC: &str = "dynamic shapes are not compiled; export the function with the sizes known";
const QUANTIZED: &str = "quantized types are not compiled; dequantize by `convert` and `multiply`";
const TOKENS: &str = "only computation is compiled; keep this part outside";
const SPECIAL: &str = "no decomposition is known here; expand it outside, for example with `stablehlo-opt \
                       --chlo-legalize-to-stablehlo`";

/// The operations, without their dialect where that is `stablehlo`.
const ROWS: &[(&str, Row)] = &[
    // Elementwise.
    ("abs", arith(AbsoluteValue, None)),
    ("add", arith(Add, Some(BitwiseOr))),
    ("and", bits(BitwiseAnd)),
    ("atan2", Row::Each(chlo::atan2)),
    ("bitcast_convert", Row::Make(convert::bitcast)),
    ("cbrt", Row::Each(elementwise::cbrt)),
    ("ceil", float(Ceil)),
    ("clamp", Row::Each(elementwise::clamp)),
    ("compare", Row::Each(elementwise::compare)),
    ("convert", Row::Each(convert::convert)),
    ("cosine", float(Cos)),
    ("count_leading_zeros", bits(Clz)),
    ("divide", arith(Divide, None)),
    ("exponential", float(Exp)),
    ("exponential_minus_one", float(ExpM1)),
    ("floor", float(Floor)),
    ("is_finite", Row::Each(elementwise::is_finite)),
    ("log", float(Log)),
    ("log_plus_one", float(Log1p)),
    ("logistic", float(Sigmoid)),
    ("maximum", arith(Maximum, Some(BitwiseOr))),
    ("minimum", arith(Minimum, Some(BitwiseAnd))),
    ("multiply", arith(Mult, Some(BitwiseAnd))),
    ("negate", Row::Each(elementwise::negate)),
    ("not", bits(BitwiseNot)),
    ("or", bits(BitwiseOr)),
    ("popcnt", bits(Popcount)),
    ("power", arith(Pow, None)),
    ("reduce_precision", Row::Each(convert::reduce_precision)),
    ("remainder", arith(Remainder, None)),
    ("round_nearest_afz", float(RoundAway)),
    ("round_nearest_even", float(RoundEven)),
    ("rsqrt", float(Rsqrt)),
    ("select", Row::Each(elementwise::select)),
    ("shift_left", bits(LogicalShiftLeft)),
    ("shift_right_arithmetic", bits(ArithShiftRight)),
    ("shift_right_logical", bits(LogicalShiftRight)),
    ("sign", arith(Sign, None)),
    ("sine", float(Sin)),
    ("sqrt", float(Sqrt)),
    ("subtract", arith(Subtract, None)),
    ("tan", Row::Each(elementwise::tan)),
    ("tanh", float(Tanh)),
    ("xor", bits(BitwiseXor)),
    // Shapes and data movement.
    ("broadcast", Row::Make(shape::broadcast)),
    ("broadcast_in_dim", Row::Make(shape::broadcast_in_dim)),
    ("concatenate", Row::Make(shape::concatenate)),
    ("constant", Row::Each(constant::constant)),
    ("dynamic_slice", Row::Make(shape::dynamic_slice)),
    ("dynamic_update_slice", Row::Make(shape::dynamic_update_slice)),
    ("iota", Row::Make(shape::iota)),
    ("pad", Row::Make(shape::pad)),
    ("reshape", Row::Make(shape::reshape)),
    ("reverse", Row::Make(shape::reverse)),
    ("slice", Row::Make(shape::slice)),
    ("transpose", Row::Make(shape::transpose)),
    // Folding.
    ("batch_norm_inference", Row::Make(norm::inference)),
    ("batch_norm_training", Row::Make(norm::training)),
    ("dot", Row::Make(dot::dot)),
    ("dot_general", Row::Make(dot::dot_general)),
    ("map", Row::Make(reduce::map)),
    ("reduce", Row::Make(reduce::reduce)),
    ("reduce_window", Row::Make(window::reduce_window)),
    // Structure.
    ("call", Row::Make(calls::call)),
    ("func.call", Row::Make(calls::call)),
    ("composite", Row::Make(calls::composite)),
    ("custom_call", Row::Make(check::custom_call)),
    ("optimization_barrier", Row::Make(calls::barrier)),
    // Checks.
    ("check.eq", Row::Make(check::expect_eq)),
    ("check.almost_eq", Row::Make(check::expect_almost_eq)),
    ("check.expect_eq", Row::Make(check::expect_eq)),
    ("check.expect_eq_const", Row::Make(check::expect_eq)),
    ("check.expect_almost_eq", Row::Make(check::expect_almost_eq)),
    ("check.expect_almost_eq_const", Row::Make(check::expect_almost_eq)),
    ("check.expect_close", Row::Make(check::expect_close)),
    (
        "check.expect_serialized_eq",
        Row::Refused("give the expected values as a constant, or with --expect"),
    ),
    // Compositions that JAX and PyTorch leave in the text.
    ("chlo.acos", Row::Each(chlo::acos)),
    ("chlo.acosh", Row::Each(chlo::acosh)),
    ("chlo.asin", Row::Each(chlo::asin)),
    ("chlo.asinh", Row::Each(chlo::asinh)),
    ("chlo.atan", Row::Each(chlo::atan)),
    ("chlo.atanh", Row::Each(chlo::atanh)),
    ("chlo.broadcast_add", arith(Add, Some(BitwiseOr))),
    ("chlo.broadcast_and", bits(BitwiseAnd)),
    ("chlo.broadcast_atan2", Row::Each(chlo::atan2)),
    ("chlo.broadcast_compare", Row::Each(elementwise::compare)),
    ("chlo.broadcast_divide", arith(Divide, None)),
    ("chlo.broadcast_maximum", arith(Maximum, Some(BitwiseOr))),
    ("chlo.broadcast_minimum", arith(Minimum, Some(BitwiseAnd))),
    ("chlo.broadcast_multiply", arith(Mult, Some(BitwiseAnd))),
    ("chlo.broadcast_or", bits(BitwiseOr)),
    ("chlo.broadcast_power", arith(Pow, None)),
    ("chlo.broadcast_remainder", arith(Remainder, None)),
    ("chlo.broadcast_select", Row::Each(elementwise::select)),
    ("chlo.broadcast_shift_left", bits(LogicalShiftLeft)),
    ("chlo.broadcast_shift_right_arithmetic", bits(ArithShiftRight)),
    ("chlo.broadcast_shift_right_logical", bits(LogicalShiftRight)),
    ("chlo.broadcast_subtract", arith(Subtract, None)),
    ("chlo.broadcast_xor", bits(BitwiseXor)),
    ("chlo.constant", Row::Each(constant::constant)),
    ("chlo.constant_like", Row::Each(constant::constant_like)),
    ("chlo.cosh", Row::Each(chlo::cosh)),
    ("chlo.erf", float(Erf)),
    ("chlo.erf_inv", Row::Each(special::erf_inv)),
    ("chlo.erfc", Row::Each(chlo::erfc)),
    ("chlo.is_inf", Row::Each(chlo::is_inf)),
    ("chlo.is_neg_inf", Row::Each(chlo::is_neg_inf)),
    ("chlo.is_pos_inf", Row::Each(chlo::is_pos_inf)),
    ("chlo.next_after", Row::Each(special::next_after)),
    ("chlo.broadcast_next_after", Row::Each(special::next_after)),
    ("chlo.sinh", Row::Each(chlo::sinh)),
    ("chlo.square", arith(Square, None)),
    ("chlo.tan", Row::Each(elementwise::tan)),
    // What is not compiled.
    ("after_all", Row::Refused(TOKENS)),
    ("all_gather", Row::Refused(CORES)),
    ("all_reduce", Row::Refused(CORES)),
    ("all_to_all", Row::Refused(CORES)),
    ("batch_norm_grad", Row::Refused(SPECIAL)),
    ("case", Row::Refused(LOOPS)),
    ("cholesky", Row::Refused(MATRIX)),
    ("collective_broadcast", Row::Refused(CORES)),
    ("collective_permute", Row::Refused(CORES)),
    ("complex", Row::Refused(COMPLEX)),
    ("convolution", Row::Refused(MATRIX)),
    ("create_token", Row::Refused(TOKENS)),
    ("cross-replica-sum", Row::Refused(CORES)),
    ("dynamic_broadcast_in_dim", Row::Refused(DYNAMIC)),
    ("dynamic_conv", Row::Refused(DYNAMIC)),
    ("dynamic_gather", Row::Refused(DYNAMIC)),
    ("dynamic_iota", Row::Refused(DYNAMIC)),
    ("dynamic_pad", Row::Refused(DYNAMIC)),
    ("dynamic_reshape", Row::Refused(DYNAMIC)),
    ("einsum", Row::Refused("expand it to `dot_general`")),
    ("fft", Row::Refused(COMPLEX)),
    ("gather", Row::Refused(INDEXED)),
    ("get_dimension_size", Row::Refused(DYNAMIC)),
    ("get_tuple_element", Row::Refused(TOKENS)),
    ("if", Row::Refused(LOOPS)),
    ("imag", Row::Refused(COMPLEX)),
    ("infeed", Row::Refused(TOKENS)),
    ("outfeed", Row::Refused(TOKENS)),
    ("partition_id", Row::Refused(CORES)),
    ("real", Row::Refused(COMPLEX)),
    ("real_dynamic_slice", Row::Refused(DYNAMIC)),
    ("recv", Row::Refused(CORES)),
    ("reduce_scatter", Row::Refused(CORES)),
    ("replica_id", Row::Refused(CORES)),
    ("rng", Row::Refused(RANDOM)),
    ("rng_bit_generator", Row::Refused(RANDOM)),
    ("scatter", Row::Refused(INDEXED)),
    ("select_and_scatter", Row::Refused(INDEXED)),
    ("send", Row::Refused(CORES)),
    ("set_dimension_size", Row::Refused(DYNAMIC)),
    ("sort", Row::Refused(SORTING)),
    ("torch_index_select", Row::Refused(INDEXED)),
    ("triangular_solve", Row::Refused(MATRIX)),
    ("tuple", Row::Refused(TOKENS)),
    ("unary_einsum", Row::Refused("expand it to `reduce` and `transpose`")),
    ("uniform_dequantize", Row::Refused(QUANTIZED)),
    ("uniform_quantize", Row::Refused(QUANTIZED)),
    ("while", Row::Refused(LOOPS)),
    ("chlo.bessel_i1e", Row::Refused(SPECIAL)),
    ("chlo.conj", Row::Refused(COMPLEX)),
    ("chlo.digamma", Row::Refused(SPECIAL)),
    ("chlo.lgamma", Row::Refused(SPECIAL)),
    ("chlo.polygamma", Row::Refused(SPECIAL)),
    ("chlo.ragged_dot", Row::Refused(INDEXED)),
    ("chlo.top_k", Row::Refused(SORTING)),
    ("chlo.zeta", Row::Refused(SPECIAL)),
];

fn rows() -> &'static FxHashMap<&'static str, Row> {
    static INDEX: OnceLock<FxHashMap<&'static str, Row>> = OnceLock::new();
    INDEX.get_or_init(|| ROWS.iter().copied().collect())
}

/// The name under which an operation stands in the table.
fn key(name: &str) -> &str {
    name.strip_prefix("stablehlo.").unwrap_or(name)
}

/// The row of an operation that is compiled.
pub(super) fn find(op: &HloOp<'_>) -> Result<Row, Fault> {
    let error = |message: String| Diagnostic::error(Code::HloOp, message, op.name_span);
    let row = rows().get(key(op.name)).filter(|_| op.name.contains('.') || op.name == "call");
    match row {
        Some(Row::Refused(help)) => {
            Err(Box::new(error(format!("`{}` is not compiled", op.name)).help(*help)))
        }
        Some(row) => Ok(*row),
        None => {
            let error = error(format!("there is no operation `{}` here", op.name));
            let near = nearest(key(op.name), ROWS.iter().map(|(name, _)| *name));
            Err(Box::new(match near {
                Some(near) if op.name.starts_with("stablehlo.") => {
                    error.help(format!("did you mean `stablehlo.{near}`?"))
                }
                _ => error,
            }))
        }
    }
}

/// The row of `chlo`'s operation of this name.
pub(super) fn composition(name: &str) -> Option<Row> {
    ROWS.iter().find(|(row, _)| row.strip_prefix("chlo.") == Some(name)).map(|(_, row)| *row)
}

/// True of operations that compare a result with what is expected.
pub(super) fn is_check(op: &HloOp<'_>) -> bool {
    op.name.starts_with("check.")
        || check::target(op).is_some_and(|name| name.starts_with("check."))
}

/// Operations and what is said of them, for documents: those compiled with nothing.
pub(crate) fn list() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    ROWS.iter().map(|(name, row)| match row {
        Row::Refused(help) => (*name, Some(*help)),
        _ => (*name, None),
    })
}

impl<'f, 's> Lower<'f, 's> {
    pub(super) fn apply(&mut self, row: Row, call: &Call<'f, 's>) -> Made {
        match row {
            Row::Map(ops) => elementwise::map(self, call, ops),
            Row::Each(make) | Row::Make(make) => make(self, call),
            Row::Refused(help) => Err(call.refused(help)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_has_one_row() {
        assert_eq!(rows().len(), ROWS.len());
        assert!(list().any(|(name, help)| name == "gather" && help.is_some()));
    }
}
