//! Stores that go past the caches, for results that are too large to stay in them: lines that will be overwritten are
//! then not read from memory first.

/// Bytes of a line of the caches.
pub const CACHE_LINE: usize = 64;

/// Bytes of a word's operands, results among them, from which on results are stored past the caches: more than a shared
/// cache holds for long. A smaller result is there when the next word reads it.
pub const LARGE: usize = 20 << 20;

/// The same for transposes, whose stores are spread over many rows.
pub const LARGE_TRANSPOSE: usize = 16 << 20;

/// Bytes that lie before the first whole line.
pub fn before_line(bytes: &[u8]) -> usize {
    bytes.as_ptr().align_offset(CACHE_LINE).min(bytes.len())
}

/// Copies past the caches what fills whole lines of `to`, which is as long as `from` and begins with a line. Other
/// threads are sure to see the bytes after [`settle`].
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
#[inline]
pub fn copy(to: &mut [u8], from: &[u8]) {
    use std::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};
    if before_line(to) > 0 {
        return to.copy_from_slice(from);
    }
    let (lines, tail) = to.as_chunks_mut::<CACHE_LINE>();
    let (from_lines, from_tail) = from.as_chunks::<CACHE_LINE>();
    for (line, from) in lines.iter_mut().zip(from_lines) {
        let (pieces, from_pieces) = (line.as_chunks_mut::<16>().0, from.as_chunks::<16>().0);
        for (piece, from) in pieces.iter_mut().zip(from_pieces) {
            // SAFETY: both are 16 bytes behind references, the stored ones are aligned since all lines are, and every
            // x86-64 processor has SSE2.
            unsafe {
                _mm_stream_si128(piece.as_mut_ptr().cast(), _mm_loadu_si128(from.as_ptr().cast()));
            }
        }
    }
    tail.copy_from_slice(from_tail);
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn copy(to: &mut [u8], from: &[u8]) {
    to.copy_from_slice(from);
}

/// Orders this thread's stores past the caches before all that follows.
#[allow(unsafe_code)]
pub fn settle() {
    // SAFETY: a fence touches no memory, and every x86-64 processor has SSE.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
