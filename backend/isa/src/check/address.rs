//! Operands: where they start, how far they reach, how many elements they have (ISA 3.3, 3.4, 4.3,
//! 4.4, 4.5).

use super::checker::{Checker, Under};
use crate::address::{
    ADDR_REG, ADDRESS_MASK, INDIRECT, Indirect, Location, Memory, REGISTERS, SHAPE_REG,
};
use crate::dtype::Dtype;
use crate::field::{Field, Pattern};
use crate::rule::{self, Rule};
use crate::target::Generation;

/// How an operand's address is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// An immediate address inside the address spaces; its byte may be past the active ones.
    Immediate,
    /// A register holds it.
    Register,
    /// A gather, and whether index and data break IND-1.
    Indirect { apart: bool },
    /// An immediate address outside every memory (ADR-3).
    Outside,
    /// A register form with a bad number or reserved bytes (ADR-1).
    BadRegister,
    /// Marker bits without a meaning here (ADR-9).
    BadMarker,
}

/// One memory operand of an instruction, with the pattern extended to four dimensions.
#[derive(Clone, Copy)]
pub(super) struct Operand<'a> {
    pub field: &'static Field,
    start: Start,
    /// Of an immediate address, and of the data of a gather.
    pub place: Option<Location>,
    /// Elements per channel; 0 when there are none (TV-1) or registers hold the shape.
    elements: u64,
    shape_in_registers: bool,
    /// `None` when the code names no dtype that an operand can have: alignment and reach are then
    /// not tested.
    pub dtype: Option<Dtype>,
    pub writes: bool,
    /// Nothing that [`Checker::tensor`] tests is broken: an immediate address, aligned, and every byte of the
    /// walk inside a memory that takes it.
    sound: bool,
    address: u32,
    /// First and last byte of the walk in its partition; where they are not known, nothing.
    reach: (i64, i64),
    /// Of the pattern; absent dimensions are 1:1.
    step: &'a [i16],
    num: &'a [u16],
}

/// Meets no other.
const NO_REACH: (i64, i64) = (i64::MAX, i64::MIN);

impl<'a> Operand<'a> {
    /// Nearly every operand has its address in the word: what can be told of those is told here, without a call.
    #[inline(always)]
    pub fn new<const D: usize>(
        pattern: &'a Pattern<D>,
        field: &'static Field,
        dtype_code: u8,
        writes: bool,
        generation: Generation,
    ) -> Self {
        let address = pattern.start_addr;
        let dtype = Dtype::from_code(dtype_code).filter(|dtype| dtype.is_output_64());
        let (step, num) = (&pattern.step_elem[..], &pattern.num_elem[..]);
        let place = if address <= ADDRESS_MASK { Location::of(address, generation) } else { None };
        let Some(at) = place else {
            return Self::unusual(address, field, dtype, writes, generation, step, num);
        };
        let (elements, (low, high)) = walk(pattern);
        let (base, size) = (i64::from(at.byte), dtype.map_or(1, Dtype::size) as i64);
        let (first, last) = (base + low * size, base + (high + 1) * size - 1);
        let known = elements != 0 && dtype.is_some();
        let sound = known
            && first >= 0
            && last < at.memory.active(generation) as i64
            && base & (size - 1) == 0
            && (!writes || size == 4 || at.memory == Memory::Sbuf);
        let reach = if known { (first, last) } else { NO_REACH };
        let (start, shape_in_registers) = (Start::Immediate, false);
        Self {
            field,
            start,
            place,
            elements,
            shape_in_registers,
            dtype,
            writes,
            sound,
            address,
            reach,
            step,
            num,
        }
    }

    #[cold]
    #[inline(never)]
    fn unusual(
        bits: u32,
        field: &'static Field,
        dtype: Option<Dtype>,
        writes: bool,
        generation: Generation,
        step: &'a [i16],
        num: &'a [u16],
    ) -> Self {
        let (start, place) = start(bits, step, num, generation);
        let indirect = matches!(start, Start::Indirect { .. });
        let shape_in_registers = bits & SHAPE_REG != 0 && !indirect;
        let elements = match start {
            // Index count stands in bytes 8 and 9 of the field.
            Start::Indirect { .. } => Indirect::overlay(bits, step, num).count.into(),
            _ if shape_in_registers => 0,
            _ => num.iter().map(|&n| u64::from(n)).product(),
        };
        Self {
            field,
            start,
            place,
            elements,
            shape_in_registers,
            dtype,
            writes,
            sound: false,
            address: bits & ADDRESS_MASK,
            reach: NO_REACH,
            step,
            num,
        }
    }

    /// Elements per channel, if there are any and the word tells how many.
    #[inline]
    pub fn count(&self) -> Option<u64> {
        (self.elements != 0).then_some(self.elements)
    }

    #[inline]
    pub fn is_in_psum(&self) -> bool {
        self.place.is_some_and(|place| place.memory == Memory::Psum)
    }

    pub fn is_indirect(&self) -> bool {
        matches!(self.start, Start::Indirect { .. })
    }

    /// Step and count of a dimension, unless they come from registers or from an index array.
    pub fn dimension(&self, d: usize) -> Option<(i16, u16)> {
        let direct = !self.is_indirect() && !self.shape_in_registers;
        direct.then(|| (at(self.step, d), at(self.num, d)))
    }

    /// Product of the counts from dimension `first` on.
    #[inline]
    pub fn kept(&self, first: usize) -> u64 {
        self.num.iter().skip(first).map(|&n| u64::from(n)).product()
    }

    /// Whether the immediate address is a multiple of `size`, a power of two; true for any other kind of start.
    #[inline]
    pub fn is_aligned(&self, size: u32) -> bool {
        self.start != Start::Immediate || self.address & (size - 1) == 0
    }
}

/// Elements of a walk, and its lowest and highest element offset if it has no empty dimension.
#[inline(always)]
fn walk<const D: usize>(pattern: &Pattern<D>) -> (u64, (i64, i64)) {
    let reach = |d: usize| i64::from(pattern.step_elem[d]) * (i64::from(pattern.num_elem[d]) - 1);
    let (mut low, mut high) = (reach(0).min(0), reach(0).max(0));
    // Most walks have one dimension.
    if pattern.num_elem[1..].iter().all(|&n| n == 1) {
        return (pattern.num_elem[0].into(), (low, high));
    }
    for d in 1..D {
        low += reach(d).min(0);
        high += reach(d).max(0);
    }
    (pattern.count(), (low, high))
}

/// The value of a dimension; 1 where the pattern has none.
fn at<T: Copy + From<u8>>(list: &[T], d: usize) -> T {
    list.get(d).copied().unwrap_or(1.into())
}

/// How the address is given, and the place.
fn start(
    bits: u32,
    step: &[i16],
    num: &[u16],
    generation: Generation,
) -> (Start, Option<Location>) {
    // Marker tests of ISA 3.2: 0xa0 of the top byte for the register, 0x60 for the indirect form.
    if bits & (ADDR_REG | INDIRECT) == ADDR_REG {
        let rest = bits & !(ADDR_REG | SHAPE_REG);
        return (if rest < REGISTERS { Start::Register } else { Start::BadRegister }, None);
    }
    if bits & INDIRECT == 0 {
        let place = Location::of(bits & ADDRESS_MASK, generation);
        return (if place.is_some() { Start::Immediate } else { Start::Outside }, place);
    }
    if bits & SHAPE_REG != 0 || generation < Generation::Mariana {
        return (Start::BadMarker, None);
    }
    let Indirect { index, data, .. } = Indirect::overlay(bits, step, num);
    let index = plain(index, generation);
    let data = plain(data, generation);
    match (index, data) {
        (Ok(index), Ok(data)) => {
            let apart = matches!((index, data), (Some(a), Some(b)) if
                a.memory == Memory::Sbuf && b.memory == Memory::Sbuf && !same_quadrant(a, b));
            (Start::Indirect { apart }, data)
        }
        (Err(start), _) | (_, Err(start)) => (start, None),
    }
}

/// An address inside an indirect pattern: immediate (its place) or from a register (`None`).
fn plain(bits: u32, generation: Generation) -> Result<Option<Location>, Start> {
    match bits & (ADDR_REG | SHAPE_REG | INDIRECT) {
        0 => match Location::of(bits, generation) {
            Some(location) if u64::from(location.byte) < location.memory.active(generation) => {
                Ok(Some(location))
            }
            _ => Err(Start::Outside),
        },
        ADDR_REG if bits & !ADDR_REG < REGISTERS => Ok(None),
        ADDR_REG => Err(Start::BadRegister),
        _ => Err(Start::BadMarker),
    }
}

/// ADR-7.
fn same_quadrant(a: Location, b: Location) -> bool {
    a.partition == b.partition && a.partition.is_multiple_of(32)
}

/// CH-3's table: up to 32 channels start in a multiple of 32 partitions, up to 64 in a multiple of 64, more in 0.
#[inline]
pub(super) const fn start_fits(partition: u32, channels: u32) -> bool {
    let block = if channels <= 32 { 32 } else { channels.next_power_of_two() };
    partition & (block - 1) == 0
}

pub(super) fn starts_allowed(channels: u32) -> &'static str {
    match channels {
        0..=32 => "partition 0, 32, 64 or 96",
        33..=64 => "partition 0 or 64",
        _ => "partition 0",
    }
}

/// The channel count if it is one, for rules that depend on it and are not the ones to judge it.
pub(super) fn legal_channels(n: u8) -> Option<u32> {
    (1..=128).contains(&n).then(|| n.into())
}

impl Checker<'_> {
    /// CH-1 or CH-2; the count if it is legal.
    #[inline(always)]
    pub(super) fn channels(
        &mut self,
        n: u8,
        field: &'static Field,
        under: Under,
        leaf: &'static Rule,
    ) -> Option<u32> {
        let channels = legal_channels(n);
        if channels.is_none() {
            self.fail_inside(under, &[leaf], field, move || "1 to 128".into());
        }
        channels
    }

    /// CH-4; tested whatever else is wrong with the count.
    #[inline(always)]
    pub(super) fn whole_blocks(&mut self, n: u8, field: &'static Field, under: Under) {
        if !matches!(n, 32 | 64 | 96 | 128) {
            self.fail_inside(under, &[&rule::CH_4], field, move || "32, 64, 96 or 128".into());
        }
    }

    /// CH-3.
    #[inline(always)]
    pub(super) fn start_partition(
        &mut self,
        operand: &Operand,
        channels: Option<u32>,
        under: Under,
    ) {
        let (Some(channels), Some(location)) = (channels, operand.place) else { return };
        if !start_fits(location.partition, channels) {
            self.fail_inside(under, &[&rule::CH_3], operand.field, move || {
                format!("{} for {channels} channels", starts_allowed(channels))
            });
        }
    }

    /// TV-1, TV-2 (with ADR-1 to ADR-5), ADR-8, ADR-9 and IND-1 for one operand. `align` is the
    /// multiple that ADR-2 asks for; `None` means the size of the dtype.
    #[inline(always)]
    pub(super) fn tensor(&mut self, operand: &Operand, under: Under, align: Option<u32>) {
        if !operand.sound || align.is_some_and(|size| !operand.is_aligned(size)) {
            self.unusual_tensor(*operand, under, align);
        }
    }

    #[cold]
    #[inline(never)]
    fn unusual_tensor(&mut self, operand: Operand, under: Under, align: Option<u32>) {
        let operand = &operand;
        if operand.elements == 0 && !operand.shape_in_registers {
            self.fail_inside(under, &[&rule::TV_1], operand.field, move || {
                "counts of at least 1".into()
            });
        }
        match operand.start {
            Start::Immediate => self.immediate_address(operand, under, align),
            Start::Register => {}
            Start::Indirect { apart } => {
                if operand.writes {
                    self.fail(Under::new(&rule::IND_3), operand.field, move || {
                        "a direct pattern".into()
                    });
                }
                if apart {
                    self.fail(Under::new(&rule::IND_1), operand.field, move || {
                        "index and data in one quadrant".into()
                    });
                }
            }
            Start::Outside => self.bad_address(under, &rule::ADR_3, operand, move || {
                "an address in SBUF or PSUM".into()
            }),
            Start::BadRegister => self.bad_address(under, &rule::ADR_1, operand, move || {
                "r0 to r63, the bytes between zero".into()
            }),
            Start::BadMarker => {
                self.fail(Under::new(&rule::ADR_9), operand.field, move || {
                    "an immediate, register or shape-register marker".into()
                });
            }
        }
    }

    /// ADR-2, ADR-3, ADR-5, ADR-8.
    fn immediate_address(&mut self, operand: &Operand, under: Under, align: Option<u32>) {
        let Some(place) = operand.place else { return };
        let active = place.memory.active(self.generation);
        let inside = u64::from(place.byte) < active;
        if !inside {
            self.bad_address(under, &rule::ADR_3, operand, move || {
                format!("a byte below {active:#x} of its partition")
            });
        }
        let size = operand.dtype.map(|dtype| dtype.size() as u32);
        if let Some(size) = align.or(size)
            && !operand.is_aligned(size)
        {
            self.bad_address(under, &rule::ADR_2, operand, move || format!("a multiple of {size}"));
        }
        if operand.writes && place.memory == Memory::Psum && size.is_some_and(|size| size != 4) {
            self.bad_address(under, &rule::ADR_5, operand, move || {
                "SBUF, or a 4-byte data type in PSUM".into()
            });
        }
        let (low, high) = operand.reach;
        if operand.reach != NO_REACH && inside && (low < 0 || high >= active as i64) {
            self.fail(Under::new(&rule::ADR_8), operand.field, move || {
                format!("bytes 0 to {:#x}; the walk reaches {low} to {high}", active - 1)
            });
        }
    }

    /// ADR-4 under TV-2: the opcode has no access to PSUM.
    pub(super) fn sbuf_only(&mut self, operand: &Operand, under: Under) {
        if operand.is_in_psum() {
            self.bad_address(under, &rule::ADR_4, operand, move || "an address in SBUF".into());
        }
    }

    #[cold]
    fn bad_address(
        &mut self,
        under: Under,
        leaf: &'static Rule,
        operand: &Operand,
        allowed: impl FnOnce() -> String,
    ) {
        self.fail_inside(under, &[&rule::TV_2, leaf], operand.field, allowed);
    }

    /// CNT-1.
    #[inline(always)]
    pub(super) fn same_count(&mut self, a: &Operand, b: &Operand, under: Under) {
        if let (Some(a_count), Some(b_count)) = (a.count(), b.count())
            && a_count != b_count
        {
            self.fail_inside(under, &[&rule::CNT_1], b.field, move || {
                format!("{a_count} elements as in {}, not {b_count}", a.field.name)
            });
        }
    }

    /// ADR-6. Not tested when an address is invalid.
    #[inline(always)]
    pub(super) fn sources_together(&mut self, a: &Operand, b: &Operand, under: Under) {
        let (Some(first), Some(second)) = (a.place, b.place) else { return };
        match (first.memory, second.memory) {
            (Memory::Sbuf, Memory::Sbuf) if !same_quadrant(first, second) => {
                self.fail_inside(under, &[&rule::ADR_6, &rule::ADR_7], b.field, move || {
                    format!("the quadrant of {}, or PSUM", a.field.name)
                });
            }
            (Memory::Psum, Memory::Psum) => {
                self.fail_inside(under, &[&rule::ADR_6], b.field, move || {
                    format!("SBUF, since {} is in PSUM", a.field.name)
                });
            }
            _ => {}
        }
    }

    /// IND-2: the destination of an indirect source lies in its quadrant.
    #[inline(always)]
    pub(super) fn gathers_into_its_quadrant(&mut self, source: &Operand, destination: &Operand) {
        if source.is_indirect() && !destination.is_indirect() {
            self.gather(*source, *destination);
        }
    }

    #[cold]
    #[inline(never)]
    fn gather(&mut self, source: Operand, destination: Operand) {
        if let (Some(from), Some(to)) = (source.place, destination.place)
            && from.memory == Memory::Sbuf
            && to.memory == Memory::Sbuf
            && !same_quadrant(from, to)
        {
            self.fail(Under::new(&rule::IND_2), destination.field, move || {
                format!("the quadrant of {}", source.field.name)
            });
        }
    }

    /// IND-3 inside an opcode's own rule.
    #[cold]
    pub(super) fn direct_destination(&mut self, operand: &Operand, under: Under) {
        self.fail_inside(under, &[&rule::IND_3], operand.field, || "a direct pattern".into());
    }

    /// IND-5 for one operand.
    pub(super) fn not_indirect(&mut self, operand: &Operand, under: Under) {
        if operand.is_indirect() {
            self.fail_inside(under, &[&rule::IND_5], operand.field, move || {
                "a direct pattern".into()
            });
        }
    }

    /// A warning when a source and the destination share bytes without being the same walk. `n` is
    /// num_active_channels: legal starts are either equal or at least `n` partitions apart, except
    /// for the single destination partition of a cross-lane reduce.
    #[inline(always)]
    pub(super) fn overlap(&mut self, source: &Operand, destination: &Operand, n: u32) {
        if source.reach.0 <= destination.reach.1 && destination.reach.0 <= source.reach.1 {
            self.overlapping_extents(*source, *destination, n);
        }
    }

    #[inline(never)]
    fn overlapping_extents(&mut self, source: Operand, destination: Operand, n: u32) {
        let (Some(a), Some(b)) = (source.place, destination.place) else { return };
        let meet = a.memory == b.memory && (a.partition..a.partition + n).contains(&b.partition);
        if meet && walks_meet(&source, &destination, a, b) {
            self.warn(&rule::OVL_1, destination.field, move || {
                format!("bytes apart from {}, or the same walk", source.field.name)
            });
        }
    }
}

/// Whether two walks whose extents overlap can share a byte and are not the same walk. Every byte
/// offset of either walk is its base plus a multiple of the common divisor of all steps, so
/// interleaved walks are told apart by their bases modulo that divisor.
fn walks_meet(a: &Operand, b: &Operand, a_at: Location, b_at: Location) -> bool {
    let size = |operand: &Operand| operand.dtype.map_or(1, |dtype| dtype.size() as i64);
    let (a_size, b_size) = (size(a), size(b));
    if a_size == b_size && a_at == b_at && a.step == b.step && a.num == b.num {
        return false;
    }
    let walked = [(a, a_size), (b, b_size)].into_iter().flat_map(|(operand, size)| {
        let walked = operand.step.iter().zip(operand.num).filter(|&(_, &num)| num > 1);
        walked.map(move |(&step, _)| (i64::from(step) * size).unsigned_abs())
    });
    let divisor = walked.fold(0, gcd) as i64;
    let distance = i64::from(b_at.byte) - i64::from(a_at.byte);
    if divisor == 0 {
        return -b_size < distance && distance < a_size;
    }
    let residue = distance.rem_euclid(divisor);
    residue < a_size || divisor - residue < b_size
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
