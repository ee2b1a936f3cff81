//! From the `tpb` dialect to a program: a table walk, since every operation there is one word or one descriptor.
//!
//! Every word and every descriptor is checked on every call. One that breaks a rule is a fault of the compiler, and the
//! diagnostic names the rule and the operation.

use std::collections::BTreeMap;

use partita_ir::diag::Code;
use partita_ir::entity::{OpId, ValueId};
use partita_ir::ops::{MachineOp, OpKind};
use partita_ir::{Diagnostic, Func, Space, Span};
use partita_isa::violation::Violation;
use partita_isa::{Target, check, dma};

use crate::program::{DataBlock, Io, IoTensor, Meta, Place, Program, Slot, Symbol};

/// Alignment of buffers in HBM, in bytes.
pub const HBM_ALIGN: u64 = 64;

/// Where the arguments of a function stand in HBM: one after another from 0, each at a multiple of [`HBM_ALIGN`]; and
/// the first byte past them. `None` when an argument is no tile in HBM or they are too large.
pub fn argument_addresses(func: &Func) -> Option<(Vec<u64>, u64)> {
    let mut next = 0u64;
    let mut addresses = Vec::new();
    for &arg in &func.args {
        let tile = func.ty(arg).as_tile().filter(|tile| tile.space == Space::Hbm)?;
        addresses.push(next);
        next =
            next.checked_add(tile.bytes_per_partition()?)?.checked_next_multiple_of(HBM_ALIGN)?;
    }
    Some((addresses, next))
}

/// The program of a function in the `tpb` dialect.
///
/// # Errors
/// Internal errors: an operation of another dialect, a tile without an address, an instruction without an engine, a
/// word or descriptor that breaks a rule.
pub fn emit(func: &Func, target: Target, meta: Meta) -> Result<Program, Vec<Diagnostic>> {
    let mut emitter = Emitter {
        func,
        faults: Vec::new(),
        addresses: vec![None; func.values.len()],
        hbm_end: 0,
        program: Program {
            target,
            words: BTreeMap::new(),
            dma: Vec::new(),
            order: Vec::new(),
            data: Vec::new(),
            io: Io::default(),
            meta,
            symbols: Vec::new(),
        },
    };
    emitter.arguments();
    emitter.buffers();
    emitter.results();
    emitter.items();
    if emitter.faults.is_empty()
        && let Err(error) = emitter.program.check_structure()
    {
        emitter.fault(None, error.to_string());
    }
    if emitter.faults.is_empty() { Ok(emitter.program) } else { Err(emitter.faults) }
}

struct Emitter<'a> {
    func: &'a Func,
    faults: Vec<Diagnostic>,
    /// Addresses of tiles in HBM, by value.
    addresses: Vec<Option<u64>>,
    hbm_end: u64,
    program: Program,
}

impl Emitter<'_> {
    fn fault(&mut self, op: Option<OpId>, message: String) {
        let func = self.func;
        let span = op.and_then(|op| func.spans.op(op)).map_or(Span::NONE, |spans| spans.whole);
        let fault = Diagnostic::error(Code::Internal, message, span);
        self.faults.push(match op {
            Some(op) => fault.note(format!("in `{}`", func.op_text(op))),
            None => fault,
        });
    }

    fn arguments(&mut self) {
        let Some((addresses, end)) = argument_addresses(self.func) else {
            return self.fault(
                None,
                "an argument is not a tile in HBM, or the arguments are too large".to_owned(),
            );
        };
        self.hbm_end = end;
        for (index, (&arg, address)) in self.func.args.iter().zip(addresses).enumerate() {
            self.addresses[arg.index()] = Some(address);
            let name = self.func.values[arg].name.to_string();
            let random = self.func.arg_attrs.get(index).and_then(|attrs| attrs.random);
            let tensor = IoTensor { random, ..self.tensor(name, arg, address) };
            self.program.io.inputs.push(tensor);
        }
    }

    fn tensor(&self, name: String, value: ValueId, address: u64) -> IoTensor {
        let ty = self.func.ty(value);
        IoTensor { name, shape: ty.shape().to_vec(), dtype: ty.dtype(), address, random: None }
    }

    /// Addresses and constants of the buffers in HBM.
    fn buffers(&mut self) {
        for (id, op) in self.func.body_ops() {
            let (address, data) = match &op.kind {
                OpKind::Machine(MachineOp::Alloc { address }) => (address, None),
                OpKind::Machine(MachineOp::Constant { address, data }) => (address, Some(data)),
                _ => continue,
            };
            let Some(value) = op.result() else { continue };
            let Some(tile) = self.func.ty(value).as_tile().filter(|tile| tile.space == Space::Hbm)
            else {
                continue;
            };
            let end = address
                .zip(tile.bytes_per_partition())
                .and_then(|(start, bytes)| start.checked_add(bytes));
            let (Some(address), Some(end)) = (*address, end) else {
                self.fault(Some(id), "a buffer in HBM has no address".to_owned());
                continue;
            };
            self.addresses[value.index()] = Some(address);
            self.hbm_end = self.hbm_end.max(end);
            if let Some(data) = data {
                self.program.data.push(DataBlock { address, bytes: data.bytes().to_vec() });
            }
        }
        self.program.io.hbm_bytes = self.hbm_end.next_multiple_of(HBM_ALIGN);
    }

    fn results(&mut self) {
        for (index, value) in self.func.returned().enumerate() {
            match self.addresses.get(value.index()).copied().flatten() {
                Some(address) => {
                    let tensor = self.tensor(format!("out{index}"), value, address);
                    self.program.io.outputs.push(tensor);
                }
                None => self
                    .fault(self.func.body.last().copied(), format!("result {index} is not in HBM")),
            }
        }
    }

    fn items(&mut self) {
        for (id, op) in self.func.body_ops() {
            match &op.kind {
                OpKind::Machine(MachineOp::Inst(inst)) => {
                    let Some(engine) = inst.engine else {
                        self.fault(Some(id), "the instruction has no engine".to_owned());
                        continue;
                    };
                    let word = inst.inst.encode();
                    self.judge(id, check::check(&word, &self.program.target, Some(engine)));
                    let queue = self.program.words.entry(engine).or_default();
                    queue.push(word);
                    let last = queue.len() - 1;
                    self.item(Slot::Word(engine), Place::Words(engine), last, op.loc.as_deref());
                }
                OpKind::Machine(MachineOp::Dma(transfer)) => {
                    let hbm_bytes = self.program.io.hbm_bytes;
                    self.judge(id, dma::check(&transfer.desc, &self.program.target, hbm_bytes));
                    self.program.dma.push(transfer.desc);
                    let last = self.program.dma.len() - 1;
                    self.item(Slot::Dma(transfer.desc.queue), Place::Dma, last, op.loc.as_deref());
                }
                OpKind::Machine(MachineOp::Alloc { .. } | MachineOp::Constant { .. })
                | OpKind::Return => {}
                OpKind::Tensor(_) | OpKind::Check(_) => {
                    self.fault(Some(id), "an operation on tensors is left".to_owned())
                }
            }
        }
    }

    fn judge(&mut self, id: OpId, broken: Vec<Violation>) {
        for violation in broken.into_iter().filter(Violation::is_error) {
            self.fault(Some(id), format!("an emitted item breaks a rule: {violation}"));
        }
    }

    /// Puts an item into the program order; neighbours of a queue that come from one place are one symbol.
    fn item(&mut self, slot: Slot, place: Place, index: usize, loc: Option<&str>) {
        self.program.order.push(slot);
        let (Some(loc), Ok(index)) = (loc, u32::try_from(index)) else { return };
        let last = self.program.symbols.iter_mut().rev().find(|symbol| symbol.place == place);
        match last {
            Some(last) if last.name == loc && last.first + last.count == index => last.count += 1,
            _ => self.program.symbols.push(Symbol {
                name: loc.to_owned(),
                place,
                first: index,
                count: 1,
            }),
        }
    }
}
