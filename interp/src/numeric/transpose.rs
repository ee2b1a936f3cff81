//! Transposes of small blocks in registers.
//!
//! A block is as many lines of 16 bytes as a line has elements. The perfect shuffle of its lines, interleaved element
//! by element and repeated once per bit of the line number, is the transpose.

/// A line of a block.
pub type Line = [u8; LINE];
/// Bytes of a line.
pub const LINE: usize = 16;

/// Interleaves the elements of two lines, `W` bytes each: the lower halves, then the upper halves.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
#[inline(always)]
fn interleave<const W: usize>(a: Line, b: Line) -> [Line; 2] {
    use std::arch::x86_64::*;
    // SAFETY: every x86-64 processor has SSE2, and a line and a register both are 16 bytes of which every pattern is
    // a value.
    unsafe {
        let [a, b] = std::mem::transmute::<[Line; 2], [__m128i; 2]>([a, b]);
        let pair = match W {
            1 => [_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)],
            2 => [_mm_unpacklo_epi16(a, b), _mm_unpackhi_epi16(a, b)],
            4 => [_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b)],
            _ => [_mm_unpacklo_epi64(a, b), _mm_unpackhi_epi64(a, b)],
        };
        std::mem::transmute::<[__m128i; 2], [Line; 2]>(pair)
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn interleave<const W: usize>(a: Line, b: Line) -> [Line; 2] {
    let mut pair = [[0; LINE]; 2];
    for (half, out) in pair.iter_mut().enumerate() {
        for (i, out) in out.iter_mut().enumerate() {
            let from = half * LINE / 2 + i / (2 * W) * W + i % W;
            *out = if i / W % 2 == 0 { a[from] } else { b[from] };
        }
    }
    pair
}

/// Transposes a block of elements of `W` bytes; `N` is `16 / W`.
#[inline(always)]
pub fn block<const W: usize, const N: usize>(mut lines: [Line; N]) -> [Line; N] {
    const { assert!(W * N == LINE) };
    let mut stride = 1;
    while stride < N {
        let before = lines;
        for i in 0..N / 2 {
            let [low, high] = interleave::<W>(before[i], before[i + N / 2]);
            lines[2 * i] = low;
            lines[2 * i + 1] = high;
        }
        stride *= 2;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<const W: usize, const N: usize>() {
        let element = |line: usize, at: usize| -> [u8; W] {
            std::array::from_fn(|byte| (line * 41 + at * 7 + byte * 3) as u8)
        };
        let lines = std::array::from_fn::<Line, N, _>(|line| {
            std::array::from_fn(|i| element(line, i / W)[i % W])
        });
        for (line, out) in block::<W, N>(lines).iter().enumerate() {
            for (at, got) in out.chunks(W).enumerate() {
                assert_eq!(got, element(at, line), "{W}: {line}, {at}");
            }
        }
    }

    #[test]
    fn blocks_of_every_width_are_transposed() {
        check::<1, 16>();
        check::<2, 8>();
        check::<4, 4>();
        check::<8, 2>();
    }
}
