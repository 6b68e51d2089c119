"""What the `fast` policy costs in quality by its very formats, whoever computes it.

    python3 tests/oracle/fast_simulation.py MODEL [windows]

The float64 model with the lossy steps of the policy put in: the input of every product is rounded
to int8 in blocks of 32, that of q, k and v to the sum of two such, and keys and values are kept as
f16. What an integer kernel adds to
this (f32 sums of exact block products) is three orders of magnitude smaller. So a kernel whose
divergence is well above the figure printed here has a fault.
"""

import sys

import numpy as np

from file_tokenizer import load_tokenizer
from float64_model import Float64Model
from windows import (divergence, log_softmax, next_log_probabilities, perplexity, text_windows)

BLOCK = 32


def int8_blocks(x):
    """x rounded to int8 in blocks of 32: scale amax / 127, to nearest, ties to even, in f32."""
    blocks = np.asarray(x, np.float32).reshape(-1, BLOCK)
    largest = np.max(np.abs(blocks), axis=1, keepdims=True)
    inverse = np.divide(np.float32(127), largest, out=np.zeros_like(largest), where=largest > 0)
    quants = np.rint(blocks * inverse)
    return (quants.astype(np.float64) * (largest / np.float32(127))).reshape(x.shape)


def two_terms(x):
    """x rounded to int8, plus what that left over rounded the same way."""
    first = int8_blocks(x)
    return first + int8_blocks(x - first)


class FastSimulation(Float64Model):
    """The float64 model under the formats of the `fast` policy."""

    def product(self, name, x):
        before_attention = name.endswith(("attn_q.weight", "attn_k.weight", "attn_v.weight"))
        return super().product(name, (two_terms if before_attention else int8_blocks)(x))

    def stored(self, x):
        return x.astype(np.float16).astype(np.float64)


def main():
    exact, fast = Float64Model(sys.argv[1]), FastSimulation(sys.argv[1])
    windows = text_windows(load_tokenizer(sys.argv[1]))
    windows = windows[:int(sys.argv[2])] if len(sys.argv) > 2 else windows
    divergences, exact_next, fast_next, flips = [], [], [], []
    for tokens in windows:
        p, q = log_softmax(exact.forward(tokens)), log_softmax(fast.forward(tokens))
        divergences.append(divergence(p, q))
        exact_next.append(next_log_probabilities(p, tokens))
        fast_next.append(next_log_probabilities(q, tokens))
        two = np.partition(p, -2, axis=1)
        flipped = np.argmax(p, axis=1) != np.argmax(q, axis=1)
        flips.append((two[:, -1] - two[:, -2])[flipped])
    divergences, flips = np.concatenate(divergences), np.concatenate(flips)
    before, after = (perplexity(np.concatenate(logs)) for logs in (exact_next, fast_next))
    print(f"{windows.size} positions: mean KL {np.mean(divergences):.5f}, "
          f"99th percentile {np.percentile(divergences, 99):.5f}")
    print(f"perplexity {before:.4f} -> {after:.4f} ({100 * (after / before - 1):+.3f} %)")
    print(f"{flips.size} positions prefer another token; largest float64 gap there "
          f"{np.max(flips, initial=0):.3f}")


if __name__ == "__main__":
    main()
