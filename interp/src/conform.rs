//! Conformance vectors: JSON Lines, one word sequence with its verdict or its memory before and after
//! (design, "Conformance vectors").

use std::io::{self, BufRead, Read};

use partita_isa::check::check;
use partita_isa::{Dtype, Engine, Target, Word};
use serde::Deserialize;

use crate::machine::{Limits, Machine};
use crate::memory::{Place, Space};
use crate::numeric::convert::to_float;
use crate::numeric::lane::Lane;
use crate::numeric::simd::Simd;

/// The longest line that is read, in bytes.
const LINE_LIMIT: u64 = 1 << 28;

#[derive(Deserialize)]
struct Vector {
    id: String,
    target: String,
    engine: String,
    words: Vec<String>,
    legal: bool,
    #[serde(default)]
    rules: Vec<String>,
    #[serde(default)]
    rules_not: Vec<String>,
    #[serde(default)]
    mem: Vec<Segment>,
    after: Option<Vec<Segment>>,
    ulp: Option<u64>,
    dtype: Option<String>,
}

#[derive(Deserialize)]
struct Segment {
    space: String,
    partition: usize,
    offset: usize,
    rows: Vec<String>,
}

/// A vector that did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Line of the file, from 1.
    pub line: usize,
    /// The vector's id; empty for a line that is no vector.
    pub id: String,
    pub reason: String,
}

/// What became of a file's vectors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub passed: usize,
    pub failed: usize,
    pub failures: Vec<Failure>,
}

/// Runs every vector of a file; empty lines are skipped, a malformed line is a failure with its number.
///
/// # Errors
/// When the file cannot be read.
pub fn run_file(reader: impl BufRead) -> io::Result<Summary> {
    run_file_with(reader, Limits { parallel: false, ..Limits::default() })
}

/// As [`run_file`] under given limits.
///
/// # Errors
/// When the file cannot be read.
pub fn run_file_with(mut reader: impl BufRead, limits: Limits) -> io::Result<Summary> {
    let mut summary = Summary::default();
    let mut text = Vec::new();
    for line in 1.. {
        text.clear();
        if reader.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut text)? == 0 {
            break;
        }
        if text.trim_ascii().is_empty() {
            continue;
        }
        let verdict = match serde_json::from_slice::<Vector>(&text) {
            Ok(vector) => judge(&vector, limits).map_err(|reason| (vector.id, reason)),
            Err(error) => Err((String::new(), format!("not a vector: {error}"))),
        };
        match verdict {
            Ok(()) => summary.passed += 1,
            Err((id, reason)) => {
                summary.failed += 1;
                summary.failures.push(Failure { line, id, reason });
            }
        }
    }
    Ok(summary)
}

/// Judges one vector; the error says why it failed.
fn judge(vector: &Vector, limits: Limits) -> Result<(), String> {
    let target: Target = vector.target.parse().map_err(|e| format!("{e}"))?;
    let engine: Engine = vector.engine.parse().map_err(|e| format!("{e}"))?;
    let words = vector
        .words
        .iter()
        .map(|text| text.parse().map_err(|e| format!("{e}")))
        .collect::<Result<Vec<Word>, String>>()?;
    judge_rules(vector, target, engine, &words)?;
    match &vector.after {
        Some(after) if vector.legal => {
            judge_execution(vector, after, target, engine, &words, limits)
        }
        _ => Ok(()),
    }
}

fn judge_rules(
    vector: &Vector,
    target: Target,
    engine: Engine,
    words: &[Word],
) -> Result<(), String> {
    let mut reported = Vec::new();
    for word in words {
        let violations = check(word, &target, Some(engine));
        let errors = violations.iter().filter(|violation| violation.is_error());
        reported.extend(errors.map(|violation| violation.rule.id));
    }
    let list = || reported.join(" ");
    if vector.legal != reported.is_empty() {
        let expected = if vector.legal { "legal" } else { "illegal" };
        return Err(format!("expected {expected}, reported: [{}]", list()));
    }
    if vector.legal {
        return Ok(());
    }
    if let Some(rule) = vector.rules.iter().find(|rule| !reported.contains(&rule.as_str())) {
        return Err(format!("{rule} is not among the reported [{}]", list()));
    }
    match vector.rules_not.iter().find(|rule| reported.contains(&rule.as_str())) {
        Some(rule) => Err(format!("{rule} must not be reported: [{}]", list())),
        None => Ok(()),
    }
}

fn judge_execution(
    vector: &Vector,
    after: &[Segment],
    target: Target,
    engine: Engine,
    words: &[Word],
    limits: Limits,
) -> Result<(), String> {
    let mut machine = Machine::new(target, 0, limits).map_err(|e| e.to_string())?;
    for segment in &vector.mem {
        for (place, row) in segment.rows()? {
            machine
                .row_mut(place, segment.offset, row.len())
                .map_err(|e| e.to_string())?
                .copy_from_slice(&row);
        }
    }
    for (index, word) in words.iter().enumerate() {
        machine.step(engine, word).map_err(|fault| format!("word {index}: {fault}"))?;
    }
    let tolerance = Tolerance::new(vector, target)?;
    for segment in after {
        for (place, want) in segment.rows()? {
            let got = machine.row(place, segment.offset, want.len()).map_err(|e| e.to_string())?;
            if let Some(at) = tolerance.first_difference(got, &want) {
                let width = tolerance.width;
                return Err(format!(
                    "{} partition {} byte {}: got {}, want {}",
                    segment.space,
                    place.partition,
                    segment.offset + at,
                    hex(&got[at..(at + width).min(got.len())]),
                    hex(&want[at..(at + width).min(want.len())]),
                ));
            }
        }
    }
    Ok(())
}

impl Segment {
    /// The rows with the places they stand at.
    fn rows(&self) -> Result<Vec<(Place, Vec<u8>)>, String> {
        let space = match self.space.as_str() {
            "sbuf" => Space::Sbuf,
            "psum" => Space::Psum,
            other => return Err(format!("unknown space `{other}`")),
        };
        (self.partition..)
            .zip(&self.rows)
            .map(|(partition, row)| Ok((Place { space, partition }, bytes(row)?)))
            .collect()
    }
}

/// How far an element may be from the wanted one.
struct Tolerance {
    ulp: u64,
    /// Bytes of an element; 1 when bytes are compared.
    width: usize,
    dtype: Option<Dtype>,
    target: Target,
}

impl Tolerance {
    fn new(vector: &Vector, target: Target) -> Result<Self, String> {
        let (Some(ulp), Some(name)) = (vector.ulp, &vector.dtype) else {
            return Ok(Self { ulp: 0, width: 1, dtype: None, target });
        };
        let dtype = dtype(name).ok_or_else(|| format!("unknown dtype `{name}`"))?;
        Ok(Self { ulp, width: dtype.size(), dtype: Some(dtype), target })
    }

    /// Byte position of the first element that is too far off.
    fn first_difference(&self, got: &[u8], want: &[u8]) -> Option<usize> {
        got.chunks(self.width)
            .zip(want.chunks(self.width))
            .position(|(got, want)| got != want && !self.close(got, want))
            .map(|element| element * self.width)
    }

    fn close(&self, got: &[u8], want: &[u8]) -> bool {
        let Some(dtype) = self.dtype else {
            return false;
        };
        if got.len() != self.width {
            return false;
        }
        if dtype.is_float() && (self.is_nan(dtype, got) || self.is_nan(dtype, want)) {
            return self.is_nan(dtype, got) && self.is_nan(dtype, want);
        }
        let (got, want) = (ordinal(dtype, got), ordinal(dtype, want));
        got.abs_diff(want) <= u128::from(self.ulp)
    }

    fn is_nan(&self, dtype: Dtype, element: &[u8]) -> bool {
        let mut lane = [0; 4];
        match to_float(Simd::PORTABLE, dtype, self.target) {
            Some(convert) => convert(&mut lane, element),
            None => lane.copy_from_slice(element),
        }
        f32::load(lane).is_nan()
    }
}

/// The element as an integer in which neighbours of a format differ by 1; both zeros are 0.
fn ordinal(dtype: Dtype, element: &[u8]) -> i128 {
    let bits = element.iter().rev().fold(0i128, |bits, &byte| bits << 8 | i128::from(byte));
    let sign = 1i128 << (element.len() * 8 - 1);
    let negative = bits & sign != 0;
    match (negative, dtype) {
        (true, dtype) if dtype.is_float() => sign - bits,
        (true, dtype) if dtype.is_signed_int() => bits - 2 * sign,
        _ => bits,
    }
}

/// The element types of the tensor dialect, as vectors name them.
fn dtype(name: &str) -> Option<Dtype> {
    Some(match name {
        "i8" => Dtype::Int8,
        "ui8" => Dtype::Uint8,
        "i16" => Dtype::Int16,
        "ui16" => Dtype::Uint16,
        "i32" => Dtype::Int32,
        "ui32" => Dtype::Uint32,
        "i64" => Dtype::Int64,
        "ui64" => Dtype::Uint64,
        "f32" => Dtype::Fp32,
        "f32r" => Dtype::Fp32r,
        "f16" => Dtype::Fp16,
        "bf16" => Dtype::Bfloat16,
        "f8E3M4" => Dtype::Fp8Exp3,
        "f8E4M3" => Dtype::Fp8Exp4,
        "f8E5M2" => Dtype::Fp8Exp5,
        _ => return None,
    })
}

fn bytes(text: &str) -> Result<Vec<u8>, String> {
    let digit = |c: u8| (c as char).to_digit(16).ok_or_else(|| format!("`{text}` is not hex"));
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return Err(format!("`{text}` has an odd number of digits"));
    }
    pairs.iter().map(|&[high, low]| Ok((digit(high)? << 4 | digit(low)?) as u8)).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ISA 12, G1 cut down to one channel and two elements: 1 + 2 and −0.5 + 0.5.
    const ADD: &str = r#"{"id":"add","target":"cayman","engine":"dve","words":["4110000000000000000000\
00aa0a0401000000000100010001000200010001000008000001000100010002000100010000100000010001000100020001000100"],
"legal":true,"mem":[{"space":"sbuf","partition":0,"offset":0,"rows":["0000803f000000bf"]},
{"space":"sbuf","partition":0,"offset":2048,"rows":["000000400000003f"]}],
"after":[{"space":"sbuf","partition":0,"offset":4096,"rows":["WANT"]}]TOLERANCE}"#;

    fn vector(want: &str, tolerance: &str) -> String {
        ADD.replace("\\\n", "")
            .replace('\n', "")
            .replace("WANT", want)
            .replace("TOLERANCE", tolerance)
    }

    fn outcome(text: &str) -> Summary {
        run_file(text.as_bytes()).unwrap()
    }

    #[test]
    fn bytes_and_tolerances_are_compared() {
        let exact = vector("0000404000000000", "");
        assert_eq!(outcome(&exact).passed, 1);
        let off_by_one = vector("0100404001000080", "");
        let failure = &outcome(&off_by_one).failures[0];
        assert_eq!((failure.line, failure.id.as_str()), (1, "add"));
        assert!(failure.reason.contains("byte 4096: got 00, want 01"), "{}", failure.reason);
        let tolerance = |ulp| format!(r#","ulp":{ulp},"dtype":"f32""#);
        assert_eq!(outcome(&vector("0100404001000080", &tolerance(1))).passed, 1);
        assert_eq!(outcome(&vector("0100404001000080", &tolerance(0))).failed, 1);
        assert_eq!(outcome(&vector("0000c07f00000000", &tolerance(9))).failed, 1);
    }

    #[test]
    fn verdicts_are_compared() {
        let good = vector("0000404000000000", "");
        let illegal = good.replace("\"4110", "\"410f");
        assert!(outcome(&illegal).failures[0].reason.contains("HDR-2"));
        let expected = |rules: &str| {
            let rules = format!(r#""legal":false,{rules}"#);
            outcome(&illegal.replace(r#""legal":true"#, &rules)).passed
        };
        assert_eq!(expected(r#""rules":["HDR-2"]"#), 1);
        assert_eq!(expected(r#""rules":["HDR-2","TT-4"]"#), 0);
        assert_eq!(expected(r#""rules_not":["HDR-2"]"#), 0);
        assert_eq!(outcome(&good.replace("true", "false")).failed, 1);
    }

    #[test]
    fn malformed_lines_are_failures_with_their_number() {
        let good = vector("0000404000000000", "");
        let text = format!("{good}\n\n{{\"id\":1}}\n{}\n", good.replace("\"4110", "\"xy10"));
        let summary = outcome(&text);
        assert_eq!((summary.passed, summary.failed), (1, 2));
        assert_eq!(summary.failures[0].line, 3);
        assert!(summary.failures[1].reason.contains("hex digit"), "{}", summary.failures[1].reason);
    }
}
