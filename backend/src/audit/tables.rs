//! What the table of inputs, outputs and constants says.

use partita_ir::diag::Code;

use super::access::Space;
use super::finding::{Bytes, Finding};
use super::written::Written;
use crate::program::{IoTensor, Program};

/// A named piece of main memory.
struct Piece {
    name: String,
    low: u64,
    high: u64,
    output: bool,
}

fn piece(kind: &str, tensor: &IoTensor) -> Option<Piece> {
    let high = tensor.address.checked_add(tensor.byte_len()?)?;
    Some(Piece {
        name: format!("{kind} `{}`", tensor.name),
        low: tensor.address,
        high,
        output: kind == "output",
    })
}

fn pieces(program: &Program) -> Vec<Piece> {
    let inputs = program.io.inputs.iter().filter_map(|tensor| piece("input", tensor));
    let outputs = program.io.outputs.iter().filter_map(|tensor| piece("output", tensor));
    let constants = program.data.iter().map(|block| Piece {
        name: format!("constant at {:#x}", block.address),
        low: block.address,
        high: block.address.saturating_add(block.bytes.len() as u64),
        output: false,
    });
    let mut all: Vec<Piece> = inputs.chain(outputs).chain(constants).collect();
    all.retain(|piece| piece.low < piece.high);
    all.sort_by_key(|piece| piece.low);
    all
}

/// Tensors that share bytes. Two outputs at one place are two names of one result; any other pair cannot hold both.
pub fn overlaps(program: &Program) -> Vec<Finding> {
    let pieces = pieces(program);
    let mut findings = Vec::new();
    let mut last: Option<&Piece> = None;
    for piece in &pieces {
        if let Some(last) = last
            && last.high > piece.low
            && !(last.output && piece.output && (last.low, last.high) == (piece.low, piece.high))
        {
            let bytes = Bytes::new(Space::Hbm, 1, (piece.low, last.high.min(piece.high)));
            let message = format!("{} and {} share {bytes}", last.name, piece.name);
            // A result may be left in an argument's place on purpose.
            let mut finding = match last.output != piece.output {
                true => Finding::warning(Code::IoOverlap, message),
                false => Finding::error(Code::IoOverlap, message),
            };
            finding.bytes = Some(bytes);
            findings.push(finding);
        }
        if last.is_none_or(|last| piece.high > last.high) {
            last = Some(piece);
        }
    }
    findings
}

/// Marks what is in main memory before the program starts.
pub fn load(program: &Program, written: &mut Written) {
    for piece in pieces(program).iter().filter(|piece| !piece.output) {
        written.add_range((piece.low, piece.high), 1);
    }
}

/// Outputs of which a byte is written by nobody.
pub fn missing_outputs(program: &Program, written: &Written) -> Vec<Finding> {
    let mut findings = Vec::new();
    for tensor in &program.io.outputs {
        let Some(piece) = piece("output", tensor) else { continue };
        if piece.low >= piece.high {
            continue;
        }
        let Some((range, _)) = written.missing((piece.low, piece.high), 1) else { continue };
        let element = (range.0 - piece.low) / tensor.dtype.size_bytes().max(1);
        let place = coordinates(&tensor.shape, element);
        let bytes = Bytes::new(Space::Hbm, 1, range);
        let message =
            format!("{} is not written from element {element} {place} on, {bytes}", piece.name);
        let mut finding = Finding::error(Code::OutputMissing, message);
        finding.bytes = Some(bytes);
        findings.push(finding);
    }
    findings
}

/// `[2, 7]`: the element of a row-major tensor.
fn coordinates(shape: &[u64], mut element: u64) -> String {
    let mut places: Vec<String> = shape
        .iter()
        .rev()
        .map(|&size| {
            let place = element % size.max(1);
            element /= size.max(1);
            place.to_string()
        })
        .collect();
    places.reverse();
    format!("[{}]", places.join(", "))
}
