"""Streams an answer: python generate.py MODEL.gguf "a question"."""

import sys

import soma

model = soma.Model(sys.argv[1])
for piece in model.stream(sys.argv[2] if len(sys.argv) > 2 else "Why is the sky blue?"):
    print(piece, end="", flush=True)
print()
