//! Zeroed memory of a machine: large ones ask the system for huge pages.

use std::fmt;
use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

/// Bytes that start at zero and cost nothing until they are touched.
pub struct Pages(Kind);

enum Kind {
    Plain(Vec<u8>),
    Mapped(MmapMut),
}

/// Below this size huge pages bring nothing.
pub const LARGE: usize = 1 << 20;

impl Pages {
    /// `len` bytes of zero; `huge` asks for huge pages, which the system may refuse. With them a memory that is
    /// touched here and there takes more of the system's memory, and fewer misses to walk through.
    pub fn new(len: usize, huge: bool) -> Self {
        let map = (huge && len >= LARGE).then(|| MmapMut::map_anon(len).ok()).flatten();
        let Some(map) = map else { return Self(Kind::Plain(vec![0; len])) };
        // A refusal changes nothing but the time.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Self(Kind::Mapped(map))
    }
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Kind::Plain(bytes) => bytes,
            Kind::Mapped(bytes) => bytes,
        }
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Kind::Plain(bytes) => bytes,
            Kind::Mapped(bytes) => bytes,
        }
    }
}

impl Clone for Pages {
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.len(), matches!(self.0, Kind::Mapped(_)));
        copy.copy_from_slice(self);
        copy
    }
}

impl fmt::Debug for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_are_zero_and_copies_are_equal() {
        for (len, huge) in [(0, true), (100, false), (LARGE, true), (LARGE + 5, true)] {
            let mut pages = Pages::new(len, huge);
            assert!(pages.len() == len && pages.iter().all(|&byte| byte == 0));
            if let Some(last) = pages.last_mut() {
                *last = 7;
            }
            assert!(pages.clone()[..] == pages[..]);
        }
    }
}
