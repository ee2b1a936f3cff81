//! One descriptor as one line, and back.
//!
//! ```text
//! dma queue=0 kind=COPY elem=FP32 src=hbm[0x1000] dst=sbuf[p0, 0x800] dims=[512:4:4, 128:2048:262144] wait=sem[3]>=5 update=sem[9]
//! ```
//!
//! `dims` lists `count:source stride:destination stride`, innermost first, strides in bytes. A place
//! relative to a symbol is `%name[0x10]` in HBM and `%name[p0, 0x10]` in SBUF. Left out: queue 0,
//! COPY, no dims (one element), no waits, no update.

use std::fmt::{self, Write};

use super::{Descriptor, DmaAddr, DmaDim, DmaKind, DmaSpace, DmaWait, List};
use crate::asm::{AsmError, Cursor};
use crate::dtype::Dtype;
use crate::target::Target;

/// Prints a descriptor. `bases` is asked for the symbol that `src` and `dst` are relative to.
pub fn format(
    descriptor: &Descriptor,
    target: &Target,
    bases: &dyn Fn(&'static str) -> Option<String>,
) -> String {
    let mut out = String::with_capacity(160);
    // Writing to a String cannot fail.
    let _ = write_descriptor(&mut out, descriptor, target, bases);
    out
}

/// [`format()`] with every address as a place in its memory.
pub fn format_plain(descriptor: &Descriptor, target: &Target) -> String {
    format(descriptor, target, &|_| None)
}

fn write_descriptor(
    out: &mut String,
    d: &Descriptor,
    target: &Target,
    bases: &dyn Fn(&'static str) -> Option<String>,
) -> fmt::Result {
    write!(out, "dma queue={} kind={} elem={}", d.queue, d.kind.name(), d.elem)?;
    for (field, place) in [("src", d.src), ("dst", d.dst)] {
        write!(out, " {field}=")?;
        match bases(field) {
            Some(base) => out.write_str(&base)?,
            None => write!(out, "{}", place.space)?,
        }
        match place.space {
            DmaSpace::Hbm => write!(out, "[{:#x}]", place.addr)?,
            DmaSpace::Sbuf => {
                let stride = target.generation.sbuf_stride();
                write!(out, "[p{}, {:#x}]", place.addr / stride, place.addr % stride)?;
            }
        }
    }
    for (i, dim) in d.dims.iter().enumerate() {
        let open = if i == 0 { " dims=[" } else { ", " };
        write!(out, "{open}{}:{}:{}", dim.count, dim.src_stride, dim.dst_stride)?;
    }
    if !d.dims.is_empty() {
        out.write_char(']')?;
    }
    for wait in &d.waits {
        write!(out, " wait=sem[{}]>={}", wait.semaphore, wait.value)?;
    }
    match d.update {
        Some(semaphore) => write!(out, " update=sem[{semaphore}]"),
        None => Ok(()),
    }
}

/// Reads a descriptor. `bases` is told of each symbol, with `src` or `dst`, and answers whether it
/// knows it.
///
/// # Errors
///
/// When the line is not one descriptor; the error says where and what to write.
pub fn parse(
    line: &str,
    target: &Target,
    bases: &mut dyn FnMut(&'static str, &str) -> bool,
) -> Result<Descriptor, AsmError> {
    let code = line.split(';').next().unwrap_or_default().trim_end();
    let mut cursor = Cursor { line: code, at: 0 };
    let (word, span) = cursor.atom();
    if word != "dma" {
        return Err(AsmError::new(span, format!("expected `dma`, found `{word}`"), ""));
    }
    let nowhere = DmaAddr::hbm(0);
    let mut d = Descriptor::copy(Dtype::Uint8, nowhere, nowhere);
    let mut given: Vec<&str> = Vec::new();
    loop {
        cursor.skip_space();
        if cursor.rest().is_empty() {
            break;
        }
        let (name, span) = cursor.name();
        if name != "wait" && given.contains(&name) {
            return Err(AsmError::new(span, format!("`{name}` is given twice"), ""));
        }
        given.push(name);
        if !FIELDS.contains(&name) {
            let help = format!("use one of {}", FIELDS.join(", "));
            return Err(AsmError::new(span, format!("dma has no field `{name}`"), help));
        }
        cursor.expect("=")?;
        match name {
            "queue" => d.queue = cursor.integer(0, u8::MAX.into())? as u8,
            "kind" => d.kind = kind(&mut cursor)?,
            "elem" => d.elem = element(&mut cursor)?,
            "src" => d.src = place(&mut cursor, "src", target, bases)?,
            "dst" => d.dst = place(&mut cursor, "dst", target, bases)?,
            "dims" => d.dims = dims(&mut cursor)?,
            "wait" => {
                let semaphore = semaphore(&mut cursor)?;
                cursor.expect(">=")?;
                let value = cursor.integer(0, u32::MAX.into())? as u32;
                d.waits
                    .push(DmaWait { semaphore, value })
                    .map_err(|limit| AsmError::new(span, "too many waits", limit.to_string()))?;
            }
            _ => d.update = Some(semaphore(&mut cursor)?),
        }
    }
    match ["elem", "src", "dst"].into_iter().find(|name| !given.contains(name)) {
        Some(missing) => Err(AsmError::new(0..code.len(), format!("`{missing}` is missing"), "")),
        None => Ok(d),
    }
}

/// [`parse`] where no symbol is known.
///
/// # Errors
///
/// As [`parse`].
pub fn parse_plain(line: &str, target: &Target) -> Result<Descriptor, AsmError> {
    parse(line, target, &mut |_, _| false)
}

const FIELDS: [&str; 8] = ["queue", "kind", "elem", "src", "dst", "dims", "wait", "update"];

fn kind(cursor: &mut Cursor<'_>) -> Result<DmaKind, AsmError> {
    let (name, span) = cursor.atom();
    DmaKind::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
        AsmError::new(span, format!("unknown kind `{name}`"), "use COPY, ADD, MAX or MIN")
    })
}

fn element(cursor: &mut Cursor<'_>) -> Result<Dtype, AsmError> {
    let (name, span) = cursor.atom();
    Dtype::from_name(name)
        .ok_or_else(|| AsmError::new(span, format!("unknown data type `{name}`"), ""))
}

fn semaphore(cursor: &mut Cursor<'_>) -> Result<u8, AsmError> {
    cursor.expect("sem")?;
    cursor.expect("[")?;
    let semaphore = cursor.integer(0, u8::MAX.into())? as u8;
    cursor.expect("]")?;
    Ok(semaphore)
}

fn dims<const N: usize>(cursor: &mut Cursor<'_>) -> Result<List<DmaDim, N>, AsmError> {
    let mut dims = List::new();
    cursor.expect("[")?;
    loop {
        let start = cursor.at;
        let count = cursor.integer(0, u32::MAX.into())? as u32;
        cursor.expect(":")?;
        let src_stride = cursor.integer(i64::MIN, i64::MAX)?;
        cursor.expect(":")?;
        let dst_stride = cursor.integer(i64::MIN, i64::MAX)?;
        dims.push(DmaDim { count, src_stride, dst_stride }).map_err(|limit| {
            AsmError::new(start..cursor.at, "too many dimensions", limit.to_string())
        })?;
        if !cursor.eat(",") {
            cursor.expect("]")?;
            return Ok(dims);
        }
    }
}

fn place(
    cursor: &mut Cursor<'_>,
    field: &'static str,
    target: &Target,
    bases: &mut dyn FnMut(&'static str, &str) -> bool,
) -> Result<DmaAddr, AsmError> {
    cursor.skip_space();
    let (name, span) = if cursor.rest().starts_with('%') { cursor.symbol() } else { cursor.atom() };
    let space = match name {
        "hbm" => Some(DmaSpace::Hbm),
        "sbuf" => Some(DmaSpace::Sbuf),
        symbol if symbol.starts_with('%') => None,
        _ => {
            let help = "write hbm[0x10], sbuf[p0, 0x10], %name[0x10] or %name[p0, 0x10]";
            return Err(AsmError::new(span, format!("expected an address, found `{name}`"), help));
        }
    };
    cursor.expect("[")?;
    let found = if cursor.eat("p") { DmaSpace::Sbuf } else { DmaSpace::Hbm };
    if space.is_some_and(|space| space != found) {
        return Err(AsmError::new(
            span,
            "the place does not fit the memory",
            "HBM has no partitions, SBUF has",
        ));
    }
    let addr = match found {
        DmaSpace::Hbm => cursor.unsigned()?,
        DmaSpace::Sbuf => {
            let (partition, partition_span) = (cursor.unsigned()?, span.start..cursor.at);
            cursor.expect(",")?;
            let byte = cursor.unsigned()?;
            let address = partition
                .checked_mul(target.generation.sbuf_stride())
                .and_then(|base| base.checked_add(byte));
            address.ok_or_else(|| {
                AsmError::new(partition_span, "the address does not fit 64 bits", "")
            })?
        }
    };
    cursor.expect("]")?;
    if space.is_none() && !bases(field, name) {
        return Err(AsmError::new(span, format!("`{name}` is not known here"), ""));
    }
    Ok(DmaAddr { space: found, addr })
}
