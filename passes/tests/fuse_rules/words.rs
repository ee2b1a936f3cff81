//! Proofs of the rules that put several operations into one word.
//!
//! Operands are specials against specials: `x` runs over them along rows, a scalar of
//! each row over them from row to row, and a second tensor over both.

use super::*;
use partita_ir::ops::{Emit, Seed};
use partita_ir::{Operand, ValueId};

/// What an operand is: a tensor, a value of each row, or a literal.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Tensor,
    Row,
    Literal(Literal),
}

/// `[n, n]` or `[n, 1]` of the specials of a type.
fn operand(kind: Kind, dtype: ElemType, bits: &[u64]) -> Option<TensorData> {
    let n = bits.len() as u64;
    let at = |row: u64, column: u64| match kind {
        Kind::Row => bits[row as usize],
        _ => bits[((row * 7 + column) % n) as usize],
    };
    let columns = match kind {
        Kind::Tensor => n,
        Kind::Row => 1,
        Kind::Literal(_) => return None,
    };
    let all: Vec<u64> = (0..n).flat_map(|row| (0..columns).map(move |c| at(row, c))).collect();
    Some(TensorData::from_bits(TensorType::new([n, columns], dtype), &all).expect("as many"))
}

/// A function under construction with its inputs.
struct Case {
    b: FuncBuilder,
    inputs: Vec<TensorData>,
}

impl Case {
    fn new() -> Self {
        Self { b: FuncBuilder::new("case"), inputs: Vec::new() }
    }

    fn arg(&mut self, data: TensorData) -> ValueId {
        let value = self.b.arg("x", data.ty().clone());
        self.inputs.push(data);
        value
    }

    fn operand(&mut self, kind: Kind, dtype: ElemType, bits: &[u64]) -> Operand {
        match (kind, operand(kind, dtype, bits)) {
            (Kind::Literal(literal), _) => literal.into(),
            (_, Some(data)) => self.arg(data).into(),
            (_, None) => Literal::Float(0.0).into(),
        }
    }

    /// True when the rule applied, and then both sides agree.
    fn proves(self, name: &str, result: ValueId) -> bool {
        let func = self.b.finish(&[result]);
        prove(rule(name), &func, &self.inputs).is_ok()
    }
}

const LITERALS: &[Literal] = &[
    Literal::Float(0.0),
    Literal::Float(-0.0),
    Literal::Float(1.5),
    Literal::Float(-3.0),
    Literal::Float(f64::NAN),
    Literal::Float(f64::INFINITY),
];

/// The ways to give an operation a scalar, `x` on either side.
fn scalar_kinds(number: usize) -> [Kind; 2] {
    [Kind::Row, Kind::Literal(LITERALS[number % LITERALS.len()])]
}

fn ordered(first: Operand, second: Operand, swap: bool) -> [Operand; 2] {
    if swap { [second, first] } else { [first, second] }
}

/// Inner operation on `x` and a scalar (if it takes one), outer on that and another.
fn two(
    name: &str,
    ops: [ElementwiseOp; 2],
    dtypes: [ElemType; 3],
    kinds: [Kind; 2],
    swaps: [bool; 2],
    bits: &[u64],
) -> bool {
    let [inner, outer] = ops;
    let [from, middle, to] = dtypes;
    let mut case = Case::new();
    // The outer operation's operand comes first among the inputs of the chain.
    let other = (outer.arity() == 2).then(|| case.operand(kinds[1], middle, bits));
    let first: Vec<Operand> = if inner.arity() == 1 {
        vec![case.operand(Kind::Tensor, from, bits)]
    } else if swaps[0] {
        let scalar = case.operand(kinds[0], from, bits);
        vec![scalar, case.operand(Kind::Tensor, from, bits)]
    } else {
        let x = case.operand(Kind::Tensor, from, bits);
        vec![x, case.operand(kinds[0], from, bits)]
    };
    let Ok(t) = case.b.elementwise_to(inner, &first, middle) else { return false };
    let second: Vec<Operand> = match other {
        Some(other) => ordered(t.into(), other, swaps[1]).to_vec(),
        None => vec![t.into()],
    };
    let Ok(y) = case.b.elementwise_to(outer, &second, to) else { return false };
    case.proves(name, y)
}

const SWAPS: [[bool; 2]; 4] = [[false, false], [true, false], [false, true], [true, true]];

/// Result types, one for each case in turn.
const RESULTS: [ElemType; 5] =
    [ElemType::F32, ElemType::Bf16, ElemType::F32, ElemType::I8, ElemType::I1];

#[test]
fn two_operations_are_one_word() {
    let bits = specials(ElemType::F32);
    let mut proved = [0, 0];
    let mut number = 0;
    for &inner in ElementwiseOp::ALL {
        for &outer in ElementwiseOp::ALL {
            if inner.arity() > 2 || outer.arity() > 2 {
                continue;
            }
            for swaps in SWAPS {
                number += 1;
                let to = RESULTS[number % RESULTS.len()];
                let middle = if number % 7 == 0 { ElemType::I1 } else { ElemType::F32 };
                let dtypes = [ElemType::F32, middle, to];
                for first in scalar_kinds(number) {
                    for second in scalar_kinds(number / 3) {
                        let kinds = [first, second];
                        let name = "two-scalar-operations";
                        proved[0] +=
                            usize::from(two(name, [inner, outer], dtypes, kinds, swaps, &bits));
                    }
                    let kinds = [first, Kind::Tensor];
                    let name = "scalar-tensor-operations";
                    proved[1] +=
                        usize::from(two(name, [inner, outer], dtypes, kinds, swaps, &bits));
                }
            }
        }
    }
    assert!(proved[0] > 1000 && proved[1] > 500, "{proved:?}");
}

#[test]
fn a_narrow_operand_is_read_as_it_is() {
    let mut proved = 0;
    for dtype in [ElemType::Bf16, ElemType::F16, ElemType::F8E4M3] {
        let bits: Vec<u64> = specials(dtype).into_iter().take(40).collect();
        for (number, &inner) in ElementwiseOp::ALL.iter().enumerate() {
            let dtypes = [dtype, ElemType::F32, ElemType::F32];
            let literal = Kind::Literal(LITERALS[number % 4]);
            for outer in [ElementwiseOp::Mult, ElementwiseOp::IsGt, ElementwiseOp::AbsoluteValue] {
                for swaps in SWAPS {
                    for name in ["two-scalar-operations", "scalar-tensor-operations"] {
                        let kind = if name.starts_with("two") { literal } else { Kind::Tensor };
                        let kinds = [literal, kind];
                        let ops = [inner, outer];
                        proved += usize::from(two(name, ops, dtypes, kinds, swaps, &bits));
                    }
                }
            }
        }
    }
    assert!(proved > 200, "{proved}");
}

/// Where nothing is rounded between the operations, nothing changes.
#[test]
fn dropping_a_rounding_changes_nothing_else() {
    let small: Vec<u64> = (-4..=4)
        .map(|value| {
            let wide = (value as f32).to_bits();
            u64::from(wide >> 16)
        })
        .collect();
    let mut proved = [0, 0];
    for &inner in ElementwiseOp::ALL {
        for &outer in ElementwiseOp::ALL {
            for swaps in SWAPS {
                let scalar = Kind::Literal(Literal::Float(2.0));
                let dtypes = [ElemType::Bf16; 3];
                let names =
                    ["two-scalar-operations-unrounded", "scalar-tensor-operations-unrounded"];
                for ((name, second), proved) in
                    names.into_iter().zip([scalar, Kind::Tensor]).zip(&mut proved)
                {
                    let kinds = [scalar, second];
                    *proved += usize::from(two(name, [inner, outer], dtypes, kinds, swaps, &small));
                }
            }
        }
    }
    assert!(proved[0] > 100 && proved[1] > 100, "{proved:?}");
}

#[test]
fn two_operations_on_bits_are_one_word() {
    let mut proved = [0, 0];
    for dtype in [ElemType::Ui8, ElemType::I16, ElemType::I32, ElemType::Ui32] {
        let bits: Vec<u64> = specials(dtype).into_iter().take(24).collect();
        for &inner in ElementwiseOp::ALL {
            for &outer in ElementwiseOp::ALL {
                for swaps in SWAPS {
                    let count = Kind::Literal(Literal::Int(3));
                    let dtypes = [dtype; 3];
                    let ops = [inner, outer];
                    let names = ["two-bit-operations", "scalar-tensor-bit-operations"];
                    for ((name, second), proved) in
                        names.into_iter().zip([count, Kind::Tensor]).zip(&mut proved)
                    {
                        *proved +=
                            usize::from(two(name, ops, dtypes, [count, second], swaps, &bits));
                    }
                }
            }
        }
    }
    assert!(proved[0] > 50 && proved[1] > 50, "{proved:?}");
}

#[test]
fn the_exponential_takes_a_difference() {
    let bits = specials(ElemType::F32);
    let ops = [ElementwiseOp::Subtract, ElementwiseOp::Exp];
    for to in [ElemType::F32, ElemType::Bf16] {
        let dtypes = [ElemType::F32, ElemType::F32, to];
        for kind in scalar_kinds(2) {
            let name = "exponential-of-difference";
            assert!(two(name, ops, dtypes, [kind; 2], [false, false], &bits));
            assert!(!two(name, ops, dtypes, [kind; 2], [true, false], &bits));
        }
    }
}

const NARROW: &[ElemType] = &[
    ElemType::I1,
    ElemType::I8,
    ElemType::Ui8,
    ElemType::I16,
    ElemType::Ui16,
    ElemType::F8E3M4,
    ElemType::F8E4M3,
    ElemType::F8E5M2,
    ElemType::F16,
    ElemType::Bf16,
];

#[test]
fn casts_go_into_what_reads_them() {
    let wide = specials(ElemType::F32);
    let mut proved = [0, 0];
    for &dtype in NARROW {
        let bits: Vec<u64> = specials(dtype).into_iter().cycle().take(wide.len()).collect();
        for (number, &op) in ElementwiseOp::ALL.iter().enumerate() {
            for swap in [false, true] {
                for other in [Kind::Tensor, Kind::Row, Kind::Literal(LITERALS[number % 6])] {
                    let to = RESULTS[number % RESULTS.len()];
                    let mut case = Case::new();
                    let other =
                        (op.arity() == 2).then(|| case.operand(other, ElemType::F32, &wide));
                    let x = operand(Kind::Tensor, dtype, &bits).expect("a tensor");
                    let x = case.arg(x);
                    let x = case.b.cast(x, ElemType::F32).expect("any type");
                    let operands: Vec<Operand> = match other {
                        Some(other) => ordered(x.into(), other, swap).to_vec(),
                        None => vec![x.into()],
                    };
                    let Ok(y) = case.b.elementwise_to(op, &operands, to) else { continue };
                    proved[0] += usize::from(case.proves("cast-into-operand", y));
                }
            }
        }
        for swap in [false, true] {
            for ops in [
                [ElementwiseOp::Mult, ElementwiseOp::Add],
                [ElementwiseOp::Subtract, ElementwiseOp::Max],
                [ElementwiseOp::IsGt, ElementwiseOp::LogicalAnd],
            ] {
                let mut case = Case::new();
                let y = case.operand(Kind::Tensor, ElemType::F32, &wide);
                let x = case.arg(operand(Kind::Tensor, dtype, &bits).expect("a tensor"));
                let x = case.b.cast(x, ElemType::F32).expect("any type");
                let scalar = Literal::Float(0.75).into();
                let operands = [x.into(), scalar, y];
                let y = case.b.pair(ops, &operands, swap, ElemType::F32).expect("a pair");
                proved[1] += usize::from(case.proves("cast-into-pair", y));
            }
        }
    }
    assert!(proved[0] > 300 && proved[1] == NARROW.len() * 6, "{proved:?}");
}

#[test]
fn casts_go_out_of_pairs_and_tests() {
    let bits = specials(ElemType::F32);
    let mut proved = [0, 0];
    for &to in DTYPES {
        for &op in ElementwiseOp::ALL {
            let mut case = Case::new();
            let x = case.operand(Kind::Tensor, ElemType::F32, &bits);
            let ops = [ElementwiseOp::Mult, op];
            let second = (op.arity() == 2).then(|| Operand::from(Literal::Float(-2.5)));
            let operands: Vec<Operand> =
                [x, Literal::Float(0.3).into()].into_iter().chain(second).collect();
            let Ok(t) = case.b.pair(ops, &operands, false, ElemType::F32) else { continue };
            let y = case.b.cast(t, to).expect("any type");
            proved[0] += usize::from(case.proves("cast-out-of-pair", y));
        }
        for &op in ElementwiseOp::ALL.iter().filter(|op| op.arity() == 2) {
            let mut case = Case::new();
            let x = case.operand(Kind::Tensor, ElemType::F32, &bits);
            let s = case.operand(Kind::Row, ElemType::F32, &bits);
            let Ok(t) = case.b.elementwise_to(op, &[x, s], ElemType::I1) else { continue };
            let y = case.b.cast(t, to).expect("any type");
            proved[1] += usize::from(case.proves("truth-as-number", y));
        }
    }
    assert!(proved[0] > 100 && proved[1] > 60, "{proved:?}");
}

#[test]
fn operations_of_one_operand_where_the_machine_has_them() {
    for &dtype in DTYPES.iter().filter(|dtype| dtype.is_float()) {
        let bits = specials(dtype);
        for to in [dtype, ElemType::F32, ElemType::I8] {
            let mut case = Case::new();
            let x = case.operand(Kind::Tensor, dtype, &bits);
            let y = case.b.elementwise_to(ElementwiseOp::Mult, &[x, x], to).expect("a product");
            assert!(case.proves("product-with-itself", y), "{dtype} {to}");
            let mut case = Case::new();
            let x = case.operand(Kind::Tensor, dtype, &bits);
            let zero = Operand::from(Literal::Float(0.0));
            let y = case.b.elementwise_to(ElementwiseOp::Maximum, &[x, zero], to);
            assert!(case.proves("maximum-with-zero", y.expect("an extreme")), "{dtype} {to}");
        }
    }
}

#[test]
fn operations_with_scalars_go_into_reductions() {
    let mut proved = [0, 0];
    for dtype in [ElemType::F32, ElemType::Bf16, ElemType::F8E5M2] {
        // Two elements a row: specials against specials, so that order says nothing.
        let pairs = edges(dtype);
        let count = pairs.shape()[1];
        let half: Vec<u64> = pairs.iter_bits().collect();
        let (first, second) = half.split_at(count as usize);
        let rows: Vec<u64> = first.iter().zip(second).flat_map(|(&a, &b)| [a, b]).collect();
        let x = TensorData::from_bits(TensorType::new([count, 2], dtype), &rows).expect("rows");
        let s = TensorData::from_bits(TensorType::new([count, 1], dtype), second).expect("rows");
        for &op in ElementwiseOp::ALL.iter().filter(|op| op.arity() <= 2) {
            for &fold in ReduceOp::ALL {
                for (number, keep, swap, row) in [
                    (0, true, false, false),
                    (3, false, true, false),
                    (2, true, false, true),
                    (1, false, true, true),
                ] {
                    let mut case = Case::new();
                    let x = case.arg(x.clone());
                    let mut operands: Vec<Operand> = vec![x.into()];
                    if op.arity() == 2 {
                        let literal = LITERALS[number].into();
                        operands.push(if row { case.arg(s.clone()).into() } else { literal });
                    }
                    // Inputs of a chain stand in the order of its operands.
                    if swap && row {
                        continue;
                    }
                    if swap {
                        operands.reverse();
                    }
                    let Ok(t) = case.b.elementwise_to(op, &operands, ElemType::F32) else {
                        continue;
                    };
                    let Ok(y) = case.b.reduce(fold, t, [1], keep) else { continue };
                    let name = if matches!(fold, ReduceOp::Add | ReduceOp::Mult) {
                        "scalar-operation-into-sum"
                    } else {
                        "scalar-operation-into-extreme"
                    };
                    let at = usize::from(name.ends_with("extreme"));
                    proved[at] += usize::from(case.proves(name, y));
                }
            }
        }
    }
    assert!(proved[0] > 50 && proved[1] > 50, "{proved:?}");
}

#[test]
fn operations_with_scalars_go_into_scans() {
    let bits = specials(ElemType::F32);
    let mut proved = 0;
    for &op in ElementwiseOp::ALL.iter().filter(|op| op.arity() <= 2) {
        for &op1 in ElementwiseOp::ALL {
            for (kind, seed, emit) in [
                (Kind::Row, Seed::Zero, Emit::All),
                (Kind::Literal(Literal::Float(0.5)), Seed::Load, Emit::All),
                (Kind::Literal(Literal::Float(-0.0)), Seed::Zero, Emit::Final),
            ] {
                let mut case = Case::new();
                let x = case.operand(Kind::Tensor, ElemType::F32, &bits);
                let mut operands = vec![x];
                if op.arity() == 2 {
                    operands.push(case.operand(kind, ElemType::F32, &bits));
                }
                let Ok(t) = case.b.elementwise_to(op, &operands, ElemType::F32) else { continue };
                let seed = (seed == Seed::Load).then(|| Literal::Float(2.0).into());
                let zero = Operand::from(Literal::Float(0.0));
                let bypass = ElementwiseOp::Bypass;
                let Ok(y) = case.b.scan_cache(bypass, op1, t, zero, seed, emit) else { continue };
                proved += usize::from(case.proves("scalar-operation-into-scan", y));
            }
        }
    }
    assert!(proved > 50, "{proved}");
}
