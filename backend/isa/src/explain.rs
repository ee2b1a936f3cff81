//! Answers to "what is this?": opcodes, ALU operations, data types and rules, from the tables that the
//! checker reads.

use std::fmt::{self, Write};

use crate::alu::AluOp;
use crate::check::is_legal;
use crate::dtype::Dtype;
use crate::enums::{AccumCmd, SubDim};
use crate::field::{Field, FieldKind};
use crate::instruction::Instruction;
use crate::opcode::{Opcode, OpcodeInfo};
use crate::rule::{self, Rule};
use crate::target::{Generation, Generations, Target};
use crate::word::Word;
use crate::{diagram, dma, layout};

/// Something that has a name in the reference.
#[derive(Clone, Copy, Debug)]
pub enum Topic {
    Opcode(Opcode),
    AluOp(AluOp),
    Dtype(Dtype),
    Rule(&'static Rule),
    /// A field, with the struct that it stands in.
    Field(&'static layout::Layout, &'static Field),
}

impl Topic {
    /// The name in the reference; the id of a rule.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Opcode(opcode) => opcode.name(),
            Self::AluOp(op) => op.name(),
            Self::Dtype(dtype) => dtype.name(),
            Self::Rule(rule) => rule.id,
            Self::Field(_, field) => field.name,
        }
    }
}

/// Everything that a name, mnemonic, number (`0x42`), rule id or field name may mean, opcodes first.
pub fn find(query: &str) -> Vec<Topic> {
    let is = |name: &str| name.eq_ignore_ascii_case(query);
    let number = query.strip_prefix("0x").and_then(|digits| u8::from_str_radix(digits, 16).ok());
    let mut topics: Vec<Topic> = Opcode::ALL
        .iter()
        .filter(|op| is(op.name()) || is(op.mnemonic()) || number == Some(op.number()))
        .map(|&opcode| Topic::Opcode(opcode))
        .collect();
    topics.extend(AluOp::from_name(query).map(Topic::AluOp));
    topics.extend(Dtype::from_name(query).map(Topic::Dtype));
    topics.extend(rules().filter(|rule| is(rule.id)).map(Topic::Rule));
    for layout in layouts() {
        let fields = layout.fields.iter().filter(|field| is(field.name));
        topics.extend(fields.map(|&field| Topic::Field(layout, field)));
    }
    topics
}

/// Every rule, those of DMA descriptors last.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    rule::all().chain(dma::rules::ALL.iter().copied())
}

/// Header, events and every struct, once each.
pub fn layouts() -> Vec<&'static layout::Layout> {
    let mut layouts = vec![layout::Header::LAYOUT, layout::Events::LAYOUT];
    for opcode in Opcode::ALL {
        let layout = opcode.info().layout();
        if !layouts.iter().any(|known| known.name == layout.name) {
            layouts.push(layout);
        }
    }
    layouts
}

/// The opcode's own rules, expanded from the row's list ("TS-1..15, TS-E1").
pub fn rules_of(info: &OpcodeInfo) -> Vec<&'static Rule> {
    let mut found = Vec::new();
    for part in info.rules.split(", ") {
        match part.split_once("..") {
            Some((first, last)) => {
                let (prefix, first) = first.rsplit_once('-').unwrap_or((first, "1"));
                let bounds = (first.parse::<u32>(), last.parse::<u32>());
                let (Ok(first), Ok(last)) = bounds else { continue };
                found.extend((first..=last).filter_map(|n| rule::find(&format!("{prefix}-{n}"))));
            }
            None => found.extend(rule::find(part)),
        }
    }
    found
}

/// Opcodes that accept an ALU operation in some legal word of the generation, on whatever engine: the
/// answer of the checker itself, asked with representative data types.
pub fn opcodes_accepting(op: AluOp, generation: Generation) -> Vec<Opcode> {
    Opcode::ALL.iter().copied().filter(|&opcode| accepts(opcode, op, generation)).collect()
}

/// Whether some legal word of the opcode has the operation in its first ALU field.
pub fn accepts(opcode: Opcode, op: AluOp, generation: Generation) -> bool {
    const TYPES: [(Dtype, Dtype); 4] = [
        (Dtype::Fp32, Dtype::Fp32),
        (Dtype::Int32, Dtype::Int32),
        (Dtype::Uint32, Dtype::Uint32),
        (Dtype::Int32, Dtype::Uint32),
    ];
    let target = Target::new(generation);
    TYPES.into_iter().any(|(input, output)| {
        samples(opcode, op, input, output).any(|word| is_legal(&word, &target, None))
    })
}

/// What a small word of an opcode may need besides operation and types: elements of its destination, the second
/// operation, the command of the accumulator, the reduced dimensions.
const SHAPES: [(u16, AluOp, AccumCmd, SubDim); 4] = [
    (32, AluOp::Bypass, AccumCmd::Idle, SubDim::Unused),
    (32, AluOp::Bypass, AccumCmd::Idle, SubDim::X),
    (1, AluOp::Bypass, AccumCmd::Idle, SubDim::X),
    (32, AluOp::Add, AccumCmd::ZeroAccumulate, SubDim::Unused),
];

/// Small words of the opcode with the operation in its first ALU field; none of an opcode without that.
fn samples(opcode: Opcode, op: AluOp, input: Dtype, output: Dtype) -> impl Iterator<Item = Word> {
    let fields = opcode.info().layout().fields;
    let first = fields.iter().find(|field| matches!(field.kind, FieldKind::AluOp));
    first.into_iter().flat_map(move |first| {
        SHAPES.map(|(elements, op1, command, dims)| {
            let mut word = Instruction::blank(opcode).encode();
            for field in fields {
                let code = match (field.kind, field.name) {
                    (FieldKind::AluOp, _) if field.offset == first.offset => op.code(),
                    (FieldKind::AluOp, _) => op1.code(),
                    (FieldKind::Dtype, "out_dtype") => output.code(),
                    (FieldKind::Dtype, "imm0_dtype") if !opcode.is_bitvec() => continue,
                    (FieldKind::Dtype, _) => input.code(),
                    (FieldKind::DtypePair, _) => input.code() | input.code() << 4,
                    (FieldKind::Enum(_), "accumulator_cmd") => command.code(),
                    (FieldKind::Enum(_), "op_dim") => dims.code(),
                    (FieldKind::Pattern(dimensions), name) => {
                        let n = if name == "dst_mem_pattern" { elements } else { 32 };
                        let at = field.offset + 4 + 2 * dimensions;
                        word.0[at..at + 2].copy_from_slice(&n.to_le_bytes());
                        continue;
                    }
                    _ => continue,
                };
                word.0[field.offset] = code;
            }
            word
        })
    })
}

impl fmt::Display for Topic {
    /// Several lines, without a final newline.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opcode(opcode) => explain_opcode(f, *opcode),
            Self::AluOp(op) => explain_op(f, *op),
            Self::Dtype(dtype) => explain_dtype(f, *dtype),
            Self::Rule(rule) => explain_rule(f, rule),
            Self::Field(layout, field) => {
                write!(f, "{} of {}: ", field.name, layout.name)?;
                explain_field(f, field)
            }
        }
    }
}

fn explain_opcode(f: &mut fmt::Formatter<'_>, opcode: Opcode) -> fmt::Result {
    let info = opcode.info();
    writeln!(f, "{:#04x} {}: {}", info.number, info.name, info.summary)?;
    writeln!(f, "  text         {}", info.mnemonic)?;
    writeln!(f, "  struct       {}", info.layout().name)?;
    writeln!(f, "  engines      {}", info.engines)?;
    writeln!(f, "  generations  {}", info.generations)?;
    writeln!(f, "  bytes")?;
    diagram::draw(f, info.layout(), "    ")?;
    writeln!(f, "  fields")?;
    for (letter, field) in diagram::lettered(info.layout()) {
        write!(f, "    {letter}  {:<20} ", field.name)?;
        // Header and events are those of every word; `isa wait_mode` tells what they hold.
        match field.offset < info.layout().fields.first().map_or(0, |first| first.offset) {
            true => explain_place(f, field)?,
            false => explain_field(f, field)?,
        }
        writeln!(f)?;
    }
    explain_accepted(f, opcode)?;
    write!(f, "  rules")?;
    for rule in rules_of(info) {
        write!(f, "\n    {:<7} {}  {}", rule.id, rule.confidence, rule.text)?;
    }
    Ok(())
}

/// The ALU operations of an opcode that takes any, on the oldest generation that has it and on the newest.
fn explain_accepted(f: &mut fmt::Formatter<'_>, opcode: Opcode) -> fmt::Result {
    for generation in oldest_and_newest(opcode.info().generations) {
        let accepted = AluOp::ALL.iter().filter(|&&op| accepts(opcode, op, generation));
        let names: Vec<&str> = accepted.map(|op| op.name()).collect();
        if !names.is_empty() {
            writeln!(f, "  operations on {generation}\n    {}", names.join(" "))?;
        }
    }
    Ok(())
}

/// What exists on a generation mostly exists on the later ones; MAVERICK alone widens some opcodes.
fn oldest_and_newest(generations: Generations) -> impl Iterator<Item = Generation> {
    let all = move || Generation::ALL.into_iter().filter(move |&g| generations.contains(g));
    let (oldest, newest) = (all().next(), all().next_back());
    oldest.into_iter().chain(newest.filter(move |_| oldest != newest))
}

fn explain_place(f: &mut fmt::Formatter<'_>, field: &Field) -> fmt::Result {
    let last = field.offset + field.size - 1;
    match field.size {
        1 => write!(f, "byte {}", field.offset),
        _ => write!(f, "bytes {} to {last}", field.offset),
    }
}

fn explain_field(f: &mut fmt::Formatter<'_>, field: &Field) -> fmt::Result {
    explain_place(f, field)?;
    match field.kind {
        FieldKind::Opcode => f.write_str(", an opcode"),
        FieldKind::Number => f.write_str(", a number"),
        FieldKind::Channels => f.write_str(", 1 to 128"),
        FieldKind::Bits => f.write_str(", bits"),
        FieldKind::Dtype => f.write_str(", a data type"),
        FieldKind::DtypePair => f.write_str(", two data types: low nibble src0, high nibble src1"),
        FieldKind::AluOp => f.write_str(", an ALU operation"),
        FieldKind::Reserved => f.write_str(", zero"),
        FieldKind::Pattern(dims) => write!(f, ", an access pattern of {dims} dimensions"),
        FieldKind::Immediate { source } => write!(f, ", an immediate read as {} says", source.name),
        FieldKind::Fp32 => f.write_str(", an fp32 value"),
        FieldKind::Bytes => f.write_str(", bytes"),
        FieldKind::Enum(table) => {
            write!(f, ", {}:", table.name)?;
            table.members.iter().try_for_each(|(code, name)| write!(f, " {code:#x} {name}"))
        }
    }
}

fn explain_op(f: &mut fmt::Formatter<'_>, op: AluOp) -> fmt::Result {
    let info = op.info();
    writeln!(f, "{:#04x} {}: {}", info.code, info.name, info.semantics)?;
    let operands = if info.arity == 1 { "1 operand" } else { "2 operands" };
    writeln!(f, "  {operands}, result {:?}", info.result)?;
    write!(f, "  generations  {}", info.generations)?;
    for generation in oldest_and_newest(info.generations) {
        write!(f, "\n  accepted on {generation} by")?;
        let opcodes = opcodes_accepting(op, generation);
        if opcodes.is_empty() {
            f.write_str(" no opcode")?;
        }
        for opcode in opcodes {
            let dtypes = dtypes_accepted(opcode, op, generation);
            let names: Vec<&str> = dtypes.into_iter().map(Dtype::name).collect();
            write!(f, "\n    {:#04x} {opcode} of {}", opcode.number(), names.join(" "))?;
        }
    }
    Ok(())
}

/// Data types of the first source with which some legal word of the opcode has the operation.
pub fn dtypes_accepted(opcode: Opcode, op: AluOp, generation: Generation) -> Vec<Dtype> {
    let target = Target::new(generation);
    let legal = |input: Dtype, output: Dtype| {
        samples(opcode, op, input, output).any(|word| is_legal(&word, &target, None))
    };
    // One type for both, or the type of an index.
    let accepted = |dtype: &&Dtype| legal(**dtype, **dtype) || legal(**dtype, Dtype::Uint32);
    Dtype::ALL.iter().filter(|dtype| dtype.is_output_64()).filter(accepted).copied().collect()
}

fn explain_dtype(f: &mut fmt::Formatter<'_>, dtype: Dtype) -> fmt::Result {
    let info = dtype.info();
    writeln!(f, "{:#04x} {}: {} bits, {}", info.code, info.name, info.bits, info.format)?;
    writeln!(f, "  generations  {}", info.generations)?;
    if let Some(limits) = dtype.limits() {
        writeln!(f, "  limits       {limits}")?;
    }
    let mut sets = String::new();
    let all = [
        (dtype.is_input(), "D(in)"),
        (dtype.is_output(), "D(out)"),
        (dtype.is_input_64(), "D64(in)"),
        (dtype.is_output_64(), "D64(out)"),
        (dtype.is_int(), "is_valid_int_dtype"),
        (dtype.is_int_datapath(), "is_valid_int_dtype_datapath"),
        (dtype.is_float_datapath(), "is_valid_fp_dtype_datapath"),
        (dtype.is_int32(), "is_valid_32b_int_dtype"),
        (dtype.is_64_bit(), "is_valid_64b_int_dtype"),
        (dtype.is_signed_int(), "is_signed_int_dtype"),
        (dtype.is_unsigned_int(), "is_unsigned_int_dtype"),
    ];
    for (_, name) in all.into_iter().filter(|(member, _)| *member) {
        write!(sets, " {name}")?;
    }
    write!(f, "  sets        {}", if sets.is_empty() { " none" } else { &sets })
}

fn explain_rule(f: &mut fmt::Formatter<'_>, rule: &Rule) -> fmt::Result {
    write!(f, "{} ({}): {}", rule.id, rule.confidence, rule.text)?;
    if !rule.fix.is_empty() {
        write!(f, "\n  fix: {}", rule.fix)?;
    }
    let users: Vec<String> = Opcode::ALL
        .iter()
        .filter(|opcode| rules_of(opcode.info()).contains(&rule))
        .map(|opcode| format!("{:#04x} {opcode}", opcode.number()))
        .collect();
    if !users.is_empty() {
        write!(f, "\n  opcodes: {}", users.join(", "))?;
    }
    Ok(())
}
