"""How much quality the `fast` policy costs: divergence from float64 and perplexity on a 4 k text.

    python3 tests/bench/quality.py build/release/soma MODEL [--threads N] [--peer F.npy] [--json]

The text (tests/oracle/text_4k.txt) is cut into windows of 512 tokens. Each window's logits come
from `soma logits` under `fast` and `reference`, from the float64 oracle (computed here, once a
window) and, if given, from a peer engine: --peer names a float32 .npy of [window * 512, vocabulary]
logits of the same tokens and windows, whose ids --tokens-out writes for it. Exit code 1 if a limit
is broken.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "oracle"))
from file_tokenizer import load_tokenizer  # noqa: E402
from float64_model import Float64Model  # noqa: E402
from windows import (divergence, log_softmax, next_log_probabilities,  # noqa: E402
                     perplexity, text_windows)

MEAN_KL = 0.005  # fast against float64, nats
PERPLEXITY = 0.01  # fast against reference, relative
KL_OVER_PEER = 0.05  # relative
PERPLEXITY_OVER_PEER = 0.003  # relative


def soma_logits(options, tokens, policy, folder):
    """Log-probabilities of one window from the tool."""
    out = Path(folder) / "logits.npy"
    command = [options.soma, "logits", options.model, "--tokens", ",".join(map(str, tokens)),
               "--out", str(out), "--policy", policy, "--threads", str(options.threads)]
    if options.isa:
        command += ["--isa", options.isa]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command[:3])} … ended with {run.returncode}: {run.stderr.strip()}")
    logits = np.load(out)
    if logits.dtype != np.float32 or len(logits) != len(tokens):
        sys.exit(f"soma logits wrote {logits.dtype} {logits.shape} for {len(tokens)} tokens")
    return log_softmax(logits)


class Tally:
    """What one engine did over all windows."""

    def __init__(self):
        self.next_logs, self.exact_kl, self.reference_kl = [], [], []

    def add(self, own, exact, reference, tokens):
        """One window: the engine's log-probabilities, the oracle's and those of `reference`."""
        self.next_logs.append(next_log_probabilities(own, tokens))
        self.exact_kl.append(divergence(exact, own))
        self.reference_kl.append(divergence(reference, own))

    def summary(self):
        kl = np.concatenate(self.exact_kl)
        return {
            "kl_from_float64": float(np.mean(kl)),
            "kl_from_float64_p99": float(np.percentile(kl, 99)),
            "kl_from_reference": float(np.mean(np.concatenate(self.reference_kl))),
            "perplexity": perplexity(np.concatenate(self.next_logs)),
        }


def measure(options):
    """Summaries by engine name."""
    windows = text_windows(load_tokenizer(options.model))[:options.windows]
    peer = np.load(options.peer, mmap_mode="r") if options.peer else None
    if peer is not None and len(peer) < windows.size:
        sys.exit(f"{options.peer}: {len(peer)} positions, the text has {windows.size}")
    oracle = Float64Model(options.model)
    tallies = {}
    with tempfile.TemporaryDirectory() as folder:
        for index, tokens in enumerate(windows):
            exact = log_softmax(oracle.forward(tokens))
            reference = soma_logits(options, tokens, "reference", folder)
            found = {"float64": exact, "reference": reference,
                     "fast": soma_logits(options, tokens, "fast", folder)}
            if peer is not None:
                found["peer"] = log_softmax(peer[index * len(tokens):(index + 1) * len(tokens)])
            for name, own in found.items():
                tallies.setdefault(name, Tally()).add(own, exact, reference, tokens)
            print(f"window {index + 1} of {len(windows)}", file=sys.stderr)
    return {name: tally.summary() for name, tally in tallies.items()}


def verdicts(found):
    """(sentence, value, limit) of each limit that can be judged; a value above it breaks it."""
    fast, reference = found["fast"], found["reference"]
    rows = [
        ("mean KL(float64 || fast)", fast["kl_from_float64"], MEAN_KL),
        ("perplexity of fast off reference, either way",
         abs(fast["perplexity"] / reference["perplexity"] - 1), PERPLEXITY),
    ]
    if "peer" in found:
        peer = found["peer"]
        rows += [
            ("mean KL of fast above the peer's",
             fast["kl_from_float64"] / peer["kl_from_float64"] - 1, KL_OVER_PEER),
            ("perplexity of fast above the peer's",
             fast["perplexity"] / peer["perplexity"] - 1, PERPLEXITY_OVER_PEER),
        ]
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("soma", help="the tool")
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--isa")
    parser.add_argument("--windows", type=int, help="only the first so many")
    parser.add_argument("--peer", help="a peer's logits, .npy")
    parser.add_argument("--tokens-out", help="write the ids, one window a line, and stop")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.tokens_out:
        np.savetxt(options.tokens_out, text_windows(load_tokenizer(options.model)), fmt="%d")
        return 0
    found = measure(options)
    rows = verdicts(found)
    if options.json:
        print(json.dumps({"engines": found, "limits": [
            {"what": what, "value": value, "limit": limit, "holds": value <= limit}
            for what, value, limit in rows]}))
    else:
        print("| | KL from float64 | 99th percentile | KL from reference | perplexity |")
        print("|---|---|---|---|---|")
        for name, s in found.items():
            print(f"| {name} | {s['kl_from_float64']:.5f} | {s['kl_from_float64_p99']:.5f} "
                  f"| {s['kl_from_reference']:.5f} | {s['perplexity']:.4f} |")
        print()
        for what, value, limit in rows:
            print(f"{'ok  ' if value <= limit else 'FAIL'} {what}: {value:.5f} (limit {limit})")
    return 0 if all(value <= limit for _, value, limit in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
