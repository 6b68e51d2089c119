"""Figures of the tool beside those of a peer: alternating runs, medians of pair ratios.

    python3 tests/bench/peer.py build/release/soma MODEL [--peer-bench LLAMA_BENCH --peer-commit ID]
        [--peer-first-token 'COMMAND {model} {threads} {prompt}'] [--threads 1,2] [--pairs 5]

The machines this runs on are shared, and a core's speed changes from minute to minute: a figure
means nothing beside one from another hour. So the two engines run in turn, each pair in the other
order than the last, and what is reported is the median of the pairs' ratios. A pair during which
other processes took more than --disturbance cores is dropped and made again, --patience times in
all; how many were dropped is said. The peer is built elsewhere, for this machine, and named here.

--peer-first-token is a command that loads the model, evaluates the prompt and prints one token to
stdout (for llama.cpp: `llama-completion -m {model} -t {threads} -p {prompt} -n 1 --temp 0 -no-cnv
--no-display-prompt --no-warmup`). Both engines' times run from the start of the process to the
first byte of text. Without a peer the tool's own figures are printed.

Beside the rates stand the machine's limits, measured in the same run: the read bandwidth, of which
decoding takes its share, and the peak of the integer units (int8_peak.c), of which prefilling does;
an operation counts once, however many terms its activations have.
"""

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from gguf import GGUFReader

PROMPT_TOKENS, DECODE_TOKENS = 512, 128
PROMPT = "The capital of France is"
MIB = 1 << 20


def processor():
    """The processor's name and how many of them this system grants."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        lines = [line.split(":", 1) for line in file if ":" in line]
    facts = {key.strip(): value.strip() for key, value in reversed(lines)}
    return (f"{facts.get('model name', 'unknown processor')} (family {facts.get('cpu family')}, "
            f"model {facts.get('model')}), {len(os.sched_getaffinity(0))} cores")


def busy_seconds():
    """Processor seconds that all processes have used, and the part our ended children used."""
    with open("/proc/stat", encoding="utf-8") as file:
        user, nice, system, _, _, irq, softirq = map(int, file.readline().split()[1:8])
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    ticks = user + nice + system + irq + softirq
    return ticks / os.sysconf("SC_CLK_TCK"), own.ru_utime + own.ru_stime


def others_while(work):
    """What `work()` returns, and how many cores other processes used meanwhile."""
    (all_before, own_before), start = busy_seconds(), time.monotonic()
    result = work()
    (all_after, own_after), end = busy_seconds(), time.monotonic()
    others = (all_after - all_before) - (own_after - own_before)
    return result, max(0.0, others / (end - start))


def output_of(command):
    """A command's stdout; ends the bench with its message if it fails."""
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{shlex.join(command)}\nended with {run.returncode}: {run.stderr[-2000:]}")
    return run.stdout


def first_byte_seconds(command):
    """Seconds from starting a command to the first byte that it prints."""
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          stdin=subprocess.DEVNULL, bufsize=0) as process:
        first = process.stdout.read(1)
        seconds = time.monotonic() - start
        process.stdout.read()
    if not first or process.returncode != 0:
        sys.exit(f"{shlex.join(command)}\nprinted {first!r}, ended with {process.returncode}")
    return seconds


def parse_soma(text):
    """Figures from `soma bench --json`, which prints one object."""
    found = json.loads(text)
    return {
        "prefill": found["prefill_tok_s"], "decode": found["decode_tok_s"],
        "load_s": found["load_s"], "read_gb_s": found["read_gb_s"],
        "peak_mib": found["peak_bytes"] / MIB, "kernel_set": found["kernel_set"],
        "read_share": found["decode_tok_s"] * found["decode_bytes_per_token"]
        / (found["read_gb_s"] * 1e9),
    }


def layer_operations(model):
    """What a token's way through the layers' products takes; a multiply-add counts as two."""
    return 2 * sum(int(tensor.n_elements) for tensor in GGUFReader(model).tensors
                   if tensor.name.startswith("blk.") and len(tensor.shape) == 2)


def build_int8_peak(folder):
    """Compiles int8_peak.c; returns the program."""
    program = str(Path(folder) / "int8_peak")
    source = Path(__file__).resolve().parent / "int8_peak.c"
    output_of(["gcc", "-O2", "-pthread", str(source), "-o", program])
    return program


def parse_llama_bench(text):
    """Figures from `llama-bench -o json`, which prints an array with one object a test."""
    figures = {}
    for test in json.loads(text):
        if (test["n_prompt"], test["n_gen"]) == (PROMPT_TOKENS, 0):
            figures["prefill"] = test["avg_ts"]
        elif (test["n_prompt"], test["n_gen"]) == (0, DECODE_TOKENS):
            figures["decode"] = test["avg_ts"]
    if len(figures) != 2:
        sys.exit(f"the peer's output lacks a test: {text[:500]}")
    return figures


def soma_run(options, threads):
    """One run of the tool: every figure it gives."""
    figures = parse_soma(output_of([
        options.soma, "bench", options.model, "-p", str(PROMPT_TOKENS), "-n", str(DECODE_TOKENS),
        "-r", "1", "--threads", str(threads), "--json"]))
    if figures["kernel_set"] != "scalar":
        figures["int8_gop_s"] = float(output_of(
            [options.int8_peak, figures["kernel_set"], str(threads)]))
        figures["int8_share"] = (figures["prefill"] * options.layer_operations
                                 / (figures["int8_gop_s"] * 1e9))
    figures["first_token_ms"] = 1000 * first_byte_seconds([
        options.soma, "generate", options.model, "-p", PROMPT, "--raw", "-n", "1", "--temp", "0",
        "--threads", str(threads)])
    return figures


def peer_run(options, threads):
    """One run of the peer; nothing, if none was named."""
    figures = {}
    if options.peer_bench:
        figures = parse_llama_bench(output_of([
            options.peer_bench, "-m", options.model, "-t", str(threads), "-p", str(PROMPT_TOKENS),
            "-n", str(DECODE_TOKENS), "-r", "1", "-o", "json"]))
    if options.peer_first_token:
        words = {"model": options.model, "threads": threads, "prompt": PROMPT}
        figures["first_token_ms"] = 1000 * first_byte_seconds(
            [word.format(**words) for word in shlex.split(options.peer_first_token)])
    return figures


def await_quiet(options):
    """Waits, a minute at most, until others leave the processor alone for a second."""
    for _ in range(60):
        if others_while(lambda: time.sleep(1))[1] <= options.disturbance:
            return


def quiet_pairs(options, threads):
    """[(soma figures, peer figures)] of undisturbed pairs, and how many others were made."""
    pairs, dropped = [], 0
    while len(pairs) < options.pairs and len(pairs) + dropped < options.patience:
        await_quiet(options)
        engines = [soma_run, peer_run]
        if (len(pairs) + dropped) % 2:
            engines.reverse()
        figures, others = others_while(lambda: {e: e(options, threads) for e in engines})
        if others > options.disturbance:
            dropped += 1
            print(f"dropped a pair: others used {others:.2f} cores", file=sys.stderr)
            continue
        pairs.append((figures[soma_run], figures[peer_run]))
    return pairs, dropped


def spread(values, digits):
    """median [min..max]"""
    return f"{median(values):.{digits}f} [{min(values):.{digits}f}..{max(values):.{digits}f}]"


ROWS = [  # name, key, digits
    (f"decode {DECODE_TOKENS}, tok/s", "decode", 0),
    (f"prefill {PROMPT_TOKENS}, tok/s", "prefill", 0),
    ("start to first token, ms", "first_token_ms", 0),
    ("load, s", "load_s", 3),
    ("read bandwidth, GB/s", "read_gb_s", 1),
    ("decode's share of it", "read_share", 2),
    ("integer peak, Gop/s", "int8_gop_s", 0),
    ("prefill's share of it", "int8_share", 2),
    ("peak memory, MiB", "peak_mib", 0),
]


def table_rows(threads, pairs):
    """Markdown rows of one thread count; a ratio is soma ÷ peer, taken pair by pair."""
    for name, key, digits in ROWS:
        soma = [s[key] for s, _ in pairs if key in s]
        if not soma:
            continue
        both = [(s[key], p[key]) for s, p in pairs if key in s and key in p]
        peer = spread([p for _, p in both], digits) if both else "–"
        ratio = spread([s / p for s, p in both], 2) if both else "–"
        yield f"| {name} | {threads} | {spread(soma, digits)} | {peer} | {ratio} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("soma", help="the tool")
    parser.add_argument("model")
    parser.add_argument("--peer-bench", help="path of the peer's llama-bench")
    parser.add_argument("--peer-commit", help="what the peer was built from")
    parser.add_argument("--peer-first-token", help="command that prints one token")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--patience", type=int, default=20, help="pairs tried at most")
    parser.add_argument("--disturbance", type=float, default=0.1, help="cores others may use")
    options = parser.parse_args()
    if options.peer_bench and not options.peer_commit:
        parser.error("--peer-commit is missing: a figure of an unnamed peer is a rumour")
    lines, complete = [], True
    options.layer_operations = layer_operations(options.model)
    with tempfile.TemporaryDirectory() as folder:
        options.int8_peak = build_int8_peak(folder)
        for threads in map(int, options.threads.split(",")):
            pairs, dropped = quiet_pairs(options, threads)
            print(f"{threads} threads: {len(pairs)} pairs kept, {dropped} dropped",
                  file=sys.stderr)
            complete = complete and len(pairs) == options.pairs
            if pairs:
                lines += table_rows(threads, pairs)
    print(f"{processor()}; peer: {options.peer_commit or 'none'}; "
          f"{options.pairs} pairs a row, median [min..max]\n")
    print("| figure | threads | soma | peer | soma ÷ peer |\n|---|---|---|---|---|")
    print("\n".join(lines))
    if not complete:
        sys.exit("too few undisturbed pairs: the table is of fewer than were asked for")
    return 0


if __name__ == "__main__":
    sys.exit(main())
