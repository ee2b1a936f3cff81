//! Generations, targets, engines and the shapes of the two on-chip memories (ISA 1, 2.2, 3.1).

use std::fmt;
use std::str::FromStr;

/// A hardware generation, oldest first (ISA 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    Sunda,
    Cayman,
    Mariana,
    MarianaPlus,
    Maverick,
}

/// Sizes of the partitioned memories of one generation, in bytes.
struct Memories {
    sbuf_stride: u64,
    sbuf_active: u64,
    sbuf_usable: u64,
    psum_base: Option<u64>,
}

/// By generation.
static MEMORIES: [Memories; Generation::ALL.len()] = {
    const fn row(sbuf_stride: u64, sbuf_active: u64, sbuf_usable: u64, psum: bool) -> Memories {
        let psum_base = if psum { Some(0x200_0000) } else { None };
        Memories { sbuf_stride, sbuf_active, sbuf_usable, psum_base }
    }
    [
        row(0x4_0000, 196_608, 180_224, true),
        row(0x4_0000, 229_376, 212_984, true),
        row(0x4_0000, 262_144, 245_752, true),
        row(0x4_0000, 262_144, 245_752, true),
        // ISA 3.1, OQ-5: no PSUM; the usable size subtracts the same reserve as elsewhere.
        row(0x10_0000, 524_288, 507_896, false),
    ]
};

/// Number of partitions of SBUF and of PSUM.
pub const PARTITIONS: u64 = 128;

impl Generation {
    pub const ALL: [Self; 5] =
        [Self::Sunda, Self::Cayman, Self::Mariana, Self::MarianaPlus, Self::Maverick];

    /// The spelling used on the command line and in files.
    #[inline]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sunda => "sunda",
            Self::Cayman => "cayman",
            Self::Mariana => "mariana",
            Self::MarianaPlus => "mariana_plus",
            Self::Maverick => "maverick",
        }
    }

    #[inline]
    const fn memories(self) -> &'static Memories {
        &MEMORIES[self as usize]
    }

    /// Address distance between two SBUF partitions.
    #[inline]
    pub const fn sbuf_stride(self) -> u64 {
        self.memories().sbuf_stride
    }

    /// Bytes of a SBUF partition that exist.
    #[inline]
    pub const fn sbuf_active(self) -> u64 {
        self.memories().sbuf_active
    }

    /// Bytes of a SBUF partition that a program may place data in; the rest is reserved by software.
    #[inline]
    pub const fn sbuf_usable(self) -> u64 {
        self.memories().sbuf_usable
    }

    /// First address past the SBUF address space.
    #[inline]
    pub const fn sbuf_space(self) -> u64 {
        self.sbuf_stride() * PARTITIONS
    }

    /// First address of PSUM; `None` where the generation has none.
    #[inline]
    pub const fn psum_base(self) -> Option<u64> {
        self.memories().psum_base
    }

    /// Address distance between two PSUM partitions.
    #[inline]
    pub const fn psum_stride(self) -> u64 {
        0x8000
    }

    /// Bytes of a PSUM partition that exist; 0 where there is no PSUM.
    #[inline]
    pub const fn psum_active(self) -> u64 {
        match self.psum_base() {
            Some(_) => 16_384,
            None => 0,
        }
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of generations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generations(u8);

impl Generations {
    pub const ALL: Self = Self(0b1_1111);
    /// SUNDA alone.
    pub const SUNDA: Self = Self(0b0_0001);
    /// CAYMAN and later ("C+").
    pub const FROM_CAYMAN: Self = Self(0b1_1110);
    /// MARIANA and later ("M+").
    pub const FROM_MARIANA: Self = Self(0b1_1100);
    /// MAVERICK alone.
    pub const MAVERICK: Self = Self(0b1_0000);

    #[inline]
    pub const fn contains(self, generation: Generation) -> bool {
        self.0 >> generation as u8 & 1 != 0
    }
}

impl fmt::Display for Generations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for generation in Generation::ALL.into_iter().filter(|&g| self.contains(g)) {
            write!(f, "{}{generation}", if first { "" } else { " " })?;
            first = false;
        }
        Ok(())
    }
}

/// What words are judged against: a generation and its numeric settings (ISA 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    pub generation: Generation,
    /// FP8_EXP4 is the OCP E4M3FN format (M+ only).
    pub fp8_ocp: bool,
    /// Eight-bit floats saturate instead of overflowing.
    pub fp8_saturate: bool,
}

impl Target {
    #[inline]
    pub const fn new(generation: Generation) -> Self {
        Self { generation, fp8_ocp: false, fp8_saturate: false }
    }
}

impl Default for Target {
    /// CAYMAN without options.
    fn default() -> Self {
        Self::new(Generation::Cayman)
    }
}

impl From<Generation> for Target {
    fn from(generation: Generation) -> Self {
        Self::new(generation)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.generation.name())?;
        for (on, option) in [(self.fp8_ocp, "+fp8_ocp"), (self.fp8_saturate, "+fp8_saturate")] {
            if on {
                f.write_str(option)?;
            }
        }
        Ok(())
    }
}

/// Why a target's spelling was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetError {
    UnknownGeneration(String),
    UnknownOption(String),
    /// `fp8_ocp` on a generation before MARIANA.
    OcpNeedsMariana(Generation),
}

impl TargetError {
    /// What to write instead.
    pub fn help(&self) -> &'static str {
        match self {
            Self::UnknownGeneration(_) => {
                "use one of sunda, cayman, mariana, mariana_plus, maverick"
            }
            Self::UnknownOption(_) => "the options are fp8_ocp and fp8_saturate",
            Self::OcpNeedsMariana(_) => "use mariana, mariana_plus or maverick, or drop fp8_ocp",
        }
    }
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownGeneration(name) => write!(f, "unknown target `{name}`")?,
            Self::UnknownOption(name) => write!(f, "unknown target option `{name}`")?,
            Self::OcpNeedsMariana(generation) => write!(f, "{generation} has no option fp8_ocp")?,
        }
        write!(f, ": {}", self.help())
    }
}

impl std::error::Error for TargetError {}

impl FromStr for Target {
    type Err = TargetError;

    /// Reads `mariana`, `mariana+fp8_ocp+fp8_saturate`, …
    fn from_str(text: &str) -> Result<Self, TargetError> {
        let mut parts = text.split('+');
        let name = parts.next().unwrap_or_default();
        let generation = Generation::ALL
            .into_iter()
            .find(|generation| generation.name() == name)
            .ok_or_else(|| TargetError::UnknownGeneration(name.to_owned()))?;
        let mut target = Self::new(generation);
        for option in parts {
            match option {
                "fp8_ocp" if generation < Generation::Mariana => {
                    return Err(TargetError::OcpNeedsMariana(generation));
                }
                "fp8_ocp" => target.fp8_ocp = true,
                "fp8_saturate" => target.fp8_saturate = true,
                _ => return Err(TargetError::UnknownOption(option.to_owned())),
            }
        }
        Ok(target)
    }
}

/// An engine that owns a program block; the numbers are those of BLK-2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Engine {
    Pe = 0,
    Act = 1,
    Pool = 2,
    Dve = 3,
    Sp = 4,
    TopSp = 5,
}

impl Engine {
    pub const ALL: [Self; 6] = [Self::Pe, Self::Act, Self::Pool, Self::Dve, Self::Sp, Self::TopSp];

    /// The spelling used on the command line, in files and in section names.
    #[inline]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pe => "pe",
            Self::Act => "act",
            Self::Pool => "pool",
            Self::Dve => "dve",
            Self::Sp => "sp",
            Self::TopSp => "top_sp",
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An engine's spelling was not recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownEngine(pub String);

impl fmt::Display for UnknownEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown engine `{}`: use one of pe, act, pool, dve, sp, top_sp", self.0)
    }
}

impl std::error::Error for UnknownEngine {}

impl FromStr for Engine {
    type Err = UnknownEngine;

    fn from_str(text: &str) -> Result<Self, UnknownEngine> {
        Self::ALL
            .into_iter()
            .find(|engine| engine.name() == text)
            .ok_or_else(|| UnknownEngine(text.to_owned()))
    }
}

/// A set of engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Engines(u8);

impl Engines {
    pub const NONE: Self = Self(0);
    pub const DVE: Self = Self(1 << Engine::Dve as u8);
    pub const POOL: Self = Self(1 << Engine::Pool as u8);
    pub const ACT: Self = Self(1 << Engine::Act as u8);

    #[inline]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline]
    pub const fn contains(self, engine: Engine) -> bool {
        self.0 >> engine as u8 & 1 != 0
    }

    pub fn iter(self) -> impl Iterator<Item = Engine> {
        Engine::ALL.into_iter().filter(move |&engine| self.contains(engine))
    }
}

impl fmt::Display for Engines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, engine) in self.iter().enumerate() {
            write!(f, "{}{engine}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
