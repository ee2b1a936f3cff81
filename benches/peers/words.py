#!/usr/bin/env python3
"""Words beside other tools of their kind, in one run on one machine.

    cargo build --release
    python3 benches/peers/words.py [--install] [--partita PATH] [--size MIB] [--rounds N]

Measured: the processor time (user and system, all threads) of whole processes, the best of a few rounds, taken in
turn so that a busy moment meets everyone. Text goes to the null device: what a file system takes for hundreds of
megabytes is no tool's own time; how much text there is, an untimed run tells. Peers: wasm-tools (validate, print), llvm-objdump and llvm-mc, and GNU
objdump and as. A peer that is absent is named as such and left out; `--install` first tries to install it, with
`cargo install` and `apt-get`.

Inputs are generated: a WebAssembly module and an x86-64 assembly of common instructions, and legal words of five
structs, repeated up to the size asked for.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# A word of each of five structs, with events, strides, types and immediates as programs have them.
WORDS = """\
tensor_tensor_arith op=ADD src0_mem_pattern=sbuf[p0, 0x0][1:512] src1_mem_pattern=sbuf[p0, 0x800][1:512] \
dst_mem_pattern=sbuf[p0, 0x1000][1:512] wait sem2 >= 1 inc.done sem3
tensor_reduce_arith op=MAX op_dim=XY in_dtype=BFLOAT16 src_mem_pattern=sbuf[p64, 0x100][1:8, 8:4, 32:16] \
dst_mem_pattern=sbuf[p64, 0x2000][1:16] num_active_channels=64 wait sem7 >= 3 inc.done sem9
tensor_scalar_arith op0=MULT imm0=2.5 op1=ADD imm1_src=POINTER imm1=sbuf[p0, 0x100] out_dtype=BFLOAT16 \
src_mem_pattern=psum[p0, 0x0][1:256] dst_mem_pattern=sbuf[p0, 0x400][1:256]
copy src_mem_pattern=sbuf[p0, 0x0][1:512] dst_mem_pattern=sbuf[p0, 0x4000][1:512]
stream_transpose in_dtype=BFLOAT16 out_dtype=BFLOAT16 src_mem_pattern=sbuf[p0, 0x0][1:64] \
dst_mem_pattern=sbuf[p0, 0x200][1:64] num_active_channels=64
"""

X86 = """\
    movq %rdi, %rax
    addq $16, %rax
    movl 8(%rsi,%rcx,4), %edx
    imull %edx, %ebx
    leaq 64(%rsp), %r8
    vaddps %ymm0, %ymm1, %ymm2
    vmovups 32(%rdi), %ymm3
    cmpq %r9, %r10
    jne 1b
    movq %r11, -24(%rbp)
    shrl $3, %eax
    pushq %rbp
"""

WASM = """\
    local.get 0
    i32.const 17
    i32.add
    local.tee 1
    i32.load offset=8
    local.get 1
    i32.mul
    i32.const 255
    i32.and
    local.set 0
    local.get 0
    i32.const 3
    i32.shr_u
    drop
"""


def processor_time(command, stdout=None):
    """Seconds of user and system time of a process that must succeed."""
    with open(stdout or os.devnull, "wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} exited with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


class Job:
    """One row: a command over `items` instructions. MB are those of the input, or of the text that comes out.

    A command that prints names its output `OUTPUT`, or writes to standard output.
    """

    OUTPUT = "{output}"

    def __init__(self, task, tool, command, items, unit, bytes_in=None):
        self.task, self.tool, self.command = task, tool, command
        self.items, self.unit, self.bytes_in = items, unit, bytes_in
        self.best, self.size = float("inf"), bytes_in

    def time(self, output):
        command = [output if part == self.OUTPUT else part for part in self.command]
        return processor_time(command, output if command == self.command else None)

    def run(self, scratch):
        if self.size is None:
            self.time(scratch)
            self.size = scratch.stat().st_size
        self.best = min(self.best, self.time(os.devnull))

    def row(self):
        side = "text out" if self.bytes_in is None else "in"
        return (
            self.task,
            self.tool,
            f"{self.items / 1e6:.2f} M {self.unit}",
            f"{self.best:.3f}",
            f"{self.items / self.best / 1e6:.2f}",
            f"{self.size / self.best / 1e6:.0f} {side}",
        )


def install():
    for name, command in [
        ("wasm-tools", ["cargo", "install", "wasm-tools", "--locked"]),
        ("llvm", ["apt-get", "install", "-y", "llvm", "binutils"]),
    ]:
        try:
            subprocess.run(command, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{name} could not be installed: {error}", file=sys.stderr)


def find(tool):
    """The path of a tool, or None with a line that says so."""
    path = shutil.which(tool) or shutil.which(tool, path=str(Path.home() / ".cargo/bin"))
    if path is None:
        print(f"{tool}: not installed, left out")
    return path


def partita_jobs(partita, folder, size):
    listing = folder / "words.asm"
    listing.write_text(WORDS)
    block = folder / "words.bin"
    subprocess.run([partita, "as", listing, "-o", block, "--engine", "dve"], check=True)
    unit = block.read_bytes()
    block.write_bytes(unit * (size // len(unit)))
    words = block.stat().st_size // 64
    long_listing = folder / "long.asm"
    raw = ["--input-format", "raw", "--engine", "dve"]
    subprocess.run([partita, "dis", block, *raw, "-o", long_listing], check=True)
    name = "partita"
    return [
        Job("check", name, [partita, "check", block, *raw], words, "words", bytes_in=block.stat().st_size),
        Job("disassemble", name, [partita, "dis", block, *raw, "-o", Job.OUTPUT], words, "words"),
        Job("assemble", name, [partita, "as", long_listing, "-o", folder / "out.bin"], words, "words",
            bytes_in=long_listing.stat().st_size),
    ]


def wasm_jobs(folder, size):
    tool = find("wasm-tools")
    if tool is None:
        return []
    lines = WASM * 50
    function = f"  (func (param i32) (local i32)\n{lines}  )\n"
    count = size // (len(WASM.splitlines()) * 50 * 2)
    source, module = folder / "module.wat", folder / "module.wasm"
    source.write_text("(module (memory 1)\n" + function * count + ")\n")
    subprocess.run([tool, "parse", source, "-o", module], check=True)
    instructions = count * len(lines.splitlines())
    bytes_in = module.stat().st_size
    return [
        Job("check", "wasm-tools validate", [tool, "validate", module], instructions, "instr", bytes_in=bytes_in),
        # On standard output it writes each line by itself, which costs more than printing.
        Job("disassemble", "wasm-tools print", [tool, "print", module, "-o", Job.OUTPUT], instructions, "instr"),
        Job("assemble", "wasm-tools parse", [tool, "parse", source, "-o", folder / "out.wasm"], instructions, "instr",
            bytes_in=source.stat().st_size),
    ]


def x86_jobs(folder, size):
    source, built = folder / "x86.s", folder / "x86.o"
    count = size // (len(X86.splitlines()) * 64)
    source.write_text(".text\n" + ("1:\n" + X86) * count)
    instructions = count * len(X86.splitlines())
    jobs = []
    for tool, arguments in [("llvm-mc", ["-triple=x86_64", "-filetype=obj"]), ("as", ["--64"])]:
        path = find(tool)
        if path:
            command = [path, *arguments, source, "-o", built]
            name = "GNU as" if tool == "as" else tool
            subprocess.run(command, check=True)
            jobs.append(Job("assemble", name, command, instructions, "instr", bytes_in=source.stat().st_size))
    for tool in ["llvm-objdump", "objdump"]:
        path = find(tool) if built.exists() else None
        if path:
            name = "GNU objdump" if tool == "objdump" else tool
            jobs.append(Job("disassemble", name, [path, "-d", built], instructions, "instr"))
    return jobs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--partita", type=Path, default=ROOT / "target/release/partita")
    parser.add_argument("--install", action="store_true", help="try to install absent peers first")
    parser.add_argument("--size", type=int, default=64, help="MiB of words, and as many instructions of the peers")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if not options.partita.exists():
        sys.exit(f"{options.partita} does not exist: build with `cargo build --release`, or say --partita PATH")
    if options.install:
        install()
    size = options.size << 20
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        jobs = partita_jobs(options.partita, folder, size) + wasm_jobs(folder, size) + x86_jobs(folder, size)
        for _ in range(options.rounds):
            for job in jobs:
                job.run(folder / "output")
    order = ["check", "disassemble", "assemble"]
    jobs.sort(key=lambda job: (order.index(job.task), job.tool != "partita"))
    rows = [("task", "tool", "items", "CPU s", "M items/s", "MB/s")] + [job.row() for job in jobs]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


if __name__ == "__main__":
    main()
