//! Random tensor programs from lists of numbers: each gene is one operation on values made before, so
//! that a shorter list or smaller numbers give a smaller program, and shrinking is simple. Every operation of the
//! tensor dialect may come up, but those that only fusion makes.

use partita::ir::ops::{
    CrossLaneAxis, CrossLaneOp, Emit, PadAmounts, ReduceOp, SliceRange, TensorOp,
};
use partita::ir::{
    ElemType, ElementwiseOp, Func, FuncBuilder, Literal, Operand, TensorData, TensorType, ValueId,
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

/// Arguments' types; the common ones first.
pub const DTYPES: [ElemType; 15] = [
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

fn choose<T: Copy>(all: &[T], number: u16) -> T {
    all[usize::from(number) % all.len()]
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

    /// A small number of a type.
    fn literal(dtype: ElemType, number: u16) -> Operand {
        Operand::Literal(match dtype {
            ElemType::I1 => Literal::Bool(number.is_multiple_of(2)),
            _ if dtype.is_signed() || dtype.is_float() => Literal::Int(i128::from(number % 7) - 3),
            _ => Literal::Int(i128::from(number % 7)),
        })
    }

    fn apply(&mut self, &[kind, x, y, p, q, r]: &Gene) -> Option<ValueId> {
        let a = self.pick(x);
        let ty = self.ty(a);
        match kind % 20 {
            0..=6 => self.elementwise(a, y, p, q, r),
            7 => self.convert(a, p, q),
            8 | 9 => self.reduce(a, &ty, p, q, r),
            10 => self.scan(a, ty.dtype, p, q, r),
            11 => self.partition_reduce(a, p, q),
            12 => self.made(&ty, p, q),
            _ => self.moved(a, &ty, kind % 20 - 13, [y, p, q, r]),
        }
    }

    fn elementwise(&mut self, a: ValueId, y: u16, p: u16, q: u16, r: u16) -> Option<ValueId> {
        let dtype = self.ty(a).dtype;
        if p % 8 == 7 {
            let masks: Vec<ValueId> =
                self.values.iter().copied().filter(|&v| self.ty(v).dtype == ElemType::I1).collect();
            let mask = *masks.get(usize::from(q) % masks.len().max(1))?;
            let operands = [mask.into(), a.into(), self.pick(y).into()];
            return self.b.elementwise(ElementwiseOp::Select, &operands).ok();
        }
        let op = choose(ElementwiseOp::ALL, q);
        let literal = Self::literal(dtype, r);
        let operands: Vec<Operand> = match (op.arity(), p % 3) {
            (1, _) => vec![a.into()],
            (2, 0) => vec![a.into(), literal],
            (2, 1) => vec![literal, a.into()],
            (2, _) => vec![a.into(), self.pick(y).into()],
            _ => return None,
        };
        match p / 8 % 8 {
            7 => self.b.elementwise_to(op, &operands, choose(&DTYPES, r)).ok(),
            _ => self.b.elementwise(op, &operands).ok(),
        }
    }

    fn convert(&mut self, a: ValueId, p: u16, q: u16) -> Option<ValueId> {
        let dtype = choose(&DTYPES, p);
        match q % 8 {
            0..=4 => self.b.cast(a, dtype).ok(),
            5 => self.b.wrap(a, dtype).ok(),
            6 => self.b.to_int(a, dtype).ok(),
            _ => self.b.bitcast(a, dtype).ok(),
        }
    }

    fn reduce(&mut self, a: ValueId, ty: &TensorType, p: u16, q: u16, r: u16) -> Option<ValueId> {
        let op = choose(ReduceOp::ALL, p);
        let rank = u16::try_from(ty.rank()).ok().filter(|&rank| rank > 0)?;
        let mut dims = vec![usize::from(q % rank)];
        if r % 4 == 3 {
            dims.push(usize::from(q / rank % rank));
            dims.sort_unstable();
            dims.dedup();
        }
        let keep = r.is_multiple_of(2);
        let negate = r / 4 % 8 == 7;
        let dims = dims.into_iter().collect();
        let want = TensorType::scalar(ty.dtype);
        self.b.op(TensorOp::Reduce { op, dims, keep, negate }, &[a.into()], &want).ok()
    }

    fn scan(&mut self, a: ValueId, dtype: ElemType, p: u16, q: u16, r: u16) -> Option<ValueId> {
        use ElementwiseOp::{Add, Bypass, Max, Min, Mult, Subtract};
        let op0 = choose(&[Bypass, Bypass, Bypass, Bypass, Mult, Add, Max], p / 8);
        let op1 = choose(&[Add, Max, Min, Mult, Subtract], p);
        let emit = if q.is_multiple_of(3) { Emit::Final } else { Emit::All };
        let seed = r.is_multiple_of(2).then(|| Self::literal(dtype, q));
        self.b.scan_cache(op0, op1, a, Self::literal(dtype, r), seed, emit).ok()
    }

    fn partition_reduce(&mut self, a: ValueId, p: u16, q: u16) -> Option<ValueId> {
        let op = choose(CrossLaneOp::ALL, p);
        let axis = choose(CrossLaneAxis::ALL, q);
        let scale = (op == CrossLaneOp::Average).then_some(0.25);
        self.b.partition_reduce(op, a, axis, scale).ok()
    }

    /// A value that depends on no other.
    fn made(&mut self, ty: &TensorType, p: u16, q: u16) -> Option<ValueId> {
        if p.is_multiple_of(2) && ty.rank() > 0 {
            return self.b.iota(usize::from(q) % ty.rank(), ty).ok();
        }
        let bits = match ty.dtype {
            ElemType::I1 => u64::from(q % 2),
            dtype if dtype.is_int() => u64::from(q % 100),
            // A positive number of about one in every float type.
            dtype => return self.splat(ty, dtype, q),
        };
        self.b.constant(TensorData::splat(ty.clone(), bits).ok()?).ok()
    }

    fn splat(&mut self, ty: &TensorType, dtype: ElemType, q: u16) -> Option<ValueId> {
        let number =
            TensorData::from_f32(TensorType::scalar(dtype), &[f32::from(q % 9) / 4.0]).ok()?;
        self.b.constant(TensorData::splat(ty.clone(), number.bits(0)?).ok()?).ok()
    }

    fn moved(
        &mut self,
        a: ValueId,
        ty: &TensorType,
        kind: u16,
        [y, p, q, r]: [u16; 4],
    ) -> Option<ValueId> {
        let rank = ty.rank();
        let dim = |n: u16| (rank > 0).then(|| usize::from(n) % rank);
        match kind {
            0 => {
                let mut perm: Vec<usize> = (0..rank).collect();
                perm.rotate_left(usize::from(p) % rank.max(1));
                if q.is_multiple_of(3) && rank > 1 {
                    perm.swap(0, rank - 1);
                }
                self.b.transpose(a, perm).ok()
            }
            1 => {
                let grow = 1 + u64::from(p % 4);
                let shape: Vec<u64> =
                    std::iter::once(grow).chain(ty.shape.iter().copied()).collect();
                (shape.len() <= 5).then(|| self.b.broadcast(a, 1..=rank, shape).ok())?
            }
            2 => {
                let range = |&size: &u64| {
                    let start = u64::from(p) % size.max(1);
                    let limit = size - u64::from(q) % (size - start).max(1);
                    SliceRange { start, limit: limit.max(start), stride: 1 + u64::from(r % 3) }
                };
                self.b.slice(a, ty.shape.iter().map(range)).ok()
            }
            3 => {
                let b = self.pick(y);
                self.b.concat(&[a, b], dim(p)?).ok()
            }
            4 => {
                let amounts = (0..rank).map(|i| PadAmounts {
                    low: i64::from(p % 5) - 1,
                    high: i64::from(q % 4) - 1,
                    interior: if i == 0 { u64::from(r % 2) } else { 0 },
                });
                self.b.pad(a, Self::literal(ty.dtype, r), amounts).ok()
            }
            5 => self.b.reverse(a, [dim(q)?]).ok(),
            _ => {
                let count: u64 = ty.shape.iter().product();
                let shape = match (p % 3, count.is_multiple_of(2)) {
                    (0, true) => vec![count / 2, 2],
                    (1, true) => vec![2, count / 2],
                    _ => vec![count],
                };
                self.b.reshape(a, shape).ok()
            }
        }
    }
}
