//! Access patterns: a nest of loops with one stride per operand becomes as few words as the counts
//! (u16), steps (i16) and dimensions of an opcode's patterns allow.

use partita_isa::Pattern;
use smallvec::{SmallVec, smallvec};

/// Element strides of each operand along one loop.
pub type Steps = SmallVec<[i64; 4]>;

/// One loop: how often, and how far each operand moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    pub count: u64,
    pub steps: Steps,
}

/// A nest that fits one word: where each operand starts, and the loops, innermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nest {
    pub offsets: Steps,
    pub loops: SmallVec<[Loop; 4]>,
}

/// The most iterations of one pattern dimension.
const MAX_COUNT: u64 = u16::MAX as u64;

/// Pieces of a longer loop; a round number keeps the pieces aligned.
const CHUNK: u64 = 1 << 15;

/// Joins loops that continue each other in every operand and drops those of one iteration.
/// Innermost first.
pub fn merge(loops: &[Loop]) -> SmallVec<[Loop; 4]> {
    let mut out: SmallVec<[Loop; 4]> = SmallVec::new();
    for next in loops.iter().filter(|next| next.count != 1) {
        match out.last_mut() {
            Some(inner) if continues(inner, next) => inner.count *= next.count,
            _ => out.push(next.clone()),
        }
    }
    out
}

fn continues(inner: &Loop, outer: &Loop) -> bool {
    let count = inner.count as i64;
    inner
        .steps
        .iter()
        .zip(&outer.steps)
        .all(|(&inner, &outer)| inner.checked_mul(count) == Some(outer))
}

fn fits(looped: &Loop) -> bool {
    looped.count <= MAX_COUNT && looped.steps.iter().all(|&step| i16::try_from(step).is_ok())
}

/// Divides a nest into words. The first `fixed` loops (the reduced ones) stay whole in each word;
/// `None` when they do not fit. `max_dims` counts all loops of a word.
pub fn divide(
    fixed: &[Loop],
    kept: &[Loop],
    max_dims: usize,
    operands: usize,
) -> Option<Vec<Nest>> {
    let fixed = merge(fixed);
    if fixed.len() > max_dims || !fixed.iter().all(fits) {
        return None;
    }
    let mut out = Vec::new();
    expand(&fixed, merge(kept), max_dims, smallvec![0; operands], &mut out);
    Some(out)
}

fn expand(
    fixed: &[Loop],
    kept: SmallVec<[Loop; 4]>,
    max_dims: usize,
    offsets: Steps,
    out: &mut Vec<Nest>,
) {
    let room = max_dims - fixed.len();
    let too_long = kept.iter().rposition(|looped| !fits(looped));
    let unrolled = too_long.or_else(|| (kept.len() > room).then(|| kept.len() - 1));
    let Some(index) = unrolled else {
        let loops = fixed.iter().cloned().chain(kept).collect();
        out.push(Nest { offsets, loops });
        return;
    };
    let looped = &kept[index];
    let steps_fit = looped.steps.iter().all(|&step| i16::try_from(step).is_ok());
    // A loop whose steps fit is cut into long pieces; otherwise each iteration stands alone.
    let piece = if steps_fit && index < room { CHUNK } else { 1 };
    let mut start = 0;
    while start < looped.count {
        let mut rest = kept.clone();
        rest[index].count = piece.min(looped.count - start);
        let at = offsets
            .iter()
            .zip(&looped.steps)
            .map(|(&offset, &step)| offset + step * start as i64)
            .collect();
        expand(fixed, merge(&rest), max_dims, at, out);
        start += piece;
    }
}

impl Nest {
    /// The pattern of one operand; the address is `start`, to which the nest's offset was added by
    /// the caller. Loops beyond `D` do not occur when the nest was made for `D` dimensions.
    pub fn pattern<const D: usize>(&self, operand: usize, start: u32) -> Pattern<D> {
        let mut pattern = Pattern::contiguous(start, 1);
        for (dim, looped) in self.loops.iter().take(D).enumerate() {
            pattern.step_elem[dim] = looped.steps[operand] as i16;
            pattern.num_elem[dim] = looped.count as u16;
        }
        pattern
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looped(count: u64, steps: &[i64]) -> Loop {
        Loop { count, steps: steps.into() }
    }

    /// All element offsets of every operand in walk order.
    fn walk(nests: &[Nest]) -> Vec<Vec<i64>> {
        let mut out = Vec::new();
        for nest in nests {
            let total: u64 = nest.loops.iter().map(|l| l.count).product();
            for mut e in 0..total {
                let mut at: Vec<i64> = nest.offsets.to_vec();
                for l in &nest.loops {
                    let i = (e % l.count) as i64;
                    e /= l.count;
                    at.iter_mut().zip(&l.steps).for_each(|(at, step)| *at += i * step);
                }
                out.push(at);
            }
        }
        out
    }

    #[test]
    fn loops_that_continue_each_other_merge() {
        let merged = merge(&[
            looped(4, &[1, 0]),
            looped(1, &[9, 9]),
            looped(3, &[4, 0]),
            looped(2, &[12, 5]),
        ]);
        assert_eq!(merged.as_slice(), [looped(12, &[1, 0]), looped(2, &[12, 5])]);
    }

    #[test]
    fn more_loops_than_dimensions_unroll_from_outside() {
        let nest = [looped(2, &[1]), looped(2, &[10]), looped(3, &[100])];
        let words = divide(&[], &nest, 2, 1).expect("nothing fixed");
        assert_eq!(words.len(), 3);
        let want: Vec<Vec<i64>> =
            [0, 1, 10, 11, 100, 101, 110, 111, 200, 201, 210, 211].map(|at| vec![at]).to_vec();
        assert_eq!(walk(&words), want);
    }

    #[test]
    fn long_loops_are_cut_and_far_steps_unroll() {
        let words = divide(&[], &[looped(100_000, &[1, 0])], 3, 2).expect("nothing fixed");
        assert_eq!(words.len(), 4);
        assert_eq!(walk(&words)[99_999], [99_999, 0]);
        assert!(words.iter().all(|nest| nest.loops.iter().all(fits)));
        let far =
            divide(&[], &[looped(2, &[1]), looped(3, &[40_000])], 3, 1).expect("nothing fixed");
        assert_eq!(far.len(), 3);
        assert_eq!(walk(&far)[5], [80_001]);
    }

    #[test]
    fn fixed_loops_must_fit() {
        assert_eq!(divide(&[looped(70_000, &[1])], &[], 4, 1), None);
        let words = divide(&[looped(7, &[5, 0])], &[looped(5, &[1, 1])], 4, 2).expect("fits");
        assert_eq!(words[0].pattern::<4>(0, 64).step_elem[..2], [5, 1]);
    }
}
