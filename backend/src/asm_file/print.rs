//! Program to text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use partita_isa::{Engine, Instruction, Word, asm, dma};

use crate::program::{IoTensor, Place, Program, Slot, Symbol};

use super::{DATA_BYTES, is_plain};

/// The text of a program. Writing to a string cannot fail, so results of `write!` are dropped throughout.
pub fn print(program: &Program) -> String {
    print_with(program, &mut |_, _, _| {})
}

/// [`print()`] with comments: `annotate` may add to the line of each word.
pub fn print_with(
    program: &Program,
    annotate: &mut dyn FnMut(Engine, &Word, &mut String),
) -> String {
    let mut out = String::new();
    header(program, &mut out);
    let mut labels = Labels::new(&program.symbols);
    let mut engine: Option<Engine> = None;
    let mut taken: BTreeMap<Place, usize> = BTreeMap::new();
    let mut queues = Queues::new(program);
    for &slot in &program.order {
        let place = slot.place();
        let index = match slot {
            Slot::Word(_) => next(&mut taken, place),
            Slot::Dma(queue) => match queues.next(queue) {
                Some(index) => index,
                None => continue,
            },
        };
        labels.print(place, index, &mut out);
        match slot {
            Slot::Dma(_) => {
                if let Some(descriptor) = program.dma.get(index) {
                    let _ = writeln!(out, ".{}", dma::format_plain(descriptor, &program.target));
                }
            }
            Slot::Word(now) => {
                if engine.replace(now) != Some(now) {
                    let _ = writeln!(out, ".engine {now}");
                }
                if let Some(word) = program.words.get(&now).and_then(|words| words.get(index)) {
                    out.push_str(&asm::format_plain(&Instruction::decode(word), &program.target));
                    annotate(now, word, &mut out);
                    out.push('\n');
                }
            }
        }
    }
    out
}

fn next(taken: &mut BTreeMap<Place, usize>, place: Place) -> usize {
    let count = taken.entry(place).or_default();
    *count += 1;
    *count - 1
}

/// Indices into the list of descriptors, by queue.
struct Queues(BTreeMap<u8, std::vec::IntoIter<usize>>);

impl Queues {
    fn new(program: &Program) -> Self {
        let mut lists: BTreeMap<u8, Vec<usize>> = BTreeMap::new();
        for (index, descriptor) in program.dma.iter().enumerate() {
            lists.entry(descriptor.queue).or_default().push(index);
        }
        Self(lists.into_iter().map(|(queue, list)| (queue, list.into_iter())).collect())
    }

    fn next(&mut self, queue: u8) -> Option<usize> {
        self.0.get_mut(&queue)?.next()
    }
}

/// Symbols by the item that they begin at.
struct Labels<'a>(BTreeMap<(Place, usize), Vec<&'a Symbol>>);

impl<'a> Labels<'a> {
    fn new(symbols: &'a [Symbol]) -> Self {
        let mut labels: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for symbol in symbols {
            labels.entry((symbol.place, symbol.first as usize)).or_default().push(symbol);
        }
        Self(labels)
    }

    fn print(&mut self, place: Place, index: usize, out: &mut String) {
        for symbol in self.0.remove(&(place, index)).unwrap_or_default() {
            let _ = match symbol.count {
                1 => writeln!(out, "{}:", name(&symbol.name)),
                count => writeln!(out, "{}: {count}", name(&symbol.name)),
            };
        }
    }
}

fn name(name: &str) -> String {
    if is_plain(name) { name.to_owned() } else { serde_json::Value::from(name).to_string() }
}

fn header(program: &Program, out: &mut String) {
    let _ = writeln!(out, ".target {}", program.target);
    if !program.meta.version.is_empty() {
        let _ = writeln!(out, ".meta version {}", name(&program.meta.version));
    }
    for pass in &program.meta.pipeline {
        let _ = writeln!(out, ".meta pass {}", name(pass));
    }
    let _ = writeln!(out, ".io hbm {:#x}", program.io.hbm_bytes);
    for (kind, tensors) in [("input", &program.io.inputs), ("output", &program.io.outputs)] {
        for tensor in tensors {
            io(kind, tensor, out);
        }
    }
    for block in &program.data {
        let mut chunks = block.bytes.chunks(DATA_BYTES);
        let _ = write!(out, ".data {:#x} ", block.address);
        hex(chunks.next().unwrap_or_default(), out);
        for chunk in chunks {
            out.push_str(".data + ");
            hex(chunk, out);
        }
    }
}

fn io(kind: &str, tensor: &IoTensor, out: &mut String) {
    let dims: Vec<String> = tensor.shape.iter().map(u64::to_string).collect();
    let (name, dtype, dims) = (name(&tensor.name), tensor.dtype, dims.join(","));
    let _ = write!(out, ".io {kind} {name} {dtype}[{dims}] at {:#x}", tensor.address);
    if let Some(random) = tensor.random {
        let _ = write!(out, " random {random}");
    }
    out.push('\n');
}

fn hex(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out.push('\n');
}
