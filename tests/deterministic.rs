//! The same bytes every time: images and results of a few kernels in fresh processes, on one thread and on two.

#[path = "support/command.rs"]
mod command;

use std::fs;

use command::{Dir, arg, command};

/// Chosen for what might depend on chance: e-graphs, loops over tiles, large words spread over threads.
const KERNELS: [&str; 5] =
    ["rmsnorm_quant", "cross_entropy", "select_and_scatter", "transpose_partitions", "router_topk"];

/// Runs the command on a number of threads, and gives what it wrote to a file.
fn written(dir: &Dir, args: &[&str], threads: &str) -> Vec<u8> {
    let path = dir.path("written");
    let output = command(args)
        .args(["-o", arg(&path)])
        .env("RAYON_NUM_THREADS", threads)
        .output()
        .expect("the command runs");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    fs::read(&path).expect("a file")
}

#[test]
fn images_are_the_same_in_fresh_processes() {
    let dir = Dir::new("deterministic-images");
    for kernel in KERNELS {
        let file = format!("{}/examples/kernels/{kernel}.pta", env!("CARGO_MANIFEST_DIR"));
        for target in ["sunda", "mariana"] {
            let args = ["compile", &file, "--target", target];
            let first = written(&dir, &args, "1");
            assert!(!first.is_empty());
            for threads in ["1", "2"] {
                let again = written(&dir, &args, threads);
                assert!(first == again, "{kernel} on {target}, {threads} threads");
            }
        }
    }
}

#[test]
fn results_are_the_same_on_one_thread_and_on_two() {
    let dir = Dir::new("deterministic-results");
    for kernel in KERNELS {
        let file = format!("{}/examples/kernels/{kernel}.pta", env!("CARGO_MANIFEST_DIR"));
        let results = |threads: &str, order: &[&str]| {
            let path = dir.path("results.npz");
            let output = command(&["run", &file, "--random", "5", "--outputs", arg(&path)])
                .args(order)
                .env("RAYON_NUM_THREADS", threads)
                .output()
                .expect("the command runs");
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{kernel}: {told}");
            fs::read(&path).expect("results")
        };
        let first = results("1", &[]);
        assert!(first == results("1", &[]), "{kernel}, a second time");
        assert!(first == results("2", &[]), "{kernel}, on two threads");
        assert!(first == results("2", &["--engines"]), "{kernel}, in the order of the engines");
    }
}
