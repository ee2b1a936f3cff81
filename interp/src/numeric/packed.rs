//! Loops over BFLOAT16 by pairs: two elements make a 32-bit word, whose upper half is an fp32 value but for the lower
//! bits, so that nothing has to be widened or narrowed.

use super::format::Bf16;
use super::kernels::Running;
use super::lane::Lane;
use super::minifloat::{bf16_to_f32, f32_to_bf16};
use super::ops::Op;
use super::simd::Level;

/// The lower and the upper element of a word.
#[inline(always)]
fn unpack(word: [u8; 4]) -> [f32; 2] {
    let word = u32::from_le_bytes(word);
    [f32::from_bits(word << 16), f32::from_bits(word & 0xFFFF_0000)]
}

/// The rounded element in the upper half of a word; see [`f32_to_bf16`].
#[inline(always)]
fn rounded(value: f32) -> u32 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7FFF + ((bits >> 16) & 1));
    if value.is_nan() { 0x7FC0_0000 } else { rounded }
}

#[inline(always)]
fn pack([low, high]: [f32; 2]) -> [u8; 4] {
    ((rounded(low) >> 16) | (rounded(high) & 0xFFFF_0000)).to_le_bytes()
}

#[inline(always)]
fn map(out: &mut [u8], a: &[u8], f: impl Fn(f32) -> f32) {
    let (words, tail) = a.as_chunks::<4>();
    let (out_words, out_tail) = out.as_chunks_mut::<4>();
    for (out, &a) in out_words.iter_mut().zip(words) {
        let [low, high] = unpack(a);
        *out = pack([f(low), f(high)]);
    }
    for (out, &a) in u16::cells_mut(out_tail).iter_mut().zip(u16::cells(tail)) {
        *out = f32_to_bf16(f(bf16_to_f32(u16::load(a)))).store();
    }
}

#[inline(always)]
fn zip(out: &mut [u8], a: &[u8], b: &[u8], f: impl Fn(f32, f32) -> f32) {
    let ((a_words, a_tail), (b_words, b_tail)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let (out_words, out_tail) = out.as_chunks_mut::<4>();
    for (out, (&a, &b)) in out_words.iter_mut().zip(a_words.iter().zip(b_words)) {
        let ([a_low, a_high], [b_low, b_high]) = (unpack(a), unpack(b));
        *out = pack([f(a_low, b_low), f(a_high, b_high)]);
    }
    let tails = u16::cells(a_tail).iter().zip(u16::cells(b_tail));
    for (out, (&a, &b)) in u16::cells_mut(out_tail).iter_mut().zip(tails) {
        let value = f(bf16_to_f32(u16::load(a)), bf16_to_f32(u16::load(b)));
        *out = f32_to_bf16(value).store();
    }
}

pub fn binary<L: Level, O: Op<f32>>(out: &mut [u8], a: &[u8], b: &[u8]) {
    L::run(
        #[inline(always)]
        || zip(out, a, b, O::apply),
    );
}

pub fn scalar<L: Level, O: Op<f32>>(out: &mut [u8], a: &[u8], s: u64) {
    L::run(
        #[inline(always)]
        || {
            let s = f32::from_bits(s as u32);
            map(
                out,
                a,
                #[inline(always)]
                |a| O::apply(a, s),
            );
        },
    );
}

pub fn pair<L: Level, A: Op<f32>, B: Op<f32>>(out: &mut [u8], a: &[u8], scalars: [u64; 2]) {
    L::run(
        #[inline(always)]
        || {
            let [s0, s1] = [f32::from_bits(scalars[0] as u32), f32::from_bits(scalars[1] as u32)];
            map(
                out,
                a,
                #[inline(always)]
                |a| B::apply(A::apply(a, s0), s1),
            );
        },
    );
}

/// The running fold of a row in free order; see [`super::kernels::feed`].
pub fn feed<L: Level, O: Op<f32>>(state: &mut Running, block: &[u8]) {
    L::run(
        #[inline(always)]
        || {
            let (words, tail) = block.as_chunks::<4>();
            let low = O::fold(words, |word| unpack(word)[0]);
            let high = O::fold(words, |word| unpack(word)[1]);
            let (Some(low), Some(high), []) = (low, high, tail) else {
                return super::kernels::feed::<L, Bf16, O>(state, block);
            };
            let folded = O::apply(low, high);
            let acc = f32::from_bits(state.acc as u32);
            let acc = if state.seen == 0 { folded } else { O::apply(acc, folded) };
            state.acc = Lane::to_bits(acc);
            state.seen += 2 * words.len() as u64;
        },
    );
}

#[cfg(test)]
mod tests {
    use super::super::kernels::Pair;
    use super::super::ops::{Add, Mult};
    use super::super::simd::Portable;
    use super::*;

    #[test]
    fn pairs_give_the_bits_of_single_elements() {
        let bytes: Vec<u8> = (0..=u16::MAX).chain([7]).flat_map(u16::to_le_bytes).collect();
        let other: Vec<u8> =
            (0..=u16::MAX).rev().chain([0x3F80]).flat_map(u16::to_le_bytes).collect();
        let mut out = vec![0; bytes.len()];
        let single = |raw: &[u8], i: usize| bf16_to_f32(u16::load(u16::cells(raw)[i]));
        binary::<Portable, Add>(&mut out, &bytes, &other);
        for i in 0..bytes.len() / 2 {
            let want = f32_to_bf16(single(&bytes, i) + single(&other, i));
            assert_eq!(u16::load(u16::cells(&out)[i]), want, "{i:#x}");
        }
        let run: Pair = pair::<Portable, Mult, Add>;
        run(&mut out, &bytes, [0.3f32, 1.7].map(|s| s.to_bits().into()));
        for i in 0..bytes.len() / 2 {
            let want = f32_to_bf16(single(&bytes, i) * 0.3 + 1.7);
            assert_eq!(u16::load(u16::cells(&out)[i]), want, "{i:#x}");
        }
    }
}
