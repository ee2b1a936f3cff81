//! NumPy's `.npy` and `.npz` files: items as bytes, with the type string that says what they are.
//!
//! A header is believed only after its size, its nesting and the number of bytes that it promises have been
//! checked against what the file can hold.

use std::collections::BTreeSet;
use std::io::{self, Cursor, Read, Write};

use npyz::npz::{NpzArchive, NpzWriter};
use npyz::zip::ZipArchive;
use npyz::zip::write::FileOptions;
use npyz::{DType, Endianness, NpyHeader, Order, TypeStr, WriterBuilder};

/// The longest header that is parsed; NumPy's own are about 128 bytes.
const MAX_HEADER: usize = 64 << 10;

/// The deepest nesting of brackets in a header; a plain array's needs two.
const MAX_NESTING: usize = 16;

/// What a header promises.
#[derive(Clone, Debug)]
pub struct Head {
    /// The type of one item.
    pub item: TypeStr,
    /// Dimensions, outermost first.
    pub shape: Vec<u64>,
    order: Order,
    /// Bytes of all items together.
    bytes: u64,
}

/// An array: little-endian items in row-major order.
#[derive(Clone, Debug)]
pub struct Array {
    pub item: TypeStr,
    pub shape: Vec<u64>,
    pub bytes: Vec<u8>,
}

/// Reads one array from a `.npy` stream that holds nothing else.
///
/// `accept` sees the header first and may refuse it before any item is read. Items are read as they come, so the
/// memory taken is bounded by what the stream really holds.
pub fn read_npy(
    mut stream: impl Read,
    accept: impl FnOnce(&Head) -> Result<(), String>,
) -> Result<Array, String> {
    let head = read_head(&mut stream)?;
    accept(&head)?;
    let mut bytes = Vec::new();
    stream
        .take(head.bytes.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot read the items: {error}"))?;
    if bytes.len() as u64 != head.bytes {
        let fault = if (bytes.len() as u64) < head.bytes { "fewer" } else { "more" };
        return Err(format!(
            "the header promises {} bytes for shape {:?} of `{}`, the file holds {fault}",
            head.bytes, head.shape, head.item
        ));
    }
    let size = head.item.num_bytes().unwrap_or(1);
    if head.item.endianness() == Endianness::Big {
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    if head.order == Order::Fortran {
        bytes = row_major(&bytes, &head.shape, size);
    }
    Ok(Array { item: head.item, shape: head.shape, bytes })
}

fn read_head(stream: &mut impl Read) -> Result<Head, String> {
    let text = read_head_bytes(stream)?;
    check_head_text(&text)?;
    let header =
        NpyHeader::from_reader(&text[..]).map_err(|error| format!("bad npy header: {error}"))?;
    let DType::Plain(item) = header.dtype() else {
        return Err("the items are records; only plain arrays are read".to_owned());
    };
    let shape = header.shape().to_vec();
    let bytes = item.num_bytes().and_then(|size| {
        shape.iter().try_fold(size as u64, |product, &dim| product.checked_mul(dim))
    });
    let bytes = bytes.ok_or_else(|| format!("items of type `{item}` have no fixed size"))?;
    Ok(Head { item, shape, order: header.order(), bytes })
}

/// The header with its magic string and length, as it stands in the file.
fn read_head_bytes(stream: &mut impl Read) -> Result<Vec<u8>, String> {
    let short = |_| "is not a whole npy file: the header is cut off".to_owned();
    let mut head = vec![0; 10];
    stream.read_exact(&mut head).map_err(short)?;
    if !head.starts_with(b"\x93NUMPY") {
        return Err("is not an npy file: the magic string is missing".to_owned());
    }
    let mut length = usize::from(head[8]) | usize::from(head[9]) << 8;
    if head[6] > 1 {
        let mut high = [0; 2];
        stream.read_exact(&mut high).map_err(short)?;
        head.extend(high);
        length |= usize::from(high[0]) << 16 | usize::from(high[1]) << 24;
    }
    if length > MAX_HEADER {
        return Err(format!("the npy header claims {length} bytes; at most {MAX_HEADER} are read"));
    }
    let start = head.len();
    head.resize(start + length, 0);
    stream.read_exact(&mut head[start..]).map_err(short)?;
    Ok(head)
}

/// Refuses texts on which a header parser would recurse deeply or overflow the product of the dimensions.
fn check_head_text(head: &[u8]) -> Result<(), String> {
    let (mut depth, mut deepest) = (0usize, 0);
    let mut product = 1u64;
    let mut number: Option<u64> = None;
    for &byte in head.iter().skip(10).chain(b" ") {
        if byte.is_ascii_digit() {
            let digit = u64::from(byte - b'0');
            let value =
                number.unwrap_or(0).checked_mul(10).and_then(|tens| tens.checked_add(digit));
            number = Some(value.ok_or("a dimension in the npy header does not fit 64 bits")?);
            continue;
        }
        if let Some(value) = number.take() {
            product = product
                .checked_mul(value.max(1))
                .filter(|&product| product < 1 << 62)
                .ok_or("the dimensions in the npy header are larger than any file")?;
        }
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    if deepest > MAX_NESTING {
        return Err("the npy header is nested too deeply".to_owned());
    }
    Ok(())
}

/// Items stored first dimension fastest, put in row-major order.
fn row_major(bytes: &[u8], shape: &[u64], size: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = vec![0u64; shape.len()];
    let strides: Vec<u64> = shape
        .iter()
        .scan(1u64, |stride, &dim| {
            let here = *stride;
            *stride = here.saturating_mul(dim);
            Some(here)
        })
        .collect();
    while out.len() < bytes.len() {
        let item: u64 = index.iter().zip(&strides).map(|(i, stride)| i * stride).sum();
        let start = item as usize * size;
        out.extend_from_slice(bytes.get(start..start + size).unwrap_or_default());
        for (i, &dim) in index.iter_mut().zip(shape).rev() {
            *i += 1;
            if *i < dim {
                break;
            }
            *i = 0;
        }
    }
    out
}

/// An open `.npz` archive.
pub struct Npz(NpzArchive<Cursor<Vec<u8>>>);

impl Npz {
    /// Reads the directory of the archive.
    pub fn open(bytes: Vec<u8>) -> Result<Self, String> {
        let mut archive = NpzArchive::new(Cursor::new(bytes))
            .map_err(|error| format!("is not an npz archive, or one that is cut off: {error}"))?;
        match repeated_name(archive.zip_archive()) {
            None => Ok(Self(archive)),
            Some(name) => Err(format!("holds two entries of the name `{name}`")),
        }
    }

    /// Names of the arrays, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.0.array_names().map(str::to_owned).collect();
        names.sort();
        names
    }

    /// The array of this name, read as [`read_npy`] does; `None` when there is none.
    pub fn array(
        &mut self,
        name: &str,
        accept: impl FnOnce(&Head) -> Result<(), String>,
    ) -> Result<Option<Array>, String> {
        if !self.0.array_names().any(|present| present == name) {
            return Ok(None);
        }
        let member = npyz::npz::file_name_from_array_name(name);
        let stream = self
            .0
            .zip_archive()
            .by_name(&member)
            .map_err(|error| format!("array `{name}`: {error}"))?;
        read_npy(stream, accept).map(Some).map_err(|error| format!("array `{name}`: {error}"))
    }
}

/// A name that more than one entry of an archive has; which of them is meant, nobody can say.
fn repeated_name(zip: &mut ZipArchive<Cursor<Vec<u8>>>) -> Option<String> {
    let mut seen = BTreeSet::new();
    (0..zip.len()).find_map(|index| {
        let name = zip.by_index_raw(index).ok()?.name().to_owned();
        if seen.contains(&name) {
            return Some(name);
        }
        seen.insert(name);
        None
    })
}

/// Writes one `.npy` file.
pub fn write_npy(out: &mut impl Write, array: &Array) -> io::Result<()> {
    npyz::WriteOptions::new_header_only()
        .dtype(DType::new_scalar(array.item.clone()))
        .shape(&array.shape)
        .writer(&mut *out)
        .write_header_only()?;
    out.write_all(&array.bytes)
}

/// A `.npz` archive of these arrays, stored without compression as `numpy.savez` does.
pub fn npz_bytes<'a>(
    arrays: impl IntoIterator<Item = (&'a str, &'a Array)>,
) -> io::Result<Vec<u8>> {
    let mut archive = NpzWriter::new(Cursor::new(Vec::new()));
    let zip = archive.zip_writer();
    for (name, array) in arrays {
        let options = FileOptions::default()
            .compression_method(npyz::zip::CompressionMethod::Stored)
            .last_modified_time(npyz::zip::DateTime::default())
            .large_file(array.bytes.len() as u64 > u64::from(u32::MAX) - (1 << 20));
        zip.start_file(npyz::npz::file_name_from_array_name(name), options)?;
        write_npy(zip, array)?;
    }
    Ok(zip.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(item: &str, shape: &[u64], bytes: &[u8]) -> Array {
        Array { item: item.parse().unwrap(), shape: shape.to_vec(), bytes: bytes.to_vec() }
    }

    fn npy(header: &str, items: &[u8]) -> Vec<u8> {
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(items);
        file
    }

    fn read(file: &[u8]) -> Result<Array, String> {
        read_npy(file, |_| Ok(()))
    }

    #[test]
    fn an_array_written_is_read_back() {
        for original in [
            array("<f4", &[2, 1], &[0, 0, 128, 63, 0, 0, 0, 64]),
            array("|V2", &[1], &[1, 2]),
            array("|b1", &[], &[1]),
            array("<i8", &[0, 3], &[]),
        ] {
            let mut file = Vec::new();
            write_npy(&mut file, &original).unwrap();
            let back = read(&file).unwrap();
            assert_eq!(
                (back.item, back.shape, back.bytes),
                (original.item, original.shape, original.bytes)
            );
        }
    }

    #[test]
    fn fortran_order_and_big_endian_items_become_rows_of_little_endian() {
        // The 2×3 matrix [[1, 2, 3], [4, 5, 6]] by columns.
        let columns = [0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6];
        let file = npy("{'descr': '>u2', 'fortran_order': True, 'shape': (2, 3), }", &columns);
        assert_eq!(read(&file).unwrap().bytes, [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
    }

    #[test]
    fn lying_headers_are_refused_without_reading_what_they_promise() {
        let head = |shape: &str| {
            npy(&format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"), &[0; 8])
        };
        assert!(read(&head("(3,)")).unwrap_err().contains("holds fewer"));
        assert!(read(&head("(1,)")).unwrap_err().contains("holds more"));
        assert!(
            read(&head("(4611686018427387904, 4611686018427387904)"))
                .unwrap_err()
                .contains("larger")
        );
        assert!(read(&head("(99999999999999999999999,)")).unwrap_err().contains("64 bits"));
        assert!(read(&head(&"(".repeat(5000))).unwrap_err().contains("nested"));
        assert!(read(&head("(2,)")[..20]).unwrap_err().contains("cut off"));
        assert!(read(b"not numpy at all").unwrap_err().contains("magic"));
        assert!(read(b"\x93NUMPY\x02\x00\xff\xff\xff\x7f").unwrap_err().contains("claims"));
    }

    #[test]
    fn an_archive_finds_its_arrays_by_name() {
        let one = array("<i4", &[1], &[7, 0, 0, 0]);
        let two = array("|u1", &[2], &[8, 9]);
        let mut npz = Npz::open(npz_bytes([("b", &two), ("a", &one)]).unwrap()).unwrap();
        assert_eq!(npz.names(), ["a", "b"]);
        assert_eq!(npz.array("b", |_| Ok(())).unwrap().unwrap().bytes, [8, 9]);
        assert!(npz.array("c", |_| Ok(())).unwrap().is_none());
        assert!(npz.array("a", |_| Err("no".to_owned())).unwrap_err().contains("no"));
    }

    #[test]
    fn archives_that_are_cut_off_or_name_an_array_twice_are_refused() {
        let one = array("<i4", &[1], &[7, 0, 0, 0]);
        let good = npz_bytes([("a", &one), ("b", &one)]).unwrap();
        let fault = |bytes: Vec<u8>| Npz::open(bytes).err().unwrap();
        assert!(fault(good[..good.len() - 10].to_vec()).contains("cut off"));
        let mut twice = good;
        // Names stand before each entry and once more in the directory.
        let places: Vec<usize> =
            (0..twice.len()).filter(|&at| twice[at..].starts_with(b"b.npy")).collect();
        assert_eq!(places.len(), 2);
        places.iter().for_each(|&at| twice[at] = b'a');
        assert!(fault(twice).contains("`a.npy`"));
    }
}
