//! The compiled program: what the machine is given, and what a caller must know to feed it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use partita_ir::types::byte_count;
use partita_ir::verify::check_random;
use partita_ir::{ElemType, RandomRange};
use partita_isa::dma::{self, Descriptor};
use partita_isa::{Engine, Instruction, Target, Word, asm};

/// One program: a queue of words per engine, the DMA descriptors, constants, and the table of inputs and outputs.
///
/// The main memory (HBM) is one flat arena of [`Io::hbm_bytes`] bytes. Tensors in it are row-major, little-endian.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The machine that every word was checked for.
    pub target: Target,
    /// The words of each engine in issue order (rule BLK-3).
    pub words: BTreeMap<Engine, Vec<Word>>,
    /// All descriptors in program order; a descriptor names its queue, and a queue runs in order.
    pub dma: Vec<Descriptor>,
    /// One sequential order of all words and descriptors that respects every dependence.
    pub order: Vec<Slot>,
    /// Constants, loaded into HBM before the program starts.
    pub data: Vec<DataBlock>,
    /// Where arguments and results stand in HBM.
    pub io: Io,
    /// How the program came to be.
    pub meta: Meta,
    /// The source op of each run of words or descriptors.
    pub symbols: Vec<Symbol>,
}

/// A step of the program order: the next item of one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// The next word of this engine.
    Word(Engine),
    /// The next descriptor of this DMA queue.
    Dma(u8),
}

impl Slot {
    /// The list that its items are in.
    pub const fn place(self) -> Place {
        match self {
            Self::Word(engine) => Place::Words(engine),
            Self::Dma(_) => Place::Dma,
        }
    }
}

/// Bytes that are in HBM when the program starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataBlock {
    /// Byte address in HBM.
    pub address: u64,
    /// The contents.
    pub bytes: Vec<u8>,
}

/// The table of arguments and results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Io {
    /// Size of the HBM arena in bytes; every tensor, constant and spill slot lies inside.
    pub hbm_bytes: u64,
    /// The arguments in the order of the function's signature.
    pub inputs: Vec<IoTensor>,
    /// The results in order.
    pub outputs: Vec<IoTensor>,
}

/// One argument or result.
#[derive(Clone, Debug, PartialEq)]
pub struct IoTensor {
    /// The argument's name without `%`, or `outN`.
    pub name: String,
    /// Dimensions, outermost first; empty for rank 0.
    pub shape: Vec<u64>,
    /// Element type as the program sees it.
    pub dtype: ElemType,
    /// Byte address in HBM.
    pub address: u64,
    /// How an argument is filled from a seed, where the source says.
    pub random: Option<RandomRange>,
}

impl IoTensor {
    /// Size in bytes; `None` when it passes 2⁶³.
    pub fn byte_len(&self) -> Option<u64> {
        byte_count(&self.shape, self.dtype)
    }
}

/// Reads how an argument of a type is filled.
///
/// # Errors
/// A text; it is no distribution, or not one of this type.
pub(crate) fn read_random(text: &str, dtype: ElemType) -> Result<RandomRange, String> {
    let random = text.parse()?;
    check_random(random, dtype).map(|()| random)
}

/// How the program came to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Version of the compiler that wrote it.
    pub version: String,
    /// The passes that ran, as the command line would spell them.
    pub pipeline: Vec<String>,
}

/// A run of words or descriptors that came from one source op.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The value's name, or a made one; not unique.
    pub name: String,
    /// The list that the run is part of.
    pub place: Place,
    /// Index of the first item in that list.
    pub first: u32,
    /// Number of items.
    pub count: u32,
}

/// A list of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The words of an engine.
    Words(Engine),
    /// [`Program::dma`].
    Dma,
}

/// Why a program does not hang together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    #[error("the program order has {ordered} items of {queue}, the queue has {queued}")]
    Order { queue: String, ordered: u64, queued: u64 },
    #[error("`{name}` lies outside the {hbm_bytes} bytes of HBM")]
    OutsideHbm { name: String, hbm_bytes: u64 },
    #[error("two {kind} are named `{name}`")]
    DuplicateName { kind: &'static str, name: String },
    #[error("symbol `{0}` reaches past the end of its list")]
    Symbol(String),
}

impl Program {
    /// Checks what no single word can be blamed for: the order names every item once, everything lies in HBM,
    /// names of inputs and of outputs are distinct, symbols are in range.
    ///
    /// # Errors
    /// The first fault found.
    pub fn check_structure(&self) -> Result<(), ProgramError> {
        self.check_order()?;
        self.check_hbm()?;
        for (kind, tensors) in [("inputs", &self.io.inputs), ("outputs", &self.io.outputs)] {
            let mut names = BTreeSet::new();
            if let Some(twice) = tensors.iter().find(|tensor| !names.insert(&tensor.name)) {
                return Err(ProgramError::DuplicateName { kind, name: twice.name.clone() });
            }
        }
        for symbol in &self.symbols {
            let len = match symbol.place {
                Place::Words(engine) => self.words.get(&engine).map_or(0, Vec::len),
                Place::Dma => self.dma.len(),
            };
            if u64::from(symbol.first) + u64::from(symbol.count) > len as u64 {
                return Err(ProgramError::Symbol(symbol.name.clone()));
            }
        }
        Ok(())
    }

    /// The assembler text of an item: of a word of this engine's list, or of a descriptor of [`Self::dma`].
    pub fn item_text(&self, slot: Slot, place: usize) -> Option<String> {
        Some(match slot {
            Slot::Word(engine) => {
                let word = self.words.get(&engine)?.get(place)?;
                asm::format_plain(&Instruction::decode(word), &self.target)
            }
            Slot::Dma(_) => dma::format_plain(self.dma.get(place)?, &self.target),
        })
    }

    fn check_order(&self) -> Result<(), ProgramError> {
        let mut balance: BTreeMap<Slot, (u64, u64)> = BTreeMap::new();
        for &slot in &self.order {
            balance.entry(slot).or_default().0 += 1;
        }
        for (&engine, words) in &self.words {
            balance.entry(Slot::Word(engine)).or_default().1 += words.len() as u64;
        }
        for descriptor in &self.dma {
            balance.entry(Slot::Dma(descriptor.queue)).or_default().1 += 1;
        }
        match balance.into_iter().find(|(_, (ordered, queued))| ordered != queued) {
            None => Ok(()),
            Some((slot, (ordered, queued))) => {
                Err(ProgramError::Order { queue: slot.to_string(), ordered, queued })
            }
        }
    }

    fn check_hbm(&self) -> Result<(), ProgramError> {
        let hbm_bytes = self.io.hbm_bytes;
        let tensors = self.io.inputs.iter().chain(&self.io.outputs);
        let tensors =
            tensors.map(|tensor| (tensor.name.as_str(), tensor.address, tensor.byte_len()));
        let data =
            self.data.iter().map(|block| ("data", block.address, Some(block.bytes.len() as u64)));
        for (name, address, bytes) in tensors.chain(data) {
            let end = bytes.and_then(|bytes| address.checked_add(bytes));
            if end.is_none_or(|end| end > hbm_bytes) {
                return Err(ProgramError::OutsideHbm { name: name.to_owned(), hbm_bytes });
            }
        }
        Ok(())
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Slot::Word(engine) => engine.fmt(f),
            Slot::Dma(queue) => write!(f, "dma queue {queue}"),
        }
    }
}
