//! The printer: canonical text, which reads back as the same module.

use std::fmt::{self, Display, Write as _};

use partita_isa::{Target, asm, dma};

use crate::data::TensorData;
use crate::entity::{OpId, ValueId};
use crate::literal::Literal;
use crate::module::{DEFAULT_TARGET, Func, Module, Op, Operand};
use crate::ops::{CheckOp, MachineOp, OpKind, Seed, TensorOp};
use crate::types::{ElemType, Type};

/// A constant of more elements prints its bytes as one string.
const MAX_LISTED: usize = 4096;

impl Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        if let Some(target) = &self.target {
            let _ = write!(out, "target {target}\n\n");
        }
        for (index, func) in self.funcs.iter().enumerate() {
            if index > 0 {
                out.push('\n');
            }
            print_func(func, &self.target(), &mut out);
        }
        f.write_str(&out)
    }
}

/// With addresses for the default target; a module knows its own.
impl Display for Func {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        print_func(self, &DEFAULT_TARGET, &mut out);
        f.write_str(&out)
    }
}

/// Appends a function. Nothing is assumed of it: what is not valid is printed as
/// it is, so that it can be looked at.
pub fn print_func(func: &Func, target: &Target, out: &mut String) {
    let mut p = Printer { func, target, out };
    p.header();
    for &op in &func.body {
        p.out.push_str("  ");
        p.op(op);
        p.out.push('\n');
    }
    p.out.push('}');
    p.loc(func.loc.as_deref());
    p.out.push('\n');
}

impl Func {
    /// One operation as it stands in the text, without indentation.
    pub fn op_text(&self, op: OpId) -> String {
        let mut out = String::new();
        Printer { func: self, target: &DEFAULT_TARGET, out: &mut out }.op(op);
        out
    }
}

struct Printer<'a> {
    func: &'a Func,
    /// For the addresses of instructions.
    target: &'a Target,
    out: &'a mut String,
}

impl Printer<'_> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn show(&mut self, item: impl Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.out, "{item}");
    }

    fn number(&mut self, mut value: u64) {
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                break;
            }
        }
        self.out.extend(digits[at..].iter().map(|&digit| char::from(digit)));
    }

    fn header(&mut self) {
        self.put("func ");
        if self.func.private {
            self.put("private ");
        }
        self.put("@");
        self.put(&self.func.name);
        self.put("(");
        for (index, &arg) in self.func.args.iter().enumerate() {
            if index > 0 {
                self.put(", ");
            }
            self.value(arg);
            self.put(": ");
            self.ty(self.func.ty(arg));
            if let Some(random) = self.func.arg_attrs.get(index).and_then(|attrs| attrs.random) {
                self.show(format_args!(" {{random = {random}}}"));
            }
        }
        self.put(")");
        match self.func.result_types.as_slice() {
            [] => {}
            [only] => {
                self.put(" -> ");
                self.ty(only);
            }
            several => {
                self.put(" -> (");
                self.types(several.iter());
                self.put(")");
            }
        }
        self.put(" {\n");
    }

    fn types<'t>(&mut self, types: impl Iterator<Item = &'t Type>) {
        for (index, ty) in types.enumerate() {
            if index > 0 {
                self.put(", ");
            }
            self.ty(ty);
        }
    }

    fn ty(&mut self, ty: &Type) {
        match ty {
            Type::Tensor(_) => self.put("tensor<"),
            Type::Tile(tile) => {
                self.put("tile<");
                self.put(tile.space.name());
                self.put(", ");
            }
        }
        for &size in ty.shape() {
            self.number(size);
            self.put("x");
        }
        self.put(ty.dtype().name());
        self.put(">");
    }

    fn value(&mut self, value: ValueId) {
        self.put("%");
        match self.func.values.get(value) {
            Some(value) => self.out.push_str(&value.name),
            None => self.show(format_args!("<{value:?}>")),
        }
    }

    fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Value(value) => self.value(*value),
            Operand::Literal(literal) => self.show(literal),
        }
    }

    fn operands(&mut self, operands: &[Operand]) {
        for (index, operand) in operands.iter().enumerate() {
            if index > 0 {
                self.put(", ");
            }
            self.operand(operand);
        }
    }

    fn loc(&mut self, loc: Option<&str>) {
        if let Some(loc) = loc {
            self.put(" loc(");
            self.put(loc);
            self.put(")");
        }
    }

    fn op(&mut self, id: OpId) {
        let Some(op) = self.func.ops.get(id) else { return self.show(format_args!("<{id:?}>")) };
        for (index, &result) in op.results.iter().enumerate() {
            self.put(if index > 0 { ", " } else { "" });
            self.value(result);
        }
        if !op.results.is_empty() {
            self.put(" = ");
        }
        match &op.kind {
            OpKind::Return => self.returned(op),
            OpKind::Tensor(kind) => {
                self.put(kind.kind_name().full());
                self.put(" ");
                self.tensor_op(kind, &op.operands);
            }
            OpKind::Machine(kind) => self.machine_op(kind, op),
            OpKind::Check(kind) => self.check(*kind, op),
        }
        if let Some(&result) = op.results.first() {
            self.put(" : ");
            if let Some(value) = self.func.values.get(result) {
                self.ty(&value.ty);
            }
        }
        self.loc(op.loc.as_deref());
    }

    fn returned(&mut self, op: &Op) {
        self.put("return");
        if op.operands.is_empty() {
            return;
        }
        self.put(" ");
        self.operands(&op.operands);
        self.put(" : ");
        let func = self.func;
        self.types(
            op.value_operands().filter_map(|value| func.values.get(value)).map(|value| &value.ty),
        );
    }

    fn tensor_op(&mut self, kind: &TensorOp, operands: &[Operand]) {
        match kind {
            TensorOp::Elementwise(op) => self.call(op.name(), operands),
            TensorOp::Pair { op0, op1, reverse }
            | TensorOp::TransposePair { op0, op1, reverse } => {
                self.put(op0.name());
                self.put(", ");
                self.put(op1.name());
                self.put(" (");
                self.operands(operands);
                self.put(")");
                self.flag(" reverse", *reverse);
            }
            TensorOp::Cast
            | TensorOp::Wrap
            | TensorOp::ToInt
            | TensorOp::Bitcast
            | TensorOp::Reshape => {
                self.operands(operands);
            }
            TensorOp::Reduce { op, dims, keep, negate } => {
                self.call(op.name(), operands);
                self.list(" dims ", dims.iter());
                self.flag(" keep", *keep);
                self.flag(" negate", *negate);
            }
            TensorOp::PartitionReduce { op, axis, scale } => {
                self.call(op.name(), operands);
                self.put(" axis ");
                self.put(axis.name());
                if let Some(scale) = scale {
                    self.show(format_args!(" scale {}", Literal::from_f32(*scale)));
                }
            }
            TensorOp::TransposeReduce { op, negate } => {
                self.call(op.name(), operands);
                self.flag(" negate", *negate);
            }
            TensorOp::Transpose { perm } => self.with_list(operands, " perm ", perm.iter()),
            TensorOp::ScanCache { op0, op1, seed, emit } => {
                self.put(op0.name());
                self.put(", ");
                self.put(op1.name());
                self.put(" (");
                let (inside, loaded) = operands.split_at(operands.len().min(2));
                self.operands(inside);
                self.put(") seed ");
                self.put(seed.name());
                if *seed == Seed::Load {
                    self.put(" ");
                    self.operands(loaded);
                }
                self.put(" emit ");
                self.put(emit.name());
            }
            TensorOp::Broadcast { dims } | TensorOp::Reverse { dims } => {
                self.with_list(operands, " dims ", dims.iter())
            }
            TensorOp::Slice { ranges } => {
                self.operands(operands);
                let ranges = ranges.iter().map(|range| {
                    let stride = if range.stride == 1 {
                        String::new()
                    } else {
                        format!(":{}", range.stride)
                    };
                    format!("{}:{}{stride}", range.start, range.limit)
                });
                self.list(" ", ranges);
            }
            TensorOp::Concat { dim } => {
                self.operands(operands);
                self.show(format_args!(" dim {dim}"));
            }
            TensorOp::Pad { amounts } => {
                self.operands(operands);
                self.list(" low ", amounts.iter().map(|amount| amount.low));
                self.list(" high ", amounts.iter().map(|amount| amount.high));
                self.list(" interior ", amounts.iter().map(|amount| amount.interior));
            }
            TensorOp::Iota { dim } => self.show(format_args!("dim {dim}")),
            TensorOp::Constant(data) => self.constant(data),
        }
    }

    fn machine_op(&mut self, kind: &MachineOp, op: &Op) {
        match kind {
            MachineOp::Alloc { address: None } => self.put("tile.alloc"),
            MachineOp::Alloc { address: Some(address) } => {
                self.show(format_args!("tpb.alloc at {address:#x}"))
            }
            MachineOp::Constant { address, data } => {
                self.put(kind.kind_name());
                if let Some(address) = address {
                    self.show(format_args!(" at {address:#x}"));
                }
                self.put(" ");
                self.constant(data);
            }
            MachineOp::Inst(inst) => {
                self.put(kind.kind_name());
                self.put(" ");
                if let Some(engine) = inst.engine {
                    self.put(engine.name());
                    self.put(" ");
                }
                let text = asm::format(&inst.inst, self.target, &|field| self.base(op, field));
                self.put(&text);
            }
            MachineOp::Dma(dma) => {
                let text = dma::format(&dma.desc, self.target, &|field| self.base(op, field));
                self.put(kind.kind_name());
                // The operation's name says already that it is a transfer.
                self.put(text.strip_prefix("dma").unwrap_or(&text));
            }
        }
    }

    fn check(&mut self, kind: CheckOp, op: &Op) {
        self.put(kind.name());
        self.put(" ");
        self.operands(&op.operands);
        match kind {
            CheckOp::Eq => {}
            CheckOp::AlmostEq { tolerance } => {
                self.show(format_args!(" tolerance {}", Literal::Float(tolerance)));
            }
            CheckOp::Close { min_ulps, max_ulps } => {
                self.show(format_args!(" ulps {min_ulps}:{max_ulps}"));
            }
        }
        self.put(" : ");
        if let Some(value) = op.value_operands().next().and_then(|id| self.func.values.get(id)) {
            self.ty(&value.ty);
        }
    }

    /// The tile that a field is relative to.
    fn base(&self, op: &Op, field: &str) -> Option<String> {
        let (_, value) = op.tiles().find(|&(name, _)| name == field)?;
        Some(format!("%{}", self.func.values.get(value)?.name))
    }

    /// `name(operands)`
    fn call(&mut self, name: &str, operands: &[Operand]) {
        self.put(name);
        self.put("(");
        self.operands(operands);
        self.put(")");
    }

    fn flag(&mut self, text: &str, set: bool) {
        if set {
            self.put(text);
        }
    }

    fn with_list(
        &mut self,
        operands: &[Operand],
        word: &str,
        items: impl Iterator<Item = impl Display>,
    ) {
        self.operands(operands);
        self.list(word, items);
    }

    fn list(&mut self, word: &str, items: impl Iterator<Item = impl Display>) {
        self.put(word);
        self.put("[");
        for (index, item) in items.enumerate() {
            if index > 0 {
                self.put(", ");
            }
            self.show(item);
        }
        self.put("]");
    }

    fn constant(&mut self, data: &TensorData) {
        self.put("dense<");
        match data.splat_bits() {
            Some(bits) => self.element(bits, data.dtype()),
            None if data.len() > MAX_LISTED => self.hex(data.bytes()),
            None => {
                let mut elements = data.iter_bits();
                self.nested(data.shape(), data.dtype(), &mut elements);
            }
        }
        self.put(">");
    }

    /// Recursion is bounded by the rank.
    fn nested(&mut self, shape: &[u64], dtype: ElemType, elements: &mut impl Iterator<Item = u64>) {
        let Some((&size, inner)) = shape.split_first() else {
            if let Some(bits) = elements.next() {
                self.element(bits, dtype);
            }
            return;
        };
        self.put("[");
        for index in 0..size {
            if index > 0 {
                self.put(", ");
            }
            self.nested(inner, dtype, elements);
        }
        self.put("]");
    }

    fn element(&mut self, bits: u64, dtype: ElemType) {
        if dtype == ElemType::I1 {
            self.put(if bits == 0 { "false" } else { "true" });
        } else {
            self.show(Literal::from_bits(bits, dtype));
        }
    }

    fn hex(&mut self, bytes: &[u8]) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        self.put("\"0x");
        self.out.reserve(2 * bytes.len() + 1);
        for &byte in bytes {
            self.out.push(char::from(DIGITS[usize::from(byte >> 4)]));
            self.out.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
        self.put("\"");
    }
}
