#!/usr/bin/env python3
"""Proves the arithmetic: logits under `reference` against the float64 model, and that neither
cutting, threads nor kernel sets change a byte. What `fast` costs: greedy_test.py and
tests/bench/quality.py."""

import os
import unittest
from pathlib import Path

import numpy as np

import soma

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "logits"
MODEL = os.environ["SOMA_TEST_MODEL"]


def golden(name):
    return np.load(GOLDEN / f"{name}.npy")


def all_logits(model, tokens, pieces):
    """Logits of all positions, the tokens being cut into pieces of these sizes."""
    sequence, rows, at = soma.Sequence(model.session), [], 0
    for size in pieces:
        sequence.prefill(tokens[at:at + size], all_logits=True)
        rows.append(sequence.logits().numpy())
        at += size
    assert at == len(tokens)
    return np.concatenate(rows)


class Reference(unittest.TestCase):
    def test_64_positions_are_within_one_in_ten_thousand(self):
        model = soma.Model(MODEL, context=64, policy="reference", sequences=1)
        tokens = golden("tokens").tolist()
        logits = model.logits(tokens).astype(np.float64)
        peak = logits.max(axis=1)
        sums = peak + np.log(np.exp(logits - peak[:, None]).sum(axis=1))
        columns = golden("columns")
        error = np.abs(sums - golden("log_sum_exp"))
        top = np.abs(np.take_along_axis(logits, golden("top_ids").astype(np.int64), axis=1)
                     - golden("top_logits")).max(axis=1)
        fixed = np.abs(logits[:, columns] - golden("column_logits")).max(axis=1)
        error = np.maximum(error, np.maximum(top, fixed)) / golden("largest")
        print(f"reference: largest error {error.max():.2e} of the largest logit")
        self.assertEqual(len(error), 64)
        self.assertLessEqual(error.max(), 1e-4)


class SameBytes(unittest.TestCase):
    def test_any_cut_threads_and_kernel_set(self):
        tokens = golden("tokens").tolist()[:40]
        sets = [each["name"] for each in soma.build_info()["kernel_sets"] if each["available"]]
        absent = [each["name"] for each in soma.build_info()["kernel_sets"]
                  if not each["available"]]
        print(f"kernel sets here: {', '.join(sets)}; not here: {', '.join(absent) or '-'}")
        for policy in ("fast", "reference"):
            want = None
            for threads, isa in [(1, "auto"), (2, "auto")] + [(2, name) for name in sets]:
                if isa == "scalar":
                    continue  # minutes on this model: the tiny ones compare it (unit.session)
                model = soma.Model(MODEL, runtime=soma.Runtime(threads=threads, isa=isa),
                                   context=64, policy=policy)
                for pieces in ([40], [1] * 4 + [36], [16, 16, 8], [7, 9, 24], [39, 1]):
                    found = all_logits(model, tokens, pieces).tobytes()
                    want = want or found
                    self.assertEqual(found, want, (policy, threads, isa, pieces))


if __name__ == "__main__":
    unittest.main()
