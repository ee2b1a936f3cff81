//! What a word touches, as far as its cost depends on it: the same view for every struct.

use partita_isa::address::{ADDRESS_MASK, Location, Memory};
use partita_isa::{
    AccumCmd, AluOp, Body, Dtype, Generation, ImmSrc, Instruction, Opcode, Pattern, ReduceAxis,
};

/// More distinct elements than any partition holds bytes.
const MAX_DISTINCT: u64 = 1 << 20;

/// An access of a word: a pattern over the channels from its start partition on.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// The ADDR4 as it stands in the word.
    pub start: u32,
    /// Innermost first; unused dimensions are step 1, count 1.
    pub steps: [i16; 4],
    pub counts: [u16; 4],
    /// `None` for a code that names no type.
    pub dtype: Option<Dtype>,
}

impl Operand {
    fn new<const D: usize>(pattern: &Pattern<D>, dtype: u8) -> Self {
        let (mut steps, mut counts) = ([1; 4], [1; 4]);
        steps.iter_mut().zip(pattern.step_elem).for_each(|(to, from)| *to = from);
        counts.iter_mut().zip(pattern.num_elem).for_each(|(to, from)| *to = from);
        Self { start: pattern.start_addr, steps, counts, dtype: Dtype::from_code(dtype) }
    }

    /// One value per channel behind a pointer immediate.
    fn pointer(slot: u32) -> Self {
        Self { start: slot, steps: [1; 4], counts: [1; 4], dtype: Some(Dtype::Fp32) }
    }

    /// Elements per channel.
    pub fn elements(&self) -> u64 {
        self.counts.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul)
    }

    /// Bytes of an element; an undefined type counts as one byte.
    pub fn size(&self) -> u64 {
        self.dtype.map_or(1, |dtype| dtype.size() as u64)
    }

    /// Where the first element lies; `None` for an address from a register, and outside the memories.
    pub fn location(&self, generation: Generation) -> Option<Location> {
        (self.start & !ADDRESS_MASK == 0).then(|| Location::of(self.start, generation))?
    }

    /// True of an immediate address in PSUM. An address from a register counts as SBUF.
    pub fn in_psum(&self, generation: Generation) -> bool {
        self.location(generation).is_some_and(|location| location.memory == Memory::Psum)
    }

    /// Byte offsets of the elements relative to the first, lowest and one past the highest.
    pub fn extent(&self) -> (i64, i64) {
        let size = self.size() as i64;
        let (mut low, mut high) = (0, size);
        for (&step, &count) in self.steps.iter().zip(&self.counts) {
            let reach = i64::from(step) * (i64::from(count) - 1).max(0) * size;
            low += reach.min(0);
            high += reach.max(0);
        }
        (low, high)
    }

    /// Byte offsets of the elements in walk order.
    pub fn offsets(&self) -> impl Iterator<Item = i64> + use<> {
        let Self { steps, counts, .. } = *self;
        let size = self.size() as i64;
        let dim = move |d: usize| {
            let (step, count) = (i64::from(steps[d]) * size, counts[d]);
            (0..i64::from(count)).map(move |i| i * step)
        };
        dim(3).flat_map(move |w| {
            dim(2).flat_map(move |z| dim(1).flat_map(move |y| dim(0).map(move |x| w + z + y + x)))
        })
    }

    /// Length of step and count of the dimensions that take a step, the shortest step first.
    fn by_step(&self) -> Vec<(u64, u64)> {
        let dims = self.steps.iter().zip(&self.counts).filter(|&(_, &count)| count > 1);
        let mut dims: Vec<(u64, u64)> = dims
            .map(|(&step, &count)| (u64::from(step.unsigned_abs()), u64::from(count)))
            .collect();
        dims.sort_unstable();
        dims
    }

    /// Every byte between the lowest and the highest is touched; false where steps overlap.
    pub fn has_no_gap(&self) -> bool {
        let dims = self.by_step();
        let mut run = 1u64;
        dims.iter().all(|&(step, count)| {
            let follows = step == run;
            run = run.saturating_mul(count);
            follows
        })
    }

    /// The pattern visits an address twice.
    pub fn revisits(&self) -> bool {
        let dims = self.by_step();
        // Each step beyond all that the smaller ones reach: nothing can meet.
        let mut reach = 0;
        let nested = dims.iter().all(|&(step, count)| {
            let clear = step > reach;
            reach += step * (count - 1);
            clear
        });
        if nested {
            return false;
        }
        if self.elements() > MAX_DISTINCT.min(reach + 1) {
            return true;
        }
        let mut seen: Vec<i64> = self.offsets().collect();
        seen.sort_unstable();
        seen.windows(2).any(|pair| pair[0] == pair[1])
    }
}

/// A word's operands and what else its price depends on.
#[derive(Clone, Debug, Default)]
pub struct View {
    pub sources: Vec<Operand>,
    pub destination: Option<Operand>,
    /// Scalars behind pointers: read, but not streamed.
    pub pointers: Vec<Operand>,
    pub op0: Option<AluOp>,
    pub op1: Option<AluOp>,
    pub channels: u32,
    /// Over all channels and elements, where the word reduces channels.
    pub all_axes: bool,
    pub accumulator: Option<AccumCmd>,
    pub reads_lane_table: bool,
    pub writes_lane_table: bool,
}

impl View {
    /// The view of a word whose opcode is one of the subset; of any other word, nothing.
    pub fn of(instruction: &Instruction) -> Self {
        let mut view = Self::default();
        match &instruction.body {
            Body::TensorTensor(b) => {
                view.sources = pair(&b.src0_mem_pattern, &b.src1_mem_pattern, b.in0_in1_dtype);
                view.destination = Some(Operand::new(&b.dst_mem_pattern, b.out_dtype));
                view.op0 = AluOp::from_code(b.op);
                view.channels = b.num_active_channels.into();
            }
            Body::ExtendedTensorTensor(b) => {
                view.sources = pair(&b.src0_mem_pattern, &b.src1_mem_pattern, b.in0_in1_dtype);
                view.destination = Some(Operand::new(&b.dst_mem_pattern, b.out_dtype));
                view.op0 = AluOp::from_code(b.op);
                view.channels = b.channels();
            }
            Body::TensorReduce(b) => {
                view.sources = vec![Operand::new(&b.src_mem_pattern, b.in_dtype)];
                view.destination = Some(Operand::new(&b.dst_mem_pattern, b.out_dtype));
                view.op0 = AluOp::from_code(b.op);
                view.channels = b.num_active_channels.into();
                view.reads_lane_table = match instruction.opcode() {
                    Some(Opcode::StreamShuffle) => true,
                    Some(Opcode::StreamTranspose) => b.mask_enable != 0,
                    _ => false,
                };
            }
            Body::CrossLaneReduce(b) => {
                view.sources = vec![Operand::new(&b.src_mem_pattern, b.in_dtype)];
                view.destination = Some(Operand::new(&b.dst_mem_pattern, b.out_dtype));
                view.channels = b.num_active_channels.into();
                view.all_axes = b.reduce_axis == ReduceAxis::All.code();
            }
            Body::TensorScalar(b) => {
                view.sources = vec![Operand::new(&b.src_mem_pattern, b.in_dtype)];
                view.destination = Some(Operand::new(&b.dst_mem_pattern, b.out_dtype));
                view.pointers = pointers([(b.imm0_src, b.imm0), (b.imm1_src, b.imm1)]);
                view.op0 = AluOp::from_code(b.op0);
                view.op1 = AluOp::from_code(b.op1);
                view.channels = b.num_active_channels.into();
                view.accumulator =
                    AccumCmd::from_code(b.accumulator_cmd).filter(|&cmd| cmd != AccumCmd::Idle);
            }
            Body::ScalarTensorTensor(b) => {
                view.sources = pair(&b.src0_mem_pattern, &b.src1_mem_pattern, b.in0_in1_dtype);
                view.destination = Some(Operand::new(&b.dst_mem_pattern, b.out_dtype));
                view.pointers = pointers([(b.imm0_src, b.imm0)]);
                view.op0 = AluOp::from_code(b.op0);
                view.op1 = AluOp::from_code(b.op1);
                view.channels = b.num_active_channels.into();
            }
            Body::TensorScalarSelect(b) => {
                view.sources = vec![Operand::new(&b.src0_mem_pattern, b.dtype)];
                view.destination = Some(Operand::new(&b.dst_mem_pattern, b.dtype));
                view.pointers =
                    pointers([(b.src1_imm_src, b.src1_imm), (b.pred_imm_src, b.pred_imm)]);
                view.channels = b.num_active_channels.into();
            }
            Body::LoadMaskSelect(_) => view.writes_lane_table = true,
            Body::Unknown(_) => {}
        }
        view
    }

    /// Elements per channel that the word streams: those of the larger source.
    pub fn elements(&self) -> u64 {
        self.sources.iter().map(Operand::elements).max().unwrap_or(0)
    }

    /// Sources and destination.
    pub fn operands(&self) -> impl Iterator<Item = &Operand> {
        self.sources.iter().chain(&self.destination)
    }

    /// Everything that is read from memory.
    pub fn reads(&self) -> impl Iterator<Item = &Operand> {
        self.sources.iter().chain(&self.pointers)
    }
}

/// Two sources; the pair's low nibble is the type of the first.
fn pair<const D: usize>(first: &Pattern<D>, second: &Pattern<D>, dtypes: u8) -> Vec<Operand> {
    vec![Operand::new(first, dtypes & 0xF), Operand::new(second, dtypes >> 4)]
}

fn pointers<const N: usize>(immediates: [(u8, u32); N]) -> Vec<Operand> {
    immediates
        .into_iter()
        .filter(|&(source, _)| source == ImmSrc::Pointer.code())
        .map(|(_, slot)| Operand::pointer(slot))
        .collect()
}
