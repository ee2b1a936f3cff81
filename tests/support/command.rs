//! Calling the command, for the tests that see it as its users do. Each uses a part of it.

#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The longest that any answer may take; a debug build on a loaded machine is slow.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A directory of its own for each test, removed at the end.
pub struct Dir(pub PathBuf);

impl Dir {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("partita-test-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, contents).unwrap();
        path
    }

    /// A file as an argument of the command.
    pub fn arg(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        arg(&self.file(name, contents)).to_owned()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_partita"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the command and holds it to the promises that every call makes.
pub fn call(args: &[&str]) -> Output {
    let started = Instant::now();
    let output = command(args).output().unwrap();
    let errors = text(&output.stderr);
    assert!(started.elapsed() < PATIENCE, "{args:?} took {:?}", started.elapsed());
    assert!(!errors.contains("panicked"), "{args:?}: {errors}");
    assert!(matches!(output.status.code(), Some(0..=2)), "{args:?}: {:?} {errors}", output.status);
    output
}

/// Status, standard output and standard error of a call.
pub fn outcome(args: &[&str]) -> (i32, String, String) {
    let output = call(args);
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// The files of a folder whose names end so, in order.
pub fn files(folder: impl AsRef<Path>, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == extension)).collect();
    files.sort();
    files
}

/// A `.npy` file of the header and bytes given.
pub fn npy(descr: &str, shape: &str, items: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(items);
    file
}

pub fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn fails(args: &[&str], status: i32, part: &str) {
    let output = call(args);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{args:?}: {errors}");
    assert!(errors.contains(part), "{args:?}: no {part:?} in {errors}");
    assert!(output.stdout.is_empty(), "{args:?}: {}", text(&output.stdout));
}

pub fn succeeds(args: &[&str]) -> String {
    let output = call(args);
    assert!(output.status.success(), "{args:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

pub fn arg(path: &Path) -> &str {
    path.to_str().unwrap()
}
