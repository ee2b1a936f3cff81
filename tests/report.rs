//! `partita report` and `opt --dot`: the page holds everything, nothing in a program can break out of it, and graphs
//! are those of the program.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use partita::backend::program::{Program, Slot};
use partita::isa::{Target, asm, dma};
use partita::passes;
use serde_json::Value;
use support::command::{Dir, arg, call, fails, succeeds, text};
use support::{compile, func};

const EXAMPLES: &[&str] = &["softmax", "transpose_sum", "cumsum_rows", "quantize_int8"];

fn example(name: &str) -> String {
    format!("examples/{name}.pta")
}

/// The data of a page, as a browser finds it.
fn data(page: &str) -> Value {
    let open = "<script type=\"application/json\" id=\"data\">";
    let start = page.find(open).expect("the data element") + open.len();
    let len = page[start..].find("</script").expect("the end of the data element");
    serde_json::from_str(&page[start..start + len]).expect("JSON")
}

fn report(file: &str, more: &[&str]) -> String {
    succeeds(&[&["report", file], more].concat())
}

fn compiled(path: &str, target: &Target) -> Program {
    compile(&func(&fs::read_to_string(path).unwrap()), target).unwrap().program
}

/// Text and bytes of every item in the order of the program.
fn expected(program: &Program) -> Vec<(String, String)> {
    let mut taken: BTreeMap<Slot, usize> = BTreeMap::new();
    let mut out = Vec::new();
    for &slot in &program.order {
        let index = taken.entry(slot).or_default();
        out.push(match slot {
            Slot::Word(engine) => {
                let word = program.words[&engine][*index];
                let text =
                    asm::format_plain(&partita::isa::Instruction::decode(&word), &program.target);
                (text, word.0.iter().map(|byte| format!("{byte:02x}")).collect())
            }
            Slot::Dma(queue) => {
                let mut list = program.dma.iter().filter(|desc| desc.queue == queue);
                let text = dma::format_plain(list.nth(*index).unwrap(), &program.target);
                (text, String::new())
            }
        });
        *index += 1;
    }
    out
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_word_is_there_with_every_field() {
    for (name, target) in EXAMPLES.iter().zip(["cayman", "mariana", "maverick", "sunda"]) {
        let file = example(name);
        let data = data(&report(&file, &["--target", target]));
        let items = &data["items"];
        let program = compiled(&file, &support::target(target));
        let wanted = expected(&program);
        let (texts, bytes) = (strings(&items["text"]), strings(&items["hex"]));
        let got: Vec<(String, String)> = texts.into_iter().zip(bytes).collect();
        assert_eq!(got, wanted, "{name}");
        let table = strings(&items["strings"]);
        for (at, (text, hex)) in wanted.iter().enumerate() {
            let layout = &items["layouts"][items["layout"][at].as_u64().unwrap() as usize];
            let fields = layout["fields"].as_array().unwrap();
            let values = items["fields"][at].as_array().unwrap();
            assert_eq!(fields.len(), values.len());
            let sizes: u64 = fields.iter().map(|field| field[2].as_u64().unwrap()).sum();
            assert_eq!(sizes, if hex.is_empty() { 0 } else { 64 }, "{text}");
            // What the line says of a field, the fields say as well.
            for (field, value) in fields.iter().zip(values) {
                let field = field[0].as_str().unwrap();
                let value = &table[value.as_u64().unwrap() as usize];
                if text.contains(&format!(" {field}=")) && field != "wait" {
                    assert!(
                        text.contains(&format!(" {field}={value}")),
                        "{field}={value} in {text}"
                    );
                }
            }
            for column in ["queue", "index", "name", "source", "line", "amount", "needs"] {
                assert!(!items[column][at].is_null() || column == "amount", "{column} of {text}");
            }
            for need in items["needs"][at].as_array().unwrap() {
                assert!((need.as_u64().unwrap() as usize) < at, "{text}");
            }
        }
        let times = &data["times"];
        let ends = times["end"].as_array().unwrap().iter().map(|end| end.as_u64().unwrap());
        assert_eq!(ends.max(), times["makespan"].as_u64(), "{name}");
    }
}

#[test]
fn passes_say_what_they_changed() {
    let data = data(&report(&example("transpose_sum"), &[]));
    let texts = strings(&data["texts"]);
    let passes = data["passes"].as_array().unwrap();
    assert_eq!(passes.len(), passes::Pipeline::default().passes.len());
    for pass in passes {
        let side =
            |name: &str| texts[pass[name].as_u64().unwrap() as usize].lines().collect::<Vec<_>>();
        let (before, after) = (side("before"), side("after"));
        let mut places = (0, 0);
        for hunk in pass["hunks"].as_array().unwrap() {
            let n: Vec<usize> =
                hunk.as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
            assert_eq!((n[1], n[3]), places);
            places = (n[1] + n[2], n[3] + n[4]);
            let same = n[0] == 1;
            assert!(!same || before[n[1]..n[1] + n[2]] == after[n[3]..n[3] + n[4]]);
        }
        if before != after {
            assert_eq!(places, (before.len(), after.len()), "{}", pass["name"]);
        }
    }
    let to_fuse = succeeds(&["opt", &example("transpose_sum"), "--to", "fuse"]);
    let fuse = passes.iter().find(|pass| pass["name"] == "fuse").unwrap();
    assert_eq!(texts[fuse["after"].as_u64().unwrap() as usize], to_fuse);
    let remark = &data["remarks"][0];
    let line = remark["line"].as_u64().unwrap() as usize;
    let value = remark["value"].as_str().unwrap();
    assert!(data["source"].as_str().unwrap().lines().nth(line - 1).unwrap().contains(value));
}

#[test]
fn tiles_do_not_overlap_while_they_are_used() {
    for name in EXAMPLES {
        let data = data(&report(&example(name), &[]));
        let number = |tile: &Value, key: &str| tile[key].as_u64().unwrap();
        let tiles: Vec<&Value> = data["tiles"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|tile| !tile["first"].is_null())
            .collect();
        assert!(!tiles.is_empty());
        for (at, a) in tiles.iter().enumerate() {
            assert!(number(a, "writes") > 0, "{name}: {} is read and never written", a["name"]);
            for b in &tiles[..at] {
                let meet = |low: u64, high: u64, other: u64, end: u64| low < end && other < high;
                let end = |tile| number(tile, "byte") + number(tile, "bytes");
                let bytes = meet(number(a, "byte"), end(a), number(b, "byte"), end(b));
                let time = meet(
                    number(a, "first"),
                    number(a, "last") + 1,
                    number(b, "first"),
                    number(b, "last") + 1,
                );
                assert!(!(bytes && time), "{name}: {} and {}", a["name"], b["name"]);
            }
        }
    }
}

#[test]
fn nothing_in_a_program_ends_its_place_on_the_page() {
    let dir = Dir::new("report-hostile");
    let program = "\
// </script><script>alert(1)</script> <!-- \" ' & \\ \u{2028}
func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = tensor.elementwise add(%x, %x) : tensor<4x8xf32> loc(\"</script><!--\")
  return %y : tensor<4x8xf32>
}
";
    let file = dir.file("<img src=x onerror=alert(1)>&\".pta", program);
    let page = report(arg(&file), &[]);
    for tag in ["script", "style", "html", "body", "head", "title"] {
        let closed = page.matches(&format!("</{tag}>")).count();
        assert_eq!(closed, if tag == "script" { 2 } else { 1 }, "{tag}");
    }
    assert!(!page.contains("<img") && !page.contains("<!--"));
    let data = data(&page);
    assert_eq!(data["source"].as_str().unwrap(), program);
    assert_eq!(data["file"].as_str().unwrap(), arg(&file));
    let dot = succeeds(&["opt", arg(&file), "--dot", "ir"]);
    assert_eq!(dot.matches('"').count() % 2, 0, "{dot}");
}

#[test]
fn the_page_fetches_nothing_and_is_the_same_every_time() {
    let page = report(&example("softmax"), &[]);
    assert_eq!(page, report(&example("softmax"), &[]));
    let mut rest = page.as_str();
    while let Some(at) = rest.find("://") {
        let known = ["http://www.w3.org/2000/svg"];
        assert!(
            known.iter().any(|url| rest[at - 4..].starts_with(url)),
            "{}",
            &rest[at.saturating_sub(20)..at + 40]
        );
        rest = &rest[at + 3..];
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn it_is_written_whole_or_not_at_all() {
    let dir = Dir::new("report-whole");
    let bad = dir.file(
        "bad.pta",
        "func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %z : tensor<4xf32> }\n",
    );
    let out = dir.path("out.html");
    fails(&["report", arg(&bad), "-o", arg(&out)], 1, "%z");
    assert_eq!(dir.names(), ["bad.pta"]);
    let words = dir.file("words.bin", [0u8; 64]);
    fails(&["report", arg(&words)], 1, "words without a program");
}

#[test]
fn an_image_has_words_and_times_but_no_passes() {
    let dir = Dir::new("report-image");
    let image = dir.path("p.elf");
    succeeds(&["compile", &example("cumsum_rows"), "-o", arg(&image)]);
    let of_image = data(&report(arg(&image), &[]));
    let of_source = data(&report(&example("cumsum_rows"), &[]));
    assert_eq!(of_image["items"]["text"], of_source["items"]["text"]);
    assert_eq!(of_image["times"], of_source["times"]);
    assert!(of_image["passes"].as_array().unwrap().is_empty());
}

#[test]
fn graphs_are_those_of_the_program() {
    let file = example("transpose_sum");
    let ir = succeeds(&["opt", &file, "--passes", "", "--dot", "ir"]);
    let source = fs::read_to_string(Path::new(&file)).unwrap();
    let operations = source.lines().filter(|line| line.contains(" = tensor.")).count();
    // One argument and one result beside the operations.
    assert_eq!(ir.matches("tooltip=").count(), operations + 2, "{ir}");
    let deps = succeeds(&["opt", &file, "--dot", "deps"]);
    assert_eq!(
        deps.matches("tooltip=").count(),
        expected(&compiled(&file, &Target::default())).len()
    );
    let egraph = succeeds(&["opt", &file, "--passes", "canonicalize,fuse", "--dot", "egraph"]);
    assert!(egraph.contains("transpose_reduce") && egraph.contains("style=bold"), "{egraph}");
    for graph in [&ir, &deps, &egraph] {
        assert!(graph.starts_with("digraph {\n") && graph.ends_with("}\n"));
        assert_eq!(graph.matches('{').count(), graph.matches('}').count(), "{graph}");
    }
    fails(&["opt", &file, "--to", "fuse", "--dot", "deps"], 1, "has no words yet");
    fails(&["opt", &file, "--passes", "legalize", "--dot", "egraph"], 2, "it does not run");
}

#[test]
fn a_pass_with_its_settings_is_what_the_e_graph_shows() {
    let file = example("transpose_sum");
    let size =
        |passes: &str| succeeds(&["opt", &file, "--passes", passes, "--dot", "egraph"]).len();
    assert!(size("fuse{iter-limit=0}") < size("fuse"));
    let output = call(&["report", &file, "--passes", "canonicalize", "-q"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}
