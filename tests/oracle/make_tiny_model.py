#!/usr/bin/env python3
"""Makes tiny `llama` models, whole in every part: two layers, 300 tokens, random weights.

usage: tests/oracle/make_tiny_model.py FOLDER [--format NAME]… [--seed N]

FOLDER gets one tiny-NAME.gguf for each format (default: all). Matrices are in the format of the
name, norms in f32, the token embedding is also the head; it is q8_0 where the matrices are
quantised, as in the files that people use. `mixed` has matrices of all formats in turn and a head
of its own. The same arguments give the same bytes everywhere: only Python's standard library is
used, and weights come from a generator that is written out below.
"""

import argparse
import itertools
import os

from gguf_file import FORMATS, GgufFile

LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD_DIM, FEED_FORWARD, CONTEXT = 2, 64, 2, 1, 32, 96, 256
CONTROL_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
NORMAL, CONTROL = 1, 3

# Pairs that byte-level BPE joins, first come first joined; 41 of them make 300 tokens. A space is
# Ġ and a line feed Ċ in that alphabet; Ã © are the two bytes of é, and the next ones those of 🙂.
MERGES = """
Ġ|t  h|e  i|n  Ġ|a  r|e  o|n  Ġt|he  e|r  Ġ|s  a|t  o|u  Ġ|w  n|d  in|g  Ġ|h  Ġ|c  i|s  o|r
Ġa|nd  e|n  Ġ|o  Ġo|f  l|l  he|ll  hell|o  Ġ|Ġ  ĠĠ|ĠĠ  Ċ|Ċ  u|s  er|s  us|er  a|s  as|s
ass|is  assis|t  Ã|©  ð|Ł  ðŁ|Ļ  ðŁĻ|Ĥ  Ġ|user  Ġthe|re
"""

CHAT_TEMPLATE = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
    "<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
    "{% endif %}")


class Random:
    """xorshift64*: the same numbers on every machine and with every Python."""

    def __init__(self, seed):
        self.state = (seed * 0x9E3779B97F4A7C15 + 1) % 2**64 or 1

    def uniform(self, low, high):
        x = self.state
        x ^= x >> 12
        x ^= (x << 25) % 2**64
        x ^= x >> 27
        self.state = x
        return low + (high - low) * ((x * 0x2545F4914F6CDD1D % 2**64) >> 11) / 2**53


def byte_alphabet():
    """A printable character for each byte, as GPT-2 chose them: itself where it is printable, else
    the next one from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    spare = itertools.count(0x100)
    return [chr(byte if byte in printable else next(spare)) for byte in range(256)]


def tokenizer_tables():
    """(tokens, types, merges): each merge joins two earlier tokens and makes the next one."""
    merges = [pair.split("|") for pair in MERGES.split()]
    tokens = CONTROL_TOKENS + byte_alphabet()
    for left, right in merges:
        if left not in tokens or right not in tokens or left + right in tokens:
            raise ValueError(f"merge {left} {right} joins an unknown token or makes a known one")
        tokens.append(left + right)
    types = [CONTROL] * len(CONTROL_TOKENS) + [NORMAL] * (len(tokens) - len(CONTROL_TOKENS))
    return tokens, types, [" ".join(pair) for pair in merges]


def add_metadata(file, name):
    tokens, types, merges = tokenizer_tables()
    file.set("general.architecture", "text", "llama")
    file.set("general.name", "text", name)
    for key, value in {
            "block_count": LAYERS, "context_length": CONTEXT, "embedding_length": HIDDEN,
            "feed_forward_length": FEED_FORWARD, "attention.head_count": HEADS,
            "attention.head_count_kv": KV_HEADS, "rope.dimension_count": HEAD_DIM,
            "vocab_size": len(tokens)}.items():
        file.set(f"llama.{key}", "u32", value)
    file.set("llama.rope.freq_base", "f32", 10000.0)
    file.set("llama.attention.layer_norm_rms_epsilon", "f32", 1e-5)
    file.set("tokenizer.ggml.model", "text", "gpt2")
    file.set("tokenizer.ggml.pre", "text", "smollm")
    file.set("tokenizer.ggml.tokens", "text", tokens)
    file.set("tokenizer.ggml.token_type", "i32", types)
    file.set("tokenizer.ggml.merges", "text", merges)
    for key, token in {"bos": 1, "eos": 2, "unknown": 0, "padding": 2}.items():
        file.set(f"tokenizer.ggml.{key}_token_id", "u32", token)
    file.set("tokenizer.ggml.add_bos_token", "bool", False)
    file.set("tokenizer.chat_template", "text", CHAT_TEMPLATE)
    return len(tokens)


def matrices(layer):
    """(name, columns, rows) of a layer's matrices, in the order of the file."""
    kv_width = KV_HEADS * HEAD_DIM
    for name, columns, rows in [
            ("attn_q", HIDDEN, HEADS * HEAD_DIM), ("attn_k", HIDDEN, kv_width),
            ("attn_v", HIDDEN, kv_width), ("attn_output", HEADS * HEAD_DIM, HIDDEN),
            ("ffn_gate", HIDDEN, FEED_FORWARD), ("ffn_up", HIDDEN, FEED_FORWARD),
            ("ffn_down", FEED_FORWARD, HIDDEN)]:
        yield f"blk.{layer}.{name}.weight", columns, rows


def make_model(format_name, seed, file=None):
    """The file of a model. `file` may be one that writes some things otherwise, to break them."""
    random = Random(seed)
    file = file or GgufFile()
    mixed = format_name == "mixed"
    formats = itertools.cycle(list(FORMATS) if mixed else [format_name])
    embedding = "q8_0" if mixed or format_name.startswith("q") else format_name
    vocabulary = add_metadata(file, f"tiny {format_name}")

    def matrix(name, matrix_format, columns, rows, gain):
        # Uniform numbers of standard deviation gain / sqrt(columns).
        reach = gain * (3 / columns) ** 0.5
        values = [random.uniform(-reach, reach) for _ in range(columns * rows)]
        file.tensor(name, matrix_format, [columns, rows], values)

    def norm(name):
        file.tensor(name, "f32", [HIDDEN], [random.uniform(0.5, 1.5) for _ in range(HIDDEN)])

    # Rows of the embedding are of length 2 and the other gains near 1, so that neither the layers
    # nor the residual stream drowns the other.
    matrix("token_embd.weight", embedding, HIDDEN, vocabulary, 2.0)
    for layer in range(LAYERS):
        norm(f"blk.{layer}.attn_norm.weight")
        norm(f"blk.{layer}.ffn_norm.weight")
        for name, columns, rows in matrices(layer):
            matrix(name, next(formats), columns, rows, 1.5)
    norm("output_norm.weight")
    if mixed:
        matrix("output.weight", next(formats), HIDDEN, vocabulary, 2.0)
    return file


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder")
    names = [*FORMATS, "mixed"]
    parser.add_argument("--format", action="append", choices=names, metavar="NAME")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    for name in arguments.format or names:
        path = os.path.join(arguments.folder, f"tiny-{name}.gguf")
        with open(path, "wb") as out:
            out.write(make_model(name, arguments.seed).bytes())


if __name__ == "__main__":
    main()
