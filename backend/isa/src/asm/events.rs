//! Waits and updates of semaphores and events, as clauses at the end of a line: `wait sem7 >= 3`,
//! `inc.done sem9`.

use std::ops::Range;

use super::AsmError;
use super::parse_value::{Cursor, put};
use super::write::decimal;
use crate::enums::{UpdateMode, WaitMode};
use crate::field::{Field, Raw};
use crate::layout::{Events, events};
use crate::word::Word;

/// The text of a wait: what stands before the index and after it. A comparison ends in a value.
const WAITS: &[(WaitMode, &str, &str)] = &[
    (WaitMode::SemEqImm, "sem", "=="),
    (WaitMode::SemLeImm, "sem", "<="),
    (WaitMode::SemLtImm, "sem", "<"),
    (WaitMode::SemGeImm, "sem", ">="),
    (WaitMode::SemGtImm, "sem", ">"),
    (WaitMode::EvtSetThenClear, "evt", "then clear"),
    (WaitMode::EvtSet, "evt", ""),
    (WaitMode::EvtClearThenSet, "not evt", "then set"),
    (WaitMode::EvtClear, "not evt", ""),
];

/// The text of an update: its verb and what it acts on. Those with a value end in it.
const UPDATES: &[(UpdateMode, &str, &str)] = &[
    (UpdateMode::SemInc, "inc", "sem"),
    (UpdateMode::SemDec, "dec", "sem"),
    (UpdateMode::SemAddImm, "add", "sem"),
    (UpdateMode::SemSubImm, "sub", "sem"),
    (UpdateMode::SemWrImm, "write", "sem"),
    (UpdateMode::EvtSet, "set", "evt"),
    (UpdateMode::EvtClr, "clear", "evt"),
    (UpdateMode::SemIncDone, "inc.done", "sem"),
    (UpdateMode::SemDecDone, "dec.done", "sem"),
    (UpdateMode::SemAddImmDone, "add.done", "sem"),
    (UpdateMode::SemSubImmDone, "sub.done", "sem"),
    (UpdateMode::SemWrImmDone, "write.done", "sem"),
    (UpdateMode::EvtSetDone, "set.done", "evt"),
    (UpdateMode::EvtClrDone, "clear.done", "evt"),
];

const WAIT: &str = "wait";

/// Writes the clauses of a word. The fields that no clause says are left: they are returned.
pub(super) fn format(
    out: &mut Vec<u8>,
    word: &Word,
    changed: u64,
) -> [&'static [&'static Field]; 3] {
    const WAIT_FIELDS: &[&Field] = &[&events::wait_mode, &events::wait_idx];
    const UPDATE_FIELDS: &[&Field] = &[&events::update_mode, &events::update_idx];
    const VALUE_FIELDS: &[&Field] = &[&events::semaphore_value];
    let mut left = [WAIT_FIELDS, UPDATE_FIELDS, VALUE_FIELDS];
    if changed & EVENT_BYTES == 0 {
        return [&[]; 3];
    }
    let e = Events::decode(&word.0);
    let text = |out: &mut Vec<u8>, parts: [&str; 5]| {
        parts.iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
    };
    if let Some(&(mode, before, after)) = WAITS.iter().find(|wait| wait.0.code() == e.wait_mode) {
        text(out, [" ", WAIT, " ", before, ""]);
        decimal(out, e.wait_idx.into());
        text(out, [if after.is_empty() { "" } else { " " }, after, "", "", ""]);
        left[0] = &[];
        if mode.uses_immediate() {
            out.push(b' ');
            decimal(out, e.semaphore_value);
            left[2] = &[];
        }
    }
    if let Some(&(mode, verb, kind)) = UPDATES.iter().find(|row| row.0.code() == e.update_mode) {
        text(out, [" ", verb, " ", kind, ""]);
        decimal(out, e.update_idx.into());
        left[1] = &[];
        if mode.uses_immediate() {
            out.push(b' ');
            decimal(out, e.semaphore_value);
            left[2] = &[];
        }
    }
    left
}

/// Bytes 4 to 11 of a word.
const EVENT_BYTES: u64 = 0xff0;

/// The words that begin a clause.
pub(super) fn verbs() -> impl Iterator<Item = &'static str> + Clone {
    std::iter::once(WAIT).chain(UPDATES.iter().map(|row| row.1))
}

/// Reads the clause that begins with `verb`, if there is one of that name; `given` has a bit for each
/// byte of the word that has been said.
pub(super) fn parse(
    cursor: &mut Cursor<'_>,
    verb: &str,
    span: Range<usize>,
    word: &mut Word,
    given: &mut u64,
) -> Option<Result<(), AsmError>> {
    if verb == WAIT {
        return Some(parse_wait(cursor, span, word, given));
    }
    let start = cursor.at;
    let done = cursor.rest().starts_with(".done");
    cursor.at += if done { ".done".len() } else { 0 };
    let is_meant = |name: &str| match name.strip_suffix(".done") {
        Some(name) => done && name == verb,
        None => !done && name == verb,
    };
    let Some(&(mode, _, kind)) = UPDATES.iter().find(|row| is_meant(row.1)) else {
        cursor.at = start;
        return None;
    };
    let update = [&events::update_mode, &events::update_idx];
    Some(parse_place(cursor, &[kind]).and_then(|(_, index)| {
        say(word, given, update, [mode.code(), index], span)?;
        if mode.uses_immediate() { value(cursor, word, given) } else { Ok(()) }
    }))
}

fn parse_wait(
    cursor: &mut Cursor<'_>,
    span: Range<usize>,
    word: &mut Word,
    given: &mut u64,
) -> Result<(), AsmError> {
    let not = cursor.word_is("not");
    let (kind, index) = parse_place(cursor, if not { &["evt"] } else { &["sem", "evt"] })?;
    let before = if not { "not evt" } else { kind };
    let end = cursor.at;
    cursor.skip_space();
    let forms = WAITS.iter().filter(|row| row.1 == before);
    let Some(&(mode, _, after)) = forms.clone().find(|row| cursor.rest().starts_with(row.2)) else {
        let known: Vec<&str> = forms.map(|row| row.2).collect();
        return Err(cursor.error_here(
            "expected a comparison",
            format!("write `wait {before}{index} >= 1`, with one of {}", known.join(" ")),
        ));
    };
    cursor.at = if after.is_empty() { end } else { cursor.at + after.len() };
    say(word, given, [&events::wait_mode, &events::wait_idx], [mode.code(), index], span)?;
    if mode.uses_immediate() { value(cursor, word, given) } else { Ok(()) }
}

/// `sem7`: the kind, and the index.
fn parse_place(
    cursor: &mut Cursor<'_>,
    kinds: &[&'static str],
) -> Result<(&'static str, u8), AsmError> {
    let (text, span) = cursor.atom();
    let found = kinds.iter().find_map(|&kind| Some((kind, text.strip_prefix(kind)?)));
    let index = found.and_then(|(kind, index)| Some((kind, index.parse().ok()?)));
    index.ok_or_else(|| {
        let forms: Vec<String> = kinds.iter().map(|kind| format!("{kind}0 to {kind}255")).collect();
        AsmError::new(
            span,
            format!("expected {}, found `{text}`", kinds.join(" or ")),
            format!("write {}", forms.join(" or ")),
        )
    })
}

/// Sets mode and index, which nothing else may have set.
fn say(
    word: &mut Word,
    given: &mut u64,
    fields: [&'static Field; 2],
    values: [u8; 2],
    span: Range<usize>,
) -> Result<(), AsmError> {
    for (field, value) in fields.into_iter().zip(values) {
        if *given & field.mask() != 0 {
            return Err(AsmError::new(span, format!("`{}` is given twice", field.name), ""));
        }
        *given |= field.mask();
        put(&mut word.0, field.offset, [value]);
    }
    Ok(())
}

/// Reads the value of a clause. A word has one, whoever uses it.
fn value(cursor: &mut Cursor<'_>, word: &mut Word, given: &mut u64) -> Result<(), AsmError> {
    let field = &events::semaphore_value;
    cursor.skip_space();
    let start = cursor.at;
    let value = cursor.integer(0, u32::MAX.into())? as u32;
    let before = u32::get(&word.0, field.offset);
    if *given & field.mask() != 0 && before != value {
        return Err(AsmError::new(
            start..cursor.at,
            format!("the value is {before} already"),
            "a word has one semaphore value for its wait and its update",
        ));
    }
    *given |= field.mask();
    put(&mut word.0, field.offset, value.to_le_bytes());
    Ok(())
}
