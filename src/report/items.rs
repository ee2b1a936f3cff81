//! The words and descriptors of a program in its order, every field decoded.

use std::collections::BTreeMap;

use partita::backend::cost::{Profile, dma_cost, queue_costs};
use partita::backend::program::{Place, Program, Slot};
use partita::isa::dma::{self, Descriptor};
use partita::isa::word::WORD_BYTES;
use partita::isa::{Events, Field, Header, Opcode, Target, Word, asm};
use serde::Serialize;

use crate::sources::Sources;

/// All items, as columns: row `n` is step `n` of the program order.
#[derive(Default, Serialize)]
pub struct Items {
    /// Names of queues: engines, then DMA queues.
    pub queues: Vec<String>,
    /// Words that occur often, by number.
    strings: Vec<String>,
    /// The fields of a struct of words, and of descriptors.
    layouts: Vec<Layout>,
    pub queue: Vec<usize>,
    /// Position in the queue.
    pub index: Vec<u32>,
    /// Mnemonic of a word, way of a transfer: number of a string.
    name: Vec<u32>,
    text: Vec<String>,
    /// The bytes of a word; empty for a descriptor.
    hex: Vec<String>,
    layout: Vec<usize>,
    /// Values of the layout's fields: numbers of strings.
    fields: Vec<Vec<u32>>,
    /// The value that it was emitted for: number of a string.
    source: Vec<u32>,
    /// Its line, 0 if not known.
    line: Vec<usize>,
    /// Cycles of a word, bytes of a descriptor; absent for a word without a price.
    amount: Vec<Option<u64>>,
    /// Earlier items that touched the same bytes, the last of each queue.
    pub needs: Vec<Vec<u32>>,
}

/// What the values of an item mean.
#[derive(Serialize, PartialEq)]
struct Layout {
    name: String,
    /// Name, byte offset and size; a descriptor's fields have no place.
    fields: Vec<(&'static str, usize, usize)>,
}

/// A field's place in a word.
fn place(field: &'static Field) -> (&'static str, usize, usize) {
    (field.name, field.offset, field.size)
}

/// The fields of a descriptor's text in its order.
const DESCRIPTOR: &[&str] = &["queue", "kind", "elem", "src", "dst", "dims", "wait", "update"];

/// Strings by number, each once.
#[derive(Default)]
struct Strings {
    numbers: BTreeMap<String, u32>,
    all: Vec<String>,
}

impl Strings {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.all.len() as u32;
        self.numbers.insert(text.to_owned(), number);
        self.all.push(text.to_owned());
        number
    }
}

/// The queues of a program: engines, then DMA queues.
pub fn queues(program: &Program) -> Vec<Slot> {
    let mut slots: Vec<Slot> = program.order.clone();
    slots.sort_unstable();
    slots.dedup();
    slots
}

impl Items {
    /// `line` tells the line of the source that a value was defined in.
    pub fn new(program: &Program, profile: &Profile, line: &dyn Fn(&str) -> Option<usize>) -> Self {
        let slots = queues(program);
        let mut items =
            Self { queues: slots.iter().map(ToString::to_string).collect(), ..Self::default() };
        let mut strings = Strings::default();
        let sources = Sources::new(program);
        let generation = program.target.generation;
        let costs: BTreeMap<_, _> = program
            .words
            .iter()
            .map(|(&engine, words)| (engine, queue_costs(words, engine, profile, generation)))
            .collect();
        // Where the descriptors of each queue stand in the list of all.
        let mut places: BTreeMap<u8, Vec<usize>> = BTreeMap::new();
        for (place, descriptor) in program.dma.iter().enumerate() {
            places.entry(descriptor.queue).or_default().push(place);
        }
        let mut taken: BTreeMap<Slot, usize> = BTreeMap::new();
        for &slot in &program.order {
            let next = taken.entry(slot).or_default();
            let index = *next;
            *next += 1;
            let (place, source) = match slot {
                Slot::Word(engine) => {
                    let words = program.words.get(&engine);
                    let Some(word) = words.and_then(|words| words.get(index)) else { continue };
                    items.word(word, &program.target, &mut strings);
                    let cost = costs.get(&engine).and_then(|costs| *costs.get(index)?);
                    items.amount.push(cost.map(|cost| cost.cycles));
                    (index, Place::Words(engine))
                }
                Slot::Dma(queue) => {
                    let place = places.get(&queue).and_then(|places| places.get(index)).copied();
                    let Some((place, descriptor)) =
                        place.and_then(|place| Some((place, program.dma.get(place)?)))
                    else {
                        continue;
                    };
                    items.descriptor(descriptor, &program.target, &mut strings);
                    items.amount.push(Some(dma_cost(descriptor, profile).bytes));
                    (place, Place::Dma)
                }
            };
            let source = sources.of(source, place).unwrap_or_default();
            items.queue.push(slots.binary_search(&slot).unwrap_or_default());
            items.index.push(index as u32);
            items.source.push(strings.number(source));
            items.line.push(line(source).unwrap_or_default());
        }
        items.strings = strings.all;
        items
    }

    fn word(&mut self, word: &Word, target: &Target, strings: &mut Strings) {
        let bytes =
            |range: &[u8]| range.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let mut text = Vec::new();
        asm::format_into(&mut text, word, target, &|_| None);
        self.text.push(String::from_utf8_lossy(&text).into_owned());
        self.hex.push(bytes(&word.0));
        let (layout, values, name) = match Opcode::from_number(word.opcode_byte()) {
            Some(opcode) => {
                let own = opcode.info().layout();
                let all = [Header::LAYOUT, Events::LAYOUT, own].into_iter().flat_map(|l| l.fields);
                let fields: Vec<&'static Field> = all.copied().collect();
                let value = |field: &&'static Field| asm::field_text(word, opcode, field, target);
                let values: Vec<String> = fields.iter().map(value).collect();
                let places = fields.into_iter().map(place).collect();
                let layout = Layout { name: own.name.to_owned(), fields: places };
                (layout, values, opcode.mnemonic())
            }
            None => {
                let fields = vec![("opcode", 0, 1), ("bytes", 1, WORD_BYTES - 1)];
                let values = vec![format!("{:#04x}", word.opcode_byte()), bytes(&word.0[1..])];
                (Layout { name: "unknown".to_owned(), fields }, values, "unknown")
            }
        };
        self.row(layout, values.iter().map(String::as_str), name, strings);
    }

    fn descriptor(&mut self, descriptor: &Descriptor, target: &Target, strings: &mut Strings) {
        let text = dma::format_plain(descriptor, target);
        let values: Vec<String> = DESCRIPTOR.iter().map(|field| field_of(&text, field)).collect();
        let name = format!("{} to {}", descriptor.src.space, descriptor.dst.space);
        let layout = Layout {
            name: "descriptor".to_owned(),
            fields: DESCRIPTOR.iter().map(|&field| (field, 0, 0)).collect(),
        };
        self.row(layout, values.iter().map(String::as_str), &name, strings);
        self.text.push(text);
        self.hex.push(String::new());
    }

    fn row<'a>(
        &mut self,
        layout: Layout,
        values: impl Iterator<Item = &'a str>,
        name: &str,
        strings: &mut Strings,
    ) {
        let known = self.layouts.iter().position(|other| *other == layout);
        self.layout.push(known.unwrap_or(self.layouts.len()));
        if known.is_none() {
            self.layouts.push(layout);
        }
        self.fields.push(values.map(|value| strings.number(value)).collect());
        self.name.push(strings.number(name));
    }
}

/// The values of a field in the text of a descriptor; a descriptor may wait several times.
fn field_of(text: &str, field: &str) -> String {
    let label = format!(" {field}=");
    let values = text.match_indices(&label).map(|(at, _)| {
        let rest = text.get(at + label.len()..).unwrap_or_default();
        // A value ends where the next field begins; blanks within one stand in brackets.
        let mut depth = 0usize;
        let end = rest.char_indices().find(|&(_, c)| {
            match c {
                '[' => depth += 1,
                ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ' ' && depth == 0
        });
        rest.get(..end.map_or(rest.len(), |(end, _)| end)).unwrap_or_default()
    });
    values.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_descriptor_are_those_of_its_text() {
        let text = "dma queue=3 kind=COPY elem=FP32 src=hbm[0x10] dst=sbuf[p0, 0x800] dims=[512:4:4, 128:2048:262144] wait=sem[3]>=5 wait=sem[4]>=1";
        let wanted = [
            ("queue", "3"),
            ("dst", "sbuf[p0, 0x800]"),
            ("dims", "[512:4:4, 128:2048:262144]"),
            ("wait", "sem[3]>=5 sem[4]>=1"),
            ("update", ""),
        ];
        for (field, value) in wanted {
            assert_eq!(field_of(text, field), value, "{field}");
        }
    }
}
