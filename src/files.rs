//! Reading inputs within limits, and writing outputs whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Outcome};

/// The most source text that is read: larger inputs are refused before any parser sees them.
pub const MAX_TEXT: u64 = partita::ir::text::MAX_TEXT as u64;

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

/// A file, or standard input for `-`, to be read in pieces.
pub fn open(path: &Path) -> Outcome<Box<dyn Read>> {
    if is_dash(path) {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(path).map_err(|error| Failure::about(path, error))?;
    match file.metadata() {
        Ok(meta) if meta.is_dir() => Err(Failure::about(path, "is a directory")),
        _ => Ok(Box::new(file)),
    }
}

/// Fills `buffer` as far as the input reaches; how far that is.
pub fn fill(path: &Path, reader: &mut dyn Read, buffer: &mut [u8]) -> Outcome<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::about(path, error)),
        }
    }
    Ok(filled)
}

/// Writes to `path`, or to standard output for `-` and for no path.
pub fn write(path: Option<&Path>, bytes: &[u8]) -> Outcome {
    let mut out = Output::create(path)?;
    out.write_all(bytes).map_err(|error| out.failure(error))?;
    out.finish()
}

/// Refuses to write bytes that are no text to a terminal; `-o -` insists.
///
/// # Errors
/// Wrong usage: no output is named, and standard output is a terminal.
pub fn refuse_terminal(output: Option<&Path>, what: &str) -> Outcome {
    match output {
        None if io::stdout().is_terminal() => Err(Failure::Usage(format!(
            "{what} is not text for a terminal: name a file with -o FILE"
        ))),
        _ => Ok(()),
    }
}

/// An output that is written in pieces. A file appears under its name when it is finished, so that the
/// name never stands for half an output; what is not finished is removed.
pub struct Output {
    stream: BufWriter<Box<dyn Write>>,
    /// `None` for standard output.
    path: Option<PathBuf>,
    /// What becomes the file. Something that is not a regular file (a pipe, a device) cannot be
    /// replaced and is written in place.
    temporary: Option<PathBuf>,
}

impl Output {
    /// Bytes that are written at once; a piece as large goes out without being copied.
    pub const PIECE: usize = 256 << 10;

    /// To `path`, or to standard output for `-` and for no path.
    pub fn create(path: Option<&Path>) -> Outcome<Self> {
        let buffered = |stream| BufWriter::with_capacity(Self::PIECE, stream);
        let Some(path) = path.filter(|path| !is_dash(path)) else {
            let stream = buffered(Box::new(io::stdout().lock()) as Box<dyn Write>);
            return Ok(Self { stream, path: None, temporary: None });
        };
        let in_place = fs::metadata(path).is_ok_and(|meta| !meta.is_file());
        let created = if in_place {
            File::create(path).map(|file| (file, None))
        } else {
            beside(path).and_then(|temporary| Ok((File::create_new(&temporary)?, Some(temporary))))
        };
        let (file, temporary) = created.map_err(|error| Failure::about(path, error))?;
        Ok(Self { stream: buffered(Box::new(file)), path: Some(path.to_owned()), temporary })
    }

    /// Flushes, and gives the file its name.
    pub fn finish(mut self) -> Outcome {
        let mut done = self.stream.flush();
        if let (Ok(()), Some(temporary), Some(path)) = (&done, &self.temporary, &self.path) {
            done = fs::rename(temporary, path);
            if done.is_ok() {
                self.temporary = None;
            }
        }
        done.map_err(|error| self.failure(error))
    }

    /// What a write error means for the command.
    pub fn failure(&self, error: io::Error) -> Failure {
        match &self.path {
            Some(path) => Failure::about(path, error),
            None => error.into(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // The first error is the one worth telling; a temporary that was never made cannot be removed.
            let _ = fs::remove_file(temporary);
        }
    }
}

fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::other("is not a file name"))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.tmp", std::process::id()));
    Ok(path.with_file_name(hidden))
}
