//! Which bytes and which hidden state an item touches, from its fields alone.

use partita_isa::address::{ADDRESS_MASK, Location, Memory, REGISTERS};
use partita_isa::dma::{Descriptor, DmaAddr, DmaDim, DmaSpace};
use partita_isa::layout::IDENTITY_LANES;
use partita_isa::{
    AccumCmd, Body, Dtype, Generation, ImmSrc, Instruction, Opcode, Pattern as Walk,
};
use serde::Serialize;

use super::pattern::Pattern;

/// A memory. Bytes are counted within a partition, in main memory within the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    Sbuf,
    Psum,
    Hbm,
}

impl Space {
    pub fn name(self) -> &'static str {
        match self {
            Self::Sbuf => "sbuf",
            Self::Psum => "psum",
            Self::Hbm => "hbm",
        }
    }
}

/// The same bytes of some partitions, read or written by one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    pub space: Space,
    /// One bit a partition; main memory has the bit 0 alone.
    pub partitions: u128,
    pub bytes: Pattern,
    pub write: bool,
}

/// All that an item touches.
#[derive(Debug, Default)]
pub struct Touched {
    pub accesses: Vec<Access>,
    /// What the fields do not say: accesses through registers and index arrays.
    pub unknown: Option<&'static str>,
    /// The unknown part may be written.
    pub writes_unknown: bool,
    /// Hidden state that is read before any word has set it.
    pub reset_state: Option<&'static str>,
}

/// Channels of an exchange block (ISA 8.3, 9.11).
const BLOCK: u32 = 32;

/// What the vector engine keeps between words, in its order. No other engine has any of it, so its queue orders every
/// use; registers are written by no word at all.
pub struct Hidden {
    lanes: [u8; BLOCK as usize],
    lanes_set: bool,
    /// Accumulators set so far, one bit a partition.
    accumulators: u128,
}

impl Default for Hidden {
    fn default() -> Self {
        Self { lanes: IDENTITY_LANES, lanes_set: false, accumulators: 0 }
    }
}

/// Bits `first..first + count`.
fn mask(first: u32, count: u32) -> u128 {
    let bits = if count >= 128 { u128::MAX } else { (1 << count) - 1 };
    bits.checked_shl(first).unwrap_or(0)
}

/// Collects a word's accesses.
struct Word<'a> {
    generation: Generation,
    channels: u32,
    touched: &'a mut Touched,
}

const REGISTER: &str = "an address or a shape comes from a register";
const INDIRECT: &str = "a source is found through an index array";

impl Word<'_> {
    fn unknown(&mut self, marker: u32, write: bool) {
        let indirect = marker & partita_isa::address::INDIRECT != 0;
        self.touched.unknown = Some(if indirect { INDIRECT } else { REGISTER });
        self.touched.writes_unknown |= write;
    }

    fn push(&mut self, start: u32, partitions: u128, write: bool, bytes: Option<Pattern>) {
        let at = Location::of(start, self.generation);
        let (Some(at), Some(bytes)) = (at, bytes) else { return };
        let space = match at.memory {
            Memory::Sbuf => Space::Sbuf,
            Memory::Psum => Space::Psum,
        };
        let partitions = partitions.checked_shl(at.partition).unwrap_or(0);
        if partitions != 0 {
            self.touched.accesses.push(Access { space, partitions, bytes, write });
        }
    }

    /// An operand over some channels, one bit each.
    fn operand<const D: usize>(&mut self, walk: &Walk<D>, code: u8, channels: u128, write: bool) {
        if walk.start_addr & !ADDRESS_MASK != 0 {
            return self.unknown(walk.start_addr, write);
        }
        let bytes = self.bytes(walk, code, 0);
        self.push(walk.start_addr, channels, write, bytes);
    }

    fn bytes<const D: usize>(&self, walk: &Walk<D>, code: u8, skip: i64) -> Option<Pattern> {
        let size = Dtype::from_code(code)?.size() as u64;
        let base = i64::from(Location::of(walk.start_addr, self.generation)?.byte);
        let dims = walk.step_elem.iter().zip(walk.num_elem);
        let dims = dims.map(|(&step, count)| (i64::from(step) * size as i64, count.into()));
        Pattern::new(u64::try_from(base + skip).ok()?, size, dims)
    }

    fn all(&self) -> u128 {
        mask(0, self.channels)
    }

    fn read<const D: usize>(&mut self, walk: &Walk<D>, code: u8) {
        let all = self.all();
        self.operand(walk, code, all, false);
    }

    fn write<const D: usize>(&mut self, walk: &Walk<D>, code: u8) {
        let all = self.all();
        self.operand(walk, code, all, true);
    }

    /// The last element of a walk alone (ISA 9.17).
    fn write_last<const D: usize>(&mut self, walk: &Walk<D>, code: u8) {
        if walk.start_addr & !ADDRESS_MASK != 0 {
            return self.unknown(walk.start_addr, true);
        }
        let size = Dtype::from_code(code).map_or(1, Dtype::size) as i64;
        let steps = walk.step_elem.iter().zip(walk.num_elem);
        let last: i64 =
            steps.map(|(&step, count)| i64::from(step) * (i64::from(count) - 1) * size).sum();
        let one = Walk { num_elem: [1; D], ..*walk };
        let bytes = self.bytes(&one, code, last);
        let all = self.all();
        self.push(walk.start_addr, all, true, bytes);
    }

    /// A scalar per channel, where an immediate is a pointer to one (ISA 8.1).
    fn pointer(&mut self, source: u8, slot: u32, size: u64) {
        match ImmSrc::from_code(source) {
            Some(ImmSrc::Pointer) => {
                let byte = Location::of(slot, self.generation).map(|at| at.byte.into());
                let bytes = byte.and_then(|byte| Pattern::new(byte, size, std::iter::empty()));
                let all = self.all();
                self.push(slot, all, false, bytes);
            }
            Some(ImmSrc::RegPointer) => self.unknown(slot & (REGISTERS - 1), false),
            _ => {}
        }
    }

    fn accumulator(&mut self, command: u8, destination: u32, hidden: &mut Hidden) {
        let Some(at) = Location::of(destination & ADDRESS_MASK, self.generation) else { return };
        let partitions = self.all().checked_shl(at.partition).unwrap_or(0);
        let reads = command == AccumCmd::Accumulate.code();
        if reads && partitions & !hidden.accumulators != 0 {
            self.touched.reset_state = Some("an accumulator");
        }
        if command != AccumCmd::Idle.code() {
            hidden.accumulators |= partitions;
        }
    }
}

fn size_of(code: u8) -> u64 {
    Dtype::from_code(code).map_or(1, Dtype::size) as u64
}

/// What a word touches. Words of an engine are to be given in its order.
pub fn word(inst: &Instruction, generation: Generation, hidden: &mut Hidden) -> Touched {
    let mut touched = Touched::default();
    let mut word = Word { generation, channels: 0, touched: &mut touched };
    let opcode = inst.opcode();
    match &inst.body {
        Body::TensorTensor(b) => {
            word.channels = b.num_active_channels.into();
            word.read(&b.src0_mem_pattern, b.in0_in1_dtype & 0xf);
            word.read(&b.src1_mem_pattern, b.in0_in1_dtype >> 4);
            word.write(&b.dst_mem_pattern, b.out_dtype);
        }
        Body::ExtendedTensorTensor(b) => {
            word.channels = b.channels();
            word.read(&b.src0_mem_pattern, b.in0_in1_dtype & 0xf);
            word.read(&b.src1_mem_pattern, b.in0_in1_dtype >> 4);
            word.write(&b.dst_mem_pattern, b.out_dtype);
        }
        Body::TensorReduce(b) => {
            word.channels = b.num_active_channels.into();
            let (mut from, mut to) = (word.all(), word.all());
            let shuffles = opcode == Some(Opcode::StreamShuffle);
            if shuffles || b.mask_enable != 0 {
                if !hidden.lanes_set {
                    word.touched.reset_state = Some("the lane table");
                }
                let lanes =
                    hidden.lanes.iter().enumerate().filter(|lane| u32::from(*lane.1) < BLOCK);
                let (mut taken, mut written) = (0, 0);
                for (lane, &source) in lanes {
                    taken |= mask(source.into(), 1);
                    written |= mask(lane as u32, 1);
                }
                let blocks = |lanes: u128| {
                    (0..128 / BLOCK).fold(0, |all, block| all | lanes << (block * BLOCK))
                };
                to &= blocks(written);
                if shuffles {
                    from &= blocks(taken);
                }
            }
            word.operand(&b.src_mem_pattern, b.in_dtype, from, false);
            word.operand(&b.dst_mem_pattern, b.out_dtype, to, true);
        }
        Body::CrossLaneReduce(b) => {
            word.channels = b.num_active_channels.into();
            word.read(&b.src_mem_pattern, b.in_dtype);
            // One partition, whichever axis (ISA 9.13).
            word.operand(&b.dst_mem_pattern, b.out_dtype, 1, true);
        }
        Body::TensorScalar(b) => {
            word.channels = b.num_active_channels.into();
            let bits = opcode.is_some_and(Opcode::is_bitvec);
            let size = if bits { size_of(b.in_dtype) } else { size_of(Dtype::Fp32.code()) };
            let always = opcode.is_some_and(Opcode::takes_pointers);
            for (source, slot) in [(b.imm0_src, b.imm0), (b.imm1_src, b.imm1)] {
                let source = if always { ImmSrc::Pointer.code() } else { source };
                word.pointer(source, slot, size);
            }
            word.read(&b.src_mem_pattern, b.in_dtype);
            if opcode == Some(Opcode::TensorScalarCacheReduce) {
                word.write_last(&b.dst_mem_pattern, b.out_dtype);
            } else {
                word.write(&b.dst_mem_pattern, b.out_dtype);
            }
            word.accumulator(b.accumulator_cmd, b.dst_mem_pattern.start_addr, hidden);
        }
        Body::ScalarTensorTensor(b) => {
            word.channels = b.num_active_channels.into();
            word.pointer(b.imm0_src, b.imm0, size_of(b.imm0_dtype));
            word.read(&b.src0_mem_pattern, b.in0_in1_dtype & 0xf);
            word.read(&b.src1_mem_pattern, b.in0_in1_dtype >> 4);
            word.write(&b.dst_mem_pattern, b.out_dtype);
        }
        Body::TensorScalarSelect(b) => {
            word.channels = b.num_active_channels.into();
            word.pointer(b.src1_imm_src, b.src1_imm, size_of(b.dtype));
            word.pointer(b.pred_imm_src, b.pred_imm, size_of(b.pred_imm_dtype));
            word.read(&b.src0_mem_pattern, b.dtype);
            word.write(&b.dst_mem_pattern, b.dtype);
        }
        Body::LoadMaskSelect(b) => {
            hidden.lanes = b.immediate;
            hidden.lanes_set = true;
        }
        Body::Unknown(_) => {}
    }
    touched
}

/// What a descriptor touches.
pub fn descriptor(desc: &Descriptor, generation: Generation) -> Touched {
    let mut touched = Touched::default();
    side(desc, desc.src, |dim| dim.src_stride, false, generation, &mut touched);
    if desc.kind.accumulates() {
        side(desc, desc.dst, |dim| dim.dst_stride, false, generation, &mut touched);
    }
    side(desc, desc.dst, |dim| dim.dst_stride, true, generation, &mut touched);
    touched
}

/// Parts that a walk over partitions may fall into.
const MAX_PARTS: usize = 4096;

fn side(
    desc: &Descriptor,
    at: DmaAddr,
    stride: fn(&DmaDim) -> i64,
    write: bool,
    generation: Generation,
    touched: &mut Touched,
) {
    let size = desc.elem.size() as u64;
    let dims: Vec<(i64, u64)> =
        desc.dims.iter().map(|dim| (stride(dim), u64::from(dim.count))).collect();
    let known = match at.space {
        DmaSpace::Hbm => Pattern::new(at.addr, size, dims.into_iter()).map(|bytes| {
            touched.accesses.push(Access { space: Space::Hbm, partitions: 1, bytes, write });
        }),
        DmaSpace::Sbuf => {
            let mut parts =
                Parts { size, write, stride: generation.sbuf_stride(), out: Vec::new() };
            parts.split(at.addr, &dims).map(|()| touched.accesses.append(&mut parts.out))
        }
    };
    if known.is_none() {
        touched.unknown = Some("a walk changes partitions in a way that is not followed");
        touched.writes_unknown |= write;
    }
}

/// A linear walk over SBUF as accesses that each touch the same bytes of some partitions.
struct Parts {
    size: u64,
    write: bool,
    /// Bytes from one partition to the next.
    stride: u64,
    out: Vec<Access>,
}

impl Parts {
    /// `None` when there are too many parts, or one lies outside the memory.
    fn split(&mut self, addr: u64, dims: &[(i64, u64)]) -> Option<()> {
        let (whole, rest): (Vec<_>, Vec<_>) =
            dims.iter().copied().partition(|&(step, _)| step % self.stride as i64 == 0);
        let base = addr % self.stride;
        let reach = |pick: fn(i64) -> i64| -> i64 {
            let steps = rest.iter().map(|&(step, count)| {
                pick(step).saturating_mul(i64::try_from(count).unwrap_or(i64::MAX) - 1)
            });
            steps.fold(0, i64::saturating_add)
        };
        let low = (base as i64).saturating_add(reach(|step| step.min(0)));
        let high = (base as i64).saturating_add(reach(|step| step.max(0)));
        if low < 0 || high.saturating_add(self.size as i64) > self.stride as i64 {
            // A step changes both partition and byte: take its places one by one.
            let mixed = (0..dims.len())
                .filter(|&d| dims[d].0 % self.stride as i64 != 0 && dims[d].1 > 1)
                .max_by_key(|&d| dims[d].0.unsigned_abs())?;
            let mut others = dims.to_vec();
            let (step, count) = others.remove(mixed);
            for i in 0..count {
                if self.out.len() >= MAX_PARTS {
                    return None;
                }
                let offset = step.checked_mul(i64::try_from(i).ok()?)?;
                self.split(addr.checked_add_signed(offset)?, &others)?;
            }
            return Some(());
        }
        let mut partitions = vec![i64::try_from(addr / self.stride).ok()?];
        for (step, count) in whole.into_iter().filter(|&(step, count)| step != 0 && count > 1) {
            let step = step / self.stride as i64;
            if count > 128 {
                return None;
            }
            partitions = partitions
                .iter()
                .flat_map(|&first| (0..count as i64).map(move |i| first.saturating_add(i * step)))
                .collect();
            partitions.sort_unstable();
            partitions.dedup();
            if partitions.len() > 128 {
                return None;
            }
        }
        let mut bits = 0;
        for partition in partitions {
            bits |= 1u128.checked_shl(u32::try_from(partition).ok()?)?;
        }
        let bytes = Pattern::new(base, self.size, rest.into_iter())?;
        self.out.push(Access { space: Space::Sbuf, partitions: bits, bytes, write: self.write });
        Some(())
    }
}
