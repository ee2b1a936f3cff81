//! ENG-1 to ENG-3, and the 64-bit part of GEN-1: which engine takes a word (ISA 8.5).

use super::address::Operand;
use super::checker::{Checker, Under};
use crate::dtype::Dtype;
use crate::field::Field;
use crate::layout::header;
use crate::rule::{self, Rule};
use crate::target::{Engine, Generation};
use crate::violation::Severity;

/// What an opcode's own rules say about engines.
#[derive(Clone, Copy)]
pub(super) struct EngineRules {
    pub pool: OnPool,
    /// What refuses a 64-bit type on SUNDA.
    pub wide_on_sunda: &'static Rule,
}

/// Where the tensors of a word on POOL may be.
#[derive(Clone, Copy)]
pub(super) enum OnPool {
    /// ENG-2.
    Sbuf,
    /// ENG-2, which the opcode's own rule repeats.
    SbufUnder(Under),
    /// TB-7: in PSUM, too.
    Anywhere,
}

impl EngineRules {
    /// No rule beside the shared ones.
    pub const SHARED: Self = Self { pool: OnPool::Sbuf, wide_on_sunda: &rule::GEN_1 };

    /// An opcode whose own rule names SBUF.
    pub const fn sbuf_under(own: Under) -> Self {
        Self { pool: OnPool::SbufUnder(own), ..Self::SHARED }
    }
}

impl Checker<'_> {
    /// The engine rules over all operands. `dtypes` are the codes of the word's dtype fields.
    #[inline(always)]
    pub(super) fn engines<const N: usize, const D: usize>(
        &mut self,
        operands: [&Operand; N],
        dtypes: [(u8, &'static Field); D],
        rules: EngineRules,
    ) {
        let on_pool = self.is_on(Engine::Pool);
        let psum = on_pool && operands.iter().any(|operand| operand.is_in_psum());
        let wide = dtypes.iter().any(|&(code, _)| is_wide(code));
        if psum || wide || !self.engine_fits() {
            self.refuse_engine(&operands, &dtypes, rules);
        }
    }

    #[cold]
    #[inline(never)]
    fn refuse_engine(
        &mut self,
        operands: &[&Operand],
        dtypes: &[(u8, &'static Field)],
        rules: EngineRules,
    ) {
        let wide = dtypes.iter().find(|(code, _)| is_wide(*code)).map(|&(_, field)| field);
        if let Some(field) = wide
            && self.generation == Generation::Sunda
        {
            let allowed = || "at most 32 bits on sunda".into();
            self.fail(Under::new(rules.wide_on_sunda), field, allowed);
        }
        self.engine_has_opcode();
        if self.is_on(Engine::Pool) {
            for operand in operands.iter().filter(|operand| operand.is_in_psum()) {
                let allowed = || "an address in SBUF".into();
                match rules.pool {
                    OnPool::Sbuf => self.fail(Under::new(&rule::ENG_2), operand.field, allowed),
                    OnPool::SbufUnder(own) => {
                        self.fail_inside(own, &[&rule::ENG_2], operand.field, allowed);
                    }
                    OnPool::Anywhere => {}
                }
            }
        }
        if let Some(field) = wide
            && self.engine.is_some_and(|engine| engine != Engine::Pool)
        {
            self.fail(Under::new(&rule::ENG_3), field, move || "at most 32 bits, or POOL".into());
        }
    }

    /// Whether the opcode is legal on the engine that the word is judged for.
    #[inline]
    fn engine_fits(&self) -> bool {
        match (self.engine, self.opcode) {
            (Some(engine), Some(opcode)) => opcode.info().engines.contains(engine),
            _ => true,
        }
    }

    /// ENG-1.
    pub(super) fn engine_has_opcode(&mut self) {
        if self.engine_fits() {
            return;
        }
        if let (Some(engine), Some(opcode)) = (self.engine, self.opcode) {
            let found = format!("{opcode} on {engine}");
            let allowed = opcode.info().engines.to_string();
            self.report(&rule::ENG_1, &header::opcode, Severity::Error, found, allowed);
        }
    }

    /// Whether the word is judged for this engine.
    pub(super) fn is_on(&self, engine: Engine) -> bool {
        self.engine == Some(engine)
    }
}

/// A code of a 64-bit type.
#[inline]
pub(super) fn is_wide(code: u8) -> bool {
    Dtype::from_code(code).is_some_and(Dtype::is_64_bit)
}
