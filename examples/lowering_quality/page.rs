//! The page.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;

use super::by_hand::ByHand;
use super::measure::{Kernel, Measured, TARGETS, geometric_mean};

const HEAD: &str = "# Lowering quality

Written by `cargo run --release --example lowering_quality`; only the times depend on the machine. The programs are
those of `examples/kernels`, at published shapes and types. *Cycles* are those of all engines together, under the
target's profile ([costs](cost.md)): a model, nothing measured on hardware. *Work* is the time of all engines and of
the transfers, added: what fusion makes small, also where words take the place of a transfer and cycles grow. *None*,
*greedy* and *egg* are the ways to find fusions (`--fuse`). *Bound* is the larger of the busiest engine with one load
and one store around it, and all transfers with one latency, for the words and descriptors that came out; *makespan*
the end of the simulation. *Nodes* are those of the largest e-graph; *stop* says whether nothing was left to do or a
limit was met. Kernels without cycles move data only, and do not count in the means of cycles.
";

const BY_HAND: &str = "
## By hand

What good sequences of the same words cost on CAYMAN, worked out on paper (`examples/kernels/by_hand.json`), beside
what the compiler finds. *By hand* is the bound of the sequence, which no schedule beats; *gap* is the compiler's
makespan over it.

| kernel | makespan us | bound us | ÷ | by hand us | gap | the sequence, and what stands in the way |
|---|---|---|---|---|---|---|
";

/// The whole page.
///
/// # Errors
/// A wrong engine in what was written by hand.
pub fn page(
    kernels: &[Kernel],
    rows: &[Measured],
    by_hand: &BTreeMap<String, ByHand>,
) -> Result<String, Box<dyn Error>> {
    let mut out = HEAD.to_owned();
    out.push_str("\n| target | cycles egg ÷ none | greedy ÷ none | work egg ÷ none | within 1.3 of the bound | within 1.5 | of |\n|---|---|---|---|---|---|---|\n");
    for target in TARGETS {
        summary(&mut out, target, &of(rows, target))?;
    }
    compared(&mut out, &of(rows, TARGETS[0]), by_hand)?;
    for target in TARGETS {
        table(&mut out, target, &of(rows, target))?;
    }
    out.push_str("\n## The kernels\n\n| kernel | what it computes |\n|---|---|\n");
    for kernel in kernels {
        writeln!(out, "| {} | {} |", kernel.func.name, kernel.what)?;
    }
    Ok(out)
}

fn of<'a>(rows: &'a [Measured], target: &str) -> Vec<&'a Measured> {
    rows.iter().filter(|row| row.target == target).collect()
}

fn summary(out: &mut String, target: &str, rows: &[&Measured]) -> Result<(), Box<dyn Error>> {
    let greedy = rows.iter().filter(|row| row.none.cycles > 0);
    let greedy = greedy.map(|row| row.greedy.cycles as f64 / row.none.cycles as f64);
    let within = |limit: f64| rows.iter().filter(|row| row.egg.above_bound() <= limit).count();
    writeln!(
        out,
        "| {target} | {:.3} | {:.3} | {:.3} | {} | {} | {} |",
        geometric_mean(rows.iter().filter_map(|row| row.ratio())),
        geometric_mean(greedy),
        geometric_mean(rows.iter().map(|row| row.egg.work_ns / row.none.work_ns)),
        within(1.3),
        within(1.5),
        rows.len()
    )?;
    Ok(())
}

fn table(out: &mut String, target: &str, rows: &[&Measured]) -> Result<(), Box<dyn Error>> {
    writeln!(out, "\n## {target}\n")?;
    out.push_str(
        "| kernel | words none, greedy, egg | KB moved | cycles none | greedy | egg | ÷ none | work us none | greedy | egg | makespan us | bound us | ÷ | nodes | stop | ms |\n",
    );
    out.push_str("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for row in rows {
        let Measured { none, greedy, egg, .. } = row;
        let ratio = row.ratio().map_or_else(String::new, |ratio| format!("{ratio:.2}"));
        let stop = if egg.limited > 0 { "limit" } else { "done" };
        writeln!(
            out,
            "| {} | {}, {}, {} | {:.1} | {} | {} | {} | {ratio} | {:.2} | {:.2} | {:.2} | {:.1} | {:.1} | {:.2} | {} | {stop} | {:.1} |",
            row.kernel,
            none.words,
            greedy.words,
            egg.words,
            egg.bytes as f64 / 1e3,
            none.cycles,
            greedy.cycles,
            egg.cycles,
            none.work_ns / 1e3,
            greedy.work_ns / 1e3,
            egg.work_ns / 1e3,
            egg.makespan_ns / 1e3,
            egg.bound_ns / 1e3,
            egg.above_bound(),
            egg.nodes,
            egg.time.as_secs_f64() * 1e3
        )?;
    }
    Ok(())
}

fn compared(
    out: &mut String,
    rows: &[&Measured],
    by_hand: &BTreeMap<String, ByHand>,
) -> Result<(), Box<dyn Error>> {
    out.push_str(BY_HAND);
    for row in rows {
        let Some(hand) = by_hand.get(&row.kernel) else { continue };
        let bound = hand.bound_ns()?;
        let gap = if hand.gap.is_empty() { String::new() } else { format!(" **{}**", hand.gap) };
        writeln!(
            out,
            "| {} | {:.1} | {:.1} | {:.2} | {:.1} | {:.2} | {}{gap} |",
            row.kernel,
            row.egg.makespan_ns / 1e3,
            row.egg.bound_ns / 1e3,
            row.egg.above_bound(),
            bound / 1e3,
            row.egg.makespan_ns / bound,
            hand.words
        )?;
    }
    Ok(())
}
