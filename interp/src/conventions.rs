//! The choices that the ISA reference leaves open and that change what a legal word does (ISA 13), as switches: a
//! table of questions, the answer that is assumed, and the others that are conceivable.
//!
//! What only decides whether a word is accepted is no switch; docs/conventions.md goes through all of ISA 13.

use std::fmt;
use std::str::FromStr;

/// A question and its answers: a row of the table.
#[derive(Debug)]
pub struct Info {
    /// The name on the command line.
    pub name: &'static str,
    /// The number in ISA 13, or the section of a choice that has none.
    pub id: &'static str,
    pub question: &'static str,
    /// The answer that is assumed, and what it means.
    pub assumed: [&'static str; 2],
    pub alternatives: &'static [Alternative],
}

macro_rules! conventions {
    ($($convention:ident $name:literal $id:literal $question:literal
        assumed $default:literal $default_what:literal
        $(else $alternative:ident $other:literal $what:literal)+;)*) => {
        /// A question of ISA 13.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Convention {
            $(#[doc = $question] $convention,)*
        }

        /// An answer that is not the one assumed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Alternative {
            $($(#[doc = $what] $alternative,)+)*
        }

        impl Convention {
            pub const ALL: &[Self] = &[$(Self::$convention),*];

            pub const fn info(self) -> &'static Info {
                match self {
                    $(Self::$convention => const { &Info {
                        name: $name,
                        id: $id,
                        question: $question,
                        assumed: [$default, $default_what],
                        alternatives: &[$(Alternative::$alternative),+],
                    } },)*
                }
            }
        }

        impl Alternative {
            pub const ALL: &[Self] = &[$($(Self::$alternative,)+)*];

            /// The question that it answers.
            pub const fn convention(self) -> Convention {
                match self {
                    $($(Self::$alternative)|+ => Convention::$convention,)*
                }
            }

            /// The name on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $($(Self::$alternative => $other,)+)*
                }
            }

            pub const fn what(self) -> &'static str {
                match self {
                    $($(Self::$alternative => $what,)+)*
                }
            }
        }
    };
}

conventions! {
    Overlap "overlap" "OQ-9" "when an element is written that a later one is read from"
        assumed "read-first" "all sources are read before anything is written"
        else Streaming "streaming" "each result is written before the next source element is read";
    RepeatedWrites "repeated-writes" "OQ-9" "which write to one place stays"
        assumed "last" "the last in walk order"
        else FirstWrite "first" "the first in walk order";
    Fp32r "fp32r" "OQ-12" "the mantissa of FP32R"
        assumed "13-bits" "13 bits, nearest even"
        else Fp32rTruncated "13-bits-truncated" "13 bits, the rest cut off"
        else Fp32r11 "11-bits" "11 bits, nearest even"
        else Fp32rFull "23-bits" "all 23 bits, as FP32";
    Fp8Exp4 "fp8-exp4" "OQ-13" "the pattern of FP8_EXP4 (MARIANA and later, without the option fp8_ocp)"
        assumed "ieee" "as IEEE formats: the largest exponent is Inf and NaN"
        else Exp4Ocp "ocp" "as E4M3FN: up to 448, no Inf";
    Fp8Exp3 "fp8-exp3" "OQ-13" "the pattern of FP8_EXP3"
        assumed "ieee" "as IEEE formats: the largest exponent is Inf and NaN"
        else Exp3Finite "finite" "up to 30, no Inf; only all ones are NaN";
    Fp8Overflow "fp8-overflow" "OQ-13" "what is written for a number too large for eight bits (without fp8_saturate)"
        assumed "infinity" "infinity, or NaN where the format has none"
        else Fp8Saturates "saturate" "the largest finite value"
        else Fp8SaturatesOnPool "saturate-on-pool" "the largest finite value on POOL alone";
    Unary "unary" "OQ-16" "the operand of a unary operation, and of BYPASS in a fold, where two stand ready"
        assumed "left" "the left one"
        else UnaryNewest "newest" "the right one of two tensors; the element in a fold; the tensor beside a scalar";
    Negate "negate" "OQ-20" "when `negated` applies"
        assumed "after" "to the result of the reduction"
        else NegateBefore "before" "to every element before the reduction";
    NegateInteger "negate-integer" "OQ-20" "the negation of an integer that has none"
        assumed "wrap" "wraps"
        else NegateSaturates "saturate" "saturates";
    Crc "crc32" "OQ-22" "the parameters of CRC32"
        assumed "complemented" "reflected 0xEDB88320, seed all ones, complemented at the end"
        else CrcPlain "plain" "the same without the complement at the end"
        else CrcZeroSeed "zero-seed" "the same with seed 0 and without the complement"
        else CrcCastagnoli "castagnoli" "the same with the reflected polynomial 0x82F63B78";
    TransposeMask "transpose-mask" "OQ-23" "what the lane table does to a masked transpose"
        assumed "hold" "lanes whose entry is 32 or more are not written"
        else MaskZero "zero" "such lanes are written with zeros"
        else MaskPermute "permute" "entries below 32 also name the lane that is read, as in a shuffle";
    LaneTable "lane-table" "OQ-23" "the lane table before any is loaded"
        assumed "identity" "0, 1, …, 31"
        else LaneTableZero "zero" "32 times 0";
    ShuffleEntry "shuffle-entry" "OQ-24" "entries 32 to 63 of the lane table of a shuffle"
        assumed "hold" "the lane is not written"
        else EntryZero "zero" "the lane is written with zeros"
        else EntryModulo "modulo" "the low five bits name the lane";
    CrossLaneOrder "cross-lane-order" "OQ-25" "the order of a float fold over partitions"
        assumed "ascending" "ascending channel, then ascending element"
        else CrossLaneDescending "descending" "descending channel, then descending element"
        else CrossLanePairwise "pairwise" "neighbouring pairs, then pairs of pairs"
        else CrossLaneElements "elements-first" "over all elements: each channel first, then the channels";
    CrossLaneScale "cross-lane-scale" "OQ-26" "the scale of a cross-lane ADD"
        assumed "ignored" "it is ignored"
        else ScaleApplied "applied" "each float element is multiplied by it, as under AVERAGE";
    CacheSlot "cache-slot" "OQ-27" "the element that 0x9a writes"
        assumed "last" "the last of the destination"
        else SlotFirst "first" "the first of the destination"
        else SlotNone "none" "none: the result stays in the accumulator";
    AccumulatorIndex "accumulator-index" "OQ-28" "which accumulator a channel has"
        assumed "destination" "that of its destination partition"
        else AccumulatorOfSource "source" "that of its source partition"
        else AccumulatorOfChannel "channel" "that of its channel number";
    AccumulatorStart "accumulator-start" "OQ-28" "the accumulators before any word has left something there"
        assumed "zero" "0"
        else AccumulatorNan "undefined" "not a number";
    PoolToInteger "pool-to-integer" "OQ-32" "the rounding of floats to integers on POOL"
        assumed "nearest" "nearest even"
        else PoolTruncates "truncate" "toward zero";
    NanToInteger "nan-to-integer" "OQ-32" "the integer of a NaN"
        assumed "zero" "0"
        else NanSmallest "smallest" "the smallest of the type"
        else NanLargest "largest" "the largest of the type";
    IntegerNarrowing "integer-narrowing" "OQ-33" "an integer result that its narrower type does not hold"
        assumed "saturate" "saturates"
        else NarrowingWraps "wrap" "keeps its low bits";
    DivideByZero "divide-by-zero" "OQ-34" "an integer division by zero"
        assumed "ones" "quotient all ones, remainder the dividend"
        else DivideZeroZero "zero" "quotient and remainder 0";
    DivideOverflow "divide-overflow" "OQ-34" "the smallest integer divided by -1"
        assumed "wrap" "the smallest integer"
        else DivideSaturates "saturate" "the largest integer";
    ShiftCount "shift-count" "OQ-35" "a shift by the width or more"
        assumed "beyond" "everything is shifted out"
        else ShiftModulo "modulo" "the count is taken modulo the width";
    ShiftFill "shift-fill" "OQ-35" "what ARITH_SHIFT_RIGHT shifts into an unsigned number"
        assumed "top-bit" "copies of its top bit"
        else ShiftFillZero "zero" "zeros";
    ZeroOrder "zero-order" "OQ-36" "MAX and MIN of zeros of both signs"
        assumed "ordered" "+0 is greater than -0"
        else ZeroFirst "first" "they are equal, the left operand is the result"
        else ZeroSecond "second" "they are equal, the right operand is the result";
    ReluNan "relu-nan" "OQ-36" "RE_LU of NaN"
        assumed "nan" "NaN"
        else ReluNanZero "zero" "+0";
    LastBit "last-bit" "OQ-37" "the last bit of exp, POW and RSQRT"
        assumed "nearest" "the exact value rounded once"
        else LastBitUp "up" "one unit in the last place farther from 0"
        else LastBitDown "down" "one unit in the last place nearer to 0";
    BypassScalar "bypass-scalar" "OQ-38" "BYPASS with reversed operands in a tensor-scalar word"
        assumed "value" "yields the tensor, or the value of the first stage"
        else BypassScalarLeft "left" "yields its left operand, which is the scalar";
    BypassTensor "bypass-tensor" "9.19" "BYPASS with reversed operands in a scalar-tensor-tensor word"
        assumed "left" "yields its left operand"
        else BypassTensorValue "value" "yields source 0, or the value of the first stage";
    TransposedPointer "transposed-pointer" "OQ-39" "the channel of a pointer immediate of 0x93"
        assumed "after" "the channel after the transpose"
        else PointerBefore "before" "the channel before the transpose";
    DveInteger "dve-integer" "OQ-41" "how DVE computes operations of the integer band"
        assumed "wrap" "in 32-bit integers that wrap"
        else DveSaturates "saturate" "in 32-bit integers; ADD, SUBTRACT and MULT saturate"
        else DveFloat "fp32" "in fp32, as everything else on DVE";
    CacheSubtract "cache-subtract" "OQ-42" "SUBTRACT as the fold of a cache opcode"
        assumed "accumulator-left" "accumulator - value"
        else CacheSubtractReversed "accumulator-right" "value - accumulator";
    ReduceOrder "reduce-order" "OQ-43" "the order of a float sum or product within a channel"
        assumed "ascending" "left to right"
        else ReduceDescending "descending" "right to left"
        else ReducePairwise "pairwise" "neighbouring pairs, then pairs of pairs";
    CacheAccumulator "cache-accumulator" "OQ-56" "the accumulator of a cache opcode over 8- and 16-bit integers"
        assumed "fp32" "fp32, rounded at every step"
        else CacheWide "wide" "wide enough to be exact; rounded at the end of the word";
    CrossLaneWidth "cross-lane-width" "OQ-57" "the width of an integer sum over partitions"
        assumed "32-bits" "32 bits"
        else CrossLaneOneStep "one-step" "twice that of the elements, at most 32 bits";
    CrossLaneDestination "cross-lane-destination" "OQ-58" "the partitions that a fold over partitions writes"
        assumed "one" "the first of the destination"
        else CrossLaneEvery "every" "as many as the source has, with the same result";
    IntegerImmediate "integer-immediate" "OQ-61" "immediates of 0x43 with operations of the integer band"
        assumed "integer" "integers of the signedness of the source"
        else IntegerImmediateFloat "fp32" "fp32 numbers, rounded to integers";
    NanBits "nan-bits" "OQ-62" "the bits of a NaN that a computation in fp32 makes"
        assumed "propagated" "those of an operand, else the canonical ones"
        else NanCanonical "canonical" "0x7FC00000"
        else NanNegative "negative" "0xFFC00000";
    MultiplyAdd "multiply-add" "10.1" "MULT followed by ADD or SUBTRACT in one word"
        assumed "two-roundings" "each rounds to fp32"
        else Fused "fused" "one rounding";
    ExtendedInteger "extended-integer" "9.2" "0xf0 with three 32-bit integer types"
        assumed "wrap" "32-bit integers that wrap"
        else ExtendedFloat "fp32" "fp32, as with other types";
    CastSame "cast-same" "9.9" "a cast to the same type"
        assumed "copy" "moves bits"
        else CastConverts "convert" "goes through fp32, as other casts do";
}

const _: () = assert!(Alternative::ALL.len() <= u128::BITS as usize);

impl Convention {
    /// The convention of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|convention| convention.info().name == name)
    }
}

impl fmt::Display for Convention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info().name)
    }
}

impl Alternative {
    const fn bit(self) -> u128 {
        1 << self as u8
    }
}

impl fmt::Display for Alternative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.convention(), self.name())
    }
}

/// An answer to every question: at first the assumed one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conventions(u128);

impl Conventions {
    /// Whether every answer is the assumed one.
    #[inline]
    pub const fn are_assumed(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub const fn has(self, alternative: Alternative) -> bool {
        self.0 & alternative.bit() != 0
    }

    /// The same with another answer to one question.
    #[must_use]
    pub fn with(self, setting: Setting) -> Self {
        let of = setting.convention.info().alternatives.iter();
        let others = of.fold(0, |bits, alternative| bits | alternative.bit());
        Self(self.0 & !others | setting.alternative.map_or(0, Alternative::bit))
    }

    /// The answers that are not the assumed ones, in the order of the table.
    pub fn alternatives(self) -> impl Iterator<Item = Alternative> {
        Alternative::ALL.iter().copied().filter(move |&alternative| self.has(alternative))
    }
}

impl FromIterator<Setting> for Conventions {
    /// The last answer to a question counts.
    fn from_iter<I: IntoIterator<Item = Setting>>(settings: I) -> Self {
        settings.into_iter().fold(Self::default(), Self::with)
    }
}

/// An answer to one question, spelled `NAME=ANSWER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    pub convention: Convention,
    /// `None` for the assumed answer.
    pub alternative: Option<Alternative>,
}

impl From<Alternative> for Setting {
    fn from(alternative: Alternative) -> Self {
        Self { convention: alternative.convention(), alternative: Some(alternative) }
    }
}

/// Why the spelling of an answer was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    #[error("`{0}` is not of the form NAME=ANSWER")]
    Form(String),
    #[error("there is no convention `{0}`; `partita isa conventions` lists them")]
    Name(String),
    #[error("`{convention}` has no answer `{got}`: use {}", answers(*.convention).join(", "))]
    Answer { convention: Convention, got: String },
}

/// The answers to a question by name, the assumed one first.
pub fn answers(convention: Convention) -> Vec<&'static str> {
    let info = convention.info();
    let others = info.alternatives.iter().map(|alternative| alternative.name());
    [info.assumed[0]].into_iter().chain(others).collect()
}

impl FromStr for Setting {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let (name, answer) =
            text.split_once('=').ok_or_else(|| SettingError::Form(text.to_owned()))?;
        let convention =
            Convention::from_name(name).ok_or_else(|| SettingError::Name(name.to_owned()))?;
        let info = convention.info();
        if answer == info.assumed[0] {
            return Ok(Self { convention, alternative: None });
        }
        let found = info.alternatives.iter().find(|alternative| alternative.name() == answer);
        match found {
            Some(&alternative) => Ok(alternative.into()),
            None => Err(SettingError::Answer { convention, got: answer.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_read_back() {
        for &convention in Convention::ALL {
            assert_eq!(Convention::from_name(convention.info().name), Some(convention));
            let mut names = answers(convention);
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), convention.info().alternatives.len() + 1, "{convention}");
        }
        for &alternative in Alternative::ALL {
            assert_eq!(alternative.to_string().parse(), Ok(Setting::from(alternative)));
        }
    }

    #[test]
    fn the_last_answer_to_a_question_counts() {
        let read = |texts: &[&str]| -> Conventions {
            texts.iter().map(|text| text.parse::<Setting>().unwrap()).collect()
        };
        let both = read(&["shuffle-entry=zero", "negate=before", "shuffle-entry=modulo"]);
        let names: Vec<String> = both.alternatives().map(|a| a.to_string()).collect();
        assert_eq!(names, ["negate=before", "shuffle-entry=modulo"]);
        assert!(read(&["negate=before", "negate=after"]).are_assumed());
    }

    #[test]
    fn wrong_spellings_say_what_is_right() {
        let error = |text: &str| text.parse::<Setting>().unwrap_err().to_string();
        assert!(error("negate").contains("NAME=ANSWER"));
        assert!(error("nought=1").contains("isa conventions"));
        assert!(error("negate=never").ends_with("use after, before"));
    }
}
