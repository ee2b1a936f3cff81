//! The state of one check, and the rules that every opcode shares: header, events, reserved bytes.

use crate::alu::AluOp;
use crate::asm::field_text;
use crate::dtype::Dtype;
use crate::enums::{DebugCmd, UpdateMode, WaitMode};
use crate::field::{Field, FieldKind};
use crate::layout::{Events, Header, events, header};
use crate::opcode::{Opcode, is_defined};
use crate::rule::{self, Rule};
use crate::target::{Engine, Generation, Target};
use crate::violation::{Severity, Violation};
use crate::word::Word;

/// The rule that a shared test is made for, and the rule around that one if there is any: under 0x83
/// a wrong partition is TTR-1, made of TR-8, made of CH-3.
#[derive(Clone, Copy)]
pub(crate) struct Under {
    pub outer: Option<&'static Rule>,
    pub own: &'static Rule,
}

impl Under {
    pub const fn new(own: &'static Rule) -> Self {
        Self { outer: None, own }
    }

    pub const fn inside(outer: Option<&'static Rule>, own: &'static Rule) -> Self {
        Self { outer, own }
    }
}

pub(crate) struct Checker<'a> {
    pub word: &'a Word,
    pub target: &'a Target,
    pub generation: Generation,
    pub engine: Option<Engine>,
    /// Of this subset, or `None`.
    pub opcode: Option<Opcode>,
    pub violations: Vec<Violation>,
}

impl<'a> Checker<'a> {
    #[inline]
    pub fn new(word: &'a Word, target: &'a Target, engine: Option<Engine>) -> Self {
        let generation = target.generation;
        let opcode = Opcode::from_number(word.opcode_byte());
        Self { word, target, generation, engine, opcode, violations: Vec::new() }
    }

    /// HDR, EV and GEN-1; the opcode if the body is to be examined.
    #[inline]
    pub fn header(&mut self) -> Option<Opcode> {
        let specified = self.opcode.filter(|opcode| opcode.exists_on(self.generation));
        let [_, length, debug, ..] = self.word.0;
        if specified.is_none() || length != 16 || debug != 0 {
            self.unusual_header(&Header::decode(&self.word.0), specified);
        }
        // Nothing of ISA 2.5 is broken by event bytes that are all 0.
        let (_, events) = self.word.0.split_at(4);
        if events.first_chunk::<8>() != Some(&[0; 8]) {
            self.events(&Events::decode(&self.word.0));
        }
        if specified.is_none() {
            self.foreign();
        }
        specified
    }

    /// HDR-1, HDR-2, DBG-1. What this subset specifies for the generation is defined there.
    #[cold]
    fn unusual_header(&mut self, h: &Header, specified: Option<Opcode>) {
        if specified.is_none() && !is_defined(h.opcode, self.generation) {
            self.fail(Under::new(&rule::HDR_1), &header::opcode, move || {
                "a number that the generation defines".into()
            });
        }
        if h.inst_word_len != 16 {
            self.fail(Under::new(&rule::HDR_2), &header::inst_word_len, move || "16".into());
        }
        if DebugCmd::from_code(h.debug_cmd).is_none() {
            self.warn(&rule::DBG_1, &header::debug_cmd, || "a defined command".into());
        }
    }

    /// GEN-1 for an opcode that the target lacks, or that is defined and not specified here.
    #[cold]
    fn foreign(&mut self) {
        let field = &header::opcode;
        match self.opcode.map(Opcode::info) {
            Some(info) => {
                let allowed = || format!("{} on {}", info.name, info.generations);
                match info.generation_rule {
                    [own, ..] => {
                        self.fail_inside(Under::new(own), &[&rule::GEN_1], field, allowed);
                    }
                    [] => self.fail(Under::new(&rule::GEN_1), field, allowed),
                }
            }
            None if is_defined(self.word.opcode_byte(), self.generation) => {
                self.fail(Under::new(&rule::GEN_1), field, || "an opcode of this subset".into());
            }
            None => {}
        }
    }

    fn events(&mut self, e: &Events) {
        let wait = WaitMode::from_code(e.wait_mode);
        let update = UpdateMode::from_code(e.update_mode);
        if wait.is_none() {
            self.fail(Under::new(&rule::EV_1), &events::wait_mode, move || {
                WaitMode::TABLE.listing()
            });
        }
        if update.is_none() {
            self.fail(Under::new(&rule::EV_2), &events::update_mode, move || {
                UpdateMode::TABLE.listing()
            });
        }
        if wait.is_some_and(WaitMode::uses_register) {
            self.fail(Under::new(&rule::EV_3), &events::wait_mode, move || {
                "an immediate form".into()
            });
        }
        if update.is_some_and(UpdateMode::uses_register) {
            self.fail(Under::new(&rule::EV_3), &events::update_mode, move || {
                "an immediate form".into()
            });
        }
        let (Some(wait), Some(update)) = (wait, update) else { return };
        let unused = [
            (wait == WaitMode::None && e.wait_idx != 0, &events::wait_idx),
            (update == UpdateMode::None && e.update_idx != 0, &events::update_idx),
            (
                !wait.uses_immediate() && !update.uses_immediate() && e.semaphore_value != 0,
                &events::semaphore_value,
            ),
        ];
        for (broken, field) in unused {
            if broken {
                self.warn(&rule::EV_5, field, || "0: nothing uses the field".into());
            }
        }
    }

    /// RES for one reserved field, together with the opcode's own rule where it has one.
    #[inline]
    pub fn reserved(&mut self, bytes: &[u8], field: &'static Field, own: Option<&'static Rule>) {
        if bytes.iter().any(|&byte| byte != 0) {
            match own {
                Some(own) => self.fail_inside(Under::new(own), &[&rule::RES], field, zeros),
                None => self.fail(Under::new(&rule::RES), field, zeros),
            }
        }
    }

    /// Fails unless `ok`.
    #[inline]
    pub fn require(&mut self, ok: bool, under: Under, field: &'static Field, allowed: &str) {
        if !ok {
            self.fail(under, field, move || allowed.into());
        }
    }

    /// The dtype of a code if the rule's set holds it. An undefined code breaks the rule, too.
    #[inline]
    pub fn dtype(
        &mut self,
        code: u8,
        under: Under,
        field: &'static Field,
        set: impl Fn(Dtype) -> bool,
    ) -> Option<Dtype> {
        let dtype = Dtype::from_code(code);
        if !dtype.is_some_and(&set) {
            self.fail(under, field, move || list(Dtype::ALL, |&dtype| set(dtype)));
            return None;
        }
        dtype
    }

    /// Whether an operation lies in the rule's set; one that does not exist on the target was
    /// reported by [`Self::defined_op`].
    #[inline]
    pub fn op(
        &mut self,
        op: Option<AluOp>,
        under: Under,
        field: &'static Field,
        set: impl Fn(AluOp) -> bool,
    ) {
        if op.is_some_and(|op| !set(op)) {
            let generation = self.generation;
            self.fail(under, field, move || {
                list(AluOp::ALL, |&op| op.exists_on(generation) && set(op))
            });
        }
    }

    /// The operation of a code, if it exists on the target.
    #[inline]
    pub fn existing_op(&self, code: u8) -> Option<AluOp> {
        AluOp::from_code(code).filter(|op| op.exists_on(self.generation))
    }

    /// The operation of a code; one that does not exist on the target breaks the rule.
    #[inline]
    pub fn defined_op(&mut self, code: u8, under: Under, field: &'static Field) -> Option<AluOp> {
        let op = self.existing_op(code);
        if op.is_none() {
            let generation = self.generation;
            self.fail(under, field, move || list(AluOp::ALL, |op| op.exists_on(generation)));
        }
        op
    }

    #[cold]
    #[inline(never)]
    pub fn fail(&mut self, under: Under, field: &'static Field, allowed: impl FnOnce() -> String) {
        self.fail_inside(under, &[], field, allowed);
    }

    /// Reports the rules from the outermost to the innermost, each once per word, except that the
    /// innermost is reported for every field that breaks it.
    #[cold]
    #[inline(never)]
    pub fn fail_inside(
        &mut self,
        under: Under,
        inner: &[&'static Rule],
        field: &'static Field,
        allowed: impl FnOnce() -> String,
    ) {
        let found = self.found(field);
        let allowed = allowed();
        let mut inside = None;
        let chain = under.outer.into_iter().chain([under.own]).chain(inner.iter().copied());
        let depth = usize::from(under.outer.is_some()) + 1 + inner.len();
        for (level, rule) in chain.enumerate() {
            let known = self.violations.iter().any(|seen| {
                seen.rule == rule && (level + 1 < depth || seen.offset == field.offset)
            });
            if !known {
                self.violations.push(Violation {
                    rule,
                    severity: Severity::Error,
                    field: field.name,
                    offset: field.offset,
                    found: found.clone(),
                    allowed: allowed.clone(),
                    inside,
                });
            }
            inside = Some(rule);
        }
    }

    #[cold]
    #[inline(never)]
    pub fn warn(
        &mut self,
        rule: &'static Rule,
        field: &'static Field,
        allowed: impl FnOnce() -> String,
    ) {
        let found = self.found(field);
        self.report(rule, field, Severity::Warning, found, allowed());
    }

    pub fn report(
        &mut self,
        rule: &'static Rule,
        field: &'static Field,
        severity: Severity,
        found: String,
        allowed: String,
    ) {
        self.violations.push(Violation {
            rule,
            severity,
            field: field.name,
            offset: field.offset,
            found,
            allowed,
            inside: None,
        });
    }

    /// The field's value as assembler text shows it; header fields may belong to a word whose opcode
    /// has no text.
    fn found(&self, field: &Field) -> String {
        match (self.opcode, field.kind) {
            (_, FieldKind::Opcode) => format!("{:#04x}", self.word.opcode_byte()),
            (Some(opcode), _) => field_text(self.word, opcode, field, self.target),
            (None, _) => {
                let bytes = &self.word.0[field.offset..field.offset + field.size];
                let value =
                    bytes.iter().rev().fold(0_u64, |value, &byte| value << 8 | u64::from(byte));
                format!("{value:#04x}")
            }
        }
    }
}

fn zeros() -> String {
    "zeros".into()
}

/// The members of a set, by name.
fn list<T: std::fmt::Display>(all: &[T], set: impl Fn(&T) -> bool) -> String {
    let names: Vec<String> = all.iter().filter(|item| set(item)).map(T::to_string).collect();
    names.join(", ")
}
