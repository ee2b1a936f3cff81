//! What an expansion sees of the operation it rewrites.

use partita_ir::data::DataError;
use partita_ir::eval::{EvalError, EvalOptions, Fp8Options};
use partita_ir::infer::{InferError, literal_dtype};
use partita_ir::ops::{ElementwiseOp, OpKind, TensorOp};
use partita_ir::{ElemType, Func, FuncBuilder, Op, Operand, TensorType, ValueId};
use partita_isa::{Generation, Target};
use smallvec::SmallVec;

/// Why an expansion, or the whole legalization of an operation, gives nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refusal {
    pub reason: String,
    /// The rule or section of the ISA that stands in the way.
    pub rule: Option<&'static str>,
}

impl Refusal {
    pub fn because(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), rule: None }
    }

    pub fn by(rule: &'static str, reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), rule: Some(rule) }
    }
}

impl From<InferError> for Refusal {
    fn from(error: InferError) -> Self {
        Self::because(error.to_string())
    }
}

impl From<DataError> for Refusal {
    fn from(error: DataError) -> Self {
        Self::because(error.to_string())
    }
}

impl From<EvalError> for Refusal {
    fn from(error: EvalError) -> Self {
        Self::because(error.to_string())
    }
}

/// What an expansion builds: the value that takes the operation's place.
pub type Built = Result<ValueId, Refusal>;

/// One operation and the target it is to be expressed for.
///
/// Operands that are values are arguments of the function under construction, one for
/// each position; literals stand as they were written.
#[derive(Clone, Debug)]
pub struct OpCx<'a> {
    pub target: &'a Target,
    pub op: &'a TensorOp,
    pub operands: SmallVec<[Operand; 3]>,
    /// Beside `operands`; a literal has rank 0 and the element type that it takes.
    pub types: SmallVec<[TensorType; 3]>,
    /// The type that the expansion must give.
    pub result: &'a TensorType,
}

impl<'a> OpCx<'a> {
    /// The context of an operation of a function, whose operands are those of the function.
    pub fn new(func: &'a Func, op: &'a Op, target: &'a Target) -> Option<Self> {
        let OpKind::Tensor(kind) = &op.kind else { return None };
        let result = func.tensor_ty(op.result()?)?;
        let ty = |(index, operand): (usize, &Operand)| match operand {
            Operand::Value(value) => func.tensor_ty(*value).cloned(),
            Operand::Literal(_) => literal_dtype(func, op, index).map(TensorType::scalar),
        };
        let types = op.operands.iter().enumerate().map(ty).collect::<Option<_>>()?;
        Some(Self { target, op: kind, operands: op.operands.clone(), types, result })
    }

    /// Begins the function that an expansion builds in, and the context whose operands are
    /// its arguments.
    pub(super) fn template(&self) -> (FuncBuilder, OpCx<'a>) {
        let mut builder = FuncBuilder::new("expansion");
        let mut inner = self.clone();
        for (operand, ty) in inner.operands.iter_mut().zip(&self.types) {
            if operand.value().is_some() {
                *operand = Operand::Value(builder.arg("x", ty.clone()));
            }
        }
        (builder, inner)
    }

    /// The elementwise operation, when it is one.
    pub fn elementwise(&self) -> Option<ElementwiseOp> {
        match self.op {
            TensorOp::Elementwise(op) => Some(*op),
            _ => None,
        }
    }

    /// True of one of these elementwise operations.
    pub fn is_any(&self, ops: &[ElementwiseOp]) -> bool {
        self.elementwise().is_some_and(|op| ops.contains(&op))
    }

    /// The element type computed on: that of the first operand, of a select that of its
    /// branches, and the result's where there is no operand.
    pub fn dtype(&self) -> ElemType {
        let index = usize::from(self.elementwise() == Some(ElementwiseOp::Select));
        self.types.get(index).map_or(self.result.dtype, |ty| ty.dtype)
    }

    /// The element type of the result.
    pub fn to(&self) -> ElemType {
        self.result.dtype
    }

    /// The first operand.
    ///
    /// # Errors
    /// It is missing or a literal.
    pub fn input(&self) -> Built {
        self.operands
            .first()
            .and_then(Operand::value)
            .ok_or_else(|| Refusal::because("the operand is not a value"))
    }

    /// The operand at a position.
    ///
    /// # Errors
    /// There is none.
    pub fn operand(&self, index: usize) -> Result<Operand, Refusal> {
        self.operands.get(index).copied().ok_or_else(|| Refusal::because("an operand is missing"))
    }

    /// The bits of a literal operand in the type it takes.
    pub fn literal_bits(&self, index: usize) -> Option<u64> {
        self.operands.get(index)?.literal()?.to_bits(self.types.get(index)?.dtype).ok()
    }

    pub fn generation(&self) -> Generation {
        self.target.generation
    }

    /// True where POOL has the whole integer band and 64-bit integers (TT-E4, ISA 6.1).
    pub fn has_int_band(&self) -> bool {
        self.target.generation >= Generation::Cayman
    }

    pub fn eval_options(&self) -> EvalOptions {
        eval_options(self.target)
    }
}

/// How the reference reads 8-bit floats for a target (ISA 5.2).
pub fn eval_options(target: &Target) -> EvalOptions {
    let fp8 = Fp8Options { ocp: target.fp8_ocp, saturate: target.fp8_saturate };
    EvalOptions { fp8, ..EvalOptions::default() }
}
