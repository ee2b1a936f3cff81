//! Program to ELF.

use object::write::StringId;
use object::write::elf::{FileHeader, SectionHeader, SectionIndex, Sym, Writer};
use object::{Endianness, elf};
use partita_isa::dma::RECORD_BYTES;
use partita_isa::word::WORD_BYTES;

use crate::program::{Place, Program};

use super::json::{IoTable, Meta};
use super::{DATA, DMA, IO, META, ORDER, PREFIX, encode_run};

/// A section before it has a place in the file.
struct Section {
    name: String,
    bytes: Vec<u8>,
    align: u64,
    /// Size of one entry where all have the same, else 0.
    entry: u64,
}

impl Section {
    fn text(name: &str, bytes: Vec<u8>) -> Self {
        Self { name: name.to_owned(), bytes, align: 1, entry: 0 }
    }
}

/// The image of a program.
///
/// # Errors
/// A text, when the tables cannot be written; this does not depend on a user's input.
pub fn write(program: &Program) -> Result<Vec<u8>, String> {
    let sections = sections(program)?;
    let mut file = Vec::new();
    emit(program, &sections, &mut file).map_err(|error| error.to_string())?;
    Ok(file)
}

fn sections(program: &Program) -> Result<Vec<Section>, String> {
    let json = |error: serde_json::Error| error.to_string();
    let mut sections: Vec<Section> = program
        .words
        .iter()
        .map(|(engine, words)| Section {
            name: format!("{PREFIX}{engine}"),
            bytes: words.iter().flat_map(|word| word.0).collect(),
            align: WORD_BYTES as u64,
            entry: WORD_BYTES as u64,
        })
        .collect();
    sections.push(Section {
        name: DMA.to_owned(),
        bytes: program.dma.iter().flat_map(|descriptor| descriptor.encode()).collect(),
        align: 8,
        entry: RECORD_BYTES as u64,
    });
    let data = program.data.iter().flat_map(|block| block.bytes.iter().copied()).collect();
    sections.push(Section { name: DATA.to_owned(), bytes: data, align: 16, entry: 0 });
    let order = program
        .order
        .chunk_by(|a, b| a == b)
        .filter_map(|run| Some(encode_run(*run.first()?, u32::try_from(run.len()).ok()?)))
        .flatten()
        .collect();
    sections.push(Section {
        name: ORDER.to_owned(),
        bytes: order,
        align: 4,
        entry: super::RUN_BYTES as u64,
    });
    sections.push(Section::text(IO, serde_json::to_vec(&IoTable::of(program)).map_err(json)?));
    sections.push(Section::text(META, serde_json::to_vec(&Meta::of(program)).map_err(json)?));
    Ok(sections)
}

fn emit(program: &Program, sections: &[Section], file: &mut Vec<u8>) -> object::write::Result<()> {
    let mut writer = Writer::new(Endianness::Little, true, file);
    writer.reserve_null_section_index();
    let placed: Vec<(StringId, SectionIndex)> = sections
        .iter()
        .map(|section| {
            (writer.add_section_name(section.name.as_bytes()), writer.reserve_section_index())
        })
        .collect();
    writer.reserve_null_symbol_index();
    let symbols: Vec<(StringId, SectionIndex, u64, u64)> = program
        .symbols
        .iter()
        .filter_map(|symbol| {
            let (name, unit) = match symbol.place {
                Place::Words(engine) => (format!("{PREFIX}{engine}"), WORD_BYTES as u64),
                Place::Dma => (DMA.to_owned(), RECORD_BYTES as u64),
            };
            let at = sections.iter().position(|section| section.name == name)?;
            let &(_, section) = placed.get(at)?;
            writer.reserve_symbol_index(Some(section));
            let id = writer.add_string(symbol.name.as_bytes());
            Some((id, section, u64::from(symbol.first) * unit, u64::from(symbol.count) * unit))
        })
        .collect();
    writer.reserve_symtab_section_index();
    writer.reserve_strtab_section_index();
    writer.reserve_shstrtab_section_index();

    writer.reserve_file_header();
    let offsets: Vec<usize> = sections
        .iter()
        .map(|section| writer.reserve(section.bytes.len(), section.align as usize))
        .collect();
    writer.reserve_symtab();
    writer.reserve_strtab();
    writer.reserve_shstrtab();
    writer.reserve_section_headers();

    writer.write_file_header(&FileHeader {
        os_abi: elf::ELFOSABI_NONE,
        abi_version: 0,
        e_type: elf::ET_REL,
        e_machine: elf::EM_NONE,
        e_entry: 0,
        e_flags: 0,
    })?;
    for (section, &offset) in sections.iter().zip(&offsets) {
        writer.pad_until(offset);
        writer.write(&section.bytes);
    }
    writer.write_null_symbol();
    for &(name, section, value, size) in &symbols {
        writer.write_symbol(&Sym {
            name: Some(name),
            section: Some(section),
            st_info: elf::STB_LOCAL << 4 | elf::STT_OBJECT,
            st_other: 0,
            st_shndx: 0,
            st_value: value,
            st_size: size,
        });
    }
    writer.write_strtab();
    writer.write_shstrtab();
    writer.write_null_section_header();
    for ((section, &offset), &(name, _)) in sections.iter().zip(&offsets).zip(&placed) {
        writer.write_section_header(&SectionHeader {
            name: Some(name),
            sh_type: elf::SHT_PROGBITS,
            sh_flags: 0,
            sh_addr: 0,
            sh_offset: offset as u64,
            sh_size: section.bytes.len() as u64,
            sh_link: 0,
            sh_info: 0,
            sh_addralign: section.align,
            sh_entsize: section.entry,
        });
    }
    // Every symbol is local: the first that is not would come after the last.
    writer.write_symtab_section_header(symbols.len() as u32 + 1);
    writer.write_strtab_section_header();
    writer.write_shstrtab_section_header();
    Ok(())
}
