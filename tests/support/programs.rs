//! Random tensor programs from lists of numbers: each gene is one operation on values made before, so
//! that a shorter list or smaller numbers give a smaller program, and shrinking is simple.

use partita::ir::ops::{CrossLaneAxis, CrossLaneOp, Emit, PadAmounts, ReduceOp, SliceRange};
use partita::ir::{
    ElemType, ElementwiseOp, Func, FuncBuilder, Literal, Operand, TensorType, ValueId,
};

/// One operation's choices.
pub type Gene = [u16; 6];

/// Everything a program is made from.
#[derive(Clone, Debug)]
pub struct Recipe {
    pub shape: Vec<u64>,
    pub dtype: usize,
    pub genes: Vec<Gene>,
}

const DTYPES: [ElemType; 15] = [
    ElemType::F32,
    ElemType::I32,
    ElemType::Bf16,
    ElemType::I8,
    ElemType::Ui32,
    ElemType::F16,
    ElemType::Ui8,
    ElemType::I16,
    ElemType::Ui16,
    ElemType::I1,
    ElemType::I64,
    ElemType::F8E4M3,
    ElemType::F8E5M2,
    ElemType::F8E3M4,
    ElemType::Ui64,
];

/// Operations whose words are exact, for any element type that takes them.
const EXACT: [ElementwiseOp; 34] = {
    use ElementwiseOp::*;
    [
        Add,
        Subtract,
        Mult,
        Max,
        Min,
        Maximum,
        Minimum,
        AbsoluteValue,
        AbsoluteDiff,
        Square,
        IsEq,
        IsNe,
        IsGt,
        IsGe,
        IsLt,
        IsLe,
        LogicalAnd,
        LogicalOr,
        LogicalXor,
        BitwiseAnd,
        BitwiseOr,
        BitwiseXor,
        BitwiseNot,
        LogicalShiftLeft,
        LogicalShiftRight,
        ArithShiftRight,
        Sign,
        Floor,
        RoundEven,
        Trunc,
        Popcount,
        Divide,
        Remainder,
        Copy,
    ]
};

/// Larger values are made but not used, so that a case takes milliseconds.
const MAX_ELEMENTS: u64 = 20_000;

struct Maker {
    b: FuncBuilder,
    values: Vec<ValueId>,
}

/// Builds the program. Genes that fit no value are skipped.
pub fn build(recipe: &Recipe) -> Func {
    let mut b = FuncBuilder::new("random");
    let dtype = DTYPES[recipe.dtype % DTYPES.len()];
    let ty = TensorType::new(recipe.shape.iter().copied(), dtype);
    let values = vec![b.arg("a", ty.clone()), b.arg("b", ty)];
    let mut maker = Maker { b, values };
    for gene in &recipe.genes {
        let Some(value) = maker.apply(gene) else { continue };
        if maker.ty(value).elements().is_some_and(|count| count <= MAX_ELEMENTS) {
            maker.values.push(value);
        }
    }
    let last = *maker.values.last().expect("there are arguments");
    let other = maker.values[maker.values.len() / 2];
    maker.b.finish(&[last, other])
}

impl Maker {
    fn pick(&self, number: u16) -> ValueId {
        // Late values first: small numbers take what was just made.
        let count = self.values.len();
        self.values[count - 1 - usize::from(number) % count]
    }

    fn ty(&self, value: ValueId) -> TensorType {
        self.b.ty(value).expect("a tensor").clone()
    }

    fn apply(&mut self, &[kind, x, y, p, q, r]: &Gene) -> Option<ValueId> {
        let a = self.pick(x);
        let ty = self.ty(a);
        let rank = ty.rank();
        let dim = |n: u16| (rank > 0).then(|| usize::from(n) % rank);
        match kind % 16 {
            0..=5 => self.elementwise(a, y, p, q, r),
            6 => self.b.cast(a, DTYPES[usize::from(p) % DTYPES.len()]).ok(),
            7 | 8 => {
                let ops = [
                    ReduceOp::Add,
                    ReduceOp::Max,
                    ReduceOp::Min,
                    ReduceOp::Maximum,
                    ReduceOp::BitwiseXor,
                    ReduceOp::BitwiseAnd,
                    ReduceOp::LogicalOr,
                    ReduceOp::Argmax,
                    ReduceOp::Argmin,
                    ReduceOp::Mult,
                ];
                let op = ops[usize::from(p) % ops.len()];
                // A product of many numbers is exact in no order.
                if op == ReduceOp::Mult && ty.dtype.is_float() {
                    return None;
                }
                self.b.reduce(op, a, [dim(q)?], r.is_multiple_of(2)).ok()
            }
            9 => {
                let op = [ElementwiseOp::Add, ElementwiseOp::Max, ElementwiseOp::Min]
                    [usize::from(p) % 3];
                let emit = if q.is_multiple_of(3) { Emit::Final } else { Emit::All };
                let seed = (r.is_multiple_of(2)).then_some(Operand::Literal(Literal::Int(1)));
                let seed = seed.filter(|_| ty.dtype != ElemType::I1);
                let zero =
                    if ty.dtype == ElemType::I1 { Literal::Bool(false) } else { Literal::Int(0) };
                self.b
                    .scan_cache(ElementwiseOp::Bypass, op, a, Operand::Literal(zero), seed, emit)
                    .ok()
            }
            10 => {
                let mut perm: Vec<usize> = (0..rank).collect();
                perm.rotate_left(usize::from(p) % rank.max(1));
                self.b.transpose(a, perm).ok()
            }
            11 => {
                let grow = 1 + u64::from(p % 4);
                let shape: Vec<u64> =
                    std::iter::once(grow).chain(ty.shape.iter().copied()).collect();
                (shape.len() <= 5).then(|| self.b.broadcast(a, 1..=rank, shape).ok())?
            }
            12 => {
                let ranges: Vec<SliceRange> = ty
                    .shape
                    .iter()
                    .map(|&size| {
                        let start = u64::from(p) % size.max(1);
                        let limit = size - u64::from(q) % (size - start).max(1);
                        SliceRange { start, limit: limit.max(start), stride: 1 + u64::from(r % 3) }
                    })
                    .collect();
                self.b.slice(a, ranges).ok()
            }
            13 => {
                let b = self.pick(y);
                self.b.concat(&[a, b], dim(p)?).ok()
            }
            14 => {
                let amounts: Vec<PadAmounts> = (0..rank)
                    .map(|i| PadAmounts {
                        low: i64::from(p % 5) - 1,
                        high: i64::from(q % 4) - 1,
                        interior: if i == 0 { u64::from(r % 2) } else { 0 },
                    })
                    .collect();
                let filling =
                    if ty.dtype == ElemType::I1 { Literal::Bool(true) } else { Literal::Int(1) };
                self.b.pad(a, Operand::Literal(filling), amounts).ok()
            }
            _ => match p % 4 {
                0 => self.b.reverse(a, [dim(q)?]).ok(),
                1 => {
                    let count: u64 = ty.shape.iter().product();
                    self.b.reshape(a, [count]).ok()
                }
                2 if rank > 0 && ty.dtype != ElemType::I1 => {
                    let op = [CrossLaneOp::Add, CrossLaneOp::Max, CrossLaneOp::BitwiseXor]
                        [usize::from(q) % 3];
                    self.b.partition_reduce(op, a, CrossLaneAxis::Partitions, None).ok()
                }
                _ => self.b.bitcast(a, ElemType::Ui8).ok(),
            },
        }
    }

    fn elementwise(&mut self, a: ValueId, y: u16, p: u16, q: u16, r: u16) -> Option<ValueId> {
        let dtype = self.ty(a).dtype;
        if p % 8 == 7 {
            let masks: Vec<ValueId> =
                self.values.iter().copied().filter(|&v| self.ty(v).dtype == ElemType::I1).collect();
            let mask = *masks.get(usize::from(q) % masks.len().max(1))?;
            let b = self.pick(y);
            return self
                .b
                .elementwise(ElementwiseOp::Select, &[mask.into(), a.into(), b.into()])
                .ok();
        }
        let op = EXACT[usize::from(q) % EXACT.len()];
        // Quotients of floats are approximated, and their remainders jump.
        if dtype.is_float() && matches!(op, ElementwiseOp::Divide | ElementwiseOp::Remainder) {
            return None;
        }
        let literal = match dtype {
            ElemType::I1 => Literal::Bool(r.is_multiple_of(2)),
            _ if dtype.is_signed() || dtype.is_float() => Literal::Int(i128::from(r % 7) - 3),
            _ => Literal::Int(i128::from(r % 7)),
        };
        let operands: Vec<Operand> = match (op.arity(), p % 3) {
            (1, _) => vec![a.into()],
            (_, 0) => vec![a.into(), Operand::Literal(literal)],
            (_, 1) => vec![Operand::Literal(literal), a.into()],
            _ => vec![a.into(), self.pick(y).into()],
        };
        self.b.elementwise(op, &operands).ok()
    }
}
