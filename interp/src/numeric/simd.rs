//! Instruction sets: found at run time, chosen once per machine.
//!
//! A kernel is ordinary Rust that is compiled once per [`Level`]; the compiler makes vector code for the level's
//! instructions. No level changes a result: loops contain IEEE operations only, products and sums are fused where a loop says so, and orders of
//! folds are written out.

use std::fmt;
use std::sync::OnceLock;

/// The environment variable that lowers the level: `portable`, `avx2` or `avx512`.
pub const VARIABLE: &str = "PARTITA_SIMD";

/// A level that this processor has. Values are made by this module only, so that holding one proves it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Simd(Set);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Set {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Set {
    #[cfg(target_arch = "x86_64")]
    const ALL: &[Self] = &[Self::Portable, Self::Avx2, Self::Avx512];
    #[cfg(not(target_arch = "x86_64"))]
    const ALL: &[Self] = &[Self::Portable];

    fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "avx512",
        }
    }

    fn is_present(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.is_present()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
        }
    }
}

impl Simd {
    /// The plain build, without instructions beyond the target's own.
    pub const PORTABLE: Self = Self(Set::Portable);

    /// The best level of this processor, or a lower one that `PARTITA_SIMD` names. A name that is unknown, or that
    /// this processor lacks, changes nothing.
    pub fn detect() -> Self {
        static DETECTED: OnceLock<Simd> = OnceLock::new();
        *DETECTED.get_or_init(|| {
            let wanted = std::env::var(VARIABLE).ok().and_then(|name| Self::named(&name));
            wanted.or(Self::available().last()).unwrap_or(Self::PORTABLE)
        })
    }

    /// The levels of this processor, lowest first.
    pub fn available() -> impl DoubleEndedIterator<Item = Self> {
        Set::ALL.iter().copied().filter(|set| set.is_present()).map(Self)
    }

    /// The level of this name, if this processor has it.
    pub fn named(name: &str) -> Option<Self> {
        Self::available().find(|level| level.0.name() == name)
    }

    pub(crate) fn set(self) -> Set {
        self.0
    }
}

impl fmt::Display for Simd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl fmt::Debug for Simd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

/// A set of instructions that a kernel is compiled for. Its kernels run only behind a [`Simd`] of that level.
pub trait Level: 'static {
    /// The level for kernels that gain nothing from the widest registers, so that they are not compiled twice.
    type Plain: Level;

    /// Runs `work`, which is inlined, with the level's instructions.
    fn run<R>(work: impl FnOnce() -> R) -> R;

    /// `a · b + c`, rounded once.
    fn fused(a: f32, b: f32, c: f32) -> f32;
}

/// The target's own instructions.
pub struct Portable;

impl Level for Portable {
    type Plain = Self;

    #[inline(always)]
    fn run<R>(work: impl FnOnce() -> R) -> R {
        work()
    }

    #[inline(always)]
    fn fused(a: f32, b: f32, c: f32) -> f32 {
        if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
            a.mul_add(b, c)
        } else {
            super::float::fused(a, b, c)
        }
    }
}

macro_rules! levels {
    ($($level:ident, $plain:ident, $features:literal;)*) => {$(
        #[cfg(target_arch = "x86_64")]
        pub struct $level;

        #[cfg(target_arch = "x86_64")]
        impl Level for $level {
            type Plain = $plain;

            #[allow(unsafe_code)]
            #[inline(always)]
            fn run<R>(work: impl FnOnce() -> R) -> R {
                #[target_feature(enable = $features)]
                #[inline]
                fn inner<R>(work: impl FnOnce() -> R) -> R {
                    work()
                }
                // SAFETY: kernels of a level are handed out by `at_level!` for a `Simd` of that level only, and such
                // a value exists only where the processor has these instructions.
                unsafe { inner(work) }
            }

            #[inline(always)]
            fn fused(a: f32, b: f32, c: f32) -> f32 {
                a.mul_add(b, c)
            }
        }
    )*};
}

levels! {
    Avx2, Avx2, "avx2,fma";
    Avx512, Avx2, "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl";
}

/// The expression with `$level` standing for the level of a [`Simd`].
macro_rules! at_level {
    ($simd:expr, $level:ident => $value:expr) => {{
        use $crate::numeric::simd::{self, Set};
        match $simd.set() {
            Set::Portable => {
                type $level = simd::Portable;
                $value
            }
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => {
                type $level = simd::Avx2;
                $value
            }
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => {
                type $level = simd::Avx512;
                $value
            }
        }
    }};
}
pub(crate) use at_level;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_level_is_always_there_and_the_last_one_is_taken() {
        assert_eq!(Simd::available().next(), Some(Simd::PORTABLE));
        assert_eq!(Simd::named("portable"), Some(Simd::PORTABLE));
        assert_eq!(Simd::named("abacus"), None);
        assert!(Simd::available().any(|level| level == Simd::detect()));
    }
}
