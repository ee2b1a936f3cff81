//! Reading inputs within limits, and writing outputs whole or not at all.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Outcome};

/// The most source text that is read: larger inputs are refused before any parser sees them.
pub const MAX_TEXT: u64 = 64 << 20;

/// The most bytes of an image, of raw words or of an array file that are read.
pub const MAX_BINARY: u64 = 4 << 30;

/// True of the name that stands for standard input or output.
pub fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The whole of a file, or of standard input for `-`.
///
/// A file above `limit` bytes is refused from its size alone; a stream as soon as it passes the limit.
pub fn read(path: &Path, limit: u64) -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    let result = if is_dash(path) {
        io::stdin().lock().take(limit + 1).read_to_end(&mut bytes)
    } else {
        read_file(path, limit, &mut bytes)
    };
    result.map_err(|error| Failure::about(path, error))?;
    if bytes.len() as u64 > limit {
        return Err(Failure::about(path, too_large(limit)));
    }
    Ok(bytes)
}

fn read_file(path: &Path, limit: u64, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let file = File::open(path)?;
    let meta = file.metadata()?;
    if meta.is_dir() {
        return Err(io::Error::other("is a directory"));
    }
    if meta.len() > limit {
        return Err(io::Error::other(too_large(limit)));
    }
    file.take(limit + 1).read_to_end(bytes)
}

fn too_large(limit: u64) -> String {
    format!("is larger than {} MiB, the most that is read", limit >> 20)
}

/// Writes to `path`, or to standard output for `-` and for no path.
pub fn write(path: Option<&Path>, bytes: &[u8]) -> Outcome {
    match path {
        Some(path) if !is_dash(path) => {
            replace(path, bytes).map_err(|error| Failure::about(path, error))
        }
        _ => {
            let mut out = io::stdout().lock();
            out.write_all(bytes)?;
            Ok(out.flush()?)
        }
    }
}

/// Writes a temporary file beside `path` and renames it, so that `path` never holds half an output.
///
/// Something that is not a regular file (a pipe, a device) cannot be replaced and is written in place.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
        return File::create(path)?.write_all(bytes);
    }
    let temporary = beside(path)?;
    let written = File::create_new(&temporary)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one worth telling; a temporary that was never made cannot be removed.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::other("is not a file name"))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.tmp", std::process::id()));
    Ok(path.with_file_name(hidden))
}
