//! Compile-time spelling: derived names are computed from the one spelling that stands in a table row.

/// Length of [`snake`]'s result for the same name.
pub(crate) const fn snake_len(name: &str) -> usize {
    let bytes = stem(name);
    let mut len = 0;
    let mut i = 0;
    while i < bytes.len() {
        if bytes[i].is_ascii_uppercase() && i > 0 {
            len += 1;
        }
        len += 1;
        i += 1;
    }
    len
}

/// `TensorTensorArithOp` → `tensor_tensor_arith`: words joined by underscores, a final `Op` dropped.
pub(crate) const fn snake<const N: usize>(name: &str) -> [u8; N] {
    let bytes = stem(name);
    let mut out = [0; N];
    let mut len = 0;
    let mut i = 0;
    while i < bytes.len() {
        if bytes[i].is_ascii_uppercase() && i > 0 {
            out[len] = b'_';
            len += 1;
        }
        out[len] = bytes[i].to_ascii_lowercase();
        len += 1;
        i += 1;
    }
    out
}

/// `ADD_INT` → `add_int`.
pub(crate) const fn lower<const N: usize>(name: &str) -> [u8; N] {
    let bytes = name.as_bytes();
    let mut out = [0; N];
    let mut i = 0;
    while i < N {
        out[i] = bytes[i].to_ascii_lowercase();
        i += 1;
    }
    out
}

/// `TS_6A` → `TS-6a`: the id of a rule from the name of its constant.
pub(crate) const fn dashed<const N: usize>(name: &str) -> [u8; N] {
    let bytes = name.as_bytes();
    let mut out = [0; N];
    let mut i = 0;
    while i < N {
        let letter_after_digit = i > 0 && bytes[i - 1].is_ascii_digit();
        out[i] = match bytes[i] {
            b'_' => b'-',
            letter if letter_after_digit => letter.to_ascii_lowercase(),
            other => other,
        };
        i += 1;
    }
    out
}

/// The text of ASCII bytes; a build error for anything else.
pub(crate) const fn text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("table names are ASCII"),
    }
}

const fn stem(name: &str) -> &[u8] {
    let bytes = name.as_bytes();
    match bytes {
        [stem @ .., b'O', b'p'] => stem,
        _ => bytes,
    }
}

/// A `&'static str` constant holding the lower-case form of a literal.
macro_rules! lower_name {
    ($name:expr) => {{
        const NAME: &str = $name;
        const BYTES: [u8; NAME.len()] = $crate::names::lower(NAME);
        const TEXT: &str = $crate::names::text(&BYTES);
        TEXT
    }};
}

/// A `&'static str` constant holding the mnemonic of an opcode name.
macro_rules! snake_name {
    ($name:expr) => {{
        const NAME: &str = $name;
        const BYTES: [u8; $crate::names::snake_len(NAME)] = $crate::names::snake(NAME);
        const TEXT: &str = $crate::names::text(&BYTES);
        TEXT
    }};
}

/// A `&'static str` constant holding the id of a rule constant.
macro_rules! rule_id {
    ($name:expr) => {{
        const NAME: &str = $name;
        const BYTES: [u8; NAME.len()] = $crate::names::dashed(NAME);
        const TEXT: &str = $crate::names::text(&BYTES);
        TEXT
    }};
}

pub(crate) use {lower_name, rule_id, snake_name};
