#!/usr/bin/env python3
"""Compares the greedy texts of the `fast` policy with the float64 model's, 64 tokens a prompt.

    PYTHONPATH=bindings/python python3 tests/bench/greedy.py MODEL

A text that parts from the model's must do so at a near tie: where the first logit leads the second
by less than 0.25. Prints each parting and exits with 1 if one was no near tie. A measurement, not
a test: which prompts sit on an edge is the model's own nature.
"""

import json
import sys
from pathlib import Path

import soma

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "logits" / "greedy.json"
GAP_MAX = 0.25


def main():
    prompts = json.loads(GOLDEN.read_text(encoding="utf-8"))["greedy"]
    model = soma.Model(sys.argv[1], context=256)
    same, beyond = 0, 0
    for prompt in prompts:
        found = model.generate(prompt["prompt"], tokens=64, temperature=0, ignore_end=True).tokens
        parts = [i for i, pair in enumerate(zip(found, prompt["tokens"])) if pair[0] != pair[1]]
        if not parts:
            same += 1
            continue
        gap = prompt["gaps"][parts[0]]
        beyond += gap >= GAP_MAX
        print(f"{prompt['text']!r} parts at token {parts[0]}, gap {gap:.3f}")
    print(f"{same} of {len(prompts)} texts are equal; "
          f"{beyond} part where the gap is {GAP_MAX} or more")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
