//! Cost profiles: the figures of one generation, read from `profiles/*.json`.
//!
//! Every figure carries its tag: **D** is documented publicly, **A** is assumed and never to be presented as measured.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use partita_isa::{AluOp, CostClass, Dtype, Engine, Generation};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

mod figures;
mod overlay;

pub use figures::AssumedFigure;
pub use overlay::ProfileError;

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Tag {
    /// Documented publicly.
    D,
    /// Assumed.
    A,
}

/// A number and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure<T> {
    pub value: T,
    pub tag: Tag,
}

/// The figures of one generation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub name: String,
    /// Generations that it prices.
    pub targets: Vec<String>,
    /// Named sets of data types, for the conditions of fast modes.
    #[serde(deserialize_with = "dtype_sets")]
    pub dtype_sets: BTreeMap<String, Vec<Dtype>>,
    /// Bytes of an SBUF partition that programs may use.
    pub sbuf_usable_bytes: Figure<u64>,
    pub dma: DmaFigures,
    /// Cycles between another queue's update of a semaphore and the start of the word that waited for it.
    pub semaphore_cycles: Figure<f64>,
    pub dependent_read: DependentRead,
    /// Present where a long innermost step slows a word down.
    pub long_step: Option<LongStep>,
    /// Present where two engines never run at once on SBUF operands.
    pub exclusive_sbuf: Option<Exclusive>,
    /// Slowdown of a fast mode while another engine uses the shared bus; no figure is public.
    pub shared_bus: Figure<f64>,
    #[serde(deserialize_with = "engines")]
    pub engines: BTreeMap<Engine, EngineFigures>,
    /// What it was read from: figures are changed there, by their path.
    #[serde(skip)]
    source: Value,
}

/// A word that reads what the word before it on the same engine wrote.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DependentRead {
    /// Words of fewer elements pay.
    pub below_elements: Figure<u64>,
    /// Cycles that they pay.
    pub cycles: Figure<f64>,
}

/// An operand whose innermost step spans more bytes than this multiplies the element term.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongStep {
    pub above_bytes: Figure<u64>,
    pub factor: Figure<f64>,
}

/// Engines of which one waits while another works on SBUF.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exclusive {
    #[serde(deserialize_with = "engine_list")]
    pub engines: Vec<Engine>,
    pub tag: Tag,
}

/// Figures of the DMA queues.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DmaFigures {
    /// Shared by all descriptors under way; 1 GB/s is one byte a nanosecond.
    pub gigabytes_per_second: Figure<f64>,
    /// From start to first byte.
    pub latency_ns: Figure<f64>,
    /// Rows shorter than this run at a rate in proportion.
    pub efficient_row_bytes: Figure<f64>,
    /// Descriptors that run at once.
    pub in_flight: Figure<u32>,
    /// How often an accumulating descriptor counts its bytes.
    pub accumulate_factor: Figure<f64>,
    /// Share of the bandwidth that a transposing descriptor reaches.
    pub transpose_rate: Figure<f64>,
    /// The same between SBUF and SBUF.
    pub transpose_on_chip_rate: Figure<f64>,
}

/// Figures of one engine: a word takes `fixed + max(floor, elements × N) + extra` cycles.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineFigures {
    pub clock_ghz: Figure<f64>,
    pub floor: Figure<f64>,
    pub fixed: Figure<f64>,
    /// Multiplies the element term when a data type has 64 bits.
    pub wide_factor: Figure<f64>,
    #[serde(deserialize_with = "classes")]
    pub classes: BTreeMap<CostClass, ClassFigures>,
}

/// Figures of one class of opcodes on one engine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassFigures {
    /// Cycles per element of the source.
    pub elements: f64,
    pub tag: Tag,
    /// Other factors; the first whose condition holds counts.
    #[serde(default)]
    pub modes: Vec<Mode>,
    /// Cycles on top; all whose condition holds count.
    #[serde(default)]
    pub extra: Vec<Extra>,
}

/// A factor under a condition.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mode {
    pub when: Condition,
    pub elements: f64,
    pub tag: Tag,
}

/// Cycles on top under a condition.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extra {
    pub when: Condition,
    pub cycles: f64,
    pub tag: Tag,
}

/// What must hold of a word; all that is given must.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Condition {
    /// Every operand's data type is in this named set.
    pub dtypes: Option<String>,
    /// Every source's data type is in this named set.
    pub source_dtypes: Option<String>,
    pub memory: Option<Memory>,
    /// The innermost step of every operand is 1.
    #[serde(deserialize_with = "required")]
    pub unit_step: bool,
    /// The first operation is one of these.
    #[serde(deserialize_with = "some_ops")]
    pub op0: Option<Vec<AluOp>>,
    /// The second operation is one of these.
    #[serde(deserialize_with = "some_ops")]
    pub op1: Option<Vec<AluOp>>,
    /// The number of elements is even.
    #[serde(deserialize_with = "required")]
    pub even: bool,
    /// The word adds to the accumulator.
    #[serde(deserialize_with = "required")]
    pub accumulates: bool,
    /// The destination visits an address twice.
    #[serde(deserialize_with = "required")]
    pub revisits: bool,
    /// The word reduces over all channels and elements.
    #[serde(deserialize_with = "required")]
    pub all_axes: bool,
}

/// Where the operands of a word are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Memory {
    /// All in SBUF.
    Sbuf,
    /// Exactly one in PSUM.
    OnePsum,
    /// All sources in SBUF.
    SourcesSbuf,
    /// Exactly one source in PSUM.
    OneSourcePsum,
    /// The sources are not all in the same memory.
    SourcesSplit,
}

/// The two engines whose port to SBUF is one: a fast mode of the first is slowed while the second works.
pub(crate) const SHARED_BUS: (Engine, Engine) = (Engine::Dve, Engine::Pool);

/// The names of the classes in the files.
const CLASSES: [(&str, CostClass); 17] = [
    ("elementwise", CostClass::Elementwise),
    ("tensor_tensor", CostClass::TensorTensor),
    ("scalar_tensor_tensor", CostClass::ScalarTensorTensor),
    ("reduce", CostClass::Reduce),
    ("transpose_reduce", CostClass::TransposeReduce),
    ("transpose_scalar", CostClass::TransposeScalar),
    ("stream", CostClass::Stream),
    ("fixed", CostClass::Fixed),
    ("scan", CostClass::Scan),
    ("cache_scan", CostClass::CacheScan),
    ("cache_reduce", CostClass::CacheReduce),
    ("exponential", CostClass::Exponential),
    ("reciprocal", CostClass::Reciprocal),
    ("predicated", CostClass::Predicated),
    ("select", CostClass::Select),
    ("cross_lane", CostClass::CrossLane),
    ("extended_tensor_tensor", CostClass::ExtendedTensorTensor),
];

static PROFILES: LazyLock<Vec<Profile>> = LazyLock::new(|| {
    [
        include_str!("../../profiles/v2.json"),
        include_str!("../../profiles/v3.json"),
        include_str!("../../profiles/v4.json"),
        include_str!("../../profiles/v5.json"),
    ]
    .into_iter()
    .map(|text| {
        let source = serde_json::from_str(text).expect("the profiles are part of the crate");
        Profile::from_source(source).expect("the profiles are part of the crate, and tested")
    })
    .collect()
});

impl Profile {
    /// The profile that prices a generation.
    pub fn of(generation: Generation) -> &'static Profile {
        PROFILES
            .iter()
            .find(|profile| profile.targets.iter().any(|target| target == generation.name()))
            .expect("every generation has a profile, and a test that says so")
    }

    /// Nanoseconds that work loses on its way to another engine and back: each of the two waits once for the other.
    pub fn handover_ns(&self, engines: [Engine; 2]) -> f64 {
        let figures = engines.iter().filter_map(|engine| self.engines.get(engine));
        figures.map(|engine| self.semaphore_cycles.value / engine.clock_ghz.value).sum()
    }
}

fn named<'de, D: Deserializer<'de>, T>(
    names: Vec<String>,
    find: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, D::Error> {
    names
        .into_iter()
        .map(|name| find(&name).ok_or_else(|| de::Error::custom(format!("unknown name `{name}`"))))
        .collect()
}

fn keyed<'de, D: Deserializer<'de>, K: Ord, V>(
    map: BTreeMap<String, V>,
    find: impl Fn(&str) -> Option<K>,
) -> Result<BTreeMap<K, V>, D::Error> {
    map.into_iter()
        .map(|(name, value)| {
            let key =
                find(&name).ok_or_else(|| de::Error::custom(format!("unknown name `{name}`")))?;
            Ok((key, value))
        })
        .collect()
}

fn dtype_sets<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<String, Vec<Dtype>>, D::Error> {
    BTreeMap::<String, Vec<String>>::deserialize(from)?
        .into_iter()
        .map(|(name, members)| Ok((name, named::<D, _>(members, Dtype::from_name)?)))
        .collect()
}

fn engine_list<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Engine>, D::Error> {
    named::<D, _>(Vec::deserialize(from)?, |name| name.parse().ok())
}

fn engines<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<Engine, EngineFigures>, D::Error> {
    keyed::<D, _, _>(BTreeMap::deserialize(from)?, |name| name.parse().ok())
}

fn classes<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<CostClass, ClassFigures>, D::Error> {
    keyed::<D, _, _>(BTreeMap::deserialize(from)?, |name| {
        CLASSES.iter().find(|(known, _)| *known == name).map(|&(_, class)| class)
    })
}

fn some_ops<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<AluOp>>, D::Error> {
    named::<D, _>(Vec::deserialize(from)?, AluOp::from_name).map(Some)
}

/// A condition is either asked for or left out; `false` would read as its opposite.
fn required<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    match bool::deserialize(from)? {
        true => Ok(true),
        false => Err(de::Error::custom("leave the condition out instead of writing `false`")),
    }
}
