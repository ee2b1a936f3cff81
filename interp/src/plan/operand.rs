//! From access patterns and immediates to places, walks and scalars.

use partita_isa::address::{ADDR_REG, ADDRESS_MASK, INDIRECT, Indirect, Location, SHAPE_REG};
use partita_isa::{Dtype, Engine, Generation, ImmSrc, Opcode, Pattern};

use crate::error::Fault;
use crate::machine::{Limits, Machine, REGISTERS};
use crate::memory::{Place, Space};
use crate::walk::Walk;

use super::Bytes;

/// What the operands of an instruction are resolved against.
#[derive(Clone, Copy, Debug)]
pub struct Resolver<'a> {
    generation: Generation,
    registers: &'a [u32; REGISTERS],
    limits: Limits,
    /// Whether PSUM is out of reach (ADR-4, ENG-2).
    sbuf_only: bool,
}

/// A tensor operand: where its rows begin, and the walk within a row.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    pub place: Place,
    pub walk: Walk,
    pub width: usize,
}

/// A scalar operand.
#[derive(Clone, Copy, Debug)]
pub enum Immediate {
    /// The same for every channel, as lane bits.
    Value(u64),
    /// One scalar per channel: the bytes at `offset` of each row from `place` on (ISA 8.1).
    Pointer { place: Place, offset: usize, width: usize },
}

impl Immediate {
    /// The rows that are read.
    #[inline]
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Value(_) => None,
            Self::Pointer { place, .. } => Some(*place),
        }
    }

    /// The bytes of each row that are read.
    pub fn bytes(&self) -> Option<Bytes> {
        match *self {
            Self::Value(_) => None,
            Self::Pointer { place, offset, width } => {
                Some(Bytes { place: Some(place.space), range: offset..offset + width })
            }
        }
    }

    /// The same from other rows.
    pub fn moved(self, to: impl FnOnce(Place) -> Place) -> Self {
        match self {
            Self::Value(_) => self,
            Self::Pointer { place, offset, width } => {
                Self::Pointer { place: to(place), offset, width }
            }
        }
    }

    /// The scalar of the channel whose row of pointers this is.
    #[inline]
    pub fn read(&self, row: &[u8]) -> u64 {
        match *self {
            Self::Value(bits) => bits,
            Self::Pointer { offset, width, .. } => {
                let bytes = &row[offset..offset + width];
                bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
            }
        }
    }
}

/// Bytes of an element of an index array (ISA 4.4).
pub const INDEX_BYTES: usize = 2;

/// An indirect source: element `i` of a channel is the element `index[i]` of the data in its row.
#[derive(Clone, Copy, Debug)]
pub struct Gather {
    pub index: Place,
    pub index_offset: usize,
    pub data: Place,
    pub data_offset: usize,
    pub width: usize,
    /// The number of indices.
    pub count: usize,
    address: u32,
    register: Option<u8>,
}

impl Gather {
    /// The fault of an index that leads out of the row.
    pub fn outside(&self) -> Fault {
        Fault::Address {
            rule: "ADR-8",
            address: self.address,
            register: self.register,
            reason: "is indexed beyond the partition's active bytes",
        }
    }
}

/// An address taken apart.
struct Located {
    address: u32,
    register: Option<u8>,
    place: Place,
    offset: usize,
}

impl Located {
    fn fault(&self, rule: &'static str, reason: &'static str) -> Fault {
        Fault::Address { rule, address: self.address, register: self.register, reason }
    }
}

impl<'a> Resolver<'a> {
    pub fn new(machine: &'a Machine, sbuf_only: bool) -> Self {
        Self {
            generation: machine.target.generation,
            registers: &machine.registers,
            limits: machine.limits,
            sbuf_only,
        }
    }

    /// For the operands of an opcode on an engine: on POOL they are in SBUF, but for the packed forms of SUNDA, and
    /// those of the cross-lane reduces always (ADR-4, ENG-2, TB-7).
    pub fn of_word(machine: &'a Machine, engine: Engine, opcode: Opcode) -> Self {
        use Opcode::*;
        let reaches_psum = engine != Engine::Pool
            || matches!(
                opcode,
                TensorTensorAddBf16 | TensorTensorMultBf16 | TensorTensorSubtractBf16
            );
        let cross_lane = matches!(opcode, CrossLaneReduceArith | CrossLaneReduceBitvec);
        Self::new(machine, !reaches_psum || cross_lane)
    }

    /// A source of `channels` channels.
    pub fn source<const D: usize>(
        &self,
        pattern: &Pattern<D>,
        dtype: Dtype,
        channels: usize,
    ) -> Result<Operand, Fault> {
        self.operand(pattern, dtype, channels)
    }

    /// A destination of `channels` channels: in PSUM only with a 4-byte dtype (ADR-5).
    pub fn destination<const D: usize>(
        &self,
        pattern: &Pattern<D>,
        dtype: Dtype,
        channels: usize,
    ) -> Result<Operand, Fault> {
        let operand = self.operand(pattern, dtype, channels)?;
        if operand.place.space == Space::Psum && operand.width != 4 {
            return Err(self
                .locate(pattern.start_addr, channels)?
                .fault("ADR-5", "is in PSUM, which takes 4-byte elements only"));
        }
        Ok(operand)
    }

    fn operand<const D: usize>(
        &self,
        pattern: &Pattern<D>,
        dtype: Dtype,
        channels: usize,
    ) -> Result<Operand, Fault> {
        if pattern.start_addr & SHAPE_REG != 0 {
            return Err(Fault::ShapeRegister);
        }
        if pattern.start_addr & INDIRECT != 0 {
            return Err(Fault::Indirect);
        }
        let location = self.locate(pattern.start_addr, channels)?;
        let width = dtype.size();
        // Sizes of elements are powers of two; a division would take longer than all else here.
        let bits = width.trailing_zeros();
        if location.offset & (width - 1) != 0 {
            return Err(location.fault("ADR-2", "is not a multiple of the element size"));
        }
        let limit = self.limits.elements;
        let dims = pattern.num_elem.into_iter().zip(pattern.step_elem);
        let walk = Walk::new(location.offset >> bits, dims)
            .filter(|walk| walk.len() <= limit)
            .ok_or(Fault::TooManyElements { limit })?;
        let row = self.row_bytes(location.place.space) >> bits;
        if walk.lowest() < 0 || walk.highest() >= row as isize {
            return Err(location.fault("ADR-8", "leads out of the partition's active bytes"));
        }
        Ok(Operand { place: location.place, walk, width })
    }

    /// A source in its indirect form; `None` for any other (ISA 4.4).
    ///
    /// # Errors
    /// One of its two addresses breaks a rule; the index array leaves its partition.
    pub fn gather<const D: usize>(
        &self,
        pattern: &Pattern<D>,
        dtype: Dtype,
        channels: usize,
    ) -> Result<Option<Gather>, Fault> {
        let Some(indirect) = Indirect::of(pattern) else { return Ok(None) };
        let index = self.locate(indirect.index, channels)?;
        let data = self.locate(indirect.data, channels)?;
        let count = usize::from(indirect.count);
        if !index.offset.is_multiple_of(INDEX_BYTES) {
            return Err(index.fault("ADR-2", "is not a multiple of the size of an index"));
        }
        if !data.offset.is_multiple_of(dtype.size()) {
            return Err(data.fault("ADR-2", "is not a multiple of the element size"));
        }
        if index.offset + count * INDEX_BYTES > self.row_bytes(index.place.space) {
            return Err(index.fault("ADR-8", "leads out of the partition's active bytes"));
        }
        Ok(Some(Gather {
            index: index.place,
            index_offset: index.offset,
            data: data.place,
            data_offset: data.offset,
            width: dtype.size(),
            count,
            address: data.address,
            register: data.register,
        }))
    }

    /// An immediate of `width` bytes for each of `channels` channels.
    #[inline]
    pub fn immediate(
        &self,
        source: u8,
        slot: u32,
        width: usize,
        channels: usize,
    ) -> Result<Immediate, Fault> {
        let address = match ImmSrc::from_code(source) {
            Some(ImmSrc::Instruction) => {
                let unused = 64 - 8 * width as u32;
                return Ok(Immediate::Value(u64::from(slot) << unused >> unused));
            }
            Some(ImmSrc::Pointer) => slot,
            Some(ImmSrc::RegPointer) => slot | ADDR_REG,
            None => return Err(Fault::Unsupported("immediate source")),
        };
        let location = self.locate(address, channels)?;
        if !location.offset.is_multiple_of(width) {
            return Err(location.fault("IMM-4", "is not a multiple of the scalar's size"));
        }
        if location.offset + width > self.row_bytes(location.place.space) {
            return Err(location.fault("ADR-8", "leads out of the partition's active bytes"));
        }
        Ok(Immediate::Pointer { place: location.place, offset: location.offset, width })
    }

    /// Takes an address apart and checks that `channels` rows from there on exist and may be used (ADR-3, ADR-4,
    /// CH-3).
    #[inline]
    fn locate(&self, field: u32, channels: usize) -> Result<Located, Fault> {
        let (address, register) = if field & ADDR_REG != 0 {
            let number = field as u8;
            let value = self.registers.get(usize::from(number));
            let value = value.ok_or(Fault::Unsupported("register number"))?;
            (*value, Some(number))
        } else {
            (field, None)
        };
        let fault = |rule, reason| Err(Fault::Address { rule, address, register, reason });
        if address & !ADDRESS_MASK != 0 {
            return fault("ADR-9", "has marker bits set");
        }
        let Some(location) = Location::of(address, self.generation) else {
            return fault("ADR-3", "is in no memory");
        };
        let (space, partition) = (location.memory, location.partition as usize);
        let offset = location.byte as usize;
        if offset >= self.row_bytes(space) {
            return fault("ADR-3", "is beyond the active bytes of its partition");
        }
        if space == Space::Psum && self.sbuf_only {
            return fault("ADR-4", "is in PSUM, which this instruction cannot reach");
        }
        let unit = match channels {
            0..=32 => 32,
            33..=64 => 64,
            _ => 128,
        };
        if partition & (unit - 1) != 0 {
            return fault("CH-3", "starts in a partition that this many channels cannot start in");
        }
        Ok(Located { address, register, place: Place { space, partition }, offset })
    }

    #[inline]
    fn row_bytes(&self, space: Space) -> usize {
        space.active(self.generation) as usize
    }
}
