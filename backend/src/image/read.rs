//! ELF to program: nothing in the file is believed before it has been checked.

use std::collections::BTreeMap;

use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader, SectionTable, SymbolTable};
use object::{LittleEndian, elf};
use partita_isa::dma::{Descriptor, RECORD_BYTES};
use partita_isa::word::WORD_BYTES;
use partita_isa::{Engine, Target, Word};

use crate::program::{Place, Program, ProgramError, Slot, Symbol};

use super::json::{IoTable, Meta};
use super::{DATA, DMA, FORMAT, IO, META, ORDER, PREFIX, RUN_BYTES};

/// The most sections that are looked at; an image has fifteen.
const MAX_SECTIONS: usize = 256;

/// The most bytes of symbol names together, as a multiple of the file's size: names may share their bytes.
const MAX_NAME_FACTOR: usize = 16;

type Header = FileHeader64<LittleEndian>;

/// Why a file is not a program image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("not a readable ELF file: {0}")]
    Elf(#[from] object::read::Error),
    #[error("section `{0}` is missing")]
    Missing(&'static str),
    #[error("section `{0}` stands twice")]
    Twice(String),
    #[error("section `{name}` has {bytes} bytes, not a multiple of {unit} (BLK-1)")]
    NotWhole { name: String, bytes: usize, unit: usize },
    #[error("has more {what} than {most}")]
    TooMany { what: &'static str, most: usize },
    #[error("section `{section}`: {reason}")]
    Content { section: &'static str, reason: String },
    #[error(transparent)]
    Program(#[from] ProgramError),
}

/// True when the bytes begin as an ELF file does.
pub fn is_image(bytes: &[u8]) -> bool {
    bytes.starts_with(&elf::ELFMAG)
}

/// Reads an image and checks its structure. Words and descriptors may still break rules of the ISA.
///
/// # Errors
/// The first fault found. Memory taken is bounded by the size of the file.
pub fn read(file: &[u8]) -> Result<Program, ImageError> {
    let header = Header::parse(file)?;
    let endian = header.endian()?;
    let table = header.sections(endian, file)?;
    let sections = Sections::collect(endian, file, &table)?;

    let meta: Meta = sections.json(META)?;
    if meta.format != FORMAT {
        return Err(content(META, format!("format {} is not format {FORMAT}", meta.format)));
    }
    let target: Target = meta.target.parse().map_err(|error| content(META, error))?;
    let mut words = BTreeMap::new();
    for engine in Engine::ALL {
        if let Some(queue) = sections.words(engine)? {
            words.insert(engine, queue);
        }
    }
    let dma = sections.descriptors()?;
    let total = words.values().map(Vec::len).sum::<usize>() + dma.len();
    let order = sections.order(total)?;
    let io: IoTable = sections.json(IO)?;
    let (io, data) = io.read(sections.get(DATA)?).map_err(|reason| content(IO, reason))?;
    let symbols = sections.symbols(table.symbols(endian, file, elf::SHT_SYMTAB)?, file.len())?;
    let program = Program {
        target,
        words,
        dma,
        order,
        data,
        io,
        meta: crate::program::Meta { version: meta.version, pipeline: meta.pipeline },
        symbols,
    };
    program.check_structure()?;
    Ok(program)
}

fn content(section: &'static str, reason: impl ToString) -> ImageError {
    ImageError::Content { section, reason: reason.to_string() }
}

/// The sections of ours, by name, with their index in the file.
struct Sections<'a> {
    by_name: BTreeMap<&'a str, (usize, &'a [u8])>,
}

impl<'a> Sections<'a> {
    fn collect(
        endian: LittleEndian,
        file: &'a [u8],
        table: &SectionTable<'a, Header>,
    ) -> Result<Self, ImageError> {
        if table.len() > MAX_SECTIONS {
            return Err(ImageError::TooMany { what: "sections", most: MAX_SECTIONS });
        }
        let mut by_name = BTreeMap::new();
        for (index, section) in table.enumerate() {
            let Ok(name) = std::str::from_utf8(table.section_name(endian, section)?) else {
                continue;
            };
            if !name.starts_with(PREFIX) {
                continue;
            }
            let bytes = section.data(endian, file)?;
            if by_name.insert(name, (index.0, bytes)).is_some() {
                return Err(ImageError::Twice(name.to_owned()));
            }
        }
        Ok(Self { by_name })
    }

    fn get(&self, name: &'static str) -> Result<&'a [u8], ImageError> {
        self.by_name.get(name).map(|&(_, bytes)| bytes).ok_or(ImageError::Missing(name))
    }

    fn json<T: serde::de::DeserializeOwned>(&self, name: &'static str) -> Result<T, ImageError> {
        serde_json::from_slice(self.get(name)?).map_err(|error| content(name, error))
    }

    fn words(&self, engine: Engine) -> Result<Option<Vec<Word>>, ImageError> {
        let name = format!("{PREFIX}{engine}");
        let Some(&(_, bytes)) = self.by_name.get(name.as_str()) else { return Ok(None) };
        let (words, []) = bytes.as_chunks::<WORD_BYTES>() else {
            return Err(ImageError::NotWhole { name, bytes: bytes.len(), unit: WORD_BYTES });
        };
        Ok(Some(words.iter().map(|&word| Word(word)).collect()))
    }

    fn descriptors(&self) -> Result<Vec<Descriptor>, ImageError> {
        let bytes = self.get(DMA)?;
        let (descriptors, []) = bytes.as_chunks::<RECORD_BYTES>() else {
            let name = DMA.to_owned();
            return Err(ImageError::NotWhole { name, bytes: bytes.len(), unit: RECORD_BYTES });
        };
        descriptors
            .iter()
            .enumerate()
            .map(|(i, raw)| {
                Descriptor::decode(raw)
                    .map_err(|error| content(DMA, format!("descriptor {i}: {error}")))
            })
            .collect()
    }

    /// The runs written out; `total` items are known to exist, and more are refused before they take memory.
    fn order(&self, total: usize) -> Result<Vec<Slot>, ImageError> {
        let (runs, []) = self.get(ORDER)?.as_chunks::<RUN_BYTES>() else {
            return Err(content(ORDER, "ends within a run"));
        };
        let mut order = Vec::new();
        for &[kind, queue, zero, zero_too, a, b, c, d] in runs {
            let slot = match kind {
                0 => Engine::ALL.into_iter().find(|&engine| engine as u8 == queue).map(Slot::Word),
                1 => Some(Slot::Dma(queue)),
                _ => None,
            };
            let count = u32::from_le_bytes([a, b, c, d]) as usize;
            let (Some(slot), 0, 0) = (slot, zero, zero_too) else {
                return Err(content(ORDER, "a run names no queue"));
            };
            if order.len() + count > total {
                return Err(content(ORDER, "has more items than the queues"));
            }
            order.resize(order.len() + count, slot);
        }
        Ok(order)
    }

    fn symbols(
        &self,
        table: SymbolTable<'a, Header>,
        file_bytes: usize,
    ) -> Result<Vec<Symbol>, ImageError> {
        let mut symbols = Vec::new();
        let mut names_left = file_bytes.saturating_mul(MAX_NAME_FACTOR);
        for symbol in table.iter() {
            let section = usize::from(symbol.st_shndx.get(LittleEndian));
            let place = self.by_name.iter().find(|(_, (index, _))| *index == section);
            let Some(place) = place.and_then(|(name, _)| place_of(name)) else { continue };
            let unit = match place {
                Place::Words(_) => WORD_BYTES,
                Place::Dma => RECORD_BYTES,
            } as u64;
            let name = table.symbol_name(LittleEndian, symbol)?;
            names_left = names_left.checked_sub(name.len()).ok_or(ImageError::TooMany {
                what: "bytes of symbol names",
                most: file_bytes.saturating_mul(MAX_NAME_FACTOR),
            })?;
            let name = String::from_utf8_lossy(name).into_owned();
            let (value, size) =
                (symbol.st_value.get(LittleEndian), symbol.st_size.get(LittleEndian));
            let number = |bytes: u64| {
                u32::try_from(bytes / unit).ok().filter(|_| bytes.is_multiple_of(unit))
            };
            let (Some(first), Some(count)) = (number(value), number(size)) else {
                return Err(ProgramError::Symbol(name).into());
            };
            symbols.push(Symbol { name, place, first, count });
        }
        Ok(symbols)
    }
}

fn place_of(section: &str) -> Option<Place> {
    if section == DMA {
        return Some(Place::Dma);
    }
    section.strip_prefix(PREFIX)?.parse().ok().map(Place::Words)
}
