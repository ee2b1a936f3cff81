//! Measures reading, verifying and printing a long function.

use std::time::Instant;

use partita_ir::{Source, text, verify};

fn main() {
    for ops in [10_000usize, 100_000] {
        let mut input =
            String::from("func @f(%v0: tensor<128x512xf32>) -> tensor<128x512xf32> {\n");
        for i in 1..=ops {
            let line = match i % 3 {
                0 => format!(
                    "  %v{i} = tensor.elementwise add(%v{}, %v{}) : tensor<128x512xf32>\n",
                    i - 1,
                    i / 2
                ),
                1 => format!(
                    "  %v{i} = tensor.elementwise mult(%v{}, 0.5) : tensor<128x512xf32>\n",
                    i - 1
                ),
                _ => format!("  %v{i} = tensor.cast %v{} : tensor<128x512xf32>\n", i - 1),
            };
            input.push_str(&line);
        }
        input.push_str(&format!("  return %v{ops} : tensor<128x512xf32>\n}}\n"));
        let source = Source::new("speed", input);
        for _ in 0..3 {
            let begin = Instant::now();
            let module = text::parse(&source).expect("valid");
            let parsed = begin.elapsed();
            let begin = Instant::now();
            verify::verify(&module).expect("valid");
            let verified = begin.elapsed();
            let begin = Instant::now();
            let printed = module.to_string();
            let shown = begin.elapsed();
            let per_op = |time: std::time::Duration| time.as_secs_f64() * 1e6 / ops as f64;
            println!(
                "{ops} ops: parse {:.2} µs/op, verify {:.2} µs/op, print {:.2} µs/op, {:.0} MB/s",
                per_op(parsed),
                per_op(verified),
                per_op(shown),
                printed.len() as f64 / shown.as_secs_f64() / 1e6
            );
        }
    }
}
