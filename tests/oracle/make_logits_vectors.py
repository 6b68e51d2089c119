"""Writes tests/golden/logits/: the float64 model's logits on 64 positions and its greedy texts.

    python3 tests/oracle/make_logits_vectors.py MODEL

On a busy machine OPENBLAS_NUM_THREADS=1 is several times faster: its threads wait by spinning.
What each file holds, and how an error is measured by it: tests/golden/logits/README.md.
"""

import json
import sys
from pathlib import Path

import numpy as np

from file_tokenizer import chat_prompt, load_tokenizer
from float64_model import Float64Model, greedy, log_sum_exp

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "logits"
POSITIONS, TOP, COLUMNS, CONTINUATION = 64, 64, 256, 64

TEXT = """In 1907 the mail reached the valley twice a week, on the back of a mule called Ambrose. \
He knew all 43 houses by their gates, and where a letter was due he stopped by himself. Naïve \
visitors thought that he could read; the postman, who couldn't, never told them otherwise."""

QUESTIONS = [
    "What is the capital of France?",
    "Why is the sky blue?",
    "Write a short poem about a lighthouse.",
    "How many legs does a spider have?",
    "Explain in two sentences what a prime number is.",
    "Translate into Spanish: The house is small but warm.",
    "Give me three tips for growing tomatoes on a balcony.",
    "What is 12 + 30?",
    "Who wrote Romeo and Juliet?",
    "Write a Python function that reverses a string.",
    "Name five animals that live in the desert.",
    "What should I pack for a weekend in the mountains?",
    "Summarise: The meeting was moved from Monday to Thursday because the room was taken.",
    "Is a tomato a fruit or a vegetable? Explain your answer.",
]

BEGINNINGS = [
    "The capital of Italy is",
    "Once upon a time, in a forest far from any road, there lived",
    "Water boils at 100 degrees Celsius because",
    "def fibonacci(n):\n    \"\"\"Returns the n-th Fibonacci number.\"\"\"\n",
    "Ingredients:\n- 2 eggs\n- 100 g of sugar\n-",
    "Q: What do bees make?\nA:",
    "Dear Sir or Madam,\n\nI am writing to",
    "1, 2, 3, 4, 5, 6, 7,",
    "La ciudad de Madrid es",
    "Über den Wolken",
]


def write(name, array, kind):
    """One .npy 1.0 file in C order."""
    np.save(GOLDEN / f"{name}.npy", np.ascontiguousarray(array, kind))


def write_positions(model, tokenizer):
    """The logits of 64 positions, cut down to what convicts a wrong computation."""
    tokens = tokenizer.encode(TEXT).ids
    if len(tokens) < POSITIONS:
        raise ValueError(f"the text has {len(tokens)} tokens, {POSITIONS} are needed")
    tokens = tokens[:POSITIONS]
    logits = model.forward(tokens)
    # One column out of each equal part of the vocabulary, at a place that drifts through the part
    # so that every lane of every vector width is hit.
    part = logits.shape[1] // COLUMNS
    columns = np.arange(COLUMNS) * part + np.arange(COLUMNS) * 37 % part
    top = np.argsort(-logits, axis=1, kind="stable")[:, :TOP]
    write("tokens", tokens, "<i4")
    write("log_sum_exp", log_sum_exp(logits), "<f4")
    write("largest", np.max(np.abs(logits), axis=1), "<f4")
    write("top_ids", top, "<i4")
    write("top_logits", np.take_along_axis(logits, top, axis=1), "<f4")
    write("columns", columns, "<i4")
    write("column_logits", logits[:, columns], "<f4")


def write_greedy(model, tokenizer):
    """The greedy continuations, one prompt a line."""
    prompts = [("chat", text, chat_prompt(text)) for text in QUESTIONS]
    prompts += [("raw", text, text) for text in BEGINNINGS]
    ids = [tokenizer.encode(prompt).ids for _, _, prompt in prompts]
    lines = []
    for (kind, text, _), prompt, (tokens, gaps) in zip(
            prompts, ids, greedy(model, ids, CONTINUATION)):
        print(f"{kind}: {text!r}\n    {tokenizer.decode(tokens, skip_special_tokens=False)!r}")
        lines.append(json.dumps({
            "kind": kind, "text": text, "prompt": prompt, "tokens": tokens,
            "gaps": [round(gap, 4) for gap in gaps],
        }, ensure_ascii=False))
    document = '{"greedy": [\n' + ",\n".join(lines) + "\n]}\n"
    (GOLDEN / "greedy.json").write_text(document, encoding="utf-8")


def main():
    GOLDEN.mkdir(parents=True, exist_ok=True)
    model, tokenizer = Float64Model(sys.argv[1]), load_tokenizer(sys.argv[1])
    write_positions(model, tokenizer)
    write_greedy(model, tokenizer)


if __name__ == "__main__":
    main()
