#!/usr/bin/env python3
"""The word interpreter against array libraries on one thread, interleaved in one run.

    cargo bench -p partita-interp --bench words --no-run      # prints the bench's path
    python benches/peers/interp.py --bench target/release/deps/words-… [--partita target/release/partita]

Peers are optional: numpy, jax, torch, iree (iree-base-compiler and iree-base-runtime). What does not import is
reported as "not installed". Each round measures every peer and then Partita; the table takes the best of all rounds.
GB/s counts each input and each output once. With --partita the two whole programs are compiled, and each is loaded once
and run again and again, as the peers' compiled functions are. A workload of two steps is two calls of a peer. With
--threads the table says how many times faster two threads are.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
ALL_CORES = None
if hasattr(os, "sched_setaffinity"):
    ALL_CORES = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

ROWS = 128
SIZES = [2048, 16384]
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

# Row: bytes a column, target as a multiple of the strongest peer, the function, its operands' types.
# Functions are written once against a module like numpy (m) and a library (lib); those of a tuple are called one after
# the other.
WORKLOADS = {
    "add f32": (12, 1.0, lambda m, lib, a, b: a + b, ["f32", "f32"]),
    "add bf16": (6, 1.5, lambda m, lib, a, b: a + b, ["bf16", "bf16"]),
    "add i8": (3, 1.0, lambda m, lib, a, b: a + b, ["i8", "i8"]),
    "x*s+t f32": (8, 1.0, lambda m, lib, a: a * lib.scalar(1.5, a) + lib.scalar(0.25, a), ["f32"]),
    "x*s+t bf16": (4, 1.5, lambda m, lib, a: a * lib.scalar(1.5, a) + lib.scalar(0.25, a), ["bf16"]),
    "row max f32": (4, 1.0, lambda m, lib, a: lib.max(a, 1), ["f32"]),
    "row max bf16": (2, 1.0, lambda m, lib, a: lib.max(a, 1), ["bf16"]),
    "cross sum f32": (4, 1.2, lambda m, lib, a: lib.sum(a, 0), ["f32"]),
    "cross sum bf16": (2, 1.5, lambda m, lib, a: lib.sum(a, 0), ["bf16"]),
    "cross sum i8": (1, 2.0, lambda m, lib, a: lib.sum(a, 0), ["i8"]),
    "transpose f32": (8, 1.2, lambda m, lib, a: lib.tiles(a), ["f32"]),
    "transpose bf16": (4, 1.2, lambda m, lib, a: lib.tiles(a), ["bf16"]),
    "transpose i8": (2, 1.2, lambda m, lib, a: lib.tiles(a), ["i8"]),
    "transpose+sum f32": (4, 2.0, (lambda m, lib, a: lib.tiles(a), lambda m, lib, a: lib.group_sums(a)), ["f32"]),
    "exp f32": (8, 1.2, lambda m, lib, a: m.exp(a), ["f32"]),
    "cumsum f32": (8, 2.5, lambda m, lib, a: m.cumsum(a, 1), ["f32"]),
    "cast f32 bf16": (6, 1.0, lambda m, lib, a: lib.cast(a, "bf16"), ["f32"]),
    "cast bf16 f32": (6, 1.0, lambda m, lib, a: lib.cast(a, "f32"), ["bf16"]),
    "cast f32 f8E4M3": (5, 2.5, lambda m, lib, a: lib.cast(a, "f8"), ["f32"]),
    "cast f8E4M3 f32": (5, 2.5, lambda m, lib, a: lib.cast(a, "f32"), ["f8"]),
    "softmax f32": (8, 1.5, lambda m, lib, a: lib.softmax(m, a), ["f32"]),
    "rmsnorm f32": (8, 1.0, lambda m, lib, a, g: lib.rmsnorm(m, a, g), ["f32", "row"]),
}
PROGRAMS = {"softmax f32": "softmax.pta", "rmsnorm f32": "rmsnorm.pta"}


def softmax(m, x, largest, total):
    e = m.exp(x - largest)
    return e / total(e)


class Numpy:
    def __init__(self):
        import numpy
        self.m = numpy
        self.types = {"f32": numpy.float32, "i8": numpy.int8}
        try:
            import ml_dtypes
            self.types |= {"bf16": ml_dtypes.bfloat16, "f8": ml_dtypes.float8_e4m3}
        except ImportError:
            pass

    def scalar(self, value, like):
        return like.dtype.type(value)

    def max(self, a, axis):
        return a.max(axis)

    def sum(self, a, axis):
        # Sums of narrow types are kept in fp32, as the machine keeps them.
        return a.sum(axis, dtype=self.m.float32)

    def tiles(self, a):
        n = a.shape[1]
        tiles = a.reshape(ROWS // 32, 32, n // 32, 32)
        return self.m.ascontiguousarray(tiles.transpose(0, 3, 2, 1)).reshape(ROWS, n)

    def group_sums(self, a):
        return a.reshape(ROWS, a.shape[1] // 32, 32).sum(2)

    def cast(self, a, kind):
        return a.astype(self.types[kind])

    def softmax(self, m, x):
        return softmax(m, x, x.max(1, keepdims=True), lambda e: e.sum(1, keepdims=True))

    def rmsnorm(self, m, x, g):
        return x * (1 / m.sqrt((x * x).mean(1, keepdims=True) + 1e-6)).astype(x.dtype) * g

    def prepare(self, function, kinds, values):
        """A function without arguments that runs the workload once; None where a type is missing."""
        if any(kind not in self.types for kind in kinds if kind != "row"):
            return None
        operands = [v.astype(self.types.get(k, self.types["f32"])) for k, v in zip(kinds, values)]
        return lambda: function(self.m, self, *operands)


class Jax(Numpy):
    def __init__(self):
        super().__init__()
        import jax
        import jax.numpy
        self.jax, self.m = jax, jax.numpy
        self.types = {"f32": self.m.float32, "i8": self.m.int8, "bf16": self.m.bfloat16,
                      "f8": getattr(self.m, "float8_e4m3", self.m.float8_e4m3fn)}

    def tiles(self, a):
        n = a.shape[1]
        return a.reshape(ROWS // 32, 32, n // 32, 32).transpose(0, 3, 2, 1).reshape(ROWS, n)

    def jitted(self, function, kinds, values):
        operands = [self.m.asarray(v).astype(self.types.get(k, self.types["f32"]))
                    for k, v in zip(kinds, values)]
        return self.jax.jit(lambda *operands: function(self.m, self, *operands)), operands

    def prepare(self, function, kinds, values):
        compiled, operands = self.jitted(function, kinds, values)
        return lambda: compiled(*operands).block_until_ready()


class Iree(Jax):
    """The same functions, lowered by jax to StableHLO and compiled for this processor."""

    def __init__(self):
        super().__init__()
        import iree.compiler
        import iree.runtime
        self.compiler, self.runtime = iree.compiler, iree.runtime
        self.config = iree.runtime.Config("local-sync")

    def prepare(self, function, kinds, values):
        compiled, operands = self.jitted(function, kinds, values)
        text = str(compiled.lower(*operands).compiler_ir("stablehlo"))
        binary = self.compiler.compile_str(
            text, input_type="stablehlo", target_backends=["llvm-cpu"],
            extra_args=["--iree-llvmcpu-target-cpu=host"])
        module = self.runtime.load_vm_flatbuffer(binary, driver="local-sync")
        device = self.config.device
        held = [self.runtime.asdevicearray(device, self.numpy(o)) for o in operands]
        return lambda: module.main(*held)

    @staticmethod
    def numpy(operand):
        import numpy
        return numpy.asarray(operand)


class Torch:
    def __init__(self):
        import torch
        torch.set_num_threads(1)
        self.m = torch
        self.types = {"f32": torch.float32, "i8": torch.int8, "bf16": torch.bfloat16}
        if hasattr(torch, "float8_e4m3fn"):
            self.types["f8"] = torch.float8_e4m3fn

    def scalar(self, value, like):
        return value

    def max(self, a, axis):
        return self.m.amax(a, axis)

    def sum(self, a, axis):
        return self.m.sum(a, axis, dtype=self.m.float32)

    def tiles(self, a):
        n = a.shape[1]
        return a.reshape(ROWS // 32, 32, n // 32, 32).permute(0, 3, 2, 1).contiguous()

    def group_sums(self, a):
        return a.reshape(ROWS, a.shape[1] // 32, 32).sum(2)

    def cast(self, a, kind):
        return a.to(self.types[kind])

    def softmax(self, m, x):
        return m.softmax(x, 1)

    def rmsnorm(self, m, x, g):
        return x * m.rsqrt((x * x).mean(1, keepdim=True) + 1e-6) * g

    def prepare(self, function, kinds, values):
        if any(kind not in self.types for kind in kinds if kind != "row"):
            return None
        # Not from_numpy, which old builds lack beside a new numpy.
        tensors = [self.m.frombuffer(bytearray(v.tobytes()), dtype=self.m.float32).reshape(v.shape)
                   for v in values]
        operands = [t.to(self.types.get(k, self.m.float32)) for k, t in zip(kinds, tensors)]
        return lambda: function(self.m, self, *operands)


def operands(kinds, n):
    import numpy
    made = []
    for seed, kind in enumerate(kinds):
        shape = (1, n) if kind == "row" else (ROWS, n)
        values = numpy.random.default_rng(seed).uniform(-5, 5, shape).astype(numpy.float32)
        made.append(values)
    return made


def best_seconds(run, limit=0.08):
    run()
    best, end = math.inf, time.perf_counter() + limit
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def compile_programs(partita, directory):
    """Images of the example programs at both sizes: {(name, n): path}."""
    images = {}
    for name, file in PROGRAMS.items():
        for n in SIZES:
            text = (EXAMPLES / file).read_text()
            for rows, columns in [("200", "384"), ("250", "512")]:
                text = text.replace(f"{rows}x{columns}x", f"{ROWS}x{n}x")
                text = text.replace(f"{rows}x1x", f"{ROWS}x1x").replace(f"tensor<{columns}x", f"tensor<{n}x")
            text = text.replace("0.001953125", repr(1 / n))
            source, image = directory / f"{file}.{n}.pta", directory / f"{file}.{n}.img"
            source.write_text(text)
            subprocess.run([partita, "compile", source, "--target", "mariana", "-o", image], check=True)
            images[name, n] = image
    return images


def measure_partita(bench, images, threads=False):
    """Seconds a workload: {(name, n): seconds}."""
    found = {}
    options = ["--threads"] if threads else []
    spread = (lambda: os.sched_setaffinity(0, ALL_CORES)) if threads and ALL_CORES else None
    run = lambda *arguments: subprocess.run(
        [bench, *options, *arguments], check=True, capture_output=True, text=True, preexec_fn=spread).stdout
    lines = run("--tsv")
    for line in lines.splitlines():
        n, name, _, micros = line.split("\t")
        found[name, int(n)] = float(micros) * 1e-6
    for key, image in images.items():
        found[key] = float(run("--program", image).split("\t")[2]) * 1e-6
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bench", required=True, help="the built bench `words` of partita-interp")
    parser.add_argument("--partita", help="the command, for the whole programs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", action="store_true", help="measure Partita on all cores as well")
    parser.add_argument("names", nargs="*", help="parts of the names of the rows to measure")
    args = parser.parse_args()

    peers, missing = {}, []
    for name, kind in {"numpy": Numpy, "jax": Jax, "torch": Torch, "iree": Iree}.items():
        try:
            peers[name] = kind()
        except ImportError:
            missing.append(name)
    if "numpy" in missing:
        sys.exit("numpy is needed for the operands")
    wanted = [w for w in WORKLOADS if not args.names or any(part in w for part in args.names)]

    with tempfile.TemporaryDirectory() as directory:
        images = compile_programs(args.partita, Path(directory)) if args.partita else {}
        runs = {}
        for n in SIZES:
            for name in wanted:
                _, _, function, kinds = WORKLOADS[name]
                values = operands(kinds, n)
                for peer, library in peers.items():
                    try:
                        steps = function if isinstance(function, tuple) else (function,)
                        calls = [library.prepare(step, kinds, values) for step in steps]
                        if None not in calls:
                            run = calls[0] if len(calls) == 1 else lambda calls=calls: [f() for f in calls]
                            run()
                            runs[peer, name, n] = run
                    except Exception as error:  # a peer that lacks a type or an operation is left out
                        print(f"{peer}: {name}: {str(error).splitlines()[0][:100]}", file=sys.stderr)
        best = {}

        def keep(key, seconds):
            best[key] = min(best.get(key, math.inf), seconds)

        for _ in range(args.rounds):
            for key, run in runs.items():
                keep(key, best_seconds(run))
            for (name, n), seconds in measure_partita(args.bench, images).items():
                keep(("partita", name, n), seconds)
            if args.threads:
                for (name, n), seconds in measure_partita(args.bench, images, threads=True).items():
                    keep(("threads", name, n), seconds)

    for name in missing:
        print(f"{name}: not installed")
    for n in SIZES:
        print(f"\n### [128, {n}]\n")
        print("| workload | Partita | strongest peer | ratio | T | numpy ratio |" + " threads |" * args.threads)
        print("|---|---|---|---|---|---|" + "---|" * args.threads)
        ratios, numpy_ratios = [], []
        for name in wanted:
            ours = best.get(("partita", name, n))
            if ours is None:
                continue
            size, target, _, _ = WORKLOADS[name]
            rate = lambda seconds: size * ROWS * n / seconds / 1e9
            others = {peer: best[peer, name, n] for peer in peers if (peer, name, n) in best}
            strongest = min(others, key=others.get, default=None)
            cells = [name, f"{rate(ours):.1f}"]
            if strongest:
                ratio = others[strongest] / ours
                ratios.append(ratio)
                mark = "" if ratio >= target else " ✗"
                cells += [f"{strongest} {rate(others[strongest]):.1f}", f"{ratio:.2f}{mark}"]
            else:
                cells += ["–", "–"]
            cells.append(f"{target}")
            if "numpy" in others:
                numpy_ratios.append(others["numpy"] / ours)
                cells.append(f"{numpy_ratios[-1]:.1f}")
            else:
                cells.append("–")
            if args.threads:
                cells.append(f"{ours / best['threads', name, n]:.2f}")
            print("| " + " | ".join(cells) + " |")
        mean = lambda values: math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan
        print(f"\nGeometric mean: {mean(ratios):.2f} × the strongest peer, {mean(numpy_ratios):.1f} × numpy.")


if __name__ == "__main__":
    main()
