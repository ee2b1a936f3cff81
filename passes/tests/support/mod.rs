//! What the proofs of expansions share.
#![allow(dead_code)]

use partita_ir::{ElemType, TensorData, TensorType};
use partita_passes::expand::Applied;
use partita_passes::expand::prove::Unproved;

/// Every integer type.
pub const INTS: [ElemType; 9] = [
    ElemType::I1,
    ElemType::I8,
    ElemType::I16,
    ElemType::I32,
    ElemType::I64,
    ElemType::Ui8,
    ElemType::Ui16,
    ElemType::Ui32,
    ElemType::Ui64,
];

/// Result types to try.
pub const RESULTS: [ElemType; 11] = [
    ElemType::I1,
    ElemType::I8,
    ElemType::I16,
    ElemType::I32,
    ElemType::I64,
    ElemType::Ui8,
    ElemType::Ui16,
    ElemType::Ui32,
    ElemType::Ui64,
    ElemType::F32,
    ElemType::Bf16,
];

pub fn data(ty: &TensorType, bits: &[u64]) -> TensorData {
    TensorData::from_bits(ty.clone(), bits).expect("as many elements as the type has")
}

/// Collects failures, so that a run shows all of them.
pub struct Report {
    what: &'static str,
    proved: usize,
    refused: usize,
    failures: Vec<String>,
}

impl Report {
    pub fn new(what: &'static str) -> Self {
        Self { what, proved: 0, refused: 0, failures: Vec::new() }
    }

    pub fn fail(&mut self, what: String) {
        self.failures.push(what);
    }

    pub fn add(
        &mut self,
        name: &str,
        proof: Result<Vec<Applied>, Box<Unproved>>,
        may_be_refused: bool,
    ) {
        match proof {
            Ok(_) => self.proved += 1,
            Err(error) if may_be_refused && matches!(*error, Unproved::Refused(_)) => {
                self.refused += 1
            }
            Err(error) => self.failures.push(format!("{name}: {error}")),
        }
    }

    pub fn finish(self) {
        println!("{}: {} proved, {} refused as expected", self.what, self.proved, self.refused);
        let shown: Vec<&str> = self.failures.iter().take(40).map(String::as_str).collect();
        assert!(
            self.failures.is_empty(),
            "{} failures:\n{}",
            self.failures.len(),
            shown.join("\n")
        );
        assert!(self.proved > 0);
    }
}
