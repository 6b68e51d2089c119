#!/usr/bin/env python3
"""Proves that the tool's logits and greedy texts are those of the float64 model.

The vectors, and how an error is measured: tests/golden/logits/README.md.
"""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

TOOL = os.environ["SOMA_TOOL"]
MODEL = os.environ["SOMA_TEST_MODEL"]
GOLDEN = Path("tests/golden/logits")
REFERENCE_ERROR = 1e-4
GAP = 0.25  # a first difference is forgiven where the two best logits are closer than this


def soma(*arguments):
    result = subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=600,
                            check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def golden(name):
    return np.load(GOLDEN / f"{name}.npy")


def logits_of(tokens, policy):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "logits.npy")
        soma("logits", MODEL, "--tokens", ",".join(map(str, tokens)), "--out", out,
             "--policy", policy)
        return np.load(out).astype(np.float64)


def errors(logits):
    """The error of each position: largest difference from the vectors over its largest logit."""
    top = np.max(logits, axis=1)
    log_sum_exp = top + np.log(np.sum(np.exp(logits - top[:, None]), axis=1))
    differences = np.concatenate([
        (log_sum_exp - golden("log_sum_exp"))[:, None],
        np.take_along_axis(logits, golden("top_ids"), axis=1) - golden("top_logits"),
        logits[:, golden("columns")] - golden("column_logits"),
    ], axis=1)
    return np.max(np.abs(differences), axis=1) / golden("largest")


class Positions(unittest.TestCase):
    def test_reference_policy_is_within_its_error_everywhere(self):
        logits = logits_of(golden("tokens"), "reference")
        self.assertEqual(logits.shape, (64, 49152))
        found = errors(logits)
        self.assertLessEqual(np.max(found), REFERENCE_ERROR, f"worst at {np.argmax(found)}")


class Greedy(unittest.TestCase):
    def test_fast_policy_writes_the_same_texts(self):
        rows = json.loads((GOLDEN / "greedy.json").read_text(encoding="utf-8"))["greedy"]
        self.assertGreaterEqual(len(rows), 20)
        for row in rows:
            with self.subTest(text=row["text"]):
                raw = ["--raw"] if row["kind"] == "raw" else []
                found = json.loads(soma(
                    "generate", MODEL, "-p", row["text"], *raw, "-n", str(len(row["tokens"])),
                    "--temp", "0", "--ignore-eos", "--policy", "fast", "--json"))
                self.assertEqual(found["prompt_tokens"], row["prompt"])
                self.assertEqual(len(found["tokens"]), len(row["tokens"]))
                differs = [a != b for a, b in zip(found["tokens"], row["tokens"])]
                if any(differs):
                    self.assertLess(row["gaps"][differs.index(True)], GAP)


if __name__ == "__main__":
    unittest.main()
